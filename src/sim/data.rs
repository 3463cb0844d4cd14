//! What changes from step to step. Each block names the stage of [`super::step`] that writes it.
//!
//! Thread: simulation.

use super::assemble::Assembly;
use super::body::beam::Beam;
use super::body::carrier::{CarriedBy, Carrier};
use super::body::corotational::Corotational;
use super::body::elastic::Elastic;
use super::body::rigid::Mover;
use super::body::tissue::Tissue;
use super::body::{Body, When};
use super::ids::{BodyId, HandId, MoverId, PerMover};
use super::source::contact::Contact;
use super::source::joint::Joint;
use super::source::needle::NeedleSource;
use super::source::soft::SoftContacts;
use super::step::FORESEEN_S;
use super::{BodyModel, MaterialOrder, Motion, NeedleError, SimModel};
use crate::collision::{Collider, ColliderId, CollisionModel, ModelError, Pair, Request, Service, Slot, Watch};
use crate::geometry::{Feature, Shape};
use crate::math::{Pose, Twist, Vec3, Wrench};
use crate::mechanism::newton::Workspace;
use crate::mechanism::pmi::{Coriolis, Gravity, RigidBody, RigidStep};
use crate::mechanism::{BlockId, MechanismSnapshot, Problem};
use crate::shared::{MonoNs, NS_PER_S, SceneView, Stamp, ToolSample};

/// Most contacts of a pair of parts.
const CONTACTS_OF_PARTS: usize = 12;

/// Most contacts of a pair of the tool's when steps are long.
const CONTACTS_WATCHED: usize = 36;
/// Length of a step up to which a tool hardly moves in it, s.
const SHORT_STEP_S: f64 = 2e-3;

/// Force between two bodies of the scene over the last step. What a tool does is known to its haptic thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactForce {
    /// Names the contact from step to step.
    pub id: BlockId,
    /// The bodies. The force acts on the first.
    pub bodies: [BodyId; 2],
    /// Where, in the world.
    pub point: Vec3,
    /// Unit normal in the world, towards the first body.
    pub normal: Vec3,
    /// Mean force of the step on the first body, N, in the world: impulses of impact are in it.
    pub force: Vec3,
}

/// Figures of one step.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepReport {
    /// Contacts looked at.
    pub contacts: usize,
    /// Contacts that carry force.
    pub touching: usize,
    /// Sweeps and Newton steps of the solve.
    pub iterations: u32,
    /// Residual of the solve.
    pub residual: f64,
    /// The solve met its tolerance.
    pub converged: bool,
    /// Deepest overlap found at the end of the step, before it was resolved, m.
    pub penetration_m: f64,
    /// Energy that pushing overlapping bodies apart gave them and that they had no speed to pay for with, J.
    pub lifted_j: f64,
    /// Contacts that did not fit.
    pub dropped: u32,
}

/// Why a model cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// Its shapes.
    #[error(transparent)]
    Shapes(#[from] ModelError),
    /// Its needle or its tissue.
    #[error(transparent)]
    Needle(#[from] NeedleError),
}

/// See the file's head.
pub struct SimData {
    /// Step number and the time its state holds at.
    pub stamp: Stamp,
    /// The bodies of the model, and behind them the beam of a needle. Written by 7 correct, 8 settle.
    pub bodies: Vec<Body>,
    /// Poses as shown. Written by 9 publish.
    pub view: SceneView,
    /// Path of a needle through the scene, m, from its entry to its tip, as shown; empty without one. Written by 9 publish.
    pub path: Vec<Vec3>,
    /// Figures of the last step.
    pub report: StepReport,
    /// Forces of the last step. Written by 8 settle.
    pub forces: Vec<ContactForce>,
    /// Friction and restitution in use, in the order of [`SimModel::materials`].
    pub(super) materials: Vec<(f64, f64)>,
    /// Sequence of the material order taken last.
    materials_taken: u64,
    pub(super) service: Service,
    pub(super) request: Request,
    /// The tools as they were last seen.
    pub(super) seen: Vec<ToolSample>,
    // 1 place, 2 free
    pub(super) movers: PerMover<Mover>,
    /// Of every body of the model that is rigid.
    pub(super) steps: Vec<Option<RigidStep>>,
    /// Wrench on each body during the coming step, besides gravity and contact.
    pub(super) external: Vec<Wrench>,
    /// Features of each mover's shape, in the frame of the body.
    pub(super) features: PerMover<Vec<Feature>>,
    // 3 collide
    /// Between rigid bodies of the scene.
    pub(super) contacts: Vec<Contact>,
    /// Between a tool and a rigid body of the scene, or two tools.
    pub(super) tool_contacts: Vec<Contact>,
    // 4 gather
    pub(super) joints: Vec<Joint>,
    pub(super) soft_contacts: SoftContacts,
    pub(super) needle: Option<NeedleSource>,
    // 5 assemble, 6 solve
    pub(super) assembly: Assembly,
    /// Total impulses of the step, N·s; written by 6 solve, 8 settle.
    pub(super) impulses: Vec<f64>,
    /// Velocity of the soft ends along each row at the end of the step, m/s; written by 7 correct.
    pub(super) soft_speeds: Vec<f64>,
    pub(super) workspace: Workspace,
}

impl SimData {
    /// Everything at its start, at rest.
    ///
    /// # Errors
    /// When a shape or the margin makes no sense; the scene reader has checked that.
    pub fn new(model: &SimModel) -> Result<Self, SimError> {
        let collision = collision_model(model)?;
        Self::with_service(model, Service::inline(collision))
    }

    /// The same with the collision thread, where the model asks for one and the system gives it.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_threads(model: &SimModel) -> Result<Self, SimError> {
        if model.collision_thread {
            let stale_after_ns = (3.0 * model.step_s() * crate::shared::NS_PER_S as f64) as u64;
            if let Ok(service) = Service::threaded(collision_model(model)?, stale_after_ns) {
                return Self::with_service(model, service);
            }
        }
        Self::new(model)
    }

    fn with_service(model: &SimModel, service: Service) -> Result<Self, SimError> {
        let fixed = |body: &BodyModel| Mover::fixed(body.shape.clone(), body.pose_body_shape, body.start);
        let movers = PerMover {
            tools: model.tools.iter().map(|tool| Mover::tool(tool, tool.start)).collect(),
            bodies: model.bodies.iter().map(fixed).collect(),
        };
        let mut bodies = Vec::with_capacity(model.bodies.len() + 1);
        for (index, body) in model.bodies.iter().enumerate() {
            bodies.push(make_body(model, body, model.carrier_of(BodyId(index)))?);
        }
        let soft_contacts = SoftContacts::new(&bodies);
        let needle = match (&model.needle, model.tools.first()) {
            (Some(needle), Some(tool)) => {
                let beam =
                    Beam::new(needle.beam, HandId(0), needle.pose_tool_hub, &tool.start).map_err(NeedleError::from)?;
                bodies.push(Body::Beam(Box::new(beam)));
                Some(NeedleSource::new(needle.clone(), BodyId(bodies.len() - 1)))
            }
            _ => None,
        };
        let joint = |joint| Joint::new(joint, &bodies, |body| model.bodies[body.0].start);
        let joints = model.joints.iter().map(joint).collect();
        let mut data = Self {
            stamp: Stamp::default(),
            view: SceneView::empty(),
            path: Vec::new(),
            report: StepReport::default(),
            forces: Vec::new(),
            materials: model.materials.iter().map(|material| (material.friction, material.restitution)).collect(),
            materials_taken: 0,
            seen: model.tools.iter().map(|tool| ToolSample::at_rest(tool.start)).collect(),
            service,
            request: Request::new(),
            steps: vec![None; movers.bodies.len()],
            external: vec![Wrench::zeros(); bodies.len()],
            features: features(model),
            movers,
            contacts: Vec::new(),
            tool_contacts: Vec::new(),
            joints,
            soft_contacts,
            needle,
            assembly: Assembly::default(),
            impulses: Vec::new(),
            soft_speeds: Vec::new(),
            workspace: Workspace::default(),
            bodies,
        };
        data.show();
        Ok(data)
    }

    /// Puts the clock so that the next step ends at `now`: steps that were missed are not made up for.
    pub fn next_ends_at(&mut self, model: &SimModel, now: MonoNs) {
        self.stamp.at = MonoNs(now.0.saturating_sub((model.step_s() * NS_PER_S as f64).round() as u64));
    }

    /// Uses other friction and restitution from the next look at contacts on. An order that is not sound changes nothing, but
    /// it counts as taken; false then.
    pub fn take_materials(&mut self, order: &MaterialOrder) -> bool {
        self.materials_taken = order.sequence;
        let sound = order.is_sound();
        if sound {
            for (own, new) in self.materials.iter_mut().zip(&order.values[..order.count]) {
                *own = *new;
            }
        }
        sound
    }

    /// Sequence of the material order taken last.
    #[must_use]
    pub fn materials_taken(&self) -> u64 {
        self.materials_taken
    }

    /// Friction and restitution between two materials: the geometric mean of the one, the larger of the other.
    pub(super) fn pair(&self, a: usize, b: usize) -> (f64, f64) {
        pair(&self.materials, a, b)
    }

    /// A value for every tool and every body, soft ones and beams as well.
    pub(super) fn for_each_mover<T: Clone>(&self, value: T) -> PerMover<T> {
        PerMover { tools: vec![value.clone(); self.hands()], bodies: vec![value; self.bodies.len()] }
    }

    /// Number of tools.
    pub(super) fn hands(&self) -> usize {
        self.seen.len()
    }

    /// The largest problem of the last step, for studies of solvers.
    #[must_use]
    pub fn problem(&self) -> Problem<'_> {
        self.assembly.largest()
    }

    /// Pose of a body now; of a free soft body the mean one.
    #[must_use]
    pub fn pose(&self, body: BodyId) -> Pose {
        match &self.bodies[body] {
            Body::Rigid(body) => *body.pose(),
            Body::Corotational(body) => body.mean_pose(),
            other => *other.carrier().unwrap_or(&self.movers.bodies[body.0].pose),
        }
    }

    /// Shares of the soft ends in the places of rows that rigid bodies are on too, at the start of the step, m.
    pub(super) fn soft_starts(&self) -> Vec<f64> {
        self.soft_shares(When::Start)
    }

    /// Velocities of the soft ends, from their places at the start of the step that was just finished.
    pub(super) fn find_soft_speeds(&mut self, starts: &[f64], step_s: f64) {
        let ends = self.soft_shares(When::Now);
        self.soft_speeds.clear();
        self.soft_speeds.extend(ends.iter().zip(starts).map(|(end, start)| (end - start) / step_s));
    }

    fn soft_shares(&self, when: When) -> Vec<f64> {
        let mut shares = Vec::with_capacity(self.assembly.lambda.len());
        for constraint in &self.assembly.constraints {
            let meets_rigid = constraint.is_soft() && (0..2).any(|side| constraint.rigid_rows(side).is_some());
            for row in 0..constraint.law.rows() {
                let span = constraint.span().filter(|_| meets_rigid);
                shares.push(span.map_or(0.0, |span| span.soft_along(row, &self.bodies, when)));
            }
        }
        shares
    }

    /// Pushes a body during the next step, and that step alone, with `wrench` (force in the world, torque about the
    /// centre of mass in the body's frame) besides gravity and contact; adds to what was applied before. Fixed bodies do
    /// not mind.
    pub fn apply(&mut self, body: BodyId, wrench: &Wrench) {
        self.external[body.0] += wrench;
    }

    /// Kinetic and potential energy of all bodies, J.
    #[must_use]
    pub fn energy_j(&self) -> f64 {
        self.bodies.iter().map(Body::energy_j).sum()
    }

    /// Calls `each` with points along the channels that the needle is in, from the entry to the end, in the world.
    pub fn channel(&self, each: &mut dyn FnMut(Vec3)) {
        if let Some(needle) = &self.needle {
            needle.channel(&self.bodies, each);
        }
    }

    /// True when the collision thread was to serve the last step and could not.
    #[must_use]
    pub fn collision_fell_back(&self) -> bool {
        self.service.fell_back()
    }

    /// True when bodies are not where contacts were last looked for.
    pub(super) fn moved_since_look(&self) -> bool {
        let seen = &self.request.poses[self.hands()..];
        let moved = self.movers.bodies.iter().zip(seen).any(|(mover, seen)| mover.pose != *seen);
        moved || self.request.stamp.sequence == 0
    }

    /// Fills the view with the poses of now.
    pub(super) fn show(&mut self) {
        self.view = SceneView::empty();
        self.view.stamp = self.stamp;
        let mut tools = self.seen.iter().map(|tool| tool.pose_world_tool);
        self.view.tool = tools.next().unwrap_or_default();
        self.view.other_tool = tools.next();
        for index in 0..self.movers.bodies.len() {
            let pose = self.pose(BodyId(index));
            self.view.show(pose);
        }
        self.path.clear();
        if let Some(needle) = &self.needle {
            self.view.needle = Some(*needle.figures());
            self.path.extend(self.bodies.iter().filter_map(Body::beam).flat_map(|beam| beam.body().shape()));
        }
    }
}

/// A body at its start, at rest.
fn make_body(model: &SimModel, body: &BodyModel, by: Option<CarriedBy>) -> Result<Body, SimError> {
    Ok(match &body.motion {
        Motion::Fixed => Body::Fixed,
        Motion::Rigid(inertia) => {
            let gravity = Gravity { acceleration: model.gravity };
            Body::Rigid(Box::new(RigidBody::new(*inertia, gravity, Coriolis::Midpoint, body.start, Twist::zeros())))
        }
        Motion::Elastic(elastic) => Body::Elastic(Box::new(Elastic::new(elastic.clone(), body.start, by))),
        Motion::Corotational(soft) => Body::Corotational(Box::new(Corotational::new(soft.clone(), body.start, by))),
        Motion::Custom(custom) => Body::Custom(custom.body(Carrier::new(by, body.start))),
        Motion::Tissue(tissue) => {
            Body::Tissue(Box::new(Tissue::new(tissue.clone(), body.start).map_err(NeedleError::from)?))
        }
    })
}

/// Friction and restitution between two materials: the geometric mean of the one, the larger of the other.
pub(super) fn pair(materials: &[(f64, f64)], a: usize, b: usize) -> (f64, f64) {
    let (a, b) = (materials[a], materials[b]);
    ((a.0 * b.0).sqrt(), a.1.max(b.1))
}

/// Features of the tools and of every body, each in the frame of its body.
fn features(model: &SimModel) -> PerMover<Vec<Feature>> {
    let of =
        |shape: &Shape, pose: &Pose| shape.all_features().iter().map(|feature| feature.transformed(pose)).collect();
    PerMover {
        tools: model.tools.iter().map(|tool| of(&tool.shape, &tool.pose_tool_shape)).collect(),
        bodies: model.bodies.iter().map(|body| of(&body.shape, &body.pose_body_shape)).collect(),
    }
}

fn collision_model(model: &SimModel) -> Result<CollisionModel, ModelError> {
    let hands = model.tools.len();
    let tools = model.tools.iter().map(|tool| (&tool.shape, tool.pose_tool_shape, &tool.field));
    let bodies = model.bodies.iter().map(|body| (&body.shape, body.pose_body_shape, &body.field));
    let collider = |(index, (shape, pose_body_shape, field)): (usize, (&Shape, Pose, &Option<_>))| Collider {
        body: Slot(index as u16),
        shape: shape.clone(),
        pose_body_shape,
        field: field.clone(),
    };
    let colliders: Vec<Collider> = tools.chain(bodies).enumerate().map(collider).collect();
    let body_at = |slot: Slot| MoverId::of_slot(slot, hands).body();
    let body_of = |collider: ColliderId| body_at(colliders[usize::from(collider.0)].body);
    let is_fixed = |slot: Slot| body_at(slot).is_some_and(|body| matches!(model.bodies[body.0].motion, Motion::Fixed));
    let deforms = |collider: ColliderId| body_of(collider).is_some_and(|body| model.bodies[body.0].motion.is_soft());
    let joined = |pair: &Pair| body_of(pair.a).zip(body_of(pair.b)).is_some_and(|(a, b)| model.are_joined(a, b));
    let is_soft_tool = |collider: ColliderId| match MoverId::of_slot(colliders[usize::from(collider.0)].body, hands) {
        MoverId::Tool(hand) => model.tool_is_soft(hand),
        MoverId::Body(_) => false,
    };
    let mut pairs = CollisionModel::every_pair(&colliders, is_fixed);
    // Soft bodies have a detection of their own; bodies that a joint connects do not touch.
    pairs.retain(|pair| ![pair.a, pair.b].into_iter().any(|side| deforms(side) || is_soft_tool(side)) && !joined(pair));
    let made = CollisionModel::new(&colliders, pairs, model.margin_m)?;
    let made = made.reducing(model.reduction, CONTACTS_OF_PARTS);
    // A short step needs no watch: what is next is among the contacts.
    if model.step_s() <= SHORT_STEP_S {
        return Ok(made);
    }
    Ok(made.watching(Watch {
        bodies: hands as u16,
        reach_m: model.travel_m,
        outlooks: model.step_s() / model.step_s().min(FORESEEN_S),
        most: CONTACTS_WATCHED,
    }))
}

/// An empty snapshot in a box, for those who drive steps.
#[must_use]
pub fn empty_snapshot() -> Box<MechanismSnapshot> {
    Box::new(MechanismSnapshot::empty())
}
