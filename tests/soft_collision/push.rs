//! Contacts that hold: flat, flush, sharp and round; pushing along them removes all penetration.

use super::*;

#[test]
fn a_flat_block_on_a_plane_touches_with_the_nodes_of_its_lower_face_alone() {
    let body = Body::new(&block(Vec3::new(0.04, 0.03, 0.02), [4, 3, 2], Vec3::new(0.0, 0.0, -1e-4)));
    let floor = Shape::HalfSpace(HalfSpace);
    let mut out = Vec::new();
    let mut finder = SoftFinder::new();
    finder.against_rigid(&body.surface, &body.place, &still(&floor, Pose::identity()), &ALL, &mut out);
    assert_eq!(out.len(), 5 * 4);
    check_gaps(&out, &body.now, |partner| match partner {
        Partner::Rigid(p) => *p,
        Partner::Soft(_) => unreachable!("the partner is rigid"),
    });
    for contact in &out {
        assert_eq!(contact.on.weights, [1.0, 0.0, 0.0]);
        assert!((contact.gap + 1e-4).abs() < 1e-15 && contact.normal == Vec3::z());
    }
    let area: f64 = out.iter().map(|c| c.area_m2).sum();
    assert!((1.0..1.6).contains(&(area / (0.04 * 0.03))), "{area}");
}

/// A cube as a part: a mesh with nodes at its corners and along its sides.
fn part_cube(half: f64) -> Shape {
    let (points, triangles) = block(Vec3::repeat(2.0 * half), [2; 3], Vec3::repeat(-half));
    let mesh = TriMesh::new(points, triangles).expect("a mesh");
    let surface = MeshSurface::new(mesh.clone()).expect("closed");
    Shape::Part(Arc::new(Part::new("mesh", Box::new(surface), mesh, false)))
}

#[test]
fn a_sharp_corner_and_a_small_ball_in_the_middle_of_a_large_face_are_held() {
    let slab = Body::new(&block(Vec3::new(0.06, 0.06, 0.03), [2, 2, 1], Vec3::new(-0.01, -0.02, -0.03)));
    let turned = Rot::rotation_between(&Vec3::new(1.0, 1.0, 1.0), &Vec3::z()).expect("not opposite");
    let box_half = Vec3::repeat(0.004);
    let cases = [
        (Shape::Cuboid(Cuboid { half: box_half }), Pose::from_parts(Vec3::z().into(), turned), box_half.norm()),
        (part_cube(0.004), Pose::from_parts(Vec3::z().into(), turned), box_half.norm()),
        (Shape::Sphere(Sphere { radius: 0.001 }), Pose::identity(), 0.001),
        (Shape::Capsule(Capsule { radius: 0.001, half_length: 0.01 }), Pose::identity(), 0.011),
    ];
    for (shape, pose, reach) in cases {
        for gap in [5e-4, 1e-6, -1e-6, -3e-4] {
            let at = Vec3::new(0.0031, 0.0047, reach + gap);
            let pose = Pose::from_parts(at.into(), pose.rotation);
            let mut out = Vec::new();
            SoftFinder::new().against_rigid(&slab.surface, &slab.place, &still(&shape, pose), &ALL, &mut out);
            assert_eq!(out.len(), 1, "{shape:?} {gap}: {out:?}");
            assert!((out[0].gap - gap).abs() < 1e-9 && (out[0].normal + Vec3::z()).norm() < 1e-9, "{gap}: {out:?}");
            assert!(out[0].on.weights.iter().all(|w| *w > 0.0));
        }
    }
}

#[test]
fn a_box_edge_across_a_soft_roof_is_held_where_the_edges_cross() {
    // A roof: a prism whose upper edge runs along y.
    let points = [-1.0, 1.0].iter().flat_map(|y| {
        [Vec3::new(-0.02, 0.03 * y, -0.01), Vec3::new(0.02, 0.03 * y, -0.01), Vec3::new(0.0, 0.03 * y, 0.0)]
    });
    let triangles = vec![[0, 1, 2], [3, 5, 4], [0, 3, 4], [0, 4, 1], [1, 4, 5], [1, 5, 2], [2, 5, 3], [2, 3, 0]];
    let roof = Body::new(&(points.collect(), triangles));
    let keel = Rot::from_axis_angle(&Vec3::x_axis(), std::f64::consts::FRAC_PI_4);
    let shape = Shape::Cuboid(Cuboid { half: Vec3::new(0.03, 0.005, 0.005) });
    for gap in [5e-4, 1e-6, -1e-6, -2e-4] {
        let pose = Pose::from_parts(Vec3::new(0.0, 0.004, 0.005 * 2.0_f64.sqrt() + gap).into(), keel);
        let mut out = Vec::new();
        SoftFinder::new().against_rigid(&roof.surface, &roof.place, &still(&shape, pose), &ALL, &mut out);
        let deepest = out.iter().min_by(|a, b| a.gap.total_cmp(&b.gap)).expect("held");
        assert!((deepest.gap - gap).abs() < 1e-9 && (deepest.normal + Vec3::z()).norm() < 1e-6, "{gap}: {out:?}");
        assert!((deepest.on.position(&roof.now) - Vec3::new(0.0, 0.004, 0.0)).norm() < 1e-6);
    }
}

#[test]
fn bodies_stacked_flush_or_with_an_overhang_do_not_push_sideways() {
    let size = Vec3::new(0.04, 0.04, 0.02);
    let lower = Body::new(&block(size, [4, 4, 2], Vec3::new(-0.02, -0.02, -0.02)));
    let half = 0.5 * size;
    let plate = Shape::Cuboid(Cuboid { half });
    let offsets = [0.0, 1e-12, -1e-12, 1e-9, -1e-9, 1e-6, -1e-6, 1e-4, -1e-4, 3e-3];
    for (offset, height) in offsets.iter().flat_map(|offset| [1e-5, 1e-9, -1e-9, -1e-5].map(|h| (*offset, h))) {
        let upper = Body::new(&block(size, [4, 4, 2], Vec3::new(-0.02 + offset, -0.02 - 0.3 * offset, height)));
        let mut finder = SoftFinder::new();
        let mut check = |name: &str, find: &mut dyn FnMut(&mut SoftFinder, &mut Vec<SoftContact>), up: f64| {
            let mut out = Vec::new();
            find(&mut finder, &mut out);
            let below = out.iter().filter(|c| c.normal.z * up > 0.999 && (c.gap - height).abs() < 1e-8);
            assert!(below.count() >= 16, "{name} {offset} {height}: {out:?}");
            // A contact beside the common face is open by at least the overhang.
            let aside = out.iter().find(|c| c.normal.z * up < 0.999 && c.gap < 0.29 * offset.abs());
            assert!(aside.is_none(), "{name} {offset} {height}: {aside:?}");
        };
        check("soft on soft", &mut |f, out| f.against_soft(upper.side(), lower.side(), &ALL, out), 1.0);
        let base = still(&plate, Pose::translation(0.0, 0.0, -half.z));
        let on_rigid = |f: &mut SoftFinder, out: &mut Vec<SoftContact>| {
            f.against_rigid(&upper.surface, &upper.place, &base, &ALL, out);
        };
        check("soft on rigid", &mut { on_rigid }, 1.0);
        let top = still(&plate, Pose::translation(offset, -0.3 * offset, half.z + height));
        let under_rigid = |f: &mut SoftFinder, out: &mut Vec<SoftContact>| {
            f.against_rigid(&lower.surface, &lower.place, &top, &ALL, out);
        };
        check("rigid on soft", &mut { under_rigid }, -1.0);
    }
}

/// Moves a point of a surface by `way` along `normal`, its surface points as little as possible.
fn push(points: &mut [Vec3], at: &hapticd::collision::soft::FacePoint, normal: &Vec3, way: f64) {
    let share: f64 = at.weights.iter().map(|w| w * w).sum();
    for k in 0..3 {
        points[at.points[k] as usize] += normal * (way * at.weights[k] / share);
    }
}

#[test]
fn pushing_along_the_contacts_takes_a_rigid_shape_out_of_a_soft_block() {
    let tilted = exp_so3(&Vec3::new(0.3, 0.5, 0.2));
    let keel = Rot::from_axis_angle(&Vec3::x_axis(), std::f64::consts::FRAC_PI_4);
    let cases = [
        (Shape::Sphere(Sphere { radius: 0.008 }), Rot::identity(), 0.008),
        (Shape::Sphere(Sphere { radius: 0.001 }), Rot::identity(), 0.001),
        (Shape::Cuboid(Cuboid { half: Vec3::repeat(0.006) }), Rot::identity(), 0.006),
        (Shape::Cuboid(Cuboid { half: Vec3::repeat(0.006) }), tilted, 0.0092),
        (Shape::Cuboid(Cuboid { half: Vec3::new(0.01, 0.004, 0.004) }), keel, 0.004 * 2.0_f64.sqrt()),
        (part_cube(0.006), tilted, 0.0092),
        (Shape::Capsule(Capsule { radius: 0.003, half_length: 0.008 }), tilted, 0.009),
        (Shape::Cylinder(Cylinder { radius: 0.004, half_length: 0.006 }), tilted, 0.008),
        (Shape::Cylinder(Cylinder { radius: 0.005, half_length: 0.006 }), Rot::identity(), 0.006),
    ];
    for (shape, turn, reach) in &cases {
        let mut body = Body::new(&block(Vec3::new(0.05, 0.05, 0.02), [12, 12, 4], Vec3::new(-0.0253, -0.0247, -0.02)));
        let pose = Pose::from_parts(Vec3::new(0.0, 0.0, reach - 0.0015).into(), *turn);
        let start = deepest_of_grid(&body, shape, &pose);
        let mut finder = SoftFinder::new();
        for _ in 0..300 {
            let mut out = Vec::new();
            finder.against_rigid(&body.surface, &body.place, &still(shape, pose), &ALL, &mut out);
            let mut points = body.now.clone();
            for contact in &out {
                let Partner::Rigid(partner) = contact.partner else { continue };
                let partner = pose.transform_point(&partner.into()).coords;
                let gap = contact.normal.dot(&(contact.on.position(&points) - partner));
                push(&mut points, &contact.on, &contact.normal, (-gap).max(0.0));
            }
            body.step(&points);
            // Pushing is not a motion in time.
            body.step(&points);
        }
        let end = deepest_of_grid(&body, shape, &pose);
        assert!(start < -4e-4 && end > -2e-6, "{shape:?}: {start} to {end}");
        // Nothing is pushed farther than the shape is deep.
        let rest = block(Vec3::new(0.05, 0.05, 0.02), [12, 12, 4], Vec3::new(-0.0253, -0.0247, -0.02)).0;
        let most = rest.iter().zip(&body.now).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(most < 0.004, "{shape:?}: {most}");
    }
}

#[test]
fn pushing_along_the_contacts_separates_two_lumps() {
    let mut random = Random::new(12);
    for case in 0..6 {
        let mut a = Body::new(&lump(&mut random, 0.02, 6, Vec3::zeros()));
        let at = direction(&mut random) * 0.048;
        let mut b = Body::new(&lump(&mut random, 0.03, 7, at));
        let mut finder = SoftFinder::new();
        for _ in 0..200 {
            let mut out = Vec::new();
            finder.against_soft(a.side(), b.side(), &ALL, &mut out);
            let (mut p, mut q) = (a.now.clone(), b.now.clone());
            for contact in &out {
                let Partner::Soft(partner) = contact.partner else { continue };
                let gap = contact.normal.dot(&(contact.on.position(&p) - partner.position(&q)));
                push(&mut p, &contact.on, &contact.normal, 0.5 * (-gap).max(0.0));
                push(&mut q, &partner, &-contact.normal, 0.5 * (-gap).max(0.0));
            }
            for (body, points) in [(&mut a, &p), (&mut b, &q)] {
                body.step(points);
                body.step(points);
            }
        }
        for (own, other) in [(&a, &b), (&b, &a)] {
            let faces = 0..other.surface.triangles().len();
            let depth =
                |p: &Vec3| faces.clone().map(|f| to_triangle(p, &corners(other, f))).fold(f64::INFINITY, f64::min);
            let deepest = own.now.iter().filter(|p| is_inside(p, other)).map(depth).fold(0.0, f64::max);
            assert!(deepest < 2e-6, "case {case}: {deepest}");
            // Points along every edge as well.
            let along = own.surface.triangles().iter().flat_map(|t| {
                let [p, q] = [t[0], t[1]].map(|i| own.now[i as usize]);
                (1..8).map(move |k| p + (q - p) * (f64::from(k) / 8.0))
            });
            let deepest = along.filter(|p| is_inside(p, other)).map(|p| depth(&p)).fold(0.0, f64::max);
            assert!(deepest < 3e-5, "case {case}: {deepest} inside an edge");
        }
    }
}
