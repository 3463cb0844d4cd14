//! Novint Falcon: 16-byte frames both ways, one answer per question, and the bytes of its boot loader.
//!
//! Thread: device I/O.
//!
//! ```text
//!  '<'  four nibbles a number, lowest first, three numbers  flags  spare  '>'       each byte between is value + 'A'
//! ```
//!
//! Nibbles give `'A'..='P'`; the flags of an answer go up to 0xC0. Neither `'<'` nor `'>'` can stand inside a frame, so that
//! every `'<'` begins one and a broken frame costs nothing but itself.

use super::saturated_i16;

/// Bytes of a frame, both ways.
pub const FRAME: usize = 16;
/// Largest motor command either way; the firmware's field is wider than its drivers.
pub const MOTOR_MAX: i16 = 4095;
/// Boot loader: what asks it to speak.
pub const BOOT_HELLO: [u8; 3] = [0x0A, 0x43, 0x0D];
/// Boot loader: its answer; a zero byte may come before.
pub const BOOT_HELLO_ANSWER: [u8; 4] = [0x0A, 0x44, 0x2C, 0x0D];
/// Boot loader: begin of loading, echoed.
pub const BOOT_LOAD: u8 = 0x41;
/// Boot loader: bytes of the image sent at once, each echoed.
pub const BOOT_CHUNK: usize = 62;

const OPEN: u8 = b'<';
const CLOSE: u8 = b'>';
const BASE: u8 = b'A';
const FLAGS_AT: usize = 13;

/// Lamps of the ring round the grip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lamps {
    /// Green.
    pub green: bool,
    /// Blue.
    pub blue: bool,
    /// Red.
    pub red: bool,
}

/// What the host asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Motor commands, ±[`MOTOR_MAX`].
    pub motors: [i16; 3],
    /// Look for the encoders' index marks.
    pub homing: bool,
    /// Lamps.
    pub lamps: Lamps,
}

impl Command {
    /// A command with the nearest motor values that fit.
    #[must_use]
    pub fn new(motors: [f64; 3], homing: bool, lamps: Lamps) -> Self {
        Self { motors: motors.map(|value| saturated_i16(value, MOTOR_MAX)), homing, lamps }
    }

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; FRAME] {
        let Lamps { green, blue, red } = self.lamps;
        let flags = u8::from(self.homing) | u8::from(green) << 1 | u8::from(blue) << 2 | u8::from(red) << 3;
        frame(self.motors.map(|motor| motor.clamp(-MOTOR_MAX, MOTOR_MAX)), flags)
    }

    /// The command in a frame.
    #[must_use]
    pub fn of(raw: &Raw) -> Self {
        let bit = |at: u8| raw.flags >> at & 1 == 1;
        Self { motors: raw.numbers, homing: bit(0), lamps: Lamps { green: bit(1), blue: bit(2), red: bit(3) } }
    }
}

/// What the device answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Encoder counts; they wrap at 16 bits.
    pub encoders: [i16; 3],
    /// Buttons: 1 right, 2 forward, 4 centre, 8 left.
    pub buttons: u8,
    /// Which motors know where they are.
    pub homed: [bool; 3],
}

impl Answer {
    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; FRAME] {
        let homed = self.homed.iter().enumerate().fold(0, |bits, (at, &homed)| bits | u8::from(homed) << (at + 4));
        frame(self.encoders, self.buttons & 0x0f | homed)
    }

    /// The answer in a frame.
    #[must_use]
    pub fn of(raw: &Raw) -> Self {
        let homed = [4, 5, 6].map(|at| raw.flags >> at & 1 == 1);
        Self { encoders: raw.numbers, buttons: raw.flags & 0x0f, homed }
    }
}

fn frame(numbers: [i16; 3], flags: u8) -> [u8; FRAME] {
    let mut bytes = [BASE; FRAME];
    (bytes[0], bytes[FRAME - 1]) = (OPEN, CLOSE);
    for (index, number) in numbers.iter().enumerate() {
        for nibble in 0..4 {
            // Masked to four bits: fits.
            bytes[1 + 4 * index + nibble] = BASE + (number.cast_unsigned() >> (4 * nibble) & 0x0f) as u8;
        }
    }
    bytes[FLAGS_AT] = BASE + flags;
    bytes
}

/// A frame that was whole: three numbers and flags, in either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw {
    /// Motor commands or encoder counts.
    pub numbers: [i16; 3],
    /// Flags, seven bits.
    pub flags: u8,
}

/// Finds frames in a stream of bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reader {
    frame: [u8; FRAME],
    length: usize,
}

impl Reader {
    /// Takes a byte; gives the frame that it completes.
    pub fn push(&mut self, byte: u8) -> Option<Raw> {
        if byte == OPEN {
            self.length = 0;
        } else if self.length == 0 {
            return None;
        }
        self.frame[self.length] = byte;
        self.length += 1;
        if self.length < FRAME && byte != CLOSE {
            return None;
        }
        let whole = self.length == FRAME && byte == CLOSE;
        self.length = 0;
        if whole { self.parse() } else { None }
    }

    /// Forgets a frame that has begun.
    pub fn clear(&mut self) {
        self.length = 0;
    }

    fn parse(&self) -> Option<Raw> {
        let mut numbers = [0_u16; 3];
        for (index, number) in numbers.iter_mut().enumerate() {
            for nibble in 0..4 {
                let value = self.frame[1 + 4 * index + nibble].wrapping_sub(BASE);
                if value > 0x0f {
                    return None;
                }
                *number |= u16::from(value) << (4 * nibble);
            }
        }
        let flags = self.frame[FLAGS_AT].wrapping_sub(BASE);
        (flags <= 0x7f).then(|| Raw { numbers: numbers.map(u16::cast_signed), flags })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fuzz::{hex, survives};
    use super::*;

    fn read(bytes: &[u8]) -> Option<Raw> {
        let mut reader = Reader::default();
        bytes.iter().filter_map(|&byte| reader.push(byte)).last()
    }

    #[test]
    fn commands_have_their_published_bytes() {
        assert_eq!(Command::default().encode(), *b"<AAAAAAAAAAAAAA>");
        let red = Lamps { red: true, ..Lamps::default() };
        assert_eq!(Command::new([0.0; 3], true, red).encode()[13], 0x4A);
        let green = Lamps { green: true, ..Lamps::default() };
        let command = Command::new([1000.0, -1000.0, 4095.0], true, green);
        assert_eq!(command.encode().as_slice(), hex("3c494f444149424d505050504144413e"));
        assert_eq!(read(&command.encode()).map(|raw| Command::of(&raw)), Some(command));
    }

    #[test]
    fn answers_have_their_published_bytes() {
        let homed = [true; 3];
        let rest = Answer { encoders: [-516; 3], buttons: 0, homed };
        assert_eq!(rest.encode().as_slice(), hex("3c4d504e504d504e504d504e50b1413e"));
        let pressed = Answer { encoders: [1447, -1447, -96], buttons: 4, homed };
        assert_eq!(pressed.encode().as_slice(), hex("3c484b46414a464b50414b5050b5413e"));
        for answer in [rest, pressed] {
            assert_eq!(read(&answer.encode()).map(|raw| Answer::of(&raw)), Some(answer));
        }
    }

    #[test]
    fn motor_commands_saturate_where_the_drivers_end() {
        let command = Command::new([1e9, -1e9, f64::NAN], false, Lamps::default());
        assert_eq!(command.motors, [4095, -4095, 0]);
        let forged = Command { motors: [i16::MAX, i16::MIN, 0], ..command };
        assert_eq!(read(&forged.encode()).map(|raw| raw.numbers), Some([4095, -4095, 0]));
    }

    #[test]
    fn a_split_frame_is_read_and_a_broken_one_costs_itself_alone() {
        let good = Answer { encoders: [7, -7, 0], buttons: 1, homed: [true, false, true] };
        let bytes = good.encode();
        let mut reader = Reader::default();
        assert!(bytes[..14].iter().all(|&byte| reader.push(byte).is_none()));
        assert!(bytes[14..].iter().any(|&byte| reader.push(byte).is_some()));
        // Short, without end, and with a letter no nibble has: each is dropped, the good one after it is read.
        for broken in [&bytes[..10], b"<AAAAAAAAAAAAAAAAAAAA", b"<ZAAAAAAAAAAAAA>", b">>>AA"] {
            let mut reader = Reader::default();
            assert!(broken.iter().all(|&byte| reader.push(byte).is_none()));
            let after = bytes.iter().filter_map(|&byte| reader.push(byte)).last();
            assert_eq!(after.map(|raw| Answer::of(&raw)), Some(good));
        }
    }

    #[test]
    fn no_bytes_upset_the_reader() {
        let frames = [
            Answer { encoders: [1447, -1447, -96], buttons: 4, homed: [true; 3] }.encode(),
            Command::default().encode(),
        ];
        let good = frames[0];
        survives::<Reader>(&[&frames[0], &frames[1]], &good, |reader, bytes| {
            bytes.iter().filter(|&&byte| reader.push(byte).is_some()).count()
        });
    }
}
