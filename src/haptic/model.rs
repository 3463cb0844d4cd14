//! What does not change while a scene runs.
//!
//! Thread: any (plain data).

use super::{Coupling, Surfaces, Turning};
use crate::device::{Limits, Mechanics};
use crate::math::{Mapping, Pose};
use crate::mechanism::pmi::RigidInertia;
use crate::mechanism::solver::Settings;

/// Bounds of the local solve as shipped. A violation of a millionth of the largest gap, some nanometres, is far below what
/// a hand can feel; most ticks start from the forces of the tick before and need a few sweeps.
pub const LOCAL_SOLVER: Settings = Settings { iterations: 50, tolerance: 1e-6, relaxation: 1.1 };

/// The body that touches the scene in the operator's stead.
#[derive(Clone, Copy, Debug)]
pub struct ToolModel {
    /// Mass and inertia of the proxy. Light is transparent; passive midpoint integration keeps any mass stable.
    pub inertia: RigidInertia,
    /// Where it stands before the first sample.
    pub start: Pose,
}

/// How the tick answers what can go wrong. Times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// A mechanism older than this many of its own steps (at least [`Policy::hold_least_s`]) is stale.
    pub hold_steps: f64,
    /// Least time a mechanism is held before it counts as stale.
    pub hold_least_s: f64,
    /// From stale to no force.
    pub fade_s: f64,
    /// Over which a new mechanism takes the place of the old one.
    pub blend_s: f64,
    /// How far each contact gives way, m/N; zero for rigid ones. Where far more contacts hold the tool than it has degrees of
    /// freedom, as in a tightened thread, a little of it decides which of them carries what.
    pub contact_yield: f64,
    /// From enable to full force.
    pub ramp_s: f64,
    /// The ramp starts only when the computed force is below this, N (and a tenth of it in N·m).
    pub small_force_n: f64,
    /// Time without a sample after which the device counts as lost: a latched fault.
    pub device_lost_s: f64,
    /// Overruns in a row that make a latched fault.
    pub overruns_trip: u32,
    /// Time for which the force may stand at the limit of device and scene: motors heat. Longer is a latched fault.
    pub force_held_s: f64,
    /// Time for which the energy bound may hold back nine tenths of a force that could be felt; then a latched fault.
    pub passivity_held_s: f64,
    /// Time for which the energy account may be below −1 µJ; then a latched fault.
    pub overdrawn_held_s: f64,
    /// Energy that the hand may have got beyond what it put in, J: more is a latched fault at once.
    pub overdrawn_most_j: f64,
    /// Time by which ticks with an acceleration beyond the device's limit may outweigh those without; then a latched fault.
    pub erratic_held_s: f64,
    /// A gap between two ticks that is a latched fault by itself, s.
    pub gap_s: f64,
    /// Time for which the control thread may stand still in ENABLED, s; then a latched fault. 500 ms is less than the watchdog of systemd
    /// allows and more than a busy PC takes to schedule a thread.
    pub control_silent_s: f64,
    /// A handle faster than this many times the speed limit of device and scene, for [`Policy::speed_held_s`], is a latched
    /// fault.
    pub speed_trip: f64,
    /// See [`Policy::speed_trip`].
    pub speed_held_s: f64,
    /// Time without a fresh mechanism in ENABLED after which the simulation counts as gone: a latched fault.
    pub simulation_down_s: f64,
    /// A handle slower than this stands still, m/s (and ten times as much in rad/s): no fault is acknowledged before.
    pub still_m_per_s: f64,
    /// A jump of the handle between two samples beyond this speed is not believed, m/s.
    pub jump_m_per_s: f64,
    /// Keep the energy bound (time-domain passivity control). Off only to study what it prevents.
    pub passivity: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            hold_steps: 3.0,
            hold_least_s: 0.05,
            fade_s: 0.1,
            blend_s: 0.01,
            contact_yield: 0.0,
            ramp_s: 0.5,
            small_force_n: 0.5,
            device_lost_s: 0.02,
            overruns_trip: 10,
            force_held_s: 10.0,
            passivity_held_s: 1.0,
            overdrawn_held_s: 0.02,
            overdrawn_most_j: 1e-3,
            erratic_held_s: 0.04,
            gap_s: 0.1,
            control_silent_s: 0.5,
            speed_trip: 1.5,
            speed_held_s: 0.05,
            simulation_down_s: 2.0,
            still_m_per_s: 0.1,
            jump_m_per_s: 20.0,
            passivity: true,
        }
    }
}

/// Everything the tick needs to know that does not change.
#[derive(Clone, Debug)]
pub struct HapticModel {
    /// What may be done to the hand: the device's limits, tightened by the scene.
    pub limits: Limits,
    /// How the device moves.
    pub mechanics: Mechanics,
    /// The device measures rotation; without it the tool keeps its start orientation, unless it is turned otherwise.
    pub rotation_sensed: bool,
    /// The device can apply torque.
    pub rotation_actuated: bool,
    /// Nominal rate of the loop, Hz.
    pub rate_hz: f64,
    /// Device to scene.
    pub mapping: Mapping,
    /// Button (bit number) that lifts the tool off the handle to re-centre it, if any.
    pub clutch_button: Option<u8>,
    /// How the tool is turned other than by the handle, if it can be.
    pub turning: Option<Turning>,
    /// What hangs between handle and proxy.
    pub coupling: Coupling,
    /// The proxy.
    pub tool: ToolModel,
    /// What to do when things go wrong.
    pub policy: Policy,
    /// Bounds of the local solve.
    pub solver: Settings,
    /// Surfaces to ask between two mechanisms.
    pub surfaces: Surfaces,
}

impl HapticModel {
    /// True when the tool can turn at all.
    #[must_use]
    pub fn tool_turns(&self) -> bool {
        self.rotation_sensed || self.turning.is_some()
    }
}
