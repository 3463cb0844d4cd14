//! The control plane: OSC, OSCQuery, metrics. What other programs see of the daemon.
//!
//! Thread: control. Nothing here is waited for by the haptic or the simulation thread.

mod access;
mod answer;
mod client;
pub mod hub;
pub mod metrics;
pub mod osc;
mod page;
pub mod plant;
mod rate;
mod reply;
mod rows;
mod schedule;
mod stream;
pub mod table;
mod wish;

pub use access::{Network, NotANetwork, Role, role_of};
pub use client::Limits;
pub use hub::{Hub, HubSettings, Outbox};
pub use metrics::HubFigures;
pub use stream::Stream;
