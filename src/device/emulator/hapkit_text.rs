//! A Hapkit board from the inside, with the firmware of earlier programs, which speaks text.
//!
//! Thread: whoever tests or plays the device.
//!
//! While it listens for the end of a command it does nothing else: motor and place stay as they were. It has no watchdog. What it
//! does to go to a place by itself (`02`) is answered and not done.

use super::{Firmware, Senses};
use crate::device::kinematics::{Joints, Sector};
use crate::device::wire::Outbox;
use crate::device::wire::hapkit_text::{TextAnswer, TextCommand};
use crate::device::wire::text::Text;
use crate::shared::MonoNs;

/// A second of the board's clock, ns: its timer runs 64 times too fast.
const SECOND_NS: u64 = 1_000_000_000 / 64;
/// Seconds of that clock for which it blinks after power-up.
const BLINKS: u64 = 60;
/// Step of the angle sensor at the sector, rad.
const STEP_RAD: f64 = 0.0148 * std::f64::consts::PI / 180.0;
/// Stiffness of one wall and of two, N/m.
const WALL: f64 = 300.0;
const WALLS: f64 = 200.0;
/// The motor gives this much at the most, N·m.
const TORQUE_MAX_NM: f64 = 0.03;
/// Bytes that wait while it blinks.
const WAITING: usize = 63;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Never switched on.
    Stored,
    /// Just switched on.
    Dark,
    /// Blinks since then.
    Blinking(MonoNs),
    Running,
}

/// The board.
pub struct HapkitTextFirmware {
    sector: Sector,
    /// How long it takes silence for the end of a command, ns.
    patience_ns: u64,
    /// What has come, and when the last of it did.
    heard: Text<WAITING>,
    heard_at: MonoNs,
    stage: Stage,
    zero_rad: f64,
    place_m: f64,
    velocity: f64,
    force_n: f64,
    walls: Option<TextCommand>,
}

impl HapkitTextFirmware {
    /// A board on this sector, switched on long ago.
    #[must_use]
    pub fn new(sector: Sector) -> Self {
        Self {
            sector,
            patience_ns: SECOND_NS,
            heard: Text::default(),
            heard_at: MonoNs(0),
            stage: Stage::Stored,
            zero_rad: 0.0,
            place_m: 0.0,
            velocity: 0.0,
            force_n: 0.0,
            walls: None,
        }
    }

    /// The same with a clock that runs at another pace: `readString` waits for so long.
    #[must_use]
    pub fn waiting(mut self, ns: u64) -> Self {
        self.patience_ns = ns;
        self
    }

    fn sense(&mut self, senses: &Senses<1>) {
        let steps = ((senses.joints[0] - self.zero_rad) / STEP_RAD).round();
        let place_m = steps * STEP_RAD * self.sector.handle_m;
        // It believes that its loop takes a millisecond.
        self.velocity = (place_m - self.place_m) / 0.001;
        self.place_m = place_m;
        self.force_n = match self.walls {
            Some(TextCommand::Wall(wall)) if wall * (self.place_m - wall) > 0.0 => WALL * (wall - self.place_m),
            Some(TextCommand::Walls(wall)) if self.place_m.abs() > wall.abs() => {
                WALLS * (wall.abs().copysign(self.place_m) - self.place_m)
            }
            Some(_) => 0.0,
            None => self.force_n,
        };
    }

    fn obey(&mut self, senses: &Senses<1>, out: &mut Outbox) {
        let command = TextCommand::of(self.heard.as_bytes());
        self.heard.clear();
        match command {
            TextCommand::Where => {
                out.push(TextAnswer::place(self.place_m, self.velocity).as_bytes());
                return;
            }
            TextCommand::Reset => {
                (self.force_n, self.walls, self.zero_rad) = (0.0, None, senses.joints[0]);
            }
            TextCommand::Force(force_n) => self.force_n = force_n,
            TextCommand::Wall(_) | TextCommand::Walls(_) => self.walls = Some(command),
            TextCommand::NoWall => (self.force_n, self.walls) = (0.0, None),
            TextCommand::Go(_) | TextCommand::Lamp(_) => {}
        }
        let mut line = Text::<16>::default();
        command.answer().bytes().chain(*b"\r\n").for_each(|byte| {
            line.push(byte);
        });
        out.push(line.as_bytes());
    }
}

impl Firmware<1> for HapkitTextFirmware {
    fn receive(&mut self, bytes: &[u8], _senses: &Senses<1>, now: MonoNs, _out: &mut Outbox) {
        for &byte in bytes {
            // What finds no room is lost.
            let _ = self.heard.push(byte);
        }
        self.heard_at = now;
    }

    fn idle(&mut self, senses: &Senses<1>, now: MonoNs, out: &mut Outbox) {
        match self.stage {
            Stage::Running => {}
            Stage::Stored | Stage::Dark => {
                self.stage = Stage::Blinking(now);
                return;
            }
            Stage::Blinking(since) if now.since(since) < BLINKS * self.patience_ns => return,
            Stage::Blinking(_) => {
                (self.stage, self.zero_rad, self.heard_at) = (Stage::Running, senses.joints[0], now);
                out.push(b"00\r\n");
            }
        }
        if self.heard.as_bytes().is_empty() {
            self.sense(senses);
        } else if now.since(self.heard_at) >= self.patience_ns {
            self.obey(senses, out);
        }
    }

    fn torques(&self, _now: MonoNs) -> Joints<1> {
        let motor = self.force_n * self.sector.handle_m / self.sector.ratio();
        Joints::<1>::new(motor.clamp(-TORQUE_MAX_NM, TORQUE_MAX_NM) * self.sector.ratio())
    }

    fn power_cycle(&mut self, senses: &Senses<1>) {
        self.zero_rad = senses.joints[0];
        (self.force_n, self.walls) = (0.0, None);
        self.heard.clear();
        // The first time it is only made, as a board that was switched on long ago.
        self.stage = if self.stage == Stage::Stored { Stage::Running } else { Stage::Dark };
    }
}
