//! A handle whose device answers seldom, shown on a straight way between its answers: without, it would leap from one to the next, and
//! its speed be many times what it is.
//!
//! Thread: device I/O.

use crate::device::HandSample;
use crate::shared::MonoNs;

/// Answers farther apart than this are not joined: something was in between, ns.
const JOINED_NS: u64 = 100_000_000;

/// See the file's head.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Glide {
    /// Where the handle was shown when the newest answer came.
    from: Option<HandSample>,
    to: Option<HandSample>,
    /// How long the way takes: as long as the answer was waited for.
    over_ns: u64,
}

impl Glide {
    /// Takes an answer.
    pub(super) fn take(&mut self, sample: &HandSample) {
        let now = sample.stamp.at;
        let waited_ns = self.to.map_or(u64::MAX, |last| now.since(last.stamp.at));
        let same = self.to.is_some_and(|last| last.homed == sample.homed);
        self.from = if waited_ns <= JOINED_NS && same { self.at(now) } else { None };
        (self.to, self.over_ns) = (Some(*sample), waited_ns);
    }

    /// The handle as it is shown now.
    pub(super) fn at(&self, now: MonoNs) -> Option<HandSample> {
        let mut shown = self.to?;
        if let Some(from) = self.from.filter(|_| self.over_ns > 0) {
            let left = 1.0 - (now.since(shown.stamp.at) as f64 / self.over_ns as f64).min(1.0);
            let way = from.pose_device_handle.translation.vector - shown.pose_device_handle.translation.vector;
            shown.pose_device_handle.translation.vector += way * left;
        }
        Some(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Pose;
    use crate::shared::Stamp;

    fn sample(ms: u64, x: f64) -> HandSample {
        let stamp = Stamp { sequence: ms, at: MonoNs(ms * 1_000_000) };
        HandSample { stamp, pose_device_handle: Pose::translation(x, 0.0, 0.0), buttons: 0, homed: true }
    }

    fn x(glide: &Glide, ms: u64) -> f64 {
        glide.at(MonoNs(ms * 1_000_000)).expect("an answer").pose_device_handle.translation.x
    }

    #[test]
    fn a_steady_motion_stays_steady_and_a_stop_is_reached() {
        let mut glide = Glide::default();
        assert!(glide.at(MonoNs(0)).is_none());
        for answer in 0..5 {
            glide.take(&sample(10 + answer * 10, answer as f64));
            for ms in 0..10 {
                let expected = (answer as f64 - 1.0 + ms as f64 / 10.0).max(0.0);
                assert!((x(&glide, 10 + answer * 10 + ms) - expected).abs() < 1e-12);
            }
        }
        assert_eq!(x(&glide, 75), 4.0);
    }

    #[test]
    fn answers_far_apart_are_not_joined() {
        let mut glide = Glide::default();
        glide.take(&sample(10, 0.0));
        glide.take(&sample(300, 1.0));
        assert_eq!(x(&glide, 300), 1.0);
    }
}
