//! Triangle meshes and the parts made of them: files, checks, mass, distance, threads.

#![expect(clippy::panic, reason = "a test reports by panicking")]

mod checks;
#[path = "../common/counting.rs"]
mod counting;
mod distance;
mod files;
mod mass;
mod no_heap;
mod parts;
mod sample;
mod solids;
mod thread;
#[path = "../common/threads.rs"]
mod threads;
