//! Suite `assembly`: tight parts driven by prescribed forces.
//!
//! Thread: main.

pub mod drive;
pub mod task;
