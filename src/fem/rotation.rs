//! The rotation in a deformation: polar decomposition, started from the last one.
//!
//! Thread: any (RT safe).
//!
//! `F = R S` with `S` symmetric: `R` is the rotation nearest to `F`. Newton's method on the rotations maximises
//! `tr(RᵀF)`: with `S = sym(RᵀF)` and `w` the axial vector of `RᵀF − FᵀR`, the step turns `R` by `(tr(S) 1 − S)⁻¹ w`.
//! It converges quadratically from the rotation of the step before. Where an element is turned inside out the matrix is
//! not positive definite; then the step of Müller et al. 2016 (`w` over `tr S`) is taken, which cannot jump to another
//! rotation.

use crate::math::{Mat3, Rot, Vec3};
use nalgebra::Quaternion;

/// Most steps: from any rotation a dozen do.
const MOST: usize = 60;
/// Turn below which the rotation is found, rad: what is left after it is of the order of its square, below round-off.
const STILL: f64 = 1e-8;

/// The rotation nearest to `f`, sought from `start`. Of a deformation that has none (zero, or flat), some rotation near
/// `start`.
#[must_use]
pub fn nearest_rotation(f: &Mat3, start: &Rot) -> Rot {
    let mut rotation = *start;
    for _ in 0..MOST {
        let s = rotation.to_rotation_matrix().matrix().tr_mul(f);
        let axial = Vec3::new(s[(2, 1)] - s[(1, 2)], s[(0, 2)] - s[(2, 0)], s[(1, 0)] - s[(0, 1)]);
        let turn = newton(&s, &axial).unwrap_or_else(|| axial / (s.trace().abs() + 1e-9 + axial.norm()));
        let size = turn.norm();
        if !size.is_finite() {
            return *start;
        }
        // No step turns by more than a right angle: beyond it the quadratic model means nothing.
        let turn = if size > 1.5 { turn * (1.5 / size) } else { turn };
        // Cayley's map in place of the exponential: alike up to the third order of the turn, and no sine.
        rotation *= Rot::new_normalize(Quaternion::from_parts(1.0, turn * 0.5));
        if size < STILL {
            break;
        }
    }
    // Products of unit quaternions drift by round-off.
    rotation.renormalize_fast();
    rotation
}

/// `(tr(S) 1 − S)⁻¹ w`, where that matrix is positive definite.
fn newton(s: &Mat3, axial: &Vec3) -> Option<Vec3> {
    let trace = s.trace();
    let (a, b, c) = (trace - s[(0, 0)], trace - s[(1, 1)], trace - s[(2, 2)]);
    let beside = |i: usize, j: usize| -0.5 * (s[(i, j)] + s[(j, i)]);
    let (d, e, f) = (beside(0, 1), beside(0, 2), beside(1, 2));
    // The adjugate, row by row.
    let (m00, m01, m02) = (b * c - f * f, e * f - d * c, d * f - e * b);
    let (m11, m12, m22) = (a * c - e * e, d * e - a * f, a * b - d * d);
    let determinant = a * m00 + d * m01 + e * m02;
    let scale = trace.abs();
    // Positive by a margin: near the border steps would be wild.
    let sound = a > 0.0 && m22 > 1e-6 * scale * scale && determinant > 1e-9 * scale * scale * scale;
    let image = Vec3::new(
        m00 * axial.x + m01 * axial.y + m02 * axial.z,
        m01 * axial.x + m11 * axial.y + m12 * axial.z,
        m02 * axial.x + m12 * axial.y + m22 * axial.z,
    );
    sound.then(|| image / determinant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    fn random_rotation(random: &mut Random) -> Rot {
        let axis = Vec3::from_fn(|_, _| 2.0 * random.uniform() - 1.0);
        Rot::from_scaled_axis(axis.normalize() * std::f64::consts::PI * random.uniform())
    }

    #[test]
    fn the_rest_of_the_deformation_is_symmetric_and_the_rotation_the_nearest_of_all() {
        let mut random = Random::new(5);
        for _ in 0..2000 {
            let f = random_rotation(&mut random).to_rotation_matrix().matrix()
                * (Mat3::identity() + Mat3::from_fn(|_, _| 0.5 * (random.uniform() - 0.5)));
            let start = random_rotation(&mut random);
            let found = nearest_rotation(&f, &start);
            let s = found.to_rotation_matrix().matrix().tr_mul(&f);
            assert!((s - s.transpose()).norm() < 1e-13, "{:e}", (s - s.transpose()).norm());
            if f.determinant() > 0.0 {
                let svd = f.svd(true, true);
                let (u, v) = (svd.u.expect("asked for"), svd.v_t.expect("asked for"));
                assert!((u * v - found.to_rotation_matrix().matrix()).norm() < 1e-12);
            }
        }
    }

    #[test]
    fn a_deformation_without_rotation_to_be_found_does_no_harm() {
        let start = Rot::from_scaled_axis(Vec3::new(0.3, 0.2, 0.1));
        for f in [Mat3::zeros(), Mat3::from_element(1.0), -Mat3::identity(), Mat3::identity() * f64::NAN] {
            let found = nearest_rotation(&f, &start);
            assert!((found.norm() - 1.0).abs() < 1e-12 && found.coords.iter().all(|x| x.is_finite()), "{f} {found}");
        }
    }

    #[test]
    fn squeezing_an_element_through_itself_does_not_make_the_rotation_jump() {
        let mut rotation = Rot::identity();
        for k in 0..=400 {
            let stretch = 1.0 - f64::from(k) * 0.005;
            let f = Mat3::from_diagonal(&Vec3::new(1.1, 0.9, stretch)) + Mat3::from_element(1e-3);
            let next = nearest_rotation(&f, &rotation);
            assert!(rotation.angle_to(&next) < 0.1, "stretch {stretch}: {}", rotation.angle_to(&next));
            rotation = next;
        }
    }
}
