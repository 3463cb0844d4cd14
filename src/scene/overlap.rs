//! Depth by which two shapes overlap where they start.
//!
//! Thread: cold.
//!
//! The same search as the simulation's own: the features of each, and the nodes of a part, against the signed distance of
//! the other (`collision::contact`), so that what passes here starts without contact forces there. Two meshes of which one deforms
//! are coarse enough to cross without a node of one inside the other: their edges are searched as well.

use crate::collision::{Candidates, Placed as Collider, Slot, collide};
use crate::geometry::mesh::{MeshSurface, TriMesh};
use crate::geometry::{Feature, Shape, Surface};
use crate::math::{Pose, Vec3};

/// Overlap that is taken for resting on each other, m: rounding of written poses, far below what can be felt.
pub(super) const RESTING_M: f64 = 1e-5;

/// A shape in the scene.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed<'a> {
    /// The shape.
    pub(super) shape: &'a Shape,
    /// Its frame in the scene.
    pub(super) pose: &'a Pose,
    /// It is the surface of a body that deforms.
    pub(super) deforms: bool,
}

/// Depth of the deepest place where two placed shapes overlap by more than [`RESTING_M`].
pub(super) fn overlap_m(a: &Placed<'_>, b: &Placed<'_>) -> Option<f64> {
    let (features_a, features_b) = (a.shape.all_features(), b.shape.all_features());
    let (placed_a, placed_b) = (collider(a, &features_a, Slot(0)), collider(b, &features_b, Slot(1)));
    let mut found = Candidates::new();
    collide(0, &placed_a, &placed_b, RESTING_M, &mut found);
    let deepest = found.as_slice().iter().map(|candidate| candidate.gap).fold(f64::INFINITY, f64::min);
    let mut deepest = deepest.min(least_of_nodes(a, b)).min(least_of_nodes(b, a));
    if deepest >= -RESTING_M && (a.deforms || b.deforms) {
        deepest = deepest.min(least_of_edges(a, b)).min(least_of_edges(b, a));
    }
    (deepest < -RESTING_M).then_some(-deepest)
}

/// The shape as a collider of its own.
fn collider<'a>(placed: &Placed<'a>, features: &'a [Feature], body: Slot) -> Collider<'a> {
    let (pose_world_body, pose_body_shape) = (*placed.pose, Pose::identity());
    Collider {
        surface: placed.shape,
        features,
        outline: placed.shape.outline(),
        body,
        pose_world_body,
        pose_body_shape,
    }
}

/// Least distance of a node of `holder` from the surface of `target`; infinite without nodes near it.
fn least_of_nodes(holder: &Placed<'_>, target: &Placed<'_>) -> f64 {
    let Shape::Part(part) = holder.shape else { return f64::INFINITY };
    let (to_target, ball) = (target.pose.inverse() * holder.pose, target.shape.bounding_sphere());
    let place = |position: &Vec3| to_target.rotation * position + to_target.translation.vector;
    let near = part.nodes.iter().map(|node| place(&node.position)).filter(|p| (p - ball.center).norm() <= ball.radius);
    near.map(|p| target.shape.signed_distance(&p).distance).fold(f64::INFINITY, f64::min)
}

/// Least distance from the surface of `target` in the middle of a piece of an edge of `holder` between two of its triangles, or
/// between one and an end of the edge; infinite when one of the two is no mesh.
fn least_of_edges(holder: &Placed<'_>, target: &Placed<'_>) -> f64 {
    let (Shape::Part(part), Shape::Part(other)) = (holder.shape, target.shape) else { return f64::INFINITY };
    let Ok(surface) = MeshSurface::new(other.mesh.clone()) else { return f64::INFINITY };
    let (mesh, ball) = (part.mesh.moved(&(target.pose.inverse() * holder.pose)), surface.bounding_sphere());
    let reaches = |[p, q]: &[Vec3; 2]| {
        let middle = 0.5 * (p + q);
        (middle - ball.center).norm() <= ball.radius + 0.5 * (p - q).norm()
    };
    edges(&mesh).filter(reaches).map(|edge| least_along(&surface, edge)).fold(f64::INFINITY, f64::min)
}

/// Each edge of a closed mesh once.
fn edges(mesh: &TriMesh) -> impl Iterator<Item = [Vec3; 2]> + '_ {
    let sides = mesh.triangles().iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]).filter(|[a, b]| a < b);
    sides.map(|side| side.map(|n| mesh.vertices()[n as usize]))
}

/// See [`least_of_edges`]; infinite for an edge that meets no triangle.
fn least_along(surface: &MeshSurface, [p, q]: [Vec3; 2]) -> f64 {
    let along = q - p;
    let (mut from, mut least) = (0.0, f64::INFINITY);
    loop {
        let hit = surface.ray(&(p + along * from), &along, 1.0 - from).map(|hit| from + hit.distance);
        if hit.is_none() && from == 0.0 {
            return least;
        }
        let to = hit.unwrap_or(1.0);
        least = least.min(surface.signed_distance(&(p + along * (0.5 * (from + to)))).distance);
        // On from behind the triangle.
        from = to + 1e-9;
        if hit.is_none() || from >= 1.0 {
            return least;
        }
    }
}
