//! A machined part: an exact surface, the points of it that can touch, a mesh to draw and to weigh.
//!
//! Thread: made cold; asked from simulation or collision (no heap).
//!
//! Primitive shapes have a handful of features that can touch. A thread has none that stand out: anything on its flanks can
//! touch, so it is known by nodes all over its surface, each with the area it stands for.

use super::mesh::TriMesh;
use super::outline::Outline;
use super::{Aabb, BoundingSphere, Distance, MassProperties, Surface};
use crate::math::Vec3;
use std::fmt;

/// A point of a part's surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartNode {
    /// Where, in the frame of the part, m.
    pub position: Vec3,
    /// Outward unit normal; the mean one on an edge.
    pub normal: Vec3,
    /// Area it stands for, m².
    pub area: f64,
    /// It lies on an edge: faces about it turn by more than 25°, and the normal is that of none of them.
    pub is_edge: bool,
}

/// See the file's head.
pub struct Part {
    /// What it is, for messages and pages: `bolt`, `nut`, `peg`, `bore`, `mesh`.
    pub kind: &'static str,
    /// The exact surface.
    pub surface: Box<dyn Surface>,
    /// Its facets.
    pub mesh: TriMesh,
    /// What can touch: one node for each vertex of the mesh.
    pub nodes: Vec<PartNode>,
    /// Nodes that share an edge with node `i`: `beside[first[i]..first[i + 1]]`.
    first: Vec<u32>,
    beside: Vec<u32>,
    /// True when the surface looks the same, but for a shift along z, however it is turned about its z axis.
    pub is_round: bool,
    /// Corners, edges and faces of a mesh that is convex and has flat faces: it touches with these, not with its nodes.
    pub outline: Option<Outline>,
}

impl Part {
    /// A part with a node at every vertex of its mesh.
    #[must_use]
    pub fn new(kind: &'static str, surface: Box<dyn Surface>, mesh: TriMesh, is_round: bool) -> Self {
        let nodes = nodes(&mesh);
        let (first, beside) = neighbours(&mesh);
        // Designed parts are curved, however few facets their nodes are taken from.
        let outline = (kind == "mesh" && surface.is_convex()).then(|| Outline::of_convex(&mesh)).flatten();
        Self { kind, surface, mesh, nodes, first, beside, is_round, outline }
    }

    /// Nodes that share an edge with this one.
    #[must_use]
    pub fn beside(&self, node: usize) -> &[u32] {
        &self.beside[self.first[node] as usize..self.first[node + 1] as usize]
    }

    /// Mass, centre and inertia for a density in kg/m³.
    #[must_use]
    pub fn mass_properties(&self, density: f64) -> Option<MassProperties> {
        self.mesh.mass_properties(density)
    }

    /// Bounds along the axes of the part's frame.
    #[must_use]
    pub fn aabb(&self) -> Aabb {
        self.mesh.aabb()
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} nodes", self.kind, self.nodes.len())
    }
}

impl Surface for Part {
    fn signed_distance(&self, point: &Vec3) -> Distance {
        self.surface.signed_distance(point)
    }

    fn sheet_count(&self) -> usize {
        self.surface.sheet_count()
    }

    fn sheet_distance(&self, sheet: usize, point: &Vec3) -> Distance {
        self.surface.sheet_distance(sheet, point)
    }

    fn is_convex(&self) -> bool {
        self.surface.is_convex()
    }

    fn bounding_sphere(&self) -> BoundingSphere {
        self.surface.bounding_sphere()
    }
}

/// Who shares an edge with whom, each list in order.
fn neighbours(mesh: &TriMesh) -> (Vec<u32>, Vec<u32>) {
    let mut pairs: Vec<(u32, u32)> = Vec::with_capacity(6 * mesh.triangles().len());
    for [a, b, c] in mesh.triangles() {
        pairs.extend([(*a, *b), (*b, *a), (*b, *c), (*c, *b), (*c, *a), (*a, *c)]);
    }
    pairs.sort_unstable();
    pairs.dedup();
    let mut first = vec![0_u32; mesh.vertices().len() + 1];
    for (from, _) in &pairs {
        first[*from as usize + 1] += 1;
    }
    for k in 1..first.len() {
        first[k] += first[k - 1];
    }
    (first, pairs.into_iter().map(|(_, to)| to).collect())
}

/// Cosine of the greatest angle between the normal of a node that is not on an edge and that of a face about it: 12.5°.
const SMOOTH: f64 = 0.976;

/// A node at every vertex, with a third of the area of each triangle about it.
fn nodes(mesh: &TriMesh) -> Vec<PartNode> {
    let mut nodes: Vec<PartNode> = mesh
        .vertices()
        .iter()
        .map(|position| PartNode { position: *position, normal: Vec3::zeros(), area: 0.0, is_edge: false })
        .collect();
    for (triangle, ends) in mesh.triangles().iter().enumerate() {
        let [a, b, c] = mesh.corners(triangle);
        let across = (b - a).cross(&(c - a));
        for end in ends {
            let node = &mut nodes[*end as usize];
            node.normal += across;
            node.area += across.norm() / 6.0;
        }
    }
    for node in &mut nodes {
        node.normal = node.normal.try_normalize(0.0).unwrap_or_else(Vec3::z);
    }
    for (triangle, ends) in mesh.triangles().iter().enumerate() {
        let [a, b, c] = mesh.corners(triangle);
        let across = (b - a).cross(&(c - a));
        for end in ends {
            let node = &mut nodes[*end as usize];
            node.is_edge |= across.dot(&node.normal) < SMOOTH * across.norm();
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Cylinder;
    use crate::geometry::parts::{Facets, Peg};

    #[test]
    fn the_nodes_share_the_area_of_the_mesh_and_look_out() {
        let peg = Peg { diameter: 0.05, length: 0.06, chamfer: 0.001 };
        let mesh = peg.mesh(Facets { per_turn: 64, rows: 5 }).expect("there is such a peg");
        let area = mesh.area();
        let surface = Cylinder { radius: 0.025, half_length: 0.03 };
        let part = Part::new("peg", Box::new(surface), mesh, true);
        let sum: f64 = part.nodes.iter().map(|node| node.area).sum();
        assert!((sum / area - 1.0).abs() < 1e-12);
        let middle = Vec3::new(0.0, 0.0, 0.03);
        assert!(part.nodes.iter().all(|node| node.normal.dot(&(node.position - middle)) > 0.0));
        for node in 0..part.nodes.len() {
            let around = part.beside(node);
            assert!(
                around.len() >= 3 && around.iter().all(|other| part.beside(*other as usize).contains(&(node as u32)))
            );
        }
    }
}
