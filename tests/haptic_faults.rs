//! Every fault a tick can meet, in virtual time: handled as stated, force finite and within limits in each tick, the bit in
//! the record.

mod common;
#[path = "common/rig.rs"]
mod rig;

use common::{DAMPING, STEP_S, STIFFNESS, reading, wall};
use hapticd::haptic::{Coupling, TickRecord, Trip};
use hapticd::math::Vec3;
use hapticd::mechanism::{MAX_ROWS, MechanismSnapshot};
use hapticd::shared::lifecycle::{Event, Refusal, State};
use hapticd::shared::{Faults, NS_PER_S};
use rig::{DEPTH, ORIGIN, PERIOD_NS, PERIOD_S, Rig};

/// Largest change of the force between two ticks, N.
fn largest_step(records: &[TickRecord]) -> f64 {
    records.windows(2).map(|pair| (pair[1].force.force - pair[0].force.force).norm()).fold(0.0, f64::max)
}

#[test]
fn pressing_into_a_wall_gives_stiffness_times_depth() {
    for depth in [1e-3, 3e-3, 6e-3] {
        let mut rig = Rig::new(|_| ());
        rig.command(Event::Enable);
        rig.run(600);
        rig.move_to(-depth, 600);
        let record = rig.run(500)[499];
        let expected = STIFFNESS * depth;
        assert!((record.force.force - Vec3::new(0.0, 0.0, expected)).norm() < 0.01 * expected, "{record:?}");
        assert_eq!((record.contacts, record.faults), (1, Faults::NONE));
        assert!(record.pose_world_tool.translation.vector.norm() < 1e-6, "the proxy stays on the wall");
    }
}

#[test]
fn without_any_mechanism_there_is_no_force_and_the_record_says_so() {
    let mut rig = Rig::new(|_| ());
    rig.publishing = false;
    rig.command(Event::Enable);
    rig.run(600);
    for record in rig.move_to(-DEPTH, 400) {
        assert!(record.faults.contains(Faults::SNAPSHOT_MISSING));
        assert_eq!(record.force.force, Vec3::zeros());
    }
}

#[test]
fn a_late_mechanism_is_held_then_faded_within_the_stated_time_and_comes_back_smoothly() {
    let mut rig = Rig::pressing(|_| ());
    let policy = rig.model.policy;
    let full = rig.tick().force.force.z;
    rig.publishing = false;
    let last = rig.snapshot.stamp.at;
    let held_s = (policy.hold_steps * STEP_S).max(policy.hold_least_s);
    let mut before = full;
    let mut seen_stale = false;
    for record in rig.run(400) {
        let age_s = record.due.since(last) as f64 / NS_PER_S as f64;
        let force = record.force.force.z;
        assert_eq!(record.faults.contains(Faults::SNAPSHOT_STALE), age_s > held_s, "{age_s}");
        if age_s <= held_s {
            assert!((force - full).abs() < 0.01 * full, "held: {force} at {age_s}");
        } else {
            seen_stale = true;
            assert!(force <= before + 1e-9, "fades without rising");
            // In a straight line: no tick loses more than its share and a little.
            assert!(before - force < 1.5 * full * PERIOD_S / policy.fade_s, "{before} to {force}");
        }
        if age_s > held_s + policy.fade_s + PERIOD_S {
            assert_eq!(force, 0.0, "gone {age_s} s after the last mechanism");
        }
        before = force;
    }
    assert!(seen_stale);
    rig.publishing = true;
    let back = rig.run(500);
    assert!((back[499].force.force.z - full).abs() < 0.01 * full, "{}", back[499].force.force);
    let step = largest_step(&back);
    assert!(step < 3.0 * full * PERIOD_S / policy.fade_s, "a step of {step} N on the way back");
}

#[test]
fn a_mechanism_of_wrong_numbers_is_refused_and_the_one_before_it_stays() {
    let spoil: [fn(&mut MechanismSnapshot); 8] = [
        |s| s.rows[0].offset = f64::NAN,
        |s| s.rows[0].offset = 1e30,
        |s| s.rows[1].drift = 1e200,
        |s| s.compliance[0] = f64::INFINITY,
        |s| s.lambda[1] = f64::NAN,
        |s| s.blocks[0].first = 1,
        |s| s.row_count = usize::MAX,
        |s| s.block_count = usize::MAX,
    ];
    for (number, spoil) in spoil.into_iter().enumerate() {
        let mut rig = Rig::pressing(|_| ());
        let full = rig.tick().force.force.z;
        rig.publishing = false;
        wall(rig.snapshot.stamp.sequence + 1, rig.due(), 0.0, &mut rig.snapshot);
        spoil(&mut rig.snapshot);
        let record = rig.tick();
        assert!(record.faults.contains(Faults::SNAPSHOT_INVALID), "{number}");
        assert!((record.force.force.z - full).abs() < 0.01 * full, "{number}: {}", record.force.force);
        // Refused once, not in every tick that still sees it.
        assert_eq!(rig.tick().faults, Faults::NONE, "{number}");
    }
}

#[test]
fn a_mechanism_that_left_constraints_out_is_used_and_says_so() {
    let mut rig = Rig::pressing(|_| ());
    rig.publishing = false;
    wall(rig.snapshot.stamp.sequence + 1, rig.due(), 0.0, &mut rig.snapshot);
    rig.snapshot.dropped = 3;
    for record in rig.run(20) {
        assert_eq!(record.faults, Faults::SNAPSHOT_OVERFULL);
        assert!((record.force.force.z - STIFFNESS * DEPTH).abs() < 0.01 * STIFFNESS * DEPTH);
    }
}

#[test]
fn a_solve_that_ends_in_no_number_gives_zero_force_at_once_and_a_latched_fault() {
    let mut rig = Rig::pressing(|_| ());
    rig.publishing = false;
    wall(rig.snapshot.stamp.sequence + 1, rig.due(), 0.0, &mut rig.snapshot);
    // Each number is finite; times the four newtons of the warm start it is not.
    for row in 0..3 {
        rig.snapshot.compliance[row * (MAX_ROWS + 1)] = 5e307;
    }
    let record = rig.tick();
    assert!(record.faults.contains(Faults::SOLVER_FAILED));
    assert_eq!(record.force.force, Vec3::zeros());
    assert_eq!((record.state, rig.state.gate().cause()), (State::Fault, Some(Trip::Solver)));
    // A good mechanism does not bring the force back by itself.
    rig.publishing = true;
    assert!(rig.run(500).iter().all(|r| r.force.force == Vec3::zeros() && r.state == State::Fault));
    assert_eq!(rig.tick().faults, Faults::NONE);
    rig.command(Event::Acknowledge);
    assert_eq!(rig.tick().state, State::Disabled);
}

#[test]
fn a_force_that_is_no_number_is_never_sent() {
    // Without a proxy: a coupling would slip.
    let mut rig = Rig::new(|model| {
        model.mapping.force_scale = 1e308;
        model.coupling = Coupling::Direct { stiffness: STIFFNESS, damping: 1.0 };
    });
    rig.command(Event::Enable);
    rig.run(600);
    let records = rig.move_to(-DEPTH, 400);
    assert!(records.iter().any(|r| r.faults.contains(Faults::FORCE_INVALID)));
    assert_eq!((records[399].state, rig.state.gate().cause()), (State::Fault, Some(Trip::Solver)));
    assert_eq!(records[399].force.force, Vec3::zeros());
}

#[test]
fn a_silent_device_gets_zero_at_once_and_is_lost_after_the_stated_time() {
    let mut rig = Rig::pressing(|_| ());
    let lost_ticks = (rig.model.policy.device_lost_s / PERIOD_S).round() as usize;
    for n in 0..2 * lost_ticks {
        let record = rig.tick_with(None);
        assert!(record.faults.contains(Faults::DEVICE_SILENT));
        assert_eq!(record.force.force, Vec3::zeros());
        assert_eq!(record.state == State::Fault, n >= lost_ticks, "{n}");
    }
    assert_eq!(rig.state.gate().cause(), Some(Trip::DeviceLost));
    // Back again: no force until it was acknowledged and enabled.
    assert!(rig.run(50).iter().all(|r| r.force.force == Vec3::zeros() && r.state == State::Fault));
    rig.command(Event::Enable);
    assert_eq!(rig.tick().state, State::Fault);
    rig.command(Event::Acknowledge);
    assert_eq!(rig.tick().state, State::Disabled);
}

#[test]
fn a_short_silence_costs_its_own_ticks_only() {
    let mut rig = Rig::pressing(|_| ());
    for _ in 0..5 {
        assert_eq!(rig.tick_with(None).force.force, Vec3::zeros());
    }
    let back = rig.run(200);
    assert_eq!(back[199].state, State::Enabled);
    assert!((back[199].force.force.z - STIFFNESS * DEPTH).abs() < 0.01 * STIFFNESS * DEPTH);
    let slew = rig.model.limits.slew.linear * PERIOD_S;
    assert!(back[0].force.force.norm() <= slew * (1.0 + 1e-9) && largest_step(&back) <= slew * (1.0 + 1e-9));
}

#[test]
fn a_reading_that_is_no_number_is_ignored() {
    let mut rig = Rig::pressing(|_| ());
    for bad in [f64::NAN, f64::INFINITY] {
        let record = rig.tick_with(Some(reading(1, rig.due(), bad)));
        assert!(record.faults.contains(Faults::DEVICE_INVALID));
        assert_eq!(record.force.force, Vec3::zeros());
        assert_eq!(record.state, State::Enabled);
    }
    rig.run(200);
    assert_eq!(rig.tick().faults, Faults::NONE);
}

#[test]
fn a_single_jump_is_ignored_and_a_lasting_one_is_a_lost_device() {
    let mut rig = Rig::pressing(|_| ());
    let far = -DEPTH - 0.05;
    let record = rig.tick_with(Some(reading(1, rig.due(), far)));
    assert!(record.faults.contains(Faults::DEVICE_INVALID));
    assert_eq!(record.force.force, Vec3::zeros());
    rig.run(200);
    assert_eq!(rig.tick().state, State::Enabled);
    rig.hand = far;
    let records = rig.run(60);
    assert!(records.iter().all(|r| r.force.force == Vec3::zeros()), "no force from a place that cannot be");
    assert_eq!((records[59].state, rig.state.gate().cause()), (State::Fault, Some(Trip::DeviceLost)));
    // The new place is believed then, so that the fault can be acknowledged.
    assert!(!records[59].faults.contains(Faults::DEVICE_INVALID));
    rig.command(Event::Acknowledge);
    assert_eq!(rig.tick().state, State::Disabled);
}

#[test]
fn overruns_are_told_one_by_one_and_many_in_a_row_latch_a_fault() {
    let trip = Rig::new(|_| ()).model.policy.overruns_trip;
    for (late_ns, skipped) in [(PERIOD_NS + 1, 0), (0, 2)] {
        let mut rig = Rig::pressing(|_| ());
        (rig.late_ns, rig.skipped) = (late_ns, skipped);
        for n in 1..trip {
            let record = rig.tick();
            assert!(record.faults.contains(Faults::OVERRUN), "{n}");
            assert_eq!(record.state, State::Enabled, "{n}");
        }
        (rig.late_ns, rig.skipped) = (0, 0);
        assert!(!rig.tick().faults.contains(Faults::OVERRUN));
        (rig.late_ns, rig.skipped) = (late_ns, skipped);
        let record = rig.run(trip as usize)[trip as usize - 1];
        assert_eq!((record.state, rig.state.gate().cause()), (State::Fault, Some(Trip::Deadline)));
        assert_eq!(record.force.force, Vec3::zeros());
        // Refused while it lasts.
        rig.command(Event::Acknowledge);
        assert_eq!(rig.tick().state, State::Fault);
        assert_eq!(rig.state.answers()[0].outcome, Err((0, Refusal::CausePersists)));
        (rig.late_ns, rig.skipped) = (0, 0);
        rig.tick();
        rig.command(Event::Acknowledge);
        assert_eq!(rig.tick().state, State::Disabled);
    }
}

#[test]
fn one_gap_of_more_than_100_ms_latches_and_sends_no_force() {
    // The first tick after a stall begins late; one whose predecessor was stalled finds slots skipped.
    for (late_ns, skipped) in [(101_000_000, 0), (5_000_000_000, 0), (0, 101), (0, 5000)] {
        let mut rig = Rig::pressing(|_| ());
        (rig.late_ns, rig.skipped) = (late_ns, skipped);
        let record = rig.tick();
        assert_eq!((record.state, record.cause), (State::Fault, Some(Trip::Deadline)), "{late_ns} {skipped}");
        assert_eq!(record.force.force, Vec3::zeros());
        (rig.late_ns, rig.skipped) = (0, 0);
        assert!(rig.run(500).iter().all(|record| record.state == State::Fault && record.force.force == Vec3::zeros()));
    }
    let mut rig = Rig::pressing(|_| ());
    (rig.late_ns, rig.skipped) = (99_000_000, 99);
    assert_eq!(rig.tick().state, State::Enabled, "one of 99 ms does not");
}

#[test]
fn a_tick_exactly_one_period_late_is_no_overrun() {
    let mut rig = Rig::pressing(|_| ());
    rig.late_ns = PERIOD_NS;
    assert!(!rig.tick().faults.contains(Faults::OVERRUN));
}

#[test]
fn a_solve_that_is_cut_short_says_so_and_its_force_is_used() {
    // By the count of sweeps, over-relaxed so that one is never enough; by time.
    let by_count = Rig::pressing(|_| ());
    let mut by_time = Rig::pressing(|_| ());
    by_time.solve_budget_ns = 0;
    for (mut rig, cut) in [(by_count, true), (by_time, false)] {
        if cut {
            rig.model.solver.iterations = 1;
            rig.model.solver.relaxation = 1.5;
        }
        rig.model.solver.tolerance = 0.0;
        let records: Vec<_> = (0..100)
            .map(|n| {
                rig.hand = -DEPTH - 5e-4 * (0.1 * n as f64).sin();
                rig.tick()
            })
            .collect();
        assert!(records.iter().any(|r| r.faults.contains(Faults::SOLVER_BOUNDED)));
        assert!(records.iter().all(|r| r.state == State::Enabled && r.iterations == 1 && r.force.force.z > 1.0));
    }
}

#[test]
fn thirty_mechanisms_a_second_do_not_click() {
    // The wall of each mechanism is half a millimetre above or below that of the one before.
    let jump = 5e-4;
    let step_with = |blend_s: f64| {
        let mut rig = Rig::pressing(|model| model.policy.blend_s = blend_s);
        let records: Vec<_> = (0..600)
            .map(|_| {
                let steps = (rig.due().since(ORIGIN) as f64 / NS_PER_S as f64 / STEP_S) as u64;
                rig.wall = if steps.is_multiple_of(2) { 0.0 } else { jump };
                rig.tick()
            })
            .collect();
        let wanted: Vec<f64> = records.iter().map(|r| r.wanted.force.z).collect();
        wanted.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f64::max)
    };
    let blend_s = Rig::new(|_| ()).model.policy.blend_s;
    let (blended, bare) = (step_with(blend_s), step_with(1e-9));
    // Blended, the wall moves at jump/blend_s: the damper feels that speed come and go, the spring its way in a tick.
    let bound = 2.0 * DAMPING * jump / blend_s + STIFFNESS * jump * PERIOD_S / blend_s;
    assert!(blended < bound, "{blended} N against {bound} N");
    assert!(bare > 4.0 * blended, "{bare} N without blending, {blended} N with");
}

#[test]
fn enabling_inside_an_object_gives_no_kick() {
    let mut rig = Rig::new(|_| ());
    rig.hand = -6e-3;
    rig.run(200);
    rig.command(Event::Enable);
    assert!(rig.run(1000).iter().all(|r| r.force.force == Vec3::zeros()), "waits while the force would be large");
    let out = rig.move_to(2e-3, 400);
    let ramp = rig.model.policy.ramp_s;
    let bound = 8.0 * PERIOD_S / ramp + 2.0 * STIFFNESS * 8e-3 / 400.0;
    assert!(largest_step(&out) < bound, "{}", largest_step(&out));
    let again: Vec<_> = rig.run(600).into_iter().chain(rig.move_to(-DEPTH, 400)).chain(rig.run(300)).collect();
    assert!((again[1299].force.force.z - STIFFNESS * DEPTH).abs() < 0.01 * STIFFNESS * DEPTH, "and then it is there");
}

#[test]
fn a_force_the_device_did_not_take_is_told_and_reckoned_with() {
    let mut rig = Rig::pressing(|_| ());
    let before = rig.state.ledger().account().reserve_j;
    let record = rig.tick_with(None);
    assert_eq!(record.force.force, Vec3::zeros());
    // The zero was not heard: four newtons go on pushing at a hand that nobody sees.
    rig.state.unheard();
    assert!(rig.state.record().faults.contains(Faults::DEVICE_SILENT));
    let mut heard = Rig::pressing(|_| ());
    heard.tick_with(None);
    rig.tick_with(None);
    heard.tick_with(None);
    let (unheard_j, heard_j) = (rig.state.ledger().account().reserve_j, heard.state.ledger().account().reserve_j);
    assert!(unheard_j < heard_j && heard_j <= before, "{unheard_j} {heard_j} {before}");
}

/// Runs until the machine trips; gives the number of ticks and the cause.
fn ticks_to_trip(rig: &mut Rig, most: usize) -> Option<(usize, Trip)> {
    (1..=most).find_map(|n| {
        let record = rig.tick();
        if let Some(cause) = record.cause {
            assert_eq!(record.force.force, Vec3::zeros(), "cut in the tick that trips");
            return Some((n, cause));
        }
        None
    })
}

#[test]
fn a_force_that_stands_at_its_limit_trips_after_the_stated_time() {
    let mut rig = Rig::pressing(|model| model.policy.force_held_s = 0.5);
    rig.move_to(-0.012, 200);
    let before = rig.tick();
    assert!(before.force.force.z > 0.999 * rig.model.limits.force.linear && before.state == State::Enabled);
    // The limit of 8 N is met two thirds of the way from 4 to 12 mm.
    let (ticks, cause) = ticks_to_trip(&mut rig, 1000).expect("it trips");
    assert_eq!(cause, Trip::ForceLimit);
    assert!((ticks as f64 * PERIOD_S - 0.4).abs() < 0.02, "{ticks} ticks");
    let mut rig = Rig::pressing(|model| model.policy.force_held_s = 0.5);
    rig.move_to(-0.0078, 200);
    assert_eq!(ticks_to_trip(&mut rig, 2000), None, "just below its limit it stays as long as it likes");
}

#[test]
fn a_simulation_that_is_gone_trips_after_the_stated_time() {
    let mut rig = Rig::pressing(|_| ());
    rig.publishing = false;
    let policy = rig.model.policy;
    let held_s = (policy.hold_steps * STEP_S).max(policy.hold_least_s);
    let (ticks, cause) = ticks_to_trip(&mut rig, 4000).expect("it trips");
    let expected_s = held_s + policy.simulation_down_s;
    assert_eq!(cause, Trip::SimulationDown);
    assert!(
        (ticks as f64 * PERIOD_S - expected_s).abs() < STEP_S + 2.0 * PERIOD_S,
        "{ticks} ticks, not {expected_s} s"
    );
    // Not while nothing is rendered anyway.
    let mut rig = Rig::new(|_| ());
    rig.publishing = false;
    assert_eq!(ticks_to_trip(&mut rig, 4000), None);
}

#[test]
fn a_handle_that_runs_away_trips_and_is_acknowledged_only_when_it_stands_still() {
    let mut rig = Rig::new(|_| ());
    rig.command(Event::Enable);
    rig.run(600);
    let limit = rig.model.limits.speed.linear;
    // Beyond the limit it is braked, and that may last.
    let braked = rig.move_to(0.01 + 1.3 * limit * 0.2, 200);
    assert!(braked[199].faults.contains(Faults::SPEED_LIMITED) && braked[199].state == State::Enabled);
    let records = rig.move_to(rig.hand + 1.8 * limit * 0.1, 100);
    let tripped = records.iter().position(|r| r.cause == Some(Trip::Speed)).expect("it trips");
    assert!((45..75).contains(&tripped), "after {tripped} ticks");
    // Refused while it moves, however slowly that is compared to the limit.
    for (speed, outcome) in [(1.8 * limit, false), (0.2, false), (0.05, true)] {
        rig.move_to(rig.hand - 0.1 * speed, 100);
        rig.command(Event::Acknowledge);
        rig.move_to(rig.hand - 1e-3 * speed, 1);
        let answer = rig.state.answers()[0];
        let expected = if outcome { Ok(()) } else { Err((0, Refusal::CausePersists)) };
        assert_eq!(answer.outcome, expected, "{speed} m/s");
    }
}

#[test]
fn an_energy_bound_that_leaves_nothing_of_the_force_trips_after_the_stated_time() {
    // Motors of an ideal device push a hand that has put nothing in: a client's force, for ever.
    let mut rig = Rig::new(|model| {
        model.policy.small_force_n = f64::INFINITY;
        model.mechanics.friction.linear = 0.0;
    });
    rig.command(Event::Enable);
    rig.run(600);
    let mut tripped = None;
    for n in 0..2000_usize {
        rig.push_with(2.0);
        // Away with the push: every newton would give energy.
        rig.hand += 2e-5;
        let record = rig.tick();
        if record.cause.is_some() {
            tripped = Some((n, record.cause));
            break;
        }
        assert!(record.force.force.norm() < 0.2, "{}", record.force.force);
    }
    let (ticks, cause) = tripped.expect("it trips");
    assert_eq!(cause, Some(Trip::Passivity));
    assert!((ticks as f64 * PERIOD_S - rig.model.policy.passivity_held_s).abs() < 0.05, "{ticks} ticks");
}

#[test]
fn a_device_that_loses_its_place_while_enabled_is_lost() {
    let mut rig = Rig::pressing(|_| ());
    let mut sample = reading(rig.index + 1, rig.due(), rig.hand);
    sample.homed = false;
    let record = rig.tick_with(Some(sample));
    assert_eq!((record.cause, record.homed), (Some(Trip::DeviceLost), false));
    assert_eq!(record.force.force, Vec3::zeros());
}
