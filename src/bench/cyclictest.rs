//! The peer of the jitter suite: `cyclictest` of the rt-tests, run as a program, its histogram read from its JSON.
//!
//! Thread: main (cold).
//!
//! cyclictest measures what our loop does: an absolute `clock_nanosleep`, the clock read after waking, missed intervals
//! skipped. It counts whole microseconds, rounded down, which favours it by half a microsecond on average.

use std::io::ErrorKind;
use std::process::Command;

use serde_json::Value;

use crate::shared::DurationHistogram;

/// Largest lateness its histogram tells apart, µs. What is later is counted as its maximum.
const HISTOGRAM_MAX_US: u32 = 100_000;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Time between wake-ups, µs.
    pub(super) interval_us: u32,
    /// Wake-ups.
    pub(super) count: u64,
    /// SCHED_FIFO priority; none for ordinary scheduling.
    pub(super) priority: Option<u8>,
    /// Processor.
    pub(super) cpu: usize,
    /// Lock memory.
    pub(super) lock_memory: bool,
}

/// Why there are no figures to compare with.
#[derive(Debug, thiserror::Error)]
pub(super) enum CyclictestError {
    /// Not installed.
    #[error(
        "cyclictest is not installed: `apt install rt-tests` (Debian, Ubuntu) or `dnf install realtime-tests` (Fedora)"
    )]
    Missing,
    /// It ended with an error.
    #[error("cyclictest refused to run: {0}")]
    Refused(String),
    /// Its output is not what is expected.
    #[error("cyclictest's output could not be read ({0}): version 2.0 or later is needed")]
    Unreadable(String),
}

/// Runs cyclictest and gives its histogram.
pub(super) fn run(settings: &Settings) -> Result<DurationHistogram, CyclictestError> {
    let output = Command::new("cyclictest").args(arguments(settings)).output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => CyclictestError::Missing,
        _ => CyclictestError::Refused(error.to_string()),
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        return Err(CyclictestError::Refused(said));
    }
    let histogram = parse(&String::from_utf8_lossy(&output.stdout))?;
    if histogram.count() == settings.count {
        Ok(histogram)
    } else {
        Err(CyclictestError::Unreadable(format!("{} wake-ups instead of {}", histogram.count(), settings.count)))
    }
}

fn arguments(settings: &Settings) -> Vec<String> {
    let mut arguments: Vec<String> =
        ["--quiet", "--threads=1", "--histfile=/dev/null", "--json=/dev/stdout"].map(str::to_owned).into();
    arguments.push(format!("--histogram={HISTOGRAM_MAX_US}"));
    arguments.push(format!("--interval={}", settings.interval_us));
    arguments.push(format!("--loops={}", settings.count));
    arguments.push(format!("--affinity={}", settings.cpu));
    match settings.priority {
        Some(priority) => arguments.push(format!("--priority={priority}")),
        None => arguments.push("--policy=other".to_owned()),
    }
    if settings.lock_memory {
        arguments.push("--mlockall".to_owned());
    }
    arguments
}

/// Reads the one thread's histogram. Lines around the JSON object (it announces what it set) are passed over.
fn parse(text: &str) -> Result<DurationHistogram, CyclictestError> {
    let unreadable = |what: &str| CyclictestError::Unreadable(what.to_owned());
    let object = text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to));
    let json: Value = serde_json::from_str(object.ok_or_else(|| unreadable("no JSON object"))?)
        .map_err(|error| CyclictestError::Unreadable(error.to_string()))?;
    let thread = &json["thread"]["0"];
    let number = |key: &str| thread[key].as_u64().ok_or_else(|| unreadable(key));
    let (cycles, max_us) = (number("cycles")?, number("max")?);
    let counts = thread["histogram"].as_object().ok_or_else(|| unreadable("histogram"))?;

    let mut histogram = DurationHistogram::new();
    for (us, count) in counts {
        let us: u64 = us.parse().map_err(|_| unreadable("histogram"))?;
        for _ in 0..count.as_u64().ok_or_else(|| unreadable("histogram"))? {
            histogram.record(us * 1000);
        }
    }
    // Beyond the last bucket only the number is known: all of them count as the maximum.
    for _ in histogram.count()..cycles {
        histogram.record(max_us * 1000);
    }
    Ok(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_with_overflow_is_read_whole() {
        let text = "# /dev/cpu_dma_latency set to 0us\n{\"thread\": {\"0\": {\"histogram\": {\"12\": 3, \"40\": 5, \"41\": 1},\n\
                    \"cycles\": 10, \"min\": 12, \"max\": 250000, \"avg\": 1.5}}}\n";
        let figures = parse(text).expect("it is well formed").figures();
        assert_eq!(figures.count, 10);
        assert_eq!(figures.max_ns, 250_000_000);
        assert!((40_000..=40_040).contains(&figures.p50_ns), "{figures:?}");
    }

    #[test]
    fn output_of_another_kind_is_refused_by_name() {
        for text in ["", "# Total: 000001993", "{\"thread\": {}}", "{\"thread\": {\"0\": {\"cycles\": 3, \"max\": 1}}}"]
        {
            assert!(matches!(parse(text), Err(CyclictestError::Unreadable(_))), "{text}");
        }
    }
}
