//! Compliance `W = T · H A⁻¹ Hᵀ` of rows on a body, from its factor.
//!
//! Thread: simulation (grows to the largest set of rows seen).
//!
//! `A = L Lᵀ` gives `W = T · YᵀY` with `Y = L⁻¹ Hᵀ`: half the solves are never made. A row touches only the supernodes
//! on the way from its nodes to the root of the elimination tree, its *reach* (Gilbert and Liu 1993); the rest of its
//! column of `Y` is zero. All rows that reach a supernode pass it together, as one product of full matrices, and
//! supernodes that the same rows reach give their share of `W` together. Nodes that are eliminated last have the
//! shortest way (`Ordering::Last`).

use super::factor::{Factor, gram};
use super::rows::Rows;
use crate::math::Vec3;

/// Memory for the product, kept from step to step.
#[derive(Clone, Debug, Default)]
pub struct Compliance {
    /// Rows that reach each supernode.
    active: Vec<Vec<u32>>,
    /// Last row that was entered at each supernode.
    entered: Vec<u32>,
    /// `Hᵀ` on its way to `Y`, row-major: one number for each unknown and row. All zero between calls.
    waiting: Vec<f64>,
    /// Finished rows of `Y` of the supernodes at hand, transposed: one column for each unknown.
    finished: Vec<f64>,
    /// What a supernode passes on, transposed likewise.
    passed: Vec<f64>,
    share: Vec<f64>,
    /// Numbers of `Y` made by the last call, for figures.
    touched: usize,
    /// For bodies that nothing holds.
    pub(super) turns: Vec<[Vec3; 2]>,
}

impl Compliance {
    /// Computes `out = scale · H A⁻¹ Hᵀ`, row-major, whole. `out` must hold the square of the number of rows; else
    /// nothing is done.
    pub(super) fn compute(&mut self, factor: &Factor, rows: &Rows, scale: f64, out: &mut [f64]) {
        let count = rows.len();
        if out.len() != count * count {
            return;
        }
        out.fill(0.0);
        self.touched = 0;
        self.reach(factor, rows);
        let size = factor.symbolic().supernode_of.len();
        self.waiting.resize(size * count, 0.0);
        for row in 0..count {
            for (place, value) in rows.parts(row) {
                for k in 0..3 {
                    self.waiting[(3 * place + k) * count + row] += value[k];
                }
            }
        }
        self.finished.clear();
        for s in 0..self.active.len() {
            if self.active[s].is_empty() {
                continue;
            }
            self.pass(factor, s, count);
            // Supernodes in a row that the same rows reach are added up together.
            let next = self.active.get(s + 1);
            if next.is_none_or(|next| *next != self.active[s]) {
                self.add_share(s, scale, out);
            }
        }
        for i in 0..count {
            for j in 0..i {
                out[j * count + i] = out[i * count + j];
            }
        }
    }

    /// Numbers of `Y` that the last call made.
    #[must_use]
    pub fn touched(&self) -> usize {
        self.touched
    }

    /// Lists the rows that reach each supernode.
    fn reach(&mut self, factor: &Factor, rows: &Rows) {
        let symbolic = factor.symbolic();
        let supernodes = symbolic.parent.len();
        self.active.resize(supernodes, Vec::new());
        self.active.iter_mut().for_each(Vec::clear);
        self.entered.clear();
        self.entered.resize(supernodes, u32::MAX);
        for row in 0..rows.len() as u32 {
            for (place, _) in rows.parts(row as usize) {
                // The three unknowns of a node may lie in different supernodes; the first reaches the others.
                let mut s = symbolic.supernode_of[3 * place] as usize;
                while self.entered[s] != row {
                    self.entered[s] = row;
                    self.active[s].push(row);
                    s = symbolic.parent[s] as usize;
                }
            }
        }
    }

    /// Takes what waits at supernode `s`, solves with its triangle and passes the rest on.
    fn pass(&mut self, factor: &Factor, s: usize, count: usize) {
        let (start, width, pattern) = factor.supernode(s);
        let active = &self.active[s];
        let rows = active.len();
        let begin = self.finished.len();
        for unknown in start..start + width {
            let waiting = &mut self.waiting[unknown * count..][..count];
            for row in active {
                self.finished.push(std::mem::take(&mut waiting[*row as usize]));
            }
        }
        self.touched += rows * width;
        self.passed.clear();
        self.passed.resize(rows * pattern.len(), 0.0);
        factor.pass(s, rows, &mut self.finished[begin..], &mut self.passed);
        for (unknown, passed) in pattern.iter().zip(self.passed.chunks_exact(rows)) {
            let waiting = &mut self.waiting[*unknown as usize * count..][..count];
            if rows == count {
                waiting.iter_mut().zip(passed).for_each(|(w, p)| *w -= p);
            } else {
                active.iter().zip(passed).for_each(|(row, p)| waiting[*row as usize] -= p);
            }
        }
    }

    /// Adds `YᵀY` of the finished supernodes, all reached by the rows that reach `s`.
    fn add_share(&mut self, s: usize, scale: f64, out: &mut [f64]) {
        let active = &self.active[s];
        let rows = active.len();
        let count = out.len().isqrt();
        self.share.clear();
        self.share.resize(rows * rows, 0.0);
        gram(&self.finished, rows, &mut self.share);
        for (a, i) in active.iter().enumerate() {
            let target = &mut out[*i as usize * count..][..count];
            for (b, j) in active[..=a].iter().enumerate() {
                target[*j as usize] += scale * self.share[a * rows + b];
            }
        }
        self.finished.clear();
    }
}
