//! Baseline: projected Gauss–Seidel, row by row.
//!
//! Thread: any; used by tests and benches for comparison, not by the program.
//!
//! The common method of physics engines: each row is relaxed by its own diagonal, the force of a gap is clamped at zero, the force
//! of the block is then projected onto the admissible set of its law (`‖λ_t‖ ≤ µ λ_n` for a contact). Converges well when rows hardly couple; with many contacts on one body, or heavy
//! bodies on light ones, it crawls (seed 000 IV-B3 reports the same).

use super::Problem;
use super::solver::{Outcome, Settings, violation_scale};
use nalgebra::Vector3;

/// Relaxes in place, starting from the forces in `lambda`. The residual is the largest correction of a sweep, relative to
/// the largest free violation, as in [`super::solver::solve`].
pub fn solve(problem: &Problem<'_>, lambda: &mut [f64], settings: &Settings) -> Outcome {
    let scale = violation_scale(problem);
    let mut outcome = Outcome { residual: f64::INFINITY, ..Outcome::default() };
    while outcome.iterations < settings.iterations && !outcome.converged {
        let mut largest: f64 = 0.0;
        for block in problem.blocks {
            for row in block.range() {
                let diagonal = problem.row(row)[row] + block.law.compliance();
                if diagonal <= 0.0 {
                    continue;
                }
                let before = lambda[row];
                let violation = problem.violation(row, lambda) + block.law.compliance() * before;
                lambda[row] -= violation / diagonal;
                if block.law.is_one_sided(row - block.first) {
                    lambda[row] = lambda[row].max(0.0);
                }
                largest = largest.max((diagonal * (lambda[row] - before)).abs());
            }
            let mut force = Vector3::zeros();
            force.as_mut_slice()[..block.law.rows()].copy_from_slice(&lambda[block.range()]);
            let force = block.law.project(&force);
            lambda[block.range()].copy_from_slice(&force.as_slice()[..block.law.rows()]);
        }
        outcome.iterations += 1;
        outcome.residual = largest / scale;
        outcome.converged = outcome.residual <= settings.tolerance;
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::super::samples::{Kind, sample};
    use super::super::solver::residuals;
    use super::*;
    use crate::math::Random;

    #[test]
    fn a_lone_contact_converges_to_the_exact_law() {
        let mut random = Random::new(3);
        for _ in 0..200 {
            let sample = sample(Kind::OneBody, 1, &mut || random.uniform());
            let mut lambda = vec![0.0; 3];
            solve(&sample.problem(), &mut lambda, &Settings { iterations: 2000, tolerance: 1e-14, relaxation: 1.0 });
            // The tangents are projected together but moved one by one, so that friction ends near the slip direction only.
            assert!(residuals(&sample.problem(), &lambda).complementarity < 1e-6);
        }
    }
}
