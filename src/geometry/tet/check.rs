//! Is the mesh a body? Every kind of fault is counted and its first element named.
//!
//! Thread: cold.

use super::super::mesh::{LengthUnit, SizeFault, check_size};
use super::faces::sorted_faces;
use super::quality::radius_ratio;
use super::{MIDSIDES, TetMesh};
use crate::math::Vec3;
use std::fmt;

/// Radius ratio below which a tetrahedron is flat: its gradients would be round-off. Sane meshes stay above 1e-2.
const FLATTEST: f64 = 1e-6;
/// Farthest a midside node may lie from the middle of its side, in lengths of the side: beyond a quarter an element can
/// fold.
const MIDSIDE_OFF: f64 = 0.2;

/// A kind of fault, how often it occurs, and where first. Tetrahedra and nodes are counted from 0.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TetFault {
    /// Tetrahedra of negative volume.
    #[error(
        "tetrahedra inside out: {count}, the first is {tet} at {}; swap two of its nodes, or mesh again",
        point(.at)
    )]
    Inverted {
        /// How many.
        count: usize,
        /// The first one.
        tet: u32,
        /// Its first corner.
        at: Vec3,
    },
    /// Tetrahedra without volume to speak of.
    #[error("flat tetrahedra: {count}, the first is {tet} at {}; remove slivers or mesh again", point(.at))]
    Flat {
        /// How many.
        count: usize,
        /// The first one.
        tet: u32,
        /// Its first corner.
        at: Vec3,
    },
    /// Midside nodes far from the middle of their side.
    #[error(
        "midside nodes out of place: {count}, the first is node {node} of tetrahedron {tet}; straighten the elements"
    )]
    MidsideOff {
        /// How many.
        count: usize,
        /// The first one.
        node: u32,
        /// Its tetrahedron.
        tet: u32,
    },
    /// Faces with more than two tetrahedra, or two on the same side.
    #[error(
        "faces shared wrongly: {count}, the first by tetrahedra {} and {}; elements overlap, mesh again",
        .tets[0], .tets[1]
    )]
    Overlap {
        /// How many.
        count: usize,
        /// Two tetrahedra at the first one.
        tets: [u32; 2],
    },
    /// Pieces that do not hang together.
    #[error("the mesh falls into {count} pieces, the second holds tetrahedron {tet}; join them or make several bodies")]
    Disconnected {
        /// How many pieces.
        count: usize,
        /// First tetrahedron of the second piece.
        tet: u32,
    },
    /// Nodes that belong to no tetrahedron.
    #[error("nodes without tetrahedron: {count}, the first is node {node}; remove them before export")]
    LooseNodes {
        /// How many.
        count: usize,
        /// The first one.
        node: u32,
    },
}

fn point(p: &Vec3) -> String {
    format!("({:.6}, {:.6}, {:.6}) m", p.x, p.y, p.z)
}

/// What the checks found.
#[derive(Clone, Debug, PartialEq)]
pub struct TetReport {
    /// One entry for each kind of fault found.
    pub faults: Vec<TetFault>,
}

impl TetReport {
    /// True when the mesh is one body of sound tetrahedra.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}

impl fmt::Display for TetReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_sound() {
            return write!(f, "a body of sound tetrahedra");
        }
        let lines: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
        write!(f, "{}", lines.join("\n"))
    }
}

impl std::error::Error for TetReport {}

impl TetMesh {
    /// Checks that the mesh is one body: no tetrahedron inside out or flat, none overlapping at a face, all hanging
    /// together by faces, no loose node, midside nodes near the middle of their sides.
    #[must_use]
    pub fn check(&self) -> TetReport {
        let mut faults = Vec::new();
        self.check_shapes(&mut faults);
        self.check_midsides(&mut faults);
        self.check_faces(&mut faults);
        let mut used = vec![false; self.nodes().len()];
        (0..self.tets().len()).flat_map(|tet| self.nodes_of(tet)).for_each(|node| used[node as usize] = true);
        let mut loose = (0..).zip(&used).filter(|(_, used)| !**used).map(|(node, _)| node);
        if let Some(node) = loose.next() {
            faults.push(TetFault::LooseNodes { count: 1 + loose.count(), node });
        }
        TetReport { faults }
    }

    /// Compares the longest side of the bounds with what was stated, and names the unit that would fit.
    ///
    /// # Errors
    /// When they differ by more than half.
    pub fn check_size(&self, stated_m: f64, read_as: LengthUnit) -> Result<(), SizeFault> {
        check_size(&self.aabb(), stated_m, read_as)
    }

    fn check_shapes(&self, faults: &mut Vec<TetFault>) {
        let (mut inverted, mut flat) = (Vec::new(), Vec::new());
        for tet in 0..self.tets().len() {
            let ratio = radius_ratio(&self.corners(tet));
            if ratio.abs() < FLATTEST {
                flat.push(tet as u32);
            } else if ratio < 0.0 {
                inverted.push(tet as u32);
            }
        }
        let at = |tet: u32| self.corners(tet as usize)[0];
        if let Some(&tet) = inverted.first() {
            faults.push(TetFault::Inverted { count: inverted.len(), tet, at: at(tet) });
        }
        if let Some(&tet) = flat.first() {
            faults.push(TetFault::Flat { count: flat.len(), tet, at: at(tet) });
        }
    }

    fn check_midsides(&self, faults: &mut Vec<TetFault>) {
        let mut off = Vec::new();
        for (tet, middles) in self.midsides().iter().enumerate() {
            let corners = self.corners(tet);
            for (&[i, j], &node) in MIDSIDES.iter().zip(middles) {
                let away = (self.nodes()[node as usize] - 0.5 * (corners[i] + corners[j])).norm();
                if !(away <= MIDSIDE_OFF * (corners[i] - corners[j]).norm()) {
                    off.push((tet as u32, node));
                }
            }
        }
        if let Some(&(tet, node)) = off.first() {
            faults.push(TetFault::MidsideOff { count: off.len(), node, tet });
        }
    }

    fn check_faces(&self, faults: &mut Vec<TetFault>) {
        let faces = sorted_faces(self);
        let (mut overlaps, mut first) = (0, None);
        let mut piece: Vec<u32> = (0..self.tets().len() as u32).collect();
        for same in faces.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            let tets = [same[0].1, same[1].1];
            if same.len() > 2 || !self.opposite(&same[0], &same[1]) {
                overlaps += 1;
                first = first.or(Some(tets));
            }
            let (a, b) = (root(&mut piece, tets[0]), root(&mut piece, tets[1]));
            piece[a.max(b) as usize] = a.min(b);
        }
        if let Some(tets) = first {
            faults.push(TetFault::Overlap { count: overlaps, tets });
        }
        let roots: Vec<u32> = (0..piece.len() as u32).filter(|t| piece[*t as usize] == *t).collect();
        if let [_, tet, ..] = roots[..] {
            faults.push(TetFault::Disconnected { count: roots.len(), tet });
        }
    }

    /// True when two tetrahedra lie on opposite sides of the face they share.
    fn opposite(&self, a: &super::faces::Face, b: &super::faces::Face) -> bool {
        let [p, q, r] = a.0.map(|node| self.nodes()[node as usize]);
        let normal = (q - p).cross(&(r - p));
        let side = |face: &super::faces::Face| {
            let far = self.tets()[face.1 as usize][usize::from(face.2)];
            normal.dot(&(self.nodes()[far as usize] - p))
        };
        side(a) * side(b) <= 0.0
    }
}

/// The smallest member of the set that `x` is in; halves the path on the way.
fn root(sets: &mut [u32], mut x: u32) -> u32 {
    while sets[x as usize] != x {
        sets[x as usize] = sets[sets[x as usize] as usize];
        x = sets[x as usize];
    }
    x
}
