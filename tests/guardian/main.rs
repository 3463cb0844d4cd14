//! The guardian: a device whose daemon dies or hangs is put to zero force by another process.

#![expect(clippy::panic, reason = "a test reports by panicking")]

mod daemon;
mod matrix;
#[path = "../common/played.rs"]
mod played;
#[path = "../common/station.rs"]
mod station;
mod trials;
#[path = "../common/wired.rs"]
mod wired;

use hapticd::device::guardian::{Alarm, GuardLine, GuardianFault, LOOK_NS, Lifeline, STILL_NS};
use hapticd::shared::MonoNs;
use played::{line, now};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use std::path::Path;

const PROGRAM: &str = env!("CARGO_BIN_EXE_hapticd");
const SILENCE: &[u8] = b"[0,0,0]\n";
const MS: u64 = 1_000_000;

/// What the device hears within this time; empty when nothing.
fn heard(device: &OwnedFd, ms: i64) -> Vec<u8> {
    let mut polled = [PollFd::from_borrowed_fd(device.as_fd(), PollFlags::IN)];
    let wait = Timespec { tv_sec: ms / 1000, tv_nsec: ms % 1000 * 1_000_000 };
    let ready = poll(&mut polled, Some(&wait)).expect("polled");
    let mut bytes = [0; 4096];
    let count = if ready > 0 { rustix::io::read(device, &mut bytes).unwrap_or(0) } else { 0 };
    bytes[..count].to_vec()
}

/// Tends the lifeline every millisecond for so long; gives the last alarm, and when the last beat was.
fn tend(lifeline: &mut Lifeline, ms: u64) -> (Option<Alarm>, MonoNs) {
    let mut last = (None, now());
    for _ in 0..ms {
        std::thread::sleep(std::time::Duration::from_millis(1));
        last.1 = now();
        last.0 = lifeline.tend(true, last.1);
    }
    last
}

#[test]
fn a_process_that_stands_still_is_silenced_and_hears_of_it_when_it_goes_on() {
    let _alone = trials::alone();
    let (device, host, _) = line();
    let mut lifeline =
        Lifeline::start(Path::new(PROGRAM), GuardLine::Stream(host.as_fd()), SILENCE, 0, now()).expect("a guardian");
    assert_eq!(heard(&device, 100), b"", "before the first beat nothing can stop");
    let (mut reactions, mut early) = (Vec::new(), 0);
    for _ in 0..20 {
        // On a busy machine this very process may stand still for longer than the guardian allows: try again.
        let still = loop {
            let (alarm, beat) = tend(&mut lifeline, 20);
            if alarm.is_none() {
                break beat;
            }
            lifeline.heed();
            early += 1;
        };
        let _ = heard(&device, 0);
        let bytes = heard(&device, 5000);
        reactions.push(now().since(still));
        assert!(bytes.starts_with(SILENCE), "{bytes:?}");
        assert_eq!(lifeline.tend(true, now()), Some(Alarm::Silenced));
        // Until that is heeded, zero force goes on.
        tend(&mut lifeline, 10);
        assert!(heard(&device, 5000).starts_with(SILENCE));
        lifeline.heed();
    }
    reactions.sort_unstable();
    println!("no beat to zero force: p50 {} us, max {} us", reactions[10] / 1000, reactions[19] / 1000);
    println!("allowed by design {} us; {early} early alarms", (STILL_NS + 2 * LOOK_NS) / 1000);
    // A guardian that has just made up its mind when this process is held up acts on that: the middle one is judged.
    assert!(reactions[10] >= STILL_NS - 4 * MS, "it gives the daemon the time it is promised");
    tend(&mut lifeline, 5);
    drop(lifeline);
    let words = heard(&device, 100);
    assert!(words.starts_with(SILENCE), "last words: {words:?}");
    assert_eq!(heard(&device, 50), b"", "and then it has gone");
}

#[test]
fn a_program_that_is_no_guardian_is_found_out() {
    let (_device, host, _) = line();
    let failed = Lifeline::start(Path::new("/bin/true"), GuardLine::Stream(host.as_fd()), SILENCE, 0, now());
    assert!(matches!(failed, Err(GuardianFault::Silent)));
    let missing = Lifeline::start(Path::new("/nowhere/hapticd"), GuardLine::Stream(host.as_fd()), SILENCE, 0, now());
    assert!(matches!(missing, Err(GuardianFault::System(_))));
}

#[test]
fn a_guardian_started_by_hand_says_so_and_ends() {
    let output = std::process::Command::new(PROGRAM).args(["guardian", "--daemon", "1"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("started by hapticd itself"));
}
