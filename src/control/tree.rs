//! The table of addresses and the dials of the moment as nodes for OSCQuery.
//!
//! Thread: control.

use super::plant::{Dial, Plant, Setting, Value};
use super::query::{Argument, Node, Use};
use super::table::{self, Access, ENTRIES, Entry, Kind, Type, Verb};

/// Every address that clients can send to or ask for, with the values and ranges that hold now. Parameters that the scene or
/// the device lacks are left out.
#[must_use]
pub fn nodes(plant: &dyn Plant) -> Vec<Node> {
    let sent = |entry: &&Entry| matches!(entry.access, Access::Sent);
    let fixed = ENTRIES.iter().filter(|entry| !sent(entry) && !is_dial(entry)).map(|entry| fixed(entry, plant));
    fixed.chain(plant.dials().iter().filter_map(dial)).collect()
}

fn is_dial(entry: &Entry) -> bool {
    entry.setting("").is_some()
}

fn fixed(entry: &Entry, plant: &dyn Plant) -> Node {
    let status = plant.status();
    let value = match entry.verb {
        Verb::State => Some(Value::Text(status.state.name().into())),
        Verb::SceneName => Some(Value::Text(status.scene)),
        Verb::DeviceName => Some(Value::Text(status.device)),
        Verb::DeviceState => Some(Value::Text(status.device_state)),
        _ => None,
    };
    node(entry, entry.path.to_owned(), value, None)
}

fn dial(dial: &Dial) -> Option<Node> {
    let entry = table::of_setting(&dial.setting)?;
    let name = match &dial.setting {
        Setting::Friction(name) | Setting::Restitution(name) => name,
        _ => "",
    };
    Some(node(entry, entry.address(name), Some(dial.value.clone()), Some(dial)))
}

fn node(entry: &Entry, path: String, value: Option<Value>, dial: Option<&Dial>) -> Node {
    let argument = |argument: &table::Argument| Argument {
        tag: if argument.kind == Type::Switch { 'T' } else { argument.tag() },
        value: value.clone(),
        range: dial.map(|dial| dial.range.clone()),
        unit: (!argument.unit.is_empty()).then_some(argument.unit),
    };
    Node {
        path,
        description: entry.about.to_owned(),
        access: match entry.access {
            Access::Read | Access::Sent => Use::Read,
            Access::Write => Use::Write,
            Access::ReadWrite => Use::ReadWrite,
        },
        arguments: entry.arguments.iter().map(argument).collect(),
        critical: entry.kind == Kind::Command,
        tags: vec![match entry.kind {
            Kind::Command => "command",
            Kind::Parameter => "parameter",
            Kind::Stream => "stream",
            Kind::Event | Kind::Reply => "event",
        }],
    }
}
