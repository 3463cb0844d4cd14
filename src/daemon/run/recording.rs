//! The recording of a run, as clients ask for it: ticks, views and what happened go to the recorder's thread in batches.
//!
//! Thread: control. Files are opened and closed by cold threads.

use super::rig::Rig;
use crate::control::plant::{Code, FaultEntry, News, Refused};
use crate::control::prometheus::RecorderMetrics;
use crate::daemon::tape;
use crate::files::config::{Config, Recordings};
use crate::haptic::TickRecord;
use crate::record::{Provenance, RecordError, RecordFigures, RecordLimits, RecordOptions, Recorder, Timing};
use crate::shared::{Order, SceneView, SkinFrame, StepInput};
use crate::sim::MaterialOrder;
use serde_json::json;
use std::path::Path;

const MB: u64 = 1_000_000;
/// Ticks handed over at once: a hundred batches a second at 1 kHz, which is what the recorder's queue is made for.
const BATCH: usize = 10;

/// What the configuration has to say of recordings.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    /// How much room they may take.
    pub(super) limits: RecordLimits,
    /// The configuration itself, as it was read; empty when none was.
    pub(super) config_text: String,
}

impl Rules {
    /// Those of a configuration with this text.
    pub(super) fn of(config: &Config, config_text: String) -> Self {
        let Recordings { file_mb, keep, free_mb } = config.recordings;
        let limits = RecordLimits {
            file_bytes: u64::from(file_mb) * MB,
            keep_files: keep.map(|count| count as usize),
            free_bytes: u64::from(free_mb) * MB,
        };
        Self { limits, config_text }
    }
}

/// A recording, perhaps.
#[derive(Default)]
pub(super) struct Recording {
    /// For the next one.
    pub(super) rules: Rules,
    recorder: Option<Recorder>,
    /// One is being opened.
    pub(super) is_opening: bool,
    batch: Vec<TickRecord>,
    seen: u64,
    painted: u64,
    /// Of the recordings that have ended.
    bytes: u64,
    lost: u64,
}

impl Recording {
    /// Begins to fill this recorder.
    pub(super) fn begin(&mut self, recorder: Recorder) {
        self.batch.clear();
        self.recorder = Some(recorder);
    }

    /// The recorder, to be closed by somebody who can wait.
    pub(super) fn take(&mut self) -> Option<Recorder> {
        self.hand_over();
        let recorder = self.recorder.take()?;
        let figures = recorder.figures();
        (self.bytes, self.lost) = (self.bytes + figures.bytes, self.lost + figures.lost);
        Some(recorder)
    }

    /// The recorder that ended by itself, with the reason.
    pub(super) fn take_ended(&mut self) -> Option<Recorder> {
        self.recorder.as_ref().is_some_and(Recorder::has_ended).then(|| self.take()).flatten()
    }

    /// Ticks, oldest first, and the scene as it was at the last.
    pub(super) fn ticks(&mut self, ticks: &[TickRecord], view: &SceneView) {
        if self.recorder.is_none() {
            return;
        }
        self.batch.extend_from_slice(ticks);
        if self.batch.len() < BATCH {
            return;
        }
        self.hand_over();
        if view.stamp.sequence != self.seen {
            self.seen = view.stamp.sequence;
            self.recorder.iter_mut().for_each(|recorder| recorder.view(view));
        }
    }

    /// Where the bodies that deform are, when that is new.
    pub(super) fn skins(&mut self, frame: &SkinFrame) {
        if self.recorder.is_some() && frame.stamp.sequence != self.painted {
            self.painted = frame.stamp.sequence;
            self.recorder.iter_mut().for_each(|recorder| recorder.skins(frame));
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
        self.recorder.iter_mut().for_each(|recorder| recorder.orders(orders.clone()));
    }

    /// Friction and restitution that the simulation was told to use.
    pub(super) fn materials(&mut self, order: &MaterialOrder) {
        let values: Vec<[f64; 2]> = order.values[..order.count].iter().map(|(a, b)| [*a, *b]).collect();
        let event = json!({ "kind": "materials", "sequence": order.sequence, "values": values });
        self.recorder.iter_mut().for_each(|recorder| recorder.event(&event.to_string()));
    }

    /// What happened, if it belongs into a recording.
    pub(super) fn news(&mut self, news: &News) {
        if self.recorder.is_none() {
            return;
        }
        let event = match news {
            News::State(state) => json!({ "kind": "state", "state": state.name() }),
            News::Fault(FaultEntry { id, code, name, cause, .. }) => {
                json!({ "kind": "fault", "id": id, "code": code, "name": name, "cause": cause })
            }
            News::Task(task) => {
                json!({ "kind": "phase", "name": task.phase, "goals_met": task.goals_met, "goals": task.goals })
            }
            News::Device(state) => json!({ "kind": "device", "state": state }),
            News::Answer(..) | News::Set(..) | News::Dials | News::Loading { .. } => return,
        };
        self.hand_over();
        self.recorder.iter_mut().for_each(|recorder| recorder.event(&event.to_string()));
    }

    /// Sets a mark; false when nothing is recorded.
    pub(super) fn mark(&mut self, text: &str) -> bool {
        self.hand_over();
        self.recorder.iter_mut().for_each(|recorder| recorder.mark(text));
        self.recorder.is_some()
    }

    fn hand_over(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.ticks(&self.batch);
            self.batch.clear();
        }
    }

    /// The file being written.
    pub(super) fn path(&self) -> Option<String> {
        self.recorder.as_ref().map(|recorder| recorder.figures().path.display().to_string())
    }

    /// For monitoring.
    pub(super) fn metrics(&self) -> RecorderMetrics {
        let now = self.recorder.as_ref().map_or_else(RecordFigures::default, Recorder::figures);
        RecorderMetrics { active: self.recorder.is_some(), bytes: self.bytes + now.bytes, lost: self.lost + now.lost }
    }
}

/// What a recording of `rig` below `state` is to be.
pub(super) fn options(rig: &Rig, rules: &Rules, state: &Path, name: Option<String>) -> RecordOptions {
    let limits = rig.model.limits.force;
    RecordOptions {
        directory: state.join("recordings"),
        name,
        provenance: Provenance {
            scene_name: rig.scene.clone(),
            scene_text: rig.scene_text.clone(),
            device_name: rig.device.clone(),
            device_text: rig.device_text.clone(),
            config_text: rules.config_text.clone(),
            seed: rig.seed,
            skill: rig.skill.name().into(),
            timing: Timing::Live,
            rate_hz: rig.model.rate_hz,
            force_limit_n: limits.linear,
            torque_limit_nm: limits.angular,
            ..Provenance::here()
        },
        looks: tape::looks(&rig.built.sim, 0),
        limits: rules.limits,
    }
}

/// What a failure to record is to a client.
pub(super) fn refused(error: &RecordError) -> Refused {
    let code = match error {
        RecordError::NoRoom { .. } => Code::Busy,
        _ => Code::NotAllowed,
    };
    Refused { code, text: error.to_string() }
}
