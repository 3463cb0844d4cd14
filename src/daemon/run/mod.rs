//! `hapticd run`: the daemon.
//!
//! Thread: control, but for what the parts start.
//!
//! ```text
//!  halts, on the thread that receives them ──► the switch of the haptic loop   [halt_line] [listener] [web_thread]
//!  sockets, signals, systemd ──► service: one loop on one thread   [service] [slice] [sockets] [web] [viewer] [notify] [log]
//!        hub (crate::control) ──► Plant ──► supervisor             [plant] [supervisor] [upkeep] [metrics]
//!                                             │ one rig: the threads of the scene      [rig] [device] [catalogue]
//!                                             │ requests that wait for an answer       [requests] [settings]
//!                                             │ errands for cold threads               [errands] [recording]
//!                                             │ faults, and the ticks around them      [faults] [trips] [black_box]
//!                                             └ the task                               [task]
//! ```

mod black_box;
mod catalogue;
mod device;
mod errands;
mod faults;
mod halt_line;
mod listener;
mod log;
mod meter;
mod metrics;
mod notify;
mod plant;
mod recording;
mod requests;
mod rig;
mod service;
mod settings;
mod slice;
mod sockets;
pub(super) mod state_dir;
mod supervisor;
mod task;
mod trips;
mod upkeep;
mod viewer;
mod web;
mod web_thread;

pub use black_box::COLUMNS as FAULT_DATA_COLUMNS;
pub(super) use black_box::utc;
pub use faults::{NOTICES, Notice};
pub(super) use meter::RateMeter;
pub use trips::ENDED;
pub(super) use viewer::{Call, Viewer, open as open_viewer};

use super::Failure;
use crate::files::config::{self, Config};
use crate::files::{LoadError, Loaded, Problems, Report, SIZE_MAX};
use crate::shared::ordinary_file;
use std::path::{Path, PathBuf};

/// Where the configuration lies if nobody says otherwise.
pub const CONFIG_PATH: &str = "/etc/hapticd/hapticd.toml";

/// What was asked for on the command line.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Configuration instead of [`CONFIG_PATH`].
    pub config: Option<PathBuf>,
    /// Scene instead of the configuration's.
    pub scene: Option<String>,
    /// Device instead of the configuration's.
    pub device: Option<String>,
    /// Port of the device instead of its file's.
    pub device_port: Option<PathBuf>,
    /// OSC port instead of the configuration's; 0 for any free one.
    pub port: Option<u16>,
    /// OSCQuery port instead of the configuration's; 0 for any free one.
    pub query_port: Option<u16>,
    /// Viewer's port instead of the configuration's; 0 for any free one.
    pub viewer_port: Option<u16>,
    /// Run also without real-time rights.
    pub allow_no_rt: bool,
    /// Record from the first tick on, with this word in the name of the file if it is not empty.
    pub record: Option<String>,
}

impl RunOptions {
    /// Reads the configuration: the one named, else the machine's, else the built-in one.
    ///
    /// # Errors
    /// When it is named and missing, or wrong.
    pub fn configuration(&self) -> Result<Loaded<Config>, LoadError> {
        let mut loaded = match self.configuration_file() {
            Some(path) => config::load(path)?,
            None => Loaded { value: Config::default(), warnings: Report::new("", "", Problems::default()) },
        };
        let config = &mut loaded.value;
        config.scene = self.scene.clone().unwrap_or_else(|| config.scene.clone());
        config.device = self.device.clone().unwrap_or_else(|| config.device.clone());
        config.osc.port = self.port.unwrap_or(config.osc.port);
        config.osc.query_port = self.query_port.unwrap_or(config.osc.query_port);
        config.viewer.port = self.viewer_port.unwrap_or(config.viewer.port);
        Ok(loaded)
    }

    /// The configuration file: the one named, else the machine's, if there is one.
    fn configuration_file(&self) -> Option<&Path> {
        let machine = Path::new(CONFIG_PATH);
        self.config.as_deref().or_else(|| machine.exists().then_some(machine))
    }

    /// The configuration as it stands in its file, to be kept with recordings; empty without one.
    fn configuration_text(&self) -> String {
        // One that cannot be read has been refused before.
        let bytes = self.configuration_file().and_then(|path| ordinary_file::read(path, SIZE_MAX as u64).ok());
        bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }
}

/// Runs the daemon until a signal ends it.
///
/// # Errors
/// What kept it from starting, or made it end.
pub fn run(options: &RunOptions) -> Result<(), Failure> {
    service::run(options)
}
