//! Whatever is sent: no panic, no growth, no silence for those who behave.

use crate::fuzz::{Range, datagram};
use crate::rig::{Rig, bundle, bytes, code_of, i, local, message, s};
use hapticd::control::osc::{self, decode, is_halt};
use hapticd::math::Random;
use proptest::prelude::*;
use rosc::OscPacket;

#[test]
fn damaged_datagrams_do_no_harm() {
    let mut range = Range::new();
    let mut random = Random::new(48);
    for _ in 0..30_000 {
        let bytes = datagram(&mut random);
        range.fire(&bytes, &mut random);
    }
    let figures = range.hub.figures();
    // The run would prove little if most of it had been turned away.
    assert!(
        figures.messages > 10_000 && figures.halts > 100 && figures.unreadable > 1000 && figures.bundles > 1000,
        "{figures:?}"
    );
    assert!(figures.refused.iter().all(|count| *count > 0), "{figures:?}");
    assert!(figures.streamed > 100 && figures.leases_ended > 0 && figures.dropped > 0, "{figures:?}");
    let remembered = range.remembered();
    assert!(remembered < 8 << 20, "{remembered} characters");
}

#[test]
fn nesting_does_not_exhaust_the_stack() {
    // Bundles within bundles, as deep as 64 KiB allows.
    let mut nested = bytes(&message("/hapticd/ping", &[]));
    while nested.len() + 20 <= osc::LONGEST {
        let mut outer = b"#bundle\0\0\0\0\0\0\0\0\x01".to_vec();
        outer.extend((nested.len() as u32).to_be_bytes());
        outer.extend(nested);
        nested = outer;
    }
    assert!(decode(&nested).is_err() && !is_halt(&nested));
    // Arrays within arrays.
    let mut arrays = b"/hapticd/ping\0\0\0,".to_vec();
    arrays.extend([b'['; 30_000]);
    arrays.extend([b']'; 30_000]);
    arrays.extend([0; 3]);
    arrays.truncate(arrays.len() / 4 * 4);
    assert!(decode(&arrays).is_err());
}

#[test]
fn sizes_have_bounds() {
    let pings = |count| bytes(&bundle(None, vec![message("/hapticd/ping", &[]); count]));
    assert_eq!(decode(&pings(256)).map(|packet| packet.messages.len()), Ok(256));
    assert!(decode(&pings(257)).is_err());
    let depth =
        |depth: usize| (1..depth).fold(bundle(None, vec![message("/x", &[])]), |inner, _| bundle(None, vec![inner]));
    assert!(decode(&bytes(&depth(8))).is_ok());
    assert!(decode(&bytes(&depth(9))).is_err());
    let long = |length: usize| bytes(&message("/x", &[s(&"x".repeat(length))]));
    assert!(long(65_527).len() == osc::LONGEST && decode(&long(65_527)).is_ok());
    assert!(decode(&long(65_528)).is_err());
    assert!(decode(&bytes(&message("/x", &vec![i(1); 64]))).is_ok());
    assert!(decode(&bytes(&message("/x", &vec![i(1); 65]))).is_err());
}

#[test]
fn unreadable_datagrams_are_answered_seldom_with_a_reason() {
    let mut rig = Rig::new();
    for bad in [
        &b""[..],
        b"abc",
        b"abcd",
        b"/x\0\0abc\0",
        b"/x\0\0,i\0\0",
        b"/x\0\0,i\0\0\0\0\0\0\0\0\0\0",
        b"/\xff\0\0,\0\0\0",
    ] {
        assert!(decode(bad).is_err(), "{bad:?}");
        rig.feed(bad, local(1));
    }
    let heard = rig.heard(local(1));
    assert_eq!(heard.len(), 1);
    assert_eq!(code_of(&heard[0]).map(|(code, _)| code), Some(400));
    assert_eq!(rig.hub.figures().unreadable, 7);
}

#[test]
fn old_senders_may_leave_out_the_types() {
    let mut rig = Rig::new();
    rig.feed(b"/hapticd/ping\0\0\0", local(1));
    assert_eq!(rig.heard(local(1))[0].addr, "/hapticd/pong");
    rig.feed(b"/hapticd/subscribe\0\0,Si\0task\0\0\0\0\0\0\0\x01", local(1));
    assert_eq!(rig.heard(local(1))[0].addr, "/hapticd/done", "a symbol is a text");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn any_bytes_are_read_or_refused(head in 0..4usize, body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let heads: [&[u8]; 4] =
            [b"", b"#bundle\0\0\0\0\0\0\0\0\x01\0\0\0\x20", b"/hapticd/halt\0\0\0,", b"/x\0\0,ifsb"];
        let mut bytes = heads[head].to_vec();
        bytes.extend(body);
        let halts = is_halt(&bytes);
        if let Ok(packet) = decode(&bytes) {
            let found = packet.messages.iter().any(|message| osc::is_halt_address(message.address.as_bytes()));
            prop_assert_eq!(found, halts);
        }
        let mut rig = Rig::new();
        rig.feed(&bytes, local(1));
        rig.poll();
        prop_assert_eq!(rig.plant.halts.len(), usize::from(halts));
        prop_assert_eq!(rig.ask(local(2), "/hapticd/ping", &[]).len(), 1);
    }

    #[test]
    fn what_was_written_is_read_again(number in any::<i32>(), float in any::<f32>(), text in "[^\0]{0,40}") {
        let sent = osc::encode("/a", &[number.into(), osc::Sent::Float(float), text.as_str().into()]);
        let Ok((_, OscPacket::Message(read))) = rosc::decoder::decode_udp(&sent) else { panic!("{sent:?}") };
        prop_assert_eq!(read.args[0].clone().int(), Some(number));
        prop_assert_eq!(read.args[1].clone().float().map(f32::to_bits), Some(float.to_bits()));
        prop_assert_eq!(read.args[2].clone().string(), Some(text));
    }
}
