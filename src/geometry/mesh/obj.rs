//! Wavefront OBJ files: vertices and faces. Texture, normals, groups and materials are passed over.
//!
//! Thread: cold.

use super::polygon::{CORNERS_MAX, triangulate};
use super::stl::point;
use super::{LengthUnit, MeshError, TriMesh};

/// Words that say nothing about the shape of the surface.
const PASSED_OVER: &[&str] = &[
    "vn",
    "vt",
    "vp",
    "g",
    "o",
    "s",
    "mg",
    "l",
    "p",
    "usemtl",
    "mtllib",
    "usemap",
    "maplib",
    "bevel",
    "c_interp",
    "d_interp",
    "lod",
    "shadow_obj",
    "trace_obj",
];

/// Reads an OBJ file. Faces with more than three corners are cut into triangles; indices may be negative, counted back
/// from the newest vertex. Vertices keep their order, also those no face uses.
///
/// # Errors
/// Names the first line that cannot be read.
pub fn read_obj(bytes: &[u8], unit: LengthUnit) -> Result<TriMesh, MeshError> {
    let text = String::from_utf8_lossy(bytes);
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    let mut joined = String::new();
    for (line, content) in text.lines().enumerate().map(|(k, content)| (k + 1, content)) {
        // A backslash at the end goes on in the next line.
        if let Some(part) = content.trim_ascii_end().strip_suffix('\\') {
            joined.push_str(part);
            joined.push(' ');
            continue;
        }
        joined.push_str(content);
        let content = joined.split('#').next().unwrap_or_default();
        let fail = |reason: String| MeshError::Line { line, reason };
        let mut words = content.split_ascii_whitespace();
        match words.next() {
            None => {}
            Some("v") => match point(words, unit) {
                Some(p) => vertices.push(p),
                None => return Err(fail("a vertex needs three numbers, as in `v 1.0 2.5e-1 -3`".into())),
            },
            Some("f") => {
                let corners = words.map(|word| index(word, vertices.len())).collect::<Result<Vec<_>, _>>();
                let corners = corners.map_err(fail)?;
                if !(3..=CORNERS_MAX).contains(&corners.len()) {
                    let reason = format!("a face has 3 to {CORNERS_MAX} corners, this one has {}", corners.len());
                    return Err(fail(reason));
                }
                triangulate(&vertices, &corners, &mut triangles);
            }
            Some(word) if PASSED_OVER.contains(&word) => {}
            Some(word) => {
                let word: String = word.chars().take(40).collect();
                return Err(fail(format!("`{word}` is not understood: export plain triangles or polygons")));
            }
        }
        joined.clear();
    }
    TriMesh::new(vertices, triangles)
}

/// The vertex a corner such as `7`, `7/1`, `7//3` or `-1/…` means, from 0.
fn index(word: &str, count: usize) -> Result<u32, String> {
    let number = word.split('/').next().unwrap_or_default();
    let given: i64 = number.parse().map_err(|_| format!("`{}` is no vertex number", quote(word)))?;
    let from_zero = if given < 0 { given.checked_add_unsigned(count as u64) } else { given.checked_sub(1) };
    match from_zero.and_then(|i| u32::try_from(i).ok()) {
        Some(i) if (i as usize) < count => Ok(i),
        _ => Err(format!("vertex {given} has not been given: {count} have, counted from 1")),
    }
}

fn quote(word: &str) -> String {
    word.chars().take(40).collect()
}

/// Writes vertices and faces with as many digits as bring the same doubles back. In metres every mesh is read back bit
/// for bit; in another unit every mesh that was read in that unit.
#[must_use]
pub fn write_obj(mesh: &TriMesh, unit: LengthUnit) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for p in mesh.vertices().iter().map(|p| p.map(|x| unit.of_metres(x))) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "v {} {} {}", p.x, p.y, p.z);
    }
    for [a, b, c] in mesh.triangles() {
        let _ = writeln!(text, "f {} {} {}", a + 1, b + 1, c + 1);
    }
    text
}
