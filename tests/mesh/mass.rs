//! Mass: exact for boxes, in the limit for rounds, and the same wherever the part is.

use crate::solids::{cuboid, sphere, torus};
use hapticd::geometry::parts::{Facets, Peg};
use hapticd::geometry::{Cylinder, Sphere};
use hapticd::math::{Mat3, Pose, Vec3};
use std::f64::consts::PI;

#[test]
fn a_box_has_the_mass_of_the_formula() {
    let half = Vec3::new(0.01, 0.02, 0.03);
    let got = cuboid(half).mass_properties(7850.0).expect("it has a volume");
    let mass = 8.0 * half.product() * 7850.0;
    let square = half.component_mul(&half) * (mass / 3.0);
    let inertia = Mat3::from_diagonal(&Vec3::new(square.y + square.z, square.z + square.x, square.x + square.y));
    assert!((got.mass - mass).abs() < 1e-15 * mass.max(1.0) && got.center.norm() < 1e-17);
    assert!((got.inertia - inertia).norm() < 1e-14 * inertia.norm(), "{}", got.inertia - inertia);
    assert!(cuboid(half).flipped().mass_properties(7850.0).is_none(), "nothing is inside an inside-out box");
}

#[test]
fn rounds_approach_their_formulas_with_the_square_of_the_facet() {
    let error = |facets: usize| {
        let peg = Peg { diameter: 0.05, length: 0.06, chamfer: 0.0 };
        let mesh = peg.mesh(Facets { per_turn: facets, rows: 2 }).expect("a peg");
        let got = mesh.mass_properties(7850.0).expect("solid");
        let want = Cylinder { radius: 0.025, half_length: 0.03 }.mass_properties(7850.0);
        assert!((got.center - Vec3::new(0.0, 0.0, 0.03)).norm() < 1e-15);
        let inertia = (got.inertia - want.inertia).norm() / want.inertia.norm();
        (1.0 - got.mass / want.mass, inertia)
    };
    // A polygon of n sides in a circle has the share sin(2π/n)/(2π/n) of its area.
    let (mass, inertia) = error(64);
    let share = (2.0 * PI / 64.0).sin() / (2.0 * PI / 64.0);
    assert!((mass - (1.0 - share)).abs() < 1e-12, "{mass}");
    let (finer_mass, finer_inertia) = error(256);
    assert!((mass / finer_mass - 16.0).abs() < 0.1 && (inertia / finer_inertia - 16.0).abs() < 0.1);

    let ball = |level| 1.0 - sphere(0.02, level).volume() / (Sphere { radius: 0.02 }.mass_properties(1.0).mass);
    assert!(ball(5) > 0.0 && ball(5) < 2e-3 && (ball(4) / ball(5) - 4.0).abs() < 0.1);
    let ring = torus(0.03, 0.01, 400, 200).volume() / (2.0 * PI * PI * 0.03 * 1e-4);
    assert!((1.0 - ring).abs() < 3e-4 && ring < 1.0, "{ring}");
}

#[test]
fn moving_a_part_moves_its_centre_and_turns_its_inertia() {
    let mesh = cuboid(Vec3::new(0.01, 0.02, 0.03));
    let still = mesh.mass_properties(7850.0).expect("solid");
    let pose = Pose::new(Vec3::new(1.0, -2.0, 3.0), Vec3::new(0.3, 0.4, -1.2));
    let got = mesh.moved(&pose).mass_properties(7850.0).expect("solid");
    let turn = pose.rotation.to_rotation_matrix();
    let turned = turn.matrix() * still.inertia * turn.matrix().transpose();
    assert!((got.mass - still.mass).abs() < 1e-13 && (got.center - pose.translation.vector).norm() < 1e-14);
    assert!((got.inertia - turned).norm() < 1e-12 * turned.norm());
}
