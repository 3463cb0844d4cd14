//! Sticking and sliding.

use super::scene::{G, Scene, Thing, downhill, on_slope};
use hapticd::math::{Pose, Vec3, displacement};
use hapticd::sim::MaterialOrder;

const SIZE: Vec3 = Vec3::new(0.2, 0.16, 0.1);

fn on_incline(rate_hz: f64, slope: f64, friction: f64) -> Scene {
    let start = on_slope(slope, 0.3, 0.5 * SIZE.z);
    Scene::new(rate_hz, &[Thing::plane(slope), Thing::cuboid(2.0, SIZE, start).friction(friction)])
}

#[test]
fn a_box_below_the_friction_angle_does_not_creep() {
    for (slope, friction) in [(0.0, 0.0), (0.2, 0.25), (0.4, 0.43), (0.7, 0.9)] {
        let mut scene = on_incline(1000.0, slope, friction);
        let start = *scene.body(1).pose();
        scene.run(10_000);
        let moved = displacement(&start, scene.body(1).pose()).norm();
        assert!(moved < 1e-12, "slope {slope}, friction {friction}: {moved:e} m in 10 s");
    }
}

#[test]
fn a_box_above_the_friction_angle_slides_as_newton_says() {
    for rate_hz in [60.0, 1000.0] {
        for (slope, friction) in [(0.3_f64, 0.1), (0.5, 0.4), (0.5, 0.0)] {
            let mut scene = on_incline(rate_hz, slope, friction);
            let start = scene.position(1);
            let acceleration = G * (slope.sin() - friction * slope.cos());
            for k in 1..=rate_hz as usize {
                scene.step();
                let t = k as f64 / rate_hz;
                let way = (scene.position(1) - start).dot(&downhill(slope));
                let exact = 0.5 * acceleration * t * t;
                assert!(
                    (way / exact - 1.0).abs() < 1e-9,
                    "{rate_hz} Hz, {slope}, {friction}: {way} not {exact} at {t}"
                );
            }
            let speed = scene.velocity(1).dot(&downhill(slope));
            assert!((speed / acceleration - 1.0).abs() < 1e-9, "{speed}");
        }
    }
}

#[test]
fn a_thrown_box_stops_where_its_energy_ends_and_stays() {
    let (friction, speed) = (0.5, 1.0);
    let heading = Vec3::new(0.6, 0.8, 0.0);
    let start = Pose::translation(0.0, 0.0, 0.5 * SIZE.z);
    // Once the steps land on the moment it stops, once they do not.
    let at_rest_after_s = speed / (friction * G);
    for rate_hz in [1000.0 / at_rest_after_s, 10_000.0] {
        let thing = Thing::cuboid(2.0, SIZE, start).friction(friction).moving_with(heading * speed, Vec3::zeros());
        let mut scene = Scene::new(rate_hz, &[Thing::plane(0.0), thing]);
        scene.run((0.3 * rate_hz) as usize);
        let way = scene.position(1) - start.translation.vector;
        let exact = heading * (speed * speed / (2.0 * friction * G));
        assert!((way - exact).norm() < 1e-6 * exact.norm(), "{rate_hz}: {:e}", (way - exact).norm() / exact.norm());
        assert!(scene.velocity(1).norm() < 1e-12, "{:e}", scene.velocity(1).norm());
        let before = *scene.body(1).pose();
        scene.run(rate_hz as usize);
        assert!(displacement(&before, scene.body(1).pose()).norm() < 1e-12);
    }
}

#[test]
fn friction_opposes_the_slip_whatever_its_heading() {
    for turn in [0.0_f64, 0.3, 1.1, 2.5, -2.0] {
        let heading = Vec3::new(turn.cos(), turn.sin(), 0.0);
        let start = Pose::translation(0.0, 0.0, 0.5 * SIZE.z);
        let thing = Thing::cuboid(2.0, SIZE, start).friction(0.3).moving_with(heading, Vec3::zeros());
        let mut scene = Scene::new(1000.0, &[Thing::plane(0.0), thing]);
        scene.step();
        let force: Vec3 = scene.forces_on(1).iter().map(|(_, force)| force).sum();
        let exact = (Vec3::z() - heading * 0.3) * (2.0 * G);
        assert!((force - exact).norm() < 1e-9 * exact.norm(), "{force} not {exact}");
    }
}

#[test]
fn the_floor_carries_the_weight_and_no_more() {
    let start = Pose::translation(0.0, 0.0, 0.5 * SIZE.z);
    let mut scene = Scene::new(1000.0, &[Thing::plane(0.0), Thing::cuboid(2.0, SIZE, start).friction(0.5)]);
    for _ in 0..100 {
        scene.step();
        let forces = scene.forces_on(1);
        let total: Vec3 = forces.iter().map(|(_, force)| force).sum();
        let moment: Vec3 = forces.iter().map(|(point, force)| (point - scene.position(1)).cross(force)).sum();
        assert!((total - Vec3::z() * 2.0 * G).norm() < 1e-10, "{total}");
        assert!(moment.norm() < 1e-11, "{moment}");
        assert_eq!(scene.forces_on(0).len(), forces.len());
    }
}

#[test]
fn a_box_at_rest_starts_to_slide_when_its_friction_is_lowered_while_it_runs() {
    let (slope, rate_hz) = (0.4_f64, 1000.0);
    let mut scene = on_incline(rate_hz, slope, 0.6);
    let start = scene.position(1);
    scene.run(500);
    let mut order = MaterialOrder::of(&scene.model, 7);
    assert_eq!((order.count, order.values[1]), (2, (0.36, 0.0)));
    // Nothing of an order that is not sound is taken, but it counts as taken.
    for bad in [(f64::NAN, 0.0), (-0.1, 0.0), (10.1, 0.0), (0.1, 1.1), (0.1, f64::INFINITY)] {
        order.values[1] = bad;
        assert!(!scene.data.take_materials(&order), "{bad:?}");
    }
    assert!(!scene.data.take_materials(&MaterialOrder { count: 33, ..MaterialOrder::none() }));
    scene.run(500);
    assert!((scene.position(1) - start).norm() < 1e-12 && scene.data.materials_taken() == 0);
    let friction = 0.2;
    order.values[1] = (friction * friction, 0.0);
    assert!(scene.data.take_materials(&order) && scene.data.materials_taken() == 7);
    // The contacts of the next step were found in the one before.
    scene.step();
    assert!((scene.position(1) - start).norm() < 1e-12);
    scene.run(1000);
    let way = (scene.position(1) - start).dot(&downhill(slope));
    let exact = 0.5 * G * (slope.sin() - friction * slope.cos());
    assert!((way / exact - 1.0).abs() < 1e-9, "{way} not {exact}");
}
