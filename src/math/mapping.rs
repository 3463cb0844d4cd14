//! Where the handle is in the scene, and what of the scene's force reaches the hand.
//!
//! Thread: any (RT safe).
//!
//! With the device's base placed in the scene by `X_WD = (R, t)`, motion scale `s` and force scale `g`:
//!
//! ```text
//!  pose      p_W = t + R (s p_D)        R_WH = R R_DH          rotations are never scaled
//!  velocity  v_W = s R v_D              ω_H  = R_DHᵀ ω_D       i.e. twist_W = J twist_D
//!  force     f_D = g s Rᵀ f_W           τ_D  = g R_DH τ_H      i.e. wrench_D = g Jᵀ wrench_W
//! ```
//!
//! The force map is the transpose of the velocity map, so that power in the hand is `g` times power in the scene for
//! forces and torques alike: what is passive in the scene is passive in the hand. The alternative, forces scaled without
//! `s`, was rejected because forces and torques would then have different power ratios.

use super::{Pose, Rot, Twist, Vec3, Wrench, join, split};

/// The fixed relation between a device and a scene. See the file's head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mapping {
    /// Scene metres per handle metre; positive.
    pub motion_scale: f64,
    /// Power in the hand per power in the scene; at motion scale 1, hand newtons per scene newton. Positive.
    pub force_scale: f64,
    /// The device's base in the scene.
    pub pose_world_device: Pose,
}

impl Mapping {
    /// Device and scene coincide, nothing is scaled.
    #[must_use]
    pub fn identity() -> Self {
        Self { motion_scale: 1.0, force_scale: 1.0, pose_world_device: Pose::identity() }
    }

    /// The handle's pose in the scene.
    #[must_use]
    pub fn pose_to_scene(&self, pose_device_handle: &Pose) -> Pose {
        let base = &self.pose_world_device;
        let position =
            base.translation.vector + base.rotation * pose_device_handle.translation.vector * self.motion_scale;
        Pose::from_parts(position.into(), base.rotation * pose_device_handle.rotation)
    }

    /// The handle pose that lies at `pose_world_handle` in the scene: the inverse of [`Self::pose_to_scene`].
    #[must_use]
    pub fn pose_to_device(&self, pose_world_handle: &Pose) -> Pose {
        let base = &self.pose_world_device;
        let inverse = base.rotation.inverse();
        let position = inverse * (pose_world_handle.translation.vector - base.translation.vector) / self.motion_scale;
        Pose::from_parts(position.into(), inverse * pose_world_handle.rotation)
    }

    /// Twist in the scene of a handle that moves with `linear` and `angular` velocity, both in the device's base frame.
    #[must_use]
    pub fn twist_to_scene(&self, linear: &Vec3, angular: &Vec3, rotation_device_handle: &Rot) -> Twist {
        join(
            &(self.pose_world_device.rotation * linear * self.motion_scale),
            &rotation_device_handle.inverse_transform_vector(angular),
        )
    }

    /// Linear and angular velocity in the device's base frame: the inverse of [`Self::twist_to_scene`].
    #[must_use]
    pub fn twist_to_device(&self, twist: &Twist, rotation_device_handle: &Rot) -> (Vec3, Vec3) {
        let (linear, angular) = split(twist);
        (
            self.pose_world_device.rotation.inverse_transform_vector(&linear) / self.motion_scale,
            rotation_device_handle * angular,
        )
    }

    /// Force and torque on the hand, in the device's base frame, of a wrench on the handle in the scene.
    #[must_use]
    pub fn wrench_to_hand(&self, wrench: &Wrench, rotation_device_handle: &Rot) -> (Vec3, Vec3) {
        let (force, torque) = split(wrench);
        (
            self.pose_world_device.rotation.inverse_transform_vector(&force) * (self.motion_scale * self.force_scale),
            rotation_device_handle * torque * self.force_scale,
        )
    }

    /// Wrench in the scene of a force and torque in the hand: the inverse of [`Self::wrench_to_hand`].
    #[must_use]
    pub fn wrench_to_scene(&self, force: &Vec3, torque: &Vec3, rotation_device_handle: &Rot) -> Wrench {
        join(
            &(self.pose_world_device.rotation * force / (self.motion_scale * self.force_scale)),
            &(rotation_device_handle.inverse_transform_vector(torque) / self.force_scale),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Vec6, advance, displacement};
    use super::*;

    fn mapping() -> Mapping {
        Mapping {
            motion_scale: 2.5,
            force_scale: 0.02,
            pose_world_device: Pose::new(Vec3::new(0.1, -0.4, 0.3), Vec3::new(0.5, 1.2, -0.8)),
        }
    }

    fn handle() -> Pose {
        Pose::new(Vec3::new(0.03, -0.01, 0.02), Vec3::new(-0.7, 0.2, 0.4))
    }

    #[test]
    fn every_map_is_undone_by_its_inverse() {
        let (map, pose) = (mapping(), handle());
        assert!(displacement(&map.pose_to_device(&map.pose_to_scene(&pose)), &pose).norm() < 1e-14);
        let (linear, angular) = (Vec3::new(0.1, 0.2, -0.3), Vec3::new(1.0, -2.0, 0.5));
        let back = map.twist_to_device(&map.twist_to_scene(&linear, &angular, &pose.rotation), &pose.rotation);
        assert!((back.0 - linear).norm() < 1e-14 && (back.1 - angular).norm() < 1e-14);
        let back = map.wrench_to_hand(&map.wrench_to_scene(&linear, &angular, &pose.rotation), &pose.rotation);
        assert!((back.0 - linear).norm() < 1e-14 && (back.1 - angular).norm() < 1e-14);
    }

    #[test]
    fn a_mapped_twist_is_the_derivative_of_the_mapped_pose() {
        let (map, pose) = (mapping(), handle());
        let (linear, angular) = (Vec3::new(0.1, 0.2, -0.3), Vec3::new(1.0, -2.0, 0.5));
        let dt = 1e-4;
        // The handle moved half a step either way in the device's frame, seen in the scene.
        let body = pose.rotation.inverse_transform_vector(&angular);
        let at = |t: f64| map.pose_to_scene(&advance(&pose, &join(&linear, &body), t));
        let difference = displacement(&at(-dt / 2.0), &at(dt / 2.0)) / dt;
        let twist = map.twist_to_scene(&linear, &angular, &pose.rotation);
        assert!((difference - twist).norm() < 1e-10, "{}", (difference - twist).norm());
    }

    #[test]
    fn power_in_the_hand_is_force_scale_times_power_in_the_scene() {
        let (map, pose) = (mapping(), handle());
        let (linear, angular) = (Vec3::new(0.1, 0.2, -0.3), Vec3::new(1.0, -2.0, 0.5));
        let twist = map.twist_to_scene(&linear, &angular, &pose.rotation);
        for row in 0..6 {
            let mut wrench = Vec6::zeros();
            wrench[row] = 30.0;
            let (force, torque) = map.wrench_to_hand(&wrench, &pose.rotation);
            let (hand, scene) = (force.dot(&linear) + torque.dot(&angular), wrench.dot(&twist));
            assert!((hand - map.force_scale * scene).abs() < 1e-14, "row {row}: {hand} of {scene}");
        }
    }
}
