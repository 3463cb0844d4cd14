//! The right side: thin bodies, fast tools and nodes, bodies that touch themselves.

use super::*;

#[test]
fn nodes_of_a_block_touch_the_face_below_and_never_its_far_side() {
    let slab = block(Vec3::new(0.06, 0.06, 0.003), [6, 6, 1], Vec3::new(-0.03, -0.03, -0.003));
    let b = Body::new(&slab);
    for depth in [-5e-4, 1e-6, 1e-4, 1.4e-3, 1.7e-3, 2.5e-3] {
        let a = Body::new(&block(Vec3::new(0.02, 0.02, 0.02), [3, 3, 3], Vec3::new(-0.0101, -0.0107, -depth)));
        let mut out = Vec::new();
        SoftFinder::new().against_soft(a.side(), b.side(), &ALL, &mut out);
        assert!(out.len() >= 16, "depth {depth}: {}", out.len());
        check_gaps(&out, &a.now, |partner| match partner {
            Partner::Soft(p) => p.position(&b.now),
            Partner::Rigid(_) => unreachable!("the partner is soft"),
        });
        for contact in &out {
            // Beside the block, before it touches, the nearest point of the slab's node is on an edge of the block.
            let beside = depth < 0.0 && contact.gap > -depth && contact.normal.z > 0.5;
            let below = contact.normal.z > 0.999 && (contact.gap + depth).abs() < 1e-9;
            assert!(below || beside, "depth {depth}: {contact:?}");
        }
    }
}

#[test]
fn a_fast_ball_that_has_crossed_a_thin_slab_is_held_on_the_side_it_came_from() {
    let slab = Body::new(&block(Vec3::new(0.06, 0.06, 0.005), [12, 12, 1], Vec3::new(-0.03, -0.03, -0.005)));
    let ball = Shape::Sphere(Sphere { radius: 0.004 });
    for end in [-0.002, -0.006, -0.009, -0.012, -0.0095] {
        let start = Pose::translation(0.0007, 0.0004, end + 0.017);
        let rigid =
            RigidPlace { shape: &ball, field: None, now: Pose::translation(0.0007, 0.0004, end), before: start };
        let mut out = Vec::new();
        SoftFinder::new().against_rigid(&slab.surface, &slab.place, &rigid, &ALL, &mut out);
        let deepest = out.iter().min_by(|a, b| a.gap.total_cmp(&b.gap)).expect("the ball is found");
        // From the ball to the slab: down.
        assert!(deepest.normal.z < -0.8 && deepest.gap < end + 1e-3, "{end}: {deepest:?}");
        assert!(out.iter().all(|c| c.gap > 0.0 || c.normal.z < 0.3), "{end}");
    }
}

#[test]
fn a_soft_node_that_jumps_through_a_soft_slab_is_pushed_back_to_where_it_came_from() {
    let slab = Body::new(&block(Vec3::new(0.06, 0.06, 0.005), [6, 6, 1], Vec3::new(-0.03, -0.03, -0.005)));
    let cube = block(Vec3::new(0.004, 0.004, 0.004), [2, 2, 2], Vec3::new(-0.0011, -0.0017, 0.001));
    for way in [0.0035, 0.009, 0.017] {
        let mut a = Body::new(&cube);
        a.shift(Vec3::new(0.001, 0.0, -way));
        let mut out = Vec::new();
        SoftFinder::new().against_soft(a.side(), slab.side(), &ALL, &mut out);
        let deepest = out.iter().min_by(|a, b| a.gap.total_cmp(&b.gap)).expect("found");
        assert!(deepest.normal.z > 0.99 && (deepest.gap + way - 0.001).abs() < 1e-6, "{way}: {deepest:?}");
        let wrong = out.iter().filter(|c| c.normal.z < 0.0 && c.gap < 0.0).count();
        assert_eq!(wrong, 0, "{way}");
    }
}

#[test]
fn a_strip_that_is_bent_onto_itself_touches_itself_where_its_ends_meet_and_nowhere_else() {
    let (length, thick) = (0.12, 0.002);
    let (rest, triangles) = block(Vec3::new(length, 0.01, thick), [60, 4, 1], Vec3::zeros());
    let surface = SoftSurface::new(&rest, &triangles);
    // Bent to a full turn about y, outwards by its thickness, with its ends pushed past each other by `overlap`.
    let bend = |overlap: f64, rise: f64| -> Vec<Vec3> {
        let radius = length / std::f64::consts::TAU;
        let around = |p: &Vec3| {
            let angle = p.x / length * (std::f64::consts::TAU + overlap);
            let out = radius - p.z + rise * angle / std::f64::consts::TAU;
            Vec3::new(out * angle.sin(), p.y, -out * angle.cos())
        };
        rest.iter().map(around).collect()
    };
    let mut place = SoftPlace::new(&surface);
    let mut finder = SoftFinder::new();
    let mut look = |points: &[Vec3]| {
        place.refit(&surface, points, points, MARGIN);
        let mut out = Vec::new();
        finder.against_itself(&surface, &place, &ALL, &mut out);
        out
    };
    assert!(look(&rest).is_empty(), "a flat strip does not touch itself");
    let open = bend(-0.4, 0.0);
    assert!(look(&open).is_empty(), "nor does an open ring");
    let squeezed: Vec<Vec3> = rest.iter().map(|p| Vec3::new(p.x, p.y, 0.75 * p.z)).collect();
    assert!(look(&squeezed).is_empty(), "nor one that is compressed");
    for gap in [4e-4, -1e-4] {
        let points = bend(0.3, thick + gap);
        let out = look(&points);
        assert!(out.len() >= 10, "{gap}: {}", out.len());
        check_gaps(&out, &points, |partner| match partner {
            Partner::Soft(p) => p.position(&points),
            Partner::Rigid(_) => unreachable!("the partner is soft"),
        });
        for contact in &out {
            let Partner::Soft(partner) = contact.partner else { continue };
            let along = |p: &hapticd::collision::soft::FacePoint| p.position(&rest).x;
            // One end of the strip against the other.
            assert!((along(&contact.on) - along(&partner)).abs() > 0.8 * length, "{contact:?}");
        }
        let least = out.iter().map(|c| c.gap).fold(f64::INFINITY, f64::min);
        assert!((least - gap).abs() < 2e-4, "{gap}: {least}");
    }
}

#[test]
fn a_thin_rod_shot_through_the_middle_of_a_coarse_face_is_held() {
    let slab = Body::new(&block(Vec3::new(0.08, 0.08, 0.005), [2, 2, 1], Vec3::new(-0.03, -0.02, -0.005)));
    let turned = Rot::rotation_between(&Vec3::new(1.0, 1.0, 1.0), &Vec3::z()).expect("not opposite");
    let shapes = [
        (Shape::Capsule(Capsule { radius: 0.001, half_length: 0.02 }), Rot::identity(), 0.021),
        (Shape::Sphere(Sphere { radius: 0.001 }), Rot::identity(), 0.001),
        (Shape::Cuboid(Cuboid { half: Vec3::repeat(0.002) }), turned, 0.002 * 3.0_f64.sqrt()),
        (Shape::Cylinder(Cylinder { radius: 0.001, half_length: 0.02 }), Rot::identity(), 0.02),
    ];
    for (shape, turn, reach) in &shapes {
        for end in [-0.0035, -0.0065, -0.012, -0.016] {
            let at = |z: f64| Pose::from_parts(Vec3::new(0.004, 0.003, z + reach).into(), *turn);
            let rigid = RigidPlace { shape, field: None, now: at(end), before: at(end + 0.017) };
            let mut out = Vec::new();
            SoftFinder::new().against_rigid(&slab.surface, &slab.place, &rigid, &ALL, &mut out);
            let deepest = out.iter().min_by(|a, b| a.gap.total_cmp(&b.gap)).expect("found");
            assert!(deepest.normal.z < -0.99 && (deepest.gap - end).abs() < 1e-3, "{shape:?} {end}: {deepest:?}");
            assert!(out.iter().all(|c| c.gap > 0.0 || c.normal.z < 0.0), "{shape:?} {end}: {out:?}");
        }
    }
}

#[test]
fn a_soft_blade_that_falls_through_the_edge_of_a_soft_plate_in_one_step_is_pushed_back() {
    // Two thin plates on edge, crossed like an X: neither has a node near the crossing.
    let plate = Body::new(&block(Vec3::new(0.04, 0.003, 0.03), [1, 1, 1], Vec3::new(-0.0193, -0.0015, -0.03)));
    let mut blade = Body::new(&block(Vec3::new(0.003, 0.04, 0.03), [1, 1, 1], Vec3::new(-0.0015, -0.0187, 0.001)));
    blade.shift(Vec3::new(0.0, 0.0, -0.012));
    let mut out = Vec::new();
    SoftFinder::new().against_soft(blade.side(), plate.side(), &ALL, &mut out);
    let up: Vec<_> = out.iter().filter(|c| c.normal.z > 0.99 && (c.gap + 0.011).abs() < 1e-6).collect();
    assert!(!up.is_empty(), "{out:?}");
    assert!(out.iter().all(|c| c.normal.z > -0.5 || c.gap > 0.0), "{out:?}");
}
