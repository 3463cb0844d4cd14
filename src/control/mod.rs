//! The control plane: OSC, OSCQuery, metrics. What other programs see of the daemon.
//!
//! Thread: control. Nothing here is waited for by the haptic or the simulation thread.

pub mod allow;
pub mod discovery;
pub mod http;
pub mod plant;
pub mod prometheus;
pub mod query;
#[cfg(test)]
mod query_tests;
