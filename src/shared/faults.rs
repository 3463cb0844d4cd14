//! What went wrong in one tick, as bits of that tick.
//!
//! Thread: any (RT safe).

/// A set of conditions met by a tick. Not log lines: data of the tick they happened in, handled there and recorded.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Faults(u32);

macro_rules! faults {
    ($($bit:literal $name:ident $text:literal $(#[doc = $doc:literal])+;)*) => {
        impl Faults {
            $($(#[doc = $doc])+ pub const $name: Self = Self(1 << $bit);)*
            /// Every fault with its name as used in JSON, OSC and reports.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$name, $text)),*];
        }
    };
}

faults! {
    0 OVERRUN "overrun" /// The tick began more than one period late, or others before it were skipped.
        ;
    1 SNAPSHOT_MISSING "snapshot-missing" /// No mechanism has been published yet; no force is rendered.
        ;
    2 SNAPSHOT_STALE "snapshot-stale" /// The newest mechanism is older than the hold time; the force fades to zero.
        ;
    3 SNAPSHOT_INVALID "snapshot-invalid" /// A mechanism with non-finite or inconsistent numbers was refused; the one before it stays.
        ;
    4 SNAPSHOT_OVERFULL "snapshot-overfull" /// The tool has more contacts than a snapshot holds; those farthest from it were left out. Others are condensed.
        ;
    5 DEVICE_SILENT "device-silent" /// No sample from the device in this tick.
        ;
    6 DEVICE_INVALID "device-invalid" /// The device's sample was not finite or jumped beyond belief; it was ignored.
        ;
    7 FORCE_INVALID "force-invalid" /// The computed force was not finite; zero was sent.
        ;
    8 FORCE_LIMITED "force-limited" /// The force was scaled down to the magnitude limit.
        ;
    9 SLEW_LIMITED "slew-limited" /// The force rose more slowly than computed.
        ;
    10 POWER_LIMITED "power-limited" /// The force was scaled down to the power limit.
        ;
    11 PASSIVITY_LIMITED "passivity-limited" /// The force was reduced so that no more energy can leave than came in.
        ;
    12 SPEED_LIMITED "speed-limited" /// The handle was faster than the speed limit and was braked.
        ;
    13 SOLVER_BOUNDED "solver-bounded" /// The local solve used up its iterations or time before it met its tolerance.
        ;
    14 SOLVER_FAILED "solver-failed" /// The local solve gave non-finite numbers; the force of this tick was discarded.
        ;
    15 ACCELERATION_EXCEEDED "acceleration-exceeded" /// The handle accelerated more than its device file allows, so the energy bound of that tick did not hold in advance.
        ;
    16 SIMULATION_DOWN "simulation-down" /// The simulation thread has ended.
        ;
}

impl Faults {
    /// No fault.
    pub const NONE: Self = Self(0);

    /// The same set with `other` added.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Adds `other`.
    pub fn set(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Adds `other` when `condition` holds.
    pub fn set_if(&mut self, other: Self, condition: bool) {
        if condition {
            self.set(other);
        }
    }

    /// True when all of `other` is in the set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True when nothing is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The set as a number, one bit a fault.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The set of the faults with these names; a name that is not known is left out.
    #[must_use]
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let known = |name| Self::ALL.iter().find(|(_, known)| *known == name);
        names.into_iter().filter_map(known).fold(Self::NONE, |set, (fault, _)| set.with(*fault))
    }

    /// Names of what is in the set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().filter(move |(fault, _)| self.contains(*fault)).map(|(_, name)| *name)
    }
}

/// How many ticks met each fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts([u64; Faults::ALL.len()]);

impl FaultCounts {
    /// Counts one tick.
    pub fn add(&mut self, faults: Faults) {
        // Most ticks meet none.
        if faults.is_empty() {
            return;
        }
        for (count, (fault, _)) in self.0.iter_mut().zip(Faults::ALL) {
            *count += u64::from(faults.contains(*fault));
        }
    }

    /// Every fault by name, with its count.
    pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Faults::ALL.iter().map(|(_, name)| *name).zip(self.0)
    }
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_of_a_tick_is_counted_once_under_its_own_name() {
        let mut counts = FaultCounts::default();
        for (index, (fault, _)) in Faults::ALL.iter().enumerate() {
            (0..=index).for_each(|_| counts.add(*fault));
        }
        counts.add(Faults::OVERRUN.with(Faults::SIMULATION_DOWN));
        counts.add(Faults::NONE);
        let last = Faults::ALL.len() - 1;
        for (index, ((name, count), (_, wanted))) in counts.by_name().zip(Faults::ALL).enumerate() {
            let twice = u64::from(index == 0 || index == last);
            assert_eq!((name, count), (*wanted, index as u64 + 1 + twice));
        }
    }

    #[test]
    fn every_fault_has_its_own_bit_and_name() {
        let mut seen = Faults::NONE;
        let mut names = std::collections::BTreeSet::new();
        for (fault, name) in Faults::ALL {
            assert_eq!(fault.bits().count_ones(), 1);
            assert!(!seen.contains(*fault), "{name}");
            seen.set(*fault);
            assert!(names.insert(*name));
        }
        assert_eq!(seen.names().count(), Faults::ALL.len());
        assert_eq!(Faults::from_names(seen.names().chain(["no-such-fault"])), seen);
    }
}
