//! Slender bodies: a needle as a chain of corotational Euler–Bernoulli beam elements, at rest in every step.
//!
//! Thread: simulation (storage is taken at construction; steps do not allocate).
//!
//! ```text
//!   hub (clamped)                                                    tip
//!   x₀ R₀ ───── x₁ R₁ ───── x₂ R₂ ─ … ─ xₙ Rₙ        z of a section points back along the beam
//!          r, e        t₁, t₂: axes of the sections at an element's ends, e: direction of its chord r
//! ```
//!
//! Energy of an element, of rest length `L` (`element`):
//! `EA/2L (|r| − L)² + 2EI/L (θ₁² + θ₁·θ₂ + θ₂²) + GJ/2L τ²`. The `θ` turn the chord into the axes of the sections,
//! the short way; `τ` is the twist that is left when `t₁` is turned into `t₂` the short way. As the section is round,
//! all depends on `|r|`, `e·t₁`, `e·t₂`, `t₁·t₂` and `τ` only: no frame of the element has to be chosen, a rigid
//! motion does nothing, and force and tangent stiffness are the exact first and second derivative, with what axial
//! force adds to bending (geometric stiffness). Between nodes the beam is the cubic that goes with this energy; forces
//! there act on both nodes by the derivative of that cubic, as forces and as moments.
//!
//! Step (`body`). `K dq = −f(q) + Hᵀλ` (seed 004, eq. 1.9), one linearisation: [`BeamBody::prepare`] factors `K` and
//! gives the correction without `λ`, [`BeamBody::compliance`] is `H K⁻¹Hᵀ`, [`BeamBody::apply`] takes `λ`,
//! [`BeamBody::finish`] moves. Rotations move by the exponential map, chords are turned and stretched by what the
//! linear step stretches them: a needle is ten thousand times stiffer along than across, and turning a chord along
//! its tangent would stretch it by the square of the angle.
//!
//! Everything is kept in the frame of the hub, so that moving the hub changes no strain, not even by round-off.

mod body;
mod element;
mod factor;
mod places;
mod relax;
mod rows;

pub use body::BeamBody;
pub use relax::BeamLoads;

use crate::math::Vec3;
use std::f64::consts::PI;

/// More nodes than any needle needs; memory and time grow with them.
const MOST_NODES: usize = 1000;

/// Why there is no such beam.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BeamError {
    /// Length that is none.
    #[error("the length of a beam must be positive and finite")]
    Length,
    /// No tube.
    #[error("the outer diameter of a beam must be positive, the inner one smaller and not negative")]
    Section,
    /// A material makes no sense.
    #[error("Young's modulus of a beam must be positive, Poisson's ratio above −1 and below 0.5")]
    Material,
    /// Too few or too many nodes.
    #[error("a beam has 2 to {MOST_NODES} nodes, not {0}")]
    Nodes(usize),
    /// Length, diameters and modulus do not fit into numbers together.
    #[error("the stiffness of the beam is out of the range of numbers")]
    Stiffness,
    /// The hub is nowhere.
    #[error("the hub's pose must be finite and its rotation a rotation")]
    Hub,
}

/// A straight tube of round section.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BeamSpec {
    /// From hub to tip, m.
    pub length_m: f64,
    /// Outer diameter, m.
    pub outer_m: f64,
    /// Inner diameter, m; 0 is a solid rod.
    pub inner_m: f64,
    /// Young's modulus, Pa.
    pub young_pa: f64,
    /// Poisson's ratio.
    pub poisson: f64,
    /// Nodes at equal distances, at least two; the first is clamped to the hub.
    pub nodes: usize,
    /// The beam never bends: its compliance is zero. For comparison.
    pub rigid: bool,
}

impl BeamSpec {
    /// Bending stiffness `EI`, N·m².
    #[must_use]
    pub fn bending(&self) -> f64 {
        self.young_pa * PI / 64.0 * (self.outer_m.powi(4) - self.inner_m.powi(4))
    }

    /// Torsional stiffness `GJ`, N·m².
    #[must_use]
    pub fn torsion(&self) -> f64 {
        // G = E / 2(1 + ν), and J = 2 I for a round section.
        self.bending() / (1.0 + self.poisson)
    }

    /// Axial stiffness `EA`, N.
    #[must_use]
    pub fn axial(&self) -> f64 {
        self.young_pa * PI / 4.0 * (self.outer_m.powi(2) - self.inner_m.powi(2))
    }

    /// Says what is wrong with the numbers, if anything.
    ///
    /// # Errors
    /// The first thing that makes no sense.
    pub fn check(&self) -> Result<(), BeamError> {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        if !positive(self.length_m) {
            return Err(BeamError::Length);
        }
        if !(positive(self.outer_m) && self.inner_m >= 0.0 && self.inner_m < self.outer_m) {
            return Err(BeamError::Section);
        }
        if !(positive(self.young_pa) && self.poisson > -1.0 && self.poisson < 0.5) {
            return Err(BeamError::Material);
        }
        if !(2..=MOST_NODES).contains(&self.nodes) {
            return Err(BeamError::Nodes(self.nodes));
        }
        let length = self.element_m();
        let used =
            [self.axial() / length, self.bending() / length.powi(3), self.bending() / length, self.torsion() / length];
        // Products of these are formed when factoring.
        if used.iter().any(|x| !(*x > 1e-100 && *x < 1e100)) {
            return Err(BeamError::Stiffness);
        }
        Ok(())
    }

    /// Rest length of an element, m.
    fn element_m(&self) -> f64 {
        self.length_m / (self.nodes - 1) as f64
    }
}

/// Motion of the beam's point at an arc length, along a direction.
#[derive(Clone, Copy, Debug)]
pub struct BeamRow {
    /// Arc length from the hub, m; held to the beam's ends.
    pub at_m: f64,
    /// Unit direction in the world.
    pub direction: Vec3,
}
