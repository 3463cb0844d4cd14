//! The dials: everything that can be set with the scene and device at hand, with the range that holds.
//!
//! Thread: control.

use super::rig::Rig;
use crate::control::plant::{Code, Dial, Range, Refused, Setting, Value};
use crate::device::operator::Skill;
use crate::shared::Parameter;
use crate::sim::{MAX_MATERIALS, MaterialOrder};
use std::ops::RangeInclusive;

/// Every dial of a rig, at its start.
pub(super) fn dials(rig: &Rig, works: bool) -> Vec<Dial> {
    let mut dials = Vec::new();
    for parameter in Parameter::ALL {
        if let Some((least, most)) = rig.range.get(parameter) {
            let value = Value::Float(rig.range.start().get(parameter));
            dials.push(Dial { setting: Setting::Loop(parameter), value, range: Range::Numbers { least, most } });
        }
    }
    for material in rig.built.sim.materials.iter().take(MAX_MATERIALS) {
        let mut add = |setting: Setting, value: f64, range: RangeInclusive<f64>| {
            let range = Range::Numbers { least: *range.start(), most: *range.end() };
            dials.push(Dial { setting, value: Value::Float(value), range });
        };
        add(Setting::Friction(material.name.clone()), material.friction, MaterialOrder::FRICTION);
        add(Setting::Restitution(material.name.clone()), material.restitution, MaterialOrder::RESTITUTION);
    }
    if rig.line.is_some() {
        // A person holds the device.
        return dials;
    }
    let words = Skill::ALL.map(Skill::name).to_vec();
    let seed = Value::Int(i32::try_from(rig.seed).unwrap_or(i32::MAX));
    dials.extend([
        Dial { setting: Setting::OperatorWorks, value: Value::Bool(works), range: Range::Switch },
        Dial {
            setting: Setting::OperatorSkill,
            value: Value::Text(rig.skill.name().into()),
            range: Range::Words(words),
        },
        Dial { setting: Setting::OperatorSeed, value: seed, range: Range::Count },
    ]);
    dials
}

/// The number in a value that the hub has checked.
pub(super) fn number(value: &Value) -> Result<f64, Refused> {
    match value {
        Value::Float(number) => Ok(*number),
        Value::Int(number) => Ok(f64::from(*number)),
        Value::Text(_) | Value::Bool(_) => Err(Refused { code: Code::BadArguments, text: "a number is needed".into() }),
    }
}
