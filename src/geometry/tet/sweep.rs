//! Cylinders, tubes and rings: a triangulated section swept along a line or around a circle.
//!
//! Thread: cold.
//!
//! A disc is a centre and rings of 6, 12, 18, … nodes, so that its triangles are about alike; the section of a tube has the same number
//! of nodes on every ring, each ring turned by half a step. The section is swept into prisms, and each prism cut into three
//! tetrahedra ([`split_prism`]). Nodes of the outer surface lie on it, so that the volume converges with the square of the cell.

use super::prism::split_prism;
use super::{TetMesh, TetMeshError};
use crate::math::Vec3;
use std::f64::consts::TAU;

/// A solid cylinder about z, its middle at the origin. Groups: the six sides ([`TetMesh::with_sides`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CylinderSpec {
    /// Radius, m.
    pub radius_m: f64,
    /// Length along z, m.
    pub length_m: f64,
    /// Edge of the tetrahedra that is aimed at, m.
    pub cell_m: f64,
}

/// A hollow cylinder about z, open at both ends, its middle at the origin. Groups: the six sides, `inner` and `outer`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TubeSpec {
    /// Outer radius, m.
    pub radius_m: f64,
    /// Length along z, m.
    pub length_m: f64,
    /// Thickness of the wall, m.
    pub wall_m: f64,
    /// Edge of the tetrahedra that is aimed at, m; the wall has at least one.
    pub cell_m: f64,
}

/// A ring with a round section about z, its middle at the origin. Groups: the six sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TorusSpec {
    /// Radius of the circle through the middle of the section, m.
    pub radius_m: f64,
    /// Radius of the section, m.
    pub section_m: f64,
    /// Edge of the tetrahedra that is aimed at, m.
    pub cell_m: f64,
}

/// Nodes and triangles in a plane, counter-clockwise.
pub(super) struct Section {
    pub(super) points: Vec<[f64; 2]>,
    pub(super) triangles: Vec<[u32; 3]>,
}

/// Cells along a length, at least `least`.
pub(super) fn cells(length_m: f64, cell_m: f64, least: u32) -> u32 {
    (length_m / cell_m).round().clamp(f64::from(least), 1e6) as u32
}

/// Nodes of a disc of so many rings.
fn disc_nodes(rings: u32) -> f64 {
    let n = f64::from(rings);
    3.0 * n * (n + 1.0) + 1.0
}

/// A disc of `radius` with `rings` rings of nodes around its centre.
pub(super) fn disc(radius: f64, rings: u32) -> Section {
    let mut points = vec![[0.0, 0.0]];
    let mut triangles = Vec::new();
    // First node of each ring.
    let first = |ring: u32| if ring == 0 { 0 } else { 1 + 3 * ring * (ring - 1) };
    for ring in 1..=rings {
        let count = 6 * ring;
        let r = radius * f64::from(ring) / f64::from(rings);
        for k in 0..count {
            let angle = TAU * f64::from(k) / f64::from(count);
            points.push([r * angle.cos(), r * angle.sin()]);
        }
        let outer = |k: u32| first(ring) + k % count;
        let inner = |k: u32| if ring == 1 { 0 } else { first(ring - 1) + k % (count - 6) };
        for sextant in 0..6 {
            let (out, within) = (sextant * ring, sextant * (ring - 1));
            for k in 0..ring {
                triangles.push([inner(within + k), outer(out + k), outer(out + k + 1)]);
                if k + 1 < ring {
                    triangles.push([inner(within + k), outer(out + k + 1), inner(within + k + 1)]);
                }
            }
        }
    }
    Section { points, triangles }
}

/// The section of a tube: `around` nodes on each of `layers + 1` rings.
fn annulus(inner: f64, outer: f64, around: u32, layers: u32) -> Section {
    let mut points = Vec::new();
    let mut triangles = Vec::new();
    for layer in 0..=layers {
        let r = inner + (outer - inner) * f64::from(layer) / f64::from(layers);
        for k in 0..around {
            let angle = TAU * (f64::from(k) + 0.5 * f64::from(layer % 2)) / f64::from(around);
            points.push([r * angle.cos(), r * angle.sin()]);
        }
    }
    for layer in 0..layers {
        let node = |layer: u32, k: u32| layer * around + k % around;
        // Rings with an odd number are half a step ahead.
        let ahead = layer % 2;
        for k in 0..around {
            let (a, b) = (node(layer, k), node(layer, k + 1));
            let c = node(layer + 1, k + ahead);
            triangles.push([a, c, b]);
            triangles.push([node(layer + 1, k + ahead), node(layer + 1, k + ahead + 1), b]);
        }
    }
    Section { points, triangles }
}

impl Section {
    /// Prisms between copies of the section at `stations` places; `place` gives a point of the section at a station. A closed sweep
    /// ends where it began.
    fn sweep(
        &self,
        stations: u32,
        is_closed: bool,
        place: impl Fn([f64; 2], u32) -> Vec3,
    ) -> Result<TetMesh, TetMeshError> {
        let size = self.points.len() as u32;
        let mut nodes = Vec::with_capacity(self.points.len() * stations as usize);
        for station in 0..stations {
            nodes.extend(self.points.iter().map(|point| place(*point, station)));
        }
        let mut tets = Vec::new();
        for station in 0..if is_closed { stations } else { stations - 1 } {
            let (here, there) = (station * size, (station + 1) % stations * size);
            for triangle in &self.triangles {
                tets.extend(split_prism(triangle.map(|n| there + n), triangle.map(|n| here + n)));
            }
        }
        turn_outward(&nodes, &mut tets);
        TetMesh::new(nodes, tets)
    }
}

/// Swaps two corners of each tetrahedron with a negative volume.
pub(super) fn turn_outward(nodes: &[Vec3], tets: &mut [[u32; 4]]) {
    for tet in tets {
        let [a, b, c, d] = tet.map(|n| nodes[n as usize]);
        if (b - a).cross(&(c - a)).dot(&(d - a)) < 0.0 {
            tet.swap(1, 2);
        }
    }
}

impl CylinderSpec {
    /// Rings of the section and layers along the axis.
    fn counts(&self) -> (u32, u32) {
        (cells(self.radius_m, self.cell_m, 1), cells(self.length_m, self.cell_m, 1))
    }

    /// Number of nodes and tetrahedra of the mesh.
    #[must_use]
    pub fn size(&self) -> (f64, f64) {
        let (rings, layers) = self.counts();
        let triangles = 6.0 * f64::from(rings) * f64::from(rings);
        (disc_nodes(rings) * (f64::from(layers) + 1.0), 3.0 * triangles * f64::from(layers))
    }

    /// The mesh, of tetrahedra with four nodes.
    ///
    /// # Errors
    /// When a length is not positive, or there are too many nodes.
    pub fn mesh(&self) -> Result<TetMesh, TetMeshError> {
        check(&[self.radius_m, self.length_m, self.cell_m], self.size().0)?;
        let (rings, layers) = self.counts();
        let step = self.length_m / f64::from(layers);
        let place = |[x, y]: [f64; 2], k: u32| Vec3::new(x, y, f64::from(k) * step - 0.5 * self.length_m);
        Ok(disc(self.radius_m, rings).sweep(layers + 1, false, place)?.with_sides())
    }
}

impl TubeSpec {
    /// Nodes around, layers through the wall and along the axis.
    fn counts(&self) -> [u32; 3] {
        let middle = self.radius_m - 0.5 * self.wall_m;
        [cells(TAU * middle, self.cell_m, 6), cells(self.wall_m, self.cell_m, 1), cells(self.length_m, self.cell_m, 1)]
    }

    /// Number of nodes and tetrahedra of the mesh.
    #[must_use]
    pub fn size(&self) -> (f64, f64) {
        let [around, layers, along] = self.counts().map(f64::from);
        (around * (layers + 1.0) * (along + 1.0), 6.0 * around * layers * along)
    }

    /// The mesh, of tetrahedra with four nodes.
    ///
    /// # Errors
    /// When a length is not positive, the wall is as thick as the radius, or there are too many nodes.
    pub fn mesh(&self) -> Result<TetMesh, TetMeshError> {
        check(&[self.radius_m, self.length_m, self.wall_m, self.cell_m], self.size().0)?;
        check_wall(self.wall_m, self.radius_m)?;
        let [around, layers, along] = self.counts();
        let step = self.length_m / f64::from(along);
        let place = |[x, y]: [f64; 2], k: u32| Vec3::new(x, y, f64::from(k) * step - 0.5 * self.length_m);
        let section = annulus(self.radius_m - self.wall_m, self.radius_m, around, layers);
        let mesh = section.sweep(along + 1, false, place)?;
        let ring = |node: u32| node % (around * (layers + 1)) / around;
        let mesh = mesh.with_skin_group("inner", |node| ring(node) == 0);
        Ok(mesh.with_skin_group("outer", |node| ring(node) == layers).with_sides())
    }
}

impl TorusSpec {
    /// Rings of the section, and sections around the circle.
    fn counts(&self) -> (u32, u32) {
        (cells(self.section_m, self.cell_m, 1), cells(TAU * self.radius_m, self.cell_m, 6))
    }

    /// Number of nodes and tetrahedra of the mesh.
    #[must_use]
    pub fn size(&self) -> (f64, f64) {
        let (rings, around) = self.counts();
        let triangles = 6.0 * f64::from(rings) * f64::from(rings);
        (disc_nodes(rings) * f64::from(around), 3.0 * triangles * f64::from(around))
    }

    /// The mesh, of tetrahedra with four nodes.
    ///
    /// # Errors
    /// When a length is not positive, the section reaches the middle of the ring, or there are too many nodes.
    pub fn mesh(&self) -> Result<TetMesh, TetMeshError> {
        check(&[self.radius_m, self.section_m, self.cell_m], self.size().0)?;
        if self.section_m >= self.radius_m {
            let reason = format!(
                "a ring with a radius of {:.3} mm has no hole with a section {:.3} mm thick: take less than {:.3} mm",
                self.radius_m * 1e3,
                2e3 * self.section_m,
                2e3 * self.radius_m
            );
            return Err(TetMeshError::Unsupported(reason));
        }
        let (rings, around) = self.counts();
        let place = |[x, y]: [f64; 2], k: u32| {
            let (sine, cosine) = (TAU * f64::from(k) / f64::from(around)).sin_cos();
            let out = self.radius_m + x;
            Vec3::new(out * cosine, out * sine, y)
        };
        Ok(disc(self.section_m, rings).sweep(around, true, place)?.with_sides())
    }
}

/// Rejects lengths that are not positive and meshes that are too large.
pub(super) fn check(lengths: &[f64], nodes: f64) -> Result<(), TetMeshError> {
    if !lengths.iter().all(|length| *length > 0.0 && length.is_finite()) {
        return Err(TetMeshError::Empty);
    }
    if nodes < 1e7 { Ok(()) } else { Err(TetMeshError::TooLarge) }
}

/// Rejects a wall that leaves no room inside.
pub(super) fn check_wall(wall_m: f64, radius_m: f64) -> Result<(), TetMeshError> {
    if wall_m < radius_m {
        return Ok(());
    }
    let reason = format!(
        "a wall {:.3} mm thick leaves no room inside a radius of {:.3} mm: make it thinner",
        wall_m * 1e3,
        radius_m * 1e3
    );
    Err(TetMeshError::Unsupported(reason))
}
