//! Distance: exact against formulas and brute force, with the sign of the winding number.

use crate::solids::{brute_force, cuboid, somewhere, soup, sphere, spiky, torus, winding};
use hapticd::geometry::mesh::{Bvh, MeshSurface, TriMesh};
use hapticd::geometry::parts::{Body, Bolt, Facets, Fit, Hand, Head, Side, ThreadSpec};
use hapticd::geometry::{Cuboid, Surface};
use hapticd::math::{Random, Vec3};

fn surface(mesh: TriMesh) -> MeshSurface {
    MeshSurface::new(mesh).expect("a closed mesh")
}

fn small_bolt() -> TriMesh {
    let thread = ThreadSpec { diameter: 0.048, pitch: 0.005, hand: Hand::Right, fit: Fit::RadialGap(4e-4) };
    let head = Some(Head { body: Body::Hex { across_flats: 0.075 }, height: 0.01 });
    let profile = thread.profile(Side::Bolt).expect("a thread");
    let bolt = Bolt { profile, length: 0.02, chamfer: 0.0015, head };
    bolt.mesh(Facets { per_turn: 24, rows: 1 }).expect("a bolt")
}

#[test]
fn the_mesh_of_a_box_has_the_distance_of_the_box() {
    let half = Vec3::new(0.01, 0.02, 0.03);
    let (mesh, exact) = (surface(cuboid(half)), Cuboid { half });
    let mut random = Random::new(1);
    for _ in 0..20_000 {
        let p = somewhere(&mut random, 0.06);
        let (got, want) = (mesh.signed_distance(&p), exact.signed_distance(&p));
        assert!((got.distance - want.distance).abs() < 1e-15, "{p:?}");
        // Deep inside several faces are as near.
        if want.distance > 1e-9 {
            assert!((got.normal - want.normal).norm() < 1e-12, "{p:?}: {got:?} against {want:?}");
        }
    }
    assert!(mesh.is_convex() && surface(sphere(0.02, 3)).is_convex());
    assert!(!surface(torus(0.03, 0.01, 20, 12)).is_convex() && !surface(spiky(2, 3)).is_convex());
}

#[test]
fn the_mesh_of_a_sphere_has_its_distance_less_the_facets() {
    let (radius, level) = (0.02, 5);
    let ball = surface(sphere(radius, level));
    let mut random = Random::new(2);
    for _ in 0..5_000 {
        let p = somewhere(&mut random, 0.05);
        let got = ball.signed_distance(&p);
        let exact = p.norm() - radius;
        // Facets lie inside the sphere by at most their sagitta.
        assert!(got.distance >= exact - 1e-15 && got.distance <= exact + 3e-5, "{} against {exact}", got.distance);
    }
}

#[test]
fn distance_is_that_of_brute_force_on_random_meshes() {
    let mut random = Random::new(3);
    let meshes = (0..20).map(|seed| soup(50 + 20 * seed as usize, seed)).chain((0..10).map(|seed| spiky(3, seed)));
    let mut worst = 0.0_f64;
    for mesh in meshes.chain([small_bolt()]) {
        let bvh = Bvh::new(&mesh);
        for _ in 0..200 {
            let p = somewhere(&mut random, 0.15);
            let got = bvh.nearest(&p, None);
            worst = worst.max((got.distance_squared.sqrt() - brute_force(&mesh, &p)).abs());
            let on = crate::solids::to_triangle(&got.point, &mesh.corners(got.triangle as usize));
            assert!(on < 1e-15, "the point lies on the triangle named");
        }
    }
    assert!(worst < 1e-12, "{worst:e}");
}

#[test]
fn the_sign_is_that_of_the_winding_number() {
    let cavity = sphere(0.08, 2).joined(&spiky(2, 9).flipped()).expect("a mesh");
    let cavity_scaled = TriMesh::new(
        cavity
            .vertices()
            .iter()
            .enumerate()
            .map(|(k, v)| if k < sphere(0.08, 2).vertices().len() { v * 1.5 } else { v * 0.8 })
            .collect(),
        cavity.triangles().to_vec(),
    )
    .expect("a mesh");
    let meshes = (0..12).map(|seed| spiky(1 + seed as usize % 3, seed));
    let meshes = meshes.chain([torus(0.06, 0.02, 30, 16), cavity_scaled, small_bolt(), cuboid(Vec3::repeat(0.05))]);
    let mut random = Random::new(4);
    let (mut inside, mut outside) = (0, 0);
    for mesh in meshes {
        let surface = surface(mesh);
        let nodes: Vec<Vec3> = surface.mesh().vertices().to_vec();
        for k in 0..600 {
            // Half anywhere, half next to a vertex, where the sign is hardest.
            let p = if k % 2 == 0 {
                somewhere(&mut random, 0.1)
            } else {
                nodes[k % nodes.len()] + somewhere(&mut random, 1e-4)
            };
            let got = surface.signed_distance(&p);
            let winds = winding(surface.mesh(), &p);
            if got.distance.abs() < 1e-12 {
                continue;
            }
            assert_eq!(got.distance < 0.0, winds > 0.5, "{p:?}: {got:?}, winding {winds}");
            if winds > 0.5 { inside += 1 } else { outside += 1 }
        }
    }
    assert!(inside > 1000 && outside > 1000, "both sides were asked: {inside}, {outside}");
}

#[test]
fn distance_is_1_lipschitz_with_a_unit_gradient_and_changes_sign_across() {
    let mut random = Random::new(5);
    for mesh in [spiky(3, 2), torus(0.06, 0.02, 30, 16), small_bolt()] {
        let surface = surface(mesh);
        for _ in 0..2_000 {
            let (p, step) = (somewhere(&mut random, 0.1), somewhere(&mut random, 0.01));
            let (a, b) = (surface.signed_distance(&p), surface.signed_distance(&(p + step)));
            assert!((a.distance - b.distance).abs() <= step.norm() * (1.0 + 1e-12));
            assert!((a.normal.norm() - 1.0).abs() < 1e-12);
            // Walking the distance along the normal leads to the surface.
            let foot = p - a.normal * a.distance;
            assert!(surface.signed_distance(&foot).distance.abs() < 1e-14, "{p:?}");
            // A little to both sides of the foot.
            let (_, near) = surface.query(&p, None);
            let normal = surface.pseudo_normal(near.triangle, near.part);
            let to = |h: f64| surface.signed_distance(&(near.point + normal * h)).distance;
            assert!(to(1e-9) > 0.0 && to(-1e-9) < 0.0, "{near:?}");
            // Off the medial axis the normal is the gradient.
            let h = 1e-7;
            let along = |e: Vec3| {
                (surface.signed_distance(&(p + e * h)).distance - surface.signed_distance(&(p - e * h)).distance)
                    / (2.0 * h)
            };
            let gradient = Vec3::new(along(Vec3::x()), along(Vec3::y()), along(Vec3::z()));
            if (gradient.norm() - 1.0).abs() < 1e-6 && a.distance.abs() > 1e-4 {
                assert!((gradient - a.normal).norm() < 2e-3, "{p:?}: {gradient:?} against {:?}", a.normal);
            }
        }
    }
}

#[test]
fn a_hint_never_changes_the_answer() {
    let mut random = Random::new(6);
    for mesh in [spiky(3, 2), soup(300, 8), small_bolt()] {
        let bvh = Bvh::new(&mesh);
        let count = mesh.triangles().len() as u64;
        for _ in 0..500 {
            let p = somewhere(&mut random, 0.1);
            let cold = bvh.nearest(&p, None);
            for _ in 0..5 {
                let hint = (random.bits() % (count + 2)) as u32;
                assert_eq!(bvh.nearest(&p, Some(hint)), cold, "hint {hint}");
            }
        }
        // On vertices and edges many triangles are equally near.
        for t in 0..count as u32 {
            let [a, b, _] = mesh.corners(t as usize);
            for p in [a, 0.5 * (a + b)] {
                assert_eq!(bvh.nearest(&p, Some(t)), bvh.nearest(&p, None));
            }
        }
    }
}

#[test]
fn a_ray_hits_what_brute_force_hits() {
    let mut random = Random::new(7);
    let through = |[a, b, c]: [Vec3; 3], o: &Vec3, d: &Vec3| {
        let n = (b - a).cross(&(c - a));
        let t = n.dot(&(a - o)) / n.dot(d);
        let p = o + d * t;
        let inside = |u: Vec3, v: Vec3| (v - u).cross(&(p - u)).dot(&n) >= 0.0;
        (t >= 0.0 && inside(a, b) && inside(b, c) && inside(c, a)).then_some(t)
    };
    for mesh in [spiky(3, 4), small_bolt()] {
        let surface = surface(mesh);
        let mut hits = 0;
        for _ in 0..2_000 {
            let o = somewhere(&mut random, 0.12);
            let d = somewhere(&mut random, 0.04) - o;
            let all = (0..surface.mesh().triangles().len()).filter_map(|t| through(surface.mesh().corners(t), &o, &d));
            let first = all.fold(f64::INFINITY, f64::min);
            let got = surface.ray(&o, &d, f64::INFINITY).map_or(f64::INFINITY, |h| h.distance);
            assert!(got == first || (got - first).abs() < 1e-12, "{got} against {first} from {o:?} along {d:?}");
            hits += usize::from(first.is_finite());
            // From inside one cannot get out unseen.
            if surface.signed_distance(&o).distance < 0.0 {
                assert!(got.is_finite());
            }
            if got.is_finite() {
                assert!(surface.ray(&o, &d, got * 0.999).is_none());
            }
        }
        assert!(hits > 300, "{hits}");
        assert!(surface.ray(&Vec3::zeros(), &Vec3::zeros(), 1.0).is_none());
        assert!(surface.ray(&Vec3::zeros(), &Vec3::repeat(f64::NAN), 1.0).is_none());
    }
}

#[test]
fn rays_through_edges_and_vertices_of_a_closed_mesh_do_not_slip_through() {
    for mesh in [cuboid(Vec3::new(0.01, 0.02, 0.03)), sphere(0.02, 3), spiky(2, 5)] {
        let surface = surface(mesh);
        // From the origin of a box many edge functions are exactly zero.
        for center in [Vec3::zeros(), Vec3::new(1e-4, -2e-4, 3e-4)] {
            for t in 0..surface.mesh().triangles().len() {
                let [a, b, _] = surface.mesh().corners(t);
                for target in [a, 0.5 * (a + b), 0.3 * a + 0.7 * b] {
                    let way = target - center;
                    assert!(surface.ray(&center, &way, 1.0 + 1e-9).is_some(), "out towards {target:?}");
                    assert!(surface.ray(&(target + way), &-way, 1.0 + 1e-9).is_some(), "in towards {target:?}");
                }
            }
        }
    }
}

#[test]
fn equal_triangles_in_one_place_do_not_deepen_the_tree() {
    // Ten thousand copies of a triangle, and triangles in a geometric row: both defeat a split by bins.
    let copies = TriMesh::new(vec![Vec3::zeros(), Vec3::x(), Vec3::y()], vec![[0, 1, 2]; 10_000]).expect("a mesh");
    assert_eq!(Bvh::new(&copies).nearest(&Vec3::new(0.2, 0.2, 3.0), None).distance_squared, 9.0);
    let mut vertices = Vec::new();
    for k in 0..1000 {
        let x = 2.0_f64.powi(-k);
        vertices.extend([Vec3::new(x, 0.0, 0.0), Vec3::new(x, 1.0, 0.0), Vec3::new(x, 0.0, 1.0)]);
    }
    // From x = −1 all beyond the 53rd are equally far in doubles, and the first of them is named.
    let row = TriMesh::new(vertices, (0..1000).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect()).expect("a mesh");
    assert_eq!(Bvh::new(&row).nearest(&Vec3::new(-1.0, 0.1, 0.1), None).triangle, 53);
}
