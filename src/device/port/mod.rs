//! Ports: what carries bytes between a driver and a real device, and the thread that drives it.
//!
//! Thread: device I/O, but for the parts that say otherwise.
//!
//! A [`Port`] is bytes and nothing else: a serial line or pseudo-terminal ([`serial`]), reports of a HID ([`hid`]), an adapter
//! on USB ([`usb`]), texts of a service on a WebSocket ([`websocket`]), a pipe in memory ([`pipe`]). No call waits longer than it is told to. What a driver does with the bytes
//! is the same on all of them.

pub mod find;
pub mod guarded;
pub mod hid;
mod link;
mod open;
pub mod pipe;
pub mod probe;
pub mod reach;
mod real;
pub mod serial;
pub mod usb;
pub mod websocket;

pub use link::{Link, LinkNews, LinkState, LinkStatus, Opener};
pub use open::{OpenFault, holders};
pub use real::{RealDevice, STALE_NS};

use super::guardian::{GuardLine, Lifeline};
use super::wire::LineOrder;
use crate::shared::MonoNs;
use crate::shared::realtime::SystemClock;
use crate::shared::{Clock as _, NS_PER_S};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::sync::Arc;

/// Why a port that was open carries no more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortFault {
    /// The device is gone, or the other end was closed.
    Gone,
    /// The message could not be handed over in time: the other end does not take bytes.
    Stuck,
}

/// A line of bytes to a device, for one thread alone.
pub trait Port: Send {
    /// Takes bytes that have come into `into` and says how many; zero when there are none now. Does not wait. A port that keeps
    /// messages apart gives one message per call.
    ///
    /// # Errors
    /// [`PortFault`] when no more bytes can come.
    fn read(&mut self, into: &mut [u8]) -> Result<usize, PortFault>;

    /// Hands a message over whole; waits for room until `until` at most.
    ///
    /// # Errors
    /// [`PortFault`] when it was not taken; a part of it may have been.
    fn write(&mut self, message: &[u8], until: MonoNs) -> Result<(), PortFault>;

    /// Does this to the line. A port that has no such thing does nothing.
    ///
    /// # Errors
    /// [`PortFault`] when the device is gone.
    fn order(&mut self, order: LineOrder) -> Result<(), PortFault>;

    /// Waits until bytes may have come, the bell was rung, or it is `until`.
    fn wait(&mut self, bell: &Bell, until: MonoNs);

    /// How a guardian may share this port, if it can be shared.
    fn line(&self) -> Option<GuardLine<'_>> {
        None
    }

    /// What a guardian must write to the descriptor of [`Port::line`] for this message; says how many bytes, zero when they do not
    /// fit into `out`. The message itself, unless the port puts something around it.
    fn as_sent(&self, message: &[u8], out: &mut [u8]) -> usize {
        let Some(place) = out.get_mut(..message.len()) else { return 0 };
        place.copy_from_slice(message);
        message.len()
    }

    /// What guards this port, if anything does.
    fn guard(&mut self) -> Option<&mut Lifeline> {
        None
    }

    /// What makes this port slower than it could be, and what to do about it; empty when nothing does.
    fn hindrance(&self) -> &str {
        ""
    }
}

/// A bell that one thread rings and another waits for together with its port. Ringing never waits, so that the haptic thread
/// may do it.
#[derive(Clone, Debug)]
pub struct Bell(Arc<OwnedFd>);

impl Bell {
    /// A silent bell.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Rings. A bell that rings already stays so.
    pub fn ring(&self) {
        // The counter is full only after 2⁶⁴ rings that nobody heard; then it rings anyway.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Takes note of all rings so far.
    pub fn hush(&self) {
        let _ = rustix::io::read(&*self.0, &mut [0; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Time left until then, for a system call.
fn left(until: MonoNs) -> Timespec {
    let left_ns = until.since(SystemClock.now());
    // Both parts are small: no wait is longer than some seconds.
    Timespec { tv_sec: (left_ns / NS_PER_S).cast_signed(), tv_nsec: (left_ns % NS_PER_S).cast_signed() }
}

/// Waits until one of these may be read, or it is `until`. An interrupted wait ends early.
pub(crate) fn wait_readable(fds: &[BorrowedFd<'_>; 2], until: MonoNs) {
    let mut polled = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    let _ = poll(&mut polled, Some(&left(until)));
}

/// Reads what is there.
fn read_now(fd: impl AsFd, into: &mut [u8]) -> Result<usize, PortFault> {
    match rustix::io::read(fd, into) {
        // The end of a file: the other end was closed.
        Ok(0) => Err(PortFault::Gone),
        Ok(count) => Ok(count),
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        Err(_) => Err(PortFault::Gone),
    }
}

/// Writes all of it, waiting for room until `until`.
fn write_all(fd: impl AsFd, message: &[u8], until: MonoNs) -> Result<(), PortFault> {
    let fd = fd.as_fd();
    let mut rest = message;
    while !rest.is_empty() {
        match rustix::io::write(fd, rest) {
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
                let ready = poll(&mut polled, Some(&left(until))).unwrap_or(0);
                if ready == 0 && SystemClock.now() >= until {
                    return Err(PortFault::Stuck);
                }
            }
            Err(_) => return Err(PortFault::Gone),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bell_ends_a_wait_and_is_hushed() {
        let (bell, other) = (Bell::new().expect("a bell"), Bell::new().expect("a bell"));
        let far = SystemClock.now().plus(60 * NS_PER_S);
        let ringer = bell.clone();
        let ring = std::thread::spawn(move || ringer.ring());
        wait_readable(&[bell.as_fd(), other.as_fd()], far);
        ring.join().expect("it rings");
        assert!(SystemClock.now() < far);
        bell.hush();
        let soon = SystemClock.now().plus(2_000_000);
        wait_readable(&[bell.as_fd(), other.as_fd()], soon);
        assert!(SystemClock.now() >= soon);
    }
}
