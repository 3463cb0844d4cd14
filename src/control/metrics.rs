//! What the hub counts about itself, as plain numbers.
//!
//! Thread: control.

use super::plant::Code;

/// Every code of refusal, in the order of [`HubFigures::refused`].
pub const CODES: [Code; 6] =
    [Code::BadArguments, Code::NotAllowed, Code::NotFound, Code::WrongState, Code::OutOfRange, Code::Busy];

/// Figures of the hub since it began; those marked "now" go up and down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HubFigures {
    /// Datagrams received.
    pub datagrams: u64,
    /// Messages in those that could be read.
    pub messages: u64,
    /// Bundles among the datagrams.
    pub bundles: u64,
    /// Datagrams that could not be read.
    pub unreadable: u64,
    /// Datagrams dropped because a client sent too many.
    pub dropped: u64,
    /// Datagrams of strangers, dropped.
    pub strangers: u64,
    /// Messages that are replies of some program and are never answered.
    pub ignored: u64,
    /// Datagrams with a halt.
    pub halts: u64,
    /// Refusals, by the order of [`CODES`].
    pub refused: [u64; CODES.len()],
    /// Datagrams sent, of every kind.
    pub sent: u64,
    /// Samples of streams sent.
    pub streamed: u64,
    /// Samples of streams that were due and not sent.
    pub skipped: u64,
    /// Leases that ran out.
    pub leases_ended: u64,
    /// Clients with a lease, now.
    pub clients: u64,
    /// Streams, now.
    pub streams: u64,
    /// Bundles that wait for their time, now.
    pub scheduled: u64,
    /// Requests the daemon has not answered yet, now.
    pub pending: u64,
}

impl HubFigures {
    /// Counts a refusal.
    pub(super) fn refuse(&mut self, code: Code) {
        for (known, count) in CODES.iter().zip(&mut self.refused) {
            *count += u64::from(*known == code);
        }
    }
}
