//! STL files, binary and text.
//!
//! Thread: cold.
//!
//! Many binary files begin with the word `solid`, which should mean text, so the size decides first: a file of exactly
//! `84 + 50 n` bytes, `n` being its count, is binary. The count is never trusted for memory: what is read is what is
//! there.

use super::weld::weld;
use super::{LengthUnit, MeshError, TriMesh, Weld};
use crate::math::Vec3;

const HEAD: usize = 84;
const RECORD: usize = 50;

/// Reads an STL file, binary or text.
///
/// # Errors
/// If the bytes are no STL file, or hold a coordinate that is no place; text errors name the line.
pub fn read_stl(bytes: &[u8], unit: LengthUnit, how: Weld) -> Result<TriMesh, MeshError> {
    let announced = bytes.get(80..HEAD).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let fits = announced.is_some_and(|n| bytes.len() as u64 == HEAD as u64 + RECORD as u64 * u64::from(n));
    if !fits && begins_with_solid(bytes) {
        return weld(read_text(bytes, unit)?.into_iter(), how);
    }
    match announced {
        Some(_) if fits => weld(bytes[HEAD..].chunks_exact(RECORD).map(|r| corners_of(r, unit)), how),
        Some(announced) => Err(MeshError::StlSize { announced, bytes: bytes.len() }),
        None => Err(MeshError::StlTooShort { bytes: bytes.len() }),
    }
}

fn begins_with_solid(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_start();
    text.len() >= 5 && text[..5].eq_ignore_ascii_case(b"solid")
}

/// The three corners of a binary record; its normal says nothing that they do not.
fn corners_of(record: &[u8], unit: LengthUnit) -> [Vec3; 3] {
    let number = |k: usize| {
        let b = &record[4 * k..4 * k + 4];
        unit.to_metres(f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])))
    };
    [3, 6, 9].map(|k| Vec3::new(number(k), number(k + 1), number(k + 2)))
}

/// Reads the text form, line by line.
fn read_text(bytes: &[u8], unit: LengthUnit) -> Result<Vec<[Vec3; 3]>, MeshError> {
    let text = String::from_utf8_lossy(bytes);
    let mut triangles = Vec::new();
    let mut corners: Option<Vec<Vec3>> = None;
    let (mut last, mut ended) = (0, false);
    for (line, content) in text.lines().enumerate().map(|(k, content)| (k + 1, content)) {
        let fail = |reason: String| Err(MeshError::Line { line, reason });
        let mut words = content.split_ascii_whitespace();
        let Some(first) = words.next() else { continue };
        last = line;
        match (first.to_ascii_lowercase().as_str(), &mut corners) {
            ("solid", None) => ended = false,
            ("endsolid", None) => ended = true,
            ("facet", None) => corners = Some(Vec::new()),
            ("outer" | "endloop", Some(_)) => {}
            ("vertex", Some(list)) if list.len() < 3 => match point(words, unit) {
                Some(p) => list.push(p),
                None => return fail("a vertex needs three numbers, as in `vertex 1.0 2.5e-1 -3`".into()),
            },
            ("vertex", Some(_)) => return fail("a facet has three vertices, this is the fourth".into()),
            ("endfacet", Some(list)) => match list[..] {
                [a, b, c] => {
                    triangles.push([a, b, c]);
                    corners = None;
                }
                _ => return fail(format!("a facet has three vertices, this one has {}", list.len())),
            },
            (word, _) => return fail(format!("`{}` does not belong here", word.chars().take(40).collect::<String>())),
        }
    }
    if corners.is_some() || !ended {
        let reason = "the text ends before `endsolid`: the file was cut short, export it again".into();
        return Err(MeshError::Line { line: last, reason });
    }
    Ok(triangles)
}

/// Three numbers as a point in metres.
pub(super) fn point<'a>(mut words: impl Iterator<Item = &'a str>, unit: LengthUnit) -> Option<Vec3> {
    let mut next = || words.next()?.parse::<f64>().ok().filter(|x| x.is_finite()).map(|x| unit.to_metres(x));
    Some(Vec3::new(next()?, next()?, next()?))
}

/// Unit normal of a triangle, zero where it has none.
fn facet_normal(mesh: &TriMesh, triangle: usize) -> Vec3 {
    mesh.area_normal(triangle).try_normalize(0.0).unwrap_or_else(Vec3::zeros)
}

/// The binary form. Coordinates are rounded to single precision; what has been read from a binary file is read back bit
/// for bit.
#[must_use]
pub fn write_stl(mesh: &TriMesh, unit: LengthUnit) -> Vec<u8> {
    let count = mesh.triangles().len();
    let mut bytes = Vec::with_capacity(HEAD + RECORD * count);
    bytes.extend_from_slice(&[0; 80]);
    // TriMesh holds fewer triangles than a u32 counts.
    bytes.extend_from_slice(&(count as u32).to_le_bytes());
    for triangle in 0..count {
        for x in &facet_normal(mesh, triangle) {
            bytes.extend_from_slice(&(*x as f32).to_le_bytes());
        }
        for x in mesh.corners(triangle).iter().flatten() {
            bytes.extend_from_slice(&(unit.of_metres(*x) as f32).to_le_bytes());
        }
        bytes.extend_from_slice(&[0; 2]);
    }
    bytes
}

/// The text form, with as many digits as bring the same double back.
#[must_use]
pub fn write_stl_text(mesh: &TriMesh, unit: LengthUnit) -> String {
    use std::fmt::Write as _;
    let mut text = String::from("solid part\n");
    for triangle in 0..mesh.triangles().len() {
        let n = facet_normal(mesh, triangle);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "facet normal {} {} {}\nouter loop", n.x, n.y, n.z);
        for p in mesh.corners(triangle).map(|p| p.map(|x| unit.of_metres(x))) {
            let _ = writeln!(text, "vertex {} {} {}", p.x, p.y, p.z);
        }
        text.push_str("endloop\nendfacet\n");
    }
    text.push_str("endsolid part\n");
    text
}
