//! The haptic thread: the loop around [`tick`], and everything that must hold when it begins and ends.
//!
//! Thread: haptic (RT) from the first tick to the last; [`HapticThread`] belongs to whoever started it.
//!
//! Order of things: everything is built by the spawner → the thread acquires its rights → it says what it got, or refuses
//! → ticks → on stop, the gate ramps down → silence. However the loop ends, by a stop, a refusal or a panic, a guard
//! silences the device; a panic is caught and comes back to the spawner as an error. The message of a panic is printed
//! before the stack unwinds to the guard: a device behind a bus lets its own I/O thread drop the force meanwhile.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;

use super::signals::{ControlPulse, HaltSwitch, Heartbeat, Signals};
use super::{HapticModel, HapticState, OrderLinks, TickRecord, Trip, tick};
use crate::device::{Device, DeviceFault};
use crate::mechanism::MechanismSnapshot;
use crate::shared::realtime::{
    self, Policy as Scheduling, RealtimeError, RealtimeRequest, RealtimeStatus, SystemClock, sleep_until,
};
use crate::shared::{
    Answer, Clock as _, DurationFigures, DurationHistogram, FaultCounts, Faults, LatestReader, LatestWriter, MonoNs,
    NS_PER_S, Order, Pacer, RateError, RingReader, RingWriter, Tick, ToolSample, latest,
};

/// Part of a period that the local solve may use. At 1 kHz 400 µs: with the rest of the tick some 450 µs at most, which
/// leaves half a period for a late wake-up. A smaller share cuts solves short on a slow PC and is then felt as softness.
const SOLVE_SHARE: f64 = 0.4;
/// How often the figures are renewed, s.
const FIGURES_S: f64 = 0.1;
/// Longest wait for the ramp on stop, s; the ramp itself takes a tenth of the ramp of the policy.
const STOP_LEAST_S: f64 = 1.0;

/// What the haptic thread is made of.
#[expect(
    clippy::disallowed_types,
    reason = "the device was boxed before the thread began, and is freed after it ended"
)]
pub struct HapticSetup {
    /// What does not change while it runs.
    pub model: HapticModel,
    /// The device; the thread owns it.
    pub device: Box<dyn Device>,
    /// Mechanisms from the simulation.
    pub snapshots: LatestReader<MechanismSnapshot>,
    /// Orders, such as a [`super::Desk`] writes.
    pub orders: RingReader<Order>,
    /// An answer to each order. Orders wait while there is no room for their answers.
    pub answers: RingWriter<Answer>,
    /// The tool, for the simulation.
    pub tool: LatestWriter<ToolSample>,
    /// Every tick, for whoever logs.
    pub records: RingWriter<TickRecord>,
    /// Rights to ask for.
    pub realtime: RealtimeRequest,
    /// Run also without the rights asked for.
    pub allow_no_rt: bool,
    /// Begin in FAULT with this cause: for a thread that takes the place of one that was in FAULT.
    pub born_tripped: Option<Trip>,
}

/// How the loop keeps time, and what it has met so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HapticFigures {
    /// Ticks done.
    pub ticks: u64,
    /// Slots that passed without a tick because the tick before ended too late.
    pub skipped: u64,
    /// Times that happened.
    pub overruns: u64,
    /// Forces the device did not take.
    pub unheard: u64,
    /// Records lost because nobody took them out of the ring.
    pub records_dropped: u64,
    /// Every fault met by any tick.
    pub faults: Faults,
    /// How many ticks met each.
    pub fault_counts: FaultCounts,
    /// How late ticks began.
    pub lateness: DurationFigures,
    /// How long they took, from beginning to the force handed over.
    pub compute: DurationFigures,
}

/// Why there is no haptic thread, or none any more.
#[expect(clippy::disallowed_types, reason = "made after the last tick, for the spawner")]
#[derive(Debug, thiserror::Error)]
pub enum HapticError {
    /// No loop can run at this rate.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// The system gave no thread.
    #[error("the haptic thread could not be started: {0}")]
    Thread(std::io::Error),
    /// The system refused what the request asked for.
    #[error("the haptic loop would not be real-time: {0}. Or allow a loop without promises")]
    RealtimeDenied(RealtimeError),
    /// A bug: the tick or the device panicked. The device has been silenced.
    #[error("the haptic thread panicked and the device was silenced: {message}")]
    Panicked {
        /// What the panic said.
        message: String,
    },
}

/// A running haptic thread. Dropping it stops the thread and waits for it.
pub struct HapticThread {
    thread: Option<JoinHandle<Result<HapticFigures, HapticError>>>,
    signals: Arc<Signals>,
    figures: LatestReader<HapticFigures>,
    granted: Granted,
}

/// What the system granted, as the thread reports it before its first tick.
#[expect(clippy::disallowed_types, reason = "made before the first tick, for the spawner")]
struct Granted {
    status: RealtimeStatus,
    refusals: Vec<RealtimeError>,
}

impl HapticThread {
    /// Starts the thread and returns when it has its rights and is about to tick.
    ///
    /// # Errors
    /// [`HapticError`] when there can be no such loop; the device has then been silenced and dropped.
    pub fn spawn(setup: HapticSetup) -> Result<Self, HapticError> {
        Pacer::new(setup.model.rate_hz, setup.realtime.spin_ns, MonoNs(0))?;
        let signals = Arc::<Signals>::default();
        let (writer, figures) = latest(HapticFigures::default());
        let (sender, started) = std::sync::mpsc::sync_channel(1);
        let body = Loop::new(setup, Arc::clone(&signals), writer);
        let thread = std::thread::Builder::new().name("haptic".into());
        let thread = thread.spawn(move || live(body, &sender)).map_err(HapticError::Thread)?;
        match started.recv() {
            Ok(granted) => Ok(Self { thread: Some(thread), signals, figures, granted }),
            // The thread ended without starting; it says why.
            Err(_) => Err(join(thread).err().unwrap_or_else(|| panicked(&"ended before it began"))),
        }
    }

    /// What the thread got from the system.
    #[must_use]
    pub fn status(&self) -> &RealtimeStatus {
        &self.granted.status
    }

    /// What it asked for and did not get; empty unless it was allowed to do without.
    #[must_use]
    pub fn refusals(&self) -> &[RealtimeError] {
        &self.granted.refusals
    }

    /// True when the kernel runs it with real-time priority and nothing asked for was refused.
    #[must_use]
    pub fn is_realtime(&self) -> bool {
        self.granted.refusals.is_empty() && matches!(self.granted.status.policy, Scheduling::Fifo(_))
    }

    /// The newest figures; renewed ten times a second.
    pub fn figures(&mut self) -> &HapticFigures {
        self.figures.read()
    }

    /// A counter for a watchdog.
    #[must_use]
    pub fn heartbeat(&self) -> Heartbeat {
        Heartbeat(Arc::clone(&self.signals))
    }

    /// Where the control thread shows that it lives.
    #[must_use]
    pub fn control_pulse(&self) -> ControlPulse {
        ControlPulse(Arc::clone(&self.signals))
    }

    /// The switch that ends all force.
    #[must_use]
    pub fn halt_switch(&self) -> HaltSwitch {
        HaltSwitch(Arc::clone(&self.signals))
    }

    /// True when the thread has ended by itself, which it does only by a panic: [`Self::stop`] then tells which.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ramps the force down, silences the device, ends the thread; gives the figures of the whole run.
    ///
    /// # Errors
    /// [`HapticError::Panicked`] when the thread had panicked.
    pub fn stop(mut self) -> Result<HapticFigures, HapticError> {
        self.signals.stop();
        self.thread.take().map_or_else(|| Ok(HapticFigures::default()), join)
    }
}

impl Drop for HapticThread {
    fn drop(&mut self) {
        self.signals.stop();
        if let Some(thread) = self.thread.take() {
            // Whoever wants to know how it ended calls `stop`.
            let _ = thread.join();
        }
    }
}

fn join(thread: JoinHandle<Result<HapticFigures, HapticError>>) -> Result<HapticFigures, HapticError> {
    thread.join().unwrap_or_else(|payload| Err(panicked(&*payload)))
}

#[expect(clippy::disallowed_types, reason = "runs after the last tick")]
fn panicked(payload: &(dyn Any + Send)) -> HapticError {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    HapticError::Panicked { message: text.unwrap_or("it left no message").into() }
}

/// The device, silenced when it goes out of hand.
#[expect(clippy::disallowed_types, reason = "moves the box; nothing is allocated")]
struct Held(Box<dyn Device>);

impl Drop for Held {
    fn drop(&mut self) {
        // A driver that panics here while its own panic is being handled would end the whole process.
        let _ = catch_unwind(AssertUnwindSafe(|| self.0.silence(SystemClock.now())));
    }
}

/// The thread's life: rights, ticks, silence.
fn live(body: Loop, started: &SyncSender<Granted>) -> Result<HapticFigures, HapticError> {
    let mut rights = realtime::acquire(&body.request);
    if !body.allow_no_rt && !rights.refusals.is_empty() {
        return Err(HapticError::RealtimeDenied(rights.refusals.swap_remove(0)));
    }
    let granted = Granted { status: rights.status, refusals: std::mem::take(&mut rights.refusals) };
    if started.send(granted).is_err() {
        return Ok(body.figures);
    }
    // The loop goes into the closure: on a panic the guard in it acts while the stack unwinds.
    catch_unwind(AssertUnwindSafe(move || body.run())).unwrap_or_else(|payload| Err(panicked(&*payload)))
}

/// Everything the loop uses, made before the thread begins.
struct Loop {
    device: Held,
    model: HapticModel,
    state: HapticState,
    snapshots: LatestReader<MechanismSnapshot>,
    links: OrderLinks,
    tool: LatestWriter<ToolSample>,
    records: RingWriter<TickRecord>,
    request: RealtimeRequest,
    allow_no_rt: bool,
    signals: Arc<Signals>,
    lateness: DurationHistogram,
    compute: DurationHistogram,
    figures: HapticFigures,
    published: LatestWriter<HapticFigures>,
    /// Ticks between two publications of the figures.
    figures_every: u64,
    stop_at: Option<MonoNs>,
    /// Throws of the halt switch that have been seen.
    halts: u64,
    /// Rounds of the control thread that have been seen, and ticks since the last.
    rounds: (u64, u64),
}

impl Loop {
    fn new(setup: HapticSetup, signals: Arc<Signals>, published: LatestWriter<HapticFigures>) -> Self {
        let HapticSetup { model, device, snapshots, orders, answers, tool, records, realtime, .. } = setup;
        let mut state = HapticState::new(&model, device.spec());
        if let Some(cause) = setup.born_tripped {
            state.trip(cause);
        }
        Self {
            state,
            device: Held(device),
            figures_every: ((model.rate_hz * FIGURES_S) as u64).max(2),
            model,
            snapshots,
            links: OrderLinks { orders, answers },
            tool,
            records,
            request: realtime,
            allow_no_rt: setup.allow_no_rt,
            signals,
            lateness: DurationHistogram::new(),
            compute: DurationHistogram::new(),
            figures: HapticFigures::default(),
            published,
            stop_at: None,
            halts: 0,
            rounds: (0, 0),
        }
    }

    fn run(mut self) -> Result<HapticFigures, HapticError> {
        let (rate_hz, spin_ns) = (self.model.rate_hz, self.request.spin_ns);
        let first = SystemClock.now().plus((NS_PER_S as f64 / rate_hz) as u64);
        let mut pacer = Pacer::new(rate_hz, spin_ns, first)?;
        let solve_budget_ns = (SOLVE_SHARE * pacer.period_ns() as f64) as u64;
        pacer.run(&SystemClock, sleep_until, solve_budget_ns, |tick, _| self.beat(tick));
        self.figures.lateness = self.lateness.figures();
        self.figures.compute = self.compute.figures();
        Ok(self.figures)
    }

    /// One tick with its input and output.
    fn beat(&mut self, now: &mut Tick<'_>) -> ControlFlow<()> {
        // 1 what others want: halt before anything else
        if self.signals.halted(&mut self.halts) {
            self.state.trip(Trip::Halt);
        }
        self.heed_control(now.period_s);
        if self.signals.stopping() {
            self.wind_down(now);
        }
        self.links.bring(&mut self.state);
        // 2 the tick
        let read = self.device.0.read(now);
        if matches!(read, Err(DeviceFault::Silenced)) {
            self.state.trip(Trip::Silenced);
        }
        let sample = read.ok();
        self.state.carry(self.device.0.weight());
        let force = tick(&self.model, &mut self.state, sample, self.snapshots.read(), now);
        if self.device.0.write(&force, now).is_err() {
            self.state.unheard();
            self.figures.unheard += 1;
        }
        let compute_ns = now.now().since(now.began);
        // 3 what others want to know; the force is out, so that none of this delays it
        self.links.answer(&self.state);
        self.tool.publish(*self.state.tool());
        self.records.push(*self.state.record());
        self.signals.ticked(now.index);
        self.note(now, compute_ns);
        // 4 on, unless stopped and without force
        let out = self.stop_at.is_some_and(|at| self.state.gate().gain() == 0.0 || now.began >= at);
        if out { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Trips when the control thread stands still while force may flow. Ticks are counted, not time: a stall of the whole program is not
    /// the control thread's.
    fn heed_control(&mut self, period_s: f64) {
        let still = self.signals.control_still(&mut self.rounds);
        let silent = still as f64 * period_s > self.model.policy.control_silent_s;
        if silent && self.state.gate().state().allows_force() {
            self.state.trip(Trip::ControlSilent);
        }
    }

    /// Lets the force ramp down and takes no more orders.
    fn wind_down(&mut self, now: &Tick<'_>) {
        if self.stop_at.is_none() {
            let longest_s = self.model.policy.ramp_s.max(STOP_LEAST_S);
            self.stop_at = Some(now.began.plus((longest_s * NS_PER_S as f64) as u64));
            self.state.retire();
        }
    }

    /// Books the tick; publishes the figures now and then, half of them at a time: percentiles take some µs to count.
    fn note(&mut self, now: &Tick<'_>, compute_ns: u64) {
        self.lateness.record(now.lateness_ns());
        self.compute.record(compute_ns);
        let figures = &mut self.figures;
        figures.ticks = now.index;
        figures.skipped += now.skipped;
        figures.overruns += u64::from(now.skipped > 0);
        figures.records_dropped = self.records.dropped();
        figures.faults.set(self.state.record().faults);
        figures.fault_counts.add(self.state.record().faults);
        let phase = now.index % self.figures_every;
        if phase == self.figures_every / 2 {
            figures.lateness = self.lateness.figures();
        } else if phase == 0 {
            figures.compute = self.compute.figures();
            self.published.publish(*figures);
        }
    }
}
