//! One mechanism, many laws: bodies say how they move freely and how compliant they are, constraints say what law they
//! obey, one solver finds the forces.
//!
//! Thread: any (RT safe where it takes slices or the fixed-capacity snapshot).
//!
//! ```text
//!  bodies      A û = b + Hᵀ λ            free motion, compliance, correction     [pmi]
//!  mechanism   δ = W λ + δ_free          W = T · Σ H A⁻¹ Hᵀ, in m/N              [problem]
//!  laws        δ, λ obey their law       contact with friction, bilateral, …     [law]
//!  solver      block Gauss–Seidel, each law solves its own small block exactly   [solver]
//!              where that is too slow: Newton and an interior-point path         [newton]
//!              one body among contacts that give way: six unknowns               [primal]
//!              in the haptic tick: Newton steps among the sweeps                 [polish]
//! ```
//!
//! The simulation runs this over slices; the haptic thread runs the same code over a [`MechanismSnapshot`].

mod active;
mod cone;
mod dense;
mod id;
mod interior;
mod law;
pub mod newton;
mod panels;
pub mod pgs;
pub mod pmi;
pub mod polish;
pub mod primal;
mod problem;
pub mod samples;
mod snapshot;
pub mod solver;
mod trail;

pub use id::BlockId;
pub use law::{ADIABATIC_INDEX, Conic, Law, Meaning, Mode, RowState, Rule, Slip, Tangent, solve_contact};
pub use problem::{Block, Problem};
pub(crate) use problem::{dot, dot3};
pub use snapshot::{
    Anew, MAX_BLOCKS, MAX_ROWS, MAX_SCENE_BODIES, MAX_VIBRATIONS, MechanismSnapshot, NO_BODY, Row, RowKind, SceneBody,
    TipMark, Vibration,
};
