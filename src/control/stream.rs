//! Streams: what a subscriber is sent again and again.
//!
//! Thread: control.

use super::osc::Sent;
use super::plant::{Plant, TaskState};
use crate::haptic::TickRecord;
use crate::math::Vec3;
use crate::shared::{MonoNs, NS_PER_S};

/// Slowest stream, Hz.
pub(super) const SLOWEST_HZ: f64 = 0.1;
/// Fastest stream, Hz.
pub(super) const FASTEST_HZ: f64 = 1000.0;

/// What can be subscribed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// Pose of the handle.
    MeasuredCp,
    /// Velocity of the handle.
    MeasuredCv,
    /// Force sent to the device.
    ServoCf,
    /// Contacts.
    Contact,
    /// The ledger at the hand.
    Energy,
    /// The tick's own time.
    Timing,
    /// Progress of the task.
    Task,
}

impl Stream {
    /// Every stream.
    pub const ALL: [Self; 7] =
        [Self::MeasuredCp, Self::MeasuredCv, Self::ServoCf, Self::Contact, Self::Energy, Self::Timing, Self::Task];

    /// Its last word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MeasuredCp => "measured_cp",
            Self::MeasuredCv => "measured_cv",
            Self::ServoCf => "servo_cf",
            Self::Contact => "contact",
            Self::Energy => "energy",
            Self::Timing => "timing",
            Self::Task => "task",
        }
    }

    /// The stream of this name or address.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let word = name.strip_prefix("/hapticd/stream/").unwrap_or(name);
        Self::ALL.into_iter().find(|stream| stream.name() == word)
    }

    /// One sample; `None` before the first tick.
    #[must_use]
    pub fn sample(self, sequence: i32, now: MonoNs, plant: &dyn Plant) -> Option<Vec<Sent>> {
        if self == Self::Task {
            let mut fields = stamp(sequence, now);
            fields.extend(task(&plant.task()));
            return Some(fields);
        }
        let record = plant.newest()?;
        let mut fields = stamp(sequence, record.due);
        fields.extend(self.of_tick(record));
        Some(fields)
    }

    fn of_tick(self, record: &TickRecord) -> Vec<Sent> {
        match self {
            Self::MeasuredCp => {
                let pose = &record.pose_device_handle;
                let mut fields = vector(&pose.translation.vector);
                fields.extend(pose.rotation.coords.iter().map(|&number| Sent::from(number)));
                fields
            }
            Self::MeasuredCv => vector(&record.velocity),
            Self::ServoCf => [vector(&record.force.force), vector(&record.force.torque)].concat(),
            Self::Contact => {
                let mut fields = vec![Sent::count(record.contacts.into()), record.penetration_m.into()];
                fields.extend(vector(&record.pose_world_tool.translation.vector));
                fields
            }
            Self::Energy => {
                let account = &record.account;
                [account.reserve_j, account.balance_j, account.balance_min_j, account.taken_j, account.given_j]
                    .map(Sent::from)
                    .to_vec()
            }
            Self::Timing => vec![
                microseconds(record.lateness_ns),
                microseconds(record.compute_ns),
                microseconds(record.snapshot_age_ns),
                Sent::count(record.iterations.into()),
                Sent::count(record.faults.bits().into()),
            ],
            Self::Task => Vec::new(),
        }
    }
}

/// Fields of the progress of a task, as event and stream carry them.
pub(super) fn task(task: &TaskState) -> Vec<Sent> {
    vec![
        task.phase.as_str().into(),
        Sent::count(task.goals_met.into()),
        Sent::count(task.goals.into()),
        task.success.into(),
        task.time_s.into(),
    ]
}

/// A time as two whole numbers: single precision would lose milliseconds within hours.
pub(super) fn time(at: MonoNs) -> [Sent; 2] {
    [Sent::count(at.0 / NS_PER_S), Sent::count(at.0 % NS_PER_S)]
}

fn stamp(sequence: i32, at: MonoNs) -> Vec<Sent> {
    let [seconds, nanoseconds] = time(at);
    vec![sequence.into(), seconds, nanoseconds]
}

fn vector(vector: &Vec3) -> Vec<Sent> {
    vector.iter().map(|&number| number.into()).collect()
}

fn microseconds(ns: u64) -> Sent {
    (ns as f64 / 1e3).into()
}
