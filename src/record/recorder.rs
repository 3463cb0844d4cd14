//! The recorder: a thread that writes, and an end for callers that never waits for it.
//!
//! Thread: recorder; [`Recorder`] belongs to whoever started it (never to the haptic thread, whose ticks come through a ring).

use super::scribe::Scribe;
use super::{Look, Provenance, RecordError, RecordOptions};
use crate::haptic::TickRecord;
use crate::shared::{Order, SceneView, SkinFrame, StepInput};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Items between caller and thread. At a hundred batches of ticks a second, a disk may stand still for four seconds.
const CAPACITY: usize = 512;
/// Time between two syncs. A power cut or a kill costs this much, and the time a sync takes.
const FLUSH: Duration = Duration::from_millis(250);

/// What goes to the thread.
enum Item {
    Ticks(Vec<TickRecord>),
    View(Box<SceneView>),
    Skins(Box<SkinFrame>),
    Event(String),
    Mark(String),
    Steps(Vec<StepInput>),
    Orders(Vec<(u64, Order)>),
}

impl Item {
    /// How much is lost with it.
    fn weight(&self) -> u64 {
        match self {
            Self::Ticks(ticks) => ticks.len() as u64,
            Self::Steps(steps) => steps.len() as u64,
            Self::Orders(orders) => orders.len() as u64,
            Self::Event(_) | Self::Mark(_) => 1,
            // The next ones show the same.
            Self::View(_) | Self::Skins(_) => 0,
        }
    }
}

/// What the thread tells while it runs.
#[derive(Debug, Default)]
struct Told {
    bytes: AtomicU64,
    messages: AtomicU64,
    lost: AtomicU64,
    rest: Mutex<(Option<RecordError>, PathBuf)>,
}

/// A recording at a glance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordFigures {
    /// Bytes written.
    pub bytes: u64,
    /// Messages written.
    pub messages: u64,
    /// Ticks, steps, events and marks lost because the disk did not keep up.
    pub lost: u64,
    /// Why the recording ended by itself, if it did.
    pub error: Option<RecordError>,
    /// The file being written.
    pub path: PathBuf,
}

/// A finished recording.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordSummary {
    /// Its files, oldest first.
    pub files: Vec<PathBuf>,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Messages.
    pub messages: u64,
    /// Ticks.
    pub ticks: u64,
    /// Ticks, events and marks lost because the disk did not keep up.
    pub lost: u64,
}

/// A recording under way. Dropping it ends the recording and waits until the file is closed.
pub struct Recorder {
    items: Option<Sender<Item>>,
    thread: Option<JoinHandle<Result<RecordSummary, RecordError>>>,
    told: Arc<Told>,
    waits: bool,
}

impl Recorder {
    /// Begins a recording in a directory, with limits on the room it takes.
    ///
    /// # Errors
    /// [`RecordError`] when the first file cannot be made; none is left behind then.
    pub fn start(options: RecordOptions) -> Result<Self, RecordError> {
        Self::spawn(Scribe::in_directory(options)?)
    }

    /// Begins a recording in this one file; what it had in it is lost.
    ///
    /// # Errors
    /// [`RecordError`] when the file cannot be made.
    pub fn create(path: &Path, provenance: Provenance, looks: Vec<Look>) -> Result<Self, RecordError> {
        Self::spawn(Scribe::in_file(path, provenance, looks)?)
    }

    fn spawn(scribe: Scribe) -> Result<Self, RecordError> {
        let (items, receiver) = bounded(CAPACITY);
        let told = Arc::<Told>::default();
        tell(&told, &scribe);
        let thread = std::thread::Builder::new().name("recorder".into());
        let shared = Arc::clone(&told);
        let thread = thread.spawn(move || run(scribe, &receiver, &shared));
        let thread = thread.map_err(|error| RecordError::NoThread(error.to_string()))?;
        Ok(Self { items: Some(items), thread: Some(thread), told, waits: false })
    }

    /// A recorder whose caller waits for room instead of losing anything: for virtual time, which can wait.
    #[must_use]
    pub fn waiting(mut self) -> Self {
        self.waits = true;
        self
    }

    /// Records ticks, oldest first. Does not wait: when the thread is behind, they are lost and counted.
    pub fn ticks(&mut self, ticks: &[TickRecord]) {
        if !ticks.is_empty() {
            self.offer(Item::Ticks(ticks.to_vec()));
        }
    }

    /// Records what steps of the simulation depended on, oldest first.
    pub fn steps(&mut self, steps: Vec<StepInput>) {
        if !steps.is_empty() {
            self.offer(Item::Steps(steps));
        }
    }

    /// Records orders to the loop, each with the tick that answered it.
    pub fn orders(&mut self, orders: Vec<(u64, Order)>) {
        if !orders.is_empty() {
            self.offer(Item::Orders(orders));
        }
    }

    /// Records where the bodies are.
    pub fn view(&mut self, view: &SceneView) {
        self.offer(Item::View(Box::new(*view)));
    }

    /// Records where the bodies that deform are, and the needle; what was recorded before is left out.
    pub fn skins(&mut self, frame: &SkinFrame) {
        self.offer(Item::Skins(Box::new(frame.clone())));
    }

    /// Records something that happened, as the text of a JSON object; any other text is kept as text.
    pub fn event(&mut self, json: &str) {
        self.offer(Item::Event(json.into()));
    }

    /// Sets a mark at the newest tick.
    pub fn mark(&mut self, text: &str) {
        self.offer(Item::Mark(text.into()));
    }

    fn offer(&mut self, item: Item) {
        let Some(items) = &self.items else { return };
        let unsent = if self.waits {
            items.send(item).map_err(|error| error.0)
        } else {
            items.try_send(item).map_err(TrySendError::into_inner)
        };
        if let Err(item) = unsent {
            self.told.lost.fetch_add(item.weight(), Ordering::Relaxed);
        }
    }

    /// How it goes.
    #[must_use]
    pub fn figures(&self) -> RecordFigures {
        let (error, path) = self.told.rest.lock().unwrap_or_else(PoisonError::into_inner).clone();
        RecordFigures {
            bytes: self.told.bytes.load(Ordering::Relaxed),
            messages: self.told.messages.load(Ordering::Relaxed),
            lost: self.told.lost.load(Ordering::Relaxed),
            error,
            path,
        }
    }

    /// Takes no more and lets the thread close the file; does not wait for it.
    pub fn end(&mut self) {
        self.items = None;
    }

    /// True when the thread has ended: after [`Self::end`], or by an error.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the recording and waits until the file is closed.
    ///
    /// # Errors
    /// Why it ended before, if it did; what was written until then can be read.
    pub fn stop(mut self) -> Result<RecordSummary, RecordError> {
        self.join()
    }

    fn join(&mut self) -> Result<RecordSummary, RecordError> {
        self.items = None;
        self.thread.take().map_or(Err(RecordError::Panicked), |t| t.join().unwrap_or(Err(RecordError::Panicked)))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.thread.is_some() {
            // Whoever drops it does not ask how it went.
            let _ = self.join();
        }
    }
}

fn tell(told: &Told, scribe: &Scribe) {
    told.bytes.store(scribe.safe_bytes(), Ordering::Relaxed);
    told.messages.store(scribe.written().messages, Ordering::Relaxed);
    let mut rest = told.rest.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = scribe.files().last().filter(|path| **path != rest.1) {
        rest.1.clone_from(path);
    }
}

/// The thread.
fn run(mut scribe: Scribe, items: &Receiver<Item>, told: &Told) -> Result<RecordSummary, RecordError> {
    let ended = follow(&mut scribe, items, told);
    let (files, written) = (scribe.files().to_vec(), scribe.written());
    let closed = match ended {
        Ok(()) => scribe.finish(),
        Err(error) => {
            scribe.abandon(&error);
            Err(error)
        }
    };
    match closed {
        Ok(bytes) => {
            told.bytes.store(bytes, Ordering::Relaxed);
            let lost = told.lost.load(Ordering::Relaxed);
            Ok(RecordSummary { files, bytes, messages: written.messages, ticks: written.ticks, lost })
        }
        Err(error) => {
            told.rest.lock().unwrap_or_else(PoisonError::into_inner).0 = Some(error.clone());
            Err(error)
        }
    }
}

/// Writes what comes until nothing more can come.
fn follow(scribe: &mut Scribe, items: &Receiver<Item>, told: &Told) -> Result<(), RecordError> {
    let mut flush_at = Instant::now() + FLUSH;
    let mut lost = 0;
    loop {
        match items.recv_deadline(flush_at) {
            Ok(Item::Ticks(ticks)) => ticks.iter().try_for_each(|record| scribe.tick(record))?,
            Ok(Item::View(view)) => scribe.view(&view)?,
            Ok(Item::Skins(frame)) => scribe.skins(&frame)?,
            Ok(Item::Event(json)) => scribe.event(&json)?,
            Ok(Item::Mark(text)) => scribe.mark(&text)?,
            Ok(Item::Steps(steps)) => steps.iter().try_for_each(|step| scribe.step(step))?,
            Ok(Item::Orders(orders)) => orders.iter().try_for_each(|order| scribe.order(order))?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if Instant::now() >= flush_at {
            tell_lost(scribe, told, &mut lost)?;
            scribe.flush()?;
            tell(told, scribe);
            flush_at = Instant::now() + FLUSH;
        }
    }
    tell_lost(scribe, told, &mut lost)
}

/// Writes down that something is missing, if more is than before.
fn tell_lost(scribe: &mut Scribe, told: &Told, before: &mut u64) -> Result<(), RecordError> {
    let lost = told.lost.load(Ordering::Relaxed);
    if lost > *before {
        *before = lost;
        scribe.lost(lost)?;
    }
    Ok(())
}
