//! One contact with Coulomb friction, solved exactly with everything else held still.
//!
//! Thread: any (RT safe: bounded iterations).
//!
//! The law (seed 001 eqs 2, 3, 7; seed 000 eq. 28): `0 ≤ λ_n ⊥ δ_n ≥ 0`, `‖λ_t‖ ≤ µ λ_n`, and the friction that
//! dissipates most, `λ_t = −µ λ_n d` with `d = δ_t/‖δ_t‖` when it slips. As in Hwangbo et al. 2018 there are three cases,
//! opening, stick and slip, and slip is a search along one number. They search the angle of the friction force for
//! least kinetic energy, which leaves friction a little off the direction of slip when `W_nt ≠ 0`; here the search is
//! over the ratio `s = ‖δ_t‖/λ_n`, whose root is the law itself:
//!
//! ```text
//!  normal row    b_n + W_nn λ_n − µ λ_n W_nt·d = 0
//!  tangent rows  b_t + W_tn λ_n − µ λ_n W_tt d = s λ_n d         (divide by λ_n, put 1/λ_n from the normal row)
//!  ⇒  (G + s I) d = c,  ‖d‖ = 1,   G = µ W_tt − (µ/b_n) b_t W_ntᵀ,   c = W_tn − (W_nn/b_n) b_t
//! ```
//!
//! `‖(G + s I)⁻¹ c‖` falls from above one (stick would need more friction than there is) to zero as `s` grows: bisection
//! cannot miss it, and Newton steps on `1/‖d‖` inside the bracket make it quick.

use super::{Conic, Meaning, RowState, Rule, Slip, is_size};
use crate::mechanism::solver::{Own, Residuals};
use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};

/// Parameters of the law.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contact {
    pub(super) friction: f64,
}

impl Rule for Contact {
    fn rows(&self) -> usize {
        3
    }

    fn meaning(&self, row: usize) -> Meaning {
        if row == 0 { Meaning::Gap } else { Meaning::Slip }
    }

    fn is_sound(&self) -> bool {
        is_size(self.friction)
    }

    fn solve(&self, own: &Own, b: &Vector3<f64>, near: &Vector3<f64>) -> Vector3<f64> {
        solve_contact_with(&own.matrix, own.inverse.as_ref(), b, self.friction, near).0
    }

    fn project(&self, force: &Vector3<f64>) -> Vector3<f64> {
        into_cone(force, self.friction)
    }

    fn residuals(&self, force: &[f64; 3], violation: &[f64; 3]) -> Option<Residuals> {
        let (tangent, slip) = (force[1].hypot(force[2]), violation[1].hypot(violation[2]));
        let across = force[0] * violation[0].max(0.0);
        let dissipated = -(force[1] * violation[1] + force[2] * violation[2]);
        Some(Residuals {
            complementarity: 0f64.max(-violation[0]).max(across),
            cone: 0f64.max(tangent - self.friction * force[0]).max(-force[0]),
            dissipation: 0f64.max(self.friction * force[0] * slip - dissipated),
        })
    }

    fn state(&self, _force: &[f64; 3], tau: &[f64; 3], _rho: f64) -> [RowState; 3] {
        surface_state(tau, self.friction, f64::INFINITY)
    }

    /// The map of Alart and Curnier (1991): `λ` less the projection of `τ = λ − δ`.
    fn map(&self, force: &[f64; 3], violation: &[f64; 3]) -> [f64; 3] {
        let tau = [0, 1, 2].map(|k| force[k] - violation[k]);
        let bound = self.friction * tau[0].max(0.0);
        let length = tau[1].hypot(tau[2]);
        let factor = if length > bound { bound / length } else { 1.0 };
        [force[0] - tau[0].max(0.0), force[1] - factor * tau[1], force[2] - factor * tau[2]]
    }

    fn conic(&self) -> Option<Conic> {
        Some(Conic::Cone { friction: self.friction })
    }

    fn opens(&self) -> bool {
        true
    }

    fn carries(&self, force: &[f64]) -> bool {
        force[0] > 0.0
    }
}

/// States of the rows of a contact that bears `most` at most: open, or closed (or broken) with stick or slip.
pub(super) fn surface_state(tau: &[f64; 3], friction: f64, most: f64) -> [RowState; 3] {
    let at = |force: f64| RowState::Fixed { force, slope: [0.0; 3] };
    if tau[0] <= 0.0 {
        return [at(0.0); 3];
    }
    let broken = tau[0] >= most;
    let normal = if broken { at(most) } else { RowState::Held };
    let (bound, length) = (friction * tau[0].min(most), tau[1].hypot(tau[2]));
    if length <= bound && bound > 0.0 {
        return [normal, RowState::Held, RowState::Held];
    }
    let slip = Slip {
        bound,
        slope: if broken { 0.0 } else { friction },
        kappa: if length > 0.0 { bound / length } else { 0.0 },
        direction: if length > 0.0 { [tau[1] / length, tau[2] / length] } else { [0.0; 2] },
    };
    [normal, RowState::Slipping(slip), RowState::Slipping(slip)]
}

/// Projects a force into the friction cone: a negative normal force becomes zero, friction beyond the bound is shortened.
pub(super) fn into_cone(force: &Vector3<f64>, friction: f64) -> Vector3<f64> {
    if force[0] <= 0.0 {
        return Vector3::zeros();
    }
    let square = force[1] * force[1] + force[2] * force[2];
    let bound = friction.max(0.0) * force[0];
    let factor = if square > bound * bound { bound / square.sqrt() } else { 1.0 };
    Vector3::new(force[0], force[1] * factor, force[2] * factor)
}

/// How a contact ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No force.
    Open,
    /// No slip.
    Stick,
    /// Slip, friction at its bound.
    Slip,
}

/// Force of one contact: `w` its own 3×3 compliance (normal first), `b` its violation without its own force.
#[must_use]
pub fn solve_contact(w: &Matrix3<f64>, b: &Vector3<f64>, friction: f64) -> (Vector3<f64>, Mode) {
    solve_contact_with(w, w.try_inverse().as_ref(), b, friction, &Vector3::zeros())
}

/// As [`solve_contact`], with the inverse of `w` at hand, if it has one, and a force `near` the solution: it shortens the
/// search for the direction of slip.
#[must_use]
pub(super) fn solve_contact_with(
    w: &Matrix3<f64>,
    inverse: Option<&Matrix3<f64>>,
    b: &Vector3<f64>,
    friction: f64,
    near: &Vector3<f64>,
) -> (Vector3<f64>, Mode) {
    let (w_nn, b_n) = (w[(0, 0)], b[0]);
    // Opening: the gap stays open without a force. A row without compliance cannot be moved by any force.
    if b_n >= 0.0 || w_nn <= 0.0 {
        return (Vector3::zeros(), Mode::Open);
    }
    let frictionless = Vector3::new(-b_n / w_nn, 0.0, 0.0);
    if friction <= 0.0 {
        return (frictionless, Mode::Slip);
    }
    // Stick: no slip at all, if the cone allows the force that takes.
    if let Some(stick) = inverse.map(|inverse| -(inverse * b))
        && stick[0] > 0.0
        && (stick[1] * stick[1] + stick[2] * stick[2]).sqrt() <= friction * stick[0]
    {
        return (stick, Mode::Stick);
    }
    // A gap closed by next to nothing can overflow the ratios of the slip case; no friction is then the safe side.
    let lambda = slip(w, b, friction, near).filter(|lambda| lambda.iter().all(|x| x.is_finite()));
    (lambda.unwrap_or(frictionless), Mode::Slip)
}

/// The slip case; `None` when no slip direction keeps the contact closed (the paradox of Painlevé).
fn slip(w: &Matrix3<f64>, b: &Vector3<f64>, friction: f64, near: &Vector3<f64>) -> Option<Vector3<f64>> {
    let (w_nn, b_n) = (w[(0, 0)], b[0]);
    let w_tt = w.fixed_view::<2, 2>(1, 1);
    let w_nt = Vector2::new(w[(0, 1)], w[(0, 2)]);
    let w_tn = Vector2::new(w[(1, 0)], w[(2, 0)]);
    let b_t = Vector2::new(b[1], b[2]);
    let g: Matrix2<f64> = w_tt * friction - b_t * w_nt.transpose() * (friction / b_n);
    let c = w_tn - b_t * (w_nn / b_n);
    // Friction opposes slip; without a force to go by, slip goes where it would without friction.
    let along = Vector2::new(-near[1], -near[2]).try_normalize(0.0).or_else(|| c.try_normalize(0.0))?;
    let d = unit_solution(&g, &c, &along)?;
    let effective = w_nn - friction * w_nt.dot(&d);
    if effective <= 1e-12 * w_nn {
        return None;
    }
    let normal = -b_n / effective;
    Some(Vector3::new(normal, -friction * normal * d[0], -friction * normal * d[1]))
}

/// Unit vector `d` with `(G + s I) d = c` for the largest `s ≥ 0` that has one; `along` is a guess of it.
pub(super) fn unit_solution(g: &Matrix2<f64>, c: &Vector2<f64>, along: &Vector2<f64>) -> Option<Vector2<f64>> {
    // (G + s I)⁻¹ v
    let solve = |s: f64, v: &Vector2<f64>| {
        let (a, b, e, f) = (g[(0, 0)] + s, g[(0, 1)], g[(1, 0)], g[(1, 1)] + s);
        let inverse_determinant = 1.0 / (a * f - b * e);
        Vector2::new(f * v[0] - b * v[1], a * v[1] - e * v[0]) * inverse_determinant
    };
    // Bracket: beyond `high` the solution is shorter than one; just above the largest −eigenvalue it is unbounded.
    let mut high = c.norm() + g.norm();
    let half_trace = 0.5 * (g[(0, 0)] + g[(1, 1)]);
    let discriminant = half_trace * half_trace - g.determinant();
    let pole = if discriminant >= 0.0 { discriminant.sqrt() - half_trace } else { -half_trace };
    let mut low = pole.max(0.0);
    if !(high > 0.0 && high.is_finite()) {
        return None;
    }
    // Start from s = d·(c − G d), exact for the right direction. Newton on ψ(s) = 1/‖d‖ − 1, which is nearly straight,
    // kept inside the bracket by bisection.
    let guess = along.dot(&(c - g * along));
    let mut s = if guess > low && guess < high { guess } else { low + 1e-3 * (high - low) };
    for _ in 0..80 {
        let d = solve(s, c);
        let square = d.norm_squared();
        let length = square.sqrt();
        if length > 1.0 {
            low = s
        } else {
            high = s
        }
        // ψ' = d·(G + s I)⁻¹ d / ‖d‖³, so that a step is −ψ/ψ' = ‖d‖² (‖d‖ − 1) / d·(G + s I)⁻¹ d.
        let newton = s + square * (length - 1.0) / d.dot(&solve(s, &d));
        // So near, one more step squares the error away.
        if (length - 1.0).abs() <= 1e-9 && newton.is_finite() {
            return solve(newton, c).try_normalize(0.0);
        }
        if high - low <= f64::EPSILON * high {
            return d.try_normalize(0.0);
        }
        s = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if !s.is_finite() {
            return None;
        }
    }
    solve(s, c).try_normalize(0.0).filter(|d| d.iter().all(|x| x.is_finite()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `(normal complementarity, cone, dissipation)` relative to the sizes met.
    fn residuals(w: &Matrix3<f64>, b: &Vector3<f64>, friction: f64, lambda: &Vector3<f64>) -> (f64, f64, f64) {
        let delta = w * lambda + b;
        let (size_d, size_l) = (b.norm().max(1e-300), lambda.norm().max(1e-300));
        let tangent = lambda[1].hypot(lambda[2]);
        let slip = delta[1].hypot(delta[2]);
        let complementarity = (delta[0].min(0.0).abs()).max((lambda[0] * delta[0]).abs() / size_l) / size_d;
        let cone = (tangent - friction * lambda[0]).max(0.0) / size_l;
        // Largest possible dissipation minus the actual one.
        let dissipation =
            (friction * lambda[0] * slip + lambda[1] * delta[1] + lambda[2] * delta[2]) / (size_d * size_l);
        (complementarity, cone, dissipation.abs())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]
        #[test]
        fn a_single_contact_obeys_its_law_to_round_off(
            l in prop::array::uniform9(-1.0..1.0_f64), b in prop::array::uniform3(-1.0..1.0_f64),
            friction in 0.0..1.2_f64, scale in -6.0..6.0_f64,
        ) {
            let l = Matrix3::from_row_slice(&l);
            let w = (l * l.transpose() + Matrix3::identity() * 0.05) * 10f64.powf(scale);
            let b = Vector3::from(b);
            let (lambda, _) = solve_contact(&w, &b, friction);
            let (complementarity, cone, dissipation) = residuals(&w, &b, friction, &lambda);
            // Outside Painlevé's paradox a slip direction exists and the law holds to round-off.
            let worst_coupling = friction * w[(0, 1)].hypot(w[(0, 2)]);
            prop_assume!(worst_coupling < 0.95 * w[(0, 0)]);
            prop_assert!(complementarity < 1e-11 && cone < 1e-12 && dissipation < 1e-11,
                "{complementarity:e} {cone:e} {dissipation:e}");
        }
    }

    #[test]
    fn a_gap_closed_by_next_to_nothing_gives_a_finite_force() {
        let w = Matrix3::new(2.0, 0.3, -0.4, 0.3, 1.0, 0.1, -0.4, 0.1, 1.5);
        for tiny in [-1e-18, -1e-200, -1e-300, -5e-324] {
            let (lambda, _) = solve_contact(&w, &Vector3::new(tiny, 1.0, -2.0), 0.5);
            assert!(lambda.iter().all(|x| x.is_finite()), "{tiny:e}: {lambda}");
        }
    }

    #[test]
    fn a_block_pushed_below_the_friction_cone_sticks_and_above_it_slips() {
        let w = Matrix3::identity() * 2.0;
        let (lambda, mode) = solve_contact(&w, &Vector3::new(-2.0, 0.8, 0.0), 0.5);
        assert_eq!((lambda, mode), (Vector3::new(1.0, -0.4, 0.0), Mode::Stick));
        let (lambda, mode) = solve_contact(&w, &Vector3::new(-2.0, 3.0, 4.0), 0.5);
        assert_eq!(mode, Mode::Slip);
        assert!((lambda - Vector3::new(1.0, -0.3, -0.4)).norm() < 1e-14);
        assert_eq!(solve_contact(&w, &Vector3::new(0.1, 3.0, 4.0), 0.5).1, Mode::Open);
    }
}
