//! `hapticd replay`: the recorded hand again, through the same tick and the same simulation, compared bit for bit.
//!
//! Thread: main.
//!
//! In virtual time everything follows from scene, device and what the device read, and all three are in the recording. With
//! real threads it also matters at which moment a mechanism arrives and when a solve runs out of time; those moments are the
//! machine's, so that such a recording can be examined but not run again.

use super::{Failure, Lockstep, warn};
use crate::device::{Device, DeviceFault, DeviceSpec, HandSample, SafeForce};
use crate::files::{LoadError, device_file};
use crate::haptic::TickRecord;
use crate::math::Vec3;
use crate::record::{self, Entry, Provenance, Reader, Timing};
use crate::scene::{self, Built};
use crate::shared::{Faults, MonoNs, Stamp, Tick};
use std::path::Path;

/// What a replay came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// Ticks run again.
    pub ticks: u64,
    /// The first that came out otherwise, and what of it.
    pub difference: Option<(u64, String)>,
    /// Why the recording ends early, if it does.
    pub cut_short: Option<String>,
    /// Version that made the recording, when it was another.
    pub other_version: Option<String>,
}

impl Replayed {
    /// In a few lines.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        if let Some(version) = &self.other_version {
            let ours = env!("CARGO_PKG_VERSION");
            text += &format!("note     recorded by hapticd {version}, run again by {ours}: forces may have changed\n");
        }
        if let Some(why) = &self.cut_short {
            text += &format!("note     the recording was cut short ({why}); what there is was run again\n");
        }
        text + &match &self.difference {
            None => format!("result   {} ticks run again: every bit the same\n", self.ticks),
            Some((tick, what)) => format!("result   tick {tick} came out otherwise: {what}\n"),
        }
    }
}

/// A device that reads what was read before.
struct ReplayDevice {
    spec: DeviceSpec,
    next: Option<TickRecord>,
    sequence: u64,
}

impl Device for ReplayDevice {
    fn spec(&self) -> &DeviceSpec {
        &self.spec
    }

    fn read(&mut self, tick: &mut Tick<'_>) -> Result<HandSample, DeviceFault> {
        let record = self.next.ok_or(DeviceFault::Lost)?;
        if record.faults.contains(Faults::DEVICE_SILENT) {
            return Err(DeviceFault::Silent);
        }
        self.sequence += 1;
        let mut pose_device_handle = record.pose_device_handle;
        if record.faults.contains(Faults::DEVICE_INVALID) {
            // What it was is not recorded, only that nobody could believe it.
            pose_device_handle.translation.vector = Vec3::repeat(f64::NAN);
        }
        Ok(HandSample {
            stamp: Stamp { sequence: self.sequence, at: tick.began },
            pose_device_handle,
            buttons: record.buttons,
            homed: record.homed,
        })
    }

    fn write(&mut self, _force: &SafeForce, _tick: &mut Tick<'_>) -> Result<(), DeviceFault> {
        let silent = self.next.is_some_and(|record| record.faults.contains(Faults::DEVICE_SILENT));
        if silent { Err(DeviceFault::Silent) } else { Ok(()) }
    }

    fn silence(&mut self, _now: MonoNs) {}
}

/// Runs a recording again.
///
/// # Errors
/// When it cannot be read, or is not one that can be run again.
pub fn run(path: &Path) -> Result<Replayed, Failure> {
    let mut reader = Reader::open(path)?;
    let from = reader.provenance().clone();
    let shown = path.display();
    if from.timing == Timing::Live {
        return Err(Failure::Usage(format!(
            "{shown} was recorded with real threads: the moments at which the simulation's results arrived were the \
             machine's and cannot be repeated, so it cannot be run again bit for bit. `hapticd report {shown}` shows \
             what is in it; `hapticd demo SCENE --lockstep --record FILE` makes a recording that can be run again"
        )));
    }
    let (built, spec) = rebuild(&from)?;
    if built.second.is_some() {
        return Err(Failure::Usage(format!(
            "{shown} is one hand of a scene for two, each recorded in a file of its own; it cannot be run again alone"
        )));
    }
    let device = ReplayDevice { spec, next: None, sequence: 0 };
    let mut rig = Lockstep::new(built.haptic, built.sim, device, None)?;
    rig.first.desk.enable();
    let ours = env!("CARGO_PKG_VERSION");
    let other_version = (from.version != ours).then(|| from.version.clone());
    let mut done = Replayed { ticks: 0, difference: None, cut_short: None, other_version };
    for entry in reader.by_ref() {
        let Entry::Tick(recorded) = entry? else { continue };
        if recorded.index != done.ticks + 1 {
            return Err(Failure::Usage(format!(
                "{shown} goes from tick {} to tick {}: only a recording that is whole from the first tick on can be run \
                 again",
                done.ticks, recorded.index
            )));
        }
        rig.first.device.next = Some(*recorded);
        let again = rig.beat().record;
        done.ticks += 1;
        if let Some(what) = record::difference(&recorded, &again) {
            done.difference = Some((recorded.index, what));
            return Ok(done);
        }
    }
    done.cut_short = reader.cut_short().map(String::from);
    Ok(done)
}

/// Scene and device from the texts in the recording.
fn rebuild(from: &Provenance) -> Result<(Built, DeviceSpec), Failure> {
    if from.scene_text.is_empty() || from.device_text.is_empty() {
        return Err(Failure::Usage("scene and device are not in the recording, so it cannot be run again".into()));
    }
    let scene = scene::parse(from.scene_text.as_bytes(), &format!("recorded scene {}", from.scene_name));
    let scene = scene.map_err(LoadError::Invalid)?;
    let device = device_file::parse(from.device_text.as_bytes(), &format!("recorded device {}", from.device_name));
    let device = device.map_err(LoadError::Invalid)?;
    let built = scene::build(&scene.value, &device.value).map_err(Failure::Report)?;
    warn(&scene.warnings);
    Ok((built, device.value))
}
