//! OSCQuery: the address space as a JSON tree that other programs can browse, with types, ranges and units.
//!
//! Thread: control.
//!
//! A flat list of [`Node`]s goes in; the answer to one request comes out. Two habits of clients shape the tree: one refuses
//! containers without `ACCESS` 0, and anything else without a `VALUE`. So what cannot be read has a `VALUE` of nulls, one
//! for each argument, and a command without arguments is an impulse, type `I`, which panels draw as a button.

use super::plant::{Range, Value};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// What a client may do with a node, as OSCQuery numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// The value can be asked for.
    Read = 1,
    /// It takes arguments, or is a command.
    Write = 2,
    /// Both.
    ReadWrite = 3,
}

/// One argument of a [`Node`].
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// OSC type tag: `i`, `f`, `s`, `T` for yes or no, …
    pub tag: char,
    /// What it is now, where that can be told.
    pub value: Option<Value>,
    /// What it may be.
    pub range: Option<Range>,
    /// Unit, such as `N/m`.
    pub unit: Option<&'static str>,
}

/// One OSC address as clients see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Address, such as `/hapticd/coupling/stiffness`.
    pub path: String,
    /// What it is, in a sentence.
    pub description: String,
    /// What can be done with it.
    pub access: Use,
    /// Its arguments; none for a plain command.
    pub arguments: Vec<Argument>,
    /// Messages to it must not be lost: send them again until they are answered.
    pub critical: bool,
    /// Words to sort it by.
    pub tags: Vec<&'static str>,
}

/// An attribute that can be asked for alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attribute(&'static str);

impl Attribute {
    /// The names known.
    pub const NAMES: [&'static str; 11] = [
        "FULL_PATH",
        "CONTENTS",
        "TYPE",
        "ACCESS",
        "VALUE",
        "RANGE",
        "CLIPMODE",
        "UNIT",
        "DESCRIPTION",
        "CRITICAL",
        "TAGS",
    ];

    /// The attribute of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|known| **known == name).map(|known| Self(known))
    }
}

/// What the tree says to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Here it is.
    Found(Json),
    /// The node is there and has no such attribute.
    Lacking,
    /// There is no such node; the nearest address, if one is near.
    Unknown(Option<String>),
}

/// Where OSC itself is spoken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Name for people.
    pub name: String,
    /// Where the OSC socket is bound.
    pub osc: SocketAddr,
}

/// The answer to `HOST_INFO`. An OSC socket bound to every address has none of its own to tell; a client then takes the
/// one it used to ask.
#[must_use]
pub fn host_info(host: &Host) -> Json {
    let extensions = ["ACCESS", "VALUE", "RANGE", "CLIPMODE", "UNIT", "DESCRIPTION", "CRITICAL", "TAGS"];
    let extensions: Map<String, Json> = extensions.iter().map(|name| ((*name).to_owned(), true.into())).collect();
    let mut info = json!({
        "NAME": host.name,
        "OSC_PORT": host.osc.port(),
        "OSC_TRANSPORT": "UDP",
        "EXTENSIONS": extensions,
    });
    if !host.osc.ip().is_unspecified() {
        info["OSC_IP"] = host.osc.ip().to_string().into();
    }
    info
}

/// The node at `path` with all below it, or one attribute of it. A name in an address may hold percent signs of its own;
/// it is found both as it stands and as what they mean, since clients differ in whether they encode it once more.
#[must_use]
pub fn answer(nodes: &[Node], path: &str, attribute: Option<Attribute>) -> Reply {
    let mut root = Branch::default();
    for node in nodes {
        root.insert(node);
    }
    let (mut branch, mut address) = (&root, String::new());
    for part in parts(path.trim_end_matches('/')) {
        match branch.child(part) {
            Some((name, child)) => {
                branch = child;
                address.push('/');
                address.push_str(name);
            }
            None => return Reply::Unknown(nearest(nodes, path)),
        }
    }
    match attribute {
        None => Reply::Found(branch.json(&address)),
        // Nulls stand in the tree for what nobody can read; asked for alone they are no answer.
        Some(Attribute("VALUE")) if !branch.node.is_some_and(readable) => Reply::Lacking,
        Some(Attribute(name)) => match branch.json(&address).get_mut(name) {
            Some(value) => Reply::Found(json!({ name: value.take() })),
            None => Reply::Lacking,
        },
    }
}

/// A value is known of at least one argument.
fn readable(node: &Node) -> bool {
    node.access != Use::Write && node.arguments.iter().any(|argument| argument.value.is_some())
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').skip(1)
}

/// The text with `%2f` and the like turned back into what they stand for.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            let hex = |digit: &u8| char::from(*digit).to_digit(16);
            bytes.push(u8::try_from(hex(&digits[0])? * 16 + hex(&digits[1])?).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

/// The address most like `path`, if it is like enough to be meant.
fn nearest(nodes: &[Node], path: &str) -> Option<String> {
    // Longer than any address: not worth the comparison, whose cost grows with the product of lengths.
    const LONGEST: usize = 256;
    const ALIKE: f64 = 0.8;
    if path.len() > LONGEST {
        return None;
    }
    let scored = nodes.iter().map(|node| (strsim::normalized_damerau_levenshtein(path, &node.path), &node.path));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= ALIKE).then(|| best.1.clone())
}

/// A place in the tree.
#[derive(Default)]
struct Branch<'a> {
    node: Option<&'a Node>,
    children: BTreeMap<&'a str, Branch<'a>>,
}

impl<'a> Branch<'a> {
    fn insert(&mut self, node: &'a Node) {
        parts(&node.path).fold(self, |branch, part| branch.children.entry(part).or_default()).node = Some(node);
    }

    /// The child called `part`, with the name it has in addresses.
    fn child(&self, part: &str) -> Option<(&'a str, &Self)> {
        let meant = |name: &str| name.contains('%') && decode(name).as_deref() == Some(part);
        let mut children = self.children.iter().map(|(name, child)| (*name, child));
        match self.children.get_key_value(part) {
            Some((name, child)) => Some((*name, child)),
            None => children.find(|(name, _)| meant(name)),
        }
    }

    fn json(&self, path: &str) -> Json {
        let mut object = self.node.map_or_else(Map::new, attributes);
        object.insert("FULL_PATH".to_owned(), if path.is_empty() { "/" } else { path }.into());
        object.entry("ACCESS").or_insert(0.into());
        if !self.children.is_empty() || self.node.is_none() {
            let contents = self.children.iter().map(|(name, child)| {
                let below = format!("{path}/{name}");
                ((*name).to_owned(), child.json(&below))
            });
            object.insert("CONTENTS".to_owned(), Json::Object(contents.collect()));
        }
        Json::Object(object)
    }
}

fn attributes(node: &Node) -> Map<String, Json> {
    let each = |f: &dyn Fn(&Argument) -> Json| Json::Array(node.arguments.iter().map(f).collect());
    let mut object = Map::new();
    let mut put = |name: &str, value: Json| object.insert(name.to_owned(), value);
    put("ACCESS", (node.access as u8).into());
    put("DESCRIPTION", node.description.clone().into());
    put("CRITICAL", node.critical.into());
    if !node.tags.is_empty() {
        put("TAGS", json!(node.tags));
    }
    if node.arguments.is_empty() {
        put("TYPE", "I".into());
        put("VALUE", json!([null]));
        return object;
    }
    put("TYPE", node.arguments.iter().map(|argument| argument.tag).collect::<String>().into());
    let shown =
        |argument: &Argument| argument.value.as_ref().filter(|_| node.access != Use::Write).map_or(Json::Null, value);
    put("VALUE", each(&shown));
    if node.arguments.iter().any(|argument| argument.range.is_some()) {
        put("RANGE", each(&|argument| argument.range.as_ref().map_or(Json::Null, range)));
        // What is out of range is refused, never bent into it.
        put("CLIPMODE", each(&|_| "none".into()));
    }
    if node.arguments.iter().any(|argument| argument.unit.is_some()) {
        put("UNIT", each(&|argument| argument.unit.map_or(Json::Null, Json::from)));
    }
    object
}

/// JSON has no word for what is not finite; null says that there is no number.
fn value(value: &Value) -> Json {
    match value {
        Value::Int(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Text(text) => text.clone().into(),
        Value::Bool(yes) => (*yes).into(),
    }
}

fn range(range: &Range) -> Json {
    match range {
        Range::Numbers { least, most } => json!({ "MIN": least, "MAX": most }),
        Range::Words(words) => json!({ "VALS": words }),
        Range::Count => json!({ "MIN": 0 }),
        Range::Switch => json!({ "VALS": [false, true] }),
    }
}
