//! The problem handed to the solver: blocks of rows, compliance, free violation. Over slices, so that it serves the
//! simulation's growing arrays and the haptic thread's fixed ones alike.
//!
//! Thread: any (RT safe).

use super::{BlockId, Law};

/// A run of rows governed by one law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// Names the constraint across steps and snapshots (for warm starts and blending).
    pub id: BlockId,
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

/// Inner product with eight running sums, so that the compiler can use vector registers.
#[must_use]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
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

/// Three inner products with one vector at once: it is read once, and the sums do not wait for one another.
#[must_use]
pub(crate) fn dot3(rows: [&[f64]; 3], b: &[f64]) -> [f64; 3] {
    let [(x, x_rest), (y, y_rest), (z, z_rest)] = rows.map(|row| row.as_chunks::<4>());
    let (b, b_rest) = b.as_chunks::<4>();
    let mut sums = [[0.0; 4]; 3];
    for (((x, y), z), b) in x.iter().zip(y).zip(z).zip(b) {
        for k in 0..4 {
            sums[0][k] += x[k] * b[k];
            sums[1][k] += y[k] * b[k];
            sums[2][k] += z[k] * b[k];
        }
    }
    for (sums, rest) in sums.iter_mut().zip([x_rest, y_rest, z_rest]) {
        for (sum, (x, b)) in sums.iter_mut().zip(rest.iter().zip(b_rest)) {
            *sum += x * b;
        }
    }
    sums.map(|sum| (sum[0] + sum[2]) + (sum[1] + sum[3]))
}
