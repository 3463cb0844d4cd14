//! The ticks of the last seconds in a few numbers each, for those who want every one of them.
//!
//! Thread: control.

use crate::haptic::TickRecord;
use std::collections::VecDeque;

/// Ticks kept: four seconds at 1 kHz, more than any viewer is behind.
pub const MOST: usize = 4096;

/// Numbers kept of a tick.
pub const VALUES: usize = 8;

/// What is kept of one tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Number of the tick.
    pub index: u64,
    /// Force, N; force wanted, N; penetration, m; energy reserve, J; lateness, µs; compute time, µs; gain of the ramp; speed
    /// of the handle, m/s.
    pub values: [f32; VALUES],
}

/// See the head of the file. Places count all ticks ever pushed and never go back, also where the ticks' own numbers begin
/// anew with another scene.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    steps: VecDeque<Step>,
    end: u64,
}

impl Trail {
    /// Takes a tick in; the oldest goes when there are too many.
    pub fn push(&mut self, record: &TickRecord) {
        if self.steps.len() == MOST {
            self.steps.pop_front();
        }
        let values = [
            record.force.force.norm(),
            record.wanted.force.norm(),
            record.penetration_m,
            record.account.reserve_j,
            record.lateness_ns as f64 * 1e-3,
            record.compute_ns as f64 * 1e-3,
            record.gain,
            record.velocity.norm(),
        ];
        self.steps.push_back(Step { index: record.index, values: values.map(|value| value as f32) });
        self.end += 1;
    }

    /// The place after the newest tick.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The ticks from a place on, oldest first, and how many before them are gone.
    pub fn since(&self, place: u64) -> (impl Iterator<Item = &Step>, u64) {
        let first = self.end - self.steps.len() as u64;
        let skip = usize::try_from(place.saturating_sub(first)).unwrap_or(usize::MAX);
        (self.steps.iter().skip(skip), first.saturating_sub(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Pose;

    fn push(trail: &mut Trail, index: u64) {
        let mut record = TickRecord::empty(Pose::identity());
        record.index = index;
        record.lateness_ns = 1500;
        trail.push(&record);
    }

    fn indices(trail: &Trail, place: u64) -> (Vec<u64>, u64) {
        let (steps, lost) = trail.since(place);
        (steps.map(|step| step.index).collect(), lost)
    }

    #[test]
    fn a_reader_gets_what_is_new_and_hears_what_is_gone() {
        let mut trail = Trail::default();
        assert_eq!(indices(&trail, 0), (vec![], 0));
        (10..13).for_each(|index| push(&mut trail, index));
        assert_eq!(indices(&trail, 1), (vec![11, 12], 0));
        assert_eq!(indices(&trail, trail.end()), (vec![], 0));
        assert_eq!(trail.since(0).0.next().map(|step| step.values[4]), Some(1.5));
        (13..13 + MOST as u64).for_each(|index| push(&mut trail, index));
        let (left, lost) = indices(&trail, 1);
        assert_eq!((left.len(), lost), (MOST, 2));
        assert_eq!(indices(&trail, u64::MAX), (vec![], 0));
    }
}
