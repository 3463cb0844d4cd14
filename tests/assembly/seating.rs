//! Tightening: a nut turned against a washer that is pushed up at it. The washer can move along the axis and not turn.

use super::friction::mean_radius;
use hapticd::bake::{Design, Ready};
use hapticd::bench::assembly::drive::{DENSITY, ThreadPair};
use hapticd::collision::Reduction;
use hapticd::geometry::parts::{Body, BoreBlock, Facets};
use hapticd::geometry::{Shape, Sphere};
use hapticd::math::{Mat3, Pose, Rot, Vec3, join, split};
use hapticd::mechanism::pmi::RigidInertia;
use hapticd::mechanism::solver::Settings;
use hapticd::shared::ToolSample;
use hapticd::sim::{BodyId, BodyModel, Material, Motion, SimData, SimModel, ToolBody, empty_snapshot, step};
use std::f64::consts::{PI, TAU};

const FRICTION: f64 = 0.12;
const LOAD: f64 = 100.0;
/// Inner and outer radius of the washer, m.
const WASHER: (f64, f64) = (25e-3, 28e-3);
/// Stiffness, N/m, and damping, N·s/m, of the guide.
const GUIDE: (f64, f64) = (1e5, 3e3);
const NUT: usize = 1;
const BACKING: usize = 2;

fn body(name: &str, ready: &Ready, center: Vec3, motion: Motion, start: Pose) -> BodyModel {
    let center = Pose::from_parts(center.into(), Rot::identity());
    BodyModel {
        name: name.into(),
        shape: ready.shape.clone(),
        field: Some(ready.field.clone()),
        pose_body_shape: center.inverse(),
        motion,
        material: 0,
        start: start * center,
    }
}

fn model() -> SimModel {
    let pair = ThreadPair { length: 0.04, ..ThreadPair::m48() };
    let bolted = pair.assembly(0.025, FRICTION).expect("it can be made");
    let nut = &bolted.moving;
    let Shape::Part(part) = &nut.shape else { unreachable!("a nut is a part") };
    let mass = part.mass_properties(DENSITY).expect("it is solid");
    let inertia = RigidInertia::new(mass.mass, mass.inertia).expect("it has one");
    let washer = BoreBlock {
        diameter: 2.0 * WASHER.0,
        depth: 5e-3,
        chamfer: 0.0,
        floor: None,
        body: Body::Round { diameter: 2.0 * WASHER.1 },
    };
    let washer = Design::Bore(washer).ready(Facets { per_turn: 67, rows: 2 }).expect("it can be made");
    // Hard to turn, easy to move.
    let stiff = RigidInertia::new(50.0, Mat3::identity() * 100.0).expect("it has one");
    let below = bolted.start.translation.z - 0.5 * pair.height - 1e-4;
    let far = Pose::translation(0.0, 0.0, 10.0);
    SimModel {
        bodies: vec![
            body("bolt", &bolted.fixed, Vec3::zeros(), Motion::Fixed, Pose::identity()),
            body("nut", nut, mass.center, Motion::Rigid(inertia), bolted.start),
            body("washer", &washer, Vec3::zeros(), Motion::Rigid(stiff), Pose::translation(0.0, 0.0, below)),
        ],
        tools: vec![ToolBody {
            shape: Shape::Sphere(Sphere { radius: 1e-3 }),
            field: None,
            pose_tool_shape: Pose::identity(),
            inertia: RigidInertia::new(0.1, Mat3::identity() * 1e-5).expect("it has one"),
            material: 0,
            rotation_locked: true,
            start: far,
        }],
        needle: None,
        carried: Vec::new(),
        joints: Vec::new(),
        air: None,
        materials: vec![Material { name: "steel".into(), friction: FRICTION, restitution: 0.0 }],
        gravity: Vec3::zeros(),
        rate_hz: 1000.0,
        margin_m: 1.5e-4,
        travel_m: 1.5e-4,
        collision_thread: false,
        reduction: Reduction::default(),
        soft_contacts: hapticd::sim::SOFT_CONTACTS,
        solver: Settings::default(),
    }
}

#[test]
fn the_torque_that_tightens_a_nut_is_that_of_theory() {
    let model = model();
    let mut data = SimData::new(&model).expect("it can be simulated");
    let (tool, mut snapshot) = (ToolSample::at_rest(model.tools[0].start), empty_snapshot());
    let mut torques = Vec::new();
    for k in 0..1200 {
        let (_, spin) = split(data.bodies[NUT].rigid().expect("it moves").twist());
        let torque = -0.1 * (spin.z + 8.0);
        data.apply(BodyId(NUT), &join(&Vec3::zeros(), &Vec3::new(0.0, 0.0, torque)));
        // A guide keeps the washer on the axis.
        let (speed, _) = split(data.bodies[BACKING].rigid().expect("it moves").twist());
        let off = data.pose(BodyId(BACKING)).translation.vector;
        let guide = -GUIDE.0 * off - GUIDE.1 * speed;
        data.apply(BodyId(BACKING), &join(&Vec3::new(guide.x, guide.y, LOAD), &Vec3::zeros()));
        step(&model, &mut data, &[tool], &mut [&mut *snapshot]);
        if k >= 400 {
            torques.push(torque.abs());
        }
    }
    let pair = ThreadPair::m48();
    let (inner, outer) = WASHER;
    let bearing = 2.0 / 3.0 * (outer.powi(3) - inner.powi(3)) / (outer * outer - inner * inner);
    let thread = mean_radius(&pair);
    let expected = LOAD * (pair.thread.pitch / TAU + FRICTION * thread / (PI / 6.0).cos() + FRICTION * bearing);
    let torque = torques.iter().sum::<f64>() / torques.len() as f64;
    println!("{torque:.4} N·m, {:.1} % off", 100.0 * (torque / expected - 1.0));
    assert!((torque / expected - 1.0).abs() < 0.05, "{torque} N·m, theory {expected} N·m");
}
