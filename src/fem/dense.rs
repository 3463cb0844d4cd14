//! Full symmetric matrices: eigenvalues and vectors, free vibrations.
//!
//! Thread: cold.

use super::model::FemModel;
use faer::linalg::solvers::SelfAdjointEigen;
use faer::{Mat, MatRef, Side};
use nalgebra::{DMatrix, DVector};

/// Why a decomposition failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModesError {
    /// More unknowns than a full decomposition is worth.
    #[error("{unknowns} unknowns are too many for all modes at once, at most 6000 are taken: use a coarser mesh")]
    TooLarge {
        /// How many.
        unknowns: usize,
    },
    /// The mass matrix is not positive definite, or a number is not finite.
    #[error("the matrices of the body have no modes: check its material")]
    Unsound,
}

/// Most unknowns of a full decomposition: a few minutes.
const MOST: usize = 6000;

/// Eigenvalues, ascending, and eigenvectors as columns.
pub(super) fn eigen(matrix: &DMatrix<f64>) -> Option<(DVector<f64>, DMatrix<f64>)> {
    let size = matrix.nrows();
    let scale = matrix.amax();
    if !(scale > 0.0 && scale.is_finite()) {
        return None;
    }
    // Scaled to one: unscaled, the least eigenvalues of a prong of 1e11 Pa came out as none.
    let scaled = matrix / scale;
    let view = MatRef::from_column_major_slice(scaled.as_slice(), size, size);
    let found = SelfAdjointEigen::new(view, Side::Lower).ok()?;
    let vectors = found.U();
    let values = DVector::from_fn(size, |k, _| found.S()[k] * scale);
    values.iter().all(|x| x.is_finite()).then(|| (values, DMatrix::from_fn(size, size, |i, j| vectors[(i, j)])))
}

/// `A B` of full matrices.
pub(super) fn product(a: &DMatrix<f64>, b: &DMatrix<f64>) -> DMatrix<f64> {
    let view = |m: &'_ DMatrix<f64>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| m[(i, j)]);
    let found = view(a) * view(b);
    DMatrix::from_fn(a.nrows(), b.ncols(), |i, j| found[(i, j)])
}

/// Free vibrations of a body: `K φ = ω² M φ`, `φᵀM φ = 1`.
#[derive(Clone, Debug)]
pub struct Modes {
    /// `ω²`, 1/s², ascending.
    pub squares: DVector<f64>,
    /// Shapes, as columns.
    pub shapes: DMatrix<f64>,
}

impl Modes {
    /// All modes of a body.
    ///
    /// # Errors
    /// When there are too many unknowns, or the matrices are not sound.
    pub fn new(model: &FemModel) -> Result<Self, ModesError> {
        if model.size() > MOST {
            return Err(ModesError::TooLarge { unknowns: model.size() });
        }
        Self::of(&model.mass().dense(), &model.stiffness().dense())
    }

    /// All modes of full matrices.
    pub(super) fn of(mass: &DMatrix<f64>, stiffness: &DMatrix<f64>) -> Result<Self, ModesError> {
        let (weights, axes) = eigen(mass).ok_or(ModesError::Unsound)?;
        if !(weights.min() > 0.0) {
            return Err(ModesError::Unsound);
        }
        // x = M^{-1/2} y makes an ordinary symmetric problem of it; M is well conditioned.
        let scaled = DMatrix::from_fn(axes.nrows(), axes.ncols(), |i, j| axes[(i, j)] / weights[j].sqrt());
        let half = product(stiffness, &scaled);
        let mut inner = product(&scaled.transpose(), &half);
        inner = (&inner + inner.transpose()) * 0.5;
        let (squares, vectors) = eigen(&inner).ok_or(ModesError::Unsound)?;
        Ok(Self { squares, shapes: product(&scaled, &vectors) })
    }

    /// Frequency of mode `k`, Hz.
    #[must_use]
    pub fn frequency_hz(&self, k: usize) -> f64 {
        self.squares[k].max(0.0).sqrt() / std::f64::consts::TAU
    }
}
