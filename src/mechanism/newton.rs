//! Every problem to round-off: Gauss–Seidel first, then semi-smooth Newton, then an interior-point path.
//!
//! Thread: simulation, or haptic where the rows are few (no heap once its memory has grown; bounded; asks the caller's
//! stop condition before every sweep and every factorisation).
//!
//! Newton's method works on the root of the map of Alart and Curnier (1991), contact by contact, with `τ = λ − δ`:
//!
//! ```text
//!  F_n = λ_n − max(0, τ_n)            F_t = λ_t − (τ_t shortened to µ max(0, τ_n))
//! ```
//!
//! after scaling each block by the square root of its own compliance, which takes mass ratios out of the problem and
//! leaves the cones as they are. The derivative is the block's own matrix for a closed row, the identity for an open one.
//! A small multiple of the identity (a proximal term) keeps it regular when more contacts hold a body than it has
//! degrees of freedom; it changes the steps, not the root. Many contacts on a deformable body need a larger one (`proximal`).

mod proximal;
mod tangents;

use super::active::Active;
use super::dense::{back_substitute, factor};
use super::interior::{Path, Scaled};
use super::solver::{Outcome, Residuals, Settings, residuals, solve, solve_while_promising, violation_scale};
use super::trail::Trail;
use super::{Block, Problem, RowState, Slip};

/// Proximal term relative to the scaled compliance, whose diagonal is about one. Smaller loses digits to redundant
/// contacts, larger slows the last digits down.
const PROXIMAL: f64 = 1e-9;
/// Newton steps without progress that are put up with: the way across a kink leads uphill.
const PATIENCE: u32 = 4;
/// Most Newton steps in a row.
const STEPS: u32 = 20;
/// How far out the interior-point paths begin, and how much their joints give way, one attempt after the other.
const ATTEMPTS: [(f64, f64); 5] = [(1.0, 1e-8), (1.0, 1e-11), (0.01, 1e-9), (10.0, 1e-10), (0.1, 1e-12)];
/// Ends of the stretches of a fold-proof path after which the quick one is tried again.
const STRETCHES: [f64; 6] = [1e-2, 1e-5, 1e-8, 1e-11, 1e-14, 1e-17];
/// How much of a sticking contact's distance from the end of the path its slip is rounded by, on the fold-proof path.
const SMOOTHING: f64 = 0.01;
/// How much closer than the tolerance the interior-point path is asked to come: it counts `x·z`, which also holds what
/// is lacking in dissipation.
const MARGIN: f64 = 0.3;

/// Multiple of the tolerance up to which sweeps go on beyond their rate, sweeps between two checks of the residual, and rows for each
/// sweep granted: a Newton step of `n` rows costs about `n/30` sweeps, and a handful of steps are needed.
const CRAWL_FROM: f64 = 10.0;
const CRAWL_SWEEPS: u32 = 5;
const CRAWL_ROWS: usize = 40;

/// Units of round-off in a violation, beside the sum of the sizes of its terms.
const ROUND_OFF: f64 = f64::EPSILON;
/// Round-off is an excuse up to this multiple of the tolerance; beyond, other forces with the same motion are looked for.
const ROUND_OFF_MARGIN: f64 = 3.0;

/// Memory for problems of any size; grows with the largest it has met.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// The blocks with their laws' own compliance moved into the matrix.
    blocks: Vec<Block>,
    scale: Vec<f64>,
    compliance: Vec<f64>,
    free: Vec<f64>,
    /// Largest free violation, unscaled.
    violation: f64,
    lambda: Vec<f64>,
    best: Vec<f64>,
    delta: Vec<f64>,
    map: Vec<f64>,
    jacobian: Vec<f64>,
    pivots: Vec<usize>,
    path: Path,
    trail: Trail,
    active: Active,
    reduced: proximal::Reduced,
    tangents: tangents::Memory,
}

impl Workspace {
    /// Makes room; allocates only when the problem is larger than any before it.
    fn reserve(&mut self, rows: usize) {
        for vector in
            [&mut self.scale, &mut self.free, &mut self.lambda, &mut self.best, &mut self.delta, &mut self.map]
        {
            vector.resize(rows, 0.0);
        }
        self.compliance.resize(rows * rows, 0.0);
        self.jacobian.resize(rows * rows, 0.0);
    }
}

/// Solves in place to the tolerance, starting from the forces in `lambda`. The residual in the outcome is the worst of
/// [`residuals`]; `settings.iterations` bounds the sweeps, what comes after them has bounds of its own. Problems with the laws
/// of a needle are finished by Newton's method alone. Forces that are not finite (from a problem that is not) come back as zero, with an infinite residual.
pub fn solve_robustly(
    problem: &Problem<'_>,
    lambda: &mut [f64],
    settings: &Settings,
    work: &mut Workspace,
    mut stop: impl FnMut() -> bool,
) -> Outcome {
    if tangents::apply_to(problem) {
        return tangents::solve(problem, lambda, settings, work, &mut stop);
    }
    let sweep = Settings { tolerance: 0.1 * settings.tolerance, ..*settings };
    // Newton and the path below need laws over cones; problems with any other law are finished by `Active`, which handles all laws.
    if !problem.blocks.iter().all(|block| block.law.conic().is_some()) {
        let mut outcome = solve_while_promising(problem, lambda, &sweep, &mut stop);
        let (steps, residual) = work.active.finish(problem, lambda, settings.tolerance);
        (outcome.iterations, outcome.residual) = (outcome.iterations + steps, residual);
        outcome.converged = residual <= settings.tolerance;
        return outcome;
    }
    let mut outcome = solve_while_promising(problem, lambda, &sweep, &mut stop);
    outcome.residual = residuals(problem, lambda).worst();
    crawl(problem, lambda, settings, &mut outcome, &mut stop);
    if !outcome.residual.is_finite() {
        return Outcome { converged: false, ..outcome };
    }
    outcome.converged = outcome.residual <= settings.tolerance;
    if !(outcome.converged || outcome.timed_out) {
        work.load(problem, lambda);
        let mut asked = || {
            let answer = stop();
            outcome.timed_out |= answer;
            answer
        };
        let (count, residual) = work.finish(outcome.residual, settings.tolerance, &mut asked);
        outcome.iterations += count;
        outcome.converged = residual <= work.enough(settings.tolerance);
        if residual < outcome.residual {
            for ((out, x), scale) in lambda.iter_mut().zip(&work.best).zip(&work.scale) {
                *out = x / scale;
            }
            outcome.residual = residuals(problem, lambda).worst();
        }
    }
    outcome
}

/// More sweeps where the forces are close to the tolerance: from a warm start the last digit often takes a few dozen. At most about as many as
/// the Newton steps cost that would take their place.
fn crawl(
    problem: &Problem<'_>,
    lambda: &mut [f64],
    settings: &Settings,
    outcome: &mut Outcome,
    stop: &mut dyn FnMut() -> bool,
) {
    let most = settings.iterations.min(outcome.iterations + (problem.rows() / CRAWL_ROWS) as u32);
    let few = Settings { iterations: CRAWL_SWEEPS, tolerance: 0.0, ..*settings };
    while outcome.residual > settings.tolerance
        && outcome.residual <= CRAWL_FROM * settings.tolerance
        && outcome.iterations + CRAWL_SWEEPS <= most
        && !outcome.timed_out
    {
        let more = solve(problem, lambda, &few, &mut *stop);
        outcome.iterations += more.iterations;
        outcome.timed_out |= more.timed_out;
        outcome.residual = residuals(problem, lambda).worst();
    }
}

impl Workspace {
    /// Takes the problem in, each block scaled by the square root of its mean compliance.
    fn load(&mut self, problem: &Problem<'_>, lambda: &[f64]) {
        let rows = problem.rows();
        self.reserve(rows);
        self.blocks.clear();
        self.blocks.extend(problem.blocks.iter().map(strict));
        for block in problem.blocks {
            let own = block.range().map(|i| problem.row(i)[i]).sum::<f64>();
            let mean = own / block.law.rows() as f64 + block.law.compliance();
            self.scale[block.range()].fill(power_of_two_near_root(mean));
        }
        // Powers of two: their reciprocals, and products with them, are exact.
        self.delta.iter_mut().zip(&self.scale).for_each(|(inverse, scale)| *inverse = 1.0 / scale);
        for i in 0..rows {
            let own = self.delta[i];
            let line = self.compliance[i * rows..][..rows].iter_mut().zip(problem.row(i)).zip(&self.delta);
            line.for_each(|((out, w), inverse)| *out = w * own * inverse);
            self.free[i] = problem.free[i] / self.scale[i];
            self.lambda[i] = lambda[i] * self.scale[i];
        }
        for block in problem.blocks {
            for i in block.range() {
                self.compliance[i * rows + i] += block.law.compliance() / (self.scale[i] * self.scale[i]);
            }
        }
        self.best.copy_from_slice(&self.lambda);
        self.violation = violation_scale(problem).max(f64::MIN_POSITIVE);
    }

    /// Everything after Gauss–Seidel; leaves the best forces in `best`. Gives the steps taken and the residual.
    fn finish(&mut self, residual: f64, tolerance: f64, stop: &mut dyn FnMut() -> bool) -> (u32, f64) {
        let (mut count, mut least) = (0, residual);
        // A path in a low rank costs less than the first Newton steps in all rows.
        let mut most_rank = self.lambda.len() / 3;
        let mut goes_on = true;
        if self.lambda.len() >= proximal::LEAST_ROWS {
            most_rank = proximal::LOW_RANK;
            if self.has_high_rank() {
                most_rank = 0;
                (count, goes_on) = self.proximal(tolerance, &mut least, stop);
                if least <= self.enough(tolerance) {
                    return (count, least);
                }
            }
        }
        let mut path = std::mem::take(&mut self.path);
        let mut trail = std::mem::take(&mut self.trail);
        if !path.load(&self.scaled(), most_rank) {
            // A law without a conic form has no path; `solve_robustly` does not come here with one.
            self.path = path;
            self.trail = trail;
            count += self.newton(tolerance, &mut least, stop);
            return (count, least);
        }
        if !path.is_condensed() && goes_on {
            count += self.newton(tolerance, &mut least, stop);
        }
        for (boldness, give) in ATTEMPTS {
            if least <= self.enough(tolerance) || stop() {
                break;
            }
            path.start(boldness, give, 0.0);
            count += path.walk(MARGIN * tolerance, stop).0;
            count += self.polish(&path, tolerance, &mut least, stop);
            if least <= self.enough(tolerance) || stop() {
                break;
            }
            path.start(boldness, give, SMOOTHING);
            trail.begin(&mut path);
            for goal in STRETCHES {
                count += trail.follow(&mut path, goal, stop);
                trail.save(&path);
                count += path.walk(MARGIN * tolerance, stop).0;
                count += self.polish(&path, tolerance, &mut least, stop);
                if least <= self.enough(tolerance) || trail.t > goal {
                    break;
                }
                trail.restore(&mut path);
            }
        }
        self.path = path;
        self.trail = trail;
        (count, least)
    }

    /// The residual to be content with at the best forces: the tolerance, or what round-off leaves where that is a little
    /// more, since the sum behind a violation is only known to the last place of its largest terms.
    fn enough(&self, tolerance: f64) -> f64 {
        let rows = self.best.len();
        let mut largest: f64 = 0.0;
        for i in 0..rows {
            let row = self.compliance[i * rows..][..rows].iter().zip(&self.best);
            let sum: f64 = row.map(|(w, x)| (w * x).abs()).sum();
            largest = largest.max(sum * self.scale[i]);
        }
        (ROUND_OFF * largest / self.violation).clamp(tolerance, ROUND_OFF_MARGIN * tolerance)
    }

    fn scaled(&self) -> Scaled<'_> {
        Scaled { blocks: &self.blocks, compliance: &self.compliance, free: &self.free, scale: &self.scale }
    }

    /// Takes the forces of the path's end, and Newton steps from there if they are needed.
    fn polish(&mut self, path: &Path, tolerance: f64, least: &mut f64, stop: &mut dyn FnMut() -> bool) -> u32 {
        path.store(&mut self.lambda);
        self.newton(tolerance, least, stop)
    }

    /// Newton's method with full steps from the forces in `lambda`, until the residual is within the tolerance or
    /// [`PATIENCE`] steps brought no progress. Whatever beats `least` goes to `best`. Gives the number of steps.
    fn newton(&mut self, tolerance: f64, least: &mut f64, stop: &mut dyn FnMut() -> bool) -> u32 {
        let (mut merit, mut impatience) = (f64::INFINITY, 0);
        for count in 0..STEPS {
            let square = self.evaluate();
            let residual = self.residual();
            if residual <= *least {
                *least = residual;
                self.best.copy_from_slice(&self.lambda);
            }
            impatience = if square < merit { 0 } else { impatience + 1 };
            merit = merit.min(square);
            if *least <= tolerance || impatience > PATIENCE || !square.is_finite() || stop() {
                return count;
            }
            self.linearise();
            if !factor(&mut self.jacobian, self.map.len(), &mut self.pivots) {
                return count;
            }
            back_substitute(&self.jacobian, &self.pivots, &mut self.map);
            for (x, step) in self.lambda.iter_mut().zip(&self.map) {
                *x -= step;
            }
        }
        STEPS
    }

    /// The worst residual at `lambda` and `delta`, of the problem as it was stated.
    fn residual(&self) -> f64 {
        let force =
            self.lambda.iter().zip(&self.scale).fold(f64::MIN_POSITIVE, |m: f64, (x, scale)| m.max((x / scale).abs()));
        let mut worst = Residuals::default();
        for block in &self.blocks {
            let scale = self.scale[block.first];
            let (mut own, mut delta) = ([0.0; 3], [0.0; 3]);
            for (k, i) in block.range().enumerate() {
                own[k] = self.lambda[i] / (scale * force);
                delta[k] = self.delta[i] * scale / self.violation;
            }
            worst.add(&block.law, &own, &delta);
        }
        worst.worst()
    }

    /// Fills `delta` and `map` at `lambda`; gives ‖F‖².
    fn evaluate(&mut self) -> f64 {
        let rows = self.lambda.len();
        for i in 0..rows {
            self.delta[i] = self.free[i] + super::problem::dot(&self.compliance[i * rows..][..rows], &self.lambda);
        }
        for block in &self.blocks {
            let (mut force, mut violation) = ([0.0; 3], [0.0; 3]);
            force[..block.law.rows()].copy_from_slice(&self.lambda[block.range()]);
            violation[..block.law.rows()].copy_from_slice(&self.delta[block.range()]);
            let map = block.law.map(&force, &violation);
            self.map[block.range()].copy_from_slice(&map[..block.law.rows()]);
        }
        self.map.iter().map(|x| x * x).sum()
    }

    /// Fills `jacobian` with a generalised derivative of the map.
    fn linearise(&mut self) {
        let rows = self.lambda.len();
        for index in 0..self.blocks.len() {
            let block = self.blocks[index];
            let (mut force, mut tau) = ([0.0; 3], [0.0; 3]);
            for (k, i) in block.range().enumerate() {
                force[k] = self.lambda[i];
                tau[k] = self.lambda[i] - self.delta[i];
            }
            for (i, state) in block.range().zip(block.law.state(&force, &tau, 1.0)) {
                match state {
                    RowState::Held => self.closed_row(i),
                    RowState::Fixed { slope, .. } => {
                        self.jacobian[i * rows..][..rows].fill(0.0);
                        self.jacobian[i * rows + i] = 1.0;
                        for (j, slope) in block.range().zip(slope) {
                            self.jacobian[i * rows + j] -= slope;
                        }
                    }
                    RowState::Slipping(slip) => self.slipping_row(block.first, i, &slip),
                    RowState::Curved { slope, .. } => {
                        self.closed_row(i);
                        self.jacobian[i * rows..][..rows].iter_mut().for_each(|x| *x *= slope);
                        self.jacobian[i * rows + i] += 1.0 - slope;
                    }
                }
            }
        }
    }

    /// Tangent row `at` of the contact whose first row is `i`. `F_t = λ_t − µ τ_n d`:
    /// `dF_t = (I − κP) dλ_t + κ P W_t dλ − µ d (dλ_n − W_n dλ)`, `κ = bound/‖τ_t‖`, `P = I − ddᵀ`.
    fn slipping_row(&mut self, i: usize, at: usize, slip: &Slip) {
        let rows = self.lambda.len();
        let (a, kappa, d) = (at - i - 1, slip.kappa, slip.direction);
        let p = slip.projector()[a];
        for j in 0..rows {
            let w = |r: usize| self.compliance[(i + r) * rows + j];
            self.jacobian[at * rows + j] = kappa * (p[0] * w(1) + p[1] * w(2)) + slip.slope * d[a] * w(0);
        }
        self.jacobian[at * rows + i] -= slip.slope * d[a];
        for b in 0..2 {
            let own = if a == b { 1.0 } else { 0.0 };
            self.jacobian[at * rows + i + 1 + b] += own - kappa * p[b];
        }
    }

    /// Row `r` of a law that holds its violation at zero.
    fn closed_row(&mut self, r: usize) {
        let rows = self.lambda.len();
        self.jacobian[r * rows..][..rows].copy_from_slice(&self.compliance[r * rows..][..rows]);
        self.jacobian[r * rows + r] += PROXIMAL;
    }
}

/// A power of two within a factor of two of `√x`, so that scaling by it does not round; one when `x` is not positive.
fn power_of_two_near_root(x: f64) -> f64 {
    if !(x > 0.0 && x.is_finite()) {
        return 1.0;
    }
    // The exponent is kept 1023 too large in eleven bits.
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    2f64.powi(exponent.div_euclid(2))
}

/// The block with a law that does not give way.
fn strict(block: &Block) -> Block {
    Block { law: block.law.giving(0.0), ..*block }
}
