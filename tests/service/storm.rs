//! Storms: garbage by the ten thousand, and more messages than anyone needs. The daemon answers, stays small, and halts.

use crate::alone;
use crate::daemon::{Daemon, Setup};
use crate::osc::{Client, PATIENCE, float, message};
use crate::tools::say;
use hapticd::control::table::{ENTRIES, Entry, Type};
use hapticd::math::Random;
use rosc::{OscBundle, OscPacket, OscTime, OscType, encoder};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Datagrams of the storm, in rounds with a question and a change between them.
const DATAGRAMS: usize = 20_000;
const WARM_UP: usize = 5000;
const ROUND: usize = 20;
/// Sockets they come from, each on a host of its own: one alone, or one host, would be held back by its share.
const SOCKETS: usize = 100;
/// Most the memory may grow after the warm-up, kB.
const GROWTH_KB: i64 = 1024;
const STIFFNESS: &str = "/hapticd/coupling/stiffness";

/// Left out: what builds rigs or writes files when it is well-formed, because that is work and takes memory for good reason
/// (a halt freezes the ticks around it); and the one value that the client in the midst of the storm sets.
const SPARED: [&str; 7] = [
    "/hapticd/halt",
    "/hapticd/estop",
    "/hapticd/scene/load",
    "/hapticd/scene/reload",
    "/hapticd/device/open",
    "/hapticd/record/start",
    STIFFNESS,
];

/// Whole numbers below a bound.
trait Dice {
    fn below(&mut self, bound: usize) -> usize;
}

impl Dice for Random {
    fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }
}

/// A well-formed message to some address of the table, with arguments that may fit it.
fn proper(random: &mut Random) -> Vec<u8> {
    let spared = |entry: &&Entry| !SPARED.contains(&entry.path);
    let entries: Vec<&Entry> = ENTRIES.iter().filter(spared).collect();
    let entry = entries[random.below(entries.len())];
    let argument = |random: &mut Random, kind: Type| match kind {
        _ if random.below(10) == 0 => OscType::Blob(vec![7; random.below(9)]),
        Type::Blob => OscType::Blob(vec![0; random.below(50)]),
        Type::Int | Type::Switch => OscType::Int(random.below(1 << 16) as i32 - 100),
        Type::Float => {
            [OscType::Float(1.5), OscType::Float(f32::NAN), OscType::Double(-1e300)][random.below(3)].clone()
        }
        Type::Text => {
            OscType::String(["osc.udp://:1/", "", "energy", "/hapticd/halt", "ä%00"][random.below(5)].to_owned())
        }
    };
    let mut arguments: Vec<OscType> = entry.arguments.iter().map(|wanted| argument(random, wanted.kind)).collect();
    arguments.truncate(random.below(arguments.len() + 2));
    message(&entry.path.replace("NAME", "steel"), &arguments)
}

/// Bundles within bundles, deeper than anyone means.
fn nested(random: &mut Random) -> Vec<u8> {
    let leaf = OscPacket::Message(rosc::OscMessage { addr: STIFFNESS.to_owned(), args: Vec::new() });
    let time = OscTime { seconds: random.below(1 << 20) as u32, fractional: 1 };
    let wrap = |content, _| OscPacket::Bundle(OscBundle { timetag: time, content: vec![content] });
    let packet = (0..random.below(40)).fold(leaf, wrap);
    encoder::encode(&packet).expect("a packet")
}

/// One datagram: noise, or something proper with a few bytes changed, cut or repeated.
fn datagram(random: &mut Random) -> Vec<u8> {
    let mut bytes = match random.below(8) {
        0 => return (0..random.below(1400)).map(|_| random.below(256) as u8).collect(),
        1 => nested(random),
        _ => proper(random),
    };
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len().max(1));
        match random.below(4) {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_within(at.min(bytes.len())..),
            2 => bytes.extend([0xff, 0xff, 0xff, 0x7f]),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
    bytes.truncate(1400);
    bytes
}

/// Sets the stiffness and asks for it; both must be answered.
fn set_and_get(client: &Client, step: usize) {
    let wanted = 200.0 + (step % 100) as f32;
    client.done(STIFFNESS, &[wanted.into()]);
    let found = client.ask(STIFFNESS, STIFFNESS);
    assert_eq!(float(&found[0]), f64::from(wanted));
}

/// Overruns of the loop while `work` goes on, and how long that took.
fn overruns(daemon: &Daemon, work: impl FnOnce()) -> (i64, Duration) {
    let (before, start) = (daemon.status().1, Instant::now());
    work();
    (daemon.status().1 - before, start.elapsed())
}

#[test]
fn a_storm_of_garbage_is_answered_and_forgotten() {
    let _machine = alone();
    let daemon = Setup::new("storm").start();
    let client = Client::new(daemon.osc);
    let sockets: Vec<Client> =
        (1..=SOCKETS).map(|host| Client::bound(&format!("127.0.1.{host}:0"), daemon.osc)).collect();
    let mut random = Random::new(20_261_116);
    let mut round = |step: usize| {
        for index in 0..ROUND {
            sockets[(step * ROUND + index) % SOCKETS].send_bytes(&datagram(&mut random));
        }
        set_and_get(&client, step);
    };
    // The first rounds and seconds fill what stays: buckets of clients, the list of faults, the last ticks.
    let (warm, rounds) = (WARM_UP / ROUND, DATAGRAMS / ROUND);
    (0..warm).for_each(&mut round);
    std::thread::sleep(Duration::from_secs(3));
    let before_kb = daemon.resident_kb();
    let (lost, took) = overruns(&daemon, || (warm..warm + rounds).for_each(&mut round));
    let growth_kb = daemon.resident_kb() - before_kb;
    let (lost_quiet, took_quiet) = overruns(&daemon, || {
        (0..rounds).for_each(|step| set_and_get(&client, step));
        std::thread::sleep(took / 2);
    });
    say(&format!(
        "storm: {DATAGRAMS} datagrams, every question answered; memory {before_kb} kB {growth_kb:+} kB; overruns {lost} in \
         {:.1} s, without the storm {lost_quiet} in {:.1} s",
        took.as_secs_f64(),
        took_quiet.as_secs_f64()
    ));
    assert!(growth_kb < GROWTH_KB, "memory grew by {growth_kb} kB");
    // Loosely: a storm may take a few ticks on a busy machine, not one in twenty.
    let ticks = took.as_millis() as i64;
    assert!(lost <= 10 * lost_quiet + ticks / 20, "{lost} of {ticks} ticks were lost, {lost_quiet} without the storm");
    daemon.stop();
}

/// Sends one message again and again, `rate` a second, until told to end; counts.
fn flood(client: &Client, rate: u64, end: &AtomicBool, sent: &AtomicU64) {
    let bytes = message(STIFFNESS, &[]);
    let start = Instant::now();
    while !end.load(Ordering::Relaxed) {
        let due = (start.elapsed().as_micros() as u64) * rate / 1_000_000;
        for _ in sent.load(Ordering::Relaxed)..due {
            client.send_bytes(&bytes);
        }
        sent.store(due, Ordering::Relaxed);
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Halts until the daemon tells of FAULT: how long that took, and how often the message was sent.
fn halt(stopper: &Client) -> (Duration, u32) {
    let start = Instant::now();
    let fault = |message: &rosc::OscMessage| message.addr == "/hapticd/event/state" && message.args == ["FAULT".into()];
    for tries in 1..=2000 {
        // A flood fills the kernel's buffer, and what does not fit is lost before the daemon can see it.
        stopper.send("/hapticd/halt", &[]);
        if stopper.wait(Duration::from_millis(50), fault).is_some() {
            return (start.elapsed(), tries);
        }
    }
    panic!("no FAULT, however often it was halted");
}

#[test]
fn a_halt_gets_through_a_flood() {
    const RATE: u64 = 50_000;
    const HALTS: usize = 20;
    let _machine = alone();
    let daemon = Setup::new("flood").start();
    let (flooder, stopper) = (Client::new(daemon.osc), Client::new(daemon.osc));
    stopper.done("/hapticd/notify", &[1.into()]);
    let (end, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let start = Instant::now();
    let mut delays = Vec::new();
    let mut tries = 0;
    let persist = |address: &str| {
        // As with the halt: what is lost is sent again.
        let done = (0..2000).any(|_| {
            stopper.send(address, &[]);
            let ours = |message: &rosc::OscMessage| {
                message.addr == "/hapticd/done" && message.args.first() == Some(&OscType::String(address.to_owned()))
            };
            stopper.wait(Duration::from_millis(50), ours).is_some()
        });
        assert!(done, "{address} is never done");
    };
    std::thread::scope(|scope| {
        scope.spawn(|| flood(&flooder, RATE, &end, &sent));
        while delays.len() < HALTS || start.elapsed() < Duration::from_secs(3) {
            persist("/hapticd/start");
            let (delay, times) = halt(&stopper);
            delays.push(delay);
            tries += times;
            persist("/hapticd/fault/ack");
        }
        end.store(true, Ordering::Relaxed);
    });
    let seconds = start.elapsed().as_secs_f64();
    delays.sort();
    let of = |part: f64| {
        delays[((delays.len() as f64 * part).ceil() as usize).clamp(1, delays.len()) - 1].as_secs_f64() * 1e3
    };
    say(&format!(
        "flood of {:.0} messages/s for {seconds:.1} s: from halt to the event of FAULT p50 {:.1} ms, p99 {:.1} ms, max {:.1} ms; \
         {} halts, {tries} messages",
        sent.load(Ordering::Relaxed) as f64 / seconds,
        of(0.5),
        of(0.99),
        of(1.0),
        delays.len()
    ));
    // When it is over everything is as before.
    let client = Client::new(daemon.osc);
    set_and_get(&client, 1);
    assert!(client.wait(PATIENCE.min(Duration::from_millis(100)), |_| true).is_none(), "words nobody asked for");
    daemon.stop();
}
