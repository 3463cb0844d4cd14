//! The tables of keys against the readers, and both against an independent validator of JSON Schema.
//!
//! Two claims hold for every document: what a reader accepts, the schema accepts; and what the schema accepts but the
//! reader does not is wrong in a way no schema can express ([`BEYOND`]).

#![expect(clippy::unwrap_used, reason = "a test reports by panicking")]

use super::spec::Source;
use crate::files::observe::{self, Asked};
use crate::files::schema::specimen::{Node, Spot, as_asked, build_as, document, general_path, general_place, spots};
use crate::files::schema::{CONFIG, DEVICE, Keys, Kind, Least, Presence, Schema};
use crate::files::{Dimension, Report, config, device_file, parse_quantity};
use jsonschema::Validator;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// What no schema can know, by what the reader says of it.
const BEYOND: &[&str] = &[
    "the hole ",
    "the chamfer is as deep",
    "the chamfers are as long as the part",
    "the part is",
    "the part would have",
    "must be a positive length",
    "is too coarse for a diameter",
    "of the thread would have no width left",
    "an angle that is not zero",
    "no material is called",
    "no body is called",
    "not all zero",
    "a force that is not zero",
    "is shorter than two ticks",
    "is not an address",
    "listens beyond loopback",
    "`links` must tell",
];

/// One kind of file: its table, its reader, its schema in the drafts that matter.
struct Judge {
    schema: &'static Schema,
    read: fn(&[u8]) -> Result<String, Report>,
    /// By the draft it is written in, and by the one Taplo takes it for.
    validators: [Validator; 2],
    /// Tables that others refer to by name.
    needed: &'static [&'static str],
}

fn read_scene(bytes: &[u8]) -> Result<String, Report> {
    let mut scene = super::parse(bytes, "x")?.value;
    scene.source = Source::default();
    if let Some(hand) = &mut scene.second_hand {
        hand.source = Source::default();
    }
    Ok(format!("{scene:?}"))
}

fn judges() -> [Judge; 3] {
    let judge = |schema: &'static Schema, read, needed| {
        let json: Value = serde_json::from_str(&schema.json()).unwrap();
        assert!(jsonschema::meta::is_valid(&json), "{} is no schema", schema.word());
        let validators = [jsonschema::draft202012::new(&json).unwrap(), jsonschema::draft7::new(&json).unwrap()];
        Judge { schema, read, validators, needed }
    };
    [
        judge(&super::SCHEMA, read_scene, &["material", "body"]),
        judge(&DEVICE, |bytes| device_file::parse(bytes, "x").map(|loaded| format!("{:?}", loaded.value)), &[]),
        judge(&CONFIG, |bytes| config::parse(bytes, "x").map(|loaded| format!("{:?}", loaded.value)), &[]),
    ]
}

fn to_json(table: &DeTable<'_>) -> Value {
    fn value(written: &DeValue<'_>) -> Value {
        match written {
            DeValue::String(text) => json!(text),
            DeValue::Integer(number) => {
                i64::from_str_radix(number.as_str(), number.radix()).map_or(Value::Null, |n| json!(n))
            }
            DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Value::Null, |n| json!(n)),
            DeValue::Boolean(truth) => json!(truth),
            DeValue::Datetime(time) => json!(time.to_string()),
            DeValue::Array(list) => list.iter().map(|inner| value(inner.get_ref())).collect(),
            DeValue::Table(table) => to_json(table),
        }
    }
    table.iter().map(|(key, inner)| (key.get_ref().to_string(), value(inner.get_ref()))).collect()
}

/// How many documents were judged, and how.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    accepted: usize,
    refused: usize,
    /// Refused by the reader for what no schema can know.
    beyond: usize,
}

impl Judge {
    /// The verdict of the schema, the same in both drafts.
    fn schema_accepts(&self, text: &str) -> bool {
        let json = to_json(DeTable::parse(text).unwrap().get_ref());
        let [newer, older] = [0, 1].map(|draft: usize| self.validators[draft].is_valid(&json));
        assert_eq!(newer, older, "the drafts differ on\n{text}");
        newer
    }

    /// Asks both, checks the two claims, and gives the reader's verdict.
    fn ask(&self, text: &str, tally: &mut Tally) -> bool {
        let schema = self.schema_accepts(text);
        match (self.read)(text.as_bytes()) {
            Ok(_) => {
                assert!(schema, "only the {} schema refuses\n{text}", self.schema.word());
                tally.accepted += 1;
                true
            }
            Err(report) if schema => {
                let said = report.to_string();
                assert!(BEYOND.iter().any(|known| said.contains(known)), "only the reader refuses\n{text}\n{said}");
                tally.beyond += 1;
                false
            }
            Err(_) => {
                tally.refused += 1;
                false
            }
        }
    }

    fn document(&self, path: &[&str]) -> Node {
        document(self.schema, path, self.needed)
    }

    /// A document with the key of `spot` that is read; where what is around it must fit, in one of the choices there. None where
    /// there is no such document.
    fn example(&self, spot: &Spot) -> Option<Node> {
        let reads = |node: &Node| (self.read)(node.document().as_bytes()).is_ok();
        let plain = self.document(&spot.path);
        if reads(&plain) {
            return Some(plain);
        }
        let (_, around) = spot.path.split_last()?;
        let value = plain.get(&spot.path).cloned();
        let above = spots(self.schema).into_iter().filter(|other| other.path == around);
        let mut all = above.flat_map(|other| self.choices(&other)).map(|(mut whole, _)| {
            whole.set(&spot.path, value.clone());
            whole
        });
        all.find(reads)
    }

    /// Claims that both refuse `document` with `value` at `path`.
    fn both_refuse(&self, document: &Node, path: &[&str], value: Option<Node>, tally: &mut Tally) {
        let mut changed = document.clone();
        changed.set(path, value);
        let text = changed.document();
        assert!((self.read)(text.as_bytes()).is_err(), "the reader accepts\n{text}");
        assert!(!self.schema_accepts(&text), "the schema accepts\n{text}");
        tally.refused += 1;
    }

    /// Every choice of the table under `spot`, in every choice of the table around it.
    fn choices(&self, spot: &Spot) -> Vec<(Node, &'static str)> {
        let Some(inner) = spot.key.kind.keys() else { return Vec::new() };
        let (last, around) = spot.path.split_last().unwrap();
        let outer: Vec<_> =
            if spot.table.choices.is_empty() { vec![None] } else { spot.table.choices.iter().map(Some).collect() };
        let mut made = Vec::new();
        for outer in outer {
            for choice in inner.choices {
                let mut table = build_as(spot.table, outer, &[last]);
                let wrap = |kind: &Kind, node: Node| match kind {
                    Kind::Tables(..) => Node::List(vec![node]),
                    Kind::Named(_, _, name) => Node::Table(vec![((*name).to_owned(), node)]),
                    _ => node,
                };
                table.set(&[last], Some(wrap(&spot.key.kind, build_as(inner, Some(choice), &[]))));
                let mut whole = self.document(&spot.path);
                match whole.get(around) {
                    _ if around.is_empty() => whole.set(&[last], table.get(&[last]).cloned()),
                    Some(Node::List(_)) => whole.set(around, Some(Node::List(vec![table]))),
                    _ => whole.set(around, Some(table)),
                }
                made.push((whole, inner.heading));
            }
        }
        made
    }
}

/// Documents that between them use every key and every choice, and all shipped files.
fn good_documents(judge: &Judge) -> Vec<String> {
    let mut all: Vec<String> = spots(judge.schema).iter().map(|spot| judge.document(&spot.path).document()).collect();
    for spot in spots(judge.schema) {
        all.extend(judge.choices(&spot).into_iter().map(|(whole, _)| whole.document()));
    }
    for choice in judge.schema.root.choices {
        let mut whole = build_as(judge.schema.root, Some(choice), &[]);
        whole.set(&["format"], Some(Node::Leaf(format!("\"{}\"", judge.schema.format))));
        all.push(whole.document());
    }
    all.extend(shipped_files(judge).into_iter().map(|path| std::fs::read_to_string(path).unwrap()));
    all.retain(|text| (judge.read)(text.as_bytes()).is_ok());
    all
}

fn shipped_files(judge: &Judge) -> Vec<PathBuf> {
    let directory = match judge.schema.word() {
        "scene" => "scenes",
        "device" => "devices",
        _ => "config",
    };
    let entries = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(directory)).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    assert!(!files.is_empty());
    files
}

/// Keys of shapes that no tool has: tissue cannot be held.
const NOT_HELD: [&str; 1] = ["tool.shape.taper"];

#[test]
fn the_readers_ask_for_exactly_the_keys_of_the_tables_with_the_same_bounds() {
    for judge in judges() {
        let mut asked: BTreeMap<String, Vec<Asked>> = BTreeMap::new();
        for text in good_documents(&judge) {
            for ask in observe::record(|| (judge.read)(text.as_bytes())).1 {
                let Some(path) = general_path(judge.schema, &ask.path) else { continue };
                let place = if path.is_empty() { ask.key.clone() } else { format!("{path}.{}", ask.key) };
                asked.entry(place).or_default().push(ask);
            }
        }
        asked.remove("format");
        let tables: BTreeMap<String, Spot> =
            spots(judge.schema).into_iter().map(|spot| (general_place(judge.schema, &spot), spot)).collect();
        let unlisted: Vec<&String> = asked.keys().filter(|place| !tables.contains_key(*place)).collect();
        assert!(unlisted.is_empty(), "read but not in the table of the {} schema: {unlisted:?}", judge.schema.word());
        for (place, spot) in &tables {
            if NOT_HELD.iter().any(|key| place.ends_with(key)) {
                assert!(!asked.contains_key(place), "{place}");
                continue;
            }
            let found = asked.get(place).unwrap_or_else(|| unreachable!("`{place}` is in the table but never read"));
            let (kind, limits) = as_asked(spot.key);
            assert!(found.iter().all(|ask| ask.kind == kind), "`{place}`: {kind:?}, read as {:?}", found[0].kind);
            // Where a key has no effect it is asked for without bounds.
            let bounds: BTreeSet<&[String]> =
                found.iter().map(|ask| &ask.limits[..]).filter(|l| !l.is_empty()).collect();
            let wanted: BTreeSet<&[String]> = [&limits[..]].into_iter().filter(|l| !l.is_empty()).collect();
            assert_eq!(bounds, wanted, "bounds of `{place}`: left as read, right by the table");
            let required = found.iter().any(|ask| ask.required);
            match spot.key.presence {
                Presence::Required => assert!(required, "`{place}` may be left out"),
                Presence::Default(_) | Presence::Optional(_) => assert!(!required, "`{place}` may not be left out"),
                Presence::Chosen => {}
            }
        }
        println!("{}: {} keys", judge.schema.word(), tables.len());
    }
}

#[test]
fn every_example_is_accepted_and_every_default_changes_nothing() {
    let mut tally = Tally::default();
    for judge in judges() {
        for spot in spots(judge.schema) {
            let Some(mut with) = judge.example(&spot) else {
                assert!(NOT_HELD.iter().any(|key| spot.path.join(".").ends_with(key)), "{:?}", spot.path);
                continue;
            };
            assert!(judge.ask(&with.document(), &mut tally), "{:?}\n{}", spot.path, with.document());
            if let Presence::Default(default) = spot.key.presence {
                with.set(&spot.path, Some(Node::leaf(default)));
                let mut without = with.clone();
                without.set(&spot.path, None);
                let [with, without] = [with, without].map(|node| (judge.read)(node.document().as_bytes()).unwrap());
                assert_eq!(with, without, "{:?}", spot.path);
            }
        }
        for path in shipped_files(&judge) {
            assert!(judge.ask(&std::fs::read_to_string(&path).unwrap(), &mut tally), "{}", path.display());
        }
    }
    println!("{tally:?}");
}

/// Values just outside the bounds of a number, or of a whole one.
fn outside(spot: &Spot) -> Vec<String> {
    if let Kind::Integer(least, most) = spot.key.kind {
        let above = most.checked_add(1).map(|above| above.to_string());
        return [Some((least - 1).to_string()), above].into_iter().flatten().collect();
    }
    let range = spot.key.range;
    let below = match range.least {
        Least::Unbounded => vec![],
        Least::AboveZero => vec![0.0, -1e-9],
        Least::Zero => vec![-1e-9],
        Least::At(value) => vec![value - value.abs() * 1e-9],
    };
    below.into_iter().chain(range.most.map(|most| most + most.abs() * 1e-9)).map(|value| format!("{value:?}")).collect()
}

/// Texts that are no quantity of the dimension of `spot`.
fn no_quantities(dimension: Dimension) -> Vec<String> {
    let broken = [
        "",
        "x",
        "1,5 m",
        ".5 m",
        "- 5 m",
        "1 furlong",
        "1 Nm",
        "1 Nm/rad",
        "1 N*/m",
        "1 N^x",
        "1 N/",
        "1 hz",
        "1 N)",
        "0x1 m",
    ];
    let mut texts: Vec<String> = broken.iter().map(|text| (*text).to_owned()).collect();
    for other in Dimension::ALL.iter().filter(|other| other.exponents() != dimension.exponents()) {
        texts.push(format!("1 {}", other.si_unit()).trim_end().to_owned());
        texts.push(format!("1 {}", other.si_unit().replace('*', " ").replace("^2", "²")).trim_end().to_owned());
        texts.push(format!("1e3 m{}", other.si_unit().trim_start_matches('k')));
    }
    texts.retain(|text| parse_quantity(text, dimension).is_err());
    texts
}

#[test]
fn schema_and_reader_refuse_the_same_mistakes_in_every_key() {
    let mut tally = Tally::default();
    for judge in judges() {
        for spot in spots(judge.schema) {
            let (path, key) = (&spot.path[..], spot.key);
            let good = judge.document(path);
            let mut misspelt = good.clone();
            misspelt.set(path, None);
            let name = format!("{}_x", key.name);
            let wrong: Vec<&str> = path[..path.len() - 1].iter().copied().chain([name.as_str()]).collect();
            judge.both_refuse(&misspelt, &wrong, good.get(path).cloned(), &mut tally);
            if key.presence == Presence::Required {
                judge.both_refuse(&good, path, None, &mut tally);
            }
            for value in [
                "true",
                "3",
                "3.5",
                "\"x\"",
                "\"\"",
                "[]",
                "{}",
                "[true]",
                "[{}]",
                "[1, 2]",
                "nan",
                "-inf",
                "1e-4",
                "[0, 0, 0]",
            ] {
                let mut changed = good.clone();
                changed.set(path, Some(Node::leaf(value)));
                judge.ask(&changed.document(), &mut tally);
            }
            let whole = |text: &str| match key.kind {
                Kind::Vector(_) => Node::Leaf(format!("[{text}, 1, 1]")),
                _ => Node::leaf(text),
            };
            for number in outside(&spot) {
                judge.both_refuse(&good, path, Some(whole(&number)), &mut tally);
            }
            for text in key.kind.dimension().map(no_quantities).unwrap_or_default() {
                judge.both_refuse(&good, path, Some(whole(&format!("\"{text}\""))), &mut tally);
            }
        }
    }
    println!("{tally:?}");
    assert!(tally.refused > 3000, "{tally:?}");
}

#[test]
fn words_names_and_counts_are_bounded_alike() {
    let mut tally = Tally::default();
    for judge in judges() {
        for spot in spots(judge.schema) {
            let (path, good) = (&spot.path[..], judge.document(&spot.path));
            let one = good.get(path).cloned().unwrap();
            match (spot.key.kind, one) {
                (Kind::Word(words), _) => {
                    for word in words {
                        let mut changed = good.clone();
                        changed.set(path, Some(Node::Leaf(format!("\"{word}\""))));
                        judge.ask(&changed.document(), &mut tally);
                        judge.both_refuse(&good, path, Some(Node::Leaf(format!("\"{word}x\""))), &mut tally);
                    }
                }
                (Kind::Tables(_, most), Node::List(list)) => {
                    let many = |count: usize| Some(Node::List(vec![list[0].clone(); count]));
                    let mut full = good.clone();
                    full.set(path, many(most));
                    assert!(judge.ask(&full.document(), &mut tally));
                    judge.both_refuse(&good, path, many(most + 1), &mut tally);
                }
                (Kind::Named(_, most, _), Node::Table(entries)) => {
                    let (name, table) = entries[0].clone();
                    let names = |count: usize| (1..count).map(|index| format!("name-{index}")).chain([name.clone()]);
                    let many =
                        |names: Vec<String>| Node::Table(names.into_iter().map(|name| (name, table.clone())).collect());
                    let mut full = good.clone();
                    full.set(path, Some(many(names(most).chain([]).collect())));
                    assert!(judge.ask(&full.document(), &mut tally));
                    judge.both_refuse(&good, path, Some(many(names(most + 1).collect())), &mut tally);
                    for bad in ["a b", "a.b", "", &"a".repeat(49)] {
                        judge.both_refuse(&good, path, Some(many(vec![name.clone(), bad.to_owned()])), &mut tally);
                    }
                    full.set(path, Some(many(vec![name.clone(), "größe_2".to_owned()])));
                    assert!(judge.ask(&full.document(), &mut tally));
                }
                _ => {}
            }
        }
    }
    println!("{tally:?}");
    assert!(tally.accepted > 20 && tally.refused > 40, "{tally:?}");
}

/// Does to a table built by a choice what the choice forbids.
fn break_choices(judge: &Judge, around: &[&str], table: &'static Keys, good: &Node, tally: &mut Tally) {
    for choice in table.choices {
        let full = |dotted: &str| -> Vec<String> {
            around.iter().copied().chain(dotted.split('.')).map(str::to_owned).collect()
        };
        for need in choice.needs {
            let path = full(need);
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let holds = choice.needs.iter().all(|need| {
                let path = full(need);
                good.get(&path.iter().map(String::as_str).collect::<Vec<_>>()).is_some()
            });
            if holds {
                judge.both_refuse(good, &path, None, tally);
            }
        }
    }
}

#[test]
fn each_choice_of_a_table_is_kept_by_schema_and_reader() {
    let mut tally = Tally::default();
    let mut accepted: BTreeMap<&str, usize> = BTreeMap::new();
    let mut expected: BTreeMap<&str, usize> = BTreeMap::new();
    for judge in judges() {
        for table in judge.schema.root.with_all_below().into_iter().filter(|table| table.choices.len() > 1) {
            expected.insert(table.heading, table.choices.len());
        }
        for spot in spots(judge.schema) {
            for (whole, heading) in judge.choices(&spot) {
                if !judge.ask(&whole.document(), &mut tally) {
                    continue;
                }
                *accepted.entry(heading).or_default() += 1;
                let inner = spot.key.kind.keys().unwrap();
                let mut around = spot.path.clone();
                if let Kind::Named(_, _, name) = spot.key.kind {
                    around.push(name);
                }
                break_choices(&judge, &around, inner, &whole, &mut tally);
                // Whatever else the table could have, added to what it has.
                for key in inner.keys.iter().filter(|key| key.presence == Presence::Chosen) {
                    let path: Vec<&str> = around.iter().copied().chain([key.name]).collect();
                    let mut more = judge.document(&path);
                    let added = more.get(&path).cloned();
                    more.clone_from(&whole);
                    if more.get(&path).is_none() {
                        more.set(&path, added);
                        judge.ask(&more.document(), &mut tally);
                    }
                }
            }
        }
    }
    for (heading, choices) in expected.iter().filter(|(heading, _)| !heading.starts_with("Top")) {
        assert!(accepted.get(heading) >= Some(choices), "{heading}: {choices} choices, {accepted:?}");
    }
    println!("{tally:?}, {accepted:?}");
    assert!(tally.accepted > 50 && tally.refused > 200, "{tally:?}");
}

#[test]
fn what_a_device_must_say_of_rotation_depends_on_what_it_senses_and_gives() {
    let mut tally = Tally::default();
    let [_, judge, _] = judges();
    for choice in DEVICE.root.choices {
        let mut whole = build_as(DEVICE.root, Some(choice), &[]);
        whole.set(&["format"], Some(Node::leaf("\"hapticd-device/1\"")));
        assert!(judge.ask(&whole.document(), &mut tally), "{}", whole.document());
        for need in choice.needs {
            judge.both_refuse(&whole, &need.split('.').collect::<Vec<_>>(), None, &mut tally);
        }
        let rotation = Node::leaf("{ sensed = false, actuated = true }");
        judge.both_refuse(&whole, &["capabilities", "rotation"], Some(rotation), &mut tally);
    }
    assert_eq!(tally, Tally { accepted: 3, refused: 15, beyond: 0 });
}

#[test]
fn a_shipped_file_without_any_one_of_its_lines_is_judged_alike() {
    let mut tally = Tally::default();
    for judge in judges() {
        for path in shipped_files(&judge) {
            let text = std::fs::read_to_string(path).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            for skipped in 0..lines.len() {
                let rest: Vec<&str> = [&lines[..skipped], &lines[skipped + 1..]].concat();
                let rest = rest.join("\n");
                if DeTable::parse(&rest).is_ok() {
                    judge.ask(&rest, &mut tally);
                }
            }
        }
    }
    println!("{tally:?}");
    assert!(tally.accepted > 100 && tally.refused > 50, "{tally:?}");
}

#[test]
fn every_shipped_file_names_its_schema_in_a_comment_on_its_first_line() {
    for judge in judges() {
        for path in shipped_files(&judge) {
            let text = std::fs::read_to_string(&path).unwrap();
            let named = text.lines().next().and_then(|line| line.strip_prefix("#:schema ")).unwrap_or_default();
            let expected = format!("{}.schema.json", judge.schema.word());
            assert!(named.ends_with(&expected), "{}: begin it with `#:schema ../schema/{expected}`", path.display());
            let schema = path.parent().unwrap().join(named);
            assert!(schema.is_file(), "{}", schema.display());
            let without = text.lines().skip(1).collect::<Vec<_>>().join("\n");
            let [with, without] = [text, without].map(|text| (judge.read)(text.as_bytes()).unwrap());
            assert_eq!(with, without, "the comment changes nothing");
        }
    }
}

/// The definition of each dimension that some schema uses, by its number in [`Dimension::ALL`].
fn patterns() -> Vec<(Dimension, Validator)> {
    let mut all: Vec<(Dimension, Validator)> = Vec::new();
    for judge in judges() {
        let schema: Value = serde_json::from_str(&judge.schema.json()).unwrap();
        for dimension in Dimension::ALL {
            let name = dimension.name().split_once(' ').unwrap().1.replace(' ', "_");
            if !all.iter().any(|(known, _)| *known == dimension)
                && let Some(definition) = schema["$defs"].get(name)
            {
                all.push((dimension, jsonschema::validator_for(definition).unwrap()));
            }
        }
    }
    assert!(all.len() >= 20, "{}", all.len());
    all
}

const PREFIXES: [&str; 6] = ["", "m", "k", "µ", "u", "M"];
const UNITS: [&str; 16] =
    ["m", "g", "s", "min", "rad", "deg", "°", "rpm", "Hz", "N", "J", "W", "Pa", "bar", "L", "turn"];
const SIGNS: [&str; 7] = ["*", "/", " ", "·", " / ", " * ", "×"];
const SHORT_POWERS: [&str; 5] = ["", "^2", "²", "^3", "³"];
const POWERS: [&str; 10] = ["", "^2", "²", "^-1", "⁻²", "^1", "^0", "^9", "¹", "^02"];

fn factor(powers: &'static [&'static str], odd: &'static [&'static str]) -> impl Strategy<Value = String> {
    let known =
        (prop::sample::select(&PREFIXES[..]), prop::sample::select(&UNITS[..])).prop_map(|(p, u)| format!("{p}{u}"));
    let odd = prop::sample::select(odd).prop_map(str::to_owned);
    (prop_oneof![9 => known, 1 => odd], prop::sample::select(powers)).prop_map(|(unit, power)| unit + power)
}

/// Products of up to four factors, now and then with brackets.
fn long_unit() -> impl Strategy<Value = String> {
    let one = factor(&POWERS, &["1", "%", "Nm", "furlong"]);
    let more = factor(&POWERS, &["1", "%", "Nm", "furlong"]);
    let part = (prop::sample::select(&SIGNS[..]), more, any::<bool>());
    (one, prop::collection::vec(part, 0..4)).prop_map(|(first, rest)| {
        rest.into_iter().fold(first, |text, (sign, unit, bracket)| {
            if bracket && sign.contains('/') {
                format!("{text}{sign}({unit}*m)")
            } else {
                format!("{text}{sign}{unit}")
            }
        })
    })
}

#[test]
fn the_pattern_of_a_dimension_is_exact_for_every_product_and_quotient_of_two_units() {
    let patterns = patterns();
    let (mut good, mut bad) = (0, 0);
    let texts = UNITS.iter().flat_map(|left| {
        SHORT_POWERS.iter().flat_map(move |power| {
            UNITS.iter().flat_map(move |right| {
                ["", "*", "/", " / ", " "].map(|sign| match sign {
                    "" => format!("2.5 k{left}{power}"),
                    _ => format!("-1e3{left}{power}{sign}m{right}"),
                })
            })
        })
    });
    for text in texts {
        for (dimension, pattern) in &patterns {
            let read = parse_quantity(&text, *dimension).is_ok();
            assert_eq!(pattern.is_valid(&json!(text)), read, "{text} as {}", dimension.name());
            if read { good += 1 } else { bad += 1 }
        }
    }
    println!("{good} quantities, {bad} that are none");
    assert!(good > 400 && bad > 10_000);
}

#[test]
fn whatever_the_reader_takes_for_a_quantity_fits_the_pattern() {
    let patterns = patterns();
    let numbers = prop::sample::select(&["1", "-2.5", "+3e-4", "10", "1E+5"][..]);
    let mut accepted = 0;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..4000 {
        let strategy = (numbers.clone(), prop_oneof![long_unit(), factor(&SHORT_POWERS, &["%", "1"])]);
        let (number, unit) = strategy.new_tree(&mut runner).unwrap().current();
        let text = format!("{number} {unit}");
        for (dimension, pattern) in &patterns {
            if parse_quantity(&text, *dimension).is_ok() {
                assert!(pattern.is_valid(&json!(text)), "{text} as {}", dimension.name());
                accepted += 1;
            }
        }
    }
    println!("{accepted} quantities");
    assert!(accepted > 100, "{accepted}");
}
