//! Parts from their dimensions: bolts and nuts with ISO metric threads, pegs, blocks with bores; as meshes, and threads
//! also as exact surfaces.
//!
//! Thread: cold, but for the distances of [`ThreadSurface`], [`BoltSurface`] and [`NutSurface`] (RT safe).
//!
//! ```text
//!  ThreadSpec (M48x5, hand, fit) ──► ThreadProfile ──► Bolt, Nut ──► mesh(facets)   faceted, watertight
//!                                         │                └───────► surface()      thread with its ends and body
//!                                         └──► ThreadSurface                        the endless thread, exact
//! ```
//!
//! Vertices of a mesh lie on the true surface, so a facet lies `r (1 − cos(π/n))` inside a round of radius `r`: 12 µm
//! for an M48 bolt with 100 facets, as much as a tight fit leaves. Where that is felt, ask the exact surface.

mod body;
mod bolt;
mod build;
mod nut;
mod profile;
mod round;
mod thread_mesh;
mod thread_surface;
mod tolerance;

pub use body::Body;
pub use bolt::{Bolt, BoltSurface, Head};
pub use nut::{Nut, NutSurface};
pub use profile::{Fit, Hand, Side, ThreadProfile, ThreadSpec};
pub use round::{BoreBlock, Peg};
pub use thread_surface::ThreadSurface;
pub use tolerance::{Limit, pitch_diameter_tolerance};

use super::mesh::MeshError;

/// How fine the mesh of a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facets {
    /// Facets around the axis. Two threads with a common factor cog like gears: take numbers without one.
    pub per_turn: usize,
    /// Rows of facets on each flank of a thread, or along the side of a peg or a bore.
    pub rows: usize,
}

/// Largest mesh made, triangles.
const TRIANGLES_MAX: f64 = 2e7;

impl Facets {
    /// Refuses what would not be a solid, or too large; `lanes` is the number of facets per turn and row.
    fn check(self, lanes: f64) -> Result<(), PartError> {
        if !(6..=65_536).contains(&self.per_turn) || !(1..=4096).contains(&self.rows) {
            return Err(PartError::Facets);
        }
        let triangles = 2.0 * self.per_turn as f64 * (lanes + 4.0);
        if triangles < TRIANGLES_MAX { Ok(()) } else { Err(PartError::TooFine { triangles }) }
    }
}

/// Why a part cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// A length is zero, negative or not finite.
    #[error("the {0} must be a positive length")]
    NotPositive(&'static str),
    /// A chamfer is negative or not finite.
    #[error("the chamfer must be zero or a positive length")]
    BadChamfer,
    /// The thread is too coarse for its diameter.
    #[error("a pitch of {pitch_mm:.3} mm is too coarse for a diameter of {diameter_mm:.3} mm: at most a quarter of it")]
    TooCoarse {
        /// Pitch, mm.
        pitch_mm: f64,
        /// Nominal diameter, mm.
        diameter_mm: f64,
    },
    /// Crest or root of the thread has no width left.
    #[error("the {0} of the thread would have no width left: make the gap smaller")]
    SharpThread(&'static str),
    /// Chamfers leave nothing of the length.
    #[error("the chamfers are as long as the part: make them smaller or the part longer")]
    ChamferTooLong,
    /// The hole reaches the side of the body.
    #[error("the hole with its chamfer is as wide as the body: widen the body")]
    BodyTooNarrow,
    /// A number of facets out of range.
    #[error("a part needs 6 to 65536 facets around and 1 to 4096 rows")]
    Facets,
    /// More triangles than anyone can use.
    #[error("{triangles:.1e} triangles are too many: take fewer facets, or a shorter part")]
    TooFine {
        /// How many it would be.
        triangles: f64,
    },
    /// The class of tolerance does not cover the thread.
    #[error("tolerances are known for pitches of 0.2 to 8 mm and diameters of 0.99 to 355 mm: state the gap instead")]
    NoTolerance,
    /// The mesh could not be made.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

/// Refuses what is no positive length.
fn positive(x: f64, name: &'static str) -> Result<(), PartError> {
    if x.is_finite() && x > 0.0 { Ok(()) } else { Err(PartError::NotPositive(name)) }
}
