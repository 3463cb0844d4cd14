//! Suite `velocity`: speed from rounded positions, beside what others do.
//!
//! Thread: main (cold).
//!
//! Known motions, rounded to steps of an encoder and read at 1, 2 and 4 kHz, go through three estimators: ours (adaptive
//! window, best fit), the difference over a fixed window of 15 ms (as CHAI3D has it), and one-step differences through a
//! first-order low-pass of 20 Hz. Root mean square of the error against the true velocity; for motions that turn, the delay.
//! Nothing is random and nothing is timed: every run gives the same figures.

use super::{BenchError, Better, Options, Record, Report};
use crate::device::{AdaptiveWindow, Fit};
use crate::shared::{MonoNs, NS_PER_S};
use std::f64::consts::TAU;

const SUITE: &str = "velocity";
/// Time before errors count, and the time in which they do, s. Whole periods of every motion that has one.
const WARM_UP_S: f64 = 0.1;
const LENGTH_S: f64 = 2.0;

/// Rates a device is read at, Hz.
pub const RATES_HZ: [u64; 3] = [1000, 2000, 4000];
/// Steps of the encoders at the handle, m: a good desk device, and a Falcon along its axis.
pub const QUANTA_M: [f64; 2] = [10e-6, 46e-6];

/// A motion whose velocity is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Motion {
    /// Straight on, m/s.
    Straight(f64),
    /// To and fro at this speed, m/s, turning at once every so many seconds.
    Triangle(f64, f64),
    /// Amplitude, m, and frequency, Hz.
    Sine(f64, f64),
}

/// The motions by the names they have in records.
pub const MOTIONS: [(&str, Motion); 7] = [
    ("straight-1mm/s", Motion::Straight(0.001_03)),
    ("straight-10mm/s", Motion::Straight(0.010_07)),
    ("straight-300mm/s", Motion::Straight(0.300_1)),
    ("reversals-50mm/s", Motion::Triangle(0.05, 0.1)),
    ("sine-1Hz-20mm", Motion::Sine(0.02, 1.0)),
    ("sine-5Hz-10mm", Motion::Sine(0.01, 5.0)),
    ("sine-20Hz-1mm", Motion::Sine(0.001, 20.0)),
];

impl Motion {
    fn position(self, t: f64) -> f64 {
        match self {
            Self::Straight(speed) => speed * t,
            Self::Triangle(speed, turn) => {
                let phase = t.rem_euclid(2.0 * turn);
                speed * phase.min(2.0 * turn - phase)
            }
            Self::Sine(amplitude, hz) => amplitude * (TAU * hz * t).sin(),
        }
    }

    fn velocity(self, t: f64) -> f64 {
        match self {
            Self::Straight(speed) => speed,
            Self::Triangle(speed, turn) => {
                if t.rem_euclid(2.0 * turn) < turn {
                    speed
                } else {
                    -speed
                }
            }
            Self::Sine(amplitude, hz) => amplitude * TAU * hz * (TAU * hz * t).cos(),
        }
    }

    /// Frequency of a motion that has one, Hz.
    fn frequency(self) -> Option<f64> {
        match self {
            Self::Straight(_) => None,
            Self::Triangle(_, turn) => Some(0.5 / turn),
            Self::Sine(_, hz) => Some(hz),
        }
    }
}

/// A way to get velocity from positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimator {
    /// The longest window that a line explains.
    Adaptive,
    /// The difference over 15 ms.
    Fixed15Ms,
    /// One-step differences through a first-order low-pass of 20 Hz.
    LowPass20Hz,
}

impl Estimator {
    /// What ours is compared with, by the names in records.
    pub const BASELINES: [(&str, Self); 2] =
        [("fixed-window-15ms", Self::Fixed15Ms), ("low-pass-20Hz", Self::LowPass20Hz)];

    /// The estimator at work, for readings of this rate and step: takes time and position, gives the velocity.
    fn start(self, rate_hz: u64, quantum_m: f64) -> Box<dyn FnMut(MonoNs, f64) -> f64> {
        let period_s = 1.0 / rate_hz as f64;
        match self {
            Self::Adaptive => {
                let mut window = AdaptiveWindow::new(Fit::Best, quantum_m);
                Box::new(move |at, position| window.update(at, position))
            }
            Self::Fixed15Ms => {
                let length = (0.015 * rate_hz as f64).round() as usize;
                let mut past = std::collections::VecDeque::from(vec![0.0; length]);
                Box::new(move |_, position| {
                    let old = past.pop_front().unwrap_or(position);
                    past.push_back(position);
                    (position - old) / (length as f64 * period_s)
                })
            }
            Self::LowPass20Hz => {
                let keep = (-TAU * 20.0 * period_s).exp();
                let (mut last, mut velocity) = (0.0, 0.0);
                Box::new(move |_, position| {
                    velocity = keep * velocity + (1.0 - keep) * (position - last) / period_s;
                    last = position;
                    velocity
                })
            }
        }
    }
}

/// How well an estimator did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Root mean square of the error, m/s.
    pub rms_m_per_s: f64,
    /// How far the estimate runs behind, s, where the motion tells.
    pub delay_s: Option<f64>,
}

/// Runs one estimator over one motion.
#[must_use]
pub fn judge(estimator: Estimator, motion: Motion, rate_hz: u64, quantum_m: f64) -> Quality {
    let mut estimate = estimator.start(rate_hz, quantum_m);
    let omega = motion.frequency().map(|hz| TAU * hz);
    let (mut squares, mut count) = (0.0, 0.0);
    // The phases of the true and of the estimated velocity, from their projections over whole periods.
    let (mut truth, mut guess) = ([0.0; 2], [0.0; 2]);
    let (first, last) = ((WARM_UP_S * rate_hz as f64) as u64, ((WARM_UP_S + LENGTH_S) * rate_hz as f64) as u64);
    for index in 1..=last {
        let at = MonoNs(index * NS_PER_S / rate_hz);
        let t = at.seconds();
        let rounded = (motion.position(t) / quantum_m).round() * quantum_m;
        let (v, expected) = (estimate(at, rounded), motion.velocity(t));
        if index <= first {
            continue;
        }
        squares += (v - expected).powi(2);
        count += 1.0;
        let (sin, cos) = omega.map_or((0.0, 1.0), |omega| (omega * t).sin_cos());
        truth = [truth[0] + expected * cos, truth[1] + expected * sin];
        guess = [guess[0] + v * cos, guess[1] + v * sin];
    }
    let phase = |sums: [f64; 2]| sums[1].atan2(sums[0]);
    let delay_s = omega.map(|omega| (phase(guess) - phase(truth)).rem_euclid(TAU) / omega);
    Quality { rms_m_per_s: (squares / count).sqrt(), delay_s }
}

/// Runs the suite.
///
/// # Errors
/// When the results cannot be written.
pub fn run(_options: &Options, report: &mut Report) -> Result<(), BenchError> {
    for (peer, estimator) in Estimator::BASELINES {
        let (mut logarithms, mut count) = (0.0, 0.0);
        for quantum_m in QUANTA_M {
            for rate_hz in RATES_HZ {
                for (word, motion) in MOTIONS {
                    let ours = judge(Estimator::Adaptive, motion, rate_hz, quantum_m);
                    let theirs = judge(estimator, motion, rate_hz, quantum_m);
                    let name = format!("{word}/{}um/{rate_hz}Hz", quantum_m * 1e6);
                    let rms = Record::new(SUITE, &name, "rms-error", ours.rms_m_per_s * 1e3, "mm/s");
                    report.put(rms.versus(peer, theirs.rms_m_per_s * 1e3, Better::Lower))?;
                    if let (Some(delay_s), Some(their_delay_s)) = (ours.delay_s, theirs.delay_s) {
                        let delay = Record::new(SUITE, &name, "delay", delay_s * 1e3, "ms");
                        report.put(delay.versus(peer, their_delay_s * 1e3, Better::Lower))?;
                    }
                    logarithms += (theirs.rms_m_per_s / ours.rms_m_per_s).ln();
                    count += 1.0;
                }
            }
        }
        let mean: f64 = (logarithms / count).exp();
        let all = Record::new(SUITE, "all", "rms-error-of-baseline", 1.0 / mean, "1");
        report.put(all.versus(peer, 1.0, Better::Lower))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_adaptive_window_beats_the_fixed_one_and_the_filter_where_it_matters_and_costs_little_elsewhere() {
        for (peer, estimator) in Estimator::BASELINES {
            let (mut logarithms, mut count) = (0.0, 0.0);
            for quantum_m in QUANTA_M {
                for (rate_hz, (word, motion)) in RATES_HZ.into_iter().flat_map(|rate| MOTIONS.map(|m| (rate, m))) {
                    let ours = judge(Estimator::Adaptive, motion, rate_hz, quantum_m);
                    let theirs = judge(estimator, motion, rate_hz, quantum_m);
                    let of = ours.rms_m_per_s / theirs.rms_m_per_s;
                    let case = format!("{word} {:.0} um {rate_hz} Hz beside {peer}", quantum_m * 1e6);
                    println!("{case}: error {:.3} mm/s, {of:.2} of its", ours.rms_m_per_s * 1e3);
                    // A straight motion slower than a step per window, or in step with the sampling, is any line's guess.
                    assert!(of < 1.2, "{case}: {ours:?} {theirs:?}");
                    if let (Some(delay_s), Some(their_delay_s)) = (ours.delay_s, theirs.delay_s) {
                        assert!(of < 1.0, "{case}: {ours:?} {theirs:?}");
                        let slow = matches!(motion, Motion::Sine(_, hz) if hz < 2.0);
                        assert!(slow || delay_s < 0.55 * their_delay_s, "{case}: {ours:?} {theirs:?}");
                    }
                    logarithms += of.ln();
                    count += 1.0;
                }
            }
            let mean: f64 = (logarithms / count).exp();
            println!("all beside {peer}: {mean:.3} of its error in the geometric mean");
            assert!(mean < 0.5, "{peer}: {mean}");
        }
    }
}
