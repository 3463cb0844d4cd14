//! A scene as its file states it, in SI units: checked by itself, not yet against a device.
//!
//! Thread: any (plain data).

use super::spec_soft::{ElasticSpec, Selection, SoftShapeSpec};
use super::task::Goal;
use crate::bake::Design;
use crate::collision::Reduction;
use crate::device::operator::{Phase, Skill};
use crate::fem::{BeamSpec, Relaxation};
use crate::files::{Problems, Report};
use crate::geometry::Shape;
use crate::geometry::mesh::LengthUnit;
use crate::geometry::parts::{Facets, ThreadSpec};
use crate::geometry::snap::{Detail, SnapKind};
use crate::haptic::Ratchet;
use crate::math::{Mapping, Pose, Random, Vec3};
use crate::sim::{Breathing, Forbidden, JointKind, Layer, Material, Target};
use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::ops::Range;

/// The file behind a scene, so that what is found later can still be shown at its place.
#[derive(Clone, Debug, Default)]
pub struct Source {
    pub(super) name: String,
    pub(super) text: String,
    places: BTreeMap<String, Range<usize>>,
}

impl Source {
    /// What the file is called in reports.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file as read, for recordings that must be able to run again.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Remembers where something stands.
    pub(super) fn mark(&mut self, key: impl Into<String>, span: Range<usize>) {
        self.places.insert(key.into(), span);
    }

    /// Bytes of what was marked; the beginning of the file when nothing was.
    pub(super) fn place(&self, key: &str) -> Range<usize> {
        self.places.get(key).cloned().unwrap_or(0..0)
    }

    /// The same file, with other places for what `other` has marked.
    fn with(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.places.extend(other.places.iter().map(|(key, span)| (key.clone(), span.clone())));
        both
    }

    /// `problems` at their places in the file.
    pub(super) fn report(&self, problems: Problems) -> Report {
        Report::new(&self.name, &self.text, problems)
    }
}

/// The kinds of machined parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// A threaded rod.
    Bolt,
    /// A nut.
    Nut,
    /// A round peg.
    Peg,
    /// A round block with a bore.
    BoreBlock,
    /// A mesh from a file.
    Mesh,
}

/// A machined part as written.
#[derive(Clone, Debug)]
pub enum PartForm {
    /// By its dimensions.
    Design(Design),
    /// From a file.
    Mesh {
        /// STL or OBJ, beside the scene file.
        file: String,
        /// What its numbers mean.
        unit: LengthUnit,
    },
}

/// Where the distances of a part come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelChoice {
    /// A grid, made when the scene is built.
    Grid,
    /// The exact surface itself.
    Exact,
    /// A file made by `hapticd bake`, beside the scene file.
    File(String),
}

/// A machined part and how it is asked for contacts.
#[derive(Clone, Debug)]
pub struct PartSpec {
    /// What it is.
    pub form: PartForm,
    /// Its thread as designated, where it has one.
    pub thread: Option<ThreadSpec>,
    /// How fine its nodes lie; a mesh has its own.
    pub facets: Facets,
    /// Where its distances come from.
    pub model: ModelChoice,
}

/// `shape = { … }`
#[derive(Clone, Debug)]
pub enum ShapeSpec {
    /// A primitive shape.
    Plain(Shape),
    /// A machined part, which is made when the scene is built.
    Part(PartSpec),
    /// The rigid half of a snap connector.
    Plug(SnapKind),
    /// The half that deforms.
    Socket {
        /// Which connector.
        connector: SnapKind,
        /// How fine its elements are.
        detail: Detail,
    },
    /// Tissue; its layers are those of the body.
    Tissue(TissueForm),
    /// A solid that is filled with tetrahedra.
    Soft(SoftShapeSpec),
}

/// Tissue as written.
#[derive(Clone, Debug)]
pub enum TissueForm {
    /// A block in layers.
    Block {
        /// Lengths along x, y and z, m.
        size: Vec3,
        /// Edge of its bricks, m.
        cell_m: f64,
    },
    /// Something like a liver.
    Organ {
        /// Lengths along x, y and z, m.
        size: Vec3,
        /// By how much one end is thinner, 0 to below 1.
        taper: f64,
        /// Edge of its bricks, m.
        cell_m: f64,
    },
    /// From a file.
    Mesh {
        /// MSH, VTK or VTU, beside the scene file.
        file: String,
        /// What its numbers mean.
        unit: LengthUnit,
    },
}

/// `[[body.NAME.layer]]`
#[derive(Clone, Debug)]
pub struct LayerSpec {
    /// Its mechanics.
    pub layer: Layer,
    /// How thick it is, in a block, m.
    pub thickness_m: Option<f64>,
}

/// `[body.NAME.tissue]` and its layers.
#[derive(Clone, Debug)]
pub struct TissueSpec {
    /// From the top.
    pub layers: Vec<LayerSpec>,
    /// Groups of the mesh that are held.
    pub held: Vec<String>,
    /// How it relaxes.
    pub relaxation: Option<Relaxation>,
    /// How its support moves.
    pub breathing: Option<Breathing>,
    /// What there is to reach in it.
    pub target: Option<Target>,
    /// What there is to avoid in it.
    pub forbidden: Vec<Forbidden>,
}

/// `[needle]`: the tool is its hub.
#[derive(Clone, Debug, PartialEq)]
pub struct NeedleSpec {
    /// The beam.
    pub beam: BeamSpec,
    /// Friction of the tip on a surface, and by pressing across.
    pub friction: f64,
    /// Curvature of the channel that a bevelled tip cuts, 1/m.
    pub curvature_per_m: f64,
    /// Distance of the points along the shaft, m.
    pub spacing_m: f64,
    /// Radius of the ball that forces are spread over, m.
    pub spread_m: f64,
}

/// How heavy a body is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weight {
    /// It does not move.
    Fixed,
    /// Mass, kg.
    Mass(f64),
    /// Density, kg/m³.
    Density(f64),
    /// It deforms; its elements have densities.
    Elastic,
    /// It is held and deforms, and needles go into it; its layers have densities.
    Tissue,
}

/// `[body.NAME]`
#[derive(Clone, Debug)]
pub struct BodySpec {
    /// NAME.
    pub name: String,
    /// Its shape.
    pub shape: ShapeSpec,
    /// How heavy it is.
    pub weight: Weight,
    /// Index into [`SceneSpec::materials`].
    pub material: usize,
    /// The shape's frame in the scene at the start.
    pub pose: Pose,
    /// What tissue is made of.
    pub tissue: Option<TissueSpec>,
    /// How any other body deforms, where it does.
    pub elastic: Option<ElasticSpec>,
}

/// `[[joint]]`
#[derive(Clone, Debug, PartialEq)]
pub struct JointSpec {
    /// Its name.
    pub name: String,
    /// Which motion it leaves.
    pub kind: JointKind,
    /// Indices of the two bodies; none for the world.
    pub bodies: [Option<usize>; 2],
    /// Groups of soft bodies that it is fixed to.
    pub patches: [Option<String>; 2],
    /// A point of it in the scene at the start, m.
    pub anchor: Vec3,
    /// Unit axis of a hinge or a slider in the scene at the start.
    pub axis: Option<Vec3>,
    /// How far the anchor gives way, m/N.
    pub compliance_m_per_n: f64,
}

/// `[tool]`
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// Its shape.
    pub shape: ShapeSpec,
    /// Mass of the proxy, kg.
    pub mass_kg: f64,
    /// Index into [`SceneSpec::materials`].
    pub material: usize,
    /// The shape's frame in the scene at the start.
    pub pose: Pose,
    /// How it deforms, where it does: what is held is clamped to the hand.
    pub elastic: Option<ElasticSpec>,
}

/// The ways of rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CouplingKind {
    /// Spring and damper between handle and proxy.
    Spring,
    /// The same with force channels in both directions.
    Transparent,
    /// No proxy: contacts give way.
    Direct,
}

/// `[coupling]`, in scene units: what the hand feels of it is scaled by the mapping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CouplingSpec {
    /// Which way.
    pub kind: CouplingKind,
    /// N/m.
    pub stiffness: f64,
    /// N·s/m.
    pub damping: f64,
    /// N·m/rad; needed with a device that senses rotation, but for [`CouplingKind::Direct`].
    pub angular_stiffness: Option<f64>,
    /// N·m·s/rad, likewise.
    pub angular_damping: Option<f64>,
    /// How fast the hand's force is followed, Hz, by [`CouplingKind::Transparent`].
    pub bandwidth_hz: f64,
}

/// `[turning.spanner]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpannerSpec {
    /// From the tool to the hand when it is put on, in the scene, m.
    pub lever: Vec3,
    /// Button (bit number) that puts it on.
    pub button: u8,
    /// Which way it turns the tool.
    pub ratchet: Ratchet,
}

/// `[turning]`: how the tool is turned other than by the handle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TurningSpec {
    /// Unit axis in the scene, as the tool stands at the start.
    pub axis: Vec3,
    /// Fastest turn by buttons and orders, rad/s.
    pub rate_rad_s: f64,
    /// Torque at which they stall, N·m.
    pub torque_nm: f64,
    /// Buttons (bit numbers) that turn against the clock and with it.
    pub buttons: [Option<u8>; 2],
    /// A spanner.
    pub spanner: Option<SpannerSpec>,
}

/// `[safety]`: what is stated is wanted in addition to the device's own limits, never in their place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SafetySpec {
    /// Largest force, N.
    pub max_force_n: Option<f64>,
    /// Largest torque, N·m.
    pub max_torque_nm: Option<f64>,
    /// Speed of the handle above which it is braked, m/s.
    pub max_speed_m_per_s: Option<f64>,
    /// Its rate of rotation above which it is braked, rad/s.
    pub max_angular_speed_rad_per_s: Option<f64>,
    /// Largest power given to the hand, W.
    pub max_power_w: Option<f64>,
    /// From enable to full force, s.
    pub ramp_up_s: Option<f64>,
    /// Keep the energy bound.
    pub passivity: bool,
}

/// `[operator]`: who stands in for a hand when the device is simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorSpec {
    /// Level of practice.
    pub skill: Skill,
    /// Seed when none is asked for.
    pub seed: u64,
    /// What to do. Targets are poses of the tool's shape; offsets to follow are from the body's shape.
    pub phases: Vec<Phase>,
}

/// `[task]`: what counts as success.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskSpec {
    /// All of them must be met.
    pub goals: Vec<Goal>,
    /// Time in which they must be, s.
    pub timeout_s: f64,
}

/// `[second_hand]`: what a scene for two hands has twice.
#[derive(Clone, Debug)]
pub struct HandSpec {
    /// Device it is made for, where it is not that of the first hand.
    pub device: Option<String>,
    /// What it holds.
    pub tool: ToolSpec,
    /// Its device to the scene.
    pub mapping: Mapping,
    /// Button (bit number) that lifts the tool off the handle.
    pub clutch_button: Option<u8>,
    /// How its tool is turned other than by the handle.
    pub turning: Option<TurningSpec>,
    /// Its simulated operator.
    pub operator: OperatorSpec,
    /// Where this stands in the file.
    pub(super) source: Source,
}

/// Everything in a scene file.
#[derive(Clone, Debug)]
pub struct SceneSpec {
    /// Name for people.
    pub title: String,
    /// What it shows; may be empty.
    pub description: String,
    /// Device it is made for: a shipped name or a path; none when any will do.
    pub device: Option<String>,
    /// Acceleration of gravity, m/s².
    pub gravity: Vec3,
    /// Gap up to which contacts are kept ready, m; from rate and speed when none.
    pub margin_m: Option<f64>,
    /// Simulation steps a second.
    pub simulation_hz: f64,
    /// Look for contacts on a thread of its own.
    pub collision_thread: bool,
    /// How the contacts of two bodies are reduced.
    pub reduction: Reduction,
    /// Most contacts of a pair with a soft body.
    pub soft_contacts: usize,
    /// Materials, in the order of the file.
    pub materials: Vec<Material>,
    /// Bodies, in the order of the file.
    pub bodies: Vec<BodySpec>,
    /// Joints, in the order of the file.
    pub joints: Vec<JointSpec>,
    /// The tool.
    pub tool: ToolSpec,
    /// The needle whose hub it is.
    pub needle: Option<NeedleSpec>,
    /// How it hangs on the handle.
    pub coupling: CouplingSpec,
    /// Device to scene.
    pub mapping: Mapping,
    /// Button (bit number) that lifts the tool off the handle.
    pub clutch_button: Option<u8>,
    /// How the tool is turned other than by the handle.
    pub turning: Option<TurningSpec>,
    /// What is tightened.
    pub safety: SafetySpec,
    /// The simulated operator.
    pub operator: OperatorSpec,
    /// What counts as success.
    pub task: TaskSpec,
    /// The other hand, in a scene for two.
    pub second_hand: Option<Box<HandSpec>>,
    /// The file.
    pub source: Source,
}

impl SceneSpec {
    /// The scene as the second hand has it: its tool, mapping and operator in the place of the first's.
    #[must_use]
    pub fn from_second_hand(&self) -> Option<Self> {
        let hand = self.second_hand.as_deref()?;
        Some(Self {
            device: hand.device.clone().or_else(|| self.device.clone()),
            tool: hand.tool.clone(),
            mapping: hand.mapping,
            clutch_button: hand.clutch_button,
            turning: hand.turning,
            operator: hand.operator.clone(),
            second_hand: None,
            source: self.source.with(&hand.source),
            ..self.clone()
        })
    }

    /// The scene for a seed other than its own.
    #[must_use]
    pub fn with_seed(mut self, seed: Option<u64>) -> Self {
        self.operator.seed = seed.unwrap_or(self.operator.seed);
        self
    }

    /// The scene with each region where the seed puts it that is elsewhere for every seed.
    #[must_use]
    pub(super) fn scattered(&self) -> Self {
        let mut scene = self.clone();
        let mut random = Random::new(self.operator.seed ^ SCATTER_STREAM);
        let bodies = scene.bodies.iter_mut().map(|body| &mut body.elastic);
        let tools = [Some(&mut scene.tool), scene.second_hand.as_mut().map(|hand| &mut hand.tool)];
        let all = bodies.chain(tools.into_iter().flatten().map(|tool| &mut tool.elastic));
        for region in all.flatten().flat_map(|elastic| &mut elastic.regions) {
            let scatter_m = std::mem::take(&mut region.scatter_m);
            if let (true, Selection::Region(place)) = (scatter_m > 0.0, &mut region.part) {
                // Evenly over a disc.
                let (radius, angle) = (random.uniform().sqrt() * scatter_m, random.uniform() * TAU);
                *place = place.moved(&(Vec3::new(angle.cos(), angle.sin(), 0.0) * radius));
            }
        }
        scene
    }
}

/// Makes the numbers that place regions others than those of the operator's noise with the same seed.
const SCATTER_STREAM: u64 = 0x5ca7_7e4e_d000_0001;
