//! Shape functions of the tetrahedra with four and ten nodes, and the points at which integrals are taken.
//!
//! Thread: any.
//!
//! In barycentric coordinates `L₀…L₃` of the tetrahedron: linear `N_i = L_i`; quadratic `N_i = L_i (2L_i − 1)` at
//! corners, `N_ij = 4 L_i L_j` in the middle of sides.

use crate::geometry::tet::MIDSIDES;
use crate::math::{Mat3, Vec3};

/// Most nodes of an element.
pub(super) const WIDEST: usize = 10;
/// Most points of an element.
pub(super) const MOST_POINTS: usize = 4;

/// Values of the shape functions at a place; the first four or all ten count.
pub(super) fn values(width: usize, at: &[f64; 4]) -> [f64; WIDEST] {
    let mut n = [0.0; WIDEST];
    if width == 4 {
        n[..4].copy_from_slice(at);
        return n;
    }
    for i in 0..4 {
        n[i] = at[i] * (2.0 * at[i] - 1.0);
    }
    for (k, [i, j]) in MIDSIDES.into_iter().enumerate() {
        n[4 + k] = 4.0 * at[i] * at[j];
    }
    n
}

/// Their derivatives by the last three barycentric coordinates, the first being one less their sum.
fn slopes(width: usize, at: &[f64; 4]) -> [Vec3; WIDEST] {
    let by = [Vec3::new(-1.0, -1.0, -1.0), Vec3::x(), Vec3::y(), Vec3::z()];
    let mut n = [Vec3::zeros(); WIDEST];
    if width == 4 {
        n[..4].copy_from_slice(&by);
        return n;
    }
    for i in 0..4 {
        n[i] = by[i] * (4.0 * at[i] - 1.0);
    }
    for (k, [i, j]) in MIDSIDES.into_iter().enumerate() {
        n[4 + k] = (by[i] * at[j] + by[j] * at[i]) * 4.0;
    }
    n
}

/// Gradients of the shape functions at a place, and the determinant of the map from the reference tetrahedron there;
/// none where that is not positive.
pub(super) fn gradients(nodes: &[Vec3], at: &[f64; 4]) -> Option<([Vec3; WIDEST], f64)> {
    let slopes = slopes(nodes.len(), at);
    let map = nodes.iter().zip(&slopes).fold(Mat3::zeros(), |map, (x, s)| map + x * s.transpose());
    let determinant = map.determinant();
    if !(determinant > 0.0) {
        return None;
    }
    let inverse = map.try_inverse()?.transpose();
    Some((slopes.map(|s| inverse * s), determinant))
}

/// Places and shares of the volume at which the strain energy is summed: exact for elements with straight sides.
pub(super) fn strain_points(width: usize) -> &'static [([f64; 4], f64)] {
    // Four points: a = (5 + 3√5)/20, b = (5 − √5)/20; exact for quadratic functions, and strains squared are no more.
    const A: f64 = 0.585_410_196_624_968_5;
    const B: f64 = 0.138_196_601_125_010_5;
    const ONE: [([f64; 4], f64); 1] = [([0.25; 4], 1.0)];
    const FOUR: [([f64; 4], f64); 4] =
        [([A, B, B, B], 0.25), ([B, A, B, B], 0.25), ([B, B, A, B], 0.25), ([B, B, B, A], 0.25)];
    if width == 4 { &ONE } else { &FOUR }
}

/// Places and shares of the volume for masses: Gauss's rule with four points along each axis of a cube folded to a
/// tetrahedron, exact to the fifth degree.
pub(super) fn mass_points() -> Vec<([f64; 4], f64)> {
    // Roots of the Legendre polynomial of degree four, and their weights, on the interval from 0 to 1.
    let (root, third) = ((6.0_f64 / 5.0).sqrt() * 2.0 / 7.0, 3.0 / 7.0);
    let (inner, outer) = ((third - root).sqrt(), (third + root).sqrt());
    let (heavy, light) = ((18.0 + 30.0_f64.sqrt()) / 72.0, (18.0 - 30.0_f64.sqrt()) / 72.0);
    let line = [(-outer, light), (-inner, heavy), (inner, heavy), (outer, light)].map(|(x, w)| (0.5 * (1.0 + x), w));
    let mut points = Vec::with_capacity(64);
    for (u, wu) in line {
        for (v, wv) in line {
            for (w, ww) in line {
                // The cube is folded by x = u, y = (1−u) v, z = (1−u)(1−v) w; six times the volume element is the
                // share.
                let (x, y) = (u, (1.0 - u) * v);
                let z = (1.0 - u) * (1.0 - v) * w;
                let share = 6.0 * wu * wv * ww * (1.0 - u) * (1.0 - u) * (1.0 - v);
                points.push(([1.0 - x - y - z, x, y, z], share));
            }
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_integrate_monomials_exactly() {
        // ∫ L₀ᵃ L₁ᵇ L₂ᶜ L₃ᵈ / V = 6 a! b! c! d! / (a+b+c+d+3)!
        let factorial = |n: i32| (1..=n).map(f64::from).product::<f64>();
        let exact = |p: [i32; 4]| 6.0 * p.map(factorial).iter().product::<f64>() / factorial(p.iter().sum::<i32>() + 3);
        let rule = |points: &[([f64; 4], f64)], p: [i32; 4]| -> f64 {
            points.iter().map(|(at, w)| w * (0..4).map(|i| at[i].powi(p[i])).product::<f64>()).sum()
        };
        for p in [[0, 0, 0, 0], [1, 0, 0, 0], [0, 2, 0, 0], [1, 0, 0, 1]] {
            assert!((rule(strain_points(10), p) - exact(p)).abs() < 1e-15, "{p:?}");
            assert!((rule(&mass_points(), p) - exact(p)).abs() < 1e-15, "{p:?}");
        }
        for p in [[4, 0, 0, 0], [2, 2, 0, 0], [1, 1, 1, 1], [0, 3, 0, 2], [0, 0, 5, 0]] {
            assert!((rule(&mass_points(), p) - exact(p)).abs() < 1e-15, "{p:?}");
        }
    }
}
