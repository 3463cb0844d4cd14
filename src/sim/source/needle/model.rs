//! What does not change: the needle, and the tissue it goes into.
//!
//! Thread: cold.

use super::super::super::body::surface::SoftSkin;
use crate::fem::{BeamSpec, FemError, FemModel, FemSkin, FemSpec, Mass, Material, Ordering, Rayleigh, Relaxation};
use crate::geometry::tet::{Locator, Members, Skin, TetMesh};
use crate::math::{Pose, Vec3};
use std::sync::Arc;

/// Mechanics of one layer of tissue.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Its name; tetrahedra of the group with this name belong to it.
    pub name: String,
    /// What it is made of.
    pub material: Material,
    /// Force that its surface bears before it breaks, N.
    pub enter_n: f64,
    /// Force to cut on, N.
    pub cut_n: f64,
    /// Friction along the shaft for each metre in it, N/m.
    pub friction_n_per_m: f64,
    /// How far the tip presses into the unbroken surface beyond what the mesh shows, m/N.
    pub yield_m_per_n: f64,
}

/// Motion of a support to and fro.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Breathing {
    /// Way from one end to the other, in the world, m.
    pub way: Vec3,
    /// Time of one breath, s.
    pub period_s: f64,
}

impl Breathing {
    /// Way from the start at a time, and its speed. The lungs rest at the end of breathing out (Lujan et al. 1999: cos⁴).
    #[must_use]
    pub fn at(&self, time_s: f64) -> (Vec3, Vec3) {
        let rate = std::f64::consts::PI / self.period_s;
        let (sin, cos) = (rate * time_s).sin_cos();
        let speed = 4.0 * rate * cos.powi(3) * sin;
        (self.way * (1.0 - cos.powi(4)), self.way * speed)
    }
}

/// What the needle is to reach, in the tissue at rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// Its centre, in the frame of the body.
    pub center: Vec3,
    /// Its radius, m.
    pub radius_m: f64,
}

/// What the needle must not touch: a piece of a vessel in the tissue at rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Forbidden {
    /// Its name.
    pub name: String,
    /// Its axis, in the frame of the body.
    pub from: Vec3,
    /// Its other end.
    pub to: Vec3,
    /// Its radius, m.
    pub radius_m: f64,
}

impl Forbidden {
    /// Distance of a point from its surface, negative inside, m.
    #[must_use]
    pub fn distance_m(&self, point: &Vec3) -> f64 {
        let axis = self.to - self.from;
        let share = ((point - self.from).dot(&axis) / axis.norm_squared().max(1e-12)).clamp(0.0, 1.0);
        (point - self.from - axis * share).norm() - self.radius_m
    }
}

/// Why there is no such tissue.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TissueError {
    /// A tetrahedron belongs to no layer.
    #[error(
        "tetrahedron {tet} belongs to none of the layers; give the mesh a group of tetrahedra with the name of each layer"
    )]
    NoLayer {
        /// Which.
        tet: usize,
    },
    /// No layers.
    #[error("tissue needs at least one layer")]
    Empty,
    /// The group of held nodes is not there.
    #[error("the mesh has no group called {name:?} to hold it by")]
    NotHeld {
        /// The name.
        name: String,
    },
    /// Of the finite elements.
    #[error("{0}")]
    Fem(#[from] FemError),
}

/// What tissue is to be made of.
#[derive(Clone, Debug)]
pub struct TissueSpec<'a> {
    /// Its mesh, with ten nodes for each tetrahedron for choice: four lock.
    pub mesh: &'a TetMesh,
    /// Its layers; with one, all of the mesh belongs to it.
    pub layers: Vec<Layer>,
    /// Groups whose nodes are held.
    pub held: &'a [&'a str],
    /// How it relaxes.
    pub relaxation: Option<Relaxation>,
    /// How its support moves.
    pub breathing: Option<Breathing>,
    /// Steps after which a factor is in use.
    pub lag: u32,
    /// What there is to reach in it.
    pub target: Option<Target>,
    /// What there is to avoid in it.
    pub forbidden: Vec<Forbidden>,
}

/// Tissue, ready to be stepped.
#[derive(Clone, Debug)]
pub struct TissueModel {
    /// Its finite elements.
    pub fem: Arc<FemModel>,
    /// What is drawn of it.
    pub skin: FemSkin,
    /// As in the spec.
    pub layers: Vec<Layer>,
    /// As in the spec.
    pub relaxation: Option<Relaxation>,
    /// As in the spec.
    pub breathing: Option<Breathing>,
    /// As in the spec.
    pub lag: u32,
    /// As in the spec.
    pub target: Option<Target>,
    /// As in the spec.
    pub forbidden: Vec<Forbidden>,
    /// Surface that contacts are detected on.
    pub touching: Arc<SoftSkin>,
    pub(in crate::sim) locator: Locator,
    pub(in crate::sim) surface: Skin,
    layer_of: Vec<u8>,
}

impl TissueModel {
    /// Makes it.
    ///
    /// # Errors
    /// Says what is wrong with the parts.
    pub fn new(spec: TissueSpec<'_>) -> Result<Self, TissueError> {
        let layer_of = layers_of(spec.mesh, &spec.layers)?;
        let materials: Vec<Material> = layer_of.iter().map(|at| spec.layers[usize::from(*at)].material).collect();
        let mut fixed = Vec::new();
        for name in spec.held {
            let group = spec.mesh.group(name).ok_or_else(|| TissueError::NotHeld { name: (*name).into() })?;
            fixed.extend(spec.mesh.group_nodes(group));
        }
        fixed.sort_unstable();
        fixed.dedup();
        let fem = FemModel::new(&FemSpec {
            mesh: spec.mesh,
            materials: &materials,
            damping: Rayleigh::default(),
            fixed: &fixed,
            mass: Mass::Lumped,
            ordering: Ordering::LeastFill,
        })?;
        Ok(Self {
            skin: FemSkin::new(&fem, spec.mesh),
            fem: Arc::new(fem),
            touching: Arc::new(SoftSkin::new(spec.mesh)),
            locator: Locator::new(spec.mesh),
            surface: spec.mesh.skin(),
            layers: spec.layers,
            relaxation: spec.relaxation,
            breathing: spec.breathing,
            lag: spec.lag,
            target: spec.target,
            forbidden: spec.forbidden,
            layer_of,
        })
    }

    /// The layer at a point of the body at rest; none outside.
    #[must_use]
    pub fn layer_at(&self, point: &Vec3) -> Option<usize> {
        let place = self.locator.locate(point);
        let inside = place.weights.iter().all(|weight| *weight > -1e-6);
        inside.then(|| usize::from(self.layer_of[place.tet as usize]))
    }
}

/// Index of the layer of each tetrahedron.
fn layers_of(mesh: &TetMesh, layers: &[Layer]) -> Result<Vec<u8>, TissueError> {
    let count = mesh.tets().len();
    if layers.is_empty() {
        return Err(TissueError::Empty);
    }
    let mut of = vec![if layers.len() == 1 { 0 } else { u8::MAX }; count];
    for (index, layer) in layers.iter().enumerate() {
        if let Some(Members::Tets(tets)) = mesh.group(&layer.name).map(|group| &group.members) {
            for tet in tets {
                of[*tet as usize] = index as u8;
            }
        }
    }
    match of.iter().position(|layer| *layer == u8::MAX) {
        Some(tet) => Err(TissueError::NoLayer { tet }),
        None => Ok(of),
    }
}

/// A needle, held by its hub.
#[derive(Clone, Debug, PartialEq)]
pub struct NeedleModel {
    /// The beam.
    pub beam: BeamSpec,
    /// The hub in the frame of the tool: the needle points along its −z.
    pub pose_tool_hub: Pose,
    /// Friction of the tip on a surface, and what pressing across adds along the shaft.
    pub friction: f64,
    /// Curvature of the channel that a bevelled tip cuts by itself, 1/m, towards the hub's x; zero for a symmetric tip.
    pub curvature_per_m: f64,
    /// Distance of the points along the shaft, m.
    pub spacing_m: f64,
    /// Radius of the ball that forces are spread over, m.
    pub spread_m: f64,
}
