//! Memory on disk, and room for recordings.

use super::finding::{Finding, Topic};
use super::system::System;
use crate::record::BYTES_PER_TICK;
use std::path::Path;

const SWAP: Topic =
    Topic { id: "swap", why: "Swap in use means that memory is short; fetching a page back can take many ticks." };
const DISK: Topic = Topic { id: "disk", why: "A recording ends when the disk is full, usually in the best session." };

/// A recording at 1 kHz, bytes per second.
const RECORDING_BYTES_PER_S: u64 = 1000 * BYTES_PER_TICK;
/// Recording time that should fit, hours: a long day in the lab.
const RECORDING_HOURS_MIN: f64 = 8.0;

/// Whether memory of programs lies on disk.
pub(super) fn swap(system: &System) -> Finding {
    let table = match system.read("/proc/swaps") {
        Ok(table) => table,
        Err(unread) => return SWAP.unread(&unread),
    };
    let used_kib: u64 = table
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().nth(3)?.parse::<u64>().ok())
        .fold(0, u64::saturating_add);
    let areas = table.lines().skip(1).count();
    if areas == 0 {
        return SWAP.fit("none");
    }
    if used_kib == 0 {
        return SWAP.fit("there is some, none of it in use");
    }
    let seen = format!("{} MiB in use", used_kib.div_ceil(1024));
    let memory = system.read("/proc/meminfo").unwrap_or_default();
    let available_kib = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    // Switching swap off with too little memory would end programs.
    if available_kib.is_some_and(|available| available > used_kib) {
        SWAP.advice(seen, "`sudo swapoff -a`; to keep it off, put a # before the swap line in /etc/fstab")
    } else {
        SWAP.advice(
            seen,
            "close programs until `free -m` shows more memory available than swap used, then `sudo swapoff -a`",
        )
    }
}

/// Room where recordings go.
pub(super) fn disk(system: &System, dir: &Path) -> Finding {
    let place = dir.display();
    let Some(free_bytes) = system.free_bytes(dir) else {
        return DISK.advice(format!("room in {place} could not be read"), format!("`df -h {place}` must work"));
    };
    let hours = free_bytes as f64 / RECORDING_BYTES_PER_S as f64 / 3600.0;
    let seen = format!("{:.1} GB free in {place}: about {hours:.0} h of recording", free_bytes as f64 / 1e9);
    if hours >= RECORDING_HOURS_MIN {
        DISK.fit(seen)
    } else {
        DISK.advice(seen, format!("make room: `du -xh -d 1 {place} | sort -h` shows what takes it"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::fixture::Fixture;
    use super::*;

    #[test]
    fn swap_is_advised_against_only_while_it_is_used_and_switched_off_only_with_room() {
        let header = "Filename\tType\tSize\tUsed\tPriority\n";
        assert_eq!(swap(&Fixture::lab_pc().system()).verdict, Verdict::Fit);
        assert_eq!(swap(&Fixture::lab_pc().with("/proc/swaps", header).system()).seen, "none");
        let used = Fixture::lab_pc()
            .with("/proc/swaps", &format!("{header}/dev/sda2 partition 8388604 2049 -2\n/f file 9 1 -3\n"));
        let finding = swap(&used.system());
        assert_eq!((finding.verdict, finding.seen.as_str()), (Verdict::Advice, "3 MiB in use"));
        assert!(finding.mend.expect("advice").starts_with("`sudo swapoff -a`"));
        let short = used.with("/proc/meminfo", "MemAvailable: 2000 kB\n");
        assert!(swap(&short.system()).mend.expect("advice").starts_with("close programs"));
        let unknown = short.without("/proc/meminfo");
        assert!(swap(&unknown.system()).mend.expect("advice").starts_with("close programs"));
    }

    #[test]
    fn a_day_of_recording_must_fit() {
        let dir = Path::new("/var/lib/hapticd");
        const DAY: u64 = 8 * 3600 * RECORDING_BYTES_PER_S;
        assert_eq!(disk(&Fixture::lab_pc().with_room(|_| Some(DAY)).system(), dir).verdict, Verdict::Fit);
        let full = disk(&Fixture::lab_pc().with_room(|_| Some(DAY - 1)).system(), dir);
        assert_eq!(full.verdict, Verdict::Advice);
        let unknown = disk(&Fixture::lab_pc().with_room(|_| None).system(), dir);
        assert!(unknown.seen.contains("could not be read"));
    }

    #[test]
    fn room_is_asked_for_below_the_root() {
        let fixture = Fixture::lab_pc().with_room(|path| path.is_dir().then_some(u64::MAX));
        assert_eq!(disk(&fixture.system(), Path::new("/var/lib/hapticd")).verdict, Verdict::Fit);
        assert_eq!(disk(&fixture.system(), Path::new("/var/lib/other")).verdict, Verdict::Advice);
    }
}
