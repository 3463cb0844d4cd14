//! Hapkit: one handle on a sector that a motor drives through a capstan.
//!
//! Thread: any (RT safe).
//!
//! `x = r_h θ` along the arc of the handle, taken as straight: the sector turns by little. The motor's torque for a force is
//! `τ_p = f r_h r_p / r_s`, which the ratio [`Sector::ratio`] carries. The handle is balanced: it has no weight to carry.

use super::{Jacobian, Joints, Kinematics};
use crate::math::Vec3;

/// Radii, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sector {
    /// Of the handle.
    pub handle_m: f64,
    /// Of the sector.
    pub sector_m: f64,
    /// Of the motor's pulley.
    pub pulley_m: f64,
    /// The sector turns at most this far each way, rad.
    pub reach_rad: f64,
}

impl Sector {
    /// The published kit.
    pub const HAPKIT: Self = Self { handle_m: 0.07, sector_m: 0.075, pulley_m: 0.0042, reach_rad: 0.6 };

    /// One with the dimensions in the firmware of earlier programs.
    pub const HAPKIT_TEXT: Self = Self { handle_m: 0.09, sector_m: 0.074, pulley_m: 0.005, reach_rad: 0.6 };

    /// Motor turns per turn of the sector.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.sector_m / self.pulley_m
    }
}

impl Kinematics<1> for Sector {
    fn forward(&self, joints: &Joints<1>) -> Option<Vec3> {
        (joints[0].abs() <= self.reach_rad).then(|| Vec3::new(self.handle_m * joints[0], 0.0, 0.0))
    }

    fn inverse(&self, position: &Vec3) -> Option<Joints<1>> {
        let angle = position.x / self.handle_m;
        (angle.abs() <= self.reach_rad).then(|| Joints::<1>::new(angle))
    }

    fn jacobian(&self, joints: &Joints<1>) -> Option<Jacobian<1>> {
        (joints[0].abs() <= self.reach_rad).then(|| Jacobian::<1>::new(self.handle_m, 0.0, 0.0))
    }
}
