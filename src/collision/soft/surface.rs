//! The fixed part of a deformable body's surface: triangles, edges, what borders on what, thickness, tree topology.
//!
//! Thread: built cold; read from simulation.
//!
//! **Owners.** Every node and every edge belongs to exactly one of the triangles around it. Pairs of triangles from the broad
//! phase then test only the features that they own, so that no pair of features is tested twice (Curtis, Tamstorf and
//! Manocha 2008, representative triangles).

use super::tree::Tree;
use crate::math::Vec3;

/// Index of a neighbour that does not exist: the second triangle of a border edge.
pub(super) const NONE: u32 = u32::MAX;
/// Cosine of the greatest angle between the normals of two triangles of one smooth region: 30°. Keys of node contacts
/// carry the region instead of the triangle, so that a node sliding over a smooth surface keeps its key.
const SMOOTH: f64 = 0.866;
/// Rings of neighbours that are excluded from self-contact.
const RINGS: usize = 2;

/// An edge of the surface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// Its ends; the smaller index first.
    pub(super) ends: [u32; 2],
    /// The triangles on both sides; the second is [`NONE`] on a border.
    pub(super) faces: [u32; 2],
}

/// Triangles over surface points, built once from the rest state.
#[derive(Clone, Debug)]
pub struct SoftSurface {
    triangles: Vec<[u32; 3]>,
    points: usize,
    pub(super) edges: Vec<Edge>,
    /// Edges of each triangle; side `k` runs from corner `k` to corner `k + 1`.
    pub(super) sides: Vec<[u32; 3]>,
    /// Triangles around node `i`: `around[first[i]..first[i + 1]]`.
    first: Vec<u32>,
    around: Vec<u32>,
    /// Nodes within [`RINGS`] rings of node `i`, in order, itself included.
    near_first: Vec<u32>,
    near: Vec<u32>,
    /// Owned features of each triangle: bits 0–2 corners, bits 3–5 sides.
    pub(super) owned: Vec<u8>,
    /// Smooth region of each triangle.
    pub(super) region: Vec<u32>,
    /// Rest thickness of the body behind each triangle, m; infinite where nothing lies behind.
    pub(super) thickness: Vec<f64>,
    /// Rest area that each node stands for, m².
    pub(super) node_area: Vec<f64>,
    /// Rest area of each triangle, m².
    pub(super) face_area: Vec<f64>,
    /// Rest length of the longest side of each triangle, m.
    pub(super) face_size: Vec<f64>,
    pub(super) tree: Tree,
}

impl SoftSurface {
    /// `rest`: rest position of each surface point, m; `triangles`: indices, anticlockwise from outside.
    ///
    /// # Panics
    /// If a triangle names a point that does not exist.
    #[must_use]
    pub fn new(rest: &[Vec3], triangles: &[[u32; 3]]) -> Self {
        let tree = Tree::new(rest, triangles);
        let (edges, sides) = edges_of(triangles);
        let (first, around) = compressed(
            rest.len(),
            triangles.iter().zip(0..).flat_map(|(corners, face)| corners.map(|node| (node, face))).collect(),
        );
        let normal = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|i| rest[i as usize]);
            (b - a).cross(&(c - a))
        };
        let across: Vec<Vec3> = triangles.iter().map(normal).collect();
        let face_area: Vec<f64> = across.iter().map(|n| 0.5 * n.norm()).collect();
        let mut node_area = vec![0.0; rest.len()];
        for (corners, area) in triangles.iter().zip(&face_area) {
            corners.iter().for_each(|node| node_area[*node as usize] += area / 3.0);
        }
        let face_size = triangles
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|i| rest[i as usize]);
                (b - a).norm().max((c - b).norm()).max((a - c).norm())
            })
            .collect();
        let thickness = tree.thickness(rest, triangles, &across);
        let (near_first, near) = rings(rest.len(), &edges);
        Self {
            region: regions(&edges, &across),
            owned: owners(rest.len(), edges.len(), triangles, &sides),
            triangles: triangles.to_vec(),
            points: rest.len(),
            edges,
            sides,
            first,
            around,
            near_first,
            near,
            thickness,
            node_area,
            face_area,
            face_size,
            tree,
        }
    }

    /// The triangles, as indices of surface points.
    #[must_use]
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Number of surface points.
    #[must_use]
    pub fn points(&self) -> usize {
        self.points
    }

    /// Triangles around a node.
    pub(super) fn faces_about(&self, node: u32) -> &[u32] {
        &self.around[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    /// True when two nodes are too near along the surface to be tested against each other.
    pub(super) fn are_neighbours(&self, node: u32, other: u32) -> bool {
        let from = self.near_first[node as usize] as usize;
        let to = self.near_first[node as usize + 1] as usize;
        self.near[from..to].binary_search(&other).is_ok()
    }

    /// Positions of a triangle's corners.
    pub(super) fn corners(&self, face: u32, points: &[Vec3]) -> [Vec3; 3] {
        self.triangles[face as usize].map(|i| points[i as usize])
    }

    /// Positions of an edge's ends.
    pub(super) fn ends(&self, edge: u32, points: &[Vec3]) -> [Vec3; 2] {
        self.edges[edge as usize].ends.map(|i| points[i as usize])
    }
}

/// Lists by key: entries of key `k` are `values[first[k]..first[k + 1]]`, in order.
fn compressed(keys: usize, mut entries: Vec<(u32, u32)>) -> (Vec<u32>, Vec<u32>) {
    entries.sort_unstable();
    entries.dedup();
    let mut first = vec![0_u32; keys + 1];
    for (key, _) in &entries {
        first[*key as usize + 1] += 1;
    }
    for k in 1..first.len() {
        first[k] += first[k - 1];
    }
    (first, entries.into_iter().map(|(_, value)| value).collect())
}

/// Edges in order of their ends, and the edges of each triangle. A third triangle at one edge is not recorded there.
fn edges_of(triangles: &[[u32; 3]]) -> (Vec<Edge>, Vec<[u32; 3]>) {
    let mut all: Vec<([u32; 2], u32, u8)> = Vec::with_capacity(3 * triangles.len());
    for (corners, face) in triangles.iter().zip(0..) {
        for side in 0..3_u8 {
            let (a, b) = (corners[usize::from(side)], corners[(usize::from(side) + 1) % 3]);
            all.push(([a.min(b), a.max(b)], face, side));
        }
    }
    all.sort_unstable();
    let mut edges = Vec::with_capacity(all.len() / 2);
    let mut sides = vec![[0; 3]; triangles.len()];
    for same in all.chunk_by(|x, y| x.0 == y.0) {
        for (_, face, side) in same {
            sides[*face as usize][usize::from(*side)] = edges.len() as u32;
        }
        let second = same.get(1).map_or(NONE, |(_, face, _)| *face);
        edges.push(Edge { ends: same[0].0, faces: [same[0].1, second] });
    }
    (edges, sides)
}

/// The first triangle that has a feature owns it.
fn owners(points: usize, edges: usize, triangles: &[[u32; 3]], sides: &[[u32; 3]]) -> Vec<u8> {
    let (mut node_taken, mut edge_taken) = (vec![false; points], vec![false; edges]);
    let mut claim = |corners: &[u32; 3], sides: &[u32; 3]| {
        let mut bits = 0;
        for k in 0..3 {
            if !std::mem::replace(&mut node_taken[corners[k] as usize], true) {
                bits |= 1 << k;
            }
            if !std::mem::replace(&mut edge_taken[sides[k] as usize], true) {
                bits |= 8 << k;
            }
        }
        bits
    };
    triangles.iter().zip(sides).map(|(corners, sides)| claim(corners, sides)).collect()
}

/// Nodes within [`RINGS`] rings.
fn rings(points: usize, edges: &[Edge]) -> (Vec<u32>, Vec<u32>) {
    let own = (0..points as u32).map(|node| (node, node));
    let beside = edges.iter().flat_map(|edge| [(edge.ends[0], edge.ends[1]), (edge.ends[1], edge.ends[0])]);
    let (first, one) = compressed(points, own.chain(beside).collect());
    let of = |node: u32| &one[first[node as usize] as usize..first[node as usize + 1] as usize];
    let mut pairs: Vec<(u32, u32)> = (0..points as u32).flat_map(|n| of(n).iter().map(move |m| (n, *m))).collect();
    for _ in 1..RINGS {
        pairs = pairs.iter().flat_map(|(node, other)| of(*other).iter().map(|next| (*node, *next))).collect();
        pairs.sort_unstable();
        pairs.dedup();
    }
    compressed(points, pairs)
}

/// Numbers the parts of the surface that no sharp edge crosses.
fn regions(edges: &[Edge], across: &[Vec3]) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..across.len() as u32).collect();
    let root = |parent: &mut Vec<u32>, mut face: u32| {
        while parent[face as usize] != face {
            let up = parent[parent[face as usize] as usize];
            parent[face as usize] = up;
            face = up;
        }
        face
    };
    for edge in edges.iter().filter(|edge| edge.faces[1] != NONE) {
        let [a, b] = edge.faces.map(|face| across[face as usize]);
        if a.dot(&b) >= SMOOTH * a.norm() * b.norm() {
            let [a, b] = edge.faces.map(|face| root(&mut parent, face));
            // The smaller index becomes the root, so that the order of the edges does not matter.
            parent[a.max(b) as usize] = a.min(b);
        }
    }
    let mut number = vec![NONE; across.len()];
    let mut count = 0;
    (0..across.len() as u32)
        .map(|face| {
            let root = root(&mut parent, face) as usize;
            if number[root] == NONE {
                number[root] = count;
                count += 1;
            }
            number[root]
        })
        .collect()
}
