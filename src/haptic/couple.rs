//! Stage 4, couple: proxy, coupling and local mechanism give the wrench on the hand.
//!
//! Thread: haptic (RT).

use super::local::ToolMotion;
use super::map::{Handle, is_rendered};
use super::turning::spanner_springs;
use super::{Coupling, HapticModel, HapticState, LocalReport, SpringDamper, Trip};
use crate::device::HandForce;
use crate::math::{Mapping, Mat6, Pose, Vec3, Vec6, Wrench, displacement, join, split};
use crate::mechanism::pmi;
use crate::shared::{Faults, Tick};

/// Pull of the coupling, in force limits of the hand, beyond which it slips.
const SLIPS: f64 = 2.0;

/// Result of the stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coupled {
    /// Force on the hand in the device's base frame, before gate and limiter.
    pub(super) force: HandForce,
    /// What the hand does to the tool.
    pub(super) pull: ToolPull,
    /// Outcome of the local solve.
    pub(super) report: LocalReport,
    /// Faults of the stage.
    pub(super) faults: Faults,
}

/// What the hand does to the tool, for the simulation.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolPull {
    /// Wrench that holds the tool against the normal forces of the scene.
    pub(super) load: Wrench,
    /// Wrench of the hand on the proxy; none where the proxy is where the handle is.
    pub(super) pull: Option<Wrench>,
}

/// Wrench of the coupling on one side, with what follows from it.
struct Rendered {
    wrench: Wrench,
    pull: ToolPull,
    report: LocalReport,
}

/// Force on the hand as the scene would have it.
pub(super) fn couple(model: &HapticModel, state: &mut HapticState, handle: &Handle, tick: &Tick<'_>) -> Coupled {
    let mut faults = Faults::NONE;
    let Rendered { wrench: on_hand, pull, report } = render(model, state, handle, tick);
    faults.set_if(Faults::SOLVER_BOUNDED, report.sound && !report.outcome.converged);
    if !report.sound {
        faults.set(Faults::SOLVER_FAILED);
        state.gate.trip(Trip::Solver);
    }
    let wrench = if report.sound { on_hand * state.presence } else { Wrench::zeros() };
    let (force, torque) = state.clutch.mapping().wrench_to_hand(&wrench, &handle.rotation_device);
    // By a lever a torque is felt as a force.
    let torque = if model.rotation_actuated && handle.lever.is_none() { torque } else { Vec3::zeros() };
    Coupled { force: HandForce { force, torque }, pull, report, faults }
}

/// Wrench on the hand, in the scene.
fn render(model: &HapticModel, state: &mut HapticState, handle: &Handle, tick: &Tick<'_>) -> Rendered {
    match state.parameters.coupling(&model.coupling) {
        Coupling::Spring(spring) => {
            let proxy = proxy_step(model, state, handle, &spring, tick);
            Rendered { wrench: -proxy.wrench, ..proxy }
        }
        Coupling::Transparent { spring, .. } => {
            let proxy = proxy_step(model, state, handle, &spring, tick);
            let resisted = state.channels.resist(&proxy.report.wrench, &proxy.wrench);
            Rendered { wrench: resisted - proxy.wrench, ..proxy }
        }
        Coupling::Direct { stiffness, damping } => {
            let motion = ToolMotion {
                pose: handle.pose,
                twist: handle.twist,
                free: handle.twist,
                inverse: Mat6::zeros(),
                period_s: tick.period_s,
                lead_s: 0.5 * tick.period_s + damping / stiffness,
            };
            let report = state.local.solve(&motion, &model.solver, tick);
            state.proxy.place(handle.pose, handle.twist);
            // Whoever holds the handle brings up what the normal forces take.
            let pull = ToolPull { load: report.friction - report.wrench, pull: None };
            Rendered { wrench: report.wrench, pull, report }
        }
    }
}

/// Moves the proxy by one tick. The wrench is that of the coupling on the proxy.
fn proxy_step(
    model: &HapticModel,
    state: &mut HapticState,
    handle: &Handle,
    spring: &SpringDamper,
    tick: &Tick<'_>,
) -> Rendered {
    let rendered = is_rendered(state);
    if !rendered {
        // Nothing is rendered: the proxy stays with the handle, so that enabling starts without a stretched spring.
        state.proxy.place(handle.pose, handle.twist);
    }
    let (stiffness, damping, stretched) = springs(model, state.proxy.pose(), handle, spring);
    let displacement = stretch(model, state.clutch.mapping(), spring, &stretched, handle.lever.is_some());
    let coupling = pmi::Coupling { damping, stiffness, displacement, anchor_twist: handle.twist };
    let Some(mut step) = state.proxy.prepare(&handle.external, Some(&coupling), tick.period_s) else {
        let pull = ToolPull { load: Wrench::zeros(), pull: None };
        return Rendered { wrench: Wrench::zeros(), pull, report: LocalReport::default() };
    };
    if !model.tool_turns() {
        lock_rotation(&mut step);
    }
    let motion = ToolMotion {
        pose: *state.proxy.pose(),
        twist: *state.proxy.twist(),
        free: step.free,
        inverse: step.inverse,
        period_s: tick.period_s,
        lead_s: tick.period_s,
    };
    let report = state.local.solve(&motion, &model.solver, tick);
    let midpoint = step.free + step.inverse * report.wrench;
    state.proxy.finish(&step, &midpoint);
    if report.contacts > 0 {
        let settled = state.local.settle(state.proxy.twist(), &state.inverse_mass, tick.period_s);
        state.proxy.strike(settled);
    }
    let pull = coupling.wrench(&midpoint, tick.period_s);
    let by_hand = pull + handle.external;
    let of_hand = ToolPull { load: by_hand + report.friction, pull: rendered.then_some(by_hand) };
    Rendered { wrench: pull, pull: of_hand, report }
}

/// Stiffness, damping and stretch of what hangs between the handle and the proxy at `proxy`.
fn springs(model: &HapticModel, proxy: &Pose, handle: &Handle, spring: &SpringDamper) -> (Mat6, Mat6, Vec6) {
    match (&model.turning, handle.lever) {
        (Some(turning), Some(lever)) => {
            let upright = model.tool.start.rotation * turning.axis;
            spanner_springs(&turning.axis, &upright, &lever, spring, proxy, &handle.pose.translation.vector)
        }
        _ => {
            let diagonal = |six: &[f64; 6]| Mat6::from_diagonal(&Vec6::from(*six));
            (diagonal(&spring.stiffness), diagonal(&spring.damping), displacement(&handle.pose, proxy))
        }
    }
}

/// How far the spring is stretched, when it slips where it would pull harder than [`SLIPS`] times what the hand can be given: a hand that
/// drags the handle far from where the tool is held must not force the tool through what holds it.
fn stretch(model: &HapticModel, mapping: &Mapping, spring: &SpringDamper, displacement: &Vec6, by_lever: bool) -> Vec6 {
    let (motion, force) = (mapping.motion_scale, mapping.force_scale);
    // Torque that no hand feels has no limit.
    let torque = if model.rotation_actuated && !by_lever { model.limits.force.angular } else { f64::INFINITY };
    let most = [model.limits.force.linear / (motion * force), torque / force];
    let mut stretch = *displacement;
    for (part, most) in most.into_iter().enumerate() {
        let axes = 3 * part..3 * part + 3;
        let pull = axes.clone().map(|k| (spring.stiffness[k] * displacement[k]).powi(2)).sum::<f64>().sqrt();
        if pull > SLIPS * most {
            for k in axes {
                stretch[k] *= SLIPS * most / pull;
            }
        }
    }
    stretch
}

/// A tool on a device without rotation keeps its orientation: no torque turns it.
fn lock_rotation(step: &mut pmi::RigidStep) {
    lock(&mut step.inverse);
    let (linear, _) = split(&step.free);
    step.free = join(&linear, &Vec3::zeros());
}

/// Takes rotation out of a compliance.
pub(super) fn lock(inverse: &mut Mat6) {
    inverse.fixed_view_mut::<3, 6>(3, 0).fill(0.0);
    inverse.fixed_view_mut::<6, 3>(0, 3).fill(0.0);
}
