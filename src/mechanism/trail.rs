//! Follows the interior-point path by its own length, around the folds where it turns back.
//!
//! Thread: simulation (no heap once its memory has grown; bounded steps).
//!
//! The path `z − Q x − q − slip = t r₀`, `x∘z = t κ₀ e` leads from any start (`t = 1`) to a solution (`t = 0`), but friction
//! makes it non-monotone: it may turn at some `t` and run back a while before it goes on, and a method that insists on a
//! smaller `t` at every step jams there. So `t` becomes an unknown like the others (Allgower and Georg, "Introduction to
//! Numerical Continuation Methods", ch. 2–6): a step along the tangent, then Newton steps across it. Which way along the
//! tangent is forward is told by the sign of the determinant, which changes at every fold.

use super::cone::{at, divide, inner, jordan};
use super::interior::Path;

/// Most matrices factored.
const MOST: u32 = 400;
/// Newton steps across the tangent after each step along it.
const CORRECTIONS: usize = 3;
/// How far from the path a point may be: of the equations, of the complementarity, both relative to `t`.
const NEAR: (f64, f64) = (0.05, 0.3);

/// Memory for following the path, and where on it the point is.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail {
    pub(super) t: f64,
    length: f64,
    r0: Vec<f64>,
    r0_size: f64,
    kappa0: Vec<f64>,
    tangent: Direction,
    /// Change of the point with `t`.
    along: Direction,
    saved: Direction,
    across: Direction,
}

/// A direction (or a point) in the space of the path.
#[derive(Clone, Debug, Default)]
struct Direction {
    x: Vec<f64>,
    z: Vec<f64>,
    t: f64,
}

impl Direction {
    fn set(&mut self, x: &[f64], z: &[f64], t: f64, factor: f64) {
        self.x.clear();
        self.x.extend(x.iter().map(|v| factor * v));
        self.z.clear();
        self.z.extend(z.iter().map(|v| factor * v));
        self.t = factor * t;
    }
}

impl Trail {
    /// Begins at the path's present point, which must be on the axes of the cones.
    pub(super) fn begin(&mut self, path: &mut Path) {
        path.find_residual();
        self.r0.clone_from(&path.residual);
        self.r0_size = self.r0.iter().fold(f64::MIN_POSITIVE, |m: f64, x| m.max(x.abs()));
        self.kappa0.clear();
        self.kappa0.extend(path.contacts.iter().map(|&(i, _)| inner(&at(&path.x, i), &at(&path.z, i))));
        (self.t, self.length) = (1.0, 1.0);
    }

    /// Follows the path until `t ≤ goal`; gives the number of matrices factored. Short of the goal it has come to a halt.
    pub(super) fn follow(&mut self, path: &mut Path, goal: f64, stop: &mut dyn FnMut() -> bool) -> u32 {
        let mut count = 0;
        while self.t > goal && count < MOST {
            if stop() || !path.rescale() || !path.factorise() {
                break;
            }
            count += 1;
            let forward = if path.is_backward() { 1.0 } else { -1.0 };
            self.find_along(path);
            let norm = self.product(path, &self.along, &self.along).sqrt();
            self.tangent.set(&self.along.x, &self.along.z, 1.0, forward / norm);
            path.dx.copy_from_slice(&self.tangent.x);
            path.dz.copy_from_slice(&self.tangent.z);
            let longest = (0.7 * path.longest()).min(0.95 * reach(self.t, self.tangent.t));
            self.save(path);
            if !self.step(path, longest, &mut count) {
                self.restore(path);
                break;
            }
        }
        count
    }

    /// Remembers the path's present point.
    pub(super) fn save(&mut self, path: &Path) {
        self.saved.set(&path.x, &path.z, self.t, 1.0);
    }

    /// Puts the point remembered back.
    pub(super) fn restore(&mut self, path: &mut Path) {
        path.x.copy_from_slice(&self.saved.x);
        path.z.copy_from_slice(&self.saved.z);
        self.t = self.saved.t;
    }

    /// One step along the tangent and back onto the path, shorter and shorter until it succeeds.
    fn step(&mut self, path: &mut Path, longest: f64, count: &mut u32) -> bool {
        for _ in 0..12 {
            let step = self.length.min(longest);
            self.restore(path);
            path.dx.copy_from_slice(&self.tangent.x);
            path.dz.copy_from_slice(&self.tangent.z);
            path.advance(step);
            self.t = self.saved.t + step * self.tangent.t;
            if let Some(corrections) = self.correct(path) {
                *count += corrections;
                if corrections <= 1 {
                    self.length = self.length.max(2.0 * step);
                }
                return true;
            }
            *count += CORRECTIONS as u32;
            self.length = 0.3 * step;
        }
        false
    }

    /// Newton steps across the tangent; gives how many it took to come near the path.
    fn correct(&mut self, path: &mut Path) -> Option<u32> {
        for taken in 0..=CORRECTIONS {
            path.find_residual();
            if !path.rescale() {
                return None;
            }
            if self.aim(path) {
                return Some(taken as u32);
            }
            if taken == CORRECTIONS || !path.factorise() {
                return None;
            }
            path.direction();
            self.across.set(&path.dx, &path.dz, 0.0, 1.0);
            self.find_along(path);
            let dt = -self.product(path, &self.across, &self.tangent) / self.product(path, &self.along, &self.tangent);
            for i in 0..path.dx.len() {
                path.dx[i] = self.across.x[i] + dt * self.along.x[i];
                path.dz[i] = self.across.z[i] + dt * self.along.z[i];
            }
            let length = (0.9 * path.longest()).min(0.9 * reach(self.t, dt)).min(1.0);
            if !(length > 0.05) {
                return None;
            }
            path.advance(length);
            self.t += length * dt;
        }
        None
    }

    /// Sets the right-hand sides of a Newton step back to the path at the present `t`; true when the point is near it.
    fn aim(&self, path: &mut Path) -> bool {
        let mut off: f64 = 0.0;
        for (r, r0) in path.residual.iter_mut().zip(&self.r0) {
            *r -= self.t * r0;
            off = off.max(r.abs());
        }
        let mut uncentred: f64 = 0.0;
        path.target.clear();
        for (s, kappa0) in path.scaling.iter().zip(&self.kappa0) {
            let square = jordan(&s.point, &s.point);
            let short = [self.t * kappa0 - square[0], -square[1], -square[2]];
            uncentred = uncentred.max(inner(&short, &short).sqrt() / (self.t * kappa0));
            path.target.push(divide(&s.point, &short));
        }
        off <= NEAR.0 * self.t * self.r0_size && uncentred <= NEAR.1
    }

    /// `along ← d(x, z)/dt` of the path through the present point.
    fn find_along(&mut self, path: &mut Path) {
        for (r, r0) in path.residual.iter_mut().zip(&self.r0) {
            *r = -r0;
        }
        path.target.clear();
        for (s, kappa0) in path.scaling.iter().zip(&self.kappa0) {
            path.target.push(divide(&s.point, &[*kappa0, 0.0, 0.0]));
        }
        path.direction();
        self.along.set(&path.dx, &path.dz, 1.0, 1.0);
    }

    /// Inner product in which every part is measured beside its own present size.
    fn product(&self, path: &Path, a: &Direction, b: &Direction) -> f64 {
        let mut sum = a.t * b.t / (self.t * self.t);
        for (k, &(i, _)) in path.contacts.iter().enumerate() {
            let s = &path.scaling[k];
            let x = inner(&s.inverse_times(&at(&a.x, i)), &s.inverse_times(&at(&b.x, i)));
            let z = inner(&s.times(&at(&a.z, i)), &s.times(&at(&b.z, i)));
            sum += (x + z) / (self.t * self.kappa0[k]);
        }
        sum
    }
}

/// Longest step that keeps `t` positive.
fn reach(t: f64, change: f64) -> f64 {
    if change < 0.0 { -t / change } else { f64::INFINITY }
}
