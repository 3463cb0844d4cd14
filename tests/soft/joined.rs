//! Joints on soft bodies: a patch of nodes holds what a plate glued to it would hold.

use super::scene::{G, GEL, Scene, block, plate, soft};
use hapticd::fem::Material as Solid;
use hapticd::math::{Pose, Rot, Vec3};
use hapticd::mechanism::newton::{Workspace, solve_robustly};
use hapticd::mechanism::solver::{Settings, residuals, solve};
use hapticd::sim::{BodyId, BodyModel, JointKind, JointModel, Motion, SimModel, Steps};

const SIDE: f64 = 0.01;
const LENGTH: f64 = 0.04;
const MASS: f64 = 0.02;
const HALF: Vec3 = Vec3::new(0.01, 0.01, 0.005);
/// Without Poisson's ratio the held end is no constraint across; without density its own weight does not stretch it.
const BAR: Solid = Solid { young_pa: 100e3, poisson: 0.0, density: 1e-3 };

/// Nodes of a block at a height, within its bounds.
fn nodes_at(z: f64) -> Vec<u32> {
    let mesh = block(Vec3::new(SIDE, SIDE, LENGTH), [1, 1, 4]);
    (0..).zip(mesh.nodes()).filter(|(_, node)| (node.z - z).abs() < 1e-9).map(|(node, _)| node).collect()
}

/// A bar held at its top, whose lower end is at the origin.
fn bar(steps: Steps) -> BodyModel {
    let mesh = block(Vec3::new(SIDE, SIDE, LENGTH), [1, 1, 4]);
    soft(&mesh, BAR, &nodes_at(0.5 * LENGTH), steps, Pose::translation(0.0, 0.0, 0.5 * LENGTH))
}

/// A plate on a joint at the lower end of the bar.
fn hung(kind: JointKind, steps: Steps, rate_hz: f64) -> Scene {
    let hangs = plate(HALF, MASS, Pose::translation(0.0, 0.0, -HALF.z));
    let scene = Scene::new(vec![bar(steps), hangs], 0.0, rate_hz);
    let joint = JointModel {
        name: "glue".into(),
        kind,
        patches: [Vec::new(), nodes_at(-0.5 * LENGTH)],
        bodies: [Some(BodyId(1)), Some(BodyId(0))],
        frame: Pose::identity(),
        compliance: 0.0,
    };
    Scene::of(SimModel { joints: vec![joint], ..scene.model })
}

#[test]
fn a_mass_glued_to_a_bar_stretches_it_by_its_weight() {
    for steps in [Steps::QuasiStatic, Steps::Implicit] {
        let mut scene = hung(JointKind::Fixed, steps, 100.0);
        scene.run(6.0);
        let pose = scene.data.pose(BodyId(1));
        let expected = MASS * G * LENGTH / (BAR.young_pa * SIDE * SIDE);
        let way = -HALF.z - pose.translation.z;
        let force = scene.force_on(1, 0);
        println!(
            "{steps:?}: {:.6} mm of {:.6} mm, {force:.9?} N, turned {:.1e}",
            1e3 * way,
            1e3 * expected,
            pose.rotation.angle()
        );
        assert!((way / expected - 1.0).abs() < 5e-3, "{way} {expected}");
        assert!((force.z / (MASS * G) - 1.0).abs() < 1e-6 && force.xy().norm() < 1e-6 * MASS * G, "{force}");
        assert!(pose.rotation.angle() < 1e-6, "{}", pose.rotation.angle());
    }
}

/// The plate beside the axis of the bar: a fixed joint bends the bar by the torque, a ball lets the plate hang down.
#[test]
fn a_ball_on_a_patch_leaves_rotations_free_and_a_fixed_joint_holds_them() {
    let beside = Vec3::new(0.008, 0.0, -HALF.z);
    let aside = |kind, rate_hz| {
        let mut model = hung(kind, Steps::QuasiStatic, rate_hz).model;
        model.bodies[1].start = Pose::translation(beside.x, beside.y, beside.z);
        Scene::of(model)
    };
    let mut held = aside(JointKind::Fixed, 100.0);
    held.run(6.0);
    let tilt = held.data.pose(BodyId(1)).rotation;
    // Torque at the end of a beam: φ = M L / (E I). The torque acts about the displaced end.
    let moment = MASS * G * beside.x * LENGTH / (BAR.young_pa * SIDE.powi(4) / 12.0);
    println!("fixed: tilted by {:.5} rad of {moment:.5} rad", tilt.angle());
    assert!((tilt.angle() / moment - 1.0).abs() < 0.1, "{} {moment}", tilt.angle());
    let mut free = aside(JointKind::Ball, 500.0);
    let mut turned = 0.0_f64;
    for _ in 0..500 {
        free.step();
        turned = turned.max(free.data.pose(BodyId(1)).rotation.angle());
    }
    println!("ball: turned by up to {turned:.3} rad");
    assert!(turned > 0.9, "it swings through below its pivot: {turned}");
}

/// A free soft flap on a hinge to the world, pulled aside by nothing: it swings as a physical pendulum.
#[test]
fn a_stiff_flap_on_a_hinge_swings_like_a_pendulum() {
    let solid = Solid { young_pa: 20e6, ..GEL };
    let mesh = block(Vec3::new(SIDE, SIDE, LENGTH), [1, 1, 4]);
    let top: Vec<u32> = nodes_at(0.5 * LENGTH);
    let turn = Rot::from_axis_angle(&Vec3::y_axis(), 0.1);
    let start = Pose::from_parts((turn * Vec3::z() * -0.5 * LENGTH).into(), turn);
    let flap = soft(&mesh, solid, &[], Steps::Implicit, start);
    let Motion::Corotational(_) = &flap.motion else { unreachable!("it is corotational") };
    let scene = Scene::new(vec![flap], 0.0, 2000.0);
    let frame =
        Pose::from_parts(Vec3::zeros().into(), Rot::from_axis_angle(&Vec3::x_axis(), -std::f64::consts::FRAC_PI_2));
    let joint = JointModel {
        name: "hinge".into(),
        kind: JointKind::Hinge,
        patches: [top, Vec::new()],
        bodies: [Some(BodyId(0)), None],
        frame,
        compliance: 0.0,
    };
    let mut scene = Scene::of(SimModel { joints: vec![joint], ..scene.model });
    let (mut crossings, mut last) = (Vec::new(), scene.center(0).x);
    for k in 0..1200 {
        scene.step();
        let now = scene.center(0).x;
        if last * now < 0.0 {
            crossings.push((f64::from(k) + last / (last - now)) / 2000.0);
        }
        last = now;
    }
    let period = 2.0 * (crossings[crossings.len() - 1] - crossings[0]) / (crossings.len() - 1) as f64;
    let square = (SIDE * SIDE + LENGTH * LENGTH) / 12.0 + 0.25 * LENGTH * LENGTH;
    let expected = std::f64::consts::TAU * (square / (G * 0.5 * LENGTH)).sqrt();
    println!("period {period:.5} s, {expected:.5} s expected");
    assert!((period / expected - 1.0).abs() < 0.02, "{period} {expected}");
}

#[test]
fn every_solver_finds_the_same_forces_of_joints_on_soft_bodies() {
    let mut scene = hung(JointKind::Fixed, Steps::QuasiStatic, 100.0);
    scene.run(0.05);
    let problem = scene.data.problem();
    let settings = Settings { iterations: 20_000, tolerance: 1e-12, relaxation: 1.0 };
    let rows = problem.rows();
    assert_eq!(rows, 6);
    let (mut swept, mut newton) = (vec![0.0; rows], vec![0.0; rows]);
    solve(&problem, &mut swept, &settings, || false);
    solve_robustly(&problem, &mut newton, &settings, &mut Workspace::default(), || false);
    let scale = newton.iter().fold(0.0_f64, |most, force| most.max(force.abs()));
    let apart = swept.iter().zip(&newton).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
    println!("{newton:?}, apart by {apart:.1e}; {:?}", residuals(&problem, &newton));
    assert!(scale > 0.1 && apart < 1e-6 * scale, "{swept:?} {newton:?}");
}
