//! The exact surface of a thread without end.
//!
//! Thread: any (RT safe).
//!
//! The surface is the profile moved along a helix. In the half-plane through the axis that is turned by `u` from the
//! one of the point `p = (r, s)`, the profile is shifted by `k u`, `k = P/2π`, so with `w` the way along the axis from
//! `p` to a point `(σ, ρ)` of it
//!
//! ```text
//! w = σ − s + k u,     |p − q|² = r² + ρ² − 2 r ρ cos u + w²
//! ```
//!
//! The nearest point lies inside a strip of crest or root (a cylinder: u = 0, closed form), inside a flank (a
//! helicoid), or on one of the four edges (helices). For the helix of radius R and offset `c = σ − s`, taken in `[−P/2,
//! P/2]`, the derivative in `u` is `g(u) = r R sin u + k² u + k c`. Say c ≤ 0; g rises from `g(0) ≤ 0` and is concave
//! on `[0, π]`, so there is one zero, Newton's steps from 0 approach it from below without fail, and mirroring at
//! `|c|/k` shows that no other turn is nearer. On a flank `σ = a + t ρ` the best `ρ` for given `u` is a quotient, which
//! leaves one equation in `u`
//!
//! ```text
//! G(u) = r² sin u cos u − r t c' sin u + k c' + k t r cos u,   c' = a − s + k u
//! ```
//!
//! whose zero next to 0 Newton finds in two or three steps where `r² (1 − t²)` outweighs the rest: everywhere that a
//! flank can be nearest when the pitch is at most a quarter of the diameter. Two turns of each flank, above and below
//! the point, are looked at.
//!
//! Cheap bounds come first: every |u| of interest has `r sin |u| ≤ d₀`, `d₀` being the distance to the profile in the
//! point's own half-plane, so a piece is at least its distance there less `k asin(d₀/r)` away; most pieces end here.
//!
//! **Error.** Steps stop when they move `u` by less than 1e-13; Newton then is off by its square, and a point of the
//! surface off by `r δu` is farther than the nearest by at most that much. What remains is rounding of coordinates:
//! 1e-15 m for parts under 1 m. `tests/mesh/thread.rs` checks 1e-12 m against a search.

use super::super::surface::direction_or;
use super::super::{Distance, surface};
use super::{Hand, Side, ThreadProfile};
use crate::math::Vec3;
use std::f64::consts::{FRAC_PI_2, TAU};

/// Steps of Newton's method before it is given up; three is usual.
const STEPS_MAX: usize = 40;
/// A step that moves less, rad, is the last.
const STEP_LAST: f64 = 1e-13;

/// The surface of a thread that goes on for ever along z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThreadSurface {
    profile: ThreadProfile,
    /// Way along the axis per radian.
    k: f64,
    crest: f64,
    foot: f64,
}

/// The point asked about, in its own half-plane.
struct Asked {
    r: f64,
    /// Along the axis from the middle of the nearest ridge.
    s: f64,
}

/// A point of the surface: square of the distance, turn, way to it, and the outward normal `(ρ, φ, z)` of a bolt there.
#[derive(Clone, Copy)]
struct Found {
    square: f64,
    /// From the surface to the point, in the basis (r, θ, z) of the point.
    away: Vec3,
    u: f64,
    /// True inside a piece, where the normal is exact; at an edge the mean of its two sides.
    smooth: bool,
    normal: Vec3,
}

impl ThreadSurface {
    /// The surface of a profile.
    ///
    /// # Errors
    /// If there is no such profile.
    pub fn new(profile: ThreadProfile) -> Result<Self, super::PartError> {
        profile.check()?;
        let (crest, foot) = (profile.crest_half_width(), profile.foot_half_width());
        Ok(Self { profile, k: profile.pitch / TAU, crest, foot })
    }

    /// The profile.
    #[must_use]
    pub fn profile(&self) -> &ThreadProfile {
        &self.profile
    }

    /// Signed distance, m, negative in the material, and the outward unit normal at the nearest point.
    #[must_use]
    pub fn distance(&self, p: &Vec3) -> Distance {
        let mirror = if self.profile.hand == Hand::Right { 1.0 } else { -1.0 };
        let p = Vec3::new(p.x, mirror * p.y, p.z);
        let (r, out) = surface::radial(&p);
        let around = Vec3::new(-out.y, out.x, 0.0);
        let along = p.z - self.k * out.y.atan2(out.x);
        let s = along - self.profile.pitch * (along / self.profile.pitch).round();

        let found = self.nearest(&Asked { r, s });
        let outside = r >= self.profile.radius(s);
        let to_world = |v: &Vec3| {
            let v = out * v.x + around * v.y + Vec3::z() * v.z;
            Vec3::new(v.x, mirror * v.y, v.z)
        };
        let (sin, cos) = found.u.sin_cos();
        let n = &found.normal;
        let there = Vec3::new(n.x * cos - n.y * sin, n.x * sin + n.y * cos, n.z);
        let of_bolt =
            if found.smooth { there } else { direction_or(&(found.away * if outside { 1.0 } else { -1.0 }), there) };
        let distance = found.square.sqrt() * if outside { 1.0 } else { -1.0 };
        let turn = if self.profile.side == Side::Bolt { 1.0 } else { -1.0 };
        Distance { distance: turn * distance, normal: to_world(&of_bolt) * turn }
    }

    fn nearest(&self, p: &Asked) -> Found {
        let ThreadProfile { pitch, major_radius: major, minor_radius: minor, .. } = self.profile;
        // The edges, and how far they are in the half-plane of the point.
        let near = |at: f64, radius: f64| {
            let c = at - p.s - pitch * ((at - p.s) / pitch).round();
            (c, radius, c.hypot(p.r - radius))
        };
        let edges =
            [near(self.crest, major), near(-self.crest, major), near(self.foot, minor), near(-self.foot, minor)];
        let strip = if p.s.abs() <= self.crest {
            (p.r - major).abs()
        } else if p.s.abs() >= self.foot {
            (p.r - minor).abs()
        } else {
            f64::INFINITY
        };
        let (line, flank) = self.flank_in_plane(p);
        // The distance in the half-plane; the true one is at most that.
        let first = edges.iter().map(|e| e.2).fold(strip.min(flank), f64::min);
        // How much nearer a piece can be than it is in the half-plane.
        let slack = if first < p.r { self.k * (first / p.r).asin() } else { f64::INFINITY };

        let mut best = Found { square: f64::INFINITY, away: Vec3::zeros(), u: 0.0, smooth: true, normal: Vec3::x() };
        if strip.is_finite() {
            let radius = if p.s.abs() <= self.crest { major } else { minor };
            best = Found { square: strip * strip, away: Vec3::x() * (p.r - radius), ..best };
        }
        if line - slack <= first {
            for rising in [false, true] {
                for found in self.on_flank(p, rising).into_iter().flatten() {
                    if found.square < best.square {
                        best = found;
                    }
                }
            }
        }
        for (index, (c, radius, bound)) in edges.into_iter().enumerate() {
            let reach = bound - slack;
            if reach <= 0.0 || reach * reach < best.square {
                let found = self.on_edge(p, c, radius, index % 2 == 1);
                if found.square < best.square {
                    best = found;
                }
            }
        }
        best
    }

    /// Distance to the lines of the flanks in the half-plane of the point, first as if they did not end, then to the
    /// flanks themselves where the foot lies on one.
    fn flank_in_plane(&self, p: &Asked) -> (f64, f64) {
        let ThreadProfile { pitch, major_radius: major, minor_radius: minor, .. } = self.profile;
        let to_line = |t: f64, side: f64| {
            let w = side * self.crest - p.s + t * (p.r - major);
            let w = w - pitch * (w / pitch).round();
            let foot = p.r - t * w / (1.0 + t * t);
            let line = w.abs() / (1.0 + t * t).sqrt();
            (line, if foot >= minor && foot <= major { line } else { f64::INFINITY })
        };
        let (falling, rising) = (to_line(self.slope(), 1.0), to_line(-self.slope(), -1.0));
        (falling.0.min(rising.0), falling.1.min(rising.1))
    }

    /// `dσ/dρ` of the flank that falls towards greater z.
    fn slope(&self) -> f64 {
        -(self.foot - self.crest) / (self.profile.major_radius - self.profile.minor_radius)
    }

    /// The points of the flank above and below `p` where the way to it is square to the surface, if they lie between
    /// crest and root. `rising`: the flank on the lower side of a ridge.
    fn on_flank(&self, p: &Asked, rising: bool) -> [Option<Found>; 2] {
        let ThreadProfile { pitch, major_radius: major, minor_radius: minor, .. } = self.profile;
        let (t, side) = if rising { (-self.slope(), -1.0) } else { (self.slope(), 1.0) };
        let (r, k) = (p.r, self.k);
        let offset = side * self.crest - t * major - p.s;
        // From the point along the axis to the line above it.
        let above = (offset + t * r).rem_euclid(pitch) - t * r;
        [above, above - pitch].map(|a| {
            let mut u = 0.0;
            for _ in 0..STEPS_MAX {
                let (sin, cos) = f64::sin_cos(u);
                let c = a + k * u;
                let value = r * sin * (r * cos - t * c) + k * (c + t * r * cos);
                let slope = r * r * (cos * cos - sin * sin) - r * t * (cos * c + 2.0 * k * sin) + k * k;
                let step = value / slope;
                // Far from the surface there may be no zero; then an edge or a strip is nearest.
                if !(step.abs() < FRAC_PI_2) {
                    return None;
                }
                u -= step;
                if step.abs() < STEP_LAST {
                    break;
                }
            }
            let (sin, cos) = u.sin_cos();
            let c = a + k * u;
            let rho = (r * cos - t * c) / (1.0 + t * t);
            let away = Vec3::new(r - rho * cos, -rho * sin, -(c + t * rho));
            let normal = Vec3::new(-t * rho, -k, rho) * (side / (k * k + rho * rho * (1.0 + t * t)).sqrt());
            let inside = rho >= minor && rho <= major && u.abs() < FRAC_PI_2;
            inside.then_some(Found { square: away.norm_squared(), away, u, smooth: true, normal })
        })
    }

    /// The nearest point of the helix of radius `radius`, `c` along the axis from the point in its own half-plane.
    fn on_edge(&self, p: &Asked, c: f64, radius: f64, lower: bool) -> Found {
        let (k, product) = (self.k, p.r * radius);
        // Mirrored so that the zero is at u ≥ 0.
        let (drop, sign) = (k * c.abs(), if c > 0.0 { -1.0 } else { 1.0 });
        let mut u = 0.0;
        for _ in 0..STEPS_MAX {
            let (sin, cos) = f64::sin_cos(u);
            let step = (drop - product * sin - k * k * u) / (product * cos + k * k);
            u += step;
            if !(step.abs() >= STEP_LAST) {
                break;
            }
        }
        let u = sign * u;
        let (sin, cos) = u.sin_cos();
        let away = Vec3::new(p.r - radius * cos, -radius * sin, -(c + k * u));
        // Half-way between the strip's normal and the flank's.
        let (t, side) = if lower { (-self.slope(), -1.0) } else { (self.slope(), 1.0) };
        let flank = Vec3::new(-t * radius, -k, radius) * side;
        let normal = (flank.normalize() + Vec3::x()).normalize();
        Found { square: away.norm_squared(), away, u, smooth: false, normal }
    }
}
