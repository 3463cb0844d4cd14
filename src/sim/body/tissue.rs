//! Tissue on a support that may move, and points of it: from the body at rest to the world and back.
//!
//! Thread: simulation.

use super::super::source::needle::TissueModel;
use super::carrier::{CarriedBy, Carrier};
use super::surface::SoftSkin;
use super::{FemRows, Point, SoftBody, SoftRow, When, place_of};
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

/// See the file's head.
pub struct Tissue {
    pub(in crate::sim) model: Arc<TissueModel>,
    pub(in crate::sim) body: TissueBody,
    /// Frame of the support.
    carrier: Carrier,
    rows: FemRows,
}

impl Tissue {
    /// Tissue at rest on its support at `start`.
    ///
    /// # Errors
    /// When the body is not held.
    pub fn new(model: Arc<TissueModel>, start: Pose) -> Result<Self, FemError> {
        let body = TissueBody::new(model.fem.clone(), model.relaxation, model.lag)?;
        let carrier = Carrier::new(model.breathing.map(CarriedBy::Support), start);
        Ok(Self { model, body, carrier, rows: FemRows::default() })
    }

    /// What does not change.
    #[must_use]
    pub fn model(&self) -> &Arc<TissueModel> {
        &self.model
    }

    /// Displacements in the frame of the support.
    #[must_use]
    pub fn displacements(&self) -> &[f64] {
        self.body.position()
    }

    /// Pose of the support at the end of the step.
    pub(in crate::sim) fn pose(&self) -> &Pose {
        &self.carrier.pose
    }

    /// The point at a place of the body at rest, with forces spread over a ball of `radius_m`, as far as it is in the body.
    pub(in crate::sim) fn point(&self, rest: Vec3, radius_m: f64) -> Point {
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

    /// Place of a point now, in the world.
    pub(in crate::sim) fn now(&self, point: &Point) -> Vec3 {
        place_of(&self.model.fem, &self.carrier.pose, point, self.body.position())
    }

    /// A direction of the world in the frame of the body.
    pub(in crate::sim) fn inwards(&self, direction: &Vec3) -> Vec3 {
        self.carrier.pose.rotation.inverse_transform_vector(direction)
    }

    /// The point of the body that is at a place of the world now; `near` is where to look first, at rest.
    pub(in crate::sim) fn behind(&self, world: &Vec3, near: &Vec3, radius_m: f64) -> Point {
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
    fn node(&self, node: u32) -> Vec3 {
        let shift = self.model.fem.field_at(&crate::fem::Attachment::node(node), self.body.position());
        let local = self.model.fem.rest()[node as usize] + shift;
        self.carrier.pose.rotation * local + self.carrier.pose.translation.vector
    }

    /// Where a line from `from` along `direction` meets the surface from outside, within `range` of it: way along the line, normal in the
    /// world, and the point of the surface at rest. `faces` is the least cosine between line and surface.
    pub(in crate::sim) fn meets(
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

impl SoftBody for Tissue {
    fn carrier(&self) -> &Carrier {
        &self.carrier
    }

    fn carrier_mut(&mut self) -> &mut Carrier {
        &mut self.carrier
    }

    fn prepare(&mut self, _step_s: f64) -> bool {
        self.body.prepare().is_ok()
    }

    fn compliance(&mut self, rows: &[SoftRow<'_>], out: &mut [f64]) {
        self.rows.collect(&self.model.fem, &self.carrier, rows);
        self.body.compliance(&self.rows.rows, &mut self.rows.work, out);
    }

    fn apply(&mut self, rows: &[SoftRow<'_>], forces: &[f64], last: bool) -> f64 {
        if last {
            self.rows.collect(&self.model.fem, &self.carrier, rows);
            // Of the body's own size.
            let _ = self.body.apply(self.rows.transposed(&self.model.fem, forces));
        }
        0.0
    }

    fn finish(&mut self, step_s: f64) -> bool {
        self.body.finish(step_s)
    }

    fn rest(&self, node: u32) -> Vec3 {
        self.model.fem.rest()[node as usize]
    }

    fn displacement(&self, node: u32, when: When) -> Vec3 {
        let x = if when == When::Free { self.body.next() } else { self.body.position() };
        self.model.fem.at_node(node, x)
    }

    fn reaches(&self, node: u32) -> bool {
        self.model.fem.first_of(node).is_some()
    }

    fn skin(&self) -> Option<&Arc<SoftSkin>> {
        Some(&self.model.touching)
    }
}
