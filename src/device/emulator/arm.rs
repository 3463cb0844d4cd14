//! A board of the WoodenHaptics family from the inside, on any of its wires.
//!
//! Thread: whoever tests or plays the device.

use super::{Firmware, Senses};
use crate::device::driver::ArmCalibration;
use crate::device::kinematics::Joints;
use crate::device::wire::Outbox;
use crate::device::wire::arm::{ArmAnswer, ArmCommand, ArmWire, CURRENT_MAX_MA, Order};
use crate::device::wire::text::Text;
use crate::shared::MonoNs;
use std::f64::consts::TAU;

/// Without a command for this long the motors are switched off, ns.
const WATCHDOG_NS: u64 = 500_000_000;

/// The board and its motors.
pub struct ArmFirmware<W> {
    truth: ArmCalibration,
    wire: W,
    model: i32,
    currents_ma: [i16; 3],
    heard: MonoNs,
    /// True counts at which each counter shows zero.
    zero: [f64; 6],
    /// The calibration button was pressed and the counters have not been set since.
    latched: bool,
    /// The board's own word for trouble.
    error: i32,
}

impl<W: ArmWire> ArmFirmware<W> {
    /// A board on an arm that truly is so.
    #[must_use]
    pub fn new(truth: ArmCalibration, model: i32) -> Self {
        let zero = [0.0; 6];
        Self { truth, wire: W::default(), model, currents_ma: [0; 3], heard: MonoNs(0), zero, latched: false, error: 0 }
    }

    /// Makes the board report this trouble.
    pub fn fail(&mut self, error: i32) {
        self.error = error;
    }

    /// Counts of the encoders where the joints are, from the rest pose's.
    fn true_counts(&self, senses: &Senses<3>) -> [f64; 6] {
        let mut counts = [0.0; 6];
        for i in 0..3 {
            counts[i] = senses.joints[i] / self.truth.gear[i] * self.truth.counts_per_turn[i] / TAU;
            counts[i + 3] = senses.wrist[i] * self.truth.counts_per_turn[i + 3] / TAU;
        }
        counts
    }

    fn obey(&mut self, command: &ArmCommand, senses: &Senses<3>) {
        match command.order {
            // A motor that is told too much is switched off.
            Order::Currents => {
                self.currents_ma = command.values.map(|ma| if ma.abs() > CURRENT_MAX_MA { 0 } else { ma });
            }
            Order::SetEncoders => {
                let ([a, b, c], [d, e, f]) = (command.attributes, command.values);
                let counts = self.true_counts(senses);
                for (i, value) in [a, b, c, d, e, f].into_iter().enumerate() {
                    self.zero[i] = counts[i] - f64::from(value);
                }
                self.latched = false;
                self.currents_ma = [0; 3];
            }
            // Firmware that does its own kinematics is another build.
            Order::Force => self.currents_ma = [0; 3],
        }
    }
}

impl<W: ArmWire> Firmware<3> for ArmFirmware<W> {
    fn receive(&mut self, bytes: &[u8], senses: &Senses<3>, now: MonoNs, out: &mut Outbox) {
        let mut rest = bytes;
        let mut spoken = bytes == b"\n";
        while !rest.is_empty() {
            let (used, command) = self.wire.read_command(rest);
            rest = &rest[used.clamp(1, rest.len())..];
            if let Some(command) = command.flatten() {
                self.obey(&command, senses);
                self.heard = now;
                spoken = true;
            }
        }
        if !spoken {
            return;
        }
        self.latched |= W::SETS_ENCODERS && senses.buttons & 2 != 0;
        let counts = self.true_counts(senses);
        let mut encoders = [0; 6];
        for i in 0..6 {
            // A desk device's counts are far from 32 bits.
            encoders[i] = (counts[i] - self.zero[i]).round() as i32;
        }
        let info = if W::SETS_ENCODERS { i32::from(self.latched) } else { self.error };
        let answer = ArmAnswer { encoders, info, model: self.model, button: senses.buttons & 1 != 0 };
        let mut text = Text::default();
        self.wire.encode_answer(&answer, &mut text);
        out.push(text.as_bytes());
    }

    fn torques(&self, now: MonoNs) -> Joints<3> {
        if now.since(self.heard) > WATCHDOG_NS {
            return Joints::zeros();
        }
        self.truth.torques(self.currents_ma.map(f64::from))
    }

    fn power_cycle(&mut self, senses: &Senses<3>) {
        self.zero = self.true_counts(senses);
        (self.currents_ma, self.latched) = ([0; 3], false);
        self.wire.clear();
    }
}
