//! The shortcut of a halt: raised on whichever thread receives it, before the packet waits in any queue.
//!
//! Thread: any but haptic.

use super::peer::Peer;
use std::fmt;
use std::sync::Arc;

/// Halts the loop at once. The packet still goes to the hub, which answers it.
#[derive(Clone)]
pub struct Alarm(Arc<dyn Fn(Peer) + Send + Sync>);

impl Alarm {
    /// An alarm that calls `halt` with the peer that asked. `halt` must not block.
    #[must_use]
    pub fn new(halt: impl Fn(Peer) + Send + Sync + 'static) -> Self {
        Self(Arc::new(halt))
    }

    /// An alarm where nothing runs that could be halted.
    #[must_use]
    pub fn silent() -> Self {
        Self::new(|_| {})
    }

    /// Halts on behalf of `by`.
    pub fn raise(&self, by: Peer) {
        (self.0)(by);
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Alarm")
    }
}
