//! The tables as JSON Schema, draft 2020-12.
//!
//! Thread: cold.
//!
//! Written for Taplo, the TOML language server behind most editors. It validates by draft 7 and finds completions by a
//! walk of its own, so only what means the same in both drafts is used, and three habits follow:
//!
//! * nothing stands beside a `$ref` (draft 7 would ignore it), and `allOf` stands on no table (its keys would not be
//!   completed);
//! * what only validates stands under `if: true, then: …`, where the walk does not look: a key would otherwise be offered
//!   once more for every choice that names it;
//! * a quantity is checked by an `anyOf` of one, for the message is then "is not valid" and not the whole pattern.

use super::pattern::pattern;
use super::{ANY_LENGTH, Choice, Key, Keys, Kind, Least, Presence, Range, Schema};
use crate::files::quantity::Dimension;
use serde_json::{Map, Value, json};

impl Schema {
    /// The JSON Schema of such files, with a line end.
    #[must_use]
    pub fn json(&self) -> String {
        let mut root = table(self.root);
        if let Some(properties) = root.get_mut("properties").and_then(Value::as_object_mut) {
            let about = format!("Kind and version of the file: \"{}\".", self.format);
            properties.insert("format".to_owned(), json!({ "description": about, "const": self.format.to_string() }));
        }
        require(&mut root, "format");
        root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        root.insert("title".to_owned(), json!(self.format.to_string()));
        root.insert("$defs".to_owned(), self.dimensions());
        format!("{:#}\n", Value::Object(root))
    }

    /// A definition for each dimension in use.
    fn dimensions(&self) -> Value {
        let keys = self.root.with_all_below();
        let used = |dimension: &Dimension| {
            keys.iter().flat_map(|table| table.keys).any(|key| key.kind.dimension() == Some(*dimension))
        };
        let define = |dimension: Dimension| {
            let text = json!({
                "description": in_words(dimension),
                "type": ["number", "string"],
                "pattern": pattern(dimension),
            });
            (word(dimension), text)
        };
        Value::Object(Dimension::ALL.into_iter().filter(used).map(define).collect())
    }
}

/// What a quantity of `dimension` looks like.
fn in_words(dimension: Dimension) -> String {
    match dimension.si_unit() {
        "" => "A plain number, or a text with %.".to_owned(),
        unit => format!("A text with its unit, such as \"1.5 {unit}\", or a number in {unit}."),
    }
}

/// Name of a dimension without article and spaces.
fn word(dimension: Dimension) -> String {
    let name = dimension.name();
    name.split_once(' ').map_or(name, |(_, bare)| bare).replace(' ', "_")
}

fn table(keys: &Keys) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("type".to_owned(), json!("object"));
    object.insert("description".to_owned(), json!(keys.about));
    object.insert("additionalProperties".to_owned(), json!(false));
    let properties = keys.keys.iter().map(|key| (key.name.to_owned(), property(key)));
    object.insert("properties".to_owned(), Value::Object(properties.collect()));
    for key in keys.keys.iter().filter(|key| key.presence == Presence::Required) {
        require(&mut object, key.name);
    }
    if !keys.choices.is_empty() {
        let choices: Vec<Value> = keys.choices.iter().map(|choice| alternative(keys, choice)).collect();
        apply(&mut object, json!({ "anyOf": choices }));
    }
    object
}

/// Adds what is validated but not offered.
fn apply(object: &mut Map<String, Value>, rule: Value) {
    object.insert("if".to_owned(), json!(true));
    object.insert("then".to_owned(), rule);
}

fn require(object: &mut Map<String, Value>, name: &str) {
    let list = object.entry("required").or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut()
        && !list.iter().any(|known| known == name)
    {
        list.push(json!(name));
    }
}

fn property(key: &Key) -> Value {
    let mut object = match key.kind {
        Kind::Text(fits, ANY_LENGTH) => object(json!({ "type": "string", "pattern": fits })),
        Kind::Text(fits, most) => object(json!({ "type": "string", "pattern": fits, "maxLength": most })),
        Kind::Texts(fits) => object(json!({ "type": "array", "items": { "type": "string", "pattern": fits } })),
        Kind::Word(words) => object(json!({ "type": "string", "enum": words })),
        Kind::Boolean => object(json!({ "type": "boolean" })),
        Kind::Only(value) => object(json!({ "const": value })),
        Kind::Integer(least, most) => object(json!({ "type": "integer", "minimum": least, "maximum": most })),
        Kind::Quantity(dimension) => quantity(dimension, key.range, None),
        Kind::QuantityOrWord(dimension, word) => quantity(dimension, key.range, Some(word)),
        Kind::Vector(dimension) => {
            let each = quantity(dimension, key.range, None);
            object(json!({ "type": "array", "minItems": 3, "maxItems": 3, "items": each }))
        }
        Kind::Reference(_) => object(json!({ "type": "string" })),
        Kind::Table(keys) => table(keys),
        Kind::Tables(keys, most) => object(json!({ "type": "array", "maxItems": most, "items": table(keys) })),
        Kind::Named(keys, most, _) => object(json!({
            "type": "object",
            "maxProperties": most,
            "propertyNames": { "pattern": r"^[\p{Alphabetic}\p{N}_-]{1,48}$" },
            "additionalProperties": table(keys),
        })),
    };
    let written = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    if !key.example.is_empty() {
        object.insert("examples".to_owned(), json!([written(key.example)]));
    }
    if let Presence::Default(default) = key.presence {
        object.insert("default".to_owned(), written(default));
    }
    object.insert("description".to_owned(), json!(description(key)));
    Value::Object(object)
}

/// What an editor shows: meaning, value, and what happens without it.
fn description(key: &Key) -> String {
    let without = match key.presence {
        Presence::Required => "Required.".to_owned(),
        Presence::Default(default) => format!("Default: `{default}`."),
        Presence::Optional(without) => format!("Without it: {without}."),
        Presence::Chosen => "Required or refused, depending on other keys.".to_owned(),
    };
    match key.kind.keys() {
        Some(keys) => format!("{}. {}\n\n{without}", key.about, keys.about),
        None => format!("{}.\n\nValue: {}.\n\n{without}", key.about, key.wanted()),
    }
}

fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(object) = value { object } else { Map::new() }
}

fn quantity(dimension: Dimension, range: Range, word_instead: Option<&str>) -> Map<String, Value> {
    let mut object = object(json!({ "type": ["number", "string"] }));
    // Bounds of numbers pass texts by: the reader alone knows what "8 kPa" is in SI.
    match range.least {
        Least::Unbounded => None,
        Least::AboveZero => object.insert("exclusiveMinimum".to_owned(), json!(0)),
        Least::Zero => object.insert("minimum".to_owned(), json!(0)),
        Least::At(value) => object.insert("minimum".to_owned(), json!(value)),
    };
    if let Some(most) = range.most {
        object.insert("maximum".to_owned(), json!(most));
    }
    let mut forms = vec![json!({ "$ref": format!("#/$defs/{}", word(dimension)) })];
    forms.extend(word_instead.map(|word| json!({ "const": word })));
    apply(&mut object, json!({ "anyOf": forms }));
    object
}

/// What must be true of a table for `choice` to hold.
fn alternative(keys: &Keys, choice: &Choice) -> Value {
    let mut object = Map::new();
    let constant = |text: &str| json!({ "const": serde_json::from_str::<Value>(text).unwrap_or_else(|_| json!(text)) });
    for (path, value) in choice.is {
        constrain(&mut object, path, Some(constant(value)), true);
    }
    for (at, (path, _)) in choice.is_not.iter().enumerate() {
        // All values of one key together: a second rule would take the place of the first.
        if choice.is_not[..at].iter().all(|(before, _)| before != path) {
            let values = choice.is_not.iter().filter(|(other, _)| other == path).map(|(_, value)| constant(value));
            let mut values: Vec<Value> = values.collect();
            let refused = if values.len() == 1 { values.remove(0) } else { json!({ "anyOf": values }) };
            constrain(&mut object, path, Some(json!({ "not": refused })), false);
        }
    }
    for path in choice.needs {
        constrain(&mut object, path, None, true);
    }
    for path in keys.refused_by(choice) {
        constrain(&mut object, path, Some(json!(false)), false);
    }
    Value::Object(object)
}

/// Puts `rule` on the value at `path`, which must be there if it is `needed`.
fn constrain(object: &mut Map<String, Value>, path: &str, rule: Option<Value>, needed: bool) {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    if needed {
        require(object, first);
    }
    if rest.is_none() && rule.is_none() {
        return;
    }
    let properties = object.entry("properties").or_insert_with(|| json!({}));
    let Some(properties) = properties.as_object_mut() else { return };
    match (rest, rule) {
        (None, Some(rule)) => drop(properties.insert(first.to_owned(), rule)),
        (None, None) => {}
        (Some(rest), rule) => {
            let inner = properties.entry(first).or_insert_with(|| json!({}));
            if let Some(inner) = inner.as_object_mut() {
                constrain(inner, rest, rule, needed);
            }
        }
    }
}
