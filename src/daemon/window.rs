//! A window on a demo: the viewer's port beside a run that goes by itself. Everything can be seen, and the run halted; nothing
//! else can be changed.
//!
//! Thread: its own, named `window`; the demo hands frames in and never waits for it.

use super::run::{Call, RateMeter, Viewer, open_viewer};
use crate::control::alarm::Alarm;
use crate::control::http::{Answer, Asked, Door, Question};
use crate::control::hub::{Hub, HubSettings, Outbox};
use crate::control::peer::Peer;
use crate::control::plant::{
    Act, Code, Dial, FaultEntry, Job, News, Plant, Priority, Refused, SecondSight, Sight, Status, TaskState, Ticket,
};
use crate::control::trail::Trail;
use crate::control::{query, tree};
use crate::haptic::{HaltSwitch, HapticFigures, TickRecord};
use crate::math::{Rot, Vec3};
use crate::shared::lifecycle::State;
use crate::shared::realtime::SystemClock;
use crate::shared::{Clock as _, MonoNs, SceneView, SkinFrame};
use crossbeam_channel::{Receiver, Sender, bounded};
use serde_json::Value as Json;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The port, if it is free.
pub(super) const PORT: u16 = 9742;
/// Frames that may wait; beyond, the window misses some.
const FRAMES: usize = 64;
/// Time between two looks.
const BEAT: Duration = Duration::from_millis(5);

/// What does not change while a demo runs.
pub(super) struct Setting {
    /// Name of the scene.
    pub(super) scene: String,
    /// Name of the device.
    pub(super) device: String,
    /// Rate of the loop, Hz.
    pub(super) rate_hz: f64,
    /// The loop has real-time rights.
    pub(super) realtime: bool,
    /// From the device's axes to the scene's.
    pub(super) turn: Rot,
    /// The same of the second hand's device.
    pub(super) second_turn: Rot,
    /// What the scene looks like.
    pub(super) portrait: Json,
    /// File being recorded to.
    pub(super) recording: Option<String>,
    /// Ends all force.
    pub(super) halt: HaltSwitch,
}

/// What happened between two looks of the demo.
pub(super) struct Frame {
    /// Every tick.
    pub(super) ticks: Vec<TickRecord>,
    /// The newest tick of the second hand, where there is one.
    pub(super) second: Option<TickRecord>,
    /// The scene.
    pub(super) view: SceneView,
    /// Bodies that deform, when they have moved.
    pub(super) skin: Option<SkinFrame>,
    /// How the loop keeps time.
    pub(super) figures: HapticFigures,
    /// How the task goes.
    pub(super) task: TaskState,
}

/// An open window; closed when dropped.
pub(super) struct Window {
    /// Where it can be seen.
    pub(super) address: SocketAddr,
    frames: Sender<Frame>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Window {
    /// Opens one on this machine, at the usual port or any free one.
    ///
    /// # Errors
    /// When there is no port or no thread to be had.
    pub(super) fn open(setting: Setting) -> std::io::Result<Self> {
        let listener = open_viewer(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT)?;
        let address = listener.local_addr()?;
        let (frames, receiver) = bounded(FRAMES);
        let stop = Arc::<AtomicBool>::default();
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("window".into());
        let thread = thread.spawn(move || serve(listener, Show::new(setting, receiver), &stopped))?;
        Ok(Self { address, frames, stop, thread: Some(thread) })
    }

    /// Shows a frame, unless the window is behind.
    pub(super) fn show(&self, frame: Frame) {
        let _ = self.frames.try_send(frame);
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The demo goes on without it, however it ended.
            let _ = thread.join();
        }
    }
}

/// What a window shows.
pub(super) trait Guest: Plant {
    /// Goes on; called every few milliseconds.
    fn turn(&mut self);
    /// Answers a question over HTTP.
    fn answer(&self, asked: Asked);
    /// What a halt raises as soon as it comes in.
    fn alarm(&self) -> Alarm;
}

/// Shows `guest` until stopped; returns at once when it cannot be shown.
pub(super) fn serve(listener: TcpListener, mut guest: impl Guest, stopped: &AtomicBool) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        let door = Door { admit: Box::new(|peer| peer.is_loopback()), names: Vec::new() };
        let Ok(mut viewer) = Viewer::start(Some(listener), door, guest.alarm()) else { return };
        let (mut hub, mut out) = (Hub::new(HubSettings::default()), Outbox::new());
        let mut beat = tokio::time::interval(BEAT);
        while !stopped.load(Ordering::Relaxed) {
            tokio::select! {
                _ = beat.tick() => {
                    guest.turn();
                    hub.poll(SystemClock.now(), &mut guest, &mut out);
                }
                call = viewer.call() => match call {
                    Call::Letters => viewer.receive(&mut hub, &mut guest, &mut out),
                    Call::Asked(asked) => guest.answer(asked),
                },
            }
            for (bytes, to) in out.drain(..) {
                if let Peer::Web { id, .. } = to {
                    viewer.send(id, bytes);
                }
            }
            tokio::task::yield_now().await;
        }
    });
    runtime.shutdown_timeout(Duration::from_millis(100));
}

/// A demo as the hub knows it.
struct Show {
    setting: Setting,
    frames: Receiver<Frame>,
    began: MonoNs,
    newest: Option<TickRecord>,
    second: Option<TickRecord>,
    trail: Trail,
    view: SceneView,
    skin: SkinFrame,
    figures: HapticFigures,
    task: TaskState,
    ticks: RateMeter,
    steps: RateMeter,
    faults: Vec<FaultEntry>,
    halted_by: Option<String>,
    news: Vec<News>,
}

impl Show {
    fn new(setting: Setting, frames: Receiver<Frame>) -> Self {
        Self {
            setting,
            frames,
            began: SystemClock.now(),
            newest: None,
            second: None,
            trail: Trail::default(),
            view: SceneView::empty(),
            skin: SkinFrame::default(),
            figures: HapticFigures::default(),
            task: TaskState { phase: String::new(), goals_met: 0, goals: 0, success: false, time_s: 0.0 },
            ticks: RateMeter::default(),
            steps: RateMeter::default(),
            faults: Vec::new(),
            halted_by: None,
            news: Vec::new(),
        }
    }

    fn take(&mut self, frame: Frame) {
        for record in &frame.ticks {
            self.trail.push(record);
            if self.newest.is_none_or(|before| before.state != record.state) {
                self.news.push(News::State(record.state));
                if record.state == State::Fault {
                    self.latch(record);
                }
            }
            self.newest = Some(*record);
        }
        self.second = frame.second.or(self.second);
        let further = (&frame.task.phase, frame.task.goals_met) != (&self.task.phase, self.task.goals_met);
        if further {
            self.news.push(News::Task(frame.task.clone()));
        }
        let now = SystemClock.now();
        self.ticks.read(now, frame.figures.ticks);
        self.steps.read(now, frame.view.stamp.sequence);
        if let Some(skin) = frame.skin {
            self.skin = skin;
        }
        (self.view, self.figures, self.task) = (frame.view, frame.figures, frame.task);
    }

    fn latch(&mut self, record: &TickRecord) {
        let id = self.faults.len() as u32 + 1;
        let Some(entry) = latched(record, id, self.halted_by.take()) else { return };
        self.faults.push(entry.clone());
        self.news.push(News::Fault(entry));
    }
}

/// The fault that `record` is the first tick of, as the viewer tells it.
pub(super) fn latched(record: &TickRecord, id: u32, halted_by: Option<String>) -> Option<FaultEntry> {
    let trip = record.cause?;
    let cause = match halted_by {
        Some(by) => format!("Stopped by {by}."),
        None => format!("The loop met `{}`.", trip.name()),
    };
    Some(FaultEntry {
        id,
        code: trip.code(),
        name: trip.name(),
        priority: Priority::High,
        latched: true,
        acknowledged: false,
        at: record.due,
        cause,
        remedy: trip.remedy(),
        data: None,
    })
}

impl Guest for Show {
    fn turn(&mut self) {
        while let Ok(frame) = self.frames.try_recv() {
            self.take(frame);
        }
    }

    fn answer(&self, asked: Asked) {
        let answer = match &asked.question {
            Question::Node { path, attribute } => query::answer(&tree::nodes(self), path, *attribute).into(),
            Question::Scene => Answer::json(&self.setting.portrait),
            Question::HostInfo => Answer::json(&serde_json::json!({ "NAME": "hapticd demo" })),
            Question::Metrics | Question::Health => Answer::health(None),
        };
        asked.answer(answer);
    }

    fn alarm(&self) -> Alarm {
        let switch = self.setting.halt.clone();
        Alarm::new(move |_| switch.throw())
    }
}

fn refusal() -> Refused {
    let text = "a demo goes by itself and can only be halted; `hapticd run` can be driven".into();
    Refused { code: Code::NotAllowed, text }
}

impl Plant for Show {
    fn status(&self) -> Status {
        let state = self.newest.map_or(State::Disabled, |record| record.state);
        Status {
            device_state: "ready".into(),
            state,
            homed: self.newest.is_some_and(|record| record.homed),
            busy: false,
            realtime: self.setting.realtime,
            scene: self.setting.scene.clone(),
            device: self.setting.device.clone(),
            nominal_hz: self.setting.rate_hz,
            actual_hz: self.ticks.hz(),
            lateness_us: self.figures.lateness.p999_ns as f64 * 1e-3,
            overruns: self.figures.overruns,
            simulation_hz: self.steps.hz(),
            active_faults: self.faults.len() as u32,
            uptime_s: SystemClock.now().seconds_after(self.began),
            recording: self.setting.recording.clone(),
        }
    }

    fn dials(&self) -> &[Dial] {
        &[]
    }

    fn scenes(&self) -> Vec<String> {
        vec![self.setting.scene.clone()]
    }

    fn devices(&self) -> Vec<String> {
        vec![self.setting.device.clone()]
    }

    fn faults(&self) -> &[FaultEntry] {
        &self.faults
    }

    fn task(&self) -> TaskState {
        self.task.clone()
    }

    fn newest(&self) -> Option<&TickRecord> {
        self.newest.as_ref()
    }

    fn sight(&self) -> Sight<'_> {
        let force = self.newest.map_or_else(Vec3::zeros, |record| self.setting.turn * record.force.force);
        let second = self.second.as_ref().map(|record| SecondSight {
            force: self.setting.second_turn * record.force.force,
            touches: &record.touches,
        });
        Sight { scene: &self.view, force, skin: &self.skin, second }
    }

    fn trail(&self) -> &Trail {
        &self.trail
    }

    fn halt(&mut self, by: &str) {
        self.halted_by = Some(by.to_owned());
        self.setting.halt.throw();
    }

    fn act(&mut self, _acts: &[Act]) -> Result<Ticket, Refused> {
        Err(refusal())
    }

    fn begin(&mut self, _job: Job) -> Result<Ticket, Refused> {
        Err(refusal())
    }

    fn poll(&mut self, news: &mut Vec<News>) {
        news.append(&mut self.news);
    }
}
