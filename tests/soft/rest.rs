//! Bodies that come to rest on each other, and bodies that slide.

use super::scene::{G, GEL, Scene, block, floor, plate, soft};
use hapticd::collision::Reduction;
use hapticd::math::{Pose, Rot, Vec3};
use hapticd::sim::{BodyId, JointKind, JointModel, Motion, Steps};

const SIDE: f64 = 0.04;

fn cube(start: Pose, cells: u32) -> hapticd::sim::BodyModel {
    soft(&block(Vec3::repeat(SIDE), [cells; 3]), GEL, &[], Steps::Implicit, start)
}

fn mass() -> f64 {
    GEL.density * SIDE.powi(3)
}

#[test]
fn a_jelly_cube_falls_on_the_floor_and_rests_with_its_weight_on_it() {
    for rate_hz in [60.0, 250.0] {
        let mut scene =
            Scene::new(vec![floor(), cube(Pose::translation(0.0, 0.0, 0.5 * SIDE + 0.01), 3)], 0.5, rate_hz);
        scene.run(1.5);
        let (force, weight) = (scene.force_on(1, 0), mass() * G);
        println!("{rate_hz} Hz: {:.9} N of {weight:.9} N, centre {:.6}", force.z, scene.center(1).z);
        assert!((force.z / weight - 1.0).abs() < 1e-6, "{rate_hz} Hz: {force} for {weight}");
        assert!(force.x.hypot(force.y) < 1e-6 * weight, "{force}");
        let low = scene.center(1).z - 0.5 * SIDE;
        assert!((-1e-3..0.0).contains(&low), "it sags a little: {low}");
    }
}

#[test]
fn a_plate_on_a_soft_block_sinks_as_uniaxial_compression_says() {
    let (half, mass_kg) = (Vec3::new(0.03, 0.03, 0.005), 0.1);
    let height = |loaded: bool| {
        let mut bodies = vec![floor(), cube(Pose::translation(0.0, 0.0, 0.5 * SIDE), 3)];
        if loaded {
            bodies.push(plate(half, mass_kg, Pose::translation(0.0, 0.0, SIDE + half.z)));
        }
        // Without friction nothing but a guide keeps the plate on the block.
        let guide = JointModel {
            name: "guide".into(),
            kind: JointKind::Slider,
            patches: Default::default(),
            bodies: [Some(BodyId(2)), None],
            frame: Pose::translation(0.0, 0.0, SIDE),
            compliance: 0.0,
        };
        let mut scene = Scene::new(bodies, 0.0, 60.0);
        scene.model.joints.extend(loaded.then_some(guide));
        let mut scene = Scene::of(scene.model);
        scene.run(2.0);
        2.0 * scene.center(1).z
    };
    let sunk = height(false) - height(true);
    // sigma = E (exp strain measure): small strain, sigma / E, corrected to second order by the height it acts on.
    let stress = mass_kg * G / (SIDE * SIDE);
    let expected = stress / GEL.young_pa * SIDE;
    println!("sunk {:.4} mm, {:.4} mm expected", 1e3 * sunk, 1e3 * expected);
    assert!((sunk / expected - 1.0).abs() < 0.02, "{sunk} {expected}");
}

#[test]
fn a_stack_of_rigid_and_soft_bodies_rests_with_its_weight_on_the_floor() {
    let half = Vec3::new(0.025, 0.025, 0.005);
    let level = |k: f64| Pose::translation(0.0, 0.0, k);
    let step = 2.0 * half.z + SIDE;
    let bodies = vec![
        floor(),
        plate(half, 0.08, level(half.z)),
        cube(level(2.0 * half.z + 0.5 * SIDE), 2),
        plate(half, 0.05, level(step + half.z)),
        cube(level(step + 2.0 * half.z + 0.5 * SIDE), 2),
    ];
    let mut scene = Scene::new(bodies, 0.5, 250.0);
    scene.run(3.0);
    let weight = (0.13 + 2.0 * mass()) * G;
    let force = scene.force_on(1, 0);
    println!("{force} for {weight}");
    assert!((force.z / weight - 1.0).abs() < 1e-6, "{force} {weight}");
    let upper = mass() * G;
    assert!((scene.force_on(4, 3).z / upper - 1.0).abs() < 1e-6, "{}", scene.force_on(4, 3));
    for body in [1, 3] {
        let speed = scene.data.bodies[body].rigid().expect("rigid").twist().norm();
        assert!(speed < 1e-5, "plate {body} moves at {speed}");
    }
}

#[test]
fn a_soft_block_starts_to_slide_at_the_angle_of_friction() {
    let friction = 0.4;
    let slope = |degrees: f64| {
        let tilt = Rot::from_axis_angle(&Vec3::y_axis(), degrees.to_radians());
        let mut ground = floor();
        ground.start = Pose::from_parts(Vec3::zeros().into(), tilt);
        let start = Pose::from_parts((tilt * Vec3::z() * (0.25 * SIDE)).into(), tilt);
        let mesh = block(Vec3::new(SIDE, SIDE, 0.5 * SIDE), [3, 3, 1]);
        let mut scene = Scene::new(vec![ground, soft(&mesh, GEL, &[], Steps::Implicit, start)], friction, 250.0);
        scene.run(0.6);
        let begin = scene.center(1);
        scene.run(0.4);
        (scene.center(1) - begin).norm()
    };
    let limit = f64::atan(friction).to_degrees();
    let (below, above) = (slope(limit - 0.2), slope(limit + 0.2));
    println!("{:.3} um below, {:.1} um above", 1e6 * below, 1e6 * above);
    // 0.2 degrees more accelerate it by g sin(0.2 deg)/cos(angle): more than 3 mm in the time.
    assert!(below < 1e-6, "{below}");
    assert!(above > 1e-3, "{above}");
}

#[test]
fn soft_and_rigid_bodies_that_collide_keep_their_momentum() {
    let at = |x: f64| Pose::translation(x, 0.0, 0.0);
    let bodies = vec![
        soft(&block(Vec3::repeat(SIDE), [2; 3]), GEL, &[], Steps::Implicit, at(0.0)),
        soft(&block(Vec3::repeat(SIDE), [2; 3]), GEL, &[], Steps::Implicit, at(1.1 * SIDE)),
        plate(Vec3::repeat(0.01), 0.03, at(-0.9 * SIDE)),
    ];
    let mut scene = Scene::new(bodies, 0.3, 1000.0);
    scene.model.gravity = Vec3::zeros();
    for body in &mut scene.model.bodies {
        if let Motion::Corotational(model) = &mut body.motion {
            let mut still = (**model).clone();
            still.gravity = Vec3::zeros();
            *model = still.into();
        }
    }
    let mut scene = Scene::of(scene.model);
    let speed = Vec3::new(0.4, 0.05, 0.0);
    scene.data.bodies[2]
        .rigid_mut()
        .expect("rigid")
        .place(at(-0.9 * SIDE), hapticd::math::join(&speed, &Vec3::new(0.0, 0.0, 3.0)));
    let momentum = |scene: &Scene| {
        let soft = |k: usize| scene.data.bodies[k].corotational().expect("soft").momentum().0;
        let plate = hapticd::math::split(scene.data.bodies[2].rigid().expect("rigid").twist()).0 * 0.03;
        soft(0) + soft(1) + plate
    };
    let start = momentum(&scene);
    let mut touched = 0;
    for _ in 0..10_000 {
        touched += usize::from(scene.step().touching > 0);
    }
    let lost = (momentum(&scene) - start).norm() / start.norm();
    println!("{touched} steps with contact, momentum changed by {lost:.1e}");
    assert!(touched > 20, "they collide: {touched}");
    assert!(lost < 1e-9, "{lost}");
}

#[test]
fn a_body_rests_on_fewer_contacts_than_it_has_nodes() {
    for (most, reduction) in [(32, Reduction::Pressure), (48, Reduction::Pressure), (32, Reduction::KMeans)] {
        let start = Pose::translation(0.0, 0.0, 0.5 * SIDE + 0.001);
        let mut scene = Scene::new(vec![floor(), cube(start, 4)], 0.5, 250.0);
        (scene.model.soft_contacts, scene.model.reduction) = (most, reduction);
        let mut scene = Scene::of(scene.model);
        let report = scene.run(2.0);
        let weight = mass() * G;
        let mut worst = 0.0_f64;
        for _ in 0..20 {
            assert_eq!(scene.step().contacts, most, "{report:?}");
            worst = worst.max((scene.force_on(1, 0) - Vec3::z() * weight).norm() / weight);
        }
        println!("{reduction:?} {most}: {worst:.1e} of the weight");
        assert!(worst < 1e-6, "{reduction:?} {most}: {worst:e} of the weight");
    }
}
