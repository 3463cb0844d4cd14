//! Compliance of tool and scene together, without ever forming its matrix.
//!
//! Thread: haptic (RT).
//!
//! ```text
//!  W λ = W_scene λ + J y + Σ_b H_b y_b + Q u,   y = Σ Y_r λ_r,   Y_r = T A⁻¹ J_rᵀ,   and so for each rigid body b of the scene
//! ```
//!
//! and for the vibrations that are followed, `u_m = weight_m Σ q_m λ`.
//!
//! The tool has six degrees of freedom, so that its part of `W` has rank six: with `y` kept up to date, a row costs six
//! products instead of one for each row, and a fixed scene costs nothing more. Forming the sum of both parts for 105 rows
//! would take longer than a sweep over all of them.

use super::bodies::BodyCompliance;
use super::vibrations::Vibrating;
use crate::math::Vec6;
use crate::mechanism::solver::{Compliance, Own};
use crate::mechanism::{Block, MAX_ROWS, MAX_SCENE_BODIES, MAX_VIBRATIONS, dot, dot3};

/// The scene's part: what answers at once and what must be set in motion.
#[derive(Clone, Copy)]
pub(super) struct SceneCompliance<'a> {
    /// `W_scene`, row-major with stride [`MAX_ROWS`]; none where nothing answers at once.
    pub(super) matrix: Option<&'a [f64]>,
    /// None where no body moves.
    pub(super) bodies: Option<BodyCompliance<'a>>,
    /// Vibrations that are followed.
    pub(super) vibrations: Option<Vibrating<'a>>,
}

impl SceneCompliance<'_> {
    /// True when only the tool moves.
    pub(super) fn is_fixed(&self) -> bool {
        self.matrix.is_none() && self.bodies.is_none() && self.vibrations.is_none()
    }
}

/// See the file's head.
pub(super) struct ToolCompliance<'a> {
    /// `J`, a row each.
    pub(super) jacobian: &'a [Vec6],
    /// `Y`, a column each.
    pub(super) yielding: &'a [Vec6],
    scene: SceneCompliance<'a>,
    /// `δ_free`.
    pub(super) free: &'a [f64],
    /// Room for each block's own compliance.
    pub(super) own: &'a mut [Own],
    /// Blocks, one bit each, whose own compliance is known.
    known: u64,
    /// `y`.
    motion: Vec6,
    /// `y_b`.
    body_motion: [Vec6; MAX_SCENE_BODIES],
    /// `u`.
    amplitudes: [f64; MAX_VIBRATIONS],
}

impl<'a> ToolCompliance<'a> {
    /// For the forces `lambda`, one a row. A bit of a word stands for a block: there are at most 64.
    pub(super) fn new(
        (jacobian, yielding): (&'a [Vec6], &'a [Vec6]),
        scene: SceneCompliance<'a>,
        free: &'a [f64],
        own: &'a mut [Own],
        lambda: &[f64],
    ) -> Self {
        let (motion, body_motion) = (Vec6::zeros(), [Vec6::zeros(); MAX_SCENE_BODIES]);
        let amplitudes = [0.0; MAX_VIBRATIONS];
        let mut compliance = Self { jacobian, yielding, scene, free, own, known: 0, motion, body_motion, amplitudes };
        compliance.changed(0, lambda);
        compliance
    }

    fn scene_row(&self, row: usize) -> Option<&[f64]> {
        self.scene.matrix.map(|matrix| &matrix[row * MAX_ROWS..][..self.free.len()])
    }

    /// What the tool and the bodies do to a row.
    fn moved(&self, row: usize) -> f64 {
        let mut tool = self.free[row] + self.jacobian[row].dot(&self.motion);
        if let Some(vibrating) = &self.scene.vibrations {
            tool += vibrating.moved(row, &self.amplitudes);
        }
        let Some(bodies) = self.scene.bodies else { return tool };
        let lead = bodies.leads[row];
        let moved =
            |sum, (body, jacobian, _): (usize, &Vec6, usize)| sum + lead * jacobian.dot(&self.body_motion[body]);
        bodies.rows[row].parts().fold(tool, moved)
    }

    /// Compliance between two rows of one block: these meet the same bodies on the same sides.
    fn between(&self, row: usize, column: usize) -> f64 {
        let mut tool = self.scene_row(row).map_or(0.0, |w| w[column]) + self.jacobian[row].dot(&self.yielding[column]);
        tool += self.scene.vibrations.map_or(0.0, |vibrating| vibrating.between(row, column));
        let Some(bodies) = self.scene.bodies else { return tool };
        let (lead, columns) = (bodies.leads[row], &bodies.yielding[column]);
        bodies.rows[row].parts().fold(tool, |sum, (_, jacobian, side)| sum + lead * jacobian.dot(&columns[side]))
    }
}

impl Compliance for ToolCompliance<'_> {
    fn own(&mut self, index: usize, block: &Block) -> &Own {
        if self.known >> index & 1 == 0 {
            self.known |= 1 << index;
            self.own[index] = Own::new(&block.law, |i, j| self.between(block.first + i, block.first + j));
        }
        &self.own[index]
    }

    fn violation(&self, row: usize, lambda: &[f64]) -> f64 {
        let moved = self.moved(row);
        self.scene_row(row).map_or(moved, |w| moved + dot(w, lambda))
    }

    fn violations(&self, first: usize, lambda: &[f64]) -> [f64; 3] {
        let moved = [0, 1, 2].map(|k| self.moved(first + k));
        let Some(matrix) = self.scene.matrix else { return moved };
        let rows = [0, 1, 2].map(|k| &matrix[(first + k) * MAX_ROWS..][..self.free.len()]);
        let scene = dot3(rows, lambda);
        [0, 1, 2].map(|k| moved[k] + scene[k])
    }

    fn row(&self, row: usize, out: &mut [f64]) {
        match self.scene_row(row) {
            Some(scene) => out.copy_from_slice(scene),
            None => out.fill(0.0),
        }
        let jacobian = &self.jacobian[row];
        for (out, column) in out.iter_mut().zip(self.yielding) {
            *out += jacobian.dot(column);
        }
        if let Some(vibrating) = &self.scene.vibrations {
            for (column, out) in out.iter_mut().enumerate() {
                *out += vibrating.between(row, column);
            }
        }
        let Some(BodyCompliance { rows, yielding, leads }) = self.scene.bodies else { return };
        for (body, jacobian, _) in rows[row].parts() {
            for (out, (other, columns)) in out.iter_mut().zip(rows.iter().zip(yielding)) {
                for (_, _, side) in other.parts().filter(|(same, ..)| *same == body) {
                    *out += leads[row] * jacobian.dot(&columns[side]);
                }
            }
        }
    }

    fn changed(&mut self, first: usize, change: &[f64]) {
        for (column, change) in self.yielding[first..].iter().zip(change) {
            self.motion += column * *change;
        }
        if let Some(vibrating) = &self.scene.vibrations {
            vibrating.add(first, change, &mut self.amplitudes);
        }
        let Some(BodyCompliance { rows, yielding, .. }) = self.scene.bodies else { return };
        for ((row, columns), change) in rows[first..].iter().zip(&yielding[first..]).zip(change) {
            for (body, _, side) in row.parts() {
                self.body_motion[body] += columns[side] * *change;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Mat6, Random};
    use crate::mechanism::solver::{Settings, largest, solve, sweep};
    use crate::mechanism::{BlockId, Law, MAX_BLOCKS, Problem};

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
            let along: Vec<[f64; MAX_VIBRATIONS]> = (0..rows).map(|_| std::array::from_fn(|_| uniform())).collect();
            let weights = std::array::from_fn(|m| 0.5 + m as f64);
            let mut scene = vec![0.0; MAX_ROWS * MAX_ROWS];
            let mut full = vec![0.0; rows * rows];
            for i in 0..rows {
                for j in 0..rows {
                    let w = if i == j { 2.0 } else { 0.3 * (-(i.abs_diff(j) as f64)).exp() };
                    scene[i * MAX_ROWS + j] = if stiff { 0.0 } else { w };
                    full[i * rows + j] = scene[i * MAX_ROWS + j] + jacobian[i].dot(&yielding[j]);
                    full[i * rows + j] += (0..2).map(|m| weights[m] * along[i][m] * along[j][m]).sum::<f64>();
                }
            }
            let vibrations = Some(Vibrating { along: &along, weights, count: 2 });
            let law = Law::Contact { friction: 0.5, compliance: 0.01 };
            let blocks: Vec<Block> =
                (0..contacts).map(|n| Block { id: BlockId::Custom(n as u64), first: 3 * n, law }).collect();
            let free: Vec<f64> = (0..rows).map(|_| uniform()).collect();
            let settings = Settings { iterations: 40, tolerance: 0.0, relaxation: 1.2 };
            let problem = Problem { blocks: &blocks, compliance: &full, stride: rows, free: &free };
            let (mut expected, mut found) = (vec![0.1; rows], vec![0.1; rows]);
            solve(&problem, &mut expected, &settings, || false);
            let mut own = [Own::identity(); MAX_BLOCKS];
            let scene = SceneCompliance { matrix: (!stiff).then_some(&scene[..]), bodies: None, vibrations };
            let mut factors = ToolCompliance::new((&jacobian, &yielding), scene, &free, &mut own, &found);
            sweep(&mut factors, &blocks, largest(&free), &mut found, &settings, || false);
            for (row, (a, b)) in expected.iter().zip(&found).enumerate() {
                assert!((a - b).abs() <= 1e-10 * largest(&expected), "{contacts} contacts, row {row}: {a} and {b}");
            }
        }
    }
}
