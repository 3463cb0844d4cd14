//! Joints between bodies.
//!
//! Thread: cold.

use super::build::Check;
use super::read_joint::WORLD;
use super::spec::Weight;
use crate::math::{Pose, Rot, Vec3, steady_tangents};
use crate::sim::{BodyId, BodyModel, JointModel, Motion, patch_serves};

impl Check<'_> {
    /// The joints of the scene; problems where one cannot be.
    pub(super) fn joints(&mut self, bodies: &[BodyModel]) -> Vec<JointModel> {
        let spec = self.spec;
        let mut joints = Vec::with_capacity(spec.joints.len());
        for (index, joint) in spec.joints.iter().enumerate() {
            let name = |end: Option<usize>| end.map_or(WORLD, |body| spec.bodies[body].name.as_str());
            let [a, b] = joint.bodies.map(name);
            let is_fixed = |end: Option<usize>| end.is_none_or(|body| spec.bodies[body].weight == Weight::Fixed);
            let is_tissue = |end: Option<usize>| end.is_some_and(|body| spec.bodies[body].weight == Weight::Tissue);
            let message = if joint.bodies[0] == joint.bodies[1] {
                Some((format!("`{}` connects `{a}` with itself", joint.name), "name another body, or \"world\""))
            } else if joint.bodies.iter().all(|end| is_fixed(*end)) {
                let message = format!("`{}` connects `{a}` with `{b}`, and neither of them moves", joint.name);
                Some((message, "name a body that moves, or remove the joint"))
            } else if joint.bodies.iter().any(|end| is_tissue(*end)) {
                let message = format!("`{}` connects `{a}` with `{b}`, but tissue has no joints", joint.name);
                Some((message, "name a rigid or a soft body, or \"world\""))
            } else if spec.joints[..index].iter().any(|other| other.name == joint.name) {
                Some((format!("two joints are called `{}`", joint.name), "give each a name of its own"))
            } else {
                None
            };
            if let Some((message, help)) = message {
                self.error(&format!("joint.{index}.a"), &message, help);
                continue;
            }
            let Some(patches) = self.patches(index, bodies) else { continue };
            joints.push(JointModel {
                patches,
                name: joint.name.clone(),
                kind: joint.kind,
                bodies: joint.bodies.map(|body| body.map(BodyId)),
                frame: Pose::from_parts(joint.anchor.into(), joint.axis.map_or_else(Rot::identity, towards)),
                compliance: joint.compliance_m_per_n,
            });
        }
        joints
    }
}

impl Check<'_> {
    /// Nodes of the soft bodies that a joint is fixed to; none, and problems, where they do not serve.
    fn patches(&mut self, index: usize, bodies: &[BodyModel]) -> Option<[Vec<u32>; 2]> {
        let a = self.patch(index, 0, bodies);
        let b = self.patch(index, 1, bodies);
        Some([a?, b?])
    }

    fn patch(&mut self, index: usize, side: usize, bodies: &[BodyModel]) -> Option<Vec<u32>> {
        let joint = &self.spec.joints[index];
        let (group, end) = (&joint.patches[side], ["a", "b"][side]);
        let key = format!("joint.{index}.{end}_group");
        let soft = joint.bodies[side].filter(|body| self.spec.bodies[*body].weight == Weight::Elastic);
        let (Some(body), Some(name)) = (soft, group) else {
            let message = match (soft, group) {
                (None, None) => return Some(Vec::new()),
                (None, _) => format!("`{end}_group` has no meaning: `{end}` is no soft body"),
                (Some(body), _) => format!("`{}` deforms: `{end}_group` is missing", self.spec.bodies[body].name),
            };
            let key = if soft.is_some() { format!("joint.{index}.{end}") } else { key };
            let help = match soft {
                None => "remove it",
                Some(_) => "name a group of its mesh that the joint is fixed to, such as \"top\"",
            };
            self.error(&key, &message, help);
            return None;
        };
        // Without its model the body has been reported already.
        let (model, solid) = (bodies.get(body)?, self.solid(body)?);
        let made = self.group_of(body, &solid.elements.clone()?, name);
        let (mesh, all) = match made {
            Ok(found) => found,
            Err(unmade) => {
                self.error(&key, &unmade.message, &unmade.help);
                return None;
            }
        };
        let moves = |node: &u32| match &model.motion {
            Motion::Elastic(elastic) => elastic.answer.nodes().contains(node),
            Motion::Corotational(soft) => soft.fem.first_of(*node).is_some(),
            _ => false,
        };
        let nodes: Vec<u32> = all.into_iter().filter(moves).collect();
        let places: Vec<Vec3> = nodes.iter().map(|node| mesh.nodes()[*node as usize]).collect();
        if !patch_serves(joint.kind, &places) {
            let message = format!("the group `{name}` has {} nodes on the surface that can move", nodes.len());
            let help = "choose a group with three that are not on a line, which are not held; a ball needs one";
            self.error(&key, &message, help);
            return None;
        }
        Some(nodes)
    }
}

/// A rotation that turns z into `axis`.
fn towards(axis: Vec3) -> Rot {
    // The shortest rotation loses digits near the opposite of z; any frame around the axis serves.
    let (t1, t2) = steady_tangents(&axis);
    let sign = t1.cross(&t2).dot(&axis).signum();
    Rot::from_basis_unchecked(&[t1, t2 * sign, axis])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_z_axis_of_the_frame_is_the_axis_of_the_joint() {
        for axis in
            [Vec3::x(), Vec3::z(), -Vec3::z(), Vec3::new(0.6, -0.8, 0.0), Vec3::new(1e-9, 0.0, -1.0).normalize()]
        {
            assert!((towards(axis) * Vec3::z() - axis).norm() < 1e-12, "{axis:?}");
        }
    }
}
