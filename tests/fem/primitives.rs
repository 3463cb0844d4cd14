//! Cylinders, tubes, rings, balls and shells of tetrahedra: soundness, volume, shape, groups.

use hapticd::geometry::mesh::{Checks, MeshSurface};
use hapticd::geometry::tet::{
    BallSpec, BlockSpec, CylinderSpec, Group, Members, Region, ShellSpec, Split, TetMesh, TorusSpec, TubeSpec,
};
use hapticd::math::Vec3;
use std::f64::consts::PI;

/// A body with its volume, a mesh of it for a cell, the number of nodes and tetrahedra announced, and its dihedral angles.
struct Case {
    name: &'static str,
    volume: f64,
    /// A cell whose halves give twice as many layers, m.
    cell: f64,
    mesh: fn(f64) -> (TetMesh, (f64, f64)),
    /// Smallest and largest angle between faces that the pattern gives at any fineness, degrees.
    dihedral: (f64, f64),
    /// `V − E + F` of the surface.
    euler: i64,
}

fn cases() -> [Case; 5] {
    [
        Case {
            name: "cylinder",
            volume: PI * 0.02 * 0.02 * 0.03,
            cell: 5e-3,
            mesh: |cell_m| {
                let spec = CylinderSpec { radius_m: 0.02, length_m: 0.03, cell_m };
                (spec.mesh().expect("a mesh"), spec.size())
            },
            dihedral: (34.0, 126.0),
            euler: 2,
        },
        Case {
            name: "tube",
            volume: PI * (0.02 * 0.02 - 0.015 * 0.015) * 0.03,
            cell: 5e-3,
            mesh: |cell_m| {
                let spec = TubeSpec { radius_m: 0.02, length_m: 0.03, wall_m: 0.005, cell_m };
                (spec.mesh().expect("a mesh"), spec.size())
            },
            dihedral: (38.0, 112.0),
            euler: 0,
        },
        Case {
            name: "torus",
            volume: 2.0 * PI * PI * 0.03 * 0.01 * 0.01,
            cell: 5e-3,
            mesh: |cell_m| {
                let spec = TorusSpec { radius_m: 0.03, section_m: 0.01, cell_m };
                (spec.mesh().expect("a mesh"), spec.size())
            },
            dihedral: (28.0, 127.0),
            euler: 0,
        },
        Case {
            name: "ball",
            volume: 4.0 / 3.0 * PI * 0.02_f64.powi(3),
            cell: 5.75e-3,
            mesh: |cell_m| {
                let spec = BallSpec { radius_m: 0.02, cell_m };
                (spec.mesh().expect("a mesh"), spec.size())
            },
            dihedral: (37.0, 118.5),
            euler: 2,
        },
        Case {
            name: "shell",
            volume: 4.0 / 3.0 * PI * (0.02_f64.powi(3) - 0.015_f64.powi(3)),
            cell: 5.03e-3,
            mesh: |cell_m| {
                let spec = ShellSpec { radius_m: 0.02, wall_m: 0.005, cell_m };
                (spec.mesh().expect("a mesh"), spec.size())
            },
            dihedral: (29.0, 121.5),
            euler: 4,
        },
    ]
}

#[test]
fn a_primitive_is_one_sound_body_with_the_announced_size() {
    for case in cases() {
        for cell in [5e-3, 2.5e-3] {
            let (mesh, (nodes, tets)) = (case.mesh)(cell);
            assert!(mesh.check().is_sound(), "{}: {}", case.name, mesh.check());
            assert_eq!((mesh.nodes().len() as f64, mesh.tets().len() as f64), (nodes, tets), "{}", case.name);
            assert!((0..mesh.tets().len()).all(|tet| mesh.tet_volume(tet) > 0.0), "{}", case.name);
            assert_eq!(mesh, (case.mesh)(cell).0, "{}: equal specifications give equal meshes", case.name);
            let quadratic = mesh.with_midsides();
            assert!(quadratic.check().is_sound(), "{}: {}", case.name, quadratic.check());
        }
    }
}

#[test]
fn the_surface_is_closed_and_has_the_right_number_of_holes() {
    for case in cases() {
        let (mesh, _) = (case.mesh)(5e-3);
        let (skin, _) = mesh.skin().mesh(&mesh).expect("a surface");
        let report = skin.validate(&Checks { self_intersection: true });
        assert!(report.is_sound(), "{}: {report}", case.name);
        // Each edge of a closed surface belongs to two triangles.
        let (vertices, triangles) = (skin.vertices().len() as i64, skin.triangles().len() as i64);
        assert_eq!(vertices - triangles / 2, case.euler, "{}", case.name);
        // Outward: the surface encloses the volume of the tetrahedra.
        assert!((skin.volume() / mesh.volume() - 1.0).abs() < 1e-12, "{}", case.name);
    }
}

#[test]
fn the_volume_converges_with_the_square_of_the_cell() {
    for case in cases() {
        let errors = [1.0, 0.5, 0.25].map(|part| (case.mesh)(part * case.cell).0.volume() / case.volume - 1.0);
        println!("{}: {errors:?}", case.name);
        for pair in errors.windows(2) {
            let order = (pair[0] / pair[1]).log2();
            assert!((1.9..2.1).contains(&order), "{}: order {order}, {errors:?}", case.name);
        }
        assert!(errors[2].abs() < 0.004, "{}: {errors:?}", case.name);
    }
}

#[test]
fn angles_between_faces_stay_bounded_when_the_mesh_is_refined() {
    for case in cases() {
        for cell in [5e-3, 2.5e-3, 1.25e-3] {
            let quality = (case.mesh)(cell).0.quality();
            println!("{} {cell}: {quality}", case.name);
            let (least, most) = case.dihedral;
            assert!(
                quality.smallest_dihedral_deg > least && quality.largest_dihedral_deg < most,
                "{} {cell}: {quality}",
                case.name
            );
        }
    }
}

#[test]
fn surface_nodes_lie_on_the_surface() {
    let (ball, _) = (cases()[3].mesh)(4e-3);
    assert!(ball.skin().nodes.iter().all(|n| (ball.nodes()[*n as usize].norm() - 0.02).abs() < 1e-15));
    let (shell, _) = (cases()[4].mesh)(4e-3);
    for (name, radius) in [("inner", 0.015), ("outer", 0.02)] {
        let nodes = shell.group_nodes(shell.group(name).expect("a side of the wall"));
        assert!(!nodes.is_empty());
        assert!(nodes.iter().all(|n| (shell.nodes()[*n as usize].norm() - radius).abs() < 1e-15), "{name}");
    }
    let (torus, _) = (cases()[2].mesh)(4e-3);
    for node in torus.skin().nodes {
        let p = torus.nodes()[node as usize];
        assert!(((p.xy().norm() - 0.03).hypot(p.z) - 0.01).abs() < 1e-15);
    }
    let (tube, _) = (cases()[1].mesh)(4e-3);
    for (name, radius) in [("inner", 0.015), ("outer", 0.02)] {
        let nodes = tube.group_nodes(tube.group(name).expect("a side of the wall"));
        assert!(nodes.iter().all(|n| (tube.nodes()[*n as usize].xy().norm() - radius).abs() < 1e-15), "{name}");
    }
}

/// Area of the triangles of a group.
fn area(mesh: &TetMesh, group: &Group) -> f64 {
    let Members::Triangles(triangles) = &group.members else { return 0.0 };
    let corners = |t: &[u32; 3]| t.map(|n| mesh.nodes()[n as usize]);
    triangles.iter().map(corners).map(|[a, b, c]| 0.5 * (b - a).cross(&(c - a)).norm()).sum()
}

#[test]
fn flat_sides_are_whole_groups_and_round_ones_are_caps() {
    let block =
        BlockSpec { size: Vec3::new(0.03, 0.02, 0.01), cells: [6, 4, 2], split: Split::Five }.mesh().expect("a mesh");
    let block = block.with_sides();
    for (name, wanted) in
        [("bottom", 6e-4), ("top", 6e-4), ("left", 3e-4), ("right", 3e-4), ("back", 2e-4), ("front", 2e-4)]
    {
        let found = area(&block, block.group(name).expect("a side"));
        assert!((found / wanted - 1.0).abs() < 1e-12, "{name}: {found}");
    }
    let (cylinder, _) = (cases()[0].mesh)(4e-3);
    let polygon = 0.5 * 30.0 * 0.02 * 0.02 * (2.0 * PI / 30.0).sin();
    for name in ["bottom", "top"] {
        let found = area(&cylinder, cylinder.group(name).expect("an end"));
        assert!((found / polygon - 1.0).abs() < 1e-12, "{name}: {found} {polygon}");
    }
    // Each side of a ball, however coarse, is there and faces the right way.
    for cell in [0.04, 0.01, 2e-3] {
        let ball = BallSpec { radius_m: 0.02, cell_m: cell }.mesh().expect("a ball");
        let sides = [("bottom", -Vec3::z()), ("top", Vec3::z()), ("left", -Vec3::y()), ("right", Vec3::y())];
        for (name, towards) in sides.into_iter().chain([("back", -Vec3::x()), ("front", Vec3::x())]) {
            let nodes = ball.group_nodes(ball.group(name).expect("a side"));
            let middle: Vec3 = nodes.iter().map(|n| ball.nodes()[*n as usize]).sum::<Vec3>() / nodes.len() as f64;
            assert!(nodes.len() >= 3 && middle.normalize().dot(&towards) > 0.75, "{cell} {name}: {middle:?}");
        }
    }
    // What is there by name already stays as it is.
    let group = Group { name: "top".into(), members: Members::Nodes(vec![0]) };
    let named = block_without_groups().with_group(group.clone()).expect("a node").with_sides();
    assert_eq!(named.group("top"), Some(&group));
}

fn block_without_groups() -> TetMesh {
    let block = BlockSpec::beam(0.02, 0.01, 1).mesh().expect("a block");
    TetMesh::new(block.nodes().to_vec(), block.tets().to_vec()).expect("a mesh")
}

#[test]
fn a_stuffed_surface_gets_sides_too() {
    let (ball, _) = (cases()[3].mesh)(2e-3);
    let (skin, _) = ball.skin().mesh(&ball).expect("a surface");
    let stuffed = TetMesh::stuff(&MeshSurface::new(skin).expect("closed"), 5e-3).expect("an inside").with_sides();
    for name in ["bottom", "top", "left", "right", "back", "front"] {
        assert!(stuffed.group(name).is_some_and(|group| stuffed.group_nodes(group).len() >= 3), "{name}");
    }
}

#[test]
fn regions_pick_tetrahedra_by_their_centre_and_groups_by_their_corners() {
    let block =
        BlockSpec { size: Vec3::new(0.04, 0.04, 0.04), cells: [8, 8, 8], split: Split::Five }.mesh().expect("a mesh");
    let moved = block.translated(&Vec3::repeat(-0.02)).expect("near");
    let volume = |tets: &[u32]| tets.iter().map(|tet| moved.tet_volume(*tet as usize)).sum::<f64>();
    let half = moved.tets_in(&Region::Above { axis: Vec3::z(), offset_m: 0.0 });
    assert!((volume(&half) - 0.5 * 6.4e-5).abs() < 1e-15);
    let corner = moved.tets_in(&Region::Box { from: Vec3::zeros(), to: Vec3::repeat(0.02) });
    assert!((volume(&corner) - 8e-6).abs() < 1e-15);
    // A tetrahedron reaches less than 5 mm from its centre.
    let ball = moved.tets_in(&Region::Sphere { center: Vec3::zeros(), radius_m: 0.012 });
    let far = |tet: &u32| moved.corners(*tet as usize).iter().map(|p| p.norm()).fold(0.0, f64::max);
    assert!(ball.iter().all(|tet| far(tet) < 0.017));
    assert!((0..moved.tets().len() as u32).filter(|tet| far(tet) <= 0.012).all(|tet| ball.contains(&tet)));
    assert!(moved.tets_in(&Region::Sphere { center: Vec3::x(), radius_m: 0.1 }).is_empty());
    let nodes = moved.nodes_where(|p| p.z > -1e-9);
    let by_nodes = moved.group_tets(&Group { name: String::new(), members: Members::Nodes(nodes) });
    assert_eq!(by_nodes, half);
}

#[test]
fn dimensions_that_leave_no_body_are_refused_in_words() {
    let wall = ShellSpec { radius_m: 0.01, wall_m: 0.01, cell_m: 2e-3 }.mesh().expect_err("no room").to_string();
    assert!(wall.contains("10.000 mm thick leaves no room inside a radius of 10.000 mm"), "{wall}");
    let tube = TubeSpec { radius_m: 0.01, length_m: 0.1, wall_m: 0.02, cell_m: 2e-3 }.mesh().expect_err("no room");
    assert!(tube.to_string().contains("leaves no room"), "{tube}");
    let ring = TorusSpec { radius_m: 0.01, section_m: 0.01, cell_m: 2e-3 }.mesh().expect_err("no hole").to_string();
    assert!(ring.contains("has no hole"), "{ring}");
    assert!(CylinderSpec { radius_m: -1.0, length_m: 1.0, cell_m: 0.1 }.mesh().is_err());
    assert!(BallSpec { radius_m: 1.0, cell_m: f64::NAN }.mesh().is_err());
    assert!(BallSpec { radius_m: 1.0, cell_m: 1e-3 }.mesh().is_err(), "ten thousand million nodes");
}
