//! The peer of the contact suite: FCL through its Python package, run as a program that answers pose by pose.
//!
//! Thread: main (cold), and one that waits for the peer's lines.

use crate::math::Pose;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// What the peer runs.
const SCRIPT: &str = include_str!("fcl.py");
/// After this long without an answer the peer counts as hung: a query takes some milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why there are no figures to compare with.
#[derive(Debug, thiserror::Error)]
pub(super) enum FclError {
    /// No such program.
    #[error("--peer-python {path}: {error}")]
    Start { path: String, error: std::io::Error },
    /// It ended, or said something else.
    #[error("the peer failed: {0}\ngive --peer-python a Python with `pip install numpy python-fcl`")]
    Failed(String),
    /// It says nothing any more.
    #[error("the peer has not answered for {} s", PATIENCE.as_secs())]
    Silent,
}

/// Two meshes in the peer.
pub(super) struct Fcl {
    child: Child,
    asks: ChildStdin,
    lines: Receiver<String>,
}

/// What it says of a pose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// Time of the query, ns.
    pub(super) ns: f64,
    /// Contacts found.
    pub(super) contacts: u64,
}

impl Fcl {
    /// Starts the peer on two OBJ files. It inherits the processor of the caller.
    pub(super) fn start(python: &Path, moving: &Path, fixed: &Path) -> Result<Self, FclError> {
        let mut command = Command::new(python);
        command.args(["-B", "-c", SCRIPT]).args([moving, fixed]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|error| FclError::Start { path: python.display().to_string(), error })?;
        let (Some(asks), Some(says)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(FclError::Failed("it has no pipes".into()));
        };
        let (to, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(says).lines().map_while(Result::ok) {
                if to.send(line).is_err() {
                    break;
                }
            }
        });
        let mut peer = Self { child, asks, lines };
        match peer.line()?.as_str() {
            "ready" => Ok(peer),
            other => Err(FclError::Failed(other.to_owned())),
        }
    }

    /// All contacts at a pose of the moving mesh in the frame of the fixed one.
    pub(super) fn ask(&mut self, pose: &Pose) -> Result<Answer, FclError> {
        let rotation = pose.rotation.to_rotation_matrix();
        let rows = (0..9).map(|k| rotation[(k / 3, k % 3)]).chain(pose.translation.vector.iter().copied());
        let line = rows.map(|x| format!("{x:e}")).collect::<Vec<_>>().join(" ");
        if writeln!(self.asks, "{line}").and_then(|()| self.asks.flush()).is_err() {
            return Err(self.ended());
        }
        let said = self.line()?;
        let mut words = said.split_whitespace();
        let ns = words.next().and_then(|w| w.parse().ok());
        let contacts = words.next().and_then(|w| w.parse().ok());
        ns.zip(contacts).map(|(ns, contacts)| Answer { ns, contacts }).ok_or(FclError::Failed(said))
    }

    fn line(&mut self) -> Result<String, FclError> {
        use std::sync::mpsc::RecvTimeoutError;
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => Err(FclError::Silent),
            Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
        }
    }

    /// What it said last.
    fn ended(&mut self) -> FclError {
        // It may have closed its pipes and live on.
        let _ = self.child.kill();
        let mut said = String::new();
        if let Some(mut from) = self.child.stderr.take() {
            // Nothing more can be said if even that cannot be read.
            let _ = from.read_to_string(&mut said);
        }
        FclError::Failed(said.trim().lines().last().unwrap_or("it ended without a word").to_owned())
    }
}

impl Drop for Fcl {
    fn drop(&mut self) {
        // Its work is done, whatever it is at.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
