//! WebSockets: OSC packets in both directions, and bounds on how much a peer may leave lying.
//!
//! Thread: control, as tasks beside the control loop, which never waits for a socket.
//!
//! Each socket has a seat in the [`Lobby`]: a queue of packets that are to be sent. What finds it full is lost and counted. A
//! socket that takes nothing for a while, or is not heard of at all, is closed. In the other direction a halt is carried out as soon as
//! it is read; other packets beyond [`FRAMES_HZ`] are lost and counted, and a socket is read no faster than the control loop takes the
//! rest.

use super::alarm::Alarm;
use super::osc;
use super::peer::Peer;
use axum::body::Bytes;
use axum::extract::ws::{Message, WebSocket};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, interval_at, timeout};

/// Most sockets at once.
pub const MOST_SOCKETS: usize = 32;
/// Most packets that wait for a socket: the longest list there is, twice.
pub const MOST_PACKETS: usize = 512;
/// Most bytes that wait for a socket.
pub const MOST_BYTES: usize = 1 << 20;
/// Most packets a second of a socket that go to the control loop, and how many at once. Twice what the hub lets a client send, which
/// tells those that send too much.
pub const FRAMES_HZ: u32 = 4000;
const FRAMES_AT_ONCE: u32 = 2000;
/// A socket that takes nothing for this long is closed.
const STALLED: Duration = Duration::from_secs(2);
/// Time between two questions whether somebody is still there, and how long to wait for any sign.
const PING: Duration = Duration::from_secs(10);
const SILENT: Duration = Duration::from_secs(30);
/// Time for the last word.
const GOODBYE: Duration = Duration::from_millis(500);

/// What sockets send to the control loop.
#[derive(Debug)]
pub enum Letter {
    /// One OSC packet.
    Packet(Bytes, Peer),
    /// The socket is closed; nothing more comes, and nothing can be sent.
    Gone(Peer),
}

#[derive(Debug)]
struct Place {
    packets: mpsc::Sender<Bytes>,
    bytes: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct Places {
    taken: BTreeMap<u64, Place>,
    last: u64,
}

/// What has been counted of sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketFigures {
    /// Open now.
    pub open: u64,
    /// Packets lost because a socket did not keep up.
    pub lost: u64,
    /// Sockets closed because they took nothing.
    pub stalled: u64,
}

/// Everybody who is connected.
#[derive(Clone, Debug, Default)]
pub struct Lobby {
    places: Arc<Mutex<Places>>,
    lost: Arc<AtomicU64>,
    stalled: Arc<AtomicU64>,
}

/// A place in the lobby, given back when dropped.
#[derive(Debug)]
pub(super) struct Seat {
    peer: Peer,
    id: u64,
    packets: mpsc::Receiver<Bytes>,
    bytes: Arc<AtomicUsize>,
    lobby: Lobby,
}

impl Lobby {
    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A seat for one more, if there is one.
    pub(super) fn enter(&self, ip: IpAddr) -> Option<Seat> {
        let mut places = self.places();
        if places.taken.len() >= MOST_SOCKETS {
            return None;
        }
        places.last += 1;
        let id = places.last;
        let (sender, packets) = mpsc::channel(MOST_PACKETS);
        let bytes = Arc::<AtomicUsize>::default();
        places.taken.insert(id, Place { packets: sender, bytes: Arc::clone(&bytes) });
        Some(Seat { peer: Peer::Web { id, ip }, id, packets, bytes, lobby: self.clone() })
    }

    /// Leaves a packet for a socket; false when it is lost because there is no room, or nobody any more.
    pub fn send(&self, id: u64, packet: Vec<u8>) -> bool {
        let places = self.places();
        let Some(place) = places.taken.get(&id) else { return false };
        let length = packet.len();
        // Counted first: the socket's task may take the packet out before this returns.
        let waiting = place.bytes.fetch_add(length, Ordering::Relaxed);
        let left = waiting + length <= MOST_BYTES && place.packets.try_send(packet.into()).is_ok();
        if !left {
            place.bytes.fetch_sub(length, Ordering::Relaxed);
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        left
    }

    /// Ends every socket.
    pub(super) fn close(&self) {
        self.places().taken.clear();
    }

    /// How it goes.
    #[must_use]
    pub fn figures(&self) -> SocketFigures {
        SocketFigures {
            open: self.places().taken.len() as u64,
            lost: self.lost.load(Ordering::Relaxed),
            stalled: self.stalled.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.lobby.places().taken.remove(&self.id);
    }
}

/// Where a socket leaves what it has read.
#[derive(Clone, Debug)]
pub(super) struct Post {
    letters: mpsc::Sender<Letter>,
    alarm: Alarm,
}

impl Post {
    /// A queue to the control loop, and the shortcut of a halt.
    pub(super) fn new(letters: mpsc::Sender<Letter>, alarm: Alarm) -> Self {
        Self { letters, alarm }
    }
}

/// How many packets a socket may hand on: [`FRAMES_HZ`].
struct Allowance {
    packets: u32,
    at: Instant,
}

impl Allowance {
    fn new(now: Instant) -> Self {
        Self { packets: FRAMES_AT_ONCE, at: now }
    }

    /// True when one more packet may be handed on.
    fn take(&mut self, now: Instant) -> bool {
        let earned = (now - self.at).as_micros() * u128::from(FRAMES_HZ) / 1_000_000;
        if earned > 0 {
            self.packets = FRAMES_AT_ONCE.min(self.packets.saturating_add(u32::try_from(earned).unwrap_or(u32::MAX)));
            self.at = now;
        }
        let may = self.packets > 0;
        self.packets = self.packets.saturating_sub(1);
        may
    }
}

/// The life of one socket.
pub(super) async fn talk(socket: WebSocket, mut seat: Seat, post: Post) {
    let peer = seat.peer;
    tracing::info!(client = %peer, "{peer} is connected");
    let (mut sink, mut stream) = socket.split();
    let lost = Arc::clone(&seat.lobby.lost);
    let why = tokio::select! {
        why = read(&mut stream, peer, &post, &lost) => why,
        why = write(&mut sink, &mut seat) => why,
    };
    drop(seat);
    tracing::info!(client = %peer, "{peer} is gone: {why}");
    // The control loop may have ended before.
    let _ = post.letters.send(Letter::Gone(peer)).await;
    let _ = timeout(GOODBYE, sink.send(Message::Close(None))).await;
}

/// Hands on what comes in, until the end.
async fn read(stream: &mut SplitStream<WebSocket>, peer: Peer, post: &Post, lost: &AtomicU64) -> &'static str {
    let mut allowance = Allowance::new(Instant::now());
    loop {
        match timeout(SILENT, stream.next()).await {
            Ok(Some(Ok(Message::Binary(bytes)))) => {
                let is_halt = osc::is_halt(&bytes);
                if is_halt {
                    post.alarm.raise(peer);
                }
                if !allowance.take(Instant::now()) && !is_halt {
                    lost.fetch_add(1, Ordering::Relaxed);
                    tokio::task::coop::consume_budget().await;
                } else if post.letters.send(Letter::Packet(bytes, peer)).await.is_err() {
                    return "the daemon ends";
                }
            }
            // Whoever sends these in a flood must not keep others from their turn.
            Ok(Some(Ok(Message::Text(_) | Message::Ping(_) | Message::Pong(_)))) => {
                tokio::task::coop::consume_budget().await;
            }
            Ok(Some(Ok(Message::Close(_))) | None) => return "it closed",
            Ok(Some(Err(_))) => return "it broke off, or sent what is no frame or too long a one",
            Err(_) => return "nothing was heard of it",
        }
    }
}

/// Sends what waits, and asks now and then whether somebody is there.
async fn write(sink: &mut SplitSink<WebSocket, Message>, seat: &mut Seat) -> &'static str {
    let mut ping = interval_at(Instant::now() + PING, PING);
    loop {
        let message = tokio::select! {
            packet = seat.packets.recv() => match packet {
                Some(packet) => Message::Binary(packet),
                None => return "the daemon ends",
            },
            _ = ping.tick() => Message::Ping(Bytes::new()),
        };
        if let Message::Binary(packet) = &message {
            seat.bytes.fetch_sub(packet.len(), Ordering::Relaxed);
        }
        match timeout(STALLED, sink.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return "it broke off",
            Err(_) => {
                seat.lobby.stalled.fetch_add(1, Ordering::Relaxed);
                return "it took nothing for 2 s";
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn a_socket_hands_on_a_burst_and_then_its_rate() {
        let start = Instant::now();
        let mut allowance = Allowance::new(start);
        let handed_on = |allowance: &mut Allowance, ms: u64| {
            let now = start + Duration::from_millis(ms);
            (0..2 * FRAMES_AT_ONCE).filter(|_| allowance.take(now)).count()
        };
        assert_eq!(handed_on(&mut allowance, 0), FRAMES_AT_ONCE as usize);
        assert_eq!(handed_on(&mut allowance, 100), FRAMES_HZ as usize / 10);
        assert_eq!(handed_on(&mut allowance, 60_000), FRAMES_AT_ONCE as usize);
    }

    #[test]
    fn a_lobby_has_so_many_seats_and_a_seat_so_much_room() {
        let lobby = Lobby::default();
        let ip = Ipv4Addr::LOCALHOST.into();
        let mut seats: Vec<Seat> = (0..MOST_SOCKETS).filter_map(|_| lobby.enter(ip)).collect();
        assert_eq!((seats.len(), lobby.figures().open), (MOST_SOCKETS, MOST_SOCKETS as u64));
        assert!(lobby.enter(ip).is_none());
        let first = seats.remove(0);
        // By number.
        let kept = (0..2 * MOST_PACKETS).filter(|_| lobby.send(first.id, vec![0])).count();
        assert_eq!((kept, lobby.figures().lost), (MOST_PACKETS, MOST_PACKETS as u64));
        // By size.
        let second = seats.remove(0);
        let kept = (0..MOST_PACKETS).filter(|_| lobby.send(second.id, vec![0; 10_000])).count();
        assert_eq!(kept, MOST_BYTES / 10_000);
        drop((first, second));
        let third = lobby.enter(ip).expect("two seats are free");
        assert!(!seats.iter().any(|seat| seat.id == third.id), "no number is used twice");
        assert!(!lobby.send(1, vec![0]), "nobody there");
    }
}
