//! A beam clamped at its hub, which a tool carries: a needle.
//!
//! Thread: simulation.

use super::super::ids::HandId;
use super::carrier::{CarriedBy, Carrier};
use super::{Anchor, SoftRow};
use crate::fem::{BeamBody, BeamError, BeamRow, BeamSpec};
use crate::math::{Pose, Vec3};

/// See the file's head.
pub struct Beam {
    body: BeamBody,
    /// Frame of the hub.
    pub(super) carrier: Carrier,
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
        let hub = tool * pose_tool_hub;
        let by = CarriedBy::Tool { hand, pose_tool_body: pose_tool_hub, is_whole: false };
        Ok(Self { body: BeamBody::new(spec, &hub)?, carrier: Carrier::new(Some(by), hub), rows: Vec::new() })
    }

    /// The beam itself.
    #[must_use]
    pub fn body(&self) -> &BeamBody {
        &self.body
    }

    /// Moves the hub with the carrier.
    pub(super) fn follow(&mut self) {
        self.body.move_hub(&self.carrier.pose);
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
        let back = self.carrier.before * self.carrier.pose.inverse();
        (back * nalgebra::Point3::from(self.body.point(anchor.along()))).coords
    }

    pub(super) fn free_place(&self, anchor: &Anchor, _row: usize) -> Vec3 {
        self.body.free_point(anchor.along())
    }

    pub(super) fn place(&self, anchor: &Anchor, _row: usize) -> Vec3 {
        self.body.point(anchor.along())
    }
}
