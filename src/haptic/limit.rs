//! Stage 7, limit: the only maker of a [`SafeForce`], and the watch over what must not last.
//!
//! Thread: haptic (RT).

use super::trip::Sight;
use super::{HapticModel, HapticState};
use crate::device::{EnergyBudget, HandForce, HandMotion, SafeForce};
use crate::shared::{Faults, Tick};

/// A force beyond this share of its limit stands at it.
const AT_LIMIT: f64 = 0.99;
/// Share of a force below which the energy bound has left nothing of it, and the least force that this is asked of, N.
const STARVED: f64 = 0.1;
const STARVED_LEAST_N: f64 = 0.5;

/// Energy that the hand got beyond what it put in and that counts as more than rounding, J: the figure the energy promise is stated
/// with (docs/safety.md).
const OVERDRAWN_J: f64 = 1e-6;

/// Result of the stage.
pub(super) struct Limited {
    /// Force for the device.
    pub(super) safe: SafeForce,
    /// The part of it that carries the device's own weight.
    pub(super) carried: HandForce,
    /// Faults of the stage.
    pub(super) faults: Faults,
}

/// Limits the force that passed the gate together with the force that carries the device's weight. `before` holds the faults of the stages
/// before.
pub(super) fn limit(
    model: &HapticModel,
    state: &mut HapticState,
    (passed, motion): (&HandForce, &HandMotion),
    budget: Option<&EnergyBudget>,
    before: Faults,
    tick: &Tick<'_>,
) -> Limited {
    let mut faults = Faults::NONE;
    // The weight follows the ramp like any force, but does not keep it waiting.
    let gain = state.gate.gain();
    let carried = HandForce { force: state.weight.force * gain, torque: state.weight.torque * gain };
    let safe = if gain > 0.0 {
        let whole = passed.with(&carried);
        state.limiter.limit_carrying(whole, &carried, motion, budget, tick.period_s, &mut faults)
    } else {
        state.limiter.zero()
    };
    let mut seen = before;
    seen.set(faults);
    let safe = watch(model, state, motion, passed, safe, seen, tick);
    Limited { safe, carried, faults }
}

/// The force, or none when what must not last has lasted too long.
fn watch(
    model: &HapticModel,
    state: &mut HapticState,
    motion: &HandMotion,
    gated: &HandForce,
    safe: SafeForce,
    faults: Faults,
    tick: &Tick<'_>,
) -> SafeForce {
    let enabled = state.gate.state().allows_force();
    let (policy, limits, sent) = (&model.policy, &model.limits, safe.get());
    // A limit of zero is that of a part the device does not have.
    let beyond = |size: f64, limit: f64, factor: f64| limit > 0.0 && size > factor * limit;
    let asked_n = gated.force.norm();
    let sight = Sight {
        fast: enabled
            && (beyond(motion.linear.norm(), limits.speed.linear, policy.speed_trip)
                || model.rotation_sensed && beyond(motion.angular.norm(), limits.speed.angular, policy.speed_trip)),
        blind: enabled && (faults.contains(Faults::SNAPSHOT_MISSING) || faults.contains(Faults::SNAPSHOT_STALE)),
        at_limit: beyond(sent.force.norm(), limits.force.linear, AT_LIMIT)
            || beyond(sent.torque.norm(), limits.force.angular, AT_LIMIT),
        starved: faults.contains(Faults::PASSIVITY_LIMITED)
            && asked_n > STARVED_LEAST_N
            && sent.force.norm() < STARVED * asked_n,
        overdrawn: enabled && model.policy.passivity && state.ledger.account().reserve_j < -OVERDRAWN_J,
        // A tick that came late has seen a longer way for another reason.
        erratic: enabled && faults.contains(Faults::ACCELERATION_EXCEEDED) && !faults.contains(Faults::OVERRUN),
    };
    let elapsed_s = (1 + tick.skipped) as f64 * tick.period_s;
    let Some(cause) = state.vigil.look(&sight, policy, elapsed_s) else { return safe };
    state.gate.trip(cause);
    state.limiter.zero()
}
