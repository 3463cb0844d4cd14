//! Linear elastic bodies that are held.
//!
//! Thread: simulation. Everything is in the carrier frame.
//!
//! Two ways to step. **Static**: the place of rest, `x = G f`, found for the deformed nodes again until contacts and displacements
//! agree. **Passive**: seed 000 eqs 2–4 and 28, whole or reduced, with the law on the velocity at the end of the step, for steps that
//! resolve the ringing. Passive midpoint steps that are longer would ring for ever: where the slowest vibration has fewer than
//! [`RESOLVED`] steps in a period, a body with time steps from rest to rest as well.
//!
//! Either way the haptic tick gets `G` and the place of each node at rest without force ([`super::super::publish`]); of a body with time
//! also its slow vibrations, which the tick follows itself. What the hand feels is the same at every rate of the simulation.

use super::carrier::{CarriedBy, Carrier};
use super::surface::SoftSkin;
use super::{Anchor, FemRows, Point, SoftBody, SoftRow, When, place_of};
use crate::fem::{
    Attachment, ElasticBody, FemError, FemModel, FemSkin, ReducedBody, ReducedModel, SlowVibrations, StaticAnswer,
    StaticBody,
};
use crate::geometry::tet::TetMesh;
use crate::math::{Pose, Vec3};
use crate::mechanism::MAX_VIBRATIONS;
use crate::mechanism::pmi::{Accuracy, LinearError};
use std::sync::Arc;

/// Stands for a node that is not among the touching ones.
const NONE: u32 = u32::MAX;
/// Least number of steps in a period of the slowest vibration for passive steps. With 6 the midpoint rule is off by 8 % in frequency.
const RESOLVED: f64 = 6.0;
/// Frequency up to which vibrations travel to the haptic tick, Hz: more than a tick of 4 kHz can follow.
const FOLLOWED_HZ: f64 = 2000.0;

/// How a linear elastic body steps.
#[derive(Clone, Debug)]
pub enum Stepping {
    /// From rest to rest.
    Static,
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

/// What does not change about a linear elastic body.
#[derive(Clone, Debug)]
pub struct ElasticModel {
    /// The full model.
    pub fem: Arc<FemModel>,
    /// Static answer of its touching nodes.
    pub answer: StaticAnswer,
    /// How it steps.
    pub stepping: Stepping,
    /// Its slow vibrations, by place among the touching nodes; none for a body without time.
    pub vibrations: Option<SlowVibrations>,
    /// Acceleration of gravity in the carrier frame, m/s².
    pub gravity: Vec3,
    /// Triangles that are drawn, if any.
    pub skin: Option<FemSkin>,
    /// Surface that contacts are detected on.
    pub surface: Arc<SoftSkin>,
    /// Place of each node among those that can be touched.
    touch_of: Vec<u32>,
}

impl ElasticModel {
    /// A body made of `fem`, which was made from `mesh`, whose nodes `touching` can be touched.
    ///
    /// # Errors
    /// When the body is not held, or the matrices of a reduced model are not those of a body.
    pub fn new(
        fem: Arc<FemModel>,
        mesh: &TetMesh,
        touching: &[u32],
        gravity: Vec3,
        stepping: Stepping,
    ) -> Result<Self, ElasticError> {
        let answer = StaticAnswer::new(&fem, touching, &gravity)?;
        if let Stepping::Reduced(reduced) = &stepping {
            ReducedBody::new(reduced.clone(), gravity, Accuracy::Plain)?;
        }
        let vibrations = match &stepping {
            Stepping::Static => None,
            _ => Some(SlowVibrations::new(&fem, answer.nodes(), FOLLOWED_HZ, MAX_VIBRATIONS)?),
        };
        let mut touch_of = vec![NONE; fem.node_count()];
        for (at, node) in (0..).zip(answer.nodes()) {
            touch_of[*node as usize] = at;
        }
        let surface = Arc::new(SoftSkin::touching(mesh, answer.nodes()));
        Ok(Self { fem, answer, stepping, vibrations, gravity, skin: None, surface, touch_of })
    }

    /// The same to be drawn, by the surface of the mesh it was made from.
    #[must_use]
    pub fn shown(mut self, mesh: &TetMesh) -> Self {
        self.skin = Some(FemSkin::with_materials(&self.fem, mesh));
        self
    }

    fn touch(&self, node: u32) -> Option<usize> {
        let at = *self.touch_of.get(node as usize)?;
        (at != NONE).then_some(at as usize)
    }
}

/// The body behind the touching nodes.
enum Inner {
    Static,
    Full { body: Box<ElasticBody>, none: Vec<f64> },
    Reduced { body: Box<ReducedBody>, rows: Vec<f64>, none: Vec<f64> },
}

/// Rows on the touching nodes: numbers of row `k` are `parts[first[k]..first[k + 1]]`.
#[derive(Default)]
struct TouchRows {
    first: Vec<usize>,
    parts: Vec<(usize, Vec3)>,
}

impl TouchRows {
    fn of(&self, row: usize) -> &[(usize, Vec3)] {
        &self.parts[self.first[row]..self.first[row + 1]]
    }
}

/// See the file's head.
pub struct Elastic {
    model: Arc<ElasticModel>,
    inner: Inner,
    /// The body goes from rest to rest in the step under way.
    is_static: bool,
    carrier: Carrier,
    /// Displacement of each touching node, and that at the start of the step.
    shift: Vec<Vec3>,
    start: Vec<Vec3>,
    /// Mean force of constraints on each over the last step, N.
    force: Vec<Vec3>,
    step_s: f64,
    rows: FemRows,
    touches: TouchRows,
}

impl Elastic {
    /// The body at rest at `pose`, on a carrier that `by` moves.
    #[must_use]
    pub(in crate::sim) fn new(model: Arc<ElasticModel>, pose: Pose, by: Option<CarriedBy>) -> Self {
        let none = |size: usize| vec![0.0; size];
        let inner = match &model.stepping {
            Stepping::Static => Inner::Static,
            Stepping::Passive => Inner::Full {
                body: Box::new(ElasticBody::new(model.fem.clone(), model.gravity, Accuracy::Plain)),
                none: none(model.fem.size()),
            },
            Stepping::Reduced(reduced) => {
                // The model has been checked: it makes a body.
                let body = ReducedBody::new(reduced.clone(), model.gravity, Accuracy::Plain);
                let moving =
                    |body| Inner::Reduced { body: Box::new(body), rows: Vec::new(), none: none(reduced.size()) };
                body.map_or(Inner::Static, moving)
            }
        };
        let count = model.answer.nodes().len();
        let is_static = matches!(inner, Inner::Static);
        let shift: Vec<Vec3> =
            (0..count).map(|k| if is_static { model.answer.sag(k) } else { Vec3::zeros() }).collect();
        Self {
            inner,
            is_static,
            carrier: Carrier::new(by, pose),
            start: shift.clone(),
            shift,
            force: vec![Vec3::zeros(); count],
            step_s: 0.0,
            rows: FemRows::default(),
            touches: TouchRows::default(),
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
            Inner::Full { body, .. } if !self.is_static => body.position(),
            _ => {
                let forces = self.model.answer.nodes().iter().copied().zip(self.force.iter().copied());
                still.under(&self.model.fem, forces)
            }
        }
    }

    /// Sum of the constraint forces on the body over the last step, N, in the carrier frame.
    #[must_use]
    pub fn pressed(&self) -> Vec3 {
        self.force.iter().sum()
    }

    /// Force of the support on the body over the last step, N, in the carrier frame: with its inertia where the whole body moves.
    #[must_use]
    pub fn reaction(&self) -> Vec3 {
        match &self.inner {
            Inner::Full { body, .. } if !self.is_static => body.reaction(),
            _ => -self.pressed(),
        }
    }

    /// Numbers of rows on the touching nodes, in the carrier frame.
    fn collect(&mut self, rows: &[SoftRow<'_>]) {
        let touches = &mut self.touches;
        touches.first.clear();
        touches.parts.clear();
        touches.first.push(0);
        for row in rows {
            row.on_nodes(&self.carrier, |node, force| {
                touches.parts.extend(self.model.touch(node).map(|at| (at, force)));
            });
            touches.first.push(touches.parts.len());
        }
    }

    /// `H G Hᵀ`.
    fn fill_answer(&self, count: usize, out: &mut [f64]) {
        let answer = &self.model.answer;
        for i in 0..count {
            for j in 0..=i {
                let mut value = 0.0;
                for (a, left) in self.touches.of(i) {
                    for (b, right) in self.touches.of(j) {
                        value += left.dot(&(answer.between(*a, *b) * right));
                    }
                }
                out[i * count + j] = value;
                out[j * count + i] = value;
            }
        }
    }

    fn load_inner(&mut self, rows: &[SoftRow<'_>], forces: &[f64]) {
        match &mut self.inner {
            Inner::Static => {}
            Inner::Full { body, .. } => {
                self.rows.collect(&self.model.fem, &self.carrier, rows);
                // Of the body's own size.
                let _ = body.apply_contact(self.rows.transposed(&self.model.fem, forces));
            }
            Inner::Reduced { body, rows: shapes, none } => {
                let mut force = none.clone();
                for (shape, scale) in shapes.chunks_exact(none.len().max(1)).zip(forces) {
                    force.iter_mut().zip(shape).for_each(|(sum, r)| *sum += scale * r);
                }
                let _ = body.apply_contact(&force);
            }
        }
    }

    /// Displaces every node as the forces say; gives the largest change, m.
    fn come_to_rest(&mut self) -> f64 {
        let answer = &self.model.answer;
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

    /// Weighted sum over the touching nodes of a point.
    fn sum(&self, point: &Point, of: impl Fn(usize) -> Vec3) -> Vec3 {
        point.spread.parts().filter_map(|(node, weight)| Some(of(self.model.touch(node)?) * weight)).sum()
    }

    /// Slow vibrations of a body with time.
    pub(in crate::sim) fn vibrations(&self) -> Option<&SlowVibrations> {
        self.model.vibrations.as_ref()
    }

    /// How a slow vibration of unit amplitude moves an anchor, in the world.
    pub(in crate::sim) fn shape(&self, anchor: &Anchor, number: usize) -> Vec3 {
        let of = |at: usize| self.model.vibrations.as_ref().map_or(Vec3::zeros(), |slow| slow.at(at)[number]);
        anchor.point(0).map_or(Vec3::zeros(), |point| self.carrier.pose.rotation * self.sum(point, of))
    }

    /// Place of an anchor once the body has come to rest under the forces of the step, in the world.
    pub(in crate::sim) fn place_at_rest(&self, anchor: &Anchor) -> Vec3 {
        let answer = &self.model.answer;
        let pressed = || self.force.iter().enumerate().filter(|(_, force)| **force != Vec3::zeros());
        let at_rest = |at: usize| match self.is_static {
            true => self.shift[at],
            false => answer.sag(at) + pressed().map(|(by, force)| answer.between(at, by) * force).sum::<Vec3>(),
        };
        let pose = &self.carrier.pose;
        let local = anchor.value(0, |node| self.model.touch(node).map_or(Vec3::zeros(), at_rest));
        pose.rotation * local + pose.translation.vector
    }

    /// Place of a point of the body now, in the world.
    #[must_use]
    pub fn place_now(&self, point: &Point) -> Vec3 {
        match &self.inner {
            Inner::Full { body, .. } if !self.is_static => {
                place_of(&self.model.fem, &self.carrier.pose, point, body.position())
            }
            _ => {
                let pose = &self.carrier.pose;
                pose.rotation * (point.rest + self.sum(point, |at| self.shift[at])) + pose.translation.vector
            }
        }
    }
}

impl SoftBody for Elastic {
    fn carrier(&self) -> &Carrier {
        &self.carrier
    }

    fn carrier_mut(&mut self) -> &mut Carrier {
        &mut self.carrier
    }

    fn prepare(&mut self, step_s: f64) -> bool {
        self.step_s = step_s;
        let slow = self.model.vibrations.as_ref();
        let period_s = slow.map_or(f64::INFINITY, |slow| std::f64::consts::TAU / slow.slowest.sqrt());
        let at_rest = matches!(self.inner, Inner::Static) || self.carrier.moves();
        self.is_static = at_rest || RESOLVED * step_s > period_s;
        match &mut self.inner {
            _ if self.is_static => true,
            Inner::Static => true,
            Inner::Full { body, none } => body.prepare(none, step_s).is_ok(),
            Inner::Reduced { body, none, .. } => body.prepare(none, step_s).is_ok(),
        }
    }

    fn compliance(&mut self, rows: &[SoftRow<'_>], out: &mut [f64]) {
        if self.is_static {
            self.collect(rows);
            self.fill_answer(rows.len(), out);
            return;
        }
        match &mut self.inner {
            Inner::Static => {}
            Inner::Full { body, .. } => {
                self.rows.collect(&self.model.fem, &self.carrier, rows);
                // Fails only before the first step.
                let _ = body.compliance(&self.rows.rows, &mut self.rows.work, out);
            }
            Inner::Reduced { body, rows: shapes, none } => {
                let size = none.len();
                shapes.clear();
                shapes.resize(rows.len() * size, 0.0);
                for (row, shape) in rows.iter().zip(shapes.chunks_exact_mut(size.max(1))) {
                    row.on_nodes(&self.carrier, |node, force| body.add_force(node, &force, shape));
                }
                body.compliance(shapes, out);
            }
        }
        // The law is on the velocity at the end, v⁺ = 2 v̂ − v: twice the compliance of the midpoint.
        out.iter_mut().for_each(|w| *w *= 2.0);
    }

    fn answer(&mut self, rows: &[SoftRow<'_>], out: &mut [f64]) -> bool {
        if self.is_static {
            return false;
        }
        self.collect(rows);
        self.fill_answer(rows.len(), out);
        true
    }

    fn apply(&mut self, rows: &[SoftRow<'_>], forces: &[f64], last: bool) -> f64 {
        let at_rest = self.is_static;
        // A static body takes the forces of every pass, the last one too, before it is the last.
        if at_rest == last {
            return 0.0;
        }
        self.collect(rows);
        self.force.fill(Vec3::zeros());
        for (row, force) in forces.iter().enumerate() {
            for (at, value) in self.touches.of(row) {
                self.force[*at] += value * *force;
            }
        }
        if at_rest {
            return self.come_to_rest();
        }
        if forces.iter().all(|x| x.is_finite()) {
            self.load_inner(rows, forces);
        }
        0.0
    }

    fn finish(&mut self, _step_s: f64) -> bool {
        if !self.is_static {
            match &mut self.inner {
                Inner::Static => {}
                Inner::Full { body, .. } => body.finish(),
                Inner::Reduced { body, .. } => body.finish(),
            }
            for (shift, node) in self.shift.iter_mut().zip(self.model.answer.nodes()) {
                *shift = self.inner.displacement(&self.model.fem, *node);
            }
        }
        self.start.copy_from_slice(&self.shift);
        self.shift.iter().all(|shift| shift.iter().all(|x| x.is_finite()))
    }

    fn energy_j(&self) -> f64 {
        match &self.inner {
            Inner::Full { body, .. } if !self.is_static => body.ledger().total_j(),
            Inner::Reduced { body, .. } if !self.is_static => body.ledger().total_j(),
            _ => {
                let work = |(k, f): (usize, &Vec3)| 0.5 * f.dot(&(self.shift[k] - self.model.answer.sag(k)));
                self.force.iter().enumerate().map(work).sum()
            }
        }
    }

    fn rest(&self, node: u32) -> Vec3 {
        self.model.fem.rest()[node as usize]
    }

    fn displacement(&self, node: u32, when: When) -> Vec3 {
        let Some(at) = self.model.touch(node) else { return Vec3::zeros() };
        match when {
            When::Start => self.start[at],
            When::Now => self.shift[at],
            When::Free if self.is_static => self.model.answer.sag(at),
            When::Free => {
                let (free, before) = self.inner.speeds(&self.model.fem, node);
                self.start[at] + (free * 2.0 - before) * self.step_s
            }
        }
    }

    fn reaches(&self, node: u32) -> bool {
        self.model.touch(node).is_some()
    }

    fn skin(&self) -> Option<&Arc<SoftSkin>> {
        Some(&self.model.surface)
    }
}

impl Inner {
    /// Midpoint velocity without contact, and velocity at the start of the step, of a node.
    fn speeds(&self, fem: &FemModel, node: u32) -> (Vec3, Vec3) {
        match self {
            Self::Static => Default::default(),
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
            Self::Static => Vec3::zeros(),
            Self::Full { body, .. } => fem.field_at(&Attachment::node(node), body.position()),
            Self::Reduced { body, .. } => body.displacement(node),
        }
    }
}
