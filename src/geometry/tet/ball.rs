//! Balls and hollow balls: an icosahedron, refined and drawn onto spheres.
//!
//! Thread: cold.
//!
//! The ball is twenty tetrahedra around its centre, almost regular ones, each cut into `n³`: layer `k` has `10 k² + 2` nodes, all on a
//! sphere of radius `k/n`. A refined tetrahedron consists of smaller ones and of octahedra between them; each octahedron is cut in
//! four around its shortest diagonal. A hollow ball is the refined icosahedron in layers, prism by prism ([`split_prism`]). Nodes of
//! the surface lie on the sphere, so that the volume converges with the square of the cell.

use super::prism::split_prism;
use super::sweep::{cells, check, check_wall, turn_outward};
use super::{TetMesh, TetMeshError};
use crate::math::Vec3;
use std::collections::BTreeMap;

/// A ball around the origin. Groups: the six sides ([`TetMesh::with_sides`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BallSpec {
    /// Radius, m.
    pub radius_m: f64,
    /// Edge of the tetrahedra that is aimed at, m.
    pub cell_m: f64,
}

/// A hollow ball around the origin. Groups: the six sides, `inner` and `outer`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShellSpec {
    /// Outer radius, m.
    pub radius_m: f64,
    /// Thickness of the wall, m.
    pub wall_m: f64,
    /// Edge of the tetrahedra that is aimed at, m; the wall has at least one.
    pub cell_m: f64,
}

/// Length of the edges of a refined icosahedron of radius one, times the number of edges along a side: between 1.05 at the corners
/// and 1.26 in the middle of the sides.
const EDGE: f64 = 1.15;

/// The golden ratio: corners of an icosahedron are `(0, ±1, ±φ)` and its cyclic permutations.
const GOLDEN: f64 = 1.618_033_988_749_895;

/// Corners of an icosahedron on the unit sphere, turned so that one of them is on top.
fn corners() -> [Vec3; 12] {
    let mut all = [Vec3::zeros(); 12];
    for (k, corner) in all.iter_mut().enumerate() {
        let (s, t) = (if k & 1 == 0 { 1.0 } else { -1.0 }, if k & 2 == 0 { GOLDEN } else { -GOLDEN });
        let (y, z) = (s, t);
        *corner = match k / 4 {
            0 => Vec3::new(0.0, y, z),
            1 => Vec3::new(y, z, 0.0),
            _ => Vec3::new(z, 0.0, y),
        };
    }
    // About x, until the corner (0, 1, φ) is on top.
    let length = (1.0 + GOLDEN * GOLDEN).sqrt();
    let (sine, cosine) = (1.0 / length, GOLDEN / length);
    all.map(|p| Vec3::new(p.x, cosine * p.y - sine * p.z, sine * p.y + cosine * p.z) / length)
}

/// The twenty faces of an icosahedron: three corners that are all neighbours, each face once.
fn faces(corners: &[Vec3; 12]) -> Vec<[usize; 3]> {
    // Neighbours are 63° apart, the next 117°.
    let near = |a: usize, b: usize| corners[a].dot(&corners[b]) > 0.2;
    let mut faces = Vec::with_capacity(20);
    for a in 0..12 {
        for b in a + 1..12 {
            faces.extend((b + 1..12).filter(|c| near(a, b) && near(b, *c) && near(a, *c)).map(|c| [a, b, c]));
        }
    }
    faces
}

/// Where a node is in an icosahedron: its layer, and how many steps it is from the centre towards each corner, of those it leans to.
type Key = (u32, [(usize, u32); 3]);

/// Nodes by their place in the icosahedron, each once.
struct Nodes {
    corners: [Vec3; 12],
    numbers: BTreeMap<Key, u32>,
    places: Vec<Vec3>,
}

impl Nodes {
    fn new() -> Self {
        Self { corners: corners(), numbers: BTreeMap::new(), places: Vec::new() }
    }

    /// The node on layer `layer` at these steps towards the corners of `face`, at `radius` from the centre.
    fn node(&mut self, face: [usize; 3], steps: [u32; 3], layer: u32, radius: f64) -> u32 {
        let mut lean = [0, 1, 2].map(|k| if steps[k] == 0 { (usize::MAX, 0) } else { (face[k], steps[k]) });
        lean.sort_unstable();
        let key = (layer, lean);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let direction: Vec3 = (0..3).map(|k| self.corners[face[k]] * f64::from(steps[k])).sum();
        self.places.push(direction.try_normalize(0.0).map_or_else(Vec3::zeros, |d| d * radius));
        let number = (self.places.len() - 1) as u32;
        self.numbers.insert(key, number);
        number
    }

    fn finish(self, mut tets: Vec<[u32; 4]>) -> Result<TetMesh, TetMeshError> {
        turn_outward(&self.places, &mut tets);
        TetMesh::new(self.places, tets)
    }
}

/// Every way to write `sum` as three whole numbers.
fn triples(sum: u32) -> impl Iterator<Item = [u32; 3]> {
    (0..=sum).flat_map(move |i| (0..=sum - i).map(move |j| [i, j, sum - i - j]))
}

impl BallSpec {
    /// Layers from the centre to the surface.
    fn layers(&self) -> u32 {
        cells(EDGE * self.radius_m, self.cell_m, 1)
    }

    /// Number of nodes and tetrahedra of the mesh.
    #[must_use]
    pub fn size(&self) -> (f64, f64) {
        let n = f64::from(self.layers());
        (1.0 + 10.0 * n * (n + 1.0) * (2.0 * n + 1.0) / 6.0 + 2.0 * n, 20.0 * n * n * n)
    }

    /// The mesh, of tetrahedra with four nodes.
    ///
    /// # Errors
    /// When a length is not positive, or there are too many nodes.
    pub fn mesh(&self) -> Result<TetMesh, TetMeshError> {
        check(&[self.radius_m, self.cell_m], self.size().0)?;
        let layers = self.layers();
        let mut nodes = Nodes::new();
        let (mut tets, mut octahedra) = (Vec::new(), Vec::new());
        for face in faces(&nodes.corners) {
            let mut at = |steps: [u32; 3]| {
                let layer: u32 = steps.iter().sum();
                nodes.node(face, steps, layer, self.radius_m * f64::from(layer) / f64::from(layers))
            };
            for layer in 1..=layers {
                for [i, j, k] in triples(layer - 1) {
                    tets.push([[i, j, k], [i + 1, j, k], [i, j + 1, k], [i, j, k + 1]].map(&mut at));
                }
                for [i, j, k] in layer.checked_sub(2).into_iter().flat_map(triples) {
                    let below = [[i + 1, j, k], [i, j + 1, k], [i, j, k + 1]].map(&mut at);
                    let above = [[i, j + 1, k + 1], [i + 1, j, k + 1], [i + 1, j + 1, k]].map(&mut at);
                    octahedra.push((below, above));
                }
                for [i, j, k] in layer.checked_sub(3).into_iter().flat_map(triples) {
                    let below = [[i + 1, j + 1, k], [i, j + 1, k + 1], [i + 1, j, k + 1]];
                    tets.push([below[0], below[1], below[2], [i + 1, j + 1, k + 1]].map(&mut at));
                }
            }
        }
        tets.extend(octahedra.iter().flat_map(|(below, above)| split_octahedron(&nodes.places, *below, *above)));
        nodes.finish(tets).map(TetMesh::with_sides)
    }
}

/// Four tetrahedra around the shortest diagonal of an octahedron; corner `k` of `below` is opposite to corner `k` of `above`.
fn split_octahedron(places: &[Vec3], below: [u32; 3], above: [u32; 3]) -> [[u32; 4]; 4] {
    let length = |k: &usize| (places[below[*k] as usize] - places[above[*k] as usize]).norm();
    let axis = (0..3).min_by(|a, b| length(a).total_cmp(&length(b))).unwrap_or(0);
    let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
    let ring = [below[a], below[b], above[a], above[b]];
    [0, 1, 2, 3].map(|k| [below[axis], above[axis], ring[k], ring[(k + 1) % 4]])
}

impl ShellSpec {
    /// Edges along a side of the icosahedron, and layers through the wall.
    fn counts(&self) -> (u32, u32) {
        let middle = self.radius_m - 0.5 * self.wall_m;
        (cells(EDGE * middle, self.cell_m, 1), cells(self.wall_m, self.cell_m, 1))
    }

    /// Number of nodes and tetrahedra of the mesh.
    #[must_use]
    pub fn size(&self) -> (f64, f64) {
        let (edges, layers) = self.counts();
        let (squared, layers) = (f64::from(edges) * f64::from(edges), f64::from(layers));
        ((10.0 * squared + 2.0) * (layers + 1.0), 60.0 * squared * layers)
    }

    /// The mesh, of tetrahedra with four nodes.
    ///
    /// # Errors
    /// When a length is not positive, the wall is as thick as the radius, or there are too many nodes.
    pub fn mesh(&self) -> Result<TetMesh, TetMeshError> {
        check(&[self.radius_m, self.wall_m, self.cell_m], self.size().0)?;
        check_wall(self.wall_m, self.radius_m)?;
        let (edges, layers) = self.counts();
        let mut nodes = Nodes::new();
        let mut tets = Vec::new();
        let faces = faces(&nodes.corners);
        let radius = |layer: u32| self.radius_m - self.wall_m * (1.0 - f64::from(layer) / f64::from(layers));
        for layer in 0..layers {
            for face in &faces {
                let mut prism = |triangle: [[u32; 3]; 3]| {
                    let [top, bottom] =
                        [layer + 1, layer].map(|l| triangle.map(|steps| nodes.node(*face, steps, l, radius(l))));
                    tets.extend(split_prism(top, bottom));
                };
                triples(edges - 1).for_each(|[i, j, k]| prism([[i + 1, j, k], [i, j + 1, k], [i, j, k + 1]]));
                let between = edges.checked_sub(2).into_iter().flat_map(triples);
                between.for_each(|[i, j, k]| prism([[i, j + 1, k + 1], [i + 1, j, k + 1], [i + 1, j + 1, k]]));
            }
        }
        let layer_of: BTreeMap<u32, u32> = nodes.numbers.iter().map(|((layer, _), node)| (*node, *layer)).collect();
        let mesh = nodes.finish(tets)?;
        let mesh = mesh.with_skin_group("inner", |node| layer_of.get(&node) == Some(&0));
        Ok(mesh.with_skin_group("outer", |node| layer_of.get(&node) == Some(&layers)).with_sides())
    }
}
