//! Linear second-order systems `M ẍ + D ẋ + K x = f` of any size by PMI.
//!
//! Thread: any (storage is taken at construction; steps do not allocate).
//!
//! Seed 000 §II-B, eqs 3–4: `A v̂ = 2M v/T − K x + f`, `A = 2M/T + D + K T/2`, `x⁺ = x + T v̂`, `v⁺ = 2v̂ − v`.
//!
//! Round-off. A residual `r` left in `v̂` changes the energy of the step by `T v̂ᵀr`. A good solve leaves
//! `r ~ ε|A||v̂|`, but where a stiff chain moves almost as one piece `v̂ᵀ|A||v̂|` exceeds `v̂ᵀA v̂` by many powers of ten:
//! stretching is a small difference of large motions, in `v̂` as in `x⁺`. In plain arithmetic a chain with masses from
//! 1 to 1e-6 kg and springs from 1e2 to 1e9 N/m is off by 4e-8 of its energy after 1e6 steps. With
//! [`Accuracy::Compensated`] `x` and `v̂` are carried in two parts, `r` is formed in two parts from the definition
//! (never from the rounded `A`), and the solve is repeated on it, each pass shrinking `r` by `ε` times the condition
//! of `A` scaled to unit diagonal: 4e-14. Velocities need one part only, as the kinetic energy is no small difference
//! of large terms.

use nalgebra::DMatrix;
use thiserror::Error;

use super::symmetric::{Factor, SymmetricMatrix};
use super::twofold::Twofold;
use super::{EnergyFlow, EnergyLedger};

/// Why a linear system or a step of it was refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum LinearError {
    /// Matrices or vectors of different size.
    #[error("mass, damping, stiffness, states and forces must all have the same size")]
    SizeMismatch,
    /// Named matrix is not square, not finite, or not symmetric.
    #[error("the {0} matrix must be square, finite and symmetric")]
    NotSymmetric(&'static str),
    /// Named matrix would make energy.
    #[error("the {0} matrix must be positive (semi-)definite, or the system would make energy from nothing")]
    NotPositive(&'static str),
    /// Step not positive, not finite, or so small or large that `A` overflows.
    #[error("the step must be a positive, finite time")]
    BadStep,
}

/// The matrices of a linear system.
#[derive(Clone, Debug)]
pub struct LinearSystem {
    pub(super) mass: SymmetricMatrix,
    pub(super) damping: SymmetricMatrix,
    pub(super) stiffness: SymmetricMatrix,
}

impl LinearSystem {
    /// Checks the matrices: `M` positive definite, `D` and `K` positive semi-definite, all symmetric and of one size.
    ///
    /// # Errors
    /// Says which matrix is unfit.
    pub fn new(mass: &DMatrix<f64>, damping: &DMatrix<f64>, stiffness: &DMatrix<f64>) -> Result<Self, LinearError> {
        let symmetric = |name, matrix| SymmetricMatrix::new(matrix).ok_or(LinearError::NotSymmetric(name));
        let system = Self {
            mass: symmetric("mass", mass)?,
            damping: symmetric("damping", damping)?,
            stiffness: symmetric("stiffness", stiffness)?,
        };
        if system.damping.size() != system.size() || system.stiffness.size() != system.size() {
            return Err(LinearError::SizeMismatch);
        }
        if !system.factor_storage().refactor(|i, j| system.mass.at(i, j)) {
            return Err(LinearError::NotPositive("mass"));
        }
        for (name, matrix) in [("damping", &system.damping), ("stiffness", &system.stiffness)] {
            if !matrix.is_positive_semidefinite() {
                return Err(LinearError::NotPositive(name));
            }
        }
        Ok(system)
    }

    /// Number of degrees of freedom.
    #[must_use]
    pub fn size(&self) -> usize {
        self.mass.size()
    }

    /// `½ vᵀM v + ½ xᵀK x`, J.
    #[must_use]
    pub fn energy_j(&self, position: &[f64], velocity: &[f64]) -> f64 {
        0.5 * (self.mass.quadratic_form(velocity) + self.stiffness.quadratic_form(position))
    }

    /// Storage for the factor of any combination of the three matrices.
    pub(super) fn factor_storage(&self) -> Factor {
        let first = |i| self.mass.first(i).min(self.damping.first(i)).min(self.stiffness.first(i));
        Factor::new((0..self.size()).map(first).collect())
    }
}

/// How the body computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accuracy {
    /// One solve in plain arithmetic: for systems whose stiffnesses and masses lie within a few powers of ten.
    Plain,
    /// State in two parts and repeated solves: energy to round-off for any masses and springs, at several times the
    /// arithmetic.
    Compensated,
}

impl Accuracy {
    /// Solves per step. The second pass of the compensated solve shrinks the residual from round-off of `|A||v̂|` to
    /// below that of the energy; a third gains nothing more on the chains of `tests/pmi.rs`.
    fn passes(self) -> usize {
        match self {
            Self::Plain => 1,
            Self::Compensated => 2,
        }
    }
}

/// A linear system in motion.
#[derive(Clone, Debug)]
pub struct LinearBody {
    system: LinearSystem,
    accuracy: Accuracy,
    factor: Factor,
    /// Step the factor was made for, s; zero before the first.
    step_s: f64,
    position_parts: Vec<Twofold>,
    position: Vec<f64>,
    velocity: Vec<f64>,
    ledger: EnergyLedger,
    // Of the current step.
    midpoint_parts: Vec<Twofold>,
    midpoint: Vec<f64>,
    force: Vec<f64>,
    contact: Vec<f64>,
    scratch: Vec<f64>,
    /// `x + v̂ T/2` and `v − v̂`, in two parts or in one.
    middle: Vec<Twofold>,
    change: Vec<Twofold>,
    plain_middle: Vec<f64>,
    plain_change: Vec<f64>,
}

impl LinearBody {
    /// The system at rest at the origin.
    #[must_use]
    pub fn new(system: LinearSystem, accuracy: Accuracy) -> Self {
        let size = system.size();
        let (zeros, parts) = (vec![0.0; size], vec![Twofold::default(); size]);
        Self {
            factor: system.factor_storage(),
            system,
            accuracy,
            step_s: 0.0,
            position_parts: parts.clone(),
            position: zeros.clone(),
            velocity: zeros.clone(),
            ledger: EnergyLedger::default(),
            midpoint_parts: parts.clone(),
            midpoint: zeros.clone(),
            force: zeros.clone(),
            contact: zeros.clone(),
            scratch: zeros.clone(),
            middle: parts.clone(),
            change: parts,
            plain_middle: zeros.clone(),
            plain_change: zeros,
        }
    }

    /// Sets the body down at a state and opens a new ledger.
    ///
    /// # Errors
    /// When a slice is not of the system's size.
    pub fn set_state(&mut self, position: &[f64], velocity: &[f64]) -> Result<(), LinearError> {
        self.check_size(position)?;
        self.check_size(velocity)?;
        self.position.copy_from_slice(position);
        self.velocity.copy_from_slice(velocity);
        for (parts, &x) in self.position_parts.iter_mut().zip(position) {
            *parts = x.into();
        }
        self.ledger = EnergyLedger::open(self.kinetic_j(), self.potential_j());
        Ok(())
    }

    /// The matrices.
    #[must_use]
    pub fn system(&self) -> &LinearSystem {
        &self.system
    }

    /// Positions `x`.
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

    /// Where the energy went.
    #[must_use]
    pub fn ledger(&self) -> &EnergyLedger {
        &self.ledger
    }

    /// Begins a step of `step_s` under `force`: afterwards [`Self::midpoint`] is the free midpoint velocity, and
    /// [`Self::solve`] gives the compliance. Factors `A` when the step has changed.
    ///
    /// # Errors
    /// When the step is no positive time or `force` not of the system's size; the body then stays as it was.
    pub fn prepare(&mut self, force: &[f64], step_s: f64) -> Result<(), LinearError> {
        self.check_size(force)?;
        if !(step_s > 0.0 && step_s.is_finite()) {
            return Err(LinearError::BadStep);
        }
        if step_s != self.step_s {
            self.factor_for(step_s)?;
        }
        self.force.copy_from_slice(force);
        self.contact.fill(0.0);
        // From zero, not from `v`: in stiff systems `v̂` is a small number beside `v`, and would keep only its last
        // digits.
        self.midpoint_parts.fill(Twofold::default());
        for _ in 0..self.accuracy.passes() {
            self.improve_midpoint();
        }
        Ok(())
    }

    /// Turns `b` into `A⁻¹ b` with the `A` of the step under way.
    ///
    /// # Errors
    /// When `b` is not of the system's size, or no step was ever prepared.
    pub fn solve(&self, b: &mut [f64]) -> Result<(), LinearError> {
        self.check_size(b)?;
        if self.step_s == 0.0 {
            return Err(LinearError::BadStep);
        }
        self.factor.solve(b);
        Ok(())
    }

    /// Adds constraint forces `Hᵀλ` to the step under way: `v̂` moves by `A⁻¹ Hᵀλ`.
    ///
    /// # Errors
    /// When `force` is not of the system's size.
    pub fn apply_contact(&mut self, force: &[f64]) -> Result<(), LinearError> {
        self.check_size(force)?;
        for (sum, f) in self.contact.iter_mut().zip(force) {
            *sum += f;
        }
        // The residual is formed from all forces, so the same improvement serves the free motion and its correction.
        for _ in 0..self.accuracy.passes() {
            self.improve_midpoint();
        }
        Ok(())
    }

    /// Ends the step under way and enters it in the ledger.
    pub fn finish(&mut self) {
        let step_s = self.step_s;
        for i in 0..self.system.size() {
            let moved = self.position_parts[i].plus(self.midpoint_parts[i].times(step_s));
            self.position_parts[i] = if self.accuracy == Accuracy::Plain { moved.high.into() } else { moved };
            self.position[i] = moved.high;
            self.velocity[i] = self.midpoint_parts[i].times(2.0).minus(self.velocity[i].into()).high;
        }
        let power = |force: &[f64]| force.iter().zip(&self.midpoint).map(|(f, v)| f * v).sum::<f64>();
        let flow = EnergyFlow {
            work_in_j: step_s * power(&self.force),
            contact_work_j: step_s * power(&self.contact),
            dissipated_j: step_s * self.system.damping.quadratic_form(&self.midpoint),
        };
        let (kinetic_j, potential_j) = (self.kinetic_j(), self.potential_j());
        self.ledger.record(&flow, kinetic_j, potential_j);
    }

    /// One whole step without constraints.
    ///
    /// # Errors
    /// As [`Self::prepare`].
    pub fn step(&mut self, force: &[f64], step_s: f64) -> Result<(), LinearError> {
        self.prepare(force, step_s)?;
        self.finish();
        Ok(())
    }

    fn check_size(&self, slice: &[f64]) -> Result<(), LinearError> {
        if slice.len() == self.system.size() { Ok(()) } else { Err(LinearError::SizeMismatch) }
    }

    /// Factors `A = 2M/T + D + K T/2`.
    fn factor_for(&mut self, step_s: f64) -> Result<(), LinearError> {
        let LinearSystem { mass, damping, stiffness } = &self.system;
        let (inertial, elastic) = (2.0 / step_s, 0.5 * step_s);
        let entry = |i, j| inertial * mass.at(i, j) + damping.at(i, j) + elastic * stiffness.at(i, j);
        self.step_s = 0.0;
        if !self.factor.refactor(entry) {
            return Err(LinearError::BadStep);
        }
        self.step_s = step_s;
        Ok(())
    }

    /// `v̂ ← v̂ + A⁻¹ r` with `r = f + f_c − 2M(v̂ − v)/T − D v̂ − K(x + v̂ T/2)`.
    fn improve_midpoint(&mut self) {
        match self.accuracy {
            Accuracy::Plain => self.residual_plain(),
            Accuracy::Compensated => self.residual_compensated(),
        }
        self.factor.solve(&mut self.scratch);
        for i in 0..self.system.size() {
            let better = self.midpoint_parts[i].plus(self.scratch[i].into());
            self.midpoint_parts[i] = better;
            self.midpoint[i] = better.high;
        }
    }

    fn residual_compensated(&mut self) {
        let LinearSystem { mass, damping, stiffness } = &self.system;
        for i in 0..mass.size() {
            self.middle[i] = self.position_parts[i].plus(self.midpoint_parts[i].times(0.5 * self.step_s));
            self.change[i] = Twofold::from(self.velocity[i]).minus(self.midpoint_parts[i]);
        }
        for i in 0..mass.size() {
            let applied = Twofold::from(self.force[i]).plus(self.contact[i].into());
            let inertial = mass.row_times_twofold(i, &self.change).times(2.0 / self.step_s);
            let damped = damping.row_times_twofold(i, &self.midpoint_parts);
            let elastic = stiffness.row_times_twofold(i, &self.middle);
            self.scratch[i] = applied.plus(inertial).minus(damped).minus(elastic).high;
        }
    }

    fn residual_plain(&mut self) {
        let LinearSystem { mass, damping, stiffness } = &self.system;
        for i in 0..mass.size() {
            self.midpoint[i] = self.midpoint_parts[i].high;
            self.plain_middle[i] = self.position[i] + 0.5 * self.step_s * self.midpoint[i];
            self.plain_change[i] = self.velocity[i] - self.midpoint[i];
        }
        for i in 0..mass.size() {
            self.scratch[i] =
                self.force[i] + self.contact[i] + 2.0 / self.step_s * mass.row_times(i, &self.plain_change)
                    - damping.row_times(i, &self.midpoint)
                    - stiffness.row_times(i, &self.plain_middle);
        }
    }

    fn kinetic_j(&self) -> f64 {
        0.5 * self.system.mass.quadratic_form(&self.velocity)
    }

    fn potential_j(&self) -> f64 {
        0.5 * match self.accuracy {
            Accuracy::Plain => self.system.stiffness.quadratic_form(&self.position),
            Accuracy::Compensated => self.system.stiffness.quadratic_form_twofold(&self.position_parts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> LinearSystem {
        let mass = DMatrix::from_diagonal_element(2, 2, 0.5);
        let stiffness = DMatrix::from_row_slice(2, 2, &[300.0, -200.0, -200.0, 200.0]);
        LinearSystem::new(&mass, &(&stiffness * 1e-3), &stiffness).expect("sound")
    }

    #[test]
    fn a_system_that_would_make_energy_is_refused_by_name() {
        let good = DMatrix::from_diagonal_element(2, 2, 1.0);
        let saddle = DMatrix::from_row_slice(2, 2, &[1.0, 2.0, 2.0, 1.0]);
        let lopsided = DMatrix::from_row_slice(2, 2, &[1.0, 0.1, 0.0, 1.0]);
        let small = DMatrix::from_diagonal_element(1, 1, 1.0);
        type Matrix = DMatrix<f64>;
        let refused = |m: &Matrix, d: &Matrix, k: &Matrix| LinearSystem::new(m, d, k).expect_err("unfit");
        assert_eq!(refused(&saddle, &good, &good), LinearError::NotPositive("mass"));
        assert_eq!(refused(&(&good * 0.0), &good, &good), LinearError::NotPositive("mass"));
        assert_eq!(refused(&good, &saddle, &good), LinearError::NotPositive("damping"));
        assert_eq!(refused(&good, &good, &saddle), LinearError::NotPositive("stiffness"));
        assert_eq!(refused(&good, &good, &lopsided), LinearError::NotSymmetric("stiffness"));
        assert_eq!(refused(&good, &good, &(&good * f64::NAN)), LinearError::NotSymmetric("stiffness"));
        assert_eq!(refused(&good, &small, &good), LinearError::SizeMismatch);
    }

    #[test]
    fn a_refused_step_leaves_the_body_as_it_was() {
        let mut body = LinearBody::new(pair(), Accuracy::Compensated);
        body.set_state(&[0.1, 0.2], &[0.3, 0.4]).expect("right size");
        for step_s in [0.0, -1e-3, f64::NAN, f64::INFINITY] {
            assert_eq!(body.step(&[0.0, 0.0], step_s), Err(LinearError::BadStep));
        }
        assert_eq!(body.step(&[0.0], 1e-3), Err(LinearError::SizeMismatch));
        assert_eq!(body.solve(&mut [1.0, 1.0]), Err(LinearError::BadStep));
        assert_eq!((body.position(), body.velocity()), (&[0.1, 0.2][..], &[0.3, 0.4][..]));
        assert_eq!(body.ledger().balance(), 0.0);
    }

    #[test]
    fn the_midpoint_solves_the_published_equation() {
        let (x, v, f, t) = ([0.1, -0.2], [0.3, 0.4], [5.0, -7.0], 4e-3);
        for accuracy in [Accuracy::Plain, Accuracy::Compensated] {
            let mut body = LinearBody::new(pair(), accuracy);
            body.set_state(&x, &v).expect("right size");
            body.step(&f, t).expect("sound");
            let system = pair();
            for i in 0..2 {
                let left = 2.0 / t * system.mass.row_times(i, body.midpoint())
                    + system.damping.row_times(i, body.midpoint())
                    + 0.5 * t * system.stiffness.row_times(i, body.midpoint());
                let right = 2.0 / t * system.mass.row_times(i, &v) - system.stiffness.row_times(i, &x) + f[i];
                assert!((left - right).abs() < 1e-12 * 150.0, "{left} {right}");
                assert!((body.position()[i] - x[i] - t * body.midpoint()[i]).abs() < 1e-16);
                assert!((body.velocity()[i] + v[i] - 2.0 * body.midpoint()[i]).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn a_wall_met_through_the_compliance_stops_the_mass_and_pays_for_it_in_the_ledger() {
        for accuracy in [Accuracy::Plain, Accuracy::Compensated] {
            let mut body = LinearBody::new(pair(), accuracy);
            body.set_state(&[0.0, 0.0], &[0.0, -1.0]).expect("right size");
            let mut column = [0.0, 1.0];
            body.prepare(&[0.0, -3.0], 1e-3).expect("sound");
            body.solve(&mut column).expect("prepared");
            // The force that makes the second mass stand still over the step.
            let lambda = -body.midpoint()[1] / column[1];
            body.apply_contact(&[0.0, lambda]).expect("right size");
            body.finish();
            assert!(
                body.position()[1].abs() < 1e-18 && (body.velocity()[1] - 1.0).abs() < 1e-15,
                "{:?}",
                body.position()
            );
            assert!(body.ledger().contact_work_j().abs() < 1e-15);
            assert!(body.ledger().balance().abs() < 1e-16, "{:e}", body.ledger().balance());
        }
    }

    #[test]
    fn plain_and_compensated_steps_agree_to_round_off_on_a_mild_system() {
        let mut bodies = [Accuracy::Plain, Accuracy::Compensated].map(|accuracy| LinearBody::new(pair(), accuracy));
        for k in 0..1000 {
            for body in &mut bodies {
                body.step(&[f64::from(k % 7), -1.0], 1e-3).expect("sound");
            }
        }
        let [plain, compensated] = &bodies;
        assert!(plain.position().iter().zip(compensated.position()).all(|(a, b)| (a - b).abs() < 1e-13));
    }
}
