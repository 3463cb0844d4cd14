//! A Haply board from the inside, with a pantograph on its first two ports.
//!
//! Thread: whoever tests or plays the device.

use super::{Firmware, Senses};
use crate::device::kinematics::Joints;
use crate::device::wire::Outbox;
use crate::device::wire::haply::{HaplyAnswer, HaplyCommand, HaplyCommandReader, HaplySetup};
use crate::shared::MonoNs;

/// Torque at full duty, N·m: the motors give no more.
const TORQUE_MAX: f32 = 0.123;

/// The board.
pub struct HaplyFirmware {
    board: u8,
    reader: HaplyCommandReader,
    setup: Option<HaplySetup>,
    /// True angles at the moment of the set-up, rad.
    zero: Joints<2>,
    torques: [f32; 2],
}

impl HaplyFirmware {
    /// The board of this number.
    #[must_use]
    pub fn new(board: u8) -> Self {
        let reader = HaplyCommandReader::default();
        Self { board, reader, setup: None, zero: Joints::zeros(), torques: [0.0; 2] }
    }

    fn angles(&self, setup: &HaplySetup, senses: &Senses<2>) -> [f32; 2] {
        [0, 1].map(|arm| {
            let turns = (senses.joints[arm] - self.zero[arm]) / std::f64::consts::TAU;
            let counts = (turns * f64::from(setup.counts_per_turn)).round();
            // The board itself computes in 32 bits.
            setup.offset_deg[arm] + 360.0 * counts as f32 / setup.counts_per_turn
        })
    }
}

impl Firmware<2> for HaplyFirmware {
    fn receive(&mut self, bytes: &[u8], senses: &Senses<2>, _now: MonoNs, out: &mut Outbox) {
        for &byte in bytes {
            let Some((board, command)) = self.reader.push(byte) else { continue };
            if board != self.board {
                continue;
            }
            match command {
                HaplyCommand::Reset => (self.setup, self.torques) = (None, [0.0; 2]),
                HaplyCommand::Setup(setup) => {
                    self.setup = Some(setup);
                    self.zero = senses.joints;
                }
                HaplyCommand::Torques(torques) => {
                    if let Some(setup) = &self.setup {
                        let angles_deg = self.angles(setup, senses);
                        self.torques = torques.map(|torque| torque.clamp(-TORQUE_MAX, TORQUE_MAX));
                        out.push(&HaplyAnswer { angles_deg }.encode(self.board));
                    }
                }
            }
        }
    }

    /// No watchdog: the last torque acts until there is another.
    fn torques(&self, _now: MonoNs) -> Joints<2> {
        Joints::<2>::from_fn(|arm, _| f64::from(self.torques[arm]))
    }

    fn power_cycle(&mut self, _senses: &Senses<2>) {
        (self.setup, self.torques) = (None, [0.0; 2]);
        self.reader.clear();
    }
}
