//! The supervisor: holds the threads of the scene and stands for them towards the control plane.
//!
//! Thread: control. Nothing here waits: files, threads and disks are left to cold threads, which report back.
//!
//! [`Supervisor::poll`] is its whole life, and is called every few milliseconds: take in the ticks, hear the answers, take
//! over finished work, look whether both threads live, keep the operator in step with the state.

use super::black_box::{BlackBox, Capture};
use super::catalogue::Catalogue;
use super::device::Homing;
use super::errands::Errands;
use super::faults::{FaultBook, Latch};
use super::halt_line::HaltLine;
use super::meter::RateMeter;
use super::recording::{Recording, Rules};
use super::requests::{self, Purpose, Requests, Waits, busy};
use super::rig::{Plan, Rig};
use super::settings;
use super::task::TaskFollower;
use super::trips::{self, Reason};
use crate::control::plant::{Dial, FaultEntry, News, Plant as _, Priority, Setting, Ticket, Value};
use crate::control::trail::Trail;
use crate::daemon::portrait::portrait;
use crate::device::port::LinkState;
use crate::haptic::{HapticError, HapticFigures, Heartbeat, TickRecord, TorqueSense};
use crate::record::Recorder;
use crate::shared::lifecycle::State;
use crate::shared::realtime::SystemClock;
use crate::shared::{Answer, Clock as _, MonoNs, Order};
use crate::sim::thread::SimStatus;
use serde_json::Value as Json;
use std::path::PathBuf;

/// See the file's head.
pub(super) struct Supervisor {
    pub(super) plan: Plan,
    pub(super) rig: Rig,
    pub(super) began: MonoNs,
    pub(super) state: State,
    pub(super) newest: Option<TickRecord>,
    pub(super) trail: Trail,
    /// The rig took the place of one in FAULT: its ticks count from the first that shows FAULT.
    inherits_fault: bool,
    /// Where halts come in, on other threads.
    pub(super) halts: HaltLine,
    /// Why the halt switch was thrown last.
    pub(super) reason: Option<Reason>,
    pub(super) book: FaultBook,
    black_box: BlackBox,
    pub(super) state_dir: Option<PathBuf>,
    pub(super) recording: Recording,
    pub(super) task: TaskFollower,
    pub(super) dials: Vec<Dial>,
    pub(super) requests: Requests,
    pub(super) errands: Errands,
    pub(super) ticks: RateMeter,
    pub(super) steps: RateMeter,
    pub(super) figures: HapticFigures,
    pub(super) sim: SimStatus,
    next_ticket: u64,
    pub(super) news: Vec<News>,
    /// Ticks taken out of the ring, kept for its room.
    batch: Vec<TickRecord>,
    loop_ended: bool,
    /// A simulation that ended has been started anew since the state was last left.
    pub(super) mended: bool,
    /// How the real device stood when it was last told.
    pub(super) device_told: Option<LinkState>,
    /// Who waits for it to be homed.
    pub(super) homing: Option<Homing>,
    /// The simulated operator may work, and was told to.
    pub(super) works: bool,
    pub(super) working: bool,
}

impl Supervisor {
    /// Takes charge of a rig built by `plan`.
    pub(super) fn new(plan: Plan, rig: Rig, state_dir: Option<PathBuf>) -> Self {
        let rate_hz = rig.model.rate_hz;
        Self {
            began: SystemClock.now(),
            state: State::Disabled,
            newest: None,
            trail: Trail::default(),
            inherits_fault: false,
            halts: HaltLine::new(rig.haptic.halt_switch()),
            reason: None,
            book: FaultBook::new(),
            black_box: BlackBox::new(rate_hz),
            state_dir,
            recording: Recording::default(),
            task: TaskFollower::new(rig.built.watcher(), TorqueSense::of(&rig.built.haptic), rate_hz),
            dials: settings::dials(&rig, true),
            requests: Requests::default(),
            errands: Errands::new(),
            ticks: RateMeter::default(),
            steps: RateMeter::default(),
            figures: HapticFigures::default(),
            sim: SimStatus::empty(),
            next_ticket: 1,
            news: Vec::new(),
            batch: Vec::new(),
            loop_ended: false,
            mended: false,
            device_told: None,
            homing: None,
            works: true,
            working: false,
            plan,
            rig,
        }
    }

    /// What happened since the last call.
    pub(super) fn poll(&mut self, news: &mut Vec<News>) {
        let now = SystemClock.now();
        self.rig.haptic.control_pulse().beat();
        self.note_halts();
        self.take_ticks();
        self.hear(now);
        while let Some(done) = self.errands.done() {
            self.take_over(done);
        }
        self.look_after_load(now);
        self.look_after_threads(now);
        self.look_after_device(now);
        self.guide_operator();
        self.measure(now);
        self.news.iter().for_each(|item| self.recording.news(item));
        news.append(&mut self.news);
    }

    /// Takes note of halts that other threads have carried out. Thrown once more: a rig may have been replaced meanwhile.
    pub(super) fn note_halts(&mut self) {
        if let Some(by) = self.halts.take() {
            self.halt(&by.to_string());
        }
    }

    /// A number nobody has yet.
    pub(super) fn ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        Ticket(self.next_ticket)
    }

    /// For the watchdog.
    pub(super) fn heartbeat(&self) -> Heartbeat {
        self.rig.haptic.heartbeat()
    }

    /// True when the haptic thread is no more; then only [`Self::end`] is left to do.
    pub(super) fn has_lost_its_loop(&self) -> bool {
        self.loop_ended
    }

    /// Takes note that the haptic thread is no more.
    pub(super) fn lose_loop(&mut self, now: MonoNs) {
        if !self.loop_ended {
            self.loop_ended = true;
            self.state = State::Fault;
            self.news.push(News::State(State::Fault));
            self.latch(trips::ended(), now);
        }
    }

    /// What the scene looks like.
    pub(super) fn portrait(&self) -> Json {
        portrait(&self.rig.scene, &self.rig.title, &self.rig.device, &self.rig.built)
    }

    /// True while a rig is being built.
    pub(super) fn is_busy(&self) -> bool {
        self.errands.building.is_some()
    }

    /// Looks names up elsewhere from now on.
    pub(super) fn set_catalogue(&mut self, catalogue: Catalogue) {
        self.plan.catalogue = catalogue;
    }

    /// Recordings that begin from now on go by these rules.
    pub(super) fn set_recording_rules(&mut self, rules: Rules) {
        self.recording.rules = rules;
    }

    /// Ramps down, silences, ends the threads. Waits for them: not for the control thread.
    ///
    /// # Errors
    /// When the haptic thread had panicked.
    pub(super) fn end(mut self) -> Result<HapticFigures, HapticError> {
        for capture in self.black_box.flush() {
            if let Some(state_dir) = &self.state_dir
                && let Err(error) = capture.write(state_dir)
            {
                tracing::warn!("the data of fault {} could not be written: {error}", capture.id);
            }
        }
        let figures = self.rig.stop();
        if let Some(Err(error)) = self.recording.take().map(Recorder::stop) {
            tracing::error!("{error}");
        }
        figures
    }

    /// Puts `rig` in the place of the rig in use, which is given back. In FAULT that state is kept.
    pub(super) fn adopt(&mut self, plan: Plan, rig: Rig) -> Rig {
        if let Some(homing) = self.homing.take() {
            self.news.push(News::Answer(homing.ticket(), Err(busy("the device was changed meanwhile; ask again"))));
        }
        for request in self.requests.abandon() {
            self.news.push(News::Answer(request.ticket, Err(busy("the scene was changed meanwhile; ask again"))));
        }
        self.black_box.flush().into_iter().for_each(|capture| self.keep(capture));
        // A recording is of one scene.
        if let Some(recorder) = self.recording.take() {
            self.errands.close(None, recorder);
        }
        self.black_box = BlackBox::new(rig.model.rate_hz);
        self.task = TaskFollower::new(rig.built.watcher(), TorqueSense::of(&rig.built.haptic), rig.model.rate_hz);
        self.dials = settings::dials(&rig, self.works);
        (self.ticks, self.steps) = (RateMeter::default(), RateMeter::default());
        self.inherits_fault = self.state == State::Fault;
        if self.inherits_fault {
            // Otherwise a halt is on its way, and the new rig will tell of it.
            self.reason = None;
        }
        self.working = false;
        self.halts.lead_to(rig.haptic.halt_switch());
        self.plan = plan;
        std::mem::replace(&mut self.rig, rig)
    }

    // Ticks.

    fn take_ticks(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        batch.extend(self.rig.records.drain());
        self.sim = *self.rig.status.read();
        self.rig.skins.read();
        let view = self.sim.view;
        let mut complete = Vec::new();
        for record in &batch {
            if self.inherits_fault && record.state != State::Fault {
                continue;
            }
            self.inherits_fault = false;
            self.black_box.push(record, &mut complete);
            for entry in self.book.notice(record) {
                self.tell(entry);
            }
            if record.state != self.state {
                self.enter(record, &batch);
            }
            self.task.tick(record, &view);
            self.trail.push(record);
            self.newest = Some(*record);
        }
        self.recording.ticks(&batch, &view);
        self.recording.skins(self.rig.skins.current());
        self.recording.steps(self.rig.steps.drain());
        batch.clear();
        self.batch = batch;
        complete.into_iter().for_each(|capture| self.keep(capture));
        if self.state == State::Enabled {
            self.task.operator(self.rig.reports.read());
        }
        if let Some(task) = self.task.news() {
            tracing::info!(goals_met = task.goals_met, goals = task.goals, "task: {}", task.phase);
            self.news.push(News::Task(task));
        }
    }

    /// Takes note of a new operating state, and of the fault that led to it.
    fn enter(&mut self, record: &TickRecord, batch: &[TickRecord]) {
        tracing::info!(state = record.state.name(), "{} -> {}", self.state.name(), record.state.name());
        if record.state == State::Fault {
            // Who halted must be known before the fault is explained.
            self.note_halts();
        }
        self.state = record.state;
        self.news.push(News::State(record.state));
        if record.state == State::Fault {
            let worst_ns = batch.iter().map(|tick| tick.lateness_ns).max().unwrap_or_default();
            let reason = self.reason.take();
            self.latch(trips::explain(record, &self.rig.model, worst_ns, reason), record.due);
        } else {
            self.reason = None;
            self.mended = false;
        }
    }

    /// Writes down a latched fault and freezes the ticks around it.
    fn latch(&mut self, latch: Latch, at: MonoNs) {
        let entry = self.book.latch(latch, at);
        self.black_box.freeze(entry.id, entry.code, at);
        self.tell(entry);
    }

    /// Says that something is in the book.
    pub(super) fn tell(&mut self, entry: FaultEntry) {
        let FaultEntry { id, code, name, cause, remedy, .. } = &entry;
        match entry.priority {
            Priority::High => tracing::error!(fault = id, code, "{code} {name}: {cause} {remedy}"),
            Priority::Medium => tracing::warn!(fault = id, code, "{code} {name}: {cause} {remedy}"),
            Priority::Low => tracing::info!(fault = id, code, "{code} {name}: {cause} {remedy}"),
        }
        self.news.push(News::Fault(entry));
    }

    /// Has the data of a fault written, if there is a place for it.
    fn keep(&mut self, capture: Capture) {
        match &self.state_dir {
            Some(state_dir) => self.errands.write(capture, state_dir.clone()),
            None => tracing::warn!("fault data is lost: neither configuration nor environment name a place for it"),
        }
    }

    // Requests.

    /// Takes in answers of the haptic thread and echoes of the simulation.
    fn hear(&mut self, now: MonoNs) {
        let settled: Vec<(Answer, Order)> = self.rig.desk.settled().collect();
        self.recording.orders(settled.iter().map(|(answer, order)| (answer.tick, *order)).collect());
        for (answer, _) in settled {
            let Some(request) = self.requests.answered(answer.sequence) else { continue };
            match answer.outcome {
                Ok(()) => self.proceed(request.ticket, request.purpose, request.sets, now),
                Err((_, refusal)) => self.news.push(News::Answer(request.ticket, Err(requests::refused(refusal)))),
            }
        }
        for request in self.requests.echoed(self.sim.materials_taken) {
            self.finish(request.ticket, request.purpose, request.sets);
        }
        for request in self.requests.overdue(now) {
            let text = "the thread concerned did not answer within a second; try again, and look at the log";
            self.news.push(News::Answer(request.ticket, Err(busy(text))));
        }
    }

    /// The haptic thread has taken its part over; now what others are to do.
    pub(super) fn proceed(&mut self, ticket: Ticket, purpose: Purpose, sets: Vec<(Setting, Value)>, now: MonoNs) {
        if let Purpose::Acknowledge(Some(id)) = purpose
            && let Some(entry) = self.book.acknowledge(id)
        {
            tracing::info!(fault = id, "fault {id} acknowledged");
            self.news.push(News::Fault(entry));
        }
        match self.set_materials(&sets) {
            Some(sequence) => self.requests.add(ticket, purpose, sets, Waits::Simulation(sequence), now),
            None => self.finish(ticket, purpose, sets),
        }
    }

    /// All is taken over: the dials move, everyone hears of it.
    fn finish(&mut self, ticket: Ticket, purpose: Purpose, sets: Vec<(Setting, Value)>) {
        for (setting, value) in sets {
            self.set_operator(&setting, &value);
            if let Some(dial) = self.dials.iter_mut().find(|dial| dial.setting == setting) {
                dial.value = value.clone();
            }
            self.news.push(News::Set(setting, value));
        }
        let values = match purpose {
            Purpose::Acknowledge(Some(id)) => vec![Value::Int(i32::try_from(id).unwrap_or(i32::MAX))],
            Purpose::Act | Purpose::Acknowledge(None) => Vec::new(),
        };
        self.news.push(News::Answer(ticket, Ok(values)));
    }
}
