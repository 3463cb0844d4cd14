//! Whose hands hold the device of a demo: those of the simulated operator, or of a person at a real device.
//!
//! Thread: main.

use super::Failure;
use super::calibrate::keeping;
use super::run::state_dir;
use crate::device::driver::{DriverEventKind, DriverState, HomingGuide, catalogue};
use crate::device::operator::OperatorReport;
use crate::device::port::{Link, LinkNews, LinkState, LinkStatus, find, probe, reach};
use crate::device::{Device, DeviceSpec};
use crate::haptic::{Desk, TickRecord, Trip};
use crate::math::{Pose, Vec3};
use crate::scene;
use crate::shared::lifecycle::State;
use crate::shared::realtime::RealtimeRequest;
use crate::shared::{LatestReader, Order};
use std::io::{BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How often a device is looked at while it is homed.
const LOOK: Duration = Duration::from_millis(10);
/// The scene begins when the handle has been this near to its beginning, m.
pub(super) const NEAR_M: f64 = 0.02;
/// For so many ticks.
const NEAR_TICKS: u32 = 300;
/// How often a fault before the beginning is acknowledged, in ticks.
const ACKNOWLEDGE: u64 = 100;
/// How often the way there is told, in ticks.
const TELL: u64 = 3000;
/// Times a device may fail to start before it is given up; it is tried again every 2 s.
const STARTS: u32 = 3;
/// How often its guide is told to someone who does nothing, in looks.
const REMIND: u32 = 1500;

/// See the file's head.
pub(super) enum Hands {
    /// The simulated operator, and what it reports.
    Simulated(LatestReader<OperatorReport>),
    /// A person, who reports nothing.
    Person(Box<Link>),
}

impl Hands {
    /// What the operator does now.
    pub(super) fn report(&mut self) -> OperatorReport {
        match self {
            Self::Simulated(reports) => *reports.read(),
            Self::Person(_) => OperatorReport::of_person(),
        }
    }

    /// What the line to a real device has done.
    pub(super) fn link(&mut self) -> Option<LinkStatus> {
        match self {
            Self::Simulated(_) => None,
            Self::Person(link) => Some(*link.status()),
        }
    }

    /// Why the device cannot be used any more, in the words of its thread; `None` when it says nothing of the kind.
    pub(super) fn complaint(&self) -> Option<String> {
        let Self::Person(link) = self else { return None };
        link.news().filter_map(|(_, news)| complaint(&news)).last()
    }
}

fn complaint(news: &LinkNews) -> Option<String> {
    match news {
        LinkNews::Lost => Some("the device is gone".into()),
        LinkNews::Silenced => Some("the guardian put the device to zero force, for the program stood still".into()),
        LinkNews::Asleep => Some("a guardian of the device stood still, so force was ended".into()),
        LinkNews::Unguarded => Some("a guardian of the device is gone".into()),
        LinkNews::NotOpened(why) => Some(why.clone()),
        LinkNews::Driver(kind) => Some(format!("the device: {}", kind.text())),
        LinkNews::Opened(_) => None,
    }
}

/// When forces begin: with the simulated operator at once; with a person when the handle is where the scene begins, for in the
/// middle of a wall they could only end badly.
pub(super) struct Beginning {
    /// Where the scene begins, in the device's base frame; `None` once it has.
    start: Option<Vec3>,
    asked: bool,
    near: u32,
    ticks: u64,
    /// Orders that were answered, each with the tick that did.
    pub(super) answered: Vec<(u64, Order)>,
}

impl Beginning {
    /// For these hands and this scene.
    pub(super) fn new(hands: &Hands, start: &Pose) -> Self {
        let start = matches!(hands, Hands::Person(_)).then_some(start.translation.vector);
        Self { start, asked: false, near: 0, ticks: 0, answered: Vec::new() }
    }

    /// Why it is over, if the time asked for has passed and nothing has begun.
    pub(super) fn overdue(&self, asked_s: Option<f64>, rate_hz: f64) -> Option<String> {
        let late = self.start.is_some() && asked_s.is_some_and(|asked_s| self.ticks as f64 > asked_s * rate_hz);
        late.then(|| "the handle was not brought to where the scene begins".into())
    }

    /// Takes the newest ticks in; true once forces have been asked for.
    pub(super) fn look(&mut self, batch: &[TickRecord], desk: &mut Desk, say: &mut dyn FnMut(&str)) -> bool {
        for record in batch {
            let Some(start) = self.start else { break };
            let way = start - record.pose_device_handle.translation.vector;
            let rests = record.homed && record.state == State::Disabled;
            self.near = if rests && way.norm() < NEAR_M { self.near + 1 } else { 0 };
            // Locking memory at the start of the loop can keep the device waiting; before forces that is no one's loss.
            if record.state == State::Fault
                && record.cause != Some(Trip::Halt)
                && self.ticks.is_multiple_of(ACKNOWLEDGE)
            {
                desk.acknowledge();
            }
            if self.near >= NEAR_TICKS {
                self.start = None;
            } else if self.near == 0 && self.ticks.is_multiple_of(TELL) {
                let [towards, right, up] = [way.x, way.y, way.z].map(|part| part * 100.0);
                say(&format!(
                    "start    bring the handle to where the scene begins: {towards:+.1} cm towards you, {right:+.1} right, \
                     {up:+.1} up"
                ));
            }
            self.ticks += 1;
        }
        // Orders wait while there is no room for more answers.
        self.answered.extend(desk.settled().map(|(answer, order)| (answer.tick, order)));
        if self.start.is_none() && !self.asked {
            self.asked = true;
            desk.enable();
        }
        self.asked
    }
}

/// A device and where it is: what `--device` and `--port` stand for.
pub(super) struct Choice {
    /// Name of the device file.
    pub(super) file: String,
    /// The port, if one was given.
    pub(super) port: Option<PathBuf>,
}

impl Choice {
    /// Finds out what was asked for: a device file, by name or path, or the port of a device.
    ///
    /// # Errors
    /// When a port was given and nothing tells what device is there.
    pub(super) fn of(device: &str, port: Option<PathBuf>) -> Result<Self, Failure> {
        // A file of a memory file system is a device file like any other.
        if port.is_some() || !device.starts_with("/dev/") || Path::new(device).is_file() {
            return Ok(Self { file: device.to_owned(), port });
        }
        let path = PathBuf::from(device);
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        let found = find::connected().into_iter().find(|one| one.node == real);
        let words = match found {
            Some(found) => found.drivers,
            None => probe::emulated_at(&path).map_err(|fault| Failure::Port(fault.to_string()))?.into_iter().collect(),
        };
        match words[..] {
            [word] => Ok(Self { file: file_for(word)?, port: Some(path) }),
            [] => Err(Failure::Port(format!(
                "nothing tells what is at {device}; name its device file as well: --device polhem --port {device}"
            ))),
            _ => Err(Failure::Usage(format!(
                "{device} could be for {}; name the device file as well: --device {} --port {device}",
                words.join(", "),
                words[0]
            ))),
        }
    }
}

/// The shipped device file for a driver.
fn file_for(word: &str) -> Result<String, Failure> {
    for name in scene::shipped_device_names() {
        if scene::open_device(name)?.value.driver == word {
            return Ok(name.to_owned());
        }
    }
    Err(Failure::Usage(format!("no device file that comes with hapticd is for the driver `{word}`; write one")))
}

/// How a person's device is brought to life.
pub(super) struct Homing<'a> {
    /// Where it is, if it was said.
    pub(super) port: Option<&'a Path>,
    /// The handle is in its rest position; nobody needs to be asked.
    pub(super) at_rest: bool,
    /// Rights of its thread.
    pub(super) rights: RealtimeRequest,
}

impl Homing<'_> {
    /// Opens the device and waits until it knows where it is, telling people what to do through `say`.
    ///
    /// # Errors
    /// When it cannot be opened or started, or `stop` was set.
    pub(super) fn run(
        &self,
        spec: &DeviceSpec,
        stop: &AtomicBool,
        say: &mut dyn FnMut(&str),
    ) -> Result<(Box<dyn Device>, Hands), Failure> {
        let fault = |fault: crate::device::port::OpenFault| Failure::Port(fault.to_string());
        let keeping = keeping(state_dir::of_this_user(), self.rights.priority);
        let first = reach::open(spec, self.port, &keeping).map_err(fault)?;
        let again = reach::opener(spec, self.port.map(Path::to_owned), keeping);
        let link = Link::start(spec.clone(), again, Some(first), self.rights);
        let mut link = link.map_err(|error| Failure::Port(format!("no thread for the device: {error}")))?;
        let typed = typed_lines();
        let mut asked: Option<HomingGuide> = None;
        let (mut looks, mut failed, mut was_failed) = (0_u32, 0, false);
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(Failure::Port("interrupted before the device was ready".into()));
            }
            link.news().filter_map(|(_, news)| hint(&news)).for_each(|text| say(&text));
            let state = link.status().state;
            let fails = state == LinkState::Driven(DriverState::Failed);
            failed += u32::from(fails && !was_failed);
            was_failed = fails;
            match state {
                LinkState::Driven(DriverState::Ready) => break,
                LinkState::Driven(DriverState::Failed) if failed >= STARTS => {
                    return Err(Failure::Port(format!(
                        "{} does not answer as its driver `{}` expects: look at power, cable and the device file",
                        spec.model, spec.driver
                    )));
                }
                LinkState::Driven(DriverState::Homing(guide)) => {
                    let new = asked.replace(guide) != Some(guide);
                    if new || looks.is_multiple_of(REMIND) {
                        say(&format!("homing   {}{}", guide.text(), enter(guide, self.at_rest)));
                    }
                    let confirmed = guide != HomingGuide::PullOutThenPushIn && typed.try_recv().is_ok();
                    if confirmed || (new && self.at_rest) {
                        link.confirm_home();
                    }
                }
                _ => {}
            }
            looks = looks.wrapping_add(1);
            std::thread::sleep(LOOK);
        }
        say("homing   done");
        if !catalogue::gives_force(&spec.driver) {
            say("force    none: this device steers a scene, which is seen and not felt");
        }
        let device = Box::new(link.attach(spec.clone()));
        Ok((device, Hands::Person(Box::new(link))))
    }
}

fn enter(guide: HomingGuide, at_rest: bool) -> &'static str {
    match guide {
        HomingGuide::RestAndConfirm | HomingGuide::RestAndPressButton if !at_rest => {
            ", or press Enter when it is there"
        }
        _ => "",
    }
}

fn hint(news: &LinkNews) -> Option<String> {
    match news {
        LinkNews::Opened(hindrance) if !hindrance.is_empty() => Some(format!("port     {hindrance}")),
        LinkNews::Lost => Some("port     the device is gone; waiting for it".into()),
        LinkNews::NotOpened(why) => Some(format!("port     {why}")),
        LinkNews::Unguarded => Some("port     a guardian of the device is gone; all are started again".into()),
        LinkNews::Asleep => Some("port     a guardian of the device stood still, so force was ended".into()),
        LinkNews::Silenced => Some("port     the guardian put the device to zero force".into()),
        LinkNews::Driver(
            kind @ (DriverEventKind::StartFailed | DriverEventKind::ForeignFirmware | DriverEventKind::TooSlow),
        ) => Some(format!("port     {}", kind.text())),
        LinkNews::Opened(_) | LinkNews::Driver(_) => None,
    }
}

/// Lines that a person types; none when nobody is there to type.
fn typed_lines() -> Receiver<()> {
    let (sender, receiver) = channel();
    if std::io::stdin().is_terminal() {
        std::thread::spawn(move || {
            for _ in std::io::stdin().lock().lines().map_while(Result::ok) {
                if sender.send(()).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_file_in_shared_memory_is_no_port() {
        let path = format!("/dev/shm/hapticd-device-{}.toml", std::process::id());
        if std::fs::write(&path, "").is_err() {
            // A machine without shared memory has no such path.
            return;
        }
        let choice = Choice::of(&path, None);
        std::fs::remove_file(&path).expect("it was written");
        let choice = choice.unwrap_or_else(|failure| unreachable!("{failure}"));
        assert_eq!((choice.file, choice.port), (path, None));
    }
}
