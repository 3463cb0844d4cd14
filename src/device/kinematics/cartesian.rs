//! A device whose own firmware does the mechanics: it tells places and takes forces, as if its joints were straight axes. The firmware
//! carries its weight as well.
//!
//! Thread: any (RT safe).

use super::{Jacobian, Joints, Kinematics};
use crate::math::Vec3;

/// Where the handle can go: a ball.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cartesian {
    /// Its middle, m.
    pub centre: Vec3,
    /// Its radius, m.
    pub reach_m: f64,
}

impl Cartesian {
    fn within(&self, place: &Vec3) -> Option<Vec3> {
        ((place - self.centre).norm() <= self.reach_m).then_some(*place)
    }
}

impl Kinematics<3> for Cartesian {
    fn forward(&self, joints: &Joints<3>) -> Option<Vec3> {
        self.within(joints)
    }

    fn inverse(&self, position: &Vec3) -> Option<Joints<3>> {
        self.within(position)
    }

    fn jacobian(&self, joints: &Joints<3>) -> Option<Jacobian<3>> {
        self.within(joints).map(|_| Jacobian::<3>::identity())
    }
}
