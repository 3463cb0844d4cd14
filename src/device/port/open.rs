//! Why a port cannot be opened, said so that a person knows what to do.
//!
//! Thread: cold.

#![expect(clippy::disallowed_types, clippy::disallowed_macros, reason = "ports are opened by cold threads")]

use rustix::io::Errno;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Most processes that are named as holders of a port.
const HOLDERS_NAMED: usize = 4;

/// Why a port could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenFault {
    /// Nothing is there.
    #[error("no device at {0}: look at cable and power; `hapticd devices` lists what is connected")]
    Missing(String),
    /// The user may not.
    #[error(
        "{place} may not be opened by this user: it belongs to the group {group}. `sudo usermod -aG {group} \"$USER\"` and a \
         new login, or the udev rules (systemd/70-hapticd.rules, installed by systemd/install.sh), give the right to it"
    )]
    Denied {
        /// What was to be opened.
        place: String,
        /// The group that may.
        group: String,
    },
    /// Someone else has it.
    #[error(
        "{place} is in use{by}; end that first. A ModemManager without the udev rules takes every new serial port for a while"
    )]
    Busy {
        /// What was to be opened.
        place: String,
        /// " by …", where that can be seen.
        by: String,
    },
    /// No service listens.
    #[error(
        "no service answers at {0}: start the one that came with the device (`systemctl start haply-inverse-service`), or say \
         with --port where it listens; `hapticd emulate inverse3` plays one"
    )]
    NoService(String),
    /// What was given is no address.
    #[error("{0} is no address of a service: write one such as 127.0.0.1:10001, with numbers")]
    NoAddress(String),
    /// The service is not on this machine, and no file says that it may be.
    #[error(
        "{0} is on another machine: to drive a device over a network, which may lose and delay its forces, write \
         port = \"{0}\" under [connection] in a device file of your own"
    )]
    Elsewhere(String),
    /// It is not what it should be.
    #[error("{place} is no {wanted}: give the path of one, or change the driver in the device file")]
    Wrong {
        /// What was to be opened.
        place: String,
        /// "serial port", "raw HID node", "WebSocket service".
        wanted: &'static str,
    },
    /// Something else.
    #[error("{place} cannot be opened: {why}")]
    Failed {
        /// What was to be opened.
        place: String,
        /// The system's word.
        why: String,
    },
}

impl OpenFault {
    /// What the system said when this was to be opened; `group` is the one that udev gives such nodes to.
    #[must_use]
    pub fn of(path: &Path, error: Errno, group: &str) -> Self {
        let place = path.display().to_string();
        match error {
            Errno::NOENT | Errno::NODEV | Errno::NXIO => Self::Missing(place),
            Errno::ACCESS | Errno::PERM => {
                Self::Denied { place, group: group_of(path).unwrap_or_else(|| group.into()) }
            }
            Errno::BUSY | Errno::AGAIN => Self::Busy { place, by: by(&holders(path)) },
            other => Self::Failed { place, why: other.to_string() },
        }
    }

    /// True when it may go away by itself: worth another try.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::NoService(_) | Self::Busy { .. } | Self::Failed { .. })
    }
}

fn by(holders: &[String]) -> String {
    match holders {
        [] => ", by whom this user cannot see".into(),
        list => format!(" by {}", list.join(", ")),
    }
}

/// Name of the group that a node belongs to, unless that is root's.
fn group_of(path: &Path) -> Option<String> {
    let gid = std::fs::metadata(path).ok()?.gid();
    let groups = std::fs::read_to_string("/etc/group").ok()?;
    let line = groups.lines().find(|line| line.split(':').nth(2) == Some(&gid.to_string()))?;
    (gid != 0).then(|| line.split(':').next().unwrap_or_default().to_owned())
}

/// Processes that have this file open, as far as this user can see: "name (process 123)".
#[must_use]
pub fn holders(path: &Path) -> Vec<String> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if id == std::process::id() || !holds(&process.path().join("fd"), &real) {
            continue;
        }
        let name = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
        found.push(format!("{} (process {id})", name.trim()));
        if found.len() == HOLDERS_NAMED {
            break;
        }
    }
    found
}

fn holds(descriptors: &Path, real: &PathBuf) -> bool {
    let open = std::fs::read_dir(descriptors).into_iter().flatten().flatten();
    open.into_iter().any(|entry| std::fs::read_link(entry.path()).is_ok_and(|target| target == *real))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_says_what_to_do() {
        let path = Path::new("/nowhere/ttyACM0");
        let said = |error| OpenFault::of(path, error, "dialout").to_string();
        assert!(said(Errno::NOENT).contains("hapticd devices"));
        let denied = said(Errno::ACCESS);
        assert!(denied.contains("usermod -aG dialout") && denied.contains("systemd/70-hapticd.rules"), "{denied}");
        assert!(said(Errno::BUSY).contains("in use, by whom this user cannot see"), "{}", said(Errno::BUSY));
        assert!(by(&["ModemManager (process 7)".into()]).contains("by ModemManager"));
        assert!(OpenFault::of(path, Errno::NOENT, "").may_pass() && !OpenFault::of(path, Errno::ACCESS, "").may_pass());
    }
}
