//! The last stage before a device: turns a wanted force into a [`SafeForce`], the only thing a device accepts.
//!
//! Thread: haptic (RT).
//!
//! In order: finite → brake above the speed limit → slew → magnitude → power → energy. Each stage after the slew can only
//! take energy out or make the force smaller, so that the energy bound, checked last, holds for what is sent.
//!
//! Energy bound. With the reserve `E` (what the hand has put in and not got back) and the displacement of the coming
//! interval known to within a ball, `Δx ∈ u + ρ`, the motors give at most `f·u + ‖f‖ρ`. The device's own friction `f_c`
//! takes its part on the way to the hand: `f·Δx − f_c ‖Δx‖ ≤ (1 − f_c/‖f‖) f·Δx` for every direction, so that a force below
//! friction gives the hand nothing. The sum is kept below `E`, first by drag along the motion (`f − c u`, which loses
//! least of what the hand feels), then by scaling.

use super::{HandForce, Limits, PerPart};
use crate::math::Vec3;
use crate::shared::Faults;

/// A force that has passed the limiter. Nothing else can make one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SafeForce(HandForce);

impl SafeForce {
    /// No force: always safe.
    #[must_use]
    pub fn zero() -> Self {
        Self(HandForce::zero())
    }

    /// The force itself.
    #[must_use]
    pub fn get(&self) -> &HandForce {
        &self.0
    }
}

/// Motion of the handle as the limiter needs it, in the device's base frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct HandMotion {
    /// Velocity, m/s.
    pub linear: Vec3,
    /// Angular velocity, rad/s.
    pub angular: Vec3,
}

/// What may leave through the device in the interval the force will act in.
#[derive(Clone, Copy, Debug)]
pub struct EnergyBudget {
    /// Energy that may be given, J.
    pub reserve_j: f64,
    /// Expected displacement `u`, m.
    pub linear: Vec3,
    /// Expected rotation, rad.
    pub angular: Vec3,
    /// Radius `ρ` of the ball the displacement lies in about `u`, m and rad.
    pub slack: PerPart,
    /// Coulomb friction of the device that can be relied on, N and N·m.
    pub friction: PerPart,
}

impl EnergyBudget {
    /// The most energy `force` can give to the hand in the interval.
    #[must_use]
    pub fn worst_case(&self, force: &HandForce) -> f64 {
        part_worst_case(&force.force, &self.linear, self.slack.linear, self.friction.linear)
            + part_worst_case(&force.torque, &self.angular, self.slack.angular, self.friction.angular)
    }
}

/// `(1 − f_c/‖f‖)₊ (f·u + ‖f‖ρ)`.
fn part_worst_case(force: &Vec3, expected: &Vec3, slack: f64, friction: f64) -> f64 {
    let size = force.norm();
    if size <= friction {
        return 0.0;
    }
    (1.0 - friction / size) * (force.dot(expected) + size * slack)
}

/// Keeps what the limiter must remember between ticks: the force it let through last.
#[derive(Clone, Copy, Debug)]
pub struct Limiter {
    limits: Limits,
    /// What the limits can never be widened beyond.
    widest: Limits,
    last: HandForce,
}

impl Limiter {
    /// A limiter that has let nothing through yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, widest: limits, last: HandForce::zero() }
    }

    /// The limits in force.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Changes the limits of force and speed, never to more than they were when the limiter was made.
    pub fn tighten(&mut self, force_n: f64, speed_m_per_s: f64) {
        self.limits.force.linear = force_n.min(self.widest.force.linear);
        self.limits.speed.linear = speed_m_per_s.min(self.widest.speed.linear);
    }

    /// Lets nothing through, and starts the slew from zero again.
    pub fn zero(&mut self) -> SafeForce {
        self.last = HandForce::zero();
        SafeForce::zero()
    }

    /// The nearest safe force to `wanted`; says in `faults` what it had to change. `budget` is `None` when the energy
    /// bound is switched off.
    pub fn limit(
        &mut self,
        wanted: HandForce,
        motion: &HandMotion,
        budget: Option<&EnergyBudget>,
        period_s: f64,
        faults: &mut Faults,
    ) -> SafeForce {
        self.limit_carrying(wanted, &HandForce::zero(), motion, budget, period_s, faults)
    }

    /// As [`Self::limit`], for a force of which the part `carried` holds up the device's own weight. That part counts like any
    /// other for magnitude, slew and power, but its work goes into the raised device and not into the hand: energy is bounded
    /// for the rest alone.
    pub fn limit_carrying(
        &mut self,
        wanted: HandForce,
        carried: &HandForce,
        motion: &HandMotion,
        budget: Option<&EnergyBudget>,
        period_s: f64,
        faults: &mut Faults,
    ) -> SafeForce {
        // 1 finite
        if !wanted.is_finite() {
            faults.set(Faults::FORCE_INVALID);
            return self.zero();
        }
        let limits = &self.limits;
        let mut force = wanted;
        // 2 brake
        let braked = brake(&mut force.force, &motion.linear, limits.speed.linear, limits.damping.linear)
            | brake(&mut force.torque, &motion.angular, limits.speed.angular, limits.damping.angular);
        faults.set_if(Faults::SPEED_LIMITED, braked);
        // 3 slew
        let slewed = slew(&mut force.force, &self.last.force, limits.slew.linear * period_s)
            | slew(&mut force.torque, &self.last.torque, limits.slew.angular * period_s);
        faults.set_if(Faults::SLEW_LIMITED, slewed);
        // 4 magnitude
        let clamped = clamp(&mut force.force, limits.force.linear) | clamp(&mut force.torque, limits.force.angular);
        faults.set_if(Faults::FORCE_LIMITED, clamped);
        // 5 power
        let power = force.force.dot(&motion.linear) + force.torque.dot(&motion.angular);
        if power > limits.power_w {
            scale(&mut force, limits.power_w / power);
            faults.set(Faults::POWER_LIMITED);
        }
        // 6 energy
        if let Some(budget) = budget {
            let mut felt = force.without(carried);
            if bound_energy(&mut felt, budget, limits, period_s) {
                faults.set(Faults::PASSIVITY_LIMITED);
                // Taking away what opposed the weight can leave more than before. Less of what is felt gives the hand no more energy;
                // less of what carries the weight would be a force on the hand that nobody has bounded.
                fit(&mut felt.force, &carried.force, limits.force.linear);
                fit(&mut felt.torque, &carried.torque, limits.force.angular);
                force = felt.with(carried);
                clamp(&mut force.force, limits.force.linear);
                clamp(&mut force.torque, limits.force.angular);
            }
        }
        self.last = force;
        SafeForce(force)
    }
}

/// Drag against motion faster than `limit`; true when it acted.
fn brake(force: &mut Vec3, velocity: &Vec3, limit: f64, damping: f64) -> bool {
    let speed = velocity.norm();
    if speed <= limit {
        return false;
    }
    *force -= velocity * (damping * (speed - limit) / speed);
    true
}

/// Keeps the change from `last` within `step`, but lets the force fall towards zero at once; true when it acted.
fn slew(force: &mut Vec3, last: &Vec3, step: f64) -> bool {
    // Start from the point between zero and the last force that is nearest to the new one: falling is free.
    let square = last.norm_squared();
    let start = if square > 0.0 { last * (force.dot(last) / square).clamp(0.0, 1.0) } else { Vec3::zeros() };
    let change = *force - start;
    let size = change.norm();
    if size <= step {
        return false;
    }
    *force = start + change * (step / size);
    true
}

/// Keeps the direction and bounds the length; true when it acted.
fn clamp(force: &mut Vec3, limit: f64) -> bool {
    let size = force.norm();
    if size <= limit {
        return false;
    }
    // One part in 10¹² below, so that rounding cannot leave the result above the limit.
    *force *= limit * (1.0 - 1e-12) / size;
    true
}

/// Makes a part smaller until it is within `limit` together with what is `carried`.
fn fit(felt: &mut Vec3, carried: &Vec3, limit: f64) {
    if (*felt + carried).norm() > limit {
        let whole = *felt;
        *felt = whole * (1.0 - least(|c| (whole * (1.0 - c) + carried).norm() <= limit));
    }
}

fn scale(force: &mut HandForce, factor: f64) {
    force.force *= factor;
    force.torque *= factor;
}

/// See the file's head; true when it acted.
fn bound_energy(force: &mut HandForce, budget: &EnergyBudget, limits: &Limits, period_s: f64) -> bool {
    let reserve = budget.reserve_j.max(0.0);
    if budget.worst_case(force) <= reserve {
        return false;
    }
    // Least drag that meets the bound, or as much as the device stands.
    let wanted = *force;
    let dragged = |c: f64| HandForce {
        force: wanted.force - budget.linear * (c * limits.damping.linear / period_s),
        torque: wanted.torque - budget.angular * (c * limits.damping.angular / period_s),
    };
    *force = dragged(least(|c| budget.worst_case(&dragged(c)) <= reserve));
    clamp(&mut force.force, limits.force.linear);
    clamp(&mut force.torque, limits.force.angular);
    // What is left to do scaling does: no force gives nothing.
    if budget.worst_case(force) > reserve {
        let kept = *force;
        let scaled = |c: f64| HandForce { force: kept.force * (1.0 - c), torque: kept.torque * (1.0 - c) };
        *force = scaled(least(|c| budget.worst_case(&scaled(c)) <= reserve));
    }
    true
}

/// Least number between 0 and 1 that `enough` accepts, to 2⁻³⁰ and on the accepted side; 1 if it accepts none below.
fn least(enough: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..30 {
        let middle = 0.5 * (low + high);
        if enough(middle) { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits() -> Limits {
        let part = |linear, angular| PerPart { linear, angular };
        Limits {
            force: part(8.0, 0.2),
            slew: part(2000.0, 50.0),
            power_w: 2.0,
            reserve_j: 0.1,
            speed: part(1.0, 10.0),
            acceleration: part(150.0, 1500.0),
            stiffness: part(3000.0, 5.0),
            damping: part(20.0, 0.05),
            workspace_radius_m: 0.05,
            watchdog_s: None,
        }
    }

    fn vector(size: f64) -> impl Strategy<Value = Vec3> {
        [-size..size, -size..size, -size..size].prop_map(|[x, y, z]| Vec3::new(x, y, z))
    }

    proptest! {
        #[test]
        fn no_sequence_of_wanted_forces_gets_past_any_limit(
            steps in prop::collection::vec((vector(100.0), vector(3.0), vector(3.0), vector(30.0), 0.0..1e-3), 1..40)
        ) {
            let limits = limits();
            let mut limiter = Limiter::new(limits);
            let slack = PerPart { linear: 7.5e-5, angular: 7.5e-4 };
            let friction = PerPart { linear: 0.1, angular: 1e-3 };
            for (force, torque, v, w, reserve_j) in steps {
                let motion = HandMotion { linear: v, angular: w };
                let budget = EnergyBudget { reserve_j, linear: v * 1e-3, angular: w * 1e-3, slack, friction };
                let mut faults = Faults::NONE;
                let safe = limiter.limit(HandForce { force, torque }, &motion, Some(&budget), 1e-3, &mut faults);
                let safe = safe.get();
                prop_assert!(safe.force.norm() <= limits.force.linear && safe.torque.norm() <= limits.force.angular);
                prop_assert!(budget.worst_case(safe) <= reserve_j * (1.0 + 1e-9) + 1e-15);
            }
        }
    }

    #[test]
    fn a_non_finite_force_becomes_zero_and_is_reported() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut faults = Faults::NONE;
            let wanted = HandForce { force: Vec3::new(1.0, bad, 0.0), torque: Vec3::zeros() };
            let safe = Limiter::new(limits()).limit(wanted, &HandMotion::default(), None, 1e-3, &mut faults);
            assert_eq!(safe, SafeForce::zero());
            assert!(faults.contains(Faults::FORCE_INVALID));
        }
    }

    #[test]
    fn the_magnitude_limit_keeps_the_direction() {
        let wanted = HandForce { force: Vec3::new(30.0, -40.0, 0.0), torque: Vec3::zeros() };
        let mut limiter = Limiter::new(limits());
        let mut faults = Faults::NONE;
        let mut safe = SafeForce::zero();
        for _ in 0..10 {
            safe = limiter.limit(wanted, &HandMotion::default(), None, 1e-3, &mut faults);
        }
        assert!((safe.get().force - Vec3::new(4.8, -6.4, 0.0)).norm() < 1e-9, "{:?}", safe);
        assert!(faults.contains(Faults::FORCE_LIMITED) && faults.contains(Faults::SLEW_LIMITED));
    }

    #[test]
    fn a_force_may_fall_to_zero_at_once_but_not_jump_to_the_other_side() {
        let mut force = Vec3::new(-5.0, 0.0, 0.0);
        assert!(slew(&mut force, &Vec3::new(5.0, 0.0, 0.0), 2.0));
        assert!((force - Vec3::new(-2.0, 0.0, 0.0)).norm() < 1e-15);
        let mut force = Vec3::zeros();
        assert!(!slew(&mut force, &Vec3::new(5.0, 0.0, 0.0), 2.0));
    }

    #[test]
    fn pressing_in_against_motion_is_never_limited_by_energy() {
        // The hand moves in, the wall pushes back: the interval can only take energy from the hand.
        let budget = EnergyBudget {
            reserve_j: 0.0,
            linear: Vec3::new(0.0, 0.0, -1e-4),
            angular: Vec3::zeros(),
            slack: PerPart { linear: 7.5e-5, angular: 0.0 },
            friction: PerPart { linear: 0.0, angular: 0.0 },
        };
        let mut force = HandForce { force: Vec3::new(0.0, 0.0, 3.0), torque: Vec3::zeros() };
        assert!(!bound_energy(&mut force, &budget, &limits(), 1e-3));
    }

    #[test]
    fn the_weight_of_the_device_is_carried_without_reserve_and_never_beyond_the_limit() {
        // The hand lifts the device: the motors work on it, and no reserve is needed for that.
        let up = |n: f64| HandForce { force: Vec3::new(0.0, 0.0, n), torque: Vec3::zeros() };
        let budget = EnergyBudget {
            reserve_j: 0.0,
            linear: Vec3::new(0.0, 0.0, 1e-4),
            angular: Vec3::zeros(),
            slack: PerPart { linear: 7.5e-5, angular: 0.0 },
            friction: PerPart { linear: 0.0, angular: 0.0 },
        };
        let rising = HandMotion { linear: Vec3::new(0.0, 0.0, 0.1), angular: Vec3::zeros() };
        let settle = |wanted: HandForce, carried: HandForce| {
            let (mut limiter, mut safe) = (Limiter::new(limits()), SafeForce::zero());
            for _ in 0..10 {
                safe = limiter.limit_carrying(wanted, &carried, &rising, Some(&budget), 1e-3, &mut Faults::default());
            }
            safe.get().force.z
        };
        assert!((settle(up(2.0), up(2.0)) - 2.0).abs() < 1e-12);
        // What comes on top of the weight in the direction of motion needs reserve, and there is none.
        assert!((settle(up(3.0), up(2.0)) - 2.0).abs() < 1e-6);
        assert!(settle(up(2.0), HandForce::zero()).abs() < 1e-6);
        // A weight beyond the limit is carried as far as the limit goes.
        assert!(settle(up(50.0), up(50.0)) <= limits().force.linear);
    }
}
