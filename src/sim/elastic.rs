//! Deformable bodies of the scene, and their contact with what the hand holds.
//!
//! Thread: simulation.
//!
//! Contact is between nodes of the body and the exact surface of the tool (seed 000 §IV-A): each node within reach has a row
//! along the way out of the tool and two along its surface, `δ = d·(p_tool − p_node)`. Everything here is in the frame of the
//! body.
//!
//! The tool is an obstacle: it is where the haptic thread has put it, and the body gives way. It is not pushed by the impulses the
//! hand has felt, as rigid bodies are, because its answer to a *place* is a well-posed question for any step: the hand has felt
//! the force of the same compliance at the same place.
//!
//! Two ways to step. **At rest**: the body is where it would come to rest, `x = G f`, found for the deformed nodes again until rows
//! and displacements agree; friction remembers the step before. Right where the slowest vibration is shorter than a step, as with a
//! stiff connector under a hand: its ringing is over before the next step, and passive midpoint steps that long would ring
//! for ever. **Passive**: seed 000 eqs 2–4 and 28, full or reduced, with the law on the velocity at the end of the step, for steps
//! that resolve the ringing.
//!
//! Either way the haptic thread gets `G` and the place of each node without force ([`super::publish`]): what the body answers at
//! once, whatever the rate of the simulation.

use crate::fem::{
    Attachment, Compliance, ElasticBody, FemError, FemModel, FemSkin, ReducedBody, ReducedModel, Rows, StaticAnswer,
    StaticBody,
};
use crate::geometry::tet::TetMesh;
use crate::geometry::{Shape, Surface};
use crate::math::{Pose, Vec3, steady_tangents};
use crate::mechanism::newton::{Workspace, solve_robustly};
use crate::mechanism::pmi::{Accuracy, LinearError};
use crate::mechanism::solver::{Outcome, Settings};
use crate::mechanism::{Block, BlockId, Law, MAX_BLOCKS, MAX_ROWS, Problem};
use std::sync::Arc;

/// Most contacts of a body: as many as a snapshot holds.
const MOST: usize = if MAX_ROWS / 3 < MAX_BLOCKS { MAX_ROWS / 3 } else { MAX_BLOCKS };
/// Most times that rows are made for the displacements they led to.
const PASSES: u32 = 12;
/// Displacement below which rows fit, m.
const FITS_M: f64 = 1e-9;

/// How a body steps.
#[derive(Clone, Debug)]
pub enum Stepping {
    /// From rest to rest.
    AtRest,
    /// Passive midpoint integration of the whole body.
    Passive,
    /// The same of a few motions.
    Reduced(Arc<ReducedModel>),
}

/// Why there is no such body.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ElasticError {
    /// The full model.
    #[error("{0}")]
    Full(#[from] FemError),
    /// The reduced model.
    #[error("{0}")]
    Reduced(#[from] LinearError),
}

/// A deformable body of a scene.
#[derive(Clone, Debug)]
pub struct ElasticModel {
    /// The full model.
    pub fem: Arc<FemModel>,
    /// How its touching nodes answer.
    pub answer: StaticAnswer,
    /// How it steps.
    pub stepping: Stepping,
    /// Acceleration of gravity in the frame of the body, m/s².
    pub gravity: Vec3,
    /// What can be seen of it, if anything.
    pub skin: Option<FemSkin>,
}

impl ElasticModel {
    /// A body whose nodes `touching` can be touched.
    ///
    /// # Errors
    /// When it is not held, or the matrices of a reduced model are not those of a body.
    pub fn new(fem: Arc<FemModel>, touching: &[u32], gravity: Vec3, stepping: Stepping) -> Result<Self, ElasticError> {
        let answer = StaticAnswer::new(&fem, touching, &gravity)?;
        if let Stepping::Reduced(reduced) = &stepping {
            ReducedBody::new(reduced.clone(), gravity, Accuracy::Plain)?;
        }
        Ok(Self { fem, answer, stepping, gravity, skin: None })
    }

    /// The same to be drawn, by the surface of the mesh it was made from.
    #[must_use]
    pub fn shown(mut self, mesh: &TetMesh) -> Self {
        self.skin = Some(FemSkin::new(&self.fem, mesh));
        self
    }
}

/// What the body meets: a rigid shape in its frame.
#[derive(Clone, Copy, Debug)]
pub struct Obstacle<'a> {
    /// The shape.
    pub shape: &'a Shape,
    /// Where it is at the end of the step.
    pub pose: Pose,
    /// Where it was at the start.
    pub before: Pose,
    /// Coefficient of friction between the two.
    pub friction: f64,
}

/// A node near an obstacle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftContact {
    /// The node, by its place among those that can touch.
    pub node: usize,
    /// The obstacle.
    pub obstacle: usize,
    /// The nearest point of the obstacle, in the frame of its shape.
    pub foot: Vec3,
    /// From the body into the obstacle, and two along the surface, in the frame of the body.
    pub directions: [Vec3; 3],
    /// Distance, m; negative inside.
    pub gap: f64,
    /// Coefficient of friction.
    pub friction: f64,
}

/// The body behind the touching nodes.
enum Inner {
    Still,
    Full { body: Box<ElasticBody>, rows: Rows, work: Compliance, none: Vec<f64> },
    Reduced { body: Box<ReducedBody>, rows: Vec<f64>, none: Vec<f64> },
}

/// A deformable body in motion.
pub struct ElasticState {
    model: Arc<ElasticModel>,
    inner: Inner,
    /// Displacement of each touching node.
    shift: Vec<Vec3>,
    /// Mean force of contact on each over the last step, N.
    force: Vec<Vec3>,
    contacts: Vec<SoftContact>,
    lambda: Vec<f64>,
    // Of the solve.
    blocks: Vec<Block>,
    free: Vec<f64>,
    compliance: Vec<f64>,
    workspace: Workspace,
}

impl ElasticState {
    /// The body at rest.
    #[must_use]
    pub fn new(model: Arc<ElasticModel>) -> Self {
        let none = |size: usize| vec![0.0; size];
        let inner = match &model.stepping {
            Stepping::AtRest => Inner::Still,
            Stepping::Passive => Inner::Full {
                body: Box::new(ElasticBody::new(model.fem.clone(), model.gravity, Accuracy::Plain)),
                rows: Rows::default(),
                work: Compliance::default(),
                none: none(model.fem.size()),
            },
            Stepping::Reduced(reduced) => {
                // The model has been checked: it makes a body.
                let body = ReducedBody::new(reduced.clone(), model.gravity, Accuracy::Plain);
                let moving =
                    |body| Inner::Reduced { body: Box::new(body), rows: Vec::new(), none: none(reduced.size()) };
                body.map_or(Inner::Still, moving)
            }
        };
        let count = model.answer.nodes().len();
        let at_rest = matches!(inner, Inner::Still);
        Self {
            inner,
            shift: (0..count).map(|k| if at_rest { model.answer.sag(k) } else { Vec3::zeros() }).collect(),
            force: vec![Vec3::zeros(); count],
            contacts: Vec::new(),
            lambda: Vec::new(),
            blocks: Vec::new(),
            free: Vec::new(),
            compliance: Vec::new(),
            workspace: Workspace::default(),
            model,
        }
    }

    /// What does not change.
    #[must_use]
    pub fn model(&self) -> &Arc<ElasticModel> {
        &self.model
    }

    /// Displacement of each touching node, m, in the order of [`StaticAnswer::nodes`].
    #[must_use]
    pub fn shift(&self) -> &[Vec3] {
        &self.shift
    }

    /// Displacements of the whole body. Where only the touching nodes are followed it is `still`, under the forces on them.
    pub fn displacements<'a>(&'a self, still: &'a mut StaticBody) -> &'a [f64] {
        match &self.inner {
            Inner::Full { body, .. } => body.position(),
            Inner::Still | Inner::Reduced { .. } => {
                let forces = self.model.answer.nodes().iter().copied().zip(self.force.iter().copied());
                still.under(&self.model.fem, forces)
            }
        }
    }

    /// Nodes within reach of an obstacle, as they were last looked at.
    #[must_use]
    pub fn contacts(&self) -> &[SoftContact] {
        &self.contacts
    }

    /// Forces of those contacts, three each, N.
    #[must_use]
    pub fn lambda(&self) -> &[f64] {
        &self.lambda
    }

    /// Sum of the forces of contact on the body over the last step, N, in its frame.
    #[must_use]
    pub fn pressed(&self) -> Vec3 {
        self.force.iter().sum()
    }

    /// Kinetic and elastic energy, J.
    #[must_use]
    pub fn energy_j(&self) -> f64 {
        match &self.inner {
            Inner::Full { body, .. } => body.ledger().total_j(),
            Inner::Reduced { body, .. } => body.ledger().total_j(),
            Inner::Still => {
                let work = |(k, f): (usize, &Vec3)| 0.5 * f.dot(&(self.shift[k] - self.model.answer.sag(k)));
                self.force.iter().enumerate().map(work).sum()
            }
        }
    }

    /// Force of the support on the body over the last step, N, in its frame: with its inertia where the whole body moves.
    #[must_use]
    pub fn reaction(&self) -> Vec3 {
        match &self.inner {
            Inner::Full { body, .. } => body.reaction(),
            _ => -self.pressed(),
        }
    }

    /// Steps the body around the obstacles.
    pub fn step(&mut self, obstacles: &[Obstacle<'_>], reach_m: f64, step_s: f64, settings: &Settings) -> Outcome {
        let model = self.model.clone();
        let outcome = if matches!(self.inner, Inner::Still) {
            self.come_to_rest(&model, obstacles, reach_m, settings)
        } else {
            self.move_on(&model, obstacles, reach_m, step_s, settings)
        };
        self.look(&model, obstacles, reach_m);
        outcome
    }

    /// Where a touching node would be without the forces of `obstacle`, in the frame of the body, once it had come to rest.
    #[must_use]
    pub fn without(&self, node: usize, obstacle: usize) -> Vec3 {
        let answer = &self.model.answer;
        let mut place = answer.rest(node) + answer.sag(node);
        let others = self.contacts.iter().zip(self.lambda.chunks_exact(3)).filter(|(c, _)| c.obstacle != obstacle);
        for (contact, force) in others {
            let pull: Vec3 = contact.directions.iter().zip(force).map(|(d, f)| d * *f).sum();
            place -= answer.between(node, contact.node) * pull;
        }
        place
    }

    /// Finds the nodes within reach, nearest first if there is not room for all. Forces of contacts that go on are kept.
    fn look(&mut self, model: &ElasticModel, obstacles: &[Obstacle<'_>], reach_m: f64) {
        let old: Vec<(usize, usize, [f64; 3])> = self
            .contacts
            .iter()
            .zip(self.lambda.chunks_exact(3))
            .map(|(contact, f)| (contact.node, contact.obstacle, [f[0], f[1], f[2]]))
            .collect();
        self.contacts.clear();
        for (index, obstacle) in obstacles.iter().enumerate() {
            let around = obstacle.shape.bounding_sphere();
            for (node, shift) in self.shift.iter().enumerate() {
                let place = model.answer.rest(node) + shift;
                let local = obstacle.pose.inverse() * nalgebra::Point3::from(place);
                if (local.coords - around.center).norm() > around.radius + reach_m {
                    continue;
                }
                let found = obstacle.shape.signed_distance(&local.coords);
                if !(found.distance < reach_m) {
                    continue;
                }
                let into = -(obstacle.pose.rotation * found.normal);
                let (t1, t2) = steady_tangents(&into);
                self.contacts.push(SoftContact {
                    node,
                    obstacle: index,
                    foot: local.coords - found.normal * found.distance,
                    directions: [into, t1, t2],
                    gap: found.distance,
                    friction: obstacle.friction,
                });
            }
        }
        if self.contacts.len() > MOST {
            self.contacts.sort_by(|a, b| a.gap.total_cmp(&b.gap));
            self.contacts.truncate(MOST);
            self.contacts.sort_by_key(|contact| (contact.obstacle, contact.node));
        }
        self.lambda.clear();
        for contact in &self.contacts {
            let known = old.iter().find(|(node, obstacle, _)| (*node, *obstacle) == (contact.node, contact.obstacle));
            self.lambda.extend_from_slice(&known.map_or([0.0; 3], |(_, _, force)| *force));
        }
    }

    /// Solves the problem at hand and spreads the forces over the nodes.
    fn solve(&mut self, settings: &Settings) -> Outcome {
        self.blocks.clear();
        for (index, contact) in self.contacts.iter().enumerate() {
            let law = Law::Contact { friction: contact.friction, compliance: 0.0 };
            self.blocks.push(Block { id: BlockId::Custom(index as u64), first: 3 * index, law });
        }
        let problem =
            Problem { blocks: &self.blocks, compliance: &self.compliance, stride: self.free.len(), free: &self.free };
        let outcome = solve_robustly(&problem, &mut self.lambda, settings, &mut self.workspace, || false);
        self.force.fill(Vec3::zeros());
        for (contact, force) in self.contacts.iter().zip(self.lambda.chunks_exact(3)) {
            for (direction, force) in contact.directions.iter().zip(force) {
                self.force[contact.node] -= direction * *force;
            }
        }
        outcome
    }

    /// One step from rest to rest.
    fn come_to_rest(
        &mut self,
        model: &ElasticModel,
        obstacles: &[Obstacle<'_>],
        reach_m: f64,
        settings: &Settings,
    ) -> Outcome {
        let start = self.shift.clone();
        let answer = &model.answer;
        let mut outcome = Outcome { converged: true, ..Outcome::default() };
        for _ in 0..PASSES {
            self.look(model, obstacles, reach_m);
            self.free.clear();
            for contact in &self.contacts {
                let (at, obstacle) = (contact.node, &obstacles[contact.obstacle]);
                let slid = carried(obstacle, &contact.foot) + start[at] - answer.sag(at);
                let [into, t1, t2] = contact.directions;
                let gap = contact.gap + into.dot(&(self.shift[at] - answer.sag(at)));
                self.free.extend([gap, t1.dot(&slid), t2.dot(&slid)]);
            }
            fill_answer(answer, &self.contacts, &mut self.compliance);
            outcome = self.solve(settings);
            let moved = self.answer_forces(answer);
            if moved < FITS_M {
                break;
            }
        }
        outcome
    }

    /// Displaces every node as the forces say; gives the farthest way, m.
    fn answer_forces(&mut self, answer: &StaticAnswer) -> f64 {
        let mut farthest: f64 = 0.0;
        for at in 0..self.shift.len() {
            let mut place = answer.sag(at);
            for (by, force) in self.force.iter().enumerate().filter(|(_, force)| **force != Vec3::zeros()) {
                place += answer.between(at, by) * force;
            }
            farthest = farthest.max((place - self.shift[at]).norm());
            self.shift[at] = place;
        }
        farthest
    }

    /// One passive step.
    fn move_on(
        &mut self,
        model: &ElasticModel,
        obstacles: &[Obstacle<'_>],
        reach_m: f64,
        step_s: f64,
        settings: &Settings,
    ) -> Outcome {
        self.look(model, obstacles, reach_m);
        let nodes = model.answer.nodes();
        let count = 3 * self.contacts.len();
        self.compliance.resize(count * count, 0.0);
        let prepared = match &mut self.inner {
            Inner::Still => true,
            Inner::Full { body, rows, work, none } => {
                rows.clear();
                for contact in &self.contacts {
                    let at = Attachment::node(nodes[contact.node]);
                    contact.directions.iter().for_each(|d| rows.push(&model.fem, &at, &-d));
                }
                body.prepare(none, step_s).is_ok() && body.compliance(rows, work, &mut self.compliance).is_ok()
            }
            Inner::Reduced { body, rows, none } => {
                let size = none.len();
                rows.clear();
                rows.resize(count * size, 0.0);
                let directions = self.contacts.iter().flat_map(|c| c.directions.map(|d| (nodes[c.node], d)));
                for ((node, direction), row) in directions.zip(rows.chunks_exact_mut(size)) {
                    body.add_force(node, &-direction, row);
                }
                let prepared = body.prepare(none, step_s).is_ok();
                body.compliance(rows, &mut self.compliance);
                prepared
            }
        };
        if !prepared {
            return Outcome::default();
        }
        // The law is on the velocity at the end, v⁺ = 2 v̂ − v: twice the compliance of the midpoint.
        self.compliance.iter_mut().for_each(|w| *w *= 2.0);
        self.free.clear();
        for contact in &self.contacts {
            let (free, before) = self.inner.speeds(&model.fem, nodes[contact.node]);
            let way = (free * 2.0 - before) * step_s;
            let [into, t1, t2] = contact.directions;
            let slid = carried(&obstacles[contact.obstacle], &contact.foot) - way;
            self.free.extend([contact.gap - into.dot(&way), t1.dot(&slid), t2.dot(&slid)]);
        }
        let outcome = self.solve(settings);
        self.inner.finish(&self.lambda);
        for (shift, node) in self.shift.iter_mut().zip(nodes) {
            *shift = self.inner.displacement(&model.fem, *node);
        }
        outcome
    }
}

impl Inner {
    /// Midpoint velocity without contact, and velocity at the start of the step, of a node.
    fn speeds(&self, fem: &FemModel, node: u32) -> (Vec3, Vec3) {
        match self {
            Self::Still => Default::default(),
            Self::Full { body, .. } => {
                let at = Attachment::node(node);
                (fem.field_at(&at, body.midpoint()), fem.field_at(&at, body.velocity()))
            }
            Self::Reduced { body, .. } => {
                (body.of_node(node, body.body().midpoint()), body.of_node(node, body.body().velocity()))
            }
        }
    }

    fn displacement(&self, fem: &FemModel, node: u32) -> Vec3 {
        match self {
            Self::Still => Vec3::zeros(),
            Self::Full { body, .. } => fem.field_at(&Attachment::node(node), body.position()),
            Self::Reduced { body, .. } => body.displacement(node),
        }
    }

    /// Ends the step under the forces found. Those that are not numbers are left out.
    fn finish(&mut self, lambda: &[f64]) {
        let sound = lambda.iter().all(|x| x.is_finite());
        match self {
            Self::Still => {}
            Self::Full { body, rows, none, .. } => {
                if sound {
                    let mut force = none.clone();
                    rows.add_transposed(lambda, &mut force);
                    // Sizes are the body's own: there is nothing to refuse.
                    let _ = body.apply_contact(&force);
                }
                body.finish();
            }
            Self::Reduced { body, rows, none } => {
                if sound {
                    let mut force = none.clone();
                    for (row, scale) in rows.chunks_exact(none.len()).zip(lambda) {
                        force.iter_mut().zip(row).for_each(|(sum, r)| *sum += scale * r);
                    }
                    let _ = body.apply_contact(&force);
                }
                body.finish();
            }
        }
    }
}

/// How far a point of an obstacle has been carried during the step.
fn carried(obstacle: &Obstacle<'_>, foot: &Vec3) -> Vec3 {
    let place = |pose: &Pose| pose.rotation * foot + pose.translation.vector;
    place(&obstacle.pose) - place(&obstacle.before)
}

/// `W = H G Hᵀ` of contacts, m/N, row-major.
pub(super) fn fill_answer(answer: &StaticAnswer, contacts: &[SoftContact], out: &mut Vec<f64>) {
    let count = 3 * contacts.len();
    out.clear();
    out.resize(count * count, 0.0);
    for (i, a) in contacts.iter().enumerate() {
        for (j, b) in contacts.iter().enumerate().take(i + 1) {
            let between = answer.between(a.node, b.node);
            for k in 0..3 {
                let left = between.transpose() * a.directions[k];
                for l in 0..3 {
                    let value = left.dot(&b.directions[l]);
                    out[(3 * i + k) * count + 3 * j + l] = value;
                    out[(3 * j + l) * count + 3 * i + k] = value;
                }
            }
        }
    }
}
