//! How much one client may send: a bucket of tokens for each, as many buckets as are worth remembering.
//!
//! Thread: control.

use super::peer::Peer;
use crate::shared::{MonoNs, NS_PER_S};

/// Most clients whose use is remembered. Who is forgotten begins anew with a full bucket, so a crowd cannot starve
/// anyone.
const MOST: usize = 256;
/// A client is told of its mistakes at most this often, where telling could go back and forth.
const TOLD_NS: u64 = NS_PER_S;

#[derive(Debug)]
struct Bucket {
    from: Peer,
    tokens: f64,
    at: MonoNs,
    told: Option<MonoNs>,
}

/// The buckets of all clients.
#[derive(Debug)]
pub(super) struct Buckets {
    list: Vec<Bucket>,
    rate_hz: f64,
    burst: f64,
}

impl Buckets {
    pub(super) fn new(rate_hz: f64, burst: f64) -> Self {
        Self { list: Vec::new(), rate_hz, burst }
    }

    /// Takes `count` tokens; false when there are not so many.
    pub(super) fn take(&mut self, from: Peer, count: usize, now: MonoNs) -> bool {
        let (rate_hz, burst) = (self.rate_hz, self.burst);
        let bucket = self.bucket(from, now);
        let earned = now.since(bucket.at) as f64 / NS_PER_S as f64 * rate_hz;
        bucket.tokens = (bucket.tokens + earned).min(burst);
        bucket.at = now;
        let enough = bucket.tokens >= count as f64;
        if enough {
            bucket.tokens -= count as f64;
        }
        enough
    }

    /// Charges what an answer cost beyond the question: one that brings a hundred datagrams is not asked without end.
    pub(super) fn charge(&mut self, from: Peer, count: usize, now: MonoNs) {
        let burst = self.burst;
        let bucket = self.bucket(from, now);
        bucket.tokens = (bucket.tokens - count as f64).max(-burst);
    }

    /// True at most once a second for each client.
    pub(super) fn may_tell(&mut self, from: Peer, now: MonoNs) -> bool {
        let bucket = self.bucket(from, now);
        let may = bucket.told.is_none_or(|told| now.since(told) >= TOLD_NS);
        if may {
            bucket.told = Some(now);
        }
        may
    }

    fn bucket(&mut self, from: Peer, now: MonoNs) -> &mut Bucket {
        let found = self.list.iter().position(|bucket| bucket.from == from);
        let index = found.unwrap_or_else(|| {
            let new = Bucket { from, tokens: self.burst, at: now, told: None };
            if self.list.len() < MOST {
                self.list.push(new);
                return self.list.len() - 1;
            }
            let oldest = (0..self.list.len()).min_by_key(|&index| self.list[index].at).unwrap_or(0);
            self.list[oldest] = new;
            oldest
        });
        &mut self.list[index]
    }

    /// Buckets remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.list.len()
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
        for port in 0..5000 {
            assert!(buckets.take(client(port), 1, MonoNs(u64::from(port))));
        }
        assert_eq!(buckets.len(), MOST);
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
