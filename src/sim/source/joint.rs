//! Joints between two bodies: fixed, hinge, slider, ball.
//!
//! Thread: simulation.
//!
//! A joint holds the origins of its two frames together and the frames parallel, but for what it leaves free: a ball all rotations, a hinge
//! the rotation about z, a slider the way along z. Rows are taken along the axes of B's frame at the start of the step; the violation that
//! is left there is closed within the step.

use super::super::body::rigid::Mover;
use super::super::constraint::{Constraint, End, Span};
use super::super::ids::{BodyId, MoverId, PerMover};
use super::super::model::{JointKind, JointModel};
use crate::math::{Pose, Vec3, log_so3};
use crate::mechanism::{BlockId, Law};

/// A joint with its frames in the bodies.
pub(in crate::sim) struct Joint {
    kind: JointKind,
    /// None for the world.
    bodies: [Option<BodyId>; 2],
    /// The joint's frame in each body, in the world where there is none.
    frames: [Pose; 2],
    compliance: f64,
}

impl Joint {
    /// A joint between bodies that stand at `starts`.
    pub(in crate::sim) fn new(model: &JointModel, starts: impl Fn(BodyId) -> Pose) -> Self {
        let frame = |body: Option<BodyId>| body.map_or(model.frame, |body| starts(body).inverse() * model.frame);
        Self { kind: model.kind, bodies: model.bodies, frames: model.bodies.map(frame), compliance: model.compliance }
    }

    /// Adds the rows of joint number `index`.
    pub(in crate::sim) fn gather(&self, index: usize, movers: &PerMover<Mover>, out: &mut Vec<Constraint>) {
        let pose = |side: usize| {
            let body = self.bodies[side].map_or_else(Pose::identity, |body| movers[MoverId::Body(body)].pose);
            body * self.frames[side]
        };
        let (a, b) = (pose(0), pose(1));
        let axes = [Vec3::x(), Vec3::y(), Vec3::z()].map(|axis| b.rotation * axis);
        let end = |side: usize| match self.bodies[side] {
            Some(body) if movers[MoverId::Body(body)].yields() => {
                let mover = MoverId::Body(body);
                End::Rigid { mover, point_body: self.frames[side].translation.vector, rows: Default::default() }
            }
            body => End::Still { body, point: [&a, &b][side].translation.vector },
        };
        let (slides, turns) = match self.kind {
            JointKind::Fixed => (3, 3),
            JointKind::Hinge => (3, 2),
            JointKind::Slider => (2, 3),
            JointKind::Ball => (3, 0),
        };
        let law = |rows| Law::Bilateral { rows, compliance: self.compliance };
        let id = |part: u32| BlockId::Joint(2 * index as u32 + part);
        out.push(Constraint::of_span(id(0), law(slides), Span::new([end(0), end(1)], axes)));
        if turns > 0 {
            let turned = b.rotation * log_so3(&(b.rotation.inverse() * a.rotation));
            let mut span = Span::new([end(0), end(1)], axes);
            span.turns = Some(axes.map(|axis| axis.dot(&turned)));
            out.push(Constraint::of_span(id(1), law(turns), span));
        }
    }
}
