//! The simulated device and its operator against closed forms, conservation laws and one another.
//!
//! Thread: test.

use super::*;
use crate::device::operator::{Action, HandModel, OperatorOrder, Phase, Progress, Script, Skill, Until};
use crate::device::{Connection, Limiter, Limits, Mechanics, PerPart};
use crate::math::{Mapping, displacement};
use crate::shared::{Faults, ManualClock, latest};
use std::f64::consts::{PI, TAU};

const PERIOD_NS: u64 = 1_000_000;

fn part(linear: f64, angular: f64) -> PerPart {
    PerPart { linear, angular }
}

/// A six-axis desk-top device, for tests all over the module.
pub(crate) fn test_spec() -> DeviceSpec {
    DeviceSpec {
        model: "test".into(),
        driver: "simulated".into(),
        rotation_sensed: true,
        rotation_actuated: true,
        buttons: 2,
        rate_hz: 1000.0,
        limits: Limits {
            force: part(8.0, 0.2),
            slew: part(1e9, 1e9),
            power_w: 1e9,
            reserve_j: 0.1,
            speed: part(1e9, 1e9),
            acceleration: part(150.0, 1500.0),
            stiffness: part(3000.0, 5.0),
            damping: part(20.0, 0.05),
            workspace_radius_m: 0.1,
            watchdog_s: None,
        },
        mechanics: Mechanics {
            inertia: part(0.2, 2e-4),
            damping: part(0.5, 5e-4),
            friction: part(0.1, 1e-3),
            quantum: part(10e-6, 1e-4),
            latency_ticks: 0,
            links: None,
        },
        connection: Connection::default(),
    }
}

/// A device without any loss or rounding.
fn ideal_spec() -> DeviceSpec {
    let mut spec = test_spec();
    spec.mechanics.damping = part(0.0, 0.0);
    spec.mechanics.friction = part(0.0, 0.0);
    spec.mechanics.quantum = part(0.0, 0.0);
    spec
}

fn safe(force: HandForce) -> SafeForce {
    let mut limits = test_spec().limits;
    limits.force = part(1e9, 1e9);
    Limiter::new(limits).limit(force, &HandMotion::default(), None, 1e-3, &mut Faults::default())
}

/// Runs `count` more ticks in virtual time; `force` sees the number of ticks so far, the reading and the device, and gives what is
/// written.
fn run(
    device: &mut SimulatedDevice,
    count: u64,
    mut force: impl FnMut(u64, Result<HandSample, DeviceFault>, &SimulatedDevice) -> HandForce,
) {
    let clock = ManualClock::default();
    let start = device.last.unwrap_or_default();
    for index in 1..=count {
        let due = start.plus(index * PERIOD_NS);
        clock.set(due);
        let mut tick = Tick::begin(index, due, 1e-3, 0, &clock);
        let sample = device.read(&mut tick);
        let wanted = safe(force(index, sample, device));
        // A silent device refuses; the tests look at what the reading says.
        let _ = device.write(&wanted, &mut tick);
    }
}

fn push(force: Vec3) -> HandForce {
    HandForce { force, torque: Vec3::zeros() }
}

#[test]
fn a_free_mass_under_constant_force_moves_as_newton_says() {
    let mut device = SimulatedDevice::new(ideal_spec(), Operator::absent(), 1);
    let f = Vec3::new(0.3, -0.2, 0.1);
    run(&mut device, 501, |_, _, _| push(f));
    let (t, m) = (0.5, 0.2);
    let position = f * (t * t / (2.0 * m));
    assert!((device.pose_true().translation.vector - position).norm() < 1e-9);
    assert!((device.motion_true().linear - f * (t / m)).norm() < 1e-9);
    assert!((device.energy_to_hand_true() - f.dot(&position)).abs() < 1e-9);
}

#[test]
fn a_damped_mass_under_constant_force_approaches_its_final_speed() {
    let mut spec = ideal_spec();
    spec.mechanics.damping.linear = 0.3;
    let mut device = SimulatedDevice::new(spec, Operator::absent(), 1);
    run(&mut device, 501, |_, _, _| push(Vec3::x() * 0.2));
    let (t, m, b, f) = (0.5, 0.2, 0.3, 0.2);
    let v = f / b * (1.0 - f64::exp(-b * t / m));
    let x = f / b * t - m / b * v;
    assert!((device.motion_true().linear.x - v).abs() < 1e-9, "{:e}", device.motion_true().linear.x - v);
    assert!((device.pose_true().translation.x - x).abs() < 1e-9, "{:e}", device.pose_true().translation.x - x);
}

#[test]
fn friction_holds_a_force_below_it_and_lets_the_surplus_through() {
    let mut spec = ideal_spec();
    spec.mechanics.friction = part(0.4, 0.0);
    let mut held = SimulatedDevice::new(spec.clone(), Operator::absent(), 1);
    run(&mut held, 1000, |_, _, _| push(Vec3::new(0.4, -0.39, 0.0)));
    assert_eq!((held.pose_true(), held.energy()), (&Pose::identity(), &EnergyBook::default()));
    let mut moved = SimulatedDevice::new(spec.clone(), Operator::absent(), 1);
    run(&mut moved, 501, |_, _, _| push(Vec3::x() * 0.5));
    assert!((moved.pose_true().translation.x - 0.1 * 0.25 / 0.4).abs() < 1e-12);
    // Let go at v = 0.25 m/s: stops after m v²/(2F), and rests exactly.
    let start = moved.pose_true().translation.x;
    let v = moved.motion_true().linear.x;
    moved.silence(MonoNs(0));
    run(&mut moved, 501, |_, _, _| HandForce::zero());
    assert_eq!(moved.motion_true().linear, Vec3::zeros());
    assert!((moved.pose_true().translation.x - start - 0.2 * v * v / 0.8).abs() < 1e-12);
}

#[test]
fn work_of_hand_and_motors_is_kinetic_energy_and_losses() {
    for skill in [Skill::Novice, Skill::Trained, Skill::Expert] {
        let target = Pose::new(Vec3::new(0.03, -0.02, 0.04), Vec3::new(0.3, 0.5, -0.2));
        let script = Script::new(&[
            Phase::new("go", Action::MoveTo { target, speed: 0.1 }, Until::Elapsed { seconds: 0.8 }, 9.0),
            Phase::new(
                "press",
                Action::Press { force: Vec3::new(1.0, 2.0, -2.0) },
                Until::Elapsed { seconds: 9.0 },
                10.0,
            ),
        ])
        .expect("two phases fit");
        let operator = Operator::new(skill, script, Mapping::identity());
        let mut spec = test_spec();
        spec.mechanics.latency_ticks = 1;
        let mut device = SimulatedDevice::new(spec, operator, 5);
        let (mut worst, mut frictional) = (0.0_f64, 0.0);
        // A stiff wall and a restless torque.
        run(&mut device, 2000, |index, _, device| {
            let book = device.energy();
            let balance = book.motor_j + book.hand_j - book.drag_j - book.friction_j - device.kinetic_energy();
            worst = worst.max(balance.abs());
            assert!(book.friction_j >= frictional);
            frictional = book.friction_j;
            let z = device.pose_true().translation.z;
            let torque = Vec3::new(0.05, -0.03, 0.02) * (index as f64 * 0.05).sin();
            HandForce { force: Vec3::z() * (1500.0 * (0.02 - z)).min(0.0), torque }
        });
        println!(
            "{skill:?}: balance {worst:.1e} J, friction {frictional:.3} J, motors {:.4} J",
            device.energy().motor_j
        );
        assert!(worst < 1e-9 && frictional > 1e-3, "{worst} {frictional}");
    }
}

#[test]
fn a_free_turning_handle_keeps_its_spin_and_its_energy() {
    let mut device = SimulatedDevice::new(ideal_spec(), Operator::absent(), 1);
    let spin = Vec3::new(3.0, -2.0, 5.0);
    device.set_true(*device.pose_true(), HandMotion { linear: Vec3::zeros(), angular: spin });
    run(&mut device, 1001, |_, _, _| HandForce::zero());
    assert!((device.motion_true().angular - spin).norm() < 1e-12);
    assert!(device.pose_true().rotation.angle_to(&exp_so3(&spin)) < 1e-12);
}

#[test]
fn torque_turns_the_handle_about_its_axis_in_the_base_frame() {
    let start = Pose::new(Vec3::zeros(), Vec3::new(0.5, -1.0, 0.7));
    let mut device = SimulatedDevice::at(ideal_spec(), Operator::absent(), 1, start);
    let torque = Vec3::new(0.6e-3, 0.0, -0.8e-3);
    run(&mut device, 501, |_, _, _| HandForce { force: Vec3::zeros(), torque });
    let turned = exp_so3(&(torque * (0.25 / (2.0 * 2e-4)))) * start.rotation;
    assert!(device.pose_true().rotation.angle_to(&turned) < 1e-9);
}

#[test]
fn a_three_axis_device_never_turns() {
    let mut spec = test_spec();
    (spec.rotation_sensed, spec.rotation_actuated) = (false, false);
    let start = Pose::new(Vec3::x() * 0.01, Vec3::new(0.5, 0.0, 0.0));
    let operator = Operator::new(Skill::Novice, Script::empty(), Mapping::identity());
    let mut device = SimulatedDevice::at(spec, operator, 3, start);
    run(&mut device, 200, |_, sample, _| {
        assert_eq!(sample.expect("it is read").pose_device_handle.rotation, Rot::identity());
        HandForce { force: Vec3::x(), torque: Vec3::x() }
    });
    assert_eq!(device.pose_true().rotation, Rot::identity());
}

#[test]
fn readings_are_the_nearest_multiples_of_the_quantum() {
    let operator = Operator::new(Skill::Novice, Script::empty(), Mapping::identity());
    let mut device = SimulatedDevice::new(test_spec(), operator, 3);
    let mut differs = false;
    run(&mut device, 500, |_, sample, device| {
        let pose = sample.expect("it is read").pose_device_handle;
        let truth = device.pose_true();
        let steps = pose.translation.vector / 10e-6;
        assert!((steps - steps.map(f64::round)).amax() < 1e-9, "{steps}");
        assert!((pose.translation.vector - truth.translation.vector).amax() <= 5.0001e-6);
        assert!(pose.rotation.angle_to(&truth.rotation) <= 0.5e-4 * 3.0_f64.sqrt() * 1.001);
        differs |= pose.translation != truth.translation;
        HandForce::zero()
    });
    assert!(differs);
}

#[test]
fn a_force_takes_effect_after_exactly_the_latency() {
    for latency in [0, 1, 3] {
        let mut spec = ideal_spec();
        spec.mechanics.latency_ticks = latency;
        let mut device = SimulatedDevice::new(spec, Operator::absent(), 1);
        let mut moved_at = None;
        run(&mut device, 20, |index, _, device| {
            if device.pose_true().translation.x != 0.0 {
                moved_at.get_or_insert(index);
            }
            push(Vec3::x() * if index == 5 { 1.0 } else { 0.0 })
        });
        // Written in tick 5, acting from tick 5 + latency, seen one tick later.
        assert_eq!(moved_at, Some(6 + u64::from(latency)));
        // It acted for one period and no longer.
        assert!((device.motion_true().linear.x - 1e-3 / 0.2).abs() < 1e-15);
    }
}

#[test]
fn forces_saturate_and_end_with_silence_or_the_watchdog() {
    let mut spec = ideal_spec();
    spec.limits.watchdog_s = Some(0.02);
    let mut device = SimulatedDevice::new(spec, Operator::absent(), 1);
    run(&mut device, 3, |_, _, _| HandForce { force: Vec3::new(30.0, -40.0, 0.0), torque: Vec3::z() });
    assert!((device.acting().force - Vec3::new(4.8, -6.4, 0.0)).norm() < 1e-12);
    assert!((device.acting().torque - Vec3::z() * 0.2).norm() < 1e-12);
    // The command is held for twenty silent ticks, then the firmware gives up.
    device.inject_silence(40);
    let mut zero_at = None;
    run(&mut device, 40, |index, sample, device| {
        assert_eq!(sample.err(), Some(DeviceFault::Silent));
        if device.acting() == HandForce::zero() {
            zero_at.get_or_insert(index);
        }
        HandForce::zero()
    });
    assert_eq!(zero_at, Some(21));
    let mut device = SimulatedDevice::new(ideal_spec(), Operator::absent(), 1);
    run(&mut device, 3, |_, _, _| push(Vec3::x()));
    assert_ne!(device.acting(), HandForce::zero());
    device.silence(MonoNs(0));
    assert_eq!(device.acting(), HandForce::zero());
}

#[test]
fn injected_faults_show_in_the_readings_and_nowhere_else() {
    let mut device = SimulatedDevice::new(ideal_spec(), Operator::absent(), 1);
    run(&mut device, 2, |_, _, _| HandForce::zero());
    device.inject_silence(2);
    device.inject_invalid(1);
    device.inject_jump(Vec3::x() * 0.01);
    let mut seen = Vec::new();
    run(&mut device, 5, |_, sample, _| {
        seen.push(sample.map(|sample| sample.pose_device_handle.translation.x));
        HandForce::zero()
    });
    assert_eq!(seen[..2], [Err(DeviceFault::Silent); 2]);
    assert!(seen[2].is_ok_and(f64::is_nan));
    assert_eq!(seen[3..], [Ok(0.01); 2]);
    assert_eq!(device.pose_true(), &Pose::identity());
}

#[test]
fn a_long_gap_is_made_up_for_only_in_part() {
    let mut device = SimulatedDevice::new(ideal_spec(), Operator::absent(), 1);
    device.set_true(Pose::identity(), HandMotion { linear: Vec3::x(), angular: Vec3::zeros() });
    let clock = ManualClock::default();
    for (index, at) in [(1, 0), (2, 30_000_000_000)] {
        clock.set(MonoNs(at));
        let sample = device.read(&mut Tick::begin(index, MonoNs(at), 1e-3, 0, &clock));
        assert!(sample.is_ok());
    }
    assert!((device.pose_true().translation.x - 0.02).abs() < 1e-12);
}

#[test]
fn the_watchdog_cuts_the_force_inside_a_long_gap_too() {
    let mut spec = ideal_spec();
    spec.limits.watchdog_s = Some(0.004);
    let mut device = SimulatedDevice::new(spec, Operator::absent(), 1);
    run(&mut device, 1, |_, _, _| push(Vec3::x()));
    let clock = ManualClock::at(MonoNs(11 * PERIOD_NS));
    assert!(device.read(&mut Tick::begin(2, MonoNs(2 * PERIOD_NS), 1e-3, 0, &clock)).is_ok());
    // One newton for 4 ms, then nothing.
    assert!((device.motion_true().linear.x - 4e-3 / 0.2).abs() < 1e-12, "{}", device.motion_true().linear.x);
}

/// A forward move, true path and readings of 1.5 s.
fn trace(skill: Skill, seed: u64) -> Vec<(Pose, Pose)> {
    let target = Pose::translation(0.05, 0.02, -0.03);
    let until = Until::Reached { tolerance_m: 1e-3, tolerance_rad: 1.0 };
    let script =
        Script::new(&[Phase::new("go", Action::MoveTo { target, speed: 0.08 }, until, 20.0)]).expect("one fits");
    let mut device = SimulatedDevice::new(test_spec(), Operator::new(skill, script, Mapping::identity()), seed);
    let mut out = Vec::new();
    run(&mut device, 1500, |_, sample, device| {
        out.push((*device.pose_true(), sample.expect("it is read").pose_device_handle));
        HandForce::zero()
    });
    out
}

#[test]
fn equal_seeds_give_equal_runs_bit_for_bit_and_others_differ() {
    assert_eq!(trace(Skill::Trained, 17), trace(Skill::Trained, 17));
    assert_ne!(trace(Skill::Trained, 17), trace(Skill::Trained, 18));
}

#[test]
fn the_more_practised_the_hand_the_straighter_its_path() {
    let direction = Vec3::new(0.05, 0.02, -0.03).normalize();
    let error = |skill| {
        let all = (0..20).flat_map(|seed| trace(skill, seed));
        let squares: Vec<f64> = all
            .map(|(pose, _)| {
                let p = pose.translation.vector;
                (p - direction * p.dot(&direction)).norm_squared()
            })
            .collect();
        (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
    };
    let (novice, trained, expert) = (error(Skill::Novice), error(Skill::Trained), error(Skill::Expert));
    println!("rms path error mm: novice {:.2} trained {:.2} expert {:.2}", novice * 1e3, trained * 1e3, expert * 1e3);
    assert!(novice > 1.5 * trained && trained > 1.5 * expert, "{novice} {trained} {expert}");
}

#[test]
fn a_hand_presses_a_spring_with_the_force_it_was_asked_for() {
    for skill in [Skill::Novice, Skill::Trained, Skill::Expert] {
        for (seed, stiffness) in [(1, 800.0), (2, 800.0), (3, 2000.0), (4, 200.0)] {
            let force = Vec3::new(0.0, 0.0, -3.0);
            let phase = Phase::new("press", Action::Press { force }, Until::Elapsed { seconds: 9.0 }, 10.0);
            let script = Script::new(&[phase]).expect("one phase fits");
            let operator = Operator::new(skill, script, Mapping::identity());
            let force_error = operator.hand().force_error;
            let mut device = SimulatedDevice::new(test_spec(), operator, seed);
            let (mut sum, mut peak) = (0.0, 0.0_f64);
            run(&mut device, 6000, |index, sample, _| {
                let z = sample.expect("it is read").pose_device_handle.translation.z;
                let wall = stiffness * (-0.005 - z).max(0.0);
                peak = peak.max(wall);
                sum += if index > 4000 { wall } else { 0.0 };
                push(Vec3::z() * wall)
            });
            let mean = sum / 2000.0;
            println!("{skill:?} on {stiffness} N/m: {mean:.3} N, peak {peak:.2} N");
            // Twice the skill's force error, and a hundredth for what the correction leaves.
            assert!((mean - 3.0).abs() < 3.0 * (2.0 * force_error + 0.01), "{skill:?} {stiffness}: {mean}");
            assert!(peak < 8.0, "{peak}");
        }
    }
}

#[test]
fn a_hand_that_presses_in_vain_presses_harder() {
    for skill in [Skill::Novice, Skill::Trained, Skill::Expert] {
        for seed in 1..6 {
            // A quarter more than it means to press with: beyond any misjudgement of the practised, within what it then adds.
            let until = Until::ForceAbove { force_n: 2.5, for_s: 0.3 };
            let phase = Phase::new("press", Action::Press { force: Vec3::new(0.0, 0.0, -2.0) }, until, 20.0);
            let script = Script::new(&[phase]).expect("one phase fits");
            let mut device = SimulatedDevice::new(test_spec(), Operator::new(skill, script, Mapping::identity()), seed);
            let mut pressed = Vec::new();
            run(&mut device, 16_000, |_, sample, _| {
                let z = sample.expect("it is read").pose_device_handle.translation.z;
                pressed.push(800.0 * (-0.005 - z).max(0.0));
                push(Vec3::z() * pressed[pressed.len() - 1])
            });
            let peak = pressed.iter().copied().fold(0.0, f64::max);
            assert_eq!(device.operator().report().progress, Progress::Finished, "{skill:?} {seed}: {peak} N at most");
            assert!(peak < 4.0, "{skill:?} {seed}: {peak} N");
        }
    }
}

#[test]
fn tremor_peaks_between_eight_and_twelve_hertz_with_the_stated_strength() {
    // Nothing but tremor on a device without friction.
    let none = part(0.0, 0.0);
    let hand = HandModel { drift_rms: none, path_noise_s: 0.0, ..Skill::Novice.hand() };
    let mut device =
        SimulatedDevice::new(ideal_spec(), Operator::with_hand(hand, Script::empty(), Mapping::identity()), 9);
    let mut motion = Vec::new();
    run(&mut device, 60_000, |_, _, device| {
        motion.push((device.pose_true().translation.x, log_so3(&device.pose_true().rotation).y));
        HandForce::zero()
    });
    for (name, values, stated) in [
        ("linear", motion.iter().map(|m| m.0).collect::<Vec<f64>>(), hand.tremor_rms.linear),
        ("angular", motion.iter().map(|m| m.1).collect(), hand.tremor_rms.angular),
    ] {
        // Power at whole hertz, over windows of one second: each is a mean of 60 periodograms.
        let power = |hertz: f64| -> f64 {
            let of_window = |window: &[f64]| {
                let (mut re, mut im) = (0.0, 0.0);
                for (k, x) in window.iter().enumerate() {
                    let hann = 1.0 - (TAU * k as f64 / window.len() as f64).cos();
                    let phase = TAU * hertz * k as f64 / 1000.0;
                    re += x * hann * phase.cos();
                    im += x * hann * phase.sin();
                }
                re * re + im * im
            };
            values.chunks(1000).map(of_window).sum()
        };
        let (peak, _) = (1..40)
            .map(|hertz| (hertz, power(f64::from(hertz))))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .expect("there are frequencies");
        let rms = (values.iter().map(|x| x * x).sum::<f64>() / values.len() as f64).sqrt();
        println!("{name}: peak at {peak} Hz, {:.3e} rms of {stated:.3e}", rms);
        assert!((8..=12).contains(&peak), "{name}: {peak}");
        assert!((0.7..1.4).contains(&(rms / stated)), "{name}: {rms} of {stated}");
    }
}

/// A scene of one block that the tool pushes along z, shown at 50 Hz through a scaled and turned mapping.
#[test]
fn a_script_runs_through_its_phases_by_what_is_felt_and_seen() {
    let base = Pose::new(Vec3::new(0.0, 0.2, 0.5), Vec3::new(0.0, 0.0, PI / 2.0));
    let mapping = Mapping { motion_scale: 2.0, force_scale: 0.5, pose_world_device: base };
    let above = Pose::from_parts(Vec3::new(0.02, 0.22, 0.5).into(), base.rotation);
    let beside = Pose::from_parts(Vec3::new(0.06, 0.22, 0.5).into(), base.rotation);
    let down = Vec3::z() * -2.0;
    let lean = exp_so3(&Vec3::new(0.0, 0.0, 0.5));
    let over = Pose::from_parts(Vec3::new(0.0, 0.0, 0.2).into(), base.rotation);
    let reached = Until::Reached { tolerance_m: 3e-3, tolerance_rad: 0.05 };
    let moved = Until::BodyMoved { body: 0, direction: -Vec3::z(), distance: 0.03 };
    let turn = Action::Turn { axis: Vec3::z(), angle_rad: 7.0, rate_rad_s: 4.0, force: Vec3::zeros() };
    let phases = [
        Phase::new("approach", Action::MoveTo { target: above, speed: 0.1 }, reached, 8.0),
        Phase::new("touch", Action::Press { force: down }, Until::ForceAbove { force_n: 1.2, for_s: 0.05 }, 8.0),
        Phase::new("slide", Action::Slide { target: beside, speed: 0.05, force: down }, reached, 8.0),
        Phase::new("search", Action::Search { radius: 8e-3, pitch: 4e-3, speed: 0.05, force: down }, moved, 15.0)
            .holding(1),
        Phase::new("follow", Action::Follow { body: 0, offset: over }, reached, 8.0),
        Phase::new("turn", turn, reached, 8.0),
        Phase::new("rest", Action::Rest { seconds: 0.5 }, reached, 8.0),
    ];
    for skill in [Skill::Novice, Skill::Trained, Skill::Expert] {
        let (mut screen, view) = latest(SceneView::empty());
        let (report, mut seen) = latest(Operator::absent().report());
        let script = Script::new(&phases).expect("they fit");
        let mut device = SimulatedDevice::new(test_spec(), Operator::new(skill, script, mapping), 4)
            .watching(view)
            .reporting(report);
        let mut order = Vec::new();
        let mut block = 0.45;
        run(&mut device, 60_000, |index, sample, device| {
            let sample = sample.expect("it is read");
            let tool = mapping.pose_to_scene(&sample.pose_device_handle);
            let now = *seen.read();
            if now.progress == Progress::Running && order.last() != Some(&now.phase) {
                order.push(now.phase);
                println!("{skill:?} {:.2} s {}", index as f64 * 1e-3, now.name);
            }
            assert_eq!(sample.buttons, u32::from(now.phase == 3 && now.progress == Progress::Running));
            // Found after a while of searching: the block sinks.
            if now.phase == 3 && now.phase_s > 2.0 && block > 0.41 {
                block -= 2e-5;
            }
            if index % 20 == 1 {
                let mut shown = SceneView::empty();
                shown.stamp = Stamp { sequence: index, at: MonoNs(index * PERIOD_NS) };
                shown.tool = tool;
                shown.show(Pose::from_parts(Vec3::new(0.06, 0.22, block).into(), lean));
                screen.publish(shown);
            }
            let depth = (block - tool.translation.z).max(0.0);
            let scene = crate::math::join(&(Vec3::z() * (400.0 * depth)), &Vec3::zeros());
            let (force, torque) = mapping.wrench_to_hand(&scene, &device.pose_true().rotation);
            HandForce { force, torque }
        });
        let end = *seen.read();
        assert_eq!(end.progress, Progress::Finished, "{skill:?} {end:?}");
        assert_eq!(order, [0, 1, 2, 3, 4, 5, 6]);
    }
}

#[test]
fn an_operator_who_cannot_get_there_gives_up_and_holds_still() {
    let target = Pose::translation(0.05, 0.0, 0.0);
    let until = Until::Reached { tolerance_m: 1e-3, tolerance_rad: 1.0 };
    let script = Script::new(&[Phase::new("go", Action::MoveTo { target, speed: 0.1 }, until, 3.0)]).expect("one fits");
    let operator = Operator::new(Skill::Trained, script, Mapping::identity());
    let mut device = SimulatedDevice::new(test_spec(), operator, 1);
    let (mut failed_at, mut peak) = (None, 0.0_f64);
    run(&mut device, 6000, |index, _, device| {
        if device.operator().report().progress == Progress::Failed {
            failed_at.get_or_insert(index);
        }
        // A wall in the way at 20 mm.
        let wall = 1500.0 * (device.pose_true().translation.x - 0.02).max(0.0);
        peak = peak.max(wall);
        push(Vec3::x() * -wall)
    });
    assert!(matches!(failed_at, Some(3000..=3003)), "{failed_at:?}");
    // Never harder against its way than the hand's strength, but for tremor and the first knock.
    assert!(peak < 7.5 && device.pose_true().translation.x < 0.025, "{peak}");
}

#[test]
fn a_blocked_turn_keeps_its_sense() {
    // A turn of many revolutions against a torsion spring: the hand must not let the target run round to the other side.
    let action = Action::Turn { axis: Vec3::y(), angle_rad: 40.0, rate_rad_s: 6.0, force: Vec3::zeros() };
    let until = Until::TorqueAbove { torque_nm: 0.15, for_s: 6.0 };
    let script = Script::new(&[Phase::new("turn", action, until, 10.0)]).expect("one phase fits");
    let operator = Operator::new(Skill::Expert, script, Mapping::identity());
    let mut spec = test_spec();
    // Stronger than the hand.
    spec.limits.force.angular = 1.0;
    let mut device = SimulatedDevice::new(spec, operator, 1);
    run(&mut device, 9000, |_, _, device| {
        let angle = displacement(&Pose::identity(), device.pose_true())[4];
        assert!(angle > -0.1, "{angle}");
        HandForce { force: Vec3::zeros(), torque: Vec3::y() * (-0.4 * angle) }
    });
    assert_eq!(device.operator().report().progress, Progress::Finished);
}

#[test]
fn an_operator_who_is_told_to_rest_holds_still_and_goes_on_from_there() {
    let target = Pose::translation(0.04, 0.0, 0.0);
    let reach = Action::MoveTo { target, speed: 0.05 };
    let until = Until::Reached { tolerance_m: 2e-3, tolerance_rad: 1.0 };
    let script = Script::new(&[Phase::new("reach", reach, until, 5.0)]).expect("short");
    let (mut orders, reader) = latest(OperatorOrder { works: false });
    let operator = Operator::new(Skill::Expert, script, Mapping::identity());
    let mut device = SimulatedDevice::new(test_spec(), operator, 1).operated_by(reader);
    let mut stretch = |device: &mut SimulatedDevice, works: bool, ticks: u64, pushed: f64| {
        orders.publish(OperatorOrder { works });
        let (mut fastest, mut farthest) = (0.0_f64, 0.0_f64);
        let from = device.pose_true().translation.vector;
        run(device, ticks, |_, _, device| {
            fastest = fastest.max(device.motion_true().linear.norm());
            farthest = farthest.max((device.pose_true().translation.vector - from).norm());
            push(Vec3::new(0.0, pushed, 0.0))
        });
        (fastest, farthest, device.operator().report())
    };
    // Told to rest from the beginning: nothing happens, however long it takes.
    let (_, farthest, report) = stretch(&mut device, false, 8000, 0.0);
    assert!(farthest < 1e-6 && report.phase_s == 0.0 && report.progress == Progress::Running, "{farthest} {report:?}");
    let (_, _, report) = stretch(&mut device, true, 400, 0.0);
    let (half_way, phase_s) = (device.pose_true().translation.x, report.phase_s);
    assert!(half_way > 0.005 && half_way < 0.035, "{half_way}");
    // In the middle of the way: it comes to a stand, gives way to a push, and does not tire.
    let (_, farthest, report) = stretch(&mut device, false, 500, 0.0);
    assert!(farthest < 0.01 && report.phase_s == phase_s, "{farthest} {report:?}");
    let (fastest, farthest, _) = stretch(&mut device, false, 6000, 0.5);
    assert!(farthest > 1e-4 && farthest < 0.02 && fastest < 0.1, "{farthest} m, {fastest} m/s");
    // On from there, without a start.
    let (fastest, _, report) = stretch(&mut device, true, 2500, 0.0);
    assert!(fastest < 0.2, "{fastest} m/s");
    assert_eq!(report.progress, Progress::Finished, "{report:?}");
}

#[test]
fn a_screwing_hand_turns_on_and_back_again_with_the_tool_let_go_in_between() {
    let (axis, grip_rad) = (Vec3::z(), 1.0);
    let action = Action::Screw { axis, grip_rad, rate_rad_s: 2.0, force: Vec3::zeros(), release: 0b10 };
    let phase = Phase::new("screw", action, Until::Elapsed { seconds: 5.0 }, 10.0);
    let script = Script::new(&[phase]).expect("it fits");
    let mut device = SimulatedDevice::new(test_spec(), Operator::new(Skill::Expert, script, Mapping::identity()), 1);
    let (mut turned, mut angle, mut last) = (0.0, 0.0_f64, Rot::identity());
    run(&mut device, 4000, |_, sample, _| {
        let sample = sample.expect("it speaks");
        let change = log_so3(&(sample.pose_device_handle.rotation * last.inverse())).z;
        last = sample.pose_device_handle.rotation;
        angle += change;
        assert!(angle.abs() < 1.3, "the hand stays within a grip: {angle}");
        // What a clutch on that button would make of it.
        turned += if sample.buttons & 0b10 == 0 { change } else { 0.0 };
        push(Vec3::zeros())
    });
    assert!(turned > 2.5, "and the tool goes on: {turned}");
}

#[test]
fn a_hand_that_swings_a_spanner_on_in_the_next_phase_swings_it_about_the_same_nut() {
    let lever = Vec3::new(0.0, 0.04, 0.0);
    let swing = |swing_rad| Action::Swing { axis: Vec3::z(), lever, swing_rad, rate_rad_s: 1.2, force: Vec3::zeros() };
    let first = Phase::new("first", swing(-1.0), Until::Elapsed { seconds: 0.5 }, 10.0);
    let then = Phase::new("then", swing(-0.7), Until::Elapsed { seconds: 5.0 }, 10.0);
    let script = Script::new(&[first, then]).expect("they fit");
    let mut device = SimulatedDevice::new(test_spec(), Operator::new(Skill::Expert, script, Mapping::identity()), 1);
    let mut angles = [0.0_f64; 2];
    run(&mut device, 4000, |_, sample, _| {
        let arm = sample.expect("it speaks").pose_device_handle.translation.vector + lever;
        assert!((arm.norm() - 0.04).abs() < 5e-3, "the hand is {} m from the nut", arm.norm());
        let angle = lever.cross(&arm).z.atan2(lever.dot(&arm));
        angles = [angles[0].min(angle), angles[1].max(angle)];
        push(Vec3::zeros())
    });
    assert!(angles[0] < -0.6 && angles[0] > -0.9 && angles[1] < 0.2, "strokes of the angle asked for: {angles:?}");
}
