//! Constraints of a step: what sources produce and the solver solves, whatever the bodies.
//!
//! Thread: simulation.
//!
//! The violation of a row is `δ = d·(p_a − p_b)`; a positive force pushes A along `d` and B against it. A constraint between rigid
//! shapes is a [`Contact`], whose rows follow the shapes. Every other constraint is a [`Span`] between two ends.

use super::body::rigid::Mover;
use super::body::{Anchor, Body, When};
use super::ids::{BodyId, HandId, MoverId, PerMover};
use super::source::contact::Contact;
use crate::math::{Pose, Twist, Vec3, Vec6, join};
use crate::mechanism::{BlockId, Law, Meaning};

/// What a constraint acts on, on one side.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// A point of the world, and the body that it belongs to, if any.
    Still { body: Option<BodyId>, point: Vec3 },
    /// A point of a tool, which the simulation does not move: its place at the start and at the end of the step.
    Tool { hand: HandId, point_tool: Vec3, start: Vec3, end: Vec3 },
    /// A point of a rigid body, and the row on its twist.
    Rigid { mover: MoverId, point_body: Vec3, rows: [Vec6; 3] },
    /// A point of a rigid body whose motion is given, since the haptic thread moves it: its place at the start and at the end of the step.
    Led { mover: MoverId, point_body: Vec3, start: Vec3, end: Vec3 },
    /// An anchor of a soft body.
    Soft { body: BodyId, anchor: Anchor },
}

/// A constraint between two ends of any kind.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub ends: [End; 2],
    /// Directions of its rows in the world.
    pub directions: [Vec3; 3],
    /// Rows are rotations about their directions, violated by these angles at the start of the step, rad.
    pub turns: Option<[f64; 3]>,
}

/// How the rows of a constraint are made.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Contact(Contact),
    Span(Span),
}

/// See the file's head.
#[derive(Clone, Debug)]
pub(super) struct Constraint {
    pub id: BlockId,
    pub law: Law,
    /// First row in the problem of the step.
    pub first: usize,
    pub kind: Kind,
}

/// Sign of a side in a violation.
pub(super) fn sign(side: usize) -> f64 {
    if side == 0 { 1.0 } else { -1.0 }
}

impl End {
    /// The body that yields here.
    fn yielding(&self, movers: &PerMover<Mover>) -> Option<BodyId> {
        match self {
            Self::Rigid { mover, .. } => mover.body().filter(|_| movers[*mover].yields()),
            Self::Soft { body, .. } => Some(*body),
            Self::Still { .. } | Self::Tool { .. } | Self::Led { .. } => None,
        }
    }
}

fn point_at(pose: &Pose, point: &Vec3) -> Vec3 {
    pose.rotation * point + pose.translation.vector
}

impl Span {
    /// A constraint between ends along three directions.
    pub(super) fn new(ends: [End; 2], directions: [Vec3; 3]) -> Self {
        Self { ends, directions, turns: None }
    }

    /// Makes the rows of its rigid ends.
    fn place(&mut self, movers: &PerMover<Mover>) {
        let (directions, turns) = (self.directions, self.turns.is_some());
        for (side, end) in self.ends.iter_mut().enumerate() {
            match end {
                End::Rigid { mover, point_body, rows } => {
                    let bent = &movers[*mover].bent;
                    *rows = directions.map(|d| {
                        let row = if turns {
                            join(&Vec3::zeros(), &bent.pose.rotation.inverse_transform_vector(&d))
                        } else {
                            bent.row_of_point(point_body, &d)
                        };
                        row * sign(side)
                    });
                }
                End::Led { mover, point_body, start, end } => {
                    let mover = &movers[*mover];
                    *start = point_at(&mover.pose, point_body);
                    *end = point_at(&mover.coming(), point_body);
                }
                End::Still { .. } | End::Tool { .. } | End::Soft { .. } => {}
            }
        }
    }

    /// Place along row `row`, from A to B. Rigid bodies of the solve stay where they are.
    fn along(&self, row: usize, movers: &PerMover<Mover>, bodies: &[Body], when: When) -> f64 {
        let place = |end: &End| match end {
            End::Still { point, .. } => *point,
            End::Tool { start, .. } | End::Led { start, .. } if when == When::Start => *start,
            End::Tool { end, .. } => *end,
            End::Led { end, .. } if when == When::Free => *end,
            End::Rigid { mover, point_body, .. } | End::Led { mover, point_body, .. } => {
                point_at(&movers[*mover].pose, point_body)
            }
            End::Soft { body, anchor } => bodies[*body].place(anchor, row, when),
        };
        self.directions[row].dot(&(place(&self.ends[0]) - place(&self.ends[1])))
    }

    /// Share of the soft ends in the place of row `row`.
    pub(super) fn soft_along(&self, row: usize, bodies: &[Body], when: When) -> f64 {
        let share = |(side, end): (usize, &End)| match end {
            End::Soft { body, anchor } => {
                sign(side) * self.directions[row].dot(&bodies[*body].place(anchor, row, when))
            }
            _ => 0.0,
        };
        self.ends.iter().enumerate().map(share).sum()
    }

    /// Violation of row `row` now.
    pub(super) fn violation(&self, row: usize, movers: &PerMover<Mover>, bodies: &[Body]) -> f64 {
        match self.turns {
            Some(angles) => angles[row],
            None => self.along(row, movers, bodies, When::Now),
        }
    }

    /// Share of ends whose motion is given by that of rigid bodies in the place of row `row` at the end of the step; none without such an end.
    fn led_along(&self, row: usize) -> Option<f64> {
        let share = |(side, end): (usize, &End)| match end {
            End::Led { end, .. } => Some(sign(side) * self.directions[row].dot(end)),
            _ => None,
        };
        self.ends.iter().enumerate().filter_map(share).reduce(|a, b| a + b)
    }
}

impl Constraint {
    /// A contact of rigid shapes.
    pub(super) fn of_contact(contact: &Contact) -> Self {
        let law = Law::Contact { friction: contact.friction, compliance: 0.0 };
        Self { id: BlockId::Contact(contact.candidate.id), law, first: 0, kind: Kind::Contact(*contact) }
    }

    /// A constraint between ends.
    pub(super) fn of_span(id: BlockId, law: Law, span: Span) -> Self {
        Self { id, law, first: 0, kind: Kind::Span(span) }
    }

    /// Its rows in the problem of the step.
    pub(super) fn rows(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.law.rows()
    }

    /// Directions of its rows in the world.
    pub(super) fn directions(&self) -> &[Vec3; 3] {
        match &self.kind {
            Kind::Contact(contact) => &contact.directions,
            Kind::Span(span) => &span.directions,
        }
    }

    /// The span, where it is one.
    pub(super) fn span(&self) -> Option<&Span> {
        if let Kind::Span(span) = &self.kind { Some(span) } else { None }
    }

    /// The rigid contact, where it is one.
    pub(super) fn contact(&self) -> Option<&Contact> {
        if let Kind::Contact(contact) = &self.kind { Some(contact) } else { None }
    }

    /// Rows on the twist of the rigid body on a side, and which mover that is.
    pub(super) fn rigid_rows(&self, side: usize) -> Option<(MoverId, &[Vec6; 3])> {
        match &self.kind {
            Kind::Contact(contact) => Some((contact.movers[side], &contact.rows[side])),
            Kind::Span(span) => match &span.ends[side] {
                End::Rigid { mover, rows, .. } => Some((*mover, rows)),
                _ => None,
            },
        }
    }

    /// Anchor on the soft body on a side, and which body that is.
    pub(super) fn soft_end(&self, side: usize) -> Option<(BodyId, &Anchor)> {
        match self.span().map(|span| &span.ends[side]) {
            Some(End::Soft { body, anchor }) => Some((*body, anchor)),
            _ => None,
        }
    }

    /// One of its ends is soft.
    pub(super) fn is_soft(&self) -> bool {
        (0..2).any(|side| self.soft_end(side).is_some())
    }

    /// The bodies that yield at its ends.
    pub(super) fn yielding(&self, movers: &PerMover<Mover>) -> [Option<BodyId>; 2] {
        match &self.kind {
            Kind::Contact(contact) => contact.movers.map(|m| m.body().filter(|_| movers[m].yields())),
            Kind::Span(span) => [0, 1].map(|side: usize| span.ends[side].yielding(movers)),
        }
    }

    /// Makes the rows of its rigid ends for the movers as they are bent.
    pub(super) fn place(&mut self, movers: &PerMover<Mover>) {
        match &mut self.kind {
            Kind::Contact(contact) => contact.place(movers),
            Kind::Span(span) => span.place(movers),
        }
    }

    /// Rate of row `row` under the twists of rigid bodies that `of` picks.
    pub(super) fn rate(&self, row: usize, movers: &PerMover<Mover>, of: impl Fn(&Mover) -> Twist) -> f64 {
        (0..2).filter_map(|side| self.rigid_rows(side)).map(|(m, rows)| rows[row].dot(&of(&movers[m]))).sum()
    }

    /// How far ends whose motion is given are along row `row` at the end of the step; none without such an end.
    pub(super) fn led_along(&self, row: usize) -> Option<f64> {
        self.span().and_then(|span| span.led_along(row))
    }

    /// Free violation of row `row` at the end of a step of `step_s`. `lambda` is the force of the row in the last step.
    pub(super) fn free(&self, row: usize, movers: &PerMover<Mover>, bodies: &[Body], step_s: f64, lambda: f64) -> f64 {
        let moved = step_s * self.rate(row, movers, |mover| mover.free + mover.creep);
        let span = match &self.kind {
            Kind::Contact(contact) => {
                return if row == 0 { contact.candidate.gap.max(0.0) } else { 0.0 } + moved;
            }
            Kind::Span(span) => span,
        };
        if let Some(angles) = span.turns {
            return angles[row] + moved + span.soft_along(row, bodies, When::Free);
        }
        let end = span.along(row, movers, bodies, When::Free);
        if self.law.meaning(row) != Meaning::Slip {
            return end + moved;
        }
        let start = span.along(row, movers, bodies, When::Start);
        // Slip rows carry no stored compliance deflection.
        end - start + moved - self.law.compliance() * lambda
    }

    /// The two bodies of the scene that it touches, and where, in the world; none where one of them is a tool or the world.
    pub(super) fn touching(&self, movers: &PerMover<Mover>, bodies: &[Body]) -> Option<([BodyId; 2], Vec3)> {
        let span = match &self.kind {
            Kind::Contact(contact) => {
                let point = contact.candidate.point_a_world(&movers[contact.movers[0]].pose);
                let [a, b] = contact.movers.map(MoverId::body);
                return Some(([a?, b?], point));
            }
            Kind::Span(span) => span,
        };
        let place = |end: &End| match end {
            End::Still { body, point } => Some(((*body)?, *point)),
            End::Tool { .. } | End::Led { .. } => None,
            End::Rigid { mover, point_body, .. } => Some((mover.body()?, point_at(&movers[*mover].pose, point_body))),
            End::Soft { body, anchor } => Some((*body, bodies[*body].place(anchor, 0, When::Now))),
        };
        let (a, b) = (place(&span.ends[0])?, place(&span.ends[1])?);
        Some(([a.0, b.0], a.1))
    }
}
