//! The whole loop in virtual time: device, operator, tick, simulation.

use hapticd::daemon::Lockstep;
use hapticd::device::operator::{Action, Phase, Script, Skill, Until};
use hapticd::device::{Operator, SimulatedDevice};
use hapticd::files::device_file;
use hapticd::geometry::{HalfSpace, Shape, Sphere};
use hapticd::haptic::{Command, Coupling, HapticModel, Policy, SpringDamper, ToolModel};
use hapticd::math::{Mapping, Mat3, Pose, Vec3};
use hapticd::mechanism::pmi::RigidInertia;
use hapticd::mechanism::solver::Settings;
use hapticd::shared::lifecycle::Event;
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
            pose_body_shape: Pose::identity(),
            motion: Motion::Fixed,
            material: 0,
            start: Pose::identity(),
        }],
        tool: ToolBody {
            shape: Shape::Sphere(Sphere { radius: 0.005 }),
            pose_tool_shape: Pose::identity(),
            inertia,
            material: 0,
            rotation_locked: true,
            start,
        },
        materials: vec![Material { name: "wood".into(), friction: 0.3, restitution: 0.0 }],
        gravity: Vec3::new(0.0, 0.0, -9.81),
        rate_hz: 60.0,
        margin_m: 0.02,
        collision_thread: false,
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
        coupling: Coupling::Spring(SpringDamper::isotropic(1000.0, 4.0, 0.0, 0.0)),
        tool: ToolModel { inertia, start },
        policy: Policy::default(),
        solver: Settings { iterations: 50, tolerance: 1e-6, relaxation: 1.2 },
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
    rig.command(Command { sequence: 1, event: Some(Event::Enable) });
    rig
}

#[test]
fn pressing_a_wall_is_felt_as_the_force_pressed_with() {
    let mut rig = wall(1);
    for k in 0..3000 {
        let beat = rig.beat();
        let r = beat.record;
        if k % 50 == 0 {
            println!(
                "{:.3} handle z {:8.4} mm tool z {:8.4} mm f {:6.3} wanted {:6.3} gain {:.2} contacts {} pen {:.2e} it {} res {:.1e} reserve {:.4} faults {:?} phase {:?}",
                rig.seconds(),
                r.pose_world_handle.translation.z * 1e3,
                r.pose_world_tool.translation.z * 1e3,
                r.force.force.z,
                r.wanted.force.z,
                r.gain,
                r.contacts,
                r.penetration_m,
                r.iterations,
                r.residual,
                r.account.reserve_j,
                r.faults,
                rig.device.operator().report().name.as_str(),
            );
        }
    }
}
