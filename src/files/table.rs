//! A cursor over one table of a document: asks for keys by name and kind, and remembers what was asked.
//!
//! Thread: cold.
//!
//! ```text
//! let mass = mechanics.quantity("mass", Dimension::Mass).positive().at_most(50.0).required();
//! let hold = safety.quantity("hold", Dimension::Time).not_negative().or(0.02);
//! ```
//!
//! A key that is missing or wrong is reported where it stands, and the walk goes on: ask for everything first, combine
//! with `?` last. A key nobody asked for is reported when the walk ends, for every table that was opened, so no reader
//! can forget it.

use super::diagnostic::{Problem, Problems, nearest, quote, suggest};
use super::field::{Field, State};
use super::quantity::{Dimension, QuantityError, parse_quantity, parse_unit};
use crate::math::Vec3;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What one walk of a document has found and asked so far.
#[derive(Default)]
pub(super) struct Context<'d> {
    problems: RefCell<Problems>,
    opened: RefCell<Vec<Opened<'d>>>,
    /// Index in `opened` by the address of the table: one opened twice is still one.
    places: RefCell<BTreeMap<*const DeTable<'d>, usize>>,
    empty: DeTable<'d>,
}

struct Opened<'d> {
    table: &'d DeTable<'d>,
    path: String,
    asked: BTreeSet<String>,
}

impl<'d> Context<'d> {
    /// Ends the walk: reports the keys nobody asked for, and gives all problems.
    pub(super) fn finish(&self) -> Problems {
        let opened = self.opened.take();
        let mut problems = self.problems.take();
        for table in &opened {
            for key in table.table.keys().filter(|key| !table.asked.contains(key.get_ref().as_ref())) {
                let message = format!("unknown key `{}`{}", quote(key.get_ref()), place_of(&table.path));
                let mut problem = Problem::error(key.span(), message).label("not known here");
                if !problems.is_full() {
                    problem = problem.help(help_for_unknown(key.get_ref(), table, &opened));
                }
                problems.push(problem);
            }
        }
        problems
    }

    fn open(&self, table: &'d DeTable<'d>, path: &str) -> usize {
        let mut opened = self.opened.borrow_mut();
        if table.is_empty() {
            // Every missing section is the same empty table, under another path.
            opened.push(Opened { table, path: path.to_owned(), asked: BTreeSet::new() });
            return opened.len() - 1;
        }
        *self.places.borrow_mut().entry(std::ptr::from_ref(table)).or_insert_with(|| {
            opened.push(Opened { table, path: path.to_owned(), asked: BTreeSet::new() });
            opened.len() - 1
        })
    }
}

fn place_of(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" in [{path}]") }
}

fn help_for_unknown(key: &str, table: &Opened<'_>, opened: &[Opened<'_>]) -> String {
    let known = || table.asked.iter().map(String::as_str);
    if nearest(key, known()).is_none() {
        let elsewhere = opened.iter().find(|other| other.path != table.path && other.asked.contains(key));
        if let Some(other) = elsewhere {
            let place = if other.path.is_empty() { "at the top, above the first [table]" } else { "" };
            let place = if place.is_empty() { format!("in [{}]", other.path) } else { place.to_owned() };
            return format!("`{}` belongs {place}", quote(key));
        }
    }
    suggest(key, known())
}

/// One table of a document.
pub struct Table<'d> {
    context: &'d Context<'d>,
    table: &'d DeTable<'d>,
    index: usize,
    path: String,
    span: Range<usize>,
}

impl<'d> Table<'d> {
    pub(super) fn root(context: &'d Context<'d>, table: &'d DeTable<'d>, span: Range<usize>) -> Self {
        Self::open(context, table, String::new(), span)
    }

    fn open(context: &'d Context<'d>, table: &'d DeTable<'d>, path: String, span: Range<usize>) -> Self {
        let index = context.open(table, &path);
        Self { context, table, index, path, span }
    }

    /// Path of the table from the root: `body.nut`; empty for the root.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Bytes of the table's heading, or of its key where it has none.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Bytes of the value of `key`, or of the heading when it is not there.
    #[must_use]
    pub fn span_of(&self, key: &str) -> Range<usize> {
        self.table.get(key).map_or_else(|| self.span(), Spanned::span)
    }

    /// True when `key` is written in the table. Does not count as asking for it.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Reports a problem found by the reader itself, such as two values that do not go together.
    pub fn report(&self, problem: Problem) {
        self.context.problems.borrow_mut().push(problem);
    }

    /// An error about the value of `key`.
    pub fn error(&self, key: &str, message: &str, help: &str) {
        self.report(Problem::error(self.span_of(key), message).help(help));
    }

    /// A warning about the value of `key`.
    pub fn warn(&self, key: &str, message: &str, help: &str) {
        self.report(Problem::warning(self.span_of(key), message).help(help));
    }

    pub(super) fn report_missing(&self, key: &str, kind: &str) {
        let message = format!("`{key}` is missing{}", place_of(&self.path));
        self.report(Problem::error(self.span(), message).label("needed here").help(format!("add `{key}`, {kind}")));
    }

    fn ask(&self, key: &str) -> Option<&'d Spanned<DeValue<'d>>> {
        if let Some(opened) = self.context.opened.borrow_mut().get_mut(self.index)
            && !opened.asked.contains(key)
        {
            opened.asked.insert(key.to_owned());
        }
        self.table.get(key)
    }

    fn field<'t, T>(
        &'t self,
        key: &str,
        kind: impl Into<String>,
        read: impl FnOnce(&'d Spanned<DeValue<'d>>) -> Option<T>,
    ) -> Field<'t, 'd, T> {
        let state = match self.ask(key) {
            None => State::Missing,
            Some(value) => read(value).map_or(State::Bad, State::Good),
        };
        Field::new(self, key, kind.into(), state)
    }

    /// Reports a problem and gives the value that is not there.
    fn refuse<T>(&self, problem: Problem) -> Option<T> {
        self.report(problem);
        None
    }

    fn wrong_kind<T>(&self, key: &str, value: &Spanned<DeValue<'_>>, wanted: &str) -> Option<T> {
        let found = kind_of(value.get_ref());
        let problem = Problem::error(value.span(), format!("`{key}` needs {wanted}, not {found}"));
        self.refuse(problem.label(format!("this is {found}")))
    }

    /// A quantity of `dimension`: a text with its unit, or a number in SI.
    pub fn quantity<'t>(&'t self, key: &str, dimension: Dimension) -> Field<'t, 'd, f64> {
        let read = |value| self.read_quantity(key, value, dimension);
        self.field(key, kind_of_quantity(dimension), read).of(dimension)
    }

    /// A plain number.
    pub fn number<'t>(&'t self, key: &str) -> Field<'t, 'd, f64> {
        self.quantity(key, Dimension::Dimensionless)
    }

    /// A quantity, or `word` for none.
    pub fn quantity_or_word<'t>(&'t self, key: &str, dimension: Dimension, word: &str) -> Field<'t, 'd, Option<f64>> {
        let kind = format!("{}, or \"{word}\"", kind_of_quantity(dimension));
        let read = |value: &'d Spanned<DeValue<'d>>| match value.get_ref() {
            DeValue::String(text) if text == word => Some(None),
            DeValue::String(text) if parse_quantity(text, dimension) == Err(QuantityError::NotANumber) => {
                let message = format!("`{key}` needs {}, or \"{word}\"", dimension.name());
                self.refuse(
                    Problem::error(value.span(), message).label("neither of them").help(format!("write {kind}")),
                )
            }
            _ => self.read_quantity(key, value, dimension).map(Some),
        };
        self.field(key, kind.clone(), read).of(dimension)
    }

    /// Three quantities of `dimension`.
    pub fn vector<'t>(&'t self, key: &str, dimension: Dimension) -> Field<'t, 'd, Vec3> {
        let kind = format!("three of {}", kind_of_quantity(dimension));
        let read = |value| {
            let list = self.read_quantities(key, value, dimension, 3..=3)?;
            Some(Vec3::new(list[0], list[1], list[2]))
        };
        self.field(key, kind, read).of(dimension)
    }

    /// A list of quantities of `dimension`, as many as `count` allows.
    pub fn quantities<'t>(
        &'t self,
        key: &str,
        dimension: Dimension,
        count: RangeInclusive<usize>,
    ) -> Field<'t, 'd, Vec<f64>> {
        let kind = format!("a list, each {}", kind_of_quantity(dimension));
        self.field(key, kind, |value| self.read_quantities(key, value, dimension, count)).of(dimension)
    }

    /// A unit of `dimension`, as its size in SI: for data that carry none.
    pub fn unit<'t>(&'t self, key: &str, dimension: Dimension) -> Field<'t, 'd, f64> {
        let kind = format!("a unit of {}, such as \"{}\"", dimension.name(), dimension.si_unit());
        let read = |value: &Spanned<DeValue<'_>>| {
            let text = self.read_text(key, value, &kind)?;
            match parse_unit(text, dimension) {
                Ok(unit) => Some(format!("1e{}", unit.decade).parse::<f64>().unwrap_or(1.0) * unit.factor),
                Err(error) => self.refuse_quantity(key, value, dimension, &error),
            }
        };
        self.field(key, kind.clone(), read)
    }

    /// A text.
    pub fn string<'t>(&'t self, key: &str) -> Field<'t, 'd, String> {
        self.field(key, "a text", |value| self.read_text(key, value, "a text").map(str::to_owned))
    }

    /// A list of texts.
    pub fn strings<'t>(&'t self, key: &str) -> Field<'t, 'd, Vec<String>> {
        let read = |value: &'d Spanned<DeValue<'d>>| {
            let list = self.read_list(key, value, "a list of texts")?;
            let texts: Vec<_> = list.iter().map(|v| self.read_text(key, v, "a text").map(str::to_owned)).collect();
            texts.into_iter().collect()
        };
        self.field(key, "a list of texts", read)
    }

    /// `true` or `false`.
    pub fn boolean<'t>(&'t self, key: &str) -> Field<'t, 'd, bool> {
        let read = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            _ => self.wrong_kind(key, value, "true or false"),
        };
        self.field(key, "true or false", read)
    }

    /// A whole number in `range`.
    pub fn integer<'t>(&'t self, key: &str, range: RangeInclusive<i64>) -> Field<'t, 'd, i64> {
        let kind = format!("a whole number from {} to {}", range.start(), range.end());
        let read = |value: &Spanned<DeValue<'_>>| {
            let DeValue::Integer(written) = value.get_ref() else {
                return self.wrong_kind(key, value, &kind);
            };
            let number = i64::from_str_radix(written.as_str(), written.radix()).ok();
            number.filter(|n| range.contains(n)).or_else(|| {
                let problem = Problem::error(value.span(), format!("`{key}` is out of range"));
                self.refuse(problem.label(quote(&written.to_string())).help(format!("write {kind}")))
            })
        };
        self.field(key, kind.clone(), read)
    }

    /// One of the words of a list, as what it stands for.
    pub fn word<'t, T: Clone>(&'t self, key: &str, words: &[(&str, T)]) -> Field<'t, 'd, T> {
        let names = || words.iter().map(|(name, _)| *name);
        let kind = format!("one of {}", names().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(", "));
        let read = |value: &Spanned<DeValue<'_>>| {
            let text = self.read_text(key, value, &kind)?;
            let found = words.iter().find(|(name, _)| *name == text).map(|(_, meaning)| meaning.clone());
            found.or_else(|| {
                let message = format!("`{key}` cannot be `{}`", quote(text));
                let help = nearest(text, names()).map(|near| format!("did you mean `{near}`? "));
                let help = format!("{}`{key}` is {kind}", help.unwrap_or_default());
                self.refuse(Problem::error(value.span(), message).label("not known").help(help))
            })
        };
        self.field(key, kind.clone(), read)
    }

    /// The name of something defined elsewhere in the document, as its index in `names`; `what` is what they are
    /// names of: "material".
    pub fn reference<'t>(&'t self, key: &str, what: &str, names: &[impl AsRef<str>]) -> Field<'t, 'd, usize> {
        let kind = format!("the name of a {what}");
        let read = |value: &Spanned<DeValue<'_>>| {
            let text = self.read_text(key, value, &kind)?;
            names.iter().position(|name| name.as_ref() == text).or_else(|| {
                let known = names.iter().map(AsRef::as_ref);
                let help =
                    if names.is_empty() { format!("add [{what}.{}]", quote(text)) } else { suggest(text, known) };
                let problem = Problem::error(value.span(), format!("no {what} is called `{}`", quote(text)));
                self.refuse(problem.label("not defined").help(help))
            })
        };
        self.field(key, kind.clone(), read)
    }

    /// The table under `key`.
    pub fn table<'t>(&'t self, key: &str) -> Field<'t, 'd, Table<'d>> {
        let read = |value: &'d Spanned<DeValue<'d>>| match value.get_ref() {
            DeValue::Table(table) => Some(self.inner(key, table, value.span())),
            _ => self.wrong_kind(key, value, "a table"),
        };
        self.field(key, "a table", read)
    }

    /// The table under `key`, or an empty one: for tables whose every key has a default.
    #[must_use]
    pub fn section(&self, key: &str) -> Table<'d> {
        let found = self.table(key).optional();
        found.unwrap_or_else(|| self.inner(key, &self.context.empty, self.span()))
    }

    /// The tables `[[key]]`, in order; none when there are none.
    #[must_use]
    pub fn tables(&self, key: &str) -> Vec<Table<'d>> {
        #[cfg(test)]
        super::observe::note(&self.path, key, "a list of tables", &[], false);
        let Some(value) = self.ask(key) else { return Vec::new() };
        let Some(list) = self.read_list(key, value, "a list of tables") else { return Vec::new() };
        let open = |(index, value): (usize, &'d Spanned<DeValue<'d>>)| match value.get_ref() {
            DeValue::Table(table) => Some(self.inner(&format!("{key}.{}", index + 1), table, value.span())),
            _ => self.wrong_kind(key, value, "a list of tables"),
        };
        list.iter().enumerate().filter_map(open).collect()
    }

    /// The tables `[key.NAME]` with their names, in the order of the file; none when there are none.
    #[must_use]
    pub fn named(&self, key: &str) -> Vec<(String, Table<'d>)> {
        let Some(parent) = self.table(key).optional() else { return Vec::new() };
        let mut entries: Vec<_> = parent.table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        let mut named = Vec::with_capacity(entries.len());
        for (name, _) in entries {
            let name = name.get_ref();
            if let Some(table) = parent.table(name).optional() {
                named.push((name.to_string(), table));
            }
        }
        named
    }

    fn inner(&self, key: &str, table: &'d DeTable<'d>, span: Range<usize>) -> Table<'d> {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Table::open(self.context, table, quote(&path), span)
    }

    fn read_text<'v>(&self, key: &str, value: &'v Spanned<DeValue<'_>>, wanted: &str) -> Option<&'v str> {
        match value.get_ref() {
            DeValue::String(text) => Some(text),
            _ => self.wrong_kind(key, value, wanted),
        }
    }

    fn read_list(
        &self,
        key: &str,
        value: &'d Spanned<DeValue<'d>>,
        wanted: &str,
    ) -> Option<&'d [Spanned<DeValue<'d>>]> {
        match value.get_ref() {
            DeValue::Array(list) => Some(list),
            _ => self.wrong_kind(key, value, wanted),
        }
    }

    fn read_quantity(&self, key: &str, value: &Spanned<DeValue<'_>>, dimension: Dimension) -> Option<f64> {
        let number = match value.get_ref() {
            DeValue::String(text) => {
                return match parse_quantity(text, dimension) {
                    Ok(number) => Some(number),
                    Err(error) => self.refuse_quantity(key, value, dimension, &error),
                };
            }
            DeValue::Float(written) => written.as_str().parse().ok(),
            DeValue::Integer(written) if written.radix() == 10 => written.as_str().parse().ok(),
            DeValue::Integer(written) => {
                // Hexadecimal and the like: exact up to 2⁵³, and nobody writes more.
                i64::from_str_radix(written.as_str(), written.radix()).ok().map(|n| n as f64)
            }
            _ => return self.wrong_kind(key, value, &kind_of_quantity(dimension)),
        };
        number.filter(|n: &f64| n.is_finite()).or_else(|| {
            let problem = Problem::error(value.span(), format!("`{key}` is not a finite number"));
            self.refuse(problem.label("not finite").help(format!("write {}", kind_of_quantity(dimension))))
        })
    }

    fn refuse_quantity<T>(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        dimension: Dimension,
        error: &QuantityError,
    ) -> Option<T> {
        let (message, label, help) = error.explain(key, dimension);
        self.refuse(Problem::error(value.span(), message).label(label).help(help))
    }

    fn read_quantities(
        &self,
        key: &str,
        value: &'d Spanned<DeValue<'d>>,
        dimension: Dimension,
        count: RangeInclusive<usize>,
    ) -> Option<Vec<f64>> {
        let wanted = format!("a list, each {}", kind_of_quantity(dimension));
        let list = self.read_list(key, value, &wanted)?;
        if !count.contains(&list.len()) {
            let (least, most) = (count.start(), count.end());
            let wanted = if least == most { format!("{least}") } else { format!("{least} to {most}") };
            let message = format!("`{key}` needs {wanted} values, not {}", list.len());
            return self.refuse(Problem::error(value.span(), message));
        }
        let values: Vec<_> = list.iter().map(|v| self.read_quantity(key, v, dimension)).collect();
        values.into_iter().collect()
    }
}

pub(super) fn kind_of_quantity(dimension: Dimension) -> String {
    match dimension.si_unit() {
        "" => dimension.name().to_owned(),
        unit => format!("{} such as \"1.5 {unit}\"", dimension.name()),
    }
}

fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
