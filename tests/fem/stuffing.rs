//! Tetrahedra inside closed surfaces.

use hapticd::geometry::mesh::{MeshSurface, TriMesh};
use hapticd::geometry::parts::{Body, BoreBlock, Facets};
use hapticd::geometry::tet::{TetMesh, TetMeshError};
use hapticd::math::Vec3;

/// A ball of facets: an octahedron whose triangles are cut in four `depth` times.
pub(crate) fn ball(radius: f64, depth: u32) -> TriMesh {
    let axes = [Vec3::x(), Vec3::y(), Vec3::z(), -Vec3::x(), -Vec3::y(), -Vec3::z()];
    let mut triangles = Vec::new();
    for signs in 0..8_usize {
        let corner = |k: usize| if signs >> k & 1 == 0 { axes[k] } else { axes[k + 3] };
        let [a, b, c] = [0, 1, 2].map(corner);
        triangles.push(if signs.count_ones() % 2 == 0 { [a, b, c] } else { [a, c, b] });
    }
    for _ in 0..depth {
        let cut = |[a, b, c]: [Vec3; 3]| {
            let (p, q, r) = ((a + b).normalize(), (b + c).normalize(), (c + a).normalize());
            [[a, p, r], [p, b, q], [r, q, c], [p, q, r]]
        };
        triangles = triangles.into_iter().flat_map(cut).collect();
    }
    let (mut vertices, mut faces): (Vec<Vec3>, Vec<[u32; 3]>) = (Vec::new(), Vec::new());
    for triangle in triangles {
        faces.push(triangle.map(|p| {
            let p = p * radius;
            let known = vertices.iter().position(|v| (v - p).norm() < 1e-9 * radius);
            known.unwrap_or_else(|| {
                vertices.push(p);
                vertices.len() - 1
            }) as u32
        }));
    }
    TriMesh::new(vertices, faces).expect("sound")
}

#[test]
fn a_ball_is_filled_with_well_shaped_tetrahedra() {
    let surface = MeshSurface::new(ball(0.02, 3)).expect("closed");
    let mut last = f64::INFINITY;
    for size in [8e-3, 4e-3, 2e-3] {
        let mesh = TetMesh::stuff(&surface, size).expect("a ball has an inside");
        let (report, quality) = (mesh.check(), mesh.quality());
        let fit = mesh.fit(&surface).expect("closed");
        println!("{size} m: {} nodes, {} tets, {quality}, {fit:?}", mesh.nodes().len(), mesh.tets().len());
        assert!(report.is_sound(), "{report}");
        // Labelle and Shewchuk prove 10.7° to 164.8° with their own choice of diagonals; this one may be a little
        // worse.
        assert!(quality.smallest_dihedral_deg > 8.0 && quality.largest_dihedral_deg < 165.0, "{quality}");
        assert!(fit.skin_off_m < 1e-9 && (fit.volume_ratio - 1.0).abs() < last, "{fit:?}");
        last = (fit.volume_ratio - 1.0).abs();
    }
    assert!(last < 0.01, "{last}");
}

#[test]
fn a_block_with_a_hole_keeps_its_hole() {
    let part =
        BoreBlock { diameter: 0.02, depth: 0.02, chamfer: 0.0, floor: None, body: Body::Round { diameter: 0.04 } };
    let surface = MeshSurface::new(part.mesh(Facets { per_turn: 48, rows: 4 }).expect("sound")).expect("closed");
    let mesh = TetMesh::stuff(&surface, 2.5e-3).expect("an inside");
    let fit = mesh.fit(&surface).expect("closed");
    println!("{} nodes, {} tets, {}, {fit:?}", mesh.nodes().len(), mesh.tets().len(), mesh.quality());
    assert!(mesh.check().is_sound(), "{}", mesh.check());
    assert!((fit.volume_ratio - 1.0).abs() < 0.05 && fit.skin_off_m < 1e-9, "{fit:?}");
    assert!(fit.surface_off_m < 2.5e-3);
    // Nothing in the hole.
    assert!(mesh.nodes().iter().all(|p| p.x.hypot(p.y) > 0.0099));
    assert_eq!(mesh, TetMesh::stuff(&surface, 2.5e-3).expect("an inside"));
}

#[test]
fn sizes_that_cannot_be_are_refused_with_what_to_do() {
    let surface = MeshSurface::new(ball(0.02, 2)).expect("closed");
    let text = |size: f64| TetMesh::stuff(&surface, size).expect_err("refused").to_string();
    assert!(text(0.0).contains("positive") && text(f64::NAN).contains("positive"));
    assert!(text(1e-6).contains("larger size"));
    assert_eq!(TetMesh::new(vec![Vec3::zeros()], Vec::new()), Err(TetMeshError::Empty));
}
