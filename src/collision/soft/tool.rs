//! The rigid shape's own features against a soft surface, and the edges of the soft surface against the shape.
//!
//! Thread: simulation (no heap once warm).
//!
//! Nodes of the soft surface alone let a sharp corner or a small ball into the middle of a large triangle. Three more sets of features
//! close that hole.
//!
//! * Points of the shape against triangles: corners, centres of round features with their radius, points of a rim, nodes of a part.
//!   The normal is that of the triangle.
//! * The lowest point of a rim above each triangle.
//! * Edges of the soft surface against the signed distance. The minimum along an edge is sharp where the edge crosses an edge of the
//!   shape; its normal is then the balanced one, that of the crossing ([`crate::collision::minimum`]).
//!
//! A triangle that lies on a flat face of the shape is held by its nodes: none of these sets then has a contact of its own.

use super::edges::{self, Line, passed, slopes, travel};
use super::foot::{Part as Spot, on_triangle};
use super::pairs::{Side, faces_near, owned_edges};
use super::probe::{Probe, Prober};
use super::rigid::Solid;
use super::{FacePoint, RigidPlace};
use crate::collision::minimum::{Hit, touch};
use crate::geometry::{Feature, PartNode, Shape, Surface};
use crate::math::{Pose, Vec3};

/// Points of a rim that are followed as points.
const RIM_POINTS: usize = 8;
/// How far behind a point of the shape its body is sought, in parts of the least thickness, and how far outside it may be there, in
/// parts of that way. A point with nothing behind it, such as the corner of a box that stands flush with the edge of a soft block,
/// touches nothing in that direction.
const BEHIND: f64 = 1e-3;
const BACKED: f64 = 0.5;
/// Cosine beyond which the surface of a part faces against a direction: 75°.
const FACING: f64 = 0.25;
/// How much deeper than both ends a contact inside an edge must be, m: beyond the residual of the solver in the positions, far below
/// every depth that is felt.
const DEEPER_M: f64 = 1e-7;
/// Travel in one step beyond which contacts of edges are compared with the start of the step, in parts of the thickness.
const FAST: f64 = 0.5;

/// A contact found here.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolTouch {
    /// Number of the feature of the shape, or of the edge of the soft surface.
    pub(super) feature: u32,
    /// Triangle of the soft surface, or place along the edge.
    pub(super) face: u32,
    /// The contact stays with the triangle, not with the smooth region around it.
    pub(super) is_of_face: bool,
    pub(super) on: FacePoint,
    /// In the frame of the shape.
    pub(super) partner: Vec3,
    /// From the shape to the soft body, world.
    pub(super) normal: Vec3,
    pub(super) gap: f64,
}

/// A query's arguments.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) side: Side<'a>,
    pub(super) rigid: &'a RigidPlace<'a>,
    pub(super) solid: &'a Solid<'a>,
    pub(super) margin: f64,
}

/// Scratch memory: of the probe, and for the triangles near one feature.
pub(super) struct Room<'a> {
    pub(super) prober: &'a mut Prober,
    pub(super) faces: &'a mut Vec<u32>,
}

impl Room<'_> {
    fn again(&mut self) -> Room<'_> {
        Room { prober: self.prober, faces: self.faces }
    }
}

fn moved(pose: &Pose, p: &Vec3) -> Vec3 {
    pose.rotation * p + pose.translation.vector
}

impl Scene<'_> {
    /// Contacts of the shape's points and rims.
    pub(super) fn points(&self, mut room: Room<'_>, emit: &mut dyn FnMut(ToolTouch)) {
        if let Shape::Part(part) = self.rigid.shape {
            for (index, node) in (0..).zip(&part.nodes) {
                if self.is_in_reach(&node.position) {
                    let can_touch = |normal: &Vec3| self.part_can_touch(node, normal);
                    self.point(index, &node.position, 0.0, &can_touch, room.again(), emit);
                }
            }
            return;
        }
        for (index, feature) in (0..).zip(self.rigid.shape.features().as_slice()) {
            match *feature {
                Feature::Point { position, radius } => {
                    let can_touch = |normal: &Vec3| self.is_backed(&position, radius, normal);
                    self.point(index * 16, &position, radius, &can_touch, room.again(), emit);
                }
                Feature::Circle { center, axis, start, radius } => {
                    for k in 0..RIM_POINTS {
                        let (sin, cos) = (std::f64::consts::TAU * k as f64 / RIM_POINTS as f64).sin_cos();
                        let position = center + (start * cos + axis.cross(&start) * sin) * radius;
                        let can_touch = |normal: &Vec3| self.is_backed(&position, 0.0, normal);
                        self.point(index * 16 + k as u32, &position, 0.0, &can_touch, room.again(), emit);
                    }
                    self.rim(index * 16 + RIM_POINTS as u32, (&center, &axis, radius), room.again(), emit);
                }
                Feature::Segment { .. } => {}
            }
        }
    }

    fn is_in_reach(&self, position: &Vec3) -> bool {
        let (place, pad) = (self.side.1, self.margin);
        let inside =
            |p: &Vec3| (0..3).all(|k| place.cells[0].low[k] - pad <= p[k] && p[k] <= place.cells[0].high[k] + pad);
        !place.cells.is_empty()
            && (inside(&moved(&self.rigid.now, position)) || inside(&moved(&self.rigid.before, position)))
    }

    /// A point of the shape with a ball around it.
    fn point(
        &self,
        feature: u32,
        position: &Vec3,
        radius: f64,
        can_touch: &dyn Fn(&Vec3) -> bool,
        room: Room<'_>,
        emit: &mut dyn FnMut(ToolTouch),
    ) {
        let (now, before) = (moved(&self.rigid.now, position), moved(&self.rigid.before, position));
        faces_near(self.side, &[now, before], radius, room.faces);
        let probe = Probe { now, before, radius, is_own: false, can_touch };
        room.prober.probe(self.side, &probe, room.faces.iter().copied(), self.margin, |found| {
            // Nodes and edges hold what a ball touches at nodes and edges.
            if radius > 0.0 && !found.is_entry && found.at.weights.contains(&0.0) {
                return;
            }
            let partner = position - self.rigid.now.rotation.inverse_transform_vector(&found.normal) * radius;
            let is_of_face = radius > 0.0;
            let (face, normal, gap) = (found.face, -found.normal, found.gap);
            emit(ToolTouch { feature, face, is_of_face, on: found.at, partner, normal, gap });
        });
    }

    /// True if the body of the shape lies behind its point `position`, seen along `normal`, which points out of the soft surface.
    fn is_backed(&self, position: &Vec3, radius: f64, normal: &Vec3) -> bool {
        let inward = self.rigid.now.rotation.inverse_transform_vector(normal);
        if radius > 0.0 {
            // The point of the ball that touches must belong to the surface of the shape.
            return self.solid.signed_distance(&(position - inward * radius)).distance >= -BEHIND * radius;
        }
        let way = BEHIND * self.solid.inner.min(self.rigid.shape.bounding_sphere().radius);
        self.solid.signed_distance(&(position + inward * way)).distance <= BACKED * way
    }

    fn part_can_touch(&self, node: &PartNode, normal: &Vec3) -> bool {
        if node.is_edge {
            return self.is_backed(&node.position, 0.0, normal);
        }
        node.normal.dot(&self.rigid.now.rotation.inverse_transform_vector(normal)) < -FACING
    }

    /// The lowest point of a rim above every triangle near it, where that triangle is the one that the point touches.
    fn rim(
        &self,
        feature: u32,
        (center, axis, radius): (&Vec3, &Vec3, f64),
        room: Room<'_>,
        emit: &mut dyn FnMut(ToolTouch),
    ) {
        let (surface, place) = self.side;
        let (middle, up) = (moved(&self.rigid.now, center), self.rigid.now.rotation * axis);
        faces_near(self.side, &[middle], radius, room.faces);
        for face in &*room.faces {
            let outward = place.normals[*face as usize];
            let flat = outward - up * up.dot(&outward);
            let Some(down) = flat.try_normalize(1e-6) else { continue };
            let now = middle - down * radius;
            let corners = surface.corners(*face, &place.now);
            let gap = outward.dot(&(now - corners[0]));
            let is_above = gap < self.margin && gap > -place.reach(surface, *face);
            if !is_above || on_triangle(&now, &corners).1 != Spot::Inside {
                continue;
            }
            let local = self.solid.local(&now);
            let can_touch = |normal: &Vec3| self.is_backed(&local, 0.0, normal);
            let probe = Probe {
                now,
                before: moved(&self.rigid.before, &local),
                radius: 0.0,
                is_own: false,
                can_touch: &can_touch,
            };
            room.prober.probe(self.side, &probe, room.faces.iter().copied(), self.margin, |found| {
                if found.face == *face {
                    let (on, normal, gap) = (found.at, -found.normal, found.gap);
                    emit(ToolTouch { feature, face: *face, is_of_face: true, on, partner: local, normal, gap });
                }
            });
        }
    }

    /// Contacts strictly inside the edges of the soft surface.
    pub(super) fn edges(
        &self,
        faces: &[u32],
        known: &mut dyn FnMut(u32) -> (f64, Vec3),
        emit: &mut dyn FnMut(ToolTouch),
    ) {
        let (surface, place) = self.side;
        if matches!(self.rigid.shape, Shape::HalfSpace(_)) {
            return;
        }
        let convex = self.solid.is_convex();
        for edge in faces.iter().flat_map(|face| owned_edges(surface, *face)) {
            let ends = surface.edges[edge as usize].ends;
            let [a, b] = ends.map(|node| self.solid.local(&place.now[node as usize]));
            let ((d_a, n_a), (d_b, n_b)) = (known(ends[0]), known(ends[1]));
            let way = b - a;
            // A distance changes by no more than the way; along a convex shape it falls to the minimum and rises from there.
            let lowest = 0.5 * (d_a + d_b - way.norm());
            let monotone = convex && (n_a.dot(&way) >= 0.0 || n_b.dot(&way) <= 0.0);
            if lowest >= self.margin || monotone {
                continue;
            }
            let segment = Feature::Segment { a, b, radius: 0.0 };
            for sheet in 0..self.solid.sheets {
                touch(&segment, self.solid, sheet, self.margin, &mut |hit| {
                    if hit.gap < d_a.min(d_b) - DEEPER_M || self.solid.sheets > 1 {
                        self.edge_hit(edge, sheet, &a, &way, &hit, emit);
                    }
                });
            }
        }
    }

    fn edge_hit(&self, edge: u32, sheet: usize, start: &Vec3, way: &Vec3, hit: &Hit, emit: &mut dyn FnMut(ToolTouch)) {
        let (surface, place) = self.side;
        let normal = self.solid.world(&hit.normal);
        let t = (hit.point - start).dot(way) / way.norm_squared();
        if !(t > 0.0 && t < 1.0 && slopes(self.side, edge).is_lowest(&normal)) {
            return;
        }
        let [i, j] = surface.edges[edge as usize].ends;
        // After a long way the nearest side can be the far one.
        let before = edges::point(&surface.ends(edge, &place.before), t);
        let before = self.solid.local_before(&before);
        let thickness = edges::line(self.side, edge).thickness.min(self.solid.inner);
        let is_fast = (hit.point - before).norm() > FAST * thickness;
        if is_fast && self.solid.distance(sheet, &before).normal.dot(&hit.normal) < 0.0 {
            return;
        }
        let on = FacePoint { points: [i, j, j], weights: [1.0 - t, t, 0.0] };
        let partner = hit.point - hit.normal * hit.gap;
        let face = (sheet as u32) << 8 | u32::from(hit.branch);
        emit(ToolTouch { feature: edge, face, is_of_face: true, on, partner, normal, gap: hit.gap });
    }

    /// Edges of the soft surface through which a straight edge of the shape has passed within the step.
    pub(super) fn passed_edges(&self, faces: &mut Vec<u32>, emit: &mut dyn FnMut(ToolTouch)) {
        let (surface, _) = self.side;
        for (index, feature) in (0..).zip(self.rigid.shape.features().as_slice()) {
            let Feature::Segment { a, b, radius } = *feature else { continue };
            let rigid = Line {
                now: [a, b].map(|p| moved(&self.rigid.now, &p)),
                before: [a, b].map(|p| moved(&self.rigid.before, &p)),
                thickness: f64::INFINITY,
            };
            let longest = (0..2).map(|k| (rigid.now[k] - rigid.before[k]).norm()).fold(0.0, f64::max);
            if longest <= self.margin {
                continue;
            }
            faces_near(self.side, &[rigid.now[0], rigid.now[1], rigid.before[0], rigid.before[1]], radius, faces);
            for edge in faces.iter().flat_map(|face| owned_edges(surface, *face)) {
                let soft = edges::line(self.side, edge);
                if travel(&soft, &rigid) <= FAST * soft.thickness {
                    continue;
                }
                let Some(found) = passed(&soft, &rigid) else { continue };
                if found.gap < 0.0 && slopes(self.side, edge).is_lowest(&found.normal) {
                    let ((t, s), [i, j]) = (found.at, surface.edges[edge as usize].ends);
                    let on = FacePoint { points: [i, j, j], weights: [1.0 - t, t, 0.0] };
                    let local = self.rigid.now.rotation.inverse_transform_vector(&found.normal);
                    let partner = a + (b - a) * s + local * radius;
                    let (normal, gap) = (found.normal, found.gap - radius);
                    emit(ToolTouch {
                        feature: edge,
                        face: 0xffff00 | index,
                        is_of_face: true,
                        on,
                        partner,
                        normal,
                        gap,
                    });
                }
            }
        }
    }
}
