//! Where a point of one side touches the other, and along which normal.
//!
//! Thread: simulation or collision (no heap, pure).
//!
//! Where two faces touch, both know the normal. Where a face touches an edge, the face knows it: the distance from the
//! edge, of a point that is nearly on it, points anywhere between the two faces that meet there. A peg that leans on the rim of its
//! hole would be held up by the rim. So where the normals of the two sides do not agree, the one that is the same all around counts.
//! Where two edges cross, as those of a nut's ridge and of the end of its bolt do at the corner of the flanks that touch, it is the normal of
//! those two faces that lie on each other.

use super::near::Holder;
use crate::geometry::Surface;
use crate::math::{Vec3, tangents};

/// How far around a point is looked to tell a face from an edge, m. Chamfers are wider, roundings of machined edges narrower.
const AROUND: f64 = 1e-4;
/// Cosine above which the two normals are one and the same: 0.6°.
const SAME: f64 = 0.99995;
/// Distance up to which it is asked which of two sides knows the normal, m. Farther off the nearest point of an edge is far
/// from where it will touch.
const TOUCHING: f64 = 2e-5;
/// How much farther the edge may be from the face than the point is from the edge, m.
const SHALLOWER: f64 = 1e-6;
/// Distance from a surface that counts as none, m.
const ON_SURFACE: f64 = 1e-7;
/// How much more an edge bends than a face, at least.
const BENDS: f64 = 1e-3;
/// How much an edge bends at least where it crosses another: 8°.
const EDGE: f64 = 1e-2;
/// Cosine above which two faces lie on each other.
const FACING: f64 = 0.985;

/// A point of one side on the surface of the other, in the world.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Touch {
    /// The point.
    pub(in super::super) point: Vec3,
    /// Outward normal of the surface it touches.
    pub(in super::super) outward: Vec3,
    /// Distance from that surface, m.
    pub(in super::super) gap: f64,
    /// The point belongs to the target and the surface to the holder.
    pub(in super::super) flipped: bool,
}

impl Touch {
    /// How `point` of the holder's surface, in the frame of its shape, touches the target.
    pub(in super::super) fn of(holder: &Holder<'_>, target: &Holder<'_>, point: &Vec3) -> Self {
        let at = world(holder, point);
        let found = target.surface.signed_distance(&local(target, &at));
        let outward = target.pose.rotation * found.normal;
        let plain = Self { point: at, outward, gap: found.distance, flipped: false };
        let met = at - outward * found.distance;
        let back = holder.surface.signed_distance(&local(holder, &met));
        let own = holder.pose.rotation * back.normal;
        let near = found.distance.abs() < TOUCHING && back.distance < found.distance + SHALLOWER;
        if -own.dot(&outward) > SAME || holder.part.is_none() || !near {
            return plain;
        }
        let (around, around_met) = (Around::of(holder, point), Around::of(target, &local(target, &met)));
        let (bends, met_bends) = (around.bends(), around_met.bends());
        if bends > EDGE && met_bends > EDGE {
            return Self { outward: around.facing(&around_met).unwrap_or(outward), ..plain };
        }
        if bends + BENDS < met_bends {
            return Self { point: met, outward: own, gap: back.distance, flipped: true };
        }
        plain
    }
}

fn world(side: &Holder<'_>, p: &Vec3) -> Vec3 {
    side.pose.rotation * p + side.pose.translation.vector
}

fn local(side: &Holder<'_>, p: &Vec3) -> Vec3 {
    side.pose.rotation.inverse_transform_vector(&(p - side.pose.translation.vector))
}

/// Exact distance of a point of the holder, in the frame of its shape, from the target.
pub(super) fn gap(holder: &Holder<'_>, target: &Holder<'_>, p: &Vec3) -> f64 {
    target.surface.signed_distance(&local(target, &world(holder, p))).distance
}

/// Slides a point over the holder's surface, by no more than `reach`, towards where the target is nearest. Where both are
/// smooth this finds the place of contact between the nodes; where they lie flat on each other the point stays.
pub(super) fn slide(holder: &Holder<'_>, target: &Holder<'_>, from: &Vec3, reach: f64) -> Vec3 {
    let turn = holder.pose.rotation.inverse() * target.pose.rotation;
    // Gap, and how it changes over the holder's surface.
    let look = |p: &Vec3| {
        let found = target.surface.signed_distance(&local(target, &world(holder, p)));
        let own = holder.surface.signed_distance(p);
        let outward = turn * found.normal;
        (found.distance, outward - own.normal * own.normal.dot(&outward))
    };
    let (gap, slope) = look(from);
    let steep = slope.norm();
    if !(steep > 1e-6) {
        return *from;
    }
    let way = slope / -steep;
    let Some(probe) = put_back(holder.surface, &(from + way * (0.25 * reach))) else { return *from };
    let (_, probed) = look(&probe);
    let bend = (way.dot(&probed) + steep) / (0.25 * reach);
    // Where it does not curve up there is no nearest place: go as far as may be, if that is nearer.
    let far = if bend > 0.0 { (steep / bend).min(reach) } else { reach };
    put_back(holder.surface, &(from + way * far)).filter(|to| look(to).0 < gap).unwrap_or(*from)
}

/// The point of a surface next to `p`; none beyond a rim, where the way out of the extended face leads past it.
pub(super) fn put_back(surface: &dyn Surface, p: &Vec3) -> Option<Vec3> {
    let found = surface.signed_distance(p);
    let on = p - found.normal * found.distance;
    let again = surface.signed_distance(&on);
    (again.distance.abs() < ON_SURFACE && again.normal.dot(&found.normal) > 0.9).then_some(on)
}

/// Normals of a side's surface about a point of it, in the world: two opposite ones, then two others.
struct Around([Vec3; 4]);

impl Around {
    fn of(side: &Holder<'_>, point: &Vec3) -> Self {
        let (t1, t2) = tangents(&side.surface.signed_distance(point).normal);
        let way = |d: Vec3| side.pose.rotation * side.surface.signed_distance(&(point + d * AROUND)).normal;
        Self([way(t1), way(-t1), way(t2), way(-t2)])
    }

    /// How much the normal turns about the point: one less the least cosine.
    fn bends(&self) -> f64 {
        let [a, b, c, d] = &self.0;
        1.0 - a.dot(b).min(c.dot(d))
    }

    /// The normal of the other side's face that lies on one of this side's; none if no two do.
    fn facing(&self, other: &Self) -> Option<Vec3> {
        let pairs = self.0.iter().flat_map(|own| other.0.iter().map(|met| (-own.dot(met), *met)));
        let (cosine, met) = pairs.max_by(|a, b| a.0.total_cmp(&b.0))?;
        (cosine > FACING).then_some(met)
    }
}
