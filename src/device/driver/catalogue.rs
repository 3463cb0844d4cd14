//! Drivers and emulated devices by the word that a device file has for them.
//!
//! Thread: cold; made before the first tick.

use super::{
    ArmCalibration, ArmFamily, Driver, FalconCalibration, FalconFamily, HapkitCalibration, HapkitFamily,
    HapkitTextFamily, HaplyCalibration, HaplyFamily, Host, Inverse3Calibration, Inverse3Family, SpaceMouseFamily,
    SpaceMouseScale, Trim,
};
use crate::device::Links;
use crate::device::emulator::{
    ArmFirmware, Emulated, Emulator, FalconFirmware, HapkitFirmware, HapkitTextFirmware, HaplyFirmware,
    Inverse3Firmware, SpaceMouse,
};
use crate::device::kinematics::FalconLegs;
use crate::device::wire::arm::{ArmFrames, ArmHid, ArmText, ArmWire};
use crate::math::Vec3;
use std::sync::Arc;

/// Every word of a device that gives force, in the order in which they are shown.
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
/// The word for a Hapkit with the firmware of earlier programs, which gives no force here.
pub const HAPKIT_TEXT: &str = "hapkit-text";
/// The word for a SpaceMouse, which gives no force.
pub const SPACEMOUSE: &str = "spacemouse";
/// Every word of a device that gives no force: it steers a scene, which is seen and not felt.
pub const INPUTS: [&str; 2] = [HAPKIT_TEXT, SPACEMOUSE];

/// True for a device that gives force.
#[must_use]
pub fn gives_force(word: &str) -> bool {
    !INPUTS.contains(&word)
}

/// Where the handle of this word's device can go, by axes of its base frame and in words; `None` for everywhere.
#[must_use]
pub fn confined(word: &str) -> Option<([bool; 3], &'static str)> {
    match word {
        "hapkit" | HAPKIT_TEXT => Some(([false, true, false], "left and right")),
        "haply-2dof" => Some(([true, true, false], "in a level plane")),
        _ => None,
    }
}

/// A driver that can go to its I/O thread.
#[expect(clippy::disallowed_types, reason = "made before the first tick")]
pub type AnyDriver = Box<dyn Driver + Send>;
/// An emulated device that can go to a thread.
#[expect(clippy::disallowed_types, reason = "made before the first tick")]
pub type AnyDevice = Box<dyn Emulated + Send>;

/// What the links of a device of this word are, in the order in which their masses are told; none where nothing weighs on the
/// hand.
#[must_use]
pub fn links(word: &str) -> &'static [&'static str] {
    match word {
        "falcon" => &["plate with grip", "one arm", "bars of one leg"],
        "polhem" => &["upper link", "crank", "coupler", "fore link with stylus"],
        _ if arm(word).is_some() => &["upper link", "fore link"],
        _ => &[],
    }
}

/// What those links weigh in a device as its kind is known.
#[must_use]
pub fn known_links(word: &str) -> Links {
    if word == "falcon" {
        return FalconCalibration::default().links;
    }
    arm(word).map_or_else(Links::default, |arm| arm.links)
}

/// The arm of this word, whatever its wire.
fn arm(word: &str) -> Option<ArmCalibration> {
    match word {
        "polhem" => Some(ArmCalibration::polhem()),
        "vintage" => Some(ArmCalibration::vintage()),
        "woodenhaptics" | "woodenhaptics-frames" | "woodenhaptics-mbed" | "woodenhaptics-teensy" => {
            Some(ArmCalibration::woodenhaptics())
        }
        _ => None,
    }
}

/// How one unit differs from its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Unit {
    /// By its calibration.
    pub trim: Trim,
    /// By its device file: what its links weigh.
    pub links: Option<Links>,
}

/// The driver of this word for a unit as its kind is by design; `firmware` is the user's image for a Falcon.
#[must_use]
pub fn driver(word: &str, firmware: Option<Arc<[u8]>>) -> Option<AnyDriver> {
    unit_driver(word, firmware, &Unit::default())
}

/// The same for a unit that differs so.
#[must_use]
#[expect(clippy::disallowed_types, reason = "made before the first tick")]
pub fn unit_driver(word: &str, firmware: Option<Arc<[u8]>>, unit: &Unit) -> Option<AnyDriver> {
    fn on<W: ArmWire + Send + 'static>(calibration: ArmCalibration) -> AnyDriver {
        Box::new(Host::new(ArmFamily::<W>::new(calibration)))
    }
    let trim = &unit.trim;
    let links = unit.links.unwrap_or_else(|| known_links(word));
    let arm = || arm(word).map(|arm| ArmCalibration { links, ..arm }.trimmed(trim));
    Some(match word {
        "falcon" => {
            let calibration = FalconCalibration { links, ..FalconCalibration::default() }.trimmed(trim);
            Box::new(Host::new(FalconFamily::new(calibration, firmware)))
        }
        "polhem" | "vintage" | "woodenhaptics" => on::<ArmText>(arm()?),
        "woodenhaptics-frames" => on::<ArmFrames>(arm()?),
        "woodenhaptics-mbed" => on::<ArmHid<14>>(arm()?),
        "woodenhaptics-teensy" => on::<ArmHid<64>>(arm()?),
        "haply-2dof" => Box::new(Host::new(HaplyFamily::new(HaplyCalibration::default().trimmed(trim)))),
        "hapkit" => Box::new(Host::new(HapkitFamily::new(HapkitCalibration::default().trimmed(trim)))),
        INVERSE3 => Box::new(Host::new(Inverse3Family::new(Inverse3Calibration::default().trimmed(trim)))),
        HAPKIT_TEXT => Box::new(Host::new(HapkitTextFamily::new(HapkitTextFamily::design().trimmed(trim)))),
        SPACEMOUSE => Box::new(Host::new(SpaceMouseFamily::new(SpaceMouseScale::default()))),
        _ => return None,
    })
}

/// An emulated Falcon as it is after power-up: it needs an image of this length, and its counters begin anywhere.
#[must_use]
#[expect(clippy::disallowed_types, reason = "made before the first tick")]
pub fn emulated_falcon(image_length: usize, counters: [i32; 3], links: Option<Links>) -> Option<AnyDevice> {
    let truth = FalconCalibration::default();
    let firmware = FalconFirmware::new(image_length, counters);
    let device = Emulator::new(firmware, FalconLegs, truth.mount, 0.15, &Vec3::zeros())?;
    Some(Box::new(device.heavy(links.unwrap_or(truth.links))))
}

/// An emulated device for the driver of this word, its handle at rest.
#[must_use]
pub fn emulated(word: &str) -> Option<AnyDevice> {
    emulated_unit(word, None)
}

/// The same with links that weigh something else.
#[must_use]
#[expect(clippy::disallowed_types, reason = "made before the first tick")]
pub fn emulated_unit(word: &str, links: Option<Links>) -> Option<AnyDevice> {
    fn on<W: ArmWire + Send + 'static>(truth: ArmCalibration, model: i32) -> Option<AnyDevice> {
        let firmware = ArmFirmware::<W>::new(truth, model);
        let device = Emulator::new(firmware, truth.mechanism, truth.mount, 0.2, &truth.rest()?)?;
        Some(Box::new(device.heavy(truth.links)))
    }
    let arm = || arm(word).map(|arm| ArmCalibration { links: links.unwrap_or(arm.links), ..arm });
    match word {
        "falcon" => emulated_falcon(0, [0; 3], links),
        "polhem" => on::<ArmText>(arm()?, 1),
        "vintage" => on::<ArmText>(arm()?, 2),
        "woodenhaptics" => on::<ArmText>(arm()?, 3),
        "woodenhaptics-frames" => on::<ArmFrames>(arm()?, 3),
        "woodenhaptics-mbed" => on::<ArmHid<14>>(arm()?, 3),
        "woodenhaptics-teensy" => on::<ArmHid<64>>(arm()?, 3),
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
        HAPKIT_TEXT => {
            let HapkitCalibration { sector, mount, .. } = HapkitTextFamily::design();
            Some(Box::new(Emulator::new(HapkitTextFirmware::new(sector), sector, mount, 0.05, &Vec3::zeros())?))
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
        for word in DRIVERS.into_iter().chain(INPUTS) {
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
