//! Offline work: models made from exact surfaces, once, so that the simulation can ask them quickly.
//!
//! Thread: cold.
//!
//! ```text
//!  part, mesh ──► Source (exact distance, symmetry, cuts) ──► grid ──┐
//!                     │                          [source]   [grid]   ├──► Baked ──► bytes
//!                     └──► samples ──► train ────────────────────────┘
//!                                      [train] [gradient]
//!  measure: error of a field against the exact surface, at points it has not seen     [measure]
//! ```

mod gradient;
mod grid;
mod measure;
mod source;
mod train;

pub use grid::{GridPlan, bake_grid};
pub use measure::{FieldError, measure};
pub use source::{Source, SourceError};
pub use train::{Progress, TrainPlan, train};
