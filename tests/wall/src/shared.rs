//! Files of `src/shared`.

pub mod atomic {
    #[cfg(not(feature = "threads"))]
    pub use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    #[cfg(feature = "threads")]
    pub use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
}
#[path = "../../../src/shared/latest.rs"]
mod latest;
#[path = "../../../src/shared/lifecycle.rs"]
pub mod lifecycle;
#[path = "../../../src/shared/order.rs"]
mod order;
#[path = "../../../src/shared/pulse_words.rs"]
mod pulse_words;
#[path = "../../../src/shared/ring.rs"]
mod ring;
#[path = "../../../src/shared/time.rs"]
mod time;

pub use latest::{LatestReader, LatestWriter, latest};
pub use order::{Answer, Change, MAX_CHANGES, Order, Parameter, Parameters};
pub use pulse_words::PulseWords;
pub use ring::{RingReader, RingWriter, ring};
pub use time::MonoNs;

pub trait RtPayload: Copy + Send + 'static {}
impl<T: Copy + Send + 'static> RtPayload for T {}
