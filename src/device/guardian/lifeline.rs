//! The daemon's end: starting a guardian, showing it that the daemon lives, hearing that it has stepped in.
//!
//! Thread: started and dropped by cold threads; tended by the device's I/O thread (no heap, no lock).

#![expect(clippy::disallowed_methods, reason = "a guardian is started and ended by cold threads")]

use super::{GuardLine, LOOK_NS};
use crate::shared::{MonoNs, Pulse};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for a guardian to begin, and to end.
const BEGIN: Duration = Duration::from_secs(5);
const END: Duration = Duration::from_millis(500);
/// A guardian that has not looked for this long has gone, ns.
const GONE_NS: u64 = 1000 * LOOK_NS;

/// Why there is no guardian.
#[derive(Debug, thiserror::Error)]
pub enum GuardianFault {
    /// The system refused.
    #[error("the guardian that silences the device if hapticd dies could not be started: {0}")]
    System(#[from] io::Error),
    /// It ended, or does not begin.
    #[error("the guardian that silences the device if hapticd dies did not begin; its last words are above")]
    Silent,
}

/// What a lifeline has to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// The guardian has sent zero force, for this process stood still.
    Silenced,
    /// Nobody guards the device any more.
    Unguarded,
}

/// The hold that a guardian has on this process. Dropping it ends the guardian: silence the device first.
pub struct Lifeline {
    pulse: Pulse,
    child: Child,
    /// Looks of the guardian, and when their number last changed.
    seen: (u64, MonoNs),
}

impl Lifeline {
    /// Starts a guardian for the device behind `line`, which `silence` puts to zero force. `program` is hapticd itself
    /// (`/proc/self/exe`). Returns when the guardian watches.
    ///
    /// # Errors
    /// [`GuardianFault`] when there is none; no force should then flow.
    pub fn start(
        program: &Path,
        line: GuardLine<'_>,
        silence: &[u8],
        priority: u8,
        now: MonoNs,
    ) -> Result<Self, GuardianFault> {
        let pulse = Pulse::new()?;
        pulse.leave(silence)?;
        let copy = |fd: BorrowedFd<'_>| fd.try_clone_to_owned().map(|fd: OwnedFd| Stdio::from(fd));
        let (fd, endpoint, framed) = match line {
            GuardLine::Stream(fd) => (fd, None, None),
            GuardLine::Framed(fd) => (fd, None, Some("--framed")),
            GuardLine::Bulk(fd, endpoint) => (fd, Some(endpoint.to_string()), None),
        };
        let child = Command::new(program)
            .args(["guardian", "--daemon", &std::process::id().to_string(), "--priority", &priority.to_string()])
            .args(endpoint.into_iter().flat_map(|endpoint| ["--endpoint".to_owned(), endpoint]))
            .args(framed)
            .env_clear()
            .current_dir("/")
            .stdin(copy(fd)?)
            .stdout(copy(pulse.as_fd())?)
            .spawn()?;
        let mut lifeline = Self { pulse, child, seen: (0, now) };
        let began = Instant::now();
        while lifeline.pulse.looks() == 0 {
            if lifeline.child.try_wait()?.is_some() || began.elapsed() > BEGIN {
                return Err(GuardianFault::Silent);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(lifeline)
    }

    /// Changes the bytes that put the device to zero force. Enters the system: not in every tick.
    pub fn leave(&self, silence: &[u8]) {
        // They are shorter than what there is room for; were they not, those before would stay.
        let _ = self.pulse.leave(silence);
    }

    /// Takes note of [`Alarm::Silenced`]: a fault has been latched. The guardian watches again.
    pub fn heed(&self) {
        self.pulse.heed();
    }

    /// Shows that this process lives; to be called every millisecond or so while `armed`: while force may flow. Tells what
    /// is wrong.
    pub fn tend(&mut self, armed: bool, now: MonoNs) -> Option<Alarm> {
        self.pulse.beat();
        self.pulse.arm(armed);
        let looks = self.pulse.looks();
        if looks != self.seen.0 {
            self.seen = (looks, now);
        }
        if self.pulse.silenced() {
            Some(Alarm::Silenced)
        } else {
            (now.since(self.seen.1) > GONE_NS).then_some(Alarm::Unguarded)
        }
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        self.pulse.finish();
        let began = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if began.elapsed() > END {
                // It does not answer; the device has been silenced by whoever drops this.
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
