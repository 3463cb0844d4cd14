//! Half-space: all of z < 0. A floor, a wall.
//!
//! Thread: any (RT safe).

use super::{Aabb, BoundingSphere, Distance, Features, Surface};
use crate::math::Vec3;

/// Solid where `z < 0`; the normal is z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfSpace;

impl HalfSpace {
    /// None: a plane has nothing that could stick into something else.
    #[must_use]
    pub fn features(&self) -> Features {
        Features::none()
    }

    /// Everything below z = 0.
    #[must_use]
    pub fn aabb(&self) -> Aabb {
        let far = f64::INFINITY;
        Aabb { min: Vec3::repeat(-far), max: Vec3::new(far, far, 0.0) }
    }
}

impl Surface for HalfSpace {
    fn signed_distance(&self, point: &Vec3) -> Distance {
        Distance { distance: point.z, normal: Vec3::z() }
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn bounding_sphere(&self) -> BoundingSphere {
        BoundingSphere { center: Vec3::zeros(), radius: f64::INFINITY }
    }
}
