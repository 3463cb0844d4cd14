//! Baselines: the integrators that PMI is compared with in tests and benches, on the same systems and inputs. No body
//! of hapticd moves by them.
//!
//! Thread: any (storage is taken at construction; steps do not allocate).
//!
//! Semi-implicit (symplectic) Euler is stable only while `ω T < 2` for every mode, implicit Euler is stable and loses
//! energy, the faster the larger `ω T`: the two ways out that Kim et al. 2017 (PMI) set against the midpoint.

use super::linear::{LinearError, LinearSystem};
use super::symmetric::Factor;
use crate::math::{Mat3, Vec3, skew};

/// Which rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// `v⁺ = v + T M⁻¹(f − D v − K x)`, `x⁺ = x + T v⁺`.
    SemiImplicitEuler,
    /// `(M + T D + T²K) v⁺ = M v + T (f − K x)`, `x⁺ = x + T v⁺`.
    ImplicitEuler,
}

/// A linear system moved by a baseline rule.
#[derive(Clone, Debug)]
pub struct LinearBaseline {
    rule: Rule,
    system: LinearSystem,
    factor: Factor,
    step_s: f64,
    position: Vec<f64>,
    velocity: Vec<f64>,
    scratch: Vec<f64>,
}

impl LinearBaseline {
    /// The system at a state.
    ///
    /// # Errors
    /// When a slice is not of the system's size.
    pub fn new(rule: Rule, system: LinearSystem, position: &[f64], velocity: &[f64]) -> Result<Self, LinearError> {
        if position.len() != system.size() || velocity.len() != system.size() {
            return Err(LinearError::SizeMismatch);
        }
        Ok(Self {
            rule,
            factor: system.factor_storage(),
            step_s: 0.0,
            position: position.to_vec(),
            velocity: velocity.to_vec(),
            scratch: vec![0.0; system.size()],
            system,
        })
    }

    /// `½ vᵀM v + ½ xᵀK x`, J.
    #[must_use]
    pub fn energy_j(&self) -> f64 {
        self.system.energy_j(&self.position, &self.velocity)
    }

    /// One step under `force`.
    ///
    /// # Errors
    /// When the step is not a positive time or `force` not of the system's size.
    pub fn step(&mut self, force: &[f64], step_s: f64) -> Result<(), LinearError> {
        if force.len() != self.system.size() {
            return Err(LinearError::SizeMismatch);
        }
        if !(step_s > 0.0 && step_s.is_finite()) {
            return Err(LinearError::BadStep);
        }
        if step_s != self.step_s {
            self.factor_for(step_s)?;
        }
        let LinearSystem { mass, damping, stiffness } = &self.system;
        let implicit = self.rule == Rule::ImplicitEuler;
        for (i, force) in force.iter().enumerate() {
            let elastic = stiffness.row_times(i, &self.position);
            // The implicit rule has its damping on the left.
            let damped = if implicit { 0.0 } else { damping.row_times(i, &self.velocity) };
            self.scratch[i] = mass.row_times(i, &self.velocity) + step_s * (force - damped - elastic);
        }
        self.factor.solve(&mut self.scratch);
        self.velocity.copy_from_slice(&self.scratch);
        for (x, v) in self.position.iter_mut().zip(&self.velocity) {
            *x += step_s * v;
        }
        Ok(())
    }

    fn factor_for(&mut self, step_s: f64) -> Result<(), LinearError> {
        let LinearSystem { mass, damping, stiffness } = &self.system;
        let implicit = |i, j| mass.at(i, j) + step_s * damping.at(i, j) + step_s * step_s * stiffness.at(i, j);
        let sound = match self.rule {
            Rule::SemiImplicitEuler => self.factor.refactor(|i, j| mass.at(i, j)),
            Rule::ImplicitEuler => self.factor.refactor(implicit),
        };
        self.step_s = if sound { step_s } else { 0.0 };
        if sound { Ok(()) } else { Err(LinearError::BadStep) }
    }
}

/// Angular velocity (body frame) of a torque-free body after one step of a baseline rule; `None` when the implicit
/// equation cannot be solved.
#[must_use]
pub fn spin_after(rule: Rule, inertia_body: &Mat3, spin: &Vec3, step_s: f64) -> Option<Vec3> {
    let torque = |w: &Vec3| (inertia_body * w).cross(w);
    match rule {
        Rule::SemiImplicitEuler => Some(spin + inertia_body.try_inverse()? * torque(spin) * step_s),
        Rule::ImplicitEuler => {
            // Newton on J(ω⁺ − ω) = T (Jω⁺ × ω⁺), halving steps that do not descend.
            let residual = |w: &Vec3| inertia_body * (w - spin) - torque(w) * step_s;
            let mut next = *spin;
            for _ in 0..50 {
                let left = residual(&next);
                let jacobian = inertia_body - (skew(&(inertia_body * next)) - skew(&next) * inertia_body) * step_s;
                let mut change = jacobian.try_inverse()? * left;
                for _ in 0..30 {
                    if residual(&(next - change)).norm_squared() < left.norm_squared() {
                        break;
                    }
                    change *= 0.5;
                }
                next -= change;
                if change.norm() <= 1e-14 * next.norm() {
                    break;
                }
            }
            Some(next)
        }
    }
}
