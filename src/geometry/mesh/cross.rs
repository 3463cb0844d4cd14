//! Do two triangles cut through each other?
//!
//! Thread: cold.
//!
//! Touching is no cut: neighbours share an edge or a corner, and shells may lie against each other. Two triangles cut
//! when an edge of one runs from one side of the other to its other side through its inside, or when they lie in one
//! plane and overlap. Every verdict is the sign of a volume; a volume within round-off of zero counts as zero, which
//! means touching.

use super::TriMesh;
use crate::math::Vec3;

/// Volumes below this share of the product of the lengths in them are zero. Normal value: a few dozen roundings.
const ROUND_OFF: f64 = 1e-13;

/// Sign of the volume of the tetrahedron `a b c d`: which side of the plane `a b c` holds `d`.
fn side(a: &Vec3, b: &Vec3, c: &Vec3, d: &Vec3) -> i32 {
    let (u, v, w) = (b - a, c - a, d - a);
    let volume = u.cross(&v).dot(&w);
    if volume.abs() <= ROUND_OFF * u.norm() * v.norm() * w.norm() { 0 } else { volume.signum() as i32 }
}

/// True when the segment passes through the inside of the triangle.
fn pierces(p: &Vec3, q: &Vec3, [a, b, c]: &[Vec3; 3]) -> bool {
    if side(a, b, c, p) * side(a, b, c, q) >= 0 {
        return false;
    }
    let (x, y, z) = (side(p, q, a, b), side(p, q, b, c), side(p, q, c, a));
    x != 0 && x == y && y == z
}

/// True when the triangles lie in one plane and share area.
fn overlap_flat(s: &[Vec3; 3], t: &[Vec3; 3]) -> bool {
    let normal = (s[1] - s[0]).cross(&(s[2] - s[0]));
    if !t.iter().all(|p| side(&s[0], &s[1], &s[2], p) == 0) {
        return false;
    }
    // Flat convex figures are apart exactly when a side of one has all of the other beyond it.
    let apart = |f: &[Vec3; 3], g: &[Vec3; 3], turn: f64| {
        (0..3).any(|k| {
            let edge = f[(k + 1) % 3] - f[k];
            let out = edge.cross(&normal) * turn;
            let slack = ROUND_OFF * out.norm() * edge.norm();
            g.iter().all(|p| (p - f[k]).dot(&out) >= -slack)
        })
    };
    let turn = (t[1] - t[0]).cross(&(t[2] - t[0])).dot(&normal).signum();
    !apart(s, t, 1.0) && !apart(t, s, turn)
}

/// True when triangles `s` and `t` of the mesh cut through each other.
pub(super) fn triangles_cross(mesh: &TriMesh, s: usize, t: usize) -> bool {
    let (a, b) = (mesh.corners(s), mesh.corners(t));
    let shared = mesh.triangles()[s].iter().filter(|v| mesh.triangles()[t].contains(v)).count();
    // With all three vertices in common it is a duplicate, which has its own name.
    if shared == 3 {
        return false;
    }
    let edges = |f: &[Vec3; 3], g: &[Vec3; 3]| (0..3).any(|k| pierces(&f[k], &f[(k + 1) % 3], g));
    edges(&a, &b) || edges(&b, &a) || overlap_flat(&a, &b)
}
