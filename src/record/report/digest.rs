//! A recording boiled down to what a page shows.
//!
//! Thread: main (cold).

use super::super::{Entry, Provenance, ReadError, Reader};
use crate::haptic::TickRecord;
use crate::shared::lifecycle::State;
use crate::shared::{DurationHistogram, Faults, MonoNs, Parameter};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Most points of a curve: twice the pixels it gets.
const BINS_MAX: usize = 2000;
/// Finest resolution of a curve, ns.
const BIN_LEAST_NS: u64 = 1_000_000;
/// Most faults that are told one by one.
const FAULTS_MAX: usize = 40;
/// Lateness is counted in bins of a quarter of a decade, from 100 ns to 1 s.
pub(super) const LATE_BINS: usize = 28;
const LATE_LEAST_NS: f64 = 100.0;
const LATE_PER_DECADE: f64 = 4.0;

/// A curve over time: least and greatest value of each bin. Bins widen as the recording grows.
#[derive(Clone, Debug)]
pub struct Series {
    width_ns: u64,
    bins: Vec<Option<(f64, f64)>>,
}

impl Default for Series {
    fn default() -> Self {
        Self { width_ns: BIN_LEAST_NS, bins: Vec::new() }
    }
}

impl Series {
    fn push(&mut self, at_ns: u64, value: f64) {
        if !value.is_finite() {
            return;
        }
        while at_ns / self.width_ns >= BINS_MAX as u64 {
            self.width_ns *= 2;
            let pairs = self.bins.chunks(2).map(|pair| pair.iter().flatten().copied().reduce(join));
            self.bins = pairs.collect();
        }
        let place = (at_ns / self.width_ns) as usize;
        if place >= self.bins.len() {
            self.bins.resize(place + 1, None);
        }
        let bin = &mut self.bins[place];
        *bin = Some(bin.map_or((value, value), |old| join(old, (value, value))));
    }

    /// Time in seconds, least and greatest value of every bin that has one.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        let seconds = |place: usize| place as f64 * self.width_ns as f64 / 1e9;
        self.bins.iter().enumerate().filter_map(move |(place, bin)| bin.map(|(low, high)| (seconds(place), low, high)))
    }

    /// Greatest value, at least zero.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.points().fold(0.0, |peak, (_, _, high)| peak.max(high))
    }
}

fn join(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0.min(b.0), a.1.max(b.1))
}

/// Something with a name at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// Since the first tick, s.
    pub time_s: f64,
    /// What.
    pub name: String,
}

/// A fault that began, and what was going on.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultSeen {
    /// When, and which.
    pub moment: Moment,
    /// Force at that tick, N.
    pub force_n: f64,
    /// Lateness of that tick, ns.
    pub lateness_ns: u64,
    /// Operating state.
    pub state: State,
}

/// How the task ended, by the last result in the recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Achieved, and no safety rule broken.
    pub success: bool,
    /// Each goal and whether it was met.
    pub goals: Vec<(String, bool)>,
    /// Why it ended early.
    pub reason: Option<String>,
}

/// Everything a page shows of a recording.
#[derive(Debug)]
pub struct Digest {
    /// The file.
    pub path: PathBuf,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Why it ends early, if it does.
    pub cut_short: Option<String>,
    /// Ticks.
    pub ticks: u64,
    /// From first to last tick, s.
    pub duration_s: f64,
    /// Ticks and events that are missing.
    pub lost: u64,
    /// Force on the hand, N.
    pub force: Series,
    /// Torque on the hand, N·m.
    pub torque: Series,
    /// Largest force allowed, N.
    pub limit: Series,
    /// Force beyond the limit of its own tick was sent.
    pub beyond_limit: bool,
    /// Energy the hand has put in and not got back, J.
    pub balance: Series,
    /// Lowest of it, J.
    pub balance_min_j: f64,
    /// Overlap of proxy and scene, µm.
    pub overlap: Series,
    /// Lateness and time of a tick.
    pub lateness: DurationHistogram,
    /// Time a tick took.
    pub compute: DurationHistogram,
    /// Ticks per bin of lateness.
    pub late_bins: [u64; LATE_BINS],
    /// Phases of the task, as they began.
    pub phases: Vec<Moment>,
    /// Marks.
    pub marks: Vec<Moment>,
    /// The first faults, one by one.
    pub faults: Vec<FaultSeen>,
    /// All kinds of faults met.
    pub fault_kinds: Faults,
    /// Latched faults: when, cause and remedy.
    pub trips: Vec<Moment>,
    /// How the task ended.
    pub outcome: Option<Outcome>,
}

/// Lower edge of a bin of lateness, µs.
pub(super) fn late_edge_us(bin: usize) -> f64 {
    LATE_LEAST_NS / 1e3 * 10f64.powf(bin as f64 / LATE_PER_DECADE)
}

fn late_bin(ns: u64) -> usize {
    let place = (ns as f64 / LATE_LEAST_NS).max(1.0).log10() * LATE_PER_DECADE;
    (place as usize).min(LATE_BINS - 1)
}

/// What is known between two entries.
#[derive(Default)]
struct Walk {
    first: Option<MonoNs>,
    last: Option<TickRecord>,
}

impl Digest {
    /// Reads a recording.
    ///
    /// # Errors
    /// [`ReadError`] when it cannot be read, or holds no tick.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let mut reader = Reader::open(path)?;
        let mut digest = Self::empty(path, reader.provenance().clone());
        let mut walk = Walk::default();
        for entry in reader.by_ref() {
            digest.take(entry?, &mut walk);
        }
        digest.cut_short = reader.cut_short().map(String::from);
        if digest.ticks == 0 {
            return Err(ReadError::Damaged { path: path.into(), why: "there is no tick in it".into() });
        }
        Ok(digest)
    }

    fn empty(path: &Path, provenance: Provenance) -> Self {
        Self {
            path: path.into(),
            provenance,
            cut_short: None,
            ticks: 0,
            duration_s: 0.0,
            lost: 0,
            force: Series::default(),
            torque: Series::default(),
            limit: Series::default(),
            beyond_limit: false,
            balance: Series::default(),
            balance_min_j: 0.0,
            overlap: Series::default(),
            lateness: DurationHistogram::new(),
            compute: DurationHistogram::new(),
            late_bins: [0; LATE_BINS],
            phases: Vec::new(),
            marks: Vec::new(),
            faults: Vec::new(),
            fault_kinds: Faults::NONE,
            trips: Vec::new(),
            outcome: None,
        }
    }

    fn take(&mut self, entry: Entry, walk: &mut Walk) {
        let moment = |name: String| Moment { time_s: self.duration_s, name };
        match entry {
            Entry::Tick(record) => self.tick(&record, walk),
            Entry::Mark(_, text) => self.marks.push(moment(text)),
            Entry::Lost(lost) => self.lost = lost,
            Entry::Fault(_, name) => {
                let moment = moment(name);
                if let Some(record) = walk.last.filter(|_| self.faults.len() < FAULTS_MAX) {
                    let (force_n, lateness_ns) = (record.force.force.norm(), record.lateness_ns);
                    self.faults.push(FaultSeen { moment, force_n, lateness_ns, state: record.state });
                }
            }
            Entry::Event(_, event) => {
                let name = event.get("name").and_then(Value::as_str).unwrap_or_default();
                match event.get("kind").and_then(Value::as_str) {
                    Some("phase") => self.phases.push(moment(name.into())),
                    Some("result") => self.outcome = Some(outcome(&event)),
                    _ => {}
                }
            }
            Entry::Step(_)
            | Entry::Order(..)
            | Entry::Contacts(..)
            | Entry::Places(_)
            | Entry::Skins(_)
            | Entry::Path(_) => {}
        }
    }

    fn tick(&mut self, record: &TickRecord, walk: &mut Walk) {
        let first = *walk.first.get_or_insert(record.due);
        let at = record.due.since(first);
        self.ticks += 1;
        self.duration_s = at as f64 / 1e9;
        let allowed = record.parameters.get(Parameter::MaxForce);
        let allowed = if allowed > 0.0 { allowed } else { self.provenance.force_limit_n };
        let force_n = record.force.force.norm();
        self.force.push(at, force_n);
        self.torque.push(at, record.force.torque.norm());
        self.limit.push(at, allowed);
        // A limit that is being lowered is met within the slew of the force; the one of the scene always holds.
        self.beyond_limit |= force_n > self.provenance.force_limit_n * (1.0 + 1e-9);
        self.balance.push(at, record.account.balance_j);
        self.balance_min_j = self.balance_min_j.min(record.account.balance_min_j);
        self.overlap.push(at, 1e6 * record.penetration_m);
        self.lateness.record(record.lateness_ns);
        self.compute.record(record.compute_ns);
        self.late_bins[late_bin(record.lateness_ns)] += 1;
        self.fault_kinds.set(record.faults);
        let before = walk.last.and_then(|last| last.cause);
        if let Some(cause) = record.cause.filter(|cause| before != Some(*cause)) {
            let name = format!("{} {}: {}", cause.code(), cause.name(), cause.remedy());
            self.trips.push(Moment { time_s: self.duration_s, name });
        }
        walk.last = Some(*record);
    }

    /// True when nothing was done that must never be done.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        let forbidden = Faults::FORCE_INVALID.with(Faults::SOLVER_FAILED);
        let met = Faults::ALL.iter().any(|(fault, _)| forbidden.contains(*fault) && self.fault_kinds.contains(*fault));
        !self.beyond_limit && self.balance_min_j >= -1e-6 && !met
    }

    /// The verdict, in a sentence or two.
    #[must_use]
    pub fn verdict(&self) -> String {
        let mut parts = vec![match &self.outcome {
            Some(outcome) if outcome.success => format!("Task achieved in {:.1} s", self.duration_s),
            Some(Outcome { reason: Some(reason), .. }) => format!("Task not achieved: {reason}"),
            Some(_) => "Task not achieved".into(),
            None => format!("{:.1} s recorded, no task", self.duration_s),
        }];
        let (peak, limit) = (self.force.peak(), self.provenance.force_limit_n);
        parts.push(if self.beyond_limit {
            format!("a force of {peak:.2} N was sent BEYOND the limit of {limit:.2} N")
        } else {
            format!("force stayed within its limit ({peak:.2} of {limit:.2} N)")
        });
        parts.push(if self.balance_min_j >= -1e-6 {
            "the hand never got more energy than it put in".into()
        } else {
            format!("the hand GOT {:.1e} J MORE than it put in", -self.balance_min_j)
        });
        parts.push(match self.trips.as_slice() {
            [] => "no latched fault".into(),
            [first, ..] => format!("{} latched, first {}", self.trips.len(), first.name),
        });
        if self.lost > 0 {
            parts.push(format!("{} ticks or events are missing", self.lost));
        }
        if let Some(why) = &self.cut_short {
            parts.push(format!("the file was cut short ({why})"));
        }
        parts.join("; ") + "."
    }
}

fn outcome(event: &Value) -> Outcome {
    let goal = |goal: &Value| {
        Some((goal.get("name")?.as_str()?.to_string(), goal.get("met").and_then(Value::as_bool).unwrap_or_default()))
    };
    Outcome {
        success: event.get("success").and_then(Value::as_bool).unwrap_or_default(),
        goals: event.get("goals").and_then(Value::as_array).into_iter().flatten().filter_map(goal).collect(),
        reason: event.get("reason").and_then(Value::as_str).map(String::from),
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn a_curve_of_any_length_keeps_its_extremes_in_bounded_room() {
        let mut series = Series::default();
        for k in 0..1_000_000_u64 {
            series.push(k * 1_000_000, if k == 777_777 { 9.0 } else { (k % 10) as f64 * 0.1 });
        }
        series.push(1_000_000_000_000, f64::NAN);
        assert!(series.bins.len() <= BINS_MAX && series.bins.len() > BINS_MAX / 4);
        assert!((series.peak() - 9.0).abs() < 1e-12);
        let (at, ..) = series.points().find(|(_, _, high)| *high > 8.0).expect("the peak is there");
        assert!((at - 777.777).abs() < 1.1, "{at}");
        assert!(series.points().all(|(_, low, _)| low < 0.1));
    }

    #[test]
    fn bins_of_lateness_hold_what_their_edges_say() {
        for ns in [0, 99, 100, 178, 1_000, 54_321, 1_000_000, 999_999_999, u64::MAX] {
            let (bin, us) = (late_bin(ns), ns as f64 / 1e3);
            assert!(bin == 0 || late_edge_us(bin) <= us * (1.0 + 1e-9), "{ns}");
            assert!(bin == LATE_BINS - 1 || us < late_edge_us(bin + 1), "{ns}");
        }
    }
}
