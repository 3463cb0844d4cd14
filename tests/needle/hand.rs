//! What the hand can be given: limits and energy while the needle is pushed, pulled aside, carried by breathing, and left alone by
//! the simulation.

use crate::multirate::{Beat, Rig};
use hapticd::bench::needle_rig::Phantom;
use hapticd::math::Vec3;
use hapticd::sim::Breathing;

fn small() -> Phantom {
    Phantom { cells: [3, 3, 2], ..Phantom::default() }
}

/// Every force finite and within the limit, the ledger never below zero.
fn check(beats: &[Beat], limit_n: f64) {
    for (k, beat) in beats.iter().enumerate() {
        assert!(beat.sent.iter().all(|x| x.is_finite()) && beat.sent.norm() <= limit_n * (1.0 + 1e-9), "{k}: {beat:?}");
        assert!(beat.reserve_j >= -1e-6, "{k}: {beat:?}");
    }
}

#[test]
fn insertion_sideways_pulling_and_withdrawal_keep_limits_and_energy() {
    let mut rig = Rig::new(&small(), 60.0);
    let mut beats = Vec::new();
    for k in 0..5000 {
        let t = f64::from(k) * 1e-3;
        let depth = (0.03 * t).min(0.035) - (0.03 * (t - 3.5)).max(0.0);
        let aside = if (1.3..3.5).contains(&t) { 0.012 * (6.0 * (t - 1.3)).sin() } else { 0.0 };
        beats.push(rig.beat(Vec3::new(aside, 0.5 * aside, -depth)));
    }
    check(&beats, rig.limit_n);
    let aside = beats[1500..3400].iter().fold(0.0_f64, |most, beat| most.max(beat.sent.x.abs()));
    println!("{aside:.2} N aside");
    assert!(beats.iter().any(|beat| beat.punctures == 1) && aside > 0.2, "{aside}");
    assert!(beats.last().expect("ticks").sent.norm() < 0.1);
}

#[test]
fn breathing_is_felt_through_the_needle_and_gives_the_hand_no_energy_beyond_the_limits() {
    let breathing = Some(Breathing { way: Vec3::new(0.008, 0.0, 0.0), period_s: 2.0 });
    let mut rig = Rig::new(&Phantom { breathing, ..small() }, 60.0);
    let mut beats = Vec::new();
    for k in 0..5000 {
        let depth = (0.03 * f64::from(k) * 1e-3).min(0.03);
        beats.push(rig.beat(Vec3::z() * -depth));
    }
    check(&beats, rig.limit_n);
    let swing = beats[1500..].iter().fold(0.0_f64, |most, beat| most.max(beat.sent.x.abs()));
    println!("{swing:.3} N by breathing");
    assert!(swing > 0.02, "{swing}");
}

#[test]
fn a_simulation_that_stands_still_for_a_second_with_the_needle_inside_does_no_harm() {
    let mut rig = Rig::new(&small(), 30.0);
    rig.rates.stalled = 1500..2500;
    let mut beats = Vec::new();
    for k in 0..4000 {
        let t = f64::from(k) * 1e-3;
        let depth = (0.03 * t).min(0.03) + 0.003 * (9.0 * t).sin() * f64::from(u8::from(t > 1.2));
        beats.push(rig.beat(Vec3::new(0.004 * (5.0 * t).sin(), 0.0, -depth)));
    }
    check(&beats, rig.limit_n);
    // The force of an old mechanism is let go of.
    let stale = beats[2300..2490].iter().fold(0.0_f64, |most, beat| most.max(beat.sent.norm()));
    println!("{stale:.4} N at the end of the stall");
    assert!(stale < 0.05, "{stale}");
}
