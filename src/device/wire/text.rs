//! Numbers as text in a fixed buffer.
//!
//! Thread: device I/O.

use std::fmt;

/// Text of at most `N` bytes. What does not fit is an error of the write, and leaves the text as far as it came.
#[derive(Clone, Copy, Debug)]
pub struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self { bytes: [0; N], length: 0 }
    }
}

impl<const N: usize> Text<N> {
    /// What has been written.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Adds a byte; false when full.
    pub fn push(&mut self, byte: u8) -> bool {
        let Some(place) = self.bytes.get_mut(self.length) else { return false };
        *place = byte;
        self.length += 1;
        true
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// Fills up with `byte` to `length`.
    pub fn pad(&mut self, byte: u8, length: usize) {
        while self.length < length.min(N) && self.push(byte) {}
    }
}

impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().try_for_each(|byte| if self.push(byte) { Ok(()) } else { Err(fmt::Error) })
    }
}

/// Exactly `N` numbers between `separator`s, blanks around them allowed; `None` for anything else.
#[must_use]
pub fn numbers<T: std::str::FromStr + Copy + Default, const N: usize>(
    text: &[u8],
    separator: Option<u8>,
) -> Option<[T; N]> {
    let text = std::str::from_utf8(text).ok()?;
    let mut found = [T::default(); N];
    let mut count = 0;
    let mut take = |part: &str| {
        *found.get_mut(count)? = part.trim().parse().ok()?;
        count += 1;
        Some(())
    };
    match separator {
        Some(separator) => text.split(char::from(separator)).try_for_each(&mut take)?,
        None => text.split_ascii_whitespace().try_for_each(&mut take)?,
    }
    (count == N).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_numbers_wanted_are_read() {
        assert_eq!(numbers::<i32, 3>(b"1,-2, 3", Some(b',')), Some([1, -2, 3]));
        assert_eq!(numbers::<i32, 3>(b"1,2", Some(b',')), None);
        assert_eq!(numbers::<i32, 3>(b"1,2,3,4", Some(b',')), None);
        assert_eq!(numbers::<i32, 1>(b"99999999999", Some(b',')), None);
        assert_eq!(numbers::<i32, 1>(&[0xff, 0xfe], None), None);
        assert_eq!(numbers::<f64, 2>(b"  -1.500   2 ", None), Some([-1.5, 2.0]));
    }

    #[test]
    fn text_that_does_not_fit_is_an_error() {
        let mut text = Text::<4>::default();
        assert!(fmt::Write::write_str(&mut text, "12345").is_err());
        assert_eq!(text.as_bytes(), b"1234");
        text.clear();
        text.pad(b' ', 9);
        assert_eq!(text.as_bytes(), b"    ");
    }
}
