//! A matrix of 6×6 blocks on the diagonal and next to it, and its factor.
//!
//! Thread: simulation (storage is taken at construction).
//!
//! `K = C Cᵀ`, node by node from hub to tip. A row reaches the factor from its own node to the tip only.

use super::element::Mat9;
use crate::math::{Mat3, Mat6, Vec6};

/// Lower half of a symmetric matrix.
pub(super) struct Chain {
    diagonal: Vec<Mat6>,
    /// Block below each diagonal block but the last.
    below: Vec<Mat6>,
}

impl Chain {
    pub(super) fn new(nodes: usize) -> Self {
        Self { diagonal: vec![Mat6::zeros(); nodes], below: vec![Mat6::zeros(); nodes.saturating_sub(1)] }
    }

    pub(super) fn clear(&mut self) {
        self.diagonal.fill(Mat6::zeros());
        self.below.fill(Mat6::zeros());
    }

    /// Adds an element between free node `second − 1` and `second`; before the first free node is the clamp.
    pub(super) fn add_element(&mut self, second: usize, k: &Mat9) {
        let part = |i: usize, j: usize| -> Mat3 { k.fixed_view::<3, 3>(3 * i, 3 * j).into() };
        let of_node = |sign: f64, end: usize| -> Mat6 {
            blocks([part(0, 0), part(0, end) * sign, part(end, 0) * sign, part(end, end)])
        };
        self.diagonal[second] += of_node(1.0, 2);
        if second > 0 {
            self.diagonal[second - 1] += of_node(-1.0, 1);
            self.below[second - 1] += blocks([-part(0, 0), part(0, 1), -part(2, 0), part(2, 1)]);
        }
    }

    /// Adds `weight · g gᵀ`, with `g` on free node `second − 1` and `second`.
    pub(super) fn add_square(&mut self, second: usize, spread: &[Vec6; 2], weight: f64) {
        self.diagonal[second] += spread[1] * spread[1].transpose() * weight;
        if second > 0 {
            self.diagonal[second - 1] += spread[0] * spread[0].transpose() * weight;
            self.below[second - 1] += spread[1] * spread[0].transpose() * weight;
        }
    }
}

fn blocks([a, b, c, d]: [Mat3; 4]) -> Mat6 {
    let mut out = Mat6::zeros();
    for (i, block) in [a, b, c, d].iter().enumerate() {
        out.fixed_view_mut::<3, 3>(3 * (i / 2), 3 * (i % 2)).copy_from(block);
    }
    out
}

/// Factor of a [`Chain`].
#[derive(Clone)]
pub(super) struct Factor {
    /// Inverses of the diagonal blocks of `C`.
    inverse: Vec<Mat6>,
    below: Vec<Mat6>,
}

impl Factor {
    pub(super) fn new(nodes: usize) -> Self {
        Self { inverse: vec![Mat6::zeros(); nodes], below: vec![Mat6::zeros(); nodes.saturating_sub(1)] }
    }

    /// Factors; false, with the factor of no use, when the matrix is not positive definite.
    pub(super) fn set(&mut self, matrix: &Chain) -> bool {
        for k in 0..matrix.diagonal.len() {
            let mut block = matrix.diagonal[k];
            if k > 0 {
                let below = matrix.below[k - 1] * self.inverse[k - 1].transpose();
                block -= below * below.transpose();
                self.below[k - 1] = below;
            }
            let Some(factor) = block.cholesky() else { return false };
            let Some(inverse) = factor.l_dirty().solve_lower_triangular(&Mat6::identity()) else { return false };
            if !inverse.iter().all(|x| x.is_finite()) {
                return false;
            }
            self.inverse[k] = inverse;
        }
        true
    }

    /// Smallest part of another factor's pivot that this one has in its place.
    pub(super) fn least_part_of(&self, other: &Self) -> f64 {
        let mut least = f64::INFINITY;
        for (a, b) in self.inverse.iter().zip(&other.inverse) {
            for i in 0..6 {
                let ratio = b[(i, i)] / a[(i, i)];
                least = least.min(ratio * ratio);
            }
        }
        least
    }

    /// Goes on with forward elimination: what a row is at node `k`, from what it is at the node before.
    pub(super) fn forward(&self, k: usize, before: &Vec6, right: &Vec6) -> Vec6 {
        let rest = if k > 0 { right - self.below[k - 1] * before } else { *right };
        self.inverse[k] * rest
    }

    /// Solves in place.
    pub(super) fn solve(&self, x: &mut [Vec6]) {
        let mut before = Vec6::zeros();
        for (k, value) in x.iter_mut().enumerate() {
            before = self.forward(k, &before, value);
            *value = before;
        }
        for k in (0..x.len()).rev() {
            if k + 1 < x.len() {
                let after = self.below[k].transpose() * x[k + 1];
                x[k] -= after;
            }
            x[k] = self.inverse[k].transpose() * x[k];
        }
    }
}
