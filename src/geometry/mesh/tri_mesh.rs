//! The mesh itself: vertices in metres and triangles that index them.
//!
//! Thread: cold.

use super::super::Aabb;
use crate::math::{Pose, Vec3};

/// Farthest coordinate accepted, m. Beyond it squares of lengths lose the micrometres that contact is about.
const FARTHEST: f64 = 1e6;

/// True when a vertex may be there. A NaN is not below the bound either.
pub(super) fn is_place(p: &Vec3) -> bool {
    p.iter().all(|x| x.abs() <= FARTHEST)
}

/// Indexed triangles, counter-clockwise seen from outside. Every coordinate is finite and every index valid; nothing
/// else is promised: [`TriMesh::validate`] tells whether it bounds a solid.
#[derive(Clone, Debug, PartialEq)]
pub struct TriMesh {
    vertices: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
}

/// Why bytes or numbers are not a mesh.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeshError {
    /// There is nothing in it.
    #[error("the mesh has no triangle: export the surface of the part, not its edges or an empty selection")]
    Empty,
    /// A triangle names a vertex that is not there.
    #[error("triangle {triangle} names vertex {vertex}, but there are {count}")]
    NoSuchVertex {
        /// The triangle, from 0.
        triangle: usize,
        /// The vertex, from 0.
        vertex: u32,
        /// Number of vertices.
        count: usize,
    },
    /// A coordinate is not finite, or absurdly far away.
    #[error("vertex {vertex} is not a finite point within 1000 km of the origin: check the file and its unit")]
    BadVertex {
        /// The vertex, from 0.
        vertex: usize,
    },
    /// More than an index can count.
    #[error("more than a billion vertices or triangles: reduce the mesh")]
    TooLarge,
    /// A binary STL file that ends before its triangles do.
    #[error(
        "binary STL: the file announces {announced} triangles ({} bytes) but has {bytes} bytes: it was cut short or \
         is not an STL file; export it again",
        84 + 50 * u64::from(*announced)
    )]
    StlSize {
        /// Number of triangles in the head of the file.
        announced: u32,
        /// Size of the file.
        bytes: usize,
    },
    /// Too short to be anything.
    #[error("{bytes} bytes are too few for an STL file: a binary one has at least 84, a text one begins with `solid`")]
    StlTooShort {
        /// Size of the file.
        bytes: usize,
    },
    /// A line of a text file cannot be read.
    #[error("line {line}: {reason}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it and what to do.
        reason: String,
    },
}

impl TriMesh {
    /// A mesh of these vertices (m) and triangles (counter-clockwise from outside).
    ///
    /// # Errors
    /// If there is no triangle, an index is out of range, or a coordinate is not finite.
    pub fn new(vertices: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Result<Self, MeshError> {
        if triangles.is_empty() {
            return Err(MeshError::Empty);
        }
        let most = u32::MAX as usize / 4;
        if vertices.len() > most || triangles.len() > most {
            return Err(MeshError::TooLarge);
        }
        if let Some(vertex) = vertices.iter().position(|v| !is_place(v)) {
            return Err(MeshError::BadVertex { vertex });
        }
        let count = vertices.len();
        for (triangle, corners) in triangles.iter().enumerate() {
            if let Some(&vertex) = corners.iter().find(|v| **v as usize >= count) {
                return Err(MeshError::NoSuchVertex { triangle, vertex, count });
            }
        }
        Ok(Self { vertices, triangles })
    }

    /// The vertices, m.
    #[must_use]
    pub fn vertices(&self) -> &[Vec3] {
        &self.vertices
    }

    /// The triangles, as indices of vertices.
    #[must_use]
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// The corners of triangle `triangle`.
    ///
    /// # Panics
    /// If there is no such triangle.
    #[must_use]
    pub fn corners(&self, triangle: usize) -> [Vec3; 3] {
        self.triangles[triangle].map(|v| self.vertices[v as usize])
    }

    /// Bounds of the triangles' corners.
    #[must_use]
    pub fn aabb(&self) -> Aabb {
        Aabb::around(self.triangles.iter().flatten().map(|v| &self.vertices[*v as usize]))
    }

    /// Normal of a triangle times twice its area; zero for a degenerate one.
    pub(in super::super) fn area_normal(&self, triangle: usize) -> Vec3 {
        let [a, b, c] = self.corners(triangle);
        (b - a).cross(&(c - a))
    }

    /// Area of the surface, m².
    #[must_use]
    pub fn area(&self) -> f64 {
        (0..self.triangles.len()).map(|t| 0.5 * self.area_normal(t).norm()).sum()
    }

    /// The same surface seen from the other side: outside becomes inside.
    #[must_use]
    pub fn flipped(&self) -> Self {
        let triangles = self.triangles.iter().map(|[a, b, c]| [*a, *c, *b]).collect();
        Self { vertices: self.vertices.clone(), triangles }
    }

    /// The mesh in the frame that `pose` maps to.
    #[must_use]
    pub fn moved(&self, pose: &Pose) -> Self {
        let place = |p: &Vec3| pose.rotation * p + pose.translation.vector;
        Self { vertices: self.vertices.iter().map(place).collect(), triangles: self.triangles.clone() }
    }

    /// Both meshes as one; their shells stay apart.
    ///
    /// # Errors
    /// If together they are too large.
    pub fn joined(&self, other: &Self) -> Result<Self, MeshError> {
        let offset = u32::try_from(self.vertices.len()).map_err(|_| MeshError::TooLarge)?;
        let vertices = [self.vertices.as_slice(), &other.vertices].concat();
        let shifted = other.triangles.iter().map(|t| t.map(|v| v.saturating_add(offset)));
        let triangles = self.triangles.iter().copied().chain(shifted).collect();
        Self::new(vertices, triangles)
    }
}
