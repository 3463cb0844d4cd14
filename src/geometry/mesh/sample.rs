//! Points spread over a surface: the nodes that contact with another surface is sought at.
//!
//! Thread: cold.
//!
//! Corners touch first, then edges, then faces, so all three are sampled: every vertex, sharp edges at equal steps,
//! faces in proportion to their area. The i-th of n face points sits where the running sum of areas reaches `(i + ½)/n`
//! of the whole, placed in its triangle by a sequence that fills it evenly. No random numbers: equal meshes give equal
//! nodes.

use super::topology::{edges, sides};
use super::{MeshSurface, Part};
use crate::math::Vec3;

/// How many points, and where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleSpec {
    /// A node at every vertex.
    pub vertices: bool,
    /// Largest distance of neighbouring nodes on a sharp edge, m; no nodes between the vertices when there is none.
    pub edge_spacing_m: Option<f64>,
    /// An edge is sharp when its faces turn by more than this, rad. A facet of a 100-sided cylinder turns by 0.063.
    pub sharp_angle_rad: f64,
    /// Number of nodes on faces.
    pub faces: usize,
}

/// A point of the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// Where, m.
    pub position: Vec3,
    /// Outward unit normal; the mean one on an edge or at a corner.
    pub normal: Vec3,
    /// A triangle it lies on.
    pub triangle: u32,
    /// Where on it.
    pub part: Part,
}

/// Most nodes on one edge, whatever the spacing asks for.
const EDGE_NODES_MAX: f64 = 10_000.0;

/// The nodes: vertices in their order, then edges, then faces.
#[must_use]
pub fn sample_surface(surface: &MeshSurface, spec: &SampleSpec) -> Vec<Node> {
    let mut nodes = Vec::new();
    let node = |position, triangle, part| {
        let normal = surface.pseudo_normal(triangle, part);
        Node { position, normal, triangle, part }
    };
    if spec.vertices {
        on_vertices(surface, |p, t, part| nodes.push(node(p, t, part)));
    }
    if let Some(spacing) = spec.edge_spacing_m.filter(|s| s.is_finite() && *s > 0.0) {
        on_edges(surface, spacing, spec.sharp_angle_rad, |p, t, part| nodes.push(node(p, t, part)));
    }
    on_faces(surface, spec.faces, |p, t, part| nodes.push(node(p, t, part)));
    nodes
}

fn on_vertices(surface: &MeshSurface, mut add: impl FnMut(Vec3, u32, Part)) {
    let mesh = surface.mesh();
    let mut owner = vec![None; mesh.vertices().len()];
    for (t, corners) in (0..).zip(mesh.triangles()) {
        for (k, v) in (0..).zip(corners) {
            owner[*v as usize].get_or_insert((t, Part::Corner(k)));
        }
    }
    for (p, owner) in mesh.vertices().iter().zip(owner) {
        if let Some((t, part)) = owner {
            add(*p, t, part);
        }
    }
}

fn on_edges(surface: &MeshSurface, spacing: f64, sharp: f64, mut add: impl FnMut(Vec3, u32, Part)) {
    let mesh = surface.mesh();
    for edge in edges(&sides(mesh)) {
        let normal = |k: usize| surface.pseudo_normal(edge[k].triangle, Part::Face);
        let (n, m) = (normal(0), normal(edge.len() - 1));
        if n.cross(&m).norm().atan2(n.dot(&m)) <= sharp {
            continue;
        }
        let [a, b] = [edge[0].low, edge[0].high].map(|v| mesh.vertices()[v as usize]);
        let parts = ((b - a).norm() / spacing).ceil().clamp(1.0, EDGE_NODES_MAX);
        for k in 1..parts as usize {
            add(a + (b - a) * (k as f64 / parts), edge[0].triangle, Part::Side(edge[0].side as u8));
        }
    }
}

fn on_faces(surface: &MeshSurface, count: usize, mut add: impl FnMut(Vec3, u32, Part)) {
    let mesh = surface.mesh();
    let step = mesh.area() / count as f64;
    // Steps of the plastic number fill the unit square evenly (Roberts 2018).
    let (du, dv) = (0.754_877_666_246_692_8, 0.569_840_290_998_053_3);
    let (mut sum, mut made) = (0.0, 0);
    let last = mesh.triangles().len() - 1;
    for t in 0..=last {
        sum += 0.5 * mesh.area_normal(t).norm();
        let [a, b, c] = mesh.corners(t);
        // The sum may fall short of the whole by round-off.
        while made < count && ((made as f64 + 0.5) * step < sum || t == last) {
            let (mut u, mut v) = ((made as f64 * du + 0.5).fract(), (made as f64 * dv + 0.5).fract());
            if u + v > 1.0 {
                (u, v) = (1.0 - u, 1.0 - v);
            }
            add(a + (b - a) * u + (c - a) * v, t as u32, Part::Face);
            made += 1;
        }
    }
}
