//! Haply Inverse3, through its maker's service: JSON texts over a WebSocket, one state per message sent.
//!
//! Thread: device I/O (no heap).
//!
//! The service is asked by telling it a force; without a message there is no state. A text has everything of every device
//! connected; the first Inverse3 is the one taken, and the first grip of either kind.

use super::json::{Scalar, Step, walk};
use super::text::Text;
use crate::math::Vec3;
use std::fmt::Write as _;

/// Largest force that is ever written, N: beyond the device.
const FORCE_MAX_N: f64 = 50.0;
/// Longest name of a device, bytes.
const ID_MAX: usize = 32;

/// The first message of a session and every one after.
#[must_use]
pub fn force_message(device_id: &[u8], force_n: &Vec3) -> Option<Text<256>> {
    let id = std::str::from_utf8(device_id).ok()?;
    // A name is letters and numbers; anything else would end the text early.
    if id.is_empty() || id.len() > ID_MAX || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return None;
    }
    let [x, y, z] = [force_n.x, force_n.y, force_n.z]
        .map(|part| if part.is_finite() { part.clamp(-FORCE_MAX_N, FORCE_MAX_N) } else { 0.0 });
    let mut text = Text::default();
    write!(text, r#"{{"inverse3":[{{"device_id":"{id}","commands":{{"set_cursor_force":{{"values":"#).ok()?;
    write!(text, r#"{{"x":{x:.6},"y":{y:.6},"z":{z:.6}}}}}}}}}]}}"#).ok()?;
    Some(text)
}

/// What the service says of the devices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inverse3State {
    id: [u8; ID_MAX],
    id_length: usize,
    /// Place of the handle, m, right-handed, from the middle of the mounting plate; `None` when the text has none.
    pub position_m: Option<Vec3>,
    /// Its velocity, m/s.
    pub velocity_m_s: Option<Vec3>,
    /// Rotation of the grip as a quaternion `w x y z`, if a grip is connected.
    pub orientation_wxyz: Option<[f64; 4]>,
    /// Buttons a, b, c of the grip, one bit each.
    pub buttons: u32,
}

/// Numbers of a vector as they are found, until all are there.
#[derive(Clone, Copy)]
struct Parts<const N: usize>([Option<f64>; N]);

impl<const N: usize> Parts<N> {
    fn put(&mut self, names: &[u8; N], key: &[u8], value: Scalar<'_>) {
        if let ([letter], Scalar::Number(number)) = (key, value)
            && let Some(index) = names.iter().position(|name| name == letter)
        {
            self.0[index] = Some(number);
        }
    }

    fn whole(&self) -> Option<[f64; N]> {
        let mut numbers = [0.0; N];
        for (number, part) in numbers.iter_mut().zip(self.0) {
            *number = part?;
        }
        Some(numbers)
    }
}

impl<const N: usize> Default for Parts<N> {
    fn default() -> Self {
        Self([None; N])
    }
}

impl Inverse3State {
    /// Name of the device, for commands; empty when there is none.
    #[must_use]
    pub fn device_id(&self) -> &[u8] {
        &self.id[..self.id_length]
    }

    /// The state in one message; `None` when it is no JSON.
    #[must_use]
    pub fn parse(message: &[u8]) -> Option<Self> {
        let mut state = Self::default();
        let (mut position, mut velocity) = (Parts::<3>::default(), Parts::<3>::default());
        let mut orientation = Parts::<4>::default();
        walk(message, &mut |way, scalar| {
            let [Step::Key(kind), Step::At(0), rest @ ..] = way else { return };
            let grip = matches!(*kind, b"verse_grip" | b"wireless_verse_grip");
            match (*kind, rest, scalar) {
                (b"inverse3", [Step::Key(b"device_id")], Scalar::Text(id)) if id.len() <= ID_MAX => {
                    state.id[..id.len()].copy_from_slice(id);
                    state.id_length = id.len();
                }
                (b"inverse3", [Step::Key(b"state"), Step::Key(name), Step::Key(part)], _) => match *name {
                    b"cursor_position" => position.put(b"xyz", part, scalar),
                    b"cursor_velocity" => velocity.put(b"xyz", part, scalar),
                    _ => {}
                },
                (_, [Step::Key(b"state"), Step::Key(b"orientation"), Step::Key(part)], _) if grip => {
                    orientation.put(b"wxyz", part, scalar);
                }
                (_, [Step::Key(b"state"), Step::Key(b"buttons"), Step::Key([button])], Scalar::Flag(true)) if grip => {
                    state.buttons |= match button {
                        b'a' => 1,
                        b'b' => 2,
                        b'c' => 4,
                        _ => 0,
                    };
                }
                _ => {}
            }
        })?;
        state.position_m = position.whole().map(Vec3::from);
        state.velocity_m_s = velocity.whole().map(Vec3::from);
        state.orientation_wxyz = orientation.whole();
        Some(state)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fuzz::survives;
    use super::*;

    const STATE: &[u8] = br#"{"session_id": 3, "inverse3": [{"device_id": "049D", "config": {"type": "inverse3"},
        "state": {"cursor_position": {"x": 0.03, "y": -0.1, "z": 0.2}, "cursor_velocity": {"x": 0, "y": 1e-3, "z": -0.5},
        "control_mode": "idle"}, "status": {"calibrated": true}}, {"device_id": "FFFF", "state": {"cursor_position": {"x": 9,
        "y": 9, "z": 9}}}], "wireless_verse_grip": [{"device_id": "61576", "state": {"orientation":
        {"w": 1, "x": 0, "y": 0, "z": 0}, "buttons": {"a": true, "b": false, "c": true}}}]}"#;

    #[test]
    fn a_force_is_the_message_that_the_service_documents() {
        let text = force_message(b"049D", &Vec3::new(1.5, -0.25, f64::NAN)).expect("a good name");
        let expected = br#"{"inverse3":[{"device_id":"049D","commands":{"set_cursor_force":{"values":{"x":1.500000,"y":-0.250000,"z":0.000000}}}}]}"#;
        assert_eq!(String::from_utf8_lossy(text.as_bytes()), String::from_utf8_lossy(expected));
        assert!(walk(text.as_bytes(), &mut |_, _| {}).is_some());
        let large = force_message(&[b'A'; 32], &Vec3::repeat(-1e300)).expect("fits");
        assert!(walk(large.as_bytes(), &mut |_, _| {}).is_some());
        assert!(force_message(b"a\"", &Vec3::zeros()).is_none() && force_message(b"", &Vec3::zeros()).is_none());
    }

    #[test]
    fn the_first_device_of_a_message_is_read() {
        let state = Inverse3State::parse(STATE).expect("JSON");
        assert_eq!(state.device_id(), b"049D");
        assert_eq!(state.position_m, Some(Vec3::new(0.03, -0.1, 0.2)));
        assert_eq!(state.velocity_m_s, Some(Vec3::new(0.0, 1e-3, -0.5)));
        assert_eq!(state.orientation_wxyz, Some([1.0, 0.0, 0.0, 0.0]));
        assert_eq!(state.buttons, 0b101);
        // Half a vector is none; a text without devices is a state without anything.
        let half = br#"{"inverse3":[{"state":{"cursor_position":{"x":1,"y":2}}}]}"#;
        assert_eq!(Inverse3State::parse(half).map(|state| state.position_m), Some(None));
        assert_eq!(Inverse3State::parse(b"{}"), Some(Inverse3State::default()));
        assert_eq!(Inverse3State::parse(b"{"), None);
    }

    #[test]
    fn no_text_upsets_the_reader() {
        let good = &br#"{"inverse3":[{"device_id":"049D","state":{"cursor_position":{"x":0.1,"y":-2e-1,"z":3}}}]}"#[..];
        survives::<()>(&[good, b"[[[[[[", br#"{"a":"\u0000"}"#], good, |(), bytes| {
            usize::from(Inverse3State::parse(bytes).is_some())
        });
    }
}
