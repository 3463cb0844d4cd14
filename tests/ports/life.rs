//! The life of a device on its own thread: homing, force, unplugging at any moment, coming back; and the demo over a port.

use crate::emulator::{Emulator, PATIENCE, fresh_path};
use hapticd::device::driver::{DriverState, Trim};
use hapticd::device::port::{Link, LinkNews, LinkState, RealDevice, reach};
use hapticd::device::{Device, DeviceFault, DeviceSpec, HandForce, HandMotion, HandSample, Limiter, SafeForce};
use hapticd::math::Vec3;
use hapticd::scene;
use hapticd::shared::realtime::{RealtimeRequest, SystemClock, sleep_until};
use hapticd::shared::{Clock as _, Faults, Tick};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

const MS: u64 = 1_000_000;

fn spec(file: &str) -> DeviceSpec {
    scene::open_device(file).expect("it is shipped").value
}

fn start(spec: &DeviceSpec, port: &Path) -> Link {
    // Without the right to a priority it goes on without.
    let rights = RealtimeRequest { priority: 70, ..RealtimeRequest::default() };
    let trims = Arc::new(|_: &str, _: &str| Ok(Trim::default()));
    let keeping = reach::Keeping { program: env!("CARGO_BIN_EXE_hapticd").into(), ..reach::Keeping::new(70, trims) };
    Link::start(spec.clone(), reach::opener(spec, Some(port.to_owned()), keeping), None, rights).expect("a thread")
}

/// Looks every millisecond until `holds`.
fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "waited for {what}");
        sleep_until(SystemClock.now().plus(MS));
    }
}

fn wait_for(link: &mut Link, what: &str, is_it: impl Fn(LinkState) -> bool) {
    wait(what, || is_it(link.status().state));
}

fn unhomed(state: LinkState) -> bool {
    matches!(state, LinkState::Driven(DriverState::Homing(_)))
}

const READY: LinkState = LinkState::Driven(DriverState::Ready);

/// Says that the handle rests until the device is homed: one that a busy machine kept silent is started anew and forgets it.
fn home(link: &mut Link) {
    let mut looks = 0_u32;
    wait("homing", || {
        let state = link.status().state;
        if unhomed(state) && looks.is_multiple_of(200) {
            link.confirm_home();
        }
        looks += 1;
        state == READY
    });
}

/// A tick's worth of work: reads, then commands a force up for as long as the device is homed, as the tick would.
fn beat(device: &mut RealDevice, limiter: &mut Limiter, index: u64, wanted: Vec3) -> Result<HandSample, DeviceFault> {
    let mut tick = Tick::begin(index, SystemClock.now(), 1e-3, 0, &SystemClock);
    let sample = device.read(&mut tick);
    let wanted = HandForce { force: wanted, torque: Vec3::zeros() };
    let force: SafeForce = limiter.limit(wanted, &HandMotion::default(), None, 1e-3, &mut Faults::NONE.clone());
    device.write(&force, &mut tick).expect("a mailbox takes everything");
    sleep_until(tick.began.plus(MS));
    sample
}

fn count(emulator: &Emulator, ending: &str) -> usize {
    emulator.lines().iter().filter(|line| line.ends_with(ending)).count()
}

#[test]
fn a_device_that_is_unplugged_comes_back_and_gives_no_force_until_it_is_homed_again() {
    let (spec, port, push) = (spec("hapkit"), fresh_path(), Vec3::new(0.0, 0.5, 0.0));
    let mut limiter = Limiter::new(spec.limits);
    let mut link = start(&spec, &port);
    let mut device = link.attach(spec.clone());
    // 1 nothing is there yet
    assert!(beat(&mut device, &mut limiter, 1, push).is_err());
    wait("the reason to be told", || link.news().any(|(_, news)| matches!(news, LinkNews::NotOpened(_))));
    for round in 0..2 {
        // 2 it is plugged in, and answers; a force is not given before it is homed
        let emulator = Emulator::start_at(port.clone(), "hapkit", &[]);
        wait_for(&mut link, "an answer", unhomed);
        wait("a sample", || beat(&mut device, &mut limiter, 2, push).is_ok_and(|sample| !sample.homed));
        for n in 0..100 {
            let _ = beat(&mut device, &mut limiter, 3 + n, push);
        }
        assert_eq!(count(&emulator, "force on"), 0, "round {round}: force before homing");
        // 3 homed: force flows
        home(&mut link);
        wait("force", || {
            let _ = beat(&mut device, &mut limiter, 3, push);
            count(&emulator, "force on") > 0
        });
        wait("a homed sample", || beat(&mut device, &mut limiter, 4, push).is_ok_and(|sample| sample.homed));
        // 4 it is gone in the middle of it
        drop(emulator);
        wait("silence", || beat(&mut device, &mut limiter, 5, push).is_err());
        wait_for(&mut link, "it to be gone", |state| state == LinkState::Absent);
    }
    assert!(link.status().sessions >= 2);
}

#[test]
fn a_haptic_thread_that_ends_leaves_a_device_without_force() {
    for how in ["dropped", "silenced", "replaced", "link dropped"] {
        let emulator = Emulator::start("hapkit", &[]);
        let spec = spec("hapkit");
        let mut limiter = Limiter::new(spec.limits);
        let mut link = start(&spec, &emulator.port);
        let mut device = link.attach(spec.clone());
        wait_for(&mut link, "an answer", unhomed);
        home(&mut link);
        wait("force", || {
            let _ = beat(&mut device, &mut limiter, 1, Vec3::new(0.0, 1.0, 0.0));
            count(&emulator, "force on") > 0
        });
        let mut second = None;
        match how {
            "dropped" => drop(device),
            "silenced" => device.silence(SystemClock.now()),
            "replaced" => {
                second = Some(link.attach(spec.clone()));
                // The one that was replaced shows the handle where it was; what it commands goes nowhere: the larger force it
                // asks for from now on would show in the peak.
                wait("the hand-over", || second.as_mut().is_some_and(RealDevice::is_heard));
                (0..50).for_each(|_| assert!(beat(&mut device, &mut limiter, 2, Vec3::new(0.0, 2.0, 0.0)).is_ok()));
            }
            _ => drop(link),
        }
        // A command that a busy machine let grow old may have ended the force, and a newer one begun it, before.
        wait("zero force", || count(&emulator, "force off") == count(&emulator, "force on"));
        drop(second);
        let peak_n = emulator.end();
        assert!(peak_n > 0.9 && peak_n < 1.1, "{how}: {peak_n} N");
    }
}

/// A wall that goes with every device, as a file; removed in the end.
struct SoftWall(PathBuf);

impl SoftWall {
    fn new(file: &str) -> Self {
        let text = scene::shipped("virtual_wall").expect("it is shipped");
        let path = fresh_path().with_extension("toml");
        let mut text = text.replace("\"2000 N/m\"", "\"600 N/m\"").replace("\"5 N*s/m\"", "\"1 N*s/m\"");
        if file == "haply-2dof" {
            // Its motors end at 2.5 N: a hand that presses with more pushes through, to where the arms are stretched.
            for (from, to) in [("\"-3 N\"", "\"-2 N\""), ("\"2.2 N\"", "\"1.4 N\""), ("\"2 N\"", "\"1.2 N\"")] {
                assert!(text.contains(from), "{from}");
                text = text.replace(from, to);
            }
        }
        std::fs::write(&path, text).expect("it can be written");
        Self(path)
    }
}

impl Drop for SoftWall {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Runs the demo against the emulated device of this file; gives its summary, the largest force at the device, and the largest
/// that the device was asked for.
fn demo(file: &str, more: &[&str]) -> (serde_json::Value, (f64, f64)) {
    let wall = SoftWall::new(file);
    // A handle on a line needs a scene that is turned to it.
    let scene = if file == "hapkit" { "examples/hapkit_wall.toml" } else { wall.0.to_str().expect("ASCII") };
    let mut emulator = Emulator::start(file, &["--scene", scene, "--wait", "never"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_hapticd"));
    command.args(["demo", scene, "--device", file, "--json", "--headless", "--port"]).arg(&emulator.port);
    let child = command.args(more).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let mut child = child.spawn().expect("it starts");
    emulator.wait("the host", |line| line.ends_with("host heard"));
    // An arm is homed at once with --at-rest; give it the time to be, then let the hand go to work. A Falcon is homed by the
    // hand itself before it works.
    std::thread::sleep(std::time::Duration::from_secs(2));
    emulator.order("work");
    let began = Instant::now();
    while child.try_wait().expect("it is a child").is_none() {
        if began.elapsed() > 2 * PATIENCE {
            let _ = child.kill();
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let output = child.wait_with_output().expect("it has ended");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let summary = serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap_or_default();
    (summary, emulator.end_with_forces())
}

/// How far a command may lie beyond the limit: the steps in which motors are told, some millinewtons at the handle.
const STEP_N: f64 = 0.01;
/// Runs that a machine gets to keep pace in.
const RUNS: u32 = 3;

/// True when this machine carried bytes and ticks as it should: nothing of what follows may go wrong then.
fn kept_pace(summary: &serde_json::Value) -> bool {
    let faults = summary["faults"].as_array().cloned().unwrap_or_default();
    let slow = ["overrun", "snapshot-stale", "device-silent"];
    !faults.iter().any(|fault| slow.iter().any(|name| fault == name))
        && summary["link"]["lost"] == 0
        && summary["link"]["round_trip_us"]["max"].as_f64().is_some_and(|max_us| max_us < 5000.0)
}

/// Safe in every run, and the task done in one where the machine keeps pace. A machine that is too busy to carry bytes for
/// 20 ms ends a run with a latched fault, as it should; that the task is achieved then is shown in virtual time (`wall.rs`).
fn drives_within_its_limits(file: &str, more: &[&str]) {
    for run in 0..RUNS {
        let (summary, (peak_n, asked_n)) = demo(file, more);
        println!("{file}, run {run}: {} {}, {peak_n:.2} N given", summary["success"], summary["reason"]);
        println!("  faults {}, link {}, {asked_n:.4} N asked for", summary["faults"], summary["link"]);
        let Some(limit_n) = summary["force_limit_n"].as_f64() else {
            assert_eq!(peak_n, 0.0, "{file}: it never began");
            continue;
        };
        // What leaves is within the limit; what a handle that has moved since makes of it is the mechanism's.
        assert!(summary["peak_force_n"].as_f64() <= Some(limit_n), "{file}: {summary}");
        assert!(asked_n <= limit_n + STEP_N, "{file}: {asked_n} N asked for, beyond the limit of {limit_n}");
        let trip = |stat: &str| summary["link"]["round_trip_us"][stat].as_f64().expect("a figure");
        assert!(trip("p50") > 0.0 && trip("p99") >= trip("p50"), "{summary}");
        assert!(summary["success"] != true || asked_n > 1.5, "{file}: the wall was felt with {asked_n} N only");
        if kept_pace(&summary) || summary["success"] == true {
            assert_eq!(summary["success"], true, "{file}: {summary}");
            return;
        }
    }
    println!("{file}: this machine did not keep pace in {RUNS} runs");
}

#[test]
fn a_demo_over_a_pseudo_terminal_is_achieved_within_the_limits() {
    drives_within_its_limits("novint-falcon", &[]);
}

#[test]
fn a_demo_through_a_service_is_achieved_within_the_limits() {
    drives_within_its_limits("inverse3", &[]);
}

#[test]
fn a_service_that_goes_away_in_the_middle_of_a_force_is_found_again_and_hears_zero_last() {
    let (spec, push) = (spec("inverse3"), Vec3::new(0.0, 0.0, 1.0));
    let mut emulator = Emulator::start("inverse3", &[]);
    let mut limiter = Limiter::new(spec.limits);
    let mut link = start(&spec, &emulator.port);
    let mut device = link.attach(spec.clone());
    for round in 1..=2 {
        // Nothing is to be homed: it knows where it is.
        wait_for(&mut link, "the service", |state| state == READY);
        wait("force", || {
            let _ = beat(&mut device, &mut limiter, 1, push);
            count(&emulator, "force on") >= round
        });
        if round == 1 {
            emulator.order("unplug");
            wait("silence", || beat(&mut device, &mut limiter, 2, push).is_err());
            wait_for(&mut link, "it to be gone", |state| state == LinkState::Absent);
            wait("the reason to be told", || {
                link.news().any(|(_, news)| matches!(news, LinkNews::NotOpened(why) if why.contains("no service")))
            });
            emulator.order("plug");
        }
    }
    assert!(link.status().sessions >= 2);
    drop(link);
    wait("zero force as the last word", || count(&emulator, "force off") >= 2);
    let (peak_n, asked_n) = emulator.end_with_forces();
    assert!(peak_n > 0.9 && peak_n <= 1.0 + STEP_N && asked_n <= 1.0 + STEP_N, "{peak_n} N of {asked_n} N");
}

#[test]
fn demos_with_devices_of_one_and_two_motors_are_achieved_within_the_limits() {
    for file in ["haply-2dof", "hapkit"] {
        drives_within_its_limits(file, &["--at-rest"]);
    }
}

#[test]
fn a_scene_that_a_device_cannot_come_to_is_refused_with_the_way_out() {
    for device in ["hapkit", "hapkit-text"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hapticd"));
        let output =
            command.args(["demo", "virtual_wall", "--headless", "--device", device]).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("moves only left and right") && said.contains("examples/hapkit_wall.toml"), "{said}");
    }
}

#[test]
fn demos_with_arms_and_their_weight_are_achieved_within_the_limits() {
    for arm in ["woodenhaptics", "polhem", "vintage"] {
        drives_within_its_limits(arm, &["--at-rest"]);
    }
}

#[test]
fn a_port_alone_is_enough_where_an_emulated_device_answers() {
    let emulator = Emulator::start("vintage", &[]);
    let port = emulator.port.canonicalize().expect("it is there");
    let mut command = Command::new(env!("CARGO_BIN_EXE_hapticd"));
    command.args(["demo", "virtual_wall", "--json", "--headless", "--at-rest", "--seconds", "1", "--device"]);
    let output = command.arg(&port).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // The handle stays in its rest, so that nothing begins; but the device was found and homed.
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    assert_eq!((&summary["device"], &summary["success"]), (&"Vintage".into(), &false.into()), "{summary}");
}
