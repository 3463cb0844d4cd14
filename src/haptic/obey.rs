//! Stage 5, gate: orders, operating state and ramp.
//!
//! Thread: haptic (RT).

use super::client_force::ClientForce;
use super::map::Handle;
use super::turning::ClientTurn;
use super::{HapticModel, HapticState, Trip};
use crate::device::{HandForce, HandMotion};
use crate::shared::lifecycle::{Event, Guard, Refusal, State};
use crate::shared::{Change, Faults, Order, Tick};

/// Rotation in rad/s that counts as much as a motion of 1 m/s when it is asked whether the handle stands still.
const STILL_RAD_PER_M: f64 = 10.0;

/// Result of the stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gated {
    /// Force of scene and client together.
    pub(super) wanted: HandForce,
    /// What the gate lets through of it.
    pub(super) passed: HandForce,
    /// Faults of the stage.
    pub(super) faults: Faults,
}

/// Obeys the orders of the tick, adds the client's force, and passes on what operating state and ramp allow.
pub(super) fn gate(
    model: &HapticModel,
    state: &mut HapticState,
    felt: &HandForce,
    (handle, homed, overrun): (&Handle, bool, bool),
    tick: &Tick<'_>,
) -> Gated {
    if !homed && state.gate.state().allows_force() {
        state.gate.trip(Trip::DeviceLost);
    }
    let still = stands_still(model, &handle.motion);
    obey(model, state, Guard { homed, cause_persists: overrun || !still }, tick);
    let client = state.client.at(tick.began);
    let wanted = HandForce { force: felt.force + client.force, torque: felt.torque + client.torque };
    let mut faults = Faults::NONE;
    let passed = if wanted.is_finite() {
        state.gate.pass(wanted, &model.policy, tick.period_s)
    } else {
        faults.set(Faults::FORCE_INVALID);
        state.gate.trip(Trip::Solver);
        HandForce::zero()
    };
    Gated { wanted, passed, faults }
}

/// True when the handle moves so little that a fault may be acknowledged.
fn stands_still(model: &HapticModel, motion: &HandMotion) -> bool {
    let (still, limit) = (model.policy.still_m_per_s, model.limits.speed);
    let slow = motion.linear.norm() <= still.min(limit.linear);
    slow && (!model.rotation_sensed || motion.angular.norm() <= (still * STILL_RAD_PER_M).min(limit.angular))
}

/// Carries out each order whole, or not at all.
pub(super) fn obey(model: &HapticModel, state: &mut HapticState, guard: Guard, tick: &Tick<'_>) {
    if state.retiring && state.gate.state() != State::Fault {
        // Cannot be refused in any other state.
        let _ = state.gate.obey(Event::Disable, guard);
    }
    for index in 0..state.tray.begin() {
        let order = *state.tray.order(index);
        let outcome =
            if state.retiring { Err((0, Refusal::Stopping)) } else { carry_out(model, state, &order, guard, tick) };
        state.tray.answer(order.sequence, tick.index, outcome);
    }
    if !state.gate.state().allows_force() {
        (state.client, state.client_turn) = (ClientForce::NONE, ClientTurn::NONE);
    }
}

/// Tries the changes of an order on copies; they take the place of what they are copies of when none was refused.
fn carry_out(
    model: &HapticModel,
    state: &mut HapticState,
    order: &Order,
    guard: Guard,
    tick: &Tick<'_>,
) -> Result<(), (usize, Refusal)> {
    let (mut gate, mut target) = (state.gate, *state.parameters.target());
    let (mut client, mut client_turn) = (state.client, state.client_turn);
    let mut last_set = 0;
    for (index, change) in order.changes().iter().enumerate() {
        let outcome = match *change {
            Change::Event(event) => gate.obey(event, guard),
            Change::Set(parameter, value) => {
                last_set = index;
                target.set(parameter, value);
                state.parameters.range().check(parameter, value)
            }
            Change::Force { .. } | Change::Turn { .. } if !gate.state().allows_force() => {
                Err(Refusal::WrongState(gate.state()))
            }
            Change::Force { force, torque, until } => {
                ClientForce::new(model, force, torque, until, tick.began).map(|force| client = force)
            }
            Change::Turn { rate, until } => {
                ClientTurn::new(model, rate, until, tick.began).map(|turn| client_turn = turn)
            }
        };
        outcome.map_err(|refusal| (index, refusal))?;
        if !gate.state().allows_force() {
            (client, client_turn) = (ClientForce::NONE, ClientTurn::NONE);
        }
    }
    if target != *state.parameters.target() {
        state.parameters.range().check_together(&target).map_err(|refusal| (last_set, refusal))?;
    }
    (state.gate, state.client, state.client_turn) = (gate, client, client_turn);
    state.parameters.aim(target);
    Ok(())
}
