//! Dense elimination in the caller's memory, and the search for a low rank.
//!
//! Thread: any (no heap once its vectors have grown).

use super::panels;
use super::problem::dot;

/// Diagonal left, relative to the largest at the start, that counts as nothing left.
const NOTHING: f64 = 1e-14;

/// Factors the `rows × rows` matrix in place by elimination with row pivoting, the pivots into `pivots`; false when it is
/// singular to working precision or not finite.
pub(super) fn factor(a: &mut [f64], rows: usize, pivots: &mut Vec<usize>) -> bool {
    let n = rows;
    pivots.clear();
    if n >= panels::LEAST_ROWS {
        return panels::factor(&mut a[..n * n], n, pivots);
    }
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs())).unwrap_or(k);
        pivots.push(pivot);
        let size = a[pivot * n + k];
        if !(size.abs() > 1e-300 && size.is_finite()) {
            return false;
        }
        if pivot != k {
            let (upper, lower) = a.split_at_mut(pivot * n);
            upper[k * n..][..n].swap_with_slice(&mut lower[..n]);
        }
        let (top, bottom) = a.split_at_mut((k + 1) * n);
        let pivot_row = &top[k * n + k + 1..];
        for row in bottom.chunks_exact_mut(n) {
            let factor = row[k] / size;
            row[k] = factor;
            if factor != 0.0 {
                for (x, y) in row[k + 1..].iter_mut().zip(pivot_row) {
                    *x -= factor * y;
                }
            }
        }
    }
    true
}

/// True when a factored matrix has a negative determinant.
pub(super) fn is_negative(a: &[f64], rows: usize, pivots: &[usize]) -> bool {
    (0..rows).filter(|&k| (a[k * rows + k] < 0.0) != (pivots[k] != k)).count() % 2 == 1
}

/// Solves with a matrix that [`factor`] has factored, in place.
pub(super) fn back_substitute(a: &[f64], pivots: &[usize], b: &mut [f64]) {
    let n = b.len();
    for k in 0..n {
        b.swap(k, pivots[k]);
    }
    for k in 1..n {
        b[k] -= dot(&a[k * n..k * n + k], &b[..k]);
    }
    for k in (0..n).rev() {
        let sum = dot(&a[k * n + k + 1..(k + 1) * n], &b[k + 1..]);
        b[k] = (b[k] - sum) / a[k * n + k];
    }
}

/// Columns come in groups of this many, so that short loops over them have a fixed length.
pub(super) const GROUP: usize = 4;

/// `W = B Cᵀ` of low rank; `left` is `B`, `right` is `C`, both row-major with `width` columns.
#[derive(Clone, Debug, Default)]
pub(super) struct LowRank {
    /// The rank, rounded up to whole groups by columns of zeros; zero when no low rank was found.
    pub(super) width: usize,
    pub(super) left: Vec<f64>,
    pub(super) right: Vec<f64>,
    remainder: Vec<f64>,
    columns: Vec<f64>,
}

impl LowRank {
    /// Looks for a rank of at most `most` by elimination with diagonal pivots, which is stable for a matrix whose symmetric
    /// part is positive semi-definite; false when the rank is higher.
    pub(super) fn find(&mut self, matrix: &[f64], rows: usize, most: usize) -> bool {
        self.width = 0;
        let diagonal = |m: &[f64], i: usize| m[i * rows + i];
        let largest = (0..rows).map(|i| diagonal(matrix, i)).fold(0.0, f64::max);
        self.remainder.clear();
        self.remainder.extend_from_slice(matrix);
        self.columns.clear();
        let mut rank = 0;
        loop {
            let m = &mut self.remainder;
            let Some(p) = (0..rows).max_by(|&i, &j| diagonal(m, i).total_cmp(&diagonal(m, j))) else { return false };
            let size = diagonal(m, p);
            if !(size > NOTHING * largest) {
                break;
            }
            if rank == most {
                return false;
            }
            // The pivot's column over the pivot, then its row.
            self.columns.extend((0..rows).map(|i| m[i * rows + p] / size));
            self.columns.extend_from_slice(&m[p * rows..][..rows]);
            let (column, row) = self.columns[rank * 2 * rows..].split_at(rows);
            for (line, factor) in m.chunks_exact_mut(rows).zip(column) {
                for (x, y) in line.iter_mut().zip(row) {
                    *x -= factor * y;
                }
            }
            rank += 1;
        }
        self.width = rank.next_multiple_of(GROUP);
        for (to, offset) in [(&mut self.left, 0), (&mut self.right, rows)] {
            to.clear();
            to.resize(rows * self.width, 0.0);
            for k in 0..rank {
                for i in 0..rows {
                    to[i * self.width + k] = self.columns[2 * k * rows + offset + i];
                }
            }
        }
        rank > 0
    }
}

/// `y += f₀ a₀ + f₁ a₁ + f₂ a₂`, all of the same whole number of groups.
#[inline]
pub(super) fn add_three(y: &mut [f64], f: &[f64; 3], a: [&[f64]; 3]) {
    let (y, _) = y.as_chunks_mut::<GROUP>();
    let [a0, a1, a2] = a.map(|a| a.as_chunks::<GROUP>().0);
    for (((y, a0), a1), a2) in y.iter_mut().zip(a0).zip(a1).zip(a2) {
        for k in 0..GROUP {
            y[k] += f[0] * a0[k] + f[1] * a1[k] + f[2] * a2[k];
        }
    }
}

/// Inner product of whole groups.
#[inline]
pub(super) fn dot_groups(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; GROUP];
    for (a, b) in a.as_chunks::<GROUP>().0.iter().zip(b.as_chunks::<GROUP>().0) {
        for k in 0..GROUP {
            sums[k] += a[k] * b[k];
        }
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn a_large_matrix_is_factored_by_panels_as_well_as_row_by_row() {
        for rows in [panels::LEAST_ROWS - 1, panels::LEAST_ROWS, 130, 203] {
            let mut random = Random::new(rows as u64);
            let matrix: Vec<f64> = (0..rows * rows).map(|_| random.uniform() - 0.5).collect();
            let wanted: Vec<f64> = (0..rows).map(|_| random.uniform() - 0.5).collect();
            let mut b: Vec<f64> = matrix.chunks_exact(rows).map(|row| dot(row, &wanted)).collect();
            let (mut factored, mut pivots) = (matrix.clone(), Vec::new());
            assert!(factor(&mut factored, rows, &mut pivots));
            back_substitute(&factored, &pivots, &mut b);
            let off = b.iter().zip(&wanted).fold(0.0_f64, |most, (x, y)| most.max((x - y).abs()));
            assert!(off < 1e-10, "{rows} rows: off by {off:e}");
            // A column that depends on others.
            let mut singular = matrix;
            singular.chunks_exact_mut(rows).for_each(|row| row[rows - 1] = 0.0);
            assert!(!factor(&mut singular, rows, &mut pivots));
        }
    }
}
