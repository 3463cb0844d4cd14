//! How the joints of a device and its handle belong together: one file per mechanism.
//!
//! Thread: any (RT safe: pure functions over fixed-size numbers, no heap, no loop without a bound).
//!
//! Positions are in the mechanism's own frame, as its makers publish it; [`Mount`] takes them to the device's base frame
//! (docs/conventions.md). Joint angles are in radians, torques in N·m on the joints, not the motors. A joint vector or a
//! position that the mechanism cannot take gives `None`, never a number that looks right.
//!
//! Power is the same on both sides, `τ·q̇ = f·ẋ` with `ẋ = J q̇`, so the torques of a force are `τ = Jᵀ f`: statics come
//! from the same Jacobian as velocities, and one test of it against the numerical derivative covers both.

mod arm;
mod cartesian;
mod falcon;
mod pantograph;
mod polhem;
mod sector;
#[cfg(test)]
mod tests;

pub use arm::Arm;
pub use cartesian::Cartesian;
pub use falcon::FalconLegs;
pub use pantograph::Pantograph;
pub use polhem::PolhemLinkage;
pub use sector::Sector;

use super::spec::Links;
use crate::math::{Pose, Rot, Vec3};
use nalgebra::{SMatrix, SVector};

/// Standard gravity, m/s².
pub const GRAVITY: f64 = 9.806_65;

/// One number per joint: angles in rad or torques in N·m.
pub type Joints<const N: usize> = SVector<f64, N>;
/// `∂x/∂q`: how the handle moves with each joint, m/rad.
pub type Jacobian<const N: usize> = SMatrix<f64, 3, N>;

/// A mechanism with `N` driven joints.
pub trait Kinematics<const N: usize> {
    /// Where the handle is, m.
    fn forward(&self, joints: &Joints<N>) -> Option<Vec3>;

    /// Joints that put the handle there, in the branch the device is built in.
    fn inverse(&self, position: &Vec3) -> Option<Joints<N>>;

    /// `∂x/∂q` at these joints.
    fn jacobian(&self, joints: &Joints<N>) -> Option<Jacobian<N>>;

    /// Potential energy of links of these masses, J, up to a constant that the mechanism is free to choose. Without a law of its
    /// own a mechanism has none: it lies on a table, is balanced, or its firmware carries it.
    fn potential(&self, _joints: &Joints<N>, _links: &Links) -> Option<f64> {
        Some(0.0)
    }

    /// Torques that carry links of these masses, N·m: the derivative of the potential energy. None where that has no value.
    fn weight(&self, _joints: &Joints<N>, _links: &Links) -> Option<Joints<N>> {
        Some(Joints::zeros())
    }

    /// Torques with which the handle gives `force` to a hand that holds it still.
    fn statics(&self, joints: &Joints<N>, force: &Vec3) -> Option<Joints<N>> {
        Some(self.jacobian(joints)?.transpose() * force)
    }

    /// How far from singular: 0 where a direction is lost, 1 where all directions are equal.
    fn dexterity(&self, joints: &Joints<N>) -> f64 {
        self.jacobian(joints).map_or(0.0, |jacobian| dexterity(&jacobian))
    }
}

/// Geometric over arithmetic mean of the squared singular values.
#[must_use]
pub fn dexterity<const N: usize>(jacobian: &Jacobian<N>) -> f64 {
    let gram = jacobian.transpose() * jacobian;
    let mean = gram.trace() / N as f64;
    let Some(root) = cholesky(&gram) else { return 0.0 };
    if !(mean > 0.0) {
        return 0.0;
    }
    let product = (0..N).fold(1.0, |product, i| product * root[(i, i)] * root[(i, i)] / mean);
    product.powf(1.0 / N as f64).min(1.0)
}

/// The force a handle gives when these torques act on its joints: the smallest `f` with `Jᵀ f = τ`. `None` where the
/// mechanism is singular.
#[must_use]
pub fn force_of_torques<const N: usize>(jacobian: &Jacobian<N>, torques: &Joints<N>) -> Option<Vec3> {
    let root = cholesky(&(jacobian.transpose() * jacobian))?;
    // Gram · y = τ by forward and backward substitution; f = J y.
    let mut y = *torques;
    for i in 0..N {
        for k in 0..i {
            y[i] -= root[(i, k)] * y[k];
        }
        y[i] /= root[(i, i)];
    }
    for i in (0..N).rev() {
        for k in i + 1..N {
            y[i] -= root[(k, i)] * y[k];
        }
        y[i] /= root[(i, i)];
    }
    let force = jacobian * y;
    force.iter().all(|x| x.is_finite()).then_some(force)
}

/// Lower triangular root of a symmetric matrix; `None` unless it is safely positive definite.
fn cholesky<const N: usize>(matrix: &SMatrix<f64, N, N>) -> Option<SMatrix<f64, N, N>> {
    let floor = 1e-14 * matrix.trace();
    let mut root = SMatrix::<f64, N, N>::zeros();
    for i in 0..N {
        for j in 0..=i {
            let rest = (0..j).fold(matrix[(i, j)], |rest, k| rest - root[(i, k)] * root[(j, k)]);
            if i == j {
                if !(rest > floor) {
                    return None;
                }
                root[(i, i)] = rest.sqrt();
            } else {
                root[(i, j)] = rest / root[(j, j)];
            }
        }
    }
    Some(root)
}

/// How a mechanism stands in the device's base frame: `x_D = R (x − origin)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mount {
    /// From mechanism axes to device axes.
    pub rotation: Rot,
    /// Point of the mechanism that is the middle of the workspace, m.
    pub origin: Vec3,
}

impl Mount {
    /// A position of the mechanism, in the device's base frame.
    #[must_use]
    pub fn to_device(&self, position: &Vec3) -> Vec3 {
        self.rotation * (position - self.origin)
    }

    /// A position in the device's base frame, in the mechanism's.
    #[must_use]
    pub fn from_device(&self, position: &Vec3) -> Vec3 {
        self.rotation.inverse() * position + self.origin
    }

    /// A force or direction in the device's base frame, in the mechanism's.
    #[must_use]
    pub fn direction_from_device(&self, direction: &Vec3) -> Vec3 {
        self.rotation.inverse() * direction
    }

    /// A force or direction of the mechanism, in the device's base frame.
    #[must_use]
    pub fn direction_to_device(&self, direction: &Vec3) -> Vec3 {
        self.rotation * direction
    }

    /// Pose of a handle whose rotation is given in the mechanism's frame.
    #[must_use]
    pub fn pose(&self, position: &Vec3, rotation: &Rot) -> Pose {
        Pose::from_parts(self.to_device(position).into(), self.rotation * rotation * self.rotation.inverse())
    }
}

/// Where force begins to fade, and where it has gone, as the mechanism nears a singular place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guard {
    /// Dexterity at and below which no force is given.
    pub none_below: f64,
    /// Dexterity from which on the force is whole.
    pub whole_above: f64,
}

impl Guard {
    /// Part of the force that may be given at this dexterity, 0 to 1.
    #[must_use]
    pub fn share(&self, dexterity: f64) -> f64 {
        let span = self.whole_above - self.none_below;
        if !(span > 0.0) || !dexterity.is_finite() {
            return 0.0;
        }
        ((dexterity - self.none_below) / span).clamp(0.0, 1.0)
    }
}
