//! Surfaces that the haptic thread asks itself: where a contact of the tool is now, not where it was at the last step.
//!
//! Thread: made cold; asked by haptic (RT: no heap, no lock; shared and never changed).
//!
//! Rows that stay as the simulation made them are planes. Next to a curved surface a plane is right for as long as the tool
//! stays near the place it was made at; at 30 steps a second a nut turns on its bolt by many degrees meanwhile, and the planes of
//! its flanks no longer hold it. Whoever has the surface can make the plane anew at every tick: one distance for each contact.

use crate::collision::field::Baked;
use crate::geometry::{Shape, Surface};
use crate::math::{Pose, Vec3, steady_tangents};
use crate::mechanism::{Anew, MAX_BLOCKS, MechanismSnapshot};
use std::sync::Arc;

/// A shape that can be asked.
#[derive(Clone, Debug)]
pub struct Felt {
    /// The shape.
    pub shape: Shape,
    /// Fast distances of a shape that is a part.
    pub field: Option<Arc<Baked>>,
    /// Where it is: on the tool, or in the world.
    pub pose: Pose,
    /// Coefficient of friction with the tool.
    pub friction: f64,
}

impl Plane {
    fn is_sound(&self) -> bool {
        (self.point_tool.abs().sum() + self.normal.abs().sum() + self.offset.abs()).is_finite()
    }
}

/// What the haptic thread can ask. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Surfaces {
    tool: Option<Arc<Felt>>,
    /// By index of the body in the scene; none for one that moves.
    bodies: Option<Arc<[Option<Felt>]>>,
}

/// A plane of contact: the point of the tool, the way out towards the tool, and where the plane is along it.
pub(super) struct Plane {
    pub(super) point_tool: Vec3,
    pub(super) normal: Vec3,
    offset: f64,
}

impl Surfaces {
    /// The tool's shape, placed on the tool, and the shapes of the bodies that stand still, placed in the world.
    #[must_use]
    #[expect(clippy::disallowed_types, reason = "made before the first tick")]
    pub fn new(tool: Felt, bodies: Vec<Option<Felt>>) -> Self {
        Self { tool: Some(Arc::new(tool)), bodies: Some(bodies.into()) }
    }

    /// The tool's shape alone.
    #[must_use]
    pub fn of_tool(tool: Felt) -> Self {
        Self { tool: Some(Arc::new(tool)), bodies: None }
    }

    pub(super) fn tool(&self) -> Option<&Felt> {
        self.tool.as_deref()
    }

    /// By index of the body in the scene.
    pub(super) fn bodies(&self) -> impl Iterator<Item = Option<&Felt>> {
        self.bodies.iter().flat_map(|bodies| bodies.iter()).map(Option::as_ref)
    }

    /// Makes the rows of every contact that can be asked for anew, with the tool at `pose`.
    pub(super) fn refresh(&self, snapshot: &mut MechanismSnapshot, pose: &Pose) {
        for index in 0..snapshot.block_count.min(MAX_BLOCKS) {
            self.refresh_one(snapshot, index, pose);
        }
    }

    /// The same for one contact; false when it could not be asked for.
    pub(super) fn refresh_one(&self, snapshot: &mut MechanismSnapshot, index: usize, pose: &Pose) -> bool {
        let Some(plane) = self.ask(&snapshot.anew[index], pose) else { return false };
        let (t1, t2) = steady_tangents(&plane.normal);
        let rows = snapshot.blocks[index].range();
        for (row, direction) in snapshot.rows[rows].iter_mut().zip([plane.normal, t1, t2]) {
            (row.direction, row.point_tool, row.offset) = (direction, plane.point_tool, plane.offset);
        }
        true
    }

    /// The plane of one contact; none where there is nothing to ask or no number comes back.
    fn ask(&self, anew: &Anew, pose: &Pose) -> Option<Plane> {
        let plane = match anew {
            // A node moves under the forces of the tick: [`Self::at_node`].
            Anew::No | Anew::OfNode { .. } => return None,
            Anew::OnBody { body, point } => {
                let Felt { shape, pose: place, .. } = self.bodies.as_ref()?.get(usize::from(*body))?.as_ref()?;
                let at = pose.translation.vector + pose.rotation * point;
                let found = shape.signed_distance(&within(place, &at));
                let normal = place.rotation * found.normal;
                Plane { point_tool: *point, normal, offset: normal.dot(&at) - found.distance }
            }
            Anew::OnTool { point } => self.on_tool(point, pose)?,
        };
        plane.is_sound().then_some(plane)
    }

    /// The plane of the tool at `pose` next to a node at the point `at` of the world.
    pub(super) fn at_node(&self, at: &Vec3, pose: &Pose) -> Option<Plane> {
        self.on_tool(at, pose).filter(Plane::is_sound)
    }

    fn on_tool(&self, point: &Vec3, pose: &Pose) -> Option<Plane> {
        let Felt { shape, pose: on_tool, .. } = self.tool()?;
        let local = within(on_tool, &within(pose, point));
        let found = shape.signed_distance(&local);
        let met = local - found.normal * found.distance;
        let normal = -(pose.rotation * (on_tool.rotation * found.normal));
        let point_tool = on_tool.rotation * met + on_tool.translation.vector;
        Some(Plane { point_tool, normal, offset: normal.dot(point) })
    }
}

/// A point in the frame of a pose.
fn within(pose: &Pose, point: &Vec3) -> Vec3 {
    pose.rotation.inverse_transform_vector(&(point - pose.translation.vector))
}
