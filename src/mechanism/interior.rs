//! Interior-point start for problems on which Gauss–Seidel and Newton both fail: heavy bodies on light ones, wedged ones.
//!
//! Thread: simulation.
//!
//! With the slip speed `s = ‖δ_t‖` held, Coulomb's law is a convex cone programme (de Saxcé and Feng 1998): in the
//! coordinates `x = (µ λ_n, λ_t)` and `z = (δ_n/µ + s, δ_t)` both lie in the Lorentz cone `L` and `x·z = 0`. Its central
//! path is followed by predictor and corrector steps in Nesterov–Todd scaling, `s` being renewed at every step, or held for a whole path. That ends
//! near the solution with the right contacts open, sticking and slipping, from where Newton takes it to round-off.

use super::{Block, Law};

/// Most steps along the path; twenty to thirty is usual.
const STEPS: usize = 60;
/// Friction below this is followed as if it were this: the cone's coordinates need a finite opening.
const LEAST_FRICTION: f64 = 1e-3;
/// Where to stop, relative to the start of the path.
const NEAR: f64 = 1e-10;

type V3 = [f64; 3];

/// Memory for the path.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    q: Vec<f64>,
    matrix: Vec<f64>,
    x: Vec<V3>,
    z: Vec<V3>,
    pivots: Vec<usize>,
    shift: Vec<V3>,
    scaling: Vec<Scaling>,
    residual: Vec<V3>,
    slip: Vec<f64>,
}

/// Nesterov–Todd scaling of one cone: `W = η (2 v vᵀ − J)`, and the scaled point `W z = W⁻¹ x`.
#[derive(Clone, Copy, Debug, Default)]
struct Scaling {
    eta: f64,
    v: V3,
    point: V3,
}

impl Path {
    /// Moves `lambda` near the solution of the scaled problem (`rows × rows` compliance, contacts only); false when
    /// the problem has other laws or the path is lost.
    pub(super) fn follow(
        &mut self,
        blocks: &[Block],
        compliance: &[f64],
        free: &[f64],
        lambda: &mut [f64],
        held: bool,
    ) -> bool {
        let n = blocks.len();
        let rows = free.len();
        let friction = |i: usize| match blocks[i].law {
            Law::Contact { friction, .. } => Some(f64::max(friction, LEAST_FRICTION)),
            Law::Bilateral { .. } => None,
        };
        if (0..n).any(|i| friction(i).is_none()) {
            return false;
        }
        // Q = D W D and q = D b with D = diag(1/µ, 1, 1).
        let d = |r: usize| if r.is_multiple_of(3) { 1.0 / friction(r / 3).unwrap_or(1.0) } else { 1.0 };
        self.q.clear();
        self.q.extend((0..rows * rows).map(|k| d(k / rows) * compliance[k] * d(k % rows)));
        self.shift.clear();
        self.shift.extend((0..n).map(|i| [0, 1, 2].map(|k| d(3 * i + k) * free[3 * i + k])));
        let size = self.shift.iter().flatten().fold(0.0, |m: f64, x| m.max(x.abs()));
        // The slip of the path before, if it is to be held.
        self.slip.clear();
        self.slip.extend(self.z.iter().map(|z| if held { z[1].hypot(z[2]) } else { 0.0 }));
        self.slip.resize(n, 0.0);
        self.x.clear();
        self.x.resize(n, [size, 0.0, 0.0]);
        self.z.clear();
        self.z.resize(n, [size, 0.0, 0.0]);
        let reached = self.walk(size, held);
        for i in 0..n {
            for k in 0..3 {
                lambda[3 * i + k] = d(3 * i + k) * self.x[i][k];
            }
        }
        reached && lambda.iter().all(|x| x.is_finite())
    }

    fn walk(&mut self, size: f64, held: bool) -> bool {
        let n = self.x.len();
        for _ in 0..STEPS {
            let gap = self.x.iter().zip(&self.z).map(|(x, z)| dot(x, z)).sum::<f64>() / n as f64;
            let off = self.primal_residual(held);
            if gap <= NEAR * size * size && off <= NEAR * size {
                return true;
            }
            if !self.rescale() || !self.factorise() {
                return false;
            }
            // Predictor: straight for the solution; how far it gets sets how much the corrector recentres.
            let predictor: Vec<V3> = self.scaling.iter().map(|s| s.point.map(|p| -p)).collect();
            let (dx, dz) = self.direction(&predictor);
            let reach = self.longest(&dx, &dz).min(1.0);
            let centring = (1.0 - reach).powi(3) * gap;
            let corrector: Vec<V3> = (0..n)
                .map(|i| {
                    let s = &self.scaling[i];
                    let cross = jordan(&s.inverse_times(&dx[i]), &s.times(&dz[i]));
                    let square = jordan(&s.point, &s.point);
                    divide(&s.point, &[centring - square[0] - cross[0], -square[1] - cross[1], -square[2] - cross[2]])
                })
                .collect();
            let (dx, dz) = self.direction(&corrector);
            let step = (0.95 * self.longest(&dx, &dz)).min(1.0);
            if step < 1e-10 {
                return false;
            }
            for i in 0..n {
                for k in 0..3 {
                    self.x[i][k] += step * dx[i][k];
                    self.z[i][k] += step * dz[i][k];
                }
            }
        }
        false
    }

    /// `z − Q x − q(s)` with the slip of the present step; gives its largest entry.
    fn primal_residual(&mut self, held: bool) -> f64 {
        let (n, rows) = (self.x.len(), 3 * self.x.len());
        self.residual.resize(n, [0.0; 3]);
        let mut worst: f64 = 0.0;
        for i in 0..n {
            if !held {
                self.slip[i] = self.z[i][1].hypot(self.z[i][2]);
            }
            for k in 0..3 {
                let row = &self.q[(3 * i + k) * rows..][..rows];
                let sum = super::problem::dot(row, self.x.as_flattened());
                let slip = if k == 0 { self.slip[i] } else { 0.0 };
                self.residual[i][k] = self.z[i][k] - sum - self.shift[i][k] - slip;
                worst = worst.max(self.residual[i][k].abs());
            }
        }
        worst
    }

    fn rescale(&mut self) -> bool {
        self.scaling.clear();
        for (x, z) in self.x.iter().zip(&self.z) {
            let (nx, nz) = (norm_j(x), norm_j(z));
            if !(nx > 0.0 && nz > 0.0) {
                return false;
            }
            let (xs, zs) = (x.map(|v| v / nx), z.map(|v| v / nz));
            let gamma = (0.5 * (1.0 + dot(&xs, &zs))).sqrt();
            let w = [(xs[0] + zs[0]), (xs[1] - zs[1]), (xs[2] - zs[2])].map(|v| v / (2.0 * gamma));
            let root = (2.0 * (w[0] + 1.0)).sqrt();
            let v = [w[0] + 1.0, w[1], w[2]].map(|v| v / root);
            let mut scaling = Scaling { eta: (nx / nz).sqrt(), v, point: [0.0; 3] };
            scaling.point = scaling.times(z);
            self.scaling.push(scaling);
        }
        true
    }

    /// `Q + W⁻²`, factored.
    fn factorise(&mut self) -> bool {
        let rows = 3 * self.x.len();
        self.matrix.clear();
        self.matrix.extend_from_slice(&self.q);
        for (i, s) in self.scaling.iter().enumerate() {
            for k in 0..3 {
                let mut unit = [0.0; 3];
                unit[k] = 1.0;
                let column = s.inverse_times(&s.inverse_times(&unit));
                for (r, value) in column.iter().enumerate() {
                    self.matrix[(3 * i + r) * rows + 3 * i + k] += value;
                }
            }
        }
        super::newton::factor(&mut self.matrix, rows, &mut self.pivots)
    }

    /// Step for the scaled right-hand side `r`: `dz = W⁻¹ r − W⁻² dx`, `Q dx − dz = residual`.
    fn direction(&mut self, r: &[V3]) -> (Vec<V3>, Vec<V3>) {
        let scaled: Vec<V3> = self.scaling.iter().zip(r).map(|(s, r)| s.inverse_times(r)).collect();
        let mut dx: Vec<V3> =
            scaled.iter().zip(&self.residual).map(|(a, b)| [a[0] + b[0], a[1] + b[1], a[2] + b[2]]).collect();
        super::newton::back_substitute(&self.matrix, &self.pivots, dx.as_flattened_mut());
        let dz = (0..dx.len())
            .map(|i| {
                let back = self.scaling[i].inverse_times(&self.scaling[i].inverse_times(&dx[i]));
                [scaled[i][0] - back[0], scaled[i][1] - back[1], scaled[i][2] - back[2]]
            })
            .collect();
        (dx, dz)
    }

    /// Longest step that keeps both points inside their cones.
    fn longest(&self, dx: &[V3], dz: &[V3]) -> f64 {
        let steps = self.x.iter().zip(dx).chain(self.z.iter().zip(dz)).map(|(p, d)| to_boundary(p, d));
        steps.fold(f64::INFINITY, f64::min)
    }
}

impl Scaling {
    fn times(&self, a: &V3) -> V3 {
        let p = 2.0 * dot(&self.v, a);
        [p * self.v[0] - a[0], p * self.v[1] + a[1], p * self.v[2] + a[2]].map(|x| self.eta * x)
    }

    fn inverse_times(&self, a: &V3) -> V3 {
        let jv = [self.v[0], -self.v[1], -self.v[2]];
        let p = 2.0 * dot(&jv, a);
        [p * jv[0] - a[0], p * jv[1] + a[1], p * jv[2] + a[2]].map(|x| x / self.eta)
    }
}

fn dot(a: &V3, b: &V3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// `√(aᵀ J a)`, zero outside the cone; factored so that points near the boundary keep their digits.
fn norm_j(a: &V3) -> f64 {
    let tangent = a[1].hypot(a[2]);
    ((a[0] - tangent).max(0.0) * (a[0] + tangent)).max(0.0).sqrt()
}

fn jordan(a: &V3, b: &V3) -> V3 {
    [dot(a, b), a[0] * b[1] + b[0] * a[1], a[0] * b[2] + b[0] * a[2]]
}

/// `y` with `a ∘ y = r`.
fn divide(a: &V3, r: &V3) -> V3 {
    let square = norm_j(a).powi(2);
    let y = (a[0] * r[0] - a[1] * r[1] - a[2] * r[2]) / square;
    [y, (r[1] - y * a[1]) / a[0], (r[2] - y * a[2]) / a[0]]
}

/// Step along `d` at which `p` meets the boundary of the cone.
fn to_boundary(p: &V3, d: &V3) -> f64 {
    // (p₀ + t d₀)² = ‖p₁ + t d₁‖²
    let a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2];
    let b = p[0] * d[0] - p[1] * d[1] - p[2] * d[2];
    let c = norm_j(p).powi(2);
    let discriminant = b * b - a * c;
    let apex = if d[0] < 0.0 { -p[0] / d[0] } else { f64::INFINITY };
    if discriminant < 0.0 {
        return apex;
    }
    let q = -(b + discriminant.sqrt().copysign(b));
    let (t1, t2) = (q / a, c / q);
    [t1, t2].into_iter().filter(|t| *t > 0.0).fold(apex, f64::min)
}
