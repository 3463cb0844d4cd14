//! A field that asks an exact surface.
//!
//! Thread: simulation or collision (no heap).

use super::{Distance, DistanceField};
use crate::geometry::{Aabb, Surface};
use crate::math::Vec3;

/// An exact surface, mesh or analytic, as a field.
#[derive(Clone, Debug)]
pub struct Exact<S> {
    surface: S,
    bounds: Aabb,
}

impl<S: Surface> Exact<S> {
    /// The field of a surface. Its bounds are those of the surface's sphere.
    #[must_use]
    pub fn new(surface: S) -> Self {
        let sphere = surface.bounding_sphere();
        let half = Vec3::repeat(sphere.radius);
        Self { surface, bounds: Aabb { min: sphere.center - half, max: sphere.center + half } }
    }

    /// The surface.
    #[must_use]
    pub fn surface(&self) -> &S {
        &self.surface
    }
}

impl<S: Surface> DistanceField for Exact<S> {
    fn distance(&self, point: &Vec3) -> Distance {
        let found = self.surface.signed_distance(point);
        Distance { value: found.distance, gradient: found.normal }
    }

    fn bounds(&self) -> Aabb {
        self.bounds
    }
}
