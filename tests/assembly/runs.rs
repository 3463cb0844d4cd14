//! Whole runs: how deep parts sink into each other, how well the nut follows its thread, and whether energy appears.

use super::threads::TABLE_II;
use hapticd::bench::assembly::drive::{Drive, MOVING, ThreadPair, peg_in_hole};
use hapticd::bench::assembly::task::{Figures, Task, run};
use hapticd::geometry::parts::{Facets, Fit, Hand, ThreadSpec};
use hapticd::math::Vec3;

#[test]
fn a_nut_driven_on_follows_its_thread_and_does_not_sink_in() {
    let Figures { penetration_m, lead_error_m, jitter_m_per_s, turned_rad, unconverged, .. } =
        run(&ThreadPair::m48().assembly(0.016, 0.1).expect("it can be made"), Task::Drive { pitch: 0.005 });
    let deepest = penetration_m.iter().copied().fold(0.0, f64::max);
    let mean = penetration_m.iter().sum::<f64>() / penetration_m.len() as f64;
    assert!(turned_rad < -8.0, "it turned by {turned_rad} rad");
    assert!(deepest < 20e-6 && mean < 2e-6, "deepest {deepest:e} m, mean {mean:e} m");
    assert!(lead_error_m < 2e-4, "off the thread by {lead_error_m} m");
    assert!(jitter_m_per_s < 5e-4, "jitter {jitter_m_per_s} m/s");
    assert_eq!(unconverged, 0);
}

#[test]
fn a_peg_held_aside_and_pushed_in_does_not_sink_in() {
    let figures = run(&peg_in_hole(0.1).expect("it can be made"), Task::Push);
    let deepest = figures.penetration_m.iter().copied().fold(0.0, f64::max);
    assert!(deepest < 5e-6, "deepest {deepest:e} m");
    assert!(figures.moved_m < -9e-3, "it went in by {} m", figures.moved_m);
    assert!(figures.jitter_m_per_s < 5e-4, "jitter {} m/s", figures.jitter_m_per_s);
    assert_eq!(figures.unconverged, 0);
}

#[test]
fn every_pair_of_threads_is_driven_on_without_retuning() {
    for (diameter, pitch) in TABLE_II.map(|(d, p)| (d * 1e-3, p * 1e-3)) {
        let thread = ThreadSpec { diameter, pitch, hand: Hand::Right, fit: Fit::RadialGap(4e-4) };
        let pair = ThreadPair { thread, length: 4.0 * pitch, height: 3.0 * pitch, ..ThreadPair::m48() };
        let assembly = pair.assembly(3.2 * pitch, 0.1).expect("it can be made");
        let mut drive = Drive::new(&assembly, 1e-3).expect("it can be simulated");
        let (start, mut deepest) = (drive.shape(), 0.0_f64);
        for k in 0..700 {
            let speed = drive.velocity().1.z;
            let torque = Vec3::new(0.05, 0.0, (0.1 * (-std::f64::consts::PI - speed)).clamp(-1.0, 1.0));
            drive.step(&Vec3::new(5.0, 0.0, -10.0), &torque);
            if k % 10 == 0 {
                deepest = deepest.max(drive.penetration());
            }
        }
        let turn = (start.rotation.inverse() * drive.shape().rotation).angle();
        let fall = start.translation.z - drive.shape().translation.z;
        let lead = pitch * turn / std::f64::consts::TAU;
        assert!(turn > 1.2, "M{diameter}x{pitch} turned by {turn} rad");
        // It may fall through its axial play besides.
        assert!((fall - lead).abs() < 6e-4, "M{diameter}x{pitch}: {fall} m for {lead} m of lead");
        assert!(deepest < 20e-6, "M{diameter}x{pitch}: {deepest:e} m");
    }
}

#[test]
fn contact_never_gives_energy() {
    let assembly = ThreadPair::m48().assembly(0.016, 0.1).expect("it can be made");
    let mut drive = Drive::new(&assembly, 1e-3).expect("it can be simulated");
    let mut random = hapticd::math::Random::new(7);
    let (mut push, mut twist) = (Vec3::zeros(), Vec3::zeros());
    for k in 0..2000 {
        if k % 50 == 0 {
            push = Vec3::from_fn(|_, _| 30.0 * random.uniform() - 15.0);
            twist = Vec3::from_fn(|_, _| 0.6 * random.uniform() - 0.3);
        }
        let before = drive.body().expect("it moves").ledger().kinetic_j();
        let pose = drive.data().pose(MOVING);
        let local = pose.rotation.inverse_transform_vector(&twist);
        drive.step(&push, &twist);
        let after = drive.body().expect("it moves").ledger().kinetic_j();
        let moved = hapticd::math::displacement(&pose, &drive.data().pose(MOVING));
        let (shift, turn) = hapticd::math::split(&moved);
        // Overlap pushed apart moves the body without speed; what a force does on that way is its own affair.
        let given = push.dot(&shift) + local.dot(&turn);
        let slack = 1e-9 + (push.norm() + twist.norm() / 0.02) * drive.data().report.penetration_m * 4.0;
        assert!(after - before <= given + slack, "step {k}: {} J more than {given} J", after - before);
    }
}

#[test]
fn facets_are_not_felt() {
    let loaded = |facets, height| {
        let pair = ThreadPair { facets, ..ThreadPair::m48() };
        run(&pair.assembly(height, 0.1).expect("it can be made"), Task::Loaded { newton: 100.0, pitch: 0.005 })
    };
    let of = |per_turn, rows| Facets { per_turn, rows };
    // From 16 mm it is held by the corner where its ridge crosses the end of the bolt's.
    for (facets, height) in [
        ([of(61, 3), of(79, 3)], 0.014),
        ([of(61, 3), of(79, 3)], 0.016),
        ([of(60, 2), of(60, 2)], 0.014),
        ([of(48, 4), of(97, 5)], 0.0165),
    ] {
        let figures = loaded(facets, height);
        assert!(figures.jitter_m_per_s < 1e-4, "{facets:?}: jitter {} m/s", figures.jitter_m_per_s);
        let torque = figures.torque_n_m.abs();
        let expected = super::friction::lowering_torque(100.0, 0.1);
        assert!((torque / expected - 1.0).abs() < 0.03, "{facets:?}: {torque} N·m, theory {expected}");
    }
}
