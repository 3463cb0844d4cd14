//! Haply boards: a byte for the kind of message, a byte for the board, then 32-bit floats, lowest byte first.
//!
//! Thread: device I/O.
//!
//! There is neither length nor checksum nor a byte that cannot stand in a number. What keeps the two sides in step is that
//! every answer has been asked for: bytes before the question are left over from something else, and one answer's worth of
//! bytes after it is the answer.

use super::text::Text;

/// Motors of a pantograph.
pub const MOTORS: usize = 2;
/// Bytes of an answer.
const ANSWER: usize = 1 + 4 * MOTORS;
/// Angles beyond this are no angles, degrees: two turns.
const ANGLE_MAX_DEG: f32 = 720.0;

/// How a board is told what hangs on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HaplySetup {
    /// Sense of each motor.
    pub motor_direction: [u8; MOTORS],
    /// Sense of each encoder.
    pub encoder_direction: [u8; MOTORS],
    /// Angle each encoder shows where it is now, degrees.
    pub offset_deg: [f32; MOTORS],
    /// Counts per turn.
    pub counts_per_turn: f32,
}

impl HaplySetup {
    /// The pantograph that Haply ships, folded flat.
    pub const PANTOGRAPH: Self = Self {
        motor_direction: [0; MOTORS],
        encoder_direction: [0; MOTORS],
        offset_deg: [180.0, 0.0],
        counts_per_turn: 13_824.0,
    };
}

/// What the host says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HaplyCommand {
    /// Forget everything. Not answered.
    Reset,
    /// What hangs on the board. Not answered.
    Setup(HaplySetup),
    /// Torques, N·m. Answered.
    Torques([f32; MOTORS]),
}

/// Motors and encoders on the first two ports.
const PORTS: u8 = 0b11;

impl HaplyCommand {
    /// Its bytes, for the board of this number. What is not finite becomes zero.
    #[must_use]
    pub fn encode(&self, board: u8) -> Text<64> {
        let mut out = Text::default();
        let mut put = |bytes: &[u8]| bytes.iter().all(|&byte| out.push(byte));
        // At most 26 bytes: fits.
        let _ = match self {
            Self::Reset => put(&[0, board]),
            Self::Setup(setup) => {
                let ([a, b], [c, d]) = (setup.motor_direction, setup.encoder_direction);
                put(&[1, board, PORTS, a, b, PORTS, c, d, 0, 0])
                    && setup.offset_deg.iter().all(|offset| {
                        put(&finite(*offset).to_le_bytes()) && put(&finite(setup.counts_per_turn).to_le_bytes())
                    })
            }
            Self::Torques(torques) => {
                put(&[2, board]) && torques.iter().all(|torque| put(&finite(*torque).to_le_bytes()))
            }
        };
        out
    }
}

impl HaplyCommand {
    /// Zero torque for a board that may have heard a part of a command. The protocol has no mark to begin by, so that part is
    /// filled up with zeros: what is missing of a torque makes it small, and pairs of zeros are resets of a board that is not
    /// there. One zero more between two commands: whether their number was even or odd, one of the two is understood.
    #[must_use]
    pub fn last_words(board: u8) -> Text<64> {
        let zero = Self::Torques([0.0; MOTORS]).encode(board);
        let mut out = Text::default();
        let filler = [0; 1 + 4 * MOTORS];
        // 9 + 10 + 1 + 10 bytes: fits.
        let _ = [&filler, zero.as_bytes(), &[0], zero.as_bytes()].into_iter().flatten().all(|&byte| out.push(byte));
        out
    }
}

fn finite(value: f32) -> f32 {
    if value.is_finite() { value } else { 0.0 }
}

fn float(bytes: &[u8], at: usize) -> Option<f32> {
    let four = bytes.get(at..at + 4)?;
    Some(f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}

/// An answer: the angle of each encoder, degrees.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HaplyAnswer {
    /// Angles, degrees.
    pub angles_deg: [f32; MOTORS],
}

impl HaplyAnswer {
    /// Its bytes, from the board of this number.
    #[must_use]
    pub fn encode(&self, board: u8) -> [u8; ANSWER] {
        let mut bytes = [board; ANSWER];
        for (index, angle) in self.angles_deg.iter().enumerate() {
            bytes[1 + 4 * index..5 + 4 * index].copy_from_slice(&angle.to_le_bytes());
        }
        bytes
    }
}

/// Reads answers, each asked for.
#[derive(Clone, Copy, Debug)]
pub struct HaplyReader {
    board: u8,
    bytes: [u8; ANSWER],
    length: usize,
    expecting: bool,
}

impl HaplyReader {
    /// For the board of this number.
    #[must_use]
    pub fn new(board: u8) -> Self {
        Self { board, bytes: [0; ANSWER], length: 0, expecting: false }
    }

    /// A question has been asked: what has come so far does not belong to its answer.
    pub fn expect(&mut self) {
        (self.length, self.expecting) = (0, true);
    }

    /// Takes a byte; `Some(None)` for an answer that makes no sense.
    pub fn push(&mut self, byte: u8) -> Option<Option<HaplyAnswer>> {
        if !self.expecting || (self.length == 0 && byte != self.board) {
            return None;
        }
        self.bytes[self.length] = byte;
        self.length += 1;
        if self.length < ANSWER {
            return None;
        }
        (self.length, self.expecting) = (0, false);
        let mut angles_deg = [0.0; MOTORS];
        for (index, angle) in angles_deg.iter_mut().enumerate() {
            *angle = float(&self.bytes, 1 + 4 * index).unwrap_or(f32::NAN);
        }
        // A NaN is not within the bound.
        let sound = angles_deg.iter().all(|angle| angle.abs() <= ANGLE_MAX_DEG);
        Some(sound.then_some(HaplyAnswer { angles_deg }))
    }
}

/// Reads commands: the board's side. A kind it does not know makes it forget what it has, as the firmware does.
#[derive(Clone, Copy, Debug, Default)]
pub struct HaplyCommandReader {
    bytes: Text<64>,
}

impl HaplyCommandReader {
    /// Takes a byte; gives the command that it completes, with the board's number.
    pub fn push(&mut self, byte: u8) -> Option<(u8, HaplyCommand)> {
        if !self.bytes.push(byte) {
            self.bytes.clear();
            return None;
        }
        let bytes = self.bytes.as_bytes();
        let board = *bytes.get(1)?;
        let length = match bytes[0] {
            0 => 2,
            1 => 26,
            2 => 2 + 4 * MOTORS,
            _ => {
                self.bytes.clear();
                return None;
            }
        };
        if bytes.len() < length {
            return None;
        }
        let command = match bytes[0] {
            0 => Some(HaplyCommand::Reset),
            1 => setup(bytes).map(HaplyCommand::Setup),
            _ => float(bytes, 2).zip(float(bytes, 6)).map(|(a, b)| HaplyCommand::Torques([a, b])),
        };
        self.bytes.clear();
        command.map(|command| (board, command))
    }

    /// Forgets the part of a command.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }
}

/// The set-up in these 26 bytes, if it is of two motors and two encoders and nothing else.
fn setup(bytes: &[u8]) -> Option<HaplySetup> {
    let [_, _, PORTS, a, b, PORTS, c, d, 0, 0, ..] = *bytes else { return None };
    Some(HaplySetup {
        motor_direction: [a, b],
        encoder_direction: [c, d],
        offset_deg: [float(bytes, 10)?, float(bytes, 18)?],
        counts_per_turn: float(bytes, 14)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::fuzz::{hex, survives};
    use super::*;

    #[test]
    fn commands_have_their_published_bytes() {
        let setup = HaplyCommand::Setup(HaplySetup::PANTOGRAPH);
        let bytes = setup.encode(5);
        assert_eq!(bytes.as_bytes(), hex("01 05 03 00 00 03 00 00 00 00 00003443 00005846 00000000 00005846"));
        let torques = HaplyCommand::Torques([0.01, -0.01]);
        assert_eq!(torques.encode(5).as_bytes(), hex("02 05 0ad7233c 0ad723bc"));
        assert_eq!(HaplyCommand::Reset.encode(5).as_bytes(), [0, 5]);
        let mut reader = HaplyCommandReader::default();
        for command in [setup, torques, HaplyCommand::Reset] {
            let bytes = command.encode(5);
            let read = bytes.as_bytes().iter().filter_map(|&byte| reader.push(byte)).last();
            assert_eq!(read, Some((5, command)));
        }
        assert_eq!(HaplyCommand::Torques([f32::NAN, f32::INFINITY]).encode(5).as_bytes()[2..], [0; 8]);
    }

    #[test]
    fn an_answer_has_its_published_bytes_and_is_read_only_when_asked_for() {
        let answer = HaplyAnswer { angles_deg: [135.0, 45.0] };
        let bytes = answer.encode(5);
        assert_eq!(bytes.as_slice(), hex("05 00000743 00003442"));
        let mut reader = HaplyReader::new(5);
        assert!(bytes.iter().all(|&byte| reader.push(byte).is_none()));
        reader.expect();
        assert_eq!(bytes.iter().filter_map(|&byte| reader.push(byte)).last(), Some(Some(answer)));
        assert!(bytes.iter().all(|&byte| reader.push(byte).is_none()), "one answer per question");
        reader.expect();
        let nonsense = HaplyAnswer { angles_deg: [f32::NAN, 0.0] }.encode(5);
        assert_eq!(nonsense.iter().filter_map(|&byte| reader.push(byte)).last(), Some(None));
    }

    #[test]
    fn no_bytes_upset_the_readers() {
        struct Asked(HaplyReader);
        impl Default for Asked {
            fn default() -> Self {
                Self(HaplyReader::new(5))
            }
        }
        let good = HaplyAnswer { angles_deg: [135.0, 45.0] }.encode(5);
        survives::<Asked>(&[&good, &[5; 9]], &good, |asked, bytes| {
            asked.0.expect();
            bytes.iter().filter(|&&byte| asked.0.push(byte).flatten().is_some()).count()
        });
        // The board itself has nothing to find its way back by but the next command it knows: it must not panic.
        let torques = HaplyCommand::Torques([0.01, -0.01]).encode(5);
        let setup = HaplyCommand::Setup(HaplySetup::PANTOGRAPH).encode(5);
        survives::<HaplyCommandReader>(&[torques.as_bytes(), setup.as_bytes()], torques.as_bytes(), |reader, bytes| {
            if bytes == torques.as_bytes() {
                reader.clear();
            }
            bytes.iter().filter(|&&byte| reader.push(byte).is_some()).count()
        });
    }
}
