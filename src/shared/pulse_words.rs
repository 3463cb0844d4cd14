//! The words of the page that a daemon and a guardian share, and what each end writes and reads.
//!
//! Thread: any (RT safe). `tests/wall` checks the protocol in every order of reads and writes.

use super::atomic::{AtomicU64, Ordering};

/// See the file's head.
#[derive(Debug, Default)]
#[repr(C)]
pub struct PulseWords {
    /// Grows while the watched process lives.
    beats: AtomicU64,
    /// Not zero: the watched process must not be late with a beat now.
    armed: AtomicU64,
    /// The watched process has ended its work in good order.
    finished: AtomicU64,
    /// Times the watcher stepped in, and how many of them the watched process has taken note of.
    silenced: AtomicU64,
    heeded: AtomicU64,
    /// Grows while the watcher lives.
    looks: AtomicU64,
}

impl PulseWords {
    /// Shows that the watched process lives.
    pub fn beat(&self) {
        self.beats.fetch_add(1, Ordering::Release);
    }

    /// Beats so far.
    pub fn beats(&self) -> u64 {
        self.beats.load(Ordering::Acquire)
    }

    /// From now on a beat must not be late, or may be.
    pub fn arm(&self, armed: bool) {
        self.armed.store(u64::from(armed), Ordering::Release);
    }

    /// Whether a beat must not be late.
    pub fn armed(&self) -> bool {
        self.armed.load(Ordering::Acquire) != 0
    }

    /// The watched process ends in good order.
    pub fn finish(&self) {
        self.finished.store(1, Ordering::Release);
    }

    /// Whether it has.
    pub fn finished(&self) -> bool {
        self.finished.load(Ordering::Acquire) != 0
    }

    /// The watcher steps in.
    pub fn step_in(&self) {
        self.silenced.fetch_add(1, Ordering::AcqRel);
    }

    /// The watcher has stepped in and the watched process has not taken note.
    pub fn silenced(&self) -> bool {
        self.silenced.load(Ordering::Acquire) != self.heeded.load(Ordering::Acquire)
    }

    /// The watched process takes note.
    pub fn heed(&self) {
        self.heeded.store(self.silenced.load(Ordering::Acquire), Ordering::Release);
    }

    /// Shows that the watcher lives.
    pub fn look(&self) {
        self.looks.fetch_add(1, Ordering::Release);
    }

    /// Looks so far.
    pub fn looks(&self) -> u64 {
        self.looks.load(Ordering::Acquire)
    }
}
