//! Collision: from the poses of bodies to the contacts that could act before the next look.
//!
//! Thread: simulation (inline) or collision; never haptic.
//!
//! ```text
//!  Request (poses) ──► broad phase ──► feature × surface, both ways ──► merge, thin ──► Reply (candidates)
//!                      [model]         [contact], [minimum]             [select]
//!                                  ──► face × face, clipped  ──► thin
//!                                      [face]                    [select]
//!                      nodes × distance model, both ways ──► reduce
//!                      [detect], [field], [gpu]              [parts]
//!  deformable surfaces ──► refitted boxes ──► features, crossings within the step ──► patches [soft]
//!  Service: the same function inline, or on its own thread                              [thread]
//! ```
//!
//! A candidate is an inequality, not a force: `n·(p_a − p_b) ≥ 0` for a point of each body. One too many costs time and
//! nothing else; one too few lets something through. So everything nearer than the margin is listed.

mod candidate;
mod contact;
#[cfg(test)]
mod contact_tests;
pub mod detect;
mod face;
pub mod field;
pub mod gpu;
mod minimum;
mod model;
mod parts;
mod select;
pub mod soft;
mod thread;

pub use candidate::{Candidate, Candidates, MAX_CANDIDATES, Side};
pub use contact::{Placed, collide};
pub use model::{
    Collider, ColliderId, CollisionModel, MAX_BODIES, Memory, ModelError, Pair, Reply, Request, Slot, Watch,
};
pub use parts::{Outlook, Reduction};
pub use select::MAX_PER_PAIR;
pub use thread::{Service, Threaded};
