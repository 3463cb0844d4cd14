//! `hapticd calibrate`: keeps how one device differs from its kind, or shows what is kept.
//!
//! Thread: main.

use super::Failure;
use super::run::state_dir;
use crate::device::driver::catalogue::DRIVERS;
use crate::device::driver::{TRIM_ENCODERS, Trim};
use crate::device::port::reach::Keeping;
use crate::files::calibration::{self, Calibration, CalibrationError};
use crate::files::config::{self, Config};
use crate::files::{Dimension, parse_quantity};
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

/// What was asked for.
#[derive(Args)]
pub(super) struct CalibrateArgs {
    /// Serial number of the device, as `hapticd devices` shows it
    serial: String,
    /// Driver of the device
    #[arg(long)]
    driver: String,
    /// Angle of each encoder in the homing pose beyond the nominal one, separated by commas: "0.3 deg, 0, -5 mrad"
    #[arg(long, value_parser = angles, allow_hyphen_values = true)]
    origin: Option<Angles>,
    /// Force the device gives over the force its kind gives: 1.05 for 5 % too much
    #[arg(long)]
    force_scale: Option<f64>,
    /// State directory; by default that of the configuration
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Configuration file that says where the state directory is
    #[arg(long)]
    config: Option<PathBuf>,
}

#[derive(Clone, Copy)]
struct Angles([f64; TRIM_ENCODERS]);

fn angles(text: &str) -> Result<Angles, String> {
    let mut angles = [0.0; TRIM_ENCODERS];
    let mut places = angles.iter_mut();
    for part in text.split(',') {
        let place = places.next().ok_or_else(|| format!("at most {TRIM_ENCODERS} angles"))?;
        let number = part.trim().parse::<f64>();
        *place = match number {
            Ok(number) => number,
            Err(_) => {
                parse_quantity(part.trim(), Dimension::Angle).map_err(|_| "angles such as 0.3 deg, 0, -5 mrad")?
            }
        };
    }
    Ok(Angles(angles))
}

impl CalibrateArgs {
    /// Keeps or shows it; gives what is to be said.
    ///
    /// # Errors
    /// When a number is out of its bounds, or the file cannot be read or written.
    pub(super) fn run(self) -> Result<String, Failure> {
        let usage = |text: String| Failure::Usage(text);
        if !DRIVERS.contains(&self.driver.as_str()) {
            return Err(usage(format!("there is no driver `{}`: choose one of {}", self.driver, DRIVERS.join(", "))));
        }
        let config = match &self.config {
            Some(path) => config::load(path)?.value,
            None => Config::default(),
        };
        let state = self.state.or_else(|| state_dir::of(&config));
        let state = state.ok_or_else(|| usage("no state directory: say where with --state DIR".into()))?;
        let kept = calibration::find(&state, &self.serial, &self.driver).map_err(|error| usage(error.to_string()))?;
        let before = kept.map(|loaded| loaded.value);
        if self.origin.is_none() && self.force_scale.is_none() {
            return Ok(before.map_or_else(
                || format!("nothing is kept for {}: it counts as its kind is by design\n", self.serial),
                |kept| kept.text(),
            ));
        }
        let old = before.map_or_else(Trim::default, |kept| kept.trim);
        let trim = Trim {
            origin_rad: self.origin.map_or(old.origin_rad, |angles| angles.0),
            force_scale: self.force_scale.unwrap_or(old.force_scale),
        };
        if !trim.is_sound() {
            let rule = "each angle must be within 0.5 rad and the force scale between 0.5 and 2";
            return Err(usage(format!("{rule}: more is another pose, or another device")));
        }
        let fresh = Calibration { serial: self.serial, driver: self.driver, date: today(), trim };
        let path = fresh.keep(&state).map_err(|error| usage(error.to_string()))?;
        Ok(format!("kept in {}; it counts from the next time the device is opened\n", path.display()))
    }
}

/// What guards a device, and where its calibration is: below this state directory.
pub(super) fn keeping(state: Option<PathBuf>, loop_priority: u8) -> Keeping {
    let trims = move |serial: &str, driver: &str| {
        let Some(state) = &state else { return Ok(Trim::default()) };
        match calibration::find(state, serial, driver) {
            Ok(kept) => Ok(kept.map_or_else(Trim::default, |loaded| loaded.value.trim)),
            // Nothing can have been kept for a serial number that is no name.
            Err(CalibrationError::Serial(_)) => Ok(Trim::default()),
            Err(error) => Err(error.to_string()),
        }
    };
    Keeping::new(loop_priority, Arc::new(trims))
}

/// The date, as `2026-11-16`.
fn today() -> String {
    let stamp = super::run::utc(SystemTime::now());
    format!("{}-{}-{}", &stamp[..4], &stamp[4..6], &stamp[6..8])
}
