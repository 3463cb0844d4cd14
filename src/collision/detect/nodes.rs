//! The nodes of a part: where contact is sought, sorted into clusters that are passed over as a whole.
//!
//! Thread: cold to make; read from simulation or collision.

use crate::collision::field::Nodes;
use crate::geometry::mesh::{MeshSurface, Node, Part, SampleSpec, sample_surface};
use crate::math::Vec3;

/// Most nodes of a cluster.
pub(super) const CLUSTER: usize = 32;

/// A point of a part's surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfaceNode {
    /// Where, in the frame of the part, m.
    pub position: Vec3,
    /// Outward unit normal.
    pub normal: Vec3,
    /// Area that it stands for, m².
    pub area: f64,
}

/// Balls around nodes that follow each other: [`CLUSTER`] in each but the last.
#[derive(Clone, Debug, Default)]
pub(super) struct Clusters {
    centers: [Vec<f32>; 3],
    pub(super) radii: Vec<f32>,
}

impl Clusters {
    fn push(&mut self, center: &Vec3, radius: f64) {
        for (column, x) in self.centers.iter_mut().zip(center.iter()) {
            column.push(*x as f32);
        }
        self.radii.push(radius as f32);
    }

    pub(super) fn centers(&self) -> Nodes<'_> {
        let [x, y, z] = &self.centers;
        Nodes { x, y, z }
    }
}

/// Nodes of a part, in an order of its own.
#[derive(Clone, Debug)]
pub struct NodeSet {
    columns: [Vec<f32>; 3],
    nodes: Vec<SurfaceNode>,
    /// For each node its place in the list it came from.
    sources: Vec<u32>,
    clusters: Clusters,
}

impl NodeSet {
    /// Sorts nodes into clusters. Nodes that are not finite are left out.
    #[must_use]
    pub fn new(nodes: &[SurfaceNode]) -> Self {
        let finite = |n: &SurfaceNode| n.position.iter().chain(n.normal.iter()).all(|x| x.is_finite());
        let mut order: Vec<u32> = (0..).zip(nodes).filter(|(_, n)| finite(n)).map(|(k, _)| k).collect();
        let mut clusters = Clusters::default();
        split(nodes, &mut order, &mut clusters);
        let sorted: Vec<SurfaceNode> = order.iter().map(|k| nodes[*k as usize]).collect();
        let column = |i: usize| sorted.iter().map(|n| n.position[i] as f32).collect();
        Self { columns: [column(0), column(1), column(2)], nodes: sorted, sources: order, clusters }
    }

    /// The vertices of a mesh. Each has a third of the area of its triangles.
    #[must_use]
    pub fn of_vertices(surface: &MeshSurface) -> Self {
        let mesh = surface.mesh();
        let mut areas = vec![0.0; mesh.vertices().len()];
        for (t, vertices) in mesh.triangles().iter().enumerate() {
            let [a, b, c] = mesh.corners(t);
            for v in vertices {
                areas[*v as usize] += (b - a).cross(&(c - a)).norm() / 6.0;
            }
        }
        let spec = SampleSpec { vertices: true, edge_spacing_m: None, sharp_angle_rad: 0.0, faces: 0 };
        let node = |n: &Node| {
            let corner = if let Part::Corner(k) = n.part { usize::from(k) } else { 0 };
            let vertex = mesh.triangles()[n.triangle as usize][corner];
            SurfaceNode { position: n.position, normal: n.normal, area: areas[vertex as usize] }
        };
        Self::new(&sample_surface(surface, &spec).iter().map(node).collect::<Vec<_>>())
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Every node, in the order that [`super::Touch::node`] counts in.
    #[must_use]
    pub fn nodes(&self) -> &[SurfaceNode] {
        &self.nodes
    }

    /// For every node its place in the list that the set was made from.
    #[must_use]
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    /// Positions as a batch has them, m.
    #[must_use]
    pub fn positions(&self) -> Nodes<'_> {
        let [x, y, z] = &self.columns;
        Nodes { x, y, z }
    }

    pub(super) fn clusters(&self) -> &Clusters {
        &self.clusters
    }
}

/// Halves a range of nodes across its longest side until it is small enough, at whole clusters.
fn split(nodes: &[SurfaceNode], order: &mut [u32], out: &mut Clusters) {
    if order.is_empty() {
        return;
    }
    let position = |k: &u32| nodes[*k as usize].position;
    let mut low = Vec3::repeat(f64::INFINITY);
    let mut high = -low;
    for p in order.iter().map(position) {
        (low, high) = (low.inf(&p), high.sup(&p));
    }
    if order.len() <= CLUSTER {
        let center = 0.5 * (low + high);
        // Positions and centre are rounded to single precision, and so a little outside.
        let rounding = 1e-6 * (center.norm() + (high - low).norm());
        let radius = order.iter().map(|k| (position(k) - center).norm()).fold(0.0, f64::max) + rounding;
        out.push(&center, radius);
        return;
    }
    let axis = (high - low).imax();
    let half = (order.len() / 2).next_multiple_of(CLUSTER);
    // Equal coordinates keep their order, so that equal lists give equal sets.
    order.select_nth_unstable_by(half, |a, b| position(a)[axis].total_cmp(&position(b)[axis]).then(a.cmp(b)));
    let (lower, upper) = order.split_at_mut(half);
    split(nodes, lower, out);
    split(nodes, upper, out);
}
