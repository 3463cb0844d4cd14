//! The hand on an emulated device: homes it as a person would, then does the script of a scene again and again.
//!
//! Thread: main.

use super::{EmulateOptions, Failure};
use crate::device::emulator::{Emulated, Hand};
use crate::device::operator::{Perceived, Progress};
use crate::device::{DeviceSpec, HandForce, Operator};
use crate::math::{Pose, Rot, Vec3};
use crate::scene;
use crate::shared::{MonoNs, NS_PER_S};

/// A Falcon is homed by going through these places, m along x, a second each: out, in, to the middle.
const FALCON_WAY: [f64; 3] = [0.03, -0.035, 0.0];
/// The calibration button of older arms, as a bit, and for how long it is held, s.
const CALIBRATION: (u32, f64) = (0b10, 0.3);
/// Time between two rounds of the script, s.
const PAUSE_S: f64 = 1.0;
/// The hand goes to where the scene begins at this speed, m/s, and stays there for a while before it begins, s.
const TRAVEL: (f64, f64) = (0.15, 2.0);
/// The hand decides so often, ns.
const THINK_NS: u64 = 1_000_000;

/// What the hand does to home a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ritual {
    /// Nothing: it is done by a word to the host.
    None,
    /// Out, in, middle.
    OutAndIn,
    /// A button, in the rest position.
    Button,
}

/// A script and who does it.
struct Job {
    operator: Operator,
    fresh: Operator,
    spec: DeviceSpec,
    seed: u64,
    /// Where the scene begins.
    start: Vec3,
    /// When and from where the hand went there.
    travel: Option<(MonoNs, Vec3)>,
    /// The operator has taken hold since the last rest.
    begun: bool,
    /// Since when it pauses.
    paused: Option<MonoNs>,
}

/// See the file's head.
pub(super) struct Player {
    ritual: Ritual,
    /// Where the handle is when the device is switched on.
    rest: Vec3,
    job: Option<Job>,
    wait_s: Option<f64>,
    /// Told to work, or not.
    works: Option<bool>,
    thought: Option<MonoNs>,
    hand: Hand,
    buttons: u32,
}

impl Player {
    /// A hand for this device, whose handle starts at `rest`.
    ///
    /// # Errors
    /// When the scene is wrong or does not go with the device.
    pub(super) fn new(spec: &DeviceSpec, driver: &str, rest: Vec3, options: &EmulateOptions) -> Result<Self, Failure> {
        let ritual = match driver {
            "falcon" => Ritual::OutAndIn,
            "woodenhaptics-frames" | "woodenhaptics-mbed" | "woodenhaptics-teensy" => Ritual::Button,
            _ => Ritual::None,
        };
        let job = match &options.scene {
            None => None,
            Some(name) => {
                let scene = scene::open(name)?.value;
                let built = scene::build(&scene, spec).map_err(Failure::Report)?;
                let operator = Operator::new(options.skill.unwrap_or(built.skill), built.script, built.mapping);
                let seed = options.seed.unwrap_or(built.seed);
                Some(Job {
                    fresh: operator.clone(),
                    operator,
                    spec: spec.clone(),
                    seed,
                    start: built.handle_start.translation.vector,
                    travel: None,
                    begun: false,
                    paused: None,
                })
            }
        };
        let hand = Hand::at(rest);
        Ok(Self { ritual, rest, job, wait_s: options.wait_s, works: None, thought: None, hand, buttons: 0 })
    }

    /// True when there is a script.
    pub(super) fn has_script(&self) -> bool {
        self.job.is_some()
    }

    /// Begins with the script, or leaves it.
    pub(super) fn work(&mut self, works: bool) {
        self.works = Some(works);
    }

    /// Goes back to the beginning: the device was switched off.
    pub(super) fn let_go(&mut self) {
        self.works = None;
        self.job.iter_mut().for_each(|job| (job.begun, job.travel) = (false, None));
    }

    /// The hand and the buttons it holds, now; `heard` is when the host was first heard.
    pub(super) fn hold(&mut self, device: &dyn Emulated, heard: Option<MonoNs>, now: MonoNs) -> (Hand, u32) {
        let last = *self.thought.get_or_insert(now);
        if now.since(last) < THINK_NS {
            return (self.hand, self.buttons);
        }
        self.thought = Some(now);
        let dt_s = now.since(last) as f64 / NS_PER_S as f64;
        let since_s = heard.map(|heard| now.since(heard) as f64 / NS_PER_S as f64);
        (self.hand, self.buttons) = self.decide(device, since_s, dt_s, now);
        (self.hand, self.buttons)
    }

    fn decide(&mut self, device: &dyn Emulated, since_s: Option<f64>, dt_s: f64, now: MonoNs) -> (Hand, u32) {
        let Some(since_s) = since_s else { return (steady(device, self.rest), 0) };
        let homing_s = match self.ritual {
            Ritual::None => 0.0,
            Ritual::OutAndIn => FALCON_WAY.len() as f64,
            Ritual::Button => 2.0 * CALIBRATION.1,
        };
        if since_s < homing_s {
            let button = if self.ritual == Ritual::Button && since_s < CALIBRATION.1 { CALIBRATION.0 } else { 0 };
            // Whole seconds, fewer than there are places.
            let x = FALCON_WAY.get(since_s as usize).copied().unwrap_or_default();
            let way = if self.ritual == Ritual::OutAndIn { Vec3::new(x, 0.0, 0.0) } else { self.rest };
            return (steady(device, way), button);
        }
        let works = self.works.unwrap_or(self.wait_s.is_some_and(|wait_s| since_s >= homing_s + wait_s));
        match &mut self.job {
            Some(job) if works => job.go_on(device, dt_s, now),
            job => {
                job.iter_mut().for_each(|job| job.begun = false);
                (Hand { stiffness: self.hand.stiffness, ..steady(device, self.hand.target) }, 0)
            }
        }
    }
}

impl Job {
    fn restart(&mut self, device: &dyn Emulated) {
        self.operator = self.fresh.clone();
        self.operator.take_hold(&self.spec, place(&device.position()), self.seed);
        (self.begun, self.paused) = (true, None);
    }

    fn go_on(&mut self, device: &dyn Emulated, dt_s: f64, now: MonoNs) -> (Hand, u32) {
        if !self.begun {
            let (since, from) = *self.travel.get_or_insert((now, device.position()));
            let (way, gone_s) = (self.start - from, now.since(since) as f64 / NS_PER_S as f64);
            let length = way.norm();
            if gone_s < length / TRAVEL.0 + TRAVEL.1 {
                let share = if length > 0.0 { (gone_s * TRAVEL.0 / length).min(1.0) } else { 1.0 };
                return (steady(device, from + way * share), 0);
            }
            self.restart(device);
        }
        let felt = HandForce { force: device.felt(), torque: Vec3::zeros() };
        let perceived = Perceived { dt_s, handle: place(&device.position()), felt, view: None };
        let command = self.operator.think(&perceived);
        if self.operator.report().progress != Progress::Running {
            let since = *self.paused.get_or_insert(now);
            if now.since(since) as f64 >= PAUSE_S * NS_PER_S as f64 {
                self.restart(device);
            }
        }
        let hand = Hand {
            target: command.target.translation.vector,
            velocity: command.velocity,
            push: command.force.force,
            stiffness: command.stiffness.linear,
            damping: command.damping.linear,
            mass_kg: self.operator.hand().inertia.linear,
        };
        (hand, command.buttons)
    }
}

/// A hand that brings the handle there and carries what it weighs: an arm that sags in its rest is homed wrongly.
fn steady(device: &dyn Emulated, target: Vec3) -> Hand {
    Hand { push: -device.felt(), ..Hand::at(target) }
}

fn place(position: &Vec3) -> Pose {
    Pose::from_parts((*position).into(), Rot::identity())
}
