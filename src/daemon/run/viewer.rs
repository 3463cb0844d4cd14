//! The viewer's server beside the control loop, or none.
//!
//! Thread: cold for opening; control from then on.

use super::slice::Slice;
use crate::control::Hub;
use crate::control::alarm::Alarm;
use crate::control::http::{Asked, Door, Limits};
use crate::control::hub::Outbox;
use crate::control::osc::{self, Ntp};
use crate::control::plant::Plant;
use crate::control::socket::{Letter, SocketFigures};
use crate::control::web::WebServer;
use crate::daemon::Failure;
use crate::shared::Clock as _;
use crate::shared::realtime::SystemClock;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::time::SystemTime;

/// Most packets of sockets taken at once.
const AT_ONCE: usize = 64;

/// Opens the viewer's port; any free one when it is taken, because nothing but a page depends on it.
///
/// # Errors
/// When no port can be had at this address.
pub(in crate::daemon) fn open(listen: IpAddr, port: u16) -> io::Result<TcpListener> {
    let listener = match TcpListener::bind(SocketAddr::new(listen, port)) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => TcpListener::bind(SocketAddr::new(listen, 0)),
        bound => bound,
    }?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// See the file's head.
pub(in crate::daemon) struct Viewer {
    server: Option<WebServer>,
    letters: Vec<Letter>,
}

/// What a viewer wants.
pub(in crate::daemon) enum Call {
    /// Letters are there to be taken by [`Viewer::receive`].
    Letters,
    /// A question.
    Asked(Asked),
}

impl Viewer {
    /// Serves `listener`, if there is one; a halt raises `alarm` as soon as it comes in. Needs a running event loop.
    ///
    /// # Errors
    /// When the socket cannot be used.
    pub(in crate::daemon) fn start(listener: Option<TcpListener>, door: Door, alarm: Alarm) -> Result<Self, Failure> {
        let unusable = |error: io::Error| Failure::Port(format!("the viewer's socket cannot be used: {error}"));
        let listener = listener.map(tokio::net::TcpListener::from_std).transpose().map_err(unusable)?;
        let server = listener.map(|listener| WebServer::start(listener, door, Limits::default(), alarm));
        Ok(Self { server, letters: Vec::with_capacity(AT_ONCE) })
    }

    /// Waits until a viewer wants something; for ever when there can be none.
    pub(in crate::daemon) async fn call(&mut self) -> Call {
        if !self.letters.is_empty() {
            return Call::Letters;
        }
        let Some(server) = &mut self.server else { return std::future::pending().await };
        tokio::select! {
            count = server.letters.recv_many(&mut self.letters, AT_ONCE) => {
                if count == 0 { std::future::pending().await } else { Call::Letters }
            }
            asked = server.questions.recv() => match asked {
                Some(asked) => Call::Asked(asked),
                None => std::future::pending().await,
            },
        }
    }

    /// Takes what has come, halts first, for the time of a [`Slice`]; the rest is taken at the next call.
    pub(in crate::daemon) fn receive(&mut self, hub: &mut Hub, plant: &mut dyn Plant, out: &mut Outbox) {
        let (now, wall) = (SystemClock.now(), Ntp::of(SystemTime::now()));
        let is_halt = |letter: &Letter| matches!(letter, Letter::Packet(bytes, _) if osc::is_halt(bytes));
        // The sort is stable: what one socket sent stays in order.
        self.letters.sort_by_key(|letter| !is_halt(letter));
        let (slice, mut taken) = (Slice::begin(now), 0);
        while let Some(letter) = self.letters.get(taken).filter(|_| !slice.is_over()) {
            match letter {
                Letter::Packet(bytes, from) => hub.receive(bytes, *from, now, wall, plant, out),
                Letter::Gone(peer) => hub.leave(*peer),
            }
            taken += 1;
        }
        self.letters.drain(..taken);
    }

    /// Leaves a packet for a socket; false when it is lost.
    pub(in crate::daemon) fn send(&self, id: u64, packet: Vec<u8>) -> bool {
        self.server.as_ref().is_some_and(|server| server.lobby.send(id, packet))
    }

    /// How it goes.
    pub(in crate::daemon) fn figures(&self) -> SocketFigures {
        self.server.as_ref().map_or_else(SocketFigures::default, |server| server.lobby.figures())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn a_port_that_is_taken_is_replaced_by_a_free_one() {
        let here = Ipv4Addr::LOCALHOST.into();
        let first = open(here, 0).expect("any port");
        let port = first.local_addr().expect("it is bound").port();
        let second = open(here, port).expect("another port");
        assert_ne!(second.local_addr().expect("it is bound").port(), port);
    }
}
