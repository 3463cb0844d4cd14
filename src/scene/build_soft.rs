//! Bodies that deform: from what the file states to plain data for the simulation.
//!
//! Thread: cold.
//!
//! ```text
//!  ElasticSpec + TetMesh ──► groups, held nodes, material of each element, model and step ──► SoftParts ──► motion_of ──► Motion
//! ```

use super::build::Check;
use super::make::{Unmade, beside};
use super::spec::{ShapeSpec, Source};
use super::spec_soft::{ElasticSpec, MaterialSpec, Selection, SoftModelKind, SoftStepKind};
use super::workshop::read_one;
use crate::collision::MAX_BODIES;
use crate::device::operator::Name;
use crate::fem::{FemModel, FemSpec, Mass, Material, Ordering, Rayleigh, ReducedModel, RegimeSpec};
use crate::geometry::snap::{HELD, TOUCHING};
use crate::geometry::tet::{Group, Members, TetMesh};
use crate::math::{Pose, Vec3};
use crate::shared::MAX_HANDS;
use crate::sim::{BodyModel, CarriedBy, HandId, ToolBody};
use crate::sim::{CorotationalModel, ElasticError, ElasticModel, Motion, Stepping, Steps};
use std::sync::Arc;

/// Largest error at rest of a reduced model that was made from this body, as a share of the displacement; one of another mesh or
/// material is off by far more.
const REDUCED_OFF: f64 = 0.1;

/// Most nodes of a linear body that can touch: its answer at rest is a full matrix, 72 MB with as many.
const LINEAR_TOUCHING_MAX: usize = 1000;

/// A body that deforms, as plain data.
#[derive(Clone, Debug)]
pub struct SoftParts {
    /// Its mesh, in the frame of its shape, with all groups.
    pub mesh: Arc<TetMesh>,
    /// Material of each tetrahedron.
    pub materials: Vec<Material>,
    /// Damping.
    pub damping: Rayleigh,
    /// Nodes that do not move relative to the frame of the body, sorted.
    pub held: Vec<u32>,
    /// Nodes that can touch; none stated: all of the surface.
    pub touching: Option<Vec<u32>>,
    /// How forces follow from displacements.
    pub model: SoftModelKind,
    /// How the body steps.
    pub step: SoftStepKind,
    /// Reduced model for [`SoftStepKind::Reduced`].
    pub reduced: Option<Arc<ReducedModel>>,
    /// The body can touch itself.
    pub self_contact: bool,
}

/// What is wrong, where it is marked, and what to do about it.
type Fault = (String, Unmade);

/// A fault at the place marked `key`.
fn fault<T>(key: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Result<T, Fault> {
    Err((key.into(), Unmade::new(message, help)))
}

/// How a body that deforms moves under this acceleration of gravity in its frame.
///
/// # Errors
/// When the simulation has no such body, or its matrices are not those of a body.
pub(super) fn motion_of(parts: &SoftParts, gravity: &Vec3) -> Result<Motion, Unmade> {
    let help = "change `elastic`; are the units right?";
    let failed = |error: ElasticError| Unmade::new(error.to_string(), help);
    let spec = FemSpec {
        mesh: &parts.mesh,
        materials: &parts.materials,
        damping: parts.damping,
        fixed: &parts.held,
        mass: Mass::Consistent,
        ordering: Ordering::LeastFill,
    };
    let fem = Arc::new(FemModel::new(&spec).map_err(|error| failed(error.into()))?);
    if parts.model == SoftModelKind::Corotational {
        let steps = match parts.step {
            SoftStepKind::Static => Steps::QuasiStatic,
            SoftStepKind::Auto => Steps::Auto(RegimeSpec::default()),
            SoftStepKind::Implicit | SoftStepKind::Pmi | SoftStepKind::Reduced => Steps::Implicit,
        };
        let mut model = CorotationalModel::new(fem, &parts.mesh, *gravity, steps);
        model.self_contact = parts.self_contact;
        return Ok(Motion::Corotational(Arc::new(model)));
    }
    let stepping = match (parts.step, &parts.reduced) {
        (SoftStepKind::Pmi, _) => Stepping::Passive,
        (SoftStepKind::Reduced | SoftStepKind::Auto, Some(reduced)) => {
            check_reduced(reduced, &fem)?;
            Stepping::Reduced(reduced.clone())
        }
        // Between the steps of a simulation that is no faster than the haptic loop a stiff body comes to rest.
        _ => Stepping::Static,
    };
    let touching = match (&parts.touching, &parts.reduced, &stepping) {
        (_, Some(reduced), Stepping::Reduced(_)) => reduced.nodes.clone(),
        (Some(touching), ..) => touching.clone(),
        _ => parts.mesh.skin().nodes,
    };
    let touching: Vec<u32> = touching.into_iter().filter(|node| parts.held.binary_search(node).is_err()).collect();
    if touching.len() > LINEAR_TOUCHING_MAX {
        let message = format!(
            "{} nodes of this linear body can touch; at most {LINEAR_TOUCHING_MAX} are simulated",
            touching.len()
        );
        return Err(Unmade::new(message, "write a larger `cell`, or model = \"corotational\""));
    }
    let model = ElasticModel::new(fem, &parts.mesh, &touching, *gravity, stepping).map_err(failed)?;
    Ok(Motion::Elastic(Arc::new(model.shown(&parts.mesh))))
}

/// Rejects a reduced model of another body.
pub(super) fn check_reduced(reduced: &ReducedModel, fem: &FemModel) -> Result<(), Unmade> {
    let help = "make it again with `hapticd bake reduce` from the same mesh, groups and material; a file with four nodes for each \
                tetrahedron needs quadratic = false";
    if reduced.full_size != fem.size() {
        let (theirs, ours) = (reduced.full_size, fem.size());
        let message = format!("the reduced model was made from a body with {theirs} unknowns; this one has {ours}");
        return Err(Unmade::new(message, help));
    }
    let off = reduced.error_at_rest(fem).map_err(|error| Unmade::new(error.to_string(), help))?;
    if off <= REDUCED_OFF {
        return Ok(());
    }
    let message = format!("the reduced model is off by {:.0} % at rest: it was made from another body", 100.0 * off);
    Err(Unmade::new(message, help))
}

/// Where a deformable body comes from.
struct Origin<'a> {
    name: &'a str,
    /// How it is marked.
    at: &'a str,
    is_socket: bool,
    /// A tool or a support that moves carries it.
    is_carried: bool,
    /// Acceleration of gravity in its frame, m/s².
    gravity: Vec3,
}

impl Check<'_> {
    /// How the body `index` deforms; none, and problems, where that cannot be.
    pub(super) fn soft(&mut self, index: usize, mesh: &Arc<TetMesh>) -> Option<Motion> {
        let body = &self.spec.bodies[index];
        let origin = Origin {
            name: &body.name,
            at: &format!("body.{index}"),
            is_socket: matches!(body.shape, ShapeSpec::Socket { .. }),
            is_carried: body.elastic.as_ref().is_some_and(|elastic| elastic.breathing.is_some()),
            gravity: body.pose.rotation.inverse_transform_vector(&self.spec.gravity),
        };
        self.soft_motion(body.elastic.as_ref()?, mesh, &origin)
    }

    /// The body that is the tool, where the tool deforms, and how the tool carries it; problems where that cannot be. A tool has no weight, and
    /// neither has what it carries: the hand holds it.
    pub(super) fn soft_tool(&mut self, tool: &ToolBody) -> Option<(BodyModel, CarriedBy)> {
        let spec = &self.spec.tool;
        let elastic = spec.elastic.as_ref()?;
        if elastic.breathing.is_some() {
            self.error(
                "tool.elastic",
                "`breathing` moves a support, and a tool moves with its hand",
                "remove `breathing`",
            );
        }
        if self.spec.needle.is_some() {
            let help = "take a cylinder or another rigid solid as its hub, or remove [needle]";
            self.error("tool.shape", "a needle is clamped in a hub, and this tool deforms", help);
        }
        if self.spec.bodies.len() + 2 * MAX_HANDS > MAX_BODIES {
            let most = MAX_BODIES - 2 * MAX_HANDS;
            let message = format!("with a tool that deforms at most {most} bodies fit");
            self.error("tool.shape", &message, "leave some out, or take a rigid tool");
        }
        let mesh = self.held.as_ref()?.elements.clone()?;
        let origin = Origin { name: "tool", at: "tool", is_socket: false, is_carried: true, gravity: Vec3::zeros() };
        let motion = self.soft_motion(elastic, &mesh, &origin)?;
        let body = BodyModel {
            name: "tool".to_owned(),
            shape: tool.shape.clone(),
            field: None,
            pose_body_shape: Pose::identity(),
            motion,
            material: tool.material,
            start: tool.start * tool.pose_tool_shape,
        };
        let by = CarriedBy::Tool { hand: HandId(0), pose_tool_body: tool.pose_tool_shape, is_whole: true };
        Some((body, by))
    }

    fn soft_motion(&mut self, elastic: &ElasticSpec, mesh: &Arc<TetMesh>, origin: &Origin<'_>) -> Option<Motion> {
        let at = origin.at;
        let begun = self.shop.watch.begin(format!("elements of `{}`", origin.name));
        let made = begun
            .map_err(|unmade| (format!("{at}.elastic"), unmade))
            .and_then(|()| parts_of(elastic, mesh, origin, &self.spec.source))
            .and_then(|parts| motion_of(&parts, &origin.gravity).map_err(|unmade| (format!("{at}.elastic"), unmade)));
        match made {
            Ok(motion) => Some(motion),
            Err((key, unmade)) => {
                self.error(&key, &format!("`{}`: {}", origin.name, unmade.message), &unmade.help);
                None
            }
        }
    }
}

impl Check<'_> {
    /// The nodes of a group of a soft body, and its mesh with that group.
    pub(super) fn group_of(
        &self,
        body: usize,
        mesh: &Arc<TetMesh>,
        name: &str,
    ) -> Result<(Arc<TetMesh>, Vec<u32>), Unmade> {
        let elastic = self.spec.bodies[body].elastic.as_ref();
        let mesh = elastic.map_or_else(|| Ok(mesh.clone()), |elastic| with_named_groups(elastic, mesh, "body"));
        let mesh = mesh.map_err(|(_, unmade)| unmade)?;
        let nodes = mesh.group_nodes(group(&mesh, name, "group").map_err(|(_, unmade)| unmade)?);
        Ok((mesh.clone(), nodes.to_vec()))
    }

    /// The middle of a region in the scene at rest, for the goal marked `key`.
    pub(super) fn middle_of_region(&mut self, key: &str, body: usize, name: &Name) -> Option<Vec3> {
        let spec = &self.spec.bodies.get(body)?;
        let regions = spec.elastic.as_ref().map_or(&[][..], |elastic| &elastic.regions);
        let region = regions.iter().find(|region| region.name.as_deref() == Some(name.as_str()));
        let message = match region.map(|region| &region.part) {
            Some(Selection::Region(place)) if place.middle().is_some() => {
                return place.middle().map(|middle| spec.pose.rotation * middle + spec.pose.translation.vector);
            }
            Some(_) => format!("the region `{name}` of `{}` has no middle", spec.name),
            None => format!("`{}` has no region called `{name}`", spec.name),
        };
        let help = "write `name` in a [[body.NAME.region]] that is chosen by `sphere` or `box`";
        self.error(key, &message, help);
        None
    }
}

/// The body as plain data; faults are at marks that begin with `at`.
fn parts_of(
    elastic: &ElasticSpec,
    mesh: &Arc<TetMesh>,
    &Origin { at, is_socket, is_carried, .. }: &Origin<'_>,
    source: &Source,
) -> Result<SoftParts, Fault> {
    let mesh = with_named_groups(elastic, mesh, at)?;
    let held = held_nodes(elastic, &mesh, is_socket, at)?;
    let materials = materials(elastic, &mesh, at)?;
    let default = if is_socket { SoftModelKind::Linear } else { SoftModelKind::Corotational };
    let model = elastic.model.unwrap_or(default);
    check_step(elastic, model, !held.is_empty(), at)?;
    if is_carried {
        check_carried(elastic, !held.is_empty(), at)?;
    }
    let reduced = elastic.reduced.as_ref().map(|file| read_reduced(file, at, source)).transpose()?;
    let touching = mesh.group(TOUCHING).filter(|_| is_socket).map(|group| mesh.group_nodes(group));
    let (damping, self_contact) = (elastic.damping, elastic.self_contact);
    let step = if is_carried { SoftStepKind::Static } else { elastic.step };
    Ok(SoftParts { mesh, materials, damping, held, touching, model, step, reduced, self_contact })
}

/// The mesh with the groups that the scene names.
fn with_named_groups(elastic: &ElasticSpec, mesh: &Arc<TetMesh>, at: &str) -> Result<Arc<TetMesh>, Fault> {
    let mut mesh = mesh.clone();
    for (index, group) in elastic.groups.iter().enumerate() {
        let key = format!("{at}.group.{index}");
        if mesh.group(&group.name).is_some() {
            return fault(key, format!("there is a group `{}` already", group.name), "give this one another name");
        }
        let nodes = mesh.nodes_where(|node| group.region.contains(node));
        if nodes.is_empty() {
            return fault(key, format!("the group `{}` has no node", group.name), where_it_lies(&mesh));
        }
        let group = Group { name: group.name.clone(), members: Members::Nodes(nodes) };
        let added = TetMesh::clone(&mesh).with_group(group);
        mesh = Arc::new(added.map_err(|error| (key, Unmade::new(error.to_string(), "choose other nodes")))?);
    }
    Ok(mesh)
}

/// Where a mesh lies, as help for a selection that misses it.
fn where_it_lies(mesh: &TetMesh) -> String {
    let bounds = mesh.aabb();
    let point = |p: Vec3| format!("({:.3}, {:.3}, {:.3})", p.x * 1e3, p.y * 1e3, p.z * 1e3);
    format!("in the frame of its shape the body reaches from {} to {} mm", point(bounds.min), point(bounds.max))
}

/// The group called `name`, or a fault with the names there are.
fn group<'m>(mesh: &'m TetMesh, name: &str, key: &str) -> Result<&'m Group, Fault> {
    mesh.group(name).map_or_else(
        || {
            let known: Vec<String> = mesh.groups().iter().map(|group| format!("`{}`", group.name)).collect();
            fault(key, format!("no group is called `{name}`"), format!("take one of {}", known.join(", ")))
        },
        Ok,
    )
}

/// The nodes that do not move.
fn held_nodes(elastic: &ElasticSpec, mesh: &TetMesh, is_socket: bool, at: &str) -> Result<Vec<u32>, Fault> {
    let base = [HELD.to_owned()];
    let names = match &elastic.held {
        Some(names) => &names[..],
        None if is_socket => &base[..],
        None => &[],
    };
    let mut held = Vec::new();
    for name in names {
        held.extend(mesh.group_nodes(group(mesh, name, &format!("{at}.held"))?));
    }
    held.sort_unstable();
    held.dedup();
    if held.len() == mesh.nodes().len() {
        let help = "hold fewer groups, or take a rigid shape and fixed = true";
        return fault(format!("{at}.held"), "all nodes are held: nothing can deform", help);
    }
    Ok(held)
}

/// The material of each element.
fn materials(elastic: &ElasticSpec, mesh: &TetMesh, at: &str) -> Result<Vec<Material>, Fault> {
    let of_body = MaterialSpec::default().over(&elastic.material);
    let mut materials = vec![of_body; mesh.tets().len()];
    for (index, region) in elastic.regions.iter().enumerate() {
        let key = format!("{at}.region.{index}");
        let Some(material) = region.material.over(&elastic.material) else {
            let message =
                "this region has no material: `young`, `poisson` or `density` is stated neither here nor in `elastic`";
            return fault(key, message, "state all three here, or in `elastic`");
        };
        let tets = match &region.part {
            Selection::Group(name) => mesh.group_tets(group(mesh, name, &key)?),
            Selection::Region(region) => mesh.tets_in(region),
        };
        if tets.is_empty() {
            let help = format!("{}; make the region larger, or `cell` smaller", where_it_lies(mesh));
            return fault(key, "this region selects no element", help);
        }
        tets.iter().for_each(|tet| materials[*tet as usize] = Some(material));
    }
    let bare: Vec<usize> = (0..materials.len()).filter(|tet| materials[*tet].is_none()).collect();
    if let Some(first) = bare.first() {
        let p = 1e3 * 0.25 * mesh.corners(*first).iter().sum::<Vec3>();
        let (count, all) = (bare.len(), materials.len());
        let message =
            format!("{count} of {all} elements have no material, the first at ({:.3}, {:.3}, {:.3}) mm", p.x, p.y, p.z);
        let help = "state `young`, `poisson` and `density` in `elastic`, or let a [[body.NAME.region]] select them";
        return fault(format!("{at}.elastic"), message, help);
    }
    Ok(materials.into_iter().flatten().collect())
}

/// Rejects what cannot be integrated.
fn check_step(elastic: &ElasticSpec, model: SoftModelKind, is_held: bool, at: &str) -> Result<(), Fault> {
    let (step, all) = (format!("{at}.step"), format!("{at}.elastic"));
    let hold = "hold a group, such as held = [\"bottom\"]";
    match (model, elastic.step) {
        (SoftModelKind::Linear, SoftStepKind::Implicit) => {
            let help = "write step = \"pmi\", or model = \"corotational\"";
            fault(step, "a linear body is not integrated with implicit Euler", help)
        }
        (SoftModelKind::Corotational, SoftStepKind::Pmi | SoftStepKind::Reduced) => {
            let help = "write step = \"implicit\" or \"auto\", or model = \"linear\"";
            fault(step, "passive midpoint integration is for linear bodies", help)
        }
        (SoftModelKind::Linear, _) if elastic.self_contact => {
            let help = "write model = \"corotational\", or remove `self_contact`";
            fault(all, "a linear body moves too little to touch itself", help)
        }
        (SoftModelKind::Corotational, _) if elastic.reduced.is_some() => {
            let help = "write model = \"linear\", or remove `reduced`";
            fault(format!("{at}.reduced"), "a corotational body has no reduced model", help)
        }
        (_, SoftStepKind::Static) if !is_held => {
            let help = format!("{hold}, or write step = \"implicit\"");
            fault(step, "step = \"static\" needs a body that is held: nothing holds this one", help)
        }
        (SoftModelKind::Linear, _) if !is_held => {
            let help = format!("{hold}, or write model = \"corotational\"");
            fault(all, "nothing holds this linear body, and a linear model does not turn", help)
        }
        (_, SoftStepKind::Reduced) if elastic.reduced.is_none() => {
            let help = "name the file that `hapticd bake reduce` made: reduced = \"NAME.reduced\"";
            fault(step, "step = \"reduced\" needs a reduced model", help)
        }
        (_, SoftStepKind::Static | SoftStepKind::Pmi) if elastic.reduced.is_some() => {
            let help = "write step = \"reduced\", or remove `reduced`";
            fault(format!("{at}.reduced"), "this step does not use the reduced model", help)
        }
        _ => Ok(()),
    }
}

/// Rejects what a tool or a support that moves cannot carry.
fn check_carried(elastic: &ElasticSpec, is_held: bool, at: &str) -> Result<(), Fault> {
    if !is_held {
        let help = "hold a group, such as held = [\"top\"]";
        return fault(format!("{at}.elastic"), "nothing clamps this body to what carries it", help);
    }
    match elastic.step {
        SoftStepKind::Static | SoftStepKind::Auto if elastic.reduced.is_none() => Ok(()),
        _ => {
            let help =
                "write step = \"static\", or remove `step` and `reduced`; the mass of a tool is that of its proxy";
            fault(
                format!("{at}.step"),
                "a body that a tool or a breathing support carries goes from rest to rest",
                help,
            )
        }
    }
}

/// The reduced model in the file `file` beside the scene.
fn read_reduced(file: &str, at: &str, source: &Source) -> Result<Arc<ReducedModel>, Fault> {
    let key = format!("{at}.reduced");
    let bytes = read_one(&beside(source, file)).map_err(|unmade| (key.clone(), unmade))?;
    let read = ReducedModel::from_bytes(&bytes, None);
    let help = "name the file that `hapticd bake reduce` made";
    read.map(Arc::new).map_err(|error| (key, Unmade::new(format!("{file}: {error}"), help)))
}

#[cfg(test)]
#[path = "soft_tests.rs"]
mod tests;
