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
    /// It speaks a protocol in which no force can be given.
    ForeignFirmware,
    /// Its firmware takes too long to answer.
    TooSlow,
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

impl DriverEventKind {
    /// For people.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Started => "it answers",
            Self::StartFailed => "it could not be started; look at power, cable and firmware",
            Self::ForeignFirmware => {
                "its firmware speaks the text of earlier programs, in which no force can be given safely: load one that speaks \
                 docs/hapkit-protocol.md, or take the device hapkit-text, which steers without force"
            }
            Self::TooSlow => {
                "its firmware takes longer than 0.1 s to answer, because it waits for the end of each question: say \
                 Serial.setTimeout(15) in it"
            }
            Self::Homed => "it is homed",
            Self::ButtonDown(_) => "a button went down",
            Self::ButtonUp(_) => "a button came up",
            Self::Silent => "it has stopped answering; zero force is sent",
            Self::Back => "it answers again",
            Self::Restarting => "it has been silent for long: it is started anew and must be homed again",
            Self::CommandExpired => "no new force came in time; zero force is sent",
            Self::OutsideWorkspace => "its joints are where the mechanism cannot be; home it again",
            Self::NearSingular => "it is near the edge of what its mechanism can do; the force fades",
            Self::DeviceError(_) => "it reports trouble of its own",
        }
    }
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
