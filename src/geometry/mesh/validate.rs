//! Does the mesh bound a solid? Every kind of fault is counted and its first place named.
//!
//! Thread: cold.

use super::super::Aabb;
use super::topology::{Side, edges, pinched_vertices, shells, sides};
use super::{Bvh, LengthUnit, TriMesh, cross};
use crate::math::Vec3;
use std::fmt;

/// A triangle whose height is below this share of its longest side has no normal worth the name. Normal value: far
/// above round-off (1e-16), far below the thinnest sliver of a sane mesh.
const FLATTEST: f64 = 1e-10;
/// How many times larger or smaller than stated a part may be before its unit is doubted. The nearest units differ by
/// 2.54.
const SIZE_FACTOR: f64 = 1.5;

/// What to look for beyond the checks that are always made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Also look for triangles that cut through each other. Costs a search in a tree for every triangle.
    pub self_intersection: bool,
}

/// A kind of fault, how often it occurs, and where first. Triangles and vertices are counted from 0.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MeshFault {
    /// Edges with a triangle on one side only.
    #[error(
        "open edges: {count}, the first on triangle {triangle} between {}; close the gap, or weld with a tolerance",
        place(.ends)
    )]
    OpenEdges {
        /// How many.
        count: usize,
        /// A triangle on the first one.
        triangle: u32,
        /// Ends of the first one.
        ends: [Vec3; 2],
    },
    /// Edges with more than two triangles.
    #[error(
        "edges with more than two triangles: {count}, the first on triangle {triangle} between {}; remove inner walls",
        place(.ends)
    )]
    CrowdedEdges {
        /// How many.
        count: usize,
        /// A triangle on the first one.
        triangle: u32,
        /// Ends of the first one.
        ends: [Vec3; 2],
    },
    /// Neighbours that disagree which side is out.
    #[error(
        "edges where neighbours face opposite ways: {count}, the first between triangles {} and {}; \
         orient the faces alike",
        .triangles[0], .triangles[1]
    )]
    FlippedNeighbours {
        /// How many.
        count: usize,
        /// The two triangles at the first one.
        triangles: [u32; 2],
    },
    /// Vertices where several surfaces touch in a point.
    #[error(
        "vertices where surfaces touch in one point only: {count}, the first is vertex {vertex} at {}; \
         pull them apart",
        point(.at)
    )]
    PinchedVertices {
        /// How many.
        count: usize,
        /// The first one.
        vertex: u32,
        /// Where it is.
        at: Vec3,
    },
    /// Closed shells whose outside is inside.
    #[error(
        "shells inside out: {count}, the first holds triangle {triangle} and has a volume of {volume:.3e} m³; \
         flip their faces"
    )]
    InsideOut {
        /// How many.
        count: usize,
        /// First triangle of the first one.
        triangle: u32,
        /// Its signed volume, m³.
        volume: f64,
    },
    /// Triangles without area.
    #[error(
        "triangles without area: {count}, the first is triangle {triangle} at {}; \
         remove them, or weld with a tolerance",
        point(.at)
    )]
    Degenerate {
        /// How many.
        count: usize,
        /// The first one.
        triangle: u32,
        /// Its first corner.
        at: Vec3,
    },
    /// Triangles with the same three vertices as another.
    #[error(
        "triangles that are there twice: {count}, the first is triangle {triangle}, the same as {same_as}; remove them"
    )]
    Duplicate {
        /// How many.
        count: usize,
        /// The first one.
        triangle: u32,
        /// The one it repeats.
        same_as: u32,
    },
    /// Triangles that cut through each other.
    #[error(
        "pairs of triangles that cut through each other: {count}, the first are {} and {} at {}; \
         unite the solids",
        .triangles[0], .triangles[1], point(.at)
    )]
    SelfIntersection {
        /// How many.
        count: usize,
        /// The first pair.
        triangles: [u32; 2],
        /// A corner of the first of them.
        at: Vec3,
    },
}

/// The part is not of the size it should be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "the longest side of the part is {} but {} was stated{}",
    length(*.found_m), length(*.stated_m),
    .likely.map_or(String::new(), |unit| format!(": the file is probably in {}, read it with that unit", unit.symbol()))
)]
pub struct SizeFault {
    /// Longest side of the bounds, m.
    pub found_m: f64,
    /// What was stated, m.
    pub stated_m: f64,
    /// The unit the file would have to be in to fit.
    pub likely: Option<LengthUnit>,
}

fn length(metres: f64) -> String {
    if metres < 1.0 { format!("{:.4} mm", metres * 1e3) } else { format!("{metres:.4} m") }
}

fn point(p: &Vec3) -> String {
    format!("({:.6}, {:.6}, {:.6}) m", p.x, p.y, p.z)
}

fn place([a, b]: &[Vec3; 2]) -> String {
    format!("{} and {}", point(a), point(b))
}

/// What the checks found.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshReport {
    /// Number of surfaces that hang together.
    pub shells: u32,
    /// One entry for each kind of fault found.
    pub faults: Vec<MeshFault>,
}

impl MeshReport {
    /// True when the mesh bounds a solid, as far as the checks asked for can tell.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}

impl fmt::Display for MeshReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_sound() {
            return write!(f, "a closed mesh, shells: {}", self.shells);
        }
        let lines: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
        write!(f, "{}", lines.join("\n"))
    }
}

impl std::error::Error for MeshReport {}

impl TriMesh {
    /// Checks that the mesh is the surface of a solid: closed, consistently oriented, outside out, without degenerate
    /// or repeated triangles. Several shells are allowed; one that faces inwards must lie inside another (a cavity).
    #[must_use]
    pub fn validate(&self, checks: &Checks) -> MeshReport {
        let sides = sides(self);
        let (shell, shells) = shells(self, &sides);
        let mut faults = Vec::new();
        faults.extend(self.degenerate());
        faults.extend(self.duplicates());
        faults.extend(self.edge_faults(&sides));
        let pinched = pinched_vertices(self, &sides);
        if let Some(&vertex) = pinched.first() {
            let at = self.vertices()[vertex as usize];
            faults.push(MeshFault::PinchedVertices { count: pinched.len(), vertex, at });
        }
        // Which way is out means nothing for a surface with a hole in it.
        if !faults.iter().any(|f| matches!(f, MeshFault::OpenEdges { .. } | MeshFault::FlippedNeighbours { .. })) {
            faults.extend(self.inside_out(&shell, shells));
        }
        if checks.self_intersection {
            faults.extend(self.self_intersection());
        }
        MeshReport { shells, faults }
    }

    fn degenerate(&self) -> Option<MeshFault> {
        let flat = |t: &usize| {
            let [a, b, c] = self.corners(*t);
            let longest = (b - a).norm_squared().max((c - b).norm_squared()).max((a - c).norm_squared());
            !(self.area_normal(*t).norm() > FLATTEST * longest)
        };
        let mut all = (0..self.triangles().len()).filter(flat);
        let first = all.next()?;
        let at = self.corners(first)[0];
        Some(MeshFault::Degenerate { count: 1 + all.count(), triangle: first as u32, at })
    }

    fn duplicates(&self) -> Option<MeshFault> {
        let mut keys: Vec<([u32; 3], u32)> = Vec::with_capacity(self.triangles().len());
        for (t, corners) in (0..).zip(self.triangles()) {
            let mut key = *corners;
            key.sort_unstable();
            keys.push((key, t));
        }
        keys.sort_unstable();
        let repeats = || keys.windows(2).filter(|w| w[0].0 == w[1].0);
        let first = repeats().min_by_key(|w| w[1].1)?;
        Some(MeshFault::Duplicate { count: repeats().count(), triangle: first[1].1, same_as: first[0].1 })
    }

    fn edge_faults(&self, sides: &[Side]) -> Vec<MeshFault> {
        let ends = |edge: &[Side]| [edge[0].low, edge[0].high].map(|v| self.vertices()[v as usize]);
        let (mut open, mut crowded, mut flipped) = (Vec::new(), Vec::new(), Vec::new());
        for edge in edges(sides) {
            match edge {
                [_] => open.push(edge),
                [s, t] if s.is_forward(self) == t.is_forward(self) => flipped.push(edge),
                [_, _] => {}
                _ => crowded.push(edge),
            }
        }
        let mut faults = Vec::new();
        if let Some(first) = open.first() {
            let triangle = first[0].triangle;
            faults.push(MeshFault::OpenEdges { count: open.len(), triangle, ends: ends(first) });
        }
        if let Some(first) = crowded.first() {
            let triangle = first[0].triangle;
            faults.push(MeshFault::CrowdedEdges { count: crowded.len(), triangle, ends: ends(first) });
        }
        if let Some(first) = flipped.first() {
            let triangles = [first[0].triangle, first[1].triangle];
            faults.push(MeshFault::FlippedNeighbours { count: flipped.len(), triangles });
        }
        faults
    }

    /// Shells of negative volume that are not the cavity of another.
    fn inside_out(&self, shell: &[u32], count: u32) -> Option<MeshFault> {
        let mut all = vec![(0.0, Aabb::empty(), None); count as usize];
        let origin = self.vertices()[self.triangles()[0][0] as usize];
        for (t, s) in (0..).zip(shell) {
            let (volume, bounds, first) = &mut all[*s as usize];
            let [a, b, c] = self.corners(t as usize).map(|p| p - origin);
            *volume += a.dot(&b.cross(&c)) / 6.0;
            *bounds = bounds.union(&Aabb::around(&self.corners(t as usize)));
            first.get_or_insert(t);
        }
        let is_cavity = |inner: &Aabb| all.iter().any(|(v, outer, _)| *v > 0.0 && outer.contains(inner));
        let mut wrong = all.iter().filter(|(volume, bounds, _)| *volume < 0.0 && !is_cavity(bounds));
        let (volume, _, triangle) = *wrong.next()?;
        Some(MeshFault::InsideOut { count: 1 + wrong.count(), triangle: triangle.unwrap_or(0), volume })
    }

    fn self_intersection(&self) -> Option<MeshFault> {
        let bvh = Bvh::new(self);
        let (mut count, mut first) = (0, None);
        for t in 0..self.triangles().len() as u32 {
            let bounds = Aabb::around(&self.corners(t as usize));
            bvh.for_each_overlap(&bounds, |u| {
                if u > t && cross::triangles_cross(self, t as usize, u as usize) {
                    count += 1;
                    // The tree gives the partners in its own order.
                    first = Some(first.map_or([t, u], |f: [u32; 2]| f.min([t, u])));
                }
            });
        }
        let triangles = first?;
        Some(MeshFault::SelfIntersection { count, triangles, at: self.corners(triangles[0] as usize)[0] })
    }

    /// Compares the longest side of the bounds with what it should be, in metres, to catch a file read in the wrong
    /// unit. `read_as` is the unit it was read in.
    ///
    /// # Errors
    /// If it is more than half as long again, or shorter in the same measure; with the unit that would fit.
    pub fn check_size(&self, stated_m: f64, read_as: LengthUnit) -> Result<(), SizeFault> {
        check_size(&self.aabb(), stated_m, read_as)
    }
}

/// Compares the longest side of bounds, m, with what was stated.
pub(in crate::geometry) fn check_size(bounds: &Aabb, stated_m: f64, read_as: LengthUnit) -> Result<(), SizeFault> {
    let found_m = bounds.size().max();
    let fits = |size: f64| size <= stated_m * SIZE_FACTOR && size * SIZE_FACTOR >= stated_m;
    if fits(found_m) {
        return Ok(());
    }
    let in_file = found_m * read_as.per_metre();
    let likely = LengthUnit::ALL.into_iter().find(|unit| fits(unit.to_metres(in_file)));
    Err(SizeFault { found_m, stated_m, likely })
}
