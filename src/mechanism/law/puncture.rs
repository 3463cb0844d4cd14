//! Puncture: a contact whose surface breaks at a bound of its normal force.
//!
//! Thread: any (RT safe: closed forms, and a bounded search where friction slips).
//!
//! Seed 004 ("constraint-based needle-insertion model") names the law. The block is a contact until its normal force would exceed
//! the bound. At the bound the normal force `F` is known; the unknown is friction under a known bound, `‖λ_t‖ ≤ µ F`:
//! `(µF W_tt + s I) d = b_t + W_tn F`, `‖d‖ = 1`, as in [`super::contact`]. `b` is the violation without the block's own force, `W`
//! its own compliance.

use super::contact::{into_cone, solve_contact_with, surface_state, unit_solution};
use super::{Law, Meaning, RowState, Rule, is_size};
use crate::mechanism::solver::Own;
use nalgebra::{Matrix2, Vector2, Vector3};

/// Parameters of the law.
#[derive(Clone, Copy, Debug)]
pub(super) struct Puncture {
    pub(super) friction: f64,
    pub(super) most_n: f64,
    pub(super) then_n: f64,
}

impl Puncture {
    /// The law with these parameters and a compliance, m/N.
    pub(super) fn law(self, compliance: f64) -> Law {
        Law::Puncture { friction: self.friction, most_n: self.most_n, then_n: self.then_n, compliance }
    }
}

impl Rule for Puncture {
    fn rows(&self) -> usize {
        3
    }

    fn meaning(&self, row: usize) -> Meaning {
        if row == 0 { Meaning::Gap } else { Meaning::Slip }
    }

    fn is_sound(&self) -> bool {
        [self.friction, self.most_n, self.then_n].into_iter().all(is_size) && self.then_n <= self.most_n
    }

    fn solve(&self, own: &Own, b: &Vector3<f64>, near: &Vector3<f64>) -> Vector3<f64> {
        solve_puncture(own, b, self.friction, self.most_n, near)
    }

    fn project(&self, force: &Vector3<f64>) -> Vector3<f64> {
        into_cone(&Vector3::new(force[0].min(self.most_n), force[1], force[2]), self.friction)
    }

    fn state(&self, _force: &[f64; 3], tau: &[f64; 3], _rho: f64) -> [RowState; 3] {
        surface_state(tau, self.friction, self.most_n)
    }

    fn opens(&self) -> bool {
        true
    }

    fn carries(&self, force: &[f64]) -> bool {
        force[0] > 0.0
    }

    fn bound_n(&self) -> Option<f64> {
        Some(self.most_n)
    }

    fn breaks(&self) -> bool {
        true
    }
}

/// Force of a contact that bears no more than `most_n` (rows: normal, two tangents).
fn solve_puncture(own: &Own, b: &Vector3<f64>, friction: f64, most_n: f64, near: &Vector3<f64>) -> Vector3<f64> {
    let (force, _) = solve_contact_with(&own.matrix, own.inverse.as_ref(), b, friction, near);
    if force[0] <= most_n {
        return force;
    }
    let w = &own.matrix;
    let across = Matrix2::new(w[(1, 1)], w[(1, 2)], w[(2, 1)], w[(2, 2)]);
    let b = Vector2::new(b[1] + w[(1, 0)] * most_n, b[2] + w[(2, 0)] * most_n);
    let bound = friction * most_n;
    let stick = across.try_inverse().map(|inverse| -(inverse * b));
    let tangent = match stick {
        Some(stick) if stick.norm() <= bound => stick,
        _ => {
            let along = b.try_normalize(0.0).unwrap_or_else(Vector2::zeros);
            unit_solution(&(across * bound), &b, &along).map_or_else(Vector2::zeros, |d| d * -bound)
        }
    };
    Vector3::new(most_n, tangent[0], tangent[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Matrix3;
    use proptest::prelude::*;

    fn own(l: &[f64; 9]) -> Own {
        let l = Matrix3::from_row_slice(l);
        let matrix = l * l.transpose() + Matrix3::identity() * 0.05;
        Own { matrix, inverse: matrix.try_inverse() }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn a_surface_is_a_contact_until_it_breaks(
            l in prop::array::uniform9(-1.0..1.0_f64), b in prop::array::uniform3(-3.0..3.0_f64),
            most in 0.01..2.0_f64, friction in 0.0..0.8_f64,
        ) {
            let own = own(&l);
            let b = Vector3::from(b);
            let force = solve_puncture(&own, &b, friction, most, &Vector3::zeros());
            let delta = own.matrix * force + b;
            let plain = solve_contact_with(&own.matrix, own.inverse.as_ref(), &b, friction, &Vector3::zeros()).0;
            if plain[0] <= most {
                prop_assert_eq!(force, plain);
            } else {
                prop_assert_eq!(force[0], most);
                let (pull, slip) = (force[1].hypot(force[2]), delta[1].hypot(delta[2]));
                prop_assert!(pull <= friction * most * (1.0 + 1e-9));
                // Friction at its bound opposes the slip; below it nothing slips.
                let lost = friction * most * slip + force[1] * delta[1] + force[2] * delta[2];
                prop_assert!(lost.abs() < 1e-8, "{force} {delta}");
            }
        }
    }
}
