//! Two rates, one scene: ticks of 1 kHz and simulation steps of 30 to 1000 Hz interleaved in virtual time. What the hand
//! feels must not depend on the rate of the simulation, and new mechanisms must not be felt as such.

mod common;

use common::{STIFFNESS, device, model};
use hapticd::geometry::{Cuboid, HalfSpace, Shape, Sphere};
use hapticd::haptic::{Command, HapticModel, HapticState, TickRecord, tick};
use hapticd::device::HandSample;
use hapticd::math::{Mat3, Pose, Vec3};
use hapticd::mechanism::MechanismSnapshot;
use hapticd::mechanism::pmi::RigidInertia;
use hapticd::mechanism::solver::Settings;
use hapticd::shared::lifecycle::Event;
use hapticd::shared::{ManualClock, MonoNs, NS_PER_S, Stamp, Tick};
use hapticd::sim::{BodyModel, Material, Motion, SimData, SimModel, ToolBody, empty_snapshot, step};

const G: f64 = 9.81;
const PERIOD_NS: u64 = 1_000_000;
const ORIGIN: MonoNs = MonoNs(1_000_000_000);
const RATES_HZ: [f64; 4] = [30.0, 60.0, 250.0, 1000.0];
const RADIUS: f64 = 0.005;
const MASS: f64 = 0.5;
const SIDE: f64 = 0.06;
const FRICTION: f64 = 0.4;

/// A box on a table, perhaps with a wall behind it, and a ball held by a hand that goes where it is told.
struct Rig {
    haptic: HapticModel,
    state: HapticState,
    sim_model: SimModel,
    sim: SimData,
    snapshot: Box<MechanismSnapshot>,
    clock: ManualClock,
    index: u64,
    steps: u64,
}

impl Rig {
    fn new(rate_hz: f64, start: Vec3, wall_at: Option<f64>) -> Self {
        let spec = device(1000.0);
        let mut haptic = model(&spec);
        haptic.tool.start = Pose::translation(start.x, start.y, start.z);
        let fixed = |name: &str, start: Pose| BodyModel {
            name: name.into(),
            shape: Shape::HalfSpace(HalfSpace),
            pose_body_shape: Pose::identity(),
            motion: Motion::Fixed,
            material: 0,
            start,
        };
        let inertia = RigidInertia::new(MASS, Mat3::identity() * (MASS * SIDE * SIDE / 6.0)).expect("sound");
        let cube = BodyModel {
            name: "box".into(),
            shape: Shape::Cuboid(Cuboid { half: Vec3::repeat(0.5 * SIDE) }),
            pose_body_shape: Pose::identity(),
            motion: Motion::Free(inertia),
            material: 0,
            start: Pose::translation(0.0, 0.0, 0.5 * SIDE),
        };
        let mut bodies = vec![fixed("table", Pose::identity()), cube];
        if let Some(x) = wall_at {
            bodies.push(fixed("wall", Pose::new(Vec3::x() * x, Vec3::y() * -std::f64::consts::FRAC_PI_2)));
        }
        let sim_model = SimModel {
            bodies,
            tool: ToolBody {
                shape: Shape::Sphere(Sphere { radius: RADIUS }),
                pose_tool_shape: Pose::identity(),
                inertia: haptic.tool.inertia,
                material: 0,
                rotation_locked: true,
                start: haptic.tool.start,
            },
            materials: vec![Material { name: "wood".into(), friction: FRICTION, restitution: 0.0 }],
            gravity: Vec3::new(0.0, 0.0, -G),
            rate_hz,
            margin_m: 0.02,
            collision_thread: false,
            solver: Settings::default(),
        };
        let mut state = HapticState::new(&haptic, &spec);
        state.command(Command { sequence: 1, event: Some(Event::Enable) });
        Self {
            state,
            haptic,
            sim: SimData::new(&sim_model).expect("sound"),
            sim_model,
            snapshot: empty_snapshot(),
            clock: ManualClock::at(ORIGIN),
            index: 0,
            steps: 0,
        }
    }

    /// One tick with the handle at `place`, after a simulation step if one is due.
    fn beat(&mut self, place: Vec3) -> TickRecord {
        let now = ORIGIN.plus(self.index * PERIOD_NS);
        self.clock.set(now);
        let due = ORIGIN.plus((self.steps as f64 * self.sim_model.step_s() * NS_PER_S as f64).round() as u64);
        if now >= due {
            self.sim.next_ends_at(&self.sim_model, now);
            step(&self.sim_model, &mut self.sim, self.state.tool(), &mut self.snapshot);
            self.steps += 1;
        }
        self.index += 1;
        let mut now_tick = Tick::begin(self.index, now, 1e-3, u64::MAX / 2, &self.clock);
        let sample = HandSample {
            stamp: Stamp { sequence: self.index, at: now },
            pose_device_handle: Pose::translation(place.x, place.y, place.z),
            buttons: 0,
            homed: true,
        };
        tick(&self.haptic, &mut self.state, Some(sample), &self.snapshot, &mut now_tick);
        *self.state.record()
    }

    fn cube(&self) -> Pose {
        *self.sim.pose(1)
    }
}

/// Mean and peak-to-peak.
fn spread(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let most = values.iter().fold(f64::MIN, |m, x| m.max(*x));
    let least = values.iter().fold(f64::MAX, |m, x| m.min(*x));
    (mean, most - least)
}

#[test]
fn a_pushed_box_feels_the_same_at_every_rate_of_the_simulation() {
    for rate_hz in RATES_HZ {
        let start = Vec3::new(-0.5 * SIDE - RADIUS - 0.005, 0.0, 0.45 * SIDE);
        let mut rig = Rig::new(rate_hz, start, None);
        let speed = 0.05;
        let mut forces = Vec::new();
        for k in 0..6000 {
            let record = rig.beat(start + Vec3::x() * (speed * k as f64 * 1e-3));
            if k >= 5000 { forces.push(-record.wanted.force.x); }
            if k % 25 == 0 && std::env::var("TRACE").is_ok() { println!("{rate_hz} {k} f {:?} box {:.6} tool {:.6} c {} pen {:e} faults {:?}", record.wanted.force.as_slice(), rig.cube().translation.x, record.pose_world_tool.translation.x, record.contacts, record.penetration_m, record.faults); }
        }
        let (mean, ripple) = spread(&forces);
        println!("{rate_hz} Hz: mean {mean} ripple {ripple} exact {}", FRICTION * MASS * G);
    }
}

#[test]
fn pressing_a_box_on_the_table_feels_the_table() {
    for rate_hz in RATES_HZ {
        let start = Vec3::new(0.0, 0.0, SIDE + RADIUS + 0.004);
        let mut rig = Rig::new(rate_hz, start, None);
        let mut forces = Vec::new(); let mut deep: f64 = 0.0;
        for k in 0..1500 {
            let z = start.z - (0.02 * k as f64 * 1e-3).min(0.007);
            let record = rig.beat(Vec3::new(0.0, 0.0, z));
            if k >= 1000 { forces.push(record.wanted.force.z); }
            deep = deep.max(SIDE + RADIUS - record.pose_world_tool.translation.z);
            if k % 25 == 0 && std::env::var("TRACE").is_ok() { println!("{rate_hz} {k} f {:?} box {:.6} tool {:.6} c {} pen {:e}", record.wanted.force.as_slice(), rig.cube().translation.z, record.pose_world_tool.translation.z, record.contacts, record.penetration_m); }
        }
        let (mean, ripple) = spread(&forces);
        println!("{rate_hz} Hz: mean {mean} ripple {ripple} exact {} deep {deep:e} box {:e}", STIFFNESS * 0.003, rig.cube().translation.z - 0.5 * SIDE);
    }
}

#[test]
fn a_box_pushed_to_a_wall_feels_the_wall() {
    for rate_hz in RATES_HZ {
        let start = Vec3::new(-0.5 * SIDE - RADIUS - 0.005, 0.0, 0.45 * SIDE);
        let mut rig = Rig::new(rate_hz, start, Some(0.5 * SIDE + 0.02));
        let mut forces = Vec::new();
        let mut peak: f64 = 0.0; let mut last = 0.0; let mut slew: f64 = 0.0;
        for k in 0..1500 {
            // 30 mm: 5 to the box, 20 with it, 5 into the wall.
            let way = (0.05 * k as f64 * 1e-3).min(0.030);
            let record = rig.beat(start + Vec3::x() * way);
            let f = -record.wanted.force.x;
            peak = peak.max(f); slew = slew.max((f - last as f64).abs()); last = f;
            if k >= 1000 { forces.push(f); }
            if k % 25 == 0 && std::env::var("TRACE").is_ok() { println!("{rate_hz} {k} f {:?} box {:.6} tool {:.6} c {} pen {:e}", record.wanted.force.as_slice(), rig.cube().translation.x, record.pose_world_tool.translation.x, record.contacts, record.penetration_m); }
        }
        let (mean, ripple) = spread(&forces);
        println!("{rate_hz} Hz: mean {mean} ripple {ripple} exact {} peak {peak} slew {slew}", STIFFNESS * 0.005);
    }
}
