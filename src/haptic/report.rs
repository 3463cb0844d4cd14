//! Stage 8, report: the tool for the simulation, the record for the logger. No other stage writes either.
//!
//! Thread: haptic (RT).

use super::couple::Coupled;
use super::map::Handle;
use super::{HapticState, TickInput, Touches};
use crate::device::{HandForce, HandSample, SafeForce};
use crate::shared::{Faults, Stamp, Tick, ToolSample};

/// What a tick with a believed sample found, for the report.
pub(super) struct Found<'a> {
    /// The sample.
    pub(super) sample: &'a HandSample,
    /// The handle in the scene.
    pub(super) handle: &'a Handle,
    /// Outcome of stage 4.
    pub(super) coupled: &'a Coupled,
    /// Force of scene and client, before gate and limiter.
    pub(super) wanted: HandForce,
}

/// Writes the tool of the tick.
pub(super) fn tool(state: &HapticState, found: &Found<'_>, tick: &Tick<'_>) -> ToolSample {
    let (pushes, pushed_s) = state.local.pushes();
    ToolSample {
        stamp: Stamp { sequence: tick.index, at: tick.began },
        pose_world_tool: *state.proxy.pose(),
        twist_tool: *state.proxy.twist(),
        load: found.coupled.pull.load,
        pull: found.coupled.pull.pull,
        pushes: *pushes,
        pushed_s,
        tip: state.local.tip(),
        buttons: found.sample.buttons,
    }
}

/// Writes what the tick found into its record.
pub(super) fn found(state: &mut HapticState, found: &Found<'_>) {
    let record = &mut state.record;
    let Found { sample, handle, coupled, wanted } = found;
    let report = &coupled.report;
    (record.homed, record.buttons) = (sample.homed, sample.buttons);
    record.pose_device_handle = sample.pose_device_handle;
    record.velocity = handle.motion.linear;
    record.pose_world_handle = handle.pose;
    record.pose_world_tool = *state.proxy.pose();
    record.wanted = *wanted;
    record.contacts = report.contacts;
    record.touches = state.local.touches(&record.pose_world_tool);
    record.penetration_m = report.penetration_m;
    record.iterations = report.outcome.iterations;
    record.residual = report.outcome.residual;
}

/// Writes into the record that the tick had no sample. Where the handle was last seen stays.
pub(super) fn nothing_found(state: &mut HapticState, lost: bool) {
    let record = &mut state.record;
    if lost {
        (record.homed, record.buttons) = (false, 0);
    }
    record.wanted = HandForce::zero();
    (record.contacts, record.touches, record.iterations) = (0, Touches::NONE, 0);
    (record.penetration_m, record.residual) = (0.0, 0.0);
}

/// Writes what every tick leaves behind, and ends it.
pub(super) fn close(
    state: &mut HapticState,
    sample: Option<HandSample>,
    safe: &SafeForce,
    tick: &Tick<'_>,
    faults: Faults,
) {
    let now = tick.now();
    let trip = state.tripped.take();
    let record = &mut state.record;
    record.index = tick.index;
    record.due = tick.due;
    record.lateness_ns = tick.lateness_ns();
    record.compute_ns = now.since(tick.began);
    record.faults = faults;
    record.state = state.gate.state();
    record.cause = state.gate.cause();
    record.parameters = *state.parameters.current();
    record.gain = state.gate.gain();
    record.force = *safe.get();
    record.snapshot_age_ns = state.local.snapshot().stamp.age(tick.began);
    record.account = *state.ledger.account();
    record.input = TickInput {
        sample,
        weight: state.weight,
        skipped: tick.skipped,
        snapshot: state.seen,
        trip,
        retiring: state.retiring,
        unheard: false,
        cut_after: tick.cut_after(),
    };
    state.gate.close();
}
