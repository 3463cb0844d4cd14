//! A Falcon from the inside: boot loader, index marks, encoders, motors.
//!
//! Thread: whoever tests or plays the device.

use super::{Firmware, Senses, register};
use crate::device::kinematics::Joints;
use crate::device::wire::falcon::{Answer, BOOT_HELLO, BOOT_HELLO_ANSWER, BOOT_LOAD, Command, Reader};
use crate::device::wire::{LineOrder, MESSAGE_MAX, Outbox};
use crate::shared::MonoNs;

/// Degrees of an arm per count, from the published capstan, arm and slots.
const DEGREES_PER_COUNT: f64 = 0.036_434_659_090_909_09;
/// Angle of an arm at count zero, degrees.
const DEGREES_AT_ZERO: f64 = 35.0;
/// The index mark of an arm is where it passes this angle, degrees.
const MARK_DEGREES: f64 = 25.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Waits for the greeting; bytes of it heard.
    Greeting(usize),
    /// Greeted: waits for the order to load.
    Ready,
    /// Takes the image; bytes still to come.
    Loading(usize),
    Running,
}

/// Boot loader and firmware.
pub struct FalconFirmware {
    mode: Mode,
    /// Bytes of the image it expects.
    image_length: usize,
    baud: u32,
    reader: Reader,
    motors: [i16; 3],
    /// Counts that the registers are off by until the mark is passed.
    offset: [i32; 3],
    homed: [bool; 3],
    /// On which side of its mark each arm was last.
    side: [Option<bool>; 3],
    /// The lamps and mode last asked for.
    command: Command,
}

impl FalconFirmware {
    /// A Falcon that needs an image of this length after power-up; zero for one that has it already. Its counters start at
    /// `offset` from the truth.
    #[must_use]
    pub fn new(image_length: usize, offset: [i32; 3]) -> Self {
        Self {
            mode: Mode::Greeting(0),
            image_length,
            baud: 0,
            reader: Reader::default(),
            motors: [0; 3],
            offset,
            homed: [false; 3],
            side: [None; 3],
            command: Command::default(),
        }
    }

    /// The newest command it has understood.
    #[must_use]
    pub fn command(&self) -> &Command {
        &self.command
    }

    fn run(&mut self, command: &Command, senses: &Senses<3>, out: &mut Outbox) {
        self.command = *command;
        self.motors = command.motors;
        let degrees = senses.joints.map(f64::to_degrees);
        let mut encoders = [0; 3];
        for arm in 0..3 {
            let above = degrees[arm] > MARK_DEGREES;
            if command.homing && self.side[arm].is_some_and(|before| before != above) {
                self.homed[arm] = true;
                self.offset[arm] = 0;
            }
            self.side[arm] = Some(above);
            encoders[arm] =
                register((degrees[arm] - DEGREES_AT_ZERO) / DEGREES_PER_COUNT + f64::from(self.offset[arm]));
        }
        // Four buttons: fits.
        let buttons = (senses.buttons & 0x0f) as u8;
        out.push(&Answer { encoders, buttons, homed: self.homed }.encode());
    }

    /// The boot loader's answer to a byte at its speed.
    fn boot(&mut self, byte: u8, echo: &mut [u8; MESSAGE_MAX], length: &mut usize) {
        let mut say = |bytes: &[u8]| {
            for &byte in bytes {
                if let Some(place) = echo.get_mut(*length) {
                    *place = byte;
                    *length += 1;
                }
            }
        };
        self.mode = match (self.mode, self.baud) {
            (Mode::Greeting(heard), 9600) => {
                let heard = if BOOT_HELLO.get(heard) == Some(&byte) { heard + 1 } else { 0 };
                if heard == BOOT_HELLO.len() {
                    say(&BOOT_HELLO_ANSWER);
                    Mode::Ready
                } else {
                    Mode::Greeting(heard)
                }
            }
            (Mode::Ready, 142_857) if byte == BOOT_LOAD => {
                say(&[byte]);
                Mode::Loading(self.image_length)
            }
            (Mode::Loading(left), 142_857) => {
                say(&[byte]);
                if left > 1 { Mode::Loading(left - 1) } else { Mode::Running }
            }
            (mode, _) => mode,
        };
    }
}

impl Firmware<3> for FalconFirmware {
    fn receive(&mut self, bytes: &[u8], senses: &Senses<3>, _now: MonoNs, out: &mut Outbox) {
        let (mut echo, mut length) = ([0; MESSAGE_MAX], 0);
        for &byte in bytes {
            if self.mode != Mode::Running {
                self.boot(byte, &mut echo, &mut length);
            } else if self.baud == 1_500_000
                && let Some(raw) = self.reader.push(byte)
            {
                self.run(&Command::of(&raw), senses, out);
            }
        }
        if length > 0 {
            out.push(&echo[..length]);
        }
    }

    fn line(&mut self, order: LineOrder) {
        match order {
            LineOrder::Baud(baud) => self.baud = baud,
            // DTR rising at the greeting's speed resets a boot loader that has not got its image.
            LineOrder::Dtr(true) if self.mode != Mode::Running => self.mode = Mode::Greeting(0),
            _ => {}
        }
    }

    /// No watchdog is known: the last command acts until there is another.
    fn torques(&self, _now: MonoNs) -> Joints<3> {
        Joints::<3>::from_fn(|arm, _| -f64::from(self.motors[arm]) / 10_000.0)
    }

    fn power_cycle(&mut self, _senses: &Senses<3>) {
        self.mode = if self.image_length == 0 { Mode::Running } else { Mode::Greeting(0) };
        (self.motors, self.homed, self.side) = ([0; 3], [false; 3], [None; 3]);
        self.reader.clear();
    }
}
