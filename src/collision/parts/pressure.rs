//! How a load would spread over all nodes that are near, if a thin elastic layer lay between the parts.
//!
//! Thread: simulation or collision (no heap once the buffers have grown).
//!
//! ```text
//! EQ-PRESS-1  min over ζ:  ½ (ζ − ζ_free)ᵀ Y⁻¹ (ζ − ζ_free) + ½ Σ w_i min(0, g_i + J_i ζ)²,   p_i = −w_i min(0, g_i + J_i ζ)
//! ```
//!
//! Six unknowns, convex, piecewise quadratic: Newton's method with a line search ends in a few rounds, each of which passes over
//! the nodes once. The layer is stiff against the inertia of the bodies, so that the motion is that of rigid bodies but
//! for a part in a thousand, and weighs each node by its area, so that a finer mesh carries no more than a coarse one.

use super::near::{Near, Way, scaled};
use crate::math::{Mat6, Vec6};

/// Stiffness of the layer, in units of the largest inertial stiffness.
const STIFFER: f64 = 1e3;
/// Most rounds. What is left after them does not matter: the contact law is solved afterwards.
const ROUNDS: usize = 12;
/// Rounds end when the gradient is this part of what it was for the free motion.
const CLOSE: f64 = 1e-6;
/// How much of the mean yielding is added in each direction, so that what is locked in one can be solved for.
const LOCKED: f64 = 1e-9;

/// Fills `pressure` with the force on each node; the displacement found, moments being scaled by `size`.
pub(super) fn press(near: &Near, way: &Way, size: f64, rows: &mut Vec<Vec6>, pressure: &mut Vec<f64>) -> Option<Vec6> {
    pressure.clear();
    pressure.resize(near.len(), 0.0);
    let scale = Vec6::new(1.0, 1.0, 1.0, size, size, size);
    let free = way.free.component_mul(&scale);
    let yielding = Mat6::from_fn(|i, j| way.yielding[(i, j)] * scale[i] * scale[j]);
    let mean = yielding.trace() / 6.0;
    if !(mean > 0.0 && mean.is_finite() && free.iter().all(|x| x.is_finite())) {
        return None;
    }
    let inertia = (yielding + Mat6::identity() * (LOCKED * mean)).try_inverse()?;
    let total: f64 = near.area.iter().sum();
    let layer = STIFFER / (mean * total);
    rows.clear();
    rows.extend(near.row.iter().map(|row| scaled(row, size)));
    let mut at = free;
    let mut state = Slope::at(near, rows, &inertia, layer, &free, &at);
    let small = CLOSE * state.gradient.norm();
    for _ in 0..ROUNDS {
        if !(state.gradient.norm() > small) {
            break;
        }
        let Some(factor) = state.curvature.cholesky() else { break };
        let step = -factor.solve(&state.gradient);
        let slope = state.gradient.dot(&step);
        let mut share = 1.0;
        let mut next = Slope::at(near, rows, &inertia, layer, &free, &(at + step));
        while next.energy > state.energy + 1e-4 * share * slope && share > 1e-3 {
            share *= 0.5;
            next = Slope::at(near, rows, &inertia, layer, &free, &(at + step * share));
        }
        at += step * share;
        state = next;
    }
    for (index, row) in rows.iter().enumerate() {
        pressure[index] = layer * near.area[index] * (-(near.gap[index] + row.dot(&at))).max(0.0);
    }
    Some(at)
}

/// Energy and its derivatives at one displacement.
struct Slope {
    energy: f64,
    gradient: Vec6,
    curvature: Mat6,
}

impl Slope {
    fn at(near: &Near, rows: &[Vec6], inertia: &Mat6, layer: f64, free: &Vec6, at: &Vec6) -> Self {
        let away = at - free;
        let pull = inertia * away;
        let (mut energy, mut gradient, mut curvature) = (0.5 * away.dot(&pull), pull, *inertia);
        for ((row, gap), area) in rows.iter().zip(&near.gap).zip(&near.area) {
            let depth = gap + row.dot(at);
            if depth < 0.0 {
                let weight = layer * area;
                energy += 0.5 * weight * depth * depth;
                gradient += row * (weight * depth);
                let weighted = row * weight;
                for j in 0..6 {
                    for i in j..6 {
                        curvature[(i, j)] += weighted[i] * row[j];
                    }
                }
            }
        }
        for j in 0..6 {
            for i in 0..j {
                curvature[(i, j)] = curvature[(j, i)];
            }
        }
        Self { energy, gradient, curvature }
    }
}
