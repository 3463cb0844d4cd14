//! Compliance of tool and scene together, without ever forming its matrix.
//!
//! Thread: haptic (RT).
//!
//! ```text
//!  W λ = W_scene λ + J y,   y = Σ Y_r λ_r,   Y_r = T A⁻¹ J_rᵀ
//! ```
//!
//! The tool has six degrees of freedom, so that its part of `W` has rank six: with `y` kept up to date, a row costs six
//! products instead of one for each row, and a rigid scene costs nothing more. Forming the sum of both parts for 105 rows
//! would take longer than a sweep over all of them.

use crate::math::Vec6;
use crate::mechanism::solver::{Compliance, Own};
use crate::mechanism::{Block, MAX_ROWS, dot, dot3};

/// See the file's head.
pub(super) struct ToolCompliance<'a> {
    /// `J`, a row each.
    pub(super) jacobian: &'a [Vec6],
    /// `Y`, a column each.
    pub(super) yielding: &'a [Vec6],
    /// `W_scene`, row-major with stride [`MAX_ROWS`]; none for a rigid scene.
    pub(super) scene: Option<&'a [f64]>,
    /// `δ_free`.
    pub(super) free: &'a [f64],
    /// Room for each block's own compliance.
    pub(super) own: &'a mut [Own],
    /// Blocks, one bit each, whose own compliance is known.
    known: u64,
    /// `y`.
    motion: Vec6,
}

impl<'a> ToolCompliance<'a> {
    /// For the forces `lambda`, one a row. A bit of a word stands for a block: there are at most 64.
    pub(super) fn new(
        (jacobian, yielding): (&'a [Vec6], &'a [Vec6]),
        scene: Option<&'a [f64]>,
        free: &'a [f64],
        own: &'a mut [Own],
        lambda: &[f64],
    ) -> Self {
        let mut motion = Vec6::zeros();
        for (column, force) in yielding.iter().zip(lambda) {
            motion += column * *force;
        }
        Self { jacobian, yielding, scene, free, own, known: 0, motion }
    }

    fn scene_row(&self, row: usize) -> Option<&[f64]> {
        self.scene.map(|scene| &scene[row * MAX_ROWS..][..self.free.len()])
    }
}

impl Compliance for ToolCompliance<'_> {
    fn own(&mut self, index: usize, block: &Block) -> &Own {
        if self.known >> index & 1 == 0 {
            self.known |= 1 << index;
            self.own[index] = Own::new(&block.law, |i, j| {
                let (row, column) = (block.first + i, block.first + j);
                self.scene_row(row).map_or(0.0, |w| w[column]) + self.jacobian[row].dot(&self.yielding[column])
            });
        }
        &self.own[index]
    }

    fn violation(&self, row: usize, lambda: &[f64]) -> f64 {
        let tool = self.free[row] + self.jacobian[row].dot(&self.motion);
        self.scene_row(row).map_or(tool, |w| tool + dot(w, lambda))
    }

    fn violations(&self, first: usize, lambda: &[f64]) -> [f64; 3] {
        let tool = [0, 1, 2].map(|k| self.free[first + k] + self.jacobian[first + k].dot(&self.motion));
        let Some(scene) = self.scene else { return tool };
        let rows = [0, 1, 2].map(|k| &scene[(first + k) * MAX_ROWS..][..self.free.len()]);
        let scene = dot3(rows, lambda);
        [0, 1, 2].map(|k| tool[k] + scene[k])
    }

    fn changed(&mut self, first: usize, change: &[f64]) {
        for (column, change) in self.yielding[first..].iter().zip(change) {
            self.motion += column * *change;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Mat6, Random};
    use crate::mechanism::solver::{Settings, largest, solve, sweep};
    use crate::mechanism::{Law, MAX_BLOCKS, Problem};

    #[test]
    fn sweeping_the_factors_gives_the_forces_of_the_full_matrix() {
        let mut random = Random::new(7);
        let mut uniform = move || 2.0 * random.uniform() - 1.0;
        for (contacts, stiff) in [(1, true), (5, false), (12, true), (35, false)] {
            let rows = 3 * contacts;
            let jacobian: Vec<Vec6> = (0..rows).map(|_| Vec6::from_fn(|_, _| uniform())).collect();
            // Not symmetric, as the gyroscopic part of a turning tool makes it.
            let inverse = Mat6::identity() + Mat6::from_fn(|_, _| 0.05 * uniform());
            let yielding: Vec<Vec6> = jacobian.iter().map(|j| inverse * j).collect();
            let mut scene = vec![0.0; MAX_ROWS * MAX_ROWS];
            let mut full = vec![0.0; rows * rows];
            for i in 0..rows {
                for j in 0..rows {
                    let w = if i == j { 2.0 } else { 0.3 * (-(i.abs_diff(j) as f64)).exp() };
                    scene[i * MAX_ROWS + j] = if stiff { 0.0 } else { w };
                    full[i * rows + j] = scene[i * MAX_ROWS + j] + jacobian[i].dot(&yielding[j]);
                }
            }
            let law = Law::Contact { friction: 0.5, compliance: 0.01 };
            let blocks: Vec<Block> = (0..contacts).map(|n| Block { id: n as u64, first: 3 * n, law }).collect();
            let free: Vec<f64> = (0..rows).map(|_| uniform()).collect();
            let settings = Settings { iterations: 40, tolerance: 0.0, relaxation: 1.2 };
            let problem = Problem { blocks: &blocks, compliance: &full, stride: rows, free: &free };
            let (mut expected, mut found) = (vec![0.1; rows], vec![0.1; rows]);
            solve(&problem, &mut expected, &settings, || false);
            let mut own = [Own::identity(); MAX_BLOCKS];
            let scene = (!stiff).then_some(&scene[..]);
            let mut factors = ToolCompliance::new((&jacobian, &yielding), scene, &free, &mut own, &found);
            sweep(&mut factors, &blocks, largest(&free), &mut found, &settings, || false);
            for (row, (a, b)) in expected.iter().zip(&found).enumerate() {
                assert!((a - b).abs() <= 1e-10 * largest(&expected), "{contacts} contacts, row {row}: {a} and {b}");
            }
        }
    }
}
