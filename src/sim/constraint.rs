//! Constraints of a step: what sources produce and the solver solves, whatever the bodies.
//!
//! Thread: simulation.
//!
//! The violation of a row is `δ = d·(p_a − p_b)`; a positive force pushes A along `d` and B against it. A constraint between rigid
//! shapes is a [`Contact`], whose rows follow the shapes. Every other constraint is a [`Span`] between two ends.

use super::body::rigid::Mover;
use super::body::{Anchor, Body};
use super::ids::{BodyId, HandId, MoverId, PerMover};
use super::source::contact::Contact;
use crate::math::{Pose, Rot, Twist, Vec3, Vec6, join, log_so3};
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
    /// A wall of a cavity on a rigid body.
    Wall { mover: MoverId, wall: Wall, rows: [Vec6; 3] },
    /// A wall of a cavity on a tool, or on a rigid body whose motion is given, and its pose at the end of the step.
    LedWall { mover: MoverId, wall: Wall, end: Pose },
}

/// Change of a volume by the motion of a rigid wall, over an area.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wall {
    /// By displacement, in the world.
    pub area: Vec3,
    /// By rotation about the origin of the body, in the world, m.
    pub moment: Vec3,
    /// Pose of the body at which the volume was measured.
    pub at: Pose,
}

impl Wall {
    /// Change of the volume over the area from the pose at which it was measured, m.
    fn moved(&self, pose: &Pose) -> f64 {
        let turned = log_so3(&(pose.rotation * self.at.rotation.inverse()));
        self.area.dot(&(pose.translation.vector - self.at.translation.vector)) + self.moment.dot(&turned)
    }

    /// Row on the twist of a body with this rotation.
    pub(super) fn row(&self, rotation: &Rot) -> Vec6 {
        join(&self.area, &rotation.inverse_transform_vector(&self.moment))
    }
}

/// A constraint between two ends of any kind.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub ends: [End; 2],
    /// Directions of its rows in the world.
    pub directions: [Vec3; 3],
    /// Rows are rotations about their directions, violated by these angles at the start of the step, rad.
    pub turns: Option<[f64; 3]>,
    /// Added to the violation of the first row, m: of a cavity, its volume but for the places of its ends.
    pub offset: f64,
    /// From the anchor of a free soft body to the point that the force acts at, m.
    pub arms: [Vec3; 2],
    /// Point of the world that the force acts at on a rigid body; none: at its own point of the constraint.
    pub meet: Option<Vec3>,
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
            Self::Wall { mover, .. } => mover.body().filter(|_| movers[*mover].yields()),
            Self::Soft { body, .. } => Some(*body),
            Self::Still { .. } | Self::Tool { .. } | Self::Led { .. } | Self::LedWall { .. } => None,
        }
    }
}

/// When a place is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// At the start of the step.
    Start,
    /// At its end, as far as it is known without constraint forces; rigid bodies of the solve stay where they are.
    Free,
    /// As things stand.
    Now,
}

fn point_at(pose: &Pose, point: &Vec3) -> Vec3 {
    pose.rotation * point + pose.translation.vector
}

impl Span {
    /// A constraint between ends along three directions.
    pub(super) fn new(ends: [End; 2], directions: [Vec3; 3]) -> Self {
        Self { ends, directions, turns: None, offset: 0.0, arms: [Vec3::zeros(); 2], meet: None }
    }

    /// Lets a contact act at one point on both bodies, so that its forces leave their angular momentum: where the first body is touched at the
    /// start of the step. Friction across a gap would be a couple on the pair. Soft bodies that are held, and tools, take the force where they are
    /// touched.
    pub(super) fn meet(&mut self, bodies: &[Body]) {
        let soft = |side: usize| match &self.ends[side] {
            End::Soft { body, anchor } => Some((&bodies[*body], bodies[*body].start_place(anchor, 0))),
            _ => None,
        };
        match [soft(0), soft(1)] {
            [Some((_, here)), Some((body, there))] if body.takes_arms() => self.arms[1] = here - there,
            [Some((body, here)), Some((_, there))] if body.takes_arms() => self.arms[0] = there - here,
            [Some((body, here)), None] | [None, Some((body, here))] if body.takes_arms() => self.meet = Some(here),
            _ => {}
        }
    }

    /// Lets a contact of a free soft and a rigid body act where the soft body is now.
    pub(super) fn meet_now(&mut self, bodies: &[Body]) {
        let place = |end: &End| match end {
            End::Soft { body, anchor } => Some(bodies[*body].place(anchor, 0)),
            _ => None,
        };
        if self.meet.is_some() {
            self.meet = self.ends.iter().find_map(place);
        }
    }

    /// Makes the rows of its rigid ends.
    fn place(&mut self, movers: &PerMover<Mover>) {
        let (directions, turns, meet) = (self.directions, self.turns.is_some(), self.meet);
        for (side, end) in self.ends.iter_mut().enumerate() {
            match end {
                End::Rigid { mover, point_body, rows } => {
                    let bent = &movers[*mover].bent;
                    *rows = directions.map(|d| {
                        let row = match meet {
                            _ if turns => join(&Vec3::zeros(), &bent.pose.rotation.inverse_transform_vector(&d)),
                            Some(point) => bent.row_at(&point, &d),
                            None => bent.row_of_point(point_body, &d),
                        };
                        row * sign(side)
                    });
                }
                End::Led { mover, point_body, start, end } => {
                    let mover = &movers[*mover];
                    *start = point_at(&mover.pose, point_body);
                    *end = point_at(&mover.coming(), point_body);
                }
                End::Wall { mover, wall, rows } => {
                    rows[0] = wall.row(&movers[*mover].bent.pose.rotation) * sign(side);
                }
                End::LedWall { mover, end, .. } if !mover.is_tool() => *end = movers[*mover].coming(),
                End::Still { .. } | End::Tool { .. } | End::Soft { .. } | End::LedWall { .. } => {}
            }
        }
    }

    /// Place along row `row`, from A to B. `soft` picks the place of an anchor.
    fn along(
        &self,
        row: usize,
        movers: &PerMover<Mover>,
        when: When,
        soft: impl Fn(BodyId, &Anchor, usize) -> Vec3,
    ) -> f64 {
        let place = |end: &End| match end {
            End::Still { point, .. } => *point,
            End::Tool { start, .. } | End::Led { start, .. } if when == When::Start => *start,
            End::Tool { end, .. } => *end,
            End::Led { end, .. } if when == When::Free => *end,
            End::Rigid { mover, point_body, .. } | End::Led { mover, point_body, .. } => {
                point_at(&movers[*mover].pose, point_body)
            }
            End::Soft { body, anchor } => soft(*body, anchor, row),
            End::Wall { mover, wall, .. } => Vec3::new(wall.moved(&movers[*mover].pose), 0.0, 0.0),
            End::LedWall { .. } if when == When::Start => Vec3::zeros(),
            End::LedWall { mover, wall, .. } if when == When::Now && !mover.is_tool() => {
                Vec3::new(wall.moved(&movers[*mover].pose), 0.0, 0.0)
            }
            End::LedWall { wall, end, .. } => Vec3::new(wall.moved(end), 0.0, 0.0),
        };
        let own = if row == 0 { self.offset } else { 0.0 };
        self.directions[row].dot(&(place(&self.ends[0]) - place(&self.ends[1]))) + own
    }

    /// Place along the first row at the start of the step, with the walls where the volume was measured.
    pub(super) fn at_start(&self, bodies: &[Body]) -> f64 {
        self.soft_along(0, &|body, anchor: &Anchor, row| bodies[body].start_place(anchor, row))
    }

    /// Share of the soft ends in the place of row `row`; `soft` picks the place of an anchor.
    pub(super) fn soft_along(&self, row: usize, soft: &impl Fn(BodyId, &Anchor, usize) -> Vec3) -> f64 {
        let share = |(side, end): (usize, &End)| match end {
            End::Soft { body, anchor } => sign(side) * self.directions[row].dot(&soft(*body, anchor, row)),
            _ => 0.0,
        };
        self.ends.iter().enumerate().map(share).sum()
    }

    /// Speed along row `row` of the arms on soft bodies that turn without constraint forces, m/s.
    fn arms_along(&self, row: usize, bodies: &[Body]) -> f64 {
        let share = |(side, arm): (usize, &Vec3)| match &self.ends[side] {
            End::Soft { body, .. } if *arm != Vec3::zeros() => {
                sign(side) * self.directions[row].dot(&bodies[*body].free_rate().cross(arm))
            }
            _ => 0.0,
        };
        self.arms.iter().enumerate().map(share).sum()
    }

    /// Violation of row `row` now.
    pub(super) fn violation(&self, row: usize, movers: &PerMover<Mover>, bodies: &[Body]) -> f64 {
        match self.turns {
            Some(angles) => angles[row],
            None => self.along(row, movers, When::Now, |body, anchor, row| bodies[body].place(anchor, row)),
        }
    }

    /// Share of ends whose motion is given by that of rigid bodies in the place of row `row` at the end of the step; none without such an end.
    fn led_along(&self, row: usize) -> Option<f64> {
        let share = |(side, end): (usize, &End)| match end {
            End::Led { end, .. } => Some(sign(side) * self.directions[row].dot(end)),
            End::LedWall { mover, wall, end } if !mover.is_tool() => Some(sign(side) * wall.moved(end)),
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
                End::Rigid { mover, rows, .. } | End::Wall { mover, rows, .. } => Some((*mover, rows)),
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
            return angles[row] + moved;
        }
        let end = span.along(row, movers, When::Free, |body, anchor, row| bodies[body].free_place(anchor, row))
            + step_s * span.arms_along(row, bodies);
        if self.law.meaning(row) != Meaning::Slip {
            return end + moved;
        }
        let start = span.along(row, movers, When::Start, |body, anchor, row| bodies[body].start_place(anchor, row));
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
            End::Tool { .. } | End::Led { .. } | End::Wall { .. } | End::LedWall { .. } => None,
            End::Rigid { mover, point_body, .. } => Some((mover.body()?, point_at(&movers[*mover].pose, point_body))),
            End::Soft { body, anchor } => Some((*body, bodies[*body].place(anchor, 0))),
        };
        let (a, b) = (place(&span.ends[0])?, place(&span.ends[1])?);
        Some(([a.0, b.0], a.1))
    }
}
