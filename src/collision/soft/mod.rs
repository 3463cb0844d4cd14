//! Contacts of deformable bodies: against rigid shapes, against each other, against themselves.
//!
//! Thread: simulation (no heap once warm; surfaces are built cold). Deterministic: equal inputs give equal bits.
//!
//! ```text
//!  rest state ──► SoftSurface: triangles, edges, regions, thickness, tree topology    [surface]
//!  each step  ──► SoftPlace: positions now and before, normals, refitted boxes        [place], [tree]
//!                     │
//!     ┌───────────────┼───────────────────────────┐
//!     ▼               ▼                           ▼
//!  rigid shape      soft surface                itself                                [finder]
//!  nodes and edges  nodes against triangles, both ways; edges against edges           [pairs], [edges]
//!  against the          one point against one surface                                 [probe]
//!  distance; points     crossings within the step                                     [sweep]
//!  of the shape                                                                       [rigid], [tool]
//!     └───────────────┬───────────────────────────┘
//!                     ▼
//!                 reduction: patches or k-means                                       [reduce], [kmeans]
//! ```
//!
//! A contact is an inequality, `normal · (p_on − p_partner) ≥ 0`, not a force. Contacts that are not touching yet are listed up to
//! the margin.

mod edges;
mod finder;
mod foot;
mod kmeans;
mod pairs;
mod place;
mod probe;
mod reduce;
mod rigid;
mod surface;
mod sweep;
mod tool;
mod tree;

pub use finder::SoftFinder;
pub use place::SoftPlace;
pub use surface::SoftSurface;

use super::field::Baked;
use crate::geometry::Shape;
use crate::math::{Pose, Vec3};

/// A rigid shape with its pose now and at the start of the step.
#[derive(Clone, Copy, Debug)]
pub struct RigidPlace<'a> {
    /// The shape.
    pub shape: &'a Shape,
    /// Distance model that replaces the exact surface of a part.
    pub field: Option<&'a Baked>,
    /// Pose of the shape in the world, now.
    pub now: Pose,
    /// Pose of the shape in the world at the start of the step.
    pub before: Pose,
}

/// Point of a soft surface: at most three surface points and barycentric weights. A node has weights `[1, 0, 0]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FacePoint {
    /// Surface points.
    pub points: [u32; 3],
    /// Weights; their sum is 1.
    pub weights: [f64; 3],
}

impl FacePoint {
    /// A surface point itself.
    #[must_use]
    pub fn node(node: u32) -> Self {
        Self { points: [node; 3], weights: [1.0, 0.0, 0.0] }
    }

    /// The position, m, given those of all surface points.
    #[must_use]
    pub fn position(&self, points: &[Vec3]) -> Vec3 {
        (0..3).map(|k| points[self.points[k] as usize] * self.weights[k]).sum()
    }
}

/// The other side of a contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Partner {
    /// Point in the frame of the rigid shape, m.
    Rigid(Vec3),
    /// Point of the other soft surface, or of the same one in self-contact.
    Soft(FacePoint),
}

/// A contact of a soft body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftContact {
    /// Names the pair of features. Stable from step to step while the same features are in contact; unique within one query.
    pub key: u64,
    /// Point of the soft body.
    pub on: FacePoint,
    /// Point of the partner.
    pub partner: Partner,
    /// Unit vector in the world, from the partner towards the soft body `on`.
    pub normal: Vec3,
    /// `normal · (p_on − p_partner)`, m; negative inside.
    pub gap: f64,
    /// Surface area that the contact stands for, m².
    pub area_m2: f64,
}

/// How contacts beyond [`SoftQuery::most`] are reduced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SoftReduction {
    /// Representatives that keep the deepest contact and the convex hull of every side, then fill the rest evenly.
    #[default]
    Patches,
    /// The deepest contact of each cluster of a k-means clustering.
    KMeans {
        /// Seed of the first centres.
        seed: u64,
    },
    /// All contacts; [`SoftQuery::most`] is ignored.
    All,
}

/// What a query returns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftQuery {
    /// Contacts with a smaller gap are listed, m. Usually 0.5 to 3 mm; at least the distance that points of both bodies approach
    /// each other between two queries.
    pub margin_m: f64,
    /// Most contacts to return.
    pub most: usize,
    /// How more contacts than that are reduced.
    pub reduction: SoftReduction,
    /// Number of the pair of bodies. Representatives chosen for the same pair in the last query are preferred.
    pub pair: u64,
}

impl Default for SoftQuery {
    fn default() -> Self {
        Self { margin_m: 1e-3, most: 64, reduction: SoftReduction::Patches, pair: 0 }
    }
}

/// Kinds of contact: the highest four bits of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    NodeRigid = 1,
    EdgeRigid = 2,
    PointOnSoft = 3,
    NodeOnFace = 4,
    FaceOnNode = 5,
    EdgeEdge = 6,
}

/// A key: 4 bits of kind, 28 and 24 bits of two numbers, 8 bits that tell equal keys apart ([`finder`]).
fn key(kind: Kind, first: u32, second: u32) -> u64 {
    (kind as u64) << 60 | (u64::from(first) & 0xfff_ffff) << 32 | (u64::from(second) & 0xff_ffff) << 8
}
