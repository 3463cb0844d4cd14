//! Contact detection for deformable bodies: nothing missed, far sides, fast tools, stable keys, reduction, self-contact.

#[path = "common/counting.rs"]
mod counting;

use counting::CALLS;
use hapticd::collision::soft::{
    Partner, RigidPlace, SoftContact, SoftFinder, SoftPlace, SoftQuery, SoftReduction, SoftSurface,
};
use hapticd::geometry::tet::{BlockSpec, Split};
use hapticd::geometry::{Capsule, Cuboid, Cylinder, HalfSpace, Shape, Sphere, Surface};
use hapticd::math::{Pose, Random, Rot, Vec3, exp_so3};

const MARGIN: f64 = 1e-3;
const ALL: SoftQuery = SoftQuery { margin_m: MARGIN, most: 64, reduction: SoftReduction::All, pair: 0 };

/// A block with its lower corner at `at`: points and triangles of its skin.
fn block(size: Vec3, cells: [u32; 3], at: Vec3) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let mesh = BlockSpec { size, cells, split: Split::Six }.mesh().expect("there is such a block");
    let (skin, _) = mesh.skin().mesh(&mesh).expect("a block has a skin");
    let low = skin.aabb().min;
    (skin.vertices().iter().map(|p| p - low + at).collect(), skin.triangles().to_vec())
}

struct Body {
    surface: SoftSurface,
    place: SoftPlace,
    now: Vec<Vec3>,
}

impl Body {
    fn new((points, triangles): &(Vec<Vec3>, Vec<[u32; 3]>)) -> Self {
        let surface = SoftSurface::new(points, triangles);
        let place = SoftPlace::new(&surface);
        let mut body = Self { surface, place, now: points.clone() };
        body.step(points);
        body
    }

    /// A step that ends at these positions.
    fn step(&mut self, points: &[Vec3]) {
        let before = std::mem::replace(&mut self.now, points.to_vec());
        self.place.refit(&self.surface, points, &before, MARGIN);
    }

    fn shift(&mut self, by: Vec3) {
        let moved: Vec<Vec3> = self.now.iter().map(|p| p + by).collect();
        self.step(&moved);
    }

    fn side(&self) -> (&SoftSurface, &SoftPlace) {
        (&self.surface, &self.place)
    }
}

fn still(shape: &Shape, pose: Pose) -> RigidPlace<'_> {
    RigidPlace { shape, field: None, now: pose, before: pose }
}

fn check_gaps(contacts: &[SoftContact], on: &[Vec3], partner: impl Fn(&Partner) -> Vec3) {
    for contact in contacts {
        let gap = contact.normal.dot(&(contact.on.position(on) - partner(&contact.partner)));
        assert!((gap - contact.gap).abs() < 1e-12, "{contact:?}: {gap}");
        assert!((contact.normal.norm() - 1.0).abs() < 1e-12);
    }
    let mut keys: Vec<u64> = contacts.iter().map(|c| c.key).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), contacts.len(), "every key is unique");
}

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
    assert!(area >= 0.04 * 0.03 && area < 0.04 * 0.03 * 1.6, "{area}");
}

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

/// A lumpy ball: the skin of a cube of bricks drawn onto a sphere, with smooth dents and noise.
fn lump(random: &mut Random, radius: f64, cells: u32, center: Vec3) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let (points, triangles) = block(Vec3::repeat(2.0), [cells; 3], Vec3::repeat(-1.0));
    let waves: Vec<(Vec3, f64)> = (0..4).map(|_| (direction(random) * 3.0, 6.0 * random.uniform())).collect();
    let mut place = |p: &Vec3| {
        let dents: f64 = waves.iter().map(|(k, phase)| 0.05 * (k.dot(&p.normalize()) + phase).sin()).sum();
        p.normalize() * radius * (1.0 + dents + 0.01 * random.normal()) + center
    };
    (points.iter().map(&mut place).collect(), triangles)
}

fn direction(random: &mut Random) -> Vec3 {
    Vec3::from_fn(|_, _| random.normal()).normalize()
}

fn corners(body: &Body, face: usize) -> [Vec3; 3] {
    body.surface.triangles()[face].map(|i| body.now[i as usize])
}

/// Distance of a point from a triangle, by the plane and the three sides.
fn to_triangle(p: &Vec3, t: &[Vec3; 3]) -> f64 {
    let n = (t[1] - t[0]).cross(&(t[2] - t[0])).normalize();
    let inside = (0..3).all(|k| n.dot(&(t[(k + 1) % 3] - t[k]).cross(&(p - t[k]))) >= 0.0);
    let sides = (0..3).map(|k| to_segment(p, &t[k], &t[(k + 1) % 3])).fold(f64::INFINITY, f64::min);
    if inside { n.dot(&(p - t[0])).abs() } else { sides }
}

fn to_segment(p: &Vec3, a: &Vec3, b: &Vec3) -> f64 {
    let t = ((p - a).dot(&(b - a)) / (b - a).norm_squared()).clamp(0.0, 1.0);
    (a + (b - a) * t - p).norm()
}

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

/// True if a ray from the point leaves through the surface an odd number of times.
fn is_inside(p: &Vec3, body: &Body) -> bool {
    let way = Vec3::new(0.31, 0.53, 0.79);
    let hits = (0..body.surface.triangles().len()).filter(|face| {
        let [a, b, c] = corners(body, *face).map(|q| q - p);
        let (x, y, z) = (way.dot(&a.cross(&b)), way.dot(&b.cross(&c)), way.dot(&c.cross(&a)));
        let same = x > 0.0 && y > 0.0 && z > 0.0 || x < 0.0 && y < 0.0 && z < 0.0;
        let n = (b - a).cross(&(c - a));
        same && n.dot(&a) / n.dot(&way) > 0.0
    });
    hits.count() % 2 == 1
}

fn soft_point(body: &Body) -> impl Fn(&Partner) -> Vec3 + '_ {
    |partner| match partner {
        Partner::Soft(p) => p.position(&body.now),
        Partner::Rigid(_) => unreachable!("the partner is soft"),
    }
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

/// Least distance of a dense grid over all triangles from the shape.
fn deepest_of_grid(body: &Body, shape: &Shape, pose: &Pose) -> f64 {
    let mut least = f64::INFINITY;
    for face in 0..body.surface.triangles().len() {
        let [a, b, c] = corners(body, face).map(|p| pose.inverse_transform_point(&p.into()).coords);
        let size = (b - a).norm().max((c - a).norm());
        if shape.signed_distance(&a).distance > least + size {
            continue;
        }
        for i in 0..=40 {
            for j in 0..=40 - i {
                let p = a + (b - a) * (f64::from(i) / 40.0) + (c - a) * (f64::from(j) / 40.0);
                least = least.min(shape.signed_distance(&p).distance);
            }
        }
    }
    least
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
fn a_sharp_corner_and_a_small_ball_in_the_middle_of_a_large_face_are_held() {
    let slab = Body::new(&block(Vec3::new(0.06, 0.06, 0.03), [2, 2, 1], Vec3::new(-0.01, -0.02, -0.03)));
    let turned = Rot::rotation_between(&Vec3::new(1.0, 1.0, 1.0), &Vec3::z()).expect("not opposite");
    let box_half = Vec3::repeat(0.004);
    let cases = [
        (Shape::Cuboid(Cuboid { half: box_half }), Pose::from_parts(Vec3::z().into(), turned), box_half.norm()),
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

fn keys(contacts: &[SoftContact]) -> Vec<u64> {
    contacts.iter().map(|c| c.key).collect()
}

/// Keys of `one` that are not in `other`.
fn lost(one: &[SoftContact], other: &[SoftContact]) -> usize {
    let (one, other) = (keys(one), keys(other));
    one.iter().filter(|key| !other.contains(key)).count()
}

#[test]
fn keys_stay_while_a_body_slides_across_many_triangles_of_a_smooth_face() {
    let table = Body::new(&block(Vec3::new(0.2, 0.2, 0.02), [23, 23, 1], Vec3::new(-0.1, -0.1, -0.02)));
    let mut a = Body::new(&block(Vec3::new(0.03, 0.03, 0.02), [5, 5, 3], Vec3::new(-0.0151, -0.0147, -1e-5)));
    let mut finder = SoftFinder::new();
    let query = SoftQuery { reduction: SoftReduction::Patches, most: 12, ..ALL };
    let (mut last, mut last_all): (Vec<SoftContact>, Vec<SoftContact>) = (Vec::new(), Vec::new());
    let (mut changes, mut steps) = (0, 0);
    for _ in 0..200 {
        a.shift(Vec3::new(1.3e-4, 0.7e-4, 0.0));
        let (mut out, mut all) = (Vec::new(), Vec::new());
        finder.against_soft(a.side(), table.side(), &ALL, &mut all);
        finder.against_soft(a.side(), table.side(), &query, &mut out);
        assert_eq!(out.len(), 12);
        if !last.is_empty() {
            // The nodes of the body never leave the table: their keys stay without exception.
            let own: Vec<_> = last_all.iter().filter(|c| c.on.weights == [1.0, 0.0, 0.0]).copied().collect();
            assert!(own.len() >= 36 && lost(&own, &all) == 0);
            changes += lost(&last, &out);
            steps += 1;
        }
        (last, last_all) = (out, all);
    }
    assert!(changes <= steps / 4, "{changes} of 12 representatives changed in {steps} steps");
}

#[test]
fn keys_of_a_resting_body_survive_noise_of_the_solver() {
    let mut random = Random::new(5);
    let floor = Shape::HalfSpace(HalfSpace);
    let rest = block(Vec3::new(0.05, 0.05, 0.02), [12, 12, 3], Vec3::new(-0.025, -0.025, -1e-5));
    let mut body = Body::new(&rest);
    let mut finder = SoftFinder::new();
    for reduction in [SoftReduction::Patches, SoftReduction::KMeans { seed: 9 }] {
        let query = SoftQuery { reduction, most: 16, pair: 3, ..ALL };
        let mut last: Vec<SoftContact> = Vec::new();
        let mut changes = 0;
        for _ in 0..100 {
            let noisy: Vec<Vec3> = rest.0.iter().map(|p| p + direction(&mut random) * 2e-7).collect();
            body.step(&noisy);
            let mut out = Vec::new();
            finder.against_rigid(&body.surface, &body.place, &still(&floor, Pose::identity()), &query, &mut out);
            assert_eq!(out.len(), 16, "{reduction:?}");
            changes += lost(&last, &out);
            last = out;
        }
        assert!(changes <= 3, "{reduction:?}: {changes} of 1600 changed");
    }
}

#[test]
fn reduction_keeps_the_deepest_contact_the_support_and_the_area() {
    let mut random = Random::new(6);
    let floor = Shape::HalfSpace(HalfSpace);
    let (rest, triangles) = block(Vec3::new(0.08, 0.05, 0.02), [16, 10, 3], Vec3::new(-0.04, -0.025, 0.0));
    for case in 0..10 {
        let turn = Rot::from_axis_angle(&Vec3::z_axis(), 3.0 * random.uniform());
        let points: Vec<Vec3> = rest.iter().map(|p| turn * p + Vec3::z() * (-5e-5 - 1e-4 * random.uniform())).collect();
        let body = Body::new(&(points, triangles.clone()));
        let mut finder = SoftFinder::new();
        let rigid = still(&floor, Pose::identity());
        let (mut all, mut few, mut means) = (Vec::new(), Vec::new(), Vec::new());
        finder.against_rigid(&body.surface, &body.place, &rigid, &ALL, &mut all);
        let query = SoftQuery { reduction: SoftReduction::Patches, most: 16, ..ALL };
        finder.against_rigid(&body.surface, &body.place, &rigid, &query, &mut few);
        let query = SoftQuery { reduction: SoftReduction::KMeans { seed: 4 }, ..query };
        finder.against_rigid(&body.surface, &body.place, &rigid, &query, &mut means);
        assert!(all.len() > 150 && few.len() == 16 && means.len() <= 16);
        for reduced in [&few, &means] {
            let area = |c: &[SoftContact]| c.iter().map(|c| c.area_m2).sum::<f64>();
            assert!((area(&all) / area(reduced) - 1.0).abs() < 1e-12, "case {case}");
            let deepest = |c: &[SoftContact]| c.iter().map(|c| c.gap).fold(f64::INFINITY, f64::min);
            assert!((deepest(&all) - deepest(reduced)).abs() < 1e-6, "case {case}");
            assert_eq!(lost(reduced, &all), 0);
        }
        // The four corners of the block, and with them the whole hull.
        for direction in 0..36 {
            let (sin, cos) = (f64::from(direction) * 0.1745).sin_cos();
            let reach = |c: &[SoftContact]| {
                let along = |c: &SoftContact| c.on.position(&body.now).dot(&Vec3::new(cos, sin, 0.0));
                c.iter().map(along).fold(f64::NEG_INFINITY, f64::max)
            };
            assert!(reach(&few) >= reach(&all) - 1e-3 * 0.08, "case {case}, direction {direction}");
        }
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

#[test]
fn equal_inputs_give_equal_bits() {
    let run = || {
        let mut random = Random::new(8);
        let (mut finder, mut all) = (SoftFinder::new(), Vec::new());
        let ball = Shape::Sphere(Sphere { radius: 0.01 });
        let mut a = Body::new(&lump(&mut random, 0.02, 6, Vec3::zeros()));
        let b = Body::new(&lump(&mut random, 0.03, 7, Vec3::new(0.0, 0.0, -0.05)));
        for step in 0..20 {
            a.shift(Vec3::new(2e-4, 1e-4, -1e-4 * f64::from(step % 3)));
            let query = SoftQuery { most: 20, reduction: SoftReduction::Patches, pair: 1, ..ALL };
            finder.against_soft(a.side(), b.side(), &query, &mut all);
            let query = SoftQuery { most: 9, reduction: SoftReduction::KMeans { seed: 2 }, pair: 2, ..ALL };
            let pose = Pose::translation(0.0, 0.0, 0.0285);
            finder.against_rigid(&a.surface, &a.place, &still(&ball, pose), &query, &mut all);
            finder.against_itself(&a.surface, &a.place, &query, &mut all);
        }
        all
    };
    let (one, two) = (run(), run());
    assert!(one.len() > 80, "{}", one.len());
    assert_eq!(one, two);
}

#[test]
fn queries_leave_the_heap_alone_once_they_are_warm() {
    let mut random = Random::new(8);
    let (mut finder, mut out) = (SoftFinder::new(), Vec::with_capacity(4096));
    let shapes = [
        Shape::Sphere(Sphere { radius: 0.01 }),
        Shape::Cuboid(Cuboid { half: Vec3::repeat(0.01) }),
        Shape::Cylinder(Cylinder { radius: 0.01, half_length: 0.01 }),
    ];
    let mut a = Body::new(&lump(&mut random, 0.02, 6, Vec3::zeros()));
    let b = Body::new(&lump(&mut random, 0.03, 7, Vec3::new(0.0, 0.0, -0.047)));
    let points = a.now.clone();
    let mut round = || {
        out.clear();
        a.place.refit(&a.surface, &points, &points, MARGIN);
        for (reduction, pair) in [(SoftReduction::Patches, 1), (SoftReduction::KMeans { seed: 2 }, 10)] {
            let query = SoftQuery { most: 9, reduction, pair, ..ALL };
            finder.against_soft((&a.surface, &a.place), b.side(), &query, &mut out);
            for (shape, pair) in shapes.iter().zip(pair + 1..) {
                let rigid = still(shape, Pose::translation(0.0, 0.0, 0.028));
                finder.against_rigid(&a.surface, &a.place, &rigid, &SoftQuery { pair, ..query }, &mut out);
            }
            finder.against_itself(&a.surface, &a.place, &SoftQuery { pair: pair + 9, ..query }, &mut out);
        }
        out.len()
    };
    round();
    round();
    let before = CALLS.get();
    let found = round();
    assert_eq!(CALLS.get() - before, 0);
    assert!(found > 40, "{found}");
}
