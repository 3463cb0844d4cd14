//! Joints between two bodies: fixed, hinge, slider, ball.
//!
//! Thread: simulation.
//!
//! A joint holds the origins of its two frames together and the frames parallel, but for what it leaves free: a ball all rotations, a hinge
//! the rotation about z, a slider the way along z. Rows are taken along the axes of B's frame at the start of the step; the violation that
//! is left there is closed within the step.
//!
//! On a soft body a joint is fixed to a patch of nodes with shares `w`, as a rigid plate that is glued on would be, but for the patch being free
//! to deform within itself: its frame is the least-squares one. With `r` from the mean of the patch to each node now, `r₀` at rest,
//!
//! ```text
//!  c = Σ w (x₀ + u)      R = rotation nearest to Σ w r r₀ᵀ      J = Σ w (|r|² 1 − r rᵀ)
//!  change of R:   θ = J⁻¹ Σ w r × u         of a point l from c:   Σ w u + θ × l
//! ```
//!
//! Both are rows of the frame on the displacements of the nodes, and forces reach the nodes by the transposed rows. Shares are those of an even
//! pressure: the area of the triangles of the surface around each node, as far as they lie in the patch.

use super::super::body::anchor::Patch;
use super::super::body::rigid::Mover;
use super::super::body::{Anchor, Body, SoftBody, When};
use super::super::constraint::{Constraint, End, Span};
use super::super::ids::{BodyId, MoverId, PerMover};
use super::super::model::{JointKind, JointModel};
use crate::fem::nearest_rotation;
use crate::math::{Mat3, Pose, Rot, Vec3, log_so3};
use crate::mechanism::{BlockId, Law};
use std::sync::Arc;

/// Least inertia of a patch about any axis relative to its largest for its frame to have a rotation: nodes within 1 % of a line have none.
const FLATTEST: f64 = 1e-4;

/// The nodes of a soft body that a joint is fixed to.
struct Held {
    /// Nodes and shares, which add up to one.
    nodes: Vec<(u32, f64)>,
    /// Rotation of the frame at the last step: the first guess of the next.
    turned: Rot,
}

/// A joint with its frames in the bodies.
pub(in crate::sim) struct Joint {
    kind: JointKind,
    /// None for the world.
    bodies: [Option<BodyId>; 2],
    /// The joint's frame in each body, in the frame of a patch of a soft body, in the world where there is none.
    frames: [Pose; 2],
    patches: [Option<Held>; 2],
    compliance: f64,
}

/// Inertia of unit masses at places about their mean.
fn inertia(places: impl Iterator<Item = (f64, Vec3)>) -> Mat3 {
    places.map(|(weight, r)| (Mat3::identity() * r.norm_squared() - r * r.transpose()) * weight).sum()
}

/// A joint that leaves this free can be fixed to nodes at these places: their frame has a rotation, or none is needed.
#[must_use]
pub fn patch_serves(kind: JointKind, places: &[Vec3]) -> bool {
    if kind == JointKind::Ball {
        return !places.is_empty();
    }
    let mean = places.iter().sum::<Vec3>() / places.len().max(1) as f64;
    let inertia = inertia(places.iter().map(|place| (1.0, place - mean)));
    let eigen = inertia.symmetric_eigenvalues();
    eigen.min() > FLATTEST * eigen.max()
}

impl Held {
    fn new(body: &dyn SoftBody, nodes: &[u32]) -> Self {
        let mut nodes: Vec<(u32, f64)> = nodes.iter().map(|node| (*node, 0.0)).collect();
        nodes.sort_unstable_by_key(|(node, _)| *node);
        if let Some(skin) = body.skin() {
            for corners in skin.surface.triangles() {
                let corners = corners.map(|point| skin.nodes[point as usize]);
                let known = corners.map(|node| nodes.binary_search_by_key(&node, |(node, _)| *node));
                let (Ok(a), Ok(b), Ok(c)) = (known[0], known[1], known[2]) else { continue };
                let [p, q, r] = corners.map(|node| body.rest(node));
                let area = 0.5 * (q - p).cross(&(r - p)).norm();
                [a, b, c].into_iter().for_each(|at| nodes[at].1 += area / 3.0);
            }
        }
        let total: f64 = nodes.iter().map(|(_, share)| share).sum();
        if total > 0.0 {
            nodes.iter_mut().for_each(|(_, share)| *share /= total);
            nodes.retain(|(_, share)| *share > 0.0);
        } else {
            let share = 1.0 / nodes.len().max(1) as f64;
            nodes.iter_mut().for_each(|node| node.1 = share);
        }
        Self { nodes, turned: Rot::identity() }
    }

    /// Sum over the nodes.
    fn mean(&self, of: impl Fn(u32) -> Vec3) -> Vec3 {
        self.nodes.iter().map(|(node, share)| of(*node) * *share).sum()
    }

    /// The frame of the patch at the start of the step, in the carrier frame.
    fn frame(&mut self, body: &dyn SoftBody) -> Pose {
        let now = |node: u32| body.rest(node) + body.displacement(node, When::Start);
        let (rest, mean) = (self.mean(|node| body.rest(node)), self.mean(now));
        let mut deformation = Mat3::zeros();
        for (node, share) in &self.nodes {
            let arm = body.rest(*node) - rest;
            deformation += (now(*node) - mean) * arm.transpose() * *share;
        }
        // A flat patch has no deformation across: there it turns with its normal.
        let arms = |node: u32| (body.rest(node) - rest, now(node) - mean);
        if let Some((normal, turned)) = self.normals(arms) {
            deformation += turned * normal.transpose() * deformation.norm();
        }
        self.turned = nearest_rotation(&deformation, &self.turned);
        Pose::from_parts(mean.into(), self.turned)
    }

    /// Directions across the patch at rest and now, by its mean, its first node and the one that spans the largest triangle with these.
    fn normals(&self, arms: impl Fn(u32) -> (Vec3, Vec3)) -> Option<(Vec3, Vec3)> {
        let first = arms(self.nodes.first()?.0);
        let across = |(node, _): &(u32, f64)| {
            let arm = arms(*node);
            (first.0.cross(&arm.0), first.1.cross(&arm.1))
        };
        let widest = self.nodes.iter().map(across).max_by(|a, b| a.0.norm().total_cmp(&b.0.norm()))?;
        Some((widest.0.try_normalize(0.0)?, widest.1.try_normalize(0.0)?))
    }

    /// Anchors at the point `l` from the mean of the patch: of its place, and of its rotation.
    fn anchors(&self, body: &dyn SoftBody, l: Vec3) -> [Anchor; 2] {
        let shift = |node: u32| body.displacement(node, When::Start);
        let mean = self.mean(|node| body.rest(node) + shift(node));
        let arm = |node: u32| body.rest(node) + shift(node) - mean;
        let inertia = inertia(self.nodes.iter().map(|(node, share)| (*share, arm(*node))));
        let inverse = inertia.try_inverse().unwrap_or_else(Mat3::zeros);
        let turns = |node: u32, share: f64| inverse * arm(node).cross_matrix() * share;
        let ways = |node: u32, share: f64| Mat3::identity() * share - l.cross_matrix() * turns(node, share);
        let patch = |start: Vec3, is_turn: bool, part: &dyn Fn(u32, f64) -> Mat3| {
            let parts: Vec<(u32, Mat3)> = self.nodes.iter().map(|(node, share)| (*node, part(*node, *share))).collect();
            let before: Vec3 = parts.iter().map(|(node, part)| part * shift(*node)).sum();
            Anchor::Patch(Arc::new(Patch { rest: start - before, parts, is_turn }))
        };
        [patch(mean + l, false, &ways), patch(Vec3::zeros(), true, &turns)]
    }
}

impl Joint {
    /// A joint between bodies that stand at `starts`.
    pub(in crate::sim) fn new(model: &JointModel, bodies: &[Body], starts: impl Fn(BodyId) -> Pose) -> Self {
        let mut patches = [0, 1].map(|side: usize| {
            let body = bodies[model.bodies[side]?].soft()?;
            Some(Held::new(body, &model.patches[side]))
        });
        let mut frames = [Pose::identity(); 2];
        for side in 0..2 {
            let own = model.bodies[side].map_or_else(Pose::identity, |body| {
                let patch = patches[side].as_mut().zip(bodies[body].soft());
                starts(body) * patch.map_or_else(Pose::identity, |(patch, body)| patch.frame(body))
            });
            frames[side] = own.inverse() * model.frame;
        }
        Self { kind: model.kind, bodies: model.bodies, frames, patches, compliance: model.compliance }
    }

    /// Adds the rows of joint number `index`.
    pub(in crate::sim) fn gather(
        &mut self,
        index: usize,
        movers: &PerMover<Mover>,
        bodies: &[Body],
        out: &mut Vec<Constraint>,
    ) {
        let mut poses = self.frames;
        for side in 0..2 {
            let Some(body) = self.bodies[side] else { continue };
            let own = match (&mut self.patches[side], bodies[body].soft()) {
                (Some(patch), Some(body)) => body.carrier().pose() * patch.frame(body),
                _ => movers[MoverId::Body(body)].pose,
            };
            poses[side] = own * self.frames[side];
        }
        let [a, b] = poses;
        let axes = [Vec3::x(), Vec3::y(), Vec3::z()].map(|axis| b.rotation * axis);
        let (slides, turns) = match self.kind {
            JointKind::Fixed => (3, 3),
            JointKind::Hinge => (3, 2),
            JointKind::Slider => (2, 3),
            JointKind::Ball => (3, 0),
        };
        let law = |rows| Law::Bilateral { rows, compliance: self.compliance };
        let id = |part: u32| BlockId::Joint(2 * index as u32 + part);
        let [places, rotations] = self.ends(movers, bodies, &poses);
        out.push(Constraint::of_span(id(0), law(slides), Span::new(places, axes)));
        if turns > 0 {
            let turned = b.rotation * log_so3(&(b.rotation.inverse() * a.rotation));
            let mut span = Span::new(rotations, axes);
            span.turns = Some(axes.map(|axis| axis.dot(&turned)));
            out.push(Constraint::of_span(id(1), law(turns), span));
        }
    }

    /// Ends of the rows that hold the origins together, and of those that hold the frames parallel.
    fn ends(&self, movers: &PerMover<Mover>, bodies: &[Body], poses: &[Pose; 2]) -> [[End; 2]; 2] {
        let both = [0, 1].map(|side: usize| {
            let still = End::Still { body: self.bodies[side], point: poses[side].translation.vector };
            let Some(body) = self.bodies[side] else { return [still.clone(), still] };
            if let (Some(patch), Some(soft)) = (&self.patches[side], bodies[body].soft()) {
                let l = patch.turned * self.frames[side].translation.vector;
                return patch.anchors(soft, l).map(|anchor| End::Soft { body, anchor });
            }
            let mover = MoverId::Body(body);
            if !movers[mover].yields() {
                return [still.clone(), still];
            }
            let point_body = self.frames[side].translation.vector;
            let end = End::Rigid { mover, point_body, rows: Default::default() };
            [end.clone(), end]
        });
        let [[a, a_turn], [b, b_turn]] = both;
        [[a, b], [a_turn, b_turn]]
    }
}
