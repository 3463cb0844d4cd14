//! The keys of the configuration; read by `files/config.rs`.
//!
//! Thread: cold.

use super::{ANY_LENGTH, Key, Keys, Kind, Schema};
use crate::files::document::Format;
use crate::files::quantity::Dimension;

/// Configuration files.
pub static CONFIG: Schema = Schema {
    format: Format::CONFIG,
    title: "The configuration file",
    about: "\
The configuration of the daemon, in TOML. Every key but `format` may be left out. Unknown keys are refused. The shipped one,
`config/hapticd.toml`, states all defaults. Paths are relative to the file.
",
    root: &ROOT,
};

/// A text that can be a path.
const PATH: Kind = Kind::Text(r"^[^\u0000]*[^\s\u0000][^\u0000]*$", ANY_LENGTH);

static ROOT: Keys = Keys {
    heading: "Top of the file",
    about: "What stands above the first `[table]`, and the tables themselves.",
    keys: &[
        Key::table("realtime", &REALTIME, "How the haptic thread is scheduled").optional("its defaults"),
        Key::table("paths", &PATHS, "Where files are looked for").optional("its defaults"),
        Key::table("defaults", &DEFAULTS, "What runs when nothing is asked for").optional("its defaults"),
        Key::table("log", &LOG, "What the daemon says").optional("its defaults"),
    ],
    choices: &[],
};

static REALTIME: Keys = Keys {
    heading: "[realtime]",
    about: "How the haptic thread is scheduled.",
    keys: &[
        Key::new("priority", Kind::Integer(1, 99), "80", "Priority of the haptic thread under `SCHED_FIFO`").or("80"),
        Key::new("cpu", Kind::Integer(0, 1023), "3", "Processor the haptic thread is kept on")
            .optional("any processor"),
        Key::new(
            "spin",
            Kind::Quantity(Dimension::Time),
            "\"100 us\"",
            "How long before each tick the thread wakes and spins",
        )
        .not_negative()
        .at_most(1e-3)
        .or("\"0 us\""),
        Key::new("lock_memory", Kind::Boolean, "true", "Keep all memory of the process in RAM").or("true"),
    ],
    choices: &[],
};

static PATHS: Keys = Keys {
    heading: "[paths]",
    about: "Where files are looked for, relative to this file.",
    keys: &[
        Key::new("scenes", PATH, "\"../scenes\"", "Directory of scenes").or("\"scenes\""),
        Key::new("devices", PATH, "\"../devices\"", "Directory of device files").or("\"devices\""),
    ],
    choices: &[],
};

static DEFAULTS: Keys = Keys {
    heading: "[defaults]",
    about: "What runs when nothing is asked for: a name, or the path of a file.",
    keys: &[
        Key::new("scene", PATH, "\"bolting\"", "Scene").or("\"bolting\""),
        Key::new("device", PATH, "\"simulated-6dof\"", "Device").or("\"simulated-6dof\""),
    ],
    choices: &[],
};

static LOG: Keys = Keys {
    heading: "[log]",
    about: "What the daemon says.",
    keys: &[Key::new(
        "level",
        Kind::Word(&["error", "warn", "info", "debug", "trace"]),
        "\"info\"",
        "How much is logged: what makes it stop, what to look at, what happens, why it happens, everything",
    )
    .or("\"info\"")],
    choices: &[],
};
