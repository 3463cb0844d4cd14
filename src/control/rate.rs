//! How much may be sent: a bucket of tokens for each client and one for each host, as many as are worth remembering.
//!
//! Thread: control.
//!
//! A client is an address and a port, and ports cost nothing: whoever sends from a thousand has a thousand full buckets. So each host
//! has one as well, [`HOST`] times as large.

use super::peer::{Host, Peer};
use crate::shared::{MonoNs, NS_PER_S};

/// Most clients whose use is remembered, and most hosts. Who is forgotten begins anew with a full bucket, so a crowd cannot starve
/// anyone.
const MOST: usize = 256;
/// A host may send as much as this many clients.
pub(super) const HOST: f64 = 4.0;
/// A client is told of its mistakes at most this often, where telling could go back and forth.
const TOLD_NS: u64 = NS_PER_S;

#[derive(Debug)]
struct Bucket<K> {
    of: K,
    tokens: f64,
    at: MonoNs,
    told: Option<MonoNs>,
}

/// Buckets of one size.
#[derive(Debug)]
struct Shelf<K> {
    list: Vec<Bucket<K>>,
    rate_hz: f64,
    burst: f64,
}

impl<K: Copy + PartialEq> Shelf<K> {
    fn new(rate_hz: f64, burst: f64) -> Self {
        Self { list: Vec::new(), rate_hz, burst }
    }

    /// The bucket of `of`, filled up to now.
    fn bucket(&mut self, of: K, now: MonoNs) -> &mut Bucket<K> {
        let found = self.list.iter().position(|bucket| bucket.of == of);
        let index = found.unwrap_or_else(|| {
            let new = Bucket { of, tokens: self.burst, at: now, told: None };
            if self.list.len() < MOST {
                self.list.push(new);
                return self.list.len() - 1;
            }
            let oldest = (0..self.list.len()).min_by_key(|&index| self.list[index].at).unwrap_or(0);
            self.list[oldest] = new;
            oldest
        });
        let (rate_hz, burst) = (self.rate_hz, self.burst);
        let bucket = &mut self.list[index];
        let earned = now.since(bucket.at) as f64 / NS_PER_S as f64 * rate_hz;
        bucket.tokens = (bucket.tokens + earned).min(burst);
        bucket.at = now;
        bucket
    }

    fn charge(&mut self, of: K, count: f64, now: MonoNs) {
        let burst = self.burst;
        let bucket = self.bucket(of, now);
        bucket.tokens = (bucket.tokens - count).max(-burst);
    }
}

/// The buckets of all clients and hosts.
#[derive(Debug)]
pub(super) struct Buckets {
    clients: Shelf<Peer>,
    hosts: Shelf<Host>,
}

impl Buckets {
    pub(super) fn new(rate_hz: f64, burst: f64) -> Self {
        Self { clients: Shelf::new(rate_hz, burst), hosts: Shelf::new(HOST * rate_hz, HOST * burst) }
    }

    /// Takes `count` tokens from the client and from its host; false, and nothing taken, when either has not so many.
    pub(super) fn take(&mut self, from: Peer, count: usize, now: MonoNs) -> bool {
        let count = count as f64;
        let client = self.clients.bucket(from, now);
        let host = self.hosts.bucket(from.host(), now);
        let enough = client.tokens >= count && host.tokens >= count;
        if enough {
            client.tokens -= count;
            host.tokens -= count;
        }
        enough
    }

    /// The largest part of a burst that one answer may be charged for before it is made.
    pub(super) fn most_at_once(&self) -> usize {
        (self.clients.burst / 2.0) as usize
    }

    /// Charges what an answer cost beyond what was taken for it.
    pub(super) fn charge(&mut self, from: Peer, count: usize, now: MonoNs) {
        self.clients.charge(from, count as f64, now);
        self.hosts.charge(from.host(), count as f64, now);
    }

    /// True at most once a second for each client.
    pub(super) fn may_tell(&mut self, from: Peer, now: MonoNs) -> bool {
        let bucket = self.clients.bucket(from, now);
        let may = bucket.told.is_none_or(|told| now.since(told) >= TOLD_NS);
        if may {
            bucket.told = Some(now);
        }
        may
    }

    /// Clients remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.clients.list.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(port: u16) -> Peer {
        std::net::SocketAddr::from(([127, 0, 0, 1], port)).into()
    }

    #[test]
    fn a_burst_is_let_through_and_then_the_rate() {
        let mut buckets = Buckets::new(100.0, 10.0);
        let taken = (0..50).filter(|_| buckets.take(client(1), 1, MonoNs(0))).count();
        assert_eq!(taken, 10);
        assert!(buckets.take(client(2), 1, MonoNs(0)), "another client has its own");
        let taken = (0..50).filter(|_| buckets.take(client(1), 1, MonoNs(NS_PER_S / 20))).count();
        assert_eq!(taken, 5);
        assert!(!buckets.take(client(1), 11, MonoNs(100 * NS_PER_S)), "more than a burst at once never goes through");
    }

    #[test]
    fn a_costly_answer_is_paid_for_and_the_debt_is_bounded() {
        let mut buckets = Buckets::new(100.0, 10.0);
        assert!(buckets.take(client(1), 1, MonoNs(0)));
        buckets.charge(client(1), 1_000_000, MonoNs(0));
        assert!(!buckets.take(client(1), 1, MonoNs(NS_PER_S / 10)), "the debt is ten tokens");
        assert!(buckets.take(client(1), 1, MonoNs(NS_PER_S / 10 + NS_PER_S / 50)));
    }

    #[test]
    fn a_crowd_is_remembered_in_part() {
        let mut buckets = Buckets::new(100.0, 10.0);
        let taken = (0..5000).filter(|port| buckets.take(client(*port), 1, MonoNs(u64::from(*port)))).count();
        assert_eq!(buckets.len(), MOST);
        // They are of one host, which has four bursts; five thousand nanoseconds earn nothing.
        assert_eq!(taken, 40);
        let other: Peer = std::net::SocketAddr::from(([127, 0, 0, 2], 1)).into();
        assert!(buckets.take(other, 1, MonoNs(5000)), "another host has its own");
    }

    #[test]
    fn a_client_is_told_once_a_second() {
        let mut buckets = Buckets::new(100.0, 10.0);
        assert!(buckets.may_tell(client(1), MonoNs(5)));
        assert!(!buckets.may_tell(client(1), MonoNs(NS_PER_S)));
        assert!(buckets.may_tell(client(2), MonoNs(NS_PER_S)));
        assert!(buckets.may_tell(client(1), MonoNs(NS_PER_S + 5)));
    }
}
