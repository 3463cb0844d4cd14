//! A Hapkit board from the inside, with hapticd's own firmware.
//!
//! Thread: whoever tests or plays the device.

use super::{Firmware, Senses};
use crate::device::kinematics::{Joints, Sector};
use crate::device::wire::Outbox;
use crate::device::wire::hapkit::{COMMAND, HapkitAnswer, HapkitCommand, HapkitReader};
use crate::shared::MonoNs;

/// Without a command for this long the motor is switched off, ns.
const WATCHDOG_NS: u64 = 100_000_000;
/// Step of the angle sensor at the sector, µrad.
const RESOLUTION_URAD: f64 = 258.0;

/// The board.
pub struct HapkitFirmware {
    sector: Sector,
    reader: HapkitReader<COMMAND>,
    torque_unm: i32,
    heard: MonoNs,
    zero: f64,
    zeroed: bool,
}

impl HapkitFirmware {
    /// A board on this sector.
    #[must_use]
    pub fn new(sector: Sector) -> Self {
        let reader = HapkitReader::default();
        Self { sector, reader, torque_unm: 0, heard: MonoNs(0), zero: 0.0, zeroed: false }
    }
}

impl Firmware<1> for HapkitFirmware {
    fn receive(&mut self, bytes: &[u8], senses: &Senses<1>, now: MonoNs, out: &mut Outbox) {
        for &byte in bytes {
            let Some(frame) = self.reader.push(byte) else { continue };
            let Some((sequence, command)) = HapkitCommand::of(&frame) else { continue };
            let watchdog = self.heard != MonoNs(0) && now.since(self.heard) > WATCHDOG_NS;
            match command {
                HapkitCommand::Torque(torque_unm) => self.torque_unm = torque_unm,
                HapkitCommand::Zero => {
                    (self.zero, self.zeroed, self.torque_unm) = (senses.joints[0], true, 0);
                }
            }
            self.heard = now;
            let steps = ((senses.joints[0] - self.zero) * 1e6 / RESOLUTION_URAD).round();
            // A sector turns by less than a radian: a million.
            let angle_urad = (steps * RESOLUTION_URAD) as i32;
            let button = senses.buttons & 1 == 1;
            out.push(&HapkitAnswer { sequence, angle_urad, button, watchdog, zeroed: self.zeroed }.encode());
        }
    }

    fn torques(&self, now: MonoNs) -> Joints<1> {
        if now.since(self.heard) > WATCHDOG_NS {
            return Joints::zeros();
        }
        Joints::<1>::new(f64::from(self.torque_unm) * 1e-6 * self.sector.ratio())
    }

    fn power_cycle(&mut self, senses: &Senses<1>) {
        (self.zero, self.zeroed, self.torque_unm) = (senses.joints[0], false, 0);
        self.reader.clear();
    }
}
