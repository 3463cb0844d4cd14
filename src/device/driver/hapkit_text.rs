//! Hapkit with the firmware of earlier programs, which speaks text: an input. It tells where the handle is, some 60 times a second.
//!
//! Thread: device I/O.
//!
//! The text has a word for a force, and hapticd does not say it. The board takes silence for the end of a word, so that two that come
//! within 16 ms are one; it has no watchdog; and no word ends a force for certain, because the one before it may swallow it. A force
//! could not be ended within the time that a person in a hurry, or the guardian, has for it. What is said is only: motor and walls
//! off, here is zero; and: where are you.

use super::plausible::Plausible;
use super::{Family, HapkitCalibration, Heard, HomingGuide, MS, Progress, Reading, Timing};
use crate::device::kinematics::{Joints, Kinematics, Sector};
use crate::device::wire::Outbox;
use crate::device::wire::hapkit_text::{TextAnswer, TextCommand, TextReader};
use crate::device::{HandForce, SafeForce};
use crate::math::{Pose, Rot};
use crate::shared::MonoNs;

/// Time between two tries to start it, ns, longer than the slowest board waits for the end of a word; and how many there are. It
/// blinks for a second when its port is opened.
const START: (u64, u32) = (1500 * MS, 8);
/// Within this time it must tell its place once it has started, ns.
const PROMPT_NS: u64 = 100 * MS;
/// Micrometres that the handle cannot exceed between two answers: 2 m/s.
const LEAP_UM: u32 = 40_000;
/// A place farther away than this is none, m.
const FAR_M: f64 = 1.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Told to reset, so often; not heard yet.
    Resetting(u32),
    /// Has reset; asked where it is, or about to be.
    Asking,
    /// Has told its place.
    Running,
}

/// A Hapkit that speaks text.
pub struct HapkitTextFamily {
    calibration: HapkitCalibration,
    reader: TextReader,
    stage: Stage,
    asked: Option<MonoNs>,
    homed: bool,
    /// The handle rests: the next thing to be said is that here is zero.
    zeroing: bool,
    plausible: Plausible<1>,
}

impl HapkitTextFamily {
    /// A Hapkit of this calibration; its sector is [`Sector::HAPKIT_TEXT`] by design.
    #[must_use]
    pub fn new(calibration: HapkitCalibration) -> Self {
        Self {
            calibration,
            reader: TextReader::default(),
            stage: Stage::Resetting(0),
            asked: None,
            homed: false,
            zeroing: false,
            plausible: Plausible::new(LEAP_UM),
        }
    }

    /// By design.
    #[must_use]
    pub fn design() -> HapkitCalibration {
        HapkitCalibration { sector: Sector::HAPKIT_TEXT, ..HapkitCalibration::default() }
    }

    fn read(&mut self, answer: TextAnswer) -> Heard {
        match answer {
            TextAnswer::Place([place_m, _]) if place_m.abs() < FAR_M => {
                // Bounded above: fits.
                if !self.plausible.accepts(&[(place_m * 1e6) as i32]) {
                    return Heard::Garbage;
                }
                let HapkitCalibration { sector, rest_rad, mount, .. } = &self.calibration;
                let position = sector.forward(&Joints::<1>::new(place_m / sector.handle_m + rest_rad));
                let pose = position.map(|at| Pose::from_parts(mount.to_device(&at).into(), Rot::identity()));
                Heard::Reading(Reading { pose, buttons: 0, error: 0 })
            }
            TextAnswer::Place(_) => Heard::Garbage,
            TextAnswer::Reset => {
                self.plausible.clear();
                self.homed |= std::mem::take(&mut self.zeroing);
                Heard::Done
            }
            // It has lost power, and its zero.
            TextAnswer::Booted => {
                self.plausible.clear();
                self.homed = false;
                Heard::Done
            }
            TextAnswer::Done => Heard::Done,
        }
    }
}

impl Family for HapkitTextFamily {
    const TIMING: Timing = Timing { answer_ns: 40 * MS, silent_ns: 100 * MS, ..Timing::USB };
    const SELDOM: bool = true;

    fn restart(&mut self) {
        *self = Self::new(self.calibration);
    }

    fn start(&mut self, now: MonoNs, out: &mut Outbox) -> Progress {
        let waited = self.asked.map_or(u64::MAX, |at| now.since(at));
        match self.stage {
            Stage::Running => return Progress::Done,
            Stage::Resetting(tries) if waited >= START.0 => {
                if tries == START.1 {
                    self.stage = Stage::Resetting(0);
                    return Progress::Failed;
                }
                out.push(TextCommand::Reset.encode().as_bytes());
                (self.stage, self.asked) = (Stage::Resetting(tries + 1), Some(now));
            }
            Stage::Asking if self.asked.is_none() => {
                out.push(TextCommand::Where.encode().as_bytes());
                self.asked = Some(now);
            }
            Stage::Asking if waited >= PROMPT_NS => {
                (self.stage, self.asked) = (Stage::Resetting(0), None);
                return Progress::Slow;
            }
            Stage::Resetting(_) | Stage::Asking => {}
        }
        Progress::Waiting
    }

    fn receive(&mut self, bytes: &[u8]) -> (usize, Heard) {
        for (at, &byte) in bytes.iter().enumerate() {
            let Some(line) = self.reader.push(byte) else { continue };
            let Some(answer) = line else { return (at + 1, Heard::Garbage) };
            match (self.stage, answer) {
                (Stage::Resetting(_), TextAnswer::Reset) => (self.stage, self.asked) = (Stage::Asking, None),
                (Stage::Asking, TextAnswer::Place(_)) => self.stage = Stage::Running,
                _ => {}
            }
            return (at + 1, self.read(answer));
        }
        (bytes.len(), Heard::Nothing)
    }

    fn request(&mut self, _force: &SafeForce, out: &mut Outbox) {
        let command = if self.zeroing { TextCommand::Reset } else { TextCommand::Where };
        out.push(command.encode().as_bytes());
    }

    fn give_up(&mut self) {
        self.reader.clear();
    }

    fn guide(&self) -> Option<HomingGuide> {
        (!self.homed).then_some(HomingGuide::RestAndConfirm)
    }

    /// Said in the place of the next question: two words at once would be one.
    fn confirm_home(&mut self, _out: &mut Outbox) {
        self.zeroing = true;
    }

    /// It was put to zero force when it was started, and told none since.
    fn silence(&self, _out: &mut [u8]) -> usize {
        0
    }

    fn share(&self) -> f64 {
        1.0
    }

    fn weight(&self) -> HandForce {
        HandForce::zero()
    }
}
