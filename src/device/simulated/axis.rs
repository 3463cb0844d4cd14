//! Motion of one degree of freedom of the handle over a short interval, with true sticking.
//!
//! Thread: haptic (RT).
//!
//! `m v̇ = u + p + k e + c (w − v) − b v − F sgn v`: motor force `u`, the hand's own force `p`, its spring to a target at
//! distance `e` moving at `w`, drag `b`, Coulomb friction `F`. The midpoint rule with mean velocity `v̂`,
//!
//! ```text
//!  (2m/τ + c + b + k τ/2) v̂ = (2m/τ) v₀ + u + p + k e + c w − s F        v₁ = 2 v̂ − v₀
//! ```
//!
//! makes work and kinetic energy balance to rounding: `m (v₁² − v₀²)/2 = m (v₁ − v₀) v̂`. The direction `s` of friction
//! must not change inside an interval, so an interval in which the velocity would pass zero is cut there, at the root of
//! `(k |v₀|/4) τ² − g τ − m |v₀| = 0`, `g = s (u + p + k e + c w − s F) − (c + b) |v₀|/2`. At rest the handle sticks while
//! friction can hold it. Regularised friction was rejected: it creeps under load and chatters when stiff.

/// What resists motion along the axis, and the hand's impedance.
#[derive(Clone, Copy, Debug)]
pub(in crate::device) struct AxisModel {
    /// Moving inertia `m`, device and hand.
    pub(in crate::device) inertia: f64,
    /// Drag `b` of the device.
    pub(in crate::device) drag: f64,
    /// Coulomb friction `F` of the device.
    pub(in crate::device) friction: f64,
    /// Spring `k` of the hand.
    pub(in crate::device) stiffness: f64,
    /// Damper `c` of the hand.
    pub(in crate::device) damping: f64,
}

/// What drives motion along the axis, constant over the interval.
#[derive(Clone, Copy, Debug)]
pub(in crate::device) struct AxisDrive {
    /// Motor force `u`.
    pub(in crate::device) motor: f64,
    /// The hand's own force `p`.
    pub(in crate::device) push: f64,
    /// Distance `e` from the handle at the start of the interval to the hand's target in its middle.
    pub(in crate::device) distance: f64,
    /// Velocity `w` of the target.
    pub(in crate::device) target_velocity: f64,
}

/// What became of the axis: the way it went and who did what work.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::device) struct AxisMotion {
    /// Displacement.
    pub(in crate::device) way: f64,
    /// Velocity at the end.
    pub(in crate::device) velocity: f64,
    /// Work of the motors.
    pub(in crate::device) motor_work: f64,
    /// Work of the hand: spring, damper and its own force.
    pub(in crate::device) hand_work: f64,
    /// Energy lost in drag; never negative.
    pub(in crate::device) drag_loss: f64,
    /// Energy lost in friction; never negative.
    pub(in crate::device) friction_loss: f64,
}

impl AxisModel {
    /// Moves an axis that has velocity `velocity` for `interval` seconds.
    pub(in crate::device) fn advance(&self, velocity: f64, drive: &AxisDrive, interval: f64) -> AxisMotion {
        let mut motion = AxisMotion { velocity, ..AxisMotion::default() };
        let mut left = interval;
        if velocity != 0.0 {
            // 1 slide on in the direction of motion, to the end or to where it stops
            let sign = velocity.signum();
            let end = 2.0 * self.mean_velocity(velocity, drive, 0.0, sign, left) - velocity;
            if self.friction == 0.0 || end * sign >= 0.0 {
                self.slide(&mut motion, drive, sign, left);
                return motion;
            }
            let stop = self.time_to_stop(velocity, drive, sign).min(left);
            self.slide(&mut motion, drive, sign, stop);
            // Exactly, where rounding would leave a remainder that friction then acts on.
            motion.velocity = 0.0;
            left -= stop;
        }
        // 2 at rest: stick, or start in the direction of what overcomes friction
        let force = self.force_at_rest(drive, motion.way);
        if force.abs() > self.friction && left > 0.0 {
            self.slide(&mut motion, drive, force.signum(), left);
        }
        motion
    }

    /// Force on a resting axis that has moved by `way` since the start of the interval, without friction.
    fn force_at_rest(&self, drive: &AxisDrive, way: f64) -> f64 {
        drive.motor + drive.push + self.stiffness * (drive.distance - way) + self.damping * drive.target_velocity
    }

    fn mean_velocity(&self, velocity: f64, drive: &AxisDrive, way: f64, sign: f64, interval: f64) -> f64 {
        let inertia = 2.0 * self.inertia / interval;
        (inertia * velocity + self.force_at_rest(drive, way) - sign * self.friction)
            / (inertia + self.damping + self.drag + 0.5 * self.stiffness * interval)
    }

    fn time_to_stop(&self, velocity: f64, drive: &AxisDrive, sign: f64) -> f64 {
        let speed = velocity.abs();
        let gain = sign * self.force_at_rest(drive, 0.0) - self.friction - 0.5 * (self.damping + self.drag) * speed;
        2.0 * self.inertia * speed / ((gain * gain + self.stiffness * self.inertia * speed * speed).sqrt() - gain)
    }

    /// One interval in which friction keeps its direction.
    fn slide(&self, motion: &mut AxisMotion, drive: &AxisDrive, sign: f64, interval: f64) {
        let mean = self.mean_velocity(motion.velocity, drive, motion.way, sign, interval);
        let step = mean * interval;
        let hand = drive.push
            + self.stiffness * (drive.distance - motion.way - 0.5 * step)
            + self.damping * (drive.target_velocity - mean);
        motion.motor_work += drive.motor * step;
        motion.hand_work += hand * step;
        motion.drag_loss += self.drag * mean * step;
        motion.friction_loss += sign * self.friction * step;
        motion.velocity = 2.0 * mean - motion.velocity;
        motion.way += step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FREE: AxisModel = AxisModel { inertia: 0.2, drag: 0.0, friction: 0.0, stiffness: 0.0, damping: 0.0 };

    fn push(push: f64) -> AxisDrive {
        AxisDrive { motor: 0.0, push, distance: 0.0, target_velocity: 0.0 }
    }

    #[test]
    fn a_sliding_mass_stops_where_friction_says_and_stays() {
        // v² / (2 F/m) of way, m v / F of time.
        let model = AxisModel { friction: 0.5, ..FREE };
        let (mut way, mut velocity) = (0.0, 0.1);
        for _ in 0..1000 {
            let motion = model.advance(velocity, &push(0.0), 1e-4);
            way += motion.way;
            velocity = motion.velocity;
        }
        assert_eq!(velocity, 0.0);
        assert!((way - 0.1 * 0.1 * 0.2 / (2.0 * 0.5)).abs() < 1e-15, "{way}");
    }

    #[test]
    fn friction_holds_up_to_its_limit_and_the_surplus_accelerates() {
        let model = AxisModel { friction: 0.5, ..FREE };
        for sign in [1.0, -1.0] {
            let held = model.advance(0.0, &push(sign * 0.5), 1e-3);
            assert_eq!((held.way, held.velocity), (0.0, 0.0));
            let moved = model.advance(0.0, &push(sign * 0.7), 1e-3);
            assert!((moved.velocity - sign * 0.2 / 0.2 * 1e-3).abs() < 1e-18);
        }
    }

    proptest! {
        #[test]
        fn work_and_energy_balance_and_friction_never_gives(
            v in -1.0..1.0_f64, u in -8.0..8.0_f64, p in -5.0..5.0_f64, e in -0.02..0.02_f64, w in -0.3..0.3_f64,
            drag in 0.0..5.0_f64, friction in 0.0..2.0_f64, k in 0.0..1000.0_f64, c in 0.0..30.0_f64,
            interval in 1e-5..1e-2_f64,
        ) {
            let model = AxisModel { inertia: 0.3, drag, friction, stiffness: k, damping: c };
            let motion = model.advance(v, &AxisDrive { motor: u, push: p, distance: e, target_velocity: w }, interval);
            let kinetic = 0.5 * model.inertia * (motion.velocity.powi(2) - v * v);
            let work = motion.motor_work + motion.hand_work - motion.drag_loss - motion.friction_loss;
            prop_assert!((kinetic - work).abs() < 1e-14, "{kinetic} {work}");
            prop_assert!(motion.friction_loss >= 0.0 && motion.drag_loss >= 0.0);
        }

        #[test]
        fn the_mirror_image_moves_as_the_mirror_image(
            v in -0.1..0.1_f64, u in -2.0..2.0_f64, e in -0.01..0.01_f64, w in -0.1..0.1_f64
        ) {
            let model = AxisModel { inertia: 0.3, drag: 0.5, friction: 0.6, stiffness: 300.0, damping: 9.0 };
            let drive = AxisDrive { motor: u, push: 0.3, distance: e, target_velocity: w };
            let mirrored = AxisDrive { motor: -u, push: -0.3, distance: -e, target_velocity: -w };
            let (one, other) = (model.advance(v, &drive, 1e-3), model.advance(-v, &mirrored, 1e-3));
            prop_assert_eq!((one.way, one.velocity), (-other.way, -other.velocity));
            prop_assert_eq!(one.friction_loss, other.friction_loss);
        }

        #[test]
        fn a_stop_inside_an_interval_is_the_stop_of_the_exact_motion(
            v in 0.001..0.05_f64, u in -2.0..-0.1_f64, friction in 0.1..1.0_f64
        ) {
            // Constant forces: the midpoint rule is exact, so cutting the interval in two must not matter.
            let model = AxisModel { friction, ..FREE };
            let whole = model.advance(v, &push(u), 0.1);
            let first = model.advance(v, &push(u), 0.03);
            let second = model.advance(first.velocity, &push(u), 0.07);
            prop_assert!((whole.way - first.way - second.way).abs() < 1e-14);
            prop_assert!((whole.velocity - second.velocity).abs() < 1e-13);
        }
    }
}
