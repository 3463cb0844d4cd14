//! Drivers and emulated devices by the word that a device file has for them.
//!
//! Thread: cold; made before the first tick.

use super::{
    ArmCalibration, ArmFamily, Driver, FalconCalibration, FalconFamily, HapkitCalibration, HapkitFamily,
    HaplyCalibration, HaplyFamily, Host, Inverse3Calibration, Inverse3Family, SpaceMouseFamily, SpaceMouseScale, Trim,
};
use crate::device::emulator::{
    ArmFirmware, Emulated, Emulator, FalconFirmware, HapkitFirmware, HaplyFirmware, Inverse3Firmware, SpaceMouse,
};
use crate::device::kinematics::FalconLegs;
use crate::device::wire::arm::{ArmFrames, ArmHid, ArmText, ArmWire};
use crate::math::Vec3;
use std::sync::Arc;

/// Every word, in the order in which they are shown.
pub const DRIVERS: [&str; 10] = [
    "falcon",
    "polhem",
    "vintage",
    "woodenhaptics",
    "woodenhaptics-frames",
    "woodenhaptics-mbed",
    "woodenhaptics-teensy",
    "haply-2dof",
    "hapkit",
    INVERSE3,
];
/// The word for an Inverse3 behind its service.
pub const INVERSE3: &str = "inverse3";
/// The word for a SpaceMouse, which gives no force.
pub const SPACEMOUSE: &str = "spacemouse";

/// A driver that can go to its I/O thread.
#[expect(clippy::disallowed_types, reason = "made before the first tick")]
pub type AnyDriver = Box<dyn Driver + Send>;
/// An emulated device that can go to a thread.
#[expect(clippy::disallowed_types, reason = "made before the first tick")]
pub type AnyDevice = Box<dyn Emulated + Send>;

/// The driver of this word for a unit as its kind is by design; `firmware` is the user's image for a Falcon.
#[must_use]
pub fn driver(word: &str, firmware: Option<Arc<[u8]>>) -> Option<AnyDriver> {
    trimmed_driver(word, firmware, &Trim::default())
}

/// The same for a unit that differs so.
#[must_use]
#[expect(clippy::disallowed_types, reason = "made before the first tick")]
pub fn trimmed_driver(word: &str, firmware: Option<Arc<[u8]>>, trim: &Trim) -> Option<AnyDriver> {
    fn arm<W: ArmWire + Send + 'static>(calibration: ArmCalibration) -> AnyDriver {
        Box::new(Host::new(ArmFamily::<W>::new(calibration)))
    }
    let wooden = || ArmCalibration::woodenhaptics().trimmed(trim);
    Some(match word {
        "falcon" => Box::new(Host::new(FalconFamily::new(FalconCalibration::default().trimmed(trim), firmware))),
        "polhem" => arm::<ArmText>(ArmCalibration::polhem().trimmed(trim)),
        "vintage" => arm::<ArmText>(ArmCalibration::vintage().trimmed(trim)),
        "woodenhaptics" => arm::<ArmText>(wooden()),
        "woodenhaptics-frames" => arm::<ArmFrames>(wooden()),
        "woodenhaptics-mbed" => arm::<ArmHid<14>>(wooden()),
        "woodenhaptics-teensy" => arm::<ArmHid<64>>(wooden()),
        "haply-2dof" => Box::new(Host::new(HaplyFamily::new(HaplyCalibration::default().trimmed(trim)))),
        "hapkit" => Box::new(Host::new(HapkitFamily::new(HapkitCalibration::default().trimmed(trim)))),
        INVERSE3 => Box::new(Host::new(Inverse3Family::new(Inverse3Calibration::default().trimmed(trim)))),
        SPACEMOUSE => Box::new(Host::new(SpaceMouseFamily::new(SpaceMouseScale::default()))),
        _ => return None,
    })
}

/// An emulated Falcon as it is after power-up: it needs an image of this length, and its counters begin anywhere.
#[must_use]
#[expect(clippy::disallowed_types, reason = "made before the first tick")]
pub fn emulated_falcon(image_length: usize, counters: [i32; 3]) -> Option<AnyDevice> {
    let mount = FalconCalibration::default().mount;
    let firmware = FalconFirmware::new(image_length, counters);
    Some(Box::new(Emulator::new(firmware, FalconLegs, mount, 0.15, &Vec3::zeros())?))
}

/// An emulated device for the driver of this word, its handle at rest.
#[must_use]
#[expect(clippy::disallowed_types, reason = "made before the first tick")]
pub fn emulated(word: &str) -> Option<AnyDevice> {
    fn arm<W: ArmWire + Send + 'static>(truth: ArmCalibration, model: i32) -> Option<AnyDevice> {
        let firmware = ArmFirmware::<W>::new(truth, model);
        Some(Box::new(Emulator::new(firmware, truth.mechanism, truth.mount, 0.2, &truth.rest()?)?.heavy()))
    }
    match word {
        "falcon" => emulated_falcon(0, [0; 3]),
        "polhem" => arm::<ArmText>(ArmCalibration::polhem(), 1),
        "vintage" => arm::<ArmText>(ArmCalibration::vintage(), 2),
        "woodenhaptics" => arm::<ArmText>(ArmCalibration::woodenhaptics(), 3),
        "woodenhaptics-frames" => arm::<ArmFrames>(ArmCalibration::woodenhaptics(), 3),
        "woodenhaptics-mbed" => arm::<ArmHid<14>>(ArmCalibration::woodenhaptics(), 3),
        "woodenhaptics-teensy" => arm::<ArmHid<64>>(ArmCalibration::woodenhaptics(), 3),
        "haply-2dof" => {
            let HaplyCalibration { pantograph, mount, board, .. } = HaplyCalibration::default();
            let rest = HaplyCalibration::default().rest()?;
            Some(Box::new(Emulator::new(HaplyFirmware::new(board), pantograph, mount, 0.1, &rest)?))
        }
        "hapkit" => {
            let HapkitCalibration { sector, mount, .. } = HapkitCalibration::default();
            Some(Box::new(Emulator::new(HapkitFirmware::new(sector), sector, mount, 0.05, &Vec3::zeros())?))
        }
        INVERSE3 => {
            let truth = Inverse3Calibration::default();
            let (firmware, workspace) = (Inverse3Firmware::default(), truth.workspace());
            Some(Box::new(Emulator::new(firmware, workspace, truth.mount, 0.15, &Vec3::zeros())?))
        }
        SPACEMOUSE => Some(Box::new(SpaceMouse::new(true))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::driver::DriverState;
    use crate::device::emulator::{Line, exchange};
    use crate::shared::MonoNs;

    #[test]
    fn every_word_has_a_driver_and_a_device_that_answers_it() {
        for word in DRIVERS.into_iter().chain([SPACEMOUSE]) {
            let mut driver = driver(word, None).expect("a driver");
            let mut device = emulated(word).expect("a device");
            let mut line = Line::default();
            for ms in 1..100 {
                exchange(&mut *driver, &mut *device, &mut line, MonoNs(ms * 1_000_000));
            }
            let ready = matches!(driver.state(), DriverState::Homing(_) | DriverState::Ready);
            assert!(ready, "{word}: {:?}", driver.state());
        }
        assert!(driver("simulated", None).is_none() && emulated("").is_none());
    }
}
