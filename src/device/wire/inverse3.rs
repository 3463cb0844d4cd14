//! Haply Inverse3, through its maker's service: JSON texts over a WebSocket, one state per message sent.
//!
//! Thread: device I/O (no heap).
//!
//! The service tells everything when a session begins; then it is asked by telling it a force, and without a message there is
//! no state. A text has everything of every device connected; the first Inverse3 is the one taken, and the first grip of
//! either kind. Texts to the host can be longer than a message may be here, so they travel in pieces, and [`TEXT_END`] stands
//! behind each; on the WebSocket itself there is no such byte.

use super::json::{Scalar, Step, walk};
use super::text::Text;
use crate::math::Vec3;
use std::fmt::Write as _;

/// Largest force that is ever written, N: beyond the device.
const FORCE_MAX_N: f64 = 50.0;
/// Longest name of a device, bytes.
const ID_MAX: usize = 32;

/// Stands behind each text to the host: a byte that JSON cannot have.
pub const TEXT_END: u8 = 0;
/// Longest text that is read, bytes: several devices with all their settings.
const TEXT_MAX: usize = 8192;
/// A question that moves nothing: the answer has everything the service knows.
pub const QUESTION: &[u8] = b"{}";

/// Tells the device a force, and asks for its state.
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
    /// Whether the device knows where it is; `None` when the text does not say.
    pub calibrated: Option<bool>,
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
                (b"inverse3", [Step::Key(b"status"), Step::Key(b"calibrated")], Scalar::Flag(calibrated)) => {
                    state.calibrated = Some(calibrated);
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

/// Puts texts together again and reads them.
#[derive(Clone, Copy, Debug)]
pub struct Inverse3Reader {
    text: [u8; TEXT_MAX],
    length: usize,
}

impl Default for Inverse3Reader {
    fn default() -> Self {
        Self { text: [0; TEXT_MAX], length: 0 }
    }
}

impl Inverse3Reader {
    /// Takes a byte; at the end of a text, what it says, or `Some(None)` when that is nothing.
    pub fn push(&mut self, byte: u8) -> Option<Option<Inverse3State>> {
        if byte != TEXT_END {
            // A text that is too long is counted and not kept; it is nothing in the end.
            if let Some(place) = self.text.get_mut(self.length) {
                *place = byte;
            }
            self.length = (self.length + 1).min(TEXT_MAX + 1);
            return None;
        }
        let state = self.text.get(..self.length).and_then(Inverse3State::parse);
        self.length = 0;
        Some(state)
    }
}

/// What a host has told the service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Inverse3Order {
    /// Nothing for this device: a question.
    Question,
    /// A force, N, in the service's frame.
    Force(Vec3),
}

impl Inverse3Order {
    /// The order for the device of this name in a message; `None` when it is no JSON.
    #[must_use]
    pub fn parse(message: &[u8], device_id: &[u8]) -> Option<Self> {
        let (mut mine, mut force) = (false, Parts::<3>::default());
        walk(message, &mut |way, scalar| {
            let [Step::Key(b"inverse3"), Step::At(0), rest @ ..] = way else { return };
            match (rest, scalar) {
                ([Step::Key(b"device_id")], Scalar::Text(id)) => mine = id == device_id,
                (
                    [Step::Key(b"commands"), Step::Key(b"set_cursor_force"), Step::Key(b"values"), Step::Key(part)],
                    _,
                ) => {
                    force.put(b"xyz", part, scalar);
                }
                _ => {}
            }
        })?;
        Some(force.whole().filter(|_| mine).map_or(Self::Question, |force| Self::Force(force.into())))
    }
}

/// What the service says of its only device: after a question all it knows, else the state alone. Without [`TEXT_END`].
#[must_use]
pub fn state_text(device_id: &str, state: &Inverse3State, all: bool) -> Option<Text<1000>> {
    let mut text = Text::default();
    let vector = |text: &mut Text<1000>, name: &str, [x, y, z]: [f64; 3]| {
        write!(text, r#""{name}":{{"x":{x:.7},"y":{y:.7},"z":{z:.7}}}"#).ok()
    };
    let [a, b, c] = [1, 2, 4].map(|bit| state.buttons & bit != 0);
    let [w, x, y, z] = state.orientation_wxyz.unwrap_or([1.0, 0.0, 0.0, 0.0]);
    // The grip first: of a text with a hole in it nothing is left that looks like a whole device.
    write!(text, r#"{{"wireless_verse_grip":[{{"device_id":"61576","state":{{"#).ok()?;
    write!(text, r#""orientation":{{"w":{w:.6},"x":{x:.6},"y":{y:.6},"z":{z:.6}}},"#).ok()?;
    write!(text, r#""buttons":{{"a":{a},"b":{b},"c":{c}}}}}}}],"#).ok()?;
    write!(text, r#""inverse3":[{{"device_id":"{device_id}","#).ok()?;
    if all {
        let [config, gravity] = [
            r#""config":{"type":"inverse3","preset":"defaults","basis":{"permutation":"XYZ"},"#,
            r#""gravity_compensation":{"enabled":true,"scaling_factor":1.0}},"#,
        ];
        write!(text, "{config}{gravity}").ok()?;
        let calibrated = state.calibrated.unwrap_or(true);
        write!(text, r#""status":{{"calibrated":{calibrated},"ready":true}},"#).ok()?;
    }
    write!(text, r#""state":{{"#).ok()?;
    vector(&mut text, "cursor_position", state.position_m?.into())?;
    write!(text, ",").ok()?;
    vector(&mut text, "cursor_velocity", state.velocity_m_s.unwrap_or_default().into())?;
    write!(text, "}}}}]}}").ok()?;
    Some(text)
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
    fn what_the_service_says_is_what_is_read() {
        let state = Inverse3State {
            position_m: Some(Vec3::new(0.03, -0.1, 0.2)),
            velocity_m_s: Some(Vec3::new(0.0, 0.5, -0.25)),
            orientation_wxyz: Some([1.0, 0.0, 0.0, 0.0]),
            buttons: 0b101,
            ..Inverse3State::default()
        };
        let text = state_text("049D", &state, false).expect("it fits");
        let expected = concat!(
            r#"{"wireless_verse_grip":[{"device_id":"61576","state":{"orientation":{"w":1.000000,"x":0.000000,"y":0.000000,"#,
            r#""z":0.000000},"buttons":{"a":true,"b":false,"c":true}}}],"inverse3":[{"device_id":"049D","state":{"#,
            r#""cursor_position":{"x":0.0300000,"y":-0.1000000,"z":0.2000000},"#,
            r#""cursor_velocity":{"x":0.0000000,"y":0.5000000,"z":-0.2500000}}}]}"#
        );
        assert_eq!(String::from_utf8_lossy(text.as_bytes()), expected);
        let read = Inverse3State::parse(text.as_bytes()).expect("JSON");
        assert_eq!((read.position_m, read.velocity_m_s), (state.position_m, state.velocity_m_s));
        assert_eq!((read.device_id(), read.buttons, read.calibrated), (&b"049D"[..], 0b101, None));
        let all = Inverse3State { calibrated: Some(false), ..state };
        let all = state_text("049D", &all, true).and_then(|text| Inverse3State::parse(text.as_bytes()));
        assert_eq!(all.expect("JSON").calibrated, Some(false));
    }

    #[test]
    fn an_order_is_for_the_device_that_it_names() {
        let text = force_message(b"049D", &Vec3::new(1.5, -0.25, 0.0)).expect("a good name");
        let force = Inverse3Order::Force(Vec3::new(1.5, -0.25, 0.0));
        assert_eq!(Inverse3Order::parse(text.as_bytes(), b"049D"), Some(force));
        assert_eq!(Inverse3Order::parse(text.as_bytes(), b"FFFF"), Some(Inverse3Order::Question));
        assert_eq!(Inverse3Order::parse(QUESTION, b"049D"), Some(Inverse3Order::Question));
        assert_eq!(Inverse3Order::parse(&text.as_bytes()[1..], b"049D"), None);
    }

    #[test]
    fn a_text_is_read_in_pieces_and_one_without_an_end_is_forgotten() {
        let mut reader = Inverse3Reader::default();
        let mut read = |bytes: &[u8]| bytes.iter().filter_map(|&byte| reader.push(byte)).last();
        assert_eq!((read(&STATE[..100]), read(&STATE[100..])), (None, None));
        assert_eq!(read(&[TEXT_END]).flatten().map(|state| state.buttons), Some(0b101));
        assert_eq!((read(&[b' '; 3 * TEXT_MAX]), read(&[TEXT_END])), (None, Some(None)));
        assert!(read(STATE).is_none() && read(&[TEXT_END]).flatten().is_some());
    }

    #[test]
    fn no_text_upsets_the_reader() {
        let good = &b"{\"inverse3\":[{\"device_id\":\"049D\",\"state\":{\"cursor_position\":{\"x\":0.1,\"y\":-2e-1,\"z\":3}}}]}\0"[..];
        survives::<Inverse3Reader>(&[good, b"[[[[[[", b"{\"a\":\"\\u0000\"}\0"], good, |reader, bytes| {
            bytes.iter().filter(|&&byte| reader.push(byte).flatten().is_some()).count()
        });
    }

    #[test]
    fn no_order_upsets_the_service() {
        let good = force_message(b"049D", &Vec3::new(1.0, 2.0, 3.0)).expect("a good name");
        survives::<()>(&[good.as_bytes(), QUESTION], good.as_bytes(), |(), bytes| {
            usize::from(Inverse3Order::parse(bytes, b"049D").is_some())
        });
    }
}
