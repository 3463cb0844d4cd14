//! Solids of revolution, exact: pegs, blocks with bores, anything turned on a lathe.
//!
//! Thread: simulation or collision (no heap); made cold.
//!
//! The nearest point of such a solid lies in the half-plane `(r, z)` of the point asked for, so its distance is that to
//! the outline there. The side is found by counting how often a ray towards greater `r` crosses the outline.

use crate::geometry::parts::{Body, BoreBlock, PartError, Peg};
use crate::geometry::{BoundingSphere, Distance, Surface};
use crate::math::Vec3;

/// A solid made by turning an outline about the z axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Revolved {
    /// Corners `(r, z)` of the closed outline, the material on the left; sides on the axis are no surface.
    outline: Vec<(f64, f64)>,
}

impl Revolved {
    /// The peg, its tip at z = 0.
    ///
    /// # Errors
    /// If there is no such peg.
    pub fn peg(peg: &Peg) -> Result<Self, PartError> {
        peg.check()?;
        let (r, c) = (0.5 * peg.diameter, peg.chamfer);
        Ok(Self::from_outline(vec![(0.0, 0.0), (r - c, 0.0), (r, c), (r, peg.length), (0.0, peg.length)]))
    }

    /// The block with its bore, mouth at z = 0. The body must be round.
    ///
    /// # Errors
    /// If there is no such block, or its body is not a solid of revolution; the latter as `None`.
    pub fn bore(block: &BoreBlock) -> Result<Option<Self>, PartError> {
        block.check()?;
        let Body::Round { diameter } = block.body else { return Ok(None) };
        let (r, c, outer) = (0.5 * block.diameter, block.chamfer, 0.5 * diameter);
        if r + c >= outer {
            return Err(PartError::BodyTooNarrow);
        }
        let mut outline = vec![(r, -block.depth), (r, -c), (r + c, 0.0), (outer, 0.0)];
        outline.reverse();
        if let Some(floor) = block.floor {
            let bottom = -block.depth - floor;
            outline.extend([(0.0, -block.depth), (0.0, bottom), (outer, bottom)]);
        } else {
            outline.push((outer, -block.depth));
        }
        Ok(Some(Self::from_outline(outline)))
    }

    /// Corners of no length between them are made one.
    fn from_outline(mut outline: Vec<(f64, f64)>) -> Self {
        outline.dedup();
        Self { outline }
    }

    /// Corners `(r, z)` of the outline, m.
    #[must_use]
    pub fn outline(&self) -> &[(f64, f64)] {
        &self.outline
    }

    /// Nearest point of the outline: square of the distance, the way from it, and the outward normal of its side.
    fn nearest(&self, r: f64, z: f64) -> (f64, (f64, f64), (f64, f64)) {
        let mut best = (f64::INFINITY, (0.0, 0.0), (1.0, 0.0));
        for (a, b) in self.sides() {
            if a.0 == 0.0 && b.0 == 0.0 {
                continue;
            }
            let (dr, dz) = (b.0 - a.0, b.1 - a.1);
            let length = dr.hypot(dz);
            let share = (((r - a.0) * dr + (z - a.1) * dz) / (length * length)).clamp(0.0, 1.0);
            let away = (r - a.0 - share * dr, z - a.1 - share * dz);
            let square = away.0 * away.0 + away.1 * away.1;
            if square < best.0 {
                best = (square, away, (dz / length, -dr / length));
            }
        }
        best
    }

    fn sides(&self) -> impl Iterator<Item = ((f64, f64), (f64, f64))> + '_ {
        let next = self.outline.iter().cycle().skip(1);
        self.outline.iter().copied().zip(next.copied())
    }

    fn is_inside(&self, r: f64, z: f64) -> bool {
        let mut inside = false;
        for (a, b) in self.sides() {
            if (a.1 > z) != (b.1 > z) && r < a.0 + (z - a.1) / (b.1 - a.1) * (b.0 - a.0) {
                inside = !inside;
            }
        }
        inside
    }
}

impl Surface for Revolved {
    fn signed_distance(&self, point: &Vec3) -> Distance {
        let r = point.x.hypot(point.y);
        let out = if r > 1e-12 { Vec3::new(point.x / r, point.y / r, 0.0) } else { Vec3::x() };
        let (square, away, side) = self.nearest(r, point.z);
        let sign = if self.is_inside(r, point.z) { -1.0 } else { 1.0 };
        let distance = square.sqrt();
        let (nr, nz) = if distance > 1e-12 { (sign * away.0 / distance, sign * away.1 / distance) } else { side };
        Distance { distance: sign * distance, normal: out * nr + Vec3::z() * nz }
    }

    fn is_convex(&self) -> bool {
        false
    }

    fn bounding_sphere(&self) -> BoundingSphere {
        let (mut low, mut high, mut wide) = (f64::INFINITY, f64::NEG_INFINITY, 0.0_f64);
        for &(r, z) in &self.outline {
            (low, high, wide) = (low.min(z), high.max(z), wide.max(r));
        }
        BoundingSphere { center: Vec3::new(0.0, 0.0, 0.5 * (low + high)), radius: wide.hypot(0.5 * (high - low)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn a_peg_is_as_far_as_its_faces_say() {
        let peg = Revolved::peg(&Peg { diameter: 0.05, length: 0.06, chamfer: 1e-3 }).expect("a peg");
        let near = |p: Vec3, distance: f64, normal: Vec3| {
            let got = peg.signed_distance(&p);
            assert!((got.distance - distance).abs() < 1e-15, "{got:?} at {p:?}");
            assert!((got.normal - normal).norm() < 1e-12, "{got:?} at {p:?}");
        };
        near(Vec3::new(0.0, 0.026, 0.03), 1e-3, Vec3::y());
        near(Vec3::new(-0.0245, 0.0, 0.03), -5e-4, -Vec3::x());
        near(Vec3::new(0.001, 0.0, -0.002), 2e-3, -Vec3::z());
        let slope = Vec3::new(1.0, 0.0, -1.0).normalize();
        near(Vec3::new(0.0245, 0.0, 5e-4) + slope * 1e-4, 1e-4, slope);
    }

    #[test]
    fn the_normal_is_the_gradient_and_the_bore_is_hollow() {
        let body = Body::Round { diameter: 0.08 };
        let block = BoreBlock { diameter: 0.05, depth: 0.04, chamfer: 1e-3, floor: Some(0.01), body };
        let bore = Revolved::bore(&block).expect("a block").expect("a round one");
        assert!(bore.signed_distance(&Vec3::new(0.01, 0.0, -0.02)).distance > 0.0149);
        assert!(bore.signed_distance(&Vec3::new(0.03, 0.0, -0.02)).distance < -0.0049);
        assert!(bore.signed_distance(&Vec3::new(0.0, 0.0, -0.045)).distance < -0.0049);
        let mut random = Random::new(5);
        for _ in 0..2000 {
            let p = Vec3::new(random.uniform() - 0.5, random.uniform() - 0.5, random.uniform() - 0.8) * 0.1;
            let got = bore.signed_distance(&p);
            let ahead = bore.signed_distance(&(p + got.normal * 1e-9)).distance;
            assert!((ahead - got.distance - 1e-9).abs() < 1e-12, "{got:?} at {p:?}");
        }
        assert_eq!(Revolved::bore(&BoreBlock { body: Body::Hex { across_flats: 0.08 }, ..block }), Ok(None));
    }
}
