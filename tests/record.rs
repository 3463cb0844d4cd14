//! Recordings as a person meets them: made by the program, read by another reader, killed, without room, run again, reported.

#![expect(clippy::panic, reason = "a test reports by panicking")]

use hapticd::haptic::TickRecord;
use hapticd::math::Pose;
use hapticd::record::{BYTES_PER_TICK, Entry, Provenance, Reader, Recorder};
use hapticd::shared::MonoNs;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A directory that goes when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Self::below(&std::env::temp_dir(), name)
    }

    fn below(directory: &Path, name: &str) -> Self {
        let path = directory.join(format!("hapticd-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("there is room for tests");
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn hapticd(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hapticd")).args(arguments).output().expect("the program starts")
}

/// Says something that is seen also when the test passes; `eprintln!` would be kept back.
fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").expect("an open standard error");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Records a demo in virtual time.
fn demo(scene: &str, path: &Path, more: &[&str]) -> Output {
    let path = path.to_str().expect("a path of letters");
    let output = hapticd(&[&["demo", scene, "--lockstep", "--json", "--record", path], more].concat());
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    output
}

fn ticks(path: &Path) -> Vec<TickRecord> {
    let entries = Reader::open(path).expect("it is a recording");
    let of = |entry| if let Entry::Tick(tick) = entry { Some(*tick) } else { None };
    entries.filter_map(|entry| of(entry.expect("it is whole"))).collect()
}

/// Reads a recording with the official Python package: messages per channel, the first and the last tick.
const PYTHON: &str = r#"
import json, sys
from mcap.reader import make_reader
from mcap.stream_reader import StreamReader
from mcap.records import Channel, Message
counts, channels, numbers = {}, {}, []
if sys.argv[2] == "indexed":
    with open(sys.argv[1], "rb") as file:
        reader = make_reader(file)
        for schema, channel, message in reader.iter_messages():
            counts[channel.topic] = counts.get(channel.topic, 0) + 1
            if channel.topic == "/tick":
                numbers.append(json.loads(message.data)["index"])
        attached = sorted(a.name for a in reader.iter_attachments())
        facts = {k: v for m in reader.iter_metadata() for k, v in m.metadata.items()}
else:
    attached, facts = [], {}
    with open(sys.argv[1], "rb") as file:
        try:
            for record in StreamReader(file).records:
                if isinstance(record, Channel):
                    channels[record.id] = record.topic
                elif isinstance(record, Message):
                    topic = channels[record.channel_id]
                    counts[topic] = counts.get(topic, 0) + 1
                    if topic == "/tick":
                        numbers.append(json.loads(record.data)["index"])
        except Exception as error:
            facts["ended"] = type(error).__name__
print(json.dumps({"counts": counts, "first": numbers[0], "last": numbers[-1], "attached": attached, "facts": facts}))
"#;

/// What Python read; `None`, said aloud, where the package is not installed and this is not a CI run.
fn python(path: &Path, mode: &str) -> Option<serde_json::Value> {
    // Packages for tests live below the target directory, if somebody put them there.
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join(target).join("clients-venv/bin/python");
    let python = if own.exists() { own } else { "python3".into() };
    let has = Command::new(&python).args(["-c", "import mcap"]).stderr(Stdio::null()).status();
    if !has.is_ok_and(|status| status.success()) {
        let remedy = "the Python package mcap is missing: run tests/clients/setup.sh";
        assert!(!std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false"), "{remedy}");
        say(&format!("skipped: {remedy}"));
        return None;
    }
    let output = Command::new(&python).args(["-c", PYTHON]).arg(path).arg(mode).output().expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).expect("it prints JSON"))
}

/// Messages per channel by our own count.
fn counts(path: &Path) -> BTreeMap<String, u64> {
    let bytes = fs::read(path).expect("it is there");
    let mut counts = BTreeMap::new();
    for message in mcap::MessageStream::new(&bytes).expect("it is MCAP") {
        *counts.entry(message.expect("it is whole").channel.topic.clone()).or_default() += 1;
    }
    counts
}

#[test]
fn a_recorded_demo_is_complete_and_the_official_python_reader_agrees() {
    let scratch = Scratch::new("python");
    let path = scratch.file("box.mcap");
    let output = demo("box_on_table", &path, &["--seed", "5"]);
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one object");
    let ours = ticks(&path);
    assert_eq!(Some(ours.len() as u64), summary["ticks"].as_u64());
    assert!(ours.iter().zip(1..).all(|(tick, index)| tick.index == index), "every tick, in order");
    let size = fs::metadata(&path).expect("it is there").len();
    let each = size / ours.len() as u64;
    println!("{} ticks, {size} bytes: {each} bytes a tick with everything", ours.len());
    assert!((BYTES_PER_TICK / 2..=BYTES_PER_TICK).contains(&each), "{each} bytes a tick");
    let touched: Vec<u64> = Reader::open(&path)
        .expect("it is a recording")
        .filter_map(|entry| if let Entry::Contacts(due, _) = entry.expect("whole") { Some(due.0) } else { None })
        .collect();
    let together = touched.windows(2).filter(|pair| pair[1] - pair[0] == 1_000_000).count();
    println!("contacts in {} ticks, {together} right after another", touched.len());
    assert!(touched.len() > 1000 && together > touched.len() * 9 / 10, "contacts are recorded at every tick");
    let Some(theirs) = python(&path, "indexed") else { return };
    assert_eq!(theirs["counts"], serde_json::json!(counts(&path)));
    assert_eq!((theirs["first"].as_u64(), theirs["last"].as_u64()), (Some(1), Some(ours.len() as u64)));
    assert_eq!(theirs["attached"], serde_json::json!(["device.toml", "scene.toml"]));
    assert_eq!(theirs["facts"]["seed"], "5");
    assert_eq!(theirs["facts"]["scene"], "box_on_table");
}

#[test]
fn a_demo_on_real_threads_is_recorded_to_the_last_tick_or_says_what_is_missing() {
    let scratch = Scratch::new("live");
    let path = scratch.file("live.mcap");
    let path_s = path.to_str().expect("letters");
    let output = hapticd(&["demo", "virtual_wall", "--json", "--seconds", "2", "--record", path_s]);
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one object");
    let (mut found, mut last, mut lost, mut result) = (0, 0, 0, None);
    for entry in Reader::open(&path).expect("it is a recording") {
        match entry.expect("it is whole") {
            Entry::Tick(tick) => {
                assert!(tick.index > last, "in order");
                (found, last) = (found + 1, tick.index);
            }
            Entry::Lost(count) => lost = count,
            Entry::Event(_, event) if event["kind"] == "result" => result = Some(event),
            _ => {}
        }
    }
    assert_eq!(Some(found + lost), summary["ticks"].as_u64(), "{found} ticks, {lost} lost");
    assert_eq!(result.expect("it ends with a result")["success"], summary["success"]);
}

/// Not a test by itself: the process that is killed by the test below. Records at the true rate and says how far it is.
#[test]
fn child_that_records_until_it_is_killed() {
    let Some(path) = std::env::var_os("HAPTICD_RECORD_CHILD") else { return };
    let mut recorder = Recorder::create(Path::new(&path), Provenance::here(), Vec::new()).expect("it starts");
    let mut batch = [TickRecord::empty(Pose::identity()); 10];
    for index in 0..60_000_u64 {
        let tick = &mut batch[(index % 10) as usize];
        (tick.index, tick.due) = (index + 1, MonoNs(1_000_000_000_000 + index * 1_000_000));
        if index % 10 == 9 {
            recorder.ticks(&batch);
            println!("handed {}", index + 1);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_killed_recording_opens_and_lacks_at_most_the_last_second() {
    // In memory where there is such a place: what a kill costs does not depend on the disk of a busy test machine.
    let memory = Path::new("/dev/shm");
    let scratch = if memory.is_dir() { Scratch::below(memory, "kill") } else { Scratch::new("kill") };
    let mut worst = 0;
    for round in 0..20_u64 {
        let path = scratch.file(&format!("{round}.mcap"));
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "child_that_records_until_it_is_killed", "--nocapture"])
            .env("HAPTICD_RECORD_CHILD", &path)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let number = |line: &str| line.strip_prefix("handed ").and_then(|text| text.trim().parse::<u64>().ok());
        let enough = 600 + 70 * round;
        let mut handed = 0;
        for line in lines.by_ref() {
            handed = number(&line).unwrap_or(handed);
            if handed >= enough {
                break;
            }
        }
        child.kill().expect("it is running");
        child.wait().expect("it ends");
        // It went on until the kill came.
        handed = lines.filter_map(|line| number(&line)).last().unwrap_or(handed).max(handed);
        let found = ticks(&path);
        assert!(found.iter().zip(1..).all(|(tick, index)| tick.index == index), "what there is, is whole");
        let missing = handed.saturating_sub(found.len() as u64);
        assert!(missing <= 1000, "round {round}: {missing} of {handed} ticks are missing");
        worst = worst.max(missing);
        if round == 0 {
            let Some(theirs) = python(&path, "stream") else { continue };
            assert_eq!(theirs["last"].as_u64(), Some(found.len() as u64), "{theirs}");
        }
    }
    println!("killed 20 times: at most {worst} ticks were missing");
}

#[test]
fn a_disk_that_is_full_ends_the_recording_and_not_the_run() {
    let refused = hapticd(&["demo", "virtual_wall", "--lockstep", "--json", "--record", "/dev/full"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("make room"), "{}", text(&refused.stderr));
    // Files may grow to two megabytes; the signal that would end the program at that is not wanted.
    let scratch = Scratch::new("limit");
    let path = scratch.file("limit.mcap");
    let script = "trap '' XFSZ; ulimit -f 2000; exec \"$0\" demo box_on_table --lockstep --json --record \"$1\"";
    let output = Command::new("bash").args(["-c", script, env!("CARGO_BIN_EXE_hapticd")]).arg(&path).output();
    after_the_disk_was_full(&output.expect("bash is there"), &path);
}

#[test]
fn a_small_file_system_that_fills_up_ends_the_recording_and_not_the_run() {
    let scratch = Scratch::new("tmpfs");
    let place = scratch.file("small");
    fs::create_dir(&place).expect("there is room");
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=3m", "none"]).arg(&place).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        say("skipped: only root can mount a small file system");
        return;
    }
    let path = place.join("full.mcap");
    let output = demo("box_on_table", &path, &[]);
    let judged = std::panic::catch_unwind(|| after_the_disk_was_full(&output, &path));
    let _ = Command::new("umount").arg(&place).status();
    judged.expect("as above");
}

/// The run ended well, the warning says what to do, and what was written can be read.
fn after_the_disk_was_full(output: &Output, path: &Path) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("warning: the recording") && said.contains("can be read"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    let found = ticks(path);
    assert!(!found.is_empty() && found.iter().zip(1..).all(|(tick, index)| tick.index == index));
    println!("{} ticks were written before the disk was full", found.len());
}

/// Every shipped scene: the simple ones to their end, the others for as long as a test may take.
#[test]
fn a_recording_in_virtual_time_runs_again_bit_for_bit() {
    let scratch = Scratch::new("replay");
    for scene in hapticd::scene::shipped_names() {
        let path = scratch.file(&format!("{scene}.mcap"));
        let whole = ["virtual_wall", "box_on_table", "peg_primitive"].contains(&scene);
        let seconds: &[&str] = if whole { &[] } else { &["--seconds", "2"] };
        let recorded = demo(scene, &path, &[&["--skill", "novice", "--seed", "3"], seconds].concat());
        let summary: serde_json::Value = serde_json::from_slice(&recorded.stdout).expect("one object");
        let output = hapticd(&["replay", path.to_str().expect("letters")]);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
        let second = scratch.file(&format!("{scene}-second.mcap"));
        let both =
            if second.exists() { format!(" and {} of the second hand", summary["ticks"]) } else { String::new() };
        let wanted = format!("{} ticks{both} run again: every bit the same", summary["ticks"]);
        assert!(said.contains(&wanted), "{scene}: {said}");
        if second.exists() {
            fs::remove_file(&second).expect("it is there");
            let alone = hapticd(&["replay", path.to_str().expect("letters")]);
            assert!(text(&alone.stderr).contains("one hand of a scene for two"), "{}", text(&alone.stderr));
        }
    }
}

/// On real threads two loops meet one simulation; a bit changed in the second hand's recording is noticed too.
#[test]
fn a_recording_of_two_hands_on_real_threads_runs_again_bit_for_bit() {
    let scratch = Scratch::new("hands");
    let path = scratch.file("two.mcap");
    let (name, second) = (path.to_str().expect("letters"), scratch.file("two-second.mcap"));
    let recorded = hapticd(&["demo", "two_hands", "--headless", "--seconds", "3", "--json", "--record", name]);
    assert!(matches!(recorded.status.code(), Some(0 | 1)), "{}", text(&recorded.stderr));
    let whole =
        |path: &Path| !Reader::open(path).expect("a recording").any(|entry| matches!(entry, Ok(Entry::Lost(_))));
    assert!(whole(&path) && whole(&second), "the disk did not keep up; nothing can be told from that");
    let counts = [ticks(&path).len(), ticks(&second).len()];
    let output = hapticd(&["replay", name]);
    let said = text(&output.stdout) + &text(&output.stderr);
    println!("{said}");
    let wanted = format!("{} ticks and {} of the second hand run again: every bit the same", counts[0], counts[1]);
    assert!(output.status.code() == Some(0) && said.contains(&wanted), "{said}");
    let mut changed = ticks(&second);
    let from = Reader::open(&second).expect("a recording").provenance().clone();
    let x = &mut changed[900].force.force.x;
    *x = f64::from_bits(x.to_bits() ^ 1);
    let orders: Vec<_> = Reader::open(&second)
        .expect("a recording")
        .filter_map(|entry| if let Ok(Entry::Order(tick, order)) = entry { Some((tick, *order)) } else { None })
        .collect();
    let mut again = Recorder::create(&second, from, Vec::new()).expect("it starts").waiting();
    again.orders(orders);
    again.ticks(&changed);
    again.stop().expect("it is written");
    let output = hapticd(&["replay", name]);
    let said = text(&output.stdout);
    assert!(output.status.code() == Some(1) && said.contains("tick 901 of the second hand"), "{said}");
}

/// On real threads it is the machine that decides which step meets which tick; busy or not, the recording has it all.
#[test]
fn a_recording_with_real_threads_runs_again_bit_for_bit() {
    let scratch = Scratch::new("threads");
    for scene in ["virtual_wall", "box_on_table", "peg_primitive"] {
        let path = scratch.file(&format!("{scene}.mcap"));
        let name = path.to_str().expect("letters");
        let recorded = hapticd(&["demo", scene, "--headless", "--seconds", "3", "--json", "--record", name]);
        assert!(matches!(recorded.status.code(), Some(0 | 1)), "{}", text(&recorded.stderr));
        let found = ticks(&path);
        let lost = Reader::open(&path).expect("a recording").any(|entry| matches!(entry, Ok(Entry::Lost(_))));
        let output = hapticd(&["replay", name]);
        let said = text(&output.stdout);
        let cut = found.iter().filter(|tick| tick.input.cut_after.is_some()).count();
        println!("{scene}: {} ticks, {cut} cut short by the clock: {said}", found.len());
        assert!(!lost, "the disk did not keep up; nothing can be told from that");
        assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
        assert!(said.contains(&format!("{} ticks run again: every bit the same", found.len())), "{scene}: {said}");
        assert!(found.iter().any(|tick| tick.force.force.norm() > 0.1), "{scene}: nothing was felt");
    }
}

/// A held block of silicone whose step takes several milliseconds to compute, at 1 kHz.
const LATE: &str = r#"
format = "hapticd-scene/1"
title = "Late"
[rate]
simulation = "1000 Hz"
[material.gel]
friction = 0.4
[coupling]
stiffness = "800 N/m"
damping = "4 N*s/m"
[body.block]
material = "gel"
shape = { kind = "soft-box", size = ["60 mm", "60 mm", "60 mm"], cell = "10 mm", quadratic = false }
pose = { xyz = [0, 0, "30 mm"] }
elastic = { young = "20 kPa", poisson = 0.4, density = "1000 kg/m^3", held = ["bottom"], damping = { stiffness = "5 ms" } }
[tool]
shape = { kind = "sphere", diameter = "20 mm" }
mass = "50 g"
material = "gel"
pose = { xyz = [0, 0, "75 mm"] }
[mapping]
pose = { xyz = [0, 0, "75 mm"] }
[[operator.phase]]
name = "press"
move_to = { xyz = [0, 0, "60 mm"], speed = "20 mm/s" }
until = { elapsed = "10 s" }
"#;

/// Late steps make the block step without time; the computing times that decided it are in the recording.
#[test]
fn a_recording_of_a_simulation_that_is_late_runs_again_bit_for_bit() {
    let scratch = Scratch::new("late");
    let (scene, path) = (scratch.file("late.toml"), scratch.file("late.mcap"));
    std::fs::write(&scene, LATE).expect("it is written");
    let [scene, name] = [&scene, &path].map(|path| path.to_str().expect("letters"));
    let recorded = hapticd(&["demo", scene, "--headless", "--seconds", "3", "--json", "--record", name]);
    assert!(matches!(recorded.status.code(), Some(0 | 1)), "{}", text(&recorded.stderr));
    let steps = Reader::open(&path).expect("a recording").filter_map(Result::ok);
    let late = steps.filter(|entry| matches!(entry, Entry::Step(step) if step.took_ns > 1_000_000)).count();
    let output = hapticd(&["replay", name]);
    println!("{late} late steps: {}", text(&output.stdout));
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(late > 20, "{late} late steps");
}

#[test]
fn a_replay_notices_a_single_changed_bit_and_refuses_what_cannot_be_run_again() {
    let scratch = Scratch::new("changed");
    let path = scratch.file("wall.mcap");
    demo("virtual_wall", &path, &["--seconds", "1.5"]);
    let from = Reader::open(&path).expect("it is a recording").provenance().clone();
    let all = ticks(&path);
    let write = |name: &str, ticks: &[TickRecord], from: &Provenance| {
        let path = scratch.file(name);
        hapticd::record::capture(&path, ticks, from).expect("it is written");
        let output = hapticd(&["replay", path.to_str().expect("letters")]);
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let (code, said) = write("same.mcap", &all, &from);
    assert_eq!(code, Some(0), "{said}");
    let mut changed = all.clone();
    let z = &mut changed[700].pose_device_handle.translation.z;
    *z = f64::from_bits(z.to_bits() ^ 1);
    let (code, said) = write("changed.mcap", &changed, &from);
    assert!(code == Some(1) && said.contains("tick 701 came out otherwise"), "{said}");
    let (code, said) = write("late.mcap", &all[10..], &from);
    assert!(code == Some(2) && said.contains("begins with tick 11"), "{said}");
    let live = Provenance { timing: hapticd::record::Timing::Live, ..from.clone() };
    let (code, said) = write("live.mcap", &all, &live);
    assert!(code == Some(2) && said.contains("no steps of the simulation"), "{said}");
    let gap = [&all[..500], &all[501..]].concat();
    let (code, said) = write("gap.mcap", &gap, &from);
    assert!(code == Some(2) && said.contains("from tick 501 on it cannot be run again"), "{said}");
    assert!(said.contains("500 ticks run again: every bit the same"), "{said}");
    let (code, said) = write("older.mcap", &all, &Provenance { version: "0.0.1".into(), ..from });
    assert!(code == Some(0) && said.contains("recorded by hapticd 0.0.1"), "{said}");
}

#[test]
fn a_report_is_one_page_without_script_or_network_and_tells_the_verdict() {
    let scratch = Scratch::new("report");
    let (one, two) = (scratch.file("<b>one.mcap"), scratch.file("two.mcap"));
    demo("peg_primitive", &one, &[]);
    demo("peg_primitive", &two, &["--skill", "novice"]);
    let (page, csv) = (scratch.file("page.html"), scratch.file("one.csv"));
    let [one_s, two_s, page_s, csv_s] = [&one, &two, &page, &csv].map(|path| path.to_str().expect("letters"));
    let output = hapticd(&["report", one_s, "--out", page_s, "--csv", csv_s]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    assert!(said.contains("Task achieved") && said.contains("never got more energy"), "{said}");
    let html = fs::read_to_string(&page).expect("it is there");
    println!("the page of {} ticks has {} bytes", ticks(&one).len(), html.len());
    assert_eq!(html.matches("<svg").count(), 5, "force, torque, energy, overlap, timing");
    for forbidden in ["<script", "<link", "<img", "@import", "<b>one"] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
    // The name of SVG's own language is the only address, and nothing loads it.
    assert_eq!(html.matches("http").count(), html.matches("xmlns=\"http://www.w3.org/2000/svg\"").count());
    let verdict = html.find("Task achieved").expect("it is there");
    assert!(verdict < html.find("<svg").expect("it is there"), "the verdict comes first");
    let table = fs::read_to_string(&csv).expect("it is there");
    assert_eq!(table.lines().count(), ticks(&one).len() + 1);
    let columns = |line: &str| line.split(',').count();
    let heads = columns(table.lines().next().expect("heads"));
    assert!(table.lines().all(|line| columns(line) == heads));
    let both = hapticd(&["report", one_s, two_s, "--out", page_s]);
    assert_eq!(both.status.code(), Some(0), "{}", text(&both.stderr));
    let html = fs::read_to_string(&page).expect("it is there");
    assert!(html.contains("2 recordings compared") && html.contains("two.mcap") && html.contains("novice"));
    let bad = hapticd(&["report", "Cargo.toml", "--out", page_s]);
    assert_eq!(bad.status.code(), Some(2));
    assert!(text(&bad.stderr).contains("not a recording"), "{}", text(&bad.stderr));
}

#[test]
fn the_shipped_layout_names_channels_and_fields_that_are_there() {
    let layout = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/foxglove-layout.json"));
    let layout: serde_json::Value = serde_json::from_str(&layout.expect("it is there")).expect("it is JSON");
    let scratch = Scratch::new("layout");
    let path = scratch.file("needle.mcap");
    demo("needle_phantom", &path, &["--seconds", "1"]);
    let bytes = fs::read(&path).expect("it is there");
    let mut found: BTreeMap<String, serde_json::Value> = BTreeMap::new();
    for message in mcap::MessageStream::new(&bytes).expect("it is MCAP").flatten() {
        let value = serde_json::from_slice(&message.data).expect("it is JSON");
        found.insert(message.channel.topic.clone(), value);
    }
    let mut paths = Vec::new();
    let configs = layout["configById"].as_object().expect("panels");
    for config in configs.values() {
        let plotted = config["paths"].as_array().into_iter().flatten().filter_map(|path| path["value"].as_str());
        paths.extend(plotted.map(String::from));
        paths.extend(config["topics"].as_object().into_iter().flatten().map(|(topic, _)| topic.clone()));
        paths.extend(config["topicToRender"].as_str().map(String::from));
    }
    assert!(paths.len() >= 8, "{paths:?}");
    for path in paths {
        let (topic, fields) = path.split_once('.').unwrap_or((&path, ""));
        let mut value = found.get(topic).unwrap_or_else(|| panic!("nothing is recorded on {topic}"));
        for field in fields.split('.').filter(|field| !field.is_empty()) {
            value = value.get(field).unwrap_or_else(|| panic!("{path}: there is no {field}"));
        }
    }
}
