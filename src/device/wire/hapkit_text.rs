//! Hapkit: the text that earlier programs spoke (hapkit_ros), before hapticd's own frames.
//!
//! Thread: device I/O.
//!
//! ```text
//!  host to device   two digits, then a number if there is one: 01   03-1.2500      no end mark
//!  device to host   a line: 0.0123%-0.5000\r\n   reset\r\n                          place in m, velocity in m/s
//! ```
//!
//! Without an end mark the board takes a command as ended when nothing has come for a second of its own clock. That clock runs 64 times
//! too fast, for the timer behind it is also the one of the motor's pulses: 15.6 ms. Two commands closer together than that are read
//! as one, the first, and whatever follows it is lost.

use super::text::{Text, numbers};
use std::fmt::Write as _;

/// What the host says. Two digits that mean nothing are a reset as well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TextCommand {
    /// Motor, walls and lamps off; here is zero.
    Reset,
    /// Where are you.
    Where,
    /// Go there by yourself, m.
    Go(f64),
    /// Give this force, N, until told otherwise.
    Force(f64),
    /// Be a wall there by yourself, m.
    Wall(f64),
    /// No wall any more.
    NoWall,
    /// Be two walls, there and as far on the other side, m.
    Walls(f64),
    /// A lamp, or all of them, on or off: by their digits.
    Lamp(u8),
}

impl TextCommand {
    /// Its text.
    #[must_use]
    pub fn encode(&self) -> Text<24> {
        let mut text = Text::default();
        let bounded = |value: f64| if value.is_finite() { value.clamp(-99.0, 99.0) } else { 0.0 };
        // At most 10 characters: fits.
        let _ = match *self {
            Self::Reset => text.write_str("00"),
            Self::Where => text.write_str("01"),
            Self::Go(place) => write!(text, "02{:.4}", bounded(place)),
            Self::Force(force) => write!(text, "03{:.4}", bounded(force)),
            Self::Wall(place) => write!(text, "04{:.4}", bounded(place)),
            Self::NoWall => text.write_str("05"),
            Self::Walls(place) => write!(text, "06{:.4}", bounded(place)),
            Self::Lamp(digits) => write!(text, "{:02}", digits.min(99)),
        };
        text
    }

    /// What a board makes of everything that it has heard at once.
    #[must_use]
    pub fn of(heard: &[u8]) -> Self {
        let (digits, rest) = heard.split_at(heard.len().min(2));
        match digits {
            b"01" => Self::Where,
            b"02" => Self::Go(leading_number(rest)),
            b"03" => Self::Force(leading_number(rest)),
            b"04" => Self::Wall(leading_number(rest)),
            b"05" => Self::NoWall,
            b"06" => Self::Walls(leading_number(rest)),
            [tens @ b'1'..=b'4', ones @ (b'0' | b'1')] => Self::Lamp((tens - b'0') * 10 + (ones - b'0')),
            _ => Self::Reset,
        }
    }

    /// What it answers, for all but [`TextCommand::Where`].
    #[must_use]
    pub fn answer(&self) -> &'static str {
        match self {
            Self::Reset | Self::Where => "reset",
            Self::Go(_) => "pos",
            Self::Force(_) => "force",
            Self::Wall(_) => "wall",
            Self::NoWall => "wall off",
            Self::Walls(_) => "dwall",
            Self::Lamp(_) => "ok",
        }
    }
}

/// The number at the beginning as C's `atof` finds it, without exponents; zero where there is none.
fn leading_number(text: &[u8]) -> f64 {
    let (mut dots, mut end) = (0, 0);
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'-' | b'+' if at == 0 => {}
            b'.' if dots == 0 => dots += 1,
            b'0'..=b'9' => {}
            _ => break,
        }
        end = at + 1;
    }
    std::str::from_utf8(&text[..end]).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0)
}

/// What a board says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TextAnswer {
    /// It has just been switched on, or started anew because its port was opened.
    Booted,
    /// It counts from here, motor and walls off.
    Reset,
    /// Place, m, and velocity, m/s.
    Place([f64; 2]),
    /// It has done something else.
    Done,
}

impl TextAnswer {
    /// The answer in a line without its end.
    #[must_use]
    pub fn of(line: &[u8]) -> Option<Self> {
        match line {
            b"00" => Some(Self::Booted),
            b"reset" => Some(Self::Reset),
            b"pos" | b"force" | b"wall" | b"wall off" | b"dwall" | b"ok" => Some(Self::Done),
            _ => {
                let pair = numbers::<f64, 2>(line, Some(b'%'))?;
                pair.iter().all(|value| value.is_finite()).then_some(Self::Place(pair))
            }
        }
    }

    /// A place as a board writes it, with its end.
    #[must_use]
    pub fn place(position_m: f64, velocity: f64) -> Text<40> {
        let mut text = Text::default();
        // A handle is within a metre and slower than 10⁶ m/s: fits.
        let _ = write!(text, "{position_m:.4}%{velocity:.4}\r\n");
        text
    }
}

/// Lines of a board.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextReader {
    line: Text<40>,
    overlong: bool,
}

impl TextReader {
    /// Takes a byte; at the end of a line gives its answer, or `None` for one that means nothing.
    pub fn push(&mut self, byte: u8) -> Option<Option<TextAnswer>> {
        if byte == b'\n' {
            let line = self.line.as_bytes();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let answer = if self.overlong { None } else { TextAnswer::of(line) };
            self.clear();
            return Some(answer);
        }
        self.overlong |= !self.line.push(byte);
        None
    }

    /// Forgets the part of a line.
    pub fn clear(&mut self) {
        (self.overlong, self.line) = (false, Text::default());
    }
}

#[cfg(test)]
mod tests {
    use super::super::fuzz::survives;
    use super::*;
    use TextAnswer::{Booted, Done, Place, Reset};

    fn read(bytes: &[u8]) -> Vec<Option<TextAnswer>> {
        let mut reader = TextReader::default();
        bytes.iter().filter_map(|&byte| reader.push(byte)).collect()
    }

    #[test]
    fn every_published_code_is_written_and_answered_as_published() {
        let golden = [
            (TextCommand::Reset, &b"00"[..], "reset"),
            (TextCommand::Go(0.02), b"020.0200", "pos"),
            (TextCommand::Force(-1.25), b"03-1.2500", "force"),
            (TextCommand::Wall(0.01), b"040.0100", "wall"),
            (TextCommand::NoWall, b"05", "wall off"),
            (TextCommand::Walls(0.01), b"060.0100", "dwall"),
            (TextCommand::Lamp(10), b"10", "ok"),
            (TextCommand::Lamp(11), b"11", "ok"),
            (TextCommand::Lamp(20), b"20", "ok"),
            (TextCommand::Lamp(21), b"21", "ok"),
            (TextCommand::Lamp(30), b"30", "ok"),
            (TextCommand::Lamp(31), b"31", "ok"),
            (TextCommand::Lamp(40), b"40", "ok"),
            (TextCommand::Lamp(41), b"41", "ok"),
        ];
        for (command, bytes, answer) in golden {
            assert_eq!(command.encode().as_bytes(), bytes);
            assert_eq!((TextCommand::of(bytes), command.answer()), (command, answer));
        }
        assert_eq!(TextCommand::Where.encode().as_bytes(), b"01");
        assert_eq!(TextCommand::of(b"01"), TextCommand::Where);
        assert_eq!(TextAnswer::place(0.0123, -0.5).as_bytes(), b"0.0123%-0.5000\r\n");
        let lines = b"00\r\nreset\r\n0.0123%-0.5000\r\nwall off\r\nok\r\n";
        assert_eq!(read(lines), [Some(Booted), Some(Reset), Some(Place([0.0123, -0.5])), Some(Done), Some(Done)]);
    }

    #[test]
    fn commands_that_come_together_are_one_and_what_is_none_resets() {
        assert_eq!(TextCommand::of(b"0101"), TextCommand::Where);
        assert_eq!(TextCommand::of(b"0103-2.5"), TextCommand::Where, "the force is lost, and so would its end be");
        assert_eq!(TextCommand::of(b"031.25030"), TextCommand::Force(1.2503));
        assert_eq!(TextCommand::of(b"03"), TextCommand::Force(0.0));
        for nonsense in [&b""[..], b"0", b"\xa5T\x07", b"99", b"42", b"50"] {
            assert_eq!(TextCommand::of(nonsense), TextCommand::Reset, "{nonsense:?}");
        }
    }

    #[test]
    fn what_is_no_number_is_never_sent_or_taken() {
        assert_eq!(TextCommand::Force(f64::NAN).encode().as_bytes(), b"030.0000");
        assert_eq!(TextCommand::Force(1e300).encode().as_bytes(), b"0399.0000");
        assert_eq!(read(b"nan%1\r\n1%inf\n0.1\n\n1%2%3\n"), [None; 5]);
        assert_eq!(read(&[&[b'1'; 60][..], b"\n0.1%0\n"].concat()), [None, Some(Place([0.1, 0.0]))]);
    }

    #[test]
    fn no_bytes_upset_the_reader_or_the_board() {
        let line = b"0.0123%-0.5000\r\n";
        survives::<TextReader>(&[line, b"reset\r\n", b"00\r\n", b"wall off\r\n"], line, |reader, bytes| {
            bytes.iter().filter(|&&byte| reader.push(byte) == Some(Some(Place([0.0123, -0.5])))).count()
        });
        // A board reads what has come together, whatever it is; each message that comes alone is understood.
        #[derive(Default)]
        struct Board;
        survives::<Board>(&[b"01", b"03-1.2500", b"00", b"060.0100"], b"03-1.2500", |_, bytes| {
            let number = match TextCommand::of(bytes) {
                TextCommand::Go(x) | TextCommand::Force(x) | TextCommand::Wall(x) | TextCommand::Walls(x) => x,
                _ => 0.0,
            };
            assert!(number.is_finite(), "{bytes:?}");
            usize::from(TextCommand::of(bytes) == TextCommand::Force(-1.25))
        });
    }
}
