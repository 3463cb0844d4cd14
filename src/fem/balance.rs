//! Which motions of a body matter: those that forces at its inputs reach and that its outputs show.
//!
//! Thread: cold.
//!
//! Seed 000 §II-C, eqs 7–9: second-order balanced reduction. The position parts of the controllability and
//! observability Gramians, `W_c = RᵀR` and `W_o`, are balanced by `x = T̄ z`, `T̄ = Rᵀ U Λ^{-1/2}`,
//! `U Λ² Uᵀ = R W_o Rᵀ`; the first columns of `T̄` span what is kept, and the tail of the Hankel values `Λ` says what
//! is lost.
//!
//! With proportional damping the body falls into modes `q̈ + d q̇ + ω² q = bᵀu`, `d = α + β ω²`, and both Gramians have
//! a closed form, so that no Lyapunov equation of twice the size is solved. With `S = d_i + d_j`, `Δ = ω_i² − ω_j²`,
//! `N = Δ² + S (d_i ω_j² + d_j ω_i²)`:
//!
//! ```text
//!  W_c,ij = b_iᵀb_j · S / N                                   responses to an impulse, multiplied and summed over time
//!  W_o,ij = c_iᵀc_j · (d_i ω_i² + d_j ω_j² + S d_i d_j) / N     motions after a displacement, likewise
//! ```
//!
//! (both from the 2×2 Lyapunov equation of a pair of modes). An undamped body has none; a damping ratio is then assumed
//! for the choice of motions, and for that alone. With little damping the motions are the modes; with a ratio of about
//! one they are those of a body that is pushed slowly, which need far fewer to show a dent.

use super::dense::{Modes, eigen, product};
use crate::math::Vec3;
use nalgebra::{DMatrix, DVector};

/// Share of the largest eigenvalue below which a direction of the Gramian is round-off.
const NOISE: f64 = 1e-14;

/// Motions in the order of their weight.
#[derive(Clone, Debug)]
pub struct Balance {
    /// Hankel values, descending.
    pub hankel: Vec<f64>,
    /// Motions, as columns, in the same order; one number for each unknown asked for.
    pub motions: DMatrix<f64>,
}

impl Balance {
    /// Twice the sum of the Hankel values from `kept` on: the bound on what truncation loses.
    #[must_use]
    pub fn tail(&self, kept: usize) -> f64 {
        2.0 * self.hankel.iter().skip(kept).sum::<f64>()
    }

    /// The fewest motions whose tail is at most `tolerance` of the whole sum.
    #[must_use]
    pub fn count_for(&self, tolerance: f64) -> usize {
        let whole = self.tail(0);
        (0..=self.hankel.len()).find(|kept| self.tail(*kept) <= tolerance * whole).unwrap_or(self.hankel.len())
    }
}

/// Gramians of a body in terms of its modes.
pub(super) struct Gramians {
    control: DMatrix<f64>,
    observe: DMatrix<f64>,
}

impl Gramians {
    /// For forces on the unknowns `touched`, as large as `push` along x, y and z, and their displacements as output. Modes
    /// with a lower damping ratio than `least_ratio` count as having that.
    pub(super) fn new(
        modes: &Modes,
        damping: super::Rayleigh,
        least_ratio: f64,
        touched: &[usize],
        push: &Vec3,
    ) -> Self {
        let count = modes.squares.len();
        let squares: Vec<f64> = modes.squares.iter().map(|w| w.max(0.0)).collect();
        let rate = |w: f64| (damping.mass_per_s + damping.stiffness_s * w).max(2.0 * least_ratio * w.sqrt());
        let d: Vec<f64> = squares.iter().map(|w| rate(*w)).collect();
        let picked = DMatrix::from_fn(touched.len(), count, |i, j| modes.shapes[(touched[i], j)]);
        let pushed = DMatrix::from_fn(touched.len(), count, |i, j| push[touched[i] % 3] * picked[(i, j)]);
        let reach = product(&pushed.transpose(), &pushed);
        let show = product(&picked.transpose(), &picked);
        let pair = |i: usize, j: usize| {
            let (sum, apart) = (d[i] + d[j], squares[i] - squares[j]);
            (sum, apart * apart + sum * (d[i] * squares[j] + d[j] * squares[i]))
        };
        let control = DMatrix::from_fn(count, count, |i, j| {
            let (sum, n) = pair(i, j);
            reach[(i, j)] * sum / n
        });
        let observe = DMatrix::from_fn(count, count, |i, j| {
            let (sum, n) = pair(i, j);
            show[(i, j)] * (d[i] * squares[i] + d[j] * squares[j] + sum * d[i] * d[j]) / n
        });
        Self { control, observe }
    }

    /// Balances them over the unknowns that `shapes` has rows for: all of the body, or a part of it.
    pub(super) fn balance(&self, shapes: &DMatrix<f64>) -> Option<Balance> {
        let (reached, root) = square_root(&self.control)?;
        // R W_o Rᵀ with R = √s Vᵀ.
        let seen = product(&product(&root.transpose(), &self.observe), &root);
        let (squares, turns) = eigen(&((&seen + seen.transpose()) * 0.5))?;
        let largest = squares.max();
        let kept: Vec<usize> = (0..reached).rev().filter(|k| squares[*k] > NOISE * largest).collect();
        let hankel: Vec<f64> = kept.iter().map(|k| squares[*k].sqrt()).collect();
        let chosen = DMatrix::from_fn(reached, kept.len(), |i, j| turns[(i, kept[j])] / hankel[j].sqrt());
        Some(Balance { motions: product(shapes, &product(&root, &chosen)), hankel })
    }
}

/// `Rᵀ` with `RᵀR` the matrix, and its number of columns: directions that are not round-off.
fn square_root(matrix: &DMatrix<f64>) -> Option<(usize, DMatrix<f64>)> {
    let (values, vectors): (DVector<f64>, DMatrix<f64>) = eigen(matrix)?;
    let largest = values.max();
    if !(largest > 0.0) {
        return None;
    }
    let kept: Vec<usize> = (0..values.len()).rev().filter(|k| values[*k] > NOISE * largest).collect();
    let root = DMatrix::from_fn(vectors.nrows(), kept.len(), |i, j| vectors[(i, kept[j])] * values[kept[j]].sqrt());
    Some((kept.len(), root))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 2×2 Lyapunov equation of a pair of modes by summing over time.
    fn summed(w: [f64; 2], d: [f64; 2], start: [f64; 2]) -> f64 {
        let (mut q, mut v, step) = ([start[0]; 2], [start[1]; 2], 1e-4);
        let mut sum = 0.0;
        for _ in 0..400_000 {
            let mut middle = [0.0; 2];
            for k in 0..2 {
                // Exact to the second order; the sum takes the middle of each step.
                let a = |q: f64, v: f64| -d[k] * v - w[k] * q;
                let (qm, vm) = (q[k] + 0.5 * step * v[k], v[k] + 0.5 * step * a(q[k], v[k]));
                middle[k] = qm;
                (q[k], v[k]) = (q[k] + step * vm, v[k] + step * a(qm, vm));
            }
            sum += step * middle[0] * middle[1];
        }
        sum
    }

    #[test]
    fn the_closed_forms_are_the_sums_over_time() {
        for (w, d) in [([4.0, 9.0], [0.5, 0.7]), ([25.0, 25.0], [1.0, 1.0]), ([1.0, 100.0], [0.6, 3.0])] {
            let modes =
                Modes { squares: DVector::from_row_slice(&w), shapes: DMatrix::from_row_slice(1, 2, &[1.0, 1.0]) };
            // α + β ω² that gives these rates, where there is one; equal modes take any.
            let beta = if w[0] == w[1] { 0.0 } else { (d[1] - d[0]) / (w[1] - w[0]) };
            let damping = super::super::Rayleigh { mass_per_s: d[0] - beta * w[0], stiffness_s: beta };
            let found = Gramians::new(&modes, damping, 0.0, &[0], &Vec3::repeat(1.0));
            let (control, observe) = (summed(w, d, [0.0, 1.0]), summed(w, d, [1.0, 0.0]));
            assert!((found.control[(0, 1)] / control - 1.0).abs() < 1e-3, "{} {control}", found.control[(0, 1)]);
            assert!((found.observe[(0, 1)] / observe - 1.0).abs() < 1e-3, "{} {observe}", found.observe[(0, 1)]);
        }
    }
}
