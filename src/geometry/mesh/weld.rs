//! Welding: one vertex where a file has several in the same place.
//!
//! Thread: cold.
//!
//! STL repeats the corners of every triangle. Programs that write it from one list of vertices repeat them bit for bit;
//! others round differently on the two sides of an edge, and then a tolerance is needed.

use super::tri_mesh::is_place;
use super::{MeshError, TriMesh};
use crate::math::Vec3;
use std::collections::HashMap;

/// Which vertices are one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weld {
    /// Those with equal coordinates (−0 equals 0).
    Exact,
    /// Those within this many metres of one that came before. Triangles that shrink to an edge or a point are dropped.
    /// Less than 1e-12, or no number at all, means [`Weld::Exact`].
    Within(f64),
}

/// Cell of a grid, by the bits of a coordinate or by whole steps.
type Cell = [i64; 3];

/// Vertices found so far. The map is only ever asked for a key, never walked, so its order does not matter.
struct Welder {
    weld: Weld,
    vertices: Vec<Vec3>,
    cells: HashMap<Cell, Vec<u32>>,
}

impl Welder {
    fn index_of(&mut self, p: &Vec3) -> Result<u32, MeshError> {
        let cell = match self.weld {
            // Adding zero turns −0 into 0.
            Weld::Exact => [p.x, p.y, p.z].map(|x| (x + 0.0).to_bits() as i64),
            Weld::Within(tolerance) => [p.x, p.y, p.z].map(|x| (x / tolerance).floor() as i64),
        };
        let found = match self.weld {
            Weld::Exact => self.cells.get(&cell).and_then(|list| list.first()).copied(),
            Weld::Within(tolerance) => self.earliest_near(p, cell, tolerance),
        };
        if let Some(index) = found {
            return Ok(index);
        }
        let index = u32::try_from(self.vertices.len()).map_err(|_| MeshError::TooLarge)?;
        self.vertices.push(*p);
        self.cells.entry(cell).or_default().push(index);
        Ok(index)
    }

    /// The first vertex within `tolerance`, of those in the cell of `p` and the 26 around it.
    fn earliest_near(&self, p: &Vec3, cell: Cell, tolerance: f64) -> Option<u32> {
        let mut earliest = None;
        for step in 0..27 {
            let near = [cell[0] + step % 3 - 1, cell[1] + step / 3 % 3 - 1, cell[2] + step / 9 - 1];
            for &index in self.cells.get(&near).map_or(&[][..], Vec::as_slice) {
                let within = (self.vertices[index as usize] - p).norm() <= tolerance;
                if within && earliest.is_none_or(|e| index < e) {
                    earliest = Some(index);
                }
            }
        }
        earliest
    }
}

/// Indexes triangles given by their corners. Vertices are numbered in the order they first appear.
pub(super) fn weld(corners: impl Iterator<Item = [Vec3; 3]>, weld: Weld) -> Result<TriMesh, MeshError> {
    // A tolerance that is no positive number, or so small that cells outnumber integers, is exact equality.
    let weld = match weld {
        Weld::Within(tolerance) if tolerance.is_finite() && tolerance >= 1e-12 => Weld::Within(tolerance),
        _ => Weld::Exact,
    };
    let mut welder = Welder { weld, vertices: Vec::new(), cells: HashMap::new() };
    let mut triangles = Vec::new();
    for [a, b, c] in corners {
        // Cells are counted in integers, so this must come before them.
        if let Some(k) = [a, b, c].iter().position(|p| !is_place(p)) {
            return Err(MeshError::BadVertex { vertex: 3 * triangles.len() + k });
        }
        let [a, b, c] = [welder.index_of(&a)?, welder.index_of(&b)?, welder.index_of(&c)?];
        let collapsed = a == b || b == c || c == a;
        if weld == Weld::Exact || !collapsed {
            triangles.push([a, b, c]);
        }
    }
    TriMesh::new(welder.vertices, triangles)
}

impl TriMesh {
    /// The mesh with vertices in the same place made one, and vertices that no triangle uses left out.
    ///
    /// # Errors
    /// If no triangle is left.
    pub fn welded(&self, how: Weld) -> Result<Self, MeshError> {
        weld((0..self.triangles().len()).map(|t| self.corners(t)), how)
    }
}
