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
//! where they meet; springs that strong then hold the joint still. So the leading balanced motions of the whole body are
//! turned among themselves until as few as possible move the rest (its principal motions). Those are `shared`: each
//! segment has its part of them, which fit exactly. What is left moves the contact segment and hardly anything else; it
//! is that segment's alone (`local`), less what it would do at the joint. The same sizes, without locking.

use super::answer::StaticAnswer;
use super::balance::{Balance, Gramians};
use super::dense::{Modes, ModesError, eigen, product};
use super::model::{FemError, FemModel};
use super::pattern::SparseMatrix;
use crate::math::Vec3;
use nalgebra::DMatrix;

/// How many motions are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keep {
    /// This many.
    Count(usize),
    /// As many as bring what is lost, as the tail of the Hankel values has it, below this share of the whole.
    Tolerance(f64),
}

/// How a body is to be cut and reduced.
#[derive(Clone, Copy, Debug)]
pub struct ReduceSpec<'a> {
    /// Nodes that can touch: inputs, and the only ones whose motion is kept.
    pub touching: &'a [u32],
    /// How hard contact pushes along x, y and z, relative to each other: less where there is friction only.
    pub push: Vec3,
    /// Rings of elements around those at the touching nodes that belong to the contact segment too. Best up to where
    /// the body is stiff.
    pub rings: u32,
    /// Motions of every segment.
    pub shared: Keep,
    /// More motions of the contact segment.
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

/// What is being done to a body that is reduced: some of it takes minutes for large ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceStage {
    /// Its free vibrations are sought.
    Modes,
    /// The motions of the whole are weighed.
    Balance,
    /// A segment gets its motions.
    Segment {
        /// Which, from 1.
        number: usize,
        /// Of how many.
        count: usize,
    },
    /// Segments are joined.
    Join,
}

/// A body of a few motions.
#[derive(Clone, Debug)]
pub struct ReducedModel {
    /// Motions of each segment: the contact segment last.
    pub sizes: Vec<usize>,
    /// `ω²` of each motion, 1/s², springs included. Motions are the vibrations of the joined segments, of unit mass each.
    pub squares: Vec<f64>,
    /// Damping rate of each, 1/s.
    pub rates: Vec<f64>,
    /// `QᵀM` of a unit acceleration along x, y and z: what gravity acts on.
    pub weights: DMatrix<f64>,
    /// Nodes that can touch, in ascending order.
    pub nodes: Vec<u32>,
    /// Their motion: three rows for each.
    pub basis: DMatrix<f64>,
    /// Hankel values of the whole body.
    pub hankel: Vec<f64>,
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
        Self::with_progress(model, spec, |_| ())
    }

    /// The same, telling what is being done.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_progress(
        model: &FemModel,
        spec: &ReduceSpec,
        mut progress: impl FnMut(ReduceStage),
    ) -> Result<Self, ReduceError> {
        let mut nodes: Vec<u32> = spec.touching.iter().copied().filter(|n| model.first_of(*n).is_some()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let inputs: Vec<usize> = nodes.iter().filter_map(|n| model.first_of(*n)).flat_map(|k| k..k + 3).collect();
        if inputs.is_empty() {
            return Err(ReduceError::NoInput);
        }
        progress(ReduceStage::Modes);
        let modes = Modes::new(model)?;
        if !(modes.squares[0] > 1e-9 * modes.squares[modes.squares.len() - 1]) {
            return Err(ReduceError::NotHeld);
        }
        progress(ReduceStage::Balance);
        let gramians = Gramians::new(&modes, model.damping(), spec.least_ratio, &inputs, &spec.push);
        let balance = gramians.balance(&modes.shapes).ok_or(ReduceError::Unsound)?;
        let mut segments = cut(model, &nodes, spec.rings);
        let doubled = joints(&segments, model.size());
        let split = Split::new(&balance, spec, &segments).ok_or(ReduceError::Unsound)?;
        let count = segments.len();
        for (number, segment) in (1..).zip(&mut segments) {
            progress(ReduceStage::Segment { number, count });
            let mut motions = segment.part(&split.shared);
            if segment.contact {
                let local = segment.part(&split.local);
                motions = beside(&motions, &segment.held(local, &doubled).ok_or(ReduceError::Unsound)?);
            }
            segment.motions = orthonormal(&motions, &segment.mass).ok_or(ReduceError::Unsound)?;
        }
        // The contact segment last: it is what is left when the rest is eliminated.
        progress(ReduceStage::Join);
        segments.sort_by_key(|segment| segment.contact);
        let mut reduced = assemble(model, &segments, &doubled, spec.spring, &nodes)?;
        reduced.hankel = balance.hankel;
        Ok(reduced)
    }
}

/// Motions of the whole body, one column each: those that the segments share, and those of the contact segment alone.
struct Split {
    shared: DMatrix<f64>,
    local: DMatrix<f64>,
}

impl Split {
    /// Takes the leading balanced motions and turns them so that the first move the rest of the body most.
    fn new(balance: &Balance, spec: &ReduceSpec, segments: &[Segment]) -> Option<Self> {
        let of = |keep: Keep| match keep {
            Keep::Count(count) => count,
            Keep::Tolerance(tolerance) => balance.count_for(tolerance),
        };
        let all = match spec.local {
            Keep::Count(count) => of(spec.shared).saturating_add(count),
            tolerance @ Keep::Tolerance(_) => of(tolerance),
        };
        let all = all.min(balance.hankel.len());
        // Each as large as it is when the body is pushed.
        let motions =
            DMatrix::from_fn(balance.motions.nrows(), all, |i, j| balance.motions[(i, j)] * balance.hankel[j].sqrt());
        let mut rest: Vec<usize> =
            segments.iter().filter(|s| !s.contact).flat_map(|s| s.unknowns.iter().copied()).collect();
        rest.sort_unstable();
        rest.dedup();
        if rest.is_empty() {
            return Some(Self { local: motions, shared: DMatrix::zeros(balance.motions.nrows(), 0) });
        }
        let moved = DMatrix::from_fn(rest.len(), all, |i, j| motions[(rest[i], j)]);
        let (squares, turns) = eigen(&product(&moved.transpose(), &moved))?;
        let sizes: Vec<f64> = squares.iter().rev().map(|square| square.max(0.0).sqrt()).collect();
        let turns = DMatrix::from_fn(all, all, |i, j| turns[(i, all - 1 - j)]);
        let shared = match spec.shared {
            Keep::Count(count) => count.min(all),
            Keep::Tolerance(share) => {
                let whole: f64 = sizes.iter().sum();
                (0..all).find(|kept| sizes[*kept..].iter().sum::<f64>() <= share * whole).unwrap_or(all)
            }
        };
        let turned = product(&motions, &turns);
        let (shared, local) = (turned.columns(0, shared), turned.columns(shared, all - shared));
        Some(Self { shared: shared.into_owned(), local: local.into_owned() })
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

/// Cuts a body: the elements near touching nodes, wherever they are, and the rest in pieces that hang together.
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

/// Numbers the pieces: 0 for all elements near contact, if any, then those of the rest that share nodes.
fn pieces(model: &FemModel, contact: &[bool]) -> Vec<usize> {
    let elements = &model.elements;
    let mut label: Vec<usize> = contact.iter().map(|near| if *near { 0 } else { usize::MAX }).collect();
    let mut of_node: Vec<Vec<u32>> = vec![Vec::new(); model.node_count()];
    for e in 0..elements.count() {
        elements.nodes_of(e).iter().for_each(|n| of_node[*n as usize].push(e as u32));
    }
    let mut next = usize::from(contact.contains(&true));
    for first in 0..elements.count() {
        if label[first] != usize::MAX {
            continue;
        }
        let mut waiting = vec![first];
        label[first] = next;
        while let Some(e) = waiting.pop() {
            for other in elements.nodes_of(e).iter().flat_map(|n| &of_node[*n as usize]) {
                let other = *other as usize;
                if label[other] == usize::MAX {
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

    /// Its part of motions of the whole body.
    fn part(&self, motions: &DMatrix<f64>) -> DMatrix<f64> {
        DMatrix::from_fn(self.unknowns.len(), motions.ncols(), |i, j| motions[(self.unknowns[i], j)])
    }

    /// Motions less how the segment would follow its joints at rest: what is left is zero there and fits any neighbour.
    fn held(&self, mut motions: DMatrix<f64>, doubled: &[bool]) -> Option<DMatrix<f64>> {
        let (joint, inner): (Vec<usize>, Vec<usize>) =
            (0..self.unknowns.len()).partition(|k| doubled[self.unknowns[*k]]);
        if joint.is_empty() || motions.ncols() == 0 {
            return Some(motions);
        }
        let part = |rows: &[usize], columns: &[usize]| {
            DMatrix::from_fn(rows.len(), columns.len(), |i, j| self.stiffness[(rows[i], columns[j])])
        };
        let at_joint = DMatrix::from_fn(joint.len(), motions.ncols(), |i, j| motions[(joint[i], j)]);
        let pulled = product(&part(&inner, &joint), &at_joint);
        let followed = part(&inner, &inner).cholesky()?.solve(&pulled);
        for (row, k) in inner.iter().enumerate() {
            // The segment follows by minus this.
            let held = motions.row(*k) + followed.row(row);
            motions.row_mut(*k).copy_from(&held);
        }
        joint.iter().for_each(|k| motions.row_mut(*k).fill(0.0));
        Some(motions)
    }
}

/// Which unknowns are in more than one segment.
fn joints(segments: &[Segment], size: usize) -> Vec<bool> {
    let mut times = vec![0; size];
    segments.iter().flat_map(|s| &s.unknowns).for_each(|k| times[*k] += 1);
    times.into_iter().map(|t| t > 1).collect()
}

/// The small system of all segments and springs, in terms of its own vibrations: nothing then couples one motion with
/// another but contact. Springs are damped as the material is.
fn assemble(
    model: &FemModel,
    segments: &[Segment],
    doubled: &[bool],
    spring: f64,
    nodes: &[u32],
) -> Result<ReducedModel, ReduceError> {
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
    let modes = Modes::of(&even(mass), &even(stiffness))?;
    if !(modes.squares[0] > 0.0) {
        return Err(ReduceError::Unsound);
    }
    let damping = model.damping();
    Ok(ReducedModel {
        sizes,
        rates: modes.squares.iter().map(|w| damping.mass_per_s + damping.stiffness_s * w).collect(),
        squares: modes.squares.as_slice().to_vec(),
        weights: modes.shapes.tr_mul(&weights),
        nodes: nodes.to_vec(),
        basis: product(&basis, &modes.shapes),
        hankel: Vec::new(),
        full_size: model.size(),
    })
}

impl ReducedModel {
    /// How far the touching nodes are off once the body has come to rest under a force on one of them along an axis: the
    /// largest error of all such forces, as a share of how far those nodes move.
    ///
    /// # Errors
    /// When the full body is not held.
    pub fn error_at_rest(&self, model: &FemModel) -> Result<f64, FemError> {
        let exact = StaticAnswer::new(model, &self.nodes, &Vec3::zeros())?;
        let scaled = DMatrix::from_fn(self.basis.nrows(), self.size(), |i, j| self.basis[(i, j)] / self.squares[j]);
        let ours = product(&self.basis, &scaled.transpose());
        let mut worst: f64 = 0.0;
        for by in 0..self.nodes.len() {
            let (mut off, mut size) = (Vec3::zeros(), Vec3::zeros());
            for at in 0..self.nodes.len() {
                let (exact, ours) = (exact.between(at, by), ours.fixed_view::<3, 3>(3 * at, 3 * by));
                for axis in 0..3 {
                    off[axis] += (exact.column(axis) - ours.column(axis)).norm_squared();
                    size[axis] += exact.column(axis).norm_squared();
                }
            }
            worst = worst.max(off.component_div(&size).max());
        }
        Ok(worst.sqrt())
    }

    /// Number of motions.
    #[must_use]
    pub fn size(&self) -> usize {
        self.squares.len()
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
