//! Hands that go where they are told at 1 kHz, over a simulation at its own rate, interleaved in virtual time.

#![allow(dead_code, reason = "each test uses its own part")]

use crate::common::device;
use hapticd::device::HandSample;
use hapticd::geometry::{Shape, Sphere};
use hapticd::haptic::{HapticModel, HapticState, TickRecord, tick};
use hapticd::math::{Pose, Vec3};
use hapticd::mechanism::MechanismSnapshot;
use hapticd::mechanism::solver::Settings;
use hapticd::shared::lifecycle::Event;
use hapticd::shared::{ManualClock, MonoNs, NS_PER_S, Order, Stamp, Tick, ToolSample};
use hapticd::sim::{BodyId, BodyModel, Material, Motion, SimData, SimModel, ToolBody, empty_snapshot, step};
use std::ops::Range;

const PERIOD_NS: u64 = 1_000_000;
const ORIGIN: MonoNs = MonoNs(1_000_000_000);

/// A body without a frame of its own for its shape.
pub(crate) fn body(name: &str, shape: Shape, motion: Motion, start: Pose) -> BodyModel {
    BodyModel { name: name.into(), shape, field: None, pose_body_shape: Pose::identity(), motion, material: 0, start }
}

/// The tool of a hand, which does not turn.
pub(crate) fn tool(haptic: &HapticModel, shape: Shape) -> ToolBody {
    ToolBody {
        shape,
        field: None,
        pose_tool_shape: Pose::identity(),
        inertia: haptic.tool.inertia,
        material: 0,
        rotation_locked: true,
        start: haptic.tool.start,
    }
}

/// A ball as the tool of a hand.
pub(crate) fn ball(haptic: &HapticModel, radius: f64) -> ToolBody {
    tool(haptic, Shape::Sphere(Sphere { radius }))
}

/// A scene of one material, with the gravity of the Earth.
pub(crate) fn scene(rate_hz: f64, bodies: Vec<BodyModel>, tools: Vec<ToolBody>, friction: f64) -> SimModel {
    SimModel {
        bodies,
        tools,
        needle: None,
        carried: Vec::new(),
        joints: Vec::new(),
        air: None,
        materials: vec![Material { name: "all".into(), friction, restitution: 0.0 }],
        gravity: Vec3::new(0.0, 0.0, -9.81),
        rate_hz,
        margin_m: 0.02,
        travel_m: 0.02,
        collision_thread: false,
        reduction: Default::default(),
        soft_contacts: hapticd::sim::SOFT_CONTACTS,
        solver: Settings::default(),
    }
}

/// Mean and peak-to-peak.
pub(crate) fn spread(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let most = values.iter().fold(f64::MIN, |m, x| m.max(*x));
    let least = values.iter().fold(f64::MAX, |m, x| m.min(*x));
    (mean, most - least)
}

/// One hand.
struct Hand {
    haptic: HapticModel,
    state: HapticState,
    snapshot: Box<MechanismSnapshot>,
    coming: Box<MechanismSnapshot>,
}

/// See the file's head.
pub(crate) struct Rates {
    hands: Vec<Hand>,
    model: SimModel,
    pub(crate) sim: SimData,
    clock: ManualClock,
    index: u64,
    steps: u64,
    /// Ticks from the start of a step to its mechanism being there.
    pub(crate) delay: u64,
    coming_at: u64,
    /// Ticks in which no step is made.
    pub(crate) stalled: Range<u64>,
    /// A step was made in the last tick.
    pub(crate) fresh: bool,
}

impl Rates {
    /// These hands, enabled, one for each tool of the scene.
    pub(crate) fn new(hands: Vec<HapticModel>, model: SimModel) -> Self {
        let hand = |haptic: HapticModel| {
            let mut state = HapticState::new(&haptic, &device(1000.0));
            state.order(Order::of(1, Event::Enable));
            Hand { haptic, state, snapshot: empty_snapshot(), coming: empty_snapshot() }
        };
        Self {
            hands: hands.into_iter().map(hand).collect(),
            sim: SimData::new(&model).expect("sound"),
            model,
            clock: ManualClock::at(ORIGIN),
            index: 0,
            steps: 0,
            delay: 0,
            coming_at: u64::MAX,
            stalled: 0..0,
            fresh: false,
        }
    }

    fn due(&self) -> MonoNs {
        ORIGIN.plus((self.steps as f64 * self.model.step_s() * NS_PER_S as f64).round() as u64)
    }

    fn step(&mut self, now: MonoNs) {
        self.sim.next_ends_at(&self.model, now);
        let tools: Vec<ToolSample> = self.hands.iter().map(|hand| *hand.state.tool()).collect();
        let mut out: Vec<_> = self.hands.iter_mut().map(|hand| &mut *hand.coming).collect();
        step(&self.model, &mut self.sim, &tools, &mut out);
        while self.due() <= now {
            self.steps += 1;
        }
        self.coming_at = self.index + self.delay;
    }

    /// One tick of every hand, with its handle at its place, after a simulation step if one is due.
    pub(crate) fn beat<const N: usize>(&mut self, places: [Vec3; N]) -> [TickRecord; N] {
        let now = ORIGIN.plus(self.index * PERIOD_NS);
        self.clock.set(now);
        self.fresh = now >= self.due() && !self.stalled.contains(&self.index);
        if self.fresh {
            self.step(now);
        }
        if self.index == self.coming_at {
            self.hands.iter_mut().for_each(|hand| std::mem::swap(&mut hand.snapshot, &mut hand.coming));
        }
        self.index += 1;
        let mut hands = self.hands.iter_mut();
        places.map(|place| {
            let hand = hands.next().expect("as many hands as places");
            let sample = HandSample {
                stamp: Stamp { sequence: self.index, at: now },
                pose_device_handle: Pose::translation(place.x, place.y, place.z),
                buttons: 0,
                homed: true,
            };
            let mut tick_now = Tick::begin(self.index, now, 1e-3, u64::MAX / 2, &self.clock);
            tick(&hand.haptic, &mut hand.state, Some(sample), &hand.snapshot, &mut tick_now);
            *hand.state.record()
        })
    }

    /// What the simulation hears of a hand.
    pub(crate) fn tool(&self, hand: usize) -> &ToolSample {
        self.hands[hand].state.tool()
    }

    /// Place of a body.
    pub(crate) fn pose(&self, body: usize) -> Pose {
        self.sim.pose(BodyId(body))
    }
}
