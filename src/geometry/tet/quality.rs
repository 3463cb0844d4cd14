//! How well shaped tetrahedra are.
//!
//! Thread: cold.

use super::TetMesh;
use crate::math::Vec3;
use std::fmt;

/// Shape of the worst tetrahedra of a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Smallest angle between two faces, degrees; 70.5 in a regular tetrahedron.
    pub smallest_dihedral_deg: f64,
    /// Largest angle between two faces, degrees.
    pub largest_dihedral_deg: f64,
    /// Smallest `3 · inscribed / circumscribed` radius: 1 for a regular tetrahedron, 0 for a flat one.
    pub smallest_radius_ratio: f64,
    /// The tetrahedron with the smallest radius ratio.
    pub worst: u32,
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "angles between faces {:.1}° to {:.1}°, radius ratio at least {:.3} (tetrahedron {})",
            self.smallest_dihedral_deg, self.largest_dihedral_deg, self.smallest_radius_ratio, self.worst
        )
    }
}

/// The faces of a tetrahedron seen from outside; face `i` is opposite to corner `i`.
pub(super) const FACES: [[usize; 3]; 4] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

/// Normals of the four faces with length twice the area, outward in a tetrahedron of positive volume.
fn area_normals(corners: &[Vec3; 4]) -> [Vec3; 4] {
    FACES.map(|[i, j, k]| (corners[j] - corners[i]).cross(&(corners[k] - corners[i])))
}

/// `3 r/R` of a tetrahedron, with the sign of its volume; zero when it is flat.
pub(super) fn radius_ratio(corners: &[Vec3; 4]) -> f64 {
    let [a, b, c, d] = corners;
    let (u, v, w) = (b - a, c - a, d - a);
    let volume = u.cross(&v).dot(&w) / 6.0;
    let area: f64 = area_normals(corners).iter().map(|n| 0.5 * n.norm()).sum();
    // Circumscribed radius: |u²(v×w) + v²(w×u) + w²(u×v)| / (12 V).
    let across = v.cross(&w) * u.norm_squared() + w.cross(&u) * v.norm_squared() + u.cross(&v) * w.norm_squared();
    let product = area * across.norm();
    if product > 0.0 { 3.0 * (3.0 * volume) * (12.0 * volume.abs()) / product } else { 0.0 }
}

impl TetMesh {
    /// Shape of the worst tetrahedra, by their corners.
    #[must_use]
    pub fn quality(&self) -> Quality {
        let mut quality = Quality {
            smallest_dihedral_deg: 180.0,
            largest_dihedral_deg: 0.0,
            smallest_radius_ratio: f64::INFINITY,
            worst: 0,
        };
        for tet in 0..self.tets().len() {
            let corners = self.corners(tet);
            let ratio = radius_ratio(&corners);
            if ratio < quality.smallest_radius_ratio {
                (quality.smallest_radius_ratio, quality.worst) = (ratio, tet as u32);
            }
            let normals = area_normals(&corners);
            for i in 0..4 {
                for j in 0..i {
                    let sine = normals[i].cross(&normals[j]).norm();
                    let angle = sine.atan2(-normals[i].dot(&normals[j])).to_degrees();
                    quality.smallest_dihedral_deg = quality.smallest_dihedral_deg.min(angle);
                    quality.largest_dihedral_deg = quality.largest_dihedral_deg.max(angle);
                }
            }
        }
        quality
    }
}
