//! Linear bodies by passive midpoint integration: energy, reaction, contact.

use super::beams::{RUBBER, beam, clamped};
use hapticd::fem::{Attachment, Compliance, ElasticBody, FemError, Material, Rayleigh, Rows};
use hapticd::math::Vec3;
use hapticd::mechanism::pmi::Accuracy;

/// A velocity that bends, stretches and twists.
fn kick(body: &ElasticBody) -> Vec<f64> {
    let rest = body.model().rest();
    body.model().gather(|n| {
        let p = rest[n as usize] * 10.0;
        Vec3::new(0.1 * p.x, p.x * p.x + 0.2 * p.z, -0.5 * p.x * p.x - 0.2 * p.y)
    })
}

#[test]
fn undamped_bodies_keep_their_energy_from_rubber_to_steel() {
    for (young_pa, quadratic, steps) in [
        (1e4, false, 100_000),
        (1e6, false, 100_000),
        (1.6476e8, false, 100_000),
        (1e11, false, 100_000),
        (1e9, true, 10_000),
    ] {
        let mesh = beam(0.1, 0.02, 1, quadratic);
        let model = clamped(&mesh, Material { young_pa, ..RUBBER }, Rayleigh::default());
        let mut body = ElasticBody::new(model, Vec3::zeros(), Accuracy::Compensated);
        let (rest, speed) = (vec![0.0; body.model().size()], kick(&body));
        body.set_state(&rest, &speed).expect("right size");
        let start = body.ledger().total_j();
        let mut worst = 0.0_f64;
        for _ in 0..steps {
            body.step(&rest, 1e-3).expect("sound");
            worst = worst.max((body.ledger().total_j() / start - 1.0).abs());
        }
        println!("E {young_pa:e}, quadratic {quadratic}: energy off by {worst:.1e} at most in {steps} steps");
        assert!(worst < 1e-9, "E {young_pa:e}: {worst:e}");
    }
}

#[test]
fn forces_damping_and_contact_are_all_in_the_ledger() {
    let mesh = beam(0.1, 0.02, 1, true);
    let damping = Rayleigh { mass_per_s: 0.5, stiffness_s: 1e-4 };
    let model = clamped(&mesh, RUBBER, damping);
    let mut body = ElasticBody::new(model.clone(), Vec3::new(0.0, 0.0, -9.81), Accuracy::Plain);
    let tip = mesh.nodes_where(|p| p.x > 0.0999 && p.z < 1e-6)[0];
    let floor = -1e-3;
    let mut rows = Rows::default();
    rows.push(&model, &Attachment::node(tip), &Vec3::z());
    let (mut work, mut touched, mut deepest, mut most) = (Compliance::default(), 0, 0.0_f64, 0.0_f64);
    for k in 0..2000 {
        let push = model
            .gather(|n| if n == tip { Vec3::new(0.0, 0.02 * (f64::from(k) * 0.01).sin(), 0.0) } else { Vec3::zeros() });
        body.prepare(&push, 1e-3).expect("sound");
        let mut w = [0.0];
        body.compliance(&rows, &mut work, &mut w).expect("prepared");
        let gap = rows.times(0, body.position()) - floor + 1e-3 * rows.times(0, body.midpoint());
        if gap < 0.0 {
            touched += 1;
            let mut force = vec![0.0; model.size()];
            rows.add_transposed(&[-gap / w[0]], &mut force);
            body.apply_contact(&force).expect("right size");
        }
        body.finish();
        deepest = deepest.min(rows.times(0, body.position()) - floor);
        most = most.max(body.ledger().total_j());
    }
    let ledger = body.ledger();
    println!("touched {touched} steps, deepest {deepest:e} m, balance {:e} of {most:e} J", ledger.balance());
    assert!(touched > 100 && deepest > -1e-12, "{touched} {deepest:e}");
    assert!(ledger.dissipated_j() > 0.0 && ledger.work_in_j() > 0.0);
    assert!(ledger.balance().abs() < 1e-9 * most, "{:e}", ledger.balance());
}

#[test]
fn the_support_carries_the_weight_and_what_is_pressed_on() {
    for quadratic in [false, true] {
        let mesh = beam(0.1, 0.02, 1, quadratic);
        let model = clamped(&mesh, RUBBER, Rayleigh { mass_per_s: 50.0, stiffness_s: 1e-4 });
        let mut body = ElasticBody::new(model.clone(), Vec3::new(0.0, 0.0, -9.81), Accuracy::Plain);
        let tip = mesh.nodes_where(|p| p.x > 0.0999)[0];
        let push = model.gather(|n| if n == tip { Vec3::new(0.3, 0.2, -0.1) } else { Vec3::zeros() });
        for _ in 0..4000 {
            body.step(&push, 2e-3).expect("sound");
        }
        // Volume 4e-5 m³ of 1000 kg/m³.
        let wanted = Vec3::new(-0.3, -0.2, 0.1 + 9.81 * 0.04);
        assert!((body.reaction() - wanted).norm() < 1e-9, "{} {wanted}", body.reaction());
    }
}

#[test]
fn the_reaction_is_what_changes_the_momentum_of_the_whole() {
    let mesh = beam(0.1, 0.02, 1, true);
    let model = clamped(&mesh, RUBBER, Rayleigh { mass_per_s: 0.0, stiffness_s: 1e-3 });
    let mut body = ElasticBody::new(model.clone(), Vec3::new(0.0, 0.0, -9.81), Accuracy::Plain);
    let (rest, speed) = (vec![0.0; model.size()], kick(&body));
    body.set_state(&rest, &speed).expect("right size");
    // Momentum of all nodes, the fixed ones too, which share mass with their neighbours: 1ᵀ M v over a model without
    // fixed ones.
    let free = super::patch::model(&mesh, &[], hapticd::fem::Ordering::LeastFill);
    let momentum = |body: &ElasticBody| {
        let v = free.gather(|n| {
            model.first_of(n).map_or_else(Vec3::zeros, |at| Vec3::from_column_slice(&body.velocity()[at..at + 3]))
        });
        let mut all = vec![0.0; free.size()];
        free.mass().add_product(1.0, &v, &mut all);
        all.chunks(3).map(Vec3::from_column_slice).sum::<Vec3>()
    };
    for _ in 0..50 {
        let before = momentum(&body);
        body.step(&rest, 1e-3).expect("sound");
        let change = (momentum(&body) - before) / 1e-3;
        let wanted = body.reaction() + Vec3::new(0.0, 0.0, -9.81 * 0.04);
        assert!((change - wanted).norm() < 1e-9 * (1.0 + wanted.norm()), "{change} {wanted}");
    }
}

#[test]
fn wrong_sizes_and_steps_are_refused_and_change_nothing() {
    let mesh = beam(0.1, 0.02, 1, false);
    let mut body = ElasticBody::new(clamped(&mesh, RUBBER, Rayleigh::default()), Vec3::zeros(), Accuracy::Plain);
    let good = vec![0.0; body.model().size()];
    assert_eq!(body.step(&[0.0], 1e-3), Err(FemError::SizeMismatch));
    for step_s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(body.step(&good, step_s), Err(FemError::BadStep));
    }
    assert_eq!(body.solve(&mut good.clone()), Err(FemError::BadStep));
    assert!(body.position().iter().chain(body.velocity()).all(|x| *x == 0.0));
}
