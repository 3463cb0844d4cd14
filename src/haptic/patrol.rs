//! Looks for what has come through unseen: nodes of parts in each other that no contact of the mechanism stands for.
//!
//! Thread: haptic (RT: memory is set aside when it is made; the work of a tick is bounded by the number of nodes).
//!
//! The simulation chooses contacts for what it foresees. Between two of its steps, and longer when it is late, a hand can
//! do what it did not foresee. So at every tick all nodes of one side are looked up in the other side's field, the sides taking turns.
//! Bounds sort out nearly all of them (`collision::detect`); what is left becomes contacts of the local mechanism until the next one comes.

use super::surfaces::{Felt, Surfaces};
use crate::collision::detect::{Detector, Found, NodeSet, SurfaceNode};
use crate::collision::field::{DistanceField, Exact};
use crate::geometry::{PartNode, Shape};
use crate::math::{Pose, Vec3};
use crate::mechanism::{Anew, BlockId};
use std::sync::Arc;

/// Depth, m, from which a node counts as come through: more than the fields are off.
const THROUGH: f64 = 3e-5;
/// Most that one look gives.
pub(super) const AT_ONCE: usize = 4;
/// How far from each other they are, m.
const SPREAD: f64 = 2e-3;
/// Cosine between a node's normal and the way into the surface below which the two cannot be facing each other.
const BEHIND: f64 = -0.3;

/// A node that has come through.
#[derive(Clone, Copy, Debug)]
pub(super) struct Intruder {
    /// Names it from look to look.
    pub(super) id: BlockId,
    /// How to ask for it.
    pub(super) anew: Anew,
    /// Friction there.
    pub(super) friction: f64,
}

impl Intruder {
    /// True for the name of one.
    pub(super) fn is_named(id: BlockId) -> bool {
        matches!(id, BlockId::Intruder { .. })
    }
}

/// Nodes of one side in the field of the other.
struct Beat {
    detector: Detector,
    found: Found,
    body: u8,
    /// The nodes are the tool's.
    of_tool: bool,
    friction: f64,
    /// The tool's shape on the tool, the body's in the world.
    on_tool: Pose,
    in_world: Pose,
}

/// See the file's head.
#[derive(Default)]
#[expect(clippy::disallowed_types, reason = "filled when it is made, never after")]
pub(super) struct Patrol {
    beats: Vec<Beat>,
    next: usize,
}

impl Patrol {
    /// For every pair of the tool and a body that stands still, of which one is a part. Cold.
    pub(super) fn new(surfaces: &Surfaces) -> Self {
        let mut patrol = Self::default();
        let Some(tool) = surfaces.tool() else { return patrol };
        for (index, body) in surfaces.bodies().enumerate() {
            let Some(body) = body else { continue };
            for (of_tool, nodes, field) in [(true, tool, body), (false, body, tool)] {
                let Some(detector) = detector(nodes, field) else { continue };
                patrol.beats.push(Beat {
                    found: Found::for_nodes(detector.nodes()),
                    detector,
                    body: index as u8,
                    of_tool,
                    friction: body.friction,
                    on_tool: tool.pose,
                    in_world: body.pose,
                });
            }
        }
        patrol
    }

    /// One side's nodes that are deeper than `depth`, and than they may be at all, with the tool at `pose`: the deepest first, spread out.
    pub(super) fn look(&mut self, pose: &Pose, depth: f64) -> [Option<Intruder>; AT_ONCE] {
        let mut caught = [None; AT_ONCE];
        let count = self.beats.len();
        let Some(beat) = self.beats.get_mut(self.next) else { return caught };
        self.next = (self.next + 1) % count;
        let tool = pose * beat.on_tool;
        let (own, other) = if beat.of_tool { (tool, beat.in_world) } else { (beat.in_world, tool) };
        beat.detector.detect(&other.inv_mul(&own), &mut beat.found);
        let mut places = [Vec3::zeros(); AT_ONCE];
        for count in 0..AT_ONCE {
            let mut deepest: Option<(f64, usize, Vec3)> = None;
            for touch in beat.found.touches() {
                let node = &beat.detector.nodes().nodes()[touch.node as usize];
                let (gap, outward) = (f64::from(touch.distance), Vec3::from(touch.normal.map(f64::from)));
                let facing = -(own.rotation * node.normal).dot(&(other.rotation * outward));
                let apart = places[..count].iter().all(|place| (place - node.position).norm() > SPREAD);
                if -gap > depth && facing >= BEHIND && apart && deepest.is_none_or(|(least, ..)| gap < least) {
                    deepest = Some((gap, touch.node as usize, node.position));
                }
            }
            let Some((_, node, position)) = deepest else { break };
            places[count] = position;
            caught[count] = Some(beat.intruder(node, &position));
        }
        caught
    }
}

impl Beat {
    fn intruder(&self, node: usize, position: &Vec3) -> Intruder {
        let placed = |pose: &Pose| pose.rotation * position + pose.translation.vector;
        let anew = if self.of_tool {
            Anew::OnBody { body: self.body, point: placed(&self.on_tool) }
        } else {
            Anew::OnTool { point: placed(&self.in_world) }
        };
        let id = BlockId::Intruder { body: self.body.into(), of_tool: self.of_tool, node: node as u32 };
        Intruder { id, anew, friction: self.friction }
    }
}

/// For the nodes of one in the field of the other; none where there are no nodes.
#[expect(clippy::disallowed_types, reason = "made before the first tick")]
fn detector(nodes: &Felt, field: &Felt) -> Option<Detector> {
    let Shape::Part(part) = &nodes.shape else { return None };
    let node = |n: &PartNode| SurfaceNode { position: n.position, normal: n.normal, area: n.area };
    let set = Arc::new(NodeSet::new(&part.nodes.iter().map(node).collect::<Vec<_>>()));
    let field: Arc<dyn DistanceField> = match &field.field {
        Some(field) => Arc::clone(field) as Arc<dyn DistanceField>,
        None => Arc::new(Exact::new(field.shape.clone())),
    };
    Some(Detector::new(set, field, -THROUGH))
}
