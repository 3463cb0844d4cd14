//! Stage 2, map: the handle in the scene.
//!
//! Thread: haptic (RT).
//!
//! Parameters slew first, since scale and placement depend on them. The clutch holds the tool, the grip or a spanner moves it, and buttons
//! and orders turn it in its grip.

use super::turning::{Lever, pressed};
use super::{Coupling, HapticModel, HapticState, Hold};
use crate::device::{HandMotion, HandSample};
use crate::math::{Pose, Rot, Twist, Vec3, Wrench, exp_so3, join};
use crate::shared::{Parameter, Tick};

/// Handle in the scene, for one tick.
#[derive(Clone, Copy)]
pub(super) struct Handle {
    pub(super) pose: Pose,
    pub(super) twist: Twist,
    pub(super) rotation_device: Rot,
    pub(super) motion: HandMotion,
    /// Force of the hand on the proxy: what it would take to move the handle if it were the proxy; zero but for the
    /// transparent coupling.
    pub(super) external: Wrench,
    /// The lever of a spanner, where the handle has the tool by one.
    pub(super) lever: Option<Lever>,
}

/// The handle in the scene.
pub(super) fn map(model: &HapticModel, state: &mut HapticState, sample: &HandSample, tick: &Tick<'_>) -> Handle {
    let pose_device_handle = &sample.pose_device_handle;
    slew_parameters(model, state, pose_device_handle, tick.period_s);
    let motion = state.velocity.update(sample.stamp.at, pose_device_handle);
    let observed = state.observer.update(pose_device_handle);
    let push = state.channels.push(&observed, &state.clutch.gripped(&pose_device_handle.rotation));
    let hold = hold(model, state, sample.buttons);
    let pose = state.clutch.apply(pose_device_handle, hold, state.proxy.pose());
    let lever = slip(model, state, &pose);
    let (pose, turning) =
        if lever.is_some() { (pose, Vec3::zeros()) } else { turn(model, state, pose, hold, sample, tick) };
    let held = hold == Hold::Clutch;
    let mapping = state.clutch.mapping();
    let rotation_device = state.clutch.gripped(&pose_device_handle.rotation);
    // The coupling takes the observer's velocity: it knows what the motors do, so it does not lag behind them.
    let seen = observed.motion;
    let twist = match hold {
        Hold::Clutch => Twist::zeros(),
        Hold::Grip => mapping.twist_to_scene(&seen.linear, &seen.angular, &rotation_device),
        Hold::Spanner(_) => mapping.twist_to_scene(&seen.linear, &Vec3::zeros(), &rotation_device),
    };
    let twist = twist + join(&Vec3::zeros(), &turning);
    let external = match model.coupling {
        Coupling::Transparent { .. } if !held => mapping.wrench_to_scene(&push.force, &push.torque, &rotation_device),
        _ => Wrench::zeros(),
    };
    Handle { pose, twist, rotation_device, motion, external, lever }
}

/// Moves the parameters towards their targets and applies those that are not at theirs yet.
fn slew_parameters(model: &HapticModel, state: &mut HapticState, pose_device_handle: &Pose, period_s: f64) {
    if !state.parameters.advance(period_s) {
        return;
    }
    let get = |parameter| state.parameters.current().get(parameter);
    state.clutch.rescale(get(Parameter::MotionScale), get(Parameter::ForceScale), pose_device_handle);
    state.channels.rescale(model, state.clutch.mapping());
    state.limiter.tighten(get(Parameter::MaxForce), get(Parameter::MaxSpeed));
    if matches!(model.coupling, Coupling::Direct { .. }) {
        state.local.set_contact_compliance(1.0 / get(Parameter::Stiffness));
    }
}

/// True while forces are rendered.
pub(super) fn is_rendered(state: &HapticState) -> bool {
    state.gate.state().allows_force() || state.gate.gain() > 0.0
}

/// How the hand has the tool. While nothing is rendered the tool goes with the handle, and there is no spanner.
fn hold(model: &HapticModel, state: &HapticState, buttons: u32) -> Hold {
    let spanner = model.turning.and_then(|turning| turning.spanner);
    match spanner {
        _ if pressed(buttons, model.clutch_button) => Hold::Clutch,
        Some(spanner) if pressed(buttons, Some(spanner.button)) && is_rendered(state) => Hold::Spanner(spanner.lever),
        _ => Hold::Grip,
    }
}

/// The lever of a spanner that is on, slipped as far as the handle at `pose` asks it to.
fn slip(model: &HapticModel, state: &mut HapticState, pose: &Pose) -> Option<Lever> {
    let (turning, end) = model.turning.as_ref().zip(state.clutch.lever())?;
    let tool = state.proxy.pose();
    let handle = tool.inverse_transform_vector(&(pose.translation.vector - tool.translation.vector));
    let lever = turning.slipped(turning.spanner.as_ref()?, &end, &handle);
    state.clutch.set_lever(lever.end);
    Some(lever)
}

/// Turns the tool in its grip. The gripped pose, and how fast it turns by that, in the tool's frame.
fn turn(
    model: &HapticModel,
    state: &mut HapticState,
    pose: Pose,
    hold: Hold,
    sample: &HandSample,
    tick: &Tick<'_>,
) -> (Pose, Vec3) {
    let still = (pose, Vec3::zeros());
    let Some(turning) = &model.turning else { return still };
    let tool = *state.proxy.pose();
    if !state.gate.state().allows_force() {
        return still;
    }
    let stiffness = state.parameters.current().get(Parameter::AngularStiffness);
    let rotations = (&pose.rotation, &tool.rotation);
    let rate = turning.rate_now(sample.buttons, &state.client_turn, tick.began, rotations, stiffness);
    if rate == 0.0 {
        return still;
    }
    state.clutch.turn(&exp_so3(&(turning.axis * (rate * tick.period_s))));
    (state.clutch.apply(&sample.pose_device_handle, hold, &tool), turning.axis * rate)
}
