//! Nearest points of triangles and segments, with weights instead of positions alone.
//!
//! Thread: any (RT safe: no heap).

use crate::math::Vec3;

/// The part of a triangle that holds a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Strictly inside.
    Inside,
    /// On the side from corner `k` to corner `k + 1`.
    Side(u8),
    /// At a corner.
    Corner(u8),
}

/// Weights of the nearest point of a triangle, and the part that holds it (Ericson 2005, section 5.1.5).
pub(super) fn on_triangle(p: &Vec3, [a, b, c]: &[Vec3; 3]) -> ([f64; 3], Part) {
    let (ab, ac) = (b - a, c - a);
    let ap = p - a;
    let (d1, d2) = (ab.dot(&ap), ac.dot(&ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return ([1.0, 0.0, 0.0], Part::Corner(0));
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(&bp), ac.dot(&bp));
    if d3 >= 0.0 && d4 <= d3 {
        return ([0.0, 1.0, 0.0], Part::Corner(1));
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        let t = d1 / (d1 - d3);
        return ([1.0 - t, t, 0.0], Part::Side(0));
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(&cp), ac.dot(&cp));
    if d6 >= 0.0 && d5 <= d6 {
        return ([0.0, 0.0, 1.0], Part::Corner(2));
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        let t = d2 / (d2 - d6);
        return ([1.0 - t, 0.0, t], Part::Side(2));
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        let t = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        return ([0.0, 1.0 - t, t], Part::Side(1));
    }
    let scale = 1.0 / (va + vb + vc);
    let (v, w) = (vb * scale, vc * scale);
    ([1.0 - v - w, v, w], Part::Inside)
}

/// The point with these weights.
pub(super) fn blend(weights: &[f64; 3], [a, b, c]: &[Vec3; 3]) -> Vec3 {
    a * weights[0] + b * weights[1] + c * weights[2]
}

/// Parameters of the nearest points of two segments (Ericson 2005, section 5.1.9), or none where one of them lies at an end or
/// the segments are parallel: nodes against edges hold such pairs.
pub(super) fn between(p: &[Vec3; 2], q: &[Vec3; 2]) -> Option<(f64, f64)> {
    let (d1, d2, r) = (p[1] - p[0], q[1] - q[0], p[0] - q[0]);
    let (a, e, b) = (d1.norm_squared(), d2.norm_squared(), d1.dot(&d2));
    let (c, f) = (d1.dot(&r), d2.dot(&r));
    let below = a * e - b * b;
    if below <= PARALLEL * a * e {
        return None;
    }
    let s = (b * f - c * e) / below;
    let t = (a * f - b * c) / below;
    let inner = END..=1.0 - END;
    (inner.contains(&s) && inner.contains(&t)).then_some((s, t))
}

/// Square of the sine below which two edges count as parallel: 0.06°.
const PARALLEL: f64 = 1e-6;
/// Share of an edge that counts as its end.
const END: f64 = 1e-9;

/// How far along a unit direction a ray meets a triangle, from either side; infinite where it does not (Möller and Trumbore
/// 1997).
pub(super) fn ray_triangle(origin: &Vec3, direction: &Vec3, [a, b, c]: &[Vec3; 3]) -> f64 {
    let (u, v) = (b - a, c - a);
    let across = direction.cross(&v);
    let volume = u.dot(&across);
    if volume.abs() <= 1e-14 * u.norm() * v.norm() {
        return f64::INFINITY;
    }
    let from = origin - a;
    let s = from.dot(&across) / volume;
    let turn = from.cross(&u);
    let t = direction.dot(&turn) / volume;
    let far = v.dot(&turn) / volume;
    if s >= 0.0 && t >= 0.0 && s + t <= 1.0 && far > 0.0 { far } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    fn point(random: &mut Random) -> Vec3 {
        Vec3::from_fn(|_, _| 2.0 * random.uniform() - 1.0)
    }

    #[test]
    fn no_point_of_a_grid_over_the_triangle_is_nearer_than_the_one_found() {
        let mut random = Random::new(3);
        for _ in 0..300 {
            let corners = [point(&mut random), point(&mut random), point(&mut random)];
            let p = point(&mut random);
            let (weights, part) = on_triangle(&p, &corners);
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12 && weights.iter().all(|w| *w >= 0.0));
            let zeros = weights.iter().filter(|w| **w == 0.0).count();
            assert_eq!(
                zeros,
                match part {
                    Part::Inside => 0,
                    Part::Side(_) => 1,
                    Part::Corner(_) => 2,
                }
            );
            let found = (p - blend(&weights, &corners)).norm();
            for i in 0..=20 {
                for j in 0..=20 - i {
                    let (v, w) = (f64::from(i) / 20.0, f64::from(j) / 20.0);
                    assert!((p - blend(&[1.0 - v - w, v, w], &corners)).norm() >= found - 1e-12);
                }
            }
        }
    }

    #[test]
    fn nearest_points_of_two_segments_are_joined_by_a_line_square_to_both() {
        let mut random = Random::new(4);
        let mut count = 0;
        for _ in 0..500 {
            let p = [point(&mut random), point(&mut random)];
            let q = [point(&mut random), point(&mut random)];
            if let Some((s, t)) = between(&p, &q) {
                let way = p[0] + (p[1] - p[0]) * s - q[0] - (q[1] - q[0]) * t;
                assert!(way.dot(&(p[1] - p[0])).abs() < 1e-10 && way.dot(&(q[1] - q[0])).abs() < 1e-10);
                count += 1;
            }
        }
        assert!(count > 50);
    }
}
