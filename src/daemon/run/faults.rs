//! The book of faults: latched ones with their cause and remedy, and conditions worth knowing that need no answer.
//!
//! Thread: control.
//!
//! A condition that lasts, or comes back within [`QUIET_S`], is one entry: a list that grows every tick is read by nobody.

use crate::control::plant::{FaultEntry, Priority};
use crate::haptic::TickRecord;
use crate::record::RecordError;
use crate::shared::{Faults, MonoNs, NS_PER_S};

/// A condition must have been absent this long before it makes a new entry, s.
const QUIET_S: f64 = 5.0;
/// Most entries kept, besides latched faults that wait to be acknowledged.
const KEPT: usize = 64;

/// What is known of a latched fault when it happens.
#[derive(Clone, Debug)]
pub(super) struct Latch {
    /// Short code.
    pub(super) code: &'static str,
    /// Short name.
    pub(super) name: &'static str,
    /// What happened, with figures.
    pub(super) cause: String,
    /// What to do.
    pub(super) remedy: &'static str,
}

/// A bit of a tick that people should hear of, though it needs no answer.
pub struct Notice {
    /// The bit.
    pub bit: Faults,
    /// Short code.
    pub code: &'static str,
    /// How urgent.
    pub priority: Priority,
    /// What it means and what to do.
    pub remedy: &'static str,
    cause: fn(&TickRecord) -> String,
}

/// Conditions that are listed, most urgent first. Those of every start and of every firm contact are not among them.
pub const NOTICES: &[Notice] = &[
    Notice {
        bit: Faults::DEVICE_SILENT,
        code: "W01",
        priority: Priority::Medium,
        remedy: "Check cable and power of the device.",
        cause: |_| "The device gave no sample in a tick; no force was sent.".into(),
    },
    Notice {
        bit: Faults::DEVICE_INVALID,
        code: "W02",
        priority: Priority::Medium,
        remedy: "If it comes back, look at the encoders and their cables, and home the device.",
        cause: |_| "A sample of the device was not believable and was ignored.".into(),
    },
    Notice {
        bit: Faults::SNAPSHOT_STALE,
        code: "W03",
        priority: Priority::Medium,
        remedy: "The simulation is too slow or stands still: simplify the scene or lower its rate.",
        cause: |tick| {
            let age_ms = tick.snapshot_age_ns as f64 * 1e-6;
            format!("The simulation's last word is {age_ms:.0} ms old; the force fades.")
        },
    },
    Notice {
        bit: Faults::SNAPSHOT_INVALID,
        code: "W04",
        priority: Priority::Medium,
        remedy: "The scene may be more than the simulation can solve: look for extreme masses or sizes.",
        cause: |_| "The simulation published a mechanism with impossible numbers; the one before it stays.".into(),
    },
    Notice {
        bit: Faults::ACCELERATION_EXCEEDED,
        code: "W13",
        priority: Priority::Medium,
        remedy: "If it comes back, check the encoders, or state the device's true acceleration in its file.",
        cause: |tick| {
            let reserve_j = tick.account.reserve_j;
            format!(
                "The handle accelerated more than its device file allows; {reserve_j:.4} J of the energy account are left."
            )
        },
    },
    Notice {
        bit: Faults::OVERRUN,
        code: "W05",
        priority: Priority::Low,
        remedy: "Run `hapticd doctor`.",
        cause: |tick| format!("A tick began {:.2} ms late.", tick.lateness_ns as f64 * 1e-6),
    },
    Notice {
        bit: Faults::SNAPSHOT_OVERFULL,
        code: "W06",
        priority: Priority::Low,
        remedy: "Use simpler shapes where many touch at once.",
        cause: |_| "More contacts than fit; those least likely to touch were left out.".into(),
    },
    Notice {
        bit: Faults::SOLVER_BOUNDED,
        code: "W07",
        priority: Priority::Low,
        remedy: "If contact feels soft, use simpler shapes or a faster PC.",
        cause: |tick| {
            let (sweeps, residual) = (tick.iterations, tick.residual);
            format!("The contact solve was cut short after {sweeps} sweeps at a residual of {residual:.1e}.")
        },
    },
    Notice {
        bit: Faults::FORCE_LIMITED,
        code: "W08",
        priority: Priority::Low,
        remedy: "Press less hard, or lower the stiffness.",
        cause: |tick| {
            let (wanted, sent) = (tick.wanted.force.norm(), tick.force.force.norm());
            format!("{wanted:.1} N were computed, {sent:.1} N are allowed.")
        },
    },
    Notice {
        bit: Faults::POWER_LIMITED,
        code: "W09",
        priority: Priority::Low,
        remedy: "Move more slowly, or lower the stiffness.",
        cause: |tick| format!("The force was reduced to the power limit at {:.2} m/s.", tick.velocity.norm()),
    },
    Notice {
        bit: Faults::PASSIVITY_LIMITED,
        code: "W10",
        priority: Priority::Low,
        remedy: "If it is felt, lower the stiffness or raise the damping.",
        cause: |tick| {
            format!("The force was reduced to what the hand had put in; {:.4} J are left.", tick.account.reserve_j)
        },
    },
    Notice {
        bit: Faults::SPEED_LIMITED,
        code: "W11",
        priority: Priority::Low,
        remedy: "Move more slowly.",
        cause: |tick| format!("The handle was braked at {:.2} m/s.", tick.velocity.norm()),
    },
];

/// Code, name and remedy of what no tick knows: a recording that ended by itself.
pub(super) const RECORDING_ENDED: (&str, &str, &str) =
    ("W12", "recording-ended", "Make room or choose another place, and begin another recording.");

/// See the file's head.
pub(super) struct FaultBook {
    entries: Vec<FaultEntry>,
    next_id: u32,
    seen: [Option<MonoNs>; NOTICES.len()],
}

impl FaultBook {
    /// An empty book.
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), next_id: 1, seen: [None; NOTICES.len()] }
    }

    /// All entries, oldest first.
    pub(super) fn entries(&self) -> &[FaultEntry] {
        &self.entries
    }

    /// Latched faults that wait to be acknowledged.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &FaultEntry> {
        self.entries.iter().filter(|entry| waits(entry))
    }

    /// Writes down a latched fault.
    pub(super) fn latch(&mut self, latch: Latch, at: MonoNs) -> FaultEntry {
        let Latch { code, name, cause, remedy } = latch;
        self.add(FaultEntry { code, name, cause, remedy, latched: true, at, ..blank() })
    }

    /// Writes down that a recording ended by itself; the loop did not notice.
    pub(super) fn recording_ended(&mut self, why: &RecordError, at: MonoNs) -> FaultEntry {
        let cause = why.to_string();
        let (code, name, remedy) = RECORDING_ENDED;
        self.add(FaultEntry { code, name, priority: Priority::Medium, cause, remedy, at, ..blank() })
    }

    /// Looks at the bits of a tick; gives the entries they make, which are few.
    pub(super) fn notice(&mut self, tick: &TickRecord) -> Vec<FaultEntry> {
        let mut made = Vec::new();
        if tick.faults.is_empty() {
            return made;
        }
        for (index, notice) in NOTICES.iter().enumerate() {
            if !tick.faults.contains(notice.bit) {
                continue;
            }
            let quiet_ns = (QUIET_S * NS_PER_S as f64) as u64;
            let is_new = self.seen[index].is_none_or(|last| tick.due.since(last) > quiet_ns);
            self.seen[index] = Some(tick.due);
            if is_new {
                let name = notice.bit.names().next().unwrap_or_default();
                made.push(self.add(FaultEntry {
                    code: notice.code,
                    name,
                    priority: notice.priority,
                    cause: (notice.cause)(tick),
                    remedy: notice.remedy,
                    at: tick.due,
                    ..blank()
                }));
            }
        }
        made
    }

    /// Marks a fault as acknowledged.
    pub(super) fn acknowledge(&mut self, id: u32) -> Option<FaultEntry> {
        self.change(id, |entry| entry.acknowledged = true)
    }

    /// Notes where the data of a fault lies.
    pub(super) fn attach(&mut self, id: u32, data: String) -> Option<FaultEntry> {
        self.change(id, |entry| entry.data = Some(data))
    }

    fn change(&mut self, id: u32, change: impl FnOnce(&mut FaultEntry)) -> Option<FaultEntry> {
        let entry = self.entries.iter_mut().find(|entry| entry.id == id)?;
        change(entry);
        Some(entry.clone())
    }

    fn add(&mut self, mut entry: FaultEntry) -> FaultEntry {
        entry.id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        self.entries.push(entry.clone());
        let surplus = self.entries.iter().filter(|entry| !waits(entry)).count().saturating_sub(KEPT);
        let mut left = surplus;
        self.entries.retain(|entry| {
            let goes = left > 0 && !waits(entry);
            left -= usize::from(goes);
            !goes
        });
        entry
    }
}

fn waits(entry: &FaultEntry) -> bool {
    entry.latched && !entry.acknowledged
}

fn blank() -> FaultEntry {
    FaultEntry {
        id: 0,
        code: "",
        name: "",
        priority: Priority::High,
        latched: false,
        acknowledged: false,
        at: MonoNs(0),
        cause: String::new(),
        remedy: "",
        data: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Pose;

    fn tick(at_ms: u64, faults: Faults) -> TickRecord {
        TickRecord { due: MonoNs(at_ms * 1_000_000), faults, ..TickRecord::empty(Pose::identity()) }
    }

    fn latch() -> Latch {
        Latch { code: "F06", name: "halt", cause: String::new(), remedy: "" }
    }

    #[test]
    fn a_condition_that_lasts_is_one_entry_and_one_that_comes_back_later_another() {
        let mut book = FaultBook::new();
        for ms in 0..20_000 {
            book.notice(&tick(ms, Faults::OVERRUN));
        }
        assert_eq!(book.entries().len(), 1);
        for ms in 20_000..24_999 {
            book.notice(&tick(ms, Faults::NONE));
        }
        assert!(book.notice(&tick(24_999, Faults::OVERRUN)).is_empty());
        assert_eq!(book.notice(&tick(30_000, Faults::OVERRUN.with(Faults::FORCE_LIMITED))).len(), 2);
        let entry = &book.entries()[1];
        assert_eq!((entry.id, entry.name, entry.latched), (2, "overrun", false));
        assert_eq!(book.waiting().count(), 0);
        // What happens at every start and in every firm contact is no news.
        assert!(book.notice(&tick(0, Faults::SNAPSHOT_MISSING.with(Faults::SLEW_LIMITED))).is_empty());
    }

    #[test]
    fn the_book_is_bounded_and_never_forgets_what_waits() {
        let mut book = FaultBook::new();
        let first = book.latch(latch(), MonoNs(0)).id;
        for round in 0..200 {
            book.notice(&tick(round * 6_000, Faults::OVERRUN));
        }
        assert_eq!(book.entries().len(), KEPT + 1);
        assert_eq!(book.waiting().map(|entry| entry.id).collect::<Vec<_>>(), [first]);
        assert!(book.acknowledge(first).is_some_and(|entry| entry.acknowledged));
        assert_eq!((book.waiting().count(), book.acknowledge(9999)), (0, None));
        book.notice(&tick(10_000_000, Faults::OVERRUN));
        assert_eq!(book.entries().len(), KEPT);
        assert!(book.attach(first, "x.csv".into()).is_none(), "it has been forgotten since");
    }

    #[test]
    fn every_notice_has_its_own_code_and_a_name() {
        let codes: std::collections::BTreeSet<_> = NOTICES.iter().map(|notice| notice.code).collect();
        assert_eq!(codes.len(), NOTICES.len());
        assert!(NOTICES.iter().all(|notice| notice.bit.names().count() == 1 && !notice.remedy.is_empty()));
    }
}
