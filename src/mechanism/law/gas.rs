//! Gas: the air in a closed cavity.
//!
//! Thread: any (RT safe: closed form where the gas keeps its temperature, else a bounded search).
//!
//! One row. `δ = V/A` is the volume of the cavity at the end of the step over a fixed area `A`, m; `λ = (p − p₀) A` is the pressure above
//! the ambient pressure `p₀` times that area, N. The force pushes the walls apart, so that `W` is the change of volume by pressure. With
//! `P = λ + p₀ A`:
//!
//! ```text
//!  EQ-GAS-1   P δ = E_b + E_k (d/δ)^(γ−1)          E = n R T; b: the part that has the temperature of the walls, k: the part that keeps its heat
//!  EQ-GAS-2   0 ≤ P_max − P  ⊥  E − E' ≥ 0         air leaves at P_max and never comes back: E' is what is left
//!  EQ-GAS-3   P = 2E/(b' + √(b'² + 4 w E))         isothermal: the positive root of w P² + b' P = E, b' = b − w p₀ A
//! ```
//!
//! Bernardin et al. 2022 eqs. 8 to 14, with EQ-GAS-3 in place of `(−b' + √…)/2w`, which loses all digits as `w → 0`. Where `b' < 0`, the free
//! motion would close the cavity, and the other form of the root is the stable one. `P` falls strictly as `δ` grows, so that any number of
//! cavities and contacts without friction have one solution. A cavity without air has `P = 0` while it is open and cannot be closed beyond
//! zero volume.

use super::{Meaning, RowState, Rule, is_size};
use crate::mechanism::solver::Own;
use nalgebra::Vector3;

/// Ratio of the heat capacities of air, `γ`.
pub const ADIABATIC_INDEX: f64 = 1.4;
/// Most steps of the search; five are usual.
const STEPS: u32 = 60;
/// Relative change of the volume at which the search ends.
const FOUND: f64 = 1e-15;

/// Parameters of the law.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gas {
    pub(super) ambient_n: f64,
    pub(super) most_n: f64,
    pub(super) bath_j: f64,
    pub(super) kept_j: f64,
    pub(super) depth_m: f64,
}

/// A state of the gas.
struct Found {
    /// Absolute pressure times area, N.
    pressure_n: f64,
    /// Volume over area, m.
    depth_m: f64,
}

impl Gas {
    /// `P` at a volume, EQ-GAS-1, and `−dP/dδ`.
    fn pressure(&self, depth_m: f64) -> (f64, f64) {
        let kept =
            if self.kept_j > 0.0 { self.kept_j * (self.depth_m / depth_m).powf(ADIABATIC_INDEX - 1.0) } else { 0.0 };
        let square = depth_m * depth_m;
        ((self.bath_j + kept) / depth_m, (self.bath_j + ADIABATIC_INDEX * kept) / square)
    }

    /// State with `δ = w P + rest`, without the bound of the pressure.
    fn meet(&self, w: f64, rest: f64) -> Found {
        let energy = self.bath_j + self.kept_j;
        let root = (rest * rest + 4.0 * w * energy).sqrt();
        // EQ-GAS-3, exact without heat that is kept; both forms of the positive root.
        let pressure_n = if rest >= 0.0 { 2.0 * energy / (rest + root) } else { (root - rest) / (2.0 * w) };
        // The volume in the form without cancellation likewise.
        let depth_m = if rest >= 0.0 { 0.5 * (rest + root) } else { 2.0 * w * energy / (root - rest) };
        if self.kept_j <= 0.0 || !(pressure_n.is_finite() && depth_m > 0.0) {
            return Found { pressure_n, depth_m };
        }
        self.search(w, rest, depth_m)
    }

    /// Root of `P(δ) = (δ − rest)/w`: Newton's method in `δ`, on a difference that is convex and falls, so that it converges from the left
    /// without overshoot. A step from the right is bounded.
    fn search(&self, w: f64, rest: f64, start: f64) -> Found {
        let mut depth_m = start;
        for _ in 0..STEPS {
            let (pressure, slope) = self.pressure(depth_m);
            let step = (w * pressure + rest - depth_m) / (w * slope + 1.0);
            let next = (depth_m + step).max(0.25 * depth_m);
            let moved = (next - depth_m).abs();
            depth_m = next;
            if moved <= FOUND * depth_m {
                break;
            }
        }
        Found { pressure_n: self.pressure(depth_m).0, depth_m }
    }

    /// Gauge force within its bounds, and whether the state is on the curve: neither at the largest pressure nor in a vacuum.
    fn bounded(&self, found: &Found) -> (f64, bool) {
        let gauge = found.pressure_n - self.ambient_n;
        if !(gauge < self.most_n) {
            return (self.most_n, false);
        }
        (gauge.max(-self.ambient_n), found.pressure_n > 0.0)
    }

    /// The point of the curve with `δ − c λ = sum`: gauge force, volume, and `−dλ/dδ` there.
    pub(super) fn at(&self, give: f64, sum: f64) -> (f64, f64, f64) {
        let found = self.meet(give, sum - give * self.ambient_n);
        let (force, on_curve) = self.bounded(&found);
        let slope = if on_curve { self.pressure(found.depth_m).1 } else { 0.0 };
        (force, found.depth_m, if slope.is_finite() { slope } else { 0.0 })
    }
}

impl Rule for Gas {
    fn rows(&self) -> usize {
        1
    }

    fn meaning(&self, _row: usize) -> Meaning {
        Meaning::Place
    }

    fn is_sound(&self) -> bool {
        [self.ambient_n, self.most_n, self.bath_j, self.kept_j].into_iter().all(is_size)
            && self.depth_m.is_finite()
            && (self.kept_j == 0.0 || self.depth_m > 0.0)
    }

    fn solve(&self, own: &Own, b: &Vector3<f64>, _near: &Vector3<f64>) -> Vector3<f64> {
        let w = own.matrix[(0, 0)].max(0.0);
        let found = self.meet(w, b.x - w * self.ambient_n);
        Vector3::new(self.bounded(&found).0, 0.0, 0.0)
    }

    fn project(&self, force: &Vector3<f64>) -> Vector3<f64> {
        Vector3::new(force.x.max(-self.ambient_n).min(self.most_n), 0.0, 0.0)
    }

    fn state(&self, _force: &[f64; 3], tau: &[f64; 3], rho: f64) -> [RowState; 3] {
        // λ − ρ δ = τ: the state of the gas behind a wall of compliance 1/ρ.
        let (force, _, slope) = self.at(1.0 / rho, -tau[0] / rho);
        [RowState::Curved { force, slope: slope / (rho + slope) }, RowState::Held, RowState::Held]
    }

    fn is_touch(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::Law;
    use nalgebra::Matrix3;

    const P0: f64 = 101_325.0;

    fn own(w: f64) -> Own {
        let matrix = Matrix3::from_diagonal(&Vector3::new(w, 1.0, 1.0));
        Own { matrix, inverse: matrix.try_inverse() }
    }

    fn force(gas: &Gas, w: f64, b: f64) -> f64 {
        gas.solve(&own(w), &Vector3::new(b, 0.0, 0.0), &Vector3::zeros()).x
    }

    /// A piston of area `A` on a spring, moved from outside: isothermal, `P V` is constant over nine decades of stiffness.
    #[test]
    fn a_piston_keeps_pressure_times_volume() {
        let (area, height) = (3e-4, 8e-3);
        let (ambient_n, energy) = (P0 * area, P0 * area * height);
        let gas = Gas { ambient_n, most_n: f64::MAX, bath_j: energy, kept_j: 0.0, depth_m: height };
        for exponent in -14..-3 {
            let w = 10f64.powi(exponent);
            for pulled in [-7.9e-3, -4e-3, -1e-6, 0.0, 1e-6, 1e-3, 5e-3, 0.5] {
                let free = height + pulled;
                let lambda = force(&gas, w, free);
                let depth = w * lambda + free;
                let product = (lambda + ambient_n) * depth;
                assert!((product / energy - 1.0).abs() < 1e-10, "w {w:e}, pulled {pulled}: {product} for {energy}");
            }
        }
        // A rigid wall: the closed form of a piston, and its hold force (p₀ − p) A.
        let lambda = force(&gas, 0.0, 2.0 * height);
        assert!((-lambda / (0.5 * P0 * area) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_piston_without_exchange_of_heat_is_adiabatic() {
        let (area, height) = (3e-4, 8e-3);
        let (ambient_n, energy) = (P0 * area, P0 * area * height);
        // Many small steps, each from where the last one ended, in one case with a wall that yields.
        for w in [0.0, 1e-5] {
            let mut gas = Gas { ambient_n, most_n: f64::MAX, bath_j: 0.0, kept_j: energy, depth_m: height };
            for step in 1..=100 {
                let free = height * (1.0 + 0.02 * f64::from(step));
                let lambda = force(&gas, w, free);
                gas = Gas { depth_m: w * lambda + free, kept_j: (lambda + ambient_n) * (w * lambda + free), ..gas };
                let ratio = (lambda + ambient_n) / ambient_n * (gas.depth_m / height).powf(ADIABATIC_INDEX);
                assert!((ratio - 1.0).abs() < 1e-6, "step {step}: {ratio}");
            }
        }
    }

    #[test]
    fn the_pressure_stays_between_zero_and_its_bound_and_a_vacuum_holds_with_the_ambient_pressure() {
        let gas = Gas { ambient_n: 30.0, most_n: 0.5, bath_j: 0.1, kept_j: 0.05, depth_m: 5e-3 };
        let mut last = f64::MAX;
        for k in -400..400 {
            let lambda = force(&gas, 1e-5, 1e-4 * f64::from(k));
            assert!((-30.0..=0.5).contains(&lambda) && lambda <= last, "{k}: {lambda}");
            last = lambda;
        }
        let vacuum = Gas { bath_j: 0.0, kept_j: 0.0, most_n: f64::MAX, ..gas };
        assert_eq!(force(&vacuum, 1e-5, 2e-3), -30.0);
        assert_eq!(force(&vacuum, 0.0, 2e-3), -30.0);
        // n → 0: the limit is reached from above.
        for exponent in [-6, -9, -12] {
            let thin = Gas { bath_j: 10f64.powi(exponent), ..vacuum };
            let lambda = force(&thin, 1e-5, 2e-3);
            assert!(lambda > -30.0 && lambda + 30.0 < 1.1e3 * 10f64.powi(exponent), "{lambda}");
        }
        // A vacuum cannot be closed beyond zero volume.
        let lambda = force(&vacuum, 1e-5, -1e-3);
        assert!((1e-5 * lambda - 1e-3).abs() < 1e-15);
    }

    /// `slope` of the state is the derivative of the projection, which Newton's method relies on.
    #[test]
    fn the_state_is_the_projection_on_the_curve_and_its_slope_the_derivative() {
        for kept_j in [0.0, 0.08] {
            let gas = Gas { ambient_n: 30.0, most_n: 40.0, bath_j: 0.1, kept_j, depth_m: 5e-3 };
            let at = |tau: f64, rho: f64| match gas.state(&[0.0; 3], &[tau, 0.0, 0.0], rho)[0] {
                RowState::Curved { force, slope } => (force, slope),
                other => unreachable!("{other:?}"),
            };
            for rho in [10.0, 1e3, 1e5] {
                for tau in [-60.0, -35.0, -10.0, 5.0] {
                    let (force, slope) = at(tau, rho);
                    let (delta, h) = ((force - tau) / rho, 1e-4);
                    let on_curve = gas.pressure(delta).0 - 30.0;
                    assert!(force == 40.0 || (force - on_curve).abs() < 1e-7 * on_curve.abs().max(1.0));
                    let found = (at(tau + h, rho).0 - at(tau - h, rho).0) / (2.0 * h);
                    assert!((found - slope).abs() < 1e-5, "ρ {rho}, τ {tau}: {slope} for {found}");
                }
            }
        }
    }

    #[test]
    fn parameters_that_are_no_gas_are_refused() {
        let sound = Law::Gas { ambient_n: 30.0, most_n: 1.0, bath_j: 0.1, kept_j: 0.0, depth_m: 0.0, compliance: 0.0 };
        assert!(sound.is_sound() && sound.rows() == 1 && !sound.opens() && sound.conic().is_none());
        let with = |ambient_n, most_n, bath_j, kept_j, depth_m| {
            Law::Gas { ambient_n, most_n, bath_j, kept_j, depth_m, compliance: 0.0 }.is_sound()
        };
        assert!(!with(-1.0, 1.0, 0.1, 0.0, 0.0) && !with(30.0, f64::NAN, 0.1, 0.0, 0.0));
        assert!(!with(30.0, 1.0, -0.1, 0.0, 0.0) && !with(30.0, 1.0, 0.1, 0.1, 0.0));
    }
}
