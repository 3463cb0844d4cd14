//! Scenes: from a file as written to the models the threads run on. Everything that can be wrong is found here.
//!
//! Thread: cold, but for [`TaskWatcher::observe`], which has no heap and may be called once per tick.
//!
//! ```text
//!  bytes ──► parse: units, names, bounds ──► SceneSpec ──► build: against a device ──► Built
//!     [read] [read_shape] [read_part] [read_tissue] [read_soft]     [build] [make] [build_tool] [build_needle] [overlap]
//!     [read_joint] [read_operator] [read_task] [read_turning]       [make_soft] [build_soft] [build_joint] [build_turning]
//!  Built.task + what happens ──► TaskWatcher: which goals are met                     [task]
//!  names of what is in the program itself                                             [shipped]
//! ```
//!
//! Conventions of a scene file. Right-handed, z up, x towards the operator, y to the operator's right. A pose is
//! `{ xyz, rpy }`: position, then roll about x, pitch about y and yaw about z, all fixed axes. Poses of bodies and of the
//! tool are those of the frame of their shape (`geometry::Shape`); conditions on where a body or the tool *is* are about
//! its centre of mass, which is the same point for every shape but a bore.

mod build;
mod build_air;
mod build_joint;
mod build_needle;
mod build_soft;
mod build_tool;
mod build_turning;
mod make;
mod make_soft;
mod overlap;
mod read;
mod read_air;
mod read_joint;
mod read_operator;
mod read_part;
mod read_shape;
mod read_snap;
mod read_soft;
mod read_task;
mod read_tissue;
mod read_turning;
mod schema;
mod schema_soft;
mod schema_task;
mod schema_tissue;
mod shipped;
mod spec;
mod spec_soft;
pub mod task;
mod workshop;

pub use build::{Built, SecondHand, build, build_for_two, build_watched};
pub use build_soft::SoftParts;
pub use read::{load, parse};
pub use schema::SCHEMA;
pub use shipped::{
    OpenError, device_text, open, open_device, scene_text, shipped, shipped_device, shipped_device_names, shipped_names,
};
pub use spec::{
    BodySpec, CouplingKind, CouplingSpec, HandSpec, JointSpec, LayerSpec, ModelChoice, NeedleSpec, OperatorSpec,
    PartForm, PartKind, PartSpec, SafetySpec, SceneSpec, ShapeSpec, Source, SpannerSpec, TaskSpec, TissueForm,
    TissueSpec, ToolSpec, TurningSpec, Weight,
};
pub use spec_soft::{
    ElasticSpec, GroupSpec, MaterialSpec, RegionSpec, Selection, SoftForm, SoftModelKind, SoftShapeSpec, SoftStepKind,
};
pub use task::{Condition, Goal, GoalState, Observation, TaskProgress, TaskWatcher, When};
pub use workshop::Watch;

#[cfg(test)]
mod needle_tests;
#[cfg(test)]
mod part_tests;
#[cfg(test)]
mod schema_tests;
#[cfg(test)]
mod tests;
