//! A suction cup that a flat plate is pressed on and pulled off by a given motion, for the suite `suction` and for tests.
//!
//! Thread: main (cold).
//!
//! The cup stands on its stem, which is held, lip up; the plate is the tool. A step is everything that the simulation does: detection of contacts
//! and cavities, assembly, solve, publishing.

use super::BenchError;
use super::fem_rig::failed;
use crate::fem::{FemModel, FemSpec, Mass, Material as Solid, Ordering, Rayleigh};
use crate::geometry::tet::CupSpec;
use crate::geometry::{Cuboid, Shape};
use crate::math::{Mat3, Pose, Rot, Vec3};
use crate::mechanism::pmi::RigidInertia;
use crate::mechanism::{MechanismSnapshot, RowKind};
use crate::shared::{SceneView, ToolSample};
use crate::sim::{
    AirLedger, AirModel, BodyModel, CavityState, CorotationalModel, Material, Motion, SimData, SimModel, StepReport,
    Steps, ToolBody, empty_snapshot, step,
};
use std::f64::consts::PI;
use std::sync::Arc;

/// Half of the thickness of the plate, m, and of its side.
const PLATE_M: [f64; 2] = [5e-3, 40e-3];
/// Contact margin, m.
const MARGIN_M: f64 = 1e-3;

/// What the rig is made of.
#[derive(Clone, Copy, Debug)]
pub struct RigSpec {
    /// The cup.
    pub cup: CupSpec,
    /// Its material.
    pub material: Solid,
    /// Tetrahedra of ten nodes.
    pub is_quadratic: bool,
    /// Steps a second.
    pub rate_hz: f64,
    /// The air; none: a cup without suction.
    pub air: Option<AirModel>,
    /// Friction between cup and plate.
    pub friction: f64,
    /// Most contacts.
    pub contacts: usize,
}

impl RigSpec {
    /// The standard cup of Bernardin et al. 2022: 35 × 15 mm of soft silicone.
    #[must_use]
    pub fn standard(rate_hz: f64) -> Self {
        Self {
            cup: CupSpec {
                radius_m: 17.5e-3,
                height_m: 15e-3,
                depth_m: 5e-3,
                wall_m: 2.5e-3,
                lip_m: 1e-3,
                stem_m: 4e-3,
                cell_m: 2.2e-3,
            },
            material: Solid { young_pa: 4e6, poisson: 0.45, density: 1100.0 },
            is_quadratic: false,
            rate_hz,
            air: Some(AirModel {
                pressure_pa: 101_325.0,
                excess_pa: 500.0,
                seal_m: 1e-4,
                relaxation_s: 0.0,
                leak_w: 0.0,
                leak_per_pa_s: 0.0,
            }),
            friction: 0.8,
            contacts: 40,
        }
    }
}

/// One step of the rig.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Height of the face of the plate above the lip of the cup at rest, m.
    pub height_m: f64,
    /// Force of the cup on the plate along the axis, N; positive pushes the plate off.
    pub push_n: f64,
    /// The cavities.
    pub cavities: Vec<CavityState>,
    /// Figures of the step.
    pub report: StepReport,
    /// Rows of the problem.
    pub rows: usize,
}

impl Frame {
    /// Pressure in the first cavity, Pa; none where there is none.
    #[must_use]
    pub fn pressure_pa(&self) -> Option<f64> {
        self.cavities.first().map(|cavity| cavity.pressure_pa)
    }
}

/// See the file's head.
pub struct SuctionRig {
    model: SimModel,
    data: SimData,
    snapshot: Box<MechanismSnapshot>,
    /// Nodes of the cup.
    pub nodes: usize,
}

/// The plate with its face at this height.
fn plate_at(height_m: f64) -> Pose {
    Pose::translation(0.0, 0.0, height_m + PLATE_M[0])
}

impl SuctionRig {
    /// The rig with the plate at `height_m`.
    ///
    /// # Errors
    /// When the cup has no mesh.
    pub fn new(spec: &RigSpec, height_m: f64) -> Result<Self, BenchError> {
        let mesh = spec.cup.mesh().map_err(failed)?;
        let mesh = if spec.is_quadratic { mesh.with_midsides() } else { mesh };
        // The end of the stem, midside nodes included.
        let held = mesh.nodes_where(|node| node.z >= spec.cup.height_m - 1e-9);
        let fem = FemSpec {
            mesh: &mesh,
            materials: &[spec.material],
            damping: Rayleigh { mass_per_s: 0.0, stiffness_s: 1e-3 },
            fixed: &held,
            mass: Mass::Consistent,
            ordering: Ordering::LeastFill,
        };
        let fem = Arc::new(FemModel::new(&fem).map_err(failed)?);
        let nodes = fem.node_count();
        let cup = CorotationalModel::new(fem, &mesh, Vec3::zeros(), Steps::QuasiStatic);
        let half = Vec3::new(PLATE_M[1], PLATE_M[1], PLATE_M[0]);
        let body = BodyModel {
            name: "cup".into(),
            shape: Shape::Cuboid(Cuboid { half: Vec3::repeat(0.5 * spec.cup.height_m) }),
            field: None,
            pose_body_shape: Pose::identity(),
            motion: Motion::Corotational(Arc::new(cup)),
            material: 0,
            start: Pose::from_parts(Vec3::zeros().into(), Rot::from_euler_angles(PI, 0.0, 0.0)),
        };
        let inertia = RigidInertia::new(0.1, Mat3::identity() * 1e-4)
            .ok_or_else(|| BenchError::Failed("the plate has no inertia".into()))?;
        let tool = ToolBody {
            shape: Shape::Cuboid(Cuboid { half }),
            field: None,
            pose_tool_shape: Pose::identity(),
            inertia,
            material: 0,
            rotation_locked: true,
            start: plate_at(height_m),
        };
        let model = SimModel {
            bodies: vec![body],
            tools: vec![tool],
            materials: vec![Material { name: "silicone".into(), friction: spec.friction, restitution: 0.0 }],
            air: spec.air,
            soft_contacts: spec.contacts,
            ..SimModel::empty(spec.rate_hz, MARGIN_M)
        };
        let data = SimData::new(&model).map_err(failed)?;
        Ok(Self { model, data, snapshot: empty_snapshot(), nodes })
    }

    /// Account of the air.
    #[must_use]
    pub fn air(&self) -> &AirLedger {
        self.data.air()
    }

    /// What a screen would show.
    #[must_use]
    pub fn view(&self) -> &SceneView {
        &self.data.view
    }

    /// The mechanism as the hand has it after the last step.
    #[must_use]
    pub fn snapshot(&self) -> &MechanismSnapshot {
        &self.snapshot
    }

    /// One step that ends with the plate at `height_m`.
    pub fn step(&mut self, height_m: f64) -> Frame {
        let tool = ToolSample::at_rest(plate_at(height_m));
        let report = step(&self.model, &mut self.data, &[tool], &mut [&mut self.snapshot]);
        let rows = self.snapshot.rows().iter().zip(&self.snapshot.lambda);
        let on_tool = rows.filter(|(row, _)| row.kind != RowKind::Scene);
        let push_n = on_tool.map(|(row, force)| row.direction.z * force).sum();
        let cavities = self.data.cavities().to_vec();
        Frame { height_m, push_n, cavities, report, rows: self.data.problem().rows() }
    }
}

/// Heights of the plate: down from `from_m` to `to_m`, a rest of `rest_s`, up again to `end_m`, all with `speed_m_per_s`.
pub fn press_and_pull(
    [from_m, to_m, end_m]: [f64; 3],
    speed_m_per_s: f64,
    rest_s: f64,
    rate_hz: f64,
) -> impl Iterator<Item = f64> {
    let way = speed_m_per_s / rate_hz;
    let steps = move |a: f64, b: f64| ((b - a).abs() / way).ceil().max(1.0) as u32;
    let line = move |a: f64, b: f64| {
        let count = steps(a, b);
        (1..=count).map(move |k| a + (b - a) * f64::from(k) / f64::from(count))
    };
    let rest = (0..(rest_s * rate_hz) as u32).map(move |_| to_m);
    line(from_m, to_m).chain(rest).chain(line(to_m, end_m))
}
