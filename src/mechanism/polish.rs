//! Newton steps among the sweeps of the haptic tick: fixed memory, bounded work.
//!
//! Thread: haptic (RT: no heap; at most [`MOST_UNKNOWN`] unknowns).
//!
//! The points along a needle hang together through a stiff shaft and soft tissue, and so do the nodes of a soft body under a
//! tool: sweeps pass a change on from block to block and need hundreds of rounds. From tick to tick nearly every row keeps its state, held,
//! slipping or at a bound, and for known states the laws are linear. One step of the semismooth Newton method (Alart and Curnier 1991; Qi
//! and Sun 1993) then gives the solution at once. With `τ = λ − ρ δ`:
//!
//! ```text
//!  held       ρ (δ + W Δλ) = 0
//!  at a bound Δλ = bound − λ + slope · Δλ of its block           eliminated: no unknown
//!  slipping   Δλ_t − κ P Δτ_t − d slope Δτ_n = bound d − λ_t     d = τ_t/‖τ_t‖
//!  on a curve (1 − s) Δλ + s ρ W Δλ = R(τ) − λ                   s = R'(τ)
//! ```
//!
//! The next sweep measures the step: every law is solved once more, block by block. A step that makes the residual larger is taken back.

use super::solver::Compliance;
use super::{Block, MAX_BLOCKS, MAX_ROWS, RowState, Slip};

/// Most unknowns of a step. Elimination costs two thirds of their cube: 70 µs for 64 of them.
pub const MOST_UNKNOWN: usize = 64;
/// Added to the diagonal, which is about one: more rows than the scene has ways to move.
const PROXIMAL: f64 = 1e-11;
/// Pivot, relative to a diagonal of about one, below which a step is given up.
const SINGULAR: f64 = 1e-14;

/// Memory of the steps. Large: keep it in a box.
#[derive(Clone)]
pub struct Polish {
    /// The system, row-major with stride [`MOST_UNKNOWN`].
    matrix: [[f64; MOST_UNKNOWN]; MOST_UNKNOWN],
    right: [f64; MOST_UNKNOWN],
    /// Rows of `W` of the block at hand.
    given: [[f64; MAX_ROWS]; 3],
    /// One equation over all rows.
    equation: [f64; MAX_ROWS],
    delta: [f64; MAX_ROWS],
    states: [[RowState; 3]; MAX_BLOCKS],
    rho: [f64; MAX_BLOCKS],
    /// Rows that are unknown, and their number.
    unknown: [usize; MOST_UNKNOWN],
    count: usize,
    /// Change of each row: known for those at a bound, then of all.
    change: [f64; MAX_ROWS],
    /// Forces before the step.
    before: [f64; MAX_ROWS],
}

impl Default for Polish {
    fn default() -> Self {
        Self {
            matrix: [[0.0; MOST_UNKNOWN]; MOST_UNKNOWN],
            right: [0.0; MOST_UNKNOWN],
            given: [[0.0; MAX_ROWS]; 3],
            equation: [0.0; MAX_ROWS],
            delta: [0.0; MAX_ROWS],
            states: [[RowState::Held; 3]; MAX_BLOCKS],
            rho: [0.0; MAX_BLOCKS],
            unknown: [0; MOST_UNKNOWN],
            count: 0,
            change: [0.0; MAX_ROWS],
            before: [0.0; MAX_ROWS],
        }
    }
}

impl Polish {
    /// One step from `lambda`. False, and nothing changed, when there are too many unknowns or the system has no solution in numbers.
    pub(super) fn step(&mut self, compliance: &mut impl Compliance, blocks: &[Block], lambda: &mut [f64]) -> bool {
        if lambda.len() > MAX_ROWS || blocks.len() > MAX_BLOCKS || !self.judge(compliance, blocks, lambda) {
            return false;
        }
        self.write(compliance, blocks, lambda);
        if !self.eliminate() {
            return false;
        }
        self.spread(blocks);
        if !self.change[..lambda.len()].iter().all(|x| x.is_finite()) {
            return false;
        }
        self.before[..lambda.len()].copy_from_slice(lambda);
        for (force, change) in lambda.iter_mut().zip(&self.change) {
            *force += change;
        }
        for block in blocks {
            compliance.changed(block.first, &self.change[block.range()]);
        }
        true
    }

    /// Takes the last step back, and what the sweeps have changed since.
    pub(super) fn take_back(&mut self, compliance: &mut impl Compliance, blocks: &[Block], lambda: &mut [f64]) {
        for block in blocks {
            for row in block.range() {
                self.change[row] = self.before[row] - lambda[row];
                lambda[row] = self.before[row];
            }
            compliance.changed(block.first, &self.change[block.range()]);
        }
    }

    /// Finds the state of every row, and the change of those at a bound; false when too many are left.
    fn judge(&mut self, compliance: &mut impl Compliance, blocks: &[Block], lambda: &[f64]) -> bool {
        self.count = 0;
        for (index, block) in blocks.iter().enumerate() {
            let law = &block.law;
            let idle = law.opens()
                && lambda[block.range()].iter().all(|force| *force == 0.0)
                && compliance.violation(block.first, lambda) >= 0.0;
            if idle {
                self.states[index] = [RowState::Fixed { force: 0.0, slope: [0.0; 3] }; 3];
                self.change[block.range()].fill(0.0);
                continue;
            }
            let own = compliance.own(index, block);
            let trace: f64 = (0..law.rows()).map(|k| own.matrix[(k, k)]).sum();
            let rho = law.rows() as f64 / trace.max(f64::MIN_POSITIVE);
            let (mut force, mut tau) = ([0.0; 3], [0.0; 3]);
            for (k, row) in block.range().enumerate() {
                self.delta[row] = compliance.violation(row, lambda) + law.compliance() * lambda[row];
                force[k] = lambda[row];
                tau[k] = lambda[row] - rho * self.delta[row];
            }
            self.rho[index] = rho;
            self.states[index] = law.state(&force, &tau, rho);
            for (row, state) in block.range().zip(&self.states[index]) {
                if let RowState::Fixed { force, .. } = state {
                    self.change[row] = force - lambda[row];
                } else if self.count < MOST_UNKNOWN {
                    self.unknown[self.count] = row;
                    self.count += 1;
                } else {
                    return false;
                }
            }
        }
        true
    }

    /// Writes the system of the unknowns.
    fn write(&mut self, compliance: &impl Compliance, blocks: &[Block], lambda: &[f64]) {
        let rows = lambda.len();
        let mut at = 0;
        for (index, block) in blocks.iter().enumerate() {
            let states = self.states[index];
            let own = &states[..block.law.rows()];
            if own.iter().all(|state| matches!(state, RowState::Fixed { .. })) {
                continue;
            }
            for (k, row) in block.range().enumerate() {
                compliance.row(row, &mut self.given[k][..rows]);
                self.given[k][row] += block.law.compliance();
            }
            for (k, (row, state)) in block.range().zip(own).enumerate() {
                let right = match state {
                    RowState::Fixed { .. } => continue,
                    RowState::Held => self.hold(k, (row, rows), self.rho[index]),
                    RowState::Slipping(slip) => self.slip((k, block.first), (lambda[row], rows), self.rho[index], slip),
                    RowState::Curved { force, slope } => {
                        self.hold(k, (row, rows), self.rho[index] * slope);
                        self.equation[row] += 1.0 - slope;
                        force - lambda[row]
                    }
                };
                self.right[at] = right;
                self.reduce(blocks, rows, at);
                at += 1;
            }
        }
    }

    /// Equation of a row that is held.
    fn hold(&mut self, k: usize, (row, rows): (usize, usize), rho: f64) -> f64 {
        for (out, w) in self.equation[..rows].iter_mut().zip(&self.given[k]) {
            *out = rho * w;
        }
        self.equation[row] += PROXIMAL;
        -rho * self.delta[row]
    }

    /// Equation of tangent row `k` of a surface that slips.
    fn slip(&mut self, (k, first): (usize, usize), (force, rows): (f64, usize), rho: f64, slip: &Slip) -> f64 {
        let (a, d) = (k - 1, slip.direction);
        let p = slip.projector()[a];
        let weights = [slip.slope * d[a], slip.kappa * p[0], slip.kappa * p[1]];
        for j in 0..rows {
            let yields: f64 = (0..3).map(|r| weights[r] * self.given[r][j]).sum();
            self.equation[j] = rho * yields;
        }
        for (r, weight) in weights.into_iter().enumerate() {
            self.equation[first + r] -= weight;
        }
        self.equation[first + k] += 1.0;
        slip.bound * d[a] - force
    }

    /// Puts the equation at hand into row `at` of the system: rows at a bound go to the right-hand side, or where their bound depends on
    /// the other rows of their block into the columns of those.
    fn reduce(&mut self, blocks: &[Block], rows: usize, at: usize) {
        for (index, block) in blocks.iter().enumerate() {
            for (row, state) in block.range().zip(&self.states[index]) {
                let RowState::Fixed { slope, .. } = state else { continue };
                let weight = self.equation[row];
                self.right[at] -= weight * self.change[row];
                for (other, slope) in block.range().zip(slope).filter(|(_, slope)| **slope != 0.0) {
                    self.equation[other] += weight * slope;
                }
            }
        }
        debug_assert!(rows <= MAX_ROWS);
        for (out, row) in self.matrix[at].iter_mut().zip(&self.unknown[..self.count]) {
            *out = self.equation[*row];
        }
    }

    /// Solves the system by elimination with row pivoting, the solution into the right-hand side; false when it is singular.
    fn eliminate(&mut self) -> bool {
        let n = self.count;
        for k in 0..n {
            let size = |row: &usize| self.matrix[*row][k].abs();
            let pivot = (k..n).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(k);
            // A comparison with NaN is false.
            if !(size(&pivot) > SINGULAR) {
                return false;
            }
            self.matrix.swap(k, pivot);
            self.right.swap(k, pivot);
            let (above, below) = self.matrix[..n].split_at_mut(k + 1);
            let top = &above[k];
            let inverse = 1.0 / top[k];
            for (i, row) in below.iter_mut().enumerate() {
                let factor = row[k] * inverse;
                if factor == 0.0 {
                    continue;
                }
                for (x, y) in row[k + 1..n].iter_mut().zip(&top[k + 1..n]) {
                    *x -= factor * y;
                }
                self.right[k + 1 + i] -= factor * self.right[k];
            }
        }
        for k in (0..n).rev() {
            let known: f64 = (k + 1..n).map(|j| self.matrix[k][j] * self.right[j]).sum();
            self.right[k] = (self.right[k] - known) / self.matrix[k][k];
        }
        true
    }

    /// The change of every row.
    fn spread(&mut self, blocks: &[Block]) {
        for (row, change) in self.unknown[..self.count].iter().zip(&self.right) {
            self.change[*row] = *change;
        }
        for (index, block) in blocks.iter().enumerate() {
            for (row, state) in block.range().zip(&self.states[index]) {
                let RowState::Fixed { slope, .. } = state else { continue };
                // Only rows that are unknown have a slope.
                let more: f64 = block.range().zip(slope).map(|(other, slope)| slope * self.change[other]).sum();
                self.change[row] += more;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;
    use crate::mechanism::newton::{Workspace, solve_robustly};
    use crate::mechanism::solver::{Settings, solve, solve_with_steps};
    use crate::mechanism::{BlockId, Law, Problem};

    /// A needle in its channel: a tip and points along the shaft, coupled by a stiff beam in soft tissue.
    fn laws(count: usize, mut uniform: impl FnMut() -> f64) -> Vec<Block> {
        let shaft =
            Law::Channel { least_n: -0.4, most_n: 0.4, then_n: 0.4, friction: 0.1, slides: true, compliance: 1e-5 };
        let law = |k: usize, u: f64| match k {
            0 => Law::Puncture { friction: 0.2, most_n: 1.0 + u, then_n: 0.5, compliance: 1e-5 },
            k if k % 5 == 4 => Law::Contact { friction: 0.3, compliance: 0.0 },
            _ => shaft,
        };
        (0..count)
            .map(|k| Block { id: BlockId::Custom(k as u64), first: 3 * k, law: law(k, uniform().abs()) })
            .collect()
    }

    /// Rows that share few motions: sweeps are slow on them.
    fn coupled(rows: usize, mut uniform: impl FnMut() -> f64) -> Vec<f64> {
        let ways = rows / 2 + 3;
        let h: Vec<f64> = (0..rows * ways).map(|_| uniform()).collect();
        let mut compliance = vec![0.0; rows * rows];
        for i in 0..rows {
            for j in 0..rows {
                let sum: f64 = (0..ways).map(|k| h[i * ways + k] * h[j * ways + k]).sum();
                compliance[i * rows + j] = 1e-3 * sum / ways as f64 + if i == j { 1e-5 } else { 0.0 };
            }
        }
        compliance
    }

    #[test]
    fn steps_among_the_sweeps_converge_from_tick_to_tick_where_sweeps_do_not() {
        let mut random = Random::new(5);
        let mut uniform = move || 2.0 * random.uniform() - 1.0;
        let settings = Settings { iterations: 50, tolerance: 1e-6, relaxation: 1.1 };
        let (mut polish, mut ticks, mut by_sweeps, mut by_steps) = (Box::<Polish>::default(), 0, 0, 0);
        for case in 0..40 {
            let count = 6 + case % 12;
            let blocks = laws(count, &mut uniform);
            let compliance = coupled(3 * count, &mut uniform);
            let start: Vec<f64> = (0..3 * count).map(|_| 1e-3 * uniform()).collect();
            let way: Vec<f64> = (0..3 * count).map(|_| 1e-5 * uniform()).collect();
            let (mut swept, mut stepped) = (vec![0.0; 3 * count], vec![0.0; 3 * count]);
            for tick in 0..30 {
                let free: Vec<f64> = start.iter().zip(&way).map(|(a, b)| a + b * f64::from(tick)).collect();
                let problem = Problem { blocks: &blocks, compliance: &compliance, stride: 3 * count, free: &free };
                let plain = solve(&problem, &mut swept, &settings, || false);
                let outcome = solve_with_steps(&problem, &mut stepped, (&settings, &mut polish), || false);
                assert!(outcome.residual.is_finite() && outcome.iterations <= settings.iterations);
                if tick > 0 {
                    ticks += 1;
                    by_sweeps += u32::from(plain.converged);
                    by_steps += u32::from(outcome.converged);
                }
                if outcome.converged {
                    let mut exact = stepped.clone();
                    let tight = Settings { iterations: 200, tolerance: 1e-10, relaxation: 1.1 };
                    let found = solve_robustly(&problem, &mut exact, &tight, &mut Workspace::default(), || false);
                    let apart = |(row, (a, b)): (usize, (&f64, &f64))| {
                        let own = compliance[row * 3 * count + row];
                        own * (a - b).abs()
                    };
                    let most = stepped.iter().zip(&exact).enumerate().map(apart).fold(0.0, f64::max);
                    assert!(!found.converged || most < 1e-6, "case {case}, tick {tick}: {most:e} m");
                }
            }
        }
        println!("{by_steps} with steps, {by_sweeps} without, of {ticks}");
        assert!(100 * by_steps >= 99 * ticks && by_sweeps < by_steps, "{by_steps} and {by_sweeps} of {ticks}");
    }
}
