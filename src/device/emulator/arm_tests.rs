//! The WoodenHaptics family: every arm on every wire it has had.

use super::tests::Desk;
use super::*;
use crate::device::driver::{
    ArmCalibration, ArmFamily, ArmMechanism, Driver, DriverEventKind, DriverState, HomingGuide, Host,
};
use crate::device::wire::arm::{ArmFrames, ArmHid, ArmText, ArmWire};

type ArmDesk<W> = Desk<Host<ArmFamily<W>>, ArmFirmware<W>, ArmMechanism, 3>;

fn arm<W: ArmWire>(calibration: ArmCalibration) -> ArmDesk<W> {
    let rest = calibration.rest().expect("a rest pose within reach");
    let firmware = ArmFirmware::new(calibration, 1);
    let device = Emulator::new(firmware, calibration.mechanism, calibration.mount, 0.2, &rest).expect("in reach");
    Desk::new(Host::new(ArmFamily::new(calibration)), device)
}

/// Confirms the rest pose, by word or by button, and takes the handle to the middle of the workspace.
fn home<W: ArmWire>(desk: &mut ArmDesk<W>) {
    desk.until("awake", |desk| matches!(desk.driver.state(), DriverState::Homing(_)));
    desk.run(20, Some(Vec3::new(2.0, 0.0, 0.0)));
    assert_eq!(desk.peak_n, 0.0, "force before homing");
    if desk.driver.state() == DriverState::Homing(HomingGuide::RestAndPressButton) {
        desk.device.press(2);
        desk.run(2, None);
        desk.device.press(0);
    } else {
        desk.driver.confirm_home(desk.now);
    }
    desk.until("homed", |desk| desk.driver.state() == DriverState::Ready && desk.count(DriverEventKind::Homed) == 1);
    desk.move_hand(Vec3::zeros(), 1500);
    let sample = desk.sample.expect("a sample").pose_device_handle.translation.vector;
    assert!(sample.norm() < 3e-4 && (sample - desk.device.position()).norm() < 3e-4, "{sample}");
}

fn serves<W: ArmWire>(calibration: ArmCalibration) {
    let mut desk = arm::<W>(calibration);
    home(&mut desk);
    let forces = [[2.0, 0.0, 0.0], [0.0, -2.0, 0.0], [0.0, 0.0, 2.0], [-1.0, 1.0, -1.5]].map(Vec3::from);
    desk.gives_what_is_commanded(&forces);
    desk.move_hand(Vec3::new(-0.03, 0.04, 0.02), 300);
    desk.gives_what_is_commanded(&forces[2..]);
    desk.stands_trouble(Vec3::new(1.0, 0.5, -1.0));
    desk.weathers_a_storm(Vec3::new(1.0, 0.5, -1.0));
    desk.comes_back_after_the_cable_was_pulled(Vec3::new(1.0, 0.0, 0.0));
}

#[test]
fn woodenhaptics_serves_over_the_current_text() {
    serves::<ArmText>(ArmCalibration::woodenhaptics());
}

#[test]
fn polhem_serves_over_the_current_text() {
    serves::<ArmText>(ArmCalibration::polhem());
}

#[test]
fn the_vintage_arm_serves_over_the_current_text() {
    serves::<ArmText>(ArmCalibration::vintage());
}

#[test]
fn woodenhaptics_serves_over_frames_of_text() {
    serves::<ArmFrames>(ArmCalibration::woodenhaptics());
}

#[test]
fn woodenhaptics_serves_over_the_reports_of_both_boards() {
    serves::<ArmHid<14>>(ArmCalibration::woodenhaptics());
    serves::<ArmHid<64>>(ArmCalibration::woodenhaptics());
}

#[test]
fn counters_that_did_not_start_at_rest_are_put_right_when_the_rest_is_confirmed() {
    let mut desk = arm::<ArmText>(ArmCalibration::woodenhaptics());
    let rest = desk.device.position();
    desk.device.hand().target = rest + Vec3::new(0.02, 0.01, -0.02);
    desk.run(500, None);
    desk.device.power_cycle();
    desk.move_hand(rest, 300);
    home(&mut desk);
}

#[test]
fn the_stylus_of_a_polhem_turns_as_its_wrist_does() {
    let mut desk = arm::<ArmText>(ArmCalibration::polhem());
    home(&mut desk);
    let before = desk.sample.expect("a sample").pose_device_handle.rotation;
    desk.device.turn_wrist(Vec3::new(0.0, 0.5, 0.0));
    desk.run(3, None);
    let after = desk.sample.expect("a sample").pose_device_handle.rotation;
    // Encoders of 1024 counts a turn: a count is 6 mrad.
    assert!((before.angle_to(&after) - 0.5).abs() < 7e-3, "{}", before.angle_to(&after));
}

#[test]
fn a_board_in_trouble_is_heard() {
    let mut desk = arm::<ArmText>(ArmCalibration::woodenhaptics());
    home(&mut desk);
    desk.device.firmware_mut().fail(7);
    desk.run(5, None);
    assert_eq!(desk.count(DriverEventKind::DeviceError(7)), 1);
}

#[test]
fn a_board_that_hears_nothing_switches_its_motors_off() {
    let mut desk = arm::<ArmText>(ArmCalibration::woodenhaptics());
    home(&mut desk);
    desk.run(50, Some(Vec3::new(2.0, 0.0, 0.0)));
    let start = desk.now;
    // The program is gone: only the device goes on.
    for ms in 1..700 {
        desk.device.feed(&[], start.plus(ms * 1_000_000));
        let gone = desk.device.force().norm() == 0.0;
        assert_eq!(gone, ms > 500, "{ms} ms");
    }
}

#[test]
fn every_arm_carries_the_weight_of_its_links() {
    for calibration in [ArmCalibration::woodenhaptics(), ArmCalibration::polhem(), ArmCalibration::vintage()] {
        for place in [[0.0; 3], [-0.03, 0.04, 0.02], [0.02, -0.03, -0.04]] {
            let mut desk = arm::<ArmText>(calibration);
            home(&mut desk);
            desk.device.links = calibration.links;
            desk.move_hand(Vec3::from(place), 500);
            desk.carries_its_weight();
        }
    }
}

#[test]
fn the_weight_of_the_arm_is_told_not_sent() {
    let mut desk = arm::<ArmText>(ArmCalibration::woodenhaptics());
    home(&mut desk);
    assert!(desk.driver.weight().force.norm() > 0.3);
    desk.run(20, Some(Vec3::zeros()));
    assert_eq!(desk.device.force().norm(), 0.0);
}
