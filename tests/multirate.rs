//! Two rates, one scene: ticks of 1 kHz and simulation steps of 30 to 1000 Hz interleaved in virtual time. What the hand
//! feels must not depend on the rate of the simulation, and new mechanisms must not be felt as such.

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
use std::f64::consts::FRAC_PI_2;

const G: f64 = 9.81;
const RATES_HZ: [f64; 4] = [30.0, 60.0, 250.0, 1000.0];
const RADIUS: f64 = 0.005;
const MASS: f64 = 0.5;
const SIDE: f64 = 0.06;
const FRICTION: f64 = 0.4;

/// A box on a table, perhaps with a wall behind it, and a ball held by a hand that goes where it is told.
fn table(rate_hz: f64, start: Vec3, wall_at: Option<f64>) -> Rates {
    let mut haptic = model(&device(1000.0));
    haptic.tool.start = Pose::translation(start.x, start.y, start.z);
    let fixed = |name: &str, start: Pose| body(name, Shape::HalfSpace(HalfSpace), Motion::Fixed, start);
    let inertia = RigidInertia::new(MASS, Mat3::identity() * (MASS * SIDE * SIDE / 6.0)).expect("sound");
    let cube = Shape::Cuboid(Cuboid { half: Vec3::repeat(0.5 * SIDE) });
    let cube = body("box", cube, Motion::Rigid(inertia), Pose::translation(0.0, 0.0, 0.5 * SIDE));
    let mut bodies = vec![fixed("table", Pose::identity()), cube];
    bodies.extend(wall_at.map(|x| fixed("wall", Pose::new(Vec3::x() * x, Vec3::y() * -FRAC_PI_2))));
    let model = scene(rate_hz, bodies, vec![ball(&haptic, RADIUS)], FRICTION);
    Rates::new(vec![haptic], model)
}

/// Where the hand waits to push the box from the side, 5 mm away from it.
fn beside() -> Vec3 {
    Vec3::new(-0.5 * SIDE - RADIUS - 0.005, 0.0, 0.45 * SIDE)
}

/// Mean and ripple of the force on a hand that pushes the box along at 5 cm/s, in the sixth second: before that the box
/// swings on the spring of the coupling, as it would on any.
fn push_along(mut rig: Rates) -> (f64, f64) {
    let mut forces = Vec::new();
    for k in 0..6000 {
        let [record] = rig.beat([beside() + Vec3::x() * (0.05e-3 * k as f64)]);
        if k >= 5000 {
            forces.push(-record.wanted.force.x);
        }
    }
    let (mean, ripple) = spread(&forces);
    (mean / (FRICTION * MASS * G), ripple / (FRICTION * MASS * G))
}

#[test]
fn a_pushed_box_feels_as_heavy_as_friction_says_at_every_rate_of_the_simulation() {
    for (rate_hz, most_ripple) in RATES_HZ.into_iter().zip([0.1, 0.03, 0.003, 0.003]) {
        let (mean, ripple) = push_along(table(rate_hz, beside(), None));
        println!("{rate_hz} Hz: {mean} of the friction, ripple {ripple}");
        assert!((mean - 1.0).abs() < 1e-4, "{rate_hz} Hz: {mean}");
        assert!(ripple < most_ripple, "{rate_hz} Hz: {ripple}");
    }
}

#[test]
fn a_simulation_that_takes_half_its_step_is_not_felt() {
    for (rate_hz, delay, most_ripple) in [(60.0, 8, 0.06), (250.0, 2, 0.01)] {
        let mut rig = table(rate_hz, beside(), None);
        rig.delay = delay;
        let (mean, ripple) = push_along(rig);
        println!("{rate_hz} Hz, {delay} ms late: {mean} of the friction, ripple {ripple}");
        // The proxy creeps up the side of the box by some micrometres, and carries a little of its weight then.
        assert!((mean - 1.0).abs() < 0.03 && ripple < most_ripple, "{rate_hz} Hz: {mean} {ripple}");
    }
}

#[test]
fn pressing_a_box_on_the_table_feels_the_table_and_lifting_off_leaves_it() {
    for rate_hz in RATES_HZ {
        let start = Vec3::new(0.0, 0.0, SIDE + RADIUS + 0.004);
        let mut rig = table(rate_hz, start, None);
        let mut deepest: f64 = 0.0;
        let mut forces = Vec::new();
        for k in 0..1500 {
            // 4 mm to the box, 3 mm into it.
            let [record] = rig.beat([start - Vec3::z() * (0.02e-3 * k as f64).min(0.007)]);
            deepest = deepest.max(SIDE + RADIUS - record.pose_world_tool.translation.z);
            if k >= 1000 {
                forces.push(record.wanted.force.z);
            }
        }
        let (mean, ripple) = spread(&forces);
        assert!((mean - 0.003 * STIFFNESS).abs() < 1e-5 && ripple < 1e-5, "{rate_hz} Hz: {mean} {ripple}");
        assert!(deepest < 1e-9, "{rate_hz} Hz: {deepest:e}");
        let mut pulled: f64 = 0.0;
        for k in 0..600 {
            let [record] = rig.beat([start - Vec3::z() * (0.007 - 0.02e-3 * k as f64)]);
            if k > 250 {
                // Off the box; only the proxy's own inertia and damping are left.
                pulled = pulled.max(record.wanted.force.norm());
            }
        }
        assert!(pulled < 0.01, "{rate_hz} Hz: {pulled}");
        let rests = Pose::translation(0.0, 0.0, 0.5 * SIDE);
        let moved = hapticd::math::displacement(&rests, &rig.pose(1)).norm();
        assert!(moved < 1e-9, "{rate_hz} Hz: the box moved by {moved:e}");
    }
}

#[test]
fn a_box_pushed_to_a_wall_feels_the_wall() {
    for rate_hz in RATES_HZ {
        let mut rig = table(rate_hz, beside(), Some(0.5 * SIDE + 0.02));
        let (mut forces, mut steepest, mut last) = (Vec::new(), 0.0_f64, 0.0);
        for k in 0..1500 {
            // 30 mm: 5 to the box, 20 with it, 5 into the wall.
            let [record] = rig.beat([beside() + Vec3::x() * (0.05e-3 * k as f64).min(0.030)]);
            let force = -record.wanted.force.x;
            steepest = steepest.max((force - last).abs());
            last = force;
            if k >= 700 {
                forces.push(force);
            }
        }
        let (mean, ripple) = spread(&forces);
        assert!((mean - 0.005 * STIFFNESS).abs() < 1e-3 && ripple < 0.01, "{rate_hz} Hz: {mean} {ripple}");
        assert!(steepest < 0.5, "{rate_hz} Hz: {steepest} N in a tick");
        // Squeezed between hand and wall it stays where it is.
        let place = rig.pose(1).translation.vector - Vec3::new(0.02, 0.0, 0.5 * SIDE);
        assert!(place.x.abs() < 1e-6 && place.z.abs() < 1e-6, "{rate_hz} Hz: {place}");
    }
}

#[test]
fn a_tapped_box_slides_as_far_at_every_rate_and_no_impulse_is_lost() {
    let ways = RATES_HZ.map(|rate_hz| {
        let mut rig = table(rate_hz, beside(), None);
        let mut impulse = 0.0;
        for _ in 0..300 {
            // Until the mechanism is wholly there: it is faded in.
            rig.beat([beside()]);
        }
        for k in 0..1500_u32 {
            // 20 cm/s for 60 ms, then back.
            let way = if k < 60 { 0.2e-3 * f64::from(k) } else { (0.024 - 0.2e-3 * f64::from(k)).max(-0.01) };
            let [record] = rig.beat([beside() + Vec3::x() * way]);
            impulse -= record.wanted.force.x * 1e-3;
        }
        // All the tool gave the box; the hand gave the proxy the same, which rests again.
        let pushed = rig.tool(0).pushes[1].impulse[0];
        assert!((pushed / impulse - 1.0).abs() < 0.01, "{rate_hz} Hz: {pushed} of {impulse} N·s");
        assert!(rig.sim.bodies[1].rigid().is_some_and(|cube| cube.twist().norm() < 1e-9), "{rate_hz} Hz");
        rig.pose(1).translation.x
    });
    println!("ways {ways:?}");
    for way in ways {
        assert!((way / ways[3] - 1.0).abs() < 0.05, "{ways:?}");
    }
}
