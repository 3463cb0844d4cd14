//! Do two shapes overlap where they start, and by how much?
//!
//! Thread: cold.
//!
//! The same search as the simulation's own: the features of each, and the nodes of a part, against the signed distance of
//! the other (`collision::contact`), so that what passes here starts without contact forces there.

use crate::collision::{Candidates, Placed, collide};
use crate::geometry::{Shape, Surface};
use crate::math::{Pose, Vec3};

/// Overlap that is taken for resting on each other, m: rounding of written poses, far below what can be felt.
pub(super) const RESTING_M: f64 = 1e-5;

/// Depth of the deepest place where two placed shapes overlap by more than [`RESTING_M`].
pub(super) fn overlap_m(a: (&Shape, &Pose), b: (&Shape, &Pose)) -> Option<f64> {
    let (features_a, features_b) = (a.0.all_features(), b.0.all_features());
    let placed_a = Placed {
        surface: a.0,
        features: &features_a,
        outline: a.0.outline(),
        body: 0,
        pose_world_body: *a.1,
        pose_body_shape: Pose::identity(),
    };
    let placed_b = Placed {
        surface: b.0,
        features: &features_b,
        outline: b.0.outline(),
        body: 1,
        pose_world_body: *b.1,
        pose_body_shape: Pose::identity(),
    };
    let mut found = Candidates::new();
    collide(0, &placed_a, &placed_b, RESTING_M, &mut found);
    let deepest = found.as_slice().iter().map(|candidate| candidate.gap).fold(f64::INFINITY, f64::min);
    let deepest = deepest.min(least_of_nodes(a, b)).min(least_of_nodes(b, a));
    (deepest < -RESTING_M).then_some(-deepest)
}

/// Least distance of a node of `holder` from the surface of `target`; infinite without nodes near it.
fn least_of_nodes(holder: (&Shape, &Pose), target: (&Shape, &Pose)) -> f64 {
    let Shape::Part(part) = holder.0 else { return f64::INFINITY };
    let (to_target, ball) = (target.1.inverse() * holder.1, target.0.bounding_sphere());
    let place = |position: &Vec3| to_target.rotation * position + to_target.translation.vector;
    let near = part.nodes.iter().map(|node| place(&node.position)).filter(|p| (p - ball.center).norm() <= ball.radius);
    near.map(|p| target.0.signed_distance(&p).distance).fold(f64::INFINITY, f64::min)
}
