//! Stage 6, account: energy that crossed the handle, and the budget for the coming interval.
//!
//! Thread: haptic (RT).

use super::{HapticModel, HapticState, Trip};
use crate::device::{EnergyBudget, HandForce, HandSample, SafeForce};
use crate::shared::{Faults, Tick};

/// Books the energy of the interval that has ended; gives the budget of the coming one, none where the bound is off.
pub(super) fn account(
    model: &HapticModel,
    state: &mut HapticState,
    sample: &HandSample,
    tick: &Tick<'_>,
) -> (Option<EnergyBudget>, Faults) {
    let mut faults = Faults::NONE;
    if state.gate.is_acknowledged() {
        // The fault has told of it.
        state.ledger.forgive();
    }
    state.ledger.observe(&sample.pose_device_handle, tick.period_s, tick.skipped, &mut faults);
    // Without the bound nothing is promised.
    let overdrawn = model.policy.passivity && state.ledger.account().reserve_j < -model.policy.overdrawn_most_j;
    if overdrawn && state.gate.state().allows_force() {
        state.gate.trip(Trip::Overdrawn);
    }
    let budget = state.ledger.budget(tick.period_s);
    (model.policy.passivity.then_some(budget), faults)
}

/// Books the force that goes out: what moves the handle is what the weight leaves of it.
pub(super) fn commit(state: &mut HapticState, safe: &SafeForce, carried: &HandForce) {
    state.ledger.commit(safe, carried);
    let felt = safe.get().without(carried);
    state.observer.sent(&felt);
    state.channels.sent(&felt);
}
