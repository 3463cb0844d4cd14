//! Devices with fewer than three motors, and one that does its mechanics itself.

use super::tests::Desk;
use super::*;
use crate::device::driver::{
    Driver, DriverEventKind, DriverState, HapkitCalibration, HapkitFamily, HapkitTextFamily, HaplyCalibration,
    HaplyFamily, Host, Inverse3Calibration, Inverse3Family,
};
use crate::device::kinematics::{Cartesian, Pantograph, Sector};

fn haply() -> Desk<Host<HaplyFamily>, HaplyFirmware, Pantograph, 2> {
    let calibration = HaplyCalibration::default();
    let rest = calibration.rest().expect("in reach");
    let device = Emulator::new(HaplyFirmware::new(5), calibration.pantograph, calibration.mount, 0.1, &rest);
    Desk::new(Host::new(HaplyFamily::new(calibration)), device.expect("in reach"))
}

fn hapkit() -> Desk<Host<HapkitFamily>, HapkitFirmware, Sector, 1> {
    let calibration = HapkitCalibration::default();
    let firmware = HapkitFirmware::new(calibration.sector);
    let device = Emulator::new(firmware, calibration.sector, calibration.mount, 0.05, &Vec3::zeros());
    Desk::new(Host::new(HapkitFamily::new(calibration)), device.expect("in reach"))
}

/// Confirms that the handle rests; no force before.
fn home<D: Driver, F: Firmware<N>, K: Kinematics<N>, const N: usize>(desk: &mut Desk<D, F, K, N>, force: Vec3) {
    desk.until("awake", |desk| matches!(desk.driver.state(), DriverState::Homing(_)));
    desk.run(20, Some(force));
    assert_eq!(desk.peak_n, 0.0, "force before homing");
    desk.driver.confirm_home(desk.now);
    desk.until("homed", |desk| desk.driver.state() == DriverState::Ready && desk.count(DriverEventKind::Homed) == 1);
}

#[test]
fn a_pantograph_gives_the_force_it_is_told_to_and_not_twice_that() {
    let mut desk = haply();
    home(&mut desk, Vec3::new(1.0, 0.0, 0.0));
    desk.move_hand(Vec3::zeros(), 500);
    let forces = [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.7, -0.7, 0.0]].map(Vec3::from);
    desk.gives_what_is_commanded(&forces);
    desk.move_hand(Vec3::new(-0.02, 0.025, 0.0), 300);
    desk.gives_what_is_commanded(&forces);
}

#[test]
fn a_pantograph_stands_every_trouble_on_the_line() {
    let mut desk = haply();
    home(&mut desk, Vec3::new(1.0, 0.0, 0.0));
    desk.move_hand(Vec3::zeros(), 500);
    desk.stands_trouble(Vec3::new(0.8, 0.5, 0.0));
    desk.weathers_a_storm(Vec3::new(0.8, 0.5, 0.0));
    desk.comes_back_after_the_cable_was_pulled(Vec3::new(0.8, 0.0, 0.0));
}

#[test]
fn motors_that_cannot_give_the_force_keep_its_direction() {
    let mut desk = haply();
    home(&mut desk, Vec3::new(1.0, 0.0, 0.0));
    desk.move_hand(Vec3::zeros(), 500);
    // The limiter lets 5 N through; the motors end before that.
    desk.device.hand().stiffness = 5000.0;
    desk.run(400, Some(Vec3::new(4.0, 3.0, 0.0)));
    let felt = desk.device.force();
    assert!(felt.norm() > 0.5 && felt.norm() < 4.9, "{felt}");
    assert!((felt.y / felt.x - 0.75).abs() < 0.01, "{felt}");
}

#[test]
fn a_hapkit_gives_the_force_it_is_told_to() {
    let mut desk = hapkit();
    home(&mut desk, Vec3::new(0.0, 1.0, 0.0));
    desk.gives_what_is_commanded(&[Vec3::new(0.0, 1.0, 0.0), Vec3::new(0.0, -2.0, 0.0)]);
    desk.move_hand(Vec3::new(0.0, 0.02, 0.0), 200);
    desk.gives_what_is_commanded(&[Vec3::new(0.0, -1.5, 0.0)]);
}

#[test]
fn a_hapkit_stands_every_trouble_on_the_line() {
    let mut desk = hapkit();
    home(&mut desk, Vec3::new(0.0, 1.0, 0.0));
    desk.stands_trouble(Vec3::new(0.0, 1.5, 0.0));
    desk.weathers_a_storm(Vec3::new(0.0, 1.5, 0.0));
    desk.comes_back_after_the_cable_was_pulled(Vec3::new(0.0, 1.5, 0.0));
}

#[test]
fn a_hapkit_that_has_lost_power_for_a_moment_is_not_homed_any_more() {
    let mut desk = hapkit();
    home(&mut desk, Vec3::new(0.0, 1.0, 0.0));
    desk.run(10, Some(Vec3::new(0.0, 1.0, 0.0)));
    desk.device.power_cycle();
    desk.run(3, Some(Vec3::new(0.0, 1.0, 0.0)));
    assert!(matches!(desk.driver.state(), DriverState::Homing(_)));
    assert_eq!(desk.device.force().norm(), 0.0);
}

fn hapkit_text(wait_ns: Option<u64>) -> Desk<Host<HapkitTextFamily>, HapkitTextFirmware, Sector, 1> {
    let calibration = HapkitTextFamily::design();
    let firmware = HapkitTextFirmware::new(calibration.sector);
    let firmware = if let Some(ns) = wait_ns { firmware.waiting(ns) } else { firmware };
    let device = Emulator::new(firmware, calibration.sector, calibration.mount, 0.05, &Vec3::zeros());
    Desk::new(Host::new(HapkitTextFamily::new(calibration)), device.expect("in reach"))
}

#[test]
fn a_hapkit_that_speaks_text_tells_its_place_smoothly_and_gives_no_force() {
    let mut desk = hapkit_text(None);
    let force = Vec3::new(0.0, 2.0, 0.0);
    home(&mut desk, force);
    let (mut last, mut fastest) = (None, 0.0_f64);
    for tick in 0..1000 {
        // To and fro, at a quarter of a metre a second at most.
        desk.device.hand().target.y = 0.02 * (f64::from(tick) * 0.0125).sin();
        desk.tick(Some(force));
        let y = desk.sample.expect("a sample").pose_device_handle.translation.y;
        fastest = last.map_or(fastest, |last: f64| fastest.max((y - last).abs() / 1e-3));
        last = Some(y);
    }
    // Held between two answers it would leap by 4 mm, at 4 m/s.
    assert!(fastest > 0.2 && fastest < 0.35, "{fastest} m/s");
    desk.move_hand(Vec3::new(0.0, 0.013, 0.0), 300);
    desk.run(100, Some(force));
    let y = desk.sample.expect("a sample").pose_device_handle.translation.y;
    assert!((y - desk.device.position().y).abs() < 1.2e-4 && (y - 0.013).abs() < 1.2e-4, "{y}");
    assert_eq!((desk.peak_n, desk.driver.weight().force.norm()), (0.0, 0.0));
    let facts = desk.driver.facts();
    assert!(facts.lost == 0 && facts.garbage == 0 && facts.answers > 60, "{facts:?}");
}

#[test]
fn a_hapkit_that_speaks_text_stands_trouble_and_is_homed_again_after_it_lost_power() {
    let mut desk = hapkit_text(None);
    home(&mut desk, Vec3::zeros());
    for trouble in [
        Trouble::Drop,
        Trouble::Split,
        Trouble::Duplicate,
        Trouble::Corrupt(0, 0x20),
        Trouble::Corrupt(5, 0x01),
        Trouble::Late(12_000_000),
        Trouble::Short,
        Trouble::Garbage,
    ] {
        desk.line.upset(trouble);
        desk.run(150, None);
        assert_eq!(desk.driver.state(), DriverState::Ready, "{trouble:?}");
        let y = desk.sample.expect("a sample").pose_device_handle.translation.y;
        assert!(y.abs() < 1.2e-4, "after {trouble:?}: {y}");
    }
    assert_eq!(desk.count(DriverEventKind::Silent), 0, "none of these lasts");
    desk.line.stall(desk.now.plus(250_000_000));
    desk.run(200, None);
    assert_eq!(desk.driver.state(), DriverState::Silent);
    desk.run(150, None);
    assert_eq!((desk.driver.state(), desk.count(DriverEventKind::Back)), (DriverState::Ready, 1));
    // It blinks for a second, says so, and has forgotten where zero was.
    desk.device.power_cycle();
    desk.until("awake", |desk| matches!(desk.driver.state(), DriverState::Homing(_)));
    assert!(!desk.sample.expect("a sample").homed || desk.driver.state() != DriverState::Ready);
    desk.driver.confirm_home(desk.now);
    desk.until("homed", |desk| desk.driver.state() == DriverState::Ready);
}

#[test]
fn a_hapkit_whose_clock_is_right_is_told_to_be_too_slow() {
    let mut desk = hapkit_text(Some(1_000_000_000));
    desk.until("refused", |desk| desk.count(DriverEventKind::TooSlow) == 1);
    assert_eq!((desk.driver.state(), desk.count(DriverEventKind::Started)), (DriverState::Failed, 0));
}

#[test]
fn a_hapkit_that_speaks_text_holds_a_force_whose_end_another_word_has_swallowed() {
    let mut desk = hapkit_text(None);
    let mut say = |ms: u64, words: &[u8]| {
        let mut answer = [0; 64];
        desk.device.hand().stiffness = 5000.0;
        desk.device.feed(words, MonoNs(ms * 1_000_000));
        let length = (1..=18).fold(0, |length, later| {
            desk.device.feed(&[], MonoNs((ms + later) * 1_000_000));
            length.max(desk.device.next_out(&mut answer))
        });
        (answer[..length].to_vec(), desk.device.force().y)
    };
    assert_eq!(say(100, b"00").0, b"reset\r\n");
    let (answer, force) = say(200, b"031.2500");
    assert!(answer == b"force\r\n" && (force.abs() - 1.25).abs() < 0.0125, "{force} N");
    // Why no force is ever asked of it: these two come together, and the second is not heard.
    let (answer, force) = say(300, b"01030.0000");
    assert!(answer.ends_with(b"\r\n") && answer.contains(&b'%') && force.abs() > 1.2, "{force} N");
    assert_eq!(say(400, b"03").1, 0.0);
    // A wall of its own, 300 N/m, behind which the handle is held.
    desk.device.hand().target = desk.device.position() + Vec3::new(0.0, 0.01, 0.0);
    for ms in 500..800 {
        desk.device.feed(&[], MonoNs(ms * 1_000_000));
    }
    let mut answer = [0; 64];
    desk.device.feed(b"040.0050", MonoNs(801_000_000));
    for ms in 802..1100 {
        desk.device.feed(&[], MonoNs(ms * 1_000_000));
    }
    assert_eq!(desk.device.next_out(&mut answer), 6);
    let deep = desk.device.position().y.abs() - 0.005;
    assert!((desk.device.force().norm() - 300.0 * deep).abs() < 0.02 * 300.0 * deep + 0.01, "{}", desk.device.force());
}

fn inverse3() -> Desk<Host<Inverse3Family>, Inverse3Firmware, Cartesian, 3> {
    let calibration = Inverse3Calibration::default();
    let workspace = calibration.workspace();
    let device = Emulator::new(Inverse3Firmware::default(), workspace, calibration.mount, 0.15, &Vec3::zeros());
    let mut desk = Desk::new(Host::new(Inverse3Family::new(calibration)), device.expect("in reach"));
    desk.until("ready", |desk| desk.driver.state() == DriverState::Ready && desk.count(DriverEventKind::Homed) == 1);
    desk
}

#[test]
fn an_inverse3_gives_the_force_it_is_told_to_in_the_axes_of_the_operator() {
    let mut desk = inverse3();
    let forces = [[2.0, 0.0, 0.0], [0.0, -3.0, 0.0], [0.0, 0.0, 1.0], [1.0, -1.0, 2.0]].map(Vec3::from);
    desk.gives_what_is_commanded(&forces);
    desk.move_hand(Vec3::new(0.05, -0.06, 0.04), 300);
    desk.gives_what_is_commanded(&forces);
    // Towards the operator is against the service's y, and to the right is its x.
    desk.run(300, Some(Vec3::new(2.0, 1.0, 0.0)));
    assert!((desk.device.firmware().torques(desk.now) - Vec3::new(1.0, -2.0, 0.0)).norm() < 0.02);
}

#[test]
fn an_inverse3_gives_less_and_less_force_towards_the_edge_of_its_reach() {
    let mut desk = inverse3();
    desk.device.hand().stiffness = 5000.0;
    for (distance, share) in [(0.125, 1.0), (0.14, 0.5), (0.149, 0.05)] {
        desk.move_hand(Vec3::new(0.0, distance, 0.0), 300);
        desk.run(300, Some(Vec3::new(1.0, 0.0, 0.0)));
        let felt = desk.device.force().x;
        assert!((felt - share).abs() < 0.03, "{felt} N at {distance} m");
    }
    assert_eq!(desk.count(DriverEventKind::NearSingular), 1);
}

#[test]
fn an_inverse3_stands_every_trouble_on_the_line() {
    let mut desk = inverse3();
    desk.stands_trouble(Vec3::new(0.8, 0.5, -1.0));
    desk.weathers_a_storm(Vec3::new(0.8, 0.5, -1.0));
}

#[test]
fn an_inverse3_that_its_service_has_lost_is_given_up_and_found_again() {
    let mut desk = inverse3();
    let force = Vec3::new(1.0, 0.0, 0.0);
    desk.run(300, Some(force));
    assert!(desk.device.force().norm() > 0.9);
    desk.line.cut(true);
    desk.device.power_cycle();
    desk.run(700, Some(force));
    assert!(desk.count(DriverEventKind::Restarting) >= 1 && desk.driver.state() != DriverState::Ready);
    desk.line.cut(false);
    desk.until("ready again", |desk| desk.driver.state() == DriverState::Ready);
    desk.run(300, Some(force));
    assert!(desk.device.force().norm() > 0.9, "{}", desk.device.force());
}

#[test]
fn an_inverse3_that_is_not_calibrated_gets_no_force_until_someone_says_that_it_is() {
    let mut desk = inverse3();
    let mut state = crate::device::wire::inverse3::Inverse3State::default();
    (state.position_m, state.calibrated) = (Some(Inverse3Calibration::default().mount.origin), Some(false));
    let text = crate::device::wire::inverse3::state_text("049D", &state, true).expect("it fits");
    desk.driver.feed(text.as_bytes(), desk.now);
    desk.driver.feed(&[crate::device::wire::inverse3::TEXT_END], desk.now);
    assert!(matches!(desk.driver.state(), DriverState::Homing(_)));
    desk.run(100, Some(Vec3::new(1.0, 0.0, 0.0)));
    assert_eq!(desk.peak_n, 0.0, "force of a device that does not know where it is");
    desk.driver.confirm_home(desk.now);
    desk.run(300, Some(Vec3::new(1.0, 0.0, 0.0)));
    assert!(desk.device.force().norm() > 0.9);
}
