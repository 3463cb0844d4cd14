//! What the haptic thread tells the simulation about the tool.
//!
//! Thread: written by haptic (RT), read by simulation.

use super::Stamp;
use crate::math::{Pose, Twist, Wrench};

/// Most bodies of a scene the tool can push.
pub const MAX_PUSHED: usize = 32;

/// Most hands in a scene.
pub const MAX_HANDS: usize = 2;

/// What the tool has done to one body since the haptic thread began. Sums, so that a reader who misses some samples loses
/// nothing: it takes differences.
#[derive(Clone, Copy, Debug)]
pub struct Push {
    /// `∫ F dt`, N·s: force in the world, torque about the centre of mass in the body's frame.
    pub impulse: Wrench,
    /// `∫∫ F dt dt`, N·s²: how far that has moved the body, but for its mass.
    pub moment: Wrench,
}

impl Push {
    /// Nothing yet.
    #[must_use]
    pub fn none() -> Self {
        Self { impulse: Wrench::zeros(), moment: Wrench::zeros() }
    }
}

/// What the tip of a needle has done to tissue since the haptic thread began. Sums, as in [`Push`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TipReport {
    /// Way it has cut, m.
    pub advanced_m: f64,
    /// Surfaces it has broken through.
    pub breaks: u64,
}

/// State of the tool at the end of one tick, in scene coordinates.
#[derive(Clone, Copy, Debug)]
pub struct ToolSample {
    /// Tick it was made in.
    pub stamp: Stamp,
    /// The proxy: what touches the scene.
    pub pose_world_tool: Pose,
    /// Its velocity.
    pub twist_tool: Twist,
    /// What moves it besides the normal forces of contact: the hand's pull on it and friction.
    pub load: Wrench,
    /// The hand's pull on it; none for a tool that is where the handle is, so that nothing but the hand moves it.
    pub pull: Option<Wrench>,
    /// What it has done to each body of the scene, in the order of the scene.
    pub pushes: [Push; MAX_PUSHED],
    /// Time those sums run over, s.
    pub pushed_s: f64,
    /// What its tip has done, if it is a needle.
    pub tip: TipReport,
    /// Buttons held, one bit each.
    pub buttons: u32,
}

impl ToolSample {
    /// A tool at rest at `pose` that has touched nothing, never stamped.
    #[must_use]
    pub fn at_rest(pose: Pose) -> Self {
        Self {
            stamp: Stamp::default(),
            pose_world_tool: pose,
            twist_tool: Twist::zeros(),
            load: Wrench::zeros(),
            pull: None,
            pushes: [Push::none(); MAX_PUSHED],
            pushed_s: 0.0,
            tip: TipReport::default(),
            buttons: 0,
        }
    }
}
