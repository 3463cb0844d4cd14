//! Block Gauss–Seidel with over-relaxation: each law solves its own small block exactly, in turn, until all agree.
//!
//! Thread: any (RT safe: no heap; bounded by iterations and by the caller's stop condition).
//!
//! Seed 001 Algorithm 1: `λ ← (1 − α) λ + α λ*`. Over-relaxation (α > 1) speeds up chains of contacts; where it makes
//! things worse the factor falls back towards one.

use super::contact::solve_contact;
use super::{Block, Law, Problem};
use nalgebra::{Matrix3, Vector3};

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
    /// Largest residual of any block (see [`residual`]), relative to the problem's own size.
    pub residual: f64,
    /// The tolerance was met.
    pub converged: bool,
    /// The caller's stop condition ended it.
    pub timed_out: bool,
}

/// How far the forces are from obeying their laws. Every figure is relative: violations to the largest free
/// violation, forces to the largest force.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Residuals {
    /// Overlap left, force across an open gap, or violation of a joint.
    pub complementarity: f64,
    /// Friction beyond the cone, or a pulling contact.
    pub cone: f64,
    /// Dissipation short of the most there could be.
    pub dissipation: f64,
}

impl Residuals {
    /// The largest of the three.
    #[must_use]
    pub fn worst(&self) -> f64 {
        self.complementarity.max(self.cone).max(self.dissipation)
    }
}

/// Solves in place, starting from the forces in `lambda`. `stop` is asked once per sweep.
pub fn solve(
    problem: &Problem<'_>,
    lambda: &mut [f64],
    settings: &Settings,
    mut stop: impl FnMut() -> bool,
) -> Outcome {
    let scale = violation_scale(problem);
    let mut outcome = Outcome { residual: f64::INFINITY, ..Outcome::default() };
    if problem.blocks.is_empty() || scale == 0.0 {
        lambda.fill(0.0);
        return Outcome { residual: 0.0, converged: true, ..outcome };
    }
    let mut relaxation = settings.relaxation;
    while outcome.iterations < settings.iterations {
        let before = outcome.residual;
        // The residual of a sweep is the largest correction it made, as a violation.
        let mut largest: f64 = 0.0;
        for block in problem.blocks {
            largest = largest.max(relax(problem, block, lambda, relaxation));
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
        if stop() {
            outcome.timed_out = true;
            break;
        }
    }
    outcome
}

/// Largest free violation: what residuals are relative to.
#[must_use]
pub fn violation_scale(problem: &Problem<'_>) -> f64 {
    problem.free.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
}

/// Moves one block towards its exact solution; gives the size of the correction as a violation.
fn relax(problem: &Problem<'_>, block: &Block, lambda: &mut [f64], relaxation: f64) -> f64 {
    let (w, b, old) = local(problem, block, lambda);
    let new = solve_block(&block.law, &w, &b);
    let step = new - old;
    let mut next = old + step * relaxation;
    if let Law::Contact { friction, .. } = block.law {
        next = into_cone(&next, friction);
    }
    let rows = block.law.rows();
    lambda[block.first..block.first + rows].copy_from_slice(&next.as_slice()[..rows]);
    (w * step).amax()
}

/// A block's own compliance (its law's compliance included), its violation without its own force, and its force; blocks
/// with fewer than three rows are filled up with rows that hold themselves at zero.
fn local(problem: &Problem<'_>, block: &Block, lambda: &[f64]) -> (Matrix3<f64>, Vector3<f64>, Vector3<f64>) {
    let rows = block.law.rows();
    let mut w = Matrix3::identity();
    let mut delta = Vector3::zeros();
    let mut own = Vector3::zeros();
    let (Law::Contact { compliance, .. } | Law::Bilateral { compliance, .. }) = block.law;
    for i in 0..rows {
        let row = problem.row(block.first + i);
        delta[i] = problem.free[block.first + i] + super::problem::dot(row, lambda);
        own[i] = lambda[block.first + i];
        for j in 0..rows {
            w[(i, j)] = row[block.first + j];
        }
        w[(i, i)] += compliance;
        delta[i] += compliance * own[i];
    }
    (w, delta - w * own, own)
}

/// The force of a block that satisfies its law with the rest held still.
fn solve_block(law: &Law, w: &Matrix3<f64>, b: &Vector3<f64>) -> Vector3<f64> {
    match *law {
        Law::Contact { friction, .. } => solve_contact(w, b, friction).0,
        Law::Bilateral { .. } => w.try_inverse().map_or_else(Vector3::zeros, |inverse| -(inverse * b)),
    }
}

/// Pulls an over-relaxed force back into the friction cone: a negative normal force becomes none, friction beyond the
/// bound is shortened.
fn into_cone(force: &Vector3<f64>, friction: f64) -> Vector3<f64> {
    if force[0] <= 0.0 {
        return Vector3::zeros();
    }
    let tangent = force[1].hypot(force[2]);
    let bound = friction * force[0];
    let factor = if tangent > bound { bound / tangent } else { 1.0 };
    Vector3::new(force[0], force[1] * factor, force[2] * factor)
}

/// How far `lambda` is from obeying every law of the problem.
#[must_use]
pub fn residuals(problem: &Problem<'_>, lambda: &[f64]) -> Residuals {
    if !lambda.iter().all(|x| x.is_finite()) {
        return Residuals { complementarity: f64::INFINITY, cone: f64::INFINITY, dissipation: f64::INFINITY };
    }
    let scale = violation_scale(problem).max(f64::MIN_POSITIVE);
    let force = lambda.iter().fold(0.0, |most: f64, x| most.max(x.abs())).max(f64::MIN_POSITIVE);
    let mut worst = Residuals::default();
    for block in problem.blocks {
        let (w, b, own) = local(problem, block, lambda);
        let delta = w * own + b;
        match block.law {
            Law::Bilateral { rows, .. } => {
                let violation = delta.rows(0, usize::from(rows)).amax() / scale;
                worst.complementarity = worst.complementarity.max(violation);
            }
            Law::Contact { friction, .. } => {
                let (tangent, slip) = (own[1].hypot(own[2]), delta[1].hypot(delta[2]));
                let overlap = (-delta[0]).max(0.0) / scale;
                let across = (own[0] / force) * (delta[0].max(0.0) / scale);
                let beyond = (tangent - friction * own[0]).max(-own[0]).max(0.0) / force;
                let dissipated = -(own[1] * delta[1] + own[2] * delta[2]);
                let short = (friction * own[0] * slip - dissipated).max(0.0) / (scale * force);
                worst.complementarity = worst.complementarity.max(overlap).max(across);
                worst.cone = worst.cone.max(beyond);
                worst.dissipation = worst.dissipation.max(short);
            }
        }
    }
    worst
}
