//! Suite `jitter`: how late the tick loop wakes up, beside cyclictest.
//!
//! Thread: main, and one real-time thread per measurement.
//!
//! For 1, 2 and 4 kHz, idle and loaded, three things take turns on the same processor, with the same priority and the
//! same number of wake-ups: our loop sleeping to the instant, our loop sleeping to shortly before it and spinning the
//! rest (hybrid), and cyclictest. Taking turns, and rotating who begins, spreads what the machine does over all three;
//! running at the same time would let them disturb each other.

use std::ops::ControlFlow;

use super::cyclictest::{self, CyclictestError};
use super::tick::PlateRun;
use super::{BenchError, Better, Load, Options, Record, Report, Summary};
use crate::shared::realtime::{self, RealtimeError, RealtimeRequest, RealtimeStatus, SystemClock};
use crate::shared::{Clock as _, DurationHistogram, MonoNs, Pacer, RateError, Tick};

const SUITE: &str = "jitter";
/// Rates measured, Hz: usual, and what fast devices ask for.
const RATES_HZ: [u32; 3] = [1000, 2000, 4000];
/// Wait spun by the hybrid loop, ns. Covers a usual wake-up; more was measured to gain nothing.
const SPIN_NS: u64 = 100_000;
/// Wake-ups of the first, unreported run: brings code and data into memory and shows which rights there are.
const PROBE_TICKS: u64 = 50;

/// What a loop did.
#[derive(Clone, Debug)]
pub struct LoopFigures {
    /// How late ticks began, ns.
    pub lateness: DurationHistogram,
    /// How long they took, ns.
    pub duration: DurationHistogram,
    /// Slots between two ticks skipped because the first of them ended too late.
    pub skipped: u64,
    /// Times that happened.
    pub overruns: u64,
    /// Time on the processor, spinning included, ns.
    pub busy_ns: u64,
    /// Time from the first tick to the end of the last, ns.
    pub elapsed_ns: u64,
    /// What the thread got from the system.
    pub status: RealtimeStatus,
}

impl LoopFigures {
    /// Adds what another run of the same loop did.
    pub fn merge(&mut self, other: &Self) {
        self.lateness.merge(&other.lateness);
        self.duration.merge(&other.duration);
        self.skipped += other.skipped;
        self.overruns += other.overruns;
        self.busy_ns += other.busy_ns;
        self.elapsed_ns += other.elapsed_ns;
    }
}

/// Why a loop could not be run.
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    /// No such rate.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// The thread could not be started.
    #[error("the thread of the loop could not be started: {0}")]
    Thread(std::io::Error),
    /// The body panicked.
    #[error("the body of the loop panicked")]
    Panicked,
}

/// Runs `body` at `rate_hz` for `seconds` on a thread of its own with the rights asked for, and measures every tick.
/// Gives the figures and what was refused: it runs without what it does not get.
///
/// # Errors
/// [`LoopError`] when the loop cannot be run at all.
pub fn run_loop(
    request: &RealtimeRequest,
    rate_hz: f64,
    seconds: f64,
    body: impl FnMut(&mut Tick<'_>) + Send,
) -> Result<(LoopFigures, Vec<RealtimeError>), LoopError> {
    let ticks = ((rate_hz * seconds).round() as u64).max(1);
    Pacer::new(rate_hz, request.spin_ns, MonoNs(0))?;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("bench-loop".to_owned());
        let thread = thread.spawn_scoped(scope, move || measured_ticks(request, rate_hz, ticks, body));
        thread.map_err(LoopError::Thread)?.join().map_err(|_| LoopError::Panicked)?.map_err(LoopError::Rate)
    })
}

/// The thread's own part: everything is made before the rights are acquired, nothing after.
fn measured_ticks(
    request: &RealtimeRequest,
    rate_hz: f64,
    ticks: u64,
    mut body: impl FnMut(&mut Tick<'_>),
) -> Result<(LoopFigures, Vec<RealtimeError>), RateError> {
    let (mut lateness, mut duration) = (DurationHistogram::new(), DurationHistogram::new());
    let rights = realtime::acquire(request);
    let period_ns = Pacer::new(rate_hz, request.spin_ns, MonoNs(0))?.period_ns();
    let (first, busy_before_ns) = (SystemClock.now().plus(period_ns), realtime::thread_busy_ns());
    let mut pacer = Pacer::new(rate_hz, request.spin_ns, first)?;
    let (mut ended, mut skipped, mut overruns) = (first, 0, 0);
    pacer.run(&SystemClock, realtime::sleep_until, period_ns / 2, |tick, skipped_before| {
        skipped += skipped_before;
        overruns += u64::from(skipped_before > 0);
        lateness.record(tick.lateness_ns());
        body(tick);
        ended = tick.now();
        duration.record(ended.since(tick.began));
        if tick.index >= ticks { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let figures = LoopFigures {
        lateness,
        duration,
        skipped,
        overruns,
        busy_ns: realtime::thread_busy_ns().saturating_sub(busy_before_ns),
        elapsed_ns: ended.since(first),
        status: rights.status,
    };
    Ok((figures, rights.refusals))
}

/// The suite with the real haptic tick as the body: a plate on a compliant surface, 105 rows.
///
/// # Errors
/// See [`run_with`].
pub fn run(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let seed = options.seed;
    run_with(options, report, |rate_hz| {
        let mut plate = PlateRun::new(rate_hz, true, seed);
        move |now: &mut Tick<'_>| {
            plate.beat(now);
        }
    })
}

/// The suite with the body that `make_body` makes for a rate in Hz.
///
/// # Errors
/// When the loop cannot be run or the results cannot be written. A missing peer or missing rights are no error: they
/// are said, and what can be measured is.
pub fn run_with<B: FnMut(&mut Tick<'_>) + Send>(
    options: &Options,
    report: &mut Report,
    mut make_body: impl FnMut(f64) -> B,
) -> Result<(), BenchError> {
    let cpus = realtime::allowed_cpus();
    let cpu = options.cpu.or_else(|| cpus.last().copied()).unwrap_or(0);
    let request = RealtimeRequest { priority: options.priority, cpu: Some(cpu), ..RealtimeRequest::default() };
    let probe_s = PROBE_TICKS as f64 / f64::from(RATES_HZ[0]);
    let (probe, refusals) =
        run_loop(&request, f64::from(RATES_HZ[0]), probe_s, make_body(f64::from(RATES_HZ[0]))).map_err(failed)?;
    for refusal in &refusals {
        report.remark(&format!("not granted, measured without: {refusal}"));
    }
    report.remark(&format!("processor {cpu}, {}; lateness of each wake-up, lower is better", probe.status.policy));
    if let Some(load) = load_average().filter(|load| *load > 0.25 * cpus.len() as f64) {
        report.remark(&format!(
            "other programs keep this machine busy (load {load}): `idle` means only that we add none"
        ));
    }

    let mut suite = Turns { options, request, status: probe.status, with_peer: true };
    for rate_hz in RATES_HZ {
        for loaded in [false, true] {
            let load = if loaded { Some(Load::start(&cpus)?) } else { None };
            let condition = format!("{}kHz/{}", rate_hz / 1000, if loaded { "loaded" } else { "idle" });
            report.remark(&format!("{condition}: {} rounds of {} s in all", options.rounds, options.seconds));
            let outcome = suite.take_turns(rate_hz, report, || make_body(f64::from(rate_hz)))?;
            drop(load);
            outcome.put(&condition, report)?;
        }
    }
    Ok(())
}

/// What stays the same through all conditions.
struct Turns<'a> {
    options: &'a Options,
    request: RealtimeRequest,
    status: RealtimeStatus,
    with_peer: bool,
}

/// What all rounds of one condition gave: ours sleeping, ours hybrid, the peer.
#[derive(Default)]
struct Outcome {
    sleep: Rounds<LoopFigures>,
    hybrid: Rounds<LoopFigures>,
    peer: Rounds<DurationHistogram>,
}

/// All rounds together, and the 99th percentile of each: its median is what one disturbed round cannot spoil.
struct Rounds<T> {
    all: Option<T>,
    p99_us: Vec<f64>,
}

impl<T> Default for Rounds<T> {
    fn default() -> Self {
        Self { all: None, p99_us: Vec::new() }
    }
}

impl<T> Rounds<T> {
    fn add(&mut self, round: T, p99_ns: u64, merge: impl FnOnce(&mut T, &T)) {
        self.p99_us.push(p99_ns as f64 * 1e-3);
        match &mut self.all {
            Some(all) => merge(all, &round),
            None => self.all = Some(round),
        }
    }

    fn median_p99_us(&self) -> f64 {
        Summary::of(&self.p99_us).map_or(f64::NAN, |summary| summary.p50)
    }
}

impl Turns<'_> {
    fn take_turns<B: FnMut(&mut Tick<'_>) + Send>(
        &mut self,
        rate_hz: u32,
        report: &mut Report,
        mut make_body: impl FnMut() -> B,
    ) -> Result<Outcome, BenchError> {
        let seconds = self.options.seconds / f64::from(self.options.rounds);
        let count = ((f64::from(rate_hz) * seconds).round() as u64).max(1);
        let mut outcome = Outcome::default();
        for round in 0..self.options.rounds {
            for turn in 0..3 {
                // Rotated, so that nobody always follows the same neighbour.
                match (round + turn) % 3 {
                    0 => self.ours(rate_hz, seconds, 0, make_body(), &mut outcome.sleep)?,
                    1 => self.ours(rate_hz, seconds, SPIN_NS, make_body(), &mut outcome.hybrid)?,
                    _ if self.with_peer => self.theirs(rate_hz, count, report, &mut outcome.peer),
                    _ => {}
                }
            }
        }
        outcome.check()?;
        Ok(outcome)
    }

    fn ours(
        &self,
        rate_hz: u32,
        seconds: f64,
        spin_ns: u64,
        body: impl FnMut(&mut Tick<'_>) + Send,
        rounds: &mut Rounds<LoopFigures>,
    ) -> Result<(), BenchError> {
        let request = RealtimeRequest { spin_ns, ..self.request };
        let (figures, _) = run_loop(&request, f64::from(rate_hz), seconds, body).map_err(failed)?;
        let p99_ns = figures.lateness.percentile_ns(99.0);
        rounds.add(figures, p99_ns, LoopFigures::merge);
        Ok(())
    }

    /// One turn of cyclictest with the rights our loop has. Without real-time rights it is asked for ordinary scheduling
    /// too, so that like is compared with like.
    fn theirs(&mut self, rate_hz: u32, count: u64, report: &mut Report, rounds: &mut Rounds<DurationHistogram>) {
        let settings = cyclictest::Settings {
            interval_us: 1_000_000 / rate_hz,
            count,
            priority: match self.status.policy {
                realtime::Policy::Fifo(priority) => Some(priority),
                realtime::Policy::Ordinary => None,
            },
            cpu: self.status.cpu.unwrap_or(0),
            lock_memory: self.status.memory != realtime::MemoryLock::None,
        };
        match cyclictest::run(&settings) {
            Ok(histogram) => {
                let p99_ns = histogram.percentile_ns(99.0);
                rounds.add(histogram, p99_ns, DurationHistogram::merge);
            }
            Err(error) => {
                // One failure ends the comparison: rounds without it would not be the same rounds.
                self.with_peer = false;
                *rounds = Rounds::default();
                report.remark(&format!("no comparison, ours alone: {error}"));
                if matches!(error, CyclictestError::Refused(_)) && settings.priority.is_none() {
                    report.remark("cyclictest wants real-time rights even for ordinary scheduling");
                }
            }
        }
    }
}

impl Outcome {
    /// Ours and the peer must have woken up equally often.
    fn check(&self) -> Result<(), BenchError> {
        let ours = [&self.sleep, &self.hybrid].map(|figures| figures.all.as_ref().map_or(0, |f| f.lateness.count()));
        match &self.peer.all {
            Some(peer) if ours != [peer.count(); 2] => Err(BenchError::Disagreement {
                name: SUITE.to_owned(),
                baseline: "cyclictest".to_owned(),
                what: format!("{ours:?} wake-ups against {}", peer.count()),
            }),
            _ => Ok(()),
        }
    }

    fn put(&self, condition: &str, report: &mut Report) -> Result<(), BenchError> {
        let peer = self.peer.all.as_ref().map(|histogram| Summary::in_us(&histogram.figures()));
        for (variant, rounds) in [("sleep", &self.sleep), ("hybrid", &self.hybrid)] {
            let Some(figures) = &rounds.all else { continue };
            let name = format!("{condition}/{variant}");
            let ours = Summary::in_us(&figures.lateness.figures());
            match &peer {
                Some(peer) => report.put_comparison(SUITE, &name, "us", &ours, ("cyclictest", peer))?,
                None => report.put_summary(SUITE, &name, "us", &ours)?,
            }
            let typical = Record::new(SUITE, &name, "p99-median-round", rounds.median_p99_us(), "us");
            report.put(match &peer {
                Some(_) => typical.versus("cyclictest", self.peer.median_p99_us(), Better::Lower),
                None => typical,
            })?;
            let share = 100.0 * figures.busy_ns as f64 / figures.elapsed_ns.max(1) as f64;
            let (skipped, overruns) = (figures.skipped as f64, figures.overruns as f64);
            report.put(Record::new(SUITE, &name, "skipped", skipped, "1"))?;
            report.put(Record::new(SUITE, &name, "overruns", overruns, "1"))?;
            report.put(Record::new(SUITE, &name, "core-share", share, "%"))?;
        }
        Ok(())
    }
}

/// Programs running or waiting to run, averaged over the last minute.
fn load_average() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

fn failed(error: LoopError) -> BenchError {
    BenchError::Failed(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Format;

    fn ordinary() -> RealtimeRequest {
        RealtimeRequest { priority: 0, cpu: None, spin_ns: 0, lock_memory: false, stack_prefault_bytes: 0 }
    }

    #[test]
    fn every_tick_of_a_loop_is_counted_and_none_begins_early() {
        let mut seen = Vec::with_capacity(100);
        let (figures, refusals) = run_loop(&ordinary(), 2000.0, 0.05, |tick| {
            seen.push((tick.index, tick.due, tick.began));
        })
        .expect("the loop runs");
        assert!(refusals.is_empty());
        assert_eq!((figures.lateness.count(), figures.duration.count()), (100, 100));
        assert!(seen.iter().all(|(_, due, began)| began >= due));
        assert!(seen.iter().map(|(index, ..)| *index).eq(1..=100));
        let longest = seen.iter().map(|(_, due, began)| began.since(*due)).max();
        assert_eq!(Some(figures.lateness.max_ns()), longest);
        // The slots between the first and the last tick are ticks or counted as skipped.
        assert_eq!(figures.skipped, seen[99].1.since(seen[0].1) / 500_000 - 99);
    }

    #[test]
    fn a_spinning_loop_begins_no_tick_early_either() {
        let request = RealtimeRequest { spin_ns: SPIN_NS, ..ordinary() };
        let mut early = 0;
        let (figures, _) =
            run_loop(&request, 4000.0, 0.02, |tick| early += u32::from(tick.began < tick.due)).expect("the loop runs");
        assert_eq!((early, figures.lateness.count()), (0, 80));
    }

    #[test]
    fn a_body_that_overruns_shows_as_skipped_slots_and_not_as_lateness() {
        let (figures, _) = run_loop(&ordinary(), 1000.0, 0.01, |tick| {
            while tick.now().since(tick.began) < 2_500_000 {
                std::hint::spin_loop();
            }
        })
        .expect("the loop runs");
        assert_eq!(figures.overruns, 9);
        assert!(figures.skipped >= 18, "{}", figures.skipped);
        assert!(figures.duration.max_ns() >= 2_500_000);
    }

    #[test]
    fn a_panicking_body_and_a_wrong_rate_are_errors_not_a_crash() {
        let error = run_loop(&ordinary(), 0.0, 1.0, |_| ()).expect_err("no such rate");
        assert!(matches!(error, LoopError::Rate(_)));
        let error = run_loop(&ordinary(), 1000.0, 0.01, |_| std::panic::resume_unwind(Box::new("on purpose")))
            .expect_err("the body panics");
        assert!(matches!(error, LoopError::Panicked));
    }

    #[test]
    fn the_suite_reports_every_condition_and_variant_with_or_without_the_peer() {
        let options = Options { seconds: 0.02, rounds: 2, ..Options::default() };
        let mut report = Report::new(Format::Table, Box::new(std::io::sink()), Box::new(std::io::sink()));
        run(&options, &mut report).expect("the suite runs");
        let records = report.records();
        // Three rates, idle and loaded, two variants; for each five figures that compare, a count and three more.
        assert_eq!(records.len(), 3 * 2 * 2 * 9);
        let compared = records.iter().filter(|r| r.comparison.is_some()).count();
        assert!(compared == 0 || compared == 3 * 2 * 2 * 5, "{compared}");
        for record in records.iter().filter(|r| r.stat == "count") {
            let rate = if record.name.starts_with('1') {
                1000.0
            } else if record.name.starts_with('2') {
                2000.0
            } else {
                4000.0
            };
            assert_eq!(record.value, rate * 0.02, "{}", record.name);
        }
    }
}
