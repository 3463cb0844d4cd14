//! The atomic numbers of what `tests/wall` checks in every order of reads and writes: there the checker's own stand in their place.
//!
//! Thread: any.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
