//! Readings that cannot be: most protocols have no checksum, so a wrong bit looks like a leap of the handle.
//!
//! Thread: device I/O.

/// Leaps in a row after which the new place is believed: the counter itself has leapt, and that is for the tick to judge.
const BELIEVED_AFTER: u32 = 3;

/// Compares each set of counts with the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plausible<const N: usize> {
    last: Option<[i32; N]>,
    leaps: u32,
    step: i32,
}

impl<const N: usize> Plausible<N> {
    /// A counter that moves by at most `step` between two answers.
    pub(super) fn new(step: i32) -> Self {
        Self { last: None, leaps: 0, step }
    }

    /// Forgets where the counters were.
    pub(super) fn clear(&mut self) {
        (self.last, self.leaps) = (None, 0);
    }

    /// True when the counts can follow those before.
    pub(super) fn accepts(&mut self, counts: &[i32; N]) -> bool {
        let leap = self.last.is_some_and(|last| {
            last.iter().zip(counts).any(|(old, new)| old.abs_diff(*new) > self.step.unsigned_abs())
        });
        self.leaps = if leap { self.leaps + 1 } else { 0 };
        if leap && self.leaps < BELIEVED_AFTER {
            return false;
        }
        (self.last, self.leaps) = (Some(*counts), 0);
        true
    }
}
