//! One clock, and the proof of being inside a haptic tick.
//!
//! Thread: any; [`Tick`] haptic only (RT).

use std::cell::Cell;
use std::marker::PhantomData;

/// Nanoseconds in a second.
pub const NS_PER_S: u64 = 1_000_000_000;

/// A point on the monotonic clock, in nanoseconds. The only time there is; wall-clock time exists in file names alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonoNs(pub u64);

impl MonoNs {
    /// Nanoseconds from `earlier` to here; zero when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Seconds from `other` to here, negative when `other` is later.
    #[must_use]
    pub fn seconds_after(self, other: Self) -> f64 {
        self.0.wrapping_sub(other.0).cast_signed() as f64 / NS_PER_S as f64
    }

    /// This instant moved `ns` ahead.
    #[must_use]
    pub fn plus(self, ns: u64) -> Self {
        Self(self.0.saturating_add(ns))
    }

    /// Seconds since the clock's origin.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / NS_PER_S as f64
    }
}

/// Which one, and from when: carried by everything that crosses a thread. Age is computed, never assumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Counts up by one per value; zero means "never written".
    pub sequence: u64,
    /// When the value was true.
    pub at: MonoNs,
}

impl Stamp {
    /// Nanoseconds since the value was true.
    #[must_use]
    pub fn age(&self, now: MonoNs) -> u64 {
        now.since(self.at)
    }
}

/// Where a tick's time comes from: the system's monotonic clock in the thread, a counter in lockstep and tests.
pub trait Clock {
    /// The time now.
    fn now(&self) -> MonoNs;
}

/// A clock that stands still until it is moved: virtual time for lockstep, tests and benches.
#[derive(Debug, Default)]
pub struct ManualClock(std::cell::Cell<u64>);

impl ManualClock {
    /// A clock standing at `at`.
    #[must_use]
    pub fn at(at: MonoNs) -> Self {
        Self(std::cell::Cell::new(at.0))
    }

    /// Moves the clock to `at`.
    pub fn set(&self, at: MonoNs) {
        self.0.set(at.0);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> MonoNs {
        MonoNs(self.0.get())
    }
}

/// One haptic tick. Every real-time function takes `&mut Tick`: it is the only source of time there, and having one
/// is the proof of running where nothing may allocate, lock, log or block. It cannot leave its thread.
pub struct Tick<'a> {
    /// Counts ticks from 1.
    pub index: u64,
    /// When this tick should have begun.
    pub due: MonoNs,
    /// When it did begin.
    pub began: MonoNs,
    /// Nominal time to the next tick, in seconds.
    pub period_s: f64,
    /// Ticks that should have been between the one before and this one, and were left out because that one ended too late.
    pub skipped: u64,
    /// After this instant a bounded computation must stop and give what it has.
    pub solve_until: MonoNs,
    /// Looks at the clock while solving that find time left at most: no bound but for a tick that is run again.
    pub most_looks: u32,
    looks: Cell<u32>,
    cut_after: Cell<Option<u32>>,
    clock: &'a dyn Clock,
    not_send: PhantomData<*const ()>,
}

impl<'a> Tick<'a> {
    /// Begins a tick. Called by the haptic thread and the drivers of virtual time only (`tests/tidy.rs`).
    #[must_use]
    pub fn begin(index: u64, due: MonoNs, period_s: f64, solve_budget_ns: u64, clock: &'a dyn Clock) -> Self {
        let began = clock.now();
        let solve_until = began.plus(solve_budget_ns);
        Self {
            index,
            due,
            began,
            period_s,
            skipped: 0,
            solve_until,
            most_looks: u32::MAX,
            looks: Cell::new(0),
            cut_after: Cell::new(None),
            clock,
            not_send: PhantomData,
        }
    }

    /// How late this tick began, in nanoseconds.
    #[must_use]
    pub fn lateness_ns(&self) -> u64 {
        self.began.since(self.due)
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> MonoNs {
        self.clock.now()
    }

    /// True once the time set aside for iterative solving is used up.
    #[must_use]
    pub fn solve_time_is_up(&self) -> bool {
        let looks = self.looks.get();
        self.looks.set(looks.saturating_add(1));
        let is_up = looks >= self.most_looks || self.clock.now() >= self.solve_until;
        if is_up && self.cut_after.get().is_none() {
            self.cut_after.set(Some(looks));
        }
        is_up
    }

    /// After how many looks at the clock the time for solving was up, if it was: with it a tick can be run again to the bit.
    #[must_use]
    pub fn cut_after(&self) -> Option<u32> {
        self.cut_after.get()
    }
}
