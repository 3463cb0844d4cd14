//! Boxes that tilt about an edge.

use super::scene::{G, Scene, Thing};
use hapticd::math::{Pose, Vec3, exp_so3, join};
use hapticd::sim::BodyId;

const WIDTH: f64 = 0.12;
const HEIGHT: f64 = 0.3;
const MASS: f64 = 1.5;

/// From the edge to the centre of mass, m.
fn reach() -> f64 {
    0.5 * WIDTH.hypot(HEIGHT)
}

/// Angle of that line from the vertical when the box stands upright: the tilt at which it balances on the edge.
fn balance() -> f64 {
    WIDTH.atan2(HEIGHT)
}

/// A box tilted by `tilt` about its lower edge at the origin, towards +x, turning at `spin`.
fn tilted(rate_hz: f64, tilt: f64, spin: f64, friction: f64) -> Scene {
    let turn = exp_so3(&(Vec3::y() * tilt));
    let center = turn * Vec3::new(-0.5 * WIDTH, 0.0, 0.5 * HEIGHT);
    let spin = Vec3::y() * spin;
    let thing = Thing::cuboid(MASS, Vec3::new(WIDTH, 0.2, HEIGHT), Pose::from_parts(center.into(), turn));
    Scene::new(rate_hz, &[Thing::plane(0.0), thing.friction(friction).moving_with(spin.cross(&center), spin)])
}

/// Tilt and spin of the box in the plane.
fn state(scene: &Scene) -> (f64, f64) {
    let up = scene.body(1).pose().rotation * Vec3::z();
    (up.x.atan2(up.z), scene.spin(1).y)
}

/// The pendulum `I φ″ = m g l sin(φ − β)` about the edge, by Runge and Kutta's fourth-order rule in steps of 1 µs.
fn pendulum(mut tilt: f64, mut spin: f64, time_s: f64) -> (f64, f64) {
    let inertia = 4.0 / 3.0 * reach() * reach();
    let acceleration = |tilt: f64| G * reach() / inertia * (tilt - balance()).sin();
    let steps = (time_s * 1e6).round() as usize;
    let h = time_s / steps as f64;
    for _ in 0..steps {
        let (k1, a1) = (spin, acceleration(tilt));
        let (k2, a2) = (spin + 0.5 * h * a1, acceleration(tilt + 0.5 * h * k1));
        let (k3, a3) = (spin + 0.5 * h * a2, acceleration(tilt + 0.5 * h * k2));
        let (k4, a4) = (spin + h * a3, acceleration(tilt + h * k3));
        tilt += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
        spin += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4);
    }
    (tilt, spin)
}

#[test]
fn a_box_turning_on_its_edge_is_a_pendulum_to_second_order() {
    // Past its balance, so that it falls over; friction ample, so that the edge stays.
    let (tilt, spin, time_s) = (balance() + 0.1, 0.2, 0.3);
    let (exact_tilt, exact_spin) = pendulum(tilt, spin, time_s);
    let errors = [500.0, 1000.0, 2000.0, 4000.0].map(|rate_hz| {
        let mut scene = tilted(rate_hz, tilt, spin, 5.0);
        scene.run((time_s * rate_hz).round() as usize);
        let (got_tilt, got_spin) = state(&scene);
        ((got_tilt / exact_tilt - 1.0).abs(), (got_spin / exact_spin - 1.0).abs())
    });
    for pair in errors.windows(2) {
        let (by_tilt, by_spin) = (pair[0].0 / pair[1].0, pair[0].1 / pair[1].1);
        assert!((3.8..4.2).contains(&by_tilt) && (3.8..4.2).contains(&by_spin), "{errors:?}");
    }
    assert!(errors[3].0 < 1e-6 && errors[3].1 < 1e-6, "{errors:?}");
}

#[test]
fn an_edge_that_sticks_neither_creeps_nor_costs_energy() {
    let mut scene = tilted(1000.0, balance() + 0.1, 0.2, 5.0);
    let energy = scene.data.energy_j();
    for _ in 0..300 {
        scene.step();
        let edge = scene.body(1).pose() * nalgebra::Point3::new(0.5 * WIDTH, 0.1, -0.5 * HEIGHT);
        assert!((edge - nalgebra::Point3::new(0.0, 0.1, 0.0)).norm() < 1e-11, "{edge}");
        let lost = 1.0 - scene.data.energy_j() / energy;
        assert!((-1e-13..1e-7).contains(&lost), "{lost:e}");
    }
}

#[test]
fn a_box_released_before_its_balance_falls_back_and_after_it_falls_over() {
    for (offset, over) in [(-1e-3, false), (1e-3, true)] {
        let mut scene = tilted(1000.0, balance() + offset, 0.0, 1.0);
        scene.run(4000);
        let (tilt, spin) = state(&scene);
        let exact = if over { std::f64::consts::FRAC_PI_2 } else { 0.0 };
        assert!((tilt - exact).abs() < 1e-7 && spin.abs() < 1e-9, "{offset}: {tilt} at {spin} rad/s");
    }
}

/// Largest tilt and way of the foot of a box pushed sideways at `height` by `force` for half a second.
fn pushed(height: f64, friction: f64, force: f64) -> (f64, f64) {
    let mut scene = tilted(1000.0, 0.0, 0.0, friction);
    let start = scene.position(1).x;
    let push = Vec3::x() * force;
    let mut most: f64 = 0.0;
    for _ in 0..200 {
        let rotation = scene.body(1).pose().rotation;
        let arm = Vec3::z() * (height - 0.5 * HEIGHT);
        let torque = rotation.inverse_transform_vector(&arm.cross(&push));
        scene.data.apply(BodyId(1), &join(&push, &torque));
        scene.step();
        most = most.max(state(&scene).0.abs());
    }
    (most, scene.position(1).x - start)
}

#[test]
fn a_box_pushed_high_tips_and_pushed_low_slides() {
    // At the force that just overcomes friction, the edge carries all weight when the push is at w/(2µ).
    let friction = 0.4;
    let limit = WIDTH / (2.0 * friction);
    let force = friction * MASS * G;
    let (tilt, way) = pushed(0.99 * limit, friction, 1.001 * force);
    assert!(tilt < 1e-12 && (way / (0.5 * 0.001 * friction * G * 0.04) - 1.0).abs() < 1e-9, "{tilt} {way}");
    let (tilt, _) = pushed(1.01 * limit, friction, 1.001 * force);
    assert!(tilt > 1e-3, "{tilt}");
    // Below the friction it stands still as long as the push does not overturn it: F h < m g w/2.
    let (tilt, way) = pushed(1.5 * limit, friction, 0.99 * force / 1.5);
    assert!(tilt < 1e-12 && way.abs() < 1e-12, "{tilt} {way}");
    let (tilt, way) = pushed(1.5 * limit, friction, 1.01 * force / 1.5);
    assert!(tilt > 1e-3 && way > 0.0, "{tilt} {way}");
}
