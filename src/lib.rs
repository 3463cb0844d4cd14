//! hapticd: a real-time haptic rendering daemon.
//!
//! ```text
//!  device ──► haptic tick (1 kHz, SCHED_FIFO, no heap, no lock) ──► device
//!               │ ToolSample                        ▲ MechanismSnapshot
//!               ▼            (wait-free, newest wins) │
//!             simulation step (30–1000 Hz) ──► contacts? ──► collision thread
//! ```
//!
//! Modules are declared in the order of that walk; `ARCHITECTURE.md` says what each may import.

pub mod bake;
pub mod bench;
pub mod collision;
pub mod control;
pub mod daemon;
pub mod device;
pub mod fem;
pub mod files;
pub mod geometry;
pub mod haptic;
pub mod math;
pub mod mechanism;
pub mod record;
pub mod scene;
pub mod shared;
pub mod sim;
