//! A driver made to be copied: a device that does not exist, whole, in one file.
//!
//! ```text
//! cargo run --example sample_driver
//! ```
//!
//! Starts and homes the emulated device in virtual time, asks for forces, and prints what the hand at the handle gets. The
//! device is an arm of two links in a plane, on a line with frames of a few bytes. Its four parts stand in the order in which
//! they are best written; in hapticd each is a file of its own (docs/writing-a-driver.md). `tests/sample_driver.rs` has the
//! trials that a driver must pass.

use hapticd::device::driver::{Driver, DriverState, Family, Heard, HomingGuide, Host, Progress, Reading};
use hapticd::device::emulator::{Emulator, Firmware, Line, Senses, exchange};
use hapticd::device::kinematics::{Guard, Jacobian, Joints, Kinematics, Mount};
use hapticd::device::wire::{Outbox, saturated_i16};
use hapticd::device::{HandForce, HandMotion, Limiter, Limits, PerPart, SafeForce};
use hapticd::math::{Pose, Rot, Vec3};
use hapticd::shared::{Faults, MonoNs};
use std::f64::consts::TAU;

const MS: u64 = 1_000_000;

// ── 1. The mechanism ────────────────────────────────────────────────────────────────────────────────────────────────────
//
// Joint angles in radians, the handle in metres in the maker's frame. What it cannot be is `None`, never a guess.

/// Two links in a plane; the second angle is that of the elbow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TwoLinks;

/// Lengths of the links, m.
const LINKS_M: [f64; 2] = [0.10, 0.12];
/// The elbow bends one way, and no farther than this, rad.
const ELBOW_RAD: (f64, f64) = (0.2, 2.9);

impl Kinematics<2> for TwoLinks {
    fn forward(&self, joints: &Joints<2>) -> Option<Vec3> {
        let ([a, b], [shoulder, elbow]) = (LINKS_M, [joints[0], joints[1]]);
        let reach = (ELBOW_RAD.0..=ELBOW_RAD.1).contains(&elbow) && shoulder.is_finite();
        let fore = shoulder + elbow;
        reach.then(|| Vec3::new(a * shoulder.cos() + b * fore.cos(), a * shoulder.sin() + b * fore.sin(), 0.0))
    }

    fn inverse(&self, position: &Vec3) -> Option<Joints<2>> {
        let [a, b] = LINKS_M;
        let cosine = (position.x.powi(2) + position.y.powi(2) - a * a - b * b) / (2.0 * a * b);
        let elbow = Some(cosine.acos()).filter(|elbow| (ELBOW_RAD.0..=ELBOW_RAD.1).contains(elbow))?;
        let shoulder = position.y.atan2(position.x) - (b * elbow.sin()).atan2(a + b * elbow.cos());
        Some(Joints::<2>::new(shoulder, elbow))
    }

    // By hand, for the tests compare it with the numerical derivative; torques of a force come from it as well.
    fn jacobian(&self, joints: &Joints<2>) -> Option<Jacobian<2>> {
        let at = self.forward(joints)?;
        let fore = joints[0] + joints[1];
        let (x, y) = (LINKS_M[1] * fore.cos(), LINKS_M[1] * fore.sin());
        Some(Jacobian::<2>::new(-at.y, -y, at.x, x, 0.0, 0.0))
    }

    // It lies on the desk, so that nothing weighs on the hand. An arm that stands up says so with `potential`, from where the
    // centres of its links are, and with `weight`, its derivative by hand.
}

// ── 2. The codec ────────────────────────────────────────────────────────────────────────────────────────────────────────
//
// Both directions of every message as plain types. A reader takes bytes as they come, keeps at most one frame, and finds
// the second of two good frames after any garbage. An encoder saturates.

/// To the board: `A5`, torques of the motors in 10 µN·m, 16 bits each with the low byte first, and the sum of those bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) torques: [i16; 2],
}

/// From the board: `A5`, counts of the encoders, buttons, and the sum of those bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) counts: [i16; 2],
    pub(crate) buttons: u8,
}

const SYNC: u8 = 0xA5;
const COMMAND: usize = 6;
const ANSWER: usize = 7;
/// One step of a command, N·m.
const TORQUE_STEP: f64 = 1e-5;

/// A frame around these bytes.
fn framed<const N: usize>(body: &[u8]) -> [u8; N] {
    let mut frame = [0; N];
    frame[0] = SYNC;
    frame[1..N - 1].copy_from_slice(body);
    frame[N - 1] = sum(body);
    frame
}

fn sum(body: &[u8]) -> u8 {
    body.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte))
}

fn pair(bytes: &[u8]) -> [i16; 2] {
    [0, 2].map(|at| i16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

impl Command {
    pub(crate) fn encode(&self) -> [u8; COMMAND] {
        let [a, b] = self.torques.map(i16::to_le_bytes);
        framed(&[a[0], a[1], b[0], b[1]])
    }
}

impl Answer {
    pub(crate) fn encode(&self) -> [u8; ANSWER] {
        let [a, b] = self.counts.map(i16::to_le_bytes);
        framed(&[a[0], a[1], b[0], b[1], self.buttons])
    }
}

/// Finds frames of `N` bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<const N: usize> {
    frame: [u8; N],
    length: usize,
}

impl<const N: usize> Default for Reader<N> {
    fn default() -> Self {
        Self { frame: [0; N], length: 0 }
    }
}

impl<const N: usize> Reader<N> {
    /// Takes a byte; gives the inside of the frame that it completes.
    pub(crate) fn push(&mut self, byte: u8) -> Option<[u8; N]> {
        self.frame[self.length] = byte;
        self.length += 1;
        // Not a beginning, or a whole frame that is none: go on from the next byte that could begin one.
        let whole = self.length == N;
        let good = whole && self.frame[0] == SYNC && sum(&self.frame[1..N - 1]) == self.frame[N - 1];
        let frame = self.frame;
        if good {
            self.length = 0;
        } else if whole || self.frame[0] != SYNC {
            let next = self.frame[1..self.length].iter().position(|byte| *byte == SYNC);
            let from = next.map_or(self.length, |at| at + 1);
            self.frame.copy_within(from..self.length, 0);
            self.length -= from;
        }
        good.then_some(frame)
    }
}

// ── 3. The family ───────────────────────────────────────────────────────────────────────────────────────────────────────
//
// What is this device's own. `Host` does the rest: one request at a time, lost answers, silence, starting anew, events, and
// that no force is sent unless the device answers, is homed and was commanded within 20 ms.

/// Facts that may differ from unit to unit, or that a person may want to change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calibration {
    /// Counts of an encoder in a turn of its joint.
    pub(crate) counts_per_turn: f64,
    /// Joints in the rest position, rad.
    pub(crate) rest_rad: [f64; 2],
    /// Middle of the workspace and axes.
    pub(crate) mount: Mount,
    /// Where force fades, towards the places where the arm is stretched or folded.
    pub(crate) guard: Guard,
    /// Largest torque of a motor, N·m.
    pub(crate) torque_max_nm: f64,
}

impl Default for Calibration {
    fn default() -> Self {
        Self {
            counts_per_turn: 40_000.0,
            rest_rad: [0.6, 1.4],
            mount: Mount { rotation: Rot::identity(), origin: Vec3::new(0.08, 0.14, 0.0) },
            guard: Guard { none_below: 0.1, whole_above: 0.3 },
            torque_max_nm: 0.3,
        }
    }
}

/// A sample device.
pub(crate) struct SampleFamily {
    calibration: Calibration,
    reader: Reader<ANSWER>,
    asked: Option<MonoNs>,
    tries: u32,
    answered: bool,
    /// Counts that were shown in the rest position.
    home: Option<[i16; 2]>,
    counts: [i16; 2],
    joints: Option<Joints<2>>,
}

/// How long a first answer may take, ns, and how often it is asked for.
const START: (u64, u32) = (100 * MS, 20);

impl SampleFamily {
    pub(crate) fn new(calibration: Calibration) -> Self {
        Self {
            calibration,
            reader: Reader::default(),
            asked: None,
            tries: 0,
            answered: false,
            home: None,
            counts: [0; 2],
            joints: None,
        }
    }

    fn read(&mut self, answer: &Answer) -> Reading {
        self.counts = answer.counts;
        let home = self.home.unwrap_or(answer.counts);
        let joints = Joints::<2>::from_fn(|joint, _| {
            // The register wraps; the difference does not, for the joints turn by less than half of it.
            let counts = f64::from(answer.counts[joint].wrapping_sub(home[joint]));
            self.calibration.rest_rad[joint] + TAU * counts / self.calibration.counts_per_turn
        });
        let position = TwoLinks.forward(&joints);
        self.joints = position.map(|_| joints);
        let pose = position.map(|at| Pose::from_parts(self.calibration.mount.to_device(&at).into(), Rot::identity()));
        Reading { pose, buttons: u32::from(answer.buttons), error: 0 }
    }
}

impl Family for SampleFamily {
    /// The device may be another one.
    fn restart(&mut self) {
        *self = Self::new(self.calibration);
    }

    /// Something harmless until an answer comes.
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
        out.push(&Command::default().encode());
        (self.asked, self.tries) = (Some(now), self.tries + 1);
        Progress::Waiting
    }

    fn receive(&mut self, bytes: &[u8]) -> (usize, Heard) {
        for (at, &byte) in bytes.iter().enumerate() {
            if let Some(frame) = self.reader.push(byte) {
                self.answered = true;
                let answer = Answer { counts: pair(&frame[1..]), buttons: frame[5] };
                return (at + 1, Heard::Reading(self.read(&answer)));
            }
        }
        (bytes.len(), Heard::Nothing)
    }

    /// A force to the mechanism's axes, to torques, to what the motors can do: all shrink together.
    fn request(&mut self, force: &SafeForce, out: &mut Outbox) {
        let wanted = self.calibration.mount.direction_from_device(&force.get().force) * self.share();
        let torque = self.joints.and_then(|joints| TwoLinks.statics(&joints, &wanted)).unwrap_or_default();
        let fits = (self.calibration.torque_max_nm / torque.amax().max(1e-12)).min(1.0);
        let torques = [0, 1].map(|joint| saturated_i16(torque[joint] * fits / TORQUE_STEP, i16::MAX));
        out.push(&Command { torques }.encode());
    }

    fn give_up(&mut self) {
        self.reader = Reader::default();
    }

    fn guide(&self) -> Option<HomingGuide> {
        self.home.is_none().then_some(HomingGuide::RestAndConfirm)
    }

    fn confirm_home(&mut self, _out: &mut Outbox) {
        self.home = Some(self.counts);
    }

    /// Last words: understood after any part of a message, when they come twice.
    fn silence(&self, out: &mut [u8]) -> usize {
        let words = Command::default().encode();
        let Some(place) = out.get_mut(..words.len()) else { return 0 };
        place.copy_from_slice(&words);
        words.len()
    }

    fn share(&self) -> f64 {
        self.joints.map_or(0.0, |joints| self.calibration.guard.share(TwoLinks.dexterity(&joints)))
    }

    fn weight(&self) -> HandForce {
        HandForce::zero()
    }
}

// ── 4. The firmware ─────────────────────────────────────────────────────────────────────────────────────────────────────
//
// The other end, written from the protocol and not from the driver. The emulator around it moves the handle in a hand, and
// takes the force there from the numerical derivative of the mechanism.

/// Without a command for this long the motors are switched off, ns.
const WATCHDOG_NS: u64 = 100 * MS;

/// The board.
#[derive(Default)]
pub(crate) struct SampleFirmware {
    reader: Reader<COMMAND>,
    torques: [i16; 2],
    heard: MonoNs,
    /// Where its counters began, rad.
    zero: Joints<2>,
}

impl Firmware<2> for SampleFirmware {
    fn receive(&mut self, bytes: &[u8], senses: &Senses<2>, now: MonoNs, out: &mut Outbox) {
        for &byte in bytes {
            let Some(frame) = self.reader.push(byte) else { continue };
            (self.torques, self.heard) = (pair(&frame[1..]), now);
            let turned = (senses.joints - self.zero) * (Calibration::default().counts_per_turn / TAU);
            let counts = [turned[0], turned[1]].map(|count| saturated_i16(count, i16::MAX));
            out.push(&Answer { counts, buttons: senses.buttons as u8 }.encode());
        }
    }

    fn torques(&self, now: MonoNs) -> Joints<2> {
        let off = now.since(self.heard) > WATCHDOG_NS;
        Joints::<2>::from_fn(|joint, _| if off { 0.0 } else { f64::from(self.torques[joint]) * TORQUE_STEP })
    }

    fn power_cycle(&mut self, senses: &Senses<2>) {
        *self = Self { zero: senses.joints, ..Self::default() };
    }
}

/// The emulated device, its handle in the rest position.
pub(crate) fn device() -> Emulator<SampleFirmware, TwoLinks, 2> {
    let truth = Calibration::default();
    let rest = TwoLinks.forward(&Joints::<2>::from(truth.rest_rad)).map(|at| truth.mount.to_device(&at));
    let made = rest.and_then(|rest| Emulator::new(SampleFirmware::default(), TwoLinks, truth.mount, 0.1, &rest));
    made.expect("the rest position is within reach")
}

/// A force that has passed a limiter, as every force does; this one lets 3 N through at once.
pub(crate) fn safe(force: Vec3) -> SafeForce {
    let part = |linear| PerPart { linear, angular: 0.0 };
    let limits = Limits {
        force: part(3.0),
        slew: part(1e6),
        power_w: 10.0,
        reserve_j: 0.1,
        speed: part(1.0),
        acceleration: part(150.0),
        stiffness: part(1000.0),
        damping: part(5.0),
        workspace_radius_m: 0.05,
        watchdog_s: Some(0.1),
    };
    let wanted = HandForce { force, torque: Vec3::zeros() };
    Limiter::new(limits).limit(wanted, &HandMotion::default(), None, 1e-3, &mut Faults::NONE.clone())
}

fn main() {
    let (mut driver, mut device, mut line) =
        (Host::new(SampleFamily::new(Calibration::default())), device(), Line::default());
    let mut now = MonoNs(MS);
    for force in [Vec3::zeros(), Vec3::new(1.0, 0.0, 0.0), Vec3::new(-0.5, 2.0, 0.0)] {
        for _ in 0..500 {
            now = now.plus(MS);
            driver.command(&safe(force), now);
            exchange(&mut driver, &mut device, &mut line, now);
            if let DriverState::Homing(guide) = driver.state() {
                println!("to home: {}", guide.text());
                driver.confirm_home(now);
            }
        }
        let at = driver.sample().map_or(Vec3::zeros(), |sample| sample.pose_device_handle.translation.vector);
        let (asked, given) = (force.as_slice(), device.force());
        println!(
            "asked for {asked:.3?} N, the hand gets {:.3?} N; the driver sees {:.2?} mm",
            given.as_slice(),
            (at * 1e3).as_slice()
        );
    }
    while let Some(event) = driver.next_event() {
        println!("{:?}", event.kind);
    }
}
