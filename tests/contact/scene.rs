//! Scenes made in code.

use hapticd::geometry::mesh::{MeshSurface, TriMesh};
use hapticd::geometry::{Cuboid, Cylinder, HalfSpace, Part, Shape, Sphere};
use hapticd::math::{Mat3, Pose, Twist, Vec3, exp_so3, join, split};
use hapticd::mechanism::MechanismSnapshot;
use hapticd::mechanism::pmi::{RigidBody, RigidInertia};
use hapticd::mechanism::solver::Settings;
use hapticd::shared::ToolSample;
use hapticd::sim::{
    BodyModel, ContactForce, Material, Motion, SimData, SimModel, StepReport, ToolBody, empty_snapshot, step,
};
use std::sync::Arc;

/// Acceleration of gravity, m/s².
pub(crate) const G: f64 = 9.81;

/// A scene with everything that steps it.
pub(crate) struct Scene {
    pub(crate) model: SimModel,
    pub(crate) data: SimData,
    tool: ToolSample,
    snapshot: Box<MechanismSnapshot>,
}

/// A body to be put into a scene.
pub(crate) struct Thing {
    pub(crate) shape: Shape,
    pub(crate) mass: Option<(f64, Mat3)>,
    pub(crate) pose: Pose,
    pub(crate) twist: Twist,
    pub(crate) friction: f64,
    pub(crate) restitution: f64,
}

impl Thing {
    /// The floor, or a plane through the origin that rises towards −x by `slope`.
    pub(crate) fn plane(slope: f64) -> Self {
        let pose = Pose::from_parts(Vec3::zeros().into(), exp_so3(&(Vec3::y() * slope)));
        Self {
            shape: Shape::HalfSpace(HalfSpace),
            mass: None,
            pose,
            twist: Twist::zeros(),
            friction: 1.0,
            restitution: 0.0,
        }
    }

    /// A full box of `mass` with edges of length `size`.
    pub(crate) fn cuboid(mass: f64, size: Vec3, pose: Pose) -> Self {
        let square = size.component_mul(&size);
        let inertia = Vec3::new(square.y + square.z, square.x + square.z, square.x + square.y) * (mass / 12.0);
        let shape = Shape::Cuboid(Cuboid { half: size * 0.5 });
        Self::moving(shape, (mass, Mat3::from_diagonal(&inertia)), pose)
    }

    /// The same box as a mesh of twelve triangles, with coordinates of 32 bits as in an STL file.
    pub(crate) fn mesh_cuboid(mass: f64, size: Vec3, pose: Pose) -> Self {
        let corner = |bits: u32| {
            let at = |k: usize| if bits >> k & 1 == 0 { -0.5 } else { 0.5 } * size[k];
            Vec3::new(at(0), at(1), at(2)).map(|x| f64::from(x as f32))
        };
        // Each face by its corners, counter-clockwise from outside.
        let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles = faces.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect();
        let mesh = TriMesh::new((0..8).map(corner).collect(), triangles).expect("it is a mesh");
        let surface = MeshSurface::new(mesh.clone()).expect("it bounds a solid");
        let part = Part::new("mesh", Box::new(surface), mesh, false);
        Self { shape: Shape::Part(Arc::new(part)), ..Self::cuboid(mass, size, pose) }
    }

    /// A full cylinder along its z axis.
    pub(crate) fn cylinder(mass: f64, radius: f64, length: f64, pose: Pose) -> Self {
        let across = mass * (radius * radius / 4.0 + length * length / 12.0);
        let inertia = Mat3::from_diagonal(&Vec3::new(across, across, mass * radius * radius / 2.0));
        Self::moving(Shape::Cylinder(Cylinder { radius, half_length: 0.5 * length }), (mass, inertia), pose)
    }

    /// A full ball.
    pub(crate) fn ball(mass: f64, radius: f64, pose: Pose) -> Self {
        let inertia = Mat3::identity() * (0.4 * mass * radius * radius);
        Self::moving(Shape::Sphere(Sphere { radius }), (mass, inertia), pose)
    }

    fn moving(shape: Shape, mass: (f64, Mat3), pose: Pose) -> Self {
        Self { shape, mass: Some(mass), pose, twist: Twist::zeros(), friction: 1.0, restitution: 0.0 }
    }

    /// With this friction against things whose own is one: the mean of a pair is geometric.
    pub(crate) fn friction(self, friction: f64) -> Self {
        Self { friction: friction * friction, ..self }
    }

    pub(crate) fn restitution(self, restitution: f64) -> Self {
        Self { restitution, ..self }
    }

    /// With velocity and angular velocity, both in the world.
    pub(crate) fn moving_with(self, velocity: Vec3, spin: Vec3) -> Self {
        Self { twist: join(&velocity, &self.pose.rotation.inverse_transform_vector(&spin)), ..self }
    }
}

impl Scene {
    /// On earth.
    pub(crate) fn new(rate_hz: f64, things: &[Thing]) -> Self {
        Self::under(Vec3::new(0.0, 0.0, -G), rate_hz, things)
    }

    /// Under any gravity.
    pub(crate) fn under(gravity: Vec3, rate_hz: f64, things: &[Thing]) -> Self {
        let materials = things
            .iter()
            .map(|t| Material { name: String::new(), friction: t.friction, restitution: t.restitution })
            .collect();
        let body = |(index, thing): (usize, &Thing)| BodyModel {
            name: format!("body {index}"),
            shape: thing.shape.clone(),
            field: None,
            pose_body_shape: Pose::identity(),
            motion: thing.mass.map_or(Motion::Fixed, |(mass, inertia)| {
                Motion::Rigid(RigidInertia::new(mass, inertia).expect("the test's inertia is sound"))
            }),
            material: index,
            start: thing.pose,
        };
        let away = Pose::translation(0.0, 0.0, 1e3);
        let model = SimModel {
            bodies: things.iter().enumerate().map(body).collect(),
            tools: vec![ToolBody {
                shape: Shape::Sphere(Sphere { radius: 0.01 }),
                field: None,
                pose_tool_shape: Pose::identity(),
                inertia: RigidInertia::new(0.1, Mat3::identity() * 1e-5).expect("the tool's inertia is sound"),
                material: 0,
                rotation_locked: false,
                start: away,
            }],
            needle: None,
            carried: Vec::new(),
            joints: Vec::new(),
            air: None,
            materials,
            gravity,
            rate_hz,
            // More than anything moves in a step at 6 m/s.
            margin_m: (6.0 / rate_hz).max(0.005),
            travel_m: 6.0 / rate_hz,
            collision_thread: false,
            reduction: Default::default(),
            soft_contacts: hapticd::sim::SOFT_CONTACTS,
            solver: Settings { iterations: 60, tolerance: 1e-12, relaxation: 1.3 },
        };
        let mut data = SimData::new(&model).expect("the test's shapes are sound");
        for (body, thing) in data.bodies.iter_mut().zip(things) {
            if let Some(body) = body.rigid_mut() {
                body.place(thing.pose, thing.twist);
            }
        }
        Self { model, data, tool: ToolSample::at_rest(away), snapshot: empty_snapshot() }
    }

    pub(crate) fn step(&mut self) -> StepReport {
        step(&self.model, &mut self.data, &[self.tool], &mut [&mut *self.snapshot])
    }

    pub(crate) fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            self.step();
        }
    }

    pub(crate) fn body(&self, index: usize) -> &RigidBody {
        self.data.bodies[index].rigid().expect("the test asks for a body that moves")
    }

    pub(crate) fn position(&self, index: usize) -> Vec3 {
        self.body(index).pose().translation.vector
    }

    pub(crate) fn velocity(&self, index: usize) -> Vec3 {
        split(self.body(index).twist()).0
    }

    /// Forces of contact on a body, with the points they act at.
    pub(crate) fn forces_on(&self, index: usize) -> Vec<(Vec3, Vec3)> {
        let on = |contact: &ContactForce| match contact.bodies {
            [first, _] if first.0 == index => Some((contact.point, contact.force)),
            [_, second] if second.0 == index => Some((contact.point, -contact.force)),
            _ => None,
        };
        self.data.forces.iter().filter_map(on).collect()
    }

    /// Angular velocity in the world.
    pub(crate) fn spin(&self, index: usize) -> Vec3 {
        self.body(index).pose().rotation * split(self.body(index).twist()).1
    }
}

/// A pose on a plane of `slope`: `height` above it, `along` down it.
pub(crate) fn on_slope(slope: f64, along: f64, height: f64) -> Pose {
    let turn = exp_so3(&(Vec3::y() * slope));
    Pose::from_parts((turn * Vec3::new(along, 0.0, height)).into(), turn)
}

/// Unit vector down a plane of `slope`.
pub(crate) fn downhill(slope: f64) -> Vec3 {
    exp_so3(&(Vec3::y() * slope)) * Vec3::x()
}
