//! The guardian: a process of its own that silences a device when the program that drives it dies or hangs.
//!
//! Thread: see the parts.
//!
//! Some firmwares hold the last force until there is another. So before force can flow the daemon starts [`GUARDIANS`] more processes
//! ([`process`]), each with a descriptor of the same line, the bytes that mean zero force, and a page of shared memory
//! ([`crate::shared::Pulse`]). The device's I/O thread counts up a number in that page ([`Lifeline`]); a guardian looks
//! at it every [`LOOK_NS`] and learns of the daemon's death from the kernel at once. What it concludes is in [`Watch`].
//! The daemon watches the guardians the same way: force ends when one dies or stands still.
//!
//! A daemon that was stopped and goes on finds that it has been silenced: it must latch a fault before the guardian goes back
//! to watching. Until then zero force is sent between whatever it sends.

mod lifeline;
pub mod process;
mod watch;

pub use lifeline::{Alarm, GUARDIANS, GuardianFault, Lifeline};
pub use watch::{Act, INSIST_NS, LOOK_NS, STILL_NS, Sight, Watch};

use rustix::fd::BorrowedFd;

/// How a device is reached by whoever shares its descriptor.
#[derive(Clone, Copy, Debug)]
pub enum GuardLine<'l> {
    /// By writing to it: a serial line, a raw HID node, a socket.
    Stream(BorrowedFd<'l>),
    /// By writing whole frames to it, of which each answer must stay whole for the daemon: a WebSocket.
    Framed(BorrowedFd<'l>),
    /// By bulk transfers to this endpoint of a USB device.
    Bulk(BorrowedFd<'l>, u8),
}
