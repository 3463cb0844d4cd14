//! 3Dconnexion SpaceMouse: reports of a cap that is pushed and turned. Input only; it gives no force.
//!
//! Thread: device I/O.
//!
//! | report | bytes | |
//! |---|---|---|
//! | 1 | 7 | push `x y z`, 16 bits each, lowest byte first (older models) |
//! | 2 | 7 | turn `rx ry rz` (older models) |
//! | 1 | 13 | both (newer models) |
//! | 3 | 2 to 5 | buttons, lowest bits first |
//! | 4 | 2 | to the device: lamp on or off |
//!
//! The cap's axes are x right, y towards the user, z down.

use crate::math::Vec3;

/// What a cap reports at its end, nominally.
pub const FULL: f64 = 350.0;

/// A report from the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseReport {
    /// How far the cap is pushed.
    Push([i16; 3]),
    /// How far it is turned.
    Turn([i16; 3]),
    /// Both at once.
    Both([i16; 3], [i16; 3]),
    /// Buttons held, one bit each.
    Buttons(u32),
}

fn three(bytes: &[u8]) -> Option<[i16; 3]> {
    let [a, b, c, d, e, f] = *bytes else { return None };
    Some([i16::from_le_bytes([a, b]), i16::from_le_bytes([c, d]), i16::from_le_bytes([e, f])])
}

impl MouseReport {
    /// The report in one message; `None` for any other, of which there are many (battery, settings).
    #[must_use]
    pub fn decode(message: &[u8]) -> Option<Self> {
        let (&number, data) = message.split_first()?;
        match (number, data.len()) {
            (1, 6) => three(data).map(Self::Push),
            (2, 6) => three(data).map(Self::Turn),
            (1, 12) => three(&data[..6]).zip(three(&data[6..])).map(|(push, turn)| Self::Both(push, turn)),
            (3, 1..=4) => {
                let mut four = [0; 4];
                four[..data.len()].copy_from_slice(data);
                Some(Self::Buttons(u32::from_le_bytes(four)))
            }
            _ => None,
        }
    }

    /// Its bytes, and how many of them count.
    #[must_use]
    pub fn encode(&self) -> ([u8; 13], usize) {
        let mut bytes = [0; 13];
        let mut put = |at: usize, numbers: &[i16; 3]| {
            for (index, number) in numbers.iter().enumerate() {
                bytes[at + 2 * index..at + 2 * index + 2].copy_from_slice(&number.to_le_bytes());
            }
        };
        let (number, length) = match self {
            Self::Push(push) => {
                put(1, push);
                (1, 7)
            }
            Self::Turn(turn) => {
                put(1, turn);
                (2, 7)
            }
            Self::Both(push, turn) => {
                put(1, push);
                put(7, turn);
                (1, 13)
            }
            Self::Buttons(buttons) => {
                bytes[1..5].copy_from_slice(&buttons.to_le_bytes());
                (3, 5)
            }
        };
        bytes[0] = number;
        (bytes, length)
    }
}

/// The lamp's report.
#[must_use]
pub fn lamp(on: bool) -> [u8; 2] {
    [4, u8::from(on)]
}

/// Three numbers of a report as parts of the full way, −1 to 1, in the axes of the device's base frame.
#[must_use]
pub fn deflection(numbers: [i16; 3]) -> Vec3 {
    let [x, y, z] = numbers.map(|number| (f64::from(number) / FULL).clamp(-1.0, 1.0));
    // Towards the operator is the cap's y, right its x, up against its z: a rotation, so turns go the same way.
    Vec3::new(y, x, -z)
}

/// The other way: numbers that a cap so deflected reports.
#[must_use]
pub fn reported(deflection: &Vec3) -> [i16; 3] {
    // Bounded by the clamp.
    [deflection.y, deflection.x, -deflection.z].map(|part| (part.clamp(-1.0, 1.0) * FULL).round() as i16)
}

/// Makers' numbers of the two brands under which it was sold.
const LOGITECH: u16 = 0x046D;
const THREE_DCONNEXION: u16 = 0x256F;

/// Name of the model with this USB identity; `None` for what is no six-axis cap, such as the maker's ordinary mice.
#[must_use]
pub fn model(vendor: u16, product: u16) -> Option<&'static str> {
    let name = match (vendor, product) {
        (LOGITECH, 0xC603) => "SpaceMouse Plus XT",
        (LOGITECH, 0xC605) => "CADman",
        (LOGITECH, 0xC606) => "SpaceMouse Classic",
        (LOGITECH, 0xC621) => "Spaceball 5000",
        (LOGITECH, 0xC623) => "SpaceTraveler",
        (LOGITECH, 0xC625) => "SpacePilot",
        (LOGITECH, 0xC626) => "SpaceNavigator",
        (LOGITECH, 0xC627) => "SpaceExplorer",
        (LOGITECH, 0xC628) => "SpaceNavigator for Notebooks",
        (LOGITECH, 0xC629) => "SpacePilot Pro",
        (LOGITECH, 0xC62B) => "SpaceMouse Pro",
        (THREE_DCONNEXION, 0xC62E | 0xC62F | 0xC63A) => "SpaceMouse Wireless",
        (THREE_DCONNEXION, 0xC631 | 0xC632 | 0xC638) => "SpaceMouse Pro Wireless",
        (THREE_DCONNEXION, 0xC633) => "SpaceMouse Enterprise",
        (THREE_DCONNEXION, 0xC635) => "SpaceMouse Compact",
        (THREE_DCONNEXION, 0xC636) => "SpaceMouse Module",
        (THREE_DCONNEXION, 0xC641) => "SpaceMouse",
        (THREE_DCONNEXION, 0xC652) => "Universal Receiver",
        _ => return None,
    };
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::super::fuzz::{hex, survives};
    use super::*;

    #[test]
    fn reports_of_old_and_new_models_have_their_bytes() {
        let cases = [
            (MouseReport::Push([350, -350, 1]), "01 5e01 a2fe 0100"),
            (MouseReport::Turn([-1, 0, 256]), "02 ffff 0000 0001"),
            (MouseReport::Both([1, 2, 3], [-1, -2, -3]), "01 0100 0200 0300 ffff feff fdff"),
            (MouseReport::Buttons(0x0102_0304), "03 04 03 02 01"),
        ];
        for (report, text) in cases {
            let (bytes, length) = report.encode();
            assert_eq!(bytes[..length], hex(text));
            assert_eq!(MouseReport::decode(&bytes[..length]), Some(report));
        }
        // A model with few buttons sends few bytes; a battery report is none of ours.
        assert_eq!(MouseReport::decode(&[3, 2]), Some(MouseReport::Buttons(2)));
        assert_eq!(MouseReport::decode(&[23, 80]), None);
        assert_eq!((lamp(true), lamp(false)), ([4, 1], [4, 0]));
    }

    #[test]
    fn the_axes_become_those_of_a_device_and_overshoot_is_cut() {
        assert_eq!(deflection([350, 0, 0]), Vec3::y());
        assert_eq!(deflection([0, 350, 0]), Vec3::x());
        assert_eq!(deflection([0, 0, 350]), -Vec3::z());
        assert_eq!(deflection([i16::MIN, 0, i16::MAX]), Vec3::new(0.0, -1.0, -1.0));
        assert_eq!(reported(&deflection([10, -20, 30])), [10, -20, 30]);
    }

    #[test]
    fn only_six_axis_models_are_known() {
        assert_eq!(model(0x256F, 0xC635), Some("SpaceMouse Compact"));
        let old = [0xC603, 0xC605, 0xC606, 0xC621, 0xC623, 0xC625, 0xC626, 0xC627, 0xC628, 0xC629, 0xC62B];
        let new = [0xC62E, 0xC62F, 0xC631, 0xC632, 0xC633, 0xC635, 0xC636, 0xC638, 0xC63A, 0xC641, 0xC652];
        assert!(old.into_iter().all(|product| model(0x046D, product).is_some()));
        assert!(new.into_iter().all(|product| model(0x256F, product).is_some()));
        // Ordinary mice, keyboards and key pads of the same makers.
        let others = (0xC650..=0xC658).filter(|product| *product != 0xC652).chain([0xC664, 0xC665, 0xC668]);
        assert!(others.into_iter().all(|product| model(0x256F, product).is_none()));
        assert_eq!(model(0x046D, 0xC62C), None);
    }

    #[test]
    fn no_reports_upset_the_decoder() {
        let (good, length) = MouseReport::Both([1, 2, 3], [4, 5, 6]).encode();
        survives::<()>(&[&good[..length], &[3, 1]], &good[..length], |(), bytes| {
            usize::from(MouseReport::decode(bytes).is_some())
        });
    }
}
