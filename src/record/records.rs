//! The records of an MCAP file from beginning to end, those inside chunks among them.
//!
//! Thread: any but haptic.
//!
//! The library's own readers take a whole file for granted, panic on some damaged ones and reserve whatever memory a length claims. What is read here may come from a
//! PC that lost power: every length is checked, and the first thing that makes no sense is the end. A record is one byte for
//! its kind, eight for its length, and its body; a chunk's body holds records in turn.

use super::fields;
use crate::shared::ordinary_file;
use mcap::records::op;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// Longest record believed, bytes: ours are far shorter.
const RECORD_MAX: u64 = 64 << 20;

/// What comes next in a file.
pub(super) enum Next<'a> {
    /// A record: its kind and its body.
    Record(u8, &'a [u8]),
    /// The proper end.
    End,
    /// The end before its time, and why.
    CutShort(&'static str),
}

/// Reads records one after the other.
pub(super) struct Records {
    file: BufReader<File>,
    body: Vec<u8>,
    /// Records of the chunk at hand, and how far they are read.
    chunk: Vec<u8>,
    place: usize,
}

impl Records {
    /// Opens a file; `None` when it does not begin as MCAP does.
    pub(super) fn open(path: &Path) -> std::io::Result<Option<Self>> {
        let mut file = BufReader::new(ordinary_file::open(path)?);
        let mut magic = [0; mcap::MAGIC.len()];
        let begins = fill(&mut file, &mut magic)? && magic == mcap::MAGIC;
        Ok(begins.then(|| Self { file, body: Vec::new(), chunk: Vec::new(), place: 0 }))
    }

    /// The next record.
    pub(super) fn next(&mut self) -> std::io::Result<Next<'_>> {
        while self.place >= self.chunk.len() {
            let mut head = [0; 9];
            if !fill(&mut self.file, &mut head)? {
                return Ok(Next::CutShort("it ends without an end mark"));
            }
            let Some((kind, length)) = heading(&head) else {
                return Ok(Next::CutShort("a record in it is too long to be one"));
            };
            self.body.clear();
            // Grows with what is really there, not with what a damaged length claims.
            if (&mut self.file).take(length as u64).read_to_end(&mut self.body)? < length {
                return Ok(Next::CutShort("it ends in the middle of a record"));
            }
            match kind {
                // What follows repeats what was read.
                op::DATA_END | op::FOOTER => return Ok(Next::End),
                op::CHUNK => match unpack(&self.body) {
                    Some(records) => {
                        self.chunk.clear();
                        self.chunk.extend_from_slice(records);
                        self.place = 0;
                    }
                    None => return Ok(Next::CutShort("a chunk of it is damaged")),
                },
                kind => return Ok(Next::Record(kind, &self.body)),
            }
        }
        Ok(self.inside().unwrap_or(Next::CutShort("a chunk of it is damaged")))
    }

    fn inside(&mut self) -> Option<Next<'_>> {
        let rest = self.chunk.get(self.place..)?;
        let (head, rest) = rest.split_first_chunk::<9>()?;
        let (kind, length) = heading(head)?;
        let body = rest.get(..length)?;
        self.place += head.len() + length;
        Some(Next::Record(kind, body))
    }
}

/// Fills `bytes`; false when the file ends first.
fn fill(file: &mut impl Read, bytes: &mut [u8]) -> std::io::Result<bool> {
    match file.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Kind and length of a record, if it is of a length that can be.
fn heading(head: &[u8; 9]) -> Option<(u8, usize)> {
    let [kind, length @ ..] = *head;
    let length = Some(u64::from_le_bytes(length)).filter(|length| *length <= RECORD_MAX)?;
    Some((kind, usize::try_from(length).ok()?))
}

/// The records in a chunk, if they are as they were written; ours are never compressed.
fn unpack(body: &[u8]) -> Option<&[u8]> {
    let (checksum, compression, records) = fields::chunk(body)?;
    let intact = checksum == 0 || checksum == crc32(records);
    (compression.is_empty() && intact).then_some(records)
}

/// The checksum of chunks: CRC-32 as in Ethernet and zip, least significant bit first.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut n = 0;
        while n < 256 {
            let mut value = n as u32;
            let mut bit = 0;
            while bit < 8 {
                value = (value >> 1) ^ (0xedb8_8320 * (value & 1));
                bit += 1;
            }
            table[n] = value;
            n += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |crc, byte| (crc >> 8) ^ TABLE[usize::from(crc as u8 ^ byte)])
}

#[cfg(test)]
mod unit_tests {
    use super::crc32;

    #[test]
    fn the_checksum_is_the_known_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
