//! Linear elastic bodies by passive midpoint integration.
//!
//! Thread: simulation (storage is taken at construction; steps do not allocate).
//!
//! Seed 000 §II-B, eqs 3–4: `A v̂ = 2M v/T − K x + f`, `A = 2M/T + D + K T/2`, `x⁺ = x + T v̂`, `v⁺ = 2v̂ − v`, with
//! `D = αM + βK`. `A` is factored when the step changes, else only solved with. Energy changes by the work of the
//! forces less the heat, for any step and any stiffness (eq. 6); the ledger keeps the account.
//!
//! Round-off. A residual `r` left in `v̂` makes `T v̂ᵀr` of energy. Products with the assembled `K` lose digits where
//! the body bends: large displacements of neighbours cancel. [`Accuracy::Compensated`] takes the residual element by
//! element, from differences of displacements, which subtract exactly, and solves once more on it.

use super::elements::stress;
use super::factor::Factor;
use super::model::{FemError, FemModel};
use super::pattern::{SparseMatrix, add_vector};
use super::rows::Rows;
use super::{Compliance, shape::WIDEST};
use crate::math::Vec3;
use crate::mechanism::pmi::{Accuracy, EnergyFlow, EnergyLedger};
use std::sync::Arc;

/// A linear body in motion. Vectors are displacements from rest, three numbers for each free node.
pub struct ElasticBody {
    model: Arc<FemModel>,
    accuracy: Accuracy,
    matrix: SparseMatrix,
    factor: Factor,
    /// Step the factor was made for, s; zero before the first.
    step_s: f64,
    position: Vec<f64>,
    velocity: Vec<f64>,
    ledger: EnergyLedger,
    gravity: Vec<f64>,
    gravity_acceleration: Vec3,
    // Of the current step.
    midpoint: Vec<f64>,
    force: Vec<f64>,
    contact: Vec<f64>,
    residual: Vec<f64>,
    /// What the mass acts on, `2 (v̂ − v)/T + α v̂`, and the stiffness, `x + (T/2 + β) v̂`.
    inertial: Vec<f64>,
    strained: Vec<f64>,
}

impl ElasticBody {
    /// The body at rest, under a constant acceleration of gravity.
    #[must_use]
    pub fn new(model: Arc<FemModel>, gravity: Vec3, accuracy: Accuracy) -> Self {
        let zeros = vec![0.0; model.size()];
        Self {
            accuracy,
            matrix: SparseMatrix::zeros(model.pattern.clone()),
            factor: Factor::new(model.symbolic.clone()),
            step_s: 0.0,
            position: zeros.clone(),
            velocity: zeros.clone(),
            ledger: EnergyLedger::default(),
            gravity: model.gravity_force(&gravity),
            gravity_acceleration: gravity,
            midpoint: zeros.clone(),
            force: zeros.clone(),
            contact: zeros.clone(),
            residual: zeros.clone(),
            inertial: zeros.clone(),
            strained: zeros,
            model,
        }
    }

    /// Sets the body down at a state and opens a new ledger.
    ///
    /// # Errors
    /// When a slice is not of the body's size.
    pub fn set_state(&mut self, position: &[f64], velocity: &[f64]) -> Result<(), FemError> {
        self.check_size(position)?;
        self.check_size(velocity)?;
        self.position.copy_from_slice(position);
        self.velocity.copy_from_slice(velocity);
        self.ledger = EnergyLedger::open(self.kinetic_j(), self.potential_j());
        Ok(())
    }

    /// What does not change.
    #[must_use]
    pub fn model(&self) -> &Arc<FemModel> {
        &self.model
    }

    /// Displacements `x`.
    #[must_use]
    pub fn position(&self) -> &[f64] {
        &self.position
    }

    /// Velocities `v`.
    #[must_use]
    pub fn velocity(&self) -> &[f64] {
        &self.velocity
    }

    /// Midpoint velocity `v̂` of the step under way or just finished.
    #[must_use]
    pub fn midpoint(&self) -> &[f64] {
        &self.midpoint
    }

    /// Where the energy went. Gravity counts as work from outside.
    #[must_use]
    pub fn ledger(&self) -> &EnergyLedger {
        &self.ledger
    }

    /// Begins a step of `step_s` under `force` and gravity: afterwards [`Self::midpoint`] is the free midpoint
    /// velocity. Factors `A` when the step has changed.
    ///
    /// # Errors
    /// When the step is no positive time or `force` not of the body's size; the body then stays as it was.
    pub fn prepare(&mut self, force: &[f64], step_s: f64) -> Result<(), FemError> {
        self.check_size(force)?;
        if !(step_s > 0.0 && step_s.is_finite()) {
            return Err(FemError::BadStep);
        }
        if step_s != self.step_s {
            self.factor_for(step_s)?;
        }
        for ((sum, force), gravity) in self.force.iter_mut().zip(force).zip(&self.gravity) {
            *sum = force + gravity;
        }
        self.contact.fill(0.0);
        // From zero, not from `v`: in stiff systems `v̂` is a small number beside `v`.
        self.midpoint.fill(0.0);
        self.improve();
        Ok(())
    }

    /// Turns `b` into `A⁻¹ b` with the `A` of the step under way.
    ///
    /// # Errors
    /// When `b` is not of the body's size, or no step was ever prepared.
    pub fn solve(&mut self, b: &mut [f64]) -> Result<(), FemError> {
        self.check_size(b)?;
        if !self.factor.is_ready() {
            return Err(FemError::BadStep);
        }
        self.factor.solve(b);
        Ok(())
    }

    /// Compliance `W = T · H A⁻¹ Hᵀ` of rows in the step under way, m/N, row-major.
    ///
    /// # Errors
    /// When no step was prepared.
    pub fn compliance(&self, rows: &Rows, work: &mut Compliance, out: &mut [f64]) -> Result<(), FemError> {
        if !self.factor.is_ready() {
            return Err(FemError::BadStep);
        }
        work.compute(&self.factor, rows, self.step_s, out);
        Ok(())
    }

    /// Adds constraint forces `Hᵀλ` to the step under way: `v̂` moves by `A⁻¹ Hᵀλ`.
    ///
    /// # Errors
    /// When `force` is not of the body's size.
    pub fn apply_contact(&mut self, force: &[f64]) -> Result<(), FemError> {
        self.check_size(force)?;
        for (sum, f) in self.contact.iter_mut().zip(force) {
            *sum += f;
        }
        // The residual is formed from all forces, so the same improvement serves the free motion and its correction.
        self.improve();
        Ok(())
    }

    /// Ends the step under way and enters it in the ledger.
    pub fn finish(&mut self) {
        let step_s = self.step_s;
        // For the reaction, which belongs to the step and not to its end.
        self.split_midpoint();
        for i in 0..self.position.len() {
            self.position[i] += step_s * self.midpoint[i];
            self.velocity[i] = 2.0 * self.midpoint[i] - self.velocity[i];
        }
        let power = |force: &[f64]| force.iter().zip(&self.midpoint).map(|(f, v)| f * v).sum::<f64>();
        let damping = self.model.damping;
        let heat = if damping == super::Rayleigh::default() {
            0.0
        } else {
            damping.mass_per_s * self.model.mass().quadratic_form(&self.midpoint)
                + damping.stiffness_s * 2.0 * self.model.elastic_energy(&self.midpoint)
        };
        let flow = EnergyFlow {
            work_in_j: step_s * power(&self.force),
            contact_work_j: step_s * power(&self.contact),
            dissipated_j: step_s * heat,
        };
        let (kinetic_j, potential_j) = (self.kinetic_j(), self.potential_j());
        self.ledger.record(&flow, kinetic_j, potential_j);
    }

    /// One whole step without constraints.
    ///
    /// # Errors
    /// As [`Self::prepare`].
    pub fn step(&mut self, force: &[f64], step_s: f64) -> Result<(), FemError> {
        self.prepare(force, step_s)?;
        self.finish();
        Ok(())
    }

    /// Force of the support on the body over the step just finished, N: the rows of the fixed nodes of eq. 29 of seed
    /// 000, added up.
    #[must_use]
    pub fn reaction(&self) -> Vec3 {
        let mut total = Vec3::zeros();
        self.reaction_at(|_, force| total += force);
        total
    }

    /// The same node by node, for those nodes that `each` is called with.
    pub fn reaction_at(&self, mut each: impl FnMut(u32, Vec3)) {
        let model = &*self.model;
        let elements = &model.elements;
        for e in 0..elements.count() {
            let nodes = elements.nodes_of(e);
            if nodes.iter().all(|node| model.place_of(*node).is_some()) {
                continue;
            }
            let mut forces = [Vec3::zeros(); WIDEST];
            model.element_force(e, &self.strained, &mut forces);
            let inertial = model.at_nodes(e, &self.inertial);
            for a in (0..nodes.len()).filter(|a| model.place_of(nodes[*a]).is_none()) {
                let mut force = forces[a];
                for b in 0..nodes.len() {
                    let mass = elements.mass_between(e, a, b);
                    let coupled = if model.is_lumped() { 0.0 } else { mass };
                    force += inertial[b] * coupled - self.gravity_acceleration * mass;
                }
                each(nodes[a], force);
            }
        }
    }

    fn check_size(&self, slice: &[f64]) -> Result<(), FemError> {
        if slice.len() == self.model.size() { Ok(()) } else { Err(FemError::SizeMismatch) }
    }

    /// Factors `A = 2M/T + D + K T/2`.
    fn factor_for(&mut self, step_s: f64) -> Result<(), FemError> {
        let damping = self.model.damping;
        let (inertial, elastic) = (2.0 / step_s + damping.mass_per_s, 0.5 * step_s + damping.stiffness_s);
        self.matrix.combine(inertial, self.model.mass(), elastic, self.model.stiffness());
        self.step_s = 0.0;
        self.factor.refactor(&self.matrix)?;
        self.step_s = step_s;
        Ok(())
    }

    /// `v̂ ← v̂ + A⁻¹ r`, as often as the accuracy asks.
    fn improve(&mut self) {
        let passes = if self.accuracy == Accuracy::Plain { 1 } else { 2 };
        for _ in 0..passes {
            self.form_residual();
            self.factor.solve(&mut self.residual);
            for (v, correction) in self.midpoint.iter_mut().zip(&self.residual) {
                *v += correction;
            }
        }
    }

    fn split_midpoint(&mut self) {
        let damping = self.model.damping;
        let (rate, reach) = (2.0 / self.step_s, 0.5 * self.step_s + damping.stiffness_s);
        for i in 0..self.midpoint.len() {
            let v = self.midpoint[i];
            self.inertial[i] = rate * (v - self.velocity[i]) + damping.mass_per_s * v;
            self.strained[i] = self.position[i] + reach * v;
        }
    }

    /// `r = f + f_c − M (2 (v̂ − v)/T + α v̂) − K (x + (T/2 + β) v̂)`.
    fn form_residual(&mut self) {
        self.split_midpoint();
        for ((r, f), c) in self.residual.iter_mut().zip(&self.force).zip(&self.contact) {
            *r = f + c;
        }
        self.model.mass().add_product(-1.0, &self.inertial, &mut self.residual);
        match self.accuracy {
            Accuracy::Plain => self.model.stiffness().add_product(-1.0, &self.strained, &mut self.residual),
            Accuracy::Compensated => self.model.subtract_elastic_force(&self.strained, &mut self.residual),
        }
    }

    fn kinetic_j(&self) -> f64 {
        0.5 * self.model.mass().quadratic_form(&self.velocity)
    }

    fn potential_j(&self) -> f64 {
        match self.accuracy {
            Accuracy::Plain => 0.5 * self.model.stiffness().quadratic_form(&self.position),
            Accuracy::Compensated => self.model.elastic_energy(&self.position),
        }
    }
}

impl FemModel {
    /// `½ xᵀK x`, J, element by element.
    #[must_use]
    pub fn elastic_energy(&self, x: &[f64]) -> f64 {
        let elements = &self.elements;
        let mut total = 0.0;
        for e in 0..elements.count() {
            let u = self.at_nodes(e, x);
            for p in 0..elements.points {
                let gradient = elements.displacement_gradient(e, p, &u);
                total += 0.5 * elements.weight_at(e, p) * stress(elements.lame[e], &gradient).dot(&gradient);
            }
        }
        total
    }

    /// Elastic forces of one element on its nodes, as `K x` has them.
    pub(super) fn element_force(&self, element: usize, x: &[f64], forces: &mut [Vec3; WIDEST]) {
        let elements = &self.elements;
        let u = self.at_nodes(element, x);
        for p in 0..elements.points {
            let gradient = elements.displacement_gradient(element, p, &u);
            let pulled = stress(elements.lame[element], &gradient) * elements.weight_at(element, p);
            for (force, g) in forces.iter_mut().zip(elements.gradients_at(element, p)) {
                *force += pulled * g;
            }
        }
    }

    /// `y ← y − K x`, element by element.
    pub(super) fn subtract_elastic_force(&self, x: &[f64], y: &mut [f64]) {
        for e in 0..self.elements.count() {
            let mut forces = [Vec3::zeros(); WIDEST];
            self.element_force(e, x, &mut forces);
            for (node, force) in self.elements.nodes_of(e).iter().zip(&forces) {
                if let Some(place) = self.place_of(*node) {
                    add_vector(y, place, &-force);
                }
            }
        }
    }
}
