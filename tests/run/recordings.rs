//! Recordings of the service: how much room they take, what is left of them after a kill, and a disk that is full.

use super::daemon::{Daemon, Place, wait};
use super::text;
use hapticd::record::{Entry, Reader};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Numbers of the ticks in a recording; each follows the one before.
fn ticks(path: &Path) -> Vec<u64> {
    let entries = Reader::open(path).unwrap_or_else(|error| unreachable!("{error}"));
    let all = entries.filter_map(|entry| match entry {
        Ok(Entry::Tick(tick)) => Some(tick.index),
        Ok(_) => None,
        Err(error) => unreachable!("{error}"),
    });
    all.collect()
}

fn recordings(state: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(state.join("recordings")).map(|all| all.flatten().map(|entry| entry.path()));
    let mut files: Vec<PathBuf> = entries.into_iter().flatten().collect();
    // "-002" comes before ".mcap".
    files.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    files
}

#[test]
fn a_recording_goes_on_in_the_next_file_and_the_oldest_go() {
    let place = Place::new("room");
    let config = place.config("[recordings]\nfile_mb = 1\nkeep = 2");
    let mut daemon = Daemon::start(&config, &["--scene", "virtual_wall", "--record", "long"]);
    let state = place.0.join("state");
    let is_fourth = |path: &PathBuf| path.to_string_lossy().ends_with("-004.mcap");
    wait("the fourth file", || recordings(&state).iter().any(is_fourth), || daemon.log());
    daemon.signal("TERM");
    assert_eq!(daemon.code(), Some(0), "{}", daemon.log());
    let files = recordings(&state);
    assert_eq!(files.len(), 2, "{files:?}");
    let full = std::fs::metadata(&files[0]).expect("it is there").len();
    assert!(full >= 1_000_000, "closed at {full} bytes");
    // What is left is in one piece across the files, each with its origin.
    let all: Vec<u64> = files.iter().flat_map(|path| ticks(path)).collect();
    let skipped = daemon_skips(&daemon.log());
    let gaps = all.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
    assert!(all.windows(2).all(|pair| pair[1] > pair[0]) && (gaps == 0 || skipped), "{gaps} gaps");
    for path in &files {
        let from = Reader::open(path).expect("it is a recording").provenance().clone();
        assert_eq!(from.config_text, std::fs::read_to_string(&config).expect("it is there"));
        assert!(from.scene_text.contains("hapticd-scene/1") && from.device_text.contains("hapticd-device/1"));
    }
}

/// True when the loop itself skipped ticks: they are in no recording.
fn daemon_skips(log: &str) -> bool {
    log.contains("W05") || log.contains("F01")
}

#[test]
fn a_disk_that_fills_up_ends_the_recording_with_an_event_and_the_loop_goes_on() {
    let place = Place::new("full");
    let state = place.0.join("state");
    std::fs::create_dir_all(&state).expect("a directory can be made");
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "none"]).arg(&state).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        println!("skipped: only root can mount a small file system");
        return;
    }
    let judged = std::panic::catch_unwind(|| fill_up(&place, &state));
    let _ = Command::new("umount").arg("-l").arg(&state).status();
    judged.expect("as above");
}

fn fill_up(place: &Place, state: &Path) {
    let mut daemon = Daemon::start(&place.config("[recordings]\nfree_mb = 0"), &["--scene", "virtual_wall"]);
    daemon.must_do("/hapticd/record/start", &[text("full")]);
    let entry = daemon.await_fault("W12");
    let [cause, remedy] = [7, 8].map(|place: usize| entry[place].clone().string().unwrap_or_default());
    assert!(cause.contains("can be read") && cause.contains("make room"), "{cause}");
    assert!(remedy.contains("Make room"), "{remedy}");
    // Nobody records any more; the loop goes on as before.
    assert_eq!(daemon.try_do("/hapticd/record/mark", &[text("x")]).expect_err("nothing is recorded").0, 409);
    let (before, state_word) = (daemon.figure("hapticd_ticks_total"), daemon.get_text("/hapticd/state"));
    assert_eq!(state_word, "DISABLED");
    wait("more ticks", || daemon.figure("hapticd_ticks_total") > before + 500.0, || daemon.log());
    assert!(daemon.is_running());
    let files = recordings(state);
    let found = ticks(&files[0]);
    assert!(files.len() == 1 && found.len() > 300, "{files:?} with {} ticks", found.len());
    println!("{} ticks were written before the disk was full", found.len());
}

#[test]
fn a_daemon_that_is_killed_leaves_recordings_that_open_and_lack_at_most_a_second() {
    for round in 0..3_u32 {
        // In memory where there is such a place: what a kill costs does not depend on the disk of a busy test machine.
        let memory = Path::new("/dev/shm");
        let place = Place::new(&format!("killed-{round}"));
        let below = if memory.is_dir() { memory } else { &place.0 };
        let kept = Place(below.join(format!("hapticd-killed-{}", std::process::id())));
        let text = format!("format = \"hapticd-config/1\"\n[paths]\nstate = \"{}\"\n", kept.0.display());
        let config = place.write("hapticd.toml", &text);
        let daemon = Daemon::start(&config, &["--scene", "virtual_wall", "--record", "killed"]);
        let enough = f64::from(900 + 170 * round);
        wait("ticks", || daemon.figure("hapticd_ticks_total") > enough, || daemon.log());
        let ticked = daemon.figure("hapticd_ticks_total");
        daemon.signal("KILL");
        drop(daemon);
        let found = ticks(&recordings(&kept.0)[0]);
        let last = found.last().copied().unwrap_or_default();
        println!("killed after {ticked} ticks: the last one kept is {last}");
        assert!(last as f64 + 1000.0 >= ticked, "{last} of {ticked}");
        assert!(found.first() == Some(&1) && found.is_sorted_by(|a, b| a < b));
    }
}
