//! Joints between bodies.
//!
//! Thread: cold.

use super::build::Check;
use super::read_joint::WORLD;
use super::spec::Weight;
use crate::math::{Pose, Rot, Vec3, steady_tangents};
use crate::sim::{BodyId, JointModel};

impl Check<'_> {
    /// The joints of the scene; problems where one cannot be.
    pub(super) fn joints(&mut self) -> Vec<JointModel> {
        let spec = self.spec;
        let mut joints = Vec::with_capacity(spec.joints.len());
        for (index, joint) in spec.joints.iter().enumerate() {
            let name = |end: Option<usize>| end.map_or(WORLD, |body| spec.bodies[body].name.as_str());
            let [a, b] = joint.bodies.map(name);
            let is_fixed = |end: Option<usize>| end.is_none_or(|body| spec.bodies[body].weight == Weight::Fixed);
            let deforms = |end: Option<usize>| {
                end.is_some_and(|body| matches!(spec.bodies[body].weight, Weight::Elastic | Weight::Tissue))
            };
            let message = if joint.bodies[0] == joint.bodies[1] {
                Some((format!("`{}` connects `{a}` with itself", joint.name), "name another body, or \"world\""))
            } else if joint.bodies.iter().all(|end| is_fixed(*end)) {
                let message = format!("`{}` connects `{a}` with `{b}`, and neither of them moves", joint.name);
                Some((message, "name a body that moves, or remove the joint"))
            } else if joint.bodies.iter().any(|end| deforms(*end)) {
                let message = format!("`{}` connects `{a}` with `{b}`, but only rigid bodies have joints", joint.name);
                Some((message, "name rigid bodies, or \"world\""))
            } else if spec.joints[..index].iter().any(|other| other.name == joint.name) {
                Some((format!("two joints are called `{}`", joint.name), "give each a name of its own"))
            } else {
                None
            };
            if let Some((message, help)) = message {
                self.error(&format!("joint.{index}.a"), &message, help);
                continue;
            }
            joints.push(JointModel {
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
