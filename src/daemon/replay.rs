//! `hapticd replay`: the recorded hand again, through the same tick and the same simulation, compared bit for bit.
//!
//! Thread: main.
//!
//! In virtual time everything follows from scene, device and what the device read, and all three are in the recording. With
//! real threads it also matters at which tick a mechanism arrived and when a solve ran out of time; that is recorded as well,
//! and [`Rerun`] goes by it. Either way a recording must begin with the first tick: what a tick remembers is not recorded.

use super::cast::second_file;
use super::out::put;
use super::player::{Film, Player};
use super::rerun::{Companion, Meetings, Rerun};
use super::run::open_viewer;
use super::window::{PORT, serve};
use super::{Failure, Lockstep, device_log, warn};
use crate::device::{Device, DeviceFault, DeviceSpec, HandSample, SafeForce};
use crate::files::{LoadError, device_file};
use crate::haptic::TickRecord;
use crate::math::Vec3;
use crate::record::{self, DeviceLog, Entry, Provenance, ReadError, Reader, Timing};
use crate::scene::{self, Built};
use crate::shared::{Faults, MonoNs, Stamp, Tick, ordinary_file};
use std::io::{ErrorKind, Read as _};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// What a replay came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// Ticks run again.
    pub ticks: u64,
    /// Ticks of the second hand run again, in a scene for two.
    pub second_ticks: Option<u64>,
    /// The first that came out otherwise, and what of it.
    pub difference: Option<(u64, String)>,
    /// From this tick on it cannot go on, and why.
    pub stopped: Option<(u64, String)>,
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
        if let Some((tick, why)) = &self.stopped {
            text += &format!("note     from tick {tick} on it cannot be run again: {why}\n");
        }
        text + &match &self.difference {
            None => {
                let both =
                    self.second_ticks.map_or_else(String::new, |count| format!(" and {count} of the second hand"));
                format!("result   {} ticks{both} run again: every bit the same\n", self.ticks)
            }
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

impl Replayed {
    /// Nothing run yet, of a recording from there.
    fn of(from: &Provenance) -> Self {
        let ours = env!("CARGO_PKG_VERSION");
        let other_version = (from.version != ours).then(|| from.version.clone());
        Self { ticks: 0, second_ticks: None, difference: None, stopped: None, cut_short: None, other_version }
    }

    /// True when every tick was run again.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.stopped.is_none()
    }
}

/// Either way to run a tick again.
enum Again {
    Lockstep(Box<Lockstep<ReplayDevice>>, Option<Box<Companion>>),
    Threads(Box<Rerun>),
}

impl Again {
    fn new(path: &Path, from: &Provenance) -> Result<Self, Failure> {
        let (mut built, spec, mut other_spec) = rebuild(from, None)?;
        let other_file = second_file(path);
        let mut other = None;
        if built.second.is_some() {
            if !other_file.exists() {
                return Err(Failure::Usage(format!(
                    "{} is one hand of a scene for two, each recorded in a file of its own; name that of the first hand, \
                     and put that of the second beside it: there is no {}",
                    path.display(),
                    other_file.display()
                )));
            }
            let companion = Companion::open(&other_file)?;
            (built, _, other_spec) = rebuild(from, Some(companion.provenance()))?;
            other = Some(companion);
        }
        if from.timing == Timing::Live {
            let met = Meetings::read(path)?;
            let other = match other {
                Some(companion) => Some((other_spec, Meetings::read(&other_file)?, companion)),
                None => None,
            };
            if met.is_empty() {
                return Err(Failure::Usage(format!(
                    "{} has no steps of the simulation in it: it holds ticks around a fault, or was made by a version \
                     that did not record them. `hapticd report` shows what is in it",
                    path.display()
                )));
            }
            return Ok(Self::Threads(Box::new(Rerun::new(built, &spec, met, other)?)));
        }
        let device = ReplayDevice { spec, next: None, sequence: 0 };
        let mut rig = Lockstep::new(built.haptic, built.sim, device, None)?;
        rig.first.desk.enable();
        if let Some(hand) = built.second.filter(|_| other.is_some()) {
            let device = ReplayDevice { spec: other_spec, next: None, sequence: 0 };
            rig = rig.with_second(hand.haptic, device, None);
            if let Some(hand) = &mut rig.second {
                hand.desk.enable();
            }
        }
        Ok(Self::Lockstep(Box::new(rig), other.map(Box::new)))
    }

    fn tick(&mut self, recorded: &TickRecord) -> Result<TickRecord, String> {
        match self {
            Self::Lockstep(rig, other) => {
                rig.first.device.next = Some(*recorded);
                let expected = other.as_mut().map_or(Ok(None), |other| other.next())?;
                if let Some(hand) = &mut rig.second {
                    hand.device.next = expected;
                }
                let beat = rig.beat();
                if let (Some(other), Some(expected), Some(record)) = (other, expected, beat.second) {
                    other.judge(&expected, &record);
                }
                Ok(beat.record)
            }
            Self::Threads(rerun) => rerun.tick(recorded),
        }
    }

    /// Runs what is left of the second hand, if there is one.
    fn finish(&mut self) -> Result<(), String> {
        match self {
            Self::Lockstep(..) => Ok(()),
            Self::Threads(rerun) => rerun.finish(),
        }
    }

    /// What came out otherwise in the second hand, if something did.
    fn difference(&self) -> Option<String> {
        self.companion().and_then(|other| other.difference.clone())
    }

    /// The recording of the second hand, as far as it has come.
    fn companion(&self) -> Option<&Companion> {
        match self {
            Self::Lockstep(_, other) => other.as_deref(),
            Self::Threads(rerun) => rerun.companion(),
        }
    }
}

/// What was asked for.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// A recording, or a device log of H3D or HAPI.
    pub file: PathBuf,
    /// Play it to browsers.
    pub viewer: bool,
    /// Port for them instead of the usual one; 0 for any free one.
    pub viewer_port: Option<u16>,
    /// Scene to lead a device log through.
    pub scene: Option<String>,
    /// Device for it, instead of the scene's.
    pub device: Option<String>,
    /// File to record that to.
    pub record: Option<PathBuf>,
}

/// Does what was asked for and says what came of it; gives the exit code. Playing lasts until `stop`.
///
/// # Errors
/// Files that cannot be read or do not go together, a port that cannot be had.
pub fn run(options: &ReplayOptions, stop: &AtomicBool) -> Result<u8, Failure> {
    if is_recording(&options.file)? {
        if options.scene.is_some() || options.device.is_some() || options.record.is_some() {
            let text = "a recording has its own scene and device; --scene, --device and --record are for device logs";
            return Err(Failure::Usage(text.into()));
        }
        if options.viewer {
            return play(Film::read(&options.file)?, options, stop);
        }
        let done = compare(&options.file)?;
        put(format_args!("{}", done.to_text()));
        return Ok(if done.is_whole() { u8::from(done.difference.is_some()) } else { 2 });
    }
    let log = DeviceLog::read(&options.file)?;
    let Some(scene) = &options.scene else {
        if options.viewer || options.record.is_some() {
            let text = "name the scene that the logged hand is led through: --scene SCENE";
            return Err(Failure::Usage(text.into()));
        }
        put(format_args!("{}", log.to_text()));
        return Ok(0);
    };
    let led = device_log::lead(log, scene, options.device.as_deref(), options.record.as_deref())?;
    put(format_args!("{}", led.said));
    if options.viewer { play(Film::of_log(led)?, options, stop) } else { Ok(0) }
}

/// True when a file begins as recordings do.
fn is_recording(path: &Path) -> Result<bool, Failure> {
    let mut head = [0; mcap::MAGIC.len()];
    let read = ordinary_file::open(path).and_then(|mut file| file.read_exact(&mut head));
    match read {
        Err(why) if why.kind() != ErrorKind::UnexpectedEof => Err(ReadError::Io { path: path.into(), why }.into()),
        _ => Ok(head == *mcap::MAGIC),
    }
}

/// Plays to browsers until told to stop.
fn play(film: Film, options: &ReplayOptions, stop: &AtomicBool) -> Result<u8, Failure> {
    let listener = open_viewer(Ipv4Addr::LOCALHOST.into(), options.viewer_port.unwrap_or(PORT));
    let listener = listener.map_err(|error| Failure::Port(format!("no port for the viewer: {error}")))?;
    if let Ok(address) = listener.local_addr() {
        put(format_args!("viewer   http://{address}/   (Ctrl-C ends)\n"));
    }
    serve(listener, Player::new(film), stop);
    Ok(0)
}

/// Runs a recording again.
fn compare(path: &Path) -> Result<Replayed, Failure> {
    let mut reader = Reader::open(path)?;
    let from = reader.provenance().clone();
    let shown = path.display();
    let mut again = Again::new(path, &from)?;
    let mut done = Replayed::of(&from);
    for entry in reader.by_ref() {
        let Entry::Tick(recorded) = entry? else { continue };
        if recorded.index != done.ticks + 1 && done.ticks == 0 {
            return Err(Failure::Usage(format!(
                "{shown} begins with tick {}: only a recording from the first tick on can be run again, such as of \
                 `hapticd demo --record` or `hapticd run --record`",
                recorded.index
            )));
        }
        let outcome = if recorded.index == done.ticks + 1 {
            again.tick(&recorded)
        } else {
            Err(format!("tick {} follows tick {}", recorded.index, done.ticks))
        };
        let record = match outcome {
            Ok(record) => record,
            // It does not go on after a difference in the other hand either.
            Err(why) => {
                let next = done.ticks + 1;
                match again.difference() {
                    Some(what) => done.difference = Some((next, what)),
                    None => done.stopped = Some((next, why)),
                }
                return Ok(done);
            }
        };
        done.ticks += 1;
        if let Some(what) = record::difference(&recorded, &record).or_else(|| again.difference()) {
            done.difference = Some((recorded.index, what));
            return Ok(done);
        }
    }
    if let Err(why) = again.finish() {
        done.stopped = Some((done.ticks + 1, why));
    }
    done.second_ticks = again.companion().map(|other| other.ticks);
    done.difference = again.difference().map(|what| (done.ticks, what));
    done.cut_short = reader.cut_short().map(String::from);
    Ok(done)
}

/// Scene and devices from the texts in the recording; the second device is that of the other hand's, where there is one.
pub(super) fn rebuild(
    from: &Provenance,
    other: Option<&Provenance>,
) -> Result<(Built, DeviceSpec, DeviceSpec), Failure> {
    if from.scene_text.is_empty() || from.device_text.is_empty() {
        return Err(Failure::Usage("scene and device are not in the recording, so it cannot be run again".into()));
    }
    let scene = scene::parse(from.scene_text.as_bytes(), &format!("recorded scene {}", from.scene_name));
    let scene = scene.map_err(LoadError::Invalid)?;
    let device = |from: &Provenance| {
        let name = format!("recorded device {}", from.device_name);
        device_file::parse(from.device_text.as_bytes(), &name).map_err(LoadError::Invalid)
    };
    let (first, second) = (device(from)?.value, device(other.unwrap_or(from))?.value);
    let spec = scene.value.with_seed(Some(from.seed));
    let built = scene::build_for_two(&spec, &first, &second).map_err(Failure::Report)?;
    warn(&scene.warnings);
    Ok((built, first, second))
}
