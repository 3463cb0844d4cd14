//! Bytes of real devices: one codec per protocol, both directions, so that driver and emulator speak from one page.
//!
//! Thread: device I/O (no heap, no lock, no clock: time comes with the bytes).
//!
//! Decoders take bytes as they come, keep at most one frame, find the next good frame after garbage, and never panic.
//! Encoders saturate: a number that does not fit its field becomes the nearest that does, and what is not finite becomes
//! zero. [`ByteEnd`] is the seam: a driver and an emulator are both one, and a transport is whatever carries bytes between.

pub mod arm;
#[cfg(test)]
mod arm_tests;
pub mod falcon;
pub mod ftdi;
#[cfg(test)]
pub(crate) mod fuzz;
pub mod hapkit;
pub mod hapkit_text;
pub mod haply;
pub mod inverse3;
pub mod json;
#[cfg(test)]
mod round_trip_tests;
pub mod spacemouse;
pub mod text;

use crate::shared::MonoNs;

/// What a transport does besides carrying bytes. A transport without such a thing does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineOrder {
    /// Forget all bytes under way, both ways.
    Purge,
    /// Speed of the line, baud.
    Baud(u32),
    /// Longest time the adapter may hold received bytes back, ms.
    LatencyMs(u8),
    /// Level of the line DTR.
    Dtr(bool),
    /// Level of the line RTS.
    Rts(bool),
}

/// One end of a line of bytes: a driver, or an emulator. Does no input or output itself.
pub trait ByteEnd {
    /// Takes bytes that have arrived by `now`; none is fine, and is how time passes. A transport that keeps messages apart
    /// (HID) gives one whole message per call; a text of a WebSocket is too long for that and ends with a mark.
    fn feed(&mut self, bytes: &[u8], now: MonoNs);

    /// Writes what is to be sent into `out` and says how many bytes that is. At most one message per call; zero when there
    /// is nothing now. A buffer of [`MESSAGE_MAX`] bytes holds any.
    fn next_out(&mut self, out: &mut [u8]) -> usize;

    /// What the transport must do before the next bytes are sent. Ask until there is none, then for bytes.
    fn next_order(&mut self) -> Option<LineOrder> {
        None
    }

    /// The other end did this to the line.
    fn line(&mut self, _order: LineOrder, _now: MonoNs) {}
}

/// Longest message of any protocol here, bytes.
pub const MESSAGE_MAX: usize = 256;
/// Messages that can wait to be sent. A device answers one question at a time; more wait only while it starts.
const MESSAGES_WAITING: usize = 4;
/// Line orders that can wait.
const ORDERS_WAITING: usize = 12;

/// Messages and line orders on their way out, oldest first. Orders go before the messages that were added after them.
#[derive(Clone, Debug)]
pub struct Outbox {
    messages: [[u8; MESSAGE_MAX]; MESSAGES_WAITING],
    lengths: [usize; MESSAGES_WAITING],
    count: usize,
    orders: [LineOrder; ORDERS_WAITING],
    order_count: usize,
}

impl Default for Outbox {
    fn default() -> Self {
        Self {
            messages: [[0; MESSAGE_MAX]; MESSAGES_WAITING],
            lengths: [0; MESSAGES_WAITING],
            count: 0,
            orders: [LineOrder::Purge; ORDERS_WAITING],
            order_count: 0,
        }
    }
}

impl Outbox {
    /// Adds a message; false when it is too long or too many wait.
    pub fn push(&mut self, message: &[u8]) -> bool {
        if message.len() > MESSAGE_MAX || self.count == MESSAGES_WAITING {
            return false;
        }
        self.messages[self.count][..message.len()].copy_from_slice(message);
        self.lengths[self.count] = message.len();
        self.count += 1;
        true
    }

    /// Adds a line order; false when too many wait.
    pub fn order(&mut self, order: LineOrder) -> bool {
        if self.order_count == ORDERS_WAITING {
            return false;
        }
        self.orders[self.order_count] = order;
        self.order_count += 1;
        true
    }

    /// Takes the oldest order.
    pub fn pop_order(&mut self) -> Option<LineOrder> {
        if self.order_count == 0 {
            return None;
        }
        let first = self.orders[0];
        self.orders.copy_within(1..self.order_count, 0);
        self.order_count -= 1;
        Some(first)
    }

    /// Takes the oldest message into `out`; zero while orders wait, or when `out` is too small for it.
    pub fn pop(&mut self, out: &mut [u8]) -> usize {
        let length = self.lengths[0];
        if self.count == 0 || self.order_count > 0 || out.len() < length {
            return 0;
        }
        out[..length].copy_from_slice(&self.messages[0][..length]);
        self.messages.copy_within(1..self.count, 0);
        self.lengths.copy_within(1..self.count, 0);
        self.count -= 1;
        length
    }

    /// Messages that still find room.
    #[must_use]
    pub fn room(&self) -> usize {
        MESSAGES_WAITING - self.count
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        (self.count, self.order_count) = (0, 0);
    }

    /// Nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.order_count == 0
    }
}

/// The nearest 16-bit number; zero for what is not a number.
#[must_use]
pub fn saturated_i16(value: f64, limit: i16) -> i16 {
    // `as` saturates and takes NaN to zero; the clamp is for fields narrower than 16 bits.
    (value.round() as i16).clamp(limit.saturating_neg(), limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_saturate_and_nonsense_is_zero() {
        assert_eq!([1e9, -1e9, f64::NAN, 12.6].map(|x| saturated_i16(x, 4095)), [4095, -4095, 0, 13]);
        assert_eq!([1e9, -1e9].map(|x| saturated_i16(x, i16::MAX)), [32767, -32767]);
    }

    #[test]
    fn orders_go_before_messages_and_nothing_overflows() {
        let mut outbox = Outbox::default();
        assert!(outbox.push(b"one") && outbox.order(LineOrder::Purge));
        let mut out = [0; 8];
        assert_eq!(outbox.pop(&mut out), 0);
        assert_eq!(outbox.pop_order(), Some(LineOrder::Purge));
        assert_eq!(outbox.pop(&mut out[..2]), 0);
        assert_eq!((outbox.pop(&mut out), &out[..3]), (3, b"one".as_slice()));
        assert!(outbox.is_empty());
        assert!((0..MESSAGES_WAITING).all(|_| outbox.push(b"x")) && !outbox.push(b"x"));
        assert!(!outbox.push(&[0; MESSAGE_MAX + 1]));
    }
}
