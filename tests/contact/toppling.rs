//! Boxes that tilt about an edge.
use super::scene::{G, Scene, Thing};
use hapticd::math::{Pose, Vec3, exp_so3, join};
const W: f64 = 0.12; // width along x
const H: f64 = 0.3;
const MASS: f64 = 1.5;
fn _u() { let _ = (W, H, MASS, G, Vec3::zeros(), Pose::identity(), join as fn(_, _) -> _, exp_so3 as fn(_) -> _); let _ = Scene::new as fn(_, _) -> _; let _ = Thing::plane as fn(_) -> _; }
