//! Tetrahedra inside a closed surface: isosurface stuffing (Labelle and Shewchuk 2007).
//!
//! Thread: cold.
//!
//! A lattice of cubes with a point in the middle of each is cut into tetrahedra that are all alike. Points too near to
//! the surface are moved onto it, edges that cross it are cut there, and what lies inside is kept. Every tetrahedron is
//! a lattice one or a piece of one from a short list, so that none is worse than the worst on that list, whatever the
//! surface. Edges and corners of the surface that no lattice point meets are rounded off to the size of the lattice.
//!
//! Faces that are quadrilaterals after cutting are split from their corner with the least number, as [`split_prism`] does.

use super::super::Surface;
use super::super::mesh::MeshSurface;
use super::prism::split_prism;
use super::{TetMesh, TetMeshError};
use crate::math::Vec3;
use std::collections::HashMap;

/// Nearest a cut may be to a lattice point, as a share of the edge, before the point is moved onto it: edges of length
/// one, and those to the middles of cubes. The values for which the authors prove their bounds on angles.
const NEAR: [f64; 2] = [0.24999, 0.41189];
/// Most lattice points.
const MOST: usize = 20_000_000;

/// How closely a mesh of tetrahedra follows the surface it was made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Farthest that a node of its skin is from the surface, m.
    pub skin_off_m: f64,
    /// Farthest that a corner of the surface is from the skin, m: how much edges are rounded.
    pub surface_off_m: f64,
    /// Its volume over that inside the surface.
    pub volume_ratio: f64,
}

impl TetMesh {
    /// Fills a closed surface with tetrahedra of a lattice with cubes of side `size_m`. Equal surfaces give equal
    /// meshes.
    ///
    /// # Errors
    /// When the size is not positive, there are too many cubes, or no lattice point lies inside.
    pub fn stuff(surface: &MeshSurface, size_m: f64) -> Result<Self, TetMeshError> {
        let mut lattice = Lattice::new(surface, size_m)?;
        lattice.snap(surface);
        lattice.fill(surface)
    }

    /// Compares the mesh with the surface it was made from.
    #[must_use]
    pub fn fit(&self, surface: &MeshSurface) -> Option<Fit> {
        let (skin, _) = self.skin().mesh(self).ok()?;
        let off = |surface: &MeshSurface, points: &[Vec3]| {
            points.iter().map(|p| surface.signed_distance(p).distance.abs()).fold(0.0, f64::max)
        };
        let volume_ratio = self.volume() / surface.mesh().volume();
        let skin_off_m = off(surface, skin.vertices());
        let surface_off_m = off(&MeshSurface::new(skin).ok()?, surface.mesh().vertices());
        Some(Fit { skin_off_m, surface_off_m, volume_ratio })
    }
}

/// The lattice. A point is known by three whole numbers in half cubes: all even at corners, all odd in middles.
struct Lattice {
    /// Cubes along each axis.
    cells: [i32; 3],
    /// Places and signed distances of all points, corners first; moved points have the distance zero.
    places: Vec<Vec3>,
    values: Vec<f64>,
}

impl Lattice {
    fn new(surface: &MeshSurface, size: f64) -> Result<Self, TetMeshError> {
        let bounds = surface.mesh().aabb();
        let extent = bounds.max - bounds.min;
        if !(size > 0.0 && size.is_finite()) {
            return Err(TetMeshError::Unsupported("the size of the lattice must be a positive length".into()));
        }
        let count = extent.iter().map(|x| x / size + 4.0).product::<f64>() * 2.0;
        if !(count < MOST as f64) {
            let reason = format!(
                "a lattice of {size} m needs {count:.1e} points, at most {MOST} are made: choose a larger size"
            );
            return Err(TetMeshError::Unsupported(reason));
        }
        // A whole cube of room on every side, the body in the middle.
        let cells = [0, 1, 2].map(|k| (extent[k] / size).ceil() as i32 + 3);
        let room = Vec3::from_fn(|k, _| f64::from(cells[k]) * size) - extent;
        let origin = bounds.min - room * 0.5;
        let mut lattice = Self { cells, places: Vec::new(), values: Vec::new() };
        let [nx, ny, nz] = cells;
        for (odd, [mx, my, mz]) in [(0, [nx + 1, ny + 1, nz + 1]), (1, cells)] {
            for z in 0..mz {
                for y in 0..my {
                    for x in 0..mx {
                        let half = Vec3::new(f64::from(2 * x + odd), f64::from(2 * y + odd), f64::from(2 * z + odd));
                        lattice.places.push(origin + half * (0.5 * size));
                    }
                }
            }
        }
        lattice.values = lattice.places.iter().map(|p| surface.signed_distance(p).distance).collect();
        Ok(lattice)
    }

    /// Number of the point at `at`, if it is one of the lattice.
    fn number(&self, at: [i32; 3]) -> Option<u32> {
        let odd = at[0] & 1;
        let cells = self.cells.map(|n| n + 1 - odd);
        let inside = (0..3).all(|k| at[k] & 1 == odd && at[k] >= 0 && at[k] >> 1 < cells[k]);
        let corners = self.cells.iter().map(|n| n + 1).product::<i32>();
        let [x, y, z] = at.map(|k| k >> 1);
        inside.then(|| (odd * corners + x + cells[0] * (y + cells[1] * z)) as u32)
    }

    /// All points in the order of their numbers.
    fn points(&self) -> impl Iterator<Item = [i32; 3]> + use<> {
        let cells = self.cells;
        [0, 1].into_iter().flat_map(move |odd| {
            let [nx, ny, nz] = cells.map(|n| n + 1 - odd);
            (0..nz).flat_map(move |z| {
                (0..ny).flat_map(move |y| (0..nx).map(move |x| [2 * x + odd, 2 * y + odd, 2 * z + odd]))
            })
        })
    }

    fn crosses(&self, a: u32, b: u32) -> bool {
        self.values[a as usize] * self.values[b as usize] < 0.0
    }

    /// Where the surface crosses an edge, as a share of the way from `a` to `b`: by halving, so that it is exact on any
    /// surface.
    fn cut(&self, surface: &MeshSurface, a: u32, b: u32) -> f64 {
        let (from, to) = (self.places[a as usize], self.places[b as usize]);
        let starts_inside = self.values[a as usize] < 0.0;
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            let inside = surface.signed_distance(&(from + (to - from) * middle)).distance < 0.0;
            if inside == starts_inside { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }

    /// Moves points that are too near to a cut onto it, one after the other: a moved point has no cuts left.
    fn snap(&mut self, surface: &MeshSurface) {
        let neighbours = neighbours();
        for (a, at) in (0..).zip(self.points()) {
            let mut nearest: Option<(f64, Vec3)> = None;
            for (step, kind) in &neighbours {
                let Some(b) = self.number([at[0] + step[0], at[1] + step[1], at[2] + step[2]]) else { continue };
                if !self.crosses(a, b) {
                    continue;
                }
                let share = self.cut(surface, a, b);
                let (from, to) = (self.places[a as usize], self.places[b as usize]);
                let far = share * (to - from).norm();
                if share < NEAR[*kind] && nearest.is_none_or(|(best, _)| far < best) {
                    nearest = Some((far, from + (to - from) * share));
                }
            }
            if let Some((_, place)) = nearest {
                self.places[a as usize] = place;
                self.values[a as usize] = 0.0;
            }
        }
    }

    /// Keeps what is inside of every tetrahedron of the lattice.
    fn fill(self, surface: &MeshSurface) -> Result<TetMesh, TetMeshError> {
        let mut pieces = Pieces { lattice: &self, surface, cuts: HashMap::new(), places: Vec::new(), tets: Vec::new() };
        for at in self.points().filter(|at| at[0] & 1 == 1) {
            for axis in 0..3 {
                let mut beyond = at;
                beyond[axis] += 2;
                let (Some(a), Some(b)) = (self.number(at), self.number(beyond)) else { continue };
                // The four corners of the face between the two middles, in a ring.
                let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
                let ring = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(|[s, t]| {
                    let mut corner = at;
                    corner[axis] += 1;
                    corner[u] += s;
                    corner[v] += t;
                    self.number(corner)
                });
                for k in 0..4 {
                    if let (Some(p), Some(q)) = (ring[k], ring[(k + 1) % 4]) {
                        pieces.keep([a, b, p, q]);
                    }
                }
            }
        }
        pieces.finish()
    }
}

/// Steps to the neighbours of a point, in half cubes, and the kind of edge: 0 along an axis, 1 to a middle.
fn neighbours() -> Vec<([i32; 3], usize)> {
    let mut all = Vec::new();
    for axis in 0..3 {
        for step in [-2, 2] {
            let mut to = [0; 3];
            to[axis] = step;
            all.push((to, 0));
        }
    }
    all.extend((0..8).map(|k| ([0, 1, 2].map(|axis| if k >> axis & 1 == 0 { -1 } else { 1 }), 1)));
    all
}

/// The mesh under way. Nodes are lattice points, then cuts.
struct Pieces<'a> {
    lattice: &'a Lattice,
    surface: &'a MeshSurface,
    cuts: HashMap<(u32, u32), u32>,
    places: Vec<Vec3>,
    tets: Vec<[u32; 4]>,
}

impl Pieces<'_> {
    fn place(&self, node: u32) -> Vec3 {
        let lattice = &self.lattice.places;
        let node = node as usize;
        if node < lattice.len() { lattice[node] } else { self.places[node - lattice.len()] }
    }

    /// The node where the surface cuts the edge from `a` to `b`.
    fn cut(&mut self, a: u32, b: u32) -> u32 {
        let (a, b) = (a.min(b), a.max(b));
        if let Some(node) = self.cuts.get(&(a, b)) {
            return *node;
        }
        let share = self.lattice.cut(self.surface, a, b);
        let (from, to) = (self.place(a), self.place(b));
        self.places.push(from + (to - from) * share);
        let node = (self.lattice.places.len() + self.places.len() - 1) as u32;
        self.cuts.insert((a, b), node);
        node
    }

    /// Adds a tetrahedron the right way round.
    fn add(&mut self, nodes: [u32; 4]) {
        let [a, b, c, d] = nodes.map(|n| self.place(n));
        let volume = (b - a).cross(&(c - a)).dot(&(d - a));
        let [a, b, c, d] = nodes;
        self.tets.push(if volume < 0.0 { [a, c, b, d] } else { nodes });
    }

    /// Keeps what is inside of a tetrahedron of the lattice.
    fn keep(&mut self, nodes: [u32; 4]) {
        let value = |n: &u32| self.lattice.values[*n as usize];
        let pick = |wanted: fn(f64) -> bool| nodes.iter().copied().filter(|n| wanted(value(n))).collect::<Vec<u32>>();
        let (inside, on, outside) = (pick(|v| v < 0.0), pick(|v| v == 0.0), pick(|v| v > 0.0));
        match (&inside[..], &on[..], &outside[..]) {
            ([], ..) => {}
            (_, _, []) => self.add(nodes),
            // One corner inside: a smaller tetrahedron at it.
            (&[a], on, outside) => {
                let cuts: Vec<u32> = outside.iter().map(|n| self.cut(a, *n)).collect();
                let rest: Vec<u32> = on.iter().copied().chain(cuts).collect();
                self.add([a, rest[0], rest[1], rest[2]]);
            }
            (&[a, b], &[apex], &[n]) => {
                let (ca, cb) = (self.cut(a, n), self.cut(b, n));
                self.pyramid([a, b, cb, ca], apex);
            }
            (&[a, b], [], &[m, n]) => {
                let (top, bottom) = ([a, self.cut(a, m), self.cut(a, n)], [b, self.cut(b, m), self.cut(b, n)]);
                self.prism(top, bottom);
            }
            (&[a, b, c], _, &[n]) => {
                let bottom = [a, b, c].map(|corner| self.cut(corner, n));
                self.prism([a, b, c], bottom);
            }
            // Four corners allow nothing else.
            _ => {}
        }
    }

    /// A ring of four corners and a tip.
    fn pyramid(&mut self, [p, q, r, s]: [u32; 4], tip: u32) {
        if p.min(r) < q.min(s) {
            self.add([p, q, r, tip]);
            self.add([p, r, s, tip]);
        } else {
            self.add([p, q, s, tip]);
            self.add([q, r, s, tip]);
        }
    }

    /// Two triangles, corner over corner.
    fn prism(&mut self, top: [u32; 3], bottom: [u32; 3]) {
        split_prism(top, bottom).into_iter().for_each(|tet| self.add(tet));
    }

    fn finish(self) -> Result<TetMesh, TetMeshError> {
        if self.tets.is_empty() {
            let reason = "no lattice point lies inside the surface: choose a smaller size, and check the unit".into();
            return Err(TetMeshError::Unsupported(reason));
        }
        let nodes = self.lattice.places.iter().chain(&self.places).copied().collect();
        Ok(TetMesh::new(nodes, self.tets)?.without_loose_nodes())
    }
}
