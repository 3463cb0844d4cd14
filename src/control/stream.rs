//! Streams: what a subscriber is sent again and again.
//!
//! Thread: control.

use super::osc::Sent;
use super::plant::{Plant, Sight, TaskState};
use super::trail::{Step, Trail};
use crate::haptic::TickRecord;
use crate::math::{Pose, Vec3};
use crate::shared::{MonoNs, NS_PER_S};

/// Slowest stream, Hz.
pub(super) const SLOWEST_HZ: f64 = 0.1;
/// Fastest stream, Hz.
pub(super) const FASTEST_HZ: f64 = 1000.0;

/// Most ticks of a packet: with 32 bytes each and 44 around them, what a datagram holds.
const TICKS_A_PACKET: usize = 44;

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
    /// What a screen shows.
    Scene,
    /// Every tick.
    Ticks,
}

impl Stream {
    /// Every stream.
    pub const ALL: [Self; 9] = [
        Self::MeasuredCp,
        Self::MeasuredCv,
        Self::ServoCf,
        Self::Contact,
        Self::Energy,
        Self::Timing,
        Self::Task,
        Self::Scene,
        Self::Ticks,
    ];

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
            Self::Scene => "scene",
            Self::Ticks => "ticks",
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
        if self == Self::Ticks {
            let trail = plant.trail();
            return ticks(trail, trail.end().saturating_sub(1)).0.pop();
        }
        let record = plant.newest()?;
        let mut fields = stamp(sequence, record.due);
        if self == Self::Scene {
            fields.push(picture(record, &plant.sight()));
        }
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
            Self::Task | Self::Scene | Self::Ticks => Vec::new(),
        }
    }
}

/// Every tick from a place of the trail on, in as many packets as it takes, and how many before them are gone. The ticks of
/// a packet follow each other.
pub(super) fn ticks(trail: &Trail, place: u64) -> (Vec<Vec<Sent>>, u64) {
    let (steps, lost) = trail.since(place);
    let steps: Vec<&Step> = steps.collect();
    let runs = steps.chunk_by(|before, after| after.index == before.index + 1);
    let packet = |run: &[&Step]| {
        // A client's numbers have 31 bits: the count begins anew after some weeks.
        let first = i32::try_from(run[0].index & 0x7fff_ffff).unwrap_or_default();
        let numbers = run.iter().flat_map(|step| step.values);
        vec![first.into(), Sent::count(run.len() as u64), blob(numbers)]
    };
    (runs.flat_map(|run| run.chunks(TICKS_A_PACKET)).map(packet).collect(), lost)
}

/// What a screen shows of this tick, in the order of the table.
fn picture(record: &TickRecord, sight: &Sight<'_>) -> Sent {
    let mut numbers: Vec<f64> = Vec::with_capacity(256);
    push_pose(&mut numbers, &record.pose_world_tool);
    push_pose(&mut numbers, &record.pose_world_handle);
    numbers.extend(sight.force.iter());
    let touches = sight.touches.all();
    numbers.push(touches.len() as f64);
    touches.iter().for_each(|touch| numbers.extend(touch.point.iter().chain(touch.force.iter())));
    let bodies = &sight.scene.bodies[..sight.scene.body_count];
    let seen = || bodies.iter().chain(&sight.scene.other_tool);
    numbers.push(seen().count() as f64);
    seen().for_each(|pose| push_pose(&mut numbers, pose));
    blob(numbers.into_iter().map(|number| number as f32))
}

fn push_pose(numbers: &mut Vec<f64>, pose: &Pose) {
    numbers.extend(pose.translation.vector.iter().chain(pose.rotation.coords.iter()));
}

fn blob(numbers: impl Iterator<Item = f32>) -> Sent {
    Sent::Blob(numbers.flat_map(f32::to_le_bytes).collect())
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
