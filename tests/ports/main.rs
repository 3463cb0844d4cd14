//! Real ports: drivers and emulated devices in two processes, on pseudo-terminals and sockets.

#![expect(clippy::panic, reason = "a test reports by panicking")]

mod drivers;
mod emulator;
