//! Where the points of a beam are, which way it points there, and which of them is nearest.
//!
//! Thread: simulation.

use super::BeamBody;
use crate::math::{Rot, Vec3, exp_so3};

impl BeamBody {
    /// Element and part of its length at an arc length.
    pub(super) fn element_at(&self, at_m: f64) -> (usize, f64) {
        let last = self.elements.len() - 1;
        let along = at_m.clamp(0.0, self.spec.length_m) / self.spec.element_m();
        if !along.is_finite() {
            return (0, 0.0);
        }
        let index = (along as usize).min(last);
        (index, (along - index as f64).clamp(0.0, 1.0))
    }

    pub(super) fn local_point(&self, at_m: f64) -> Vec3 {
        let (index, xi) = self.element_at(at_m);
        self.nodes[index] + self.elements[index].place(xi)
    }

    /// Slope of the place by arc length, in the hub's frame; nearly of length one.
    fn local_slope(&self, at_m: f64) -> Vec3 {
        let (index, xi) = self.element_at(at_m);
        self.elements[index].direction(xi) / self.spec.element_m()
    }

    /// Where the point at an arc length is.
    #[must_use]
    pub fn point(&self, at_m: f64) -> Vec3 {
        self.to_world(&self.local_point(at_m))
    }

    /// Where it is, to first order, after the correction that elastic forces make alone in the step under way.
    #[must_use]
    pub fn free_point(&self, at_m: f64) -> Vec3 {
        let (index, xi) = self.element_at(at_m);
        let element = &self.elements[index];
        let mut local = self.local_point(at_m);
        for (k, axis) in [Vec3::x(), Vec3::y(), Vec3::z()].iter().enumerate() {
            let on = element.spread(xi, axis);
            local[k] += on[1].dot(&self.free[index]);
            if index > 0 {
                local[k] += on[0].dot(&self.free[index - 1]);
            }
        }
        self.to_world(&local)
    }

    fn to_world(&self, local: &Vec3) -> Vec3 {
        self.hub.translation.vector + self.hub.rotation * local
    }

    /// Unit direction of the beam at an arc length, towards the tip.
    #[must_use]
    pub fn tangent(&self, at_m: f64) -> Vec3 {
        self.hub.rotation * self.local_tangent(at_m)
    }

    fn local_tangent(&self, at_m: f64) -> Vec3 {
        let (index, _) = self.element_at(at_m);
        self.local_slope(at_m).try_normalize(1e-12).unwrap_or(self.elements[index].e)
    }

    /// Rotation of the section at an arc length: z back along the beam, x and y those of the hub, bent and twisted along.
    #[must_use]
    pub fn frame(&self, at_m: f64) -> Rot {
        let (index, xi) = self.element_at(at_m);
        let (a, b) = (&self.rotations[index], &self.rotations[index + 1]);
        let between = exp_so3(&((a.inverse() * b).scaled_axis() * xi));
        let section = a * between;
        let back = -self.local_tangent(at_m);
        let align = Rot::rotation_between(&(section * Vec3::z()), &back).unwrap_or_else(Rot::identity);
        self.hub.rotation * align * section
    }

    /// Arc length of the beam's point that is nearest to `point`, followed downhill from a guess; where that
    /// takes too many steps, also from the nearest chord.
    #[must_use]
    pub fn nearest(&self, point: &Vec3, guess_m: f64) -> f64 {
        let target = self.hub.rotation.inverse_transform_vector(&(point - self.hub.translation.vector));
        let guess = if guess_m.is_finite() { guess_m.clamp(0.0, self.spec.length_m) } else { 0.0 };
        if !target.iter().all(|x| x.is_finite()) {
            return guess;
        }
        let (found, settled) = self.descend(&target, guess);
        if settled {
            return found;
        }
        let (other, _) = self.descend(&target, self.nearest_on_chords(&target));
        let distance = |at: f64| (self.local_point(at) - target).norm_squared();
        if distance(other) <= distance(found) { other } else { found }
    }

    /// Newton's steps on the square of the distance, each of which must make it smaller, and whether they came to an end.
    fn descend(&self, target: &Vec3, start: f64) -> (f64, bool) {
        let (length, tiny) = (self.spec.length_m, 1e-12 * self.spec.length_m);
        let mut at = start;
        let mut distance = (self.local_point(at) - target).norm_squared();
        for _ in 0..30 {
            let slope = self.local_slope(at);
            let step = slope.dot(&(target - self.local_point(at))) / slope.norm_squared().max(1e-12);
            if step.is_nan() {
                break;
            }
            let mut part = 1.0;
            let (next, nearer) = loop {
                let next = (at + part * step).clamp(0.0, length);
                let nearer = (self.local_point(next) - target).norm_squared();
                // Shorter than this is round-off.
                if (next - at).abs() <= tiny {
                    return (at, true);
                }
                if nearer <= distance {
                    break (next, nearer);
                }
                part *= 0.5;
            };
            (at, distance) = (next, nearer);
        }
        (at, false)
    }

    fn nearest_on_chords(&self, target: &Vec3) -> f64 {
        let mut best = (f64::INFINITY, 0.0);
        for (i, chord) in self.chords.iter().enumerate() {
            let from = target - self.nodes[i];
            let part = (from.dot(chord) / chord.norm_squared()).clamp(0.0, 1.0);
            let distance = (from - chord * part).norm_squared();
            if distance < best.0 {
                best = (distance, (i as f64 + part) * self.spec.element_m());
            }
        }
        best.1
    }

    /// Places of the nodes, from hub to tip.
    pub fn shape(&self) -> impl Iterator<Item = Vec3> + '_ {
        self.nodes.iter().map(|node| self.to_world(node))
    }
}
