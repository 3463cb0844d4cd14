//! Symmetric matrices that know where their rows begin and end, and their `L Δ Lᵀ` factor.
//!
//! Thread: any (storage is taken at construction; products, factor and solve do not allocate).
//!
//! Dense storage, but every loop runs over the envelope only (from the first to the last non-zero of a row).
//! Elimination without pivoting fills nothing outside the envelope (Jennings 1966), so that a chain costs O(n) and a
//! full matrix O(n³) with the same code. No pivoting is needed for positive definite matrices.

use nalgebra::DMatrix;

use super::twofold::Twofold;

/// Symmetric matrix, dense, row-major.
#[derive(Clone, Debug)]
pub(super) struct SymmetricMatrix {
    size: usize,
    values: Vec<f64>,
    /// First column in use and the one after the last, per row.
    spans: Vec<(usize, usize)>,
}

impl SymmetricMatrix {
    /// The symmetric part of `matrix`; `None` when it is not square, or off symmetry by more than round-off.
    pub(super) fn new(matrix: &DMatrix<f64>) -> Option<Self> {
        let size = matrix.nrows();
        // Assembly adds the same terms in another order on the other side of the diagonal; no more than that is
        // forgiven.
        let allowed = 1e-12 * matrix.amax();
        if matrix.ncols() != size || !matrix.iter().all(|x| x.is_finite()) {
            return None;
        }
        let mut values = vec![0.0; size * size];
        let mut spans = vec![(0, 0); size];
        for i in 0..size {
            for j in 0..size {
                let (a, b) = (matrix[(i, j)], matrix[(j, i)]);
                if (a - b).abs() > allowed {
                    return None;
                }
                values[i * size + j] = 0.5 * (a + b);
            }
            let row = &values[i * size..][..size];
            let first = row.iter().position(|&x| x != 0.0);
            let last = row.iter().rposition(|&x| x != 0.0);
            spans[i] = first.zip(last).map_or((i, i), |(first, last)| (first, last + 1));
        }
        Some(Self { size, values, spans })
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn at(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.size + j]
    }

    /// First column in use of row `i`, at most `i`.
    pub(super) fn first(&self, i: usize) -> usize {
        self.spans[i].0.min(i)
    }

    fn row(&self, i: usize) -> (usize, &[f64]) {
        let (first, end) = self.spans[i];
        (first, &self.values[i * self.size + first..i * self.size + end])
    }

    /// Row `i` times `x`.
    pub(super) fn row_times(&self, i: usize, x: &[f64]) -> f64 {
        let (first, row) = self.row(i);
        row.iter().zip(&x[first..]).map(|(a, x)| a * x).sum()
    }

    /// Row `i` times `x`, every product and sum in two parts.
    pub(super) fn row_times_twofold(&self, i: usize, x: &[Twofold]) -> Twofold {
        let (first, row) = self.row(i);
        row.iter().zip(&x[first..]).fold(Twofold::default(), |sum, (&a, x)| sum.plus(x.times(a)))
    }

    /// `xᵀ A x`.
    pub(super) fn quadratic_form(&self, x: &[f64]) -> f64 {
        (0..self.size).map(|i| x[i] * self.row_times(i, x)).sum()
    }

    /// `xᵀ A x`, summed in two parts: large terms of either sign may cancel, as in the strain of a stiff chain.
    pub(super) fn quadratic_form_twofold(&self, x: &[Twofold]) -> f64 {
        let mut sum = Twofold::default();
        for (i, &x_i) in x.iter().enumerate() {
            let y = self.row_times_twofold(i, x);
            sum = sum.plus(x_i.times(y.high)).plus(x_i.times(y.low));
        }
        sum.high
    }

    /// True when `xᵀ A x ≥ 0` for all `x`, to round-off of the largest diagonal entry.
    pub(super) fn is_positive_semidefinite(&self) -> bool {
        let largest = (0..self.size).map(|i| self.at(i, i)).fold(0.0, f64::max);
        if largest == 0.0 {
            return self.values.iter().all(|&x| x == 0.0);
        }
        let shift = 1e-12 * largest;
        let mut factor = Factor::new((0..self.size).map(|i| self.first(i)).collect());
        factor.refactor(|i, j| self.at(i, j) + if i == j { shift } else { 0.0 })
    }
}

/// `A = L Δ Lᵀ`: unit lower triangle `L`, positive diagonal `Δ`.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    /// First column in use, per row.
    first: Vec<usize>,
    lower: Vec<f64>,
    diagonal: Vec<f64>,
}

impl Factor {
    /// Storage for a matrix whose row `i` begins at column `first[i] ≤ i`.
    pub(super) fn new(first: Vec<usize>) -> Self {
        let size = first.len();
        Self { first, lower: vec![0.0; size * size], diagonal: vec![0.0; size] }
    }

    /// Factors the matrix with the given lower triangle; false when it is not positive definite.
    pub(super) fn refactor(&mut self, entry: impl Fn(usize, usize) -> f64) -> bool {
        let size = self.first.len();
        for i in 0..size {
            let (done, rest) = self.lower.split_at_mut(i * size);
            let (row, first) = (&mut rest[..size], self.first[i]);
            // Row of L Δ: what the rows above explain is taken away.
            for j in first..i {
                let start = first.max(self.first[j]);
                let above = &done[j * size + start..j * size + j];
                let explained: f64 = row[start..j].iter().zip(above).map(|(a, b)| a * b).sum();
                row[j] = entry(i, j) - explained;
            }
            // Row of L, and the pivot.
            let mut pivot = entry(i, i);
            for (value, diagonal) in row[first..i].iter_mut().zip(&self.diagonal[first..i]) {
                let scaled = *value / diagonal;
                pivot -= *value * scaled;
                *value = scaled;
            }
            if !(pivot > 0.0 && pivot.is_finite()) {
                return false;
            }
            self.diagonal[i] = pivot;
        }
        true
    }

    /// Turns `b` into `A⁻¹ b`.
    pub(super) fn solve(&self, b: &mut [f64]) {
        let size = self.first.len();
        let row = |i: usize| &self.lower[i * size + self.first[i]..i * size + i];
        for i in 0..size {
            let known: f64 = row(i).iter().zip(&b[self.first[i]..]).map(|(a, b)| a * b).sum();
            b[i] -= known;
        }
        for (b, pivot) in b.iter_mut().zip(&self.diagonal) {
            *b /= pivot;
        }
        for i in (0..size).rev() {
            let value = b[i];
            for (b, a) in b[self.first[i]..].iter_mut().zip(row(i)) {
                *b -= a * value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solving_undoes_multiplying_for_a_ragged_envelope() {
        // Rows that begin at different columns, so that the envelope has steps in it.
        let mut dense = DMatrix::from_diagonal_element(6, 6, 4.0);
        for (i, j, a) in [(1, 0, -1.0), (3, 0, 0.5), (4, 3, -1.5), (5, 2, 0.75)] {
            dense[(i, j)] = a;
            dense[(j, i)] = a;
        }
        let matrix = SymmetricMatrix::new(&dense).expect("symmetric");
        let mut factor = Factor::new((0..6).map(|i| matrix.first(i)).collect());
        assert!(factor.refactor(|i, j| matrix.at(i, j)));
        let x = [1.0, -2.0, 3.0, 0.5, -0.25, 7.0];
        let mut b: Vec<f64> = (0..6).map(|i| matrix.row_times(i, &x)).collect();
        factor.solve(&mut b);
        assert!(b.iter().zip(x).all(|(b, x)| (b - x).abs() < 1e-14), "{b:?}");
    }

    #[test]
    fn definiteness_is_told_apart() {
        let free_pair = SymmetricMatrix::new(&DMatrix::from_row_slice(2, 2, &[1e9, -1e9, -1e9, 1e9]));
        assert!(free_pair.expect("symmetric").is_positive_semidefinite());
        let saddle = SymmetricMatrix::new(&DMatrix::from_row_slice(2, 2, &[1.0, 1.1, 1.1, 1.0]));
        assert!(!saddle.expect("symmetric").is_positive_semidefinite());
        let hollow = SymmetricMatrix::new(&DMatrix::from_row_slice(2, 2, &[0.0, 1.0, 1.0, 0.0]));
        assert!(!hollow.expect("symmetric").is_positive_semidefinite());
        assert!(SymmetricMatrix::new(&DMatrix::from_row_slice(2, 2, &[1.0, 0.5, 0.4, 1.0])).is_none());
    }
}
