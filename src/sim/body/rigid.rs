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
    /// The same as the gyroscopic term of the step foresaw it.
    pub foreseen: Wrench,
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
            foreseen: Wrench::zeros(),
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

/// Half the angle of a step, rad, up to which torques are made longer: beyond, the angular momentum is not kept.
const MOST_HALF_ANGLE: f64 = 1.0;

/// Where a body is when rows are made, and what its rotation in the step does to them.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Bent {
    pub pose: Pose,
    /// How much shorter the chord of the rotation is than the arc.
    pub chord: f64,
    /// Axis of the rotation in the body, and how much longer than in a step without rotation a torque across it must be to change the angular
    /// momentum as much, less one: the momentum that a torque gives turns half way through the step and back, `1/cos − 1`. The motion of the step has no
    /// part across the axis, so that rows give the same displacement.
    longer: (Vec3, f64),
}

impl Bent {
    /// At `pose`, without rotation.
    pub(in crate::sim) fn at(pose: Pose) -> Self {
        Self { pose, chord: 1.0, longer: (Vec3::zeros(), 0.0) }
    }

    /// Half way through a step of `step_s` with a constant twist.
    pub(in crate::sim) fn half_way(pose: &Pose, twist: &Twist, step_s: f64) -> Self {
        let spin = split(twist).1;
        let half_angle = 0.5 * step_s * spin.norm();
        let axis = spin.try_normalize(0.0).filter(|_| half_angle < MOST_HALF_ANGLE);
        let longer = axis.map_or((Vec3::zeros(), 0.0), |axis| (axis, 1.0 / half_angle.cos() - 1.0));
        let chord = if half_angle > 1e-4 { half_angle.sin() / half_angle } else { 1.0 - half_angle * half_angle / 6.0 };
        Self { pose: crate::math::advance(pose, twist, 0.5 * step_s), chord, longer }
    }

    /// Row of a point fixed to the body, along a direction of the world, on the twist of the body.
    pub(in crate::sim) fn row_of_point(&self, point_body: &Vec3, direction: &Vec3) -> crate::math::Vec6 {
        let local = self.pose.rotation.inverse_transform_vector(direction);
        self.row(&(point_body * self.chord), direction, &local)
    }

    /// Row of a point of the world, along a direction of the world, on the twist of the body.
    pub(in crate::sim) fn row_at(&self, point: &Vec3, direction: &Vec3) -> crate::math::Vec6 {
        let local = |v: &Vec3| self.pose.rotation.inverse_transform_vector(v);
        self.row(&local(&(point - self.pose.translation.vector)), direction, &local(direction))
    }

    /// Row of an arm in the body, along a direction given in the world and in the body.
    pub(in crate::sim) fn row(&self, arm: &Vec3, direction: &Vec3, local: &Vec3) -> crate::math::Vec6 {
        let (axis, longer) = self.longer;
        let torque = arm.cross(local);
        crate::math::join(direction, &(torque + (torque - axis * axis.dot(&torque)) * longer))
    }
}
