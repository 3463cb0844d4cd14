//! Eliminates the rows of a mechanism that are held, and makes springs of what they do to rigid bodies.
//!
//! Thread: simulation.
//!
//! Rows are eliminated group by group: no two groups share a compliance, and no group with bodies acts on a part of the bodies of another one.
//! With the factor `L Lᵀ = W_hh + ε` of a group, products of the columns `L⁻¹ W_hk`, `L⁻¹ H_h` and `L⁻¹ drift_h` are all that the equations in the head
//! of [`super`] need, and what they subtract from `W_kk` is positive semi-definite to the last bit.

use super::{Choice, Room, Whole};
use crate::math::{Vec3, Vec6};
use crate::mechanism::{
    Anew, Block, BlockId, Law, MAX_BLOCKS, MAX_ROWS, MAX_VIBRATIONS, MechanismSnapshot, NO_BODY, Row, dot,
};
use nalgebra::{DMatrix, DVector, SymmetricEigen};

/// Compliance `ε` of an eliminated row relative to its own in `W`. Smaller: stiffer springs where rows of one point conflict; round-off.
const YIELDS: f64 = 1e-6;
/// The same of a row between rigid bodies, m/N: a steel contact.
const RIGID_YIELDS: f64 = 1e-8;
/// Stiffness of a spring row, relative to the stiffest of its spring, below which it is left out.
const LOOSE: f64 = 1e-10;
/// Added to the diagonal of the condensed matrix, relative to the one before: round-off of the elimination.
const ROUND_OFF: f64 = 1e-13;

/// Held rows that act on the same bodies.
struct Group {
    /// Bodies of the snapshot, sorted.
    bodies: Vec<u8>,
    rows: Vec<usize>,
}

/// Rows that stand for a group.
pub(super) struct Spring {
    bodies: Vec<u8>,
    /// Each row on the twists of the bodies.
    jacobian: DMatrix<f64>,
    /// `W_gg` and `W_kg`.
    own: DMatrix<f64>,
    coupling: DMatrix<f64>,
    force: DVector<f64>,
    drift: DVector<f64>,
    lead_s: f64,
}

/// The condensed matrix of the kept rows, and what else the elimination changes.
pub(super) struct Reduced {
    pub(super) matrix: DMatrix<f64>,
    pub(super) drift: DVector<f64>,
    pub(super) springs: Vec<Spring>,
    /// Constant wrenches on bodies.
    pub(super) wrenches: Vec<(u8, Vec6)>,
    /// Groups without a positive definite matrix.
    pub(super) dropped: u32,
}

impl Whole {
    /// Bodies that a row acts on, sorted.
    pub(super) fn bodies_of(&self, row: usize) -> Vec<u8> {
        let mut bodies: Vec<u8> = self.rows[row].bodies.into_iter().filter(|body| *body != NO_BODY).collect();
        bodies.sort_unstable();
        bodies.dedup();
        bodies
    }

    /// Groups held rows so that rows of two groups neither share a compliance nor, with bodies, the same bodies.
    fn groups(&self, held: &[usize]) -> Vec<Group> {
        let mut left = held.to_vec();
        let mut groups: Vec<Group> = Vec::new();
        while let Some(start) = left.pop() {
            let mut group = Group { bodies: self.bodies_of(start), rows: vec![start] };
            let mut at = 0;
            while let Some(row) = group.rows.get(at) {
                let coupled = self.row(*row);
                let (linked, apart) = left.into_iter().partition::<Vec<_>, _>(|other| coupled[*other] != 0.0);
                for other in &linked {
                    group.bodies.extend(self.bodies_of(*other));
                }
                group.rows.extend(linked);
                left = apart;
                at += 1;
            }
            group.bodies.sort_unstable();
            group.bodies.dedup();
            groups.push(group);
        }
        // Larger sets of bodies first, so that smaller ones find them.
        groups.sort_by_key(|group| std::cmp::Reverse(group.bodies.len()));
        let mut merged: Vec<Group> = Vec::new();
        for group in groups {
            let holds = |other: &&mut Group| group.bodies.iter().all(|body| other.bodies.contains(body));
            match merged.iter_mut().find(holds).filter(|_| !group.bodies.is_empty()) {
                Some(other) => other.rows.extend(group.rows),
                None => merged.push(group),
            }
        }
        merged
    }

    /// Eliminates rows.
    pub(super) fn reduce(&self, choice: &Choice) -> Reduced {
        let kept = &choice.rows;
        let mut reduced = Reduced {
            matrix: DMatrix::from_fn(kept.len(), kept.len(), |a, b| self.row(kept[a])[kept[b]]),
            drift: DVector::from_iterator(kept.len(), kept.iter().map(|row| self.rows[*row].drift)),
            springs: Vec::new(),
            wrenches: Vec::new(),
            dropped: 0,
        };
        for row in &choice.frozen {
            for (body, jacobian, _) in self.rows[*row].parts() {
                reduced.wrenches.push((body as u8, jacobian * self.lambda[*row]));
            }
        }
        for group in self.groups(&choice.held) {
            reduced.eliminate(self, kept, &group);
        }
        reduced.matrix.fill_upper_triangle_with_lower_triangle();
        for (at, row) in kept.iter().enumerate().filter(|_| !choice.held.is_empty()) {
            reduced.matrix[(at, at)] += ROUND_OFF * self.own(*row);
        }
        reduced
    }

    /// Compliance that a held row has besides `W`.
    pub(super) fn yields(&self, row: usize) -> f64 {
        let own = self.own(row);
        let block = self.blocks.partition_point(|block| block.first <= row) - 1;
        let law = self.blocks[block].law.compliance();
        law + if own > 0.0 { YIELDS * own } else { RIGID_YIELDS }
    }
}

impl Reduced {
    /// Room that the springs need.
    pub(super) fn room(&self) -> Room {
        let rows = |spring: &Spring| spring.force.len();
        Room {
            rows: self.springs.iter().map(rows).sum(),
            blocks: self.springs.iter().map(|spring| rows(spring).div_ceil(3)).sum(),
        }
    }

    /// Eliminates the rows of a group.
    fn eliminate(&mut self, whole: &Whole, kept: &[usize], group: &Group) {
        let size = 6 * group.bodies.len();
        let Some(factor) = Factor::of(whole, &group.rows) else {
            self.dropped += 1;
            return;
        };
        // Columns L⁻¹ W_hk, L⁻¹ H_h, L⁻¹ drift_h: their products are W_kh S W_hk, K and the rest.
        let column = |of: &dyn Fn(usize) -> f64| factor.forward(group.rows.iter().map(|row| of(*row)).collect());
        let kept_columns = kept.iter().map(|k| column(&|row| whole.row(row)[*k]));
        let kept_columns: Vec<Vec<f64>> = kept_columns.collect();
        let body_columns = (0..size).map(|at| column(&|row| on_body(&whole.rows[row], group.bodies[at / 6])[at % 6]));
        let body_columns: Vec<Vec<f64>> = body_columns.collect();
        let drift = column(&|row| whole.rows[row].drift);
        for a in 0..kept.len() {
            for b in 0..=a {
                let less = dot(&kept_columns[a], &kept_columns[b]);
                self.matrix[(a, b)] -= less;
                self.matrix[(b, a)] = self.matrix[(a, b)];
            }
            self.drift[a] -= dot(&kept_columns[a], &drift);
        }
        if size == 0 {
            return;
        }
        let mut wrench = DVector::zeros(size);
        for row in &group.rows {
            for (at, body) in group.bodies.iter().enumerate() {
                let on = on_body(&whole.rows[*row], *body) * whole.lambda[*row];
                (0..6).for_each(|k| wrench[6 * at + k] += on[k]);
            }
        }
        let stiffness = DMatrix::from_fn(size, size, |a, b| dot(&body_columns[a], &body_columns[b]));
        let scale = scale(&stiffness);
        let basis = Basis::of(&stiffness, &scale);
        // W_kh S H_h and H_hᵀ S drift_h in the scaled basis.
        let cross = DMatrix::from_fn(kept.len(), size, |a, b| dot(&kept_columns[a], &body_columns[b]) * scale[b]);
        let cross = cross * basis.rows.transpose();
        let driven = DVector::from_fn(size, |a, _| dot(&body_columns[a], &drift) * scale[a]);
        let drift = &basis.compliance * (&basis.rows * driven);
        let coupling = &cross * &basis.compliance;
        self.matrix += &coupling * cross.transpose();
        self.drift += &cross * &drift;
        let scaled = wrench.component_mul(&scale);
        let force = &basis.rows * &scaled;
        let left = scaled - basis.rows.transpose() * &force;
        for (at, body) in group.bodies.iter().enumerate() {
            self.wrenches.push((*body, Vec6::from_fn(|k, _| left[6 * at + k] / scale[6 * at + k])));
        }
        let jacobian = DMatrix::from_fn(force.len(), size, |a, b| basis.rows[(a, b)] / scale[b]);
        let bodies = group.bodies.clone();
        let lead_s = group.rows.iter().fold(0.0, |most: f64, row| most.max(whole.rows[*row].lead_s));
        self.springs.push(Spring { bodies, jacobian, own: basis.compliance, coupling, force, drift, lead_s });
    }
}

/// Row on the twist of a body of the snapshot.
pub(super) fn on_body(row: &Row, body: u8) -> Vec6 {
    row.parts().filter(|(other, ..)| *other == usize::from(body)).map(|(_, jacobian, _)| *jacobian).sum()
}

/// Lengths that make the parts of a stiffness comparable: one for ways, and for turns the one that gives turns as much stiffness.
fn scale(stiffness: &DMatrix<f64>) -> DVector<f64> {
    let (mut ways, mut turns) = (0.0, 0.0);
    for at in 0..stiffness.nrows() {
        *if at % 6 < 3 { &mut ways } else { &mut turns } += stiffness[(at, at)];
    }
    let turn = if ways > 0.0 && turns > 0.0 { f64::sqrt(ways / turns) } else { 1.0 };
    DVector::from_fn(stiffness.nrows(), |at, _| if at % 6 < 3 { 1.0 } else { turn })
}

/// Directions of the rows of a spring in scaled ways, and their compliance.
struct Basis {
    rows: DMatrix<f64>,
    compliance: DMatrix<f64>,
}

impl Basis {
    fn of(stiffness: &DMatrix<f64>, scale: &DVector<f64>) -> Self {
        let size = stiffness.nrows();
        let scaled =
            DMatrix::from_fn(size, size, |a, b| 0.5 * (stiffness[(a, b)] + stiffness[(b, a)]) * scale[a] * scale[b]);
        let eigen = SymmetricEigen::new(scaled);
        let least = LOOSE * eigen.eigenvalues.max();
        let stiff: Vec<usize> = (0..size).filter(|k| eigen.eigenvalues[*k] > least.max(f64::MIN_POSITIVE)).collect();
        if size <= 12 {
            return Self {
                rows: DMatrix::from_fn(stiff.len(), size, |a, b| eigen.eigenvectors[(b, stiff[a])]),
                compliance: DMatrix::from_fn(stiff.len(), stiff.len(), |a, b| {
                    if a == b { 1.0 / eigen.eigenvalues[stiff[a]] } else { 0.0 }
                }),
            };
        }
        // A row acts on two bodies at most: each body has rows of its own, and directions without stiffness get a little.
        let inverse = eigen.eigenvalues.map(|value| 1.0 / value.max(LOOSE.sqrt() * eigen.eigenvalues.max()));
        let mut compliance = &eigen.eigenvectors * DMatrix::from_diagonal(&inverse) * eigen.eigenvectors.transpose();
        compliance.fill_upper_triangle_with_lower_triangle();
        Self { rows: DMatrix::identity(size, size), compliance }
    }
}

impl Spring {
    /// Adds the rows behind the `kept` rows and the springs before.
    pub(super) fn write(&self, part: usize, kept: usize, out: &mut MechanismSnapshot) {
        let first = out.row_count;
        let count = self.force.len();
        let fits = first + count <= MAX_ROWS && out.block_count + count.div_ceil(3) <= MAX_BLOCKS;
        if !fits {
            out.dropped += 1;
            return;
        }
        for at in 0..count {
            let row = first + at;
            // All springs before have no compliance in common with this one.
            out.compliance[row * MAX_ROWS..][..first + count].fill(0.0);
            (0..row).for_each(|other| out.compliance[other * MAX_ROWS + row] = 0.0);
        }
        for at in 0..count {
            let row = first + at;
            for other in 0..kept {
                out.compliance[row * MAX_ROWS + other] = self.coupling[(other, at)];
                out.compliance[other * MAX_ROWS + row] = self.coupling[(other, at)];
            }
            for other in 0..count {
                out.compliance[row * MAX_ROWS + first + other] = self.own[(at, other)];
            }
            out.rows[row] = self.row(at);
            out.lambda[row] = self.force[at];
        }
        for at in (0..count).step_by(3) {
            let id = BlockId::Spring { step: out.stamp.sequence, part: part as u16, first: at as u16 };
            let law = Law::Bilateral { rows: (count - at).min(3) as u8, compliance: 0.0 };
            out.blocks[out.block_count] = Block { id, first: first + at, law };
            out.anew[out.block_count] = Anew::No;
            out.shapes[out.block_count] = [Vec3::zeros(); MAX_VIBRATIONS];
            out.block_count += 1;
        }
        out.row_count += count;
    }

    fn row(&self, at: usize) -> Row {
        let mut row = Row { drift: self.drift[at], lead_s: self.lead_s, ..Row::EMPTY };
        // Rows of more than two bodies are on one of them each.
        let on: Vec<usize> = if self.bodies.len() > 2 { vec![at / 6] } else { (0..self.bodies.len()).collect() };
        for (side, body) in on.into_iter().enumerate() {
            row.bodies[side] = self.bodies[body];
            row.jacobians[side] = Vec6::from_fn(|k, _| self.jacobian[(at, 6 * body + k)]);
        }
        row
    }
}

/// Factor `L Lᵀ` of `W_hh + ε`, row-major.
struct Factor {
    size: usize,
    lower: Vec<f64>,
}

impl Factor {
    /// None for a matrix that is not positive definite.
    fn of(whole: &Whole, rows: &[usize]) -> Option<Self> {
        let size = rows.len();
        let mut lower = vec![0.0; size * size];
        for i in 0..size {
            let coupled = whole.row(rows[i]);
            for j in 0..=i {
                let (before, rest) = lower.split_at_mut(i * size);
                let own = &mut rest[..size];
                let other = if j < i { &before[j * size..][..size] } else { &*own };
                let value = coupled[rows[j]] - dot(&own[..j], &other[..j]);
                own[j] = if j < i {
                    value / other[j]
                } else {
                    let square = value + whole.yields(rows[i]);
                    if !(square > 0.0 && square.is_finite()) {
                        return None;
                    }
                    square.sqrt()
                };
            }
        }
        Some(Self { size, lower })
    }

    /// `L⁻¹ b`.
    fn forward(&self, mut b: Vec<f64>) -> Vec<f64> {
        if b.iter().all(|x| *x == 0.0) {
            return b;
        }
        for i in 0..self.size {
            let row = &self.lower[i * self.size..][..self.size];
            b[i] = (b[i] - dot(&row[..i], &b[..i])) / row[i];
        }
        b
    }
}
