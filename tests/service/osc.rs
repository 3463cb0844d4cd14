//! A small OSC client: asks, and waits for the answer.

use rosc::{OscMessage, OscPacket, OscType, decoder, encoder};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// How long an answer may take before a test gives up. Generous: it is no measure of speed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// What became of a command: what `done` carries, or code and text of `fail`.
pub(crate) type Outcome = Result<Vec<OscType>, (i32, String)>;

/// One socket: what is sent from it is answered to it.
pub(crate) struct Client {
    socket: UdpSocket,
    daemon: SocketAddr,
}

impl Client {
    pub(crate) fn new(daemon: SocketAddr) -> Self {
        Self::bound("127.0.0.1:0", daemon)
    }

    /// A client with an address of its own choice.
    pub(crate) fn bound(own: &str, daemon: SocketAddr) -> Self {
        Self { socket: UdpSocket::bind(own).expect("a socket"), daemon }
    }

    /// The port it listens on.
    pub(crate) fn port(&self) -> u16 {
        self.socket.local_addr().expect("an address").port()
    }

    pub(crate) fn send_bytes(&self, bytes: &[u8]) {
        // A full buffer loses a datagram, as a network would.
        let _lost = self.socket.send_to(bytes, self.daemon);
    }

    pub(crate) fn send(&self, address: &str, arguments: &[OscType]) {
        self.send_bytes(&message(address, arguments));
    }

    /// The next message, unless none comes in time.
    pub(crate) fn hear(&self, within: Duration) -> Option<OscMessage> {
        let mut buffer = [0; 65_536];
        self.socket.set_read_timeout(Some(within.max(Duration::from_millis(1)))).expect("a timeout");
        let count = self.socket.recv(&mut buffer).ok()?;
        match decoder::decode_udp(&buffer[..count]) {
            Ok((_, OscPacket::Message(message))) => Some(message),
            other => panic!("not a message: {other:?}"),
        }
    }

    /// The next message that is wanted, unless none comes in time.
    pub(crate) fn wait(&self, within: Duration, wanted: impl Fn(&OscMessage) -> bool) -> Option<OscMessage> {
        let end = Instant::now() + within;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            if let Some(message) = self.hear(left).filter(&wanted) {
                return Some(message);
            }
        }
    }

    /// Sends, and returns the arguments of what comes at `answer`.
    pub(crate) fn ask(&self, address: &str, answer: &str) -> Vec<OscType> {
        self.send(address, &[]);
        let found = self.wait(PATIENCE, |message| message.addr == answer);
        found.unwrap_or_else(|| panic!("no {answer}")).args
    }

    /// Sends a command and waits for its `done` or `fail`.
    pub(crate) fn command(&self, address: &str, arguments: &[OscType]) -> Outcome {
        self.send(address, arguments);
        self.outcome(address)
    }

    /// Waits for the `done` or `fail` of something sent before.
    pub(crate) fn outcome(&self, address: &str) -> Outcome {
        let ours = |message: &OscMessage| {
            let reply = message.addr == "/hapticd/done" || message.addr == "/hapticd/fail";
            reply && message.args.first() == Some(&OscType::String(address.to_owned()))
        };
        let message = self.wait(PATIENCE, ours).unwrap_or_else(|| panic!("no answer to {address}"));
        match &message.args[1..] {
            [OscType::Int(code), OscType::String(text)] if message.addr == "/hapticd/fail" => {
                Err((*code, text.clone()))
            }
            rest => Ok(rest.to_vec()),
        }
    }

    /// A command that must be done.
    pub(crate) fn done(&self, address: &str, arguments: &[OscType]) -> Vec<OscType> {
        self.command(address, arguments).unwrap_or_else(|why| panic!("{address} {arguments:?} was refused: {why:?}"))
    }
}

/// A message as bytes.
pub(crate) fn message(address: &str, arguments: &[OscType]) -> Vec<u8> {
    let message = OscMessage { addr: address.to_owned(), args: arguments.to_vec() };
    encoder::encode(&OscPacket::Message(message)).expect("a message")
}

pub(crate) fn float(argument: &OscType) -> f64 {
    match argument {
        OscType::Float(number) => f64::from(*number),
        OscType::Double(number) => *number,
        OscType::Int(number) => f64::from(*number),
        other => panic!("no number: {other:?}"),
    }
}

pub(crate) fn text(argument: &OscType) -> &str {
    match argument {
        OscType::String(text) => text,
        other => panic!("no text: {other:?}"),
    }
}
