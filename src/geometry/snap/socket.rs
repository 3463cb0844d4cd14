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
/// The same of angles on the round of a nose, rad.
const SAME_ANGLE: f64 = 1e-6;
/// Height of the base below prongs, m.
const BASE: f64 = 4e-3;
/// The guide of a latch is this many times as thick as the latch.
const GUIDE: f64 = 2.0;

/// How fine a mesh is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// About 700 unknowns, as many as the coarse mesh of seed 000.
    Coarse,
    /// About 1300, as many as its fine one.
    Fine,
    /// Fine at root and nose, coarse elsewhere: forces within 2 % of those of its cells halved. A ring has the fine mesh instead.
    Graded,
    /// The graded one with every tetrahedron cut in eight so many times, for studies: each time some seven times the unknowns.
    Halved(u32),
}

/// So many cells, each so many times as large as the one before it.
#[derive(Clone, Copy)]
struct Cut(u32, f64);

/// How a section is cut.
struct Cells {
    /// Along the wall, from its root to the nose.
    stem: Cut,
    /// Through the wall, from its inner side.
    wall: Cut,
    /// From the wall to the surface of the nose.
    nose: Cut,
    /// Along the lower side of the nose, its round and its upper side.
    below: u32,
    arc: u32,
    above: u32,
    /// Down into the base.
    base: Cut,
    /// Along the base, from a wall to the middle, or without growth from wall to wall.
    gap: Cut,
    /// Across the width, or around the ring.
    across: u32,
}

impl Detail {
    fn cells(self, kind: SnapKind) -> Cells {
        let even = |count| Cut(count, 1.0);
        let coarse = Cells {
            stem: even(3),
            wall: even(1),
            nose: even(1),
            below: 1,
            arc: 2,
            above: 1,
            base: even(1),
            gap: even(1),
            across: 1,
        };
        match (kind, self) {
            (SnapKind::Cap, Self::Coarse) => Cells { stem: even(1), across: 6, ..coarse },
            (SnapKind::Cap, _) => Cells { stem: even(2), across: 8, ..coarse },
            (_, Self::Coarse) => coarse,
            (_, Self::Fine) => Cells { across: 2, ..coarse },
            (_, Self::Graded | Self::Halved(_)) => Cells {
                stem: Cut(7, 1.35),
                wall: if kind == SnapKind::Latch { Cut(3, 1.8) } else { Cut(2, 2.0) },
                nose: Cut(3, 0.6),
                below: 2,
                above: 2,
                base: Cut(2, 3.0),
                gap: Cut(2, 3.0),
                across: 3,
                ..coarse
            },
        }
    }
}

/// x, or the distance from the axis, and z, m.
type Point = (f64, f64);

/// Triangles in the plane of x and z.
#[derive(Default)]
struct Section {
    points: Vec<Point>,
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

    fn triangle(&mut self, corners: [Point; 3]) {
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

/// Lines from `from` to `to`.
fn lines(from: f64, to: f64, Cut(count, growth): Cut) -> Vec<f64> {
    let mut sizes = vec![1.0];
    (1..count as usize).for_each(|k| sizes.push(sizes[k - 1] * growth));
    let (all, mut sum) = (sizes.iter().sum::<f64>(), 0.0);
    let mut lines = vec![from];
    for size in sizes {
        sum += size;
        lines.push(from + (to - from) * sum / all);
    }
    lines
}

impl SnapSpec {
    fn section(&self, cells: &Cells) -> Section {
        let mut section = Section::default();
        let (profile, beside) = self.nose_profile(cells);
        let mut heights = lines(0.0, beside[0], cells.stem);
        heights.extend(&beside[1..]);
        let outer = self.half_gap + self.thickness;
        let wall = lines(self.half_gap, outer, cells.wall);
        let mirrored = |list: &[f64]| list.iter().rev().map(|x| -x).collect::<Vec<_>>();
        section.block(&wall, &heights);
        self.nose(&mut section, 1.0, (&profile, &beside), cells.nose);
        if self.kind == SnapKind::Cap {
            return section;
        }
        let mut below = lines(0.0, -BASE, cells.base);
        below.reverse();
        let left = match self.kind {
            SnapKind::Latch => mirrored(&lines(self.half_gap, self.half_gap + GUIDE * self.thickness, cells.wall)),
            _ => mirrored(&wall),
        };
        section.block(&left, &heights);
        if self.kind == SnapKind::TwoProng {
            self.nose(&mut section, -1.0, (&profile, &beside), cells.nose);
        }
        let gap = match cells.gap {
            Cut(1, _) => lines(-self.half_gap, self.half_gap, cells.gap),
            cut => {
                let mut gap = lines(-self.half_gap, 0.0, cut);
                gap.extend(mirrored(&gap).iter().skip(1));
                gap
            }
        };
        for xs in [&left, &gap, &wall] {
            section.block(xs, &below);
        }
        section
    }

    /// Points of the surface of the right nose from its lower end to its upper one, and the heights on the wall beside them.
    fn nose_profile(&self, cells: &Cells) -> (Vec<Point>, Vec<f64>) {
        let (low, edge, high) = (self.edge_height() - self.nose_below, self.edge_height(), self.length);
        let (from, to) = ((self.half_gap, low), (self.half_gap, high));
        let [first, last] = self.nose_arc();
        let on = |angle: f64| self.on_arc(angle);
        let between = |a: Point, b: Point, count: u32| {
            (1..=count).map(move |k| {
                let share = f64::from(k) / f64::from(count);
                (a.0 + (b.0 - a.0) * share, a.1 + (b.1 - a.1) * share)
            })
        };
        let mut profile = vec![from];
        profile.extend(between(from, on(first), cells.below));
        if self.nose_round > 0.0 {
            profile.extend(lines(first, last, Cut(cells.arc, 1.0)).into_iter().skip(1).map(on));
        }
        profile.extend(between(on(last), to, cells.above));
        let mut beside = if self.nose_round > 0.0 {
            lines(low, high, Cut(profile.len() as u32 - 1, 1.0))
        } else {
            let mut beside = lines(low, edge, Cut(cells.below, 1.0));
            beside.extend(lines(edge, high, Cut(cells.above, 1.0)).iter().skip(1));
            beside
        };
        // To the bit, so that both are one point of the section.
        (beside[0], beside[profile.len() - 1]) = (low, high);
        (profile, beside)
    }

    /// Angles over the horizontal between which the edge of the nose is round.
    fn nose_arc(&self) -> [f64; 2] {
        let tangent = |height: f64| {
            let wide = self.nose - self.nose_round;
            // Of the line from the end of the nose at the wall that touches the circle.
            let (way, distance) = (height.atan2(wide), height.hypot(wide));
            std::f64::consts::PI - way - (self.nose_round / distance).acos()
        };
        [-tangent(self.nose_below), tangent(self.nose_above)]
    }

    /// The nose on the wall at the side `side`, in strips that meet the rows of the wall.
    fn nose(&self, section: &mut Section, side: f64, (profile, beside): (&[Point], &[f64]), cut: Cut) {
        let shares = lines(0.0, 1.0, cut);
        let at = |j: usize, share: f64| {
            let (wall, surface) = ((self.half_gap, beside[j]), profile[j]);
            let x = wall.0 + (surface.0 - wall.0) * share;
            (side * x, wall.1 + (surface.1 - wall.1) * share)
        };
        for j in 1..profile.len() {
            for share in shares.windows(2) {
                let [a, b, c, d] = [at(j - 1, share[0]), at(j - 1, share[1]), at(j, share[1]), at(j, share[0])];
                // The ends of the nose are points: a strip begins or ends there in triangles.
                if j == 1 {
                    section.triangle([a, c, d]);
                } else if j == profile.len() - 1 {
                    section.triangle([a, b, c]);
                } else {
                    section.triangle([a, b, c]);
                    section.triangle([a, c, d]);
                }
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
        let layers = cells.across + 1;
        let mut nodes = Vec::with_capacity((layers * count) as usize);
        for layer in 0..layers {
            let y = self.drawn() * (f64::from(layer) / f64::from(cells.across) - 0.5);
            nodes.extend(section.points.iter().map(|(x, z)| Vec3::new(*x, y, *z)));
        }
        let mut tets = Vec::with_capacity(3 * section.triangles.len() * cells.across as usize);
        for layer in 0..cells.across {
            let (here, next) = (layer * count, (layer + 1) * count);
            for triangle in &section.triangles {
                let mut sorted = *triangle;
                sorted.sort_unstable();
                let [a, b, c] = sorted.map(|k| k + here);
                let [a1, b1, c1] = sorted.map(|k| k + next);
                tets.extend([[a, b, c, c1], [a, b, b1, c1], [a, a1, b1, c1]].map(|tet| upright(&nodes, tet)));
            }
        }
        let mut mesh = self.on_round(&TetMesh::new(nodes, tets)?.with_midsides())?;
        if let Detail::Halved(times) = detail {
            for _ in 0..times {
                mesh = self.on_round(&mesh.split()?.with_midsides())?;
            }
        }
        if round {
            mesh = self.rolled(&mesh)?;
        }
        let is_graded = matches!(detail, Detail::Graded | Detail::Halved(_)) && self.kind != SnapKind::Cap;
        let touching = mesh.nodes_where(|p| self.can_touch(p, is_graded));
        let held = mesh.nodes_where(|p| self.is_held(p));
        mesh.with_group(Group { name: HELD.into(), members: Members::Nodes(held) })?
            .with_group(Group { name: TOUCHING.into(), members: Members::Nodes(touching) })
    }

    fn is_held(&self, p: &Vec3) -> bool {
        let bottom = if self.kind == SnapKind::Cap { 0.0 } else { -BASE };
        p.z < bottom + SAME
    }

    /// On the nose above its edge, on top of a wall, or on the inner side of a guide. Ramp and flank of the plug meet the edge of a nose and not
    /// its sides, so that on a graded mesh, which has more nodes than a snapshot has contacts, the edge and two rails along the guide stand for them.
    fn can_touch(&self, p: &Vec3, is_graded: bool) -> bool {
        if p.z > self.length - SAME {
            return true;
        }
        if self.kind == SnapKind::Latch && p.x < 0.0 {
            let rail = p.y.abs() > 0.5 * self.width - SAME;
            return (rail || !is_graded) && (p.x + self.half_gap).abs() < SAME && p.z > 0.5 * self.length;
        }
        let x = if self.kind == SnapKind::Cap { p.x.hypot(p.y) } else { p.x.abs() };
        if self.arc_angle((x, p.z)).is_some() {
            return true;
        }
        if !is_graded && self.nose_round == 0.0 {
            let share = (p.z - self.edge_height()) / self.nose_above;
            return share > -SAME && (x - self.opening() - share * self.nose).abs() < SAME;
        }
        (p.z - self.edge_height()).abs() < SAME && (x - self.opening()).abs() < SAME
    }

    /// Where the round of the nose has this angle over the horizontal.
    fn on_arc(&self, angle: f64) -> Point {
        let radius = self.nose_round;
        (self.opening() + radius - radius * angle.cos(), self.edge_height() + radius * angle.sin())
    }

    /// Angle of a point on the round of the nose.
    fn arc_angle(&self, (x, z): Point) -> Option<f64> {
        let (wide, high) = (self.opening() + self.nose_round - x, z - self.edge_height());
        let (angle, [first, last]) = (high.atan2(wide), self.nose_arc());
        let lies = self.nose_round > 0.0
            && (wide.hypot(high) - self.nose_round).abs() < SAME
            && (first - SAME_ANGLE..last + SAME_ANGLE).contains(&angle);
        lies.then_some(angle)
    }

    /// How far the section is drawn out along y: the width, or of a ring what it measures around at the edge of the nose.
    fn drawn(&self) -> f64 {
        if self.kind == SnapKind::Cap { TAU * self.opening() } else { self.width }
    }

    /// The mesh with the midside nodes of a round nose moved from its chords out to it.
    fn on_round(&self, mesh: &TetMesh) -> Result<TetMesh, TetMeshError> {
        let mut nodes = mesh.nodes().to_vec();
        for (tet, middles) in mesh.tets().iter().zip(mesh.midsides()) {
            for ([a, b], middle) in MIDSIDES.iter().zip(middles) {
                let angle = |corner: usize| {
                    let p = mesh.nodes()[tet[corner] as usize];
                    self.arc_angle((p.x, p.z))
                };
                if let (Some(from), Some(to)) = (angle(*a), angle(*b)) {
                    let node = &mut nodes[*middle as usize];
                    (node.x, node.z) = self.on_arc(0.5 * (from + to));
                }
            }
        }
        TetMesh::with_parts(nodes, mesh.tets().to_vec(), mesh.midsides().to_vec(), mesh.groups().to_vec())
    }

    /// The mesh of a wall bent to a ring: its ends meet, and all nodes lie on circles about z.
    fn rolled(&self, flat: &TetMesh) -> Result<TetMesh, TetMeshError> {
        let (mut nodes, mut known) = (Vec::new(), BTreeMap::new());
        let mut place_of = Vec::with_capacity(flat.nodes().len());
        for p in flat.nodes() {
            let share = p.y / self.drawn() + 0.5;
            let share = if share > 1.0 - SAME { 0.0 } else { share };
            let key = [p.x, share * self.drawn(), p.z].map(|v| (v / SAME).round() as i64);
            let next = nodes.len() as u32;
            let place = *known.entry(key).or_insert(next);
            if place == next {
                let (sin, cos) = (TAU * share).sin_cos();
                nodes.push(Vec3::new(p.x * cos, p.x * sin, p.z));
            }
            place_of.push(place);
        }
        let tets = flat.tets().iter().map(|tet| tet.map(|node| place_of[node as usize])).collect();
        let midsides = flat.midsides().iter().map(|six| six.map(|node| place_of[node as usize])).collect();
        TetMesh::with_parts(nodes, tets, midsides, Vec::new())
    }
}

/// The tetrahedron with its corners in the order that makes its volume positive.
fn upright(nodes: &[Vec3], [a, b, c, d]: [u32; 4]) -> [u32; 4] {
    let at = |k: u32| nodes[k as usize];
    let volume = (at(b) - at(a)).cross(&(at(c) - at(a))).dot(&(at(d) - at(a)));
    if volume > 0.0 { [a, b, c, d] } else { [a, c, b, d] }
}
