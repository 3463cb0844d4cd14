//! A simulated operator: a hand with mass, spring and damper that follows a script, trembles and makes mistakes.
//!
//! Thread: haptic (RT); the noise filters are normalised in [`Operator::take_hold`], before the first tick.
//!
//! ```text
//!  f_hand = K (x_t − x) + B (ẋ_t − ẋ) + intent + tremor            and the same for rotation
//!
//!  script ─► plan: meant motion (scene) ─► mapping⁻¹ ─► target x_t (device) ─► HandCommand ─► simulated device
//!    ▲                                                                                        │
//!    └── senses: felt force, screen, after the reaction time ◄────────────────────────────────┘
//! ```
//!
//! `intent` is the force a phase presses with, plus what the hand allows for in advance to carry the handle's inertia,
//! drag and friction. Along a pressing force the spring is let go: the target follows the hand, so that the force is what
//! was meant, whatever the surface does.

mod noise;
mod palpate;
mod path;
mod perceive;
mod script;
mod skill;

pub use palpate::{MAX_PLACES, PalpationGrid};
pub use perceive::Perceived;
pub use script::{Action, MAX_PHASES, Name, Phase, Script, ScriptTooLong, Until};
pub use skill::{HandModel, Skill};

use super::{DeviceSpec, HandForce, Mechanics, PerPart};
use crate::math::{Mapping, Pose, Random, Rot, Vec3, exp_so3, log_so3};
use noise::Noise;
use palpate::Palpation;
use path::{Meant, Reach, Spiral, Stroke};
use perceive::{Aim, Senses};
use std::f64::consts::TAU;

/// Time in which a muscle builds up a force, s.
const MUSCLE_S: f64 = 0.08;
/// Time in which the target follows the hand along a pressing force, s.
const YIELD_S: f64 = 0.15;
/// Speed of the hand along a pressing force while it meets nothing, m/s.
const YIELD_SPEED: f64 = 0.05;
/// Time in which the hand corrects a pressing force by feel, s.
const CORRECT_S: f64 = 0.5;
/// Time after which a hand that presses in vain presses harder, s.
const PATIENCE_S: f64 = 3.0;
/// Rate at which its force then grows, as a share of the force asked for, 1/s.
const HARDER_PER_S: f64 = 0.1;
/// Largest growth of that force, as a share of the force asked for.
const HARDER: f64 = 1.0;
/// Mean rate of rotation of a movement to a pose, rad/s.
const TURN_RATE: f64 = 1.2;
/// Frequency of pursuing a seen body, as a multiple of the inverse reaction time: it lags by 1.7 reaction times.
const PURSUIT: f64 = 1.2;
/// Time in which a lasting error of pursuit is corrected, in reaction times. Below 2 it would chase its own lag.
const LOOK_REACTIONS: f64 = 4.0;
/// Errors of pursuit beyond this many times what can just be seen are left to the pursuit itself.
const LOOK_RANGE: f64 = 10.0;
/// Time in which a hand that slides the tool along something gives way to a torque it feels, s: it unloads its own spring at this rate,
/// and with it those of the coupling and the contact. Shorter, the hand would lose the angle it means to hold to tremor.
const EASE_S: f64 = 0.3;
/// Felt torque, N·m, below which such a hand counts as unloaded: a seventh of what wedges a tight peg.
const EASED_NM: f64 = 0.03;
/// Below this speed of an axis, in m/s and rad/s, the hand does not reckon with all of the device's friction.
const FRICTION_SPEED: f64 = 2e-3;

/// Share of its stiffness with which a hand that rests holds the handle.
const REST_SHARE: f64 = 0.2;
/// Time in which a hand that goes to work again takes a firm hold, s.
const FIRM_S: f64 = 0.3;

/// Whether the operator should work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorOrder {
    /// Follow the script. If not, the script stands still and the hand holds the handle gently where it is.
    pub works: bool,
}

/// What the hand does until the next tick, in the device's base frame.
#[derive(Clone, Copy, Debug)]
pub struct HandCommand {
    /// Where the hand's springs pull to.
    pub target: Pose,
    /// How fast that place moves, m/s.
    pub velocity: Vec3,
    /// How fast it turns, rad/s.
    pub angular_velocity: Vec3,
    /// Springs, N/m and N·m/rad.
    pub stiffness: PerPart,
    /// Dampers, N·s/m and N·m·s/rad.
    pub damping: PerPart,
    /// Force and torque besides.
    pub force: HandForce,
    /// Buttons held, one bit each.
    pub buttons: u32,
}

impl HandCommand {
    /// A hand that does nothing.
    #[must_use]
    pub fn limp() -> Self {
        let none = PerPart { linear: 0.0, angular: 0.0 };
        Self {
            target: Pose::identity(),
            velocity: Vec3::zeros(),
            angular_velocity: Vec3::zeros(),
            stiffness: none,
            damping: none,
            force: HandForce::zero(),
            buttons: 0,
        }
    }
}

/// How far the operator has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// At work.
    Running,
    /// Every phase has ended as it should.
    Finished,
    /// The phase took too long; the operator has given up and holds still.
    Failed,
}

/// How far the operator has come, for progress lines.
#[derive(Clone, Copy, Debug)]
pub struct OperatorReport {
    /// At work, finished or failed.
    pub progress: Progress,
    /// Number of the phase, from zero; the last one once finished.
    pub phase: usize,
    /// How many phases there are.
    pub phase_count: usize,
    /// Name of the phase.
    pub name: Name,
    /// Time since the phase began, s.
    pub phase_s: f64,
    /// Felt force, N.
    pub felt_n: f64,
}

impl OperatorReport {
    /// Of a person, who reports nothing.
    #[must_use]
    pub fn of_person() -> Self {
        Self {
            progress: Progress::Running,
            phase: 0,
            phase_count: 1,
            name: Name::new("a person works"),
            phase_s: 0.0,
            felt_n: 0.0,
        }
    }
}

/// How the meant motion is made.
#[derive(Clone, Copy, Debug)]
enum Plan {
    /// Stay.
    Hold(Pose),
    /// A movement; `look` when its end is to be looked at and corrected.
    Reach {
        reach: Reach,
        look: bool,
    },
    Spiral(Spiral),
    /// Turn, and turn back with the tool let go.
    Screw {
        reach: Reach,
        /// Rotation vector of a grip.
        turn: Vec3,
        rate: f64,
        back: bool,
    },
    /// Swing a spanner, there and back.
    Swing {
        stroke: Stroke,
        centre: Vec3,
        axis: Vec3,
        /// From the centre to the hand where strokes begin.
        lever: Vec3,
        angle: f64,
        rate: f64,
        back: bool,
    },
    /// Keep to a body; `grip` is the hand in the tool's frame, learned by looking.
    Follow {
        body: usize,
        offset: Pose,
        grip: Pose,
    },
}

/// A simulated operator.
#[derive(Clone, Debug)]
pub struct Operator {
    hand: HandModel,
    script: Script,
    mapping: Mapping,
    present: bool,
    // Set when the hand takes hold.
    mechanics: Option<Mechanics>,
    rotation: bool,
    damping: PerPart,
    tremor_force: PerPart,
    tremor: [Noise; 2],
    drift: [Noise; 2],
    noise: Random,
    choice: Random,
    // Of the phase.
    progress: Progress,
    phase: usize,
    phase_s: f64,
    senses: Senses,
    plan: Plan,
    plan_s: f64,
    palpation: Option<Palpation>,
    goal: Option<Pose>,
    press: Vec3,
    correction: f64,
    // Of the hand.
    meant: Meant,
    target: Pose,
    intent: Vec3,
    /// Rotation vector in the scene by which the hand has given way to felt torque since its last reach.
    ease: Vec3,
    /// Held up: the hand has not the strength to go where it means to.
    blocked: bool,
    /// Where it means to go, also while it is held up: linear, angular.
    heading: [Vec3; 2],
    begun: bool,
    /// Where the hand rests, in the device's base frame, while it does not work.
    resting: Option<Pose>,
    /// Share of its stiffness with which the hand holds.
    firmness: f64,
}

impl Operator {
    /// An operator of this skill who will follow `script` through `mapping`.
    #[must_use]
    pub fn new(skill: Skill, script: Script, mapping: Mapping) -> Self {
        Self::with_hand(skill.hand(), script, mapping)
    }

    /// An operator with this hand.
    #[must_use]
    pub fn with_hand(hand: HandModel, script: Script, mapping: Mapping) -> Self {
        let none = PerPart { linear: 0.0, angular: 0.0 };
        let (tremor, drift) = (Noise::tremor(hand.tremor_band_hz, 1000.0), Noise::drift(1000.0));
        Self {
            hand,
            script,
            mapping,
            present: true,
            mechanics: None,
            rotation: false,
            damping: none,
            tremor_force: none,
            tremor: [tremor; 2],
            drift: [drift; 2],
            noise: Random::new(0),
            choice: Random::new(0),
            progress: Progress::Running,
            phase: 0,
            phase_s: 0.0,
            senses: Senses::new(),
            plan: Plan::Hold(Pose::identity()),
            plan_s: 0.0,
            palpation: None,
            goal: None,
            press: Vec3::zeros(),
            correction: 0.0,
            meant: Meant::at_rest(Pose::identity()),
            target: Pose::identity(),
            intent: Vec3::zeros(),
            ease: Vec3::zeros(),
            blocked: false,
            heading: [Vec3::zeros(); 2],
            begun: false,
            resting: None,
            firmness: 1.0,
        }
    }

    /// Nobody: the handle moves by itself.
    #[must_use]
    pub fn absent() -> Self {
        let mut nobody = Self::new(Skill::default(), Script::empty(), Mapping::identity());
        nobody.present = false;
        nobody.hand.inertia = PerPart { linear: 0.0, angular: 0.0 };
        nobody
    }

    /// Takes hold of a device whose handle is at `handle`, and starts the script from its beginning. Equal seeds give
    /// equal operators. Not for the haptic thread: takes some milliseconds.
    pub fn take_hold(&mut self, spec: &DeviceSpec, handle: Pose, seed: u64) {
        let mechanics = spec.mechanics;
        let (hand, rate) = (&self.hand, spec.rate_hz);
        let damping = |k: f64, m: f64| 2.0 * hand.damping_ratio * (k * m).sqrt();
        let inertia = self.inertia(&mechanics);
        self.damping = PerPart {
            linear: damping(hand.stiffness.linear, inertia.linear),
            angular: damping(hand.stiffness.angular, inertia.angular),
        };
        // A force that moves the free handle by the tremor's amplitude: |K − m ω² + i ω (B + b)| at the band's centre.
        let omega = std::f64::consts::TAU * (hand.tremor_band_hz[0] * hand.tremor_band_hz[1]).sqrt();
        let impedance = |k: f64, m: f64, b: f64| (k - m * omega * omega).hypot(omega * b);
        self.tremor_force = PerPart {
            linear: hand.tremor_rms.linear
                * impedance(hand.stiffness.linear, inertia.linear, self.damping.linear + mechanics.damping.linear),
            angular: hand.tremor_rms.angular
                * impedance(hand.stiffness.angular, inertia.angular, self.damping.angular + mechanics.damping.angular),
        };
        self.tremor = [Noise::tremor(hand.tremor_band_hz, rate); 2];
        self.drift = [Noise::drift(rate); 2];
        self.mechanics = Some(mechanics);
        self.rotation = spec.rotation_sensed;
        // Two streams, so that a longer movement does not change the mistakes of the next.
        self.choice = Random::new(seed);
        self.noise = Random::new(self.choice.bits());
        self.progress = Progress::Running;
        self.senses = Senses::new();
        self.intent = Vec3::zeros();
        self.blocked = false;
        self.target = self.mapping.pose_to_scene(&handle);
        (self.phase, self.phase_s, self.begun) = (0, 0.0, false);
        (self.resting, self.firmness) = (None, 1.0);
        self.let_be();
    }

    /// Inertia that moves together: hand and device.
    #[must_use]
    pub fn inertia(&self, mechanics: &Mechanics) -> PerPart {
        PerPart {
            linear: self.hand.inertia.linear + mechanics.inertia.linear,
            angular: self.hand.inertia.angular + mechanics.inertia.angular,
        }
    }

    /// The hand's numbers.
    #[must_use]
    pub fn hand(&self) -> &HandModel {
        &self.hand
    }

    /// The script.
    #[must_use]
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// How far the operator has come.
    #[must_use]
    pub fn report(&self) -> OperatorReport {
        let phases = self.script.phases();
        let phase = self.phase.min(phases.len().saturating_sub(1));
        OperatorReport {
            progress: self.progress,
            phase,
            phase_count: phases.len(),
            name: phases.get(phase).map_or(Name::new(""), |phase| phase.name),
            phase_s: self.phase_s,
            felt_n: self.senses.felt.force.norm(),
        }
    }

    /// Perceives one tick and decides what the hand does until the next.
    pub fn think(&mut self, perceived: &Perceived<'_>) -> HandCommand {
        let (true, Some(mechanics)) = (self.present, self.mechanics) else { return HandCommand::limp() };
        // 1 notice, and go on in the script
        if !self.begun {
            // Only now is there a screen to look at.
            self.begun = true;
            self.enter(0, perceived);
        }
        self.senses.feel(perceived);
        if self.progress == Progress::Running {
            self.phase_s += perceived.dt_s;
        }
        self.follow_script(perceived);
        // 2 mean
        self.mean(perceived);
        // 3 press
        let push = self.push(perceived);
        // 4 put it into the handle's terms
        self.resting = None;
        self.firmness = (self.firmness + perceived.dt_s / FIRM_S).min(1.0);
        self.command(perceived, push, &mechanics)
    }

    /// Perceives one tick without working: holds the handle gently where it was when the rest began. The script stands
    /// still and goes on from there.
    pub fn rest(&mut self, perceived: &Perceived<'_>) -> HandCommand {
        if !self.present {
            return HandCommand::limp();
        }
        self.senses.feel(perceived);
        self.intent *= MUSCLE_S / (MUSCLE_S + perceived.dt_s);
        self.firmness = REST_SHARE;
        let target = *self.resting.get_or_insert(perceived.handle);
        HandCommand {
            target: give_way(&target, &perceived.handle, &self.hand).0,
            stiffness: self.hand.stiffness.times(self.firmness),
            damping: self.damping,
            ..HandCommand::limp()
        }
    }

    fn follow_script(&mut self, perceived: &Perceived<'_>) {
        let Some(phase) = self.script.phases().get(self.phase).copied() else {
            self.progress = Progress::Finished;
            return;
        };
        if self.progress != Progress::Running {
            return;
        }
        let moving = match &self.plan {
            Plan::Reach { reach, .. } => {
                let loaded = self.eases() && self.senses.felt.torque.norm() > EASED_NM;
                self.plan_s < reach.duration_s() || loaded
            }
            _ => false,
        };
        let free = phase.action.force().try_normalize(0.0).unwrap_or_default();
        let spanner = match &self.plan {
            Plan::Swing { axis, centre, .. } => Some((*axis, self.meant.pose.translation.vector - centre)),
            _ => None,
        };
        let aim = Aim { goal: self.goal, free, moving, rotation: self.rotation, spanner };
        let reaction = self.hand.reaction_s;
        let ended = match phase.action {
            Action::Rest { seconds } => self.phase_s >= seconds,
            Action::Palpate { .. } => self.palpate(perceived),
            _ => self.senses.decides(&phase.until, &aim, perceived, &self.mapping, self.phase_s, reaction),
        };
        if ended {
            self.enter(self.phase + 1, perceived);
        } else if self.phase_s >= phase.timeout_s {
            self.progress = Progress::Failed;
            self.let_be();
        }
    }

    /// Begins a phase from where the hand's target is now.
    fn enter(&mut self, index: usize, perceived: &Perceived<'_>) {
        let Some(phase) = self.script.phases().get(index).copied() else {
            self.progress = Progress::Finished;
            self.phase = index;
            self.let_be();
            return;
        };
        (self.phase, self.phase_s) = (index, 0.0);
        self.senses.begin_phase();
        // A spanner that is swung on is still on the same nut.
        let nut = match (&self.plan, phase.action) {
            (Plan::Swing { centre, axis: old, lever: arm, .. }, Action::Swing { axis, lever, .. }) => {
                (*old == axis && *arm == lever).then_some(*centre)
            }
            _ => None,
        };
        self.let_be();
        let tool = perceived.tool(&self.mapping);
        let pace = self.hand.pace;
        // A force is misjudged by up to twice its usual error, for the whole phase.
        let misjudged = 1.0 + self.hand.force_error * self.choice.normal().clamp(-2.0, 2.0);
        let base = self.mapping.pose_world_device.rotation;
        self.press = base.inverse_transform_vector(&phase.action.force()) * misjudged;
        match phase.action {
            Action::MoveTo { target, speed } => {
                let target = self.scattered(&target, &phase.scatter);
                self.goal = Some(target);
                self.reach_for(&target, &tool, &Vec3::zeros(), speed * pace);
            }
            Action::Slide { target, speed, force } => {
                self.goal = Some(target);
                self.reach_for(&target, &tool, &force, speed * pace);
            }
            Action::Turn { axis, angle_rad, rate_rad_s, .. } => {
                let turn = axis * if self.rotation { angle_rad } else { 0.0 };
                self.goal = Some(Pose::from_parts(tool.translation, exp_so3(&turn) * tool.rotation));
                let reach = Reach::new(self.target, Vec3::zeros(), turn, 1.0, rate_rad_s * pace);
                self.plan = Plan::Reach { reach, look: false };
            }
            Action::Screw { axis, grip_rad, rate_rad_s, .. } => {
                let (turn, rate) = (axis * if self.rotation { grip_rad } else { 0.0 }, rate_rad_s * pace);
                let reach = Reach::new(self.target, Vec3::zeros(), turn, 1.0, rate);
                self.plan = Plan::Screw { reach, turn, rate, back: false };
            }
            Action::Swing { axis, lever, swing_rad: angle, rate_rad_s, .. } => {
                let centre = nut.unwrap_or(self.target.translation.vector - lever);
                let rate = rate_rad_s * pace;
                let stroke = stroke(&self.target, &centre, (&axis, &lever), angle, rate);
                self.plan = Plan::Swing { stroke, centre, axis, lever, angle, rate, back: false };
            }
            Action::Search { radius, pitch, speed, force } => {
                self.plan = Plan::Spiral(Spiral::new(self.target, &force, radius, pitch, speed * pace));
            }
            Action::Follow { body, offset } => {
                self.plan = Plan::Follow { body, offset, grip: tool.inverse() * self.target };
            }
            Action::Palpate { grid, speed, force } => {
                let middle = grid.middle.map_or(tool, |place| Pose::from_parts(place.into(), tool.rotation));
                let push = std::mem::replace(&mut self.press, Vec3::zeros());
                let palpation = Palpation::new(grid, middle, &force, push, speed);
                self.go_above(palpation.above(0), &tool, speed);
                self.palpation = Some(palpation);
            }
            Action::Press { .. } | Action::Rest { .. } => {}
        }
    }

    /// A target at another place and angle for every seed. Draws only where it is asked to, so that other scripts keep
    /// their mistakes.
    fn scattered(&mut self, target: &Pose, scatter: &PerPart) -> Pose {
        let mut target = *target;
        if scatter.linear > 0.0 {
            // Evenly over a disc.
            let (radius, angle) = (self.choice.uniform().sqrt() * scatter.linear, self.choice.uniform() * TAU);
            target.translation.vector += Vec3::new(angle.cos(), angle.sin(), 0.0) * radius;
        }
        if scatter.angular > 0.0 {
            let turn = (2.0 * self.choice.uniform() - 1.0) * scatter.angular;
            target.rotation = exp_so3(&(Vec3::z() * turn)) * target.rotation;
        }
        target
    }

    /// Stays where the hand is, presses with nothing.
    fn let_be(&mut self) {
        self.plan = Plan::Hold(self.target);
        self.palpation = None;
        self.meant = Meant::at_rest(self.target);
        self.plan_s = 0.0;
        self.goal = None;
        self.press = Vec3::zeros();
        self.ease = Vec3::zeros();
        self.correction = 0.0;
    }

    /// True while the hand gives way to felt torque: it moves the tool to a pose along something that holds it. The angle of a held tool
    /// is seen, but not the angle that the hand strains against it with; a peg that is straightened by its looks alone stays
    /// wedged by that strain.
    fn eases(&self) -> bool {
        let slides = self.script.phases().get(self.phase).is_some_and(|p| matches!(p.action, Action::Slide { .. }));
        slides && self.rotation
    }

    /// Plans a movement that should bring the tool from where it is seen to `goal`, with the errors of the hand.
    fn reach_for(&mut self, goal: &Pose, tool: &Pose, force: &Vec3, speed: f64) {
        let free = force.try_normalize(0.0).unwrap_or_default();
        let way = goal.translation.vector - tool.translation.vector;
        let way = way - free * free.dot(&way);
        let turn = if self.rotation { log_so3(&(goal.rotation * tool.rotation.inverse())) } else { Vec3::zeros() };
        let strayed = |way: Vec3, hand: &HandModel, choice: &mut Random| {
            let error = Vec3::from_fn(|_, _| choice.normal()) * (hand.aim_error * way.norm());
            way * (1.0 + hand.overshoot) + error
        };
        let way = strayed(way, &self.hand, &mut self.choice);
        let turn = strayed(turn, &self.hand, &mut self.choice);
        let reach = Reach::new(self.target, way, turn, speed, TURN_RATE * self.hand.pace);
        self.plan = Plan::Reach { reach, look: true };
        self.plan_s = 0.0;
        self.ease = Vec3::zeros();
    }

    /// The meant motion of this tick.
    fn mean(&mut self, perceived: &Perceived<'_>) {
        self.look(perceived);
        // A hand that is held up waits: the movement goes on where it was.
        let dt = if self.blocked { 0.0 } else { perceived.dt_s };
        self.plan_s += dt;
        if self.eases() {
            let torque = self.mapping.pose_world_device.rotation * self.senses.felt.torque;
            self.ease += torque * (perceived.dt_s / (EASE_S * self.hand.stiffness.angular));
        }
        let ease = exp_so3(&self.ease);
        let meant = match &mut self.plan {
            Plan::Hold(pose) => Meant::at_rest(*pose),
            Plan::Reach { reach, .. } => {
                let meant = reach.at(self.plan_s);
                Meant { pose: Pose::from_parts(meant.pose.translation, ease * meant.pose.rotation), ..meant }
            }
            Plan::Screw { reach, turn, rate, back } => {
                if self.plan_s >= reach.duration_s() {
                    *back = !*back;
                    let turn = if *back { -*turn } else { *turn };
                    *reach = Reach::new(self.target, Vec3::zeros(), turn, 1.0, *rate);
                    self.plan_s = 0.0;
                }
                reach.at(self.plan_s)
            }
            Plan::Swing { stroke, centre, axis, lever, angle, rate, back } => {
                if self.plan_s >= stroke.duration_s() {
                    *back = !*back;
                    let to = if *back { 0.0 } else { *angle };
                    *stroke = self::stroke(&self.target, centre, (axis, lever), to, *rate);
                    self.plan_s = 0.0;
                }
                stroke.at(self.plan_s)
            }
            Plan::Spiral(_) if dt <= 0.0 => self.meant,
            Plan::Spiral(spiral) => spiral.advance(dt),
            Plan::Follow { body, offset, grip } => match perceived.body(*body) {
                Some(pose) => {
                    let goal = pose * *offset;
                    self.goal = Some(goal);
                    let share = perceived.dt_s / (LOOK_REACTIONS * self.hand.reaction_s);
                    regrip(grip, &goal, &perceived.tool(&self.mapping), &self.hand.look_error, share);
                    follow(&self.meant, &(goal * *grip), PURSUIT / self.hand.reaction_s, perceived.dt_s)
                }
                None => Meant::at_rest(self.meant.pose),
            },
        };
        if self.blocked {
            self.meant = Meant::at_rest(meant.pose);
        } else {
            self.meant = meant;
            self.heading = [meant.velocity, meant.angular_velocity];
        }
    }

    /// After a movement and the time to react: looks how far off it ended, and corrects what can be seen.
    fn look(&mut self, perceived: &Perceived<'_>) {
        let (Plan::Reach { reach, look: true }, Some(goal)) = (&self.plan, self.goal) else { return };
        if self.plan_s < reach.duration_s() + self.hand.reaction_s {
            return;
        }
        let Some(phase) = self.script.phases().get(self.phase) else { return };
        let (speed, force) = match phase.action {
            Action::MoveTo { speed, .. } | Action::Palpate { speed, .. } => (speed, Vec3::zeros()),
            Action::Slide { speed, force, .. } => (speed, force),
            _ => return,
        };
        let tool = perceived.tool(&self.mapping);
        let free = force.try_normalize(0.0).unwrap_or_default();
        let off = goal.translation.vector - tool.translation.vector;
        let off = off - free * free.dot(&off);
        let turned = self.rotation && goal.rotation.angle_to(&tool.rotation) > self.hand.look_error.angular;
        if off.norm() > self.hand.look_error.linear * self.mapping.motion_scale || turned {
            self.reach_for(&goal, &tool, &force, speed * self.hand.pace);
        }
    }

    /// The force the hand presses with now, in the device's frame.
    fn push(&mut self, perceived: &Perceived<'_>) -> Vec3 {
        let press = self.press * self.effort();
        let asked = press.norm();
        let direction = press.try_normalize(0.0).unwrap_or_default();
        // Once something pushes back, the force is corrected by feel; this takes the device's friction out.
        let felt = -self.senses.felt.force.dot(&direction);
        let error = if asked > 0.0 && felt > 0.2 * asked { asked - felt } else { -self.correction };
        let limit = 0.5 * asked;
        self.correction = (self.correction + error * perceived.dt_s / CORRECT_S).clamp(-limit, limit);
        let share = perceived.dt_s / (MUSCLE_S + perceived.dt_s);
        self.intent += (press + direction * self.correction - self.intent) * share;
        self.intent
    }

    /// Share of the asked force to press with: 1, and more once the hand has pressed for a while and what it waits for has not come. Without
    /// this a hand that misjudges its force by too much would press too weakly for ever.
    fn effort(&self) -> f64 {
        let waits = |phase: &&Phase| {
            matches!(phase.action, Action::Press { .. }) && !matches!(phase.until, Until::Elapsed { .. })
        };
        match self.script.phases().get(self.phase).filter(waits) {
            Some(_) => 1.0 + (HARDER_PER_S * (self.phase_s - PATIENCE_S)).clamp(0.0, HARDER),
            None => 1.0,
        }
    }

    /// Buttons held in a phase; while a screwing hand turns back, also the one that lets the tool go.
    fn buttons(&self, phase: &Phase) -> u32 {
        match (phase.action, &self.plan) {
            (Action::Screw { release, .. }, Plan::Screw { back: true, .. }) => phase.buttons | release,
            _ => phase.buttons,
        }
    }

    fn command(&mut self, perceived: &Perceived<'_>, push: Vec3, mechanics: &Mechanics) -> HandCommand {
        let base = self.mapping.pose_world_device.rotation;
        let to_device = |v: &Vec3| base.inverse_transform_vector(v);
        let scale = self.mapping.motion_scale;
        let hand = self.hand;
        let mut target = self.mapping.pose_to_device(&self.meant.pose);
        let mut velocity = to_device(&self.meant.velocity) / scale;
        let angular_velocity = to_device(&self.meant.angular_velocity);
        // 1 along a pressing force the target follows the hand
        if let Some(direction) = self.press.try_normalize(0.0) {
            let before = self.mapping.pose_to_device(&self.target).translation.vector.dot(&direction);
            let gap = perceived.handle.translation.vector.dot(&direction) - before;
            let speed = (gap / YIELD_S).clamp(-YIELD_SPEED, YIELD_SPEED);
            let along = before + speed * perceived.dt_s - target.translation.vector.dot(&direction);
            target.translation.vector += direction * along;
            velocity += direction * (speed - velocity.dot(&direction));
        }
        // 2 the hand gives way rather than hold its place against too much
        let (target, lacking) = give_way(&target, &perceived.handle, &hand);
        self.blocked = (0..2).any(|part| lacking[part].dot(&to_device(&self.heading[part])) > 0.0);
        self.target = self.mapping.pose_to_scene(&target);
        // 3 what the hand allows for in advance
        let inertia = self.inertia(mechanics);
        let ahead = |a: Vec3, v: &Vec3, m: f64, b: f64, friction: f64| {
            a * m + v * b + v.map(|x| friction * x / (x.abs() + FRICTION_SPEED))
        };
        let m = mechanics;
        let force = ahead(
            to_device(&self.meant.acceleration) / scale,
            &velocity,
            inertia.linear,
            m.damping.linear,
            m.friction.linear,
        );
        let torque = ahead(
            to_device(&self.meant.angular_acceleration),
            &angular_velocity,
            inertia.angular,
            m.damping.angular,
            m.friction.angular,
        );
        // 4 wandering and tremor
        let strength = hand.drift_rms.linear + hand.path_noise_s * velocity.norm();
        let wander = self.drift[0].next(&mut self.noise) * strength;
        let wobble = exp_so3(&(self.drift[1].next(&mut self.noise) * hand.drift_rms.angular));
        let shake = self.tremor[0].next(&mut self.noise) * self.tremor_force.linear;
        let twist = self.tremor[1].next(&mut self.noise) * self.tremor_force.angular;
        HandCommand {
            target: Pose::from_parts((target.translation.vector + wander).into(), wobble * target.rotation),
            velocity,
            angular_velocity,
            stiffness: hand.stiffness.times(self.firmness),
            damping: self.damping,
            force: HandForce { force: force * hand.foresight + push + shake, torque: torque * hand.foresight + twist },
            buttons: match self.progress {
                Progress::Running => self.script.phases().get(self.phase).map_or(0, |phase| self.buttons(phase)),
                Progress::Finished | Progress::Failed => 0,
            },
        }
    }
}

/// The target moved towards the handle as far as the hand's strength asks; and the deflections, linear and angular, that
/// the hand had no strength for, zero where it had.
fn give_way(target: &Pose, handle: &Pose, hand: &HandModel) -> (Pose, [Vec3; 2]) {
    let cut = |off: Vec3, limit: f64| {
        let size = off.norm();
        if size < limit { (off, Vec3::zeros()) } else { (off * (limit / size), off) }
    };
    let off = target.translation.vector - handle.translation.vector;
    let (off, linear) = cut(off, hand.push_max.linear / hand.stiffness.linear);
    let turn = log_so3(&(target.rotation * handle.rotation.inverse()));
    let (turn, angular) = cut(turn, hand.push_max.angular / hand.stiffness.angular);
    let rotation: Rot = exp_so3(&turn) * handle.rotation;
    (Pose::from_parts((handle.translation.vector + off).into(), rotation), [linear, angular])
}

/// A stroke of a spanner about `centre` from where the hand is, however far it was pushed off, to the angle `to` from where strokes begin.
fn stroke(hand: &Pose, centre: &Vec3, (axis, lever): (&Vec3, &Vec3), to: f64, rate: f64) -> Stroke {
    let arm = hand.translation.vector - centre;
    let arm = arm - axis * axis.dot(&arm);
    let at = axis.dot(&lever.cross(&arm)).atan2(lever.dot(&arm));
    let place = centre + exp_so3(&(axis * at)) * lever;
    Stroke::new(Pose::from_parts(place.into(), hand.rotation), *centre, axis, to - at, rate)
}

/// Corrects the grip by a `share` of how far the tool is seen to be off its goal.
fn regrip(grip: &mut Pose, goal: &Pose, tool: &Pose, look_error: &PerPart, share: f64) {
    let bounded = |off: Vec3, limit: f64| off * (limit / off.norm().max(limit));
    let off = goal.inverse_transform_vector(&(goal.translation.vector - tool.translation.vector));
    grip.translation.vector += bounded(off, LOOK_RANGE * look_error.linear) * share;
    let turn = log_so3(&(tool.rotation.inverse() * goal.rotation));
    grip.rotation = exp_so3(&(bounded(turn, LOOK_RANGE * look_error.angular) * share)) * grip.rotation;
    grip.rotation.renormalize();
}

/// Goes after `goal` like a critically damped spring of frequency `omega`: smooth pursuit with a lag of `2/omega`.
fn follow(meant: &Meant, goal: &Pose, omega: f64, dt: f64) -> Meant {
    let off = goal.translation.vector - meant.pose.translation.vector;
    let turn = log_so3(&(goal.rotation * meant.pose.rotation.inverse()));
    let acceleration = off * (omega * omega) - meant.velocity * (2.0 * omega);
    let angular_acceleration = turn * (omega * omega) - meant.angular_velocity * (2.0 * omega);
    let velocity = meant.velocity + acceleration * dt;
    let angular_velocity = meant.angular_velocity + angular_acceleration * dt;
    let mut rotation = exp_so3(&(angular_velocity * dt)) * meant.pose.rotation;
    rotation.renormalize();
    let position = meant.pose.translation.vector + velocity * dt;
    Meant {
        pose: Pose::from_parts(position.into(), rotation),
        velocity,
        acceleration,
        angular_velocity,
        angular_acceleration,
    }
}
