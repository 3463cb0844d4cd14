//! Baked fields as bytes: small, versioned, checked.
//!
//! Thread: cold.
//!
//! ```text
//!  "HAPTICDF"  version u32  hash of the source 16  length u64  payload  hash of all before 16      little-endian
//! ```
//!
//! The first hash says what the field was made from: who loads it states the description it expects, and a field made
//! from another one is stale. The last hash catches bytes that have changed. Both are FNV-1a over 128 bits: they guard
//! against mistakes, not against attackers, so every number read is checked before it is used.

use super::{Baked, BlockGrid, Cut, Input, Model, Network, NodeValue, Symmetry};
use crate::geometry::Aabb;
use crate::geometry::parts::Hand;
use crate::math::Vec3;

const MAGIC: &[u8; 8] = b"HAPTICDF";
const VERSION: u32 = 1;

/// Why bytes are not the field that is wanted. Each says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// Something else altogether.
    #[error("not a baked field: its first bytes are not HAPTICDF; make one with `hapticd bake`")]
    NotAField,
    /// From another version of the program.
    #[error("baked field of format {0}, this program reads format {VERSION}: make it again with `hapticd bake`")]
    Version(u32),
    /// The end is missing.
    #[error("the baked field is cut short: copy it again, or make it again with `hapticd bake`")]
    Truncated,
    /// Bytes have changed, or make no sense.
    #[error("the baked field is damaged: copy it again, or make it again with `hapticd bake`")]
    Damaged,
    /// Made from something else.
    #[error("the baked field is stale: it was made from other dimensions; make it again with `hapticd bake`")]
    Stale,
}

/// Hash of the description that a field was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceHash(pub [u8; 16]);

impl SourceHash {
    /// Of a description: everything that, when it changes, makes the field another.
    #[must_use]
    pub fn of(description: &str) -> Self {
        Self(fnv(description.as_bytes()))
    }
}

/// FNV-1a, 128 bits.
fn fnv(bytes: &[u8]) -> [u8; 16] {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in bytes {
        hash = (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    hash.to_le_bytes()
}

impl Baked {
    /// The field as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut payload = Writer(Vec::new());
        payload.head(self);
        match &self.model {
            Model::Profile(grid) => payload.byte(0).grid(grid),
            Model::Space(grid) => payload.byte(1).grid(grid),
            Model::Network(network) => payload.byte(2).network(network),
        };
        let mut all = MAGIC.to_vec();
        all.extend(VERSION.to_le_bytes());
        all.extend(self.source.0);
        all.extend((payload.0.len() as u64).to_le_bytes());
        all.extend(payload.0);
        let check = fnv(&all);
        all.extend(check);
        all
    }

    /// The field in `bytes`, which must have been made from the description whose hash is `source`.
    ///
    /// # Errors
    /// If the bytes are no field, of another version, cut short, damaged, or made from something else.
    pub fn from_bytes(bytes: &[u8], source: &SourceHash) -> Result<Self, FileError> {
        if bytes.len() < MAGIC.len() || &bytes[..MAGIC.len()] != MAGIC {
            return Err(FileError::NotAField);
        }
        let mut head = Reader(&bytes[MAGIC.len()..]);
        let version = u32::from_le_bytes(head.take()?);
        if version != VERSION {
            return Err(FileError::Version(version));
        }
        let made_from = SourceHash(head.take()?);
        let length = u64::from_le_bytes(head.take()?);
        let all = bytes.len() as u64 - head.0.len() as u64;
        let end = all.checked_add(length).and_then(|n| usize::try_from(n).ok()).ok_or(FileError::Truncated)?;
        let (before, check) = bytes.split_at_checked(end).ok_or(FileError::Truncated)?;
        if check.len() < 16 {
            return Err(FileError::Truncated);
        }
        if check != fnv(before) {
            return Err(FileError::Damaged);
        }
        if made_from != *source {
            return Err(FileError::Stale);
        }
        let mut payload = Reader(&before[before.len() - length as usize..]);
        let field = payload.field(made_from)?;
        if payload.0.is_empty() { Ok(field) } else { Err(FileError::Damaged) }
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn byte(&mut self, x: u8) -> &mut Self {
        self.0.push(x);
        self
    }

    fn count(&mut self, n: usize) -> &mut Self {
        self.0.extend((n as u64).to_le_bytes());
        self
    }

    fn numbers(&mut self, all: &[f64]) -> &mut Self {
        all.iter().for_each(|x| self.0.extend(x.to_le_bytes()));
        self
    }

    fn head(&mut self, field: &Baked) {
        match field.symmetry {
            Symmetry::None => self.byte(0),
            Symmetry::Round => self.byte(1),
            Symmetry::Helical { pitch, hand } => self.byte(if hand == Hand::Right { 2 } else { 3 }).numbers(&[pitch]),
        };
        self.numbers(&[field.band]).numbers(field.bounds.min.as_slice()).numbers(field.bounds.max.as_slice());
        self.count(field.cuts.len());
        for cut in &field.cuts {
            self.numbers(&[cut.radial, cut.offset]).numbers(&cut.normal);
        }
    }

    fn grid<const D: usize>(&mut self, grid: &BlockGrid<D>) -> &mut Self {
        self.numbers(&grid.low).numbers(&grid.step).numbers(&[grid.clearance]);
        grid.counts.iter().for_each(|n| self.0.extend((*n as u64).to_le_bytes()));
        self.count(grid.index.len());
        grid.index.iter().for_each(|k| self.0.extend(k.to_le_bytes()));
        self.values(&grid.centers).values(&grid.nodes)
    }

    fn values(&mut self, all: &[NodeValue]) -> &mut Self {
        self.count(all.len());
        all.iter().flatten().for_each(|x| self.0.extend(x.to_le_bytes()));
        self
    }

    fn network(&mut self, network: &Network) -> &mut Self {
        let input = network.input();
        self.numbers(&input.low).numbers(&input.high).numbers(&input.sides);
        self.numbers(&[input.clearance, input.unit, input.softness]);
        network.numbers().for_each(|x| self.0.extend(x.to_le_bytes()));
        self
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], FileError> {
        let (first, rest) = self.0.split_first_chunk::<N>().ok_or(FileError::Truncated)?;
        self.0 = rest;
        Ok(*first)
    }

    fn number(&mut self) -> Result<f64, FileError> {
        let x = f64::from_le_bytes(self.take()?);
        if x.is_finite() { Ok(x) } else { Err(FileError::Damaged) }
    }

    fn numbers<const N: usize>(&mut self) -> Result<[f64; N], FileError> {
        let mut all = [0.0; N];
        for x in &mut all {
            *x = self.number()?;
        }
        Ok(all)
    }

    /// A number of things of `size` bytes each, of which there cannot be more than there are bytes.
    fn count(&mut self, size: usize) -> Result<usize, FileError> {
        let n = u64::from_le_bytes(self.take()?);
        usize::try_from(n).ok().filter(|n| *n <= self.0.len() / size).ok_or(FileError::Damaged)
    }

    fn field(&mut self, source: SourceHash) -> Result<Baked, FileError> {
        let symmetry = match self.take::<1>()?[0] {
            0 => Symmetry::None,
            1 => Symmetry::Round,
            kind @ (2 | 3) => {
                let pitch = self.number()?;
                if !(pitch > 0.0) {
                    return Err(FileError::Damaged);
                }
                Symmetry::Helical { pitch, hand: if kind == 2 { Hand::Right } else { Hand::Left } }
            }
            _ => return Err(FileError::Damaged),
        };
        let band = self.number()?;
        let bounds = Aabb { min: Vec3::from(self.numbers::<3>()?), max: Vec3::from(self.numbers::<3>()?) };
        let count = self.count(40)?;
        let mut cuts = Vec::with_capacity(count);
        for _ in 0..count {
            let [radial, offset] = self.numbers()?;
            cuts.push(Cut { radial, normal: self.numbers()?, offset });
        }
        let model = match (self.take::<1>()?[0], symmetry.dimensions()) {
            (0, 2) => Model::Profile(self.grid()?),
            (1, 3) => Model::Space(self.grid()?),
            (2, _) => Model::Network(self.network(symmetry)?),
            _ => return Err(FileError::Damaged),
        };
        // A NaN was refused above, so this holds for every band that is no length.
        if band <= 0.0 { Err(FileError::Damaged) } else { Ok(Baked { symmetry, cuts, model, band, bounds, source }) }
    }

    fn grid<const D: usize>(&mut self) -> Result<BlockGrid<D>, FileError> {
        let (low, step, [clearance]) = (self.numbers()?, self.numbers()?, self.numbers()?);
        let mut counts = [0; D];
        for n in &mut counts {
            *n = usize::try_from(u64::from_le_bytes(self.take()?)).map_err(|_| FileError::Damaged)?;
        }
        let length = self.count(4)?;
        let mut index = Vec::with_capacity(length);
        for _ in 0..length {
            index.push(u32::from_le_bytes(self.take()?));
        }
        let grid = BlockGrid { low, step, counts, clearance, index, centers: self.values()?, nodes: self.values()? };
        if grid.is_sound() { Ok(grid) } else { Err(FileError::Damaged) }
    }

    fn values(&mut self) -> Result<Vec<NodeValue>, FileError> {
        let length = self.count(16)?;
        let mut all = Vec::with_capacity(length);
        for _ in 0..length {
            let mut value = NodeValue::default();
            for x in &mut value {
                *x = f32::from_le_bytes(self.take()?);
            }
            all.push(value);
        }
        Ok(all)
    }

    fn network(&mut self, symmetry: Symmetry) -> Result<Box<Network>, FileError> {
        let (low, high, sides) = (self.numbers()?, self.numbers()?, self.numbers()?);
        let [clearance, unit, softness] = self.numbers()?;
        let mut numbers = Vec::with_capacity(super::network::PARAMETERS);
        for _ in 0..super::network::PARAMETERS {
            numbers.push(f32::from_le_bytes(self.take()?));
        }
        let input = Input { symmetry, low, high, sides, clearance, unit, softness };
        Network::new(input, &numbers).ok_or(FileError::Damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DistanceField, GridSpec};
    use super::*;
    use proptest::prelude::*;

    const SOURCE: SourceHash = SourceHash([7; 16]);

    fn field(model: Model, symmetry: Symmetry) -> Baked {
        let bounds = Aabb { min: Vec3::repeat(-0.01), max: Vec3::repeat(0.01) };
        Baked { symmetry, cuts: vec![Cut::below(0.005)], model, band: 1e-3, bounds, source: SOURCE }
    }

    fn ball<const D: usize>(at: &[f64; D]) -> (f64, [f64; D]) {
        let r = at.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-9);
        (r - 0.004, at.map(|x| x / r))
    }

    fn fields() -> [Baked; 3] {
        let (spacing, band, clearance) = (5e-4, 1e-3, 2e-3);
        let profile = GridSpec { low: [0.0, -0.006], high: [0.006, 0.006], spacing, band, clearance };
        let space = GridSpec { low: [-0.006; 3], high: [0.006; 3], spacing, band, clearance };
        let symmetry = Symmetry::Helical { pitch: 0.002, hand: Hand::Left };
        let (low, high, sides) = ([0.003, 0.0, 0.0], [0.005, 0.002, 0.0], [-1.0, 1.0]);
        let input = Input { symmetry, low, high, sides, clearance, unit: 1e-3, softness: 0.01 };
        let numbers: Vec<f32> = (0..super::super::PARAMETERS).map(|k| (k as f32).sin()).collect();
        [
            field(Model::Profile(BlockGrid::new(&profile, ball).expect("a grid")), Symmetry::Round),
            field(Model::Space(BlockGrid::new(&space, ball).expect("a grid")), Symmetry::None),
            field(Model::Network(Network::new(input, &numbers).expect("a network")), symmetry),
        ]
    }

    #[test]
    fn a_field_survives_the_way_to_bytes_and_back() {
        for field in fields() {
            assert_eq!(Baked::from_bytes(&field.to_bytes(), &SOURCE), Ok(field));
        }
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // "foobar", FNV-1a of 128 bits.
        let published: u128 = 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18;
        assert_eq!(fnv(b"foobar"), published.to_le_bytes());
    }

    #[test]
    fn each_fault_has_its_name() {
        let bytes = fields()[2].to_bytes();
        let load = |bytes: &[u8]| Baked::from_bytes(bytes, &SOURCE).err();
        for length in 8..bytes.len() {
            assert_eq!(load(&bytes[..length]), Some(FileError::Truncated), "{length}");
        }
        assert_eq!(load(&bytes[..7]), Some(FileError::NotAField));
        assert_eq!(Baked::from_bytes(&bytes, &SourceHash([8; 16])), Err(FileError::Stale));
        let changed = |at: usize| {
            let mut other = bytes.clone();
            other[at] ^= 1;
            load(&other)
        };
        assert_eq!(changed(0), Some(FileError::NotAField));
        assert_eq!(changed(8), Some(FileError::Version(0)));
        for at in [13, 40, bytes.len() / 2, bytes.len() - 1] {
            assert_eq!(changed(at), Some(FileError::Damaged), "{at}");
        }
        assert!(FileError::Stale.to_string().contains("hapticd bake"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        /// Bytes that pass the checks of the frame but say anything at all: an error, or a field that answers.
        #[test]
        fn no_bytes_make_it_panic(which in 0..3_usize, edits in prop::collection::vec((0..400_usize, any::<u8>()), 1..8)) {
            let mut bytes = fields()[which].to_bytes();
            let end = bytes.len() - 16;
            for (at, byte) in edits {
                // Behind the length, mostly in the head of the payload.
                bytes[36 + at % (end - 36)] = byte;
            }
            let check = fnv(&bytes[..end]);
            bytes[end..].copy_from_slice(&check);
            if let Ok(field) = Baked::from_bytes(&bytes, &SOURCE) {
                for p in [Vec3::zeros(), Vec3::new(0.004, 0.0, 0.001), Vec3::new(1.0, -2.0, 3.0)] {
                    let _ = field.distance(&p);
                }
            }
        }
    }
}
