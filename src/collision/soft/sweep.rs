//! Linear continuous detection: when a moving point crosses a moving triangle, and when two moving edges cross.
//!
//! Thread: any (RT safe: no heap).
//!
//! Four points that move linearly are coplanar where a cubic in time is zero (Provot 1997). The cubic is split at its extrema,
//! so that every interval holds at most one root, which bisection finds to the last bits.

use super::foot::{between, blend, on_triangle};
use crate::math::Vec3;

/// Bisection steps for one root: the interval `[0, 1]` down to 1e-12.
const HALVINGS: usize = 40;
/// Distance from a feature within which a coplanar point counts as a hit, in sizes of the feature: closes the seam between
/// neighbours.
const SEAM: f64 = 1e-6;

/// `c0 + c1 t + c2 t² + c3 t³`.
struct Cubic([f64; 4]);

impl Cubic {
    /// Six times the volume of the tetrahedron with the edges `u`, `v`, `w`, each given at the start and at the end.
    fn volume(u: [Vec3; 2], v: [Vec3; 2], w: [Vec3; 2]) -> Self {
        let (du, dv, dw) = (u[1] - u[0], v[1] - v[0], w[1] - w[0]);
        let (a, b, c) = (u[0].cross(&v[0]), u[0].cross(&dv) + du.cross(&v[0]), du.cross(&dv));
        Self([w[0].dot(&a), w[0].dot(&b) + dw.dot(&a), w[0].dot(&c) + dw.dot(&b), dw.dot(&c)])
    }

    fn at(&self, t: f64) -> f64 {
        let [a, b, c, d] = self.0;
        ((d * t + c) * t + b) * t + a
    }

    /// Times from 0 to 1 that bound intervals without an extremum inside.
    fn bounds(&self) -> [f64; 4] {
        let [_, b, c, d] = self.0;
        let mut inner = [1.0, 1.0];
        // Roots of b + 2 c t + 3 d t², in the form that keeps its digits when d is small.
        let root = (c * c - 3.0 * d * b).max(0.0).sqrt();
        let q = -(c + root.copysign(c));
        for (slot, t) in inner.iter_mut().zip([q / (3.0 * d), b / q]) {
            if t > 0.0 && t < 1.0 {
                *slot = t;
            }
        }
        [0.0, inner[0].min(inner[1]), inner[0].max(inner[1]), 1.0]
    }

    /// The first root at which `accept` holds; `falling` roots only, or all.
    fn first_root<T>(&self, falling: bool, mut accept: impl FnMut(f64) -> Option<T>) -> Option<(f64, T)> {
        let bounds = self.bounds();
        for k in 0..3 {
            let (mut low, mut high) = (bounds[k], bounds[k + 1]);
            let (start, end) = (self.at(low), self.at(high));
            if !(start >= 0.0 && end < 0.0 || !falling && start < 0.0 && end >= 0.0) {
                continue;
            }
            for _ in 0..HALVINGS {
                let middle = 0.5 * (low + high);
                if (self.at(middle) >= 0.0) == (start >= 0.0) {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            if let Some(found) = accept(low) {
                return Some((low, found));
            }
        }
        None
    }
}

fn lerp(ends: &[Vec3; 2], t: f64) -> Vec3 {
    ends[0] + (ends[1] - ends[0]) * t
}

/// The first time at which a point passes through a triangle from its front to its back, and the weights of the point that it
/// meets. `p` and `corners`: at the start and at the end of the step.
pub(super) fn point_through_triangle(p: &[Vec3; 2], corners: &[[Vec3; 3]; 2]) -> Option<(f64, [f64; 3])> {
    let way = |k: usize| [corners[0][k] - corners[0][0], corners[1][k] - corners[1][0]];
    let cubic = Cubic::volume(way(1), way(2), [p[0] - corners[0][0], p[1] - corners[1][0]]);
    cubic.first_root(true, |t| {
        let here: [Vec3; 3] = std::array::from_fn(|k| lerp(&[corners[0][k], corners[1][k]], t));
        let at = lerp(p, t);
        let (weights, _) = on_triangle(&at, &here);
        let size = (here[1] - here[0]).norm() + (here[2] - here[0]).norm();
        ((at - blend(&weights, &here)).norm() <= SEAM * size).then_some(weights)
    })
}

/// The first time at which two edges cross, and the parameters of the point at which they meet. `p` and `q`: the ends of each
/// edge at the start and at the end of the step.
pub(super) fn edge_through_edge(p: &[[Vec3; 2]; 2], q: &[[Vec3; 2]; 2]) -> Option<(f64, (f64, f64))> {
    let along = |e: &[[Vec3; 2]; 2]| [e[0][1] - e[0][0], e[1][1] - e[1][0]];
    let cubic = Cubic::volume(along(p), along(q), [p[0][0] - q[0][0], p[1][0] - q[1][0]]);
    cubic.first_root(false, |t| {
        let here = |e: &[[Vec3; 2]; 2]| [lerp(&[e[0][0], e[1][0]], t), lerp(&[e[0][1], e[1][1]], t)];
        let (p, q) = (here(p), here(q));
        let (s, r) = between(&p, &q)?;
        let way = p[0] + (p[1] - p[0]) * s - q[0] - (q[1] - q[0]) * r;
        (way.norm() <= SEAM * ((p[1] - p[0]).norm() + (q[1] - q[0]).norm())).then_some((s, r))
    })
}

/// Rounds of conservative advancement for one ball and one triangle.
const ROUNDS: usize = 32;

/// The first time at which a ball of radius `radius` touches a triangle, and the weights of the point that it meets: conservative
/// advancement (Mirtich 1996) by the distance over the greatest relative speed, down to a distance of `close`.
pub(super) fn ball_meets_triangle(
    p: &[Vec3; 2],
    radius: f64,
    corners: &[[Vec3; 3]; 2],
    close: f64,
) -> Option<(f64, [f64; 3])> {
    let travel = p[1] - p[0];
    let speed = (0..3).map(|k| (travel - (corners[1][k] - corners[0][k])).norm()).fold(0.0, f64::max);
    let (mut t, mut last) = (0.0, None);
    for _ in 0..ROUNDS {
        let here: [Vec3; 3] = std::array::from_fn(|k| lerp(&[corners[0][k], corners[1][k]], t));
        let at = lerp(p, t);
        let (weights, _) = on_triangle(&at, &here);
        let free = (at - blend(&weights, &here)).norm() - radius;
        if free <= close {
            return Some((t, weights));
        }
        last = Some((t, weights));
        t += free / speed;
        // A standing ball divides by zero: infinity or NaN end the search as well.
        if !(t <= 1.0) {
            return None;
        }
    }
    // Grazing: the ball has come as near as rounds allow, which counts as a touch.
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    fn point(random: &mut Random, size: f64) -> Vec3 {
        Vec3::from_fn(|_, _| size * (2.0 * random.uniform() - 1.0))
    }

    #[test]
    fn a_point_shot_through_a_moving_triangle_hits_it_when_and_where_it_was_aimed() {
        let mut random = Random::new(11);
        for _ in 0..2000 {
            let start: [Vec3; 3] = std::array::from_fn(|_| point(&mut random, 1.0));
            let end: [Vec3; 3] = std::array::from_fn(|k| start[k] + point(&mut random, 0.3));
            let mut weights = [0.1 + random.uniform(), 0.1 + random.uniform(), 0.1 + random.uniform()];
            let sum: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|w| *w /= sum);
            let when = 0.1 + 0.8 * random.uniform();
            let here: [Vec3; 3] = std::array::from_fn(|k| lerp(&[start[k], end[k]], when));
            let across = (here[1] - here[0]).cross(&(here[2] - here[0]));
            if across.norm() < 0.2 {
                continue;
            }
            // Much faster than the triangle, from its front to its back.
            let speed = -across.normalize() * 5.0 + point(&mut random, 1.0);
            let hit = blend(&weights, &here);
            let p = [hit - speed * when, hit + speed * (1.0 - when)];
            let (t, found) = point_through_triangle(&p, &[start, end]).expect("aimed at the triangle");
            let earlier = t < when - 1e-9;
            assert!(earlier || (t - when).abs() < 1e-9, "{t} {when}");
            if !earlier {
                assert!((0..3).all(|k| (found[k] - weights[k]).abs() < 1e-6));
            }
            // The way back passes from the back to the front and counts for nothing.
            let back = point_through_triangle(&[p[1], p[0]], &[end, start]);
            assert!(back.is_none_or(|(t, _)| (t - (1.0 - when)).abs() > 1e-6));
        }
    }

    #[test]
    fn edges_that_are_led_through_each_other_cross_when_and_where_they_were_led() {
        let mut random = Random::new(12);
        let mut count = 0;
        for _ in 0..2000 {
            let (d1, d2) = (point(&mut random, 1.0), point(&mut random, 1.0));
            let normal = d1.cross(&d2);
            if normal.norm() < 0.2 {
                continue;
            }
            let (s, r, when) =
                (0.2 + 0.6 * random.uniform(), 0.2 + 0.6 * random.uniform(), 0.1 + 0.8 * random.uniform());
            let speed = normal.normalize() * 3.0 + point(&mut random, 0.5);
            let meet = point(&mut random, 1.0);
            let p: [[Vec3; 2]; 2] = std::array::from_fn(|k| {
                let at = meet + speed * (k as f64 - when);
                [at - d1 * s, at + d1 * (1.0 - s)]
            });
            let q = [[meet - d2 * r, meet + d2 * (1.0 - r)]; 2];
            let (t, (found_s, found_r)) = edge_through_edge(&p, &q).expect("led through each other");
            assert!((t - when).abs() < 1e-9 && (found_s - s).abs() < 1e-6 && (found_r - r).abs() < 1e-6);
            count += 1;
        }
        assert!(count > 500);
    }

    #[test]
    fn a_ball_stops_at_the_triangle_that_it_flies_at() {
        let corners = [[Vec3::zeros(), Vec3::x(), Vec3::y()]; 2];
        let p = [Vec3::new(0.3, 0.3, 2.0), Vec3::new(0.3, 0.3, -2.0)];
        let (t, weights) = ball_meets_triangle(&p, 0.5, &corners, 1e-6).expect("straight at the triangle");
        assert!((t - 1.5 / 4.0).abs() < 1e-5 && (weights[1] - 0.3).abs() < 1e-12);
        let past = [Vec3::new(3.0, 0.3, 2.0), Vec3::new(3.0, 0.3, -2.0)];
        assert!(ball_meets_triangle(&past, 0.5, &corners, 1e-6).is_none());
    }
}
