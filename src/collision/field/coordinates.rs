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

use super::lanes::{LANES, fused};
use crate::geometry::parts::Hand;
use crate::math::Vec3;
use std::f64::consts::{FRAC_PI_2, PI, TAU};

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
    pub(in crate::collision) fn lead(&self) -> f64 {
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

/// Odd coefficients of the arc tangent on [0, 1], from the first power up: off by 7e-8 at most (Remez).
pub(in crate::collision) const ATAN: [f32; 8] = [
    0.999_999_34,
    -0.333_298_6,
    0.199_465_66,
    -0.139_086_29,
    0.096_421_97,
    -0.055_912_327,
    0.021_862_957,
    -0.004_054_567_3,
];

/// A symmetry with two coordinates, for many points at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Turn {
    /// Way along z per radian; zero for a solid of revolution.
    pub(super) lead: f32,
    pitch: f32,
}

impl Turn {
    /// Of a solid of revolution.
    pub(super) const ROUND: Self = Self { lead: 0.0, pitch: 0.0 };

    /// None for a part without symmetry.
    pub(super) fn new(symmetry: &Symmetry) -> Option<Self> {
        match *symmetry {
            Symmetry::None => None,
            Symmetry::Round => Some(Self::ROUND),
            Symmetry::Helical { pitch, .. } => Some(Self { lead: symmetry.lead() as f32, pitch: pitch as f32 }),
        }
    }

    /// True where the second coordinate has a period.
    #[inline(always)]
    pub(super) fn is_helical(&self) -> bool {
        self.pitch > 0.0
    }

    /// Both coordinates. Rounding can leave the second a little outside of its period.
    #[inline(always)]
    pub(super) fn places<const FUSED: bool>(&self, p: &[[f32; LANES]; 3]) -> [[f32; LANES]; 2] {
        let [x, y, z] = p;
        let (mut r, mut s) = ([0.0; LANES], *z);
        for lane in 0..LANES {
            r[lane] = (x[lane] * x[lane] + y[lane] * y[lane]).sqrt();
        }
        if self.is_helical() {
            for lane in 0..LANES {
                let along = z[lane] - self.lead * atan2::<FUSED>(y[lane], x[lane]);
                s[lane] = along - self.pitch * (along / self.pitch).floor();
            }
        }
        [r, s]
    }
}

/// Angle of `(x, y)`, off by less than 4e-7; some angle at the origin.
#[inline(always)]
fn atan2<const FUSED: bool>(y: f32, x: f32) -> f32 {
    let (a, b) = (x.abs(), y.abs());
    let (more, less) = if a > b { (a, b) } else { (b, a) };
    // The smallest number keeps the origin from dividing by zero.
    let t = less / (more + f32::MIN_POSITIVE);
    let square = t * t;
    let mut sum = ATAN[7];
    for k in (0..7).rev() {
        sum = fused::<FUSED>(sum, square, ATAN[k]);
    }
    let angle = sum * t;
    let angle = if a > b { angle } else { FRAC_PI_2 as f32 - angle };
    let angle = if x < 0.0 { PI as f32 - angle } else { angle };
    if y < 0.0 { -angle } else { angle }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_arc_tangent_is_right_all_around() {
        for k in 0..20_000 {
            let angle = f64::from(k) * TAU / 20_000.0 - PI;
            let (y, x) = ((0.024 * angle.sin()) as f32, (0.024 * angle.cos()) as f32);
            let exact = f64::from(y).atan2(f64::from(x));
            for found in [atan2::<true>(y, x), atan2::<false>(y, x)] {
                let off = (f64::from(found) - exact).abs();
                assert!(off < 4e-7 || (off - TAU).abs() < 4e-7, "{found} for {exact}");
            }
        }
        assert!(atan2::<false>(0.0, 0.0).is_finite());
    }
}
