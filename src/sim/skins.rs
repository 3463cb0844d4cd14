//! What can be seen of bodies that deform, for whoever draws.
//!
//! Thread: simulation, after a step has been published. Nothing here changes the simulation.

use super::{BodyModel, ElasticModel, Motion, SimData, SimModel};
use crate::fem::{FemSkin, StaticBody};
use crate::math::{Mat3, Pose, Vec3};
use crate::shared::{Skin, SkinModel};
use std::sync::Arc;

/// Strain in simple tension whose stress is drawn in the last colour: what a snap fit of plastic stands again and again.
const FULL_STRAIN: f64 = 0.015;

/// Bodies that are drawn by their skins, in the order of the scene.
fn shown(model: &SimModel) -> impl Iterator<Item = (usize, &BodyModel, &Arc<ElasticModel>, &FemSkin)> {
    model.bodies.iter().enumerate().filter_map(|(index, body)| match &body.motion {
        Motion::Elastic(elastic) => Some((index, body, elastic, elastic.skin.as_ref()?)),
        Motion::Fixed | Motion::Free(_) | Motion::Tissue(_) => None,
    })
}

/// A point of a body in the scene, as it is sent.
fn in_scene(pose: &Pose, point: &Vec3) -> [f32; 3] {
    let place = pose.rotation * point + pose.translation.vector;
    [place.x as f32, place.y as f32, place.z as f32]
}

/// The skins of a scene, without any force on them.
#[must_use]
pub fn skin_models(model: &SimModel) -> Vec<SkinModel> {
    let skin = |(_, body, elastic, skin): (usize, &BodyModel, &Arc<ElasticModel>, &FemSkin)| SkinModel {
        name: body.name.clone(),
        material: model.materials.get(body.material).map_or_else(String::new, |material| material.name.clone()),
        points: skin.nodes().iter().map(|node| in_scene(&body.start, &elastic.fem.rest()[*node as usize])).collect(),
        triangles: skin.triangles().to_vec(),
        stress_full_pa: (FULL_STRAIN * elastic.fem.young_pa()) as f32,
    };
    shown(model).map(skin).collect()
}

/// Fills frames of the skins that [`skin_models`] gives.
pub struct Painter {
    bodies: Vec<Painted>,
    work: Vec<Mat3>,
}

struct Painted {
    index: usize,
    model: Arc<ElasticModel>,
    pose: Pose,
    still: Option<StaticBody>,
}

impl Painter {
    /// For the bodies of a scene.
    #[must_use]
    pub fn new(model: &SimModel) -> Self {
        let painted = |(index, body, elastic, _): (usize, &BodyModel, &Arc<ElasticModel>, &FemSkin)| Painted {
            index,
            model: elastic.clone(),
            pose: body.start,
            // The same matrix had a factor when the model was made.
            still: StaticBody::new(&elastic.fem, &elastic.gravity).ok(),
        };
        Self { bodies: shown(model).map(painted).collect(), work: Vec::new() }
    }

    /// Writes where the points are now, and the stress there.
    pub fn paint(&mut self, data: &SimData, skins: &mut [Skin]) {
        for (body, out) in self.bodies.iter_mut().zip(skins) {
            let (Some(state), Some(skin), Some(still)) =
                (data.elastic.get(body.index).and_then(Option::as_ref), &body.model.skin, &mut body.still)
            else {
                continue;
            };
            let x = state.displacements(still);
            skin.draw(&body.model.fem, x, &mut self.work, |point, place, stress| {
                if let (Some(at), Some(pa)) = (out.points.get_mut(point), out.stress_pa.get_mut(point)) {
                    (*at, *pa) = (in_scene(&body.pose, &place), stress as f32);
                }
            });
        }
    }
}
