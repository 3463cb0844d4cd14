//! Offline work: models made from exact surfaces, once, so that the simulation can ask them quickly.
//!
//! Thread: cold.
//!
//! ```text
//!  part, mesh ──► Source (exact distance, symmetry, cuts) ──► grid ──┐
//!                     │                          [source]   [grid]   ├──► Baked ──► bytes
//!                     └──► samples ──► train ────────────────────────┘
//!                                      [train] [gradient]
//!  Design: a part ready for contact, with its grid                                    [part]
//!  measure: error of a field against the exact surface, at points it has not seen     [measure]
//! ```

mod gradient;
mod grid;
mod measure;
mod part;
mod source;
mod train;

pub use grid::{GridPlan, bake_grid, bake_grid_within};
pub use measure::{FieldError, measure};
pub use part::{Design, DesignError, Ready};
pub use source::{Source, SourceError};
pub use train::{Progress, TrainPlan, train};
