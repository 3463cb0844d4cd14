//! Whom the hub talks to: an address of a datagram, or a socket of the viewer's port.
//!
//! Thread: control.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Somebody who sends and is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Peer {
    /// By datagrams.
    Udp(SocketAddr),
    /// By a WebSocket.
    Web {
        /// Counts sockets since the daemon began; none is used twice.
        id: u64,
        /// Where it comes from.
        ip: IpAddr,
    },
}

/// A machine, as far as addresses tell: all ports of an IPv4 address, or of the 64 bits that a host of IPv6 can choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Host(IpAddr);

impl Host {
    /// The host at `address`.
    pub(super) fn at(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(v6) if !v6.is_loopback() => {
                Self(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into())
            }
            one => Self(one),
        }
    }
}

impl Peer {
    /// The host behind it, which may hold many peers.
    pub(super) fn host(&self) -> Host {
        Host::at(self.ip())
    }

    /// True for a program of this machine.
    pub(super) fn is_here(&self) -> bool {
        self.ip().to_canonical().is_loopback()
    }

    /// True when an address cannot be a forged one: a socket has shaken hands, and what comes from this machine comes from here.
    pub(super) fn is_certain(&self) -> bool {
        matches!(self, Self::Web { .. }) || self.is_here()
    }

    /// The host, by which it is judged.
    #[must_use]
    pub const fn ip(&self) -> IpAddr {
        match self {
            Self::Udp(address) => address.ip(),
            Self::Web { ip, .. } => *ip,
        }
    }
}

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Self {
        Self::Udp(address)
    }
}

/// A datagram's address stands for its peer where only datagrams are spoken of.
impl PartialEq<SocketAddr> for Peer {
    fn eq(&self, other: &SocketAddr) -> bool {
        *self == Self::Udp(*other)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(address) => address.fmt(f),
            Self::Web { id, ip } => write!(f, "viewer {id} at {ip}"),
        }
    }
}
