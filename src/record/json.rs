//! JSON whose numbers survive: what is written here and read back has the same bits.
//!
//! Thread: recorder, and whoever reads.
//!
//! Finite numbers are written as the shortest text that reads back to the same bits. JSON has no word for the others, which
//! are rare here (a force computed before it is checked): they are written as the strings `"Infinity"`, `"-Infinity"` and
//! `"NaN"`, with the bits of an unusual NaN after it.

use crate::math::{Pose, Rot, Vec3};
use nalgebra::Quaternion;
use serde_json::Value;
use std::fmt::Write as _;

/// A JSON object in the making. Buffers are used again from message to message.
#[derive(Debug, Default)]
pub(super) struct Json(String);

impl Json {
    /// Begins a new text with an open object.
    pub(super) fn restart(&mut self) -> &mut Self {
        self.0.clear();
        self.0.push('{');
        self
    }

    /// Closes the outermost object; the text is whole.
    pub(super) fn done(&mut self) -> &[u8] {
        self.0.push('}');
        self.0.as_bytes()
    }

    /// The text as it stands.
    pub(super) fn text_so_far(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// A comma, unless this is the first of its object or list.
    fn next(&mut self) {
        if !self.0.ends_with(['{', '[']) {
            self.0.push(',');
        }
    }

    fn key(&mut self, key: &str) {
        self.next();
        self.0.push('"');
        self.0.push_str(key);
        self.0.push_str("\":");
    }

    /// An object below `key`, filled by `fill`.
    pub(super) fn object(&mut self, key: &str, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.key(key);
        self.0.push('{');
        fill(self);
        self.0.push('}');
        self
    }

    /// A list below `key`, filled by `fill`.
    pub(super) fn list(&mut self, key: &str, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.key(key);
        self.0.push('[');
        fill(self);
        self.0.push(']');
        self
    }

    /// An object in a list.
    pub(super) fn element(&mut self, fill: impl FnOnce(&mut Self)) {
        self.next();
        self.0.push('{');
        fill(self);
        self.0.push('}');
    }

    /// A string in a list.
    pub(super) fn word(&mut self, text: &str) {
        self.next();
        self.quote(text);
    }

    /// A number.
    pub(super) fn number(&mut self, key: &str, value: f64) -> &mut Self {
        self.key(key);
        // Writing to a string cannot fail.
        let _ = if value.is_finite() {
            write!(self.0, "{value:?}")
        } else if value == f64::INFINITY {
            write!(self.0, "\"Infinity\"")
        } else if value == f64::NEG_INFINITY {
            write!(self.0, "\"-Infinity\"")
        } else if value.to_bits() == f64::NAN.to_bits() {
            write!(self.0, "\"NaN\"")
        } else {
            write!(self.0, "\"NaN:{:016x}\"", value.to_bits())
        };
        self
    }

    /// A whole number.
    pub(super) fn count(&mut self, key: &str, value: u64) -> &mut Self {
        self.key(key);
        let _ = write!(self.0, "{value}");
        self
    }

    /// Yes or no.
    pub(super) fn flag(&mut self, key: &str, value: bool) -> &mut Self {
        self.key(key);
        self.0.push_str(if value { "true" } else { "false" });
        self
    }

    /// A text.
    pub(super) fn text(&mut self, key: &str, value: &str) -> &mut Self {
        self.key(key);
        self.quote(value);
        self
    }

    /// JSON that is already text.
    pub(super) fn raw(&mut self, key: &str, json: &str) -> &mut Self {
        self.key(key);
        self.0.push_str(json);
        self
    }

    fn quote(&mut self, text: &str) {
        self.0.push('"');
        for c in text.chars() {
            match c {
                '"' => self.0.push_str("\\\""),
                '\\' => self.0.push_str("\\\\"),
                c if c < ' ' => {
                    let _ = write!(self.0, "\\u{:04x}", u32::from(c));
                }
                c => self.0.push(c),
            }
        }
        self.0.push('"');
    }

    /// Three numbers of single precision by name, as the shortest texts that read back to the same.
    pub(super) fn short_vector(&mut self, key: &str, v: &[f32; 3]) -> &mut Self {
        self.object(key, |json| {
            for (name, value) in ["x", "y", "z"].into_iter().zip(v) {
                if value.is_finite() {
                    json.key(name);
                    // Writing to a string cannot fail.
                    let _ = write!(json.0, "{value:?}");
                } else {
                    json.number(name, f64::from(*value));
                }
            }
        })
    }

    /// Three numbers by name.
    pub(super) fn vector(&mut self, key: &str, v: &Vec3) -> &mut Self {
        self.object(key, |json| {
            json.number("x", v.x).number("y", v.y).number("z", v.z);
        })
    }

    /// A rotation as a quaternion.
    pub(super) fn rotation(&mut self, key: &str, rotation: &Rot) -> &mut Self {
        let q = rotation.coords;
        self.object(key, |json| {
            json.number("x", q.x).number("y", q.y).number("z", q.z).number("w", q.w);
        })
    }

    /// A pose: position and orientation.
    pub(super) fn pose(&mut self, key: &str, pose: &Pose) -> &mut Self {
        self.object(key, |json| {
            json.vector("position", &pose.translation.vector).rotation("orientation", &pose.rotation);
        })
    }

    /// A time or a duration as Foxglove's schemas have it.
    pub(super) fn time(&mut self, key: &str, ns: u64) -> &mut Self {
        self.object(key, |json| {
            json.count("sec", ns / 1_000_000_000).count("nsec", ns % 1_000_000_000);
        })
    }
}

/// The number below `key`.
pub(super) fn number(value: &Value, key: &str) -> Option<f64> {
    let value = value.get(key)?;
    let Some(text) = value.as_str() else { return value.as_f64() };
    match text {
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        other => {
            let number = f64::from_bits(u64::from_str_radix(other.strip_prefix("NaN:")?, 16).ok()?);
            number.is_nan().then_some(number)
        }
    }
}

/// The whole number below `key`.
pub(super) fn count(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_u64()
}

/// The small whole number below `key`.
pub(super) fn small(value: &Value, key: &str) -> Option<u32> {
    u32::try_from(count(value, key)?).ok()
}

/// The text below `key`.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// Three numbers below `key`.
pub(super) fn vector(value: &Value, key: &str) -> Option<Vec3> {
    let v = value.get(key)?;
    Some(Vec3::new(number(v, "x")?, number(v, "y")?, number(v, "z")?))
}

/// A pose below `key`. Its rotation is taken as it is: scaling it to length one again would change its bits.
pub(super) fn pose(value: &Value, key: &str) -> Option<Pose> {
    let value = value.get(key)?;
    Some(Pose::from_parts(vector(value, "position")?.into(), rotation(value, "orientation")?))
}

/// A rotation below `key`, as it is.
pub(super) fn rotation(value: &Value, key: &str) -> Option<Rot> {
    let q = value.get(key)?;
    let q = Quaternion::new(number(q, "w")?, number(q, "x")?, number(q, "y")?, number(q, "z")?);
    Some(Rot::new_unchecked(q))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    fn there_and_back(value: f64) -> u64 {
        let mut json = Json::default();
        let text = json.restart().number("n", value).done();
        let parsed: Value = serde_json::from_slice(text).expect("it is JSON");
        number(&parsed, "n").expect("it is a number").to_bits()
    }

    #[test]
    fn every_number_comes_back_with_its_bits() {
        let special = [0.0, -0.0, 1.0, -1.5, f64::MIN_POSITIVE, 5e-324, f64::MAX, f64::EPSILON, 0.1, 1e16, 1e21, 1e-7];
        let odd = [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::from_bits(0x7ff0_0000_0000_0001)];
        for value in special.into_iter().chain(odd) {
            assert_eq!(there_and_back(value), value.to_bits(), "{value:e}");
        }
        let mut random = Random::new(7);
        for _ in 0..20_000 {
            let value = f64::from_bits(random.bits());
            assert_eq!(there_and_back(value), value.to_bits(), "{value:e} {:x}", value.to_bits());
        }
    }

    #[test]
    fn a_text_with_quotes_and_control_characters_comes_back() {
        let text = "a \"b\" \\ c\n\tä€\u{1}";
        let mut json = Json::default();
        json.restart().text("t", text).list("l", |json| {
            json.word("x");
            json.word("y");
            json.element(|json| {
                json.flag("f", true).count("c", u64::MAX);
            });
        });
        let parsed: Value = serde_json::from_slice(json.done()).expect("it is JSON");
        assert_eq!(parsed["t"], text);
        assert_eq!(parsed["l"][1], "y");
        assert_eq!(count(&parsed["l"][2], "c"), Some(u64::MAX));
    }
}
