//! Readings that cannot be: most protocols have no checksum, so a wrong bit looks like a leap of the handle.
//!
//! Thread: device I/O.

/// Readings in a row that must agree on a new place before it is believed: then the counter itself has leapt, and that is
/// for the tick to judge.
const BELIEVED_AFTER: u32 = 3;

/// Compares each set of counts with the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plausible<const N: usize> {
    last: Option<[i32; N]>,
    /// Where the last leap led, and how many readings have been there since.
    elsewhere: Option<([i32; N], u32)>,
    step: u32,
}

impl<const N: usize> Plausible<N> {
    /// A counter that moves by at most `step` between two answers.
    pub(super) fn new(step: u32) -> Self {
        Self { last: None, elsewhere: None, step }
    }

    /// Forgets where the counters were.
    pub(super) fn clear(&mut self) {
        (self.last, self.elsewhere) = (None, None);
    }

    /// True when the counts can follow those before.
    pub(super) fn accepts(&mut self, counts: &[i32; N]) -> bool {
        let near = |from: &[i32; N]| from.iter().zip(counts).all(|(old, new)| old.abs_diff(*new) <= self.step);
        if !self.last.is_none_or(|last| near(&last)) {
            let seen = match self.elsewhere {
                Some((place, seen)) if near(&place) => seen + 1,
                _ => 1,
            };
            self.elsewhere = Some((*counts, seen));
            if seen < BELIEVED_AFTER {
                return false;
            }
        }
        (self.last, self.elsewhere) = (Some(*counts), None);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leap_is_refused_until_three_readings_agree() {
        let mut plausible = Plausible::<2>::new(10);
        assert!(plausible.accepts(&[1000, 0]) && plausible.accepts(&[1010, -10]));
        assert!(!plausible.accepts(&[1010, 1]) && plausible.accepts(&[1012, -8]));
        // Leaps to different places never agree.
        assert!((0..20).all(|i| !plausible.accepts(&[i * 5000, i32::MIN])));
        assert!(plausible.accepts(&[1012, -8]));
        let place = [i32::MAX, 7];
        assert!(!plausible.accepts(&place) && !plausible.accepts(&place) && plausible.accepts(&place));
    }
}
