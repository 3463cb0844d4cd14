//! The problem of a step: `δ = W λ + δ_free` over all constraints and all bodies, island by island.
//!
//! Thread: simulation (grows to the largest problem seen).
//!
//! Two constraints belong to one island when a body that yields connects them. `W` has one square block for each island; no number is
//! stored for two constraints of different islands. The share of soft bodies in `W` is kept apart: it stays as it is while rows of rigid
//! bodies are made again, and the haptic tick gets it without the share of rigid bodies, which travel as bodies.

use super::body::rigid::Mover;
use super::body::{Body, SoftBody, SoftRow};
use super::constraint::{Constraint, sign};
use super::ids::{BodyId, MoverId, PerMover};
use crate::math::{Mat6, Vec6};
use crate::mechanism::newton::{Workspace, solve_robustly};
use crate::mechanism::solver::{Outcome, Settings};
use crate::mechanism::{Block, BlockId, Problem};
use std::ops::Range;

/// A set of constraints that bodies connect.
#[derive(Clone, Debug)]
pub(super) struct Island {
    pub constraints: Range<usize>,
    pub rows: Range<usize>,
    /// Where its block of `W` begins.
    pub at: usize,
}

/// See the file's head.
#[derive(Default)]
pub(super) struct Assembly {
    pub constraints: Vec<Constraint>,
    pub islands: Vec<Island>,
    /// Blocks of the solver; their first rows count within the island.
    blocks: Vec<Block>,
    compliance: Vec<f64>,
    /// Share of soft bodies.
    soft: Vec<f64>,
    free: Vec<f64>,
    pub lambda: Vec<f64>,
    /// Forces of the last solve by constraint, sorted: the warm start.
    remembered: Vec<(BlockId, [f64; 3])>,
    workspace: Workspace,
    /// Compliance of each soft body in each island, in the order of [`Assembly::each_soft`].
    parts: Vec<Vec<f64>>,
    forces: Vec<f64>,
}

/// Row `row` of the constraint at `index` acts on a soft body from `side`.
struct Member {
    index: usize,
    side: usize,
    row: usize,
}

impl Assembly {
    /// Puts constraints in the order of their islands and numbers their rows.
    pub(super) fn arrange(&mut self, movers: &PerMover<Mover>, bodies: usize) {
        let mut root: Vec<usize> = (0..bodies).collect();
        fn find(root: &mut [usize], mut at: usize) -> usize {
            while root[at] != at {
                root[at] = root[root[at]];
                at = root[at];
            }
            at
        }
        let ends = |constraint: &Constraint| constraint.yielding(movers).map(|body| body.map(|body| body.0));
        for constraint in &self.constraints {
            if let [Some(a), Some(b)] = ends(constraint) {
                let (a, b) = (find(&mut root, a), find(&mut root, b));
                // The smaller number is the root, so that the order does not depend on that of the constraints.
                root[a.max(b)] = a.min(b);
            }
        }
        let mut island_of = |constraint: &Constraint| {
            let [a, b] = ends(constraint);
            a.or(b).map_or(usize::MAX, |body| find(&mut root, body))
        };
        let mut keyed: Vec<(usize, Constraint)> =
            std::mem::take(&mut self.constraints).into_iter().map(|c| (island_of(&c), c)).collect();
        keyed.retain(|(island, _)| *island != usize::MAX);
        keyed.sort_by_key(|(island, _)| *island);
        self.islands.clear();
        let (mut first, mut at, mut last) = (0, 0, None);
        for (index, (island, mut constraint)) in keyed.into_iter().enumerate() {
            if last != Some(island) {
                at = self.islands.last().map_or(0, |island| island.at + island.rows.len() * island.rows.len());
                self.islands.push(Island { constraints: index..index, rows: first..first, at });
                last = Some(island);
            }
            constraint.first = first;
            first += constraint.law.rows();
            self.constraints.push(constraint);
            if let Some(island) = self.islands.last_mut() {
                (island.constraints.end, island.rows.end) = (index + 1, first);
            }
        }
        let size = self.islands.last().map_or(at, |island| island.at + island.rows.len() * island.rows.len());
        self.soft.clear();
        self.soft.resize(size, 0.0);
        self.blocks.clear();
        for island in &self.islands {
            for constraint in &self.constraints[island.constraints.clone()] {
                let first = constraint.first - island.rows.start;
                self.blocks.push(Block { id: constraint.id, first, law: constraint.law });
            }
        }
        self.warm_start();
    }

    /// Forces that constraints known from the last solve had.
    fn warm_start(&mut self) {
        self.lambda.clear();
        for constraint in &self.constraints {
            let known = self.known(constraint.id).unwrap_or([0.0; 3]);
            self.lambda.extend_from_slice(&known[..constraint.law.rows()]);
        }
    }

    /// Force of a constraint in the last solve.
    pub(super) fn known(&self, id: BlockId) -> Option<[f64; 3]> {
        self.remembered.binary_search_by_key(&id, |(id, _)| *id).ok().map(|at| self.remembered[at].1)
    }

    /// Sets the first guess of a constraint that is new.
    pub(super) fn suggest(&mut self, id: BlockId, force: [f64; 3]) {
        if let Err(at) = self.remembered.binary_search_by_key(&id, |(id, _)| *id) {
            self.remembered.insert(at, (id, force));
        }
    }

    /// Rows of an island that act on a soft body.
    fn members(constraints: &[Constraint], island: &Island, body: BodyId, out: &mut Vec<Member>) {
        out.clear();
        for index in island.constraints.clone() {
            let constraint = &constraints[index];
            for side in 0..2 {
                if constraint.soft_end(side).is_some_and(|(other, _)| other == body) {
                    out.extend((0..constraint.law.rows()).map(|row| Member { index, side, row }));
                }
            }
        }
    }

    fn soft_rows<'a>(constraints: &'a [Constraint], members: &[Member]) -> Vec<SoftRow<'a>> {
        let row = |member: &Member| {
            let constraint = &constraints[member.index];
            let (_, anchor) = constraint.soft_end(member.side)?;
            let direction = constraint.directions()[member.row] * sign(member.side);
            Some(SoftRow { anchor, row: member.row, direction })
        };
        members.iter().filter_map(row).collect()
    }

    /// Calls `each` with every soft body that an island acts on, its rows there and their numbers in the island.
    fn each_soft(
        constraints: &[Constraint],
        islands: &[Island],
        bodies: &mut [Body],
        mut each: impl FnMut(BodyId, &mut dyn SoftBody, &Island, &[SoftRow<'_>], &[usize]),
    ) {
        let (mut members, mut numbers) = (Vec::new(), Vec::new());
        for island in islands {
            for (index, body) in bodies.iter_mut().enumerate() {
                let (index, Some(body)) = (BodyId(index), body.soft_mut()) else { continue };
                Self::members(constraints, island, index, &mut members);
                if members.is_empty() {
                    continue;
                }
                numbers.clear();
                numbers.extend(members.iter().map(|m| constraints[m.index].first + m.row - island.rows.start));
                each(index, body, island, &Self::soft_rows(constraints, &members), &numbers);
            }
        }
    }

    /// Adds the share of soft bodies to `W`.
    pub(super) fn add_soft(&mut self, bodies: &mut [Body]) {
        let Self { constraints, islands, soft, parts, .. } = self;
        let mut call = 0;
        Self::each_soft(constraints, islands, bodies, |_, body, island, rows, numbers| {
            if parts.len() == call {
                parts.push(Vec::new());
            }
            let part = &mut parts[call];
            call += 1;
            part.clear();
            part.resize(rows.len() * rows.len(), 0.0);
            body.compliance(rows, part);
            scatter(soft, island, numbers, |at| part[at]);
        });
    }

    /// Changes the share of soft bodies in `W` to that of the haptic tick, where a body answers there otherwise than in the step.
    pub(super) fn answer_soft(&mut self, bodies: &mut [Body]) {
        let Self { constraints, islands, soft, parts, .. } = self;
        let (mut call, mut answer) = (0, Vec::new());
        Self::each_soft(constraints, islands, bodies, |_, body, island, rows, numbers| {
            let part = &parts[call];
            call += 1;
            answer.clear();
            answer.extend_from_slice(part);
            if body.answer(rows, &mut answer) {
                scatter(soft, island, numbers, |at| answer[at] - part[at]);
            }
        });
    }

    /// `W` and the free violation for the rows as they are.
    pub(super) fn fill(&mut self, movers: &PerMover<Mover>, bodies: &[Body], step_s: f64) {
        self.compliance.clear();
        self.compliance.extend_from_slice(&self.soft);
        for island in &self.islands {
            let stride = island.rows.len();
            let out = &mut self.compliance[island.at..island.at + stride * stride];
            let constraints = &self.constraints[island.constraints.clone()];
            add_rigid(out, stride, island.rows.start, constraints, movers, step_s, |mover| mover.inverse);
        }
        self.free.clear();
        for constraint in &self.constraints {
            for row in 0..constraint.law.rows() {
                let before = self.lambda[constraint.first + row];
                self.free.push(constraint.free(row, movers, bodies, step_s, before));
            }
        }
    }

    /// Solves every island.
    pub(super) fn solve(&mut self, settings: &Settings) -> Outcome {
        let mut all = Outcome { converged: true, ..Outcome::default() };
        for island in &self.islands {
            let stride = island.rows.len();
            let problem = Problem {
                blocks: &self.blocks[island.constraints.clone()],
                compliance: &self.compliance[island.at..island.at + stride * stride],
                stride,
                free: &self.free[island.rows.clone()],
            };
            let lambda = &mut self.lambda[island.rows.clone()];
            let outcome = solve_robustly(&problem, lambda, settings, &mut self.workspace, || false);
            all.iterations += outcome.iterations;
            all.residual = all.residual.max(outcome.residual);
            all.converged &= outcome.converged;
        }
        self.remember();
        all
    }

    fn remember(&mut self) {
        self.remembered.clear();
        for constraint in &self.constraints {
            let mut force = [0.0; 3];
            let rows = &self.lambda[constraint.rows()];
            force[..rows.len()].copy_from_slice(rows);
            if force != [0.0; 3] {
                self.remembered.push((constraint.id, force));
            }
        }
        self.remembered.sort_unstable_by_key(|(id, _)| *id);
    }

    /// Gives soft bodies the forces found. `last`: no pass comes after this one in the step. Gives the largest change of place of a body
    /// that contacts are detected again for, m.
    pub(super) fn correct(&mut self, bodies: &mut [Body], last: bool) -> f64 {
        let Self { constraints, islands, lambda, forces, .. } = self;
        let (mut farthest, mut met) = (0.0_f64, vec![false; bodies.len()]);
        Self::each_soft(constraints, islands, bodies, |index, body, island, rows, numbers| {
            forces.clear();
            forces.extend(numbers.iter().map(|row| lambda[island.rows.start + row]));
            farthest = farthest.max(body.apply(rows, forces, last));
            met[index.0] = true;
        });
        for (body, met) in bodies.iter_mut().zip(met) {
            if let (Some(body), false) = (body.soft_mut(), met) {
                farthest = farthest.max(body.apply(&[], &[], last));
            }
        }
        farthest
    }

    /// Gives soft bodies changes of the impulses of the step, N·s, one for each row.
    pub(super) fn strike(&mut self, bodies: &mut [Body], impulses: &[f64]) {
        let Self { constraints, islands, forces, .. } = self;
        Self::each_soft(constraints, islands, bodies, |_, body, island, rows, numbers| {
            forces.clear();
            forces.extend(numbers.iter().map(|row| impulses[island.rows.start + row]));
            if forces.iter().any(|impulse| *impulse != 0.0) {
                body.strike(rows, forces);
            }
        });
    }

    /// Problem of the largest island of the last step.
    pub(super) fn largest(&self) -> Problem<'_> {
        let largest = self.islands.iter().max_by_key(|island| island.rows.len());
        let Some(island) = largest else {
            return Problem { blocks: &[], compliance: &[], stride: 0, free: &[] };
        };
        let stride = island.rows.len();
        Problem {
            blocks: &self.blocks[island.constraints.clone()],
            compliance: &self.compliance[island.at..island.at + stride * stride],
            stride,
            free: &self.free[island.rows.clone()],
        }
    }

    /// Violation of a row under the forces found.
    pub(super) fn violation(&self, row: usize) -> f64 {
        let Some(island) = self.islands.iter().find(|island| island.rows.contains(&row)) else { return 0.0 };
        let stride = island.rows.len();
        let weights = &self.compliance[island.at + (row - island.rows.start) * stride..][..stride];
        let given: f64 = weights.iter().zip(&self.lambda[island.rows.clone()]).map(|(w, force)| w * force).sum();
        self.free[row] + given
    }

    /// Share of soft bodies in a row of `W`: the rows of its island, and a number for each.
    pub(super) fn soft_row(&self, row: usize) -> Option<(&Range<usize>, &[f64])> {
        let island = self.islands.iter().find(|island| island.rows.contains(&row))?;
        let stride = island.rows.len();
        Some((&island.rows, &self.soft[island.at + (row - island.rows.start) * stride..][..stride]))
    }

    /// Share of soft bodies in `W` between two rows; zero for rows of different islands.
    pub(super) fn soft_between(&self, row: usize, column: usize) -> f64 {
        let Some((rows, given)) = self.soft_row(row) else { return 0.0 };
        if rows.contains(&column) { given[column - rows.start] } else { 0.0 }
    }
}

/// Adds a square of numbers to the rows `numbers` of an island.
fn scatter(out: &mut [f64], island: &Island, numbers: &[usize], value: impl Fn(usize) -> f64) {
    let (count, stride) = (numbers.len(), island.rows.len());
    for (i, row) in numbers.iter().enumerate() {
        for (j, column) in numbers.iter().enumerate() {
            out[island.at + row * stride + column] += value(i * count + j);
        }
    }
}

/// Adds `scale · Σ H Y Hᵀ` over the movers, with the matrix `Y` that `of` picks, for constraints whose rows begin at `first`.
pub(super) fn add_rigid(
    out: &mut [f64],
    stride: usize,
    first: usize,
    constraints: &[Constraint],
    movers: &PerMover<Mover>,
    scale: f64,
    of: impl Fn(&Mover) -> Mat6,
) {
    for constraint in constraints {
        for side in 0..2 {
            let Some((mover, rows)) = constraint.rigid_rows(side) else { continue };
            let yielding = of(&movers[mover]);
            if yielding.iter().all(|x| *x == 0.0) {
                continue;
            }
            // Row i of W needs Y Hᵀ of every other constraint of the same mover; (H Y) once, then inner products.
            let left = rows.map(|row| yielding.transpose() * row * scale);
            for other in constraints {
                for other_side in 0..2 {
                    let Some((_, columns)) = other.rigid_rows(other_side).filter(|(m, _)| *m == mover) else {
                        continue;
                    };
                    for a in 0..constraint.law.rows() {
                        for b in 0..other.law.rows() {
                            let at = (constraint.first - first + a) * stride + other.first - first + b;
                            out[at] += left[a].dot(&columns[b]);
                        }
                    }
                }
            }
        }
    }
}

/// Sum of constraint wrenches on a mover.
pub(super) fn wrench_on(mover: MoverId, constraints: &[Constraint], forces: &[f64]) -> Vec6 {
    let mut wrench = Vec6::zeros();
    for constraint in constraints {
        for side in 0..2 {
            let Some((_, rows)) = constraint.rigid_rows(side).filter(|(m, _)| *m == mover) else { continue };
            for (row, force) in rows.iter().zip(&forces[constraint.rows()]) {
                wrench += row * *force;
            }
        }
    }
    wrench
}
