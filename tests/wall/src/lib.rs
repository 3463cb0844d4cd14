//! The files of hapticd that cross threads or processes without a lock, compiled with the model checker's atomic numbers
//! in the place of the standard ones; with the feature `threads`, as they are.

#![allow(dead_code, unreachable_pub, missing_docs)]

#[cfg(not(feature = "threads"))]
pub mod model;

// Under the crates' own names, so that the files need no change.
#[cfg(not(feature = "threads"))]
extern crate self as triple_buffer;
#[cfg(not(feature = "threads"))]
pub use published::triple_buffer::{Input, Output, TripleBuffer};
#[cfg(not(feature = "threads"))]
extern crate self as rtrb;
#[cfg(not(feature = "threads"))]
pub use published::rtrb::{Consumer, Producer, RingBuffer};

#[cfg(not(feature = "threads"))]
#[allow(warnings, clippy::all)]
mod published {
    pub mod triple_buffer {
        include!(concat!(env!("OUT_DIR"), "/triple_buffer.rs"));
    }
    pub mod rtrb {
        include!(concat!(env!("OUT_DIR"), "/rtrb.rs"));
    }
}

pub mod shared;

pub mod guardian;

pub mod haptic;
