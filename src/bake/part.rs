//! Parts made ready for contact: exact surface, nodes and a fast distance model.
//!
//! Thread: cold. A grid of a part with a declared symmetry is made in milliseconds, so that a scene needs no file for it.

use super::{GridPlan, Source, SourceError, bake_grid};
use crate::collision::field::{Baked, GridError, Revolved};
use crate::geometry::mesh::{MeshSurface, TriMesh};
use crate::geometry::parts::{Bolt, BoreBlock, Facets, Nut, PartError, Peg};
use crate::geometry::{Part, Shape};
use std::sync::Arc;

/// A part as designed.
#[derive(Clone, Debug)]
pub enum Design {
    /// A threaded rod.
    Bolt(Bolt),
    /// A nut.
    Nut(Nut),
    /// A peg.
    Peg(Peg),
    /// A block with a bore.
    Bore(BoreBlock),
    /// Any closed mesh.
    Mesh(TriMesh),
}

/// Why a part cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DesignError {
    /// There is no such solid.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Its grid would not fit into memory.
    #[error(transparent)]
    Grid(#[from] GridError),
}

impl From<PartError> for DesignError {
    fn from(error: PartError) -> Self {
        Self::Source(error.into())
    }
}

/// A part for the simulation.
#[derive(Clone, Debug)]
pub struct Ready {
    /// The part as a shape.
    pub shape: Shape,
    /// Its distances.
    pub field: Arc<Baked>,
}

impl Design {
    /// The source of distance models.
    ///
    /// # Errors
    /// If there is no such part, or no model can be made of it.
    pub fn source(&self) -> Result<Source, SourceError> {
        match self {
            Self::Bolt(bolt) => Source::bolt(bolt),
            Self::Nut(nut) => Source::nut(nut),
            Self::Peg(peg) => Source::peg(peg),
            Self::Bore(block) => Source::bore(block),
            Self::Mesh(mesh) => Source::mesh(mesh.clone()),
        }
    }

    /// The part, with nodes as fine as `facets` says; a mesh has its own.
    ///
    /// # Errors
    /// If there is no such part.
    pub fn part(&self, facets: Facets) -> Result<Part, SourceError> {
        Ok(match self {
            Self::Bolt(bolt) => Part::new("bolt", Box::new(bolt.surface()?), bolt.mesh(facets)?, true),
            Self::Nut(nut) => Part::new("nut", Box::new(nut.surface()?), nut.mesh(facets)?, true),
            Self::Peg(peg) => Part::new("peg", Box::new(Revolved::peg(peg)?), peg.mesh(facets)?, true),
            Self::Bore(block) => {
                let surface = Revolved::bore(block)?.ok_or(SourceError::NotRound)?;
                Part::new("bore", Box::new(surface), block.mesh(facets)?, true)
            }
            Self::Mesh(mesh) => {
                let surface = MeshSurface::new(mesh.clone()).map_err(|report| SourceError::Mesh(Box::new(report)))?;
                Part::new("mesh", Box::new(surface), mesh.clone(), false)
            }
        })
    }

    /// The part with a grid of its distances.
    ///
    /// # Errors
    /// If there is no such part, or its grid would be too large.
    pub fn ready(&self, facets: Facets) -> Result<Ready, DesignError> {
        let plan = if matches!(self, Self::Mesh(_)) { GridPlan::space() } else { GridPlan::profile() };
        let field = bake_grid(&self.source()?, &plan)?;
        Ok(Ready { shape: Shape::Part(Arc::new(self.part(facets)?)), field: Arc::new(field) })
    }
}
