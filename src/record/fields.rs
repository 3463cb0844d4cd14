//! Fields of the records that are read, each checked against the bytes there are.
//!
//! Thread: any but haptic.
//!
//! The library reserves as much memory as a length claims before it looks whether the record has as many bytes: four bytes stand for
//! 4 GB. Here a length is only ever used to cut a slice. Layout: MCAP specification, "Records"; all numbers little-endian.

use std::collections::BTreeMap;

/// A number of `N` bytes, and what follows.
fn head<const N: usize>(data: &[u8]) -> Option<([u8; N], &[u8])> {
    data.split_first_chunk::<N>().map(|(number, rest)| (*number, rest))
}

/// Bytes with their number before them, and what follows.
fn counted(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = head::<4>(data)?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(length)).ok()?)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Number and topic of a channel; schema, encoding and metadata are not needed.
pub(super) fn channel(data: &[u8]) -> Option<(u16, String)> {
    let (id, rest) = head::<2>(data)?;
    let (_, rest) = head::<2>(rest)?;
    let (topic, _) = counted(rest)?;
    Some((u16::from_le_bytes(id), text(topic)))
}

/// Channel and data of a message, between which stand its sequence and two times.
pub(super) fn message(data: &[u8]) -> Option<(u16, &[u8])> {
    let (channel, rest) = head::<2>(data)?;
    Some((u16::from_le_bytes(channel), rest.get(20..)?))
}

/// Name and pairs of a metadata record.
pub(super) fn metadata(data: &[u8]) -> Option<(String, BTreeMap<String, String>)> {
    let (name, rest) = counted(data)?;
    let (mut pairs, _) = counted(rest)?;
    let mut all = BTreeMap::new();
    while !pairs.is_empty() {
        let (key, rest) = counted(pairs)?;
        let (value, rest) = counted(rest)?;
        all.insert(text(key), text(value));
        pairs = rest;
    }
    Some((text(name), all))
}

/// Name and text of an attachment: two times, name, media type, length and text, checksum.
pub(super) fn attachment(data: &[u8]) -> Option<(String, String)> {
    let (name, rest) = counted(data.get(16..)?)?;
    let (_, rest) = counted(rest)?;
    let (length, rest) = head::<8>(rest)?;
    let content = rest.get(..usize::try_from(u64::from_le_bytes(length)).ok()?)?;
    Some((text(name), text(content)))
}

/// A chunk: its checksum, its compression, and its records. Two times and the size without compression stand before.
pub(super) fn chunk(data: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let (checksum, rest) = head::<4>(data.get(24..)?)?;
    let (compression, rest) = counted(rest)?;
    let (length, rest) = head::<8>(rest)?;
    let length = usize::try_from(u64::from_le_bytes(length)).ok()?;
    (rest.len() == length).then_some((u32::from_le_bytes(checksum), compression, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_beyond_the_record_is_refused_and_reserves_nothing() {
        let endless = [0xff; 4];
        assert_eq!(channel(&[&[1, 0, 2, 0], &endless[..]].concat()), None);
        assert_eq!(metadata(&endless), None);
        assert_eq!(metadata(&[&[1, 0, 0, 0, b'a'], &endless[..]].concat()), None);
        assert_eq!(metadata(&[&[1, 0, 0, 0, b'a', 4, 0, 0, 0], &endless[..]].concat()), None);
        assert_eq!(chunk(&[&[0; 28], &endless[..]].concat()), None);
        assert_eq!(attachment(&[&[0; 16], &endless[..]].concat()), None);
        assert_eq!(message(&[0; 21]), None);
    }
}
