//! Energy: whatever bodies do to each other, together they only lose it, except through work done on them from outside.

use super::scene::{G, Scene, Thing};
use hapticd::math::{Pose, Random, Vec3, exp_so3, join};
use hapticd::sim::BodyId;

const RATES_HZ: [f64; 3] = [60.0, 250.0, 1000.0];

/// Between `low` and `high`.
fn between(random: &mut Random, low: f64, high: f64) -> f64 {
    low + (high - low) * random.uniform()
}

fn direction(random: &mut Random) -> Vec3 {
    Vec3::new(random.normal(), random.normal(), random.normal()) / 3.0_f64.sqrt()
}

/// A few boxes and balls of all sizes above the floor, flying and tumbling, no two overlapping.
fn tumble(random: &mut Random) -> Vec<Thing> {
    let mut things = vec![Thing::plane(0.0)];
    let count = 1 + (random.bits() % 4) as usize;
    for k in 0..count {
        let turn = exp_so3(&(direction(random) * 2.0));
        let place = Vec3::new(0.05 * random.normal(), 0.05 * random.normal(), 0.2 + 0.25 * k as f64);
        let pose = Pose::from_parts(place.into(), turn);
        let mass = 0.05 * 40.0_f64.powf(random.uniform());
        let thing = if random.bits().is_multiple_of(3) {
            Thing::ball(mass, between(random, 0.02, 0.1), pose)
        } else {
            Thing::cuboid(mass, Vec3::new(0.0, 0.0, 0.0).map(|_: f64| between(random, 0.03, 0.12)), pose)
        };
        let restitution = if random.bits().is_multiple_of(2) { 0.0 } else { random.uniform() };
        let thing = thing.friction(between(random, 0.0, 1.2)).restitution(restitution);
        things.push(thing.moving_with(direction(random), direction(random) * 10.0));
    }
    things
}

#[test]
fn bodies_left_to_themselves_never_gain_energy() {
    let mut random = Random::new(11);
    let (mut worst, mut deepest, mut most_lifted) = (0.0_f64, [0.0_f64; 3], 0.0_f64);
    for scene_number in 0..60 {
        let things = tumble(&mut random);
        let rate_hz = RATES_HZ[scene_number % 3];
        let mut scene = Scene::new(rate_hz, &things);
        scene.model.solver.tolerance = 1e-10;
        let start = scene.data.energy_j();
        let (mut before, mut lifted) = (start, 0.0);
        for k in 0..(2.0 * rate_hz) as usize {
            let report = scene.step();
            let now = scene.data.energy_j();
            let gain = now - before - report.lifted_j;
            worst = worst.max(gain / start);
            deepest[scene_number % 3] = deepest[scene_number % 3].max(report.penetration_m);
            lifted += report.lifted_j;
            assert!(gain < 1e-12 * start, "scene {scene_number}, step {k}: {gain:e} of {start}");
            before = now;
        }
        most_lifted = f64::max(most_lifted, lifted / start);
        for body in scene.data.bodies.iter().filter_map(|body| body.rigid()) {
            assert!(body.ledger().balance().abs() < 1e-11 * start, "{:e}", body.ledger().balance());
        }
    }
    println!("largest gain in a step {worst:e} of the whole, deepest overlap {deepest:?} m, lifted {most_lifted:e}");
    // A curved surface is seen as flat during a step, which hides up to (v T)²/2r: 3 m/s and balls of 2 cm and more.
    for (deepest, rate_hz) in deepest.iter().zip(RATES_HZ) {
        assert!(*deepest < (3.0 / rate_hz).powi(2) / 0.04, "{rate_hz} Hz: {deepest:e}");
    }
    assert!(most_lifted < 1e-5, "{most_lifted:e}");
}

#[test]
fn a_box_bouncing_for_ten_seconds_never_gains_energy() {
    let mut random = Random::new(3);
    for _ in 0..6 {
        let (friction, restitution) = (random.uniform(), between(&mut random, 0.5, 1.0));
        let pose = Pose::new(Vec3::new(0.0, 0.0, 0.4), direction(&mut random) * 2.0);
        let thing = Thing::cuboid(0.8, Vec3::new(0.1, 0.06, 0.15), pose).friction(friction).restitution(restitution);
        let thing = thing.moving_with(direction(&mut random), direction(&mut random) * 8.0);
        let mut scene = Scene::new(1000.0, &[Thing::plane(0.0), thing]);
        scene.model.solver.tolerance = 1e-10;
        let start = scene.data.energy_j();
        let (mut before, mut deepest): (f64, f64) = (start, 0.0);
        for k in 0..10_000 {
            deepest = deepest.max(scene.step().penetration_m);
            let now = scene.data.energy_j();
            assert!(now - before < 1e-12 * start, "step {k}: {:e}", (now - before) / start);
            before = now;
        }
        assert!(deepest < 1e-9, "{deepest:e}");
        // It ends lying on a face: on an edge or a corner its centre would be higher.
        let height = scene.position(1).z;
        let half = [0.05, 0.03, 0.075];
        assert!(half.iter().any(|h| (height - h).abs() < 1e-6) || restitution > 0.9, "{height} {restitution}");
    }
}

#[test]
fn what_a_push_puts_in_is_all_there_is() {
    // A box shoved about by a force that changes: its energy never exceeds what the ledger says was put in.
    let mut random = Random::new(5);
    let start = Pose::translation(0.0, 0.0, 0.03);
    let mut scene =
        Scene::new(250.0, &[Thing::plane(0.0), Thing::cuboid(1.0, Vec3::new(0.1, 0.1, 0.06), start).friction(0.4)]);
    let at_rest = scene.data.energy_j();
    for k in 0..1000 {
        if k % 50 < 25 {
            scene.data.apply(BodyId(1), &join(&(direction(&mut random) * (2.0 * G)), &(direction(&mut random) * 0.5)));
        }
        scene.step();
        let ledger = scene.body(1).ledger();
        let free = ledger.total_j() - at_rest - ledger.work_in_j();
        assert!(free < 1e-12, "step {k}: {free:e}");
        assert!(ledger.balance().abs() < 1e-12, "{:e}", ledger.balance());
    }
    assert!(scene.body(1).ledger().work_in_j() > 0.5);
}
