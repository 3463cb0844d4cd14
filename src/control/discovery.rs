//! Discovery: tells the local network by multicast DNS that OSC and OSCQuery are spoken here.
//!
//! Thread: control; the announcing itself runs on a thread of the `mdns-sd` crate.
//!
//! A daemon that only this machine can reach announces nothing: others would find what they cannot use. The host has a name
//! of its own beside the machine's, so that a responder for the machine's name, such as Avahi, has nothing to object to.

use mdns_sd::{IfKind, IfPredicate, Receiver, ServiceDaemon, ServiceInfo};
use std::net::IpAddr;
use std::time::Duration;

/// Service type of OSCQuery.
const OSC_QUERY: &str = "_oscjson._tcp.local.";
/// Service type of OSC over UDP.
const OSC: &str = "_osc._udp.local.";
/// Longest label of a DNS name, bytes.
const LABEL_MAX: usize = 63;
/// Longest wait for the words of goodbye, each.
const GOODBYE: Duration = Duration::from_millis(500);

/// What is announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// Name for people, such as `hapticd on lab-pc`.
    pub name: String,
    /// Name of the machine; the announced host is called after it.
    pub machine: String,
    /// Address the sockets are bound to, or an unspecified one for all.
    pub bound: IpAddr,
    /// Port of OSC.
    pub osc_port: u16,
    /// Port of OSCQuery.
    pub http_port: u16,
}

/// Why nothing is announced.
#[derive(Debug, thiserror::Error)]
pub enum AdvertError {
    /// Nobody else could connect.
    #[error(
        "bound to {0}, which only this machine reaches; nothing is announced. Listen on an address of the network first"
    )]
    Loopback(IpAddr),
    /// The system refused a socket, or the like.
    #[error("the service cannot be announced on the network: {0}. Clients can still connect by address")]
    Refused(#[from] mdns_sd::Error),
}

/// True when others than this machine can reach a socket bound to `bound`.
#[must_use]
pub fn should_advertise(bound: IpAddr) -> bool {
    !bound.to_canonical().is_loopback()
}

/// The host name that is announced for a machine, with `.local`. Requests may come in under it.
#[must_use]
pub fn host_name(machine: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let first = machine.split('.').next().unwrap_or_default();
    let label: String = first.chars().map(allowed).collect();
    let label = cut(label.trim_matches('-'), LABEL_MAX - "-hapticd".len()).trim_end_matches('-');
    if label.is_empty() { "hapticd.local".to_owned() } else { format!("{label}-hapticd.local") }
}

/// The longest beginning of `text` that has at most `most` bytes.
fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// An announcement that stands. Dropping it withdraws it.
pub struct Advert {
    daemon: ServiceDaemon,
    services: Vec<String>,
}

impl Advert {
    /// Announces both services, on the interfaces that `bound` belongs to.
    ///
    /// # Errors
    /// [`AdvertError`] when only this machine could connect, or the system refused.
    pub fn start(announcement: &Announcement) -> Result<Self, AdvertError> {
        let bound = announcement.bound.to_canonical();
        if !should_advertise(bound) {
            return Err(AdvertError::Loopback(bound));
        }
        let daemon = ServiceDaemon::new()?;
        // Nothing goes out on an interface that the sockets are not bound to.
        daemon.disable_interface(IfKind::All)?;
        daemon.enable_interface(interfaces(bound))?;
        let mut advert = Self { daemon, services: Vec::new() };
        for (kind, port) in [(OSC_QUERY, announcement.http_port), (OSC, announcement.osc_port)] {
            let service = service(announcement, bound, kind, port)?;
            let name = service.get_fullname().to_owned();
            advert.daemon.register(service)?;
            advert.services.push(name);
        }
        Ok(advert)
    }
}

impl Drop for Advert {
    fn drop(&mut self) {
        // Withdrawn as far as the network lets us; what is not expires by itself.
        for service in &self.services {
            wait(self.daemon.unregister(service));
        }
        wait(self.daemon.shutdown());
    }
}

fn wait<T>(done: mdns_sd::Result<Receiver<T>>) {
    if let Ok(done) = done {
        let _ = done.recv_timeout(GOODBYE);
    }
}

/// The interfaces that a socket bound to `bound` hears.
fn interfaces(bound: IpAddr) -> IfKind {
    IfKind::Predicate(IfPredicate::new(move |interface| {
        let address = interface.ip();
        let heard = match bound {
            IpAddr::V4(v4) if v4.is_unspecified() => address.is_ipv4(),
            IpAddr::V6(v6) if v6.is_unspecified() => true,
            one => address == one,
        };
        heard && !address.is_loopback()
    }))
}

fn service(announcement: &Announcement, bound: IpAddr, kind: &str, port: u16) -> mdns_sd::Result<ServiceInfo> {
    let shown: String = announcement.name.chars().filter(|c| !c.is_control()).collect();
    let name = match cut(shown.trim(), LABEL_MAX) {
        "" => "hapticd",
        name => name,
    };
    let host = format!("{}.", host_name(&announcement.machine));
    let none: &[(&str, &str)] = &[("txtvers", "1")];
    let mut service = if bound.is_unspecified() {
        ServiceInfo::new(kind, name, &host, "", port, none)?.enable_addr_auto()
    } else {
        ServiceInfo::new(kind, name, &host, bound, port, none)?
    };
    service.set_interfaces(vec![interfaces(bound)]);
    Ok(service)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn only_what_others_can_reach_is_announced() {
        for bound in ["127.0.0.1", "127.5.5.5", "::1", "::ffff:127.0.0.1"] {
            assert!(!should_advertise(ip(bound)), "{bound}");
        }
        for bound in ["0.0.0.0", "::", "192.168.1.7", "fe80::1", "::ffff:10.0.0.1"] {
            assert!(should_advertise(ip(bound)), "{bound}");
        }
    }

    #[test]
    fn loopback_is_refused_before_anything_is_sent() {
        let announcement = Announcement {
            name: "hapticd".to_owned(),
            machine: "lab-pc".to_owned(),
            bound: ip("127.0.0.1"),
            osc_port: 9740,
            http_port: 9741,
        };
        let refused = Advert::start(&announcement).err().expect("refused");
        assert!(refused.to_string().contains("only this machine"), "{refused}");
    }

    #[test]
    fn any_machine_name_makes_a_host_name() {
        for (machine, host) in [
            ("lab-pc", "lab-pc-hapticd.local"),
            ("Lab_PC.example.org", "lab-pc-hapticd.local"),
            ("müller", "m-ller-hapticd.local"),
            ("", "hapticd.local"),
            ("…", "hapticd.local"),
        ] {
            assert_eq!(host_name(machine), host);
        }
        let long = host_name(&"x".repeat(300));
        assert_eq!(long.len(), LABEL_MAX + ".local".len());
    }

    #[test]
    fn a_name_for_people_is_cut_to_what_dns_carries() {
        let made = |name: &str| {
            let announcement = Announcement {
                name: name.to_owned(),
                machine: "lab".to_owned(),
                bound: ip("192.168.1.7"),
                osc_port: 9740,
                http_port: 9741,
            };
            let service = service(&announcement, announcement.bound, OSC, 9740).expect("a service");
            assert_eq!((service.get_port(), service.get_hostname()), (9740, "lab-hapticd.local."));
            service.get_fullname().to_owned()
        };
        assert_eq!(made("hapticd on lab"), "hapticd on lab._osc._udp.local.");
        assert_eq!(made("\n\t"), "hapticd._osc._udp.local.");
        assert_eq!(made(&"ö".repeat(100)), format!("{}._osc._udp.local.", "ö".repeat(31)));
    }
}
