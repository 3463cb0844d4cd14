//! The service of an Inverse3 from the inside, with one device and a grip.
//!
//! Thread: whoever tests or plays the device.
//!
//! The worst that a service may do: a force acts until there is another, whether its host lives or not.

use super::{Firmware, Senses};
use crate::device::kinematics::Joints;
use crate::device::wire::inverse3::{Inverse3Order, Inverse3State, TEXT_END, state_text};
use crate::device::wire::{MESSAGE_MAX, Outbox};
use crate::math::Vec3;
use crate::shared::{MonoNs, NS_PER_S};

/// Name of the device.
const NAME: &str = "049D";
/// Largest force of its motors, N.
const FORCE_MAX_N: f64 = 10.0;

/// The service.
#[derive(Default)]
pub struct Inverse3Firmware {
    force: Vec3,
    /// Where the handle was at the last answer, and when.
    last: Option<(Vec3, MonoNs)>,
}

impl Inverse3Firmware {
    fn answer(&mut self, all: bool, senses: &Senses<3>, now: MonoNs, out: &mut Outbox) {
        let place = senses.joints;
        let velocity = self.last.filter(|(_, at)| now > *at).map(|(from, at)| {
            let passed_s = now.since(at) as f64 / NS_PER_S as f64;
            (place - from) / passed_s
        });
        self.last = Some((place, now));
        let mut state = Inverse3State::default();
        (state.position_m, state.velocity_m_s, state.buttons) = (Some(place), velocity, senses.buttons);
        let Some(mut text) = state_text(NAME, &state, all) else { return };
        // A service whose host does not listen leaves answers out, whole.
        if text.push(TEXT_END) && text.as_bytes().len().div_ceil(MESSAGE_MAX) <= out.room() {
            text.as_bytes().chunks(MESSAGE_MAX).for_each(|piece| {
                out.push(piece);
            });
        }
    }
}

impl Firmware<3> for Inverse3Firmware {
    fn receive(&mut self, bytes: &[u8], senses: &Senses<3>, now: MonoNs, out: &mut Outbox) {
        match Inverse3Order::parse(bytes, NAME.as_bytes()) {
            None => {}
            Some(Inverse3Order::Question) => self.answer(true, senses, now, out),
            Some(Inverse3Order::Force(force)) => {
                self.force = force * (FORCE_MAX_N / force.norm().max(FORCE_MAX_N));
                self.answer(false, senses, now, out);
            }
        }
    }

    fn torques(&self, _now: MonoNs) -> Joints<3> {
        self.force
    }

    fn power_cycle(&mut self, _senses: &Senses<3>) {
        *self = Self::default();
    }
}
