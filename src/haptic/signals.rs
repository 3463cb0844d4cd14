//! What other threads tell the haptic thread without waiting, and it them: stop, halt, signs of life.
//!
//! Thread: any (RT safe). `tests/wall` checks in every order of reads and writes that no halt is lost.

use crate::shared::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// Of one haptic thread.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    stop: AtomicBool,
    heartbeat: AtomicU64,
    /// Times the halt switch was thrown.
    halts: AtomicU64,
    /// Rounds of the control thread; zero while nobody has shown any.
    rounds: AtomicU64,
}

impl Signals {
    /// Asks the thread to end.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to.
    pub(crate) fn stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether the halt switch has been thrown since `seen` throws, which then counts them all.
    pub(crate) fn halted(&self, seen: &mut u64) -> bool {
        let halts = self.halts.load(Ordering::Relaxed);
        std::mem::replace(seen, halts) != halts
    }

    /// Ticks without a round of the control thread, this one included: zero while it has shown none. `seen` keeps rounds and ticks.
    pub(crate) fn control_still(&self, seen: &mut (u64, u64)) -> u64 {
        let rounds = self.rounds.load(Ordering::Relaxed);
        let still = if rounds == seen.0 { seen.1 + 1 } else { 0 };
        *seen = (rounds, still);
        if rounds > 0 { still } else { 0 }
    }

    /// Shows that tick `index` is done.
    pub(crate) fn ticked(&self, index: u64) {
        self.heartbeat.store(index, Ordering::Relaxed);
    }
}

/// The switch that ends all force: FAULT at the next tick, whatever else waits to be done. Any thread may hold one.
#[derive(Clone, Debug)]
pub struct HaltSwitch(pub(crate) Arc<Signals>);

impl HaltSwitch {
    /// Zero force now, FAULT, latched. Every throw counts: one after an acknowledge trips again. Once the thread has ended
    /// there is nothing left to halt.
    pub fn throw(&self) {
        self.0.halts.fetch_add(1, Ordering::Relaxed);
    }
}

/// Shows the haptic thread that the control thread lives: whoever has shown one round must go on, or force ends by
/// `Trip::ControlSilent`. Without a control thread nobody would hear a halt.
#[derive(Clone, Debug)]
pub struct ControlPulse(pub(crate) Arc<Signals>);

impl ControlPulse {
    /// One more round.
    pub fn beat(&self) {
        self.0.rounds.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts the ticks of a running haptic thread: a watchdog that sees it stand still knows that the loop hangs.
#[derive(Clone, Debug)]
pub struct Heartbeat(pub(crate) Arc<Signals>);

impl Heartbeat {
    /// Ticks done so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.heartbeat.load(Ordering::Relaxed)
    }
}
