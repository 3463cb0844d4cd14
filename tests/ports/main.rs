//! Real ports: drivers and emulated devices in two processes, on pseudo-terminals and sockets.

#![expect(clippy::panic, reason = "a test reports by panicking")]

#[path = "../run/daemon.rs"]
#[expect(dead_code, reason = "shared with the tests of the service")]
mod daemon;
mod drivers;
mod emulator;
mod life;
mod service;
mod wall;
