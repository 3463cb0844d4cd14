//! A hand whose tool is a soft block, clamped at its top.

#![allow(dead_code, reason = "each test uses its own part")]

use crate::common::{device, model};
use crate::rates::{scene, tool};
use crate::soft_scene::block;
use hapticd::fem::{FemModel, FemSpec, Mass, Material as Solid, Ordering, Rayleigh};
use hapticd::geometry::tet::TetMesh;
use hapticd::geometry::{Cuboid, Shape};
use hapticd::haptic::HapticModel;
use hapticd::math::{Pose, Rot, Vec3};
use hapticd::sim::{
    BodyId, BodyModel, Breathing, Carried, CarriedBy, CorotationalModel, ElasticModel, HandId, Motion, SimModel,
    Stepping, Steps, ToolBody,
};
use std::sync::Arc;

/// Side and length of the block, m.
pub(crate) const SIDE: f64 = 0.02;
pub(crate) const LENGTH: f64 = 0.012;
const YOUNG_PA: f64 = 30e3;
/// Without Poisson's ratio a clamped end is no constraint across, and the block is in uniaxial stress.
const RUBBER: Solid = Solid { young_pa: YOUNG_PA, poisson: 0.0, density: 1000.0 };
/// Young's modulus times area over length, N/m.
pub(crate) const STIFFNESS: f64 = YOUNG_PA * SIDE * SIDE / LENGTH;

/// Model of the block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Linear,
    Corotational,
}

/// A hand whose tool, a block that hangs below it, has its lower end this far below `start`.
pub(crate) fn hand(start: Vec3) -> HapticModel {
    let mut haptic = model(&device(1000.0));
    haptic.tool.start = Pose::translation(start.x, start.y, start.z);
    haptic
}

fn motion(kind: Kind) -> Motion {
    let mesh: TetMesh = block(Vec3::new(SIDE, SIDE, LENGTH), [1, 1, 1]);
    let top = 0.5 * LENGTH - 1e-9;
    let fixed: Vec<u32> = (0..).zip(mesh.nodes()).filter(|(_, p)| p.z > top).map(|(node, _)| node).collect();
    let spec = FemSpec {
        mesh: &mesh,
        materials: &[RUBBER],
        damping: Rayleigh::default(),
        fixed: &fixed,
        mass: Mass::Consistent,
        ordering: Ordering::LeastFill,
    };
    let fem = Arc::new(FemModel::new(&spec).expect("it is sound"));
    match kind {
        Kind::Corotational => {
            Motion::Corotational(Arc::new(CorotationalModel::new(fem, &mesh, Vec3::zeros(), Steps::QuasiStatic)))
        }
        Kind::Linear => {
            let touching: Vec<u32> = mesh.skin().nodes.into_iter().filter(|node| !fixed.contains(node)).collect();
            let model = ElasticModel::new(fem, &mesh, &touching, Vec3::zeros(), Stepping::Static);
            Motion::Elastic(Arc::new(model.expect("it is held")))
        }
    }
}

/// A scene in which the tool of `haptic` is the block, its upper end at the tool's origin, after the other bodies.
pub(crate) fn finger(
    kind: Kind,
    haptic: &HapticModel,
    bodies: Vec<BodyModel>,
    rate_hz: f64,
    friction: f64,
) -> SimModel {
    let shape = Shape::Cuboid(Cuboid { half: Vec3::new(0.5 * SIDE, 0.5 * SIDE, 0.5 * LENGTH) });
    let pose_tool_body = Pose::translation(0.0, 0.0, -0.5 * LENGTH);
    let mut model = scene(rate_hz, bodies, vec![tool(haptic, shape.clone())], friction);
    let body = BodyModel {
        name: "tool".into(),
        shape,
        field: None,
        pose_body_shape: Pose::identity(),
        motion: motion(kind),
        material: 0,
        start: haptic.tool.start * pose_tool_body,
    };
    let by = CarriedBy::Tool { hand: HandId(0), pose_tool_body, is_whole: true };
    model.carried.push(Carried { body: BodyId(model.bodies.len()), by });
    model.bodies.push(body);
    model.margin_m = 2e-3;
    model
}

/// The block upside down on a support, held at its lower end, below a rigid tool that lies on it.
pub(crate) fn breather(haptic: &HapticModel, breathing: Breathing, rate_hz: f64) -> SimModel {
    let half = Vec3::new(SIDE, SIDE, 1e-3);
    let lying = ToolBody {
        pose_tool_shape: Pose::translation(0.0, 0.0, half.z),
        ..tool(haptic, Shape::Cuboid(Cuboid { half }))
    };
    let mut model = scene(rate_hz, Vec::new(), vec![lying], 0.5);
    let turned = Rot::from_axis_angle(&Vec3::x_axis(), std::f64::consts::PI);
    model.bodies.push(BodyModel {
        name: "block".into(),
        shape: Shape::Cuboid(Cuboid { half: Vec3::new(0.5 * SIDE, 0.5 * SIDE, 0.5 * LENGTH) }),
        field: None,
        pose_body_shape: Pose::identity(),
        motion: motion(Kind::Linear),
        material: 0,
        start: Pose::from_parts(Vec3::new(0.0, 0.0, 0.5 * LENGTH).into(), turned),
    });
    model.carried.push(Carried { body: BodyId(0), by: CarriedBy::Support(breathing) });
    model.margin_m = 2e-3;
    model
}
