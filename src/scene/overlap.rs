//! Do two shapes overlap where they start, and by how much?
//!
//! Thread: cold.
//!
//! The same search as the simulation's own: the features of each against the signed distance of the other
//! (`collision::contact`), so that what passes here starts without contact forces there.

use crate::collision::{Candidates, Placed, collide};
use crate::geometry::Shape;
use crate::math::Pose;

/// Overlap that is taken for resting on each other, m: rounding of written poses, far below what can be felt.
pub(super) const RESTING_M: f64 = 1e-5;

/// Depth of the deepest place where two placed shapes overlap by more than [`RESTING_M`].
pub(super) fn overlap_m(a: (&Shape, &Pose), b: (&Shape, &Pose)) -> Option<f64> {
    let (features_a, features_b) = (a.0.features(), b.0.features());
    let placed_a = Placed {
        surface: a.0,
        features: features_a.as_slice(),
        body: 0,
        pose_world_body: *a.1,
        pose_body_shape: Pose::identity(),
    };
    let placed_b = Placed {
        surface: b.0,
        features: features_b.as_slice(),
        body: 1,
        pose_world_body: *b.1,
        pose_body_shape: Pose::identity(),
    };
    let mut found = Candidates::new();
    collide(0, &placed_a, &placed_b, RESTING_M, &mut found);
    let deepest = found.as_slice().iter().map(|candidate| candidate.gap).fold(f64::INFINITY, f64::min);
    (deepest < -RESTING_M).then_some(-deepest)
}
