//! Reading numbers one after the other, from text or from binary, and base64.
//!
//! Thread: cold.

use super::TetMeshError;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// How the numbers of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Decimal, between blanks.
    Text,
    /// Little-endian bytes.
    Little,
    /// Big-endian bytes.
    Big,
}

/// A place in a file.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// How the next number is written.
    pub(super) form: Form,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8], form: Form) -> Self {
        Self { bytes, at: 0, form }
    }

    /// An error at the current place.
    pub(super) fn fail<T>(&self, reason: impl Into<String>) -> Result<T, TetMeshError> {
        let reason = reason.into();
        if self.form != Form::Text {
            return Err(TetMeshError::Byte { offset: self.at, reason });
        }
        let line = 1 + self.bytes[..self.at.min(self.bytes.len())].iter().filter(|b| **b == b'\n').count();
        Err(TetMeshError::Line { line, reason })
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.bytes[self.at..].iter().all(u8::is_ascii_whitespace)
    }

    /// Bytes left: no honest file has more numbers than that.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The rest of the line, without its end; none at the end of the file.
    pub(super) fn line(&mut self) -> Option<&'a [u8]> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|b| *b == b'\n');
        self.at += end.map_or(rest.len(), |end| end + 1);
        Some(rest[..end.unwrap_or(rest.len())].trim_ascii())
    }

    /// The next line that is not blank.
    pub(super) fn full_line(&mut self) -> Option<String> {
        loop {
            let line = self.line()?;
            if !line.is_empty() {
                return Some(String::from_utf8_lossy(line).into_owned());
            }
        }
    }

    /// The next word of text; empty at the end.
    pub(super) fn word(&mut self) -> &'a str {
        let rest = &self.bytes[self.at..];
        let blank = rest.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(rest.len());
        let rest = &rest[blank..];
        let length = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        self.at += blank + length;
        std::str::from_utf8(&rest[..length]).unwrap_or("")
    }

    /// The next `N` bytes.
    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], TetMeshError> {
        match self.bytes.get(self.at..self.at + N).and_then(|slice| <[u8; N]>::try_from(slice).ok()) {
            Some(bytes) => {
                self.at += N;
                Ok(bytes)
            }
            None => self.fail("the file ends in the middle of a number: it was cut short, export it again"),
        }
    }

    fn parsed<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, TetMeshError> {
        let word = self.word();
        match word.parse() {
            Ok(number) => Ok(number),
            Err(_) if word.is_empty() => self.fail("the file ends too early: it was cut short, export it again"),
            Err(_) => self.fail(format!("`{}` should be {what}", word.chars().take(40).collect::<String>())),
        }
    }

    /// A signed integer of four bytes.
    pub(super) fn int(&mut self) -> Result<i32, TetMeshError> {
        match self.form {
            Form::Text => self.parsed("a whole number"),
            Form::Little => Ok(i32::from_le_bytes(self.take()?)),
            Form::Big => Ok(i32::from_be_bytes(self.take()?)),
        }
    }

    /// A count or a tag of eight bytes.
    pub(super) fn size(&mut self) -> Result<u64, TetMeshError> {
        match self.form {
            Form::Text => self.parsed("a whole number, not negative"),
            Form::Little => Ok(u64::from_le_bytes(self.take()?)),
            Form::Big => Ok(u64::from_be_bytes(self.take()?)),
        }
    }

    /// A count of things that are still to come, each at least one byte long.
    pub(super) fn count(&mut self) -> Result<usize, TetMeshError> {
        let count = self.size()?;
        match usize::try_from(count) {
            Ok(count) if count <= self.left() => Ok(count),
            _ => self.fail(format!("{count} entries are announced, which the file is too short for: export it again")),
        }
    }

    /// A double.
    pub(super) fn double(&mut self) -> Result<f64, TetMeshError> {
        let value = match self.form {
            Form::Text => self.parsed("a number")?,
            Form::Little => f64::from_le_bytes(self.take()?),
            Form::Big => f64::from_be_bytes(self.take()?),
        };
        if value.is_finite() { Ok(value) } else { self.fail("a coordinate is not a finite number: export it again") }
    }
}

/// Bytes as base64 with padding.
pub(super) fn to_base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// Bytes of base64; blanks are passed over, padding may come in the middle where two pieces were joined. None for
/// anything else.
pub(super) fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    let letters: Vec<u8> = text.iter().copied().filter(|letter| !letter.is_ascii_whitespace()).collect();
    let mut bytes = Vec::with_capacity(letters.len() / 4 * 3);
    // A piece ends with its padding.
    for piece in letters.chunk_by(|letter, next| *letter != b'=' || *next == b'=') {
        BASE64_STANDARD.decode_vec(piece, &mut bytes).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10.
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(to_base64(plain.as_bytes()), coded);
            assert_eq!(from_base64(coded.as_bytes()).expect("sound"), plain.as_bytes());
        }
        assert_eq!(from_base64(b"Zg==Zm8=").expect("two pieces"), b"ffo");
        assert!(from_base64(b"Zg=a").is_none() && from_base64(b"Zm9").is_none() && from_base64(b"Z*8=").is_none());
    }
}
