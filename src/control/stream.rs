//! Streams: what a subscriber is sent again and again.
//!
//! Thread: control.

use super::osc::Sent;
use super::plant::{Plant, Sight, TaskState};
use super::trail::{Step, Trail};
use crate::haptic::{TickRecord, Touches};
use crate::math::{Pose, Vec3};
use crate::shared::{MonoNs, NS_PER_S, Skin, SkinFrame};

/// Slowest stream, Hz.
pub(super) const SLOWEST_HZ: f64 = 0.1;
/// Fastest stream, Hz.
pub(super) const FASTEST_HZ: f64 = 1000.0;

/// Most ticks of a packet: with 32 bytes each and 44 around them, what a datagram holds.
const TICKS_A_PACKET: usize = 44;
/// Most points of a skin in a packet: 32 KiB, half of the largest datagram.
const POINTS_A_PACKET: usize = 2048;

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
    /// Points of bodies that deform.
    Skin,
    /// Path of a needle.
    Path,
}

impl Stream {
    /// Every stream.
    pub const ALL: [Self; 11] = [
        Self::MeasuredCp,
        Self::MeasuredCv,
        Self::ServoCf,
        Self::Contact,
        Self::Energy,
        Self::Timing,
        Self::Task,
        Self::Scene,
        Self::Ticks,
        Self::Skin,
        Self::Path,
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
            Self::Skin => "skin",
            Self::Path => "path",
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
        if self.is_of_skins() {
            return self.of_skins(sequence, plant.sight().skin).into_iter().next();
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
            Self::Task | Self::Scene | Self::Ticks | Self::Skin | Self::Path => Vec::new(),
        }
    }

    /// True of the streams that bring a frame of the skins when there is a new one, in several packets.
    pub(super) fn is_of_skins(self) -> bool {
        matches!(self, Self::Skin | Self::Path)
    }

    /// A frame of the skins; nothing before the first.
    pub(super) fn of_skins(self, sequence: i32, frame: &SkinFrame) -> Vec<Vec<Sent>> {
        if frame.stamp.sequence == 0 {
            return Vec::new();
        }
        let stamp = stamp(sequence, frame.stamp.at);
        if self == Self::Path {
            let numbers = frame.path.iter().flatten().copied();
            return vec![[stamp, vec![blob(numbers)]].concat()];
        }
        let all = frame.skins.iter().enumerate();
        all.flat_map(|(number, skin)| skin_packets(number, skin, &stamp)).collect()
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

/// The points of a skin, in as many packets as it takes.
fn skin_packets(number: usize, skin: &Skin, stamp: &[Sent]) -> Vec<Vec<Sent>> {
    let whole = skin.points.len().min(skin.stress_pa.len());
    let points: Vec<(&[f32; 3], &f32)> = skin.points.iter().zip(&skin.stress_pa).collect();
    let packet = |(place, part): (usize, &[(&[f32; 3], &f32)])| {
        let numbers = part.iter().flat_map(|(point, stress)| [point[0], point[1], point[2], **stress]);
        let mut fields = stamp.to_vec();
        let counts = [number, place * POINTS_A_PACKET, whole];
        fields.extend(counts.map(|count| Sent::count(count as u64)));
        fields.push(blob(numbers));
        fields
    };
    points.chunks(POINTS_A_PACKET).enumerate().map(packet).collect()
}

/// What a screen shows of this tick, in the order of the table.
fn picture(record: &TickRecord, sight: &Sight<'_>) -> Sent {
    let mut numbers: Vec<f64> = Vec::with_capacity(256);
    push_pose(&mut numbers, &record.pose_world_tool);
    push_pose(&mut numbers, &record.pose_world_handle);
    numbers.extend(sight.force.iter());
    push_touches(&mut numbers, &record.touches);
    let bodies = &sight.scene.bodies[..sight.scene.body_count];
    let seen = || bodies.iter().chain(&sight.scene.other_tool);
    numbers.push(seen().count() as f64);
    seen().for_each(|pose| push_pose(&mut numbers, pose));
    if let Some(second) = &sight.second {
        numbers.extend(second.force.iter());
        push_touches(&mut numbers, second.touches);
    }
    blob(numbers.into_iter().map(|number| number as f32))
}

fn push_touches(numbers: &mut Vec<f64>, touches: &Touches) {
    numbers.push(touches.all().len() as f64);
    for touch in touches.all() {
        numbers.extend(touch.point.iter().chain(&touch.force).map(|number| f64::from(*number)));
    }
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
