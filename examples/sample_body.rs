//! A body made to be copied: a mattress of springs, whole, in one file.
//!
//! ```text
//! cargo run --example sample_body
//! ```
//!
//! The mattress (a Winkler foundation) is a square of nodes. Every node stands on a spring of its own, equally stiff in all directions, so that the
//! compliance between two nodes is `1/k` for a node with itself and zero otherwise. It goes from rest to rest. The example lowers a plate
//! on it and prints the force. `tests/sample_body.rs` has the checks that a body must pass: the analytic force in the simulation's step
//! and in the haptic tick.

use hapticd::geometry::{Cuboid, Shape};
use hapticd::math::{Mat3, Pose, Vec3};
use hapticd::mechanism::pmi::RigidInertia;
use hapticd::shared::ToolSample;
use hapticd::sim::{
    BodyModel, Carrier, Material, Motion, SimData, SimModel, SoftBody, SoftModel, SoftRow, SoftSkin, ToolBody, When,
    empty_snapshot, step,
};
use std::sync::Arc;

/// Nodes along a side.
const COUNT: usize = 4;

/// What does not change about a mattress.
#[derive(Clone, Debug)]
pub(crate) struct Mattress {
    /// Nodes at rest, in the frame of the body, m.
    nodes: Vec<Vec3>,
    skin: Arc<SoftSkin>,
    /// Compliance of the spring of a node, m/N.
    compliance: f64,
}

impl Mattress {
    /// A square of this side, m, about the origin, whose springs together have this stiffness, N/m.
    pub(crate) fn new(side_m: f64, stiffness: f64) -> Self {
        let at = |k: usize| side_m * (k as f64 / (COUNT - 1) as f64 - 0.5);
        let nodes: Vec<Vec3> = (0..COUNT * COUNT).map(|n| Vec3::new(at(n % COUNT), at(n / COUNT), 0.0)).collect();
        let corner = |x: usize, y: usize| (y * COUNT + x) as u32;
        let square = |n: usize| {
            let (x, y) = (n % (COUNT - 1), n / (COUNT - 1));
            let [a, b, c, d] = [corner(x, y), corner(x + 1, y), corner(x + 1, y + 1), corner(x, y + 1)];
            [[a, b, c], [a, c, d]]
        };
        let triangles: Vec<[u32; 3]> = (0..(COUNT - 1) * (COUNT - 1)).flat_map(square).collect();
        let skin = Arc::new(SoftSkin::of_triangles(&nodes, &triangles));
        Self { compliance: nodes.len() as f64 / stiffness, nodes, skin }
    }
}

impl SoftModel for Mattress {
    fn body(&self, carrier: Carrier) -> Box<dyn SoftBody> {
        let zeros = vec![Vec3::zeros(); self.nodes.len()];
        Box::new(Springs { model: self.clone(), carrier, start: zeros.clone(), now: zeros })
    }
}

/// A mattress as it is now.
struct Springs {
    model: Mattress,
    carrier: Carrier,
    /// Displacements at the start of the step, and under the last forces.
    start: Vec<Vec3>,
    now: Vec<Vec3>,
}

impl Springs {
    /// Forces on the nodes for a unit force along each row.
    fn on_nodes(&self, rows: &[SoftRow<'_>]) -> Vec<Vec<(usize, Vec3)>> {
        let parts = |row: &SoftRow<'_>| {
            let mut parts = Vec::new();
            row.on_nodes(&self.carrier, |node, force| parts.push((node as usize, force)));
            parts
        };
        rows.iter().map(parts).collect()
    }
}

impl SoftBody for Springs {
    fn carrier(&self) -> &Carrier {
        &self.carrier
    }

    fn carrier_mut(&mut self) -> &mut Carrier {
        &mut self.carrier
    }

    // There is no matrix to make.
    fn prepare(&mut self, _step_s: f64) -> bool {
        true
    }

    // H G Hᵀ with a diagonal G.
    fn compliance(&mut self, rows: &[SoftRow<'_>], out: &mut [f64]) {
        let parts = self.on_nodes(rows);
        for (i, left) in parts.iter().enumerate() {
            for (j, right) in parts.iter().enumerate() {
                let pairs = left.iter().flat_map(|a| right.iter().filter(|b| b.0 == a.0).map(|b| a.1.dot(&b.1)));
                out[i * parts.len() + j] = self.model.compliance * pairs.sum::<f64>();
            }
        }
    }

    // The forces of every pass count: contacts are detected again where the nodes have gone.
    fn apply(&mut self, rows: &[SoftRow<'_>], forces: &[f64], last: bool) -> f64 {
        if last {
            return 0.0;
        }
        let mut now = vec![Vec3::zeros(); self.now.len()];
        for (parts, force) in self.on_nodes(rows).iter().zip(forces) {
            parts.iter().for_each(|(node, part)| now[*node] += part * (*force * self.model.compliance));
        }
        let moved = now.iter().zip(&self.now).fold(0.0, |most: f64, (new, old)| most.max((new - old).norm()));
        self.now = now;
        moved
    }

    fn finish(&mut self, _step_s: f64) -> bool {
        self.start.clone_from(&self.now);
        true
    }

    fn rest(&self, node: u32) -> Vec3 {
        self.model.nodes[node as usize]
    }

    // Without forces every node is back at rest: springs have no mass.
    fn displacement(&self, node: u32, when: When) -> Vec3 {
        match when {
            When::Start => self.start[node as usize],
            When::Free => Vec3::zeros(),
            When::Now => self.now[node as usize],
        }
    }

    fn reaches(&self, _node: u32) -> bool {
        true
    }

    fn skin(&self) -> Option<&Arc<SoftSkin>> {
        Some(&self.model.skin)
    }
}

/// Half the size of the plate in the hand, m.
const PLATE: Vec3 = Vec3::new(0.03, 0.03, 0.002);

/// A mattress at the origin and a plate in the hand, whose lower side is at the height of `tool`.
pub(crate) fn scene(mattress: &Arc<Mattress>, tool: Pose, rate_hz: f64) -> SimModel {
    let plate = Shape::Cuboid(Cuboid { half: PLATE });
    SimModel {
        bodies: vec![BodyModel {
            name: "mattress".into(),
            shape: Shape::Cuboid(Cuboid { half: Vec3::repeat(1e-3) }),
            field: None,
            pose_body_shape: Pose::identity(),
            motion: Motion::Custom(mattress.clone()),
            material: 0,
            start: Pose::identity(),
        }],
        tools: vec![ToolBody {
            shape: plate,
            field: None,
            pose_tool_shape: Pose::translation(0.0, 0.0, PLATE.z),
            inertia: RigidInertia::new(0.05, Mat3::identity() * 1e-5).expect("it has a mass"),
            material: 0,
            rotation_locked: true,
            start: tool,
        }],
        materials: vec![Material { name: "cloth".into(), friction: 0.3, restitution: 0.0 }],
        ..SimModel::empty(rate_hz, 2e-3)
    }
}

/// Force of the mattress on the plate, N, when the plate is this far below the level of the springs, m.
pub(crate) fn force_at(mattress: &Arc<Mattress>, depth_m: f64) -> f64 {
    let tool = Pose::translation(0.0, 0.0, -depth_m);
    let model = scene(mattress, tool, 100.0);
    let mut data = SimData::new(&model).expect("a mattress is sound");
    let mut snapshot = empty_snapshot();
    step(&model, &mut data, &[ToolSample::at_rest(tool)], &mut [&mut *snapshot]);
    let touching = snapshot.blocks().iter().map(|block| block.first);
    touching.map(|row| snapshot.lambda[row]).sum()
}

fn main() {
    let mattress = Arc::new(Mattress::new(0.04, 500.0));
    println!("A mattress of 500 N/m under a plate.");
    for depth_mm in [0.0, 0.5, 1.0, 1.5] {
        println!("depth {depth_mm:.1} mm   force {:.3} N", force_at(&mattress, 1e-3 * depth_mm));
    }
}
