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
use super::{Block, Law, Problem};

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
        match block.law {
            Law::Bilateral { .. } => block.range().for_each(|i| self.hold(problem, i, rho, give)),
            Law::Contact { friction, .. } => self.surface(problem, block, lambda, (rho, friction, f64::INFINITY)),
            Law::Puncture { friction, most_n, .. } => self.surface(problem, block, lambda, (rho, friction, most_n)),
            Law::Channel { least_n, most_n, friction, .. } => {
                let i = block.first;
                self.hold(problem, i + 1, rho, give);
                self.hold(problem, i + 2, rho, give);
                let across = lambda[i + 1].hypot(lambda[i + 2]);
                let tau = lambda[i] - rho * self.delta[i];
                let (low, high) = (least_n - friction * across, most_n + friction * across);
                if tau > low && tau < high {
                    self.hold(problem, i, rho, give);
                    return;
                }
                let side = if tau >= high { 1.0 } else { -1.0 };
                let row = self.row(i, problem.rows());
                row.at(i, lambda[i], if side > 0.0 { high } else { low });
                if across > 0.0 {
                    let rows = problem.rows();
                    for k in 1..3 {
                        self.jacobian[i * rows + i + k] = -side * friction * lambda[i + k] / across;
                    }
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

    /// A contact that bears `most` at most.
    fn surface(&mut self, problem: &Problem<'_>, block: &Block, lambda: &[f64], law: (f64, f64, f64)) {
        let ((rho, friction, most), i, rows) = (law, block.first, problem.rows());
        let give = block.law.compliance();
        let tau = [0, 1, 2].map(|k| lambda[i + k] - rho * self.delta[i + k]);
        if tau[0] <= 0.0 {
            block.range().for_each(|r| self.row(r, rows).at(r, lambda[r], 0.0));
            return;
        }
        let broken = tau[0] >= most;
        if broken {
            self.row(i, rows).at(i, lambda[i], most);
        } else {
            self.hold(problem, i, rho, give);
        }
        let (bound, length) = (friction * tau[0].min(most), tau[1].hypot(tau[2]));
        if length <= bound && bound > 0.0 {
            self.hold(problem, i + 1, rho, give);
            self.hold(problem, i + 2, rho, give);
            return;
        }
        // F_t = λ_t − bound d, d = τ_t/‖τ_t‖: dF_t = dλ_t − (bound/‖τ_t‖) P dτ_t − d dbound, dτ = dλ − ρ W dλ.
        let d = if length > 0.0 { [tau[1] / length, tau[2] / length] } else { [0.0; 2] };
        let kappa = if length > 0.0 { bound / length } else { 0.0 };
        let p = [[1.0 - d[0] * d[0], -d[0] * d[1]], [-d[0] * d[1], 1.0 - d[1] * d[1]]];
        let slope = if broken { 0.0 } else { friction };
        let turned = |r: usize, j: usize| {
            let yields = problem.row(i + r)[j] + if i + r == j { give } else { 0.0 };
            (if i + r == j { 1.0 } else { 0.0 }) - rho * yields
        };
        for a in 0..2 {
            let at = i + 1 + a;
            self.map[at] = lambda[at] - bound * d[a];
            for j in 0..rows {
                let along = kappa * (p[a][0] * turned(1, j) + p[a][1] * turned(2, j)) + slope * d[a] * turned(0, j);
                self.jacobian[at * rows + j] = (if at == j { 1.0 } else { 0.0 }) - along;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;
    use crate::mechanism::newton::{Workspace, solve_robustly};
    use crate::mechanism::solver::Settings;

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
            let blocks: Vec<Block> =
                (0..count).map(|k| Block { id: k as u64, first: 3 * k, law: law(k, uniform().abs()) }).collect();
            let free: Vec<f64> = (0..rows).map(|_| 3e-3 * uniform()).collect();
            let problem = Problem { blocks: &blocks, compliance: &compliance, stride: rows, free: &free };
            let mut lambda = vec![0.0; rows];
            let settings = Settings { iterations: 30, tolerance: 1e-9, relaxation: 1.3 };
            let outcome = solve_robustly(&problem, &mut lambda, &settings, &mut Workspace::default(), || false);
            assert!(outcome.converged, "case {case}: {outcome:?}");
        }
    }
}
