//! Suite `passivity`: does the hand ever get more energy than it put in?
//!
//! Thread: main (cold).
//!
//! Storms ([`super::storm`]) over three couplings, two devices, three latencies and four states of wear, first with the
//! energy bound, then the same storms without it, to show what it prevents. Many short ones rather than one long: every
//! storm starts with an empty ledger, and what the hand puts in only makes the bound easier to keep.

use super::storm::{Kind, Storm, StormFigures};
use super::{BenchError, Options, Record, Report};
use crate::device::{DeviceSpec, PerPart};
use crate::files::device_file;

const SUITE: &str = "passivity";

/// Ticks of one storm.
pub const TICKS_PER_STORM: u64 = 5_000;

/// The couplings by the names they have in records.
pub const KINDS: [(&str, Kind); 3] =
    [("spring", Kind::Spring), ("transparent", Kind::Transparent), ("direct", Kind::Direct)];

/// The shipped simulated devices, by the names they have in records.
///
/// # Errors
/// When a shipped file is wrong, which a test rules out.
pub fn devices() -> Result<[(&'static str, DeviceSpec); 2], BenchError> {
    let read = |bytes: &[u8], name| {
        device_file::parse(bytes, name)
            .map(|loaded| loaded.value)
            .map_err(|report| BenchError::Failed(Box::from(report.to_string())))
    };
    Ok([
        ("3dof", read(include_bytes!("../../devices/simulated-3dof.toml"), "simulated-3dof.toml")?),
        ("6dof", read(include_bytes!("../../devices/simulated-6dof.toml"), "simulated-6dof.toml")?),
    ])
}

/// Storms of `ticks` ticks in all on one coupling and device, spread over latencies of 0, 1 and 2 ticks, and over a device
/// with the losses its file states, with as little as is relied on, with drag alone, and with none.
#[must_use]
pub fn storms(kind: Kind, spec: &DeviceSpec, passivity: bool, ticks: u64, seed: u64) -> StormFigures {
    let storm = Storm { spec: spec.clone(), losses: 1.0, kind, passivity, ordered: false, ticks, seed };
    spread(&storm)
}

/// `storm`, cut into many and spread as in [`storms`].
#[must_use]
pub fn spread(storm: &Storm) -> StormFigures {
    let count = storm.ticks.div_ceil(TICKS_PER_STORM);
    let none = PerPart { linear: 0.0, angular: 0.0 };
    let all = (0..count).map(|index| {
        let mut spec = storm.spec.clone();
        let wear = (index / 3) % 4;
        spec.mechanics.latency_ticks = (index % 3) as u32;
        if wear >= 2 {
            spec.mechanics.friction = none;
        }
        if wear == 3 {
            spec.mechanics.damping = none;
        }
        let losses = if wear == 1 { 0.8 } else { 1.0 };
        let seed = storm.seed.wrapping_add(index);
        Storm { spec, losses, ticks: TICKS_PER_STORM, seed, ..*storm }.blow()
    });
    all.reduce(|sum, one| sum.with(&one)).unwrap_or_default()
}

/// Runs the suite: a million ticks with the bound, a tenth of that without.
///
/// # Errors
/// When the results cannot be written.
pub fn run(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let each = 1_000_000 / 6;
    for (device, spec) in devices()? {
        for (name, kind) in KINDS {
            report.remark(&format!("passivity: {name} on {device}"));
            let bound = storms(kind, &spec, true, each, options.seed);
            let free = storms(kind, &spec, false, each / 10, options.seed);
            put(report, &format!("{name}/{device}"), &bound, &free)?;
        }
    }
    Ok(())
}

fn put(report: &mut Report, name: &str, bound: &StormFigures, free: &StormFigures) -> Result<(), BenchError> {
    let share = |count: u64| count as f64 / bound.ticks.max(1) as f64;
    for (stat, value, unit) in [
        ("energy-out-max", bound.excess_max_j, "J"),
        ("energy-out-max-unbounded", free.excess_max_j, "J"),
        ("ledger-min", bound.ledger_min_j, "J"),
        ("absorbed", bound.absorbed_j, "J"),
        ("ticks-bounded", share(bound.bounded), "1"),
        ("ticks-touching", share(bound.touching), "1"),
        ("ticks-beyond-acceleration", share(bound.beyond), "1"),
        ("force-of-limit-max", bound.force_share_max, "1"),
        ("not-finite", bound.not_finite as f64, "1"),
        ("ticks", bound.ticks as f64, "1"),
    ] {
        report.put(Record::new(SUITE, name, stat, value, unit))?;
    }
    Ok(())
}
