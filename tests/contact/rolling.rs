//! Balls that roll and slip.

use super::scene::{G, Scene, Thing, downhill, on_slope};
use hapticd::math::{Pose, Vec3};

const RADIUS: f64 = 0.05;
const MASS: f64 = 0.8;

fn on_incline(rate_hz: f64, slope: f64, friction: f64) -> Scene {
    let ball = Thing::ball(MASS, RADIUS, on_slope(slope, 0.0, RADIUS)).friction(friction);
    Scene::new(rate_hz, &[Thing::plane(slope), ball])
}

#[test]
fn a_ball_with_grip_rolls_at_five_sevenths_of_free_acceleration() {
    for rate_hz in [60.0, 1000.0] {
        for slope in [0.1_f64, 0.5, 1.0] {
            let mut scene = on_incline(rate_hz, slope, 2.0 / 7.0 * slope.tan() * 1.02);
            scene.run(rate_hz as usize);
            let exact = 0.5 * 5.0 / 7.0 * G * slope.sin();
            let way = scene.position(1).dot(&downhill(slope));
            let start = on_slope(slope, 0.0, RADIUS).translation.vector.dot(&downhill(slope));
            assert!(
                ((way - start) / exact - 1.0).abs() < 1e-9,
                "{rate_hz} Hz, {slope}: {:e}",
                (way - start) / exact - 1.0
            );
            let grip = scene.velocity(1).dot(&downhill(slope)) - scene.spin(1).y * RADIUS;
            assert!(grip.abs() < 1e-9, "slips at {grip:e} m/s");
        }
    }
}

#[test]
fn a_ball_without_enough_grip_slips_and_spins_up_as_friction_allows() {
    for rate_hz in [60.0, 1000.0] {
        for (slope, share) in [(0.3_f64, 0.98), (0.6, 0.5), (0.6, 0.0)] {
            let friction = share * 2.0 / 7.0 * slope.tan();
            let mut scene = on_incline(rate_hz, slope, friction);
            let start = scene.position(1);
            scene.run(rate_hz as usize);
            let acceleration = G * (slope.sin() - friction * slope.cos());
            let way = (scene.position(1) - start).dot(&downhill(slope));
            assert!((way / (0.5 * acceleration) - 1.0).abs() < 1e-9, "{slope}, {share}: {way}");
            let spin = friction * G * slope.cos() * RADIUS / (0.4 * RADIUS * RADIUS);
            assert!((scene.spin(1).y - spin).abs() < 1e-9 * spin.max(1.0), "{} not {spin}", scene.spin(1).y);
        }
    }
}

#[test]
fn a_bowled_ball_slides_then_rolls_at_five_sevenths_of_its_speed() {
    let (friction, speed) = (0.2, 3.0);
    let grips_at_s = 2.0 * speed / (7.0 * friction * G);
    for rate_hz in [1000.0, 10_000.0] {
        let pose = Pose::translation(0.0, 0.0, RADIUS);
        let ball = Thing::ball(MASS, RADIUS, pose).friction(friction).moving_with(Vec3::x() * speed, Vec3::zeros());
        let mut scene = Scene::new(rate_hz, &[Thing::plane(0.0), ball]);
        let mut gripped_at = f64::NAN;
        for k in 1..=rate_hz as usize {
            scene.step();
            let t = k as f64 / rate_hz;
            if gripped_at.is_nan() && scene.velocity(1).x - scene.spin(1).y * RADIUS < 1e-9 {
                gripped_at = t;
            }
            let exact = if t < grips_at_s {
                speed * t - 0.5 * friction * G * t * t
            } else {
                // From there on at 5/7 of its speed; the way so far is 12/49 v²/(µ g).
                12.0 / 49.0 * speed * speed / (friction * G) + 5.0 / 7.0 * speed * (t - grips_at_s)
            };
            assert!(
                (scene.position(1).x / exact - 1.0).abs() < 1e-6,
                "{rate_hz} Hz, {t}: {:e}",
                scene.position(1).x / exact - 1.0
            );
        }
        assert!((scene.velocity(1).x - 5.0 / 7.0 * speed).abs() < 1e-9, "{}", scene.velocity(1).x);
        assert!((gripped_at - grips_at_s).abs() <= 1.0 / rate_hz, "{gripped_at} not {grips_at_s}");
    }
}

#[test]
fn a_ball_with_back_spin_comes_back() {
    // Slip v + ω r stays forward until it grips; momentum about the floor m v r − I ω is kept throughout.
    let (speed, spin) = (1.0, -90.0);
    let pose = Pose::translation(0.0, 0.0, RADIUS);
    let ball = Thing::ball(MASS, RADIUS, pose).friction(0.3).moving_with(Vec3::x() * speed, Vec3::y() * spin);
    let mut scene = Scene::new(1000.0, &[Thing::plane(0.0), ball]);
    scene.run(2000);
    let rolling = 5.0 / 7.0 * (speed + 0.4 * RADIUS * spin);
    assert!(rolling < 0.0 && (scene.velocity(1).x - rolling).abs() < 1e-9, "{} not {rolling}", scene.velocity(1).x);
}

#[test]
fn a_ball_with_side_spin_runs_along_a_parabola() {
    // The slip v − ω × r keeps its direction, so the friction is constant until it grips; spin about the vertical stays.
    let (velocity, spin) = (Vec3::new(2.0, 0.0, 0.0), Vec3::new(30.0, -10.0, 40.0));
    let friction = 0.2;
    let slip = velocity + spin.cross(&(Vec3::z() * -RADIUS));
    let force = -slip.normalize() * friction * G;
    let grips_at_s = 2.0 * slip.norm() / (7.0 * friction * G);
    for (rate_hz, error) in [(1000.0, 3e-6), (10_000.0, 3e-8)] {
        let pose = Pose::translation(0.0, 0.0, RADIUS);
        let ball = Thing::ball(MASS, RADIUS, pose).friction(friction).moving_with(velocity, spin);
        let mut scene = Scene::new(rate_hz, &[Thing::plane(0.0), ball]);
        for k in 1..=(0.9 * grips_at_s * rate_hz) as usize {
            scene.step();
            let t = k as f64 / rate_hz;
            let exact = velocity * t + force * (0.5 * t * t) + Vec3::z() * RADIUS;
            let off = (scene.position(1) - exact).norm() / (velocity.norm() * t);
            assert!(off < error, "{rate_hz} Hz, {t} s: {off:e}");
        }
        // The ball turns by 3° in a millisecond: the direction of its spin is the least accurate thing here.
        assert!((scene.spin(1).z - spin.z).abs() < 10.0 * error * spin.z, "{}", scene.spin(1).z);
        scene.run(rate_hz as usize);
        let rolling = velocity + force * grips_at_s;
        assert!((scene.velocity(1) - rolling).norm() < 100.0 * error, "{} not {rolling}", scene.velocity(1));
    }
}

#[test]
fn a_ball_rolling_off_a_larger_one_takes_leave_at_ten_seventeenths() {
    // Without slip v² = 10/7 g (R + r)(1 − cos θ), and the larger ball is left where cos θ = 10/17.
    let (large, start) = (0.3, 0.2_f64);
    let sum = large + RADIUS;
    let speed = |cosine: f64| (10.0 / 7.0 * G * sum * (start.cos() - cosine)).sqrt();
    let run = |rate_hz: f64| {
        let place = Vec3::new(start.sin(), 0.0, start.cos()) * sum;
        let mut base = Thing::ball(1.0, large, Pose::identity());
        base.mass = None;
        let ball = Thing::ball(MASS, RADIUS, Pose::from_parts(place.into(), hapticd::math::Rot::identity()));
        let mut scene = Scene::new(rate_hz, &[base, ball.friction(20.0)]);
        let (mut worst, mut before): (f64, f64) = (0.0, start.cos());
        loop {
            let touching = scene.step().touching > 0;
            let position = scene.position(1);
            if !touching {
                return (worst, before);
            }
            before = position.z / position.norm();
            let exact = speed(before);
            // Near the end the ball is too light on its feet not to slip.
            if exact > 0.1 && before > 0.7 {
                worst = worst.max((scene.velocity(1).norm() / exact - 1.0).abs());
            }
            assert!((position.norm() / sum - 1.0).abs() < 1e-4, "{}", position.norm() - sum);
        }
    };
    let (coarse, _) = run(500.0);
    let (fine, leaves) = run(2000.0);
    assert!(coarse / fine > 12.0 && fine < 1e-5, "{coarse:e} {fine:e}");
    assert!((leaves - 10.0 / 17.0 * start.cos()).abs() < 5e-3, "{leaves}");
}
