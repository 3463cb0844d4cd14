//! Haptic loops of one axis in virtual time: simulated device, proxy on a spring and damper, a rigid wall.
//!
//! Thread: main (cold).
//!
//! Two ways to render: the haptic tick itself ([`TickRig`]), and three stand-alone integrators of a proxy on one axis
//! ([`AxisProxy`]), each with the force that can be known at the tick: position `x_h` and velocity `v_h` of the handle at
//! its beginning. With `e = x_h − x` and proxy mass `m`:
//!
//! ```text
//!  semi-implicit Euler  f = K e + B (v_h − v)                    v⁺ = v + T f/m    x⁺ = x + T v⁺
//!  implicit Euler       f = K (e + T (v_h − v⁺)) + B (v_h − v⁺)  v⁺ = v + T f/m    x⁺ = x + T v⁺
//!  midpoint (PMI)       f = K (e + T/2 (v_h − v̂)) + B (v_h − v̂)  v̂ = v + T f/2m    x⁺ = x + T v̂    v⁺ = 2v̂ − v
//! ```

use crate::device::{
    Device, DeviceSpec, HandForce, HandMotion, HandObserver, Limiter, Operator, PerPart, SafeForce, SimulatedDevice,
};
use crate::haptic::{
    Coupling, HapticModel, HapticState, MOTION_BANDWIDTH_HZ, Policy, SpringDamper, Surfaces, TickRecord, ToolModel,
    tick,
};
use crate::math::{Mapping, Mat3, Pose, Vec3};
use crate::mechanism::pmi::RigidInertia;
use crate::mechanism::solver::Settings;
use crate::mechanism::{Block, BlockId, Law, MechanismSnapshot, Row, RowKind};
use crate::shared::lifecycle::Event;
use crate::shared::{Faults, ManualClock, MonoNs, NS_PER_S, Order, Stamp, Tick};

/// Virtual time starts here, not at zero, so that the age of something that never was is large.
const ORIGIN: MonoNs = MonoNs(1_000_000_000_000);

/// Ticks between two mechanisms: a simulation of 50 Hz.
const TICKS_PER_STEP: u64 = 20;

/// How the proxy is integrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Passive midpoint integration, as the haptic tick does it.
    Midpoint,
    /// Explicit force, then position from the new velocity.
    SemiImplicit,
    /// Force from the end of the step.
    Implicit,
}

/// A proxy on one axis. The wall, if there is one, holds it at `x ≥ 0`.
#[derive(Clone, Copy, Debug)]
pub struct AxisProxy {
    /// Mass, kg.
    pub mass_kg: f64,
    /// Spring to the handle, N/m.
    pub stiffness: f64,
    /// Damper to the handle, N·s/m.
    pub damping: f64,
    /// Position, m.
    pub position: f64,
    /// Velocity, m/s.
    pub velocity: f64,
}

impl AxisProxy {
    /// Moves the proxy by one tick of `period_s`; gives the force on the hand, N.
    pub fn step(&mut self, scheme: Scheme, (position, velocity): (f64, f64), wall: bool, period_s: f64) -> f64 {
        let stretch = position - self.position;
        let (lead, inertia) = match scheme {
            Scheme::SemiImplicit => (0.0, self.mass_kg / period_s),
            Scheme::Implicit => (period_s, self.mass_kg / period_s),
            Scheme::Midpoint => (0.5 * period_s, 2.0 * self.mass_kg / period_s),
        };
        // Force = pull − gain · velocity of the proxy.
        let gain = self.damping + self.stiffness * lead;
        let pull = self.stiffness * stretch + gain * velocity;
        let explicit = pull - gain * self.velocity;
        let yielding = if scheme == Scheme::SemiImplicit { inertia } else { inertia + gain };
        let free = self.velocity + explicit / yielding;
        // The wall stops it at x = 0.
        let stop = -self.position / period_s;
        let moved = if wall { free.max(stop) } else { free };
        let force = if scheme == Scheme::SemiImplicit { explicit } else { pull - gain * moved };
        self.position += period_s * moved;
        self.velocity = if scheme == Scheme::Midpoint {
            let end = 2.0 * moved - self.velocity;
            if moved > free { self.without_recoil(end, yielding * (moved - free), period_s) } else { end }
        } else {
            moved
        };
        -force
    }

    /// What the tick makes of the recoil of the midpoint rule (`LocalMechanism::settle`): the contact law on the velocity
    /// at the end, unless that puts energy in.
    fn without_recoil(&self, end: f64, contact_n: f64, period_s: f64) -> f64 {
        let settled = (end - contact_n * period_s / self.mass_kg).max(0.0);
        if end.abs() < 1e-6 || settled.abs() > end.abs() { end } else { settled }
    }
}

/// What is rendered on the axis.
#[derive(Clone, Copy, Debug)]
pub enum Render {
    /// A stand-alone proxy on a spring.
    Proxy(Scheme),
    /// The haptic tick with a coupling made from the spring.
    Tick(fn(SpringDamper) -> Coupling),
}

/// One loop whose stability is asked for.
#[derive(Clone, Debug)]
pub struct LoopCase {
    /// The device as the loop knows it; limits do not bind.
    pub spec: DeviceSpec,
    /// Mass of a limp hand that moves with the handle and that the loop does not know of, kg.
    pub hand_mass_kg: f64,
    /// How it is rendered.
    pub render: Render,
    /// Spring between handle and proxy, N/m.
    pub stiffness: f64,
    /// Damper between handle and proxy, N·s/m.
    pub damping: f64,
    /// Mass of the proxy, kg.
    pub proxy_mass_kg: f64,
}

/// A hand of this mass or more holds the handle as if it were clamped, kg.
pub const HELD_KG: f64 = 20.0;
/// Force of a dead weight that presses the handle against the wall, N.
const PRESS_N: f64 = 2.0;
/// Speed of the handle that starts the oscillation in free motion, m/s.
const THROW_M_PER_S: f64 = 0.1;
/// Windows over which the oscillation is compared, and ticks in each.
const WINDOWS: usize = 6;
const WINDOW_TICKS: usize = 250;

impl LoopCase {
    /// True when an oscillation dies away both against the wall and in free motion. A handle that is held ([`HELD_KG`])
    /// does not swing at the wall; there the proxy alone can.
    #[must_use]
    pub fn is_stable(&self) -> bool {
        (self.hand_mass_kg >= HELD_KG || self.settles(true)) && self.settles(false)
    }

    /// True when an oscillation dies away: of a handle at the wall that a dead weight is put on, or of a thrown handle
    /// that drags the proxy along.
    #[must_use]
    pub fn settles(&self, wall: bool) -> bool {
        let mut spec = self.spec.clone();
        spec.mechanics.inertia.linear += self.hand_mass_kg;
        unlimit(&mut spec);
        let mut device = SimulatedDevice::new(spec, Operator::absent(), 1);
        let (speed, push) = if wall { (0.0, -PRESS_N) } else { (-THROW_M_PER_S, 0.0) };
        device.set_true(Pose::identity(), HandMotion { linear: Vec3::x() * speed, angular: Vec3::zeros() });
        let energies = match self.render {
            Render::Proxy(scheme) => self.swing_proxy(scheme, &mut device, wall, push),
            Render::Tick(coupling) => self.swing_tick(coupling, device, wall, push),
        };
        // At the wall a swing cannot be faster than the weight makes it: without that, a handle that the wall throws off
        // would pass for one whose swing dies away.
        let mass = self.spec.mechanics.inertia.linear + self.hand_mass_kg;
        let (swing, jerk) = (PRESS_N / (self.stiffness * mass).sqrt(), PRESS_N / (mass * self.spec.rate_hz));
        let most = if wall { 10.0 * swing.max(jerk).powi(2) } else { f64::INFINITY };
        energies[0] <= most && dies_away(&energies)
    }

    /// Largest oscillation energy in each window, rendered by a stand-alone proxy.
    fn swing_proxy(&self, scheme: Scheme, device: &mut SimulatedDevice, wall: bool, push: f64) -> [f64; WINDOWS] {
        let period_s = 1.0 / self.spec.rate_hz;
        let (mass_kg, stiffness, damping) = (self.proxy_mass_kg, self.stiffness, self.damping);
        let mut proxy = AxisProxy { mass_kg, stiffness, damping, position: 0.0, velocity: 0.0 };
        let mut observer = HandObserver::new(&self.spec, MOTION_BANDWIDTH_HZ);
        let clock = ManualClock::at(ORIGIN);
        let mut energies = [0.0_f64; WINDOWS];
        for index in 0..WINDOWS * WINDOW_TICKS {
            let due = ORIGIN.plus((index as f64 * period_s * NS_PER_S as f64).round() as u64);
            clock.set(due);
            let mut now = Tick::begin(index as u64 + 1, due, period_s, 0, &clock);
            let Ok(sample) = device.read(&mut now) else { break };
            let velocity = observer.update(&sample.pose_device_handle).motion.linear.x;
            let handle = (sample.pose_device_handle.translation.x, velocity);
            let force = along(proxy.step(scheme, handle, wall, period_s));
            observer.sent(&force);
            let swing =
                if wall { device.motion_true().linear.x } else { device.motion_true().linear.x - proxy.velocity };
            if !note(&mut energies, index, swing * swing) {
                break;
            }
            let _ = device.write(&unlimited(HandForce { force: force.force + Vec3::x() * push, ..force }), &mut now);
        }
        energies
    }

    /// The same, rendered by the haptic tick.
    fn swing_tick(
        &self,
        coupling: fn(SpringDamper) -> Coupling,
        device: SimulatedDevice,
        wall: bool,
        push: f64,
    ) -> [f64; WINDOWS] {
        let spring = SpringDamper::isotropic(self.stiffness, self.damping, 0.0, 0.0);
        let mut spec = self.spec.clone();
        unlimit(&mut spec);
        let model = raw_model(&spec, coupling(spring), self.proxy_mass_kg);
        let mut rig = TickRig::new(model, &spec, device, wall);
        let mut energies = [0.0_f64; WINDOWS];
        for index in 0..WINDOWS * WINDOW_TICKS {
            rig.beat(push);
            let handle = rig.device.motion_true().linear.x;
            let swing = if wall { handle } else { handle - rig.state.tool().twist_tool[0] };
            if !note(&mut energies, index, swing * swing) {
                break;
            }
        }
        energies
    }
}

/// Enters an energy in its window; false when it has run away.
fn note(energies: &mut [f64; WINDOWS], index: usize, energy: f64) -> bool {
    let window = &mut energies[index / WINDOW_TICKS];
    *window = window.max(energy);
    let sound = energy < 1e9;
    if !sound {
        energies[WINDOWS - 1] = f64::INFINITY;
    }
    sound
}

/// The oscillation is all but gone, or is dying: never beyond what it was at first, and falling.
fn dies_away(energies: &[f64; WINDOWS]) -> bool {
    let (first, last) = (energies[0], energies[WINDOWS - 1]);
    let grew = energies.iter().any(|energy| *energy > 1.5 * first);
    first.is_finite() && !grew && (last <= 1e-6 * first || last <= 0.7 * energies[WINDOWS / 2 - 1])
}

/// The haptic tick on a simulated device, against a wall at `x = 0` that stands on the left, or in free space.
pub struct TickRig {
    /// What does not change.
    pub model: HapticModel,
    /// The state of the tick.
    pub state: HapticState,
    /// The device in its hand.
    pub device: SimulatedDevice,
    snapshot: Box<MechanismSnapshot>,
    clock: ManualClock,
    index: u64,
}

impl TickRig {
    /// Enabled, nothing done yet. `spec` is the device as the loop knows it.
    #[must_use]
    pub fn new(model: HapticModel, spec: &DeviceSpec, device: SimulatedDevice, wall: bool) -> Self {
        let mut state = HapticState::new(&model, spec);
        state.order(Order::of(1, Event::Enable));
        let snapshot = Box::new(if wall { wall_snapshot() } else { MechanismSnapshot::empty() });
        Self { model, state, device, snapshot, clock: ManualClock::at(ORIGIN), index: 0 }
    }

    /// One tick, with a dead weight of `push` newtons along `x` on the handle besides the hand.
    pub fn beat(&mut self, push: f64) -> &TickRecord {
        let period_ns = (NS_PER_S as f64 / self.model.rate_hz).round() as u64;
        let due = ORIGIN.plus(self.index * period_ns);
        self.clock.set(due);
        if self.index.is_multiple_of(TICKS_PER_STEP) {
            self.snapshot.stamp = Stamp { sequence: 1 + self.index / TICKS_PER_STEP, at: due };
        }
        self.index += 1;
        let mut now = Tick::begin(self.index, due, 1.0 / self.model.rate_hz, NS_PER_S, &self.clock);
        let sample = self.device.read(&mut now).ok();
        let safe = tick(&self.model, &mut self.state, sample, &self.snapshot, &mut now);
        let force = safe.get();
        let safe =
            if push == 0.0 { safe } else { unlimited(HandForce { force: force.force + Vec3::x() * push, ..*force }) };
        if self.device.write(&safe, &mut now).is_err() {
            self.state.unheard();
        }
        self.state.record()
    }
}

/// A model for a loop of which the raw behaviour is asked for: full force at once, no energy bound.
#[must_use]
pub fn raw_model(spec: &DeviceSpec, coupling: Coupling, proxy_mass_kg: f64) -> HapticModel {
    let inertia = Mat3::identity() * (proxy_mass_kg * 1e-4);
    let inertia = RigidInertia::new(proxy_mass_kg, inertia).expect("a positive mass gives a sound inertia");
    HapticModel {
        limits: spec.limits,
        mechanics: spec.mechanics,
        rotation_sensed: spec.rotation_sensed,
        rotation_actuated: spec.rotation_actuated,
        rate_hz: spec.rate_hz,
        mapping: Mapping::identity(),
        clutch_button: None,
        turning: None,
        coupling,
        tool: ToolModel { inertia, start: Pose::identity() },
        policy: Policy {
            fade_s: 0.0,
            ramp_s: 0.0,
            small_force_n: f64::INFINITY,
            jump_m_per_s: f64::INFINITY,
            passivity: false,
            ..Policy::default()
        },
        solver: Settings { iterations: 50, tolerance: 1e-12, relaxation: 1.2 },
        surfaces: Surfaces::default(),
    }
}

/// A rigid wall without friction that holds the tool at `x ≥ 0`.
fn wall_snapshot() -> MechanismSnapshot {
    let mut snapshot = MechanismSnapshot::empty();
    snapshot.step_s = 0.02;
    snapshot.block_count = 1;
    snapshot.row_count = 3;
    snapshot.blocks[0] =
        Block { id: BlockId::Custom(1), first: 0, law: Law::Contact { friction: 0.0, compliance: 0.0 } };
    for (row, direction) in snapshot.rows.iter_mut().zip([Vec3::x(), Vec3::y(), Vec3::z()]) {
        *row = Row { kind: RowKind::Point, direction, ..Row::EMPTY };
    }
    snapshot
}

/// Takes away the limits that would hide how the raw loop behaves.
fn unlimit(spec: &mut DeviceSpec) {
    let much = PerPart { linear: 1e12, angular: 1e12 };
    (spec.limits.force, spec.limits.slew, spec.limits.speed) = (much, much, much);
    spec.limits.power_w = 1e15;
}

/// A force that no limit touches: for a simulated device alone.
fn unlimited(force: HandForce) -> SafeForce {
    let much = PerPart { linear: 1e15, angular: 1e15 };
    let limits = crate::device::Limits {
        force: much,
        slew: PerPart { linear: 1e30, angular: 1e30 },
        power_w: f64::INFINITY,
        reserve_j: 0.0,
        speed: much,
        acceleration: much,
        stiffness: much,
        damping: much,
        workspace_radius_m: 1.0,
        watchdog_s: None,
    };
    Limiter::new(limits).limit(force, &HandMotion::default(), None, 1e-3, &mut Faults::default())
}

fn along(force: f64) -> HandForce {
    HandForce { force: Vec3::x() * force, torque: Vec3::zeros() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::passivity::devices;
    use crate::bench::zwidth::ideal;

    /// The force of the tick and of the stand-alone proxy, tick by tick, with the same device under the tick's force.
    #[test]
    fn the_stand_alone_midpoint_proxy_gives_the_force_of_the_tick() {
        let [(_, shipped), _] = devices().expect("shipped files are sound");
        for (spec, wall, push) in [(ideal(&shipped), true, -2.0), (shipped.clone(), true, -2.0), (shipped, false, 0.0)]
        {
            let (stiffness, damping) = (2000.0, 4.0);
            let mut unbound = spec.clone();
            unlimit(&mut unbound);
            let mut device = SimulatedDevice::new(unbound.clone(), Operator::absent(), 1);
            device.set_true(Pose::identity(), HandMotion { linear: Vec3::x() * -0.1, angular: Vec3::zeros() });
            let spring = SpringDamper::isotropic(stiffness, damping, 0.0, 0.0);
            let mut rig = TickRig::new(raw_model(&unbound, Coupling::Spring(spring), 0.015), &unbound, device, wall);
            let mut proxy = AxisProxy { mass_kg: 0.015, stiffness, damping, position: 0.0, velocity: 0.0 };
            let mut observer = HandObserver::new(&unbound, MOTION_BANDWIDTH_HZ);
            let (mut worst, mut largest) = (0.0_f64, 0.0_f64);
            for _ in 0..1000 {
                let record = *rig.beat(push);
                let velocity = observer.update(&record.pose_device_handle).motion.linear.x;
                let handle = (record.pose_device_handle.translation.x, velocity);
                let force = proxy.step(Scheme::Midpoint, handle, wall, 1e-3);
                observer.sent(&record.force);
                worst = worst.max((force - record.wanted.force.x).abs());
                largest = largest.max(force.abs());
            }
            println!("largest force {largest:.3} N, largest difference {worst:.2e} N");
            assert!(worst < 1e-9 && largest > 0.05, "{worst:e} of {largest}");
        }
    }

    #[test]
    fn a_spring_by_the_semi_implicit_rule_is_stable_up_to_twice_damping_over_period() {
        // K T/2 < B + b, from the characteristic polynomial of the loop at the wall.
        let [(_, shipped), _] = devices().expect("shipped files are sound");
        let spec = ideal(&shipped);
        for damping in [0.2, 1.0, 5.0] {
            let bound = 2.0 * (damping + spec.mechanics.damping.linear) * spec.rate_hz;
            let settles = |stiffness| {
                let render = Render::Proxy(Scheme::SemiImplicit);
                LoopCase { spec: spec.clone(), hand_mass_kg: 0.0, render, stiffness, damping, proxy_mass_kg: 0.015 }
                    .settles(true)
            };
            assert!(settles(0.7 * bound) && !settles(1.3 * bound), "damping {damping}, bound {bound}");
        }
    }

    #[test]
    fn the_midpoint_rule_goes_beyond_the_implicit_one_as_theory_says() {
        // B + K T/2 < 2m/T against B + K T < 2m/T: 600 and 300 kN/m here.
        let [(_, shipped), _] = devices().expect("shipped files are sound");
        let case = |scheme, stiffness| LoopCase {
            spec: ideal(&shipped),
            hand_mass_kg: 0.0,
            render: Render::Proxy(scheme),
            stiffness,
            damping: 5.0,
            proxy_mass_kg: 0.015,
        };
        let settles = |scheme, stiffness| case(scheme, stiffness).settles(true);
        assert!(settles(Scheme::Implicit, 270e3) && !settles(Scheme::Implicit, 320e3));
        assert!(settles(Scheme::Midpoint, 540e3) && !settles(Scheme::Midpoint, 640e3));
    }
}
