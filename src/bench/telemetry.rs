//! Suite `telemetry`: what watching costs the loop. Lateness of the running daemon, alone and with ten viewers and a recording.
//!
//! Thread: main, one for each viewer; the loop measured is that of a daemon of its own.
//!
//! A daemon is started for each turn, on free ports, and works on its scene. Alone and watched take turns, so that what else
//! the machine does falls on both. Viewers run in this process and take every tick and thirty pictures a second.

use super::{BenchError, Better, Options, Record, Report};
use rosc::{OscMessage, OscPacket, OscType};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const SUITE: &str = "telemetry";
const VIEWERS: usize = 10;
/// Given up after this.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs the suite.
///
/// # Errors
/// When a daemon cannot be started or does not answer.
pub fn run(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let turn_s = (options.seconds / f64::from(options.rounds)).max(1.0);
    let (mut alone, mut watched) = (Vec::new(), Vec::new());
    for round in 0..options.rounds {
        // Who begins takes turns too.
        for with_viewers in [round % 2 == 0, round % 2 != 0] {
            let turn = turn(turn_s, if with_viewers { VIEWERS } else { 0 })?;
            if with_viewers { &mut watched } else { &mut alone }.push(turn);
        }
    }
    let crowd = format!("{VIEWERS}_viewers_and_recording");
    let against = |name: &str, stat: &'static str, of: fn(&Turn) -> f64| {
        let (ours, theirs) = (median(&watched, of), median(&alone, of));
        Record::new(SUITE, format!("{name}/{crowd}"), stat, ours, "us").versus("nobody_watching", theirs, Better::Lower)
    };
    report.put(against("lateness", "p99.9", |turn| turn.lateness_us))?;
    report.put(against("haptic_thread_time_a_tick", "mean", |turn| turn.tick_us))?;
    // How far turns of the same kind lie apart: what a ratio above is worth.
    for (name, turns) in [("nobody_watching", &alone), (crowd.as_str(), &watched)] {
        let spread = most(turns, |turn| turn.lateness_us) / -most(turns, |turn| -turn.lateness_us);
        report.put(Record::new(SUITE, format!("lateness/{name}"), "max-over-min", spread, "1"))?;
    }
    let grown = most(&watched, |turn| turn.grown_kb);
    report.put(Record::new(SUITE, format!("memory_grown/{crowd}"), "max", grown, "kB"))?;
    let (taken, lost): (f64, f64) = watched
        .iter()
        .map(|turn| (turn.bytes as f64 / 1e6, turn.unsent))
        .fold((0.0, 0.0), |sum, turn| (sum.0 + turn.0, sum.1 + turn.1));
    report.put(Record::new(SUITE, format!("taken/{VIEWERS}_viewers"), "total", taken, "MB"))?;
    report.put(Record::new(SUITE, format!("lost_packets/{VIEWERS}_viewers"), "count", lost, "1"))?;
    Ok(())
}

fn median(turns: &[Turn], of: fn(&Turn) -> f64) -> f64 {
    let mut values: Vec<f64> = turns.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn most(turns: &[Turn], of: fn(&Turn) -> f64) -> f64 {
    turns.iter().map(of).fold(f64::NEG_INFINITY, f64::max)
}

/// What one daemon did.
struct Turn {
    lateness_us: f64,
    /// Time of a processor that the haptic thread took for a tick, on average.
    tick_us: f64,
    /// Memory it took more at the end than half-way.
    grown_kb: f64,
    bytes: u64,
    unsent: f64,
}

fn failed(text: impl Into<String>) -> BenchError {
    BenchError::Failed(text.into().into())
}

fn turn(seconds: f64, viewers: usize) -> Result<Turn, BenchError> {
    let daemon = Daemon::start()?;
    daemon.order("/hapticd/start", "/hapticd/done")?;
    let crowd = Crowd::gather(daemon.viewer, viewers)?;
    if viewers > 0 {
        daemon.order("/hapticd/record/start", "/hapticd/done")?;
    }
    let before = (daemon.haptic_ns()?, daemon.figure("hapticd_ticks_total")?);
    std::thread::sleep(Duration::from_secs_f64(0.5 * seconds));
    let half_way_kb = daemon.resident_kb()?;
    std::thread::sleep(Duration::from_secs_f64(0.5 * seconds));
    let grown_kb = daemon.resident_kb()? - half_way_kb;
    let after = (daemon.haptic_ns()?, daemon.figure("hapticd_ticks_total")?);
    let tick_us = 1e-3 * (after.0 - before.0) / (after.1 - before.1);
    let status = daemon.order("/hapticd/status", "/hapticd/status.reply")?;
    let Some(OscType::Float(lateness_us)) = status.get(5) else { return Err(failed("the status has no lateness")) };
    let unsent = daemon.figure("hapticd_osc_messages_total{outcome=\"unsent\"}")?;
    let bytes = crowd.bytes.load(Ordering::Relaxed);
    if viewers > 0 && bytes == 0 {
        return Err(failed("the viewers were sent nothing"));
    }
    Ok(Turn { lateness_us: f64::from(*lateness_us), tick_us, grown_kb, bytes, unsent })
}

/// A daemon on free ports with a directory of its own; both end with it.
struct Daemon {
    child: Child,
    place: PathBuf,
    osc: SocketAddr,
    query: SocketAddr,
    viewer: SocketAddr,
    socket: UdpSocket,
}

impl Daemon {
    fn start() -> Result<Self, BenchError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let place = std::env::temp_dir().join(format!("hapticd-telemetry-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&place)?;
        let config = place.join("hapticd.toml");
        std::fs::write(&config, "format = \"hapticd-config/1\"\n[paths]\nstate = \"state\"\n")?;
        let mut child = command(&config)?.spawn()?;
        let lines = child.stderr.take().map(BufReader::new).ok_or_else(|| failed("the daemon has no log"))?;
        let (sender, heard) = std::sync::mpsc::channel();
        // Reads to the end: a daemon whose log nobody takes would wait for it.
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.set_read_timeout(Some(Duration::from_millis(200)))?;
        let nowhere = socket.local_addr()?;
        let mut daemon = Self { child, place, osc: nowhere, query: nowhere, viewer: nowhere, socket };
        let began = Instant::now();
        while let Ok(line) = heard.recv_timeout(PATIENCE.saturating_sub(began.elapsed())) {
            let addresses = (after(&line, "udp://"), after(&line, "OSCQuery http://"), after(&line, "viewer http://"));
            if let (Some(osc), Some(query), Some(viewer)) = addresses {
                (daemon.osc, daemon.query, daemon.viewer) = (osc, query, viewer);
                return Ok(daemon);
            }
        }
        Err(failed("the daemon did not say where it listens"))
    }

    /// Sends a message until something comes back at `wanted`; gives what it carries.
    fn order(&self, address: &str, wanted: &str) -> Result<Vec<OscType>, BenchError> {
        let packet = packet(address, &[])?;
        let (began, mut buffer) = (Instant::now(), [0; 2048]);
        while began.elapsed() < PATIENCE {
            self.socket.send_to(&packet, self.osc)?;
            let Ok((length, _)) = self.socket.recv_from(&mut buffer) else { continue };
            match rosc::decoder::decode_udp(&buffer[..length]) {
                Ok((_, OscPacket::Message(message))) if message.addr == wanted => return Ok(message.args),
                _ => {}
            }
        }
        Err(failed(format!("the daemon did not answer {address}")))
    }

    /// Time of a processor that its haptic thread has taken, ns.
    fn haptic_ns(&self) -> Result<f64, BenchError> {
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))?.flatten() {
            if std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim() == "haptic") {
                let text = std::fs::read_to_string(task.path().join("schedstat"))?;
                let first = text.split_whitespace().next().and_then(|number| number.parse().ok());
                return first.ok_or_else(|| failed("the kernel does not count the time of threads"));
            }
        }
        Err(failed("the daemon has no haptic thread"))
    }

    /// Memory of the daemon in RAM, kB.
    fn resident_kb(&self) -> Result<f64, BenchError> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        number.ok_or_else(|| failed("the kernel does not count memory"))
    }

    /// A figure of its metrics.
    fn figure(&self, name: &str) -> Result<f64, BenchError> {
        let mut stream = TcpStream::connect(self.query)?;
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.query)?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        let line = page.lines().find_map(|line| line.strip_prefix(name).and_then(|rest| rest.strip_prefix(' ')));
        line.and_then(|number| number.parse().ok()).ok_or_else(|| failed(format!("the daemon has no figure {name}")))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Nothing is left to be done about an error in the end.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.place);
    }
}

fn command(config: &Path) -> Result<Command, BenchError> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("run").arg("--config").arg(config).args(["--scene", "box_on_table", "--device", "simulated-3dof"]);
    command.args(["--port", "0", "--query-port", "0", "--viewer-port", "0", "--allow-no-rt"]);
    command.env_remove("NOTIFY_SOCKET").env_remove("JOURNAL_STREAM").env("HAPTICD_LOG", "info");
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    Ok(command)
}

fn after(line: &str, mark: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once(mark)?;
    rest.split([',', ' ', '/']).next()?.parse().ok()
}

fn packet(address: &str, args: &[OscType]) -> Result<Vec<u8>, BenchError> {
    let message = OscPacket::Message(OscMessage { addr: address.into(), args: args.to_vec() });
    rosc::encoder::encode(&message).map_err(|error| failed(error.to_string()))
}

/// Viewers that take what they are sent; they leave together.
struct Crowd {
    stop: Arc<AtomicBool>,
    bytes: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Crowd {
    fn gather(at: SocketAddr, count: usize) -> Result<Self, BenchError> {
        let mut crowd = Self { stop: Arc::default(), bytes: Arc::default(), threads: Vec::new() };
        for _ in 0..count {
            let mut stream = open(at)?;
            for name in ["scene", "ticks"] {
                let args = [OscType::String(name.into()), OscType::Float(30.0)];
                stream.write_all(&frame(&packet("/hapticd/subscribe", &args)?))?;
            }
            let ping = frame(&packet("/hapticd/ping", &[])?);
            let (stop, bytes) = (Arc::clone(&crowd.stop), Arc::clone(&crowd.bytes));
            crowd.threads.push(std::thread::spawn(move || watch(stream, &ping, &stop, &bytes)));
        }
        Ok(crowd)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Takes everything until told to stop, and keeps the leases alive.
fn watch(mut stream: TcpStream, ping: &[u8], stop: &AtomicBool, bytes: &AtomicU64) {
    let (mut buffer, mut asked) = ([0; 16 * 1024], Instant::now());
    while !stop.load(Ordering::Relaxed) {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                bytes.fetch_add(count as u64, Ordering::Relaxed);
            }
            // A time without data.
            Err(_) => {}
        }
        if asked.elapsed() >= Duration::from_millis(500) {
            asked = Instant::now();
            if stream.write_all(ping).is_err() {
                return;
            }
        }
    }
}

/// Opens a WebSocket, without looking closer at what the server says to it than that it agrees.
fn open(at: SocketAddr) -> Result<TcpStream, BenchError> {
    let mut stream = TcpStream::connect(at)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "GET /ws HTTP/1.1\r\nHost: {at}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: aGFwdGljZCB0ZWxlbWV0cg==\r\n\r\n"
    )?;
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    if !head.starts_with(b"HTTP/1.1 101") {
        return Err(failed(format!("no WebSocket: {}", String::from_utf8_lossy(&head))));
    }
    stream.set_read_timeout(Some(Duration::from_millis(100)))?;
    Ok(stream)
}

/// A binary frame of a client, for packets of up to 125 bytes. Its mask is zero: nobody between needs to be fooled here.
fn frame(packet: &[u8]) -> Vec<u8> {
    debug_assert!(packet.len() < 126);
    let mut frame = vec![0x82, 0x80 | packet.len() as u8, 0, 0, 0, 0];
    frame.extend_from_slice(packet);
    frame
}
