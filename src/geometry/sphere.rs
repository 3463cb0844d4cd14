//! Sphere about the origin.
//!
//! Thread: any (RT safe).

use super::mass::Moments;
use super::surface::direction_or;
use super::{Aabb, BoundingSphere, Distance, Feature, Features, MassProperties, Surface};
use crate::math::{Mat3, Vec3};

/// Solid sphere about the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere {
    /// Radius, m.
    pub radius: f64,
}

impl Sphere {
    /// The centre, with the radius around it.
    #[must_use]
    pub fn features(&self) -> Features {
        Features::of(&[Feature::Point { position: Vec3::zeros(), radius: self.radius }])
    }

    /// Bounds.
    #[must_use]
    pub fn aabb(&self) -> Aabb {
        Aabb { min: Vec3::repeat(-self.radius), max: Vec3::repeat(self.radius) }
    }

    /// `m = 4/3 π r³ ρ`, `I = 2/5 m r²`.
    #[must_use]
    pub fn mass_properties(&self, density: f64) -> MassProperties {
        let r = self.radius;
        let mass = 4.0 / 3.0 * std::f64::consts::PI * r * r * r;
        Moments { mass, first: Vec3::zeros(), inertia: Mat3::identity() * (0.4 * mass * r * r) }.properties(density)
    }
}

impl Surface for Sphere {
    fn signed_distance(&self, point: &Vec3) -> Distance {
        Distance { distance: point.norm() - self.radius, normal: direction_or(point, Vec3::z()) }
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn bounding_sphere(&self) -> BoundingSphere {
        BoundingSphere { center: Vec3::zeros(), radius: self.radius }
    }
}
