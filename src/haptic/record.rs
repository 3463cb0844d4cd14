//! What one tick leaves behind for the logger.
//!
//! Thread: written by haptic (RT), read by whoever logs.

use super::{Account, Touches, Trip};
use crate::device::{HandForce, HandSample};
use crate::math::{Pose, Vec3};
use crate::shared::lifecycle::State;
use crate::shared::{Faults, MonoNs, Parameters};

/// What a tick depended on, beside its model and what it remembers: with it the same tick can be run again.
#[derive(Clone, Copy, Debug, Default)]
pub struct TickInput {
    /// What the device gave, believed or not.
    pub sample: Option<HandSample>,
    /// Force that carries the device's own weight.
    pub weight: HandForce,
    /// Ticks left out before it.
    pub skipped: u64,
    /// The mechanism it worked with, by sequence.
    pub snapshot: u64,
    /// What tripped the loop from outside since the tick before.
    pub trip: Option<Trip>,
    /// Forces end and orders are refused.
    pub retiring: bool,
    /// The device did not take the force.
    pub unheard: bool,
    /// After how many looks at the clock the time for solving was up, if it was.
    pub cut_after: Option<u32>,
}

/// One tick, in full.
#[derive(Clone, Copy, Debug)]
pub struct TickRecord {
    /// Tick number.
    pub index: u64,
    /// When it was due.
    pub due: MonoNs,
    /// How late it began, ns.
    pub lateness_ns: u64,
    /// How long it took until the force was known, ns.
    pub compute_ns: u64,
    /// What went wrong.
    pub faults: Faults,
    /// Operating state.
    pub state: State,
    /// Why, in FAULT.
    pub cause: Option<Trip>,
    /// The device knows where it is.
    pub homed: bool,
    /// Buttons held, one bit each.
    pub buttons: u32,
    /// Share of the computed force let through.
    pub gain: f64,
    /// Handle, device frame.
    pub pose_device_handle: Pose,
    /// Its velocity, device frame.
    pub velocity: Vec3,
    /// Handle in the scene.
    pub pose_world_handle: Pose,
    /// Proxy in the scene.
    pub pose_world_tool: Pose,
    /// Force sent to the device.
    pub force: HandForce,
    /// Force computed, before gate and limiter.
    pub wanted: HandForce,
    /// Contacts that carried force.
    pub contacts: u32,
    /// Where those were.
    pub touches: Touches,
    /// Deepest overlap of proxy and scene, m.
    pub penetration_m: f64,
    /// Sweeps of the local solver.
    pub iterations: u32,
    /// Its residual.
    pub residual: f64,
    /// Age of the mechanism, ns.
    pub snapshot_age_ns: u64,
    /// Energy.
    pub account: Account,
    /// Parameters as they were used.
    pub parameters: Parameters,
    /// What all of it depended on.
    pub input: TickInput,
}

impl TickRecord {
    /// A record of nothing, with everything at `pose`.
    #[must_use]
    pub fn empty(pose: Pose) -> Self {
        Self {
            index: 0,
            due: MonoNs(0),
            lateness_ns: 0,
            compute_ns: 0,
            faults: Faults::NONE,
            state: State::Disabled,
            cause: None,
            homed: false,
            buttons: 0,
            gain: 0.0,
            pose_device_handle: Pose::identity(),
            velocity: Vec3::zeros(),
            pose_world_handle: pose,
            pose_world_tool: pose,
            force: HandForce::zero(),
            wanted: HandForce::zero(),
            contacts: 0,
            touches: Touches::NONE,
            penetration_m: 0.0,
            iterations: 0,
            residual: 0.0,
            snapshot_age_ns: 0,
            account: Account::default(),
            parameters: Parameters::default(),
            input: TickInput::default(),
        }
    }
}
