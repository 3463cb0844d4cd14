//! The nodes of one part in the field of another, at a pose.
//!
//! Thread: simulation or collision (no heap after making); made cold.

use super::NodeSet;
use crate::collision::field::lanes::{Kernel, dispatch, fused};
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
    pub(super) fn begin(&mut self, count: usize) {
        self.touches.clear();
        self.touches.reserve(count);
    }

    pub(super) fn push(&mut self, touch: Touch) {
        self.touches.push(touch);
    }
}

/// Nodes on their way through the phases: moved, thinned, asked.
struct Moved {
    count: usize,
    node: Vec<u32>,
    columns: [Vec<f32>; 3],
    bound: Vec<f32>,
    answers: [Vec<f32>; 4],
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
            bound: column(),
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

    /// Finds all nodes nearer than the margin, when `pose_field_nodes` places their part in the frame of the field. At a
    /// pose that is none (not finite) there are none.
    pub fn detect(&mut self, pose_field_nodes: &Pose, out: &mut Found) {
        out.begin(self.nodes.len());
        if !pose_is_sound(pose_field_nodes) {
            return;
        }
        self.place(pose_field_nodes);
        self.thin();
        self.ask(out);
    }

    /// Moves the nodes of all clusters that may be near into the frame of the field.
    fn place(&mut self, pose: &Pose) {
        let transform = Transform::new(pose);
        let moved = &mut self.moved;
        moved.count = 0;
        for cluster in self.nodes.clusters() {
            let center = (pose * Point3::from(cluster.center)).coords;
            if self.field.ball(&center, cluster.radius) > self.margin + ROUNDING {
                continue;
            }
            let (from, to) = (cluster.first..cluster.first + cluster.count, moved.count..moved.count + cluster.count);
            for (to, from) in moved.node[to.clone()].iter_mut().zip(from.clone()) {
                *to = from as u32;
            }
            let at = self.nodes.positions();
            let [x, y, z] = &mut moved.columns;
            let from = Nodes { x: &at.x[from.clone()], y: &at.y[from.clone()], z: &at.z[from] };
            let to = [&mut x[to.clone()], &mut y[to.clone()], &mut z[to]];
            dispatch(Move { transform: &transform, from, to });
            moved.count += cluster.count;
        }
    }

    /// Leaves out nodes whose bound is beyond the margin.
    fn thin(&mut self) {
        let Some(floor) = &self.floor else { return };
        let moved = &mut self.moved;
        let n = moved.count;
        let [x, y, z] = &mut moved.columns;
        floor.query(&Nodes { x: &x[..n], y: &y[..n], z: &z[..n] }, &mut moved.bound[..n]);
        let limit = (self.margin + ROUNDING) as f32;
        let mut kept = 0;
        for k in 0..n {
            // Written without a branch: which nodes stay is hard to guess. Nothing is read after it was written over.
            moved.node[kept] = moved.node[k];
            (x[kept], y[kept], z[kept]) = (x[k], y[k], z[k]);
            kept += usize::from(moved.bound[k] <= limit);
        }
        moved.count = kept;
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
struct Transform([[f32; 4]; 3]);

impl Transform {
    fn new(pose: &Pose) -> Self {
        let (rotation, shift) = (pose.rotation.to_rotation_matrix(), pose.translation.vector);
        let row = |i: usize| [rotation[(i, 0)], rotation[(i, 1)], rotation[(i, 2)], shift[i]].map(|x| x as f32);
        Self([row(0), row(1), row(2)])
    }
}

struct Move<'a> {
    transform: &'a Transform,
    from: Nodes<'a>,
    to: [&'a mut [f32]; 3],
}

impl Kernel for Move<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Nodes { x, y, z } = self.from;
        for (row, to) in self.transform.0.iter().zip(self.to) {
            for (((to, x), y), z) in to.iter_mut().zip(x).zip(y).zip(z) {
                let sum = fused::<FUSED>(row[2], *z, row[3]);
                *to = fused::<FUSED>(row[0], *x, fused::<FUSED>(row[1], *y, sum));
            }
        }
    }
}
