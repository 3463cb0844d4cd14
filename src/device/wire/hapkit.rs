//! Hapkit: hapticd's own frames for it (docs/hapkit-protocol.md).
//!
//! Thread: device I/O.
//!
//! ```text
//!  host to device   A5 kind seq  i32 value         crc      kind 'T': torque on the motor, µN·m;  'Z': here is zero
//!  device to host   A5 'P'  seq  i32 angle  flags  crc      angle of the sector, µrad; flags: 1 button, 2 watchdog, 4 zeroed
//! ```
//!
//! Numbers have their lowest byte first. The checksum is the CRC-8 of polynomial 0x07 over everything between it and A5.

const SYNC: u8 = 0xA5;
const TORQUE: u8 = b'T';
const ZERO: u8 = b'Z';
const PLACE: u8 = b'P';
/// Bytes of a command.
pub const COMMAND: usize = 8;
/// Bytes of an answer.
pub const ANSWER: usize = 9;
/// Largest torque that is ever sent, µN·m: beyond any motor of a kit.
const TORQUE_MAX_UNM: f64 = 100_000.0;

/// What the host says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HapkitCommand {
    /// Torque on the motor, µN·m.
    Torque(i32),
    /// The sector is in its middle: count from here.
    Zero,
}

impl HapkitCommand {
    /// The nearest torque that can be sent, from N·m.
    #[must_use]
    pub fn torque(torque_nm: f64) -> Self {
        // `as` takes NaN to zero.
        Self::Torque((torque_nm * 1e6).clamp(-TORQUE_MAX_UNM, TORQUE_MAX_UNM).round() as i32)
    }

    /// Its bytes; `sequence` comes back with the answer.
    #[must_use]
    pub fn encode(&self, sequence: u8) -> [u8; COMMAND] {
        let (kind, value) = match self {
            Self::Torque(value) => (TORQUE, *value),
            Self::Zero => (ZERO, 0),
        };
        let [a, b, c, d] = value.to_le_bytes();
        let mut frame = [SYNC, kind, sequence, a, b, c, d, 0];
        frame[COMMAND - 1] = crc8(&frame[1..COMMAND - 1]);
        frame
    }

    /// The command in a whole frame, and its number.
    #[must_use]
    pub fn of(frame: &[u8; COMMAND]) -> Option<(u8, Self)> {
        let [_, kind, sequence, a, b, c, d, _] = *frame;
        let command = match kind {
            TORQUE => Self::Torque(i32::from_le_bytes([a, b, c, d])),
            ZERO => Self::Zero,
            _ => return None,
        };
        Some((sequence, command))
    }
}

/// What the device answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HapkitAnswer {
    /// Number of the command answered.
    pub sequence: u8,
    /// Angle of the sector, µrad.
    pub angle_urad: i32,
    /// The button is held.
    pub button: bool,
    /// The watchdog has switched the motor off since the last answer.
    pub watchdog: bool,
    /// It has been told where zero is since power-up.
    pub zeroed: bool,
}

impl HapkitAnswer {
    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; ANSWER] {
        let [a, b, c, d] = self.angle_urad.to_le_bytes();
        let flags = u8::from(self.button) | u8::from(self.watchdog) << 1 | u8::from(self.zeroed) << 2;
        let mut frame = [SYNC, PLACE, self.sequence, a, b, c, d, flags, 0];
        frame[ANSWER - 1] = crc8(&frame[1..ANSWER - 1]);
        frame
    }

    /// The answer in a whole frame.
    #[must_use]
    pub fn of(frame: &[u8; ANSWER]) -> Option<Self> {
        let [_, PLACE, sequence, a, b, c, d, flags, _] = *frame else { return None };
        let angle_urad = i32::from_le_bytes([a, b, c, d]);
        let bit = |at: u8| flags >> at & 1 == 1;
        Some(Self { sequence, angle_urad, button: bit(0), watchdog: bit(1), zeroed: bit(2) })
    }
}

/// CRC-8, polynomial 0x07, from zero.
fn crc8(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ byte, |crc: u8, _| if crc & 0x80 != 0 { crc << 1 ^ 0x07 } else { crc << 1 })
    })
}

/// Finds frames of `N` bytes with a good checksum.
#[derive(Clone, Copy, Debug)]
pub struct HapkitReader<const N: usize> {
    frame: [u8; N],
    length: usize,
}

impl<const N: usize> Default for HapkitReader<N> {
    fn default() -> Self {
        Self { frame: [0; N], length: 0 }
    }
}

impl<const N: usize> HapkitReader<N> {
    /// Takes a byte; gives the frame that it completes.
    pub fn push(&mut self, byte: u8) -> Option<[u8; N]> {
        self.frame[self.length] = byte;
        self.length += 1;
        if self.length == N {
            if self.frame[0] == SYNC && crc8(&self.frame[1..N - 1]) == self.frame[N - 1] {
                self.length = 0;
                return Some(self.frame);
            }
            self.drop_first();
        } else if self.frame[0] != SYNC {
            self.length = 0;
        }
        None
    }

    /// Goes on from the next byte that could begin a frame: a good one may have begun inside a bad one.
    fn drop_first(&mut self) {
        let next = self.frame[1..self.length].iter().position(|&byte| byte == SYNC);
        match next {
            Some(at) => {
                self.frame.copy_within(at + 1..self.length, 0);
                self.length -= at + 1;
            }
            None => self.length = 0,
        }
    }

    /// Forgets the part of a frame.
    pub fn clear(&mut self) {
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::fuzz::{hex, survives};
    use super::*;

    #[test]
    fn frames_have_the_bytes_that_the_document_tells() {
        assert_eq!(crc8(b"123456789"), 0xF4, "the check value of CRC-8");
        assert_eq!(HapkitCommand::Torque(-2).encode(7).as_slice(), hex("a5 54 07 feffffff ad"));
        assert_eq!(HapkitCommand::torque(0.0015), HapkitCommand::Torque(1500));
        assert_eq!(HapkitCommand::torque(f64::NAN), HapkitCommand::Torque(0));
        assert_eq!(HapkitCommand::torque(-9.0), HapkitCommand::Torque(-100_000));
        let answer = HapkitAnswer { sequence: 9, angle_urad: -300_000, button: true, watchdog: false, zeroed: true };
        assert_eq!(HapkitAnswer::of(&answer.encode()), Some(answer));
        assert_eq!(answer.encode().as_slice(), hex("a5 50 09 206cfbff 05 65"));
        for command in [HapkitCommand::Torque(1234), HapkitCommand::Zero] {
            assert_eq!(HapkitCommand::of(&command.encode(200)), Some((200, command)));
        }
    }

    #[test]
    fn a_frame_inside_a_broken_one_is_found() {
        let good = HapkitAnswer { angle_urad: 5, ..HapkitAnswer::default() }.encode();
        let mut reader = HapkitReader::<ANSWER>::default();
        let found = [&good[..4], &good].concat().into_iter().filter_map(|byte| reader.push(byte)).count();
        assert_eq!(found, 1);
    }

    #[test]
    fn no_bytes_upset_the_readers() {
        let good = HapkitAnswer { sequence: 0xA5, angle_urad: 0x00A5_5AA5, ..HapkitAnswer::default() }.encode();
        let command = HapkitCommand::Torque(77).encode(1);
        survives::<HapkitReader<ANSWER>>(&[&good, &command], &good, |reader, bytes| {
            bytes.iter().filter(|&&byte| reader.push(byte) == Some(good)).count()
        });
        survives::<HapkitReader<COMMAND>>(&[&good, &command], &command, |reader, bytes| {
            bytes.iter().filter(|&&byte| reader.push(byte) == Some(command)).count()
        });
    }
}
