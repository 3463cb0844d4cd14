//! Suite `needle`: what a needle feels on its way in and out, and how long steps and ticks with one take.
//!
//! Thread: main; for the times, the simulation's and a real-time one.
//!
//! `profile` is an insertion of 50 mm into the phantom and the way out, beside the published case it is set to. `refinement` is how far
//! shorter and longer steps and a finer mesh change it. `liver` is the scene `liver_biopsy` with the needle pushed in to its target: time of a
//! step of the simulation at its own rate on one thread, of a tick at 1 kHz on another. Plots go to `--out`.

use super::fem_rig::failed;
use super::jitter::run_loop;
use super::needle_rig::{Phantom, Seen};
use super::plot::{Line, draw_lines};
use super::{BenchError, Better, Options, Record, Report, Summary};
use crate::device::HandSample;
use crate::haptic::{HapticState, tick};
use crate::math::{Pose, Vec3};
use crate::mechanism::MechanismSnapshot;
use crate::scene::{build, open, open_device};
use crate::shared::lifecycle::Event;
use crate::shared::realtime::{RealtimeRequest, SystemClock, thread_busy_ns};
use crate::shared::{Clock, Order, Stamp, ToolSample, latest};
use crate::sim::{SimData, SimModel, empty_snapshot, step};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SUITE: &str = "needle";
/// The published case: puncture, N, and growth of the force with depth, N/m.
const PUBLISHED: (f64, f64) = (2.775, 47.0);

/// Runs the suite.
///
/// # Errors
/// When a part makes no sense or results cannot be written.
pub fn run(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    std::fs::create_dir_all(&options.out)?;
    profile(options, report)?;
    refinement(options, report)?;
    liver(options, report)
}

fn line(name: &str, seen: &[Seen], y: impl Fn(&Seen) -> f64) -> Line {
    Line { name: name.into(), points: seen.iter().map(|s| (1e3 * s.way_m, y(s))).collect() }
}

/// Slope of the force over depth by least squares, N/m.
fn slope(seen: &[Seen]) -> f64 {
    let count = seen.len().max(1) as f64;
    let mean = |of: &dyn Fn(&Seen) -> f64| seen.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(&|s| s.depth_m), mean(&|s| s.force_n));
    let product: f64 = seen.iter().map(|s| (s.depth_m - x) * (s.force_n - y)).sum();
    product / seen.iter().map(|s| (s.depth_m - x).powi(2)).sum::<f64>()
}

fn profile(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let mut run = Phantom::default().begin(2e-3)?;
    let way_in = run.go(-0.052, 0.01);
    let held = run.rest(0.5);
    let way_out = run.go(0.055, 0.01);
    let peak = way_in.iter().take_while(|s| s.punctures == 0).fold(0.0_f64, |most, s| most.max(s.force_n));
    let deep: Vec<Seen> = way_in.iter().copied().filter(|s| s.depth_m > 0.008).collect();
    let sliding: Vec<Seen> = way_out.iter().copied().filter(|s| s.tip_n == 0.0 && s.depth_m > 0.008).collect();
    let depth = way_in.last().map_or(0.0, |s| s.depth_m);
    let pull = way_out.iter().fold(0.0_f64, |most, s| most.max(-s.force_n));
    let published = |name: &str, stat, value, unit, case| {
        Record::new(SUITE, name, stat, value, unit).versus("published", case, Better::Lower)
    };
    report.put(published("profile/puncture", "max", peak, "N", PUBLISHED.0))?;
    report.put(published("profile/slope-in", "fit", slope(&deep), "N/m", PUBLISHED.1))?;
    report.put(published("profile/slope-out", "fit", -slope(&sliding), "N/m", PUBLISHED.1))?;
    report.put(published("profile/pull", "max", pull, "N", PUBLISHED.1 * depth))?;
    let lines = [
        line("in", &way_in, |s| s.force_n),
        line("at rest", &held, |s| s.force_n),
        line("out", &way_out, |s| s.force_n),
        line("cutting", &way_in, |s| s.tip_n),
        line("friction", &way_in, |s| s.shaft_n),
    ];
    draw_lines(&options.out.join("needle-profile.svg"), ["way of the hub, mm", "force, N"], &lines)
}

fn refinement(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let base = Phantom::default();
    let cases = [
        ("100 Hz", base.clone()),
        ("30 Hz", Phantom { rate_hz: 30.0, ..base.clone() }),
        ("300 Hz", Phantom { rate_hz: 300.0, ..base.clone() }),
        ("finer mesh", Phantom { cells: [7, 7, 6], ..base.clone() }),
        ("coarser mesh", Phantom { cells: [4, 4, 3], ..base }),
    ];
    let ways: Vec<f64> = (1..36).map(|mm| 1e-3 * f64::from(mm)).collect();
    let mut lines = Vec::new();
    let mut reference: Vec<f64> = Vec::new();
    let mut first_broke = 0.0;
    for (name, phantom) in cases {
        let seen = phantom.begin(1e-3)?.go(-0.038, 0.02);
        let forces: Vec<f64> = ways.iter().map(|way| at(&seen, *way)).collect();
        let broke = seen.iter().find(|s| s.punctures > 0).map_or(0.0, |s| s.way_m);
        if reference.is_empty() {
            reference.clone_from(&forces);
            first_broke = broke;
        }
        report.put(Record::new(SUITE, format!("refinement/{name}"), "breaks", 1e3 * broke, "mm"))?;
        let most = reference.iter().fold(0.0_f64, |most, force| most.max(force.abs()));
        // One has broken and the other not: that is told by where they break.
        let between = |way: f64| way > broke.min(first_broke) - 1e-3 && way < broke.max(first_broke) + 1e-3;
        let apart = ways.iter().zip(reference.iter().zip(&forces)).filter(|(way, _)| !between(**way));
        let worst = apart.map(|(_, (a, b))| (a - b).abs() / most).fold(0.0, f64::max);
        report.put(Record::new(SUITE, format!("refinement/{name}"), "max", 100.0 * worst, "%"))?;
        lines.push(line(name, &seen, |s| s.force_n));
    }
    draw_lines(&options.out.join("needle-refinement.svg"), ["way of the hub, mm", "force, N"], &lines)
}

/// Force at a way of the hub, between two steps.
fn at(seen: &[Seen], way: f64) -> f64 {
    let after = seen.partition_point(|s| s.way_m < way).clamp(1, seen.len() - 1);
    let (a, b) = (&seen[after - 1], &seen[after]);
    a.force_n + (b.force_n - a.force_n) * (way - a.way_m) / (b.way_m - a.way_m)
}

/// Times of the simulation's steps with the needle inside.
#[derive(Default)]
struct Steps {
    wall_ms: Vec<f64>,
    busy_ms: Vec<f64>,
    inserted_m: f64,
    /// Time left until the next one.
    left: Duration,
}

impl Steps {
    fn take(&mut self, model: &SimModel, data: &mut SimData, tool: &ToolSample, out: &mut MechanismSnapshot) {
        let (began, busy) = (SystemClock.now(), thread_busy_ns());
        data.next_ends_at(model, began);
        step(model, data, &[*tool], &mut [out]);
        let took_s = SystemClock.now().since(began) as f64 * 1e-9;
        self.left = Duration::from_secs_f64((model.step_s() - took_s).max(0.0));
        let depth_m = data.view.needle.unwrap_or_default().depth_m;
        self.inserted_m = self.inserted_m.max(depth_m);
        // Once it is in nearly as far as it goes.
        if depth_m > 0.05 && depth_m > 0.8 * self.inserted_m {
            self.wall_ms.push(1e3 * took_s);
            self.busy_ms.push(1e-6 * (thread_busy_ns() - busy) as f64);
        }
    }
}

/// Both threads of `liver_biopsy`, the hand pushing the needle in and moving it to and fro there.
fn liver(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let scene = open("liver_biopsy").map_err(failed)?.value;
    let device = open_device(scene.device.as_deref().unwrap_or("simulated-6dof")).map_err(failed)?.value;
    let built = build(&scene, &device).map_err(failed)?;
    let start = built.haptic.tool.start;
    let axis = -(start.rotation * Vec3::z());
    let (mut tool_writer, mut tool_reader) = latest(ToolSample::at_rest(start));
    let (mut snapshot_writer, mut snapshot_reader) = latest(*empty_snapshot());
    let mut data = SimData::new(&built.sim).map_err(failed)?;
    let stop = AtomicBool::new(false);
    let mut state = HapticState::new(&built.haptic, &device);
    state.order(Order::of(1, Event::Enable));
    let mut steps = Steps::default();
    let seconds = options.seconds.max(12.0);
    let request = RealtimeRequest { priority: options.priority, cpu: options.cpu, ..RealtimeRequest::default() };
    let mapping = built.mapping;
    let mut ticks = Vec::with_capacity((1000.0 * seconds) as usize + 1);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut snapshot = empty_snapshot();
            while !stop.load(Ordering::Relaxed) {
                steps.take(&built.sim, &mut data, tool_reader.read(), &mut snapshot);
                snapshot_writer.buffer().clone_from(&snapshot);
                snapshot_writer.publish_in_place();
                std::thread::sleep(steps.left);
            }
        });
        let mut index = 0_u64;
        let outcome = run_loop(&request, 1000.0, seconds, |now| {
            let t = index as f64 * 1e-3;
            index += 1;
            // In at 25 mm/s, then to and fro by 2 mm.
            let way = (0.025 * t).min(0.13) + if t > 5.2 { 2e-3 * (6.0 * (t - 5.2)).sin() } else { 0.0 };
            let pose = Pose::from_parts((start.translation.vector + axis * way).into(), start.rotation);
            let sample = HandSample {
                stamp: Stamp { sequence: index, at: now.began },
                pose_device_handle: mapping.pose_to_device(&pose),
                buttons: 0,
                homed: true,
            };
            let began = now.now();
            tick(&built.haptic, &mut state, Some(sample), snapshot_reader.read(), now);
            let took = now.now().since(began);
            tool_writer.publish(*state.tool());
            if t > 5.2 && ticks.len() < ticks.capacity() {
                ticks.push(1e-3 * took as f64);
            }
        });
        stop.store(true, Ordering::Relaxed);
        outcome
    });
    outcome.map_err(failed)?;
    report.put(Record::new(SUITE, "liver/depth", "max", 1e3 * steps.inserted_m, "mm"))?;
    for (name, unit, samples) in [
        ("liver/step", "ms", &steps.wall_ms),
        ("liver/step-processor", "ms", &steps.busy_ms),
        ("liver/tick", "us", &ticks),
    ] {
        if let Some(summary) = Summary::of(samples) {
            report.put_summary(SUITE, name, unit, &summary)?;
        }
    }
    Ok(())
}
