//! The wall between threads: everything that may cross it, and the only ways across.
//!
//! Thread: any; what is for one thread alone says so.
//!
//! What crosses is `Copy + Send + 'static` ([`RtPayload`]) and carries a [`Stamp`]. `Copy` excludes `Drop`, so no heap
//! can cross and none can be freed on the real-time side. State goes through [`latest`] (newest value wins, wait-free
//! both ways), events through [`ring`] (bounded, counts what it drops). The one thing on the heap, [`skins`], goes from the
//! simulation to the screen and never to the real-time side.

pub(crate) mod atomic;
mod faults;
mod lateness;
mod latest;
pub mod lifecycle;
mod order;
pub mod ordinary_file;
mod pacer;
pub mod private;
mod pulse;
mod pulse_words;
pub mod realtime;
mod ring;
mod skin;
mod step;
mod time;
mod tool;
mod view;

pub use faults::{FaultCounts, Faults};
pub use lateness::{DurationBuckets, DurationFigures, DurationHistogram};
pub use latest::{LatestReader, LatestWriter, latest};
pub use order::{Answer, Change, MAX_CHANGES, Order, Parameter, Parameters};
pub use pacer::{Pacer, RateError, Wait};
pub use pulse::{PULSE_MESSAGE_MAX, Pulse};
pub use pulse_words::PulseWords;
pub use ring::{RingReader, RingWriter, ring};
pub use skin::{MAX_PATH, SKIN_HZ, Skin, SkinFrame, SkinModel, SkinReader, SkinWriter, skins};
pub use step::StepInput;
pub use time::{Clock, ManualClock, MonoNs, NS_PER_S, Stamp, Tick};
pub use tool::{MAX_HANDS, MAX_PUSHED, Push, TipReport, ToolSample};
pub use view::{MAX_VIEW_BODIES, NeedleView, SceneView, SuctionView};

/// What may cross a thread boundary: plain data that can be copied and never needs freeing.
pub trait RtPayload: Copy + Send + 'static {}
impl<T: Copy + Send + 'static> RtPayload for T {}
