//! Block Gauss–Seidel with over-relaxation: each law solves its own small block exactly, in turn, until all agree.
//!
//! Thread: any (RT safe: no heap; bounded by iterations and by the caller's stop condition).
//!
//! Seed 001 Algorithm 1: `λ ← (1 − α) λ + α λ*`. Over-relaxation (α > 1) speeds up chains of contacts; where it makes
//! things worse the factor falls back towards one.

use super::polish::Polish;
use super::{Block, Law, Problem};
use nalgebra::{Matrix3, Vector3};

/// Sweeps before their rate is judged.
const TRIAL: u32 = 5;
/// Sweeps after which a Newton step is considered, and sweeps still needed at the present rate from which on it is cheaper.
const BEFORE_STEP: u32 = 3;
/// Sweeps between two Newton steps: the second shows the rate.
const BETWEEN_STEPS: u32 = 2;
const MANY: f64 = 6.0;
/// Most Newton steps of a solve.
const MOST_STEPS: u32 = 10;
/// Most Newton steps of a solve that are taken back; the sweeps before the next one double with each.
const MOST_TAKEN_BACK: u32 = 4;

/// When to stop, and how boldly to go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Most sweeps over all blocks.
    pub iterations: u32,
    /// Stop when the largest relative change of the residual map falls below this.
    pub tolerance: f64,
    /// Over-relaxation factor α, 1 to 1.9; 1.3 is a good start, larger ones oscillate when many contacts hold one body.
    pub relaxation: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { iterations: 100, tolerance: 1e-9, relaxation: 1.3 }
    }
}

/// What a solve achieved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Sweeps made.
    pub iterations: u32,
    /// Largest residual of any block (see [`residuals`]), relative to the problem's own size.
    pub residual: f64,
    /// The tolerance was met (by [`solve_robustly`](super::newton::solve_robustly) up to a factor of three where round-off
    /// stands in the way).
    pub converged: bool,
    /// The caller's stop condition ended it.
    pub timed_out: bool,
}

/// How far the forces are from obeying their laws. Violations are relative to the largest entry of `δ_free` (see
/// [`violation_scale`]), forces to the largest entry of `λ`, products of the two to the product of both; `δ` is
/// `W λ + δ_free`, plus the law's own compliance times `λ`. A number that is not finite makes a residual infinite.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Residuals {
    /// Largest of: overlap `−δ_n`, and any `|δ|` of a joint, relative to the violation; `λ_n δ_n` across an open gap,
    /// relative to the product; what solving a needle's block once more would change of its violation.
    pub complementarity: f64,
    /// Largest of: friction beyond the cone `‖λ_t‖ − µ λ_n`, and pull `−λ_n`, relative to the force.
    pub cone: f64,
    /// Largest dissipation short of the most there could be, `µ λ_n ‖δ_t‖ + λ_t·δ_t`, relative to the product.
    pub dissipation: f64,
}

impl Residuals {
    /// The largest of the three.
    #[must_use]
    pub fn worst(&self) -> f64 {
        self.complementarity.max(self.cone).max(self.dissipation)
    }

    /// Adds one block: `own` is its force relative to the largest force, `delta` its violation relative to the largest free violation. False
    /// when the law measures its residual by one more block solve.
    pub(super) fn add(&mut self, law: &Law, own: &[f64; 3], delta: &[f64; 3]) -> bool {
        // A maximum ignores NaN, which must not pass as a satisfied law.
        let sum: f64 = own.iter().chain(delta).map(|x| x.abs()).sum();
        if !sum.is_finite() {
            self.complementarity = f64::INFINITY;
        }
        let Some(block) = law.residuals(own, delta) else { return false };
        self.complementarity = self.complementarity.max(block.complementarity);
        self.cone = self.cone.max(block.cone);
        self.dissipation = self.dissipation.max(block.dissipation);
        true
    }
}

/// A block's own compliance, that of its law included. Blocks with fewer than three rows are filled up with rows that
/// hold themselves at zero.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// The matrix.
    pub matrix: Matrix3<f64>,
    /// Its inverse, if it has one.
    pub inverse: Option<Matrix3<f64>>,
}

impl Own {
    /// From the compliance `w(i, j)` between rows `i` and `j` of the block, without its law's.
    #[must_use]
    pub fn new(law: &Law, w: impl Fn(usize, usize) -> f64) -> Self {
        let mut matrix = Matrix3::identity();
        let compliance = law.compliance();
        for i in 0..law.rows() {
            for j in 0..law.rows() {
                matrix[(i, j)] = w(i, j);
            }
            matrix[(i, i)] += compliance;
        }
        Self { matrix, inverse: matrix.try_inverse() }
    }

    /// Nothing yields but by one unit each.
    #[must_use]
    pub fn identity() -> Self {
        Self { matrix: Matrix3::identity(), inverse: Some(Matrix3::identity()) }
    }
}

/// How a mechanism yields, as the sweeps see it: a dense matrix, or whatever answers the same questions faster.
pub trait Compliance {
    /// Compliance of block `index` on itself.
    fn own(&mut self, index: usize, block: &Block) -> &Own;

    /// `(W λ + δ_free)` of a row, laws' compliance not included.
    fn violation(&self, row: usize, lambda: &[f64]) -> f64;

    /// The same of all three rows of a contact.
    fn violations(&self, first: usize, lambda: &[f64]) -> [f64; 3] {
        [0, 1, 2].map(|k| self.violation(first + k, lambda))
    }

    /// Writes the row of `W`, laws' compliance not included.
    fn row(&self, row: usize, out: &mut [f64]);

    /// Told after the forces of the rows from `first` on have changed by `change`.
    fn changed(&mut self, first: usize, change: &[f64]);
}

/// The plain matrix of a [`Problem`], and the block looked at last.
struct Dense<'a>(&'a Problem<'a>, Own);

impl Compliance for Dense<'_> {
    fn own(&mut self, _index: usize, block: &Block) -> &Own {
        self.1 = Own::new(&block.law, |i, j| self.0.row(block.first + i)[block.first + j]);
        &self.1
    }

    fn violation(&self, row: usize, lambda: &[f64]) -> f64 {
        self.0.violation(row, lambda)
    }

    fn row(&self, row: usize, out: &mut [f64]) {
        out.copy_from_slice(self.0.row(row));
    }

    fn changed(&mut self, _first: usize, _change: &[f64]) {}
}

/// Solves in place, starting from the forces in `lambda`. `stop` is asked once per sweep. Forces that are not finite (from
/// a problem that is not) come back as zero, with an infinite residual.
pub fn solve(problem: &Problem<'_>, lambda: &mut [f64], settings: &Settings, stop: impl FnMut() -> bool) -> Outcome {
    sweep(&mut Dense(problem, Own::identity()), problem.blocks, violation_scale(problem), lambda, settings, stop)
}

/// The same, but leaves as soon as the sweeps still allowed cannot reach the tolerance at the present rate.
pub(super) fn solve_while_promising(
    problem: &Problem<'_>,
    lambda: &mut [f64],
    settings: &Settings,
    stop: impl FnMut() -> bool,
) -> Outcome {
    let scale = violation_scale(problem);
    sweeps(&mut Dense(problem, Own::identity()), problem.blocks, scale, lambda, (settings, Slow::Leave), stop)
}

/// As [`solve`], for any [`Compliance`]. `scale` is the violation that residuals are relative to.
pub fn sweep(
    compliance: &mut impl Compliance,
    blocks: &[Block],
    scale: f64,
    lambda: &mut [f64],
    settings: &Settings,
    stop: impl FnMut() -> bool,
) -> Outcome {
    sweeps(compliance, blocks, scale, lambda, (settings, Slow::GoOn), stop)
}

/// As [`sweep`], with Newton steps where the sweeps are slow. Every sweep and every step counts as an iteration.
pub fn sweep_and_step(
    compliance: &mut impl Compliance,
    blocks: &[Block],
    scale: f64,
    lambda: &mut [f64],
    (settings, polish): (&Settings, &mut Polish),
    stop: impl FnMut() -> bool,
) -> Outcome {
    sweeps(compliance, blocks, scale, lambda, (settings, Slow::Step(polish)), stop)
}

/// As [`solve`], with Newton steps where the sweeps are slow.
#[cfg(test)]
pub(super) fn solve_with_steps(
    problem: &Problem<'_>,
    lambda: &mut [f64],
    with: (&Settings, &mut Polish),
    stop: impl FnMut() -> bool,
) -> Outcome {
    let scale = violation_scale(problem);
    sweep_and_step(&mut Dense(problem, Own::identity()), problem.blocks, scale, lambda, with, stop)
}

/// What is done where the sweeps are slow.
enum Slow<'a> {
    /// Go on.
    GoOn,
    /// Leave as soon as the sweeps still allowed cannot reach the tolerance at the present rate.
    Leave,
    /// Take Newton steps.
    Step(&'a mut Polish),
}

/// The sweeps themselves; what to do where they are slow goes with the settings.
fn sweeps(
    compliance: &mut impl Compliance,
    blocks: &[Block],
    scale: f64,
    lambda: &mut [f64],
    (settings, mut slow): (&Settings, Slow<'_>),
    mut stop: impl FnMut() -> bool,
) -> Outcome {
    let mut outcome = Outcome { residual: f64::INFINITY, ..Outcome::default() };
    if blocks.is_empty() || scale == 0.0 {
        lambda.fill(0.0);
        return Outcome { residual: 0.0, converged: true, ..outcome };
    }
    // A block on its own is solved at once; going beyond would only have to come back.
    let mut relaxation = if blocks.len() == 1 { 1.0 } else { settings.relaxation };
    let mut is_sound = scale.is_finite();
    let mut steps = Steps::default();
    while is_sound && outcome.iterations < settings.iterations {
        let before = outcome.residual;
        // The residual of a sweep is the largest correction it made, as a violation.
        let mut largest: f64 = 0.0;
        for (index, block) in blocks.iter().enumerate() {
            let correction = relax(compliance, index, block, lambda, relaxation);
            is_sound &= correction.is_finite();
            largest = largest.max(correction);
        }
        outcome.iterations += 1;
        outcome.residual = largest / scale;
        if outcome.residual <= settings.tolerance {
            outcome.converged = true;
            break;
        }
        if !(outcome.residual < 0.98 * before) {
            relaxation = 1.0 + 0.7 * (relaxation - 1.0);
        }
        let left = settings.iterations - outcome.iterations;
        if matches!(slow, Slow::Leave)
            && outcome.iterations >= TRIAL
            && !is_promising(&outcome, before, left, settings.tolerance)
        {
            break;
        }
        if stop() {
            outcome.timed_out = true;
            break;
        }
        if let (Slow::Step(polish), true) = (&mut slow, is_sound) {
            steps.consider(polish, compliance, blocks, lambda, (&mut outcome, before), settings);
        }
    }
    if !(is_sound && lambda.iter().all(|x| x.is_finite())) {
        lambda.fill(0.0);
        outcome = Outcome { residual: f64::INFINITY, converged: false, ..outcome };
    }
    outcome
}

/// Newton steps of one solve.
#[derive(Default)]
struct Steps {
    taken: u32,
    /// Sweeps since the last one, and the residual before it.
    sweeps: u32,
    residual: f64,
    /// Steps that made things worse: the states of the rows were not yet those of the solution, and sweeps find them.
    taken_back: u32,
    /// The system has no solution in numbers: no more steps.
    ended: bool,
}

impl Steps {
    /// After a sweep: takes back a step that made the residual larger, or takes one when the sweeps are slow.
    fn consider(
        &mut self,
        polish: &mut Polish,
        compliance: &mut impl Compliance,
        blocks: &[Block],
        lambda: &mut [f64],
        (outcome, before): (&mut Outcome, f64),
        settings: &Settings,
    ) {
        self.sweeps += 1;
        if self.taken > 0 && self.sweeps == 1 && outcome.residual > self.residual {
            polish.take_back(compliance, blocks, lambda);
            self.taken_back += 1;
            self.ended |= self.taken_back >= MOST_TAKEN_BACK;
            outcome.residual = self.residual;
            return;
        }
        let least = if self.taken == 0 { BEFORE_STEP } else { BETWEEN_STEPS << self.taken_back };
        if self.ended || self.taken >= MOST_STEPS || self.sweeps < least {
            return;
        }
        let rate = (outcome.residual / before).min(0.999);
        let needed = (settings.tolerance / outcome.residual).ln() / rate.ln();
        // Comparisons with NaN, from a residual without one before it, are false.
        if !(needed > MANY && outcome.iterations + 1 < settings.iterations) {
            return;
        }
        if polish.step(compliance, blocks, lambda) {
            (self.taken, self.sweeps, self.residual) = (self.taken + 1, 0, outcome.residual);
            outcome.iterations += 1;
            outcome.residual = f64::INFINITY;
        } else {
            self.ended = true;
        }
    }
}

/// True when `left` more sweeps, each as good as the last, would reach the tolerance.
fn is_promising(outcome: &Outcome, before: f64, left: u32, tolerance: f64) -> bool {
    let rate = outcome.residual / before;
    rate < 1.0 && outcome.residual * rate.powf(f64::from(left)) <= tolerance
}

/// Largest free violation: what residuals are relative to. Not finite when one of them is not.
#[must_use]
pub fn violation_scale(problem: &Problem<'_>) -> f64 {
    largest(problem.free)
}

/// Largest of the numbers by size; NaN when one of them is.
#[must_use]
pub fn largest(numbers: &[f64]) -> f64 {
    let largest = numbers.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if numbers.iter().any(|x| x.is_nan()) { f64::NAN } else { largest }
}

/// Moves one block towards its exact solution; gives the size of the correction as a violation.
fn relax(compliance: &mut impl Compliance, index: usize, block: &Block, lambda: &mut [f64], relaxation: f64) -> f64 {
    let range = block.range();
    let (mut old, mut delta) = (Vector3::zeros(), Vector3::zeros());
    old.as_mut_slice()[..range.len()].copy_from_slice(&lambda[range.clone()]);
    if block.law.opens() {
        // Most candidates of a scene are apart: those cost one row.
        if old == Vector3::zeros() && compliance.violation(block.first, lambda) >= 0.0 {
            return 0.0;
        }
        delta = Vector3::from(compliance.violations(block.first, lambda));
    } else {
        for (delta, row) in delta.iter_mut().zip(range.clone()) {
            *delta = compliance.violation(row, lambda);
        }
    }
    delta += old * block.law.compliance();
    let own = compliance.own(index, block);
    let step = block.law.solve(own, &(delta - own.matrix * old), &old) - old;
    let correction = own.matrix * step;
    let next = block.law.project(&(old + step * relaxation));
    let rows = block.law.rows();
    lambda[range].copy_from_slice(&next.as_slice()[..rows]);
    compliance.changed(block.first, &(next - old).as_slice()[..rows]);
    // A maximum passes over NaN, a sum does not.
    if correction.sum().is_nan() { f64::NAN } else { correction.amax() }
}

/// A block's own compliance, its violation without its own force, and its force.
fn local(problem: &Problem<'_>, block: &Block, lambda: &[f64]) -> (Matrix3<f64>, Vector3<f64>, Vector3<f64>) {
    let w = Dense(problem, Own::identity()).own(0, block).matrix;
    let (mut delta, mut own) = (Vector3::zeros(), Vector3::zeros());
    for (i, row) in block.range().enumerate() {
        own[i] = lambda[row];
        delta[i] = problem.violation(row, lambda) + block.law.compliance() * own[i];
    }
    (w, delta - w * own, own)
}

/// How far `lambda` is from obeying every law of the problem.
#[must_use]
pub fn residuals(problem: &Problem<'_>, lambda: &[f64]) -> Residuals {
    let scale = match violation_scale(problem) {
        0.0 => f64::MIN_POSITIVE,
        scale => scale,
    };
    let force = lambda.iter().fold(0.0, |most: f64, x| most.max(x.abs())).max(f64::MIN_POSITIVE);
    let mut worst = Residuals::default();
    for block in problem.blocks {
        let (w, b, own) = local(problem, block, lambda);
        let delta = w * own + b;
        if !worst.add(&block.law, &(own / force).into(), &(delta / scale).into()) {
            // Change of the violation by one more solve of the block.
            let exact = block.law.solve(&Own { matrix: w, inverse: w.try_inverse() }, &b, &own);
            worst.complementarity = worst.complementarity.max((w * (exact - own)).amax() / scale);
        }
    }
    worst
}
