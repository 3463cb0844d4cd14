//! The real program, started for one test on ports of its own, and ended with it.

use crate::osc::{PATIENCE, float, text};
use crate::{osc::Client, tools};
use rosc::OscType;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// A running daemon.
pub(crate) struct Daemon {
    child: Child,
    lines: Receiver<String>,
    /// Set while nobody reads what the daemon says.
    deaf: Arc<AtomicBool>,
    /// Everything it said so far.
    log: Vec<String>,
    /// Where OSC is spoken.
    pub(crate) osc: SocketAddr,
    /// Where OSCQuery is.
    pub(crate) query: SocketAddr,
    /// Where the viewer's page is.
    pub(crate) viewer: SocketAddr,
}

/// How a daemon is started.
pub(crate) struct Setup {
    directory: PathBuf,
    configuration: String,
    /// Other sections of the configuration.
    sections: String,
    /// The state directory is a file system of its own that is soon full.
    small_disk: bool,
    environment: Vec<(String, String)>,
}

impl Setup {
    /// In a fresh directory called `name`, with the simulated device, on any free ports.
    pub(crate) fn new(name: &str) -> Self {
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("service").join(name);
        let _absent = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).expect("a directory");
        Self {
            directory,
            configuration: String::new(),
            sections: String::new(),
            small_disk: false,
            environment: Vec::new(),
        }
    }

    /// With lines more under `[osc]` in its configuration.
    pub(crate) fn osc(mut self, lines: &str) -> Self {
        self.configuration.push_str(lines);
        self
    }

    /// With these lines under `[recordings]`.
    pub(crate) fn recordings(mut self, lines: &str) -> Self {
        self.sections = format!("[recordings]\n{lines}");
        self
    }

    /// With 200 kB for its state, or nothing where this user may not mount a file system.
    pub(crate) fn on_a_small_disk(mut self) -> Option<Self> {
        fs::create_dir_all(self.directory.join("state")).expect("a directory");
        let mut trial = Command::new("unshare");
        let may = trial.args(["-Urm", "mount", "-t", "tmpfs", "none"]).arg(self.directory.join("state")).output();
        self.small_disk = may.is_ok_and(|said| said.status.success());
        self.small_disk.then_some(self)
    }

    /// With a variable of the environment.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Starts it, and waits until it says where it listens.
    pub(crate) fn start(self) -> Daemon {
        let configuration = self.directory.join("hapticd.toml");
        let text = format!(
            "format = \"hapticd-config/1\"\n[paths]\nstate = \"state\"\n[defaults]\nscene = \"virtual_wall\"\n[osc]\nport = 0\n\
             query_port = 0\n{}[viewer]\nport = 0\n{}",
            self.configuration, self.sections
        );
        fs::write(&configuration, text).expect("written");
        // As systemd starts it: the process knows its own number as that of the watchdog's reader.
        let mount = format!("mount -t tmpfs -o size=200k none '{}' && ", self.directory.join("state").display());
        let (shell, mount) = if self.small_disk { ("unshare", mount) } else { ("env", String::new()) };
        let mut command = Command::new(shell);
        command.args(self.small_disk.then_some("-Urm")).args(["sh", "-c"]);
        command.arg(format!("{mount}WATCHDOG_PID=$$ exec \"$0\" \"$@\""));
        command.args([env!("CARGO_BIN_EXE_hapticd"), "run", "--allow-no-rt"]);
        command.arg("--config").arg(&configuration).env_remove("HAPTICD_LOG").env_remove("NOTIFY_SOCKET");
        command.envs(self.environment).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let stderr = child.stderr.take().expect("a pipe");
        let (sender, lines) = channel();
        let deaf = Arc::<AtomicBool>::default();
        let pause = Arc::clone(&deaf);
        thread::spawn(move || {
            BufReader::new(stderr).lines().map_while(Result::ok).try_for_each(|line| {
                while pause.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(10));
                }
                sender.send(line)
            })
        });
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut daemon = Daemon { child, lines, deaf, log: Vec::new(), osc: nowhere, query: nowhere, viewer: nowhere };
        let line = daemon.wait_for_line("listening: ");
        let address = |scheme: &str| {
            let rest = line.split(scheme).nth(1).unwrap_or_else(|| panic!("no {scheme} in: {line}"));
            rest.split([',', ' ', '/']).next().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{line}"))
        };
        (daemon.osc, daemon.query) = (address("udp://"), address("http://"));
        daemon.viewer = address("viewer http://");
        daemon
    }
}

impl Daemon {
    /// Number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Reads what the daemon says, or leaves it in the pipe.
    pub(crate) fn listen(&self, listens: bool) {
        self.deaf.store(!listens, Ordering::Relaxed);
    }

    /// Waits until a line of the log holds `part`.
    pub(crate) fn wait_for_line(&mut self, part: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.log.push(line),
                Err(error) => panic!("`{part}` was not said ({error}):\n{}", self.log.join("\n")),
            }
            if let Some(line) = self.log.last().filter(|line| line.contains(part)) {
                return line.clone();
            }
        }
    }

    /// Everything said so far.
    pub(crate) fn log(&mut self) -> String {
        self.log.extend(self.lines.try_iter());
        self.log.join("\n")
    }

    /// Sends it a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let (sent, said) = tools::run(Command::new("sh").arg("-c").arg(format!("kill -{name} {}", self.id())));
        assert!(sent, "{said}");
    }

    /// Waits for its end.
    pub(crate) fn wait_for_end(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("it does not end:\n{}", self.log());
    }

    /// Ends it as systemd would, and sees that it ends well.
    pub(crate) fn stop(mut self) {
        assert!(self.child.try_wait().expect("a child").is_none(), "it has ended:\n{}", self.log());
        self.signal("TERM");
        let status = self.wait_for_end();
        assert!(status.success(), "{status}:\n{}", self.log());
        assert!(!self.log().contains("panicked"), "{}", self.log());
    }

    /// Memory in use, in kB.
    pub(crate) fn resident_kb(&self) -> i64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// Operating state and overruns so far.
    pub(crate) fn status(&self) -> (String, i64) {
        let status = Client::new(self.osc).ask("/hapticd/status", "/hapticd/status.reply");
        let overruns = match &status[6] {
            OscType::Int(count) => i64::from(*count),
            other => float(other) as i64,
        };
        (text(&status[0]).to_owned(), overruns)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Already ended, or a test failed.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}
