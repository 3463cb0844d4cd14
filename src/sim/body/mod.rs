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
//! Rigid bodies enter a row by six numbers; `assemble` forms their products itself. All other kinds implement [`SoftBody`]: a row acts on an
//! [`Anchor`] along a direction, and an anchor has its place from the displacements of nodes. A new kind is one file that implements the
//! trait, and one line of [`Body`]; a kind of another crate is [`Body::Custom`] (`examples/sample_body.rs`).
//!
//! Every soft body has a [`carrier`] frame, in which its own state is kept: the world, a support that moves (breathing), or a tool.

pub(super) mod anchor;
pub(super) mod beam;
pub(super) mod carrier;
pub(super) mod corotational;
pub(super) mod elastic;
pub(super) mod rigid;
pub(super) mod surface;
pub(super) mod tissue;

use super::ids::HandId;
use crate::fem::{Compliance, FemModel, Rows};
use crate::math::{Pose, Vec3};
use crate::mechanism::pmi::RigidBody;
use crate::shared::ToolSample;
pub(super) use anchor::Anchor;
pub use anchor::{Point, SoftRow};
use beam::Beam;
use carrier::Carrier;
use corotational::Corotational;
use elastic::Elastic;
use std::sync::Arc;
use surface::SoftSkin;
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
    /// A soft body of another crate.
    Custom(Box<dyn SoftBody>),
}

/// An instant of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Its start.
    Start,
    /// Its end, without constraint forces.
    Free,
    /// Now: the end of the step, as far as its forces are known.
    Now,
}

/// A body that deforms: nodes whose displacements answer forces. Everything is in the frame of [`Self::carrier`], in SI units.
pub trait SoftBody: Send {
    /// The frame that the state is kept in.
    fn carrier(&self) -> &Carrier;

    /// The same, to be moved.
    fn carrier_mut(&mut self) -> &mut Carrier;

    /// Begins a step of `step_s`: free motion and matrix. False when the step has no matrix.
    fn prepare(&mut self, step_s: f64) -> bool;

    /// Displacement over the step along each row for a unit force along each row, m/N, row-major. Symmetric, positive semi-definite.
    fn compliance(&mut self, rows: &[SoftRow<'_>], out: &mut [f64]);

    /// Takes the forces of the step along rows, N. `last`: no other forces follow in the step. A body whose contacts must be detected again at its
    /// new place takes all forces, and gives the largest change of place since the last call in the step, m; others wait for the last ones and give zero.
    fn apply(&mut self, rows: &[SoftRow<'_>], forces: &[f64], last: bool) -> f64;

    /// Ends the step. False when the body could not follow.
    fn finish(&mut self, step_s: f64) -> bool;

    /// Place of a node at rest, m.
    fn rest(&self, node: u32) -> Vec3;

    /// Displacement of a node, m.
    fn displacement(&self, node: u32, when: When) -> Vec3;

    /// Forces on a node move it.
    fn reaches(&self, node: u32) -> bool;

    /// Surface that contacts are detected on; none for a body that they do not act on.
    fn skin(&self) -> Option<&Arc<SoftSkin>>;

    /// Contacts of the body with itself are detected.
    fn self_contact(&self) -> bool {
        false
    }

    /// Changes the compliance of rows over the step into the one that the haptic tick uses between two steps. False, and nothing changed, where
    /// they are the same.
    fn answer(&mut self, _rows: &[SoftRow<'_>], _out: &mut [f64]) -> bool {
        false
    }

    /// Time by which the force follows the velocity between two steps, s ([`crate::mechanism::Row::lead_s`]).
    fn lead_s(&self) -> f64 {
        0.0
    }

    /// Takes impulses along rows after the step, N·s: they change the velocity and not the place. Bodies without a velocity of their own pass them
    /// on to their support.
    fn strike(&mut self, _rows: &[SoftRow<'_>], _impulses: &[f64]) {}

    /// Kinetic and elastic energy, J, as far as the kind keeps account of it.
    fn energy_j(&self) -> f64 {
        0.0
    }

    /// Moves the carrier frame through a step of `step_s`, at whose end the tools are as in `tools`.
    fn carry(&mut self, tools: &[ToolSample], step_s: f64) {
        self.carrier_mut().advance(tools, step_s);
    }

    /// Place at an arc length in the world, for bodies that have arc lengths in place of nodes.
    fn along(&self, _at_m: f64, _when: When) -> Vec3 {
        Vec3::zeros()
    }
}

/// What does not change about a soft body of another crate.
pub trait SoftModel: std::fmt::Debug + Send + Sync {
    /// The body at rest in its frame.
    fn body(&self, carrier: Carrier) -> Box<dyn SoftBody>;
}

/// Memory of a finite element body for rows, kept from step to step.
#[derive(Default)]
pub(super) struct FemRows {
    pub rows: Rows,
    pub work: Compliance,
    pub force: Vec<f64>,
}

impl FemRows {
    /// Collects rows in the frame of `carrier`.
    pub(super) fn collect(&mut self, model: &FemModel, carrier: &Carrier, rows: &[SoftRow<'_>]) {
        self.rows.clear();
        for row in rows {
            self.rows.push_forces(model, |each| row.on_nodes(carrier, each));
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

impl Body {
    /// The soft body.
    pub(super) fn soft(&self) -> Option<&dyn SoftBody> {
        Some(match self {
            Self::Fixed | Self::Rigid(_) => return None,
            Self::Elastic(body) => &**body,
            Self::Corotational(body) => &**body,
            Self::Tissue(body) => &**body,
            Self::Beam(body) => &**body,
            Self::Custom(body) => &**body,
        })
    }

    /// The soft body, to be changed.
    pub(super) fn soft_mut(&mut self) -> Option<&mut dyn SoftBody> {
        Some(match self {
            Self::Fixed | Self::Rigid(_) => return None,
            Self::Elastic(body) => &mut **body,
            Self::Corotational(body) => &mut **body,
            Self::Tissue(body) => &mut **body,
            Self::Beam(body) => &mut **body,
            Self::Custom(body) => &mut **body,
        })
    }

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
        self.soft().is_some()
    }

    /// Pose of the carrier frame of a soft body, in the world.
    #[must_use]
    pub fn carrier(&self) -> Option<&Pose> {
        self.frame().map(Carrier::pose)
    }

    /// Carrier frame of a soft body.
    pub(super) fn frame(&self) -> Option<&Carrier> {
        self.soft().map(SoftBody::carrier)
    }

    /// The hand whose tool carries the body.
    pub(super) fn hand(&self) -> Option<HandId> {
        self.frame().and_then(Carrier::hand)
    }

    /// Kinetic and elastic energy, J, as far as the kind keeps account of it.
    #[must_use]
    pub fn energy_j(&self) -> f64 {
        match self {
            Self::Rigid(body) => body.ledger().total_j(),
            _ => self.soft().map_or(0.0, SoftBody::energy_j),
        }
    }

    /// Viscosity of a soft body as the haptic tick has it between two steps.
    pub(super) fn lead_s(&self) -> f64 {
        self.soft().map_or(0.0, SoftBody::lead_s)
    }

    /// Place of an anchor in the world; for the rotation of a patch its rotation vector since the start of the step.
    pub(super) fn place(&self, anchor: &Anchor, row: usize, when: When) -> Vec3 {
        let Some(soft) = self.soft() else { return Vec3::zeros() };
        if let Anchor::Along(at_m) = anchor {
            return soft.along(*at_m, when);
        }
        let pose = if when == When::Start { &soft.carrier().before } else { &soft.carrier().pose };
        let turned = pose.rotation * anchor.value(row, |node| soft.displacement(node, when));
        if anchor.is_turn() { turned } else { turned + pose.translation.vector }
    }

    /// The body yields at an anchor: forces move a node there.
    pub(super) fn yields_at(&self, anchor: &Anchor) -> bool {
        match anchor {
            Anchor::Along(_) => true,
            _ => self.soft().is_some_and(|soft| anchor.has_node(|node| soft.reaches(node))),
        }
    }
}
