//! Drivers against emulators, byte by byte, in virtual time.

#![expect(clippy::panic, reason = "a test reports by panicking")]

use super::line::TROUBLES;
use super::*;
use crate::device::driver::{Driver, DriverEventKind, DriverState, FalconCalibration, FalconFamily, HomingGuide, Host};
use crate::device::kinematics::FalconLegs;
use crate::device::{HandForce, HandMotion, HandSample, Limiter, Limits, PerPart, SafeForce};
use crate::math::Random;
use crate::shared::Faults;
use std::sync::Arc;

const MS: u64 = 1_000_000;

fn limits() -> Limits {
    let part = |linear| PerPart { linear, angular: 0.0 };
    Limits {
        force: part(5.0),
        slew: part(1e6),
        power_w: 100.0,
        reserve_j: 1.0,
        speed: part(10.0),
        acceleration: part(1e4),
        stiffness: part(1e4),
        damping: part(100.0),
        workspace_radius_m: 0.1,
        watchdog_s: None,
    }
}

fn safe(force: Vec3) -> SafeForce {
    let wanted = HandForce { force, torque: Vec3::zeros() };
    Limiter::new(limits()).limit(wanted, &HandMotion::default(), None, 1e-3, &mut Faults::NONE.clone())
}

/// A driver and its device on one desk.
pub(super) struct Desk<D, F, K, const N: usize> {
    pub(super) driver: D,
    pub(super) device: Emulator<F, K, N>,
    pub(super) line: Line,
    pub(super) now: MonoNs,
    pub(super) sample: Option<HandSample>,
    pub(super) events: Vec<DriverEventKind>,
    /// The largest force the motors have given at the handle.
    pub(super) peak_n: f64,
}

impl<D: Driver, F: Firmware<N>, K: Kinematics<N>, const N: usize> Desk<D, F, K, N> {
    pub(super) fn new(driver: D, device: Emulator<F, K, N>) -> Self {
        let (line, now) = (Line::default(), MonoNs(MS));
        Self { driver, device, line, now, sample: None, events: Vec::new(), peak_n: 0.0 }
    }

    /// One millisecond, with a force commanded or without.
    pub(super) fn tick(&mut self, force: Option<Vec3>) {
        self.now = self.now.plus(MS);
        if let Some(force) = force {
            self.driver.command(&safe(force), self.now);
        }
        exchange(&mut self.driver, &mut self.device, &mut self.line, self.now);
        self.sample = self.driver.sample().or(self.sample);
        self.peak_n = self.peak_n.max(self.device.force().norm());
        while let Some(event) = self.driver.next_event() {
            self.events.push(event.kind);
        }
    }

    pub(super) fn run(&mut self, ticks: u32, force: Option<Vec3>) {
        for _ in 0..ticks {
            self.tick(force);
        }
    }

    /// Ticks until `done`; panics after ten seconds of virtual time.
    pub(super) fn until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        for _ in 0..10_000 {
            if done(self) {
                return;
            }
            self.tick(None);
        }
        panic!("never {what}: {:?} {:?} {:?}", self.driver.state(), self.events, self.driver.facts());
    }

    /// Moves the hand to `target` in this many ticks.
    pub(super) fn move_hand(&mut self, target: Vec3, ticks: u32) {
        let start = self.device.hand.target;
        for tick in 1..=ticks {
            self.device.hand.target = start + (target - start) * (f64::from(tick) / f64::from(ticks));
            self.tick(None);
        }
        self.run(200, None);
    }

    pub(super) fn count(&self, kind: DriverEventKind) -> usize {
        self.events.iter().filter(|&&event| event == kind).count()
    }

    /// Commanded forces arrive at the handle, at the motors and in the hand's spring, within one per cent.
    pub(super) fn gives_what_is_commanded(&mut self, forces: &[Vec3]) {
        for force in forces {
            self.run(600, Some(*force));
            let felt = self.device.force();
            assert!((felt - force).norm() <= 0.01 * force.norm(), "{force} became {felt}");
            let spring = (self.device.position() - self.device.hand.target) * self.device.hand.stiffness;
            assert!((spring - force).norm() <= 0.01 * force.norm(), "{force} holds a spring of {spring}");
            let sample = self.sample.expect("a sample").pose_device_handle.translation.vector;
            assert!((sample - self.device.position()).norm() < 3e-4, "{sample} is not {}", self.device.position());
        }
    }

    /// Motors off, or carrying the weight that the driver tells: the handle is held for a while and then let go for a quarter of a
    /// second. Gives how far it has come down, and how far at all.
    pub(super) fn let_go(&mut self, carried: bool) -> (f64, f64) {
        let held = self.device.hand;
        let mut start = self.device.position();
        for tick in 0..750 {
            if tick == 500 {
                start = self.device.position();
                (self.device.hand.stiffness, self.device.hand.damping) = (0.0, 0.0);
            }
            let weight = if carried { self.driver.weight().force } else { Vec3::zeros() };
            self.tick(Some(weight));
        }
        self.device.hand = held;
        let way = self.device.position() - start;
        (-way.z, way.norm())
    }

    /// Sags when nobody holds it, and stands where it is, without friction, when its motors carry its weight.
    pub(super) fn carries_its_weight(&mut self) {
        let weight = self.driver.weight().force;
        assert!(weight.z > 0.3 && weight.z < 3.0, "{weight}");
        let (_, drift) = self.let_go(true);
        assert!(drift < 5e-4, "drifts by {drift} m");
        let (sunk, _) = self.let_go(false);
        assert!(sunk > 0.01, "sinks by {sunk} m only");
    }

    /// Every kind of trouble in turn: never beyond what was commanded, and back in step afterwards.
    pub(super) fn stands_trouble(&mut self, force: Vec3) {
        self.run(300, Some(force));
        self.peak_n = 0.0;
        for trouble in TROUBLES {
            let before = self.driver.facts();
            self.line.upset(trouble);
            self.run(40, Some(force));
            let answers = self.driver.facts().answers - before.answers;
            assert!(answers >= 20, "{trouble:?}: only {answers} answers in 40 ticks");
            let felt = self.device.force();
            assert!((felt - force).norm() <= 0.02 * force.norm(), "after {trouble:?}: {felt}");
            assert_eq!(self.driver.state(), DriverState::Ready, "{trouble:?}");
        }
        // A stall long enough to be silence, then life again.
        self.line.stall(self.now.plus(60 * MS));
        self.run(40, Some(force));
        assert_eq!(self.driver.state(), DriverState::Silent);
        assert_eq!(self.device.force().norm(), 0.0, "a silent device is sent zero force");
        self.run(60, Some(force));
        assert_eq!(self.driver.state(), DriverState::Ready, "{:?}", self.events);
        assert!(self.count(DriverEventKind::Silent) >= 1 && self.count(DriverEventKind::Back) >= 1);
        assert!(self.peak_n <= force.norm() * 1.02, "{} N of {}", self.peak_n, force.norm());
        // No commands: the driver goes to zero by itself.
        self.run(40, None);
        assert_eq!(self.device.force().norm(), 0.0);
        assert!(self.count(DriverEventKind::CommandExpired) >= 1);
    }

    /// Half of all answers meet with something, for five seconds: never beyond the limit, and well again afterwards.
    pub(super) fn weathers_a_storm(&mut self, force: Vec3) {
        let mut random = Random::new(11);
        self.run(50, Some(force));
        self.peak_n = 0.0;
        for _ in 0..5000 {
            let trouble = match random.bits() % 14 {
                0 => Trouble::Drop,
                1 => Trouble::Split,
                2 => Trouble::Duplicate,
                3 => Trouble::Late(random.bits() % (20 * MS)),
                4 => Trouble::Short,
                5 => Trouble::Garbage,
                6 => Trouble::Corrupt(random.bits() as usize % 256, 1 << (random.bits() % 8)),
                _ => Trouble::Late(0),
            };
            self.line.upset(trouble);
            self.tick(Some(force));
        }
        let limit = limits().force.linear;
        assert!(self.peak_n > 0.0 && self.peak_n <= limit, "{} N beyond the limit of {limit}", self.peak_n);
        self.line = Line::default();
        self.run(300, Some(force));
        assert_eq!(self.driver.state(), DriverState::Ready, "{:?}", self.driver.facts());
        let felt = self.device.force();
        assert!((felt - force).norm() <= 0.02 * force.norm(), "after the storm: {felt}");
    }

    /// The cable is pulled: silence, then starting anew; no force until homed again.
    pub(super) fn comes_back_after_the_cable_was_pulled(&mut self, force: Vec3) {
        self.run(50, Some(force));
        self.line.cut(true);
        self.run(700, Some(force));
        assert!(self.count(DriverEventKind::Restarting) >= 1);
        assert_ne!(self.driver.state(), DriverState::Ready);
        self.device.power_cycle();
        self.line.cut(false);
        self.peak_n = 0.0;
        for _ in 0..10_000 {
            if matches!(self.driver.state(), DriverState::Homing(_)) {
                break;
            }
            self.tick(Some(force));
        }
        self.run(50, Some(force));
        assert!(matches!(self.driver.state(), DriverState::Homing(_)), "{:?}", self.driver.state());
        assert_eq!(self.peak_n, 0.0, "force before homing");
    }
}

type FalconDesk = Desk<Host<FalconFamily>, FalconFirmware, FalconLegs, 3>;

fn falcon(image: Option<&[u8]>) -> FalconDesk {
    let calibration = FalconCalibration::default();
    let firmware = FalconFirmware::new(image.map_or(0, <[u8]>::len), [321, -77, 1500]);
    let device = Emulator::new(firmware, FalconLegs, calibration.mount, 0.15, &Vec3::zeros()).expect("in reach");
    Desk::new(Host::new(FalconFamily::new(calibration, image.map(Arc::from))), device)
}

/// Pulls the handle out and pushes it in, as a Falcon is homed.
fn home_falcon(desk: &mut FalconDesk) {
    desk.until("asked to be homed", |desk| desk.driver.state() == DriverState::Homing(HomingGuide::PullOutThenPushIn));
    assert!(desk.device.firmware().command().homing && desk.device.firmware().command().lamps.red);
    for x in [0.03, -0.035, 0.0] {
        desk.device.hand().target = Vec3::new(x, 0.0, 0.0);
        desk.run(300, Some(Vec3::new(2.0, 0.0, 0.0)));
        if desk.count(DriverEventKind::Homed) == 0 {
            assert_eq!(desk.peak_n, 0.0, "force before homing");
        }
    }
    desk.until("homed", |desk| desk.driver.state() == DriverState::Ready);
    assert_eq!(desk.count(DriverEventKind::Homed), 1);
    desk.run(5, None);
    assert!(desk.device.firmware().command().lamps.green && !desk.device.firmware().command().homing);
}

#[test]
fn a_falcon_without_firmware_is_loaded_byte_by_byte_and_homes() {
    let image: Vec<u8> = (0..8492_u32).map(|i| (i * 7 + i / 251) as u8).collect();
    let mut desk = falcon(Some(&image));
    home_falcon(&mut desk);
    assert_eq!(desk.count(DriverEventKind::Started), 1);
}

#[test]
fn a_falcon_is_loaded_in_spite_of_trouble_with_its_echo() {
    // The image is two chunks: trouble hits the greeting, the order to load, either echo, or the first frames.
    let image = [0x5a; 100];
    for answers in 0..6 {
        for trouble in [Trouble::Drop, Trouble::Corrupt(1, 4), Trouble::Short, Trouble::Split, Trouble::Duplicate] {
            let mut desk = falcon(Some(&image));
            desk.line.upset_later(answers, trouble);
            desk.until("started", |desk| desk.count(DriverEventKind::Started) == 1);
            assert_eq!(desk.count(DriverEventKind::StartFailed), 0, "{trouble:?} after {answers}");
        }
    }
}

#[test]
fn a_falcon_without_firmware_and_without_an_image_fails_and_is_tried_again() {
    let mut desk = falcon(Some(&[1, 2, 3]));
    desk.driver = Host::new(FalconFamily::new(FalconCalibration::default(), None));
    desk.until("failed", |desk| desk.driver.state() == DriverState::Failed);
    desk.until("failed again", |desk| desk.count(DriverEventKind::StartFailed) == 2);
}

#[test]
fn a_falcon_carries_the_weight_of_its_legs() {
    for place in [[0.0; 3], [0.01, -0.015, 0.02], [-0.01, 0.02, -0.015]] {
        let mut desk = falcon(None);
        home_falcon(&mut desk);
        desk.device.links = FalconCalibration::default().links;
        desk.move_hand(Vec3::from(place), 500);
        desk.carries_its_weight();
    }
}

#[test]
fn a_falcon_gives_the_force_it_is_told_to() {
    let mut desk = falcon(None);
    home_falcon(&mut desk);
    let forces = [[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, -2.0], [1.0, -1.0, 1.5]];
    desk.gives_what_is_commanded(&forces.map(Vec3::from));
    desk.device.hand().target = Vec3::new(-0.02, 0.015, -0.02);
    desk.gives_what_is_commanded(&forces.map(Vec3::from));
}

#[test]
fn a_falcon_stands_every_trouble_on_the_line() {
    let mut desk = falcon(None);
    home_falcon(&mut desk);
    desk.stands_trouble(Vec3::new(1.5, -0.5, 1.0));
    desk.weathers_a_storm(Vec3::new(1.5, -0.5, 1.0));
    desk.comes_back_after_the_cable_was_pulled(Vec3::new(1.5, 0.0, 0.0));
}

#[test]
fn a_falcon_tells_its_buttons_and_can_be_silenced_at_any_time() {
    let mut desk = falcon(None);
    home_falcon(&mut desk);
    desk.device.press(0b0100);
    desk.run(3, None);
    desk.device.press(0);
    desk.run(3, None);
    assert_eq!((desk.count(DriverEventKind::ButtonDown(2)), desk.count(DriverEventKind::ButtonUp(2))), (1, 1));
    desk.run(20, Some(Vec3::new(3.0, 0.0, 0.0)));
    assert!(desk.device.force().norm() > 2.5);
    let mut bytes = [0; 256];
    let length = desk.driver.silence_bytes(&mut bytes);
    desk.device.feed(&bytes[..length], desk.now);
    assert_eq!(desk.device.force().norm(), 0.0);
    assert_eq!(desk.driver.silence_bytes(&mut [0; 3]), 0);
}
