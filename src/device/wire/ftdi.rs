//! The FTDI adapter inside a Falcon: control requests, and the status bytes in front of what it sends.
//!
//! Thread: device I/O.

use super::LineOrder;

/// USB identity of the adapter as Novint programmed it.
pub const FALCON_USB: (u16, u16) = (0x0403, 0xCB48);
/// Largest packet from the adapter; each begins with two status bytes.
pub const PACKET: usize = 64;
/// Status bytes in front of every packet.
const STATUS: usize = 2;

/// A vendor request (type 0x40, index 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Request number.
    pub request: u8,
    /// Its value.
    pub value: u16,
}

/// Requests that carry out an order; the second is there for a purge alone, which is one per direction.
#[must_use]
pub fn requests(order: LineOrder) -> (Request, Option<Request>) {
    let one = |request, value| (Request { request, value }, None);
    match order {
        LineOrder::Purge => (Request { request: 0, value: 1 }, Some(Request { request: 0, value: 2 })),
        LineOrder::Baud(baud) => one(3, divisor(baud)),
        LineOrder::LatencyMs(ms) => one(9, u16::from(ms.max(1))),
        LineOrder::Dtr(high) => one(1, 0x0100 | u16::from(high)),
        LineOrder::Rts(high) => one(1, 0x0200 | u16::from(high) << 1),
    }
}

/// Divisor of the 3 MHz clock in eighths, the fraction in the adapter's own code in bits 14 and 15.
fn divisor(baud: u32) -> u16 {
    // Eighths that the oldest adapters know: 0, ½, ¼, ⅛ and their codes.
    let eighths = (24_000_000 + baud / 2) / baud.max(184);
    let code: u32 = match eighths % 8 {
        0 => 0b00,
        1 => 0b11,
        2 | 3 => 0b10,
        _ => 0b01,
    };
    // Bounded: 24 MHz / 184 baud / 8 fits in 14 bits.
    ((eighths / 8).min(0x3fff) | code << 14) as u16
}

/// The data of a transfer, packet by packet, without status bytes.
pub fn payload(transfer: &[u8]) -> impl Iterator<Item = &[u8]> {
    transfer.chunks(PACKET).filter_map(|packet| packet.get(STATUS..)).filter(|data| !data.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_become_the_requests_the_falcon_is_started_with() {
        let value = |order| requests(order).0;
        assert_eq!(value(LineOrder::Baud(9600)), Request { request: 3, value: 0x4138 });
        assert_eq!(value(LineOrder::Baud(142_857)), Request { request: 3, value: 0x0015 });
        assert_eq!(value(LineOrder::Baud(1_500_000)), Request { request: 3, value: 0x0002 });
        assert_eq!(value(LineOrder::LatencyMs(16)), Request { request: 9, value: 16 });
        assert_eq!(value(LineOrder::Dtr(true)), Request { request: 1, value: 0x0101 });
        assert_eq!(value(LineOrder::Dtr(false)), Request { request: 1, value: 0x0100 });
        assert_eq!(value(LineOrder::Rts(false)), Request { request: 1, value: 0x0200 });
        assert_eq!(requests(LineOrder::Purge).1, Some(Request { request: 0, value: 2 }));
        // Any speed gives some divisor.
        for baud in [0, 1, 183, u32::MAX] {
            let _ = requests(LineOrder::Baud(baud));
        }
    }

    #[test]
    fn no_transfers_upset_the_way_to_a_frame() {
        use crate::device::wire::falcon::{Answer, Reader};
        let answer = Answer { encoders: [-516, 1447, -96], buttons: 4, homed: [true; 3] };
        let good = [&[0x31, 0x60][..], &answer.encode()].concat();
        super::super::fuzz::survives::<Reader>(&[&good, &[0x31, 0x60]], &good, |reader, transfer| {
            let frames = payload(transfer).flatten().filter_map(|&byte| reader.push(byte));
            frames.filter(|raw| Answer::of(raw) == answer).count()
        });
    }

    #[test]
    fn status_bytes_are_left_out_of_every_packet() {
        assert_eq!(payload(&[1, 0x60]).count(), 0);
        assert_eq!(payload(&[]).count() + payload(&[1]).count(), 0);
        let mut transfer = [7; 70];
        transfer[..2].fill(0);
        transfer[64..66].fill(0);
        let data: usize = payload(&transfer).map(<[u8]>::len).sum();
        assert_eq!(data, 66);
        assert!(payload(&transfer).flatten().all(|&byte| byte == 7));
    }
}
