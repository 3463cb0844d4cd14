//! Drag of a contact: a hand that moves a tool at an even speed must feel the force of the scene and nothing of the inertia of
//! the tool, on every kind of body that a hand can touch. Forces at 2 to 40 mm/s are compared with the quasi-static force of the
//! simulation or with the analytic one.

#[expect(dead_code, reason = "shared with tests of the tick alone")]
mod common;

#[path = "common/rates.rs"]
mod rates;

#[expect(dead_code, reason = "shared with tests of soft bodies")]
#[path = "soft/scene.rs"]
mod soft_scene;

#[path = "common/soft_tool.rs"]
mod soft_tool;

use common::{device, model};
use hapticd::bench::needle_rig::{LENGTH_M, Phantom};
use hapticd::geometry::{Cuboid, HalfSpace, Shape};
use hapticd::haptic::{Coupling, SpringDamper};
use hapticd::math::{Mat3, Pose, Vec3};
use hapticd::mechanism::pmi::RigidInertia;
use hapticd::scene::Built;
use hapticd::shared::ToolSample;
use hapticd::sim::{Motion, SimData, SimModel, empty_snapshot, step};
use rates::{Rates, ball, body, scene, spread, tool};
use soft_tool::{Kind, LENGTH as BLOCK_M, STIFFNESS, finger, hand};
use std::sync::Arc;

/// Speeds of the hand, m/s.
const SPEEDS: [f64; 3] = [0.002, 0.01, 0.04];
/// Largest relative error of a force.
const WITHIN: f64 = 0.01;

fn connector() -> Built {
    let spec = hapticd::scene::open("snap_connector").expect("shipped").value;
    let device = hapticd::scene::open_device("simulated-3dof").expect("shipped").value;
    hapticd::scene::build(&spec, &device).expect("they fit")
}

/// Largest force on the plug, N, when the simulation alone places it along `heights`; `sign` selects push-in (1) or pull-out (−1).
fn simulated(built: &Built, heights: impl Iterator<Item = f64>, sign: f64) -> f64 {
    let mut data = SimData::new(&built.sim).expect("a scene");
    let mut snapshot = empty_snapshot();
    let mut peak = 0.0_f64;
    for z in heights {
        let pose = Pose::translation(0.0, 0.0, z) * built.sim.tools[0].start;
        step(&built.sim, &mut data, &[ToolSample::at_rest(pose)], &mut [&mut *snapshot]);
        let body = data.bodies[0].elastic().expect("it deforms");
        peak = peak.max(-sign * body.pressed().z);
    }
    peak
}

/// Deepest way of the plug from its start, m: its flange is still above the socket.
const HOME_M: f64 = -0.0225;

/// Push-in and pull-out force on the hand, N, at a speed of the handle. A stiff spring holds the plug, so that it is led over the
/// crest instead of jumping; its damper is weak, since the plug lags behind the handle while the force grows.
fn felt(built: &Built, speed: f64) -> (f64, f64) {
    let mut haptic = built.haptic.clone();
    haptic.coupling = Coupling::Spring(SpringDamper::isotropic(20_000.0, 6.0, 1.5, 0.005));
    haptic.limits.force.linear = 30.0;
    haptic.limits.stiffness.linear = 30_000.0;
    let start = built.handle_start.translation.vector;
    let mut rig = Rates::new(vec![haptic], SimModel { rate_hz: 1000.0, ..built.sim.clone() });
    let way = Vec3::z() * 0.017;
    for k in 0..700 {
        rig.beat([start - way * (f64::from(k) / 700.0)]);
    }
    let (begin, ticks) = (start - way, ((-HOME_M - 0.017) / (speed * 1e-3)) as usize);
    let (mut push, mut pull) = (0.0_f64, 0.0_f64);
    for k in 0..ticks {
        let [record] = rig.beat([begin - Vec3::z() * (speed * 1e-3 * k as f64)]);
        push = push.max(record.wanted.force.z);
    }
    for k in (0..ticks).rev() {
        let [record] = rig.beat([begin - Vec3::z() * (speed * 1e-3 * k as f64)]);
        pull = pull.max(-record.wanted.force.z);
    }
    (push, pull)
}

#[test]
fn a_snap_socket_takes_the_same_force_to_push_in_and_pull_out_at_every_speed() {
    let built = connector();
    let down = || (0..2200).map(|k| -0.017 - 2.5e-6 * f64::from(k));
    let push = simulated(&built, down(), 1.0);
    let pull = simulated(&built, down().chain((0..2200).map(|k| HOME_M + 2.5e-6 * f64::from(k))), -1.0);
    for speed in SPEEDS {
        let (found_push, found_pull) = felt(&built, speed);
        println!("{speed} m/s: push {found_push:.4} of {push:.4} N, pull {found_pull:.4} of {pull:.4} N");
        assert!((found_push / push - 1.0).abs() < WITHIN, "{speed} m/s: push-in {found_push} N, not {push} N");
        // At 40 mm/s the plug moves 40 µm in a step of the simulation, and the crest of the pull-out ramp is passed within a few.
        let within = if speed < 0.02 { WITHIN } else { 2.0 * WITHIN };
        assert!((found_pull / pull - 1.0).abs() < within, "{speed} m/s: pull-out {found_pull} N, not {pull} N");
    }
}

/// Forces of a rigid wall on the hand, N, while the handle goes 2 to 4 mm deep with a tool of this mass.
fn wall_forces(mass_kg: f64, speed: f64) -> Vec<f64> {
    let mut haptic = model(&device(1000.0));
    haptic.tool.inertia = RigidInertia::new(mass_kg, Mat3::identity() * 1e-6).expect("sound");
    haptic.tool.start = Pose::translation(0.0, 0.0, 0.006);
    let wall = body("wall", Shape::HalfSpace(HalfSpace), Motion::Fixed, Pose::identity());
    let scene = scene(60.0, vec![wall], vec![ball(&haptic, 0.005)], 0.3);
    let mut rig = Rates::new(vec![haptic], scene);
    for _ in 0..600 {
        rig.beat([Vec3::z() * 0.006]);
    }
    let (mut z, mut forces) = (0.006, Vec::new());
    while z > 0.005 - 4e-3 {
        z -= speed * 1e-3;
        let [record] = rig.beat([Vec3::z() * z]);
        if z < 0.005 - 2e-3 {
            forces.push(record.wanted.force.z);
        }
    }
    forces
}

/// The tool stands still at the wall: its mass is not felt, at any speed of the handle.
#[test]
fn a_fixed_rigid_wall_gives_the_same_force_with_a_tool_of_any_mass() {
    for speed in SPEEDS {
        let (light, heavy) = (wall_forces(0.02, speed), wall_forces(0.08, speed));
        assert_eq!(light.len(), heavy.len());
        let worst = light.iter().zip(&heavy).fold(0.0, |most: f64, (a, b)| most.max((a / b - 1.0).abs()));
        println!("{speed} m/s: apart by {worst}");
        assert!(worst < WITHIN, "{speed} m/s: {worst}");
    }
}

#[test]
fn a_box_pushed_along_a_table_takes_the_friction_of_its_weight_at_every_speed() {
    const SIDE: f64 = 0.06;
    for speed in SPEEDS {
        let mut haptic = model(&device(1000.0));
        let beside = Vec3::new(-0.5 * SIDE - 0.0055, 0.0, 0.45 * SIDE);
        haptic.tool.start = Pose::translation(beside.x, beside.y, beside.z);
        let inertia = RigidInertia::new(0.5, Mat3::identity() * (0.5 * SIDE * SIDE / 6.0)).expect("sound");
        let cube = Shape::Cuboid(Cuboid { half: Vec3::repeat(0.5 * SIDE) });
        let bodies = vec![
            body("table", Shape::HalfSpace(HalfSpace), Motion::Fixed, Pose::identity()),
            body("box", cube, Motion::Rigid(inertia), Pose::translation(0.0, 0.0, 0.5 * SIDE)),
        ];
        let scene = scene(250.0, bodies, vec![ball(&haptic, 0.005)], 0.4);
        let mut rig = Rates::new(vec![haptic], scene);
        let mut forces = Vec::new();
        for k in 0..8000 {
            let [record] = rig.beat([beside + Vec3::x() * (speed * 1e-3 * k as f64)]);
            if k >= 7000 {
                forces.push(-record.wanted.force.x);
            }
        }
        let (mean, ripple) = spread(&forces);
        let exact = 0.4 * 0.5 * 9.81;
        println!("{speed} m/s: {mean} of {exact} N, ripple {ripple} N");
        assert!((mean / exact - 1.0).abs() < WITHIN, "{speed} m/s: {mean} N, not {exact} N");
    }
}

#[test]
fn tissue_resists_a_needle_with_the_force_of_the_simulation_at_every_speed() {
    for speed in SPEEDS {
        let mut haptic = model(&device(1000.0));
        haptic.tool.inertia = RigidInertia::new(0.05, Mat3::identity() * 1e-6).expect("sound");
        let height = Vec3::z() * (LENGTH_M + 1e-3);
        haptic.tool.start = Pose::translation(0.0, 0.0, height.z);
        haptic.mapping.pose_world_device.translation.vector = height;
        let block = |half: f64| Shape::Cuboid(Cuboid { half: Vec3::repeat(half) });
        let phantom = Phantom { cells: [3, 3, 3], ..Phantom::default() };
        let tissue = Motion::Tissue(Arc::new(phantom.tissue().expect("sound")));
        let model = SimModel {
            needle: Some(Arc::new(phantom.needle())),
            gravity: Vec3::zeros(),
            ..scene(
                1000.0,
                vec![body("gel", block(0.04), tissue, phantom.place())],
                vec![tool(&haptic, block(0.005))],
                0.1,
            )
        };
        let mut rig = Rates::new(vec![haptic], model);
        for _ in 0..600 {
            rig.beat([Vec3::zeros()]);
        }
        let ticks = (0.015 / (speed * 1e-3)) as usize;
        let (mut error, mut count, mut peak) = (0.0_f64, 0.0, 0.0_f64);
        for k in 0..ticks {
            let [record] = rig.beat([Vec3::z() * (-speed * 1e-3 * k as f64)]);
            let needle = rig.sim.view.needle.unwrap_or_default();
            peak = peak.max(needle.force.z);
            if needle.depth_m > 0.005 {
                error += (record.wanted.force.z - needle.force.z).powi(2);
                count += 1.0;
            }
        }
        let rms = (error / count).sqrt();
        println!("{speed} m/s: rms difference {rms} N over {count} ticks, peak {peak} N");
        assert!(count > 50.0 && rms < WITHIN * peak, "{speed} m/s: {rms} N of {peak} N");
    }
}

/// The block itself is at rest at any depth: its force is its stiffness times its compression.
#[test]
fn a_soft_block_on_the_tool_takes_the_same_force_to_press_at_every_speed() {
    let floor = || vec![body("floor", Shape::HalfSpace(HalfSpace), Motion::Fixed, Pose::identity())];
    for kind in [Kind::Linear, Kind::Corotational] {
        for speed in SPEEDS {
            let start = Vec3::z() * (BLOCK_M + 5e-4);
            let haptic = hand(start);
            let mut rig = Rates::new(vec![haptic.clone()], finger(kind, &haptic, floor(), 250.0, 0.5));
            for _ in 0..600 {
                rig.beat([start]);
            }
            let (mut worst, mut peak, mut way) = (0.0_f64, 0.0_f64, 0.0);
            while way < 4e-3 {
                way += speed * 1e-3;
                let [record] = rig.beat([start - Vec3::z() * way]);
                let exact = STIFFNESS * (BLOCK_M - record.pose_world_tool.translation.z);
                if way > 2e-3 {
                    worst = worst.max((record.wanted.force.z / exact - 1.0).abs());
                    peak = peak.max(exact);
                }
            }
            println!("{kind:?}, {speed} m/s: off by {:.2} % up to {peak:.2} N", 100.0 * worst);
            assert!(worst < WITHIN, "{kind:?}, {speed} m/s: {worst}");
        }
    }
}
