//! Where the hand means to be: smooth movements, spirals and turns, in scene coordinates.
//!
//! Thread: haptic (RT).
//!
//! Movements have minimum jerk (Flash and Hogan 1985): with `σ = t/T`, the way done is `σ³ (10 − 15 σ + 6 σ²)`; the peak
//! speed is 15/8 of the mean. Rotation goes with the same profile along one axis.

use crate::math::{Pose, Vec3, exp_so3, tangents};

/// Shortest movement, s: hands do not move faster than they can be told to.
const DURATION_MIN_S: f64 = 0.15;

/// The meant motion at one instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meant {
    pub(super) pose: Pose,
    /// m/s in the scene.
    pub(super) velocity: Vec3,
    /// m/s² in the scene.
    pub(super) acceleration: Vec3,
    /// rad/s in the scene frame.
    pub(super) angular_velocity: Vec3,
    /// rad/s² in the scene frame.
    pub(super) angular_acceleration: Vec3,
}

impl Meant {
    pub(super) fn at_rest(pose: Pose) -> Self {
        Self {
            pose,
            velocity: Vec3::zeros(),
            acceleration: Vec3::zeros(),
            angular_velocity: Vec3::zeros(),
            angular_acceleration: Vec3::zeros(),
        }
    }
}

/// A movement from rest to rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    from: Pose,
    way: Vec3,
    /// Rotation vector in the scene frame; may be many turns.
    turn: Vec3,
    duration_s: f64,
}

impl Reach {
    /// A movement by `way` and `turn` at a mean `speed` and `rate`, whichever takes longer.
    pub(super) fn new(from: Pose, way: Vec3, turn: Vec3, speed: f64, rate: f64) -> Self {
        let time = |length: f64, speed: f64| if length > 0.0 { length / speed.max(1e-6) } else { 0.0 };
        let duration_s = time(way.norm(), speed).max(time(turn.norm(), rate)).max(DURATION_MIN_S);
        Self { from, way, turn, duration_s }
    }

    pub(super) fn duration_s(&self) -> f64 {
        self.duration_s
    }

    pub(super) fn at(&self, time_s: f64) -> Meant {
        let total = self.duration_s;
        let s = (time_s / total).clamp(0.0, 1.0);
        let done = s * s * s * (10.0 + s * (6.0 * s - 15.0));
        let rate = 30.0 * s * s * (1.0 - s) * (1.0 - s) / total;
        let change = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / (total * total);
        let rotation = exp_so3(&(self.turn * done)) * self.from.rotation;
        Meant {
            pose: Pose::from_parts((self.from.translation.vector + self.way * done).into(), rotation),
            velocity: self.way * rate,
            acceleration: self.way * change,
            angular_velocity: self.turn * rate,
            angular_acceleration: self.turn * change,
        }
    }
}

/// A stroke of a lever about an axis, from rest to rest. The hand does not turn with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stroke {
    /// The rotation, of a frame that means nothing else.
    turn: Reach,
    from: Pose,
    centre: Vec3,
    /// From the centre to the hand at the start.
    arm: Vec3,
}

impl Stroke {
    /// A stroke from `from` about an axis through `centre`, by `angle` at a mean `rate`.
    pub(super) fn new(from: Pose, centre: Vec3, axis: &Vec3, angle: f64, rate: f64) -> Self {
        let arm = from.translation.vector - centre;
        let turn = Reach::new(Pose::identity(), Vec3::zeros(), axis * angle, 1.0, rate);
        Self { turn, from, centre, arm }
    }

    pub(super) fn duration_s(&self) -> f64 {
        self.turn.duration_s()
    }

    pub(super) fn at(&self, time_s: f64) -> Meant {
        let Meant { pose, angular_velocity: rate, angular_acceleration: change, .. } = self.turn.at(time_s);
        let arm = pose.rotation * self.arm;
        let velocity = rate.cross(&arm);
        Meant {
            velocity,
            acceleration: change.cross(&arm) + rate.cross(&velocity),
            ..Meant::at_rest(Pose::from_parts((self.centre + arm).into(), self.from.rotation))
        }
    }
}

/// An Archimedean spiral at constant speed, out to a radius and in again, for ever.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spiral {
    centre: Pose,
    axes: (Vec3, Vec3),
    radius: f64,
    /// Growth of the radius per radian.
    growth: f64,
    speed: f64,
    angle: f64,
    place: Vec3,
}

impl Spiral {
    /// A spiral about `centre` across `normal`.
    pub(super) fn new(centre: Pose, normal: &Vec3, radius: f64, pitch: f64, speed: f64) -> Self {
        let normal = normal.try_normalize(0.0).unwrap_or(Vec3::z());
        Self {
            centre,
            axes: tangents(&normal),
            radius,
            growth: (pitch / std::f64::consts::TAU).max(1e-9),
            speed,
            angle: 0.0,
            place: Vec3::zeros(),
        }
    }

    /// Radius at the present angle: up and down between zero and the largest.
    fn present_radius(&self) -> f64 {
        let grown = (self.angle * self.growth) % (2.0 * self.radius.max(1e-9));
        self.radius - (self.radius - grown).abs()
    }

    /// Goes on for `dt` seconds.
    pub(super) fn advance(&mut self, dt: f64) -> Meant {
        // ds² = (r² + (dr/dθ)²) dθ²
        self.angle += self.speed * dt / self.present_radius().hypot(self.growth);
        let (radius, last) = (self.present_radius(), self.place);
        self.place = self.axes.0 * (radius * self.angle.cos()) + self.axes.1 * (radius * self.angle.sin());
        let position = self.centre.translation.vector + self.place;
        Meant {
            velocity: (self.place - last) / dt,
            ..Meant::at_rest(Pose::from_parts(position.into(), self.centre.rotation))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reach_starts_and_ends_at_rest_and_its_rates_are_derivatives() {
        let from = Pose::new(Vec3::new(0.1, 0.0, 0.2), Vec3::new(0.3, -0.1, 0.5));
        let (way, turn) = (Vec3::new(0.05, -0.02, 0.01), Vec3::new(0.0, 7.0, 0.0));
        let reach = Reach::new(from, way, turn, 0.1, 2.0);
        assert!((reach.duration_s() - 3.5).abs() < 1e-12);
        for (time, place) in [(0.0, 0.0), (3.5, 1.0), (9.0, 1.0)] {
            let meant = reach.at(time);
            assert!((meant.pose.translation.vector - from.translation.vector - way * place).norm() < 1e-15);
            assert!(meant.velocity.norm() + meant.acceleration.norm() + meant.angular_velocity.norm() < 1e-12);
        }
        let (early, meant, late) = (reach.at(1.2 - 1e-4), reach.at(1.2), reach.at(1.2 + 1e-4));
        let velocity = (late.pose.translation.vector - early.pose.translation.vector) / 2e-4;
        assert!((velocity - meant.velocity).norm() < 1e-8);
        assert!(((late.velocity - early.velocity) / 2e-4 - meant.acceleration).norm() < 1e-8);
        let turned = (late.pose.rotation * early.pose.rotation.inverse()).scaled_axis() / 2e-4;
        assert!((turned - meant.angular_velocity).norm() < 1e-6, "{turned}");
        // Peak speed is 15/8 of the mean.
        assert!((reach.at(1.75).velocity.norm() - way.norm() / 3.5 * 1.875).abs() < 1e-12);
    }

    #[test]
    fn a_stroke_goes_round_and_its_rates_are_derivatives() {
        let from = Pose::new(Vec3::new(0.1, 0.0, 0.2), Vec3::new(0.3, -0.1, 0.5));
        let (axis, lever) = (Vec3::z(), Vec3::new(0.0, 0.08, 0.0));
        let centre = from.translation.vector - lever;
        let stroke = Stroke::new(from, centre, &axis, -0.8, 0.5);
        assert!((stroke.duration_s() - 1.6).abs() < 1e-12);
        let end = stroke.at(2.0);
        let there = centre + exp_so3(&Vec3::new(0.0, 0.0, -0.8)) * lever;
        assert!((end.pose.translation.vector - there).norm() < 1e-15 && end.velocity.norm() < 1e-12);
        assert!(end.pose.rotation.angle_to(&from.rotation) < 1e-12);
        let (early, meant, late) = (stroke.at(0.7 - 1e-4), stroke.at(0.7), stroke.at(0.7 + 1e-4));
        let velocity = (late.pose.translation.vector - early.pose.translation.vector) / 2e-4;
        assert!((velocity - meant.velocity).norm() < 1e-8);
        assert!(((late.velocity - early.velocity) / 2e-4 - meant.acceleration).norm() < 1e-7);
    }

    #[test]
    fn a_spiral_keeps_its_speed_pitch_and_radius() {
        let normal = Vec3::new(0.0, 0.6, -0.8);
        let mut spiral = Spiral::new(Pose::identity(), &normal, 4e-3, 1e-3, 0.02);
        let (mut farthest, mut returned) = (0.0_f64, false);
        for tick in 0..12_000 {
            let meant = spiral.advance(1e-3);
            let place = meant.pose.translation.vector;
            assert!(place.dot(&normal).abs() < 1e-12);
            farthest = farthest.max(place.norm());
            // The first turn and the turning points are short of speed by the chord.
            if (1000..4500).contains(&tick) {
                assert!((meant.velocity.norm() - 0.02).abs() < 0.002, "{tick}: {}", meant.velocity.norm());
            }
            returned |= tick > 5000 && place.norm() < 0.2e-3;
        }
        // π r²/pitch = 50 mm of way lead out: 2.5 s.
        assert!((farthest - 4e-3).abs() < 0.05e-3 && returned, "{farthest}");
    }
}
