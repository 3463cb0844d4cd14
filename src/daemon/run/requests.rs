//! Requests that wait for a thread to take them over: which order belongs to which ticket, and since when.
//!
//! Thread: control.

use crate::control::plant::{Code, Refused, Setting, Ticket, Value};
use crate::shared::lifecycle::Refusal;
use crate::shared::{MonoNs, NS_PER_S};

/// Longest wait for an answer, ns. A loop that ticks answers within some ticks.
const PATIENCE_NS: u64 = NS_PER_S;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A client's acts.
    Act,
    /// A fault is acknowledged; `None` when the book has none.
    Acknowledge(Option<u32>),
}

/// One request under way.
#[derive(Debug, PartialEq)]
pub(super) struct Request {
    pub(super) ticket: Ticket,
    pub(super) purpose: Purpose,
    /// Values that count as set when it is done.
    pub(super) sets: Vec<(Setting, Value)>,
    waits: Waits,
    since: MonoNs,
}

/// What a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// The haptic thread's answer to this order.
    Haptic(u64),
    /// The simulation's echo of this number.
    Simulation(u64),
}

/// All requests under way.
#[derive(Debug, Default)]
pub(super) struct Requests(Vec<Request>);

impl Requests {
    /// Begins to wait.
    pub(super) fn add(
        &mut self,
        ticket: Ticket,
        purpose: Purpose,
        sets: Vec<(Setting, Value)>,
        waits: Waits,
        since: MonoNs,
    ) {
        self.0.push(Request { ticket, purpose, sets, waits, since });
    }

    /// The request that waited for this answer of the haptic thread, if it still does.
    pub(super) fn answered(&mut self, sequence: u64) -> Option<Request> {
        let index = self.0.iter().position(|request| request.waits == Waits::Haptic(sequence))?;
        Some(self.0.remove(index))
    }

    /// Requests that waited for the simulation to come this far.
    pub(super) fn echoed(&mut self, sequence: u64) -> Vec<Request> {
        let done = |request: &mut Request| matches!(request.waits, Waits::Simulation(wanted) if wanted <= sequence);
        self.0.extract_if(.., done).collect()
    }

    /// Requests that have waited for too long.
    pub(super) fn overdue(&mut self, now: MonoNs) -> Vec<Request> {
        self.0.extract_if(.., |request| now.since(request.since) > PATIENCE_NS).collect()
    }

    /// All of them: whoever should answer is gone.
    pub(super) fn abandon(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.0)
    }
}

/// What a refusal of the haptic thread is to a client.
pub(super) fn refused(refusal: Refusal) -> Refused {
    let code = match refusal {
        Refusal::WrongState(_) | Refusal::NotHomed | Refusal::CausePersists => Code::WrongState,
        Refusal::OutOfRange => Code::OutOfRange,
        Refusal::NotApplicable => Code::NotFound,
        Refusal::Stopping => Code::Busy,
    };
    Refused { code, text: refusal.text().into() }
}

/// No answer, or no room for the question.
pub(super) fn busy(text: &str) -> Refused {
    Refused { code: Code::Busy, text: text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_ends_once_by_answer_by_echo_or_by_time() {
        let mut requests = Requests::default();
        let at = |ms: u64| MonoNs(ms * 1_000_000);
        for (n, waits) in
            [Waits::Haptic(1), Waits::Simulation(7), Waits::Haptic(2), Waits::Simulation(9)].into_iter().enumerate()
        {
            requests.add(Ticket(n as u64), Purpose::Act, Vec::new(), waits, at(100 * n as u64));
        }
        assert_eq!(requests.answered(2).map(|request| request.ticket), Some(Ticket(2)));
        assert_eq!(requests.answered(2), None);
        assert_eq!(requests.answered(7), None, "an echo is not an answer");
        // Newest wins: an echo of 8 says that 7 was taken over too.
        assert_eq!(requests.echoed(8).iter().map(|request| request.ticket).collect::<Vec<_>>(), [Ticket(1)]);
        assert!(requests.overdue(at(1000)).is_empty());
        assert_eq!(requests.overdue(at(1001)).iter().map(|request| request.ticket).collect::<Vec<_>>(), [Ticket(0)]);
        assert_eq!((requests.abandon().len(), requests.abandon().len()), (1, 0));
    }
}
