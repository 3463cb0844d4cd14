//! What makes the machine trip: the causes of a latched fault, and the conditions that trip it when they last.
//!
//! Thread: any (plain data); [`Vigil`] haptic (RT).

use super::Policy;

/// The cause of a latched fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trip {
    /// Too many deadlines missed in a row.
    Deadline,
    /// Force held at its limit for too long.
    ForceLimit,
    /// The energy bound held back nearly all of the force for too long.
    Passivity,
    /// No data from the device, or none that can be believed.
    DeviceLost,
    /// The handle was far beyond its speed limit.
    Speed,
    /// Someone asked for it.
    Halt,
    /// A non-finite force was computed.
    Solver,
    /// The simulation published nothing for too long.
    SimulationDown,
    /// A guardian sent zero force because this process stood still, or a guardian does not watch any more.
    Silenced,
    /// The handle kept accelerating more than its device file allows.
    Acceleration,
    /// The hand has got more energy than it put in.
    Overdrawn,
    /// The control thread stands still: nobody would hear a halt.
    ControlSilent,
}

impl Trip {
    /// Every cause, in the order of their codes.
    pub const ALL: [Self; 12] = [
        Self::Deadline,
        Self::ForceLimit,
        Self::Passivity,
        Self::DeviceLost,
        Self::Speed,
        Self::Halt,
        Self::Solver,
        Self::SimulationDown,
        Self::Silenced,
        Self::Acceleration,
        Self::Overdrawn,
        Self::ControlSilent,
    ];

    /// Short code, for displays and log files.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Deadline => "F01",
            Self::ForceLimit => "F02",
            Self::Passivity => "F03",
            Self::DeviceLost => "F04",
            Self::Speed => "F05",
            Self::Halt => "F06",
            Self::Solver => "F07",
            Self::SimulationDown => "F08",
            // F09 is the fault of a loop that is no more, and so none of the loop's.
            Self::Silenced => "F10",
            Self::Acceleration => "F11",
            Self::Overdrawn => "F12",
            Self::ControlSilent => "F13",
        }
    }

    /// Short name, as used in JSON, OSC and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::ForceLimit => "force-limit",
            Self::Passivity => "passivity",
            Self::DeviceLost => "device-lost",
            Self::Speed => "speed",
            Self::Halt => "halt",
            Self::Solver => "solver",
            Self::SimulationDown => "simulation-down",
            Self::Silenced => "silenced",
            Self::Acceleration => "acceleration",
            Self::Overdrawn => "overdrawn",
            Self::ControlSilent => "control-silent",
        }
    }

    /// What to do.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Deadline => "run `hapticd doctor` and end what else uses the processor",
            Self::ForceLimit => "press less, lower the stiffness, or let the motors cool down",
            Self::Passivity => "lower the stiffness or raise the damping",
            Self::DeviceLost => "check cable and power of the device, then home it",
            Self::Speed => "hold the handle still; is something pushing it?",
            Self::Halt => "see to the reason for the stop first",
            Self::Solver => "load the scene again; if it happens again, make the scene simpler and report it",
            Self::SimulationDown => "load the scene again; see the log for why the simulation stopped",
            Self::Silenced => "run `hapticd doctor`; was the program stopped, or the PC asleep?",
            Self::Acceleration => {
                "check the encoders and their cables; or state the device's true acceleration in its file"
            }
            Self::Overdrawn => {
                "see which of W01, W05 and W13 came with it and remove its cause; else lower the stiffness"
            }
            Self::ControlSilent => "see the log for what held the daemon up; run `hapticd doctor`",
        }
    }
}

/// What one tick saw of the conditions that must not last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sight {
    /// The handle is far beyond its speed limit.
    pub fast: bool,
    /// No mechanism that is fresh enough.
    pub blind: bool,
    /// The force is at its limit.
    pub at_limit: bool,
    /// The energy bound lets nearly nothing of the force through.
    pub starved: bool,
    /// The hand has got more than it put in.
    pub overdrawn: bool,
    /// The handle has accelerated more than it can.
    pub erratic: bool,
}

/// For how long each condition has lasted, s.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Vigil {
    fast_s: f64,
    blind_s: f64,
    at_limit_s: f64,
    starved_s: f64,
    overdrawn_s: f64,
    /// Time in which the handle was erratic, less the time in which it was not.
    erratic_s: f64,
}

impl Vigil {
    /// A tick that saw nothing of the handle and sent no force.
    pub(super) fn interrupt(&mut self) {
        *self = Self { blind_s: self.blind_s, ..Self::default() };
    }

    /// Takes one tick of `elapsed_s` in; gives what has lasted too long.
    pub(super) fn look(&mut self, sight: &Sight, policy: &Policy, elapsed_s: f64) -> Option<Trip> {
        let conditions = [
            (&mut self.fast_s, sight.fast, policy.speed_held_s, Trip::Speed),
            (&mut self.blind_s, sight.blind, policy.simulation_down_s, Trip::SimulationDown),
            (&mut self.at_limit_s, sight.at_limit, policy.force_held_s, Trip::ForceLimit),
            (&mut self.starved_s, sight.starved, policy.passivity_held_s, Trip::Passivity),
            (&mut self.overdrawn_s, sight.overdrawn, policy.overdrawn_held_s, Trip::Overdrawn),
        ];
        let mut trip = None;
        for (lasted_s, holds, most_s, cause) in conditions {
            *lasted_s = if holds { *lasted_s + elapsed_s } else { 0.0 };
            // Half a tick of slack: sums of periods are not round.
            if holds && *lasted_s > most_s + 0.5 * elapsed_s {
                trip = trip.or(Some(cause));
            }
        }
        // Noise exceeds the bound in most ticks, not in all: calm ticks count against it instead of ending it.
        let change_s = if sight.erratic { elapsed_s } else { -elapsed_s };
        self.erratic_s = (self.erratic_s + change_s).max(0.0);
        if self.erratic_s > policy.erratic_held_s + 0.5 * elapsed_s {
            trip = trip.or(Some(Trip::Acceleration));
        }
        trip
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_own_code_and_name() {
        // F09 is the fault of a loop that is no more.
        for (number, trip) in (1..).filter(|number| *number != 9).zip(Trip::ALL) {
            assert_eq!(trip.code(), format!("F{number:02}"));
            assert!(Trip::ALL.iter().filter(|other| other.name() == trip.name()).count() == 1);
            assert!(!trip.remedy().is_empty());
        }
    }

    #[test]
    fn a_condition_trips_when_it_lasts_and_not_when_it_comes_and_goes() {
        let policy = Policy { speed_held_s: 0.05, ..Policy::default() };
        let (fast, calm) = (Sight { fast: true, ..Sight::default() }, Sight::default());
        let mut vigil = Vigil::default();
        for n in 0..1000 {
            let sight = if n % 51 == 50 { &calm } else { &fast };
            assert_eq!(vigil.look(sight, &policy, 1e-3), None, "{n}");
        }
        vigil.look(&calm, &policy, 1e-3);
        let tripped = (1..).find(|_| vigil.look(&fast, &policy, 1e-3) == Some(Trip::Speed));
        assert_eq!(tripped, Some(51));
    }
}
