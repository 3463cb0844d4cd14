//! A hand at a wall in virtual time, tick by tick, for tests of the haptic tick.

#![allow(dead_code, reason = "each test uses its own part")]

use crate::common::{STEP_S, STIFFNESS, device, model, reading, wall};
use hapticd::device::{DeviceSpec, HandSample, SafeForce};
use hapticd::haptic::{HapticModel, HapticState, TickRecord, tick};
use hapticd::mechanism::MechanismSnapshot;
use hapticd::shared::lifecycle::{Event, Refusal, State};
use hapticd::shared::{Answer, Change, Faults, ManualClock, MonoNs, NS_PER_S, Order, Tick};

pub(crate) const PERIOD_NS: u64 = 1_000_000;
pub(crate) const PERIOD_S: f64 = 1e-3;
pub(crate) const ORIGIN: MonoNs = MonoNs(1_000_000_000_000);
/// How far the hand presses in, m.
pub(crate) const DEPTH: f64 = 4e-3;

/// A hand, a wall and a clock.
pub(crate) struct Rig {
    pub(crate) model: HapticModel,
    pub(crate) state: HapticState,
    pub(crate) snapshot: Box<MechanismSnapshot>,
    pub(crate) clock: ManualClock,
    pub(crate) index: u64,
    pub(crate) sequence: u64,
    /// Where the hand is, m above the wall's place of rest.
    pub(crate) hand: f64,
    /// Where the wall is published, m.
    pub(crate) wall: f64,
    /// New mechanisms come.
    pub(crate) publishing: bool,
    pub(crate) late_ns: u64,
    pub(crate) skipped: u64,
    pub(crate) solve_budget_ns: u64,
}

impl Rig {
    pub(crate) fn new(change: impl FnOnce(&mut HapticModel)) -> Self {
        let spec = Self::spec();
        let mut model = model(&spec);
        change(&mut model);
        Self {
            state: HapticState::new(&model, &spec),
            model,
            snapshot: Box::new(MechanismSnapshot::empty()),
            clock: ManualClock::at(ORIGIN),
            index: 0,
            sequence: 0,
            hand: 0.01,
            wall: 0.0,
            publishing: true,
            late_ns: 0,
            skipped: 0,
            solve_budget_ns: u64::MAX / 2,
        }
    }

    /// The device in the hand.
    pub(crate) fn spec() -> DeviceSpec {
        device(1000.0)
    }

    /// A rig whose hand presses [`DEPTH`] into the wall, enabled, everything settled.
    pub(crate) fn pressing(change: impl FnOnce(&mut HapticModel)) -> Self {
        let mut rig = Self::new(change);
        rig.command(Event::Enable);
        rig.run(600);
        rig.move_to(-DEPTH, 400);
        rig.run(500);
        let record = rig.tick();
        assert_eq!((record.faults, record.state), (Faults::NONE, State::Enabled));
        assert!((record.force.force.z - STIFFNESS * DEPTH).abs() < 0.01 * STIFFNESS * DEPTH, "{}", record.force.force);
        rig
    }

    pub(crate) fn command(&mut self, event: Event) {
        self.sequence += 1;
        assert!(self.state.order(Order::of(self.sequence, event)));
    }

    /// Gives an order to the next tick.
    pub(crate) fn order(&mut self, changes: &[Change]) {
        self.sequence += 1;
        assert!(self.state.order(Order::new(self.sequence, changes).expect("few changes")));
    }

    /// Gives an order and does the tick that carries it out; gives what became of it.
    pub(crate) fn ask(&mut self, changes: &[Change]) -> Result<(), (usize, Refusal)> {
        self.order(changes);
        let tick = self.tick().index;
        let [answer] = *self.state.answers() else { unreachable!("one order, one answer") };
        assert_eq!(answer, Answer { sequence: self.sequence, tick, outcome: answer.outcome });
        answer.outcome
    }

    /// A force of a client, upwards, for as long as it may last.
    pub(crate) fn push_with(&mut self, force_n: f64) {
        let until = self.due().plus(NS_PER_S);
        self.order(&[Change::Force { force: [0.0, 0.0, force_n], torque: [0.0; 3], until }]);
    }

    pub(crate) fn due(&self) -> MonoNs {
        ORIGIN.plus(self.index * PERIOD_NS)
    }

    pub(crate) fn tick(&mut self) -> TickRecord {
        let sample = reading(self.index + 1, self.due(), self.hand);
        self.tick_with(Some(sample))
    }

    /// One tick with this sample. Whatever happens, the force must be finite and within limits, and what is recorded
    /// must be what was sent.
    pub(crate) fn tick_with(&mut self, sample: Option<HandSample>) -> TickRecord {
        let due = self.due();
        let step = (due.since(ORIGIN) as f64 / NS_PER_S as f64 / STEP_S) as u64 + 1;
        if self.publishing && self.snapshot.stamp.sequence != step {
            wall(step, due, self.wall, &mut self.snapshot);
        }
        self.clock.set(due.plus(self.late_ns));
        self.index += 1;
        let mut now = Tick::begin(self.index, due, PERIOD_S, self.solve_budget_ns, &self.clock);
        now.skipped = self.skipped;
        let force: SafeForce = tick(&self.model, &mut self.state, sample, &self.snapshot, &mut now);
        let record = *self.state.record();
        assert_eq!(*force.get(), record.force);
        assert_eq!((record.state, record.cause), (self.state.gate().state(), self.state.gate().cause()));
        assert_eq!(record.cause.is_some(), record.state == State::Fault);
        assert!(record.force.is_finite(), "{record:?}");
        assert!(record.force.force.norm() <= self.model.limits.force.linear, "{record:?}");
        record
    }

    pub(crate) fn run(&mut self, ticks: usize) -> Vec<TickRecord> {
        (0..ticks).map(|_| self.tick()).collect()
    }

    /// Moves the hand evenly.
    pub(crate) fn move_to(&mut self, height: f64, ticks: usize) -> Vec<TickRecord> {
        let step = (height - self.hand) / ticks as f64;
        let records = (0..ticks).map(|_| {
            self.hand += step;
            self.tick()
        });
        records.collect()
    }
}
