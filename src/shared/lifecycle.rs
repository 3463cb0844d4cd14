//! Operating states of the daemon, by the names of the surgical-robotics convention CRTK, as a pure state machine.
//!
//! Thread: any (RT safe). The haptic thread owns the machine; commands reach it as values.
//!
//! DISABLED → (enable) → ENABLED ⇄ PAUSED; FAULT is latched and reached from anywhere; acknowledging leads to DISABLED,
//! never to motion, and is refused while the cause persists. Force is allowed in ENABLED alone.

/// Operating state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    /// Zero force; parameters and scene may change.
    #[default]
    Disabled,
    /// Forces are rendered (after the ramp).
    Enabled,
    /// Zero force, scene kept alive; resumes without homing.
    Paused,
    /// Zero force until the fault is acknowledged.
    Fault,
}

/// What can happen to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Operator or client asks for forces.
    Enable,
    /// Operator or client ends forces.
    Disable,
    /// Forces off for a moment.
    Pause,
    /// Forces on again.
    Resume,
    /// A latching fault, or `halt`.
    Trip,
    /// The operator has seen the fault.
    Acknowledge,
}

/// Why something asked of the haptic loop was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// It means nothing in this state.
    WrongState(State),
    /// The device has not been homed; forces would be computed from wrong positions.
    NotHomed,
    /// The cause of the fault is still there.
    CausePersists,
    /// A value that is not finite, out of its range, or too much together with the others.
    OutOfRange,
    /// The scene's coupling or the device has no such thing.
    NotApplicable,
    /// The loop is about to end.
    Stopping,
}

impl Refusal {
    /// What is wrong and what to do, in a sentence.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::WrongState(State::Disabled) => "not while DISABLED; enable first",
            Self::WrongState(State::Enabled) => "not while ENABLED; pause or disable first",
            Self::WrongState(State::Paused) => "not while PAUSED; resume or disable first",
            Self::WrongState(State::Fault) => "not while in FAULT; acknowledge the fault first",
            Self::NotHomed => "the device does not know where it is; home it first",
            Self::CausePersists => "the cause of the fault is still there; remove it and hold the handle still",
            Self::OutOfRange => "out of range; take a value in the range given, or lower the others first",
            Self::NotApplicable => "this scene, its coupling or the device has no such thing",
            Self::Stopping => "the haptic loop is about to end",
        }
    }
}

/// Facts the guard conditions need.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// The device knows where it is.
    pub homed: bool,
    /// Whatever tripped the machine is still the case.
    pub cause_persists: bool,
}

impl State {
    /// The state after `event`, or why it stays.
    ///
    /// # Errors
    /// Says which condition refused the event; the state is then unchanged.
    pub fn next(self, event: Event, guard: Guard) -> Result<Self, Refusal> {
        match (self, event) {
            (_, Event::Trip) => Ok(Self::Fault),
            (Self::Fault, Event::Acknowledge) if guard.cause_persists => Err(Refusal::CausePersists),
            (Self::Fault, Event::Acknowledge) => Ok(Self::Disabled),
            (Self::Disabled | Self::Enabled, Event::Enable) | (Self::Paused, Event::Resume) => {
                if guard.homed {
                    Ok(Self::Enabled)
                } else {
                    Err(Refusal::NotHomed)
                }
            }
            (Self::Disabled | Self::Enabled | Self::Paused, Event::Disable) => Ok(Self::Disabled),
            (Self::Enabled | Self::Paused, Event::Pause) => Ok(Self::Paused),
            (state, _) => Err(Refusal::WrongState(state)),
        }
    }

    /// True in the only state that lets force out.
    #[must_use]
    pub fn allows_force(self) -> bool {
        self == Self::Enabled
    }

    /// The state's name as CRTK writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Disabled => "DISABLED",
            Self::Enabled => "ENABLED",
            Self::Paused => "PAUSED",
            Self::Fault => "FAULT",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: [Event; 6] =
        [Event::Enable, Event::Disable, Event::Pause, Event::Resume, Event::Trip, Event::Acknowledge];

    #[test]
    fn no_path_leads_from_fault_to_force_without_acknowledge_and_enable() {
        let free = Guard { homed: true, cause_persists: false };
        for event in EVENTS {
            let state = State::Fault.next(event, free).unwrap_or(State::Fault);
            assert!(!state.allows_force(), "{event:?}");
            assert!(matches!(state, State::Fault | State::Disabled));
        }
    }

    #[test]
    fn an_unhomed_device_never_gets_force() {
        let unhomed = Guard { homed: false, cause_persists: false };
        for state in [State::Disabled, State::Paused, State::Fault] {
            for event in EVENTS {
                assert!(!state.next(event, unhomed).unwrap_or(state).allows_force(), "{state:?} {event:?}");
            }
        }
    }

    #[test]
    fn a_fault_cannot_be_acknowledged_while_its_cause_persists() {
        let held = Guard { homed: true, cause_persists: true };
        assert_eq!(State::Fault.next(Event::Acknowledge, held), Err(Refusal::CausePersists));
    }
}
