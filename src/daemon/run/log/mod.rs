//! What the daemon says and where it goes: the journal with its fields under systemd, else lines on standard error.
//!
//! Thread: control and cold ones. Never the haptic thread: a logger allocates and locks.
//!
//! No thread waits for the log but its own: a line that cannot be written is lost and counted ([`lossy`]).

mod journal;
mod lossy;

use crate::files::config::LogLevel;
use journal::Journal;
use lossy::Lossy;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write as _;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, reload};

/// Overrides the level of the configuration; also takes filters by module, such as `hapticd::control=debug`.
const VARIABLE: &str = "HAPTICD_LOG";

/// Changes the level while the daemon runs.
pub(super) struct Log {
    filter: reload::Handle<EnvFilter, Registry>,
    lines: Option<Lossy>,
}

/// Gives the last lines some time when dropped.
pub(super) struct LastLines(Option<Lossy>);

impl Drop for LastLines {
    fn drop(&mut self) {
        if let Some(lines) = &self.0 {
            lines.flush();
        }
    }
}

/// Starts logging.
pub(super) fn start(level: LogLevel) -> Log {
    let (filter, handle) = reload::Layer::new(filter(level));
    let journal = stderr_is_the_journal().then(|| Journal::start().ok()).flatten();
    let (sinks, lines) = match journal {
        Some((journal, lines)) => (Some(journal.boxed()), Some(lines)),
        None => {
            let lines = Lossy::start(write, |lost| format!("{}\n", lost_lines(lost)).into_bytes()).ok();
            (lines.clone().map(|lines| to_stderr(lines).boxed()), lines)
        }
    };
    // Fails when a test has started a logger in this process before; that one then serves.
    let _ = tracing_subscriber::registry().with(sinks.with_filter(filter)).try_init();
    if let Some(Err(error)) = wanted().map(EnvFilter::try_new) {
        tracing::warn!("{VARIABLE} is not a filter ({error}); the level of the configuration holds");
    }
    report_panics();
    Log { filter: handle, lines }
}

/// Events as lines on standard error.
fn to_stderr(lines: Lossy) -> impl tracing_subscriber::Layer<Registry> {
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr()) && std::env::var_os("NO_COLOR").is_none();
    tracing_subscriber::fmt::layer().with_writer(lines).with_ansi(colours).with_target(false)
}

fn write(line: &[u8]) {
    // Nobody is left who could be told.
    let _ = std::io::stderr().write_all(line);
}

fn lost_lines(lost: u64) -> String {
    format!("{lost} lines of the log were lost before this one: nobody read them in time")
}

/// Panics go the way of all lines: the thread that panics may hold a device under force, and must unwind instead of waiting for a
/// terminal.
fn report_panics() {
    std::panic::set_hook(Box::new(|info| {
        let (thread, trace) = (std::thread::current(), Backtrace::capture());
        let trace = if trace.status() == BacktraceStatus::Captured { format!("\n{trace}") } else { String::new() };
        tracing::error!("thread `{}` {info}{trace}", thread.name().unwrap_or("unnamed"));
    }));
}

impl Log {
    /// Gives the last lines some time when dropped: to be held until the end.
    pub(super) fn last_lines(&self) -> LastLines {
        LastLines(self.lines.clone())
    }

    /// Takes over another level, unless the environment rules.
    pub(super) fn set(&self, level: LogLevel) {
        // Only a logger that is gone refuses.
        let _ = self.filter.reload(filter(level));
    }
}

/// The environment's filter if it is a good one, else `level` for this program and warnings of its libraries.
fn filter(level: LogLevel) -> EnvFilter {
    wanted().and_then(|text| EnvFilter::try_new(text).ok()).unwrap_or_else(|| ours(level))
}

fn wanted() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|text| !text.trim().is_empty())
}

fn ours(level: LogLevel) -> EnvFilter {
    EnvFilter::new(format!("warn,hapticd={}", level.word()))
}

/// True when systemd has connected standard error to the journal: it says so by device and inode.
fn stderr_is_the_journal() -> bool {
    let Ok(said) = std::env::var("JOURNAL_STREAM") else { return false };
    let Ok(here) = rustix::fs::fstat(std::io::stderr()) else { return false };
    said == format!("{}:{}", here.st_dev, here.st_ino)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_of_the_configuration_is_for_this_program_and_libraries_only_warn() {
        for (level, text) in [(LogLevel::Error, "error"), (LogLevel::Trace, "trace")] {
            let said = ours(level).to_string();
            assert!(said.contains(&format!("hapticd={text}")) && said.contains("warn"), "{said}");
        }
    }
}
