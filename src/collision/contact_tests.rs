//! Contacts of placed shapes against answers that can be worked out by hand, and against certificates that need no second
//! collision code.
//!
//! Thread: tests only.

use super::*;
use crate::geometry::{Bore, Capsule, Cuboid, Cylinder, Feature, HalfSpace, Shape, Sphere, Surface};
use crate::math::{Pose, Rot, Vec3};
use proptest::prelude::*;

const PLANE: Shape = Shape::HalfSpace(HalfSpace);

fn touch_at(a: (Shape, Pose), b: (Shape, Pose), margin: f64) -> Vec<Candidate> {
    let (features_a, features_b) = (a.0.features(), b.0.features());
    let placed = |shape, features, body, pose_world_body| Placed {
        surface: shape,
        features,
        outline: None,
        body: Slot(body),
        pose_world_body,
        pose_body_shape: Pose::identity(),
    };
    let mut out = Candidates::new();
    let (one, other) = (placed(&a.0, features_a.as_slice(), 0, a.1), placed(&b.0, features_b.as_slice(), 1, b.1));
    collide(0, &one, &other, margin, &mut out);
    assert_eq!(out.overflow, 0);
    let mut list = out.as_slice().to_vec();
    for c in &list {
        let apart = c.point_a_world(&a.1) - c.point_b_world(&b.1);
        assert!((apart - c.normal * c.gap).norm() < 1e-14, "points, normal and gap belong together: {c:?}");
    }
    list.sort_by(|x, y| x.gap.total_cmp(&y.gap));
    list
}

fn at(x: f64, y: f64, z: f64) -> Pose {
    Pose::translation(x, y, z)
}

fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} against {b}, {:e} apart", (a - b).abs());
}

fn cuboid(x: f64, y: f64, z: f64) -> Shape {
    Shape::Cuboid(Cuboid { half: Vec3::new(x, y, z) })
}

fn gaps(list: &[Candidate]) -> Vec<f64> {
    list.iter().map(|c| c.gap).collect()
}

#[test]
fn a_box_over_a_plane_touches_with_its_four_lower_corners() {
    for gap in [1e-3, 0.0, -1e-4] {
        let list = touch_at((cuboid(0.1, 0.2, 0.3), at(0.5, 0.0, 0.3 + gap)), (PLANE, Pose::identity()), 0.01);
        assert_eq!(list.len(), 4);
        for c in &list {
            near(c.gap, gap, 1e-15);
            assert_eq!(c.normal, Vec3::z());
            assert!((c.point_a.abs() - Vec3::new(0.1, 0.2, 0.3)).norm() < 1e-15);
        }
    }
}

#[test]
fn a_tilted_box_touches_with_the_two_corners_of_its_lower_edge() {
    let tilt = 0.1_f64;
    let pose = Pose::new(Vec3::new(0.0, 0.0, 0.35), Vec3::y() * tilt);
    let list = touch_at((cuboid(0.1, 0.2, 0.3), pose), (PLANE, Pose::identity()), 0.05);
    assert_eq!(list.len(), 2);
    for c in &list {
        near(c.gap, 0.35 - 0.1 * tilt.sin() - 0.3 * tilt.cos(), 1e-15);
        assert_eq!((c.point_a.x, c.point_a.z), (0.1, -0.3));
    }
}

#[test]
fn a_corner_of_a_plate_that_enters_the_side_of_another_is_pushed_back_sideways() {
    let plate = cuboid(0.05, 0.05, 0.001);
    // Both lie on one floor; the corner of A, turned by 45°, is 10 µm inside B.
    let reach = 0.05 * 2.0_f64.sqrt() + 0.05 - 1e-5;
    let pose = Pose::new(Vec3::new(reach, 0.003, 0.0), Vec3::z() * std::f64::consts::FRAC_PI_4);
    let list = touch_at((plate.clone(), pose), (plate, Pose::identity()), 1e-4);
    near(list[0].gap, -1e-5, 1e-12);
    assert!((list[0].normal - Vec3::x()).norm() < 1e-9, "{:?}", list[0].normal);
}

#[test]
fn a_sphere_touches_plane_box_and_sphere_along_the_line_to_its_centre() {
    let ball = Shape::Sphere(Sphere { radius: 0.05 });
    let on_plane = touch_at((ball.clone(), at(0.3, 0.2, 0.051)), (PLANE, Pose::identity()), 0.01);
    assert_eq!(on_plane.len(), 1);
    near(on_plane[0].gap, 0.001, 1e-15);
    // Off the edge of a box, the centre 3-4-5 away from it.
    let on_edge = touch_at((ball.clone(), at(0.13, 0.0, 0.14)), (cuboid(0.1, 0.1, 0.1), Pose::identity()), 0.01);
    near(on_edge[0].gap, 0.0, 1e-15);
    assert!((on_edge[0].normal - Vec3::new(0.6, 0.0, 0.8)).norm() < 1e-12);
    assert_eq!(on_edge.len(), 1);
    let on_ball = touch_at((ball.clone(), at(0.06, 0.0, 0.08)), (ball.clone(), Pose::identity()), 0.01);
    assert_eq!(on_ball.len(), 1);
    near(on_ball[0].gap, 0.0, 1e-15);
    // The normal points at A whichever of the two is named first.
    let swapped = touch_at((PLANE, Pose::identity()), (ball.clone(), at(0.3, 0.2, 0.051)), 0.01);
    assert!((swapped[0].normal + Vec3::z()).norm() < 1e-15);
    near(swapped[0].gap, 0.001, 1e-15);
}

#[test]
fn a_cylinder_stands_on_four_points_lies_on_two_and_tips_on_one() {
    let shape = Shape::Cylinder(Cylinder { radius: 0.02, half_length: 0.05 });
    let standing = touch_at((shape.clone(), at(0.0, 0.0, 0.05)), (PLANE, Pose::identity()), 1e-3);
    assert_eq!(standing.len(), 4);
    assert!(standing.iter().all(|c| c.gap.abs() < 1e-15));
    let middle: Vec3 = standing.iter().map(|c| c.point_a).sum();
    assert!(middle.x.abs() < 1e-15 && middle.y.abs() < 1e-15, "spread about the axis");

    let lying = Pose::from_parts(at(0.0, 0.0, 0.0205).translation, Rot::from_scaled_axis(Vec3::new(1.5, 0.2, 0.0)));
    // Turned so that the axis is level: z of the body into the xy plane.
    let level = Rot::rotation_between(&(lying.rotation * Vec3::z()), &Vec3::new(0.8, 0.6, 0.0)).expect("not opposite");
    let lying = Pose::from_parts(lying.translation, level * lying.rotation);
    let list = touch_at((shape.clone(), lying), (PLANE, Pose::identity()), 1e-3);
    assert_eq!(list.len(), 2, "{list:?}");
    for c in &list {
        near(c.gap, 5e-4, 1e-12);
        near(c.point_a.z.abs(), 0.05, 1e-15);
    }

    let tilt = 0.4_f64;
    let tipped = Pose::new(Vec3::new(0.0, 0.0, 0.06), Vec3::new(0.6, 0.8, 0.0) * tilt);
    let list = touch_at((shape.clone(), tipped), (PLANE, Pose::identity()), 1e-2);
    near(list[0].gap, 0.06 - 0.05 * tilt.cos() - 0.02 * tilt.sin(), 1e-13);
}

#[test]
fn a_cylinder_tilted_by_less_than_one_can_see_keeps_its_broad_stand() {
    let shape = Shape::Cylinder(Cylinder { radius: 0.02, half_length: 0.05 });
    for tilt in [0.0, 1e-12, 1e-9, 1e-7, 1e-5] {
        let pose = Pose::new(Vec3::new(0.0, 0.0, 0.05), Vec3::new(0.6, 0.8, 0.0) * tilt);
        let list = touch_at((shape.clone(), pose), (PLANE, Pose::identity()), 1e-3);
        assert!(list.len() >= 4);
        // Whatever the direction, some point reaches out at least cos 45° of the radius.
        for k in 0..16 {
            let way = Vec3::new(f64::cos(0.4 * f64::from(k)), f64::sin(0.4 * f64::from(k)), 0.0);
            let reach = list.iter().map(|c| c.point_a.dot(&way)).fold(0.0, f64::max);
            assert!(reach > 0.02 * 0.7, "tilt {tilt}: {reach}");
        }
        near(list[0].gap, 0.05 * (1.0 - f64::cos(tilt)) - 0.02 * f64::sin(tilt), 2e-10);
    }
}

#[test]
fn a_capsule_lies_on_its_two_ends_and_over_a_ledge_on_the_edges_of_the_ledge() {
    let shape = Shape::Capsule(Capsule { radius: 0.01, half_length: 0.05 });
    let lying = Pose::new(Vec3::new(0.0, 0.0, 0.0099), Vec3::y() * std::f64::consts::FRAC_PI_2);
    let list = touch_at((shape.clone(), lying), (PLANE, Pose::identity()), 1e-3);
    assert_eq!(list.len(), 2);
    assert!(list.iter().all(|c| (c.gap + 1e-4).abs() < 1e-15));
    let ledge = touch_at((shape.clone(), lying), (cuboid(0.02, 0.3, 0.1), at(0.0, 0.0, -0.1)), 1e-3);
    for x in [-0.02, 0.02] {
        assert!(ledge.iter().any(|c| (c.point_b.x - x).abs() < 1e-6 && (c.gap + 1e-4).abs() < 1e-12), "{ledge:?}");
    }
}

#[test]
fn crossed_boxes_meet_edge_to_edge() {
    // Both turned by 45° about their long axes, which cross at a right angle.
    let quarter = std::f64::consts::FRAC_PI_4;
    let low = Pose::from_parts(Vec3::zeros().into(), Rot::from_axis_angle(&Vec3::y_axis(), quarter));
    let edge_height = 0.1 * 2.0_f64.sqrt();
    for gap in [1e-3, 1e-9, -1e-9, -1e-5] {
        let turn = Rot::from_axis_angle(&Vec3::x_axis(), quarter);
        let high = Pose::from_parts(Vec3::new(0.0, 0.0, 2.0 * edge_height + gap).into(), turn);
        let list = touch_at((cuboid(0.5, 0.1, 0.1), high), (cuboid(0.1, 0.5, 0.1), low), 0.01);
        assert_eq!(list.len(), 1, "one crossing, one contact: {list:?}");
        near(list[0].gap, gap, 1e-12);
        assert!((list[0].normal - Vec3::z()).norm() < 1e-6);
    }
}

#[test]
fn a_corner_just_under_the_end_of_a_cylinder_is_pushed_out_through_the_end_not_the_side() {
    // Corner 1 µm under the cap and 50 µm under the side; the axis, with its radius, would push it sideways. The cube
    // leans a little outwards, so that the axis is nearest to it at the corner.
    let shape = Shape::Cylinder(Cylinder { radius: 0.01, half_length: 0.02 });
    let lean = Rot::from_scaled_axis(Vec3::y() * 1e-4);
    let corner = Vec3::new(0.01 - 5e-5, 0.0, 0.02 - 1e-6);
    let cube = Pose::from_parts((corner + lean * Vec3::repeat(0.02)).into(), lean);
    let list = touch_at((cuboid(0.02, 0.02, 0.02), cube), (shape.clone(), Pose::identity()), 1e-4);
    // Its lower edge falls by 1e-4 over the 50 µm to the rim.
    near(list[0].gap, -1e-6, 1e-8);
    assert!((list[0].normal - Vec3::z()).norm() < 1e-3, "{}", list[0].normal);
}

const PEG_RADIUS: f64 = 0.024985;
const HOLE_RADIUS: f64 = 0.0250175;
const CLEARANCE: f64 = HOLE_RADIUS - PEG_RADIUS;
const PEG: Shape = Shape::Cylinder(Cylinder { radius: PEG_RADIUS, half_length: 0.03 });

fn hole(chamfer: f64) -> (Shape, Pose) {
    let bore = Bore { half_x: 0.05, half_y: 0.05, height: 0.06, radius: HOLE_RADIUS, depth: 0.04, chamfer };
    (Shape::Bore(bore), Pose::identity())
}

#[test]
fn a_centred_peg_touches_nothing_nearer_than_the_clearance() {
    // 20 mm in: 10 mm above the floor.
    let free = touch_at((PEG, at(0.0, 0.0, 0.01)), hole(0.0), CLEARANCE * (1.0 - 1e-9));
    assert!(free.is_empty(), "{free:?}");
    let list = touch_at((PEG, at(0.0, 0.0, 0.01)), hole(0.0), CLEARANCE * (1.0 + 1e-9));
    assert_eq!(list.len(), 8, "four on the rim of the peg, four on the mouth: {:?}", gaps(&list));
}

#[test]
fn a_peg_pushed_aside_touches_along_one_generatrix() {
    for angle in [0.0_f64, 0.3, 2.5, 5.0] {
        let way = Vec3::new(angle.cos(), angle.sin(), 0.0);
        let shift = way * CLEARANCE;
        let list = touch_at((PEG, at(shift.x, shift.y, 0.01)), hole(0.0), 2e-5);
        let touching: Vec<_> = list.iter().filter(|c| c.gap < 1e-9).collect();
        assert_eq!(touching.len(), 2, "{:?}", gaps(&list));
        let mut heights: Vec<f64> = touching.iter().map(|c| c.point_b.z).collect();
        heights.sort_by(f64::total_cmp);
        near(heights[0], -0.02, 1e-12);
        near(heights[1], 0.0, 1e-12);
        for c in touching {
            near(c.gap, 0.0, 1e-12);
            assert!((c.normal + way).norm() < 1e-4, "{} {way}", c.normal);
        }
    }
}

#[test]
fn a_tilted_peg_wedges_at_two_opposite_points() {
    // In the plane of the tilt: lower rim against the wall at +x, mouth against the peg's side at −x.
    let depth = 0.03;
    for tilt in [5e-4_f64, 1.5e-3, 2.1e-3] {
        for offset in [1e-5, 2e-5] {
            let (sin, cos) = tilt.sin_cos();
            let axis = Vec3::new(-sin, 0.0, cos);
            let bottom = Vec3::new(offset, 0.0, -depth);
            let pose = Pose::from_parts((bottom + axis * 0.03).into(), Rot::from_scaled_axis(-Vec3::y() * tilt));
            let wall = HOLE_RADIUS - (offset + PEG_RADIUS * cos);
            let mouth = (HOLE_RADIUS + offset) * cos - depth * sin - PEG_RADIUS;
            let list = touch_at((PEG, pose), hole(0.0), 1e-4);
            let nearest =
                |x: f64| list.iter().filter(|c| c.normal.x * x < -0.9).map(|c| c.gap).fold(f64::INFINITY, f64::min);
            near(nearest(1.0), wall, 1e-12);
            near(nearest(-1.0), mouth, 1e-12);
        }
    }
}

#[test]
fn a_peg_in_the_corner_is_held_by_floor_and_wall_at_once() {
    // On the floor by 1 µm, at the wall by 2 µm.
    let pose = at(CLEARANCE - 2e-6, 0.0, -0.04 + 0.03 + 1e-6);
    let list = touch_at((PEG, pose), hole(0.0), 1e-5);
    let walls: Vec<_> = list.iter().filter(|c| c.normal.x < -0.9).collect();
    assert!(walls.iter().any(|c| (c.gap - 2e-6).abs() < 1e-12 && c.point_a.z < -0.0299), "{:?}", gaps(&list));
    assert!(walls.iter().any(|c| (c.gap - 2e-6).abs() < 1e-12 && c.point_b.z.abs() < 1e-12), "{:?}", gaps(&list));
    let floor: Vec<_> = list.iter().filter(|c| c.normal.z > 0.9).collect();
    assert!(floor.len() >= 3 && floor.iter().all(|c| (c.gap - 1e-6).abs() < 1e-12), "{:?}", gaps(&list));
}

#[test]
fn the_chamfer_pushes_a_misplaced_peg_up_and_towards_the_axis() {
    let chamfer = 1e-3;
    // Half a millimetre beside the axis; the lower rim 0.4 mm below the top face would be in the chamfer by
    // ((ρ − R) − z)/√2.
    let (shift, z) = (5e-4, -4e-4);
    let list = touch_at((PEG, at(shift, 0.0, z + 0.03)), hole(chamfer), 1e-3);
    let expected = (-(shift + PEG_RADIUS - HOLE_RADIUS - chamfer) + z) / 2.0_f64.sqrt();
    near(list[0].gap, expected, 1e-12);
    let way = Vec3::new(-1.0, 0.0, 1.0).normalize();
    assert!((list[0].normal - way).norm() < 1e-6, "{}", list[0].normal);
}

#[test]
fn a_peg_lying_across_the_mouth_rests_on_the_circle_of_the_mouth() {
    // Shorter than the hole is wide it would fall in; this one is longer and thinner.
    let rod = Shape::Cylinder(Cylinder { radius: 0.005, half_length: 0.04 });
    let pose = Pose::new(Vec3::new(0.0, 0.003, 0.005), Vec3::y() * std::f64::consts::FRAC_PI_2);
    let list = touch_at((rod.clone(), pose), hole(0.0), 1e-4);
    let edge = (HOLE_RADIUS * HOLE_RADIUS - 9e-6).sqrt();
    for x in [-edge, edge] {
        assert!(list.iter().any(|c| c.gap.abs() < 1e-12 && (c.point_b.x - x).abs() < 1e-5), "{list:?}");
    }
}

#[test]
fn ids_of_what_touches_stay_while_the_peg_sinks_spins_and_sways() {
    let mut last: Option<[Candidate; 2]> = None;
    for step in 0..400 {
        let k = f64::from(step);
        // A few micrometres and a thousandth of a turn a step; leaning so that wall and mouth are about as near.
        let swing = Rot::from_scaled_axis(-Vec3::y() * 1.2e-3 * (1.0 + 0.01 * (0.1 * k).sin()));
        let spin = Rot::from_axis_angle(&Vec3::z_axis(), 6e-3 * k);
        let place = Vec3::new(2e-6 * (0.05 * k).sin() - 18e-6, 1e-6 * (0.07 * k).cos(), 0.002 - 2e-6 * k);
        let list = touch_at((PEG, Pose::from_parts(place.into(), swing * spin)), hole(0.0), 5e-5);
        // Nearest first, so the first on each side is the one that would touch.
        let side = |sign: f64| *list.iter().find(|c| c.normal.x * sign > 0.9).expect("both sides are near");
        let now = [side(-1.0), side(1.0)];
        if let Some(last) = last {
            for (old, new) in last.iter().zip(&now) {
                assert_eq!(old.id, new.id, "step {step}");
                assert!((old.gap - new.gap).abs() < 2e-6, "step {step}: {} {}", old.gap, new.gap);
            }
        }
        last = Some(now);
    }
}

#[test]
fn ids_of_a_sliding_box_are_those_of_its_corners() {
    let ids = |x: f64, turn: f64| {
        let pose = Pose::new(Vec3::new(x, 0.0, 0.3), Vec3::z() * turn);
        let mut ids: Vec<u64> =
            touch_at((cuboid(0.1, 0.2, 0.3), pose), (PLANE, Pose::identity()), 0.01).iter().map(|c| c.id).collect();
        ids.sort_unstable();
        ids
    };
    for k in 0..50 {
        assert_eq!(ids(0.01 * f64::from(k), 0.1 * f64::from(k)), ids(0.0, 0.0));
    }
}

fn convex() -> impl Strategy<Value = Shape> {
    let length = 0.01..0.1;
    prop_oneof![
        length.clone().prop_map(|radius| Shape::Sphere(Sphere { radius })),
        [length.clone(), length.clone(), length.clone()].prop_map(|[x, y, z]| cuboid(x, y, z)),
        [length.clone(), length.clone()]
            .prop_map(|[radius, half_length]| Shape::Cylinder(Cylinder { radius, half_length })),
        [length.clone(), length].prop_map(|[radius, half_length]| Shape::Capsule(Capsule { radius, half_length })),
    ]
}

fn pose() -> impl Strategy<Value = Pose> {
    let far = 0.25;
    ([-far..far, -far..far, -far..far], [-3.0..3.0, -3.0..3.0, -3.0..3.0])
        .prop_map(|([x, y, z], [a, b, c])| Pose::new(Vec3::new(x, y, z), Vec3::new(a, b, c)))
}

/// Greatest `way·x` over a convex shape: one line of textbook for each.
fn reach(shape: &Shape, pose: &Pose, way: &Vec3) -> f64 {
    let local = pose.rotation.inverse_transform_vector(way);
    let own = match shape {
        Shape::Sphere(s) => s.radius * local.norm(),
        Shape::Cuboid(s) => s.half.dot(&local.abs()),
        Shape::Cylinder(s) => s.radius * local.x.hypot(local.y) + s.half_length * local.z.abs(),
        Shape::Capsule(s) => s.radius * local.norm() + s.half_length * local.z.abs(),
        Shape::HalfSpace(_) | Shape::Bore(_) | Shape::Part(_) => f64::INFINITY,
    };
    own + way.dot(&pose.translation.vector)
}

/// Room between two convex shapes along `way`, from B to A.
fn room(a: &(Shape, Pose), b: &(Shape, Pose), way: &Vec3) -> f64 {
    -reach(&a.0, &a.1, &-way) - reach(&b.0, &b.1, way)
}

/// Least gap, and its normal from B to A, over all features one by one.
fn unmerged(a: &(Shape, Pose), b: &(Shape, Pose)) -> (f64, Vec3) {
    let mut best = (f64::INFINITY, Vec3::zeros());
    for (holder, target, sign) in [(a, b, 1.0), (b, a, -1.0)] {
        let pose = target.1.inv_mul(&holder.1);
        for feature in holder.0.features().as_slice() {
            let radius = match *feature {
                Feature::Point { radius, .. } | Feature::Segment { radius, .. } => radius,
                Feature::Circle { .. } => 0.0,
            };
            minimum::touch(&feature.transformed(&pose), &target.0, 0, 10.0, &mut |hit| {
                if hit.gap - radius < best.0 {
                    best = (hit.gap - radius, target.1.rotation * hit.normal * sign);
                }
            });
        }
    }
    best
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Two points that far apart, one of each shape, bound the distance from above; room between two parallel planes
    /// bounds it from below. Where both bounds meet there is nothing left to be wrong.
    #[test]
    fn the_nearest_candidate_is_the_distance_of_convex_shapes(a in convex(), b in convex(), pose in pose()) {
        let (a, b) = ((a, pose), (b, Pose::identity()));
        let best = touch_at(a.clone(), b.clone(), 10.0)[0];
        prop_assume!(best.gap > 1e-6);
        let inside = |shape: &Shape, p: &Vec3| shape.signed_distance(p).distance;
        prop_assert!(inside(&a.0, &best.point_a) < 1e-14 && inside(&b.0, &best.point_b) < 1e-14);
        // A corner and the edge that ends there merge when they are within the tie of each other; the planes are laid
        // across the one that is nearer.
        let (nearest, normal) = unmerged(&a, &b);
        prop_assert!(best.gap >= nearest && best.gap <= nearest + select::MERGE_GAP);
        // Normals are good to 1e-8; over an edge that runs along the plane this is felt as that part of its length, which
        // is the diameter at most.
        let size = 2.0 * (a.0.bounding_sphere().radius + b.0.bounding_sphere().radius);
        let free = room(&a, &b, &normal);
        prop_assert!((free - nearest).abs() < 1e-8 * size, "{nearest} against {free}");
    }

    /// Pushed together by a little more than the gap, the shapes overlap by that little along the old normal, so no point
    /// of one is deeper in the other; and the overlap must be seen.
    #[test]
    fn a_small_overlap_of_convex_shapes_is_seen_and_not_exaggerated(a in convex(), b in convex(), pose in pose()) {
        let (depth, ground) = (1e-5, Pose::identity());
        let first = touch_at((a.clone(), pose), (b.clone(), ground), 10.0)[0];
        prop_assume!(first.gap > 1e-6);
        let mut moved = pose;
        moved.translation.vector -= first.normal * (first.gap + depth);
        let list = touch_at((a.clone(), moved), (b.clone(), ground), 1e-3);
        prop_assert!(!list.is_empty() && list[0].gap < 0.0, "not seen: {:?}", gaps(&list));
        prop_assert!(list[0].gap > -1.5 * depth, "exaggerated: {:?}", gaps(&list));
        if (list[0].normal - first.normal).norm() < 1e-7 {
            prop_assert!((list[0].gap + depth).abs() < 1e-9, "{:?}", gaps(&list));
        }
    }

    #[test]
    fn naming_the_two_the_other_way_round_turns_the_normals_and_nothing_else(a in convex(), b in convex(), pose in pose()) {
        let ground = Pose::identity();
        let (one, other) = (touch_at((a.clone(), pose), (b.clone(), ground), 0.05), touch_at((b.clone(), ground), (a.clone(), pose), 0.05));
        prop_assert_eq!(one.is_empty(), other.is_empty());
        if let (Some(x), Some(y)) = (one.first(), other.first()) {
            prop_assert!((x.gap - y.gap).abs() < 1e-12);
        }
    }

    #[test]
    fn the_same_poses_give_the_same_bits(a in convex(), b in convex(), pose in pose()) {
        let look = || touch_at((a.clone(), pose), (b.clone(), Pose::identity()), 0.1);
        prop_assert_eq!(look(), look());
    }
}

/// Distance from the nearest sheet. In the material beyond both wall and floor it is that of the deeper one, where the
/// signed distance would measure to the corner between them.
fn to_sheets(surface: &dyn Surface, p: &Vec3) -> f64 {
    (0..surface.sheet_count()).map(|k| surface.sheet_distance(k, p).distance).fold(f64::INFINITY, f64::min)
}

/// Points of the surface of a peg, rims included.
fn peg_cloud(peg: &Cylinder) -> Vec<Vec3> {
    let turn = |k: i32, n: i32| std::f64::consts::TAU * f64::from(k) / f64::from(n);
    let ring =
        |rho: f64, z: f64, n: i32| (0..n).map(move |k| Vec3::new(rho * turn(k, n).cos(), rho * turn(k, n).sin(), z));
    let side = (0..=40).flat_map(|k| {
        let z = peg.half_length * (f64::from(k) / 20.0 - 1.0);
        ring(peg.radius, z, if k % 40 == 0 { 2000 } else { 200 })
    });
    let caps = [-1.0, 1.0]
        .into_iter()
        .flat_map(|s| (0..10).flat_map(move |k| ring(peg.radius * 0.1 * f64::from(k), s * peg.half_length, 60)));
    side.chain(caps).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// However the peg stands in or over the hole, no point of the one is nearer to (or deeper in) the other than the
    /// nearest candidate says; and rims sampled finely enough come as near as it says.
    #[test]
    fn nothing_of_a_peg_in_its_hole_is_deeper_than_the_deepest_candidate(
        [x, y, z] in [-6e-5..6e-5, -6e-5..6e-5, -0.0101..0.031],
        [tilt_x, tilt_y, spin] in [-1.5e-3..1.5e-3, -1.5e-3..1.5e-3, 0.0..6.0],
        chamfer in prop::sample::select(vec![0.0, 1e-3]),
    ) {
        let swing = Rot::from_scaled_axis(Vec3::new(tilt_x, tilt_y, 0.0));
        let pose = Pose::from_parts(Vec3::new(x, y, z).into(), swing * Rot::from_axis_angle(&Vec3::z_axis(), spin));
        let (bore, ground) = hole(chamfer);
        let list = touch_at((PEG, pose), (bore.clone(), ground), 5e-3);
        let nearest = list.first().map_or(5e-3, |c| c.gap);
        let Shape::Cylinder(peg) = PEG else { unreachable!("the peg is a cylinder") };
        let mut sampled = f64::INFINITY;
        for p in peg_cloud(&peg) {
            let world = pose.rotation * p + pose.translation.vector;
            sampled = sampled.min(to_sheets(&bore, &world));
        }
        // Mouth, and where chamfer and wall meet.
        for (rho, height) in [(HOLE_RADIUS + chamfer, 0.0), (HOLE_RADIUS, -chamfer)] {
            for k in 0..2000 {
                let angle = std::f64::consts::TAU * f64::from(k) / 2000.0;
                let world = Vec3::new(rho * angle.cos(), rho * angle.sin(), height);
                let local = pose.inverse_transform_point(&world.into()).coords;
                sampled = sampled.min(peg.signed_distance(&local).distance);
            }
        }
        prop_assert!(sampled > nearest - 1e-12, "sampled {sampled} nearest {nearest}");
        // Samples are 79 µm apart along a rim of 25 mm: half of that squared over the diameter, and the little that the
        // distance of a rim from a curved wall bends more. Where rim and mouth have cut through each other the depth
        // counts along the normal of both, up to √2 of that to the nearer face.
        let least = if sampled < 0.0 { 2.0_f64.sqrt() * sampled } else { sampled.min(5e-3) };
        prop_assert!(nearest > least - 1e-7, "sampled {sampled} nearest {nearest}");
    }
}

/// The same for what is not round like the hole: a capsule and a square peg at any angle about the mouth. Points of the
/// bore's surface and of the shape's edges, wherever they are, must not be nearer than the nearest candidate.
#[test]
fn nothing_of_a_capsule_or_a_square_peg_about_the_mouth_is_deeper_than_the_deepest_candidate() {
    let shapes = [Shape::Capsule(Capsule { radius: 0.006, half_length: 0.02 }), cuboid(0.008, 0.01, 0.025)];
    let (bore, ground) = hole(1e-3);
    let spot = ([-0.03..0.03, -0.03..0.03, -0.03..0.02], [-3.0..3.0, -3.0..3.0, -3.0..3.0]);
    let looked_at = std::cell::Cell::new(0);
    let config = ProptestConfig::with_cases(600);
    let rng = proptest::test_runner::TestRng::deterministic_rng(config.rng_algorithm);
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(config, rng);
    let check = |([x, y, z], [a, b, c]): ([f64; 3], [f64; 3])| {
        let pose = Pose::new(Vec3::new(x, y, z), Vec3::new(a, b, c));
        for shape in &shapes {
            let list = touch_at((shape.clone(), pose), (bore.clone(), ground), 0.02);
            let nearest = list.first().map_or(0.02, |c| c.gap);
            // Deep overlaps are no contacts any more: the normal of the nearest face says nothing there.
            if nearest < -2e-3 {
                continue;
            }
            looked_at.set(looked_at.get() + 1);
            let mut sampled = f64::INFINITY;
            for k in 0..=400 {
                let s = f64::from(k) / 400.0;
                for feature in shape.features().as_slice() {
                    if let Feature::Segment { a, b, radius } = *feature {
                        let world = pose.rotation * (a + (b - a) * s) + pose.translation.vector;
                        sampled = sampled.min(to_sheets(&bore, &world) - radius);
                    }
                }
                let angle = std::f64::consts::TAU * s;
                for (rho, height) in [(HOLE_RADIUS + 1e-3, 0.0), (HOLE_RADIUS, -1e-3)] {
                    let world = Vec3::new(rho * angle.cos(), rho * angle.sin(), height);
                    let local = pose.inverse_transform_point(&world.into()).coords;
                    sampled = sampled.min(shape.signed_distance(&local).distance);
                }
            }
            prop_assert!(sampled > nearest - 1e-12, "{shape:?}: sampled {sampled} nearest {nearest}");
        }
        Ok(())
    };
    runner.run(&spot, check).expect("nothing is deeper");
    assert!(looked_at.get() > 200, "only {} poses were near enough to say something", looked_at.get());
}

#[test]
fn a_box_on_a_box_is_held_up_and_not_sideways_even_where_they_are_flush() {
    let lower = (cuboid(0.05, 0.05, 0.03), Pose::identity());
    // Flush on all sides, on two, past the rim by less than a step, and by more.
    for (x, y) in [(0.0, 0.0), (0.004, 0.0), (0.0, 1e-6), (1e-4, 2e-3), (-3e-3, 3e-3)] {
        for height in [0.0, 1e-9, 1e-3] {
            let list = touch_at((cuboid(0.05, 0.05, 0.03), at(x, y, 0.06 + height)), lower.clone(), 0.005);
            assert!(list.iter().filter(|c| c.gap < height + 1e-12).count() >= 2, "{x} {y} {height}: {list:?}");
            for c in &list {
                // A corner past the rim sees the rim aslant, by overhang over height; never from the side.
                assert!(c.normal.z > 0.9, "{x} {y} {height}: {c:?}");
            }
        }
    }
}
