//! Impacts: restitution, momentum, stacks.

use super::scene::{G, Scene, Thing};
use hapticd::math::{Pose, Vec3, displacement};

const RADIUS: f64 = 0.05;

fn dropped(rate_hz: f64, height: f64, restitution: f64) -> Scene {
    let ball = Thing::ball(0.7, RADIUS, Pose::translation(0.0, 0.0, RADIUS + height));
    Scene::new(rate_hz, &[Thing::plane(0.0), ball.restitution(restitution)])
}

#[test]
fn a_bouncing_ball_rises_to_the_square_of_restitution_each_time() {
    for restitution in [1.0, 0.8, 0.5] {
        for rate_hz in [60.0, 1000.0] {
            let height = 1.0;
            let mut scene = dropped(rate_hz, height, restitution);
            let (mut bounces, mut expected, mut falling) = (0, height, true);
            // Impacts slower than two steps of gravity have no rebound.
            while 2.0 * G * expected > (2.1 * G / rate_hz).powi(2) && bounces < 8 {
                scene.step();
                let speed = scene.velocity(1).z;
                if falling && speed > 0.0 {
                    bounces += 1;
                    expected *= restitution * restitution;
                    // In flight the height it will reach follows from its energy.
                    let rises = scene.position(1).z - RADIUS + speed * speed / (2.0 * G);
                    assert!(
                        (rises / expected - 1.0).abs() < 1e-9,
                        "{rate_hz} Hz, {restitution}: bounce {bounces}, {rises}"
                    );
                }
                falling = speed < 0.0;
            }
            assert!(bounces >= 4, "{bounces}");
        }
    }
}

#[test]
fn a_plastic_impact_ends_all_motion_at_once() {
    let mut scene = dropped(1000.0, 0.1, 0.0);
    scene.run(150);
    let (off, speed) = ((scene.position(1).z - RADIUS).abs(), scene.velocity(1).norm());
    assert!(off < 1e-12 && speed < 1e-12, "{off:e} {speed:e}");
}

#[test]
fn a_ball_that_hits_an_equal_one_hands_its_speed_over() {
    for (restitution, left, given) in [(1.0, 0.0, 1.0), (0.0, 0.5, 0.5), (0.6, 0.2, 0.8)] {
        let ball = |x: f64, speed: f64| {
            let ball = Thing::ball(0.3, RADIUS, Pose::translation(x, 0.0, 5.0));
            ball.friction(0.4).restitution(restitution).moving_with(Vec3::x() * speed, Vec3::zeros())
        };
        let mut scene = Scene::under(Vec3::zeros(), 1000.0, &[ball(0.0, 1.0), ball(0.2003, 0.0)]);
        scene.run(200);
        let (a, b) = (scene.velocity(0), scene.velocity(1));
        assert!((a - Vec3::x() * left).norm() < 1e-12 && (b - Vec3::x() * given).norm() < 1e-12, "{a} {b}");
    }
}

#[test]
fn a_glancing_impact_keeps_momentum_and_loses_energy_to_friction() {
    let ball = |y: f64, mass: f64, speed: f64| {
        let ball = Thing::ball(mass, RADIUS, Pose::translation(speed.signum() * -0.1, y, 5.0));
        ball.friction(0.5).restitution(0.7).moving_with(Vec3::x() * speed, Vec3::new(0.0, 3.0, 40.0 * speed))
    };
    let mut scene = Scene::under(Vec3::zeros(), 1000.0, &[ball(0.0, 0.2, 1.0), ball(0.04, 0.5, -1.0)]);
    let momentum = |scene: &Scene| scene.velocity(0) * 0.2 + scene.velocity(1) * 0.5;
    let (before, energy) = (momentum(&scene), scene.data.energy_j());
    scene.run(200);
    assert!((momentum(&scene) - before).norm() < 1e-13, "{}", momentum(&scene) - before);
    assert!((scene.velocity(0) - scene.velocity(1)).norm() > 0.1);
    assert!(scene.data.energy_j() < energy * 0.99, "{} of {energy}", scene.data.energy_j());
}

#[test]
fn a_stack_of_three_boxes_stays_put() {
    let size = Vec3::new(0.1, 0.1, 0.06);
    for masses in [[1.0, 1.0, 1.0], [1.0, 0.1, 5.0]] {
        let boxes = masses.iter().enumerate().map(|(k, mass)| {
            let pose = Pose::translation(0.004 * k as f64, 0.0, 0.03 + 0.06 * k as f64);
            Thing::cuboid(*mass, size, pose).friction(0.7)
        });
        let mut things = vec![Thing::plane(0.0)];
        things.extend(boxes);
        let mut scene = Scene::new(250.0, &things);
        let start: Vec<Pose> = (1..4).map(|k| *scene.body(k).pose()).collect();
        let mut deepest: f64 = 0.0;
        for _ in 0..500 {
            deepest = deepest.max(scene.step().penetration_m);
        }
        for (k, start) in start.iter().enumerate() {
            let moved = displacement(start, scene.body(k + 1).pose()).norm();
            assert!(moved < 1e-9, "{masses:?}: box {k} moved by {moved:e}");
        }
        assert!(deepest < 1e-9, "{deepest:e}");
    }
}
