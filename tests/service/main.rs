//! The real program as a service: other people's clients, systemd's socket, storms of datagrams. Loopback only.

#![expect(clippy::panic, reason = "a test reports by panicking")]

mod clients;
mod daemon;
mod floods;
mod halts;
mod notify;
mod osc;
mod storm;
mod systemd;
#[path = "../clients/tools.rs"]
mod tools;

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Some tests count what the machine can do and want it for themselves.
static MACHINE: RwLock<()> = RwLock::new(());

/// For a test that may run beside others.
fn beside_others() -> RwLockReadGuard<'static, ()> {
    MACHINE.read().unwrap_or_else(PoisonError::into_inner)
}

/// For a test that runs alone.
fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}
