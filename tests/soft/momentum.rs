//! Linear and angular momentum of bodies that nothing holds.

use super::scene::{GEL, Scene, block, soft};
use hapticd::fem::FemModel;
use hapticd::geometry::tet::TetMesh;
use hapticd::math::{Pose, Vec3};
use hapticd::sim::{Motion, Steps};

const SIDE: f64 = 0.04;

/// Bodies without gravity, at velocities `v + w × (x − c) + strain` of their nodes.
fn floating(meshes: &[(TetMesh, Vec3, Vec3, Vec3)], friction: f64, rate_hz: f64) -> Scene {
    let bodies = meshes.iter().map(|(mesh, place, ..)| {
        let start = Pose::from_parts((*place).into(), Default::default());
        soft(mesh, GEL, &[], Steps::Implicit, start)
    });
    let mut scene = Scene::new(bodies.collect(), friction, rate_hz);
    scene.model.gravity = Vec3::zeros();
    for body in &mut scene.model.bodies {
        if let Motion::Corotational(model) = &mut body.motion {
            let mut still = (**model).clone();
            still.gravity = Vec3::zeros();
            *model = still.into();
        }
    }
    let mut scene = Scene::of(scene.model);
    for (body, (_, _, speed, spin)) in scene.data.bodies.iter_mut().zip(meshes) {
        let hapticd::sim::Body::Corotational(body) = body else { continue };
        let fem: &FemModel = &body.model().fem;
        // Stretched by a tenth along x, so that the stiffness has something to resist.
        let (mut position, mut velocity) = (vec![0.0; fem.size()], vec![0.0; fem.size()]);
        for (node, rest) in (0..).zip(fem.rest()) {
            let Some(first) = fem.first_of(node) else { continue };
            let shift = Vec3::new(0.1 * rest.x, 0.02 * rest.z, 0.0);
            position[first..first + 3].copy_from_slice(shift.as_slice());
            velocity[first..first + 3].copy_from_slice((speed + spin.cross(&(rest + shift))).as_slice());
        }
        body.set_state(&position, &velocity).expect("of its size");
    }
    scene
}

fn momentum(scene: &Scene) -> (Vec3, Vec3) {
    let of = |body: &hapticd::sim::Body| body.corotational().expect("soft").momentum();
    let all = scene.data.bodies.iter().map(of);
    all.fold((Vec3::zeros(), Vec3::zeros()), |(p, l), (q, m)| (p + q, l + m))
}

#[test]
fn a_spinning_soft_body_keeps_its_angular_momentum() {
    let spin = Vec3::new(3.0, 20.0, 8.0);
    for rate in [60.0, 1000.0] {
        let mesh = block(Vec3::new(SIDE, SIDE, 0.5 * SIDE), [2, 2, 1]);
        let mut scene = floating(&[(mesh, Vec3::zeros(), Vec3::new(0.1, 0.0, 0.0), spin)], 0.0, rate);
        let start = momentum(&scene);
        for _ in 0..10_000 {
            scene.step();
        }
        let end = momentum(&scene);
        let lost = [(end.0 - start.0).norm() / start.0.norm(), (end.1 - start.1).norm() / start.1.norm()];
        let energy = scene.data.bodies[0].energy_j();
        println!("{rate} Hz: linear {:.1e}, angular {:.1e}, energy {energy:.3e} J", lost[0], lost[1]);
        assert!(lost[0] < 1e-9 && lost[1] < 1e-9, "{rate} Hz: {lost:?}");
    }
}

#[test]
fn soft_bodies_that_collide_askew_keep_their_angular_momentum() {
    for friction in [0.0, 0.3] {
        let cube = || block(Vec3::repeat(SIDE), [2; 3]);
        let place = Vec3::new(1.3 * SIDE, 0.3 * SIDE, 0.1 * SIDE);
        let bodies = [
            (cube(), Vec3::zeros(), Vec3::new(0.2, 0.0, 0.0), Vec3::new(0.0, 1.0, 2.0)),
            (cube(), place, Vec3::new(-0.2, 0.05, 0.0), Vec3::new(2.0, 0.0, -3.0)),
        ];
        let mut scene = floating(&bodies, friction, 1000.0);
        let start = momentum(&scene);
        let mut touched = 0;
        for _ in 0..10_000 {
            touched += usize::from(scene.step().touching > 0);
        }
        let end = momentum(&scene);
        let lost = [(end.0 - start.0).norm() / 0.01, (end.1 - start.1).norm() / start.1.norm()];
        println!("friction {friction}: {touched} steps with contact, linear {:.1e}, angular {:.1e}", lost[0], lost[1]);
        assert!(touched > 10, "they collide: {touched}");
        assert!(lost[0] < 1e-9, "{lost:?}");
        // Friction acts across the gap that a contact has at the start of the step that closes it.
        assert!(lost[1] < if friction == 0.0 { 1e-9 } else { 1e-3 }, "{lost:?}");
    }
}
