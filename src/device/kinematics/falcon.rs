//! Novint Falcon: three parallel legs, each an arm on the base and a parallelogram to the moving plate.
//!
//! Thread: any (RT safe).
//!
//! After R. E. Stamper's thesis, with the dimensions that the open driver libnifalcon publishes. Frame: x to the right, y
//! up, z out of the device towards the operator. With a leg turned by `φ` about z,
//!
//! ```text
//!  u = x cos φ + y sin φ − r        v = −x sin φ + y cos φ − s        w = z
//!  θ₃ = acos((v + f)/b)             θ₁ from a quadratic in tan(θ₁/2)   θ₂ = acos((u − a cos θ₁ + c)/(d + e + b sin θ₃))
//! ```
//!
//! The rates `∂θ₁/∂x` follow from the loop closure. The last one has `sin θ₂ sin θ₃`; published code has `sin² θ₂`, which
//! is wrong by a quarter along z. Forward kinematics is Newton's method on the inverse, which converges squarely.
//!
//! Links with a weight: plate with grip, which only shifts; one arm of the three, with its centre from the base towards the elbow; the
//! bars of one parallelogram, whose centre is halfway between elbow and plate, wherever it is said to be. With `y` up,
//!
//! ```text
//!  U/g = (m_plate + 3/2 m_bars) y + Σ (m_arm c + m_bars a/2) sin φ cos θ₁
//! ```

use super::{GRAVITY, Jacobian, Joints, Kinematics, Links};
use crate::math::{Mat3, Vec3};

// Lengths of a leg, m, by their letters in the thesis.
const A: f64 = 0.060;
const B: f64 = 0.1025;
const C: f64 = 0.014_43;
/// `d + e`, always used together; they are equal.
const DE: f64 = 0.0225;
const D: f64 = 0.011_25;
const F: f64 = -0.025;
const R: f64 = 0.0400;
const S: f64 = -0.023_09;
/// Where each leg stands about z: 90°, −30°, −150°, all turned by 15°.
const LEGS_DEG: [f64; 3] = [105.0, -15.0, -135.0];
/// Newton steps: four suffice within the workspace, the rest is for a poor start.
const STEPS_MAX: usize = 30;
/// Newton ends when a step is this short, m.
const STEP_END_M: f64 = 1e-14;
/// Middle of the workspace, where Newton starts, m.
const START: Vec3 = Vec3::new(0.0, 0.0, 0.12);

/// The three legs. It has no parameters: there is one Falcon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FalconLegs;

struct Leg {
    angles: [f64; 3],
    rate: Vec3,
}

/// Angles of one leg and `∂θ₁/∂x`.
fn leg(phi: f64, position: &Vec3) -> Option<Leg> {
    let (sin_phi, cos_phi) = phi.sin_cos();
    let u = cos_phi * position.x + sin_phi * position.y - R;
    let v = -sin_phi * position.x + cos_phi * position.y - S;
    let w = position.z;
    let cos3 = (v + F) / B;
    if !(cos3.abs() < 1.0) {
        return None;
    }
    let sin3 = (1.0 - cos3 * cos3).sqrt();
    let reach = DE + B * sin3;
    let g = w * w + u * u + 2.0 * C * u + A * A + C * C - reach * reach;
    let l0 = g - 2.0 * A * (u + C);
    let l1 = -4.0 * A * w;
    let l2 = g + 2.0 * A * (u + C);
    let under = l1 * l1 - 4.0 * l0 * l2;
    if !(under >= 0.0) {
        return None;
    }
    // atan2 of numerator and denominator would choose another branch where l2 < 0; the quotient is what is meant.
    let theta1 = 2.0 * ((-l1 - under.sqrt()) / (2.0 * l2)).atan();
    let (sin1, cos1) = theta1.sin_cos();
    let cos2 = (u - A * cos1 + C) / reach;
    if !(cos2.abs() < 1.0) {
        return None;
    }
    let sin2 = (1.0 - cos2 * cos2).sqrt();
    let den = -A * sin3 * (sin1 * cos2 - sin2 * cos1);
    let rate = Vec3::new(
        (cos_phi * cos2 * sin3 - sin_phi * cos3) / den,
        (sin_phi * cos2 * sin3 + cos_phi * cos3) / den,
        sin2 * sin3 / den,
    );
    let sound = theta1.is_finite() && rate.iter().all(|x| x.is_finite());
    sound.then(|| Leg { angles: [theta1, cos2.acos(), cos3.acos()], rate })
}

fn legs(position: &Vec3) -> Option<[Leg; 3]> {
    let [one, two, three] = LEGS_DEG.map(|degrees| leg(degrees.to_radians(), position));
    Some([one?, two?, three?])
}

impl FalconLegs {
    /// `∂θ/∂x`, rad/m.
    #[must_use]
    pub fn rates(&self, position: &Vec3) -> Option<Mat3> {
        let legs = legs(position)?;
        Some(Mat3::from_rows(&[legs[0].rate.transpose(), legs[1].rate.transpose(), legs[2].rate.transpose()]))
    }

    /// As [`Kinematics::weight`], where `∂x/∂θ` is known already.
    #[must_use]
    pub fn weight_at(&self, joints: &Joints<3>, jacobian: &Jacobian<3>, links: &Links) -> Joints<3> {
        let ([plate, arm, bars, _], [_, centre, ..]) = (links.mass_kg, links.centre_m);
        let lifted = jacobian.row(1).transpose() * (plate + 1.5 * bars);
        let turned = Joints::<3>::from_fn(|leg, _| {
            -(arm * centre + 0.5 * bars * A) * LEGS_DEG[leg].to_radians().sin() * joints[leg].sin()
        });
        (lifted + turned) * GRAVITY
    }

    /// All three angles of each leg, rad, for whoever draws the device.
    #[must_use]
    pub fn leg_angles(&self, position: &Vec3) -> Option<[[f64; 3]; 3]> {
        Some(legs(position)?.map(|leg| leg.angles))
    }

    /// As [`Kinematics::forward`], started from a place near by: the last one, in a running loop.
    #[must_use]
    pub fn forward_from(&self, joints: &Joints<3>, start: &Vec3) -> Option<Vec3> {
        let mut position = *start;
        for _ in 0..STEPS_MAX {
            let error = joints - self.inverse(&position)?;
            let mut step = self.rates(&position)?.try_inverse()? * error;
            // A step out of reach is halved until it is within.
            let mut halvings = 0;
            while self.rates(&(position + step)).is_none() {
                step *= 0.5;
                halvings += 1;
                if halvings > STEPS_MAX {
                    return None;
                }
            }
            position += step;
            if step.norm() < STEP_END_M {
                break;
            }
        }
        // Angles no place has do not converge: say so.
        let error = joints - self.inverse(&position)?;
        (error.norm() < 1e-9).then_some(position)
    }
}

impl Kinematics<3> for FalconLegs {
    fn forward(&self, joints: &Joints<3>) -> Option<Vec3> {
        self.forward_from(joints, &START)
    }

    fn inverse(&self, position: &Vec3) -> Option<Joints<3>> {
        let legs = legs(position)?;
        Some(Joints::<3>::new(legs[0].angles[0], legs[1].angles[0], legs[2].angles[0]))
    }

    fn jacobian(&self, joints: &Joints<3>) -> Option<Jacobian<3>> {
        self.rates(&self.forward(joints)?)?.try_inverse()
    }

    fn potential(&self, joints: &Joints<3>, links: &Links) -> Option<f64> {
        let position = self.forward(joints)?;
        let ([plate, arm, bars, _], [_, centre, ..]) = (links.mass_kg, links.centre_m);
        let mut moment = plate * position.y;
        for (leg, degrees) in LEGS_DEG.into_iter().enumerate() {
            // How far out from its base joint the elbow is, and how high that makes it.
            let outwards = degrees.to_radians().sin() * joints[leg].cos();
            let (middle, elbow) = (centre * outwards, A * outwards);
            moment += arm * middle + bars * 0.5 * (elbow + position.y);
        }
        Some(GRAVITY * moment)
    }

    fn weight(&self, joints: &Joints<3>, links: &Links) -> Option<Joints<3>> {
        Some(self.weight_at(joints, &self.jacobian(joints)?, links))
    }
}

// `d` and `e` are equal in the published geometry; the formulae above rely on their sum alone.
const _: () = assert!(D + D == DE);

#[cfg(test)]
mod tests {
    use super::*;

    fn degrees(position: Vec3) -> [f64; 3] {
        let joints = FalconLegs.inverse(&position).expect("in the workspace");
        [joints[0].to_degrees(), joints[1].to_degrees(), joints[2].to_degrees()]
    }

    #[test]
    fn published_poses_have_their_published_angles() {
        let golden = [
            (Vec3::new(0.0, 0.0, 0.110), [16.188; 3]),
            (Vec3::new(0.0, 0.0, 0.130), [31.494; 3]),
            (Vec3::new(0.02, -0.01, 0.12), [35.568, 11.492, 30.349]),
        ];
        for (position, expected) in golden {
            let found = degrees(position);
            for leg in 0..3 {
                assert!((found[leg] - expected[leg]).abs() < 6e-4, "{position} {found:?}");
            }
        }
    }

    #[test]
    fn one_newton_outwards_takes_the_torque_of_virtual_work_not_a_quarter_more() {
        // At (0, 0, 0.11) each leg turns by 13.79 rad/m along z, the three share the newton: 1/(3 · 13.79) N·m each. The
        // published formula gives 10.29 rad/m.
        let joints = FalconLegs.inverse(&Vec3::new(0.0, 0.0, 0.11)).expect("in reach");
        let torque = FalconLegs.statics(&joints, &Vec3::z()).expect("not singular");
        for leg in 0..3 {
            assert!((torque[leg] - 0.0242).abs() < 5e-5, "{torque}");
        }
        let rates = FalconLegs.rates(&Vec3::new(0.0, 0.0, 0.11)).expect("in reach");
        assert!((rates[(0, 2)] - 13.79).abs() < 0.005, "{rates}");
    }

    #[test]
    fn the_motors_end_at_the_published_forces() {
        // 4096 of 10000 per N·m; along the device's own x, and out of it.
        for (z, across, out) in [(0.110, 7.8, 16.9), (0.130, 6.5, 16.3)] {
            let joints = FalconLegs.inverse(&Vec3::new(0.0, 0.0, z)).expect("in reach");
            let largest = |force: Vec3| 0.4096 / FalconLegs.statics(&joints, &force).expect("not singular").amax();
            assert!((largest(Vec3::x()) - across).abs() < 0.05, "{}", largest(Vec3::x()));
            assert!((largest(Vec3::z()) - out).abs() < 0.05, "{}", largest(Vec3::z()));
        }
    }

    #[test]
    fn angles_no_place_has_are_refused() {
        assert!(FalconLegs.forward(&Joints::<3>::new(3.0, -3.0, 0.5)).is_none());
        assert!(FalconLegs.forward(&Joints::<3>::repeat(f64::NAN)).is_none());
        assert!(FalconLegs.inverse(&Vec3::new(0.0, 0.0, 0.5)).is_none());
    }
}
