//! How the hand has the tool: in its grip, let go with the clutch so that the handle moves and the tool stays, or by a spanner.
//!
//! Thread: haptic (RT).

use crate::math::{Mapping, Pose, Rot, Vec3};

/// What the hand does with the tool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hold {
    /// Holds it.
    Grip,
    /// Leaves it where it is.
    Clutch,
    /// Has it by the end of a lever, which is there from the tool, in the scene, when the spanner is put on.
    Spanner(Vec3),
}

/// Placement of the device in the scene as the clutch has left it.
#[derive(Clone, Copy, Debug)]
pub struct Clutch {
    mapping: Mapping,
    /// The tool on the handle: how it is gripped.
    grip: Rot,
    /// Where the tool was left, while the button is held.
    left_at: Option<Pose>,
    /// The end of a spanner's lever in the tool's frame, while one is on.
    lever: Option<Vec3>,
}

impl Clutch {
    /// Engaged, with the scene's own placement.
    #[must_use]
    pub fn new(mapping: Mapping) -> Self {
        Self { mapping, grip: Rot::identity(), left_at: None, lever: None }
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

    /// Pose of the gripped tool in the scene; `tool` is where the proxy is.
    ///
    /// With the clutch the tool is left there, so that the coupling is slack. When it is gripped again the device's base is moved so
    /// that the handle lies where the tool is, and the tool is gripped as it is: a hand can turn a nut on by many turns. With a
    /// spanner the base is moved so that the handle lies at the end of the lever; the pose is that of the hand, and its orientation
    /// means nothing.
    pub fn apply(&mut self, pose_device_handle: &Pose, hold: Hold, tool: &Pose) -> Pose {
        match hold {
            Hold::Clutch => {
                self.lever = None;
                *self.left_at.get_or_insert(*tool)
            }
            Hold::Spanner(lever) => {
                self.left_at = None;
                if self.lever.is_none() {
                    self.lever = Some(tool.rotation.inverse_transform_vector(&lever));
                    self.put(pose_device_handle, &(tool.translation.vector + lever));
                }
                self.pose(pose_device_handle)
            }
            Hold::Grip => {
                let spanned = self.lever.take().map(|_| *tool);
                if let Some(left) = self.left_at.take().or(spanned) {
                    self.put(pose_device_handle, &left.translation.vector);
                    let base = self.mapping.pose_world_device.rotation;
                    self.grip = (base * pose_device_handle.rotation).inverse() * left.rotation;
                    self.grip.renormalize();
                }
                self.pose(pose_device_handle)
            }
        }
    }

    /// The end of a spanner's lever in the tool's frame, while one is on.
    #[must_use]
    pub fn lever(&self) -> Option<Vec3> {
        self.lever
    }

    /// Moves the end of the lever, for one that slips.
    pub fn set_lever(&mut self, lever: Vec3) {
        self.lever = self.lever.map(|_| lever);
    }

    /// Turns the tool in the grip, or where it was left, by a rotation in its own frame.
    pub fn turn(&mut self, turn: &Rot) {
        let turned = |rotation: &Rot| {
            let mut turned = rotation * turn;
            turned.renormalize();
            turned
        };
        match &mut self.left_at {
            Some(left) => left.rotation = turned(&left.rotation),
            None => self.grip = turned(&self.grip),
        }
    }

    fn pose(&self, pose_device_handle: &Pose) -> Pose {
        let rotation = pose_device_handle.rotation * self.grip;
        self.mapping.pose_to_scene(&Pose::from_parts(pose_device_handle.translation, rotation))
    }

    /// Moves the device's base so that the handle lies at `place` in the scene.
    fn put(&mut self, pose_device_handle: &Pose, place: &Vec3) {
        let lies = self.pose(pose_device_handle).translation.vector;
        self.mapping.pose_world_device.translation.vector += place - lies;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the clutch makes of a handle whose tool is just there.
    fn apply(clutch: &mut Clutch, handle: &Pose, hold: Hold) -> Pose {
        let mut tool = *clutch;
        let tool = tool.apply(handle, Hold::Grip, &Pose::identity());
        clutch.apply(handle, hold, &tool)
    }

    #[test]
    fn the_tool_stays_when_the_scale_changes_and_moves_by_the_new_one() {
        let mut clutch = Clutch::new(Mapping { motion_scale: 2.0, ..Mapping::identity() });
        let at = |x: f64| Pose::translation(x, 0.0, 0.0);
        assert_eq!(apply(&mut clutch, &at(0.03), Hold::Grip).translation.x, 0.06);
        clutch.rescale(0.5, 1.0, &at(0.03));
        assert!((apply(&mut clutch, &at(0.03), Hold::Grip).translation.x - 0.06).abs() < 1e-15);
        assert!((apply(&mut clutch, &at(0.05), Hold::Grip).translation.x - 0.07).abs() < 1e-15);
    }

    #[test]
    fn a_nut_is_turned_on_by_grips_of_a_quarter_turn() {
        let base = Pose::new(Vec3::new(0.1, 0.0, 0.2), Vec3::new(0.4, -0.3, 0.2));
        let mut clutch = Clutch::new(Mapping { pose_world_device: base, ..Mapping::identity() });
        let at = |angle: f64| Pose::new(Vec3::zeros(), Vec3::z() * angle);
        let quarter = std::f64::consts::FRAC_PI_2;
        for turns in 1..=5 {
            let turned = apply(&mut clutch, &at(quarter), Hold::Grip);
            let whole = base.rotation * at(quarter * f64::from(turns)).rotation;
            assert!(turned.rotation.angle_to(&whole) < 1e-12);
            assert!(apply(&mut clutch, &at(quarter), Hold::Clutch).rotation.angle_to(&whole) < 1e-12);
            assert!(
                clutch.apply(&at(0.0), Hold::Clutch, &Pose::identity()).rotation.angle_to(&whole) < 1e-12,
                "it stays"
            );
            let again = clutch.apply(&at(0.0), Hold::Grip, &Pose::identity());
            assert!(again.rotation.angle_to(&whole) < 1e-12, "it is gripped as it was left");
        }
        assert!((clutch.gripped(&at(0.0).rotation).angle() - quarter).abs() < 1e-12);
    }

    #[test]
    fn the_tool_stays_where_the_proxy_is_while_the_clutch_is_held_and_goes_on_from_there() {
        let mut clutch = Clutch::new(Mapping { motion_scale: 2.0, ..Mapping::identity() });
        let at = |x: f64| Pose::translation(x, 0.0, 0.0);
        assert_eq!(clutch.apply(&at(0.01), Hold::Grip, &at(0.019)).translation.x, 0.02);
        assert_eq!(clutch.apply(&at(0.02), Hold::Clutch, &at(0.039)).translation.x, 0.039);
        assert_eq!(clutch.apply(&at(-0.03), Hold::Clutch, &at(0.038)).translation.x, 0.039);
        assert!((clutch.apply(&at(-0.03), Hold::Grip, &at(0.039)).translation.x - 0.039).abs() < 1e-15);
        assert!((clutch.apply(&at(-0.02), Hold::Grip, &at(0.039)).translation.x - 0.059).abs() < 1e-15);
    }

    #[test]
    fn a_spanner_puts_the_hand_at_the_end_of_its_lever_and_leaves_the_tool_as_it_was_turned() {
        let base = Pose::new(Vec3::new(0.1, 0.0, 0.2), Vec3::new(0.0, 0.0, 0.4));
        let mut clutch = Clutch::new(Mapping { pose_world_device: base, motion_scale: 2.0, ..Mapping::identity() });
        let (handle, lever) = (Pose::translation(0.01, 0.02, 0.03), Vec3::new(0.0, 0.08, 0.0));
        let mut tool = Pose::new(Vec3::new(0.3, 0.2, 0.1), Vec3::z() * 0.9);
        let hand = clutch.apply(&handle, Hold::Spanner(lever), &tool);
        assert!((hand.translation.vector - tool.translation.vector - lever).norm() < 1e-15);
        let end = clutch.lever().expect("it is on");
        assert!((tool.rotation * end - lever).norm() < 1e-15);
        // The hand swings; the lever stays on the tool.
        tool.rotation = Rot::from_axis_angle(&Vec3::z_axis(), 1.3);
        let moved = clutch.apply(&Pose::translation(0.02, 0.02, 0.03), Hold::Spanner(lever), &tool);
        assert!((moved.translation.vector - hand.translation.vector - base.rotation * Vec3::x() * 0.02).norm() < 1e-15);
        assert_eq!(clutch.lever(), Some(end));
        let gripped = clutch.apply(&handle, Hold::Grip, &tool);
        assert!((gripped.translation.vector - tool.translation.vector).norm() < 1e-15);
        assert!(gripped.rotation.angle_to(&tool.rotation) < 1e-12 && clutch.lever().is_none());
    }

    #[test]
    fn a_tool_is_turned_in_the_grip_and_where_it_was_left() {
        let mut clutch = Clutch::new(Mapping::identity());
        let quarter = Rot::from_axis_angle(&Vec3::z_axis(), std::f64::consts::FRAC_PI_2);
        clutch.turn(&quarter);
        let turned = clutch.apply(&Pose::identity(), Hold::Grip, &Pose::identity());
        assert!(turned.rotation.angle_to(&quarter) < 1e-12);
        clutch.apply(&Pose::identity(), Hold::Clutch, &turned);
        clutch.turn(&quarter);
        let left = clutch.apply(&Pose::identity(), Hold::Clutch, &turned);
        assert!(left.rotation.angle_to(&(quarter * quarter)) < 1e-12);
        let again = clutch.apply(&Pose::identity(), Hold::Grip, &turned);
        assert!(again.rotation.angle_to(&(quarter * quarter)) < 1e-12);
    }
}
