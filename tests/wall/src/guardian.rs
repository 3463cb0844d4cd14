//! Files of `src/device/guardian`.

#[path = "../../../src/device/guardian/watch.rs"]
mod watch;
pub use watch::*;
