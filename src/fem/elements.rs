//! The elements of a body: where strains are taken, and what they weigh.
//!
//! Thread: any (built cold; no heap afterwards).
//!
//! The strain energy is a sum over points, one in a linear tetrahedron and four in a quadratic one. With `g_a` the
//! gradient of node `a`'s shape function at a point of weight `w` (its share of the volume, m³), the stiffness between
//! two nodes is `w (λ g_a g_bᵀ + µ g_b g_aᵀ + µ (g_a·g_b) 1)`: linear elasticity without ever writing down the matrix
//! of strains.

use super::material::Material;
use super::shape::{self, WIDEST};
use crate::geometry::tet::TetMesh;
use crate::math::{Mat3, Vec3};

/// The elements of a body.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    /// Nodes of an element: four or ten.
    pub(super) width: usize,
    /// Nodes of all elements, one after the other.
    pub(super) nodes: Vec<u32>,
    /// Points of an element: one or four.
    pub(super) points: usize,
    /// Weight of each point, m³.
    pub(super) weights: Vec<f64>,
    /// Gradients of the shape functions at each point, 1/m, as many as an element has nodes.
    pub(super) gradients: Vec<Vec3>,
    /// Lamé's constants of each element, Pa.
    pub(super) lame: Vec<(f64, f64)>,
    /// Mass between nodes of each element, kg, the lower triangle by rows.
    pub(super) masses: Vec<f64>,
}

impl Elements {
    /// The elements of a mesh, or the first that is folded.
    pub(super) fn new(mesh: &TetMesh, materials: &[Material]) -> Result<Self, usize> {
        let width = if mesh.is_quadratic() { 10 } else { 4 };
        let rule = shape::strain_points(width);
        let mass_rule = shape::mass_points();
        let count = mesh.tets().len();
        let mut all = Self {
            width,
            nodes: Vec::with_capacity(width * count),
            points: rule.len(),
            weights: Vec::with_capacity(rule.len() * count),
            gradients: Vec::with_capacity(rule.len() * count * width),
            lame: materials.iter().map(Material::lame).collect(),
            masses: Vec::with_capacity(count * width * (width + 1) / 2),
        };
        for tet in 0..count {
            all.nodes.extend(mesh.nodes_of(tet));
            let nodes: Vec<Vec3> = mesh.nodes_of(tet).map(|n| mesh.nodes()[n as usize]).collect();
            for (at, share) in rule {
                let (gradients, determinant) = shape::gradients(&nodes, at).ok_or(tet)?;
                all.weights.push(share * determinant / 6.0);
                all.gradients.extend_from_slice(&gradients[..width]);
            }
            let mut mass = [0.0; WIDEST * (WIDEST + 1) / 2];
            for (at, share) in &mass_rule {
                let (_, determinant) = shape::gradients(&nodes, at).ok_or(tet)?;
                let values = shape::values(width, at);
                let weight = materials[tet].density * share * determinant / 6.0;
                let mut place = 0;
                for a in 0..width {
                    for b in 0..=a {
                        mass[place] += weight * values[a] * values[b];
                        place += 1;
                    }
                }
            }
            all.masses.extend_from_slice(&mass[..width * (width + 1) / 2]);
        }
        Ok(all)
    }

    /// Number of elements.
    pub(super) fn count(&self) -> usize {
        self.lame.len()
    }

    /// Nodes of an element.
    pub(super) fn nodes_of(&self, element: usize) -> &[u32] {
        &self.nodes[element * self.width..][..self.width]
    }

    /// Gradients at a point of an element.
    pub(super) fn gradients_at(&self, element: usize, point: usize) -> &[Vec3] {
        &self.gradients[(element * self.points + point) * self.width..][..self.width]
    }

    /// Weight of a point of an element, m³.
    pub(super) fn weight_at(&self, element: usize, point: usize) -> f64 {
        self.weights[element * self.points + point]
    }

    /// Mass between two nodes of an element, kg.
    pub(super) fn mass_between(&self, element: usize, a: usize, b: usize) -> f64 {
        let (a, b) = (a.max(b), a.min(b));
        self.masses[element * self.width * (self.width + 1) / 2 + a * (a + 1) / 2 + b]
    }

    /// Gradient of a displacement at a point: `Σ u_a g_aᵀ`, from differences to the first node, which is exact where
    /// nodes move almost alike.
    pub(super) fn displacement_gradient(&self, element: usize, point: usize, u: &[Vec3; WIDEST]) -> Mat3 {
        let gradients = self.gradients_at(element, point);
        let mut sum = Mat3::zeros();
        for a in 1..self.width {
            sum += (u[a] - u[0]) * gradients[a].transpose();
        }
        sum
    }
}

/// Stiffness between two nodes at a point, by their gradients.
pub(super) fn stiffness_between(lame: (f64, f64), weight: f64, a: &Vec3, b: &Vec3) -> Mat3 {
    let (lambda, mu) = (lame.0 * weight, lame.1 * weight);
    let straight = mu * a.dot(b);
    let mut block = Mat3::zeros();
    for row in 0..3 {
        for column in 0..3 {
            block[(row, column)] = lambda * a[row] * b[column] + mu * b[row] * a[column];
        }
        block[(row, row)] += straight;
    }
    block
}

/// Stress of a small displacement gradient: `λ tr(ε) 1 + 2µ ε`.
pub(super) fn stress((lambda, mu): (f64, f64), gradient: &Mat3) -> Mat3 {
    (gradient + gradient.transpose()) * mu + Mat3::identity() * (lambda * gradient.trace())
}
