//! Reduced models as files.
//!
//! Thread: cold.
//!
//! ```text
//!  "HAPTICDR"  version u32  hash of the source 16  payload  hash of all before 16      little-endian
//! ```
//!
//! The first hash says what the model was made from: who loads it states the source it expects, and a model made from
//! another is stale. The last catches bytes that have changed. Both are FNV-1a over 128 bits: they guard against
//! accidents.

use super::segment::ReducedModel;
use nalgebra::DMatrix;

const MAGIC: &[u8; 8] = b"HAPTICDR";
const VERSION: u32 = 2;
/// Most motions: beyond it a full matrix is no longer small.
const MOST: u64 = 4096;

/// Why bytes are not the reduced model that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReducedFileError {
    /// Something else.
    #[error("not a reduced model: make one with `hapticd bake reduce`")]
    NotAModel,
    /// Another version.
    #[error("a reduced model of version {0}, this program reads version 2: make it again with `hapticd bake reduce`")]
    Version(u32),
    /// Cut short or changed.
    #[error("the reduced model is damaged: make it again with `hapticd bake reduce`")]
    Damaged,
    /// A number is none.
    #[error("a number in the reduced model is not finite: make it again with `hapticd bake reduce`")]
    NotFinite,
    /// Made from something else.
    #[error("the reduced model was made from another mesh, material or plan: make it again with `hapticd bake reduce`")]
    Stale,
}

/// Hash of what a model is made from.
#[must_use]
pub fn source_hash(parts: &[&[u8]]) -> [u8; 16] {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in parts.iter().copied().flatten() {
        hash = (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    hash.to_le_bytes()
}

impl ReducedModel {
    /// The model as bytes, with the hash of what it was made from.
    #[must_use]
    pub fn to_bytes(&self, source: &[u8; 16]) -> Vec<u8> {
        let mut all = MAGIC.to_vec();
        all.extend(VERSION.to_le_bytes());
        all.extend(source);
        let count = |value: usize, all: &mut Vec<u8>| all.extend((value as u64).to_le_bytes());
        count(self.full_size, &mut all);
        count(self.sizes.len(), &mut all);
        self.sizes.iter().for_each(|size| count(*size, &mut all));
        count(self.nodes.len(), &mut all);
        self.nodes.iter().for_each(|node| all.extend(node.to_le_bytes()));
        let numbers = |list: &[f64], all: &mut Vec<u8>| list.iter().for_each(|x| all.extend(x.to_le_bytes()));
        for list in [&self.squares, &self.rates] {
            numbers(list, &mut all);
        }
        for matrix in [&self.weights, &self.basis] {
            numbers(matrix.as_slice(), &mut all);
        }
        count(self.hankel.len(), &mut all);
        numbers(&self.hankel, &mut all);
        let check = source_hash(&[&all]);
        all.extend(check);
        all
    }

    /// The model in `bytes`, which must have been made from the source with this hash, if one is stated.
    ///
    /// # Errors
    /// If the bytes are no model, of another version, damaged, or made from something else.
    pub fn from_bytes(bytes: &[u8], source: Option<&[u8; 16]>) -> Result<Self, ReducedFileError> {
        if !bytes.starts_with(MAGIC) {
            return Err(ReducedFileError::NotAModel);
        }
        let mut reader = Reader(&bytes[MAGIC.len()..]);
        let version = u32::from_le_bytes(reader.take()?);
        if version != VERSION {
            return Err(ReducedFileError::Version(version));
        }
        let made_from = reader.take::<16>()?;
        let body = bytes.len().checked_sub(16).ok_or(ReducedFileError::Damaged)?;
        if bytes[body..] != source_hash(&[&bytes[..body]]) {
            return Err(ReducedFileError::Damaged);
        }
        if source.is_some_and(|wanted| *wanted != made_from) {
            return Err(ReducedFileError::Stale);
        }
        reader.model()
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], ReducedFileError> {
        let (first, rest) = self.0.split_first_chunk::<N>().ok_or(ReducedFileError::Damaged)?;
        self.0 = rest;
        Ok(*first)
    }

    /// A count of things that are still to come.
    fn count(&mut self) -> Result<usize, ReducedFileError> {
        let count = u64::from_le_bytes(self.take()?);
        let fits = count <= self.0.len() as u64;
        usize::try_from(count).ok().filter(|_| fits).ok_or(ReducedFileError::Damaged)
    }

    fn numbers(&mut self, count: usize) -> Result<Vec<f64>, ReducedFileError> {
        let bytes = count.checked_mul(8).filter(|bytes| *bytes <= self.0.len());
        bytes.ok_or(ReducedFileError::Damaged)?;
        let numbers: Vec<f64> = (0..count).map(|_| self.take().map(f64::from_le_bytes)).collect::<Result<_, _>>()?;
        if numbers.iter().all(|x| x.is_finite()) { Ok(numbers) } else { Err(ReducedFileError::NotFinite) }
    }

    fn matrix(&mut self, rows: usize, columns: usize) -> Result<DMatrix<f64>, ReducedFileError> {
        let count = rows.checked_mul(columns).ok_or(ReducedFileError::Damaged)?;
        Ok(DMatrix::from_vec(rows, columns, self.numbers(count)?))
    }

    fn model(&mut self) -> Result<ReducedModel, ReducedFileError> {
        let full_size = u64::from_le_bytes(self.take()?) as usize;
        let segments = self.count()?;
        let sizes = (0..segments).map(|_| self.count()).collect::<Result<Vec<_>, _>>()?;
        let total = sizes.iter().fold(0_usize, |sum, size| sum.saturating_add(*size));
        if total as u64 > MOST || total == 0 {
            return Err(ReducedFileError::Damaged);
        }
        let count = self.count()?;
        let nodes = (0..count).map(|_| self.take().map(u32::from_le_bytes)).collect::<Result<Vec<_>, _>>()?;
        let (squares, rates, weights) = (self.numbers(total)?, self.numbers(total)?, self.matrix(total, 3)?);
        let basis = self.matrix(3 * nodes.len(), total)?;
        let length = self.count()?;
        let hankel = self.numbers(length)?;
        Ok(ReducedModel { sizes, squares, rates, weights, nodes, basis, hankel, full_size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> ReducedModel {
        let number = |i: usize, j: usize| (1 + i * 7 + j) as f64 * 0.1;
        ReducedModel {
            sizes: vec![1, 2],
            squares: vec![0.5, 2.0, 9.0],
            rates: vec![0.1, 0.2, 0.3],
            weights: DMatrix::from_fn(3, 3, number),
            nodes: vec![4, 9],
            basis: DMatrix::from_fn(6, 3, number),
            hankel: vec![3.0, 2.0],
            full_size: 60,
        }
    }

    #[test]
    fn a_model_comes_back_whole_and_only_for_its_source() {
        let source = source_hash(&[b"mesh", b"steel"]);
        let bytes = model().to_bytes(&source);
        let back = ReducedModel::from_bytes(&bytes, Some(&source)).expect("sound");
        assert_eq!(back.to_bytes(&source), bytes);
        assert_eq!((back.nodes, back.basis, back.hankel), (model().nodes, model().basis, model().hankel));
        let other = source_hash(&[b"mesh", b"brass"]);
        assert_eq!(ReducedModel::from_bytes(&bytes, Some(&other)).map(|_| ()), Err(ReducedFileError::Stale));
        assert!(ReducedModel::from_bytes(&bytes, None).is_ok());
    }

    #[test]
    fn numbers_that_are_not_finite_are_refused() {
        for wrong in [f64::NAN, f64::INFINITY] {
            let mut damaged = model();
            damaged.squares[1] = wrong;
            let bytes = damaged.to_bytes(&[0; 16]);
            assert_eq!(ReducedModel::from_bytes(&bytes, None).map(|_| ()), Err(ReducedFileError::NotFinite));
            let mut damaged = model();
            damaged.basis[(2, 1)] = wrong;
            let bytes = damaged.to_bytes(&[0; 16]);
            assert_eq!(ReducedModel::from_bytes(&bytes, None).map(|_| ()), Err(ReducedFileError::NotFinite));
        }
    }

    #[test]
    fn every_damage_is_noticed() {
        let bytes = model().to_bytes(&[0; 16]);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(ReducedModel::from_bytes(&damaged, None).is_err(), "byte {at}");
            assert!(ReducedModel::from_bytes(&bytes[..at], None).is_err(), "cut at {at}");
        }
    }
}
