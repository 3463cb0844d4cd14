//! Springs, dampers, gravity and general potentials by their exact discrete work.
//!
//! Thread: any (RT safe).
//!
//! A conservative force enters a midpoint step as the mean of the slope between the two ends, the discrete gradient of
//! Gonzalez 1996 and Itoh & Abe 1988: `f = −(U(x⁺) − U(x))/(x⁺ − x)`. Its work over the step, `f (x⁺ − x)`, is then
//! `U(x) − U(x⁺)` by construction. For a linear spring this is the force at the midpoint, which is why PMI (seed 000,
//! eq. 3) is the linear case of the same rule; for gravity it is the constant force.

use crate::math::Vec3;

/// Potential energy of one coordinate.
pub trait Potential {
    /// `U(x)`, J.
    fn energy_j(&self, x: f64) -> f64;

    /// `U′(x)`; the force is its negative.
    fn slope(&self, x: f64) -> f64;

    /// `U″(x)`; steers the solver only, so that it may be rough.
    fn curvature(&self, x: f64) -> f64;

    /// `(U(to) − U(from))/(to − from)`, and `U′` in the limit.
    ///
    /// As the ends meet, the quotient drowns in the round-off of `U`, but then a three-point Gauss rule on the slope
    /// is exact to that round-off. So the rule is taken wherever the two agree to within what the quotient can tell,
    /// and the quotient wherever they do not: the force stays smooth and the work exact, with no length scale to tune.
    /// Potentials with a closed form of the quotient should give it instead.
    fn mean_slope(&self, from: f64, to: f64) -> f64 {
        let (length, middle) = (to - from, 0.5 * (from + to));
        let offset = 0.5 * length * 0.6_f64.sqrt();
        let ends = self.slope(middle - offset) + self.slope(middle + offset);
        let rule = (5.0 * ends + 8.0 * self.slope(middle)) / 18.0;
        let (before, after) = (self.energy_j(from), self.energy_j(to));
        let quotient = (after - before) / length;
        let unsure = 2.0 * f64::EPSILON * (before.abs() + after.abs());
        // Written so that `length = 0`, where the quotient is no number, falls to the rule.
        if (quotient - rule).abs() * length.abs() > unsure { quotient } else { rule }
    }
}

/// Two potentials at once.
impl<A: Potential, B: Potential> Potential for (A, B) {
    fn energy_j(&self, x: f64) -> f64 {
        self.0.energy_j(x) + self.1.energy_j(x)
    }

    fn slope(&self, x: f64) -> f64 {
        self.0.slope(x) + self.1.slope(x)
    }

    fn curvature(&self, x: f64) -> f64 {
        self.0.curvature(x) + self.1.curvature(x)
    }

    fn mean_slope(&self, from: f64, to: f64) -> f64 {
        self.0.mean_slope(from, to) + self.1.mean_slope(from, to)
    }
}

/// `U = ½ k (x − rest)²`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearSpring {
    /// Stiffness `k`, N/m or N·m/rad.
    pub stiffness: f64,
    /// Where it is slack, m or rad.
    pub rest: f64,
}

impl Potential for LinearSpring {
    fn energy_j(&self, x: f64) -> f64 {
        0.5 * self.stiffness * (x - self.rest).powi(2)
    }

    fn slope(&self, x: f64) -> f64 {
        self.stiffness * (x - self.rest)
    }

    fn curvature(&self, _: f64) -> f64 {
        self.stiffness
    }

    fn mean_slope(&self, from: f64, to: f64) -> f64 {
        0.5 * self.stiffness * ((from - self.rest) + (to - self.rest))
    }
}

/// Constant force along one coordinate: `U = −f x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight {
    /// The force `f`, N.
    pub force_n: f64,
}

impl Potential for Weight {
    fn energy_j(&self, x: f64) -> f64 {
        -self.force_n * x
    }

    fn slope(&self, _: f64) -> f64 {
        -self.force_n
    }

    fn curvature(&self, _: f64) -> f64 {
        0.0
    }

    fn mean_slope(&self, _: f64, _: f64) -> f64 {
        -self.force_n
    }
}

/// Elastic contact of a sphere with a half-space (Hertz 1882): with the depth `d = max(surface − x, 0)` the force is
/// `k d^{3/2}` and `U = ⅖ k d^{5/2}`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HertzContact {
    /// `k = 4/3 E* √R`, N/m^{3/2}.
    pub stiffness: f64,
    /// Coordinate at which contact begins, m; the solid is below.
    pub surface: f64,
}

impl HertzContact {
    fn depth(&self, x: f64) -> f64 {
        (self.surface - x).max(0.0)
    }
}

impl Potential for HertzContact {
    fn energy_j(&self, x: f64) -> f64 {
        let d = self.depth(x);
        0.4 * self.stiffness * d * d * d.sqrt()
    }

    fn slope(&self, x: f64) -> f64 {
        let d = self.depth(x);
        -self.stiffness * d * d.sqrt()
    }

    fn curvature(&self, x: f64) -> f64 {
        1.5 * self.stiffness * self.depth(x).sqrt()
    }

    /// With `p = √d`, `q = √d⁺` both in contact, `(p⁵ − q⁵)/(p² − q²) = (p⁴ + p³q + p²q² + pq³ + q⁴)/(p + q)`: no
    /// difference of near numbers.
    fn mean_slope(&self, from: f64, to: f64) -> f64 {
        let (a, b) = (self.surface - from, self.surface - to);
        if a <= 0.0 && b <= 0.0 {
            return 0.0;
        }
        if a <= 0.0 || b <= 0.0 {
            // One end in the air: the other carries all the energy, and the ends are apart.
            let inside = a.max(b);
            return -0.4 * self.stiffness * inside * inside * inside.sqrt() / (a - b).abs();
        }
        let (p, q) = (a.sqrt(), b.sqrt());
        let quartic = a * a + b * b + p * q * (a + b + p * q);
        -0.4 * self.stiffness * quartic / (p + q)
    }
}

/// Linear spring and damper side by side, for bodies that put it in their step matrix `A`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpringDamper {
    /// The spring.
    pub spring: LinearSpring,
    /// Damping, N·s/m or N·m·s/rad; passive when not negative.
    pub damping: f64,
}

impl SpringDamper {
    /// What it adds to `A`: `d + k T/2`.
    #[must_use]
    pub fn operator(&self, step_s: f64) -> f64 {
        self.damping + 0.5 * self.spring.stiffness * step_s
    }

    /// What it adds to the right-hand side, N: the spring's force at the start of the step.
    #[must_use]
    pub fn bias(&self, x: f64) -> f64 {
        -self.spring.slope(x)
    }

    /// Force over the step that begins at `x` and has the midpoint velocity `midpoint`, N: `bias − operator · v̂`.
    #[must_use]
    pub fn force(&self, x: f64, midpoint: f64, step_s: f64) -> f64 {
        self.bias(x) - self.operator(step_s) * midpoint
    }

    /// Energy that went into the spring and into heat during that step, J.
    #[must_use]
    pub fn work(&self, x: f64, midpoint: f64, step_s: f64) -> (f64, f64) {
        let moved = midpoint * step_s;
        (self.spring.mean_slope(x, x + moved) * moved, self.damping * midpoint * moved)
    }
}

/// Constant gravity: the one potential whose discrete force is exact without knowing where the step ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gravity {
    /// Acceleration in the world frame, m/s².
    pub acceleration: Vec3,
}

impl Gravity {
    /// No gravity.
    pub const NONE: Self = Self { acceleration: Vec3::new(0.0, 0.0, 0.0) };
    /// Standard gravity, z up.
    pub const STANDARD: Self = Self { acceleration: Vec3::new(0.0, 0.0, -9.806_65) };

    /// Force on a mass, N.
    #[must_use]
    pub fn force(&self, mass_kg: f64) -> Vec3 {
        self.acceleration * mass_kg
    }

    /// Potential energy of a mass at `position`, J; zero at the origin.
    #[must_use]
    pub fn energy_j(&self, mass_kg: f64, position: &Vec3) -> f64 {
        -mass_kg * self.acceleration.dot(position)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Deep, smooth, far from polynomial; nothing but the trait's own mean slope.
    struct Well;

    impl Potential for Well {
        fn energy_j(&self, x: f64) -> f64 {
            -3.0 / x.cosh()
        }
        fn slope(&self, x: f64) -> f64 {
            3.0 * x.tanh() / x.cosh()
        }
        fn curvature(&self, x: f64) -> f64 {
            3.0 * (1.0 - 2.0 * x.tanh().powi(2)) / x.cosh()
        }
    }

    fn work_is_the_change_of_energy(potential: &impl Potential, from: f64, to: f64) {
        let work = potential.mean_slope(from, to) * (to - from);
        let (before, after) = (potential.energy_j(from), potential.energy_j(to));
        // A few roundings of the larger energy; the slope term is the rounding of `to − from` itself.
        let allowed = 4e-15 * (before.abs() + after.abs())
            + 1e-15 * (potential.slope(from).abs() + potential.slope(to).abs()) * (from.abs() + to.abs());
        assert!((work - (after - before)).abs() <= allowed, "{from} {to}: {work} {}", after - before);
    }

    proptest! {
        #[test]
        fn the_discrete_work_of_every_potential_is_its_change_of_energy(
            from in -2.0..2.0, exponent in -17.0..0.6, back: bool
        ) {
            let to = from + 10.0_f64.powf(exponent) * if back { -1.0 } else { 1.0 };
            work_is_the_change_of_energy(&Well, from, to);
            work_is_the_change_of_energy(&HertzContact { stiffness: 1e9, surface: 0.1 }, from, to);
            work_is_the_change_of_energy(&LinearSpring { stiffness: 1e9, rest: 0.3 }, from, to);
            work_is_the_change_of_energy(&(Weight { force_n: 9.81 }, Well), from, to);
        }

        #[test]
        fn the_mean_slope_tends_to_the_slope_as_the_ends_meet(x in -2.0..2.0, exponent in -20.0..-8.0) {
            let step = 10.0_f64.powf(exponent);
            let slope = Well.slope(x);
            let allowed = 1e-14 + 2.0 * Well.curvature(x).abs() * step;
            prop_assert!((Well.mean_slope(x, x + step) - slope).abs() <= allowed);
            prop_assert!((Well.mean_slope(x, x) - slope).abs() <= 1e-15);
        }

        #[test]
        fn a_spring_damper_gives_back_what_it_stores_and_keeps_what_it_damps(
            x in -1.0..1.0, midpoint in -10.0..10.0, step_s in 1e-4..2e-2
        ) {
            let element =
                SpringDamper { spring: LinearSpring { stiffness: 1e4, rest: 0.2 }, damping: 3.0 };
            let (stored, heat) = element.work(x, midpoint, step_s);
            let taken = -element.force(x, midpoint, step_s) * midpoint * step_s;
            prop_assert!((taken - stored - heat).abs() <= 1e-13 * (1e4 + taken.abs()));
            prop_assert!(heat >= 0.0);
        }
    }
}
