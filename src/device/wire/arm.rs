//! What the firmwares of the WoodenHaptics family say, in whichever of their four ways.
//!
//! Thread: device I/O.
//!
//! | wire | device to host | host to device |
//! |---|---|---|
//! | [`ArmText`] | `[model,e0,e1,e2,e3,e4,e5,error]` and a newline | `[a,b,c]` and a newline, zeros to 16 bytes |
//! | [`ArmFrames`] | 64 bytes of numbers, blanks, newline | likewise: seven numbers |
//! | [`ArmHid`]`<14>` (mbed) | seven 16-bit numbers | report number 0 and seven 16-bit numbers |
//! | [`ArmHid`]`<64>` (Teensy) | the same at the front of 64 bytes | the same at the front of 65 |

use super::text::{Text, numbers};
use std::fmt::Write as _;

/// A motor commanded beyond this is switched off by the firmware, mA.
pub const CURRENT_MAX_MA: i16 = 6000;
/// What is written to wake a device up, and the shortest write: longer ones go through faster.
const TEXT_SHORTEST: usize = 16;
/// Length of a frame of text.
const FRAME: usize = 64;
/// Longest answer in brackets: a number takes at most eleven characters and a comma.
const BRACKETS_MAX: usize = 112;
/// The button of the older text firmware is hidden in the fourth encoder as this much too many.
const BUTTON_OFFSET: i32 = 10_000;

/// What the host asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArmCommand {
    /// Current of each motor, mA; or the last three encoders with [`Order::SetEncoders`]; or force, mN, with [`Order::Force`].
    pub values: [i16; 3],
    /// What the values are.
    pub order: Order,
    /// The first three encoders with [`Order::SetEncoders`].
    pub attributes: [i16; 3],
}

/// What a command is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Drive the motors.
    #[default]
    Currents,
    /// Set the counters.
    SetEncoders,
    /// Give a force; the firmware does the kinematics.
    Force,
}

impl Order {
    fn code(self) -> i16 {
        match self {
            Self::Currents => 0,
            Self::SetEncoders => 1,
            Self::Force => 2,
        }
    }

    fn of(code: i16) -> Option<Self> {
        match code {
            0 => Some(Self::Currents),
            1 => Some(Self::SetEncoders),
            2 => Some(Self::Force),
            _ => None,
        }
    }
}

impl ArmCommand {
    /// Currents, each within what the firmware takes.
    #[must_use]
    pub fn currents(ma: [f64; 3]) -> Self {
        Self { values: ma.map(|ma| super::saturated_i16(ma, CURRENT_MAX_MA)), ..Self::default() }
    }

    /// Sets all counters.
    #[must_use]
    pub fn set_encoders(counts: [i16; 6]) -> Self {
        let [a, b, c, d, e, f] = counts;
        Self { values: [d, e, f], order: Order::SetEncoders, attributes: [a, b, c] }
    }

    fn seven(&self) -> [i16; 7] {
        let ([a, b, c], [d, e, f]) = (self.values, self.attributes);
        [a, b, c, self.order.code(), d, e, f]
    }

    fn of_seven([a, b, c, order, d, e, f]: [i16; 7]) -> Option<Self> {
        Some(Self { values: [a, b, c], order: Order::of(order)?, attributes: [d, e, f] })
    }
}

/// What the device answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArmAnswer {
    /// Counters a to f.
    pub encoders: [i32; 6],
    /// Calibration button (HID), or the firmware's own word for trouble (text).
    pub info: i32,
    /// Model: 1 Polhem, 2 vintage, 3 WoodenHaptics; 0 where the wire does not say.
    pub model: i32,
    /// The stylus button, where the wire has one.
    pub button: bool,
}

/// A way to put commands and answers into bytes.
pub trait ArmWire: Default {
    /// The counters can be set, and `info` is the calibration button.
    const SETS_ENCODERS: bool;

    /// Bytes that make a sleeping device speak.
    fn wake(&self, out: &mut Text<128>);

    /// A command's bytes.
    fn encode_command(&self, command: &ArmCommand, out: &mut Text<128>);

    /// An answer's bytes.
    fn encode_answer(&self, answer: &ArmAnswer, out: &mut Text<128>);

    /// Takes bytes from the front, to the end of at most one message; the answer in it, or `None` in the second place for
    /// none yet, `Some(None)` for nonsense.
    fn read_answer(&mut self, bytes: &[u8]) -> (usize, Option<Option<ArmAnswer>>);

    /// The same for a command.
    fn read_command(&mut self, bytes: &[u8]) -> (usize, Option<Option<ArmCommand>>);

    /// Forgets the part of a message.
    fn clear(&mut self);
}

/// The current text protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArmText {
    line: Text<BRACKETS_MAX>,
    open: bool,
}

impl ArmText {
    /// Takes bytes to the closing bracket; `Some(false)` for what cannot be one.
    fn collect(&mut self, bytes: &[u8]) -> (usize, Option<bool>) {
        for (at, &byte) in bytes.iter().enumerate() {
            match byte {
                // An opening bracket always begins anew: what came before it has lost its end.
                b'[' => {
                    self.line.clear();
                    self.open = true;
                }
                b']' if self.open => {
                    self.open = false;
                    return (at + 1, Some(true));
                }
                _ if self.open && !self.line.push(byte) => {
                    self.open = false;
                    return (at + 1, Some(false));
                }
                _ => {}
            }
        }
        (bytes.len(), None)
    }
}

impl ArmWire for ArmText {
    const SETS_ENCODERS: bool = false;

    fn wake(&self, out: &mut Text<128>) {
        out.clear();
        for &byte in b"[0,0,0]" {
            out.push(byte);
        }
        out.pad(0, TEXT_SHORTEST);
    }

    fn encode_command(&self, command: &ArmCommand, out: &mut Text<128>) {
        out.clear();
        let [a, b, c] = command.values;
        // At most 24 characters: fits.
        let _ = writeln!(out, "[{a},{b},{c}]");
        out.pad(0, TEXT_SHORTEST);
    }

    fn encode_answer(&self, answer: &ArmAnswer, out: &mut Text<128>) {
        out.clear();
        let [a, b, c, d, e, f] = answer.encoders;
        let _ = writeln!(out, "[{},{a},{b},{c},{d},{e},{f},{}]", answer.model, answer.info);
    }

    fn read_answer(&mut self, bytes: &[u8]) -> (usize, Option<Option<ArmAnswer>>) {
        let (used, whole) = self.collect(bytes);
        let parse = || {
            let [model, a, b, c, d, e, f, info] = numbers::<i32, 8>(self.line.as_bytes(), Some(b','))?;
            Some(ArmAnswer { encoders: [a, b, c, d, e, f], info, model, button: false })
        };
        (used, whole.map(|whole| if whole { parse() } else { None }))
    }

    fn read_command(&mut self, bytes: &[u8]) -> (usize, Option<Option<ArmCommand>>) {
        let (used, whole) = self.collect(bytes);
        let parse = || {
            let values = numbers::<i16, 3>(self.line.as_bytes(), Some(b','))?;
            Some(ArmCommand { values, ..ArmCommand::default() })
        };
        (used, whole.map(|whole| if whole { parse() } else { None }))
    }

    fn clear(&mut self) {
        self.line.clear();
        self.open = false;
    }
}

/// The text protocol of 2020: frames of 64 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArmFrames {
    line: Text<FRAME>,
    overlong: bool,
}

/// A position as the firmware that knows its own kinematics answers it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ArmPosition {
    /// Position, mm.
    pub position_mm: [f64; 3],
    /// Base, fore link, and two angles of the wrist, rad.
    pub angles_rad: [f64; 4],
    /// As in [`ArmAnswer::info`].
    pub info: i16,
}

impl ArmPosition {
    /// Its frame. Numbers have a place for the sign; what would burst the frame is cut to what fits.
    #[must_use]
    pub fn encode(&self) -> [u8; FRAME] {
        let mut text = Text::<FRAME>::default();
        let sign = |value: f64| if value.is_sign_negative() { "" } else { " " };
        for value in self.position_mm.map(|mm| finite(mm).clamp(-999.0, 999.0)) {
            let _ = write!(text, "{}{} ", sign(value), Padded(value, 3, 7));
        }
        for value in self.angles_rad.map(|angle| finite(angle).clamp(-9.0, 9.0)) {
            let _ = write!(text, "{}{} ", sign(value), Padded(value, 4, 6));
        }
        let _ = write!(text, "{}", self.info.clamp(-99, 999));
        framed(text)
    }

    /// The position in the text of a frame.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let [x, y, z, a, b, c, d, info] = numbers::<f64, 8>(text, None)?;
        let sound = [x, y, z, a, b, c, d].iter().all(|value| value.is_finite());
        // `as` saturates.
        sound.then_some(Self { position_mm: [x, y, z], angles_rad: [a, b, c, d], info: info as i16 })
    }
}

/// A number with so many decimals, blanks in front up to the width; one wider when there is a minus sign.
struct Padded(f64, usize, usize);

impl std::fmt::Display for Padded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = self.2 + usize::from(self.0.is_sign_negative());
        write!(f, "{:width$.decimals$}", self.0, decimals = self.1)
    }
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

/// Blanks to the last byte, which ends the line.
fn framed(mut text: Text<FRAME>) -> [u8; FRAME] {
    text.pad(b' ', FRAME);
    let mut frame = [b' '; FRAME];
    frame.copy_from_slice(text.as_bytes());
    frame[FRAME - 1] = b'\n';
    frame
}

impl ArmFrames {
    /// Takes bytes to the end of a frame; `Some(false)` for a line of another length.
    fn collect(&mut self, bytes: &[u8]) -> (usize, Option<bool>) {
        for (at, &byte) in bytes.iter().enumerate() {
            // The first firmwares ended a frame with zero.
            let end = byte == b'\n' || byte == 0;
            if end {
                let whole = !self.overlong && self.line.as_bytes().len() == FRAME - 1;
                let empty = self.line.as_bytes().is_empty();
                self.overlong = false;
                if !whole {
                    self.line.clear();
                    if empty {
                        continue;
                    }
                }
                return (at + 1, Some(whole));
            }
            if self.line.as_bytes().len() == FRAME - 1 {
                self.overlong = true;
            } else {
                self.line.push(byte);
            }
        }
        (bytes.len(), None)
    }

    /// Takes bytes to the end of one frame with a position in it, as [`ArmWire::read_answer`] does for counters.
    pub fn read_position(&mut self, bytes: &[u8]) -> (usize, Option<Option<ArmPosition>>) {
        let (used, whole) = self.collect(bytes);
        let found = whole.map(|whole| if whole { ArmPosition::parse(self.line.as_bytes()) } else { None });
        self.end(whole);
        (used, found)
    }

    fn end(&mut self, whole: Option<bool>) {
        if whole.is_some() {
            self.line.clear();
        }
    }
}

impl ArmWire for ArmFrames {
    const SETS_ENCODERS: bool = true;

    fn wake(&self, out: &mut Text<128>) {
        out.clear();
        out.push(b'\n');
    }

    fn encode_command(&self, command: &ArmCommand, out: &mut Text<128>) {
        let mut text = Text::<FRAME>::default();
        let [a, b, c, d, e, f, g] = command.seven();
        // At most 48 characters: fits.
        let _ = write!(text, "{a} {b} {c} {d} {e} {f} {g}");
        out.clear();
        for byte in framed(text) {
            out.push(byte);
        }
    }

    fn encode_answer(&self, answer: &ArmAnswer, out: &mut Text<128>) {
        let mut text = Text::<FRAME>::default();
        let [a, b, c, d, e, f] = answer.encoders.map(|count| count.clamp(-999_999, 999_999));
        let d = if answer.button { d + BUTTON_OFFSET } else { d };
        let _ = write!(text, "{a} {b} {c} {d} {e} {f} {}", answer.info.clamp(-9999, 99_999));
        out.clear();
        for byte in framed(text) {
            out.push(byte);
        }
    }

    fn read_answer(&mut self, bytes: &[u8]) -> (usize, Option<Option<ArmAnswer>>) {
        let (used, whole) = self.collect(bytes);
        let parse = || {
            let [a, b, c, d, e, f, info] = numbers::<i32, 7>(self.line.as_bytes(), None)?;
            let button = d.saturating_abs() > BUTTON_OFFSET / 2;
            let d = if button { d.checked_sub(BUTTON_OFFSET)? } else { d };
            Some(ArmAnswer { encoders: [a, b, c, d, e, f], info, model: 0, button })
        };
        let found = whole.map(|whole| if whole { parse() } else { None });
        self.end(whole);
        (used, found)
    }

    fn read_command(&mut self, bytes: &[u8]) -> (usize, Option<Option<ArmCommand>>) {
        let (used, whole) = self.collect(bytes);
        let parse = || ArmCommand::of_seven(numbers::<i16, 7>(self.line.as_bytes(), None)?);
        let found = whole.map(|whole| if whole { parse() } else { None });
        self.end(whole);
        (used, found)
    }

    fn clear(&mut self) {
        self.line.clear();
        self.overlong = false;
    }
}

/// Reports of a human interface device; `LENGTH` is that of a report from the device.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArmHid<const LENGTH: usize>;

/// Bytes of seven 16-bit numbers.
const SEVEN: usize = 14;

fn put_seven(seven: [i16; 7], out: &mut Text<128>) {
    for byte in seven.iter().flat_map(|number| number.to_le_bytes()) {
        out.push(byte);
    }
}

fn take_seven(bytes: &[u8]) -> Option<[i16; 7]> {
    let (pairs, _) = bytes.get(..SEVEN)?.as_chunks::<2>();
    let mut seven = [0; 7];
    for (number, pair) in seven.iter_mut().zip(pairs) {
        *number = i16::from_le_bytes(*pair);
    }
    Some(seven)
}

impl<const LENGTH: usize> ArmWire for ArmHid<LENGTH> {
    const SETS_ENCODERS: bool = true;

    fn wake(&self, out: &mut Text<128>) {
        self.encode_command(&ArmCommand::default(), out);
    }

    fn encode_command(&self, command: &ArmCommand, out: &mut Text<128>) {
        out.clear();
        out.push(0);
        put_seven(command.seven(), out);
        out.pad(0, LENGTH + 1);
    }

    fn encode_answer(&self, answer: &ArmAnswer, out: &mut Text<128>) {
        // The registers are 16 bits wide and wrap.
        let [a, b, c, d, e, f] = answer.encoders.map(|count| count as i16);
        out.clear();
        put_seven([a, b, c, d, e, f, answer.info as i16], out);
        out.pad(0, LENGTH);
    }

    fn read_answer(&mut self, bytes: &[u8]) -> (usize, Option<Option<ArmAnswer>>) {
        let parse = || {
            let [a, b, c, d, e, f, info] = take_seven(bytes)?;
            let encoders = [a, b, c, d, e, f].map(i32::from);
            Some(ArmAnswer { encoders, info: i32::from(info), model: 0, button: false })
        };
        (bytes.len(), Some(if bytes.len() == LENGTH { parse() } else { None }))
    }

    fn read_command(&mut self, bytes: &[u8]) -> (usize, Option<Option<ArmCommand>>) {
        let parse = || match bytes.split_first() {
            Some((0, report)) if report.len() == LENGTH => ArmCommand::of_seven(take_seven(report)?),
            _ => None,
        };
        (bytes.len(), Some(parse()))
    }

    fn clear(&mut self) {}
}
