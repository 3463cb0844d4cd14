//! The line from every thread that receives halts to the switch of the running haptic loop.
//!
//! Thread: control, and those that receive packets.
//!
//! A halt must not wait for the control thread: whoever receives it throws the switch. The control thread takes note of it at its
//! next poll, for the log and the cause of the fault. Scenes come and go meanwhile; a halt that went to the switch of a former
//! loop, and that nobody has taken note of, is thrown again by the control thread.

use crate::control::alarm::Alarm;
use crate::control::peer::Peer;
use crate::haptic::HaltSwitch;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// See the file's head.
#[derive(Clone)]
pub(super) struct HaltLine(Arc<Mutex<Line>>);

struct Line {
    switch: HaltSwitch,
    /// Who asked first since the control thread took note.
    by: Option<Peer>,
}

impl HaltLine {
    /// A line to `switch`.
    pub(super) fn new(switch: HaltSwitch) -> Self {
        Self(Arc::new(Mutex::new(Line { switch, by: None })))
    }

    /// Held for some instructions only, by whichever thread.
    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Throws the switch on behalf of `by`.
    fn halt(&self, by: Peer) {
        let mut line = self.line();
        line.switch.throw();
        line.by.get_or_insert(by);
    }

    /// What receivers of packets raise.
    pub(super) fn alarm(&self) -> Alarm {
        let line = self.clone();
        Alarm::new(move |by| line.halt(by))
    }

    /// Leads to another loop from now on.
    pub(super) fn lead_to(&self, switch: HaltSwitch) {
        self.line().switch = switch;
    }

    /// Who has halted since the last call.
    pub(super) fn take(&self) -> Option<Peer> {
        self.line().by.take()
    }
}
