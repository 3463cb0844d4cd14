//! Regular expressions for quantities: what an editor can know of "800 N/m" without this program.
//!
//! Thread: cold.
//!
//! Whether a product of units has a dimension is arithmetic, which a regular expression cannot do, but for short products
//! the answers can be listed. The promise, held by tests in `scene/schema_tests.rs`:
//!
//! * what the reader accepts, the pattern accepts: an editor never underlines a good file;
//! * for one unit, and for a product or quotient of two, each to the power of 1, 2 or 3, the pattern accepts nothing else;
//! * of longer ones, the SI units of other dimensions (`N*m/s` for a stiffness) are refused, the rest is believed.

use crate::files::quantity::Dimension;
use crate::files::unit::{Exponents, PREFIXES, SYMBOLS, Unit};
use std::fmt::Write;

const NUMBER: &str = r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?";
const TIMES: &str = "(?: *[*·⋅×] *| +)";
const OVER: &str = " */ *";
const SIGN: &str = "(?: *[*/·⋅×] *| +)";
/// Anything between two signs.
const PART: &str = "[^ */·⋅×]+";
/// Highest power in the list of short products.
const POWER_MAX: i32 = 3;

/// The expression for texts that are quantities of `dimension`.
pub(super) fn pattern(dimension: Dimension) -> String {
    let unit = format!("{}(?:{}|{})", foreign(dimension), short_products(dimension), long_product());
    let unit = if dimension == Dimension::Dimensionless { format!("(?:{unit})?") } else { unit };
    // The digit that may not follow keeps a `1` of the unit from being taken out of the number.
    format!(r"^\s*{NUMBER}(?![0-9])\s*{unit}\s*$")
}

/// The spellings of each kind of unit, by exponents; without `%`, which has none.
fn spellings() -> Vec<(Exponents, String)> {
    let mut kinds: Vec<(Exponents, Vec<String>)> = Vec::new();
    for symbol in SYMBOLS.iter().filter(|symbol| symbol.unit.exponents != Exponents::default()) {
        let prefix = if symbol.prefixed { prefixes() } else { String::new() };
        let names = symbol.names.iter().map(|name| format!("{prefix}{name}"));
        match kinds.iter_mut().find(|(exponents, _)| *exponents == symbol.unit.exponents) {
            Some((_, known)) => known.extend(names),
            None => kinds.push((symbol.unit.exponents, names.collect())),
        }
    }
    kinds.into_iter().map(|(exponents, names)| (exponents, either(&names))).collect()
}

fn prefixes() -> String {
    let letters: String = PREFIXES.iter().map(|(prefix, _)| *prefix).collect();
    format!("[{letters}]?")
}

fn either(names: &[String]) -> String {
    if let [one] = names { one.clone() } else { format!("(?:{})", names.join("|")) }
}

fn raised(power: i32) -> String {
    match power {
        1 => String::new(),
        2 => r"(?:\^2|²)".to_owned(),
        _ => r"(?:\^3|³)".to_owned(),
    }
}

/// Every unit of `dimension` that is one unit, or a product or quotient of two, each to a power of at most
/// [`POWER_MAX`].
fn short_products(dimension: Dimension) -> String {
    let wanted = dimension.exponents();
    let mut parts = vec![];
    for (exponents, spelling) in spellings() {
        for power in 1..=POWER_MAX {
            parts.push((Exponents::default().plus(exponents, power), format!("{spelling}{}", raised(power))));
        }
    }
    let mut found = Vec::new();
    if dimension == Dimension::Dimensionless {
        found.push("%".to_owned());
    }
    for (left, left_text) in parts.iter().filter_map(|(exponents, text)| Some((exponents.as_ref()?, text))) {
        if *left == wanted {
            found.push(left_text.clone());
        }
        for (right, right_text) in parts.iter().filter_map(|(exponents, text)| Some((exponents.as_ref()?, text))) {
            if left.plus(*right, 1) == Some(wanted) {
                found.push(format!("{left_text}{TIMES}{right_text}"));
            }
            if left.plus(*right, -1) == Some(wanted) {
                found.push(format!("{left_text}{OVER}{right_text}"));
            }
        }
    }
    found.join("|")
}

/// Every expression that is not a short product: three parts or more, brackets, a `1`, other powers, or `%` beside
/// something else. Its symbols must be known; its dimension is not looked at.
fn long_product() -> String {
    let all: Vec<String> = spellings().into_iter().map(|(_, spelling)| spelling).chain(["%".to_owned()]).collect();
    let factor = format!(r"(?:1|{})(?:\^-?[0-9]+|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)?", all.join("|"));
    let three = format!("{PART}(?:{SIGN}{PART}){{2,}}");
    let unusual = r".*[(1⁰¹⁴⁵⁶⁷⁸⁹⁻]|.*\^(?![23](?![0-9]))";
    let percent = format!(r"(?=.*%)(?:{PART}{SIGN}{PART}|.*[\^²³])");
    format!(r"(?={three}|{unusual}|{percent})(?:{factor}(?:{SIGN}{factor})*|(?:{factor}{SIGN})*\(.*\).*)")
}

/// Refuses the SI units of other dimensions that are long products, or begin with a `1`.
fn foreign(dimension: Dimension) -> String {
    let long = |unit: &str| unit.contains(['(', '1']) || unit.matches(['*', '/']).count() > 1;
    let others = Dimension::ALL.iter().filter(|other| other.exponents() != dimension.exponents());
    let others: Vec<String> = others.map(|other| other.si_unit()).filter(|unit| long(unit)).map(template).collect();
    // The spaces before the unit are looked over again here, for those before may be given back.
    format!(r"(?!\s*(?:{})\s*$)", others.join("|"))
}

/// `unit` as an expression that allows for prefixes and for every way of writing the signs.
fn template(unit: &str) -> String {
    let spellings = spellings();
    let spelling = |symbol: &str| {
        let exponents = Unit::parse(symbol).map(|unit| unit.exponents).unwrap_or_default();
        spellings.iter().find(|(known, _)| *known == exponents).map_or("", |(_, spelling)| spelling)
    };
    let mut text = String::new();
    let mut rest = unit;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len()).max(1);
        let (head, tail) = rest.split_at(end);
        // Writing to a string cannot fail.
        let _ = match first {
            '*' => write!(text, "{TIMES}"),
            '/' => write!(text, "{OVER}"),
            '(' | ')' | '^' => write!(text, r"\{first}"),
            '1' => write!(text, "1"),
            _ => write!(text, "{}", spelling(head)),
        };
        rest = tail;
    }
    text
}
