//! Poses, twists, wrenches and the few maps between them that everything else is written in.
//!
//! Thread: any (RT safe: no allocation, no branch on time).
//!
//! Conventions (docs/conventions.md). `pose_world_body` maps body coordinates to world. A [`Twist`] is
//! `[v; ω]`: velocity of the body's centre of mass in the world frame, angular velocity in the body frame, which
//! is where the inertia tensor is constant. A [`Wrench`] is its dual `[f; τ]`: force in the world frame, torque
//! about the centre of mass in the body frame, so that power is `wrench · twist` without a rotation.

mod mapping;
mod random;

pub use mapping::Mapping;
pub use random::Random;

use nalgebra as na;

/// Three numbers: a point, a direction, a force.
pub type Vec3 = na::Vector3<f64>;
/// Six numbers: a [`Twist`] or a [`Wrench`].
pub type Vec6 = na::Vector6<f64>;
/// 3×3 matrix.
pub type Mat3 = na::Matrix3<f64>;
/// 6×6 matrix.
pub type Mat6 = na::Matrix6<f64>;
/// Rotation.
pub type Rot = na::UnitQuaternion<f64>;
/// Rigid placement: rotation and the position of the centre of mass.
pub type Pose = na::Isometry3<f64>;
/// `[v; ω]`, linear in world, angular in body coordinates.
pub type Twist = Vec6;
/// `[f; τ]`, force in world, torque about the centre of mass in body coordinates.
pub type Wrench = Vec6;

/// Matrix `S(a)` with `S(a) b = a × b`.
#[must_use]
pub fn skew(a: &Vec3) -> Mat3 {
    Mat3::new(0.0, -a.z, a.y, a.z, 0.0, -a.x, -a.y, a.x, 0.0)
}

/// Rotation by the vector `phi` (angle = length, axis = direction): the exponential map of SO(3).
#[must_use]
pub fn exp_so3(phi: &Vec3) -> Rot {
    Rot::from_scaled_axis(*phi)
}

/// Rotation vector of `rotation`, of length at most π: the inverse of [`exp_so3`].
#[must_use]
pub fn log_so3(rotation: &Rot) -> Vec3 {
    rotation.scaled_axis()
}

/// Upper half and lower half of a twist or wrench.
#[must_use]
pub fn split(v: &Vec6) -> (Vec3, Vec3) {
    (v.fixed_rows::<3>(0).into(), v.fixed_rows::<3>(3).into())
}

/// Twist or wrench from its halves.
#[must_use]
pub fn join(linear: &Vec3, angular: &Vec3) -> Vec6 {
    Vec6::new(linear.x, linear.y, linear.z, angular.x, angular.y, angular.z)
}

/// Moves a pose by a constant twist for `dt` seconds: centre of mass along `v`, rotation by `exp(ω dt)` on the right.
#[must_use]
pub fn advance(pose: &Pose, twist: &Twist, dt: f64) -> Pose {
    let (v, w) = split(twist);
    let mut rotation = pose.rotation * exp_so3(&(w * dt));
    // Products of unit quaternions drift off the unit sphere by round-off; put it back each time.
    rotation.renormalize();
    Pose::from_parts((pose.translation.vector + v * dt).into(), rotation)
}

/// Twist that takes `from` to `to` in one second: the inverse of [`advance`] with `dt = 1`.
#[must_use]
pub fn displacement(from: &Pose, to: &Pose) -> Twist {
    join(&(to.translation.vector - from.translation.vector), &log_so3(&(from.rotation.inverse() * to.rotation)))
}

/// Two unit vectors that complete `normal` (unit) to a right-handed frame `(normal, t1, t2)`, without a branch that
/// flips for nearby normals except at `normal.z = −0` (Duff et al. 2017).
#[must_use]
pub fn tangents(normal: &Vec3) -> (Vec3, Vec3) {
    let sign = 1.0_f64.copysign(normal.z);
    let a = -1.0 / (sign + normal.z);
    let b = normal.x * normal.y * a;
    (
        Vec3::new(1.0 + sign * normal.x * normal.x * a, sign * b, -sign * normal.x),
        Vec3::new(b, sign + normal.y * normal.y * a, -normal.y),
    )
}

/// The same, but continuous in the normal except for one direction, which no wall, floor or ceiling has: a fixed frame turned
/// the short way. Impulses along these can be carried from one normal to a nearby one.
#[must_use]
pub fn steady_tangents(normal: &Vec3) -> (Vec3, Vec3) {
    // An odd direction and two square to it.
    const A: Vec3 = Vec3::new(3.0 / 7.0, 6.0 / 7.0, 2.0 / 7.0);
    const B: Vec3 = Vec3::new(-6.0 / 7.0, 2.0 / 7.0, 3.0 / 7.0);
    const C: Vec3 = Vec3::new(2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0);
    let room = 1.0 + normal.dot(&A);
    if room < 1e-9 {
        return (B, -C);
    }
    let between = (normal + A) / room;
    (B - between * normal.dot(&B), C - between * normal.dot(&C))
}

/// True when every number of the pose is finite and the rotation is one.
#[must_use]
pub fn pose_is_sound(pose: &Pose) -> bool {
    let q = pose.rotation.coords;
    pose.translation.vector.iter().all(|x| x.is_finite())
        && q.iter().all(|x| x.is_finite())
        && (q.norm_squared() - 1.0).abs() < 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advance_and_displacement_are_inverse() {
        let from = Pose::new(Vec3::new(1.0, -2.0, 0.5), Vec3::new(0.3, -0.2, 1.1));
        let twist = Vec6::new(0.1, 0.2, -0.3, 1.0, -0.5, 0.25);
        let back = displacement(&from, &advance(&from, &twist, 1.0));
        assert!((back - twist).norm() < 1e-14, "{back}");
    }

    #[test]
    fn tangents_are_orthonormal_and_right_handed() {
        let odd = -Vec3::new(3.0, 6.0, 2.0) / 7.0;
        for n in [Vec3::z(), -Vec3::z(), Vec3::x(), Vec3::new(0.6, -0.48, 0.64), Vec3::new(0.6, 0.48, -0.64), odd] {
            for (t1, t2) in [tangents(&n), steady_tangents(&n)] {
                assert!((n.cross(&t1) - t2).norm() < 1e-14);
                assert!(t1.dot(&n).abs() < 1e-15 && (t1.norm() - 1.0).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn steady_tangents_do_not_jump_where_a_normal_crosses_the_horizontal() {
        for angle in [0.0_f64, 1.0, 2.0, 3.0, 4.0, 5.0] {
            let at = |z: f64| steady_tangents(&Vec3::new(angle.cos(), angle.sin(), z).normalize());
            let ((a, b), (c, d)) = (at(1e-9), at(-1e-9));
            assert!((a - c).norm() + (b - d).norm() < 1e-7, "{angle}");
        }
    }

    #[test]
    fn skew_is_the_cross_product() {
        let (a, b) = (Vec3::new(1.0, 2.0, 3.0), Vec3::new(-0.5, 0.7, 0.1));
        assert_eq!(skew(&a) * b, a.cross(&b));
    }
}
