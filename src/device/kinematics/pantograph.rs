//! Haply pantograph: two motors side by side, two arms, two fore arms that meet at the handle, all in one plane.
//!
//! Thread: any (RT safe).
//!
//! Motor 1 at the origin, motor 2 at `(d, 0)`, arms of length `l`, fore arms of length `L`; angles from the x axis. The
//! elbows are `A = l (cos q₁, sin q₁)` and `B = (d, 0) + l (cos q₂, sin q₂)`; the handle is where the circles of radius `L`
//! about them meet, on the far side. From `(P − A)·Ṗ = (P − A)·Ȧ` and likewise for `B`, `M Ṗ = diag(α) q̇`. It lies on a table, which
//! carries its weight.

use super::{Jacobian, Joints, Kinematics};
use crate::math::Vec3;
use nalgebra::{Matrix2, Vector2};

/// Lengths, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pantograph {
    /// Arm `l` on each motor.
    pub arm_m: f64,
    /// Fore arm `L`.
    pub fore_arm_m: f64,
    /// Distance `d` between the motors.
    pub base_m: f64,
}

impl Pantograph {
    /// The one that Haply ships.
    pub const HAPLY: Self = Self { arm_m: 0.05, fore_arm_m: 0.07, base_m: 0.02 };

    fn elbows(&self, joints: &Joints<2>) -> (Vector2<f64>, Vector2<f64>) {
        let arm = |angle: f64| Vector2::new(angle.cos(), angle.sin()) * self.arm_m;
        (arm(joints[0]), arm(joints[1]) + Vector2::new(self.base_m, 0.0))
    }

    fn handle(&self, joints: &Joints<2>) -> Option<Vector2<f64>> {
        let (a, b) = self.elbows(joints);
        let across = b - a;
        let half = 0.5 * across.norm();
        let rise = self.fore_arm_m * self.fore_arm_m - half * half;
        if !(half > 0.0 && rise > 0.0) {
            return None;
        }
        // Left of the way from A to B when A is on the left: the far side from the motors.
        let normal = Vector2::new(-across.y, across.x) / (2.0 * half);
        Some(0.5 * (a + b) + normal * rise.sqrt())
    }

    /// Angle of the arm whose motor is at `(base, 0)`; `side` is +1 for the elbow to the left of the line to the handle.
    fn arm_angle(&self, position: &Vector2<f64>, base: f64, side: f64) -> Option<f64> {
        let to = position - Vector2::new(base, 0.0);
        let (distance, square) = (to.norm(), to.norm_squared());
        let cosine =
            (self.arm_m * self.arm_m + square - self.fore_arm_m * self.fore_arm_m) / (2.0 * self.arm_m * distance);
        (cosine.abs() < 1.0).then(|| to.y.atan2(to.x) + side * cosine.acos())
    }
}

impl Kinematics<2> for Pantograph {
    fn forward(&self, joints: &Joints<2>) -> Option<Vec3> {
        self.handle(joints).map(|p| Vec3::new(p.x, p.y, 0.0))
    }

    fn inverse(&self, position: &Vec3) -> Option<Joints<2>> {
        let point = Vector2::new(position.x, position.y);
        let joints = Joints::<2>::new(self.arm_angle(&point, 0.0, 1.0)?, self.arm_angle(&point, self.base_m, -1.0)?);
        // Behind the motors the elbows cross: that is another way to build it.
        ((self.handle(&joints)? - point).norm() < 1e-9).then_some(joints)
    }

    fn jacobian(&self, joints: &Joints<2>) -> Option<Jacobian<2>> {
        let (a, b) = self.elbows(joints);
        let handle = self.handle(joints)?;
        let (from_a, from_b) = (handle - a, handle - b);
        let turning = |angle: f64| Vector2::new(-angle.sin(), angle.cos()) * self.arm_m;
        let rows = Matrix2::from_rows(&[from_a.transpose(), from_b.transpose()]);
        let drive =
            Matrix2::from_diagonal(&Vector2::new(from_a.dot(&turning(joints[0])), from_b.dot(&turning(joints[1]))));
        let planar = rows.try_inverse()? * drive;
        planar
            .iter()
            .all(|x| x.is_finite())
            .then(|| Jacobian::<2>::new(planar[(0, 0)], planar[(0, 1)], planar[(1, 0)], planar[(1, 1)], 0.0, 0.0))
    }
}
