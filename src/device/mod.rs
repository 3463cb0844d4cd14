//! Devices: what an operator holds, and what stands in for one.
//!
//! Thread: haptic (RT), but for the parts that say otherwise.

#![cfg_attr(not(test), deny(clippy::disallowed_types, clippy::disallowed_methods, clippy::disallowed_macros))]
#![deny(unsafe_code)]

pub mod driver;
pub mod emulator;
pub mod guardian;
mod hold;
pub mod kinematics;
mod limiter;
mod observer;
pub mod operator;
pub mod port;
mod simulated;
mod spec;
mod velocity;
pub mod wire;

pub use limiter::{EnergyBudget, HandMotion, Limiter, SafeForce};
pub use observer::{HandObserver, Observed};
pub use operator::Operator;
pub use simulated::{EnergyBook, STALL_AFTER, SUB_STEPS, SimulatedDevice};
pub use spec::{Connection, DeviceSpec, LINKS_MAX, Limits, Links, Mechanics, PerPart};
pub use velocity::{AdaptiveWindow, Fit, RotationSum, VelocityEstimator, WINDOW_MAX};

use crate::math::{Pose, Vec3};
use crate::shared::{MonoNs, Stamp, Tick};

/// What a device measured, in the device's base frame.
#[derive(Clone, Copy, Debug)]
pub struct HandSample {
    /// Counts samples; the time it was taken at.
    pub stamp: Stamp,
    /// Handle pose. A device that senses no rotation gives the identity rotation.
    pub pose_device_handle: Pose,
    /// Buttons held, one bit each.
    pub buttons: u32,
    /// The device knows where it is: positions are absolute.
    pub homed: bool,
}

/// Force and torque on the hand, in the device's base frame, before the limiter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HandForce {
    /// Force, N.
    pub force: Vec3,
    /// Torque about the handle's origin, N·m, in the device's base frame.
    pub torque: Vec3,
}

impl HandForce {
    /// No force.
    #[must_use]
    pub fn zero() -> Self {
        Self::default()
    }

    /// Both together; unchanged, to the sign of a zero, by none.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        if *other == Self::zero() {
            return *self;
        }
        Self { force: self.force + other.force, torque: self.torque + other.torque }
    }

    /// This without a part of it; likewise.
    #[must_use]
    pub fn without(&self, part: &Self) -> Self {
        self.with(&Self { force: -part.force, torque: -part.torque })
    }

    /// True when every number is finite.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.force.iter().chain(self.torque.iter()).all(|x| x.is_finite())
    }
}

/// Why a device could not be read or written in this tick. Carries no text: it is made on the haptic thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceFault {
    /// Nothing came in time.
    Silent,
    /// The device is gone.
    Lost,
    /// The guardian has put it to zero force, for this process stood still.
    Silenced,
}

/// A haptic device as the haptic thread sees it. Neither call may block, allocate or lock: a device behind a bus has
/// its own I/O thread and a wait-free mailbox.
pub trait Device: Send {
    /// Facts from its device file.
    fn spec(&self) -> &DeviceSpec;

    /// The newest sample.
    ///
    /// # Errors
    /// [`DeviceFault`] when there is none for this tick.
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<HandSample, DeviceFault>;

    /// Commands a force until the next call.
    ///
    /// # Errors
    /// [`DeviceFault`] when it could not be handed over.
    fn write(&mut self, force: &SafeForce, tick: &mut Tick<'_>) -> Result<(), DeviceFault>;

    /// The force at the handle that carries the device's own weight where the newest sample was taken. The tick adds it before
    /// the limiter.
    fn weight(&self) -> HandForce {
        HandForce::zero()
    }

    /// Commands zero force now: on stop, on a panic, and when the device is dropped. Must not depend on a running tick.
    fn silence(&mut self, now: MonoNs);
}
