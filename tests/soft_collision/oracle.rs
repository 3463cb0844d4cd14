//! Contacts against brute force.

use super::*;

/// Distance of two segments: square to both, or from an end.
fn between_segments(p: [Vec3; 2], q: [Vec3; 2]) -> f64 {
    let ends = [to_segment(&p[0], &q[0], &q[1]), to_segment(&p[1], &q[0], &q[1]), to_segment(&q[0], &p[0], &p[1])];
    let least = ends.into_iter().fold(to_segment(&q[1], &p[0], &p[1]), f64::min);
    let (u, v, w) = (p[1] - p[0], q[1] - q[0], p[0] - q[0]);
    let across = u.cross(&v);
    let (s, t) = (v.cross(&w).dot(&across) / across.norm_squared(), u.cross(&w).dot(&across) / across.norm_squared());
    let crosses = (0.0..=1.0).contains(&s) && (0.0..=1.0).contains(&t);
    if crosses { least.min((w + u * s - v * t).norm()) } else { least }
}

fn brute_distance(a: &Body, b: &Body) -> f64 {
    let mut least = f64::INFINITY;
    for f in 0..a.surface.triangles().len() {
        let s = corners(a, f);
        for g in 0..b.surface.triangles().len() {
            let t = corners(b, g);
            let apart = (s.iter().sum::<Vec3>() - t.iter().sum::<Vec3>()).norm() / 3.0;
            let size = |t: &[Vec3; 3]| (t[1] - t[0]).norm().max((t[2] - t[0]).norm()).max((t[2] - t[1]).norm());
            if apart > least + size(&s) + size(&t) {
                continue;
            }
            for k in 0..3 {
                least = least.min(to_triangle(&s[k], &t)).min(to_triangle(&t[k], &s));
                for j in 0..3 {
                    least = least.min(between_segments([s[k], s[(k + 1) % 3]], [t[j], t[(j + 1) % 3]]));
                }
            }
        }
    }
    least
}

#[test]
fn the_least_distance_of_two_lumps_is_the_gap_of_a_contact() {
    let mut random = Random::new(1);
    let mut finder = SoftFinder::new();
    let mut near = 0;
    for case in 0..40 {
        let mut a = Body::new(&lump(&mut random, 0.02, 5, Vec3::zeros()));
        let way = direction(&mut random);
        let b = Body::new(&lump(&mut random, 0.03, 6, way * -0.1));
        // Brought to within the margin.
        for _ in 0..30 {
            let apart = brute_distance(&a, &b);
            if apart < 0.5 * MARGIN {
                break;
            }
            a.shift(-way * (apart - 0.3 * MARGIN));
        }
        let now = a.now.clone();
        a.step(&now);
        let apart = brute_distance(&a, &b);
        if apart >= 0.9 * MARGIN {
            continue;
        }
        near += 1;
        let mut out = Vec::new();
        finder.against_soft(a.side(), b.side(), &ALL, &mut out);
        check_gaps(&out, &a.now, soft_point(&b));
        let least = out.iter().map(|c| c.gap).fold(f64::INFINITY, f64::min);
        assert!((least - apart).abs() < 1e-9, "case {case}: {least} against {apart}");
        // The other way round the same contacts are found.
        let mut swapped = Vec::new();
        finder.against_soft(b.side(), a.side(), &ALL, &mut swapped);
        assert_eq!(swapped.len(), out.len(), "case {case}");
    }
    assert!(near > 30, "{near}");
}

#[test]
fn every_node_that_is_inside_another_lump_is_pushed_out_the_shortest_way() {
    let mut random = Random::new(2);
    let mut finder = SoftFinder::new();
    let mut inside = 0;
    for case in 0..30 {
        let a = Body::new(&lump(&mut random, 0.02, 6, Vec3::zeros()));
        let at = direction(&mut random) * (0.0485 - 0.002 * random.uniform());
        let b = Body::new(&lump(&mut random, 0.03, 7, at));
        let mut out = Vec::new();
        finder.against_soft(a.side(), b.side(), &ALL, &mut out);
        check_gaps(&out, &a.now, soft_point(&b));
        for (own, other, is_on) in [(&a, &b, true), (&b, &a, false)] {
            for (node, p) in own.now.iter().enumerate() {
                if !is_inside(p, other) {
                    continue;
                }
                let faces = 0..other.surface.triangles().len();
                let depth = faces.map(|f| to_triangle(p, &corners(other, f))).fold(f64::INFINITY, f64::min);
                let held = out.iter().any(|c| {
                    let Partner::Soft(partner) = c.partner else { return false };
                    let at = if is_on { c.on } else { partner };
                    at.weights == [1.0, 0.0, 0.0] && at.points[0] as usize == node && (c.gap + depth).abs() < 1e-9
                });
                assert!(held, "case {case}: node {node}, {depth} deep");
                inside += 1;
            }
        }
    }
    assert!(inside > 200, "{inside}");
}

#[test]
fn no_point_of_a_lump_is_nearer_to_a_rigid_shape_than_the_contacts_say() {
    let shapes = [
        Shape::Sphere(Sphere { radius: 0.004 }),
        Shape::Cuboid(Cuboid { half: Vec3::new(0.01, 0.006, 0.008) }),
        Shape::Cylinder(Cylinder { radius: 0.006, half_length: 0.01 }),
        Shape::Capsule(Capsule { radius: 0.003, half_length: 0.01 }),
        Shape::HalfSpace(HalfSpace),
    ];
    let mut random = Random::new(3);
    let mut finder = SoftFinder::new();
    for shape in &shapes {
        let mut near = 0;
        for case in 0..25 {
            let body = Body::new(&lump(&mut random, 0.03, 4, Vec3::zeros()));
            let way = direction(&mut random);
            let turn = exp_so3(&(direction(&mut random) * 3.0));
            let turn = if matches!(shape, Shape::HalfSpace(_)) {
                Rot::rotation_between(&Vec3::z(), &-way).unwrap_or(turn)
            } else {
                turn
            };
            let mut pose = Pose::from_parts((way * 0.1).into(), turn);
            for _ in 0..30 {
                let apart = deepest_of_grid(&body, shape, &pose);
                if apart < 0.5 * MARGIN {
                    break;
                }
                pose.translation.vector -= way * (apart - 0.3 * MARGIN);
            }
            let apart = deepest_of_grid(&body, shape, &pose);
            if !(0.0..0.9 * MARGIN).contains(&apart) {
                continue;
            }
            near += 1;
            let mut out = Vec::new();
            finder.against_rigid(&body.surface, &body.place, &still(shape, pose), &ALL, &mut out);
            check_gaps(&out, &body.now, |partner| match partner {
                Partner::Rigid(p) => pose.transform_point(&(*p).into()).coords,
                Partner::Soft(_) => unreachable!("the partner is rigid"),
            });
            let least = out.iter().map(|c| c.gap).fold(f64::INFINITY, f64::min);
            // The grid misses the nearest point by half of its spacing at most, to second order on a smooth shape.
            let deepest = out.iter().min_by(|a, b| a.gap.total_cmp(&b.gap));
            assert!(
                least <= apart + 1.1e-7 && least > apart - 2e-4,
                "{shape:?} case {case}: {deepest:?} against {apart}"
            );
        }
        assert!(near > 15, "{shape:?}: {near}");
    }
}

#[test]
fn a_baked_field_gives_the_contacts_of_the_exact_part() {
    // A ball as a part: exact surface, mesh, and a grid of distances every half millimetre.
    let radius = 0.008;
    let (points, triangles) = lump(&mut Random::new(1), radius, 6, Vec3::zeros());
    let round = points.iter().map(|p| p.normalize() * radius).collect();
    let mesh = TriMesh::new(round, triangles).expect("a mesh");
    let exact = Sphere { radius };
    let shape = Shape::Part(Arc::new(Part::new("mesh", Box::new(exact), mesh, false)));
    let spec = GridSpec { low: [-0.012; 3], high: [0.012; 3], spacing: 5e-4, band: 0.003, clearance: 0.002 };
    let distance = |at: &[f64; 3]| {
        let found = exact.signed_distance(&Vec3::from(*at));
        (found.distance, found.normal.into())
    };
    let grid = BlockGrid::new(&spec, distance).expect("a grid");
    let field = Baked {
        symmetry: Symmetry::None,
        cuts: Vec::new(),
        model: Model::Space(grid),
        band: 0.003,
        bounds: shape.aabb(),
        source: SourceHash::of("ball"),
    };
    let body = Body::new(&block(Vec3::new(0.05, 0.05, 0.02), [12, 12, 4], Vec3::new(-0.0253, -0.0247, -0.02)));
    for height in [0.0085, 0.0078, 0.007] {
        let pose = Pose::translation(0.0, 0.0, height);
        let mut finder = SoftFinder::new();
        let mut find = |field| {
            let mut out = Vec::new();
            let rigid = RigidPlace { shape: &shape, field, now: pose, before: pose };
            finder.against_rigid(&body.surface, &body.place, &rigid, &ALL, &mut out);
            out.retain(|contact: &SoftContact| contact.gap < 0.8 * MARGIN);
            out
        };
        let (of_field, of_part) = (find(Some(&field)), find(None));
        assert!(!of_part.is_empty());
        for contact in &of_part {
            let nearest = of_field.iter().filter(|other| other.key >> 8 == contact.key >> 8);
            let off = nearest.map(|other| (other.gap - contact.gap).abs()).fold(f64::INFINITY, f64::min);
            // Minima inside edges come and go with the ripple of the grid, at the depth of their ends.
            let at_end = of_field.iter().any(|other| (other.gap - contact.gap).abs() < 2e-5);
            assert!(off < 2e-5 || at_end, "{height}: {contact:?}");
        }
        let least = |c: &[SoftContact]| c.iter().map(|c| c.gap).fold(f64::INFINITY, f64::min);
        assert!((least(&of_field) - least(&of_part)).abs() < 2e-5, "{height}");
    }
}
