//! Stands in for systemd at the other end of the notify socket.
//!
//! As the real one: a datagram socket, by path or abstract, named to the service in `NOTIFY_SOCKET`; each datagram holds
//! lines `KEY=value`, of which several may come together; the watchdog's time is in `WATCHDOG_USEC`, its reader in
//! `WATCHDOG_PID`.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::time::{Duration, Instant};

/// One line of the service, and when it came.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) at: Instant,
}

/// The socket, and everything heard on it.
pub(crate) struct Notifications {
    socket: UnixDatagram,
    /// For `NOTIFY_SOCKET`.
    pub(crate) name: String,
    pub(crate) heard: Vec<Word>,
}

impl Notifications {
    /// A socket in the file system.
    pub(crate) fn at(path: &Path) -> Self {
        let socket = UnixDatagram::bind(path).expect("a socket");
        Self { socket, name: path.display().to_string(), heard: Vec::new() }
    }

    /// A socket without a file, as inside containers.
    pub(crate) fn abstract_named(name: &str) -> Self {
        let address = SocketAddr::from_abstract_name(name).expect("a name");
        let socket = UnixDatagram::bind_addr(&address).expect("a socket");
        Self { socket, name: format!("@{name}"), heard: Vec::new() }
    }

    /// Listens until a line is heard that is wanted, and returns it.
    pub(crate) fn wait(&mut self, within: Duration, wanted: impl Fn(&Word) -> bool) -> Option<Word> {
        let end = Instant::now() + within;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let before = self.heard.len();
            self.take(left);
            if let Some(word) = self.heard[before..].iter().find(|word| wanted(word)) {
                return Some(word.clone());
            }
        }
    }

    /// Listens for `KEY=value`.
    pub(crate) fn expect(&mut self, within: Duration, key: &str, value: &str) -> Word {
        let found = self.wait(within, |word| word.key == key && word.value == value);
        found.unwrap_or_else(|| panic!("no {key}={value}; heard {:#?}", self.heard))
    }

    /// How often a key was heard.
    pub(crate) fn count(&self, key: &str) -> usize {
        self.heard.iter().filter(|word| word.key == key).count()
    }

    fn take(&mut self, within: Duration) {
        let mut buffer = [0; 4096];
        self.socket.set_read_timeout(Some(within.max(Duration::from_millis(1)))).expect("a timeout");
        let Ok(count) = self.socket.recv(&mut buffer) else { return };
        let text = std::str::from_utf8(&buffer[..count]).expect("text");
        for line in text.lines() {
            let (key, value) = line.split_once('=').unwrap_or_else(|| panic!("not KEY=value: {line}"));
            self.heard.push(Word { key: key.to_owned(), value: value.to_owned(), at: Instant::now() });
        }
    }
}
