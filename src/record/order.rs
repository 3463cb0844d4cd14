//! What goes beside the ticks, as messages and back: orders, steps of the simulation, contacts.
//!
//! Thread: recorder, and whoever reads.

use super::json::{self, Json};
use super::tick::parameter_name;
use crate::haptic::{Touch, Touches};
use crate::math::Vec3;
use crate::shared::lifecycle::Event;
use crate::shared::{Change, MonoNs, Order, Parameter, StepInput};
use serde_json::Value;

const EVENTS: [(Event, &str); 6] = [
    (Event::Enable, "enable"),
    (Event::Disable, "disable"),
    (Event::Pause, "pause"),
    (Event::Resume, "resume"),
    (Event::Trip, "trip"),
    (Event::Acknowledge, "acknowledge"),
];

/// Writes an order that was carried out or refused at a tick.
pub(super) fn write(tick: u64, order: &Order, json: &mut Json) {
    json.restart().count("tick", tick).count("sequence", order.sequence).list("changes", |json| {
        for change in order.changes() {
            json.element(|json| write_change(change, json));
        }
    });
    json.done();
}

fn write_change(change: &Change, json: &mut Json) {
    match change {
        Change::Event(event) => {
            let name = EVENTS.iter().find(|(known, _)| known == event).map_or("", |(_, name)| name);
            json.text("event", name);
        }
        Change::Set(parameter, value) => {
            json.text("set", parameter_name(*parameter)).number("value", *value);
        }
        Change::Force { force, torque, until } => {
            json.vector("force", &Vec3::from(*force)).vector("torque", &Vec3::from(*torque));
            json.count("until_ns", until.0);
        }
        Change::Turn { rate, until } => {
            json.number("turn", *rate).count("until_ns", until.0);
        }
    }
}

/// Reads an order: the tick, and what was to be done.
pub(super) fn read(v: &Value) -> Option<(u64, Order)> {
    let changes: Option<Vec<Change>> = v.get("changes")?.as_array()?.iter().map(read_change).collect();
    Some((json::count(v, "tick")?, Order::new(json::count(v, "sequence")?, &changes?)?))
}

fn read_change(v: &Value) -> Option<Change> {
    if let Some(name) = json::text(v, "event") {
        return EVENTS.iter().find(|(_, known)| *known == name).map(|(event, _)| Change::Event(*event));
    }
    if let Some(name) = json::text(v, "set") {
        let parameter = Parameter::ALL.into_iter().find(|known| parameter_name(*known) == name)?;
        return Some(Change::Set(parameter, json::number(v, "value")?));
    }
    let until = MonoNs(json::count(v, "until_ns")?);
    if let Some(rate) = json::number(v, "turn") {
        return Some(Change::Turn { rate, until });
    }
    let (force, torque) = (json::vector(v, "force")?.into(), json::vector(v, "torque")?.into());
    Some(Change::Force { force, torque, until })
}

/// Writes a step.
pub(super) fn write_step(step: &StepInput, json: &mut Json) {
    json.restart().count("sequence", step.sequence).count("began_ns", step.began.0);
    json.count("tool", step.tool).count("second_tool", step.second_tool);
    json.count("materials", step.materials).count("took_ns", step.took_ns).done();
}

/// Reads a step.
pub(super) fn read_step(v: &Value) -> Option<StepInput> {
    Some(StepInput {
        sequence: json::count(v, "sequence")?,
        began: MonoNs(json::count(v, "began_ns")?),
        tool: json::count(v, "tool")?,
        second_tool: json::count(v, "second_tool").unwrap_or_default(),
        materials: json::count(v, "materials")?,
        took_ns: json::count(v, "took_ns").unwrap_or_default(),
    })
}

/// Writes where the tool touches the scene.
pub(super) fn write_touches(due: MonoNs, touches: &Touches, json: &mut Json) {
    json.restart().count("due_ns", due.0).list("contacts", |json| {
        for touch in touches.all() {
            json.element(|json| {
                json.short_vector("point", &touch.point).short_vector("force", &touch.force);
            });
        }
    });
    json.done();
}

/// Reads where the tool touches the scene, and when.
pub(super) fn read_touches(v: &Value) -> Option<(MonoNs, Touches)> {
    let mut touches = Touches::NONE;
    for contact in v.get("contacts")?.as_array()? {
        touches.add(Touch::new(&json::vector(contact, "point")?, &json::vector(contact, "force")?));
    }
    Some((MonoNs(json::count(v, "due_ns")?), touches))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_steps_and_contacts_come_back_as_they_were() {
        let force = Change::Force { force: [0.1, -0.0, 1e-300], torque: [1.0, 2.0, 3.0], until: MonoNs(u64::MAX / 3) };
        let turn = Change::Turn { rate: -0.7, until: MonoNs(3) };
        let changes = [Change::Event(Event::Resume), Change::Set(Parameter::MotionScale, 0.3), force, turn];
        let order = Order::new(7, &changes).expect("it fits");
        let mut json = Json::default();
        write(41, &order, &mut json);
        let value: Value = serde_json::from_slice(json.text_so_far()).expect("it is JSON");
        assert_eq!(read(&value), Some((41, order)));
        let step = StepInput { sequence: 1, began: MonoNs(2), tool: 3, second_tool: 2, materials: 4, took_ns: 5 };
        write_step(&step, &mut json);
        let value: Value = serde_json::from_slice(json.text_so_far()).expect("it is JSON");
        assert_eq!(read_step(&value), Some(step));
        let mut touches = Touches::NONE;
        touches.add(Touch { point: [0.1, -0.0, 1e-30], force: [f32::MAX, 1.0 / 3.0, f32::NEG_INFINITY] });
        write_touches(MonoNs(5), &touches, &mut json);
        let value: Value = serde_json::from_slice(json.text_so_far()).expect("it is JSON");
        assert_eq!(read_touches(&value), Some((MonoNs(5), touches)));
    }
}
