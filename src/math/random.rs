//! A small random-number generator whose numbers never change.
//!
//! Thread: any (RT safe).
//!
//! Equal seeds must give equal runs, bit for bit, in every version of the program: recordings and reported seeds are
//! worthless otherwise. Library generators reserve the right to change, so this one is written out: xoshiro256++ seeded
//! by SplitMix64 (Blackman and Vigna 2021, "Scrambled linear pseudorandom number generators"). No library function whose
//! last bit differs between platforms is used, hence the plain sum of uniforms for [`Random::normal`].

/// Generator of one stream of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random([u64; 4]);

/// One step of SplitMix64.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    /// The stream of numbers that belongs to `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut state = seed;
        Self([split_mix(&mut state), split_mix(&mut state), split_mix(&mut state), split_mix(&mut state)])
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Evenly distributed over `[0, 1)`.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Nearly normal with mean 0 and variance 1: the sum of twelve uniforms less six. The tails end at ±6, which noise
    /// that is filtered or clamped afterwards does not notice.
    pub fn normal(&mut self) -> f64 {
        let halves: u64 = (0..6).map(|_| self.bits()).map(|b| (b >> 32) + (b & 0xffff_ffff)).sum();
        // Twelve 32-bit numbers, each standing for the middle of its interval.
        (halves as f64 + 6.0) / (1_u64 << 32) as f64 - 6.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_published_numbers() {
        let mut random = Random([1, 2, 3, 4]);
        let expected = [
            41_943_041,
            58_720_359,
            3_588_806_011_781_223,
            3_591_011_842_654_386,
            9_228_616_714_210_784_205,
            9_973_669_472_204_895_162,
            14_011_001_112_246_962_877,
            12_406_186_145_184_390_807,
            15_849_039_046_786_891_736,
            10_450_023_813_501_588_000,
        ];
        for number in expected {
            assert_eq!(random.bits(), number);
        }
        let mut state = 1_477_776_061_723_855_037;
        for number in [1_985_237_415_132_408_290, 2_979_275_885_539_914_483, 13_511_426_838_097_143_398] {
            assert_eq!(split_mix(&mut state), number);
        }
    }

    #[test]
    fn normal_numbers_have_the_moments_of_the_normal_distribution() {
        let mut random = Random::new(7);
        let count = 200_000;
        let (mut first, mut second, mut fourth) = (0.0, 0.0, 0.0);
        for _ in 0..count {
            let x = random.normal();
            first += x;
            second += x * x;
            fourth += x.powi(4);
        }
        let n = f64::from(count);
        // Standard errors of the three means: 0.0022, 0.0032, 0.021; the sum of twelve uniforms has kurtosis 2.9.
        assert!((first / n).abs() < 0.009, "{}", first / n);
        assert!((second / n - 1.0).abs() < 0.013, "{}", second / n);
        assert!((fourth / n - 2.9).abs() < 0.085, "{}", fourth / n);
    }

    #[test]
    fn uniform_numbers_fill_the_unit_interval_evenly() {
        let mut random = Random::new(3);
        let mut bins = [0_u32; 10];
        for _ in 0..100_000 {
            let x = random.uniform();
            assert!((0.0..1.0).contains(&x));
            bins[(x * 10.0) as usize] += 1;
        }
        // Five standard deviations of a bin's count.
        assert!(bins.iter().all(|&count| count.abs_diff(10_000) < 475), "{bins:?}");
    }
}
