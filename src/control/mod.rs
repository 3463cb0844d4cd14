//! The control plane: OSC, OSCQuery, metrics. What other programs see of the daemon.
//!
//! Thread: control. Nothing here is waited for by the haptic or the simulation thread.

pub mod allow;
pub mod plant;
