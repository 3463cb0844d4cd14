//! Carrier frames of soft bodies: the world, a support that moves, or a tool.
//!
//! Thread: simulation.
//!
//! A soft body keeps its state in its carrier frame. What the carrier does is known before the step is solved: a support moves with time, a
//! tool is where its hand was last. Bodies on a carrier that moves go from equilibrium to equilibrium, without inertia: that of a tool, with
//! what it carries, is the proxy of its hand.

use super::super::ids::{BodyId, HandId};
use super::super::source::needle::Breathing;
use crate::math::{Pose, Vec3, pose_is_sound};
use crate::shared::ToolSample;

/// What moves the carrier frame of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CarriedBy {
    /// A support that breathes.
    Support(Breathing),
    /// The tool of a hand.
    Tool {
        /// Which hand.
        hand: HandId,
        /// The body's frame in that of the tool.
        pose_tool_body: Pose,
        /// The body is all there is of the tool: the tool's own shape touches nothing.
        is_whole: bool,
    },
}

/// A soft body whose carrier frame moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// The body.
    pub body: BodyId,
    /// What moves it.
    pub by: CarriedBy,
}

/// See the file's head.
#[derive(Clone, Copy, Debug)]
pub struct Carrier {
    by: Option<CarriedBy>,
    /// Pose at the start of the scene.
    start: Pose,
    time_s: f64,
    /// Pose at the end of the step, and at its start.
    pub(in crate::sim) pose: Pose,
    pub(in crate::sim) before: Pose,
    /// Velocity of a support, m/s. That of a tool is known to its haptic thread.
    pub(in crate::sim) speed: Vec3,
}

impl Carrier {
    /// A frame at `start`, moved by `by`; none for the world.
    pub(in crate::sim) fn new(by: Option<CarriedBy>, start: Pose) -> Self {
        Self { by, start, time_s: 0.0, pose: start, before: start, speed: Vec3::zeros() }
    }

    /// Pose in the world at the end of the step.
    #[must_use]
    pub fn pose(&self) -> &Pose {
        &self.pose
    }

    /// It is not the world.
    pub(in crate::sim) fn moves(&self) -> bool {
        self.by.is_some()
    }

    /// The hand whose tool it is.
    pub(in crate::sim) fn hand(&self) -> Option<HandId> {
        if let Some(CarriedBy::Tool { hand, .. }) = self.by { Some(hand) } else { None }
    }

    /// Moves the frame through a step of `step_s`, at whose end the tools are as in `tools`.
    pub(in crate::sim) fn advance(&mut self, tools: &[ToolSample], step_s: f64) {
        self.time_s += step_s;
        self.before = self.pose;
        match self.by {
            None => {}
            Some(CarriedBy::Support(breathing)) => {
                let (way, speed) = breathing.at(self.time_s);
                self.pose.translation.vector = self.start.translation.vector + way;
                self.speed = speed;
            }
            Some(CarriedBy::Tool { hand, pose_tool_body, .. }) => {
                let pose = tools.get(hand.0).map(|tool| tool.pose_world_tool * pose_tool_body);
                self.pose = pose.filter(pose_is_sound).unwrap_or(self.pose);
            }
        }
    }
}
