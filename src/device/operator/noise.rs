//! Involuntary motion: tremor and slow wandering, as filtered noise of known strength.
//!
//! Thread: haptic (RT); the filters are normalised when they are made.
//!
//! Tremor: two equal band-pass sections in series, centred on the band's geometric mean. One section would not do: the
//! handle answers a force by `1/ω²`, which lifts a single section's slow skirt above the peak. Wandering: two equal
//! low-pass sections. Sections are the usual second-order ones by bilinear transform with the corner frequency kept.

use crate::math::{Random, Vec3};

/// Corner of the slow wandering, Hz: voluntary movements of surgeons have 98.9 % of their power below 2 Hz.
const DRIFT_HZ: f64 = 0.8;

/// Response is summed up to this many ticks when a filter is normalised: eight seconds at 4 kHz.
const RESPONSE_TICKS: usize = 32_768;

/// Second-order section, `y = b·(x₀, x₁, x₂) − a·(y₁, y₂)`.
#[derive(Clone, Copy, Debug)]
struct Section {
    b: [f64; 3],
    a: [f64; 2],
    x: [f64; 2],
    y: [f64; 2],
}

impl Section {
    fn band_pass(low_hz: f64, high_hz: f64, rate_hz: f64) -> Self {
        let centre = (low_hz * high_hz).sqrt();
        let w = std::f64::consts::TAU * centre / rate_hz;
        let alpha = w.sin() * (high_hz - low_hz) / (2.0 * centre);
        let a0 = 1.0 + alpha;
        Self {
            b: [alpha / a0, 0.0, -alpha / a0],
            a: [-2.0 * w.cos() / a0, (1.0 - alpha) / a0],
            x: [0.0; 2],
            y: [0.0; 2],
        }
    }

    fn low_pass(corner_hz: f64, rate_hz: f64) -> Self {
        let w = std::f64::consts::TAU * corner_hz / rate_hz;
        let alpha = w.sin() * std::f64::consts::FRAC_1_SQRT_2;
        let (a0, b) = (1.0 + alpha, 0.5 * (1.0 - w.cos()));
        Self {
            b: [b / a0, 2.0 * b / a0, b / a0],
            a: [-2.0 * w.cos() / a0, (1.0 - alpha) / a0],
            x: [0.0; 2],
            y: [0.0; 2],
        }
    }

    fn next(&mut self, x: f64) -> f64 {
        let y = self.b[0] * x + self.b[1] * self.x[0] + self.b[2] * self.x[1]
            - self.a[0] * self.y[0]
            - self.a[1] * self.y[1];
        self.x = [x, self.x[0]];
        self.y = [y, self.y[0]];
        y
    }
}

/// Three independent noises of unit rms with the same spectrum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noise {
    axes: [[Section; 2]; 3],
    gain: f64,
}

impl Noise {
    fn new(section: Section) -> Self {
        // White noise of unit variance leaves a filter with the variance of its impulse response's energy.
        let mut pair = [section; 2];
        let mut energy = 0.0;
        for tick in 0..RESPONSE_TICKS {
            let inner = pair[0].next(if tick == 0 { 1.0 } else { 0.0 });
            energy += pair[1].next(inner).powi(2);
        }
        Self { axes: [[section; 2]; 3], gain: 1.0 / energy.sqrt() }
    }

    /// Noise in a band, as tremor is.
    pub(super) fn tremor(band_hz: [f64; 2], rate_hz: f64) -> Self {
        Self::new(Section::band_pass(band_hz[0], band_hz[1], rate_hz))
    }

    /// Slow noise.
    pub(super) fn drift(rate_hz: f64) -> Self {
        Self::new(Section::low_pass(DRIFT_HZ, rate_hz))
    }

    /// The next value of each.
    pub(super) fn next(&mut self, random: &mut Random) -> Vec3 {
        Vec3::from_fn(|axis, _| {
            let [first, second] = &mut self.axes[axis];
            self.gain * second.next(first.next(random.normal()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noises_have_unit_rms_on_every_axis() {
        for mut noise in [Noise::tremor([8.0, 12.0], 1000.0), Noise::drift(1000.0)] {
            let mut random = Random::new(11);
            let count = 400_000;
            let mut square = Vec3::zeros();
            for _ in 0..count {
                let x = noise.next(&mut random);
                square += x.component_mul(&x);
            }
            // 400 s of noise 1.5 Hz wide hold some 600 independent squares: 6 % of one standard deviation.
            assert!((square / f64::from(count) - Vec3::repeat(1.0)).amax() < 0.2, "{square}");
        }
    }
}
