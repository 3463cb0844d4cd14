//! Serial arm of the WoodenHaptics family: a turning base, an upper link and a fore link driven from the base.
//!
//! Thread: any (RT safe).
//!
//! Both links are driven by cables from the base, so their angles are absolute: `t_B` from the vertical, `t_C` from the
//! downward vertical. With the radius `R = L_b sin t_B + L_c sin t_C`,
//!
//! ```text
//!  x = R cos t_A        y = R sin t_A        z = L_a + L_b cos t_B − L_c cos t_C
//! ```
//!
//! `x` is towards the operator, `z` up. The arm reaches forward with `0 < t_B + t_C < π`; straight and folded are singular.
//!
//! Links with a weight: upper link, with its centre from the shoulder; fore link, from the elbow.

use super::{GRAVITY, Jacobian, Joints, Kinematics, Links};
use crate::math::Vec3;

/// An arm of these lengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arm {
    /// Height of the shoulder `L_a`, upper link `L_b`, fore link `L_c`, m.
    pub length_m: [f64; 3],
}

impl Kinematics<3> for Arm {
    fn forward(&self, joints: &Joints<3>) -> Option<Vec3> {
        let [la, lb, lc] = self.length_m;
        let radius = lb * joints[1].sin() + lc * joints[2].sin();
        let height = la + lb * joints[1].cos() - lc * joints[2].cos();
        let position = Vec3::new(radius * joints[0].cos(), radius * joints[0].sin(), height);
        position.iter().all(|x| x.is_finite()).then_some(position)
    }

    fn inverse(&self, position: &Vec3) -> Option<Joints<3>> {
        let [la, lb, lc] = self.length_m;
        let (radius, height) = (position.x.hypot(position.y), position.z - la);
        let square = radius * radius + height * height;
        // t_B + t_C from the law of cosines.
        let cos_sum = (lb * lb + lc * lc - square) / (2.0 * lb * lc);
        if !(cos_sum.abs() < 1.0) || !(square > 0.0) {
            return None;
        }
        let sum = cos_sum.acos();
        let (u, v) = (lb - lc * cos_sum, lc * sum.sin());
        let upper = (u * radius - v * height).atan2(u * height + v * radius);
        Some(Joints::<3>::new(position.y.atan2(position.x), upper, sum - upper))
    }

    fn jacobian(&self, joints: &Joints<3>) -> Option<Jacobian<3>> {
        let [_, lb, lc] = self.length_m;
        let ((sin_a, cos_a), (sin_b, cos_b), (sin_c, cos_c)) =
            (joints[0].sin_cos(), joints[1].sin_cos(), joints[2].sin_cos());
        let radius = lb * sin_b + lc * sin_c;
        #[rustfmt::skip]
        let jacobian = Jacobian::<3>::new(
            -radius * sin_a, lb * cos_a * cos_b, lc * cos_a * cos_c,
             radius * cos_a, lb * sin_a * cos_b, lc * sin_a * cos_c,
                        0.0,        -lb * sin_b,         lc * sin_c,
        );
        jacobian.iter().all(|x| x.is_finite()).then_some(jacobian)
    }

    fn potential(&self, joints: &Joints<3>, links: &Links) -> Option<f64> {
        let ([mass_b, mass_c, ..], [centre_b, centre_c, ..]) = (links.mass_kg, links.centre_m);
        let upper = centre_b * joints[1].cos();
        let fore = self.length_m[1] * joints[1].cos() - centre_c * joints[2].cos();
        Some(GRAVITY * (mass_b * upper + mass_c * fore))
    }

    fn weight(&self, joints: &Joints<3>, links: &Links) -> Option<Joints<3>> {
        let ([mass_b, mass_c, ..], [centre_b, centre_c, ..]) = (links.mass_kg, links.centre_m);
        Some(Joints::<3>::new(
            0.0,
            -GRAVITY * (mass_b * centre_b + mass_c * self.length_m[1]) * joints[1].sin(),
            GRAVITY * mass_c * centre_c * joints[2].sin(),
        ))
    }
}
