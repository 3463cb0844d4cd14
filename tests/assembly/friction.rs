//! Screw friction: lowering torque, self-locking, seating torque.

use hapticd::bench::assembly::drive::{Drive, ThreadPair};
use hapticd::geometry::parts::Side;
use hapticd::math::Vec3;
use std::f64::consts::{PI, TAU};

/// Mean radius of the flanks that touch, by area: from the nut's crest to the bolt's.
pub(crate) fn mean_radius(pair: &ThreadPair) -> f64 {
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

/// How far a nut on its thread turns in 0.3 s under an axial load alone, rad.
fn turned_by_load(friction: f64) -> f64 {
    let assembly = ThreadPair::m48().assembly(0.014, friction).expect("it can be made");
    let mut drive = Drive::new(&assembly, 1e-3).expect("it can be simulated");
    // Down to the flanks first, and quiet.
    for _ in 0..100 {
        let (v, w) = drive.velocity();
        drive.step(&(Vec3::new(0.0, 0.0, -20.0) - v * 20.0), &(-w * 0.05));
    }
    let start = drive.shape();
    for _ in 0..300 {
        drive.step(&Vec3::new(0.0, 0.0, -100.0), &Vec3::zeros());
    }
    (start.rotation.inverse() * drive.shape().rotation).angle()
}

#[test]
fn a_thread_locks_by_itself_above_the_friction_that_theory_gives_and_not_below() {
    let pair = ThreadPair::m48();
    let (_, lead) = angles(&pair, 0.1);
    let limit = lead.tan() * (PI / 6.0).cos();
    assert!(turned_by_load(0.15) < 1e-3, "it turned by {} rad", turned_by_load(0.15));
    assert!(turned_by_load(1.12 * limit) < 1e-3, "it turned by {} rad", turned_by_load(1.12 * limit));
    assert!(turned_by_load(0.01) > 1.0, "it turned by {} rad", turned_by_load(0.01));
    assert!(turned_by_load(0.88 * limit) > 0.1, "it turned by {} rad", turned_by_load(0.88 * limit));
}
