//! The WoodenHaptics family: WoodenHaptics, Polhem and the "vintage" arm, over any of their wires.
//!
//! Thread: device I/O.
//!
//! The counters start at zero where the handle was at power-up, and no mark tells them better. So the operator puts the handle
//! in its rest and says so, or presses the calibration button of the older boards; the counts of that moment become those of
//! the rest pose. Joint angle and current follow from capstan and body drum,
//!
//! ```text
//!  t = ± 2π n/N · d_capstan/d_body        I = ± τ · d_capstan/d_body / k_τ
//! ```

use super::plausible::Plausible;
use super::{Family, Heard, HomingGuide, MS, Progress, Reading, Trim, fitted, put};
use crate::device::kinematics::{
    Arm, Guard, Jacobian, Joints, Kinematics, Mount, PolhemLinkage, dexterity, force_of_torques,
};
use crate::device::wire::Outbox;
use crate::device::wire::arm::{ArmAnswer, ArmCommand, ArmWire};
use crate::device::wire::text::Text;
use crate::device::{HandForce, Links, SafeForce};
use crate::math::{Rot, Vec3};
use crate::shared::MonoNs;
use std::f64::consts::TAU;

/// Time between two calls to a sleeping device, ns.
const WAKE_NS: u64 = 100 * MS;
/// Calls before it is given up.
const WAKES: u32 = 20;
/// Bytes after which a device counts as awake: its first words need not make sense.
const AWAKE_BYTES: usize = 8;
/// Counts a motor cannot exceed between two answers: 7 times the speed of the fastest hand.
const LEAP: u32 = 400;

/// The mechanisms of the family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArmMechanism {
    /// A serial arm.
    Serial(Arm),
    /// The Polhem linkage, with a stylus whose rotation is sensed.
    Polhem(PolhemLinkage),
}

impl Kinematics<3> for ArmMechanism {
    fn forward(&self, joints: &Joints<3>) -> Option<Vec3> {
        match self {
            Self::Serial(arm) => arm.forward(joints),
            Self::Polhem(linkage) => linkage.forward(joints),
        }
    }

    fn inverse(&self, position: &Vec3) -> Option<Joints<3>> {
        match self {
            Self::Serial(arm) => arm.inverse(position),
            Self::Polhem(linkage) => linkage.inverse(position),
        }
    }

    fn jacobian(&self, joints: &Joints<3>) -> Option<Jacobian<3>> {
        match self {
            Self::Serial(arm) => arm.jacobian(joints),
            Self::Polhem(linkage) => linkage.jacobian(joints),
        }
    }

    fn potential(&self, joints: &Joints<3>, links: &Links) -> Option<f64> {
        match self {
            Self::Serial(arm) => arm.potential(joints, links),
            Self::Polhem(linkage) => linkage.potential(joints, links),
        }
    }

    fn weight(&self, joints: &Joints<3>, links: &Links) -> Option<Joints<3>> {
        match self {
            Self::Serial(arm) => arm.weight(joints, links),
            Self::Polhem(linkage) => linkage.weight(joints, links),
        }
    }
}

/// What differs from one arm to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArmCalibration {
    /// Bars and joints.
    pub mechanism: ArmMechanism,
    /// What the bars weigh.
    pub links: Links,
    /// Capstan over body drum, with the sign of the motor's sense.
    pub gear: [f64; 3],
    /// Counts per turn of each encoder, four per line; zero for one that is not there.
    pub counts_per_turn: [f64; 6],
    /// Torque of each motor per current, N·m/A.
    pub torque_per_ampere: [f64; 3],
    /// Largest current, mA.
    pub current_max_ma: f64,
    /// Counts in the rest pose.
    pub rest_counts: [i32; 6],
    /// Middle of the workspace.
    pub mount: Mount,
    /// Where force fades.
    pub guard: Guard,
}

impl ArmCalibration {
    /// WoodenHaptics as published in 2015.
    #[must_use]
    pub fn woodenhaptics() -> Self {
        Self {
            mechanism: ArmMechanism::Serial(Arm { length_m: [0.080, 0.205, 0.245] }),
            links: Links::new([(0.170, 0.051), (0.110, 0.091)]),
            gear: [0.010 / 0.160, -0.010 / 0.120, -0.010 / 0.120],
            counts_per_turn: [2000.0, 2000.0, 2000.0, 0.0, 0.0, 0.0],
            torque_per_ampere: [0.0259; 3],
            current_max_ma: 6000.0,
            rest_counts: [0, 0, -6000, 0, 0, 0],
            ..Self::at(Vec3::new(0.220, 0.0, 0.080))
        }
    }

    /// Polhem, third version. Its masses are published with centres whose frames are not; they are read as ways along each bar
    /// from its driving end, which the bars' lengths bear out. What lies across a bar, below 2 mm, is left out.
    #[must_use]
    pub fn polhem() -> Self {
        Self {
            mechanism: ArmMechanism::Polhem(PolhemLinkage),
            links: Links::new([
                (0.157_64, 0.030_123),
                (0.077_33, -0.004_086),
                (0.097_67, 0.087_765),
                (0.112_65, 0.061_701),
            ]),
            gear: [0.028_853_4 / 0.175, -0.013_698_1 / 0.100, 0.013_728_1 / 0.100],
            counts_per_turn: [4096.0, 4096.0, 4096.0, 1024.0, 1024.0, 1024.0],
            torque_per_ampere: [0.0603, 0.0538, 0.0538],
            current_max_ma: 3000.0,
            rest_counts: [8312, -10366, 19764, 0, 30, 0],
            ..Self::at(Vec3::new(0.2045, 0.0, 0.0325))
        }
    }

    /// The "vintage" arm. It has a wrist; in which order it turns is not published, so its rotation is not used. Its masses are taken
    /// from the first Polhem, a serial arm of nearly its size, with the centres moved by the lengths.
    #[must_use]
    pub fn vintage() -> Self {
        Self {
            mechanism: ArmMechanism::Serial(Arm { length_m: [0.0, 0.138, 0.112] }),
            links: Links::new([(0.080, 0.032), (0.080, 0.059)]),
            gear: [-0.013 / 0.117, 0.010 / 0.077, -0.010 / 0.077],
            counts_per_turn: [4000.0, 4000.0, 4000.0, 2000.0, 2000.0, 2000.0],
            torque_per_ampere: [0.0234; 3],
            current_max_ma: 3000.0,
            rest_counts: [0, 7700, 0, 0, 0, 0],
            ..Self::at(Vec3::new(0.138, 0.0, -0.097))
        }
    }

    /// A base to fill in: everything zero but the place.
    fn at(origin: Vec3) -> Self {
        Self {
            mechanism: ArmMechanism::Polhem(PolhemLinkage),
            links: Links::default(),
            gear: [0.0; 3],
            counts_per_turn: [0.0; 6],
            torque_per_ampere: [0.0; 3],
            current_max_ma: 0.0,
            rest_counts: [0; 6],
            mount: Mount { rotation: Rot::identity(), origin },
            guard: Guard { none_below: 0.05, whole_above: 0.15 },
        }
    }

    /// The same for a unit that differs so.
    #[must_use]
    pub fn trimmed(mut self, trim: &Trim) -> Self {
        for (encoder, angle) in trim.origin_rad.iter().enumerate() {
            // Some hundred counts at most.
            self.rest_counts[encoder] += (angle / TAU * self.counts_per_turn[encoder]).round() as i32;
        }
        self.torque_per_ampere = self.torque_per_ampere.map(|torque| torque * trim.force_scale);
        self
    }

    /// Joint angles at these counts, rad.
    #[must_use]
    pub fn joints(&self, counts: &[i32; 6]) -> Joints<3> {
        Joints::<3>::from_fn(|i, _| TAU * f64::from(counts[i]) / self.counts_per_turn[i] * self.gear[i])
    }

    /// Angles of the wrist at these counts, rad.
    #[must_use]
    pub fn wrist(&self, counts: &[i32; 6]) -> Vec3 {
        Vec3::from_fn(|i, _| {
            let per_turn = self.counts_per_turn[i + 3];
            if per_turn > 0.0 { TAU * f64::from(counts[i + 3]) / per_turn } else { 0.0 }
        })
    }

    /// Currents for these torques on the joints, mA.
    #[must_use]
    pub fn currents_ma(&self, torques: &Joints<3>) -> [f64; 3] {
        [0, 1, 2].map(|i| 1000.0 * torques[i] * self.gear[i] / self.torque_per_ampere[i])
    }

    /// Torques on the joints of these currents, N·m.
    #[must_use]
    pub fn torques(&self, currents_ma: [f64; 3]) -> Joints<3> {
        Joints::<3>::from_fn(|i, _| currents_ma[i] / 1000.0 * self.torque_per_ampere[i] / self.gear[i])
    }

    /// Where the handle rests, in the device's base frame.
    #[must_use]
    pub fn rest(&self) -> Option<Vec3> {
        Some(self.mount.to_device(&self.mechanism.forward(&self.joints(&self.rest_counts))?))
    }
}

/// An arm on a wire.
pub struct ArmFamily<W> {
    calibration: ArmCalibration,
    wire: W,
    woken: Option<MonoNs>,
    wakes: u32,
    heard_bytes: usize,
    raw: [i32; 6],
    /// What is added to the device's counts.
    origin: [i32; 6],
    homed: bool,
    /// Encoders are to be set by the next request, because the calibration button was pressed.
    set_encoders: bool,
    plausible: Plausible<3>,
    joints: Joints<3>,
    jacobian: Option<Jacobian<3>>,
}

impl<W: ArmWire> ArmFamily<W> {
    /// An arm of this calibration.
    #[must_use]
    pub fn new(calibration: ArmCalibration) -> Self {
        Self {
            calibration,
            wire: W::default(),
            woken: None,
            wakes: 0,
            heard_bytes: 0,
            raw: [0; 6],
            origin: calibration.rest_counts,
            homed: false,
            set_encoders: false,
            plausible: Plausible::new(LEAP),
            joints: Joints::zeros(),
            jacobian: None,
        }
    }

    fn read(&mut self, answer: &ArmAnswer) -> Heard {
        let [a, b, c, ..] = answer.encoders;
        if self.homed && !self.plausible.accepts(&[a, b, c]) {
            return Heard::Garbage;
        }
        self.raw = answer.encoders;
        // The calibration button is latched until the counters are set.
        if W::SETS_ENCODERS && answer.info == 1 && !self.homed {
            self.set_encoders = true;
        }
        let mut counts = self.raw;
        for (count, origin) in counts.iter_mut().zip(self.origin) {
            *count = count.saturating_add(origin);
        }
        let calibration = &self.calibration;
        self.joints = calibration.joints(&counts);
        self.jacobian = calibration.mechanism.jacobian(&self.joints);
        let rotation = match &calibration.mechanism {
            ArmMechanism::Polhem(linkage) => linkage.stylus(&self.joints, &calibration.wrist(&counts)),
            ArmMechanism::Serial(_) => Some(Rot::identity()),
        };
        let pose = calibration
            .mechanism
            .forward(&self.joints)
            .zip(rotation)
            .map(|(position, rotation)| calibration.mount.pose(&position, &rotation));
        let error = if W::SETS_ENCODERS { 0 } else { answer.info };
        Heard::Reading(Reading { pose, buttons: u32::from(answer.button), error })
    }

    fn send(&self, command: &ArmCommand, out: &mut Outbox) {
        let mut bytes = Text::default();
        self.wire.encode_command(command, &mut bytes);
        out.push(bytes.as_bytes());
    }
}

impl<W: ArmWire> Family for ArmFamily<W> {
    fn restart(&mut self) {
        *self = Self::new(self.calibration);
    }

    fn start(&mut self, now: MonoNs, out: &mut Outbox) -> Progress {
        if self.heard_bytes >= AWAKE_BYTES {
            return Progress::Done;
        }
        if self.woken.is_some_and(|at| now.since(at) < WAKE_NS) {
            return Progress::Waiting;
        }
        if self.wakes == WAKES {
            self.wakes = 0;
            return Progress::Failed;
        }
        let mut bytes = Text::default();
        self.wire.wake(&mut bytes);
        out.push(bytes.as_bytes());
        (self.woken, self.wakes) = (Some(now), self.wakes + 1);
        Progress::Waiting
    }

    fn receive(&mut self, bytes: &[u8]) -> (usize, Heard) {
        let (used, found) = self.wire.read_answer(bytes);
        self.heard_bytes = self.heard_bytes.saturating_add(used);
        let heard = match found {
            None => Heard::Nothing,
            Some(None) => Heard::Garbage,
            Some(Some(answer)) => self.read(&answer),
        };
        (used, heard)
    }

    fn request(&mut self, force: &SafeForce, out: &mut Outbox) {
        if std::mem::take(&mut self.set_encoders) {
            self.confirm_home(out);
            return;
        }
        let calibration = &self.calibration;
        let torques = self.jacobian.filter(|_| self.homed).map_or_else(Joints::zeros, |jacobian| {
            jacobian.transpose() * calibration.mount.direction_from_device(&force.get().force) * self.share()
        });
        let currents = fitted(calibration.currents_ma(&torques), calibration.current_max_ma);
        self.send(&ArmCommand::currents(currents), out);
    }

    fn give_up(&mut self) {
        self.wire.clear();
    }

    fn guide(&self) -> Option<HomingGuide> {
        let guide = if W::SETS_ENCODERS { HomingGuide::RestAndPressButton } else { HomingGuide::RestAndConfirm };
        (!self.homed).then_some(guide)
    }

    fn confirm_home(&mut self, out: &mut Outbox) {
        let rest = self.calibration.rest_counts;
        self.plausible.clear();
        self.jacobian = None;
        self.homed = true;
        if W::SETS_ENCODERS {
            // Counts of a rest pose fit in the 16 bits of the command: they are those of half a turn or so.
            let counts = rest.map(|count| count.clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as i16);
            self.send(&ArmCommand::set_encoders(counts), out);
            self.origin = [0; 6];
        } else {
            for (index, origin) in self.origin.iter_mut().enumerate() {
                *origin = rest[index].saturating_sub(self.raw[index]);
            }
        }
    }

    fn silence(&self, out: &mut [u8]) -> usize {
        let mut bytes = Text::default();
        self.wire.encode_command(&ArmCommand::default(), &mut bytes);
        put(bytes.as_bytes(), out)
    }

    fn share(&self) -> f64 {
        self.jacobian.map_or(0.0, |jacobian| self.calibration.guard.share(dexterity(&jacobian)))
    }

    fn weight(&self) -> HandForce {
        let Self { calibration, joints, jacobian, .. } = self;
        let torques = calibration.mechanism.weight(joints, &calibration.links);
        let force = torques.zip(*jacobian).and_then(|(torques, jacobian)| force_of_torques(&jacobian, &torques));
        let force = force.unwrap_or_default();
        HandForce { force: calibration.mount.direction_to_device(&force), torque: Vec3::zeros() }
    }
}
