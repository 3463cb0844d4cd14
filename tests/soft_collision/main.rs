//! Contact detection for deformable bodies: nothing missed, far sides, fast tools, stable keys, reduction, self-contact.

#[path = "../common/counting.rs"]
mod counting;
mod oracle;
mod push;
mod reduction;
mod side;

use counting::CALLS;
use hapticd::collision::field::{Baked, BlockGrid, GridSpec, Model, SourceHash, Symmetry};
use hapticd::collision::soft::{
    Partner, RigidPlace, SoftContact, SoftFinder, SoftPlace, SoftQuery, SoftReduction, SoftSurface,
};
use hapticd::geometry::mesh::{MeshSurface, TriMesh};
use hapticd::geometry::tet::{BlockSpec, Split};
use hapticd::geometry::{Capsule, Cuboid, Cylinder, HalfSpace, Part, Shape, Sphere, Surface};
use hapticd::math::{Pose, Random, Rot, Vec3, exp_so3};
use std::sync::Arc;

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
