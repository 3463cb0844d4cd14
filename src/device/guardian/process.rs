//! The guardian's own life: look, and send zero force when it must.
//!
//! Thread: the guardian's only one, in a process of its own.
//!
//! Its input is the device's line, its output the page it shares with the daemon. It has a session of its own and blocks every signal
//! that can be blocked, all but KILL and STOP: one that is sent to all of the daemon's control group, as the ABRT of a systemd
//! watchdog, must not end the guardian before the device is silent. It ends by itself.

use super::{Act, LOOK_NS, Sight, Watch};
use crate::device::wire::MESSAGE_MAX;
use crate::shared::realtime::{self, RealtimeRequest, SystemClock};
use crate::shared::{Clock as _, MonoNs, PULSE_MESSAGE_MAX, Pulse};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::process::{Pid, PidfdFlags, getppid, pidfd_open};

/// Messages of the device that are thrown away at most before zero force is sent.
const DRAINED: usize = 16;
/// Zero force is sent so often at each look: the first may end a message that the daemon had begun.
const TWICE: usize = 2;
/// Time that a transfer to a USB device may take, ms.
const BULK_MS: u32 = 4;

/// Why there is no guardian.
#[derive(Debug, thiserror::Error)]
pub enum ProcessFault {
    /// Started by hand.
    #[error("a guardian is started by hapticd itself, with the device as its input: there is nothing to do by hand")]
    ByHand,
    /// The system refused something.
    #[error("the guardian cannot work: {0}")]
    System(#[from] std::io::Error),
}

/// Guards the device on the standard input for the process `daemon`, with this real-time priority if it may, by transfers to an
/// `endpoint` if it is a USB device; a line that is `framed` is written to and never read. Returns when there is nothing left to guard.
///
/// # Errors
/// [`ProcessFault`] when it cannot begin.
pub fn run(daemon: u32, priority: u8, endpoint: Option<u8>, framed: bool) -> Result<(), ProcessFault> {
    let pulse = Pulse::adopt(std::io::stdout().as_fd().try_clone_to_owned()?).map_err(|_| ProcessFault::ByHand)?;
    let line = Line { fd: std::io::stdin().as_fd().try_clone_to_owned()?, endpoint, framed };
    realtime::block_signals()?;
    // It fails for the leader of a group, who needs none.
    let _ = rustix::process::setsid();
    let life = Life::of(daemon);
    let request =
        RealtimeRequest { priority, lock_memory: priority > 0, stack_prefault_bytes: 64 << 10, ..Default::default() };
    // Whatever is refused: a slow guardian is better than none.
    let _rights = realtime::acquire(&request);
    let mut watch = Watch::new(SystemClock.now());
    loop {
        pulse.look();
        let sight = Sight {
            beats: pulse.beats(),
            armed: pulse.armed(),
            alive: life.goes_on(),
            finished: pulse.finished(),
            unheeded: pulse.silenced(),
        };
        match watch.look(SystemClock.now(), sight) {
            Act::Look => {}
            Act::StepIn => {
                // First, so that a daemon that goes on right now finds out.
                pulse.step_in();
                line.silence(&pulse);
            }
            Act::Silence => line.silence(&pulse),
            Act::End => break,
        }
        life.wait(SystemClock.now().plus(LOOK_NS));
    }
    line.silence(&pulse);
    // A line opened for one program alone would stay closed to the next while the device's end is open.
    let _ = rustix::termios::ioctl_tiocnxcl(&line.fd);
    Ok(())
}

/// The device's line.
struct Line {
    fd: OwnedFd,
    endpoint: Option<u8>,
    framed: bool,
}

impl Line {
    /// Sends zero force.
    fn silence(&self, pulse: &Pulse) {
        let mut message = [0; PULSE_MESSAGE_MAX];
        let length = pulse.message(&mut message);
        if length == 0 {
            return;
        }
        self.drain();
        for _ in 0..TWICE {
            // What does not go out now is tried again at the next look.
            match self.endpoint {
                Some(endpoint) => {
                    let _ = realtime::usb_bulk_out(self.fd.as_fd(), endpoint, &message[..length], BULK_MS);
                }
                None if ready(self.fd.as_fd(), PollFlags::OUT) => {
                    let _ = rustix::io::write(&self.fd, &message[..length]);
                }
                None => {}
            }
        }
    }

    /// Throws away what the device has said: firmware that cannot get rid of an answer does not listen. A USB adapter has no
    /// such trouble: it drops what nobody takes. Half a frame taken from a WebSocket would leave the daemon, should it go on,
    /// with a stream that makes no sense; the system keeps minutes of answers.
    fn drain(&self) {
        let mut waste = [0; MESSAGE_MAX];
        for _ in 0..DRAINED {
            let waits = self.endpoint.is_none() && !self.framed && ready(self.fd.as_fd(), PollFlags::IN);
            if !waits || !rustix::io::read(&self.fd, &mut waste).is_ok_and(|count| count > 0) {
                break;
            }
        }
    }
}

/// Whether it can be read or written now.
fn ready(line: BorrowedFd<'_>, what: PollFlags) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(line, what)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&now)).is_ok_and(|count| count > 0) && polled[0].revents().contains(what)
}

/// Whether the daemon lives.
enum Life {
    /// The kernel tells.
    Known(OwnedFd),
    /// It has to be asked: an old kernel.
    Asked(Pid),
    /// It has gone.
    Over,
}

impl Life {
    fn of(daemon: u32) -> Self {
        let asked = i32::try_from(daemon).ok().and_then(Pid::from_raw);
        let Some(pid) = asked else { return Self::Over };
        let handle = pidfd_open(pid, PidfdFlags::empty());
        // Asked after the handle was taken: a parent that has gone may have left its number to another process.
        if getppid() != Some(pid) {
            return Self::Over;
        }
        handle.map_or(Self::Asked(pid), Self::Known)
    }

    fn goes_on(&self) -> bool {
        match self {
            Self::Known(handle) => !ready(handle.as_fd(), PollFlags::IN),
            Self::Asked(pid) => getppid() == Some(*pid),
            Self::Over => false,
        }
    }

    /// Waits until then, or until the daemon's death if that comes first.
    fn wait(&self, until: MonoNs) {
        match self {
            Self::Known(handle) if self.goes_on() => {
                let left_ns = until.since(SystemClock.now());
                let mut polled = [PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN)];
                // A look is milliseconds ahead: fits.
                let _ = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: left_ns.cast_signed() }));
            }
            _ => realtime::sleep_until(until),
        }
    }
}
