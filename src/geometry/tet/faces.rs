//! The surface of a mesh of tetrahedra: faces that belong to one of them only.
//!
//! Thread: cold.

use super::super::mesh::{MeshError, TriMesh};
use super::quality::FACES;
use super::tet_mesh::MIDSIDES;
use super::{Members, TetMesh};

/// The surface of a body of tetrahedra.
#[derive(Clone, Debug, PartialEq)]
pub struct Skin {
    /// The triangles over the body's nodes, counter-clockwise from outside, in the order of their tetrahedra.
    pub triangles: Vec<[u32; 3]>,
    /// The tetrahedron behind each triangle.
    pub tets: Vec<u32>,
    /// The nodes on the surface, sorted; midside nodes too.
    pub nodes: Vec<u32>,
}

impl Skin {
    /// The surface as a mesh of its own, and the body's node behind each of its vertices.
    ///
    /// # Errors
    /// When there is no surface.
    pub fn mesh(&self, body: &TetMesh) -> Result<(TriMesh, Vec<u32>), MeshError> {
        let mut corners: Vec<u32> = self.triangles.iter().flatten().copied().collect();
        corners.sort_unstable();
        corners.dedup();
        let place = |node: &u32| corners.binary_search(node).unwrap_or(0) as u32;
        let triangles = self.triangles.iter().map(|t| t.each_ref().map(place)).collect();
        let vertices = corners.iter().map(|node| body.nodes()[*node as usize]).collect();
        Ok((TriMesh::new(vertices, triangles)?, corners))
    }
}

/// A face of a tetrahedron: its corners sorted, the tetrahedron, and which of its faces.
pub(super) type Face = ([u32; 3], u32, u8);

/// All faces, those with the same corners next to each other.
pub(super) fn sorted_faces(mesh: &TetMesh) -> Vec<Face> {
    let mut faces: Vec<Face> = (0..)
        .zip(mesh.tets())
        .flat_map(|(tet, corners)| {
            (0..4).map(move |face: u8| {
                let mut key = FACES[usize::from(face)].map(|k| corners[k]);
                key.sort_unstable();
                (key, tet, face)
            })
        })
        .collect();
    faces.sort_unstable();
    faces
}

impl TetMesh {
    /// The faces that belong to one tetrahedron only.
    #[must_use]
    pub fn skin(&self) -> Skin {
        let faces = sorted_faces(self);
        let mut outer: Vec<(u32, u8)> =
            faces.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() == 1).map(|f| (f[0].1, f[0].2)).collect();
        outer.sort_unstable();
        let corners = |(tet, face): &(u32, u8)| FACES[usize::from(*face)].map(|k| self.tets()[*tet as usize][k]);
        let triangles: Vec<[u32; 3]> = outer.iter().map(corners).collect();
        let group = super::Group { name: String::new(), members: Members::Triangles(triangles.clone()) };
        let nodes = self.group_nodes(&group);
        Skin { triangles, tets: outer.iter().map(|(tet, _)| *tet).collect(), nodes }
    }

    /// The faces between two tetrahedra of different rank: those of the one with the higher rank, counter-clockwise from the other one.
    #[must_use]
    pub fn interfaces(&self, rank: impl Fn(u32) -> f64) -> Vec<[u32; 3]> {
        let faces = sorted_faces(self);
        let between = |pair: &[([u32; 3], u32, u8)]| match pair {
            [a, b] if rank(a.1) > rank(b.1) => Some((a.1, a.2)),
            [a, b] if rank(a.1) < rank(b.1) => Some((b.1, b.2)),
            _ => None,
        };
        let mut inner: Vec<(u32, u8)> = faces.chunk_by(|a, b| a.0 == b.0).filter_map(between).collect();
        inner.sort_unstable();
        let corners = |(tet, face): &(u32, u8)| FACES[usize::from(*face)].map(|k| self.tets()[*tet as usize][k]);
        inner.iter().map(corners).collect()
    }

    /// Triangles of the surface over all of its nodes: faces with midside nodes are four triangles.
    #[must_use]
    pub fn fine_skin(&self) -> Vec<[u32; 3]> {
        let skin = self.skin();
        if !self.is_quadratic() {
            return skin.triangles;
        }
        let midside = |tet: u32, a: u32, b: u32| {
            let corners = self.tets()[tet as usize];
            let side = MIDSIDES.iter().position(|[i, j]| {
                let ends = (corners[*i], corners[*j]);
                ends == (a, b) || ends == (b, a)
            });
            side.map_or(a, |side| self.midsides()[tet as usize][side])
        };
        let mut triangles = Vec::with_capacity(4 * skin.triangles.len());
        for ([a, b, c], tet) in skin.triangles.iter().zip(&skin.tets) {
            let (ab, bc, ca) = (midside(*tet, *a, *b), midside(*tet, *b, *c), midside(*tet, *c, *a));
            triangles.extend([[*a, ab, ca], [ab, *b, bc], [ca, bc, *c], [ab, bc, ca]]);
        }
        triangles
    }
}
