//! Contacts of soft bodies: with tools, rigid and fixed bodies, other soft bodies, and themselves.
//!
//! Thread: simulation.
//!
//! Detection ([`crate::collision::soft`]) works on places in the world: those of the soft body as far as they are known for the end of the
//! step, those of a tool at the end of the step, those of rigid bodies at its start. A contact that the motion of the step closes is found
//! because detection covers the way from the start of the step.

use super::super::body::surface::SoftSkin;
use super::super::body::{Anchor, Body, Point, When, rigid::Mover};
use super::super::constraint::{Constraint, End, Span};
use super::super::ids::{BodyId, HandId, MoverId, PerMover};
use super::super::model::SimModel;
use crate::collision::Reduction;
use crate::collision::soft::{
    FacePoint, Partner, RigidPlace, SoftContact, SoftFinder, SoftPlace, SoftQuery, SoftReduction,
};
use crate::fem::Spread;
use crate::geometry::Surface;
use crate::math::{Pose, Vec3, steady_tangents};
use crate::mechanism::{BlockId, Law};
use crate::shared::ToolSample;
use std::sync::Arc;

/// Seed of the first centres of k-means clusters.
const CENTRES: u64 = 1;
/// Most contacts of a linear socket with a tool: as many as a snapshot holds.
const MOST_OF_SOCKET: usize = 42;
/// Most contacts of a pair with a soft body that a tool carries: each of them is solved in every tick, and a Newton step of the tick takes 64
/// unknowns. More are reduced.
const MOST_ON_TOOL: usize = 16;

/// A soft body as contact detection sees it.
struct Touching {
    body: BodyId,
    skin: Arc<SoftSkin>,
    place: SoftPlace,
    now: Vec<Vec3>,
    before: Vec<Vec3>,
    with_itself: bool,
}

/// See the file's head.
#[derive(Default)]
pub(in crate::sim) struct SoftContacts {
    bodies: Vec<Touching>,
    finder: SoftFinder,
    found: Vec<SoftContact>,
    /// Depth of the deepest contact found last, m.
    pub(in crate::sim) penetration_m: f64,
}

/// What contacts are detected between.
pub(in crate::sim) struct Surroundings<'a> {
    pub model: &'a SimModel,
    pub bodies: &'a [Body],
    pub movers: &'a PerMover<Mover>,
    pub tools: &'a [ToolSample],
    /// Friction and restitution of pairs of materials.
    pub pair: &'a dyn Fn(usize, usize) -> (f64, f64),
}

impl SoftContacts {
    /// For the bodies of a scene.
    pub(in crate::sim) fn new(bodies: &[Body]) -> Self {
        let touching = |(index, body): (usize, &Body)| {
            let body = body.soft()?;
            let (skin, with_itself) = (body.skin()?, body.self_contact());
            let place = SoftPlace::new(&skin.surface);
            let (now, before) = (Vec::new(), Vec::new());
            Some(Touching { body: BodyId(index), skin: skin.clone(), place, now, before, with_itself })
        };
        Self { bodies: bodies.iter().enumerate().filter_map(touching).collect(), ..Self::default() }
    }

    /// There is nothing soft.
    pub(in crate::sim) fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }

    /// Adds the contacts of all soft bodies.
    pub(in crate::sim) fn gather(&mut self, around: &Surroundings<'_>, out: &mut Vec<Constraint>) {
        self.penetration_m = 0.0;
        for touching in &mut self.bodies {
            touching.refit(around);
        }
        for index in 0..self.bodies.len() {
            for hand in (0..around.tools.len()).map(HandId) {
                self.with_tool(index, hand, around, out);
            }
            for other in (0..around.model.bodies.len()).map(BodyId) {
                let joined = around.model.are_joined(self.bodies[index].body, other);
                if !around.bodies[other].is_soft() && !joined {
                    self.with_rigid(index, other, around, out);
                }
            }
            for other in index + 1..self.bodies.len() {
                if !around.model.are_joined(self.bodies[index].body, self.bodies[other].body) {
                    self.with_soft(index, other, around, out);
                }
            }
            if self.bodies[index].with_itself {
                self.with_itself(index, around, out);
            }
        }
    }

    fn query(around: &Surroundings<'_>, on_tool: bool, pair: [u16; 2]) -> SoftQuery {
        let most = around.model.soft_contacts;
        let most = if on_tool { most.min(MOST_ON_TOOL) } else { most };
        let pair = u64::from(pair[0]) << 16 | u64::from(pair[1]);
        let reduction = match around.model.reduction {
            Reduction::Pressure => SoftReduction::Patches,
            Reduction::KMeans => SoftReduction::KMeans { seed: CENTRES },
        };
        SoftQuery { margin_m: around.model.margin_m, most, reduction, pair }
    }

    fn with_tool(&mut self, index: usize, hand: HandId, around: &Surroundings<'_>, out: &mut Vec<Constraint>) {
        let (touching, tool) = (&self.bodies[index], &around.model.tools[hand.0]);
        let carried_by = around.bodies[touching.body].hand();
        // The hub of a needle stays outside: tissue meets the needle.
        let is_needle =
            hand == HandId(0) && around.model.needle.is_some() && around.bodies[touching.body].tissue().is_some();
        if is_needle || carried_by == Some(hand) || around.model.tool_is_soft(hand) {
            return;
        }
        let (before, now) = (around.movers.tools[hand.0].pose, around.tools[hand.0].pose_world_tool);
        let rigid = RigidPlace {
            shape: &tool.shape,
            field: tool.field.as_deref(),
            now: now * tool.pose_tool_shape,
            before: before * tool.pose_tool_shape,
        };
        let pair = pair_id(touching.body.0, around.model.bodies.len() + hand.0);
        self.found.clear();
        if around.bodies[touching.body].elastic().is_some() {
            touching.nodes_at(&rigid, around.model.margin_m, &mut self.found);
        } else {
            let query = Self::query(around, carried_by.is_some(), pair);
            self.finder.against_rigid(&touching.skin.surface, &touching.place, &rigid, &query, &mut self.found);
        }
        let friction = (around.pair)(around.model.bodies[touching.body.0].material, tool.material).0;
        for contact in &self.found {
            let Partner::Rigid(point) = contact.partner else { continue };
            let point_tool = carried(&tool.pose_tool_shape, &point);
            let (start, end) = (carried(&before, &point_tool), carried(&now, &point_tool));
            let other = End::Tool { hand, point_tool, start, end };
            touching.push(contact, other, pair, friction, around, out, &mut self.penetration_m);
        }
    }

    fn with_rigid(&mut self, index: usize, other: BodyId, around: &Surroundings<'_>, out: &mut Vec<Constraint>) {
        let touching = &self.bodies[index];
        let (mover, body) = (&around.movers.bodies[other.0], &around.model.bodies[other.0]);
        let pose = mover.pose * mover.pose_body_shape;
        let rigid = RigidPlace { shape: &mover.shape, field: body.field.as_deref(), now: pose, before: pose };
        let pair = pair_id(touching.body.0, other.0);
        let on_tool = around.bodies[touching.body].hand().is_some();
        let query = Self::query(around, on_tool, pair);
        self.found.clear();
        self.finder.against_rigid(&touching.skin.surface, &touching.place, &rigid, &query, &mut self.found);
        let friction = (around.pair)(around.model.bodies[touching.body.0].material, body.material).0;
        for contact in &self.found {
            let Partner::Rigid(point) = contact.partner else { continue };
            let point_body = carried(&mover.pose_body_shape, &point);
            let (id, zero) = (MoverId::Body(other), Vec3::zeros());
            let partner = match (mover.yields(), on_tool) {
                (true, true) => End::Led { mover: id, point_body, start: zero, end: zero },
                (true, false) => End::Rigid { mover: id, point_body, rows: Default::default() },
                (false, _) => End::Still { body: Some(other), point: carried(&mover.pose, &point_body) },
            };
            touching.push(contact, partner, pair, friction, around, out, &mut self.penetration_m);
        }
    }

    fn with_soft(&mut self, index: usize, other: usize, around: &Surroundings<'_>, out: &mut Vec<Constraint>) {
        let (a, b) = (&self.bodies[index], &self.bodies[other]);
        let pair = pair_id(a.body.0, b.body.0);
        let on_tool = [a, b].iter().any(|touching| around.bodies[touching.body].hand().is_some());
        let query = Self::query(around, on_tool, pair);
        self.found.clear();
        self.finder.against_soft((&a.skin.surface, &a.place), (&b.skin.surface, &b.place), &query, &mut self.found);
        let material = |touching: &Touching| around.model.bodies[touching.body.0].material;
        // Serous skins of organs slide on each other without friction.
        let organs = [a, b].iter().all(|touching| around.bodies[touching.body].tissue().is_some());
        let friction = if organs { 0.0 } else { (around.pair)(material(a), material(b)).0 };
        for contact in &self.found {
            let Partner::Soft(point) = contact.partner else { continue };
            let Some(anchor) = b.anchor(&point, around.bodies) else { continue };
            let partner = End::Soft { body: b.body, anchor };
            a.push(contact, partner, pair, friction, around, out, &mut self.penetration_m);
        }
    }

    fn with_itself(&mut self, index: usize, around: &Surroundings<'_>, out: &mut Vec<Constraint>) {
        let touching = &self.bodies[index];
        let pair = pair_id(touching.body.0, touching.body.0);
        let query = Self::query(around, around.bodies[touching.body].hand().is_some(), pair);
        self.found.clear();
        self.finder.against_itself(&touching.skin.surface, &touching.place, &query, &mut self.found);
        let material = around.model.bodies[touching.body.0].material;
        let friction = (around.pair)(material, material).0;
        for contact in &self.found {
            let Partner::Soft(point) = contact.partner else { continue };
            let Some(anchor) = touching.anchor(&point, around.bodies) else { continue };
            let partner = End::Soft { body: touching.body, anchor };
            touching.push(contact, partner, pair, friction, around, out, &mut self.penetration_m);
        }
    }
}

fn pair_id(a: usize, b: usize) -> [u16; 2] {
    [a as u16, b as u16]
}

fn carried(pose: &Pose, point: &Vec3) -> Vec3 {
    pose.rotation * point + pose.translation.vector
}

impl Touching {
    /// Places of its surface in the world: now as far as is known, and at the start of the step.
    fn refit(&mut self, around: &Surroundings<'_>) {
        let body = &around.bodies[self.body];
        let Some(body) = body.soft() else { return };
        let frame = body.carrier();
        self.now.clear();
        self.before.clear();
        for node in &self.skin.nodes {
            let (start, now) = (body.displacement(*node, When::Start), body.displacement(*node, When::Now));
            let rest = body.rest(*node);
            self.before.push(carried(&frame.before, &(rest + start)));
            self.now.push(carried(&frame.pose, &(rest + now)));
        }
        self.place.refit(&self.skin.surface, &self.now, &self.before, around.model.margin_m);
    }

    /// Nodes within reach of a rigid shape, nearest first if there is not room for all (seed 000 §IV-A). A held linear body hardly
    /// turns and is detected again in every pass of a step: each node by itself needs neither its faces nor its way.
    fn nodes_at(&self, rigid: &RigidPlace<'_>, reach_m: f64, out: &mut Vec<SoftContact>) {
        let around = rigid.shape.bounding_sphere();
        let inverse = rigid.now.inverse();
        for (node, place) in (0..).zip(&self.now) {
            let local = carried(&inverse, place);
            if (local - around.center).norm() > around.radius + reach_m {
                continue;
            }
            let found = rigid.shape.signed_distance(&local);
            if found.distance < reach_m {
                out.push(SoftContact {
                    key: node,
                    on: FacePoint::node(node as u32),
                    partner: Partner::Rigid(local - found.normal * found.distance),
                    normal: rigid.now.rotation * found.normal,
                    gap: found.distance,
                    area_m2: 0.0,
                });
            }
        }
        if out.len() > MOST_OF_SOCKET {
            out.sort_by(|a, b| a.gap.total_cmp(&b.gap));
            out.truncate(MOST_OF_SOCKET);
            out.sort_by_key(|contact| contact.key);
        }
    }

    /// Anchor at a point of its surface; none where the body does not yield.
    fn anchor(&self, point: &FacePoint, bodies: &[Body]) -> Option<Anchor> {
        let body = &bodies[self.body];
        let nodes = point.points.map(|at| self.skin.nodes[at as usize]);
        let soft = body.soft()?;
        let rest = (0..3).map(|k| soft.rest(nodes[k]) * point.weights[k]).sum();
        let anchor = Anchor::Point(Point { rest, spread: Spread::of_face(nodes, point.weights) });
        body.yields_at(&anchor).then_some(anchor)
    }

    #[expect(clippy::too_many_arguments, reason = "one contact of a pair, and all that the pair shares")]
    fn push(
        &self,
        contact: &SoftContact,
        partner: End,
        pair: [u16; 2],
        friction: f64,
        around: &Surroundings<'_>,
        out: &mut Vec<Constraint>,
        penetration_m: &mut f64,
    ) {
        let anchor = self.anchor(&contact.on, around.bodies);
        let own = match (anchor, &partner) {
            (Some(anchor), _) => End::Soft { body: self.body, anchor },
            // Held here; the partner may yield.
            (None, End::Still { .. } | End::Tool { .. } | End::Led { .. }) => return,
            (None, _) => {
                let point = |k: usize| self.now[contact.on.points[k] as usize] * contact.on.weights[k];
                End::Still { body: Some(self.body), point: (0..3).map(point).sum() }
            }
        };
        *penetration_m = penetration_m.max(-contact.gap);
        let (t1, t2) = steady_tangents(&contact.normal);
        let span = Span::new([own, partner], [contact.normal, t1, t2]);
        let law = Law::Contact { friction, compliance: 0.0 };
        let id = BlockId::Soft { bodies: pair, key: contact.key };
        out.push(Constraint::of_span(id, law, span));
    }
}
