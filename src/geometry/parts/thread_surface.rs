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
//! point's own half-plane, so a piece is at least its distance there less `k asin(d₀/r) ≤ k (π/2) d₀/r` away; most
//! pieces end here.
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

/// Share of the radius that rounding may move a piece by. Normal value: thousands of roundings; it costs nothing.
const ROUND_OFF: f64 = 1e-12;

/// The surface of a thread that goes on for ever along z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThreadSurface {
    profile: ThreadProfile,
    /// Way along the axis per radian.
    k: f64,
    crest: f64,
    foot: f64,
    /// `dσ/dρ` of the lower flank.
    slope: f64,
    /// `1/(1 + slope²)`.
    steepness: f64,
}

/// The point asked about, in its own half-plane.
struct Asked {
    r: f64,
    /// Along the axis from the middle of the nearest ridge.
    s: f64,
}

/// What the surface is made of beside the strips of crest and root.
#[derive(Clone, Copy)]
enum Piece {
    /// A flank, `from` along the axis from the point to where its line would meet the axis.
    Flank { rising: bool, from: f64 },
    /// An edge of the upper or lower flank of a ridge, `from` along the axis from the point.
    Edge { lower: bool, radius: f64, from: f64 },
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

/// Sine and cosine. Turns from the half-plane of the point are small next to the surface, and there the series is exact
/// to the last digit: the first terms left out are u⁹/9! and u¹⁰/10!, 1e-17 and less.
fn sin_cos(u: f64) -> (f64, f64) {
    if u.abs() > 0.05 {
        return u.sin_cos();
    }
    let q = u * u;
    let sin = u * (1.0 - q / 6.0 * (1.0 - q / 20.0 * (1.0 - q / 42.0)));
    let cos = 1.0 - q / 2.0 * (1.0 - q / 12.0 * (1.0 - q / 30.0 * (1.0 - q / 56.0)));
    (sin, cos)
}

impl ThreadSurface {
    /// The surface of a profile.
    ///
    /// # Errors
    /// If there is no such profile.
    pub fn new(profile: ThreadProfile) -> Result<Self, super::PartError> {
        profile.check()?;
        let (crest, foot) = (profile.crest_half_width(), profile.foot_half_width());
        let slope = (foot - crest) / (profile.major_radius - profile.minor_radius);
        Ok(Self { profile, k: profile.pitch / TAU, crest, foot, slope, steepness: 1.0 / (1.0 + slope * slope) })
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
        let (sin, cos) = sin_cos(found.u);
        let n = &found.normal;
        let there = Vec3::new(n.x * cos - n.y * sin, n.x * sin + n.y * cos, n.z);
        let of_bolt =
            if found.smooth { there } else { direction_or(&(found.away * if outside { 1.0 } else { -1.0 }), there) };
        let distance = found.square.sqrt() * if outside { 1.0 } else { -1.0 };
        let turn = if self.profile.side == Side::Bolt { 1.0 } else { -1.0 };
        Distance { distance: turn * distance, normal: to_world(&of_bolt) * turn }
    }

    fn nearest(&self, p: &Asked) -> Found {
        let ThreadProfile { major_radius: major, minor_radius: minor, .. } = self.profile;
        let mut best = Found { square: f64::INFINITY, away: Vec3::zeros(), u: 0.0, smooth: true, normal: Vec3::x() };
        if p.s.abs() <= self.crest || p.s.abs() >= self.foot {
            let out = p.r - if p.s.abs() <= self.crest { major } else { minor };
            best = Found { square: out * out, away: Vec3::x() * out, ..best };
        }
        let pieces = self.pieces(p);
        // The true distance is at most that in the half-plane; that gives how much nearer than there a piece can be.
        let square = pieces.iter().map(|piece| piece.1).fold(best.square, f64::min);
        let (most, r) = (square.sqrt(), p.r);
        let reach = if most < r { most + self.k * FRAC_PI_2 * most / r + ROUND_OFF * r } else { f64::INFINITY };
        for (piece, square) in &pieces {
            if *square <= reach * reach {
                best = self.nearer(best, p, piece);
            }
        }
        best
    }

    fn nearer(&self, best: Found, p: &Asked, piece: &Piece) -> Found {
        let found = match *piece {
            Piece::Flank { rising, from } => self.on_flank(p, rising, from),
            Piece::Edge { lower, radius, from } => Some(self.on_edge(p, from, radius, lower)),
        };
        found.filter(|found| found.square < best.square).unwrap_or(best)
    }

    /// The flanks above and below the point and the four edges, each with the square of its distance in the half-plane.
    fn pieces(&self, p: &Asked) -> [(Piece, f64); 8] {
        let ThreadProfile { pitch, major_radius: major, minor_radius: minor, .. } = self.profile;
        // Along the axis from the point to the line of the flank above it.
        let above = |rising: bool| {
            let (t, side) = self.slope_of(rising);
            let w = side * self.crest - p.s + t * (p.r - major);
            w - pitch * (w / pitch).floor()
        };
        let flank = |rising: bool, w: f64| {
            let (t, _) = self.slope_of(rising);
            let rho = (p.r - t * w * self.steepness).clamp(minor, major);
            let (dr, dw) = (rho - p.r, w + t * (rho - p.r));
            (Piece::Flank { rising, from: w - t * p.r }, dr * dr + dw * dw)
        };
        let edge = |lower: bool, at: f64, radius: f64| {
            // Both lie within half a pitch of the middle of a ridge, so one step brings it to the nearest turn.
            let from = if lower { -at } else { at } - p.s;
            let half = 0.5 * pitch;
            let from = if from > half {
                from - pitch
            } else if from < -half {
                from + pitch
            } else {
                from
            };
            (Piece::Edge { lower, radius, from }, from * from + (p.r - radius) * (p.r - radius))
        };
        let (falling, rising) = (above(false), above(true));
        [
            flank(false, falling),
            flank(false, falling - pitch),
            flank(true, rising),
            flank(true, rising - pitch),
            edge(false, self.crest, major),
            edge(true, self.crest, major),
            edge(false, self.foot, minor),
            edge(true, self.foot, minor),
        ]
    }

    /// `dσ/dρ` of a flank, and the side of the ridge it is on: 1 above, −1 below, where it rises with z.
    fn slope_of(&self, rising: bool) -> (f64, f64) {
        if rising { (self.slope, -1.0) } else { (-self.slope, 1.0) }
    }

    /// The point of the flank `σ − s = a + t ρ` where the way to it is square to the surface, if there is one between
    /// crest and root.
    fn on_flank(&self, p: &Asked, rising: bool, a: f64) -> Option<Found> {
        let (t, side) = self.slope_of(rising);
        let (r, k) = (p.r, self.k);
        let mut u = 0.0;
        for _ in 0..STEPS_MAX {
            let (sin, cos) = sin_cos(u);
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
        let (sin, cos) = sin_cos(u);
        let c = a + k * u;
        let rho = (r * cos - t * c) * self.steepness;
        let away = Vec3::new(r - rho * cos, -rho * sin, -(c + t * rho));
        let normal = Vec3::new(-t * rho, -k, rho) * (side / (k * k + rho * rho * (1.0 + t * t)).sqrt());
        let inside = rho >= self.profile.minor_radius && rho <= self.profile.major_radius && u.abs() < FRAC_PI_2;
        inside.then_some(Found { square: away.norm_squared(), away, u, smooth: true, normal })
    }

    /// The nearest point of the helix of radius `radius`, `c` along the axis from the point in its own half-plane.
    fn on_edge(&self, p: &Asked, c: f64, radius: f64, lower: bool) -> Found {
        let (k, product) = (self.k, p.r * radius);
        // Mirrored so that the zero is at u ≥ 0.
        let (drop, sign) = (k * c.abs(), if c > 0.0 { -1.0 } else { 1.0 });
        let mut u = 0.0;
        for _ in 0..STEPS_MAX {
            let (sin, cos) = sin_cos(u);
            let step = (drop - product * sin - k * k * u) / (product * cos + k * k);
            u += step;
            if !(step.abs() >= STEP_LAST) {
                break;
            }
        }
        let u = sign * u;
        let (sin, cos) = sin_cos(u);
        let away = Vec3::new(p.r - radius * cos, -radius * sin, -(c + k * u));
        // Half-way between the strip's normal and the flank's.
        let (t, side) = self.slope_of(lower);
        let flank = Vec3::new(-t * radius, -k, radius) * side;
        let normal = (flank.normalize() + Vec3::x()).normalize();
        Found { square: away.norm_squared(), away, u, smooth: false, normal }
    }
}
