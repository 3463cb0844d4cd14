//! What the daemon says and where it goes: the journal with its fields under systemd, else lines on standard error.
//!
//! Thread: control and cold ones. Never the haptic thread: a logger allocates and locks.

use crate::files::config::LogLevel;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, reload};

/// Overrides the level of the configuration; also takes filters by module, such as `hapticd::control=debug`.
const VARIABLE: &str = "HAPTICD_LOG";

/// Changes the level while the daemon runs.
pub(super) struct Log {
    filter: reload::Handle<EnvFilter, Registry>,
}

/// Starts logging.
pub(super) fn start(level: LogLevel) -> Log {
    let (filter, handle) = reload::Layer::new(filter(level));
    let journal = stderr_is_the_journal().then(|| tracing_journald::layer().ok()).flatten();
    let lines = journal.is_none().then(|| {
        let colours = std::io::IsTerminal::is_terminal(&std::io::stderr()) && std::env::var_os("NO_COLOR").is_none();
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(colours).with_target(false)
    });
    let sinks = journal.map(|layer| layer.with_field_prefix(Some("HAPTICD".into())).boxed());
    let sinks = sinks.or_else(|| lines.map(tracing_subscriber::Layer::boxed));
    // Fails when a test has started a logger in this process before; that one then serves.
    let _ = tracing_subscriber::registry().with(sinks.with_filter(filter)).try_init();
    if let Some(Err(error)) = wanted().map(EnvFilter::try_new) {
        tracing::warn!("{VARIABLE} is not a filter ({error}); the level of the configuration holds");
    }
    Log { filter: handle }
}

impl Log {
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
