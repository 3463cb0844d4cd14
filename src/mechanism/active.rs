//! Newton's method for problems with the laws of a needle, after the sweeps.
//!
//! Thread: simulation (no heap once its memory has grown; bounded).
//!
//! Rows along a shaft hang together through a stiff beam and soft tissue; sweeps take hundreds of rounds where it matters which points
//! stick and which slip. Once that is guessed right the rest is linear. The map is that of [`super::newton`] with bounds from both sides:
//! with `τ = λ − ρ δ`, a row is held, `ρ δ = 0`, while `τ` is within its bounds, and at the bound `λ = bound` otherwise. Friction across a
//! surface and what pressing adds along a channel enter the bounds, and their derivatives.

use super::dense::{back_substitute, factor};
use super::problem::dot;
use super::solver::residuals;
use super::{Block, Problem, RowState, Slip};

/// Most steps.
const STEPS: u32 = 30;
/// Added to the diagonal, which is about one: more rows than the tissue has ways to move.
const PROXIMAL: f64 = 1e-11;

/// Memory for problems of any size.
#[derive(Clone, Debug, Default)]
pub(super) struct Active {
    jacobian: Vec<f64>,
    map: Vec<f64>,
    delta: Vec<f64>,
    pivots: Vec<usize>,
    best: Vec<f64>,
}

/// One row of the map being written.
struct RowOf<'a> {
    row: &'a mut [f64],
    value: &'a mut f64,
}

impl RowOf<'_> {
    /// `ρ δ = 0`.
    fn held(self, w: &[f64], rho: f64, delta: f64, own: (usize, f64)) {
        *self.value = rho * delta;
        for (x, w) in self.row.iter_mut().zip(w) {
            *x = rho * w;
        }
        self.row[own.0] += rho * own.1 + PROXIMAL;
    }

    /// `λ = bound`.
    fn at(self, index: usize, lambda: f64, bound: f64) {
        *self.value = lambda - bound;
        self.row.fill(0.0);
        self.row[index] = 1.0;
    }
}

impl Active {
    /// Goes on from `lambda`, and leaves it better or as it was; gives the steps taken and the residual.
    pub(super) fn finish(&mut self, problem: &Problem<'_>, lambda: &mut [f64], tolerance: f64) -> (u32, f64) {
        let rows = problem.rows();
        for vector in [&mut self.map, &mut self.delta, &mut self.best] {
            vector.resize(rows, 0.0);
        }
        self.jacobian.resize(rows * rows, 0.0);
        self.best.copy_from_slice(lambda);
        let mut least = residuals(problem, lambda).worst();
        let mut steps = 0;
        while steps < STEPS && least > tolerance {
            for block in problem.blocks {
                self.linearise(problem, block, lambda);
            }
            if !factor(&mut self.jacobian, rows, &mut self.pivots) {
                break;
            }
            back_substitute(&self.jacobian, &self.pivots, &mut self.map);
            for (x, step) in lambda.iter_mut().zip(&self.map) {
                *x -= step;
            }
            steps += 1;
            let residual = residuals(problem, lambda).worst();
            if !residual.is_finite() {
                break;
            }
            if residual < least {
                least = residual;
                self.best.copy_from_slice(lambda);
            }
        }
        lambda.copy_from_slice(&self.best);
        (steps, least)
    }

    fn linearise(&mut self, problem: &Problem<'_>, block: &Block, lambda: &[f64]) {
        let give = block.law.compliance();
        let own: f64 = block.range().map(|i| problem.row(i)[i] + give).sum();
        let rho = block.law.rows() as f64 / own.max(f64::MIN_POSITIVE);
        for i in block.range() {
            self.delta[i] = problem.free[i] + dot(problem.row(i), lambda) + give * lambda[i];
        }
        let (mut force, mut tau) = ([0.0; 3], [0.0; 3]);
        for (k, i) in block.range().enumerate() {
            force[k] = lambda[i];
            tau[k] = lambda[i] - rho * self.delta[i];
        }
        let rows = problem.rows();
        for (i, state) in block.range().zip(block.law.state(&force, &tau, rho)) {
            match state {
                RowState::Held => self.hold(problem, i, rho, give),
                RowState::Fixed { force, slope } => {
                    self.row(i, rows).at(i, lambda[i], force);
                    for (j, slope) in block.range().zip(slope) {
                        self.jacobian[i * rows + j] -= slope;
                    }
                }
                RowState::Slipping(slip) => self.slip(problem, (block, i), lambda[i], rho, &slip),
                // F = λ − R(τ), dF = (1 − s) dλ + s ρ W dλ.
                RowState::Curved { force, slope } => {
                    self.hold(problem, i, rho * slope, give);
                    self.map[i] = lambda[i] - force;
                    self.jacobian[i * rows + i] += 1.0 - slope;
                }
            }
        }
    }

    fn row(&mut self, i: usize, rows: usize) -> RowOf<'_> {
        RowOf { row: &mut self.jacobian[i * rows..][..rows], value: &mut self.map[i] }
    }

    fn hold(&mut self, problem: &Problem<'_>, i: usize, rho: f64, give: f64) {
        let delta = self.delta[i];
        self.row(i, problem.rows()).held(problem.row(i), rho, delta, (i, give));
    }

    /// Tangent row `i` of a surface that slips: `F_t = λ_t − bound d`, `d = τ_t/‖τ_t‖`, and
    /// `dF_t = dλ_t − (bound/‖τ_t‖) P dτ_t − d dbound`, `dτ = dλ − ρ W dλ`.
    fn slip(&mut self, problem: &Problem<'_>, (block, at): (&Block, usize), force: f64, rho: f64, slip: &Slip) {
        let (i, rows, give) = (block.first, problem.rows(), block.law.compliance());
        let (a, d) = (at - i - 1, slip.direction);
        let p = slip.projector()[a];
        let turned = |r: usize, j: usize| {
            let yields = problem.row(i + r)[j] + if i + r == j { give } else { 0.0 };
            (if i + r == j { 1.0 } else { 0.0 }) - rho * yields
        };
        self.map[at] = force - slip.bound * d[a];
        for j in 0..rows {
            let along = slip.kappa * (p[0] * turned(1, j) + p[1] * turned(2, j)) + slip.slope * d[a] * turned(0, j);
            self.jacobian[at * rows + j] = (if at == j { 1.0 } else { 0.0 }) - along;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;
    use crate::mechanism::newton::{Workspace, solve_robustly};
    use crate::mechanism::solver::Settings;
    use crate::mechanism::{BlockId, Law};

    /// A needle in soft tissue: a tip, points along the shaft, and contacts of organs, all hanging together.
    #[test]
    fn problems_of_needles_are_solved_to_round_off() {
        let mut random = Random::new(11);
        let mut uniform = move || 2.0 * random.uniform() - 1.0;
        for case in 0..300 {
            let count = 2 + case % 18;
            let rows = 3 * count;
            let ways = rows + 5;
            let h: Vec<f64> = (0..rows * ways).map(|_| uniform()).collect();
            let mut compliance = vec![0.0; rows * rows];
            for i in 0..rows {
                for j in 0..rows {
                    let sum: f64 = (0..ways).map(|k| h[i * ways + k] * h[j * ways + k]).sum();
                    compliance[i * rows + j] = 1e-3 * sum / ways as f64;
                }
            }
            let law = |k: usize, u: f64| match k {
                0 if case % 2 == 0 => Law::Puncture { friction: 0.2, most_n: 1.0 + u, then_n: 0.5, compliance: 1e-3 },
                0 => Law::Channel {
                    least_n: 0.0,
                    most_n: 1.0,
                    then_n: 1.0,
                    friction: 0.0,
                    slides: false,
                    compliance: 1e-3,
                },
                k if k % 5 == 4 => Law::Contact { friction: 0.0, compliance: 0.0 },
                _ => Law::Channel {
                    least_n: -0.4,
                    most_n: 0.4,
                    then_n: 0.4,
                    friction: 0.1,
                    slides: true,
                    compliance: 1e-3,
                },
            };
            let blocks: Vec<Block> = (0..count)
                .map(|k| Block { id: BlockId::Custom(k as u64), first: 3 * k, law: law(k, uniform().abs()) })
                .collect();
            let free: Vec<f64> = (0..rows).map(|_| 3e-3 * uniform()).collect();
            let problem = Problem { blocks: &blocks, compliance: &compliance, stride: rows, free: &free };
            let mut lambda = vec![0.0; rows];
            let settings = Settings { iterations: 30, tolerance: 1e-9, relaxation: 1.3 };
            let outcome = solve_robustly(&problem, &mut lambda, &settings, &mut Workspace::default(), || false);
            assert!(outcome.converged, "case {case}: {outcome:?}");
        }
    }
}
