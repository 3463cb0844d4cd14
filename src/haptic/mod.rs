//! The haptic tick: from the handle's pose to the force on the hand, once per millisecond.
//!
//! Thread: haptic (RT). [`thread`] holds the loop; everything else is pure and takes its time from [`crate::shared::Tick`].
//!
//! Stages of [`tick`] (the numbers are those in the code and in docs/realtime.md):
//!
//! 1. read: is the sample sound, how fast does the handle move
//! 2. map: handle into the scene (scale, placement, clutch)
//! 3. take: newest mechanism; refuse, hold, fade or blend it
//! 4. couple: proxy, coupling and the local mechanism solve give the wrench on the hand
//! 5. gate: orders, operating state and ramp
//! 6. account: energy that crossed the handle, budget for the coming interval
//! 7. limit: the only maker of a `SafeForce`
//! 8. report: tool for the simulation, record for the logger

#![cfg_attr(not(test), deny(clippy::disallowed_types, clippy::disallowed_methods, clippy::disallowed_macros))]
#![forbid(unsafe_code)]

mod bodies;
mod client_force;
mod clutch;
mod compliance;
mod coupling;
mod gate;
mod ledger;
mod local;
mod model;
mod needle;
mod orders;
mod parameters;
mod patrol;
mod record;
mod state;
mod surfaces;
pub mod thread;
mod touch;
mod trip;
mod turning;

pub use clutch::{Clutch, Hold};
pub use coupling::{Coupling, SpringDamper, TRANSPARENT_BANDWIDTH_HZ};
pub use gate::Gate;
pub use ledger::{Account, Ledger, MAX_LATENCY_TICKS};
pub use local::{LocalMechanism, LocalReport, ToolMotion};
pub use model::{HapticModel, LOCAL_SOLVER, Policy, ToolModel};
pub use orders::{Desk, ORDERS_PER_TICK, OrderLinks, orders};
pub use parameters::{ParameterRange, SLEW_S};
pub use record::{TickInput, TickRecord};
pub use state::{HapticState, MOTION_BANDWIDTH_HZ, tick};
pub use surfaces::{Felt, Surfaces};
pub use thread::{HaltSwitch, HapticError, HapticFigures, HapticSetup, HapticThread, Heartbeat};
pub use touch::{MAX_TOUCHES, Touch, Touches};
pub use trip::Trip;
pub use turning::{Ratchet, Spanner, TorqueSense, Turning};
