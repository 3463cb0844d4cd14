//! Rows of a contact: how fast its gap and its slip change with the twists of the two bodies.
//!
//! Thread: simulation.
//!
//! A contact holds for a whole step, during which bodies turn; rows taken where the step begins would be wrong by the first
//! order of the step, and a box tilting about its edge would gain or lose energy. A body that turns by `φ = T ω̂` moves a
//! point `r` fixed to it by exactly
//!
//! ```text
//!  Δ(x + R r) = T v̂ + R_½ (σ φ × r),   R_½ = R exp(φ/2),   σ = sin(|φ|/2) / (|φ|/2)
//! ```
//!
//! (the odd part of the exponential), so that with rows `[d; σ r × R_½ᵀd]` the product of row and midpoint twist is the
//! displacement over the step, not an approximation of it: an edge that sticks does not creep, does not sink, and does no
//! work. Since `φ` is not known before the forces are, `step` repeats rows and solve until they agree.
//!
//! The point of contact is not always fixed to the body. On something round it stays under the centre, on a rim below the
//! axis, while the body turns ([`Contour`]). The normal belongs to the other body, the one whose surface is touched. A ball
//! asks that surface for its normal anew wherever it goes; for corners, edges and rims the normal turns with the surface,
//! which is right to first order of the step only where the surface is curved.

use super::super::body::rigid::Mover;
use super::super::ids::{MoverId, PerMover};
use crate::collision::{Candidate, Side};
use crate::geometry::{Feature, Shape, Surface};
use crate::math::{Twist, Vec3, Vec6, steady_tangents};

/// How the touching point moves over the body that brought it, in that body's frame.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) enum Contour {
    /// Not at all: a corner.
    Fixed { point: Vec3 },
    /// It is the lowest point of a ball.
    Ball { center: Vec3, radius: f64 },
    /// It is the lowest point of a rim.
    Rim { center: Vec3, axis: Vec3, radius: f64 },
}

/// How far the point of a rim may lie from where the normal puts it and still count as its lowest point, in radii.
const LOWEST: f64 = 1e-4;

impl Contour {
    /// Contour of a candidate's feature, given in the frame of its body. `point` is where it touches, `down` the direction
    /// into the other body, in the same frame.
    pub(in crate::sim) fn of(feature: Option<&Feature>, point: &Vec3, down: &Vec3) -> Self {
        match feature {
            Some(Feature::Point { radius, .. } | Feature::Segment { radius, .. }) if *radius > 0.0 => {
                Self::Ball { center: point - down * *radius, radius: *radius }
            }
            Some(Feature::Circle { center, axis, radius, .. }) => {
                let rim = Self::Rim { center: *center, axis: *axis, radius: *radius };
                let (base, extra) = rim.arms(down);
                let lowest = (base + extra - point).norm() < LOWEST * radius;
                if lowest { rim } else { Self::Fixed { point: *point } }
            }
            _ => Self::Fixed { point: *point },
        }
    }

    /// Arm that turns with the body, and arm that stays where it is, with `down` in the body's frame.
    fn arms(&self, down: &Vec3) -> (Vec3, Vec3) {
        match *self {
            Self::Fixed { point } => (point, Vec3::zeros()),
            Self::Ball { center, radius } => (center, down * radius),
            Self::Rim { center, axis, radius } => {
                let across = down - axis * axis.dot(down);
                (center, across.try_normalize(1e-9).map_or_else(Vec3::zeros, |radial| radial * radius))
            }
        }
    }
}

/// A contact of this step.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Contact {
    pub candidate: Candidate,
    /// Movers A and B.
    pub movers: [MoverId; 2],
    pub contour: Contour,
    /// The side that the contour belongs to.
    pub holder: usize,
    /// The surface to ask for the normal, and which of its sheets; else the candidate's normal turns with its body.
    pub asked: Option<usize>,
    /// Rows (normal, two tangents) on the twist of A and of B.
    pub rows: [[Vec6; 3]; 2],
    pub directions: [Vec3; 3],
    pub friction: f64,
    pub restitution: f64,
}

impl Contact {
    /// A contact of a candidate between two movers, without rows yet. `features` are those of the body that brought the feature.
    pub(in crate::sim) fn new(
        candidate: &Candidate,
        sides: [MoverId; 2],
        movers: &PerMover<Mover>,
        features: &[Feature],
        material: (f64, f64),
    ) -> Self {
        let (holder, point, down) = match candidate.surface {
            Side::B => (0, &candidate.point_a, -candidate.normal),
            Side::A => (1, &candidate.point_b, candidate.normal),
        };
        let down = movers[sides[holder]].pose.rotation.inverse_transform_vector(&down);
        let mut contact = Self {
            candidate: *candidate,
            movers: sides,
            contour: Contour::of(features.get(candidate.feature()), point, &down),
            holder,
            asked: None,
            rows: [[Vec6::zeros(); 3]; 2],
            directions: [candidate.normal; 3],
            friction: material.0,
            restitution: material.1,
        };
        contact.ask(movers);
        contact
    }

    /// Finds out whether this is a ball on a surface that can be asked, whichever of the two was called the surface.
    fn ask(&mut self, movers: &PerMover<Mover>) {
        let (mut contour, mut holder, mut sheet) = (self.contour, self.holder, self.candidate.sheet());
        let owner = &movers[self.movers[1 - holder]];
        let held = &movers[self.movers[holder]];
        if let (Shape::Sphere(ball), true) = (&owner.shape, held.shape.is_convex()) {
            contour = Contour::Ball { center: owner.pose_body_shape.translation.vector, radius: ball.radius };
            (holder, sheet) = (1 - holder, 0);
        }
        // A node of a part is a ball of no size; the surface it touches is curved, and is asked as well.
        if let (Contour::Fixed { point }, true) = (contour, owner.shape.has_nodes()) {
            contour = Contour::Ball { center: point, radius: 0.0 };
        }
        let Contour::Ball { center, radius } = contour else { return };
        let ball = &movers[self.movers[holder]].pose;
        let surface = &movers[self.movers[1 - holder]];
        let found = surface.distance(&surface.pose, sheet, &(ball.rotation * center + ball.translation.vector));
        let outward = if holder == 0 { self.candidate.normal } else { -self.candidate.normal };
        // A contact that is not where the ball is nearest keeps its own normal.
        let same =
            (found.normal - outward).norm() < 1e-6 && (found.distance - radius - self.candidate.gap).abs() < 1e-9;
        if same {
            (self.contour, self.holder, self.asked) = (contour, holder, Some(sheet));
        }
    }

    /// One of the two is a machined part.
    pub(in crate::sim) fn is_of_part(&self, movers: &PerMover<Mover>) -> bool {
        self.pair(movers).iter().any(|mover| mover.shape.has_nodes())
    }

    /// The two movers.
    fn pair<'a>(&self, movers: &'a PerMover<Mover>) -> [&'a Mover; 2] {
        self.movers.map(|mover| &movers[mover])
    }

    /// The normal, from the second mover towards the first, with the movers as they are bent.
    fn normal(&self, held: &Mover, owner: &Mover) -> Vec3 {
        if let (Some(sheet), Contour::Ball { center, .. }) = (self.asked, self.contour) {
            let center = held.bent.pose.rotation * center + held.bent.pose.translation.vector;
            let outward = owner.distance(&owner.bent.pose, sheet, &center).normal;
            return if self.holder == 0 { outward } else { -outward };
        }
        owner.bent.pose.rotation * self.candidate.normal_local
    }

    /// Makes the rows for the movers as they are bent.
    pub(in crate::sim) fn place(&mut self, movers: &PerMover<Mover>) {
        let holder = self.holder;
        let pair = self.pair(movers);
        let (held, owner) = (pair[holder], pair[1 - holder]);
        let normal = self.normal(held, owner);
        // From the feature into the surface: against the normal when the feature is A's.
        let down = if holder == 0 { -normal } else { normal };
        let local = |mover: &Mover, v: &Vec3| mover.bent.pose.rotation.inverse_transform_vector(v);
        let (base, extra) = self.contour.arms(&local(held, &down));
        let mut arms = [Vec3::zeros(); 2];
        arms[holder] = base * held.bent.chord + extra;
        // One point for both, so that forces leave the angular momentum of the pair.
        let point = held.bent.pose.rotation * arms[holder] + held.bent.pose.translation.vector;
        arms[1 - holder] = local(owner, &(point - owner.bent.pose.translation.vector));
        let (t1, t2) = steady_tangents(&normal);
        self.directions = [normal, t1, t2];
        for side in 0..2 {
            let sign = if side == 0 { 1.0 } else { -1.0 };
            self.rows[side] =
                self.directions.map(|d| pair[side].bent.row(&arms[side], &d, &local(pair[side], &d)) * sign);
        }
    }

    /// Rate of row `k` under the twists that `of` picks.
    pub(in crate::sim) fn rate(&self, k: usize, movers: &PerMover<Mover>, of: impl Fn(&Mover) -> Twist) -> f64 {
        (0..2).map(|side| self.rows[side][k].dot(&of(&movers[self.movers[side]]))).sum()
    }
}
