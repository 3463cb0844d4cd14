//! Haply boards with a pantograph: two motors, a handle in a plane.
//!
//! Thread: device I/O.
//!
//! The encoders count from where the arms are when the board is set up, so the operator folds them flat and confirms. The maker's
//! library scales its Jacobian by a length that is not the arm's and gives twice the force asked for; here torques follow from
//! virtual work. The firmware has no watchdog: a transport must send the silence bytes when it stops.

use super::plausible::Plausible;
use super::{Family, Heard, HomingGuide, MS, Progress, Reading, Trim, fitted, put};
use crate::device::kinematics::{Guard, Jacobian, Joints, Kinematics, Mount, Pantograph, dexterity};
use crate::device::wire::Outbox;
use crate::device::wire::haply::{HaplyAnswer, HaplyCommand, HaplyReader, HaplySetup};
use crate::device::{HandForce, SafeForce};
use crate::math::{Mat3, Pose, Rot, Vec3};
use crate::shared::MonoNs;

/// Time a first answer may take, ns, and how often it is asked for.
const START: (u64, u32) = (50 * MS, 20);
/// Thousandths of a degree an arm cannot exceed between two answers: 4 times the speed of the fastest hand.
const LEAP_MDEG: u32 = 10_000;

/// What differs from one pantograph to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HaplyCalibration {
    /// Lengths.
    pub pantograph: Pantograph,
    /// Number of the board.
    pub board: u8,
    /// What hangs on it, and its angles in the rest pose.
    pub setup: HaplySetup,
    /// Largest torque of a motor, N·m.
    pub torque_max_nm: f64,
    /// Torque it gives over the torque it is told to.
    pub torque_scale: f64,
    /// Middle of the workspace and axes.
    pub mount: Mount,
    /// Where force fades.
    pub guard: Guard,
}

impl Default for HaplyCalibration {
    fn default() -> Self {
        // The pantograph's y is towards the operator, its x to the operator's left.
        let axes = Mat3::new(0.0, 1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0);
        Self {
            pantograph: Pantograph::HAPLY,
            board: 5,
            setup: HaplySetup::PANTOGRAPH,
            torque_max_nm: 0.123,
            torque_scale: 1.0,
            mount: Mount { rotation: Rot::from_matrix(&axes), origin: Vec3::new(0.01, 0.075, 0.0) },
            // 0.6 at the edge of the workspace; 0.35 is a millimetre short of full stretch, where a place that is a tick old makes a
            // multiple of the force.
            guard: Guard { none_below: 0.35, whole_above: 0.55 },
        }
    }
}

impl HaplyCalibration {
    /// The same for a unit that differs so.
    #[must_use]
    pub fn trimmed(mut self, trim: &Trim) -> Self {
        for (offset, angle) in self.setup.offset_deg.iter_mut().zip(trim.origin_rad) {
            // The board computes in 32 bits.
            *offset += angle.to_degrees() as f32;
        }
        self.torque_scale *= trim.force_scale;
        self
    }

    /// Where the handle rests, in the device's base frame.
    #[must_use]
    pub fn rest(&self) -> Option<Vec3> {
        let joints = angles(&HaplyAnswer { angles_deg: self.setup.offset_deg });
        Some(self.mount.to_device(&self.pantograph.forward(&joints)?))
    }
}

fn angles(answer: &HaplyAnswer) -> Joints<2> {
    Joints::<2>::from_fn(|arm, _| f64::from(answer.angles_deg[arm]).to_radians())
}

/// A pantograph on a board.
pub struct HaplyFamily {
    calibration: HaplyCalibration,
    reader: HaplyReader,
    asked: Option<MonoNs>,
    tries: u32,
    answered: bool,
    homed: bool,
    plausible: Plausible<2>,
    jacobian: Option<Jacobian<2>>,
}

impl HaplyFamily {
    /// A pantograph of this calibration.
    #[must_use]
    pub fn new(calibration: HaplyCalibration) -> Self {
        Self {
            calibration,
            reader: HaplyReader::new(calibration.board),
            asked: None,
            tries: 0,
            answered: false,
            homed: false,
            plausible: Plausible::new(LEAP_MDEG),
            jacobian: None,
        }
    }

    fn send(&self, command: &HaplyCommand, out: &mut Outbox) {
        out.push(command.encode(self.calibration.board).as_bytes());
    }

    fn read(&mut self, answer: &HaplyAnswer) -> Heard {
        // Bounded by the reader to two turns.
        let millidegrees = answer.angles_deg.map(|angle| (angle * 1000.0) as i32);
        if !self.plausible.accepts(&millidegrees) {
            return Heard::Garbage;
        }
        let HaplyCalibration { pantograph, mount, .. } = &self.calibration;
        let joints = angles(answer);
        self.jacobian = pantograph.jacobian(&joints);
        let at = pantograph.forward(&joints);
        let pose = at.map(|at| Pose::from_parts(mount.to_device(&at).into(), Rot::identity()));
        Heard::Reading(Reading { pose, buttons: 0, error: 0 })
    }
}

impl Family for HaplyFamily {
    fn restart(&mut self) {
        *self = Self::new(self.calibration);
    }

    fn start(&mut self, now: MonoNs, out: &mut Outbox) -> Progress {
        if self.answered {
            return Progress::Done;
        }
        if self.asked.is_some_and(|at| now.since(at) < START.0) {
            return Progress::Waiting;
        }
        if self.tries == START.1 {
            self.tries = 0;
            return Progress::Failed;
        }
        if self.tries % 2 == 1 {
            // A board that has heard a part of a command is out of step by one byte: every command has an even number.
            out.push(&[0]);
        }
        self.send(&HaplyCommand::Reset, out);
        self.send(&HaplyCommand::Setup(self.calibration.setup), out);
        self.request(&SafeForce::zero(), out);
        (self.asked, self.tries) = (Some(now), self.tries + 1);
        Progress::Waiting
    }

    fn receive(&mut self, bytes: &[u8]) -> (usize, Heard) {
        for (at, &byte) in bytes.iter().enumerate() {
            match self.reader.push(byte) {
                None => {}
                Some(None) => return (at + 1, Heard::Garbage),
                Some(Some(answer)) => {
                    self.answered = true;
                    return (at + 1, self.read(&answer));
                }
            }
        }
        (bytes.len(), Heard::Nothing)
    }

    fn request(&mut self, force: &SafeForce, out: &mut Outbox) {
        self.reader.expect();
        let calibration = &self.calibration;
        let wanted = calibration.mount.direction_from_device(&force.get().force) * self.share();
        let torques = self.jacobian.map_or_else(Joints::zeros, |jacobian| jacobian.transpose() * wanted);
        let told = [torques[0], torques[1]].map(|torque| torque / calibration.torque_scale);
        let fitted = fitted(told, calibration.torque_max_nm);
        // Bounded by the motors: fits a 32-bit float.
        self.send(&HaplyCommand::Torques(fitted.map(|torque| torque as f32)), out);
    }

    fn give_up(&mut self) {}

    fn guide(&self) -> Option<HomingGuide> {
        (!self.homed).then_some(HomingGuide::RestAndConfirm)
    }

    fn confirm_home(&mut self, out: &mut Outbox) {
        self.send(&HaplyCommand::Setup(self.calibration.setup), out);
        self.plausible.clear();
        self.jacobian = None;
        self.homed = true;
    }

    fn silence(&self, out: &mut [u8]) -> usize {
        put(HaplyCommand::last_words(self.calibration.board).as_bytes(), out)
    }

    fn share(&self) -> f64 {
        self.jacobian.map_or(0.0, |jacobian| self.calibration.guard.share(dexterity(&jacobian)))
    }

    fn weight(&self) -> HandForce {
        HandForce::zero()
    }
}
