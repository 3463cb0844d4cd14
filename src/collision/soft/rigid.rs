//! Nodes of a soft surface against the signed distance of a rigid shape.
//!
//! Thread: simulation (no heap once warm).
//!
//! A node that moves farther in one step than half the least thickness of the shape can end up nearer to the wrong side, or beyond
//! the shape. Such a node is traced along its straight way relative to the shape: the distance is 1-Lipschitz, so a step as long
//! as the distance passes nothing (Hart 1996). The side at which the way meets the shape is the side of the contact.
//!
//! A node inside the shape whose surface does not face the nearest side is a node near an edge or beyond the middle of a plate.
//! The query is then repeated from a point inside the soft body, behind the node, from where the facing side is the nearest one.

use super::RigidPlace;
use super::place::SoftPlace;
use super::surface::SoftSurface;
use crate::collision::field::DistanceField;
use crate::geometry::{BoundingSphere, Distance, Shape, Surface};
use crate::math::{Pose, Vec3};

/// Share of the least thickness of a shape that a node may travel in one step without being traced.
const FAST: f64 = 0.5;
/// Least step of a trace, in parts of the least thickness: bounds the number of steps of a grazing way.
const STEP: f64 = 0.1;
/// Most steps of one trace.
const MOST_STEPS: usize = 1000;
/// Distance at which a traced node counts as touching, in parts of the margin.
const CLOSE: f64 = 1e-3;
/// Cosine below which the nearest side opposes the side on which a node came in.
const OPPOSED: f64 = -0.2;
/// Ways back into the soft body that are tried, in parts of the depth.
const BEHIND: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

/// A rigid shape as its own frame sees the step.
pub(super) struct Solid<'a> {
    rigid: &'a RigidPlace<'a>,
    to_now: Pose,
    to_before: Pose,
    /// Half of the least thickness of the shape, m.
    pub(super) inner: f64,
    pub(super) sheets: usize,
}

/// A contact of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeTouch {
    pub(super) sheet: usize,
    /// Point of the rigid surface, in the frame of the shape.
    pub(super) partner: Vec3,
    /// Out of the rigid shape, world.
    pub(super) normal: Vec3,
    pub(super) gap: f64,
}

impl<'a> Solid<'a> {
    pub(super) fn new(rigid: &'a RigidPlace<'a>, margin: f64) -> Self {
        let sheets = if rigid.field.is_some() { 1 } else { rigid.shape.sheet_count() };
        let inner = inner(rigid.shape, margin);
        Self { rigid, to_now: rigid.now.inverse(), to_before: rigid.before.inverse(), inner, sheets }
    }

    /// Now, in the frame of the shape.
    pub(super) fn local(&self, p: &Vec3) -> Vec3 {
        self.to_now.rotation * p + self.to_now.translation.vector
    }

    /// At the start of the step, in the frame of the shape.
    pub(super) fn local_before(&self, p: &Vec3) -> Vec3 {
        self.to_before.rotation * p + self.to_before.translation.vector
    }

    pub(super) fn world(&self, direction: &Vec3) -> Vec3 {
        self.rigid.now.rotation * direction
    }

    /// A bound of the distance that holds anywhere in a ball.
    pub(super) fn ball(&self, center: &Vec3, radius: f64) -> f64 {
        let own = match self.rigid.field {
            Some(field) => field.ball(center, radius),
            None => self.rigid.shape.signed_distance(center).distance - radius,
        };
        (0..self.sheets)
            .filter(|_| self.sheets > 1)
            .fold(own, |least, sheet| least.min(self.distance(sheet, center).distance - radius))
    }
}

impl Surface for Solid<'_> {
    fn signed_distance(&self, point: &Vec3) -> Distance {
        let Some(field) = self.rigid.field else { return self.rigid.shape.signed_distance(point) };
        let found = field.distance(point);
        match found.gradient.try_normalize(1e-6) {
            Some(normal) => Distance { distance: found.value, normal },
            None => self.rigid.shape.signed_distance(point),
        }
    }

    fn sheet_count(&self) -> usize {
        self.sheets
    }

    fn sheet_distance(&self, sheet: usize, point: &Vec3) -> Distance {
        if self.sheets == 1 { self.signed_distance(point) } else { self.rigid.shape.sheet_distance(sheet, point) }
    }

    fn is_convex(&self) -> bool {
        self.rigid.shape.is_convex()
    }

    fn bounding_sphere(&self) -> BoundingSphere {
        self.rigid.shape.bounding_sphere()
    }
}

impl Solid<'_> {
    /// Distance and outward normal of one sheet.
    pub(super) fn distance(&self, sheet: usize, point: &Vec3) -> Distance {
        self.sheet_distance(sheet, point)
    }

    /// Contacts of a node, at most one for each sheet.
    pub(super) fn node(
        &self,
        (surface, place): (&SoftSurface, &SoftPlace),
        node: u32,
        margin: f64,
        emit: &mut dyn FnMut(NodeTouch),
    ) {
        let now = self.local(&place.now[node as usize]);
        let before = self.local_before(&place.before[node as usize]);
        let can_touch = |normal: &Vec3| place.faces_towards(surface, node, &self.world(normal));
        let entry = self.entry(&before, &now, margin);
        if let Some((_, normal, _)) = entry
            && !can_touch(&normal)
        {
            // The shape came through the body behind the node, or passed beside it.
            return;
        }
        let mut found = false;
        for sheet in 0..self.sheets {
            let Some(Distance { distance, normal }) = self.facing(surface, place, node, sheet, &now, margin) else {
                continue;
            };
            let agrees =
                entry.is_none_or(|(_, entry, _)| normal.dot(&entry) >= if distance < 0.0 { 0.0 } else { OPPOSED });
            if distance < margin && agrees {
                found = true;
                let partner = now - normal * distance;
                emit(NodeTouch { sheet, partner, normal: self.world(&normal), gap: distance });
            }
        }
        if let (Some((point, normal, distance)), false) = (entry, found) {
            let partner = point - normal * distance;
            let gap = normal.dot(&(now - partner));
            if gap < margin {
                emit(NodeTouch { sheet: 0, partner, normal: self.world(&normal), gap });
            }
        }
    }

    /// Distance to the nearest side that the node's surface faces.
    fn facing(
        &self,
        surface: &SoftSurface,
        place: &SoftPlace,
        node: u32,
        sheet: usize,
        now: &Vec3,
        margin: f64,
    ) -> Option<Distance> {
        let can_touch = |normal: &Vec3| place.faces_towards(surface, node, &self.world(normal));
        let found = self.distance(sheet, now);
        if found.distance >= margin {
            return None;
        }
        if can_touch(&found.normal) {
            return Some(found);
        }
        if found.distance >= 0.0 {
            return None;
        }
        let inward = -place.node_normal(surface, node).try_normalize(0.0)?;
        let inward = self.to_now.rotation * inward;
        BEHIND.iter().find_map(|share| {
            let way = inward * (-found.distance * share);
            let behind = self.distance(sheet, &(now + way));
            let distance = behind.distance - behind.normal.dot(&way);
            can_touch(&behind.normal).then_some(Distance { distance, normal: behind.normal })
        })
    }

    /// Where a fast node meets the shape on its way, the normal and the distance there; none for slow ones.
    fn entry(&self, before: &Vec3, now: &Vec3, margin: f64) -> Option<(Vec3, Vec3, f64)> {
        let way = now - before;
        let length = way.norm();
        if !(length > FAST * self.inner) {
            return None;
        }
        let mut t = 0.0;
        for _ in 0..MOST_STEPS {
            let at = before + way * t;
            let found = self.signed_distance(&at);
            if found.distance <= CLOSE * margin {
                // A node that starts deep inside has no side.
                let has_side = found.distance >= -FAST * self.inner;
                return has_side.then_some((at, found.normal, found.distance));
            }
            t += found.distance.max(STEP * self.inner) / length;
            if t >= 1.0 {
                return None;
            }
        }
        None
    }
}

/// Half of the least thickness of a shape, m; infinite for a half-space. Parts can have thin walls: the margin is taken for
/// them.
fn inner(shape: &Shape, margin: f64) -> f64 {
    match shape {
        Shape::HalfSpace(_) => f64::INFINITY,
        Shape::Sphere(s) => s.radius,
        Shape::Cuboid(s) => s.half.min(),
        Shape::Cylinder(s) => s.radius.min(s.half_length),
        Shape::Capsule(s) => s.radius,
        Shape::Bore(s) => {
            let wall = s.half_x.min(s.half_y) - s.radius - s.chamfer;
            0.5 * wall.min(s.height - s.depth)
        }
        Shape::Part(_) => margin,
    }
}
