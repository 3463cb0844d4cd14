//! The tick: see the stages in the module's head.
//!
//! Thread: haptic (RT).

use super::client_force::ClientForce;
use super::coupling::Channels;
use super::local::ToolMotion;
use super::orders::InTray;
use super::parameters::LiveParameters;
use super::trip::{Sight, Vigil};
use super::turning::{ClientTurn, Lever, pressed, spanner_springs};
use super::{
    Clutch, Coupling, Gate, HapticModel, Hold, Ledger, LocalMechanism, LocalReport, ParameterRange, SpringDamper,
    TickInput, TickRecord, Touches, Trip,
};
use crate::device::{Fit, HandForce, HandMotion, HandObserver, HandSample, Limiter, SafeForce, VelocityEstimator};
use crate::math::{
    Mapping, Mat6, Pose, Rot, Twist, Vec3, Vec6, Wrench, displacement, exp_so3, join, pose_is_sound, split,
};
use crate::mechanism::MechanismSnapshot;
use crate::mechanism::pmi::{self, Coriolis, Gravity, RigidBody};
use crate::shared::lifecycle::{Event, Guard, Refusal, State};
use crate::shared::{Answer, Change, Faults, MonoNs, NS_PER_S, Order, Parameter, Stamp, Tick, ToolSample};

/// Bandwidth of the observer that tells the couplings how fast the handle moves, Hz. Faster notices the hand's own pushes
/// sooner; but a hand adds mass that the observer does not know of, and at 60 Hz springs of 3 to 10 kN/m with little damping
/// ring under a limp hand of 250 g. At 20 Hz none does.
pub const MOTION_BANDWIDTH_HZ: f64 = 20.0;
/// Pull of the coupling, in force limits of the hand, beyond which it slips.
const SLIPS: f64 = 2.0;

/// A force beyond this share of its limit stands at it.
const AT_LIMIT: f64 = 0.99;
/// Share of a force below which the energy bound has left nothing of it, and the least force that this is asked of, N.
const STARVED: f64 = 0.1;
const STARVED_LEAST_N: f64 = 0.5;
/// Rotation in rad/s that counts as much as a motion of 1 m/s when it is asked whether the handle stands still.
const STILL_RAD_PER_M: f64 = 10.0;

/// Everything that changes from tick to tick. Made once; nothing in it allocates afterwards.
pub struct HapticState {
    // 1 read
    velocity: VelocityEstimator,
    observer: HandObserver,
    last_sample: Option<HandSample>,
    /// Time without a sample that could be believed.
    silent_ns: u64,
    /// Time in which the handle went unseen; a jump is seen.
    unseen_ns: u64,
    // 2 map
    parameters: LiveParameters,
    clutch: Clutch,
    // 3 take
    local: LocalMechanism,
    seen: u64,
    presence: f64,
    // 4 couple
    proxy: RigidBody,
    inverse_mass: Mat6,
    channels: Channels,
    // 5 gate
    gate: Gate,
    tray: InTray,
    client: ClientForce,
    client_turn: ClientTurn,
    retiring: bool,
    /// What tripped from outside since the last tick.
    tripped: Option<Trip>,
    overruns: u32,
    /// Force that carries the device's own weight.
    weight: HandForce,
    // 6 account, 7 limit
    ledger: Ledger,
    limiter: Limiter,
    vigil: Vigil,
    // 8 report
    tool: ToolSample,
    record: TickRecord,
}

impl HapticState {
    /// At rest, disabled, nothing touched.
    #[must_use]
    pub fn new(model: &HapticModel, spec: &crate::device::DeviceSpec) -> Self {
        let pose = model.tool.start;
        let contact_compliance = match model.coupling {
            Coupling::Direct { stiffness, .. } => 1.0 / stiffness,
            _ => model.policy.contact_yield,
        };
        let bandwidth_hz = match model.coupling {
            Coupling::Transparent { bandwidth_hz, .. } => bandwidth_hz,
            _ => MOTION_BANDWIDTH_HZ,
        };
        let ledger = Ledger::new(&model.limits, &model.mechanics);
        let mut inverse_mass = model.tool.inertia.inverse_matrix();
        if !model.tool_turns() {
            lock(&mut inverse_mass);
        }
        Self {
            velocity: VelocityEstimator::new(Fit::Best, model.mechanics.quantum),
            observer: HandObserver::new(spec, bandwidth_hz),
            last_sample: None,
            silent_ns: 0,
            unseen_ns: 0,
            parameters: LiveParameters::new(model, spec),
            clutch: Clutch::new(model.mapping),
            local: LocalMechanism::new(contact_compliance, model.policy.blend_s, model.surfaces.clone()),
            seen: 0,
            presence: 0.0,
            proxy: RigidBody::new(model.tool.inertia, Gravity::NONE, Coriolis::Start, pose, Twist::zeros()),
            inverse_mass,
            channels: Channels::new(model, bandwidth_hz),
            gate: Gate::default(),
            tray: InTray::new(),
            client: ClientForce::NONE,
            client_turn: ClientTurn::NONE,
            retiring: false,
            tripped: None,
            overruns: 0,
            weight: HandForce::zero(),
            limiter: Limiter::new(model.limits),
            vigil: Vigil::default(),
            tool: ToolSample::at_rest(pose),
            record: TickRecord::empty(pose),
            ledger,
        }
    }

    /// Hands an order to the next tick, which carries it out or refuses it; false, and nothing done, when that tick has
    /// its hands full ([`super::ORDERS_PER_TICK`]).
    pub fn order(&mut self, order: Order) -> bool {
        self.tray.add(order)
    }

    /// How many more orders the next tick takes.
    #[must_use]
    pub fn room_for_orders(&self) -> usize {
        self.tray.room()
    }

    /// What became of the orders of the last tick, in their order.
    #[must_use]
    pub fn answers(&self) -> &[Answer] {
        self.tray.answers()
    }

    /// FAULT at once, latched; a cause that is there already is kept. Seen in the record of the next tick.
    pub fn trip(&mut self, cause: Trip) {
        self.gate.trip(cause);
        // The gate keeps the first cause, and so does what is needed to run this again.
        self.tripped = self.tripped.or(Some(cause));
    }

    /// From the next tick on, forces end and every order is refused.
    pub fn retire(&mut self) {
        self.retiring = true;
    }

    /// The force that carries the device's own weight where it is now, for the next tick to add. What is not finite is none.
    pub fn carry(&mut self, weight: HandForce) {
        self.weight = if weight.is_finite() { weight } else { HandForce::zero() };
    }

    /// What the parameters may be set to.
    #[must_use]
    pub fn parameter_range(&self) -> &ParameterRange {
        self.parameters.range()
    }

    /// Takes note that the device did not take the force of this tick: it may still hold the one before.
    pub fn unheard(&mut self) {
        let held = self.ledger.unheard();
        self.observer.sent(&held);
        self.channels.sent(&held);
        self.record.faults.set(Faults::DEVICE_SILENT);
        self.record.input.unheard = true;
    }

    /// The tool as the simulation should know it.
    #[must_use]
    pub fn tool(&self) -> &ToolSample {
        &self.tool
    }

    /// What the last tick did.
    #[must_use]
    pub fn record(&self) -> &TickRecord {
        &self.record
    }

    /// Operating state and ramp.
    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The energy account.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The local mechanism.
    #[must_use]
    pub fn local(&self) -> &LocalMechanism {
        &self.local
    }
}

/// Handle in the scene, for one tick.
#[derive(Clone, Copy)]
struct Handle {
    pose: Pose,
    twist: Twist,
    rotation_device: Rot,
    motion: HandMotion,
    /// Force of the hand on the proxy: what it would take to move the handle if it were the proxy; zero but for the
    /// transparent coupling.
    external: Wrench,
    /// The lever of a spanner, where the handle has the tool by one.
    lever: Option<Lever>,
}

/// One tick. `sample` is `None` when the device gave nothing. Pure: the outcome depends on the arguments alone, but for
/// where the time bound cuts a solve short.
pub fn tick(
    model: &HapticModel,
    state: &mut HapticState,
    sample: Option<HandSample>,
    snapshot: &MechanismSnapshot,
    tick: &mut Tick<'_>,
) -> SafeForce {
    let mut faults = Faults::NONE;
    note_input(state, sample, tick);
    let overrun = tick.skipped > 0 || tick.lateness_ns() as f64 > tick.period_s * NS_PER_S as f64;
    faults.set_if(Faults::OVERRUN, overrun);
    state.overruns = if overrun { state.overruns + 1 } else { 0 };
    if state.overruns >= model.policy.overruns_trip {
        state.gate.trip(Trip::Deadline);
    }
    // 1 read
    let Some(sample) = believe(model, state, sample, tick, &mut faults) else {
        return silent(model, state, tick, faults);
    };
    // 2 map
    let handle = map(model, state, &sample, tick);
    // 3 take
    take(model, state, snapshot, tick, &mut faults);
    // 4 couple
    let (felt, report) = feel(model, state, &handle, tick, &mut faults);
    // 5 gate
    if !sample.homed && state.gate.state().allows_force() {
        state.gate.trip(Trip::DeviceLost);
    }
    let still = stands_still(model, &handle.motion);
    obey(model, state, Guard { homed: sample.homed, cause_persists: overrun || !still }, tick);
    let client = state.client.at(tick.began);
    let wanted = HandForce { force: felt.force + client.force, torque: felt.torque + client.torque };
    let gated = if wanted.is_finite() {
        state.gate.pass(wanted, &model.policy, tick.period_s)
    } else {
        faults.set(Faults::FORCE_INVALID);
        state.gate.trip(Trip::Solver);
        HandForce::zero()
    };
    // 6 account
    state.ledger.observe(&sample.pose_device_handle, tick.period_s, &mut faults);
    let budget = state.ledger.budget(tick.period_s);
    // 7 limit
    let budget = model.policy.passivity.then_some(&budget);
    // The weight follows the ramp like any force, but does not keep it waiting.
    let gain = state.gate.gain();
    let carried = HandForce { force: state.weight.force * gain, torque: state.weight.torque * gain };
    let safe = if gain > 0.0 {
        let whole = gated.with(&carried);
        state.limiter.limit_carrying(whole, &carried, &handle.motion, budget, tick.period_s, &mut faults)
    } else {
        state.limiter.zero()
    };
    let safe = watch(model, state, &handle.motion, &gated, safe, faults, tick);
    sent(state, &safe, &carried);
    // 8 report
    publish(state, &sample, &handle, tick);
    state.record.wanted = wanted;
    state.record.contacts = report.contacts;
    state.record.touches = state.local.touches(&state.record.pose_world_tool);
    state.record.penetration_m = report.penetration_m;
    state.record.iterations = report.outcome.iterations;
    state.record.residual = report.outcome.residual;
    close(state, &safe, tick, faults);
    safe
}

/// Takes note of what the tick depends on.
fn note_input(state: &mut HapticState, sample: Option<HandSample>, tick: &Tick<'_>) {
    state.record.input = TickInput {
        sample,
        weight: state.weight,
        skipped: tick.skipped,
        trip: state.tripped.take(),
        retiring: state.retiring,
        ..TickInput::default()
    };
}

/// Takes note of the force that goes out: what moves the handle is what the weight leaves of it.
fn sent(state: &mut HapticState, safe: &SafeForce, carried: &HandForce) {
    state.ledger.commit(safe, carried);
    let felt = safe.get().without(carried);
    state.observer.sent(&felt);
    state.channels.sent(&felt);
}

/// Stage 1: the sample, if it can be believed.
fn believe(
    model: &HapticModel,
    state: &mut HapticState,
    sample: Option<HandSample>,
    tick: &Tick<'_>,
    faults: &mut Faults,
) -> Option<HandSample> {
    let period_ns = (tick.period_s * NS_PER_S as f64) as u64;
    let sound = sample.filter(|sample| pose_is_sound(&sample.pose_device_handle));
    let Some(mut sample) = sound else {
        faults.set(if sample.is_none() { Faults::DEVICE_SILENT } else { Faults::DEVICE_INVALID });
        state.silent_ns += period_ns;
        state.unseen_ns += period_ns;
        return None;
    };
    // A place out of reach is not believed however long it is reported: counts were lost, and the device must be homed.
    let since_s = (1 + tick.skipped) as f64 * tick.period_s + state.unseen_ns as f64 / NS_PER_S as f64;
    let reach = model.policy.jump_m_per_s * since_s;
    let way =
        |last: HandSample| sample.pose_device_handle.translation.vector - last.pose_device_handle.translation.vector;
    // Until it is homed a device does not know where it is, and leaps when it learns.
    let leaps = state.last_sample.is_some_and(|last| !last.homed);
    if !leaps && state.last_sample.is_some_and(|last| way(last).norm() > reach) {
        faults.set(Faults::DEVICE_INVALID);
        state.silent_ns += period_ns;
        return None;
    }
    if !model.rotation_sensed {
        sample.pose_device_handle.rotation = Rot::identity();
    }
    if state.silent_ns > 0 || leaps && sample.homed {
        state.velocity.reset();
        state.observer.reset();
        (state.silent_ns, state.unseen_ns) = (0, 0);
    }
    state.last_sample = Some(sample);
    Some(sample)
}

/// A tick without a believable sample: zero force, and a latched fault if it goes on.
fn silent(model: &HapticModel, state: &mut HapticState, tick: &Tick<'_>, faults: Faults) -> SafeForce {
    if state.silent_ns as f64 > model.policy.device_lost_s * NS_PER_S as f64 {
        state.gate.trip(Trip::DeviceLost);
        // Where the handle comes back is not known: believe the first sound sample then.
        state.last_sample = None;
        (state.record.homed, state.record.buttons) = (false, 0);
    }
    obey(model, state, Guard { homed: false, cause_persists: true }, tick);
    state.vigil.interrupt();
    state.ledger.observe_nothing(tick.period_s);
    let safe = state.limiter.zero();
    sent(state, &safe, &HandForce::zero());
    let record = &mut state.record;
    record.wanted = HandForce::zero();
    (record.contacts, record.touches, record.iterations) = (0, Touches::NONE, 0);
    (record.penetration_m, record.residual) = (0.0, 0.0);
    close(state, &safe, tick, faults);
    safe
}

/// Stage 2: parameters on their way.
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

/// Stage 2: the handle in the scene.
fn map(model: &HapticModel, state: &mut HapticState, sample: &HandSample, tick: &Tick<'_>) -> Handle {
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

/// True while forces are rendered.
fn is_rendered(state: &HapticState) -> bool {
    state.gate.state().allows_force() || state.gate.gain() > 0.0
}

/// Stage 2: how the hand has the tool. While nothing is rendered the tool goes with the handle, and there is no spanner.
fn hold(model: &HapticModel, state: &HapticState, buttons: u32) -> Hold {
    let spanner = model.turning.and_then(|turning| turning.spanner);
    match spanner {
        _ if pressed(buttons, model.clutch_button) => Hold::Clutch,
        Some(spanner) if pressed(buttons, Some(spanner.button)) && is_rendered(state) => Hold::Spanner(spanner.lever),
        _ => Hold::Grip,
    }
}

/// Stage 2: the lever of a spanner that is on, slipped as far as the handle at `pose` asks it to.
fn slip(model: &HapticModel, state: &mut HapticState, pose: &Pose) -> Option<Lever> {
    let (turning, end) = model.turning.as_ref().zip(state.clutch.lever())?;
    let tool = state.proxy.pose();
    let handle = tool.inverse_transform_vector(&(pose.translation.vector - tool.translation.vector));
    let lever = turning.slipped(turning.spanner.as_ref()?, &end, &handle);
    state.clutch.set_lever(lever.end);
    Some(lever)
}

/// Stage 2: turns the tool in its grip. The gripped pose, and how fast it turns by that, in the tool's frame.
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

/// Stage 3: the newest mechanism, if it is new, whole and not too old.
fn take(
    model: &HapticModel,
    state: &mut HapticState,
    snapshot: &MechanismSnapshot,
    tick: &Tick<'_>,
    faults: &mut Faults,
) {
    if snapshot.stamp.sequence != state.seen {
        state.seen = snapshot.stamp.sequence;
        if snapshot.is_sound() {
            state.local.adopt(snapshot, state.proxy.pose(), tick.began, tick.period_s);
        } else {
            faults.set(Faults::SNAPSHOT_INVALID);
        }
    }
    let current = state.local.snapshot();
    faults.set_if(Faults::SNAPSHOT_OVERFULL, current.dropped > 0);
    let missing = current.stamp.sequence == 0;
    let hold_s = (model.policy.hold_steps * current.step_s).max(model.policy.hold_least_s);
    let stale = current.stamp.age(tick.began) as f64 > hold_s * NS_PER_S as f64;
    faults.set_if(Faults::SNAPSHOT_MISSING, missing);
    faults.set_if(Faults::SNAPSHOT_STALE, !missing && stale);
    let step = tick.period_s / model.policy.fade_s.max(tick.period_s);
    if missing || stale {
        state.presence = (state.presence - step).max(0.0);
        if state.presence == 0.0 {
            state.local.release();
        }
    } else {
        state.presence = (state.presence + step).min(1.0);
    }
}

/// Stage 4: wrench on the hand, in the scene.
fn couple(model: &HapticModel, state: &mut HapticState, handle: &Handle, tick: &Tick<'_>) -> (Wrench, LocalReport) {
    match state.parameters.coupling(&model.coupling) {
        Coupling::Spring(spring) => {
            let (on_proxy, report) = proxy_step(model, state, handle, &spring, tick);
            (-on_proxy, report)
        }
        Coupling::Transparent { spring, .. } => {
            let (on_proxy, report) = proxy_step(model, state, handle, &spring, tick);
            (state.channels.resist(&report.wrench, &on_proxy) - on_proxy, report)
        }
        Coupling::Direct { stiffness, damping } => {
            let motion = ToolMotion {
                pose: handle.pose,
                free: handle.twist,
                inverse: Mat6::zeros(),
                period_s: tick.period_s,
                lead_s: 0.5 * tick.period_s + damping / stiffness,
            };
            let report = state.local.solve(&motion, &model.solver, tick);
            state.proxy.place(handle.pose, handle.twist);
            // Whoever holds the handle brings up what the normal forces take.
            (state.tool.load, state.tool.pull) = (report.friction - report.wrench, None);
            (report.wrench, report)
        }
    }
}

/// Moves the proxy by one tick; gives the wrench of the coupling on it.
fn proxy_step(
    model: &HapticModel,
    state: &mut HapticState,
    handle: &Handle,
    spring: &SpringDamper,
    tick: &Tick<'_>,
) -> (Wrench, LocalReport) {
    let rendered = is_rendered(state);
    if !rendered {
        // Nothing is rendered: the proxy stays with the handle, so that enabling starts without a stretched spring.
        state.proxy.place(handle.pose, handle.twist);
    }
    let (stiffness, damping, stretched) = springs(model, state.proxy.pose(), handle, spring);
    let displacement = stretch(model, state.clutch.mapping(), spring, &stretched, handle.lever.is_some());
    let coupling = pmi::Coupling { damping, stiffness, displacement, anchor_twist: handle.twist };
    let Some(mut step) = state.proxy.prepare(&handle.external, Some(&coupling), tick.period_s) else {
        return (Wrench::zeros(), LocalReport::default());
    };
    if !model.tool_turns() {
        lock_rotation(&mut step);
    }
    let motion = ToolMotion {
        pose: *state.proxy.pose(),
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
    state.tool.load = pull + handle.external + report.friction;
    state.tool.pull = rendered.then_some(pull + handle.external);
    (pull, report)
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
fn lock(inverse: &mut Mat6) {
    inverse.fixed_view_mut::<3, 6>(3, 0).fill(0.0);
    inverse.fixed_view_mut::<6, 3>(0, 3).fill(0.0);
}

/// Stage 4: the force on the hand, in the device's base frame, as the scene would have it.
fn feel(
    model: &HapticModel,
    state: &mut HapticState,
    handle: &Handle,
    tick: &mut Tick<'_>,
    faults: &mut Faults,
) -> (HandForce, LocalReport) {
    let (on_hand, report) = couple(model, state, handle, tick);
    faults.set_if(Faults::SOLVER_BOUNDED, report.sound && !report.outcome.converged);
    if !report.sound {
        faults.set(Faults::SOLVER_FAILED);
        state.gate.trip(Trip::Solver);
    }
    let wrench = if report.sound { on_hand * state.presence } else { Wrench::zeros() };
    let (force, torque) = state.clutch.mapping().wrench_to_hand(&wrench, &handle.rotation_device);
    // By a lever a torque is felt as a force.
    let torque = if model.rotation_actuated && handle.lever.is_none() { torque } else { Vec3::zeros() };
    (HandForce { force, torque }, report)
}

/// True when the handle moves so little that a fault may be acknowledged.
fn stands_still(model: &HapticModel, motion: &HandMotion) -> bool {
    let (still, limit) = (model.policy.still_m_per_s, model.limits.speed);
    let slow = motion.linear.norm() <= still.min(limit.linear);
    slow && (!model.rotation_sensed || motion.angular.norm() <= (still * STILL_RAD_PER_M).min(limit.angular))
}

/// Stage 5: each order whole, or not at all.
fn obey(model: &HapticModel, state: &mut HapticState, guard: Guard, tick: &Tick<'_>) {
    if state.retiring && state.gate.state() != State::Fault {
        // Cannot be refused in any other state.
        let _ = state.gate.obey(Event::Disable, guard);
    }
    for index in 0..state.tray.begin() {
        let order = *state.tray.order(index);
        let outcome =
            if state.retiring { Err((0, Refusal::Stopping)) } else { carry_out(model, state, &order, guard, tick) };
        state.tray.answer(order.sequence, tick.index, outcome);
    }
    if !state.gate.state().allows_force() {
        (state.client, state.client_turn) = (ClientForce::NONE, ClientTurn::NONE);
    }
}

/// Tries the changes of an order on copies; they take the place of what they are copies of when none was refused.
fn carry_out(
    model: &HapticModel,
    state: &mut HapticState,
    order: &Order,
    guard: Guard,
    tick: &Tick<'_>,
) -> Result<(), (usize, Refusal)> {
    let (mut gate, mut target) = (state.gate, *state.parameters.target());
    let (mut client, mut client_turn) = (state.client, state.client_turn);
    let mut last_set = 0;
    for (index, change) in order.changes().iter().enumerate() {
        let outcome = match *change {
            Change::Event(event) => gate.obey(event, guard),
            Change::Set(parameter, value) => {
                last_set = index;
                target.set(parameter, value);
                state.parameters.range().check(parameter, value)
            }
            Change::Force { .. } | Change::Turn { .. } if !gate.state().allows_force() => {
                Err(Refusal::WrongState(gate.state()))
            }
            Change::Force { force, torque, until } => {
                ClientForce::new(model, force, torque, until, tick.began).map(|force| client = force)
            }
            Change::Turn { rate, until } => {
                ClientTurn::new(model, rate, until, tick.began).map(|turn| client_turn = turn)
            }
        };
        outcome.map_err(|refusal| (index, refusal))?;
        if !gate.state().allows_force() {
            (client, client_turn) = (ClientForce::NONE, ClientTurn::NONE);
        }
    }
    if target != *state.parameters.target() {
        state.parameters.range().check_together(&target).map_err(|refusal| (last_set, refusal))?;
    }
    (state.gate, state.client, state.client_turn) = (gate, client, client_turn);
    state.parameters.aim(target);
    Ok(())
}

/// Stage 7: what must not last. The force, or none when it has lasted too long.
fn watch(
    model: &HapticModel,
    state: &mut HapticState,
    motion: &HandMotion,
    gated: &HandForce,
    safe: SafeForce,
    faults: Faults,
    tick: &Tick<'_>,
) -> SafeForce {
    let enabled = state.gate.state().allows_force();
    let (policy, limits, sent) = (&model.policy, &model.limits, safe.get());
    // A limit of zero is that of a part the device does not have.
    let beyond = |size: f64, limit: f64, factor: f64| limit > 0.0 && size > factor * limit;
    let asked_n = gated.force.norm();
    let sight = Sight {
        fast: enabled
            && (beyond(motion.linear.norm(), limits.speed.linear, policy.speed_trip)
                || model.rotation_sensed && beyond(motion.angular.norm(), limits.speed.angular, policy.speed_trip)),
        blind: enabled && (faults.contains(Faults::SNAPSHOT_MISSING) || faults.contains(Faults::SNAPSHOT_STALE)),
        at_limit: beyond(sent.force.norm(), limits.force.linear, AT_LIMIT)
            || beyond(sent.torque.norm(), limits.force.angular, AT_LIMIT),
        starved: faults.contains(Faults::PASSIVITY_LIMITED)
            && asked_n > STARVED_LEAST_N
            && sent.force.norm() < STARVED * asked_n,
    };
    let elapsed_s = (1 + tick.skipped) as f64 * tick.period_s;
    let Some(cause) = state.vigil.look(&sight, policy, elapsed_s) else { return safe };
    state.gate.trip(cause);
    state.limiter.zero()
}

/// Stage 8: the tool for the simulation.
fn publish(state: &mut HapticState, sample: &HandSample, handle: &Handle, tick: &Tick<'_>) {
    let (pushes, pushed_s) = state.local.pushes();
    state.tool = ToolSample {
        stamp: Stamp { sequence: tick.index, at: tick.began },
        pose_world_tool: *state.proxy.pose(),
        twist_tool: *state.proxy.twist(),
        load: state.tool.load,
        pull: state.tool.pull,
        pushes: *pushes,
        pushed_s,
        tip: state.local.tip(),
        buttons: sample.buttons,
    };
    let record = &mut state.record;
    (record.homed, record.buttons) = (sample.homed, sample.buttons);
    record.pose_device_handle = sample.pose_device_handle;
    record.velocity = handle.motion.linear;
    record.pose_world_handle = handle.pose;
    record.pose_world_tool = *state.proxy.pose();
}

/// Stage 8: the record.
fn close(state: &mut HapticState, safe: &SafeForce, tick: &Tick<'_>, faults: Faults) {
    let now: MonoNs = tick.now();
    let record = &mut state.record;
    record.index = tick.index;
    record.due = tick.due;
    record.lateness_ns = tick.lateness_ns();
    record.compute_ns = now.since(tick.began);
    record.faults = faults;
    record.state = state.gate.state();
    record.cause = state.gate.cause();
    record.parameters = *state.parameters.current();
    record.gain = state.gate.gain();
    record.force = *safe.get();
    record.snapshot_age_ns = state.local.snapshot().stamp.age(tick.began);
    record.account = *state.ledger.account();
    record.input.snapshot = state.seen;
    record.input.cut_after = tick.cut_after();
    state.gate.close();
}
