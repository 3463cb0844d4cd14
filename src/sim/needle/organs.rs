//! Where two organs touch: nodes of the skin of one against the faces of the other.
//!
//! Thread: simulation. Serous skins slide on each other: no friction.

use super::rows::{Constraint, Mover};
use super::tissue::{Point, Tissue};
use crate::math::{Vec3, steady_tangents};
use crate::mechanism::{BlockId, Law};

/// How far apart node and face may lie at the start and still meet later, m.
const REACH_M: f64 = 0.03;
/// Faces kept for a node, nearest first.
const NEAREST: usize = 12;
/// Contacts are looked at up to this gap, m.
const MARGIN_M: f64 = 4e-3;
/// Most contacts of a pair.
const MOST: usize = 8;

/// A pair of organs that can touch.
pub(super) struct Pair {
    /// The organ with the nodes, and that with the faces.
    pub organs: [usize; 2],
    corners: Vec<Corner>,
}

struct Corner {
    node: u32,
    point: Point,
    /// Triangles of the other's surface.
    triangles: Vec<usize>,
}

/// One contact as found.
struct Found {
    gap: f64,
    corner: usize,
    normal: Vec3,
    point: Point,
}

impl Pair {
    /// Nodes of `a` and faces of `b` that are near each other at the start; none when there are none.
    pub(super) fn new(tissues: &[Tissue], a: usize, b: usize) -> Option<Self> {
        let (one, other) = (&tissues[a], &tissues[b]);
        let centers: Vec<Vec3> = other.model.surface.triangles.iter().map(|t| center(other, t)).collect();
        let mut corners = Vec::new();
        for node in one.model.surface.nodes.iter().copied() {
            let place = one.node(node);
            let mut near: Vec<(f64, usize)> = centers
                .iter()
                .enumerate()
                .map(|(index, center)| ((center - place).norm(), index))
                .filter(|(distance, _)| *distance < 2.0 * REACH_M)
                .collect();
            near.sort_by(|x, y| x.0.total_cmp(&y.0));
            near.truncate(NEAREST);
            if near.first().is_some_and(|(distance, _)| *distance < REACH_M) {
                let rest = one.model.fem.rest()[node as usize];
                let triangles = near.into_iter().map(|(_, index)| index).collect();
                corners.push(Corner { node, point: one.point(rest, 0.0), triangles });
            }
        }
        (!corners.is_empty()).then_some(Self { organs: [a, b], corners })
    }

    /// The contacts of now, nearest first.
    pub(super) fn contacts(&self, tissues: &[Tissue], each: &mut dyn FnMut(Constraint)) {
        let [a, b] = self.organs;
        let (one, other) = (&tissues[a], &tissues[b]);
        let mut found: Vec<Found> = Vec::new();
        for (index, corner) in self.corners.iter().enumerate() {
            let place = one.node(corner.node);
            let over = corner.triangles.iter().filter_map(|triangle| above(other, *triangle, &place));
            let nearest = over.min_by(|x, y| x.0.abs().total_cmp(&y.0.abs()));
            let Some((_, normal, rest)) = nearest.filter(|(gap, ..)| gap.abs() < 2.0 * MARGIN_M) else { continue };
            // A face with midside nodes is not flat.
            let point = other.point(rest, 0.0);
            let gap = normal.dot(&(place - other.now(&point)));
            if gap.abs() < MARGIN_M {
                found.push(Found { gap, corner: index, normal, point });
            }
        }
        found.sort_by(|x, y| x.gap.total_cmp(&y.gap));
        for Found { corner, normal, point, .. } in found.into_iter().take(MOST) {
            let (t1, t2) = steady_tangents(&normal);
            let corner = &self.corners[corner];
            each(Constraint {
                id: BlockId::Organs { bodies: [a as u16, b as u16], node: corner.node },
                law: Law::Contact { friction: 0.0, compliance: 0.0 },
                mover: Mover::Organ(a, corner.point.clone()),
                tissue: b,
                points: [point.clone(), point.clone(), point],
                directions: [normal, t1, t2],
                lambda: [0.0; 3],
            });
        }
    }
}

fn center(tissue: &Tissue, triangle: &[u32; 3]) -> Vec3 {
    triangle.iter().map(|node| tissue.node(*node)).sum::<Vec3>() / 3.0
}

/// Height of a place over a triangle, its normal, and the point below it at rest; none where the place is beside it.
fn above(tissue: &Tissue, triangle: usize, place: &Vec3) -> Option<(f64, Vec3, Vec3)> {
    let nodes = tissue.model.surface.triangles[triangle];
    let [a, b, c] = nodes.map(|node| tissue.node(node));
    let (u, v) = (b - a, c - a);
    let area = u.cross(&v);
    let normal = area.try_normalize(1e-12)?;
    let from = place - a;
    let share = |x: &Vec3, y: &Vec3| normal.dot(&x.cross(y)) / area.norm();
    let (second, third) = (share(&from, &v), share(&u, &from));
    let first = 1.0 - second - third;
    if first < -1e-9 || second < -1e-9 || third < -1e-9 {
        return None;
    }
    let [ra, rb, rc] = nodes.map(|node| tissue.model.fem.rest()[node as usize]);
    Some((normal.dot(&from), normal, ra * first + rb * second + rc * third))
}
