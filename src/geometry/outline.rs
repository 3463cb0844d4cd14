//! Corners, edges and flat faces of a convex solid given as a mesh.
//!
//! Thread: made cold; asked from simulation or collision (RT safe: slices).
//!
//! A mesh exported from CAD cuts each flat face into triangles. For contact the face counts, not its triangles: a box that was exported as
//! twelve triangles has the eight corners, twelve edges and six faces of a box, and gets the contacts of one. Triangles are
//! joined to a face as long as they lie in the plane of its largest one within [`FLAT_PART`] of the size of the solid, which is more
//! than the rounding of 32-bit coordinates in an STL file.

use super::feature::Feature;
use super::mesh::TriMesh;
use crate::math::Vec3;
use std::collections::{BTreeMap, BTreeSet};

/// Distance from the plane of a face, in parts of the diagonal of the bounding box, within which a vertex lies on the face.
const FLAT_PART: f64 = 1e-6;
/// Most faces. A solid with more is round, or as good as round: its nodes describe its contacts.
const MOST_FACES: usize = 32;
/// Slack of the rounding of a distance, m.
const ROUNDING_M: f64 = 1e-9;

/// A flat face.
#[derive(Clone, Debug)]
pub struct FlatFace {
    /// Outward unit normal.
    pub normal: Vec3,
    /// Largest `normal·x` of its corners, m.
    pub offset: f64,
    /// Distance from the plane within which points count as on the face, m.
    pub flush: f64,
    /// The features that bound it, by number.
    pub features: Vec<u16>,
}

/// See the file's head.
#[derive(Clone, Debug)]
pub struct Outline {
    /// Corners, then edges.
    pub features: Vec<Feature>,
    /// Faces, the largest first.
    pub faces: Vec<FlatFace>,
}

impl Outline {
    /// The outline of a closed convex mesh; none when it has too many faces.
    #[must_use]
    pub fn of_convex(mesh: &TriMesh) -> Option<Self> {
        let bounds = mesh.aabb();
        let near = FLAT_PART * (bounds.max - bounds.min).norm();
        let (face_of, normals) = join_triangles(mesh, near)?;
        // Faces that meet at each vertex, and vertices on the border of each two faces.
        let mut around: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); mesh.vertices().len()];
        for (triangle, corners) in mesh.triangles().iter().enumerate() {
            for corner in corners {
                around[*corner as usize].insert(face_of[triangle]);
            }
        }
        let mut borders: BTreeMap<(usize, usize), Vec<u32>> = BTreeMap::new();
        for (vertex, faces) in around.iter().enumerate() {
            for (k, one) in faces.iter().enumerate() {
                for other in faces.iter().skip(k + 1) {
                    borders.entry((*one, *other)).or_default().push(vertex as u32);
                }
            }
        }
        let at = |vertex: u32| mesh.vertices()[vertex as usize];
        let mut members = vec![Vec::new(); normals.len()];
        let mut features = Vec::new();
        for (vertex, faces) in around.iter().enumerate().filter(|(_, faces)| faces.len() > 2) {
            faces.iter().for_each(|face| members[*face].push(features.len() as u16));
            features.push(Feature::Point { position: at(vertex as u32), radius: 0.0 });
        }
        for ((one, other), vertices) in &borders {
            let way = normals[*one].cross(&normals[*other]);
            let along = |vertex: &u32| way.dot(&at(*vertex));
            let first = vertices.iter().min_by(|a, b| along(a).total_cmp(&along(b)))?;
            let last = vertices.iter().max_by(|a, b| along(a).total_cmp(&along(b)))?;
            // Two faces of a cone or of a pyramid meet at a corner alone.
            if (at(*last) - at(*first)).norm() > near {
                [one, other].into_iter().for_each(|face| members[*face].push(features.len() as u16));
                features.push(Feature::Segment { a: at(*first), b: at(*last), radius: 0.0 });
            }
        }
        let faces = normals.iter().zip(members).map(|(normal, features_of)| {
            let heights = features_of.iter().filter_map(|index| match features[usize::from(*index)] {
                Feature::Point { position, .. } => Some(normal.dot(&position)),
                _ => None,
            });
            let (low, high) = heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
            FlatFace { normal: *normal, offset: high, flush: high - low + ROUNDING_M, features: features_of }
        });
        let faces: Vec<FlatFace> = faces.collect();
        Some(Self { features, faces })
    }
}

/// The face of each triangle, and the normal of each face, the face with the largest triangle first.
fn join_triangles(mesh: &TriMesh, near: f64) -> Option<(Vec<usize>, Vec<Vec3>)> {
    let count = mesh.triangles().len();
    let mut beside: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
    for (triangle, [a, b, c]) in mesh.triangles().iter().enumerate() {
        for (from, to) in [(a, b), (b, c), (c, a)] {
            beside.entry((*from.min(to), *from.max(to))).or_default().push(triangle);
        }
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| mesh.area_normal(*b).norm().total_cmp(&mesh.area_normal(*a).norm()).then(a.cmp(b)));
    let (mut face_of, mut normals) = (vec![usize::MAX; count], Vec::new());
    for start in order {
        if face_of[start] != usize::MAX {
            continue;
        }
        if normals.len() == MOST_FACES {
            return None;
        }
        let normal = mesh.area_normal(start).try_normalize(0.0)?;
        let [origin, ..] = mesh.corners(start);
        let lies_on = |triangle: usize| mesh.corners(triangle).iter().all(|p| normal.dot(&(p - origin)).abs() <= near);
        face_of[start] = normals.len();
        let mut open = vec![start];
        while let Some(triangle) = open.pop() {
            let [a, b, c] = mesh.triangles()[triangle];
            for (from, to) in [(a, b), (b, c), (c, a)] {
                for other in beside.get(&(from.min(to), from.max(to))).into_iter().flatten() {
                    if face_of[*other] == usize::MAX && lies_on(*other) {
                        face_of[*other] = normals.len();
                        open.push(*other);
                    }
                }
            }
        }
        normals.push(normal);
    }
    Some((face_of, normals))
}
