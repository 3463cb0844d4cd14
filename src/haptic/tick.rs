//! The tick: eight stages, each in a file of its own.
//!
//! Thread: haptic (RT).
//!
//! 1. read: is the tick in time, is the sample sound ([`super::read`])
//! 2. map: handle into the scene: scale, placement, clutch ([`super::map`])
//! 3. take: newest mechanism; refuse, hold, fade or blend it ([`super::take`])
//! 4. couple: proxy, coupling and the local mechanism solve give the wrench on the hand ([`super::couple`])
//! 5. gate: orders, operating state and ramp ([`super::obey`])
//! 6. account: energy that crossed the handle, budget for the coming interval ([`super::account`])
//! 7. limit: the only maker of a `SafeForce` ([`super::limit`])
//! 8. report: tool for the simulation, record for the logger ([`super::report`])
//!
//! A stage gives its result by value; [`HapticState`] holds only what the next tick needs.

use super::account::{account, commit};
use super::couple::couple;
use super::limit::limit;
use super::map::map;
use super::obey::{gate, obey};
use super::read::read;
use super::report::{self, Found};
use super::take::take;
use super::{HapticModel, HapticState, Trip};
use crate::device::{HandForce, HandSample, SafeForce};
use crate::mechanism::MechanismSnapshot;
use crate::shared::lifecycle::Guard;
use crate::shared::{Faults, NS_PER_S, Tick};

/// One tick. `sample` is `None` when the device gave nothing. Pure: the outcome depends on the arguments alone, but for
/// where the time bound cuts a solve short.
pub fn tick(
    model: &HapticModel,
    state: &mut HapticState,
    sample: Option<HandSample>,
    snapshot: &MechanismSnapshot,
    tick: &mut Tick<'_>,
) -> SafeForce {
    // 1 read
    let reading = read(model, state, sample, tick);
    let mut faults = reading.faults;
    let Some(believed) = reading.sample else {
        return silent(model, state, sample, tick, faults);
    };
    // 2 map
    let handle = map(model, state, &believed, tick);
    // 3 take
    faults.set(take(model, state, snapshot, tick));
    // 4 couple
    let coupled = couple(model, state, &handle, tick);
    faults.set(coupled.faults);
    // 5 gate
    let gated = gate(model, state, &coupled.force, (&handle, believed.homed, reading.overrun), tick);
    faults.set(gated.faults);
    // 6 account
    let (budget, overspent) = account(model, state, &believed, tick);
    faults.set(overspent);
    // 7 limit
    let limited = limit(model, state, (&gated.passed, &handle.motion), budget.as_ref(), faults, tick);
    faults.set(limited.faults);
    commit(state, &limited.safe, &limited.carried);
    // 8 report
    let found = Found { sample: &believed, handle: &handle, coupled: &coupled, wanted: gated.wanted };
    state.tool = report::tool(state, &found, tick);
    report::found(state, &found);
    report::close(state, sample, &limited.safe, tick, faults);
    limited.safe
}

/// A tick without a believable sample: zero force, and a latched fault if it goes on.
fn silent(
    model: &HapticModel,
    state: &mut HapticState,
    sample: Option<HandSample>,
    tick: &Tick<'_>,
    faults: Faults,
) -> SafeForce {
    let lost = state.silent_ns as f64 > model.policy.device_lost_s * NS_PER_S as f64;
    if lost {
        state.gate.trip(Trip::DeviceLost);
        // Where the handle comes back is not known: believe the first sound sample then.
        state.last_sample = None;
    }
    obey(model, state, Guard { homed: false, cause_persists: true }, tick);
    state.vigil.interrupt();
    state.ledger.observe_nothing(tick.period_s, tick.skipped);
    let safe = state.limiter.zero();
    commit(state, &safe, &HandForce::zero());
    report::nothing_found(state, lost);
    report::close(state, sample, &safe, tick, faults);
    safe
}
