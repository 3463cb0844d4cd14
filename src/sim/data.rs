//! What changes from step to step. Each block names the stage of [`super::step`] that writes it.
//!
//! Thread: simulation.

use super::rows::{Bent, Contact};
use super::step::FORESEEN_S;
use super::{ElasticState, MaterialOrder, Motion, NeedleError, NeedleState, SimModel, ToolBody};
use crate::collision::{Collider, CollisionModel, ModelError, Request, Service, Watch};
use crate::geometry::{Feature, Shape};
use crate::math::{Mat6, Pose, Twist, Vec3, Wrench};
use crate::mechanism::newton::Workspace;
use crate::mechanism::pmi::{Coriolis, Gravity, RigidBody, RigidStep};
use crate::mechanism::{Block, BlockId, MechanismSnapshot, Problem};
use crate::shared::{MonoNs, NS_PER_S, SceneView, Stamp, ToolSample};

/// Most contacts of a pair of parts.
const CONTACTS_OF_PARTS: usize = 12;

/// Most contacts of a pair of the tool's when steps are long.
const CONTACTS_WATCHED: usize = 36;
/// Length of a step up to which a tool hardly moves in it, s.
const SHORT_STEP_S: f64 = 2e-3;

/// One of the things contacts act between.
#[derive(Clone, Debug)]
pub(super) struct Mover {
    pub shape: Shape,
    pub pose_body_shape: Pose,
    /// Pose at the start of the step; from stage 6 on at its end.
    pub pose: Pose,
    /// Twist at the start of the step; from stage 6 on at its end.
    pub twist: Twist,
    /// Midpoint twist without contact.
    pub free: Twist,
    /// Midpoint twist.
    pub midpoint: Twist,
    /// Besides it, what moves the body without giving it speed.
    pub creep: Twist,
    /// `A⁻¹`; zero for what does not yield.
    pub inverse: Mat6,
    /// `M⁻¹`; zero for what does not yield.
    pub inverse_mass: Mat6,
    /// Where rows are made.
    pub bent: Bent,
    /// Sum of the contact wrenches of the step.
    pub contact: Wrench,
}

impl Mover {
    pub(super) fn fixed(shape: Shape, pose_body_shape: Pose, pose: Pose) -> Self {
        Self {
            shape,
            pose_body_shape,
            pose,
            twist: Twist::zeros(),
            free: Twist::zeros(),
            midpoint: Twist::zeros(),
            creep: Twist::zeros(),
            inverse: Mat6::zeros(),
            inverse_mass: Mat6::zeros(),
            bent: Bent::at(pose),
            contact: Wrench::zeros(),
        }
    }

    /// A tool at `pose`: nothing in the simulation moves it.
    pub(super) fn tool(tool: &ToolBody, pose: Pose) -> Self {
        Self::fixed(tool.shape.clone(), tool.pose_tool_shape, pose)
    }

    /// Forces move it.
    pub(super) fn yields(&self) -> bool {
        self.inverse_mass[(0, 0)] > 0.0
    }
}

/// Force between two bodies of the scene over the last step. What a tool does is known to its haptic thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactForce {
    /// Names the contact from step to step.
    pub id: u64,
    /// The bodies, by index in the model. The force acts on the first.
    pub bodies: [usize; 2],
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
    /// Bodies that move; `None` for fixed ones. Written by 4 move, 5 settle, 7 push apart.
    pub bodies: Vec<Option<RigidBody>>,
    /// Bodies that deform; `None` for others. Written by 5 settle.
    pub elastic: Vec<Option<ElasticState>>,
    /// The needle and the tissue it goes into. Written by 5 settle.
    pub needle: Option<NeedleState>,
    /// Poses as shown. Written by 8 publish.
    pub view: SceneView,
    /// Path of a needle through the scene, m, from its entry to its tip, as shown; empty without one. Written by 8 publish.
    pub path: Vec<Vec3>,
    /// Figures of the last step.
    pub report: StepReport,
    /// Forces of the last step. Written by 5 settle.
    pub forces: Vec<ContactForce>,
    /// Friction and restitution in use, in the order of [`SimModel::materials`].
    pub(super) materials: Vec<(f64, f64)>,
    /// Sequence of the material order taken last.
    materials_taken: u64,
    pub(super) service: Service,
    pub(super) request: Request,
    /// The tools as they were last seen.
    pub(super) seen: Vec<ToolSample>,
    // 1 place
    /// The tools, then the bodies: body `i` of the model is mover `hands() + i`.
    pub(super) movers: Vec<Mover>,
    pub(super) steps: Vec<Option<RigidStep>>,
    /// Wrench on each body during the coming step, besides gravity and contact.
    pub(super) external: Vec<Wrench>,
    /// Features of each mover's shape, in the frame of the body.
    pub(super) features: Vec<Vec<Feature>>,
    // 6 collide
    /// Between bodies of the scene.
    pub(super) contacts: Vec<Contact>,
    /// Between a tool and a body of the scene, or two tools.
    pub(super) tool_contacts: Vec<Contact>,
    // 2 assemble, 3 solve
    pub(super) blocks: Vec<Block>,
    pub(super) compliance: Vec<f64>,
    pub(super) free: Vec<f64>,
    pub(super) lambda: Vec<f64>,
    /// Total impulses of the step, N·s; written by 3 solve, 5 settle.
    pub(super) impulses: Vec<f64>,
    /// Forces of the last step by contact, sorted, for the warm start.
    pub(super) remembered: Vec<(BlockId, [f64; 3])>,
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
        let gravity = Gravity { acceleration: model.gravity };
        let body = |body: &super::BodyModel| match body.motion {
            Motion::Fixed | Motion::Elastic(_) | Motion::Tissue(_) => None,
            Motion::Free(inertia) => {
                Some(RigidBody::new(inertia, gravity, Coriolis::Midpoint, body.start, Twist::zeros()))
            }
        };
        let elastic = |body: &super::BodyModel| match &body.motion {
            Motion::Elastic(model) => Some(ElasticState::new(model.clone())),
            Motion::Fixed | Motion::Free(_) | Motion::Tissue(_) => None,
        };
        let mut movers: Vec<Mover> = model.tools.iter().map(|tool| Mover::tool(tool, tool.start)).collect();
        movers
            .extend(model.bodies.iter().map(|body| Mover::fixed(body.shape.clone(), body.pose_body_shape, body.start)));
        let mut data = Self {
            stamp: Stamp::default(),
            bodies: model.bodies.iter().map(body).collect(),
            elastic: model.bodies.iter().map(elastic).collect(),
            needle: needle(model)?,
            view: SceneView::empty(),
            path: Vec::new(),
            report: StepReport::default(),
            forces: Vec::new(),
            materials: model.materials.iter().map(|material| (material.friction, material.restitution)).collect(),
            materials_taken: 0,
            seen: model.tools.iter().map(|tool| ToolSample::at_rest(tool.start)).collect(),
            service,
            request: Request::new(),
            steps: vec![None; movers.len()],
            external: vec![Wrench::zeros(); model.bodies.len()],
            features: features(model),
            movers,
            contacts: Vec::new(),
            tool_contacts: Vec::new(),
            blocks: Vec::new(),
            compliance: Vec::new(),
            free: Vec::new(),
            lambda: Vec::new(),
            impulses: Vec::new(),
            remembered: Vec::new(),
            workspace: Workspace::default(),
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
        let (a, b) = (self.materials[a], self.materials[b]);
        ((a.0 * b.0).sqrt(), a.1.max(b.1))
    }

    /// Number of tools.
    pub(super) fn hands(&self) -> usize {
        self.seen.len()
    }

    /// The contact problem of the last step between bodies of the scene, for those who study solvers.
    #[must_use]
    pub fn problem(&self) -> Problem<'_> {
        Problem { blocks: &self.blocks, compliance: &self.compliance, stride: self.free.len(), free: &self.free }
    }

    /// Pose of body `index` now.
    #[must_use]
    pub fn pose(&self, index: usize) -> &Pose {
        self.bodies[index].as_ref().map_or(&self.movers[self.hands() + index].pose, RigidBody::pose)
    }

    /// Pushes body `index` during the next step, and that step alone, with `wrench` (force in the world, torque about the
    /// centre of mass in the body's frame) besides gravity and contact; adds to what was applied before. Fixed bodies do
    /// not mind.
    pub fn apply(&mut self, index: usize, wrench: &Wrench) {
        self.external[index] += wrench;
    }

    /// Kinetic and potential energy of all bodies, J.
    #[must_use]
    pub fn energy_j(&self) -> f64 {
        let rigid: f64 = self.bodies.iter().flatten().map(|body| body.ledger().total_j()).sum();
        rigid + self.elastic.iter().flatten().map(ElasticState::energy_j).sum::<f64>()
    }

    /// True when the collision thread was to serve the last step and could not.
    #[must_use]
    pub fn collision_fell_back(&self) -> bool {
        self.service.fell_back()
    }

    /// True when bodies are not where contacts were last looked for.
    pub(super) fn moved_since_look(&self) -> bool {
        let moved =
            self.movers.iter().zip(&self.request.poses).skip(self.hands()).any(|(mover, seen)| mover.pose != *seen);
        moved || self.request.stamp.sequence == 0
    }

    /// Fills the view with the poses of now.
    pub(super) fn show(&mut self) {
        self.view = SceneView::empty();
        self.view.stamp = self.stamp;
        let mut tools = self.seen.iter().map(|tool| tool.pose_world_tool);
        self.view.tool = tools.next().unwrap_or_default();
        self.view.other_tool = tools.next();
        for index in 0..self.bodies.len() {
            let pose = *self.pose(index);
            self.view.show(pose);
        }
        self.path.clear();
        if let Some(needle) = &self.needle {
            self.view.needle = Some(*needle.figures());
            self.path.extend(needle.beam().shape());
        }
    }
}

/// The needle at its start, with all tissue of the scene.
fn needle(model: &SimModel) -> Result<Option<NeedleState>, NeedleError> {
    let (Some(needle), Some(tool)) = (&model.needle, model.tools.first()) else { return Ok(None) };
    let tissue = |(index, body): (usize, &super::BodyModel)| match &body.motion {
        Motion::Tissue(tissue) => Some((index, tissue.clone(), body.start)),
        Motion::Fixed | Motion::Free(_) | Motion::Elastic(_) => None,
    };
    let tissues: Vec<_> = model.bodies.iter().enumerate().filter_map(tissue).collect();
    NeedleState::new(needle.clone(), &tissues, &tool.start).map(Some)
}

/// Features of the tools and of every body, each in the frame of its body.
fn features(model: &SimModel) -> Vec<Vec<Feature>> {
    let of =
        |shape: &Shape, pose: &Pose| shape.all_features().iter().map(|feature| feature.transformed(pose)).collect();
    let tools = model.tools.iter().map(|tool| of(&tool.shape, &tool.pose_tool_shape));
    tools.chain(model.bodies.iter().map(|body| of(&body.shape, &body.pose_body_shape))).collect()
}

fn collision_model(model: &SimModel) -> Result<CollisionModel, ModelError> {
    let hands = model.tools.len();
    let tools = model.tools.iter().map(|tool| (&tool.shape, tool.pose_tool_shape, &tool.field));
    let bodies = model.bodies.iter().map(|body| (&body.shape, body.pose_body_shape, &body.field));
    let collider = |(index, (shape, pose_body_shape, field)): (usize, (&Shape, Pose, &Option<_>))| Collider {
        body: index as u16,
        shape: shape.clone(),
        pose_body_shape,
        field: field.clone(),
    };
    let colliders: Vec<Collider> = tools.chain(bodies).enumerate().map(collider).collect();
    let motion = |mover: u16| {
        let body = usize::from(mover).checked_sub(hands).and_then(|index| model.bodies.get(index));
        body.map(|body| &body.motion)
    };
    let is_fixed = |mover: u16| matches!(motion(mover), Some(Motion::Fixed));
    let deforms = |mover: u16| matches!(motion(mover), Some(Motion::Elastic(_) | Motion::Tissue(_)));
    let mut pairs = CollisionModel::every_pair(&colliders, is_fixed);
    pairs.retain(|pair| !deforms(pair.a) && !deforms(pair.b));
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
