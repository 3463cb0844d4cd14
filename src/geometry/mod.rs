//! Shapes: exact signed distance, the features that can touch, mass properties, bounds. No poses, no pairs, no time.
//!
//! Thread: any (RT safe: plain data, no heap; making a mesh is cold).
//!
//! ```text
//!  Surface    distance and outward normal at a point, per sheet           [surface]
//!  Feature    point, segment or circle that can touch another surface     [feature]
//!  Shape      the primitives, each in its own file                        [shape]
//!  mass       mass, centre and inertia for a density, in closed form      [mass]
//!  mesh       triangle meshes: files, checks, mass, exact distance        [mesh]
//!  cavity     parts of a surface that enclose air against another body [cavity]
//!  Part       exact surface, nodes that can touch, mesh                    [part]
//!  tet        tetrahedral meshes: files, checks, surface, where a point lies  [tet]
//!  parts      threads, pegs and bores from their dimensions               [parts]
//!  snap       snap connectors from their dimensions                       [snap]
//! ```
//!
//! Collision asks for a [`Surface`] and a slice of [`Feature`]s only, so a mesh, a grid or a network is one more
//! implementation of the trait and nothing else.

mod bore;
mod capsule;
pub mod cavity;
mod cuboid;
mod cylinder;
mod feature;
mod half_space;
mod mass;
pub mod mesh;
mod outline;
mod part;
pub mod parts;
mod shape;
pub mod snap;
mod sphere;
mod surface;
pub mod tet;

pub use bore::Bore;
pub use capsule::Capsule;
pub use cuboid::Cuboid;
pub use cylinder::Cylinder;
pub use feature::{Feature, Features, MAX_FEATURES};
pub use half_space::HalfSpace;
pub use mass::MassProperties;
pub use outline::{FlatFace, Outline};
pub use part::{Part, PartNode};
pub use shape::{Shape, ShapeError};
pub use sphere::Sphere;
pub use surface::{Aabb, BoundingSphere, Distance, Surface};
