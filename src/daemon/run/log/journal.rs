//! Events as entries of systemd's journal, with their fields.
//!
//! Thread: any but haptic for formatting; the log's own for sending.
//!
//! An entry is a datagram of lines `KEY=value`; a value of several lines is written as the key, a line break, its length in eight bytes,
//! little-endian, and the value (systemd, "Native Journal Protocol"). Fields of events get the prefix `HAPTICD_`.

use super::lossy::Lossy;
use std::fmt::{Debug, Write as _};
use std::io;
use std::os::unix::net::UnixDatagram;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Where the journal listens.
const SOCKET: &str = "/run/systemd/journal/socket";
/// Longest value, bytes: a datagram holds some 200 kB, and a picture of a mistake some kB.
const LONGEST: usize = 32 << 10;

/// Formats events for the journal.
pub(super) struct Journal(Lossy);

impl Journal {
    /// Connects to the journal.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn start() -> io::Result<(Self, Lossy)> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(SOCKET)?;
        let write = move |entry: &[u8]| {
            // A journal that restarts loses what it is sent meanwhile.
            let _ = socket.send(entry);
        };
        let lossy = Lossy::start(write, report)?;
        Ok((Self(lossy.clone()), lossy))
    }
}

/// The entry that states how many were lost.
fn report(lost: u64) -> Vec<u8> {
    let mut entry = Vec::new();
    put(&mut entry, "PRIORITY", "4");
    put(&mut entry, "SYSLOG_IDENTIFIER", "hapticd");
    put(&mut entry, "MESSAGE", &super::lost_lines(lost));
    entry
}

impl<S: Subscriber> Layer<S> for Journal {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let about = event.metadata();
        let priority = match *about.level() {
            Level::ERROR => "3",
            Level::WARN => "4",
            Level::INFO => "6",
            Level::DEBUG | Level::TRACE => "7",
        };
        let mut entry = Vec::with_capacity(512);
        put(&mut entry, "PRIORITY", priority);
        put(&mut entry, "SYSLOG_IDENTIFIER", "hapticd");
        put(&mut entry, "TARGET", about.target());
        if let (Some(file), Some(line)) = (about.file(), about.line()) {
            put(&mut entry, "CODE_FILE", file);
            put(&mut entry, "CODE_LINE", &line.to_string());
        }
        event.record(&mut Fields(&mut entry));
        self.0.push(entry);
    }
}

/// Writes the fields of an event into an entry.
struct Fields<'a>(&'a mut Vec<u8>);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            return put(self.0, "MESSAGE", value);
        }
        let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let name: String = field.name().chars().map(letter).collect();
        put(self.0, &format!("HAPTICD_{name}"), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write!(text, "{value:?}");
        self.record_str(field, &text);
    }
}

fn put(entry: &mut Vec<u8>, key: &str, value: &str) {
    let value = &value[..value.floor_char_boundary(LONGEST)];
    entry.extend(key.as_bytes());
    if value.contains('\n') {
        entry.push(b'\n');
        entry.extend((value.len() as u64).to_le_bytes());
    } else {
        entry.push(b'=');
    }
    entry.extend(value.as_bytes());
    entry.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_several_lines_states_its_length() {
        let mut entry = Vec::new();
        put(&mut entry, "MESSAGE", "one");
        put(&mut entry, "HAPTICD_TEXT", "a\nb");
        assert_eq!(entry, b"MESSAGE=one\nHAPTICD_TEXT\n\x03\0\0\0\0\0\0\0a\nb\n");
        let long = "x".repeat(2 * LONGEST);
        entry.clear();
        put(&mut entry, "MESSAGE", &long);
        assert_eq!(entry.len(), LONGEST + "MESSAGE=\n".len());
    }
}
