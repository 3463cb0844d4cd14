//! Deformable bodies: meshes of tetrahedra, elements, integration, compliance.

#![expect(clippy::panic, reason = "a test reports by panicking")]

mod asynchronous;
mod beams;
mod compliance;
mod corotational;
mod elastic;
mod elastica;
mod hertz;
mod mesh_checks;
mod mesh_files;
mod patch;
mod primitives;
mod reduced;
mod reference;
mod slender;
mod stuffing;
