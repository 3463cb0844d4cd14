//! The simulation: bodies, contacts, the full solve, and the snapshot for the haptic thread.
//!
//! Thread: simulation. [`step`] is pure; [`thread`] paces it.

mod assemble;
mod body;
mod condense;
mod constraint;
mod data;
mod ids;
mod materials;
mod model;
mod publish;
mod settle;
mod skins;
mod source;
mod step;
pub mod thread;

pub use body::beam::Beam;
pub use body::carrier::{Carried, CarriedBy, Carrier};
pub use body::corotational::{Corotational, CorotationalModel, Steps};
pub use body::elastic::{Elastic, ElasticError, ElasticModel, Stepping};
pub use body::surface::SoftSkin;
pub use body::tissue::Tissue;
pub use body::{Body, Point, SoftBody, SoftModel, SoftRow, When};
pub use data::{ContactForce, SimData, SimError, StepReport, empty_snapshot};
pub use ids::{BodyId, HandId};
pub use materials::{MAX_MATERIALS, MaterialOrder};
pub use model::{BodyModel, JointKind, JointModel, Material, Motion, SOFT_CONTACTS, SimModel, ToolBody};
pub use skins::{Painter, skin_models};
pub use source::joint::patch_serves;
pub use source::needle::{
    Breathing, Forbidden, Layer, NeedleError, NeedleModel, Target, TissueError, TissueModel, TissueSpec,
};
pub use step::step;
