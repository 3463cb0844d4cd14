//! The simulation: bodies, contacts, the full solve, and the snapshot for the haptic thread.
//!
//! Thread: simulation. [`step`] is pure; [`thread`] paces it.

mod data;
mod elastic;
mod materials;
mod model;
mod needle;
mod publish;
mod rows;
mod settle;
mod skins;
mod step;
pub mod thread;

pub use data::{ContactForce, SimData, SimError, StepReport, empty_snapshot};
pub use elastic::{ElasticError, ElasticModel, ElasticState, Obstacle, SoftContact, Stepping};
pub use materials::{MAX_MATERIALS, MaterialOrder};
pub use model::{BodyModel, JointKind, JointModel, Material, Motion, SimModel, ToolBody};
pub use needle::{
    Breathing, Forbidden, Layer, NeedleError, NeedleModel, NeedleState, Target, TissueError, TissueModel, TissueSpec,
};
pub use skins::{Painter, skin_models};
pub use step::{is_free, step};
