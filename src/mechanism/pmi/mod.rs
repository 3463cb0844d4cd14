//! Passive midpoint integration (PMI): bodies whose steps neither make nor lose energy, whatever the step.
//!
//! Thread: any (RT safe; [`LinearBody`] and [`baseline`] take their storage at construction).
//!
//! With the midpoint velocity `v̂ = (v_k + v_{k+1})/2 = (x_{k+1} − x_k)/T` every force is taken at the middle of the
//! step:
//!
//! ```text
//!  M (v_{k+1} − v_k)/T + D v̂ + K (x_k + x_{k+1})/2 = f        seed 000, eq. 3
//!  A v̂ = 2M v_k/T − K x_k + f,   A = 2M/T + D + K T/2          eq. 4
//!  E_N − E_0 = Σ T fᵀv̂ − Σ T v̂ᵀD v̂ ≤ Σ T fᵀv̂                  eq. 6
//! ```
//!
//! Each step is cut in two, so that a constraint solver can sit in the middle: `prepare` gives the free midpoint
//! velocity and the compliance `A⁻¹`, `finish` takes the midpoint velocity the solver arrived at. The last line above
//! is kept by every body in its [`EnergyLedger`].
//!
//! | file | holds |
//! |---|---|
//! | `rigid` | rigid body on SE(3) |
//! | `element` | springs, dampers, gravity, potentials by their exact discrete work |
//! | `scalar` | one degree of freedom in any potential, solved implicitly |
//! | `linear` | linear second-order systems of any size |
//! | `ledger` | where every joule went |
//! | `symmetric`, `twofold` | matrices with an envelope, numbers in two parts |
//! | `baseline` | the integrators PMI is compared with |

pub mod baseline;
mod element;
mod ledger;
mod linear;
mod rigid;
mod scalar;
mod symmetric;
mod twofold;

pub use element::{Gravity, HertzContact, LinearSpring, Potential, SpringDamper, Weight};
pub use ledger::{CompensatedSum, EnergyFlow, EnergyLedger};
pub use linear::{Accuracy, LinearBody, LinearError, LinearSystem};
pub use rigid::{Coriolis, Coupling, RigidBody, RigidInertia, RigidStep};
pub use scalar::ScalarBody;
