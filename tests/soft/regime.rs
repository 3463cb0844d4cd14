//! With time or without: bodies that choose by the length of the step and by its computing time.

use super::scene::{GEL, Scene, block, floor, soft};
use hapticd::fem::Regime;
use hapticd::geometry::{Shape, Sphere};
use hapticd::math::{Pose, Vec3};
use hapticd::sim::Steps;

const RATE_HZ: f64 = 250.0;
const PERIOD_NS: u64 = 4_000_000;

/// A block that hangs from its upper side; with time, as its slowest vibration is longer than a step.
fn hanging() -> Scene {
    let mesh = block(Vec3::new(0.03, 0.03, 0.06), [1, 1, 2]);
    let top: Vec<u32> = (0..).zip(mesh.nodes()).filter(|(_, node)| node.z > 0.0299).map(|(at, _)| at).collect();
    let start = Pose::translation(0.0, 0.0, 0.1);
    Scene::new(vec![soft(&mesh, GEL, &top, Steps::Auto(Default::default()), start), floor()], 0.5, RATE_HZ)
}

fn regime(scene: &Scene) -> Regime {
    scene.data.bodies[0].corotational().expect("soft").body().regime()
}

/// Steps whose predecessors took these shares of the period.
fn run(scene: &mut Scene, load: f64, steps: usize) -> Regime {
    for _ in 0..steps {
        scene.data.last_took((load * PERIOD_NS as f64) as u64);
        scene.step();
    }
    regime(scene)
}

#[test]
fn a_body_steps_without_time_while_steps_are_late_and_with_time_again_once_they_are_early_by_a_margin() {
    let mut scene = hanging();
    assert_eq!(run(&mut scene, 0.5, 20), Regime::Dynamic);
    // Late now and then, and late for a while.
    for _ in 0..10 {
        run(&mut scene, 1.5, 3);
        assert_eq!(run(&mut scene, 0.9, 1), Regime::Dynamic);
    }
    assert_eq!(run(&mut scene, 1.5, 9), Regime::Dynamic);
    assert_eq!(run(&mut scene, 1.5, 1), Regime::QuasiStatic);
    // In time, but not by the margin.
    assert_eq!(run(&mut scene, 0.9, 50), Regime::QuasiStatic);
    assert_eq!(run(&mut scene, 0.5, 9), Regime::QuasiStatic);
    assert_eq!(run(&mut scene, 0.5, 1), Regime::Dynamic);
}

#[test]
fn computing_time_is_an_input_like_any_other() {
    let loads: Vec<f64> = (0..80).map(|k| if (20..45).contains(&k) { 2.5 } else { 0.1 }).collect();
    let end = |loads: &[f64]| {
        let mut scene = hanging();
        let mut switched = 0;
        for load in loads {
            switched += usize::from(run(&mut scene, *load, 1) == Regime::QuasiStatic);
        }
        let place: Vec<u64> =
            scene.data.bodies[0].corotational().expect("soft").body().position().iter().map(|x| x.to_bits()).collect();
        (switched, place)
    };
    let (first, again, never) = (end(&loads), end(&loads), end(&[0.1; 80]));
    assert_eq!(first, again);
    assert!(first.0 > 10 && never.0 == 0 && first.1 != never.1, "{} steps without time", first.0);
    // A driver in virtual time states no computing time.
    let mut untimed = hanging();
    (0..80).for_each(|_| assert!(untimed.step().converged));
    assert_eq!(regime(&untimed), Regime::Dynamic);
}

/// A tool that is pushed in beyond what elements can follow: the step is cut and reported, the body keeps its last balance, and goes on from there.
#[test]
fn a_step_that_finds_no_equilibrium_is_reported_and_not_taken() {
    let mesh = block(Vec3::new(0.04, 0.04, 0.02), [2, 2, 1]);
    let bottom: Vec<u32> = (0..).zip(mesh.nodes()).filter(|(_, node)| node.z < -0.0099).map(|(at, _)| at).collect();
    let start = Pose::translation(0.0, 0.0, 0.01);
    let mut scene = Scene::new(vec![soft(&mesh, GEL, &bottom, Steps::QuasiStatic, start), floor()], 0.5, RATE_HZ);
    scene.model.tools[0].shape = Shape::Sphere(Sphere { radius: 0.01 });
    let mut scene = Scene::of(scene.model);
    let at = |depth: f64| Pose::translation(0.003, 0.001, 0.03 - depth);
    let press = |scene: &mut Scene, depth: f64| {
        scene.tool.pose_world_tool = at(depth);
        let report = scene.step();
        let finite = scene.data.bodies[0].corotational().expect("soft").body().position().iter().all(|x| x.is_finite());
        assert!(finite);
        report.converged
    };
    assert!(press(&mut scene, 0.001));
    let missed = (0..20).filter(|k| !press(&mut scene, 0.001 + 0.002 * f64::from(*k))).count() as u64;
    println!("{missed} of 20 steps did not converge");
    assert!(missed > 0 && scene.data.unconverged == missed);
    let back = (0..40).map(|_| press(&mut scene, -0.05)).last();
    let place = scene.data.bodies[0].corotational().expect("soft").body().position();
    let off = place.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    println!("released: {:.3} mm from rest", 1e3 * off);
    assert!(back == Some(true) && off < 1e-4, "{off}");
}
