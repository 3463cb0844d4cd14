//! Where constraints act on soft bodies.
//!
//! Thread: simulation.
//!
//! An anchor is a linear function of the displacements of nodes, in the carrier frame: a point of the body, a point for each row, or the frame
//! of a *patch* of nodes (what a joint is fixed to). A beam has arc lengths in place of nodes.

use super::carrier::Carrier;
use crate::fem::Spread;
use crate::math::{Mat3, Vec3};
use std::sync::Arc;

/// A part of a finite element body that moves as one.
#[derive(Clone, Debug)]
pub struct Point {
    /// Where it is at rest, in the frame of the body.
    pub rest: Vec3,
    /// Nodes and shares.
    pub spread: Spread,
}

/// A point of the frame of a patch of nodes, or the rotation of that frame: `rest + Σ M u` over the displacements `u` of nodes.
#[derive(Debug)]
pub(in crate::sim) struct Patch {
    pub rest: Vec3,
    pub parts: Vec<(u32, Mat3)>,
    /// The value is a rotation vector, else a place.
    pub is_turn: bool,
}

/// See the file's head.
#[derive(Clone, Debug)]
pub(in crate::sim) enum Anchor {
    /// All rows act on one point.
    Point(Point),
    /// Each row acts on a point of its own.
    Points(Box<[Point; 3]>),
    /// All rows act on the frame of a patch.
    Patch(Arc<Patch>),
    /// Arc length on a beam, m.
    Along(f64),
}

impl Anchor {
    /// The point of row `row`; none on a beam and for a patch.
    pub(in crate::sim) fn point(&self, row: usize) -> Option<&Point> {
        match self {
            Self::Point(point) => Some(point),
            Self::Points(points) => points.get(row),
            Self::Patch(_) | Self::Along(_) => None,
        }
    }

    /// Arc length on a beam, m; zero elsewhere.
    pub(in crate::sim) fn along(&self) -> f64 {
        if let Self::Along(at_m) = self { *at_m } else { 0.0 }
    }

    /// The value is a rotation vector, else a place.
    pub(in crate::sim) fn is_turn(&self) -> bool {
        matches!(self, Self::Patch(patch) if patch.is_turn)
    }

    /// Value for row `row` in the carrier frame under displacements of nodes.
    pub(in crate::sim) fn value(&self, row: usize, of: impl Fn(u32) -> Vec3) -> Vec3 {
        if let Self::Patch(patch) = self {
            return patch.rest + patch.parts.iter().map(|(node, part)| part * of(*node)).sum::<Vec3>();
        }
        let Some(point) = self.point(row) else { return Vec3::zeros() };
        point.rest + point.spread.parts().map(|(node, weight)| of(node) * weight).sum::<Vec3>()
    }

    /// Nodes of row 0.
    pub(in crate::sim) fn has_node(&self, fits: impl Fn(u32) -> bool) -> bool {
        match self {
            Self::Patch(patch) => patch.parts.iter().any(|(node, _)| fits(*node)),
            _ => self.point(0).is_some_and(|point| point.spread.parts().any(|(node, _)| fits(node))),
        }
    }
}

/// A row on a soft body.
#[derive(Clone, Copy)]
pub struct SoftRow<'a> {
    pub(in crate::sim) anchor: &'a Anchor,
    /// Row of the constraint.
    pub(in crate::sim) row: usize,
    /// Direction in the world, with the sign of the body's side.
    pub(in crate::sim) direction: Vec3,
}

impl SoftRow<'_> {
    /// Calls `each` with every node that the row acts on, and the force on it in the frame of `carrier` for a unit force along the row.
    pub fn on_nodes(&self, carrier: &Carrier, mut each: impl FnMut(u32, Vec3)) {
        let direction = carrier.pose().rotation.inverse_transform_vector(&self.direction);
        if let Anchor::Patch(patch) = self.anchor {
            patch.parts.iter().for_each(|(node, part)| each(*node, part.tr_mul(&direction)));
        } else if let Some(point) = self.anchor.point(self.row) {
            point.spread.parts().for_each(|(node, weight)| each(node, direction * weight));
        }
    }
}
