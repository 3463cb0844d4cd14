//! `[task]` and its goals as written.
//!
//! Thread: cold.
//!
//! A goal has a name and one condition, in the words of the operator's phases; `when` says whether it must be true once,
//! at the end, or always, and `for` how long without a break, or for how long what must always be true may be false:
//!
//! ```text
//! [[task.goal]]
//! name = "upright"
//! body_upright = { body = "box", angle = "2 deg" }
//! when = "end"
//! ```

use super::read_air::AIR_PA;
use super::read_operator::{NAME_MAX, TIME_MAX_S, TURN_MAX, read_body, read_name};
use super::read_shape::{PLACE_MAX_M, angle, direction, distance, offset, one_of, place};
use super::spec::{Source, TaskSpec};
use super::task::{Condition, Goal, MAX_GOALS, When};
use crate::device::operator::Name;
use crate::files::{Dimension, Problem, Table};
use crate::math::Vec3;

/// Time for a task when nothing is said, s.
const TIMEOUT_DEFAULT_S: f64 = 60.0;

const WHENS: [(&str, When); 3] = [("once", When::Once), ("end", When::End), ("always", When::Always)];
const CONDITIONS: [&str; 20] = [
    "tool_at",
    "tool_over",
    "tool_below",
    "force_above",
    "torque_above",
    "body_at",
    "body_moved",
    "body_tilted",
    "body_upright",
    "tool_tilted",
    "tool_upright",
    "tool_screwed",
    "penetration_below",
    "needle_within",
    "needle_depth_above",
    "punctures",
    "punctures_below",
    "avoids_forbidden",
    "suction_above",
    "suction_below",
];
/// Most punctures asked for.
pub(super) const PUNCTURES_MAX: i64 = 100;

/// Reads `[task]`.
pub(super) fn read_task(table: &Table<'_>, bodies: &[&str], source: &mut Source) -> TaskSpec {
    let timeout = table.quantity("timeout", Dimension::Time).positive().at_most(TIME_MAX_S);
    let timeout_s = timeout.or(TIMEOUT_DEFAULT_S);
    let tables = table.tables("goal");
    if let Some(extra) = tables.get(MAX_GOALS) {
        let message = format!("there are {} goals; at most {MAX_GOALS} fit", tables.len());
        extra.report(Problem::error(extra.span(), message).help("leave some out"));
    }
    let mut goals = Vec::new();
    for (index, goal) in tables.iter().enumerate() {
        source.mark(format!("goal.{index}"), goal.span());
        goals.extend(read_goal(goal, bodies));
    }
    goals.truncate(MAX_GOALS);
    TaskSpec { goals, timeout_s }
}

fn read_goal(table: &Table<'_>, bodies: &[&str]) -> Option<Goal> {
    let name = read_name(table);
    let condition = one_of(table, "what this goal is about", &CONDITIONS, |key| read_condition(table, key, bodies));
    let when = table.word("when", &WHENS).optional();
    let for_s = table.quantity("for", Dimension::Time).not_negative().at_most(TIME_MAX_S).or(0.0);
    let condition = condition?;
    let when = when.unwrap_or_else(|| condition.usual());
    Some(Goal { name: Name::new(&name?), condition, when, for_s })
}

fn read_condition(table: &Table<'_>, key: &str, bodies: &[&str]) -> Option<Condition> {
    match key {
        "force_above" => {
            let force_n = table.quantity(key, Dimension::Force).positive().at_most(200.0).optional()?;
            Some(Condition::ForceAbove { force_n })
        }
        "torque_above" => {
            let torque_nm = table.quantity(key, Dimension::Torque).positive().at_most(20.0).optional()?;
            Some(Condition::TorqueAbove { torque_nm })
        }
        "penetration_below" => {
            let depth_m = table.quantity(key, Dimension::Length).positive().at_most(1.0).optional()?;
            Some(Condition::PenetrationBelow { depth_m })
        }
        "needle_within" => Some(Condition::NeedleWithin { distance_m: needle_length(table, key)? }),
        "needle_depth_above" => Some(Condition::NeedleDepthAbove { depth_m: needle_length(table, key)? }),
        "punctures" | "punctures_below" => {
            let count = u32::try_from(table.integer(key, 1..=PUNCTURES_MAX).optional()?).ok()?;
            Some(if key == "punctures" { Condition::Punctures { count } } else { Condition::PuncturesBelow { count } })
        }
        "suction_above" => Some(Condition::SuctionAbove { pressure_pa: suction(table, key)? }),
        "suction_below" => Some(Condition::SuctionBelow { pressure_pa: suction(table, key)? }),
        "avoids_forbidden" => {
            let always = table.boolean(key).check(|wanted| *wanted, "true, or nothing at all").optional()?;
            always.then_some(Condition::AvoidsForbidden)
        }
        _ => read_placed(&table.table(key).optional()?, key, bodies),
    }
}

/// A pressure below that of the surroundings.
pub(super) fn suction(table: &Table<'_>, key: &str) -> Option<f64> {
    table.quantity(key, Dimension::Pressure).positive().at_most(AIR_PA.1).optional()
}

/// A length of or along a needle.
pub(super) fn needle_length(table: &Table<'_>, key: &str) -> Option<f64> {
    table.quantity(key, Dimension::Length).positive().at_most(1.0).optional()
}

/// Conditions on places and orientations: tables.
fn read_placed(table: &Table<'_>, key: &str, bodies: &[&str]) -> Option<Condition> {
    match key {
        "tool_at" => {
            let (position, tolerance_m) = (place(table).required(), distance(table, "tolerance"));
            Some(Condition::ToolAt { position: position?, tolerance_m: tolerance_m? })
        }
        "tool_over" => {
            let body = read_body(table, bodies);
            let fits = |text: &String| !text.trim().is_empty() && text.len() <= NAME_MAX;
            let region = table.string("region").check(fits, "the name of a region, at most 24 letters").required();
            let (tolerance_m, position) = (distance(table, "tolerance"), Vec3::zeros());
            let region = Name::new(&region?);
            Some(Condition::ToolOver { body: body?, region, position, tolerance_m: tolerance_m? })
        }
        "tool_below" => {
            let (axis, offset_m) = (direction(table, "axis"), offset(table, "offset"));
            Some(Condition::ToolBelow { axis: axis?, offset_m: offset_m? })
        }
        "body_at" => {
            let (body, position) = (read_body(table, bodies), place(table).required());
            let tolerance_m = distance(table, "tolerance");
            Some(Condition::BodyAt { body: body?, position: position?, tolerance_m: tolerance_m? })
        }
        "body_moved" => {
            let (body, direction) = (read_body(table, bodies), direction(table, "direction"));
            let distance_m = distance(table, "distance");
            Some(Condition::BodyMoved { body: body?, direction: direction?, distance_m: distance_m? })
        }
        "tool_tilted" | "tool_upright" => {
            let below = table.quantity("below", Dimension::Length).at_least(-PLACE_MAX_M).at_most(PLACE_MAX_M);
            let (angle_rad, below_m) = (angle(table, "angle"), below.optional().unwrap_or(f64::INFINITY));
            let angle_rad = angle_rad?;
            Some(match key {
                "tool_tilted" => Condition::ToolTilted { angle_rad, below_m },
                _ => Condition::ToolUpright { angle_rad, below_m },
            })
        }
        "tool_screwed" => {
            let turn = table.quantity("angle", Dimension::Angle).positive().at_most(TURN_MAX).required();
            let (axis, pitch_m) = (direction(table, "axis"), distance(table, "pitch"));
            let (tolerance_m, left) = (distance(table, "tolerance"), table.boolean("left_hand").or(false));
            let pitch_m = if left { -pitch_m? } else { pitch_m? };
            Some(Condition::ToolScrewed { axis: axis?, angle_rad: turn?, pitch_m, tolerance_m: tolerance_m? })
        }
        "body_tilted" => {
            let (body, angle_rad) = (read_body(table, bodies), angle(table, "angle"));
            Some(Condition::BodyTilted { body: body?, angle_rad: angle_rad? })
        }
        _ => {
            let (body, angle_rad) = (read_body(table, bodies), angle(table, "angle"));
            Some(Condition::BodyUpright { body: body?, angle_rad: angle_rad? })
        }
    }
}
