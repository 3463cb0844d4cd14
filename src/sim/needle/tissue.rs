//! Tissue in motion, and points of it: from the body at rest to the world and back.
//!
//! Thread: simulation.

use super::TissueModel;
use crate::fem::{FemError, Spread, TissueBody};
use crate::math::{Pose, Vec3};
use std::sync::Arc;

/// Where a force on a point is spread to, in radii of the ball: its centre and the points of an octahedron.
const BALL: [[f64; 3]; 7] = [
    [0.0, 0.0, 0.0],
    [0.7, 0.0, 0.0],
    [-0.7, 0.0, 0.0],
    [0.0, 0.7, 0.0],
    [0.0, -0.7, 0.0],
    [0.0, 0.0, 0.7],
    [0.0, 0.0, -0.7],
];
/// Most steps of the search for the point at rest behind a point of the world.
const SEARCH: u32 = 12;
/// How near it comes, m.
const FOUND_M: f64 = 1e-10;

/// A point of tissue.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// Where it is at rest, in the frame of the body.
    pub rest: Vec3,
    /// The part of the body that moves with it.
    pub spread: Spread,
}

/// See the file's head.
pub(super) struct Tissue {
    pub model: Arc<TissueModel>,
    pub body: TissueBody,
    /// Which body of the scene it is.
    pub index: usize,
    /// Of the frame of the body at the start.
    start: Pose,
    /// Where breathing has it, and how fast.
    pub pose: Pose,
    pub speed: Vec3,
    /// Way of the support in this step.
    pub moved: Vec3,
}

impl Tissue {
    pub(super) fn new(model: Arc<TissueModel>, index: usize, start: Pose) -> Result<Self, FemError> {
        let body = TissueBody::new(model.fem.clone(), model.relaxation, model.lag)?;
        Ok(Self { model, body, index, start, pose: start, speed: Vec3::zeros(), moved: Vec3::zeros() })
    }

    /// Puts the support where it is at `time_s`.
    pub(super) fn breathe(&mut self, time_s: f64) {
        if let Some(breathing) = self.model.breathing {
            let (way, speed) = breathing.at(time_s);
            let place = self.start.translation.vector + way;
            self.moved = place - self.pose.translation.vector;
            self.pose.translation.vector = place;
            self.speed = speed;
        }
    }

    /// The point at a place of the body at rest, with forces spread over a ball of `radius_m`, as far as it is in the body.
    pub(super) fn point(&self, rest: Vec3, radius_m: f64) -> Point {
        let mut found = Vec::with_capacity(BALL.len());
        for offset in BALL {
            let place = self.model.locator.locate(&(rest + Vec3::from(offset) * radius_m));
            if place.weights.iter().all(|weight| *weight > -1e-6) {
                found.push(self.model.fem.attach(&place));
            }
        }
        if found.is_empty() {
            // Outside, or right on a corner: the nearest element carries on.
            found.push(self.model.fem.attach(&self.model.locator.locate(&rest)));
        }
        Point { rest, spread: Spread::over(&found) }
    }

    /// Where a point is in the world under displacements `x`.
    pub(super) fn place(&self, point: &Point, x: &[f64]) -> Vec3 {
        let local = point.rest + self.model.fem.field_over(&point.spread, x);
        self.pose.rotation * local + self.pose.translation.vector
    }

    /// Where a point is now.
    pub(super) fn now(&self, point: &Point) -> Vec3 {
        self.place(point, self.body.position())
    }

    /// A direction of the world in the frame of the body.
    pub(super) fn inwards(&self, direction: &Vec3) -> Vec3 {
        self.pose.rotation.inverse_transform_vector(direction)
    }

    /// The point of the body that is at a place of the world now; `near` is where to look first, at rest.
    pub(super) fn behind(&self, world: &Vec3, near: &Vec3, radius_m: f64) -> Point {
        let mut point = self.point(*near, radius_m);
        for _ in 0..SEARCH {
            let miss = self.inwards(&(world - self.now(&point)));
            if miss.norm() < FOUND_M {
                break;
            }
            point = self.point(point.rest + miss, radius_m);
        }
        point
    }

    /// Where node `node` is in the world now.
    pub(super) fn node(&self, node: u32) -> Vec3 {
        let shift = self.model.fem.field_at(&crate::fem::Attachment::node(node), self.body.position());
        let local = self.model.fem.rest()[node as usize] + shift;
        self.pose.rotation * local + self.pose.translation.vector
    }

    /// Where a line from `from` along `direction` meets the surface from outside, within `range` of it: way along the line, normal in the
    /// world, and the point of the surface at rest. `faces` is the least cosine between line and surface.
    pub(super) fn meets(
        &self,
        from: &Vec3,
        direction: &Vec3,
        range: (f64, f64),
        faces: f64,
    ) -> Option<(f64, Vec3, Vec3)> {
        let mut best: Option<(f64, Vec3, Vec3)> = None;
        for nodes in &self.model.surface.triangles {
            let [a, b, c] = nodes.map(|node| self.node(node));
            let (u, v) = (b - a, c - a);
            let area = u.cross(&v);
            let Some(normal) = area.try_normalize(1e-15) else { continue };
            let cosine = -normal.dot(direction);
            if cosine < faces {
                continue;
            }
            let way = normal.dot(&(from - a)) / cosine;
            if way < range.0 || way > range.1 || best.as_ref().is_some_and(|best| best.0 <= way) {
                continue;
            }
            let met = from + direction * way - a;
            let share = |x: &Vec3, y: &Vec3| normal.dot(&x.cross(y)) / area.norm();
            let (second, third) = (share(&met, &v), share(&u, &met));
            let first = 1.0 - second - third;
            if first < -1e-9 || second < -1e-9 || third < -1e-9 {
                continue;
            }
            let [ra, rb, rc] = nodes.map(|node| self.model.fem.rest()[node as usize]);
            best = Some((way, normal, ra * first + rb * second + rc * third));
        }
        best
    }
}
