//! A threaded rod, with a head or without.
//!
//! Thread: cold, but for the distance (RT safe).

use super::super::mesh::TriMesh;
use super::super::surface::radial;
use super::super::{BoundingSphere, Distance, Surface};
use super::build::Builder;
use super::thread_mesh::Wall;
use super::{Body, Facets, Hand, PartError, Side, ThreadProfile, ThreadSurface, positive};
use crate::math::Vec3;
use std::f64::consts::FRAC_1_SQRT_2;

/// A bolt: thread from z = 0 up to its free end, which is chamfered; the head, if there is one, below z = 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bolt {
    /// Profile of the thread.
    pub profile: ThreadProfile,
    /// Length of the thread, m.
    pub length: f64,
    /// What the chamfer of 45° takes off the radius at the free end, m; zero for none.
    pub chamfer: f64,
    /// The head.
    pub head: Option<Head>,
}

/// Head of a bolt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Head {
    /// Its outline.
    pub body: Body,
    /// Its height, m.
    pub height: f64,
}

impl Bolt {
    /// Says whether there is such a bolt.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn check(&self) -> Result<(), PartError> {
        self.profile.check()?;
        positive(self.length, "length")?;
        if !(self.chamfer.is_finite() && self.chamfer >= 0.0) {
            return Err(PartError::BadChamfer);
        }
        if self.chamfer >= self.length || self.chamfer >= self.profile.minor_radius {
            return Err(PartError::ChamferTooLong);
        }
        if let Some(Head { body, height }) = self.head {
            body.check()?;
            positive(height, "height of the head")?;
        }
        Ok(())
    }

    fn wall(&self) -> Wall {
        let (low, high) = (0.0, self.length);
        Wall {
            profile: ThreadProfile { side: Side::Bolt, ..self.profile },
            low,
            high,
            chamfer_low: 0.0,
            chamfer_high: self.chamfer,
        }
    }

    /// A closed mesh of it.
    ///
    /// # Errors
    /// If there is no such bolt, or the number of facets is out of range.
    pub fn mesh(&self, facets: Facets) -> Result<TriMesh, PartError> {
        self.check()?;
        let wall = self.wall();
        facets.check(wall.lanes(facets))?;
        let mut builder = Builder::default();
        let (lower, upper) = wall.build(&mut builder, facets);
        builder.disc(&upper, false);
        match self.head {
            None => builder.disc(&lower, true),
            Some(Head { body, height }) => {
                if self.profile.major_radius >= body.inner_radius(facets.per_turn) {
                    return Err(PartError::BodyTooNarrow);
                }
                let top = body.ring(&mut builder, 0.0, facets.per_turn);
                let bottom = body.ring(&mut builder, -height, facets.per_turn);
                builder.between_rings(&top, &lower);
                builder.between_rings(&bottom, &top);
                builder.disc(&bottom, true);
            }
        }
        Ok(builder.finish(self.profile.hand == Hand::Left)?)
    }

    /// Its exact surface.
    ///
    /// # Errors
    /// If there is no such bolt.
    pub fn surface(&self) -> Result<BoltSurface, PartError> {
        self.check()?;
        let thread = ThreadSurface::new(ThreadProfile { side: Side::Bolt, ..self.profile })?;
        Ok(BoltSurface { bolt: *self, thread })
    }
}

/// The exact surface of a bolt: the endless thread cut by planes and a cone, the head added. The distance is exact next
/// to a face and inside; beyond a rim, and inside where head and thread join, it is nearer to zero than it should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoltSurface {
    bolt: Bolt,
    thread: ThreadSurface,
}

impl BoltSurface {
    /// The bolt.
    #[must_use]
    pub fn bolt(&self) -> &Bolt {
        &self.bolt
    }
}

/// The farther of two: what is inside both solids.
pub(super) fn within(a: Distance, b: Distance) -> Distance {
    if b.distance > a.distance { b } else { a }
}

/// Below the plane at height `top`, or above it for `up` = −1.
pub(super) fn below(p: &Vec3, top: f64, up: f64) -> Distance {
    Distance { distance: up * (p.z - top), normal: Vec3::z() * up }
}

impl Surface for BoltSurface {
    fn signed_distance(&self, point: &Vec3) -> Distance {
        let Bolt { length, chamfer, head, .. } = self.bolt;
        let mut rod = within(self.thread.distance(point), below(point, length, 1.0));
        // Where the head carries on, the rod has no end.
        rod = within(rod, below(point, head.map_or(0.0, |h| -h.height), -1.0));
        if chamfer > 0.0 {
            let (r, out) = radial(point);
            let distance = (r - self.bolt.wall().cut(point.z)) * FRAC_1_SQRT_2;
            rod = within(rod, Distance { distance, normal: (out + Vec3::z()) * FRAC_1_SQRT_2 });
        }
        let Some(Head { body, height }) = head else { return rod };
        let (distance, normal) = body.distance(point);
        let head = within(within(Distance { distance, normal }, below(point, 0.0, 1.0)), below(point, -height, -1.0));
        if head.distance < rod.distance { head } else { rod }
    }

    fn is_convex(&self) -> bool {
        false
    }

    fn bounding_sphere(&self) -> BoundingSphere {
        let low = self.bolt.head.map_or(0.0, |h| -h.height);
        let half = 0.5 * (self.bolt.length - low);
        let width = self.bolt.head.map_or(0.0, |h| h.body.outer_radius()).max(self.bolt.profile.major_radius);
        BoundingSphere { center: Vec3::new(0.0, 0.0, low + half), radius: half.hypot(width) }
    }
}
