//! A nut driven onto its bolt and a peg held in its hole, by prescribed forces, with the simulation alone.
//!
//! Thread: main. Deterministic.
//!
//! The tasks are those that other engines were measured on: density 7850 kg/m³, friction 0.1, no gravity, steps of 1 ms.

use crate::bake::{Design, DesignError, Ready};
use crate::collision::Reduction;
use crate::geometry::parts::{Body, Bolt, BoreBlock, Facets, Fit, Hand, Nut, Peg, Side, ThreadSpec};
use crate::geometry::{Part, Shape, Sphere, Surface};
use crate::math::{Pose, Rot, Twist, Vec3, join, split};
use crate::mechanism::MechanismSnapshot;
use crate::mechanism::pmi::{RigidBody, RigidInertia};
use crate::shared::ToolSample;
use crate::sim::{BodyId, BodyModel, Material, Motion, SimData, SimModel, StepReport, ToolBody, empty_snapshot, step};

/// Density of steel, kg/m³.
pub const DENSITY: f64 = 7850.0;
/// Index of the part that moves; the fixed one is body 0.
pub const MOVING: BodyId = BodyId(1);

/// Two parts, and where the moving one starts.
#[derive(Clone, Debug)]
pub struct Assembly {
    /// The fixed part.
    pub fixed: Ready,
    /// The moving part.
    pub moving: Ready,
    /// Pose of the moving part's shape in the frame of the fixed one at the start.
    pub start: Pose,
    /// Friction between the two.
    pub friction: f64,
    /// How nodes become contacts.
    pub reduction: Reduction,
}

/// A bolt and a nut with the same thread.
#[derive(Clone, Copy, Debug)]
pub struct ThreadPair {
    /// Thread of both.
    pub thread: ThreadSpec,
    /// Length of the bolt, m.
    pub length: f64,
    /// Height of the nut, m.
    pub height: f64,
    /// Facets of the bolt and of the nut.
    pub facets: [Facets; 2],
}

impl ThreadPair {
    /// M48x5 with 0.4 mm of radial room, 20 mm of bolt, a nut of 15 mm.
    #[must_use]
    pub fn m48() -> Self {
        Self {
            thread: ThreadSpec { diameter: 0.048, pitch: 0.005, hand: Hand::Right, fit: Fit::RadialGap(4e-4) },
            length: 0.02,
            height: 0.015,
            facets: [Facets { per_turn: 61, rows: 3 }, Facets { per_turn: 79, rows: 3 }],
        }
    }

    /// The bolt.
    ///
    /// # Errors
    /// If there is no such thread.
    pub fn bolt(&self) -> Result<Bolt, DesignError> {
        let profile = self.thread.profile(Side::Bolt)?;
        Ok(Bolt { profile, length: self.length, chamfer: 0.3 * self.thread.pitch, head: None })
    }

    /// The nut.
    ///
    /// # Errors
    /// If there is no such thread.
    pub fn nut(&self) -> Result<Nut, DesignError> {
        let profile = self.thread.profile(Side::Nut)?;
        let body = Body::Hex { across_flats: 1.5625 * self.thread.diameter };
        Ok(Nut { profile, height: self.height, chamfer: 0.0, body })
    }

    /// Both made, the nut's middle at height `z` of the bolt, turned so that the threads mesh.
    ///
    /// # Errors
    /// If there is no such thread, or no grid of it.
    pub fn assembly(&self, z: f64, friction: f64) -> Result<Assembly, DesignError> {
        let angle = std::f64::consts::TAU * z / self.thread.pitch;
        Ok(Assembly {
            fixed: Design::Bolt(self.bolt()?).ready(self.facets[0])?,
            moving: Design::Nut(self.nut()?).ready(self.facets[1])?,
            start: Pose::from_parts(Vec3::new(0.0, 0.0, z).into(), Rot::from_axis_angle(&Vec3::z_axis(), angle)),
            friction,
            reduction: Reduction::default(),
        })
    }
}

/// Peg of 49.97 mm, its tip 20 mm deep in a hole of 50.035 mm that goes through 40 mm.
///
/// # Errors
/// If no grid can be made.
pub fn peg_in_hole(friction: f64) -> Result<Assembly, DesignError> {
    let peg = Peg { diameter: 49.97e-3, length: 0.06, chamfer: 1e-3 };
    let body = Body::Round { diameter: 0.08 };
    let block = BoreBlock { diameter: 50.035e-3, depth: 0.04, chamfer: 1e-3, floor: None, body };
    Ok(Assembly {
        fixed: Design::Bore(block).ready(Facets { per_turn: 61, rows: 20 })?,
        moving: Design::Peg(peg).ready(Facets { per_turn: 79, rows: 30 })?,
        start: Pose::translation(0.0, 0.0, -0.02),
        friction,
        reduction: Reduction::default(),
    })
}

/// The simulation of an assembly.
pub struct Drive {
    model: SimModel,
    data: SimData,
    snapshot: Box<MechanismSnapshot>,
    tool: ToolSample,
    /// The moving shape on its body.
    pose_body_shape: Pose,
}

impl Drive {
    /// An assembly at its start, at rest, with steps of `step_s`.
    #[must_use]
    pub fn new(assembly: &Assembly, step_s: f64) -> Option<Self> {
        let Shape::Part(part) = &assembly.moving.shape else { return None };
        let mass = part.mass_properties(DENSITY)?;
        let inertia = RigidInertia::new(mass.mass, mass.inertia)?;
        let center = Pose::from_parts(mass.center.into(), Rot::identity());
        let body = |name: &str, ready: &Ready, pose_body_shape, motion, start| BodyModel {
            name: name.into(),
            shape: ready.shape.clone(),
            field: Some(ready.field.clone()),
            pose_body_shape,
            motion,
            material: 0,
            start,
        };
        let pose_body_shape = center.inverse();
        let far = Pose::translation(0.0, 0.0, 10.0);
        let ball = RigidInertia::new(0.1, crate::math::Mat3::identity() * 1e-5)?;
        let model = SimModel {
            bodies: vec![
                body("fixed", &assembly.fixed, Pose::identity(), Motion::Fixed, Pose::identity()),
                body("moving", &assembly.moving, pose_body_shape, Motion::Rigid(inertia), assembly.start * center),
            ],
            tools: vec![ToolBody {
                shape: Shape::Sphere(Sphere { radius: 1e-3 }),
                field: None,
                pose_tool_shape: Pose::identity(),
                inertia: ball,
                material: 0,
                rotation_locked: true,
                start: far,
            }],
            materials: vec![Material { name: "steel".into(), friction: assembly.friction, restitution: 0.0 }],
            reduction: assembly.reduction,
            ..SimModel::empty(1.0 / step_s, 1.5e-4)
        };
        let data = SimData::new(&model).ok()?;
        Some(Self { model, data, snapshot: empty_snapshot(), tool: ToolSample::at_rest(far), pose_body_shape })
    }

    /// The moving body.
    #[must_use]
    pub fn body(&self) -> Option<&RigidBody> {
        self.data.bodies[MOVING].rigid()
    }

    /// Pose of the moving shape in the frame of the fixed one.
    #[must_use]
    pub fn shape(&self) -> Pose {
        self.data.pose(MOVING) * self.pose_body_shape
    }

    /// Velocity of its centre of mass and angular velocity, both in the world.
    #[must_use]
    pub fn velocity(&self) -> (Vec3, Vec3) {
        let twist = self.body().map_or_else(Twist::zeros, |body| *body.twist());
        let (v, w) = split(&twist);
        (v, self.data.pose(MOVING).rotation * w)
    }

    /// One step under a force at the centre of mass and a torque about it, both in the world.
    pub fn step(&mut self, force: &Vec3, torque: &Vec3) -> StepReport {
        let local = self.data.pose(MOVING).rotation.inverse_transform_vector(torque);
        self.data.apply(MOVING, &join(force, &local));
        step(&self.model, &mut self.data, &[self.tool], &mut [&mut *self.snapshot])
    }

    /// What the simulation keeps.
    #[must_use]
    pub fn data(&self) -> &SimData {
        &self.data
    }

    /// Deepest node of either part in the exact surface of the other, m; zero when none is inside.
    #[must_use]
    pub fn penetration(&self) -> f64 {
        let (fixed, moving) = (&self.model.bodies[0].shape, &self.model.bodies[MOVING.0].shape);
        let (Shape::Part(fixed), Shape::Part(moving)) = (fixed, moving) else { return 0.0 };
        let pose = self.shape();
        deepest(moving, fixed, &pose).max(deepest(fixed, moving, &pose.inverse()))
    }
}

/// Depth of the deepest node of `holder`, placed by `pose`, in the exact surface of `target`.
fn deepest(holder: &Part, target: &Part, pose: &Pose) -> f64 {
    let at = |p: &Vec3| pose.rotation * p + pose.translation.vector;
    let ball = target.bounding_sphere();
    let depth = |p: Vec3| {
        if (p - ball.center).norm() > ball.radius { 0.0 } else { -target.signed_distance(&p).distance }
    };
    holder.nodes.iter().map(|node| depth(at(&node.position))).fold(0.0, f64::max)
}
