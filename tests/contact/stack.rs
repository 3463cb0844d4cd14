//! Stacks: what stands by statics stands still, and what does not falls.

use super::scene::{G, Scene, Thing};
use hapticd::math::{Pose, Vec3};
use std::f64::consts::FRAC_PI_4;

/// Edge of the cubes, m, and mass, kg.
const EDGE: f64 = 0.05;
const MASS: f64 = 0.4;
/// Rates of the simulation, Hz.
const RATES: [f64; 3] = [60.0, 250.0, 1000.0];

/// Offset of block `index` from the axis of the stack, m, and its yaw, rad: irregular, up to 4 mm.
fn scatter(index: usize) -> (Vec3, f64) {
    let k = index as f64;
    (Vec3::new((2.1 * k).sin(), (3.7 * k + 1.0).sin(), 0.0) * 0.004, 0.6 * (1.3 * k + 0.5).sin())
}

/// Pose of block `index` counted from the floor, on blocks as high as itself.
fn level(index: usize, height: f64) -> Pose {
    let (offset, yaw) = scatter(index);
    Pose::new(offset + Vec3::z() * ((index as f64 + 0.5) * height), Vec3::z() * yaw)
}

fn cube(pose: Pose) -> Thing {
    Thing::cuboid(MASS, Vec3::repeat(EDGE), pose)
}

/// Runs a stack on the floor, bodies 1 to `count`, for 10 s; no body may move by more than 1 µm, and each level must carry
/// all that is above it.
fn assert_stands(mut scene: Scene, count: usize, rate_hz: f64) {
    let place = |scene: &Scene| -> Vec<Pose> { (1..=count).map(|k| *scene.body(k).pose()).collect() };
    let start = place(&scene);
    scene.run((10.0 * rate_hz) as usize);
    let mut most: f64 = 0.0;
    for (old, new) in start.iter().zip(&place(&scene)) {
        let turned = (old.rotation.inverse() * new.rotation).angle() * EDGE;
        most = most.max((new.translation.vector - old.translation.vector).norm()).max(turned);
    }
    assert!(most <= 1e-6, "{count} bodies at {rate_hz} Hz moved by {most:e} m");
    for k in 1..=count {
        // What carries it acts from below its middle.
        let middle = scene.position(k).z;
        let below = scene.forces_on(k).into_iter().filter(|(point, _)| point.z < middle);
        let up: f64 = below.map(|(_, force)| force.z).sum();
        let weight = (count + 1 - k) as f64 * MASS * G;
        assert!((up / weight - 1.0).abs() < 1e-6, "level {k} of {count} at {rate_hz} Hz: {up} N for {weight} N");
    }
}

fn assert_cubes_stand(count: usize, rate_hz: f64) {
    let cubes = (0..count).map(|k| cube(level(k, EDGE)));
    let things: Vec<Thing> = std::iter::once(Thing::plane(0.0)).chain(cubes).collect();
    assert_stands(Scene::new(rate_hz, &things), count, rate_hz);
}

#[test]
fn five_cubes_each_a_little_off_stand_still_at_60_hz() {
    assert_cubes_stand(5, 60.0);
}

#[test]
fn five_cubes_each_a_little_off_stand_still_at_250_hz() {
    assert_cubes_stand(5, 250.0);
}

#[test]
fn five_cubes_each_a_little_off_stand_still_at_1000_hz() {
    assert_cubes_stand(5, 1000.0);
}

#[test]
fn eight_cubes_each_a_little_off_stand_still_at_60_hz() {
    assert_cubes_stand(8, 60.0);
}

#[test]
fn eight_cubes_each_a_little_off_stand_still_at_250_hz() {
    assert_cubes_stand(8, 250.0);
}

#[test]
fn eight_cubes_each_a_little_off_stand_still_at_1000_hz() {
    assert_cubes_stand(8, 1000.0);
}

#[test]
fn cubes_and_cylinders_by_turns_stand_still() {
    let cylinder = |pose| Thing::cylinder(MASS, 0.5 * EDGE, EDGE, pose);
    for rate_hz in RATES {
        let mut things = vec![Thing::plane(0.0)];
        // Cylinder on cube, cylinder on cylinder, cube on cylinder.
        for (k, is_round) in [false, true, true, false].into_iter().enumerate() {
            things.push(if is_round { cylinder(level(k, EDGE)) } else { cube(level(k, EDGE)) });
        }
        assert_stands(Scene::new(rate_hz, &things), 4, rate_hz);
    }
}

#[test]
fn meshes_of_cubes_and_cubes_by_turns_stand_still() {
    let mesh = |pose| Thing::mesh_cuboid(MASS, Vec3::repeat(EDGE), pose);
    // Mesh on the floor, mesh on mesh, cube on mesh, mesh on cube; at the highest rate the first two, which take time enough.
    let kinds = [true, true, false, true];
    for (rate_hz, count) in [(60.0, 4), (250.0, 4), (1000.0, 2)] {
        let mut things = vec![Thing::plane(0.0)];
        for (k, is_mesh) in kinds.into_iter().take(count).enumerate() {
            things.push(if is_mesh { mesh(level(k, EDGE)) } else { cube(level(k, EDGE)) });
        }
        assert_stands(Scene::new(rate_hz, &things), count, rate_hz);
    }
}

/// A cube on a cube: how far the upper one went in `time_s`, m. It lies `share` of the way to where its middle is over the
/// rim of the lower one, in the direction `around`.
fn moved_upper(make: fn(Pose) -> Thing, share: f64, around: f64, yaw: f64, time_s: f64) -> f64 {
    let way = Vec3::new(around.cos(), around.sin(), 0.0);
    let offset = way * (share * 0.5 * EDGE / way.x.abs().max(way.y.abs()));
    let lower = Pose::translation(0.0, 0.0, 0.5 * EDGE);
    let upper = Pose::new(offset + Vec3::z() * (1.5 * EDGE), Vec3::z() * yaw);
    let start = upper.translation.vector;
    let mut scene = Scene::new(250.0, &[Thing::plane(0.0), make(lower), make(upper)]);
    scene.run((250.0 * time_s) as usize);
    (scene.position(2) - start).norm()
}

#[test]
fn a_cube_on_a_cube_stays_at_every_offset_that_statics_allows() {
    for around in [0.0, 0.3, FRAC_PI_4, 1.9, 4.4] {
        for yaw in [0.0, 0.01, 0.5] {
            for share in [0.1, 0.5, 0.9, 0.99, 0.9999] {
                let moved = moved_upper(cube, share, around, yaw, 1.0);
                assert!(moved < 1e-6, "{share} of the way to the rim at {around}, yaw {yaw}: moved {moved:e} m");
            }
        }
    }
}

#[test]
fn a_cube_on_a_cube_falls_at_every_offset_that_statics_does_not_allow() {
    for around in [0.0, 0.3, FRAC_PI_4, 1.9, 4.4] {
        for yaw in [0.0, 0.01, 0.5] {
            for share in [1.001, 1.1, 1.5] {
                let moved = moved_upper(cube, share, around, yaw, 1.5);
                assert!(moved > 0.3 * EDGE, "{share} of the way to the rim at {around}, yaw {yaw}: moved {moved:e} m");
            }
        }
    }
}

#[test]
fn a_mesh_on_a_mesh_stays_and_falls_as_statics_says() {
    let mesh = |pose| Thing::mesh_cuboid(MASS, Vec3::repeat(EDGE), pose);
    for (around, yaw) in [(0.0, 0.0), (0.3, 0.5), (4.4, 0.01)] {
        for (share, time_s) in [(0.5, 1.0), (0.999, 1.0), (1.001, 1.5), (1.5, 1.5)] {
            let moved = moved_upper(mesh, share, around, yaw, time_s);
            let stays = moved < 1e-6;
            assert!(stays == (share < 1.0) && (stays || moved > 0.3 * EDGE), "{share} at {around}, {yaw}: {moved:e} m");
        }
    }
}
