//! With time or without: when a body steps dynamically and when quasi-statically.
//!
//! Thread: simulation.
//!
//! Seed 004, "Quasi-dynamic consistent simulation" (after Theetten et al. 2007): a dynamic step whose computation takes
//! longer than the time it stands for lies about time, and one much longer than the body's slowest oscillation damps it
//! away; both are better computed as a sequence of equilibria. Two rules decide. A body that can move freely has no
//! equilibrium and is always dynamic. Else it turns quasi-static after some steps in a row that were too late or too
//! coarse, and dynamic again after as many that were in time by a margin, so that it does not switch to and fro.

use super::factor::Factor;
use super::model::FemModel;

/// Iterations of the search for the slowest vibration.
const ITERATIONS: usize = 60;
/// Change of its square, relative, at which the search ends.
const FOUND: f64 = 1e-6;

impl FemModel {
    /// Period of the slowest vibration of a held body at rest, s, by inverse iteration; zero when the body is not held.
    #[must_use]
    pub fn slowest_period_s(&self) -> f64 {
        let mut factor = Factor::new(self.symbolic.clone());
        if factor.refactor(self.stiffness()).is_err() {
            return 0.0;
        }
        let mut shape: Vec<f64> = (0..self.size()).map(|k| 1.0 + (k % 7) as f64).collect();
        let mut square = 0.0;
        for _ in 0..ITERATIONS {
            let mut next = vec![0.0; shape.len()];
            self.mass().add_product(1.0, &shape, &mut next);
            factor.solve(&mut next);
            // 1/ω² is the ratio of the two quadratic forms of the new shape.
            let (kinetic, elastic) = (self.mass().quadratic_form(&next), self.stiffness().quadratic_form(&next));
            let norm = kinetic.sqrt();
            if !(norm > 0.0 && norm.is_finite() && elastic > 0.0) {
                return 0.0;
            }
            next.iter_mut().for_each(|x| *x /= norm);
            let found = kinetic / elastic;
            let done = (found - square).abs() <= FOUND * found;
            (shape, square) = (next, found);
            if done {
                break;
            }
        }
        std::f64::consts::TAU * square.sqrt()
    }
}

/// How a body steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Regime {
    /// With inertia.
    #[default]
    Dynamic,
    /// From equilibrium to equilibrium.
    QuasiStatic,
}

/// When to switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegimeSpec {
    /// Computing time over step at which a step is late.
    pub late: f64,
    /// The same at which it is in time again; below `late`.
    pub in_time: f64,
    /// Step over the period of the slowest oscillation at which a step is too coarse.
    pub coarse: f64,
    /// The same at which it is fine again; below `coarse`.
    pub fine: f64,
    /// Steps in a row that it takes.
    pub patience: u32,
}

impl Default for RegimeSpec {
    fn default() -> Self {
        Self { late: 1.0, in_time: 0.7, coarse: 2.0, fine: 1.0, patience: 10 }
    }
}

impl RegimeSpec {
    /// The regime of the next step. `waited` counts the steps in a row that spoke for a change; `held` says whether
    /// fixed nodes or constraints keep the body from moving freely, `load` is computing time over step, `coarseness`
    /// step over the period of the slowest oscillation.
    #[must_use]
    pub fn next(&self, now: Regime, waited: &mut u32, held: bool, load: f64, coarseness: f64) -> Regime {
        if !held {
            *waited = 0;
            return Regime::Dynamic;
        }
        let wanted = match now {
            Regime::Dynamic if load > self.late || coarseness > self.coarse => Regime::QuasiStatic,
            Regime::QuasiStatic if load < self.in_time && coarseness < self.fine => Regime::Dynamic,
            same => same,
        };
        if wanted == now {
            *waited = 0;
            return now;
        }
        *waited += 1;
        if *waited < self.patience {
            return now;
        }
        *waited = 0;
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_patience_to_switch_and_a_margin_to_switch_back() {
        let spec = RegimeSpec::default();
        let (mut regime, mut waited, mut switches) = (Regime::Dynamic, 0, 0);
        let mut run = |loads: &[f64], held: bool| {
            for load in loads {
                let next = spec.next(regime, &mut waited, held, *load, 0.1);
                switches += u32::from(next != regime);
                regime = next;
            }
            (regime, switches)
        };
        // Now and then late: nothing happens.
        assert_eq!(run(&[1.5, 0.9, 1.5, 0.9].repeat(20), true), (Regime::Dynamic, 0));
        assert_eq!(run(&[1.5; 10], true), (Regime::QuasiStatic, 1));
        // In time, but not by the margin.
        assert_eq!(run(&[0.8; 100], true), (Regime::QuasiStatic, 1));
        assert_eq!(run(&[0.5; 10], true), (Regime::Dynamic, 2));
        assert_eq!(run(&[1.5; 10], true), (Regime::QuasiStatic, 3));
        // Let go: dynamic at once.
        assert_eq!(run(&[1.5], false), (Regime::Dynamic, 4));
    }

    #[test]
    fn a_step_beyond_the_slowest_oscillation_is_too_coarse_for_dynamics() {
        let spec = RegimeSpec::default();
        let (mut regime, mut waited) = (Regime::Dynamic, 0);
        for _ in 0..10 {
            regime = spec.next(regime, &mut waited, true, 0.1, 3.0);
        }
        assert_eq!(regime, Regime::QuasiStatic);
        for _ in 0..10 {
            regime = spec.next(regime, &mut waited, true, 0.1, 0.5);
        }
        assert_eq!(regime, Regime::Dynamic);
    }
}
