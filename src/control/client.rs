//! Clients with a lease: what they subscribed to, and until when.
//!
//! Thread: control.
//!
//! A client is the address its answers go to. A lease ends by itself, so that whoever next listens on the port of a
//! client that vanished is not sent that client's streams for long.
//!
//! The address of a datagram can be forged, and a stream is a thousand times as much as what asks for it. So a receiver beyond this
//! machine is sent a number first, and nothing more before that host has sent it back. Leases and samples are counted by host, and those
//! who may only read cannot use up more than half of either.

use super::access::Level;
use super::osc::{Sent, encode};
use super::peer::Peer;
use super::plant::{Code, Plant, Refused};
use super::stream::{self, Stream};
use super::trail::Trail;
use super::{metrics::HubFigures, table};
use crate::shared::{MonoNs, NS_PER_S, SkinFrame};
use std::hash::{BuildHasher as _, RandomState};

/// Part of the leases that one host may hold, beyond clients of this machine that may do everything.
const SHARE_OF_HOST: usize = 4;
/// Part of leases and samples for all that may only read, and of samples for one host.
const SHARE_OF_READERS: usize = 2;
/// How long an answer to the number is waited for, s.
pub(super) const CONFIRM_S: u64 = 10;

/// Bounds on clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Most clients with a lease.
    pub clients: usize,
    /// Most streams of one client.
    pub streams: usize,
    /// Most samples a second of one client, all its streams together.
    pub client_hz: f64,
    /// Most samples a second of all clients together.
    pub total_hz: f64,
    /// How long a lease lasts, s.
    pub lease_s: u32,
    /// Receivers beyond this machine must confirm what they are about to be sent.
    pub confirm: bool,
}

#[derive(Debug)]
struct Subscription {
    stream: Stream,
    rate_hz: f64,
    due: MonoNs,
    /// Counts what was due, sent or not.
    sequence: i32,
    /// Of the stream of ticks: the place up to which they have been sent; of skins: the frame that has been.
    place: Option<u64>,
}

#[derive(Debug)]
struct Client {
    to: Peer,
    asker: Peer,
    role: Level,
    /// The number that the receiver has not sent back yet.
    number: Option<i32>,
    until: MonoNs,
    notified: bool,
    streams: Vec<Subscription>,
}

impl Subscription {
    /// The ticks since the last call; at first the newest alone.
    fn ticks(&mut self, trail: &Trail, figures: &mut HubFigures) -> Vec<Vec<u8>> {
        let from = self.place.unwrap_or_else(|| trail.end().saturating_sub(1));
        self.place = Some(trail.end());
        let (packets, lost) = stream::ticks(trail, from);
        figures.skipped += lost;
        figures.streamed += packets.len() as u64;
        let path = table::of_stream(Stream::Ticks).map_or("", |entry| entry.path);
        packets.iter().map(|packet| encode(path, packet)).collect()
    }

    /// The skins, if they have moved since the last call.
    fn skins(&mut self, frame: &SkinFrame, figures: &mut HubFigures) -> Vec<Vec<u8>> {
        if self.place == Some(frame.stamp.sequence) {
            return Vec::new();
        }
        self.place = Some(frame.stamp.sequence);
        let packets = self.stream.of_skins(self.sequence, frame);
        self.sequence = self.sequence.wrapping_add(1);
        figures.streamed += packets.len() as u64;
        let path = table::of_stream(self.stream).map_or("", |entry| entry.path);
        packets.iter().map(|packet| encode(path, packet)).collect()
    }
}

/// Who asks for something to be sent, and where to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker {
    pub(super) from: Peer,
    pub(super) to: Peer,
    pub(super) role: Level,
}

impl Asker {
    /// True for a program of this machine that may do everything: no use to count what it could take anyway.
    fn is_own(&self) -> bool {
        self.role == Level::Control && self.to.is_here()
    }
}

/// Numbers that nobody can guess.
#[derive(Debug, Default)]
struct Numbers {
    key: RandomState,
    count: u64,
}

impl Numbers {
    fn next(&mut self) -> i32 {
        self.count += 1;
        (self.key.hash_one(self.count) >> 33) as i32
    }
}

/// All clients with a lease.
#[derive(Debug)]
pub(super) struct Clients {
    list: Vec<Client>,
    limits: Limits,
    numbers: Numbers,
}

impl Clients {
    pub(super) fn new(limits: Limits) -> Self {
        Self { list: Vec::new(), limits, numbers: Numbers::default() }
    }

    /// Whether receivers beyond this machine must confirm, from now on.
    pub(super) fn set_confirm(&mut self, confirm: bool) {
        self.limits.confirm = confirm;
    }

    fn until(&self, now: MonoNs) -> MonoNs {
        now.plus(u64::from(self.limits.lease_s) * NS_PER_S)
    }

    /// Prolongs what was asked for from `from`, and what is sent to `to`.
    pub(super) fn renew(&mut self, from: Peer, to: Peer, now: MonoNs) {
        let until = self.until(now);
        let theirs = |client: &&mut Client| client.asker == from || client.to == to;
        for client in self.list.iter_mut().filter(|client| client.number.is_none()).filter(theirs) {
            client.until = until;
        }
    }

    fn client(&mut self, asker: Asker, now: MonoNs) -> Result<&mut Client, Refused> {
        let Asker { from, to, role } = asker;
        let until = self.until(now);
        let found = self.list.iter().position(|client| client.to == to);
        let index = match found {
            Some(index) => index,
            None => {
                self.room(asker)?;
                tracing::info!(client = %to, "client {to} begins a lease");
                let number = (self.limits.confirm && !to.is_certain()).then(|| self.numbers.next());
                self.list.push(Client { to, asker: from, role, number, until, notified: false, streams: Vec::new() });
                self.list.len() - 1
            }
        };
        let client = &mut self.list[index];
        (client.asker, client.role) = (from, role);
        client.until = if client.number.is_some() { now.plus(CONFIRM_S * NS_PER_S) } else { until };
        Ok(client)
    }

    /// Whether one more client may come.
    fn room(&self, asker: Asker) -> Result<(), Refused> {
        let most = self.limits.clients;
        if self.list.len() >= most {
            return Err(busy(format!("{most} clients already; try again later")));
        }
        let host = asker.to.host();
        let own = self.list.iter().filter(|client| client.to.host() == host).count();
        if !asker.is_own() && own >= most.div_ceil(SHARE_OF_HOST) {
            return Err(busy(format!("{own} clients of this host already; use one for all, or end others")));
        }
        let readers = self.list.iter().filter(|client| client.role == Level::ReadOnly).count();
        if asker.role == Level::ReadOnly && readers >= most.div_ceil(SHARE_OF_READERS) {
            return Err(busy(format!("{readers} clients that may only read already; try again later")));
        }
        Ok(())
    }

    /// The number that `to` has to send back before anything is sent there; none when it is known to be there.
    pub(super) fn number(&self, to: Peer) -> Option<i32> {
        self.list.iter().find(|client| client.to == to).and_then(|client| client.number)
    }

    /// A host sends a number back: where events and streams go from now on, and whether events are wanted.
    pub(super) fn confirm(&mut self, number: i32, from: Peer, now: MonoNs) -> Result<(Peer, bool), Refused> {
        let until = self.until(now);
        let theirs = |client: &&mut Client| client.number == Some(number) && client.to.host() == from.host();
        let Some(client) = self.list.iter_mut().find(theirs) else {
            let text = "no receiver of this host waits for that number; subscribe again";
            return Err(Refused { code: Code::NotFound, text: text.into() });
        };
        (client.number, client.until) = (None, until);
        client.streams.iter_mut().for_each(|own| own.due = now);
        Ok((client.to, client.notified))
    }

    /// Begins or ends events.
    pub(super) fn notify(&mut self, on: bool, asker: Asker, now: MonoNs) -> Result<(), Refused> {
        if on {
            self.client(asker, now)?.notified = true;
        } else {
            self.list.iter_mut().filter(|client| client.to == asker.to).for_each(|client| client.notified = false);
            self.forget_idle();
        }
        Ok(())
    }

    /// Begins a stream or changes its rate.
    pub(super) fn subscribe(
        &mut self,
        (stream, rate_hz): (Stream, f64),
        asker: Asker,
        now: MonoNs,
    ) -> Result<(), Refused> {
        let (limits, to, host) = (self.limits, asker.to, asker.to.host());
        // Samples a second of all streams but the one that is replaced.
        let sum = |wanted: &dyn Fn(&Client) -> bool| -> f64 {
            let streams = |client: &Client| -> f64 {
                let others = client.streams.iter().filter(|own| client.to != to || own.stream != stream);
                others.map(|own| own.rate_hz).sum()
            };
            self.list.iter().filter(|client| wanted(client)).map(streams).sum()
        };
        let part_hz = limits.total_hz / SHARE_OF_READERS as f64;
        let is_reader = asker.role == Level::ReadOnly;
        let too_much = sum(&|client| client.to == to) + rate_hz > limits.client_hz
            || sum(&|_| true) + rate_hz > limits.total_hz
            || !asker.is_own() && sum(&|client| client.to.host() == host) + rate_hz > part_hz
            || is_reader && sum(&|client| client.role == Level::ReadOnly) + rate_hz > part_hz;
        if too_much {
            let text = format!(
                "too many samples: at most {} Hz for a client, {} Hz in all, and half of that for a host and for all that may only \
                 read",
                limits.client_hz, limits.total_hz
            );
            return Err(busy(text));
        }
        let client = self.client(asker, now)?;
        if let Some(own) = client.streams.iter_mut().find(|own| own.stream == stream) {
            own.rate_hz = rate_hz;
            own.due = now;
            return Ok(());
        }
        if client.streams.len() >= limits.streams {
            return Err(busy(format!("{} streams already; unsubscribe from one", limits.streams)));
        }
        client.streams.push(Subscription { stream, rate_hz, due: now, sequence: 0, place: None });
        Ok(())
    }

    /// Ends one stream of a client, or all.
    pub(super) fn unsubscribe(&mut self, stream: Option<Stream>, to: Peer) {
        for client in self.list.iter_mut().filter(|client| client.to == to) {
            client.streams.retain(|own| stream.is_some_and(|stream| own.stream != stream));
        }
        self.forget_idle();
    }

    fn forget_idle(&mut self) {
        self.keep(|client| client.notified || !client.streams.is_empty());
    }

    fn keep(&mut self, wanted: impl Fn(&Client) -> bool) {
        for client in self.list.extract_if(.., |client| !wanted(client)) {
            tracing::info!(client = %client.to, "the lease of client {} has ended", client.to);
        }
    }

    /// Ends the lease of one that has gone.
    pub(super) fn leave(&mut self, peer: Peer) {
        self.keep(|client| client.to != peer);
    }

    /// Ends the leases that ran out; how many.
    pub(super) fn end(&mut self, now: MonoNs) -> usize {
        let before = self.list.len();
        self.keep(|client| client.until > now);
        before - self.list.len()
    }

    /// Where those who hear events are.
    pub(super) fn notified(&self) -> impl Iterator<Item = Peer> {
        self.list.iter().filter(|client| client.notified && client.number.is_none()).map(|client| client.to)
    }

    /// Where all with a lease are.
    pub(super) fn all(&self) -> impl Iterator<Item = Peer> {
        self.list.iter().filter(|client| client.number.is_none()).map(|client| client.to)
    }

    /// Sends the samples that are due.
    pub(super) fn stream(
        &mut self,
        now: MonoNs,
        plant: &dyn Plant,
        figures: &mut HubFigures,
        out: &mut Vec<(Vec<u8>, Peer)>,
    ) {
        for client in self.list.iter_mut().filter(|client| client.number.is_none()) {
            for own in client.streams.iter_mut().filter(|own| own.due <= now) {
                // At most one sample a call: older ticks are gone, and sending the newest twice helps nobody.
                let period_ns = (NS_PER_S as f64 / own.rate_hz) as u64;
                let missed = now.since(own.due) / period_ns.max(1);
                own.due = own.due.plus((missed + 1) * period_ns);
                let missed = i32::try_from(missed).unwrap_or(i32::MAX);
                own.sequence = own.sequence.wrapping_add(missed);
                figures.skipped += u64::from(missed.unsigned_abs());
                if own.stream == Stream::Ticks {
                    let sent = own.ticks(plant.trail(), figures);
                    out.extend(sent.into_iter().map(|bytes| (bytes, client.to)));
                    continue;
                }
                if own.stream.is_of_skins() {
                    let sent = own.skins(plant.sight().skin, figures);
                    out.extend(sent.into_iter().map(|bytes| (bytes, client.to)));
                    continue;
                }
                let sample = own.stream.sample(own.sequence, now, plant);
                own.sequence = own.sequence.wrapping_add(1);
                let Some((sample, entry)) = sample.zip(table::of_stream(own.stream)) else {
                    figures.skipped += 1;
                    continue;
                };
                figures.streamed += 1;
                out.push((encode(entry.path, &sample), client.to));
            }
        }
    }

    /// The lease, as told to clients.
    pub(super) fn lease(&self) -> Sent {
        Sent::count(self.limits.lease_s.into())
    }

    /// Clients with a lease.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Streams of all clients.
    pub(super) fn streams(&self) -> usize {
        self.list.iter().map(|client| client.streams.len()).sum()
    }
}

fn busy(text: String) -> Refused {
    Refused { code: Code::Busy, text }
}
