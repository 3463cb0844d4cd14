//! How late does a real-time loop wake up on this PC? Runs one for a while and draws the histogram.
//!
//! ```text
//! cargo run --release --example jitter -- [SECONDS [RATE_HZ [SPIN_US]]]
//! ```
//!
//! Defaults: 10 s, 1000 Hz, no spinning. Needs the right to SCHED_FIFO for figures that mean something; it says so when
//! it has not got it, and how to get it. `hapticd bench jitter` compares the same loop with cyclictest.

use std::process::ExitCode;

use hapticd::bench::jitter::{LoopFigures, run_loop};
use hapticd::bench::tick::PlateRun;
use hapticd::shared::realtime::RealtimeRequest;

/// Width of the longest bar, characters.
const BAR_WIDTH: f64 = 50.0;

fn main() -> ExitCode {
    let numbers: Result<Vec<f64>, _> = std::env::args().skip(1).map(|word| word.parse()).collect();
    let (seconds, rate_hz, spin_us) = match numbers.as_deref() {
        Ok([]) => (10.0, 1000.0, 0.0),
        Ok([seconds]) => (*seconds, 1000.0, 0.0),
        Ok([seconds, rate_hz]) => (*seconds, *rate_hz, 0.0),
        Ok([seconds, rate_hz, spin_us]) => (*seconds, *rate_hz, *spin_us),
        _ => {
            eprintln!("usage: jitter [SECONDS [RATE_HZ [SPIN_US]]], for example: jitter 10 1000 100");
            return ExitCode::from(2);
        }
    };

    let request = RealtimeRequest { spin_ns: (spin_us * 1e3) as u64, ..RealtimeRequest::default() };
    let mut plate = PlateRun::new(rate_hz, true, 1);
    match run_loop(&request, rate_hz, seconds, |now| {
        plate.beat(now);
    }) {
        Ok((figures, refusals)) => {
            for refusal in &refusals {
                eprintln!("not granted: {refusal}");
            }
            draw(&figures);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// One line per doubling of the lateness. Bars are logarithmic: the rare late ones are what one looks for.
fn draw(figures: &LoopFigures) {
    let lateness = &figures.lateness;
    println!("{}, {} ticks, {} slots skipped", figures.status.policy, lateness.count(), figures.skipped);
    let bar = |count: u64| (BAR_WIDTH * (count as f64).ln_1p() / (lateness.count() as f64).ln_1p()).ceil() as usize;
    let mut below = 0;
    // From 128 ns, doubling, until everything is counted.
    for to_ns in (7..64).map(|n| 1_u64 << n) {
        let up_to = lateness.count_up_to(to_ns - 1);
        if up_to > 0 {
            let here = up_to - below;
            println!("< {:>10.3} us  {here:>9}  {}", to_ns as f64 * 1e-3, "#".repeat(bar(here)));
        }
        below = up_to;
        if below == lateness.count() {
            break;
        }
    }
    for (what, all) in [("lateness", lateness), ("tick", &figures.duration)] {
        let f = all.figures();
        let [p50, p99, p999, max] = [f.p50_ns, f.p99_ns, f.p999_ns, f.max_ns].map(|ns| ns as f64 * 1e-3);
        println!("{what:<9} p50 {p50:.1}  p99 {p99:.1}  p99.9 {p999:.1}  max {max:.1} us");
    }
}
