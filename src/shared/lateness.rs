//! Histogram of durations: how late ticks began, how long they took.
//!
//! Thread: any (RT safe but for construction and cloning).
//!
//! Wraps `hdrhistogram` with fixed bounds. Its growing form allocates when a value exceeds the range; its saturating
//! record on a fixed range only clamps and counts (its size is checked below), so there is no reason to write
//! a second one. The wrapper adds what a latency figure needs: the exact maximum, which the buckets would round up and
//! the clamp would hide.

use hdrhistogram::Histogram;

/// Largest duration told apart, ns: one minute. Longer ones count as this in percentiles; the maximum stays exact.
const DURATION_MAX_NS: u64 = 60_000_000_000;
/// Decimal digits kept: a percentile is at most 0.1 % above the true value. Costs 230 kB; one digit less would save
/// 200 kB and round 12.80 µs to 12.87 µs.
const DIGITS: u8 = 3;

/// Counts durations in nanoseconds. Allocates when made, never after.
#[derive(Clone, Debug)]
pub struct DurationHistogram {
    counts: Histogram<u64>,
    buckets: DurationBuckets,
    max_ns: u64,
}

/// Durations counted in a few wide buckets: little enough to cross a thread, and what monitoring tools add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurationBuckets {
    /// How many fell at or below each edge and above the one before; the last of them, above every edge.
    counts: [u64; Self::EDGES_NS.len() + 1],
    sum_ns: u64,
}

impl DurationBuckets {
    /// Upper edges, ns: 1 µs to 1 s in steps of 1, 2, 5. Finer edges would cost the haptic thread more to copy.
    pub const EDGES_NS: [u64; 19] = [
        1_000,
        2_000,
        5_000,
        10_000,
        20_000,
        50_000,
        100_000,
        200_000,
        500_000,
        1_000_000,
        2_000_000,
        5_000_000,
        10_000_000,
        20_000_000,
        50_000_000,
        100_000_000,
        200_000_000,
        500_000_000,
        1_000_000_000,
    ];

    /// Counts one duration.
    pub fn record(&mut self, duration_ns: u64) {
        let bucket = Self::EDGES_NS.partition_point(|edge| *edge < duration_ns);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.sum_ns = self.sum_ns.saturating_add(duration_ns);
    }

    /// Adds everything `other` has counted.
    pub fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
    }

    /// How many were at most each edge: edge in ns and count, rising.
    pub fn cumulative(&self) -> impl Iterator<Item = (u64, u64)> {
        let up_to = |sum: &mut u64, count: &u64| {
            *sum += count;
            Some(*sum)
        };
        Self::EDGES_NS.into_iter().zip(self.counts.iter().scan(0, up_to))
    }

    /// How many durations were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// All durations together, ns.
    #[must_use]
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }
}

/// The figures of a [`DurationHistogram`] that count: small enough to cross a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurationFigures {
    /// How many durations were recorded.
    pub count: u64,
    /// Half were at most this, ns.
    pub p50_ns: u64,
    /// 99 of 100 were at most this, ns.
    pub p99_ns: u64,
    /// 999 of 1000 were at most this, ns.
    pub p999_ns: u64,
    /// The longest, ns; exact.
    pub max_ns: u64,
    /// All of them, counted coarsely.
    pub buckets: DurationBuckets,
}

impl DurationHistogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        let counts =
            Histogram::new_with_bounds(1, DURATION_MAX_NS, DIGITS).expect("the bounds and digits are constants");
        Self { counts, buckets: DurationBuckets::default(), max_ns: 0 }
    }

    /// Counts one duration.
    pub fn record(&mut self, duration_ns: u64) {
        self.counts.saturating_record(duration_ns);
        self.buckets.record(duration_ns);
        self.max_ns = self.max_ns.max(duration_ns);
    }

    /// Adds everything `other` has counted.
    pub fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts).expect("all have the same bounds");
        self.buckets.merge(&other.buckets);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.counts.reset();
        self.buckets = DurationBuckets::default();
        self.max_ns = 0;
    }

    /// How many durations were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// The longest duration, ns; exact.
    #[must_use]
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The duration that `percent` of all did not exceed (nearest rank), ns, rounded up by at most 0.1 %. Zero when empty.
    #[must_use]
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        // A hair less: 99.9 / 100 · 10,000 comes out above 9,990 in binary and would ask for the next rank.
        self.counts.value_at_quantile(percent / 100.0 * (1.0 - 1e-12)).min(self.max_ns)
    }

    /// Median, tail and maximum.
    #[must_use]
    pub fn figures(&self) -> DurationFigures {
        DurationFigures {
            count: self.count(),
            p50_ns: self.percentile_ns(50.0),
            p99_ns: self.percentile_ns(99.0),
            p999_ns: self.percentile_ns(99.9),
            max_ns: self.max_ns,
            buckets: self.buckets,
        }
    }

    /// How many durations were at most `to_ns`, to the resolution of the histogram.
    #[must_use]
    pub fn count_up_to(&self, to_ns: u64) -> u64 {
        self.counts.count_between(0, to_ns)
    }
}

impl Default for DurationHistogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A deterministic heavy-tailed sample: a body about 30 µs and a tail up to tens of milliseconds.
    fn sample(count: usize) -> Vec<u64> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut uniform = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..count).map(|_| (20_000.0 + 8_000.0 / (1.0 - uniform()).powf(0.9)) as u64).collect()
    }

    #[test]
    fn percentiles_agree_with_sorted_data_to_a_thousandth() {
        let values = sample(200_000);
        let mut histogram = DurationHistogram::new();
        values.iter().for_each(|v| histogram.record(*v));
        let mut sorted = values;
        sorted.sort_unstable();
        for percent in [1.0_f64, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0] {
            // In whole numbers, so that no rounding hides in the claim.
            let rank = ((percent * 100.0).round() as usize * sorted.len()).div_ceil(10_000);
            let exact = sorted[rank - 1];
            let got = histogram.percentile_ns(percent);
            assert!(got >= exact, "p{percent}: {got} below {exact}");
            assert!((got - exact) as f64 <= 1e-3 * exact as f64, "p{percent}: {got} against {exact}");
        }
        assert_eq!(histogram.max_ns(), sorted[sorted.len() - 1]);
        assert_eq!(histogram.count(), 200_000);
    }

    #[test]
    fn buckets_count_what_is_at_most_their_edge_and_add_up() {
        let mut values = sample(20_000);
        values.extend([0, 999, 1_000, 1_001, 1_000_000_000, 1_000_000_001]);
        let (mut whole, mut half) = (DurationHistogram::new(), DurationHistogram::new());
        for (index, value) in values.iter().enumerate() {
            if index % 2 == 0 { whole.record(*value) } else { half.record(*value) }
        }
        whole.merge(&half);
        let buckets = whole.figures().buckets;
        let cumulative: Vec<(u64, u64)> = buckets.cumulative().collect();
        assert_eq!(cumulative.len(), DurationBuckets::EDGES_NS.len());
        for (edge, count) in cumulative {
            assert_eq!(count, values.iter().filter(|value| **value <= edge).count() as u64, "{edge}");
        }
        assert_eq!((buckets.count(), buckets.sum_ns()), (values.len() as u64, values.iter().sum()));
        whole.clear();
        assert_eq!(whole.figures().buckets, DurationBuckets::default());
        whole.record(u64::MAX);
        whole.record(u64::MAX);
        assert_eq!((whole.figures().buckets.sum_ns(), whole.figures().buckets.count()), (u64::MAX, 2));
    }

    #[test]
    fn a_duration_beyond_the_range_is_counted_and_its_maximum_is_exact() {
        let mut histogram = DurationHistogram::new();
        for value in [0, 1, 40_000, u64::MAX] {
            histogram.record(value);
        }
        assert_eq!(histogram.count(), 4);
        assert_eq!(histogram.max_ns(), u64::MAX);
        assert_eq!(histogram.percentile_ns(25.0), 0);
        assert!(histogram.percentile_ns(100.0) >= DURATION_MAX_NS);
    }

    #[test]
    fn merged_halves_equal_the_whole() {
        let values = sample(10_001);
        let (mut whole, mut left, mut right) =
            (DurationHistogram::new(), DurationHistogram::new(), DurationHistogram::new());
        for (n, value) in values.iter().enumerate() {
            whole.record(*value);
            if n % 3 == 0 { &mut left } else { &mut right }.record(*value);
        }
        left.merge(&right);
        assert_eq!(left.figures(), whole.figures());
        assert_eq!(left.counts, whole.counts);
        left.clear();
        assert_eq!(left.figures(), DurationFigures::default());
    }

    #[test]
    fn counting_up_to_a_bound_agrees_with_counting_the_data() {
        let values = sample(5_000);
        let mut histogram = DurationHistogram::new();
        values.iter().for_each(|v| histogram.record(*v));
        for bound in (10..36).map(|n| (1 << n) - 1) {
            assert_eq!(histogram.count_up_to(bound), values.iter().filter(|v| **v <= bound).count() as u64, "{bound}");
        }
        assert_eq!(histogram.count_up_to(u64::MAX), 5_000);
    }

    #[test]
    fn recording_never_changes_the_size_of_the_histogram() {
        let mut histogram = DurationHistogram::new();
        let (buckets, distinct) = (histogram.counts.buckets(), histogram.counts.distinct_values());
        assert!(!histogram.counts.is_auto_resize());
        for shift in 0..64 {
            histogram.record(1 << shift);
        }
        assert_eq!((histogram.counts.buckets(), histogram.counts.distinct_values()), (buckets, distinct));
    }
}
