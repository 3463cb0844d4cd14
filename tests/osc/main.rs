//! The hub of the control plane against every rule of docs/osc.md, with a plant that only remembers.

#![expect(clippy::panic, reason = "a test reports by panicking")]

mod bundles;
mod clients;
mod fuzz;
mod hostile;
mod hosts;
mod plant;
mod rig;
mod rules;
mod table;
