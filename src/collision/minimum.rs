//! Where along an edge or a rim a surface is nearest: minima of a signed distance on a curve.
//!
//! Thread: simulation or collision (no heap).
//!
//! The curve is run through by its length `s`, so the slope of `f(s) = d(p(s))` is `n·t`, exact without differences.
//! Outside of a convex solid f is smooth. Inside it is not: halfway between two faces the normal jumps, and that is just
//! where the minimum of an edge that has cut through another edge lies. There the minimum is a point where some convex
//! combination `g = α n₁ + (1−α) n₂` of the two normals has no slope, `g·t = 0`. For two crossed edges g is square to
//! both, so `g/|g|` is the normal of the edge-edge contact, and `f/|g|` its depth: the same limit from inside as
//! from outside. One rule therefore serves smooth and sharp minima.

use crate::geometry::{Distance, Feature, Surface};
use crate::math::Vec3;

/// Slope, m/m, below which a curve counts as level. A rim of radius R tilted by less than this is seen as lying flat, its
/// lowest point being lower than the nearest reported one by at most `FLAT · πR/4`: 0.2 nm for R = 25 mm.
const FLAT: f64 = 1e-8;
/// Slope, m/m, above which a minimum that is already good to [`VALUE_TOLERANCE`] is taken to be a sharp one: there the slope
/// never comes down to [`FLAT`]. A minimum with less slope on its better side is refined until its normal is good, too.
const SHARP: f64 = 1e-4;
/// How much lower than what was found a sharp minimum may still be, m.
const VALUE_TOLERANCE: f64 = 1e-14;
/// Evaluations for one minimum; each third one halves the bracket, so this is enough from 1 m down to rounding.
const MAX_EVALUATIONS: usize = 150;
/// Samples around a circle. Two minima nearer to each other than one interval are seen as one; what is hidden between two
/// samples is deeper than the nearer of them by at most half an interval, the distance being 1-Lipschitz.
const CIRCLE_SAMPLES: usize = 32;
/// Samples along a segment when the surface is not convex.
const SEGMENT_SAMPLES: usize = 16;
/// Least length of a combined normal: below it the faces look away from each other (an edge through a thin plate), no
/// normal serves both, and the nearer face alone is taken.
const LEAST_NORMAL: f64 = 0.3;

/// A point of the curve that touches or comes near, in the frame of the surface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    /// Number of the minimum, or of the fixed point, on this feature.
    pub(super) branch: u8,
    /// Point of the feature.
    pub(super) point: Vec3,
    /// Outward normal of the surface.
    pub(super) normal: Vec3,
    /// Distance along the normal, m.
    pub(super) gap: f64,
    /// A fixed point of a rim: it holds the rim where no minimum does, and may give way to one that is near.
    pub(super) is_filler: bool,
}

#[derive(Clone, Copy)]
struct Sample {
    s: f64,
    point: Vec3,
    value: f64,
    slope: f64,
    normal: Vec3,
}

/// Most places on one curve that are followed: a rim lying across a plank has two level parts, with three places each.
const MAX_MINIMA: usize = 8;
/// Fixed points of a circle; their branches are numbered after those of the minima.
const FIXED_POINTS: usize = 4;

/// The curve of a feature and what it is measured against.
struct Track<'a> {
    surface: &'a dyn Surface,
    sheet: usize,
    curve: Curve,
}

enum Curve {
    Line { from: Vec3, along: Vec3 },
    Round { center: Vec3, x: Vec3, y: Vec3, radius: f64 },
}

impl Track<'_> {
    fn at(&self, s: f64) -> Sample {
        let (point, tangent) = match self.curve {
            Curve::Line { from, along } => (from + along * s, along),
            Curve::Round { center, x, y, radius } => {
                let (sin, cos) = (s / radius).sin_cos();
                (center + (x * cos + y * sin) * radius, y * cos - x * sin)
            }
        };
        let Distance { distance, normal } = self.surface.sheet_distance(self.sheet, &point);
        Sample { s, point, value: distance, slope: normal.dot(&tangent), normal }
    }

    /// The minimum between `low` (falling) and `high` (rising).
    fn refine(&self, mut low: Sample, mut high: Sample) -> Hit {
        let mut best = if low.value < high.value { low } else { high };
        for k in 0..MAX_EVALUATIONS {
            let width = high.s - low.s;
            let rise = high.slope - low.slope;
            // Where the tangents of both ends meet, and how low a convex f can be at most. On a circle f need not be convex;
            // then the tangents may meet above what was found, which proves nothing.
            let meet = (low.value - high.value + high.slope * width) / rise;
            let bound = low.value + low.slope * meet;
            let settled = (0.0..=width).contains(&meet) && (best.value - bound).abs() <= VALUE_TOLERANCE;
            if best.slope.abs() <= FLAT || settled && best.slope.abs() > SHARP {
                break;
            }
            // In turn: for a smooth minimum, for a sharp one, for every one.
            let step = match k % 3 {
                0 => -low.slope * width / rise,
                1 => meet,
                _ => 0.5 * width,
            };
            let s = low.s + if step > 0.0 && step < width { step } else { 0.5 * width };
            if s <= low.s || s >= high.s {
                break;
            }
            let next = self.at(s);
            if next.value <= best.value || next.slope.abs() <= FLAT {
                best = next;
            }
            if next.slope < 0.0 {
                low = next;
            } else {
                high = next;
            }
        }
        balanced(&best, &low, &high)
    }

    /// The end of the level stretch between `level` and `sloping`.
    fn shore(&self, mut level: Sample, mut sloping: Sample) -> Hit {
        while (level.s - sloping.s).abs() > 1e-9 {
            let middle = self.at(0.5 * (level.s + sloping.s));
            if middle.slope.abs() <= FLAT {
                level = middle;
            } else {
                sloping = middle;
            }
        }
        plain(&level)
    }
}

fn plain(sample: &Sample) -> Hit {
    Hit { branch: 0, point: sample.point, normal: sample.normal, gap: sample.value, is_filler: false }
}

/// See the file's head.
fn balanced(best: &Sample, low: &Sample, high: &Sample) -> Hit {
    let rise = high.slope - low.slope;
    if best.slope.abs() <= FLAT || rise <= 0.0 {
        return plain(best);
    }
    let g = (low.normal * high.slope - high.normal * low.slope) / rise;
    let length = g.norm();
    if length < LEAST_NORMAL {
        return plain(best);
    }
    Hit { branch: 0, point: best.point, normal: g / length, gap: best.value / length, is_filler: false }
}

/// Every place where `feature`, given in the frame of the surface, comes nearer than `margin` to sheet `sheet`. Gaps are
/// those of the feature's core: the caller takes off its radius, which `margin` must already include.
pub(super) fn touch(feature: &Feature, surface: &dyn Surface, sheet: usize, margin: f64, emit: &mut dyn FnMut(Hit)) {
    let mut emit = |branch: usize, hit: Hit| {
        if hit.gap < margin {
            emit(Hit { branch: branch as u8, ..hit });
        }
    };
    let center_distance = |p: &Vec3| surface.sheet_distance(sheet, p).distance;
    match *feature {
        Feature::Point { position, .. } => {
            let Distance { distance, normal } = surface.sheet_distance(sheet, &position);
            emit(0, Hit { branch: 0, point: position, normal, gap: distance, is_filler: false });
        }
        Feature::Segment { a, b, .. } => {
            let (along, length) = (b - a, (b - a).norm());
            if length == 0.0 || center_distance(&(0.5 * (a + b))) - 0.5 * length >= margin {
                return;
            }
            let track = Track { surface, sheet, curve: Curve::Line { from: a, along: along / length } };
            touch_segment(&track, length, &mut emit);
        }
        Feature::Circle { center, axis, start, radius } => {
            if center_distance(&center) - radius >= margin {
                return;
            }
            let curve = Curve::Round { center, x: start, y: axis.cross(&start), radius };
            touch_circle(&Track { surface, sheet, curve }, radius, &mut emit);
        }
    }
}

/// Minima strictly between the ends. On a convex surface there is at most one, and the slopes at the ends tell.
fn touch_segment(track: &Track<'_>, length: f64, emit: &mut dyn FnMut(usize, Hit)) {
    let intervals = if track.surface.is_convex() { 1 } else { SEGMENT_SAMPLES };
    let mut falling: Option<Sample> = None;
    let mut branch = 0;
    for k in 0..=intervals {
        let sample = track.at(length * k as f64 / intervals as f64);
        if sample.slope < -FLAT {
            falling = Some(sample);
        } else if sample.slope > FLAT
            && let Some(low) = falling.take()
            && branch < MAX_MINIMA
        {
            emit(branch, track.refine(low, sample));
            branch += 1;
        }
    }
}

/// Four fixed points, a quarter turn apart, and the local minima. The fixed points hold a rim that lies flat, where no
/// point is lowest, and do not wander when the lowest point does; the minima make the rim exact. Where a part of the rim
/// is level, its two ends and its middle are given. Minima are numbered from the deepest on, around the circle.
fn touch_circle(track: &Track<'_>, radius: f64, emit: &mut dyn FnMut(usize, Hit)) {
    let turn = std::f64::consts::TAU * radius;
    let samples: [Sample; CIRCLE_SAMPLES] = std::array::from_fn(|k| track.at(turn * k as f64 / CIRCLE_SAMPLES as f64));
    for k in 0..FIXED_POINTS {
        let fixed = plain(&samples[k * CIRCLE_SAMPLES / FIXED_POINTS]);
        emit(MAX_MINIMA + k, Hit { is_filler: true, ..fixed });
    }
    // Beyond the last sample the circle goes on with the first, a turn later.
    let sample = |k: usize| {
        let base = samples[k % CIRCLE_SAMPLES];
        Sample { s: base.s + turn * (k / CIRCLE_SAMPLES) as f64, ..base }
    };
    let Some(first) = (0..CIRCLE_SAMPLES).find(|k| sample(*k).slope < -FLAT) else { return };
    let mut found = Found::default();
    let mut falling = first;
    for k in first + 1..=first + CIRCLE_SAMPLES {
        let here = sample(k);
        if here.slope < -FLAT {
            falling = k;
        } else if here.slope > FLAT && sample(falling).slope < -FLAT {
            if k - falling > 3 {
                found.push(track.shore(sample(falling + 1), sample(falling)));
                found.push(plain(&sample((falling + k) / 2)));
                found.push(track.shore(sample(k - 1), here));
            } else {
                found.push(track.refine(sample(falling), here));
            }
            falling = k;
        }
    }
    found.emit(emit);
}

/// The minima of one circle in order of angle.
#[derive(Default)]
struct Found {
    hits: [Option<Hit>; MAX_MINIMA],
    count: usize,
}

impl Found {
    /// Keeps the first eight; a rim against a primitive has no more.
    fn push(&mut self, hit: Hit) {
        if self.count < MAX_MINIMA {
            self.hits[self.count] = Some(hit);
            self.count += 1;
        }
    }

    fn emit(&self, emit: &mut dyn FnMut(usize, Hit)) {
        let gap = |k: usize| self.hits[k].map_or(f64::INFINITY, |hit| hit.gap);
        let deepest = (0..self.count).fold(0, |d, k| if gap(k) < gap(d) { k } else { d });
        for k in 0..self.count {
            if let Some(hit) = self.hits[(deepest + k) % self.count] {
                emit(k, hit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Cuboid, Cylinder, HalfSpace};

    fn hits(feature: &Feature, surface: &dyn Surface, margin: f64) -> Vec<Hit> {
        let mut all = Vec::new();
        touch(feature, surface, 0, margin, &mut |hit| all.push(hit));
        all
    }

    #[test]
    fn a_tilted_rim_has_one_minimum_where_geometry_says() {
        for tilt in [1e-7, 1e-5, 1e-3, 0.3] {
            for around in [0.1_f64, 2.0, 4.0] {
                let (r, height) = (0.025, 0.03);
                let lowest = Vec3::new(around.cos(), around.sin(), 0.0);
                let axis = Vec3::new(-lowest.x * f64::sin(-tilt), -lowest.y * f64::sin(-tilt), f64::cos(tilt));
                let start = axis.cross(&Vec3::new(0.3, 0.5, 0.1)).normalize();
                let rim = Feature::Circle { center: Vec3::z() * height, axis, start, radius: r };
                let found = hits(&rim, &HalfSpace, 1.0);
                let minima: Vec<_> = found.iter().filter(|hit| hit.branch < 8).collect();
                assert_eq!(minima.len(), 1, "tilt {tilt}");
                assert!((minima[0].gap - (height - r * tilt.sin())).abs() < 1e-12, "tilt {tilt}: {}", minima[0].gap);
            }
        }
    }

    #[test]
    fn a_flat_rim_is_held_by_four_points_a_quarter_turn_apart() {
        let rim = Feature::Circle { center: Vec3::z(), axis: Vec3::z(), start: Vec3::x(), radius: 0.5 };
        let found = hits(&rim, &HalfSpace, 2.0);
        assert_eq!(found.len(), 4);
        for (hit, side) in found.iter().zip([Vec3::x(), Vec3::y(), -Vec3::x(), -Vec3::y()]) {
            assert!((hit.point - (Vec3::z() + side * 0.5)).norm() < 1e-15 && hit.gap == 1.0);
        }
    }

    #[test]
    fn a_rim_half_over_an_edge_reports_the_ends_of_its_level_part() {
        // Radius 1 over the face of a box that ends at x = 0.5: level where cos θ ≤ 1/2.
        let shape = Cuboid { half: Vec3::new(5.0, 5.0, 1.0) };
        let rim = Feature::Circle { center: Vec3::new(4.5, 0.0, 1.1), axis: Vec3::z(), start: Vec3::x(), radius: 1.0 };
        let found = hits(&rim, &shape, 1.0);
        let end = |sign: f64| Vec3::new(5.0, sign * 0.75_f64.sqrt(), 1.1);
        for sign in [-1.0, 1.0] {
            let near = found.iter().filter(|hit| hit.branch < 8 && (hit.point - end(sign)).norm() < 1e-6);
            assert_eq!(near.count(), 1, "{found:?}");
        }
    }

    #[test]
    fn crossed_edges_give_the_same_normal_and_gap_from_inside_as_from_outside() {
        // The edge x = 1, z = 1 of a box along y, and an edge across it at an angle in the plane square to (1, 0, 1).
        let shape = Cuboid { half: Vec3::new(1.0, 2.0, 1.0) };
        let n = Vec3::new(1.0, 0.0, 1.0).normalize();
        let across = (Vec3::new(1.0, 0.0, -1.0).normalize() + Vec3::y() * 0.4).normalize();
        for gap in [1e-3, 1e-6, 1e-9, -1e-9, -1e-6, -1e-3] {
            let middle = Vec3::new(1.0, 0.3, 1.0) + n * gap;
            let edge = Feature::Segment { a: middle - across * 0.4, b: middle + across * 0.3, radius: 0.0 };
            let found = hits(&edge, &shape, 0.1);
            assert_eq!(found.len(), 1);
            assert!((found[0].gap - gap).abs() < 1e-12, "{gap}: {}", found[0].gap);
            assert!((found[0].normal - n).norm() < 1e-6, "{gap}: {}", found[0].normal);
        }
    }

    #[test]
    fn skew_edges_cut_into_each_other_by_the_distance_of_their_lines() {
        // Not symmetric to the two faces: the normal must still be square to both edges.
        let shape = Cuboid { half: Vec3::new(1.0, 2.0, 1.0) };
        let direction = Vec3::new(2.0, 0.7, -1.0).normalize();
        let n = Vec3::y().cross(&direction).normalize();
        let n = if n.z < 0.0 { -n } else { n };
        for gap in [1e-4, -1e-8, -1e-4] {
            let middle = Vec3::new(1.0, -0.2, 1.0) + n * gap;
            let edge = Feature::Segment { a: middle - direction * 0.5, b: middle + direction * 0.5, radius: 0.0 };
            let found = hits(&edge, &shape, 0.1);
            assert!((found[0].gap - gap).abs() < 1e-12 && (found[0].normal - n).norm() < 1e-6, "{:?}", found[0]);
        }
    }

    #[test]
    fn crossed_cylinders_touch_side_to_side() {
        // Axes square to each other, 5 cm apart, radii 2 cm and 2.9 cm.
        let shape = Cylinder { radius: 0.029, half_length: 0.1 };
        let from = Vec3::new(-0.07, 0.05, 0.01);
        let axis = Feature::Segment { a: from, b: from + Vec3::x() * 0.2, radius: 0.02 };
        let found = hits(&axis, &shape, 0.03);
        assert_eq!(found.len(), 1);
        assert!((found[0].gap - 0.021).abs() < 1e-12 && (found[0].normal - Vec3::y()).norm() < 1e-6);
    }
}
