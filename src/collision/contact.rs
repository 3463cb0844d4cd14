//! Contact candidates of two placed shapes: the features of each against the surface of the other.
//!
//! Thread: simulation or collision (no heap, pure).
//!
//! What is not reported, and how deep it can get. (a) The place of greatest depth among all features is always reported:
//! merging keeps the deeper of two, thinning begins with the deepest. So nothing unreported is deeper than what is, and
//! a place that was left out and sinks becomes the deepest, and is reported, at the next look: it can get deeper than
//! the deepest reported by one look's motion at most. (b) A merged place lies within 2 % of the smaller shape (a filler within
//! 20 %) from a reported one whose normal is within 8° of its own; moved as one body through a small angle φ it sinks by no more than
//! that distance times φ relative to it. (c) Between samples of a rim or, on a surface that is not convex, an edge, a
//! second minimum can hide; the distance is 1-Lipschitz, so it is deeper than its neighbours by half an interval at most
//! (`minimum`). On convex surfaces edges have a single minimum and none can hide.
//!
//! Ghosts. Beside the rim of a face that a corner overhangs, the nearest face may be one that the corner's own body
//! reaches past: a box on a box, flush with it or just beyond, would be told to stay off the side of the box it stands on.
//! An edge that leads from the corner against the normal must meet the surface where the normal says; where it does not,
//! the normal is asked for again a little way inside the corner's own body, and if that is no better the corner touches
//! nothing there: the edges that cross do.
//!
//! When the core of a feature is sharp (a corner, an edge, a rim) and inside the other solid, the normal is that of the
//! nearest face, or the balance of two: right while the depth is small against the shapes.

use super::face::faces;
use super::minimum::{Hit, touch};
use super::select::{MAX_PER_PAIR, Place, Places};
use super::{Candidate, Candidates, Side, Slot};
use crate::geometry::{Distance, Feature, Outline, Surface};
use crate::math::{Pose, Vec3};

/// A shape of a body where it is now.
#[derive(Clone, Copy)]
pub struct Placed<'a> {
    /// The surface.
    pub surface: &'a dyn Surface,
    /// Its features, in the frame of the shape.
    pub features: &'a [Feature],
    /// Faces of a mesh that touches with its features.
    pub outline: Option<&'a Outline>,
    /// Index of the body it belongs to.
    pub body: Slot,
    /// Where the body is.
    pub pose_world_body: Pose,
    /// Where the shape is on the body.
    pub pose_body_shape: Pose,
}

impl Placed<'_> {
    pub(super) fn pose_world_shape(&self) -> Pose {
        self.pose_world_body * self.pose_body_shape
    }
}

/// An edge leads against a normal if it does so by more than this sine: 15°.
const AGAINST: f64 = 0.26;
/// How far under the surface an edge that leads against the normal is looked for, in parts of the edge.
const UNDER: f64 = 0.02;
/// How far inside the corner's own body a ghost's normal is asked for again, in parts of the edge: enough for bodies that are
/// flush but for rounding. A corner that overhangs further touches nothing; the gap along the extended face would be too
/// small by the overhang times the tilt.
const INSIDE: f64 = 1e-6;

/// Most edges of a corner that are looked at: three of a box, more of a mesh.
const CORNER_EDGES: usize = 8;

/// How much deeper than at first sight a corner may be along a normal asked for again: this many times, and this much, m.
const DEEPER: f64 = 1.4;
const DEEPER_M: f64 = 5e-7;

/// Adds the candidates of one pair with a gap below `margin` to `out`, at most [`MAX_PER_PAIR`].
pub fn collide(pair: u16, a: &Placed<'_>, b: &Placed<'_>, margin: f64, out: &mut Candidates) {
    let size = a.surface.bounding_sphere().radius.min(b.surface.bounding_sphere().radius);
    let mut places = Places::new(size);
    if !faces(pair, a, b, margin, &mut places) {
        one_way(pair, Side::B, a, b, margin, &mut places);
        one_way(pair, Side::A, b, a, margin, &mut places);
    }
    let found = places.len();
    let (to_a, to_b) = (a.pose_world_body.inverse(), b.pose_world_body.inverse());
    let kept = places.keep(MAX_PER_PAIR, margin);
    out.thinned += (found - kept.len()) as u32;
    for place in kept {
        let point_b_world = place.point_a - place.normal * place.gap;
        let owner = if place.surface == Side::A { &to_a } else { &to_b };
        out.push(Candidate {
            id: place.id,
            pair,
            body_a: a.body,
            body_b: b.body,
            point_a: to_a.rotation * place.point_a + to_a.translation.vector,
            point_b: to_b.rotation * point_b_world + to_b.translation.vector,
            normal: place.normal,
            normal_local: owner.rotation * place.normal,
            surface: place.surface,
            gap: place.gap,
        });
    }
    out.overflow += places.overflow;
}

/// Features of `holder` against the surface of `target`, which is side `surface` of the pair.
fn one_way(pair: u16, surface: Side, holder: &Placed<'_>, target: &Placed<'_>, margin: f64, places: &mut Places) {
    let pose_world_target = target.pose_world_shape();
    let pose_target_holder = pose_world_target.inv_mul(&holder.pose_world_shape());
    for (index, feature) in holder.features.iter().enumerate() {
        let local = feature.transformed(&pose_target_holder);
        let radius = match local {
            Feature::Point { radius, .. } | Feature::Segment { radius, .. } => radius,
            Feature::Circle { .. } => 0.0,
        };
        let corner = Corner::of(&local, holder, &pose_target_holder);
        for sheet in 0..target.surface.sheet_count() {
            touch(&local, target.surface, sheet, margin + radius, &mut |hit: Hit| {
                if leads_out_elsewhere(&hit, radius, holder.surface, &pose_target_holder) {
                    return;
                }
                let id = identity(pair, surface, sheet, index, hit.branch);
                if let Some(hit) = corner.sound(hit, target.surface, sheet) {
                    places.push(place(&hit, radius, surface, id, &pose_world_target));
                }
            });
        }
    }
}

/// The edges that lead away from a corner or an edge, in the frame of the surface; none for what is round.
struct Corner {
    edges: [Vec3; CORNER_EDGES],
    count: usize,
}

impl Corner {
    fn of(local: &Feature, holder: &Placed<'_>, pose_target_holder: &Pose) -> Self {
        let mut corner = Self { edges: [Vec3::zeros(); CORNER_EDGES], count: 0 };
        // An edge has a face on either side, and these the edges that meet it at an end.
        let (position, other_end) = match *local {
            Feature::Point { position, radius: 0.0 } => (position, position),
            Feature::Segment { a, b, radius: 0.0 } => (a, b),
            _ => return corner,
        };
        let at = |p: &Vec3| pose_target_holder.rotation * p + pose_target_holder.translation.vector;
        for feature in holder.features {
            let Feature::Segment { a, b, radius: 0.0 } = feature else { continue };
            let (a, b) = (at(a), at(b));
            // Ends of edges and corners are the same numbers, turned in the same way.
            let away = if (a, b) == (position, other_end) {
                continue;
            } else if a == position {
                b - a
            } else if b == position {
                a - b
            } else {
                continue;
            };
            if corner.count < CORNER_EDGES {
                corner.edges[corner.count] = away;
                corner.count += 1;
            }
        }
        corner
    }

    /// True when an edge leads against the normal and does not get under the surface there.
    fn is_ghost(&self, hit: &Hit, surface: &dyn Surface, sheet: usize) -> bool {
        self.edges[..self.count].iter().any(|edge| {
            let (fall, under) = (-hit.normal.dot(edge), UNDER * edge.norm());
            let part = ((hit.gap + under) / fall).clamp(0.0, 1.0);
            let expected = hit.gap - part * fall;
            fall > AGAINST * edge.norm()
                && surface.sheet_distance(sheet, &(hit.point + edge * part)).distance > expected + 0.5 * under
        })
    }

    /// The hit with a normal that does not point into the corner's own body, if there is one.
    fn sound(&self, hit: Hit, surface: &dyn Surface, sheet: usize) -> Option<Hit> {
        if !self.is_ghost(&hit, surface, sheet) {
            return Some(hit);
        }
        let inside = hit.point + self.edges.iter().sum::<Vec3>() * INSIDE;
        let Distance { distance, normal } = surface.sheet_distance(sheet, &inside);
        let again = Hit { normal, gap: distance + normal.dot(&(hit.point - inside)), ..hit };
        // Where that way out is much longer the corner is in beside another: the edges that cross know the short one.
        let longer = again.gap < DEEPER * hit.gap - DEEPER_M;
        (!longer && !self.is_ghost(&again, surface, sheet)).then_some(again)
    }
}

/// True when the point of the surface that a round core touches lies inside the core's own shape, nearer to another face
/// of it than to the round one: just under the end of a cylinder the axis, with its radius around it, would push
/// sideways what is on its way out through the end. The feature of the other shape that got in there finds that way.
fn leads_out_elsewhere(hit: &Hit, radius: f64, own: &dyn Surface, pose_target_own: &Pose) -> bool {
    let depth = radius - hit.gap;
    // A core that is itself inside the other solid is beyond this question: any way out is welcome.
    if radius == 0.0 || depth <= 0.0 || hit.gap <= 0.0 {
        return false;
    }
    let touched = hit.point - hit.normal * hit.gap;
    let local = pose_target_own.rotation.inverse_transform_vector(&(touched - pose_target_own.translation.vector));
    -own.signed_distance(&local).distance < depth * (1.0 - 1e-3) - 1e-12
}

/// A hit, found in the frame of the surface's shape, in world terms.
fn place(hit: &Hit, radius: f64, surface: Side, id: u64, pose_world_target: &Pose) -> Place {
    let outward = pose_world_target.rotation * hit.normal;
    let core = pose_world_target.rotation * hit.point + pose_world_target.translation.vector;
    let on_feature: Vec3 = core - outward * radius;
    let gap = hit.gap - radius;
    match surface {
        Side::B => Place { id, surface, point_a: on_feature, normal: outward, gap, is_filler: hit.is_filler },
        // The surface is A's: its normal points at B, and A's point is the one on the surface.
        Side::A => {
            Place { id, surface, point_a: on_feature - outward * gap, normal: -outward, gap, is_filler: hit.is_filler }
        }
    }
}

/// 16 bits pair, 1 bit side, 7 bits sheet, 32 bits feature, 8 bits branch.
pub(super) fn identity(pair: u16, surface: Side, sheet: usize, feature: usize, branch: u8) -> u64 {
    let side = u64::from(surface == Side::A);
    u64::from(pair) << 48
        | side << 47
        | (sheet as u64 & 0x7f) << 40
        | (feature as u64 & 0xffff_ffff) << 8
        | u64::from(branch)
}
