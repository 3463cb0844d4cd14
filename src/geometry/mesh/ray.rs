//! Where a ray meets a mesh.
//!
//! Thread: any (RT safe).
//!
//! Watertight after Woop, Benthin and Wald (2013): space is sheared so that the ray runs along one axis, and the three
//! edge functions of a triangle are then products of the same numbers for both triangles of an edge, with opposite
//! sign. A ray through an edge hits at least one of the two.

use super::super::Aabb;
use super::Bvh;
use super::bvh::STACK;
use crate::math::Vec3;

/// Where a ray meets a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayHit {
    /// In lengths of the direction given.
    pub distance: f64,
    /// The triangle.
    pub triangle: u32,
}

/// A ray, prepared.
struct Ray {
    origin: Vec3,
    inverse: Vec3,
    /// Order of the axes: the last is the longest of the direction.
    axes: [usize; 3],
    shear: [f64; 3],
}

impl Ray {
    /// None without a direction.
    fn new(origin: &Vec3, direction: &Vec3) -> Option<Self> {
        let z = direction.iamax();
        let along = direction[z];
        if !(along.abs() > 0.0 && direction.iter().all(|x| x.is_finite())) {
            return None;
        }
        let (x, y) = ((z + 1) % 3, (z + 2) % 3);
        let axes = if along < 0.0 { [y, x, z] } else { [x, y, z] };
        let shear = [direction[axes[0]] / along, direction[axes[1]] / along, 1.0 / along];
        Some(Self { origin: *origin, inverse: direction.map(|x| 1.0 / x), axes, shear })
    }

    /// True when the ray meets the box no farther than `limit`. Round-off may let a box through, never keep one out.
    fn meets(&self, bounds: &Aabb, limit: f64) -> bool {
        let (mut enter, mut leave) = (0.0_f64, limit);
        for k in 0..3 {
            let (low, high) = (bounds.min[k] - self.origin[k], bounds.max[k] - self.origin[k]);
            if !self.inverse[k].is_finite() {
                // Along this axis the ray stays where it is.
                if low > 0.0 || high < 0.0 {
                    return false;
                }
                continue;
            }
            let (s, t) = (low * self.inverse[k], high * self.inverse[k]);
            enter = enter.max(s.min(t));
            leave = leave.min(s.max(t) * (1.0 + 1e-14));
        }
        enter <= leave
    }

    fn distance_to(&self, corners: &[Vec3; 3]) -> Option<f64> {
        let [kx, ky, kz] = self.axes;
        let sheared = corners.map(|p| {
            let q = p - self.origin;
            (q[kx] - self.shear[0] * q[kz], q[ky] - self.shear[1] * q[kz], self.shear[2] * q[kz])
        });
        let [(ax, ay, az), (bx, by, bz), (cx, cy, cz)] = sheared;
        let (u, v, w) = (cx * by - cy * bx, ax * cy - ay * cx, bx * ay - by * ax);
        if (u < 0.0 || v < 0.0 || w < 0.0) && (u > 0.0 || v > 0.0 || w > 0.0) {
            return None;
        }
        let sum = u + v + w;
        if sum == 0.0 {
            return None;
        }
        let distance = (u * az + v * bz + w * cz) / sum;
        (distance >= 0.0).then_some(distance)
    }
}

impl Bvh {
    /// The first triangle that the ray from `origin` along `direction` meets within `limit` lengths of the direction,
    /// from either side.
    #[must_use]
    pub fn ray(&self, origin: &Vec3, direction: &Vec3, limit: f64) -> Option<RayHit> {
        let ray = Ray::new(origin, direction)?;
        let mut best: Option<RayHit> = None;
        let mut stack = [0_u32; STACK];
        let mut waiting = 1;
        while waiting > 0 {
            waiting -= 1;
            let node = &self.nodes[stack[waiting] as usize];
            if !ray.meets(&node.bounds, best.map_or(limit, |b| b.distance)) {
                continue;
            }
            if node.count == 0 {
                stack[waiting] = node.first + 1;
                stack[waiting + 1] = node.first;
                waiting += 2;
                continue;
            }
            for slot in node.first as usize..(node.first + node.count) as usize {
                let Some(distance) = ray.distance_to(&self.corners[slot]).filter(|d| *d <= limit) else { continue };
                let found = RayHit { distance, triangle: self.triangles[slot] };
                if best.is_none_or(|b| (found.distance, found.triangle) < (b.distance, b.triangle)) {
                    best = Some(found);
                }
            }
        }
        best
    }
}
