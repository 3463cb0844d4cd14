//! What the haptic thread tells the simulation about the tool.
//!
//! Thread: written by haptic (RT), read by simulation.

use super::Stamp;
use crate::math::{Pose, Twist, Wrench};

/// How the tool proxy hangs on the operator's handle, as the simulation must take it into account.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CouplingLink {
    /// The proxy is a body drawn to the handle by a spring and a damper: per axis, linear then angular.
    Spring {
        /// N/m for the first three, N·m/rad for the last three.
        stiffness: [f64; 6],
        /// N·s/m for the first three, N·m·s/rad for the last three.
        damping: [f64; 6],
    },
    /// The tool is where the handle is; contacts give way by this much, in m/N.
    Rigid {
        /// Compliance of each contact, m/N.
        contact_compliance: f64,
    },
}

/// State of the tool at one tick, in scene coordinates.
#[derive(Clone, Copy, Debug)]
pub struct ToolSample {
    /// Tick it was true at.
    pub stamp: Stamp,
    /// The proxy: what touches the scene.
    pub pose_world_tool: Pose,
    /// Its velocity.
    pub twist_tool: Twist,
    /// The operator's handle mapped into the scene: where the proxy is drawn to.
    pub pose_world_handle: Pose,
    /// Its velocity, in the handle's frame convention.
    pub twist_handle: Twist,
    /// Wrench on the proxy besides coupling and contact (the observed hand force of the transparent coupling).
    pub wrench_external: Wrench,
    /// How the two hang together.
    pub link: CouplingLink,
    /// Buttons held, one bit each.
    pub buttons: u32,
}

impl ToolSample {
    /// A tool at rest at `pose`, held by nothing, never stamped.
    #[must_use]
    pub fn at_rest(pose: Pose) -> Self {
        Self {
            stamp: Stamp::default(),
            pose_world_tool: pose,
            twist_tool: Twist::zeros(),
            pose_world_handle: pose,
            twist_handle: Twist::zeros(),
            wrench_external: Wrench::zeros(),
            link: CouplingLink::Spring { stiffness: [0.0; 6], damping: [0.0; 6] },
            buttons: 0,
        }
    }
}
