//! Which nodes of one part touch another: bounding volumes first, then all candidates at once.
//!
//! Thread: simulation or collision (no heap after making); made cold.
//!
//! ```text
//!  NodeSet: positions, normals, areas, in clusters            [nodes]
//!     │ pose
//!     ▼
//!  clusters ──► field.ball: farther than the margin? ──► out
//!     ▼
//!  nodes moved ──► Floor: farther than the margin? ──► out    [detector]
//!     ▼
//!  field.query ──► Found: node, distance, normal
//!  all of it on the faster processor                         [backend]
//! ```
//!
//! Both bounds are never greater than what the field would say, so exactly the nodes of a full query are found. Contact
//! of two parts takes two detectors: the nodes of each in the field of the other. [`AnyDetector`] does the same on a
//! graphics processor where that is faster.

mod backend;
mod detector;
mod nodes;

pub use backend::{AnyDetector, Backend, Event, Wish};
pub use detector::{Detector, Found, Touch};
pub use nodes::{NodeSet, SurfaceNode};
