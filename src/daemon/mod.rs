//! The program around the loop: command line, wiring, demos, the service.
//!
//! Thread: main, but for what the parts start.

mod bake;
mod bake_reduce;
mod bake_tetmesh;
mod calibrate;
mod cast;
mod chaos;
pub mod cli;
mod demo;
mod device_log;
pub mod devices;
pub mod doctor;
pub mod emulate;
mod failure;
mod hands;
mod lockstep;
mod out;
mod player;
mod portrait;
mod replay;
mod report;
mod rerun;
pub mod run;
mod summary;
mod tape;
mod window;

pub use demo::{DemoOptions, list, run as run_demo};
pub use failure::{Failure, exit, warn};
pub use lockstep::{Beat, Lockstep, Station};
pub use replay::{ReplayOptions, Replayed, run as replay};
pub use report::{ReportOptions, run as report};
pub use summary::{Breach, Summary, Tally, Timing};
pub use tape::looks;
