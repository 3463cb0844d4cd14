//! Two hands in one scene: what one gives the other feels, through a box between them or tool on tool, at every rate of the
//! simulation, and neither gets energy that it did not put in.

#[expect(dead_code, reason = "shared with tests of the tick alone")]
mod common;

#[path = "common/rates.rs"]
mod rates;

use common::{STIFFNESS, device, model};
use hapticd::geometry::{Cuboid, HalfSpace, Shape};
use hapticd::math::{Mat3, Pose, Vec3};
use hapticd::mechanism::pmi::RigidInertia;
use hapticd::sim::Motion;
use rates::{Rates, ball, body, scene, spread};

const G: f64 = 9.81;
const RATES_HZ: [f64; 4] = [60.0, 125.0, 250.0, 1000.0];
const RADIUS: f64 = 0.01;
const MASS: f64 = 0.3;
const SIDE: f64 = 0.06;
/// Where the box is taken: above its middle, so that it hangs.
const GRIP: f64 = 0.6 * SIDE;

/// Two hands that go where they are told, a table and perhaps a box on it.
fn table(rate_hz: f64, starts: [Vec3; 2], with_box: bool) -> Rates {
    let inertia = RigidInertia::new(MASS, Mat3::identity() * (MASS * SIDE * SIDE / 6.0)).expect("sound");
    let cube = Shape::Cuboid(Cuboid { half: Vec3::repeat(0.5 * SIDE) });
    let mut bodies = vec![body("table", Shape::HalfSpace(HalfSpace), Motion::Fixed, Pose::identity())];
    if with_box {
        bodies.push(body("box", cube, Motion::Rigid(inertia), Pose::translation(0.0, 0.0, 0.5 * SIDE)));
    }
    let hands: Vec<_> = starts
        .into_iter()
        .map(|start| {
            let mut haptic = model(&device(1000.0));
            haptic.tool.start = Pose::translation(start.x, start.y, start.z);
            haptic
        })
        .collect();
    let tools = hands.iter().map(|haptic| ball(haptic, RADIUS)).collect();
    Rates::new(hands, scene(rate_hz, bodies, tools, 0.8))
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
        let mut rig = table(rate_hz, around(-0.005, GRIP), true);
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
        let lifted = rig.pose(1).translation.z - 0.5 * SIDE;
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
        let mut rig = table(rate_hz, around(-0.005, GRIP), true);
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
        let mut rig = table(rate_hz, at(-0.005), false);
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
