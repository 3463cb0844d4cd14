//! Triangle meshes: files in, checks, mass, exact signed distance, points on the surface.
//!
//! Thread: cold, but for the queries of [`MeshSurface`] and [`Bvh`] (RT safe: no heap, a bounded stack).
//!
//! ```text
//!  bytes ──► read_stl, read_obj (unit stated) ──► TriMesh ──► validate ──► MeshSurface: distance, rays
//!                                                   │ ▲
//!                                     mass, samples ▼ │ parts (threads, pegs)
//! ```
//!
//! A mesh in memory is always in metres. A file says nothing about its unit, so the reader must be told.

mod bounds;
mod bvh;
mod cross;
mod moments;
mod nearest;
mod obj;
mod polygon;
mod ray;
mod sample;
mod stl;
mod surface;
mod topology;
mod tri_mesh;
mod unit;
mod validate;
mod weld;

pub use bvh::{Bvh, Nearest};
pub use nearest::Part;
pub use obj::{read_obj, write_obj};
pub(super) use polygon::triangulate;
pub use ray::RayHit;
pub use sample::{Node, SampleSpec, sample_surface};
pub use stl::{read_stl, write_stl, write_stl_text};
pub use surface::MeshSurface;
pub use tri_mesh::{MeshError, TriMesh};
pub use unit::LengthUnit;
pub(in crate::geometry) use validate::check_size;
pub use validate::{Checks, MeshFault, MeshReport, SizeFault};
pub use weld::Weld;
