//! The tick on a condensed snapshot: the rows `condensed` of the suite `tick`.
//!
//! Thread: main.
//!
//! A ball presses and rocks a rigid plate on a jelly cube of 729 nodes on a floor. The scene has more rows than a snapshot holds, so that each snapshot
//! is condensed, and full. The simulation steps at 30 Hz in virtual time between the ticks; times are of the processor, ticks without contact left
//! out. Solves have no limit of time here.

use super::fem_rig::{Stopwatch, failed};
use super::fem_scenes::{body, cube, scene};
use super::tick::{plate_device, plate_model};
use super::{BenchError, Options, Report, Summary};
use crate::device::HandSample;
use crate::geometry::{Cuboid, Shape, Sphere};
use crate::haptic::{HapticState, tick};
use crate::math::{Mat3, Pose, Vec3};
use crate::mechanism::MAX_ROWS;
use crate::mechanism::pmi::RigidInertia;
use crate::shared::lifecycle::Event;
use crate::shared::{ManualClock, MonoNs, Order, Stamp, Tick};
use crate::sim::{Motion, SimData, SimModel, ToolBody, empty_snapshot, step};

const RATE_HZ: f64 = 1000.0;
/// Ticks between two steps of the simulation.
const STEP_TICKS: u64 = 33;
/// Half the size of the plate, its mass and the radius of the ball, m and kg.
const PLATE: Vec3 = Vec3::new(0.025, 0.025, 0.003);
const PLATE_KG: f64 = 0.05;
const BALL_M: f64 = 0.005;
const CUBE_M: f64 = 0.04;

/// Place of the handle `t` seconds after the start, over the middle of the cube: down, then to and fro while pressing.
fn hand(t: f64) -> Vec3 {
    let wave = |hz: f64| (std::f64::consts::TAU * hz * t).sin();
    let (pressed, rocking) = ((t / 0.5).min(1.0), if t > 0.5 { 1.0 } else { 0.0 });
    let top = CUBE_M + 2.0 * PLATE.z + BALL_M;
    Vec3::new(
        0.006 * rocking * wave(0.9),
        0.004 * rocking * wave(1.3),
        top + 0.001 - 0.006 * pressed + 0.002 * rocking * wave(1.7),
    )
}

fn world(start: Pose) -> Result<SimModel, BenchError> {
    let square = PLATE.component_mul(&PLATE);
    let tensor = Vec3::new(square.y + square.z, square.x + square.z, square.x + square.y) * (PLATE_KG / 3.0);
    let solid = |mass_kg, tensor: Vec3| {
        RigidInertia::new(mass_kg, Mat3::from_diagonal(&tensor))
            .ok_or_else(|| BenchError::Failed("a rigid body of the suite has no mass".into()))
    };
    let shape = Shape::Cuboid(Cuboid { half: PLATE });
    let mut model = scene(&cube()?, &[[0.0, 0.0, 0.5]]);
    model.rate_hz = RATE_HZ / STEP_TICKS as f64;
    // In contact from the start.
    model.bodies[1].start = Pose::translation(0.0, 0.0, 0.5 * CUBE_M);
    let place = Pose::translation(0.0, 0.0, CUBE_M + PLATE.z);
    model.bodies.push(body("plate", shape, Motion::Rigid(solid(PLATE_KG, tensor)?), place));
    model.tools = vec![ToolBody {
        shape: Shape::Sphere(Sphere { radius: BALL_M }),
        field: None,
        pose_tool_shape: Pose::identity(),
        inertia: solid(0.05, Vec3::repeat(1e-6))?,
        material: 0,
        rotation_locked: true,
        start,
    }];
    Ok(model)
}

/// Measures ticks and counts the rows of their snapshots.
pub(super) fn run(suite: &'static str, options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let device = plate_device(RATE_HZ);
    let mut haptic = plate_model(&device);
    haptic.tool.start = Pose::from_parts(hand(0.0).into(), Default::default());
    let model = world(haptic.tool.start)?;
    let mut data = SimData::new(&model).map_err(failed)?;
    let mut state = HapticState::new(&haptic, &device);
    state.order(Order::of(1, Event::Enable));
    let (mut snapshot, origin) = (empty_snapshot(), MonoNs(1_000_000_000_000));
    let clock = ManualClock::at(origin);
    let (mut us, mut rows) = (Vec::new(), Vec::new());
    for index in 0..(options.seconds.max(1.5) * RATE_HZ) as u64 {
        let now = origin.plus(index * 1_000_000);
        clock.set(now);
        if index % STEP_TICKS == 0 {
            data.next_ends_at(&model, now);
            step(&model, &mut data, &[*state.tool()], &mut [&mut *snapshot]);
        }
        let pose = Pose::from_parts(hand(index as f64 / RATE_HZ).into(), Default::default());
        let stamp = Stamp { sequence: index + 1, at: now };
        let sample = HandSample { stamp, pose_device_handle: pose, buttons: 0, homed: true };
        let mut tick_now = Tick::begin(index + 1, now, 1.0 / RATE_HZ, u64::MAX / 2, &clock);
        let watch = Stopwatch::start();
        std::hint::black_box(tick(&haptic, &mut state, Some(sample), &snapshot, &mut tick_now));
        let took = watch.us();
        if state.record().contacts > 0 && data.problem().rows() > MAX_ROWS {
            us.push(took);
            rows.push(snapshot.row_count as f64);
        }
    }
    let (Some(us), Some(rows)) = (Summary::of(&us), Summary::of(&rows)) else {
        return Err(BenchError::Failed("the condensed scene was never touched".into()));
    };
    report.put_summary(suite, "condensed", "us", &us)?;
    report.put_summary(suite, "condensed/rows", "1", &rows)?;
    Ok(())
}
