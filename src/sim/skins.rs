//! What can be seen of bodies that deform, and of a needle, for whoever draws.
//!
//! Thread: simulation, after a step has been published. Nothing here changes the simulation.

use super::body::Body;
use super::{BodyModel, CorotationalModel, ElasticModel, Motion, SimData, SimModel, TissueModel};
use crate::fem::{FemModel, FemSkin, StaticBody};
use crate::math::{Mat3, Pose, Vec3};
use crate::shared::{Skin, SkinModel};
use std::sync::Arc;

/// Strain in simple tension whose stress is drawn in the last colour: what a snap fit of plastic stands again and again.
const FULL_STRAIN: f64 = 0.015;
/// The same for tissue, which a needle stretches by more before it breaks.
const FULL_STRAIN_TISSUE: f64 = 0.15;

/// A body that is drawn by its skin.
#[derive(Clone)]
enum Shown {
    Elastic(Arc<ElasticModel>),
    Corotational(Arc<CorotationalModel>),
    Tissue(Arc<TissueModel>),
}

impl Shown {
    fn of(body: &BodyModel) -> Option<Self> {
        match &body.motion {
            Motion::Elastic(elastic) => elastic.skin.is_some().then(|| Self::Elastic(elastic.clone())),
            Motion::Corotational(soft) => Some(Self::Corotational(soft.clone())),
            Motion::Tissue(tissue) => Some(Self::Tissue(tissue.clone())),
            Motion::Fixed | Motion::Rigid(_) | Motion::Custom(_) => None,
        }
    }

    fn fem(&self) -> &FemModel {
        match self {
            Self::Elastic(elastic) => &elastic.fem,
            Self::Corotational(soft) => &soft.fem,
            Self::Tissue(tissue) => &tissue.fem,
        }
    }

    fn skin(&self) -> Option<&FemSkin> {
        match self {
            Self::Elastic(elastic) => elastic.skin.as_ref(),
            Self::Corotational(soft) => Some(&soft.skin),
            Self::Tissue(tissue) => Some(&tissue.skin),
        }
    }

    /// Stress that is drawn in the last colour, Pa. A lump in a soft body does not make the rest of it colourless.
    fn full_stress_pa(&self) -> f64 {
        match self {
            Self::Elastic(elastic) => FULL_STRAIN * elastic.fem.young_pa(),
            Self::Corotational(soft) => FULL_STRAIN_TISSUE * soft.fem.young_mean_pa(),
            Self::Tissue(tissue) => FULL_STRAIN_TISSUE * tissue.fem.young_pa(),
        }
    }
}

/// Bodies that are drawn by their skins, in the order of the scene.
fn shown(model: &SimModel) -> impl Iterator<Item = (usize, &BodyModel, Shown)> {
    model.bodies.iter().enumerate().filter_map(|(index, body)| Some((index, body, Shown::of(body)?)))
}

/// A point of the scene, as it is sent.
fn sent(place: &Vec3) -> [f32; 3] {
    [place.x as f32, place.y as f32, place.z as f32]
}

/// A point of a body in the scene, as it is sent.
fn in_scene(pose: &Pose, point: &Vec3) -> [f32; 3] {
    sent(&(pose.rotation * point + pose.translation.vector))
}

/// The skins of a scene, without any force on them.
#[must_use]
pub fn skin_models(model: &SimModel) -> Vec<SkinModel> {
    let skin = |(_, body, shown): (usize, &BodyModel, Shown)| {
        let (fem, skin) = (shown.fem(), shown.skin()?);
        let point = |node: &u32| in_scene(&body.start, &fem.rest()[*node as usize]);
        Some(SkinModel {
            name: body.name.clone(),
            material: model.materials.get(body.material).map_or_else(String::new, |material| material.name.clone()),
            points: skin.nodes().iter().map(point).collect(),
            triangles: skin.triangles().to_vec(),
            inner: skin.inner().to_vec(),
            stress_full_pa: shown.full_stress_pa() as f32,
        })
    };
    shown(model).filter_map(skin).collect()
}

/// Fills frames of the skins that [`skin_models`] gives.
pub struct Painter {
    bodies: Vec<Painted>,
    work: Vec<Mat3>,
}

struct Painted {
    index: usize,
    shown: Shown,
    still: Option<StaticBody>,
}

impl Painter {
    /// For the bodies of a scene.
    #[must_use]
    pub fn new(model: &SimModel) -> Self {
        let painted = |(index, _, shown): (usize, &BodyModel, Shown)| {
            let still = match &shown {
                // The same matrix had a factor when the model was made.
                Shown::Elastic(elastic) => StaticBody::new(&elastic.fem, &elastic.gravity).ok(),
                Shown::Corotational(_) | Shown::Tissue(_) => None,
            };
            Painted { index, shown, still }
        };
        Self { bodies: shown(model).map(painted).collect(), work: Vec::new() }
    }

    /// Writes the places of the points now, and the stress there.
    pub fn paint(&mut self, data: &SimData, skins: &mut [Skin]) {
        for (body, out) in self.bodies.iter_mut().zip(skins) {
            let Some(state) = data.bodies.get(body.index) else { continue };
            let x = match (state, &mut body.still) {
                (Body::Elastic(state), Some(still)) => state.displacements(still),
                (Body::Corotational(state), _) => state.body().position(),
                (Body::Tissue(state), _) => state.displacements(),
                _ => continue,
            };
            let Some(pose) = state.carrier() else { continue };
            let Some(skin) = body.shown.skin() else { continue };
            skin.draw(body.shown.fem(), x, &mut self.work, |point, place, stress| {
                if let (Some(at), Some(pa)) = (out.points.get_mut(point), out.stress_pa.get_mut(point)) {
                    (*at, *pa) = (in_scene(pose, &place), stress as f32);
                }
            });
        }
    }
}
