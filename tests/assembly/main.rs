//! Tight parts: a nut on its bolt and a peg in its hole, against closed forms and against their exact surfaces.
//!
//! All of it with the simulation alone, steps of 1 ms, as `hapticd bench assembly` measures it.

mod friction;
mod jamming;
mod runs;
mod seating;
#[path = "../common/threads.rs"]
mod threads;
