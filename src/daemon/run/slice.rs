//! How long the control loop works on the packets of one source before time and the other sources have their turn.
//!
//! Thread: control.

use crate::shared::realtime::SystemClock;
use crate::shared::{Clock as _, MonoNs};

/// Longest work at a stretch, ns: the fastest stream may be late by this much.
const SLICE_NS: u64 = 1_000_000;

/// A stretch of work.
pub(super) struct Slice {
    end: MonoNs,
}

impl Slice {
    /// Begins now.
    pub(super) fn begin(now: MonoNs) -> Self {
        Self { end: now.plus(SLICE_NS) }
    }

    /// True when others have their turn.
    pub(super) fn is_over(&self) -> bool {
        SystemClock.now() >= self.end
    }
}
