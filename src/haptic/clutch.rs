//! Clutch: while the button is held the handle moves and the tool stays, to reach beyond the workspace.
//!
//! Thread: haptic (RT).

use crate::math::{Mapping, Pose, Rot};

/// Placement of the device in the scene as the clutch has left it.
#[derive(Clone, Copy, Debug)]
pub struct Clutch {
    mapping: Mapping,
    /// The tool on the handle: how it is gripped.
    grip: Rot,
    /// Where the tool was left, while the button is held.
    left_at: Option<Pose>,
}

impl Clutch {
    /// Engaged, with the scene's own placement.
    #[must_use]
    pub fn new(mapping: Mapping) -> Self {
        Self { mapping, grip: Rot::identity(), left_at: None }
    }

    /// The mapping in force.
    #[must_use]
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// Orientation of the tool in the device's base frame, if the handle has this one.
    #[must_use]
    pub fn gripped(&self, rotation_device_handle: &Rot) -> Rot {
        rotation_device_handle * self.grip
    }

    /// Changes the scales. The device's base is moved so that the handle, which is at `pose_device_handle`, stays where it
    /// is in the scene.
    pub fn rescale(&mut self, motion_scale: f64, force_scale: f64, pose_device_handle: &Pose) {
        let base = &mut self.mapping.pose_world_device;
        let place = base.rotation * pose_device_handle.translation.vector;
        base.translation.vector += place * (self.mapping.motion_scale - motion_scale);
        (self.mapping.motion_scale, self.mapping.force_scale) = (motion_scale, force_scale);
    }

    /// Pose of the gripped tool in the scene, with the clutch `held` or not; `tool` is where the proxy is. It is left there,
    /// so that the coupling is slack while the clutch is held. On release the device's base is moved so that the handle
    /// lies where the tool was left, and the tool is gripped as it was left: a hand can turn a nut on by many turns.
    pub fn apply(&mut self, pose_device_handle: &Pose, held: bool, tool: &Pose) -> Pose {
        let gripped = |grip: &Rot| Pose::from_parts(pose_device_handle.translation, pose_device_handle.rotation * grip);
        let mapped = self.mapping.pose_to_scene(&gripped(&self.grip));
        match (held, self.left_at) {
            (true, Some(left)) => left,
            (true, None) => *self.left_at.insert(*tool),
            (false, Some(left)) => {
                self.mapping.pose_world_device.translation.vector +=
                    left.translation.vector - mapped.translation.vector;
                self.left_at = None;
                let base = self.mapping.pose_world_device.rotation;
                self.grip = (base * pose_device_handle.rotation).inverse() * left.rotation;
                self.grip.renormalize();
                self.mapping.pose_to_scene(&gripped(&self.grip))
            }
            (false, None) => mapped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;

    /// What the clutch makes of a handle whose tool is just there.
    fn apply(clutch: &mut Clutch, handle: &Pose, held: bool) -> Pose {
        let mut tool = *clutch;
        let tool = tool.apply(handle, false, &Pose::identity());
        clutch.apply(handle, held, &tool)
    }

    #[test]
    fn the_tool_stays_when_the_scale_changes_and_moves_by_the_new_one() {
        let mut clutch = Clutch::new(Mapping { motion_scale: 2.0, ..Mapping::identity() });
        let at = |x: f64| Pose::translation(x, 0.0, 0.0);
        assert_eq!(apply(&mut clutch, &at(0.03), false).translation.x, 0.06);
        clutch.rescale(0.5, 1.0, &at(0.03));
        assert!((apply(&mut clutch, &at(0.03), false).translation.x - 0.06).abs() < 1e-15);
        assert!((apply(&mut clutch, &at(0.05), false).translation.x - 0.07).abs() < 1e-15);
    }

    #[test]
    fn a_nut_is_turned_on_by_grips_of_a_quarter_turn() {
        let base = Pose::new(Vec3::new(0.1, 0.0, 0.2), Vec3::new(0.4, -0.3, 0.2));
        let mut clutch = Clutch::new(Mapping { pose_world_device: base, ..Mapping::identity() });
        let at = |angle: f64| Pose::new(Vec3::zeros(), Vec3::z() * angle);
        let quarter = std::f64::consts::FRAC_PI_2;
        for turns in 1..=5 {
            let turned = apply(&mut clutch, &at(quarter), false);
            let whole = base.rotation * at(quarter * f64::from(turns)).rotation;
            assert!(turned.rotation.angle_to(&whole) < 1e-12);
            assert!(apply(&mut clutch, &at(quarter), true).rotation.angle_to(&whole) < 1e-12);
            assert!(clutch.apply(&at(0.0), true, &Pose::identity()).rotation.angle_to(&whole) < 1e-12, "it stays");
            let again = clutch.apply(&at(0.0), false, &Pose::identity());
            assert!(again.rotation.angle_to(&whole) < 1e-12, "it is gripped as it was left");
        }
        assert!((clutch.gripped(&at(0.0).rotation).angle() - quarter).abs() < 1e-12);
    }

    #[test]
    fn the_tool_stays_where_the_proxy_is_while_the_clutch_is_held_and_goes_on_from_there() {
        let mut clutch = Clutch::new(Mapping { motion_scale: 2.0, ..Mapping::identity() });
        let at = |x: f64| Pose::translation(x, 0.0, 0.0);
        assert_eq!(clutch.apply(&at(0.01), false, &at(0.019)).translation.x, 0.02);
        assert_eq!(clutch.apply(&at(0.02), true, &at(0.039)).translation.x, 0.039);
        assert_eq!(clutch.apply(&at(-0.03), true, &at(0.038)).translation.x, 0.039);
        assert!((clutch.apply(&at(-0.03), false, &at(0.039)).translation.x - 0.039).abs() < 1e-15);
        assert!((clutch.apply(&at(-0.02), false, &at(0.039)).translation.x - 0.059).abs() < 1e-15);
    }
}
