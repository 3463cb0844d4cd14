//! Unit expressions: `N*s/m`, `kg·m²`, `g/cm^3`, `mrad/s`, as a scale to SI and a vector of exponents.
//!
//! Thread: cold.
//!
//! The scale is kept as `factor × 10^decade`, so that a decimal prefix never rounds: "10 µm" is exactly `1e-5`. An angle
//! has no dimension in SI, but it has an exponent here: `N*m` and `N*m/rad` differ, and `deg` is not a plain number.
//!
//! ```text
//! unit    = factor { ("*" | "·" | " " | "/") factor }      left to right: N*m/s/rad
//! factor  = ("1" | "(" unit ")" | [prefix] symbol) [ "^" integer | superscripts ]
//! ```

use std::f64::consts::{PI, TAU};

/// Longest unit expression read, bytes. Real ones have under twenty.
const LENGTH_MAX: usize = 64;
/// Deepest nesting of brackets read.
const DEPTH_MAX: u32 = 4;
/// Largest power of one factor.
const POWER_MAX: i32 = 9;

/// Exponents of metre, kilogram, second and radian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exponents {
    /// Of length.
    pub metre: i8,
    /// Of mass.
    pub kilogram: i8,
    /// Of time.
    pub second: i8,
    /// Of plane angle.
    pub radian: i8,
}

impl Exponents {
    /// From the four exponents in order.
    #[must_use]
    pub const fn new(metre: i8, kilogram: i8, second: i8, radian: i8) -> Self {
        Self { metre, kilogram, second, radian }
    }

    /// The exponents of a product with `other` to a power.
    pub(super) fn plus(self, other: Self, power: i32) -> Option<Self> {
        let add = |a: i8, b: i8| i8::try_from(i32::from(a) + i32::from(b) * power).ok();
        Some(Self {
            metre: add(self.metre, other.metre)?,
            kilogram: add(self.kilogram, other.kilogram)?,
            second: add(self.second, other.second)?,
            radian: add(self.radian, other.radian)?,
        })
    }
}

/// A unit: what one of it is in SI.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Part of the scale that is no power of ten: 1 but for degrees, minutes and the like.
    pub factor: f64,
    /// Power of ten.
    pub decade: i32,
    /// Dimension.
    pub exponents: Exponents,
}

/// Why a unit expression could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitError {
    /// Not a unit this program knows, with what might have been meant.
    Unknown {
        /// The symbol as written.
        symbol: String,
        /// A unit that reads almost the same.
        suggestion: Option<String>,
    },
    /// The expression is not put together as it should be.
    Syntax(&'static str),
}

impl Unit {
    const ONE: Self = Self { factor: 1.0, decade: 0, exponents: Exponents::new(0, 0, 0, 0) };

    /// Reads a unit expression.
    ///
    /// # Errors
    /// [`UnitError`] says which symbol is unknown or what is wrong with the expression.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        if text.len() > LENGTH_MAX {
            return Err(UnitError::Syntax("the unit is too long"));
        }
        let mut reader = UnitReader { rest: text.trim() };
        let unit = reader.product(0)?;
        if reader.rest.is_empty() { Ok(unit) } else { Err(UnitError::Syntax("there is something after the unit")) }
    }

    fn times(self, other: Self, power: i32) -> Result<Self, UnitError> {
        let exponents = self.exponents.plus(other.exponents, power);
        let exponents = exponents.ok_or(UnitError::Syntax("a power is too large"))?;
        let factor = self.factor * other.factor.powi(power);
        Ok(Self { factor, decade: self.decade + other.decade * power, exponents })
    }
}

/// Symbol, other spellings, factor, decade, exponents, whether it takes a prefix.
pub(super) struct Symbol {
    pub(super) names: &'static [&'static str],
    pub(super) unit: Unit,
    pub(super) prefixed: bool,
}

const fn symbol(names: &'static [&'static str], factor: f64, decade: i32, e: [i8; 4], prefixed: bool) -> Symbol {
    Symbol { names, unit: Unit { factor, decade, exponents: Exponents::new(e[0], e[1], e[2], e[3]) }, prefixed }
}

/// Every symbol known. No symbol may read as a prefix and another symbol: a test holds the table to that.
pub(super) const SYMBOLS: &[Symbol] = &[
    symbol(&["m"], 1.0, 0, [1, 0, 0, 0], true),
    symbol(&["g"], 1.0, -3, [0, 1, 0, 0], true),
    symbol(&["s"], 1.0, 0, [0, 0, 1, 0], true),
    symbol(&["min"], 6.0, 1, [0, 0, 1, 0], false),
    symbol(&["rad"], 1.0, 0, [0, 0, 0, 1], true),
    symbol(&["deg", "°"], PI / 180.0, 0, [0, 0, 0, 1], false),
    symbol(&["turn", "rev"], TAU, 0, [0, 0, 0, 1], false),
    symbol(&["rpm"], TAU / 60.0, 0, [0, 0, -1, 1], false),
    symbol(&["Hz"], 1.0, 0, [0, 0, -1, 0], true),
    symbol(&["N"], 1.0, 0, [1, 1, -2, 0], true),
    symbol(&["J"], 1.0, 0, [2, 1, -2, 0], true),
    symbol(&["W"], 1.0, 0, [2, 1, -3, 0], true),
    symbol(&["Pa"], 1.0, 0, [-1, 1, -2, 0], true),
    symbol(&["bar"], 1.0, 5, [-1, 1, -2, 0], true),
    symbol(&["L", "l"], 1.0, -3, [3, 0, 0, 0], true),
    symbol(&["%"], 1.0, -2, [0, 0, 0, 0], false),
];

/// SI prefixes. The micro sign and the Greek letter look the same and are both typed.
pub(super) const PREFIXES: &[(&str, i32)] = &[
    ("p", -12),
    ("n", -9),
    ("µ", -6),
    ("μ", -6),
    ("u", -6),
    ("m", -3),
    ("c", -2),
    ("d", -1),
    ("h", 2),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
];

/// The unit a symbol with or without a prefix stands for.
fn lookup(text: &str) -> Option<Unit> {
    let find = |name: &str| SYMBOLS.iter().find(|s| s.names.contains(&name));
    if let Some(found) = find(text) {
        return Some(found.unit);
    }
    PREFIXES.iter().find_map(|(prefix, decade)| {
        let found = find(text.strip_prefix(prefix)?).filter(|s| s.prefixed)?;
        Some(Unit { decade: found.unit.decade + decade, ..found.unit })
    })
}

/// What was probably meant: a forgotten product sign (`Nm`), or the wrong case (`hz`, `Mm/S`).
fn suggest(text: &str) -> Option<String> {
    let split = text.char_indices().skip(1).map(|(at, _)| text.split_at(at));
    for (left, right) in split {
        if lookup(left).is_some() && lookup(right).is_some() {
            return Some(format!("{left}*{right}"));
        }
    }
    let names = SYMBOLS.iter().flat_map(|s| s.names.iter().map(move |name| (s, *name)));
    for (symbol, name) in names {
        if name.eq_ignore_ascii_case(text) {
            return Some(name.to_owned());
        }
        let prefixed = PREFIXES.iter().find(|(prefix, _)| format!("{prefix}{name}").eq_ignore_ascii_case(text));
        if let (true, Some((prefix, _))) = (symbol.prefixed, prefixed) {
            return Some(format!("{prefix}{name}"));
        }
    }
    None
}

struct UnitReader<'t> {
    rest: &'t str,
}

impl<'t> UnitReader<'t> {
    /// Takes one character if `wanted` says so.
    fn eat(&mut self, wanted: impl Fn(char) -> bool) -> Option<char> {
        let first = self.rest.chars().next().filter(|c| wanted(*c))?;
        self.rest = &self.rest[first.len_utf8()..];
        Some(first)
    }

    /// Takes every character up to the first that is not `wanted`.
    fn take(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn product(&mut self, depth: u32) -> Result<Unit, UnitError> {
        let mut unit = self.factor(depth)?;
        loop {
            let spaced = !self.take(|c| c == ' ').is_empty();
            if self.rest.is_empty() || self.rest.starts_with(')') {
                return Ok(unit);
            }
            let sign = match self.eat(|c| matches!(c, '/' | '*' | '·' | '⋅' | '×')) {
                Some('/') => -1,
                Some(_) => 1,
                None if spaced => 1,
                None => return Err(UnitError::Syntax("there is something after the unit")),
            };
            self.take(|c| c == ' ');
            unit = unit.times(self.factor(depth)?, sign)?;
        }
    }

    fn factor(&mut self, depth: u32) -> Result<Unit, UnitError> {
        let base = if self.eat(|c| c == '(').is_some() {
            if depth == DEPTH_MAX {
                return Err(UnitError::Syntax("brackets are nested too deep"));
            }
            let inner = self.product(depth + 1)?;
            self.eat(|c| c == ')').ok_or(UnitError::Syntax("a bracket is not closed"))?;
            inner
        } else if self.eat(|c| c == '1').is_some() {
            Unit::ONE
        } else {
            let symbol = self.take(|c| c.is_alphabetic() || matches!(c, '°' | '%' | 'µ'));
            if symbol.is_empty() {
                return Err(UnitError::Syntax("a unit is missing"));
            }
            lookup(symbol)
                .ok_or_else(|| UnitError::Unknown { symbol: symbol.to_owned(), suggestion: suggest(symbol) })?
        };
        Unit::ONE.times(base, self.power()?)
    }

    fn power(&mut self) -> Result<i32, UnitError> {
        let written = if self.eat(|c| c == '^').is_some() {
            self.take(|c| c.is_ascii_digit() || c == '-').to_owned()
        } else {
            let raised = self.take(|c| SUPERSCRIPTS.contains(c));
            if raised.is_empty() {
                return Ok(1);
            }
            raised.chars().filter_map(|c| SUPERSCRIPTS.chars().position(|s| s == c)).map(|at| PLAIN[at]).collect()
        };
        let power = written.parse().map_err(|_| UnitError::Syntax("a power is not a whole number"))?;
        if (-POWER_MAX..=POWER_MAX).contains(&power) {
            Ok(power)
        } else {
            Err(UnitError::Syntax("a power is too large"))
        }
    }
}

/// Raised digits and the minus sign, in the order of [`PLAIN`].
const SUPERSCRIPTS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻";
const PLAIN: [char; 11] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '-'];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unit(text: &str) -> Unit {
        Unit::parse(text).unwrap_or_else(|e| unreachable!("{text}: {e:?}"))
    }

    #[test]
    fn spellings_of_one_unit_agree() {
        for same in [
            &["N*s/m", "N·s/m", "N s/m", "N s m^-1", "N/m*s", "N/(m/s)", "kg/s"][..],
            &["kg*m^2", "kg m²", "N*m*s^2", "(kg*m)*m"],
            &["µm", "um", "μm"],
            &["Hz", "1/s", "s^-1", "s⁻¹"],
            &["Pa", "N/m^2", "J/m³"],
            &["rad/s", "rad*Hz"],
        ] {
            for text in same {
                assert_eq!(unit(text), unit(same[0]), "{text} and {}", same[0]);
            }
        }
    }

    #[test]
    fn an_angle_is_neither_a_number_nor_lost_in_a_quotient() {
        assert_ne!(unit("deg").exponents, Exponents::default());
        assert_ne!(unit("N*m").exponents, unit("N*m/rad").exponents);
        assert_ne!(unit("rad/s").exponents, unit("Hz").exponents);
        assert_eq!(unit("%").exponents, Exponents::default());
    }

    #[test]
    fn no_symbol_reads_as_a_prefix_and_another_symbol() {
        let names: Vec<&str> = SYMBOLS.iter().flat_map(|s| s.names).copied().collect();
        for (prefix, _) in PREFIXES {
            for symbol in SYMBOLS.iter().filter(|s| s.prefixed) {
                for name in symbol.names {
                    assert!(!names.contains(&format!("{prefix}{name}").as_str()), "{prefix}{name}");
                }
            }
        }
    }

    #[test]
    fn a_forgotten_product_sign_or_wrong_case_is_suggested() {
        let suggestion = |text: &str| match Unit::parse(text) {
            Err(UnitError::Unknown { suggestion, .. }) => suggestion,
            other => unreachable!("{other:?}"),
        };
        assert_eq!(suggestion("Nm").as_deref(), Some("N*m"));
        assert_eq!(suggestion("mNm/rad").as_deref(), Some("mN*m"));
        assert_eq!(suggestion("khz").as_deref(), Some("kHz"));
        assert_eq!(suggestion("HZ").as_deref(), Some("Hz"));
        assert_eq!(suggestion("furlong"), None);
    }

    #[test]
    fn broken_expressions_are_refused() {
        for text in ["", "/", "N//m", "N*", "*N", "N^", "N^x", "m^10", "(N", "N)", "N/m2", "((((((m))))))", "m^9*m^9^9"]
        {
            assert!(Unit::parse(text).is_err(), "{text}");
        }
        assert!(Unit::parse(&"m*".repeat(1000)).is_err());
        assert_eq!(Unit::parse(&["m^9"; 15].join("*")), Err(UnitError::Syntax("a power is too large")));
    }

    /// A unit made of known parts, as text and as the exponents and decade it must give.
    fn expression() -> impl Strategy<Value = (String, [i32; 4], i32)> {
        let plain = SYMBOLS.iter().filter(|s| s.prefixed && s.unit.factor == 1.0).count();
        let part = (0..plain, 0..=PREFIXES.len(), -2..=2_i32, any::<bool>());
        prop::collection::vec(part, 1..5).prop_map(|parts| {
            let symbols: Vec<&Symbol> = SYMBOLS.iter().filter(|s| s.prefixed && s.unit.factor == 1.0).collect();
            let (mut text, mut sums, mut decade) = (String::from("1"), [0; 4], 0);
            for (which, prefix, power, divides) in parts {
                let unit = symbols[which].unit;
                let (prefix, tens) = PREFIXES.get(prefix).copied().unwrap_or(("", 0));
                let (sign, factor) = if divides { ("/", -power) } else { ("*", power) };
                text += &format!("{sign}{prefix}{}^{power}", symbols[which].names[0]);
                let e = unit.exponents;
                for (sum, exponent) in sums.iter_mut().zip([e.metre, e.kilogram, e.second, e.radian]) {
                    *sum += i32::from(exponent) * factor;
                }
                decade += (unit.decade + tens) * factor;
            }
            (text, sums, decade)
        })
    }

    proptest! {
        #[test]
        fn products_quotients_and_powers_add_up((text, sums, decade) in expression()) {
            let unit = unit(&text);
            let e = unit.exponents;
            prop_assert_eq!([e.metre, e.kilogram, e.second, e.radian].map(i32::from), sums);
            prop_assert_eq!(unit.decade, decade);
            prop_assert_eq!(unit.factor, 1.0);
        }

        #[test]
        fn any_text_is_a_unit_or_an_error(text in "\\PC{0,80}") {
            drop(Unit::parse(&text));
        }
    }
}
