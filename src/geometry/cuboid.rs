//! Box about the origin, edges along the axes.
//!
//! Thread: any (RT safe).

use super::mass::Moments;
use super::surface::direction_or;
use super::{Aabb, BoundingSphere, Distance, Feature, Features, MassProperties, Surface};
use crate::math::{Mat3, Vec3};

/// Solid box about the origin (`Box` is taken by the language).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cuboid {
    /// Half of each edge length, m.
    pub half: Vec3,
}

impl Cuboid {
    /// Eight corners, then twelve edges.
    #[must_use]
    pub fn features(&self) -> Features {
        let mut features = Features::none();
        push_box_features(&mut features, &Vec3::zeros(), &self.half);
        features
    }

    /// Bounds.
    #[must_use]
    pub fn aabb(&self) -> Aabb {
        Aabb { min: -self.half, max: self.half }
    }

    /// `m = 8 hx hy hz ρ`, `I_xx = m (hy² + hz²)/3` and so on.
    #[must_use]
    pub fn mass_properties(&self, density: f64) -> MassProperties {
        Moments::of_box(&Vec3::zeros(), &self.half).properties(density)
    }
}

/// Corners and edges of the box `center ± half`. Corners are numbered by the signs of their coordinates (bit k set: +).
pub(super) fn push_box_features(features: &mut Features, center: &Vec3, half: &Vec3) {
    let corner = |bits: usize| {
        let sign = |k: usize| if bits & (1 << k) == 0 { -1.0 } else { 1.0 };
        center + half.component_mul(&Vec3::new(sign(0), sign(1), sign(2)))
    };
    for bits in 0..8 {
        features.push(Feature::Point { position: corner(bits), radius: 0.0 });
    }
    for axis in 0..3 {
        for bits in (0..8).filter(|bits| bits & (1 << axis) == 0) {
            features.push(Feature::Segment { a: corner(bits), b: corner(bits | 1 << axis), radius: 0.0 });
        }
    }
}

impl Moments {
    /// Moments of the box `center ± half` of density one.
    pub(super) fn of_box(center: &Vec3, half: &Vec3) -> Self {
        let mass = 8.0 * half.x * half.y * half.z;
        let s = half.component_mul(half) * (mass / 3.0);
        let own = Mat3::from_diagonal(&Vec3::new(s.y + s.z, s.z + s.x, s.x + s.y));
        Self { mass, first: Vec3::zeros(), inertia: own }.moved(center)
    }
}

impl Surface for Cuboid {
    fn signed_distance(&self, point: &Vec3) -> Distance {
        let q = point.abs() - self.half;
        let sign = point.map(|x| 1.0_f64.copysign(x));
        let axis = q.imax();
        // The way out through the nearest face; the first such axis where two are as near.
        let mut face = Vec3::zeros();
        face[axis] = sign[axis];
        if q.iter().filter(|x| **x > 0.0).count() <= 1 {
            return Distance { distance: q[axis], normal: face };
        }
        // Beyond an edge or a corner.
        let beyond = q.map(|x| x.max(0.0)).component_mul(&sign);
        Distance { distance: beyond.norm(), normal: direction_or(&beyond, face) }
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn flat_faces(&self) -> &'static [Vec3] {
        const FACES: [Vec3; 6] = [
            Vec3::new(-1.0, 0.0, 0.0),
            Vec3::new(1.0, 0.0, 0.0),
            Vec3::new(0.0, -1.0, 0.0),
            Vec3::new(0.0, 1.0, 0.0),
            Vec3::new(0.0, 0.0, -1.0),
            Vec3::new(0.0, 0.0, 1.0),
        ];
        &FACES
    }

    fn bounding_sphere(&self) -> BoundingSphere {
        BoundingSphere { center: Vec3::zeros(), radius: self.half.norm() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_beyond_face_edge_and_corner_is_that_of_pythagoras() {
        let shape = Cuboid { half: Vec3::new(1.0, 2.0, 3.0) };
        let at = |x, y, z| shape.signed_distance(&Vec3::new(x, y, z));
        assert_eq!(at(1.5, 0.0, 0.0), Distance { distance: 0.5, normal: Vec3::x() });
        let edge = at(4.0, 0.0, -7.0);
        assert_eq!(edge.distance, 5.0);
        assert!((edge.normal - Vec3::new(0.6, 0.0, -0.8)).norm() < 1e-15);
        assert_eq!(at(-3.0, 4.0, 4.0).distance, 3.0);
        assert_eq!(at(0.5, 0.0, 0.0), Distance { distance: -0.5, normal: Vec3::x() });
    }
}
