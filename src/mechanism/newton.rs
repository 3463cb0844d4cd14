//! Semi-smooth Newton on all laws at once, for problems on which block Gauss–Seidel crawls or circles.
//!
//! Thread: simulation (works in preallocated memory, but its cost grows with the cube of the rows).
//!
//! The laws are written as the root of the map of Alart and Curnier (1991), contact by contact, with `τ = λ − δ`:
//!
//! ```text
//!  F_n = λ_n − max(0, τ_n)            F_t = λ_t − (τ_t shortened to µ max(0, τ_n))
//! ```
//!
//! after scaling each block by the square root of its own compliance, which takes mass ratios out of the problem and
//! leaves the cones as they are. The derivative is the block's own matrix for a closed row, the identity for an open one.
//! A small multiple of the identity (a proximal term) keeps it regular when more contacts hold a body than it has
//! degrees of freedom; it changes the path, not the root.

use super::interior::Path;
use super::solver::{Outcome, Settings, residuals, solve};
use super::{Block, Law, Problem};

/// Proximal term relative to the scaled compliance, whose diagonal is about one. Smaller loses digits to redundant
/// contacts, larger slows the last digits down.
const PROXIMAL: f64 = 1e-9;
/// Most Newton steps in a row.
const STEPS: u32 = 60;
/// Full Newton steps without progress that are put up with.
const PATIENCE: u32 = 8;
/// Weights of force against violation in the map, one attempt after the other: the root is the same, the kinks on the way
/// to it are not.
const BALANCES: [f64; 5] = [1.0, 0.1, 10.0, 0.01, 100.0];
/// Interior-point paths for each of them before giving up.
const PATHS: usize = 6;

/// Memory for problems of up to a given number of rows.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// The blocks with their laws' own compliance moved into the matrix.
    blocks: Vec<Block>,
    proximal: f64,
    scale: Vec<f64>,
    compliance: Vec<f64>,
    free: Vec<f64>,
    lambda: Vec<f64>,
    trial: Vec<f64>,
    good: Vec<f64>,
    best: Vec<f64>,
    delta: Vec<f64>,
    map: Vec<f64>,
    step: Vec<f64>,
    jacobian: Vec<f64>,
    pivots: Vec<usize>,
    path: Path,
}

impl Workspace {
    /// Memory for `rows` rows.
    #[must_use]
    pub fn with_rows(rows: usize) -> Self {
        let mut workspace = Self::default();
        workspace.reserve(rows);
        workspace
    }

    /// Makes room; allocates only when the problem is larger than any before it.
    fn reserve(&mut self, rows: usize) {
        for vector in [
            &mut self.scale,
            &mut self.free,
            &mut self.lambda,
            &mut self.trial,
            &mut self.good,
            &mut self.best,
            &mut self.delta,
            &mut self.map,
            &mut self.step,
        ] {
            vector.resize(rows, 0.0);
        }
        self.compliance.resize(rows * rows, 0.0);
        self.jacobian.resize(rows * rows, 0.0);
    }
}

/// Solves in place to the tolerance: Gauss–Seidel first, Newton where that is not enough, and where Newton is stuck an
/// interior-point path to start it from. The residual in the outcome is the worst of
/// [`residuals`].
pub fn solve_robustly(problem: &Problem<'_>, lambda: &mut [f64], settings: &Settings, work: &mut Workspace) -> Outcome {
    let sweep = Settings { tolerance: 0.1 * settings.tolerance, ..*settings };
    let mut outcome = solve(problem, lambda, &sweep, || false);
    outcome.residual = residuals(problem, lambda).worst();
    if outcome.residual > settings.tolerance {
        work.load(problem, lambda, 1.0);
        work.best.copy_from_slice(lambda);
        let keep_best = |work: &mut Workspace, lambda: &mut [f64], outcome: &mut Outcome| {
            work.store(lambda);
            // A path that was lost may end in NaN, which no comparison of residuals would notice.
            let sound = lambda.iter().all(|x| x.is_finite());
            let residual = if sound { residuals(problem, lambda).worst() } else { f64::INFINITY };
            if residual < outcome.residual {
                outcome.residual = residual;
                work.best.copy_from_slice(lambda);
            }
            outcome.residual <= settings.tolerance
        };
        outcome.iterations += work.newton(settings.tolerance).0;
        // The path with the slip renewed at every step gets there at once as a rule; where it circles, the slip is held
        // for a whole path, and renewed from one path to the next.
        for attempt in 0..PATHS * BALANCES.len() {
            if keep_best(work, lambda, &mut outcome) {
                break;
            }
            work.load(problem, &[], BALANCES[attempt / PATHS]);
            let mut path = std::mem::take(&mut work.path);
            path.follow(&work.blocks, &work.compliance, &work.free, &mut work.lambda, attempt % PATHS > 0);
            work.path = path;
            outcome.iterations += work.newton(settings.tolerance).0;
            // Where Newton is stuck at a kink, sweeps move it on.
            if !keep_best(work, lambda, &mut outcome) {
                outcome.iterations += work.sweep(20);
                outcome.iterations += work.newton(settings.tolerance).0;
            }
        }
        keep_best(work, lambda, &mut outcome);
        lambda.copy_from_slice(&work.best);
    }
    outcome.converged = outcome.residual <= settings.tolerance;
    outcome
}

impl Workspace {
    /// Takes the problem in, each block scaled by the square root of its mean compliance times `balance`.
    fn load(&mut self, problem: &Problem<'_>, lambda: &[f64], balance: f64) {
        let rows = problem.rows();
        self.reserve(rows);
        self.proximal = PROXIMAL / (balance * balance);
        self.blocks.clear();
        self.blocks.extend(problem.blocks.iter().map(strict));
        for block in problem.blocks {
            let mean =
                block.range().map(|i| problem.row(i)[i]).sum::<f64>() / block.law.rows() as f64 + compliance(block);
            let scale = balance * if mean > 0.0 { mean.sqrt() } else { 1.0 };
            self.scale[block.range()].fill(scale);
        }
        for i in 0..rows {
            for j in 0..rows {
                self.compliance[i * rows + j] = problem.row(i)[j] / (self.scale[i] * self.scale[j]);
            }
            self.free[i] = problem.free[i] / self.scale[i];
            self.lambda[i] = lambda.get(i).map_or(0.0, |x| x * self.scale[i]);
        }
        for block in problem.blocks {
            for i in block.range() {
                self.compliance[i * rows + i] += compliance(block) / (self.scale[i] * self.scale[i]);
            }
        }
    }

    fn store(&self, lambda: &mut [f64]) {
        for ((out, x), scale) in lambda.iter_mut().zip(&self.lambda).zip(&self.scale) {
            *out = x / scale;
        }
    }

    /// Gauss–Seidel on the scaled problem.
    fn sweep(&mut self, iterations: u32) -> u32 {
        let problem =
            Problem { blocks: &self.blocks, compliance: &self.compliance, stride: self.free.len(), free: &self.free };
        solve(&problem, &mut self.lambda, &Settings { iterations, tolerance: 1e-14, relaxation: 1.2 }, || false)
            .iterations
    }

    /// Newton's method; gives the number of steps and whether the root was met. Full steps as long as one in
    /// [`PATIENCE`] brings ‖F‖ down (the way across a kink leads uphill), then back to the best point with a line search.
    fn newton(&mut self, tolerance: f64) -> (u32, bool) {
        let goal = (1e-3 * tolerance * self.free.iter().fold(0.0, |m: f64, x| m.max(x.abs()))).powi(2);
        let mut least = self.evaluate();
        self.good.copy_from_slice(&self.lambda);
        let (mut impatience, mut searching) = (0, false);
        for count in 0..STEPS {
            if least <= goal {
                return (count, true);
            }
            self.linearise();
            self.step.copy_from_slice(&self.map);
            if !factor(&mut self.jacobian, self.step.len(), &mut self.pivots) {
                break;
            }
            back_substitute(&self.jacobian, &self.pivots, &mut self.step);
            let mut length = 1.0;
            let merit = loop {
                for i in 0..self.lambda.len() {
                    self.trial[i] = self.lambda[i] - length * self.step[i];
                }
                std::mem::swap(&mut self.lambda, &mut self.trial);
                let merit = self.evaluate();
                if !searching || merit < (1.0 - 1e-3 * length) * least || length < 1e-3 {
                    break merit;
                }
                std::mem::swap(&mut self.lambda, &mut self.trial);
                length *= 0.5;
            };
            if merit < least {
                least = merit;
                self.good.copy_from_slice(&self.lambda);
                impatience = 0;
            } else {
                impatience += 1;
            }
            if impatience >= PATIENCE || !merit.is_finite() {
                if searching {
                    break;
                }
                (searching, impatience) = (true, PATIENCE - 1);
                self.lambda.copy_from_slice(&self.good);
                self.evaluate();
            }
        }
        self.lambda.copy_from_slice(&self.good);
        self.evaluate();
        (STEPS, least <= goal)
    }

    /// Fills `delta` and `map` at `lambda`; gives ‖F‖².
    fn evaluate(&mut self) -> f64 {
        let rows = self.lambda.len();
        for i in 0..rows {
            self.delta[i] = self.free[i] + super::problem::dot(&self.compliance[i * rows..][..rows], &self.lambda);
        }
        for block in &self.blocks {
            let i = block.first;
            match block.law {
                Law::Bilateral { .. } => self.map[block.range()].copy_from_slice(&self.delta[block.range()]),
                Law::Contact { friction, .. } => {
                    let tau = [0, 1, 2].map(|k| self.lambda[i + k] - self.delta[i + k]);
                    let bound = friction * tau[0].max(0.0);
                    let length = tau[1].hypot(tau[2]);
                    let factor = if length > bound { bound / length } else { 1.0 };
                    self.map[i] = self.lambda[i] - tau[0].max(0.0);
                    self.map[i + 1] = self.lambda[i + 1] - factor * tau[1];
                    self.map[i + 2] = self.lambda[i + 2] - factor * tau[2];
                }
            }
        }
        self.map.iter().map(|x| x * x).sum()
    }

    /// Fills `jacobian` with a generalised derivative of the map.
    fn linearise(&mut self) {
        let rows = self.lambda.len();
        for index in 0..self.blocks.len() {
            let block = self.blocks[index];
            let i = block.first;
            let Law::Contact { friction, .. } = block.law else {
                self.closed_rows(block.range());
                continue;
            };
            let tau = [0, 1, 2].map(|k| self.lambda[i + k] - self.delta[i + k]);
            if tau[0] <= 0.0 {
                for r in block.range() {
                    self.jacobian[r * rows..][..rows].fill(0.0);
                    self.jacobian[r * rows + r] = 1.0;
                }
                continue;
            }
            let (bound, length) = (friction * tau[0], tau[1].hypot(tau[2]));
            if length <= bound {
                self.closed_rows(block.range());
                continue;
            }
            self.closed_rows(i..i + 1);
            // F_t = λ_t − µ τ_n d:  dF_t = (I − κP) dλ_t + κ P W_t dλ − µ d (dλ_n − W_n dλ), κ = bound/length, P = I − ddᵀ.
            let (kappa, d) = (bound / length, [tau[1] / length, tau[2] / length]);
            let p = [[1.0 - d[0] * d[0], -d[0] * d[1]], [-d[0] * d[1], 1.0 - d[1] * d[1]]];
            for a in 0..2 {
                for j in 0..rows {
                    let w = |r: usize| self.compliance[(i + r) * rows + j];
                    self.jacobian[(i + 1 + a) * rows + j] =
                        kappa * (p[a][0] * w(1) + p[a][1] * w(2)) + friction * d[a] * w(0);
                }
                self.jacobian[(i + 1 + a) * rows + i] -= friction * d[a];
                for b in 0..2 {
                    let own = if a == b { 1.0 } else { 0.0 };
                    self.jacobian[(i + 1 + a) * rows + i + 1 + b] += own - kappa * p[a][b];
                }
            }
        }
    }

    fn closed_rows(&mut self, range: std::ops::Range<usize>) {
        let rows = self.lambda.len();
        for r in range {
            self.jacobian[r * rows..][..rows].copy_from_slice(&self.compliance[r * rows..][..rows]);
            self.jacobian[r * rows + r] += self.proximal;
        }
    }
}

fn strict(block: &Block) -> Block {
    let mut block = *block;
    let (Law::Contact { compliance, .. } | Law::Bilateral { compliance, .. }) = &mut block.law;
    *compliance = 0.0;
    block
}

fn compliance(block: &Block) -> f64 {
    let (Law::Contact { compliance, .. } | Law::Bilateral { compliance, .. }) = block.law;
    compliance
}

/// Factors the `rows × rows` matrix in place by elimination with row pivoting, the pivots into `pivots`; false when it is
/// singular to working precision.
pub(super) fn factor(a: &mut [f64], rows: usize, pivots: &mut Vec<usize>) -> bool {
    let n = rows;
    pivots.clear();
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

/// Solves with a matrix that [`factor`] has factored, in place.
pub(super) fn back_substitute(a: &[f64], pivots: &[usize], b: &mut [f64]) {
    let n = b.len();
    for k in 0..n {
        b.swap(k, pivots[k]);
    }
    for k in 1..n {
        b[k] -= super::problem::dot(&a[k * n..k * n + k], &b[..k]);
    }
    for k in (0..n).rev() {
        let sum = super::problem::dot(&a[k * n + k + 1..(k + 1) * n], &b[k + 1..]);
        b[k] = (b[k] - sum) / a[k * n + k];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_path_does_not_pass_for_a_solution() {
        // Found with a ball rolling on another under absurd friction: the residual's share of it cannot reach the tolerance.
        let compliance = [1.5625e-7, 0.0, 0.0, 0.0, 5.46875e-7, 0.0, 0.0, 0.0, 5.4687e-7];
        let free = [-9.987722690715518e-7, -5.035443106587989e-7, 0.0];
        let blocks = [Block { id: 1, first: 0, law: Law::Contact { friction: 1e4, compliance: 0.0 } }];
        let problem = Problem { blocks: &blocks, compliance: &compliance, stride: 3, free: &free };
        let mut lambda = [6.39, 0.92, 0.0];
        let settings = Settings { iterations: 60, tolerance: 1e-12, relaxation: 1.3 };
        solve_robustly(&problem, &mut lambda, &settings, &mut Workspace::default());
        assert!((lambda[0] + free[0] / compliance[0]).abs() < 1e-9, "{lambda:?}");
        assert!((lambda[1] + free[1] / compliance[4]).abs() < 1e-9, "{lambda:?}");
    }
}
