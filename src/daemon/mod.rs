//! The program around the loop: command line, wiring, demos.
//!
//! Thread: main, but for what the parts start.

mod bake;
pub mod cli;
mod demo;
pub mod doctor;
mod failure;
mod lockstep;
mod summary;

pub use demo::{DemoOptions, list, run as run_demo};
pub use failure::{Failure, exit, warn};
pub use lockstep::{Beat, Lockstep};
pub use summary::{Breach, Summary, Tally, Timing};
