//! Lockstep: haptic ticks and simulation steps interleaved in virtual time on one thread.
//!
//! Thread: any one. The same two pure functions as the threads run, `haptic::tick` and `sim::step`, in a fixed order: no
//! clock is read, so that every run gives the same bits. For tests, demos (`--lockstep`) and replay.
//!
//! At each tick's time: if a simulation step is due, it runs on the tool of the tick before, and its mechanism is there for
//! this tick. A step that takes time is modelled by `delay_ticks`.

use crate::collision::ModelError;
use crate::device::{Device, DeviceSpec, HandSample, SafeForce};
use crate::haptic::{Desk, HapticModel, HapticState, OrderLinks, TickRecord, Trip, orders, tick};
use crate::mechanism::MechanismSnapshot;
use crate::shared::{Clock, LatestWriter, ManualClock, MonoNs, NS_PER_S, SceneView, Tick, ToolSample};
use crate::sim::{SimData, SimModel, StepReport, empty_snapshot, step};

/// Virtual time starts here, not at zero, so that the age of something that never was is large.
const ORIGIN: MonoNs = MonoNs(1_000_000_000_000);

/// Room for orders between two ticks.
const ORDERS: usize = 64;

/// A device, a scene and a clock that only this driver moves.
pub struct Lockstep<D: Device> {
    /// The device; a simulated one as a rule.
    pub device: D,
    /// State of the haptic tick.
    pub haptic: HapticState,
    /// State of the simulation.
    pub sim: SimData,
    /// Orders to the tick, and its answers.
    pub desk: Desk,
    links: OrderLinks,
    model: HapticModel,
    sim_model: SimModel,
    clock: ManualClock,
    index: u64,
    period_ns: u64,
    steps_made: u64,
    tool: ToolSample,
    snapshot: Box<MechanismSnapshot>,
    waiting: Box<MechanismSnapshot>,
    waiting_since: Option<u64>,
    /// Ticks from the start of a step to its mechanism being there.
    pub delay_ticks: u64,
    view: Option<LatestWriter<SceneView>>,
    trace: TraceHash,
}

/// What one tick brought.
#[derive(Clone, Copy, Debug)]
pub struct Beat {
    /// The haptic tick.
    pub record: TickRecord,
    /// The simulation step, if one was made.
    pub step: Option<StepReport>,
}

impl<D: Device> Lockstep<D> {
    /// Puts the parts together, at rest.
    ///
    /// # Errors
    /// When a shape makes no sense; the scene reader has checked that.
    pub fn new(
        model: HapticModel,
        sim_model: SimModel,
        device: D,
        view: Option<LatestWriter<SceneView>>,
    ) -> Result<Self, ModelError> {
        let mut sim = SimData::new(&sim_model)?;
        sim.stamp.at = ORIGIN;
        let spec: &DeviceSpec = device.spec();
        let haptic = HapticState::new(&model, spec);
        let (desk, links) = orders(ORDERS);
        Ok(Self {
            desk,
            links,
            tool: *haptic.tool(),
            haptic,
            sim,
            device,
            period_ns: (NS_PER_S as f64 / model.rate_hz).round() as u64,
            model,
            sim_model,
            clock: ManualClock::at(ORIGIN),
            index: 0,
            steps_made: 0,
            snapshot: empty_snapshot(),
            waiting: empty_snapshot(),
            waiting_since: None,
            delay_ticks: 0,
            view,
            trace: TraceHash::default(),
        })
    }

    /// Virtual time since the start, s.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.clock.now().seconds_after(ORIGIN)
    }

    /// Throws the halt switch: FAULT at the next tick.
    pub fn halt(&mut self) {
        self.haptic.trip(Trip::Halt);
    }

    /// Hash of the force trace so far: equal for equal runs.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.trace.0
    }

    /// One tick, with the simulation step before it if one is due.
    pub fn beat(&mut self) -> Beat {
        let now = ORIGIN.plus(self.index * self.period_ns);
        self.clock.set(now);
        let step = self.simulate(now);
        if self.waiting_since.is_some_and(|since| self.index >= since + self.delay_ticks) {
            std::mem::swap(&mut self.snapshot, &mut self.waiting);
            self.waiting_since = None;
        }
        self.index += 1;
        let period_s = self.period_ns as f64 / NS_PER_S as f64;
        let mut now_tick = Tick::begin(self.index, now, period_s, u64::MAX / 2, &self.clock);
        self.links.bring(&mut self.haptic);
        let sample: Option<HandSample> = self.device.read(&mut now_tick).ok();
        self.haptic.carry(self.device.weight());
        let force: SafeForce = tick(&self.model, &mut self.haptic, sample, &self.snapshot, &mut now_tick);
        if self.device.write(&force, &mut now_tick).is_err() {
            self.haptic.unheard();
        }
        self.links.answer(&self.haptic);
        self.tool = *self.haptic.tool();
        let record = *self.haptic.record();
        self.trace.add(&record);
        Beat { record, step }
    }

    fn simulate(&mut self, now: MonoNs) -> Option<StepReport> {
        let due = ORIGIN.plus((self.steps_made as f64 * self.sim_model.step_s() * NS_PER_S as f64).round() as u64);
        if now < due || self.waiting_since.is_some() {
            return None;
        }
        self.sim.next_ends_at(&self.sim_model, now);
        let report = step(&self.sim_model, &mut self.sim, &[self.tool], &mut [&mut *self.waiting]);
        self.waiting_since = Some(self.index);
        self.steps_made += 1;
        if let Some(view) = &mut self.view {
            view.publish(self.sim.view);
        }
        Some(report)
    }
}

/// FNV-1a over the bits of each tick's force, faults and proxy.
#[derive(Clone, Copy, Debug)]
struct TraceHash(u64);

impl Default for TraceHash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl TraceHash {
    fn add(&mut self, record: &TickRecord) {
        let force = record.force.force.iter().chain(record.force.torque.iter());
        for number in force.chain(record.pose_world_tool.translation.vector.iter()) {
            self.bytes(number.to_bits());
        }
        self.bytes(u64::from(record.faults.bits()));
    }

    fn bytes(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
