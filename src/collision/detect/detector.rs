//! The nodes of one part in the field of another, at a pose.
//!
//! Thread: simulation or collision (no heap after making); made cold.

use super::NodeSet;
use super::nodes::CLUSTER;
use crate::collision::field::lanes::{Kernel, LANES, dispatch, fused};
use crate::collision::field::{Answers, DistanceField, Floor, Nodes};
use crate::math::{Pose, pose_is_sound};
use nalgebra::Point3;
use std::sync::Arc;

/// What rounding may do to a distance, m: a bound counts as beyond the margin only when it is by more.
const ROUNDING: f64 = 1e-7;

/// A node that is nearer than the margin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// Which, in the order of the [`NodeSet`].
    pub node: u32,
    /// Signed distance, m; negative in the material.
    pub distance: f32,
    /// Gradient of the distance in the frame of the field: about the outward unit normal of its surface.
    pub normal: [f32; 3],
}

/// All nodes that are nearer than the margin, in the order of the [`NodeSet`].
#[derive(Clone, Debug, Default)]
pub struct Found {
    touches: Vec<Touch>,
}

impl Found {
    /// Room for all nodes of a set, so that nothing found needs the heap.
    #[must_use]
    pub fn for_nodes(nodes: &NodeSet) -> Self {
        Self { touches: Vec::with_capacity(nodes.len()) }
    }

    /// What was found.
    #[must_use]
    pub fn touches(&self) -> &[Touch] {
        &self.touches
    }

    /// The deepest of all, if there is any.
    #[must_use]
    pub fn deepest(&self) -> Option<&Touch> {
        self.touches.iter().min_by(|a, b| a.distance.total_cmp(&b.distance))
    }

    /// Empties it and gives it room for `count`.
    pub(in crate::collision) fn begin(&mut self, count: usize) {
        self.touches.clear();
        self.touches.reserve(count);
    }

    pub(in crate::collision) fn push(&mut self, touch: Touch) {
        self.touches.push(touch);
    }
}

/// Nodes that may be near, moved into the frame of the field.
struct Moved {
    count: usize,
    node: Vec<u32>,
    columns: [Vec<f32>; 3],
    answers: [Vec<f32>; 4],
}

impl Moved {
    #[inline(always)]
    fn push(&mut self, node: u32, p: [f32; 3]) {
        let k = self.count;
        self.node[k] = node;
        for i in 0..3 {
            self.columns[i][k] = p[i];
        }
        self.count = k + 1;
    }
}

/// Finds the nodes of a part that are near another.
pub struct Detector {
    nodes: Arc<NodeSet>,
    field: Arc<dyn DistanceField>,
    floor: Option<Floor>,
    margin: f64,
    moved: Moved,
}

impl Detector {
    /// For the nodes of one part in the field of another. Cold: takes memory, and some time to make bounds.
    #[must_use]
    pub fn new(nodes: Arc<NodeSet>, field: Arc<dyn DistanceField>, margin: f64) -> Self {
        let n = nodes.len();
        let column = || vec![0.0; n];
        let moved = Moved {
            count: 0,
            node: vec![0; n],
            columns: [column(), column(), column()],
            answers: [column(), column(), column(), column()],
        };
        Self { floor: field.floor(), nodes, field, margin, moved }
    }

    /// The nodes.
    #[must_use]
    pub fn nodes(&self) -> &Arc<NodeSet> {
        &self.nodes
    }

    /// The field.
    #[must_use]
    pub fn field(&self) -> &Arc<dyn DistanceField> {
        &self.field
    }

    /// Distance below which a node is found, m.
    #[must_use]
    pub fn margin(&self) -> f64 {
        self.margin
    }

    /// Finds all nodes nearer than the margin, when `pose_field_nodes` places their part in the frame of the field. At
    /// a pose that is none (not finite) there are none.
    pub fn detect(&mut self, pose_field_nodes: &Pose, out: &mut Found) {
        out.begin(self.nodes.len());
        if !pose_is_sound(pose_field_nodes) {
            return;
        }
        let transform = Transform::new(pose_field_nodes);
        let limit = (self.margin + ROUNDING) as f32;
        self.moved.count = 0;
        match &self.floor {
            Some(floor) => dispatch(Sieve { nodes: &self.nodes, floor, transform, limit, out: &mut self.moved }),
            None => self.place(pose_field_nodes, transform),
        }
        self.ask(out);
    }

    /// Moves the nodes of all clusters whose balls are nearer than the margin.
    fn place(&mut self, pose: &Pose, transform: Transform) {
        let (at, clusters) = (self.nodes.positions(), self.nodes.clusters());
        let centers = clusters.centers();
        for (k, radius) in clusters.radii.iter().enumerate() {
            let center = Point3::new(centers.x[k], centers.y[k], centers.z[k]).cast();
            if self.field.ball(&(pose * center).coords, f64::from(*radius)) > self.margin + ROUNDING {
                continue;
            }
            for node in k * CLUSTER..((k + 1) * CLUSTER).min(at.len()) {
                self.moved.push(node as u32, transform.point([at.x[node], at.y[node], at.z[node]]));
            }
        }
    }

    /// Asks the field for what is left.
    fn ask(&mut self, out: &mut Found) {
        let moved = &mut self.moved;
        let n = moved.count;
        let [x, y, z] = &moved.columns;
        let [value, gx, gy, gz] = &mut moved.answers;
        let margin = self.margin as f32;
        let nodes = Nodes { x: &x[..n], y: &y[..n], z: &z[..n] };
        self.field.query(&nodes, margin, &mut Answers { value, gx, gy, gz });
        for k in 0..n {
            if value[k] < margin {
                out.push(Touch { node: moved.node[k], distance: value[k], normal: [gx[k], gy[k], gz[k]] });
            }
        }
    }
}

/// A pose in single precision: rows of the rotation, each with its shift.
#[derive(Clone, Copy)]
struct Transform([[f32; 4]; 3]);

impl Transform {
    fn new(pose: &Pose) -> Self {
        let (rotation, shift) = (pose.rotation.to_rotation_matrix(), pose.translation.vector);
        let row = |i: usize| [rotation[(i, 0)], rotation[(i, 1)], rotation[(i, 2)], shift[i]].map(|x| x as f32);
        Self([row(0), row(1), row(2)])
    }

    fn point(&self, p: [f32; 3]) -> [f32; 3] {
        let mut rows = [[0.0; LANES]; 3];
        for i in 0..3 {
            rows[i][0] = p[i];
        }
        self.points::<false>(&rows).map(|row| row[0])
    }

    #[inline(always)]
    fn points<const FUSED: bool>(&self, p: &[[f32; LANES]; 3]) -> [[f32; LANES]; 3] {
        let mut moved = [[0.0; LANES]; 3];
        for i in 0..3 {
            let row = self.0[i];
            for lane in 0..LANES {
                let sum = fused::<FUSED>(row[2], p[2][lane], row[3]);
                moved[i][lane] = fused::<FUSED>(row[0], p[0][lane], fused::<FUSED>(row[1], p[1][lane], sum));
            }
        }
        moved
    }
}

/// Moves what may be near: clusters by their balls, then nodes by their bounds.
struct Sieve<'a> {
    nodes: &'a NodeSet,
    floor: &'a Floor,
    transform: Transform,
    limit: f32,
    out: &'a mut Moved,
}

impl Sieve<'_> {
    #[inline(always)]
    fn cluster<const FUSED: bool>(&mut self, cluster: usize) {
        let at = self.nodes.positions();
        let last = ((cluster + 1) * CLUSTER).min(at.len());
        for first in (cluster * CLUSTER..last).step_by(LANES) {
            let count = LANES.min(last - first);
            let p = self.transform.points::<FUSED>(&at.lanes(first, count));
            let bound = self.floor.below::<FUSED>(&p);
            let mut any = false;
            for lane in 0..LANES {
                any |= bound[lane] <= self.limit;
            }
            if !any {
                continue;
            }
            for lane in 0..count {
                if bound[lane] <= self.limit {
                    self.out.push((first + lane) as u32, [p[0][lane], p[1][lane], p[2][lane]]);
                }
            }
        }
    }
}

impl Kernel for Sieve<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(mut self) {
        let nodes = self.nodes;
        let (centers, radii) = (nodes.clusters().centers(), &nodes.clusters().radii);
        for first in (0..radii.len()).step_by(LANES) {
            let count = LANES.min(radii.len() - first);
            let p = self.transform.points::<FUSED>(&centers.lanes(first, count));
            let mut radius = [0.0; LANES];
            radius[..count].copy_from_slice(&radii[first..first + count]);
            let bound = self.floor.below_balls::<FUSED>(&p, &radius);
            for lane in 0..count {
                if bound[lane] <= self.limit {
                    self.cluster::<FUSED>(first + lane);
                }
            }
        }
    }
}
