//! The daemon's figures as text for Prometheus, exposition format 0.0.4.
//!
//! Thread: control.
//!
//! Names follow Prometheus' customs: base units at the end, `_total` for what only grows. A series is always there, at zero
//! if need be, so that an alert on it can be written before it first happens.

use crate::haptic::Account;
use crate::shared::lifecycle::State;
use crate::shared::{DurationFigures, FaultCounts};
use std::fmt::{Display, Write as _};

/// What the text is called in an HTTP header.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How full a bounded queue is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Name, such as `records`.
    pub name: &'static str,
    /// Entries that wait.
    pub waiting: u64,
    /// Entries that fit.
    pub capacity: u64,
}

/// What the haptic loop has to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoopMetrics {
    /// It has real-time rights.
    pub realtime: bool,
    /// Ticks done.
    pub ticks: u64,
    /// Times a tick ended so late that others were skipped.
    pub overruns: u64,
    /// Ticks skipped.
    pub skipped: u64,
    /// Forces the device did not take.
    pub unheard: u64,
    /// Records lost because nobody took them.
    pub records_dropped: u64,
    /// How late ticks began.
    pub lateness: DurationFigures,
    /// How long they took.
    pub compute: DurationFigures,
    /// Ticks that met each fault.
    pub faults: FaultCounts,
    /// Energy at the handle.
    pub energy: Account,
    /// Magnitude of the force sent last, N.
    pub force_n: f64,
    /// Magnitude of the torque sent last, N·m.
    pub torque_nm: f64,
    /// Most force allowed, N.
    pub force_max_n: f64,
}

/// What the simulation has to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SimulationMetrics {
    /// It runs.
    pub running: bool,
    /// Steps that ended too late.
    pub overruns: u64,
    /// Steps that did not converge.
    pub unconverged: u64,
    /// How long steps took.
    pub step_times: DurationFigures,
}

/// What the control plane has to tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ControlMetrics {
    /// Clients heard of lately.
    pub clients: u64,
    /// Leases that run.
    pub leases: u64,
    /// Streams that run.
    pub streams: u64,
    /// OSC messages by what became of them, such as `done` or `refused`.
    pub messages: Vec<(&'static str, u64)>,
    /// Queues.
    pub queues: Vec<Queue>,
}

/// What the recorder has to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderMetrics {
    /// A recording is under way.
    pub active: bool,
    /// Bytes written since the daemon began.
    pub bytes: u64,
    /// Records it lost since the daemon began.
    pub lost: u64,
}

/// Everything that is exposed; the daemon fills it when asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Version of the program.
    pub version: &'static str,
    /// Since the daemon began, s.
    pub uptime_s: f64,
    /// Operating state.
    pub state: State,
    /// The device knows where it is.
    pub homed: bool,
    /// Faults that wait to be acknowledged: every code there is, with how many wait.
    pub latched: Vec<(&'static str, u64)>,
    /// The haptic loop.
    pub haptic: LoopMetrics,
    /// The simulation.
    pub simulation: SimulationMetrics,
    /// The control plane.
    pub control: ControlMetrics,
    /// The recorder.
    pub recorder: RecorderMetrics,
}

/// The whole page.
#[must_use]
pub fn page(metrics: &Metrics) -> String {
    let mut page = Page::default();
    program(&mut page, metrics);
    haptic(&mut page, &metrics.haptic);
    simulation(&mut page, &metrics.simulation);
    control(&mut page, &metrics.control);
    recorder(&mut page, &metrics.recorder);
    page.0
}

fn program(page: &mut Page, metrics: &Metrics) {
    page.family("build_info", Kind::Gauge, "The program; always 1.");
    page.labelled("build_info", ("version", metrics.version), 1);
    page.gauge("uptime_seconds", "Time since the daemon began.", metrics.uptime_s);
    page.family("state", Kind::Gauge, "Operating state; 1 for the one that holds.");
    for state in [State::Disabled, State::Enabled, State::Paused, State::Fault] {
        page.labelled("state", ("state", state.name()), u8::from(state == metrics.state));
    }
    page.gauge("homed", "1 when the device knows where it is.", u8::from(metrics.homed));
    page.each("faults_latched", Kind::Gauge, "Faults that wait to be acknowledged.", "code", &metrics.latched);
}

fn haptic(page: &mut Page, haptic: &LoopMetrics) {
    page.gauge("realtime", "1 when the haptic loop has real-time rights.", u8::from(haptic.realtime));
    page.counter("ticks_total", "Ticks of the haptic loop.", haptic.ticks);
    page.counter("tick_overruns_total", "Times a tick ended so late that others were skipped.", haptic.overruns);
    page.counter("ticks_skipped_total", "Ticks skipped because the one before ended too late.", haptic.skipped);
    page.counter("forces_unheard_total", "Forces the device did not take.", haptic.unheard);
    page.counter("records_dropped_total", "Tick records lost because nobody took them.", haptic.records_dropped);
    page.durations("tick_lateness", "How late ticks began.", &haptic.lateness);
    page.durations("tick_compute", "How long ticks took until the force was handed over.", &haptic.compute);
    let faults: Vec<_> = haptic.faults.by_name().collect();
    page.each("tick_faults_total", Kind::Counter, "Ticks that met each fault.", "fault", &faults);
    let energy = &haptic.energy;
    page.gauge("energy_reserve_joules", "Energy that may still be given to the hand.", energy.reserve_j);
    page.gauge("energy_balance_joules", "Energy the hand put in and did not get back.", energy.balance_j);
    page.gauge("energy_balance_min_joules", "Lowest balance so far.", energy.balance_min_j);
    page.counter("energy_taken_joules_total", "Energy taken from the hand, at least.", energy.taken_j);
    page.counter("energy_given_joules_total", "Energy given to the hand, at most.", energy.given_j);
    page.gauge("force_newtons", "Magnitude of the force sent last.", haptic.force_n);
    page.gauge("force_max_newtons", "Most force allowed.", haptic.force_max_n);
    page.gauge("torque_newton_meters", "Magnitude of the torque sent last.", haptic.torque_nm);
}

fn simulation(page: &mut Page, simulation: &SimulationMetrics) {
    page.gauge("simulation_running", "1 while the simulation runs.", u8::from(simulation.running));
    page.counter("simulation_overruns_total", "Simulation steps that ended too late.", simulation.overruns);
    let text = "Simulation steps that did not converge; bodies stayed where they were last in balance.";
    page.counter("simulation_unconverged_total", text, simulation.unconverged);
    page.durations("simulation_step", "How long simulation steps took.", &simulation.step_times);
}

fn control(page: &mut Page, control: &ControlMetrics) {
    page.gauge("clients", "Clients heard of lately.", control.clients);
    page.gauge("leases", "Leases that run.", control.leases);
    page.gauge("streams", "Streams that run.", control.streams);
    let about = "OSC messages by what became of them.";
    page.each("osc_messages_total", Kind::Counter, about, "outcome", &control.messages);
    let waiting: Vec<_> = control.queues.iter().map(|queue| (queue.name, queue.waiting)).collect();
    page.each("queue_waiting", Kind::Gauge, "Entries that wait in a queue.", "queue", &waiting);
    let capacity: Vec<_> = control.queues.iter().map(|queue| (queue.name, queue.capacity)).collect();
    page.each("queue_capacity", Kind::Gauge, "Entries that fit into a queue.", "queue", &capacity);
}

fn recorder(page: &mut Page, recorder: &RecorderMetrics) {
    page.gauge("recorder_active", "1 while a recording is under way.", u8::from(recorder.active));
    page.counter("recorder_written_bytes_total", "Bytes written to recordings.", recorder.bytes);
    page.counter("recorder_lost_total", "Records the recorder lost.", recorder.lost);
}

#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// The text under way. Writing to a `String` cannot fail, so what `write!` returns is let go.
#[derive(Default)]
struct Page(String);

impl Page {
    /// Begins a family; its help text is one line without a backslash.
    fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let _ = writeln!(self.0, "# HELP hapticd_{name} {help}\n# TYPE hapticd_{name} {}", kind.word());
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, Kind::Gauge, help);
        let _ = writeln!(self.0, "hapticd_{name} {value}");
    }

    fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, Kind::Counter, help);
        let _ = writeln!(self.0, "hapticd_{name} {value}");
    }

    /// One series of the family begun last.
    fn labelled(&mut self, name: &str, (label, text): (&str, &str), value: impl Display) {
        let text = text.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n");
        let _ = writeln!(self.0, "hapticd_{name}{{{label}=\"{text}\"}} {value}");
    }

    /// A family with one series for each name.
    fn each(&mut self, name: &str, kind: Kind, help: &str, label: &str, series: &[(&'static str, u64)]) {
        self.family(name, kind, help);
        for (text, value) in series {
            self.labelled(name, (label, text), value);
        }
    }

    /// A histogram in seconds, and the exact maximum, which its buckets would hide.
    fn durations(&mut self, name: &str, help: &str, figures: &DurationFigures) {
        let seconds = |ns: u64| ns as f64 * 1e-9;
        let buckets = &figures.buckets;
        let name_s = format!("{name}_seconds");
        self.family(&name_s, Kind::Histogram, help);
        for (edge_ns, count) in buckets.cumulative() {
            // Edges are written from whole numbers: 5e-6 as a float times 1e-9 would end in digits.
            let edge = format!("{}", edge_ns as f64 / 1e9);
            self.labelled(&format!("{name_s}_bucket"), ("le", &edge), count);
        }
        self.labelled(&format!("{name_s}_bucket"), ("le", "+Inf"), buckets.count());
        let _ = writeln!(self.0, "hapticd_{name_s}_sum {}", seconds(buckets.sum_ns()));
        let _ = writeln!(self.0, "hapticd_{name_s}_count {}", buckets.count());
        self.gauge(&format!("{name}_max_seconds"), &format!("{help} The longest."), seconds(figures.max_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::{DurationHistogram, Faults};
    use std::collections::{BTreeMap, BTreeSet};

    /// One sample: name, labels, value.
    type Sample = (String, BTreeMap<String, String>, f64);

    fn full() -> Metrics {
        let mut lateness = DurationHistogram::new();
        for us in [1, 3, 40, 60, 700, 3_000_000] {
            lateness.record(us * 1000);
        }
        let mut faults = FaultCounts::default();
        faults.add(Faults::OVERRUN.with(Faults::FORCE_LIMITED));
        Metrics {
            version: "1.2.3 \"odd\\name\"",
            uptime_s: 12.5,
            state: State::Enabled,
            latched: vec![("F01", 0), ("F04", 2)],
            haptic: LoopMetrics { lateness: lateness.figures(), faults, force_n: f64::NAN, ..LoopMetrics::default() },
            control: ControlMetrics {
                messages: vec![("done", 7), ("refused", 1)],
                queues: vec![Queue { name: "records", waiting: 3, capacity: 4096 }],
                ..ControlMetrics::default()
            },
            ..Metrics::default()
        }
    }

    fn is_name(text: &str) -> bool {
        !text.is_empty()
            && !text.starts_with(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    /// Reads `label="text"` pairs strictly.
    fn labels(text: &str) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (label, after) = rest.split_once("=\"").expect("a label and its quote");
            assert!(is_name(label), "{label}");
            let (mut value, mut escaped, mut end) = (String::new(), false, None);
            for (at, c) in after.char_indices() {
                match (escaped, c) {
                    (true, 'n') => value.push('\n'),
                    (true, other) => {
                        assert!(['\\', '"'].contains(&other), "unknown escape {other}");
                        value.push(other);
                    }
                    (false, '"') => end = Some(at),
                    (false, '\\') => {}
                    (false, other) => value.push(other),
                }
                if end.is_some() {
                    break;
                }
                escaped = !escaped && c == '\\';
            }
            rest = &after[end.expect("a closing quote") + 1..];
            rest = rest.strip_prefix(',').unwrap_or(rest);
            assert!(found.insert(label.to_owned(), value).is_none());
        }
        found
    }

    /// A strict reader of the format: every family has help and type once and before its samples, samples of a family stand
    /// together, none comes twice, names fit the type.
    fn read(page: &str) -> Vec<Sample> {
        assert!(page.ends_with('\n'));
        let (mut helped, mut typed) = (BTreeSet::new(), BTreeMap::new());
        let (mut samples, mut seen) = (Vec::new(), BTreeSet::new());
        let mut current = String::new();
        for line in page.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, text) = help.split_once(' ').expect("a help text");
                assert!(is_name(name) && text.ends_with('.') && !text.contains('\\'), "{line}");
                assert!(helped.insert(name.to_owned()), "{name} twice");
                current = name.to_owned();
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect("a type");
                assert_eq!(name, current);
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
                typed.insert(name.to_owned(), kind.to_owned());
            } else {
                let (series, value) = line.rsplit_once(' ').expect("a value");
                let (name, inside) = match series.split_once('{') {
                    Some((name, rest)) => (name, rest.strip_suffix('}').expect("a closing brace")),
                    None => (series, ""),
                };
                let endings: &[&str] =
                    if typed[&current] == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
                assert!(endings.iter().any(|ending| name == format!("{current}{ending}")), "{line}");
                assert!(seen.insert(series.to_owned()), "{series} twice");
                samples.push((name.to_owned(), labels(inside), value.parse().expect("a number")));
            }
        }
        samples
    }

    fn only<'a>(samples: &'a [Sample], name: &str, label: Option<(&str, &str)>) -> &'a Sample {
        let fits = |s: &&Sample| s.0 == name && label.is_none_or(|(k, v)| s.1.get(k).is_some_and(|x| x == v));
        let found: Vec<_> = samples.iter().filter(fits).collect();
        assert_eq!(found.len(), 1, "{name} {label:?}");
        found[0]
    }

    #[test]
    fn the_page_can_be_read_back_strictly_and_says_what_went_in() {
        let samples = read(&page(&full()));
        let value = |name: &str, label| only(&samples, name, label).2;
        assert_eq!(value("hapticd_uptime_seconds", None), 12.5);
        assert_eq!(value("hapticd_state", Some(("state", "ENABLED"))), 1.0);
        assert_eq!(samples.iter().filter(|s| s.0 == "hapticd_state").map(|s| s.2).sum::<f64>(), 1.0);
        assert_eq!(value("hapticd_faults_latched", Some(("code", "F04"))), 2.0);
        assert_eq!(value("hapticd_osc_messages_total", Some(("outcome", "done"))), 7.0);
        assert_eq!(value("hapticd_queue_capacity", Some(("queue", "records"))), 4096.0);
        assert_eq!(value("hapticd_build_info", Some(("version", "1.2.3 \"odd\\name\""))), 1.0);
        assert!(value("hapticd_force_newtons", None).is_nan());
        for (_, name) in Faults::ALL {
            let met = ["overrun", "force-limited"].contains(name);
            assert_eq!(value("hapticd_tick_faults_total", Some(("fault", *name))), f64::from(u8::from(met)));
        }
    }

    #[test]
    fn buckets_rise_to_the_count_and_edges_are_round_numbers_of_seconds() {
        let samples = read(&page(&full()));
        let buckets: Vec<_> = samples.iter().filter(|s| s.0 == "hapticd_tick_lateness_seconds_bucket").collect();
        let edges: Vec<f64> = buckets.iter().map(|s| s.1["le"].parse().expect("a number")).collect();
        assert!(edges.is_sorted_by(|a, b| a < b) && edges.last() == Some(&f64::INFINITY), "{edges:?}");
        assert!(buckets.iter().all(|s| s.1["le"].len() <= 8), "round: {edges:?}");
        assert!(buckets.is_sorted_by(|a, b| a.2 <= b.2));
        let at = |edge: f64| buckets.iter().find(|s| s.1["le"].parse() == Ok(edge)).expect("an edge").2;
        assert_eq!((at(1e-6), at(5e-6), at(5e-5), at(1e-4), at(1e-3), at(1.0)), (1.0, 2.0, 3.0, 4.0, 5.0, 5.0));
        assert_eq!(at(f64::INFINITY), 6.0);
        assert_eq!(only(&samples, "hapticd_tick_lateness_seconds_count", None).2, 6.0);
        assert!((only(&samples, "hapticd_tick_lateness_seconds_sum", None).2 - 3.000_804).abs() < 1e-12);
        assert_eq!(only(&samples, "hapticd_tick_lateness_max_seconds", None).2, 3.0);
    }

    #[test]
    fn the_document_lists_every_family_and_no_other() {
        let document = include_str!("../../docs/http.md");
        let (_, figures) = document.split_once("## Figures").expect("a chapter");
        let rows = figures.lines().filter(|line| line.starts_with("| `hapticd_"));
        let listed: BTreeSet<&str> =
            rows.flat_map(|row| row.split('`')).filter(|w| w.starts_with("hapticd_")).collect();
        let page = page(&Metrics::default());
        let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let shown: BTreeSet<&str> = types.filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(listed, shown);
    }

    #[test]
    fn an_idle_daemon_shows_every_family_that_a_busy_one_does() {
        let families = |metrics: &Metrics| {
            page(metrics).lines().filter(|line| line.starts_with("# TYPE")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(families(&Metrics::default()), families(&full()));
        read(&page(&Metrics::default()));
    }
}
