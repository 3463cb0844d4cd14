//! Solid cylinder about the z axis, centred at the origin.
//!
//! Thread: any (RT safe).

use super::mass::Moments;
use super::surface::{direction_or, radial};
use super::{Aabb, BoundingSphere, Distance, Feature, Features, MassProperties, Surface};
use crate::math::{Mat3, Vec3};

/// Solid cylinder about the z axis, from `−half_length` to `half_length`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cylinder {
    /// Radius, m.
    pub radius: f64,
    /// Half of the length, m.
    pub half_length: f64,
}

impl Cylinder {
    /// Lower rim, upper rim, and the axis with the radius around it. The axis stands for the curved side: a segment is
    /// touched between its ends only, where the normal is square to the axis, so the round ends it would have as a
    /// capsule never show.
    #[must_use]
    pub fn features(&self) -> Features {
        let top = Vec3::new(0.0, 0.0, self.half_length);
        let rim = |center| Feature::Circle { center, axis: Vec3::z(), start: Vec3::x(), radius: self.radius };
        Features::of(&[rim(-top), rim(top), Feature::Segment { a: -top, b: top, radius: self.radius }])
    }

    /// Bounds.
    #[must_use]
    pub fn aabb(&self) -> Aabb {
        let half = Vec3::new(self.radius, self.radius, self.half_length);
        Aabb { min: -half, max: half }
    }

    /// `m = π r² L ρ`, `I_zz = m r²/2`, `I_xx = m (r²/4 + L²/12)`.
    #[must_use]
    pub fn mass_properties(&self, density: f64) -> MassProperties {
        Moments::of_cylinder(self.radius, -self.half_length, self.half_length).properties(density)
    }
}

impl Moments {
    /// Moments of the cylinder about the z axis from `low` to `high`, density one.
    pub(super) fn of_cylinder(radius: f64, low: f64, high: f64) -> Self {
        let (length, square) = (high - low, radius * radius);
        let mass = std::f64::consts::PI * square * length;
        let across = mass * (square / 4.0 + length * length / 12.0);
        let own = Mat3::from_diagonal(&Vec3::new(across, across, mass * square / 2.0));
        Self { mass, first: Vec3::zeros(), inertia: own }.moved(&Vec3::new(0.0, 0.0, 0.5 * (low + high)))
    }
}

impl Surface for Cylinder {
    fn signed_distance(&self, point: &Vec3) -> Distance {
        let (rho, out) = radial(point);
        let up = Vec3::z() * 1.0_f64.copysign(point.z);
        let (side, cap) = (rho - self.radius, point.z.abs() - self.half_length);
        if side > 0.0 && cap > 0.0 {
            // Beyond the rim.
            let beyond = out * side + up * cap;
            return Distance { distance: beyond.norm(), normal: direction_or(&beyond, out) };
        }
        if side >= cap { Distance { distance: side, normal: out } } else { Distance { distance: cap, normal: up } }
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn flat_faces(&self) -> &'static [Vec3] {
        const ENDS: [Vec3; 2] = [Vec3::new(0.0, 0.0, -1.0), Vec3::new(0.0, 0.0, 1.0)];
        &ENDS
    }

    fn bounding_sphere(&self) -> BoundingSphere {
        BoundingSphere { center: Vec3::zeros(), radius: self.radius.hypot(self.half_length) }
    }
}
