//! What a model is made from: the exact distance, what leaves the part as it is, and what ends it.
//!
//! Thread: cold.
//!
//! The description that is hashed lists every number to the last bit, so that a field baked from other dimensions is
//! known for stale.

use crate::collision::field::{Cut, Revolved, SourceHash, Symmetry};
use crate::geometry::mesh::{MeshReport, MeshSurface, TriMesh};
use crate::geometry::parts::{Body, Bolt, BoreBlock, Nut, PartError, Peg, Side, ThreadProfile, ThreadSurface};
use crate::geometry::{Aabb, Distance, Surface};
use crate::math::Vec3;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_3};

/// A distance at a point.
type Exact = Box<dyn Fn(&Vec3) -> Distance + Send + Sync>;

/// Why there is no source.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SourceError {
    /// There is no such part.
    #[error(transparent)]
    Part(#[from] PartError),
    /// The mesh does not bound a solid.
    #[error("the mesh does not bound a solid: {0}")]
    Mesh(Box<MeshReport>),
    /// A head is not part of a thread.
    #[error("a bolt with a head has no helical symmetry: bake the rod without its head, or the mesh of the whole")]
    Head,
    /// Not a solid of revolution.
    #[error("a block that is not round has no symmetry: give it a round body, or bake its mesh")]
    NotRound,
}

/// An exact surface, ready to be baked.
pub struct Source {
    /// What it is, in words and numbers.
    pub(super) description: String,
    pub(super) symmetry: Symmetry,
    pub(super) cuts: Vec<Cut>,
    /// Distance of the surface between the cuts.
    pub(super) surface: Exact,
    /// Distance of the whole part.
    whole: Exact,
    /// Box around the part.
    pub(super) bounds: Aabb,
    /// Radii between which the surface of a thread lies.
    pub(super) radii: (f64, f64),
}

impl Source {
    /// A threaded rod, with its ends and chamfer.
    ///
    /// # Errors
    /// If there is no such bolt, or it has a head.
    pub fn bolt(bolt: &Bolt) -> Result<Self, SourceError> {
        let whole = bolt.surface()?;
        if bolt.head.is_some() {
            return Err(SourceError::Head);
        }
        let profile = ThreadProfile { side: Side::Bolt, ..bolt.profile };
        let mut cuts = vec![Cut::below(bolt.length), Cut::above(0.0)];
        if bolt.chamfer > 0.0 {
            let offset = (profile.major_radius - bolt.chamfer + bolt.length) * FRAC_1_SQRT_2;
            cuts.push(Cut { radial: FRAC_1_SQRT_2, normal: [0.0, 0.0, FRAC_1_SQRT_2], offset });
        }
        let bounds = around(profile.major_radius, 0.0, bolt.length);
        let whole = Box::new(move |p: &Vec3| whole.signed_distance(p));
        Self::thread(format!("{bolt:?}"), profile, cuts, whole, bounds)
    }

    /// A nut, with its ends, chamfers and body.
    ///
    /// # Errors
    /// If there is no such nut.
    pub fn nut(nut: &Nut) -> Result<Self, SourceError> {
        let whole = nut.surface()?;
        let profile = ThreadProfile { side: Side::Nut, ..nut.profile };
        let half = 0.5 * nut.height;
        let mut cuts = vec![Cut::below(half), Cut::above(-half)];
        if nut.chamfer > 0.0 {
            let offset = (half - profile.minor_radius - nut.chamfer) * FRAC_1_SQRT_2;
            let cone = |up: f64| Cut { radial: -FRAC_1_SQRT_2, normal: [0.0, 0.0, up * FRAC_1_SQRT_2], offset };
            cuts.extend([cone(1.0), cone(-1.0)]);
        }
        let reach = body_cuts(&nut.body, &mut cuts);
        let whole = Box::new(move |p: &Vec3| whole.signed_distance(p));
        Self::thread(format!("{nut:?}"), profile, cuts, whole, around(reach, -half, half))
    }

    fn thread(
        description: String,
        profile: ThreadProfile,
        cuts: Vec<Cut>,
        whole: Exact,
        bounds: Aabb,
    ) -> Result<Self, SourceError> {
        let thread = ThreadSurface::new(profile)?;
        let symmetry = Symmetry::Helical { pitch: profile.pitch, hand: profile.hand };
        let radii = (profile.minor_radius, profile.major_radius);
        let surface = Box::new(move |p: &Vec3| thread.distance(p));
        Ok(Self { description, symmetry, cuts, surface, whole, bounds, radii })
    }

    /// A peg.
    ///
    /// # Errors
    /// If there is no such peg.
    pub fn peg(peg: &Peg) -> Result<Self, SourceError> {
        Ok(Self::round(format!("{peg:?}"), Revolved::peg(peg)?))
    }

    /// A round block with a bore.
    ///
    /// # Errors
    /// If there is no such block, or it is not round.
    pub fn bore(block: &BoreBlock) -> Result<Self, SourceError> {
        let solid = Revolved::bore(block)?.ok_or(SourceError::NotRound)?;
        Ok(Self::round(format!("{block:?}"), solid))
    }

    fn round(description: String, solid: Revolved) -> Self {
        let (mut wide, mut low, mut high) = (0.0_f64, f64::INFINITY, f64::NEG_INFINITY);
        for &(r, z) in solid.outline() {
            (wide, low, high) = (wide.max(r), low.min(z), high.max(z));
        }
        let bounds = around(wide, low, high);
        let whole = solid.clone();
        Self {
            description,
            symmetry: Symmetry::Round,
            cuts: Vec::new(),
            surface: Box::new(move |p| solid.signed_distance(p)),
            whole: Box::new(move |p| whole.signed_distance(p)),
            bounds,
            radii: (0.0, wide),
        }
    }

    /// Any closed mesh.
    ///
    /// # Errors
    /// If it does not bound a solid.
    pub fn mesh(mesh: TriMesh) -> Result<Self, SourceError> {
        let description = format!("{mesh:?}");
        let surface = MeshSurface::new(mesh).map_err(|report| SourceError::Mesh(Box::new(report)))?;
        let bounds = surface.mesh().aabb();
        let whole = surface.clone();
        Ok(Self {
            description,
            symmetry: Symmetry::None,
            cuts: Vec::new(),
            surface: Box::new(move |p| surface.signed_distance(p)),
            whole: Box::new(move |p| whole.signed_distance(p)),
            radii: (0.0, (bounds.max - bounds.min).norm()),
            bounds,
        })
    }

    /// Exact distance of the part.
    #[must_use]
    pub fn distance(&self, p: &Vec3) -> Distance {
        (self.whole)(p)
    }

    /// What leaves the part as it is.
    #[must_use]
    pub fn symmetry(&self) -> Symmetry {
        self.symmetry
    }

    /// Box around the part.
    #[must_use]
    pub fn bounds(&self) -> Aabb {
        self.bounds
    }

    /// Hash of what the model is made from and how: `plan` is the description of the latter.
    #[must_use]
    pub fn hash(&self, plan: &impl std::fmt::Debug) -> SourceHash {
        SourceHash::of(&format!("{} {plan:?}", self.description))
    }

    /// Least and greatest coordinates of a model whose surface keeps `clearance` from the bounds that it does not cross.
    pub(super) fn domain(&self, clearance: f64) -> ([f64; 3], [f64; 3]) {
        let inner = (self.radii.0 - clearance).max(0.0);
        let (low, high) = (self.bounds.min, self.bounds.max);
        match self.symmetry {
            Symmetry::None => ((low - Vec3::repeat(clearance)).into(), (high + Vec3::repeat(clearance)).into()),
            Symmetry::Round => ([inner, low.z - clearance, 0.0], [self.radii.1 + clearance, high.z + clearance, 0.0]),
            Symmetry::Helical { pitch, .. } => ([inner, 0.0, 0.0], [self.radii.1 + clearance, pitch, 0.0]),
        }
    }

    /// Distance and its derivatives at a place, without the cuts.
    pub(super) fn at(&self, place: &[f64; 3]) -> (f64, [f64; 3]) {
        let found = (self.surface)(&self.symmetry.point(place));
        (found.distance, self.symmetry.slopes(&found.normal))
    }
}

/// Box around a solid about the z axis.
fn around(radius: f64, low: f64, high: f64) -> Aabb {
    Aabb { min: Vec3::new(-radius, -radius, low), max: Vec3::new(radius, radius, high) }
}

/// Adds the sides of a body; how far it reaches from the axis.
fn body_cuts(body: &Body, cuts: &mut Vec<Cut>) -> f64 {
    let side = |x: f64, y: f64, offset: f64| Cut { radial: 0.0, normal: [x, y, 0.0], offset };
    match *body {
        Body::Hex { across_flats } => {
            for k in 0..6 {
                let (sin, cos) = (FRAC_PI_3 * f64::from(k)).sin_cos();
                cuts.push(side(cos, sin, 0.5 * across_flats));
            }
            across_flats / 3.0_f64.sqrt()
        }
        Body::Round { diameter } => {
            cuts.push(Cut { radial: 1.0, normal: [0.0; 3], offset: 0.5 * diameter });
            0.5 * diameter
        }
        Body::Block { x, y } => {
            let (x, y) = (0.5 * x, 0.5 * y);
            cuts.extend([side(1.0, 0.0, x), side(-1.0, 0.0, x), side(0.0, 1.0, y), side(0.0, -1.0, y)]);
            x.hypot(y)
        }
    }
}
