//! Every OSC address there is: the one table behind the dispatcher, the OSCQuery tree and docs/osc.md.
//!
//! Thread: control.
//!
//! What a row can say, and how rows are found. The rows themselves are in `rows.rs`.

use super::page;
use super::plant::Setting;
use super::stream::Stream;
use crate::shared::Parameter;
use crate::shared::lifecycle::{Event, State};
use std::fmt::Write;

pub use super::rows::ENTRIES;

/// What an address is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Something to be done, or asked.
    Command,
    /// A value; sent without an argument it is asked for.
    Parameter,
    /// Sent at a rate to those who subscribed.
    Stream,
    /// Sent when it happens to those who asked by `/hapticd/notify`.
    Event,
    /// Sent to whoever asked.
    Reply,
}

/// Which way a value may go, as OSCQuery counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Only ever sent by the daemon, when it has reason to.
    Sent = 0,
    /// Can be asked for.
    Read = 1,
    /// Can be sent to the daemon.
    Write = 2,
    /// Both.
    ReadWrite = 3,
}

/// Who may use an address. Asking for a value is open to everyone who may talk to the daemon at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    /// Every client, those that may only read included.
    Anyone,
    /// Clients that may change things.
    Controllers,
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// A text.
    Text,
    /// Yes or no.
    Switch,
    /// Bytes: little-endian single-precision numbers one after the other.
    Blob,
}

/// One argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name, for people.
    pub name: &'static str,
    /// What it is.
    pub kind: Type,
    /// SI unit, or empty.
    pub unit: &'static str,
    /// It may be left out, and all after it.
    pub optional: bool,
}

/// What the hub does with a message to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Tells the version.
    Version,
    /// Tells the status.
    Status,
    /// Answers at once.
    Ping,
    /// Answers when everything asked before is done.
    Sync,
    /// Begins or ends events.
    Notify,
    /// Begins a stream.
    Subscribe,
    /// Confirms that a receiver wants what it is about to be sent.
    Confirm,
    /// Ends streams.
    Unsubscribe,
    /// Lists scenes.
    SceneList,
    /// Loads a scene.
    SceneLoad,
    /// Loads the scene again.
    SceneReload,
    /// Gives up the load under way.
    SceneCancel,
    /// Lists devices.
    DeviceList,
    /// Opens a device.
    DeviceOpen,
    /// Homes the device.
    DeviceHome,
    /// Something for the operating state.
    Event(Event),
    /// Zero force now.
    Halt,
    /// Lists faults.
    FaultList,
    /// Acknowledges a fault.
    FaultAck,
    /// Begins a recording.
    RecordStart,
    /// Ends it.
    RecordStop,
    /// Marks it.
    RecordMark,
    /// A force from outside.
    Force,
    /// Turns the tool.
    Turn,
    /// Operating state.
    State,
    /// Name of the scene.
    SceneName,
    /// Name of the device.
    DeviceName,
    /// How it stands.
    DeviceState,
    /// A number of the haptic loop.
    Loop(Parameter),
    /// Friction of a material.
    Friction,
    /// Restitution of a material.
    Restitution,
    /// The simulated operator works.
    OperatorWorks,
    /// Its skill.
    OperatorSkill,
    /// Its seed.
    OperatorSeed,
    /// A recording plays.
    ReplayPlays,
    /// How fast.
    ReplaySpeed,
    /// Where it is.
    ReplayPlace,
    /// A stream.
    Stream(Stream),
    /// Nothing: the daemon sends this.
    Sent,
}

/// One address.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The address; a segment `NAME` stands for any name, percent-encoded where it has more than letters, digits, `_`,
    /// `-`, `.`.
    pub path: &'static str,
    /// What it is for.
    pub kind: Kind,
    /// Which way it goes.
    pub access: Access,
    /// Who may send it with an effect.
    pub who: Who,
    /// Operating states in which it has an effect.
    pub states: &'static [State],
    /// A command's arguments, a parameter's value, or what is carried by what is sent.
    pub arguments: &'static [Argument],
    /// What a command is answered with.
    pub answer: &'static str,
    /// What it does or means.
    pub about: &'static str,
    /// For the dispatcher.
    pub verb: Verb,
}

/// Every operating state.
pub const ANY_STATE: &[State] = &[State::Disabled, State::Enabled, State::Paused, State::Fault];

impl Argument {
    pub(super) const fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    /// The OSC type it is sent as: `i`, `f`, `s` or `b`.
    #[must_use]
    pub const fn tag(&self) -> char {
        match self.kind {
            Type::Int | Type::Switch => 'i',
            Type::Float => 'f',
            Type::Text => 's',
            Type::Blob => 'b',
        }
    }
}

impl Entry {
    pub(super) const fn answers(self, answer: &'static str) -> Self {
        Self { answer, ..self }
    }

    pub(super) const fn controllers(self) -> Self {
        Self { who: Who::Controllers, ..self }
    }

    pub(super) const fn only_in(self, states: &'static [State]) -> Self {
        Self { states, ..self }
    }

    /// Fewest arguments of a command, or of a value that is set.
    #[must_use]
    pub fn least_arguments(&self) -> usize {
        self.arguments.iter().filter(|argument| !argument.optional).count()
    }

    /// The types of its arguments as they are sent by the daemon.
    #[must_use]
    pub fn type_tags(&self) -> String {
        self.arguments.iter().map(Argument::tag).collect()
    }

    /// Unit of its only argument, or empty.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        if let [only] = self.arguments { only.unit } else { "" }
    }

    /// The setting behind a parameter; `name` fills the segment `NAME`.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<Setting> {
        match self.verb {
            Verb::Loop(parameter) => Some(Setting::Loop(parameter)),
            Verb::Friction => Some(Setting::Friction(name.to_owned())),
            Verb::Restitution => Some(Setting::Restitution(name.to_owned())),
            Verb::OperatorWorks => Some(Setting::OperatorWorks),
            Verb::OperatorSkill => Some(Setting::OperatorSkill),
            Verb::OperatorSeed => Some(Setting::OperatorSeed),
            Verb::ReplayPlays => Some(Setting::ReplayPlays),
            Verb::ReplaySpeed => Some(Setting::ReplaySpeed),
            Verb::ReplayPlace => Some(Setting::ReplayPlace),
            _ => None,
        }
    }

    /// The address with `name` for the segment `NAME`.
    #[must_use]
    pub fn address(&self, name: &str) -> String {
        self.path.replace("NAME", &encode_name(name))
    }

    /// The name in place of `NAME` when `address` is this one; empty for an address without a name.
    fn matches(&self, address: &str) -> Option<String> {
        if !self.path.contains("NAME") {
            return (self.path == address).then(String::new);
        }
        let (before, after) = self.path.split_once("NAME")?;
        let name = address.strip_prefix(before)?.strip_suffix(after)?;
        (!name.is_empty() && !name.contains('/')).then(|| decode_name(name)).flatten()
    }
}

/// The row of an address, with the name it holds in place of `NAME` (else empty).
#[must_use]
pub fn find(address: &str) -> Option<(&'static Entry, String)> {
    ENTRIES.iter().find_map(|entry| entry.matches(address).map(|name| (entry, name)))
}

/// The row of a setting.
#[must_use]
pub fn of_setting(setting: &Setting) -> Option<&'static Entry> {
    let name = name_of(setting);
    ENTRIES.iter().find(|entry| entry.setting(name).as_ref() == Some(setting))
}

/// The address of a setting.
#[must_use]
pub fn address_of(setting: &Setting) -> String {
    of_setting(setting).map(|entry| entry.address(name_of(setting))).unwrap_or_default()
}

/// The row of a stream.
#[must_use]
pub fn of_stream(stream: Stream) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.verb == Verb::Stream(stream))
}

fn name_of(setting: &Setting) -> &str {
    match setting {
        Setting::Friction(name) | Setting::Restitution(name) => name,
        _ => "",
    }
}

/// A name as it stands in an address: what may have a meaning there is percent-encoded.
fn encode_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"_-.".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn decode_name(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let high = char::from(bytes.next()?).to_digit(16)?;
            let low = char::from(bytes.next()?).to_digit(16)?;
            out.push(u8::try_from(16 * high + low).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

/// The known address nearest to one that is not known, if any is near.
#[must_use]
pub fn nearest(address: &str) -> Option<&'static str> {
    const FAR: usize = 4;
    if address.len() > 100 {
        return None;
    }
    let with_prefix = format!("/hapticd{address}");
    if let Some((entry, _)) = find(&with_prefix) {
        return Some(entry.path);
    }
    let lower = address.to_ascii_lowercase();
    // Comparing is costly; an address much longer or shorter cannot be near.
    let close = ENTRIES.iter().filter(|entry| entry.path.len().abs_diff(lower.len()) < FAR);
    let near = close.map(|entry| (strsim::damerau_levenshtein(entry.path, &lower), entry.path)).min()?;
    (near.0 < FAR).then_some(near.1)
}

/// The page of reference, docs/osc.md.
#[must_use]
pub fn markdown() -> String {
    page::markdown()
}
