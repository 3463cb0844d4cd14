//! A number carried as the unevaluated sum of two, about 32 decimal digits.
//!
//! Thread: any (RT safe).
//!
//! Error-free sum: Knuth, TAOCP vol. 2, §4.2.2; error-free product: Dekker 1971, Numer. Math. 18, with Veltkamp's
//! splitting rather than a fused multiply-add, which the baseline x86-64 target would take from a library call. Sums
//! and products of magnitudes above 1e290 overflow in the splitting; no quantity here comes near.

/// `high + low` with `low` at most half a unit in the last place of `high`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Twofold {
    /// The number rounded to one `f64`.
    pub(super) high: f64,
    /// What the rounding left.
    pub(super) low: f64,
}

/// `a + b` exactly.
pub(super) fn two_sum(a: f64, b: f64) -> Twofold {
    let high = a + b;
    let b_seen = high - a;
    Twofold { high, low: (a - (high - b_seen)) + (b - b_seen) }
}

/// `a + b` exactly, for `|a| ≥ |b|`.
fn fast_two_sum(a: f64, b: f64) -> Twofold {
    let high = a + b;
    Twofold { high, low: b - (high - a) }
}

/// Upper and lower half of the digits of `a`.
fn halves(a: f64) -> (f64, f64) {
    // 2²⁷ + 1: moves the upper 26 of 53 bits out.
    const SPLITTER: f64 = 134_217_729.0;
    let c = SPLITTER * a;
    let upper = c - (c - a);
    (upper, a - upper)
}

/// `a · b` exactly.
fn two_product(a: f64, b: f64) -> Twofold {
    let high = a * b;
    let ((a1, a0), (b1, b0)) = (halves(a), halves(b));
    Twofold { high, low: ((a1 * b1 - high) + a1 * b0 + a0 * b1) + a0 * b0 }
}

impl Twofold {
    pub(super) fn plus(self, other: Self) -> Self {
        let sum = two_sum(self.high, other.high);
        fast_two_sum(sum.high, sum.low + (self.low + other.low))
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.plus(Self { high: -other.high, low: -other.low })
    }

    pub(super) fn times(self, factor: f64) -> Self {
        let product = two_product(self.high, factor);
        fast_two_sum(product.high, product.low + self.low * factor)
    }
}

impl From<f64> for Twofold {
    fn from(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_keep_the_digits_that_one_number_would_lose() {
        // (1 + u)(1 − u) = 1 − u²: the square is far below the last place of one.
        let u = 2.0_f64.powi(-40);
        let product = Twofold::from(1.0 + u).times(1.0 - u);
        assert_eq!((product.high, product.low), (1.0, -u * u));
    }

    #[test]
    fn what_is_added_and_taken_away_again_leaves_nothing() {
        let third = Twofold::from(1.0).times(1.0 / 3.0).plus(Twofold::from(1e-20));
        let big = Twofold::from(1e9);
        let back = third.plus(big).minus(big).minus(third);
        assert!(back.high.abs() < 1e9 * 1e-31, "{back:?}");
    }
}
