//! Stage 1, read: whether the tick came in time and the sample can be believed.
//!
//! Thread: haptic (RT).

use super::{HapticModel, HapticState, Trip};
use crate::device::HandSample;
use crate::math::{Rot, pose_is_sound};
use crate::shared::{Faults, NS_PER_S, Tick};

/// Result of the stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// The sample; none where none can be believed.
    pub(super) sample: Option<HandSample>,
    /// The tick came more than a period late.
    pub(super) overrun: bool,
    /// Faults of the stage.
    pub(super) faults: Faults,
}

/// Judges tick and sample.
pub(super) fn read(
    model: &HapticModel,
    state: &mut HapticState,
    sample: Option<HandSample>,
    tick: &Tick<'_>,
) -> Reading {
    let mut faults = Faults::NONE;
    let overrun = tick.skipped > 0 || tick.lateness_ns() as f64 > tick.period_s * NS_PER_S as f64;
    faults.set_if(Faults::OVERRUN, overrun);
    state.overruns = if overrun { state.overruns + 1 } else { 0 };
    // A tick after a stall begins late; the one after that counts the slots that have passed.
    let skipped_s = tick.skipped as f64 * tick.period_s;
    let gap_s = skipped_s.max(tick.lateness_ns() as f64 / NS_PER_S as f64);
    if state.overruns >= model.policy.overruns_trip || gap_s > model.policy.gap_s {
        state.gate.trip(Trip::Deadline);
    }
    let sample = believe(model, state, sample, tick, &mut faults);
    Reading { sample, overrun, faults }
}

/// The sample, if it can be believed.
fn believe(
    model: &HapticModel,
    state: &mut HapticState,
    sample: Option<HandSample>,
    tick: &Tick<'_>,
    faults: &mut Faults,
) -> Option<HandSample> {
    let period_ns = (tick.period_s * NS_PER_S as f64) as u64;
    let sound = sample.filter(|sample| pose_is_sound(&sample.pose_device_handle));
    let Some(mut sample) = sound else {
        faults.set(if sample.is_none() { Faults::DEVICE_SILENT } else { Faults::DEVICE_INVALID });
        state.silent_ns += period_ns;
        state.unseen_ns += period_ns;
        return None;
    };
    // A place out of reach is not believed however long it is reported: counts were lost, and the device must be homed.
    let since_s = (1 + tick.skipped) as f64 * tick.period_s + state.unseen_ns as f64 / NS_PER_S as f64;
    let reach = model.policy.jump_m_per_s * since_s;
    let way =
        |last: HandSample| sample.pose_device_handle.translation.vector - last.pose_device_handle.translation.vector;
    // Until it is homed a device does not know where it is, and leaps when it learns.
    let leaps = state.last_sample.is_some_and(|last| !last.homed);
    if !leaps && state.last_sample.is_some_and(|last| way(last).norm() > reach) {
        faults.set(Faults::DEVICE_INVALID);
        state.silent_ns += period_ns;
        return None;
    }
    if !model.rotation_sensed {
        sample.pose_device_handle.rotation = Rot::identity();
    }
    if state.silent_ns > 0 || leaps && sample.homed {
        state.velocity.reset();
        state.observer.reset();
        (state.silent_ns, state.unseen_ns) = (0, 0);
    }
    state.last_sample = Some(sample);
    Some(sample)
}
