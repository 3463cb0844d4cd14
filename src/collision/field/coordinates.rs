//! The coordinates a model is asked in: two where the part has a symmetry, three where it has none.
//!
//! Thread: simulation or collision (no heap).
//!
//! ```text
//!  none      (x, y, z)
//!  round     (r, z)                     the same all around the z axis
//!  helical   (r, s),  s = z ∓ k θ       the same all along a helix, k = P/2π; periodic in s with P
//!            ∇d = d_r r̂ + d_s (ẑ ∓ (k/r) θ̂)
//! ```

use crate::geometry::parts::Hand;
use crate::math::Vec3;
use std::f64::consts::TAU;

/// Below this distance from the axis, m, there is no direction away from it.
const ON_AXIS: f64 = 1e-9;

/// What leaves a part as it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Symmetry {
    /// Nothing that is known.
    None,
    /// Turning about the z axis.
    Round,
    /// Turning about the z axis while moving along it: a thread.
    Helical {
        /// Way along z per turn, m.
        pitch: f64,
        /// Which way it winds.
        hand: Hand,
    },
}

impl Symmetry {
    /// Number of coordinates.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        if *self == Self::None { 3 } else { 2 }
    }

    /// Way along z per radian, with its sign; zero where there is no helix.
    fn lead(&self) -> f64 {
        match *self {
            Self::Helical { pitch, hand: Hand::Right } => pitch / TAU,
            Self::Helical { pitch, hand: Hand::Left } => -pitch / TAU,
            _ => 0.0,
        }
    }

    /// The coordinates of a point; the third is zero where there are two.
    #[must_use]
    pub fn coordinates(&self, p: &Vec3) -> [f64; 3] {
        match *self {
            Self::None => [p.x, p.y, p.z],
            Self::Round => [(p.x * p.x + p.y * p.y).sqrt(), p.z, 0.0],
            Self::Helical { pitch, .. } => {
                let along = p.z - self.lead() * p.y.atan2(p.x);
                // Rounding could leave a whole pitch.
                let s = along - pitch * (along / pitch).floor();
                [(p.x * p.x + p.y * p.y).sqrt(), if s < pitch { s } else { 0.0 }, 0.0]
            }
        }
    }

    /// A point with these coordinates: the one at no angle about the axis.
    #[must_use]
    pub fn point(&self, at: &[f64; 3]) -> Vec3 {
        match self {
            Self::None => Vec3::from(*at),
            _ => Vec3::new(at[0], 0.0, at[1]),
        }
    }

    /// The derivatives by the coordinates, from the gradient at [`Symmetry::point`].
    #[must_use]
    pub fn slopes(&self, gradient: &Vec3) -> [f64; 3] {
        match self {
            Self::None => [gradient.x, gradient.y, gradient.z],
            _ => [gradient.x, gradient.z, 0.0],
        }
    }

    /// The gradient at `p`, from the derivatives by its coordinates.
    #[must_use]
    pub fn gradient(&self, p: &Vec3, slopes: &[f64; 3]) -> Vec3 {
        if *self == Self::None {
            return Vec3::from(*slopes);
        }
        let r = (p.x * p.x + p.y * p.y).sqrt();
        if r < ON_AXIS {
            return Vec3::new(slopes[0], 0.0, slopes[1]);
        }
        let (cos, sin) = (p.x / r, p.y / r);
        let around = -self.lead() * slopes[1] / r;
        Vec3::new(slopes[0] * cos - around * sin, slopes[0] * sin + around * cos, slopes[1])
    }
}
