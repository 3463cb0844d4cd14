//! How far off a field is, at points it has not seen.
//!
//! Thread: cold.

use super::Source;
use crate::collision::field::DistanceField;
use crate::math::{Random, Vec3};

/// Most points looked at for each that is counted: in a part of which the band is hardly anything, fewer are counted.
const TRIES: usize = 400;

/// Errors within a band about the surface.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FieldError {
    /// Points that were counted.
    pub count: usize,
    /// Root of the mean square error of the distance, m.
    pub rms: f64,
    /// Greatest error of the distance, m.
    pub max: f64,
    /// Root of the mean square error of the gradient.
    pub gradient_rms: f64,
    /// Points on the wrong side of the surface, of those farther from it than 10 µm.
    pub wrong_side: usize,
}

/// Compares a field with the exact surface at `count` points evenly spread over the band of ± `band`.
pub fn measure(field: &dyn DistanceField, source: &Source, band: f64, count: usize, seed: u64) -> FieldError {
    let mut random = Random::new(seed);
    let bounds = source.bounds();
    let (low, size) = (bounds.min - Vec3::repeat(band), bounds.max - bounds.min + Vec3::repeat(2.0 * band));
    let mut error = FieldError::default();
    let (mut squares, mut gradients) = (0.0, 0.0);
    for _ in 0..count.saturating_mul(TRIES) {
        let p = low + Vec3::from_fn(|i, _| size[i] * random.uniform());
        let exact = source.distance(&p);
        if exact.distance.abs() > band {
            continue;
        }
        let found = field.distance(&p);
        let off = (found.value - exact.distance).abs();
        error.count += 1;
        error.max = error.max.max(off);
        squares += off * off;
        gradients += (found.gradient - exact.normal).norm_squared();
        if exact.distance.abs() > 1e-5 && found.value * exact.distance < 0.0 {
            error.wrong_side += 1;
        }
        if error.count == count {
            break;
        }
    }
    let n = error.count.max(1) as f64;
    error.rms = (squares / n).sqrt();
    error.gradient_rms = (gradients / n).sqrt();
    error
}
