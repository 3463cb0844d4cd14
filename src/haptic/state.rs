//! What the tick remembers from one time to the next.
//!
//! Thread: haptic (RT).

use super::client_force::ClientForce;
use super::couple::lock;
use super::coupling::Channels;
use super::orders::InTray;
use super::parameters::LiveParameters;
use super::trip::Vigil;
use super::turning::ClientTurn;
use super::{Clutch, Coupling, Gate, HapticModel, Ledger, LocalMechanism, ParameterRange, TickRecord, Trip};
use crate::device::{Fit, HandForce, HandObserver, HandSample, Limiter, VelocityEstimator};
use crate::math::{Mat6, Twist};
use crate::mechanism::pmi::{Coriolis, Gravity, RigidBody};
use crate::shared::{Answer, Faults, Order, ToolSample};

/// Bandwidth of the observer that tells the couplings how fast the handle moves, Hz. Faster notices the hand's own pushes
/// sooner; but a hand adds mass that the observer does not know of, and at 60 Hz springs of 3 to 10 kN/m with little damping
/// ring under a limp hand of 250 g. At 20 Hz none does.
pub const MOTION_BANDWIDTH_HZ: f64 = 20.0;
/// Everything that changes from tick to tick. Made once; nothing in it allocates afterwards.
pub struct HapticState {
    // 1 read
    pub(super) velocity: VelocityEstimator,
    pub(super) observer: HandObserver,
    pub(super) last_sample: Option<HandSample>,
    /// Time without a sample that could be believed.
    pub(super) silent_ns: u64,
    /// Time in which the handle went unseen; a jump is seen.
    pub(super) unseen_ns: u64,
    // 2 map
    pub(super) parameters: LiveParameters,
    pub(super) clutch: Clutch,
    // 3 take
    pub(super) local: LocalMechanism,
    pub(super) seen: u64,
    pub(super) presence: f64,
    // 4 couple
    pub(super) proxy: RigidBody,
    pub(super) inverse_mass: Mat6,
    pub(super) channels: Channels,
    // 5 gate
    pub(super) gate: Gate,
    pub(super) tray: InTray,
    pub(super) client: ClientForce,
    pub(super) client_turn: ClientTurn,
    pub(super) retiring: bool,
    /// What tripped from outside since the last tick.
    pub(super) tripped: Option<Trip>,
    pub(super) overruns: u32,
    /// Force that carries the device's own weight.
    pub(super) weight: HandForce,
    // 6 account, 7 limit
    pub(super) ledger: Ledger,
    pub(super) limiter: Limiter,
    pub(super) vigil: Vigil,
    // 8 report
    pub(super) tool: ToolSample,
    pub(super) record: TickRecord,
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
