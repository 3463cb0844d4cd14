//! From what happened to messages in a file, and on to the next file when one is full.
//!
//! Thread: recorder.

use super::draw::{self, Level};
use super::json::Json;
use super::place;
use super::schema::Topic;
use super::sink::Sink;
use super::{Look, Provenance, RecordError, RecordLimits, RecordOptions, cloud, order, tick};
use crate::haptic::TickRecord;
use crate::shared::lifecycle::State;
use crate::shared::private;
use crate::shared::{Faults, MonoNs, Order, SceneView, SkinFrame, StepInput};
use std::path::{Path, PathBuf};

/// Least time between two drawings of tool, handle, force and bodies, ns: 30 a second are fluent to the eye, and every second step of
/// a simulation at 60 Hz counts as that.
const DRAW_NS: u64 = 32_333_333;
/// A fault that was away for this long begins anew, ns; one that flickers is told once.
const FAULT_AWAY_NS: u64 = 100_000_000;

/// Where files go.
enum Place {
    /// One file, whatever its size.
    File,
    /// Files of limited size in a directory.
    Directory { directory: PathBuf, stem: String, limits: RecordLimits },
}

/// What was written so far, over all files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Written {
    pub(super) messages: u64,
    pub(super) ticks: u64,
    /// Bytes of the files before this one.
    closed_bytes: u64,
}

/// Writes a recording.
pub(super) struct Scribe {
    sink: Sink,
    place: Place,
    provenance: Provenance,
    looks: Vec<Look>,
    json: Json,
    files: Vec<PathBuf>,
    written: Written,
    /// Wall time less monotonic time, ns; known from the first tick on.
    offset_ns: Option<u64>,
    newest: Option<(u64, MonoNs)>,
    drawn: Option<MonoNs>,
    viewed: Option<MonoNs>,
    /// The tool touched something in the last tick.
    touched: bool,
    /// Step of the last frame of the skins, and whether it had a path.
    skinned: (u64, bool),
    state: Option<State>,
    fault_seen: [Option<MonoNs>; Faults::ALL.len()],
}

impl Scribe {
    /// Begins a recording in a directory.
    pub(super) fn in_directory(options: RecordOptions) -> Result<Self, RecordError> {
        let RecordOptions { directory, name, provenance, looks, limits } = options;
        let stem = place::stem(&provenance.scene_name, name.as_deref());
        let (path, file) = place::new_file(&directory, &stem, 1)?;
        let place = Place::Directory { directory, stem, limits };
        let begun = place::check_room(&path, limits.free_bytes)
            .and_then(|()| Sink::begin(path.clone(), file, &provenance))
            .and_then(|sink| Self::new(sink, place, provenance, looks));
        if begun.is_err() {
            // Nothing has been recorded: leave no empty file behind.
            let _ = std::fs::remove_file(&path);
        }
        begun
    }

    /// Begins a recording in one file; what it had in it is lost.
    pub(super) fn in_file(path: &Path, provenance: Provenance, looks: Vec<Look>) -> Result<Self, RecordError> {
        let opened = private::create(path);
        let failed = |error| RecordError::Create { path: path.into(), why: place::explain(&error) };
        let sink = Sink::begin(path.into(), opened.map_err(failed)?, &provenance)?;
        Self::new(sink, Place::File, provenance, looks)
    }

    fn new(sink: Sink, place: Place, provenance: Provenance, looks: Vec<Look>) -> Result<Self, RecordError> {
        let mut scribe = Self {
            files: vec![sink.path().into()],
            sink,
            place,
            provenance,
            looks,
            json: Json::default(),
            written: Written::default(),
            offset_ns: None,
            newest: None,
            drawn: None,
            viewed: None,
            touched: false,
            skinned: (0, false),
            state: None,
            fault_seen: [None; Faults::ALL.len()],
        };
        scribe.open_scene()?;
        scribe.prune();
        Ok(scribe)
    }

    /// The files so far; the last one is being written.
    pub(super) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// What was written so far.
    pub(super) fn written(&self) -> Written {
        self.written
    }

    /// Bytes written whole, over all files.
    pub(super) fn safe_bytes(&self) -> u64 {
        self.written.closed_bytes + self.sink.safe_bytes()
    }

    /// Takes `due` to be this moment on the wall.
    pub(super) fn set_clock(&mut self, due: MonoNs) {
        self.offset_ns = Some(place::wall_ns().saturating_sub(due.0));
    }

    /// Time on the wall of the newest tick.
    fn now_ns(&self) -> u64 {
        match (self.newest, self.offset_ns) {
            (Some((_, due)), Some(offset)) => due.0.saturating_add(offset),
            _ => place::wall_ns(),
        }
    }

    fn index(&self) -> u64 {
        self.newest.map_or(0, |(index, _)| index)
    }

    /// Writes the message that `json` holds.
    fn put(&mut self, topic: Topic, time_ns: u64) -> Result<(), RecordError> {
        self.written.messages += 1;
        self.sink.write(topic, time_ns, self.json.text_so_far())
    }

    fn open_scene(&mut self) -> Result<(), RecordError> {
        let now = self.now_ns();
        draw::scene(&self.looks, now, &mut self.json);
        self.put(Topic::Scene, now)
    }

    /// One tick, in full, and what it changed.
    pub(super) fn tick(&mut self, record: &TickRecord) -> Result<(), RecordError> {
        if self.offset_ns.is_none() {
            self.set_clock(record.due);
        }
        self.newest = Some((record.index, record.due));
        let now = self.now_ns();
        tick::write(record, &mut self.json);
        self.put(Topic::Tick, now)?;
        self.written.ticks += 1;
        self.touches_of(record, now)?;
        self.state_of(record, now)?;
        self.faults_of(record, now)?;
        if self.drawn.is_none_or(|drawn| record.due.since(drawn) >= DRAW_NS) {
            self.drawn = Some(record.due);
            draw::tool_and_handle(record, now, &mut self.json);
            self.put(Topic::Transforms, now)?;
            draw::handle(record, now, &mut self.json);
            self.put(Topic::Handle, now)?;
            draw::forces(record, now, &mut self.json);
            self.put(Topic::Forces, now)?;
        }
        Ok(())
    }

    /// Where the tool touches the scene; that it touches nothing is told once.
    fn touches_of(&mut self, record: &TickRecord, now: u64) -> Result<(), RecordError> {
        let touches = !record.touches.all().is_empty();
        let before = std::mem::replace(&mut self.touched, touches);
        if touches || before {
            order::write_touches(record.due, &record.touches, &mut self.json);
            self.put(Topic::Contacts, now)?;
        }
        Ok(())
    }

    fn state_of(&mut self, record: &TickRecord, now: u64) -> Result<(), RecordError> {
        let Some(from) = self.state.replace(record.state).filter(|from| *from != record.state) else { return Ok(()) };
        let level = if record.state == State::Fault { Level::Error } else { Level::Info };
        let cause = record.cause.map(|cause| format!(": {} {}; {}", cause.code(), cause.name(), cause.remedy()));
        let text = format!("{} after {}{}", record.state.name(), from.name(), cause.unwrap_or_default());
        self.log(level, "state", &text, now)
    }

    /// Tells each fault that begins.
    fn faults_of(&mut self, record: &TickRecord, now: u64) -> Result<(), RecordError> {
        if record.faults.is_empty() {
            return Ok(());
        }
        for (place, (fault, name)) in Faults::ALL.iter().enumerate() {
            if !record.faults.contains(*fault) {
                continue;
            }
            let before = self.fault_seen[place].replace(record.due);
            if before.is_some_and(|before| record.due.since(before) < FAULT_AWAY_NS) {
                continue;
            }
            self.json.restart().count("tick", record.index).count("due_ns", record.due.0).text("name", name);
            self.json.text("state", record.state.name()).done();
            self.put(Topic::Fault, now)?;
            self.log(Level::Warning, "fault", name, now)?;
        }
        Ok(())
    }

    fn log(&mut self, level: Level, name: &str, text: &str, now: u64) -> Result<(), RecordError> {
        draw::log(level, name, text, now, &mut self.json);
        self.put(Topic::Log, now)
    }

    /// Where the bodies are; views that come sooner than the eye needs them are left out.
    pub(super) fn view(&mut self, view: &SceneView) -> Result<(), RecordError> {
        let due = self.newest.map_or(MonoNs(0), |(_, due)| due);
        if self.viewed.is_some_and(|viewed| due.since(viewed) < DRAW_NS) {
            return Ok(());
        }
        self.viewed = Some(due);
        let now = self.now_ns();
        if draw::bodies(view, &self.looks, now, &mut self.json).is_some() {
            self.put(Topic::Transforms, now)?;
        }
        Ok(())
    }

    /// Where the bodies that deform are, and the needle, when that is new; that there is no needle is told once.
    pub(super) fn skins(&mut self, frame: &SkinFrame) -> Result<(), RecordError> {
        let (seen, had_path) = self.skinned;
        if frame.stamp.sequence == seen {
            return Ok(());
        }
        self.skinned = (frame.stamp.sequence, !frame.path.is_empty());
        let now = self.now_ns();
        if !frame.skins.is_empty() {
            cloud::write_skins(frame, now, &mut self.json);
            self.put(Topic::Skin, now)?;
        }
        if had_path || !frame.path.is_empty() {
            cloud::write_path(frame, now, &mut self.json);
            self.put(Topic::Path, now)?;
        }
        Ok(())
    }

    /// Something that happened, as a JSON object; any other text is kept as text.
    pub(super) fn event(&mut self, event: &str) -> Result<(), RecordError> {
        let now = self.now_ns();
        let tick = self.index();
        let parsed = serde_json::from_str(event).ok().filter(serde_json::Value::is_object);
        let event = parsed.unwrap_or_else(|| serde_json::json!({ "kind": "text", "text": event })).to_string();
        self.json.restart().count("tick", tick).raw("event", &event).done();
        self.put(Topic::Event, now)?;
        self.log(Level::Info, "event", &event, now)
    }

    /// What a step of the simulation depended on.
    pub(super) fn step(&mut self, step: &StepInput) -> Result<(), RecordError> {
        order::write_step(step, &mut self.json);
        self.put(Topic::Step, self.now_ns())
    }

    /// An order, and the tick at which it was carried out or refused.
    pub(super) fn order(&mut self, (tick, order): &(u64, Order)) -> Result<(), RecordError> {
        order::write(*tick, order, &mut self.json);
        self.put(Topic::Order, self.now_ns())
    }

    /// A mark.
    pub(super) fn mark(&mut self, text: &str) -> Result<(), RecordError> {
        let now = self.now_ns();
        let tick = self.index();
        self.json.restart().count("tick", tick).text("text", text).done();
        self.put(Topic::Mark, now)?;
        self.log(Level::Info, "mark", text, now)
    }

    /// Says that ticks are missing; `lost` counts from the beginning.
    pub(super) fn lost(&mut self, lost: u64) -> Result<(), RecordError> {
        let now = self.now_ns();
        let tick = self.index();
        let text = format!("{lost} ticks or events are missing so far: the disk did not keep up");
        self.json.restart().count("tick", tick).count("lost", lost).text("text", &text).done();
        self.put(Topic::Diagnostics, now)?;
        self.log(Level::Warning, "recorder", &text, now)
    }

    /// Puts everything so far on disk; goes on to the next file when this one is full.
    pub(super) fn flush(&mut self) -> Result<(), RecordError> {
        self.sink.flush()?;
        let Place::Directory { directory, stem, limits } = &self.place else { return Ok(()) };
        place::check_room(self.sink.path(), limits.free_bytes)?;
        if self.sink.safe_bytes() < limits.file_bytes {
            return Ok(());
        }
        let (path, file) = place::new_file(directory, stem, self.files.len() + 1)?;
        let next = Sink::begin(path.clone(), file, &self.provenance);
        let next = next.inspect_err(|_| drop(std::fs::remove_file(&path)))?;
        let full = std::mem::replace(&mut self.sink, next);
        self.files.push(path);
        self.written.closed_bytes += full.finish()?;
        (self.drawn, self.viewed) = (None, None);
        self.open_scene()?;
        self.prune();
        Ok(())
    }

    fn prune(&self) {
        if let Place::Directory { directory, limits: RecordLimits { keep_files: Some(keep), .. }, .. } = &self.place {
            place::prune(directory, *keep, self.sink.path());
        }
    }

    /// Ends the recording; gives its bytes.
    pub(super) fn finish(self) -> Result<u64, RecordError> {
        Ok(self.written.closed_bytes + self.sink.finish()?)
    }

    /// Ends it after an error: with its index where that can still be written, else cut to what is whole.
    pub(super) fn abandon(self, error: &RecordError) {
        match error {
            RecordError::NoRoom { .. } | RecordError::Create { .. } => {
                // This file is in order. Were there no room for its index, the error at hand would still be the one to tell.
                let _ = self.sink.finish();
            }
            _ => self.sink.abandon(),
        }
    }
}
