//! The problem handed to the solver: blocks of rows, compliance, free violation. Over slices, so that it serves the
//! simulation's growing arrays and the haptic thread's fixed ones alike.
//!
//! Thread: any (RT safe).

use super::Law;

/// A run of rows governed by one law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// Names the constraint across steps and snapshots (for warm starts and blending).
    pub id: u64,
    /// First row of the block.
    pub first: usize,
    /// What relates its violation to its force.
    pub law: Law,
}

impl Block {
    /// The block's rows.
    #[must_use]
    pub fn range(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.law.rows()
    }
}

/// `δ = W λ + δ_free` with a law for each block.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// Blocks in row order; together they cover all rows.
    pub blocks: &'a [Block],
    /// `W`, m/N, row-major: row `i` is `compliance[i * stride..][..rows]`. Symmetric part positive semi-definite.
    pub compliance: &'a [f64],
    /// Distance between the starts of two rows of `compliance`.
    pub stride: usize,
    /// `δ_free`, m.
    pub free: &'a [f64],
}

impl Problem<'_> {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.free.len()
    }

    /// Row `i` of `W`.
    #[must_use]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.compliance[i * self.stride..][..self.free.len()]
    }

    /// Violation of row `i` under the forces `lambda`: `(W λ + δ_free)_i`.
    #[must_use]
    pub fn violation(&self, i: usize, lambda: &[f64]) -> f64 {
        self.free[i] + dot(self.row(i), lambda)
    }
}

/// Inner product with four running sums, so that the compiler can use vector registers.
#[must_use]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a_chunks, a_rest) = a.as_chunks::<8>();
    let (b_chunks, b_rest) = b.as_chunks::<8>();
    for (x, y) in a_chunks.iter().zip(b_chunks) {
        for k in 0..8 {
            sums[k] += x[k] * y[k];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    (sums[0] + sums[4]) + (sums[1] + sums[5]) + (sums[2] + sums[6]) + (sums[3] + sums[7]) + rest
}
