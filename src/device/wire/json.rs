//! A walk through a JSON text that keeps nothing: every scalar is shown with the way to it.
//!
//! Thread: device I/O (no heap).

/// Deepest nesting that is followed; a text that goes deeper is refused.
pub const DEPTH_MAX: usize = 16;

/// One step on the way to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'t> {
    /// The member of this name, as written: escapes are not undone.
    Key(&'t [u8]),
    /// The element of this number.
    At(usize),
}

/// A value without parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar<'t> {
    /// A number.
    Number(f64),
    /// A text, as written.
    Text(&'t [u8]),
    /// True or false.
    Flag(bool),
    /// Null.
    Null,
}

struct Walker<'t> {
    text: &'t [u8],
    at: usize,
    way: [Step<'t>; DEPTH_MAX],
}

/// Shows every scalar of `text` to `see`; `None` when it is no JSON, or too deep.
pub fn walk<'t>(text: &'t [u8], see: &mut impl FnMut(&[Step<'t>], Scalar<'t>)) -> Option<()> {
    let mut walker = Walker { text, at: 0, way: [Step::At(0); DEPTH_MAX] };
    walker.value(0, see)?;
    walker.blank();
    (walker.at == text.len()).then_some(())
}

impl<'t> Walker<'t> {
    fn blank(&mut self) {
        while self.text.get(self.at).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn peek(&mut self) -> Option<u8> {
        self.blank();
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// A value at this depth; the recursion ends at [`DEPTH_MAX`].
    fn value(&mut self, depth: usize, see: &mut impl FnMut(&[Step<'t>], Scalar<'t>)) -> Option<()> {
        let scalar = match self.peek()? {
            open @ (b'{' | b'[') => return self.parts(open, depth, see),
            b'"' => Scalar::Text(self.string()?),
            b't' => self.word(b"true", Scalar::Flag(true))?,
            b'f' => self.word(b"false", Scalar::Flag(false))?,
            b'n' => self.word(b"null", Scalar::Null)?,
            _ => Scalar::Number(self.number()?),
        };
        see(&self.way[..depth], scalar);
        Some(())
    }

    fn parts(&mut self, open: u8, depth: usize, see: &mut impl FnMut(&[Step<'t>], Scalar<'t>)) -> Option<()> {
        let close = if open == b'{' { b'}' } else { b']' };
        self.at += 1;
        if depth == DEPTH_MAX {
            return None;
        }
        if self.peek()? == close {
            self.at += 1;
            return Some(());
        }
        let mut index = 0;
        loop {
            self.way[depth] = if open == b'{' {
                self.peek()?;
                let key = self.string()?;
                self.take(b':')?;
                Step::Key(key)
            } else {
                Step::At(index)
            };
            self.value(depth + 1, see)?;
            index += 1;
            if self.peek()? == close {
                self.at += 1;
                return Some(());
            }
            self.take(b',')?;
        }
    }

    fn string(&mut self) -> Option<&'t [u8]> {
        if self.text.get(self.at) != Some(&b'"') {
            return None;
        }
        let start = self.at + 1;
        let mut at = start;
        loop {
            match self.text.get(at)? {
                b'"' => break,
                b'\\' => at += 2,
                0..0x20 => return None,
                _ => at += 1,
            }
        }
        self.at = at + 1;
        self.text.get(start..at)
    }

    fn word(&mut self, word: &[u8], scalar: Scalar<'t>) -> Option<Scalar<'t>> {
        self.text[self.at..].starts_with(word).then(|| {
            self.at += word.len();
            scalar
        })
    }

    fn number(&mut self) -> Option<f64> {
        let rest = &self.text[self.at..];
        let length =
            rest.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')).count();
        let number: f64 = std::str::from_utf8(&rest[..length]).ok()?.parse().ok()?;
        self.at += length;
        number.is_finite().then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scalar_is_shown_with_its_way() {
        let text = br#" {"a": [1, {"b": -2.5e1}], "c": "d\"e", "f": [], "g": true, "h": null} "#;
        let mut seen = Vec::new();
        let whole = walk(text, &mut |way, scalar| seen.push((way.to_vec(), scalar)));
        assert_eq!(whole, Some(()));
        let key = |text: &'static [u8]| Step::Key(text);
        assert_eq!(seen[0], (vec![key(b"a"), Step::At(0)], Scalar::Number(1.0)));
        assert_eq!(seen[1], (vec![key(b"a"), Step::At(1), key(b"b")], Scalar::Number(-25.0)));
        assert_eq!(seen[2], (vec![key(b"c")], Scalar::Text(br#"d\"e"#)));
        assert_eq!(seen[3..], [(vec![key(b"g")], Scalar::Flag(true)), (vec![key(b"h")], Scalar::Null)]);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        let deep = [b'['; DEPTH_MAX + 2];
        let bad: [&[u8]; 12] = [
            b"",
            b"{",
            b"[1,]",
            b"{\"a\"}",
            b"{\"a\":1,}",
            b"1 2",
            b"1e999",
            b"\"\\",
            b"tru",
            b"{a:1}",
            b"\"a\nb\"",
            &deep,
        ];
        for text in bad {
            assert_eq!(walk(text, &mut |_, _| {}), None, "{}", String::from_utf8_lossy(text));
        }
    }
}
