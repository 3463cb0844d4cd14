//! The mesh itself: nodes in metres, tetrahedra of four or ten nodes, named groups.
//!
//! Thread: cold.

use super::super::mass::Moments;
use super::super::{Aabb, MassProperties};
use crate::math::{Mat3, Vec3};

/// Farthest coordinate accepted, m, as for triangle meshes.
const FARTHEST: f64 = 1e6;

/// The two corners each midside node lies between, in the order of VTK's quadratic tetrahedron.
pub const MIDSIDES: [[usize; 2]; 6] = [[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]];

/// What a group names.
#[derive(Clone, Debug, PartialEq)]
pub enum Members {
    /// Nodes.
    Nodes(Vec<u32>),
    /// Triangles, by their corners.
    Triangles(Vec<[u32; 3]>),
    /// Tetrahedra, by index.
    Tets(Vec<u32>),
}

/// A named part of a mesh: a physical group of Gmsh, an array of marks of VTK.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// What it names.
    pub members: Members,
}

/// Tetrahedra over nodes. Every coordinate is finite and every index valid; nothing else is promised:
/// [`TetMesh::check`] tells whether it is a body.
#[derive(Clone, Debug, PartialEq)]
pub struct TetMesh {
    nodes: Vec<Vec3>,
    tets: Vec<[u32; 4]>,
    /// Midside nodes of each tetrahedron as in [`MIDSIDES`]; empty when tetrahedra have four nodes.
    midsides: Vec<[u32; 6]>,
    groups: Vec<Group>,
}

/// Why bytes or numbers are not a mesh of tetrahedra.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TetMeshError {
    /// There is nothing in it.
    #[error("the mesh has no tetrahedron: mesh the volume, not only its surface, and export all elements")]
    Empty,
    /// An element names a node that is not there.
    #[error("tetrahedron {tet} names node {node}, but there are {count}")]
    NoSuchNode {
        /// The tetrahedron, from 0.
        tet: usize,
        /// The node, from 0.
        node: u32,
        /// Number of nodes.
        count: usize,
    },
    /// A coordinate is not finite, or absurdly far away.
    #[error("node {node} is not a finite point within 1000 km of the origin: check the file and its unit")]
    BadNode {
        /// The node, from 0.
        node: usize,
    },
    /// Midside nodes for some tetrahedra only.
    #[error("{tets} tetrahedra but midside nodes for {midsides}: use one order of elements throughout")]
    MixedOrder {
        /// Number of tetrahedra.
        tets: usize,
        /// Number of those with midside nodes.
        midsides: usize,
    },
    /// A group names what is not there.
    #[error("group `{group}` names an element or node that is not in the mesh")]
    BadGroup {
        /// Its name.
        group: String,
    },
    /// More than an index can count.
    #[error("more than a hundred million nodes or tetrahedra: use a coarser mesh")]
    TooLarge,
    /// A line of a text file cannot be read.
    #[error("line {line}: {reason}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it and what to do.
        reason: String,
    },
    /// A part of a binary file cannot be read.
    #[error("byte {offset}: {reason}")]
    Byte {
        /// Where, from 0.
        offset: usize,
        /// What is wrong and what to do.
        reason: String,
    },
    /// A kind of file or element that is not read.
    #[error("{0}")]
    Unsupported(String),
}

/// Most nodes or tetrahedra.
const MOST: usize = 100_000_000;

impl TetMesh {
    /// A mesh of these nodes (m) and tetrahedra (corner 3 on the side that the corners 0, 1, 2 run round
    /// counter-clockwise when seen from it, so that the volume is positive).
    ///
    /// # Errors
    /// If there is no tetrahedron, an index is out of range, or a coordinate is not finite.
    pub fn new(nodes: Vec<Vec3>, tets: Vec<[u32; 4]>) -> Result<Self, TetMeshError> {
        Self::with_parts(nodes, tets, Vec::new(), Vec::new())
    }

    /// The same with midside nodes (none, or one set for each tetrahedron) and groups.
    ///
    /// # Errors
    /// As [`Self::new`], or when a group names what is not there.
    pub fn with_parts(
        nodes: Vec<Vec3>,
        tets: Vec<[u32; 4]>,
        midsides: Vec<[u32; 6]>,
        groups: Vec<Group>,
    ) -> Result<Self, TetMeshError> {
        if tets.is_empty() {
            return Err(TetMeshError::Empty);
        }
        if nodes.len() > MOST || tets.len() > MOST {
            return Err(TetMeshError::TooLarge);
        }
        if !midsides.is_empty() && midsides.len() != tets.len() {
            return Err(TetMeshError::MixedOrder { tets: tets.len(), midsides: midsides.len() });
        }
        if let Some(node) = nodes.iter().position(|p| !p.iter().all(|x| x.abs() <= FARTHEST)) {
            return Err(TetMeshError::BadNode { node });
        }
        let mesh = Self { nodes, tets, midsides, groups };
        let count = mesh.nodes.len();
        for tet in 0..mesh.tets.len() {
            if let Some(node) = mesh.nodes_of(tet).find(|n| *n as usize >= count) {
                return Err(TetMeshError::NoSuchNode { tet, node, count });
            }
        }
        match mesh.groups.iter().find(|group| !mesh.holds(&group.members)) {
            Some(group) => Err(TetMeshError::BadGroup { group: group.name.clone() }),
            None => Ok(mesh),
        }
    }

    fn holds(&self, members: &Members) -> bool {
        let is_node = |n: &u32| (*n as usize) < self.nodes.len();
        match members {
            Members::Nodes(nodes) => nodes.iter().all(is_node),
            Members::Triangles(triangles) => triangles.iter().flatten().all(is_node),
            Members::Tets(tets) => tets.iter().all(|t| (*t as usize) < self.tets.len()),
        }
    }

    /// The nodes, m.
    #[must_use]
    pub fn nodes(&self) -> &[Vec3] {
        &self.nodes
    }

    /// The corners of the tetrahedra, as indices of nodes.
    #[must_use]
    pub fn tets(&self) -> &[[u32; 4]] {
        &self.tets
    }

    /// The midside nodes of the tetrahedra; empty when they have four nodes.
    #[must_use]
    pub fn midsides(&self) -> &[[u32; 6]] {
        &self.midsides
    }

    /// True when tetrahedra have ten nodes.
    #[must_use]
    pub fn is_quadratic(&self) -> bool {
        !self.midsides.is_empty()
    }

    /// The groups.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// All nodes of a tetrahedron: corners, then midsides.
    ///
    /// # Panics
    /// If there is no such tetrahedron.
    pub fn nodes_of(&self, tet: usize) -> impl Iterator<Item = u32> + '_ {
        self.tets[tet].into_iter().chain(self.midsides.get(tet).copied().into_iter().flatten())
    }

    /// The corners of a tetrahedron as points.
    ///
    /// # Panics
    /// If there is no such tetrahedron.
    #[must_use]
    pub fn corners(&self, tet: usize) -> [Vec3; 4] {
        self.tets[tet].map(|n| self.nodes[n as usize])
    }

    /// Volume between the corners of a tetrahedron, m³; negative when it is inside out.
    ///
    /// # Panics
    /// If there is no such tetrahedron.
    #[must_use]
    pub fn tet_volume(&self, tet: usize) -> f64 {
        let [a, b, c, d] = self.corners(tet);
        (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0
    }

    /// Volume of the whole, m³.
    #[must_use]
    pub fn volume(&self) -> f64 {
        (0..self.tets.len()).map(|tet| self.tet_volume(tet)).sum()
    }

    /// Bounds of the nodes.
    #[must_use]
    pub fn aabb(&self) -> Aabb {
        Aabb::around(&self.nodes)
    }

    /// Mass, centre and inertia for a density in kg/m³, from the corners: `∫ x = V s/4`,
    /// `∫ x xᵀ = V/20 (s sᵀ + Σ p pᵀ)`, `s = Σ p`. None when there is no volume.
    #[must_use]
    pub fn mass_properties(&self, density: f64) -> Option<MassProperties> {
        let bounds = self.aabb();
        let middle = 0.5 * (bounds.min + bounds.max);
        let (mut mass, mut first, mut second) = (0.0, Vec3::zeros(), Mat3::zeros());
        for tet in 0..self.tets.len() {
            let volume = self.tet_volume(tet);
            let corners = self.corners(tet).map(|p| p - middle);
            let sum: Vec3 = corners.iter().sum();
            let squares = corners.iter().fold(sum * sum.transpose(), |total, p| total + p * p.transpose());
            mass += volume;
            first += sum * (volume / 4.0);
            second += squares * (volume / 20.0);
        }
        if !(mass > 0.0) {
            return None;
        }
        let moments = Moments { mass, first, inertia: Mat3::identity() * second.trace() - second };
        let about_middle = moments.properties(density);
        Some(MassProperties { center: about_middle.center + middle, ..about_middle })
    }

    /// The group called `name`.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// The nodes of a group, sorted, each once; those of the midsides that lie in it too.
    #[must_use]
    pub fn group_nodes(&self, group: &Group) -> Vec<u32> {
        let mut nodes: Vec<u32> = match &group.members {
            Members::Nodes(nodes) => nodes.clone(),
            Members::Tets(tets) => tets.iter().flat_map(|tet| self.nodes_of(*tet as usize)).collect(),
            Members::Triangles(triangles) => {
                let corners: Vec<u32> = triangles.iter().flatten().copied().collect();
                let mut sides: Vec<[u32; 2]> = triangles
                    .iter()
                    .flat_map(|[a, b, c]| [[*a, *b], [*b, *c], [*c, *a]])
                    .map(|[a, b]| [a.min(b), a.max(b)])
                    .collect();
                sides.sort_unstable();
                let midsides = self.sides().filter(|(side, _)| sides.binary_search(side).is_ok());
                corners.into_iter().chain(midsides.map(|(_, node)| node)).collect()
            }
        };
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Every side of every tetrahedron that has a midside node, smaller corner first, and that node.
    fn sides(&self) -> impl Iterator<Item = ([u32; 2], u32)> + '_ {
        self.midsides.iter().zip(&self.tets).flat_map(|(middles, corners)| {
            MIDSIDES.iter().zip(middles).map(|([i, j], middle)| {
                let (a, b) = (corners[*i], corners[*j]);
                ([a.min(b), a.max(b)], *middle)
            })
        })
    }

    /// The nodes that `choose` picks by their place, as a group.
    #[must_use]
    pub fn nodes_where(&self, choose: impl Fn(&Vec3) -> bool) -> Vec<u32> {
        (0..).zip(&self.nodes).filter(|(_, p)| choose(p)).map(|(node, _)| node).collect()
    }

    /// The mesh with one more group.
    ///
    /// # Errors
    /// When the group names what is not there.
    pub fn with_group(mut self, group: Group) -> Result<Self, TetMeshError> {
        if !self.holds(&group.members) {
            return Err(TetMeshError::BadGroup { group: group.name });
        }
        self.groups.push(group);
        Ok(self)
    }

    /// The mesh with more groups, whose members are known to be in it.
    pub(super) fn with_groups(mut self, groups: Vec<Group>) -> Self {
        self.groups.extend(groups);
        self
    }

    /// The mesh without the nodes that belong to no tetrahedron; groups forget them.
    #[must_use]
    pub fn without_loose_nodes(self) -> Self {
        let mut place = vec![u32::MAX; self.nodes.len()];
        (0..self.tets.len()).flat_map(|tet| self.nodes_of(tet)).for_each(|node| place[node as usize] = 0);
        let mut kept = 0;
        for slot in place.iter_mut().filter(|slot| **slot == 0) {
            *slot = kept;
            kept += 1;
        }
        if kept as usize == self.nodes.len() {
            return self;
        }
        let at = |node: u32| place[node as usize];
        let is_kept = |node: &u32| at(*node) != u32::MAX;
        let members = |members: Members| match members {
            Members::Nodes(nodes) => Members::Nodes(nodes.into_iter().filter(is_kept).map(at).collect()),
            Members::Triangles(triangles) => {
                Members::Triangles(triangles.into_iter().filter(|t| t.iter().all(is_kept)).map(|t| t.map(at)).collect())
            }
            tets @ Members::Tets(_) => tets,
        };
        let nodes = self.nodes.iter().zip(&place).filter(|(_, slot)| **slot != u32::MAX);
        Self {
            nodes: nodes.map(|(node, _)| *node).collect(),
            tets: self.tets.iter().map(|tet| tet.map(at)).collect(),
            midsides: self.midsides.iter().map(|middles| middles.map(at)).collect(),
            groups: self.groups.into_iter().map(|g| Group { name: g.name, members: members(g.members) }).collect(),
        }
    }

    /// The same body with a node in the middle of every side: ten for each tetrahedron. A mesh that has them stays as
    /// it is.
    #[must_use]
    pub fn with_midsides(&self) -> Self {
        if self.is_quadratic() {
            return self.clone();
        }
        let mut sides: Vec<[u32; 2]> =
            self.tets.iter().flat_map(|tet| MIDSIDES.map(|[i, j]| [tet[i].min(tet[j]), tet[i].max(tet[j])])).collect();
        sides.sort_unstable();
        sides.dedup();
        let first = self.nodes.len() as u32;
        let place = |i: u32, j: u32| sides.binary_search(&[i.min(j), i.max(j)]).unwrap_or(0) as u32 + first;
        let middle = |[i, j]: &[u32; 2]| 0.5 * (self.nodes[*i as usize] + self.nodes[*j as usize]);
        let mut nodes = self.nodes.clone();
        nodes.extend(sides.iter().map(middle));
        let midsides = self.tets.iter().map(|tet| MIDSIDES.map(|[i, j]| place(tet[i], tet[j]))).collect();
        Self { nodes, tets: self.tets.clone(), midsides, groups: self.groups.clone() }
    }
}
