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
        Key::table("osc", &OSC, "Who may drive the daemon, and where").optional("its defaults"),
        Key::table("viewer", &VIEWER, "The page that shows the scene").optional("its defaults"),
        Key::table("recordings", &RECORDINGS, "How much room recordings may take").optional("its defaults"),
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
        Key::new("state", PATH, "\"/var/lib/hapticd\"", "Directory for fault data, recordings and calibrations")
            .optional(
                "`$STATE_DIRECTORY` if systemd sets it, else `$XDG_STATE_HOME/hapticd`, else `~/.local/state/hapticd`",
            ),
    ],
    choices: &[],
};

static DEFAULTS: Keys = Keys {
    heading: "[defaults]",
    about: "What runs when nothing is asked for: a name, or the path of a file.",
    keys: &[
        Key::new("scene", PATH, "\"peg_primitive\"", "Scene").or("\"peg_primitive\""),
        Key::new("device", PATH, "\"simulated-6dof\"", "Device").or("\"simulated-6dof\""),
    ],
    choices: &[],
};

/// A text of the letters an address is made of, alone or with the length of a prefix.
const ADDRESS: &str = r"^[0-9A-Fa-f:.]+$";
const NETWORK: &str = r"^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$";

static OSC: Keys = Keys {
    heading: "[osc]",
    about: "Where the daemon listens, and whom it obeys. Beyond loopback, `allow` must say who may come.",
    keys: &[
        Key::new("listen", Kind::Text(ADDRESS, ANY_LENGTH), "\"127.0.0.1\"", "Address the ports are opened on")
            .or("\"127.0.0.1\""),
        Key::new("port", Kind::Integer(0, 65535), "9740", "UDP port for OSC; 0 for any free one").or("9740"),
        Key::new(
            "query_port",
            Kind::Integer(0, 65535),
            "9741",
            "TCP port for OSCQuery and metrics; 0 for any free one",
        )
        .or("9741"),
        Key::new("allow", Kind::Texts(NETWORK), "[\"192.168.1.0/24\"]", "Who may send, besides this machine").or("[]"),
        Key::new(
            "read_only",
            Kind::Texts(NETWORK),
            "[\"192.168.1.7\"]",
            "Who may ask but not change; `halt` is always obeyed",
        )
        .or("[]"),
        Key::new("raw_force", Kind::Boolean, "false", "Clients may push the hand directly, for a bounded time")
            .or("false"),
        Key::new(
            "confirm",
            Kind::Boolean,
            "true",
            "Streams and events to other machines begin when the receiver has sent back a number",
        )
        .or("true"),
    ],
    choices: &[],
};

static VIEWER: Keys = Keys {
    heading: "[viewer]",
    about: "The page that shows the scene in a browser. It is served where `[osc]` listens, to whom `[osc]` allows.",
    keys: &[
        Key::new("enabled", Kind::Boolean, "true", "There is one").or("true"),
        Key::new("port", Kind::Integer(0, 65535), "9742", "TCP port of the page; 0, or when it is taken, any free one")
            .or("9742"),
    ],
    choices: &[],
};

static RECORDINGS: Keys = Keys {
    heading: "[recordings]",
    about: "How much room recordings of the service may take. At 1 kHz one grows by 1.6 to 3 MB a second.",
    keys: &[
        Key::new(
            "file_mb",
            Kind::Integer(1, 1_000_000),
            "1000",
            "Size in MB at which a file is closed and the next one begun",
        )
        .or("1000"),
        Key::new("keep", Kind::Integer(1, 1_000_000), "20", "Files that are kept; when there are more, the oldest go")
            .optional("all"),
        Key::new(
            "free_mb",
            Kind::Integer(0, 1_000_000),
            "250",
            "Room in MB that stays free on the disk: a recording ends there, and none begins",
        )
        .or("250"),
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
