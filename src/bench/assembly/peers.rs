//! Other engines on the same tasks, as programs that a file lists.
//!
//! Thread: main (cold).
//!
//! The file is JSON, `{ "peers": [{ "name": …, "task": "bolt" | "peg", "command": [program, argument, …] }] }`. A command is run in
//! the directory of the file, on the processor of the caller. The last line it prints that is a JSON object has the figures
//! ([`FIGURES`]), of which those that are missing are left out.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// After this long a command counts as hung.
const PATIENCE: Duration = Duration::from_secs(900);

/// Keys of the figures: median and 99th percentile of a step, ms on the processor's clock; mean and largest penetration of any node,
/// µm; speed that neither thread nor rest explains, mm/s; largest distance from the thread, mm.
pub(super) const FIGURES: [&str; 6] =
    ["step_ms_p50", "step_ms_p99", "penetration_um_mean", "penetration_um_max", "jitter_mm_per_s", "lead_error_mm"];

/// Other words for the same figures, as scripts for these tasks have them.
const ALSO: [&[&str]; 6] = [
    &["step_cpu_ms_med"],
    &["step_cpu_ms_p99"],
    &["pen_um_mean"],
    &["pen_um_max"],
    &["jitter_vz_mmps_rms", "hold_jitter_v_mmps_rms"],
    &["thread_err_mm_max"],
];

/// Why there are no figures of another engine.
#[derive(Debug, thiserror::Error)]
pub(super) enum PeerError {
    /// The list cannot be read.
    #[error("--peers {path}: {why}")]
    List { path: String, why: String },
    /// A command failed.
    #[error("{name}: {why}")]
    Failed { name: String, why: String },
}

/// An engine on a task.
#[derive(Debug)]
pub(super) struct Peer {
    /// Its name.
    pub(super) name: String,
    /// `bolt` or `peg`.
    pub(super) task: String,
    command: Vec<String>,
    directory: PathBuf,
}

/// The engines that a file lists.
pub(super) fn read(path: &Path) -> Result<Vec<Peer>, PeerError> {
    let wrong = |why: &str| PeerError::List { path: path.display().to_string(), why: why.to_owned() };
    let text = std::fs::read(path).map_err(|error| wrong(&error.to_string()))?;
    let list: Value = serde_json::from_slice(&text).map_err(|error| wrong(&error.to_string()))?;
    let peers = list["peers"].as_array().ok_or_else(|| wrong("a list `peers` is wanted"))?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let peer = |value: &Value| {
        let word = |key: &str| value[key].as_str().map(str::to_owned);
        let command: Option<Vec<String>> =
            value["command"].as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect();
        let command = command.filter(|command| !command.is_empty())?;
        Some(Peer { name: word("name")?, task: word("task")?, command, directory: directory.to_owned() })
    };
    let wanted = "every peer has a `name`, a `task` and a `command`, a list of words";
    peers.iter().map(|value| peer(value).ok_or_else(|| wrong(wanted))).collect()
}

impl Peer {
    /// Runs it to the end; its figures, those that it says.
    pub(super) fn run(&self) -> Result<[Option<f64>; FIGURES.len()], PeerError> {
        let failed = |why: String| PeerError::Failed { name: self.name.clone(), why };
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).current_dir(&self.directory);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed(format!("{}: {error}", self.command[0])))?;
        let mut said = child.stdout.take().map(listen);
        let mut complained = child.stderr.take().map(listen);
        let status = wait(&mut child).map_err(failed)?;
        let text = |of: &mut Option<std::thread::JoinHandle<String>>| {
            of.take().and_then(|reader| reader.join().ok()).unwrap_or_default()
        };
        let (said, complained) = (text(&mut said), text(&mut complained));
        if !status {
            let last = complained.lines().last().unwrap_or("it says nothing").to_owned();
            return Err(failed(last));
        }
        figures(&said).ok_or_else(|| failed("it prints no line with a JSON object of figures".into()))
    }
}

/// Reads to the end on a thread, so that a full pipe stops nobody.
fn listen(mut pipe: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was said before an error is still worth reading.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for the end, or makes one.
fn wait(child: &mut Child) -> Result<bool, String> {
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) if began.elapsed() > PATIENCE => {
                // Whether it is gone already does not matter.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it was ended after {} s", PATIENCE.as_secs()));
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(100)),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// The figures in the last line that has any.
fn figures(said: &str) -> Option<[Option<f64>; FIGURES.len()]> {
    said.lines().rev().find_map(|line| {
        let object: Value = serde_json::from_str(line.trim()).ok().filter(Value::is_object)?;
        let number = |key: &str| object.get(key).and_then(Value::as_f64);
        let found: [Option<f64>; FIGURES.len()] =
            std::array::from_fn(|k| number(FIGURES[k]).or_else(|| ALSO[k].iter().find_map(|key| number(key))));
        found.iter().any(Option::is_some).then_some(found)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<Vec<Peer>, PeerError> {
        let path = std::env::temp_dir().join(format!("hapticd-peers-{}-{}.json", std::process::id(), text.len()));
        std::fs::write(&path, text).expect("it can be written");
        let read = read(&path);
        std::fs::remove_file(&path).expect("it is there");
        read
    }

    #[test]
    fn figures_are_taken_from_the_last_object_under_either_name() {
        let said = "# compiling\n{\"step_ms_p50\": 9}\n{\"step_cpu_ms_med\": 1.5, \"pen_um_max\": 20, \"ok\": true}\n  raw 3\n";
        let found = figures(said).expect("there are some");
        assert_eq!(found, [Some(1.5), None, None, Some(20.0), None, None]);
        assert_eq!(figures("nothing\n{\"ok\": true}\n"), None);
    }

    #[test]
    fn a_list_is_read_and_its_commands_are_run_or_said_to_fail() {
        let one = |command: &str| format!(r#"{{"peers": [{{"name": "a", "task": "bolt", "command": {command}}}]}}"#);
        let peers = list(&one(r#"["sh", "-c", "echo '{\"step_ms_p99\": 2}'"]"#)).expect("it is sound");
        assert_eq!((peers[0].name.as_str(), peers[0].task.as_str()), ("a", "bolt"));
        assert_eq!(peers[0].run().expect("it runs")[1], Some(2.0));
        for (command, message) in [
            (r#"["sh", "-c", "echo lost >&2; exit 3"]"#, "a: lost"),
            (r#"["sh", "-c", "echo 1"]"#, "a: it prints no line with a JSON object"),
            (r#"["/nowhere/engine"]"#, "a: /nowhere/engine: "),
        ] {
            let error = list(&one(command)).expect("it is sound")[0].run().expect_err("it fails").to_string();
            assert!(error.starts_with(message), "{error}");
        }
        for wrong in ["", "{}", r#"{"peers": [{"name": "a"}]}"#, &one("[]"), &one("[1]")] {
            assert!(matches!(list(wrong), Err(PeerError::List { .. })), "{wrong}");
        }
    }
}
