//! A scene and a device become the models the threads run on; what does not go together is found here.
//!
//! Thread: cold.
//!
//! Rule of limits: whatever the scene says, each limit of the result is the smaller of the scene's and the device's.
//! Stiffness and damping are compared as the hand feels them: with motion scale `s` and force scale `g` a scene stiffness
//! `K` is `g s² K` in the hand, an angular one `g K` (`math::Mapping`).

use super::build_turning::turning_of;
use super::make::{Solid, make};
use super::overlap::{Placed, overlap_m};
use super::spec::{SceneSpec, ShapeSpec, Weight};
use super::task::{Condition, Goal, TaskWatcher};
use super::workshop::{Watch, Workshop};
use crate::device::operator::{Action, Phase, Script, Skill, Until};
use crate::device::{DeviceSpec, Limits};
use crate::files::{Problem, Problems, Report};
use crate::geometry::{MassProperties, Shape};
use crate::haptic::{Felt, HapticModel, Policy, Surfaces, ToolModel};
use crate::math::{Mapping, Pose};
use crate::mechanism::pmi::RigidInertia;
use crate::mechanism::solver::Settings;
use crate::shared::SkinModel;
use crate::sim::{BodyId, BodyModel, Carried, CarriedBy, HandId, Motion, SimModel, ToolBody, skin_models};

/// Bounds of the solve in a tick. A residual of 10⁻⁶ of the largest violation, some tenths of a millimetre, is far below
/// what can be felt, and the next tick goes on from there.
const HAPTIC_SOLVER: Settings = Settings { iterations: 60, tolerance: 1e-6, relaxation: 1.3 };

/// The same for machined parts, which touch at two dozen places at once.
const PARTS_SOLVER: Settings = Settings { iterations: 120, ..HAPTIC_SOLVER };

/// How far a contact of machined parts gives way in the tick, m/N: 0.2 µm under a newton, two thousand times as stiff as what a device can
/// render. A nut that is tightened until the hand feels 0.3 N·m presses with up to a hundred newtons at one contact, which then
/// gives way by 20 µm; ten times softer it would give way by 60 to 90 µm. At half of it the search by the tool's motion
/// (`mechanism::primal`) fails in 1.5 % of the ticks of a wedged peg, here in 0.1 %.
const PARTS_YIELD: f64 = 2e-7;

/// Steps in which nothing may cross the margin: a snapshot is in use until the one after it is made.
const MARGIN_STEPS: f64 = 2.0;
/// Least margin chosen here, m.
const MARGIN_LEAST_M: f64 = 2e-3;
/// Least and largest margin of scenes with machined parts, m. Their room is a fraction of a millimetre, and their models know
/// distances to 1 mm.
const MARGIN_PARTS_M: (f64, f64) = (5e-4, 9e-4);

/// The same with bodies that deform: a plug that is pulled in lands within one step of a slow simulation, which must know of what it
/// lands on; and a node much farther away has another part of the plug before it by then.
const MARGIN_ELASTIC_M: (f64, f64) = (5e-4, 2e-3);

/// Everything a run of a scene on a device needs.
#[derive(Clone, Debug)]
pub struct Built {
    /// For the simulation thread.
    pub sim: SimModel,
    /// For the haptic thread.
    pub haptic: HapticModel,
    /// Device to scene, as in `haptic`.
    pub mapping: Mapping,
    /// Where the handle of a simulated device starts, in its base frame, so that the tool is where the scene says.
    pub handle_start: Pose,
    /// What the simulated operator does.
    pub script: Script,
    /// How well.
    pub skill: Skill,
    /// Seed when none is asked for.
    pub seed: u64,
    /// What counts as success.
    pub goals: Vec<Goal>,
    /// Time in which it must be achieved, s.
    pub timeout_s: f64,
    /// Bodies that deform, as they look at rest.
    pub skins: Vec<SkinModel>,
    /// What is unwise but possible.
    pub warnings: Report,
    /// The other hand, in a scene for two; its tool is the second of `sim`.
    pub second: Option<Box<SecondHand>>,
}

/// What the second hand of a scene has of its own.
#[derive(Clone, Debug)]
pub struct SecondHand {
    /// For its haptic thread.
    pub haptic: HapticModel,
    /// Its device to the scene.
    pub mapping: Mapping,
    /// Where its handle starts, as [`Built::handle_start`].
    pub handle_start: Pose,
    /// What its simulated operator does.
    pub script: Script,
    /// How well.
    pub skill: Skill,
    /// Seed when none is asked for.
    pub seed: u64,
}

impl Built {
    /// A watcher of this scene's goals, at the start.
    #[must_use]
    pub fn watcher(&self) -> TaskWatcher {
        TaskWatcher::new(&self.goals, self.timeout_s, &self.sim)
    }
}

/// Puts a scene on a device, or on two of the same kind if it is for two hands.
///
/// # Errors
/// A [`Report`] on the scene's file with every reason why the two do not go together.
pub fn build(spec: &SceneSpec, device: &DeviceSpec) -> Result<Built, Report> {
    build_for_two(spec, device, device)
}

/// Puts a scene on the devices of both hands; a scene for one hand does without the second. Regions that are elsewhere for every
/// seed are placed by the seed of the first hand's operator.
///
/// # Errors
/// As [`build`].
pub fn build_for_two(spec: &SceneSpec, device: &DeviceSpec, second: &DeviceSpec) -> Result<Built, Report> {
    watched(spec, [device, second], Watch::default())
}

/// As [`build`], for somebody who waits: `watch` tells what is being done, and can end it.
///
/// # Errors
/// As [`build`], or when it was cancelled.
pub fn build_watched(spec: &SceneSpec, device: &DeviceSpec, watch: Watch) -> Result<Built, Report> {
    watched(spec, [device, device], watch)
}

fn watched(spec: &SceneSpec, [device, second]: [&DeviceSpec; 2], watch: Watch) -> Result<Built, Report> {
    let spec = &spec.scattered();
    let mut shop = Workshop::new(&spec.source, watch);
    let (mut problems, built) = one_hand(spec, device, &mut shop);
    let other = spec.from_second_hand().map(|other| (one_hand(&other, second, &mut shop), other));
    let Some(((more, other_built), other)) = other else {
        let report = spec.source.report(problems);
        return built.map(|built| Built { warnings: report.clone(), ..built }).ok_or(report);
    };
    problems.join(more);
    let (Some(mut built), Some(other_built)) = (built, other_built) else {
        return Err(spec.source.report(problems));
    };
    built.sim.margin_m = built.sim.margin_m.max(other_built.sim.margin_m);
    join_tool(&mut built.sim, other_built.sim);
    built.skins = skin_models(&built.sim);
    together(&mut problems, &built.sim, [spec, &other]);
    let failed = problems.errors() > 0;
    let warnings = spec.source.report(problems);
    if failed {
        return Err(warnings);
    }
    let Built { haptic, mapping, handle_start, script, skill, seed, .. } = other_built;
    let second = SecondHand { haptic, mapping, handle_start, script, skill, seed };
    Ok(Built { warnings, second: Some(Box::new(second)), ..built })
}

/// Adds the tool of the second hand, and the body that it carries.
fn join_tool(sim: &mut SimModel, mut other: SimModel) {
    for Carried { body, by } in other.carried {
        if let CarriedBy::Tool { pose_tool_body, is_whole, .. } = by {
            let by = CarriedBy::Tool { hand: HandId(1), pose_tool_body, is_whole };
            sim.carried.push(Carried { body: BodyId(sim.bodies.len()), by });
            sim.bodies.push(BodyModel { name: "second_hand.tool".to_owned(), ..other.bodies.swap_remove(body.0) });
        }
    }
    sim.tools.extend(other.tools);
}

/// A tool on a spring that is much faster than the simulation is felt by the other hand as it was, not as it is: more than this
/// many times `k T²` over its mass and the two begin to hammer on each other (measured: 3.2 is calm, 14 is not).
const LATE_FOR_OTHER: f64 = 5.0;

/// What two hands in one scene must not do.
fn together(problems: &mut Problems, sim: &SimModel, hands: [&SceneSpec; 2]) {
    let at = |tool: &ToolBody| tool.start * tool.pose_tool_shape;
    if let [first, second] = sim.tools.as_slice()
        && let Some(depth) = overlap_m(
            &Placed { shape: &first.shape, pose: &at(first), deforms: false },
            &Placed { shape: &second.shape, pose: &at(second), deforms: false },
        )
    {
        let message = format!("the tools of the two hands start {} inside each other", millimetres(depth));
        let place = hands[1].source.place("tool.pose");
        problems.push(Problem::error(place, message).help("move one of them away"));
    }
    let lightest = sim.tools.iter().map(|tool| tool.inertia.mass_kg()).fold(f64::INFINITY, f64::min);
    let stiffness = hands[0].coupling.stiffness;
    if stiffness * sim.step_s() * sim.step_s() > LATE_FOR_OTHER * lightest {
        let least = (stiffness / (LATE_FOR_OTHER * lightest)).sqrt().ceil();
        let message = format!("at {} Hz the hands feel each other late, and may hammer on each other", sim.rate_hz);
        let help = format!("write simulation = \"{least} Hz\" or more in [rate], or take heavier tools");
        problems.push(Problem::warning(hands[0].source.place("simulation"), message).help(help));
    }
}

/// One hand of a scene, and everything else in it; the warnings of what is built are not filled in.
fn one_hand(spec: &SceneSpec, device: &DeviceSpec, shop: &mut Workshop) -> (Problems, Option<Built>) {
    let mut check = Check { spec, device, shop, problems: Problems::default(), solids: Vec::new(), held: None };
    check.solids();
    let (limits, policy) = (check.limits(), check.policy());
    let bodies = check.bodies();
    let tool = check.tool();
    let soft_tool = tool.as_ref().and_then(|tool| check.soft_tool(tool));
    let needle = tool.as_ref().zip(bodies.as_ref()).and_then(|(tool, bodies)| check.needle(tool, bodies));
    check.needle_asked();
    let joints = check.joints(bodies.as_deref().unwrap_or_default());
    let coupling = check.coupling(&limits);
    check.overlaps();
    check.buttons();
    check.turning();
    let (travel_m, margin_m) = check.rate_and_margin(&limits);
    let phases = tool.as_ref().zip(bodies.as_ref()).map(|(tool, bodies)| check.phases(tool, bodies, &limits));
    let goals = check.goals(&limits);
    let has_parts = check.has_parts();
    let Check { problems, .. } = check;
    let failed = problems.errors() > 0;
    let script = phases.and_then(|phases| Script::new(&phases).ok());
    let (Some(bodies), Some(tool), Some(coupling), Some(script), false) = (bodies, tool, coupling, script, failed)
    else {
        return (problems, None);
    };
    let mut sim = SimModel {
        bodies,
        tools: vec![tool.clone()],
        needle,
        joints,
        materials: spec.materials.clone(),
        gravity: spec.gravity,
        travel_m,
        collision_thread: spec.collision_thread,
        reduction: spec.reduction,
        soft_contacts: spec.soft_contacts,
        ..SimModel::empty(spec.simulation_hz, margin_m)
    };
    carry(spec, &mut sim, soft_tool);
    let haptic = HapticModel {
        limits,
        mechanics: device.mechanics,
        rotation_sensed: device.rotation_sensed,
        rotation_actuated: device.rotation_actuated,
        rate_hz: device.rate_hz,
        mapping: spec.mapping,
        clutch_button: spec.clutch_button,
        turning: spec.turning.map(|turning| turning_of(&turning, &tool.start)),
        coupling,
        tool: ToolModel { inertia: tool.inertia, start: tool.start },
        policy,
        solver: if has_parts { PARTS_SOLVER } else { HAPTIC_SOLVER },
        surfaces: surfaces(&sim, &tool),
    };
    let built = Built {
        handle_start: spec.mapping.pose_to_device(&tool.start),
        mapping: spec.mapping,
        script,
        skill: spec.operator.skill,
        seed: spec.operator.seed,
        goals,
        timeout_s: spec.task.timeout_s,
        skins: skin_models(&sim),
        warnings: spec.source.report(Problems::default()),
        second: None,
        sim,
        haptic,
    };
    (problems, Some(built))
}

/// Adds what moves carriers: supports that breathe, and the tool where it deforms.
fn carry(spec: &SceneSpec, sim: &mut SimModel, soft_tool: Option<(BodyModel, CarriedBy)>) {
    for (index, body) in spec.bodies.iter().enumerate() {
        let breathing = body.elastic.as_ref().and_then(|elastic| elastic.breathing);
        sim.carried.extend(breathing.map(|by| Carried { body: BodyId(index), by: CarriedBy::Support(by) }));
    }
    if let Some((body, by)) = soft_tool {
        sim.carried.push(Carried { body: BodyId(sim.bodies.len()), by });
        sim.bodies.push(body);
    }
}

/// What the haptic thread may query: parts and what they meet, and the tool of a scene with deformable bodies.
fn surfaces(sim: &SimModel, tool: &ToolBody) -> Surfaces {
    let is_part = |shape: &Shape| matches!(shape, Shape::Part(_));
    if sim.tool_is_soft(HandId(0)) {
        // Its contacts come from the simulation alone.
        return Surfaces::default();
    }
    let parts = is_part(&tool.shape) || sim.bodies.iter().any(|body| is_part(&body.shape));
    let deforms = sim.bodies.iter().any(|body| matches!(body.motion, Motion::Elastic(_)));
    if !parts && !deforms {
        return Surfaces::default();
    }
    let friction = |material: usize| sim.materials[material].friction;
    let standing = |body: &BodyModel| {
        matches!(body.motion, Motion::Fixed).then(|| Felt {
            shape: body.shape.clone(),
            field: body.field.clone(),
            pose: body.start * body.pose_body_shape,
            friction: (friction(body.material) * friction(tool.material)).sqrt(),
        })
    };
    let held = Felt {
        shape: tool.shape.clone(),
        field: tool.field.clone(),
        pose: tool.pose_tool_shape,
        friction: friction(tool.material),
    };
    if parts { Surfaces::new(held, sim.bodies.iter().map(standing).collect()) } else { Surfaces::of_tool(held) }
}

/// One pass of checking.
pub(super) struct Check<'a> {
    pub(super) spec: &'a SceneSpec,
    pub(super) device: &'a DeviceSpec,
    /// What shapes share.
    pub(super) shop: &'a mut Workshop,
    problems: Problems,
    /// The bodies' shapes, made; none where one cannot be.
    solids: Vec<Option<Solid>>,
    /// The tool's.
    pub(super) held: Option<Solid>,
}

/// A length for a message.
pub(super) fn millimetres(metres: f64) -> String {
    format!("{:.3} mm", metres * 1e3)
}

impl Check<'_> {
    /// An error at the place marked `key`.
    pub(super) fn error(&mut self, key: &str, message: &str, help: &str) {
        self.problems.push(Problem::error(self.spec.source.place(key), message).help(help));
    }

    /// A warning at the place marked `key`.
    pub(super) fn warn(&mut self, key: &str, message: &str, help: &str) {
        self.problems.push(Problem::warning(self.spec.source.place(key), message).help(help));
    }

    /// Makes every shape.
    fn solids(&mut self) {
        let spec = self.spec;
        let mut made = |key: &str, name: &str, shape, tissue| {
            let begun = self.shop.watch.begin(format!("shape of `{name}`"));
            match begun.and_then(|()| make(shape, tissue, self.shop)) {
                Ok(solid) => Some(solid),
                Err(unmade) => {
                    self.error(key, &unmade.message, &unmade.help);
                    None
                }
            }
        };
        let bodies = spec.bodies.iter().enumerate();
        let solids = bodies
            .map(|(index, body)| made(&format!("body.{index}.shape"), &body.name, &body.shape, body.tissue.as_ref()))
            .collect();
        let held = made("tool.shape", "tool", &spec.tool.shape, None);
        (self.solids, self.held) = (solids, held);
    }

    /// The shape of a body, where it could be made.
    pub(super) fn solid(&self, body: usize) -> Option<&Solid> {
        self.solids.get(body)?.as_ref()
    }

    /// True when a body or the tool is a machined part.
    fn has_parts(&self) -> bool {
        let is_part = |solid: &Option<Solid>| matches!(solid, Some(Solid { shape: Shape::Part(_), .. }));
        self.solids.iter().chain([&self.held]).any(is_part)
    }

    /// The device's limits, tightened by the scene.
    fn limits(&mut self) -> Limits {
        let (safety, mut limits) = (self.spec.safety, self.device.limits);
        let wanted = [
            ("max_force", safety.max_force_n, &mut limits.force.linear, "N", true),
            ("max_torque", safety.max_torque_nm, &mut limits.force.angular, "N·m", self.device.rotation_actuated),
            ("max_speed", safety.max_speed_m_per_s, &mut limits.speed.linear, "m/s", true),
            (
                "max_angular_speed",
                safety.max_angular_speed_rad_per_s,
                &mut limits.speed.angular,
                "rad/s",
                self.device.rotation_sensed,
            ),
            ("max_power", safety.max_power_w, &mut limits.power_w, "W", true),
        ];
        let mut wider = Vec::new();
        for (key, wanted, limit, unit, applies) in wanted {
            let Some(wanted) = wanted else { continue };
            if applies && wanted > *limit {
                wider.push((
                    key,
                    format!("`{key}` is more than the device's own limit of {limit} {unit}, which stands"),
                ));
            }
            *limit = wanted.min(*limit);
        }
        for (key, message) in wider {
            let help = "a scene can tighten the limits of a device, never widen them";
            self.warn(&format!("safety.{key}"), &message, help);
        }
        limits
    }

    fn policy(&mut self) -> Policy {
        let safety = self.spec.safety;
        let mut policy = Policy { passivity: safety.passivity, ..Policy::default() };
        policy.ramp_s = safety.ramp_up_s.unwrap_or(policy.ramp_s);
        policy.contact_yield = if self.has_parts() { PARTS_YIELD } else { 0.0 };
        if !safety.passivity && self.device.driver == "simulated" {
            let message = "`passivity` is off: nothing bounds the energy given to the hand";
            self.warn("safety.passivity", message, "leave it off only to study what the bound prevents");
        } else if !safety.passivity {
            let message = "`passivity` can be off with a simulated device only";
            self.error("safety.passivity", message, "write passivity = \"bound\" for a device in a person's hand");
        }
        policy
    }

    fn bodies(&mut self) -> Option<Vec<BodyModel>> {
        let mut models = Vec::with_capacity(self.spec.bodies.len());
        for (index, (body, solid)) in self.spec.bodies.iter().zip(self.solids.clone()).enumerate() {
            let Some(Solid { shape, field, elements }) = solid else { continue };
            let properties = shape.mass_properties(1.0);
            let center = match (body.weight, &properties) {
                (Weight::Fixed | Weight::Elastic | Weight::Tissue, _) | (_, None) => Pose::identity(),
                (_, Some(properties)) => Pose::from_parts(properties.center.into(), Default::default()),
            };
            let motion = match (body.weight, &properties) {
                (Weight::Fixed, _) => Some(Motion::Fixed),
                (Weight::Elastic, _) => elements.as_ref().and_then(|mesh| self.soft(index, mesh)),
                (Weight::Tissue, _) => elements.as_deref().and_then(|mesh| self.tissue(index, mesh)),
                (Weight::Mass(mass), Some(p)) => inertia_of(p, mass / p.mass).map(Motion::Rigid),
                (Weight::Density(density), Some(p)) => inertia_of(p, density).map(Motion::Rigid),
                (_, None) => None,
            };
            if motion.is_none() && !matches!(body.weight, Weight::Elastic | Weight::Tissue) {
                let message = format!("`{}` is too light or too small to be moved by computed forces", body.name);
                self.error(
                    &format!("body.{index}.weight"),
                    &message,
                    "make it heavier or larger; are the units right?",
                );
            }
            let pose_body_shape = match (&motion, &elements) {
                (Some(Motion::Tissue(_)), Some(mesh)) => {
                    let bounds = mesh.aabb();
                    Pose::from_parts((0.5 * (bounds.min + bounds.max)).into(), Default::default())
                }
                _ => center.inverse(),
            };
            models.extend(motion.map(|motion| BodyModel {
                name: body.name.clone(),
                shape,
                field,
                pose_body_shape,
                motion,
                material: body.material,
                start: body.pose * center,
            }));
        }
        (models.len() == self.spec.bodies.len()).then_some(models)
    }

    /// Bodies and the tool must not start inside one another. Two fixed bodies may, and so may tissue, which needles alone touch, and
    /// a snap-socket with anything but the tool.
    fn overlaps(&mut self) {
        let (spec, solids, held) = (self.spec, self.solids.clone(), self.held.clone());
        let placed = |index: usize| -> Option<Placed<'_>> {
            let (body, solid) = (&spec.bodies[index], solids[index].as_ref()?);
            Some(Placed { shape: &solid.shape, pose: &body.pose, deforms: solid.elements.is_some() })
        };
        let stays = |index: usize| spec.bodies[index].weight == Weight::Fixed;
        let is_let_through = |index: usize| {
            let body = &spec.bodies[index];
            body.weight == Weight::Tissue || matches!(body.shape, ShapeSpec::Socket { .. })
        };
        for (index, body) in spec.bodies.iter().enumerate() {
            let Some(this) = placed(index) else { continue };
            for (before, other) in spec.bodies[..index].iter().enumerate() {
                let harmless = is_let_through(index) || is_let_through(before) || stays(index) && stays(before);
                let (false, Some(that)) = (harmless, placed(before)) else { continue };
                if let Some(depth) = overlap_m(&this, &that) {
                    let depth = millimetres(depth);
                    let message = format!("`{}` and `{}` start {depth} inside each other", body.name, other.name);
                    let help = format!("move one of them by {depth} or more");
                    self.error(&format!("body.{index}.pose"), &message, &help);
                }
            }
            // The hub and tissue do not touch; where the needle starts is looked at by itself.
            let (Some(held), false) = (&held, body.weight == Weight::Tissue) else { continue };
            let tool = Placed { shape: &held.shape, pose: &spec.tool.pose, deforms: held.elements.is_some() };
            if let Some(depth) = overlap_m(&tool, &this) {
                let depth = millimetres(depth);
                let message = format!("the tool starts {depth} inside `{}`", body.name);
                self.error("tool.pose", &message, &format!("start it {depth} or more away"));
            }
        }
    }

    fn buttons(&mut self) {
        let count = u32::from(self.device.buttons);
        let help = format!("the device has {count} buttons; use one of them, or none");
        if self.spec.clutch_button.is_some_and(|bit| u32::from(bit) >= count) {
            self.error("clutch_button", "the device has no such button", &help);
        }
        for (index, phase) in self.spec.operator.phases.iter().enumerate() {
            if phase.buttons.checked_shr(count).unwrap_or(0) != 0 {
                self.error(&format!("phase.{index}.button"), "the device has no such button", &help);
            }
        }
    }

    /// How far the tool may move until contacts are looked for again, and the gap up to which they are kept ready.
    fn rate_and_margin(&mut self, limits: &Limits) -> (f64, f64) {
        let rate = self.spec.simulation_hz;
        if rate > self.device.rate_hz {
            let message =
                format!("the simulation is faster than the haptic loop, which has {} Hz", self.device.rate_hz);
            self.error("simulation", &message, "lower `simulation`: no one could feel the steps in between");
        }
        let travel = limits.speed.linear * self.spec.mapping.motion_scale * MARGIN_STEPS / rate;
        let tool_deforms = self.spec.tool.elastic.is_some();
        let deforms = tool_deforms || self.spec.bodies.iter().any(|body| body.weight == Weight::Elastic);
        let (least, most) = match (deforms, self.has_parts()) {
            (true, _) => MARGIN_ELASTIC_M,
            (false, true) => MARGIN_PARTS_M,
            (false, false) => (MARGIN_LEAST_M, f64::INFINITY),
        };
        let Some(margin) = self.spec.margin_m else { return (travel, travel.clamp(least, most)) };
        if margin < travel {
            let (little, way) = (millimetres(margin), millimetres(travel));
            let message =
                format!("`margin` is {little}, but the tool can move {way} before contacts are looked for again");
            let help = "leave `margin` out, raise `simulation`, or lower `max_speed` in [safety]";
            self.warn("margin", &message, help);
        }
        (travel, margin)
    }

    /// The goals, with what they refer to. Goals that cannot be met on this device are errors.
    fn goals(&mut self, limits: &Limits) -> Vec<Goal> {
        let mut goals = self.spec.task.goals.clone();
        for (index, goal) in goals.iter_mut().enumerate() {
            let key = format!("goal.{index}");
            match &mut goal.condition {
                Condition::ToolOver { body, region, position, .. } => {
                    *position = self.middle_of_region(&key, *body, region).unwrap_or(*position);
                }
                Condition::ForceAbove { force_n } => self.can_feel_force(&key, *force_n, limits),
                Condition::TorqueAbove { torque_nm } => self.can_feel_torque(&key, *torque_nm, limits),
                _ => {}
            }
        }
        goals
    }

    /// What ends or moves a phase must be something this device can do.
    pub(super) fn phase_fits(&mut self, index: usize, phase: &Phase, limits: &Limits) {
        let (action, until) = (format!("phase.{index}.action"), format!("phase.{index}.until"));
        match phase.until {
            Until::ForceAbove { force_n, .. } => self.can_feel_force(&until, force_n, limits),
            Until::TorqueAbove { torque_nm, .. } => self.can_feel_torque(&until, torque_nm, limits),
            _ => {}
        }
        if matches!(phase.action, Action::Screw { release: 0, .. }) {
            let message = "this phase lets the tool go between grips, but there is no clutch";
            self.error(&action, message, "write `clutch_button` in [mapping], or take `turn`");
        }
        if matches!(phase.action, Action::Turn { .. } | Action::Screw { .. }) && !self.device.rotation_sensed {
            let message = "this phase turns the handle, but the device senses no rotation";
            let help = "take a device with six degrees of freedom, or `swing` a spanner, which [turning] can have";
            self.error(&action, message, help);
        }
        let (push, most) = (phase.action.force().norm(), limits.force.linear);
        if push > most {
            let message = format!("the hand pushes with {push} N, but at most {most} N may push back");
            self.warn(&action, &message, "the handle will sink in: press less, or raise `max_force` in [safety]");
        }
    }

    fn can_feel_force(&mut self, key: &str, force_n: f64, limits: &Limits) {
        let most = limits.force.linear;
        if force_n >= most {
            let message = format!("{force_n} N can never be felt: the limit is {most} N");
            self.error(key, &message, "ask for less, raise `max_force` in [safety], or take a stronger device");
        }
    }

    fn can_feel_torque(&mut self, key: &str, torque_nm: f64, limits: &Limits) {
        let most = limits.force.angular;
        if self.spec.turning.is_some_and(|turning| turning.spanner.is_some()) {
            self.can_feel_by_lever(key, torque_nm, limits);
        } else if !self.device.rotation_actuated {
            let message = "this needs a torque, but the device gives none";
            self.error(key, message, "take a device with six degrees of freedom, or write [turning.spanner]");
        } else if torque_nm >= most {
            let message = format!("{torque_nm} N·m can never be felt: the limit is {most} N·m");
            self.error(key, &message, "ask for less, raise `max_torque` in [safety], or take a stronger device");
        }
    }
}

/// Mass properties at density one, made heavier by `density`.
pub(super) fn inertia_of(properties: &MassProperties, density: f64) -> Option<RigidInertia> {
    RigidInertia::new(properties.mass * density, properties.inertia * density)
}
