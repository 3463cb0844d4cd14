//! Bodies of the mechanism: one enum, one file for each kind, the same verbs for all.
//!
//! Thread: simulation.
//!
//! ```text
//!  prepare      free motion of the step and its matrix, without constraint forces
//!  compliance   displacement over the step of the rows that act on the body for a unit force on each of them
//!  apply        constraint forces of the step
//!  finish       state at the end of the step
//! ```
//!
//! | kind | matrix of a step | file |
//! |---|---|---|
//! | fixed | none: the body does not yield | – |
//! | rigid | passive midpoint integration on SE(3) | [`rigid`] |
//! | linear elastic | `G` at rest, or passive midpoint integration, whole or reduced | [`elastic`] |
//! | corotational | implicit Euler, or equilibrium to equilibrium | [`corotational`] |
//! | tissue | equilibrium to equilibrium with the factor of an earlier step | [`tissue`] |
//! | beam | equilibrium to equilibrium, clamped at its hub | [`beam`] |
//!
//! Rigid bodies enter a row by six numbers; `assemble` forms their products itself. All other kinds are *soft*: a row acts on an
//! [`Anchor`] along a direction. An anchor gives the places that a row needs: at the start of the step, and at its end without
//! constraint forces.
//!
//! Every soft body has a [`carrier`] frame, in which its own state is kept: the world, a support that moves (breathing), or a tool.

pub(super) mod beam;
pub(super) mod carrier;
pub(super) mod corotational;
pub(super) mod elastic;
pub(super) mod rigid;
pub(super) mod surface;
pub(super) mod tissue;

use super::ids::HandId;
use crate::fem::{Compliance, FemModel, Rows, Spread};
use crate::math::{Pose, Vec3};
use crate::mechanism::pmi::RigidBody;
use crate::shared::ToolSample;
use beam::Beam;
use carrier::Carrier;
use corotational::Corotational;
use elastic::Elastic;
use std::sync::Arc;
use tissue::Tissue;

/// A body of the scene, as it is now.
pub enum Body {
    /// Does not move.
    Fixed,
    /// Moves as a rigid body.
    Rigid(Box<RigidBody>),
    /// Linear elastic, held.
    Elastic(Box<Elastic>),
    /// Deforms with large rotations; held or free.
    Corotational(Box<Corotational>),
    /// Tissue on a support.
    Tissue(Box<Tissue>),
    /// A beam clamped at its hub.
    Beam(Box<Beam>),
}

/// A part of a finite element body that moves as one.
#[derive(Clone, Debug)]
pub struct Point {
    /// Where it is at rest, in the frame of the body.
    pub rest: Vec3,
    /// Nodes and shares.
    pub spread: Spread,
}

/// Where a constraint acts on a soft body.
#[derive(Clone, Debug)]
pub(super) enum Anchor {
    /// All rows act on one point.
    Point(Point),
    /// Each row acts on a point of its own.
    Points(Box<[Point; 3]>),
    /// Arc length on a beam, m.
    Along(f64),
    /// The motion of nodes, each weighted by a vector in the world: a share in the volume of a cavity. Its one place is a number, the first
    /// coordinate.
    Area(Arc<[(u32, Vec3)]>),
}

impl Anchor {
    /// The point of row `row`; none on a beam.
    pub(super) fn point(&self, row: usize) -> Option<&Point> {
        match self {
            Self::Point(point) => Some(point),
            Self::Points(points) => points.get(row),
            Self::Along(_) | Self::Area(_) => None,
        }
    }

    /// Arc length on a beam, m; zero elsewhere.
    pub(super) fn along(&self) -> f64 {
        if let Self::Along(at_m) = self { *at_m } else { 0.0 }
    }
}

/// A row on a soft body.
#[derive(Clone, Copy)]
pub(super) struct SoftRow<'a> {
    pub anchor: &'a Anchor,
    /// Row of the constraint.
    pub row: usize,
    /// Direction in the world, with the sign of the body's side.
    pub direction: Vec3,
    /// From the anchor to the point that the force acts at, m.
    pub arm: Vec3,
}

/// Memory of a finite element body for rows, kept from step to step.
#[derive(Default)]
pub(super) struct FemRows {
    pub rows: Rows,
    pub work: Compliance,
    pub force: Vec<f64>,
}

impl FemRows {
    /// Collects rows in the frame of a body at `pose`.
    pub(super) fn collect(&mut self, model: &FemModel, pose: &Pose, rows: &[SoftRow<'_>]) {
        self.rows.clear();
        for row in rows {
            let direction = pose.rotation.inverse_transform_vector(&row.direction);
            if let Anchor::Area(parts) = row.anchor {
                let local = |weight: &Vec3| pose.rotation.inverse_transform_vector(weight) * row.direction.x;
                self.rows.push_nodes(model, parts.iter().map(|(node, weight)| (*node, local(weight))));
            } else if let Some(point) = row.anchor.point(row.row) {
                self.rows.push_spread(model, &point.spread, &direction);
                if row.arm != Vec3::zeros() {
                    self.rows.set_couple(pose.rotation.inverse_transform_vector(&row.arm).cross(&direction));
                }
            }
        }
    }

    /// `Hᵀλ` of the rows collected.
    pub(super) fn transposed(&mut self, model: &FemModel, forces: &[f64]) -> &[f64] {
        self.force.clear();
        self.force.resize(model.size(), 0.0);
        self.rows.add_transposed(forces, &mut self.force);
        &self.force
    }
}

/// Place in the world of a point of a body at `pose` under displacements `x`.
pub(super) fn place_of(model: &FemModel, pose: &Pose, point: &Point, x: &[f64]) -> Vec3 {
    pose.rotation * (point.rest + model.field_over(&point.spread, x)) + pose.translation.vector
}

/// Place of an [`Anchor::Area`] on a body at `pose` under the displacements that `shift` gives for a node.
pub(super) fn place_of_area(model: &FemModel, pose: &Pose, parts: &[(u32, Vec3)], shift: impl Fn(u32) -> Vec3) -> Vec3 {
    let place = |node: u32| pose.rotation * (model.rest()[node as usize] + shift(node)) + pose.translation.vector;
    Vec3::new(parts.iter().map(|(node, weight)| weight.dot(&place(*node))).sum(), 0.0, 0.0)
}

/// Evaluates an expression with the soft body of a variant; the second expression for bodies that are not soft.
macro_rules! with_soft {
    ($body:expr, $soft:ident => $value:expr, $other:expr) => {
        match $body {
            Body::Elastic($soft) => $value,
            Body::Corotational($soft) => $value,
            Body::Tissue($soft) => $value,
            Body::Beam($soft) => $value,
            Body::Fixed | Body::Rigid(_) => $other,
        }
    };
}

impl Body {
    /// The rigid body.
    #[must_use]
    pub fn rigid(&self) -> Option<&RigidBody> {
        if let Self::Rigid(body) = self { Some(body) } else { None }
    }

    /// The rigid body, to be changed.
    pub fn rigid_mut(&mut self) -> Option<&mut RigidBody> {
        if let Self::Rigid(body) = self { Some(body) } else { None }
    }

    /// The linear elastic body.
    #[must_use]
    pub fn elastic(&self) -> Option<&Elastic> {
        if let Self::Elastic(body) = self { Some(body) } else { None }
    }

    /// The corotational body.
    #[must_use]
    pub fn corotational(&self) -> Option<&Corotational> {
        if let Self::Corotational(body) = self { Some(body) } else { None }
    }

    /// The tissue.
    #[must_use]
    pub fn tissue(&self) -> Option<&Tissue> {
        if let Self::Tissue(body) = self { Some(body) } else { None }
    }

    /// The beam.
    #[must_use]
    pub fn beam(&self) -> Option<&Beam> {
        if let Self::Beam(body) = self { Some(body) } else { None }
    }

    /// The body deforms.
    #[must_use]
    pub fn is_soft(&self) -> bool {
        with_soft!(self, _body => true, false)
    }

    /// Pose of the carrier frame of a soft body, in the world.
    #[must_use]
    pub fn carrier(&self) -> Option<&Pose> {
        self.frame().map(|frame| &frame.pose)
    }

    /// Carrier frame of a soft body.
    pub(super) fn frame(&self) -> Option<&Carrier> {
        with_soft!(self, body => Some(&body.carrier), None)
    }

    /// The hand whose tool carries the body.
    pub(super) fn hand(&self) -> Option<HandId> {
        self.frame().and_then(Carrier::hand)
    }

    /// Moves the carrier frame through a step of `step_s`, at whose end the tools are as in `tools`.
    pub(super) fn carry(&mut self, tools: &[ToolSample], step_s: f64) {
        with_soft!(self, body => body.carrier.advance(tools, step_s), ());
        if let Self::Beam(beam) = self {
            beam.follow();
        }
    }

    /// Kinetic and elastic energy, J, as far as the kind keeps account of it.
    #[must_use]
    pub fn energy_j(&self) -> f64 {
        match self {
            Self::Rigid(body) => body.ledger().total_j(),
            Self::Elastic(body) => body.energy_j(),
            Self::Corotational(body) => body.energy_j(),
            Self::Fixed | Self::Tissue(_) | Self::Beam(_) => 0.0,
        }
    }

    /// Free motion of a soft body in a step of `step_s`; false when the step has no matrix.
    pub(super) fn prepare(&mut self, step_s: f64) -> bool {
        with_soft!(self, body => body.prepare(step_s), true)
    }

    /// Compliance of rows over the step, m/N, row-major.
    pub(super) fn compliance(&mut self, rows: &[SoftRow<'_>], out: &mut [f64]) {
        with_soft!(self, body => body.compliance(rows, out), ());
    }

    /// Changes the compliance of rows over the step, m/N, into the one that the haptic tick uses between two steps; false, and nothing
    /// changed, where they are the same.
    pub(super) fn answer(&mut self, rows: &[SoftRow<'_>], out: &mut [f64]) -> bool {
        if let Self::Elastic(body) = self { body.answer(rows, out) } else { false }
    }

    /// Viscosity of a soft body as the haptic tick has it between two steps ([`crate::mechanism::Row::lead_s`]).
    pub(super) fn lead_s(&self) -> f64 {
        if let Self::Corotational(body) = self { body.lead_s() } else { 0.0 }
    }

    /// Takes the forces of the step on rows. Gives the largest change of place since the last call in the step, m, for bodies
    /// whose contacts are detected again at the new place; zero for others.
    pub(super) fn apply(&mut self, rows: &[SoftRow<'_>], forces: &[f64], last: bool) -> f64 {
        match self {
            Self::Elastic(body) => body.apply(rows, forces, last),
            Self::Corotational(body) if last => body.apply(rows, forces),
            Self::Tissue(body) if last => body.apply(rows, forces),
            Self::Beam(body) if last => body.apply(rows, forces),
            _ => 0.0,
        }
    }

    /// Takes impulses on rows after the step, N·s: they change the velocity and not the place. Bodies without a velocity of their own pass them
    /// on to their support.
    pub(super) fn strike(&mut self, rows: &[SoftRow<'_>], impulses: &[f64]) {
        if let Self::Corotational(body) = self {
            body.strike(rows, impulses);
        }
    }

    /// State at the end of the step; false when the body could not follow.
    pub(super) fn finish(&mut self, step_s: f64) -> bool {
        with_soft!(self, body => body.finish(step_s), true)
    }

    /// Place of an anchor at the start of the step.
    pub(super) fn start_place(&self, anchor: &Anchor, row: usize) -> Vec3 {
        with_soft!(self, body => body.start_place(anchor, row), Vec3::zeros())
    }

    /// Place of an anchor at the end of the step without constraint forces.
    pub(super) fn free_place(&self, anchor: &Anchor, row: usize) -> Vec3 {
        with_soft!(self, body => body.free_place(anchor, row), Vec3::zeros())
    }

    /// Place of an anchor now: after `finish` at the end of the step.
    pub(super) fn place(&self, anchor: &Anchor, row: usize) -> Vec3 {
        with_soft!(self, body => body.place(anchor, row), Vec3::zeros())
    }

    /// Constraints may act on the body with an arm from their anchor: nothing holds it, and its step has inertia.
    pub(super) fn takes_arms(&self) -> bool {
        self.corotational().is_some_and(|body| body.body().takes_couples())
    }

    /// Angular velocity without constraint forces of a body that takes arms, rad/s.
    pub(super) fn free_rate(&self) -> Vec3 {
        self.corotational().map_or_else(Vec3::zeros, Corotational::free_rate)
    }

    /// The body yields at an anchor: not all nodes there are fixed.
    pub(super) fn yields_at(&self, anchor: &Anchor) -> bool {
        match (self, anchor.point(0)) {
            (Self::Beam(_), _) => true,
            (Self::Elastic(body), Some(point)) => body.reaches(point),
            (Self::Corotational(_) | Self::Tissue(_), Some(point)) => {
                self.fem().is_some_and(|fem| point.spread.parts().any(|(node, _)| fem.first_of(node).is_some()))
            }
            _ => false,
        }
    }

    /// Finite element model of the body.
    #[must_use]
    pub fn fem(&self) -> Option<&FemModel> {
        match self {
            Self::Elastic(body) => Some(&body.model().fem),
            Self::Corotational(body) => Some(&body.model().fem),
            Self::Tissue(body) => Some(&body.model().fem),
            Self::Fixed | Self::Rigid(_) | Self::Beam(_) => None,
        }
    }

    /// Displacement of a node in the carrier frame, m: at the start of the step, and as far as is known at its end.
    pub(super) fn node_shifts(&self, node: u32) -> [Vec3; 2] {
        match self {
            Self::Elastic(body) => body.node_shifts(node),
            Self::Corotational(body) => [body.node_shift(node); 2],
            Self::Tissue(body) => [body.node_shift(node); 2],
            Self::Fixed | Self::Rigid(_) | Self::Beam(_) => [Vec3::zeros(); 2],
        }
    }
}
