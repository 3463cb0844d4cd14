//! Recordings: everything the loop did, tick by tick, in files that other programs open.
//!
//! Thread: recorder, one that [`Recorder`] starts; the ends towards callers never wait.
//!
//! ```text
//!  ticks, steps, views, marks ──► bounded channel ──► scribe: to messages ──► sink: MCAP, closed and synced in pieces
//!                                  (full: lost, counted)   [scribe] [tick] [draw]    [sink] [place]
//!  Reader: the same back, bit for bit, also from a file cut short             [reader] [records] [report]: a page of it
//! ```
//!
//! Messages are JSON with a schema each. A binary encoding would take a third of the room and need a decoder in every tool that
//! reads it; numbers keep their bits either way.

mod capture;
mod cloud;
mod device_log;
mod draw;
mod fields;
mod json;
mod order;
mod place;
mod reader;
mod recorder;
mod records;
pub mod report;
mod schema;
mod scribe;
mod sink;
#[cfg(test)]
mod tests;
mod tick;

pub use capture::capture;
pub use cloud::deal;
pub use device_log::{DeviceLog, LogError, LogRow};
pub use draw::{Look, Outline, frame_of};
pub use reader::{Entry, ReadError, Reader};
pub use recorder::{RecordFigures, RecordSummary, Recorder};
pub use tick::difference;

use std::path::PathBuf;

/// Room a recording takes for each tick, with everything beside it, bytes; measured, and rounded up.
pub const BYTES_PER_TICK: u64 = 3000;

/// Where a recording comes from: everything needed to know what was recorded, and to run it again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// Name of the scene.
    pub scene_name: String,
    /// The scene file, as it was read.
    pub scene_text: String,
    /// Name of the device file.
    pub device_name: String,
    /// The device file, as it was read.
    pub device_text: String,
    /// The configuration, as it was read; empty when none was.
    pub config_text: String,
    /// Seed of the simulated operator.
    pub seed: u64,
    /// Skill of the simulated operator; empty with a real hand.
    pub skill: String,
    /// Version of hapticd.
    pub version: String,
    /// Version of the kernel.
    pub kernel: String,
    /// Who kept the time.
    pub timing: Timing,
    /// Rate of the loop, Hz.
    pub rate_hz: f64,
    /// Largest force allowed at the start, N.
    pub force_limit_n: f64,
    /// Largest torque allowed at the start, N·m.
    pub torque_limit_nm: f64,
}

/// Who kept the time of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timing {
    /// The clock of the machine; with real threads.
    #[default]
    Live,
    /// Virtual time on one thread: can be run again bit for bit.
    Lockstep,
}

impl Timing {
    /// As written in a recording.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Lockstep => "lockstep",
        }
    }
}

impl Provenance {
    /// With version and kernel filled in.
    #[must_use]
    pub fn here() -> Self {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            kernel: kernel.trim().into(),
            rate_hz: 1000.0,
            ..Self::default()
        }
    }
}

/// How much room recordings may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLimits {
    /// A file that has grown to this size is closed and the next one begun, bytes.
    pub file_bytes: u64,
    /// Recordings that may stand in the directory; when there are more, the oldest go. `None` keeps all.
    pub keep_files: Option<usize>,
    /// A recording ends, and none begins, when less than this is free on its disk, bytes.
    pub free_bytes: u64,
}

impl Default for RecordLimits {
    /// Files of 1 GB, some 9 minutes at 1 kHz; all kept; 250 MB stay free.
    fn default() -> Self {
        Self { file_bytes: 1_000_000_000, keep_files: None, free_bytes: 250_000_000 }
    }
}

/// What to record, and where.
#[derive(Clone, Debug, Default)]
pub struct RecordOptions {
    /// Directory of the files; made when it is not there.
    pub directory: PathBuf,
    /// A word for the name of the file.
    pub name: Option<String>,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Shapes, so that a viewer can draw the scene.
    pub looks: Vec<Look>,
    /// How much room it may take.
    pub limits: RecordLimits,
}

/// Why there is no recording, or none any more.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be made.
    #[error("cannot record to {path}: {why}")]
    Create {
        /// File or directory.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// Writing failed on the way.
    #[error("the recording {path} ended after {bytes} bytes, which can be read: {why}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What is safely in it.
        bytes: u64,
        /// What the system said.
        why: String,
    },
    /// Too little room on the disk.
    #[error(
        "only {free_mb} MB are free where {path} is, and {floor_mb} MB are to stay free: make room, or record elsewhere"
    )]
    NoRoom {
        /// File or directory.
        path: PathBuf,
        /// Free, MB.
        free_mb: u64,
        /// To stay free, MB.
        floor_mb: u64,
    },
    /// Somebody deleted the file while it was written.
    #[error("the recording {path} was deleted while it was written; start another")]
    Vanished {
        /// Where it was.
        path: PathBuf,
    },
    /// The system gave no thread.
    #[error("the system gave no thread for the recorder: {0}")]
    NoThread(String),
    /// A bug: the recorder's thread panicked.
    #[error("the recorder ended by a bug; what it had written before can be read")]
    Panicked,
}
