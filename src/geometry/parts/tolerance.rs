//! Tolerances of ISO metric threads: classes 6g (bolts) and 6H (nuts).
//!
//! Thread: cold.
//!
//! By the formulas that ISO 965-1 derives its tables from, with P and d in millimetres and results in micrometres:
//!
//! ```text
//! es(g) = −(15 + 11 P)          EI(H) = 0               distance of the zone from the basic size
//! T_d2(6) = 90 P^0.4 d^0.1      T_D2(6) = 1.32 T_d2(6)  pitch diameter of bolt and nut
//! T_d(6) = 180 P^⅔ − 3.15/√P                            major diameter of the bolt
//! T_D1(6) = 230 P^0.7  (P ≥ 1),  433 P − 190 P^1.22     minor diameter of the nut
//! ```
//!
//! `d` is the geometric mean of the ends of the range of diameters. The standard's tables round these to preferred
//! numbers and smooth some by hand, so they differ by up to 5 %: for M48x5 T_d2 is 259 µm here and 250 µm there.

use super::PartError;

/// Ends of the ranges of nominal diameters, mm.
const RANGES: [f64; 10] = [0.99, 1.4, 2.8, 5.6, 11.2, 22.4, 45.0, 90.0, 180.0, 355.0];

/// Where in its tolerance zone a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The tightest: the thickest bolt, the narrowest nut.
    MostMaterial,
    /// The middle of the zone.
    Middle,
    /// The loosest.
    LeastMaterial,
}

impl Limit {
    /// Share of the tolerance used up.
    pub(super) const fn share(self) -> f64 {
        match self {
            Self::MostMaterial => 0.0,
            Self::Middle => 0.5,
            Self::LeastMaterial => 1.0,
        }
    }
}

/// Tolerances of one size of thread, metres of diameter, all positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tolerances {
    /// How far below the basic size class g begins.
    pub(super) deviation_g: f64,
    /// Of the bolt's pitch diameter.
    pub(super) bolt_pitch: f64,
    /// Of the nut's pitch diameter.
    pub(super) nut_pitch: f64,
    /// Of the bolt's major diameter.
    pub(super) bolt_major: f64,
    /// Of the nut's minor diameter.
    pub(super) nut_minor: f64,
}

/// The tolerances for a nominal diameter and a pitch, m.
pub(super) fn tolerances(diameter: f64, pitch: f64) -> Result<Tolerances, PartError> {
    let (d, p) = (diameter * 1e3, pitch * 1e3);
    let range = RANGES.windows(2).find(|ends| d > ends[0] && d <= ends[1]);
    let mean = range.map(|ends| (ends[0] * ends[1]).sqrt()).filter(|_| (0.2..=8.0).contains(&p));
    let mean = mean.ok_or(PartError::NoTolerance)?;
    let bolt_pitch = 90.0 * p.powf(0.4) * mean.powf(0.1);
    let nut_minor = if p >= 1.0 { 230.0 * p.powf(0.7) } else { 433.0 * p - 190.0 * p.powf(1.22) };
    Ok(Tolerances {
        deviation_g: (15.0 + 11.0 * p) * 1e-6,
        bolt_pitch: bolt_pitch * 1e-6,
        nut_pitch: 1.32 * bolt_pitch * 1e-6,
        bolt_major: (180.0 * p.powf(2.0 / 3.0) - 3.15 / p.sqrt()) * 1e-6,
        nut_minor: nut_minor * 1e-6,
    })
}

/// Tolerances of the pitch diameters of bolt (6g) and nut (6H), m, for a nominal diameter and a pitch in metres.
///
/// # Errors
/// Outside the range the standard covers.
pub fn pitch_diameter_tolerance(diameter: f64, pitch: f64) -> Result<(f64, f64), PartError> {
    let all = tolerances(diameter, pitch)?;
    Ok((all.bolt_pitch, all.nut_pitch))
}
