//! Rigid bodies, tools and everything else that contact sees as a rigid shape: pose, twist and compliance of the step.
//!
//! Thread: simulation.

use super::super::model::ToolBody;
use crate::geometry::{Distance, Shape, Surface};
use crate::math::{Mat6, Pose, Twist, Vec3, Wrench, split};

/// One side of a rigid contact.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Mover {
    pub shape: Shape,
    pub pose_body_shape: Pose,
    /// Pose at the start of the step; from stage 8 on at its end.
    pub pose: Pose,
    /// Twist at the start of the step; from stage 8 on at its end.
    pub twist: Twist,
    /// Midpoint twist without contact.
    pub free: Twist,
    /// Midpoint twist.
    pub midpoint: Twist,
    /// Part of the motion that changes the pose and not the velocity.
    pub creep: Twist,
    /// `A⁻¹`; zero for what does not yield.
    pub inverse: Mat6,
    /// `M⁻¹`; zero for what does not yield.
    pub inverse_mass: Mat6,
    /// Where rows are made.
    pub bent: Bent,
    /// Sum of the constraint wrenches of the step.
    pub contact: Wrench,
}

impl Mover {
    pub(in crate::sim) fn fixed(shape: Shape, pose_body_shape: Pose, pose: Pose) -> Self {
        Self {
            shape,
            pose_body_shape,
            pose,
            twist: Twist::zeros(),
            free: Twist::zeros(),
            midpoint: Twist::zeros(),
            creep: Twist::zeros(),
            inverse: Mat6::zeros(),
            inverse_mass: Mat6::zeros(),
            bent: Bent::at(pose),
            contact: Wrench::zeros(),
        }
    }

    /// A tool at `pose`: nothing in the simulation moves it.
    pub(in crate::sim) fn tool(tool: &ToolBody, pose: Pose) -> Self {
        Self::fixed(tool.shape.clone(), tool.pose_tool_shape, pose)
    }

    /// Pose at the end of the step: twice as far as half way.
    pub(in crate::sim) fn coming(&self) -> Pose {
        let (start, half) = (&self.pose, &self.bent.pose);
        let way = half.translation.vector * 2.0 - start.translation.vector;
        Pose::from_parts(way.into(), half.rotation * (start.rotation.inverse() * half.rotation))
    }

    /// Forces move it.
    pub(in crate::sim) fn yields(&self) -> bool {
        self.inverse_mass[(0, 0)] > 0.0
    }

    /// Distance of a point of the world from a sheet of the surface, the mover being at `pose`; normal in the world.
    pub(in crate::sim) fn distance(&self, pose: &Pose, sheet: usize, point: &Vec3) -> Distance {
        let shape = pose * self.pose_body_shape;
        let local = shape.rotation.inverse_transform_vector(&(point - shape.translation.vector));
        let found = self.shape.sheet_distance(sheet, &local);
        Distance { distance: found.distance, normal: shape.rotation * found.normal }
    }
}

/// Where a body is when rows are made, and how much shorter the chord of its rotation is than the arc.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Bent {
    pub pose: Pose,
    pub chord: f64,
}

impl Bent {
    /// At `pose`, without rotation.
    pub(in crate::sim) fn at(pose: Pose) -> Self {
        Self { pose, chord: 1.0 }
    }

    /// Half way through a step of `step_s` with a constant twist.
    pub(in crate::sim) fn half_way(pose: &Pose, twist: &Twist, step_s: f64) -> Self {
        let half_angle = 0.5 * step_s * split(twist).1.norm();
        let chord = if half_angle > 1e-4 { half_angle.sin() / half_angle } else { 1.0 - half_angle * half_angle / 6.0 };
        Self { pose: crate::math::advance(pose, twist, 0.5 * step_s), chord }
    }

    /// Row of a point fixed to the body, along a direction of the world, on the twist of the body.
    pub(in crate::sim) fn row_of_point(&self, point_body: &Vec3, direction: &Vec3) -> crate::math::Vec6 {
        let local = self.pose.rotation.inverse_transform_vector(direction);
        crate::math::join(direction, &(point_body * self.chord).cross(&local))
    }
}
