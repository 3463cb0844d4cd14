//! What changes from step to step. Each block names the stage of [`super::step`] that writes it.
//!
//! Thread: simulation.

use super::{Motion, SimModel};
use crate::collision::{Candidate, Collider, CollisionModel, ModelError, Request, Service};
use crate::math::{Mat6, Pose, Twist, Vec6};
use crate::mechanism::newton::Workspace;
use crate::mechanism::pmi::{Coriolis, Gravity, RigidBody, RigidStep};
use crate::mechanism::{Block, MechanismSnapshot};
use crate::shared::{SceneView, Stamp};

/// Index of the tool among the movers; body `i` of the model is mover `i + 1`.
pub(super) const TOOL: usize = 0;

/// One of the things contacts act between.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mover {
    /// Pose at the start of the step.
    pub pose: Pose,
    /// Twist at the start of the step.
    pub twist: Twist,
    /// Midpoint twist without contact.
    pub free: Twist,
    /// `A⁻¹`; zero for what does not yield.
    pub inverse: Mat6,
    /// `M⁻¹`; zero for what does not yield.
    pub inverse_mass: Mat6,
}

impl Mover {
    pub(super) fn fixed(pose: Pose) -> Self {
        Self { pose, twist: Twist::zeros(), free: Twist::zeros(), inverse: Mat6::zeros(), inverse_mass: Mat6::zeros() }
    }
}

/// A contact of this step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contact {
    pub candidate: Candidate,
    /// Movers A and B.
    pub movers: [usize; 2],
    /// Rows (normal, two tangents) on the twist of A and of B.
    pub rows: [[Vec6; 3]; 2],
    pub directions: [crate::math::Vec3; 3],
    pub friction: f64,
    pub restitution: f64,
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
    /// Deepest overlap at the start of the step, m.
    pub penetration_m: f64,
    /// Contacts that did not fit.
    pub dropped: u32,
}

/// See the file's head.
pub struct SimData {
    /// Step number and the time its state holds at.
    pub stamp: Stamp,
    /// Bodies that move; `None` for fixed ones. Written by 6 move, 7 settle, 8 push apart.
    pub bodies: Vec<Option<RigidBody>>,
    /// Poses as shown. Written by 9 publish.
    pub view: SceneView,
    /// Figures of the last step.
    pub report: StepReport,
    pub(super) service: Service,
    pub(super) request: Request,
    // 1 place, 3 free
    pub(super) movers: Vec<Mover>,
    pub(super) steps: Vec<Option<RigidStep>>,
    // 2 collide
    pub(super) contacts: Vec<Contact>,
    // 4 assemble, 5 solve
    pub(super) blocks: Vec<Block>,
    pub(super) compliance: Vec<f64>,
    pub(super) free: Vec<f64>,
    pub(super) lambda: Vec<f64>,
    /// Forces of the last step by contact, sorted, for the warm start.
    pub(super) remembered: Vec<(u64, [f64; 3])>,
    pub(super) workspace: Workspace,
}

impl SimData {
    /// Everything at its start, at rest.
    ///
    /// # Errors
    /// When a shape or the margin makes no sense; the scene reader has checked that.
    pub fn new(model: &SimModel) -> Result<Self, ModelError> {
        let collision = collision_model(model)?;
        Ok(Self::with_service(model, Service::inline(collision)))
    }

    /// The same with the collision thread, where the model asks for one and the system gives it.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_threads(model: &SimModel) -> Result<Self, ModelError> {
        if model.collision_thread {
            let stale_after_ns = (3.0 * model.step_s() * crate::shared::NS_PER_S as f64) as u64;
            if let Ok(service) = Service::threaded(collision_model(model)?, stale_after_ns) {
                return Ok(Self::with_service(model, service));
            }
        }
        Self::new(model)
    }

    fn with_service(model: &SimModel, service: Service) -> Self {
        let gravity = Gravity { acceleration: model.gravity };
        let body = |body: &super::BodyModel| match body.motion {
            Motion::Fixed => None,
            Motion::Free(inertia) => {
                Some(RigidBody::new(inertia, gravity, Coriolis::Midpoint, body.start, Twist::zeros()))
            }
        };
        let mut movers = vec![Mover::fixed(model.tool.start)];
        movers.extend(model.bodies.iter().map(|body| Mover::fixed(body.start)));
        let mut data = Self {
            stamp: Stamp::default(),
            bodies: model.bodies.iter().map(body).collect(),
            view: SceneView::empty(),
            report: StepReport::default(),
            service,
            request: Request::new(),
            steps: vec![None; movers.len()],
            movers,
            contacts: Vec::new(),
            blocks: Vec::new(),
            compliance: Vec::new(),
            free: Vec::new(),
            lambda: Vec::new(),
            remembered: Vec::new(),
            workspace: Workspace::default(),
        };
        data.show(model.tool.start);
        data
    }

    /// Pose of body `index` now.
    #[must_use]
    pub fn pose(&self, index: usize) -> &Pose {
        self.bodies[index].as_ref().map_or(&self.movers[index + 1].pose, RigidBody::pose)
    }

    /// Kinetic and potential energy of all bodies, J.
    #[must_use]
    pub fn energy_j(&self) -> f64 {
        self.bodies.iter().flatten().map(|body| body.ledger().total_j()).sum()
    }

    /// True when the collision thread was to serve the last step and could not.
    #[must_use]
    pub fn collision_fell_back(&self) -> bool {
        self.service.fell_back()
    }

    /// Fills the view with the poses of now.
    pub(super) fn show(&mut self, tool: Pose) {
        self.view = SceneView::empty();
        self.view.stamp = self.stamp;
        self.view.tool = tool;
        for index in 0..self.bodies.len() {
            let pose = *self.pose(index);
            self.view.show(pose);
        }
    }
}

fn collision_model(model: &SimModel) -> Result<CollisionModel, ModelError> {
    let mut colliders =
        vec![Collider { body: TOOL as u16, shape: model.tool.shape, pose_body_shape: model.tool.pose_tool_shape }];
    colliders.extend(model.bodies.iter().enumerate().map(|(index, body)| Collider {
        body: index as u16 + 1,
        shape: body.shape,
        pose_body_shape: body.pose_body_shape,
    }));
    let is_fixed =
        |body: u16| usize::from(body) != TOOL && matches!(model.bodies[usize::from(body) - 1].motion, Motion::Fixed);
    let pairs = CollisionModel::every_pair(&colliders, is_fixed);
    CollisionModel::new(&colliders, pairs, model.margin_m)
}

/// An empty snapshot in a box, for those who drive steps.
#[must_use]
pub fn empty_snapshot() -> Box<MechanismSnapshot> {
    Box::new(MechanismSnapshot::empty())
}
