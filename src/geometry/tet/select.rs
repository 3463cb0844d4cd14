//! Parts of a mesh by their place: the six sides, boxes, balls and half-spaces.
//!
//! Thread: cold.

use super::{Group, Members, TetMesh, TetMeshError};
use crate::math::Vec3;

/// The six sides of a body, by the direction they face: x towards the operator, y to the right, z up.
const SIDES: [(&str, usize, f64); 6] =
    [("bottom", 2, -1.0), ("top", 2, 1.0), ("left", 1, -1.0), ("right", 1, 1.0), ("back", 0, -1.0), ("front", 0, 1.0)];

/// Depth of a side, as a share of the extent of the body: a triangle of the surface belongs to the side when it faces there and its
/// middle is not deeper. With more, a side of a round body covers more of it.
const SIDE_DEPTH: f64 = 0.05;
/// Least cosine between the normal of a triangle and the direction of its side: 45°.
const SIDE_FACING: f64 = 0.707;

/// A part of space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Region {
    /// Between two corners, the first with the lower coordinates.
    Box {
        /// Lowest coordinates, m.
        from: Vec3,
        /// Highest coordinates, m.
        to: Vec3,
    },
    /// A ball.
    Sphere {
        /// Its centre, m.
        center: Vec3,
        /// Its radius, m.
        radius_m: f64,
    },
    /// All points at least so far along an axis.
    Above {
        /// Unit axis.
        axis: Vec3,
        /// Along it, m.
        offset_m: f64,
    },
}

impl Region {
    /// True when the point is inside, or outside by no more than round-off.
    #[must_use]
    pub fn contains(&self, point: &Vec3) -> bool {
        const ROUND_OFF_M: f64 = 1e-9;
        match self {
            Self::Box { from, to } => {
                (0..3).all(|k| point[k] >= from[k] - ROUND_OFF_M && point[k] <= to[k] + ROUND_OFF_M)
            }
            Self::Sphere { center, radius_m } => (point - center).norm() <= radius_m + ROUND_OFF_M,
            Self::Above { axis, offset_m } => axis.dot(point) >= offset_m - ROUND_OFF_M,
        }
    }

    /// The same part, displaced by `way`.
    #[must_use]
    pub fn moved(&self, way: &Vec3) -> Self {
        match *self {
            Self::Box { from, to } => Self::Box { from: from + way, to: to + way },
            Self::Sphere { center, radius_m } => Self::Sphere { center: center + way, radius_m },
            Self::Above { axis, offset_m } => Self::Above { axis, offset_m: offset_m + axis.dot(way) },
        }
    }

    /// Its middle; none where it has no end.
    #[must_use]
    pub fn middle(&self) -> Option<Vec3> {
        match *self {
            Self::Box { from, to } => Some(0.5 * (from + to)),
            Self::Sphere { center, .. } => Some(center),
            Self::Above { .. } => None,
        }
    }
}

impl TetMesh {
    /// The mesh with the groups `bottom`, `top`, `left`, `right`, `back` and `front`, except those that are there by name already:
    /// the triangles of the surface that face that way within 45°, and lie within a twentieth of the body's extent of its end.
    #[must_use]
    pub fn with_sides(self) -> Self {
        let (skin, bounds) = (self.skin(), self.aabb());
        let triangles: Vec<([u32; 3], Vec3, Vec3)> = skin
            .triangles
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|n| self.nodes()[n as usize]);
                (*t, (b - a).cross(&(c - a)).normalize(), (a + b + c) / 3.0)
            })
            .collect();
        let mut groups = Vec::new();
        for (name, axis, sign) in SIDES {
            let end = if sign > 0.0 { bounds.max[axis] } else { bounds.min[axis] };
            let depth = |point: &Vec3| (end - point[axis]) * sign;
            let facing = triangles.iter().filter(|(_, normal, _)| normal[axis] * sign >= SIDE_FACING);
            let within = |depth_m: f64| -> Vec<[u32; 3]> {
                facing.clone().filter(|(_, _, middle)| depth(middle) <= depth_m).map(|(t, ..)| *t).collect()
            };
            let mut members = within(SIDE_DEPTH * bounds.size()[axis]);
            if members.is_empty() {
                // A coarse round body: the triangles that reach farthest.
                let least = facing.clone().map(|(_, _, middle)| depth(middle)).fold(f64::INFINITY, f64::min);
                members = within(least * (1.0 + 1e-6));
            }
            if self.group(name).is_none() && !members.is_empty() {
                groups.push(Group { name: name.to_owned(), members: Members::Triangles(members) });
            }
        }
        self.with_groups(groups)
    }

    /// The mesh with one more group: the triangles of the surface all of whose corners `choose` picks by their number.
    #[must_use]
    pub(super) fn with_skin_group(self, name: &str, choose: impl Fn(u32) -> bool) -> Self {
        let chosen = |t: &[u32; 3]| t.iter().all(|n| choose(*n));
        let triangles = self.skin().triangles.into_iter().filter(chosen).collect();
        self.with_groups(vec![Group { name: name.to_owned(), members: Members::Triangles(triangles) }])
    }

    /// The tetrahedra whose centre is in a region.
    #[must_use]
    pub fn tets_in(&self, region: &Region) -> Vec<u32> {
        let centre = |tet: &u32| 0.25 * self.corners(*tet as usize).iter().sum::<Vec3>();
        (0..self.tets().len() as u32).filter(|tet| region.contains(&centre(tet))).collect()
    }

    /// The tetrahedra of a group: those it names, or those whose four corners all belong to it.
    #[must_use]
    pub fn group_tets(&self, group: &Group) -> Vec<u32> {
        if let Members::Tets(tets) = &group.members {
            return tets.clone();
        }
        let nodes = self.group_nodes(group);
        let is_member = |tet: &u32| self.tets()[*tet as usize].iter().all(|n| nodes.binary_search(n).is_ok());
        (0..self.tets().len() as u32).filter(is_member).collect()
    }

    /// The same mesh, moved.
    ///
    /// # Errors
    /// When a node ends up too far from the origin.
    pub fn translated(&self, by: &Vec3) -> Result<Self, TetMeshError> {
        let nodes = self.nodes().iter().map(|node| node + by).collect();
        Self::with_parts(nodes, self.tets().to_vec(), self.midsides().to_vec(), self.groups().to_vec())
    }
}
