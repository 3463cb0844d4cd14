//! The driver made to be copied passes the trials that every driver must pass.

#[path = "../examples/sample_driver.rs"]
#[expect(dead_code, reason = "its main function is for people")]
mod sample;

use hapticd::device::driver::{Driver as _, DriverEventKind, DriverState, Host};
use hapticd::device::emulator::{Emulator, Line, Trouble, exchange};
use hapticd::device::kinematics::{Joints, Kinematics as _};
use hapticd::device::wire::ByteEnd as _;
use hapticd::math::{Random, Vec3};
use hapticd::shared::MonoNs;
use sample::{Answer, Calibration, Command, Reader, SampleFamily, SampleFirmware, TwoLinks, safe};

const MS: u64 = 1_000_000;

/// Driver and device on one desk, in virtual time.
struct Desk {
    driver: Host<SampleFamily>,
    device: Emulator<SampleFirmware, TwoLinks, 2>,
    line: Line,
    now: MonoNs,
    events: Vec<DriverEventKind>,
    peak_n: f64,
}

impl Desk {
    fn new() -> Self {
        let driver = Host::new(SampleFamily::new(Calibration::default()));
        Self {
            driver,
            device: sample::device(),
            line: Line::default(),
            now: MonoNs(MS),
            events: Vec::new(),
            peak_n: 0.0,
        }
    }

    /// So many milliseconds with this force commanded.
    fn run(&mut self, ticks: u32, force: Vec3) {
        for _ in 0..ticks {
            self.now = self.now.plus(MS);
            self.driver.command(&safe(force), self.now);
            exchange(&mut self.driver, &mut self.device, &mut self.line, self.now);
            self.peak_n = self.peak_n.max(self.device.force().norm());
            self.events.extend(std::iter::from_fn(|| self.driver.next_event()).map(|event| event.kind));
        }
    }

    /// Confirms the rest position, where no force comes before that; then takes the handle to the middle.
    fn home(&mut self, force: Vec3) {
        self.run(150, force);
        assert!(matches!(self.driver.state(), DriverState::Homing(_)), "{:?}", self.driver.state());
        assert_eq!(self.peak_n, 0.0, "force before homing");
        self.driver.confirm_home(self.now);
        let rest = self.device.position();
        for step in 1..=300 {
            self.device.hand().target = rest * (1.0 - f64::from(step) / 300.0);
            self.run(1, Vec3::zeros());
        }
        self.run(100, Vec3::zeros());
        assert_eq!(self.driver.state(), DriverState::Ready, "{:?}", self.events);
    }
}

#[test]
fn the_mechanism_agrees_with_its_derivative_and_with_itself() {
    let mut random = Random::new(3);
    let mut counted = 0;
    for _ in 0..1000 {
        let place = Vec3::new(0.2 * random.uniform() - 0.02, 0.2 * random.uniform(), 0.0);
        let Some(joints) = TwoLinks.inverse(&place) else { continue };
        let back = TwoLinks.forward(&joints).expect("what the inverse gives");
        assert!((back - place).norm() < 1e-9, "{place} came back as {back}");
        let jacobian = TwoLinks.jacobian(&joints).expect("in reach");
        for joint in 0..2 {
            let at = |step: f64| {
                let mut moved: Joints<2> = joints;
                moved[joint] += step;
                TwoLinks.forward(&moved)
            };
            let Some((ahead, behind)) = at(1e-5).zip(at(-1e-5)) else { continue };
            let error = ((ahead - behind) / 2e-5 - jacobian.column(joint)).norm();
            assert!(error < 1e-6, "off by {error:e} at {place}");
            counted += 1;
        }
    }
    assert!(counted > 1000, "{counted}");
}

#[test]
fn messages_have_their_bytes_and_are_found_after_any_garbage() {
    assert_eq!(Command { torques: [1000, -2] }.encode(), [0xA5, 0xE8, 0x03, 0xFE, 0xFF, 0xE8]);
    let answer = Answer { counts: [0x00A5, -1], buttons: 1 };
    assert_eq!(answer.encode(), [0xA5, 0xA5, 0x00, 0xFF, 0xFF, 0x01, 0xA4]);
    let mut random = Random::new(4);
    let mut reader = Reader::<7>::default();
    for _ in 0..100_000 {
        for _ in 0..random.bits() % 20 {
            let byte = if random.bits().is_multiple_of(4) { 0xA5 } else { random.bits() as u8 };
            let _ = reader.push(byte);
        }
        let found =
            [answer.encode(), answer.encode()].as_flattened().iter().filter_map(|&byte| reader.push(byte)).last();
        assert_eq!(found, Some(answer.encode()));
    }
}

#[test]
fn the_hand_gets_the_force_that_was_asked_for_and_none_before_homing() {
    let mut desk = Desk::new();
    desk.home(Vec3::new(2.0, 0.0, 0.0));
    for force in [[1.0, 0.0, 0.0], [0.0, -2.0, 0.0], [-1.5, 1.0, 0.0]].map(Vec3::from) {
        desk.run(500, force);
        let given = desk.device.force();
        assert!((given - force).norm() <= 0.01 * force.norm(), "{force} became {given}");
        let sample = desk.driver.sample().expect("a sample").pose_device_handle.translation.vector;
        assert!((sample - desk.device.position()).norm() < 5e-5, "{sample}");
    }
    desk.device.press(1);
    desk.run(3, Vec3::zeros());
    assert!(desk.events.contains(&DriverEventKind::ButtonDown(0)), "{:?}", desk.events);
}

#[test]
fn every_trouble_passes_silence_brings_zero_and_a_pulled_cable_means_homing() {
    let force = Vec3::new(1.0, -0.5, 0.0);
    let mut desk = Desk::new();
    desk.home(force);
    desk.run(100, force);
    desk.peak_n = 0.0;
    for trouble in [
        Trouble::Drop,
        Trouble::Split,
        Trouble::Duplicate,
        Trouble::Corrupt(0, 0x20),
        Trouble::Corrupt(3, 0x01),
        Trouble::Late(12 * MS),
        Trouble::Short,
        Trouble::Garbage,
    ] {
        desk.line.upset(trouble);
        desk.run(40, force);
        assert!((desk.device.force() - force).norm() <= 0.02 * force.norm(), "{trouble:?}: {}", desk.device.force());
        assert_eq!(desk.driver.state(), DriverState::Ready, "{trouble:?}");
    }
    desk.line.stall(desk.now.plus(60 * MS));
    desk.run(40, force);
    assert_eq!((desk.driver.state(), desk.device.force().norm()), (DriverState::Silent, 0.0));
    desk.run(60, force);
    assert!(desk.events.contains(&DriverEventKind::Silent) && desk.events.contains(&DriverEventKind::Back));
    assert!(desk.peak_n <= 1.02 * force.norm(), "{} N", desk.peak_n);
    desk.line.cut(true);
    desk.device.power_cycle();
    desk.run(700, force);
    desk.line.cut(false);
    desk.peak_n = 0.0;
    desk.run(300, force);
    assert!(matches!(desk.driver.state(), DriverState::Homing(_)), "{:?}", desk.driver.state());
    assert_eq!(desk.peak_n, 0.0, "force before it was homed again");
}

#[test]
fn last_words_are_understood_after_any_part_of_a_message() {
    let message = Command { torques: [1000, 1000] }.encode();
    for cut in 0..=message.len() {
        let mut desk = Desk::new();
        desk.home(Vec3::zeros());
        desk.run(20, Vec3::new(1.0, 0.0, 0.0));
        assert!(desk.device.force().norm() > 0.9);
        desk.device.feed(&message[..cut], desk.now);
        let mut words = [0; 16];
        let length = desk.driver.silence_bytes(&mut words);
        for _ in 0..2 {
            desk.device.feed(&words[..length], desk.now);
        }
        assert_eq!(desk.device.force().norm(), 0.0, "cut after {cut} bytes");
    }
}
