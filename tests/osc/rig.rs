//! A hub with a plant behind it, a clock to move, and clients that keep what they hear.

use crate::plant::FakePlant;
use hapticd::control::access::Access;
use hapticd::control::osc::Ntp;
use hapticd::control::{Hub, HubSettings, Outbox};
use hapticd::shared::{MonoNs, NS_PER_S};
use rosc::{OscBundle, OscMessage, OscPacket, OscTime, OscType};
use std::net::SocketAddr;

/// Wall time at which the tests begin: some day in 2026.
pub(crate) const WALL: u64 = 4_003_000_000 << 32;

pub(crate) struct Rig {
    pub(crate) hub: Hub,
    pub(crate) plant: FakePlant,
    pub(crate) now: MonoNs,
    pub(crate) out: Outbox,
}

/// A client on this machine.
pub(crate) fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// A client of the network 10.x.y.z.
pub(crate) fn remote(x: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([10, x, 0, 9], port))
}

pub(crate) fn s(text: &str) -> OscType {
    OscType::String(text.to_owned())
}

pub(crate) fn i(number: i32) -> OscType {
    OscType::Int(number)
}

pub(crate) fn f(number: f32) -> OscType {
    OscType::Float(number)
}

pub(crate) fn message(address: &str, args: &[OscType]) -> OscPacket {
    OscPacket::Message(OscMessage { addr: address.to_owned(), args: args.to_vec() })
}

pub(crate) fn bytes(packet: &OscPacket) -> Vec<u8> {
    rosc::encoder::encode(packet).expect("it can be written")
}

/// A bundle to be done `ahead_s` from the beginning of the test; `None` means at once.
pub(crate) fn bundle(ahead_s: Option<f64>, content: Vec<OscPacket>) -> OscPacket {
    let tag = ahead_s.map_or(1, |ahead| WALL.wrapping_add_signed((ahead * f64::from(u32::MAX)) as i64));
    let timetag = OscTime { seconds: (tag >> 32) as u32, fractional: tag as u32 };
    OscPacket::Bundle(OscBundle { timetag, content })
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(HubSettings::default())
    }

    pub(crate) fn with(settings: HubSettings) -> Self {
        Self { hub: Hub::new(settings), plant: FakePlant::new(), now: MonoNs(NS_PER_S), out: Vec::new() }
    }

    /// Loopback, 10.1.0.0/16 that may do everything, 10.2.0.0/16 that may read; raw forces.
    pub(crate) fn open() -> Self {
        Self::with(HubSettings { access: Self::open_access(), raw_force: true, ..HubSettings::default() })
    }

    /// Who may do what in [`Self::open`].
    pub(crate) fn open_access() -> Access {
        Access {
            allow: vec!["10.1.0.0/16".parse().expect("a network")],
            read_only: vec!["10.2.0.0/16".parse().expect("a network")],
        }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8], from: SocketAddr) {
        let since_s = self.now.seconds() - 1.0;
        let wall = Ntp(WALL + (since_s * f64::from(u32::MAX)) as u64);
        self.hub.receive(bytes, from, self.now, wall, &mut self.plant, &mut self.out);
    }

    pub(crate) fn send(&mut self, from: SocketAddr, address: &str, args: &[OscType]) {
        self.feed(&bytes(&message(address, args)), from);
    }

    pub(crate) fn send_bundle(&mut self, from: SocketAddr, ahead_s: Option<f64>, content: &[(&str, &[OscType])]) {
        let content = content.iter().map(|(address, args)| message(address, args)).collect();
        self.feed(&bytes(&bundle(ahead_s, content)), from);
    }

    pub(crate) fn poll(&mut self) {
        self.hub.poll(self.now, &mut self.plant, &mut self.out);
    }

    /// Moves the clock by steps of 2 ms, polling at each.
    pub(crate) fn wait(&mut self, seconds: f64) {
        let end = self.now.plus((seconds * 1e9) as u64);
        while self.now < end {
            self.now = self.now.plus(2_000_000).min(end);
            self.poll();
        }
    }

    /// What `to` has heard since last asked.
    pub(crate) fn heard(&mut self, to: SocketAddr) -> Vec<OscMessage> {
        let (own, others) = std::mem::take(&mut self.out).into_iter().partition(|(_, whose)| *whose == to);
        self.out = others;
        let own: Outbox = own;
        own.iter().map(|(bytes, _)| read(bytes)).collect()
    }

    /// Sends, polls once, and gives what came back to the sender.
    pub(crate) fn ask(&mut self, from: SocketAddr, address: &str, args: &[OscType]) -> Vec<OscMessage> {
        self.send(from, address, args);
        self.poll();
        self.heard(from)
    }

    /// Sends, and gives the code of the only `fail`, with its text.
    pub(crate) fn refusal(&mut self, from: SocketAddr, address: &str, args: &[OscType]) -> (i32, String) {
        let heard = self.ask(from, address, args);
        let [only] = heard.as_slice() else { panic!("{address}: one answer wanted, heard {heard:?}") };
        code_of(only).unwrap_or_else(|| panic!("{address}: a fail wanted, heard {only:?}"))
    }
}

/// A datagram of the hub: one message that fits a frame and has none but the types every tool reads, and in four streams
/// a blob, in one of them of more than a frame.
pub(crate) fn read(bytes: &[u8]) -> OscMessage {
    match rosc::decoder::decode_udp(bytes) {
        Ok(([], OscPacket::Message(message))) => {
            let plain = |arg: &OscType| matches!(arg, OscType::Int(_) | OscType::Float(_) | OscType::String(_));
            let blob = |arg: &OscType| matches!(arg, OscType::Blob(bytes) if bytes.len() % 4 == 0);
            let skin = message.addr == "/hapticd/stream/skin";
            assert!(bytes.len() <= if skin { 33_000 } else { 1472 }, "{} bytes", bytes.len());
            let packed = ["scene", "ticks", "skin", "path"].map(|name| format!("/hapticd/stream/{name}"));
            let packed = packed.contains(&message.addr);
            assert!(message.args.iter().all(|arg| plain(arg) || packed && blob(arg)), "{message:?}");
            message
        }
        other => panic!("not a message: {other:?}"),
    }
}

/// Code and text of a `fail`.
pub(crate) fn code_of(message: &OscMessage) -> Option<(i32, String)> {
    match message.args.as_slice() {
        [OscType::String(_), OscType::Int(code), OscType::String(text)] if message.addr == "/hapticd/fail" => {
            Some((*code, text.clone()))
        }
        _ => None,
    }
}

/// Addresses that `done` was said of.
pub(crate) fn done(heard: &[OscMessage]) -> Vec<String> {
    let said = heard.iter().filter(|message| message.addr == "/hapticd/done");
    said.filter_map(|message| message.args.first().cloned().and_then(OscType::string)).collect()
}
