//! A simulated device in a simulated hand: the default device, and the one every test can have.
//!
//! Thread: haptic (RT); allocates when it is made, never after. Called by the tick like any device, at the true rate.
//!
//! The handle is a mass with an isotropic moment of inertia, so the axes do not act on one another and rotation obeys
//! `J ω̇ = τ` in the base frame (the gyroscopic term vanishes); `R` moves by `exp(Δθ) R`. Weight is taken as balanced by
//! the device. Drag and Coulomb friction act per axis, as they do in the joints of a real device. Hand and handle move
//! together; the hand's spring, damper and forces come from the [`Operator`].
//!
//! Between two ticks the motion is integrated in [`SUB_STEPS`] steps (`axis.rs`). The commanded force acts after the
//! device's latency, held between ticks and saturated at the device's limits, and goes to zero when the device file
//! states a watchdog and nothing is heard for that long. Readings are rounded to the encoder's step.

pub(super) mod axis;
mod stall;
#[cfg(test)]
mod tests;

use super::hold::DelayLine;
use super::operator::{HandCommand, Operator, OperatorOrder, OperatorReport, Perceived};
use super::{Device, DeviceFault, DeviceSpec, HandForce, HandMotion, HandSample, SafeForce};
use crate::math::{Pose, Rot, Vec3, exp_so3, log_so3};
use crate::shared::{LatestReader, LatestWriter, MonoNs, NS_PER_S, SceneView, Stamp, Tick};
use axis::{AxisDrive, AxisModel};
use stall::Stall;

pub use stall::STALL_AFTER;

#[cfg(test)]
pub(crate) use tests::test_spec;

/// Steps per nominal period: the midpoint rule at 50 µs follows a 30 Hz hand to a few parts in 10⁶.
pub const SUB_STEPS: u32 = 20;

/// Most periods that are made up for between two ticks. After a longer gap, the simulated world has stood still for the
/// rest: the tick must not be asked for unbounded work.
const CATCH_UP_PERIODS: f64 = 20.0;

/// Inertia below which an axis would have no dynamics of its own, kg and kg·m².
const INERTIA_MIN: f64 = 1e-9;

/// Who did what work on the handle since the beginning, J. `motor + hand = kinetic change + drag + friction`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnergyBook {
    /// Given by the motors: what the device gave to hand and handle.
    pub motor_j: f64,
    /// Given by the hand.
    pub hand_j: f64,
    /// Lost in drag.
    pub drag_j: f64,
    /// Lost in friction.
    pub friction_j: f64,
}

/// Faults waiting to happen.
#[derive(Clone, Copy, Debug, Default)]
struct Trouble {
    silent_ticks: u32,
    invalid_samples: u32,
    jump: Vec3,
}

/// A simulated device. See the file's head.
pub struct SimulatedDevice {
    spec: DeviceSpec,
    operator: Operator,
    command: HandCommand,
    view: Option<LatestReader<SceneView>>,
    report: Option<LatestWriter<OperatorReport>>,
    orders: Option<LatestReader<OperatorOrder>>,
    linear: AxisModel,
    angular: AxisModel,
    pose: Pose,
    motion: HandMotion,
    energy: EnergyBook,
    sent: DelayLine,
    /// When a force was last taken.
    heard: MonoNs,
    last: Option<MonoNs>,
    sequence: u64,
    silent: bool,
    trouble: Trouble,
    stall: Stall,
}

impl SimulatedDevice {
    /// The device of this file in the hand of `operator`, its handle at rest in the middle of the workspace. Equal seeds
    /// give equal runs, bit for bit.
    #[must_use]
    pub fn new(spec: DeviceSpec, operator: Operator, seed: u64) -> Self {
        Self::at(spec, operator, seed, Pose::identity())
    }

    /// As [`Self::new`], with the handle at `pose`; the rotation counts only if the device senses it.
    #[must_use]
    pub fn at(spec: DeviceSpec, mut operator: Operator, seed: u64, pose: Pose) -> Self {
        let rotation = if spec.rotation_sensed { pose.rotation } else { Rot::identity() };
        let pose = Pose::from_parts(pose.translation, rotation);
        operator.take_hold(&spec, pose, seed);
        let mechanics = &spec.mechanics;
        let inertia = operator.inertia(mechanics);
        let axis = |inertia: f64, drag, friction| AxisModel {
            inertia: inertia.max(INERTIA_MIN),
            drag,
            friction,
            stiffness: 0.0,
            damping: 0.0,
        };
        Self {
            linear: axis(inertia.linear, mechanics.damping.linear, mechanics.friction.linear),
            angular: axis(inertia.angular, mechanics.damping.angular, mechanics.friction.angular),
            sent: DelayLine::new(mechanics.latency_ticks),
            spec,
            operator,
            command: HandCommand::limp(),
            view: None,
            report: None,
            orders: None,
            pose,
            motion: HandMotion::default(),
            energy: EnergyBook::default(),
            heard: MonoNs::default(),
            last: None,
            sequence: 0,
            silent: false,
            trouble: Trouble::default(),
            stall: Stall::default(),
        }
    }

    /// Puts the screen in front of the operator.
    #[must_use]
    pub fn watching(mut self, view: LatestReader<SceneView>) -> Self {
        self.view = Some(view);
        self
    }

    /// Hangs when the text, the value of [`STALL_AFTER`], says so.
    #[must_use]
    pub fn stalling(mut self, after: &str) -> Self {
        self.stall = Stall::parse(after);
        self
    }

    /// Reports the operator's progress every tick.
    #[must_use]
    pub fn reporting(mut self, report: LatestWriter<OperatorReport>) -> Self {
        self.report = Some(report);
        self
    }

    /// Lets someone tell the operator to work or to rest. Without this, the operator always works.
    #[must_use]
    pub fn operated_by(mut self, orders: LatestReader<OperatorOrder>) -> Self {
        self.orders = Some(orders);
        self
    }

    /// The operator.
    #[must_use]
    pub fn operator(&self) -> &Operator {
        &self.operator
    }

    /// Where the handle really is.
    #[must_use]
    pub fn pose_true(&self) -> &Pose {
        &self.pose
    }

    /// How the handle really moves.
    #[must_use]
    pub fn motion_true(&self) -> &HandMotion {
        &self.motion
    }

    /// Puts the handle somewhere, moving. For tests: no work is accounted for.
    pub fn set_true(&mut self, pose: Pose, motion: HandMotion) {
        (self.pose, self.motion) = (pose, motion);
    }

    /// The energy the motors really gave to the hand, J: force times displacement of every sub-step, summed.
    #[must_use]
    pub fn energy_to_hand_true(&self) -> f64 {
        self.energy.motor_j
    }

    /// All work done so far.
    #[must_use]
    pub fn energy(&self) -> &EnergyBook {
        &self.energy
    }

    /// Kinetic energy of hand and handle, J.
    #[must_use]
    pub fn kinetic_energy(&self) -> f64 {
        0.5 * self.linear.inertia * self.motion.linear.norm_squared()
            + 0.5 * self.angular.inertia * self.motion.angular.norm_squared()
    }

    /// The force that acts from this tick to the next.
    #[must_use]
    pub fn acting(&self) -> HandForce {
        self.acting_at(self.last.unwrap_or_default())
    }

    fn acting_at(&self, now: MonoNs) -> HandForce {
        let unheard_s = now.since(self.heard) as f64 / NS_PER_S as f64;
        if self.spec.limits.watchdog_s.is_some_and(|limit| unheard_s > limit) {
            return HandForce::zero();
        }
        let force = self.sent.acting();
        let limits = self.spec.limits.force;
        HandForce {
            force: saturated(force.force, limits.linear),
            torque: if self.spec.rotation_actuated { saturated(force.torque, limits.angular) } else { Vec3::zeros() },
        }
    }

    /// Makes the device silent for this many ticks: nothing can be read and nothing written is heard.
    pub fn inject_silence(&mut self, ticks: u32) {
        self.trouble.silent_ticks = ticks;
    }

    /// Makes the next readings not a number.
    pub fn inject_invalid(&mut self, samples: u32) {
        self.trouble.invalid_samples = samples;
    }

    /// Moves all readings from now on by `offset`, as a lost encoder count does.
    pub fn inject_jump(&mut self, offset: Vec3) {
        self.trouble.jump += offset;
    }

    /// Moves the world on by `elapsed` seconds from `start`.
    fn advance(&mut self, start: MonoNs, elapsed: f64) {
        let period = 1.0 / self.spec.rate_hz;
        let elapsed = elapsed.min(CATCH_UP_PERIODS * period);
        // A little less than the true quotient, so that a period that rounding made too long is not cut once more.
        let count = (elapsed / period * f64::from(SUB_STEPS) - 1e-6).ceil().max(1.0);
        let step = elapsed / count;
        let command = self.command;
        (self.linear.stiffness, self.linear.damping) = (command.stiffness.linear, command.damping.linear);
        (self.angular.stiffness, self.angular.damping) = (command.stiffness.angular, command.damping.angular);
        for index in 0..count as u32 {
            // The target in the middle of the step.
            let time = (f64::from(index) + 0.5) * step;
            let force = self.acting_at(start.plus((time * NS_PER_S as f64) as u64));
            self.advance_linear(&force.force, &command, time, step);
            if self.spec.rotation_sensed {
                self.advance_angular(&force.torque, &command, time, step);
            }
        }
        self.sent.advance();
    }

    fn advance_linear(&mut self, motor: &Vec3, command: &HandCommand, time: f64, step: f64) {
        let target = command.target.translation.vector + command.velocity * time;
        let distance = target - self.pose.translation.vector;
        let way = move_axes(
            &self.linear,
            &mut self.motion.linear,
            &mut self.energy,
            &[*motor, command.force.force, distance, command.velocity],
            step,
        );
        self.pose.translation.vector += way;
    }

    fn advance_angular(&mut self, motor: &Vec3, command: &HandCommand, time: f64, step: f64) {
        let target = exp_so3(&(command.angular_velocity * time)) * command.target.rotation;
        let distance = log_so3(&(target * self.pose.rotation.inverse()));
        let way = move_axes(
            &self.angular,
            &mut self.motion.angular,
            &mut self.energy,
            &[*motor, command.force.torque, distance, command.angular_velocity],
            step,
        );
        self.pose.rotation = exp_so3(&way) * self.pose.rotation;
        self.pose.rotation.renormalize();
    }

    /// What the encoders say.
    fn reading(&mut self) -> Pose {
        let quantum = self.spec.mechanics.quantum;
        if self.trouble.invalid_samples > 0 {
            self.trouble.invalid_samples -= 1;
            return Pose::from_parts(Vec3::repeat(f64::NAN).into(), self.pose.rotation);
        }
        let position = rounded(self.pose.translation.vector + self.trouble.jump, quantum.linear);
        let rotation = if quantum.angular > 0.0 {
            exp_so3(&rounded(log_so3(&self.pose.rotation), quantum.angular))
        } else {
            self.pose.rotation
        };
        Pose::from_parts(position.into(), rotation)
    }
}

impl Device for SimulatedDevice {
    fn spec(&self) -> &DeviceSpec {
        &self.spec
    }

    fn read(&mut self, tick: &mut Tick<'_>) -> Result<HandSample, DeviceFault> {
        self.stall.pass(tick.began);
        // 1 the world moves on to now
        let start = self.last.unwrap_or(tick.began);
        let elapsed = tick.began.since(start) as f64 / NS_PER_S as f64;
        if elapsed > 0.0 {
            self.advance(start, elapsed);
        }
        self.last = Some(tick.began);
        // 2 the operator perceives it and decides what to do until the next tick
        let felt = self.acting();
        let view = self.view.as_mut().map(LatestReader::read);
        let perceived = Perceived { dt_s: elapsed, handle: self.pose, felt, view };
        let works = self.orders.as_mut().is_none_or(|orders| orders.read().works);
        self.command = if works { self.operator.think(&perceived) } else { self.operator.rest(&perceived) };
        if let Some(report) = &mut self.report {
            report.publish(self.operator.report());
        }
        // 3 the encoders are read
        self.silent = self.trouble.silent_ticks > 0;
        if self.silent {
            self.trouble.silent_ticks -= 1;
            return Err(DeviceFault::Silent);
        }
        self.sequence += 1;
        Ok(HandSample {
            stamp: Stamp { sequence: self.sequence, at: tick.began },
            pose_device_handle: self.reading(),
            buttons: self.command.buttons,
            homed: true,
        })
    }

    fn write(&mut self, force: &SafeForce, tick: &mut Tick<'_>) -> Result<(), DeviceFault> {
        if self.silent {
            return Err(DeviceFault::Silent);
        }
        self.sent.set(*force.get());
        self.heard = tick.began;
        Ok(())
    }

    fn silence(&mut self, _now: MonoNs) {
        self.sent.clear();
    }
}

/// Moves three axes for `step` seconds under `[motor, push, distance, target velocity]`; gives their displacement.
fn move_axes(model: &AxisModel, velocity: &mut Vec3, energy: &mut EnergyBook, drive: &[Vec3; 4], step: f64) -> Vec3 {
    Vec3::from_fn(|axis, _| {
        let [motor, push, distance, target_velocity] = drive.map(|part| part[axis]);
        let moved = model.advance(velocity[axis], &AxisDrive { motor, push, distance, target_velocity }, step);
        velocity[axis] = moved.velocity;
        energy.motor_j += moved.motor_work;
        energy.hand_j += moved.hand_work;
        energy.drag_j += moved.drag_loss;
        energy.friction_j += moved.friction_loss;
        moved.way
    })
}

/// The vector with its length bounded, its direction kept.
fn saturated(force: Vec3, limit: f64) -> Vec3 {
    let size = force.norm();
    if size > limit { force * (limit / size) } else { force }
}

/// Each coordinate as the nearest multiple of `quantum`; unchanged when that is zero.
fn rounded(v: Vec3, quantum: f64) -> Vec3 {
    if quantum > 0.0 { v.map(|x| (x / quantum).round() * quantum) } else { v }
}
