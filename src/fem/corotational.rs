//! Bodies with large rotations: corotational elements by implicit Euler or, without time, quasi-statically.
//!
//! Thread: simulation (storage is taken at construction; steps do not allocate).
//!
//! Elastic energy. At each point the deformation `F = R S` is turned back by its rotation, and what is left is small:
//! `Ψ = µ |S − 1|² + λ/2 tr²(S − 1)`. The force `w R (2µ (S − 1) + λ tr(S − 1) 1) g_a` is its exact derivative (the
//! turning of `R` does no work, as `S` and its stress have the same axes), zero for every rigid motion. The matrix is
//! the stiffness turned with the points, `Σ R K Rᵀ`: positive semi-definite always, and the exact derivative but for
//! the turning of `R`. Quasi-static steps of this type add that part and iterate (`equilibrium`).
//!
//! Step. Seed 004, eqs 1.4–1.7, with one linearisation: `(M + h D + h² K) v_f = M v + h (p − f(q)) + h Hᵀλ`. Divided by
//! `h`, this is the mechanism's `A û = b + Hᵀλ` with `A = M/h + D + h K`, `û = v_f`, `q_f = q + h û`. (Eq. 1.7 is the
//! same for `dv`; the sign of its external force is that of eq. 1.4 here.) Quasi-static, eq. 1.9: `K dq = p − f + Hᵀλ`,
//! the same with `A = h K`, `dq = h û`. A body that nothing holds keeps its angular momentum (`spin`).

use super::equilibrium::{EquilibriumSpec, StepOutcome, round_off_n};
use super::factor::Factor;
use super::model::{FemError, FemModel};
use super::pattern::{SparseMatrix, add_vector};
use super::rotation::nearest_rotation;
use super::rows::Rows;
use super::shape::WIDEST;
use super::spin::Spin;
use super::{Compliance, Regime};
use crate::math::{Mat3, Rot, Vec3};
use std::sync::Arc;

/// A body in motion. Vectors are displacements from rest, three numbers for each free node.
pub struct CorotationalBody {
    pub(super) model: Arc<FemModel>,
    pub(super) regime: Regime,
    /// Rotation of each point, kept from step to step.
    quaternions: Vec<Rot>,
    pub(super) rotations: Vec<Mat3>,
    pub(super) stiffness: SparseMatrix,
    pub(super) matrix: SparseMatrix,
    pub(super) factor: Factor,
    /// Rotation as a whole, for a body that nothing holds.
    spin: Option<Spin>,
    pub(super) step_s: f64,
    pub(super) position: Vec<f64>,
    velocity: Vec<f64>,
    pub(super) gravity: Vec<f64>,
    /// Limits of the search for equilibrium.
    pub(super) equilibrium: EquilibriumSpec,
    /// Residual that round-off leaves, N.
    pub(super) round_off_n: f64,
    /// Load of the quasi-static step: external, gravity, constraints.
    pub(super) load: Vec<f64>,
    /// Load not in balance at the start of the step.
    pub(super) gap: Vec<f64>,
    /// Position at the start of the substep.
    pub(super) checkpoint: Vec<f64>,
    /// Position at the start of the step.
    start: Vec<f64>,
    /// Strain of each point for the geometric stiffness, and that stiffness in world axes.
    pub(super) strains: Vec<Mat3>,
    pub(super) turning: Vec<Mat3>,
    /// `b` and `û` of the step under way.
    pub(super) right: Vec<f64>,
    pub(super) midpoint: Vec<f64>,
    /// Angular velocity of the free motion of a body that nothing holds, rad/s.
    free_rate: Vec3,
    pub(super) scratch: Vec<f64>,
}

impl CorotationalBody {
    /// The body at rest, under a constant acceleration of gravity.
    #[must_use]
    pub fn new(model: Arc<FemModel>, gravity: Vec3) -> Self {
        let zeros = vec![0.0; model.size()];
        let points = model.elements.weights.len();
        let blank = SparseMatrix::zeros(model.pattern.clone());
        Self {
            regime: Regime::Dynamic,
            quaternions: vec![Rot::identity(); points],
            rotations: vec![Mat3::identity(); points],
            stiffness: blank.clone(),
            matrix: blank,
            factor: Factor::new(model.symbolic.clone()),
            spin: Spin::new(&model),
            step_s: 0.0,
            position: zeros.clone(),
            velocity: zeros.clone(),
            gravity: model.gravity_force(&gravity),
            equilibrium: EquilibriumSpec::default(),
            round_off_n: round_off_n(&model),
            load: zeros.clone(),
            gap: zeros.clone(),
            checkpoint: zeros.clone(),
            start: zeros.clone(),
            strains: vec![Mat3::zeros(); points],
            turning: vec![Mat3::zeros(); points],
            right: zeros.clone(),
            midpoint: zeros.clone(),
            free_rate: Vec3::zeros(),
            scratch: zeros,
            model,
        }
    }

    /// Sets the body down at a state.
    ///
    /// # Errors
    /// When a slice is not of the body's size.
    pub fn set_state(&mut self, position: &[f64], velocity: &[f64]) -> Result<(), FemError> {
        self.check_size(position)?;
        self.check_size(velocity)?;
        self.position.copy_from_slice(position);
        self.velocity.copy_from_slice(velocity);
        Ok(())
    }

    /// Puts the body at displacements of its size.
    pub(super) fn place(&mut self, position: &[f64]) {
        self.position.copy_from_slice(position);
    }

    /// What does not change.
    #[must_use]
    pub fn model(&self) -> &Arc<FemModel> {
        &self.model
    }

    /// Displacements.
    #[must_use]
    pub fn position(&self) -> &[f64] {
        &self.position
    }

    /// Velocities; in the quasi-static regime those of the last change of place.
    #[must_use]
    pub fn velocity(&self) -> &[f64] {
        &self.velocity
    }

    /// Velocity `û` of the step under way or just finished.
    #[must_use]
    pub fn midpoint(&self) -> &[f64] {
        &self.midpoint
    }

    /// With time or without.
    #[must_use]
    pub fn regime(&self) -> Regime {
        self.regime
    }

    /// Steps from now on with time or without. Velocities carry over both ways.
    pub fn set_regime(&mut self, regime: Regime) {
        self.regime = regime;
    }

    /// Sets the limits of the search for equilibrium in quasi-static steps.
    pub fn set_equilibrium(&mut self, spec: EquilibriumSpec) {
        self.equilibrium = spec;
    }

    /// Elastic energy, J, of the place the body is at.
    #[must_use]
    pub fn elastic_energy(&mut self) -> f64 {
        self.turn(None);
        let elements = &self.model.elements;
        let mut total = 0.0;
        for e in 0..elements.count() {
            let u = self.model.at_nodes(e, &self.position);
            for p in 0..elements.points {
                let f = elements.displacement_gradient(e, p, &u) + Mat3::identity();
                let stretch = stretch(&self.rotations[e * elements.points + p], &f);
                let (lambda, mu) = elements.lame[e];
                let trace = stretch.trace();
                total += elements.weight_at(e, p) * (mu * stretch.norm_squared() + 0.5 * lambda * trace * trace);
            }
        }
        total
    }

    /// Kinetic energy, J.
    #[must_use]
    pub fn kinetic_energy(&self) -> f64 {
        0.5 * self.model.mass().quadratic_form(&self.velocity)
    }

    /// Elastic forces on the free nodes at the place the body is at, N: minus the slope of [`Self::elastic_energy`].
    #[must_use]
    pub fn elastic_force(&mut self) -> Vec<f64> {
        let mut force = vec![0.0; self.model.size()];
        self.turn(Some(&mut force));
        force
    }

    /// Begins a step of `step_s` under `force` and gravity: rotations, forces, matrix, factor; afterwards
    /// [`Self::midpoint`] is the free velocity. The matrix of a quasi-static step is the tangent stiffness, made positive
    /// definite where it is not.
    ///
    /// # Errors
    /// When the step is no positive time, `force` not of the body's size, or the matrix has no factor, as that of a
    /// quasi-static body which is free to move has none.
    pub fn prepare(&mut self, force: &[f64], step_s: f64) -> Result<(), FemError> {
        if self.regime == Regime::QuasiStatic {
            if !(step_s > 0.0 && step_s.is_finite()) {
                return Err(FemError::BadStep);
            }
            self.set_load(force)?;
            self.unbalance(force)?;
            self.step_s = step_s;
            self.take_strains();
            self.factor_tangent(step_s)?;
        } else {
            self.assemble(force, step_s)?;
            self.factor.refactor(&self.matrix)?;
            if let Some(spin) = &mut self.spin {
                let inertial = 1.0 / step_s + self.model.damping.mass_per_s;
                spin.prepare(&self.model, &self.position, &mut self.factor, inertial);
            }
        }
        self.midpoint.copy_from_slice(&self.right);
        let mut free = std::mem::take(&mut self.midpoint);
        self.answer(&mut free);
        self.free_rate = self.turning().map_or_else(Vec3::zeros, |spin| spin.rate(&free));
        self.midpoint = free;
        Ok(())
    }

    /// Rotation as a whole, where the step separates it.
    fn turning(&self) -> Option<&Spin> {
        self.spin.as_ref().filter(|_| self.regime == Regime::Dynamic)
    }

    /// Constraints may act on the body with couples ([`Rows::set_couple`]): nothing holds it, and the step has inertia.
    #[must_use]
    pub fn takes_couples(&self) -> bool {
        self.turning().is_some()
    }

    /// Angular velocity of the body as a whole in the step under way without constraint forces, rad/s; zero for a body that takes no couples.
    #[must_use]
    pub fn free_rate(&self) -> &Vec3 {
        &self.free_rate
    }

    /// Turns forces into the velocity of the step under way.
    fn answer(&mut self, b: &mut [f64]) {
        match &self.spin {
            Some(spin) if self.regime == Regime::Dynamic => spin.solve(&mut self.factor, b),
            _ => self.factor.solve(b),
        }
    }

    /// Rotations, and into `right` what is not in balance: `force`, gravity, and the elastic forces.
    pub(super) fn unbalance(&mut self, force: &[f64]) -> Result<(), FemError> {
        self.check_size(force)?;
        for ((sum, force), gravity) in self.right.iter_mut().zip(force).zip(&self.gravity) {
            *sum = force + gravity;
        }
        let mut right = std::mem::take(&mut self.right);
        self.turn(Some(&mut right));
        self.right = right;
        Ok(())
    }

    /// The first half of [`Self::prepare`]: everything but the factor and the solve.
    pub(super) fn assemble(&mut self, force: &[f64], step_s: f64) -> Result<(), FemError> {
        if !(step_s > 0.0 && step_s.is_finite()) {
            return Err(FemError::BadStep);
        }
        self.unbalance(force)?;
        self.step_s = step_s;
        self.assemble_matrix();
        Ok(())
    }

    /// The matrix of a step for the rotations as they are; what moves goes into `right`.
    pub(super) fn assemble_matrix(&mut self) {
        let step_s = self.step_s;
        let model = self.model.clone();
        model.assemble_stiffness(&self.rotations, &mut self.stiffness);
        let damping = model.damping;
        let (inertial, elastic) = match self.regime {
            Regime::Dynamic => {
                model.mass().add_product(1.0 / step_s, &self.velocity, &mut self.right);
                (1.0 / step_s + damping.mass_per_s, step_s + damping.stiffness_s)
            }
            Regime::QuasiStatic => (0.0, step_s),
        };
        self.matrix.combine(inertial, model.mass(), elastic, &self.stiffness);
    }

    /// Compliance `W = h · H A⁻¹ Hᵀ` of rows in the step under way, m/N, row-major.
    ///
    /// # Errors
    /// When no step was prepared.
    pub fn compliance(&self, rows: &Rows, work: &mut Compliance, out: &mut [f64]) -> Result<(), FemError> {
        if !self.factor.is_ready() {
            return Err(FemError::BadStep);
        }
        work.compute(&self.factor, rows, self.step_s, out);
        if let (Some(spin), Regime::Dynamic) = (&self.spin, self.regime) {
            spin.change(rows, self.step_s, &mut work.turns, out);
        }
        Ok(())
    }

    /// Turns `b` into `A⁻¹ b` with the `A` of the step under way.
    ///
    /// # Errors
    /// When `b` is not of the body's size, or no step was prepared.
    pub fn solve(&mut self, b: &mut [f64]) -> Result<(), FemError> {
        self.check_size(b)?;
        if !self.factor.is_ready() {
            return Err(FemError::BadStep);
        }
        self.answer(b);
        Ok(())
    }

    /// Adds impulses to the body after a step, N·s: its velocity changes by `A⁻¹ p/h`, its position does not.
    ///
    /// # Errors
    /// When `impulse` is not of the body's size, no step was prepared, or the velocity would not be finite.
    pub fn strike(&mut self, impulse: &[f64]) -> Result<(), FemError> {
        self.check_size(impulse)?;
        if !self.factor.is_ready() {
            return Err(FemError::BadStep);
        }
        let mut change = std::mem::take(&mut self.scratch);
        change.iter_mut().zip(impulse).for_each(|(v, p)| *v = p / self.step_s);
        self.answer(&mut change);
        if let (Some(spin), Regime::Dynamic) = (&mut self.spin, self.regime) {
            spin.balance(&self.model, &self.position, impulse, &mut change);
        }
        let is_finite = change.iter().all(|v| v.is_finite());
        if is_finite {
            self.velocity.iter_mut().zip(&change).for_each(|(v, change)| *v += change);
        }
        self.scratch = change;
        if is_finite { Ok(()) } else { Err(FemError::BadStep) }
    }

    /// Adds constraint forces `Hᵀλ` to the step under way: `û` moves by `A⁻¹ Hᵀλ`.
    ///
    /// # Errors
    /// When `force` is not of the body's size, or no step was prepared.
    pub fn apply_contact(&mut self, force: &[f64]) -> Result<(), FemError> {
        self.check_size(force)?;
        if !self.factor.is_ready() {
            return Err(FemError::BadStep);
        }
        self.load.iter_mut().zip(force).for_each(|(load, force)| *load += force);
        let mut change = std::mem::take(&mut self.scratch);
        change.copy_from_slice(force);
        self.answer(&mut change);
        self.midpoint.iter_mut().zip(&change).for_each(|(v, change)| *v += change);
        self.scratch = change;
        Ok(())
    }

    /// Adds the couple of constraints, N·m, to the step under way of a body that takes couples.
    pub fn apply_couple(&mut self, couple: &Vec3) {
        if let (Some(spin), Regime::Dynamic) = (&self.spin, self.regime) {
            spin.add_couple(couple, &mut self.midpoint);
        }
    }

    /// Ends the step under way. A dynamic step moves by `h û`. A quasi-static step starts from there and iterates to
    /// equilibrium under all its forces.
    ///
    /// # Errors
    /// [`FemError::NotConverged`] when the equilibrium was not reached. The body is then at the equilibrium of the last
    /// substep that converged, or at the start of the step; the next step continues from there. A state that is not
    /// finite is never taken.
    pub fn finish(&mut self) -> Result<StepOutcome, FemError> {
        if self.regime == Regime::Dynamic {
            let finite = self.midpoint.iter().all(|v| v.is_finite());
            if finite {
                self.advance();
            }
            return StepOutcome::dynamic(finite).checked();
        }
        self.start.copy_from_slice(&self.position);
        let mut linear = std::mem::take(&mut self.midpoint);
        linear.iter_mut().for_each(|v| *v *= self.step_s);
        let outcome = self.find_equilibrium(Some(&linear));
        for ((v, x), before) in linear.iter_mut().zip(&self.position).zip(&self.start) {
            *v = (x - before) / self.step_s;
        }
        self.midpoint = linear;
        self.velocity.copy_from_slice(&self.midpoint);
        outcome.checked()
    }

    /// Moves by `h û`, whatever the regime.
    pub(super) fn advance(&mut self) {
        for (x, v) in self.position.iter_mut().zip(&self.midpoint) {
            *x += self.step_s * v;
        }
        self.velocity.copy_from_slice(&self.midpoint);
    }

    /// One whole step without constraints.
    ///
    /// # Errors
    /// As [`Self::prepare`] and [`Self::finish`].
    pub fn step(&mut self, force: &[f64], step_s: f64) -> Result<StepOutcome, FemError> {
        self.prepare(force, step_s)?;
        self.finish()
    }

    pub(super) fn check_size(&self, slice: &[f64]) -> Result<(), FemError> {
        if slice.len() == self.model.size() { Ok(()) } else { Err(FemError::SizeMismatch) }
    }

    /// Finds the rotation of every point, and takes the elastic forces off `force`: `force ← force − f(q)`.
    pub(super) fn turn(&mut self, mut force: Option<&mut [f64]>) {
        let model = &*self.model;
        let elements = &model.elements;
        for e in 0..elements.count() {
            let u = model.at_nodes(e, &self.position);
            let mut pulls = [Vec3::zeros(); WIDEST];
            for p in 0..elements.points {
                let k = e * elements.points + p;
                let f = elements.displacement_gradient(e, p, &u) + Mat3::identity();
                self.quaternions[k] = nearest_rotation(&f, &self.quaternions[k]);
                self.rotations[k] = *self.quaternions[k].to_rotation_matrix().matrix();
                let stretch = stretch(&self.rotations[k], &f);
                let (lambda, mu) = elements.lame[e];
                let stress = stretch * (2.0 * mu) + Mat3::identity() * (lambda * stretch.trace());
                let pulled = self.rotations[k] * stress * elements.weight_at(e, p);
                pulls.iter_mut().zip(elements.gradients_at(e, p)).for_each(|(pull, g)| *pull -= pulled * g);
            }
            let Some(force) = force.as_deref_mut() else { continue };
            for (node, pull) in elements.nodes_of(e).iter().zip(&pulls) {
                if let Some(place) = model.place_of(*node) {
                    add_vector(force, place, pull);
                }
            }
        }
    }
}

/// `S − 1` of a deformation with this rotation.
pub(super) fn stretch(rotation: &Mat3, deformation: &Mat3) -> Mat3 {
    let s = rotation.tr_mul(deformation);
    (s + s.transpose()) * 0.5 - Mat3::identity()
}
