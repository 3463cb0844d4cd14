//! From a message to what its sender wants, or why it cannot have it. Changes nothing.
//!
//! Thread: control.

use super::access::Level;
use super::osc::{Message, Received};
use super::peer::Peer;
use super::plant::{Act, Code, Dial, Job, Plant, Range, Refused, Setting, Value};
use super::reply::{self, Takes};
use super::stream::{FASTEST_HZ, SLOWEST_HZ, Stream};
use super::table::{self, Access, Entry, Kind, Verb, Who};
use crate::shared::lifecycle::State;
use crate::shared::{MonoNs, Parameter};
use std::cell::Cell;

/// How long one message of raw force lasts, ns.
pub(super) const FORCE_NS: u64 = 100_000_000;
/// Unknown addresses of one datagram that are answered with the nearest known one.
pub(super) const HINTS: u8 = 4;
/// How long one message turns the tool, ns.
const TURN_NS: u64 = 250_000_000;

/// What a sender wants.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Wish {
    /// Something for the haptic loop, together with the others of its bundle.
    Act(Act),
    /// Work that takes time.
    Job(Job),
    /// An answer from the hub.
    Ask(Ask),
    /// Nothing: some program's reply, not to be answered.
    Nothing,
}

/// What the hub answers by itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ask {
    Version,
    Status,
    Ping(i32),
    Sync(i32),
    Notify(bool),
    Subscribe(Stream, f64),
    Confirm(i32),
    Unsubscribe(Option<Stream>),
    Scenes,
    Devices,
    Faults,
    Get(Value),
    Sample(Stream),
}

impl Ask {
    /// What the answer costs beyond the question, in messages, as far as can be told before it is made: lists of names read a directory.
    pub(super) fn cost(&self) -> usize {
        match self {
            Self::Scenes | Self::Devices | Self::Notify(true) => 32,
            Self::Faults => 8,
            _ => 0,
        }
    }
}

/// Who asks, and what they ask of.
pub(super) struct Context<'a> {
    pub(super) from: Peer,
    pub(super) role: Level,
    pub(super) raw_force: bool,
    /// Who is sending raw forces.
    pub(super) force_owner: Option<Peer>,
    pub(super) own_port: u16,
    pub(super) now: MonoNs,
    pub(super) plant: &'a dyn Plant,
    /// How many unknown addresses of this datagram may still be compared with all known ones, which takes long.
    pub(super) hints: Cell<u8>,
}

/// A message understood.
pub(super) struct Understood {
    pub(super) address: String,
    /// Where the answer goes.
    pub(super) to: Peer,
    pub(super) wish: Result<Wish, Refused>,
}

pub(super) fn refused(code: Code, text: impl Into<String>) -> Refused {
    Refused { code, text: text.into() }
}

/// What a message is about.
pub(super) fn understand(message: &Message, context: &Context<'_>) -> Understood {
    let mut understood = Understood { address: message.address.clone(), to: context.from, wish: Ok(Wish::Nothing) };
    let row = match row(&message.address, &context.hints) {
        Ok(Some(row)) => row,
        Ok(None) => return understood,
        Err(refused) => {
            // The answer may still be wanted elsewhere.
            if let Ok((_, to)) = reply::split(&message.arguments, None, context.from, context.own_port) {
                understood.to = to;
            }
            understood.wish = Err(refused);
            return understood;
        }
    };
    match reply::split(&message.arguments, Some(takes(row.0)), context.from, context.own_port) {
        Ok((arguments, to)) => {
            understood.to = to;
            understood.wish = wish(&row, arguments, context);
        }
        Err(refused) => understood.wish = Err(refused),
    }
    understood
}

/// The row of an address; none for a reply, which is not answered lest two programs answer each other for ever.
fn row(address: &str, hints: &Cell<u8>) -> Result<Option<(&'static Entry, String)>, Refused> {
    if address.contains(['?', '*', '[', ']', '{', '}']) {
        let text = "address patterns are not accepted: one could start what was not meant; write each address out";
        return Err(refused(Code::BadArguments, text));
    }
    match table::find(address) {
        Some((entry, _)) if entry.kind == Kind::Reply => Ok(None),
        Some(row) => Ok(Some(row)),
        None if is_reply(address) => Ok(None),
        None => {
            let near = hints.get().checked_sub(1).and_then(|left| {
                hints.set(left);
                table::nearest(address)
            });
            let hint = near.map_or_else(
                || "docs/osc.md and OSCQuery list them all".to_owned(),
                |near| format!("did you mean {near}?"),
            );
            Err(refused(Code::NotFound, format!("no such address; {hint}")))
        }
    }
}

/// True for what other programs use to report: `/fail` of scsynth, `/error` of session managers, and the like.
fn is_reply(address: &str) -> bool {
    let last = address.rsplit('/').next().unwrap_or_default();
    last.ends_with(".reply") || ["fail", "done", "error", "reply", "late", "pong", "synced"].contains(&last)
}

fn takes(entry: &Entry) -> Takes {
    match (entry.kind, entry.access) {
        (Kind::Command, _) => Takes { least: entry.least_arguments(), most: entry.arguments.len() },
        (Kind::Parameter, Access::ReadWrite) => Takes { least: 0, most: 1 },
        _ => Takes { least: 0, most: 0 },
    }
}

fn wish(row: &(&'static Entry, String), arguments: &[Received], context: &Context<'_>) -> Result<Wish, Refused> {
    let (entry, name) = row;
    let takes = takes(entry);
    // A panel's button sends an impulse where there is nothing to say.
    let arguments = match arguments {
        [Received::Nothing] if entry.kind == Kind::Command && takes.least == 0 => &[],
        _ => arguments,
    };
    if entry.access == Access::Sent || (entry.access == Access::Read && !arguments.is_empty()) {
        let text = "this is only told by the daemon; send it without arguments to ask, or subscribe, or notify";
        return Err(refused(Code::NotAllowed, text));
    }
    let asks = entry.kind == Kind::Parameter && arguments.is_empty();
    if entry.who == Who::Controllers && !asks && context.role != Level::Control {
        let text = "this client may only read; allow its network in the configuration, or ask from this machine";
        return Err(refused(Code::NotAllowed, text));
    }
    if !(takes.least..=takes.most).contains(&arguments.len()) {
        return Err(refused(Code::BadArguments, usage(entry, arguments.len())));
    }
    if let Some(setting) = entry.setting(name) {
        let dial = dial(&setting, context.plant)?;
        return match arguments {
            [value] => Ok(Wish::Act(Act::Set(setting, accept(value, dial, entry)?))),
            _ => Ok(Wish::Ask(Ask::Get(dial.value.clone()))),
        };
    }
    match_state(entry, context.plant)?;
    command(entry, arguments, context)
}

fn usage(entry: &Entry, count: usize) -> String {
    let words = entry.arguments.iter().map(|argument| {
        let unit = if argument.unit.is_empty() { String::new() } else { format!(" in {}", argument.unit) };
        let word = format!("{}:{}{unit}", argument.tag(), argument.name);
        if argument.optional { format!("[{word}]") } else { word }
    });
    let words = words.collect::<Vec<_>>().join(", ");
    format!("{count} arguments; it takes {}", if words.is_empty() { "none" } else { &words })
}

/// Jobs and forces are for some states only. State events are judged by the loop, at the tick it takes them.
fn match_state(entry: &Entry, plant: &dyn Plant) -> Result<(), Refused> {
    if matches!(entry.verb, Verb::Event(_)) || entry.states.len() == table::ANY_STATE.len() {
        return Ok(());
    }
    let state = plant.status().state;
    if entry.states.contains(&state) {
        return Ok(());
    }
    let wanted: Vec<_> = entry.states.iter().map(|state| state.name()).collect();
    let hint = match state {
        State::Fault => "send /hapticd/fault/ack and wait for its done",
        _ if entry.states.contains(&State::Disabled) => "send /hapticd/disable and wait for its done",
        _ => "send /hapticd/enable and wait for its done",
    };
    Err(refused(Code::WrongState, format!("in {}, and only in {}; {hint}", state.name(), wanted.join(" or "))))
}

fn dial<'a>(setting: &Setting, plant: &'a dyn Plant) -> Result<&'a Dial, Refused> {
    let dials = plant.dials();
    dials.iter().find(|dial| dial.setting == *setting).ok_or_else(|| {
        let text = match setting {
            Setting::Friction(name) | Setting::Restitution(name) => {
                let known = dials.iter().filter_map(|dial| match &dial.setting {
                    Setting::Friction(name) => Some(name.as_str()),
                    _ => None,
                });
                let known = known.take(32).collect::<Vec<_>>().join(", ");
                format!("the scene has no material `{}`; it has: {known}", name.chars().take(64).collect::<String>())
            }
            Setting::Loop(_) => "this coupling or device has no such parameter".to_owned(),
            Setting::ReplayPlays | Setting::ReplaySpeed | Setting::ReplayPlace => {
                "no recording is played; `hapticd replay FILE --viewer` plays one".to_owned()
            }
            _ => "there is no simulated operator with this device".to_owned(),
        };
        refused(Code::NotFound, text)
    })
}

/// The value when the dial may be set to it. Never clipped: whoever asks for too much should know.
fn accept(given: &Received, dial: &Dial, entry: &Entry) -> Result<Value, Refused> {
    match &dial.range {
        Range::Numbers { least, most } => {
            let number = given.number()?;
            let unit = entry.unit();
            let space = if unit.is_empty() { "" } else { " " };
            in_range(given, number, *least, *most).map(Value::Float).ok_or_else(|| {
                let text = format!(
                    "{number}{space}{unit} is out of range; {least} to {most}{space}{unit} with this scene and device"
                );
                refused(Code::OutOfRange, text)
            })
        }
        Range::Words(words) => {
            let word = given.text()?;
            if words.contains(&word) {
                return Ok(Value::Text(word.to_owned()));
            }
            let word: String = word.chars().take(64).collect();
            Err(refused(Code::OutOfRange, format!("`{word}` is none of: {}", words.join(", "))))
        }
        Range::Count => match given.whole()? {
            number if number >= 0 => Ok(Value::Int(number)),
            number => Err(refused(Code::OutOfRange, format!("{number} is out of range; 0 to {}", i32::MAX))),
        },
        Range::Switch => given.switch().map(Value::Bool),
    }
}

/// The number within its bounds. A bound in single precision may lie a rounding outside; it is taken for the bound
/// itself.
fn in_range(given: &Received, number: f64, least: f64, most: f64) -> Option<f64> {
    if (least..=most).contains(&number) {
        return Some(number);
    }
    let Received::Single(single) = given else { return None };
    [least, most].into_iter().find(|bound| *bound as f32 == *single)
}

fn command(entry: &Entry, arguments: &[Received], context: &Context<'_>) -> Result<Wish, Refused> {
    let text = || arguments.first().map_or(Ok(""), Received::text).map(str::to_owned);
    let number = || arguments.first().map(Received::whole).transpose();
    let status = || context.plant.status();
    let wish = match entry.verb {
        Verb::Version => Wish::Ask(Ask::Version),
        Verb::Status => Wish::Ask(Ask::Status),
        Verb::Ping => Wish::Ask(Ask::Ping(number()?.unwrap_or(0))),
        Verb::Sync => Wish::Ask(Ask::Sync(number()?.unwrap_or(0))),
        Verb::Notify => Wish::Ask(Ask::Notify(arguments.first().map_or(Ok(true), Received::switch)?)),
        Verb::Subscribe => Wish::Ask(subscribe(arguments)?),
        Verb::Confirm => Wish::Ask(Ask::Confirm(number()?.unwrap_or(0))),
        Verb::Unsubscribe => {
            Wish::Ask(Ask::Unsubscribe(arguments.first().map(|name| stream(name.text()?)).transpose()?))
        }
        Verb::SceneList => Wish::Ask(Ask::Scenes),
        Verb::DeviceList => Wish::Ask(Ask::Devices),
        Verb::FaultList => Wish::Ask(Ask::Faults),
        Verb::State => Wish::Ask(Ask::Get(Value::Text(status().state.name().to_owned()))),
        Verb::SceneName => Wish::Ask(Ask::Get(Value::Text(status().scene))),
        Verb::DeviceName => Wish::Ask(Ask::Get(Value::Text(status().device))),
        Verb::DeviceState => Wish::Ask(Ask::Get(Value::Text(status().device_state))),
        Verb::Stream(stream) => Wish::Ask(Ask::Sample(stream)),
        Verb::SceneLoad => Wish::Job(Job::LoadScene(text()?)),
        Verb::SceneReload => Wish::Job(Job::ReloadScene),
        Verb::SceneCancel => Wish::Job(Job::CancelLoad),
        Verb::DeviceOpen => Wish::Job(Job::OpenDevice(text()?)),
        Verb::DeviceHome => Wish::Job(Job::Home),
        Verb::FaultAck => Wish::Job(Job::Acknowledge(number()?.map(fault_id).transpose()?)),
        Verb::RecordStart if arguments.is_empty() => Wish::Job(Job::RecordStart(None)),
        Verb::RecordStart => Wish::Job(Job::RecordStart(Some(text()?))),
        Verb::RecordStop => Wish::Job(Job::RecordStop),
        Verb::RecordMark => Wish::Job(Job::RecordMark(text()?)),
        Verb::Event(event) => Wish::Act(Act::Event(event)),
        Verb::Force => Wish::Act(force(arguments, context)?),
        Verb::Turn => Wish::Act(turn(arguments, context)?),
        // Carried out before anything is understood; settings and what is only sent do not come here.
        Verb::Halt
        | Verb::Sent
        | Verb::Loop(_)
        | Verb::Friction
        | Verb::Restitution
        | Verb::OperatorWorks
        | Verb::OperatorSkill
        | Verb::OperatorSeed
        | Verb::ReplayPlays
        | Verb::ReplaySpeed
        | Verb::ReplayPlace => Wish::Nothing,
    };
    Ok(wish)
}

fn fault_id(number: i32) -> Result<u32, Refused> {
    u32::try_from(number).map_err(|_| refused(Code::OutOfRange, format!("{number}: faults are numbered from 0")))
}

fn stream(name: &str) -> Result<Stream, Refused> {
    Stream::from_name(name).ok_or_else(|| {
        let known = Stream::ALL.map(Stream::name).join(", ");
        let name: String = name.chars().take(64).collect();
        refused(Code::NotFound, format!("no stream `{name}`; there are: {known}"))
    })
}

fn subscribe(arguments: &[Received]) -> Result<Ask, Refused> {
    let [name, rate] = arguments else { return Err(refused(Code::BadArguments, "a stream and a rate are wanted")) };
    let (stream, rate_hz) = (stream(name.text()?)?, rate.number()?);
    let rate_hz = in_range(rate, rate_hz, SLOWEST_HZ, FASTEST_HZ).ok_or_else(|| {
        let text =
            format!("{rate_hz} Hz is out of range; {SLOWEST_HZ} to {FASTEST_HZ} Hz (to end it: /hapticd/unsubscribe)");
        refused(Code::OutOfRange, text)
    })?;
    Ok(Ask::Subscribe(stream, rate_hz))
}

fn force(arguments: &[Received], context: &Context<'_>) -> Result<Act, Refused> {
    if !context.raw_force {
        let text = "raw forces are not allowed by the configuration; change the coupling or the scene instead";
        return Err(refused(Code::NotAllowed, text));
    }
    if context.force_owner.is_some_and(|owner| owner != context.from) {
        let text = "another client sends forces; it gives them up 100 ms after its last message";
        return Err(refused(Code::Busy, text));
    }
    let mut numbers = [0.0; 6];
    if arguments.len() != 3 && arguments.len() != 6 {
        return Err(refused(Code::BadArguments, "three numbers (force) or six (force and torque) are wanted"));
    }
    for (number, argument) in numbers.iter_mut().zip(arguments) {
        *number = argument.number()?;
    }
    let [x, y, z, about_x, about_y, about_z] = numbers;
    let size = (x * x + y * y + z * z).sqrt();
    let limit = context.plant.dials().iter().find(|dial| dial.setting == Setting::Loop(Parameter::MaxForce));
    if let Some(Dial { value: Value::Float(most), .. }) = limit
        && !(size <= *most)
    {
        return Err(refused(
            Code::OutOfRange,
            format!("{size:.3} N is out of range; at most {most} N (safety/max_force)"),
        ));
    }
    let until = context.now.plus(FORCE_NS);
    Ok(Act::Force { force: [x, y, z], torque: [about_x, about_y, about_z], until })
}

fn turn(arguments: &[Received], context: &Context<'_>) -> Result<Act, Refused> {
    let rate = arguments.first().map_or(Ok(0.0), Received::number)?;
    if !rate.is_finite() {
        return Err(refused(Code::BadArguments, "a rate in rad/s is wanted"));
    }
    Ok(Act::Turn { rate, until: context.now.plus(TURN_NS) })
}
