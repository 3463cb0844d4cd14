//! Checks: every kind of fault is found, counted and placed; sound meshes have none.

use crate::solids::{cuboid, sphere, spiky, torus};
use hapticd::geometry::mesh::{Checks, LengthUnit, MeshFault, MeshSurface, TriMesh};
use hapticd::math::{Pose, Vec3};

const ALL: Checks = Checks { self_intersection: true };

fn box_mesh() -> TriMesh {
    cuboid(Vec3::new(0.01, 0.02, 0.03))
}

/// The mesh with its list of triangles changed.
fn changed(mesh: &TriMesh, change: impl FnOnce(&mut Vec<[u32; 3]>)) -> TriMesh {
    let mut triangles = mesh.triangles().to_vec();
    change(&mut triangles);
    TriMesh::new(mesh.vertices().to_vec(), triangles).expect("a mesh")
}

fn moved(mesh: &TriMesh, by: Vec3) -> TriMesh {
    mesh.moved(&Pose::new(by, Vec3::zeros()))
}

fn faults(mesh: &TriMesh) -> Vec<MeshFault> {
    mesh.validate(&ALL).faults
}

#[test]
fn closed_meshes_have_no_fault() {
    for (mesh, shells) in [
        (box_mesh(), 1),
        (sphere(0.02, 3), 1),
        (spiky(3, 1), 1),
        (torus(0.03, 0.01, 20, 12), 1),
        (sphere(0.02, 2).joined(&moved(&box_mesh(), Vec3::x())).expect("a mesh"), 2),
        // A cavity faces inwards, as it should.
        (sphere(0.02, 2).joined(&sphere(0.01, 2).flipped()).expect("a mesh"), 2),
    ] {
        let report = mesh.validate(&ALL);
        assert!(report.is_sound(), "{report}");
        assert_eq!(report.shells, shells);
    }
}

#[test]
fn a_hole_is_counted_by_its_edges_and_placed() {
    let mesh = box_mesh();
    let open = changed(&mesh, |t| {
        t.remove(0);
        t.remove(0);
    });
    let found = faults(&open);
    let [MeshFault::OpenEdges { count: 4, ends, .. }] = &found[..] else { panic!("{found:?}") };
    assert!(ends.iter().all(|p| p.x == -0.01), "the face that went was that of −x: {ends:?}");
    let message = found[0].to_string();
    assert!(message.starts_with("open edges: 4, the first on triangle") && message.contains("-0.010000"), "{message}");
    assert!(MeshSurface::new(open).is_err(), "no distance without an inside");
}

#[test]
fn a_flipped_triangle_and_a_flipped_mesh_are_told_apart() {
    let flipped = changed(&box_mesh(), |t| t[5].swap(0, 1));
    let found = faults(&flipped);
    let [MeshFault::FlippedNeighbours { count: 3, triangles }] = &found[..] else { panic!("{found:?}") };
    assert!(triangles.contains(&5));

    let found = faults(&box_mesh().flipped());
    let [MeshFault::InsideOut { count: 1, triangle: 0, volume }] = &found[..] else { panic!("{found:?}") };
    assert!((volume + 8.0 * 6e-6).abs() < 1e-18, "{volume}");

    // One good shell does not excuse another one beside it.
    let both = sphere(0.02, 2).joined(&moved(&box_mesh().flipped(), Vec3::x())).expect("a mesh");
    let found = faults(&both);
    let first = sphere(0.02, 2).triangles().len() as u32;
    assert!(matches!(&found[..], [MeshFault::InsideOut { count: 1, triangle, .. }] if *triangle == first), "{found:?}");
}

#[test]
fn a_wall_inside_makes_crowded_edges() {
    // A second box on the first one's corners shares four of its edges.
    let mesh = box_mesh();
    let mut vertices = mesh.vertices().to_vec();
    vertices.extend((0..4).map(|k| mesh.vertices()[2 * k + 1] + Vec3::new(0.02, 0.0, 0.0)));
    let second = mesh.triangles().iter().map(|t| t.map(|v| if v % 2 == 1 { 8 + v / 2 } else { v + 1 }));
    let triangles = mesh.triangles().iter().copied().chain(second).collect();
    let found = TriMesh::new(vertices, triangles).expect("a mesh").validate(&Checks::default()).faults;
    assert!(found.iter().any(|f| matches!(f, MeshFault::CrowdedEdges { count: 5, .. })), "{found:?}");
    assert!(found.iter().any(|f| matches!(f, MeshFault::Duplicate { count: 2, .. })), "{found:?}");
}

#[test]
fn boxes_that_touch_in_a_corner_are_pinched() {
    let mesh = box_mesh();
    let mut vertices = mesh.vertices().to_vec();
    let corner = vertices[7];
    vertices.extend(mesh.vertices()[1..].iter().map(|v| v + corner * 2.0));
    // The second box's corner 0 is the first one's corner 7.
    let second = mesh.triangles().iter().map(|t| t.map(|v| if v == 0 { 7 } else { v + 7 }));
    let triangles = mesh.triangles().iter().copied().chain(second).collect();
    let found = faults(&TriMesh::new(vertices, triangles).expect("a mesh"));
    assert!(
        matches!(&found[..], [MeshFault::PinchedVertices { count: 1, vertex: 7, at }] if *at == corner),
        "{found:?}"
    );
}

#[test]
fn triangles_without_area_and_triangles_twice_are_named() {
    let mesh = box_mesh();
    let twice = changed(&mesh, |t| t.push([t[3][1], t[3][2], t[3][0]]));
    let found = faults(&twice);
    assert!(found.contains(&MeshFault::Duplicate { count: 1, triangle: 12, same_as: 3 }), "{found:?}");

    let flat = changed(&mesh, |t| t.push([0, 0, 5]));
    let found = faults(&flat);
    assert!(matches!(&found[..], [MeshFault::Degenerate { count: 1, triangle: 12, .. }]), "{found:?}");

    // Three vertices in a line, 1e-13 m off it.
    let mut vertices = mesh.vertices().to_vec();
    vertices.push(0.5 * (vertices[0] + vertices[1]) + Vec3::y() * 1e-13);
    let mut triangles = mesh.triangles().to_vec();
    triangles.push([0, 8, 1]);
    let found = faults(&TriMesh::new(vertices, triangles).expect("a mesh"));
    assert!(found.iter().any(|f| matches!(f, MeshFault::Degenerate { triangle: 12, .. })), "{found:?}");
}

#[test]
fn shells_that_cut_each_other_are_found_and_touching_ones_are_not() {
    let a = box_mesh();
    let through = a.joined(&moved(&a, Vec3::new(0.003, 0.004, 0.005))).expect("a mesh");
    let found = faults(&through);
    let [MeshFault::SelfIntersection { count, triangles, .. }] = &found[..] else { panic!("{found:?}") };
    assert!(*count >= 6 && triangles[0] < 12 && triangles[1] >= 12);
    assert!(through.validate(&Checks::default()).is_sound(), "it is asked for by name");

    // Side by side, 1 nm apart, and one inside the other: no cut.
    for by in [Vec3::new(0.020_000_001, 0.0, 0.0), Vec3::new(0.0, 0.1, 0.0)] {
        assert!(faults(&a.joined(&moved(&a, by)).expect("a mesh")).is_empty());
    }
    // Faces in one plane that overlap do cut.
    let flush = a.joined(&moved(&cuboid(Vec3::new(0.01, 0.005, 0.005)), Vec3::zeros())).expect("a mesh");
    assert!(matches!(&faults(&flush)[..], [MeshFault::SelfIntersection { .. }]));
    // A fold: two triangles over one edge, in one plane, on the same side.
    let vertices = vec![Vec3::zeros(), Vec3::x(), Vec3::new(0.3, 1.0, 0.0), Vec3::new(0.6, 0.8, 0.0)];
    let fold = TriMesh::new(vertices, vec![[0, 1, 2], [1, 0, 3]]).expect("a mesh");
    assert!(faults(&fold).iter().any(|f| matches!(f, MeshFault::SelfIntersection { count: 1, .. })));
}

#[test]
fn a_part_of_the_wrong_size_names_the_likely_unit() {
    let part = cuboid(Vec3::new(24.0, 24.0, 10.0));
    let fault = part.check_size(0.048, LengthUnit::Metre).expect_err("48 m is not 48 mm");
    assert_eq!(fault.likely, Some(LengthUnit::Millimetre));
    let said = fault.to_string();
    assert!(said.contains("48.0000 m but 48.0000 mm") && said.contains("probably in mm"), "{said}");
    let small = cuboid(Vec3::repeat(0.024 / 25.4));
    assert_eq!(small.check_size(0.048, LengthUnit::Millimetre).expect_err("too small").likely, Some(LengthUnit::Inch));
    assert!(cuboid(Vec3::repeat(0.024)).check_size(0.05, LengthUnit::Millimetre).is_ok());
    assert_eq!(part.check_size(5.0, LengthUnit::Metre).expect_err("no unit fits").likely, None);
    assert!(part.check_size(f64::NAN, LengthUnit::Metre).is_err());
}
