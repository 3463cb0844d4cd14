//! Who may talk to the daemon: networks as written in the configuration, and what each may do.
//!
//! Thread: control.
//!
//! Neither OSC nor HTTP is authenticated, so the address of a peer is all there is to judge by. Loopback is let in;
//! everything else is refused unless a network of the configuration holds it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A range of addresses: `192.168.1.0/24`, `10.0.0.5`, `fd00::/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    /// Its first address; never an IPv4 address mapped into IPv6.
    base: IpAddr,
    /// How many leading bits are fixed.
    prefix: u8,
}

/// Why a text is not a [`Network`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// The part before the slash is no address.
    #[error("`{0}` is not an IP address; write one such as 192.168.1.20, or a network such as 192.168.1.0/24")]
    Address(String),
    /// The part after the slash is no length.
    #[error("`/{given}` is not a network length; write a whole number from 0 to {most}")]
    Length {
        /// As written.
        given: String,
        /// Bits of such an address.
        most: u8,
    },
    /// Bits beyond the network length are set: an address and its network were mixed up.
    #[error("`{given}` has bits set beyond its length; for the whole network write {network}, for the one host {host}")]
    HostBits {
        /// As written.
        given: String,
        /// The network it lies in.
        network: Network,
        /// The address alone.
        host: IpAddr,
    },
}

impl Network {
    /// The network of `prefix` leading bits that `address` lies in; longer prefixes count as the whole address.
    fn new(address: IpAddr, prefix: u8) -> Self {
        let base = match address {
            IpAddr::V4(v4) => IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask_v4(prefix))),
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask_v6(prefix))),
        };
        Self { base, prefix: prefix.min(bits(address)) }
    }

    /// True when `address` lies in it. An IPv4 peer of an IPv6 socket counts as the IPv4 address it is.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address.to_canonical()) {
            (IpAddr::V4(base), IpAddr::V4(peer)) => peer.to_bits() & mask_v4(self.prefix) == base.to_bits(),
            (IpAddr::V6(base), IpAddr::V6(peer)) => peer.to_bits() & mask_v6(self.prefix) == base.to_bits(),
            _ => false,
        }
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn mask_v4(prefix: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0)
}

fn mask_v6(prefix: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(prefix.min(128))).unwrap_or(0)
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let written: IpAddr = address.parse().map_err(|_| NetworkError::Address(address.to_owned()))?;
        let Some(length) = length else {
            let host = written.to_canonical();
            return Ok(Self::new(host, bits(host)));
        };
        let most = bits(written);
        let digits = !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit());
        let prefix = length.parse::<u8>().ok().filter(|n| digits && *n <= most);
        let prefix = prefix.ok_or_else(|| NetworkError::Length { given: length.to_owned(), most })?;
        // A mapped IPv4 network is an IPv4 network once its length reaches into the IPv4 part; a wider one holds none.
        let mapped = written.to_canonical() != written && prefix >= 96;
        let network = if mapped { Self::new(written.to_canonical(), prefix - 96) } else { Self::new(written, prefix) };
        let host = if mapped { written.to_canonical() } else { written };
        if network.base == host {
            Ok(network)
        } else {
            Err(NetworkError::HostBits { given: text.to_owned(), network, host })
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

/// What a peer may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Nothing but halt.
    Refused,
    /// Look, and stop.
    ReadOnly,
    /// Everything.
    Control,
}

/// Who may do what, from the configuration. The default lets in loopback alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Networks whose hosts may do everything.
    pub allow: Vec<Network>,
    /// Networks whose hosts may look. Where both lists hold a host, it may only look: the safer word counts.
    pub read_only: Vec<Network>,
}

impl Access {
    /// What the peer at `address` may do.
    #[must_use]
    pub fn level(&self, address: IpAddr) -> Level {
        let within = |networks: &[Network]| networks.iter().any(|network| network.contains(address));
        if within(&self.read_only) {
            Level::ReadOnly
        } else if address.to_canonical().is_loopback() || within(&self.allow) {
            Level::Control
        } else {
            Level::Refused
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn network(text: &str) -> Network {
        text.parse().expect(text)
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_network_holds_its_first_and_last_address_and_not_their_neighbours() {
        for (net, inside, outside) in [
            ("192.168.1.0/24", vec!["192.168.1.0", "192.168.1.255"], vec!["192.168.0.255", "192.168.2.0"]),
            ("10.0.0.5", vec!["10.0.0.5"], vec!["10.0.0.4", "10.0.0.6"]),
            ("0.0.0.0/0", vec!["0.0.0.0", "255.255.255.255"], vec!["::1", "2001:db8::1"]),
            ("172.16.0.0/12", vec!["172.16.0.0", "172.31.255.255"], vec!["172.15.255.255", "172.32.0.0"]),
            ("fd00::/8", vec!["fd00::", "fdff:ffff::1"], vec!["fc00::1", "fe00::", "10.0.0.1"]),
            ("2001:db8::7", vec!["2001:db8::7"], vec!["2001:db8::6"]),
            ("::/0", vec!["::", "fe80::1"], vec!["10.0.0.1"]),
        ] {
            let net = network(net);
            inside.iter().for_each(|a| assert!(net.contains(ip(a)), "{net} holds {a}"));
            outside.iter().for_each(|a| assert!(!net.contains(ip(a)), "{net} does not hold {a}"));
        }
    }

    #[test]
    fn an_ipv4_peer_seen_through_an_ipv6_socket_is_the_same_peer() {
        assert!(network("192.168.1.0/24").contains(ip("::ffff:192.168.1.9")));
        assert!(!network("192.168.1.0/24").contains(ip("::ffff:192.168.2.9")));
        assert!(!network("::/0").contains(ip("::ffff:192.168.2.9")));
        assert_eq!(network("::ffff:192.168.1.0/120"), network("192.168.1.0/24"));
        assert_eq!(network("::ffff:192.168.1.9"), network("192.168.1.9"));
    }

    #[test]
    fn a_mistake_is_answered_with_what_to_write() {
        for (text, hint) in [
            ("", "not an IP address"),
            ("localhost", "not an IP address"),
            ("192.168.1", "not an IP address"),
            ("192.168.1.0/", "from 0 to 32"),
            ("192.168.1.0/33", "from 0 to 32"),
            ("192.168.1.0/+8", "from 0 to 32"),
            ("192.168.1.0/255.255.255.0", "from 0 to 32"),
            ("fd00::/129", "from 0 to 128"),
            ("fd00::/8/8", "from 0 to 128"),
            ("192.168.1.7/24", "write 192.168.1.0/24, for the one host 192.168.1.7"),
            ("fd00::1/64", "write fd00::/64"),
        ] {
            let error = text.parse::<Network>().expect_err(text).to_string();
            assert!(error.contains(hint), "{text}: {error}");
        }
    }

    #[test]
    fn loopback_controls_others_need_a_network_and_read_only_wins() {
        let none = Access::default();
        for local in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(none.level(ip(local)), Level::Control, "{local}");
        }
        for other in ["192.168.1.9", "::ffff:192.168.1.9", "fe80::1", "0.0.0.0", "::"] {
            assert_eq!(none.level(ip(other)), Level::Refused, "{other}");
        }
        let lab = Access { allow: vec![network("192.168.1.0/24")], read_only: vec![network("192.168.1.64/26")] };
        assert_eq!(lab.level(ip("192.168.1.9")), Level::Control);
        assert_eq!(lab.level(ip("::ffff:192.168.1.9")), Level::Control);
        assert_eq!(lab.level(ip("192.168.1.65")), Level::ReadOnly);
        assert_eq!(lab.level(ip("192.168.2.1")), Level::Refused);
        let one = Access { allow: vec![], read_only: vec![network("127.0.0.2")] };
        assert_eq!(one.level(ip("127.0.0.1")), Level::Control);
        assert_eq!(one.level(ip("127.0.0.2")), Level::ReadOnly, "also a program of this machine can be held back");
    }

    proptest! {
        #[test]
        fn a_network_is_what_its_text_says_bit_by_bit(base: u128, peer: u128, prefix in 0_u8..=128, v4: bool) {
            let make = |bits: u128| if v4 {
                IpAddr::V4(Ipv4Addr::from_bits(bits as u32))
            } else {
                IpAddr::V6(Ipv6Addr::from_bits(bits))
            };
            let (width, prefix) = if v4 { (32, prefix % 33) } else { (128, prefix) };
            // A mapped address is an IPv4 one and has its own test.
            prop_assume!(make(base).to_canonical() == make(base) && make(peer).to_canonical() == make(peer));
            let net = Network::new(make(base), prefix);
            let bit = |bits: u128, index: u8| (bits >> (width - 1 - u32::from(index))) & 1;
            let same = (0..prefix).all(|index| bit(base, index) == bit(peer, index));
            prop_assert_eq!(net.contains(make(peer)), same);
            prop_assert!(net.contains(make(base)));
            prop_assert_eq!(net.to_string().parse::<Network>(), Ok(net));
        }

        #[test]
        fn no_text_panics(text in ".{0,60}") {
            let _ = text.parse::<Network>();
        }
    }
}
