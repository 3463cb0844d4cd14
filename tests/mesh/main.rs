//! Triangle meshes and the parts made of them: files, checks, mass, distance, threads.

mod checks;
mod distance;
mod files;
mod mass;
mod parts;
mod sample;
mod solids;
mod thread;
