//! Pegs, and blocks with the holes they go into.
//!
//! Thread: cold.

use super::super::mesh::TriMesh;
use super::build::{Builder, Ring};
use super::{Body, Facets, PartError, positive};

/// A round peg along z, its chamfered tip at z = 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peg {
    /// Diameter, m.
    pub diameter: f64,
    /// Length, m.
    pub length: f64,
    /// Height and width of the chamfer of 45° at the tip, m; zero for none.
    pub chamfer: f64,
}

/// A block with a round hole. The origin is the centre of the mouth, in the plane of the top face; z points out of the
/// hole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoreBlock {
    /// Diameter of the hole, m.
    pub diameter: f64,
    /// Depth of the hole, m.
    pub depth: f64,
    /// Height and width of the chamfer of 45° at the mouth, m; zero for none.
    pub chamfer: f64,
    /// Material below the hole, m; none when the hole goes through.
    pub floor: Option<f64>,
    /// Outline of the block.
    pub body: Body,
}

/// Refuses a chamfer that is none, or as long as `length`, or as wide as `width`.
fn check_chamfer(chamfer: f64, length: f64, width: f64) -> Result<(), PartError> {
    if !(chamfer.is_finite() && chamfer >= 0.0) {
        Err(PartError::BadChamfer)
    } else if chamfer >= length || chamfer >= width {
        Err(PartError::ChamferTooLong)
    } else {
        Ok(())
    }
}

impl Peg {
    /// Says whether there is such a peg.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn check(&self) -> Result<(), PartError> {
        positive(self.diameter, "diameter")?;
        positive(self.length, "length")?;
        check_chamfer(self.chamfer, self.length, 0.5 * self.diameter)
    }

    /// A closed mesh of it.
    ///
    /// # Errors
    /// If there is no such peg, or the number of facets is out of range.
    pub fn mesh(&self, facets: Facets) -> Result<TriMesh, PartError> {
        self.check()?;
        facets.check(facets.rows as f64)?;
        let (n, r) = (facets.per_turn, 0.5 * self.diameter);
        let mut builder = Builder::default();
        let mut ring = builder.circle(r - self.chamfer, 0.0, n);
        builder.disc(&ring, true);
        let start = if self.chamfer > 0.0 { 0 } else { 1 };
        for k in start..=facets.rows {
            let z = self.chamfer + (self.length - self.chamfer) * k as f64 / facets.rows as f64;
            let next = builder.circle(r, z, n);
            builder.between_rings(&ring, &next);
            ring = next;
        }
        builder.disc(&ring, false);
        Ok(builder.finish(false)?)
    }
}

impl BoreBlock {
    /// Says whether there is such a block.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn check(&self) -> Result<(), PartError> {
        positive(self.diameter, "diameter of the hole")?;
        positive(self.depth, "depth of the hole")?;
        self.floor.map_or(Ok(()), |floor| positive(floor, "thickness of the floor"))?;
        self.body.check()?;
        check_chamfer(self.chamfer, self.depth, f64::INFINITY)
    }

    /// A closed mesh of it.
    ///
    /// # Errors
    /// If there is no such block, or the number of facets is out of range.
    pub fn mesh(&self, facets: Facets) -> Result<TriMesh, PartError> {
        self.check()?;
        facets.check(facets.rows as f64)?;
        let (n, r) = (facets.per_turn, 0.5 * self.diameter);
        if r + self.chamfer >= self.body.inner_radius(n) {
            return Err(PartError::BodyTooNarrow);
        }
        let mut builder = Builder::default();
        let mouth = builder.circle(r + self.chamfer, 0.0, n);
        let foot = self.hole(&mut builder, &mouth, facets);
        let top = self.body.ring(&mut builder, 0.0, n);
        let bottom = self.body.ring(&mut builder, -self.depth - self.floor.unwrap_or(0.0), n);
        builder.between_rings(&top, &mouth);
        builder.between_rings(&bottom, &top);
        if self.floor.is_some() {
            builder.disc(&foot, false);
            builder.disc(&bottom, true);
        } else {
            builder.between_rings(&foot, &bottom);
        }
        Ok(builder.finish(false)?)
    }

    /// The wall from the mouth down; its lowest ring.
    fn hole(&self, builder: &mut Builder, mouth: &Ring, facets: Facets) -> Ring {
        let mut ring = mouth.clone();
        let start = if self.chamfer > 0.0 { 0 } else { 1 };
        for k in start..=facets.rows {
            let z = -self.chamfer - (self.depth - self.chamfer) * k as f64 / facets.rows as f64;
            let next = builder.circle(0.5 * self.diameter, z, facets.per_turn);
            builder.between_rings(&ring, &next);
            ring = next;
        }
        ring
    }
}
