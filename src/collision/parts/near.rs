//! Nodes of two parts that are near each other, and what the two are about to do.
//!
//! Thread: simulation or collision (buffers keep their room from look to look).
//!
//! All of it is written in the axes of the world about one point, the origin of body A. A node's row is `[n; x × n]`: its
//! product with the small motion of A relative to B is the change of the node's gap.

use super::super::Side;
use super::super::detect::{AnyDetector, Event, Found, NodeSet, SurfaceNode, Wish};
use super::super::field::Baked;
use super::super::gpu::{Gpu, GpuError};
use crate::geometry::{Part, PartNode, Surface};
use crate::math::{Mat3, Mat6, Pose, Vec3, Vec6, skew};
use std::sync::Arc;
use std::time::Duration;

/// What a body is about to do, so that the contacts it will need can be told from those it will not.
#[derive(Clone, Copy, Debug)]
pub struct Outlook {
    /// Displacement over the coming step without normal forces of contact: linear in the world, angular in the body.
    pub motion: Vec6,
    /// Displacement over that step per wrench; zero for what does not yield.
    pub yielding: Mat6,
}

impl Outlook {
    /// A body that stays where it is, whatever pushes it.
    pub const FIXED: Self = Self {
        motion: Vec6::new(0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        yielding: Mat6::from_array_storage(nalgebra::ArrayStorage([[0.0; 6]; 6])),
    };
}

/// How A moves relative to B.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Way {
    /// Free displacement.
    pub(super) free: Vec6,
    /// Displacement per wrench.
    pub(super) yielding: Mat6,
}

impl Way {
    /// Of A relative to B, about the origin of A.
    pub(in super::super) fn of(a: (&Pose, &Outlook), b: (&Pose, &Outlook)) -> Self {
        let frame = |pose: &Pose, arm: &Vec3| {
            let turn = *pose.rotation.to_rotation_matrix().matrix();
            let mut frame = Mat6::identity();
            frame.fixed_view_mut::<3, 3>(0, 3).copy_from(&(-skew(arm) * turn));
            frame.fixed_view_mut::<3, 3>(3, 3).copy_from(&turn);
            frame
        };
        let frame_a = frame(a.0, &Vec3::zeros());
        let frame_b = frame(b.0, &(a.0.translation.vector - b.0.translation.vector));
        Self {
            free: frame_a * a.1.motion - frame_b * b.1.motion,
            yielding: frame_a * a.1.yielding * frame_a.transpose() + frame_b * b.1.yielding * frame_b.transpose(),
        }
    }
}

/// One side of a pair where it is now.
#[derive(Clone, Copy)]
pub(in super::super) struct Holder<'a> {
    /// Its part, when it is one.
    pub(in super::super) part: Option<&'a Part>,
    /// Exact distances.
    pub(in super::super) surface: &'a dyn Surface,
    /// The shape in the world.
    pub(in super::super) pose: Pose,
}

/// Time that a graphics processor may take for an answer: a long step. Then the CPU answers.
const PATIENCE: Duration = Duration::from_millis(10);

/// How the nodes of one side are found in the field of the other.
pub(in super::super) struct Eyes {
    detector: AnyDetector,
    found: Found,
}

impl Eyes {
    /// For the nodes of `part` in `field`. Cold. What is worth knowing comes with it.
    pub(in super::super) fn new(
        part: &Part,
        field: &Arc<Baked>,
        margin: f64,
        wish: Wish,
        gpu: &Result<Arc<Gpu>, GpuError>,
    ) -> (Self, Option<Event>) {
        let node = |n: &PartNode| SurfaceNode { position: n.position, normal: n.normal, area: n.area };
        let nodes = Arc::new(NodeSet::new(&part.nodes.iter().map(node).collect::<Vec<_>>()));
        // Where both share a frame they are as near as they get, or nearly.
        let probes = [Pose::identity()];
        let (detector, event) = AnyDetector::new(&nodes, field, margin, wish, gpu, &probes, PATIENCE);
        (Self { detector, found: Found::for_nodes(&nodes) }, event)
    }
}

/// See the file's head. The arrays are of equal length.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Near {
    pub(super) row: Vec<[f64; 6]>,
    pub(super) gap: Vec<f64>,
    pub(super) area: Vec<f64>,
    /// From the origin, in the axes of the world.
    pub(super) point: Vec<Vec3>,
    /// From B towards A.
    pub(super) normal: Vec<Vec3>,
    /// The side that brought the node.
    pub(super) side: Vec<Side>,
    pub(super) node: Vec<u32>,
}

impl Near {
    /// Finds the nodes of either side nearer than `margin` to the other; an event when a graphics processor failed.
    pub(in super::super) fn find(
        &mut self,
        [a, b]: [&Holder<'_>; 2],
        eyes: &mut [Option<Eyes>; 2],
        origin: &Vec3,
        margin: f64,
    ) -> Option<Event> {
        self.clear();
        let [eyes_a, eyes_b] = eyes;
        let first = self.one_way(Side::A, a, b, eyes_a.as_mut(), (origin, margin));
        self.one_way(Side::B, b, a, eyes_b.as_mut(), (origin, margin)).or(first)
    }

    /// Finds, by the exact surfaces, nodes of either side farther than `from` and nearer than `to`: at most about [`SCANNED`] of each
    /// side are asked, evenly.
    pub(in super::super) fn scan(&mut self, [a, b]: [&Holder<'_>; 2], origin: &Vec3, (from, to): (f64, f64)) {
        self.clear();
        if from < to {
            self.scan_one_way(Side::A, a, b, origin, (from, to));
            self.scan_one_way(Side::B, b, a, origin, (from, to));
        }
    }

    fn clear(&mut self) {
        self.row.clear();
        self.gap.clear();
        self.area.clear();
        self.point.clear();
        self.normal.clear();
        self.side.clear();
        self.node.clear();
    }

    fn scan_one_way(
        &mut self,
        side: Side,
        holder: &Holder<'_>,
        target: &Holder<'_>,
        origin: &Vec3,
        (from, to): (f64, f64),
    ) {
        let Some(part) = holder.part else { return };
        let to_target = target.pose.inv_mul(&holder.pose);
        let place = Place::new(side, holder, target, origin);
        let ball = target.surface.bounding_sphere();
        let stride = part.nodes.len().div_ceil(SCANNED).max(1);
        for (index, node) in part.nodes.iter().enumerate().step_by(stride) {
            let p = to_target.rotation * node.position + to_target.translation.vector;
            if (p - ball.center).norm() - ball.radius < to {
                let met = target.surface.signed_distance(&p);
                if (from..to).contains(&met.distance) {
                    self.add(&place, index as u32, node, met.distance, &met.normal);
                }
            }
        }
    }

    /// Number of nodes.
    pub(in super::super) fn len(&self) -> usize {
        self.gap.len()
    }

    fn one_way(
        &mut self,
        side: Side,
        holder: &Holder<'_>,
        target: &Holder<'_>,
        eyes: Option<&mut Eyes>,
        (origin, margin): (&Vec3, f64),
    ) -> Option<Event> {
        let part = holder.part?;
        let to_target = target.pose.inv_mul(&holder.pose);
        let place = Place::new(side, holder, target, origin);
        let Some(Eyes { detector, found }) = eyes else {
            let ball = target.surface.bounding_sphere();
            for (index, node) in part.nodes.iter().enumerate() {
                let p = to_target.rotation * node.position + to_target.translation.vector;
                if (p - ball.center).norm() - ball.radius < margin {
                    let met = target.surface.signed_distance(&p);
                    if met.distance < margin {
                        self.add(&place, index as u32, node, met.distance, &met.normal);
                    }
                }
            }
            return None;
        };
        let event = detector.detect(&to_target, found);
        let sources = detector.nodes().sources();
        for touch in found.touches() {
            let index = sources[touch.node as usize];
            let outward = Vec3::from(touch.normal.map(f64::from));
            if let Some(outward) = outward.try_normalize(0.1) {
                self.add(&place, index, &part.nodes[index as usize], f64::from(touch.distance), &outward);
            }
        }
        event
    }

    /// Adds a node with its distance and the outward normal there, in the frame of the target.
    fn add(&mut self, place: &Place, index: u32, node: &PartNode, gap: f64, outward: &Vec3) {
        let mut normal = place.turn * outward;
        let own = place.own * node.normal;
        let facing = -own.dot(&normal);
        // A node that looks the same way as the surface it is near is behind a thin wall, not on it.
        if facing < BEHIND || node.area == 0.0 {
            return;
        }
        // In the middle of a face, next to an edge of the other side: the face says where out is.
        if facing < ALIGNED && !node.is_edge {
            normal = -own;
        }
        let normal = if place.side == Side::A { normal } else { -normal };
        let point = place.own * node.position + place.away;
        let moment = point.cross(&normal);
        self.row.push([normal.x, normal.y, normal.z, moment.x, moment.y, moment.z]);
        self.gap.push(gap);
        self.area.push(node.area);
        self.point.push(point);
        self.normal.push(normal);
        self.side.push(place.side);
        self.node.push(index);
    }
}

/// Where one side's nodes are.
struct Place {
    side: Side,
    /// From the target's frame to the world's axes.
    turn: Mat3,
    /// From the part's frame to the world's axes.
    own: Mat3,
    /// The part's origin from that of the look.
    away: Vec3,
}

impl Place {
    fn new(side: Side, holder: &Holder<'_>, target: &Holder<'_>, origin: &Vec3) -> Self {
        Self {
            side,
            turn: *target.pose.rotation.to_rotation_matrix().matrix(),
            own: *holder.pose.rotation.to_rotation_matrix().matrix(),
            away: holder.pose.translation.vector - origin,
        }
    }
}

/// Nodes of one side that are asked when it is looked farther than the fast distances reach, about.
const SCANNED: usize = 1500;
/// Cosine between a node's normal and the way into the surface below which the two cannot be facing each other.
const BEHIND: f64 = -0.3;
/// Cosine above which two faces that touch have the same normal, but for facets.
const ALIGNED: f64 = 0.966;
