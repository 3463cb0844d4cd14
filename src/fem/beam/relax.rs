//! Equilibrium under loads that do not turn with the beam.
//!
//! Thread: cold (tests and studies).

use super::{BeamBody, BeamRow};
use crate::math::Vec3;

/// Loads that stay as they are in the world.
#[derive(Clone, Copy, Debug)]
pub struct BeamLoads<'a> {
    /// Where forces act and which way.
    pub rows: &'a [BeamRow],
    /// How strong each is, N.
    pub forces: &'a [f64],
    /// Torque on the tip, N·m in the world.
    pub tip_torque: Vec3,
}

impl<'a> BeamLoads<'a> {
    /// Forces without a torque.
    #[must_use]
    pub fn new(rows: &'a [BeamRow], forces: &'a [f64]) -> Self {
        Self { rows, forces, tip_torque: Vec3::zeros() }
    }
}

impl BeamBody {
    /// Steps to equilibrium, from the present shape, while the loads grow to full size in so many equal stages of at most so many
    /// steps each. Returns the largest force on a node that is still out of balance, N.
    pub fn relax(&mut self, loads: &BeamLoads, stages: usize, iterations: usize) -> f64 {
        let mut left = f64::INFINITY;
        for stage in 1..=stages.max(1) {
            let part = stage as f64 / stages.max(1) as f64;
            for _ in 0..=iterations {
                self.prepare();
                for (row, force) in loads.rows.iter().zip(loads.forces) {
                    self.apply(std::slice::from_ref(row), &[force * part]);
                }
                self.apply_tip_torque(&(loads.tip_torque * part));
                let before = left;
                left = self.unbalanced();
                self.finish();
                // Round-off is reached when it no longer gets better.
                if left < 1e-9 && left >= 0.5 * before {
                    break;
                }
            }
        }
        left
    }
}
