//! Channel: a needle in the channel that its tip has cut.
//!
//! Thread: any (RT safe: closed forms).
//!
//! Seed 004 ("constraint-based needle-insertion model": cutting, friction along the shaft). The two rows across are eliminated first:
//! `λ_t = g + h λ_a`. One row with bounds remains along the shaft; where pressing across adds to the bounds,
//! `(λ_a − f)² = µ² ‖g + h λ_a‖²` is a quadratic equation. `b` is the violation without the block's own force, `W` its own compliance.

use super::{Law, Meaning, RowState, Rule, is_size};
use crate::mechanism::solver::Own;
use nalgebra::{Matrix2, Vector2, Vector3};

/// Parameters of the law.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channel {
    pub(super) least_n: f64,
    pub(super) most_n: f64,
    pub(super) then_n: f64,
    pub(super) friction: f64,
    pub(super) slides: bool,
}

impl Channel {
    /// The law with these parameters and a compliance, m/N.
    pub(super) fn law(self, compliance: f64) -> Law {
        let Self { least_n, most_n, then_n, friction, slides } = self;
        Law::Channel { least_n, most_n, then_n, friction, slides, compliance }
    }
}

impl Rule for Channel {
    fn rows(&self) -> usize {
        3
    }

    fn meaning(&self, row: usize) -> Meaning {
        match (row, self.slides) {
            (0, true) => Meaning::Slip,
            // A force that only pushes: the distance to the end of the channel.
            (0, false) if self.least_n >= 0.0 => Meaning::Gap,
            _ => Meaning::Place,
        }
    }

    fn is_sound(&self) -> bool {
        [-self.least_n, self.most_n, self.then_n, self.friction].into_iter().all(is_size) && self.then_n <= self.most_n
    }

    fn solve(&self, own: &Own, b: &Vector3<f64>, _near: &Vector3<f64>) -> Vector3<f64> {
        solve_channel(own, b, (self.least_n, self.most_n), self.friction)
    }

    fn project(&self, force: &Vector3<f64>) -> Vector3<f64> {
        into_channel(force, (self.least_n, self.most_n), self.friction)
    }

    fn state(&self, force: &[f64; 3], tau: &[f64; 3], _rho: f64) -> [RowState; 3] {
        let across = force[1].hypot(force[2]);
        let (low, high) = (self.least_n - self.friction * across, self.most_n + self.friction * across);
        if tau[0] > low && tau[0] < high {
            return [RowState::Held; 3];
        }
        let side = if tau[0] >= high { 1.0 } else { -1.0 };
        let slope = |k: usize| if across > 0.0 { side * self.friction * force[k] / across } else { 0.0 };
        let along = RowState::Fixed { force: if side > 0.0 { high } else { low }, slope: [0.0, slope(1), slope(2)] };
        [along, RowState::Held, RowState::Held]
    }

    fn bound_n(&self) -> Option<f64> {
        Some(self.most_n)
    }

    fn breaks(&self) -> bool {
        !self.slides
    }
}

/// Force of a needle in its channel (rows: along, two across), with the least and largest force along.
fn solve_channel(own: &Own, b: &Vector3<f64>, bounds: (f64, f64), friction: f64) -> Vector3<f64> {
    let w = &own.matrix;
    let across = Matrix2::new(w[(1, 1)], w[(1, 2)], w[(2, 1)], w[(2, 2)]);
    let Some(inverse) = across.try_inverse() else { return Vector3::zeros() };
    // λ_t = g + h λ_a.
    let g = -(inverse * Vector2::new(b[1], b[2]));
    let h = -(inverse * Vector2::new(w[(1, 0)], w[(2, 0)]));
    // The row along with those across eliminated: δ_a = rest + yielding λ_a.
    let yielding = w[(0, 0)] + w[(0, 1)] * h[0] + w[(0, 2)] * h[1];
    let rest = b[0] + w[(0, 1)] * g[0] + w[(0, 2)] * g[1];
    let held = if yielding > 0.0 { -rest / yielding } else { 0.0 };
    let whole = |along: f64| {
        let t = g + h * along;
        Vector3::new(along, t[0], t[1])
    };
    let pressed = friction * (g + h * held).norm();
    if held > bounds.1 + pressed {
        whole(at_bound(bounds.1, 1.0, friction, &g, &h).min(held))
    } else if held < bounds.0 - pressed {
        whole(at_bound(bounds.0, -1.0, friction, &g, &h).max(held))
    } else {
        whole(held)
    }
}

/// `x` with `x = f + s µ ‖g + h x‖`, on the side `s` of `f`.
fn at_bound(f: f64, s: f64, friction: f64, g: &Vector2<f64>, h: &Vector2<f64>) -> f64 {
    if friction <= 0.0 {
        return f;
    }
    // With x = f + s y, y ≥ 0:  y² = µ² ‖p + s h y‖²,  p = g + h f.
    let (p, square) = (g + h * f, friction * friction);
    let a = 1.0 - square * h.norm_squared();
    let half_b = square * s * p.dot(h);
    let discriminant = half_b * half_b + a * square * p.norm_squared();
    if !(a > 1e-12 && discriminant >= 0.0) {
        // So strongly coupled that pressing feeds on itself: what presses without it counts.
        return f + s * friction * p.norm();
    }
    f + s * ((half_b + discriminant.sqrt()) / a).max(0.0)
}

/// Pulls an over-relaxed force back between the bounds of its channel.
fn into_channel(force: &Vector3<f64>, bounds: (f64, f64), friction: f64) -> Vector3<f64> {
    let pressed = friction * force[1].hypot(force[2]);
    Vector3::new(force[0].clamp(bounds.0 - pressed, bounds.1 + pressed), force[1], force[2])
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
        fn a_channel_holds_across_and_gives_way_along_at_its_bounds_only(
            l in prop::array::uniform9(-1.0..1.0_f64), b in prop::array::uniform3(-3.0..3.0_f64),
            least in -2.0..0.0_f64, most in 0.0..2.0_f64, friction in 0.0..0.3_f64,
        ) {
            let own = own(&l);
            let b = Vector3::from(b);
            let force = solve_channel(&own, &b, (least, most), friction);
            let delta = own.matrix * force + b;
            prop_assert!(delta[1].abs() < 1e-10 && delta[2].abs() < 1e-10, "not held across: {delta}");
            let pressed = friction * force[1].hypot(force[2]);
            prop_assert!(force[0] <= most + pressed + 1e-9 && force[0] >= least - pressed - 1e-9);
            // Where it moves, the force is at the bound that opposes the motion.
            if delta[0] < -1e-9 {
                prop_assert!((force[0] - most - pressed).abs() < 1e-8, "{force} {delta}");
            }
            if delta[0] > 1e-9 {
                prop_assert!((force[0] - least + pressed).abs() < 1e-8, "{force} {delta}");
            }
        }
    }

    #[test]
    fn a_tip_in_front_of_the_end_of_its_channel_feels_nothing_along() {
        let own = Own { matrix: Matrix3::identity(), inverse: Some(Matrix3::identity()) };
        let force = solve_channel(&own, &Vector3::new(0.5, 0.2, -0.1), (0.0, 1.0), 0.0);
        assert_eq!(force, Vector3::new(0.0, -0.2, 0.1));
        // At the end it is held, and beyond its bound it cuts.
        assert_eq!(solve_channel(&own, &Vector3::new(-0.5, 0.0, 0.0), (0.0, 1.0), 0.0)[0], 0.5);
        assert_eq!(solve_channel(&own, &Vector3::new(-3.0, 0.0, 0.0), (0.0, 1.0), 0.0)[0], 1.0);
    }
}
