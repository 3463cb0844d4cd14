//! Mutated bytes for every decoder: repeatable, a hundred thousand inputs each, more if `HAPTICD_FUZZ_INPUTS` says so.
//!
//! Thread: none (tests).

use crate::math::Random;

/// Inputs per decoder in an ordinary run.
const INPUTS: u64 = 100_000;
/// Longest input, bytes.
const LONGEST: usize = 192;

/// Bytes written as hexadecimal digits; spaces are ignored.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let value = |digit: u8| char::from(digit).to_digit(16).expect("a hexadecimal digit") as u8;
    digits.chunks(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
}

fn inputs() -> u64 {
    std::env::var("HAPTICD_FUZZ_INPUTS").ok().and_then(|text| text.parse().ok()).unwrap_or(INPUTS)
}

fn below(random: &mut Random, end: usize) -> usize {
    (random.bits() % end.max(1) as u64) as usize
}

/// An input made from good frames by a few changes, or of nothing but noise.
fn mutated(random: &mut Random, frames: &[&[u8]], input: &mut Vec<u8>) {
    input.clear();
    for _ in 0..1 + below(random, 3) {
        input.extend_from_slice(frames[below(random, frames.len())]);
    }
    for _ in 0..below(random, 6) {
        let at = below(random, input.len());
        match random.bits() % 7 {
            0 => input[at] ^= 1 << (random.bits() % 8),
            1 => input[at] = random.bits() as u8,
            2 => input.insert(at, random.bits() as u8),
            3 if input.len() > 1 => drop(input.remove(at)),
            4 => input.truncate(at + 1),
            5 => input.extend_from_within(at..),
            _ => input.fill_with(|| random.bits() as u8),
        }
        input.truncate(LONGEST);
    }
}

trait FillWith {
    fn fill_with(&mut self, byte: impl FnMut() -> u8);
}

impl FillWith for Vec<u8> {
    fn fill_with(&mut self, byte: impl FnMut() -> u8) {
        self.as_mut_slice().fill_with(byte);
    }
}

/// Feeds mutated frames in pieces to one decoder that lives through all of them; after each, of two good frames the second
/// must be read. `feed` gives the number of frames it found.
pub(crate) fn survives<D: Default>(frames: &[&[u8]], good: &[u8], mut feed: impl FnMut(&mut D, &[u8]) -> usize) {
    let mut random = Random::new(0x5eed);
    let mut decoder = D::default();
    let mut input = Vec::new();
    for index in 0..inputs() {
        mutated(&mut random, frames, &mut input);
        let mut rest = input.as_slice();
        while !rest.is_empty() {
            let (piece, left) = rest.split_at(1 + below(&mut random, rest.len()));
            let _ = feed(&mut decoder, piece);
            rest = left;
        }
        let _ = feed(&mut decoder, good);
        assert!(feed(&mut decoder, good) >= 1, "input {index}: no frame after {input:02x?}");
    }
}
