//! The haptic tick: from the handle's pose to the force on the hand, once per millisecond.
//!
//! Thread: haptic (RT). [`thread`] holds the loop; everything else is pure and takes its time from [`crate::shared::Tick`].
//!
//! [`tick`] lists its stages; the numbers are those in docs/realtime.md.

#![cfg_attr(not(test), deny(clippy::disallowed_types, clippy::disallowed_methods, clippy::disallowed_macros))]
#![forbid(unsafe_code)]

mod account;
mod bodies;
mod client_force;
mod clutch;
mod compliance;
mod couple;
mod coupling;
mod gate;
mod ledger;
mod limit;
mod local;
mod map;
mod model;
mod needle;
mod nodes;
mod obey;
mod orders;
mod parameters;
mod patrol;
mod read;
mod record;
mod report;
mod signals;
mod state;
mod surfaces;
mod take;
pub mod thread;
mod tick;
mod touch;
mod trip;
mod turning;
mod vibrations;

pub use clutch::{Clutch, Hold};
pub use coupling::{Coupling, SpringDamper, TRANSPARENT_BANDWIDTH_HZ};
pub use gate::Gate;
pub use ledger::{Account, Ledger, MAX_LATENCY_TICKS};
pub use local::{LocalMechanism, LocalReport, ToolMotion};
pub use model::{HapticModel, LOCAL_SOLVER, Policy, ToolModel};
pub use orders::{Desk, ORDERS_PER_TICK, OrderLinks, orders};
pub use parameters::{ParameterRange, SLEW_S};
pub use record::{TickInput, TickRecord};
pub use signals::{ControlPulse, HaltSwitch, Heartbeat};
pub use state::{HapticState, MOTION_BANDWIDTH_HZ};
pub use surfaces::{Felt, Surfaces};
pub use thread::{HapticError, HapticFigures, HapticSetup, HapticThread};
pub use tick::tick;
pub use touch::{MAX_TOUCHES, Touch, Touches};
pub use trip::Trip;
pub use turning::{Ratchet, Spanner, TorqueSense, Turning};
