//! The tables as a page of reference in Markdown.
//!
//! Thread: cold.

use super::{Choice, Key, Keys, Kind, Presence, Schema};
use crate::files::quantity::Dimension;
use crate::files::unit::{PREFIXES, SYMBOLS};
use std::fmt::Write;

/// What is said of quantities on every page.
const QUANTITIES: &str = "\
A quantity is a text with a number and its unit, `\"800 N/m\"`, or a bare number in SI. Units are multiplied by `*`, `·` or a
space and divided by `/`, from left to right; a power is `^2` or `²`; brackets may be used: `N*s/m`, `kg m²`, `rad/(N*m)`. An
angle is a unit of its own: `N*m` is a torque, `N*m/rad` a stiffness. The unit must fit the key.";

/// What is said of editors on every page.
const EDITORS: &str = "\
Editors that know TOML (Even Better TOML for VS Code, Taplo, and others) complete keys and underline mistakes when the first
line of a file names its schema:";

impl Schema {
    /// The page, made from the tables.
    #[must_use]
    pub fn markdown(&self) -> String {
        let word = self.word();
        let mut page = format!("# {}\n\n", self.title);
        page += &format!(
            "<!-- Made by `hapticd schema {word} --markdown`. Change the tables in the code, not this page. -->\n\n"
        );
        page += self.about;
        page += &format!(
            "\n{EDITORS}\n\n```toml\n#:schema ../schema/{word}.schema.json\nformat = \"{}\"\n```\n\n",
            self.format
        );
        page += &format!(
            "`hapticd schema {word}` prints that schema; `hapticd check FILE` says all that is wrong with a file, and "
        );
        page += "where: also what no schema can know, such as a bound of a quantity that has a unit.\n\n";
        page += &format!("## Quantities\n\n{QUANTITIES}\n\n{}", units());
        for keys in self.root.with_all_below() {
            page += &section(keys, std::ptr::eq(keys, self.root).then_some(self));
        }
        page
    }
}

fn units() -> String {
    let list = |prefixed: bool| {
        let symbols = SYMBOLS.iter().filter(|symbol| symbol.prefixed == prefixed);
        symbols.flat_map(|symbol| symbol.names).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let prefixes: Vec<String> = PREFIXES.iter().map(|(prefix, _)| format!("`{prefix}`")).collect();
    format!(
        "Units that take a prefix: {}.\nUnits that do not: {}.\nPrefixes: {}.\n\n",
        list(true),
        list(false),
        prefixes.join(", ")
    )
}

fn section(keys: &Keys, root: Option<&Schema>) -> String {
    let mut text = format!("## {}\n\n{}\n\n", heading(keys), keys.about);
    text += "| key | value | if left out | meaning |\n|---|---|---|---|\n";
    if let Some(schema) = root {
        text += &format!("| `format` | `\"{}\"` | required | kind and version of the file |\n", schema.format);
    }
    for key in keys.keys {
        text += &row(key);
    }
    text += "\n";
    if let [only] = keys.choices {
        text += &format!("Refused: {}.\n\n", pairs(only.is_not));
    } else if !keys.choices.is_empty() {
        text += "One of these must hold:\n\n";
        for choice in keys.choices {
            text += &bullet(choice);
        }
        text += "\n";
    }
    text
}

/// As code, but for the top of the file, which is not written.
fn heading(keys: &Keys) -> String {
    if keys.heading.contains(['[', '{']) { format!("`{}`", keys.heading) } else { keys.heading.to_owned() }
}

fn row(key: &Key) -> String {
    let value = match key.kind {
        Kind::Table(keys) | Kind::Tables(keys, _) | Kind::Named(keys, ..) => {
            format!("{}, [{}]({})", key.wanted(), heading(keys).replace(['[', ']'], ""), anchor(keys))
        }
        _ => key.wanted(),
    };
    let unit = key.kind.dimension().map_or("", Dimension::si_unit);
    let example = match key.example {
        "" => String::new(),
        example if unit.is_empty() => format!(", such as `{example}`"),
        example => format!(", such as `{example}`; SI unit `{unit}`"),
    };
    let example =
        if matches!(key.kind, Kind::Word(_) | Kind::Boolean | Kind::Only(_)) { String::new() } else { example };
    let without = match key.presence {
        Presence::Required => "required".to_owned(),
        Presence::Default(default) => format!("`{default}`"),
        Presence::Optional(without) => without.to_owned(),
        Presence::Chosen => "see below".to_owned(),
    };
    format!("| `{}` | {value}{example} | {without} | {} |\n", key.name, key.about)
}

/// The link to a section, as renderers of Markdown make it from a heading: letters, digits, hyphens; spaces as hyphens.
fn anchor(keys: &Keys) -> String {
    let letters = heading(keys).to_lowercase().replace(' ', "-");
    format!("#{}", letters.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect::<String>())
}

fn quoted(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

fn pairs(values: &[(&str, &str)]) -> String {
    values.iter().map(|(path, value)| format!("`{path} = {value}`")).collect::<Vec<_>>().join(", ")
}

fn bullet(choice: &Choice) -> String {
    let mut parts = Vec::new();
    if !choice.is.is_empty() {
        parts.push(pairs(choice.is));
    }
    if !choice.is_not.is_empty() {
        parts.push(format!("not {}", pairs(choice.is_not).replace(", ", ", nor ")));
    }
    if !choice.needs.is_empty() {
        parts.push(format!("with {}", quoted(choice.needs)));
    }
    if !choice.may.is_empty() {
        parts.push(format!("if wanted {}", quoted(choice.may)));
    }
    if !choice.refuses.is_empty() {
        parts.push(format!("without {}", quoted(choice.refuses)));
    }
    let mut line = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(line, "- {}", parts.join("; "));
    line
}
