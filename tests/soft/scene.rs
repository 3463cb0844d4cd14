//! Blocks, plates and planes made by hand.

use hapticd::fem::{FemModel, FemSpec, Mass, Material as Solid, Ordering, Rayleigh};
use hapticd::geometry::tet::{BlockSpec, Split, TetMesh};
use hapticd::geometry::{Cuboid, HalfSpace, Shape, Sphere};
use hapticd::math::{Mat3, Pose, Vec3};
use hapticd::mechanism::pmi::RigidInertia;
use hapticd::shared::ToolSample;
use hapticd::sim::{
    BodyId, BodyModel, CorotationalModel, Material, Motion, SimData, SimModel, StepReport, Steps, ToolBody, step,
};
use std::sync::Arc;

pub(crate) const G: f64 = 9.81;
/// Silicone gel.
pub(crate) const GEL: Solid = Solid { young_pa: 50e3, poisson: 0.3, density: 1000.0 };

/// A block of bricks about its centre.
pub(crate) fn block(size: Vec3, cells: [u32; 3]) -> TetMesh {
    let mesh = BlockSpec { size, cells, split: Split::Six }.mesh().expect("it has sizes");
    let nodes = mesh.nodes().iter().map(|node| node - 0.5 * size).collect();
    TetMesh::new(nodes, mesh.tets().to_vec()).expect("the same block").with_midsides()
}

/// A body of `mesh` at `start`.
pub(crate) fn soft(mesh: &TetMesh, solid: Solid, fixed: &[u32], steps: Steps, start: Pose) -> BodyModel {
    let spec = FemSpec {
        mesh,
        materials: &[solid],
        damping: Rayleigh { mass_per_s: 0.0, stiffness_s: 2e-3 },
        fixed,
        mass: Mass::Lumped,
        ordering: Ordering::LeastFill,
    };
    let fem = Arc::new(FemModel::new(&spec).expect("it is sound"));
    let gravity = start.rotation.inverse_transform_vector(&Vec3::new(0.0, 0.0, -G));
    let model = CorotationalModel::new(fem, mesh, gravity, steps);
    body("soft", Shape::Cuboid(Cuboid { half: Vec3::repeat(1e-3) }), Motion::Corotational(Arc::new(model)), start)
}

pub(crate) fn body(name: &str, shape: Shape, motion: Motion, start: Pose) -> BodyModel {
    BodyModel { name: name.into(), shape, field: None, pose_body_shape: Pose::identity(), motion, material: 0, start }
}

/// A plane through the origin.
pub(crate) fn floor() -> BodyModel {
    body("floor", Shape::HalfSpace(HalfSpace), Motion::Fixed, Pose::identity())
}

/// A rigid plate.
pub(crate) fn plate(half: Vec3, mass_kg: f64, start: Pose) -> BodyModel {
    let square = half.component_mul(&half);
    let inertia = Mat3::from_diagonal(&Vec3::new(square.y + square.z, square.x + square.z, square.x + square.y));
    let inertia = RigidInertia::new(mass_kg, inertia * (mass_kg / 3.0)).expect("it has a mass");
    body("plate", Shape::Cuboid(Cuboid { half }), Motion::Rigid(inertia), start)
}

/// A tool far away.
pub(crate) fn far_tool() -> ToolBody {
    ToolBody {
        shape: Shape::Sphere(Sphere { radius: 1e-3 }),
        field: None,
        pose_tool_shape: Pose::identity(),
        inertia: RigidInertia::new(0.05, Mat3::identity() * 1e-6).expect("it has one"),
        material: 0,
        rotation_locked: true,
        start: Pose::translation(0.0, 0.0, 10.0),
    }
}

pub(crate) struct Scene {
    pub(crate) model: SimModel,
    pub(crate) data: SimData,
    pub(crate) tool: ToolSample,
}

impl Scene {
    pub(crate) fn new(bodies: Vec<BodyModel>, friction: f64, rate_hz: f64) -> Self {
        Self::of(SimModel {
            bodies,
            tools: vec![far_tool()],
            materials: vec![Material { name: "all".into(), friction, restitution: 0.0 }],
            gravity: Vec3::new(0.0, 0.0, -G),
            ..SimModel::empty(rate_hz, 2e-3)
        })
    }

    pub(crate) fn of(model: SimModel) -> Self {
        let data = SimData::new(&model).expect("the test's bodies are sound");
        let tool = ToolSample::at_rest(model.tools[0].start);
        Self { model, data, tool }
    }

    pub(crate) fn step(&mut self) -> StepReport {
        step(&self.model, &mut self.data, &[self.tool], &mut [])
    }

    pub(crate) fn run(&mut self, time_s: f64) -> StepReport {
        let mut report = StepReport::default();
        for _ in 0..(time_s * self.model.rate_hz).round() as usize {
            report = self.step();
            assert!(report.converged, "{report:?}");
        }
        report
    }

    /// Force of body `other` on body `index`, N.
    pub(crate) fn force_on(&self, index: usize, other: usize) -> Vec3 {
        let on = |force: &hapticd::sim::ContactForce| match force.bodies {
            [a, b] if (a.0, b.0) == (index, other) => force.force,
            [a, b] if (b.0, a.0) == (index, other) => -force.force,
            _ => Vec3::zeros(),
        };
        self.data.forces.iter().map(on).sum()
    }

    /// Centre of mass of the soft body at `index`.
    pub(crate) fn center(&self, index: usize) -> Vec3 {
        // At rest it is about the origin of its frame.
        self.data.pose(BodyId(index)).translation.vector
    }
}
