//! The control plane: OSC, OSCQuery, metrics. What other programs see of the daemon.
//!
//! Thread: control. Nothing here is waited for by the haptic or the simulation thread.

pub mod access;
pub mod alarm;
mod answer;
mod assets;
mod client;
pub mod discovery;
pub mod http;
pub mod hub;
pub mod metrics;
pub mod osc;
mod page;
pub mod peer;
pub mod plant;
pub mod prometheus;
pub mod query;
#[cfg(test)]
mod query_tests;
mod rate;
mod reply;
mod rows;
mod schedule;
pub mod socket;
mod stream;
pub mod table;
pub mod trail;
pub mod tree;
pub mod web;
mod wish;

pub use client::Limits;
pub use hub::{Hub, HubSettings, Outbox};
pub use metrics::HubFigures;
pub use stream::Stream;
