//! The recording of a demo: ticks, views, phases and the outcome, or nothing when none was asked for.
//!
//! Thread: main.

use super::Summary;
use crate::device::operator::OperatorReport;
use crate::geometry::Shape;
use crate::haptic::TickRecord;
use crate::math::{Pose, Vec3};
use crate::record::{Look, Outline, Provenance, RecordError, RecordSummary, Recorder, Timing};
use crate::scene::Built;
use crate::shared::{Order, SceneView, SkinFrame, SkinReader, SkinWriter, StepInput, skins};
use crate::sim::{Painter, SimData, SimModel};
use serde_json::json;
use std::path::Path;

/// Ticks handed over at once.
const BATCH: usize = 100;

/// Draws bodies that deform in virtual time, where no thread does.
pub(super) struct Easel {
    painter: Painter,
    writer: SkinWriter,
    reader: SkinReader,
}

impl Easel {
    /// For a scene.
    pub(super) fn new(built: &Built) -> Self {
        let (writer, reader) = skins(&built.skins);
        Self { painter: Painter::new(&built.sim), writer, reader }
    }

    /// The bodies after a step; those of an earlier one when it is too soon for a screen.
    pub(super) fn paint(&mut self, sim: &SimData) -> &SkinFrame {
        self.writer.publish(sim.stamp, &sim.path, |skins| self.painter.paint(sim, skins));
        self.reader.read()
    }
}

/// A recording, perhaps.
pub(super) struct Tape {
    recorder: Option<Recorder>,
    batch: Vec<TickRecord>,
    seen: u64,
    painted: u64,
    phase: Option<usize>,
}

impl Tape {
    /// Records nothing.
    pub(super) fn none() -> Self {
        Self { recorder: None, batch: Vec::new(), seen: 0, painted: 0, phase: None }
    }

    /// Records to a file.
    pub(super) fn start(path: &Path, provenance: Provenance, looks: Vec<Look>) -> Result<Self, RecordError> {
        let virtual_time = provenance.timing == Timing::Lockstep;
        let recorder = Recorder::create(path, provenance, looks)?;
        let recorder = if virtual_time { recorder.waiting() } else { recorder };
        Ok(Self { recorder: Some(recorder), ..Self::none() })
    }

    /// One tick.
    pub(super) fn tick(&mut self, record: &TickRecord) {
        if self.recorder.is_some() {
            self.batch.push(*record);
            if self.batch.len() >= BATCH {
                self.hand_over();
            }
        }
    }

    fn hand_over(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.ticks(&self.batch);
            self.batch.clear();
        }
    }

    /// What steps of the simulation depended on.
    pub(super) fn steps(&mut self, steps: impl Iterator<Item = StepInput>) {
        // Taken out of their ring whether there is a recording or not.
        let steps: Vec<StepInput> = steps.collect();
        self.recorder.iter_mut().for_each(|recorder| recorder.steps(steps.clone()));
    }

    /// Orders, each with the tick that answered it.
    pub(super) fn orders(&mut self, orders: Vec<(u64, Order)>) {
        if let Some(recorder) = &mut self.recorder {
            recorder.orders(orders);
        }
    }

    /// What can be seen, when it is new.
    pub(super) fn view(&mut self, view: &SceneView) {
        if self.recorder.is_some() && view.stamp.sequence != self.seen {
            self.seen = view.stamp.sequence;
            self.hand_over();
            self.recorder.iter_mut().for_each(|recorder| recorder.view(view));
        }
    }

    /// Where the bodies that deform are, when that is new.
    pub(super) fn skins(&mut self, frame: &SkinFrame) {
        if self.recorder.is_some() && frame.stamp.sequence != self.painted {
            self.painted = frame.stamp.sequence;
            self.hand_over();
            self.recorder.iter_mut().for_each(|recorder| recorder.skins(frame));
        }
    }

    /// True when there is a recording.
    pub(super) fn is_running(&self) -> bool {
        self.recorder.is_some()
    }

    /// What the operator does, when that is new.
    pub(super) fn phase(&mut self, report: &OperatorReport) {
        if self.recorder.is_some() && self.phase != Some(report.phase) {
            self.phase = Some(report.phase);
            self.event(&json!({ "kind": "phase", "name": report.name.as_str() }));
        }
    }

    /// How the run ended.
    pub(super) fn result(&mut self, summary: &Summary) {
        let goals: Vec<_> = summary
            .goals
            .iter()
            .map(|(name, state)| json!({ "name": name, "met": *state == crate::scene::GoalState::Met }))
            .collect();
        self.event(&json!({
            "kind": "result",
            "success": summary.success(),
            "goals": goals,
            "reason": summary.reason,
            "duration_s": summary.duration_s,
        }));
    }

    fn event(&mut self, event: &serde_json::Value) {
        self.hand_over();
        if let Some(recorder) = &mut self.recorder {
            recorder.event(&event.to_string());
        }
    }

    /// Ends the recording, if there is one.
    pub(super) fn finish(mut self) -> Option<Result<RecordSummary, RecordError>> {
        self.hand_over();
        self.recorder.take().map(Recorder::stop)
    }
}

/// A finished recording in a line.
pub(super) fn line(made: &RecordSummary) -> String {
    let files: Vec<String> = made.files.iter().map(|path| path.display().to_string()).collect();
    let lost = if made.lost > 0 { format!(", {} LOST: the disk did not keep up", made.lost) } else { String::new() };
    format!("{} ({} ticks, {:.1} MB{lost})", files.join(", "), made.ticks, made.bytes as f64 / 1e6)
}

/// How the bodies of a scene and the tool of a hand look in a viewer.
#[must_use]
pub fn looks(sim: &SimModel, hand: usize) -> Vec<Look> {
    let bodies = sim.bodies.iter().map(|body| look(Some(body.name.clone()), &body.shape, body.pose_body_shape));
    let tool = sim.tools.get(hand).map(|tool| look(None, &tool.shape, tool.pose_tool_shape));
    bodies.chain(tool).collect()
}

fn look(body: Option<String>, shape: &Shape, pose_body_shape: Pose) -> Look {
    let mut pose = pose_body_shape;
    let outline = match shape {
        Shape::HalfSpace(_) => Outline::Ground,
        Shape::Sphere(sphere) => Outline::Ball { radius: sphere.radius },
        Shape::Cuboid(cuboid) => Outline::Block { size: 2.0 * cuboid.half },
        Shape::Cylinder(rod) => Outline::Rod { radius: rod.radius, length: 2.0 * rod.half_length },
        // Its round ends are drawn flat.
        Shape::Capsule(rod) => Outline::Rod { radius: rod.radius, length: 2.0 * (rod.half_length + rod.radius) },
        Shape::Bore(bore) => {
            // The block without its hole; its origin is in the middle of the top.
            pose *= Pose::translation(0.0, 0.0, -0.5 * bore.height);
            Outline::Block { size: Vec3::new(2.0 * bore.half_x, 2.0 * bore.half_y, bore.height) }
        }
        Shape::Part(part) => {
            Outline::Mesh { vertices: part.mesh.vertices().to_vec(), triangles: part.mesh.triangles().to_vec() }
        }
    };
    Look { body, outline, pose_body_shape: pose }
}
