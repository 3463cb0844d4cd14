//! A soft body that a tool carries: what the hand feels of it is its stiffness and what it touches, at every rate of the simulation.

#[expect(dead_code, reason = "shared with tests of the tick alone")]
mod common;

#[path = "common/rates.rs"]
mod rates;

#[expect(dead_code, reason = "shared with tests of soft bodies")]
#[path = "soft/scene.rs"]
mod soft_scene;

#[path = "common/soft_tool.rs"]
mod soft_tool;

use hapticd::haptic::TickRecord;
use hapticd::math::{Pose, Vec3, split};
use hapticd::shared::{Faults, ToolSample};
use hapticd::sim::{Breathing, SimData, SimModel, empty_snapshot, step};
use rates::{Rates, spread};
use soft_scene::{floor, plate};
use soft_tool::{Kind, LENGTH, STIFFNESS, breather, finger, hand};

const MASS: f64 = 0.25;
const HALF: Vec3 = Vec3::new(0.03, 0.03, 0.02);
const FRICTION: f64 = 0.4;

fn count(records: &[TickRecord], fault: Faults) -> usize {
    records.iter().filter(|record| record.faults.contains(fault)).count()
}

/// Forces of the scene on the hand from the middle of the finger, N: the mean force while the handle rests at a depth, and the place of the tool.
fn at_rest(rig: &mut Rates, place: Vec3, ticks: usize) -> (f64, f64) {
    let all: Vec<TickRecord> = (0..ticks).map(|_| rig.beat([place])[0]).collect();
    let forces: Vec<f64> = all[ticks - 100..].iter().map(|record| record.wanted.force.z).collect();
    let (mean, ripple) = spread(&forces);
    assert!(ripple < 1e-3, "{ripple} N at rest");
    (mean, all[ticks - 1].pose_world_tool.translation.z)
}

#[test]
fn a_block_on_the_tool_pressed_on_a_plane_has_its_uniaxial_stiffness_in_the_hand() {
    for (kind, rate_hz) in
        [(Kind::Linear, 30.0), (Kind::Linear, 250.0), (Kind::Corotational, 30.0), (Kind::Corotational, 250.0)]
    {
        let start = Vec3::new(0.0, 0.0, LENGTH + 0.001);
        let haptic = hand(start);
        let model = finger(kind, &haptic, vec![floor()], rate_hz, 0.5);
        let mut rig = Rates::new(vec![haptic], model);
        at_rest(&mut rig, start, 600);
        let (near, high) = at_rest(&mut rig, start - Vec3::z() * 0.003, 600);
        let (deep, low) = at_rest(&mut rig, start - Vec3::z() * 0.006, 600);
        let felt = (deep - near) / (high - low);
        let own: Vec3 =
            rig.sim.forces.iter().map(|force| if force.bodies[0].0 == 1 { force.force } else { -force.force }).sum();
        println!(
            "{kind:?} at {rate_hz} Hz: {felt:.3} N/m of {STIFFNESS:.3}, {deep:.6} N in the hand, {own:.6?} N in the simulation"
        );
        assert!((felt / STIFFNESS - 1.0).abs() < 1e-3, "{kind:?}: {felt}");
        // The block touches at its length above the plane.
        assert!((deep - STIFFNESS * (LENGTH - low)).abs() < 1e-3 * deep, "{kind:?}: {deep} N at {low}");
        assert!((own.z / deep - 1.0).abs() < 1e-3 && own.xy().norm() < 1e-3 * deep, "{kind:?}: {own:?} {deep}");
    }
}

/// The way of the handle: down on the table, along it to the box, and on with it.
fn place(k: usize) -> Vec3 {
    let t = k as f64 * 1e-3;
    let ramp = |from: f64, time: f64| ((t - from) / time).clamp(0.0, 1.0);
    let z = LENGTH + 0.001 - 0.003 * ramp(0.5, 0.4) + 0.010 * ramp(1.4, 0.2);
    Vec3::new(-0.06 + 0.012 * ramp(0.9, 0.5) + 0.028 * ramp(1.6, 1.4), 0.0, z)
}

fn pushed(kind: Kind, rate_hz: f64) -> (Vec<TickRecord>, Rates) {
    let haptic = hand(place(0));
    let model =
        finger(kind, &haptic, vec![floor(), plate(HALF, MASS, Pose::translation(0.0, 0.0, HALF.z))], rate_hz, FRICTION);
    let mut rig = Rates::new(vec![haptic], model);
    let records = (0..3300).map(|k| rig.beat([place(k)])[0]).collect();
    (records, rig)
}

#[test]
fn a_finger_that_presses_slides_and_pushes_a_box_feels_the_same_at_30_hz_as_at_1_khz() {
    for kind in [Kind::Linear, Kind::Corotational] {
        let ((fine, rig), (coarse, other)) = (pushed(kind, 1000.0), pushed(kind, 30.0));
        let force = |record: &TickRecord| record.wanted.force;
        let peak = fine.iter().fold(0.0_f64, |most, record| most.max(force(record).norm()));
        let touching: Vec<usize> = (0..fine.len()).filter(|k| force(&fine[*k]).norm() > 0.02 * peak).collect();
        let square: f64 = touching.iter().map(|k| (force(&fine[*k]) - force(&coarse[*k])).norm_squared()).sum();
        let rms = (square / touching.len() as f64).sqrt() / peak;
        let steepest = |records: &[TickRecord]| {
            records.windows(2).fold(0.0_f64, |most, pair| most.max((force(&pair[1]) - force(&pair[0])).norm())) / peak
        };
        let (step, usual) = (steepest(&coarse), steepest(&fine));
        let ways = [&rig, &other].map(|rig| rig.pose(1).translation.x);
        println!(
            "{kind:?}: peak {peak:.3} N, {:.2} % rms, largest step {:.2} % ({:.2} % at 1 kHz), the box at {ways:.5?} m, bounded {} ({})",
            100.0 * rms,
            100.0 * step,
            100.0 * usual,
            count(&coarse, Faults::SOLVER_BOUNDED),
            count(&fine, Faults::SOLVER_BOUNDED)
        );
        assert!(ways[0] > 0.005 && (ways[1] - ways[0]).abs() < 5e-4, "{ways:?}");
        assert!(rms < 0.03 && step < 0.05, "{kind:?}: {rms} {step}");
        for record in fine.iter().chain(&coarse) {
            assert!(record.account.balance_min_j >= 0.0, "energy was created");
        }
    }
}

#[test]
fn what_the_hand_gives_through_the_finger_is_what_the_box_gets() {
    for rate_hz in [30.0, 250.0] {
        let start = Vec3::new(-0.05, 0.0, 0.02 + 0.5 * LENGTH);
        let haptic = hand(start);
        let bodies = vec![floor(), plate(HALF, MASS, Pose::translation(0.0, 0.0, HALF.z))];
        let mut rig = Rates::new(vec![haptic.clone()], finger(Kind::Corotational, &haptic, bodies, rate_hz, 0.0));
        for _ in 0..600 {
            rig.beat([start]);
        }
        let mut impulse = 0.0;
        for k in 0..1500 {
            // To the box, against it, and back: the box leaves.
            let way = if k < 300 { 0.1e-3 * f64::from(k) } else { (0.03 - 0.1e-3 * f64::from(k - 300)).max(-0.005) };
            let [record] = rig.beat([start + Vec3::x() * way]);
            impulse -= record.wanted.force.x * 1e-3;
        }
        let given = rig.tool(0).pushes[1].impulse[0];
        let got = MASS * split(rig.sim.bodies[1].rigid().expect("rigid").twist()).0.x;
        println!("{rate_hz} Hz: {impulse:.6} N·s of the hand, {given:.6} N·s on the box, {got:.6} N·s in the box");
        assert!(got > 0.01, "{got}");
        assert!((got / given - 1.0).abs() < 1e-9, "{got} {given}");
        assert!((impulse / given - 1.0).abs() < 0.01, "{impulse} {given}");
    }
}

#[test]
fn the_tool_of_the_model_touches_nothing_itself() {
    let start = Vec3::new(0.0, 0.0, LENGTH + 0.001);
    let haptic = hand(start);
    let model: SimModel = finger(Kind::Linear, &haptic, vec![floor()], 250.0, 0.5);
    let mut rig = Rates::new(vec![haptic], model);
    for _ in 0..700 {
        rig.beat([start - Vec3::z() * 0.02]);
    }
    let [record] = rig.beat([start - Vec3::z() * 0.02]);
    assert!(record.contacts > 0 && record.contacts <= 16, "{}", record.contacts);
}

#[test]
fn a_soft_body_on_a_support_that_breathes_presses_a_tool_that_stands_still() {
    let haptic = hand(Vec3::z() * LENGTH);
    let breathing = Breathing { way: Vec3::z() * 0.002, period_s: 2.0 };
    let model = breather(&haptic, breathing, 100.0);
    let mut data = SimData::new(&model).expect("sound");
    let (mut snapshot, tool) = (empty_snapshot(), ToolSample::at_rest(haptic.tool.start));
    let mut worst = 0.0_f64;
    for k in 1..=200 {
        step(&model, &mut data, &[tool], &mut [&mut *snapshot]);
        let (way, speed) = breathing.at(f64::from(k) * 0.01);
        // The frame of the body is upside down.
        let pressed = data.bodies[0].elastic().expect("linear").pressed().z;
        worst = worst.max((pressed - STIFFNESS * way.z).abs());
        let normal = &snapshot.rows()[0];
        assert!(
            (normal.drift * normal.direction.z + speed.z).abs() < 1e-12,
            "the tick moves the rows with the support"
        );
    }
    println!("off by {worst:.1e} N of {:.2} N", STIFFNESS * 0.002);
    assert!(worst < 1e-6, "{worst}");
}
