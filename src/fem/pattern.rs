//! Symmetric matrices of a mesh: blocks of 3×3 for nodes that share an element, lower triangle by columns.
//!
//! Thread: any (storage is taken at construction; filling and products do not allocate).
//!
//! Column `j` of nodes holds its own block (lower triangle) and the blocks of the nodes `i > j` it touches. As numbers
//! this is the compressed column form of factorisations: the three columns of a node with `k` blocks below have
//! `3 + 3k`, `2 + 3k` and `1 + 3k` entries, so that places follow from counting and no index is stored for a number.

use crate::math::{Mat3, Vec3};
use std::sync::Arc;

/// Which blocks of a matrix can be other than zero.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// Where the blocks below the diagonal of each column begin, and one more at the end.
    first: Vec<u32>,
    /// Rows of those blocks.
    below: Vec<u32>,
}

impl Pattern {
    /// The pattern of elements over `count` nodes; each element's nodes are a slice.
    pub(super) fn new<'a>(count: usize, elements: impl Iterator<Item = &'a [u32]>) -> Self {
        let mut pairs = Vec::new();
        for element in elements {
            for (k, &a) in element.iter().enumerate() {
                pairs.extend(element[..k].iter().map(|&b| (a.min(b), a.max(b))));
            }
            // Elements share most of their pairs: keep the list short as it grows.
            if pairs.len() > 1 << 22 {
                pairs.sort_unstable();
                pairs.dedup();
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut first = vec![0; count + 1];
        pairs.iter().for_each(|(column, _)| first[*column as usize + 1] += 1);
        (0..count).for_each(|k| first[k + 1] += first[k]);
        Self { first, below: pairs.into_iter().map(|(_, row)| row).collect() }
    }

    /// Number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    /// Number of rows and columns.
    pub(super) fn size(&self) -> usize {
        3 * self.nodes()
    }

    /// Number of stored numbers.
    pub(super) fn stored(&self) -> usize {
        9 * self.below.len() + 6 * self.nodes()
    }

    /// Nodes below node `column` in its column.
    pub(super) fn below(&self, column: usize) -> &[u32] {
        &self.below[self.first[column] as usize..self.first[column + 1] as usize]
    }

    /// Place of the first number of column `axis` of a node.
    fn start(&self, column: usize, axis: usize) -> usize {
        let height = 3 * self.below(column).len();
        // Columns of 3 + h, 2 + h and 1 + h numbers.
        9 * self.first[column] as usize + 6 * column + [0, 3 + height, 5 + 2 * height][axis]
    }

    /// Place of the block in row `row` below the diagonal of its column.
    pub(super) fn block(&self, row: u32, column: u32) -> Option<BlockPlace> {
        let column = column as usize;
        let found = self.below(column).binary_search(&row).ok()?;
        let height = 3 * self.below(column).len() as u32;
        Some(BlockPlace { first: (self.start(column, 0) + 3 + 3 * found) as u32, height })
    }

    /// Column pointers and row indices of the numbers.
    pub(super) fn compressed(&self) -> (Vec<u32>, Vec<u32>) {
        let (mut pointers, mut rows) = (vec![0], Vec::with_capacity(self.stored()));
        for node in 0..self.nodes() {
            for axis in 0..3 {
                rows.extend((axis..3).map(|k| 3 * node as u32 + k));
                rows.extend(self.below(node).iter().flat_map(|row| (0..3).map(move |k| 3 * row + k)));
                pointers.push(rows.len() as u32);
            }
        }
        (pointers, rows)
    }

    /// Adds to the block on the diagonal of a node; only the lower triangle of `block` is used.
    pub(super) fn add_diagonal(&self, values: &mut [f64], node: usize, block: &Mat3) {
        for axis in 0..3 {
            let start = self.start(node, axis);
            for row in axis..3 {
                values[start + row - axis] += block[(row, axis)];
            }
        }
    }
}

/// Where a block below the diagonal lies among the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockPlace {
    /// Its first number.
    first: u32,
    /// Numbers below the diagonal block in each of its columns.
    height: u32,
}

impl BlockPlace {
    /// Adds to the block.
    pub(super) fn add(self, values: &mut [f64], block: &Mat3) {
        let (first, height) = (self.first as usize, self.height as usize);
        // The diagonal block above gets shorter by one from column to column.
        for (axis, start) in [first, first + height + 2, first + 2 * height + 3].into_iter().enumerate() {
            let target = &mut values[start..start + 3];
            for row in 0..3 {
                target[row] += block[(row, axis)];
            }
        }
    }
}

/// A matrix over a pattern.
#[derive(Clone, Debug)]
pub struct SparseMatrix {
    pub(super) pattern: Arc<Pattern>,
    pub(super) values: Vec<f64>,
}

impl SparseMatrix {
    /// Nothing but zeros.
    pub(super) fn zeros(pattern: Arc<Pattern>) -> Self {
        let values = vec![0.0; pattern.stored()];
        Self { pattern, values }
    }

    /// Number of rows and columns.
    #[must_use]
    pub fn size(&self) -> usize {
        self.pattern.size()
    }

    /// `y ← y + factor · A x`. Slices of another size than the matrix give nothing.
    pub fn add_product(&self, factor: f64, x: &[f64], y: &mut [f64]) {
        if x.len() != self.size() || y.len() != self.size() {
            return;
        }
        for node in 0..self.pattern.nodes() {
            let below = self.pattern.below(node);
            let mut own = [0.0; 3];
            for axis in 0..3 {
                let start = self.pattern.start(node, axis);
                let column = &self.values[start..start + 3 - axis + 3 * below.len()];
                let (diagonal, rest) = column.split_at(3 - axis);
                let scaled = factor * x[3 * node + axis];
                let mut sum = diagonal[0] * x[3 * node + axis];
                for (k, value) in diagonal.iter().enumerate().skip(1) {
                    sum += value * x[3 * node + axis + k];
                    own[axis + k] += value * scaled;
                }
                for (row, values) in below.iter().zip(rest.as_chunks::<3>().0) {
                    let at = 3 * *row as usize;
                    let target = &mut y[at..at + 3];
                    for k in 0..3 {
                        target[k] += values[k] * scaled;
                        sum += values[k] * x[at + k];
                    }
                }
                own[axis] += factor * sum;
            }
            for k in 0..3 {
                y[3 * node + k] += own[k];
            }
        }
    }

    /// `xᵀ A x`; zero for a slice of another size than the matrix.
    #[must_use]
    pub fn quadratic_form(&self, x: &[f64]) -> f64 {
        if x.len() != self.size() {
            return 0.0;
        }
        let mut total = 0.0;
        for node in 0..self.pattern.nodes() {
            let below = self.pattern.below(node);
            for axis in 0..3 {
                let start = self.pattern.start(node, axis);
                let (diagonal, rest) = self.values[start..start + 3 - axis + 3 * below.len()].split_at(3 - axis);
                // What stands below the diagonal stands above it as well.
                let mut sum = 0.5 * diagonal[0] * x[3 * node + axis];
                for (k, value) in diagonal.iter().enumerate().skip(1) {
                    sum += value * x[3 * node + axis + k];
                }
                for (row, values) in below.iter().zip(rest.as_chunks::<3>().0) {
                    let at = 3 * *row as usize;
                    sum += values[0] * x[at] + values[1] * x[at + 1] + values[2] * x[at + 2];
                }
                total += 2.0 * sum * x[3 * node + axis];
            }
        }
        total
    }

    /// All numbers, as a full matrix.
    #[must_use]
    pub fn dense(&self) -> nalgebra::DMatrix<f64> {
        let size = self.size();
        let mut full = nalgebra::DMatrix::zeros(size, size);
        let (pointers, rows) = self.pattern.compressed();
        for column in 0..size {
            for k in pointers[column] as usize..pointers[column + 1] as usize {
                let row = rows[k] as usize;
                full[(row, column)] = self.values[k];
                full[(column, row)] = self.values[k];
            }
        }
        full
    }

    /// `A ← a·P + b·Q` of two matrices with the same pattern.
    pub(super) fn combine(&mut self, a: f64, p: &Self, b: f64, q: &Self) {
        for ((value, p), q) in self.values.iter_mut().zip(&p.values).zip(&q.values) {
            *value = a * p + b * q;
        }
    }
}

/// Three numbers of a slice as a vector.
pub(super) fn vector(x: &[f64], node: usize) -> Vec3 {
    Vec3::new(x[3 * node], x[3 * node + 1], x[3 * node + 2])
}

/// Adds a vector to three numbers of a slice.
pub(super) fn add_vector(x: &mut [f64], node: usize, v: &Vec3) {
    for k in 0..3 {
        x[3 * node + k] += v[k];
    }
}
