//! Recordings read back: ticks bit for bit, also from a file that was cut short.
//!
//! Thread: any but haptic.
//!
//! Reads from beginning to end and keeps one chunk in memory, so that a file may be of any size. A file that ends early, as
//! after a kill or a power cut, gives everything up to there; [`Reader::cut_short`] then says so.

use super::fields;
use super::records::{Next, Records};
use super::sink::{ATTACHMENTS, METADATA, take_facts};
use super::{Provenance, cloud, json, order, tick};
use crate::haptic::{TickRecord, Touches};
use crate::math::Pose;
use crate::shared::{MonoNs, Order, StepInput};
use mcap::records::op;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

/// Something in a recording.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A tick.
    Tick(Box<TickRecord>),
    /// An event: the tick it came after, and its JSON object.
    Event(u64, Value),
    /// A mark: the tick it came after, and its text.
    Mark(u64, String),
    /// A fault that began at this tick.
    Fault(u64, String),
    /// Ticks and events missing so far.
    Lost(u64),
    /// A step of the simulation.
    Step(StepInput),
    /// An order, and the tick that answered it.
    Order(u64, Box<Order>),
    /// Where the tool touches the scene.
    Contacts(MonoNs, Box<Touches>),
    /// Bodies that deform: the points of all of them, m, each with its stress, Pa.
    Skins(Vec<[f32; 4]>),
    /// A needle from its hub to its tip, m.
    Path(Vec<[f32; 3]>),
    /// Where tool, handle or bodies are, by the names of their frames.
    Places(Vec<(String, Pose)>),
}

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read {path}: {why}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: std::io::Error,
    },
    /// It is something else.
    #[error("{path} is not a recording of hapticd: {why}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// Something in it makes no sense.
    #[error("{path} is damaged: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What.
        why: String,
    },
}

/// Reads a recording, entry by entry.
pub struct Reader {
    path: PathBuf,
    records: Records,
    channels: BTreeMap<u16, String>,
    provenance: Provenance,
    known: bool,
    waiting: VecDeque<Entry>,
    cut_short: Option<String>,
    ended: bool,
}

impl Reader {
    /// Opens a recording and reads where it comes from.
    ///
    /// # Errors
    /// [`ReadError`] when it cannot be read or is no recording of hapticd.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let records = Records::open(path).map_err(|why| ReadError::Io { path: path.into(), why })?;
        let Some(records) = records else {
            return Err(ReadError::Foreign { path: path.into(), why: "it is no MCAP file".into() });
        };
        let mut reader = Self {
            path: path.into(),
            records,
            channels: BTreeMap::new(),
            provenance: Provenance::default(),
            known: false,
            waiting: VecDeque::new(),
            cut_short: None,
            ended: false,
        };
        // Facts and files stand before the first message.
        while reader.waiting.is_empty() && reader.step()? {}
        if !reader.known {
            let why = reader.cut_short.take().unwrap_or_else(|| "it does not say what it is".into());
            return Err(ReadError::Foreign { path: path.into(), why });
        }
        Ok(reader)
    }

    /// Where the recording comes from.
    #[must_use]
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// Why the file ends early, if it does; known once everything has been read.
    #[must_use]
    pub fn cut_short(&self) -> Option<&str> {
        self.cut_short.as_deref()
    }

    /// Takes one record in; false at the end.
    fn step(&mut self) -> Result<bool, ReadError> {
        let next = self.records.next().map_err(|why| ReadError::Io { path: self.path.clone(), why })?;
        let understood = match next {
            Next::End => return Ok(false),
            Next::CutShort(why) => Err(why.to_string()),
            Next::Record(opcode, data) => understand(opcode, data, &self.channels)
                .map_err(|error| format!("it has a record that is damaged ({error})")),
        };
        match understood {
            Ok(meaning) => self.take(meaning),
            // Whatever comes after cannot be trusted any more.
            Err(why) => {
                self.cut_short = Some(why);
                Ok(false)
            }
        }
    }

    fn take(&mut self, meaning: Meaning) -> Result<bool, ReadError> {
        match meaning {
            Meaning::Nothing => {}
            Meaning::Channel(number, topic) => {
                self.channels.insert(number, topic);
            }
            Meaning::Facts(facts) => {
                take_facts(&facts, &mut self.provenance);
                self.known = true;
            }
            Meaning::File(name, text) => {
                let [scene, device, config] = ATTACHMENTS;
                match name.as_str() {
                    name if name == scene => self.provenance.scene_text = text,
                    name if name == device => self.provenance.device_text = text,
                    name if name == config => self.provenance.config_text = text,
                    _ => {}
                }
            }
            Meaning::Entry(entry) => self.waiting.push_back(entry),
            Meaning::Nonsense(topic) => {
                return Err(ReadError::Damaged {
                    path: self.path.clone(),
                    why: format!("a message on {topic} makes no sense; was it written by another version?"),
                });
            }
        }
        Ok(true)
    }
}

impl Iterator for Reader {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended && self.waiting.is_empty() {
            match self.step() {
                Ok(more) => self.ended = !more,
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
        self.waiting.pop_front().map(Ok)
    }
}

/// What a record is to a reader.
enum Meaning {
    Nothing,
    Channel(u16, String),
    Facts(BTreeMap<String, String>),
    File(String, String),
    Entry(Entry),
    Nonsense(String),
}

fn understand(opcode: u8, data: &[u8], channels: &BTreeMap<u16, String>) -> Result<Meaning, &'static str> {
    if opcode == op::ATTACHMENT {
        return Ok(fields::attachment(data).map_or(Meaning::Nothing, |(name, text)| Meaning::File(name, text)));
    }
    let damaged = "its fields are longer than it is";
    match opcode {
        op::CHANNEL => fields::channel(data).map(|(id, topic)| Meaning::Channel(id, topic)).ok_or(damaged),
        op::METADATA => {
            let (name, facts) = fields::metadata(data).ok_or(damaged)?;
            Ok(if name == METADATA { Meaning::Facts(facts) } else { Meaning::Nothing })
        }
        op::MESSAGE => {
            let (channel, data) = fields::message(data).ok_or(damaged)?;
            Ok(channels.get(&channel).map_or(Meaning::Nothing, |topic| message(topic, data)))
        }
        _ => Ok(Meaning::Nothing),
    }
}

fn message(topic: &str, data: &[u8]) -> Meaning {
    let parsed = || serde_json::from_slice::<Value>(data).ok();
    let after = |value: &Value| json::count(value, "tick");
    let entry = match topic {
        "/tick" => tick::read(data).map(|record| Entry::Tick(Box::new(record))),
        "/event" => parsed().and_then(|value| Some(Entry::Event(after(&value)?, value.get("event")?.clone()))),
        "/mark" => parsed().and_then(|value| Some(Entry::Mark(after(&value)?, json::text(&value, "text")?.into()))),
        "/fault" => parsed().and_then(|value| Some(Entry::Fault(after(&value)?, json::text(&value, "name")?.into()))),
        "/diagnostics" => parsed().and_then(|value| Some(Entry::Lost(json::count(&value, "lost")?))),
        "/step" => parsed().and_then(|value| order::read_step(&value)).map(Entry::Step),
        "/order" => {
            parsed().and_then(|value| order::read(&value)).map(|(tick, order)| Entry::Order(tick, Box::new(order)))
        }
        "/contacts" => {
            let read = parsed().and_then(|value| order::read_touches(&value));
            read.map(|(due, touches)| Entry::Contacts(due, Box::new(touches)))
        }
        "/skin" => parsed().and_then(|value| cloud::read_skins(&value)).map(Entry::Skins),
        "/path" => parsed().and_then(|value| cloud::read_path(&value)).map(Entry::Path),
        "/tf" => parsed().and_then(|value| places(&value)).map(Entry::Places),
        _ => return Meaning::Nothing,
    };
    entry.map_or_else(|| Meaning::Nonsense(topic.into()), Meaning::Entry)
}

/// Frames and where they are.
fn places(value: &Value) -> Option<Vec<(String, Pose)>> {
    let place = |value: &Value| {
        let rotation = json::rotation(value, "rotation")?;
        let pose = Pose::from_parts(json::vector(value, "translation")?.into(), rotation);
        Some((json::text(value, "child_frame_id")?.to_owned(), pose))
    };
    value.get("transforms")?.as_array()?.iter().map(place).collect()
}
