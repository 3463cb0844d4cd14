//! Suite `zwidth`: how stiff and how free a simulated device can feel.
//!
//! Thread: main (cold).
//!
//! 1. Map of stable spring and damper between handle and proxy, for three integrators of the proxy and for two couplings of
//!    the haptic tick, beside the bound for a passive wall, `b > K T/2 + |B|` (Colgate and Schenkel 1997). No energy bound
//!    is kept here: the raw loop is what is asked for.
//! 2. Stiffest wall without a limit cycle on the device as shipped, beside `min(2 b/T, 2 f_c/Δ)` (Abbott and Okamura 2005).
//! 3. What the transparent coupling is good for: drag in free motion, and how far the handle sinks into a hard wall.
//!
//! Why the midpoint wins. With the true velocity of the handle at the tick, handle mass `m` and proxy mass `m_p`, the loop of
//! one axis is linear, and its characteristic polynomial gives, for a handle without drag of its own,
//!
//! ```text
//!              at the wall                       in free motion
//!  midpoint    B + K T/2 < 2m/T                  B + K T/2 < 2m/T
//!  implicit    B + K T   < 2m/T                  always, for m_p < m/2
//!  semi-impl.  K T/2 < B,  B < 2m/T              about B < 2 m_p/T
//! ```
//!
//! so that the first contains the other two. A velocity that lags by half a tick, as every difference of positions does,
//! costs the midpoint more than the implicit rule, whose own damping covers the lag; hence the tick's observer.

use super::plot::{Panel, draw_maps, log_space, write_csv};
use super::rig::{HELD_KG, LoopCase, Render, Scheme, TickRig, raw_model};
use super::{BenchError, Better, Options, Record, Report, passivity};
use crate::device::operator::{Action, Phase, Script, Skill, Until};
use crate::device::{DeviceSpec, HandSample, Operator, SimulatedDevice};
use crate::haptic::{Coupling, HapticModel, HapticState, SpringDamper, TRANSPARENT_BANDWIDTH_HZ, tick};
use crate::math::{Mapping, Pose, Vec3};
use crate::mechanism::MechanismSnapshot;
use crate::shared::lifecycle::Event;
use crate::shared::{ManualClock, MonoNs, NS_PER_S, Order, Stamp, Tick};

const SUITE: &str = "zwidth";

/// Mass of the proxy on the maps, kg: a light tool.
pub const PROXY_MASS_KG: f64 = 0.015;
/// Mass of a limp hand, kg: what moves with a stylus (Fu and Çavuşoğlu 2012).
const LIMP_HAND_KG: f64 = 0.25;

/// What is mapped, by the names in records.
pub const RENDERS: [(&str, Render); 5] = [
    ("midpoint", Render::Proxy(Scheme::Midpoint)),
    ("semi-implicit", Render::Proxy(Scheme::SemiImplicit)),
    ("implicit", Render::Proxy(Scheme::Implicit)),
    ("spring", Render::Tick(Coupling::Spring)),
    ("transparent", Render::Tick(Coupling::transparent)),
];

/// A map and the name of what is mapped.
type Mapped = (&'static str, Vec<bool>);

/// Stiffness and damping of the cells.
#[derive(Clone, Debug)]
pub struct Grid {
    /// N/m, ascending.
    pub stiffness: Vec<f64>,
    /// N·s/m, ascending.
    pub damping: Vec<f64>,
}

impl Grid {
    /// From 100 N/m and 0.1 N·s/m to 1 MN/m and 200 N·s/m: beyond what a handle of 150 g read every millisecond can take.
    #[must_use]
    pub fn new(columns: usize, rows: usize) -> Self {
        Self { stiffness: log_space(100.0, 1e6, columns), damping: log_space(0.1, 200.0, rows) }
    }

    /// The cells in the order of a [`Panel`].
    pub fn cells(&self) -> impl Iterator<Item = (f64, f64)> {
        self.damping.iter().flat_map(|b| self.stiffness.iter().map(move |k| (*k, *b)))
    }

    /// Which cells are stable.
    #[must_use]
    pub fn map(&self, spec: &DeviceSpec, hand_mass_kg: f64, render: Render) -> Vec<bool> {
        let mut case = LoopCase {
            spec: spec.clone(),
            hand_mass_kg,
            render,
            stiffness: 0.0,
            damping: 0.0,
            proxy_mass_kg: PROXY_MASS_KG,
        };
        let stable = |(stiffness, damping)| {
            (case.stiffness, case.damping) = (stiffness, damping);
            case.is_stable()
        };
        self.cells().map(stable).collect()
    }
}

/// The device without Coulomb friction and rounding: what the theory speaks of.
#[must_use]
pub fn ideal(spec: &DeviceSpec) -> DeviceSpec {
    let mut spec = spec.clone();
    spec.mechanics.friction.linear = 0.0;
    spec.mechanics.quantum.linear = 0.0;
    spec
}

/// Stiffest spring, N/m, up to which every one comes to rest at the wall, in steps of a twenty-fourth of a decade from 100 N/m to 1 MN/m.
#[must_use]
pub fn stiffest(spec: &DeviceSpec, render: Render, damping: f64) -> f64 {
    let mut case = LoopCase {
        spec: spec.clone(),
        hand_mass_kg: 0.0,
        render,
        stiffness: 0.0,
        damping,
        proxy_mass_kg: PROXY_MASS_KG,
    };
    let mut best = 0.0;
    for stiffness in log_space(100.0, 1e6, 97) {
        case.stiffness = stiffness;
        if !case.settles(true) {
            break;
        }
        best = stiffness;
    }
    best
}

/// Frequencies of free motion, Hz.
pub const MOTION_HZ: [f64; 3] = [1.0, 2.0, 3.0];
/// Amplitude of free motion, m.
const MOTION_M: f64 = 0.02;
/// Forces a hand presses with, N.
pub const PRESS_N: [f64; 3] = [1.0, 2.0, 4.0];

/// A model of the whole tick, energy bound and all, on this device.
fn full_model(spec: &DeviceSpec, coupling: Coupling, proxy_mass_kg: f64) -> HapticModel {
    let mut model = raw_model(spec, coupling, proxy_mass_kg);
    model.policy.passivity = true;
    model
}

/// Force of the device on a hand that moves the handle to and fro through free space, N rms: what is felt beyond the
/// device's own mass and friction.
#[must_use]
pub fn drag(spec: &DeviceSpec, coupling: Coupling, proxy_mass_kg: f64, frequency_hz: f64) -> f64 {
    let model = full_model(spec, coupling, proxy_mass_kg);
    let mut state = HapticState::new(&model, spec);
    state.order(Order::of(1, Event::Enable));
    let mut nothing = Box::new(MechanismSnapshot::empty());
    let (origin, period_s) = (NS_PER_S, 1.0 / spec.rate_hz);
    let clock = ManualClock::default();
    let (ticks, mut sum, mut count) = ((5.0 * spec.rate_hz) as u64, 0.0, 0_u32);
    for index in 0..ticks {
        let time = index as f64 * period_s;
        let at = MonoNs(origin + (time * NS_PER_S as f64).round() as u64);
        clock.set(at);
        nothing.stamp = Stamp { sequence: index + 1, at };
        let mut now = Tick::begin(index + 1, at, period_s, NS_PER_S, &clock);
        // The hand is infinitely strong: it moves as it likes, from rest.
        let x = MOTION_M * (1.0 - (std::f64::consts::TAU * frequency_hz * time).cos());
        let step = spec.mechanics.quantum.linear;
        let read = if step > 0.0 { (x / step).round() * step } else { x };
        let stamp = Stamp { sequence: index + 1, at };
        let sample =
            HandSample { stamp, pose_device_handle: Pose::translation(read, 0.0, 0.0), buttons: 0, homed: true };
        let force = tick(&model, &mut state, Some(sample), &nothing, &mut now);
        if time >= 1.0 {
            sum += force.get().force.norm_squared();
            count += 1;
        }
    }
    (sum / f64::from(count.max(1))).sqrt()
}

/// What a hand that presses on a hard wall finds.
#[derive(Clone, Copy, Debug)]
pub struct Pressed {
    /// Mean force of the device on the hand, N.
    pub force_n: f64,
    /// Mean distance of the handle behind the proxy, which the wall stops: how far the hand sinks in, m.
    pub sink_m: f64,
    /// Its standard deviation, m.
    pub sway_m: f64,
}

/// A trained hand reaches out by 60 mm, comes back and presses on a rigid wall with `force_n`; the last second counts. The
/// reach is what any hand has done before it touches something, and fills the reserve of the energy bound.
#[must_use]
pub fn press(spec: &DeviceSpec, coupling: Coupling, proxy_mass_kg: f64, force_n: f64, seed: u64) -> Pressed {
    let model = full_model(spec, coupling, proxy_mass_kg);
    let reach = |name, x| {
        let action = Action::MoveTo { target: Pose::translation(x, 0.0, 0.0), speed: 0.1 };
        Phase::new(name, action, Until::Elapsed { seconds: 1.2 }, 5.0)
    };
    let action = Action::Press { force: Vec3::x() * -force_n };
    let press = Phase::new("press", action, Until::Elapsed { seconds: 10.0 }, 20.0);
    let script = Script::new(&[reach("out", 0.07), reach("back", 0.01), press]).unwrap_or_else(|_| Script::empty());
    let operator = Operator::new(Skill::Trained, script, Mapping::identity());
    let device = SimulatedDevice::at(spec.clone(), operator, seed, Pose::translation(0.01, 0.0, 0.0));
    let mut rig = TickRig::new(model, spec, device, true);
    let (ticks, last) = ((8.0 * spec.rate_hz) as u64, spec.rate_hz as u64);
    let (mut force, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for index in 0..ticks {
        let record = rig.beat(0.0);
        if index >= ticks - last {
            let sink = record.pose_world_tool.translation.x - record.pose_world_handle.translation.x;
            force += record.force.force.x;
            sum += sink;
            squares += sink * sink;
        }
    }
    let count = last as f64;
    let mean = sum / count;
    Pressed { force_n: force / count, sink_m: mean, sway_m: (squares / count - mean * mean).max(0.0).sqrt() }
}

/// Runs the suite.
///
/// # Errors
/// When the results cannot be written.
pub fn run(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let [(_, spec), _] = passivity::devices()?;
    let grid = Grid::new(29, 19);
    let conditions = [
        ("ideal", ideal(&spec), 0.0),
        ("limp-hand", ideal(&spec), LIMP_HAND_KG),
        ("held", ideal(&spec), HELD_KG),
        ("shipped", spec.clone(), 0.0),
    ];
    for (condition, spec, hand_mass_kg) in conditions {
        report.remark(&format!("zwidth: map of the {condition} device"));
        // A held handle does not swing at the wall, so that only half of the question is asked there: enough for the
        // couplings, not for comparing integrators.
        let renders = if hand_mass_kg >= HELD_KG { &RENDERS[3..] } else { &RENDERS[..] };
        let map = |(name, render): &(&'static str, Render)| (*name, grid.map(&spec, hand_mass_kg, *render));
        let maps: Vec<Mapped> = renders.iter().map(map).collect();
        put_maps(report, condition, &spec, &grid, &maps)?;
        write_maps(options, condition, &spec, &grid, &maps)?;
    }
    put_stiffest(report, &spec)?;
    put_couplings(options, report, &spec)
}

/// True when the bound for a passive wall holds.
fn passes_colgate(spec: &DeviceSpec, stiffness: f64, damping: f64) -> bool {
    spec.mechanics.damping.linear > 0.5 * stiffness / spec.rate_hz + damping
}

/// Stiffness, N/m, above which a rounded reading keeps a handle moving by itself, `2 f_c/Δ`: whether it comes to rest there
/// is chance.
#[must_use]
pub fn rounding_bound(spec: &DeviceSpec) -> f64 {
    let mechanics = &spec.mechanics;
    if mechanics.quantum.linear > 0.0 {
        2.0 * mechanics.friction.linear / mechanics.quantum.linear
    } else {
        f64::INFINITY
    }
}

fn put_maps(
    report: &mut Report,
    condition: &str,
    spec: &DeviceSpec,
    grid: &Grid,
    maps: &[Mapped],
) -> Result<(), BenchError> {
    // The share of the cells in which coming to rest is not chance.
    let counts: Vec<bool> = grid.cells().map(|(stiffness, _)| stiffness <= rounding_bound(spec)).collect();
    let among = |map: &[bool]| map.iter().zip(&counts).filter(|(stable, counts)| **stable && **counts).count() as f64;
    let all = among(&vec![true; counts.len()]);
    let share = |map: &[bool]| among(map) / all;
    let ours = maps.iter().find(|(name, _)| *name == "midpoint").map(|(_, map)| map);
    for (name, map) in maps {
        report.put(Record::new(SUITE, format!("{condition}/{name}"), "stable-share", share(map), "1"))?;
        if let (Some(ours), "semi-implicit" | "implicit") = (ours, *name) {
            let record = Record::new(SUITE, format!("{condition}/midpoint"), "stable-share", share(ours), "1");
            report.put(record.versus(*name, share(map), Better::Higher))?;
            let beyond: Vec<bool> = map.iter().zip(ours).map(|(theirs, ours)| *theirs && !*ours).collect();
            let name = format!("{condition}/{name}/beyond-midpoint");
            report.put(Record::new(SUITE, name, "count", among(&beyond), "1"))?;
        }
    }
    Ok(())
}

fn write_maps(
    options: &Options,
    condition: &str,
    spec: &DeviceSpec,
    grid: &Grid,
    maps: &[Mapped],
) -> Result<(), BenchError> {
    let fixed = ["stiffness_n_per_m", "damping_ns_per_m", "colgate"];
    let heads: Vec<&str> = fixed.into_iter().chain(maps.iter().map(|(name, _)| *name)).collect();
    let rows: Vec<Vec<f64>> = grid
        .cells()
        .enumerate()
        .map(|(index, (k, b))| {
            let stable = maps.iter().map(|(_, map)| f64::from(u8::from(map[index])));
            [k, b, f64::from(u8::from(passes_colgate(spec, k, b)))].into_iter().chain(stable).collect()
        })
        .collect();
    write_csv(&options.out.join(format!("zwidth-{condition}.csv")), &heads, &rows)?;
    let panels: Vec<Panel> =
        maps.iter().map(|(name, map)| Panel { title: (*name).into(), cells: map.clone() }).collect();
    // B = b − K T/2, as far as it is positive.
    let bound: Vec<(f64, f64)> = log_space(grid.stiffness[0], 2.0 * spec.mechanics.damping.linear * spec.rate_hz, 200)
        .into_iter()
        .map(|k| (k, spec.mechanics.damping.linear - 0.5 * k / spec.rate_hz))
        .collect();
    let path = options.out.join(format!("zwidth-{condition}.svg"));
    draw_maps(&path, (&grid.stiffness, &grid.damping), &panels, &bound)
}

/// Stiffest wall of the shipped device, beside what theory allows a plain spring.
fn put_stiffest(report: &mut Report, spec: &DeviceSpec) -> Result<(), BenchError> {
    let mechanics = &spec.mechanics;
    let drag_bound = 2.0 * mechanics.damping.linear * spec.rate_hz;
    let bound = drag_bound.min(rounding_bound(spec));
    report.put(Record::new(SUITE, "shipped/bound/2b-over-t", "stiffness", drag_bound, "N/m"))?;
    report.put(Record::new(SUITE, "shipped/bound/2fc-over-step", "stiffness", rounding_bound(spec), "N/m"))?;
    for damping in [0.0, 5.0] {
        for (name, render) in RENDERS {
            let name = format!("shipped/{name}/damping-{damping}");
            let record = Record::new(SUITE, name, "stiffness-max", stiffest(spec, render, damping), "N/m");
            report.put(record.versus("min(2b/T, 2fc/step)", bound, Better::Higher))?;
        }
    }
    Ok(())
}

/// Transparent beside spring: same spring, same proxy.
fn put_couplings(options: &Options, report: &mut Report, spec: &DeviceSpec) -> Result<(), BenchError> {
    let spring = SpringDamper::isotropic(2000.0, 8.0, 0.0, 0.0);
    let mut rows = Vec::new();
    for mass in [PROXY_MASS_KG, 0.1, 0.2] {
        let pair = [Coupling::transparent(spring), Coupling::Spring(spring)];
        for hertz in MOTION_HZ {
            let [ours, theirs] = pair.map(|coupling| drag(spec, coupling, mass, hertz));
            let name = format!("transparent/drag/{hertz}-hz/proxy-{mass}-kg");
            report.put(Record::new(SUITE, name, "rms", ours, "N").versus("spring", theirs, Better::Lower))?;
            rows.push(vec![mass, hertz, f64::NAN, theirs, ours]);
        }
        for force in PRESS_N {
            let [ours, theirs] = pair.map(|coupling| press(spec, coupling, mass, force, options.seed));
            let name = format!("transparent/sink/{force}-n/proxy-{mass}-kg");
            report.put(Record::new(SUITE, name, "mean", ours.sink_m, "m").versus(
                "spring",
                theirs.sink_m,
                Better::Lower,
            ))?;
            rows.push(vec![mass, f64::NAN, force, theirs.sink_m, ours.sink_m]);
        }
    }
    report.remark(&format!("zwidth: the transparent coupling follows the hand at {TRANSPARENT_BANDWIDTH_HZ} Hz"));
    let heads = ["proxy_mass_kg", "motion_hz", "press_n", "spring", "transparent"];
    write_csv(&options.out.join("zwidth-couplings.csv"), &heads, &rows)
}
