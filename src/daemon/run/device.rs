//! The real device of a rig: opened, waited for, handed from one rig to the next, homed.
//!
//! Thread: opened by cold threads; looked after by control.

use super::requests::busy;
use super::supervisor::Supervisor;
use crate::control::plant::{Code, News, Refused, Ticket};
use crate::daemon::Failure;
use crate::daemon::calibrate::keeping;
use crate::device::DeviceSpec;
use crate::device::driver::{DriverEventKind, DriverState, HomingGuide, catalogue};
use crate::device::port::{Link, LinkNews, LinkState, RealDevice, reach};
use crate::shared::lifecycle::State;
use crate::shared::realtime::RealtimeRequest;
use crate::shared::{MonoNs, NS_PER_S};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A line that can be handed on. Only cold threads and control lock it, each for a moment.
pub(super) type Line = Arc<Mutex<Link>>;

/// Longest time for a device to be started before the loop begins without it: boards take 2 s.
const START: Duration = Duration::from_secs(4);
/// Longest time for the first sample to reach the loop.
const FIRST_SAMPLE: Duration = Duration::from_millis(500);
/// How often is looked meanwhile.
const LOOK: Duration = Duration::from_millis(2);
/// Longest time for homing by a word, and by a person's hand, ns.
const HOMING_NS: (u64, u64) = (2 * NS_PER_S, 120 * NS_PER_S);

/// The link itself; whoever panicked with it left it whole.
pub(super) fn link(line: &Line) -> MutexGuard<'_, Link> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True when a line leads to the device of this file.
pub(super) fn leads_to(line: &Line, device: &DeviceSpec) -> bool {
    let link = link(line);
    link.spec().driver == device.driver && link.spec().connection == device.connection
}

/// Opens a device and waits until it answers. One that is not there, or in use, is waited for while the daemon runs.
///
/// # Errors
/// [`Failure::Port`] when it can never be opened so.
pub(super) fn open(
    device: &DeviceSpec,
    port: Option<&Path>,
    realtime: &RealtimeRequest,
    state: Option<PathBuf>,
) -> Result<Line, Failure> {
    if !catalogue::gives_force(&device.driver) {
        tracing::info!("device: {} gives no force: it steers a scene, which is seen and not felt", device.model);
    }
    let keeping = keeping(state, realtime.priority);
    let first = match reach::open(device, port, &keeping) {
        Ok(first) => Some(first),
        Err(fault) if fault.may_pass() => None,
        Err(fault) => return Err(Failure::Port(fault.to_string())),
    };
    let here = first.is_some();
    // Just below the haptic thread, and without its processor: what that waits for has been asked for by then.
    let rights = RealtimeRequest {
        priority: realtime.priority.saturating_sub(1),
        lock_memory: false,
        ..RealtimeRequest::default()
    };
    let opener = reach::opener(device, port.map(Path::to_owned), keeping);
    let mut link = Link::start(device.clone(), opener, first, rights)
        .map_err(|error| Failure::Port(format!("no thread for the device: {error}")))?;
    let began = Instant::now();
    let starts = |state| matches!(state, LinkState::Absent | LinkState::Driven(DriverState::Starting));
    while here && starts(link.status().state) && began.elapsed() < START {
        std::thread::sleep(LOOK);
    }
    Ok(Arc::new(Mutex::new(link)))
}

/// The device for a haptic thread; waits for its first sample, so that the loop does not begin with a silent device.
pub(super) fn attach(line: &Line, device: DeviceSpec) -> RealDevice {
    let (mut front, answers) = {
        let mut link = link(line);
        let state = link.status().state;
        (link.attach(device), matches!(state, LinkState::Driven(DriverState::Homing(_) | DriverState::Ready)))
    };
    let began = Instant::now();
    while answers && !front.is_heard() && began.elapsed() < FIRST_SAMPLE {
        std::thread::sleep(LOOK);
    }
    front
}

/// Someone who waits for the device to be homed, and until when.
pub(super) struct Homing {
    ticket: Ticket,
    until: MonoNs,
}

impl Homing {
    /// Who waits.
    pub(super) fn ticket(&self) -> Ticket {
        self.ticket
    }
}

impl Supervisor {
    /// How the device stands, for people.
    pub(super) fn device_state(&self) -> String {
        self.device_told.map_or("ready", LinkState::text).to_owned()
    }

    /// Begins to home the device; whoever asked hears when it is done.
    pub(super) fn home(&mut self, now: MonoNs) -> Result<Ticket, Refused> {
        let wrong = |text: String| Refused { code: Code::WrongState, text };
        if self.state != State::Disabled {
            return Err(wrong(format!("only in DISABLED, not in {}", self.state.name())));
        }
        if self.homing.is_some() {
            return Err(busy("the device is being homed; do what `device/state` says"));
        }
        let Some(line) = &self.rig.line else {
            return Ok(self.at_once(Vec::new()));
        };
        let state = link(line).status().state;
        let patience_ns = match state {
            LinkState::Driven(DriverState::Ready) => return Ok(self.at_once(Vec::new())),
            LinkState::Driven(DriverState::Homing(HomingGuide::PullOutThenPushIn)) => HOMING_NS.1,
            LinkState::Driven(DriverState::Homing(_)) => {
                link(line).confirm_home();
                HOMING_NS.0
            }
            other => return Err(wrong(format!("the device cannot be homed now: it is {}", other.text()))),
        };
        let ticket = self.ticket();
        self.homing = Some(Homing { ticket, until: now.plus(patience_ns) });
        Ok(ticket)
    }

    /// Takes in what the device's thread has to tell.
    pub(super) fn look_after_device(&mut self, now: MonoNs) {
        let Some(line) = self.rig.line.clone() else {
            self.device_told = None;
            return;
        };
        let (state, news) = {
            let mut link = link(&line);
            (link.status().state, link.news().collect::<Vec<_>>())
        };
        news.iter().for_each(|(_, news)| log(news));
        if self.device_told.replace(state) != Some(state) {
            self.news.push(News::Device(state.text().to_owned()));
        }
        let homed = state == LinkState::Driven(DriverState::Ready) && self.newest.is_some_and(|record| record.homed);
        let Some(Homing { ticket, until }) = &self.homing else { return };
        let (ticket, late) = (*ticket, now >= *until);
        if homed {
            self.homing = None;
            self.news.push(News::Answer(ticket, Ok(Vec::new())));
        } else if late {
            self.homing = None;
            let text = format!("not homed in time: {}", state.text());
            self.news.push(News::Answer(ticket, Err(Refused { code: Code::WrongState, text })));
        }
    }
}

fn log(news: &LinkNews) {
    match news {
        LinkNews::Opened(hindrance) if hindrance.is_empty() => tracing::info!("device: its port is open"),
        LinkNews::Opened(hindrance) => tracing::warn!("device: its port is open; {hindrance}"),
        LinkNews::NotOpened(why) => tracing::warn!("device: {why}"),
        LinkNews::Lost => tracing::warn!("device: it is gone; it is looked for again"),
        LinkNews::Silenced => tracing::warn!("device: the guardian put it to zero force, for the daemon stood still"),
        LinkNews::Asleep => tracing::error!("device: a guardian stands still, so there is no force"),
        LinkNews::Unguarded => tracing::error!("device: a guardian is gone; the device is opened again with others"),
        LinkNews::Driver(kind) => match kind {
            DriverEventKind::Started | DriverEventKind::Homed | DriverEventKind::Back => {
                tracing::info!("device: {}", kind.text());
            }
            DriverEventKind::ButtonDown(_) | DriverEventKind::ButtonUp(_) => tracing::debug!("device: {}", kind.text()),
            DriverEventKind::DeviceError(code) => tracing::warn!("device: {} ({code})", kind.text()),
            _ => tracing::warn!("device: {}", kind.text()),
        },
    }
}
