//! Interior-point path for problems on which Gauss–Seidel crawls: heavy bodies on light ones, wedged ones.
//!
//! Thread: simulation, or haptic where the rows are few (no heap once its memory has grown; bounded steps).
//!
//! Coulomb's law is a complementarity over second-order cones (de Saxcé and Feng 1998): in the coordinates
//! `x = (λ_n, λ_t/µ)` and `z = (δ_n + µ‖δ_t‖, µ δ_t)` both lie in the Lorentz cone and `x·z = 0`. Its central path
//! `x∘z = κ e`, `κ → 0`, is followed by predictor and corrector steps in Nesterov–Todd scaling. The slip in `z_n` makes
//! the problem non-convex. What makes the path quick all the same is to linearise the slip with the rest: with
//! `Q = D W D`, `D = diag(1, µ, µ)`, `E = I − e gᵀ`, `g = z_t/‖z_t‖`, every step solves
//!
//! ```text
//!  E dz = Q dx − r,   W⁻¹ dx + W dz = c      ⇒   (Q + E W⁻²) dx = r + E W⁻¹ c
//! ```
//!
//! Joints are rows with `z = 0` and `x` free. Where `Q = B Cᵀ` has low rank (many contacts on few bodies) the step is
//! solved in that rank by Woodbury's formula. Where the path turns back on itself, [`super::trail`] follows it around.

use super::cone::{Scaling, V3, at, divide, inner, jordan, length, to_boundary};
use super::dense::{LowRank, add_three, back_substitute, dot_groups, factor, is_negative};
use super::problem::dot;
use super::{Block, Conic};

/// Most steps along the path; ten to twenty is usual.
const STEPS: u32 = 50;
/// Steps shorter than this are short …
const SHORT: f64 = 0.1;
/// … and this many of them mean that the path does not lead on.
const MOST_SHORT: u32 = 6;
/// Below this distance from the end, a few tolerances, this many steps that do not halve it mean that round-off has been met.
const STALLED: f64 = 1e-8;
const MOST_IDLE: u32 = 3;
/// A contact starts with at least this part of the largest force estimated.
const LEAST_START: f64 = 1e-2;

/// Memory for the path, and the point on it.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    /// First row and friction of each contact.
    pub(super) contacts: Vec<(usize, f64)>,
    joints: Vec<usize>,
    give: f64,
    smoothing: f64,
    q: Vec<f64>,
    shift: Vec<f64>,
    /// What a violation of each row counts, so that it can be compared with the largest free violation of the problem as it was stated.
    weight: Vec<f64>,
    pub(super) x: Vec<f64>,
    pub(super) z: Vec<f64>,
    pub(super) dx: Vec<f64>,
    pub(super) dz: Vec<f64>,
    /// `r` of the step to solve.
    pub(super) residual: Vec<f64>,
    /// `c` of the step to solve, by contact.
    pub(super) target: Vec<V3>,
    pub(super) scaling: Vec<Scaling>,
    matrix: Vec<f64>,
    pivots: Vec<usize>,
    low_rank: LowRank,
    /// `W² E⁻¹` by contact, by columns.
    middle: Vec<[V3; 3]>,
    scratch: Vec<f64>,
}

/// A problem in scaled units: every block divided by its `scale`.
#[derive(Clone, Copy)]
pub(super) struct Scaled<'a> {
    pub(super) blocks: &'a [Block],
    pub(super) compliance: &'a [f64],
    pub(super) free: &'a [f64],
    pub(super) scale: &'a [f64],
}

impl Path {
    /// Loads a problem: `Q = D W D` and `q = D b` with `D = diag(1, µ, µ)`. Steps are solved in the rank of `Q` where it is
    /// at most `most_rank`. False, and nothing loaded, when a law has no form over cones.
    #[must_use]
    pub(super) fn load(&mut self, problem: &Scaled<'_>, most_rank: usize) -> bool {
        let rows = problem.free.len();
        self.contacts.clear();
        self.joints.clear();
        for vector in [
            &mut self.shift,
            &mut self.weight,
            &mut self.x,
            &mut self.z,
            &mut self.dx,
            &mut self.dz,
            &mut self.residual,
        ] {
            vector.resize(rows, 0.0);
        }
        // Nothing moves a joint's `z` away from zero.
        self.dz.fill(0.0);
        // `dx` serves as the diagonal of D here.
        self.dx.fill(1.0);
        for block in problem.blocks {
            match block.law.conic() {
                Some(Conic::Cone { friction }) => {
                    self.contacts.push((block.first, friction));
                    self.dx[block.first + 1..block.first + 3].fill(friction);
                }
                Some(Conic::Free) => self.joints.extend(block.range()),
                None => return false,
            }
        }
        self.q.clear();
        for i in 0..rows {
            let row = problem.compliance[i * rows..][..rows].iter().zip(&self.dx);
            self.q.extend(row.map(|(w, d)| self.dx[i] * w * d));
            self.shift[i] = self.dx[i] * problem.free[i];
        }
        let violation =
            problem.free.iter().zip(problem.scale).fold(f64::MIN_POSITIVE, |m, (b, s)| m.max((b * s).abs()));
        for (weight, scale) in self.weight.iter_mut().zip(problem.scale) {
            *weight = scale / violation;
        }
        // A joint has no compliance of its own to invert.
        if !(self.joints.is_empty() && self.low_rank.find(&self.q, rows, most_rank)) {
            self.low_rank.width = 0;
        }
        true
    }

    /// True when the steps are solved in a low rank.
    pub(super) fn is_condensed(&self) -> bool {
        self.low_rank.width > 0
    }

    /// Puts the point at the start of a path: on the axes of the cones, `boldness` times as far out as the forces are
    /// estimated to be. `give` is added to the compliance of joints in the matrix of a step, so that redundant ones can
    /// be solved, and to all rows for the estimate. `smoothing` rounds the slip (see [`Self::roundness`]). The end of the
    /// path depends on none of them.
    pub(super) fn start(&mut self, boldness: f64, give: f64, smoothing: f64) {
        (self.give, self.smoothing) = (give, smoothing);
        let size = self.shift.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        self.scaling.clear();
        self.scaling.resize(self.contacts.len(), Scaling::uniform(1.0 / give));
        self.target.clear();
        self.target.resize(self.contacts.len(), [0.0; 3]);
        self.x.fill(0.0);
        self.z.fill(0.0);
        if self.factorise() {
            // (Q + ε)⁻² Q q: the forces that bring the motion to rest, without the part of q that no force can change.
            let rows = self.x.len();
            for i in 0..rows {
                self.residual[i] = -dot(&self.q[i * rows..][..rows], &self.shift);
            }
            self.direction();
            self.residual.copy_from_slice(&self.dx);
            self.direction();
            self.x.copy_from_slice(&self.dx);
        }
        let largest = self.x.iter().fold(size, |m: f64, x| m.max(x.abs()));
        for &(i, _) in &self.contacts {
            let own = at(&self.x, i).iter().fold(size, |m: f64, x| m.max(x.abs())).max(LEAST_START * largest);
            self.x[i..i + 3].copy_from_slice(&[boldness * own, 0.0, 0.0]);
            self.z[i] = size;
        }
    }

    /// Gives the forces of the present point.
    pub(super) fn store(&self, lambda: &mut [f64]) {
        lambda.copy_from_slice(&self.x);
        for &(i, friction) in &self.contacts {
            lambda[i + 1] *= friction;
            lambda[i + 2] *= friction;
        }
    }

    /// Walks from the present point to the end of the path, until forces and violations obey their laws up to `near`.
    /// Gives the number of steps, and whether the end was reached.
    pub(super) fn walk(&mut self, near: f64, stop: &mut dyn FnMut() -> bool) -> (u32, bool) {
        let (mut short, mut least, mut idle) = (0, STALLED, 0);
        for count in 0..STEPS {
            self.find_residual();
            let off = self.distance();
            if off <= near {
                return (count, true);
            }
            // Round-off ends the path before `near`.
            idle = if off < 0.5 * least || off > STALLED { 0 } else { idle + 1 };
            least = least.min(off);
            if idle >= MOST_IDLE || short >= MOST_SHORT || stop() || !self.rescale() || !self.factorise() {
                return (count, false);
            }
            let reach = self.predict_and_correct();
            // The better the prediction, the closer to the boundary it may go.
            let step = ((1.0 - 0.1 * (1.0 - reach)).clamp(0.95, 0.999) * self.longest()).min(1.0);
            if !(step > 1e-10) {
                return (count, false);
            }
            self.advance(step);
            if step < SHORT {
                short += 1;
            }
        }
        (STEPS, false)
    }

    /// Predictor: straight for the solution; how far it gets sets how much the corrector recentres (Mehrotra).
    fn predict_and_correct(&mut self) -> f64 {
        let gap = dot(&self.x, &self.z) / self.contacts.len().max(1) as f64;
        self.target.clear();
        self.target.extend(self.scaling.iter().map(|s| s.point.map(|p| -p)));
        self.direction();
        let reach = self.longest().min(1.0);
        let centring = (1.0 - reach).powi(3) * gap;
        for (k, &(i, _)) in self.contacts.iter().enumerate() {
            let s = &self.scaling[k];
            let cross = jordan(&s.inverse_times(&at(&self.dx, i)), &s.times(&at(&self.dz, i)));
            let square = jordan(&s.point, &s.point);
            let sum = [centring - square[0] - cross[0], -square[1] - cross[1], -square[2] - cross[2]];
            self.target[k] = divide(&s.point, &sum);
        }
        self.direction();
        reach
    }

    /// Moves the point along the step found.
    pub(super) fn advance(&mut self, step: f64) {
        for (p, d) in self.x.iter_mut().zip(&self.dx).chain(self.z.iter_mut().zip(&self.dz)) {
            *p += step * d;
        }
    }

    /// `residual ← z − Q x − q` with the slip of the present point.
    pub(super) fn find_residual(&mut self) {
        let rows = self.x.len();
        for i in 0..rows {
            self.residual[i] = self.z[i] - dot(&self.q[i * rows..][..rows], &self.x) - self.shift[i];
        }
        for &(i, _) in &self.contacts {
            let round = self.roundness(i);
            self.residual[i] -= length(length(self.z[i + 1], self.z[i + 2]), round) - round;
        }
    }

    /// `ε` of the rounded slip `√(‖z_t‖² + ε²) − ε`: the part `smoothing` of `x·z/x_n`, which for a contact that sticks is
    /// as large as `z` itself and goes with it. Without, the direction of a slip that passes close to zero spins, and the
    /// path with it.
    fn roundness(&self, i: usize) -> f64 {
        self.smoothing * inner(&at(&self.x, i), &at(&self.z, i)) / self.x[i]
    }

    /// Largest of the residual of any row beside the problem's free violation, and `x·z` of any contact beside that times
    /// the present forces, in the units the problem was stated in.
    fn distance(&self) -> f64 {
        let off = self.residual.iter().zip(&self.weight).fold(0.0, |m: f64, (r, w)| m.max((r * w).abs()));
        let force = self.x.iter().zip(&self.weight).fold(f64::MIN_POSITIVE, |m, (x, w)| m.max((x / w).abs()));
        let gap = self.contacts.iter().fold(0.0, |m: f64, &(i, _)| m.max(inner(&at(&self.x, i), &at(&self.z, i))));
        off.max(gap / force)
    }

    pub(super) fn rescale(&mut self) -> bool {
        self.scaling.clear();
        for &(i, _) in &self.contacts {
            let round = self.roundness(i);
            let Some(scaling) = Scaling::between(&at(&self.x, i), &at(&self.z, i), round) else { return false };
            self.scaling.push(scaling);
        }
        true
    }

    /// The matrix of a step, factored.
    pub(super) fn factorise(&mut self) -> bool {
        self.matrix.clear();
        if self.is_condensed() {
            self.middle.clear();
            self.middle.extend(self.scaling.iter().map(Scaling::compliance));
            return self.condense();
        }
        let rows = self.x.len();
        self.matrix.extend_from_slice(&self.q);
        for &i in &self.joints {
            self.matrix[i * rows + i] += self.give;
        }
        for (s, &(i, _)) in self.scaling.iter().zip(&self.contacts) {
            for (k, column) in s.stiffness().iter().enumerate() {
                for (r, value) in column.iter().enumerate() {
                    self.matrix[(i + r) * rows + i + k] += value;
                }
            }
        }
        factor(&mut self.matrix, rows, &mut self.pivots)
    }

    /// Woodbury's matrix `I + Σ Cᵢᵀ (W² E⁻¹)ᵢ Bᵢ`, factored.
    fn condense(&mut self) -> bool {
        let (low, r) = (&self.low_rank, self.low_rank.width);
        self.matrix.resize(r * r, 0.0);
        for k in 0..r {
            self.matrix[k * r + k] = 1.0;
        }
        self.scratch.resize(3 * r, 0.0);
        for (t, &(i, _)) in self.middle.iter().zip(&self.contacts) {
            let (b, c) = (three(&low.left, i, r), three(&low.right, i, r));
            self.scratch.fill(0.0);
            for (a, y) in self.scratch.chunks_exact_mut(r).enumerate() {
                add_three(y, &[t[0][a], t[1][a], t[2][a]], b);
            }
            let y = three(&self.scratch, 0, r);
            for (k, row) in self.matrix.chunks_exact_mut(r).enumerate() {
                add_three(row, &[c[0][k], c[1][k], c[2][k]], y);
            }
        }
        factor(&mut self.matrix, r, &mut self.pivots)
    }

    /// True when the determinant of the step's matrix is negative: the path runs backwards here.
    pub(super) fn is_backward(&self) -> bool {
        let rows = if self.is_condensed() { self.low_rank.width } else { self.x.len() };
        is_negative(&self.matrix, rows, &self.pivots)
    }

    /// The step `dx`, `dz` for `residual` and `target`.
    pub(super) fn direction(&mut self) {
        self.dx.copy_from_slice(&self.residual);
        for (k, &(i, _)) in self.contacts.iter().enumerate() {
            let s = &self.scaling[k];
            let part = s.without_slip(&s.inverse_times(&self.target[k]));
            for a in 0..3 {
                self.dx[i + a] += part[a];
            }
        }
        if self.is_condensed() {
            return self.condensed_direction();
        }
        back_substitute(&self.matrix, &self.pivots, &mut self.dx);
        for (k, &(i, _)) in self.contacts.iter().enumerate() {
            let s = &self.scaling[k];
            let (back, c) = (s.inverse_times(&at(&self.dx, i)), self.target[k]);
            let dz = s.inverse_times(&[c[0] - back[0], c[1] - back[1], c[2] - back[2]]);
            self.dz[i..i + 3].copy_from_slice(&dz);
        }
    }

    /// The same in the low rank, the right-hand side being in `dx`.
    fn condensed_direction(&mut self) {
        let (low, r) = (&self.low_rank, self.low_rank.width);
        self.scratch.clear();
        self.scratch.resize(3 * r, 0.0);
        let y = &mut self.scratch[..r];
        for (t, &(i, _)) in self.middle.iter().zip(&self.contacts) {
            add_three(y, &apply(t, &at(&self.dx, i)), three(&low.right, i, r));
        }
        back_substitute(&self.matrix, &self.pivots, y);
        for (k, &(i, _)) in self.contacts.iter().enumerate() {
            let b = three(&low.left, i, r);
            let moved = [dot_groups(b[0], y), dot_groups(b[1], y), dot_groups(b[2], y)];
            let rest = minus(&at(&self.dx, i), &moved);
            self.dx[i..i + 3].copy_from_slice(&apply(&self.middle[k], &rest));
            let dz = self.scaling[k].with_slip(&minus(&moved, &at(&self.residual, i)));
            self.dz[i..i + 3].copy_from_slice(&dz);
        }
    }

    /// Longest step that keeps both points inside their cones.
    pub(super) fn longest(&self) -> f64 {
        self.contacts.iter().fold(f64::INFINITY, |most, &(i, _)| {
            let x = to_boundary(&at(&self.x, i), &at(&self.dx, i));
            let z = to_boundary(&at(&self.z, i), &at(&self.dz, i));
            most.min(x).min(z)
        })
    }
}

/// Three rows of a matrix with `width` columns.
#[inline]
fn three(matrix: &[f64], first: usize, width: usize) -> [&[f64]; 3] {
    let rows = &matrix[first * width..][..3 * width];
    [&rows[..width], &rows[width..2 * width], &rows[2 * width..]]
}

/// The matrix with the columns `t`, times `a`.
#[inline]
fn apply(t: &[V3; 3], a: &V3) -> V3 {
    let entry = |k: usize| t[0][k] * a[0] + t[1][k] * a[1] + t[2][k] * a[2];
    [entry(0), entry(1), entry(2)]
}

#[inline]
fn minus(a: &V3, b: &V3) -> V3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}
