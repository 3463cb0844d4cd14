//! Whom the hub talks to: an address of a datagram, or a socket of the viewer's port.
//!
//! Thread: control.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

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

impl Peer {
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
