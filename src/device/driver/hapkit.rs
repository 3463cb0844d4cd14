//! Hapkit: one motor, one sector, one handle. The shortest driver of a real device (docs/writing-a-driver.md).
//!
//! Thread: device I/O.

use super::{Family, Heard, HomingGuide, MS, Progress, Reading, Trim, put};
use crate::device::kinematics::{Joints, Kinematics, Mount, Sector};
use crate::device::wire::Outbox;
use crate::device::wire::hapkit::{ANSWER, HapkitAnswer, HapkitCommand, HapkitReader};
use crate::device::wire::hapkit_text::{TextAnswer, TextCommand, TextReader};
use crate::device::{HandForce, SafeForce};
use crate::math::{Mat3, Pose, Rot, Vec3};
use crate::shared::MonoNs;

/// Time a first answer may take, ns, and how often it is asked for: a board that starts when its port is opened takes 2 s.
const START_NS: u64 = 100 * MS;
const START_TRIES: u32 = 50;
/// How long firmware of earlier programs may take to answer in text, ns: it waits a second for the end of a question.
const TEXT_NS: u64 = 2500 * MS;
/// What is told when the board's watchdog has switched the motor off.
const WATCHDOG_ERROR: i32 = 1;

// 1. What differs from one device to the next: facts that a person may want to change, and nothing else.

/// What differs from one Hapkit to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HapkitCalibration {
    /// Radii.
    pub sector: Sector,
    /// Largest torque of the motor, N·m.
    pub torque_max_nm: f64,
    /// Torque it gives over the torque it is told to.
    pub torque_scale: f64,
    /// Angle of the sector in the rest position, rad.
    pub rest_rad: f64,
    /// Axes: the handle moves to the operator's right.
    pub mount: Mount,
}

impl Default for HapkitCalibration {
    fn default() -> Self {
        let axes = Mat3::new(0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0);
        let mount = Mount { rotation: Rot::from_matrix(&axes), origin: Vec3::zeros() };
        Self { sector: Sector::HAPKIT, torque_max_nm: 0.0146, torque_scale: 1.0, rest_rad: 0.0, mount }
    }
}

impl HapkitCalibration {
    /// The same for a unit that differs so.
    #[must_use]
    pub fn trimmed(mut self, trim: &Trim) -> Self {
        self.rest_rad += trim.origin_rad[0];
        self.torque_scale *= trim.force_scale;
        self
    }
}

// 2. What the driver must remember from one call to the next.

/// A Hapkit with hapticd's own firmware.
pub struct HapkitFamily {
    calibration: HapkitCalibration,
    reader: HapkitReader<ANSWER>,
    /// Text, which is listened for until there is an answer.
    text: TextReader,
    speaks_text: bool,
    sequence: u8,
    asked: Option<MonoNs>,
    tries: u32,
    answered: bool,
    homed: bool,
    joints: Option<Joints<1>>,
}

impl HapkitFamily {
    /// A Hapkit of this calibration.
    #[must_use]
    pub fn new(calibration: HapkitCalibration) -> Self {
        Self {
            calibration,
            reader: HapkitReader::default(),
            text: TextReader::default(),
            speaks_text: false,
            sequence: 0,
            asked: None,
            tries: 0,
            answered: false,
            homed: false,
            joints: None,
        }
    }

    fn send(&mut self, command: &HapkitCommand, out: &mut Outbox) {
        self.sequence = self.sequence.wrapping_add(1);
        out.push(&command.encode(self.sequence));
    }

    // 3. From an answer to a place: counts to joints, joints to the handle, the handle to the device's base frame.

    fn read(&mut self, answer: &HapkitAnswer) -> Reading {
        // A board that has lost power has lost its zero.
        self.homed &= answer.zeroed;
        let joints = Joints::<1>::new(f64::from(answer.angle_urad) * 1e-6 + self.calibration.rest_rad);
        let position = self.calibration.sector.forward(&joints);
        self.joints = position.map(|_| joints);
        let pose = position.map(|at| Pose::from_parts(self.calibration.mount.to_device(&at).into(), Rot::identity()));
        let error = if answer.watchdog { WATCHDOG_ERROR } else { 0 };
        Reading { pose, buttons: u32::from(answer.button), error }
    }
}

impl Family for HapkitFamily {
    fn restart(&mut self) {
        *self = Self::new(self.calibration);
    }

    // 4. Starting: say something harmless until an answer comes; give up after a while. This board may have older firmware,
    // which is asked last.

    fn start(&mut self, now: MonoNs, out: &mut Outbox) -> Progress {
        if self.answered {
            return Progress::Done;
        }
        if self.speaks_text {
            (self.tries, self.speaks_text) = (0, false);
            return Progress::Foreign;
        }
        let patience = if self.tries > START_TRIES { TEXT_NS } else { START_NS };
        if self.asked.is_some_and(|at| now.since(at) < patience) {
            return Progress::Waiting;
        }
        match self.tries {
            tries if tries > START_TRIES => {
                self.tries = 0;
                return Progress::Failed;
            }
            START_TRIES => {
                out.push(TextCommand::Where.encode().as_bytes());
            }
            _ => self.send(&HapkitCommand::Torque(0), out),
        }
        (self.asked, self.tries) = (Some(now), self.tries + 1);
        Progress::Waiting
    }

    // 5. Bytes to answers.

    fn receive(&mut self, bytes: &[u8]) -> (usize, Heard) {
        for (at, &byte) in bytes.iter().enumerate() {
            let line = self.text.push(byte).flatten();
            self.speaks_text |= !self.answered && matches!(line, Some(TextAnswer::Place(_)));
            if let Some(frame) = self.reader.push(byte) {
                let Some(answer) = HapkitAnswer::of(&frame) else { return (at + 1, Heard::Garbage) };
                self.answered = true;
                return (at + 1, Heard::Reading(self.read(&answer)));
            }
        }
        (bytes.len(), Heard::Nothing)
    }

    // 6. A force to a command: to the mechanism's axes, to joint torques, to what the motors can do.

    fn request(&mut self, force: &SafeForce, out: &mut Outbox) {
        let HapkitCalibration { sector, torque_max_nm, torque_scale, mount, .. } = self.calibration;
        let wanted = mount.direction_from_device(&force.get().force) * self.share();
        let torque = self.joints.and_then(|joints| sector.statics(&joints, &wanted)).map_or(0.0, |torque| torque[0]);
        let motor = (torque / (sector.ratio() * torque_scale)).clamp(-torque_max_nm, torque_max_nm);
        self.send(&HapkitCommand::torque(motor), out);
    }

    fn give_up(&mut self) {
        self.reader.clear();
    }

    // 7. Homing: what a person has to do, and what happens when it is done.

    fn guide(&self) -> Option<HomingGuide> {
        (!self.homed).then_some(HomingGuide::RestAndConfirm)
    }

    fn confirm_home(&mut self, out: &mut Outbox) {
        self.send(&HapkitCommand::Zero, out);
        // The place is not known until the board has answered; its answer must already say that it has a zero.
        (self.homed, self.joints) = (true, None);
        self.reader.clear();
    }

    // 8. Last words, and what the mechanism says of the place it is in.

    fn silence(&self, out: &mut [u8]) -> usize {
        put(&HapkitCommand::Torque(0).encode(self.sequence), out)
    }

    fn share(&self) -> f64 {
        if self.joints.is_some() { 1.0 } else { 0.0 }
    }

    fn weight(&self) -> HandForce {
        HandForce::zero()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Driver as _, DriverEventKind, DriverState, Host};
    use super::*;
    use crate::device::wire::ByteEnd as _;

    #[test]
    fn a_board_with_the_text_of_earlier_programs_is_told_apart_from_a_dead_one() {
        for (answer, expected) in [
            (&b""[..], DriverEventKind::StartFailed),
            (b"reset\r\n0.0123%-0.5000\r\n", DriverEventKind::ForeignFirmware),
        ] {
            let mut host = Host::new(HapkitFamily::new(HapkitCalibration::default()));
            let (mut bytes, mut asked) = ([0; 64], 0);
            for ms in 1..10_000 {
                host.feed(&[], MonoNs(ms * MS));
                let length = host.next_out(&mut bytes);
                if bytes[..length] == *b"01" {
                    asked += 1;
                    host.feed(answer, MonoNs(ms * MS));
                }
                if host.state() == DriverState::Failed {
                    break;
                }
            }
            let events: Vec<_> = std::iter::from_fn(|| host.next_event()).map(|event| event.kind).collect();
            assert_eq!((asked, events), (1, vec![expected]));
        }
    }
}
