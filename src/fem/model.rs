//! What does not change about a body: its elements, what it is made of, which nodes are fixed, its matrices at rest.
//!
//! Thread: cold (made once; read by the simulation).
//!
//! Fixed nodes have no place in the matrices (seed 000 §II-A, eq. 2). The rest are numbered in the order of
//! elimination; a vector of the body has three numbers for each of them in that order.

use super::StepOutcome;
use super::elements::{Elements, stiffness_between};
use super::factor::{FactorError, Symbolic};
use super::material::{Material, Rayleigh};
use super::ordering::{Graph, Method, Ordering};
use super::pattern::{BlockPlace, Pattern, SparseMatrix};
use super::shape::{MOST_POINTS, WIDEST};
use crate::geometry::tet::{TetMesh, TetReport};
use crate::math::{Mat3, Vec3};
use std::sync::Arc;

/// Why there is no such body.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FemError {
    /// The mesh is not sound.
    #[error("{0}")]
    Mesh(#[from] TetReport),
    /// A material makes no sense.
    #[error(
        "material of tetrahedron {tet}: Young's modulus and density must be positive, Poisson's ratio above −1 and \
         below 0.5"
    )]
    Material {
        /// The first tetrahedron of that material.
        tet: usize,
    },
    /// Damping makes no sense.
    #[error("Rayleigh damping must not be negative")]
    Damping,
    /// A fixed node is not there, or all are.
    #[error("fixed nodes must be nodes of the mesh and leave some free")]
    Fixed,
    /// An element with midside nodes is folded.
    #[error("tetrahedron {tet} is folded by its midside nodes: straighten it")]
    Folded {
        /// Which.
        tet: usize,
    },
    /// The matrix of a step cannot be factored.
    #[error("{0}")]
    Factor(#[from] FactorError),
    /// A step that is no time.
    #[error("the step must be a positive, finite time")]
    BadStep,
    /// A step did not converge.
    #[error(
        "the step did not converge: {:.3} of the change of load is in equilibrium after {} iterations and {} cuts; \
         reduce the load or the step",
        .0.load, .0.iterations, .0.cuts
    )]
    NotConverged(StepOutcome),
    /// A slice of the wrong length.
    #[error("forces and states must have three numbers for every free node")]
    SizeMismatch,
}

/// How mass is spread over the nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mass {
    /// As the shape functions have it: most exact.
    #[default]
    Consistent,
    /// On the nodes alone, in the proportions of the consistent diagonal.
    Lumped,
}

/// What a body is to be made of.
#[derive(Clone, Copy, Debug)]
pub struct FemSpec<'a> {
    /// The mesh, with four or ten nodes for each tetrahedron.
    pub mesh: &'a TetMesh,
    /// Material of each tetrahedron, or one for all.
    pub materials: &'a [Material],
    /// Damping.
    pub damping: Rayleigh,
    /// Nodes that do not move.
    pub fixed: &'a [u32],
    /// How mass is spread.
    pub mass: Mass,
    /// Order of elimination.
    pub ordering: Ordering<'a>,
}

/// Stands for a node without place in the matrices.
const FIXED: u32 = u32::MAX;

/// See the file's head.
#[derive(Clone, Debug)]
pub struct FemModel {
    pub(super) rest: Vec<Vec3>,
    pub(super) elements: Elements,
    pub(super) damping: Rayleigh,
    /// Place of each node among the free ones, or none.
    place: Vec<u32>,
    /// Node at each place.
    pub(super) node_at: Vec<u32>,
    pub(super) pattern: Arc<Pattern>,
    pub(super) symbolic: Arc<Symbolic>,
    /// Place of the block of each pair of an element's nodes, lower triangle by rows without the diagonal.
    blocks: Vec<Option<BlockPlace>>,
    mass: SparseMatrix,
    stiffness: SparseMatrix,
    /// Mass on each node, kg, whether it is fixed or not; adds up to the body's.
    pub(super) node_mass: Vec<f64>,
    spread: Mass,
}

impl FemModel {
    /// Checks the parts and assembles the matrices at rest.
    ///
    /// # Errors
    /// Says what is wrong, with the element.
    pub fn new(spec: &FemSpec) -> Result<Self, FemError> {
        let report = spec.mesh.check();
        if !report.is_sound() {
            return Err(report.into());
        }
        let count = spec.mesh.tets().len();
        let materials = match spec.materials {
            [one] => vec![*one; count],
            each if each.len() == count => each.to_vec(),
            _ => return Err(FemError::Material { tet: spec.materials.len() }),
        };
        if let Some(tet) = materials.iter().position(|material| !material.is_sound()) {
            return Err(FemError::Material { tet });
        }
        if !spec.damping.is_sound() {
            return Err(FemError::Damping);
        }
        let elements = Elements::new(spec.mesh, &materials).map_err(|tet| FemError::Folded { tet })?;
        let Numbering { place, node_at, pattern, symbolic } = Numbering::cheapest(spec, &elements)?;
        let (pattern, symbolic) = (Arc::new(pattern), Arc::new(symbolic));
        let zeros = SparseMatrix::zeros(pattern.clone());
        let mut model = Self {
            rest: spec.mesh.nodes().to_vec(),
            blocks: block_places(&elements, &place, &pattern),
            elements,
            damping: spec.damping,
            place,
            node_at,
            pattern,
            symbolic,
            mass: zeros.clone(),
            stiffness: zeros,
            node_mass: vec![0.0; spec.mesh.nodes().len()],
            spread: spec.mass,
        };
        model.assemble_rest();
        Ok(model)
    }

    /// Length of a vector of the body: three numbers for each free node.
    #[must_use]
    pub fn size(&self) -> usize {
        3 * self.node_at.len()
    }

    /// Number of nodes, fixed ones too.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.rest.len()
    }

    /// Nodes as they lie at rest, m.
    #[must_use]
    pub fn rest(&self) -> &[Vec3] {
        &self.rest
    }

    /// Where the three numbers of a node begin in vectors of the body; none for a fixed node.
    #[must_use]
    pub fn first_of(&self, node: u32) -> Option<usize> {
        let place = *self.place.get(node as usize)?;
        (place != FIXED).then_some(3 * place as usize)
    }

    /// Value of a field of the body, such as its displacements, at a node; zero at a fixed one.
    #[must_use]
    pub fn at_node(&self, node: u32, field: &[f64]) -> Vec3 {
        self.first_of(node).map_or_else(Vec3::zeros, |k| Vec3::new(field[k], field[k + 1], field[k + 2]))
    }

    /// Mass matrix, kg.
    #[must_use]
    pub fn mass(&self) -> &SparseMatrix {
        &self.mass
    }

    /// Stiffness matrix at rest, N/m.
    #[must_use]
    pub fn stiffness(&self) -> &SparseMatrix {
        &self.stiffness
    }

    /// Damping.
    #[must_use]
    pub fn damping(&self) -> Rayleigh {
        self.damping
    }

    /// Young's modulus of its stiffest element, Pa.
    #[must_use]
    pub fn young_pa(&self) -> f64 {
        let of = |(lambda, mu): &(f64, f64)| mu * (3.0 * lambda + 2.0 * mu) / (lambda + mu);
        self.elements.lame.iter().map(of).fold(0.0, f64::max)
    }

    /// Young's modulus, the mean over the volume, Pa.
    #[must_use]
    pub fn young_mean_pa(&self) -> f64 {
        let of = |(lambda, mu): (f64, f64)| mu * (3.0 * lambda + 2.0 * mu) / (lambda + mu);
        let (mut sum, mut volume) = (0.0, 0.0);
        for element in 0..self.elements.count() {
            let own = self.volume_of(element);
            (sum, volume) = (sum + own * of(self.elements.lame[element]), volume + own);
        }
        sum / volume
    }

    /// Force of gravity on every free node, N.
    #[must_use]
    pub fn gravity_force(&self, acceleration: &Vec3) -> Vec<f64> {
        self.node_at.iter().flat_map(|node| (acceleration * self.node_mass[*node as usize]).data.0[0]).collect()
    }

    /// Numbers in the factor of a step.
    #[must_use]
    pub fn factor_size(&self) -> usize {
        self.symbolic.stored()
    }

    /// A vector of the body from one vector for each node.
    #[must_use]
    pub fn gather(&self, of_node: impl Fn(u32) -> Vec3) -> Vec<f64> {
        self.node_at.iter().flat_map(|node| of_node(*node).data.0[0]).collect()
    }

    /// Values at the nodes of an element; zero at fixed ones.
    pub(super) fn at_nodes(&self, element: usize, x: &[f64]) -> [Vec3; WIDEST] {
        let mut values = [Vec3::zeros(); WIDEST];
        for (value, node) in values.iter_mut().zip(self.elements.nodes_of(element)) {
            let place = self.place[*node as usize];
            if place != FIXED {
                *value = super::pattern::vector(x, place as usize);
            }
        }
        values
    }

    /// Masses sit on the nodes alone.
    pub(super) fn is_lumped(&self) -> bool {
        self.spread == Mass::Lumped
    }

    /// Place of a node in the matrices.
    pub(super) fn place_of(&self, node: u32) -> Option<usize> {
        let place = self.place[node as usize];
        (place != FIXED).then_some(place as usize)
    }

    fn assemble_rest(&mut self) {
        let (mass, stiffness) = self.assemble_part(&|_| true);
        (self.mass, self.stiffness) = (mass, stiffness);
        let (elements, width) = (&self.elements, self.elements.width);
        for e in 0..elements.count() {
            let lumped = self.lumped(e);
            for a in 0..width {
                self.node_mass[elements.nodes_of(e)[a] as usize] += match self.spread {
                    Mass::Consistent => (0..width).map(|b| elements.mass_between(e, a, b)).sum::<f64>(),
                    Mass::Lumped => elements.mass_between(e, a, a) * lumped,
                };
            }
        }
    }

    /// Stiffness with every point turned by its rotation: `R K Rᵀ` is `K` of turned gradients.
    pub(super) fn assemble_stiffness(&self, rotations: &[Mat3], out: &mut SparseMatrix) {
        let elements = &self.elements;
        out.values.fill(0.0);
        let mut turned = [[Vec3::zeros(); WIDEST]; MOST_POINTS];
        for e in 0..elements.count() {
            for (p, turned) in turned.iter_mut().enumerate().take(elements.points) {
                let rotation = &rotations[e * elements.points + p];
                turned.iter_mut().zip(elements.gradients_at(e, p)).for_each(|(t, g)| *t = rotation * g);
            }
            let lame = elements.lame[e];
            let weights = &elements.weights[e * elements.points..][..elements.points];
            self.add_element(e, &mut out.values, |a, b| {
                let at = |(turned, weight): (&[Vec3; WIDEST], &f64)| {
                    stiffness_between(lame, *weight, &turned[a], &turned[b])
                };
                let mut each = turned.iter().zip(weights).map(at);
                let first = each.next().unwrap_or_else(Mat3::zeros);
                each.fold(first, |sum, block| sum + block)
            });
        }
    }

    /// Adds `Σ [t_a]×ᵀ G [t_b]×` with `t` the turned gradients and `G` a matrix for each point, its weight included: the
    /// stiffness against turning.
    pub(super) fn add_turning(&self, rotations: &[Mat3], turning: &[Mat3], out: &mut SparseMatrix) {
        let elements = &self.elements;
        for e in 0..elements.count() {
            for p in 0..elements.points {
                let k = e * elements.points + p;
                let mut crossed = [Mat3::zeros(); WIDEST];
                for (crossed, g) in crossed.iter_mut().zip(elements.gradients_at(e, p)) {
                    *crossed = (rotations[k] * g).cross_matrix();
                }
                self.add_element(e, &mut out.values, |a, b| crossed[a].tr_mul(&(turning[k] * crossed[b])));
            }
        }
    }

    /// Mass and stiffness at rest of some of the elements alone.
    pub(super) fn assemble_part(&self, own: &dyn Fn(usize) -> bool) -> (SparseMatrix, SparseMatrix) {
        let elements = &self.elements;
        let (mut mass, mut stiffness) =
            (SparseMatrix::zeros(self.pattern.clone()), SparseMatrix::zeros(self.pattern.clone()));
        for e in (0..elements.count()).filter(|e| own(*e)) {
            let lumped = self.lumped(e);
            self.add_element(e, &mut mass.values, |a, b| match self.spread {
                Mass::Consistent => Mat3::identity() * elements.mass_between(e, a, b),
                Mass::Lumped if a == b => Mat3::identity() * lumped * elements.mass_between(e, a, a),
                Mass::Lumped => Mat3::zeros(),
            });
            for p in 0..elements.points {
                let (g, lame, weight) = (elements.gradients_at(e, p), elements.lame[e], elements.weight_at(e, p));
                self.add_element(e, &mut stiffness.values, |a, b| stiffness_between(lame, weight, &g[a], &g[b]));
            }
        }
        (mass, stiffness)
    }

    /// What the consistent diagonal of an element is to be multiplied by to hold its whole mass (Hinton, Rock and
    /// Zienkiewicz 1976): positive for ten nodes too.
    fn lumped(&self, element: usize) -> f64 {
        let (elements, width) = (&self.elements, self.elements.width);
        let row = |a: usize| (0..width).map(|b| elements.mass_between(element, a, b)).sum::<f64>();
        let total: f64 = (0..width).map(row).sum();
        total / (0..width).map(|a| elements.mass_between(element, a, a)).sum::<f64>()
    }

    /// Adds the blocks of an element; `block(a, b)` is that between its nodes `a` and `b`.
    fn add_element(&self, element: usize, values: &mut [f64], block: impl Fn(usize, usize) -> Mat3) {
        let nodes = self.elements.nodes_of(element);
        let width = nodes.len();
        let mut number = element * (width * (width - 1) / 2);
        for a in 0..width {
            let row = self.place[nodes[a] as usize];
            for b in 0..a {
                let column = self.place[nodes[b] as usize];
                let at = self.blocks[number];
                number += 1;
                let Some(at) = at else { continue };
                // The lower triangle is stored: the node that is eliminated later has the row.
                at.add(values, &if row > column { block(a, b) } else { block(b, a) });
            }
            if row != FIXED {
                self.pattern.add_diagonal(values, row as usize, &block(a, a));
            }
        }
    }
}

/// The free nodes in an order of elimination, and what follows from it.
struct Numbering {
    /// Place of each node, or none.
    place: Vec<u32>,
    /// Node at each place.
    node_at: Vec<u32>,
    pattern: Pattern,
    symbolic: Symbolic,
}

impl Numbering {
    /// The order whose factor takes least work.
    fn cheapest(spec: &FemSpec, elements: &Elements) -> Result<Self, FemError> {
        let mut is_free = vec![true; spec.mesh.nodes().len()];
        for node in spec.fixed {
            *is_free.get_mut(*node as usize).ok_or(FemError::Fixed)? = false;
        }
        let nodes: Vec<&[u32]> = (0..elements.count()).map(|e| elements.nodes_of(e)).collect();
        let graph = Graph { rest: spec.mesh.nodes(), is_free: &is_free, elements: &nodes };
        let by_degree = Self::new(graph.order(spec.ordering, Method::Degree), &graph)?;
        let dissected = Self::new(graph.order(spec.ordering, Method::Dissection), &graph)?;
        Ok(if dissected.symbolic.work() < by_degree.symbolic.work() { dissected } else { by_degree })
    }

    fn new(node_at: Vec<u32>, graph: &Graph) -> Result<Self, FemError> {
        if node_at.is_empty() {
            return Err(FemError::Fixed);
        }
        let mut place = vec![FIXED; graph.rest.len()];
        (0..).zip(&node_at).for_each(|(k, node)| place[*node as usize] = k);
        let free = |element: &&[u32]| -> Vec<u32> {
            element.iter().map(|n| place[*n as usize]).filter(|p| *p != FIXED).collect()
        };
        let within: Vec<Vec<u32>> = graph.elements.iter().map(free).collect();
        let pattern = Pattern::new(node_at.len(), within.iter().map(Vec::as_slice));
        let symbolic = Symbolic::new(&pattern)?;
        Ok(Self { place, node_at, pattern, symbolic })
    }
}

fn block_places(elements: &Elements, place: &[u32], pattern: &Pattern) -> Vec<Option<BlockPlace>> {
    let mut places = Vec::new();
    for e in 0..elements.count() {
        let nodes = elements.nodes_of(e);
        for a in 0..nodes.len() {
            for b in 0..a {
                let (a, b) = (place[nodes[a] as usize], place[nodes[b] as usize]);
                let both = a != FIXED && b != FIXED;
                places.push(both.then(|| pattern.block(a.max(b), a.min(b))).flatten());
            }
        }
    }
    places
}
