//! What meshes ask of an axis-aligned box.
//!
//! Thread: any (RT safe).

use super::super::Aabb;
use crate::math::Vec3;

impl Aabb {
    /// The box around nothing: whatever is included next becomes its bounds.
    pub(super) fn empty() -> Self {
        Self { min: Vec3::repeat(f64::INFINITY), max: Vec3::repeat(f64::NEG_INFINITY) }
    }

    /// The box around `points`.
    pub(in crate::geometry) fn around<'a>(points: impl IntoIterator<Item = &'a Vec3>) -> Self {
        points.into_iter().fold(Self::empty(), |bounds, p| bounds.with(p))
    }

    /// Grown to hold `p`.
    pub(super) fn with(&self, p: &Vec3) -> Self {
        Self { min: self.min.inf(p), max: self.max.sup(p) }
    }

    /// Grown to hold `other`.
    pub(super) fn union(&self, other: &Self) -> Self {
        Self { min: self.min.inf(&other.min), max: self.max.sup(&other.max) }
    }

    /// Sides; zero for the empty box.
    #[must_use]
    pub fn size(&self) -> Vec3 {
        (self.max - self.min).sup(&Vec3::zeros())
    }

    /// Half of the area of its sides: what the cost of a split is measured by.
    pub(super) fn half_area(&self) -> f64 {
        let s = self.size();
        s.x * s.y + s.y * s.z + s.z * s.x
    }

    /// Square of the distance from `p`; zero inside.
    pub(super) fn distance_squared(&self, p: &Vec3) -> f64 {
        let beyond = |k: usize| (self.min[k] - p[k]).max(p[k] - self.max[k]).max(0.0);
        let (x, y, z) = (beyond(0), beyond(1), beyond(2));
        x * x + y * y + z * z
    }

    /// True when the two share a point.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        (0..3).all(|k| self.min[k] <= other.max[k] && other.min[k] <= self.max[k])
    }

    /// True when `other` lies inside.
    pub(super) fn contains(&self, other: &Self) -> bool {
        (0..3).all(|k| self.min[k] <= other.min[k] && other.max[k] <= self.max[k])
    }
}
