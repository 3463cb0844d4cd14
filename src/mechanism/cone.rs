//! The Lorentz cone in three dimensions, `{a : a₀ ≥ ‖(a₁, a₂)‖}`: its algebra, and Nesterov–Todd scaling.
//!
//! Thread: any (RT safe).
//!
//! Jordan product `a∘b = (a·b, a₀ b₁ + b₀ a₁, …)` with unit `e = (1, 0, 0)`; `J = diag(1, −1, −1)`. Formulas: Vandenberghe,
//! "The CVXOPT linear and quadratic cone program solvers" (2010), §4.

/// A point of the cone's space: the axis first.
pub(super) type V3 = [f64; 3];

/// Nesterov–Todd scaling of one cone, `W = η (2 v vᵀ − J)`, with the scaled point `W z = W⁻¹ x`, and the direction `g` in
/// which the slip grows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scaling {
    pub(super) eta: f64,
    pub(super) v: V3,
    pub(super) point: V3,
    pub(super) g: [f64; 2],
}

impl Scaling {
    /// `W² = η² I`, no slip.
    pub(super) fn uniform(square: f64) -> Self {
        Self { eta: square.sqrt(), v: [1.0, 0.0, 0.0], ..Self::default() }
    }

    /// The scaling that takes `x` and `z` to the same point; none when one of them is not inside the cone. The slip
    /// `√(‖z_t‖² + round²)` is rounded at zero.
    pub(super) fn between(x: &V3, z: &V3, round: f64) -> Option<Self> {
        let (nx, nz) = (norm_j(x), norm_j(z));
        if !(nx > 0.0 && nz > 0.0) {
            return None;
        }
        let (xs, zs) = (x.map(|v| v / nx), z.map(|v| v / nz));
        let gamma = (0.5 * (1.0 + inner(&xs, &zs))).sqrt();
        let w = [(xs[0] + zs[0]), (xs[1] - zs[1]), (xs[2] - zs[2])].map(|v| v / (2.0 * gamma));
        let root = (2.0 * (w[0] + 1.0)).sqrt();
        let slip = length(length(z[1], z[2]), round).max(f64::MIN_POSITIVE);
        let mut scaling = Self {
            eta: (nx / nz).sqrt(),
            v: [w[0] + 1.0, w[1], w[2]].map(|v| v / root),
            point: [0.0; 3],
            g: [z[1] / slip, z[2] / slip],
        };
        scaling.point = scaling.times(z);
        scaling.eta.is_finite().then_some(scaling)
    }

    /// `W a`.
    #[inline]
    pub(super) fn times(&self, a: &V3) -> V3 {
        let p = 2.0 * inner(&self.v, a);
        let eta = self.eta;
        [eta * (p * self.v[0] - a[0]), eta * (p * self.v[1] + a[1]), eta * (p * self.v[2] + a[2])]
    }

    /// `W⁻¹ a`.
    #[inline]
    pub(super) fn inverse_times(&self, a: &V3) -> V3 {
        let jv = [self.v[0], -self.v[1], -self.v[2]];
        let p = 2.0 * inner(&jv, a);
        let back = 1.0 / self.eta;
        [back * (p * jv[0] - a[0]), back * (p * jv[1] + a[1]), back * (p * jv[2] + a[2])]
    }

    /// `E a` with `E = I − e gᵀ`.
    #[inline]
    pub(super) fn without_slip(&self, a: &V3) -> V3 {
        [a[0] - self.g[0] * a[1] - self.g[1] * a[2], a[1], a[2]]
    }

    /// `E⁻¹ a = (I + e gᵀ) a`.
    #[inline]
    pub(super) fn with_slip(&self, a: &V3) -> V3 {
        [a[0] + self.g[0] * a[1] + self.g[1] * a[2], a[1], a[2]]
    }

    /// `E W⁻²`, by columns.
    pub(super) fn stiffness(&self) -> [V3; 3] {
        let column = |unit: &V3| self.without_slip(&self.inverse_times(&self.inverse_times(unit)));
        [column(&UNITS[0]), column(&UNITS[1]), column(&UNITS[2])]
    }

    /// `(E W⁻²)⁻¹ = W² E⁻¹`, by columns.
    pub(super) fn compliance(&self) -> [V3; 3] {
        let column = |unit: &V3| self.times(&self.times(&self.with_slip(unit)));
        [column(&UNITS[0]), column(&UNITS[1]), column(&UNITS[2])]
    }
}

const UNITS: [V3; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Three entries of a vector.
#[inline]
pub(super) fn at(v: &[f64], i: usize) -> V3 {
    [v[i], v[i + 1], v[i + 2]]
}

#[inline]
pub(super) fn inner(a: &V3, b: &V3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// `√(a² + b²)` of numbers that are far from over- and underflow.
#[inline]
pub(super) fn length(a: f64, b: f64) -> f64 {
    (a * a + b * b).sqrt()
}

/// `√(aᵀ J a)`, zero outside the cone; factored so that points near the boundary keep their digits.
#[inline]
fn norm_j(a: &V3) -> f64 {
    let tangent = length(a[1], a[2]);
    ((a[0] - tangent).max(0.0) * (a[0] + tangent)).max(0.0).sqrt()
}

/// `a ∘ b`.
#[inline]
pub(super) fn jordan(a: &V3, b: &V3) -> V3 {
    [inner(a, b), a[0] * b[1] + b[0] * a[1], a[0] * b[2] + b[0] * a[2]]
}

/// `y` with `a ∘ y = r`.
#[inline]
pub(super) fn divide(a: &V3, r: &V3) -> V3 {
    let square = norm_j(a).powi(2);
    let y = (a[0] * r[0] - a[1] * r[1] - a[2] * r[2]) / square;
    [y, (r[1] - y * a[1]) / a[0], (r[2] - y * a[2]) / a[0]]
}

/// Step along `d` at which `p` meets the boundary of the cone.
#[inline]
pub(super) fn to_boundary(p: &V3, d: &V3) -> f64 {
    // (p₀ + t d₀)² = ‖p₁ + t d₁‖²
    let a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2];
    let b = p[0] * d[0] - p[1] * d[1] - p[2] * d[2];
    let c = norm_j(p).powi(2);
    let discriminant = b * b - a * c;
    let apex = if d[0] < 0.0 { -p[0] / d[0] } else { f64::INFINITY };
    if discriminant < 0.0 {
        return apex;
    }
    let q = -(b + discriminant.sqrt().copysign(b));
    let (t1, t2) = (q / a, c / q);
    [t1, t2].into_iter().filter(|t| *t > 0.0).fold(apex, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: &V3, b: &V3, tolerance: f64) -> bool {
        a.iter().zip(b).all(|(x, y)| (x - y).abs() <= tolerance * (1.0 + x.abs()))
    }

    /// A point inside the cone, `margin` from its boundary.
    fn inside(tangent: [f64; 2], margin: f64) -> V3 {
        [tangent[0].hypot(tangent[1]) + margin, tangent[0], tangent[1]]
    }

    proptest! {
        #[test]
        fn the_scaling_takes_both_points_to_the_same_one_and_undoes_itself(
            x in prop::array::uniform2(-1.0..1.0_f64), z in prop::array::uniform2(-1.0..1.0_f64),
            mx in 0.01..1.0_f64, mz in 0.01..1.0_f64, a in prop::array::uniform3(-1.0..1.0_f64),
        ) {
            let (x, z) = (inside(x, mx), inside(z, mz));
            let s = Scaling::between(&x, &z, 0.0).expect("both are inside");
            prop_assert!(close(&s.inverse_times(&x), &s.point, 1e-10) && close(&s.times(&z), &s.point, 1e-10));
            prop_assert!(close(&s.inverse_times(&s.times(&a)), &a, 1e-9));
            prop_assert!(close(&jordan(&x, &divide(&x, &a)), &a, 1e-9));
            // E W⁻² times its inverse, column by column.
            for (column, unit) in s.compliance().iter().zip(UNITS) {
                let back = s.without_slip(&s.inverse_times(&s.inverse_times(column)));
                prop_assert!(close(&back, &unit, 1e-7), "{back:?}");
            }
        }

        #[test]
        fn a_step_to_the_boundary_ends_on_it(
            p in prop::array::uniform2(-1.0..1.0_f64), m in 0.01..1.0_f64, d in prop::array::uniform3(-1.0..1.0_f64),
        ) {
            let p = inside(p, m);
            let t = to_boundary(&p, &d);
            let margin = |t: f64| (p[0] + t * d[0]) - (p[1] + t * d[1]).hypot(p[2] + t * d[2]);
            if t.is_finite() {
                prop_assert!(margin(t).abs() <= 1e-8 * (1.0 + t), "{t} {}", margin(t));
                prop_assert!(margin(0.5 * t) > 0.0);
            } else {
                prop_assert!(margin(1e6) > 0.0);
            }
        }
    }
}
