//! OSC on the wire: datagrams to messages, values to datagrams.
//!
//! Thread: control.
//!
//! Frames of bundles are walked here, with bounds, and every single message is given to `rosc`. By itself that decoder
//! follows bundles in bundles as deep as a datagram says, which exhausts the stack of a thread (a datagram of 64 KiB
//! ends the process), and it takes the sound beginning of a broken bundle for the whole, where a bundle must be done
//! whole or not at all. Arrays in arrays cost stack when they are dropped; no address takes an array, so none is let
//! through.

use super::plant::{Code, Refused};
use rosc::{OscMessage, OscPacket, OscType};

/// Longest datagram read, bytes.
pub const LONGEST: usize = 64 * 1024;
/// Longest datagram sent, bytes: fits an Ethernet frame.
pub const LONGEST_SENT: usize = 1472;
/// How deep bundles may be nested.
pub const DEEPEST: usize = 8;
/// Most messages in one datagram.
pub const MOST_MESSAGES: usize = 256;
/// Most arguments of one message.
pub const MOST_ARGUMENTS: usize = 64;

/// Every bundle begins so.
const BUNDLE: &[u8] = b"#bundle\0";
/// Marker of a bundle and its time tag, bytes.
const BUNDLE_HEAD: usize = 16;

/// A moment as OSC writes it: seconds since 1900 in the upper 32 bits, fractions below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ntp(pub u64);

impl Ntp {
    /// The tag that means "now".
    pub const IMMEDIATELY: Self = Self(1);

    /// The wall clock's time. Wraps around in 2036, as OSC's does.
    #[must_use]
    pub fn of(time: std::time::SystemTime) -> Self {
        const UNIX_EPOCH_S: u64 = 2_208_988_800;
        let since = time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let seconds = since.as_secs().wrapping_add(UNIX_EPOCH_S);
        Self((seconds << 32) | ((u64::from(since.subsec_nanos()) << 32) / 1_000_000_000))
    }

    /// Nanoseconds from `earlier` to here; zero when that is not ahead.
    #[must_use]
    pub fn ns_after(self, earlier: Self) -> u64 {
        let ahead = self.0.wrapping_sub(earlier.0).cast_signed();
        let ahead = u128::try_from(ahead).unwrap_or(0);
        u64::try_from((ahead * 1_000_000_000) >> 32).unwrap_or(u64::MAX)
    }
}

/// One argument as received.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    /// `i` or `h`.
    Int(i64),
    /// `f`: kept apart from `d`, because its rounding matters at the ends of a range.
    Single(f32),
    /// `d`.
    Double(f64),
    /// `s` or `S`.
    Text(String),
    /// `T` or `F`.
    Bool(bool),
    /// Any other type, which no address takes.
    Other,
    /// An impulse or a nil.
    Nothing,
}

/// One message as received.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Where it is addressed.
    pub address: String,
    /// What it carries.
    pub arguments: Vec<Received>,
}

/// One datagram as received. Nested bundles are part of the outermost one.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Time tag of a bundle; `None` for a single message.
    pub tag: Option<Ntp>,
    /// What is in it.
    pub messages: Vec<Message>,
}

fn bad(text: impl Into<String>) -> Refused {
    Refused { code: Code::BadArguments, text: text.into() }
}

/// Reads a datagram.
///
/// # Errors
/// Says what is wrong with it; nothing of it may then be done.
pub fn decode(bytes: &[u8]) -> Result<Packet, Refused> {
    if bytes.len() > LONGEST {
        return Err(bad(format!("a datagram of {} bytes; at most {LONGEST}", bytes.len())));
    }
    let tag = if bytes.starts_with(BUNDLE) { Some(tag_of(bytes)?) } else { None };
    let mut found = Vec::new();
    split(bytes, 0, tag.unwrap_or(Ntp::IMMEDIATELY), &mut found)?;
    let messages = found.into_iter().map(message).collect::<Result<_, _>>()?;
    Ok(Packet { tag, messages })
}

fn tag_of(bundle: &[u8]) -> Result<Ntp, Refused> {
    let tag = bundle.get(BUNDLE.len()..BUNDLE_HEAD).and_then(|tag| tag.try_into().ok());
    tag.map(|tag| Ntp(u64::from_be_bytes(tag))).ok_or_else(|| bad("a bundle without a time tag"))
}

/// Collects the messages of a packet, those of nested bundles too.
fn split<'a>(bytes: &'a [u8], depth: usize, outer: Ntp, found: &mut Vec<&'a [u8]>) -> Result<(), Refused> {
    if bytes.is_empty() || !bytes.len().is_multiple_of(4) {
        return Err(bad(format!("{} bytes; an OSC packet has a multiple of four, and at least four", bytes.len())));
    }
    if !bytes.starts_with(BUNDLE) {
        if found.len() == MOST_MESSAGES {
            return Err(bad(format!("more than {MOST_MESSAGES} messages in one datagram")));
        }
        found.push(bytes);
        return Ok(());
    }
    if depth == DEEPEST {
        return Err(bad(format!("bundles nested deeper than {DEEPEST}")));
    }
    let tag = tag_of(bytes)?;
    if tag > outer && tag != Ntp::IMMEDIATELY {
        return Err(bad("an inner bundle with a later time tag than the outer one; send it as a bundle of its own"));
    }
    let mut rest = &bytes[BUNDLE_HEAD..];
    while !rest.is_empty() {
        let (element, after) = element(rest).ok_or_else(|| bad("a bundle that is shorter than it says"))?;
        split(element, depth + 1, outer, found)?;
        rest = after;
    }
    Ok(())
}

/// The next element of a bundle, and what comes after it.
fn element(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (size, rest) = rest.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*size)).ok()?)
}

/// The text at the start, and what comes after its padding. The whole is a multiple of four bytes.
fn text_at(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    Some((&bytes[..end], bytes.get((end / 4 + 1) * 4..)?))
}

fn message(bytes: &[u8]) -> Result<Message, Refused> {
    if bytes.first() != Some(&b'/') {
        return Err(bad("neither a message, which begins with `/`, nor a bundle, which begins with `#bundle`"));
    }
    let (address, rest) = text_at(bytes).ok_or_else(|| bad("an address without an end"))?;
    if rest.is_empty() {
        // Old senders leave out the types when there are no arguments.
        let address = std::str::from_utf8(address).map_err(|_| bad("an address that is not UTF-8"))?;
        return Ok(Message { address: address.to_owned(), arguments: Vec::new() });
    }
    let (tags, _) = text_at(rest).ok_or_else(|| bad("argument types without an end"))?;
    if tags.first() != Some(&b',') {
        return Err(bad("argument types that do not begin with `,`"));
    }
    if tags.len() > MOST_ARGUMENTS + 1 {
        return Err(bad(format!("more than {MOST_ARGUMENTS} arguments")));
    }
    if tags.iter().any(|tag| b"[]".contains(tag)) {
        return Err(bad("an array; send its elements one after the other"));
    }
    // `S`, a symbol, is written as `s` is, and the decoder knows only that.
    let mut bytes = bytes.to_vec();
    let start = bytes.len() - rest.len();
    for tag in &mut bytes[start..start + tags.len()] {
        if *tag == b'S' {
            *tag = b's';
        }
    }
    match rosc::decoder::decode_udp(&bytes) {
        Ok(([], OscPacket::Message(OscMessage { addr, args }))) => {
            Ok(Message { address: addr, arguments: args.into_iter().map(Received::from).collect() })
        }
        Ok(_) => Err(bad("bytes left over after the last argument")),
        Err(_) => Err(bad("arguments that do not fit their types")),
    }
}

/// How many messages a datagram seems to hold, at least one and at most [`MOST_MESSAGES`]: told without reading them, so that they can
/// be charged for first.
#[must_use]
pub fn count(bytes: &[u8]) -> usize {
    let mut count = 0;
    count_below(bytes, 0, &mut count);
    count.clamp(1, MOST_MESSAGES)
}

fn count_below(bytes: &[u8], depth: usize, count: &mut usize) {
    if !bytes.starts_with(BUNDLE) || depth == DEEPEST {
        *count += 1;
        return;
    }
    let mut rest = bytes.get(BUNDLE_HEAD..).unwrap_or_default();
    while let Some((element, after)) = element(rest).filter(|_| *count < MOST_MESSAGES) {
        count_below(element, depth + 1, count);
        rest = after;
    }
}

/// True when the datagram holds a `halt`, wherever in it and whatever the rest: the socket loop asks before all else.
#[must_use]
pub fn is_halt(bytes: &[u8]) -> bool {
    halts(bytes, 0)
}

fn halts(bytes: &[u8], depth: usize) -> bool {
    if !bytes.starts_with(BUNDLE) {
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        return is_halt_address(&bytes[..end]);
    }
    let mut rest = bytes.get(BUNDLE_HEAD..).unwrap_or_default();
    while let Some((element, after)) = element(rest) {
        if depth < DEEPEST && halts(element, depth + 1) {
            return true;
        }
        rest = after;
    }
    false
}

/// True for the addresses of `halt`.
#[must_use]
pub fn is_halt_address(address: &[u8]) -> bool {
    matches!(address, b"/hapticd/halt" | b"/hapticd/estop")
}

impl From<OscType> for Received {
    fn from(value: OscType) -> Self {
        match value {
            OscType::Int(number) => Self::Int(number.into()),
            OscType::Long(number) => Self::Int(number),
            OscType::Float(number) => Self::Single(number),
            OscType::Double(number) => Self::Double(number),
            OscType::String(text) => Self::Text(text),
            OscType::Bool(yes) => Self::Bool(yes),
            OscType::Inf | OscType::Nil => Self::Nothing,
            _ => Self::Other,
        }
    }
}

impl Received {
    /// As a number.
    ///
    /// # Errors
    /// When it is none, or not finite.
    pub fn number(&self) -> Result<f64, Refused> {
        let number = match self {
            Self::Int(number) => *number as f64,
            Self::Single(number) => f64::from(*number),
            Self::Double(number) => *number,
            Self::Bool(yes) => f64::from(u8::from(*yes)),
            Self::Text(_) => return Err(bad("a text where a number is wanted; send it as i or f")),
            Self::Other | Self::Nothing => return Err(bad("a number is wanted; send it as i or f")),
        };
        if number.is_finite() { Ok(number) } else { Err(bad("a number that is not finite")) }
    }

    /// As a whole number.
    ///
    /// # Errors
    /// When it is none, or does not fit.
    pub fn whole(&self) -> Result<i32, Refused> {
        if let Self::Int(number) = self {
            return i32::try_from(*number).map_err(|_| bad(format!("{number} does not fit 32 bits")));
        }
        let number = self.number()?;
        let fits = number.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number);
        if fits { Ok(number as i32) } else { Err(bad(format!("{number} is not a whole number of 32 bits"))) }
    }

    /// As yes or no.
    ///
    /// # Errors
    /// When it is neither.
    pub fn switch(&self) -> Result<bool, Refused> {
        match self.number()? {
            0.0 => Ok(false),
            1.0 => Ok(true),
            other => Err(Refused { code: Code::OutOfRange, text: format!("{other} is neither 0 nor 1") }),
        }
    }

    /// As a text.
    ///
    /// # Errors
    /// When it is none.
    pub fn text(&self) -> Result<&str, Refused> {
        if let Self::Text(text) = self { Ok(text) } else { Err(bad("a text is wanted; send it as s")) }
    }
}

/// One argument to be sent. There are no others, because not every tool reads others. A blob must leave room for the rest.
#[derive(Clone, Debug, PartialEq)]
pub enum Sent {
    /// `i`.
    Int(i32),
    /// `f`.
    Float(f32),
    /// `s`.
    Text(String),
    /// `b`: for two streams that would not fit otherwise.
    Blob(Vec<u8>),
}

impl From<i32> for Sent {
    fn from(number: i32) -> Self {
        Self::Int(number)
    }
}

impl From<bool> for Sent {
    fn from(yes: bool) -> Self {
        Self::Int(yes.into())
    }
}

impl From<f64> for Sent {
    fn from(number: f64) -> Self {
        Self::Float(number as f32)
    }
}

impl From<&str> for Sent {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Sent {
    /// A count, held at the largest number there is.
    #[must_use]
    pub fn count(number: u64) -> Self {
        Self::Int(i32::try_from(number).unwrap_or(i32::MAX))
    }
}

/// A message as a datagram. Texts are cut until it is no longer than [`LONGEST_SENT`].
#[must_use]
pub fn encode(address: &str, arguments: &[Sent]) -> Vec<u8> {
    let mut longest = 1024;
    let has_text = arguments.iter().any(|argument| matches!(argument, Sent::Text(_)));
    loop {
        let bytes = encode_cut(address, arguments, longest);
        if bytes.len() <= LONGEST_SENT || longest == 0 || !has_text {
            return bytes;
        }
        longest /= 2;
    }
}

fn encode_cut(address: &str, arguments: &[Sent], longest: usize) -> Vec<u8> {
    let args = arguments.iter().map(|argument| match argument {
        Sent::Int(number) => OscType::Int(*number),
        Sent::Float(number) => OscType::Float(*number),
        Sent::Text(text) => OscType::String(cut(text, longest)),
        Sent::Blob(bytes) => OscType::Blob(bytes.clone()),
    });
    let message = OscMessage { addr: cut(address, longest), args: args.collect() };
    // Only a writer can fail, and a vector does not.
    rosc::encoder::encode(&OscPacket::Message(message)).unwrap_or_default()
}

/// The text up to so many bytes, without what would end it early for the receiver.
fn cut(text: &str, longest: usize) -> String {
    let text = text.replace('\0', " ");
    if text.len() <= longest {
        return text;
    }
    let end = (0..=longest).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    format!("{}…", &text[..end])
}
