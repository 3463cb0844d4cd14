//! Joints between bodies of a scene.

use super::scene::{G, Scene, floor, plate};
use hapticd::math::{Pose, Rot, Vec3, split};
use hapticd::sim::{BodyId, JointKind, JointModel, SimModel};

const HALF: Vec3 = Vec3::new(0.01, 0.01, 0.05);
const MASS: f64 = 0.2;

fn hung(kind: JointKind, start: Pose, frame: Pose, rate_hz: f64) -> Scene {
    let scene = Scene::new(vec![floor(), plate(HALF, MASS, start)], 0.0, rate_hz);
    let joint = JointModel {
        name: "pivot".into(),
        kind,
        patches: Default::default(),
        bodies: [Some(BodyId(1)), None],
        frame,
        compliance: 0.0,
    };
    Scene::of(SimModel { joints: vec![joint], ..scene.model })
}

/// About x, 0.3 m above the floor.
fn axis_x() -> Pose {
    Pose::from_parts(
        Vec3::new(0.0, 0.0, 0.3).into(),
        Rot::from_axis_angle(&Vec3::y_axis(), std::f64::consts::FRAC_PI_2),
    )
}

fn pose(scene: &Scene) -> Pose {
    scene.data.pose(BodyId(1))
}

#[test]
fn a_bar_on_a_hinge_swings_with_the_period_of_a_physical_pendulum() {
    let angle = 0.05_f64;
    let turn = Rot::from_axis_angle(&Vec3::x_axis(), angle);
    let start = Pose::from_parts((Vec3::new(0.0, 0.0, 0.3) - turn * Vec3::z() * HALF.z).into(), turn);
    let mut scene = hung(JointKind::Hinge, start, axis_x(), 1000.0);
    let energy = scene.data.energy_j();
    let (mut crossings, mut last) = (Vec::new(), pose(&scene).translation.y);
    let mut gap = 0.0_f64;
    for k in 0..4000 {
        scene.step();
        let now = pose(&scene).translation.y;
        if last * now < 0.0 {
            crossings.push((f64::from(k) + last / (last - now)) * 1e-3);
        }
        last = now;
        let pivot = pose(&scene) * nalgebra::Point3::new(0.0, 0.0, HALF.z);
        gap = gap.max((pivot.coords - Vec3::new(0.0, 0.0, 0.3)).norm());
        assert!(scene.data.energy_j() <= energy + 1e-12, "step {k}: energy grows");
    }
    let period = 2.0 * (crossings[crossings.len() - 1] - crossings[0]) / (crossings.len() - 1) as f64;
    // I/(m g l) about the pivot, for small angles: 1 + a²/16.
    let square = (HALF.y * HALF.y + HALF.z * HALF.z) / 3.0 + HALF.z * HALF.z;
    let expected = std::f64::consts::TAU * (square / (G * HALF.z)).sqrt() * (1.0 + angle * angle / 16.0);
    println!("period {period:.5} s, {expected:.5} s expected; pivot open by {gap:.1e} m");
    assert!((period / expected - 1.0).abs() < 2e-3, "{period} {expected}");
    assert!(gap < 1e-6, "{gap}");
    let lost = 1.0 - (scene.data.energy_j() - floor_energy()) / (energy - floor_energy());
    assert!(lost.abs() < 0.2, "{lost}");
}

/// Energy of the bar at rest under its pivot, J.
fn floor_energy() -> f64 {
    MASS * G * (0.3 - HALF.z)
}

#[test]
fn a_body_on_a_slider_falls_along_its_axis_alone() {
    let start = Pose::translation(0.1, 0.0, 0.3);
    let tilt = Rot::from_axis_angle(&Vec3::y_axis(), 30_f64.to_radians());
    let frame = Pose::from_parts(start.translation, tilt);
    let mut scene = hung(JointKind::Slider, start, frame, 1000.0);
    scene.run(0.15);
    let moved = pose(&scene).translation.vector - start.translation.vector;
    let along = tilt * Vec3::z();
    let way = moved.dot(&along);
    let expected = -0.5 * G * along.z * 0.15 * 0.15;
    println!("{:.6} m along, {expected:.6} m expected, {:.1e} m off the axis", way, (moved - along * way).norm());
    assert!((way / expected - 1.0).abs() < 1e-3 && (moved - along * way).norm() < 1e-9, "{moved}");
    assert!(split(scene.data.bodies[1].rigid().expect("rigid").twist()).1.norm() < 1e-9);
}

#[test]
fn a_fixed_joint_holds_a_body_against_its_weight_and_a_ball_lets_it_turn() {
    let start = Pose::translation(0.0, 0.0, 0.3);
    let frame = Pose::translation(0.0, 0.02, 0.3);
    let mut held = hung(JointKind::Fixed, start, frame, 60.0);
    held.run(1.0);
    let moved = (pose(&held).translation.vector - start.translation.vector).norm();
    let turned = (pose(&held).rotation.inverse() * start.rotation).angle();
    println!("moved {moved:.1e} m, turned {turned:.1e}");
    assert!(moved < 1e-9 && turned < 1e-9, "{moved} {turned}");
    let mut free = hung(JointKind::Ball, start, frame, 1000.0);
    free.run(0.3);
    let pivot = pose(&free) * nalgebra::Point3::new(0.0, 0.02, 0.0);
    assert!((pivot.coords - frame.translation.vector).norm() < 1e-6, "{pivot}");
    assert!((pose(&free).rotation.inverse() * start.rotation).angle() > 0.3);
}
