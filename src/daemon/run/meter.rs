//! How fast something counts: the rate over about the last second.
//!
//! Thread: control.

use crate::shared::MonoNs;
use std::collections::VecDeque;

/// Readings kept, and the time between two, ns: together one second.
const READINGS: usize = 5;
const EVERY_NS: u64 = 250_000_000;

/// Follows a counter.
#[derive(Debug, Default)]
pub(in crate::daemon) struct RateMeter {
    readings: VecDeque<(MonoNs, u64)>,
}

impl RateMeter {
    /// Takes note of the counter; cheap to call more often than it looks. A counter that went back began anew.
    pub(in crate::daemon) fn read(&mut self, now: MonoNs, count: u64) {
        if self.readings.back().is_some_and(|(_, last)| count < *last) {
            self.readings.clear();
        }
        if self.readings.back().is_none_or(|(at, _)| now.since(*at) >= EVERY_NS) {
            if self.readings.len() == READINGS {
                self.readings.pop_front();
            }
            self.readings.push_back((now, count));
        }
    }

    /// Counts a second, Hz; zero until two readings are there.
    pub(in crate::daemon) fn hz(&self) -> f64 {
        match (self.readings.front(), self.readings.back()) {
            (Some((from, first)), Some((to, last))) if to > from => (last - first) as f64 / to.seconds_after(*from),
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_the_last_second_and_starts_anew_with_the_counter() {
        let mut meter = RateMeter::default();
        assert_eq!(meter.hz(), 0.0);
        let mut run = |from_ms: u64, to_ms: u64, count: &dyn Fn(u64) -> u64| {
            for ms in (from_ms..=to_ms).step_by(2) {
                meter.read(MonoNs(ms * 1_000_000), count(ms));
            }
            meter.hz()
        };
        assert!((run(0, 5000, &|ms| ms) - 1000.0).abs() < 1e-9);
        // Stands still: after a second nothing is left of the rate.
        assert_eq!(run(5002, 6500, &|_| 5000), 0.0);
        assert!((run(6502, 8000, &|ms| (ms - 6502) / 2) - 500.0).abs() < 3.0);
    }
}
