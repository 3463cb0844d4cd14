//! The program around the loop: command line, wiring, demos.
//!
//! Thread: main, but for what the parts start.

mod lockstep;

pub use lockstep::{Beat, Lockstep};
