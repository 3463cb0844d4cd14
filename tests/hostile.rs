//! Hostile positions and parameters: the hand gets no more than it put in plus 1 µJ, or the loop latches within 50 ms.
//!
//! The judge keeps a book of its own: the force held between two ticks times the true way, less what a device loses that has no more
//! friction and drag than the ledger relies on. [`TICKS_VARIABLE`] asks for more ticks; a million is the figure of docs/safety.md.

mod common;
#[path = "common/rig.rs"]
mod rig;

use common::reading;
use hapticd::haptic::TickRecord;
use hapticd::math::Random;
use hapticd::shared::lifecycle::{Event, State};
use hapticd::shared::{Change, NS_PER_S, Order, Parameter};
use rig::{PERIOD_NS, PERIOD_S, Rig};
use std::collections::BTreeMap;

/// Ticks of each test unless the variable says otherwise.
const TICKS: u64 = 60_000;
const TICKS_VARIABLE: &str = "HAPTICD_HOSTILE_TICKS";
/// Energy that counts as none, J, and the longest time for which the hand may have got more, ns.
const NONE_J: f64 = 1e-6;
const LATCH_NS: u64 = 50_000_000;
/// Friction, N, and drag, N·s/m, that the ledger relies on of the device in `common`.
const FRICTION_N: f64 = 0.8 * 0.1;
const DRAG: f64 = 0.8 * 0.5;
/// Acceleration that its file states, m/s².
const MOST_M_PER_S2: f64 = 150.0;
/// How far the hand goes, m.
const REACH_M: f64 = 0.015;

/// What the hand does for a while.
#[derive(Clone, Copy, Debug)]
enum Mode {
    /// Goes to a place at up to this share of the stated acceleration.
    Go(f64),
    /// Shakes as fast as the acceleration allows.
    Shake(f64),
    /// Goes where the force pushes, as fast as the acceleration allows.
    Yield,
    /// A reading that jumps by up to so many metres about a place.
    Noise(f64, f64),
    /// Leaps by up to so many metres where the force pushes.
    Leap(f64),
}

/// What may happen besides.
#[derive(Clone, Copy, Debug)]
struct Trouble {
    beyond: bool,
    silence: bool,
    slams: bool,
}

struct Trial {
    rig: Rig,
    random: Random,
    trouble: Trouble,
    mode: Mode,
    left: u64,
    at: f64,
    speed: f64,
    /// What the hand has got beyond what it put in, J, and since when that is more than nothing.
    got_j: f64,
    over_since: Option<u64>,
    worst_j: f64,
    longest_ns: u64,
    /// Longest way between two ticks, m.
    way_m: f64,
    forced: u64,
    latched: BTreeMap<&'static str, u64>,
    state: State,
}

impl Trial {
    fn new(trouble: Trouble, seed: u64) -> Self {
        let mut rig = Rig::new(|model| model.policy.ramp_s = 0.05);
        rig.hand = 5e-3;
        Self {
            at: rig.hand,
            rig,
            random: Random::new(seed),
            trouble,
            mode: Mode::Go(0.5),
            left: 200,
            speed: 0.0,
            got_j: 0.0,
            over_since: None,
            worst_j: 0.0,
            longest_ns: 0,
            way_m: 0.0,
            forced: 0,
            latched: BTreeMap::new(),
            state: State::Disabled,
        }
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.random.uniform()
    }

    /// Chooses what to do next.
    fn turn(&mut self) {
        self.left = 20 + self.random.bits() % 400;
        let place = self.between(-6e-3, 4e-3);
        self.mode = match self.random.bits() % if self.trouble.beyond { 6 } else { 4 } {
            0 | 1 => Mode::Go(place),
            2 => Mode::Shake(self.between(5.0, 80.0)),
            3 => Mode::Yield,
            4 => Mode::Noise(place, self.between(1e-5, 1e-3)),
            _ => Mode::Leap(self.between(1e-4, 2e-3)),
        };
    }

    /// The way of the hand in one period, m.
    fn way(&mut self, push_n: f64) -> f64 {
        let most = MOST_M_PER_S2 * PERIOD_S * PERIOD_S;
        let way = self.speed;
        let wanted = match self.mode {
            Mode::Go(place) => {
                // As fast as it can still brake in time.
                let left = place - self.at;
                left.signum() * (2.0 * 0.2 * most * left.abs()).sqrt().min(left.abs()).min(5e-4)
            }
            Mode::Shake(hz) => {
                let phase = std::f64::consts::TAU * hz * self.rig.index as f64 * PERIOD_S;
                8e-4 * phase.sin()
            }
            Mode::Yield => way + if push_n >= 0.0 { most } else { -most },
            Mode::Noise(place, size) => place + size * (2.0 * self.random.uniform() - 1.0) - self.at,
            Mode::Leap(size) => size * self.random.uniform() * if push_n >= 0.0 { 1.0 } else { -1.0 },
        };
        if matches!(self.mode, Mode::Noise(..) | Mode::Leap(_)) {
            return wanted;
        }
        // At the end of its reach the hand brakes, as fast as it can.
        let stop = way * way.abs() / (2.0 * most);
        let wanted = if (self.at + 1.5 * stop).abs() > REACH_M { -self.at.signum() } else { wanted };
        // A hair less than stated: what is judged is the bound, not the last digit.
        way + (wanted - way).clamp(-0.999 * most, 0.999 * most)
    }

    fn tick(&mut self) -> TickRecord {
        self.left -= 1;
        if self.left == 0 {
            self.turn();
        }
        let force = self.rig.state.record().force.force.z;
        let way = self.way(force).clamp(-0.02, 0.02);
        let next = (self.at + way).clamp(-1.2 * REACH_M, 1.2 * REACH_M);
        (self.speed, self.at) = (next - self.at, next);
        self.got_j += force * self.speed - FRICTION_N * self.speed.abs() - DRAG * self.speed.powi(2) / PERIOD_S;
        self.way_m = self.way_m.max(self.speed.abs());
        self.order();
        let silent = self.trouble.silence && self.random.uniform() < 2e-3;
        let sample = (!silent).then(|| reading(self.rig.index + 1, self.rig.due(), self.at));
        let record = self.rig.tick_with(sample);
        self.judge(&record);
        record
    }

    /// Enables, acknowledges; slams parameters.
    fn order(&mut self) {
        let event = match self.state {
            State::Fault => Event::Acknowledge,
            State::Disabled => Event::Enable,
            _ => Event::Resume,
        };
        if self.state != State::Enabled && self.rig.index.is_multiple_of(20) {
            self.rig.sequence += 1;
            self.rig.state.order(Order::of(self.rig.sequence, event));
        }
        if !self.trouble.slams || self.random.uniform() > 0.02 {
            return;
        }
        let parameter = Parameter::ALL[self.random.bits() as usize % Parameter::ALL.len()];
        let Some((least, most)) = self.rig.state.parameter_range().get(parameter) else { return };
        // Mostly from one end of the range to the other.
        let value = match self.random.bits() % 3 {
            0 => least,
            1 => most,
            _ => least * (most / least).powf(self.random.uniform()),
        };
        self.rig.sequence += 1;
        let order = Order::new(self.rig.sequence, &[Change::Set(parameter, value)]).expect("one change");
        self.rig.state.order(order);
    }

    fn judge(&mut self, record: &TickRecord) {
        self.forced += u64::from(record.force.force.z != 0.0);
        if record.state == State::Fault && self.state != State::Fault {
            let name = record.cause.expect("a cause").name();
            *self.latched.entry(name).or_default() += 1;
        }
        self.worst_j = self.worst_j.max(self.got_j);
        if self.got_j <= NONE_J || record.state == State::Fault {
            self.over_since = None;
        } else {
            let since = *self.over_since.get_or_insert(record.due.0);
            self.longest_ns = self.longest_ns.max(record.due.0 - since);
        }
        if self.state == State::Fault && record.state != State::Fault {
            // The fault has told of it.
            self.got_j = self.got_j.min(0.0);
        }
        self.state = record.state;
    }
}

fn ticks() -> u64 {
    std::env::var(TICKS_VARIABLE).map_or(TICKS, |text| text.parse().expect("a number of ticks"))
}

/// Runs trials of 5,000 ticks: every one starts with an empty ledger. Gives the worst excess, J.
fn run(trouble: Trouble) -> f64 {
    let (mut worst_j, mut longest_ns, mut forced, mut latched) = (0.0_f64, 0, 0, BTreeMap::new());
    for seed in 0..ticks().div_ceil(5000) {
        let mut trial = Trial::new(trouble, seed);
        for _ in 0..5000 {
            trial.tick();
        }
        let bound_j = trial.rig.model.policy.overdrawn_most_j + trial.rig.model.limits.force.linear * 2.0 * trial.way_m;
        assert!(trial.worst_j <= bound_j, "seed {seed}: {:e} J, longest way {} m", trial.worst_j, trial.way_m);
        assert!(
            trial.longest_ns <= LATCH_NS,
            "seed {seed}: {} ms, {:e} J",
            trial.longest_ns / 1_000_000,
            trial.worst_j
        );
        worst_j = worst_j.max(trial.worst_j);
        longest_ns = longest_ns.max(trial.longest_ns);
        forced += trial.forced;
        trial.latched.iter().for_each(|(name, count)| *latched.entry(*name).or_insert(0) += count);
    }
    println!("{trouble:?}: {} ticks, {forced} with force; worst excess {worst_j:e} J", ticks());
    println!("  held for at most {} ms before it was latched; latched {latched:?}", longest_ns / 1_000_000);
    assert!(forced > ticks() / 20, "there was force to judge");
    worst_j
}

#[test]
fn within_the_stated_acceleration_no_slam_of_parameters_gives_the_hand_energy() {
    let worst_j = run(Trouble { beyond: false, silence: true, slams: true });
    assert!(worst_j <= NONE_J, "{worst_j:e} J");
}

#[test]
fn noise_leaps_and_slams_give_the_hand_no_energy_or_latch_within_50_ms() {
    run(Trouble { beyond: true, silence: false, slams: false });
    run(Trouble { beyond: true, silence: true, slams: true });
}

#[test]
fn noise_of_0_7_mm_is_latched_within_50_ms_of_force() {
    let mut trial = Trial::new(Trouble { beyond: true, silence: false, slams: false }, 1);
    (trial.mode, trial.left) = (Mode::Go(2e-3), u64::MAX);
    while trial.rig.state.gate().gain() < 1.0 {
        trial.tick();
    }
    trial.mode = Mode::Go(-3e-3);
    for _ in 0..500 {
        trial.tick();
    }
    trial.mode = Mode::Noise(-3e-3, 0.7e-3);
    let began = trial.rig.due();
    while trial.state != State::Fault {
        trial.tick();
        assert!(trial.rig.due().since(began) <= LATCH_NS + PERIOD_NS, "never latched; {:e} J", trial.got_j);
    }
    println!("latched {:?} after {} ms", trial.latched, trial.rig.due().since(began) as f64 / NS_PER_S as f64 * 1e3);
}
