//! The slowest vibrations of a held body.
//!
//! Thread: cold.
//!
//! Subspace iteration: `V ← K⁻¹ M V`, then the vibrations within `V` (Rayleigh–Ritz). They split the answer at rest,
//!
//! ```text
//!  G = H K⁻¹ Hᵀ = Σ s sᵀ/ω² + G_rest,     s = H φ
//! ```
//!
//! and for any `V` at all `K⁻¹ − V (VᵀK V)⁻¹ Vᵀ` is positive semi-definite: `G_rest` is a compliance, converged or not.

use super::dense::{Modes, product};
use super::factor::Factor;
use super::model::{FemError, FemModel};
use super::rows::Attachment;
use crate::math::{Random, Vec3};
use nalgebra::DMatrix;

/// Vibrations iterated beyond those that are kept: the slowest converge by the ratio of `ω²` to that of the first one left out.
const MORE: usize = 6;
/// Passes; a ratio of 2 then leaves 1e-9.
const PASSES: usize = 15;

/// See the file's head.
#[derive(Clone, Debug)]
pub struct SlowVibrations {
    /// `ω²` of the slowest of the body, kept or not, 1/s².
    pub slowest: f64,
    /// `ω²` of each, 1/s², ascending.
    pub squares: Vec<f64>,
    /// Damping rate of each, 1/s.
    pub rates: Vec<f64>,
    /// Motion of the nodes, by node.
    shapes: Vec<Vec3>,
}

impl SlowVibrations {
    /// The vibrations of a body up to `fastest_hz`, at most `most`, with their motion at `nodes`.
    ///
    /// # Errors
    /// When the body is not held.
    pub fn new(model: &FemModel, nodes: &[u32], fastest_hz: f64, most: usize) -> Result<Self, FemError> {
        let size = model.size();
        let mut factor = Factor::new(model.symbolic.clone());
        factor.refactor(model.stiffness())?;
        let mut random = Random::new(1);
        let mut shapes = DMatrix::from_fn(size, (most + MORE).min(size), |_, _| random.normal());
        let mut squares = Vec::new();
        for _ in 0..PASSES {
            let mut next = DMatrix::zeros(size, shapes.ncols());
            for k in 0..shapes.ncols() {
                let column = &mut next.as_mut_slice()[k * size..][..size];
                model.mass().add_product(1.0, &shapes.as_slice()[k * size..][..size], column);
                factor.solve(column);
                // Columns shrink by ω² in every pass: of one size they make sound small matrices.
                let norm = column.iter().map(|x| x * x).sum::<f64>().sqrt();
                column.iter_mut().for_each(|x| *x /= norm);
            }
            let within = |matrix: &super::SparseMatrix| {
                let mut made = DMatrix::zeros(size, next.ncols());
                for k in 0..next.ncols() {
                    let column = &mut made.as_mut_slice()[k * size..][..size];
                    matrix.add_product(1.0, &next.as_slice()[k * size..][..size], column);
                }
                let small = product(&next.transpose(), &made);
                (&small + small.transpose()) * 0.5
            };
            let Ok(modes) = Modes::of(&within(model.mass()), &within(model.stiffness())) else { break };
            squares = modes.squares.iter().copied().collect();
            shapes = product(&next, &modes.shapes);
        }
        let slowest = squares.first().copied().unwrap_or(f64::INFINITY);
        let fastest = (fastest_hz * std::f64::consts::TAU).powi(2);
        squares.truncate(squares.iter().take(most).filter(|square| **square < fastest).count());
        let damping = model.damping();
        let rates = squares.iter().map(|square| damping.mass_per_s + damping.stiffness_s * square).collect();
        let mut motions = Vec::with_capacity(nodes.len() * squares.len());
        for node in nodes {
            for k in 0..squares.len() {
                motions.push(model.field_at(&Attachment::node(*node), &shapes.as_slice()[k * size..][..size]));
            }
        }
        Ok(Self { slowest, squares, rates, shapes: motions })
    }

    /// How each vibration of unit amplitude moves the node at this place of the list.
    #[must_use]
    pub fn at(&self, node: usize) -> &[Vec3] {
        &self.shapes[node * self.squares.len()..][..self.squares.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FemSpec, Mass, Material, Ordering, Rayleigh, StaticAnswer};
    use super::*;
    use crate::geometry::tet::BlockSpec;

    #[test]
    fn the_slowest_vibrations_are_those_of_the_full_matrices_and_leave_a_compliance() {
        let mesh = BlockSpec::beam(0.04, 0.01, 2).mesh().expect("sound");
        let fixed = mesh.group_nodes(mesh.group("x0").expect("an end"));
        let tip = mesh.group_nodes(mesh.group("x1").expect("an end"));
        let material = Material { young_pa: 165e6, poisson: 0.35, density: 1050.0 };
        let spec = FemSpec {
            mesh: &mesh,
            materials: &[material],
            damping: Rayleigh { mass_per_s: 2.0, stiffness_s: 1e-5 },
            fixed: &fixed,
            mass: Mass::Consistent,
            ordering: Ordering::LeastFill,
        };
        let model = FemModel::new(&spec).expect("sound");
        let (all, slow) =
            (Modes::new(&model).expect("modes"), SlowVibrations::new(&model, &tip, 1e9, 4).expect("held"));
        assert_eq!(slow.squares.len(), 4);
        for (k, square) in slow.squares.iter().enumerate() {
            assert!((square / all.squares[k] - 1.0).abs() < 1e-6, "{k}: {square} and {}", all.squares[k]);
            assert!((slow.rates[k] - 2.0 - 1e-5 * square).abs() < 1e-9);
        }
        let answer = StaticAnswer::new(&model, &tip, &Vec3::zeros()).expect("held");
        let count = 3 * tip.len();
        let rest = DMatrix::from_fn(count, count, |i, j| {
            let slow: f64 = (0..4).map(|m| slow.at(i / 3)[m][i % 3] * slow.at(j / 3)[m][j % 3] / slow.squares[m]).sum();
            answer.between(i / 3, j / 3)[(i % 3, j % 3)] - slow
        });
        let least = rest.clone().symmetric_eigenvalues().min();
        assert!(least > -1e-12 * rest.amax(), "{least}");
        let few = SlowVibrations::new(&model, &tip, 1.01 * all.frequency_hz(0), 4).expect("held");
        assert!((1..=2).contains(&few.squares.len()), "a square beam has two slowest vibrations");
    }
}
