//! Two hands in one scene: what one gives the other feels, through a box between them or tool on tool, at every rate of the
//! simulation, and neither gets energy that it did not put in.

#[expect(dead_code, reason = "shared with tests of the tick alone")]
mod common;

use common::{STIFFNESS, device, model};
use hapticd::device::HandSample;
use hapticd::geometry::{Cuboid, HalfSpace, Shape, Sphere};
use hapticd::haptic::{HapticModel, HapticState, TickRecord, tick};
use hapticd::math::{Mat3, Pose, Vec3};
use hapticd::mechanism::MechanismSnapshot;
use hapticd::mechanism::pmi::RigidInertia;
use hapticd::mechanism::solver::Settings;
use hapticd::shared::lifecycle::Event;
use hapticd::shared::{ManualClock, MonoNs, NS_PER_S, Order, Stamp, Tick, ToolSample};
use hapticd::sim::{BodyModel, Material, Motion, SimData, SimModel, ToolBody, empty_snapshot, step};

const G: f64 = 9.81;
const PERIOD_NS: u64 = 1_000_000;
const ORIGIN: MonoNs = MonoNs(1_000_000_000);
const RATES_HZ: [f64; 4] = [60.0, 125.0, 250.0, 1000.0];
const RADIUS: f64 = 0.01;
const MASS: f64 = 0.3;
const SIDE: f64 = 0.06;
/// Where the box is taken: above its middle, so that it hangs.
const GRIP: f64 = 0.6 * SIDE;

/// One hand: it goes where it is told.
struct Hand {
    haptic: HapticModel,
    state: HapticState,
    snapshot: Box<MechanismSnapshot>,
}

/// Two hands, a table and perhaps a box on it.
struct Rig {
    hands: [Hand; 2],
    sim_model: SimModel,
    sim: SimData,
    clock: ManualClock,
    index: u64,
    steps: u64,
}

impl Rig {
    fn new(rate_hz: f64, starts: [Vec3; 2], with_box: bool) -> Self {
        let body = |name: &str, shape: Shape, motion: Motion, start: Pose| BodyModel {
            name: name.into(),
            shape,
            field: None,
            pose_body_shape: Pose::identity(),
            motion,
            material: 0,
            start,
        };
        let inertia = RigidInertia::new(MASS, Mat3::identity() * (MASS * SIDE * SIDE / 6.0)).expect("sound");
        let cube = Shape::Cuboid(Cuboid { half: Vec3::repeat(0.5 * SIDE) });
        let mut bodies = vec![body("table", Shape::HalfSpace(HalfSpace), Motion::Fixed, Pose::identity())];
        if with_box {
            bodies.push(body("box", cube, Motion::Free(inertia), Pose::translation(0.0, 0.0, 0.5 * SIDE)));
        }
        let spec = device(1000.0);
        let hands = starts.map(|start| {
            let mut haptic = model(&spec);
            haptic.tool.start = Pose::translation(start.x, start.y, start.z);
            let mut state = HapticState::new(&haptic, &spec);
            state.order(Order::of(1, Event::Enable));
            Hand { haptic, state, snapshot: empty_snapshot() }
        });
        let tool = |hand: &Hand| ToolBody {
            shape: Shape::Sphere(Sphere { radius: RADIUS }),
            field: None,
            pose_tool_shape: Pose::identity(),
            inertia: hand.haptic.tool.inertia,
            material: 0,
            rotation_locked: true,
            start: hand.haptic.tool.start,
        };
        let sim_model = SimModel {
            bodies,
            tools: hands.iter().map(tool).collect(),
            needle: None,
            materials: vec![Material { name: "rubber".into(), friction: 0.8, restitution: 0.0 }],
            gravity: Vec3::new(0.0, 0.0, -G),
            rate_hz,
            margin_m: 0.02,
            travel_m: 0.02,
            collision_thread: false,
            reduction: Default::default(),
            solver: Settings::default(),
        };
        let sim = SimData::new(&sim_model).expect("sound");
        Self { hands, sim, sim_model, clock: ManualClock::at(ORIGIN), index: 0, steps: 0 }
    }

    /// One tick of both with the handles at `places`, after a simulation step if one is due.
    fn beat(&mut self, places: [Vec3; 2]) -> [TickRecord; 2] {
        let now = ORIGIN.plus(self.index * PERIOD_NS);
        self.clock.set(now);
        let due = ORIGIN.plus((self.steps as f64 * self.sim_model.step_s() * NS_PER_S as f64).round() as u64);
        if now >= due {
            self.sim.next_ends_at(&self.sim_model, now);
            let tools: Vec<ToolSample> = self.hands.iter().map(|hand| *hand.state.tool()).collect();
            let mut out: Vec<_> = self.hands.iter_mut().map(|hand| &mut *hand.snapshot).collect();
            step(&self.sim_model, &mut self.sim, &tools, &mut out);
            self.steps += 1;
        }
        self.index += 1;
        let mut places = places.into_iter();
        self.hands.each_mut().map(|hand| {
            let place = places.next().expect("two");
            let mut now_tick = Tick::begin(self.index, now, 1e-3, u64::MAX / 2, &self.clock);
            let sample = HandSample {
                stamp: Stamp { sequence: self.index, at: now },
                pose_device_handle: Pose::translation(place.x, place.y, place.z),
                buttons: 0,
                homed: true,
            };
            tick(&hand.haptic, &mut hand.state, Some(sample), &hand.snapshot, &mut now_tick);
            *hand.state.record()
        })
    }

    fn cube(&self) -> Vec3 {
        self.sim.pose(1).translation.vector
    }
}

/// Mean and peak-to-peak.
fn spread(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let most = values.iter().fold(f64::MIN, |m, x| m.max(*x));
    let least = values.iter().fold(f64::MAX, |m, x| m.min(*x));
    (mean, most - least)
}

/// The hands on both sides of the box, `way` nearer than where they touch it, at this height.
fn around(way: f64, height: f64) -> [Vec3; 2] {
    let x = 0.5 * SIDE + RADIUS - way;
    [Vec3::new(-x, 0.0, height), Vec3::new(x, 0.0, height)]
}

#[test]
fn a_box_squeezed_and_lifted_hangs_on_both_hands_alike() {
    const PRESSED: f64 = 0.004;
    for rate_hz in RATES_HZ {
        let mut rig = Rig::new(rate_hz, around(-0.005, GRIP), true);
        let (mut up, mut across, mut balance) = ([vec![], vec![]], [vec![], vec![]], f64::MAX);
        for k in 0..4000 {
            // Take hold, 9 mm in 0.45 s; wait; up by 40 mm in 0.8 s; hold.
            let t = f64::from(k) * 1e-3;
            let way = (-0.005 + 0.02 * (t - 0.3).max(0.0)).min(PRESSED);
            let height = GRIP + (0.05 * (t - 1.2).max(0.0)).min(0.04);
            let records = rig.beat(around(way, height));
            assert!(records.iter().all(|record| record.cause.is_none()), "{rate_hz} Hz: {records:?}");
            for (hand, record) in records.iter().enumerate() {
                balance = balance.min(record.account.balance_min_j);
                if k >= 3000 {
                    up[hand].push(-record.wanted.force.z);
                    across[hand].push(record.wanted.force.x);
                }
            }
        }
        let lifted = rig.cube().z - 0.5 * SIDE;
        let (left, right) = (spread(&up[0]), spread(&up[1]));
        let (from_left, from_right) = (spread(&across[0]), spread(&across[1]));
        println!(
            "{rate_hz} Hz: lifted {lifted}, up {left:?} {right:?}, across {from_left:?} {from_right:?}, {balance:e} J"
        );
        // The springs give way by half the weight each.
        let sag = 0.5 * MASS * G / STIFFNESS;
        assert!((lifted - 0.04 + sag).abs() < 2e-4, "{rate_hz} Hz: lifted by {lifted}");
        let weight = MASS * G;
        assert!((left.0 + right.0 - weight).abs() < 0.01 * weight, "{rate_hz} Hz: {left:?} and {right:?} of {weight}");
        assert!((left.0 - right.0).abs() < 0.02 * weight, "{rate_hz} Hz: shared {left:?} and {right:?}");
        let squeeze = PRESSED * STIFFNESS;
        assert!((from_left.0 + from_right.0).abs() < 0.01 * squeeze, "{rate_hz} Hz: {from_left:?} {from_right:?}");
        assert!((from_right.0 - squeeze).abs() < 0.02 * squeeze, "{rate_hz} Hz: {from_right:?} of {squeeze}");
        for ripple in [left.1, right.1, from_left.1, from_right.1] {
            assert!(ripple < 0.02 * squeeze, "{rate_hz} Hz: does not settle: {ripple} N");
        }
        assert!(balance >= 0.0, "{rate_hz} Hz: a hand got {} J", -balance);
    }
}

#[test]
fn a_hand_that_holds_against_a_pushed_box_feels_the_push() {
    for rate_hz in RATES_HZ {
        let mut rig = Rig::new(rate_hz, around(-0.005, GRIP), true);
        let (mut alone, mut felt) = (0.0, [0.0; 2]);
        for k in 0..4000 {
            // The right hand presses 2 mm against the box, which the table holds, and stays; the left one comes, 8 mm.
            let t = f64::from(k) * 1e-3;
            let (left, right) = ((-0.005 + 0.02 * (t - 1.0).max(0.0)).min(0.008), (-0.005 + 0.02 * t).min(0.002));
            let records = rig.beat([around(left, 0.45 * SIDE)[0], around(right, 0.45 * SIDE)[1]]);
            assert!(records.iter().all(|record| record.cause.is_none()), "{rate_hz} Hz: {records:?}");
            if k == 950 {
                alone = records[1].wanted.force.x;
            }
            felt = [-records[0].wanted.force.x, records[1].wanted.force.x];
        }
        // Two springs in a row over 10 mm; between them is what friction under the box bears.
        let table = 0.8 * MASS * G;
        println!("{rate_hz} Hz: {alone} alone, then {felt:?}; the table takes at most {table}");
        assert!(alone > 0.0 && alone <= table && felt[1] > alone + 1.0, "{rate_hz} Hz: {alone}, then {felt:?}");
        assert!((felt[0] - felt[1]).abs() <= table, "{rate_hz} Hz: {felt:?}");
        assert!((felt[0] + felt[1] - 0.010 * STIFFNESS).abs() < 0.05, "{rate_hz} Hz: {felt:?}");
    }
}

#[test]
fn tools_that_press_on_each_other_give_and_take_the_same() {
    let at = |way: f64| [Vec3::new(way - RADIUS, 0.0, 0.05), Vec3::new(RADIUS - way, 0.0, 0.05)];
    // A tool of 20 g on 1000 N/m asks for more than 60 Hz: see the check of scenes for two.
    for rate_hz in [125.0, 250.0, 1000.0] {
        let mut rig = Rig::new(rate_hz, at(-0.005), false);
        let (mut felt, mut balance) = ([vec![], vec![]], f64::MAX);
        for k in 0..3000 {
            let way = (-0.005 + 0.02 * (f64::from(k) * 1e-3 - 0.3).max(0.0)).min(0.004);
            let records = rig.beat(at(way));
            for (hand, record) in records.iter().enumerate() {
                balance = balance.min(record.account.balance_min_j);
                if k >= 2000 {
                    felt[hand].push(record.wanted.force.x);
                }
            }
        }
        let (left, right) = (spread(&felt[0]), spread(&felt[1]));
        println!("{rate_hz} Hz: {left:?} {right:?} {balance:e} J");
        assert!((left.0 + 4.0).abs() < 0.04 && (right.0 - 4.0).abs() < 0.04, "{rate_hz} Hz: {left:?} {right:?}");
        assert!(left.1.max(right.1) < 0.05 && balance >= 0.0, "{rate_hz} Hz: {left:?} {right:?} {balance}");
    }
}
