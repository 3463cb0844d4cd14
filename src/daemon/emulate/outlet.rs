//! Where an emulated device is plugged in: a pseudo-terminal for serial lines, a socket that keeps messages apart for HIDs,
//! a WebSocket service for a device that has one.
//!
//! Thread: main.

use super::service::Service;
use crate::device::port::find::Bus;
use crate::shared::realtime::{SystemClock, sleep_until};
use crate::shared::{Clock as _, MonoNs, NS_PER_S};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The port, as long as the device is plugged in.
enum Plug {
    Terminal { master: OwnedFd, place: PathBuf },
    Socket { listener: OwnedFd, host: Option<OwnedFd>, place: PathBuf },
    Service(Service),
}

/// See the file's head.
pub(super) struct Outlet {
    bus: Bus,
    /// Where its service listens whenever it does.
    address: Option<SocketAddr>,
    /// What the port is called for as long as the program runs.
    link: Option<PathBuf>,
    plug: Option<Plug>,
    /// The other end of the terminal is closed: waiting for it would return at once.
    hung: bool,
}

impl Outlet {
    /// A port for a device of this driver.
    pub(super) fn open(driver: &str, link: Option<PathBuf>) -> Result<Self, String> {
        let bus = Bus::of(driver);
        let socket = || std::env::temp_dir().join(format!("hapticd-{driver}-{}.socket", std::process::id()));
        let link = if bus == Bus::Hid { Some(link.unwrap_or_else(socket)) } else { link };
        let mut outlet = Self { bus, address: None, link, plug: None, hung: false };
        outlet.plug()?;
        Ok(outlet)
    }

    /// What a host opens.
    pub(super) fn place(&self) -> String {
        let own = match &self.plug {
            Some(Plug::Terminal { place, .. } | Plug::Socket { place, .. }) => Some(place),
            Some(Plug::Service(_)) | None => None,
        };
        if let Some(address) = self.address {
            return address.to_string();
        }
        self.link.as_ref().or(own).map(|path| path.display().to_string()).unwrap_or_default()
    }

    pub(super) fn is_plugged(&self) -> bool {
        self.plug.is_some()
    }

    /// Takes the port away, as a pulled cable does.
    pub(super) fn unplug(&mut self) {
        if let (Some(Plug::Terminal { .. }), Some(link)) = (&self.plug, &self.link) {
            let _ = std::fs::remove_file(link);
        }
        self.plug = None;
    }

    /// Makes the port anew.
    pub(super) fn plug(&mut self) -> Result<(), String> {
        let plug = match &self.link {
            Some(path) if self.bus == Bus::Hid => socket(path)?,
            _ if self.bus == Bus::Service => {
                let service = Service::open(self.address)?;
                self.address = service.place();
                Plug::Service(service)
            }
            _ => terminal().map_err(|error| format!("no pseudo-terminal can be made: {error}"))?,
        };
        match (&plug, &self.link, self.address) {
            (Plug::Terminal { place, .. }, Some(link), _) => point(link, place)?,
            // Leads nowhere, and says where.
            (Plug::Service(_), Some(link), Some(address)) => point(link, Path::new(&address.to_string()))?,
            _ => {}
        }
        (self.plug, self.hung) = (Some(plug), false);
        Ok(())
    }

    /// Bytes from the host; zero when there are none, or no host.
    pub(super) fn read(&mut self, into: &mut [u8]) -> usize {
        match &mut self.plug {
            None => 0,
            Some(Plug::Service(service)) => service.read(into),
            Some(Plug::Terminal { master, .. }) => {
                let got = rustix::io::read(&*master, into);
                self.hung = got == Err(Errno::IO);
                got.unwrap_or(0)
            }
            Some(Plug::Socket { listener, host, .. }) => {
                let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
                let Some(end) = host.as_ref() else {
                    *host = accept_with(&*listener, flags).ok();
                    return 0;
                };
                match rustix::io::read(end, into) {
                    Ok(0) => *host = None,
                    Ok(count) => return count,
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(_) => *host = None,
                }
                0
            }
        }
    }

    /// Bytes to the host; lost when it does not take them, as on any line.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        let _ = match &mut self.plug {
            Some(Plug::Service(service)) => {
                service.write(bytes);
                Ok(0)
            }
            Some(Plug::Terminal { master, .. }) => rustix::io::write(master, bytes),
            Some(Plug::Socket { host: Some(host), .. }) => rustix::io::write(host, bytes),
            Some(Plug::Socket { host: None, .. }) | None => Ok(0),
        };
    }

    /// The speed that the host has set; a socket has none.
    pub(super) fn baud(&self) -> Option<u32> {
        match &self.plug {
            Some(Plug::Terminal { master, .. }) => tcgetattr(master).ok().map(|settings| settings.output_speed()),
            _ => None,
        }
    }

    /// Waits for bytes until `until`.
    pub(super) fn wait(&self, until: MonoNs) {
        let fd = match &self.plug {
            Some(Plug::Terminal { master, .. }) if !self.hung => master.as_fd(),
            Some(Plug::Socket { listener, host, .. }) => host.as_ref().unwrap_or(listener).as_fd(),
            Some(Plug::Service(service)) => service.as_fd(),
            _ => return sleep_until(until),
        };
        let left_ns = until.since(SystemClock.now());
        // Much less than a second.
        let left = Timespec { tv_sec: 0, tv_nsec: left_ns.min(NS_PER_S - 1).cast_signed() };
        let _ = poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&left));
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        if let Some(link) = &self.link {
            let _ = std::fs::remove_file(link);
        }
    }
}

fn terminal() -> Result<Plug, Errno> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    fcntl_setfl(&master, OFlags::RDWR | OFlags::NONBLOCK)?;
    // Raw from the beginning: nothing that a host sends before it has set the line up itself may be echoed.
    let mut settings = tcgetattr(&master)?;
    settings.make_raw();
    tcsetattr(&master, OptionalActions::Now, &settings)?;
    let name = ptsname(&master, Vec::new())?;
    Ok(Plug::Terminal { place: PathBuf::from(name.to_string_lossy().into_owned()), master })
}

fn socket(path: &Path) -> Result<Plug, String> {
    let failed = |error: Errno| format!("no socket can be made at {}: {error}", path.display());
    let listener = || -> Result<OwnedFd, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        // What a program of the same name has left behind.
        let _ = std::fs::remove_file(path);
        bind(&listener, &SocketAddrUnix::new(path)?)?;
        listen(&listener, 1)?;
        Ok(listener)
    };
    Ok(Plug::Socket { listener: listener().map_err(failed)?, host: None, place: path.to_owned() })
}

/// Makes `link` point to `place`, in one step for whoever looks. A file that is no link is left alone.
fn point(link: &Path, place: &Path) -> Result<(), String> {
    if std::fs::symlink_metadata(link).is_ok_and(|there| !there.is_symlink()) {
        return Err(format!("{} exists and is no symbolic link; give another path", link.display()));
    }
    let mut fresh = link.as_os_str().to_owned();
    fresh.push(format!(".{}", std::process::id()));
    std::os::unix::fs::symlink(place, &fresh)
        .and_then(|()| std::fs::rename(&fresh, link))
        .map_err(|error| format!("the link {} cannot be made: {error}", link.display()))
}
