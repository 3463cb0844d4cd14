//! Where recordings go: their names, how many there may be, and how much room is left.
//!
//! Thread: recorder.

use super::RecordError;
use crate::shared::private;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Longest part of a name that somebody chose.
const WORD_MAX: usize = 48;
/// Length of the time a name begins with: `20261116T104500Z`.
const STAMP: usize = 16;
/// Recordings of the same name that may begin in the same second.
const SAME_NAME: usize = 1000;
const MB: u64 = 1_000_000;

/// Nanoseconds since 1970 by the clock on the wall.
pub(super) fn wall_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// A moment as `20261116T104500Z`.
pub(super) fn utc(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

/// Year, month and day of a number of days since 1970, in the Gregorian calendar. Counted from 1 March of the year zero, so
/// that the leap day is the last of its year, in cycles of 400 years or 146,097 days.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (cycle * 400 + year + next, month, date)
}

/// A word made fit for a file name: letters, digits, `-`, `_`, `.` inside; everything else becomes `_`.
pub(super) fn word(text: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let word: String = text.chars().take(WORD_MAX).map(fit).collect();
    word.trim_matches('.').to_string()
}

/// Name of a recording that begins now, without number and ending: `<utc time>-<scene>[-name]`.
pub(super) fn stem(scene: &str, name: Option<&str>) -> String {
    let stem = format!("{}-{}", utc(wall_ns()), word(scene));
    match name.map(word).filter(|name| !name.is_empty()) {
        Some(name) => format!("{stem}-{name}"),
        None => stem,
    }
}

/// Makes a new file for the given part of a recording, numbered from the second on; never one that is there already.
pub(super) fn new_file(directory: &Path, stem: &str, part: usize) -> Result<(PathBuf, File), RecordError> {
    let create = |path: &Path, error: &io::Error| RecordError::Create { path: path.into(), why: explain(error) };
    private::directory(directory).map_err(|error| create(directory, &error))?;
    for number in part..part + SAME_NAME {
        let tail = if number == 1 { String::new() } else { format!("-{number:03}") };
        let path = directory.join(format!("{stem}{tail}.mcap"));
        match private::options().create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(create(&path, &error)),
        }
    }
    Err(RecordError::Create { path: directory.join(stem), why: "too many recordings have this name".into() })
}

/// Makes the entry of a new file in its directory last, as far as the file system can.
pub(super) fn settle(path: &Path) {
    if let Some(directory) = path.parent() {
        // Where a directory cannot be synced, the file itself still is.
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
    }
}

/// Deletes the oldest recordings until `keep` are left; only files with a recording's name, and never `current`.
pub(super) fn prune(directory: &Path, keep: usize, current: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let mut found: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| is_recording(path)).collect();
    // Names begin with the time, so that their order is that of time. The stem, because "-002" comes before ".mcap".
    found.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    let excess = found.len().saturating_sub(keep.max(1));
    for path in found.iter().filter(|path| *path != current).take(excess) {
        // One that cannot be deleted stays; the limit of free room still holds.
        let _ = std::fs::remove_file(path);
    }
}

fn is_recording(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let bytes = name.as_bytes();
    bytes.len() > STAMP + 6
        && name.ends_with(".mcap")
        && bytes[..8].iter().chain(&bytes[9..15]).all(u8::is_ascii_digit)
        && (bytes[8], bytes[15], bytes[16]) == (b'T', b'Z', b'-')
}

/// An error when less than `floor` bytes are free where `path` is. A disk that cannot be asked counts as roomy: writing will
/// tell.
pub(super) fn check_room(path: &Path, floor: u64) -> Result<(), RecordError> {
    let Ok(disk) = rustix::fs::statvfs(path) else { return Ok(()) };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free < floor {
        return Err(RecordError::NoRoom { path: path.into(), free_mb: free / MB, floor_mb: floor / MB });
    }
    Ok(())
}

/// What the system said, and what to do.
pub(super) fn explain(error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::StorageFull => ": make room, or record elsewhere",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ": choose a directory you may write to",
        io::ErrorKind::AlreadyExists => ": choose another name, or move it away",
        _ => "",
    };
    format!("{error}{advice}")
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        let at = |seconds: u64| utc(seconds * 1_000_000_000);
        assert_eq!(at(0), "19700101T000000Z");
        assert_eq!(at(951_782_400), "20000229T000000Z");
        assert_eq!(at(1_709_251_199), "20240229T235959Z");
        assert_eq!(at(1_735_689_599), "20241231T235959Z");
        assert_eq!(at(4_107_542_400), "21000301T000000Z");
        let (mut days, mut last) = (0, (1970, 1, 0));
        while days < 100_000 {
            let (year, month, day) = civil(days);
            let follows = (year, month, day) == (last.0, last.1, last.2 + 1) || (day == 1 && month != last.1);
            assert!(follows && (1..=31).contains(&day), "{last:?} then {year}-{month}-{day}");
            last = (year, month, day);
            days += 1;
        }
    }

    #[test]
    fn words_for_names_stay_inside_their_directory() {
        assert_eq!(word("../../etc/passwd"), "_.._etc_passwd");
        assert_eq!(word("pré & post"), "pr____post");
        assert_eq!(word("..."), "");
        assert_eq!(word(&"a".repeat(500)).len(), WORD_MAX);
    }

    #[test]
    fn only_recordings_count_as_recordings() {
        assert!(is_recording(Path::new("x/20261116T104500Z-wall.mcap")));
        for other in ["notes.mcap", "20261116T104500Z-wall.txt", "20261116-104500Z-wall.mcap", "2026.mcap", ".mcap"] {
            assert!(!is_recording(Path::new(other)), "{other}");
        }
    }
}
