//! A beam clamped at its hub, which a tool carries: a needle.
//!
//! Thread: simulation.

use super::super::ids::HandId;
use super::carrier::{CarriedBy, Carrier};
use super::surface::SoftSkin;
use super::{SoftBody, SoftRow, When};
use crate::fem::{BeamBody, BeamError, BeamRow, BeamSpec};
use crate::math::{Pose, Vec3};
use crate::shared::ToolSample;
use std::sync::Arc;

/// See the file's head.
pub struct Beam {
    body: BeamBody,
    /// Frame of the hub.
    carrier: Carrier,
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

    fn collect(&mut self, rows: &[SoftRow<'_>]) {
        self.rows.clear();
        let row = |row: &SoftRow<'_>| BeamRow { at_m: row.anchor.along(), direction: row.direction };
        self.rows.extend(rows.iter().map(row));
    }
}

impl SoftBody for Beam {
    fn carrier(&self) -> &Carrier {
        &self.carrier
    }

    fn carrier_mut(&mut self) -> &mut Carrier {
        &mut self.carrier
    }

    fn carry(&mut self, tools: &[ToolSample], step_s: f64) {
        self.carrier.advance(tools, step_s);
        self.body.move_hub(&self.carrier.pose);
    }

    fn prepare(&mut self, _step_s: f64) -> bool {
        self.body.prepare();
        true
    }

    fn compliance(&mut self, rows: &[SoftRow<'_>], out: &mut [f64]) {
        self.collect(rows);
        self.body.compliance(&self.rows, out);
    }

    fn apply(&mut self, rows: &[SoftRow<'_>], forces: &[f64], last: bool) -> f64 {
        if last {
            self.collect(rows);
            self.body.apply(&self.rows, forces);
        }
        0.0
    }

    fn finish(&mut self, _step_s: f64) -> bool {
        self.body.finish();
        true
    }

    fn along(&self, at_m: f64, when: When) -> Vec3 {
        match when {
            When::Start => {
                let back = self.carrier.before * self.carrier.pose.inverse();
                (back * nalgebra::Point3::from(self.body.point(at_m))).coords
            }
            When::Free => self.body.free_point(at_m),
            When::Now => self.body.point(at_m),
        }
    }

    // Constraints act on arc lengths.
    fn rest(&self, _node: u32) -> Vec3 {
        Vec3::zeros()
    }

    fn displacement(&self, _node: u32, _when: When) -> Vec3 {
        Vec3::zeros()
    }

    fn reaches(&self, _node: u32) -> bool {
        false
    }

    fn skin(&self) -> Option<&Arc<SoftSkin>> {
        None
    }
}
