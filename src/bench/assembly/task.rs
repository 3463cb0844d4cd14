//! The tasks that engines are compared on, run to the end.
//!
//! Thread: main. Deterministic.

use super::drive::{Assembly, Drive};
use crate::math::Vec3;
use crate::mechanism::Problem;
use crate::mechanism::samples::Sample;
use crate::shared::realtime::thread_busy_ns;
use std::f64::consts::{PI, TAU};

/// What is done to the moving part, in steps of 1 ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Task {
    /// 3 s: a nut pushed down with 10 N and aside with 5 N, its rate of turning held at −π rad/s by up to 1 N·m.
    Drive {
        /// Pitch of its thread, m.
        pitch: f64,
    },
    /// 2 s: a peg held aside with 20 N, near its head; after the first second pushed in at 10 mm/s by up to 60 N.
    Push,
    /// 2 s: a nut under an axial load, turned steadily the way the load pushes.
    Loaded {
        /// Load, N.
        newton: f64,
        /// Pitch of its thread, m.
        pitch: f64,
    },
}

/// Length of a step, s.
pub const STEP_S: f64 = 1e-3;
/// Every how many steps the penetration of all nodes is measured.
const MEASURED: usize = 10;

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Time of each step on the processor's clock, s.
    pub step_s: Vec<f64>,
    /// Deepest node of all, exact, every ten steps, m.
    pub penetration_m: Vec<f64>,
    /// Greatest distance from the thread that the nut is on when it has fallen through its play, after a tenth of the time, m.
    pub lead_error_m: f64,
    /// Of a nut: root mean square of the axial speed that its thread does not explain, after a third of the time. Of a peg: of
    /// its speed while it is held, in the second half of the first second. m/s.
    pub jitter_m_per_s: f64,
    /// Angle turned about the axis, rad.
    pub turned_rad: f64,
    /// Way along the axis, m.
    pub moved_m: f64,
    /// Mean torque about the axis after a third of the time, N·m.
    pub torque_n_m: f64,
    /// Steps whose contact law was not solved to the tolerance.
    pub unconverged: usize,
    /// Most contacts in a step.
    pub contacts: usize,
}

impl Task {
    fn steps(self) -> usize {
        match self {
            Self::Drive { .. } => 3000,
            Self::Push | Self::Loaded { .. } => 2000,
        }
    }

    /// Force at the centre of mass and torque about it, in the world.
    fn load(self, drive: &Drive, step: usize, start_z: f64) -> (Vec3, Vec3) {
        let (v, w) = drive.velocity();
        match self {
            Self::Drive { .. } => {
                (Vec3::new(5.0, 0.0, -10.0), Vec3::new(0.05, 0.0, (0.1 * (-PI - w.z)).clamp(-1.0, 1.0)))
            }
            Self::Push => {
                let (time, shape) = (step as f64 * STEP_S, drive.shape());
                let aside = Vec3::new(20.0, 0.0, 0.0);
                let mut force = aside;
                if time >= 1.0 {
                    let target = start_z - 0.01 * (time - 1.0);
                    let wanted = 2e4 * (target - shape.translation.z) + 200.0 * (-0.01 - v.z);
                    force.z = wanted.clamp(-60.0, 60.0);
                }
                let held = shape.rotation * Vec3::new(0.0, 0.0, 0.055) + shape.translation.vector;
                (force, (held - drive.data().pose(super::drive::MOVING).translation.vector).cross(&aside))
            }
            // The gain is small, so that steps of a millisecond follow it; the speed is what comes of it.
            Self::Loaded { newton, .. } => (Vec3::new(0.0, 0.0, -newton), Vec3::new(0.0, 0.0, 0.1 * (-PI - 2.0 - w.z))),
        }
    }
}

/// The contact problems of a task's steps that have at least `contacts` contacts.
#[must_use]
pub fn problems(assembly: &Assembly, task: Task, contacts: usize) -> Vec<Sample> {
    let Some(mut drive) = Drive::new(assembly, STEP_S) else { return Vec::new() };
    let start_z = drive.shape().translation.z;
    let mut problems = Vec::new();
    for step in 0..task.steps() {
        let (force, torque) = task.load(&drive, step, start_z);
        drive.step(&force, &torque);
        let Problem { blocks, compliance, free, .. } = drive.data().problem();
        if blocks.len() >= contacts {
            problems.push(Sample { blocks: blocks.into(), compliance: compliance.into(), free: free.into() });
        }
    }
    problems
}

/// Runs a task on an assembly.
#[must_use]
pub fn run(assembly: &Assembly, task: Task) -> Figures {
    let mut figures = Figures::default();
    let Some(mut drive) = Drive::new(assembly, STEP_S) else { return figures };
    let (start, steps) = (drive.shape(), task.steps());
    let angle_of = |drive: &Drive| {
        let x = drive.shape().rotation * Vec3::x();
        x.y.atan2(x.x)
    };
    let (mut last, mut squares, mut counted, mut torques) = (angle_of(&drive), 0.0, 0, Vec::new());
    let mut fallen = 0.0;
    for step in 0..steps {
        let (force, torque) = task.load(&drive, step, start.translation.z);
        let began = thread_busy_ns();
        let report = drive.step(&force, &torque);
        figures.step_s.push((thread_busy_ns() - began) as f64 * 1e-9);
        figures.unconverged += usize::from(!report.converged);
        figures.contacts = figures.contacts.max(report.contacts);
        let now = angle_of(&drive);
        let turn = now - last;
        figures.turned_rad += turn - TAU * (turn / TAU).round();
        last = now;
        figures.moved_m = drive.shape().translation.z - start.translation.z;
        if step % MEASURED == 0 {
            figures.penetration_m.push(drive.penetration());
        }
        let (v, w) = drive.velocity();
        let late = step >= steps / 3;
        match task {
            Task::Drive { pitch } | Task::Loaded { pitch, .. } => {
                let off = figures.moved_m - pitch * figures.turned_rad / TAU;
                if step < steps / 10 {
                    fallen = off;
                }
                figures.lead_error_m = figures.lead_error_m.max((off - fallen).abs());
                if late {
                    squares += (v.z - pitch * w.z / TAU).powi(2);
                    counted += 1;
                    torques.push(torque.z);
                }
            }
            Task::Push if (500..1000).contains(&step) => {
                squares += v.norm_squared();
                counted += 1;
            }
            Task::Push => {}
        }
    }
    figures.jitter_m_per_s = (squares / f64::from(counted.max(1))).sqrt();
    figures.torque_n_m = torques.iter().sum::<f64>() / torques.len().max(1) as f64;
    figures
}
