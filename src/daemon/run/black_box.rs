//! The black box: every tick of the last two seconds, kept so that a fault can be looked at from before it happened.
//!
//! Thread: control fills it; the file is written by a cold thread.

use crate::haptic::{Account, TickRecord};
use crate::shared::MonoNs;
use crate::shared::private;
use std::collections::VecDeque;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Kept from before a fault, the tick of the fault included, s.
pub(super) const BEFORE_S: f64 = 2.0;
/// Kept from after it, s.
pub(super) const AFTER_S: f64 = 0.5;
/// Most files; the oldest go first.
const FILES: usize = 100;
/// Most faults whose ticks are collected at a time. More at once are one story, told by the first.
const CAPTURES: usize = 4;

/// The columns of a file of fault data, in order. Units are in the names; poses are of the handle in the device's base
/// frame, forces and torques on the hand in the same frame.
pub const COLUMNS: &[&str] = &[
    "time_s",
    "tick",
    "state",
    "faults",
    "lateness_us",
    "compute_us",
    "gain",
    "x_m",
    "y_m",
    "z_m",
    "qx",
    "qy",
    "qz",
    "qw",
    "vx_m_per_s",
    "vy_m_per_s",
    "vz_m_per_s",
    "fx_n",
    "fy_n",
    "fz_n",
    "tx_nm",
    "ty_nm",
    "tz_nm",
    "wanted_fx_n",
    "wanted_fy_n",
    "wanted_fz_n",
    "wanted_tx_nm",
    "wanted_ty_nm",
    "wanted_tz_nm",
    "contacts",
    "penetration_m",
    "iterations",
    "residual",
    "snapshot_age_ms",
    "reserve_j",
    "balance_j",
    "taken_j",
    "given_j",
];

/// Ticks around one fault.
#[derive(Debug)]
pub(super) struct Capture {
    /// Number of the fault.
    pub(super) id: u32,
    /// Its code, for the name of the file.
    pub(super) code: &'static str,
    /// When it happened, by the monotonic clock and by the calendar.
    at: MonoNs,
    when: SystemTime,
    ticks: Vec<TickRecord>,
    /// Ticks still to come.
    missing: usize,
}

/// See the file's head.
pub(super) struct BlackBox {
    past: VecDeque<TickRecord>,
    before: usize,
    after: usize,
    captures: Vec<Capture>,
}

impl BlackBox {
    /// An empty one for a loop of this rate. Allocates all it will hold.
    pub(super) fn new(rate_hz: f64) -> Self {
        let (before, after) = ((BEFORE_S * rate_hz).round() as usize, (AFTER_S * rate_hz).round() as usize);
        Self { past: VecDeque::with_capacity(before), before, after, captures: Vec::with_capacity(CAPTURES) }
    }

    /// Takes one tick in; hands out captures that are complete.
    pub(super) fn push(&mut self, record: &TickRecord, complete: &mut Vec<Capture>) {
        if self.past.len() >= self.before {
            self.past.pop_front();
        }
        self.past.push_back(*record);
        for capture in &mut self.captures {
            capture.ticks.push(*record);
            capture.missing = capture.missing.saturating_sub(1);
        }
        complete.extend(self.captures.extract_if(.., |capture| capture.missing == 0));
    }

    /// Freezes what was before fault `id`, the newest tick included, and begins to collect what comes after.
    pub(super) fn freeze(&mut self, id: u32, code: &'static str, at: MonoNs) {
        if self.captures.len() < CAPTURES {
            let mut ticks = Vec::with_capacity(self.before + self.after);
            ticks.extend(&self.past);
            self.captures.push(Capture { id, code, at, when: SystemTime::now(), ticks, missing: self.after });
        }
    }

    /// Hands out what was collected so far: no more ticks will come.
    pub(super) fn flush(&mut self) -> Vec<Capture> {
        std::mem::take(&mut self.captures)
    }
}

impl Capture {
    /// Writes the ticks into a file of its own below `state`; gives its path. The name appears when the file is whole.
    pub(super) fn write(&self, state: &Path) -> io::Result<PathBuf> {
        let directory = state.join("faults");
        private::directory(&directory)?;
        let path = directory.join(format!("{}-{}.csv", utc(self.when), self.code));
        let part = path.with_extension("part");
        let written = self.fill(&part).and_then(|()| fs::rename(&part, &path));
        if let Err(error) = written {
            // Half a file would be taken for data, and fill a full disk further.
            let _ = fs::remove_file(&part);
            return Err(error);
        }
        tidy(&directory)?;
        Ok(path)
    }

    /// Writes all ticks to a new file that only its owner may read: it tells what a person's hand did.
    fn fill(&self, path: &Path) -> io::Result<()> {
        let mut file = BufWriter::new(private::create(path)?);
        writeln!(file, "{}", COLUMNS.join(","))?;
        for record in &self.ticks {
            self.line(record, &mut file)?;
        }
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }

    fn line(&self, record: &TickRecord, out: &mut impl Write) -> io::Result<()> {
        let faults = record.faults.names().collect::<Vec<_>>().join("|");
        let time_s = record.due.seconds_after(self.at);
        write!(out, "{time_s:.6},{},{},{faults}", record.index, record.state.name())?;
        write!(out, ",{},{}", micro(record.lateness_ns), micro(record.compute_ns))?;
        let (pose, account) = (&record.pose_device_handle, &record.account);
        let turn = pose.rotation.coords;
        let numbers = std::iter::once(record.gain)
            .chain(pose.translation.vector.iter().copied())
            .chain(turn.iter().copied())
            .chain(record.velocity.iter().copied())
            .chain(record.force.force.iter().chain(record.force.torque.iter()).copied())
            .chain(record.wanted.force.iter().chain(record.wanted.torque.iter()).copied());
        for number in numbers {
            write!(out, ",{number}")?;
        }
        let age_ms = micro(record.snapshot_age_ns) * 1e-3;
        write!(out, ",{},{},{},{}", record.contacts, record.penetration_m, record.iterations, record.residual)?;
        let Account { reserve_j, balance_j, taken_j, given_j, .. } = account;
        writeln!(out, ",{age_ms},{reserve_j},{balance_j},{taken_j},{given_j}")
    }
}

fn micro(ns: u64) -> f64 {
    ns as f64 * 1e-3
}

/// Removes the oldest files beyond [`FILES`]; names sort by time.
fn tidy(directory: &Path) -> io::Result<()> {
    let entries = fs::read_dir(directory)?.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "csv")).collect();
    files.sort();
    let surplus = files.len().saturating_sub(FILES);
    files.iter().take(surplus).try_for_each(fs::remove_file)
}

/// A moment as `20261116T104530.123Z`. Names of files and dates of calibrations are the only places where the calendar matters.
pub(in crate::daemon) fn utc(when: SystemTime) -> String {
    let since = when.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{:02}.{:03}Z", second % 60, since.subsec_millis())
}

/// The date so many days after the first of January 1970.
fn date(mut days: u64) -> (u64, u64, u64) {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Pose;
    use std::time::Duration;

    fn record(index: u64) -> TickRecord {
        TickRecord { index, due: MonoNs(index * 1_000_000), ..TickRecord::empty(Pose::identity()) }
    }

    #[test]
    fn a_fault_is_told_from_two_seconds_before_to_half_a_second_after() {
        let mut black_box = BlackBox::new(1000.0);
        let mut complete = Vec::new();
        for index in 1..=5000 {
            black_box.push(&record(index), &mut complete);
        }
        black_box.freeze(7, "F04", MonoNs(5_000_000_000));
        for index in 5001..=5499 {
            black_box.push(&record(index), &mut complete);
        }
        assert!(complete.is_empty());
        black_box.push(&record(5500), &mut complete);
        let ticks: Vec<u64> = complete[0].ticks.iter().map(|record| record.index).collect();
        assert_eq!(ticks, (3001..=5500).collect::<Vec<_>>());
        assert_eq!((complete.len(), complete[0].id, black_box.captures.len()), (1, 7, 0));
    }

    #[test]
    fn a_capture_becomes_a_table_with_a_number_in_every_column() {
        let directory = std::env::temp_dir().join(format!("hapticd-black-box-{}", std::process::id()));
        let mut black_box = BlackBox::new(1000.0);
        black_box.push(&record(1), &mut Vec::new());
        black_box.push(&record(2), &mut Vec::new());
        black_box.freeze(1, "F06", MonoNs(2_000_000));
        let path = black_box.flush()[0].write(&directory).expect("it can be written");
        let text = fs::read_to_string(&path).expect("it is there");
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0], COLUMNS);
        for line in &lines[1..] {
            assert_eq!(line.len(), COLUMNS.len(), "{line:?}");
            assert_eq!((line[2], line[3]), ("DISABLED", ""));
            assert!(
                line.iter().enumerate().all(|(k, cell)| k == 2 || k == 3 || cell.parse::<f64>().is_ok()),
                "{line:?}"
            );
        }
        assert_eq!((lines[1][0], lines[2][0]), ("-0.001000", "0.000000"));
        assert!(path.to_string_lossy().ends_with("Z-F06.csv"), "{}", path.display());
        fs::remove_dir_all(&directory).expect("it can be removed");
    }

    #[test]
    fn data_that_cannot_be_written_leaves_nothing_behind_and_is_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = std::env::temp_dir().join(format!("hapticd-black-box-full-{}", std::process::id()));
        let mut black_box = BlackBox::new(1000.0);
        black_box.push(&record(1), &mut Vec::new());
        black_box.freeze(1, "F06", MonoNs(1_000_000));
        let capture = &black_box.flush()[0];
        // A directory stands where the file is to be, as the last thing that can go wrong.
        let path = directory.join("faults").join(format!("{}-F06.csv", utc(capture.when)));
        fs::create_dir_all(path.join("in the way")).expect("a directory can be made");
        capture.write(&directory).expect_err("there is a directory");
        let left: Vec<_> = fs::read_dir(directory.join("faults")).expect("it is there").flatten().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        fs::remove_dir_all(&path).expect("it can be removed");
        let written = capture.write(&directory).expect("it can be written");
        let mode = fs::metadata(written).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::remove_dir_all(&directory).expect("it can be removed");
    }

    #[test]
    fn the_oldest_files_go_when_there_are_too_many() {
        let directory = std::env::temp_dir().join(format!("hapticd-faults-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory can be made");
        for n in 0..FILES + 3 {
            fs::write(directory.join(format!("20200101T000000.{n:03}Z-F01.csv")), "").expect("it can be written");
        }
        fs::write(directory.join("notes.txt"), "").expect("it can be written");
        tidy(&directory).expect("it can be tidied");
        let kept = fs::read_dir(&directory).expect("it is there").count();
        assert_eq!(kept, FILES + 1, "and what is not ours stays");
        assert!(!directory.join("20200101T000000.002Z-F01.csv").exists());
        assert!(directory.join("20200101T000000.003Z-F01.csv").exists());
        fs::remove_dir_all(&directory).expect("it can be removed");
    }

    #[test]
    fn dates_are_right_about_leap_years() {
        for (seconds, text) in [
            (0, "19700101T000000.000Z"),
            (951_782_399, "20000228T235959.000Z"),
            (951_782_400, "20000229T000000.000Z"),
            (4_107_542_400, "21000301T000000.000Z"),
            (1_798_761_599, "20261231T235959.000Z"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
