//! What collision needs to know of a surface: how far a point is from it and which way is out.
//!
//! Thread: any (RT safe).
//!
//! A signed distance is 1-Lipschitz, and convex when the solid is convex: the search for contacts along edges and rims
//! (`collision::minimum`) and its bounds rest on these two facts.

use crate::math::Vec3;

/// Below this length, in metres, the difference of two points is rounding noise and gives no direction. Normal value:
/// some thousand times the spacing of doubles at 1 m; larger would round off true edges, smaller would let noise through.
const NO_DIRECTION: f64 = 1e-12;

/// Signed distance of a point, and the way out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Metres to the nearest point of the surface; negative inside the solid.
    pub distance: f64,
    /// Unit vector along which the distance grows: the outward normal at the nearest point. Where several are nearest
    /// (edges, the centre of a sphere) one of them, the same one each time.
    pub normal: Vec3,
}

/// Axis-aligned box in the frame of the shape; infinite where the shape is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Least coordinates.
    pub min: Vec3,
    /// Greatest coordinates.
    pub max: Vec3,
}

/// Sphere around everything, in the frame of the shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundingSphere {
    /// Centre.
    pub center: Vec3,
    /// Radius, m; infinite for a half-space.
    pub radius: f64,
}

/// A solid known by its signed distance.
///
/// A surface may be made of several *sheets*: parts that meet at a concave edge, such as the wall and the floor of a
/// hole. What stands in the corner touches both, but the signed distance names only the nearer one; so contacts are
/// sought on every sheet by itself. In free space the least of the sheets is the signed distance.
pub trait Surface: Send + Sync {
    /// Distance and normal at `point`. Always finite, the normal always of unit length.
    fn signed_distance(&self, point: &Vec3) -> Distance;

    /// Number of sheets, at least one.
    fn sheet_count(&self) -> usize {
        1
    }

    /// Distance and normal of sheet `sheet`; infinitely far where the sheet does not apply.
    fn sheet_distance(&self, _sheet: usize, point: &Vec3) -> Distance {
        self.signed_distance(point)
    }

    /// True when the solid is convex.
    fn is_convex(&self) -> bool;

    /// Outward normals of the flat faces of a convex solid. Empty where contacts of faces need no clipping: the solid has no
    /// flat face, or a face without bounds.
    fn flat_faces(&self) -> &'static [Vec3] {
        &[]
    }

    /// A sphere around the solid.
    fn bounding_sphere(&self) -> BoundingSphere;
}

/// Unit vector along `v`, or `fallback` (unit) when `v` is too short to have a direction.
pub(super) fn direction_or(v: &Vec3, fallback: Vec3) -> Vec3 {
    let length = v.norm();
    if length > NO_DIRECTION { v / length } else { fallback }
}

/// Distance from the z axis and the unit vector away from it; on the axis itself, x.
pub(super) fn radial(p: &Vec3) -> (f64, Vec3) {
    let across = Vec3::new(p.x, p.y, 0.0);
    (p.x.hypot(p.y), direction_or(&across, Vec3::x()))
}

#[cfg(test)]
pub(super) mod check {
    //! The same claims for every shape.

    use super::*;

    /// Checks the normal against the gradient of the distance by central differences. Asks the caller to stay off the
    /// medial axis.
    pub(crate) fn assert_normal_is_gradient(surface: &dyn Surface, p: &Vec3) {
        let h = 1e-8;
        let at = |q: Vec3| surface.signed_distance(&q).distance;
        let along = |e: Vec3| (at(p + e * h) - at(p - e * h)) / (2.0 * h);
        let gradient = Vec3::new(along(Vec3::x()), along(Vec3::y()), along(Vec3::z()));
        let got = surface.signed_distance(p);
        let error = (gradient - got.normal).norm();
        // Beside an edge, at the distance d of it, the normal turns by h/d over one step.
        assert!(error < 1e-6 + 2.0 * h / got.distance.abs(), "{error:e} at {p:?}: {got:?}");
    }

    /// True where the normal at `p` is not the same within a small ball: near the medial axis.
    pub(crate) fn is_near_medial_axis(surface: &dyn Surface, p: &Vec3, ball: f64) -> bool {
        let n = surface.signed_distance(p).normal;
        [Vec3::x(), Vec3::y(), Vec3::z(), Vec3::new(1.0, 1.0, 1.0), Vec3::new(1.0, -1.0, 0.0)]
            .iter()
            .flat_map(|e| [p + e * ball, p - e * ball])
            .any(|q| (surface.signed_distance(&q).normal - n).norm() > 0.3)
    }

    /// Checks the distance of `p` against a cloud of points of the surface in which no point of the surface is farther
    /// than `spacing` from one of the cloud.
    pub(crate) fn assert_matches_cloud(surface: &dyn Surface, p: &Vec3, cloud: &[Vec3], spacing: f64, inside: bool) {
        let got = surface.signed_distance(p);
        let brute = cloud.iter().map(|q| (q - p).norm()).fold(f64::INFINITY, f64::min);
        assert!((got.normal.norm() - 1.0).abs() < 1e-12, "normal {:?} at {p:?}", got.normal);
        assert_eq!(got.distance < 0.0, inside, "sign at {p:?}: {got:?}");
        let size = got.distance.abs();
        assert!(size <= brute + 1e-12 && size >= brute - spacing, "{size} against {brute} at {p:?}");
        // Walking the distance along the normal must lead to the surface.
        let foot = p - got.normal * got.distance;
        assert!(surface.signed_distance(&foot).distance.abs() < 1e-12, "foot of {p:?}");
    }

    /// Points of a rectangle `center ± u ± v`, no farther apart than `step`.
    pub(crate) fn rectangle(cloud: &mut Vec<Vec3>, center: Vec3, u: Vec3, v: Vec3, step: f64) {
        let count = |w: &Vec3| (2.0 * w.norm() / step).ceil() as usize;
        let (n, m) = (count(&u), count(&v));
        for i in 0..=n {
            for j in 0..=m {
                let at = |k: usize, of: usize| 2.0 * k as f64 / of as f64 - 1.0;
                cloud.push(center + u * at(i, n) + v * at(j, m));
            }
        }
    }

    /// Points of the surface swept by turning the segment from `a` to `b`, both `(ρ, z)`, about the z axis.
    pub(crate) fn revolved(cloud: &mut Vec<Vec3>, a: (f64, f64), b: (f64, f64), step: f64) {
        let along = ((b.0 - a.0).hypot(b.1 - a.1) / step).ceil() as usize;
        for i in 0..=along {
            let s = i as f64 / along.max(1) as f64;
            let (rho, z) = (a.0 + s * (b.0 - a.0), a.1 + s * (b.1 - a.1));
            let around = (std::f64::consts::TAU * rho / step).ceil().max(1.0) as usize;
            for k in 0..around {
                let angle = std::f64::consts::TAU * k as f64 / around as f64;
                cloud.push(Vec3::new(rho * angle.cos(), rho * angle.sin(), z));
            }
        }
    }
}
