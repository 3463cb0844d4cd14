//! Contacts of one body that all give way a little: Newton's method on the six coordinates of the body.
//!
//! Thread: any (RT safe: no heap, bounded rounds).
//!
//! A contact that gives way by `c` under a unit of force has a force that is known once the motion is known. The forces of any number of
//! contacts between one body and a fixed scene are then functions of six numbers, the displacement `d` of the body by the forces:
//!
//! ```text
//!  EQ-PRIMAL-1   δ = δ_free + J d,   λ_n = max(0, −δ_n/c),   λ_t = −δ_t/c  shortened to µ λ_n
//!  EQ-PRIMAL-2   G(d) = d − Y λ(d) = 0,   Y = T A⁻¹ Jᵀ
//!  EQ-PRIMAL-3   (1 + Y D J) Δd = −G,     D = −∂λ/∂δ     (generalised Jacobian; not symmetric where a contact slips)
//! ```
//!
//! The sweeps of [`super::solver`] solve the same equations contact by contact. Where a body is squeezed between many stiff contacts, a nut
//! tightened on its bolt, their rate is that of a chain and hundreds of them leave a residual; here the cost is one pass
//! over the contacts and a 6×6 solve in each round, and some five rounds end it. The result is a start for the sweeps, which confirm it
//! or go on from it.

use super::Block;
use crate::math::{Mat6, Vec6};

/// Most rounds. From the forces of the last tick three to six are enough.
const ROUNDS: usize = 16;
/// Halvings of a step that does not reduce the residual.
const HALVINGS: usize = 4;

/// The contacts of one body with a fixed scene.
#[derive(Clone, Copy)]
pub struct OneBody<'a> {
    /// Blocks, all of them contacts that give way.
    pub blocks: &'a [Block],
    /// `J`, a row each.
    pub jacobian: &'a [Vec6],
    /// `Y`, a column each.
    pub yielding: &'a [Vec6],
    /// `δ_free` of each row, m.
    pub free: &'a [f64],
}

/// Force of a contact and what a change of its violation does to it.
struct Answer {
    force: [f64; 3],
    /// `−∂λ_i/∂δ_j`; zero for an open contact.
    slope: [[f64; 3]; 3],
}

/// One evaluation of `G`.
struct Look {
    gap: Vec6,
    jacobian: Mat6,
    size: f64,
}

impl OneBody<'_> {
    /// True when every block is a contact that gives way by at least `least`, m/N.
    #[must_use]
    pub fn is_soft(&self, least: f64) -> bool {
        self.blocks.iter().all(|block| block.law.contact_friction().is_some() && block.law.compliance() >= least)
    }

    /// Replaces the forces in `lambda` by better ones, until the body is displaced by no more than `close` (m, and radians times metres of
    /// lever as in `J`) from what its forces say; false when it did not come that far, with `lambda` as it was.
    pub fn solve(&self, lambda: &mut [f64], close: f64) -> bool {
        let mut at = Vec6::zeros();
        for (column, force) in self.yielding.iter().zip(lambda.iter()) {
            at += column * *force;
        }
        let mut look = self.look(&at);
        for _ in 0..ROUNDS {
            if look.size <= close {
                self.write(&at, lambda);
                return true;
            }
            let Some(inverse) = look.jacobian.try_inverse() else { return false };
            let step = -(inverse * look.gap);
            let mut share = 1.0;
            let mut next = self.look(&(at + step));
            for _ in 0..HALVINGS {
                if next.size < look.size {
                    break;
                }
                share *= 0.5;
                next = self.look(&(at + step * share));
            }
            at += step * share;
            look = next;
        }
        false
    }

    /// `G`, its generalised Jacobian, and the largest violation that `G` is worth at any contact.
    fn look(&self, at: &Vec6) -> Look {
        let (mut gap, mut jacobian) = (*at, Mat6::identity());
        for block in self.blocks {
            let first = block.first;
            let answer = self.answer(block, at);
            if answer.force[0] <= 0.0 {
                continue;
            }
            for i in 0..3 {
                let column = &self.yielding[first + i];
                gap -= column * answer.force[i];
                let mut row = Vec6::zeros();
                for (slope, own) in answer.slope[i].iter().zip(&self.jacobian[first..]) {
                    row += own * *slope;
                }
                jacobian += column * row.transpose();
            }
        }
        let worth = |row: &Vec6| row.dot(&gap).abs();
        let size = self.jacobian.iter().map(worth).fold(0.0, f64::max);
        Look { gap, jacobian, size: if size.is_finite() { size } else { f64::INFINITY } }
    }

    /// EQ-PRIMAL-1.
    fn answer(&self, block: &Block, at: &Vec6) -> Answer {
        let (friction, stiffness) = (block.law.contact_friction().unwrap_or(0.0), 1.0 / block.law.compliance());
        let pull = |k: usize| {
            let row = block.first + k;
            -stiffness * (self.free[row] + self.jacobian[row].dot(at))
        };
        let normal = pull(0);
        let mut answer = Answer { force: [0.0; 3], slope: [[0.0; 3]; 3] };
        if !(normal > 0.0) {
            return answer;
        }
        let tangent = [pull(1), pull(2)];
        let (length, bound) = (tangent[0].hypot(tangent[1]), friction * normal);
        answer.slope[0][0] = stiffness;
        if length <= bound {
            answer.force = [normal, tangent[0], tangent[1]];
            (answer.slope[1][1], answer.slope[2][2]) = (stiffness, stiffness);
            return answer;
        }
        // Slip: along the pull, and the longer the pull the stiffer is its direction.
        let way = tangent.map(|t| t / length);
        answer.force = [normal, bound * way[0], bound * way[1]];
        for i in 0..2 {
            answer.slope[1 + i][0] = friction * way[i] * stiffness;
            for j in 0..2 {
                let across = f64::from(u8::from(i == j)) - way[i] * way[j];
                answer.slope[1 + i][1 + j] = bound / length * across * stiffness;
            }
        }
        answer
    }

    fn write(&self, at: &Vec6, lambda: &mut [f64]) {
        for block in self.blocks {
            lambda[block.range()].copy_from_slice(&self.answer(block, at).force);
        }
    }
}
