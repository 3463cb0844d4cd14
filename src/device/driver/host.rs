//! The host's side of a line to any family of devices: when to ask, what silence means, when a force may be sent.
//!
//! Thread: device I/O.
//!
//! One request is under way at a time. A new command is sent as soon as the answer to the last is in; without commands the
//! device is asked at the family's pace, with zero force once the last command has grown old.

use super::events::Events;
use super::glide::Glide;
use super::{Driver, DriverEvent, DriverEventKind, DriverState, Family, Heard, LinkFacts, Progress, Reading};
use crate::device::wire::{ByteEnd, LineOrder, Outbox};
use crate::device::{HandForce, HandSample, SafeForce};
use crate::shared::{MonoNs, Stamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Starting,
    Running,
    /// Since when.
    Failed(MonoNs),
}

/// What has been said once and is not said again until it has passed.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    silent: bool,
    expired: bool,
    outside: bool,
    singular: bool,
    homed: bool,
    error: i32,
}

/// A driver of one family.
pub struct Host<F> {
    family: F,
    phase: Phase,
    now: MonoNs,
    outbox: Outbox,
    /// The newest command, and whether it has not been sent yet.
    command: Option<(SafeForce, MonoNs)>,
    fresh: bool,
    /// The handle is in its rest position; the device is told when no answer is under way that knows nothing of it.
    confirming: bool,
    /// When the request under way was sent.
    asked: Option<MonoNs>,
    last_request: MonoNs,
    last_answer: MonoNs,
    sample: Option<HandSample>,
    glide: Glide,
    sequence: u64,
    buttons: u32,
    said: Said,
    events: Events,
    facts: LinkFacts,
}

impl<F: Family> Host<F> {
    /// A driver that will start its device.
    #[must_use]
    pub fn new(family: F) -> Self {
        let start = MonoNs(0);
        Self {
            family,
            phase: Phase::Starting,
            now: start,
            outbox: Outbox::default(),
            command: None,
            fresh: false,
            confirming: false,
            asked: None,
            last_request: start,
            last_answer: start,
            sample: None,
            glide: Glide::default(),
            sequence: 0,
            buttons: 0,
            said: Said::default(),
            events: Events::default(),
            facts: LinkFacts::default(),
        }
    }

    /// The family's own part.
    #[must_use]
    pub fn family(&self) -> &F {
        &self.family
    }

    /// Says `kind` once when `condition` begins to hold.
    fn say_once(&mut self, condition: bool, which: fn(&mut Said) -> &mut bool, kind: DriverEventKind) {
        let said = which(&mut self.said);
        let first = condition && !*said;
        *said = condition;
        if first {
            self.events.push(self.now, kind);
        }
    }

    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Nothing => {}
            Heard::Garbage => self.facts.garbage += 1,
            Heard::Done if self.phase == Phase::Running => self.lives(),
            Heard::Reading(reading) if self.phase == Phase::Running => self.answer(&reading),
            Heard::Done | Heard::Reading(_) => {}
        }
    }

    /// It has answered.
    fn lives(&mut self) {
        self.facts.answers += 1;
        if let Some(asked) = self.asked.take() {
            self.facts.round_trip_ns = self.now.since(asked);
        }
        self.last_answer = self.now;
        if self.said.silent {
            self.said.silent = false;
            self.events.push(self.now, DriverEventKind::Back);
        }
    }

    fn answer(&mut self, reading: &Reading) {
        self.lives();
        if reading.error != self.said.error {
            self.said.error = reading.error;
            if reading.error != 0 {
                self.events.push(self.now, DriverEventKind::DeviceError(reading.error));
            }
        }
        self.note_buttons(reading.buttons);
        let homed = self.family.guide().is_none();
        self.say_once(homed, |said| &mut said.homed, DriverEventKind::Homed);
        let outside = homed && reading.pose.is_none();
        self.say_once(outside, |said| &mut said.outside, DriverEventKind::OutsideWorkspace);
        let near = homed && !outside && self.family.share() < 1.0;
        self.say_once(near, |said| &mut said.singular, DriverEventKind::NearSingular);
        if let Some(pose_device_handle) = reading.pose {
            self.sequence += 1;
            let stamp = Stamp { sequence: self.sequence, at: self.now };
            let sample = HandSample { stamp, pose_device_handle, buttons: reading.buttons, homed };
            self.sample = Some(sample);
            if F::SELDOM {
                self.glide.take(&sample);
            }
        }
    }

    fn note_buttons(&mut self, buttons: u32) {
        let mut changed = buttons ^ self.buttons;
        while changed != 0 {
            // At most 31.
            let index = changed.trailing_zeros() as u8;
            let down = buttons >> index & 1 == 1;
            let kind = if down { DriverEventKind::ButtonDown(index) } else { DriverEventKind::ButtonUp(index) };
            self.events.push(self.now, kind);
            changed &= changed - 1;
        }
        self.buttons = buttons;
    }

    fn restart(&mut self) {
        self.family.restart();
        self.outbox.clear();
        self.phase = Phase::Starting;
        (self.asked, self.sample, self.command, self.fresh) = (None, None, None, false);
        self.confirming = false;
        self.glide = Glide::default();
        self.said = Said::default();
        self.facts.restarts += 1;
    }

    /// It cannot be started now, for this reason.
    fn fail(&mut self, why: DriverEventKind) {
        self.phase = Phase::Failed(self.now);
        self.outbox.clear();
        self.events.push(self.now, why);
    }

    /// Decides what is to be done now.
    fn step(&mut self) {
        match self.phase {
            Phase::Failed(since) => {
                if self.now.since(since) >= F::TIMING.back_off_ns {
                    self.restart();
                }
            }
            Phase::Starting => {
                if !self.outbox.is_empty() {
                    return;
                }
                match self.family.start(self.now, &mut self.outbox) {
                    Progress::Waiting => {}
                    Progress::Done => {
                        self.phase = Phase::Running;
                        self.last_answer = self.now;
                        self.events.push(self.now, DriverEventKind::Started);
                        self.run();
                    }
                    Progress::Failed => self.fail(DriverEventKind::StartFailed),
                    Progress::Foreign => self.fail(DriverEventKind::ForeignFirmware),
                    Progress::Slow => self.fail(DriverEventKind::TooSlow),
                }
            }
            Phase::Running => self.run(),
        }
    }

    fn run(&mut self) {
        // A device that is never asked may have nothing to say.
        if !F::ASKS {
            return;
        }
        if self.asked.is_some_and(|asked| self.now.since(asked) >= F::TIMING.answer_ns) {
            self.asked = None;
            self.facts.lost += 1;
            self.family.give_up();
        }
        let unheard = self.now.since(self.last_answer);
        if unheard >= F::TIMING.restart_ns {
            self.events.push(self.now, DriverEventKind::Restarting);
            self.restart();
            return;
        }
        if unheard >= F::TIMING.silent_ns {
            self.say_once(true, |said| &mut said.silent, DriverEventKind::Silent);
        }
        if self.confirming && self.asked.is_none() && self.outbox.is_empty() {
            self.confirming = false;
            self.family.confirm_home(&mut self.outbox);
        }
        let due = self.fresh || self.now.since(self.last_request) >= F::TIMING.poll_ns || self.facts.requests == 0;
        if self.asked.is_none() && self.outbox.is_empty() && due {
            let force = self.force_to_send();
            self.family.request(&force, &mut self.outbox);
            self.fresh = false;
            (self.asked, self.last_request) = (Some(self.now), self.now);
            self.facts.requests += 1;
        }
    }

    /// The command, if it is young and the device answers and knows where it is; else none.
    fn force_to_send(&mut self) -> SafeForce {
        let old = self.command.is_some_and(|(_, at)| self.now.since(at) > F::TIMING.command_life_ns);
        self.say_once(old, |said| &mut said.expired, DriverEventKind::CommandExpired);
        match self.command {
            Some((force, _)) if !old && !self.said.silent && self.family.guide().is_none() => force,
            _ => SafeForce::zero(),
        }
    }
}

impl<F: Family> ByteEnd for Host<F> {
    fn feed(&mut self, bytes: &[u8], now: MonoNs) {
        self.now = self.now.max(now);
        let mut rest = bytes;
        while !rest.is_empty() {
            let (used, heard) = self.family.receive(rest);
            rest = &rest[used.clamp(1, rest.len())..];
            self.hear(heard);
        }
        self.step();
    }

    fn next_out(&mut self, out: &mut [u8]) -> usize {
        self.outbox.pop(out)
    }

    fn next_order(&mut self) -> Option<LineOrder> {
        self.outbox.pop_order()
    }
}

impl<F: Family> Driver for Host<F> {
    fn command(&mut self, force: &SafeForce, now: MonoNs) {
        self.now = self.now.max(now);
        self.command = Some((*force, self.now));
        self.fresh = true;
        self.step();
    }

    fn sample(&mut self) -> Option<HandSample> {
        let newest = self.sample.take();
        if !F::SELDOM {
            return newest;
        }
        if self.phase != Phase::Running || self.said.silent {
            return None;
        }
        let mut shown = self.glide.at(self.now)?;
        self.sequence += 1;
        shown.stamp = Stamp { sequence: self.sequence, at: self.now };
        shown.homed &= self.family.guide().is_none();
        Some(shown)
    }

    fn state(&self) -> DriverState {
        match (self.phase, self.family.guide()) {
            (Phase::Failed(_), _) => DriverState::Failed,
            (Phase::Starting, _) => DriverState::Starting,
            (Phase::Running, _) if self.said.silent => DriverState::Silent,
            (Phase::Running, Some(guide)) => DriverState::Homing(guide),
            (Phase::Running, None) => DriverState::Ready,
        }
    }

    fn next_event(&mut self) -> Option<DriverEvent> {
        self.events.pop()
    }

    fn silence_bytes(&self, out: &mut [u8]) -> usize {
        self.family.silence(out)
    }

    fn confirm_home(&mut self, now: MonoNs) {
        self.now = self.now.max(now);
        if self.phase == Phase::Running {
            self.confirming = true;
            self.step();
        }
    }

    fn weight(&self) -> HandForce {
        self.family.weight()
    }

    fn facts(&self) -> LinkFacts {
        self.facts
    }
}
