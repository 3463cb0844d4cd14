//! The seam between the control plane and the daemon: what clients may ask for, and what they are told.
//!
//! Thread: control.
//!
//! The hub knows protocols, clients and leases; the [`Plant`] knows threads, scenes and files. Nothing here waits: work that
//! takes time is given a [`Ticket`] and answered later through [`Plant::poll`].

use super::trail::Trail;
use crate::haptic::{TickRecord, Touches};
use crate::math::Vec3;
use crate::shared::lifecycle::{Event, State};
use crate::shared::{MonoNs, Parameter, SceneView, SkinFrame};

/// Why something was not done, as a number clients can act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The arguments are of the wrong number or type.
    BadArguments = 400,
    /// This client may not do that, or nobody may.
    NotAllowed = 403,
    /// No such address, scene, device or stream.
    NotFound = 404,
    /// Not in this operating state.
    WrongState = 409,
    /// A value out of its range.
    OutOfRange = 422,
    /// Not keeping up, or full; try again.
    Busy = 503,
}

/// A refusal in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// For machines.
    pub code: Code,
    /// For people: what is wrong and what to do.
    pub text: String,
}

/// A value as clients see it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(i32),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
    /// Yes or no.
    Bool(bool),
}

/// Something that can be set.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Setting {
    /// A number of the haptic loop.
    Loop(Parameter),
    /// Friction of a material of the scene, by name.
    Friction(String),
    /// Restitution of a material of the scene, by name.
    Restitution(String),
    /// The simulated operator works (or rests).
    OperatorWorks,
    /// Skill of the simulated operator; from the next load of a scene.
    OperatorSkill,
    /// Seed of the simulated operator; from the next load of a scene.
    OperatorSeed,
    /// A recording plays, or stands still.
    ReplayPlays,
    /// How fast it plays.
    ReplaySpeed,
    /// Where it is, s.
    ReplayPlace,
}

/// What a [`Setting`] may be set to.
#[derive(Clone, Debug, PartialEq)]
pub enum Range {
    /// Numbers from least to most.
    Numbers {
        /// Least.
        least: f64,
        /// Most.
        most: f64,
    },
    /// One of these words.
    Words(Vec<&'static str>),
    /// Whole numbers from zero.
    Count,
    /// Yes or no.
    Switch,
}

/// A setting as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Dial {
    /// Which.
    pub setting: Setting,
    /// The value last taken over by the thread that uses it.
    pub value: Value,
    /// What it may be set to with this scene and device.
    pub range: Range,
}

/// One thing a client wants done. Acts of one bundle are done together.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Something for the operating state.
    Event(Event),
    /// A new value. The hub has checked it against the dial.
    Set(Setting, Value),
    /// A force on the hand, N and N·m in the device's base frame, until a moment.
    Force {
        /// Force.
        force: [f64; 3],
        /// Torque.
        torque: [f64; 3],
        /// When it ends by itself.
        until: MonoNs,
    },
    /// The tool is turned about its axis, until a moment.
    Turn {
        /// rad/s, against the clock.
        rate: f64,
        /// When it ends by itself.
        until: MonoNs,
    },
}

/// Work that takes longer than a tick; one at a time.
#[derive(Clone, Debug, PartialEq)]
pub enum Job {
    /// Loads a scene by name or path; only in DISABLED.
    LoadScene(String),
    /// Loads the scene in use again from its file; only in DISABLED.
    ReloadScene,
    /// Gives up the load under way.
    CancelLoad,
    /// Opens another device by name or path; only in DISABLED.
    OpenDevice(String),
    /// Homes the device; only in DISABLED.
    Home,
    /// Acknowledges a fault, or the oldest one when `None`.
    Acknowledge(Option<u32>),
    /// Starts a recording, with a name or without; answered with its path.
    RecordStart(Option<String>),
    /// Ends the recording; answered with its path.
    RecordStop,
    /// Writes a mark with a text into the recording.
    RecordMark(String),
}

/// A request under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// How urgent a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Priority {
    /// Force has been cut.
    High,
    /// Force is reduced.
    Medium,
    /// For information.
    Low,
}

/// A fault as people see it.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultEntry {
    /// Counts faults since the daemon began.
    pub id: u32,
    /// Short code, such as `F04`.
    pub code: &'static str,
    /// Short name, such as `device-lost`.
    pub name: &'static str,
    /// How urgent.
    pub priority: Priority,
    /// It stays until acknowledged.
    pub latched: bool,
    /// It has been acknowledged.
    pub acknowledged: bool,
    /// When it happened.
    pub at: MonoNs,
    /// What happened, with figures.
    pub cause: String,
    /// What to do.
    pub remedy: &'static str,
    /// File with full-rate data from before and after, once written.
    pub data: Option<String>,
}

/// The daemon at a glance.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Operating state.
    pub state: State,
    /// The device knows where it is.
    pub homed: bool,
    /// A job is under way.
    pub busy: bool,
    /// The loop has real-time rights.
    pub realtime: bool,
    /// Scene in use.
    pub scene: String,
    /// Device in use.
    pub device: String,
    /// How it stands: "ready", or what is wrong or to be done.
    pub device_state: String,
    /// Rate asked for, Hz.
    pub nominal_hz: f64,
    /// Ticks over the last second, Hz.
    pub actual_hz: f64,
    /// 99.9th percentile of lateness, µs.
    pub lateness_us: f64,
    /// Ticks that came too late.
    pub overruns: u64,
    /// Rate of the simulation, Hz.
    pub simulation_hz: f64,
    /// Faults that wait to be acknowledged.
    pub active_faults: u32,
    /// Since the daemon began, s.
    pub uptime_s: f64,
    /// Recording under way.
    pub recording: Option<String>,
}

/// Progress of the scene's task.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskState {
    /// What the (simulated) operator is doing, or empty.
    pub phase: String,
    /// Goals met.
    pub goals_met: u32,
    /// Goals there are.
    pub goals: u32,
    /// All met.
    pub success: bool,
    /// Time since the scene was enabled, s.
    pub time_s: f64,
}

/// What a screen shows beside the newest tick.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// Poses of the bodies.
    pub scene: &'a SceneView,
    /// Force on the hand, N, along the axes of the scene.
    pub force: Vec3,
    /// Bodies that deform, and the path of a needle.
    pub skin: &'a SkinFrame,
    /// The second hand of a scene for two; none before its first tick.
    pub second: Option<SecondSight<'a>>,
}

/// What a screen shows of the second hand beside its tool, which is one of the bodies.
#[derive(Clone, Copy, Debug)]
pub struct SecondSight<'a> {
    /// Force on that hand, N, along the axes of the scene.
    pub force: Vec3,
    /// Contacts of its tool.
    pub touches: &'a Touches,
}

/// What [`Plant::poll`] reports.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// A ticket is done; values are what `done` carries after the address.
    Answer(Ticket, Result<Vec<Value>, Refused>),
    /// The operating state changed.
    State(State),
    /// A fault happened, was acknowledged, or its data was written.
    Fault(FaultEntry),
    /// The task came further.
    Task(TaskState),
    /// A value was taken over; every subscriber hears of it.
    Set(Setting, Value),
    /// The device stands otherwise than before: how.
    Device(String),
    /// Scene or device changed: dials and ranges are new.
    Dials,
    /// A load goes on.
    Loading {
        /// What is loaded, as it was asked for.
        scene: String,
        /// Since when, s.
        time_s: f64,
        /// What is being done.
        doing: String,
    },
}

/// What the control plane drives.
pub trait Plant {
    /// At a glance.
    fn status(&self) -> Status;
    /// Everything that can be set, with the range that holds now.
    fn dials(&self) -> &[Dial];
    /// Names of scenes that can be loaded.
    fn scenes(&self) -> Vec<String>;
    /// Names of devices that can be opened.
    fn devices(&self) -> Vec<String>;
    /// Faults, oldest first: all that wait, and the last of those acknowledged.
    fn faults(&self) -> &[FaultEntry];
    /// Progress of the task.
    fn task(&self) -> TaskState;
    /// The newest tick, once there is one.
    fn newest(&self) -> Option<&TickRecord>;
    /// What can be seen.
    fn sight(&self) -> Sight<'_>;
    /// The ticks of the last seconds.
    fn trail(&self) -> &Trail;
    /// Zero force now, FAULT, latched. Cannot be refused.
    fn halt(&mut self, by: &str);
    /// Does all of `acts` at one tick, or none; answered when the threads concerned have taken them over.
    ///
    /// # Errors
    /// When it can be told at once that it will not be done.
    fn act(&mut self, acts: &[Act]) -> Result<Ticket, Refused>;
    /// Begins a job.
    ///
    /// # Errors
    /// When it can be told at once that it will not be done.
    fn begin(&mut self, job: Job) -> Result<Ticket, Refused>;
    /// What happened since the last call. Called every few milliseconds; never waits.
    fn poll(&mut self, news: &mut Vec<News>);
}
