//! Laws whose force follows a curve, with contacts and joints: the curve is replaced by its tangent, and the tangent by a better one.
//!
//! Thread: simulation (no heap once its memory has grown; bounded rounds).
//!
//! A tangent `δ + c λ = const` is a joint that gives way, which every method of [`super`] handles together with friction. The point of
//! contact is that of `λ − δ/w = const`, with the row's own compliance `w`: it exists for any force and any violation, and moves less than
//! they do. A curve that falls and bends one way, as that of a gas, then needs three to eight rounds from any start.

use super::{Workspace, solve_robustly};
use crate::mechanism::law::Law;
use crate::mechanism::solver::{Outcome, Settings, residuals, solve_while_promising, violation_scale};
use crate::mechanism::{Block, Problem};
use nalgebra::Vector3;

/// Most rounds.
const ROUNDS: u32 = 40;
/// Largest compliance of a tangent, relative to the row's own: a force that does not depend on the violation. Larger loses digits.
const LOOSEST: f64 = 1e5;
/// Part of the tolerance to which the problem with tangents is solved.
const WITHIN: f64 = 0.1;
/// Rounds without progress after which the search ends.
const PATIENCE: u32 = 12;

/// The problem with tangents.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    blocks: Vec<Block>,
    free: Vec<f64>,
    best: Vec<f64>,
}

/// True when a problem has curved laws, and all others are over cones.
pub(super) fn apply_to(problem: &Problem<'_>) -> bool {
    let curved = problem.blocks.iter().any(|block| block.law.is_curved());
    curved && problem.blocks.iter().all(|block| block.law.is_curved() || block.law.conic().is_some())
}

/// Solves in place, as [`solve_robustly`].
pub(super) fn solve(
    problem: &Problem<'_>,
    lambda: &mut [f64],
    settings: &Settings,
    work: &mut Workspace,
    stop: &mut dyn FnMut() -> bool,
) -> Outcome {
    let sweep = Settings { tolerance: WITHIN * settings.tolerance, ..*settings };
    let mut outcome = solve_while_promising(problem, lambda, &sweep, &mut *stop);
    let mut least = residuals(problem, lambda).worst();
    let mut memory = std::mem::take(&mut work.tangents);
    memory.best.clear();
    memory.best.extend_from_slice(lambda);
    let (mut idle, mut timed_out) = (0, outcome.timed_out);
    for _ in 0..ROUNDS {
        if !least.is_finite() || least <= settings.tolerance || idle > PATIENCE || timed_out {
            break;
        }
        memory.linearise(problem, lambda);
        let flat = Problem { blocks: &memory.blocks, free: &memory.free, ..*problem };
        let scale = violation_scale(problem) / violation_scale(&flat);
        let tight = Settings { tolerance: WITHIN * settings.tolerance * scale.clamp(1e-3, 1.0), ..*settings };
        let round = solve_robustly(&flat, lambda, &tight, work, &mut *stop);
        outcome.iterations += round.iterations;
        timed_out |= round.timed_out;
        let residual = residuals(problem, lambda).worst();
        idle = if residual < least { 0 } else { idle + 1 };
        if residual < least {
            least = residual;
            memory.best.copy_from_slice(lambda);
        }
    }
    lambda.copy_from_slice(&memory.best);
    work.tangents = memory;
    // A tangent misses a bound by the tolerance.
    for block in problem.blocks.iter().filter(|block| block.law.is_curved()) {
        let force = block.law.project(&Vector3::new(lambda[block.first], 0.0, 0.0));
        lambda[block.first] = force.x;
    }
    least = residuals(problem, lambda).worst();
    Outcome { residual: least, converged: least <= settings.tolerance, timed_out, ..outcome }
}

impl Memory {
    /// Replaces each curved law by its tangent near `lambda`.
    fn linearise(&mut self, problem: &Problem<'_>, lambda: &[f64]) {
        self.blocks.clear();
        self.blocks.extend_from_slice(problem.blocks);
        self.free.clear();
        self.free.extend_from_slice(problem.free);
        for block in &mut self.blocks {
            let row = block.first;
            let (force, give) = (lambda[row], block.law.compliance());
            let own = (problem.row(row)[row] + give).max(f64::MIN_POSITIVE);
            let violation = problem.violation(row, lambda) + give * force;
            let Some(tangent) = block.law.tangent(force, violation, own) else { continue };
            let loosest = LOOSEST * own;
            let is_flat = tangent.compliance >= loosest;
            let compliance = if is_flat { loosest } else { tangent.compliance };
            // So loose a tangent holds the force that it has where the violation is now.
            let at = if is_flat { violation } else { tangent.violation };
            self.free[row] -= at + compliance * tangent.force;
            block.law = Law::Bilateral { rows: 1, compliance: give + compliance };
        }
    }
}
