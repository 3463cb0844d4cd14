//! A force that a client puts on the hand, on top of the scene's. It ends by itself.
//!
//! Thread: haptic (RT).

use super::HapticModel;
use crate::device::HandForce;
use crate::math::Vec3;
use crate::shared::MonoNs;
use crate::shared::lifecycle::Refusal;

/// Longest time a client's force lasts unless it is sent again, ns: a client that hangs must not go on pushing.
const LONGEST_NS: u64 = 100_000_000;

/// See the file's head.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientForce {
    force: HandForce,
    until: MonoNs,
}

impl ClientForce {
    /// No force.
    pub(super) const NONE: Self = Self {
        force: HandForce { force: Vec3::new(0.0, 0.0, 0.0), torque: Vec3::new(0.0, 0.0, 0.0) },
        until: MonoNs(0),
    };

    /// A force from `now` until `until`, or for as long as a force may last.
    pub(super) fn new(
        model: &HapticModel,
        force: [f64; 3],
        torque: [f64; 3],
        until: MonoNs,
        now: MonoNs,
    ) -> Result<Self, Refusal> {
        let force = HandForce { force: Vec3::from(force), torque: Vec3::from(torque) };
        let limits = &model.limits.force;
        if !force.is_finite() || force.force.norm() > limits.linear {
            return Err(Refusal::OutOfRange);
        }
        if !model.rotation_actuated && force.torque != Vec3::zeros() {
            return Err(Refusal::NotApplicable);
        }
        if force.torque.norm() > limits.angular {
            return Err(Refusal::OutOfRange);
        }
        Ok(Self { force, until: until.min(now.plus(LONGEST_NS)) })
    }

    /// The force at `now`.
    pub(super) fn at(&self, now: MonoNs) -> HandForce {
        if now < self.until { self.force } else { HandForce::zero() }
    }
}
