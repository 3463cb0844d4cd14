//! Velocity and hand force from positions and the forces sent: an observer that knows the device.
//!
//! Thread: haptic (RT); allocates when it is made, never after.
//!
//! Per axis, `m v̇ = −b v + u + f`, `ẋ = v`, with the force `u` that the motors really apply and the hand's force `f` as a
//! disturbance that changes slowly, `ḟ = 0`. Discretised exactly for forces held over the period `T`:
//! `z_{k+1} = A z_k + B u_k`, `z = (x, v, f)`, read as `x = C z`. The steady-state observer
//! `z⁻ = A ẑ + B u`, `ẑ = z⁻ + L (x − C z⁻)` has the error dynamics `(I − L C) A`; all three poles are put at
//! `exp(−ω₀ T)` (Ackermann's formula for the pair `(A, C A)`). The estimate then follows the hand as
//!
//! ```text
//!  f̂ / f = ω₀³ / (s + ω₀)³        amplitude (1 + (ω/ω₀)²)^(−3/2), delay 3/ω₀ for slow forces
//! ```
//!
//! Steady-state gains were preferred to a running Kalman filter: the noise (a rounding error) and the model are constant,
//! so the filter's gains would settle at constants anyhow, and one bandwidth is easier to choose than three covariances.
//!
//! `f` is what a sensor between hand and handle would read, plus whatever the model leaves out: Coulomb friction of the
//! device appears in it, with an error of at most that friction.

use super::hold::DelayLine;
use super::velocity::RotationSum;
use super::{DeviceSpec, HandForce, HandMotion};
use crate::math::{Mat3, Pose, Vec3};

/// Inertia below which an axis would have no dynamics to observe, kg and kg·m²: a device without rotation states none.
const INERTIA_MIN: f64 = 1e-9;

/// Observer of one axis.
#[derive(Clone, Copy, Debug)]
struct AxisObserver {
    transition: Mat3,
    input: Vec3,
    gain: Vec3,
    /// Position, velocity, hand force.
    state: Vec3,
}

impl AxisObserver {
    fn new(inertia: f64, damping: f64, bandwidth_rad_s: f64, period_s: f64) -> Self {
        let inertia = inertia.max(INERTIA_MIN);
        // The motors' force enters as the hand's does.
        let (position, velocity) = held_force_response(inertia, damping, period_s);
        let (decay, drift) = free_response(inertia, damping, period_s);
        let transition = Mat3::new(1.0, drift, position, 0.0, decay, velocity, 0.0, 0.0, 1.0);
        let input = Vec3::new(position, velocity, 0.0);
        // Ackermann: L = p(A) O⁻¹ (0, 0, 1)ᵀ with p(z) = (z − r)³ and O the observability matrix of (A, C A).
        let shifted = transition - Mat3::identity() * (-bandwidth_rad_s * period_s).exp();
        let first = transition.row(0).into_owned();
        let second = first * transition;
        let observability = Mat3::from_rows(&[first, second, second * transition]);
        let last = observability.try_inverse().map_or(Vec3::zeros(), |inverse| inverse.column(2).into_owned());
        Self { transition, input, gain: shifted * shifted * shifted * last, state: Vec3::zeros() }
    }

    fn update(&mut self, position: f64, applied: f64) {
        let predicted = self.transition * self.state + self.input * applied;
        self.state = predicted + self.gain * (position - predicted.x);
    }
}

/// Velocity left of a unit velocity after `t`, and the way gone meanwhile.
fn free_response(inertia: f64, damping: f64, t: f64) -> (f64, f64) {
    let ratio = damping * t / inertia;
    ((-ratio).exp(), t * phi1(ratio))
}

/// Displacement and velocity after holding a unit force for `t`, from rest.
fn held_force_response(inertia: f64, damping: f64, t: f64) -> (f64, f64) {
    let ratio = damping * t / inertia;
    (t * t / inertia * phi2(ratio), t / inertia * phi1(ratio))
}

/// `(1 − e⁻ʳ)/r`, also where `r` is near zero.
fn phi1(r: f64) -> f64 {
    if r.abs() < 1e-8 { 1.0 - r / 2.0 } else { -(-r).exp_m1() / r }
}

/// `(e⁻ʳ − 1 + r)/r²`, also where `r` is near zero; the series is exact to rounding below its threshold.
fn phi2(r: f64) -> f64 {
    if r.abs() < 1e-3 { 0.5 - r / 6.0 + r * r / 24.0 - r * r * r / 120.0 } else { ((-r).exp_m1() + r) / (r * r) }
}

/// What the observer found out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observed {
    /// Velocity of the handle.
    pub motion: HandMotion,
    /// Force and torque of the hand on the handle, in the device's base frame.
    pub hand: HandForce,
}

/// Observer of the handle's velocity and the hand's force. See the file's head.
#[derive(Clone, Debug)]
pub struct HandObserver {
    initial: [AxisObserver; 2],
    linear: [AxisObserver; 3],
    angular: [AxisObserver; 3],
    rotation: RotationSum,
    sent: DelayLine,
    started: bool,
    rotation_actuated: bool,
}

impl HandObserver {
    /// An observer for the device of this file, following the hand up to `bandwidth_hz` (`ω₀/2π`). Higher is faster and
    /// noisier: for 0.1 kg read at 1 kHz in steps of 10 µm, rounding leaves 2 mN rms in the force estimate at 30 Hz.
    #[must_use]
    pub fn new(spec: &DeviceSpec, bandwidth_hz: f64) -> Self {
        let mechanics = &spec.mechanics;
        let axis = |inertia, damping| {
            AxisObserver::new(inertia, damping, bandwidth_hz * std::f64::consts::TAU, 1.0 / spec.rate_hz)
        };
        let initial = [
            axis(mechanics.inertia.linear, mechanics.damping.linear),
            axis(mechanics.inertia.angular, mechanics.damping.angular),
        ];
        Self {
            initial,
            linear: [initial[0]; 3],
            angular: [initial[1]; 3],
            rotation: RotationSum::new(),
            sent: DelayLine::new(mechanics.latency_ticks),
            started: false,
            rotation_actuated: spec.rotation_actuated,
        }
    }

    /// Forgets everything but the forces under way: after a jump or a long silence.
    pub fn reset(&mut self) {
        self.linear = [self.initial[0]; 3];
        self.angular = [self.initial[1]; 3];
        self.rotation = RotationSum::new();
        self.started = false;
    }

    /// Takes the pose read in this tick. Call once per tick, then [`Self::sent`].
    pub fn update(&mut self, pose_device_handle: &Pose) -> Observed {
        let position = pose_device_handle.translation.vector;
        let angle = self.rotation.update(&pose_device_handle.rotation);
        // What acted since the last reading.
        let applied = self.sent.acting();
        self.sent.advance();
        let mut observed = Observed::default();
        for axis in 0..3 {
            let (linear, angular) = (&mut self.linear[axis], &mut self.angular[axis]);
            if self.started {
                linear.update(position[axis], applied.force[axis]);
                angular.update(angle[axis], if self.rotation_actuated { applied.torque[axis] } else { 0.0 });
            } else {
                linear.state = Vec3::new(position[axis], 0.0, 0.0);
                angular.state = Vec3::new(angle[axis], 0.0, 0.0);
            }
            observed.motion.linear[axis] = linear.state.y;
            observed.motion.angular[axis] = angular.state.y;
            observed.hand.force[axis] = linear.state.z;
            observed.hand.torque[axis] = angular.state.z;
        }
        self.started = true;
        observed
    }

    /// Tells the force sent to the device in this tick; the device's latency is taken into account here.
    pub fn sent(&mut self, force: &HandForce) {
        self.sent.set(*force);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::simulated::test_spec;
    use crate::math::exp_so3;
    use std::f64::consts::TAU;

    const QUANTUM: f64 = 10e-6;
    const PERIOD: f64 = 1e-3;

    fn spec() -> DeviceSpec {
        let mut spec = test_spec();
        spec.mechanics.inertia.linear = 0.1;
        spec.mechanics.damping.linear = 0.5;
        spec
    }

    /// Runs the observer on a mass pushed by `hand(t)` and by a known motor force, its position rounded to 10 µm.
    /// Gives time, true velocity and what was observed, for two seconds.
    fn run(observer: &mut HandObserver, spec: &DeviceSpec, hand: impl Fn(f64) -> f64) -> Vec<(f64, f64, Observed)> {
        let (m, b) = (spec.mechanics.inertia.linear, spec.mechanics.damping.linear);
        let (mut x, mut v) = (0.0, 0.0);
        let mut line = DelayLine::new(spec.mechanics.latency_ticks);
        let mut out = Vec::new();
        for k in 0..2000 {
            let t = f64::from(k) * PERIOD;
            let read = (x / QUANTUM).round() * QUANTUM;
            out.push((t, v, observer.update(&Pose::translation(read, 0.0, 0.0))));
            // A motor force the observer is told about: it must not show up in the estimate of the hand.
            let motor = HandForce { force: Vec3::new(2.0 * (TAU * 11.0 * t).sin(), 0.0, 0.0), torque: Vec3::zeros() };
            observer.sent(&motor);
            line.set(motor);
            // The plant in a hundred steps of the midpoint rule.
            let h = PERIOD / 100.0;
            for i in 0..100 {
                let force = line.acting().force.x + hand(t + (f64::from(i) + 0.5) * h);
                let middle = (2.0 * m / h * v + force) / (2.0 * m / h + b);
                x += h * middle;
                v = 2.0 * middle - v;
            }
            line.advance();
        }
        out
    }

    #[test]
    fn a_constant_hand_force_is_found_within_three_time_constants_of_the_bandwidth() {
        let spec = spec();
        let mut observer = HandObserver::new(&spec, 30.0);
        let all = run(&mut observer, &spec, |_| 1.5);
        // Step response of three equal poles: 1 − e^{−τ}(1 + τ + τ²/2), τ = ω₀ t.
        let worst = all.iter().filter(|(t, ..)| *t > 0.01).fold(0.0_f64, |worst, &(t, _, observed)| {
            let tau = 30.0 * TAU * t;
            let expected = 1.5 * (1.0 - (-tau).exp() * (1.0 + tau + tau * tau / 2.0));
            worst.max((observed.hand.force.x - expected).abs())
        });
        let settled: Vec<f64> = all.iter().skip(200).map(|(.., o)| o.hand.force.x).collect();
        let mean = settled.iter().sum::<f64>() / settled.len() as f64;
        let noise = (settled.iter().map(|f| (f - mean).powi(2)).sum::<f64>() / settled.len() as f64).sqrt();
        println!("constant 1.5 N: mean {mean:.4} N, noise {noise:.4} N rms, worst from theory {worst:.3} N");
        assert!((mean - 1.5).abs() < 0.005 && noise < 0.005 && worst < 0.06, "{mean} {noise} {worst}");
    }

    #[test]
    fn a_sinusoidal_hand_force_comes_through_with_the_stated_amplitude_and_phase() {
        for latency in [0, 2] {
            let mut spec = spec();
            spec.mechanics.latency_ticks = latency;
            for frequency in [1.0, 5.0, 15.0, 30.0] {
                let mut observer = HandObserver::new(&spec, 30.0);
                let all = run(&mut observer, &spec, |t| (TAU * frequency * t).sin());
                let tail = &all[1000..];
                let project = |f: fn(f64) -> f64| {
                    tail.iter().map(|(t, _, o)| o.hand.force.x * f(TAU * frequency * t)).sum::<f64>() / 500.0
                };
                let (in_phase, quadrature) = (project(f64::sin), project(f64::cos));
                let amplitude = in_phase.hypot(quadrature);
                let lag = -quadrature.atan2(in_phase);
                let ratio = frequency / 30.0_f64;
                let expected = ((1.0 + ratio * ratio).powf(-1.5), 3.0 * ratio.atan());
                println!(
                    "{frequency} Hz: amplitude {amplitude:.4} ({:.4}), lag {lag:.4} ({:.4})",
                    expected.0, expected.1
                );
                assert!((amplitude - expected.0).abs() < 0.02, "{frequency} Hz: {amplitude}");
                // The force is held over the period in the model: half a sample of lag at most comes on top.
                assert!((lag - expected.1).abs() < 0.02 + TAU * frequency * PERIOD / 2.0, "{frequency} Hz: {lag}");
            }
        }
    }

    #[test]
    fn observed_velocity_is_quieter_than_differences_and_prompter_than_a_long_window() {
        let spec = spec();
        let mut observer = HandObserver::new(&spec, 60.0);
        let all = run(&mut observer, &spec, |t| 0.5 * (TAU * 3.0 * t).sin());
        let tail = &all[200..];
        let rms = |errors: &mut dyn Iterator<Item = f64>| {
            let (mut sum, mut count) = (0.0, 0.0);
            for e in errors {
                sum += e * e;
                count += 1.0;
            }
            f64::sqrt(sum / count)
        };
        let observed = rms(&mut tail.iter().map(|(_, v, o)| o.motion.linear.x - v));
        // One-step differences of rounded readings: rounding noise q/(√6 T) alone, before any delay.
        let difference = QUANTUM / (6.0_f64.sqrt() * PERIOD);
        // A 15-step window lags by 7.5 samples.
        let lagged = rms(&mut all.windows(9).skip(200).map(|w| 0.5 * (w[0].1 + w[1].1) - w[8].1));
        println!(
            "velocity error mm/s: observer {:.3}, difference {:.3}, window {:.3}",
            observed * 1e3,
            difference * 1e3,
            lagged * 1e3
        );
        assert!(observed < difference / 2.0 && observed < lagged / 2.0, "{observed} {difference} {lagged}");
    }

    #[test]
    fn an_axis_without_inertia_is_at_rest_and_not_nan() {
        let mut spec = spec();
        spec.mechanics.inertia.angular = 0.0;
        spec.mechanics.damping.angular = 0.0;
        let mut observer = HandObserver::new(&spec, 20.0);
        let mut observed = Observed::default();
        for k in 0..100 {
            observed = observer.update(&Pose::translation(1e-4 * f64::from(k), 0.0, 0.0));
        }
        assert_eq!((observed.motion.angular, observed.hand.torque), (Vec3::zeros(), Vec3::zeros()));
        assert!((observed.motion.linear.x - 0.1).abs() < 1e-3, "{}", observed.motion.linear.x);
    }

    #[test]
    fn a_constant_torque_on_a_turning_handle_is_found() {
        let spec = spec();
        let mut observer = HandObserver::new(&spec, 30.0);
        let inertia = spec.mechanics.inertia.angular;
        let torque = Vec3::new(0.0, 0.004, 0.0);
        let mut observed = Observed::default();
        let (mut angle, mut rate, mut rate_read) = (0.0, 0.0, 0.0);
        for _ in 0..1500 {
            let pose = Pose::from_parts(Vec3::zeros().into(), exp_so3(&Vec3::new(0.0, angle, 0.0)));
            observed = observer.update(&pose);
            rate_read = rate;
            let (way, gain) = held_force_response(inertia, spec.mechanics.damping.angular, PERIOD);
            let (decay, drift) = free_response(inertia, spec.mechanics.damping.angular, PERIOD);
            angle += drift * rate + way * torque.y;
            rate = decay * rate + gain * torque.y;
        }
        assert!((observed.hand.torque - torque).norm() < 1e-6, "{}", observed.hand.torque);
        assert!((observed.motion.angular.y - rate_read).abs() < 1e-5 && angle > 7.0, "{angle}");
    }
}
