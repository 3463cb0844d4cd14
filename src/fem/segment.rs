//! A body cut into segments that springs hold together, each with few motions of its own.
//!
//! Thread: cold (made by `hapticd bake reduce`).
//!
//! Seed 000 §III. Elements around the nodes that can touch form contact segments, the rest others; nodes between two
//! segments are doubled and joined by strong springs (eqs 10–13), which passive midpoint integration allows to be as
//! strong as one likes. Each segment is then projected onto a few motions, `x_i = Q_i z_i` (eqs 15–16), and the joined
//! system is small and full. Eliminating all other segments leaves the operator of the contact segments (eqs 14, 17,
//! 18), which is constant: here by factoring with the contact segments last.
//!
//! Motions. Balancing each segment by itself, as the seed does, gives neighbours motions that do not fit each other
//! where they meet; springs that strong then hold the joint still. So every segment takes its part of the same leading
//! balanced motions of the whole body (`shared`), which fit exactly, and contact segments add balanced motions of their
//! own that are zero at the joints (`local`), which fit anything: dents under contact. The same sizes, without locking.

use super::balance::{Balance, Gramians};
use super::dense::{Modes, ModesError, eigen, product};
use super::model::FemModel;
use super::pattern::SparseMatrix;
use crate::math::Vec3;
use nalgebra::DMatrix;

/// How many motions are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keep {
    /// This many.
    Count(usize),
    /// As many as bring the tail of the Hankel values below this share of their sum.
    Tolerance(f64),
}

impl Keep {
    fn of(self, balance: &Balance) -> usize {
        let count = match self {
            Self::Count(count) => count,
            Self::Tolerance(tolerance) => balance.count_for(tolerance),
        };
        count.min(balance.hankel.len())
    }
}

/// How a body is to be cut and reduced.
#[derive(Clone, Copy, Debug)]
pub struct ReduceSpec<'a> {
    /// Nodes that can touch: inputs, and the only ones whose motion is kept.
    pub touching: &'a [u32],
    /// Rings of elements around those at the touching nodes that belong to contact segments too.
    pub rings: u32,
    /// Motions of the whole body, in every segment.
    pub shared: Keep,
    /// Motions of contact segments alone.
    pub local: Keep,
    /// Damping ratio assumed for the choice of motions where the body has less; about one for bodies that are pushed
    /// slowly.
    pub least_ratio: f64,
    /// Stiffness of the springs at a doubled node, in terms of the largest of the body's own.
    pub spring: f64,
}

/// Why a body cannot be reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReduceError {
    /// Its modes cannot be found.
    #[error("{0}")]
    Modes(#[from] ModesError),
    /// Nothing to touch.
    #[error("no free node can touch: name the nodes that contact is expected at")]
    NoInput,
    /// The body is not held.
    #[error("a body to be reduced must be held: fix nodes so that it cannot move as a whole")]
    NotHeld,
    /// Numbers went wrong.
    #[error("the motions of the body could not be balanced: check its mesh and material")]
    Unsound,
}

/// A body of a few motions.
#[derive(Clone, Debug)]
pub struct ReducedModel {
    /// Motions of each segment: contact segments last.
    pub sizes: Vec<usize>,
    /// `QᵀM Q`, kg.
    pub mass: DMatrix<f64>,
    /// `QᵀD Q`.
    pub damping: DMatrix<f64>,
    /// `QᵀK Q` with the springs.
    pub stiffness: DMatrix<f64>,
    /// `QᵀM` of a unit acceleration along x, y and z: what gravity acts on.
    pub weights: DMatrix<f64>,
    /// Nodes that can touch, in ascending order.
    pub nodes: Vec<u32>,
    /// Their motion: three rows for each.
    pub basis: DMatrix<f64>,
    /// Hankel values of the whole body.
    pub shared_hankel: Vec<f64>,
    /// Hankel values of the contact segments, one list each.
    pub local_hankel: Vec<Vec<f64>>,
    /// Unknowns of the full body.
    pub full_size: usize,
}

/// A segment under way.
struct Segment {
    /// Its unknowns among those of the body.
    unknowns: Vec<usize>,
    contact: bool,
    mass: DMatrix<f64>,
    stiffness: DMatrix<f64>,
    motions: DMatrix<f64>,
}

impl ReducedModel {
    /// Cuts and reduces a body.
    ///
    /// # Errors
    /// When it is too large, not held, or has nothing to touch.
    pub fn new(model: &FemModel, spec: &ReduceSpec) -> Result<Self, ReduceError> {
        let mut nodes: Vec<u32> = spec.touching.iter().copied().filter(|n| model.first_of(*n).is_some()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let inputs: Vec<usize> = nodes.iter().filter_map(|n| model.first_of(*n)).flat_map(|k| k..k + 3).collect();
        if inputs.is_empty() {
            return Err(ReduceError::NoInput);
        }
        let modes = Modes::new(model)?;
        if !(modes.squares[0] > 1e-9 * modes.squares[modes.squares.len() - 1]) {
            return Err(ReduceError::NotHeld);
        }
        let gramians = Gramians::new(&modes, model.damping(), spec.least_ratio, &inputs);
        let shared = gramians.balance(&modes.shapes).ok_or(ReduceError::Unsound)?;
        let kept = spec.shared.of(&shared);
        let mut segments = cut(model, &nodes, spec.rings);
        let doubled = joints(&segments, model.size());
        let mut local_hankel = Vec::new();
        for segment in &mut segments {
            let rows = &segment.unknowns;
            let mut motions = DMatrix::from_fn(rows.len(), kept, |i, j| shared.motions[(rows[i], j)]);
            if segment.contact {
                let local = segment.local(model, spec.least_ratio, &inputs, &doubled).ok_or(ReduceError::Unsound)?;
                let count = spec.local.of(&local);
                local_hankel.push(local.hankel.clone());
                motions = beside(&motions, &local.motions.columns(0, count).into_owned());
            }
            segment.motions = orthonormal(&motions, &segment.mass).ok_or(ReduceError::Unsound)?;
        }
        // Contact segments last: they are what is left when the rest is eliminated.
        segments.sort_by_key(|segment| segment.contact);
        let mut reduced = assemble(model, &segments, &doubled, spec.spring, &nodes);
        reduced.shared_hankel = shared.hankel;
        reduced.local_hankel = local_hankel;
        Ok(reduced)
    }
}

/// Two sets of columns as one.
fn beside(a: &DMatrix<f64>, b: &DMatrix<f64>) -> DMatrix<f64> {
    DMatrix::from_fn(
        a.nrows(),
        a.ncols() + b.ncols(),
        |i, j| if j < a.ncols() { a[(i, j)] } else { b[(i, j - a.ncols())] },
    )
}

/// Columns that span the same and are orthonormal in the mass; dependent ones are dropped.
fn orthonormal(columns: &DMatrix<f64>, mass: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    let scaled = DMatrix::from_fn(columns.nrows(), columns.ncols(), |i, j| {
        let norm = columns.column(j).norm();
        if norm > 0.0 { columns[(i, j)] / norm } else { 0.0 }
    });
    let gram = scaled.tr_mul(&product(mass, &scaled));
    let (values, vectors) = eigen(&((&gram + gram.transpose()) * 0.5))?;
    let kept: Vec<usize> = (0..values.len()).rev().filter(|k| values[*k] > 1e-12 * values.max()).collect();
    let mix = DMatrix::from_fn(columns.ncols(), kept.len(), |i, j| vectors[(i, kept[j])] / values[kept[j]].sqrt());
    Some(product(&scaled, &mix))
}

/// Cuts a body: elements near touching nodes, and the rest, each in pieces that hang together.
fn cut(model: &FemModel, touching: &[u32], rings: u32) -> Vec<Segment> {
    let elements = &model.elements;
    let mut near = vec![false; model.node_count()];
    touching.iter().for_each(|n| near[*n as usize] = true);
    let mut contact = vec![false; elements.count()];
    for _ in 0..=rings {
        for e in 0..elements.count() {
            contact[e] |= elements.nodes_of(e).iter().any(|n| near[*n as usize]);
        }
        (0..elements.count())
            .filter(|e| contact[*e])
            .for_each(|e| elements.nodes_of(e).iter().for_each(|n| near[*n as usize] = true));
    }
    let labels = pieces(model, &contact);
    let count = labels.iter().max().map_or(0, |last| last + 1);
    (0..count).map(|label| Segment::new(model, &labels, label, &contact)).collect()
}

/// Numbers the pieces of elements of one kind that share nodes.
fn pieces(model: &FemModel, contact: &[bool]) -> Vec<usize> {
    let elements = &model.elements;
    let mut label = vec![usize::MAX; elements.count()];
    let mut of_node: Vec<Vec<u32>> = vec![Vec::new(); model.node_count()];
    for e in 0..elements.count() {
        elements.nodes_of(e).iter().for_each(|n| of_node[*n as usize].push(e as u32));
    }
    let mut next = 0;
    for first in 0..elements.count() {
        if label[first] != usize::MAX {
            continue;
        }
        let mut waiting = vec![first];
        label[first] = next;
        while let Some(e) = waiting.pop() {
            for other in elements.nodes_of(e).iter().flat_map(|n| &of_node[*n as usize]) {
                let other = *other as usize;
                if label[other] == usize::MAX && contact[other] == contact[first] {
                    label[other] = next;
                    waiting.push(other);
                }
            }
        }
        next += 1;
    }
    label
}

impl Segment {
    fn new(model: &FemModel, labels: &[usize], label: usize, contact: &[bool]) -> Self {
        let own = |e: usize| labels[e] == label;
        let (mass, stiffness) = model.assemble_part(&own);
        let mut places: Vec<usize> = (0..labels.len())
            .filter(|e| own(*e))
            .flat_map(|e| model.elements.nodes_of(e).iter().filter_map(|n| model.place_of(*n)))
            .collect();
        places.sort_unstable();
        places.dedup();
        let unknowns: Vec<usize> = places.iter().flat_map(|p| 3 * p..3 * p + 3).collect();
        let part = |matrix: &SparseMatrix| {
            let full = matrix.dense();
            DMatrix::from_fn(unknowns.len(), unknowns.len(), |i, j| full[(unknowns[i], unknowns[j])])
        };
        Self {
            mass: part(&mass),
            stiffness: part(&stiffness),
            contact: (0..labels.len()).any(|e| own(e) && contact[e]),
            motions: DMatrix::zeros(unknowns.len(), 0),
            unknowns,
        }
    }

    /// Balanced motions of the segment held at its joints.
    fn local(&self, model: &FemModel, least_ratio: f64, inputs: &[usize], doubled: &[bool]) -> Option<Balance> {
        let inner: Vec<usize> = (0..self.unknowns.len()).filter(|k| !doubled[self.unknowns[*k]]).collect();
        let part = |m: &DMatrix<f64>| DMatrix::from_fn(inner.len(), inner.len(), |i, j| m[(inner[i], inner[j])]);
        let modes = Modes::of(&part(&self.mass), &part(&self.stiffness)).ok()?;
        let touched: Vec<usize> = (0..inner.len()).filter(|k| inputs.contains(&self.unknowns[inner[*k]])).collect();
        let balance = Gramians::new(&modes, model.damping(), least_ratio, &touched).balance(&modes.shapes)?;
        let mut motions = DMatrix::zeros(self.unknowns.len(), balance.motions.ncols());
        for (row, k) in inner.iter().enumerate() {
            motions.row_mut(*k).copy_from(&balance.motions.row(row));
        }
        Some(Balance { motions, hankel: balance.hankel })
    }
}

/// Which unknowns are in more than one segment.
fn joints(segments: &[Segment], size: usize) -> Vec<bool> {
    let mut times = vec![0; size];
    segments.iter().flat_map(|s| &s.unknowns).for_each(|k| times[*k] += 1);
    times.into_iter().map(|t| t > 1).collect()
}

/// The small system of all segments and springs.
fn assemble(model: &FemModel, segments: &[Segment], doubled: &[bool], spring: f64, nodes: &[u32]) -> ReducedModel {
    let sizes: Vec<usize> = segments.iter().map(|s| s.motions.ncols()).collect();
    let total: usize = sizes.iter().sum();
    let (mut mass, mut stiffness) = (DMatrix::zeros(total, total), DMatrix::zeros(total, total));
    let mut weights = DMatrix::zeros(total, 3);
    let mut first = 0;
    // Motion of every unknown in each segment that has it: row, by first column and values.
    let mut copies: Vec<Vec<(usize, usize, usize)>> = vec![Vec::new(); model.size()];
    for (index, segment) in segments.iter().enumerate() {
        let q = &segment.motions;
        let (m, k) = (product(&segment.mass, q), product(&segment.stiffness, q));
        mass.view_mut((first, first), (q.ncols(), q.ncols())).copy_from(&q.tr_mul(&m));
        stiffness.view_mut((first, first), (q.ncols(), q.ncols())).copy_from(&q.tr_mul(&k));
        for (row, unknown) in segment.unknowns.iter().enumerate() {
            copies[*unknown].push((index, row, first));
            for j in 0..q.ncols() {
                weights[(first + j, unknown % 3)] += m[(row, j)];
            }
        }
        first += q.ncols();
    }
    let damping = model.damping();
    let damping = &mass * damping.mass_per_s + &stiffness * damping.stiffness_s;
    let strongest = model.stiffness().dense().diagonal().max() * spring;
    let motion = |(index, row, first): (usize, usize, usize)| {
        let q = &segments[index].motions;
        let mut all = nalgebra::DVector::zeros(total);
        (0..q.ncols()).for_each(|j| all[first + j] = q[(row, j)]);
        all
    };
    for unknown in (0..doubled.len()).filter(|k| doubled[*k]) {
        for pair in copies[unknown].windows(2) {
            let apart = motion(pair[0]) - motion(pair[1]);
            stiffness += &apart * apart.transpose() * strongest;
        }
    }
    let mut basis = DMatrix::zeros(3 * nodes.len(), total);
    for (row, unknown) in nodes.iter().filter_map(|n| model.first_of(*n)).flat_map(|k| k..k + 3).enumerate() {
        if let Some(copy) = copies[unknown].last() {
            basis.row_mut(row).copy_from(&motion(*copy).transpose());
        }
    }
    let even = |m: DMatrix<f64>| (&m + m.transpose()) * 0.5;
    ReducedModel {
        sizes,
        mass: even(mass),
        damping: even(damping),
        stiffness: even(stiffness),
        weights,
        nodes: nodes.to_vec(),
        basis,
        shared_hankel: Vec::new(),
        local_hankel: Vec::new(),
        full_size: model.size(),
    }
}

impl ReducedModel {
    /// Number of motions.
    #[must_use]
    pub fn size(&self) -> usize {
        self.mass.nrows()
    }

    /// Force of gravity on the motions.
    #[must_use]
    pub fn gravity_force(&self, acceleration: &Vec3) -> Vec<f64> {
        (&self.weights * acceleration).as_slice().to_vec()
    }

    /// The first of the three rows of a node in [`Self::basis`].
    #[must_use]
    pub fn row_of(&self, node: u32) -> Option<usize> {
        self.nodes.binary_search(&node).ok().map(|k| 3 * k)
    }
}
