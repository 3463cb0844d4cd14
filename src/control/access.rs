//! Who may talk to the daemon, and what they may do.
//!
//! Thread: control.

use std::net::IpAddr;
use std::str::FromStr;

/// A network: an address and how many of its leading bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    address: IpAddr,
    prefix: u32,
}

/// What a client may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Nothing but halt.
    Stranger,
    /// Ask, subscribe, halt.
    Observer,
    /// Everything.
    Controller,
}

/// Why a text is not a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a network; write an address such as 192.168.1.20, or a network such as 192.168.1.0/24 or fd00::/8")]
pub struct NotANetwork;

impl FromStr for Network {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| NotANetwork)?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(longest), |prefix| prefix.parse().map_err(|_| NotANetwork))?;
        if prefix > longest { Err(NotANetwork) } else { Ok(Self { address, prefix }) }
    }
}

impl Network {
    /// True when `address` is in it. IPv4 written as IPv6 counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.checked_shr(32 - self.prefix).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = own.to_bits() ^ other.to_bits();
                differing.checked_shr(128 - self.prefix).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

/// What a client at `address` may do: read-only networks first, so that a part of a network can be held back.
#[must_use]
pub fn role_of(address: IpAddr, controllers: &[Network], observers: &[Network]) -> Role {
    let listed = |networks: &[Network]| networks.iter().any(|network| network.contains(address));
    if listed(observers) {
        Role::Observer
    } else if address.to_canonical().is_loopback() || listed(controllers) {
        Role::Controller
    } else {
        Role::Stranger
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_what_their_prefix_says() {
        let network = |text: &str| text.parse::<Network>().expect(text);
        let holds = |text: &str, address: &str| network(text).contains(address.parse().expect("an address"));
        assert!(holds("192.168.1.0/24", "192.168.1.77"));
        assert!(holds("192.168.1.0/24", "::ffff:192.168.1.77"));
        assert!(!holds("192.168.1.0/24", "192.168.2.77"));
        assert!(holds("0.0.0.0/0", "8.8.8.8"));
        assert!(!holds("0.0.0.0/0", "fd00::1"));
        assert!(holds("10.0.0.5", "10.0.0.5"));
        assert!(!holds("10.0.0.5", "10.0.0.4"));
        assert!(holds("fd00::/8", "fd12::1"));
        assert!(holds("::/0", "fe80::1"));
        for text in ["", "lab", "10.0.0.0/33", "10.0.0.0/", "fd00::/129", "10.0.0.0/-1"] {
            assert_eq!(text.parse::<Network>(), Err(NotANetwork), "{text}");
        }
    }

    #[test]
    fn a_part_of_a_network_can_be_held_back() {
        let controllers = ["10.0.0.0/8".parse().expect("a network")];
        let observers = ["10.7.0.0/16".parse().expect("a network")];
        let role = |address: &str| role_of(address.parse().expect("an address"), &controllers, &observers);
        assert_eq!(role("127.0.0.1"), Role::Controller);
        assert_eq!(role("::1"), Role::Controller);
        assert_eq!(role("10.1.0.1"), Role::Controller);
        assert_eq!(role("10.7.0.1"), Role::Observer);
        assert_eq!(role("192.168.0.1"), Role::Stranger);
    }
}
