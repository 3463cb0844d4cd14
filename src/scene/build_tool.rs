//! The tool, its coupling and what the operator does with it, on a given device.
//!
//! Thread: cold.
//!
//! A device that senses no rotation holds the tool as its base stands in the scene. The tool's frame is then that of the
//! base, and the shape is turned within it, so that the shape stands as the scene says.

use super::build::{Check, inertia_of, millimetres};
use super::make::Solid;
use super::spec::CouplingKind;
use crate::device::Limits;
use crate::device::operator::{Action, PalpationGrid, Phase};
use crate::geometry::MassProperties;
use crate::haptic::{Coupling, SpringDamper};
use crate::math::{Pose, Rot};
use crate::sim::{BodyModel, ToolBody};

/// Orientations nearer than this are the same, rad.
const SAME_RAD: f64 = 1e-6;

impl Check<'_> {
    /// The tool's body.
    pub(super) fn tool(&mut self) -> Option<ToolBody> {
        let tool = &self.spec.tool;
        let Solid { shape, field, .. } = self.held.clone()?;
        let made = shape.mass_properties(1.0).and_then(|properties| {
            // Rotation of the shape within the tool's frame.
            let turned = if self.device.rotation_sensed {
                Rot::identity()
            } else {
                self.spec.mapping.pose_world_device.rotation.inverse() * tool.pose.rotation
            };
            let matrix = turned.to_rotation_matrix();
            let inertia = matrix * properties.inertia * matrix.transpose();
            let inertia = inertia_of(&MassProperties { inertia, ..properties }, tool.mass_kg / properties.mass)?;
            let pose_tool_shape = Pose::from_parts((turned * -properties.center).into(), turned);
            Some((inertia, pose_tool_shape))
        });
        let Some((inertia, pose_tool_shape)) = made else {
            self.error("tool", "the tool is too light or too small", "make it heavier or larger; are the units right?");
            return None;
        };
        let start = tool.pose * pose_tool_shape.inverse();
        self.in_workspace("tool.pose", "the tool starts", &start);
        Some(ToolBody {
            shape,
            field,
            pose_tool_shape,
            inertia,
            material: tool.material,
            rotation_locked: !self.device.rotation_sensed && self.spec.turning.is_none(),
            start,
        })
    }

    /// The coupling, compared with what the device can hold stable.
    pub(super) fn coupling(&mut self, limits: &Limits) -> Option<Coupling> {
        let spec = self.spec.coupling;
        let mapping = &self.spec.mapping;
        let linear = mapping.force_scale * mapping.motion_scale * mapping.motion_scale;
        self.stable("stiffness", spec.stiffness * linear, limits.stiffness.linear, "N/m");
        self.stable("damping", spec.damping * linear, limits.damping.linear, "N·s/m");
        if spec.kind == CouplingKind::Direct {
            return Some(Coupling::Direct { stiffness: spec.stiffness, damping: spec.damping });
        }
        let angular = [("angular_stiffness", spec.angular_stiffness), ("angular_damping", spec.angular_damping)];
        for (key, value) in angular {
            if value.is_none() && (self.device.rotation_sensed || self.spec.turning.is_some()) {
                let because =
                    if self.device.rotation_sensed { "the device senses rotation" } else { "[turning] turns the tool" };
                let message = format!("`{key}` is missing in [coupling]: {because}");
                self.error("coupling", &message, "add it, or take a device without rotation and leave [turning] out");
                return None;
            }
        }
        let (stiffness, damping) = (spec.angular_stiffness.unwrap_or(0.0), spec.angular_damping.unwrap_or(0.0));
        if self.device.rotation_actuated {
            let force_scale = self.spec.mapping.force_scale;
            self.stable("angular_stiffness", stiffness * force_scale, limits.stiffness.angular, "N·m/rad");
            self.stable("angular_damping", damping * force_scale, limits.damping.angular, "N·m·s/rad");
        }
        let spring = SpringDamper::isotropic(spec.stiffness, spec.damping, stiffness, damping);
        Some(match spec.kind {
            CouplingKind::Transparent => Coupling::Transparent { spring, bandwidth_hz: spec.bandwidth_hz },
            _ => Coupling::Spring(spring),
        })
    }

    fn stable(&mut self, key: &str, in_hand: f64, most: f64, unit: &str) {
        // A factor of rounding: written limits are round numbers, products of scales are not.
        if in_hand > most * (1.0 + 1e-9) {
            let message = format!("`{key}` is {in_hand} {unit} in the hand; the device is stable up to {most} {unit}");
            let help = "lower it, or lower the scales in [mapping]; else the handle may buzz";
            self.warn(&format!("coupling.{key}"), &message, help);
        }
    }

    /// The operator's phases in terms of the tool's and the bodies' frames.
    pub(super) fn phases(&mut self, tool: &ToolBody, bodies: &[BodyModel], limits: &Limits) -> Vec<Phase> {
        let to_tool = tool.pose_tool_shape.inverse();
        let mut phases = self.spec.operator.phases.clone();
        for (index, phase) in phases.iter_mut().enumerate() {
            match &mut phase.action {
                Action::MoveTo { target, .. } | Action::Slide { target, .. } => {
                    *target *= to_tool;
                    let key = format!("phase.{index}.action");
                    self.in_workspace(&key, "this target lies", target);
                    if !self.device.rotation_sensed && target.rotation.angle_to(&tool.start.rotation) > SAME_RAD {
                        let message = "the orientation of this target has no effect: the device senses no rotation";
                        self.warn(&key, message, "remove `rpy`, or take a device with six degrees of freedom");
                    }
                }
                Action::Follow { body, offset } => {
                    *offset = bodies.get(*body).map_or(*offset, |body| body.pose_body_shape * *offset * to_tool);
                }
                Action::Palpate { grid, .. } => self.palpation(index, grid, &to_tool),
                Action::Press { .. }
                | Action::Search { .. }
                | Action::Turn { .. }
                | Action::Screw { .. }
                | Action::Swing { .. }
                | Action::Rest { .. } => {}
            }
            self.with_spanner(index, phase);
            self.phase_fits(index, phase, limits);
        }
        phases
    }

    /// Puts the middle of a grid into the terms of the tool's frame.
    fn palpation(&mut self, index: usize, grid: &mut PalpationGrid, to_tool: &Pose) {
        if let Some(middle) = &mut grid.middle {
            let pose = Pose::from_parts((*middle).into(), self.spec.tool.pose.rotation) * *to_tool;
            *middle = pose.translation.vector;
            self.in_workspace(&format!("phase.{index}.action"), "the middle of this grid lies", &pose);
        }
    }

    /// Warns when the handle cannot be where it puts the tool at `pose`.
    fn in_workspace(&mut self, key: &str, what: &str, pose: &Pose) {
        let reach = self.spec.mapping.pose_to_device(pose).translation.vector.norm();
        let radius = self.device.limits.workspace_radius_m;
        if reach > radius {
            let (reach, radius) = (millimetres(reach), millimetres(radius));
            let message = format!("{what} {reach} from the middle of the workspace, which has a radius of {radius}");
            self.warn(key, &message, "move it nearer, or change `motion` or `pose` in [mapping]");
        }
    }
}
