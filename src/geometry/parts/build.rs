//! Putting meshes together from rings and strands of vertices.
//!
//! Thread: cold.
//!
//! Every vertex is made once and every edge is used by the two faces that meet there, so what is closed on paper is
//! closed in the mesh, without welding.

use super::super::mesh::{MeshError, TriMesh};
use crate::math::Vec3;
use std::f64::consts::TAU;

/// A mesh being made.
#[derive(Default)]
pub(super) struct Builder {
    vertices: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
}

/// Vertices around the axis, anticlockwise seen from above, with their angles: rising, over less than a full turn.
#[derive(Clone)]
pub(super) struct Ring(pub(super) Vec<(f64, u32)>);

/// Vertices from below to above, each with a name that grows along the strand. Vertices of neighbouring strands with
/// the same name belong to one line of the surface and are joined.
pub(super) type Strand = Vec<(i64, u32)>;

/// Angle of facet `k` of `count`.
pub(super) fn angle(k: usize, count: usize) -> f64 {
    TAU * k as f64 / count as f64
}

impl Builder {
    pub(super) fn vertex(&mut self, p: Vec3) -> u32 {
        self.vertices.push(p);
        (self.vertices.len() - 1) as u32
    }

    /// The vertex at `(r, angle, z)`.
    pub(super) fn polar(&mut self, r: f64, angle: f64, z: f64) -> u32 {
        self.vertex(Vec3::new(r * angle.cos(), r * angle.sin(), z))
    }

    /// A round ring.
    pub(super) fn circle(&mut self, r: f64, z: f64, count: usize) -> Ring {
        Ring((0..count).map(|k| (angle(k, count), self.polar(r, angle(k, count), z))).collect())
    }

    fn face(&mut self, [a, b, c]: [u32; 3], flip: bool) {
        self.triangles.push(if flip { [a, c, b] } else { [a, b, c] });
    }

    fn length(&self, a: u32, b: u32) -> f64 {
        (self.vertices[a as usize] - self.vertices[b as usize]).norm_squared()
    }

    /// The quadrilateral `a b c d`, cut along its shorter diagonal.
    fn quad(&mut self, [a, b, c, d]: [u32; 4], flip: bool) {
        if self.length(a, c) <= self.length(b, d) {
            self.face([a, b, c], flip);
            self.face([a, c, d], flip);
        } else {
            self.face([a, b, d], flip);
            self.face([b, c, d], flip);
        }
    }

    /// The surface between two strands, seen from the side where `right` is on the right; from behind with `flip`.
    pub(super) fn between_strands(&mut self, left: &Strand, right: &Strand, flip: bool) {
        let (mut i, mut j) = (0, 0);
        loop {
            match (left.get(i + 1), right.get(j + 1)) {
                (None, None) => return,
                (Some(l), Some(r)) if l.0 == r.0 => {
                    self.quad([left[i].1, right[j].1, r.1, l.1], flip);
                    (i, j) = (i + 1, j + 1);
                }
                (Some(l), r) if r.is_none_or(|r| l.0 < r.0) => {
                    self.face([left[i].1, right[j].1, l.1], flip);
                    i += 1;
                }
                (_, Some(r)) => {
                    self.face([left[i].1, right[j].1, r.1], flip);
                    j += 1;
                }
                (Some(_), None) => return,
            }
        }
    }

    /// The surface between two rings: seen from outside when `lower` is the lower one of a wall, from below when it is
    /// the inner one of a disc. Each side of a ring is joined to the vertex of the other that it faces.
    pub(super) fn between_rings(&mut self, lower: &Ring, upper: &Ring) {
        let (n, m) = (lower.0.len(), upper.0.len());
        let at = |ring: &Ring, k: usize| {
            let (a, v) = ring.0[k % ring.0.len()];
            (a + TAU * (k / ring.0.len()) as f64, v)
        };
        // Where the k-th side begins to be the next one.
        let middle = |ring: &Ring, k: usize| at(ring, k).0 + at(ring, k + 1).0;
        let (mut i, mut j) = (0, 0);
        while i < n || j < m {
            let (a, b) = (at(lower, i).1, at(upper, j).1);
            let below = j == m || (i < n && middle(lower, i) <= middle(upper, j));
            if below {
                i += 1;
                self.face([a, at(lower, i).1, b], false);
            } else {
                j += 1;
                self.face([a, at(upper, j).1, b], false);
            }
        }
    }

    /// The disc inside a ring, seen from above; from below with `flip`.
    pub(super) fn disc(&mut self, ring: &Ring, flip: bool) {
        let z = ring.0.first().map_or(0.0, |(_, v)| self.vertices[*v as usize].z);
        let center = self.vertex(Vec3::new(0.0, 0.0, z));
        let next = ring.0.iter().cycle().skip(1);
        for ((_, a), (_, b)) in ring.0.iter().zip(next) {
            self.face([*a, *b, center], flip);
        }
    }

    /// The finished mesh; mirrored in the plane y = 0 if asked.
    pub(super) fn finish(self, mirrored: bool) -> Result<TriMesh, MeshError> {
        if !mirrored {
            return TriMesh::new(self.vertices, self.triangles);
        }
        let vertices = self.vertices.iter().map(|p| Vec3::new(p.x, -p.y, p.z)).collect();
        TriMesh::new(vertices, self.triangles.iter().map(|[a, b, c]| [*a, *c, *b]).collect())
    }
}
