//! What a guardian concludes from what it sees of the daemon. Pure: time comes with each look.
//!
//! Thread: the guardian's only one. `tests/wall` checks it against the daemon's end in every order of reads and writes.

use crate::shared::MonoNs;

/// Time between two looks, ns.
pub const LOOK_NS: u64 = 2_000_000;
/// Without a beat for this long the daemon hangs, ns. With a look on either side, zero force is sent within 16 ms.
pub const STILL_NS: u64 = 12_000_000;
/// A look that comes later than this after the one before counts only so much, ns: when the whole PC stood still, the daemon
/// gets the chance to show that it lives.
const LOOK_COUNTS_NS: u64 = 4_000_000;
/// For this long zero force is sent at every look, ns.
pub const INSIST_NS: u64 = 250_000_000;
/// After that, and while the daemon is still there, so often, ns.
const REMIND_NS: u64 = 50_000_000;

/// What the guardian sees at a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Beats of the daemon so far.
    pub beats: u64,
    /// Force may flow: a beat must not be late.
    pub armed: bool,
    /// The daemon is a living process.
    pub alive: bool,
    /// It has ended its work in good order.
    pub finished: bool,
    /// It has not yet taken note that it was silenced.
    pub unheeded: bool,
}

/// What the guardian does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Nothing.
    Look,
    /// Tell the daemon that it has been silenced, and send zero force.
    StepIn,
    /// Send zero force.
    Silence,
    /// Send zero force for the last time and end.
    End,
}

/// What a guardian concludes from what it sees. Reads no clock and does nothing itself.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    beats: u64,
    last_look: MonoNs,
    still_ns: u64,
    /// Since when zero force is being sent, and when it was last.
    acting: Option<(MonoNs, MonoNs)>,
}

impl Watch {
    /// Begins to watch.
    #[must_use]
    pub fn new(now: MonoNs) -> Self {
        Self { beats: 0, last_look: now, still_ns: 0, acting: None }
    }

    /// Takes a look.
    pub fn look(&mut self, now: MonoNs, sight: Sight) -> Act {
        let since = now.since(self.last_look).min(LOOK_COUNTS_NS);
        self.last_look = now;
        // While a device is started and homed there is no force to end, and orders to the line may take their time.
        let beating = sight.beats != self.beats || !sight.armed;
        self.still_ns = if beating { 0 } else { self.still_ns + since };
        self.beats = sight.beats;
        if sight.finished {
            return Act::End;
        }
        if !sight.alive {
            let (began, _) = *self.acting.get_or_insert((now, now));
            return if now.since(began) >= INSIST_NS { Act::End } else { Act::Silence };
        }
        match &mut self.acting {
            None if self.still_ns < STILL_NS => Act::Look,
            None => {
                self.acting = Some((now, now));
                Act::StepIn
            }
            Some(_) if beating && !sight.unheeded => {
                self.acting = None;
                Act::Look
            }
            Some((began, last)) => {
                if now.since(*began) >= INSIST_NS && now.since(*last) < REMIND_NS {
                    return Act::Look;
                }
                *last = now;
                Act::Silence
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A guardian at work in virtual time.
    struct Trial {
        watch: Watch,
        now: MonoNs,
        sight: Sight,
    }

    impl Trial {
        fn new() -> Self {
            let now = MonoNs(MS);
            let sight = Sight { beats: 0, armed: true, alive: true, finished: false, unheeded: false };
            Self { watch: Watch::new(now), now, sight }
        }

        /// One look after `ns`, with so many beats before it.
        fn look(&mut self, ns: u64, beats: u64) -> Act {
            self.now = self.now.plus(ns);
            self.sight.beats += beats;
            let act = self.watch.look(self.now, self.sight);
            self.sight.unheeded |= act == Act::StepIn;
            act
        }
    }

    #[test]
    fn a_daemon_that_beats_is_left_alone_and_so_is_one_that_has_not_begun() {
        let mut trial = Trial::new();
        trial.sight.armed = false;
        assert!((0..1000).all(|_| trial.look(LOOK_NS, 0) == Act::Look));
        trial.sight.armed = true;
        assert!((0..1000).all(|_| trial.look(LOOK_NS, 2) == Act::Look));
        // Late by five periods now and then, which a busy PC may be.
        assert!((0..1000).all(|i| trial.look(LOOK_NS, u64::from(i % 5 == 0)) == Act::Look));
    }

    #[test]
    fn a_daemon_that_stands_still_is_silenced_in_time_until_it_has_taken_note() {
        let mut trial = Trial::new();
        trial.look(LOOK_NS, 1);
        let stopped = trial.now;
        let act = (0..8).map(|_| trial.look(LOOK_NS, 0)).find(|act| *act != Act::Look);
        assert_eq!(act, Some(Act::StepIn));
        assert!(trial.now.since(stopped) <= STILL_NS + LOOK_NS, "{} ns", trial.now.since(stopped));
        assert!((0..50).all(|_| trial.look(LOOK_NS, 0) == Act::Silence));
        // It goes on, and may have sent an old force before it has looked.
        assert!((0..10).all(|_| trial.look(LOOK_NS, 2) == Act::Silence));
        trial.sight.unheeded = false;
        assert!((0..100).all(|_| trial.look(LOOK_NS, 2) == Act::Look));
        let act = (0..8).map(|_| trial.look(LOOK_NS, 0)).find(|act| *act != Act::Look);
        assert_eq!(act, Some(Act::StepIn), "and it is watched again");
    }

    #[test]
    fn a_daemon_that_stays_stopped_is_reminded_for_good() {
        let mut trial = Trial::new();
        trial.look(LOOK_NS, 1);
        let acts: Vec<Act> = (0..5000).map(|_| trial.look(LOOK_NS, 0)).collect();
        let late = acts[4000..].iter().filter(|act| **act == Act::Silence).count();
        assert_eq!(late, 1000 * LOOK_NS as usize / REMIND_NS as usize);
        assert_eq!(acts.iter().filter(|act| **act == Act::StepIn).count(), 1);
    }

    #[test]
    fn death_is_answered_at_once_whatever_the_beats_say_and_ends_the_watch() {
        for beats in [0, 1] {
            let mut trial = Trial::new();
            trial.look(LOOK_NS, beats);
            trial.sight.alive = false;
            let acts: Vec<Act> = (0..=INSIST_NS / LOOK_NS).map(|_| trial.look(LOOK_NS, 0)).collect();
            let (last, others) = acts.split_last().expect("acts");
            assert!(others.iter().all(|act| *act == Act::Silence) && *last == Act::End, "{acts:?}");
        }
    }

    #[test]
    fn a_good_end_ends_the_watch_and_a_pc_that_slept_is_no_hang() {
        let mut trial = Trial::new();
        trial.look(LOOK_NS, 1);
        assert_eq!(trial.look(3600 * 1000 * MS, 0), Act::Look, "the daemon slept as well");
        assert_eq!(trial.look(LOOK_NS, 1), Act::Look);
        trial.sight.finished = true;
        assert_eq!(trial.look(LOOK_NS, 0), Act::End);
    }
}
