//! Clutch: while the button is held the handle moves and the tool stays, to reach beyond the workspace.
//!
//! Thread: haptic (RT).

use crate::math::{Mapping, Pose};

/// Placement of the device in the scene as the clutch has left it.
#[derive(Clone, Copy, Debug)]
pub struct Clutch {
    mapping: Mapping,
    /// Where the tool was left, while the button is held.
    left_at: Option<Pose>,
}

impl Clutch {
    /// Engaged, with the scene's own placement.
    #[must_use]
    pub fn new(mapping: Mapping) -> Self {
        Self { mapping, left_at: None }
    }

    /// The mapping in force.
    #[must_use]
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// Changes the scales. The device's base is moved so that the handle, which is at `pose_device_handle`, stays where it
    /// is in the scene.
    pub fn rescale(&mut self, motion_scale: f64, force_scale: f64, pose_device_handle: &Pose) {
        let base = &mut self.mapping.pose_world_device;
        let place = base.rotation * pose_device_handle.translation.vector;
        base.translation.vector += place * (self.mapping.motion_scale - motion_scale);
        (self.mapping.motion_scale, self.mapping.force_scale) = (motion_scale, force_scale);
    }

    /// True while the handle is free of the tool.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.left_at.is_some()
    }

    /// Handle pose in the scene, with the clutch `held` or not. On release the device's base is moved so that the handle
    /// lies where the tool was left; its orientation follows the handle again.
    pub fn apply(&mut self, pose_device_handle: &Pose, held: bool) -> Pose {
        let mapped = self.mapping.pose_to_scene(pose_device_handle);
        match (held, self.left_at) {
            (true, Some(left)) => left,
            (true, None) => *self.left_at.insert(mapped),
            (false, Some(left)) => {
                self.mapping.pose_world_device.translation.vector +=
                    left.translation.vector - mapped.translation.vector;
                self.left_at = None;
                self.mapping.pose_to_scene(pose_device_handle)
            }
            (false, None) => mapped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_stays_when_the_scale_changes_and_moves_by_the_new_one() {
        let mut clutch = Clutch::new(Mapping { motion_scale: 2.0, ..Mapping::identity() });
        let at = |x: f64| Pose::translation(x, 0.0, 0.0);
        assert_eq!(clutch.apply(&at(0.03), false).translation.x, 0.06);
        clutch.rescale(0.5, 1.0, &at(0.03));
        assert!((clutch.apply(&at(0.03), false).translation.x - 0.06).abs() < 1e-15);
        assert!((clutch.apply(&at(0.05), false).translation.x - 0.07).abs() < 1e-15);
    }

    #[test]
    fn the_tool_stays_while_the_clutch_is_held_and_goes_on_from_there() {
        let mut clutch = Clutch::new(Mapping { motion_scale: 2.0, ..Mapping::identity() });
        let at = |x: f64| Pose::translation(x, 0.0, 0.0);
        assert_eq!(clutch.apply(&at(0.01), false).translation.x, 0.02);
        assert_eq!(clutch.apply(&at(0.02), true).translation.x, 0.04);
        assert_eq!(clutch.apply(&at(-0.03), true).translation.x, 0.04);
        assert!((clutch.apply(&at(-0.03), false).translation.x - 0.04).abs() < 1e-15);
        assert!((clutch.apply(&at(-0.02), false).translation.x - 0.06).abs() < 1e-15);
    }
}
