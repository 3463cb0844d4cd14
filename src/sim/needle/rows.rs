//! The constraints of a step as one problem: rows on the needle and on tissue, their compliance, their free violation.
//!
//! Thread: simulation (grows to the largest set of rows seen).
//!
//! A row is the way of the needle, or of one organ, along a direction, less that of tissue: `δ = d·(x − y)`.

use super::tissue::{Point, Tissue};
use crate::fem::{BeamBody, BeamRow, Compliance, Rows};
use crate::math::{Pose, Vec3};
use crate::mechanism::newton::{Workspace, solve_robustly};
use crate::mechanism::solver::{Outcome, Settings};
use crate::mechanism::{Block, BlockId, Law, Problem};

/// What moves along a row besides the tissue.
#[derive(Clone, Debug)]
pub(super) enum Mover {
    /// The needle, so far from its hub, m.
    Needle(f64),
    /// Another organ.
    Organ(usize, Point),
}

/// A constraint of three rows.
#[derive(Clone, Debug)]
pub(super) struct Constraint {
    pub id: BlockId,
    pub law: Law,
    pub mover: Mover,
    pub tissue: usize,
    /// The point of the tissue that each row is about.
    pub points: [Point; 3],
    pub directions: [Vec3; 3],
    pub lambda: [f64; 3],
}

/// The problem of a step.
#[derive(Default)]
pub(super) struct Constraints {
    pub list: Vec<Constraint>,
    blocks: Vec<Block>,
    /// `W`, m/N.
    pub compliance: Vec<f64>,
    free: Vec<f64>,
    /// Forces, N, three for each constraint.
    pub lambda: Vec<f64>,
    /// Forces of the step before by constraint, for the warm start.
    remembered: Vec<(BlockId, [f64; 3])>,
    // Of the tissues, one after the other: which row, with which sign.
    fem: Rows,
    members: Vec<(usize, f64)>,
    work: Compliance,
    part: Vec<f64>,
    force: Vec<f64>,
    workspace: Workspace,
    beam: Vec<BeamRow>,
    beam_members: Vec<usize>,
}

impl Constraints {
    /// Forgets the constraints and remembers their forces.
    pub(super) fn begin(&mut self) {
        self.remembered.clear();
        for (constraint, force) in self.list.iter().zip(self.lambda.chunks_exact(3)) {
            self.remembered.push((constraint.id, [force[0], force[1], force[2]]));
        }
        self.list.clear();
    }

    /// Adds one, with the force it had before, if it had one.
    pub(super) fn push(&mut self, mut constraint: Constraint) {
        if let Some((_, force)) = self.remembered.iter().find(|(id, _)| *id == constraint.id) {
            constraint.lambda = *force;
        }
        self.list.push(constraint);
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        3 * self.list.len()
    }

    /// Collects the rows on a tissue.
    fn gather(&mut self, index: usize, tissue: &Tissue) {
        self.fem.clear();
        self.members.clear();
        for (at, constraint) in self.list.iter().enumerate() {
            for k in 0..3 {
                let point = match &constraint.mover {
                    _ if constraint.tissue == index => Some((&constraint.points[k], -1.0)),
                    Mover::Organ(other, point) if *other == index => Some((point, 1.0)),
                    _ => None,
                };
                if let Some((point, sign)) = point {
                    let direction = tissue.inwards(&constraint.directions[k]);
                    self.fem.push_spread(&tissue.model.fem, &point.spread, &direction);
                    self.members.push((3 * at + k, sign));
                }
            }
        }
    }

    /// Compliance of all rows, needle and tissues prepared.
    pub(super) fn fill_compliance(&mut self, beam: &BeamBody, tissues: &mut [Tissue]) {
        let rows = self.rows();
        self.compliance.clear();
        self.compliance.resize(rows * rows, 0.0);
        for (index, tissue) in tissues.iter_mut().enumerate() {
            self.gather(index, tissue);
            let count = self.members.len();
            if count == 0 {
                continue;
            }
            self.part.clear();
            self.part.resize(count * count, 0.0);
            tissue.body.compliance(&self.fem, &mut self.work, &mut self.part);
            for (i, (row, sign)) in self.members.iter().enumerate() {
                for (j, (column, other)) in self.members.iter().enumerate() {
                    self.compliance[row * rows + column] += sign * other * self.part[i * count + j];
                }
            }
        }
        self.beam.clear();
        self.beam_members.clear();
        for (at, constraint) in self.list.iter().enumerate() {
            let Mover::Needle(at_m) = constraint.mover else { continue };
            for k in 0..3 {
                self.beam.push(BeamRow { at_m, direction: constraint.directions[k] });
                self.beam_members.push(3 * at + k);
            }
        }
        let count = self.beam.len();
        self.part.clear();
        self.part.resize(count * count, 0.0);
        beam.compliance(&self.beam, &mut self.part);
        for (i, row) in self.beam_members.iter().enumerate() {
            for (j, column) in self.beam_members.iter().enumerate() {
                self.compliance[row * rows + column] += self.part[i * count + j];
            }
        }
    }

    /// Free violation of all rows. `carried` takes a point of the needle from where its hub has carried it back to where it was.
    pub(super) fn fill_free(&mut self, beam: &BeamBody, tissues: &[Tissue], carried: &Pose) {
        self.free.clear();
        for constraint in &self.list {
            for k in 0..3 {
                let (direction, point) = (constraint.directions[k], &constraint.points[k]);
                let tissue = &tissues[constraint.tissue];
                let slides = constraint.law.slides(k);
                if slides && matches!(constraint.mover, Mover::Organ(..)) {
                    // Organs slide on each other without friction.
                    self.free.push(0.0);
                    continue;
                }
                let way = match &constraint.mover {
                    Mover::Needle(at_m) => {
                        let before = carried * nalgebra::Point3::from(beam.point(*at_m));
                        beam.free_point(*at_m) - if slides { before.coords } else { Vec3::zeros() }
                    }
                    Mover::Organ(other, point) => {
                        let other = &tissues[*other];
                        other.place(point, other.body.next())
                    }
                };
                let there = tissue.place(point, tissue.body.next());
                let there = if slides { there - tissue.now(point) + tissue.moved } else { there };
                // What has given way along a slip gives way no more.
                let given = if slides { constraint.law.compliance() * constraint.lambda[k] } else { 0.0 };
                self.free.push(direction.dot(&(way - there)) - given);
            }
        }
    }

    /// Finds the forces.
    pub(super) fn solve(&mut self, settings: &Settings) -> Outcome {
        self.blocks.clear();
        self.lambda.clear();
        for (index, constraint) in self.list.iter().enumerate() {
            self.blocks.push(Block { id: constraint.id, first: 3 * index, law: constraint.law });
            self.lambda.extend_from_slice(&constraint.lambda);
        }
        let problem =
            Problem { blocks: &self.blocks, compliance: &self.compliance, stride: self.free.len(), free: &self.free };
        solve_robustly(&problem, &mut self.lambda, settings, &mut self.workspace, || false)
    }

    /// Violation of a row under the forces found.
    pub(super) fn violation(&self, row: usize) -> f64 {
        self.free[row] + self.given_way(row)
    }

    /// `(W λ)` of a row.
    pub(super) fn given_way(&self, row: usize) -> f64 {
        let rows = self.rows();
        self.compliance[row * rows..][..rows].iter().zip(&self.lambda).map(|(w, force)| w * force).sum()
    }

    /// Gives needle and tissues the forces found.
    pub(super) fn apply(&mut self, beam: &mut BeamBody, tissues: &mut [Tissue]) {
        for (index, tissue) in tissues.iter_mut().enumerate() {
            self.gather(index, tissue);
            if self.members.is_empty() {
                continue;
            }
            self.part.clear();
            self.part.extend(self.members.iter().map(|(row, sign)| sign * self.lambda[*row]));
            self.force.clear();
            self.force.resize(tissue.model.fem.size(), 0.0);
            self.fem.add_transposed(&self.part, &mut self.force);
            // Of the body's own size.
            let _ = tissue.body.apply(&self.force);
        }
        self.part.clear();
        self.part.extend(self.beam_members.iter().map(|row| self.lambda[*row]));
        beam.apply(&self.beam, &self.part);
    }
}
