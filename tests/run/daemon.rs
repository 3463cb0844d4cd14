//! The program as a service manager and a client see it: started, asked, signalled, ended.

use rosc::{OscMessage, OscPacket, OscType};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Given up after this; a machine under load may need a good part of it.
const PATIENCE: Duration = Duration::from_secs(120);
/// A datagram may be lost; then the question is put again.
const AGAIN: Duration = Duration::from_secs(3);

/// A directory of its own, removed in the end.
pub(crate) struct Place(pub(crate) PathBuf);

impl Place {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hapticd-run-{}-{name}", std::process::id()));
        std::fs::create_dir_all(path.join("scenes")).expect("a directory can be made");
        Self(path)
    }

    /// Writes a configuration with these lines, everything kept in this place; gives its path.
    pub(crate) fn config(&self, more: &str) -> PathBuf {
        let text = format!("format = \"hapticd-config/1\"\n[paths]\nscenes = \"scenes\"\nstate = \"state\"\n{more}\n");
        self.write("hapticd.toml", &text)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a file can be written");
        path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The program with arguments, not yet started.
pub(crate) fn hapticd(arguments: &[&str], config: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hapticd"));
    command.arg("run").arg("--config").arg(config).args(arguments).env_remove("HAPTICD_LOG");
    command.env_remove("NOTIFY_SOCKET").env_remove("JOURNAL_STREAM");
    command
}

/// A running daemon, ended with the test.
pub(crate) struct Daemon {
    child: Child,
    log: Arc<Mutex<String>>,
    osc: SocketAddr,
    query: SocketAddr,
    socket: UdpSocket,
}

impl Daemon {
    /// Starts it on free ports and waits until it says where it listens.
    pub(crate) fn start(config: &Path, arguments: &[&str]) -> Self {
        Self::spawn(hapticd(arguments, config).args([
            "--port",
            "0",
            "--query-port",
            "0",
            "--viewer-port",
            "0",
            "--allow-no-rt",
        ]))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the program starts");
        let log = Arc::new(Mutex::new(String::new()));
        let (lines, writer) = (BufReader::new(child.stderr.take().expect("piped")), Arc::clone(&log));
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let mut log = writer.lock().expect("nobody panics with it");
                log.push_str(&line);
                log.push('\n');
            }
        });
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
        socket.set_read_timeout(Some(Duration::from_millis(50))).expect("it can be set");
        let nowhere: SocketAddr = "127.0.0.1:9".parse().expect("an address");
        let mut daemon = Self { child, log, osc: nowhere, query: nowhere, socket };
        let line = daemon.wait_for_log("listening:");
        daemon.osc = after(&line, "udp://").parse().expect("an address");
        daemon.query = after(&line, "http://").parse().expect("an address");
        daemon
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("nobody panics with it").clone()
    }

    /// Waits until the log has this; gives the whole line.
    pub(crate) fn wait_for_log(&self, text: &str) -> String {
        let mut found = None;
        wait(
            &format!("`{text}` in the log"),
            || {
                found = self.log().lines().find(|line| line.contains(text)).map(str::to_owned);
                found.is_some()
            },
            || self.log(),
        );
        found.unwrap_or_default()
    }

    pub(crate) fn send(&self, address: &str, arguments: &[OscType]) {
        let message = OscMessage { addr: address.into(), args: arguments.to_vec() };
        let bytes = rosc::encoder::encode(&OscPacket::Message(message)).expect("it can be encoded");
        self.socket.send_to(&bytes, self.osc).expect("it can be sent");
    }

    pub(crate) fn flood(&self, datagrams: usize) {
        let stranger = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
        for n in 0..datagrams {
            // The system may run out of room: that is the flood.
            let _ = stranger.send_to(if n % 2 == 0 { b"/hapticd/status\0,\0\0\0" } else { b"garbage!" }, self.osc);
        }
    }

    /// Sends and waits for a message that `pick` accepts.
    fn ask<T>(&self, address: &str, arguments: &[OscType], pick: impl Fn(&OscMessage) -> Option<T>) -> T {
        let began = Instant::now();
        let mut buffer = [0; 65536];
        while began.elapsed() < PATIENCE {
            self.send(address, arguments);
            let asked = Instant::now();
            while asked.elapsed() < AGAIN {
                let Ok((length, _)) = self.socket.recv_from(&mut buffer) else { continue };
                let Ok((_, OscPacket::Message(message))) = rosc::decoder::decode_udp(&buffer[..length]) else {
                    continue;
                };
                if let Some(picked) = pick(&message) {
                    return picked;
                }
            }
        }
        unreachable!("no answer to {address}; the log:\n{}", self.log())
    }

    /// Does something and waits for `done` or `fail`.
    pub(crate) fn try_do(&self, address: &str, arguments: &[OscType]) -> Result<Vec<OscType>, (i32, String)> {
        self.ask(address, arguments, |message| {
            let (first, rest) = message.args.split_first()?;
            if *first != OscType::String(address.into()) {
                return None;
            }
            match (message.addr.as_str(), rest) {
                ("/hapticd/done", values) => Some(Ok(values.to_vec())),
                ("/hapticd/fail", [OscType::Int(code), OscType::String(text)]) => Some(Err((*code, text.clone()))),
                _ => None,
            }
        })
    }

    pub(crate) fn must_do(&self, address: &str, arguments: &[OscType]) -> Vec<OscType> {
        match self.try_do(address, arguments) {
            Ok(values) => values,
            Err(refused) => unreachable!("{address}: {refused:?}\n{}", self.log()),
        }
    }

    /// A value, asked for by its address.
    /// True while a scene or device is being loaded.
    pub(crate) fn is_busy(&self) -> bool {
        self.ask("/hapticd/status", &[], |message| {
            (message.addr == "/hapticd/status.reply").then(|| message.args.get(9) == Some(&OscType::Int(1)))
        })
    }

    pub(crate) fn get(&self, address: &str) -> OscType {
        self.ask(address, &[], |message| (message.addr == address).then(|| message.args.first().cloned()).flatten())
    }

    pub(crate) fn get_text(&self, address: &str) -> String {
        self.get(address).string().unwrap_or_default()
    }

    /// Starts it. A loop that this machine has kept from its time latches a fault by itself, which is acknowledged.
    pub(crate) fn enable(&self) {
        wait(
            "ENABLED",
            || {
                match self.get_text("/hapticd/state").as_str() {
                    "FAULT" => drop(self.try_do("/hapticd/fault/ack", &[])),
                    "DISABLED" => drop(self.try_do("/hapticd/start", &[])),
                    _ => {}
                }
                self.get_text("/hapticd/state") == "ENABLED"
            },
            || self.log(),
        );
    }

    /// Starts it, and waits until it has stayed so for this many ticks.
    pub(crate) fn enable_for(&self, ticks: f64) {
        let mut since = None;
        wait(
            "so many ticks in ENABLED",
            || {
                self.enable();
                let now = self.figure("hapticd_ticks_total");
                let stays = self.get_text("/hapticd/state") == "ENABLED";
                since = since.or(Some(now)).filter(|_| stays);
                since.is_some_and(|since| now > since + ticks)
            },
            || self.log(),
        );
    }

    pub(crate) fn wait_for_state(&self, state: &str) {
        wait(state, || self.get_text("/hapticd/state") == state, || self.log());
    }

    /// Waits for the event of a fault with this code; gives all it says.
    pub(crate) fn await_fault(&self, code: &str) -> Vec<OscType> {
        let code = OscType::String(code.into());
        self.ask("/hapticd/notify", &[OscType::Int(1)], |message| {
            let is_it = message.addr == "/hapticd/event/fault" && message.args.get(1) == Some(&code);
            is_it.then(|| message.args.clone())
        })
    }

    /// The page at `path`, head and body.
    pub(crate) fn http(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.query).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("it can be set");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.query).expect("it listens");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("text");
        text
    }

    /// A figure of the metrics page.
    pub(crate) fn figure(&self, name: &str) -> f64 {
        let page = self.http("/metrics");
        let line = page.lines().find(|line| line.split_once(' ').is_some_and(|(key, _)| key == name));
        let value = line.and_then(|line| line.rsplit(' ').next()).and_then(|text| text.parse().ok());
        value.unwrap_or_else(|| unreachable!("no {name} in\n{page}"))
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
    }

    /// Waits for the end; gives the exit code.
    pub(crate) fn code(&mut self) -> Option<i32> {
        let log = Arc::clone(&self.log);
        let mut status = None;
        let child = &mut self.child;
        wait(
            "the end",
            || {
                status = child.try_wait().expect("it is a child");
                status.is_some()
            },
            || log.lock().expect("nobody panics with it").clone(),
        );
        status.and_then(|status| status.code())
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it is a child").is_none()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until `holds`; gives up with the log.
pub(crate) fn wait(what: &str, mut holds: impl FnMut() -> bool, log: impl Fn() -> String) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "waited for {what}; the log:\n{}", log());
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn after<'a>(line: &'a str, mark: &str) -> &'a str {
    let (_, rest) = line.split_once(mark).unwrap_or_else(|| unreachable!("`{mark}` in {line}"));
    rest.split([',', ' ']).next().unwrap_or_default()
}
