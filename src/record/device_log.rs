//! Device logs of H3D and HAPI: what another program wrote down of a hand, as text.
//!
//! Thread: any but haptic.
//!
//! The first line names the columns, every other line has a row of numbers apart by blanks. A position, velocity, force or torque
//! is three numbers, an orientation four, axis and angle; time and buttons one. Lengths are in metres. Their frame has x to the
//! right, y up and z towards the operator; here it is turned into ours. The columns that begin with `RAW_` are the device's own,
//! before its calibration, and those a device gives again.

use crate::math::{Pose, Rot, Vec3};
use crate::shared::ordinary_file;
use nalgebra::Unit;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// Longest file read, bytes: two hours at 1 kHz.
const LARGEST: u64 = 1 << 30;

/// What a column holds, and how many numbers that is.
const COLUMNS: [(&str, usize); 13] = [
    ("TIME", 1),
    ("POSITION", 3),
    ("ORIENTATION", 4),
    ("VELOCITY", 3),
    ("FORCE", 3),
    ("TORQUE", 3),
    ("BUTTONS", 1),
    ("RAW_POSITION", 3),
    ("RAW_ORIENTATION", 4),
    ("RAW_VELOCITY", 3),
    ("RAW_FORCE", 3),
    ("RAW_TORQUE", 3),
    ("TIMESTAMP", 1),
];

/// One row, in our frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogRow {
    /// Since the log began, s.
    pub time_s: f64,
    /// The handle.
    pub pose: Pose,
    /// Force on the hand, N, where the log has it.
    pub force: Option<Vec3>,
    /// Buttons held, one bit each.
    pub buttons: u32,
}

/// A whole log.
#[derive(Clone, Debug)]
pub struct DeviceLog {
    /// Its columns, as they are named.
    pub columns: Vec<&'static str>,
    /// Its rows, oldest first; at least one.
    pub rows: Vec<LogRow>,
    /// Why its last row was left out, if it was.
    pub cut_short: Option<String>,
}

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be read.
    #[error("cannot read {path}: {why}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: std::io::Error,
    },
    /// It is something else.
    #[error("{path} is neither a recording of hapticd nor a device log of H3D or HAPI: {why}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A line makes no sense.
    #[error("{path}, line {line}: {why}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Which, counted from one.
        line: usize,
        /// What is wrong.
        why: String,
    },
}

impl DeviceLog {
    /// Reads a log.
    ///
    /// # Errors
    /// [`LogError`] says what is wrong with it and where.
    pub fn read(path: &Path) -> Result<Self, LogError> {
        let io = |why| LogError::Io { path: path.into(), why };
        let mut lines = BufReader::new(ordinary_file::open(path).map_err(io)?.take(LARGEST)).split(b'\n');
        let head = lines.next().transpose().map_err(io)?.unwrap_or_default();
        let foreign = |why: String| LogError::Foreign { path: path.into(), why };
        let layout = Layout::read(&head).map_err(foreign)?;
        let mut log = Self { columns: layout.names.clone(), rows: Vec::new(), cut_short: None };
        let mut broken: Option<(usize, String)> = None;
        for (line, bytes) in (2..).zip(lines) {
            let bytes = bytes.map_err(io)?;
            if bytes.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            // A program that was killed leaves half a line, but only at the end.
            if let Some((line, why)) = broken {
                return Err(LogError::Line { path: path.into(), line, why });
            }
            match layout.row(&bytes, log.rows.last().map(|row| row.time_s)) {
                Ok(row) => log.rows.push(row),
                Err(why) => broken = Some((line, why)),
            }
        }
        log.cut_short = broken.map(|(line, why)| format!("line {line}, the last, was left out: {why}"));
        if log.rows.is_empty() {
            return Err(foreign("it has no rows".into()));
        }
        Ok(log)
    }

    /// From the first row to the last, s.
    #[must_use]
    pub fn duration_s(&self) -> f64 {
        self.rows.last().zip(self.rows.first()).map_or(0.0, |(last, first)| last.time_s - first.time_s)
    }

    /// Handle and buttons so many seconds after the first row, between two rows along the straight way.
    #[must_use]
    pub fn at(&self, time_s: f64) -> LogRow {
        let time_s = self.rows[0].time_s + time_s;
        let after = self.rows.partition_point(|row| row.time_s <= time_s);
        let before = self.rows[after.saturating_sub(1)];
        let Some(next) = self.rows.get(after).filter(|_| after > 0) else { return before };
        let share = (time_s - before.time_s) / (next.time_s - before.time_s);
        let way = next.pose.translation.vector - before.pose.translation.vector;
        let place = before.pose.translation.vector + way * share;
        let turn = before.pose.rotation.try_slerp(&next.pose.rotation, share, 1e-9).unwrap_or(next.pose.rotation);
        LogRow { pose: Pose::from_parts(place.into(), turn), ..before }
    }

    /// In a few lines: what it is.
    #[must_use]
    pub fn to_text(&self) -> String {
        let (mut low, mut high) = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
        let mut peak: Option<f64> = None;
        for row in &self.rows {
            low = low.inf(&row.pose.translation.vector);
            high = high.sup(&row.pose.translation.vector);
            peak = row.force.map(|force| force.norm().max(peak.unwrap_or(0.0))).or(peak);
        }
        let span = (high - low) * 1e3;
        let (rows, duration_s) = (self.rows.len(), self.duration_s());
        let rate = if duration_s > 0.0 { (rows - 1) as f64 / duration_s } else { 0.0 };
        let mut text = format!("log      of H3D or HAPI: {rows} rows in {duration_s:.3} s, {rate:.0} a second\n");
        text += &format!("columns  {}\n", self.columns.join(" "));
        text += &format!("handle   moved within {:.1} x {:.1} x {:.1} mm\n", span.x, span.y, span.z);
        if let Some(peak) = peak {
            text += &format!("force    peak {peak:.2} N, as the log has it\n");
        }
        if let Some(why) = &self.cut_short {
            text += &format!("note     {why}\n");
        }
        text
    }
}

/// Where in a row things stand.
struct Layout {
    names: Vec<&'static str>,
    width: usize,
    time: usize,
    position: usize,
    orientation: Option<usize>,
    force: Option<usize>,
    buttons: Option<usize>,
}

impl Layout {
    fn read(head: &[u8]) -> Result<Self, String> {
        if head.contains(&0) {
            return Err("its first line has zero bytes; a log in binary form must be written again as text".into());
        }
        let head = std::str::from_utf8(head).map_err(|_| "its first line is no text")?;
        let (mut names, mut places, mut width) = (Vec::new(), Vec::new(), 0);
        for word in head.split_ascii_whitespace() {
            let Some((name, count)) = COLUMNS.iter().find(|(name, _)| *name == word) else {
                let word: String = word.chars().take(32).collect();
                return Err(format!("its first line names a column `{word}`"));
            };
            names.push(*name);
            places.push(width);
            width += count;
        }
        let place = |wanted: &[&str]| {
            wanted.iter().find_map(|wanted| names.iter().position(|name| name == wanted)).map(|k| places[k])
        };
        let lacks = |what: &str| format!("it has no column {what}");
        Ok(Self {
            time: place(&["TIME"]).ok_or_else(|| lacks("TIME"))?,
            position: place(&["RAW_POSITION", "POSITION"]).ok_or_else(|| lacks("RAW_POSITION or POSITION"))?,
            orientation: place(&["RAW_ORIENTATION", "ORIENTATION"]),
            force: place(&["RAW_FORCE", "FORCE"]),
            buttons: place(&["BUTTONS"]),
            names,
            width,
        })
    }

    fn row(&self, bytes: &[u8], before_s: Option<f64>) -> Result<LogRow, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is no text")?;
        let number = |word: &str| {
            let parsed = word.parse::<f64>().ok().filter(|number| number.is_finite());
            parsed.ok_or_else(|| format!("`{}` is no number", word.chars().take(32).collect::<String>()))
        };
        let numbers = text.split_ascii_whitespace().map(number).collect::<Result<Vec<f64>, String>>()?;
        if numbers.len() != self.width {
            return Err(format!("{} numbers, where the columns take {}", numbers.len(), self.width));
        }
        let vector = |at: usize| turned(&numbers[at..]);
        let time_s = numbers[self.time];
        if before_s.is_some_and(|before_s| time_s <= before_s) {
            return Err(format!("time goes back or stands still: {time_s} s"));
        }
        let turn = self.orientation.map_or_else(Rot::identity, |at| {
            let axis = Unit::try_new(vector(at), 1e-9);
            axis.map_or_else(Rot::identity, |axis| Rot::from_axis_angle(&axis, numbers[at + 3]))
        });
        Ok(LogRow {
            time_s,
            pose: Pose::from_parts(vector(self.position).into(), turn),
            force: self.force.map(vector),
            buttons: self.buttons.map_or(0, |at| numbers[at].max(0.0) as u32),
        })
    }
}

/// Three numbers of theirs as a vector of ours.
fn turned(numbers: &[f64]) -> Vec3 {
    Vec3::new(numbers[2], numbers[0], numbers[1])
}
