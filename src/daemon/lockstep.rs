//! Lockstep: haptic ticks and simulation steps interleaved in virtual time on one thread.
//!
//! Thread: any one. The same two pure functions as the threads run, `haptic::tick` and `sim::step`, in a fixed order: no
//! clock is read, so that every run gives the same bits. For tests, demos (`--lockstep`) and replay.
//!
//! At each tick's time: if a simulation step is due, it runs on the tool of the tick before, and its mechanism is there for
//! this tick. A step that takes time is modelled by `delay_ticks`.

use crate::device::{Device, DeviceSpec, HandSample, SafeForce};
use crate::haptic::{self, Desk, HapticModel, HapticState, OrderLinks, TickRecord, Trip, orders};
use crate::mechanism::MechanismSnapshot;
use crate::shared::{Clock, LatestWriter, ManualClock, MonoNs, NS_PER_S, SceneView, Tick, ToolSample};
use crate::sim::{SimData, SimError, SimModel, StepReport, empty_snapshot, step};

/// Virtual time starts here, not at zero, so that the age of something that never was is large.
const ORIGIN: MonoNs = MonoNs(1_000_000_000_000);

/// Room for orders between two ticks.
const ORDERS: usize = 64;

/// One hand: its device, its tick, and what lies between it and the simulation.
pub struct Station<D: Device> {
    /// The device; a simulated one as a rule.
    pub device: D,
    /// State of the haptic tick.
    pub haptic: HapticState,
    /// Orders to the tick, and its answers.
    pub desk: Desk,
    links: OrderLinks,
    model: HapticModel,
    tool: ToolSample,
    snapshot: Box<MechanismSnapshot>,
    waiting: Box<MechanismSnapshot>,
    view: Option<LatestWriter<SceneView>>,
}

impl<D: Device> Station<D> {
    fn new(model: HapticModel, device: D, view: Option<LatestWriter<SceneView>>) -> Self {
        let spec: &DeviceSpec = device.spec();
        let haptic = HapticState::new(&model, spec);
        let (desk, links) = orders(ORDERS);
        Self {
            tool: *haptic.tool(),
            haptic,
            device,
            desk,
            links,
            model,
            snapshot: empty_snapshot(),
            waiting: empty_snapshot(),
            view,
        }
    }

    fn tick(&mut self, tick: &mut Tick<'_>) -> TickRecord {
        self.links.bring(&mut self.haptic);
        let sample: Option<HandSample> = self.device.read(tick).ok();
        self.haptic.carry(self.device.weight());
        let force: SafeForce = haptic::tick(&self.model, &mut self.haptic, sample, &self.snapshot, tick);
        if self.device.write(&force, tick).is_err() {
            self.haptic.unheard();
        }
        self.links.answer(&self.haptic);
        self.tool = *self.haptic.tool();
        *self.haptic.record()
    }
}

/// A scene, one hand or two, and a clock that only this driver moves. Two hands tick one after the other at the same time, and
/// neither sees the other but through the simulation.
pub struct Lockstep<D: Device> {
    /// The hand. Boxed, like the other: a station is too large to be moved about on the stack.
    pub first: Box<Station<D>>,
    /// The other one, in a scene for two.
    pub second: Option<Box<Station<D>>>,
    /// State of the simulation.
    pub sim: SimData,
    sim_model: SimModel,
    clock: ManualClock,
    index: u64,
    period_ns: u64,
    steps_made: u64,
    waiting_since: Option<u64>,
    /// Ticks from the start of a step to its mechanism being there.
    pub delay_ticks: u64,
    trace: TraceHash,
}

/// What one tick brought.
#[derive(Clone, Copy, Debug)]
pub struct Beat {
    /// The haptic tick.
    pub record: TickRecord,
    /// That of the second hand, if there is one.
    pub second: Option<TickRecord>,
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
    ) -> Result<Self, SimError> {
        let mut sim = SimData::new(&sim_model)?;
        sim.stamp.at = ORIGIN;
        Ok(Self {
            period_ns: (NS_PER_S as f64 / model.rate_hz).round() as u64,
            first: Box::new(Station::new(model, device, view)),
            second: None,
            sim,
            sim_model,
            clock: ManualClock::at(ORIGIN),
            index: 0,
            steps_made: 0,
            waiting_since: None,
            delay_ticks: 0,
            trace: TraceHash::default(),
        })
    }

    /// With a second hand, whose tool is the second of the model. It ticks at the rate of the first.
    #[must_use]
    pub fn with_second(mut self, model: HapticModel, device: D, view: Option<LatestWriter<SceneView>>) -> Self {
        self.second = Some(Box::new(Station::new(model, device, view)));
        self
    }

    /// Virtual time since the start, s.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.clock.now().seconds_after(ORIGIN)
    }

    /// Throws the halt switch: FAULT at the next tick.
    pub fn halt(&mut self) {
        for hand in self.hands() {
            hand.haptic.trip(Trip::Halt);
        }
    }

    /// Hash of the force trace so far: equal for equal runs.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.trace.0
    }

    fn hands(&mut self) -> impl Iterator<Item = &mut Station<D>> {
        std::iter::once(&mut self.first).chain(&mut self.second).map(|hand| &mut **hand)
    }

    /// One tick, with the simulation step before it if one is due.
    pub fn beat(&mut self) -> Beat {
        let now = ORIGIN.plus(self.index * self.period_ns);
        self.clock.set(now);
        let step = self.simulate(now);
        if self.waiting_since.is_some_and(|since| self.index >= since + self.delay_ticks) {
            for hand in self.hands() {
                std::mem::swap(&mut hand.snapshot, &mut hand.waiting);
            }
            self.waiting_since = None;
        }
        self.index += 1;
        let period_s = self.period_ns as f64 / NS_PER_S as f64;
        let (index, clock) = (self.index, &self.clock);
        let begin = || Tick::begin(index, now, period_s, u64::MAX / 2, clock);
        let record = self.first.tick(&mut begin());
        let second = self.second.as_mut().map(|hand| hand.tick(&mut begin()));
        self.trace.add(&record);
        if let Some(record) = &second {
            self.trace.add(record);
        }
        Beat { record, second, step }
    }

    fn simulate(&mut self, now: MonoNs) -> Option<StepReport> {
        let due = ORIGIN.plus((self.steps_made as f64 * self.sim_model.step_s() * NS_PER_S as f64).round() as u64);
        if now < due || self.waiting_since.is_some() {
            return None;
        }
        self.sim.next_ends_at(&self.sim_model, now);
        let mut hands: Vec<&mut Box<Station<D>>> = std::iter::once(&mut self.first).chain(&mut self.second).collect();
        let tools: Vec<ToolSample> = hands.iter().map(|hand| hand.tool).collect();
        let mut out: Vec<&mut MechanismSnapshot> = hands.iter_mut().map(|hand| &mut *hand.waiting).collect();
        let report = step(&self.sim_model, &mut self.sim, &tools, &mut out);
        self.waiting_since = Some(self.index);
        self.steps_made += 1;
        let mut view = self.sim.view;
        for hand in hands {
            if let Some(writer) = &mut hand.view {
                writer.publish(view);
            }
            view = view.from_other_hand();
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
