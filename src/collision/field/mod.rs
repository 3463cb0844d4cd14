//! Distance models: how far many points are from one solid, fast enough to ask for every node of a part.
//!
//! Thread: asked from simulation or collision (no heap, bounded work); made cold.
//!
//! ```text
//!  exact surface ──► Exact                            the truth, slow                         [exact]
//!       │            Revolved                         solids of revolution, exact             [revolved]
//!       ▼
//!     bake ──► Baked = coordinates ─► grid | network ─► clipped by planes and cones           [baked]
//!              [coordinates]          [grid] [network]  [cut]
//!                └──► bytes with the hash of what they were made from                         [file]
//! ```
//!
//! A part with a declared symmetry is asked in two coordinates instead of three: a thread in `(r, z − P θ/2π)`, a peg in
//! `(r, z)`. The model of an M48 thread then fits in the cache next to the core, and its error is the same on every turn.
//!
//! **Precision.** Batches are `f32`: coordinates of parts under 0.1 m round by 4 nm, a thousandth of what the best grid is
//! off. A single point is asked in `f64`, so that derivatives can be checked by differences.

mod baked;
mod coordinates;
mod cut;
mod exact;
mod file;
mod grid;
pub(crate) mod lanes;
mod network;
mod revolved;

pub use baked::{Baked, Model};
pub use coordinates::Symmetry;
pub use cut::Cut;
pub use exact::Exact;
pub use file::{FileError, SourceHash};
pub use grid::{BlockGrid, GridError, GridSpec, NodeValue};
pub(crate) use network::PARAMETERS;
pub use network::{FEATURES, Input, Network, WIDTH};
pub use revolved::Revolved;

use crate::geometry::Aabb;
use crate::math::Vec3;

/// What a field says of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Signed distance, m; negative in the material.
    pub value: f64,
    /// Its derivative by the point. Of about unit length near the surface: the outward normal.
    pub gradient: Vec3,
}

/// Points to ask about, coordinate by coordinate, m. The shortest of the three says how many.
#[derive(Clone, Copy, Debug)]
pub struct Nodes<'a> {
    /// Along x.
    pub x: &'a [f32],
    /// Along y.
    pub y: &'a [f32],
    /// Along z.
    pub z: &'a [f32],
}

/// Room for the answers, one for each point.
#[derive(Debug)]
pub struct Answers<'a> {
    /// Signed distances, m.
    pub value: &'a mut [f32],
    /// Gradients, along x.
    pub gx: &'a mut [f32],
    /// Along y.
    pub gy: &'a mut [f32],
    /// Along z.
    pub gz: &'a mut [f32],
}

impl Nodes<'_> {
    /// Number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.x.len().min(self.y.len()).min(self.z.len())
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Point `k`.
    fn point(&self, k: usize) -> Vec3 {
        Vec3::new(f64::from(self.x[k]), f64::from(self.y[k]), f64::from(self.z[k]))
    }
}

impl Answers<'_> {
    /// How many answers fit.
    fn room(&self) -> usize {
        self.value.len().min(self.gx.len()).min(self.gy.len()).min(self.gz.len())
    }

    /// Writes answer `k`.
    fn set(&mut self, k: usize, distance: &Distance) {
        self.value[k] = distance.value as f32;
        self.gx[k] = distance.gradient.x as f32;
        self.gy[k] = distance.gradient.y as f32;
        self.gz[k] = distance.gradient.z as f32;
    }
}

/// A solid known by a signed distance, exact or not.
pub trait DistanceField: Send + Sync {
    /// Distance and gradient at one point of the solid's frame. Finite for every finite point.
    fn distance(&self, point: &Vec3) -> Distance;

    /// Distances of many points. Where the distance is greater than `within`, m, the gradient may be left zero: who
    /// looks for contacts has no use for it, and for a network it is half of the work. Points beyond the room for
    /// answers are not asked.
    fn query(&self, nodes: &Nodes<'_>, within: f32, out: &mut Answers<'_>) {
        let _ = within;
        for k in 0..nodes.len().min(out.room()) {
            out.set(k, &self.distance(&nodes.point(k)));
        }
    }

    /// Box around the solid.
    fn bounds(&self) -> Aabb;
}
