//! A nut: a body with a threaded hole through it.
//!
//! Thread: cold, but for the distance (RT safe).

use super::super::mesh::TriMesh;
use super::super::surface::radial;
use super::super::{BoundingSphere, Distance, Surface};
use super::bolt::{below, within};
use super::build::Builder;
use super::thread_mesh::Wall;
use super::{Body, Facets, Hand, PartError, Side, ThreadProfile, ThreadSurface, positive};
use crate::math::Vec3;
use std::f64::consts::FRAC_1_SQRT_2;

/// A nut, centred at the origin, its thread along z and in phase with a bolt in the same frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nut {
    /// Profile of the thread.
    pub profile: ThreadProfile,
    /// Height, m.
    pub height: f64,
    /// What the chamfers of 45° at both ends take off the ridge, m; zero for none.
    pub chamfer: f64,
    /// Its outline.
    pub body: Body,
}

impl Nut {
    /// Says whether there is such a nut.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn check(&self) -> Result<(), PartError> {
        self.profile.check()?;
        self.body.check()?;
        positive(self.height, "height")?;
        if !(self.chamfer.is_finite() && self.chamfer >= 0.0) {
            return Err(PartError::BadChamfer);
        }
        if 2.0 * self.chamfer >= self.height {
            return Err(PartError::ChamferTooLong);
        }
        Ok(())
    }

    fn wall(&self) -> Wall {
        let (profile, half) = (ThreadProfile { side: Side::Nut, ..self.profile }, 0.5 * self.height);
        Wall { profile, low: -half, high: half, chamfer_low: self.chamfer, chamfer_high: self.chamfer }
    }

    /// A closed mesh of it.
    ///
    /// # Errors
    /// If there is no such nut, or the number of facets is out of range.
    pub fn mesh(&self, facets: Facets) -> Result<TriMesh, PartError> {
        self.check()?;
        let wall = self.wall();
        facets.check(wall.lanes(facets))?;
        let widest = self.profile.major_radius.max(self.profile.minor_radius + self.chamfer);
        if widest >= self.body.inner_radius(facets.per_turn) {
            return Err(PartError::BodyTooNarrow);
        }
        let mut builder = Builder::default();
        let (lower, upper) = wall.build(&mut builder, facets);
        let bottom = self.body.ring(&mut builder, wall.low, facets.per_turn);
        let top = self.body.ring(&mut builder, wall.high, facets.per_turn);
        builder.between_rings(&lower, &bottom);
        builder.between_rings(&bottom, &top);
        builder.between_rings(&top, &upper);
        Ok(builder.finish(self.profile.hand == Hand::Left)?)
    }

    /// Its exact surface.
    ///
    /// # Errors
    /// If there is no such nut.
    pub fn surface(&self) -> Result<NutSurface, PartError> {
        self.check()?;
        let thread = ThreadSurface::new(ThreadProfile { side: Side::Nut, ..self.profile })?;
        Ok(NutSurface { nut: *self, thread })
    }
}

/// The exact surface of a nut: its body cut by the endless thread, planes and cones. The distance is exact next to a
/// face and inside; beyond a rim it is nearer to zero than it should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NutSurface {
    nut: Nut,
    thread: ThreadSurface,
}

impl NutSurface {
    /// The nut.
    #[must_use]
    pub fn nut(&self) -> &Nut {
        &self.nut
    }
}

impl Surface for NutSurface {
    fn signed_distance(&self, point: &Vec3) -> Distance {
        let half = 0.5 * self.nut.height;
        let (distance, normal) = self.nut.body.distance(point);
        let mut all = within(self.thread.distance(point), Distance { distance, normal });
        all = within(within(all, below(point, half, 1.0)), below(point, -half, -1.0));
        if self.nut.chamfer > 0.0 {
            let (r, out) = radial(point);
            let up = 1.0_f64.copysign(point.z);
            let distance = (self.nut.wall().cut(point.z) - r) * FRAC_1_SQRT_2;
            all = within(all, Distance { distance, normal: (Vec3::z() * up - out) * FRAC_1_SQRT_2 });
        }
        all
    }

    fn is_convex(&self) -> bool {
        false
    }

    fn bounding_sphere(&self) -> BoundingSphere {
        let radius = self.nut.body.outer_radius().hypot(0.5 * self.nut.height);
        BoundingSphere { center: Vec3::zeros(), radius }
    }
}
