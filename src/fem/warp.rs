//! A factor from an earlier step, turned along with the body.
//!
//! Thread: simulation (storage is taken at construction; grows only with the rows).
//!
//! Courtecuisse et al. 2011 (seed 004, "Compliance based on asynchronous preconditioner"): factoring takes longer than
//! a step, but between two steps the body mostly turns. With `Q` the rotation of every node since the factor was made,
//! `P = Q A₀ Qᵀ` is near to the `A` of now. It serves as preconditioner of conjugate gradients for the free motion,
//! which is solved to a tolerance, and in place of `A` in the compliance, `W ≈ T · (H Q) A₀⁻¹ (H Q)ᵀ`.
//!
//! How near: with `θ` the eigenvalues of `P⁻¹A`, `θ_min xᵀW x ≤ xᵀW' x ≤ θ_max xᵀW x` for every set of forces `x`.
//! Conjugate gradients give estimates of both ends for nothing: the eigenvalues of their tridiagonal matrix, from
//! inside.

use super::compliance::Compliance;
use super::factor::{Factor, FactorError};
use super::model::FemModel;
use super::pattern::{SparseMatrix, vector};
use super::rotation::nearest_rotation;
use super::rows::Rows;
use crate::math::{Mat3, Rot};
use std::sync::Arc;

/// Most steps of conjugate gradients; with a factor of use a dozen do.
const MOST: usize = 200;

/// How a solve by conjugate gradients went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarpReport {
    /// Steps taken.
    pub iterations: u32,
    /// What is left of the right-hand side, as a share of it.
    pub residual: f64,
    /// Least and largest eigenvalue of `P⁻¹A` seen: both one for a factor of now.
    pub spread: (f64, f64),
}

impl WarpReport {
    /// Estimate of the largest relative error of the compliance, from both ends of the spread.
    #[must_use]
    pub fn compliance_error(&self) -> f64 {
        (self.spread.1 - 1.0).max(1.0 - self.spread.0).max(0.0)
    }
}

/// Rotation of every free node: the mean of the points around it.
#[derive(Clone, Debug)]
pub(super) struct NodeRotations {
    sums: Vec<Mat3>,
    quaternions: Vec<Rot>,
}

impl NodeRotations {
    pub(super) fn new(model: &FemModel) -> Self {
        let count = model.node_at.len();
        Self { sums: vec![Mat3::zeros(); count], quaternions: vec![Rot::identity(); count] }
    }

    /// Takes the mean of the points' rotations.
    pub(super) fn update(&mut self, model: &FemModel, points: &[Mat3]) {
        self.sums.fill(Mat3::zeros());
        let elements = &model.elements;
        for e in 0..elements.count() {
            for p in 0..elements.points {
                let turned = points[e * elements.points + p] * elements.weight_at(e, p);
                for place in elements.nodes_of(e).iter().filter_map(|node| model.place_of(*node)) {
                    self.sums[place] += turned;
                }
            }
        }
        for (quaternion, sum) in self.quaternions.iter_mut().zip(&self.sums) {
            *quaternion = nearest_rotation(&(sum / sum.norm().max(1e-300)), quaternion);
        }
    }
}

/// See the file's head.
pub(super) struct Warp {
    pub(super) factor: Factor,
    /// Rotations of the nodes when the factor was made.
    pub(super) made_at: Vec<Rot>,
    /// `Q`, node by node.
    since: Vec<Mat3>,
    turned: Rows,
    // Of conjugate gradients.
    residual: Vec<f64>,
    direction: Vec<f64>,
    image: Vec<f64>,
    improved: Vec<f64>,
    diagonal: Vec<f64>,
    beside: Vec<f64>,
}

impl Warp {
    pub(super) fn new(model: &FemModel) -> Self {
        let zeros = vec![0.0; model.size()];
        let count = model.node_at.len();
        Self {
            factor: Factor::new(Arc::clone(&model.symbolic)),
            made_at: vec![Rot::identity(); count],
            since: vec![Mat3::identity(); count],
            turned: Rows::default(),
            residual: zeros.clone(),
            direction: zeros.clone(),
            image: zeros.clone(),
            improved: zeros,
            diagonal: Vec::with_capacity(MOST),
            beside: Vec::with_capacity(MOST),
        }
    }

    /// Makes the factor anew from a matrix and the rotations that belong to it.
    pub(super) fn capture(&mut self, matrix: &SparseMatrix, rotations: &NodeRotations) -> Result<(), FactorError> {
        self.made_at.copy_from_slice(&rotations.quaternions);
        self.factor.refactor(matrix)
    }

    /// Turns the factor along to the rotations of now.
    pub(super) fn turn_to(&mut self, now: &NodeRotations) {
        for ((since, now), then) in self.since.iter_mut().zip(&now.quaternions).zip(&self.made_at) {
            *since = *(now * then.inverse()).to_rotation_matrix().matrix();
        }
    }

    /// `b ← P⁻¹ b`.
    pub(super) fn apply(&mut self, b: &mut [f64]) {
        for (place, since) in self.since.iter().enumerate() {
            let turned = since.tr_mul(&vector(b, place));
            b[3 * place..3 * place + 3].copy_from_slice(turned.as_slice());
        }
        self.factor.solve(b);
        for (place, since) in self.since.iter().enumerate() {
            let turned = since * vector(b, place);
            b[3 * place..3 * place + 3].copy_from_slice(turned.as_slice());
        }
    }

    /// `scale · H P⁻¹ Hᵀ`.
    pub(super) fn compliance(&mut self, rows: &Rows, scale: f64, work: &mut Compliance, out: &mut [f64]) {
        self.turned.clone_from(rows);
        for (value, place) in self.turned.values.iter_mut().zip(&self.turned.places) {
            *value = self.since[*place as usize].tr_mul(value);
        }
        work.compute(&self.factor, &self.turned, scale, out);
    }

    /// Solves `A x = b` by conjugate gradients from `x`, to a residual of `tolerance` times `b`.
    pub(super) fn solve(&mut self, matrix: &SparseMatrix, b: &[f64], x: &mut [f64], tolerance: f64) -> WarpReport {
        let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let goal = tolerance * norm(b);
        self.residual.copy_from_slice(b);
        matrix.add_product(-1.0, x, &mut self.residual);
        self.diagonal.clear();
        self.beside.clear();
        self.direction.fill(0.0);
        let (mut energy, mut last_step, mut iterations) = (0.0, 1.0, 0);
        while norm(&self.residual) > goal && iterations < MOST {
            let mut improved = std::mem::take(&mut self.improved);
            improved.copy_from_slice(&self.residual);
            self.apply(&mut improved);
            self.improved = improved;
            let next: f64 = self.residual.iter().zip(&self.improved).map(|(a, b)| a * b).sum();
            let kept = if iterations == 0 { 0.0 } else { next / energy };
            energy = next;
            for (d, z) in self.direction.iter_mut().zip(&self.improved) {
                *d = z + kept * *d;
            }
            self.image.fill(0.0);
            matrix.add_product(1.0, &self.direction, &mut self.image);
            let curvature: f64 = self.direction.iter().zip(&self.image).map(|(a, b)| a * b).sum();
            let step = energy / curvature;
            if !(step > 0.0 && step.is_finite()) {
                break;
            }
            for i in 0..x.len() {
                x[i] += step * self.direction[i];
                self.residual[i] -= step * self.image[i];
            }
            // Lanczos: T has 1/α_k + β_{k−1}/α_{k−1} on its diagonal and √β_k/α_k beside it.
            if iterations > 0 {
                self.beside.push(kept.sqrt() / last_step);
            }
            self.diagonal.push(1.0 / step + kept / last_step);
            last_step = step;
            iterations += 1;
        }
        let left = norm(&self.residual) / norm(b).max(f64::MIN_POSITIVE);
        WarpReport { iterations: iterations as u32, residual: left, spread: extremes(&self.diagonal, &self.beside) }
    }

    /// Adds the correction of constraint forces by the same approximation as the compliance, so that rows close
    /// exactly.
    pub(super) fn correct(&mut self, force: &[f64], x: &mut [f64]) {
        let mut improved = std::mem::take(&mut self.improved);
        improved.copy_from_slice(force);
        self.apply(&mut improved);
        x.iter_mut().zip(&improved).for_each(|(x, c)| *x += c);
        self.improved = improved;
    }
}

/// Least and largest eigenvalue of a symmetric tridiagonal matrix by counting signs (Sturm) and halving; ones when it
/// is empty.
fn extremes(diagonal: &[f64], beside: &[f64]) -> (f64, f64) {
    if diagonal.is_empty() {
        return (1.0, 1.0);
    }
    let at = |k: usize| beside.get(k).copied().unwrap_or(0.0).abs();
    let reach = |k: usize| at(k) + if k > 0 { at(k - 1) } else { 0.0 };
    let low = (0..diagonal.len()).map(|k| diagonal[k] - reach(k)).fold(f64::INFINITY, f64::min);
    let high = (0..diagonal.len()).map(|k| diagonal[k] + reach(k)).fold(f64::NEG_INFINITY, f64::max);
    // How many eigenvalues are below x.
    let below = |x: f64| {
        let (mut count, mut pivot) = (0, 1.0);
        for k in 0..diagonal.len() {
            let coupling = if k > 0 { at(k - 1) } else { 0.0 };
            pivot = diagonal[k] - x - coupling * coupling / pivot;
            if pivot == 0.0 {
                pivot = f64::EPSILON * (x.abs() + 1.0);
            }
            count += usize::from(pivot < 0.0);
        }
        count
    };
    let find = |wanted: usize| {
        let (mut low, mut high) = (low, high);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if below(middle) >= wanted { high = middle } else { low = middle }
        }
        0.5 * (low + high)
    };
    (find(1), find(diagonal.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fem::{CorotationalBody, FemSpec, Mass, Material, Ordering, Rayleigh};
    use crate::geometry::tet::{BlockSpec, Split};
    use crate::math::Vec3;

    #[test]
    fn a_factor_made_at_rest_is_exact_for_the_turned_body() {
        let spec = BlockSpec { size: Vec3::new(0.03, 0.02, 0.02), cells: [3, 2, 2], split: Split::Six };
        let mesh = spec.mesh().expect("sound").with_midsides();
        let material = Material { young_pa: 1e5, poisson: 0.4, density: 1000.0 };
        let (damping, mass) = (Rayleigh::default(), Mass::Consistent);
        let spec =
            FemSpec { mesh: &mesh, materials: &[material], damping, fixed: &[], mass, ordering: Ordering::LeastFill };
        let model = Arc::new(FemModel::new(&spec).expect("sound"));
        let mut body = CorotationalBody::new(model.clone(), Vec3::new(0.0, 0.0, -9.81));
        let none = vec![0.0; model.size()];
        let (mut warp, mut rotations) = (Warp::new(&model), NodeRotations::new(&model));
        body.assemble(&none, 1e-2).expect("sound");
        rotations.update(&model, &body.rotations);
        warp.capture(&body.matrix, &rotations).expect("positive");
        let turn = Rot::from_scaled_axis(Vec3::new(1.0, -0.7, 0.4));
        let turned = model.gather(|n| turn * mesh.nodes()[n as usize] - mesh.nodes()[n as usize]);
        body.set_state(&turned, &none).expect("right size");
        // A force that pulls in many ways: gravity alone moves the body as one piece, which any rotation solves.
        let pull =
            model.gather(|n| Vec3::new(f64::from(n).sin(), f64::from(n * n).cos(), f64::from(3 * n).sin()) * 1e-3);
        body.assemble(&pull, 1e-2).expect("sound");
        rotations.update(&model, &body.rotations);
        let mut x = none.clone();
        // As it was it is of little use, turned along it is the factor of now.
        let stale = warp.solve(&body.matrix, &body.right, &mut x, 1e-10);
        warp.turn_to(&rotations);
        x.fill(0.0);
        let fresh = warp.solve(&body.matrix, &body.right, &mut x, 1e-10);
        assert!(fresh.iterations <= 2 && fresh.compliance_error() < 1e-9, "{fresh:?}");
        assert!(stale.iterations > 5 && stale.compliance_error() > 0.1, "{stale:?}");
        body.prepare(&pull, 1e-2).expect("sound");
        assert!(x.iter().zip(body.midpoint()).all(|(a, b)| (a - b).abs() < 1e-9));
    }

    #[test]
    fn the_ends_of_a_known_spectrum_are_found() {
        // The second difference of n points has the eigenvalues 2 − 2 cos(kπ/(n+1)).
        let (diagonal, beside) = (vec![2.0; 9], vec![-1.0; 8]);
        let (low, high) = extremes(&diagonal, &beside);
        let exact = |k: f64| 2.0 - 2.0 * (k * std::f64::consts::PI / 10.0).cos();
        assert!((low - exact(1.0)).abs() < 1e-12 && (high - exact(9.0)).abs() < 1e-12, "{low} {high}");
        assert_eq!(extremes(&[], &[]), (1.0, 1.0));
        let (low, high) = extremes(&[0.7], &[]);
        assert!((low - 0.7).abs() < 1e-12 && (high - 0.7).abs() < 1e-12);
    }
}
