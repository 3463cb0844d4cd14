//! The daemon's configuration: `format = "hapticd-config/1"` to a [`Config`].
//!
//! Thread: cold.
//!
//! Every key has a default, so an empty configuration is a working one. Paths in a file are relative to that file.

use super::diagnostic::Report;
use super::document::{Format, LoadError, Loaded, load as load_file, read};
use super::quantity::Dimension;
use super::table::Table;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

/// Highest processor number accepted.
const CPU_MAX: i64 = 1023;
/// Longest spin before a tick, s: one period of the slowest useful loop.
const SPIN_MAX_S: f64 = 1e-3;

/// Most megabytes, and most files, that a limit may name.
const MEGABYTES_MAX: i64 = 1_000_000;

/// How much the daemon says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// What makes it stop.
    Error,
    /// What an operator should look at.
    Warn,
    /// What happens.
    Info,
    /// Why it happens.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    const WORDS: [(&str, Self); 5] = [
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
        ("trace", Self::Trace),
    ];

    /// As written in the file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// How the haptic thread is scheduled.
#[derive(Clone, Debug, PartialEq)]
pub struct Realtime {
    /// Priority under `SCHED_FIFO`, 1 to 99.
    pub priority: u8,
    /// Processor the haptic thread is kept on; any when `None`.
    pub cpu: Option<u16>,
    /// How long before each tick the thread wakes and spins, s.
    pub spin_s: f64,
    /// Keep all memory of the process in RAM.
    pub lock_memory: bool,
}

/// Who may drive the daemon, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Osc {
    /// Address the ports are opened on.
    pub listen: IpAddr,
    /// UDP port for OSC; 0 for any free one.
    pub port: u16,
    /// TCP port for OSCQuery and metrics; 0 for any free one.
    pub query_port: u16,
    /// Addresses and networks that may send, besides this machine. Each has been checked.
    pub allow: Vec<String>,
    /// Addresses and networks that may ask but not change.
    pub read_only: Vec<String>,
    /// Clients may push the hand directly.
    pub raw_force: bool,
    /// Receivers beyond this machine confirm before streams and events go there.
    pub confirm: bool,
}

/// The page that shows the scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Viewer {
    /// There is one.
    pub enabled: bool,
    /// TCP port; 0 for any free one.
    pub port: u16,
}

/// How much room recordings may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recordings {
    /// A file that has grown to this size is closed and the next one begun, MB.
    pub file_mb: u32,
    /// Files that are kept, the newest; all when `None`.
    pub keep: Option<u32>,
    /// Room that stays free on the disk, MB.
    pub free_mb: u32,
}

/// Everything in a configuration file.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How the haptic thread is scheduled.
    pub realtime: Realtime,
    /// Where scenes are looked for by name.
    pub scenes: PathBuf,
    /// Where device files are looked for by name.
    pub devices: PathBuf,
    /// Where fault data and recordings go, if the file says.
    pub state: Option<PathBuf>,
    /// Scene when none is asked for.
    pub scene: String,
    /// Device when none is asked for.
    pub device: String,
    /// Who may drive the daemon, and where.
    pub osc: Osc,
    /// The page that shows the scene.
    pub viewer: Viewer,
    /// How much room recordings may take.
    pub recordings: Recordings,
    /// How much is logged.
    pub log_level: LogLevel,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            realtime: Realtime { priority: 80, cpu: None, spin_s: 0.0, lock_memory: true },
            scenes: PathBuf::from("scenes"),
            devices: PathBuf::from("devices"),
            state: None,
            scene: "peg_primitive".to_owned(),
            device: "simulated-6dof".to_owned(),
            osc: Osc {
                listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
                port: 9740,
                query_port: 9741,
                allow: Vec::new(),
                read_only: Vec::new(),
                raw_force: false,
                confirm: true,
            },
            viewer: Viewer { enabled: true, port: 9742 },
            recordings: Recordings { file_mb: 1000, keep: None, free_mb: 250 },
            log_level: LogLevel::Info,
        }
    }
}

/// Reads a configuration; `name` is what it is called in the report. Paths stay as written.
///
/// # Errors
/// A [`Report`] with every problem found.
pub fn parse(bytes: &[u8], name: &str) -> Result<Loaded<Config>, Report> {
    read(bytes, name, Format::CONFIG, |root| Some(config(root)))
}

/// Reads the configuration at `path`. Its relative paths start at its own directory.
///
/// # Errors
/// [`LoadError`] says whether it could not be read or what is wrong in it.
pub fn load(path: &Path) -> Result<Loaded<Config>, LoadError> {
    let mut loaded = load_file(path, parse)?;
    let base = path.parent().unwrap_or(Path::new(""));
    loaded.value.scenes = base.join(&loaded.value.scenes);
    loaded.value.devices = base.join(&loaded.value.devices);
    loaded.value.state = loaded.value.state.map(|state| base.join(state));
    Ok(loaded)
}

fn config(root: &Table<'_>) -> Config {
    let default = Config::default();
    let paths = root.section("paths");
    let defaults = root.section("defaults");
    let path = |key: &str| {
        let written = paths.string(key).check(|text| is_path(text), "the path of a directory").optional();
        written.map(PathBuf::from)
    };
    let name = |key: &str, default: String| {
        defaults.string(key).check(|text| is_path(text), "a name, or the path of a file").or(default)
    };
    Config {
        realtime: realtime(&root.section("realtime"), default.realtime),
        scenes: path("scenes").unwrap_or(default.scenes),
        devices: path("devices").unwrap_or(default.devices),
        state: path("state"),
        scene: name("scene", default.scene),
        device: name("device", default.device),
        osc: osc(&root.section("osc"), default.osc),
        viewer: viewer(&root.section("viewer"), default.viewer),
        recordings: recordings(&root.section("recordings"), default.recordings),
        log_level: root.section("log").word("level", &LogLevel::WORDS).or(default.log_level),
    }
}

fn viewer(table: &Table<'_>, default: Viewer) -> Viewer {
    Viewer { enabled: table.boolean("enabled").or(default.enabled), port: port(table, "port").unwrap_or(default.port) }
}

fn recordings(table: &Table<'_>, default: Recordings) -> Recordings {
    let number = |key: &str, least: i64| {
        table.integer(key, least..=MEGABYTES_MAX).optional().and_then(|number| u32::try_from(number).ok())
    };
    Recordings {
        file_mb: number("file_mb", 1).unwrap_or(default.file_mb),
        keep: number("keep", 1).or(default.keep),
        free_mb: number("free_mb", 0).unwrap_or(default.free_mb),
    }
}

fn port(table: &Table<'_>, key: &str) -> Option<u16> {
    table.integer(key, 0..=i64::from(u16::MAX)).optional().and_then(|n| u16::try_from(n).ok())
}

fn osc(table: &Table<'_>, default: Osc) -> Osc {
    let networks = |key: &str| {
        let wanted = "addresses or networks, such as \"192.168.1.0/24\"; this is not an address";
        table.strings(key).check(|all| all.iter().all(|text| is_network(text)), wanted).or(Vec::new())
    };
    let wanted = "an IP address, such as \"127.0.0.1\"; this is not an address";
    let listen = table.string("listen").check(|text| text.parse::<IpAddr>().is_ok(), wanted).optional();
    let listen = listen.and_then(|text| text.parse().ok()).unwrap_or(default.listen);
    let allow = networks("allow");
    if let Some(wide) = allow.iter().find(|text| is_wide(text)) {
        let message =
            format!("`{wide}` lets machines of the whole internet in, and nothing is encrypted or authenticated");
        table.warn("allow", &message, "name the network of the laboratory, such as \"192.168.1.0/24\"");
    }
    if !listen.is_loopback() && allow.is_empty() {
        table.error(
            "listen",
            "this listens beyond loopback, and nobody is allowed to come",
            "add who may send, such as allow = [\"192.168.1.0/24\"], or listen on \"127.0.0.1\"",
        );
    }
    Osc {
        listen,
        port: port(table, "port").unwrap_or(default.port),
        query_port: port(table, "query_port").unwrap_or(default.query_port),
        read_only: networks("read_only"),
        raw_force: table.boolean("raw_force").or(default.raw_force),
        confirm: table.boolean("confirm").or(default.confirm),
        allow,
    }
}

/// True for a network that is more than any laboratory has: a prefix of fewer than 8 bits, or of fewer than 16 with IPv6.
fn is_wide(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let (Ok(address), Ok(length)) = (address.parse::<IpAddr>(), length.parse::<u32>()) else { return false };
    match address {
        IpAddr::V4(_) => length < 8,
        // Unique local addresses, fc00::/7, are of no use on the internet.
        IpAddr::V6(address) => length < 16 && !(address.is_unique_local() && length >= 7),
    }
}

/// An address, alone or with the length of a prefix beyond which no bit is set.
fn is_network(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return text.parse::<IpAddr>().is_ok() };
    // Digits alone: Rust would take a sign, and no schema could say so.
    let digits = length.len() <= 3 && length.bytes().all(|byte| byte.is_ascii_digit());
    let (Ok(address), Ok(length), true) = (address.parse::<IpAddr>(), length.parse::<u32>(), digits) else {
        return false;
    };
    let (bits, width) = match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    };
    length <= width && bits.trailing_zeros() >= width - length
}

fn is_path(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains('\0')
}

fn realtime(table: &Table<'_>, default: Realtime) -> Realtime {
    let priority = table.integer("priority", 1..=99).optional();
    let cpu = table.integer("cpu", 0..=CPU_MAX).optional();
    Realtime {
        priority: priority.and_then(|n| u8::try_from(n).ok()).unwrap_or(default.priority),
        cpu: cpu.and_then(|n| u16::try_from(n).ok()).or(default.cpu),
        spin_s: table.quantity("spin", Dimension::Time).not_negative().at_most(SPIN_MAX_S).or(default.spin_s),
        lock_memory: table.boolean("lock_memory").or(default.lock_memory),
    }
}
