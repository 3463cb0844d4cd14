//! Bore: a rectangular block with a round blind hole in its top face, chamfered at the mouth if wanted.
//!
//! Thread: any (RT safe).
//!
//! ```text
//!  z = 0    ──────┐P0         │         ┌──────   R = r + c
//!                  ╲P1                 ╱           45° chamfer of height c
//!                   │         │       │            wall, radius r
//!  z = −depth     P2└────────P3───────┘            floor
//!  z = −height ─────────────────────────────
//! ```
//!
//! The hole is a solid of revolution, so the nearest point of its surface lies in the half-plane `(ρ, z)` of the point
//! asked for, on the polyline P0 P1 P2 P3. The block's own faces are those of a box, the top one without the mouth.

use super::cuboid::push_box_features;
use super::mass::Moments;
use super::surface::radial;
use super::{Aabb, BoundingSphere, Cuboid, Distance, Feature, Features, MassProperties, Surface};
use crate::math::{Mat3, Vec3};
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Block with a blind hole. The origin is the centre of the mouth, in the plane of the top face; z points out of the
/// hole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bore {
    /// Half of the block's size along x, m.
    pub half_x: f64,
    /// Half of the block's size along y, m.
    pub half_y: f64,
    /// Height of the block, m.
    pub height: f64,
    /// Radius of the hole, m.
    pub radius: f64,
    /// Depth of the floor below the top face, m; less than the height.
    pub depth: f64,
    /// Height and width of the chamfer, m; zero for a sharp mouth. Less than the depth.
    pub chamfer: f64,
}

/// Nearest point of a profile to a point of the half-plane: how far, and the way from the material to the free side as
/// `(ρ, z)` for a point on the free side or inside the material.
struct Nearest {
    distance: f64,
    out: (f64, f64),
}

impl Bore {
    /// Corners and edges of the block, then the circle of the mouth, then (with a chamfer) the circle where the chamfer
    /// meets the wall. The circle at the floor is concave and touches nothing.
    #[must_use]
    pub fn features(&self) -> Features {
        let mut features = Features::none();
        let (center, block) = self.block();
        push_box_features(&mut features, &center, &block.half);
        let circle =
            |radius, z| Feature::Circle { center: Vec3::new(0.0, 0.0, z), axis: Vec3::z(), start: Vec3::x(), radius };
        features.push(circle(self.mouth_radius(), 0.0));
        if self.chamfer > 0.0 {
            features.push(circle(self.radius, -self.chamfer));
        }
        features
    }

    /// Bounds.
    #[must_use]
    pub fn aabb(&self) -> Aabb {
        Aabb { min: Vec3::new(-self.half_x, -self.half_y, -self.height), max: Vec3::new(self.half_x, self.half_y, 0.0) }
    }

    /// The block less the hole below the chamfer less the cone of the chamfer.
    #[must_use]
    pub fn mass_properties(&self, density: f64) -> MassProperties {
        let (center, block) = self.block();
        Moments::of_box(&center, &block.half)
            .less(&Moments::of_cylinder(self.radius, -self.depth, -self.chamfer))
            .less(&self.cone())
            .properties(density)
    }

    /// Moments of the space in the chamfer: `u = ρ` runs from r to R while `z = u − R`, so each moment is a polynomial.
    fn cone(&self) -> Moments {
        let (low, high) = (self.radius, self.mouth_radius());
        let power = |n: i32| (high.powi(n) - low.powi(n)) / f64::from(n);
        let (u2, u3, u4) = (power(3), power(4), power(5));
        let first = PI * (u3 - high * u2);
        let across = PI * (0.25 * u4 + u4 - 2.0 * high * u3 + high * high * u2);
        Moments {
            mass: PI * u2,
            first: Vec3::new(0.0, 0.0, first),
            inertia: Mat3::from_diagonal(&Vec3::new(across, across, 0.5 * PI * u4)),
        }
    }

    fn mouth_radius(&self) -> f64 {
        self.radius + self.chamfer
    }

    /// The block without its hole, and its centre.
    fn block(&self) -> (Vec3, Cuboid) {
        let half = Vec3::new(self.half_x, self.half_y, 0.5 * self.height);
        (Vec3::new(0.0, 0.0, -half.z), Cuboid { half })
    }

    /// Radius of the free space at height `z` below the top face, without regard to the floor.
    fn free_radius(&self, z: f64) -> f64 {
        self.radius + (self.chamfer + z).max(0.0)
    }

    /// Nearest point on chamfer and wall, the wall ending at `wall_end`.
    fn nearest_side(&self, rho: f64, z: f64, wall_end: f64) -> Nearest {
        let (r, c) = (self.radius, self.chamfer);
        let wall = to_segment((rho, z), (r, -c), (r, wall_end), (-1.0, 0.0));
        if c == 0.0 {
            return wall;
        }
        let slope = to_segment((rho, z), (r + c, 0.0), (r, -c), (-FRAC_1_SQRT_2, FRAC_1_SQRT_2));
        if slope.distance <= wall.distance { slope } else { wall }
    }

    /// Nearest point of the whole hole: chamfer, wall, floor.
    fn nearest_hole(&self, rho: f64, z: f64) -> Nearest {
        let side = self.nearest_side(rho, z, -self.depth);
        let floor = to_segment((rho, z), (self.radius, -self.depth), (0.0, -self.depth), (0.0, 1.0));
        if floor.distance < side.distance { floor } else { side }
    }

    /// True where wall and floor are taken as two sheets: above the floor's own material and about the mouth, so far
    /// from every other face that a feature there can touch the hole alone.
    fn is_about_the_hole(&self, rho: f64, z: f64) -> bool {
        let half_wall = 0.5 * (self.half_x.min(self.half_y) - self.mouth_radius());
        rho < self.mouth_radius() + half_wall && z > -0.5 * (self.depth + self.height)
    }

    /// Chamfer, wall and top face as if the hole were bottomless.
    fn wall_sheet(&self, rho: f64, z: f64, away: &Vec3) -> Distance {
        let free = z > 0.0 || rho < self.free_radius(z);
        let nearest = self.nearest_side(rho, z, f64::NEG_INFINITY);
        if rho >= self.mouth_radius() && (z > 0.0 || -z < nearest.distance) {
            return Distance { distance: z, normal: Vec3::z() };
        }
        nearest.signed(free, away)
    }
}

impl Nearest {
    fn signed(&self, free: bool, away: &Vec3) -> Distance {
        let distance = if free { self.distance } else { -self.distance };
        Distance { distance, normal: away * self.out.0 + Vec3::z() * self.out.1 }
    }
}

/// Distance of `p` from the segment `a b`, whose free side is towards `normal`. `b` may lie at infinite depth below `a`.
fn to_segment(p: (f64, f64), a: (f64, f64), b: (f64, f64), normal: (f64, f64)) -> Nearest {
    let off = (p.0 - a.0, p.1 - a.1);
    let height = off.0 * normal.0 + off.1 * normal.1;
    // Along the segment, the normal turned by a quarter; which way it points is settled by `length`.
    let along = (normal.1, -normal.0);
    let length = if b.1 == f64::NEG_INFINITY {
        f64::INFINITY.copysign(-along.1)
    } else {
        (b.0 - a.0) * along.0 + (b.1 - a.1) * along.1
    };
    let (s, length) = ((off.0 * along.0 + off.1 * along.1) * length.signum(), length.abs());
    if (0.0..=length).contains(&s) {
        return Nearest { distance: height.abs(), out: normal };
    }
    let end = if s < 0.0 { a } else { b };
    let v = (p.0 - end.0, p.1 - end.1);
    let distance = v.0.hypot(v.1);
    if distance < 1e-12 {
        return Nearest { distance, out: normal };
    }
    // From the end towards the point on the free side, and back from the point inside the material. An end is nearest
    // from one of the two only: from the free side if it is convex, else from the material.
    let side = if height >= 0.0 { 1.0 } else { -1.0 };
    Nearest { distance, out: (side * v.0 / distance, side * v.1 / distance) }
}

impl Surface for Bore {
    fn signed_distance(&self, point: &Vec3) -> Distance {
        let (rho, away) = radial(point);
        let z = point.z;
        let (center, block) = self.block();
        let outer = block.signed_distance(&(point - center));
        // 1. Above the mouth, or in the hole: only the hole can be nearest.
        let above_mouth = z > 0.0 && rho < self.mouth_radius();
        let in_hole = z <= 0.0 && z > -self.depth && rho < self.free_radius(z);
        if above_mouth || in_hole {
            return self.nearest_hole(rho, z).signed(true, &away);
        }
        // 2. Outside of the block elsewhere: it might as well have no hole.
        if outer.distance > 0.0 {
            return outer;
        }
        // 3. In the material: out through the hole or through the nearest face that is there.
        let hole = self.nearest_hole(rho, z).signed(false, &away);
        let face = if rho >= self.mouth_radius() { outer } else { self.nearest_face_below_the_mouth(point) };
        if face.distance >= hole.distance { face } else { hole }
    }

    fn sheet_count(&self) -> usize {
        2
    }

    fn sheet_distance(&self, sheet: usize, point: &Vec3) -> Distance {
        let (rho, away) = radial(point);
        match (sheet, self.is_about_the_hole(rho, point.z)) {
            (0, true) => self.wall_sheet(rho, point.z, &away),
            (0, false) => self.signed_distance(point),
            (_, true) => Distance { distance: point.z + self.depth, normal: Vec3::z() },
            (_, false) => Distance { distance: f64::INFINITY, normal: Vec3::z() },
        }
    }

    fn is_convex(&self) -> bool {
        false
    }

    fn bounding_sphere(&self) -> BoundingSphere {
        let (center, block) = self.block();
        BoundingSphere { center, radius: block.half.norm() }
    }
}

impl Bore {
    /// Nearest face of the block from inside it, with the top face left out.
    fn nearest_face_below_the_mouth(&self, point: &Vec3) -> Distance {
        let depths = Vec3::new(point.x.abs() - self.half_x, point.y.abs() - self.half_y, -point.z - self.height);
        let axis = depths.imax();
        let towards = |axis: Vec3, x: f64| axis * 1.0_f64.copysign(x);
        let normals = [towards(Vec3::x(), point.x), towards(Vec3::y(), point.y), -Vec3::z()];
        Distance { distance: depths[axis], normal: normals[axis] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::surface::check;
    use proptest::prelude::*;

    fn bore(chamfer: f64) -> Bore {
        Bore { half_x: 0.05, half_y: 0.04, height: 0.06, radius: 0.02, depth: 0.035, chamfer }
    }

    fn cloud(b: &Bore, step: f64) -> Vec<Vec3> {
        let mut cloud = Vec::new();
        let (c, half) = (b.block().0, b.block().1.half);
        let [x, y, z] = [Vec3::x() * half.x, Vec3::y() * half.y, Vec3::z() * half.z];
        for (u, v, w) in [(x, y, z), (y, z, x), (z, x, y)] {
            check::rectangle(&mut cloud, c + w, u, v, step);
            check::rectangle(&mut cloud, c - w, u, v, step);
        }
        let mouth = b.radius + b.chamfer;
        cloud.retain(|p| p.z < -1e-9 || p.x.hypot(p.y) >= mouth);
        let profile = [(mouth, 0.0), (b.radius, -b.chamfer), (b.radius, -b.depth), (0.0, -b.depth)];
        for ends in profile.windows(2) {
            check::revolved(&mut cloud, ends[0], ends[1], step);
        }
        cloud
    }

    fn is_inside(b: &Bore, p: &Vec3) -> bool {
        let in_block = p.x.abs() < b.half_x && p.y.abs() < b.half_y && p.z < 0.0 && p.z > -b.height;
        let rho = p.x.hypot(p.y);
        let in_hole = p.z > -b.depth && (rho < b.radius || rho < b.radius + b.chamfer + p.z);
        in_block && !in_hole
    }

    fn somewhere() -> impl Strategy<Value = Vec3> {
        [-0.08..0.08, -0.07..0.07, -0.09..0.03].prop_map(|[x, y, z]| Vec3::new(x, y, z))
    }

    #[test]
    fn distance_is_that_to_the_nearest_of_many_points_of_the_surface() {
        for chamfer in [0.0, 0.004] {
            let (b, step) = (bore(chamfer), 1e-3);
            let cloud = cloud(&b, step);
            let mut runner = proptest::test_runner::TestRunner::deterministic();
            runner
                .run(&somewhere(), |p| {
                    check::assert_matches_cloud(&b, &p, &cloud, step, is_inside(&b, &p));
                    Ok(())
                })
                .expect("every point agrees");
        }
    }

    proptest! {
        #[test]
        fn normal_is_the_gradient_off_the_medial_axis(p in somewhere(), chamfer in prop::sample::select(vec![0.0, 0.004])) {
            let b = bore(chamfer);
            prop_assume!(!check::is_near_medial_axis(&b, &p, 1e-4));
            check::assert_normal_is_gradient(&b, &p);
        }

        #[test]
        fn in_free_space_the_nearer_sheet_is_the_distance(p in somewhere(), chamfer in prop::sample::select(vec![0.0, 0.004])) {
            let b = bore(chamfer);
            prop_assume!(!is_inside(&b, &p));
            let nearer = b.sheet_distance(0, &p).distance.min(b.sheet_distance(1, &p).distance);
            prop_assert!((nearer - b.signed_distance(&p).distance).abs() < 1e-15);
        }
    }

    #[test]
    fn a_point_in_the_corner_of_the_floor_sees_wall_and_floor() {
        let b = bore(0.0);
        let p = Vec3::new(0.0, 0.02 - 3e-5, -0.035 + 1e-5);
        let (wall, floor) = (b.sheet_distance(0, &p), b.sheet_distance(1, &p));
        assert!((wall.distance - 3e-5).abs() < 1e-15 && (wall.normal + Vec3::y()).norm() < 1e-15);
        assert!((floor.distance - 1e-5).abs() < 1e-15 && floor.normal == Vec3::z());
    }

    #[test]
    fn the_chamfer_faces_up_and_inwards() {
        let b = bore(0.004);
        // 1 mm square off the middle of the chamfer.
        let foot = Vec3::new(0.022, 0.0, -0.002);
        let normal = Vec3::new(-FRAC_1_SQRT_2, 0.0, FRAC_1_SQRT_2);
        let got = b.signed_distance(&(foot + normal * 1e-3));
        assert!((got.distance - 1e-3).abs() < 1e-15 && (got.normal - normal).norm() < 1e-12);
    }
}
