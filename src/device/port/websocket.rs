//! WebSocket services on this machine: texts over a socket that is waited for like any other port.
//!
//! Thread: device I/O; opened by cold threads.
//!
//! A text can be longer than a message may be, so it is given in pieces with [`TEXT_END`] behind the last; a message to the
//! service is one text. No name is looked up and no call waits longer than it is told to. The guardian shares the socket and
//! writes whole frames of its own: the service takes its force from the session that has the device, and from no other.

#![expect(clippy::disallowed_types, clippy::disallowed_macros, reason = "texts of a service have no largest length")]

use super::{Bell, OpenFault, Port, PortFault, left, wait_readable};
use crate::device::guardian::GuardLine;
use crate::device::wire::LineOrder;
use crate::device::wire::inverse3::TEXT_END;
use crate::shared::realtime::SystemClock;
use crate::shared::{Clock as _, MonoNs};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::AsFd as _;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;
use tungstenite::handshake::HandshakeError;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Error, Message, WebSocket};

/// Where the service of an Inverse3 listens.
pub const SERVICE: &str = "127.0.0.1:10001";
/// Time for a connection, and then for the first words on it.
const CONNECT: Duration = Duration::from_secs(1);
const GREETING_NS: u64 = 2_000_000_000;
/// Largest text that is taken, and most bytes that may wait to be sent.
const TEXT_MAX: usize = 1 << 16;
const WAITING_MAX: usize = 4096;
/// Frames without a text that are passed over in one read.
const ASIDE: usize = 16;

/// An open session.
pub struct WebSocketPort {
    socket: WebSocket<TcpStream>,
    /// The newest text with its end, and how much of it has been given.
    text: Vec<u8>,
    given: usize,
}

/// The address in a text such as `127.0.0.1:10001`, `localhost:10001` or `ws://127.0.0.1:10001/`; `None` for anything else:
/// looking a name up could take for ever.
#[must_use]
pub fn address(text: &str) -> Option<SocketAddr> {
    let text = text.strip_prefix("ws://").unwrap_or(text);
    let text = text.strip_suffix('/').unwrap_or(text);
    match text.strip_prefix("localhost:") {
        Some(port) => Some(SocketAddr::from(([127, 0, 0, 1], port.parse().ok()?))),
        None => text.parse().ok(),
    }
}

/// The address that a path is, or that a symbolic link of this path points to.
///
/// # Errors
/// [`OpenFault::Wrong`] when it is none.
pub fn address_at(path: &Path) -> Result<SocketAddr, OpenFault> {
    let target = std::fs::read_link(path).unwrap_or_else(|_| path.to_owned());
    let wrong = || OpenFault::NoAddress(path.display().to_string());
    target.to_str().and_then(address).ok_or_else(wrong)
}

impl WebSocketPort {
    /// Begins a session with the service there.
    ///
    /// # Errors
    /// [`OpenFault`] says why not, and what to do.
    pub fn open(address: SocketAddr) -> Result<Self, OpenFault> {
        let place = address.to_string();
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::TimedOut | ErrorKind::WouldBlock => {
                OpenFault::NoService(place.clone())
            }
            _ => OpenFault::Failed { place: place.clone(), why: error.to_string() },
        };
        let stream = TcpStream::connect_timeout(&address, CONNECT).map_err(failed)?;
        let eager = stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true));
        let watched = eager.and_then(|()| stream.try_clone()).map_err(failed)?;
        let until = SystemClock.now().plus(GREETING_NS);
        let config = WebSocketConfig::default()
            .max_message_size(Some(TEXT_MAX))
            .max_frame_size(Some(TEXT_MAX))
            .max_write_buffer_size(WAITING_MAX)
            .write_buffer_size(0);
        let mut greeting = tungstenite::client::client_with_config(format!("ws://{place}/"), stream, Some(config));
        loop {
            match greeting {
                Ok((socket, _)) => return Ok(Self { socket, text: Vec::new(), given: 0 }),
                Err(HandshakeError::Failure(_)) => return Err(OpenFault::Wrong { place, wanted: "WebSocket service" }),
                Err(HandshakeError::Interrupted(_)) if SystemClock.now() >= until => {
                    return Err(OpenFault::NoService(place));
                }
                Err(HandshakeError::Interrupted(middle)) => {
                    wait_readable(&[watched.as_fd(), watched.as_fd()], until);
                    greeting = middle.handshake();
                }
            }
        }
    }

    /// Gives what is left of the newest text.
    fn give(&mut self, into: &mut [u8]) -> usize {
        let rest = self.text.get(self.given..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        count
    }

    fn keep(&mut self, text: &[u8]) {
        self.text.clear();
        self.text.extend_from_slice(text);
        self.text.push(TEXT_END);
        self.given = 0;
    }
}

/// True when the socket has nothing, or no room, now.
fn is_later(error: &Error) -> bool {
    matches!(error, Error::Io(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted))
}

impl Port for WebSocketPort {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, PortFault> {
        for _ in 0..ASIDE {
            let count = self.give(into);
            if count > 0 {
                return Ok(count);
            }
            match self.socket.read() {
                Ok(Message::Text(text)) => self.keep(text.as_bytes()),
                Ok(Message::Binary(bytes)) => self.keep(&bytes),
                // Answered by the crate itself.
                Ok(_) => {}
                Err(error) if is_later(&error) => return Ok(0),
                Err(_) => return Err(PortFault::Gone),
            }
        }
        Ok(0)
    }

    fn write(&mut self, message: &[u8], until: MonoNs) -> Result<(), PortFault> {
        // What drivers write is text; were it not, the service could not read it.
        let Ok(text) = std::str::from_utf8(message) else { return Ok(()) };
        let mut sent = self.socket.send(Message::text(text));
        loop {
            match sent {
                Ok(()) => return Ok(()),
                Err(error) if is_later(&error) => {}
                Err(Error::WriteBufferFull(_)) => return Err(PortFault::Stuck),
                Err(_) => return Err(PortFault::Gone),
            }
            let mut polled = [PollFd::new(self.socket.get_ref(), PollFlags::OUT)];
            let ready = poll(&mut polled, Some(&left(until))).unwrap_or(0);
            if ready == 0 && SystemClock.now() >= until {
                return Err(PortFault::Stuck);
            }
            sent = self.socket.flush();
        }
    }

    fn order(&mut self, _order: LineOrder) -> Result<(), PortFault> {
        Ok(())
    }

    fn wait(&mut self, bell: &Bell, until: MonoNs) {
        if self.given >= self.text.len() {
            wait_readable(&[self.socket.get_ref().as_fd(), bell.as_fd()], until);
        }
    }

    fn line(&self) -> Option<GuardLine<'_>> {
        Some(GuardLine::Framed(self.socket.get_ref().as_fd()))
    }

    fn as_sent(&self, message: &[u8], out: &mut [u8]) -> usize {
        frame(message, out)
    }
}

/// A text as one frame of a client: whole, masked as every client's must be, with a mask that changes nothing. Zero when it does
/// not fit.
fn frame(text: &[u8], out: &mut [u8]) -> usize {
    const WHOLE_TEXT: u8 = 0x81;
    const MASKED: u8 = 0x80;
    const TWO_BYTES: u8 = 126;
    let mut head = [0; 8];
    let length = match (u8::try_from(text.len()), u16::try_from(text.len())) {
        (Ok(short), _) if short < TWO_BYTES => {
            head[..2].copy_from_slice(&[WHOLE_TEXT, MASKED | short]);
            6
        }
        (_, Ok(long)) => {
            let [high, low] = long.to_be_bytes();
            head[..4].copy_from_slice(&[WHOLE_TEXT, MASKED | TWO_BYTES, high, low]);
            8
        }
        _ => return 0,
    };
    let Some(place) = out.get_mut(..length + text.len()) else { return 0 };
    place[..length].copy_from_slice(&head[..length]);
    place[length..].copy_from_slice(text);
    length + text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn addresses_are_numbers_or_this_machine() {
        for text in ["127.0.0.1:10001", "localhost:10001", "ws://127.0.0.1:10001", "ws://localhost:10001/"] {
            assert_eq!(address(text), SERVICE.parse().ok(), "{text}");
        }
        assert!(address("[::1]:7").is_some_and(|there| there.ip().is_loopback()));
        assert_eq!(["", "example.com:80", "10001", "127.0.0.1", "/dev/ttyACM0", "ws://"].map(address), [None; 6]);
        let said = address_at(Path::new("/dev/null")).expect_err("it is a file").to_string();
        assert!(said.contains(SERVICE), "{said}");
    }

    #[test]
    fn a_frame_is_what_another_end_reads() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let there = listener.local_addr().expect("its address");
        let service = std::thread::spawn(move || {
            let (stream, _) = listener.accept().expect("a host");
            let mut socket = tungstenite::accept(stream).expect("a session");
            socket.send(Message::text("x".repeat(600))).expect("it takes a text");
            [(); 4].map(|()| socket.read().expect("a message").into_text().expect("text").to_string())
        });
        let mut port = WebSocketPort::open(there).expect("it listens");
        let bell = Bell::new().expect("a bell");
        let (mut piece, mut got) = ([0; 256], Vec::new());
        while got.last() != Some(&TEXT_END) {
            let count = port.read(&mut piece).expect("it is there");
            got.extend_from_slice(&piece[..count]);
            port.wait(&bell, SystemClock.now().plus(1_000_000));
        }
        assert_eq!((got.len(), got.iter().filter(|&&byte| byte == b'x').count()), (601, 600));
        // What the guardian writes stands between what the port sends.
        let (short, long) = ("s".repeat(125), "l".repeat(126));
        let mut out = [0; 300];
        for text in [&short, &long] {
            port.write(b"{}", SystemClock.now().plus(1_000_000_000)).expect("it takes a text");
            let length = frame(text.as_bytes(), &mut out);
            let written = rustix::io::write(port.socket.get_ref(), &out[..length]).expect("there is room");
            assert_eq!(written, length);
        }
        assert_eq!(service.join().expect("it has read"), ["{}", &short, "{}", &long]);
        assert_eq!((frame(&[0; 70_000], &mut out), frame(b"text", &mut out[..9])), (0, 0));
    }

    #[test]
    fn what_is_no_service_is_told_apart_from_nobody() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let there = listener.local_addr().expect("its address");
        let rude = std::thread::spawn(move || {
            use std::io::{Read as _, Write as _};
            let (mut stream, _) = listener.accept().expect("a host");
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        });
        let refused = WebSocketPort::open(there).map(|_| ()).expect_err("it is another");
        assert!(matches!(refused, OpenFault::Wrong { .. }), "{refused}");
        rude.join().expect("it has answered");
        let nobody = WebSocketPort::open(there).map(|_| ()).expect_err("it has gone");
        assert!(matches!(nobody, OpenFault::NoService(_)) && nobody.may_pass(), "{nobody}");
    }
}
