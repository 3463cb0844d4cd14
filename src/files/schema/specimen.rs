//! Documents made from the tables, for tests: the smallest good one that has a given key, and what can be done to it.
//!
//! Thread: cold.

use super::{Choice, Key, Keys, Kind, Presence, Schema};
use crate::files::table::kind_of_quantity;

/// A value of a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// As written.
    Leaf(String),
    /// Keys and values.
    Table(Vec<(String, Node)>),
    /// Values.
    List(Vec<Node>),
}

impl Node {
    /// A value as written.
    pub(crate) fn leaf(text: &str) -> Self {
        Self::Leaf(text.to_owned())
    }

    /// Sets what stands at `path`, or removes it.
    pub(crate) fn set(&mut self, path: &[&str], value: Option<Node>) {
        let Self::Table(entries) = self else { unreachable!("{path:?} leads through a table") };
        let (first, rest) = path.split_first().expect("a path is not empty");
        let at = entries.iter().position(|(name, _)| name == first);
        match (rest, value) {
            ([], None) => entries.retain(|(name, _)| name != first),
            ([], Some(value)) => match at {
                Some(at) => entries[at].1 = value,
                None => entries.push(((*first).to_owned(), value)),
            },
            (rest, value) => {
                let at = at.unwrap_or_else(|| {
                    entries.push(((*first).to_owned(), Self::Table(Vec::new())));
                    entries.len() - 1
                });
                // Through the first of many.
                match &mut entries[at].1 {
                    Self::List(list) => list[0].set(rest, value),
                    inner => inner.set(rest, value),
                }
            }
        }
    }

    /// The value at `path`.
    pub(crate) fn get(&self, path: &[&str]) -> Option<&Self> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        match self {
            Self::Table(entries) => entries.iter().find(|(name, _)| name == first).and_then(|(_, v)| v.get(rest)),
            Self::List(list) => list.first().and_then(|inner| inner.get(path)),
            Self::Leaf(_) => None,
        }
    }

    /// As TOML on one line.
    fn inline(&self) -> String {
        match self {
            Self::Leaf(text) => text.clone(),
            Self::Table(entries) => {
                let entries: Vec<String> = entries.iter().map(|(k, v)| format!("\"{k}\" = {}", v.inline())).collect();
                format!("{{ {} }}", entries.join(", "))
            }
            Self::List(list) => format!("[{}]", list.iter().map(Self::inline).collect::<Vec<_>>().join(", ")),
        }
    }

    /// As a document.
    pub(crate) fn document(&self) -> String {
        let Self::Table(entries) = self else { unreachable!("a document is a table") };
        entries.iter().map(|(key, value)| format!("\"{key}\" = {}\n", value.inline())).collect()
    }
}

/// A key with the way to it. Names of named tables are part of the way; numbers of lists are not.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    /// Keys from the root, the last one being `key`.
    pub(crate) path: Vec<&'static str>,
    /// The key.
    pub(crate) key: &'static Key,
    /// The table it stands in.
    pub(crate) table: &'static Keys,
}

/// Every key of a schema.
pub(crate) fn spots(schema: &Schema) -> Vec<Spot> {
    let mut all = Vec::new();
    collect(schema.root, &[], &mut all);
    all
}

fn collect(table: &'static Keys, path: &[&'static str], all: &mut Vec<Spot>) {
    for key in table.keys {
        let mut path = path.to_vec();
        path.push(key.name);
        all.push(Spot { path: path.clone(), key, table });
        if let Kind::Named(_, _, name) = key.kind {
            path.push(name);
        }
        if let Some(inner) = key.kind.keys() {
            collect(inner, &path, all);
        }
    }
}

/// The smallest document that has `path`, with its example there; `needed` are named tables that others refer to.
pub(crate) fn document(schema: &Schema, path: &[&str], needed: &[&str]) -> Node {
    let mut root = build(schema.root, path);
    for name in needed {
        let key = schema.root.find(name).expect("what is referred to is at the root");
        if root.get(&[name]).is_none() {
            root.set(&[name], Some(sample(key, &[])));
        }
    }
    root.set(&["format"], Some(Node::Leaf(format!("\"{}\"", schema.format))));
    root
}

/// A table with all it needs and `path` besides.
fn build(table: &'static Keys, path: &[&str]) -> Node {
    build_as(table, table.choices.iter().find(|choice| fits(table, choice, path)), path)
}

/// True when `choice` allows `path`.
fn fits(table: &Keys, choice: &Choice, path: &[&str]) -> bool {
    let joined = path.join(".");
    let refused = table.refused_by(choice);
    !refused.iter().any(|key| joined == *key || joined.starts_with(&format!("{key}.")))
}

/// The same by a given choice.
pub(crate) fn build_as(table: &'static Keys, choice: Option<&Choice>, path: &[&str]) -> Node {
    let mut node = Node::Table(Vec::new());
    for key in table.keys.iter().filter(|key| key.presence == Presence::Required) {
        node.set(&[key.name], Some(sample(key, &[])));
    }
    if let Some((first, rest)) = path.split_first() {
        let key = table.find(first).unwrap_or_else(|| unreachable!("`{first}` is in `{}`", table.heading));
        node.set(&[first], Some(sample(key, rest)));
    }
    for dotted in choice.map_or(&[][..], |choice| choice.needs) {
        let way: Vec<&str> = dotted.split('.').collect();
        if node.get(&way).is_none() {
            let key = find(table, &way);
            node.set(&way, Some(sample(key, &[])));
        }
    }
    for dotted in choice.map_or(&[][..], |choice| choice.refuses) {
        let way: Vec<&str> = dotted.split('.').collect();
        if let ([around @ .., last], true) = (&way[..], node.get(&way).is_some()) {
            let inner = find(table, around).kind.keys().expect("what is refused stands in a table");
            let other = inner.choices.iter().find(|choice| !choice.names(last));
            node.set(around, Some(build_as(inner, other, &[])));
        }
    }
    for (dotted, value) in choice.map_or(&[][..], |choice| choice.is) {
        let way: Vec<&str> = dotted.split('.').collect();
        if way == path {
            continue;
        }
        if let [around @ .., last] = &way[..]
            && !around.is_empty()
            && !path.starts_with(around)
            && let Some(inner) = find(table, around).kind.keys()
            && let Some(fitting) = inner.choices.iter().find(|choice| choice.is.contains(&(*last, *value)))
        {
            // What goes with that value, in place of what went with another.
            node.set(around, Some(build_as(inner, Some(fitting), &[])));
        }
        node.set(&way, Some(Node::leaf(value)));
    }
    node
}

fn find(table: &'static Keys, way: &[&str]) -> &'static Key {
    let (first, rest) = way.split_first().expect("a way is not empty");
    let key = table.find(first).unwrap_or_else(|| unreachable!("`{first}` is in `{}`", table.heading));
    match (rest, key.kind.keys()) {
        ([], _) => key,
        (rest, Some(inner)) => find(inner, rest),
        _ => unreachable!("`{first}` is a table"),
    }
}

/// A value of `key` that has `rest` in it.
pub(crate) fn sample(key: &Key, rest: &[&str]) -> Node {
    match key.kind {
        Kind::Table(keys) => build(keys, rest),
        Kind::Tables(keys, _) => Node::List(vec![build(keys, rest)]),
        Kind::Named(keys, _, name) => {
            let rest = rest.split_first().map_or(&[][..], |(_, rest)| rest);
            Node::Table(vec![(name.to_owned(), build(keys, rest))])
        }
        _ => Node::leaf(key.example),
    }
}

/// How a reader asks for `key` if it agrees with the table: the kind in words, and the bounds.
pub(crate) fn as_asked(key: &Key) -> (String, Vec<String>) {
    let kind = match key.kind {
        Kind::Text(..) => "a text".to_owned(),
        Kind::Texts(_) => "a list of texts".to_owned(),
        Kind::Word(words) => {
            format!("one of {}", words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", "))
        }
        Kind::Boolean | Kind::Only(_) => "true or false".to_owned(),
        Kind::Integer(least, most) => format!("a whole number from {least} to {most}"),
        Kind::Quantity(dimension) => kind_of_quantity(dimension),
        Kind::QuantityOrWord(dimension, word) => format!("{}, or \"{word}\"", kind_of_quantity(dimension)),
        Kind::Vector(dimension) => format!("three of {}", kind_of_quantity(dimension)),
        Kind::Reference(what) => format!("the name of a {what}"),
        Kind::Table(_) | Kind::Named(..) => "a table".to_owned(),
        Kind::Tables(..) => "a list of tables".to_owned(),
    };
    let limits = key.kind.dimension().map(|dimension| key.range.limits(|value| dimension.show(value)).collect());
    (kind, limits.unwrap_or_default())
}

/// `path` of a table as the reader names it, with `*` for names and numbers; `None` when it leads to no table of keys.
pub(crate) fn general_path(schema: &Schema, path: &str) -> Option<String> {
    let mut table = schema.root;
    let mut general = Vec::new();
    let mut segments = path.split('.').filter(|segment| !segment.is_empty());
    while let Some(segment) = segments.next() {
        let key = table.find(segment)?;
        table = key.kind.keys()?;
        general.push(segment);
        if !matches!(key.kind, Kind::Table(_)) {
            segments.next()?;
            general.push("*");
        }
    }
    Some(general.join("."))
}

/// The same for a key of the tables.
pub(crate) fn general_place(schema: &Schema, spot: &Spot) -> String {
    let mut table = schema.root;
    let mut general = String::new();
    let mut names = spot.path.iter();
    while let Some(name) = names.next() {
        let key = table.find(name).expect("a spot is in its schema");
        general += &format!("{}{name}", if general.is_empty() { "" } else { "." });
        let Some(inner) = key.kind.keys().filter(|_| !std::ptr::eq(key, spot.key) || names.len() > 0) else { break };
        table = inner;
        match key.kind {
            Kind::Named(..) => {
                names.next();
                general += ".*";
            }
            Kind::Tables(..) => general += ".*",
            _ => {}
        }
    }
    general
}
