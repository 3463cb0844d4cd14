//! Datagrams nobody should send, made by damaging good ones, and what must hold whatever is sent. Shared by the tests
//! and by `examples/osc_fuzz.rs`.

use crate::plant::{FakePlant, fault};
use hapticd::control::access::Access;
use hapticd::control::osc::{LONGEST_SENT, Ntp};
use hapticd::control::peer::Peer;
use hapticd::control::table::{Argument, ENTRIES, Type, Verb};
use hapticd::control::{Hub, HubSettings, Limits, Outbox, Stream};
use hapticd::math::Random;
use hapticd::shared::{MonoNs, NS_PER_S};
use rosc::{OscBundle, OscMessage, OscPacket, OscTime, OscType};
use std::net::SocketAddr;

/// Wall time at which a run begins.
const WALL_S: u32 = 4_003_000_000;
/// The client that behaves.
const NEIGHBOUR: ([u8; 4], u16) = ([127, 0, 0, 1], 60_000);

fn below(random: &mut Random, end: usize) -> usize {
    (random.bits() % end.max(1) as u64) as usize
}

fn argument(argument: &Argument, random: &mut Random) -> OscType {
    let odd = [OscType::Float(f32::NAN), OscType::Nil, OscType::Bool(true), OscType::Blob(vec![7; 5]), OscType::Inf];
    match (below(random, 12), argument.kind) {
        (0, _) => odd[below(random, odd.len())].clone(),
        (1, _) => OscType::Double(f64::from_bits(random.bits())),
        (2, _) => OscType::Long(random.bits().cast_signed()),
        (_, Type::Int | Type::Switch) => OscType::Int(below(random, 3) as i32),
        (_, Type::Float) => OscType::Float(random.uniform() as f32),
        (_, Type::Blob) => OscType::Blob(vec![7; below(random, 50)]),
        (_, Type::Text) => {
            let words =
                ["energy", "task", "ticks", "scene", "steel", "novice", "", "osc.udp://localhost:9001/", "\u{fffd}ü"];
            OscType::String(words[below(random, words.len())].to_owned())
        }
    }
}

/// A message to a row of the table, more often right than wrong.
fn message(random: &mut Random) -> OscPacket {
    let mut entry = &ENTRIES[below(random, ENTRIES.len())];
    // Halt cancels so much that little else would be reached if it came as often as the others.
    while entry.verb == Verb::Halt && below(random, 20) > 0 {
        entry = &ENTRIES[below(random, ENTRIES.len())];
    }
    let count = if below(random, 3) == 0 { below(random, 4) } else { entry.arguments.len() };
    let mut args: Vec<_> = entry.arguments.iter().take(count).map(|one| argument(one, random)).collect();
    if below(random, 4) == 0 {
        args.push(OscType::String("osc.udp://:9002/".to_owned()));
    }
    OscPacket::Message(OscMessage { addr: entry.address(["steel", "soft tissue", "%"][below(random, 3)]), args })
}

fn packet(random: &mut Random, depth: usize) -> OscPacket {
    if below(random, 3) > 0 || depth > 9 {
        return message(random);
    }
    let timetag = match below(random, if depth == 0 { 3 } else { 12 }) {
        0 => OscTime { seconds: WALL_S + below(random, 90) as u32, fractional: random.bits() as u32 },
        1 => OscTime { seconds: random.bits() as u32, fractional: random.bits() as u32 },
        _ => OscTime { seconds: 0, fractional: 1 },
    };
    // Wide at the top, narrow below, or the whole would have no end.
    let width = if depth == 0 { 20 } else { 4 };
    let content = (0..below(random, width)).map(|_| packet(random, depth + 1)).collect();
    OscPacket::Bundle(OscBundle { timetag, content })
}

/// A datagram: a good one, or one that was.
pub(crate) fn datagram(random: &mut Random) -> Vec<u8> {
    let mut bytes = rosc::encoder::encode(&packet(random, 0)).unwrap_or_default();
    for _ in 0..below(random, 5).saturating_sub(2) {
        let at = below(random, bytes.len());
        match below(random, 6) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << below(random, 8),
            1 if !bytes.is_empty() => bytes[at] = random.bits() as u8,
            2 => bytes.truncate(at & !3),
            3 => bytes.truncate(at),
            4 => {
                let piece = bytes[at..].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let size = random.bits() as u32 >> below(random, 32);
                let end = (at + 4).min(bytes.len());
                bytes.splice(at..end, size.to_be_bytes());
            }
        }
    }
    bytes.truncate(70_000);
    bytes
}

/// A hub under fire, beside a client that behaves.
pub(crate) struct Range {
    pub(crate) hub: Hub,
    plant: FakePlant,
    out: Outbox,
    now: MonoNs,
    count: u64,
    /// Datagrams the hub sent.
    pub(crate) sent: u64,
}

impl Range {
    pub(crate) fn new() -> Self {
        let network = |text: &str| vec![text.parse().expect("a network")];
        let settings = HubSettings {
            access: Access { allow: network("10.1.0.0/16"), read_only: network("10.2.0.0/16") },
            raw_force: true,
            own_port: 9740,
            // Nobody here sends a number back; that has tests of its own.
            limits: Limits { confirm: false, ..HubSettings::default().limits },
            ..HubSettings::default()
        };
        let mut plant = FakePlant::new();
        plant.faults = vec![fault(1, false), fault(2, true)];
        Self { hub: Hub::new(settings), plant, out: Vec::new(), now: MonoNs(NS_PER_S), count: 0, sent: 0 }
    }

    /// Sends a datagram from somewhere and checks all that must hold.
    pub(crate) fn fire(&mut self, bytes: &[u8], random: &mut Random) {
        // Of each kind twenty hosts: one alone would be held back by its share.
        let nets = [[127, 0, 0], [10, 1, 0], [10, 2, 0], [10, 3, 0]];
        let [a, b, c] = nets[below(random, 4)];
        let host = [a, b, c, 1 + below(random, 20) as u8];
        let from = SocketAddr::from((host, 1 + below(random, 5) as u16));
        // Now and then a volley, so that limits are met.
        let times = if below(random, 200) == 0 { 400 } else { 1 };
        for _ in 0..times {
            self.receive(bytes, from);
        }
        self.count += 1;
        if self.count.is_multiple_of(8) {
            let most_ns = if below(random, 500) == 0 { 60 * NS_PER_S } else { 1 << (4 + below(random, 26)) };
            self.now = self.now.plus(random.bits() % most_ns);
            self.plant.stuck = below(random, 4) == 0;
            self.hub.poll(self.now, &mut self.plant, &mut self.out);
        }
        if self.count.is_multiple_of(64) {
            self.neighbour();
        }
        self.check();
    }

    fn receive(&mut self, bytes: &[u8], from: SocketAddr) {
        let wall = Ntp((u64::from(WALL_S) << 32) + ((self.now.0 << 2) + (self.now.0 >> 2)));
        self.hub.receive(bytes, from, self.now, wall, &mut self.plant, &mut self.out);
    }

    /// The neighbour asks, and is answered at once.
    fn neighbour(&mut self) {
        let number = self.count as i32;
        let ping = OscMessage { addr: "/hapticd/ping".into(), args: vec![OscType::Int(number)] };
        let bytes = rosc::encoder::encode(&OscPacket::Message(ping)).unwrap_or_default();
        self.check();
        self.receive(&bytes, SocketAddr::from(NEIGHBOUR));
        let answer = self.out.iter().find(|(_, to)| *to == SocketAddr::from(NEIGHBOUR)).map(|(bytes, _)| bytes);
        let answer = answer.and_then(|bytes| rosc::decoder::decode_udp(bytes).ok());
        let Some((_, OscPacket::Message(pong))) = answer else { panic!("the neighbour was not answered") };
        assert!(pong.addr == "/hapticd/pong" && pong.args[0] == OscType::Int(number), "{pong:?}");
    }

    /// What is sent can be read and goes only to those who may hear; what is kept is bounded.
    fn check(&mut self) {
        for (bytes, to) in self.out.drain(..) {
            let readable = matches!(rosc::decoder::decode_udp(&bytes), Ok(([], OscPacket::Message(_))));
            assert!(bytes.len() <= LONGEST_SENT && readable, "{} bytes to {to}", bytes.len());
            assert!(matches!(to, Peer::Udp(to) if to.port() != 9740), "not by the daemon's own port: {to}");
            self.sent += 1;
        }
        let figures = self.hub.figures();
        assert!(figures.clients <= 64 && figures.streams <= 64 * Stream::ALL.len() as u64, "{figures:?}");
        assert!(figures.scheduled <= 256 && figures.pending <= 2048, "{figures:?}");
        self.plant.acts.clear();
        self.plant.jobs.clear();
        self.plant.halts.clear();
    }

    /// Roughly how much the hub remembers, in characters: everything it holds, written out.
    pub(crate) fn remembered(&self) -> usize {
        format!("{:?}", self.hub).len()
    }
}
