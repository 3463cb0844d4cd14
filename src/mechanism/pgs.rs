//! Projected Gauss–Seidel, row by row: the baseline that engines ship, for comparison only.
//!
//! Thread: any (no heap; bounded by iterations and by the caller's stop condition).
//!
//! The classical method (Jean 1999; Catto 2005): each row in turn is relaxed by its own diagonal, a normal force is
//! clamped at zero, friction to its bound. It converges, but at a rate set by the condition of `W`: heavy bodies on
//! light ones take millions of sweeps.

use super::solver::{Outcome, Settings, residuals};
use super::{Block, Law, Problem};

/// Sweeps between two looks at the residual, which costs as much as a sweep.
const LOOK: u32 = 10;

/// How friction is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Each tangent by `µ λ_n` for itself: a pyramid, stronger along its diagonals than Coulomb's cone.
    Box,
    /// Both together: Coulomb's disc. The tangents share one diagonal, the larger, so that friction ends up opposite to
    /// the slip.
    Disc,
}

/// Solves in place until the worst of [`residuals`] is within the tolerance. `stop` is asked once per sweep.
pub fn solve_pgs(
    problem: &Problem<'_>,
    lambda: &mut [f64],
    settings: &Settings,
    bound: Bound,
    mut stop: impl FnMut() -> bool,
) -> Outcome {
    let mut outcome = Outcome { residual: f64::INFINITY, ..Outcome::default() };
    while outcome.iterations < settings.iterations && !outcome.timed_out {
        for block in problem.blocks {
            relax_rows(problem, block, lambda, settings.relaxation, bound);
        }
        outcome.iterations += 1;
        outcome.timed_out = stop();
        if outcome.iterations.is_multiple_of(LOOK) || outcome.iterations == settings.iterations || outcome.timed_out {
            outcome.residual = residuals(problem, lambda).worst();
            outcome.converged = outcome.residual <= settings.tolerance;
            if outcome.converged {
                break;
            }
        }
    }
    outcome
}

fn relax_rows(problem: &Problem<'_>, block: &Block, lambda: &mut [f64], relaxation: f64, bound: Bound) {
    let compliance = block.law.compliance();
    let diagonal = |i: usize| problem.row(i)[i] + compliance;
    let moved = |i: usize, lambda: &[f64], diagonal: f64| {
        let violation = problem.violation(i, lambda) + compliance * lambda[i];
        if diagonal > 0.0 { lambda[i] - relaxation * violation / diagonal } else { 0.0 }
    };
    let Law::Contact { friction, .. } = block.law else {
        for i in block.range() {
            lambda[i] = moved(i, lambda, diagonal(i));
        }
        return;
    };
    let i = block.first;
    lambda[i] = moved(i, lambda, diagonal(i)).max(0.0);
    let most = friction * lambda[i];
    match bound {
        Bound::Box => {
            for t in i + 1..i + 3 {
                lambda[t] = moved(t, lambda, diagonal(t)).clamp(-most, most);
            }
        }
        Bound::Disc => {
            let shared = diagonal(i + 1).max(diagonal(i + 2));
            let tangent = [moved(i + 1, lambda, shared), moved(i + 2, lambda, shared)];
            let length = tangent[0].hypot(tangent[1]);
            let factor = if length > most { most / length } else { 1.0 };
            lambda[i + 1] = factor * tangent[0];
            lambda[i + 2] = factor * tangent[1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_one_contact_the_disc_gives_coulombs_law_and_the_box_exceeds_it() {
        // Uncoupled rows, slipping along the diagonal: λ_n = 1, friction 0.5.
        let blocks = [Block { id: 0, first: 0, law: Law::Contact { friction: 0.5, compliance: 0.0 } }];
        let compliance = [2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0];
        let problem = Problem { blocks: &blocks, compliance: &compliance, stride: 3, free: &[-2.0, 4.0, 4.0] };
        let settings = Settings { iterations: 100, tolerance: 1e-12, relaxation: 1.0 };
        let mut lambda = [0.0; 3];
        assert!(solve_pgs(&problem, &mut lambda, &settings, Bound::Disc, || false).converged);
        let along = -0.5 * 0.5_f64.sqrt();
        assert!((lambda[0] - 1.0).abs() < 1e-12 && (lambda[1] - along).abs() < 1e-12, "{lambda:?}");
        let outcome = solve_pgs(&problem, &mut lambda, &settings, Bound::Box, || false);
        assert!(!outcome.converged, "the pyramid's corner lies outside the cone");
        assert_eq!(lambda, [1.0, -0.5, -0.5]);
    }
}
