//! Equilibrium of a corotational body under dead loads: Newton's method with load stepping.
//!
//! Thread: simulation (storage is taken at construction; no allocation afterwards).
//!
//! Tangent. With `a` the axial vector of `RᵀdF − dFᵀR`, the second derivative of the energy is that of the turned
//! stiffness plus `aᵀG a`, `G = µ 1 − (2µ − λ tr E)(tr(S) 1 − S)⁻¹`, `E = S − 1`: the geometric stiffness, zero at rest.
//!
//! Strain in `G`. A Newton step that bends a slender body also stretches it in second order, and the stress of that
//! stretch would dominate the next tangent. `G` therefore uses the strain that the linear step predicts, `E + sym(RᵀdF)`,
//! in place of the strain at the new position (mixed integration point Newton, Magisano, Leonetti and Garcea 2017). The
//! residual is exact, so that both have the same solutions. Where the tangent is not positive definite, `G` is replaced
//! by its positive part.
//!
//! Load stepping. At the start the load differs from the elastic force by `g`. Substep `s` solves `f(q) = p − (1 − s) g`;
//! `s = 0` is the present state. A substep that does not converge is undone and halved. The position is always one of a
//! converged substep.

use super::FemError;
use super::corotational::{CorotationalBody, stretch};
use crate::math::{Mat3, Vec3};

/// Limits of the search for equilibrium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EquilibriumSpec {
    /// Largest residual as a share of the load; 1e-8 typical. Below about 1e-10 round-off prevents convergence.
    pub tolerance: f64,
    /// Newton iterations in one substep before it is cut; 15 typical.
    pub iterations: u32,
    /// Newton iterations in all substeps of one step; bounds the computing time.
    pub total_iterations: u32,
    /// Most cuts in one step; the smallest substep is about `2^-cuts` of the load.
    pub cuts: u32,
}

impl Default for EquilibriumSpec {
    fn default() -> Self {
        Self { tolerance: 1e-8, iterations: 15, total_iterations: 300, cuts: 12 }
    }
}

/// Result of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepOutcome {
    /// The whole load is in equilibrium, or, in the dynamic regime, the new state is finite.
    pub converged: bool,
    /// Share of the change of load that the published state carries: 1 when converged.
    pub load: f64,
    /// Newton iterations.
    pub iterations: u32,
    /// Substeps that were undone and halved.
    pub cuts: u32,
    /// Norm of the residual force at the published state under the whole load, N; zero in the dynamic regime.
    pub residual_n: f64,
}

impl StepOutcome {
    /// Outcome of a dynamic step.
    pub(super) fn dynamic(converged: bool) -> Self {
        Self { converged, load: f64::from(u8::from(converged)), iterations: 1, cuts: 0, residual_n: 0.0 }
    }

    /// The outcome, as an error when the step did not converge.
    pub(super) fn checked(self) -> Result<Self, FemError> {
        if self.converged { Ok(self) } else { Err(FemError::NotConverged(self)) }
    }
}

/// Largest change of the deformation gradient in one iteration: a rotation of about half a radian. Larger steps leave
/// the range in which the polar decomposition follows the right branch.
const LARGEST_CHANGE: f64 = 0.7;

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// `G` at a strain, or its positive part.
fn turning_stiffness((lambda, mu): (f64, f64), strain: &Mat3, positive: bool) -> Mat3 {
    let trace = strain.trace();
    let inner = Mat3::identity() * (2.0 + trace) - strain;
    let inverse = inner.try_inverse().unwrap_or_else(|| Mat3::identity() * 0.5);
    let stiffness = Mat3::identity() * mu - inverse * (2.0 * mu - lambda * trace);
    if !positive {
        return stiffness;
    }
    let mut eigen = stiffness.symmetric_eigen();
    eigen.eigenvalues.iter_mut().for_each(|value| *value = value.max(0.0));
    eigen.recompose()
}

impl CorotationalBody {
    /// Moves the body to equilibrium under `force` and gravity, without constraints.
    ///
    /// # Errors
    /// When `force` is not of the body's size, or the search does not converge ([`Self::finish`] states where the body
    /// is then).
    pub fn equilibrate(&mut self, force: &[f64]) -> Result<StepOutcome, FemError> {
        self.set_load(force)?;
        self.find_equilibrium(None).checked()
    }

    /// Load stepping towards `self.load`; `first` is the linear step of the whole load where it is known.
    pub(super) fn find_equilibrium(&mut self, first: Option<&[f64]>) -> StepOutcome {
        let spec = self.equilibrium;
        let mut outcome = StepOutcome { converged: false, load: 0.0, iterations: 0, cuts: 0, residual_n: 0.0 };
        self.update_residual(1.0);
        self.gap.copy_from_slice(&self.right);
        let start = norm(&self.gap);
        let limit = (spec.tolerance * norm(&self.load).max(start)).max(self.round_off_n);
        let mut stride = 1.0;
        let mut first = first;
        while outcome.load < 1.0 && start > limit {
            let target = if outcome.load + 1.001 * stride >= 1.0 { 1.0 } else { outcome.load + stride };
            self.checkpoint.copy_from_slice(&self.position);
            let before = outcome.iterations;
            if self.newton(target, limit, first.take(), &mut outcome.iterations) {
                outcome.load = target;
                // Few iterations: the next substep may be longer.
                stride *= if outcome.iterations - before <= 6 { 2.0 } else { 1.0 };
            } else {
                self.position.copy_from_slice(&self.checkpoint);
                outcome.cuts += 1;
                stride *= 0.5;
                if outcome.cuts > spec.cuts || outcome.iterations >= spec.total_iterations {
                    break;
                }
            }
        }
        outcome.converged = start <= limit || outcome.load >= 1.0;
        if outcome.converged {
            outcome.load = 1.0;
        }
        self.update_residual(1.0);
        outcome.residual_n = norm(&self.right);
        outcome
    }

    /// Newton iterations of one substep. False when it does not converge; the position is then of no use.
    fn newton(&mut self, target: f64, limit: f64, first: Option<&[f64]>, iterations: &mut u32) -> bool {
        self.update_residual(target);
        self.take_strains();
        let mut first = first;
        for _ in 0..self.equilibrium.iterations {
            *iterations += 1;
            if let Some(step) = first.take() {
                self.scratch.copy_from_slice(step);
            } else {
                if self.factor_tangent(1.0).is_err() {
                    return false;
                }
                self.scratch.copy_from_slice(&self.right);
                self.factor.solve(&mut self.scratch);
            }
            self.take_newton_step();
            self.update_residual(target);
            let residual = norm(&self.right);
            if !residual.is_finite() {
                return false;
            }
            if residual <= limit {
                return self.is_upright();
            }
            if *iterations >= self.equilibrium.total_iterations {
                return false;
            }
        }
        false
    }

    /// Rotations, and `right ← p − f(q) − (1 − s) g`.
    fn update_residual(&mut self, target: f64) {
        let mut right = std::mem::take(&mut self.right);
        for ((sum, load), gap) in right.iter_mut().zip(&self.load).zip(&self.gap) {
            *sum = load - if target < 1.0 { (1.0 - target) * gap } else { 0.0 };
        }
        self.turn(Some(&mut right));
        self.right = right;
    }

    /// Strains at the present position, for the tangent.
    pub(super) fn take_strains(&mut self) {
        let elements = &self.model.elements;
        for e in 0..elements.count() {
            let u = self.model.at_nodes(e, &self.position);
            for p in 0..elements.points {
                let k = e * elements.points + p;
                let f = elements.displacement_gradient(e, p, &u) + Mat3::identity();
                self.strains[k] = stretch(&self.rotations[k], &f);
            }
        }
    }

    /// Adds the step in `scratch`, shortened to [`LARGEST_CHANGE`], to the position and predicts the strains.
    fn take_newton_step(&mut self) {
        let model = self.model.clone();
        let elements = &model.elements;
        let mut largest = 0.0_f64;
        for e in 0..elements.count() {
            let d = model.at_nodes(e, &self.scratch);
            for p in 0..elements.points {
                largest = largest.max(elements.displacement_gradient(e, p, &d).norm());
            }
        }
        let share = if largest > LARGEST_CHANGE { LARGEST_CHANGE / largest } else { 1.0 };
        self.scratch.iter_mut().for_each(|d| *d *= share);
        self.take_strains();
        for e in 0..elements.count() {
            let d = model.at_nodes(e, &self.scratch);
            for p in 0..elements.points {
                let k = e * elements.points + p;
                let change = self.rotations[k].tr_mul(&elements.displacement_gradient(e, p, &d));
                self.strains[k] += (change + change.transpose()) * 0.5;
            }
        }
        self.position.iter_mut().zip(&self.scratch).for_each(|(x, d)| *x += d);
    }

    /// Factors `scale · K` with the tangent `K` for the stored strains, or with the positive part of its geometric
    /// stiffness where the tangent is not positive definite.
    pub(super) fn factor_tangent(&mut self, scale: f64) -> Result<(), FemError> {
        self.assemble_tangent(scale, false);
        if self.factor.refactor(&self.matrix).is_ok() {
            return Ok(());
        }
        self.assemble_tangent(scale, true);
        Ok(self.factor.refactor(&self.matrix)?)
    }

    /// `matrix ← scale · K`.
    pub(super) fn assemble_tangent(&mut self, scale: f64, positive: bool) {
        let model = self.model.clone();
        model.assemble_stiffness(&self.rotations, &mut self.stiffness);
        let elements = &model.elements;
        for (k, turning) in self.turning.iter_mut().enumerate() {
            let inner = turning_stiffness(elements.lame[k / elements.points], &self.strains[k], positive);
            *turning = self.rotations[k] * inner * self.rotations[k].transpose() * elements.weights[k];
        }
        model.add_turning(&self.rotations, &self.turning, &mut self.stiffness);
        self.matrix.combine(0.0, model.mass(), scale, &self.stiffness);
    }

    /// No point of an element is turned inside out.
    fn is_upright(&self) -> bool {
        let elements = &self.model.elements;
        (0..elements.count()).all(|e| {
            let u = self.model.at_nodes(e, &self.position);
            (0..elements.points)
                .all(|p| (elements.displacement_gradient(e, p, &u) + Mat3::identity()).determinant() > 0.0)
        })
    }

    /// Sets the load of a step: `force` and gravity.
    pub(super) fn set_load(&mut self, force: &[f64]) -> Result<(), FemError> {
        self.check_size(force)?;
        for ((sum, force), gravity) in self.load.iter_mut().zip(force).zip(&self.gravity) {
            *sum = force + gravity;
        }
        Ok(())
    }
}

/// Residual that round-off leaves, N: relative error of a displacement over an element, times its stiffness.
pub(super) fn round_off_n(model: &super::FemModel) -> f64 {
    let mut low = Vec3::from_element(f64::INFINITY);
    let mut high = -low;
    for p in model.rest() {
        (low, high) = (low.inf(p), high.sup(p));
    }
    let volume: f64 = model.elements.weights.iter().sum();
    let edge = (volume / model.elements.count().max(1) as f64).cbrt();
    16.0 * f64::EPSILON * model.young_pa() * edge * (high - low).norm()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fem::{FemModel, FemSpec, Mass, Material, Ordering, Rayleigh, Regime};
    use crate::geometry::tet::{BlockSpec, Split};
    use crate::math::Rot;
    use std::sync::Arc;

    #[test]
    fn the_tangent_is_the_derivative_of_the_force() {
        let spec = BlockSpec { size: Vec3::new(0.03, 0.02, 0.02), cells: [2, 1, 1], split: Split::Six };
        let mesh = spec.mesh().expect("sound").with_midsides();
        let material = Material { young_pa: 1e5, poisson: 0.4, density: 1000.0 };
        let (damping, mass) = (Rayleigh::default(), Mass::Consistent);
        let spec =
            FemSpec { mesh: &mesh, materials: &[material], damping, fixed: &[], mass, ordering: Ordering::LeastFill };
        let model = Arc::new(FemModel::new(&spec).expect("sound"));
        let mut body = CorotationalBody::new(model.clone(), Vec3::zeros());
        body.set_regime(Regime::QuasiStatic);
        let turn = Rot::from_scaled_axis(Vec3::new(0.9, -1.1, 0.4));
        let x = model.gather(|n| {
            let p = mesh.nodes()[n as usize];
            turn * (p + Vec3::new(0.2 * p.x, -0.1 * p.y, 0.1 * p.z + 8.0 * p.x * p.y)) - p
        });
        let d = model.gather(|n| Vec3::new(f64::from(n).sin(), f64::from(n * n).cos(), f64::from(3 * n).sin()));
        let rest = vec![0.0; x.len()];
        let mut force_at = |t: f64| {
            let moved: Vec<f64> = x.iter().zip(&d).map(|(x, d)| x + t * d).collect();
            body.set_state(&moved, &rest).expect("right size");
            body.elastic_force()
        };
        let (ahead, behind) = (force_at(1e-7), force_at(-1e-7));
        force_at(0.0);
        body.take_strains();
        body.assemble_tangent(1.0, false);
        let mut product = rest.clone();
        body.matrix.add_product(1.0, &d, &mut product);
        let size = norm(&product);
        let slope: Vec<f64> = ahead.iter().zip(&behind).map(|(a, b)| (b - a) / 2e-7).collect();
        let off = slope.iter().zip(&product).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        assert!(off < 1e-6 * size, "{off:e} of {size:e}");
        // The turned stiffness alone is not the derivative.
        model.assemble_stiffness(&body.rotations, &mut body.stiffness);
        let mut turned = rest;
        body.stiffness.add_product(1.0, &d, &mut turned);
        let off = slope.iter().zip(&turned).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        assert!(off > 1e-2 * size, "{off:e} of {size:e}");
    }
}
