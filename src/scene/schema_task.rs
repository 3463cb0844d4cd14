//! The keys of `[operator]` and `[task]`; read by [`super::read_operator`] and [`super::read_task`].
//!
//! Thread: cold.

use super::read_air::AIR_PA;
use super::read_operator::PLACES_MAX;
use super::read_task::PUNCTURES_MAX;
use super::schema::{place, quantity, rotation, vector};
use super::task::MAX_GOALS;
use crate::device::operator::MAX_PHASES;
use crate::files::Dimension as D;
use crate::files::schema::{Choice, Key, Keys, Kind};
use std::f64::consts::{PI, TAU};

pub(super) static OPERATOR: Keys = Keys {
    heading: "[operator]",
    about: "Who stands in for a hand when the device is simulated.",
    keys: &[
        Key::new("skill", Kind::Word(&["novice", "trained", "expert"]), "\"trained\"", "Level of practice")
            .or("\"trained\""),
        Key::new("seed", Kind::Integer(0, i64::MAX), "2", "Seed of the hand's noise: equal seeds, equal runs").or("1"),
        Key::new("phase", Kind::Tables(&PHASE, MAX_PHASES), "", "What the hand does, one after the other")
            .optional("the hand holds still"),
    ],
    choices: &[],
};

/// A name that fits a line of progress.
const NAME: Key = Key::new("name", Kind::Text(r"\S", 24), "\"go low\"", "Name for progress lines, at most 24 letters");

/// A time that ends.
const fn time(name: &'static str, example: &'static str, about: &'static str) -> Key {
    quantity(name, D::Time, example, about).at_most(3600.0)
}

static PHASE: Keys = Keys {
    heading: "[[operator.phase]]",
    about: "A name, one action and, but for a rest and a palpation, the condition that ends it.",
    keys: &[
        NAME,
        Key::table("move_to", &MOVE_TO, "Brings the tool to a pose, looks, and corrects").chosen(),
        Key::table("press", &PRESS, "Pushes, holding the place across the force").chosen(),
        Key::table("slide", &SLIDE, "Moves across a force while pushing with it").chosen(),
        Key::table("search", &SEARCH, "Winds out and in again along a spiral while pushing").chosen(),
        Key::table("turn", &TURN, "Turns the tool about an axis through its place").chosen(),
        Key::table("screw", &SCREW, "Turns the tool on and on, by grips").chosen(),
        Key::table("swing", &SWING, "Swings a spanner to and fro").chosen(),
        Key::table("follow", &FOLLOW, "Keeps the tool at a place of a body as seen on the screen").chosen(),
        Key::table("palpate", &PALPATE, "Presses at the places of a grid, and goes above the stiffest").chosen(),
        time("rest", "\"1 s\"", "Holds still for this long").positive().chosen(),
        Key::table("until", &UNTIL, "What ends the phase").chosen(),
        time("timeout", "\"10 s\"", "Time after which the operator gives up").positive().or("\"20 s\""),
        Key::new("button", Kind::Integer(1, 32), "1", "Button, from 1, that is held during the phase").optional("none"),
    ],
    choices: &[
        Choice::needing(&["move_to", "until"]),
        Choice::needing(&["slide", "until"]),
        Choice::needing(&["turn", "until"]),
        Choice::needing(&["press", "until"]).refusing(&["until.reached"]),
        Choice::needing(&["search", "until"]).refusing(&["until.reached"]),
        Choice::needing(&["screw", "until"]).refusing(&["until.reached"]),
        Choice::needing(&["swing", "until"]).refusing(&["until.reached"]),
        Choice::needing(&["follow", "until"]).refusing(&["until.reached"]),
        Choice::needing(&["palpate"]),
        Choice::needing(&["rest"]),
    ],
};

const TARGET: Key = place("Where the tool's shape should be");
const TURNED: Key = rotation("How it should be turned").optional("as the tool's `pose`");
const SPEED: Key = quantity("speed", D::Velocity, "\"60 mm/s\"", "Mean speed in the scene, of a trained operator")
    .positive()
    .at_most(2.0)
    .or("\"80 mm/s\"");
const FORCE: Key = vector("force", D::Force, "[0, 0, \"-3 N\"]", "Force in the hand, direction in the scene; not zero")
    .at_least(-50.0)
    .at_most(50.0);

static MOVE_TO: Keys = Keys {
    heading: "move_to = { … }",
    about: "Brings the tool to a pose, looks, and corrects until told otherwise.",
    keys: &[
        TARGET,
        TURNED,
        SPEED,
        quantity(
            "scatter",
            D::Length,
            "\"2 mm\"",
            "The target is off across z by up to this, elsewhere for every seed",
        )
        .not_negative()
        .at_most(1.0)
        .or("0"),
        quantity(
            "scatter_angle",
            D::Angle,
            "\"180 deg\"",
            "Likewise turned about z of the scene, by up to this either way",
        )
        .not_negative()
        .at_most(PI)
        .or("0"),
    ],
    choices: &[],
};

static PRESS: Keys = Keys {
    heading: "press = { … }",
    about: "Pushes with a force, holding the place across it and giving way along it; after 3 s without what ends the \
            phase, a tenth harder each second, up to twice as hard.",
    keys: &[FORCE],
    choices: &[],
};

static SLIDE: Keys = Keys {
    heading: "slide = { … }",
    about: "Moves across a force while pushing with it. What of the target lies along the force is left to the force.",
    keys: &[TARGET, TURNED, SPEED, FORCE],
    choices: &[],
};

/// A way above zero.
const fn distance(name: &'static str, example: &'static str, about: &'static str) -> Key {
    quantity(name, D::Length, example, about).positive().at_most(10.0)
}

static SEARCH: Keys = Keys {
    heading: "search = { … }",
    about: "Winds out and in again along a spiral across a force while pushing with it.",
    keys: &[
        distance("radius", "\"5 mm\"", "Largest distance from the start"),
        distance("pitch", "\"1 mm\"", "Distance between two turns"),
        SPEED,
        FORCE,
    ],
    choices: &[],
};

/// Any three numbers but zeros.
pub(super) const fn direction(name: &'static str, about: &'static str) -> Key {
    vector(name, D::Dimensionless, "[0, 0, 1]", about).at_least(-1e6).at_most(1e6)
}

const RATE: Key = quantity("rate", D::AngularVelocity, "\"1 rad/s\"", "Mean rate, of a trained operator")
    .positive()
    .at_most(50.0)
    .or("\"1 rad/s\"");
const MEANWHILE: Key =
    vector("force", D::Force, "[0, 0, \"-3 N\"]", "Force in the hand meanwhile, direction in the scene")
        .at_least(-50.0)
        .at_most(50.0)
        .or("[0, 0, 0]");

static TURN: Keys = Keys {
    heading: "turn = { … }",
    about: "Turns the tool about an axis through its present place.",
    keys: &[
        direction("axis", "Axis in the scene, of any length but zero"),
        quantity("angle", D::Angle, "\"90 deg\"", "How far; may be many turns").at_least(-630.0).at_most(630.0),
        RATE,
        MEANWHILE,
    ],
    choices: &[],
};

static SCREW: Keys = Keys {
    heading: "screw = { … }",
    about: "Turns the tool on and on about an axis through its present place, by grips: after each the hand lets the tool go \
            with the clutch of [mapping] and turns back.",
    keys: &[
        direction("axis", "Axis in the scene, of any length but zero"),
        quantity("grip", D::Angle, "\"120 deg\"", "How far in one grip; negative for the other way, not zero")
            .at_least(-TAU)
            .at_most(TAU),
        RATE,
        MEANWHILE,
    ],
    choices: &[],
};

static SWING: Keys = Keys {
    heading: "swing = { … }",
    about: "Puts the spanner of [turning] on and swings it to and fro about the axis; its button is held meanwhile.",
    keys: &[
        quantity("angle", D::Angle, "\"-45 deg\"", "How far there; negative for with the clock, not zero")
            .at_least(-PI)
            .at_most(PI),
        RATE,
        MEANWHILE,
    ],
    choices: &[],
};

const BODY: Key = Key::new("body", Kind::Reference("body"), "\"box\"", "Which body, one of the first sixteen");

static PALPATE: Keys = Keys {
    heading: "palpate = { … }",
    about: "Presses at the places of a grid one after the other, judges how stiff each is from force and depth in the hand, and at the \
            end brings the tool above the middle of the stiff places around the stiffest. Ends by itself.",
    keys: &[
        place("The tool above the middle of the grid, where it touches nothing")
            .optional("where the tool is at that time"),
        Key::new(
            "columns",
            Kind::Integer(1, PLACES_MAX),
            "5",
            "Places along x of the scene; along y for a force along x",
        ),
        Key::new("rows", Kind::Integer(1, PLACES_MAX), "3", "Places along the other side"),
        distance("spacing", "\"10 mm\"", "Distance between two places"),
        SPEED,
        FORCE,
    ],
    choices: &[],
};

static FOLLOW: Keys = Keys {
    heading: "follow = { … }",
    about: "Keeps the tool at a place of a body as seen on the screen.",
    keys: &[
        BODY,
        place("Place of the tool in the body's frame").or("[0, 0, 0]"),
        rotation("How it is turned there").or("[0, 0, 0]"),
    ],
    choices: &[],
};

const HELD: Key = time("for", "\"0.3 s\"", "How long without a break").not_negative();
const FORCE_ABOVE: Key =
    quantity("force_above", D::Force, "\"2 N\"", "More than this force is felt").positive().at_most(200.0).chosen();
const TORQUE_ABOVE: Key = quantity("torque_above", D::Torque, "\"0.1 N*m\"", "More than this torque is felt")
    .positive()
    .at_most(20.0)
    .chosen();
const TOOL_BELOW: Key = Key::table("tool_below", &BELOW, "The tool's place along an axis is below an offset").chosen();
const BODY_MOVED: Key = Key::table("body_moved", &MOVED, "A body has moved since the start").chosen();
const BODY_TILTED: Key =
    Key::table("body_tilted", &LEANING, "A body leans from how it stood at the start by more than an angle").chosen();
const NEEDLE_WITHIN: Key = quantity(
    "needle_within",
    D::Length,
    "\"5 mm\"",
    "The tip of the needle is as near the middle of its target as this",
)
.positive()
.at_most(1.0)
.chosen();
const NEEDLE_DEPTH_ABOVE: Key =
    quantity("needle_depth_above", D::Length, "\"40 mm\"", "More of the needle than this is in tissue")
        .positive()
        .at_most(1.0)
        .chosen();
const PUNCTURES: Key =
    Key::new("punctures", Kind::Integer(1, PUNCTURES_MAX), "2", "The needle has broken at least so many surfaces")
        .chosen();
const SUCTION_ABOVE: Key = quantity(
    "suction_above",
    D::Pressure,
    "\"20 kPa\"",
    "In a cavity the pressure is below that of the surroundings by more than this",
)
.positive()
.at_most(AIR_PA.1)
.chosen();
const SUCTION_BELOW: Key = quantity(
    "suction_below",
    D::Pressure,
    "\"1 kPa\"",
    "In no cavity is the pressure below that of the surroundings by as much as this",
)
.positive()
.at_most(AIR_PA.1)
.chosen();
const BODY_AT: Key = Key::table("body_at", &BODY_PLACE, "A body is at a place").chosen();

static UNTIL: Keys = Keys {
    heading: "until = { … }",
    about: "What ends a phase: one condition.",
    keys: &[
        quantity(
            "reached",
            D::Length,
            "\"2 mm\"",
            "The tool is as near its target as this; for `move_to`, `slide` and `turn`",
        )
        .positive()
        .at_most(1.0)
        .chosen(),
        quantity(
            "angle",
            D::Angle,
            "\"2 deg\"",
            "With `reached`: how far it may still be turned; without it, orientation does not count",
        )
        .positive()
        .at_most(PI)
        .chosen(),
        time("elapsed", "\"1 s\"", "So much time has passed").positive().chosen(),
        FORCE_ABOVE,
        TORQUE_ABOVE,
        HELD.chosen(),
        TOOL_BELOW,
        Key::table("tool_dropped", &DROPPED, "The tool has fallen, from the highest place it had in this phase")
            .chosen(),
        BODY_MOVED,
        BODY_TILTED,
        BODY_AT,
        NEEDLE_WITHIN,
        NEEDLE_DEPTH_ABOVE,
        PUNCTURES,
        SUCTION_ABOVE,
        SUCTION_BELOW,
        Key::table("target_at", &TARGET_PLACE, "The target of the needle is at a place, as it moves with the breath")
            .chosen(),
    ],
    choices: &[
        Choice::needing(&["reached"]).allowing(&["angle"]),
        Choice::needing(&["elapsed"]),
        Choice::needing(&["force_above"]).allowing(&["for"]),
        Choice::needing(&["torque_above"]).allowing(&["for"]),
        Choice::needing(&["tool_below"]),
        Choice::needing(&["tool_dropped"]),
        Choice::needing(&["body_moved"]),
        Choice::needing(&["body_tilted"]),
        Choice::needing(&["body_at"]),
        Choice::needing(&["needle_within"]),
        Choice::needing(&["needle_depth_above"]),
        Choice::needing(&["punctures"]),
        Choice::needing(&["target_at"]),
        Choice::needing(&["suction_above"]),
        Choice::needing(&["suction_below"]),
    ],
};

static TARGET_PLACE: Keys = Keys {
    heading: "target_at = { … }",
    about: "The middle of the needle's target is at a place, as it moves with the breath and is pushed: for waiting until the lungs \
            rest.",
    keys: &[place("The place"), TOLERANCE],
    choices: &[],
};

static DROPPED: Keys = Keys {
    heading: "tool_dropped = { … }",
    about: "The tool has fallen along an axis, from the highest place it had in this phase: the click of a nut that is turned \
            backwards on its bolt.",
    keys: &[
        direction("axis", "Axis in the scene, of any length but zero"),
        distance("distance", "\"1 mm\"", "How far"),
    ],
    choices: &[],
};

static BELOW: Keys = Keys {
    heading: "tool_below = { … }",
    about: "The tool's place along an axis is at most an offset.",
    keys: &[
        direction("axis", "Axis in the scene, of any length but zero"),
        quantity("offset", D::Length, "\"-2 mm\"", "Place along it").at_least(-10.0).at_most(10.0),
    ],
    choices: &[],
};

static MOVED: Keys = Keys {
    heading: "body_moved = { … }",
    about: "A body has moved along a direction since the start.",
    keys: &[
        BODY,
        direction("direction", "Direction in the scene, of any length but zero"),
        distance("distance", "\"45 mm\"", "How far at least"),
    ],
    choices: &[],
};

static LEANING: Keys = Keys {
    heading: "body_tilted = { … }",
    about: "How far a body leans from how it stood at the start; turning about the vertical does not count. Also \
            `body_upright`.",
    keys: &[BODY, quantity("angle", D::Angle, "\"8 deg\"", "By how much").positive().at_most(TAU)],
    choices: &[],
};

const TOLERANCE: Key = distance("tolerance", "\"20 mm\"", "Largest distance from it");

static TOOL_LEANING: Keys = Keys {
    heading: "tool_tilted = { … }",
    about: "How far the tool leans from how it stood at the start; turning about the vertical does not count. Also \
            `tool_upright`.",
    keys: &[
        quantity("angle", D::Angle, "\"3 deg\"", "By how much").positive().at_most(TAU),
        quantity("below", D::Length, "\"20 mm\"", "Height above which it does not count")
            .at_least(-10.0)
            .at_most(10.0)
            .optional("it always counts"),
    ],
    choices: &[],
};

static SCREWED: Keys = Keys {
    heading: "tool_screwed = { … }",
    about: "The tool has been turned about an axis and has gone down along it as its thread says, without a break. A nut that \
            turns on the end of its bolt does not.",
    keys: &[
        direction("axis", "Axis in the scene, out of the bolt, of any length but zero"),
        quantity("angle", D::Angle, "\"360 deg\"", "How far at least").positive().at_most(630.0),
        distance("pitch", "\"5 mm\"", "Way along the axis in one turn"),
        quantity("tolerance", D::Length, "\"20 mm\"", "How far it may be off that way: the play of the thread")
            .positive()
            .at_most(10.0),
        Key::new("left_hand", Kind::Boolean, "true", "The thread winds the other way").or("false"),
    ],
    choices: &[],
};

static BODY_PLACE: Keys = Keys {
    heading: "body_at = { … }",
    about: "A body is at a place.",
    keys: &[BODY, place("The place"), TOLERANCE],
    choices: &[],
};

static TOOL_OVER: Keys = Keys {
    heading: "tool_over = { … }",
    about: "The tool is above or below the middle of a region of a body that deforms, as it is at rest: to find a lump.",
    keys: &[
        BODY,
        Key::new("region", Kind::Text(r"\S", 24), "\"lump\"", "`name` of one of its regions, a box or a sphere"),
        distance("tolerance", "\"6 mm\"", "Largest horizontal distance from its middle"),
    ],
    choices: &[],
};

static TOOL_PLACE: Keys = Keys {
    heading: "tool_at = { … }",
    about: "The tool is at a place.",
    keys: &[place("The place"), TOLERANCE],
    choices: &[],
};

pub(super) static TASK: Keys = Keys {
    heading: "[task]",
    about: "What counts as success: all goals, in time.",
    keys: &[
        time("timeout", "\"60 s\"", "Time in which they must be met").positive().or("\"60 s\""),
        Key::new("goal", Kind::Tables(&GOAL, MAX_GOALS), "", "What is to be achieved").optional("nothing"),
    ],
    choices: &[],
};

static GOAL: Keys = Keys {
    heading: "[[task.goal]]",
    about: "A name and one condition.",
    keys: &[
        NAME,
        Key::table("tool_at", &TOOL_PLACE, "The tool is at a place").chosen(),
        Key::table("tool_over", &TOOL_OVER, "The tool is above the middle of a region of a body that deforms").chosen(),
        TOOL_BELOW,
        FORCE_ABOVE,
        TORQUE_ABOVE,
        BODY_AT,
        BODY_MOVED,
        BODY_TILTED,
        Key::table("body_upright", &LEANING, "A body stands as it did at the start, to within an angle").chosen(),
        Key::table("tool_tilted", &TOOL_LEANING, "The tool leans from how it stood at the start by more than an angle")
            .chosen(),
        Key::table("tool_upright", &TOOL_LEANING, "The tool stands as it did at the start, to within an angle")
            .chosen(),
        Key::table("tool_screwed", &SCREWED, "The tool has been screwed on by an angle, along its thread").chosen(),
        quantity("penetration_below", D::Length, "\"0.5 mm\"", "Proxy and scene overlap by no more than this")
            .positive()
            .at_most(1.0)
            .chosen(),
        NEEDLE_WITHIN,
        NEEDLE_DEPTH_ABOVE,
        PUNCTURES,
        Key::new(
            "punctures_below",
            Kind::Integer(1, PUNCTURES_MAX),
            "4",
            "The needle has broken fewer surfaces than this",
        )
        .chosen(),
        Key::new("avoids_forbidden", Kind::Only(true), "true", "The needle has never been where it must not be")
            .chosen(),
        SUCTION_ABOVE,
        SUCTION_BELOW,
        Key::new(
            "when",
            Kind::Word(&["once", "end", "always"]),
            "\"once\"",
            "At some time, when the run ends, or at every time",
        )
        .optional(
            "`end` for `body_upright` and `suction_below`, `always` for `tool_upright`, `penetration_below`, `punctures_below` and \
             `avoids_forbidden`, else `once`",
        ),
        time(
            "for",
            "\"0.3 s\"",
            "How long without a break; where `when` is `always`, a break as long as this loses the goal, and a shorter one does not",
        )
        .not_negative()
        .or("\"0 s\""),
    ],
    choices: &[
        Choice::needing(&["tool_at"]),
        Choice::needing(&["tool_over"]),
        Choice::needing(&["tool_below"]),
        Choice::needing(&["force_above"]),
        Choice::needing(&["torque_above"]),
        Choice::needing(&["body_at"]),
        Choice::needing(&["body_moved"]),
        Choice::needing(&["body_tilted"]),
        Choice::needing(&["body_upright"]),
        Choice::needing(&["tool_tilted"]),
        Choice::needing(&["tool_upright"]),
        Choice::needing(&["tool_screwed"]),
        Choice::needing(&["penetration_below"]),
        Choice::needing(&["needle_within"]),
        Choice::needing(&["needle_depth_above"]),
        Choice::needing(&["punctures"]),
        Choice::needing(&["punctures_below"]),
        Choice::needing(&["avoids_forbidden"]),
        Choice::needing(&["suction_above"]),
        Choice::needing(&["suction_below"]),
    ],
};
