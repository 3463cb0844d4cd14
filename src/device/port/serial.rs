//! Serial lines and pseudo-terminals.
//!
//! Thread: device I/O; opened by cold threads.
//!
//! Opened for one program alone (`TIOCEXCL`, and a lock for programs of root, which the former does not stop), raw, and with
//! as little delay as the system allows: the flag for low latency, and an FTDI chip's timer at 1 ms.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_macros,
    reason = "what is on the heap is made when a port is opened"
)]

use super::{Bell, OpenFault, Port, PortFault, read_now, wait_readable, write_all};
use crate::device::guardian::GuardLine;
use crate::device::wire::LineOrder;
use crate::shared::MonoNs;
use crate::shared::realtime::ask_low_latency;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use rustix::termios::{
    ControlModes, OptionalActions, QueueSelector, Termios, ioctl_tiocexcl, ioctl_tiocnxcl, tcflush, tcgetattr,
    tcsetattr,
};
use std::path::{Path, PathBuf};

/// Speed that is set when the device file names none. Boards with USB of their own ignore it.
pub const BAUD: u32 = 115_200;
/// Longest time an FTDI chip may hold bytes back, ms: the least it offers.
const LATENCY_MS: u8 = 1;
/// The group that serial ports belong to.
const GROUP: &str = "dialout";

/// An open serial line.
pub struct SerialPort {
    fd: OwnedFd,
    path: PathBuf,
    hindrance: String,
}

impl SerialPort {
    /// Opens the line at this speed.
    ///
    /// # Errors
    /// [`OpenFault`] says why not, and what to do.
    pub fn open(path: &Path, baud: u32) -> Result<Self, OpenFault> {
        let fault = |error: Errno| match error {
            Errno::NOTTY => OpenFault::Wrong { place: path.display().to_string(), wanted: "serial port" },
            error => OpenFault::of(path, error, GROUP),
        };
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = open(path, flags, Mode::empty()).map_err(fault)?;
        // Looked at first: a file that is no terminal must not be locked or written to.
        let settings = tcgetattr(&fd).map_err(fault)?;
        flock(&fd, FlockOperation::NonBlockingLockExclusive).map_err(fault)?;
        ioctl_tiocexcl(&fd).map_err(fault)?;
        let mut port = Self { fd, path: path.to_owned(), hindrance: String::new() };
        port.set(settings, baud).map_err(fault)?;
        tcflush(&port.fd, QueueSelector::IOFlush).map_err(fault)?;
        // Lines without such a flag say so; they have nothing to be told.
        let _ = ask_low_latency(port.fd.as_fd());
        port.hindrance = port.hasten(LATENCY_MS).err().unwrap_or_default();
        Ok(port)
    }

    /// Raw, eight bits, no parity, one stop bit, no flow control, at this speed.
    fn set(&self, mut settings: Termios, baud: u32) -> Result<(), Errno> {
        settings.make_raw();
        settings.control_modes.remove(ControlModes::CSTOPB | ControlModes::CRTSCTS);
        settings.control_modes.insert(ControlModes::CREAD | ControlModes::CLOCAL | ControlModes::CS8);
        settings.set_speed(baud)?;
        tcsetattr(&self.fd, OptionalActions::Now, &settings)
    }

    /// Sets the timer of an FTDI chip; lines without one have nothing to set.
    fn hasten(&self, ms: u8) -> Result<(), String> {
        let real = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let Some(name) = real.file_name() else { return Ok(()) };
        let timer = Path::new("/sys/bus/usb-serial/devices").join(name).join("latency_timer");
        let Ok(now) = std::fs::read_to_string(&timer) else { return Ok(()) };
        if now.trim() == ms.to_string() || std::fs::write(&timer, ms.to_string()).is_ok() {
            return Ok(());
        }
        let (now, timer) = (now.trim(), timer.display());
        Err(format!(
            "the adapter holds bytes back for {now} ms: `echo {ms} | sudo tee {timer}`, or install the udev rules"
        ))
    }
}

impl Port for SerialPort {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, PortFault> {
        read_now(&self.fd, into)
    }

    fn write(&mut self, message: &[u8], until: MonoNs) -> Result<(), PortFault> {
        write_all(&self.fd, message, until)
    }

    fn order(&mut self, order: LineOrder) -> Result<(), PortFault> {
        let done = match order {
            LineOrder::Purge => tcflush(&self.fd, QueueSelector::IOFlush),
            LineOrder::Baud(baud) => tcgetattr(&self.fd).and_then(|settings| self.set(settings, baud)),
            LineOrder::LatencyMs(ms) => {
                // Said when the port was opened, if it cannot be done.
                let _ = self.hasten(ms);
                Ok(())
            }
            // The driver of the line raised both when it was opened; no device on a serial line wants them otherwise.
            LineOrder::Dtr(_) | LineOrder::Rts(_) => Ok(()),
        };
        done.map_err(|_| PortFault::Gone)
    }

    fn wait(&mut self, bell: &Bell, until: MonoNs) {
        wait_readable(&[self.fd.as_fd(), bell.as_fd()], until);
    }

    fn line(&self) -> Option<GuardLine<'_>> {
        Some(GuardLine::Stream(self.fd.as_fd()))
    }

    fn hindrance(&self) -> &str {
        &self.hindrance
    }
}

impl AsFd for SerialPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for SerialPort {
    fn drop(&mut self) {
        // The flag is the line's, not the descriptor's: it would outlive this program while anyone else has the line open.
        let _ = ioctl_tiocnxcl(&self.fd);
    }
}
