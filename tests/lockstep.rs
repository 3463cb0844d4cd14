//! The whole loop in virtual time: device, operator, tick, simulation.

use hapticd::daemon::Lockstep;
use hapticd::device::operator::{Action, Phase, Script, Skill, Until};
use hapticd::device::{Operator, SimulatedDevice};
use hapticd::files::device_file;
use hapticd::geometry::{HalfSpace, Shape, Sphere};
use hapticd::haptic::{Coupling, HapticModel, Policy, SpringDamper, Surfaces, ToolModel};
use hapticd::math::{Mapping, Mat3, Pose, Vec3};
use hapticd::mechanism::pmi::RigidInertia;
use hapticd::mechanism::solver::Settings;
use hapticd::shared::{SceneView, latest};
use hapticd::sim::{BodyModel, Material, Motion, SimModel, ToolBody};

fn wall(seed: u64) -> Lockstep<SimulatedDevice> {
    let bytes = include_bytes!("../devices/simulated-3dof.toml");
    let spec = device_file::parse(bytes, "simulated-3dof.toml").expect("shipped").value;
    let inertia = RigidInertia::new(0.02, Mat3::identity() * 1e-6).expect("sound");
    let start = Pose::translation(0.0, 0.0, 0.03);
    let sim = SimModel {
        bodies: vec![BodyModel {
            name: "wall".into(),
            shape: Shape::HalfSpace(HalfSpace),
            field: None,
            pose_body_shape: Pose::identity(),
            motion: Motion::Fixed,
            material: 0,
            start: Pose::identity(),
        }],
        tools: vec![ToolBody {
            shape: Shape::Sphere(Sphere { radius: 0.005 }),
            field: None,
            pose_tool_shape: Pose::identity(),
            inertia,
            material: 0,
            rotation_locked: true,
            start,
        }],
        needle: None,
        carried: Vec::new(),
        joints: Vec::new(),
        air: None,
        materials: vec![Material { name: "wood".into(), friction: 0.3, restitution: 0.0 }],
        gravity: Vec3::new(0.0, 0.0, -9.81),
        rate_hz: 60.0,
        margin_m: 0.02,
        travel_m: 0.02,
        collision_thread: false,
        reduction: Default::default(),
        soft_contacts: hapticd::sim::SOFT_CONTACTS,
        solver: Settings::default(),
    };
    let haptic = HapticModel {
        limits: spec.limits,
        mechanics: spec.mechanics,
        rotation_sensed: false,
        rotation_actuated: false,
        rate_hz: 1000.0,
        mapping: Mapping::identity(),
        clutch_button: None,
        turning: None,
        coupling: Coupling::Spring(SpringDamper::isotropic(1000.0, 4.0, 0.0, 0.0)),
        tool: ToolModel { inertia, start },
        policy: Policy::default(),
        solver: Settings { iterations: 50, tolerance: 1e-6, relaxation: 1.2 },
        surfaces: Surfaces::default(),
    };
    let script = Script::new(&[
        Phase::new(
            "approach",
            Action::MoveTo { target: Pose::translation(0.0, 0.0, 0.01), speed: 0.05 },
            Until::Reached { tolerance_m: 0.002, tolerance_rad: 1.0 },
            5.0,
        ),
        Phase::new(
            "press",
            Action::Press { force: Vec3::new(0.0, 0.0, -3.0) },
            Until::ForceAbove { force_n: 2.0, for_s: 0.5 },
            5.0,
        ),
    ])
    .expect("short");
    let (writer, reader) = latest(SceneView::empty());
    let operator = Operator::new(Skill::Trained, script, Mapping::identity());
    let device = SimulatedDevice::at(spec, operator, seed, start).watching(reader);
    let mut rig = Lockstep::new(haptic, sim, device, Some(writer)).expect("sound");
    rig.first.desk.enable();
    rig
}

#[test]
fn pressing_a_wall_is_felt_as_the_force_pressed_with() {
    let mut rig = wall(1);
    let mut pressed = Vec::new();
    for _ in 0..1500 {
        let record = rig.beat().record;
        assert!(record.pose_world_tool.translation.z >= 0.005 - 1e-9, "the proxy never gets into the wall");
        if rig.seconds() > 1.2 {
            let stretch = record.pose_world_tool.translation.z - record.pose_world_handle.translation.z;
            pressed.push((record.force.force.z, 1000.0 * stretch));
        }
    }
    let mean = |of: fn(&(f64, f64)) -> f64| pressed.iter().map(of).sum::<f64>() / pressed.len() as f64;
    let (felt, spring) = (mean(|p| p.0), mean(|p| p.1));
    assert!((felt - 3.0).abs() < 0.4, "asked for 3 N, felt {felt}");
    assert!((felt - spring).abs() < 0.02 * felt, "the coupling carries it: {felt} against {spring}");
}

#[test]
fn two_rigs_with_the_same_seed_stay_the_same_bit_for_bit() {
    let (mut one, mut other, mut third) = (wall(5), wall(5), wall(6));
    for _ in 0..800 {
        let (a, b) = (one.beat().record, other.beat().record);
        third.beat();
        assert_eq!((a.force, a.pose_world_tool), (b.force, b.pose_world_tool));
    }
    assert_eq!(one.hash(), other.hash());
    assert_ne!(one.hash(), third.hash());
}
