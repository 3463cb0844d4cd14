//! Screw friction: the closed form of the lowering torque, and where a thread locks by itself.

use hapticd::bench::assembly::drive::{Drive, ThreadPair};
use hapticd::geometry::parts::Side;
use hapticd::math::Vec3;
use std::f64::consts::{PI, TAU};

/// Mean radius of the flanks that touch, by area: from the nut's crest to the bolt's.
pub(super) fn mean_radius(pair: &ThreadPair) -> f64 {
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

/// How far a nut on its thread turns in 0.15 s under an axial load alone, by how far it falls, rad.
fn turned_by_load(friction: f64) -> f64 {
    let pair = ThreadPair::m48();
    let mut drive =
        Drive::new(&pair.assembly(0.014, friction).expect("it can be made"), 1e-3).expect("it is simulated");
    // Down to the flanks first, and quiet.
    for _ in 0..100 {
        let (v, w) = drive.velocity();
        drive.step(&(Vec3::new(0.0, 0.0, -20.0) - v * 20.0), &(-w * 0.05));
    }
    let start = drive.shape().translation.z;
    for _ in 0..150 {
        drive.step(&Vec3::new(0.0, 0.0, -100.0), &Vec3::zeros());
    }
    (start - drive.shape().translation.z) * TAU / pair.thread.pitch
}

#[test]
fn a_thread_locks_by_itself_above_the_friction_that_theory_gives_and_not_below() {
    let (_, lead) = angles(&ThreadPair::m48(), 0.1);
    let limit = lead.tan() * (PI / 6.0).cos();
    for friction in [0.15, 1.12 * limit] {
        let turned = turned_by_load(friction);
        assert!(turned < 2e-3, "friction {friction}: it turned by {turned} rad");
    }
    for friction in [0.01, 0.88 * limit] {
        let turned = turned_by_load(friction);
        assert!(turned > 0.1, "friction {friction}: it turned by {turned} rad");
    }
}
