//! Velocity from quantised positions.
//!
//! Thread: haptic (RT).
//!
//! First-order adaptive windowing (Janabi-Sharifi, Hayward and Chen 2000, "Discrete-time adaptive windowing for velocity
//! estimation", §III): take the longest window over which a straight line explains every sample to within the
//! measurement error `d`; its slope is the velocity. At rest the window is long and the estimate quiet, in fast motion it
//! is short and the estimate prompt. Two ways to draw the line: through both ends (end fit), or by least squares (best
//! fit), which is quieter by the averaging and costs a little more.
//!
//! Bound `d`: with readings rounded to a step `q`, both ends and the sample between are off by at most `q/2`, so a sample
//! can stray from the line through the ends by `q` although the motion is straight. Hence `d = q`.

use super::{HandMotion, PerPart};
use crate::math::{Pose, Rot, Vec3, log_so3};
use crate::shared::{MonoNs, NS_PER_S};

/// Longest window, ns: fifteen periods of 1 ms, and half of one for a tick that came late. With steps of 10 µm it resolves
/// 0.7 mm/s; longer ones only add delay to slow motion. A time and not a count: at 4 kHz sixteen samples would be four times
/// as noisy as at 1 kHz.
const WINDOW_NS: u64 = 15_500_000;
/// Most samples in it: 15 ms at 4 kHz.
pub const WINDOW_MAX: usize = 61;

/// How the line is drawn through the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Through the oldest and the newest sample.
    End,
    /// Least squares over all samples.
    Best,
}

/// Adaptive window over one coordinate.
#[derive(Clone, Copy, Debug)]
pub struct AdaptiveWindow {
    fit: Fit,
    error_bound: f64,
    // Newest first. Shifting the pairs costs less than the index arithmetic of a ring in the loops below.
    at: [MonoNs; WINDOW_MAX],
    value: [f64; WINDOW_MAX],
    count: usize,
}

impl AdaptiveWindow {
    /// An empty window for readings that are wrong by at most half of `error_bound`.
    #[must_use]
    pub fn new(fit: Fit, error_bound: f64) -> Self {
        Self { fit, error_bound, at: [MonoNs(0); WINDOW_MAX], value: [0.0; WINDOW_MAX], count: 0 }
    }

    /// Forgets everything: after a jump or a long silence.
    pub fn reset(&mut self) {
        self.count = 0;
    }

    /// Takes the next reading and gives the velocity. Zero until there are two readings; a reading that is not later than
    /// the one before replaces it.
    pub fn update(&mut self, at: MonoNs, value: f64) -> f64 {
        if self.count == 0 || at > self.at[0] {
            self.at.copy_within(..WINDOW_MAX - 1, 1);
            self.value.copy_within(..WINDOW_MAX - 1, 1);
            self.count = (self.count + 1).min(WINDOW_MAX);
        }
        self.at[0] = at;
        self.value[0] = value;
        self.slope()
    }

    /// Slope of the longest window that a line explains.
    fn slope(&self) -> f64 {
        // Ages in seconds and values, both relative to the newest sample: small numbers, so the sums below do not cancel.
        let (mut age, mut value) = ([0.0; WINDOW_MAX], [0.0; WINDOW_MAX]);
        let mut count = 0;
        while count < self.count {
            let age_ns = self.at[0].since(self.at[count]);
            // Two samples far apart still say more than none.
            if age_ns > WINDOW_NS && count > 1 {
                break;
            }
            age[count] = age_ns as f64 / NS_PER_S as f64;
            value[count] = self.value[count] - self.value[0];
            count += 1;
        }
        // Rounded readings stray by exactly `q` again and again; rounding in here must not decide those cases.
        let bound = self.error_bound * (1.0 + 1e-9);
        let (mut velocity, mut sums) = (0.0, [0.0; 4]);
        for length in 2..=count {
            let end = length - 1;
            let (intercept, slope) = match self.fit {
                Fit::End => (0.0, -value[end] / age[end]),
                Fit::Best => least_squares(&mut sums, age[end], value[end], length),
            };
            let explained = (0..length).all(|i| (value[i] - (intercept - slope * age[i])).abs() <= bound);
            // Two samples always lie on a line; rounding in the fit must not reject them.
            if length > 2 && !explained {
                break;
            }
            velocity = slope;
        }
        velocity
    }
}

/// Adds a sample to the sums `[Σa, Σv, Σa², Σav]` of ages and values, the newest sample being zero in both; gives the line
/// of least squares over all `count` samples: its value at the newest, its slope in time.
fn least_squares(sums: &mut [f64; 4], age: f64, value: f64, count: usize) -> (f64, f64) {
    for (sum, term) in sums.iter_mut().zip([age, value, age * age, age * value]) {
        *sum += term;
    }
    let [ages, values, squares, products] = *sums;
    let n = count as f64;
    let slope = (ages * values - n * products) / (n * squares - ages * ages);
    ((values + slope * ages) / n, slope)
}

/// Rotation as three coordinates that can be differenced: the sum of its increments `log(R_k R_{k−1}ᵀ)`, each in the base
/// frame. Its derivative is the angular velocity; it does not wrap at half a turn.
#[derive(Clone, Copy, Debug)]
pub struct RotationSum {
    last: Option<Rot>,
    sum: Vec3,
}

impl RotationSum {
    /// Starts at zero with the first rotation it is given.
    #[must_use]
    pub fn new() -> Self {
        Self { last: None, sum: Vec3::zeros() }
    }

    /// Takes the next rotation and gives the coordinates.
    pub fn update(&mut self, rotation: &Rot) -> Vec3 {
        if let Some(last) = self.last {
            self.sum += log_so3(&(rotation * last.inverse()));
        }
        self.last = Some(*rotation);
        self.sum
    }
}

impl Default for RotationSum {
    fn default() -> Self {
        Self::new()
    }
}

/// Linear and angular velocity of the handle by adaptive windowing, each axis with its own window.
#[derive(Clone, Copy, Debug)]
pub struct VelocityEstimator {
    linear: [AdaptiveWindow; 3],
    angular: [AdaptiveWindow; 3],
    rotation: RotationSum,
}

impl VelocityEstimator {
    /// An estimator for a device that reads in steps of `quantum`.
    #[must_use]
    pub fn new(fit: Fit, quantum: PerPart) -> Self {
        Self {
            linear: [AdaptiveWindow::new(fit, quantum.linear); 3],
            angular: [AdaptiveWindow::new(fit, quantum.angular); 3],
            rotation: RotationSum::new(),
        }
    }

    /// Forgets everything: after a jump or a long silence.
    pub fn reset(&mut self) {
        self.linear.iter_mut().chain(&mut self.angular).for_each(AdaptiveWindow::reset);
        self.rotation = RotationSum::new();
    }

    /// Takes the pose read at `at` and gives the velocities in the device's base frame.
    pub fn update(&mut self, at: MonoNs, pose_device_handle: &Pose) -> HandMotion {
        let angle = self.rotation.update(&pose_device_handle.rotation);
        let position = pose_device_handle.translation.vector;
        let mut motion = HandMotion::default();
        for axis in 0..3 {
            motion.linear[axis] = self.linear[axis].update(at, position[axis]);
            motion.angular[axis] = self.angular[axis].update(at, angle[axis]);
        }
        motion
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exp_so3;
    use std::f64::consts::TAU;

    const QUANTUM: f64 = 10e-6;
    const PERIOD_NS: u64 = 1_000_000;

    fn quantise(x: f64) -> f64 {
        (x / QUANTUM).round() * QUANTUM
    }

    /// Velocity estimates of a quantised motion sampled at 1 kHz, after the first 16, with the time of each.
    fn estimates(motion: impl Fn(f64) -> f64, mut estimator: impl FnMut(MonoNs, f64) -> f64) -> Vec<(f64, f64)> {
        (1..2016_u64)
            .map(|k| {
                let at = MonoNs(k * PERIOD_NS);
                (at.seconds(), estimator(at, quantise(motion(at.seconds()))))
            })
            .skip(15)
            .collect()
    }

    /// The estimator everyone writes first: the difference over a fixed number of samples.
    fn fixed(length: usize) -> impl FnMut(MonoNs, f64) -> f64 {
        let mut past = vec![None; length];
        move |_, x| {
            past.rotate_right(1);
            let old = past[0].replace(x);
            old.map_or(0.0, |old| (x - old) / (length as f64 * 1e-3))
        }
    }

    fn adaptive(fit: Fit) -> impl FnMut(MonoNs, f64) -> f64 {
        let mut window = AdaptiveWindow::new(fit, QUANTUM);
        move |at, x| window.update(at, x)
    }

    fn rms(estimates: &[(f64, f64)], truth: impl Fn(f64) -> f64) -> f64 {
        (estimates.iter().map(|&(t, v)| (v - truth(t)).powi(2)).sum::<f64>() / estimates.len() as f64).sqrt()
    }

    #[test]
    fn slow_straight_motion_is_read_ten_times_quieter_than_by_differences() {
        let speed = 3.3e-3;
        let noise =
            |estimator: &mut dyn FnMut(MonoNs, f64) -> f64| rms(&estimates(|t| speed * t, estimator), |_| speed);
        let (one, sixteen) = (noise(&mut fixed(1)), noise(&mut fixed(15)));
        let (end, best) = (noise(&mut adaptive(Fit::End)), noise(&mut adaptive(Fit::Best)));
        println!(
            "noise mm/s: 1-step {:.3} 15-step {:.3} end {:.3} best {:.3}",
            one * 1e3,
            sixteen * 1e3,
            end * 1e3,
            best * 1e3
        );
        assert!(end < one / 10.0 && best < one / 10.0, "{one} {end} {best}");
        assert!(best <= end && end <= 1.01 * sixteen, "{sixteen} {end} {best}");
    }

    #[test]
    fn fast_motion_is_read_with_a_third_of_the_delay_of_a_long_fixed_window() {
        // 5 Hz, 10 mm: peaks of 0.31 m/s and 9.9 m/s².
        let (amplitude, omega) = (0.01, 5.0 * TAU);
        let delay = |estimator: &mut dyn FnMut(MonoNs, f64) -> f64| {
            // Velocity ∝ cos ω(t − delay): the two projections over whole periods give the phase.
            let all = estimates(|t| amplitude * (omega * t).sin(), estimator);
            let project = |f: fn(f64) -> f64| all.iter().map(|&(t, v)| v * f(omega * t)).sum::<f64>();
            project(f64::sin).atan2(project(f64::cos)) / omega
        };
        let (one, long) = (delay(&mut fixed(1)), delay(&mut fixed(15)));
        let (end, best) = (delay(&mut adaptive(Fit::End)), delay(&mut adaptive(Fit::Best)));
        println!(
            "delay ms: 1-step {:.2} 15-step {:.2} end {:.2} best {:.2}",
            one * 1e3,
            long * 1e3,
            end * 1e3,
            best * 1e3
        );
        assert!((one - 0.5e-3).abs() < 0.02e-3 && (long - 7.5e-3).abs() < 0.02e-3, "{one} {long}");
        assert!(end < long / 3.0 && best < long / 3.0, "{end} {best}");
    }

    #[test]
    fn a_handle_at_rest_is_read_as_exactly_at_rest() {
        for fit in [Fit::End, Fit::Best] {
            let all = estimates(|_| 0.012_345, adaptive(fit));
            assert!(all.iter().all(|&(_, v)| v.abs() < 1e-15));
        }
    }

    #[test]
    fn uneven_sampling_does_not_bias_a_straight_motion() {
        for fit in [Fit::End, Fit::Best] {
            let mut window = AdaptiveWindow::new(fit, 1e-9);
            let (mut at, mut v) = (MonoNs(0), 0.0);
            for k in 0..40_u64 {
                at = at.plus(PERIOD_NS + (k * 7919) % 400_000);
                v = window.update(at, 0.2 * at.seconds());
            }
            assert!((v - 0.2).abs() < 1e-9, "{fit:?} {v}");
        }
    }

    #[test]
    fn angular_velocity_is_read_through_many_turns_about_a_tilted_axis() {
        let axis = Vec3::new(0.6, -0.48, 0.64);
        let (rate, start) = (9.0, exp_so3(&Vec3::new(0.4, 1.0, -2.0)));
        let mut estimator = VelocityEstimator::new(Fit::Best, PerPart { linear: 1e-6, angular: 1e-6 });
        for k in 1..3000_u64 {
            let at = MonoNs(k * PERIOD_NS);
            let pose = Pose::from_parts(Vec3::zeros().into(), exp_so3(&(axis * rate * at.seconds())) * start);
            let motion = estimator.update(at, &pose);
            if k > 1 {
                assert!((motion.angular - axis * rate).norm() < 1e-6, "{k}: {}", motion.angular);
                assert_eq!(motion.linear, Vec3::zeros());
            }
        }
    }
}
