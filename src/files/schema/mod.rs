//! What may stand in a file, as data: every key with its kind, bounds, default and meaning. Editors get it as JSON Schema,
//! people as a page of reference.
//!
//! Thread: cold.
//!
//! The readers decide what is accepted; these tables only say it in a form that can be printed. `scene/schema_tests.rs`
//! holds the two together: it records what the readers ask for, with every bound, and compares; it makes documents from
//! the tables, good and bad, and asks both. The methods of [`Key`] are named as those of [`super::Field`], so that a line
//! here can be laid beside its line in the reader.

mod config;
mod device;
mod json;
mod markdown;
mod pattern;

pub use config::CONFIG;
pub use device::DEVICE;

use super::document::Format;
use super::quantity::Dimension;

/// Everything that may stand in one kind of file.
#[derive(Debug)]
pub struct Schema {
    /// The format it describes.
    pub format: Format,
    /// Title of the page of reference.
    pub title: &'static str,
    /// What such a file is, in Markdown: the beginning of the page.
    pub about: &'static str,
    /// The top of the file, without `format`.
    pub root: &'static Keys,
}

/// The keys of one table.
#[derive(Debug)]
pub struct Keys {
    /// How the table is written: `[body.NAME]`, `pose = { … }`. Unique in its file.
    pub heading: &'static str,
    /// What it is about, one or two sentences.
    pub about: &'static str,
    /// The keys, in the order in which people are told of them.
    pub keys: &'static [Key],
    /// When not empty, one of these must hold.
    pub choices: &'static [Choice],
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// As written.
    pub name: &'static str,
    /// What stands after the equals sign.
    pub kind: Kind,
    /// Bounds of its numbers.
    pub range: Range,
    /// Whether it may be left out.
    pub presence: Presence,
    /// A value it may have, as written in TOML and in JSON alike; empty for tables.
    pub example: &'static str,
    /// What it means, in one line without a full stop.
    pub about: &'static str,
}

/// No bound on the length of a text.
pub const ANY_LENGTH: usize = usize::MAX;
/// A text that is not blank.
pub(crate) const NOT_BLANK: Kind = Kind::Text(r"\S", ANY_LENGTH);

/// Kinds of value.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A text that fits a regular expression and has at most so many characters, [`ANY_LENGTH`] for any number.
    Text(&'static str, usize),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of texts, each fitting a regular expression.
    Texts(&'static str),
    /// `true` or `false`.
    Boolean,
    /// A boolean that can be nothing but this.
    Only(bool),
    /// A whole number from the first to the second.
    Integer(i64, i64),
    /// A quantity with its unit, or a number in SI.
    Quantity(Dimension),
    /// A quantity, or this word.
    QuantityOrWord(Dimension, &'static str),
    /// Three quantities.
    Vector(Dimension),
    /// The name of something of this kind defined elsewhere in the file: "material".
    Reference(&'static str),
    /// A table.
    Table(&'static Keys),
    /// A list of tables, `[[key]]`, at most so many.
    Tables(&'static Keys, usize),
    /// Tables by name, `[key.NAME]`, at most so many; with a name to show how it is done.
    Named(&'static Keys, usize, &'static str),
}

/// Lower bound of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Least {
    /// Any number.
    Unbounded,
    /// Zero itself is refused.
    AboveZero,
    /// Zero is allowed.
    Zero,
    /// This, SI.
    At(f64),
}

/// Bounds of the numbers of a value, SI.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower bound.
    pub least: Least,
    /// Upper bound.
    pub most: Option<f64>,
}

/// Whether a key may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It may not.
    Required,
    /// Leaving it out is the same as writing this.
    Default(&'static str),
    /// It may, and then this holds.
    Optional(&'static str),
    /// The choices of the table say.
    Chosen,
}

/// One way a table may be filled. Paths are keys joined by dots, from the table. A key that some choice of the table
/// names in `needs` or `may` is refused in those that do not.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// Values, as in JSON, that make it apply.
    pub is: &'static [(&'static str, &'static str)],
    /// Values that rule it out.
    pub is_not: &'static [(&'static str, &'static str)],
    /// Keys that must be there.
    pub needs: &'static [&'static str],
    /// Keys that may.
    pub may: &'static [&'static str],
    /// Keys that may not, besides those other choices name.
    pub refuses: &'static [&'static str],
}

impl Key {
    /// A key that must be there.
    pub(crate) const fn new(name: &'static str, kind: Kind, example: &'static str, about: &'static str) -> Self {
        let range = Range { least: Least::Unbounded, most: None };
        Self { name, kind, range, presence: Presence::Required, example, about }
    }

    /// A table that must be there.
    pub(crate) const fn table(name: &'static str, keys: &'static Keys, about: &'static str) -> Self {
        Self::new(name, Kind::Table(keys), "", about)
    }

    /// Refuses zero and less.
    pub(crate) const fn positive(self) -> Self {
        Self { range: Range { least: Least::AboveZero, ..self.range }, ..self }
    }

    /// Refuses less than zero.
    pub(crate) const fn not_negative(self) -> Self {
        Self { range: Range { least: Least::Zero, ..self.range }, ..self }
    }

    /// Refuses less than `least`, SI.
    pub(crate) const fn at_least(self, least: f64) -> Self {
        Self { range: Range { least: Least::At(least), ..self.range }, ..self }
    }

    /// Refuses more than `most`, SI.
    pub(crate) const fn at_most(self, most: f64) -> Self {
        Self { range: Range { most: Some(most), ..self.range }, ..self }
    }

    /// Gives the value it has when it is left out, as written.
    pub(crate) const fn or(self, default: &'static str) -> Self {
        Self { presence: Presence::Default(default), ..self }
    }

    /// Says what holds when it is left out.
    pub(crate) const fn optional(self, without: &'static str) -> Self {
        Self { presence: Presence::Optional(without), ..self }
    }

    /// Leaves it to the choices of the table.
    pub(crate) const fn chosen(self) -> Self {
        Self { presence: Presence::Chosen, ..self }
    }

    /// What must be written: "a force, more than zero, at most 200 N".
    #[must_use]
    pub fn wanted(&self) -> String {
        match self.kind {
            Kind::Text(..) => "a text".to_owned(),
            Kind::Texts(_) => "a list of texts".to_owned(),
            Kind::Word(words) => words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", "),
            Kind::Boolean => "`true` or `false`".to_owned(),
            Kind::Only(value) => format!("`{value}`"),
            Kind::Integer(least, i64::MAX) => format!("a whole number, {least} or more"),
            Kind::Integer(least, most) => format!("a whole number from {least} to {most}"),
            Kind::Quantity(dimension) => self.bounded(dimension),
            Kind::QuantityOrWord(dimension, word) => format!("{}; or `\"{word}\"`", self.bounded(dimension)),
            Kind::Vector(dimension) => format!("three, each {}", self.bounded(dimension)),
            Kind::Reference(what) => format!("the name of a {what}"),
            Kind::Table(_) => "a table".to_owned(),
            Kind::Tables(_, most) => format!("a list of at most {most} tables"),
            Kind::Named(_, most, _) => format!("at most {most} tables, each with a name"),
        }
    }

    fn bounded(&self, dimension: Dimension) -> String {
        let mut text = dimension.name().to_owned();
        for limit in self.range.limits(|value| show(dimension, value)) {
            text += &format!(", {limit}");
        }
        text
    }
}

impl Range {
    /// The bounds in words.
    fn limits(&self, show: impl Fn(f64) -> String) -> impl Iterator<Item = String> {
        let least = match self.least {
            Least::Unbounded => None,
            Least::AboveZero => Some("more than zero".to_owned()),
            Least::Zero => Some("zero or more".to_owned()),
            Least::At(value) => Some(format!("at least {}", show(value))),
        };
        least.into_iter().chain(self.most.map(|most| format!("at most {}", show(most))))
    }
}

/// A value in SI, with angles of half turns as people know them.
fn show(dimension: Dimension, value: f64) -> String {
    match value / std::f64::consts::PI {
        1.0 if dimension == Dimension::Angle => "π rad".to_owned(),
        -2.0 if dimension == Dimension::Angle => "-2π rad".to_owned(),
        2.0 if dimension == Dimension::Angle => "2π rad".to_owned(),
        _ => dimension.show(value),
    }
}

impl Kind {
    /// The keys of the table or tables it is made of.
    #[must_use]
    pub const fn keys(&self) -> Option<&'static Keys> {
        match self {
            Self::Table(keys) | Self::Tables(keys, _) | Self::Named(keys, ..) => Some(keys),
            _ => None,
        }
    }

    /// What its numbers measure.
    #[must_use]
    pub const fn dimension(&self) -> Option<Dimension> {
        match self {
            Self::Quantity(dimension) | Self::QuantityOrWord(dimension, _) | Self::Vector(dimension) => {
                Some(*dimension)
            }
            _ => None,
        }
    }
}

impl Keys {
    /// The key called `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// This table and all below it, each once, in the order of a page.
    #[must_use]
    pub fn with_all_below(&'static self) -> Vec<&'static Self> {
        let mut tables = vec![self];
        for inner in self.keys.iter().filter_map(|key| key.kind.keys()) {
            for table in inner.with_all_below() {
                if !tables.iter().any(|known| std::ptr::eq(*known, table)) {
                    tables.push(table);
                }
            }
        }
        tables
    }

    /// Keys that some choice names: where a choice does not, they are refused.
    fn governed(&self) -> impl Iterator<Item = &'static str> {
        self.choices.iter().flat_map(|choice| choice.needs.iter().chain(choice.may)).copied()
    }

    /// Keys that `choice` refuses: those it says, and those that belong to other choices only.
    #[must_use]
    pub fn refused_by(&self, choice: &Choice) -> Vec<&'static str> {
        let mut refused: Vec<&str> = self.governed().filter(|key| !choice.names(key)).collect();
        refused.extend(choice.refuses);
        refused.sort_unstable();
        refused.dedup();
        refused
    }
}

impl Choice {
    /// One that needs these keys.
    pub(crate) const fn needing(needs: &'static [&'static str]) -> Self {
        Self { is: &[], is_not: &[], needs, may: &[], refuses: &[] }
    }

    /// Applies when these keys have these values.
    pub(crate) const fn when(self, is: &'static [(&'static str, &'static str)]) -> Self {
        Self { is, ..self }
    }

    /// Does not apply when one of these keys has this value.
    pub(crate) const fn unless(self, is_not: &'static [(&'static str, &'static str)]) -> Self {
        Self { is_not, ..self }
    }

    /// Allows these keys.
    pub(crate) const fn allowing(self, may: &'static [&'static str]) -> Self {
        Self { may, ..self }
    }

    /// Refuses these keys.
    pub(crate) const fn refusing(self, refuses: &'static [&'static str]) -> Self {
        Self { refuses, ..self }
    }

    /// True when it allows or needs `key`.
    #[must_use]
    pub fn names(&self, key: &str) -> bool {
        self.needs.contains(&key) || self.may.contains(&key)
    }
}

impl Schema {
    /// One word for the kind of file, as on the command line: `scene`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        self.format.name.trim_start_matches("hapticd-")
    }
}

#[cfg(test)]
pub(crate) mod specimen;
