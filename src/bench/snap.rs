//! Suite `snap`: the connector of two prongs pushed together (seed 000 §V).
//!
//! Thread: main (cold).
//!
//! 1. The force on the plug over its way, the socket at rest in every step and in motion: `snap-profile.svg`, `.csv`.
//! 2. Shorter steps: the peak of the force and how deep nodes get into the plug, `snap-steps.svg`.
//! 3. Two prongs and a latch: forces to push in and to pull out of the coarse mesh, of the one as shipped and of that halved, `snap-meshes.svg`;
//!    time of a step at rest of the one as shipped.
//! 4. Few motions beside the whole body: time of an insertion step, contact included, and largest difference of displacements.
//! 5. The click: frequency of the nose after it has left the plug, beside the slowest vibration of the socket.

use super::plot::{Line, draw_lines, write_csv};
use super::snap_rig::{Insertion, SnapRig};
use super::{BenchError, Options, Record, Report, Summary};
use crate::geometry::snap::{Detail, SnapKind};
use crate::sim::Stepping;

const SUITE: &str = "snap";
/// Speed of the plug, m/s.
const SPEED: f64 = 0.05;
/// Step of the passive insertions, s.
const STEP_S: f64 = 5e-5;
/// Step of those at rest, s.
const REST_STEP_S: f64 = 2e-4;
/// Steps in which the plug is pulled out again.
const RELEASE_STEPS: usize = 400;
/// Steps of the study, s.
const STEPS_S: [f64; 5] = [4e-4, 2e-4, 1e-4, 5e-5, 2.5e-5];
/// Motions of the whole socket, and more of its prongs: 3 + 28, as many as the 6 + 25 of seed 000's coarse socket.
pub const MOTIONS: (usize, usize) = (3, 25);
/// The same of the fine socket, 4 + 34, where the seed has 6 + 96.
pub const FINE_MOTIONS: (usize, usize) = (4, 30);

/// Runs the suite.
///
/// # Errors
/// When a socket cannot be made, or results cannot be written.
pub fn run(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let coarse = SnapRig::new(SnapKind::TwoProng, Detail::Coarse)?;
    let rest = coarse.insert(Stepping::Static, SPEED, REST_STEP_S)?;
    let moving = coarse.insert(Stepping::Passive, SPEED, STEP_S)?;
    profile(options, report, &coarse, &rest, &moving)?;
    steps(options, report, &coarse, &rest)?;
    meshes(options, report)?;
    few_motions(report, "coarse", &coarse, MOTIONS, &moving)?;
    let fine = SnapRig::new(SnapKind::TwoProng, Detail::Fine)?;
    let moving = fine.insert(Stepping::Passive, SPEED, STEP_S)?;
    few_motions(report, "fine", &fine, FINE_MOTIONS, &moving)
}

/// Force over the way of the plug, in mm from where it begins.
fn over_way(done: &Insertion) -> Vec<(f64, f64)> {
    let top = done.tip_m.first().copied().unwrap_or(0.0);
    done.tip_m.iter().zip(&done.force_n).map(|(tip, force)| ((top - tip) * 1e3, *force)).collect()
}

fn profile(
    options: &Options,
    report: &mut Report,
    rig: &SnapRig,
    rest: &Insertion,
    moving: &Insertion,
) -> Result<(), BenchError> {
    for (name, done) in [("at-rest", rest), ("passive", moving)] {
        report.put(Record::new(SUITE, format!("{name}/force"), "peak", done.peak().0, "N"))?;
        report.put(Record::new(SUITE, format!("{name}/force"), "least", done.pull().0, "N"))?;
        report.put(Record::new(SUITE, format!("{name}/penetration"), "max", done.penetration_m, "m"))?;
    }
    report.put(Record::new(SUITE, "release/force", "peak", rig.release_force(400)?, "N"))?;
    let first_hz = rig.first_hz()?;
    if let Some(hz) = rig.ring_hz(moving, STEP_S) {
        report.put(Record::new(SUITE, "click/frequency", "mean", hz, "Hz"))?;
        report.put(Record::new(SUITE, "click/first-vibration", "exact", first_hz, "Hz"))?;
    }
    let rows: Vec<Vec<f64>> = over_way(moving).into_iter().map(|(way, force)| vec![way, force]).collect();
    write_csv(&options.out.join("snap-profile.csv"), &["way_mm", "force_n"], &rows)?;
    let lines = [
        Line { name: "in motion, 20 kHz".into(), points: over_way(moving) },
        Line { name: "at rest".into(), points: over_way(rest) },
    ];
    draw_lines(&options.out.join("snap-profile.svg"), ["way of the plug, mm", "force, N"], &lines)
}

fn steps(options: &Options, report: &mut Report, rig: &SnapRig, rest: &Insertion) -> Result<(), BenchError> {
    let mut points = Vec::new();
    for step_s in STEPS_S {
        let done = rig.insert(Stepping::Passive, SPEED, step_s)?;
        let name = format!("step-{}us", step_s * 1e6);
        let off = done.peak().0 / rest.peak().0 - 1.0;
        report.put(Record::new(SUITE, format!("{name}/peak-against-rest"), "relative", off, "1"))?;
        report.put(Record::new(SUITE, format!("{name}/penetration"), "max", done.penetration_m, "m"))?;
        points.push((step_s * 1e6, done.penetration_m * 1e6));
    }
    let line = Line { name: "deepest node".into(), points };
    draw_lines(&options.out.join("snap-steps.svg"), ["step, µs", "overlap, µm"], &[line])
}

/// What it takes to push a connector together and to pull it apart, N, by mesh, and how far the mesh as shipped is off its halved one.
fn meshes(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let mut lines = Vec::new();
    for (connector, kind) in [("two-prong", SnapKind::TwoProng), ("lan", SnapKind::Latch)] {
        let mut line = Line { name: connector.into(), points: Vec::new() };
        let mut shipped = None;
        for (mesh, detail) in [("coarse", Detail::Coarse), ("graded", Detail::Graded), ("halved", Detail::Halved(1))] {
            let rig = SnapRig::new(kind, detail)?;
            let done = rig.insert(Stepping::Static, SPEED, 2.0 * REST_STEP_S)?;
            let forces = [done.peak().0, rig.release_force(RELEASE_STEPS)?];
            let name = format!("{connector}/{mesh}");
            report.put(Record::new(SUITE, format!("{name}/unknowns"), "count", rig.fem.size() as f64, "1"))?;
            for (way, force) in ["push-in", "pull-out"].into_iter().zip(forces) {
                report.put(Record::new(SUITE, format!("{name}/{way}"), "peak", force, "N"))?;
            }
            line.points.push((rig.fem.size() as f64, forces[0]));
            match detail {
                Detail::Graded => {
                    if let Some(times) = Summary::of(&done.step_us) {
                        report.put_summary(SUITE, &format!("{name}/step-at-rest"), "us", &times)?;
                    }
                    shipped = Some(forces);
                }
                Detail::Halved(_) => {
                    let pairs = shipped.unwrap_or(forces).into_iter().zip(forces);
                    for (way, (shipped, halved)) in ["push-in", "pull-out"].into_iter().zip(pairs) {
                        let off = shipped / halved - 1.0;
                        report.put(Record::new(SUITE, format!("{connector}/graded/{way}"), "off", off, "1"))?;
                    }
                }
                Detail::Coarse | Detail::Fine => {}
            }
        }
        lines.push(line);
    }
    draw_lines(&options.out.join("snap-meshes.svg"), ["unknowns", "force, N"], &lines)
}

fn few_motions(
    report: &mut Report,
    name: &str,
    rig: &SnapRig,
    (shared, local): (usize, usize),
    full: &Insertion,
) -> Result<(), BenchError> {
    let model = rig.reduced(shared, local)?;
    let motions = model.size();
    let reduced = rig.insert(Stepping::Reduced(model), SPEED, STEP_S)?;
    let name = format!("{name}/step");
    if let (Some(ours), Some(whole)) = (Summary::of(&reduced.step_us), Summary::of(&full.step_us)) {
        report.put_comparison(SUITE, &name, "us", &ours, ("the whole body", &whole))?;
        report.put(Record::new(SUITE, name.clone(), "rate", 1e6 / ours.p50, "Hz"))?;
    }
    report.put(Record::new(SUITE, name.clone(), "motions", motions as f64, "1"))?;
    report.put(Record::new(SUITE, name, "difference", reduced.difference(full), "1"))?;
    Ok(())
}
