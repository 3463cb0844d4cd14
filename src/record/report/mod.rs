//! A recording as a page: verdict first, then what was felt, the energy, the timing, the faults, and where it all comes from.
//!
//! Thread: main (cold).
//!
//! [`Digest`] reads a recording once, in constant memory; the page is one file that needs no network and no script.

mod digest;
mod page;
mod plot;
mod table;

pub use digest::{Digest, FaultSeen, Moment, Outcome, Series};
pub use page::page;
pub use table::write_csv;
