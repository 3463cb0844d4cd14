//! Linear and angular momentum of bodies that nothing holds.

use super::scene::{GEL, Scene, block, plate, soft};
use hapticd::fem::FemModel;
use hapticd::math::{Pose, Vec3, join, split};
use hapticd::sim::{Body, BodyModel, ContactForce, Motion, Steps};

const SIDE: f64 = 0.04;

/// Bodies without gravity.
fn weightless(bodies: Vec<BodyModel>, friction: f64, rate_hz: f64) -> Scene {
    let mut scene = Scene::new(bodies, friction, rate_hz);
    scene.model.gravity = Vec3::zeros();
    for body in &mut scene.model.bodies {
        if let Motion::Corotational(model) = &mut body.motion {
            let mut still = (**model).clone();
            still.gravity = Vec3::zeros();
            *model = still.into();
        }
    }
    Scene::of(scene.model)
}

/// Moves a body at `v + w × (x − c)`; a soft one is stretched by a tenth along x, so that its stiffness has something to resist.
fn set_moving(body: &mut Body, speed: Vec3, spin: Vec3) {
    match body {
        Body::Corotational(body) => {
            let fem: &FemModel = &body.model().fem;
            let (mut position, mut velocity) = (vec![0.0; fem.size()], vec![0.0; fem.size()]);
            for (node, rest) in (0..).zip(fem.rest()) {
                let Some(first) = fem.first_of(node) else { continue };
                let shift = Vec3::new(0.1 * rest.x, 0.02 * rest.z, 0.0);
                position[first..first + 3].copy_from_slice(shift.as_slice());
                velocity[first..first + 3].copy_from_slice((speed + spin.cross(&(rest + shift))).as_slice());
            }
            body.set_state(&position, &velocity).expect("of its size");
        }
        Body::Rigid(body) => body.place(*body.pose(), join(&speed, &spin)),
        _ => {}
    }
}

/// Linear momentum, and angular momentum about the origin.
fn momentum(scene: &Scene) -> (Vec3, Vec3) {
    let of = |body: &Body| match body {
        Body::Corotational(body) => body.momentum(),
        Body::Rigid(body) => {
            let (v, w) = split(body.twist());
            let (linear, pose) = (v * body.inertia().mass_kg(), body.pose());
            let spin = pose.rotation * (body.inertia().inertia_body() * w);
            (linear, pose.translation.vector.cross(&linear) + spin)
        }
        _ => Default::default(),
    };
    let all = scene.data.bodies.iter().map(of);
    all.fold((Vec3::zeros(), Vec3::zeros()), |(p, l), (q, m)| (p + q, l + m))
}

/// Steps of the long runs.
fn steps() -> usize {
    if std::env::var_os("HAPTICD_LONG").is_some() { 10_000 } else { 1_000 }
}

#[test]
fn a_spinning_soft_body_keeps_its_angular_momentum() {
    let spin = Vec3::new(3.0, 20.0, 8.0);
    for rate in [60.0, 1000.0] {
        let mesh = block(Vec3::new(SIDE, SIDE, 0.5 * SIDE), [2, 2, 1]);
        let mut scene = weightless(vec![soft(&mesh, GEL, &[], Steps::Implicit, Pose::identity())], 0.0, rate);
        set_moving(&mut scene.data.bodies[0], Vec3::new(0.1, 0.0, 0.0), spin);
        let start = momentum(&scene);
        for _ in 0..steps() {
            scene.step();
        }
        let end = momentum(&scene);
        let lost = [(end.0 - start.0).norm() / start.0.norm(), (end.1 - start.1).norm() / start.1.norm()];
        let energy = scene.data.bodies[0].energy_j();
        println!("{rate} Hz: linear {:.1e}, angular {:.1e}, energy {energy:.3e} J", lost[0], lost[1]);
        assert!(lost[0] < 1e-9 && lost[1] < 1e-9, "{rate} Hz: {lost:?}");
    }
}

/// Two bodies, each a soft cube or a rigid box, that collide askew and turn; friction drags them along each other.
fn collide(soft_first: bool, soft_second: bool, friction: f64, rate_hz: f64) {
    let cube = || block(Vec3::repeat(SIDE), [2; 3]);
    let box_at =
        |place: Vec3| plate(Vec3::new(0.5, 0.4, 0.6) * SIDE, 0.05, Pose::from_parts(place.into(), Default::default()));
    let place = Vec3::new(1.3 * SIDE, 0.3 * SIDE, 0.1 * SIDE);
    let kind = |is_soft: bool, place: Vec3| {
        if is_soft {
            soft(&cube(), GEL, &[], Steps::Implicit, Pose::from_parts(place.into(), Default::default()))
        } else {
            box_at(place)
        }
    };
    let bodies = vec![kind(soft_first, Vec3::zeros()), kind(soft_second, place)];
    let motions =
        [(Vec3::new(0.2, 0.0, 0.0), Vec3::new(0.0, 1.0, 2.0)), (Vec3::new(-0.2, 0.05, 0.0), Vec3::new(2.0, 0.0, -3.0))];
    let mut scene = weightless(bodies, friction, rate_hz);
    for (body, (speed, spin)) in scene.data.bodies.iter_mut().zip(motions) {
        set_moving(body, speed, spin);
    }
    let start = momentum(&scene);
    let (mut touched, mut rubbed) = (0, 0);
    for _ in 0..steps() {
        let report = scene.step();
        touched += usize::from(report.touching > 0);
        let rubs = |force: &ContactForce| (force.force - force.normal * force.force.dot(&force.normal)).norm() > 1e-6;
        rubbed += usize::from(scene.data.forces.iter().any(rubs));
    }
    let end = momentum(&scene);
    let lost = [(end.0 - start.0).norm() / 0.01, (end.1 - start.1).norm() / start.1.norm()];
    println!(
        "soft {soft_first} {soft_second}, friction {friction}, {rate_hz} Hz: {touched} steps with contact, {rubbed} with friction, linear {:.1e}, angular {:.1e}",
        lost[0], lost[1]
    );
    assert!(touched > 0 && (rubbed > 0) == (friction > 0.0), "they collide: {touched}, {rubbed}");
    assert!(lost[0] < 1e-9 && lost[1] < 1e-9, "{lost:?}");
}

#[test]
fn soft_bodies_that_collide_askew_keep_their_momenta() {
    collide(true, true, 0.0, 1000.0);
    collide(true, true, 0.3, 1000.0);
    collide(true, true, 0.3, 250.0);
}

#[test]
fn a_soft_and_a_rigid_body_that_collide_askew_keep_their_momenta() {
    collide(true, false, 0.3, 1000.0);
    collide(false, true, 0.3, 250.0);
}

#[test]
fn rigid_bodies_that_collide_askew_keep_their_momenta() {
    collide(false, false, 0.3, 1000.0);
    collide(false, false, 0.3, 250.0);
}
