//! The rows of the table of addresses.
//!
//! Thread: control.

use super::stream::Stream;
use super::table::{ANY_STATE, Access, Argument, Entry, Kind, Type, Verb, Who};
use crate::shared::Parameter;
use crate::shared::lifecycle::{Event, State};

const DONE: &str = "`done`";

const fn argument(name: &'static str, kind: Type, unit: &'static str) -> Argument {
    Argument { name, kind, unit, optional: false }
}

const fn int(name: &'static str) -> Argument {
    argument(name, Type::Int, "")
}

const fn float(name: &'static str, unit: &'static str) -> Argument {
    argument(name, Type::Float, unit)
}

const fn text(name: &'static str) -> Argument {
    argument(name, Type::Text, "")
}

const fn blob(name: &'static str) -> Argument {
    argument(name, Type::Blob, "")
}

const fn switch(name: &'static str) -> Argument {
    argument(name, Type::Switch, "")
}

const fn command(path: &'static str, verb: Verb, arguments: &'static [Argument], about: &'static str) -> Entry {
    Entry {
        path,
        kind: Kind::Command,
        access: Access::Write,
        who: Who::Anyone,
        states: ANY_STATE,
        arguments,
        answer: DONE,
        about,
        verb,
    }
}

const fn value(path: &'static str, verb: Verb, arguments: &'static [Argument], about: &'static str) -> Entry {
    Entry { kind: Kind::Parameter, access: Access::Read, answer: "its value", ..command(path, verb, arguments, about) }
}

const fn parameter(path: &'static str, verb: Verb, arguments: &'static [Argument], about: &'static str) -> Entry {
    Entry {
        access: Access::ReadWrite,
        who: Who::Controllers,
        answer: "its value; when set, `done`",
        ..value(path, verb, arguments, about)
    }
}

const fn stream(path: &'static str, stream: Stream, arguments: &'static [Argument], about: &'static str) -> Entry {
    Entry {
        kind: Kind::Stream,
        access: Access::Read,
        answer: "one sample",
        ..command(path, Verb::Stream(stream), arguments, about)
    }
}

const fn sent(path: &'static str, kind: Kind, arguments: &'static [Argument], about: &'static str) -> Entry {
    Entry { kind, access: Access::Sent, answer: "", ..command(path, Verb::Sent, arguments, about) }
}

const DISABLED: &[State] = &[State::Disabled];
const STAMP: [Argument; 3] =
    [int("sequence"), argument("seconds", Type::Int, "s"), argument("nanoseconds", Type::Int, "ns")];
const FAULT: &[Argument] = &[
    int("id"),
    text("code"),
    text("name"),
    text("priority"),
    switch("latched"),
    switch("acknowledged"),
    float("time", "s"),
    text("cause"),
    text("remedy"),
    text("data"),
];

/// Every address, in the order in which people are told of them.
pub static ENTRIES: &[Entry] = &[
    command("/hapticd/version", Verb::Version, &[], "Who is there, and which version.").answers("`version.reply`"),
    command("/hapticd/status", Verb::Status, &[], "The daemon at a glance.").answers("`status.reply`"),
    command("/hapticd/ping", Verb::Ping, &[int("n").optional()], "Is anyone there? Keeps leases alive.")
        .answers("`pong`"),
    command("/ping", Verb::Ping, &[int("n").optional()], "The same, for programs that can only send this.")
        .answers("`pong`"),
    command("/hapticd/sync", Verb::Sync, &[int("id")], "Answered when everything this client asked before is done.")
        .answers("`synced`"),
    command(
        "/hapticd/notify",
        Verb::Notify,
        &[switch("on").optional()],
        "Begins (or with 0 ends) events for this client. Everything there is to know is sent first: \
         state, scene, device, \
         every parameter, faults that wait.",
    )
    .answers("`done` with the lease in s"),
    command(
        "/hapticd/subscribe",
        Verb::Subscribe,
        &[text("stream"), float("rate", "Hz")],
        "Begins a stream, 0.1 to 1000 Hz, or changes its rate. The stream's last word will do: `energy`.",
    )
    .answers("`done` with stream, rate and the lease in s"),
    command(
        "/hapticd/lease/confirm",
        Verb::Confirm,
        &[int("number")],
        "Sends back the number of `lease/number`: the receiver is there and wants its events and streams.",
    ),
    command(
        "/hapticd/unsubscribe",
        Verb::Unsubscribe,
        &[text("stream").optional()],
        "Ends a stream; without a name, all of this client's.",
    ),
    command("/hapticd/scene/list", Verb::SceneList, &[], "Scenes that can be loaded.")
        .answers("`scene/list.reply` for each, `scene/list.end`"),
    command("/hapticd/scene/load", Verb::SceneLoad, &[text("scene")], "Loads a scene by name or path.")
        .controllers()
        .only_in(DISABLED),
    command("/hapticd/scene/reload", Verb::SceneReload, &[], "Loads the scene in use again from its file.")
        .controllers()
        .only_in(DISABLED),
    command(
        "/hapticd/scene/cancel",
        Verb::SceneCancel,
        &[],
        "Gives up the scene or device that is being loaded; whoever asked for it is answered with `fail`.",
    )
    .controllers(),
    command("/hapticd/device/list", Verb::DeviceList, &[], "Devices that can be opened.")
        .answers("`device/list.reply` for each, `device/list.end`"),
    command("/hapticd/device/open", Verb::DeviceOpen, &[text("device")], "Opens another device by name or path.")
        .controllers()
        .only_in(DISABLED),
    command(
        "/hapticd/device/home",
        Verb::DeviceHome,
        &[],
        "Homes the device: says that the handle is in its rest position, where homing is that; where it is a motion of the \
         handle, waits for it. `device/state` tells which. Done when the device knows where it is.",
    )
    .controllers()
    .only_in(DISABLED),
    command("/hapticd/enable", Verb::Event(Event::Enable), &[], "Forces on, over the ramp.")
        .controllers()
        .only_in(&[State::Disabled, State::Enabled]),
    command("/hapticd/disable", Verb::Event(Event::Disable), &[], "Forces off.").controllers().only_in(&[
        State::Disabled,
        State::Enabled,
        State::Paused,
    ]),
    command("/hapticd/pause", Verb::Event(Event::Pause), &[], "Forces off for a moment; the scene stays alive.")
        .controllers()
        .only_in(&[State::Enabled, State::Paused]),
    command("/hapticd/resume", Verb::Event(Event::Resume), &[], "Forces on again.")
        .controllers()
        .only_in(&[State::Paused]),
    command("/hapticd/start", Verb::Event(Event::Enable), &[], "The same as `enable`.")
        .controllers()
        .only_in(&[State::Disabled, State::Enabled]),
    command("/hapticd/stop", Verb::Event(Event::Disable), &[], "The same as `disable`.").controllers().only_in(&[
        State::Disabled,
        State::Enabled,
        State::Paused,
    ]),
    command(
        "/hapticd/halt",
        Verb::Halt,
        &[],
        "Zero force now; FAULT, latched. From anyone, at any time, whatever else waits. Not an emergency \
         stop: keep a \
         hardware switch within reach.",
    ),
    command("/hapticd/estop", Verb::Halt, &[], "The same as `halt`."),
    command(
        "/hapticd/fault/list",
        Verb::FaultList,
        &[],
        "Faults, oldest first: all that wait, and the last of those acknowledged.",
    )
    .answers("`fault/list.reply` for each, `fault/list.end`"),
    command(
        "/hapticd/fault/ack",
        Verb::FaultAck,
        &[int("id").optional()],
        "Acknowledges a fault; without a number, the oldest. Leads to DISABLED, never to force; refused \
         while the cause persists.",
    )
    .controllers(),
    command("/hapticd/record/start", Verb::RecordStart, &[text("name").optional()], "Begins a recording.")
        .controllers()
        .answers("`done` with its path"),
    command("/hapticd/record/stop", Verb::RecordStop, &[], "Ends the recording.")
        .controllers()
        .answers("`done` with its path"),
    command("/hapticd/record/mark", Verb::RecordMark, &[text("text")], "Writes a mark into the recording.")
        .controllers(),
    command(
        "/hapticd/servo_cf",
        Verb::Force,
        &[
            float("x", "N"),
            float("y", "N"),
            float("z", "N"),
            float("about x", "N·m").optional(),
            float("about y", "N·m").optional(),
            float("about z", "N·m").optional(),
        ],
        "A force on the hand on top of the scene's, in the device's base frame; torque may be left out. \
         Only when the \
         configuration allows it, from one client at a time. Each message lasts 100 ms; limiter and \
         ledger stay in charge.",
    )
    .controllers()
    .only_in(&[State::Enabled])
    .answers("nothing; `fail` when refused"),
    command(
        "/hapticd/turn",
        Verb::Turn,
        &[float("rate", "rad/s")],
        "Turns the tool about the axis of the scene's `[turning]`, against the clock, while the handle need not turn. Each message \
         lasts 250 ms; 0 ends it. Stalls at the scene's torque.",
    )
    .controllers()
    .only_in(&[State::Enabled])
    .answers("nothing; `fail` when refused"),
    value("/hapticd/state", Verb::State, &[text("state")], "Operating state: DISABLED, ENABLED, PAUSED or FAULT."),
    value("/hapticd/scene/name", Verb::SceneName, &[text("scene")], "Scene in use."),
    value("/hapticd/device/name", Verb::DeviceName, &[text("device")], "Device in use."),
    value(
        "/hapticd/device/state",
        Verb::DeviceState,
        &[text("state")],
        "How it stands: `ready`, or what is wrong, or what is to be done to home it. Sent to every client when it changes.",
    ),
    parameter(
        "/hapticd/coupling/stiffness",
        Verb::Loop(Parameter::Stiffness),
        &[float("stiffness", "N/m")],
        "Spring between handle and proxy.",
    ),
    parameter(
        "/hapticd/coupling/damping",
        Verb::Loop(Parameter::Damping),
        &[float("damping", "N·s/m")],
        "Damper between handle and proxy.",
    ),
    parameter(
        "/hapticd/coupling/angular_stiffness",
        Verb::Loop(Parameter::AngularStiffness),
        &[float("stiffness", "N·m/rad")],
        "Spring of rotation.",
    ),
    parameter(
        "/hapticd/coupling/angular_damping",
        Verb::Loop(Parameter::AngularDamping),
        &[float("damping", "N·m·s/rad")],
        "Damper of rotation.",
    ),
    parameter(
        "/hapticd/scale/force",
        Verb::Loop(Parameter::ForceScale),
        &[float("scale", "")],
        "Hand newtons per scene newton.",
    ),
    parameter(
        "/hapticd/scale/motion",
        Verb::Loop(Parameter::MotionScale),
        &[float("scale", "")],
        "Scene metres per handle metre.",
    ),
    parameter(
        "/hapticd/safety/max_force",
        Verb::Loop(Parameter::MaxForce),
        &[float("force", "N")],
        "Largest force on the hand; never above what device and scene allow.",
    ),
    parameter(
        "/hapticd/safety/max_speed",
        Verb::Loop(Parameter::MaxSpeed),
        &[float("speed", "m/s")],
        "Speed above which the handle is braked; never above what device and scene allow.",
    ),
    parameter(
        "/hapticd/material/NAME/friction",
        Verb::Friction,
        &[float("coefficient", "")],
        "Friction of a material of the scene.",
    ),
    parameter(
        "/hapticd/material/NAME/restitution",
        Verb::Restitution,
        &[float("coefficient", "")],
        "Restitution of a material of the scene.",
    ),
    parameter(
        "/hapticd/operator/works",
        Verb::OperatorWorks,
        &[switch("works")],
        "The simulated operator works, or rests.",
    ),
    parameter(
        "/hapticd/operator/skill",
        Verb::OperatorSkill,
        &[text("skill")],
        "Skill of the simulated operator, from the next load of a scene.",
    ),
    parameter(
        "/hapticd/operator/seed",
        Verb::OperatorSeed,
        &[int("seed")],
        "Seed of the simulated operator, from the next load of a scene.",
    ),
    parameter(
        "/hapticd/replay/plays",
        Verb::ReplayPlays,
        &[switch("plays")],
        "A recording plays, or stands still; only where `hapticd replay --viewer` plays one.",
    ),
    parameter("/hapticd/replay/speed", Verb::ReplaySpeed, &[float("speed", "")], "How fast a recording plays."),
    parameter("/hapticd/replay/place", Verb::ReplayPlace, &[float("time", "s")], "Where a recording is."),
    stream(
        "/hapticd/stream/measured_cp",
        Stream::MeasuredCp,
        &[
            STAMP[0],
            STAMP[1],
            STAMP[2],
            float("x", "m"),
            float("y", "m"),
            float("z", "m"),
            float("qx", ""),
            float("qy", ""),
            float("qz", ""),
            float("qw", ""),
        ],
        "Pose of the handle in the device's base frame: position and unit quaternion.",
    ),
    stream(
        "/hapticd/stream/measured_cv",
        Stream::MeasuredCv,
        &[STAMP[0], STAMP[1], STAMP[2], float("x", "m/s"), float("y", "m/s"), float("z", "m/s")],
        "Velocity of the handle in the device's base frame.",
    ),
    stream(
        "/hapticd/stream/servo_cf",
        Stream::ServoCf,
        &[
            STAMP[0],
            STAMP[1],
            STAMP[2],
            float("x", "N"),
            float("y", "N"),
            float("z", "N"),
            float("about x", "N·m"),
            float("about y", "N·m"),
            float("about z", "N·m"),
        ],
        "Force and torque sent to the device, in its base frame.",
    ),
    stream(
        "/hapticd/stream/contact",
        Stream::Contact,
        &[
            STAMP[0],
            STAMP[1],
            STAMP[2],
            int("contacts"),
            float("penetration", "m"),
            float("x", "m"),
            float("y", "m"),
            float("z", "m"),
        ],
        "Contacts that carry force, deepest overlap of proxy and scene, place of the proxy in the scene.",
    ),
    stream(
        "/hapticd/stream/energy",
        Stream::Energy,
        &[
            STAMP[0],
            STAMP[1],
            STAMP[2],
            float("reserve", "J"),
            float("balance", "J"),
            float("least balance", "J"),
            float("taken", "J"),
            float("given", "J"),
        ],
        "The ledger at the hand: what may still be given, the balance now and at its lowest, energy \
         taken and given.",
    ),
    stream(
        "/hapticd/stream/timing",
        Stream::Timing,
        &[
            STAMP[0],
            STAMP[1],
            STAMP[2],
            float("late", "µs"),
            float("compute", "µs"),
            float("age of the mechanism", "µs"),
            int("sweeps"),
            int("faults"),
        ],
        "How late the tick began, how long it took, how old the simulation's mechanism was, sweeps of \
         the local solver, \
         faults of the tick as bits.",
    ),
    stream(
        "/hapticd/stream/task",
        Stream::Task,
        &[
            STAMP[0],
            STAMP[1],
            STAMP[2],
            text("phase"),
            int("goals met"),
            int("goals"),
            switch("success"),
            float("time", "s"),
        ],
        "Progress of the scene's task.",
    ),
    stream(
        "/hapticd/stream/scene",
        Stream::Scene,
        &[STAMP[0], STAMP[1], STAMP[2], blob("picture")],
        "What a screen shows, as little-endian single-precision numbers: pose of the tool (x y z qx qy qz qw), pose of the \
         handle, force on the hand (3, N), number of contacts n, n times point and force on the tool (3 and 3), number of \
         bodies m, m times a pose; in a demo for two hands force on the second hand and its contacts likewise. All in the \
         scene's frame; bodies in the order of the scene, the first 16 of them.",
    ),
    stream(
        "/hapticd/stream/ticks",
        Stream::Ticks,
        &[int("first tick"), int("count"), blob("ticks")],
        "Every tick since the last packet, as 8 little-endian single-precision numbers each: force (N), force wanted (N), \
         penetration (m), energy reserve (J), lateness (µs), compute time (µs), gain of the ramp, speed of the handle \
         (m/s). Ticks of a packet follow each other without a gap.",
    ),
    stream(
        "/hapticd/stream/skin",
        Stream::Skin,
        &[STAMP[0], STAMP[1], STAMP[2], int("skin"), int("first point"), int("points of the skin"), blob("points")],
        "Bodies that deform, when they have moved: up to 2048 points of one of them, each as 4 little-endian \
         single-precision numbers, its place in the scene's frame (3, m) and the stress there (Pa). A skin of more \
         points comes in several packets. Skins and their triangles are listed in the viewer's `scene.json`.",
    ),
    stream(
        "/hapticd/stream/path",
        Stream::Path,
        &[STAMP[0], STAMP[1], STAMP[2], blob("points")],
        "The needle from its hub to its tip, as little-endian single-precision numbers, three (m) for each of its \
         points; empty while there is none. With the frames of the stream `skin`.",
    ),
    sent("/hapticd/event/state", Kind::Event, &[text("state")], "The operating state changed."),
    sent(
        "/hapticd/event/fault",
        Kind::Event,
        FAULT,
        "A fault happened, was acknowledged, or its data was written. `time` is on the daemon's clock.",
    ),
    sent(
        "/hapticd/event/load",
        Kind::Event,
        &[text("scene"), float("time", "s"), text("doing")],
        "A scene or device is still being loaded: for how long, and what is being done. Every 2 s.",
    ),
    sent(
        "/hapticd/event/task",
        Kind::Event,
        &[text("phase"), int("goals met"), int("goals"), switch("success"), float("time", "s")],
        "The task came further.",
    ),
    sent(
        "/hapticd/done",
        Kind::Reply,
        &[text("address")],
        "What was asked at this address is done; further arguments say more.",
    ),
    sent(
        "/hapticd/fail",
        Kind::Reply,
        &[text("address"), int("code"), text("text")],
        "What was asked at this address was not done, and why.",
    ),
    sent(
        "/hapticd/version.reply",
        Kind::Reply,
        &[text("program"), text("version"), int("table")],
        "`table` counts incompatible changes of this page.",
    ),
    sent(
        "/hapticd/status.reply",
        Kind::Reply,
        &[
            text("state"),
            text("scene"),
            text("device"),
            float("nominal rate", "Hz"),
            float("rate", "Hz"),
            float("late p99.9", "µs"),
            int("overruns"),
            int("active faults"),
            switch("homed"),
            switch("busy"),
            switch("real-time"),
            float("simulation rate", "Hz"),
            float("uptime", "s"),
            text("recording"),
        ],
        "The daemon at a glance; `recording` is a path, or empty.",
    ),
    sent(
        "/hapticd/pong",
        Kind::Reply,
        &[int("n"), text("version"), argument("seconds", Type::Int, "s"), argument("nanoseconds", Type::Int, "ns")],
        "With the time on the daemon's clock.",
    ),
    sent(
        "/hapticd/lease/number",
        Kind::Reply,
        &[int("number")],
        "To be sent back with `lease/confirm`; until then neither events nor streams are sent.",
    ),
    sent("/hapticd/synced", Kind::Reply, &[int("id")], "Everything asked before is done."),
    sent("/hapticd/scene/list.reply", Kind::Reply, &[text("scene")], "A scene that can be loaded."),
    sent("/hapticd/scene/list.end", Kind::Reply, &[int("count")], "That was all."),
    sent("/hapticd/device/list.reply", Kind::Reply, &[text("device")], "A device that can be opened."),
    sent("/hapticd/device/list.end", Kind::Reply, &[int("count")], "That was all."),
    sent(
        "/hapticd/fault/list.reply",
        Kind::Reply,
        FAULT,
        "A fault; `data` is a file with what happened before and after, or empty.",
    ),
    sent("/hapticd/fault/list.end", Kind::Reply, &[int("count")], "That was all."),
];
