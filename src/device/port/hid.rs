//! Raw HID nodes: one report per message, its number first.
//!
//! Thread: device I/O; opened by cold threads.
//!
//! The kernel's `hidraw` is used as it is: a read gives one whole report, a write sends one, and both can be waited for together
//! with a bell. A socket that keeps messages apart (`SOCK_SEQPACKET`) looks the same, and stands in for a node where there is
//! no such device: `hapticd emulate` offers one.

use super::{Bell, OpenFault, Port, PortFault, read_now, wait_readable, write_all};
use crate::device::guardian::GuardLine;
use crate::device::wire::{LineOrder, MESSAGE_MAX};
use crate::shared::MonoNs;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, flock, open, stat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::path::Path;

/// The group that raw HID nodes of haptic devices belong to.
const GROUP: &str = "plugdev";
/// Reports that may be waiting at once when they are thrown away.
const WAITING: usize = 64;

/// An open HID.
pub struct HidPort {
    fd: OwnedFd,
}

impl HidPort {
    /// Opens a node such as `/dev/hidraw0`, or a socket that stands in for one.
    ///
    /// # Errors
    /// [`OpenFault`] says why not, and what to do.
    pub fn open(path: &Path) -> Result<Self, OpenFault> {
        let fault = |error: Errno| OpenFault::of(path, error, GROUP);
        let kind = FileType::from_raw_mode(stat(path).map_err(fault)?.st_mode);
        let fd = match kind {
            FileType::CharacterDevice => {
                let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let fd = open(path, flags, Mode::empty()).map_err(fault)?;
                flock(&fd, FlockOperation::NonBlockingLockExclusive).map_err(fault)?;
                fd
            }
            FileType::Socket => stand_in(path).map_err(|error| match error {
                // Nobody listens: what is left of a device that is no more.
                Errno::CONNREFUSED => OpenFault::Missing(path.display().to_string()),
                error => fault(error),
            })?,
            _ => return Err(OpenFault::Wrong { place: path.display().to_string(), wanted: "raw HID node" }),
        };
        Ok(Self { fd })
    }
}

fn stand_in(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let fd = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    connect(&fd, &SocketAddrUnix::new(path)?)?;
    Ok(fd)
}

impl Port for HidPort {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, PortFault> {
        read_now(&self.fd, into)
    }

    fn write(&mut self, message: &[u8], until: MonoNs) -> Result<(), PortFault> {
        write_all(&self.fd, message, until)
    }

    fn order(&mut self, order: LineOrder) -> Result<(), PortFault> {
        if order == LineOrder::Purge {
            let mut report = [0; MESSAGE_MAX];
            for _ in 0..WAITING {
                if self.read(&mut report)? == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    fn wait(&mut self, bell: &Bell, until: MonoNs) {
        wait_readable(&[self.fd.as_fd(), bell.as_fd()], until);
    }

    fn line(&self) -> Option<GuardLine<'_>> {
        Some(GuardLine::Stream(self.fd.as_fd()))
    }
}

impl AsFd for HidPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
