//! What does not change while a scene runs: bodies, materials, rates.
//!
//! Thread: any (plain data, made by `scene`).

use super::{ElasticModel, NeedleModel, TissueModel};
use crate::collision::Reduction;
use crate::collision::field::Baked;
use crate::geometry::Shape;
use crate::math::{Mat6, Pose, Vec3};
use crate::mechanism::pmi::RigidInertia;
use crate::mechanism::solver::Settings;
use std::sync::Arc;

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
    Free(RigidInertia),
    /// It stays where it is and deforms. The tools alone touch it.
    Elastic(Arc<ElasticModel>),
    /// Its support stays where it is or breathes, and it deforms. Needles go into it.
    Tissue(Arc<TissueModel>),
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

/// Which relative motion a joint leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointKind {
    /// None.
    Fixed,
    /// Rotation about the z axis of the joint's frame.
    Hinge,
    /// Motion along the z axis of the joint's frame.
    Slider,
    /// Rotation about the origin of the joint's frame.
    Ball,
}

/// A joint between two bodies, or between a body and the world.
#[derive(Clone, Debug, PartialEq)]
pub struct JointModel {
    /// Name in the scene file.
    pub name: String,
    /// Which motion it leaves.
    pub kind: JointKind,
    /// Indices into [`SimModel::bodies`]; none for the world.
    pub bodies: [Option<usize>; 2],
    /// Frame of the joint in the world at the start.
    pub frame: Pose,
    /// How far the joint gives way, m/N.
    pub compliance: f64,
}

/// Everything the simulation step needs to know that does not change.
#[derive(Clone, Debug)]
pub struct SimModel {
    /// Bodies; with the tools at most [`crate::collision::MAX_BODIES`].
    pub bodies: Vec<BodyModel>,
    /// Joints between bodies.
    pub joints: Vec<JointModel>,
    /// The tools, one for each hand, at most [`crate::shared::MAX_HANDS`].
    pub tools: Vec<ToolBody>,
    /// The needle that the first tool holds, where it is one.
    pub needle: Option<Arc<NeedleModel>>,
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
    /// How the nodes of parts become contacts.
    pub reduction: Reduction,
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
    /// Length of a step, s.
    #[must_use]
    pub fn step_s(&self) -> f64 {
        1.0 / self.rate_hz
    }
}
