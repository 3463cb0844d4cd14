//! `[operator]` and its phases as written.
//!
//! Thread: cold.
//!
//! A phase has a name, one action and, but for a rest and a palpation, one condition that ends it:
//!
//! ```text
//! [[operator.phase]]
//! name = "press"
//! press = { force = ["0 N", "0 N", "-3 N"] }
//! until = { force_above = "2 N", for = "1 s" }
//! ```

use super::read::{read_button, target};
use super::read_shape::{angle, direction, distance, offset, one_of, rotation};
use super::read_task::{PUNCTURES_MAX, needle_length, suction};
use super::spec::{OperatorSpec, Source};
use crate::device::PerPart;
use crate::device::operator::{Action, MAX_PHASES, PalpationGrid, Phase, Skill, Until};
use crate::files::{Dimension, Field, Problem, Table};
use crate::math::{Pose, Rot, Vec3};
use crate::shared::MAX_VIEW_BODIES;
use std::f64::consts::{PI, TAU};

/// Fastest movement asked of a hand, m/s.
const SPEED_MAX: f64 = 2.0;
/// Speed of a movement when nothing is said, m/s.
const SPEED_DEFAULT: f64 = 0.08;
/// Fastest turn asked of a hand, rad/s.
const RATE_MAX: f64 = 50.0;
/// Rate of a turn when nothing is said, rad/s.
const RATE_DEFAULT: f64 = 1.0;
/// Largest turn, rad: a hundred times around.
pub(super) const TURN_MAX: f64 = 630.0;
/// Strongest push along an axis, N.
const FORCE_MAX: f64 = 50.0;
/// Longest time of anything, s.
pub(super) const TIME_MAX_S: f64 = 3600.0;
/// Time after which an operator gives up a phase when nothing is said, s.
const TIMEOUT_DEFAULT_S: f64 = 20.0;
/// Longest name of a phase or goal, bytes.
pub(super) const NAME_MAX: usize = 24;

const SKILLS: [(&str, Skill); 3] = [("novice", Skill::Novice), ("trained", Skill::Trained), ("expert", Skill::Expert)];
const ACTIONS: [&str; 10] =
    ["move_to", "press", "slide", "search", "turn", "screw", "swing", "follow", "palpate", "rest"];
/// Most places of a grid to palpate along one of its axes.
pub(super) const PLACES_MAX: i64 = 8;
const CONDITIONS: [&str; 15] = [
    "reached",
    "elapsed",
    "force_above",
    "torque_above",
    "tool_below",
    "tool_dropped",
    "body_moved",
    "body_tilted",
    "body_at",
    "needle_within",
    "needle_depth_above",
    "punctures",
    "target_at",
    "suction_above",
    "suction_below",
];

/// What phases may refer to.
pub(super) struct Names<'n> {
    /// Bodies, in the order of the file.
    pub(super) bodies: &'n [&'n str],
    /// Orientation of a target that states none.
    pub(super) upright: Rot,
    /// The clutch's button, as a number of a bit.
    pub(super) clutch: Option<u8>,
}

/// Reads `[operator]`.
pub(super) fn read_operator(table: &Table<'_>, names: &Names<'_>, source: &mut Source) -> OperatorSpec {
    let seed = table.integer("seed", 0..=i64::MAX).or(1);
    let tables = table.tables("phase");
    if let Some(extra) = tables.get(MAX_PHASES) {
        let message = format!("there are {} phases; at most {MAX_PHASES} fit", tables.len());
        extra.report(Problem::error(extra.span(), message).help("join some of them"));
    }
    let mut phases = Vec::new();
    for (index, phase) in tables.iter().enumerate() {
        source.mark(format!("phase.{index}"), phase.span());
        for key in ACTIONS.iter().chain(&["until", "button"]) {
            if phase.contains(key) {
                let name = if ACTIONS.contains(key) { "action" } else { key };
                source.mark(format!("phase.{index}.{name}"), phase.span_of(key));
            }
        }
        phases.extend(read_phase(phase, names));
    }
    phases.truncate(MAX_PHASES);
    OperatorSpec { skill: table.word("skill", &SKILLS).or(Skill::Trained), seed: seed.unsigned_abs(), phases }
}

fn read_phase(table: &Table<'_>, names: &Names<'_>) -> Option<Phase> {
    let name = read_name(table);
    let action = one_of(table, "what the hand does in this phase", &ACTIONS, |key| read_action(table, key, names));
    let until = match action {
        Some(Action::Rest { seconds }) => {
            ends_by_itself(table, "a rest", names);
            Some(Until::Elapsed { seconds })
        }
        Some(Action::Palpate { .. }) => {
            ends_by_itself(table, "a palpation", names);
            Some(Until::Elapsed { seconds: 0.0 })
        }
        _ => table.table("until").required().and_then(|until| read_until(&until, names)),
    };
    if let (Some(action), Some(Until::Reached { .. })) = (&action, &until)
        && !matches!(action, Action::MoveTo { .. } | Action::Slide { .. } | Action::Turn { .. })
    {
        let help = "use `reached` with `move_to`, `slide` or `turn`; here, for instance `elapsed` or `force_above`";
        table.error("until", "there is nothing to reach in this phase", help);
    }
    let timeout = table.quantity("timeout", Dimension::Time).positive().at_most(TIME_MAX_S).or(TIMEOUT_DEFAULT_S);
    let buttons = read_button(table, "button").map_or(0, |bit| 1 << bit);
    let scatter = read_scatter(table);
    Some(Phase::new(&name?, action?, until?, timeout).holding(buttons).scattered(scatter))
}

/// Rejects `until` where there is nothing to wait for.
fn ends_by_itself(table: &Table<'_>, what: &str, names: &Names<'_>) {
    if table.contains("until") {
        table.error("until", &format!("{what} ends by itself"), "remove `until`, or take another action");
        table.table("until").optional().and_then(|until| read_until(&until, names));
    }
}

/// How far the target of a movement is elsewhere for every seed.
fn read_scatter(phase: &Table<'_>) -> PerPart {
    phase.table("move_to").optional().map_or(PerPart { linear: 0.0, angular: 0.0 }, |table| PerPart {
        linear: table.quantity("scatter", Dimension::Length).not_negative().at_most(1.0).or(0.0),
        angular: table.quantity("scatter_angle", Dimension::Angle).not_negative().at_most(PI).or(0.0),
    })
}

/// Name of a phase or a goal.
pub(super) fn read_name(table: &Table<'_>) -> Option<String> {
    asked_name(table).required()
}

/// The key of a name.
pub(super) fn asked_name<'t, 'd>(table: &'t Table<'d>) -> Field<'t, 'd, String> {
    let fits = |text: &String| !text.trim().is_empty() && text.len() <= NAME_MAX;
    table.string("name").check(fits, "a short name, at most 24 letters")
}

fn speed(table: &Table<'_>) -> f64 {
    table.quantity("speed", Dimension::Velocity).positive().at_most(SPEED_MAX).or(SPEED_DEFAULT)
}

fn any_force<'t, 'd>(table: &'t Table<'d>) -> Field<'t, 'd, Vec3> {
    table.vector("force", Dimension::Force).at_least(-FORCE_MAX).at_most(FORCE_MAX)
}

fn force(table: &Table<'_>) -> Option<Vec3> {
    any_force(table).check(|force| force.norm() > 0.0, "a force that is not zero").required()
}

fn read_action(phase: &Table<'_>, key: &str, names: &Names<'_>) -> Option<Action> {
    if key == "rest" {
        let seconds = phase.quantity("rest", Dimension::Time).positive().at_most(TIME_MAX_S).optional()?;
        return Some(Action::Rest { seconds });
    }
    let table = phase.table(key).optional()?;
    match key {
        "move_to" => {
            let (speed, target) = (speed(&table), target(&table, names.upright));
            Some(Action::MoveTo { target: target?, speed })
        }
        "press" => Some(Action::Press { force: force(&table)? }),
        "slide" => {
            let (target, speed, force) = (target(&table, names.upright), speed(&table), force(&table));
            Some(Action::Slide { target: target?, speed, force: force? })
        }
        "search" => {
            let (radius, pitch) = (distance(&table, "radius"), distance(&table, "pitch"));
            let (speed, force) = (speed(&table), force(&table));
            Some(Action::Search { radius: radius?, pitch: pitch?, speed, force: force? })
        }
        "turn" => {
            let axis = direction(&table, "axis");
            let turn = table.quantity("angle", Dimension::Angle).at_least(-TURN_MAX).at_most(TURN_MAX).required();
            let rate = table.quantity("rate", Dimension::AngularVelocity).positive().at_most(RATE_MAX);
            let (rate_rad_s, force) = (rate.or(RATE_DEFAULT), any_force(&table).or(Vec3::zeros()));
            Some(Action::Turn { axis: axis?, angle_rad: turn?, rate_rad_s, force })
        }
        "screw" => {
            let axis = direction(&table, "axis");
            let wanted = "an angle that is not zero, such as \"120 deg\"";
            let grip = table.quantity("grip", Dimension::Angle).at_least(-TAU).at_most(TAU);
            let grip = grip.check(|grip| *grip != 0.0, wanted).required();
            let rate = table.quantity("rate", Dimension::AngularVelocity).positive().at_most(RATE_MAX);
            let (rate_rad_s, force) = (rate.or(RATE_DEFAULT), any_force(&table).or(Vec3::zeros()));
            let release = names.clutch.map_or(0, |bit| 1 << bit);
            Some(Action::Screw { axis: axis?, grip_rad: grip?, rate_rad_s, force, release })
        }
        "swing" => {
            let wanted = "an angle that is not zero, such as \"-45 deg\"";
            let swing = table.quantity("angle", Dimension::Angle).at_least(-PI).at_most(PI);
            let swing = swing.check(|swing| *swing != 0.0, wanted).required();
            let rate = table.quantity("rate", Dimension::AngularVelocity).positive().at_most(RATE_MAX);
            let (rate_rad_s, force) = (rate.or(RATE_DEFAULT), any_force(&table).or(Vec3::zeros()));
            // Axis and lever are those of the spanner: they are filled in when the scene is built.
            let (axis, lever) = (Vec3::zeros(), Vec3::zeros());
            Some(Action::Swing { axis, lever, swing_rad: swing?, rate_rad_s, force })
        }
        "palpate" => {
            let count = |key: &str| table.integer(key, 1..=PLACES_MAX).required().and_then(|n| usize::try_from(n).ok());
            let (columns, rows, spacing) = (count("columns"), count("rows"), distance(&table, "spacing"));
            let middle = super::read_shape::place(&table).optional();
            let (speed, force) = (speed(&table), force(&table));
            let grid = PalpationGrid { middle, counts: [columns?, rows?], spacing: spacing? };
            Some(Action::Palpate { grid, speed, force: force? })
        }
        _ => {
            let body = read_body(&table, names.bodies);
            let place = super::read_shape::place(&table).or(Vec3::zeros());
            let offset = Pose::from_parts(place.into(), rotation(&table).unwrap_or_else(Rot::identity));
            Some(Action::Follow { body: body?, offset })
        }
    }
}

/// A body by name, which must be one that can be seen.
pub(super) fn read_body(table: &Table<'_>, bodies: &[&str]) -> Option<usize> {
    let body = table.reference("body", "body", bodies).required()?;
    if body >= MAX_VIEW_BODIES {
        let message = format!("`{}` cannot be seen: it is body {} of the scene", bodies[body], body + 1);
        let help = format!("move it up: the first {MAX_VIEW_BODIES} bodies of the file can be seen");
        table.error("body", &message, &help);
        return None;
    }
    Some(body)
}

fn read_until(table: &Table<'_>, names: &Names<'_>) -> Option<Until> {
    one_of(table, "what ends this phase", &CONDITIONS, |key| read_condition(table, key, names))
}

fn read_condition(table: &Table<'_>, key: &str, names: &Names<'_>) -> Option<Until> {
    let held = || table.quantity("for", Dimension::Time).not_negative().at_most(TIME_MAX_S).or(0.0);
    match key {
        "reached" => {
            let tolerance_m = table.quantity(key, Dimension::Length).positive().at_most(1.0).optional()?;
            let turned = table.quantity("angle", Dimension::Angle).positive().at_most(std::f64::consts::PI);
            // A turn by more than this cannot be: without `angle`, orientation does not count.
            Some(Until::Reached { tolerance_m, tolerance_rad: turned.or(std::f64::consts::PI) })
        }
        "elapsed" => {
            let seconds = table.quantity(key, Dimension::Time).positive().at_most(TIME_MAX_S).optional()?;
            Some(Until::Elapsed { seconds })
        }
        "force_above" => {
            let force_n = table.quantity(key, Dimension::Force).positive().at_most(200.0).optional()?;
            Some(Until::ForceAbove { force_n, for_s: held() })
        }
        "torque_above" => {
            let torque_nm = table.quantity(key, Dimension::Torque).positive().at_most(20.0).optional()?;
            Some(Until::TorqueAbove { torque_nm, for_s: held() })
        }
        "tool_below" => {
            let table = table.table(key).optional()?;
            let (axis, offset) = (direction(&table, "axis"), offset(&table, "offset"));
            Some(Until::ToolBelow { axis: axis?, offset: offset? })
        }
        "tool_dropped" => {
            let table = table.table(key).optional()?;
            let (axis, distance) = (direction(&table, "axis"), distance(&table, "distance"));
            Some(Until::ToolDropped { axis: axis?, distance: distance? })
        }
        "body_moved" => {
            let table = table.table(key).optional()?;
            let (body, direction) = (read_body(&table, names.bodies), direction(&table, "direction"));
            let distance = distance(&table, "distance");
            Some(Until::BodyMoved { body: body?, direction: direction?, distance: distance? })
        }
        "body_tilted" => {
            let table = table.table(key).optional()?;
            let (body, angle_rad) = (read_body(&table, names.bodies), angle(&table, "angle"));
            Some(Until::BodyTilted { body: body?, angle_rad: angle_rad? })
        }
        "needle_within" => Some(Until::NeedleWithin { distance: needle_length(table, key)? }),
        "needle_depth_above" => Some(Until::NeedleDepthAbove { depth: needle_length(table, key)? }),
        "suction_above" => Some(Until::SuctionAbove { pressure: suction(table, key)? }),
        "suction_below" => Some(Until::SuctionBelow { pressure: suction(table, key)? }),
        "punctures" => {
            let count = u32::try_from(table.integer(key, 1..=PUNCTURES_MAX).optional()?).ok()?;
            Some(Until::Punctures { count })
        }
        "target_at" => {
            let table = table.table(key).optional()?;
            let (position, tolerance) = (super::read_shape::place(&table).required(), distance(&table, "tolerance"));
            Some(Until::TargetAt { position: position?, tolerance: tolerance? })
        }
        _ => {
            let table = table.table(key).optional()?;
            let (body, position) = (read_body(&table, names.bodies), super::read_shape::place(&table).required());
            let tolerance = distance(&table, "tolerance");
            Some(Until::BodyAt { body: body?, position: position?, tolerance: tolerance? })
        }
    }
}
