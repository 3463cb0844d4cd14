//! Where an answer goes: to the sender, or to another port of the sender's own host.
//!
//! Thread: control.
//!
//! A message may end with a text `osc.udp://host:port/`, or with a host and a port beyond the arguments its address
//! takes. Only the sender's own host is accepted, or the daemon could be used to flood others. A WebSocket is answered on
//! itself, whatever it says.

use super::osc::Received;
use super::peer::Peer;
use super::plant::{Code, Refused};
use super::wish::refused;
use std::net::{IpAddr, SocketAddr};

const SCHEME: &str = "osc.udp://";

/// How many arguments an address takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Takes {
    pub(super) least: usize,
    pub(super) most: usize,
}

/// The arguments proper, and where the answer goes. Without `takes`, only a URL is looked for.
pub(super) fn split(
    arguments: &[Received],
    takes: Option<Takes>,
    from: Peer,
    own_port: u16,
) -> Result<(&[Received], Peer), Refused> {
    let Peer::Udp(sender) = from else { return Ok((arguments, from)) };
    if let [before @ .., Received::Text(url)] = arguments
        && let Some(rest) = url.strip_prefix(SCHEME)
    {
        return Ok((before, target(rest, sender, own_port)?.into()));
    }
    if let ([before @ .., Received::Text(host), port], Some(takes)) = (arguments, takes)
        && let Ok(port) = port.whole()
        && arguments.len() > takes.most
        && (takes.least..=takes.most).contains(&before.len())
        && (host == "localhost" || host.parse::<IpAddr>().is_ok())
    {
        return Ok((before, checked(host, u16::try_from(port).unwrap_or(0), sender, own_port)?.into()));
    }
    Ok((arguments, from))
}

fn target(rest: &str, from: SocketAddr, own_port: u16) -> Result<SocketAddr, Refused> {
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = rest.rsplit_once(':').unwrap_or((rest, ""));
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    checked(host, port.parse().unwrap_or(0), from, own_port)
}

fn checked(host: &str, port: u16, from: SocketAddr, own_port: u16) -> Result<SocketAddr, Refused> {
    if port == 0 {
        return Err(refused(Code::BadArguments, "the reply needs a port: osc.udp://host:port/"));
    }
    let own = from.ip().to_canonical();
    let same = match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical() == own,
        Err(_) => host.is_empty() || (host == "localhost" && own.is_loopback()),
    };
    if !same {
        let text =
            format!("replies go to the sender's own host alone; write osc.udp://{own}:{port}/ or osc.udp://:{port}/");
        return Err(refused(Code::NotAllowed, text));
    }
    if port == own_port {
        return Err(refused(Code::NotAllowed, "that is the daemon's own port; listen on another"));
    }
    // All else of the sender's address stays, such as the interface of a link-local one.
    let mut to = from;
    to.set_port(port);
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Received {
        Received::Text(text.to_owned())
    }

    fn to(arguments: &[Received], takes: Takes) -> Result<(usize, u16), Code> {
        let from = SocketAddr::from(([10, 0, 0, 5], 7777));
        split(arguments, Some(takes), from.into(), 9740)
            .map(|(rest, to)| {
                let Peer::Udp(to) = to else { unreachable!("a datagram was answered by {to}") };
                assert_eq!(to.ip(), from.ip());
                (rest.len(), to.port())
            })
            .map_err(|refused| refused.code)
    }

    #[test]
    fn a_url_redirects_to_the_senders_host_alone() {
        let none = Takes { least: 0, most: 0 };
        assert_eq!(to(&[], none), Ok((0, 7777)));
        assert_eq!(to(&[text("osc.udp://10.0.0.5:9001/")], none), Ok((0, 9001)));
        assert_eq!(to(&[text("osc.udp://10.0.0.5:9001")], none), Ok((0, 9001)));
        assert_eq!(to(&[text("osc.udp://:9001/")], none), Ok((0, 9001)));
        assert_eq!(to(&[text("osc.udp://10.0.0.6:9001/")], none), Err(Code::NotAllowed));
        assert_eq!(to(&[text("osc.udp://localhost:9001/")], none), Err(Code::NotAllowed), "the sender is elsewhere");
        assert_eq!(to(&[text("osc.udp://example.org:9001/")], none), Err(Code::NotAllowed));
        assert_eq!(to(&[text("osc.udp://10.0.0.5:9740/")], none), Err(Code::NotAllowed), "the daemon itself");
        for bad in
            ["osc.udp://10.0.0.5/", "osc.udp://10.0.0.5:0/", "osc.udp://10.0.0.5:65536/", "osc.udp://", "osc.udp://:x/"]
        {
            assert_eq!(to(&[text(bad)], none), Err(Code::BadArguments), "{bad}");
        }
    }

    fn with_port(mut address: SocketAddr, port: u16) -> Peer {
        address.set_port(port);
        address.into()
    }

    #[test]
    fn a_socket_is_answered_on_itself() {
        let from = Peer::Web { id: 3, ip: std::net::Ipv4Addr::LOCALHOST.into() };
        let arguments = [text("osc.udp://localhost:9001/")];
        assert_eq!(split(&arguments, None, from, 0), Ok((&arguments[..], from)));
    }

    #[test]
    fn localhost_is_a_name_for_a_sender_on_this_machine() {
        let from = SocketAddr::from(([127, 0, 0, 1], 7777));
        let arguments = [text("osc.udp://localhost:9001/")];
        assert_eq!(split(&arguments, None, from.into(), 0).map(|(_, to)| to), Ok(with_port(from, 9001)));
        let from: SocketAddr = "[::1]:7777".parse().expect("an address");
        let arguments = [text("osc.udp://[::1]:9001/")];
        assert_eq!(split(&arguments, None, from.into(), 0).map(|(_, to)| to), Ok(with_port(from, 9001)));
    }

    #[test]
    fn host_and_port_count_only_beyond_the_arguments() {
        let (host, port) = (text("10.0.0.5"), Received::Int(9001));
        let one = Takes { least: 1, most: 1 };
        assert_eq!(to(&[text("peg"), host.clone(), port.clone()], one), Ok((1, 9001)));
        assert_eq!(to(&[text("peg"), text("10.0.0.6"), port.clone()], one), Err(Code::NotAllowed));
        let optional = Takes { least: 0, most: 1 };
        assert_eq!(to(&[host.clone(), port.clone()], optional), Ok((0, 9001)));
        assert_eq!(to(&[host.clone(), Received::Single(9001.0)], optional), Ok((0, 9001)), "Pd sends floats");
        let stream = Takes { least: 2, most: 2 };
        assert_eq!(to(&[text("energy"), Received::Int(100)], stream), Ok((2, 7777)), "a stream and its rate");
        assert_eq!(to(&[text("x"), port], optional), Ok((2, 7777)), "no host: wrong arguments, told to the sender");
    }
}
