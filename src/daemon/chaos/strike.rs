//! What befalls a stage, and what is then expected of it.
//!
//! Thread: main.

use super::stage::Stage;
use super::table::Tried;
use crate::daemon::Failure;
use crate::shared::realtime::SystemClock;
use crate::shared::{Clock as _, MonoNs};
use rustix::process::{Pid, Signal, kill_process};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Force that goes on for longer than this has not been ended by anyone.
const GIVEN_UP: Duration = Duration::from_secs(3);
/// For so long it must stay away afterwards, and a strike that should not matter is watched.
const WATCHED: Duration = Duration::from_millis(150);
/// The stated time from a strike to zero force, ns; of an orderly end, in which force ramps down.
const STATED_NS: u64 = 20_000_000;
const ORDERLY_NS: u64 = 1_100_000_000;
/// Time between the two signals that it takes for a SEGV from outside: the first takes Rust's own handler away.
const HANDLER: Duration = Duration::from_millis(50);

/// What the daemon and the hand are doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// DISABLED, homed.
    Idle,
    /// ENABLED, the hand holds still.
    Free,
    /// ENABLED, force on the hand.
    Pressing,
}

impl FromStr for Phase {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        [Self::Idle, Self::Free, Self::Pressing]
            .into_iter()
            .find(|phase| phase.word() == word)
            .ok_or_else(|| "one of idle, free, pressing".into())
    }
}

impl Phase {
    /// The word for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Free => "free",
            Self::Pressing => "pressing",
        }
    }
}

/// Who gets a signal; of two, the second a moment later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whom {
    Daemon,
    Guardian,
    DaemonThenGuardian,
    GuardianThenDaemon,
}

/// See the file's head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Strike {
    /// A signal, and its name.
    Signal(Whom, Signal, &'static str),
    /// A fault of line or device, by its word for `hapticd emulate`, after which force must end.
    Ends(&'static str),
    /// One after which force may end and must stay within its limit.
    Bounded(&'static str),
    /// A halt over OSC.
    Halt,
}

/// Every strike.
pub(super) const STRIKES: [Strike; 29] = {
    use Whom::{Daemon, DaemonThenGuardian, Guardian, GuardianThenDaemon};
    [
        Strike::Signal(Daemon, Signal::KILL, "kill"),
        Strike::Signal(Daemon, Signal::STOP, "stop"),
        Strike::Signal(Daemon, Signal::ABORT, "abrt"),
        Strike::Signal(Daemon, Signal::SEGV, "segv"),
        Strike::Signal(Daemon, Signal::TERM, "term"),
        Strike::Signal(Guardian, Signal::KILL, "kill"),
        Strike::Signal(Guardian, Signal::STOP, "stop"),
        Strike::Signal(Guardian, Signal::ABORT, "abrt"),
        Strike::Signal(Guardian, Signal::SEGV, "segv"),
        Strike::Signal(Guardian, Signal::TERM, "term"),
        Strike::Signal(DaemonThenGuardian, Signal::KILL, "kill"),
        Strike::Signal(DaemonThenGuardian, Signal::STOP, "stop"),
        Strike::Signal(DaemonThenGuardian, Signal::ABORT, "abrt"),
        Strike::Signal(GuardianThenDaemon, Signal::KILL, "kill"),
        Strike::Signal(GuardianThenDaemon, Signal::STOP, "stop"),
        Strike::Signal(GuardianThenDaemon, Signal::ABORT, "abrt"),
        Strike::Ends("stall"),
        Strike::Ends("disconnect"),
        Strike::Bounded("drop"),
        Strike::Bounded("split"),
        Strike::Bounded("duplicate"),
        Strike::Bounded("corrupt"),
        Strike::Bounded("short"),
        Strike::Bounded("garbage"),
        Strike::Bounded("collide"),
        Strike::Bounded("stuck-encoder"),
        Strike::Bounded("swapped-encoders"),
        Strike::Bounded("reversed-motor"),
        Strike::Halt,
    ]
};

impl Strike {
    /// Who or what is struck, and by what.
    pub(super) fn word(self) -> String {
        match self {
            Self::Signal(whom, _, name) => {
                let whom = match whom {
                    Whom::Daemon => "daemon",
                    Whom::Guardian => "guardian",
                    Whom::DaemonThenGuardian => "daemon+guardian",
                    Whom::GuardianThenDaemon => "guardian+daemon",
                };
                format!("{whom}:{name}")
            }
            Self::Ends(word) | Self::Bounded(word) => word.to_owned(),
            Self::Halt => "halt".to_owned(),
        }
    }

    /// The phases in which it says something.
    pub(super) fn phases(self) -> &'static [Phase] {
        match self {
            Self::Signal(_, Signal::KILL | Signal::STOP, _) | Self::Ends(_) => {
                &[Phase::Idle, Phase::Free, Phase::Pressing]
            }
            _ => &[Phase::Pressing],
        }
    }

    /// Time in which force is stated to have ended, ns.
    pub(super) fn stated_ns(self) -> u64 {
        if matches!(self, Self::Signal(Whom::Daemon, Signal::TERM, _)) { ORDERLY_NS } else { STATED_NS }
    }

    /// Whether it ends force, by the promise.
    fn ends_force(self) -> bool {
        match self {
            Self::Signal(Whom::Guardian, signal, _) => signal == Signal::KILL || signal == Signal::STOP,
            Self::Signal(..) | Self::Ends(_) | Self::Halt => true,
            Self::Bounded(_) => false,
        }
    }

    /// Strikes, and watches what becomes of the force.
    pub(super) fn befall(self, stage: &mut Stage, phase: Phase) -> Result<Tried, Failure> {
        let guardians = stage.guardians();
        let at = match self {
            Self::Signal(whom, signal, _) => signalled(stage, whom, signal, &guardians)?,
            Self::Ends(word) | Self::Bounded(word) => {
                let at = SystemClock.now();
                stage.order(&format!("fault {word}"));
                at
            }
            Self::Halt => {
                let at = SystemClock.now();
                stage.ask("/hapticd/halt");
                at
            }
        };
        if phase != Phase::Pressing || !self.ends_force() {
            return Ok(self.watched(stage, &guardians, phase));
        }
        let Some(ended) = end_after(stage, at) else { return Ok(Tried::StaysOn) };
        if ended <= at {
            return Ok(Tried::NotReached("the hand had let go before the strike"));
        }
        std::thread::sleep(WATCHED);
        if stage.pushed_since().is_some() {
            return Ok(Tried::StaysOn);
        }
        Ok(Tried::Ended(ended.since(at)))
    }

    /// No force is expected to end: none must begin without being enabled, and no guardian that survives this must be gone.
    fn watched(self, stage: &mut Stage, guardians: &[Pid], phase: Phase) -> Tried {
        std::thread::sleep(WATCHED);
        let pushed = stage.pushed_since().is_some();
        if phase != Phase::Pressing && pushed {
            return Tried::StaysOn;
        }
        let survives = matches!(self, Self::Signal(Whom::Guardian, Signal::ABORT | Signal::SEGV | Signal::TERM, _));
        if survives && stage.guardians() != guardians {
            return Tried::GuardianLost;
        }
        Tried::Endured
    }
}

/// Sends the signals; gives when the first that counts was sent.
fn signalled(stage: &Stage, whom: Whom, signal: Signal, guardians: &[Pid]) -> Result<MonoNs, Failure> {
    let (Some(daemon), Some(guardian)) = (stage.daemon_pid(), guardians.first().copied()) else {
        return Err(Failure::Port("the daemon has no guardian: no port should be open".into()));
    };
    let struck = match whom {
        Whom::Daemon => vec![daemon],
        Whom::Guardian => vec![guardian],
        Whom::DaemonThenGuardian => vec![daemon, guardian],
        Whom::GuardianThenDaemon => vec![guardian, daemon],
    };
    // One that has died of an earlier signal is no error.
    let send = || {
        for pid in &struck {
            let _ = kill_process(*pid, signal);
        }
    };
    if signal == Signal::SEGV {
        send();
        std::thread::sleep(HANDLER);
    }
    let at = SystemClock.now();
    send();
    Ok(at)
}

/// When force has ended after this; none when it goes on. A time before it is that of a hand that had let go.
fn end_after(stage: &mut Stage, at: MonoNs) -> Option<MonoNs> {
    let end = Instant::now() + GIVEN_UP;
    while stage.pushed_since().is_some() {
        if Instant::now() > end {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let ends = stage.changes.iter().filter(|(_, on)| !on).map(|(when, _)| *when);
    let last = ends.clone().next_back()?;
    Some(ends.into_iter().find(|when| *when > at).unwrap_or(last))
}
