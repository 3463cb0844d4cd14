//! Planes, cones and cylinders about the z axis that end a part: exact, and cheaper than any model of them.
//!
//! Thread: simulation or collision (no heap).

use super::Distance;
use super::lanes::fused;
use crate::math::Vec3;

/// The half of space where `radial r + normal · p ≤ offset`: what a part keeps.
///
/// A plane has `radial = 0` and a unit normal; a chamfer of 45° at the top of a bolt `radial = normal.z = √½`; the inside
/// of a cylinder `radial = 1` and no normal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// Factor of the distance from the axis.
    pub radial: f64,
    /// Factor of the point.
    pub normal: [f64; 3],
    /// Where it is, m.
    pub offset: f64,
}

impl Cut {
    /// What is below height `top`.
    #[must_use]
    pub fn below(top: f64) -> Self {
        Self { radial: 0.0, normal: [0.0, 0.0, 1.0], offset: top }
    }

    /// What is above height `bottom`.
    #[must_use]
    pub fn above(bottom: f64) -> Self {
        Self { radial: 0.0, normal: [0.0, 0.0, -1.0], offset: -bottom }
    }

    /// Distance of `p`, `r` from the axis, from the surface of the cut.
    pub(super) fn value(&self, p: &Vec3, r: f64) -> f64 {
        self.radial * r + self.normal[0] * p.x + self.normal[1] * p.y + self.normal[2] * p.z - self.offset
    }

    fn gradient(&self, p: &Vec3, r: f64) -> Vec3 {
        let out = if r > 1e-12 { Vec3::new(p.x / r, p.y / r, 0.0) } else { Vec3::x() };
        out * self.radial + Vec3::from(self.normal)
    }
}

/// The cut as a batch wants it.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlatCut {
    pub(super) radial: f32,
    pub(super) normal: [f32; 3],
    offset: f32,
}

impl Cut {
    #[inline(always)]
    pub(super) fn flat(&self) -> FlatCut {
        let [x, y, z] = self.normal;
        FlatCut { radial: self.radial as f32, normal: [x as f32, y as f32, z as f32], offset: self.offset as f32 }
    }

    /// Most by which the value can change over a way of one.
    pub(super) fn steepness(&self) -> f64 {
        let [x, y, z] = self.normal;
        (self.radial.abs() + x.hypot(y)).hypot(z)
    }
}

impl FlatCut {
    /// [`Cut::value`] of one of many points.
    #[inline(always)]
    pub(super) fn value<const FUSED: bool>(&self, p: [f32; 3], r: f32) -> f32 {
        let mut sum = fused::<FUSED>(self.radial, r, -self.offset);
        for i in 0..3 {
            sum = fused::<FUSED>(self.normal[i], p[i], sum);
        }
        sum
    }
}

/// The farthest of the cuts: where `p` is outside of what they leave.
pub(super) fn farthest(cuts: &[Cut], p: &Vec3) -> Option<Distance> {
    let r = (p.x * p.x + p.y * p.y).sqrt();
    let mut best: Option<(f64, &Cut)> = None;
    for cut in cuts {
        let value = cut.value(p, r);
        if best.is_none_or(|(least, _)| value > least) {
            best = Some((value, cut));
        }
    }
    best.map(|(value, cut)| Distance { value, gradient: cut.gradient(p, r) })
}
