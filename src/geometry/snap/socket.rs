//! The deformable socket as tetrahedra: a section of triangles, drawn out or turned.
//!
//! Thread: cold.
//!
//! A triangle of the section becomes a prism between two layers, and the prism three tetrahedra. Which diagonal cuts a side of
//! a prism is told by the order of its two nodes in the section, so that neighbours agree.

use super::{SnapKind, SnapSpec};
use crate::geometry::tet::{Group, MIDSIDES, Members, TetMesh, TetMeshError};
use crate::math::Vec3;
use std::collections::BTreeMap;
use std::f64::consts::TAU;

/// The group of nodes that do not move.
pub const HELD: &str = "held";
/// The group of nodes that can touch the plug.
pub const TOUCHING: &str = "touching";

/// Lengths nearer than this are the same, m.
const SAME: f64 = 1e-9;
/// Height of the base below prongs, m.
const BASE: f64 = 4e-3;
/// The guide of a latch is this many times as thick as the latch.
const GUIDE: f64 = 2.0;

/// How fine a mesh is: the numbers of unknowns are about those of seed 000's two meshes, and finer ones for studies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// About 700 unknowns.
    Coarse,
    /// About 1300.
    Fine,
    /// The coarse one with every tetrahedron cut in eight so many times, for studies: each time some six times the unknowns.
    Halved(u32),
}

/// Numbers of elements.
struct Cells {
    /// Along the wall below the nose.
    along: u32,
    /// Through the wall.
    through: u32,
    /// Across the width, or around the ring.
    across: u32,
    /// Through the base, and along it between the walls.
    base: [u32; 2],
}

impl Detail {
    fn cells(self, kind: SnapKind) -> Cells {
        let (along, through, across, base) = match (kind, self) {
            (SnapKind::Cap, Self::Fine) => (2, 1, 8, [0, 0]),
            (SnapKind::Cap, _) => (1, 1, 6, [0, 0]),
            (_, Self::Fine) => (3, 1, 2, [1, 1]),
            _ => (3, 1, 1, [1, 1]),
        };
        Cells { along, through, across, base }
    }
}

/// Triangles in the plane of x and z.
#[derive(Default)]
struct Section {
    points: Vec<(f64, f64)>,
    triangles: Vec<[u32; 3]>,
    known: BTreeMap<(i64, i64), u32>,
}

impl Section {
    fn point(&mut self, x: f64, z: f64) -> u32 {
        let key = |v: f64| (v / SAME).round() as i64;
        let next = self.points.len() as u32;
        let index = *self.known.entry((key(x), key(z))).or_insert(next);
        if index == next {
            self.points.push((x, z));
        }
        index
    }

    fn triangle(&mut self, corners: [(f64, f64); 3]) {
        let triangle = corners.map(|(x, z)| self.point(x, z));
        self.triangles.push(triangle);
    }

    /// A block between the given lines, cut so that the left half mirrors the right.
    fn block(&mut self, xs: &[f64], zs: &[f64]) {
        for x in xs.windows(2) {
            for z in zs.windows(2) {
                let [a, b, c, d] = [(x[0], z[0]), (x[1], z[0]), (x[1], z[1]), (x[0], z[1])];
                let cuts = if x[0] + x[1] > 0.0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] };
                cuts.into_iter().for_each(|cut| self.triangle(cut));
            }
        }
    }
}

/// `count` equal parts from `from` to `to`.
fn lines(from: f64, to: f64, count: u32) -> Vec<f64> {
    (0..=count).map(|k| from + (to - from) * f64::from(k) / f64::from(count)).collect()
}

impl SnapSpec {
    fn section(&self, cells: &Cells) -> Section {
        let mut section = Section::default();
        let (edge, top) = (self.edge_height(), self.length);
        let mut heights = lines(0.0, edge - self.nose_below, cells.along);
        heights.extend(lines(edge - self.nose_below, edge, cells.through).iter().skip(1));
        heights.extend(lines(edge, top, cells.through).iter().skip(1));
        let wall = lines(self.half_gap, self.half_gap + self.thickness, cells.through);
        let mirrored = |list: &[f64]| list.iter().rev().map(|x| -x).collect::<Vec<_>>();
        section.block(&wall, &heights);
        self.nose(&mut section, 1.0, cells.through);
        if self.kind == SnapKind::Cap {
            return section;
        }
        let below = lines(-BASE, 0.0, cells.base[0]);
        let left = match self.kind {
            SnapKind::Latch => {
                let guide = self.half_gap + GUIDE * self.thickness;
                mirrored(&lines(self.half_gap, guide, cells.through))
            }
            _ => mirrored(&wall),
        };
        section.block(&left, &heights);
        if self.kind == SnapKind::TwoProng {
            self.nose(&mut section, -1.0, cells.through);
        }
        for xs in [&left, &lines(-self.half_gap, self.half_gap, cells.base[1]), &wall] {
            section.block(xs, &below);
        }
        section
    }

    /// The nose on the wall at the side `side`, in strips that meet the rows of the wall.
    fn nose(&self, section: &mut Section, side: f64, strips: u32) {
        let (edge, tip) = (self.edge_height(), (side * self.opening(), self.edge_height()));
        for (from, to) in [(edge - self.nose_below, edge), (edge, self.length)] {
            for z in lines(from, to, strips).windows(2) {
                let wall = side * self.half_gap;
                let (a, b) = ((wall, z[0]), (wall, z[1]));
                section.triangle(if side > 0.0 { [a, b, tip] } else { [b, a, tip] });
            }
        }
    }

    /// The socket, ten nodes to a tetrahedron, with the groups [`HELD`] and [`TOUCHING`]. It stands on z = 0, its base reaches
    /// below.
    ///
    /// # Errors
    /// When the dimensions give no body.
    pub fn socket(&self, detail: Detail) -> Result<TetMesh, TetMeshError> {
        let cells = detail.cells(self.kind);
        let section = self.section(&cells);
        let count = section.points.len() as u32;
        let round = self.kind == SnapKind::Cap;
        let layers = if round { cells.across } else { cells.across + 1 };
        let mut nodes = Vec::with_capacity((layers * count) as usize);
        for layer in 0..layers {
            let share = f64::from(layer) / f64::from(cells.across);
            let (sin, cos) = (TAU * share).sin_cos();
            nodes.extend(section.points.iter().map(|(x, z)| {
                if round { Vec3::new(x * cos, x * sin, *z) } else { Vec3::new(*x, self.width * (share - 0.5), *z) }
            }));
        }
        let mut tets = Vec::with_capacity(3 * section.triangles.len() * cells.across as usize);
        for layer in 0..cells.across {
            let (here, next) = (layer * count, (layer + 1) % layers * count);
            for triangle in &section.triangles {
                let mut sorted = *triangle;
                sorted.sort_unstable();
                let [a, b, c] = sorted.map(|k| k + here);
                let [a1, b1, c1] = sorted.map(|k| k + next);
                tets.extend([[a, b, c, c1], [a, b, b1, c1], [a, a1, b1, c1]].map(|tet| upright(&nodes, tet)));
            }
        }
        let finish = |mesh: TetMesh| if round { bent(&mesh.with_midsides()) } else { Ok(mesh.with_midsides()) };
        let mut mesh = finish(TetMesh::new(nodes, tets)?)?;
        if let Detail::Halved(times) = detail {
            for _ in 0..times {
                mesh = finish(mesh.split()?)?;
            }
        }
        let (held, touching) = (mesh.nodes_where(|p| self.is_held(p)), mesh.nodes_where(|p| self.can_touch(p)));
        mesh.with_group(Group { name: HELD.into(), members: Members::Nodes(held) })?
            .with_group(Group { name: TOUCHING.into(), members: Members::Nodes(touching) })
    }

    fn is_held(&self, p: &Vec3) -> bool {
        let bottom = if self.kind == SnapKind::Cap { 0.0 } else { -BASE };
        p.z < bottom + SAME
    }

    /// On the nose from its edge up, on top of a wall, or on the inner side of a guide.
    fn can_touch(&self, p: &Vec3) -> bool {
        let round = self.kind == SnapKind::Cap;
        if p.z > self.length - SAME {
            return true;
        }
        if self.kind == SnapKind::Latch && p.x < 0.0 {
            return (p.x + self.half_gap).abs() < SAME && p.z > 0.5 * self.length;
        }
        let x = if round { p.x.hypot(p.y) } else { p.x.abs() };
        let share = (p.z - self.edge_height()) / self.nose_above;
        share > -SAME && (x - self.opening() - share * self.nose).abs() < SAME
    }
}

/// The mesh of a ring with its midside nodes moved from the chords out to the round.
fn bent(mesh: &TetMesh) -> Result<TetMesh, TetMeshError> {
    let mut nodes = mesh.nodes().to_vec();
    for (tet, middles) in mesh.tets().iter().zip(mesh.midsides()) {
        for ([a, b], middle) in MIDSIDES.iter().zip(middles) {
            let ends = [mesh.nodes()[tet[*a] as usize], mesh.nodes()[tet[*b] as usize]];
            let chord = ends[0] + ends[1];
            let radius = ends.iter().map(|p| 0.5 * p.x.hypot(p.y)).sum::<f64>();
            let stretch = radius / chord.x.hypot(chord.y);
            nodes[*middle as usize] = Vec3::new(chord.x * stretch, chord.y * stretch, 0.5 * chord.z);
        }
    }
    TetMesh::with_parts(nodes, mesh.tets().to_vec(), mesh.midsides().to_vec(), mesh.groups().to_vec())
}

/// The tetrahedron with its corners in the order that makes its volume positive.
fn upright(nodes: &[Vec3], [a, b, c, d]: [u32; 4]) -> [u32; 4] {
    let at = |k: u32| nodes[k as usize];
    let volume = (at(b) - at(a)).cross(&(at(c) - at(a))).dot(&(at(d) - at(a)));
    if volume > 0.0 { [a, b, c, d] } else { [a, c, b, d] }
}
