//! How points of a held body answer forces on them once it has come to rest.
//!
//! Thread: simulation (made cold; solves do not allocate).
//!
//! `G = H K⁻¹ Hᵀ` over all nodes that can touch. A stiff body follows a hand in a fraction of a millisecond: at the rate of a
//! hand its answer is `G`, whatever the length of a step, and a row of contact is two products with blocks of it. Where the rest of the
//! body then is takes a solve with `K`.

use super::compliance::Compliance;
use super::factor::Factor;
use super::model::{FemError, FemModel};
use super::pattern::add_vector;
use super::rows::{Attachment, Rows};
use crate::math::{Mat3, Vec3};

/// A held body at rest: all of its nodes.
pub struct StaticBody {
    factor: Factor,
    gravity: Vec<f64>,
    displacement: Vec<f64>,
}

impl StaticBody {
    /// The body under a constant acceleration of gravity.
    ///
    /// # Errors
    /// When it is not held.
    pub fn new(model: &FemModel, gravity: &Vec3) -> Result<Self, FemError> {
        let mut factor = Factor::new(model.symbolic.clone());
        factor.refactor(model.stiffness())?;
        Ok(Self { factor, gravity: model.gravity_force(gravity), displacement: vec![0.0; model.size()] })
    }

    /// Displacements once it has come to rest under gravity and these forces on nodes, N. Forces on fixed nodes have no effect.
    pub fn under(&mut self, model: &FemModel, forces: impl Iterator<Item = (u32, Vec3)>) -> &[f64] {
        self.displacement.copy_from_slice(&self.gravity);
        for (node, force) in forces {
            if let Some(place) = model.place_of(node) {
                add_vector(&mut self.displacement, place, &force);
            }
        }
        self.factor.solve(&mut self.displacement);
        &self.displacement
    }
}

/// See the file's head.
#[derive(Clone, Debug)]
pub struct StaticAnswer {
    nodes: Vec<u32>,
    rest: Vec<Vec3>,
    /// Where each is without contact.
    sag: Vec<Vec3>,
    /// Row-major, three rows for each node.
    matrix: Vec<f64>,
}

impl StaticAnswer {
    /// The answer of `nodes` of a body under a constant acceleration of gravity. Fixed nodes are left out.
    ///
    /// # Errors
    /// When the body is not held.
    pub fn new(model: &FemModel, nodes: &[u32], gravity: &Vec3) -> Result<Self, FemError> {
        let mut nodes: Vec<u32> = nodes.iter().copied().filter(|node| model.first_of(*node).is_some()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut body = StaticBody::new(model, gravity)?;
        let mut rows = Rows::default();
        for node in &nodes {
            for axis in [Vec3::x(), Vec3::y(), Vec3::z()] {
                rows.push(model, &Attachment::node(*node), &axis);
            }
        }
        let mut matrix = vec![0.0; rows.len() * rows.len()];
        Compliance::default().compute(&body.factor, &rows, 1.0, &mut matrix);
        let sunk = body.under(model, std::iter::empty());
        let sag = nodes.iter().map(|node| model.field_at(&Attachment::node(*node), sunk)).collect();
        let rest = nodes.iter().map(|node| model.rest[*node as usize]).collect();
        Ok(Self { nodes, rest, sag, matrix })
    }

    /// The nodes, in ascending order. Everything else here counts them by their places in this list.
    #[must_use]
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// Where a node is without any force, m.
    #[must_use]
    pub fn rest(&self, at: usize) -> Vec3 {
        self.rest[at]
    }

    /// Displacement of a node by gravity alone.
    #[must_use]
    pub fn sag(&self, at: usize) -> Vec3 {
        self.sag[at]
    }

    /// Displacement of node `at` by a unit force on node `by`, m/N.
    #[must_use]
    pub fn between(&self, at: usize, by: usize) -> Mat3 {
        let count = 3 * self.nodes.len();
        Mat3::from_fn(|i, j| self.matrix[(3 * at + i) * count + 3 * by + j])
    }
}
