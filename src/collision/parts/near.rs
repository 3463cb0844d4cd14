//! Nodes of two parts that are near each other, and what the two are about to do.
//!
//! Thread: simulation or collision (buffers keep their room from look to look).
//!
//! All of it is written in the axes of the world about one point, the origin of body A. A node's row is `[n; x × n]`: its
//! product with the small motion of A relative to B is the change of the node's gap.

use super::super::Side;
use super::super::field::{Answers, Baked, DistanceField, Nodes};
use crate::geometry::{Part, Surface};
use crate::math::{Mat3, Mat6, Pose, Vec3, Vec6, skew};

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
    /// Fast distances, when there are such.
    pub(in super::super) field: Option<&'a Baked>,
    /// The shape in the world.
    pub(in super::super) pose: Pose,
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
    /// Least gap of all nodes looked at, m.
    pub(super) least: f64,
    buffers: [Vec<f32>; 7],
}

impl Near {
    /// Finds the nodes of either side nearer than `margin` to the other.
    pub(in super::super) fn find(&mut self, a: &Holder<'_>, b: &Holder<'_>, origin: &Vec3, margin: f64) {
        self.row.clear();
        self.gap.clear();
        self.area.clear();
        self.point.clear();
        self.normal.clear();
        self.side.clear();
        self.node.clear();
        self.least = f64::INFINITY;
        self.one_way(Side::A, a, b, origin, margin);
        self.one_way(Side::B, b, a, origin, margin);
    }

    /// Number of nodes.
    pub(in super::super) fn len(&self) -> usize {
        self.gap.len()
    }

    fn one_way(&mut self, side: Side, holder: &Holder<'_>, target: &Holder<'_>, origin: &Vec3, margin: f64) {
        let Some(part) = holder.part else { return };
        let to_target = target.pose.inv_mul(&holder.pose);
        self.ask(part, target, &to_target, margin);
        let turn = target.pose.rotation.to_rotation_matrix();
        let place = holder.pose.rotation.to_rotation_matrix();
        let away = holder.pose.translation.vector - origin;
        let sign = if side == Side::A { 1.0 } else { -1.0 };
        for (index, node) in part.nodes.iter().enumerate() {
            let gap = f64::from(self.buffers[3][index]);
            self.least = self.least.min(gap);
            if !(gap < margin) || node.area == 0.0 {
                continue;
            }
            let [gx, gy, gz] = [4, 5, 6].map(|k| f64::from(self.buffers[k][index]));
            let outward = Vec3::new(gx, gy, gz);
            let Some(outward) = outward.try_normalize(0.1) else { continue };
            let mut normal = turn * outward;
            let facing = -(place * node.normal).dot(&normal);
            // A node that looks the same way as the surface it is near is behind a thin wall, not on it.
            if facing < BEHIND {
                continue;
            }
            // In the middle of a face, next to an edge of the other side: the face says where out is.
            if facing < ALIGNED && !node.is_edge {
                normal = place * -node.normal;
            }
            let normal = normal * sign;
            let point = place * node.position + away;
            let moment = point.cross(&normal);
            self.row.push([normal.x, normal.y, normal.z, moment.x, moment.y, moment.z]);
            self.gap.push(gap);
            self.area.push(node.area);
            self.point.push(point);
            self.normal.push(normal);
            self.side.push(side);
            self.node.push(index as u32);
        }
    }

    /// Distances and gradients of all nodes, in the frame of the target, into the buffers.
    fn ask(&mut self, part: &Part, target: &Holder<'_>, to_target: &Pose, margin: f64) {
        let count = part.nodes.len();
        for buffer in &mut self.buffers {
            buffer.resize(count, 0.0);
        }
        let turn: Mat3 = *to_target.rotation.to_rotation_matrix().matrix();
        for (index, node) in part.nodes.iter().enumerate() {
            let p = turn * node.position + to_target.translation.vector;
            for k in 0..3 {
                self.buffers[k][index] = p[k] as f32;
            }
        }
        let [x, y, z, value, gx, gy, gz] = &mut self.buffers;
        if let Some(field) = target.field {
            field.query(&Nodes { x, y, z }, margin as f32, &mut Answers { value, gx, gy, gz });
            return;
        }
        let ball = target.surface.bounding_sphere();
        for index in 0..count {
            let p = Vec3::new(f64::from(x[index]), f64::from(y[index]), f64::from(z[index]));
            let bound = (p - ball.center).norm() - ball.radius;
            if bound > margin {
                value[index] = bound as f32;
                continue;
            }
            let found = target.surface.signed_distance(&p);
            value[index] = found.distance as f32;
            (gx[index], gy[index], gz[index]) = (found.normal.x as f32, found.normal.y as f32, found.normal.z as f32);
        }
    }
}

/// Cosine between a node's normal and the way into the surface below which the two cannot be facing each other.
const BEHIND: f64 = -0.3;
/// Cosine above which two faces that touch have the same normal, but for facets.
const ALIGNED: f64 = 0.966;
