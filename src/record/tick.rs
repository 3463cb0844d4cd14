//! One tick as a message, and back.
//!
//! Thread: recorder, and whoever reads.

use super::json::{self, Json};
use crate::device::{HandForce, HandSample};
use crate::haptic::{Account, TickInput, TickRecord, Touches, Trip};
use crate::math::{Pose, Vec3};
use crate::shared::lifecycle::State;
use crate::shared::{Faults, MonoNs, Parameter, Parameters, Stamp};
use serde_json::Value;

const STATES: [State; 4] = [State::Disabled, State::Enabled, State::Paused, State::Fault];

/// A parameter by its name in a message.
pub(super) const fn parameter_name(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::Stiffness => "stiffness",
        Parameter::Damping => "damping",
        Parameter::AngularStiffness => "angular_stiffness",
        Parameter::AngularDamping => "angular_damping",
        Parameter::ForceScale => "force_scale",
        Parameter::MotionScale => "motion_scale",
        Parameter::MaxForce => "max_force",
        Parameter::MaxSpeed => "max_speed",
    }
}

/// Writes a tick. `force_n` is the length of `force`, so that it can be plotted as it is; it is not read back.
pub(super) fn write<'a>(record: &TickRecord, json: &'a mut Json) -> &'a [u8] {
    json.restart()
        .count("index", record.index)
        .count("due_ns", record.due.0)
        .count("lateness_ns", record.lateness_ns)
        .count("compute_ns", record.compute_ns)
        .text("state", record.state.name())
        .text("cause", record.cause.map_or("", Trip::name))
        .flag("homed", record.homed)
        .count("buttons", u64::from(record.buttons))
        .list("faults", |json| record.faults.names().for_each(|name| json.word(name)))
        .number("gain", record.gain)
        .pose("pose_device_handle", &record.pose_device_handle)
        .vector("velocity", &record.velocity)
        .pose("pose_world_handle", &record.pose_world_handle)
        .pose("pose_world_tool", &record.pose_world_tool)
        .number("force_n", record.force.force.norm())
        .vector("force", &record.force.force)
        .vector("torque", &record.force.torque)
        .vector("wanted_force", &record.wanted.force)
        .vector("wanted_torque", &record.wanted.torque)
        .count("contacts", u64::from(record.contacts))
        .number("penetration_m", record.penetration_m)
        .count("iterations", u64::from(record.iterations))
        .number("residual", record.residual)
        .count("snapshot_age_ns", record.snapshot_age_ns)
        .number("reserve_j", record.account.reserve_j)
        .number("balance_j", record.account.balance_j)
        .number("balance_min_j", record.account.balance_min_j)
        .number("taken_j", record.account.taken_j)
        .number("given_j", record.account.given_j)
        .object("parameters", |json| {
            for parameter in Parameter::ALL {
                json.number(parameter_name(parameter), record.parameters.get(parameter));
            }
        })
        .object("input", |json| write_input(record, json));
    json.done()
}

/// Writes what a tick depended on; what is as usual is left out.
fn write_input(record: &TickRecord, json: &mut Json) {
    let input = &record.input;
    json.count("skipped", input.skipped).count("snapshot", input.snapshot);
    if let Some(sample) = &input.sample {
        json.count("at_ns", sample.stamp.at.0);
        if !is_as_recorded(sample, record) {
            json.pose("pose", &sample.pose_device_handle);
            json.flag("homed", sample.homed).count("buttons", u64::from(sample.buttons));
        }
    }
    if input.weight != HandForce::zero() {
        json.vector("weight_force", &input.weight.force).vector("weight_torque", &input.weight.torque);
    }
    if let Some(trip) = input.trip {
        json.text("trip", trip.name());
    }
    for (name, flag) in [("retiring", input.retiring), ("unheard", input.unheard)] {
        if flag {
            json.flag(name, true);
        }
    }
    if let Some(looks) = input.cut_after {
        json.count("cut_after", u64::from(looks));
    }
}

/// True when the tick shows the sample as it was, to the bit.
fn is_as_recorded(sample: &HandSample, record: &TickRecord) -> bool {
    let numbers = |pose: &Pose| {
        let all = pose.translation.vector.iter().chain(pose.rotation.coords.iter());
        all.map(|number| number.to_bits()).collect::<Vec<_>>()
    };
    numbers(&sample.pose_device_handle) == numbers(&record.pose_device_handle)
        && (sample.homed, sample.buttons) == (record.homed, record.buttons)
}

/// Reads what a tick depended on; recordings of before do not have it.
fn read_input(v: &Value, record: &TickRecord) -> Option<TickInput> {
    let Some(v) = v.get("input") else { return Some(TickInput::default()) };
    let sample = match (json::count(v, "at_ns"), v.get("pose")) {
        (None, _) => None,
        (Some(at), pose) => Some(HandSample {
            stamp: Stamp { sequence: record.index, at: MonoNs(at) },
            pose_device_handle: pose.map_or(Some(record.pose_device_handle), |_| json::pose(v, "pose"))?,
            buttons: pose.map_or(Some(record.buttons), |_| json::small(v, "buttons"))?,
            homed: pose.map_or(Some(record.homed), |_| v.get("homed")?.as_bool())?,
        }),
    };
    let weight = match v.get("weight_force") {
        None => HandForce::zero(),
        Some(_) => HandForce { force: json::vector(v, "weight_force")?, torque: json::vector(v, "weight_torque")? },
    };
    let is_set = |name: &str| v.get(name).and_then(Value::as_bool).unwrap_or_default();
    Some(TickInput {
        sample,
        weight,
        skipped: json::count(v, "skipped")?,
        snapshot: json::count(v, "snapshot")?,
        trip: json::text(v, "trip").and_then(|name| Trip::ALL.into_iter().find(|known| known.name() == name)),
        retiring: is_set("retiring"),
        unheard: is_set("unheard"),
        cut_after: json::small(v, "cut_after"),
    })
}

/// Reads a tick; `None` when something is missing or of the wrong kind.
pub(super) fn read(text: &[u8]) -> Option<TickRecord> {
    let value: Value = serde_json::from_slice(text).ok()?;
    let v = &value;
    let state = json::text(v, "state")?;
    let cause = json::text(v, "cause")?;
    let mut parameters = Parameters::default();
    for parameter in Parameter::ALL {
        parameters.set(parameter, json::number(v.get("parameters")?, parameter_name(parameter))?);
    }
    let hand = |force: Vec3, torque: Vec3| HandForce { force, torque };
    let mut record = TickRecord {
        index: json::count(v, "index")?,
        due: MonoNs(json::count(v, "due_ns")?),
        lateness_ns: json::count(v, "lateness_ns")?,
        compute_ns: json::count(v, "compute_ns")?,
        faults: Faults::from_names(v.get("faults")?.as_array()?.iter().filter_map(Value::as_str)),
        state: STATES.into_iter().find(|known| known.name() == state)?,
        cause: Trip::ALL.into_iter().find(|known| known.name() == cause),
        homed: v.get("homed")?.as_bool()?,
        buttons: json::small(v, "buttons")?,
        gain: json::number(v, "gain")?,
        pose_device_handle: json::pose(v, "pose_device_handle")?,
        velocity: json::vector(v, "velocity")?,
        pose_world_handle: json::pose(v, "pose_world_handle")?,
        pose_world_tool: json::pose(v, "pose_world_tool")?,
        force: hand(json::vector(v, "force")?, json::vector(v, "torque")?),
        wanted: hand(json::vector(v, "wanted_force")?, json::vector(v, "wanted_torque")?),
        contacts: json::small(v, "contacts")?,
        touches: Touches::NONE,
        penetration_m: json::number(v, "penetration_m")?,
        iterations: json::small(v, "iterations")?,
        residual: json::number(v, "residual")?,
        snapshot_age_ns: json::count(v, "snapshot_age_ns")?,
        account: Account {
            reserve_j: json::number(v, "reserve_j")?,
            balance_j: json::number(v, "balance_j")?,
            balance_min_j: json::number(v, "balance_min_j")?,
            taken_j: json::number(v, "taken_j")?,
            given_j: json::number(v, "given_j")?,
        },
        parameters,
        input: TickInput::default(),
    };
    record.input = read_input(v, &record)?;
    Some(record)
}

/// What of two ticks differs in a single bit, in words; `None` when nothing does. What they depended on is not compared.
#[must_use]
pub fn difference(one: &TickRecord, other: &TickRecord) -> Option<String> {
    let (mut a, mut b) = (Json::default(), Json::default());
    let bare = |record: &TickRecord| TickRecord { input: TickInput::default(), ..*record };
    let (a, b) = (write(&bare(one), &mut a), write(&bare(other), &mut b));
    if a == b {
        return None;
    }
    // Equal numbers have equal texts and only they, so that the first text that differs names what does.
    let [a, b] = [a, b].map(|text| serde_json::from_slice::<Value>(text).unwrap_or_default());
    let fields = a.as_object().into_iter().flatten();
    let found =
        fields.filter_map(|(key, value)| Some((key, value, b.get(key)?))).find(|(_, value, again)| value != again);
    Some(
        found.map_or_else(
            || "the sign of a zero".into(),
            |(key, value, again)| format!("{key} was {value}, now {again}"),
        ),
    )
}
