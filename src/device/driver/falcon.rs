//! Novint Falcon: loads its firmware if it has none, homes by its index marks, then one frame each way per tick.
//!
//! Thread: device I/O.
//!
//! ```text
//!  Probe ──answer──► run          Probe ──silence──► Hello ──► Load ──► Image (62 bytes, each echoed) ──► Probe
//!                                Hello ──silence──► Probe
//! ```
//!
//! The firmware belongs to Novint and does not come with hapticd; without an image a Falcon that has lost power cannot be
//! started. The echo of every byte is the only checksum there is, so each is compared.

use super::plausible::Plausible;
use super::{Family, Heard, HomingGuide, MS, Progress, Reading, Trim, fitted, put};
use crate::device::kinematics::{FalconLegs, Guard, Joints, Kinematics, Mount, dexterity, force_of_torques};
use crate::device::wire::falcon::{
    Answer, BOOT_CHUNK, BOOT_HELLO, BOOT_HELLO_ANSWER, BOOT_LOAD, Command, Lamps, MOTOR_MAX, Reader,
};
use crate::device::wire::{LineOrder, Outbox};
use crate::device::{HandForce, Links, SafeForce};
use crate::math::{Mat3, Pose, Rot, Vec3};
use crate::shared::MonoNs;
use std::sync::Arc;

/// Angle of an arm at encoder count zero, rad.
const ANGLE_AT_ZERO: f64 = 35.0 * std::f64::consts::PI / 180.0;
/// Angle of an arm per count, rad: 1280 counts a turn, capstan of 14.25 mm, arm of 110 mm.
const ANGLE_PER_COUNT: f64 = std::f64::consts::TAU * 0.014_25 / (1280.0 * 0.110);
/// Frames sent to find out whether firmware runs, and how long each may take, ns.
const PROBE: (u32, u64) = (10, 10 * MS);
/// Greetings of the boot loader, and how long each may take, ns.
const HELLO: (u32, u64) = (100, 20 * MS);
/// How long a chunk's echo may take, ns: at 143 kbaud 62 bytes take 5 ms.
const ECHO_NS: u64 = 200 * MS;
/// Times the whole start is tried; real devices need several.
const ROUNDS: u32 = 10;
/// Speeds of the line, baud: greeting, loading, running.
const BAUDS: [u32; 3] = [9600, 142_857, 1_500_000];

/// Counts an arm cannot exceed between two answers: 5 times the speed of the fastest hand.
const LEAP: u32 = 200;

/// Answers in a row that must say it is homed: a wrong bit must not bring force.
const HOMED_AFTER: u32 = 3;

/// What differs from one Falcon to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FalconCalibration {
    /// Motor command per torque on an arm, 1/(N·m). The published 10000 was found by trial.
    pub command_per_torque: f64,
    /// Counts added to each encoder.
    pub encoder_origin: [i32; 3],
    /// Middle of the workspace and axes.
    pub mount: Mount,
    /// Where force fades.
    pub guard: Guard,
    /// What plate, an arm and the bars of a leg weigh. Not published: an estimate on the low side, so that the handle sinks
    /// rather than rises by itself.
    pub links: Links,
}

impl Default for FalconCalibration {
    fn default() -> Self {
        // Out of the device is towards the operator, the device's x is the operator's right, its y is up.
        let axes = Mat3::new(0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0);
        let mount = Mount { rotation: Rot::from_matrix(&axes), origin: Vec3::new(0.0, 0.0, 0.125) };
        let guard = Guard { none_below: 0.05, whole_above: 0.15 };
        let links = Links::new([(0.06, 0.0), (0.02, 0.03), (0.01, 0.0)]);
        Self { command_per_torque: 10_000.0, encoder_origin: [0; 3], mount, guard, links }
    }
}

impl FalconCalibration {
    /// The same for a unit that differs so.
    #[must_use]
    pub fn trimmed(mut self, trim: &Trim) -> Self {
        for (count, angle) in self.encoder_origin.iter_mut().zip(trim.origin_rad) {
            // Some hundred counts at most.
            *count += (angle / ANGLE_PER_COUNT).round() as i32;
        }
        self.command_per_torque /= trim.force_scale;
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Probe,
    Hello,
    Load,
    /// Bytes sent and bytes echoed.
    Image(usize, usize),
    Run,
}

/// A Falcon. Made before the first tick.
pub struct FalconFamily {
    calibration: FalconCalibration,
    firmware: Option<Arc<[u8]>>,
    stage: Stage,
    /// The greeting of the boot loader: bytes matched so far.
    matched: usize,
    asked: Option<MonoNs>,
    answered: bool,
    broken: bool,
    tries: u32,
    rounds: u32,
    reader: Reader,
    position: Vec3,
    joints: Joints<3>,
    /// `∂x/∂θ` at the last answer, while the place is known.
    jacobian: Option<Mat3>,
    homed: bool,
    /// Answers in a row that said so.
    homed_answers: u32,
    plausible: Plausible<3>,
}

impl FalconFamily {
    /// A Falcon; `firmware` is the user's own copy of Novint's image, if there is one.
    #[must_use]
    pub fn new(calibration: FalconCalibration, firmware: Option<Arc<[u8]>>) -> Self {
        Self {
            calibration,
            firmware,
            stage: Stage::Probe,
            matched: 0,
            asked: None,
            answered: false,
            broken: false,
            tries: 0,
            rounds: 0,
            reader: Reader::default(),
            position: calibration.mount.origin,
            joints: Joints::zeros(),
            jacobian: None,
            homed: false,
            homed_answers: 0,
            plausible: Plausible::new(LEAP),
        }
    }

    fn go(&mut self, stage: Stage) {
        self.stage = stage;
        (self.asked, self.answered, self.broken, self.tries, self.matched) = (None, false, false, 0, 0);
        self.reader.clear();
    }

    fn image(&self) -> &[u8] {
        self.firmware.as_deref().unwrap_or_default()
    }

    /// The next stage after an answer.
    fn advance(&mut self) {
        match self.stage {
            Stage::Probe | Stage::Run => self.go(Stage::Run),
            Stage::Hello => self.go(Stage::Load),
            Stage::Load => self.go(Stage::Image(0, 0)),
            Stage::Image(sent, _) if sent >= self.image().len() => self.go(Stage::Probe),
            Stage::Image(..) => (self.asked, self.answered) = (None, false),
        }
    }

    /// What follows when no answer came: another try, or another round.
    fn retry(&mut self) -> Progress {
        self.tries += 1;
        self.asked = None;
        let most = match self.stage {
            Stage::Probe => PROBE.0,
            Stage::Hello => HELLO.0,
            _ => 1,
        };
        if self.tries < most && !self.broken {
            return Progress::Waiting;
        }
        self.rounds += 1;
        if self.rounds > ROUNDS || self.firmware.is_none() {
            self.rounds = 0;
            return Progress::Failed;
        }
        // A device that does not greet may have got its image after all, its last echo lost.
        self.go(if self.stage == Stage::Hello { Stage::Probe } else { Stage::Hello });
        Progress::Waiting
    }

    /// Says what this stage says.
    fn ask(&mut self, out: &mut Outbox) {
        let first = self.tries == 0;
        match self.stage {
            Stage::Probe | Stage::Run => {
                if first {
                    order(out, &[LineOrder::LatencyMs(1), LineOrder::Baud(BAUDS[2]), LineOrder::Purge]);
                }
                out.push(&Command::default().encode());
            }
            Stage::Hello => {
                if first {
                    order(out, &[LineOrder::Purge, LineOrder::LatencyMs(16), LineOrder::Baud(BAUDS[0])]);
                    order(out, &[LineOrder::Rts(false), LineOrder::Dtr(false), LineOrder::Dtr(true)]);
                }
                out.push(&BOOT_HELLO);
            }
            Stage::Load => {
                order(out, &[LineOrder::Dtr(false), LineOrder::Baud(BAUDS[1])]);
                out.push(&[BOOT_LOAD]);
            }
            Stage::Image(sent, echoed) => {
                let end = (sent + BOOT_CHUNK).min(self.image().len());
                out.push(self.image().get(sent..end).unwrap_or_default());
                self.stage = Stage::Image(end, echoed);
            }
        }
    }

    fn boot_byte(&mut self, byte: u8) {
        match self.stage {
            Stage::Hello => {
                let expected = BOOT_HELLO_ANSWER.get(self.matched) == Some(&byte);
                self.matched = if expected { self.matched + 1 } else { usize::from(byte == BOOT_HELLO_ANSWER[0]) };
                self.answered |= self.matched == BOOT_HELLO_ANSWER.len();
            }
            Stage::Load => self.answered |= byte == BOOT_LOAD,
            Stage::Image(sent, echoed) => {
                self.broken |= echoed >= sent || self.image().get(echoed) != Some(&byte);
                self.stage = Stage::Image(sent, echoed + 1);
                self.answered |= echoed + 1 == sent && !self.broken;
            }
            Stage::Probe | Stage::Run => {}
        }
    }

    fn read(&mut self, answer: &Answer) -> Heard {
        // Until it is homed the counts start anywhere and leap at the marks; until then a place means nothing.
        let says_homed = answer.homed.iter().all(|&homed| homed);
        self.homed_answers = if says_homed { self.homed_answers.saturating_add(1) } else { 0 };
        let homed = self.homed_answers >= HOMED_AFTER;
        if homed != self.homed {
            self.plausible.clear();
        }
        if homed && !self.plausible.accepts(&answer.encoders.map(i32::from)) {
            return Heard::Garbage;
        }
        self.homed = homed;
        let joints = Joints::<3>::from_fn(|leg, _| {
            let count = i32::from(answer.encoders[leg]).saturating_add(self.calibration.encoder_origin[leg]);
            ANGLE_AT_ZERO + ANGLE_PER_COUNT * f64::from(count)
        });
        let found = FalconLegs.forward_from(&joints, &self.position).or_else(|| FalconLegs.forward(&joints));
        let rates = found.and_then(|position| FalconLegs.rates(&position));
        self.jacobian = rates.and_then(|rates| rates.try_inverse());
        self.joints = joints;
        if let Some(position) = found {
            self.position = position;
        }
        let pose = found.map(|at| Pose::from_parts(self.calibration.mount.to_device(&at).into(), Rot::identity()));
        Heard::Reading(Reading { pose, buttons: u32::from(answer.buttons), error: 0 })
    }

    fn lamps(&self) -> Lamps {
        Lamps { green: self.homed, red: !self.homed, blue: false }
    }

    fn motors(&self, force: &HandForce) -> [f64; 3] {
        let Some(jacobian) = self.jacobian else { return [0.0; 3] };
        let calibration = &self.calibration;
        let wanted = calibration.mount.direction_from_device(&force.force) * self.share();
        let torque = jacobian.transpose() * wanted;
        fitted([0, 1, 2].map(|leg| -calibration.command_per_torque * torque[leg]), f64::from(MOTOR_MAX))
    }
}

fn order(out: &mut Outbox, orders: &[LineOrder]) {
    for order in orders {
        out.order(*order);
    }
}

impl Family for FalconFamily {
    fn restart(&mut self) {
        self.go(Stage::Probe);
        (self.jacobian, self.homed, self.homed_answers, self.rounds) = (None, false, 0, 0);
        self.plausible.clear();
        self.position = self.calibration.mount.origin;
    }

    fn start(&mut self, now: MonoNs, out: &mut Outbox) -> Progress {
        if self.answered {
            self.advance();
            if self.stage == Stage::Run {
                return Progress::Done;
            }
        }
        if let Some(asked) = self.asked {
            let patience = match self.stage {
                Stage::Probe | Stage::Run => PROBE.1,
                Stage::Hello => HELLO.1,
                Stage::Load | Stage::Image(..) => ECHO_NS,
            };
            if now.since(asked) < patience && !self.broken {
                return Progress::Waiting;
            }
            let progress = self.retry();
            if progress == Progress::Failed {
                return progress;
            }
        }
        self.ask(out);
        self.asked = Some(now);
        Progress::Waiting
    }

    fn receive(&mut self, bytes: &[u8]) -> (usize, Heard) {
        let Some(&byte) = bytes.first() else { return (0, Heard::Nothing) };
        if !matches!(self.stage, Stage::Probe | Stage::Run) {
            self.boot_byte(byte);
            return (1, Heard::Nothing);
        }
        for (at, &byte) in bytes.iter().enumerate() {
            if let Some(raw) = self.reader.push(byte) {
                self.answered = true;
                return (at + 1, self.read(&Answer::of(&raw)));
            }
        }
        (bytes.len(), Heard::Nothing)
    }

    fn request(&mut self, force: &SafeForce, out: &mut Outbox) {
        out.push(&Command::new(self.motors(force.get()), !self.homed, self.lamps()).encode());
    }

    fn give_up(&mut self) {
        self.reader.clear();
    }

    fn guide(&self) -> Option<HomingGuide> {
        (!self.homed).then_some(HomingGuide::PullOutThenPushIn)
    }

    fn confirm_home(&mut self, _out: &mut Outbox) {}

    fn silence(&self, out: &mut [u8]) -> usize {
        put(&Command::new([0.0; 3], !self.homed, self.lamps()).encode(), out)
    }

    fn share(&self) -> f64 {
        self.jacobian.map_or(0.0, |jacobian| self.calibration.guard.share(dexterity(&jacobian)))
    }

    fn weight(&self) -> HandForce {
        let Some(jacobian) = self.jacobian.filter(|_| self.homed) else { return HandForce::zero() };
        let torques = FalconLegs.weight_at(&self.joints, &jacobian, &self.calibration.links);
        let force = force_of_torques(&jacobian, &torques).unwrap_or_default();
        HandForce { force: self.calibration.mount.direction_to_device(&force), torque: Vec3::zeros() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Falcon that has said, often enough to be believed, that it is homed with these counts.
    fn at(encoders: [i16; 3]) -> (FalconFamily, Pose) {
        let mut family = FalconFamily::new(FalconCalibration::default(), None);
        let bytes = Answer { encoders, buttons: 0, homed: [true; 3] }.encode();
        let mut pose = None;
        for _ in 0..HOMED_AFTER {
            let (used, heard) = family.receive(&bytes);
            assert_eq!(used, bytes.len());
            pose = if let Heard::Reading(reading) = heard { reading.pose } else { None };
        }
        (family, pose.expect("in reach"))
    }

    #[test]
    fn counts_are_the_published_angles_and_places() {
        assert!((ANGLE_PER_COUNT.to_degrees() - 0.036_434_659).abs() < 1e-9);
        // Counts are whole: a place is met within half a count of each arm, some 30 µm.
        let golden =
            [([-516; 3], [0.0, 0.0, 0.110]), ([-96; 3], [0.0, 0.0, 0.130]), ([16, -645, -128], [0.02, -0.01, 0.12])];
        for (encoders, place) in golden {
            let (family, pose) = at(encoders);
            let origin = family.calibration.mount.to_device(&Vec3::from(place));
            assert!((pose.translation.vector - origin).norm() < 4e-5, "{encoders:?}: {pose}");
        }
        // One count of all three is the published step along the axis.
        let step = at([-516; 3]).1.translation.x - at([-517; 3]).1.translation.x;
        assert!((step - 46e-6).abs() < 0.5e-6, "{step}");
    }

    fn hear(family: &mut FalconFamily, bytes: &[u8]) {
        for &byte in bytes {
            let _ = family.receive(&[byte]);
        }
    }

    /// What is said next: orders to the line, then a message.
    fn said(family: &mut FalconFamily, now: MonoNs) -> (Vec<LineOrder>, Vec<u8>) {
        let (mut out, mut bytes) = (Outbox::default(), [0; 64]);
        assert_eq!(family.start(now, &mut out), Progress::Waiting);
        let orders = std::iter::from_fn(|| out.pop_order()).collect();
        let length = out.pop(&mut bytes);
        (orders, bytes[..length].to_vec())
    }

    #[test]
    fn a_device_without_firmware_is_started_with_the_published_dialogue() {
        use LineOrder::{Baud, Dtr, LatencyMs, Purge, Rts};
        let image: Vec<u8> = (0..70).collect();
        let mut family = FalconFamily::new(FalconCalibration::default(), Some(Arc::from(image.as_slice())));
        // Nothing runs: ten frames are not answered.
        let mut now = MonoNs(0);
        for _ in 0..PROBE.0 {
            now = now.plus(PROBE.1);
            assert_eq!(said(&mut family, now).1, b"<AAAAAAAAAAAAAA>");
        }
        now = now.plus(PROBE.1);
        let hello = (vec![Purge, LatencyMs(16), Baud(9600), Rts(false), Dtr(false), Dtr(true)], vec![0x0A, 0x43, 0x0D]);
        assert_eq!(said(&mut family, now), hello);
        // Some say a zero first.
        hear(&mut family, &[0x00, 0x0A, 0x44, 0x2C, 0x0D]);
        assert_eq!(said(&mut family, now), (vec![Dtr(false), Baud(142_857)], vec![0x41]));
        hear(&mut family, &[0x41]);
        for chunk in [&image[..62], &image[62..]] {
            assert_eq!(said(&mut family, now), (vec![], chunk.to_vec()));
            hear(&mut family, chunk);
        }
        assert_eq!(said(&mut family, now).0, [LatencyMs(1), Baud(1_500_000), Purge]);
    }

    #[test]
    fn a_newton_outwards_is_the_published_command() {
        let (family, _) = at([-516; 3]);
        let force = HandForce { force: Vec3::x(), torque: Vec3::zeros() };
        for command in family.motors(&force) {
            assert!((command + 241.8).abs() < 0.2, "{command}");
        }
        let huge = family.motors(&HandForce { force: Vec3::new(40.0, 3.0, 0.0), ..force });
        assert!(
            huge.iter().all(|command| command.abs() <= 4095.0) && huge.iter().any(|c| c.abs() > 4094.0),
            "{huge:?}"
        );
    }
}
