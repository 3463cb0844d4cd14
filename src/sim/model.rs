//! What does not change while a scene runs: bodies, materials, rates.
//!
//! Thread: any (plain data, made by `scene`).

use super::body::SoftModel;
use super::body::carrier::{Carried, CarriedBy};
use super::{BodyId, CorotationalModel, ElasticModel, HandId, NeedleModel, TissueModel};
use crate::collision::Reduction;
use crate::collision::field::Baked;
use crate::geometry::Shape;
use crate::math::{Mat6, Pose, Vec3};
use crate::mechanism::pmi::RigidInertia;
use crate::mechanism::solver::Settings;
use std::sync::Arc;

/// Most contacts of a pair with a soft body, where a scene does not say otherwise.
pub const SOFT_CONTACTS: usize = 128;

/// What a surface does in contact.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// Name in the scene file.
    pub name: String,
    /// Coefficient of friction; of a pair, the geometric mean counts.
    pub friction: f64,
    /// Share of the approach speed given back by an impact, 0 to 1; of a pair, the larger counts.
    pub restitution: f64,
}

/// How a body moves.
#[derive(Clone, Debug)]
pub enum Motion {
    /// Not at all.
    Fixed,
    /// As a rigid body.
    Rigid(RigidInertia),
    /// Held; deforms linearly.
    Elastic(Arc<ElasticModel>),
    /// Held or free; deforms with large rotations.
    Corotational(Arc<CorotationalModel>),
    /// On a support that may breathe; deforms, and needles go into it.
    Tissue(Arc<TissueModel>),
    /// Deforms, by a model of another crate.
    Custom(Arc<dyn SoftModel>),
}

impl Motion {
    /// The body deforms.
    #[must_use]
    pub fn is_soft(&self) -> bool {
        !matches!(self, Self::Fixed | Self::Rigid(_))
    }
}

/// What a joint leaves free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointKind {
    /// Nothing.
    Fixed,
    /// Rotation about z.
    Hinge,
    /// Translation along z.
    Slider,
    /// All rotations.
    Ball,
}

/// A joint between two bodies.
#[derive(Clone, Debug)]
pub struct JointModel {
    /// Name in the scene file.
    pub name: String,
    /// What it leaves free.
    pub kind: JointKind,
    /// The bodies; none is the world.
    pub bodies: [Option<BodyId>; 2],
    /// Nodes of a soft body that the joint is fixed to, on either side: at least three that are not on a line, or one for a ball; none of
    /// other bodies.
    pub patches: [Vec<u32>; 2],
    /// Frame of the joint in the world at the start; z is the axis of a hinge or slider.
    pub frame: Pose,
    /// Compliance of the joint, m/N (rad/(N·m) for rotations).
    pub compliance: f64,
}

/// One body of the scene.
#[derive(Clone, Debug)]
pub struct BodyModel {
    /// Name in the scene file.
    pub name: String,
    /// Its shape.
    pub shape: Shape,
    /// Fast distances of a shape that is a part.
    pub field: Option<Arc<Baked>>,
    /// The shape's frame in the body's frame, whose origin is the centre of mass.
    pub pose_body_shape: Pose,
    /// How it moves.
    pub motion: Motion,
    /// Index into [`SimModel::materials`].
    pub material: usize,
    /// Pose of the body (centre of mass) at the start.
    pub start: Pose,
}

/// A tool: what an operator's proxy looks like to the scene.
#[derive(Clone, Debug)]
pub struct ToolBody {
    /// Its shape.
    pub shape: Shape,
    /// Fast distances of a shape that is a part.
    pub field: Option<Arc<Baked>>,
    /// The shape's frame in the tool's frame.
    pub pose_tool_shape: Pose,
    /// Mass and inertia of the proxy.
    pub inertia: RigidInertia,
    /// Index into [`SimModel::materials`].
    pub material: usize,
    /// Keeps its orientation (devices without rotation).
    pub rotation_locked: bool,
    /// Pose at the start.
    pub start: Pose,
}

/// Everything the simulation step needs to know that does not change.
#[derive(Clone, Debug)]
pub struct SimModel {
    /// Bodies; with the tools at most [`crate::collision::MAX_BODIES`].
    pub bodies: Vec<BodyModel>,
    /// The tools, one for each hand, at most [`crate::shared::MAX_HANDS`].
    pub tools: Vec<ToolBody>,
    /// The needle that the first tool holds, where it is one.
    pub needle: Option<Arc<NeedleModel>>,
    /// Soft bodies on carriers that move; all others are kept in the world.
    pub carried: Vec<Carried>,
    /// Joints between bodies.
    pub joints: Vec<JointModel>,
    /// Materials, as they are at the start.
    pub materials: Vec<Material>,
    /// Acceleration of gravity, m/s².
    pub gravity: Vec3,
    /// Steps a second.
    pub rate_hz: f64,
    /// Gap up to which contacts are kept ready, m: more than anything moves in a step.
    pub margin_m: f64,
    /// How far the tool may move until contacts are looked for again, m.
    pub travel_m: f64,
    /// Look for contacts on a thread of its own when run with threads.
    pub collision_thread: bool,
    /// How the contacts of a pair of parts, or of a soft body, are reduced.
    pub reduction: Reduction,
    /// Most contacts of a pair with a soft body. More are reduced, and nodes between representatives may sink in a little.
    pub soft_contacts: usize,
    /// Bounds of the solve.
    pub solver: Settings,
}

impl ToolBody {
    /// `M⁻¹` of the proxy as far as it can move.
    #[must_use]
    pub fn inverse_mass(&self) -> Mat6 {
        let mut inverse = self.inertia.inverse_matrix();
        if self.rotation_locked {
            inverse.fixed_view_mut::<3, 6>(3, 0).fill(0.0);
            inverse.fixed_view_mut::<6, 3>(0, 3).fill(0.0);
        }
        inverse
    }
}

impl SimModel {
    /// A scene without bodies and tools, stepped `rate_hz` times a second: for those who fill it by hand.
    #[must_use]
    pub fn empty(rate_hz: f64, margin_m: f64) -> Self {
        Self {
            bodies: Vec::new(),
            tools: Vec::new(),
            needle: None,
            carried: Vec::new(),
            joints: Vec::new(),
            materials: Vec::new(),
            gravity: Vec3::zeros(),
            rate_hz,
            margin_m,
            travel_m: margin_m,
            collision_thread: false,
            reduction: Reduction::default(),
            soft_contacts: SOFT_CONTACTS,
            solver: Settings::default(),
        }
    }

    /// What moves the carrier frame of a body.
    #[must_use]
    pub fn carrier_of(&self, body: BodyId) -> Option<CarriedBy> {
        self.carried.iter().find(|carried| carried.body == body).map(|carried| carried.by)
    }

    /// The tool of a hand is a soft body: its own shape touches nothing.
    #[must_use]
    pub fn tool_is_soft(&self, of: HandId) -> bool {
        let is_whole =
            |carried: &Carried| matches!(carried.by, CarriedBy::Tool { hand, is_whole: true, .. } if hand == of);
        self.carried.iter().any(is_whole)
    }

    /// A joint connects two bodies: they do not touch.
    #[must_use]
    pub fn are_joined(&self, a: BodyId, b: BodyId) -> bool {
        self.joints.iter().any(|joint| [[Some(a), Some(b)], [Some(b), Some(a)]].contains(&joint.bodies))
    }

    /// Length of a step, s.
    #[must_use]
    pub fn step_s(&self) -> f64 {
        1.0 / self.rate_hz
    }
}
