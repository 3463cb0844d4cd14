//! A WebSocket service on loopback for an emulated device that has one: one host at a time, its messages kept apart.
//!
//! Thread: main. No call waits.

use crate::device::wire::inverse3::{QUESTION, TEXT_END};
use rustix::fd::{AsFd, BorrowedFd};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use tungstenite::handshake::server::{NoCallback, ServerHandshake};
use tungstenite::handshake::{HandshakeError, MidHandshake};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Error, Message, WebSocket};

/// Longest message of a host, and most bytes that may wait for one that does not read.
const MESSAGE_MAX: usize = 1 << 12;
const WAITING_MAX: usize = 1 << 16;
/// Frames without a text that are passed over in one read.
const ASIDE: usize = 16;

type Knock = MidHandshake<ServerHandshake<TcpStream, NoCallback>>;

/// Who is there.
enum Guest {
    Nobody,
    /// A connection, and another name for it to wait for.
    Knocking(Box<Knock>, TcpStream),
    Talking(Box<WebSocket<TcpStream>>),
}

/// See the file's head.
pub(super) struct Service {
    listener: TcpListener,
    guest: Guest,
    /// A text on its way to the host, as far as its pieces have come.
    text: Vec<u8>,
}

impl Service {
    /// Listens there, or anywhere on loopback.
    pub(super) fn open(place: Option<SocketAddr>) -> Result<Self, String> {
        let place = place.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let failed = |error: std::io::Error| format!("no service can listen at {place}: {error}");
        let listener = TcpListener::bind(place).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { listener, guest: Guest::Nobody, text: Vec::new() })
    }

    /// Where it listens.
    pub(super) fn place(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// One message of the host; zero when there is none.
    pub(super) fn read(&mut self, into: &mut [u8]) -> usize {
        match std::mem::replace(&mut self.guest, Guest::Nobody) {
            Guest::Nobody => self.welcome(into),
            Guest::Knocking(knock, stream) => self.greet(knock.handshake(), stream, into),
            Guest::Talking(mut socket) => {
                for _ in 0..ASIDE {
                    let bytes = match socket.read() {
                        Ok(Message::Text(text)) => text.as_bytes().to_vec(),
                        Ok(Message::Binary(bytes)) => bytes.to_vec(),
                        Ok(_) => continue,
                        Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                        Err(_) => return 0,
                    };
                    self.guest = Guest::Talking(socket);
                    return put(&bytes, into);
                }
                self.guest = Guest::Talking(socket);
                0
            }
        }
    }

    fn welcome(&mut self, into: &mut [u8]) -> usize {
        let Ok((stream, _)) = self.listener.accept() else { return 0 };
        let ready = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
        let Ok(watched) = ready.and_then(|()| stream.try_clone()) else { return 0 };
        let config = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_MAX))
            .max_frame_size(Some(MESSAGE_MAX))
            .max_write_buffer_size(WAITING_MAX)
            .write_buffer_size(0);
        self.greet(tungstenite::accept_with_config(stream, Some(config)), watched, into)
    }

    /// Goes on with the first words. When they are spoken the service tells everything, as if it had been asked.
    fn greet(
        &mut self,
        words: Result<WebSocket<TcpStream>, HandshakeError<ServerHandshake<TcpStream, NoCallback>>>,
        watched: TcpStream,
        into: &mut [u8],
    ) -> usize {
        match words {
            Ok(socket) => {
                (self.guest, self.text) = (Guest::Talking(Box::new(socket)), Vec::new());
                put(QUESTION, into)
            }
            Err(HandshakeError::Interrupted(knock)) => {
                self.guest = Guest::Knocking(Box::new(knock), watched);
                0
            }
            Err(HandshakeError::Failure(_)) => 0,
        }
    }

    /// Pieces of texts to the host; a text that it has no room for is lost.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte != TEXT_END {
                self.text.push(byte);
                continue;
            }
            let text = String::from_utf8_lossy(&self.text).into_owned();
            self.text.clear();
            if let Guest::Talking(socket) = &mut self.guest {
                let _ = socket.send(Message::text(text));
            }
        }
    }
}

impl AsFd for Service {
    /// What to wait for.
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.guest {
            Guest::Nobody => self.listener.as_fd(),
            Guest::Knocking(_, stream) => stream.as_fd(),
            Guest::Talking(socket) => socket.get_ref().as_fd(),
        }
    }
}

/// Copies what fits: more than any order is not understood anyway.
fn put(message: &[u8], into: &mut [u8]) -> usize {
    let count = message.len().min(into.len());
    into[..count].copy_from_slice(&message[..count]);
    count
}
