//! A daemon that is killed or stopped while it pushes a hand: how long until the device gets zero force.
//!
//! A busy machine may hold up anyone here. The daemon itself ends the force when it has not heard its device for some
//! milliseconds, and so does firmware with a watchdog; a try in which one of them was first says nothing of the guardian, is
//! counted, and made again. What is judged is who acted, and what came of it; times are printed.

use crate::daemon::{self, ROLE, WORDS};
use crate::played::{Played, now};
use crate::{LOOK_NS, STILL_NS};
use rustix::process::{Pid, Signal, kill_process};
use std::io::BufRead as _;
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Tries of each kind, for the device on a line and the one behind a service.
const TRIES: [usize; 2] = [10, 5];
/// Sets another number, for both.
pub(crate) const TRIES_VARIABLE: &str = "HAPTICD_GUARDIAN_TRIES";
/// Longest wait for anything: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);
/// So many messages after a daemon has come to a stand are the guardian's: the daemon had at most one or two under way.
const INSISTENT: u64 = 6;

/// One trial at a time: each has a machine's worth of real-time threads.
static ALONE: Mutex<()> = Mutex::new(());

pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn the_daemon_of_the_other_tests() {
    // A test only in name: this program in another role.
    if let Some(path) = std::env::var_os(ROLE) {
        daemon::live(Path::new(&path));
    }
}

/// A daemon in a process of its own, and what it tells. Dropping it kills it.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    pub(crate) lines: Receiver<String>,
    /// What it told last.
    pub(crate) told: String,
}

impl Daemon {
    pub(crate) fn start(word: &str, device: &Played) -> Self {
        let mut child = daemon::start(word, &device.path);
        let out = std::io::BufReader::new(child.stdout.take().expect("its output"));
        let (sender, lines) = channel();
        std::thread::spawn(move || out.lines().map_while(Result::ok).all(|line| sender.send(line).is_ok()));
        Self { child, lines, told: String::new() }
    }

    /// Takes in what it has told meanwhile.
    pub(crate) fn listen(&mut self) {
        while let Ok(line) = self.lines.try_recv() {
            self.told = line;
        }
    }

    fn send(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(pid, signal).expect("it is ours");
    }

    /// True when each of its threads stands still: the signal is sent before they do.
    fn stands(&self) -> bool {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("it lives");
        tasks.flatten().all(|task| {
            let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            // The state comes after the name, which is in brackets.
            stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
        })
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until the hand is pushed; at different moments of the daemon's millisecond each time. The hand presses while the daemon
/// gives force and holds still while it does not: a ramp begins only where nothing is touched.
pub(crate) fn pushed(device: &Played, daemon: &mut Daemon, index: usize) {
    let mut since = now();
    until("pushed", || {
        daemon.listen();
        device.press(daemon.told == "enabled");
        if device.force_n() < 1.0 {
            since = now();
        }
        now().since(since) > 20_000_000 + 337_000 * index as u64
    });
}

pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < PATIENCE, "never {what}");
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// Who ended the force.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ended {
    /// The guardian, so long after the signal, ns.
    Guardian(u64),
    /// The daemon itself, before it was stopped, or the firmware.
    Others,
}

/// Makes so many tries in which the guardian is first; prints the figures, in µs. It must be, in half of all at least.
fn tries(what: &str, word: &str, mut attempt: impl FnMut(usize) -> Ended) {
    let usual = if word == WORDS[0] { TRIES[0] } else { TRIES[1] };
    let wanted = std::env::var(TRIES_VARIABLE).map_or(usual, |text| text.parse().expect("a number of tries"));
    let mut times = Vec::new();
    let mut others = 0;
    while times.len() < wanted {
        match attempt(times.len() + others) {
            Ended::Guardian(time) => times.push(time),
            Ended::Others => others += 1,
        }
        assert!(others <= wanted, "{word}, {what}: the guardian was first {} times, others {others}", times.len());
    }
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100] / 1000;
    let within = times.iter().filter(|time| **time <= 20_000_000).count();
    println!(
        "{word}, {what}: {} tries, signal to zero force p50 {} p90 {} max {} us; {within} within 20 ms; by design {} us; {others} \
         tries in which others were first",
        times.len(),
        at(50),
        at(90),
        at(100),
        (STILL_NS + 2 * LOOK_NS) / 1000,
    );
}

#[test]
fn a_killed_daemon_leaves_its_device_without_force() {
    killed(WORDS[0]);
}

#[test]
fn a_killed_daemon_leaves_a_device_behind_a_service_without_force() {
    killed(WORDS[1]);
}

#[test]
fn a_stopped_daemon_leaves_its_device_without_force_and_goes_on_with_a_fault() {
    stopped(WORDS[0]);
}

#[test]
fn a_stopped_daemon_leaves_a_device_behind_a_service_without_force_and_goes_on_with_a_fault() {
    stopped(WORDS[1]);
}

fn killed(word: &'static str) {
    let _alone = alone();
    let device = Played::start(word);
    tries("kill -9", word, |index| {
        device.press(false);
        let mut daemon = Daemon::start(word, &device);
        pushed(&device, &mut daemon, index);
        let signal = now();
        daemon.send(Signal::KILL);
        let _ = daemon.child.wait();
        until("without force", || device.force_n() == 0.0);
        // The kernel tells of the death when the last thread has gone, which on a busy machine the beats may tell first.
        device.ended_after(signal.0).map_or(Ended::Others, Ended::Guardian)
    });
}

fn stopped(word: &'static str) {
    let _alone = alone();
    let device = Played::start(word);
    let mut daemon = Daemon::start(word, &device);
    let (mut all, mut told_so) = (0, 0);
    tries("SIGSTOP", word, |index| {
        pushed(&device, &mut daemon, index);
        let signal = now();
        daemon.send(Signal::STOP);
        until("standing still", || daemon.stands());
        // It speaks again and again while the daemon stands still.
        let before = device.heard();
        until("silenced by the guardian", || device.heard() >= before + INSISTENT && device.force_n() == 0.0);
        // Sooner than it steps in, the daemon's own last words ended the force.
        let patient = |time: &u64| *time >= STILL_NS - 2 * LOOK_NS;
        let ended = device.ended_after(signal.0).filter(patient).map_or(Ended::Others, Ended::Guardian);
        device.press(false);
        daemon.listen();
        let pushing = daemon.told == "enabled";
        daemon.send(Signal::CONT);
        if !pushing {
            // A fault of its own came before the signal.
            return Ended::Others;
        }
        // The first that it tells: nothing comes between going on and the fault.
        let line = daemon.lines.recv_timeout(PATIENCE).unwrap_or_else(|error| {
            panic!("no fault: {error}; {ended:?}, try {index}, {} N now, {all} faults before", device.force_n())
        });
        assert!(line.starts_with("fault "), "{line}");
        (all, told_so) = (all + 1, told_so + usize::from(line == "fault F10"));
        daemon.told = line;
        ended
    });
    // A machine that holds the device's thread up, but not the loop, lets that find the device silent (F04) before it hears.
    println!("{word}: {told_so} of {all} faults were F10");
    assert!(2 * told_so > all, "{word}: {told_so} of {all} faults were F10");
}
