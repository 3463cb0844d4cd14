//! How late the loop begins its ticks on this PC: measured, drawn, judged.
//!
//! Thread: main, and one real-time thread for the measurement.
//!
//! Runs the loop of the haptic thread ([`Pacer`](crate::shared::Pacer), [`acquire`](crate::shared::realtime::acquire)) with
//! the real tick over a mechanism of 105 rows. Every slot counts: those that a stall swallowed are late by what was left
//! of it. Counting only the ticks that ran would show a stall of 30 ms as one late tick out of thirty.

use std::fmt::Write as _;

use super::finding::{Finding, Topic};
use crate::bench::jitter::{LoopError, run_loop};
use crate::bench::tick::PlateRun;
use crate::shared::realtime::{Policy, RealtimeRequest};
use crate::shared::{DurationFigures, DurationHistogram, MonoNs, Tick};

const LATENESS: Topic = Topic {
    id: "lateness",
    why: "A tick that begins late sends its force late; one that is missed leaves the hand with the force before.",
};

/// Lateness called good, ns: what 999 of 1000 ticks must not exceed. A twentieth of the period. LinuxCNC's latency test
/// draws the same line: up to 50 µs a PC can even make step pulses itself.
pub(super) const GOOD_NS: u64 = 50_000;
/// Lateness called usable, ns. With half the period gone and 40 % of it reserved for the local solve, later ticks end
/// after the next is due. LinuxCNC calls more than 500 µs unacceptable for any machine.
pub(super) const USABLE_NS: u64 = 500_000;

/// Rate measured, Hz: the usual one.
const RATE_HZ: f64 = 1000.0;
/// Ticks that bring code and data into the caches and are not counted.
const WARM_UP_TICKS: u64 = 50;
/// Fewer slots than this have no 99.9th percentile apart from their maximum.
const COUNT_MIN: u64 = 1000;

/// Upper edges of the histogram's rows, µs; one more row holds what is above.
const EDGES_US: [u64; 13] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];
/// Longest bar, characters.
const BAR: usize = 48;

/// What was measured.
#[derive(Clone, Debug)]
pub(super) struct Lateness {
    /// Lateness of every slot, ns.
    pub(super) slots: DurationHistogram,
    /// Slots without a tick.
    pub(super) skipped: u64,
    /// Scheduling of the loop.
    pub(super) policy: Policy,
    /// Processor it was pinned to.
    pub(super) cpu: Option<usize>,
}

/// Counts slots as ticks come.
struct Slots {
    histogram: DurationHistogram,
    period_ns: u64,
    skipped: u64,
    /// When the tick before was due and when it ended.
    before: Option<(MonoNs, MonoNs)>,
}

impl Slots {
    fn new(period_ns: u64) -> Self {
        Self { histogram: DurationHistogram::new(), period_ns, skipped: 0, before: None }
    }

    /// Counts a tick and the slots skipped just before it; these could have begun when the tick before them ended.
    fn begin(&mut self, due: MonoNs, lateness_ns: u64, skipped: u64) {
        if let Some((due_before, ended)) = self.before {
            self.skipped += skipped;
            for slot in 1..=skipped {
                self.histogram.record(ended.since(due_before.plus(slot.saturating_mul(self.period_ns))));
            }
        }
        self.histogram.record(lateness_ns);
        self.before = Some((due, due));
    }

    fn end(&mut self, now: MonoNs) {
        self.before = self.before.map(|(due, _)| (due, now));
    }
}

/// Runs the loop for `seconds`, on `cpu` if it can be had.
///
/// # Errors
/// When the loop cannot be run at all; missing rights are no error.
pub(super) fn measure(cpu: usize, seconds: f64) -> Result<Lateness, LoopError> {
    let request = RealtimeRequest { cpu: Some(cpu), ..RealtimeRequest::default() };
    let mut plate = PlateRun::new(RATE_HZ, true, 1);
    let mut slots = Slots::new((1e9 / RATE_HZ) as u64);
    let warm_up_s = WARM_UP_TICKS as f64 / RATE_HZ;
    let (figures, _) = run_loop(&request, RATE_HZ, seconds + warm_up_s, |tick: &mut Tick<'_>| {
        let counted = tick.index > WARM_UP_TICKS;
        if counted {
            slots.begin(tick.due, tick.lateness_ns(), tick.skipped);
        }
        plate.beat(tick);
        if counted {
            slots.end(tick.now());
        }
    })?;
    Ok(Lateness {
        slots: slots.histogram,
        skipped: slots.skipped,
        policy: figures.status.policy,
        cpu: figures.status.cpu,
    })
}

impl Lateness {
    /// Median, tail and maximum.
    pub(super) fn figures(&self) -> DurationFigures {
        self.slots.figures()
    }

    /// Rows from the first to the last that holds something, bars on a logarithmic scale.
    pub(super) fn draw(&self) -> String {
        let mut below = 0;
        let mut rows = Vec::with_capacity(EDGES_US.len() + 1);
        for edge_us in EDGES_US {
            let up_to = self.slots.count_up_to(edge_us * 1000);
            rows.push((format!("≤ {edge_us:>5}"), up_to - below, edge_us * 1000));
            below = up_to;
        }
        rows.push((format!("> {:>5}", EDGES_US[EDGES_US.len() - 1]), self.slots.count() - below, u64::MAX));
        let most = rows.iter().map(|(_, count, _)| *count).max().unwrap_or(0);
        let filled: Vec<usize> = (0..rows.len()).filter(|row| rows[*row].1 > 0).collect();
        let (Some(first), Some(last)) = (filled.first(), filled.last()) else { return String::new() };
        let mut out = String::new();
        for (label, count, edge_ns) in &rows[*first..=*last] {
            let mark = match *edge_ns {
                GOOD_NS => "  good up to here",
                USABLE_NS => "  usable up to here",
                _ => "",
            };
            let _ = writeln!(out, "  {label} µs {count:>8}  {}{mark}", "█".repeat(bar(*count, most)));
        }
        out
    }
}

/// Length of a bar: logarithmic, nothing for nothing, something for one.
fn bar(count: u64, most: u64) -> usize {
    if count == 0 {
        return 0;
    }
    let share = ((count + 1) as f64).ln() / ((most.max(count) + 1) as f64).ln();
    ((BAR as f64 * share).round() as usize).max(1)
}

/// The verdict over a measurement, or over one that could not be made.
pub(super) fn judge(measured: &Result<Lateness, LoopError>) -> Finding {
    let lateness = match measured {
        Ok(lateness) => lateness,
        Err(error) => {
            return LATENESS.unfit(
                format!("could not be measured: {error}"),
                "free memory and processes (`ulimit -u`), then ask again",
            );
        }
    };
    let figures = lateness.figures();
    let us = |ns: u64| ns as f64 / 1e3;
    let mut seen = format!("p99.9 {:.0} µs, max {:.0} µs", us(figures.p999_ns), us(figures.max_ns));
    if lateness.skipped > 0 {
        let _ = write!(seen, ", {} of {} ticks missed", lateness.skipped, figures.count);
    }
    if figures.count < COUNT_MIN {
        let _ = write!(seen, " ({} ticks only: p99.9 is the maximum)", figures.count);
    }
    let mend = "follow the advice above from the top (rights, kernel, isolation, governor matter most), then `hapticd doctor \
                --seconds 600` while the PC does its usual work";
    if figures.p999_ns > USABLE_NS {
        LATENESS.unfit(seen, mend)
    } else if figures.p999_ns > GOOD_NS || lateness.skipped > 0 {
        LATENESS.advice(format!("{seen}: usable"), mend)
    } else {
        LATENESS.fit(format!("{seen}: good"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;
    use crate::shared::{Clock as _, ManualClock, Pacer};
    use std::ops::ControlFlow;

    const MS: u64 = 1_000_000;

    fn measured(lateness_ns: impl IntoIterator<Item = u64>, skipped: u64) -> Lateness {
        let mut slots = DurationHistogram::new();
        lateness_ns.into_iter().for_each(|ns| slots.record(ns));
        Lateness { slots, skipped, policy: Policy::Fifo(80), cpu: Some(7) }
    }

    /// `count` slots, `late` of them `late_ns` late and the others 10 µs.
    fn mostly_good(count: u64, late: u64, late_ns: u64) -> Lateness {
        measured((0..count).map(|n| if n < late { late_ns } else { 10_000 }), 0)
    }

    #[test]
    fn a_stall_counts_in_every_slot_it_swallowed() {
        let clock = ManualClock::at(MonoNs(0));
        let mut pacer = Pacer::new(1000.0, 0, MonoNs(5 * MS)).expect("the rate is in range");
        let mut slots = Slots::new(MS);
        pacer.run(
            &clock,
            // Slot 2, due at 7 ms, wakes 3.25 ms late; no other does.
            |until| clock.set(if until == MonoNs(7 * MS) { until.plus(3 * MS + MS / 4) } else { until }),
            0,
            |tick, _| {
                slots.begin(tick.due, tick.lateness_ns(), tick.skipped);
                clock.set(clock.now().plus(MS / 4));
                slots.end(clock.now());
                if tick.index == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        // It ends at 10.5 ms; slots 3, 4 and 5, due at 8, 9 and 10 ms, are gone: 2.5, 1.5 and 0.5 ms late.
        assert_eq!((slots.histogram.count(), slots.skipped), (8, 3));
        assert_eq!(slots.histogram.max_ns(), 3 * MS + MS / 4);
        let late: Vec<u64> = [400_000, 600_000, 1_400_000, 1_600_000, 2_400_000, 2_600_000, 3_300_000]
            .map(|ns| slots.histogram.count_up_to(ns))
            .into();
        assert_eq!(late, [4, 5, 5, 6, 6, 7, 8]);
    }

    #[test]
    fn the_verdict_goes_by_the_thousandth_worst_and_its_stated_bounds() {
        let verdict = |lateness: Lateness| judge(&Ok(lateness)).verdict;
        assert_eq!(verdict(mostly_good(10_000, 10_000, GOOD_NS)), Verdict::Fit);
        assert_eq!(verdict(mostly_good(10_000, 10_000, GOOD_NS + 100)), Verdict::Advice);
        assert_eq!(verdict(mostly_good(10_000, 10_000, USABLE_NS)), Verdict::Advice);
        assert_eq!(verdict(mostly_good(10_000, 10_000, USABLE_NS + 1000)), Verdict::Unfit);
        // Nine in ten thousand lie within the last thousandth; eleven do not.
        assert_eq!(verdict(mostly_good(10_000, 9, 5 * MS)), Verdict::Fit);
        assert_eq!(verdict(mostly_good(10_000, 11, 5 * MS)), Verdict::Unfit);
    }

    #[test]
    fn missed_ticks_are_told_and_never_called_good() {
        let finding = judge(&Ok(measured([10_000; 10_000], 3)));
        assert_eq!(finding.verdict, Verdict::Advice);
        assert!(finding.seen.contains("3 of 10000 ticks missed"), "{}", finding.seen);
    }

    #[test]
    fn a_short_measurement_says_that_it_is_short() {
        assert!(judge(&Ok(mostly_good(999, 0, 0))).seen.contains("999 ticks only"));
        assert!(!judge(&Ok(mostly_good(1000, 0, 0))).seen.contains("only"));
    }

    #[test]
    fn a_loop_that_cannot_run_is_a_finding_too() {
        let finding = judge(&Err(LoopError::Panicked));
        assert_eq!(finding.verdict, Verdict::Unfit);
        assert!(finding.seen.contains("could not be measured"), "{}", finding.seen);
    }

    #[test]
    fn every_slot_is_in_one_row_and_the_bars_are_logarithmic() {
        let mut all: Vec<u64> = vec![30_000; 9999];
        all.extend([150_000; 99]);
        all.extend([600_000, 20 * MS]);
        let drawn = measured(all, 0).draw();
        let rows: Vec<(u64, usize)> = drawn
            .lines()
            .map(|line| {
                let count = line.split_whitespace().nth(3).and_then(|word| word.parse().ok()).expect("a count");
                (count, line.matches('█').count())
            })
            .collect();
        // From ≤ 50 µs to > 10 000 µs, empty rows between included.
        let counts: Vec<u64> = rows.iter().map(|(count, _)| *count).collect();
        assert_eq!(counts, [9999, 0, 99, 0, 1, 0, 0, 0, 1]);
        // ln 10000 : ln 100 : ln 2 = 48 : 24 : 3.6.
        let bars: Vec<usize> = rows.iter().map(|(_, bar)| *bar).collect();
        assert_eq!(bars, [48, 0, 24, 0, 4, 0, 0, 0, 4]);
        assert!(drawn.lines().next().expect("a row").ends_with("good up to here"), "{drawn}");
        assert!(drawn.contains("usable up to here"), "{drawn}");
        assert_eq!(measured([], 0).draw(), "");
    }
}
