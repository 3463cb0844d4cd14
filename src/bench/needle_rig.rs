//! A block of soft material and a needle over it, without haptic thread: the hub goes where it is put.
//!
//! Thread: main. For suite `needle` and for tests.
//!
//! Puncture and friction are those of J. Endourol. 30(10), 2016, doi 10.1089/end.2016.0342 (human cadavers in situ: skin punctured at 2.75 to
//! 2.80 N, force growing by 0.35 to 0.59 N for each centimetre of depth). That case states no needle, modulus or cutting force: an
//! 18 G needle in gel of 40 kPa, cut with 0.9 N, is an assumption.

use super::BenchError;
use super::fem_rig::failed;
use crate::fem::{BeamSpec, Material, Relaxation};
use crate::geometry::tet::{BlockSpec, Split};
use crate::geometry::{Cuboid, Shape, Sphere};
use crate::math::{Pose, Vec3};
use crate::mechanism::pmi::RigidInertia;
use crate::shared::ToolSample;
use crate::sim::{
    BodyModel, Breathing, Layer, Material as Surface, Motion, NeedleModel, SimData, SimModel, TissueModel, TissueSpec,
    ToolBody, step,
};
use std::sync::Arc;

/// Side of the block, m; the middle of its top is the origin of the world.
pub const SIDE_M: f64 = 0.1;
/// Length of the needle, m.
pub const LENGTH_M: f64 = 0.15;

/// What can be different.
#[derive(Clone, Debug)]
pub struct Phantom {
    /// Bricks of the mesh.
    pub cells: [u32; 3],
    /// Height of the block, m.
    pub height_m: f64,
    /// Faces that are held.
    pub held: &'static [&'static str],
    /// How it breathes.
    pub breathing: Option<Breathing>,
    /// Diameter of the needle, m.
    pub outer_m: f64,
    /// Its modulus, Pa.
    pub needle_pa: f64,
    /// Modulus of the block, Pa.
    pub young_pa: f64,
    /// Force that its surface bears, N.
    pub enter_n: f64,
    /// Force to cut on, N.
    pub cut_n: f64,
    /// Friction for each metre, N/m.
    pub friction_n_per_m: f64,
    /// What the surface yields beyond the mesh, m/N.
    pub yield_m_per_n: f64,
    /// How it relaxes.
    pub relaxation: Option<Relaxation>,
    /// Curvature of a bevel's channel, 1/m.
    pub curvature_per_m: f64,
    /// Friction of the tip, and of what presses across.
    pub press: f64,
    /// The needle does not bend.
    pub rigid: bool,
    /// Steps a second.
    pub rate_hz: f64,
}

impl Default for Phantom {
    fn default() -> Self {
        Self {
            cells: [5, 5, 4],
            height_m: 0.08,
            held: &["z0"],
            breathing: None,
            outer_m: 1.27e-3,
            needle_pa: 200e9,
            young_pa: 40e3,
            enter_n: 2.78,
            cut_n: 0.9,
            friction_n_per_m: 47.0,
            yield_m_per_n: 1e-3,
            relaxation: None,
            curvature_per_m: 0.0,
            press: 0.1,
            rigid: false,
            rate_hz: 100.0,
        }
    }
}

impl Phantom {
    /// The needle, 150 mm long, held at the tool's origin.
    #[must_use]
    pub fn needle(&self) -> NeedleModel {
        NeedleModel {
            beam: BeamSpec {
                length_m: LENGTH_M,
                outer_m: self.outer_m,
                inner_m: 0.66 * self.outer_m,
                young_pa: self.needle_pa,
                poisson: 0.3,
                nodes: 20,
                rigid: self.rigid,
            },
            pose_tool_hub: Pose::identity(),
            friction: self.press,
            curvature_per_m: self.curvature_per_m,
            spacing_m: 8e-3,
            spread_m: 10e-3,
        }
    }

    /// The block.
    ///
    /// # Errors
    /// When its dimensions make none.
    pub fn tissue(&self) -> Result<TissueModel, BenchError> {
        let mesh = BlockSpec { size: Vec3::new(SIDE_M, SIDE_M, self.height_m), cells: self.cells, split: Split::Six }
            .mesh()
            .map_err(failed)?
            .with_midsides();
        let layer = Layer {
            name: "gel".into(),
            material: Material { young_pa: self.young_pa, poisson: 0.45, density: 1000.0 },
            enter_n: self.enter_n,
            cut_n: self.cut_n,
            friction_n_per_m: self.friction_n_per_m,
            yield_m_per_n: self.yield_m_per_n,
        };
        TissueModel::new(TissueSpec {
            mesh: &mesh,
            layers: vec![layer],
            held: self.held,
            relaxation: self.relaxation,
            breathing: self.breathing,
            lag: 1,
            target: None,
            forbidden: Vec::new(),
        })
        .map_err(failed)
    }

    /// Where the block stands.
    #[must_use]
    pub fn place(&self) -> Pose {
        Pose::translation(-0.5 * SIDE_M, -0.5 * SIDE_M, -self.height_m)
    }

    /// The needle with its tip `over_m` above the middle of the block.
    ///
    /// # Errors
    /// As [`Self::tissue`].
    pub fn begin(&self, over_m: f64) -> Result<Run, BenchError> {
        self.begin_over(&[(Arc::new(self.tissue()?), self.place())], over_m)
    }

    /// The same over other blocks.
    ///
    /// # Errors
    /// When needle or tissue make no scene.
    pub fn begin_over(&self, tissues: &[(Arc<TissueModel>, Pose)], over_m: f64) -> Result<Run, BenchError> {
        let tool = Pose::translation(0.0, 0.0, LENGTH_M + over_m);
        let body = |(tissue, start): &(Arc<TissueModel>, Pose)| BodyModel {
            name: "block".into(),
            shape: Shape::Cuboid(Cuboid { half: Vec3::repeat(0.5 * SIDE_M) }),
            field: None,
            pose_body_shape: Pose::identity(),
            motion: Motion::Tissue(tissue.clone()),
            material: 0,
            start: *start,
        };
        let inertia = RigidInertia::new(0.05, crate::math::Mat3::identity() * 1e-5);
        let inertia = inertia.ok_or_else(|| BenchError::Failed("the hub has no inertia".into()))?;
        let hub = ToolBody {
            shape: Shape::Sphere(Sphere { radius: 1e-3 }),
            field: None,
            pose_tool_shape: Pose::identity(),
            inertia,
            material: 0,
            rotation_locked: false,
            start: tool,
        };
        let model = SimModel {
            bodies: tissues.iter().map(body).collect(),
            tools: vec![hub],
            needle: Some(Arc::new(self.needle())),
            materials: vec![Surface { name: "gel".into(), friction: 0.0, restitution: 0.0 }],
            ..SimModel::empty(self.rate_hz, 2e-3)
        };
        let data = SimData::new(&model).map_err(failed)?;
        Ok(Run { model, data, tool, step_s: 1.0 / self.rate_hz })
    }
}

/// A needle being moved.
pub struct Run {
    /// The scene.
    pub model: SimModel,
    /// Needle and tissue.
    pub data: SimData,
    /// Where the hub goes in the next step.
    pub tool: Pose,
    /// Length of a step, s.
    pub step_s: f64,
}

/// One step as seen.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Way of the hub below the place where the tip just touches, m.
    pub way_m: f64,
    /// Force of the tissue on the hub along z, N.
    pub force_n: f64,
    /// Force along at the tip, N.
    pub tip_n: f64,
    /// Friction along the shaft, N.
    pub shaft_n: f64,
    /// Length of needle in the block, m.
    pub depth_m: f64,
    /// Surfaces broken.
    pub punctures: u32,
    /// The solve met its tolerance.
    pub converged: bool,
}

impl Run {
    /// One step.
    pub fn step(&mut self) -> Seen {
        let outcome = step(&self.model, &mut self.data, &[ToolSample::at_rest(self.tool)], &mut []);
        let figures = self.data.view.needle.unwrap_or_default();
        Seen {
            way_m: LENGTH_M - self.tool.translation.z,
            force_n: figures.force.z,
            tip_n: figures.tip_n,
            shaft_n: figures.shaft_n,
            depth_m: figures.depth_m,
            punctures: figures.punctures,
            converged: outcome.converged,
        }
    }

    /// Moves the hub along z by `way_m` at `speed`, m/s.
    pub fn go(&mut self, way_m: f64, speed: f64) -> Vec<Seen> {
        let count = (way_m.abs() / (speed * self.step_s)).round() as usize;
        let each = way_m / count.max(1) as f64;
        (0..count)
            .map(|_| {
                self.tool.translation.z += each;
                self.step()
            })
            .collect()
    }

    /// Holds the hub still.
    pub fn rest(&mut self, time_s: f64) -> Vec<Seen> {
        (0..(time_s / self.step_s).round() as usize).map(|_| self.step()).collect()
    }
}
