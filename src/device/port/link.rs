//! The thread that drives one real device: port on one side, wait-free mailboxes to the tick on the other.
//!
//! Thread: device I/O; [`Link`] belongs to control or main.
//!
//! ```text
//!  port ──bytes──► driver ──newest sample──► [`RealDevice`] (haptic thread)
//!       ◄────────         ◄──newest force── + bell
//!                         ──status, news──► [`Link`] ──orders──►
//! ```
//!
//! A kernel that blocks for milliseconds blocks this thread and never the tick. However a session with a device ends, by a stop,
//! a panic or an unplugged cable, its last bytes are those of zero force. A device that is gone is looked for again, at longer
//! and longer intervals; it is then another device, with a driver of its own that starts and homes it from the beginning.

#![expect(
    clippy::disallowed_types,
    reason = "this thread may use the heap where a device is opened, not where it is driven"
)]

use super::real::{Front, Mail, RealDevice};
use super::{Bell, OpenFault, Port, PortFault, wait_readable};
use crate::device::driver::catalogue::AnyDriver;
use crate::device::driver::{DriverEventKind, DriverState, HomingGuide, LinkFacts};
use crate::device::guardian::{Alarm, LOOK_NS, STILL_NS};
use crate::device::wire::MESSAGE_MAX;
use crate::device::{DeviceSpec, HandSample, SafeForce};
use crate::math::Pose;
use crate::shared::realtime::{self, RealtimeRequest, SystemClock};
use crate::shared::{
    Clock as _, DurationFigures, DurationHistogram, LatestReader, LatestWriter, MonoNs, PULSE_MESSAGE_MAX, Stamp,
    latest,
};
use rustix::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

const MS: u64 = 1_000_000;
/// Longest wait for bytes before the driver is told the time, ns.
const PACE_NS: u64 = MS;
/// Longest time in which a port must take a message, ns.
const WRITE_NS: u64 = 20 * MS;
/// The same while force may flow: a device that takes none must not make the guardian think that this thread hangs.
const ARMED_WRITE_NS: u64 = 5 * MS;
const _: () = assert!(ARMED_WRITE_NS + 2 * PACE_NS + 2 * LOOK_NS < STILL_NS);
/// A port that has taken nothing for this long is as good as gone, ns.
const STUCK_NS: u64 = 500 * MS;
/// Messages moved in one round: a device that never stops talking does not hang the thread.
const ROUND: usize = 64;
/// First and longest pause between two tries to open a port, ns.
const BACK_OFF_NS: (u64, u64) = (100 * MS, 2000 * MS);
/// How often the status is renewed, ns.
const STATUS_NS: u64 = 20 * MS;
/// News kept for someone who does not listen.
const NEWS: usize = 256;

/// What opens a port and makes the driver that goes with it.
pub type Opener = Box<dyn FnMut() -> Result<(Box<dyn Port>, AnyDriver), OpenFault> + Send>;

/// How a device stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// There is no port to it.
    Absent,
    /// A driver speaks on its port.
    Driven(DriverState),
}

impl LinkState {
    /// What the operator has to do, if anything.
    #[must_use]
    pub fn guide(self) -> Option<HomingGuide> {
        match self {
            Self::Driven(DriverState::Homing(guide)) => Some(guide),
            _ => None,
        }
    }

    /// For people.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Absent => "not connected",
            Self::Driven(DriverState::Starting) => "being started",
            Self::Driven(DriverState::Homing(guide)) => guide.text(),
            Self::Driven(DriverState::Ready) => "ready",
            Self::Driven(DriverState::Silent) => "does not answer",
            Self::Driven(DriverState::Failed) => "could not be started; it is tried again",
        }
    }
}

/// A link at a glance.
#[derive(Clone, Copy, Debug)]
pub struct LinkStatus {
    /// How the device stands.
    pub state: LinkState,
    /// What the line has done since the port was last opened.
    pub facts: LinkFacts,
    /// Times from request to answer since the link was made.
    pub round_trip: DurationFigures,
    /// Times a port was opened.
    pub sessions: u64,
}

/// What happened on a link.
#[derive(Clone, Debug)]
pub enum LinkNews {
    /// The driver tells.
    Driver(DriverEventKind),
    /// A port was opened; what makes it slower than it could be, or nothing.
    Opened(String),
    /// No port could be opened; said once for each reason.
    NotOpened(String),
    /// The device is gone.
    Lost,
    /// A guardian has sent zero force, for this program stood still.
    Silenced,
    /// A guardian stands still; there is no force until it looks again.
    Asleep,
    /// A guardian is gone; the port is opened again with others.
    Unguarded,
}

/// What is asked of the thread.
enum Order {
    ConfirmHome,
    Attach(Box<Front>),
}

/// A device on its thread. Dropping it ends the thread, with zero force as the last word.
pub struct Link {
    spec: DeviceSpec,
    orders: Sender<Order>,
    status: LatestReader<LinkStatus>,
    news: Receiver<(MonoNs, LinkNews)>,
    bell: Bell,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Link {
    /// Starts the thread. With a `first` session it begins there; otherwise it opens one as soon as it can.
    ///
    /// # Errors
    /// When the system gives no thread or descriptor.
    pub fn start(
        spec: DeviceSpec,
        opener: Opener,
        first: Option<(Box<dyn Port>, AnyDriver)>,
        rights: RealtimeRequest,
    ) -> std::io::Result<Self> {
        let bell = Bell::new()?;
        let stop = Arc::new(AtomicBool::new(false));
        let none = LinkStatus {
            state: LinkState::Absent,
            facts: LinkFacts::default(),
            round_trip: DurationFigures::default(),
            sessions: 0,
        };
        let (status_writer, status) = latest(none);
        let (orders, inbox) = channel();
        let (sender, news) = sync_channel(NEWS);
        let worker = Worker {
            opener,
            front: None,
            inbox,
            status: status_writer,
            told: none,
            news: sender,
            bell: bell.clone(),
            stop: Arc::clone(&stop),
            trips: DurationHistogram::new(),
            sequence: 0,
            complaint: None,
            silenced: false,
            unlatched: false,
        };
        let thread = std::thread::Builder::new().name("device".into()).spawn(move || {
            let _rights = realtime::acquire(&rights);
            worker.run(first);
        })?;
        Ok(Self { spec, orders, status, news, bell, stop, thread: Some(thread) })
    }

    /// Facts from the device file.
    #[must_use]
    pub fn spec(&self) -> &DeviceSpec {
        &self.spec
    }

    /// The device for a haptic thread, with the facts that hold for it. One made before is let go: it shows the handle where it was, and gives no force.
    #[must_use]
    pub fn attach(&self, spec: DeviceSpec) -> RealDevice {
        let (device, front) = RealDevice::new(spec, self.bell.clone());
        self.send(Order::Attach(Box::new(front)));
        device
    }

    /// The operator says that the handle is in its rest position.
    pub fn confirm_home(&self) {
        self.send(Order::ConfirmHome);
    }

    /// How the device stands.
    pub fn status(&mut self) -> &LinkStatus {
        self.status.read()
    }

    /// What happened since the last call, and when.
    pub fn news(&self) -> impl Iterator<Item = (MonoNs, LinkNews)> + '_ {
        self.news.try_iter()
    }

    fn send(&self, order: Order) {
        // A thread that has panicked hears nothing; its device is silent then.
        let _ = self.orders.send(order);
        self.bell.ring();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.bell.ring();
        if let Some(thread) = self.thread.take() {
            // It waits for nothing longer than a message takes; how it ended changes nothing here.
            let _ = thread.join();
        }
    }
}

/// A port and its driver; ends with zero force.
struct Session {
    port: Box<dyn Port>,
    driver: AnyDriver,
    stuck_since: Option<MonoNs>,
}

impl Session {
    /// Tells the guardian, if there is one, the newest bytes of zero force.
    fn instruct(&mut self) {
        let mut bytes = [0; MESSAGE_MAX];
        let length = self.driver.silence_bytes(&mut bytes);
        let mut sent = [0; PULSE_MESSAGE_MAX];
        let length = self.port.as_sent(&bytes[..length], &mut sent);
        if let Some(lifeline) = self.port.guard() {
            lifeline.leave(&sent[..length]);
        }
    }

    /// Sends the bytes of zero force.
    fn silence(&mut self) {
        let mut bytes = [0; MESSAGE_MAX];
        let length = self.driver.silence_bytes(&mut bytes);
        if length > 0 {
            let _ = self.port.write(&bytes[..length], SystemClock.now().plus(WRITE_NS));
        }
    }

    /// True while there may be force at the device. One that has fallen silent may not have heard that it was told zero.
    fn is_armed(&self) -> bool {
        matches!(self.driver.state(), DriverState::Ready | DriverState::Silent)
    }

    /// Takes what has come.
    fn take_in(&mut self) -> Result<(), PortFault> {
        let mut buffer = [0; MESSAGE_MAX];
        for _ in 0..ROUND {
            let length = self.port.read(&mut buffer)?;
            self.driver.feed(&buffer[..length], SystemClock.now());
            if length == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Sends what is to be sent.
    fn give_out(&mut self, now: MonoNs) -> Result<(), PortFault> {
        let mut buffer = [0; MESSAGE_MAX];
        for _ in 0..ROUND {
            while let Some(order) = self.driver.next_order() {
                self.port.order(order)?;
            }
            let length = self.driver.next_out(&mut buffer);
            if length == 0 {
                break;
            }
            let until = now.plus(if self.is_armed() { ARMED_WRITE_NS } else { WRITE_NS });
            match self.port.write(&buffer[..length], until) {
                Ok(()) => self.stuck_since = None,
                // The driver will miss its answer and ask again; what else there is can wait until then.
                Err(PortFault::Stuck) => {
                    let since = *self.stuck_since.get_or_insert(now);
                    return if now.since(since) > STUCK_NS { Err(PortFault::Gone) } else { Ok(()) };
                }
                Err(PortFault::Gone) => return Err(PortFault::Gone),
            }
        }
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.silence();
    }
}

/// The thread's own part.
struct Worker {
    opener: Opener,
    front: Option<Box<Front>>,
    inbox: Receiver<Order>,
    status: LatestWriter<LinkStatus>,
    told: LinkStatus,
    news: SyncSender<(MonoNs, LinkNews)>,
    bell: Bell,
    stop: Arc<AtomicBool>,
    trips: DurationHistogram,
    /// Counts samples over all sessions.
    sequence: u64,
    /// The last reason why no port could be opened.
    complaint: Option<String>,
    /// A guardian has stepped in or does not watch: no force.
    silenced: bool,
    /// The tick has not latched that yet.
    unlatched: bool,
}

impl Worker {
    fn run(mut self, first: Option<(Box<dyn Port>, AnyDriver)>) {
        let mut ready = first;
        let mut pause_ns = BACK_OFF_NS.0;
        while !self.stop.load(Ordering::Relaxed) {
            match ready.take().map_or_else(|| (self.opener)(), Ok) {
                Ok((port, driver)) => {
                    pause_ns = BACK_OFF_NS.0;
                    self.complaint = None;
                    self.serve(Session { port, driver, stuck_since: None });
                    self.told.state = LinkState::Absent;
                    self.status.publish(self.told);
                }
                Err(fault) => {
                    let why = fault.to_string();
                    if self.complaint.as_ref() != Some(&why) {
                        self.tell(LinkNews::NotOpened(why.clone()));
                        self.complaint = Some(why);
                    }
                }
            }
            self.pause(pause_ns);
            pause_ns = (pause_ns * 2).min(BACK_OFF_NS.1);
        }
    }

    fn tell(&self, news: LinkNews) {
        // Someone who does not listen misses the newest; the status has what counts.
        let _ = self.news.try_send((SystemClock.now(), news));
    }

    /// Waits before the next try; fronts may come meanwhile.
    fn pause(&mut self, ns: u64) {
        let until = SystemClock.now().plus(ns);
        while SystemClock.now() < until && !self.stop.load(Ordering::Relaxed) {
            self.bell.hush();
            self.obey(None);
            wait_readable(&[self.bell.as_fd(), self.bell.as_fd()], until);
        }
    }

    /// Does what is asked.
    fn obey(&mut self, mut session: Option<&mut Session>) {
        while let Ok(order) = self.inbox.try_recv() {
            match (order, session.as_deref_mut()) {
                (Order::Attach(front), session) => {
                    self.front = Some(front);
                    session.into_iter().for_each(Session::silence);
                }
                (Order::ConfirmHome, Some(session)) => session.driver.confirm_home(SystemClock.now()),
                (Order::ConfirmHome, None) => {}
            }
        }
    }

    /// Drives a device until it is gone or the thread is told to end.
    fn serve(&mut self, mut session: Session) {
        self.told.sessions += 1;
        self.tell(LinkNews::Opened(session.port.hindrance().to_owned()));
        let mut last =
            HandSample { stamp: Stamp::default(), pose_device_handle: Pose::identity(), buttons: 0, homed: false };
        let mut renewed = MonoNs(0);
        while !self.stop.load(Ordering::Relaxed) {
            self.bell.hush();
            self.obey(Some(&mut session));
            let now = SystemClock.now();
            if !self.watched(&mut session, now) {
                self.tell(LinkNews::Unguarded);
                return;
            }
            self.pass_force(&mut session, now);
            let answers = session.driver.facts().answers;
            let moved = session.take_in().and_then(|()| {
                self.pass_sample(&mut session, answers, &mut last);
                session.give_out(now)
            });
            if moved.is_err() {
                self.tell(LinkNews::Lost);
                return;
            }
            let state = LinkState::Driven(session.driver.state());
            if state != self.told.state || now.since(renewed) >= STATUS_NS {
                renewed = now;
                let round_trip = self.trips.figures();
                self.told = LinkStatus { state, facts: session.driver.facts(), round_trip, ..self.told };
                self.status.publish(self.told);
            }
            while let Some(event) = session.driver.next_event() {
                if matches!(event.kind, DriverEventKind::Started | DriverEventKind::Homed) {
                    session.instruct();
                }
                self.tell(LinkNews::Driver(event.kind));
            }
            session.port.wait(&self.bell, SystemClock.now().plus(PACE_NS));
        }
    }

    /// Shows the guardians that this thread lives, and checks what they have done and whether they live; false when one is no more.
    fn watched(&mut self, session: &mut Session, now: MonoNs) -> bool {
        let armed = session.is_armed();
        let Some(lifeline) = session.port.guard() else { return true };
        let alarm = lifeline.tend(armed, now);
        if !self.silenced
            && let Some(Alarm::Silenced | Alarm::Asleep) = alarm
        {
            self.tell(if alarm == Some(Alarm::Asleep) { LinkNews::Asleep } else { LinkNews::Silenced });
        }
        // An alarm is latched also where it is over before the tick has seen it.
        self.unlatched |= alarm.is_some();
        if self.unlatched {
            // Nobody needs to latch anything where nobody gives force.
            let latched = self.front.as_ref().is_none_or(|front| front.is_let_go() || front.alarm());
            self.unlatched = !latched;
            if latched && alarm == Some(Alarm::Silenced) {
                lifeline.heed();
            }
        }
        self.silenced = alarm.is_some() || self.unlatched;
        if let (false, Some(front)) = (self.silenced, &self.front) {
            front.calm();
        }
        alarm != Some(Alarm::Unguarded)
    }

    /// The newest force of the tick to the driver, or silence.
    fn pass_force(&mut self, session: &mut Session, now: MonoNs) {
        if self.silenced {
            // Whatever the tick wanted before it knew.
            session.driver.command(&SafeForce::zero(), now);
            return;
        }
        let Some(front) = &mut self.front else { return };
        if front.is_let_go() {
            self.front = None;
            session.silence();
        } else if let Some(force) = front.force() {
            session.driver.command(&force, now);
        }
    }

    /// The newest sample of the driver to the tick. A device that answers and does not know where it is, and one that speaks only
    /// while it is moved, are shown where they were last: they have nothing to tell, but they are not silent.
    fn pass_sample(&mut self, session: &mut Session, answers: u64, last: &mut HandSample) {
        let facts = session.driver.facts();
        let answered = facts.answers != answers;
        if answered {
            self.trips.record(facts.round_trip_ns);
        }
        let stands = match session.driver.state() {
            DriverState::Homing(_) => answered,
            DriverState::Ready => facts.requests == 0,
            _ => false,
        };
        let sample = session.driver.sample().or_else(|| {
            let homed = session.driver.state() == DriverState::Ready;
            let stamp = Stamp { sequence: 0, at: SystemClock.now() };
            stands.then_some(HandSample { stamp, homed, ..*last })
        });
        let (Some(sample), Some(front)) = (sample, &mut self.front) else { return };
        *last = sample;
        self.sequence += 1;
        let stamp = Stamp { sequence: self.sequence, at: sample.stamp.at };
        front.show(Mail { sample: HandSample { stamp, ..sample }, weight: session.driver.weight() });
    }
}
