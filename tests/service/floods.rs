//! Floods that once kept a halt waiting: frames of a WebSocket, costly bundles from many ports, a log that nobody reads.
//!
//! Each is judged by order: FAULT must be told while the flood goes on.

use crate::alone;
use crate::daemon::{Daemon, Setup};
use crate::osc::{Client, PATIENCE, message};
use crate::tools::say;
use rosc::{OscBundle, OscMessage, OscPacket, OscTime, OscType, encoder};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest flood: a halt that has not been carried out by then waits for its end.
const FLOOD: Duration = Duration::from_secs(8);
/// Halts in each flood.
const HALTS: usize = 5;
/// WebSockets that send frames.
const SOCKETS: usize = 8;

/// Starts forces, lets `flood` run beside, and halts: all halts must be carried out before the flood ends by itself.
fn halts_get_through(name: &str, daemon: &Daemon, flood: impl Fn(&AtomicBool) + Sync) {
    for round in 0..HALTS {
        let stopper = Client::new(daemon.osc);
        stopper.done("/hapticd/notify", &[1.into()]);
        stopper.done("/hapticd/start", &[]);
        let (end, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let fault = |message: &OscMessage| message.addr == "/hapticd/event/state" && message.args == ["FAULT".into()];
        let delay = std::thread::scope(|scope| {
            scope.spawn(|| {
                flood(&end);
                ended.store(true, Ordering::Relaxed);
            });
            std::thread::sleep(Duration::from_millis(300));
            let start = Instant::now();
            let told = (0..2000).any(|_| {
                // What the kernel has no room for is lost before the daemon can see it.
                stopper.send("/hapticd/halt", &[]);
                stopper.wait(Duration::from_millis(50), fault).is_some() || ended.load(Ordering::Relaxed)
            });
            let during = !ended.load(Ordering::Relaxed);
            end.store(true, Ordering::Relaxed);
            assert!(told && during, "{name}: halt {round} waited until the flood was over");
            start.elapsed()
        });
        say(&format!("{name}: FAULT was told {:.1} ms after the halt", delay.as_secs_f64() * 1e3));
        let acknowledged = (0..300).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            Client::new(daemon.osc).command("/hapticd/fault/ack", &[]).is_ok()
        });
        assert!(acknowledged, "the fault cannot be acknowledged");
    }
}

/// True until the flood is to end.
fn goes_on(start: Instant, end: &AtomicBool) -> bool {
    start.elapsed() < FLOOD && !end.load(Ordering::Relaxed)
}

#[test]
fn frames_of_a_websocket_do_not_keep_a_halt_waiting() {
    let _machine = alone();
    let daemon = Setup::new("frames").start();
    let at = daemon.viewer;
    halts_get_through("frames", &daemon, |end| {
        std::thread::scope(|scope| {
            for _ in 0..SOCKETS {
                scope.spawn(|| send_frames(at, end));
            }
        });
    });
    daemon.stop();
}

/// Sends frames to a WebSocket as fast as it takes them.
pub(crate) fn send_frames(at: SocketAddr, end: &AtomicBool) {
    let mut stream = TcpStream::connect(at).expect("it listens");
    let head = format!(
        "GET /ws HTTP/1.1\r\nHost: {at}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).expect("it answers");
    assert_eq!(&answer, b"HTTP/1.1 101");
    // Masked binary frames of four bytes, many at once.
    let frames = [0x82_u8, 0x84, 0, 0, 0, 0, b'/', b'x', 0, 0].repeat(10_000);
    stream.set_write_timeout(Some(Duration::from_millis(100))).expect("it can be set");
    let start = Instant::now();
    let mut rest = &frames[..];
    while goes_on(start, end) {
        // A socket that is not read as fast takes what it takes.
        match stream.write(rest) {
            Ok(count) => rest = if count == rest.len() { &frames } else { &rest[count..] },
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

#[test]
fn costly_bundles_from_many_ports_do_not_keep_a_halt_waiting() {
    const PORTS: usize = 200;
    const RATE: u64 = 1000;
    let _machine = alone();
    let daemon = Setup::new("bundles").start();
    halts_get_through("bundles", &daemon, |end| {
        let (start, over) = (Instant::now(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while goes_on(start, end) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                over.store(true, Ordering::Relaxed);
            });
            ask_costly_bundles(daemon.osc, PORTS, RATE, &over);
        });
    });
    daemon.stop();
}

/// Sends bundles of 256 questions, `rate` a second, from so many ports of another host than the client that asks in between.
pub(crate) fn ask_costly_bundles(to: SocketAddr, ports: usize, rate: u64, end: &AtomicBool) {
    let sockets: Vec<UdpSocket> = (0..ports).map(|_| UdpSocket::bind("127.0.0.9:0").expect("a socket")).collect();
    let question = OscPacket::Message(OscMessage { addr: "/hapticd/scene/list".into(), args: Vec::new() });
    let timetag = OscTime { seconds: 0, fractional: 1 };
    let bundle = encoder::encode(&OscPacket::Bundle(OscBundle { timetag, content: vec![question; 256] }));
    let bundle = bundle.expect("a packet");
    let (start, mut sent) = (Instant::now(), 0);
    while !end.load(Ordering::Relaxed) {
        let due = start.elapsed().as_micros() as u64 * rate / 1_000_000;
        for index in sent..due {
            let _lost = sockets[index as usize % ports].send_to(&bundle, to);
        }
        sent = due;
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_log_that_nobody_reads_holds_up_neither_halt_nor_the_end() {
    let _machine = alone();
    let mut daemon = Setup::new("deaf").start();
    let client = Client::new(daemon.osc);
    client.done("/hapticd/start", &[]);
    daemon.listen(false);
    // Two lines each time, some 100 bytes long: a pipe holds 64 KiB, and the queue before it 2048 lines.
    let ask = message("/hapticd/subscribe", &["energy".into(), 1.0_f32.into()]);
    let stop = message("/hapticd/unsubscribe", &[]);
    for _ in 0..2500 {
        client.send_bytes(&ask);
        client.send_bytes(&stop);
        std::thread::sleep(Duration::from_millis(1));
    }
    let stopper = Client::new(daemon.osc);
    stopper.send("/hapticd/halt", &[]);
    let done = |message: &OscMessage| {
        message.addr == "/hapticd/done" && message.args == [OscType::String("/hapticd/halt".into())]
    };
    assert!(stopper.wait(PATIENCE, done).is_some(), "the halt is not answered");
    let halted = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        daemon.status().0 == "FAULT"
    });
    assert!(halted, "it goes on");
    // What was lost is told when somebody listens again.
    daemon.listen(true);
    let line = daemon.wait_for_line("lines of the log were lost");
    say(&format!("log: {}", line.trim()));
    daemon.listen(false);
    for _ in 0..2500 {
        client.send_bytes(&ask);
        client.send_bytes(&stop);
        std::thread::sleep(Duration::from_millis(1));
    }
    daemon.signal("TERM");
    let status = daemon.wait_for_end();
    assert!(status.success(), "{status}");
}
