//! What can be seen of the scene: the poses a screen would show.
//!
//! Thread: written by simulation, read by haptic (RT) for the simulated operator, and by whoever draws.

use super::Stamp;
use crate::math::{Pose, Vec3};

/// Most bodies a view can show.
pub const MAX_VIEW_BODIES: usize = 16;

/// A needle and what its task asks about it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NeedleView {
    /// Where its tip is, in the scene.
    pub tip: Vec3,
    /// Length of needle in tissue, m.
    pub depth_m: f64,
    /// Force along the needle at its tip, N.
    pub tip_n: f64,
    /// Friction along the shaft, N; positive against going in.
    pub shaft_n: f64,
    /// Sum of the forces across the needle, N.
    pub across_n: f64,
    /// Force of all of it on the hub, in the scene, N.
    pub force: Vec3,
    /// Surfaces broken so far.
    pub punctures: u32,
    /// Times the tip has entered what it must not.
    pub forbidden: u32,
    /// Distance of the tip from the target's centre in the tissue at rest, m; none where the tip is not in that tissue.
    pub target_m: Option<f64>,
    /// Where the target is now, in the scene.
    pub target: Option<Vec3>,
}

/// Air that soft bodies enclose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SuctionView {
    /// Number of cavities.
    pub cavities: u32,
    /// Least pressure in any of them, Pa.
    pub pressure_pa: f64,
    /// Largest pressure below that of the surroundings, Pa; zero where there is none.
    pub suction_pa: f64,
    /// Volume of all, m³.
    pub volume_m3: f64,
    /// Air in all, `n R T` at the temperature of the walls, J.
    pub air_j: f64,
}

/// Poses of the tool and of the first [`MAX_VIEW_BODIES`] bodies at one simulation step, in scene coordinates.
#[derive(Clone, Copy, Debug)]
pub struct SceneView {
    /// Step it was true at; sequence zero when nothing has been shown yet.
    pub stamp: Stamp,
    /// The tool proxy of the hand that looks; the first hand's for everyone else.
    pub tool: Pose,
    /// That of the other hand, in a scene for two.
    pub other_tool: Option<Pose>,
    /// Bodies in the order of the scene; the first `body_count` are meant.
    pub bodies: [Pose; MAX_VIEW_BODIES],
    /// How many bodies are shown.
    pub body_count: usize,
    /// The needle, where the tool is one.
    pub needle: Option<NeedleView>,
    /// Enclosed air, in a scene that has air.
    pub suction: Option<SuctionView>,
}

impl SceneView {
    /// A dark screen: no bodies, never stamped.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            stamp: Stamp::default(),
            tool: Pose::identity(),
            other_tool: None,
            bodies: [Pose::identity(); MAX_VIEW_BODIES],
            body_count: 0,
            needle: None,
            suction: None,
        }
    }

    /// Shows one more body; false when the view is full and the body is left out.
    pub fn show(&mut self, pose: Pose) -> bool {
        let Some(place) = self.bodies.get_mut(self.body_count) else { return false };
        *place = pose;
        self.body_count += 1;
        true
    }

    /// Pose of the body with this number, if it is shown.
    #[must_use]
    pub fn body(&self, index: usize) -> Option<&Pose> {
        self.bodies.get(..self.body_count)?.get(index)
    }

    /// The same as the other hand sees it: its own tool first.
    #[must_use]
    pub fn from_other_hand(&self) -> Self {
        let tool = self.other_tool.unwrap_or(self.tool);
        Self { tool, other_tool: self.other_tool.map(|_| self.tool), ..*self }
    }

    /// True once something has been shown.
    #[must_use]
    pub fn is_lit(&self) -> bool {
        self.stamp.sequence > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hand_sees_its_own_tool_first() {
        let alone = SceneView { tool: Pose::translation(1.0, 0.0, 0.0), ..SceneView::empty() };
        assert_eq!(alone.from_other_hand().tool, alone.tool);
        let both = SceneView { other_tool: Some(Pose::translation(2.0, 0.0, 0.0)), ..alone };
        let other = both.from_other_hand();
        assert_eq!((other.tool.translation.x, other.other_tool), (2.0, Some(alone.tool)));
    }

    #[test]
    fn a_view_shows_sixteen_bodies_and_no_more() {
        let mut view = SceneView::empty();
        assert!(view.body(0).is_none() && !view.is_lit());
        for n in 0..MAX_VIEW_BODIES {
            assert!(view.show(Pose::translation(n as f64, 0.0, 0.0)));
        }
        assert!(!view.show(Pose::identity()));
        assert_eq!(view.body(15).map(|pose| pose.translation.x), Some(15.0));
        assert!(view.body(16).is_none());
    }
}
