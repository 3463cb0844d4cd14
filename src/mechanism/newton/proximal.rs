//! Newton's method with a large proximal term, for many contacts on a deformable body.
//!
//! Thread: simulation (no heap once its memory has grown; bounded steps).
//!
//! A contact patch with more rows than the body has degrees of freedom has a singular `W`: 450 rows on a face of 95 nodes have rank 261.
//! With the proximal term of [`super`] one wrong guess of the active set makes the linear system inconsistent, and the forces jump by the
//! reciprocal of that term. Two changes make the same iteration converge in 10 to 30 steps from any start:
//!
//! ```text
//!  held rows    (W + ε I) dλ = δ      ε = 3e-4: the proximal point method (Rockafellar 1976), one Newton step for each of its steps
//!  guess        τ = λ − ρ δ           ρ = 0.03: rows change their state on account of forces rather than of violations
//! ```
//!
//! Rows of open contacts leave the linear system: their step is known.

use super::super::dense::{LowRank, back_substitute, factor};
use super::super::problem::dot;
use super::super::{Block, RowState, Slip};
use super::Workspace;

/// Fewest rows for which this method precedes the others. Below, a step of theirs is cheap, and the rank of rigid bodies is low.
pub(super) const LEAST_ROWS: usize = 97;
/// Largest rank of `W` for which a path in that rank is preferred: about five rigid bodies.
pub(super) const LOW_RANK: usize = 32;
/// Rows from which the rank is judged; the rank of all is not lower.
const JUDGED_ROWS: usize = 96;

/// ρ and ε, one attempt after the other; the second ε from [`SETTLED`] steps on. ε is relative to the scaled compliance, whose diagonal is
/// about one. At ε = 1e-5 the active set cycles; at 1e-3 the last digits take twice as many steps. At ρ = 1 cold starts take half as many
/// steps again, at 10 they fail.
const ATTEMPTS: [(f64, [f64; 2]); 2] = [(0.03, [3e-4, 1e-4]), (0.003, [1e-3, 3e-4])];
/// Steps after which the active set has usually settled.
const SETTLED: u32 = 20;
/// Most steps of an attempt; 10 to 30 is usual.
const STEPS: u32 = 36;
/// Residual below which the forces are close enough for Newton's method without the large term.
const CLOSE: f64 = 1e-3;

/// The linear system of one step.
#[derive(Clone, Debug, Default)]
pub(super) struct Reduced {
    /// Rows whose step is unknown.
    unknown: Vec<usize>,
    states: Vec<RowState>,
    matrix: Vec<f64>,
    right: Vec<f64>,
    pivots: Vec<usize>,
    /// One row of the Jacobian, all columns.
    line: Vec<f64>,
    /// `dλ`, all rows.
    step: Vec<f64>,
    low_rank: LowRank,
    /// ρ and ε of this step.
    guess: f64,
    proximal: f64,
}

impl Workspace {
    /// Steps from the forces in `lambda` until the residual is within the tolerance. Forces that beat `least` go to `best`. Gives the
    /// number of steps, and whether Newton's method should go on from the best forces, now in `lambda`.
    pub(super) fn proximal(&mut self, tolerance: f64, least: &mut f64, stop: &mut dyn FnMut() -> bool) -> (u32, bool) {
        let mut reduced = std::mem::take(&mut self.reduced);
        let mut count = 0;
        let warm = *least < CLOSE;
        for (guess, terms) in ATTEMPTS {
            reduced.guess = guess;
            for step in 0..=STEPS {
                let square = self.evaluate();
                let residual = self.residual();
                if residual <= *least {
                    *least = residual;
                    self.best.copy_from_slice(&self.lambda);
                }
                if *least <= tolerance || step == STEPS || !square.is_finite() || stop() {
                    break;
                }
                reduced.proximal = terms[usize::from(warm || step >= SETTLED)];
                count += 1;
                if !self.step(&mut reduced) {
                    break;
                }
            }
            self.lambda.copy_from_slice(&self.best);
            if *least <= tolerance || stop() {
                break;
            }
        }
        self.reduced = reduced;
        (count, *least > tolerance && *least < CLOSE)
    }

    /// True when `W` has certainly a higher rank than [`LOW_RANK`], by rows spread over all.
    pub(super) fn has_high_rank(&mut self) -> bool {
        let rows = self.lambda.len();
        let count = rows.min(JUDGED_ROWS);
        let chosen = |k: usize| k * rows / count;
        let Reduced { matrix, low_rank, .. } = &mut self.reduced;
        matrix.clear();
        for i in 0..count {
            let row = &self.compliance[chosen(i) * rows..][..rows];
            matrix.extend((0..count).map(|j| row[chosen(j)]));
        }
        !low_rank.find(matrix, count, LOW_RANK)
    }

    /// One step of `lambda`; false, and none made, when its linear system is singular.
    fn step(&mut self, reduced: &mut Reduced) -> bool {
        self.reduce(reduced);
        if !factor(&mut reduced.matrix, reduced.unknown.len(), &mut reduced.pivots) {
            return false;
        }
        back_substitute(&reduced.matrix, &reduced.pivots, &mut reduced.right);
        for (row, step) in reduced.unknown.iter().zip(&reduced.right) {
            reduced.step[*row] = *step;
        }
        for (x, step) in self.lambda.iter_mut().zip(&reduced.step) {
            *x -= step;
        }
        true
    }

    /// Sets up the linear system at `lambda` and `delta`; the steps of rows at a constant bound go to `step` at once.
    fn reduce(&self, reduced: &mut Reduced) {
        let rows = self.lambda.len();
        let Reduced { unknown, states, matrix, right, line, step, guess, proximal, .. } = reduced;
        unknown.clear();
        states.clear();
        step.clear();
        step.resize(rows, 0.0);
        for block in &self.blocks {
            let (mut force, mut tau) = ([0.0; 3], [0.0; 3]);
            for (k, i) in block.range().enumerate() {
                force[k] = self.lambda[i];
                tau[k] = self.lambda[i] - *guess * self.delta[i];
            }
            for (i, state) in block.range().zip(block.law.state(&force, &tau, *guess)) {
                states.push(state);
                match state {
                    RowState::Fixed { force, slope: [0.0, 0.0, 0.0] } => step[i] = self.lambda[i] - force,
                    _ => unknown.push(i),
                }
            }
        }
        let is_known = step.iter().any(|x| *x != 0.0);
        let count = unknown.len();
        matrix.resize(count * count, 0.0);
        right.clear();
        for block in &self.blocks {
            for i in block.range() {
                if let RowState::Fixed { slope: [0.0, 0.0, 0.0], .. } = states[i] {
                    continue;
                }
                if let RowState::Held = states[i] {
                    let row = &self.compliance[i * rows..][..rows];
                    let known = if is_known { dot(row, step) } else { 0.0 };
                    let at = right.len() * count;
                    for (entry, j) in matrix[at..at + count].iter_mut().zip(unknown.iter()) {
                        *entry = row[*j];
                    }
                    matrix[at + right.len()] += *proximal;
                    right.push(self.delta[i] - known);
                    continue;
                }
                let value = self.line_of(block, i, &states[i], (*guess, line));
                let known = if is_known { dot(line, step) } else { 0.0 };
                let at = right.len() * count;
                right.push(value - known);
                for (entry, j) in matrix[at..at + count].iter_mut().zip(unknown.iter()) {
                    *entry = line[*j];
                }
            }
        }
    }

    /// One row of the Jacobian, of a row that is not held, into `line`; gives the value of the map.
    fn line_of(&self, block: &Block, i: usize, state: &RowState, (guess, line): (f64, &mut Vec<f64>)) -> f64 {
        let rows = self.lambda.len();
        line.clear();
        match state {
            RowState::Held => 0.0,
            RowState::Fixed { force, slope } => {
                line.resize(rows, 0.0);
                line[i] = 1.0;
                for (j, slope) in block.range().zip(slope) {
                    line[j] -= slope;
                }
                self.lambda[i] - force
            }
            RowState::Slipping(slip) => self.slipping_line((block.first, i), slip, guess, line),
            RowState::Curved { force, slope } => {
                let row = &self.compliance[i * rows..][..rows];
                line.extend(row.iter().map(|w| slope * guess * w));
                line[i] += 1.0 - slope;
                self.lambda[i] - force
            }
        }
    }

    /// Tangent row `at` of the contact whose first row is `i`: `F_t = λ_t − bound d`, and with `dτ = dλ − ρ W dλ`
    /// `dF_t = dλ_t − κ P dτ_t − slope d dτ_n`.
    fn slipping_line(&self, (i, at): (usize, usize), slip: &Slip, guess: f64, line: &mut Vec<f64>) -> f64 {
        let rows = self.lambda.len();
        let (a, d) = (at - i - 1, slip.direction);
        let across = slip.projector()[a].map(|p| slip.kappa * p);
        let normal = slip.slope * d[a];
        let row = |r: usize| &self.compliance[(i + r) * rows..][..rows];
        let pairs = row(0).iter().zip(row(1)).zip(row(2));
        line.extend(pairs.map(|((n, s), t)| guess * (normal * n + across[0] * s + across[1] * t)));
        line[at] += 1.0;
        line[i] -= normal;
        line[i + 1] -= across[0];
        line[i + 2] -= across[1];
        self.lambda[at] - slip.bound * d[a]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;
    use crate::mechanism::solver::{Settings, residuals};
    use crate::mechanism::{BlockId, Law, Problem};

    /// Nodes along each side of a square face, and points of contact on it.
    const SIDE: usize = 6;
    const POINTS: usize = 60;

    /// Weights of the nodes at a random point, bilinear.
    fn weights(uniform: &mut impl FnMut() -> f64) -> Vec<(usize, f64)> {
        let at: [f64; 2] = [0, 1].map(|_| uniform() * (SIDE - 1) as f64);
        let cell = at.map(|x| (x as usize).min(SIDE - 2));
        let share: [f64; 2] = [0, 1].map(|k| at[k] - cell[k] as f64);
        let mut list = Vec::new();
        for (i, a) in [1.0 - share[0], share[0]].into_iter().enumerate() {
            for (j, b) in [1.0 - share[1], share[1]].into_iter().enumerate() {
                list.push(((cell[0] + i) * SIDE + cell[1] + j, a * b));
            }
        }
        list
    }

    /// Points pressed on a floor: 180 rows on 108 degrees of freedom that yield to each other as nodes of a half-space do.
    fn pressed(seed: u64) -> (Vec<f64>, Vec<f64>) {
        let mut random = Random::new(seed);
        let mut uniform = move || random.uniform();
        let points: Vec<_> = (0..POINTS).map(|_| weights(&mut uniform)).collect();
        let place = |n: usize| [(n / SIDE) as f64, (n % SIDE) as f64];
        let between = |a: usize, b: usize| {
            let (p, q) = (place(a), place(b));
            1e-4 / (0.6 + (p[0] - q[0]).hypot(p[1] - q[1]))
        };
        let rows = 3 * POINTS;
        let mut w = vec![0.0; rows * rows];
        for (i, p) in points.iter().enumerate() {
            for (j, q) in points.iter().enumerate() {
                let sum: f64 = p.iter().flat_map(|a| q.iter().map(|b| a.1 * b.1 * between(a.0, b.0))).sum();
                (0..3).for_each(|k| w[(3 * i + k) * rows + 3 * j + k] = sum);
            }
        }
        let mut free = vec![0.0; rows];
        for contact in free.chunks_exact_mut(3) {
            contact.copy_from_slice(&[-1e-3 * (0.2 + uniform()), 3e-4 * (uniform() - 0.5), 8e-4 * (uniform() - 0.2)]);
        }
        (w, free)
    }

    #[test]
    fn more_rows_on_a_face_than_it_has_degrees_of_freedom_are_solved_without_the_interior_point_path() {
        let blocks: Vec<Block> = (0..POINTS)
            .map(|k| Block {
                id: BlockId::Custom(k as u64),
                first: 3 * k,
                law: Law::Contact { friction: 0.6, compliance: 0.0 },
            })
            .collect();
        let tolerance = 1e-6;
        let mut failed = 0;
        for seed in 1..=8 {
            let (compliance, free) = pressed(seed);
            let problem = Problem { blocks: &blocks, compliance: &compliance, stride: free.len(), free: &free };
            let mut lambda = vec![0.0; free.len()];
            let mut work = Workspace::default();
            work.load(&problem, &lambda);
            let mut least = f64::INFINITY;
            let (steps, _) = work.proximal(tolerance, &mut least, &mut || false);
            for ((x, best), scale) in lambda.iter_mut().zip(&work.best).zip(&work.scale) {
                *x = best / scale;
            }
            let residual = residuals(&problem, &lambda).worst();
            println!("seed {seed}: {steps} steps, residual {residual:e}");
            assert!(residual <= tolerance && steps <= 60, "seed {seed}: {steps} steps, residual {residual:e}");
            // The method it precedes.
            work.load(&problem, &vec![0.0; free.len()]);
            let mut least = f64::INFINITY;
            work.newton(tolerance, &mut least, &mut || false);
            failed += usize::from(least > tolerance);
            let settings = Settings { iterations: 100, tolerance, relaxation: 1.3 };
            let outcome = super::super::solve_robustly(&problem, &mut lambda, &settings, &mut work, || false);
            assert!(outcome.converged, "seed {seed}: {outcome:?}");
        }
        assert!(failed > 4, "Newton's method with the small term solved {} of 8", 8 - failed);
    }
}
