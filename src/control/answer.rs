//! Answers the hub can give by itself: values, lists, the whole state.
//!
//! Thread: control.

use super::osc::{Sent, encode};
use super::plant::{FaultEntry, Plant, Priority, Refused, Setting, Value};
use super::stream::{self, Stream};
use super::table;
use crate::shared::MonoNs;

/// Counts incompatible changes of the table.
pub(super) const TABLE_VERSION: i32 = 1;
/// Most lines of a list that are sent.
const LONGEST_LIST: usize = 256;

impl From<&Value> for Sent {
    fn from(value: &Value) -> Self {
        match value {
            Value::Int(number) => Self::Int(*number),
            Value::Float(number) => (*number).into(),
            Value::Text(text) => text.as_str().into(),
            Value::Bool(yes) => (*yes).into(),
        }
    }
}

/// `done`, with what there is to say beyond the address.
pub(super) fn done(address: &str, more: &[Sent]) -> Vec<u8> {
    let mut arguments = vec![Sent::from(address)];
    arguments.extend_from_slice(more);
    encode("/hapticd/done", &arguments)
}

/// `fail`.
pub(super) fn fail(address: &str, refused: &Refused) -> Vec<u8> {
    // An address is the sender's own words and can be long; the reason is what matters.
    let address: String = address.chars().take(200).collect();
    encode("/hapticd/fail", &[address.as_str().into(), Sent::Int(refused.code as i32), refused.text.as_str().into()])
}

/// A value at an address.
pub(super) fn value(address: &str, value: &Value) -> Vec<u8> {
    encode(address, &[value.into()])
}

/// A setting at its address.
pub(super) fn setting(setting: &Setting, new: &Value) -> Vec<u8> {
    value(&table::address_of(setting), new)
}

/// The number that a receiver is to send back.
pub(super) fn number(number: i32) -> Vec<u8> {
    encode("/hapticd/lease/number", &[number.into()])
}

pub(super) fn version() -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION");
    encode("/hapticd/version.reply", &["hapticd".into(), version.into(), TABLE_VERSION.into()])
}

pub(super) fn pong(number: i32, now: MonoNs) -> Vec<u8> {
    let [seconds, nanoseconds] = stream::time(now);
    encode("/hapticd/pong", &[number.into(), env!("CARGO_PKG_VERSION").into(), seconds, nanoseconds])
}

pub(super) fn status(plant: &dyn Plant) -> Vec<u8> {
    let status = plant.status();
    let fields = [
        status.state.name().into(),
        status.scene.as_str().into(),
        status.device.as_str().into(),
        status.nominal_hz.into(),
        status.actual_hz.into(),
        status.lateness_us.into(),
        Sent::count(status.overruns),
        Sent::count(status.active_faults.into()),
        status.homed.into(),
        status.busy.into(),
        status.realtime.into(),
        status.simulation_hz.into(),
        status.uptime_s.into(),
        status.recording.as_deref().unwrap_or_default().into(),
    ];
    encode("/hapticd/status.reply", &fields)
}

/// One sample, outside any stream.
pub(super) fn sample(stream: Stream, now: MonoNs, plant: &dyn Plant) -> Option<Vec<u8>> {
    let entry = table::of_stream(stream)?;
    Some(encode(entry.path, &stream.sample(0, now, plant)?))
}

/// Names one by one at `address` with `.reply`, and their number with `.end`.
pub(super) fn names(address: &str, names: &[String]) -> Vec<Vec<u8>> {
    let lines = names.iter().map(|name| vec![Sent::from(name.as_str())]);
    list(address, lines.collect())
}

/// Every fault, and their number.
pub(super) fn faults(plant: &dyn Plant) -> Vec<Vec<u8>> {
    list("/hapticd/fault/list", plant.faults().iter().map(fault).collect())
}

fn list(address: &str, mut lines: Vec<Vec<Sent>>) -> Vec<Vec<u8>> {
    let count = lines.len();
    lines.truncate(LONGEST_LIST);
    let mut out: Vec<_> = lines.iter().map(|line| encode(&format!("{address}.reply"), line)).collect();
    out.push(encode(&format!("{address}.end"), &[Sent::count(count as u64)]));
    out
}

/// A fault as event.
pub(super) fn fault_event(entry: &FaultEntry) -> Vec<u8> {
    encode("/hapticd/event/fault", &fault(entry))
}

fn fault(entry: &FaultEntry) -> Vec<Sent> {
    let priority = match entry.priority {
        Priority::High => "high",
        Priority::Medium => "medium",
        Priority::Low => "low",
    };
    vec![
        Sent::count(entry.id.into()),
        entry.code.into(),
        entry.name.into(),
        priority.into(),
        entry.latched.into(),
        entry.acknowledged.into(),
        entry.at.seconds().into(),
        entry.cause.as_str().into(),
        entry.remedy.into(),
        entry.data.as_deref().unwrap_or_default().into(),
    ]
}

/// Scene, device and every parameter.
pub(super) fn dials(plant: &dyn Plant) -> Vec<Vec<u8>> {
    let status = plant.status();
    let mut out = vec![
        encode("/hapticd/scene/name", &[status.scene.as_str().into()]),
        encode("/hapticd/device/name", &[status.device.as_str().into()]),
    ];
    out.extend(plant.dials().iter().map(|dial| setting(&dial.setting, &dial.value)));
    out
}

/// Everything a panel needs to begin: state, scene, device, every parameter, faults that wait.
pub(super) fn everything(plant: &dyn Plant) -> Vec<Vec<u8>> {
    let mut out = vec![encode("/hapticd/state", &[plant.status().state.name().into()])];
    out.extend(dials(plant));
    out.extend(plant.faults().iter().filter(|fault| !fault.acknowledged).map(fault_event));
    out
}
