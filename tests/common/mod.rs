//! A wall and a hand, for tests of the haptic tick.

use hapticd::device::{Connection, DeviceSpec, HandSample, Limits, Mechanics, PerPart};
use hapticd::haptic::{Coupling, HapticModel, LOCAL_SOLVER, Policy, SpringDamper, Surfaces, ToolModel};
use hapticd::math::{Mapping, Mat3, Pose, Vec3};
use hapticd::mechanism::pmi::RigidInertia;
use hapticd::mechanism::{Block, BlockId, Law, MechanismSnapshot, Row, RowKind};
use hapticd::shared::{MonoNs, Stamp};

/// Stiffness of the coupling, N/m.
pub(crate) const STIFFNESS: f64 = 1000.0;
/// Its damping, N·s/m.
pub(crate) const DAMPING: f64 = 4.0;
/// Time between two mechanisms, s.
pub(crate) const STEP_S: f64 = 1.0 / 30.0;

/// A device with three degrees of freedom, 8 N, read without rounding.
pub(crate) fn device(rate_hz: f64) -> DeviceSpec {
    let part = |linear, angular| PerPart { linear, angular };
    DeviceSpec {
        model: "test".into(),
        driver: "simulated".into(),
        rotation_sensed: false,
        rotation_actuated: false,
        buttons: 0,
        rate_hz,
        limits: Limits {
            force: part(8.0, 0.2),
            slew: part(4000.0, 100.0),
            power_w: 10.0,
            reserve_j: 0.1,
            speed: part(1.0, 10.0),
            acceleration: part(150.0, 1500.0),
            stiffness: part(3000.0, 5.0),
            damping: part(20.0, 0.05),
            workspace_radius_m: 0.1,
            watchdog_s: None,
        },
        mechanics: Mechanics {
            inertia: part(0.15, 1e-4),
            damping: part(0.5, 5e-4),
            friction: part(0.1, 1e-3),
            quantum: part(0.0, 0.0),
            latency_ticks: 0,
            links: None,
        },
        connection: Connection::default(),
    }
}

/// A ball of 20 g on a spring.
pub(crate) fn model(spec: &DeviceSpec) -> HapticModel {
    HapticModel {
        limits: spec.limits,
        mechanics: spec.mechanics,
        rotation_sensed: spec.rotation_sensed,
        rotation_actuated: spec.rotation_actuated,
        rate_hz: spec.rate_hz,
        mapping: Mapping::identity(),
        clutch_button: None,
        turning: None,
        coupling: Coupling::Spring(SpringDamper::isotropic(STIFFNESS, DAMPING, 1.0, 0.01)),
        tool: ToolModel {
            inertia: RigidInertia::new(0.02, Mat3::identity() * 1e-6).expect("mass and tensor are positive"),
            start: Pose::translation(0.0, 0.0, 0.01),
        },
        policy: Policy::default(),
        solver: LOCAL_SOLVER,
        surfaces: Surfaces::default(),
    }
}

/// A rigid wall with friction, facing up at this height.
pub(crate) fn wall(sequence: u64, at: MonoNs, height_m: f64, into: &mut MechanismSnapshot) {
    into.stamp = Stamp { sequence, at };
    into.step_s = STEP_S;
    into.dropped = 0;
    (into.block_count, into.row_count) = (1, 3);
    into.blocks[0] = Block { id: BlockId::Custom(1), first: 0, law: Law::Contact { friction: 0.3, compliance: 0.0 } };
    for (row, direction) in into.rows.iter_mut().zip([Vec3::z(), Vec3::x(), Vec3::y()]) {
        let offset = direction.z * height_m;
        *row = Row { kind: RowKind::Point, direction, point_tool: Vec3::zeros(), offset, ..Row::EMPTY };
    }
}

/// A reading of the handle at this height.
pub(crate) fn reading(sequence: u64, at: MonoNs, height_m: f64) -> HandSample {
    let pose_device_handle = Pose::translation(0.0, 0.0, height_m);
    HandSample { stamp: Stamp { sequence, at }, pose_device_handle, buttons: 0, homed: true }
}
