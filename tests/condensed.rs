//! Condensed snapshots: a hand feels a scene with more contacts than a snapshot holds, at every rate of the simulation.

#[expect(dead_code, reason = "shared with tests of the tick alone")]
mod common;

#[path = "common/rates.rs"]
mod rates;

#[expect(dead_code, reason = "shared with tests of soft bodies")]
#[path = "soft/scene.rs"]
mod soft_scene;

use common::{device, model};
use hapticd::geometry::{Cuboid, Shape};
use hapticd::haptic::{HapticModel, TickRecord};
use hapticd::math::{Pose, Vec3};
use hapticd::mechanism::MAX_ROWS;
use hapticd::shared::Faults;
use hapticd::sim::{BodyId, BodyModel, JointKind, JointModel, SimModel, Steps, ToolBody};
use rates::{Rates, ball, scene, tool};
use soft_scene::{GEL, block, floor, plate, soft};

const RADIUS: f64 = 0.005;
const SIDE: f64 = 0.04;
/// Half the size of a plate.
const HALF: Vec3 = Vec3::new(0.025, 0.025, 0.003);

fn cube(z: f64, cells: u32) -> BodyModel {
    let mesh = block(Vec3::repeat(SIDE), [cells; 3]);
    soft(&mesh, GEL, &[], Steps::Implicit, Pose::translation(0.0, 0.0, z))
}

fn plate_on_top() -> BodyModel {
    plate(HALF, 0.05, Pose::translation(0.0, 0.0, SIDE + HALF.z))
}

/// A hand whose tool starts at a place.
fn hand(start: Vec3) -> HapticModel {
    let mut haptic = model(&device(1000.0));
    haptic.tool.start = Pose::translation(start.x, start.y, start.z);
    haptic
}

fn world(rate_hz: f64, bodies: Vec<BodyModel>, tool: ToolBody, friction: f64) -> SimModel {
    SimModel { margin_m: 2e-3, ..scene(rate_hz, bodies, vec![tool], friction) }
}

fn count(records: &[TickRecord], fault: Faults) -> usize {
    records.iter().filter(|record| record.faults.contains(fault)).count()
}

/// Depth of the handle below its start, m: rest, press, hold, back, press again, let go.
fn depth(k: u32) -> f64 {
    let t = f64::from(k) * 1e-3;
    let ramp = |from: f64, time: f64| ((t - from) / time).clamp(0.0, 1.0);
    0.006 * ramp(0.5, 0.3) - 0.002 * ramp(1.0, 0.1) + 0.002 * ramp(1.2, 0.05) - 0.004 * ramp(1.4, 0.2)
}

/// A ball that presses a rigid plate on a soft cube on a floor, `at` m beside the middle.
fn pressed(rate_hz: f64, at: f64) -> Vec<TickRecord> {
    let start = Vec3::new(at, 0.0, SIDE + 2.0 * HALF.z + RADIUS + 0.001);
    let haptic = hand(start);
    let model = world(rate_hz, vec![floor(), cube(0.5 * SIDE, 2), plate_on_top()], ball(&haptic, RADIUS), 0.5);
    let mut rig = Rates::new(vec![haptic], model);
    let records = (0..1700).map(|k| rig.beat([start - Vec3::z() * depth(k)])[0]).collect();
    let rows = rig.sim.problem().rows();
    assert!(rows > MAX_ROWS, "the scene has more rows than a snapshot: {rows}");
    records
}

#[test]
fn a_plate_pressed_on_a_soft_block_feels_the_same_at_30_hz_as_at_1_khz() {
    for at in [0.0, 0.01] {
        let (fine, coarse) = (pressed(1000.0, at), pressed(30.0, at));
        let force = |record: &TickRecord| record.wanted.force.z;
        let peak = fine.iter().fold(0.0_f64, |most, record| most.max(force(record)));
        let touching: Vec<usize> = (0..fine.len()).filter(|k| force(&fine[*k]) > 0.02 * peak).collect();
        let square: f64 = touching.iter().map(|k| (force(&fine[*k]) - force(&coarse[*k])).powi(2)).sum();
        let rms = (square / touching.len() as f64).sqrt() / peak;
        let steepest = |records: &[TickRecord]| {
            records.windows(2).fold(0.0_f64, |most, pair| most.max((force(&pair[1]) - force(&pair[0])).abs())) / peak
        };
        let (step, usual) = (steepest(&coarse), steepest(&fine));
        println!(
            "{at} m beside: peak {peak:.3} N, {:.2} % rms, largest step {:.2} % ({:.2} % at 1 kHz), bounded {} ({})",
            100.0 * rms,
            100.0 * step,
            100.0 * usual,
            count(&coarse, Faults::SOLVER_BOUNDED),
            count(&fine, Faults::SOLVER_BOUNDED)
        );
        assert!(rms < 0.03 && step < 0.05, "{at}: {rms} {step}");
        assert_eq!(count(&fine, Faults::SNAPSHOT_OVERFULL) + count(&coarse, Faults::SNAPSHOT_OVERFULL), 0);
    }
}

/// Stiffness that a hand feels between two depths of the handle, N/m. Plates cannot turn: without friction blocks are in uniaxial stress.
fn stiffness(mut model: SimModel, haptic: HapticModel, plates: &[usize], depths: [f64; 2]) -> f64 {
    let start = haptic.tool.start.translation.vector;
    for index in plates {
        model.joints.push(JointModel {
            name: "guide".into(),
            kind: JointKind::Slider,
            patches: Default::default(),
            bodies: [Some(BodyId(*index)), None],
            frame: model.bodies[*index].start,
            compliance: 0.0,
        });
    }
    let mut rig = Rates::new(vec![haptic], model);
    // Forces ramp in while nothing is touched.
    for _ in 0..600 {
        rig.beat([start]);
    }
    let mut last = 0.0;
    let [near, deep] = depths.map(|depth| {
        let mut all = Vec::new();
        for k in 0..1200 {
            let way = last + (depth - last) * (f64::from(k) / 300.0).min(1.0);
            all.push(rig.beat([start - Vec3::z() * way])[0]);
        }
        last = depth;
        assert_eq!(count(&all, Faults::SNAPSHOT_OVERFULL), 0);
        let rest = &all[900..];
        let mean = |of: &dyn Fn(&TickRecord) -> f64| rest.iter().map(of).sum::<f64>() / rest.len() as f64;
        (mean(&|record| record.wanted.force.z), mean(&|record| record.pose_world_tool.translation.z))
    });
    let rows = rig.sim.problem().rows();
    assert!(rows > MAX_ROWS, "the scene has more rows than a snapshot: {rows}");
    println!("{near:?} {deep:?}");
    (deep.0 - near.0) / (near.1 - deep.1)
}

/// Young's modulus times area over length.
fn of_cube() -> f64 {
    GEL.young_pa * SIDE
}

#[test]
fn a_soft_body_behind_a_rigid_one_behind_a_soft_one_is_felt_in_series() {
    let top = 2.0 * SIDE + 2.0 * HALF.z;
    let start = Vec3::new(0.0, 0.0, top + HALF.z + 0.0005);
    let haptic = hand(start);
    let bodies = vec![floor(), cube(0.5 * SIDE, 2), plate_on_top(), cube(top - 0.5 * SIDE, 1)];
    let model = world(60.0, bodies, tool(&haptic, Shape::Cuboid(Cuboid { half: HALF })), 0.0);
    let felt = stiffness(model, haptic, &[2], [0.0022, 0.0032]);
    println!("{felt:.1} N/m, {:.1} expected", 0.5 * of_cube());
    assert!((felt / (0.5 * of_cube()) - 1.0).abs() < 0.03, "{felt}");
}
