//! Deformable bodies: finite elements over tetrahedra as bodies of the mechanism.
//!
//! Thread: simulation (storage is taken at construction; steps do not allocate).
//!
//! ```text
//!  TetMesh, Material ──► FemModel: elements, M, K, order of elimination        [model] [elements] [ordering]
//!                          │
//!            ┌─────────────┴──────────────┐
//!       ElasticBody                 CorotationalBody
//!       linear, PMI                 large rotations, implicit Euler or quasi-static
//!       seed 000 eqs 2–4            seed 004 eqs 1.4–1.9
//!       [elastic]                   [corotational] [equilibrium] [rotation] [regime]
//!            └─────────────┬──────────────┘
//!  A û = b + Hᵀλ   prepare ─► û_free;  Rows H ─► W = T · H A⁻¹ Hᵀ;  apply λ ─► finish      [rows] [compliance]
//! ```
//!
//! [`AsyncBody`] is a corotational body that uses the factor of an earlier step, made on another thread
//! (`asynchronous`, `warp`).
//!
//! [`TissueBody`] is one that goes from rest to rest with such a factor, as tissue under a needle does (`tissue`).
//!
//! [`ReducedBody`] is a linear body cut into segments of few motions (seed 000 §III; `segment`, `balance`, `reduced`).
//!
//! [`BeamBody`] is a needle: a clamped chain of beam elements with large rotations, without time (`beam`).
//!
//! [`StaticAnswer`] is how a held body answers once it has come to rest: what the haptic thread solves with. [`StaticBody`] is
//! the whole of it at rest, and [`FemSkin`] what is drawn of it. [`SlowVibrations`] are those of its motions that the haptic thread follows
//! in time (`vibration`).
//!
//! A body steps in the same verbs as those of `mechanism::pmi`: `prepare` gives the free midpoint velocity and the
//! compliance, `apply_contact` takes the forces the solver found, `finish` ends the step.

mod answer;
mod asynchronous;
mod balance;
mod beam;
mod compliance;
mod corotational;
mod dense;
mod elastic;
mod elements;
mod equilibrium;
mod factor;
mod material;
mod model;
mod ordering;
mod pattern;
mod reduced;
mod reduced_file;
mod regime;
mod rotation;
mod rows;
mod segment;
mod shape;
mod skin;
mod spin;
mod tissue;
mod vibration;
mod warp;

pub use answer::{StaticAnswer, StaticBody};
pub use asynchronous::{AsyncBody, AsyncSpec};
pub use balance::Balance;
pub use beam::{BeamBody, BeamError, BeamLoads, BeamRow, BeamSpec};
pub use compliance::Compliance;
pub use corotational::CorotationalBody;
pub use dense::{Modes, ModesError};
pub use elastic::ElasticBody;
pub use equilibrium::{EquilibriumSpec, StepOutcome};
pub use factor::FactorError;
pub use material::{Material, Rayleigh};
pub use model::{FemError, FemModel, FemSpec, Mass};
pub use ordering::Ordering;
pub use pattern::SparseMatrix;
pub use reduced::ReducedBody;
pub use reduced_file::{ReducedFileError, source_hash};
pub use regime::{Regime, RegimeSpec};
pub use rotation::nearest_rotation;
pub use rows::{Attachment, Rows, Spread};
pub use segment::{Keep, ReduceError, ReduceSpec, ReduceStage, ReducedModel};
pub use skin::FemSkin;
pub use tissue::{Relaxation, TissueBody};
pub use vibration::SlowVibrations;
pub use warp::WarpReport;
