//! Tetrahedral meshes: files in and out, checks, surface, mass, where a point lies, and meshes made from dimensions.
//!
//! Thread: cold.
//!
//! ```text
//!  bytes ──► read_msh, read_vtk, read_vtu (unit stated) ──► TetMesh ──► check ──► surface, mass, Locator ──► fem
//!                                                            ▲  │
//!      BlockSpec (beam, block), LayeredBlock, Organ, stuff ─┘  ├─► with_midsides: ten nodes for each tetrahedron
//!      CylinderSpec, TubeSpec, TorusSpec, BallSpec, ShellSpec, │
//!      CupSpec                                                 └─► with_sides, Region: groups by place
//! ```
//!
//! A mesh in memory is always in metres. No file says its unit, so the reader must be told.

mod ball;
mod block;
mod budget;
mod bytes;
mod check;
mod cup;
mod faces;
mod grid;
mod locate;
mod msh;
mod msh_read;
mod organ;
mod prism;
mod quality;
mod select;
mod split;
mod stuffing;
mod sweep;
mod tet_mesh;
mod vtk;
mod vtu;
mod vtu_read;

pub use ball::{BallSpec, ShellSpec};
pub use block::{BlockSpec, Split};
pub use check::{TetFault, TetReport};
pub use cup::CupSpec;
pub use faces::Skin;
pub use locate::{Locator, Place};
pub use msh::{MshForm, write_msh};
pub use msh_read::read_msh;
pub use organ::{LayeredBlock, Organ};
pub use quality::Quality;
pub use select::Region;
pub use stuffing::Fit;
pub use sweep::{CylinderSpec, TorusSpec, TubeSpec};
pub use tet_mesh::{Group, MIDSIDES, Members, TetMesh, TetMeshError};
pub use vtk::{read_vtk, write_vtk};
pub use vtu::write_vtu;
pub use vtu_read::read_vtu;
