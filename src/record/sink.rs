//! One MCAP file, written in pieces that are each whole.
//!
//! Thread: recorder.
//!
//! Messages gather in memory until [`Sink::flush`] writes them as one chunk and syncs it. At every moment the file on disk is
//! a sequence of whole records, but for the chunk being written: whoever kills the program loses what came after the last
//! flush, and readers read the rest.

use super::place::{self, explain};
use super::schema::Topic;
use super::{Provenance, RecordError, Timing};
use mcap::records::{MessageHeader, Metadata};
use mcap::{Attachment, McapError, WriteOptions, Writer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Name of the metadata record with the facts of [`Provenance`].
pub(super) const METADATA: &str = "hapticd";
/// Names of the attachments.
pub(super) const ATTACHMENTS: [&str; 3] = ["scene.toml", "device.toml", "config.toml"];
/// Bytes of messages after which a chunk is closed, also when nobody flushes.
const CHUNK_BYTES: usize = 256 << 10;

/// A file being written.
pub(super) struct Sink {
    writer: Writer<BufWriter<File>>,
    /// The same file, to sync and to cut it.
    file: File,
    path: PathBuf,
    channels: [u16; Topic::ALL.len()],
    sequence: u32,
    /// Bytes of messages in the open chunk.
    open_bytes: usize,
    /// Up to here the file is a sequence of whole records.
    safe_bytes: u64,
}

impl Sink {
    /// Begins a recording in `file`: everything but messages.
    pub(super) fn begin(path: PathBuf, file: File, provenance: &Provenance) -> Result<Self, RecordError> {
        let failed = |why: String| RecordError::Create { path: path.clone(), why };
        let again = file.try_clone().map_err(|error| failed(explain(&error)))?;
        let options = WriteOptions::new()
            .profile("hapticd")
            .library(concat!("hapticd/", env!("CARGO_PKG_VERSION")))
            // Chunks are closed here, put together in memory and written whole.
            .chunk_size(None)
            .disable_seeking(true);
        let begun = Writer::with_options(BufWriter::new(file), options).and_then(|mut writer| {
            let channels = prepare(&mut writer, provenance)?;
            writer.flush()?;
            Ok((writer, channels))
        });
        let (writer, channels) = begun.map_err(|error| failed(reason(&error)))?;
        let mut sink =
            Self { writer, file: again, path: path.clone(), channels, sequence: 0, open_bytes: 0, safe_bytes: 0 };
        sink.flush()?;
        place::settle(&path);
        Ok(sink)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that are out of our hands and whole.
    pub(super) fn safe_bytes(&self) -> u64 {
        self.safe_bytes
    }

    /// Adds a message; `time_ns` since 1970.
    pub(super) fn write(&mut self, topic: Topic, time_ns: u64, data: &[u8]) -> Result<(), RecordError> {
        let channel_id = self.channels[topic as usize];
        self.sequence = self.sequence.wrapping_add(1);
        let header = MessageHeader { channel_id, sequence: self.sequence, log_time: time_ns, publish_time: time_ns };
        self.writer.write_to_known_channel(&header, data).map_err(|error| self.failed(&error))?;
        self.open_bytes += data.len();
        if self.open_bytes >= CHUNK_BYTES { self.close_chunk() } else { Ok(()) }
    }

    /// Writes what gathered as one chunk; a kill does not lose it any more, a power cut may.
    fn close_chunk(&mut self) -> Result<(), RecordError> {
        self.open_bytes = 0;
        self.writer.flush().map_err(|error| self.failed(&error))?;
        self.safe_bytes = self.file.stream_position().map_err(|error| self.failed(&McapError::Io(error)))?;
        Ok(())
    }

    /// Closes the chunk and waits until it is on disk.
    pub(super) fn flush(&mut self) -> Result<(), RecordError> {
        self.close_chunk()?;
        self.file.sync_data().map_err(|error| self.failed(&McapError::Io(error)))?;
        // A file without a name is lost with the last handle on it.
        if self.file.metadata().is_ok_and(|facts| facts.nlink() == 0) {
            return Err(RecordError::Vanished { path: self.path.clone() });
        }
        Ok(())
    }

    /// Ends the file with its index; gives its size.
    pub(super) fn finish(mut self) -> Result<u64, RecordError> {
        let finished = self.writer.finish().map_err(|error| reason(&error));
        let Self { writer, mut file, path, safe_bytes, .. } = self;
        let mut buffer = writer.into_inner();
        let mut close = || {
            buffer.flush()?;
            file.sync_data()?;
            file.stream_position()
        };
        finished.and_then(|_| close().map_err(|error| explain(&error))).map_err(|why| {
            cut(buffer, &file, safe_bytes);
            RecordError::Write { path, bytes: safe_bytes, why }
        })
    }

    /// Leaves the file as it was after the last flush: without an index, but readable.
    pub(super) fn abandon(self) {
        cut(self.writer.into_inner(), &self.file, self.safe_bytes);
    }

    fn failed(&self, error: &McapError) -> RecordError {
        RecordError::Write { path: self.path.clone(), bytes: self.safe_bytes, why: reason(error) }
    }
}

/// Drops what is still in memory and cuts off what was written by halves.
fn cut(buffer: BufWriter<File>, file: &File, safe_bytes: u64) {
    // Taken apart, it does not try to write once more.
    drop(buffer.into_parts());
    // When not even that works, readers meet half a chunk and stop there.
    let _ = file.set_len(safe_bytes).and_then(|()| file.sync_data());
}

/// Writes facts, files and channels; gives the numbers of the channels.
fn prepare(
    writer: &mut Writer<BufWriter<File>>,
    provenance: &Provenance,
) -> Result<[u16; Topic::ALL.len()], McapError> {
    let now = place::wall_ns();
    writer.write_metadata(&Metadata { name: METADATA.into(), metadata: facts(provenance) })?;
    let texts = [&provenance.scene_text, &provenance.device_text, &provenance.config_text];
    for (name, text) in ATTACHMENTS.into_iter().zip(texts).filter(|(_, text)| !text.is_empty()) {
        writer.attach(&Attachment {
            log_time: now,
            create_time: now,
            name: name.into(),
            media_type: "application/toml".into(),
            data: Cow::Borrowed(text.as_bytes()),
        })?;
    }
    let mut channels = [0; Topic::ALL.len()];
    for (number, topic) in channels.iter_mut().zip(Topic::ALL) {
        let schema = writer.add_schema(topic.schema(), "jsonschema", topic.schema_text().as_bytes())?;
        *number = writer.add_channel(schema, topic.address(), "json", &BTreeMap::new())?;
    }
    Ok(channels)
}

/// The facts of a recording as metadata.
fn facts(provenance: &Provenance) -> BTreeMap<String, String> {
    let pairs = [
        ("format", "hapticd-recording/1".to_string()),
        ("scene", provenance.scene_name.clone()),
        ("device", provenance.device_name.clone()),
        ("seed", provenance.seed.to_string()),
        ("skill", provenance.skill.clone()),
        ("version", provenance.version.clone()),
        ("kernel", provenance.kernel.clone()),
        ("timing", provenance.timing.word().to_string()),
        ("rate_hz", format!("{:?}", provenance.rate_hz)),
        ("force_limit_n", format!("{:?}", provenance.force_limit_n)),
        ("torque_limit_nm", format!("{:?}", provenance.torque_limit_nm)),
    ];
    pairs.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}

/// Takes the facts of a metadata record; what is missing or makes no sense keeps its default.
pub(super) fn take_facts(facts: &BTreeMap<String, String>, into: &mut Provenance) {
    let text = |key: &str| facts.get(key).cloned().unwrap_or_default();
    let number = |key: &str| facts.get(key).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
    into.scene_name = text("scene");
    into.device_name = text("device");
    into.seed = facts.get("seed").and_then(|text| text.parse().ok()).unwrap_or_default();
    into.skill = text("skill");
    into.version = text("version");
    into.kernel = text("kernel");
    into.timing = if text("timing") == Timing::Lockstep.word() { Timing::Lockstep } else { Timing::Live };
    into.rate_hz = number("rate_hz");
    into.force_limit_n = number("force_limit_n");
    into.torque_limit_nm = number("torque_limit_nm");
}

/// What went wrong, in words; what the system said where it said something.
fn reason(error: &McapError) -> String {
    match error {
        McapError::Io(error) => explain(error),
        other => other.to_string(),
    }
}
