//! SpaceMouse: the pose is how far the cap is pushed and turned. It gives no force, whatever it is told.
//!
//! Thread: device I/O.
//!
//! The cap springs back to its middle, so the pose is absolute and there is nothing to home. It speaks only while it is moved.

use super::{Family, Heard, HomingGuide, Progress, Reading};
use crate::device::wire::Outbox;
use crate::device::wire::spacemouse::{MouseReport, deflection, lamp};
use crate::device::{HandForce, SafeForce};
use crate::math::{Pose, Vec3, exp_so3};
use crate::shared::MonoNs;

/// What the cap's way stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpaceMouseScale {
    /// Place of the handle at full push, m.
    pub reach_m: f64,
    /// Turn of the handle at full turn, rad.
    pub turn_rad: f64,
}

impl Default for SpaceMouseScale {
    fn default() -> Self {
        Self { reach_m: 0.05, turn_rad: 0.5 }
    }
}

/// A SpaceMouse of any model.
#[derive(Clone, Copy, Debug)]
pub struct SpaceMouseFamily {
    scale: SpaceMouseScale,
    push: Vec3,
    turn: Vec3,
    buttons: u32,
    lit: bool,
}

impl SpaceMouseFamily {
    /// With this scale.
    #[must_use]
    pub fn new(scale: SpaceMouseScale) -> Self {
        Self { scale, push: Vec3::zeros(), turn: Vec3::zeros(), buttons: 0, lit: false }
    }
}

impl Family for SpaceMouseFamily {
    const ASKS: bool = false;

    fn restart(&mut self) {
        *self = Self::new(self.scale);
    }

    fn start(&mut self, _now: MonoNs, out: &mut Outbox) -> Progress {
        if !self.lit {
            self.lit = true;
            out.push(&lamp(true));
            return Progress::Waiting;
        }
        Progress::Done
    }

    fn receive(&mut self, bytes: &[u8]) -> (usize, Heard) {
        match MouseReport::decode(bytes) {
            None => return (bytes.len(), Heard::Garbage),
            Some(MouseReport::Push(push)) => self.push = deflection(push),
            Some(MouseReport::Turn(turn)) => self.turn = deflection(turn),
            Some(MouseReport::Both(push, turn)) => (self.push, self.turn) = (deflection(push), deflection(turn)),
            Some(MouseReport::Buttons(buttons)) => self.buttons = buttons,
        }
        let rotation = exp_so3(&(self.turn * self.scale.turn_rad));
        let pose = Some(Pose::from_parts((self.push * self.scale.reach_m).into(), rotation));
        (bytes.len(), Heard::Reading(Reading { pose, buttons: self.buttons, error: 0 }))
    }

    fn request(&mut self, _force: &SafeForce, _out: &mut Outbox) {}

    fn give_up(&mut self) {}

    fn guide(&self) -> Option<HomingGuide> {
        None
    }

    fn confirm_home(&mut self, _out: &mut Outbox) {}

    fn silence(&self, _out: &mut [u8]) -> usize {
        0
    }

    fn share(&self) -> f64 {
        1.0
    }

    fn weight(&self) -> HandForce {
        HandForce::zero()
    }
}
