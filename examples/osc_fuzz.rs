//! Throws damaged datagrams at the OSC hub and stops at the first thing that must not happen.
//!
//! ```text
//! cargo run --release --example osc_fuzz -- [INPUTS [SEED]]
//! ```
//!
//! Defaults: a million inputs, seed 1. Equal seeds give equal inputs. Good datagrams are made from the table of
//! addresses, then bits, bytes, sizes and ends are changed. Checked after each: no panic, what is kept stays within
//! its bounds, every answer can be read, and a client that behaves is answered.

#![expect(clippy::panic, reason = "a fuzzer reports by panicking")]

use hapticd::math::Random;
use std::process::ExitCode;

#[path = "../tests/osc/fuzz.rs"]
mod fuzz;
#[path = "../tests/osc/plant.rs"]
mod plant;

fn main() -> ExitCode {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|word| word.parse()).collect();
    let (inputs, seed) = match numbers.as_deref() {
        Ok([]) => (1_000_000, 1),
        Ok([inputs]) => (*inputs, 1),
        Ok([inputs, seed]) => (*inputs, *seed),
        _ => {
            eprintln!("usage: osc_fuzz [INPUTS [SEED]], for example: osc_fuzz 100000 7");
            return ExitCode::from(2);
        }
    };
    let mut range = fuzz::Range::new();
    let mut random = Random::new(seed);
    for done in 1..=inputs {
        let bytes = fuzz::datagram(&mut random);
        range.fire(&bytes, &mut random);
        if done % 100_000 == 0 {
            println!("{done} inputs, {} answers, {} characters remembered", range.sent, range.remembered());
        }
    }
    println!("{:#?}", range.hub.figures());
    ExitCode::SUCCESS
}
