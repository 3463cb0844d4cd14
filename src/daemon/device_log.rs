//! `hapticd replay LOG`: a device log of H3D or HAPI, told, or led through a scene as if the hand were there again.
//!
//! Thread: main.
//!
//! The logged hand does not yield: it moves as it did, whatever it feels. In virtual time, so that the recording of it can be run
//! again bit for bit like any other.

use super::tape::{self, Easel, Tape};
use super::{Failure, Lockstep, Tally, warn};
use crate::device::{Device, DeviceFault, DeviceSpec, HandSample, SafeForce};
use crate::haptic::TickRecord;
use crate::record::{DeviceLog, Provenance, Timing};
use crate::scene::{self, Built};
use crate::shared::{MonoNs, NS_PER_S, SceneView, SkinFrame, Stamp, Tick};
use std::path::Path;

/// A device that moves as a log says.
struct LogDevice {
    spec: DeviceSpec,
    log: DeviceLog,
    first: Option<MonoNs>,
}

impl Device for LogDevice {
    fn spec(&self) -> &DeviceSpec {
        &self.spec
    }

    fn read(&mut self, tick: &mut Tick<'_>) -> Result<HandSample, DeviceFault> {
        let first = *self.first.get_or_insert(tick.began);
        let row = self.log.at(tick.began.since(first) as f64 / NS_PER_S as f64);
        let stamp = Stamp { sequence: tick.index, at: tick.began };
        Ok(HandSample { stamp, pose_device_handle: row.pose, buttons: row.buttons, homed: true })
    }

    fn write(&mut self, _force: &SafeForce, _tick: &mut Tick<'_>) -> Result<(), DeviceFault> {
        Ok(())
    }

    fn silence(&mut self, _now: MonoNs) {}
}

/// A log led through a scene.
pub(super) struct Led {
    /// What to tell people.
    pub(super) said: String,
    /// Every tick.
    pub(super) ticks: Vec<TickRecord>,
    /// What could be seen, after so many ticks.
    pub(super) views: Vec<(usize, SceneView)>,
    /// Bodies that deform, after so many ticks.
    pub(super) skins: Vec<(usize, SkinFrame)>,
    /// Where it comes from.
    pub(super) provenance: Provenance,
    /// The scene on the device.
    pub(super) built: Built,
}

/// Leads the hand of a log through a scene; records it too, if asked to.
///
/// # Errors
/// Bad files, or a place that cannot be written to.
pub(super) fn lead(log: DeviceLog, scene: &str, device: Option<&str>, record: Option<&Path>) -> Result<Led, Failure> {
    let spec = scene::open(scene)?;
    warn(&spec.warnings);
    let spec = spec.value;
    let device_name = device.map(str::to_owned).or_else(|| spec.device.clone());
    let device_name = device_name.unwrap_or_else(|| "simulated-3dof".into());
    let device = scene::open_device(&device_name)?.value;
    let built = scene::build(&spec, &device).map_err(Failure::Report)?;
    let name =
        Path::new(scene).file_stem().map_or_else(|| scene.to_owned(), |stem| stem.to_string_lossy().into_owned());
    let provenance = Provenance {
        scene_name: name,
        scene_text: scene::scene_text(scene).unwrap_or_default(),
        device_text: scene::device_text(&device_name).unwrap_or_default(),
        device_name,
        skill: "device log".into(),
        timing: Timing::Lockstep,
        rate_hz: built.haptic.rate_hz,
        force_limit_n: built.haptic.limits.force.linear,
        torque_limit_nm: built.haptic.limits.force.angular,
        ..Provenance::here()
    };
    let mut tape = match record {
        Some(path) => Tape::start(path, provenance.clone(), tape::looks(&built.sim, 0))?,
        None => Tape::none(),
    };
    let mut said = log.to_text();
    let count = (log.duration_s() * built.haptic.rate_hz) as usize + 1;
    let device = LogDevice { spec: device, log, first: None };
    let mut rig = Lockstep::new(built.haptic.clone(), built.sim.clone(), device, None)?;
    rig.first.desk.enable();
    let (mut ticks, mut tally) = (Vec::with_capacity(count), Tally::new());
    let (mut views, mut skins): (Vec<_>, Vec<(usize, SkinFrame)>) = (Vec::new(), Vec::new());
    let mut easel = Easel::new(&built);
    for place in 0..count {
        let beat = rig.beat();
        tally.add(&beat.record);
        tape.tick(&beat.record);
        if beat.step.is_some() {
            tape.view(&rig.sim.view);
            views.push((place, rig.sim.view));
            let frame = easel.paint(&rig.sim);
            tape.skins(frame);
            if skins.last().map_or(0, |(_, last)| last.stamp.sequence) != frame.stamp.sequence {
                skins.push((place, frame.clone()));
            }
        }
        ticks.push(beat.record);
    }
    let scene = &provenance.scene_name;
    said += &format!("scene    {scene} on {}: {count} ticks\n", provenance.device_name);
    said += &format!("felt     peak {:.2} N (limit {:.2})\n", tally.peak_force_n, provenance.force_limit_n);
    if let Some(made) = tape.finish() {
        said += &format!("record   {}\n", tape::line(&made?));
    }
    Ok(Led { said, ticks, views, skins, provenance, built })
}
