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

use super::near::{Near, Way};
use crate::math::{Mat6, Vec6};

/// Stiffness of the layer over all nodes near, in units of the mean inertial stiffness, to begin with.
const STIFFER: f64 = 1e3;
/// Depth to which nothing may press in, m: the layer is made stiffer until it does not. Less than what is felt or counts as
/// penetration, more than the rounding of the distances; and so much that a patch has several nodes.
const DEEPEST: f64 = 2e-6;
/// The same when a few contacts are asked whether they are enough, m.
const DEEPEST_OF_FEW: f64 = 1e-8;
/// Times the layer is made stiffer at most.
const STIFFENINGS: usize = 3;
/// Most rounds. What is left after them does not matter: the contact law is solved afterwards.
const ROUNDS: usize = 12;
/// Rounds end when the gradient is this part of what it was for the free motion.
const CLOSE: f64 = 1e-6;
/// How much of the mean yielding is added in each direction, so that what is locked in one can be solved for.
const LOCKED: f64 = 1e-9;
/// Gap up to which nodes count whatever the motion, m.
const ALWAYS: f64 = 1e-5;

/// A node that may come to carry.
#[derive(Clone, Copy, Debug)]
struct Node {
    row: Vec6,
    gap: f64,
    area: f64,
    index: u32,
}

/// How the bodies move, with moments scaled by the size of the part.
#[derive(Clone, Copy, Debug)]
struct Inertia {
    free: Vec6,
    matrix: Mat6,
    /// Mean yielding.
    mean: f64,
}

impl Inertia {
    /// None when nothing yields, and so nothing presses.
    fn of(way: &Way, size: f64) -> Option<Self> {
        let scale = Vec6::new(1.0, 1.0, 1.0, size, size, size);
        let free = way.free.component_mul(&scale);
        let yielding = Mat6::from_fn(|i, j| way.yielding[(i, j)] * scale[i] * scale[j]);
        let mean = yielding.trace() / 6.0;
        if !(mean > 0.0 && mean.is_finite() && free.iter().all(|x| x.is_finite())) {
            return None;
        }
        let matrix = (yielding + Mat6::identity() * (LOCKED * mean)).try_inverse()?;
        Some(Self { free, matrix, mean })
    }
}

/// Room for the work, kept from look to look.
#[derive(Clone, Debug, Default)]
pub(super) struct Press {
    nodes: Vec<Node>,
    /// Force on each node near.
    pub(super) pressure: Vec<f64>,
}

impl Press {
    /// Finds the force on each node near, with moments scaled by `size`; false when nothing yields, and so nothing presses.
    pub(super) fn spread(&mut self, near: &Near, way: &Way, size: f64) -> bool {
        self.pressure.clear();
        self.pressure.resize(near.len(), 0.0);
        let Some(inertia) = Inertia::of(way, size) else { return false };
        self.gather(near, &inertia.free, size);
        let total: f64 = near.area.iter().sum();
        let (at, layer) = self.press(&inertia, total, DEEPEST);
        for node in &self.nodes {
            let depth = -(node.gap + node.row.dot(&at));
            self.pressure[node.index as usize] = layer * node.area * depth.max(0.0);
        }
        true
    }

    /// Where the bodies go if these contacts alone, rows and gaps, keep them apart; none when nothing yields. Angles are in sizes of the part.
    pub(super) fn foresee(&mut self, contacts: &[(Vec6, f64)], way: &Way, size: f64) -> Option<Vec6> {
        let inertia = Inertia::of(way, size)?;
        let node = |(row, gap): &(Vec6, f64)| Node { row: *row, gap: *gap, area: 1.0, index: 0 };
        self.nodes.clear();
        self.nodes.extend(contacts.iter().map(node));
        Some(self.press(&inertia, contacts.len() as f64, DEEPEST_OF_FEW).0)
    }

    /// Displacement and stiffness of a layer over the nodes, of whole area `total`, that gives way by about `deepest`.
    fn press(&self, inertia: &Inertia, total: f64, deepest: f64) -> (Vec6, f64) {
        let mut layer = STIFFER / (inertia.mean * total);
        let mut at = inertia.free;
        for _ in 0..=STIFFENINGS {
            at = settle(&self.nodes, &inertia.matrix, layer, &inertia.free, at);
            let depth = |node: &Node| -(node.gap + node.row.dot(&at));
            let depth = self.nodes.iter().map(depth).fold(0.0, f64::max);
            if depth <= 1.5 * deepest {
                break;
            }
            layer *= depth / deepest;
        }
        (at, layer)
    }

    /// The nodes that could carry: none that is farther than twice the whole motion can.
    fn gather(&mut self, near: &Near, free: &Vec6, size: f64) {
        let (linear, angular) = (free.fixed_rows::<3>(0).norm(), free.fixed_rows::<3>(3).norm());
        let reach = 2.0 * (linear + 2.0 * angular) + ALWAYS;
        self.nodes.clear();
        for (index, gap) in near.gap.iter().enumerate().filter(|(_, gap)| **gap < reach) {
            let [a, b, c, d, e, f] = near.row[index];
            let row = Vec6::new(a, b, c, d / size, e / size, f / size);
            self.nodes.push(Node { row, gap: *gap, area: near.area[index], index: index as u32 });
        }
    }
}

/// The displacement of least energy, sought from `at`.
fn settle(nodes: &[Node], inertia: &Mat6, layer: f64, free: &Vec6, mut at: Vec6) -> Vec6 {
    let mut state = Slope::at(nodes, inertia, layer, free, &at);
    let small = CLOSE * (inertia * free).norm().max(state.gradient.norm());
    for _ in 0..ROUNDS {
        if !(state.gradient.norm() > small) {
            break;
        }
        let Some(factor) = state.curvature.cholesky() else { break };
        let step = -factor.solve(&state.gradient);
        let slope = state.gradient.dot(&step);
        let mut share = 1.0;
        let mut next = Slope::at(nodes, inertia, layer, free, &(at + step));
        while next.energy > state.energy + 1e-4 * share * slope && share > 1e-3 {
            share *= 0.5;
            next = Slope::at(nodes, inertia, layer, free, &(at + step * share));
        }
        at += step * share;
        state = next;
    }
    at
}

/// Energy and its derivatives at one displacement.
struct Slope {
    energy: f64,
    gradient: Vec6,
    curvature: Mat6,
}

impl Slope {
    fn at(nodes: &[Node], inertia: &Mat6, layer: f64, free: &Vec6, at: &Vec6) -> Self {
        let away = at - free;
        let pull = inertia * away;
        let (mut energy, mut gradient, mut curvature) = (0.5 * away.dot(&pull), pull, *inertia);
        for Node { row, gap, area, .. } in nodes {
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
