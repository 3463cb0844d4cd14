//! Reduced bodies in motion.
//!
//! Thread: simulation (storage is taken at construction; steps do not allocate once the step is known).
//!
//! The small system of `segment` steps by passive midpoint integration like any other linear one (seed 000 eqs 14–18;
//! the energy of proposition 1, with that of the springs, is the ledger's). Its motions are its own vibrations, so that
//! its matrix is diagonal and `W = T · (H Q) A⁻¹ (H Q)ᵀ` a product of the rows alone.

use super::segment::ReducedModel;
use crate::math::Vec3;
use crate::mechanism::dot;
use crate::mechanism::pmi::{Accuracy, EnergyLedger, LinearBody, LinearError, LinearSystem};
use nalgebra::{DMatrix, DVector};
use std::sync::Arc;

/// A reduced body. Vectors have one number for each motion.
pub struct ReducedBody {
    model: Arc<ReducedModel>,
    body: LinearBody,
    gravity: Vec<f64>,
    step_s: f64,
    /// Motion of the touching nodes, one column for each of their unknowns.
    shapes: DMatrix<f64>,
    /// `T A⁻¹`, whose other numbers are zero.
    inverse: Vec<f64>,
    force: Vec<f64>,
    /// `T A⁻¹ (H Q)ᵀ` of the row at hand.
    spread: Vec<f64>,
}

impl ReducedBody {
    /// The body at rest, under a constant acceleration of gravity.
    ///
    /// # Errors
    /// When the matrices of the model are not those of a body.
    pub fn new(model: Arc<ReducedModel>, gravity: Vec3, accuracy: Accuracy) -> Result<Self, LinearError> {
        let size = model.size();
        let diagonal = |values: &[f64]| DMatrix::from_diagonal(&DVector::from_row_slice(values));
        let system =
            LinearSystem::new(&DMatrix::identity(size, size), &diagonal(&model.rates), &diagonal(&model.squares))?;
        Ok(Self {
            body: LinearBody::new(system, accuracy),
            gravity: model.gravity_force(&gravity),
            step_s: 0.0,
            shapes: model.basis.transpose(),
            inverse: vec![0.0; size],
            force: vec![0.0; size],
            spread: vec![0.0; size],
            model,
        })
    }

    /// What does not change.
    #[must_use]
    pub fn model(&self) -> &Arc<ReducedModel> {
        &self.model
    }

    /// The system in motion.
    #[must_use]
    pub fn body(&self) -> &LinearBody {
        &self.body
    }

    /// Sets the body down at a state and opens a new ledger.
    ///
    /// # Errors
    /// When a slice is not of the system's size.
    pub fn set_state(&mut self, position: &[f64], velocity: &[f64]) -> Result<(), LinearError> {
        self.body.set_state(position, velocity)
    }

    /// Where the energy went.
    #[must_use]
    pub fn ledger(&self) -> &EnergyLedger {
        self.body.ledger()
    }

    /// Displacement of a touching node, m; zero for others.
    #[must_use]
    pub fn displacement(&self, node: u32) -> Vec3 {
        self.of_node(node, self.body.position())
    }

    /// Motion of a touching node by a vector of the body, such as its midpoint velocity.
    #[must_use]
    pub fn of_node(&self, node: u32, vector: &[f64]) -> Vec3 {
        let Some(row) = self.model.row_of(node) else { return Vec3::zeros() };
        if vector.len() != self.force.len() {
            return Vec3::zeros();
        }
        Vec3::from_fn(|k, _| dot(self.shape(row + k), vector))
    }

    /// How an unknown of the touching nodes follows the motions.
    fn shape(&self, unknown: usize) -> &[f64] {
        let size = self.force.len();
        &self.shapes.as_slice()[unknown * size..][..size]
    }

    /// Adds a force on a touching node to a vector of forces on the motions; forces on other nodes are lost.
    pub fn add_force(&self, node: u32, force: &Vec3, out: &mut [f64]) {
        let Some(row) = self.model.row_of(node) else { return };
        for k in 0..3 {
            for (sum, shape) in out.iter_mut().zip(self.shape(row + k)) {
                *sum += shape * force[k];
            }
        }
    }

    /// Begins a step under gravity and `force`, one number for each motion.
    ///
    /// # Errors
    /// When the step is no positive time or `force` of the wrong size.
    pub fn prepare(&mut self, force: &[f64], step_s: f64) -> Result<(), LinearError> {
        if force.len() != self.force.len() {
            return Err(LinearError::SizeMismatch);
        }
        for ((sum, force), gravity) in self.force.iter_mut().zip(force).zip(&self.gravity) {
            *sum = force + gravity;
        }
        self.body.prepare(&self.force, step_s)?;
        if step_s != self.step_s {
            self.inverse.fill(step_s);
            self.body.solve(&mut self.inverse)?;
            self.step_s = step_s;
        }
        Ok(())
    }

    /// Compliance of rows in the step under way, m/N, row-major. `rows` holds `H Q`, one row of as many numbers as
    /// there are motions after the other. Slices that do not fit give nothing.
    pub fn compliance(&mut self, rows: &[f64], out: &mut [f64]) {
        let size = self.force.len();
        let count = rows.len() / size.max(1);
        if rows.len() != count * size || out.len() != count * count {
            return;
        }
        for (i, row) in rows.chunks_exact(size).enumerate() {
            for ((spread, inverse), x) in self.spread.iter_mut().zip(&self.inverse).zip(row) {
                *spread = inverse * x;
            }
            for (j, other) in rows.chunks_exact(size).enumerate().take(i + 1) {
                let value = dot(&self.spread, other);
                out[i * count + j] = value;
                out[j * count + i] = value;
            }
        }
    }

    /// Adds constraint forces on the motions, `Qᵀ Hᵀλ`, to the step under way.
    ///
    /// # Errors
    /// When `force` is of the wrong size.
    pub fn apply_contact(&mut self, force: &[f64]) -> Result<(), LinearError> {
        self.body.apply_contact(force)
    }

    /// Ends the step under way and enters it in the ledger.
    pub fn finish(&mut self) {
        self.body.finish();
    }
}
