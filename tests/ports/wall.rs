//! The wall as an emulated device's hand feels it: driver, tick and device in virtual time, over an in-memory pipe.

use hapticd::daemon::Lockstep;
use hapticd::device::driver::catalogue::{self, AnyDevice, AnyDriver};
use hapticd::device::driver::{DriverState, HomingGuide};
use hapticd::device::emulator::Hand;
use hapticd::device::operator::Perceived;
use hapticd::device::port::Port;
use hapticd::device::port::pipe::{PipePort, pipe};
use hapticd::device::wire::{ByteEnd, MESSAGE_MAX};
use hapticd::device::{Device, DeviceFault, DeviceSpec, HandForce, HandSample, Operator, SafeForce};
use hapticd::haptic::Trip;
use hapticd::math::{Pose, Rot, Vec3};
use hapticd::scene::{self, Built, Observation};
use hapticd::shared::{MonoNs, Tick};

/// A driver on one end of a pipe and a device on the other; time passes with the ticks.
struct Desk {
    spec: DeviceSpec,
    driver: AnyDriver,
    device: AnyDevice,
    ends: (PipePort, PipePort),
    sample: Option<HandSample>,
    confirmed: bool,
    ticks: u64,
    peak_n: f64,
}

impl Desk {
    fn new(file: &str) -> Self {
        let spec = scene::open_device(file).expect("it is shipped").value;
        let driver = catalogue::driver(&spec.driver, None).expect("a driver");
        let mut device = catalogue::emulated(&spec.driver).expect("a device");
        device.resist(spec.mechanics.friction.linear, spec.mechanics.damping.linear);
        let ends = pipe().expect("a pipe");
        Self { spec, driver, device, ends, sample: None, confirmed: false, ticks: 0, peak_n: 0.0 }
    }

    /// Moves everything that is under way.
    fn exchange(&mut self, now: MonoNs) {
        let mut buffer = [0; MESSAGE_MAX];
        self.device.feed(&[], now);
        self.driver.feed(&[], now);
        for _ in 0..16 {
            while let Some(order) = self.driver.next_order() {
                self.ends.0.order(order).expect("the pipe is whole");
            }
            while let Some(order) = self.ends.1.next_order() {
                self.device.line(order, now);
            }
            let mut moved = pump(&mut *self.driver, &mut self.ends.0, now);
            let length = self.ends.1.read(&mut buffer).expect("the pipe is whole");
            if length > 0 {
                self.device.feed(&buffer[..length], now);
            }
            moved |= length > 0 || pump(&mut *self.device, &mut self.ends.1, now);
            let length = self.ends.0.read(&mut buffer).expect("the pipe is whole");
            if length > 0 {
                self.driver.feed(&buffer[..length], now);
            }
            if !moved && length == 0 {
                break;
            }
        }
        self.sample = self.driver.sample().or(self.sample);
        self.peak_n = self.peak_n.max(self.device.force().norm());
    }
}

/// Sends what an end has to say.
fn pump(end: &mut (impl ByteEnd + ?Sized), port: &mut PipePort, now: MonoNs) -> bool {
    let mut buffer = [0; MESSAGE_MAX];
    let length = end.next_out(&mut buffer);
    if length > 0 {
        port.write(&buffer[..length], now).expect("there is room");
    }
    length > 0
}

impl Device for Desk {
    fn spec(&self) -> &DeviceSpec {
        &self.spec
    }

    fn read(&mut self, tick: &mut Tick<'_>) -> Result<HandSample, DeviceFault> {
        self.exchange(tick.began);
        // Once the hand has settled.
        self.ticks += 1;
        if self.driver.state() == DriverState::Homing(HomingGuide::RestAndConfirm)
            && !self.confirmed
            && self.ticks > 300
        {
            self.confirmed = true;
            self.driver.confirm_home(tick.began);
        }
        self.sample.ok_or(DeviceFault::Silent)
    }

    fn write(&mut self, force: &SafeForce, tick: &mut Tick<'_>) -> Result<(), DeviceFault> {
        self.driver.command(force, tick.began);
        self.exchange(tick.began);
        Ok(())
    }

    fn silence(&mut self, _now: MonoNs) {}

    fn weight(&self) -> HandForce {
        self.driver.weight()
    }
}

/// Moves the hand to `target` in `ticks`, then holds it for `stays`.
fn go(rig: &mut Lockstep<Desk>, target: Vec3, ticks: u32, stays: u32) {
    let start = rig.first.device.device.position();
    for tick in 1..=ticks + stays {
        let share = f64::from(tick.min(ticks)) / f64::from(ticks);
        rig.first.device.device.hold(&Hand {
            stiffness: 4000.0,
            damping: 60.0,
            ..Hand::at(start + (target - start) * share)
        });
        rig.beat();
    }
}

/// Slope of force over depth, by least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |part: fn(&(f64, f64)) -> f64| points.iter().map(part).sum::<f64>() / count;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let along: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    along / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>()
}

/// Which way the handle goes to the wall: where it can.
fn way(file: &str) -> Vec3 {
    if file == "hapkit" { -Vec3::y() } else { -Vec3::x() }
}

/// A device homed and at the beginning of a wall of this stiffness, forces on.
fn at_the_wall(file: &str, stiffness: f64) -> (Lockstep<Desk>, Built) {
    let desk = Desk::new(file);
    let text = scene::shipped("virtual_wall").expect("it is shipped");
    let text = text.replace("\"2000 N/m\"", &format!("\"{stiffness} N/m\"")).replace("\"5 N*s/m\"", "\"1 N*s/m\"");
    let mut spec = scene::parse(text.as_bytes(), "wall").expect("it is a scene").value;
    let turn = Rot::rotation_between(&way(file), &-Vec3::x()).expect("a quarter turn at most");
    spec.mapping.pose_world_device = Pose::from_parts(Vec3::zeros().into(), turn);
    let built = scene::build(&spec, &desk.spec).expect("they go together");
    let mut rig = Lockstep::new(built.haptic.clone(), built.sim.clone(), desk, None).expect("it runs");
    let free = built.handle_start.translation.vector;
    // Home as a person does: a Falcon out and in, an arm by a word in its rest.
    if file == "novint-falcon" {
        for x in [0.03, -0.035, 0.0] {
            go(&mut rig, Vec3::new(x, 0.0, 0.0), 300, 50);
        }
    } else {
        // Its weight is carried by the hand: an arm that sags in its rest is homed wrongly.
        let rest = rig.first.device.device.position();
        for _ in 0..600 {
            let push = -rig.first.device.device.felt();
            rig.first.device.device.hold(&Hand { push, ..Hand::at(rest) });
            rig.beat();
        }
    }
    assert_eq!(rig.first.device.driver.state(), DriverState::Ready, "{file}");
    // A service may take longer to say its first word than the loop waits for a device; that is told and seen to.
    if rig.first.haptic.record().cause == Some(Trip::DeviceLost) {
        assert_eq!(file, "inverse3", "lost on the way");
        rig.first.desk.acknowledge();
    }
    go(&mut rig, free, 3000, 500);
    for _ in 0..100 {
        rig.beat();
    }
    rig.first.device.peak_n = 0.0;
    // A fault of the way here, should the home have looked like a leap, would make what follows mean nothing.
    assert_eq!(rig.first.haptic.record().cause, None, "{file}");
    rig.first.desk.enable();
    go(&mut rig, free, 1, 1500);
    (rig, built)
}

/// Presses into a wall of this stiffness at several depths; gives the stiffness that the device's hand feels.
fn felt_stiffness(file: &str, stiffness: f64) -> f64 {
    let (mut rig, built) = at_the_wall(file, stiffness);
    let limit_n = built.haptic.limits.force.linear;
    // The tool's surface meets the wall 20 mm − 5 mm from the middle.
    let (surface, way) = (0.015, way(file));
    let mut points = Vec::new();
    for step in 0..24_u32 {
        let depth = 0.001 + 0.0001 * f64::from(step);
        go(&mut rig, way * (surface + depth + 0.0005), 60, 400);
        let record = *rig.first.haptic.record();
        assert!(record.cause.is_none() && record.gain == 1.0, "{file}: {:?}", record.cause);
        let desk = &rig.first.device;
        let pushed = -desk.device.felt();
        points.push((desk.device.position().dot(&way) - surface, pushed.dot(&way)));
    }
    let felt = slope(&points);
    println!("{file}: {felt:.1} N/m felt of {stiffness}, peak {:.2} N", rig.first.device.peak_n);
    // At the handle, by the mechanism's statics, which hold within 1 %: it has moved since the force was worked out for it.
    let peak_n = rig.first.device.peak_n;
    assert!(peak_n <= 1.01 * limit_n, "{file}: {peak_n} N beyond the limit of {limit_n}");
    felt
}

#[test]
fn a_wall_is_as_stiff_in_the_hand_as_it_was_set() {
    for (file, stiffness) in [
        ("novint-falcon", 800.0),
        ("polhem", 1000.0),
        ("vintage", 800.0),
        ("woodenhaptics", 1000.0),
        ("haply-2dof", 500.0),
        ("hapkit", 500.0),
        ("inverse3", 800.0),
    ] {
        let felt = felt_stiffness(file, stiffness);
        assert!((felt / stiffness - 1.0).abs() <= 0.02, "{file}: {felt} N/m of {stiffness}");
    }
}

/// The scene's operator does the scene's task on an emulated device, from driver to goals.
fn does_the_task(file: &str, stiffness: f64) {
    let (mut rig, built) = at_the_wall(file, stiffness);
    let mut operator = Operator::new(built.skill, built.script, built.mapping);
    let place = |rig: &Lockstep<Desk>| Pose::from_parts(rig.first.device.device.position().into(), Rot::identity());
    operator.take_hold(&rig.first.device.spec.clone(), place(&rig), built.seed);
    let mut watcher = built.watcher();
    let (mut time_s, mut success) = (0.0, false);
    while time_s < 20.0 && !success {
        let felt = HandForce { force: rig.first.device.device.felt(), torque: Vec3::zeros() };
        let command = operator.think(&Perceived { dt_s: 1e-3, handle: place(&rig), felt, view: None });
        rig.first.device.device.hold(&Hand {
            target: command.target.translation.vector,
            velocity: command.velocity,
            push: command.force.force,
            stiffness: command.stiffness.linear,
            damping: command.damping.linear,
            mass_kg: operator.hand().inertia.linear,
        });
        let record = rig.beat().record;
        assert_eq!(record.cause, None, "{file} at {time_s:.3} s, {:?}", operator.report());
        time_s += 1e-3;
        success = watcher
            .observe(&Observation {
                time_s,
                tool: record.pose_world_tool,
                view: &rig.sim.view,
                felt_n: record.force.force.norm(),
                felt_nm: 0.0,
                penetration_m: record.penetration_m,
            })
            .success;
    }
    let goals: Vec<_> = watcher.goals().map(|(goal, state)| (goal.name.as_str().to_owned(), state)).collect();
    assert!(success, "{file}: {goals:?}, {:?}", operator.report());
    let (peak_n, limit_n) = (rig.first.device.peak_n, built.haptic.limits.force.linear);
    println!("{file}: done in {time_s:.1} s, peak {peak_n:.2} N of {limit_n}");
    assert!(peak_n > 2.0 && peak_n <= limit_n, "{file}: {peak_n} N");
    assert!(rig.first.haptic.ledger().account().balance_min_j >= -1e-6, "{file}");
}

#[test]
fn the_task_of_the_wall_is_done_on_every_device_that_can_reach_it() {
    for (file, stiffness) in [
        ("novint-falcon", 800.0),
        ("polhem", 1000.0),
        ("vintage", 600.0),
        ("woodenhaptics", 600.0),
        ("inverse3", 600.0),
    ] {
        does_the_task(file, stiffness);
    }
}
