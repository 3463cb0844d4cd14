//! Screw friction in closed form.

use hapticd::bench::assembly::drive::ThreadPair;
use hapticd::geometry::parts::Side;
use std::f64::consts::{PI, TAU};

/// Mean radius of the flanks that touch, by area: from the nut's crest to the bolt's.
fn mean_radius(pair: &ThreadPair) -> f64 {
    let inner = pair.thread.profile(Side::Nut).expect("there is such a thread").minor_radius;
    let outer = pair.thread.profile(Side::Bolt).expect("there is such a thread").major_radius;
    2.0 / 3.0 * (outer.powi(3) - inner.powi(3)) / (outer * outer - inner * inner)
}

/// Angle of friction on flanks of 30°, and lead angle at the mean radius.
fn angles(pair: &ThreadPair, friction: f64) -> (f64, f64) {
    let lead = (pair.thread.pitch / (TAU * mean_radius(pair))).atan();
    ((friction / (PI / 6.0).cos()).atan(), lead)
}

/// Torque to turn an M48 nut the way its load pushes, `W r tan(φ' − λ)`.
pub(crate) fn lowering_torque(load: f64, friction: f64) -> f64 {
    let pair = ThreadPair::m48();
    let (slope, lead) = angles(&pair, friction);
    load * mean_radius(&pair) * (slope - lead).tan()
}
