//! Contacts of machined parts: every node of each near the other, reduced to a few that stand for all.
//!
//! Thread: simulation or collision (no heap after the first looks); made cold.
//!
//! ```text
//!  nodes × distance model, both ways ──► Near ──► press: which nodes would carry the load ──► cluster ──► contacts
//!                                        [near]  [pressure]                                   [reduce]
//! ```
//!
//! A nut on its bolt touches with a thousand nodes at once, and a rigid body has six degrees of freedom: a handful of contacts
//! is enough to hold it, if they are the right ones. Which ones depends on how it is pushed. So the load is spread first, over all nodes, as
//! a thin elastic layer would spread it, without friction but with last step's friction among the loads; nodes that carry are
//! then gathered into patches, and each patch is stood for by one point of the surface in the middle of its pressure. The
//! contact law is then solved exactly on these. What they would let in is added, and what is next in some direction as a sentinel.

mod missed;
mod near;
mod pressure;
mod reduce;
mod touch;

pub use near::Outlook;
pub(super) use near::{Eyes, Holder, Near, Way};
pub use reduce::Reduction;
pub(super) use reduce::{Reducer, View};
pub(super) use touch::Touch;
