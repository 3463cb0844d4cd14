//! Bodies with large rotations: no force from turning, force from energy, energy lost by implicit Euler and said so.

use super::beams::{RUBBER, beam, clamped};
use super::patch::model;
use hapticd::fem::{CorotationalBody, ElasticBody, Ordering, Rayleigh, Regime};
use hapticd::geometry::tet::{Split, TetMesh};
use hapticd::math::{Random, Rot, Vec3};
use hapticd::mechanism::pmi::Accuracy;
use std::sync::Arc;

fn free_body(mesh: &TetMesh) -> CorotationalBody {
    CorotationalBody::new(Arc::new(model(mesh, &[], Ordering::LeastFill)), Vec3::zeros())
}

#[test]
fn turning_a_body_by_any_angle_gives_no_force() {
    let mut random = Random::new(2);
    for mesh in [super::mesh_checks::block(Split::Six), super::mesh_checks::block(Split::Five).with_midsides()] {
        let mut worst = 0.0_f64;
        for _ in 0..20 {
            let mut body = free_body(&mesh);
            let axis = Vec3::from_fn(|_, _| random.uniform() - 0.5).normalize();
            let turn = Rot::from_scaled_axis(axis * std::f64::consts::PI * random.uniform());
            let x = body
                .model()
                .gather(|n| turn * mesh.nodes()[n as usize] - mesh.nodes()[n as usize] + Vec3::new(1.0, 2.0, 3.0));
            let rest = vec![0.0; x.len()];
            body.set_state(&x, &rest).expect("right size");
            worst = worst.max(body.elastic_force().iter().fold(0.0, |m, f| m.max(f.abs())));
        }
        println!("largest force after a rigid motion {worst:e} N");
        assert!(worst < 1e-9, "{worst:e}");
    }
}

#[test]
fn the_force_is_minus_the_slope_of_the_energy() {
    let mut random = Random::new(4);
    for mesh in [super::mesh_checks::block(Split::Six), super::mesh_checks::block(Split::Six).with_midsides()] {
        let mut body = free_body(&mesh);
        let turn = Rot::from_scaled_axis(Vec3::new(0.9, -1.1, 0.4));
        // Turned, and strained by up to a third.
        let x = body.model().gather(|n| {
            let p = mesh.nodes()[n as usize];
            turn * (p + Vec3::new(0.3 * p.x, -0.2 * p.y, 0.1 * p.z + 8.0 * p.x * p.y)) - p
        });
        let along: Vec<f64> = x.iter().map(|_| random.uniform() - 0.5).collect();
        let rest = vec![0.0; x.len()];
        let mut energy_at = |t: f64| {
            let moved: Vec<f64> = x.iter().zip(&along).map(|(x, d)| x + t * d).collect();
            body.set_state(&moved, &rest).expect("right size");
            (body.elastic_energy(), body.elastic_force())
        };
        let (_, force) = energy_at(0.0);
        let power: f64 = force.iter().zip(&along).map(|(f, d)| f * d).sum();
        // Richardson: the error of central differences falls with the fourth power.
        let mut slope = |t: f64| (energy_at(t).0 - energy_at(-t).0) / (2.0 * t);
        let slope = (4.0 * slope(1e-6) - slope(2e-6)) / 3.0;
        assert!((power / -slope - 1.0).abs() < 1e-7, "{power} {slope}");
    }
}

#[test]
fn implicit_euler_loses_energy_where_midpoint_integration_keeps_it() {
    let mesh = beam(0.1, 0.02, 1, false);
    let model = clamped(&mesh, RUBBER, Rayleigh::default());
    let mut euler = CorotationalBody::new(model.clone(), Vec3::zeros());
    let mut midpoint = ElasticBody::new(model.clone(), Vec3::zeros(), Accuracy::Compensated);
    // Small enough for both models to be the same.
    let speed = model.gather(|n| Vec3::new(0.0, 0.0, 1e-3 * mesh.nodes()[n as usize].x.powi(2) * 100.0));
    let rest = vec![0.0; model.size()];
    euler.set_state(&rest, &speed).expect("right size");
    midpoint.set_state(&rest, &speed).expect("right size");
    let start = euler.kinetic_energy();
    let mut last = start;
    for _ in 0..200 {
        euler.step(&rest, 1e-3).expect("sound");
        midpoint.step(&rest, 1e-3).expect("sound");
        let now = euler.kinetic_energy() + euler.elastic_energy();
        assert!(now <= last * (1.0 + 1e-12), "{now} {last}");
        last = now;
    }
    println!(
        "after 200 steps implicit Euler has {:.4} of the energy, midpoint 1 {:+.1e}",
        last / start,
        midpoint.ledger().total_j() / start - 1.0
    );
    assert!(last < 0.9 * start);
    assert!((midpoint.ledger().total_j() / start - 1.0).abs() < 1e-9);
}

#[test]
fn a_beam_bent_far_comes_to_the_equilibrium_that_time_would_lead_to() {
    let mesh = beam(0.1, 0.02, 1, true);
    let damped = clamped(&mesh, RUBBER, Rayleigh { mass_per_s: 20.0, stiffness_s: 1e-2 });
    let gravity = Vec3::new(0.0, 0.0, -60.0);
    let (mut dynamic, mut still) =
        (CorotationalBody::new(damped.clone(), gravity), CorotationalBody::new(damped.clone(), gravity));
    still.set_regime(Regime::QuasiStatic);
    let none = vec![0.0; damped.size()];
    for _ in 0..400 {
        dynamic.step(&none, 1e-2).expect("sound");
    }
    for _ in 0..100 {
        still.step(&none, 1e-2).expect("held");
    }
    let sag = still.position().iter().copied().fold(0.0, f64::min);
    let off = dynamic.position().iter().zip(still.position()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    println!("tip sags {sag} m of 0.1 m, regimes differ by {off:e} m");
    assert!(sag < -0.015 && off < 1e-9, "{sag} {off:e}");
    // What is left of the forces at the equilibrium.
    let force: f64 = still
        .elastic_force()
        .iter()
        .zip(damped.gravity_force(&gravity))
        .map(|(f, g)| (f + g).abs())
        .fold(0.0, f64::max);
    assert!(force < 1e-9, "{force:e}");
}

#[test]
fn a_body_that_nothing_holds_has_no_equilibrium_and_says_so() {
    let mut body = free_body(&super::mesh_checks::block(Split::Six));
    let none = vec![0.0; body.model().size()];
    body.step(&none, 1e-2).expect("with inertia it can move");
    body.set_regime(Regime::QuasiStatic);
    // Round-off may leave the six zero pivots either side of zero; where it lets them pass the motion must still be
    // small.
    match body.prepare(&none, 1e-2) {
        Err(error) => assert!(error.to_string().contains("fix nodes"), "{error}"),
        Ok(()) => assert!(body.midpoint().iter().all(|v| v.abs() < 1e-6)),
    }
}
