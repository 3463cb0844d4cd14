//! `hapticd emulate` as a child process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longest wait for anything, however loaded the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A running emulator; ends with the value.
pub(crate) struct Emulator {
    child: Child,
    orders: ChildStdin,
    lines: Arc<Mutex<Vec<String>>>,
    pub(crate) port: PathBuf,
}

/// A path nobody else has.
pub(crate) fn fresh_path() -> PathBuf {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("hapticd-port-{}-{number}", std::process::id()))
}

impl Emulator {
    /// Starts a device on a port of its own.
    pub(crate) fn start(device: &str, more: &[&str]) -> Self {
        Self::start_at(fresh_path(), device, more)
    }

    /// Starts a device on the port of this name.
    pub(crate) fn start_at(port: PathBuf, device: &str, more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hapticd"))
            .args(["emulate", device, "--for", "600", "--link"])
            .arg(&port)
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program is built");
        let orders = child.stdin.take().expect("it is piped");
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let (out, heard) = (child.stdout.take().expect("it is piped"), Arc::clone(&lines));
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                heard.lock().expect("nobody panics with it").push(line);
            }
        });
        let emulator = Self { child, orders, lines, port };
        emulator.wait("its port", |line| line.starts_with("orders"));
        emulator
    }

    /// Waits for a line.
    pub(crate) fn wait(&self, what: &str, is_it: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let lines = self.lines();
            if let Some(line) = lines.iter().find(|line| is_it(line)) {
                return line.clone();
            }
            assert!(began.elapsed() < PATIENCE, "waited for {what}; it said {lines:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Everything it has said.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().expect("nobody panics with it").clone()
    }

    /// Tells it something.
    pub(crate) fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").and_then(|()| self.orders.flush()).expect("it listens");
    }

    /// Ends it; gives the largest force its motors gave, N.
    pub(crate) fn end(self) -> f64 {
        self.end_with_forces().0
    }

    /// Ends it; gives the largest force its motors gave, and the largest that it was asked for, N.
    pub(crate) fn end_with_forces(mut self) -> (f64, f64) {
        self.order("quit");
        let summary = self.wait("the summary", |line| line.starts_with("summary"));
        let word = |at: usize| summary.split_whitespace().nth(at).and_then(|word| word.parse().ok());
        word(3).zip(word(7)).unwrap_or_else(|| panic!("no forces in `{summary}`"))
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.port);
    }
}
