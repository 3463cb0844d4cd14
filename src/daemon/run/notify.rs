//! The word to systemd: ready, status, reload, end, and the watchdog, which is fed by the heartbeat of the haptic loop alone.
//!
//! Thread: control. Without systemd every call does nothing.

use crate::haptic::Heartbeat;
use crate::shared::{MonoNs, NS_PER_S};
use sd_notify::NotifyState;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// How often the status line is renewed, ns.
const STATUS_NS: u64 = NS_PER_S;
/// Longest wait for a supervisor that does not read what it is sent; then the word is lost.
const PATIENCE: Duration = Duration::from_millis(100);

/// Speaks to systemd.
pub(super) struct Notifier {
    watchdog: Option<Watchdog>,
    next_status: MonoNs,
}

impl Notifier {
    /// Learns from the environment whether a watchdog waits.
    pub(super) fn new(now: MonoNs) -> Self {
        let watchdog = sd_notify::watchdog_enabled().map(|limit| Watchdog::new(limit, now));
        Self { watchdog, next_status: now }
    }

    /// The loop ticks and the ports are open.
    pub(super) fn ready(&self) {
        say(&[NotifyState::Ready]);
    }

    /// A reload begins; [`Self::ready`] ends it.
    pub(super) fn reloading(&self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => say(&[NotifyState::Reloading, now]),
            Err(error) => tracing::warn!("systemd is not told of the reload: {error}"),
        }
    }

    /// The end begins.
    pub(super) fn stopping(&self) {
        say(&[NotifyState::Stopping]);
    }

    /// Renews the status line once a second.
    pub(super) fn status(&mut self, now: MonoNs, line: impl FnOnce() -> String) {
        if now >= self.next_status {
            self.next_status = now.plus(STATUS_NS);
            // One line: what came after a break would be taken for another word.
            say(&[NotifyState::Status(&line().replace('\n', " "))]);
        }
    }

    /// Feeds the watchdog when it is time and the haptic loop lives.
    pub(super) fn feed(&mut self, now: MonoNs, heartbeat: &Heartbeat) {
        if self.watchdog.as_mut().is_some_and(|watchdog| watchdog.is_due(now, heartbeat.count())) {
            say(&[NotifyState::Watchdog]);
        }
    }
}

fn say(state: &[NotifyState<'_>]) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let lines: String = state.iter().map(|line| format!("{line}\n")).collect();
    if let Err(error) = send(&name, lines.as_bytes()) {
        tracing::debug!("systemd does not listen: {error}");
    }
}

/// Sends a datagram to a socket by path, or by `@name` to one without a file, as supervisors in containers have. The crate's
/// own sending knows paths alone, and waits as long as nobody reads.
fn send(name: &OsStr, bytes: &[u8]) -> io::Result<usize> {
    let address = match name.as_encoded_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_write_timeout(Some(PATIENCE))?;
    socket.send_to_addr(bytes, &address)
}

/// When to feed: every third of the limit, and only if the loop went on since the last time.
struct Watchdog {
    every_ns: u64,
    next: MonoNs,
    seen: u64,
}

impl Watchdog {
    fn new(limit: Duration, now: MonoNs) -> Self {
        let every_ns = u64::try_from(limit.as_nanos() / 3).unwrap_or(u64::MAX);
        Self { every_ns, next: now, seen: 0 }
    }

    /// True when it must be fed now. While the heartbeat stands still it asks again at every call: a loop that comes back
    /// in time is not killed.
    fn is_due(&mut self, now: MonoNs, count: u64) -> bool {
        if now < self.next || count == self.seen {
            return false;
        }
        self.seen = count;
        self.next = now.plus(self.every_ns);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_is_fed_every_third_of_its_limit_and_never_by_a_loop_that_stands_still() {
        let mut watchdog = Watchdog::new(Duration::from_secs(3), MonoNs(0));
        let feeds = |watchdog: &mut Watchdog, from_ms: u64, to_ms: u64, beats: bool| {
            let fed = |ms: u64| watchdog.is_due(MonoNs(ms * 1_000_000), if beats { ms + 1 } else { from_ms });
            (from_ms..to_ms).map(fed).filter(|fed| *fed).count()
        };
        assert_eq!(feeds(&mut watchdog, 0, 3000, true), 3);
        assert_eq!(watchdog.seen, 2001);
        // One last word for the ticks since; then silence, however long.
        assert_eq!(feeds(&mut watchdog, 3000, 9000, false), 1);
        assert_eq!(feeds(&mut watchdog, 9000, 9001, true), 1);
    }
}
