//! The operating states over random histories of the pure tick: orders, halts, and everything that can go wrong, in virtual
//! time. The judge keeps its own books; of the tick it sees what goes in, the record and the answers.

mod common;
#[path = "common/rig.rs"]
mod rig;

use common::reading;
use hapticd::haptic::{ORDERS_PER_TICK, TickRecord, Trip};
use hapticd::math::Vec3;
use hapticd::shared::lifecycle::{Event, State};
use hapticd::shared::{Change, Faults, Order, Parameter, Parameters};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rig::{ORIGIN, PERIOD_NS, PERIOD_S, Rig};
use std::cell::Cell;

/// Times of the policy, short enough to be met in a test, s.
const FORCE_HELD_S: f64 = 0.2;
const PASSIVITY_HELD_S: f64 = 0.2;
const DOWN_S: f64 = 0.15;

/// Something that happens.
#[derive(Clone, Debug)]
enum Happening {
    /// Orders, all before one tick.
    Orders(Vec<Vec<Change>>),
    Halt,
    /// Nothing from the device for some ticks.
    Silence(u64),
    /// Readings that are no numbers for some ticks.
    Nonsense(u64),
    /// The device does not know where it is for some ticks.
    Unhomed(u64),
    /// Ticks that come late.
    Late(u64),
    /// The simulation publishes nothing for some ticks.
    Down(u64),
    /// A mechanism of wrong numbers.
    BadMechanism,
    /// The hand moves: m/s, ticks.
    Move(f64, u64),
    /// Time passes.
    Wait(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop::sample::select(vec![
        Event::Enable,
        Event::Enable,
        Event::Enable,
        Event::Resume,
        Event::Resume,
        Event::Acknowledge,
        Event::Acknowledge,
        Event::Pause,
        Event::Disable,
        Event::Trip,
    ])
}

fn change() -> impl Strategy<Value = Change> {
    let value = prop_oneof![6 => 0.3_f64..3.0, 1 => Just(f64::NAN), 1 => Just(-1.0), 1 => Just(1e9)];
    let set = (prop::sample::select(Parameter::ALL.to_vec()), value).prop_map(|(parameter, factor)| {
        // Of the value that the rig starts with; beyond the range now and then.
        let start = match parameter {
            Parameter::Stiffness => 1000.0,
            Parameter::Damping => 4.0,
            Parameter::MaxForce => 8.0,
            _ => 1.0,
        };
        Change::Set(parameter, start * factor)
    });
    let newtons = prop_oneof![6 => -3.0_f64..3.0, 1 => Just(f64::INFINITY), 1 => Just(50.0)];
    let force = (newtons, 0_u64..200).prop_map(|(newtons, ms)| Change::Force {
        force: [0.0, 0.0, newtons],
        torque: [0.0; 3],
        until: ORIGIN.plus(ms * 50 * PERIOD_NS),
    });
    let until = ORIGIN.plus(3600 * 1000 * PERIOD_NS);
    let turn = (-2.0_f64..2.0).prop_map(move |rate| Change::Turn { rate, until });
    prop_oneof![8 => event().prop_map(Change::Event), 4 => set, 2 => force, 1 => turn]
}

fn happening() -> impl Strategy<Value = Happening> {
    let orders = prop::collection::vec(prop::collection::vec(change(), 1..4), 1..4);
    let burst = prop::collection::vec(prop::collection::vec(change(), 1..2), 12..13);
    // The usual way into force, so that much happens under force.
    let start = Just(Happening::Orders(vec![
        vec![Change::Event(Event::Acknowledge)],
        vec![Change::Event(Event::Enable)],
        vec![Change::Event(Event::Resume)],
    ]));
    prop_oneof![
        6 => orders.prop_map(Happening::Orders),
        1 => burst.prop_map(Happening::Orders),
        6 => start,
        1 => Just(Happening::Halt),
        1 => (1_u64..40).prop_map(Happening::Silence),
        1 => (1_u64..40).prop_map(Happening::Nonsense),
        1 => (1_u64..5).prop_map(Happening::Unhomed),
        1 => (1_u64..15).prop_map(Happening::Late),
        1 => (50_u64..400).prop_map(Happening::Down),
        1 => Just(Happening::BadMechanism),
        2 => (-0.2_f64..0.2, 1_u64..100).prop_map(|(speed, ticks)| Happening::Move(speed, ticks)),
        1 => (prop::sample::select(vec![-2.0, 2.0]), 20_u64..90).prop_map(|(speed, ticks)| Happening::Move(speed, ticks)),
        8 => (1_u64..150).prop_map(Happening::Wait),
    ]
}

/// What goes into a tick besides orders.
#[derive(Clone, Copy, Default)]
struct Conditions {
    halted: bool,
    silent: bool,
    nonsense: bool,
    unhomed: bool,
    late: bool,
}

/// What the orders of a tick came to.
struct Followed {
    state: State,
    /// One of them asked to trip.
    asked: bool,
    acknowledged: bool,
}

/// The judge's own books.
struct Judge {
    rig: Rig,
    state: State,
    cause: Option<Trip>,
    gain: f64,
    /// An enable or resume has been accepted, with a homed device, since force was last out of the question.
    licensed: bool,
    sequence: u64,
    targets: Parameters,
    /// Ticks for which each condition has lasted.
    overruns: u64,
    unseen: u64,
    fast: u64,
    blind: u64,
    at_limit: u64,
    starved: u64,
    overdrawn: u64,
    /// Ticks with a handle that accelerated too much, less those without.
    erratic: u64,
    /// How often force flowed, and each trip happened.
    forced: u64,
    trips: [u64; Trip::ALL.len()],
}

impl Judge {
    fn new() -> Self {
        let mut rig = Rig::new(|model| {
            let policy = &mut model.policy;
            (policy.force_held_s, policy.passivity_held_s) = (FORCE_HELD_S, PASSIVITY_HELD_S);
            policy.simulation_down_s = DOWN_S;
            policy.ramp_s = 0.05;
        });
        rig.hand = 2e-3;
        Self {
            state: State::Disabled,
            cause: None,
            gain: 0.0,
            licensed: false,
            sequence: 0,
            targets: *rig.state.parameter_range().start(),
            rig,
            overruns: 0,
            unseen: 0,
            fast: 0,
            blind: 0,
            at_limit: 0,
            starved: 0,
            overdrawn: 0,
            erratic: 0,
            forced: 0,
            trips: [0; Trip::ALL.len()],
        }
    }

    fn happen(&mut self, happening: &Happening) {
        let plain = Conditions::default();
        match happening {
            Happening::Orders(orders) => self.tick(plain, orders),
            // A halt and an acknowledge at once: the halt must not be lost.
            Happening::Halt => {
                let acknowledge = vec![Change::Event(Event::Acknowledge)];
                self.tick(Conditions { halted: true, ..plain }, &[acknowledge]);
            }
            Happening::BadMechanism => {
                self.rig.snapshot.stamp.sequence += 1_000_000;
                self.rig.snapshot.rows[0].offset = f64::NAN;
                self.rig.publishing = false;
                self.tick(plain, &[]);
                self.rig.publishing = true;
            }
            Happening::Silence(ticks) => self.ticks(*ticks, Conditions { silent: true, ..plain }),
            Happening::Nonsense(ticks) => self.ticks(*ticks, Conditions { nonsense: true, ..plain }),
            Happening::Unhomed(ticks) => self.ticks(*ticks, Conditions { unhomed: true, ..plain }),
            Happening::Late(ticks) => self.ticks(*ticks, Conditions { late: true, ..plain }),
            Happening::Wait(ticks) => self.ticks(*ticks, plain),
            Happening::Down(ticks) => {
                self.rig.publishing = false;
                self.ticks(*ticks, plain);
                self.rig.publishing = true;
            }
            Happening::Move(speed, ticks) => {
                for _ in 0..*ticks {
                    self.rig.hand = (self.rig.hand + speed * PERIOD_S).clamp(-0.012, 0.2);
                    self.tick(plain, &[]);
                }
            }
        }
    }

    fn ticks(&mut self, count: u64, conditions: Conditions) {
        let acknowledge = [vec![Change::Event(Event::Acknowledge)]];
        for n in 0..count {
            // Now and then in the middle of the trouble: which must refuse it.
            self.tick(conditions, if n % 7 == 3 { &acknowledge } else { &[] });
        }
    }

    /// One tick, and everything that must hold of it.
    fn tick(&mut self, conditions: Conditions, orders: &[Vec<Change>]) {
        let mut given = Vec::new();
        for changes in orders {
            self.sequence += 1;
            let order = Order::new(self.sequence, changes).expect("few changes");
            assert_eq!(self.rig.state.order(order), given.len() < ORDERS_PER_TICK);
            if given.len() < ORDERS_PER_TICK {
                given.push(order);
            }
        }
        if conditions.halted {
            self.rig.state.trip(Trip::Halt);
        }
        self.rig.late_ns = if conditions.late { PERIOD_NS + 1 } else { 0 };
        let height = if conditions.nonsense { f64::NAN } else { self.rig.hand };
        let mut sample = reading(self.rig.index + 1, self.rig.due(), height);
        sample.homed = !conditions.unhomed;
        let record = self.rig.tick_with((!conditions.silent).then_some(sample));
        let seen = !record.faults.contains(Faults::DEVICE_SILENT) && !record.faults.contains(Faults::DEVICE_INVALID);
        let accepted = self.answers(&given, &record);
        let before = self.trips_before_orders(&conditions, &record, seen);
        let followed = self.follow(&accepted, &before, seen && sample.homed);
        let after = self.trips_after_orders(followed.state, &record, seen);
        self.check_state(&followed, &before, &after, &record);
        self.check_acknowledge(&followed, &conditions, seen, &record);
        self.check_force(&record, seen);
        (self.state, self.cause, self.gain) = (record.state, record.cause, record.gain);
    }

    /// Every order is answered once, in order, at this tick. Gives those carried out.
    fn answers(&mut self, given: &[Order], record: &TickRecord) -> Vec<Order> {
        let answers = self.rig.state.answers();
        assert!(answers.iter().map(|a| a.sequence).eq(given.iter().map(|o| o.sequence)));
        assert!(answers.iter().all(|a| a.tick == record.index));
        let outcomes = given.iter().zip(answers);
        let accepted: Vec<Order> = outcomes.filter(|(_, a)| a.outcome.is_ok()).map(|(o, _)| *o).collect();
        for order in &accepted {
            for change in order.changes() {
                match *change {
                    Change::Set(parameter, value) => {
                        assert!(value.is_finite() && value > 0.0, "{change:?}");
                        self.targets.set(parameter, value);
                    }
                    Change::Force { force, .. } => assert!(force[2].is_finite() && force[2].abs() <= 8.0, "{change:?}"),
                    Change::Turn { .. } => unreachable!("this tool is turned by nobody: {change:?}"),
                    Change::Event(_) => {}
                }
            }
        }
        accepted
    }

    /// Trips that this tick's input makes, in any state but for the last.
    fn trips_before_orders(&mut self, conditions: &Conditions, record: &TickRecord, seen: bool) -> Vec<Trip> {
        let count = |count: &mut u64, holds: bool| {
            *count = if holds { *count + 1 } else { 0 };
            *count
        };
        let mut trips = Vec::new();
        let mut add = |holds: bool, trip| trips.extend(holds.then_some(trip));
        assert_eq!(record.faults.contains(Faults::OVERRUN), conditions.late);
        add(conditions.halted, Trip::Halt);
        add(count(&mut self.overruns, conditions.late) >= 10, Trip::Deadline);
        add(count(&mut self.unseen, !seen) > 20, Trip::DeviceLost);
        add(record.faults.contains(Faults::SOLVER_FAILED), Trip::Solver);
        let forced_before = self.state == State::Enabled && trips.is_empty();
        trips.extend((seen && conditions.unhomed && forced_before).then_some(Trip::DeviceLost));
        trips
    }

    /// Follows the orders carried out.
    fn follow(&mut self, accepted: &[Order], before: &[Trip], homed: bool) -> Followed {
        let mut state = if before.is_empty() { self.state } else { State::Fault };
        let (mut asked, mut acknowledged) = (false, false);
        for change in accepted.iter().flat_map(Order::changes) {
            let Change::Event(event) = *change else { continue };
            state = match (event, state) {
                (Event::Trip, _) => {
                    asked = true;
                    State::Fault
                }
                (Event::Acknowledge, State::Fault) => {
                    acknowledged = true;
                    State::Disabled
                }
                (Event::Enable, State::Disabled | State::Enabled) | (Event::Resume, State::Paused) => {
                    assert!(homed, "force was allowed on a device that does not know where it is");
                    self.licensed = true;
                    State::Enabled
                }
                (Event::Disable, State::Disabled | State::Enabled | State::Paused) => State::Disabled,
                (Event::Pause, State::Enabled | State::Paused) => State::Paused,
                _ => unreachable!("{event:?} was carried out in {state:?}"),
            };
        }
        Followed { state, asked, acknowledged }
    }

    /// Trips by what has lasted too long.
    fn trips_after_orders(&mut self, state: State, record: &TickRecord, seen: bool) -> Vec<Trip> {
        let limits = self.rig.model.limits;
        let (sent, asked) = (record.force.force.norm(), record.wanted.force.norm() * record.gain);
        let enabled = state == State::Enabled;
        let no_mechanism =
            record.faults.contains(Faults::SNAPSHOT_MISSING) || record.faults.contains(Faults::SNAPSHOT_STALE);
        let starved = record.faults.contains(Faults::PASSIVITY_LIMITED) && asked > 0.5 && sent < 0.1 * asked;
        let mut trips = Vec::new();
        let conditions = [
            (&mut self.fast, enabled && record.velocity.norm() > 1.5 * limits.speed.linear, 0.05, Trip::Speed),
            (&mut self.blind, enabled && no_mechanism, DOWN_S, Trip::SimulationDown),
            (&mut self.at_limit, sent > 0.99 * limits.force.linear, FORCE_HELD_S, Trip::ForceLimit),
            (&mut self.starved, starved, PASSIVITY_HELD_S, Trip::Passivity),
            (&mut self.overdrawn, enabled && record.account.reserve_j < -1e-6, 0.02, Trip::Overdrawn),
        ];
        for (ticks, holds, most_s, trip) in conditions {
            let held = *ticks;
            // A tick that sees nothing of the handle says nothing about the simulation.
            *ticks = match (seen, trip) {
                (false, Trip::SimulationDown) => *ticks,
                (true, _) if holds => *ticks + 1,
                _ => 0,
            };
            let due = (most_s / PERIOD_S).round() as u64;
            // What is sent in the tick of a trip is zero: that the condition still held can then not be seen.
            let cut = matches!(trip, Trip::ForceLimit | Trip::Passivity) && record.cause == Some(trip) && held == due;
            trips.extend((seen && (*ticks > due || cut)).then_some(trip));
        }
        let late = record.faults.contains(Faults::OVERRUN);
        let erratic = enabled && record.faults.contains(Faults::ACCELERATION_EXCEEDED) && !late;
        self.erratic = if erratic { self.erratic + 1 } else { self.erratic.saturating_sub(1) } * u64::from(seen);
        trips.extend((seen && self.erratic > 40).then_some(Trip::Acceleration));
        trips.extend((seen && enabled && record.account.reserve_j < -1e-3).then_some(Trip::Overdrawn));
        trips.extend(record.faults.contains(Faults::FORCE_INVALID).then_some(Trip::Solver));
        trips
    }

    fn check_state(&mut self, followed: &Followed, before: &[Trip], after: &[Trip], record: &TickRecord) {
        let Followed { state, asked, acknowledged } = *followed;
        let tripped = !before.is_empty() || asked || !after.is_empty();
        let expected = if tripped { State::Fault } else { state };
        assert_eq!(record.state, expected, "{before:?} {asked} {after:?} {record:?}");
        assert_eq!(record.cause.is_some(), record.state == State::Fault);
        let Some(cause) = record.cause else { return };
        if self.state == State::Fault && !acknowledged {
            assert_eq!(Some(cause), self.cause, "the first cause is kept");
        } else {
            let possible = before.contains(&cause) || asked && cause == Trip::Halt || after.contains(&cause);
            assert!(possible, "{cause:?} out of the blue: {before:?} {asked} {after:?}");
            self.trips[Trip::ALL.iter().position(|trip| *trip == cause).expect("it is one of them")] += 1;
        }
    }

    /// Nobody can acknowledge what is still there, nor what was not seen; and it leads to no force.
    fn check_acknowledge(&self, followed: &Followed, conditions: &Conditions, seen: bool, record: &TickRecord) {
        if followed.acknowledged {
            assert_eq!(self.state, State::Fault, "it had been seen");
            assert!(seen && !conditions.late && !conditions.halted);
            assert!(record.velocity.norm() <= 0.1, "the handle stands still");
            assert!(matches!(record.state, State::Disabled | State::Fault), "{:?}", record.state);
            assert_eq!((record.gain, record.force.force), (0.0, Vec3::zeros()));
        }
    }

    /// Force flows by licence alone, and its gain moves by the ramp.
    fn check_force(&mut self, record: &TickRecord, seen: bool) {
        let step = PERIOD_S / self.rig.model.policy.ramp_s;
        let change = record.gain - self.gain;
        let cut = record.state == State::Fault && record.gain == 0.0;
        assert!(change <= step + 1e-12 && (change >= -10.0 * step - 1e-12 || cut), "{change}");
        if record.force.force != Vec3::zeros() {
            assert!(self.licensed && record.gain > 0.0 && seen && record.state != State::Fault, "{record:?}");
            assert!(record.force.force.norm() <= record.parameters.get(Parameter::MaxForce));
            self.forced += 1;
        }
        self.licensed &= record.state == State::Enabled || record.gain > 0.0;
    }

    /// When nothing more is asked, parameters come to what the orders carried out have said, and nothing else.
    fn settle(&mut self) {
        self.ticks(1500, Conditions::default());
        let found = self.rig.state.record().parameters;
        for parameter in Parameter::ALL {
            assert_eq!(found.get(parameter), self.targets.get(parameter), "{parameter:?}");
        }
    }
}

#[test]
fn no_history_lets_force_out_unasked_or_loses_a_trip_or_an_order() {
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let (forced, trips) = (Cell::new(0), Cell::new([0; Trip::ALL.len()]));
    let histories = prop::collection::vec(happening(), 1..60);
    let outcome = runner.run(&histories, |history| {
        let mut judge = Judge::new();
        for happening in &history {
            judge.happen(happening);
        }
        judge.settle();
        forced.set(forced.get() + judge.forced);
        trips.set(std::array::from_fn(|n| trips.get()[n] + judge.trips[n]));
        Ok(())
    });
    if let Err(error) = outcome {
        unreachable!("{error}");
    }
    println!("{} ticks with force; trips {:?}", forced.get(), trips.get());
    // The histories were worth judging.
    assert!(forced.get() > 10_000);
    for (trip, count) in Trip::ALL.into_iter().zip(trips.get()) {
        // A solution that is no number, energy, a handle that cannot be, and others that died have tests of their own.
        let apart = matches!(
            trip,
            Trip::Solver
                | Trip::Passivity
                | Trip::Silenced
                | Trip::Acceleration
                | Trip::Overdrawn
                | Trip::ControlSilent
        );
        assert!(count > 0 || apart, "{trip:?} never happened");
    }
}
