//! Rows of a beam: their compliance and their forces.
//!
//! Thread: simulation (rows are taken in by chunks on the stack).

use super::{BeamBody, BeamRow};
use crate::math::{Vec6, join};

/// Rows whose compliance is formed at once, on the stack.
const CHUNK: usize = 48;

/// A row as forces and moments on the two nodes of an element.
#[derive(Clone, Copy, Default)]
pub(super) struct Spread {
    pub(super) element: usize,
    pub(super) on: [Vec6; 2],
}

impl BeamRow {
    fn is_finite(&self) -> bool {
        self.at_m.is_finite() && self.direction.iter().all(|x| x.is_finite())
    }
}

impl BeamBody {
    /// A row on the nodes; nothing when its numbers are not finite.
    pub(super) fn spread(&self, row: &BeamRow) -> Spread {
        let (element, xi) = self.element_at(row.at_m);
        if !row.is_finite() {
            return Spread { element, on: [Vec6::zeros(); 2] };
        }
        let local = self.hub.rotation.inverse_transform_vector(&row.direction);
        Spread { element, on: self.elements[element].spread(xi, &local) }
    }

    /// How far each row moves for a newton on each other, m/N: `H K⁻¹Hᵀ`, square, by rows. Positive semi-definite as it is
    /// formed, `YᵀY` with `Y = C⁻¹Hᵀ`. Zero for a rigid beam. Does nothing when `out` is too small.
    pub fn compliance(&self, rows: &[BeamRow], out: &mut [f64]) {
        let count = rows.len();
        let Some(out) = count.checked_mul(count).and_then(|size| out.get_mut(..size)) else { return };
        out.fill(0.0);
        if self.spec.rigid {
            return;
        }
        for a in (0..count).step_by(CHUNK) {
            for b in (a..count).step_by(CHUNK) {
                let left = &rows[a..count.min(a + CHUNK)];
                let right = &rows[b..count.min(b + CHUNK)];
                self.compliance_between(left, right, |i, j, value| out[(a + i) * count + b + j] += value);
            }
        }
        for i in 0..count {
            for j in 0..i {
                out[i * count + j] = out[j * count + i];
            }
        }
    }

    /// Adds up `YᵀY` of two sets of rows node by node.
    fn compliance_between(&self, left: &[BeamRow], right: &[BeamRow], mut add: impl FnMut(usize, usize, f64)) {
        let same = std::ptr::eq(left, right);
        let mut spreads = [[Spread::default(); CHUNK]; 2];
        let mut values = [[Vec6::zeros(); CHUNK]; 2];
        let sides = if same { 1 } else { 2 };
        for (side, rows) in [left, right].into_iter().take(sides).enumerate() {
            for (spread, row) in spreads[side].iter_mut().zip(rows) {
                *spread = self.spread(row);
            }
        }
        for k in 0..self.elements.len() {
            for (side, rows) in [left, right].into_iter().take(sides).enumerate() {
                for (spread, value) in spreads[side].iter().zip(&mut values[side]).take(rows.len()) {
                    *value = match k + 1 {
                        node if node < spread.element => continue,
                        node if node == spread.element => self.factor.forward(k, value, &spread.on[0]),
                        node if node == spread.element + 1 => self.factor.forward(k, value, &spread.on[1]),
                        _ => self.factor.forward(k, value, &Vec6::zeros()),
                    };
                }
            }
            for i in 0..left.len() {
                if k + 1 < spreads[0][i].element {
                    continue;
                }
                for j in if same { i } else { 0 }..right.len() {
                    if k + 1 >= spreads[sides - 1][j].element {
                        add(i, j, values[0][i].dot(&values[sides - 1][j]));
                    }
                }
            }
        }
    }

    /// Adds forces of rows, N, to the step under way. What is not finite is left out.
    pub fn apply(&mut self, rows: &[BeamRow], forces: &[f64]) {
        for (row, force) in rows.iter().zip(forces).filter(|(row, force)| row.is_finite() && force.is_finite()) {
            let Spread { element, on } = self.spread(row);
            if self.spec.rigid {
                let force = self.hub.rotation.inverse_transform_vector(&row.direction) * *force;
                let wrench = join(&force, &self.local_point(row.at_m).cross(&force));
                self.onto_hub += wrench;
                continue;
            }
            self.load[element] += on[1] * *force;
            match element.checked_sub(1) {
                Some(node) => self.load[node] += on[0] * *force,
                None => self.onto_hub += on[0] * *force,
            }
        }
    }
}

pub(super) fn finite(v: &Vec6) -> bool {
    v.iter().all(|x| x.is_finite())
}
