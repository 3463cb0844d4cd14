//! Haply Inverse3 through its maker's service, which does the mechanics and the gravity: places and forces, no joints.
//!
//! Thread: device I/O.
//!
//! The device knows where it is, so there is nothing to home, unless the service says that it is not calibrated. The service
//! tells its devices when a session begins; the name of the first Inverse3 is what every force is addressed to. A text without
//! that device is no answer: a device that was unplugged from its service falls silent here like any other.

use super::plausible::Plausible;
use super::{Family, Heard, HomingGuide, MS, Progress, Reading, Trim, put};
use crate::device::kinematics::{Cartesian, Mount};
use crate::device::wire::inverse3::{Inverse3Reader, Inverse3State, QUESTION, force_message};
use crate::device::wire::{Outbox, text::Text};
use crate::device::{HandForce, SafeForce};
use crate::math::{Mat3, Pose, Rot, Vec3};
use crate::shared::MonoNs;

/// Time in which the service must name its devices, ns, and how often it is asked to.
const START: (u64, u32) = (50 * MS, 20);
/// Micrometres that the handle cannot exceed between two answers: 20 m/s.
const LEAP_UM: u32 = 20_000;
/// A place farther away than this is none, m.
const FAR_M: f64 = 2.0;
/// Over the last of its reach force fades, m.
const FADE_M: f64 = 0.02;

/// What differs from one device to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inverse3Calibration {
    /// Middle of the workspace and axes.
    pub mount: Mount,
    /// How far the handle goes from there, m.
    pub reach_m: f64,
    /// Force it gives over the force it is told to.
    pub force_scale: f64,
}

impl Default for Inverse3Calibration {
    fn default() -> Self {
        // The service's x is to the operator's right and its y away from the operator; the handle is in front of the plate.
        let axes = Mat3::new(0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0);
        let mount = Mount { rotation: Rot::from_matrix(&axes), origin: Vec3::new(0.0, -0.13, 0.18) };
        Self { mount, reach_m: 0.15, force_scale: 1.0 }
    }
}

impl Inverse3Calibration {
    /// The same for a unit that differs so. Its encoders are the service's affair.
    #[must_use]
    pub fn trimmed(mut self, trim: &Trim) -> Self {
        self.force_scale *= trim.force_scale;
        self
    }

    /// Where the handle can go, in the service's frame.
    #[must_use]
    pub fn workspace(&self) -> Cartesian {
        Cartesian { centre: self.mount.origin, reach_m: self.reach_m }
    }
}

/// An Inverse3 behind a service.
pub struct Inverse3Family {
    calibration: Inverse3Calibration,
    reader: Inverse3Reader,
    /// Name of the device, once it is known.
    name: Text<32>,
    asked: Option<MonoNs>,
    tries: u32,
    /// The service says that the device does not know where it is.
    astray: bool,
    plausible: Plausible<3>,
    /// How far the handle is from the middle, m; once it is known.
    distance_m: Option<f64>,
}

impl Inverse3Family {
    /// A device of this calibration.
    #[must_use]
    pub fn new(calibration: Inverse3Calibration) -> Self {
        Self {
            calibration,
            reader: Inverse3Reader::default(),
            name: Text::default(),
            asked: None,
            tries: 0,
            astray: false,
            plausible: Plausible::new(LEAP_UM),
            distance_m: None,
        }
    }

    fn message(&self, force: &Vec3) -> Option<Text<256>> {
        force_message(self.name.as_bytes(), force)
    }

    fn read(&mut self, state: &Inverse3State) -> Heard {
        let name = state.device_id();
        if self.name.as_bytes().is_empty() && force_message(name, &Vec3::zeros()).is_some() {
            name.iter().for_each(|&byte| {
                self.name.push(byte);
            });
        }
        let Some(place) = state.position_m.filter(|place| name == self.name.as_bytes() && place.norm() < FAR_M) else {
            return Heard::Garbage;
        };
        // Bounded above: fits.
        let micrometres = [0, 1, 2].map(|axis| (place[axis] * 1e6) as i32);
        if !self.plausible.accepts(&micrometres) {
            return Heard::Garbage;
        }
        self.astray = state.calibrated.map_or(self.astray, |calibrated| !calibrated);
        let at = self.calibration.mount.to_device(&place);
        self.distance_m = Some(at.norm());
        let pose = Some(Pose::from_parts(at.into(), Rot::identity()));
        Heard::Reading(Reading { pose, buttons: state.buttons, error: 0 })
    }
}

impl Family for Inverse3Family {
    fn restart(&mut self) {
        *self = Self::new(self.calibration);
    }

    fn start(&mut self, now: MonoNs, out: &mut Outbox) -> Progress {
        if !self.name.as_bytes().is_empty() {
            return Progress::Done;
        }
        let Some(asked) = self.asked else {
            // It speaks first.
            self.asked = Some(now);
            return Progress::Waiting;
        };
        if now.since(asked) < START.0 {
            return Progress::Waiting;
        }
        if self.tries == START.1 {
            (self.asked, self.tries) = (None, 0);
            return Progress::Failed;
        }
        out.push(QUESTION);
        (self.asked, self.tries) = (Some(now), self.tries + 1);
        Progress::Waiting
    }

    fn receive(&mut self, bytes: &[u8]) -> (usize, Heard) {
        for (at, &byte) in bytes.iter().enumerate() {
            match self.reader.push(byte) {
                None => {}
                Some(None) => return (at + 1, Heard::Garbage),
                Some(Some(state)) => return (at + 1, self.read(&state)),
            }
        }
        (bytes.len(), Heard::Nothing)
    }

    fn request(&mut self, force: &SafeForce, out: &mut Outbox) {
        let wanted = self.calibration.mount.direction_from_device(&force.get().force) * self.share();
        let wanted = wanted / self.calibration.force_scale;
        match self.message(&wanted) {
            Some(message) => out.push(message.as_bytes()),
            None => out.push(QUESTION),
        };
    }

    /// The rest of a late text may still come; each has its end.
    fn give_up(&mut self) {}

    fn guide(&self) -> Option<HomingGuide> {
        self.astray.then_some(HomingGuide::RestAndConfirm)
    }

    /// The operator has seen to it that the service calibrates the device, which it need not tell again.
    fn confirm_home(&mut self, _out: &mut Outbox) {
        self.astray = false;
        self.plausible.clear();
    }

    /// Before its name is known the device has been told no force, and a question is as good.
    fn silence(&self, out: &mut [u8]) -> usize {
        match self.message(&Vec3::zeros()) {
            Some(message) => put(message.as_bytes(), out),
            None => put(QUESTION, out),
        }
    }

    /// The service does the mechanics; only the edge of where the handle can go is known here.
    fn share(&self) -> f64 {
        self.distance_m.map_or(0.0, |distance| ((self.calibration.reach_m - distance) / FADE_M).clamp(0.0, 1.0))
    }

    fn weight(&self) -> HandForce {
        HandForce::zero()
    }
}
