//! Laws: the relation between the violation `δ` of a constraint block and its force `λ`. One file per law.
//!
//! Thread: any (RT safe).
//!
//! A law file implements [`Rule`]: number and meaning of the rows, soundness, block solve, projection, residual, and the states of its rows
//! that Newton's method linearises. [`Law`] holds the parameters; the macro `with_rule` is the only dispatch. Solvers and the
//! haptic tick call the methods of [`Law`] and match on no variant.
//!
//! | solver | uses | laws |
//! |---|---|---|
//! | sweeps (`solver.rs`) | `solve`, `project` | all |
//! | Newton after needle laws (`active.rs`) | `state` | all |
//! | tangents of curved laws (`newton/tangents.rs`) | [`Law::tangent`] | conic and curved laws |
//! | Newton (`newton.rs`) | `map`, `state` | conic laws; others are rejected |
//! | interior-point path (`interior.rs`) | `conic` | conic laws; others are rejected |
//! | baseline (`pgs.rs`) | `meaning`, `project` | all |

mod bilateral;
mod channel;
mod contact;
mod gas;
mod puncture;

use super::solver::{Own, Residuals};
use bilateral::Bilateral;
use channel::Channel;
use contact::Contact;
use gas::Gas;
use nalgebra::Vector3;
use puncture::Puncture;

pub use contact::{Mode, solve_contact};
pub use gas::ADIABATIC_INDEX;

/// Quantity that the violation of a row measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A gap: the force pushes only, and only while the gap would close.
    Gap,
    /// A position that is held from both sides.
    Place,
    /// The slip of one step: no position to return to.
    Slip,
}

/// State of one row at a guess of the solution; Newton's method linearises it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowState {
    /// `δ = 0`, the force is free.
    Held,
    /// The force is at a bound.
    Fixed {
        /// The bound, N.
        force: f64,
        /// Derivative of the bound by the forces of the block.
        slope: [f64; 3],
    },
    /// One of the two tangent rows of a surface that slips.
    Slipping(Slip),
    /// The force follows a curve that falls as the violation grows.
    Curved {
        /// Point of the curve with `λ − ρ δ = τ`, N.
        force: f64,
        /// Derivative of this force by `τ`, 0 to 1.
        slope: f64,
    },
}

/// A curved law near one of its points: `δ = violation + compliance · (force − λ)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tangent {
    /// Force of the point, N.
    pub force: f64,
    /// Violation of the point, m.
    pub violation: f64,
    /// `−dδ/dλ` there, m/N; infinite where the force does not depend on the violation.
    pub compliance: f64,
}

/// Friction at its bound, `λ_t = bound · d` with `d = τ_t/‖τ_t‖`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slip {
    /// Bound of the friction force, N.
    pub bound: f64,
    /// Derivative of the bound by `τ_n`.
    pub slope: f64,
    /// `bound/‖τ_t‖`.
    pub kappa: f64,
    /// `d`.
    pub direction: [f64; 2],
}

impl Slip {
    /// `P = I − d dᵀ`.
    #[must_use]
    pub fn projector(&self) -> [[f64; 2]; 2] {
        let d = self.direction;
        [[1.0 - d[0] * d[0], -d[0] * d[1]], [-d[0] * d[1], 1.0 - d[1] * d[1]]]
    }
}

/// A law as a complementarity over cones, for the interior-point path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Conic {
    /// The friction cone `‖λ_t‖ ≤ µ λ_n` on three rows.
    Cone {
        /// Coefficient of friction µ.
        friction: f64,
    },
    /// `δ = 0` with a force of any sign.
    Free,
}

/// One law, without the compliance that every law has. Blocks with fewer than three rows leave the last entries of vectors unused.
pub trait Rule: std::fmt::Debug + Sync {
    /// Number of rows, one to three.
    fn rows(&self) -> usize;

    /// Quantity that row `row` measures.
    fn meaning(&self, row: usize) -> Meaning;

    /// True when the parameters are valid.
    fn is_sound(&self) -> bool;

    /// Force that satisfies the law with all other blocks fixed: `own` is the compliance of the block, `b` its violation without its own
    /// force, `near` a guess of the force.
    fn solve(&self, own: &Own, b: &Vector3<f64>, near: &Vector3<f64>) -> Vector3<f64>;

    /// Projection of a force onto the admissible set.
    fn project(&self, force: &Vector3<f64>) -> Vector3<f64>;

    /// Residuals of a force and a violation, both relative (see [`Residuals`]). `None`, as for every law with
    /// a bound in newtons: measured by one more block solve.
    fn residuals(&self, _force: &[f64; 3], _violation: &[f64; 3]) -> Option<Residuals> {
        None
    }

    /// State of each row at `force`, with `tau = λ − ρ δ` for a `rho` in N/m.
    fn state(&self, force: &[f64; 3], tau: &[f64; 3], rho: f64) -> [RowState; 3];

    /// The map whose root is the law, with `ρ = 1`.
    fn map(&self, force: &[f64; 3], violation: &[f64; 3]) -> [f64; 3] {
        let tau = [0, 1, 2].map(|k| force[k] - violation[k]);
        let states = self.state(force, &tau, 1.0);
        [0, 1, 2].map(|k| match states[k] {
            RowState::Held => violation[k],
            RowState::Fixed { force: bound, .. } | RowState::Curved { force: bound, .. } => force[k] - bound,
            RowState::Slipping(slip) => force[k] - slip.bound * slip.direction[(k + 1) % 2],
        })
    }

    /// The law over cones; `None` when it has no such form.
    fn conic(&self) -> Option<Conic> {
        None
    }

    /// True when all forces are zero wherever the violation of the first row is not negative.
    fn opens(&self) -> bool {
        false
    }

    /// True when the block counts as a touch of two bodies while it carries force.
    fn is_touch(&self) -> bool {
        true
    }

    /// True when the block carries force.
    fn carries(&self, force: &[f64]) -> bool {
        force.iter().any(|force| *force != 0.0)
    }

    /// Upper bound of the force of the first row, N.
    fn bound_n(&self) -> Option<f64> {
        None
    }

    /// True when reaching [`Self::bound_n`] breaks or cuts for good.
    fn breaks(&self) -> bool {
        false
    }
}

/// True for a finite number that is not negative.
fn is_size(x: f64) -> bool {
    x.is_finite() && x >= 0.0
}

/// The law of one block of rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Contact with Coulomb friction; three rows: normal, two tangents. `δ_n` is the gap at the end of the step,
    /// `δ_t` the slip during it: `0 ≤ λ_n ⊥ δ_n ≥ 0`, `‖λ_t‖ ≤ µ λ_n`, `λ_t` opposite to the slip.
    Contact {
        /// Coefficient of friction µ.
        friction: f64,
        /// Compliance of the contact itself, m/N; zero for a rigid contact.
        compliance: f64,
    },
    /// `δ + compliance · λ = 0` on one to three rows.
    Bilateral {
        /// Number of rows.
        rows: u8,
        /// Compliance of the joint itself, m/N; zero for a rigid joint.
        compliance: f64,
    },
    /// A contact whose surface breaks: as [`Self::Contact`], with `λ_n ≤ most`. At the bound the gap closes beyond zero, by the depth
    /// to which the point enters.
    Puncture {
        /// Coefficient of friction µ.
        friction: f64,
        /// Normal force at which the surface breaks, N.
        most_n: f64,
        /// Bound of the normal force after the break, N.
        then_n: f64,
        /// Compliance of the contact itself, m/N.
        compliance: f64,
    },
    /// A needle in the channel it has cut; three rows: along, two across. Across it is held, `δ_t = 0`. Along, `λ` is between
    /// `least − µ‖λ_t‖` and `most + µ‖λ_t‖`: in between nothing moves, at the upper bound `δ` falls, at the lower it grows. Along the shaft
    /// `δ` is slip and the bounds are equal and opposite: stick and slip. At the tip it is the way to the end of the channel,
    /// the lower bound is zero, and beyond the upper one the tip cuts.
    Channel {
        /// Least force along, N.
        least_n: f64,
        /// Largest force along, N.
        most_n: f64,
        /// Largest force along after the break, N.
        then_n: f64,
        /// Coefficient of friction µ: pressing across widens the bounds by `µ‖λ_t‖`.
        friction: f64,
        /// `δ` along is the slip of a step and not a position.
        slides: bool,
        /// Compliance of the channel itself, m/N.
        compliance: f64,
    },
    /// The air in a closed cavity; one row. `δ` is the volume over an area, `λ` the pressure above the ambient one times that area:
    /// `(λ + ambient) δ = bath + kept (depth/δ)^(γ−1)`, with `−ambient ≤ λ ≤ most`.
    Gas {
        /// Ambient pressure times the area, N.
        ambient_n: f64,
        /// Largest force: at more, air leaves, N.
        most_n: f64,
        /// `n R T` of the part of the gas that has the temperature of the walls at the end of the step, J.
        bath_j: f64,
        /// `n R T` of the part that keeps its heat over the step, J, at the start of the step.
        kept_j: f64,
        /// Volume over area at the start of the step, m; of use with `kept_j` alone.
        depth_m: f64,
        /// Compliance of the constraint itself, m/N; zero for walls that are modelled.
        compliance: f64,
    },
    /// A law from outside this module: `examples/sample_law.rs` has one in one file.
    Custom {
        /// The law.
        rule: &'static dyn Rule,
        /// Compliance of the constraint itself, m/N.
        compliance: f64,
    },
}

/// Two custom laws are equal when they are the same object.
impl PartialEq for dyn Rule {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self, other)
    }
}

/// Evaluates an expression with the rule of a law: the one dispatch over all laws.
macro_rules! with_rule {
    ($law:expr, $rule:ident => $value:expr) => {
        match *$law {
            Law::Contact { friction, .. } => {
                let $rule = Contact { friction };
                $value
            }
            Law::Bilateral { rows, .. } => {
                let $rule = Bilateral { rows };
                $value
            }
            Law::Puncture { friction, most_n, then_n, .. } => {
                let $rule = Puncture { friction, most_n, then_n };
                $value
            }
            Law::Channel { least_n, most_n, then_n, friction, slides, .. } => {
                let $rule = Channel { least_n, most_n, then_n, friction, slides };
                $value
            }
            Law::Gas { ambient_n, most_n, bath_j, kept_j, depth_m, .. } => {
                let $rule = Gas { ambient_n, most_n, bath_j, kept_j, depth_m };
                $value
            }
            Law::Custom { rule: $rule, .. } => $value,
        }
    };
}

impl Law {
    /// Number of rows the law governs, at most three.
    #[must_use]
    pub fn rows(&self) -> usize {
        with_rule!(self, rule => rule.rows())
    }

    /// Quantity that row `row` of the law measures.
    #[must_use]
    pub fn meaning(&self, row: usize) -> Meaning {
        with_rule!(self, rule => rule.meaning(row))
    }

    /// True when row `row` is the slip of a step: no position to return to.
    #[must_use]
    pub fn slides(&self, row: usize) -> bool {
        self.meaning(row) == Meaning::Slip
    }

    /// True when row `row` is a gap, which pushes only.
    #[must_use]
    pub fn is_one_sided(&self, row: usize) -> bool {
        self.meaning(row) == Meaning::Gap
    }

    /// True when the parameters are valid.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        is_size(self.compliance()) && with_rule!(self, rule => rule.is_sound())
    }

    /// Force of a block that satisfies the law with all other blocks fixed; see [`Rule::solve`].
    #[must_use]
    pub fn solve(&self, own: &Own, b: &Vector3<f64>, near: &Vector3<f64>) -> Vector3<f64> {
        with_rule!(self, rule => rule.solve(own, b, near))
    }

    /// Projection of a force onto the admissible set.
    #[must_use]
    pub fn project(&self, force: &Vector3<f64>) -> Vector3<f64> {
        with_rule!(self, rule => rule.project(force))
    }

    /// Residuals of a block; see [`Rule::residuals`].
    #[must_use]
    pub fn residuals(&self, force: &[f64; 3], violation: &[f64; 3]) -> Option<Residuals> {
        with_rule!(self, rule => rule.residuals(force, violation))
    }

    /// State of each row; see [`Rule::state`].
    #[must_use]
    pub fn state(&self, force: &[f64; 3], tau: &[f64; 3], rho: f64) -> [RowState; 3] {
        with_rule!(self, rule => rule.state(force, tau, rho))
    }

    /// Tangent of a curved law of one row at the point that a wall of compliance `give`, m/N, between it and the violation would lead to.
    /// None for other laws.
    #[must_use]
    pub fn tangent(&self, force: f64, violation: f64, give: f64) -> Option<Tangent> {
        let &Self::Gas { ambient_n, most_n, bath_j, kept_j, depth_m, .. } = self else { return None };
        let gas = Gas { ambient_n, most_n, bath_j, kept_j, depth_m };
        let (found, depth, slope) = gas.at(give, violation - give * force);
        // Where the force is constant, any point will do.
        let at = if slope > 0.0 { depth } else { violation };
        Some(Tangent { force: found, violation: at, compliance: 1.0 / slope })
    }

    /// True when the force follows a curve ([`Self::tangent`]).
    #[must_use]
    pub fn is_curved(&self) -> bool {
        matches!(self, Self::Gas { .. })
    }

    /// The map whose root is the law; see [`Rule::map`].
    #[must_use]
    pub fn map(&self, force: &[f64; 3], violation: &[f64; 3]) -> [f64; 3] {
        with_rule!(self, rule => rule.map(force, violation))
    }

    /// The law over cones; `None` when it has no such form.
    #[must_use]
    pub fn conic(&self) -> Option<Conic> {
        with_rule!(self, rule => rule.conic())
    }

    /// True when all forces are zero wherever the violation of the first row is not negative.
    #[must_use]
    pub fn opens(&self) -> bool {
        with_rule!(self, rule => rule.opens())
    }

    /// True when the block carries force.
    #[must_use]
    pub fn carries_force(&self, lambda: &[f64]) -> bool {
        with_rule!(self, rule => rule.carries(lambda))
    }

    /// True when two bodies touch with force at the block; a joint is no touch.
    #[must_use]
    pub fn touches(&self, lambda: &[f64]) -> bool {
        with_rule!(self, rule => rule.is_touch() && rule.carries(lambda))
    }

    /// Coefficient of friction of a contact that never breaks; `None` for every other law.
    #[must_use]
    pub fn contact_friction(&self) -> Option<f64> {
        if let Self::Contact { friction, .. } = self { Some(*friction) } else { None }
    }

    /// Upper bound of the force of the first row, N, where the law has one.
    #[must_use]
    pub fn bound_n(&self) -> Option<f64> {
        with_rule!(self, rule => rule.bound_n())
    }

    /// True when reaching the bound of the first row breaks or cuts for good.
    #[must_use]
    pub fn breaks(&self) -> bool {
        with_rule!(self, rule => rule.breaks())
    }

    /// The law after the break; a law that does not break stays the same.
    #[must_use]
    pub fn broken(self) -> Self {
        match self {
            Self::Puncture { friction, then_n, compliance, .. } => {
                Puncture { friction, most_n: then_n, then_n }.law(compliance)
            }
            Self::Channel { least_n, then_n, friction, slides: false, compliance, .. } => {
                Channel { least_n, most_n: then_n, then_n, friction, slides: false }.law(compliance)
            }
            same => same,
        }
    }

    /// The same law with the bound of the first row raised by `by_n`, N; a law without a bound stays the same.
    #[must_use]
    pub fn strengthened(mut self, by_n: f64) -> Self {
        if let Self::Puncture { most_n, .. } | Self::Channel { most_n, .. } = &mut self {
            *most_n += by_n;
        }
        self
    }

    /// Compliance of the constraint itself, m/N.
    #[must_use]
    pub fn compliance(&self) -> f64 {
        let (Self::Contact { compliance, .. }
        | Self::Bilateral { compliance, .. }
        | Self::Puncture { compliance, .. }
        | Self::Channel { compliance, .. }
        | Self::Gas { compliance, .. }
        | Self::Custom { compliance, .. }) = *self;
        compliance
    }

    /// The same law with the compliance `new`, m/N.
    #[must_use]
    pub fn giving(mut self, new: f64) -> Self {
        let (Self::Contact { compliance, .. }
        | Self::Bilateral { compliance, .. }
        | Self::Puncture { compliance, .. }
        | Self::Channel { compliance, .. }
        | Self::Gas { compliance, .. }
        | Self::Custom { compliance, .. }) = &mut self;
        *compliance = new;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAFT: Law =
        Law::Channel { least_n: -0.4, most_n: 0.4, then_n: 0.4, friction: 0.1, slides: true, compliance: 0.0 };
    const TIP: Law =
        Law::Channel { least_n: 0.0, most_n: 1.0, then_n: 0.5, friction: 0.0, slides: false, compliance: 0.0 };

    #[test]
    fn every_row_of_a_joint_is_held_from_both_sides() {
        let joint = Law::Bilateral { rows: 3, compliance: 0.0 };
        assert!((0..3).all(|row| joint.meaning(row) == Meaning::Place));
        let contact = Law::Contact { friction: 0.5, compliance: 0.0 };
        assert_eq!([0, 1, 2].map(|row| contact.is_one_sided(row)), [true, false, false]);
        assert_eq!([0, 1, 2].map(|row| SHAFT.meaning(row)), [Meaning::Slip, Meaning::Place, Meaning::Place]);
        assert_eq!([0, 1, 2].map(|row| TIP.meaning(row)), [Meaning::Gap, Meaning::Place, Meaning::Place]);
    }

    #[test]
    fn only_what_breaks_changes_when_it_breaks() {
        assert_eq!(TIP.broken().bound_n(), Some(0.5));
        assert_eq!(SHAFT.broken(), SHAFT);
        assert!(TIP.breaks() && !SHAFT.breaks());
    }

    /// The block solve of each law is a root of the map that Newton's method solves.
    #[test]
    fn the_block_solve_of_every_law_is_a_root_of_its_map() {
        let mut random = crate::math::Random::new(5);
        let mut uniform = move || 2.0 * random.uniform() - 1.0;
        let laws = [
            Law::Contact { friction: 0.5, compliance: 0.0 },
            Law::Bilateral { rows: 3, compliance: 0.0 },
            Law::Puncture { friction: 0.3, most_n: 0.6, then_n: 0.2, compliance: 0.0 },
            SHAFT,
            TIP,
        ];
        for case in 0..2000 {
            let l = nalgebra::Matrix3::from_fn(|_, _| uniform());
            let matrix = l * l.transpose() * 0.2 + nalgebra::Matrix3::identity();
            let own = Own { matrix, inverse: matrix.try_inverse() };
            let b = Vector3::from_fn(|_, _| 2.0 * uniform());
            for law in &laws {
                let force = law.solve(&own, &b, &Vector3::zeros());
                let map = law.map(&force.into(), &(matrix * force + b).into());
                let largest = map.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
                assert!(largest < 1e-8, "case {case}: {law:?} {map:?}");
                assert!((law.project(&force) - force).amax() < 1e-12, "case {case}: {law:?}");
            }
        }
    }
}
