//! What a driver has to tell: a bounded list, oldest first.
//!
//! Thread: device I/O.

use crate::shared::MonoNs;

/// Events kept until someone takes them.
const KEPT: usize = 32;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverEventKind {
    /// The device answers.
    Started,
    /// The device could not be started.
    StartFailed,
    /// It knows where it is: positions are absolute and force may flow.
    Homed,
    /// A button went down.
    ButtonDown(u8),
    /// A button came up.
    ButtonUp(u8),
    /// Nothing has been heard for too long; zero force is being sent.
    Silent,
    /// It answers again.
    Back,
    /// Silence lasted: the device is started anew and must be homed again.
    Restarting,
    /// No new command came in time; zero force is being sent.
    CommandExpired,
    /// The joints are where the mechanism cannot be: a lost count, or a bad frame. No force.
    OutsideWorkspace,
    /// Near a singular place; the force fades.
    NearSingular,
    /// The device reports trouble of its own.
    DeviceError(i32),
}

/// An event and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverEvent {
    /// When.
    pub at: MonoNs,
    /// What.
    pub kind: DriverEventKind,
}

/// The list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Events {
    list: [DriverEvent; KEPT],
    first: usize,
    count: usize,
}

impl Default for Events {
    fn default() -> Self {
        let none = DriverEvent { at: MonoNs(0), kind: DriverEventKind::Started };
        Self { list: [none; KEPT], first: 0, count: 0 }
    }
}

impl Events {
    /// Adds an event; the oldest gives way when the list is full, for the newest tell how things stand.
    pub(super) fn push(&mut self, at: MonoNs, kind: DriverEventKind) {
        self.list[(self.first + self.count) % KEPT] = DriverEvent { at, kind };
        if self.count < KEPT {
            self.count += 1;
        } else {
            self.first = (self.first + 1) % KEPT;
        }
    }

    /// Takes the oldest.
    pub(super) fn pop(&mut self) -> Option<DriverEvent> {
        if self.count == 0 {
            return None;
        }
        let event = self.list[self.first];
        self.first = (self.first + 1) % KEPT;
        self.count -= 1;
        Some(event)
    }
}
