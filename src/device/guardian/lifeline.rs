//! The daemon's end: starting the guardians, showing them that the daemon lives, checking that they live, hearing that one has stepped in.
//!
//! Thread: started and dropped by cold threads; tended by the device's I/O thread (no heap, no lock).
//!
//! Two guardians watch the daemon, each with a page and a descriptor of its own: whichever of the three processes dies, and whichever
//! two, the last one sends zero force.

#![expect(clippy::disallowed_methods, reason = "guardians are started and ended by cold threads")]

use super::{GuardLine, LOOK_NS, STILL_NS};
use crate::shared::{MonoNs, Pulse};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Guardians of one device. With one, force would outlive a daemon and a guardian that die at once.
pub const GUARDIANS: usize = 2;
/// Longest wait for a guardian to begin, and to end.
const BEGIN: Duration = Duration::from_secs(5);
const END: Duration = Duration::from_millis(500);
/// A guardian that has not looked for this long while force may flow stands still, ns: as long as a guardian waits for the daemon.
const ASLEEP_NS: u64 = STILL_NS;
/// A round that comes later than this after the one before counts only so much, ns: where the whole PC stood still, the guardian gets
/// the chance to show that it lives.
const ROUND_COUNTS_NS: u64 = 4_000_000;
/// A guardian that has not looked for this long is replaced, ns.
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

/// What a lifeline has to tell, the gravest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Alarm {
    /// A guardian stands still: it would not notice this process's death. No force until it looks again.
    Asleep,
    /// A guardian has sent zero force, for this process stood still.
    Silenced,
    /// A guardian is dead, or stands still for good.
    Unguarded,
}

/// The hold that the guardians have on this process. Dropping it ends them: silence the device first.
pub struct Lifeline {
    guardians: [Guardian; GUARDIANS],
}

impl Lifeline {
    /// Starts the guardians of the device behind `line`, which `silence` puts to zero force. `program` is hapticd itself
    /// (`/proc/self/exe`). Returns when both watch.
    ///
    /// # Errors
    /// [`GuardianFault`] when one is missing; no force should then flow.
    pub fn start(
        program: &Path,
        line: GuardLine<'_>,
        silence: &[u8],
        priority: u8,
        now: MonoNs,
    ) -> Result<Self, GuardianFault> {
        let start = || Guardian::start(program, line, silence, priority, now);
        let mut guardians = [start()?, start()?];
        guardians.iter_mut().try_for_each(Guardian::await_first_look)?;
        Ok(Self { guardians })
    }

    /// Changes the bytes that put the device to zero force. Enters the system: not in every tick.
    pub fn leave(&self, silence: &[u8]) {
        for guardian in &self.guardians {
            // They are shorter than what there is room for; were they not, those before would stay.
            let _ = guardian.pulse.leave(silence);
        }
    }

    /// Takes note of [`Alarm::Silenced`]: a fault has been latched. The guardians watch again.
    pub fn heed(&self) {
        self.guardians.iter().for_each(|guardian| guardian.pulse.heed());
    }

    /// Shows that this process lives, and checks that the guardians do; to be called every millisecond or so while `armed`: while
    /// force may flow. Gives the gravest alarm of any guardian.
    pub fn tend(&mut self, armed: bool, now: MonoNs) -> Option<Alarm> {
        let mut gravest = None;
        for guardian in &mut self.guardians {
            gravest = gravest.max(guardian.tend(armed, now));
        }
        gravest
    }

    /// Process ids of the guardians, for tests that end them.
    #[must_use]
    pub fn processes(&self) -> [u32; GUARDIANS] {
        self.guardians.each_ref().map(|guardian| guardian.child.id())
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        // All are told before any is waited for.
        self.guardians.iter().for_each(|guardian| guardian.pulse.finish());
    }
}

/// One guardian's process.
struct Guardian {
    pulse: Pulse,
    child: Child,
    /// Becomes readable when the process dies; none on a kernel that has no such thing.
    life: Option<OwnedFd>,
    /// Looks so far, when their number last changed, and when this was last checked.
    looks: u64,
    changed: MonoNs,
    checked: MonoNs,
    /// For how long it has stood still, ns.
    still_ns: u64,
}

impl Guardian {
    fn start(
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
        // The child is waited for by this value alone, so that its number is not another's.
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let life = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        Ok(Self { pulse, child, life, looks: 0, changed: now, checked: now, still_ns: 0 })
    }

    /// Waits until it watches.
    fn await_first_look(&mut self) -> Result<(), GuardianFault> {
        let began = Instant::now();
        while self.pulse.looks() == 0 {
            if self.child.try_wait()?.is_some() || began.elapsed() > BEGIN {
                return Err(GuardianFault::Silent);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// See [`Lifeline::tend`].
    fn tend(&mut self, armed: bool, now: MonoNs) -> Option<Alarm> {
        self.pulse.beat();
        self.pulse.arm(armed);
        let looks = self.pulse.looks();
        let looking = looks != self.looks;
        let since = now.since(self.checked).min(ROUND_COUNTS_NS);
        self.still_ns = if looking { 0 } else { self.still_ns + since };
        (self.looks, self.checked) = (looks, now);
        if looking {
            self.changed = now;
        }
        if self.has_died() || now.since(self.changed) > GONE_NS {
            Some(Alarm::Unguarded)
        } else if self.pulse.silenced() {
            Some(Alarm::Silenced)
        } else {
            (armed && self.still_ns > ASLEEP_NS).then_some(Alarm::Asleep)
        }
    }

    fn has_died(&self) -> bool {
        let Some(life) = &self.life else { return false };
        let mut polled = [PollFd::from_borrowed_fd(life.as_fd(), PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut polled, Some(&now)).is_ok_and(|count| count > 0)
    }
}

impl Drop for Guardian {
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
