//! What is around a thread or a bore: a hexagon, a round, a rectangle.
//!
//! Thread: any (RT safe), but for meshes (cold).

use super::build::{Builder, Ring};
use super::{PartError, positive};
use crate::math::Vec3;
use std::f64::consts::{FRAC_PI_3, FRAC_PI_6, TAU};

/// A prism along z, by its outline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Body {
    /// Hexagon with two of its sides square to x.
    Hex {
        /// Width over two opposite sides, m.
        across_flats: f64,
    },
    /// Round.
    Round {
        /// Diameter, m.
        diameter: f64,
    },
    /// Rectangle.
    Block {
        /// Size along x, m.
        x: f64,
        /// Size along y, m.
        y: f64,
    },
}

impl Body {
    pub(super) fn check(&self) -> Result<(), PartError> {
        match *self {
            Self::Hex { across_flats } => positive(across_flats, "width across flats"),
            Self::Round { diameter } => positive(diameter, "diameter of the body"),
            Self::Block { x, y } => positive(x, "size of the block").and(positive(y, "size of the block")),
        }
    }

    /// Radius of the largest circle about the axis inside a mesh of it with `facets` facets.
    pub(super) fn inner_radius(&self, facets: usize) -> f64 {
        match *self {
            Self::Hex { across_flats } => 0.5 * across_flats,
            Self::Round { diameter } => 0.5 * diameter * (0.5 * TAU / facets as f64).cos(),
            Self::Block { x, y } => 0.5 * x.min(y),
        }
    }

    /// Radius of the smallest circle around it.
    pub(super) fn outer_radius(&self) -> f64 {
        match *self {
            Self::Hex { across_flats } => 0.5 * across_flats / FRAC_PI_6.cos(),
            Self::Round { diameter } => 0.5 * diameter,
            Self::Block { x, y } => 0.5 * x.hypot(y),
        }
    }

    /// Its outline at a height; a round one with `facets` vertices.
    pub(super) fn ring(&self, builder: &mut Builder, z: f64, facets: usize) -> Ring {
        match *self {
            Self::Hex { .. } => {
                let r = self.outer_radius();
                let corner = |k: usize| FRAC_PI_3 * k as f64 - FRAC_PI_6;
                Ring((0..6).map(|k| (corner(k), builder.polar(r, corner(k), z))).collect())
            }
            Self::Round { diameter } => builder.circle(0.5 * diameter, z, facets),
            Self::Block { x, y } => {
                let (x, y) = (0.5 * x, 0.5 * y);
                let corners = [(x, -y), (x, y), (-x, y), (-x, -y)];
                let make = |(x, y): (f64, f64)| {
                    let angle = y.atan2(x);
                    // Rising from the first corner on.
                    (if x < 0.0 && y < 0.0 { angle + TAU } else { angle }, builder.vertex(Vec3::new(x, y, z)))
                };
                Ring(corners.into_iter().map(make).collect())
            }
        }
    }

    /// Distance from the prism without ends, exact inside and never too large outside, with its outward normal.
    pub(super) fn distance(&self, p: &Vec3) -> (f64, Vec3) {
        let farthest = |sides: &[(f64, Vec3)]| {
            let mut best = (f64::NEG_INFINITY, Vec3::x());
            for side in sides {
                if side.0 > best.0 {
                    best = *side;
                }
            }
            best
        };
        match *self {
            Self::Hex { across_flats } => {
                let side = |k: usize| {
                    let (sin, cos) = (FRAC_PI_3 * k as f64).sin_cos();
                    (p.x * cos + p.y * sin - 0.5 * across_flats, Vec3::new(cos, sin, 0.0))
                };
                farthest(&[side(0), side(1), side(2), side(3), side(4), side(5)])
            }
            Self::Round { diameter } => {
                let (r, out) = super::super::surface::radial(p);
                (r - 0.5 * diameter, out)
            }
            Self::Block { x, y } => farthest(&[
                (p.x - 0.5 * x, Vec3::x()),
                (-p.x - 0.5 * x, -Vec3::x()),
                (p.y - 0.5 * y, Vec3::y()),
                (-p.y - 0.5 * y, -Vec3::y()),
            ]),
        }
    }
}
