//! Everything that can stop a command, with its exit code.
//!
//! Thread: main.

use super::out::note;
use crate::bench::BenchError;
use crate::files::{LoadError, Look, Report};
use crate::haptic::thread::HapticError;
use crate::record::{LogError, ReadError, RecordError};
use crate::scene::OpenError;
use crate::shared::realtime::RealtimeError;
use crate::sim::SimError;
use crate::sim::thread::SimStartError;
use std::process::ExitCode;

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A file is wrong.
    #[error("{0}")]
    Report(Report),
    /// A file cannot be read, or is wrong.
    #[error(transparent)]
    File(#[from] LoadError),
    /// A shipped name does not exist, or a file is wrong.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The arguments do not fit together.
    #[error("{0}")]
    Usage(String),
    /// The scene cannot be simulated.
    #[error("the scene cannot be simulated: {0}")]
    Model(#[from] SimError),
    /// The haptic thread.
    #[error(transparent)]
    Haptic(#[from] HapticError),
    /// The simulation thread.
    #[error(transparent)]
    Sim(#[from] SimStartError),
    /// A recording cannot be made.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A recording cannot be read.
    #[error(transparent)]
    Recording(#[from] ReadError),
    /// A device log of another program cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A port cannot be opened.
    #[error("{0}")]
    Port(String),
    /// The system refused real-time rights.
    #[error(
        "the haptic loop would not be real-time: {0}. `hapticd doctor` tells what to change; `--allow-no-rt` runs it \
         nevertheless, without promises"
    )]
    NoRealtime(RealtimeError),
    /// The haptic loop did not end when asked to.
    #[error("the haptic loop hangs; its device was left to its own watchdog")]
    Hangs,
    /// A second signal came before the end was reached.
    #[error("ended at once by a second signal; the force was not ramped down")]
    Cut,
    /// A bench.
    #[error(transparent)]
    Bench(#[from] BenchError),
}

impl Failure {
    /// The exit code it leads to.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            Self::Haptic(HapticError::RealtimeDenied(_)) | Self::NoRealtime(_) | Self::Port(_) => 3,
            Self::Haptic(HapticError::Panicked { .. }) | Self::Hangs => 4,
            Self::Cut => 130,
            _ => 2,
        }
    }

    /// Prints it to standard error, with a picture of the place where there is one.
    pub fn print(&self) {
        note(format_args!("{}\n", self.picture(Look::for_stream(&std::io::stderr()))));
    }

    /// All that is wrong, with a picture of each place in a file.
    #[must_use]
    pub fn picture(&self, look: Look) -> String {
        let report = match self {
            Self::Report(report)
            | Self::File(LoadError::Invalid(report))
            | Self::Open(OpenError::File(LoadError::Invalid(report))) => Some(report),
            _ => None,
        };
        report.map_or_else(|| format!("error: {self}"), |report| report.render(look))
    }
}

/// Prints warnings to standard error, if there are any.
pub fn warn(report: &Report) {
    if !report.is_empty() {
        note(format_args!("{}\n", report.render(Look::for_stream(&std::io::stderr()))));
    }
}

/// An exit code.
#[must_use]
pub fn exit(code: u8) -> ExitCode {
    ExitCode::from(code)
}
