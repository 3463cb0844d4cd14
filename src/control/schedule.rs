//! Bundles that wait for the time in their tag.
//!
//! Thread: control.

use super::peer::Peer;
use super::plant::{Code, Refused};
use crate::shared::MonoNs;
use std::collections::BTreeMap;

/// Most bytes that wait, all bundles together.
const MOST_BYTES: usize = 4 << 20;
/// One client may use this part of the places.
const SHARE: usize = 4;
/// Another host than this machine may use this part of the places.
const SHARE_OF_HOST: usize = 2;

/// A bundle that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    /// The datagram, known to be readable.
    pub(super) bytes: Vec<u8>,
    /// Who sent it.
    pub(super) from: Peer,
}

/// All that wait, by time and then by arrival.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    waiting: BTreeMap<(MonoNs, u64), Waiting>,
    bytes: usize,
    count: u64,
}

impl Schedule {
    /// Adds a bundle, unless there are `most` already.
    pub(super) fn add(&mut self, due: MonoNs, waiting: Waiting, most: usize) -> Result<(), Refused> {
        let own = self.waiting.values().filter(|other| other.from == waiting.from).count();
        let full = self.waiting.len() >= most || self.bytes + waiting.bytes.len() > MOST_BYTES;
        let host = waiting.from.host();
        let of_host = if waiting.from.is_here() {
            0
        } else {
            self.waiting.values().filter(|other| other.from.host() == host).count()
        };
        if full || own >= most.div_ceil(SHARE) || of_host >= most.div_ceil(SHARE_OF_HOST) {
            let whose = if full { "in all" } else { "of this client or host" };
            let text = format!("too many bundles wait for their time {whose}; send fewer ahead");
            return Err(Refused { code: Code::Busy, text });
        }
        self.bytes += waiting.bytes.len();
        self.count += 1;
        self.waiting.insert((due, self.count), waiting);
        Ok(())
    }

    /// The next one whose time has come.
    pub(super) fn due(&mut self, now: MonoNs) -> Option<Waiting> {
        let first = self.waiting.first_entry().filter(|entry| entry.key().0 <= now)?;
        let waiting = first.remove();
        self.bytes -= waiting.bytes.len();
        Some(waiting)
    }

    /// Takes everything out.
    pub(super) fn clear(&mut self) -> Vec<Waiting> {
        self.bytes = 0;
        std::mem::take(&mut self.waiting).into_values().collect()
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}
