//! Gate: whether force may flow, and the ramp with which it begins and ends.
//!
//! Thread: haptic (RT).
//!
//! The operating state ([`crate::shared::lifecycle`]) decides; the ramp makes it gentle: after enable it waits until the
//! computed force is small, then rises over a set time. Leaving ENABLED is a ramp down over a tenth of that time for
//! disable and pause, and at once for a fault.

use super::{Policy, Trip};
use crate::device::HandForce;
use crate::shared::lifecycle::{Event, Guard, Refusal, State};

/// See the file's head.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    state: State,
    cause: Option<Trip>,
    gain: f64,
    waiting: bool,
    /// Tripped in this tick: nobody can have seen that yet.
    fresh: bool,
    /// Acknowledged in this tick: forces are for another one.
    acknowledged: bool,
}

impl Default for Gate {
    fn default() -> Self {
        Self { state: State::Disabled, cause: None, gain: 0.0, waiting: true, fresh: false, acknowledged: false }
    }
}

impl Gate {
    /// Operating state.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// What tripped it, while in FAULT.
    #[must_use]
    pub fn cause(&self) -> Option<Trip> {
        self.cause
    }

    /// Share of the computed force that is let through, 0 to 1.
    #[must_use]
    pub fn gain(&self) -> f64 {
        self.gain
    }

    /// True in the tick that acknowledged a fault.
    #[must_use]
    pub fn is_acknowledged(&self) -> bool {
        self.acknowledged
    }

    /// Does what is asked. A fault cannot be acknowledged in the tick that it happened in: it must be seen first. Nor can
    /// forces begin in the tick of an acknowledge.
    ///
    /// # Errors
    /// Says which condition refused the event; nothing has changed then.
    pub fn obey(&mut self, event: Event, guard: Guard) -> Result<(), Refusal> {
        let guard = Guard { cause_persists: guard.cause_persists || self.fresh, ..guard };
        let next = self.state.next(event, guard)?;
        if self.acknowledged && next.allows_force() {
            return Err(Refusal::WrongState(State::Fault));
        }
        self.acknowledged |= event == Event::Acknowledge;
        if next == State::Fault {
            self.trip(Trip::Halt);
        } else {
            self.waiting |= next == State::Enabled && self.state != State::Enabled;
            self.cause = None;
            self.state = next;
        }
        Ok(())
    }

    /// Ends the tick.
    pub fn close(&mut self) {
        (self.fresh, self.acknowledged) = (false, false);
    }

    /// Latches a fault; the first cause is kept.
    pub fn trip(&mut self, cause: Trip) {
        self.cause.get_or_insert(cause);
        self.state = State::Fault;
        self.gain = 0.0;
        self.waiting = true;
        self.fresh = true;
    }

    /// Scales `force` by the ramp and moves the ramp on by one period.
    pub fn pass(&mut self, force: HandForce, policy: &Policy, period_s: f64) -> HandForce {
        let small = force.force.norm() < policy.small_force_n && force.torque.norm() < 0.1 * policy.small_force_n;
        if self.state.allows_force() {
            self.waiting &= !small;
            if !self.waiting {
                self.gain = (self.gain + period_s / policy.ramp_s.max(period_s)).min(1.0);
            }
        } else {
            self.gain = (self.gain - 10.0 * period_s / policy.ramp_s.max(period_s)).max(0.0);
            self.waiting = true;
        }
        HandForce { force: force.force * self.gain, torque: force.torque * self.gain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;

    const FREE: Guard = Guard { homed: true, cause_persists: false };

    fn force(n: f64) -> HandForce {
        HandForce { force: Vec3::new(n, 0.0, 0.0), torque: Vec3::zeros() }
    }

    #[test]
    fn force_waits_until_it_is_small_and_then_rises_over_the_ramp() {
        let (mut gate, policy) = (Gate::default(), Policy::default());
        gate.obey(Event::Enable, FREE).expect("it is homed");
        for _ in 0..2000 {
            assert_eq!(gate.pass(force(3.0), &policy, 1e-3).force.x, 0.0);
        }
        gate.pass(force(0.1), &policy, 1e-3);
        let mut last = 0.0;
        for _ in 0..600 {
            let out = gate.pass(force(3.0), &policy, 1e-3).force.x;
            assert!(out >= last && out - last <= 3.0 * 1e-3 / policy.ramp_s + 1e-12 || last == 0.0);
            last = out;
        }
        assert_eq!(last, 3.0);
    }

    #[test]
    fn a_trip_cuts_force_at_once_and_keeps_its_first_cause() {
        let (mut gate, policy) = (Gate::default(), Policy::default());
        gate.obey(Event::Enable, FREE).expect("it is homed");
        for _ in 0..1000 {
            gate.pass(force(0.0), &policy, 1e-3);
        }
        assert_eq!(gate.pass(force(3.0), &policy, 1e-3).force.x, 3.0);
        gate.trip(Trip::DeviceLost);
        gate.trip(Trip::Deadline);
        assert_eq!((gate.pass(force(3.0), &policy, 1e-3).force.x, gate.cause()), (0.0, Some(Trip::DeviceLost)));
        assert_eq!(gate.obey(Event::Enable, FREE), Err(Refusal::WrongState(State::Fault)));
        assert_eq!(gate.obey(Event::Acknowledge, FREE), Err(Refusal::CausePersists), "nobody has seen it");
        gate.close();
        assert_eq!(gate.obey(Event::Acknowledge, FREE), Ok(()));
        assert_eq!((gate.state(), gate.cause()), (State::Disabled, None));
        assert_eq!(gate.obey(Event::Enable, FREE), Err(Refusal::WrongState(State::Fault)), "not in the same tick");
        gate.close();
        assert_eq!(gate.obey(Event::Enable, FREE), Ok(()));
    }

    #[test]
    fn a_trip_that_comes_before_an_acknowledge_is_taken_over_is_not_lost() {
        let mut gate = Gate::default();
        gate.trip(Trip::Deadline);
        gate.close();
        gate.trip(Trip::Halt);
        assert_eq!(gate.obey(Event::Acknowledge, FREE), Err(Refusal::CausePersists));
        assert_eq!((gate.state(), gate.cause()), (State::Fault, Some(Trip::Deadline)));
    }
}
