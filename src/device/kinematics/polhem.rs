//! Polhem: a turning base that carries a linkage of bars; the third motor moves the fore link through a crank.
//!
//! Thread: any (RT safe).
//!
//! In the plane of the linkage, with the crank `L₂` at angle `t₃` about the origin `O`, the upper link `L₁` at `t₂` about
//! `(L₀, 0)`, its end `E = (L₀ + L₁ cos t₂, L₁ sin t₂)`, the crank's end `C = L₂ (cos t₃, sin t₃)`, and `n = |OE|`, `p = |CE|`:
//!
//! ```text
//!  λ = t₂ − acos((L₁² − L₀² + n²)/(2 L₁ n)) − acos((L₄² − L₃² + p²)/(2 L₄ p)) − acos((p² + n² − L₂²)/(2 n p))
//!  ρ = L₀/2 + L₁ cos t₂ + L₅ cos λ      x = ρ cos t₁      y = ρ sin t₁      z = L₁ sin t₂ + L₅ sin λ
//! ```
//!
//! The three arcs are the angles at `E` of the triangles `O B E`, `C D E` and `O C E`; together they turn `E B` onto `E D`. So
//! `D = E − L₄ (cos λ, sin λ)` lies on the fore link's line, which is how the inverse finds the crank.
//!
//! Links with a weight: upper link, with its centre from `(L₀, 0)` towards `E`; crank, from `O` towards `C`; coupler `L₃`, from `C`
//! towards `D`; fore link with stylus, from `E` towards the handle. With the share `k` of the coupler's length at which its centre is,
//!
//! ```text
//!  U/g = m₁ c₁ sin t₂ + m₂ c₂ sin t₃ + m₃ ((1 − k) L₂ sin t₃ + k (L₁ sin t₂ − L₄ sin λ)) + m₄ (L₁ sin t₂ + c₄ sin λ)
//! ```

use super::{GRAVITY, Jacobian, Joints, Kinematics, Links};
use crate::math::{Mat3, Rot, Vec3};

const L0: f64 = 0.034;
const L1: f64 = 0.165;
const L2: f64 = 0.025;
const L3: f64 = 0.190;
const L4: f64 = 0.034;
const L5: f64 = 0.1308;

/// The linkage. It has no parameters: there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolhemLinkage;

/// `acos` and its derivative; `None` at the ends, where the linkage is stretched.
fn arc(cosine: f64) -> Option<(f64, f64)> {
    (cosine.abs() < 1.0).then(|| (cosine.acos(), -1.0 / (1.0 - cosine * cosine).sqrt()))
}

/// `λ` and its derivatives by `t₂` and `t₃`.
fn fore_angle(t2: f64, t3: f64) -> Option<(f64, f64, f64)> {
    let ((sin2, cos2), (sin3, cos3)) = (t2.sin_cos(), t3.sin_cos());
    let (ex, ez) = (L0 + L1 * cos2, L1 * sin2);
    let (dx, dz) = (ex - L2 * cos3, ez - L2 * sin3);
    let (n, p) = (ex.hypot(ez), dx.hypot(dz));
    if !(n > 0.0 && p > 0.0) {
        return None;
    }
    let n_2 = -L0 * L1 * sin2 / n;
    let p_2 = (-dx * L1 * sin2 + dz * L1 * cos2) / p;
    let p_3 = (dx * L2 * sin3 - dz * L2 * cos3) / p;
    let (first, slope1) = arc((L1 * L1 - L0 * L0 + n * n) / (2.0 * L1 * n))?;
    let (second, slope2) = arc((L4 * L4 - L3 * L3 + p * p) / (2.0 * L4 * p))?;
    let (third, slope3) = arc((p * p + n * n - L2 * L2) / (2.0 * n * p))?;
    let by_n1 = slope1 * (0.5 - (L1 * L1 - L0 * L0) / (2.0 * n * n)) / L1;
    let by_p2 = slope2 * (0.5 - (L4 * L4 - L3 * L3) / (2.0 * p * p)) / L4;
    let by_p3 = slope3 * (0.5 - (n * n - L2 * L2) / (2.0 * p * p)) / n;
    let by_n3 = slope3 * (0.5 - (p * p - L2 * L2) / (2.0 * n * n)) / p;
    let by_2 = 1.0 - (by_n1 + by_n3) * n_2 - (by_p2 + by_p3) * p_2;
    let by_3 = -(by_p2 + by_p3) * p_3;
    Some((t2 - first - second - third, by_2, by_3))
}

impl PolhemLinkage {
    /// Angle `λ` of the fore link, rad.
    #[must_use]
    pub fn fore_angle(&self, joints: &Joints<3>) -> Option<f64> {
        fore_angle(joints[1], joints[2]).map(|(angle, ..)| angle)
    }

    /// Rotation of the stylus: base, fore link, then the three angles of the wrist, rad.
    #[must_use]
    pub fn stylus(&self, joints: &Joints<3>, wrist: &Vec3) -> Option<Rot> {
        let about = |axis: &nalgebra::Unit<Vec3>, angle: f64| Rot::from_axis_angle(axis, angle);
        let fore = self.fore_angle(joints)?;
        Some(
            about(&Vec3::z_axis(), joints[0])
                * about(&Vec3::y_axis(), -fore)
                * about(&Vec3::x_axis(), wrist.x)
                * about(&Vec3::y_axis(), wrist.y)
                * about(&Vec3::x_axis(), wrist.z),
        )
    }
}

/// Angle of the crank that holds the fore link at `fore`: where circles about the origin and about `D` meet.
fn crank(t2: f64, fore: f64) -> Option<f64> {
    let dx = L0 + L1 * t2.cos() - L4 * fore.cos();
    let dz = L1 * t2.sin() - L4 * fore.sin();
    let distance = dx.hypot(dz);
    let (spread, _) = arc((L2 * L2 + distance * distance - L3 * L3) / (2.0 * L2 * distance))?;
    let middle = dz.atan2(dx);
    // Two cranks reach D; the one the device is built with is the one whose forward motion comes back.
    [middle - spread, middle + spread].into_iter().find_map(|t3| {
        let (angle, ..) = fore_angle(t2, t3)?;
        let turns = ((angle - fore) / std::f64::consts::TAU).round() * std::f64::consts::TAU;
        ((angle - fore - turns).abs() < 1e-6).then_some(t3.rem_euclid(std::f64::consts::TAU))
    })
}

impl Kinematics<3> for PolhemLinkage {
    fn forward(&self, joints: &Joints<3>) -> Option<Vec3> {
        let (fore, ..) = fore_angle(joints[1], joints[2])?;
        let radius = 0.5 * L0 + L1 * joints[1].cos() + L5 * fore.cos();
        let height = L1 * joints[1].sin() + L5 * fore.sin();
        let position = Vec3::new(radius * joints[0].cos(), radius * joints[0].sin(), height);
        position.iter().all(|x| x.is_finite()).then_some(position)
    }

    fn inverse(&self, position: &Vec3) -> Option<Joints<3>> {
        // The arm may also lean over backwards, with a negative radius: the front comes first.
        let radius = position.x.hypot(position.y);
        let turn = position.y.atan2(position.x);
        [(radius, turn), (-radius, turn + std::f64::consts::PI)].into_iter().find_map(|(radius, turn)| {
            let (across, up) = (radius - 0.5 * L0, position.z);
            let square = across * across + up * up;
            let (elbow, _) = arc((L1 * L1 + square - L5 * L5) / (2.0 * L1 * square.sqrt()))?;
            // The elbow is above the line from shoulder to handle.
            let t2 = up.atan2(across) + elbow;
            let fore = (up - L1 * t2.sin()).atan2(across - L1 * t2.cos());
            Some(Joints::<3>::new(turn, t2, crank(t2, fore)?))
        })
    }

    fn jacobian(&self, joints: &Joints<3>) -> Option<Jacobian<3>> {
        let (fore, by_2, by_3) = fore_angle(joints[1], joints[2])?;
        let ((sin1, cos1), (sin2, cos2), (sin_l, cos_l)) = (joints[0].sin_cos(), joints[1].sin_cos(), fore.sin_cos());
        let radius = 0.5 * L0 + L1 * cos2 + L5 * cos_l;
        let (radius_2, radius_3) = (-L1 * sin2 - L5 * sin_l * by_2, -L5 * sin_l * by_3);
        let (height_2, height_3) = (L1 * cos2 + L5 * cos_l * by_2, L5 * cos_l * by_3);
        #[rustfmt::skip]
        let jacobian = Mat3::new(
            -radius * sin1, radius_2 * cos1, radius_3 * cos1,
             radius * cos1, radius_2 * sin1, radius_3 * sin1,
                       0.0,        height_2,        height_3,
        );
        jacobian.iter().all(|x| x.is_finite()).then_some(jacobian)
    }

    fn potential(&self, joints: &Joints<3>, links: &Links) -> Option<f64> {
        let (fore, ..) = fore_angle(joints[1], joints[2])?;
        let [upper, crank, coupler, stylus] = links.centre_m;
        // Each centre where it is: a way along its link from where that begins.
        let (elbow, pin) = (L1 * joints[1].sin(), L2 * joints[2].sin());
        let tail = elbow - L4 * fore.sin();
        let heights = [
            upper * joints[1].sin(),
            crank * joints[2].sin(),
            pin + (tail - pin) * coupler / L3,
            elbow + stylus * fore.sin(),
        ];
        Some(GRAVITY * heights.iter().zip(links.mass_kg).map(|(height, mass)| mass * height).sum::<f64>())
    }

    fn weight(&self, joints: &Joints<3>, links: &Links) -> Option<Joints<3>> {
        let (fore, by_2, by_3) = fore_angle(joints[1], joints[2])?;
        let ([m1, m2, m3, m4], [c1, c2, c3, c4]) = (links.mass_kg, links.centre_m);
        let share = c3 / L3;
        let of_upper = (m1 * c1 + (m3 * share + m4) * L1) * joints[1].cos();
        let of_crank = (m2 * c2 + m3 * (1.0 - share) * L2) * joints[2].cos();
        let of_fore = (m4 * c4 - m3 * share * L4) * fore.cos();
        Some(Joints::<3>::new(0.0, of_upper + of_fore * by_2, of_crank + of_fore * by_3) * GRAVITY)
    }
}
