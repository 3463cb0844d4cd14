//! Passive midpoint integration over long runs with steps drawn at random from 0.1 to 20 ms: energy to 1e-10 over 1e6
//! steps, where on the same input semi-implicit Euler diverges and implicit Euler loses energy; ledgers that close; and
//! the passivity inequality (seed 000, eq. 6).

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use hapticd::math::{Mat3, Pose, Vec3, Vec6, exp_so3, join, split};
use hapticd::mechanism::pmi::baseline::{LinearBaseline, Rule, spin_after};
use hapticd::mechanism::pmi::{Accuracy, Coriolis, Gravity, LinearBody, LinearSystem, RigidBody, RigidInertia};
use nalgebra::{DMatrix, DVector};

const STEPS: u32 = 1_000_000;
const TOLERANCE: f64 = 1e-10;

/// SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn signed(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }

    /// 0.1 to 20 ms, every factor equally likely.
    fn step_s(&mut self) -> f64 {
        1e-4 * 200.0_f64.powf(self.unit())
    }
}

/// A row of masses, each tied to the one before it by a spring, the first to the wall.
fn chain(masses: &[f64], springs: &[f64], damping_s: f64) -> LinearSystem {
    let size = masses.len();
    let mut stiffness = DMatrix::zeros(size, size);
    for (i, k) in springs.iter().enumerate() {
        stiffness[(i, i)] += k;
        if i > 0 {
            stiffness[(i - 1, i - 1)] += k;
            stiffness[(i, i - 1)] -= k;
            stiffness[(i - 1, i)] -= k;
        }
    }
    let mass = DMatrix::from_diagonal(&DVector::from_column_slice(masses));
    LinearSystem::new(&mass, &(&stiffness * damping_s), &stiffness).unwrap()
}

/// Largest relative change of energy seen along the run.
fn worst_energy_error(system: &LinearSystem, x: &[f64], v: &[f64], random: &Random) -> f64 {
    let mut body = LinearBody::new(system.clone(), Accuracy::Compensated);
    body.set_state(x, v).unwrap();
    let (mut random, still, start) = (random.clone(), vec![0.0; x.len()], body.ledger().initial_j());
    let mut worst = 0.0_f64;
    for _ in 0..STEPS {
        body.step(&still, random.step_s()).unwrap();
        worst = worst.max((body.ledger().total_j() / start - 1.0).abs());
    }
    worst
}

/// Energy of a baseline relative to its start, after all steps or once it has left `1e-6..1e6`.
fn baseline_energy(rule: Rule, system: &LinearSystem, x: &[f64], v: &[f64], random: &Random) -> f64 {
    let mut body = LinearBaseline::new(rule, system.clone(), x, v).unwrap();
    let (mut random, still, start) = (random.clone(), vec![0.0; x.len()], body.energy_j());
    for _ in 0..STEPS {
        body.step(&still, random.step_s()).unwrap();
        if !(1e-6..1e6).contains(&(body.energy_j() / start)) {
            break;
        }
    }
    body.energy_j() / start
}

fn keeps_energy_where_euler_does_not(system: &LinearSystem, x: &[f64], v: &[f64], seed: u64) {
    let random = Random(seed);
    let worst = worst_energy_error(system, x, v, &random);
    let semi_implicit = baseline_energy(Rule::SemiImplicitEuler, system, x, v, &random);
    let implicit = baseline_energy(Rule::ImplicitEuler, system, x, v, &random);
    println!("worst {worst:.1e}, semi-implicit Euler × {semi_implicit:.1e}, implicit Euler × {implicit:.1e}");
    assert!(worst <= TOLERANCE, "{worst:e}");
    assert!(semi_implicit >= 1e6, "{semi_implicit:e}");
    assert!(implicit <= 1e-6, "{implicit:e}");
}

#[test]
fn an_oscillator_keeps_its_energy_for_a_million_random_steps_where_euler_diverges_or_fades() {
    for (seed, (mass, stiffness)) in (1..).zip([(1.0, 1e3), (1e-2, 1e4), (1e-6, 1e9)]) {
        keeps_energy_where_euler_does_not(&chain(&[mass], &[stiffness], 0.0), &[1e-3], &[0.3], seed);
    }
}

/// Masses and springs over `decades`, in the order given.
fn graded(order: [i32; 8], from: f64, decades: f64) -> Vec<f64> {
    order.iter().map(|&i| from * 10.0_f64.powf(decades * f64::from(i) / 7.0)).collect()
}

fn stiff_chain_keeps_its_energy(masses: &[f64], springs: &[f64], seed: u64) {
    let mut random = Random(seed);
    let v: Vec<f64> = masses.iter().map(|_| random.signed()).collect();
    // Every spring begins with some energy, so that all stiffnesses take part.
    let mut at = 0.0;
    let x: Vec<f64> = springs
        .iter()
        .map(|k| {
            at += random.signed() * (0.02 / k).sqrt();
            at
        })
        .collect();
    keeps_energy_where_euler_does_not(&chain(masses, springs, 0.0), &x, &v, seed);
}

#[test]
fn a_chain_graded_from_heavy_and_soft_to_light_and_stiff_keeps_its_energy() {
    let order = [0, 1, 2, 3, 4, 5, 6, 7];
    stiff_chain_keeps_its_energy(&graded(order, 1.0, -6.0), &graded(order, 1e2, 7.0), 11);
}

#[test]
fn a_chain_of_masses_and_springs_in_mixed_order_keeps_its_energy() {
    let (masses, springs) = (graded([3, 7, 0, 5, 1, 6, 2, 4], 1.0, -6.0), graded([7, 2, 5, 0, 6, 1, 4, 3], 1e2, 7.0));
    stiff_chain_keeps_its_energy(&masses, &springs, 12);
}

#[test]
fn a_chain_of_nothing_but_light_masses_and_stiff_springs_keeps_its_energy() {
    stiff_chain_keeps_its_energy(&[1e-6; 8], &[1e9; 8], 13);
}

#[test]
fn free_rigid_bodies_keep_their_energy_where_euler_diverges_or_loses_it() {
    let tilt = exp_so3(&Vec3::new(0.5, -0.3, 1.1)).to_rotation_matrix();
    // A brick, a rod and a plate, each with three different moments, tumbling about the axis between.
    for (seed, moments) in (21..).zip([[1e-3, 2e-3, 2.5e-3], [2e-6, 9e-4, 1e-3], [4e-4, 5e-4, 9e-4]]) {
        let inertia_body = tilt.matrix() * Mat3::from_diagonal(&Vec3::from(moments)) * tilt.matrix().transpose();
        let inertia = RigidInertia::new(0.5, inertia_body).unwrap();
        let spin = tilt * Vec3::new(1.0, 8.0, 0.5);
        let random = Random(seed);
        for coriolis in [Coriolis::Midpoint, Coriolis::Start] {
            let twist = join(&Vec3::new(0.1, -0.2, 0.3), &spin);
            let mut body = RigidBody::new(inertia, Gravity::NONE, coriolis, Pose::identity(), twist);
            let (mut steps, start, mut worst) = (random.clone(), body.ledger().initial_j(), 0.0_f64);
            for _ in 0..STEPS {
                let step = body.prepare(&Vec6::zeros(), None, steps.step_s()).unwrap();
                body.finish(&step, &step.free);
                worst = worst.max((body.ledger().total_j() / start - 1.0).abs());
            }
            println!("{coriolis:?}: worst {worst:.1e}, balance {:.1e} J", body.ledger().balance());
            assert!(worst <= TOLERANCE, "{worst:e}");
            assert!(body.ledger().balance().abs() <= TOLERANCE * start);
        }
        let energy_j = |spin: &Vec3| inertia.kinetic_j(&join(&Vec3::zeros(), spin));
        let [semi_implicit, implicit] = [Rule::SemiImplicitEuler, Rule::ImplicitEuler].map(|rule| {
            let (mut steps, mut now) = (random.clone(), spin);
            for _ in 0..STEPS {
                now = spin_after(rule, inertia.inertia_body(), &now, steps.step_s()).unwrap();
                if energy_j(&now) > 1e7 * energy_j(&spin) {
                    break;
                }
            }
            energy_j(&now) / energy_j(&spin)
        });
        println!("semi-implicit Euler × {semi_implicit:.1e}, implicit Euler × {implicit:.3}");
        assert!(semi_implicit > 1e6, "{semi_implicit:e}");
        assert!(implicit < 0.9, "{implicit}");
    }
}

#[test]
fn the_ledger_of_a_damped_and_forced_chain_closes_over_a_million_random_steps() {
    let system = chain(&[1.0, 1e-3, 1e-6], &[1e3, 1e9, 1e6], 1e-4);
    let mut body = LinearBody::new(system, Accuracy::Compensated);
    body.set_state(&[1e-2, 1.1e-2, 1.2e-2], &[1.0, 1.0, -1.0]).unwrap();
    let mut random = Random(31);
    for k in 0..STEPS {
        let force = [0; 3].map(|_| 10.0 * random.signed());
        body.prepare(&force, random.step_s()).unwrap();
        if k % 3 == 0 {
            body.apply_contact(&[5.0 * random.signed(), 0.0, random.signed()]).unwrap();
        }
        body.finish();
    }
    let ledger = body.ledger();
    let relative = ledger.balance() / ledger.dissipated_j();
    println!("balance {:.1e} J of {:.1e} J dissipated: {relative:.1e}", ledger.balance(), ledger.dissipated_j());
    assert!(ledger.dissipated_j() > 1.0 && ledger.contact_work_j() != 0.0);
    assert!(relative.abs() <= TOLERANCE, "{relative:e}");
}

#[test]
fn no_random_forcing_gets_more_energy_out_of_a_chain_than_it_put_in() {
    for (seed, damping_s) in (41..).zip([0.0, 1e-6, 1e-3]) {
        let system = chain(&[0.5, 1e-6, 0.1], &[1e2, 1e9, 1e5], damping_s);
        let mut body = LinearBody::new(system, Accuracy::Compensated);
        body.set_state(&[1e-3, 1e-3, 2e-3], &[0.5, 0.5, -0.5]).unwrap();
        let (mut random, mut gross) = (Random(seed), body.ledger().initial_j());
        let mut slack = 0.0_f64;
        for _ in 0..200_000 {
            // Half of the time along the motion, to pump; half of the time at random.
            let pump = random.unit() < 0.5;
            let force: Vec<f64> =
                body.velocity().iter().map(|v| if pump { v.signum() } else { random.signed() }).collect();
            let before = body.ledger().work_in_j();
            body.step(&force, random.step_s()).unwrap();
            let ledger = body.ledger();
            gross += (ledger.work_in_j() - before).abs();
            let passed = ledger.work_in_j() - (ledger.total_j() - ledger.initial_j());
            assert!(passed >= slack - 1e-12 * gross, "{passed:e} after {slack:e}, {gross:e}");
            slack = slack.max(passed);
        }
        println!("damping {damping_s} s: slack {slack:.2e} J, dissipated {:.2e} J", body.ledger().dissipated_j());
        assert!((slack - body.ledger().dissipated_j()).abs() <= 1e-11 * gross);
    }
}

#[test]
fn energy_of_a_body_thrown_under_gravity_and_torque_is_accounted_for_over_a_million_random_steps() {
    let inertia = RigidInertia::new(0.3, Mat3::from_diagonal(&Vec3::new(1e-4, 3e-4, 3.5e-4))).unwrap();
    let start = Vec6::new(0.0, 0.0, 1.0, 5.0, 0.1, -3.0);
    let mut body = RigidBody::new(inertia, Gravity::STANDARD, Coriolis::default(), Pose::identity(), start);
    let (mut random, mut gross) = (Random(51), body.ledger().initial_j());
    for _ in 0..STEPS {
        // Drag and a hand that holds the body up near the origin, so that neither speed nor height runs away.
        let (v, w) = split(body.twist());
        let hold = Vec3::new(0.0, 0.0, 0.3 * 9.8) - v - body.pose().translation.vector;
        let torque = Vec3::new(random.signed(), random.signed(), random.signed()) * 0.1 - w * 1e-4;
        let step = body.prepare(&join(&hold, &torque), None, random.step_s()).unwrap();
        let before = body.ledger().work_in_j();
        body.finish(&step, &step.free);
        gross += (body.ledger().work_in_j() - before).abs();
    }
    let relative = body.ledger().balance() / gross;
    println!("balance {:.1e} J of {gross:.1e} J: {relative:.1e}", body.ledger().balance());
    assert!(relative.abs() <= TOLERANCE, "{relative:e}");
}
