//! One degree of freedom in any potential, solved implicitly.
//!
//! Thread: any (RT safe: bounded iterations, no allocation).
//!
//! `2m (v̂ − v)/T + d v̂ + (U(x + T v̂) − U(x))/(T v̂) = f` (see `element` for the quotient). Times `T v̂` this reads
//! `ΔE = T f v̂ − T d v̂²`: any root of it is a passive step. Where `U` is bounded below the left side grows like
//! `2mv̂/T` both ways, so that a bracket always exists; with a large step in a potential that is not convex there may be
//! several roots, of which one near the motion in the linearised potential is taken.

use super::{EnergyFlow, EnergyLedger, Potential};

/// Doublings of the search interval: reaches 2⁶⁰ times the first guess of the speed.
const MAX_DOUBLINGS: usize = 60;
/// Newton or bisection steps. Every second one halves the bracket or the step, and 53 halvings exhaust a number's
/// digits; the rest is for brackets much wider than the root.
const MAX_ITERATIONS: usize = 200;

/// A mass on a line (or an inertia about an axis).
#[derive(Clone, Copy, Debug)]
pub struct ScalarBody {
    mass_kg: f64,
    position: f64,
    velocity: f64,
    ledger: EnergyLedger,
}

impl ScalarBody {
    /// A body at a state; `potential` is what it will move in. `None` unless the mass is positive and all is finite.
    #[must_use]
    pub fn new(mass_kg: f64, position: f64, velocity: f64, potential: &impl Potential) -> Option<Self> {
        let kinetic_j = 0.5 * mass_kg * velocity * velocity;
        let ledger = EnergyLedger::open(kinetic_j, potential.energy_j(position));
        let sound = mass_kg > 0.0 && mass_kg.is_finite() && ledger.total_j().is_finite();
        sound.then_some(Self { mass_kg, position, velocity, ledger })
    }

    /// Position, m or rad.
    #[must_use]
    pub fn position(&self) -> f64 {
        self.position
    }

    /// Velocity, m/s or rad/s.
    #[must_use]
    pub fn velocity(&self) -> f64 {
        self.velocity
    }

    /// Where the energy went.
    #[must_use]
    pub fn ledger(&self) -> &EnergyLedger {
        &self.ledger
    }

    /// One step in `potential`, against `damping` (N·s/m), under `force_n`. Returns the midpoint velocity; `None`,
    /// with the body left as it was, when no root is found, which takes an input that is not finite, a negative
    /// damping, or a potential without a lower bound.
    pub fn step(&mut self, potential: &impl Potential, damping: f64, force_n: f64, step_s: f64) -> Option<f64> {
        if !(step_s > 0.0 && step_s.is_finite()) {
            return None;
        }
        let equation = Equation { body: self, potential, damping, force_n, step_s };
        let midpoint = equation.solve()?;
        let moved = step_s * midpoint;
        self.position += moved;
        self.velocity = 2.0 * midpoint - self.velocity;
        let flow =
            EnergyFlow { work_in_j: force_n * moved, contact_work_j: 0.0, dissipated_j: damping * midpoint * moved };
        let kinetic_j = 0.5 * self.mass_kg * self.velocity * self.velocity;
        self.ledger.record(&flow, kinetic_j, potential.energy_j(self.position));
        Some(midpoint)
    }
}

/// The step's equation as a function of `v̂`.
struct Equation<'a, P> {
    body: &'a ScalarBody,
    potential: &'a P,
    damping: f64,
    force_n: f64,
    step_s: f64,
}

impl<P: Potential> Equation<'_, P> {
    fn residual(&self, midpoint: f64) -> f64 {
        let (from, to) = (self.body.position, self.body.position + self.step_s * midpoint);
        2.0 * self.body.mass_kg / self.step_s * (midpoint - self.body.velocity)
            + self.damping * midpoint
            + self.potential.mean_slope(from, to)
            - self.force_n
    }

    /// Derivative of the residual. That of the mean slope is `(U′(x⁺) − mean)/(x⁺ − x)`, with the limit `½ U″`, which
    /// also serves where the difference has no digits left.
    fn derivative(&self, midpoint: f64) -> f64 {
        let (from, to) = (self.body.position, self.body.position + self.step_s * midpoint);
        let (end, mean) = (self.potential.slope(to), self.potential.mean_slope(from, to));
        let limit = 0.5 * self.potential.curvature(to);
        let by_ends = if (end - mean).abs() > 1e-8 * end.abs() { (end - mean) / (to - from) } else { limit };
        let slope = if by_ends.is_finite() { by_ends } else { limit };
        2.0 * self.body.mass_kg / self.step_s + self.damping + self.step_s * slope
    }

    /// Newton's method, kept inside a bracket, and by bisection wherever it does not halve its steps.
    fn solve(&self) -> Option<f64> {
        let (mut below, mut above) = self.bracket()?;
        let mut guess = 0.5 * (below + above);
        let (mut last, mut before_last) = (above - below, above - below);
        for _ in 0..MAX_ITERATIONS {
            let residual = self.residual(guess);
            if residual == 0.0 {
                break;
            }
            if residual > 0.0 {
                above = guess;
            } else {
                below = guess;
            }
            let newton = guess - residual / self.derivative(guess);
            let welcome = newton > below && newton < above && 2.0 * (newton - guess).abs() < before_last;
            let next = if welcome { newton } else { 0.5 * (below + above) };
            let change = (next - guess).abs();
            (before_last, last) = (last, change);
            guess = next;
            if change <= f64::EPSILON * guess.abs() {
                break;
            }
        }
        Some(guess)
    }

    /// Two speeds between which the residual changes sign from − to +.
    fn bracket(&self) -> Option<(f64, f64)> {
        // Start from the motion with the potential made linear, which is the scale of the answer in stiff potentials.
        let start = -self.residual(0.0) / self.scale(0.0);
        let at_start = self.residual(start);
        if !at_start.is_finite() {
            return None;
        }
        if at_start == 0.0 {
            return Some((start, start));
        }
        let least = (f64::EPSILON * start.abs()).max(f64::MIN_POSITIVE);
        let mut reach = (at_start / self.scale(start)).abs().max(least);
        for _ in 0..MAX_DOUBLINGS {
            let end = if at_start > 0.0 { start - reach } else { start + reach };
            let at_end = self.residual(end);
            if at_start > 0.0 && at_end <= 0.0 {
                return Some((end, start));
            }
            if at_start < 0.0 && at_end >= 0.0 {
                return Some((start, end));
            }
            reach *= 2.0;
        }
        None
    }

    /// The derivative, or that without the potential where the potential curves the other way.
    fn scale(&self, midpoint: f64) -> f64 {
        self.derivative(midpoint).max(2.0 * self.body.mass_kg / self.step_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::pmi::{HertzContact, LinearSpring, Weight};

    /// `U = ½ a x² + ¼ b x⁴`.
    struct Duffing(f64, f64);

    impl Potential for Duffing {
        fn energy_j(&self, x: f64) -> f64 {
            0.5 * self.0 * x * x + 0.25 * self.1 * x.powi(4)
        }
        fn slope(&self, x: f64) -> f64 {
            self.0 * x + self.1 * x.powi(3)
        }
        fn curvature(&self, x: f64) -> f64 {
            self.0 + 3.0 * self.1 * x * x
        }
    }

    /// `U = a (1 − cos x)`.
    struct Pendulum(f64);

    impl Potential for Pendulum {
        fn energy_j(&self, x: f64) -> f64 {
            2.0 * self.0 * (0.5 * x).sin().powi(2)
        }
        fn slope(&self, x: f64) -> f64 {
            self.0 * x.sin()
        }
        fn curvature(&self, x: f64) -> f64 {
            self.0 * x.cos()
        }
    }

    /// Steps from 0.1 to 20 ms in an order that repeats nowhere near the periods of the motion.
    fn uneven_step_s(k: u32) -> f64 {
        1e-4 * 200.0_f64.powf((f64::from(k) * 0.618_033_988_749_895).fract())
    }

    fn worst_energy_error(potential: &impl Potential, mut body: ScalarBody, steps: u32) -> f64 {
        let energy = body.ledger().initial_j();
        (0..steps).fold(0.0, |worst: f64, k| {
            body.step(potential, 0.0, 0.0, uneven_step_s(k)).expect("bounded below");
            worst.max((body.ledger().total_j() / energy - 1.0).abs())
        })
    }

    #[test]
    fn nonlinear_oscillators_keep_their_energy_to_round_off_under_uneven_steps() {
        let duffing = |a, b, mass| {
            let potential = Duffing(a, b);
            let body = ScalarBody::new(mass, 0.3, 1.0, &potential).expect("sound");
            worst_energy_error(&potential, body, 100_000)
        };
        let errors = [
            // Hardening, stiff and light, and the double well, where the search has several roots to choose from.
            duffing(10.0, 50.0, 1.0),
            duffing(1e6, 1e9, 1e-3),
            duffing(-10.0, 50.0, 1.0),
            // The pendulum swinging wide, and turning over.
            worst_energy_error(
                &Pendulum(9.81),
                ScalarBody::new(1.0, 2.5, 0.0, &Pendulum(9.81)).expect("sound"),
                100_000,
            ),
            worst_energy_error(
                &Pendulum(9.81),
                ScalarBody::new(1.0, 0.0, 7.0, &Pendulum(9.81)).expect("sound"),
                100_000,
            ),
        ];
        assert!(errors.iter().all(|&e| e < 1e-11), "{errors:?}");
    }

    #[test]
    fn a_ball_bouncing_on_a_stiff_hertz_contact_keeps_its_energy() {
        let potential = (HertzContact { stiffness: 1e9, surface: 0.0 }, Weight { force_n: -0.01 * 9.81 });
        let body = ScalarBody::new(0.01, 0.1, 0.0, &potential).expect("sound");
        let error = worst_energy_error(&potential, body, 100_000);
        assert!(error < 1e-11, "{error:e}");
    }

    #[test]
    fn the_period_of_a_wide_pendulum_is_the_elliptic_integral() {
        // T = 2π √(l/g) / agm(1, cos θ₀/2), here with l = 1, g = 9.81.
        let (mut a, mut b) = (1.0_f64, (0.5 * 2.5_f64).cos());
        for _ in 0..8 {
            (a, b) = (0.5 * (a + b), (a * b).sqrt());
        }
        let period = 2.0 * std::f64::consts::PI / (9.81_f64.sqrt() * a);
        let angle_error_after_one_period = |steps: u32| {
            let mut body = ScalarBody::new(1.0, 2.5, 0.0, &Pendulum(9.81)).expect("sound");
            for _ in 0..steps {
                body.step(&Pendulum(9.81), 0.0, 0.0, period / f64::from(steps)).expect("bounded below");
            }
            body.velocity().abs()
        };
        let (coarse, fine) = (angle_error_after_one_period(400), angle_error_after_one_period(800));
        assert!(fine < 2e-3 && (coarse / fine - 4.0).abs() < 0.05, "{coarse:e} {fine:e}");
    }

    #[test]
    fn a_hertz_impact_lasts_and_sinks_as_hertz_says_and_returns_all_speed() {
        // δ = (5 m v²/4k)^{2/5}, t = 2 ∫₀¹ du/√(1 − u^{5/2}) δ/v = 2.943275 δ/v.
        let (mass, speed, stiffness) = (0.01, 2.0, 1e8);
        let potential = HertzContact { stiffness, surface: 0.0 };
        let depth = (1.25 * mass * speed * speed / stiffness).powf(0.4);
        let duration = 2.943_275 * depth / speed;
        let step_s = duration / 20_000.0;
        let mut body = ScalarBody::new(mass, 0.0, -speed, &potential).expect("sound");
        let (mut deepest, mut steps) = (0.0_f64, 0.0);
        while body.position() < 0.0 || steps == 0.0 {
            body.step(&potential, 0.0, 0.0, step_s).expect("bounded below");
            deepest = deepest.max(-body.position());
            steps += 1.0;
        }
        assert!((deepest / depth - 1.0).abs() < 1e-7, "{deepest} {depth}");
        assert!((steps * step_s / duration - 1.0).abs() < 1.5 / 20_000.0, "{steps}");
        assert!((body.velocity() / speed - 1.0).abs() < 1e-11, "{}", body.velocity());
    }

    #[test]
    fn a_linear_spring_gives_the_closed_form_of_the_midpoint_step() {
        let (m, k, d, f, t, x, v) = (0.2, 5e3, 1.5, 3.0, 5e-3, 0.01, -0.4);
        let spring = LinearSpring { stiffness: k, rest: 0.0 };
        let mut body = ScalarBody::new(m, x, v, &spring).expect("sound");
        let midpoint = body.step(&spring, d, f, t).expect("bounded below");
        let expected = (2.0 * m * v / t - k * x + f) / (2.0 * m / t + d + 0.5 * k * t);
        assert!((midpoint / expected - 1.0).abs() < 1e-14, "{midpoint} {expected}");
    }

    #[test]
    fn input_that_is_not_finite_leaves_the_body_as_it_was() {
        let spring = LinearSpring { stiffness: 1.0, rest: 0.0 };
        let mut body = ScalarBody::new(1.0, 0.5, 0.0, &spring).expect("sound");
        for (force, step_s) in [(f64::NAN, 1e-3), (f64::INFINITY, 1e-3), (0.0, 0.0), (0.0, f64::NAN)] {
            assert!(body.step(&spring, 0.0, force, step_s).is_none());
            assert_eq!((body.position(), body.velocity()), (0.5, 0.0));
        }
        assert!(ScalarBody::new(0.0, 0.0, 0.0, &spring).is_none());
    }
}
