//! A beam clamped at its hub, which a tool carries: a needle.
//!
//! Thread: simulation.

use super::super::ids::HandId;
use super::{Anchor, SoftRow};
use crate::fem::{BeamBody, BeamError, BeamRow, BeamSpec};
use crate::math::{Pose, Vec3};

/// See the file's head.
pub struct Beam {
    body: BeamBody,
    /// Which tool carries it.
    pub(in crate::sim) hand: HandId,
    /// The hub in the frame of the tool.
    pose_tool_hub: Pose,
    /// Takes a point from where the hub has carried it back to its place at the start of the step.
    carried: Pose,
    rows: Vec<BeamRow>,
}

impl Beam {
    /// A straight beam carried by the tool of `hand` at `tool`.
    ///
    /// # Errors
    /// When the beam has no valid dimensions.
    pub(in crate::sim) fn new(
        spec: BeamSpec,
        hand: HandId,
        pose_tool_hub: Pose,
        tool: &Pose,
    ) -> Result<Self, BeamError> {
        let body = BeamBody::new(spec, &(tool * pose_tool_hub))?;
        Ok(Self { body, hand, pose_tool_hub, carried: Pose::identity(), rows: Vec::new() })
    }

    /// The beam itself.
    #[must_use]
    pub fn body(&self) -> &BeamBody {
        &self.body
    }

    /// Moves the hub with the tool.
    pub(in crate::sim) fn carry(&mut self, tool: &Pose) {
        let hub = tool * self.pose_tool_hub;
        self.carried = *self.body.hub() * hub.inverse();
        self.body.move_hub(&hub);
    }

    pub(super) fn carrier(&self) -> &Pose {
        self.body.hub()
    }

    pub(super) fn prepare(&mut self, _step_s: f64) -> bool {
        self.body.prepare();
        true
    }

    fn collect(&mut self, rows: &[SoftRow<'_>]) {
        self.rows.clear();
        let row = |row: &SoftRow<'_>| BeamRow { at_m: row.anchor.along(), direction: row.direction };
        self.rows.extend(rows.iter().map(row));
    }

    pub(super) fn compliance(&mut self, rows: &[SoftRow<'_>], out: &mut [f64]) {
        self.collect(rows);
        self.body.compliance(&self.rows, out);
    }

    pub(super) fn apply(&mut self, rows: &[SoftRow<'_>], forces: &[f64]) -> f64 {
        self.collect(rows);
        self.body.apply(&self.rows, forces);
        0.0
    }

    pub(super) fn finish(&mut self, _step_s: f64) -> bool {
        self.body.finish();
        true
    }

    pub(super) fn start_place(&self, anchor: &Anchor, _row: usize) -> Vec3 {
        (self.carried * nalgebra::Point3::from(self.body.point(anchor.along()))).coords
    }

    pub(super) fn free_place(&self, anchor: &Anchor, _row: usize) -> Vec3 {
        self.body.free_point(anchor.along())
    }

    pub(super) fn place(&self, anchor: &Anchor, _row: usize) -> Vec3 {
        self.body.point(anchor.along())
    }
}
