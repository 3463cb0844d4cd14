//! From a halt to the tick in FAULT, under every flood, by the ticks of the recording: each halt must be carried out while the flood goes on.
//!
//! In the usual run a few halts under the floods that no other test has; `HAPTICD_HALT_TRIES=50` makes so many under each and prints
//! the figures of docs/safety.md.

use crate::alone;
use crate::daemon::{Daemon, Setup};
use crate::floods::{ask_costly_bundles, send_frames};
use crate::osc::{Client, message, text};
use crate::tools::say;
use hapticd::record::{Entry, Reader};
use hapticd::shared::lifecycle::State;
use hapticd::shared::realtime::SystemClock;
use hapticd::shared::{Clock as _, MonoNs};
use rosc::{OscMessage, OscType};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const TRIES_VARIABLE: &str = "HAPTICD_HALT_TRIES";
/// Halts in each flood of the usual run.
const TRIES: usize = 2;
/// Connections at once to the page of metrics.
const CONNECTIONS: usize = 900;

fn tries() -> Option<usize> {
    std::env::var(TRIES_VARIABLE).ok().map(|text| text.parse().expect("a number of halts"))
}

/// Sends a command until it is done: a flood fills the kernel's buffer, and what does not fit is lost.
fn persist(client: &Client, address: &str) -> Vec<OscType> {
    let ours = |message: &OscMessage| {
        message.addr == "/hapticd/done" && message.args.first() == Some(&OscType::String(address.to_owned()))
    };
    let answer = (0..2000).find_map(|_| {
        client.send(address, &[]);
        client.wait(Duration::from_millis(50), ours)
    });
    answer.unwrap_or_else(|| panic!("{address} is never done")).args
}

/// When the first message of a halt was sent, when the last, and how many were.
struct Halt {
    first: MonoNs,
    last: MonoNs,
    sent: u32,
}

fn halt(stopper: &Client, over: &AtomicBool, name: &str) -> Halt {
    let fault = |message: &OscMessage| message.addr == "/hapticd/event/state" && message.args == ["FAULT".into()];
    let first = SystemClock.now();
    for sent in 1..=2000 {
        let last = SystemClock.now();
        stopper.send("/hapticd/halt", &[]);
        if stopper.wait(Duration::from_millis(50), fault).is_some() {
            assert!(!over.load(Ordering::Relaxed), "{name}: a halt waited until the flood was over");
            return Halt { first, last, sent };
        }
    }
    panic!("{name}: no FAULT, however often it was halted");
}

/// Halts again and again while `flood` goes on, and reads from the recording when the loop was in FAULT.
fn under(name: &str, daemon: &Daemon, recorded: bool, count: usize, flood: impl Fn(&AtomicBool) + Sync) {
    let stopper = Client::new(daemon.osc);
    stopper.done("/hapticd/notify", &[1.into()]);
    if recorded {
        stopper.done("/hapticd/record/start", &[]);
    }
    let (end, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut halts = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            flood(&end);
            over.store(true, Ordering::Relaxed);
        });
        // Whatever happens the flood ends.
        let stop = Ending(&end);
        std::thread::sleep(Duration::from_millis(200));
        for _ in 0..count {
            persist(&stopper, "/hapticd/start");
            std::thread::sleep(Duration::from_millis(20));
            halts.push(halt(&stopper, &over, name));
            persist(&stopper, "/hapticd/fault/ack");
        }
        drop(stop);
    });
    if !recorded {
        say(&format!("{name}: {count} halts, each told while the flood went on"));
        return;
    }
    let answer = persist(&stopper, "/hapticd/record/stop");
    let mut figures = latencies_ms(Path::new(text(&answer[1])), &halts);
    let sent: u32 = halts.iter().map(|halt| halt.sent).sum();
    figures.sort_by(f64::total_cmp);
    let of = |part: f64| figures[((figures.len() as f64 * part).ceil() as usize).clamp(1, figures.len()) - 1];
    let (p50, p99, max) = (of(0.5), of(0.99), of(1.0));
    say(&format!(
        "{name}: {count} halts, {sent} messages; from the message to the tick in FAULT p50 {p50:.1} ms, p99 {p99:.1} ms, max {max:.1} ms"
    ));
}

struct Ending<'e>(&'e AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// From each halt to the first tick in FAULT after it. Of a halt that was sent more than once, the message that the tick followed.
fn latencies_ms(path: &Path, halts: &[Halt]) -> Vec<f64> {
    let mut faults = Vec::new();
    let mut before = State::Disabled;
    for entry in Reader::open(path).expect("a recording") {
        let Ok(Entry::Tick(record)) = entry else { continue };
        if record.state == State::Fault && before != State::Fault {
            faults.push(record.due.plus(record.lateness_ns));
        }
        before = record.state;
    }
    let found = halts.iter().map(|halt| {
        let tick = faults.iter().find(|tick| **tick >= halt.first).expect("a tick in FAULT for each halt");
        let sent = if *tick >= halt.last { halt.last } else { halt.first };
        tick.since(sent) as f64 * 1e-6
    });
    found.collect()
}

#[test]
fn halts_get_through_connections_hangups_and_a_full_disk() {
    let _machine = alone();
    let count = tries().unwrap_or(TRIES);
    let daemon = Setup::new("halts").start();
    let query = daemon.query;
    under("HTTP connections", &daemon, true, count, |end| {
        let mut open: Vec<TcpStream> = Vec::new();
        while !end.load(Ordering::Relaxed) {
            if open.len() >= CONNECTIONS {
                drop(open.drain(..CONNECTIONS / 10));
            }
            // A request that is never finished; a server that has no place says so by closing.
            let Ok(mut stream) = TcpStream::connect_timeout(&query, Duration::from_secs(1)) else { continue };
            let _closed = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: ");
            open.push(stream);
        }
    });
    let process = i32::try_from(daemon.id()).ok().and_then(Pid::from_raw).expect("a process");
    under("SIGHUP", &daemon, false, count, |end| {
        while !end.load(Ordering::Relaxed) {
            kill_process(process, Signal::HUP).expect("it is ours");
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    daemon.stop();
    let Some(setup) = Setup::new("full").recordings("free_mb = 0\n").on_a_small_disk() else {
        say("a full disk: skipped, for this user may not mount one");
        return;
    };
    let daemon = setup.start();
    let client = Client::new(daemon.osc);
    client.done("/hapticd/record/start", &[]);
    under("full disk", &daemon, false, count, |end| {
        while !end.load(Ordering::Relaxed) {
            // Fault data and recordings, again and again.
            let _refused = client.command("/hapticd/record/start", &[]);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    daemon.stop();
}

#[test]
fn halts_under_the_floods_of_the_other_tests_by_the_ticks_of_the_recording() {
    let Some(count) = tries() else { return };
    let _machine = alone();
    let daemon = Setup::new("ticks").start();
    under("no flood", &daemon, true, count, |end| {
        while !end.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    under("UDP, 50,000 messages/s", &daemon, true, count, |end| {
        let (client, bytes) = (Client::new(daemon.osc), message("/hapticd/coupling/stiffness", &[]));
        let (start, mut sent) = (Instant::now(), 0);
        while !end.load(Ordering::Relaxed) {
            let due = start.elapsed().as_micros() as u64 / 20;
            (sent..due).for_each(|_| client.send_bytes(&bytes));
            sent = due;
            std::thread::sleep(Duration::from_micros(200));
        }
    });
    under("costly bundles, 1,000 ports", &daemon, true, count, |end| ask_costly_bundles(daemon.osc, 1000, 2000, end));
    under("20 WebSockets", &daemon, true, count, |end| {
        std::thread::scope(|scope| (0..20).for_each(|_| drop(scope.spawn(|| send_frames(daemon.viewer, end)))));
    });
    daemon.listen(false);
    under("stalled log", &daemon, true, count, |end| {
        let client = Client::new(daemon.osc);
        let ask = message("/hapticd/subscribe", &["energy".into(), 1.0_f32.into()]);
        while !end.load(Ordering::Relaxed) {
            client.send_bytes(&ask);
            client.send_bytes(&message("/hapticd/unsubscribe", &[]));
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    daemon.listen(true);
    daemon.stop();
}
