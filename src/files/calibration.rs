//! Calibrations of single devices: `format = "hapticd-calibration/1"`, one file per serial number in the state directory.
//!
//! Thread: cold.
//!
//! A file is written whole or not at all: beside its place first, then put there. So a program that is ended while it writes
//! leaves the calibration that was there before.

use super::Report;
use super::document::{Format, LoadError, Loaded, load as load_file, read};
use super::quantity::Dimension;
use super::table::Table;
use crate::device::driver::{TRIM_ENCODERS, TRIM_FORCE, TRIM_ORIGIN_MAX_RAD, Trim};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Directory of the calibrations below the state directory.
const DIRECTORY: &str = "calibration";
/// Longest serial number.
const SERIAL_MAX: usize = 64;

/// What is known of one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Its serial number, as `hapticd devices` shows it.
    pub serial: String,
    /// Its driver: a board that has moved to another arm must not take the old one's numbers along.
    pub driver: String,
    /// The day, as `2026-11-16`.
    pub date: String,
    /// How it differs from its design.
    pub trim: Trim,
}

/// Why there is no calibration where one was asked for.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// The serial number cannot be the name of a file.
    #[error("`{0}` is no serial number: letters, digits, `-`, `_` and `.`, at most 64; `hapticd devices` shows it")]
    Serial(String),
    /// The file is wrong.
    #[error(transparent)]
    File(#[from] LoadError),
    /// The file is another device's.
    #[error("{path} is of the {what} {found}, not {wanted}: measure this device, or remove the file")]
    Other {
        /// The file.
        path: String,
        /// "serial number" or "driver".
        what: &'static str,
        /// What stands in it.
        found: String,
        /// What was expected.
        wanted: String,
    },
    /// It could not be written.
    #[error("the calibration cannot be written to {path}: {source}")]
    Write {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Where the calibration of this device is kept.
///
/// # Errors
/// When the serial number cannot be the name of a file.
pub fn path(state: &Path, serial: &str) -> Result<PathBuf, CalibrationError> {
    let fit = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if serial.is_empty() || serial.len() > SERIAL_MAX || serial.starts_with('.') || !serial.chars().all(fit) {
        return Err(CalibrationError::Serial(serial.to_owned()));
    }
    Ok(state.join(DIRECTORY).join(format!("{serial}.toml")))
}

/// The calibration of this device, if there is one.
///
/// # Errors
/// [`CalibrationError`] when there is a file and it is wrong, or another device's: no force should flow by wrong numbers.
pub fn find(state: &Path, serial: &str, driver: &str) -> Result<Option<Loaded<Calibration>>, CalibrationError> {
    let path = path(state, serial)?;
    let loaded = match load(&path) {
        Err(LoadError::NotFound { .. }) => return Ok(None),
        other => other?,
    };
    for (what, found, wanted) in
        [("serial number", &loaded.value.serial, serial), ("driver", &loaded.value.driver, driver)]
    {
        if found != wanted {
            let (path, found, wanted) = (path.display().to_string(), found.clone(), wanted.to_owned());
            return Err(CalibrationError::Other { path, what, found, wanted });
        }
    }
    Ok(Some(loaded))
}

/// Reads a calibration; `name` is what the file is called in the report.
///
/// # Errors
/// A [`Report`] with every problem found.
pub fn parse(bytes: &[u8], name: &str) -> Result<Loaded<Calibration>, Report> {
    read(bytes, name, Format::CALIBRATION, calibration)
}

/// Reads the calibration at `path`.
///
/// # Errors
/// [`LoadError`] says whether it could not be read or what is wrong in it.
pub fn load(path: &Path) -> Result<Loaded<Calibration>, LoadError> {
    load_file(path, parse)
}

fn calibration(root: &Table<'_>) -> Option<Calibration> {
    let word = |key: &str| root.string(key).check(|text| !text.trim().is_empty(), "a word").required();
    let (serial, driver, date) = (word("serial"), word("driver"), word("date"));
    let near = |list: &Vec<f64>| list.iter().all(|angle| angle.abs() <= TRIM_ORIGIN_MAX_RAD);
    let origin = root.quantities("origin", Dimension::Angle, 0..=TRIM_ENCODERS);
    let origin = origin.check(near, "angles of at most 0.5 rad").or(Vec::new());
    let force_scale = root.number("force_scale").at_least(TRIM_FORCE.0).at_most(TRIM_FORCE.1).or(1.0);
    let mut trim = Trim { force_scale, ..Trim::default() };
    trim.origin_rad.iter_mut().zip(origin).for_each(|(place, angle)| *place = angle);
    Some(Calibration { serial: serial?, driver: driver?, date: date?, trim })
}

impl Calibration {
    /// The file.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { serial, driver, date, trim } = self;
        let origin: Vec<String> = trim.origin_rad.iter().map(|angle| format!("\"{angle} rad\"")).collect();
        format!(
            "# How this one device differs from its kind. Written by `hapticd calibrate`; docs/calibration.md.\n\n\
             format      = \"{}\"\nserial      = {}\ndriver      = {}\ndate        = {}\n\n\
             # Angle of each encoder in the homing pose beyond the nominal one.\norigin      = [{}]\n\
             # Force it gives over the force its kind gives.\nforce_scale = {:?}\n",
            Format::CALIBRATION,
            text(serial),
            text(driver),
            text(date),
            origin.join(", "),
            trim.force_scale,
        )
    }

    /// Keeps it, in the place of the one before if there is one; says where.
    ///
    /// # Errors
    /// [`CalibrationError`] when it cannot be written; the one before is then still there.
    pub fn keep(&self, state: &Path) -> Result<PathBuf, CalibrationError> {
        let path = path(state, &self.serial)?;
        let fresh = path.with_extension(format!("part{}", std::process::id()));
        let written = (|| {
            std::fs::create_dir_all(state.join(DIRECTORY))?;
            let mut file = std::fs::File::create(&fresh)?;
            file.write_all(self.text().as_bytes())?;
            // On the disk before it takes the place of the other.
            file.sync_all()?;
            std::fs::rename(&fresh, &path)
        })();
        match written {
            Ok(()) => Ok(path),
            Err(source) => {
                let _ = std::fs::remove_file(&fresh);
                Err(CalibrationError::Write { path: path.display().to_string(), source })
            }
        }
    }
}

/// A text as TOML has it; what would have to be escaped is in no serial number, driver or date.
fn text(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() || c == '"' || c == '\\' { '_' } else { c }).collect();
    format!("\"{plain}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Calibration {
        let trim = Trim { origin_rad: [0.01, -0.02, 0.1 / 3.0, 0.0, 0.0, 0.4], force_scale: 1.07 };
        Calibration { serial: "A1-7_x.9".into(), driver: "polhem".into(), date: "2026-11-16".into(), trim }
    }

    /// A directory of its own, removed afterwards.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("hapticd-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).expect("a directory");
            Self(path)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_was_kept_is_found_again_to_the_bit_and_newer_takes_the_place_of_older() {
        let place = Place::new("calibration");
        assert!(find(&place.0, "A1-7_x.9", "polhem").expect("nothing is wrong").is_none());
        let mut kept = sample();
        for scale in [1.07, 0.93] {
            kept.trim.force_scale = scale;
            let path = kept.keep(&place.0).expect("it can be written");
            let found = find(&place.0, "A1-7_x.9", "polhem").expect("it is right").expect("it is there");
            assert_eq!((found.value, found.warnings.to_string()), (kept.clone(), String::new()));
            let files = std::fs::read_dir(path.parent().expect("a directory")).expect("readable").count();
            assert_eq!(files, 1, "nothing is left of writing it");
        }
    }

    #[test]
    fn another_devices_file_and_wrong_numbers_are_refused() {
        let place = Place::new("calibration-other");
        let path = sample().keep(&place.0).expect("it can be written");
        let error = find(&place.0, "A1-7_x.9", "vintage").expect_err("another driver").to_string();
        assert!(error.contains("driver polhem, not vintage"), "{error}");
        std::fs::rename(&path, path.with_file_name("B2.toml")).expect("renamed");
        let error = find(&place.0, "B2", "polhem").expect_err("another serial number").to_string();
        assert!(error.contains("A1-7_x.9"), "{error}");
        for (good, bad) in [("1.07", "3.0"), ("0.4 rad", "0.6 rad"), ("serial ", "serail "), ("0.4 rad", "0.4 N")] {
            let text = sample().text();
            assert!(text.contains(good));
            assert!(parse(text.replace(good, bad).as_bytes(), "x.toml").is_err(), "{bad}");
        }
    }

    #[test]
    fn a_serial_number_never_leads_out_of_the_directory() {
        for serial in ["", "..", "../x", "a/b", ".x", "a b", "ä", &"x".repeat(65)] {
            assert!(matches!(path(Path::new("/s"), serial), Err(CalibrationError::Serial(_))), "{serial}");
        }
        let unwritable = Calibration { serial: "x".into(), ..sample() }.keep(Path::new("/proc/nowhere"));
        assert!(unwritable.is_err_and(|error| error.to_string().contains("/proc/nowhere")));
    }
}
