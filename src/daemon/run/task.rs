//! Progress of the scene's task: the watcher fed from the ticks of the time in which force flows.
//!
//! Thread: control.

use crate::control::plant::TaskState;
use crate::device::operator::{OperatorReport, Progress};
use crate::haptic::{TickRecord, TorqueSense};
use crate::scene::{Observation, TaskProgress, TaskWatcher};
use crate::shared::SceneView;
use crate::shared::lifecycle::State;

/// Follows a task.
pub(super) struct TaskFollower {
    watcher: TaskWatcher,
    torque: TorqueSense,
    progress: TaskProgress,
    time_s: f64,
    period_s: f64,
    phase: String,
    told: TaskState,
}

impl TaskFollower {
    /// At the start, for a loop of this rate.
    pub(super) fn new(watcher: TaskWatcher, torque: TorqueSense, rate_hz: f64) -> Self {
        let progress = watcher.progress();
        let mut follower = Self {
            watcher,
            torque,
            progress,
            time_s: 0.0,
            period_s: 1.0 / rate_hz,
            phase: String::new(),
            told: TaskState { phase: String::new(), goals_met: 0, goals: 0, success: false, time_s: 0.0 },
        };
        follower.told = follower.state();
        follower
    }

    /// Takes one tick in. Time runs while force may flow, so that a pause costs nothing.
    pub(super) fn tick(&mut self, record: &TickRecord, view: &SceneView) {
        if record.state != State::Enabled {
            return;
        }
        self.time_s += self.period_s;
        self.progress = self.watcher.observe(&Observation {
            time_s: self.time_s,
            tool: record.pose_world_tool,
            view,
            felt_n: record.force.force.norm(),
            felt_nm: self.torque.felt_nm(record),
            penetration_m: record.penetration_m,
        });
    }

    /// Takes note of what the simulated operator does.
    pub(super) fn operator(&mut self, report: &OperatorReport) {
        let phase = match report.progress {
            Progress::Running => report.name.as_str(),
            Progress::Finished => "finished",
            Progress::Failed => "gave up",
        };
        if self.time_s > 0.0 && self.phase != phase {
            phase.clone_into(&mut self.phase);
        }
    }

    /// How it stands.
    pub(super) fn state(&self) -> TaskState {
        TaskState {
            phase: self.phase.clone(),
            goals_met: self.progress.met.count_ones(),
            goals: u32::try_from(self.progress.goals).unwrap_or(u32::MAX),
            success: self.progress.success,
            time_s: self.time_s,
        }
    }

    /// How it stands, if it came further since the last call; time alone is no news.
    pub(super) fn news(&mut self) -> Option<TaskState> {
        let state = self.state();
        let known = TaskState { time_s: state.time_s, ..self.told.clone() };
        (state != known).then(|| {
            self.told = state.clone();
            state
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Pose;
    use crate::scene;

    #[test]
    fn a_task_counts_the_time_of_force_and_tells_of_each_step_once() {
        let spec = scene::open("virtual_wall").expect("it is shipped").value;
        let device = scene::open_device("simulated-3dof").expect("it is shipped").value;
        let built = scene::build(&spec, &device).expect("they go together");
        let mut follower = TaskFollower::new(built.watcher(), TorqueSense::of(&built.haptic), 1000.0);
        let view = SceneView::empty();
        let mut record = TickRecord::empty(Pose::identity());
        for _ in 0..500 {
            follower.tick(&record, &view);
        }
        assert_eq!((follower.state().time_s, follower.news()), (0.0, None));
        let met = follower.state().goals_met;
        record.state = State::Enabled;
        record.penetration_m = 1.0;
        for _ in 0..250 {
            follower.tick(&record, &view);
        }
        // A wall that was sunk into: that goal is lost, and said so once.
        let state = follower.news().expect("it came further");
        assert!((state.time_s - 0.25).abs() < 1e-9 && state.goals_met < met.max(1) && !state.success, "{state:?}");
        follower.tick(&record, &view);
        assert_eq!(follower.news(), None);
    }
}
