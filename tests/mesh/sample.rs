//! Contact nodes lie on the surface, where the area is, the same each time.

use crate::solids::{cuboid, sphere};
use hapticd::geometry::Surface;
use hapticd::geometry::mesh::{MeshSurface, Part, SampleSpec, sample_surface};
use hapticd::math::Vec3;

#[test]
fn nodes_lie_on_the_surface_with_its_normal() {
    let half = Vec3::new(0.01, 0.02, 0.03);
    let solid = MeshSurface::new(cuboid(half)).expect("closed");
    let spec = SampleSpec { vertices: true, edge_spacing_m: Some(0.005), sharp_angle_rad: 0.2, faces: 1000 };
    let nodes = sample_surface(&solid, &spec);
    assert_eq!(nodes, sample_surface(&solid, &spec));
    // 8 corners; 4 edges each of 20, 40 and 60 mm in steps of 5 mm; the diagonals of the faces are not sharp.
    let count = |f: fn(&Part) -> bool| nodes.iter().filter(|n| f(&n.part)).count();
    assert_eq!(count(|p| matches!(p, Part::Corner(_))), 8);
    assert_eq!(count(|p| matches!(p, Part::Side(_))), 4 * (3 + 7 + 11));
    assert_eq!(count(|p| matches!(p, Part::Face)), 1000);
    for node in &nodes {
        assert!(solid.signed_distance(&node.position).distance.abs() < 1e-15);
        assert!((node.normal.norm() - 1.0).abs() < 1e-12);
        assert!(solid.signed_distance(&(node.position + node.normal * 1e-4)).distance > 0.0);
        if let Part::Face = node.part {
            let out = node.normal;
            assert!((node.position.dot(&out) - half.dot(&out.abs())).abs() < 1e-15);
        }
    }
    // A share of the nodes on each face as of the area, to one node per triangle.
    let on_z = nodes.iter().filter(|n| n.part == Part::Face && n.normal.z.abs() > 0.5).count();
    let share = (half.x * half.y) / (half.x * half.y + half.y * half.z + half.z * half.x);
    assert!((on_z as f64 - 1000.0 * share).abs() <= 4.0, "{on_z} against {}", 1000.0 * share);
}

#[test]
fn nodes_of_a_sphere_are_spread_evenly() {
    let ball = MeshSurface::new(sphere(0.02, 4)).expect("closed");
    let spec = SampleSpec { vertices: false, edge_spacing_m: Some(0.001), sharp_angle_rad: 0.5, faces: 8000 };
    let nodes = sample_surface(&ball, &spec);
    assert_eq!(nodes.len(), 8000, "a sphere has no sharp edge");
    for octant in 0..8 {
        let side = |k: usize| if octant & (1 << k) == 0 { 1.0 } else { -1.0 };
        let here = nodes.iter().filter(|n| (0..3).all(|k| n.position[k] * side(k) > 0.0)).count();
        assert!(here.abs_diff(1000) <= 8, "octant {octant}: {here}");
    }
    // The mean of a linear function over the sphere is zero.
    let mean: Vec3 = nodes.iter().map(|n| n.position).sum::<Vec3>() / 8000.0;
    assert!(mean.norm() < 2e-4 * 0.02 * 10.0, "{mean:?}");
    let none = SampleSpec { vertices: false, edge_spacing_m: None, sharp_angle_rad: 0.5, faces: 0 };
    assert!(sample_surface(&ball, &none).is_empty());
}
