//! The simulation: bodies, contacts, the full solve, and the snapshot for the haptic thread.
//!
//! Thread: simulation.

mod model;

pub use model::{BodyModel, Material, Motion, SimModel, ToolBody};
