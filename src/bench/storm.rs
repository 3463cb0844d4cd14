//! A storm for the haptic tick in virtual time: everything that could put energy into the hand, at random.
//!
//! Thread: main (cold).
//!
//! A restless operator (moves, presses, turns, searches, lets the clutch go) holds a simulated device; contacts and joints
//! appear, move, jump and vanish, rigid and compliant, from a simulation of 10 to 60 Hz that jitters, loses steps, delivers
//! late, sends nonsense and dies for a while; readings go missing; the machine is halted, paused and started again; on
//! request, orders change every parameter of the loop all the time and put forces of their own on the hand. The
//! judge is the simulated device's own book: what its motors gave less what its friction and drag took, sub-step by
//! sub-step, with true positions. What its mass stores is left in, which only makes the judge stricter.

use crate::device::operator::{Action, HandModel, MAX_PHASES, Phase, Script, Skill, Until};
use crate::device::{Device, DeviceSpec, HandForce, Operator, SimulatedDevice};
use crate::haptic::{
    Coupling, HapticModel, HapticState, Policy, Ratchet, Spanner, SpringDamper, Surfaces, ToolModel, Turning, tick,
};
use crate::math::{Mapping, Mat3, Pose, Random, Vec3, tangents};
use crate::mechanism::pmi::RigidInertia;
use crate::mechanism::solver::Settings;
use crate::mechanism::{Block, BlockId, Law, MAX_ROWS, MechanismSnapshot, Row, RowKind};
use crate::shared::lifecycle::{Event, State};
use crate::shared::{Change, Faults, ManualClock, MonoNs, NS_PER_S, Order, Parameter, Stamp, Tick, ToolSample};

/// Virtual time starts here, not at zero, so that the age of something that never was is large.
const ORIGIN: MonoNs = MonoNs(1_000_000_000_000);

/// How likely an order is in a tick of a storm with orders.
const ORDER_CHANCE: f64 = 0.02;
/// Sequence of the first of them.
const ORDERS_FROM: u64 = 1 << 32;

/// Most constraints at a time.
const CONSTRAINTS_MAX: usize = 10;

/// Which coupling the storm blows on; its numbers are drawn anew for every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`Coupling::Spring`].
    Spring,
    /// [`Coupling::Transparent`].
    Transparent,
    /// [`Coupling::Direct`].
    Direct,
}

/// One storm.
#[derive(Clone, Debug)]
pub struct Storm {
    /// The device as its file states it.
    pub spec: DeviceSpec,
    /// Friction and drag of the true device over those stated: the ledger relies on 0.8 of them.
    pub losses: f64,
    /// The coupling.
    pub kind: Kind,
    /// The energy bound is kept.
    pub passivity: bool,
    /// Orders change parameters and put forces on the hand.
    pub ordered: bool,
    /// How long it lasts.
    pub ticks: u64,
    /// Equal seeds give equal storms.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct StormFigures {
    /// Ticks made.
    pub ticks: u64,
    /// Most energy that the hand had got beyond what it had put in, at any time, J; negative or zero when never any.
    pub excess_max_j: f64,
    /// Energy the hand had put in and not got back at the end, J.
    pub absorbed_j: f64,
    /// Lowest balance of the ledger, J.
    pub ledger_min_j: f64,
    /// Ticks whose force the energy bound made smaller.
    pub bounded: u64,
    /// Ticks that sent a force.
    pub forced: u64,
    /// Ticks with a contact that carried force.
    pub touching: u64,
    /// Ticks in which the handle was faster than its acceleration limit allows.
    pub beyond: u64,
    /// Largest force, N, and torque, N·m, relative to their limits as they were set in that tick.
    pub force_share_max: f64,
    /// Ticks whose force rose faster than the slew limit although the energy bound, which brakes, did not act.
    pub jumped: u64,
    /// Orders carried out.
    pub obeyed: u64,
    /// Orders refused.
    pub refused: u64,
    /// Ticks that sent something not finite.
    pub not_finite: u64,
    /// Everything that was reported.
    pub faults: Faults,
}

impl StormFigures {
    /// Both storms taken together: sums and the worst of each.
    #[must_use]
    pub fn with(self, other: &Self) -> Self {
        Self {
            ticks: self.ticks + other.ticks,
            excess_max_j: self.excess_max_j.max(other.excess_max_j),
            absorbed_j: self.absorbed_j + other.absorbed_j,
            ledger_min_j: self.ledger_min_j.min(other.ledger_min_j),
            bounded: self.bounded + other.bounded,
            forced: self.forced + other.forced,
            touching: self.touching + other.touching,
            beyond: self.beyond + other.beyond,
            force_share_max: self.force_share_max.max(other.force_share_max),
            jumped: self.jumped + other.jumped,
            obeyed: self.obeyed + other.obeyed,
            refused: self.refused + other.refused,
            not_finite: self.not_finite + other.not_finite,
            faults: self.faults.with(other.faults),
        }
    }
}

impl Storm {
    /// Lets it blow.
    #[must_use]
    pub fn blow(&self) -> StormFigures {
        let mut random = Random::new(self.seed);
        let model = self.model(&mut random);
        let operator = Operator::with_hand(hand(&mut random), script(&mut random), model.mapping);
        let mut device = SimulatedDevice::new(self.true_spec(), operator, self.seed);
        let mut state = HapticState::new(&model, &self.spec);
        let mut scene = Scene::new(self.spec.rotation_sensed, random.bits());
        let clock = ManualClock::at(ORIGIN);
        let period_ns = (NS_PER_S as f64 / self.spec.rate_hz).round() as u64;
        let mut figures = StormFigures { excess_max_j: f64::NEG_INFINITY, ..StormFigures::default() };
        for index in 0..self.ticks {
            let due = ORIGIN.plus(index * period_ns);
            clock.set(due);
            let mut now = Tick::begin(index + 1, due, 1.0 / self.spec.rate_hz, NS_PER_S, &clock);
            scene.pass(state.tool(), due);
            command(&mut state, &mut random, index);
            if self.ordered && random.uniform() < ORDER_CHANCE {
                order(&mut state, &mut random, index, due);
            }
            if random.uniform() < 3e-4 {
                device.inject_invalid(1 + (random.bits() % 4) as u32);
            }
            let sample = device.read(&mut now).ok();
            figures.judge(&device);
            let before = state.record().force;
            let safe = tick(&model, &mut state, sample, &scene.snapshot, &mut now);
            if device.write(&safe, &mut now).is_err() {
                state.unheard();
            }
            figures.note(&state, &self.spec, &before);
        }
        figures.absorbed_j = -excess(&device);
        figures
    }

    /// The device as it really is.
    fn true_spec(&self) -> DeviceSpec {
        let mut spec = self.spec.clone();
        for part in [&mut spec.mechanics.friction, &mut spec.mechanics.damping] {
            part.linear *= self.losses;
            part.angular *= self.losses;
        }
        spec
    }

    fn model(&self, random: &mut Random) -> HapticModel {
        let spec = &self.spec;
        let spring = SpringDamper::isotropic(
            between(random, 2.3, 4.0),
            between(random, -0.3, 1.5),
            between(random, -1.0, 1.3),
            between(random, -3.5, -1.3),
        );
        let coupling = match self.kind {
            Kind::Spring => Coupling::Spring(spring),
            Kind::Transparent => Coupling::Transparent { spring, bandwidth_hz: between(random, 0.7, 1.6) },
            Kind::Direct => Coupling::Direct { stiffness: spring.stiffness[0], damping: spring.damping[0] },
        };
        let mass = between(random, -2.3, -0.7);
        let inertia = RigidInertia::new(mass, Mat3::identity() * (mass * 2e-4)).expect("a positive mass is sound");
        HapticModel {
            limits: spec.limits,
            mechanics: spec.mechanics,
            rotation_sensed: spec.rotation_sensed,
            rotation_actuated: spec.rotation_actuated,
            rate_hz: spec.rate_hz,
            mapping: Mapping {
                motion_scale: between(random, -0.3, 0.3),
                force_scale: between(random, -0.3, 0.3),
                pose_world_device: Pose::new(direction(random) * 0.2, direction(random) * 2.0),
            },
            clutch_button: Some(0),
            turning: (self.kind == Kind::Spring).then(turning),
            coupling,
            tool: ToolModel { inertia, start: Pose::identity() },
            policy: Policy { passivity: self.passivity, ramp_s: 0.05, ..Policy::default() },
            solver: Settings { iterations: 30, tolerance: 1e-6, relaxation: 1.2 },
            surfaces: Surfaces::default(),
        }
    }
}

impl StormFigures {
    fn judge(&mut self, device: &SimulatedDevice) {
        self.excess_max_j = self.excess_max_j.max(excess(device));
    }

    fn note(&mut self, state: &HapticState, spec: &DeviceSpec, before: &HandForce) {
        let record = state.record();
        let (force, torque) = (record.force.force.norm(), record.force.torque.norm());
        self.ticks += 1;
        self.faults.set(record.faults);
        self.bounded += u64::from(record.faults.contains(Faults::PASSIVITY_LIMITED));
        self.beyond += u64::from(record.faults.contains(Faults::ACCELERATION_EXCEEDED));
        self.forced += u64::from(force + torque > 0.0);
        self.touching += u64::from(record.contacts > 0);
        self.not_finite += u64::from(!record.force.is_finite());
        let angular = if torque > 0.0 { torque / spec.limits.force.angular } else { 0.0 };
        self.force_share_max =
            self.force_share_max.max(force / record.parameters.get(Parameter::MaxForce)).max(angular);
        let step = spec.limits.slew.linear / spec.rate_hz * (1.0 + 1e-9);
        let jumped = rise(&record.force.force, &before.force) > step;
        self.jumped += u64::from(jumped && !record.faults.contains(Faults::PASSIVITY_LIMITED));
        for answer in state.answers() {
            *(if answer.outcome.is_ok() { &mut self.obeyed } else { &mut self.refused }) += 1;
        }
        self.ledger_min_j = self.ledger_min_j.min(record.account.balance_min_j);
    }
}

/// What the hand has got beyond what it has put in, J.
fn excess(device: &SimulatedDevice) -> f64 {
    let book = device.energy();
    book.motor_j - book.drag_j - book.friction_j
}

/// Ten to a power drawn evenly.
fn between(random: &mut Random, low: f64, high: f64) -> f64 {
    10f64.powf(low + (high - low) * random.uniform())
}

fn direction(random: &mut Random) -> Vec3 {
    Vec3::from_fn(|_, _| random.normal()).try_normalize(1e-9).unwrap_or_else(Vec3::x)
}

/// Starts, pauses, halts and starts again.
fn command(state: &mut HapticState, random: &mut Random, index: u64) {
    let asked = match state.gate().state() {
        State::Enabled if random.uniform() < 1e-4 => Some(Event::Trip),
        State::Enabled if random.uniform() < 2e-4 => Some(Event::Pause),
        State::Enabled => None,
        _ if !index.is_multiple_of(50) => None,
        State::Disabled => Some(Event::Enable),
        State::Paused => Some(Event::Resume),
        State::Fault => Some(Event::Acknowledge),
    };
    if let Some(event) = asked {
        state.order(Order::of(index + 1, event));
    }
}

/// How far `force` is from the nearest point on the way from `before` to zero: what of a change is not a fall.
fn rise(force: &Vec3, before: &Vec3) -> f64 {
    let square = before.norm_squared();
    let share = if square > 0.0 { (force.dot(before) / square).clamp(0.0, 1.0) } else { 0.0 };
    (force - before * share).norm()
}

/// A few parameters anywhere in their ranges, limits evenly and the others by their logarithms, or a force.
fn order(state: &mut HapticState, random: &mut Random, index: u64, now: MonoNs) {
    let mut changes = [Change::Event(Event::Disable); 3];
    let count = 1 + random.bits() as usize % changes.len();
    for change in &mut changes[..count] {
        let parameter = Parameter::ALL[random.bits() as usize % Parameter::ALL.len()];
        let (least, most) = state.parameter_range().get(parameter).unwrap_or((1.0, 1.0));
        let value = match parameter {
            Parameter::MaxForce | Parameter::MaxSpeed => least + (most - least) * random.uniform(),
            _ => between(random, least.log10(), most.log10()),
        };
        *change = Change::Set(parameter, value);
    }
    if random.uniform() < 0.3 {
        let force = (direction(random) * (4.0 * random.uniform())).into();
        changes[count - 1] = Change::Force { force, torque: [0.0; 3], until: now.plus(NS_PER_S / 10) };
    }
    if random.uniform() < 0.1 {
        changes[count - 1] = Change::Turn { rate: 6.0 * random.uniform() - 3.0, until: now.plus(NS_PER_S / 10) };
    }
    // Sequences of the other orders are below the number of ticks.
    if let Some(order) = Order::new(ORDERS_FROM + index, &changes[..count]) {
        state.order(order);
    }
}

/// A hand somewhere between limp and cramped, calm and shaking.
fn hand(random: &mut Random) -> HandModel {
    let mut hand = [Skill::Novice, Skill::Trained, Skill::Expert][(random.bits() % 3) as usize].hand();
    let (grip, mass, tremor) = (between(random, -0.5, 0.7), between(random, -1.0, 0.3), between(random, -1.0, 0.7));
    for (part, factor) in [(&mut hand.stiffness, grip), (&mut hand.inertia, mass), (&mut hand.tremor_rms, tremor)] {
        part.linear *= factor;
        part.angular *= factor;
    }
    hand
}

/// Two buttons that turn the tool, and a ratchet spanner.
fn turning() -> Turning {
    let spanner = Spanner { lever: Vec3::x() * 0.08, button: 3, ratchet: Ratchet::Right };
    Turning { axis: Vec3::z(), rate: 3.0, torque: 1.0, buttons: [Some(1), Some(2)], spanner: Some(spanner) }
}

/// A restless script.
fn script(random: &mut Random) -> Script {
    let phases: Vec<Phase> = (0..MAX_PHASES)
        .map(|_| {
            let place = Vec3::from_fn(|_, _| 0.03 * random.normal());
            let target = Pose::new(place, direction(random) * (0.8 * random.uniform()));
            let (force, speed) = (direction(random) * (6.0 * random.uniform()), between(random, -1.5, -0.2));
            let action = match random.bits() % 6 {
                0 | 1 => Action::MoveTo { target, speed },
                2 => Action::Press { force },
                3 => Action::Slide { target, speed, force },
                4 => Action::Turn { axis: direction(random), angle_rad: 6.0, rate_rad_s: 10.0 * speed, force },
                _ => Action::Search { radius: 0.02, pitch: 0.004, speed, force },
            };
            let seconds = between(random, -0.5, 0.2);
            let phase = Phase::new("storm", action, Until::Elapsed { seconds }, 10.0);
            // The clutch, either way of turning the tool, or the spanner.
            let (draw, buttons) = (random.uniform(), [(0.1, 1), (0.15, 2), (0.2, 4), (0.35, 8)]);
            phase.holding(buttons.into_iter().find(|(share, _)| draw < *share).map_or(0, |(_, button)| button))
        })
        .collect();
    Script::new(&phases).unwrap_or_else(|_| Script::empty())
}

/// One constraint of the scene.
#[derive(Clone, Copy)]
struct Constraint {
    id: u32,
    law: Law,
    kind: RowKind,
    normal: Vec3,
    point_tool: Vec3,
    offset: f64,
    drift: f64,
}

/// A simulation that cannot be relied on.
struct Scene {
    random: Random,
    rotation: bool,
    constraints: Vec<Constraint>,
    snapshot: Box<MechanismSnapshot>,
    next: MonoNs,
    sequence: u64,
    ids: u32,
}

impl Scene {
    fn new(rotation: bool, seed: u64) -> Self {
        let snapshot = Box::new(MechanismSnapshot::empty());
        let random = Random::new(seed);
        Self { random, rotation, constraints: Vec::new(), snapshot, next: ORIGIN, sequence: 0, ids: 0 }
    }

    /// Time goes by; now and then a step is done.
    fn pass(&mut self, tool: &ToolSample, now: MonoNs) {
        if now < self.next {
            return;
        }
        let chance = self.random.uniform();
        let step_s = 1.0 / (10.0 + 50.0 * self.random.uniform());
        let wait_s =
            if chance < 0.02 { 0.2 + self.random.uniform() } else { step_s * (0.7 + 0.6 * self.random.uniform()) };
        self.next = now.plus((wait_s * NS_PER_S as f64) as u64);
        self.change(tool);
        // One step in ten is lost.
        if chance < 0.9 {
            self.publish(tool, now, step_s);
        }
    }

    /// Constraints vanish, jump, move and appear.
    fn change(&mut self, tool: &ToolSample) {
        let random = &mut self.random;
        self.constraints.retain(|_| random.uniform() > 0.1);
        for constraint in &mut self.constraints {
            constraint.offset += 1e-3 * random.normal() * f64::from(random.uniform() < 0.3);
            constraint.drift = 0.1 * random.normal() * f64::from(random.uniform() < 0.5);
        }
        while self.constraints.len() < CONSTRAINTS_MAX && self.random.uniform() < 0.4 {
            let constraint = self.appear(tool);
            self.constraints.push(constraint);
        }
    }

    fn appear(&mut self, tool: &ToolSample) -> Constraint {
        self.ids += 1;
        let random = &mut self.random;
        let (normal, point_tool) = (direction(random), direction(random) * (0.02 * random.uniform()));
        let compliance = if random.uniform() < 0.5 { 0.0 } else { between(random, -4.0, -2.0) };
        let joint = random.uniform() < 0.2;
        let kind = if joint && self.rotation && random.uniform() < 0.3 { RowKind::Rotation } else { RowKind::Point };
        let law = if joint {
            Law::Bilateral { rows: 1 + (random.bits() % 3) as u8, compliance }
        } else {
            Law::Contact { friction: random.uniform(), compliance }
        };
        let pose = &tool.pose_world_tool;
        let place = normal.dot(&(pose.translation.vector + pose.rotation * point_tool));
        // Contacts appear around the surface, now and then overlapping.
        let gap = if joint { 0.0 } else { 4e-3 * random.uniform() - 1e-3 };
        let offset = if kind == RowKind::Point { place - gap } else { 0.0 };
        Constraint { id: self.ids, law, kind, normal, point_tool, offset, drift: 0.0 }
    }

    fn publish(&mut self, tool: &ToolSample, now: MonoNs, step_s: f64) {
        self.sequence += 1;
        let late_ns = (0.04 * self.random.uniform() * NS_PER_S as f64) as u64;
        let snapshot = &mut *self.snapshot;
        snapshot.stamp = Stamp { sequence: self.sequence, at: MonoNs(now.0 - late_ns) };
        snapshot.step_s = step_s;
        snapshot.pose_world_tool = tool.pose_world_tool;
        snapshot.dropped = u32::from(self.random.uniform() < 0.05);
        (snapshot.block_count, snapshot.row_count) = (0, 0);
        for constraint in &self.constraints {
            let first = snapshot.row_count;
            snapshot.blocks[snapshot.block_count] =
                Block { id: BlockId::Custom(constraint.id.into()), first, law: constraint.law };
            snapshot.block_count += 1;
            let (t1, t2) = tangents(&constraint.normal);
            for (k, axis) in [constraint.normal, t1, t2].into_iter().enumerate().take(constraint.law.rows()) {
                let pose = &tool.pose_world_tool;
                let place = axis.dot(&(pose.translation.vector + pose.rotation * constraint.point_tool));
                let held = if constraint.kind == RowKind::Point { place } else { 0.0 };
                snapshot.rows[first + k] = Row {
                    kind: constraint.kind,
                    direction: axis,
                    point_tool: constraint.point_tool,
                    offset: if k == 0 { constraint.offset } else { held },
                    drift: if k == 0 { constraint.drift } else { 0.0 },
                    ..Row::EMPTY
                };
                snapshot.lambda[first + k] = 0.0;
                snapshot.row_count += 1;
            }
        }
        self.soften();
        self.corrupt();
    }

    /// Compliance of the scene: none, or `s L Lᵀ`.
    fn soften(&mut self) {
        let rows = self.snapshot.row_count;
        let scale = if self.random.uniform() < 0.5 { 0.0 } else { between(&mut self.random, -5.0, -2.5) };
        let roots: Vec<f64> = (0..rows * rows).map(|_| self.random.normal()).collect();
        for i in 0..rows {
            for j in 0..rows {
                let product: f64 = (0..rows).map(|k| roots[i * rows + k] * roots[j * rows + k]).sum();
                self.snapshot.compliance[i * MAX_ROWS + j] = scale * product / rows as f64;
            }
        }
    }

    /// Now and then nonsense.
    fn corrupt(&mut self) {
        let (random, snapshot) = (&mut self.random, &mut *self.snapshot);
        if snapshot.row_count == 0 || random.uniform() > 0.05 {
            return;
        }
        let row = random.bits() as usize % snapshot.row_count;
        match random.bits() % 7 {
            0 => snapshot.rows[row].offset = f64::NAN,
            1 => snapshot.rows[row].direction.y = f64::INFINITY,
            2 => snapshot.compliance[row * MAX_ROWS] = f64::NAN,
            3 => snapshot.row_count += 1,
            4 => snapshot.block_count = usize::MAX,
            5 => snapshot.pose_world_tool.translation.x = f64::NEG_INFINITY,
            _ => snapshot.rows[row].drift = f64::MAX,
        }
    }
}
