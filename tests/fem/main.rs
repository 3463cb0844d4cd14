//! Deformable bodies: meshes of tetrahedra.

#![expect(clippy::panic, reason = "a test reports by panicking")]

mod mesh_checks;
mod mesh_files;
