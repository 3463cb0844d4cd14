//! Capsule: a segment of the z axis with a radius around it.
//!
//! Thread: any (RT safe).

use super::mass::Moments;
use super::surface::direction_or;
use super::{Aabb, BoundingSphere, Distance, Feature, Features, MassProperties, Surface};
use crate::math::{Mat3, Vec3};

/// All points within `radius` of the z axis between `−half_length` and `half_length`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capsule {
    /// Radius, m.
    pub radius: f64,
    /// Half of the length of the axis without the round ends, m.
    pub half_length: f64,
}

impl Capsule {
    /// Two ends and the axis between them, each with the radius around it.
    #[must_use]
    pub fn features(&self) -> Features {
        let top = Vec3::new(0.0, 0.0, self.half_length);
        let end = |position| Feature::Point { position, radius: self.radius };
        Features::of(&[end(-top), end(top), Feature::Segment { a: -top, b: top, radius: self.radius }])
    }

    /// Bounds.
    #[must_use]
    pub fn aabb(&self) -> Aabb {
        let half = Vec3::new(self.radius, self.radius, self.half_length + self.radius);
        Aabb { min: -half, max: half }
    }

    /// A cylinder and the two halves of a sphere, each half with its centre of mass `3r/8` off its flat side.
    #[must_use]
    pub fn mass_properties(&self, density: f64) -> MassProperties {
        let (r, h) = (self.radius, self.half_length);
        let ball = 4.0 / 3.0 * std::f64::consts::PI * r * r * r;
        let along = 0.4 * ball * r * r;
        // Both halves moved out by h: 2/5 m r² + m h² + 2 m h (3r/8).
        let across = along + ball * h * (h + 0.75 * r);
        let ends = Moments {
            mass: ball,
            first: Vec3::zeros(),
            inertia: Mat3::from_diagonal(&Vec3::new(across, across, along)),
        };
        ends.plus(&Moments::of_cylinder(r, -h, h)).properties(density)
    }
}

impl Surface for Capsule {
    fn signed_distance(&self, point: &Vec3) -> Distance {
        let off = Vec3::new(point.x, point.y, point.z - point.z.clamp(-self.half_length, self.half_length));
        Distance { distance: off.norm() - self.radius, normal: direction_or(&off, Vec3::x()) }
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn bounding_sphere(&self) -> BoundingSphere {
        BoundingSphere { center: Vec3::zeros(), radius: self.half_length + self.radius }
    }
}
