//! The stage of one try: an emulated device, the daemon that drives it, and its guardians, each in a process of its own.
//!
//! Thread: main.

use super::strike::Phase;
use crate::control::osc::{self, Received};
use crate::daemon::Failure;
use crate::shared::realtime::SystemClock;
use crate::shared::{Clock as _, MonoNs, NS_PER_S};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Longest wait for a phase to be reached: a Falcon is homed by hand first.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest wait for a process to begin.
const BEGIN: Duration = Duration::from_secs(30);
/// The hand has pushed for so long before a strike, ms: at least, and more by chance.
const PUSHED_MS: [f64; 2] = [20.0, 40.0];
/// Time between two questions to the daemon.
const ASK: Duration = Duration::from_millis(20);

/// Numbers the folders of the stages of this process.
static STAGES: AtomicU64 = AtomicU64::new(0);

/// See the file's head. Dropping it ends its processes and removes its folder.
pub(super) struct Stage {
    folder: PathBuf,
    pub(super) daemon: Child,
    emulator: Child,
    orders: Option<ChildStdin>,
    said: Receiver<String>,
    socket: UdpSocket,
    /// When force began and ended, and which of both.
    pub(super) changes: Vec<(MonoNs, bool)>,
    /// The largest force at the handle, N; known once the device has ended.
    pub(super) peak_n: Option<f64>,
}

/// Lines of a process, taken in by a thread of their own.
fn lines_of(source: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        BufReader::new(source).lines().map_while(Result::ok).all(|line| sender.send(line).is_ok())
    });
    lines
}

/// The first line with this part in it.
fn line_with(lines: &Receiver<String>, part: &str) -> Result<String, Failure> {
    let end = Instant::now() + BEGIN;
    let mut heard = String::new();
    loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) if line.contains(part) => return Ok(line),
            Ok(line) => heard = line,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(Failure::Port(format!("a process of the trial did not begin; its last words: {heard}")));
            }
        }
    }
}

fn io(why: std::io::Error) -> Failure {
    Failure::Port(format!("a process of the trial cannot be started: {why}"))
}

impl Stage {
    /// Starts the emulated device and the daemon.
    ///
    /// # Errors
    /// When one does not begin.
    pub(super) fn build(scene: &str, device: &str) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(io)?;
        let number = STAGES.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("hapticd-chaos-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(io)?;
        let link = folder.join("port");
        let mut emulator = Command::new(&program)
            .args(["emulate", device, "--scene", scene, "--wait", "never", "--link"])
            .arg(&link)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(io)?;
        let orders = emulator.stdin.take();
        let said = lines_of(emulator.stdout.take().ok_or_else(|| io(std::io::ErrorKind::BrokenPipe.into()))?);
        let begun = line_with(&said, "orders");
        let daemon = begun.and_then(|_| start_daemon(&program, &folder, &link, (scene, device)));
        let (daemon, address) = match daemon {
            Ok(started) => started,
            Err(failure) => {
                let _ = emulator.kill();
                let _ = emulator.wait();
                let _ = std::fs::remove_dir_all(&folder);
                return Err(failure);
            }
        };
        let socket = UdpSocket::bind("127.0.0.1:0").and_then(|socket| {
            socket.connect(address)?;
            socket.set_read_timeout(Some(ASK))?;
            Ok(socket)
        });
        let socket = socket.map_err(io)?;
        Ok(Self { folder, daemon, emulator, orders, said, socket, changes: Vec::new(), peak_n: None })
    }

    /// Sends the daemon a command without arguments.
    pub(super) fn ask(&self, address: &str) {
        // What is lost is asked again.
        let _ = self.socket.send(&osc::encode(address, &[]));
    }

    /// Tells the emulated device something.
    pub(super) fn order(&mut self, word: &str) {
        if let Some(orders) = &mut self.orders {
            // A device that has ended takes no orders.
            let _ = writeln!(orders, "{word}").and_then(|()| orders.flush());
        }
    }

    /// The operating state of the daemon, if it answers.
    pub(super) fn state(&self) -> Option<String> {
        let mut buffer = [0; 2048];
        self.ask("/hapticd/status");
        let end = Instant::now() + ASK;
        while Instant::now() < end {
            let Ok(length) = self.socket.recv(&mut buffer) else { break };
            let Ok(packet) = osc::decode(&buffer[..length]) else { continue };
            for message in packet.messages.iter().filter(|message| message.address == "/hapticd/status.reply") {
                if let Some(Received::Text(state)) = message.arguments.first() {
                    return Some(state.clone());
                }
            }
        }
        None
    }

    /// Takes in what the emulated device has told meanwhile.
    pub(super) fn listen(&mut self) {
        let said: Vec<String> = self.said.try_iter().collect();
        for line in said {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [seconds, "s", "force", on @ ("on" | "off")] => {
                    let at = seconds.parse::<f64>().unwrap_or_default();
                    // Seconds since the machine was started: far below 2⁵³ ns.
                    self.changes.push((MonoNs((at * NS_PER_S as f64) as u64), on == "on"));
                }
                ["summary", "peak", "force", newtons, ..] => self.peak_n = newtons.parse().ok(),
                _ => {}
            }
        }
    }

    /// Force acts on the hand now, since when.
    pub(super) fn pushed_since(&mut self) -> Option<MonoNs> {
        self.listen();
        self.changes.last().filter(|(_, on)| *on).map(|(at, _)| *at)
    }

    /// Homes, enables and lets the hand work as the phase wants; `moment` in 0 to 1 says when it is over.
    ///
    /// # Errors
    /// What did not come about.
    pub(super) fn reach(&mut self, phase: Phase, moment: f64) -> Result<(), &'static str> {
        let until = |stage: &mut Self, what, done: &mut dyn FnMut(&mut Self) -> bool| {
            let end = Instant::now() + PATIENCE;
            while !done(stage) {
                if Instant::now() > end || stage.daemon.try_wait().is_ok_and(|ended| ended.is_some()) {
                    return Err(what);
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            Ok(())
        };
        // Where homing is a motion the hand does it by itself; elsewhere it is a word.
        self.ask("/hapticd/device/home");
        let mut asked = Instant::now();
        let wanted = if phase == Phase::Idle { "DISABLED" } else { "ENABLED" };
        until(self, "never homed and enabled", &mut |stage| {
            if asked.elapsed() > Duration::from_millis(300) {
                asked = Instant::now();
                stage.ask("/hapticd/device/home");
                stage.ask("/hapticd/fault/ack");
                stage.ask("/hapticd/start");
            }
            stage.state().is_some_and(|state| state == "ENABLED")
        })?;
        if phase == Phase::Idle {
            self.ask("/hapticd/stop");
            until(self, "never disabled", &mut |stage| stage.state().is_some_and(|state| state == wanted))?;
        }
        if phase == Phase::Pressing {
            self.order("work");
            let long_ns = ((PUSHED_MS[0] + PUSHED_MS[1] * moment) * 1e6) as u64;
            return until(self, "never pushed", &mut |stage| {
                stage.pushed_since().is_some_and(|since| SystemClock.now().since(since) > long_ns)
            });
        }
        std::thread::sleep(Duration::from_millis((100.0 * moment) as u64));
        Ok(())
    }

    /// The guardians of the daemon.
    pub(super) fn guardians(&self) -> Vec<Pid> {
        let daemon = self.daemon.id().to_string();
        let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
        let numbers = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let guards = |pid: &i32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            words.windows(3).any(|w| w[0] == b"guardian" && w[1] == b"--daemon" && w[2] == daemon.as_bytes())
        };
        numbers.filter(guards).filter_map(Pid::from_raw).collect()
    }

    /// The daemon's process.
    pub(super) fn daemon_pid(&self) -> Option<Pid> {
        i32::try_from(self.daemon.id()).ok().and_then(Pid::from_raw)
    }

    /// Ends the device and takes in its last words.
    pub(super) fn end_device(&mut self) {
        self.order("quit");
        self.orders = None;
        let _ = self.emulator.wait();
        // The thread that reads them may be a moment behind.
        let end = Instant::now() + Duration::from_secs(1);
        while self.peak_n.is_none() && Instant::now() < end {
            self.listen();
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let guardians = self.guardians();
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        // One that was stopped goes on, finds its daemon dead, and ends by itself.
        for guardian in guardians {
            let _ = kill_process(guardian, Signal::CONT);
        }
        let _ = self.emulator.kill();
        let _ = self.emulator.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The daemon on the port of the emulated device, and where it speaks OSC.
fn start_daemon(
    program: &Path,
    folder: &Path,
    link: &Path,
    (scene, device): (&str, &str),
) -> Result<(Child, SocketAddr), Failure> {
    let file = folder.join("hapticd.toml");
    let text = "format = \"hapticd-config/1\"\n[paths]\nstate = \"state\"\n[osc]\nport = 0\nquery_port = 0\n[viewer]\nenabled = false\n";
    std::fs::write(&file, text).map_err(io)?;
    let mut daemon = Command::new(program)
        .args(["run", "--allow-no-rt", "--scene", scene, "--device", device, "--device-port"])
        .arg(link)
        .arg("--config")
        .arg(&file)
        .env_remove("HAPTICD_LOG")
        .env_remove("NOTIFY_SOCKET")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(io)?;
    let said = daemon.stderr.take().map(lines_of).ok_or_else(|| io(std::io::ErrorKind::BrokenPipe.into()))?;
    let address = line_with(&said, "listening: ").and_then(|line| {
        let place = line.split("udp://").nth(1).and_then(|rest| rest.split([',', ' ', '/']).next());
        let address = place.and_then(|place| place.parse().ok());
        address.ok_or_else(|| Failure::Port(format!("the daemon does not say where it listens: {line}")))
    });
    match address {
        Ok(address) => {
            // What it says is read to its end, so that its pipe never fills.
            std::thread::spawn(move || said.iter().for_each(drop));
            Ok((daemon, address))
        }
        Err(failure) => {
            let _ = daemon.kill();
            let _ = daemon.wait();
            Err(failure)
        }
    }
}
