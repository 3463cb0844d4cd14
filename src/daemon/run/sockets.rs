//! The daemon's sockets: opened before anything moves, so that a port in use is known at once.
//!
//! Thread: cold for opening; control for datagrams.

use super::viewer::{self, Viewer};
use crate::control::Outbox;
use crate::control::peer::Peer;
use crate::daemon::Failure;
use crate::files::config::Config;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, UdpSocket};

/// Room the kernel is asked to keep for datagrams that wait; without privileges it gives what `net.core.rmem_max` allows.
const RECEIVE_BYTES: usize = 4 << 20;

/// Sockets that are bound.
pub(super) struct Sockets {
    /// For OSC.
    pub(super) osc: UdpSocket,
    /// For OSCQuery and metrics.
    pub(super) query: TcpListener,
    /// For viewers, unless there are to be none.
    pub(super) viewer: Option<TcpListener>,
}

impl Sockets {
    /// Opens the ports of the configuration.
    ///
    /// # Errors
    /// When one is taken or not allowed; says which.
    pub(super) fn open(config: &Config) -> Result<Self, Failure> {
        let (config, shown) = (&config.osc, &config.viewer);
        let at = |port| SocketAddr::new(config.listen, port);
        let osc =
            UdpSocket::bind(at(config.port)).map_err(|error| unavailable("OSC", "port", at(config.port), &error))?;
        let query = TcpListener::bind(at(config.query_port))
            .map_err(|error| unavailable("OSCQuery", "query_port", at(config.query_port), &error))?;
        // Less room than asked for is no reason not to run. The first needs CAP_NET_ADMIN and ignores the limit of the system.
        if rustix::net::sockopt::set_socket_recv_buffer_size_force(&osc, RECEIVE_BYTES).is_err() {
            let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&osc, RECEIVE_BYTES);
        }
        let calm = osc.set_nonblocking(true).and_then(|()| query.set_nonblocking(true));
        calm.map_err(|error| Failure::Port(format!("the sockets cannot be used: {error}")))?;
        let viewer = shown.enabled.then(|| viewer::open(config.listen, shown.port)).transpose();
        let viewer = viewer.map_err(|error| unavailable("the viewer", "viewer_port", at(shown.port), &error))?;
        Ok(Self { osc, query, viewer })
    }

    /// Where they really are: OSC, OSCQuery.
    ///
    /// # Errors
    /// When the system does not say.
    pub(super) fn addresses(&self) -> Result<(SocketAddr, SocketAddr), Failure> {
        let addresses = self.osc.local_addr().and_then(|osc| Ok((osc, self.query.local_addr()?)));
        addresses.map_err(|error| Failure::Port(format!("the sockets have no address: {error}")))
    }
}

fn unavailable(what: &str, key: &str, at: SocketAddr, error: &io::Error) -> Failure {
    let flag = key.replace('_', "-");
    let text = match error.kind() {
        ErrorKind::AddrInUse => format!(
            "{what} cannot listen on {at}: the port is in use, perhaps by another hapticd. End that program, or choose \
             another port with --{flag} or `{key}` in the configuration"
        ),
        ErrorKind::AddrNotAvailable => format!(
            "{what} cannot listen on {at}: this machine has no such address. Correct `listen` in the configuration"
        ),
        ErrorKind::PermissionDenied => {
            format!("{what} may not listen on {at}: ports below 1024 need a right; choose another with --{flag}")
        }
        _ => format!("{what} cannot listen on {at}: {error}"),
    };
    Failure::Port(text)
}

/// Sends all that is in the box and empties it; gives how many datagrams were dropped because the system had no room for
/// them. The viewer counts its own losses.
pub(super) fn send(out: &mut Outbox, socket: &UdpSocket, viewer: &Viewer) -> u64 {
    let dropped = |(bytes, to): (Vec<u8>, Peer)| match to {
        Peer::Udp(address) => u64::from(socket.send_to(&bytes, address).is_err()),
        Peer::Web { id, .. } => {
            viewer.send(id, bytes);
            0
        }
    };
    out.drain(..).map(dropped).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_said_with_the_way_out() {
        let taken = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
        let port = taken.local_addr().expect("it has an address").port();
        let mut config = Config::default();
        (config.osc.port, config.osc.query_port, config.viewer.port) = (port, 0, 0);
        let said = Sockets::open(&config).err().expect("the port is taken").to_string();
        assert!(said.contains("in use") && said.contains("--port") && said.contains(&port.to_string()), "{said}");
        config.osc.port = 0;
        let free = Sockets::open(&config).expect("any port will do");
        let (osc, query) = free.addresses().expect("they are bound");
        assert!(osc.port() > 0 && query.port() > 0);
    }
}
