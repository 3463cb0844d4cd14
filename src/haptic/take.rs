//! Stage 3, take: the newest mechanism of the simulation.
//!
//! Thread: haptic (RT).
//!
//! A mechanism that is new and sound is adopted; one that is not sound is refused, and the one before stays in use. A mechanism that is too
//! old is held for a while, then its force fades.

use super::{HapticModel, HapticState};
use crate::mechanism::MechanismSnapshot;
use crate::shared::{Faults, NS_PER_S, Tick};

/// Adopts the newest mechanism if it is new and sound, and lets the force of a stale one fade.
pub(super) fn take(
    model: &HapticModel,
    state: &mut HapticState,
    snapshot: &MechanismSnapshot,
    tick: &Tick<'_>,
) -> Faults {
    let mut faults = Faults::NONE;
    if snapshot.stamp.sequence != state.seen {
        state.seen = snapshot.stamp.sequence;
        if snapshot.is_sound() {
            state.local.adopt(snapshot, state.proxy.pose(), tick.began, tick.period_s);
        } else {
            faults.set(Faults::SNAPSHOT_INVALID);
        }
    }
    let current = state.local.snapshot();
    faults.set_if(Faults::SNAPSHOT_OVERFULL, current.dropped > 0);
    let missing = current.stamp.sequence == 0;
    let hold_s = (model.policy.hold_steps * current.step_s).max(model.policy.hold_least_s);
    let stale = current.stamp.age(tick.began) as f64 > hold_s * NS_PER_S as f64;
    faults.set_if(Faults::SNAPSHOT_MISSING, missing);
    faults.set_if(Faults::SNAPSHOT_STALE, !missing && stale);
    let step = tick.period_s / model.policy.fade_s.max(tick.period_s);
    if missing || stale {
        state.presence = (state.presence - step).max(0.0);
        if state.presence == 0.0 {
            state.local.release();
        }
    } else {
        state.presence = (state.presence + step).min(1.0);
    }
    faults
}
