//! The line between emulator and driver, and what can go wrong on it.
//!
//! Thread: whoever tests (no heap).

use crate::device::wire::{ByteEnd, MESSAGE_MAX};
use crate::shared::MonoNs;

/// Messages under way at once.
const UNDER_WAY: usize = 8;
/// A split message's second half comes this much later, ns.
const HALF_LATER_NS: u64 = 300_000;
/// Messages moved in one exchange: an end that never stops talking does not hang the other.
const EXCHANGES_MAX: usize = 64;

/// Bytes of a message that a collision changes, at most.
const SPOILED: usize = 2;
/// Where the noise of collisions begins; any number but zero.
const NOISE: u64 = 0x9e37_79b9_7f4a_7c15;

/// What happens to one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It does not arrive.
    Drop,
    /// Its second half comes later.
    Split,
    /// It comes twice.
    Duplicate,
    /// These bits of this byte are wrong.
    Corrupt(usize, u8),
    /// It is this late, ns.
    Late(u64),
    /// Its end is missing.
    Short,
    /// Bytes that mean nothing come first.
    Garbage,
}

/// Every kind of trouble, for tests that go through all of them.
#[cfg(test)]
pub(super) const TROUBLES: [Trouble; 10] = [
    Trouble::Drop,
    Trouble::Split,
    Trouble::Duplicate,
    Trouble::Corrupt(0, 0x20),
    Trouble::Corrupt(3, 0x20),
    Trouble::Corrupt(9, 0x20),
    Trouble::Late(3_000_000),
    Trouble::Late(12_000_000),
    Trouble::Short,
    Trouble::Garbage,
];

#[derive(Clone, Copy, Debug)]
struct Message {
    bytes: [u8; MESSAGE_MAX],
    length: usize,
    due: MonoNs,
}

/// Answers under way.
#[derive(Clone, Debug)]
pub struct Line {
    under_way: [Option<Message>; UNDER_WAY],
    trouble: Option<Trouble>,
    /// Answers that pass before the trouble.
    clean: u32,
    stalled_until: MonoNs,
    /// Both ends talk at once until then; what the collisions leave is drawn from these bits.
    collides_until: MonoNs,
    noise: u64,
    cut: bool,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            under_way: [None; UNDER_WAY],
            trouble: None,
            clean: 0,
            stalled_until: MonoNs(0),
            collides_until: MonoNs(0),
            noise: NOISE,
            cut: false,
        }
    }
}

impl Line {
    /// The next answer meets with this.
    pub fn upset(&mut self, trouble: Trouble) {
        self.upset_later(0, trouble);
    }

    /// The answer after so many good ones meets with this.
    pub fn upset_later(&mut self, clean: u32, trouble: Trouble) {
        (self.clean, self.trouble) = (clean, Some(trouble));
    }

    /// Nothing arrives until then.
    pub fn stall(&mut self, until: MonoNs) {
        self.stalled_until = until;
    }

    /// Until then both ends talk at once on one pair of wires: bits of every message are wrong, both ways.
    pub fn collide(&mut self, until: MonoNs) {
        self.collides_until = until;
    }

    /// What a collision leaves of a message, in either direction.
    pub fn spoil(&mut self, message: &mut [u8], now: MonoNs) {
        if now >= self.collides_until || message.is_empty() {
            return;
        }
        for _ in 0..SPOILED {
            // Marsaglia's xorshift.
            self.noise ^= self.noise << 13;
            self.noise ^= self.noise >> 7;
            self.noise ^= self.noise << 17;
            let at = (self.noise >> 8) % message.len() as u64;
            // A byte of the noise, on a place within the message.
            message[at as usize] ^= self.noise as u8;
        }
    }

    /// Unplugs the cable, or plugs it in again.
    pub fn cut(&mut self, cut: bool) {
        self.cut = cut;
        self.under_way = [None; UNDER_WAY];
    }

    fn add(&mut self, bytes: &[u8], due: MonoNs) {
        let due = due.max(self.stalled_until);
        let Some(free) = self.under_way.iter_mut().find(|slot| slot.is_none()) else { return };
        let length = bytes.len().min(MESSAGE_MAX);
        let mut message = Message { bytes: [0; MESSAGE_MAX], length, due };
        message.bytes[..length].copy_from_slice(&bytes[..length]);
        *free = Some(message);
    }

    /// Puts an answer on the line.
    pub fn send(&mut self, bytes: &[u8], now: MonoNs) {
        if self.cut || bytes.is_empty() {
            return;
        }
        let half = bytes.len().div_ceil(2);
        if self.clean > 0 {
            self.clean -= 1;
            self.add(bytes, now);
            return;
        }
        match self.trouble.take() {
            None => self.add(bytes, now),
            Some(Trouble::Drop) => {}
            Some(Trouble::Split) => {
                self.add(&bytes[..half], now);
                self.add(&bytes[half..], now.plus(HALF_LATER_NS));
            }
            Some(Trouble::Duplicate) => {
                self.add(bytes, now);
                self.add(bytes, now);
            }
            Some(Trouble::Corrupt(at, bits)) => {
                let mut changed = [0; MESSAGE_MAX];
                let length = bytes.len().min(MESSAGE_MAX);
                changed[..length].copy_from_slice(&bytes[..length]);
                changed[at % length] ^= bits;
                self.add(&changed[..length], now);
            }
            Some(Trouble::Late(by)) => self.add(bytes, now.plus(by)),
            Some(Trouble::Short) => self.add(&bytes[..half], now),
            Some(Trouble::Garbage) => {
                self.add(&[0xff, b'<', b'[', 0x00, 0x5a, b'\n', 0xa5], now);
                self.add(bytes, now);
            }
        }
    }

    /// Takes the oldest message that is due into `out`; zero when none is.
    pub fn receive(&mut self, out: &mut [u8; MESSAGE_MAX], now: MonoNs) -> usize {
        let due = |slot: &&mut Option<Message>| slot.as_ref().is_some_and(|message| message.due <= now);
        let oldest = self.under_way.iter_mut().filter(due).min_by_key(|slot| slot.as_ref().map(|message| message.due));
        match oldest.and_then(Option::take) {
            Some(message) => {
                *out = message.bytes;
                message.length
            }
            None => 0,
        }
    }
}

/// Moves everything that is under way by `now` between a driver and an emulator.
pub fn exchange(
    driver: &mut (impl ByteEnd + ?Sized),
    emulator: &mut (impl ByteEnd + ?Sized),
    line: &mut Line,
    now: MonoNs,
) {
    emulator.feed(&[], now);
    driver.feed(&[], now);
    let mut buffer = [0; MESSAGE_MAX];
    for _ in 0..EXCHANGES_MAX {
        let mut moved = false;
        while let Some(order) = driver.next_order() {
            emulator.line(order, now);
        }
        let length = driver.next_out(&mut buffer);
        if length > 0 {
            moved = true;
            if !line.cut {
                line.spoil(&mut buffer[..length], now);
                emulator.feed(&buffer[..length], now);
            }
        }
        let length = emulator.next_out(&mut buffer);
        if length > 0 {
            moved = true;
            line.send(&buffer[..length], now);
        }
        let length = line.receive(&mut buffer, now);
        if length > 0 {
            moved = true;
            line.spoil(&mut buffer[..length], now);
            driver.feed(&buffer[..length], now);
        }
        if !moved {
            break;
        }
    }
}
