//! Tissue and the needle, on a given device.
//!
//! Thread: cold.

use super::build::{Check, millimetres};
use super::spec::{TissueForm, TissueSpec};
use super::task::Condition;
use super::workshop::Workshop;
use crate::device::operator::Until;
use crate::geometry::tet::{LayeredBlock, Organ, TetMesh};
use crate::sim::{BodyModel, Motion, NeedleModel, TissueModel, ToolBody};
use std::sync::Arc;

/// Nodes from which the factor of a body is too slow for every step, and steps after which it is in use then.
const SLOW_NODES: usize = 700;
const SLOW_LAG: u32 = 3;
/// Points of a needle that are looked at for tissue at the start.
const LOOKS: usize = 32;

/// The mesh of tissue; in words what is wrong with it, else.
pub(super) fn mesh_of(form: &TissueForm, tissue: Option<&TissueSpec>, shop: &mut Workshop) -> Result<TetMesh, String> {
    let layers = tissue.map_or(&[][..], |tissue| &tissue.layers);
    let made = match form {
        TissueForm::Block { size, cell_m } => {
            let thickness = |layer: &super::spec::LayerSpec| match (layer.thickness_m, layers.len()) {
                (Some(thickness), _) => Ok(thickness),
                (None, 1) => Ok(size.z),
                (None, _) => Err(format!("layer `{}` has no thickness", layer.layer.name)),
            };
            let named: Result<Vec<(&str, f64)>, String> =
                layers.iter().map(|layer| Ok((layer.layer.name.as_str(), thickness(layer)?))).collect();
            LayeredBlock { size: *size, cell_m: *cell_m, layers: &named? }.mesh()
        }
        TissueForm::Organ { size, taper, cell_m } => Organ { size: *size, taper: *taper, cell_m: *cell_m }.mesh(),
        TissueForm::Mesh { file, unit } => return super::make::read_tissue_mesh(file, *unit, shop),
    };
    made.map_err(|error| error.to_string())
}

impl Check<'_> {
    /// How tissue moves.
    pub(super) fn tissue(&mut self, index: usize, mesh: &TetMesh) -> Option<Motion> {
        let body = &self.spec.bodies[index];
        let tissue = body.tissue.as_ref()?;
        let (at_layer, at_tissue) = (format!("body.{index}.layer"), format!("body.{index}.tissue"));
        if let Err(unmade) = self.shop.watch.begin(format!("elements of `{}`", body.name)) {
            self.error(&at_tissue, &unmade.message, &unmade.help);
            return None;
        }
        let names: Vec<&str> = tissue.layers.iter().map(|layer| layer.layer.name.as_str()).collect();
        if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
            let message = format!("two layers of `{}` are called `{}`", body.name, names[twice]);
            self.error(&at_layer, &message, "give each a name of its own");
            return None;
        }
        if tissue.held.is_empty() {
            let message = format!("nothing holds `{}`", body.name);
            self.error(&at_tissue, &message, "write what does in `held`, such as held = [\"bottom\"]");
            return None;
        }
        let held: Vec<&str> = tissue.held.iter().map(String::as_str).collect();
        let made = TissueModel::new(crate::sim::TissueSpec {
            mesh,
            layers: tissue.layers.iter().map(|layer| layer.layer.clone()).collect(),
            held: &held,
            relaxation: tissue.relaxation,
            breathing: tissue.breathing,
            lag: if mesh.nodes().len() < SLOW_NODES { 1 } else { SLOW_LAG },
            target: tissue.target.clone(),
            forbidden: tissue.forbidden.clone(),
        });
        let model = match made {
            Ok(model) => model,
            Err(error) => {
                let message = format!("`{}`: {error}", body.name);
                self.error(&at_tissue, &message, "change its layers, `held` or its mesh; are the units right?");
                return None;
            }
        };
        if let Some(target) = &tissue.target
            && model.layer_at(&target.center).is_none()
        {
            let message = format!("the target `{}` is not inside `{}`", target.name, body.name);
            self.error(&at_tissue, &message, "places are in the frame of the body's shape, whose origin is its middle");
            return None;
        }
        Some(Motion::Tissue(Arc::new(model)))
    }

    /// The needle in the tool, outside of all tissue.
    pub(super) fn needle(&mut self, tool: &ToolBody, bodies: &[BodyModel]) -> Option<Arc<NeedleModel>> {
        let needle = self.spec.needle.as_ref()?;
        if self.spec.second_hand.is_some() {
            self.error("needle", "a needle is for a scene with one hand", "remove [second_hand] or [needle]");
        }
        if let Err(error) = needle.beam.check() {
            self.error("needle", &error.to_string(), "change its diameters; are the units right?");
            return None;
        }
        let model = NeedleModel {
            beam: needle.beam,
            pose_tool_hub: tool.pose_tool_shape,
            friction: needle.friction,
            curvature_per_m: needle.curvature_per_m,
            spacing_m: needle.spacing_m,
            spread_m: needle.spread_m,
        };
        let hub = tool.start * model.pose_tool_hub;
        for body in bodies {
            let Motion::Tissue(tissue) = &body.motion else { continue };
            let length = needle.beam.length_m;
            let inside = (0..=LOOKS).map(|k| length * k as f64 / LOOKS as f64).find(|along| {
                let place = hub.translation.vector - hub.rotation * crate::math::Vec3::z() * *along;
                tissue.layer_at(&body.start.inverse_transform_point(&place.into()).coords).is_some()
            });
            if let Some(along) = inside {
                let message = format!("the needle starts in `{}`, {} from its hub", body.name, millimetres(along));
                self.error("tool.pose", &message, "start it outside of all tissue");
            }
        }
        Some(Arc::new(model))
    }

    /// Goals and phases about a needle and a target that are not there.
    pub(super) fn needle_asked(&mut self) {
        let spec = self.spec;
        let mut targets = spec
            .bodies
            .iter()
            .enumerate()
            .filter(|(_, body)| body.tissue.as_ref().is_some_and(|tissue| tissue.target.is_some()));
        let (first, second) = (targets.next(), targets.next());
        if let Some((index, _)) = second {
            self.error(
                &format!("body.{index}.tissue"),
                "there are two targets",
                "keep one of them: scores are about one",
            );
        }
        let goals = spec.task.goals.iter().enumerate().filter_map(|(index, goal)| {
            let aimed = matches!(goal.condition, Condition::NeedleWithin { .. });
            goal.condition.is_of_needle().then(|| (format!("goal.{index}"), aimed))
        });
        let phases = spec.operator.phases.iter().enumerate().filter_map(|(index, phase)| {
            let aimed = matches!(phase.until, Until::NeedleWithin { .. } | Until::TargetAt { .. });
            phase.until.is_of_needle().then(|| (format!("phase.{index}.until"), aimed))
        });
        for (key, aimed) in goals.chain(phases).collect::<Vec<_>>() {
            if spec.needle.is_none() {
                self.error(
                    &key,
                    "this is about a needle, but there is none",
                    "add [needle], or ask for something else",
                );
            } else if aimed && first.is_none() {
                self.error(&key, "this is about a target, but there is none", "add a `target` to the tissue of a body");
            }
        }
    }
}
