//! When each tick is due, and what happens to ticks that were missed.
//!
//! Thread: any (RT safe). Pure: the time is always an argument, so that tests need no sleeping.
//!
//! Ticks lie on a fixed grid: slot `k` is due at `origin + ⌊k · 10¹² / rate⌋` ns with the rate in millihertz, computed
//! anew for every slot. Adding up a rounded period instead would drift (333 333 ns for 3 kHz loses 1 ms in 17 minutes).
//!
//! After an overrun the slots that lie in the past are skipped and counted, and the next tick waits for the next slot of
//! the same grid. The rejected alternative, running the missed ticks one after another, would let the coupling integrate
//! several periods against a hand that had no time to move.

use std::ops::ControlFlow;

use super::{Clock, MonoNs, NS_PER_S, Tick};

/// Slots are computed in units of 1/1000 Hz, so any rate written with three decimals is kept exactly.
const MILLI: u64 = 1000;
/// Lowest rate accepted, Hz: one tick in 1000 s. Below it the rate rounds to zero.
const RATE_MIN_HZ: f64 = 0.001;
/// Highest rate accepted, Hz. Above it reading the clock takes a good part of the period.
const RATE_MAX_HZ: f64 = 1.0e6;

/// A tick rate that no pacer can keep.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a tick rate of {0} Hz is not possible: give a rate from 0.001 to 1000000 Hz (1000 is usual)")]
pub struct RateError(pub f64);

/// What to do until the next tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Sleep until this instant, then ask again.
    Sleep(MonoNs),
    /// The tick is so near that waking up would cost more than waiting: ask again at once.
    Spin,
    /// Begin the tick.
    Due,
}

/// Decides the due time of each tick.
#[derive(Clone, Debug)]
pub struct Pacer {
    rate_millihertz: u64,
    spin_ns: u64,
    origin: MonoNs,
    slot: u64,
    due: MonoNs,
    ticks: u64,
    skipped: u64,
    skipped_last: u64,
    overruns: u64,
}

impl Pacer {
    /// A pacer whose first tick is due at `origin`. In the last `spin_ns` before a tick it asks for spinning: that
    /// removes the time a wake-up takes, and costs `spin_ns · rate` of a core.
    ///
    /// # Errors
    /// [`RateError`] when the rate is not a number from 0.001 to 1 000 000 Hz.
    pub fn new(rate_hz: f64, spin_ns: u64, origin: MonoNs) -> Result<Self, RateError> {
        if !(RATE_MIN_HZ..=RATE_MAX_HZ).contains(&rate_hz) {
            return Err(RateError(rate_hz));
        }
        let rate_millihertz = (rate_hz * MILLI as f64).round() as u64;
        let [slot, ticks, skipped, skipped_last, overruns] = [0; 5];
        Ok(Self { rate_millihertz, spin_ns, origin, slot, due: origin, ticks, skipped, skipped_last, overruns })
    }

    /// When the coming tick is due.
    #[must_use]
    pub fn due(&self) -> MonoNs {
        self.due
    }

    /// Nominal time between ticks, s.
    #[must_use]
    pub fn period_s(&self) -> f64 {
        MILLI as f64 / self.rate_millihertz as f64
    }

    /// Nominal time between ticks, ns, rounded down.
    #[must_use]
    pub fn period_ns(&self) -> u64 {
        NS_PER_S * MILLI / self.rate_millihertz
    }

    /// Ticks finished so far.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Slots that passed without a tick, in all.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Slots that passed without a tick between the tick before and the coming one.
    #[must_use]
    pub fn skipped_last(&self) -> u64 {
        self.skipped_last
    }

    /// How many times slots had to be skipped, however many each time.
    #[must_use]
    pub fn overruns(&self) -> u64 {
        self.overruns
    }

    /// What to do at `now` while the coming tick has not begun.
    #[must_use]
    pub fn wait(&self, now: MonoNs) -> Wait {
        let left_ns = self.due.since(now);
        if left_ns == 0 {
            Wait::Due
        } else if left_ns <= self.spin_ns {
            Wait::Spin
        } else {
            Wait::Sleep(MonoNs(self.due.0.saturating_sub(self.spin_ns)))
        }
    }

    /// Ends the tick that was due: chooses the next slot, the first one that is not yet past at `now`.
    pub fn finish(&mut self, now: MonoNs) {
        let next = self.slot.saturating_add(1);
        self.slot = next.max(self.first_slot_from(now));
        self.due = self.due_of(self.slot);
        self.ticks += 1;
        self.skipped_last = self.slot - next;
        self.skipped += self.skipped_last;
        self.overruns += u64::from(self.skipped_last > 0);
    }

    /// Runs `body` once a tick until it breaks. It is handed the tick and the number of slots skipped just before it.
    /// `sleep` blocks until the instant it is given and may return early.
    ///
    /// This is the loop of the haptic thread (`SystemClock`, `sleep_until`), of the benches, and of tests in virtual
    /// time: one loop, so that what is measured is what runs.
    pub fn run(
        &mut self,
        clock: &dyn Clock,
        sleep: impl Fn(MonoNs),
        solve_budget_ns: u64,
        mut body: impl FnMut(&mut Tick<'_>, u64) -> ControlFlow<()>,
    ) {
        loop {
            loop {
                match self.wait(clock.now()) {
                    Wait::Sleep(until) => sleep(until),
                    Wait::Spin => std::hint::spin_loop(),
                    Wait::Due => break,
                }
            }
            let mut tick = Tick::begin(self.ticks + 1, self.due, self.period_s(), solve_budget_ns, clock);
            tick.skipped = self.skipped_last;
            let flow = body(&mut tick, self.skipped_last);
            self.finish(clock.now());
            if flow.is_break() {
                return;
            }
        }
    }

    /// `origin + ⌊k · 10¹² / rate⌋`.
    fn due_of(&self, slot: u64) -> MonoNs {
        let ns = u128::from(slot) * u128::from(NS_PER_S * MILLI) / u128::from(self.rate_millihertz);
        self.origin.plus(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// The smallest slot due at `now` or later: `⌈(now − origin) · rate / 10¹²⌉`, exact because `⌊x⌋ ≥ n ⇔ x ≥ n`.
    fn first_slot_from(&self, now: MonoNs) -> u64 {
        let scaled = u128::from(now.since(self.origin)) * u128::from(self.rate_millihertz);
        u64::try_from(scaled.div_ceil(u128::from(NS_PER_S * MILLI))).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use proptest::prelude::*;

    use super::super::ManualClock;
    use super::*;

    const MS: u64 = 1_000_000;
    const ORIGIN: MonoNs = MonoNs(123_456_789);

    fn pacer(rate_hz: f64) -> Pacer {
        Pacer::new(rate_hz, 0, ORIGIN).expect("the rate is in range")
    }

    /// Runs `ticks` ticks of 1 kHz in virtual time; tick `n` takes `work_ns(n)`. Gives when each began and was due.
    fn run(pacer: &mut Pacer, ticks: u64, work_ns: impl Fn(u64) -> u64) -> Vec<(MonoNs, MonoNs, u64)> {
        let clock = ManualClock::at(MonoNs(0));
        let seen = RefCell::new(Vec::new());
        pacer.run(
            &clock,
            |until| clock.set(until),
            0,
            |tick, skipped| {
                seen.borrow_mut().push((tick.began, tick.due, skipped));
                clock.set(clock.now().plus(work_ns(tick.index)));
                if tick.index == ticks { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        seen.into_inner()
    }

    #[test]
    fn a_stall_of_7_3_periods_is_followed_by_no_burst_and_the_phase_is_kept() {
        let mut pacer = pacer(1000.0);
        let seen = run(&mut pacer, 20, |n| if n == 5 { 7_300_000 } else { MS / 5 });
        // Tick 5 begins in slot 4 and ends at slot 11.3: slots 5 to 11 are gone, tick 6 has slot 12.
        let slots: Vec<u64> = seen.iter().map(|(_, due, _)| due.since(ORIGIN) / MS).collect();
        assert_eq!(slots, (0..5).chain(12..27).collect::<Vec<_>>());
        for pair in seen.windows(2) {
            assert!(pair[1].0.since(pair[0].0) >= MS, "two ticks within one period: {pair:?}");
        }
        for (began, due, _) in &seen {
            assert_eq!(due.since(ORIGIN) % MS, 0, "off the grid");
            assert_eq!(began, due);
        }
        assert_eq!((pacer.skipped(), pacer.overruns(), pacer.ticks()), (7, 1, 20));
        assert_eq!(seen[5].2, 7);
        assert!(seen.iter().enumerate().all(|(n, (_, _, skipped))| n == 5 || *skipped == 0));
    }

    #[test]
    fn a_late_wake_up_is_charged_to_the_tick_that_woke_late() {
        let clock = ManualClock::at(MonoNs(0));
        let mut pacer = pacer(1000.0);
        let stall = Cell::new(true);
        let mut lateness = Vec::new();
        pacer.run(
            &clock,
            |until| clock.set(if until > ORIGIN && stall.replace(false) { until.plus(2_500_000) } else { until }),
            0,
            |tick, skipped| {
                lateness.push((tick.lateness_ns(), skipped));
                if tick.index == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        // Slot 1 wakes at 3.5: it runs at once, slots 2 and 3 are gone, slot 4 is on time.
        assert_eq!(lateness, [(0, 0), (2_500_000, 0), (0, 2), (0, 0)]);
        assert_eq!(pacer.due(), ORIGIN.plus(6 * MS));
    }

    #[test]
    fn a_tick_that_ends_exactly_when_the_next_is_due_is_no_overrun() {
        let mut pacer = pacer(1000.0);
        run(&mut pacer, 100, |_| MS);
        assert_eq!((pacer.skipped(), pacer.overruns()), (0, 0));
        let mut late = self::pacer(1000.0);
        run(&mut late, 100, |_| MS + 1);
        assert_eq!((late.skipped(), late.overruns()), (100, 100));
    }

    #[test]
    fn a_billion_ticks_do_not_drift_by_a_nanosecond() {
        for rate_hz in [1000.0, 3000.0, 4000.0, 1500.0, 59.94, 333.333] {
            let rate_millihertz = (rate_hz * 1000.0_f64).round() as u128;
            let exact = |slot: u128| ORIGIN.plus((slot * 1_000_000_000_000 / rate_millihertz) as u64);
            // Every one of the first million, then the last thousand before a billion.
            let mut pacer = pacer(rate_hz);
            for slot in 1..=1_000_000_u128 {
                pacer.finish(pacer.due());
                assert_eq!(pacer.due(), exact(slot), "{rate_hz} Hz");
            }
            pacer.finish(exact(999_999_000));
            for slot in 999_999_001..=1_000_000_000_u128 {
                pacer.finish(pacer.due());
                assert_eq!(pacer.due(), exact(slot), "{rate_hz} Hz");
            }
        }
        // Written out for 3 kHz: a billion thirds of a millisecond, rounded down.
        let mut three = pacer(3000.0);
        three.finish(ORIGIN.plus(333_333_333_333_333));
        assert_eq!(three.due(), ORIGIN.plus(333_333_333_333_333));
    }

    #[test]
    fn the_last_stretch_before_a_tick_is_spun_and_the_rest_slept() {
        let pacer = Pacer::new(1000.0, 100_000, ORIGIN).expect("the rate is in range");
        assert_eq!(pacer.wait(MonoNs(0)), Wait::Sleep(MonoNs(ORIGIN.0 - 100_000)));
        assert_eq!(pacer.wait(MonoNs(ORIGIN.0 - 100_001)), Wait::Sleep(MonoNs(ORIGIN.0 - 100_000)));
        assert_eq!(pacer.wait(MonoNs(ORIGIN.0 - 100_000)), Wait::Spin);
        assert_eq!(pacer.wait(MonoNs(ORIGIN.0 - 1)), Wait::Spin);
        assert_eq!(pacer.wait(ORIGIN), Wait::Due);
        assert_eq!(pacer.wait(ORIGIN.plus(5)), Wait::Due);
    }

    #[test]
    fn a_rate_that_cannot_be_kept_is_refused() {
        for rate_hz in [0.0, -1.0, 0.0009, 1.1e6, f64::NAN, f64::INFINITY] {
            assert!(Pacer::new(rate_hz, 0, ORIGIN).is_err(), "{rate_hz}");
        }
    }

    proptest! {
        #[test]
        fn every_slot_is_either_ticked_or_counted_as_skipped(
            rate_hz in 1.0..20_000.0_f64,
            work in prop::collection::vec(0.0..12.0_f64, 1..200),
        ) {
            let mut pacer = pacer(rate_hz);
            let mut now = ORIGIN;
            for periods in work {
                let before = pacer.due();
                now = now.max(before).plus((periods * pacer.period_s() * 1e9) as u64);
                pacer.finish(now);
                // On the grid, not in the past, and the slot before it was past or was the one just run.
                prop_assert!(pacer.due() >= now);
                prop_assert_eq!(pacer.slot, pacer.ticks() + pacer.skipped());
                prop_assert_eq!(pacer.due(), pacer.due_of(pacer.slot));
                let previous = pacer.due_of(pacer.slot - 1);
                prop_assert!(previous < now || previous == before);
            }
        }
    }
}
