//! Contact detection for deformable bodies: nothing missed, far sides, fast tools, stable keys, reduction, self-contact.

use hapticd::collision::soft::{
    Partner, RigidPlace, SoftContact, SoftFinder, SoftPlace, SoftQuery, SoftReduction, SoftSurface,
};
use hapticd::geometry::tet::{BlockSpec, Split};
use hapticd::geometry::{HalfSpace, Shape, Sphere};
use hapticd::math::{Pose, Vec3};

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
