//! Rows of the mechanism on a deformable body: points of it along directions.
//!
//! Thread: simulation (grows to the largest set of rows seen).

use super::model::FemModel;
use super::shape::{self, WIDEST};
use crate::geometry::tet::Place;
use crate::math::Vec3;

/// A point that moves with the body: the nodes it hangs on and their shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attachment {
    nodes: [u32; WIDEST],
    weights: [f64; WIDEST],
    count: usize,
}

impl Attachment {
    /// A node itself.
    #[must_use]
    pub fn node(node: u32) -> Self {
        let (mut nodes, mut weights) = ([0; WIDEST], [0.0; WIDEST]);
        (nodes[0], weights[0]) = (node, 1.0);
        Self { nodes, weights, count: 1 }
    }

    /// Nodes and shares; the shares add up to one.
    pub fn parts(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.nodes.iter().zip(&self.weights).take(self.count).map(|(node, weight)| (*node, *weight))
    }
}

/// A small part of a body that moves as one: nodes and their shares, which add up to one. A force on it is spread over them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread(Vec<(u32, f64)>);

impl Spread {
    /// The mean of several attached points; nothing when there are none.
    #[must_use]
    pub fn over(points: &[Attachment]) -> Self {
        let mut parts: Vec<(u32, f64)> = points.iter().flat_map(Attachment::parts).collect();
        parts.sort_unstable_by_key(|(node, _)| *node);
        parts.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0.0 };
            same
        });
        let share = 1.0 / points.len().max(1) as f64;
        parts.iter_mut().for_each(|(_, weight)| *weight *= share);
        Self(parts)
    }

    /// The nodes and shares of a point inside a face; nodes without share are left out.
    #[must_use]
    pub fn of_face(nodes: [u32; 3], weights: [f64; 3]) -> Self {
        Self(nodes.into_iter().zip(weights).filter(|(_, weight)| *weight != 0.0).collect())
    }

    /// Nodes and shares.
    pub fn parts(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.0.iter().copied()
    }
}

impl FemModel {
    /// Mean of a field of the body, such as its displacements, over a part of it.
    #[must_use]
    pub fn field_over(&self, spread: &Spread, field: &[f64]) -> Vec3 {
        let value =
            |node: u32| self.place_of(node).map_or_else(Vec3::zeros, |place| super::pattern::vector(field, place));
        spread.0.iter().map(|(node, weight)| value(*node) * *weight).sum()
    }

    /// The point of a body at a place in its mesh at rest: by barycentric coordinates in linear tetrahedra, by the
    /// quadratic shape functions in others. Nodes without share are left out.
    #[must_use]
    pub fn attach(&self, place: &Place) -> Attachment {
        let all = shape::values(self.elements.width, &place.weights);
        let (mut nodes, mut weights, mut count) = ([0; WIDEST], [0.0; WIDEST], 0);
        for (node, weight) in self.elements.nodes_of(place.tet as usize).iter().zip(all) {
            if weight.abs() > 1e-12 {
                (nodes[count], weights[count]) = (*node, weight);
                count += 1;
            }
        }
        Attachment { nodes, weights, count }
    }

    /// Value of a field of the body, such as its displacements, at an attached point.
    #[must_use]
    pub fn field_at(&self, attachment: &Attachment, field: &[f64]) -> Vec3 {
        let value =
            |node: u32| self.place_of(node).map_or_else(Vec3::zeros, |place| super::pattern::vector(field, place));
        attachment.parts().map(|(node, weight)| value(node) * weight).sum()
    }

    /// Where an attached point is under displacements `x`, m.
    #[must_use]
    pub fn point_at(&self, attachment: &Attachment, x: &[f64]) -> Vec3 {
        let rest: Vec3 = attachment.parts().map(|(node, weight)| self.rest[node as usize] * weight).sum();
        rest + self.field_at(attachment, x)
    }
}

/// `H`: each row the motion of an attached point along a direction, as numbers on the vectors of a body.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Where each row begins, and one more at the end.
    first: Vec<u32>,
    /// Places of free nodes.
    pub(super) places: Vec<u32>,
    /// Three numbers for each.
    pub(super) values: Vec<Vec3>,
}

impl Default for Rows {
    fn default() -> Self {
        Self { first: vec![0], places: Vec::new(), values: Vec::new() }
    }
}

impl Rows {
    /// Forgets all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.first.truncate(1);
        self.places.clear();
        self.values.clear();
    }

    /// Adds a row.
    pub fn push(&mut self, model: &FemModel, attachment: &Attachment, direction: &Vec3) {
        for (node, weight) in attachment.parts() {
            if let Some(place) = model.place_of(node) {
                self.places.push(place as u32);
                self.values.push(direction * weight);
            }
        }
        self.first.push(self.places.len() as u32);
    }

    /// Adds a row by the forces on nodes for a unit force along it: `fill` calls its argument with each.
    pub fn push_forces(&mut self, model: &FemModel, fill: impl FnOnce(&mut dyn FnMut(u32, Vec3))) {
        fill(&mut |node, force| {
            if let Some(place) = model.place_of(node) {
                self.places.push(place as u32);
                self.values.push(force);
            }
        });
        self.first.push(self.places.len() as u32);
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.first.len() - 1
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers of row `row`: place of the free node, and its three numbers.
    pub(super) fn parts(&self, row: usize) -> impl Iterator<Item = (usize, &Vec3)> {
        let range = self.first[row] as usize..self.first[row + 1] as usize;
        self.places[range.clone()].iter().map(|p| *p as usize).zip(&self.values[range])
    }

    /// `H x` of row `row`.
    #[must_use]
    pub fn times(&self, row: usize, x: &[f64]) -> f64 {
        self.parts(row).map(|(place, value)| value.dot(&super::pattern::vector(x, place))).sum()
    }

    /// `out ← out + Hᵀλ`.
    pub fn add_transposed(&self, lambda: &[f64], out: &mut [f64]) {
        for (row, force) in lambda.iter().enumerate().take(self.len()) {
            for (place, value) in self.parts(row) {
                super::pattern::add_vector(out, place, &(value * *force));
            }
        }
    }
}
