//! A needle in tissue: puncture, cutting, friction along the shaft, and the channel it leaves.
//!
//! Thread: simulation.
//!
//! Seed 004 ("constraint-based needle-insertion model", "multirate compliant mechanisms"). The needle is a beam held by its hub, which is
//! where the haptic thread has put it; tissue is a body that goes from rest to rest. Between them stand constraints, each with its
//! law (`mechanism::Law`):
//!
//! ```text
//!  tip before the surface     Puncture   contact with friction that bears so much and no more
//!  tip in the tissue          Channel    held across; along, what cutting takes
//!  points along the shaft     Channel    held across; along, stick and slip against the wall of the channel
//! ```
//!
//! The channel lives in the tissue at rest ([`path`]): it deforms with it, is followed when the needle is drawn back, and is still there
//! when it comes again. Compliance is that of beam and tissue together, so that what the snapshot tells the haptic thread is all it
//! needs to solve the same laws a thousand times a second.
//!
//! A point of a body of finite elements has no stiffness of its own: the finer the mesh, the softer it is. Forces are spread over a
//! ball of a stated size ([`NeedleModel::spread_m`]), and what gives way nearer to the tip than that is a number of the layer
//! ([`Layer::yield_m_per_n`]).

mod model;
mod path;
mod state;

pub use model::{Breathing, Forbidden, Layer, NeedleModel, Target, TissueError, TissueModel, TissueSpec};
pub use state::NeedleError;
pub(in crate::sim) use state::NeedleSource;
