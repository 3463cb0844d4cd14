//! Suite `compliance`: `W = H A⁻¹ Hᵀ` of contact rows on a soft bar of about 1,000 nodes.
//!
//! Thread: main, and the worker of the asynchronous body.
//!
//! Least fill and contact nodes last, each beside one solve for each row with the same factor, the two taking turns;
//! both results must agree. Times of the processor. Then the factor of an earlier step, turned along: what the step
//! costs with it by the clock, waiting included, and how far `W` is off.

use super::fem_rig::{MATERIAL, STEP_S, Stopwatch, bar, contacts, failed, model};
use super::{BenchError, Options, Record, Report, Summary};
use crate::fem::{AsyncBody, AsyncSpec, Compliance, CorotationalBody, FemModel, Rows};
use crate::geometry::tet::TetMesh;
use crate::math::Vec3;
use std::sync::Arc;
use std::time::Instant;

const SUITE: &str = "compliance";
const CELLS: [u32; 3] = [19, 6, 6];
const BASELINE: &str = "one solve per row";

/// Runs the suite.
///
/// # Errors
/// When a body cannot be made, results disagree, or cannot be written.
pub fn run(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let mesh = bar(CELLS)?;
    for (order, last) in [("least-fill", false), ("contact-last", true)] {
        let model = model(&mesh, last)?;
        for count in [10, 50, 150] {
            exact(options, report, &mesh, &model, order, count)?;
        }
    }
    warped(options, report, &mesh)
}

fn ms(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// `W` from the factor of the step, beside one solve for each row.
fn exact(
    options: &Options,
    report: &mut Report,
    mesh: &TetMesh,
    model: &Arc<FemModel>,
    order: &str,
    contact_count: usize,
) -> Result<(), BenchError> {
    let rows = contacts(mesh, model, contact_count, options.seed);
    let count = rows.len();
    let mut body = CorotationalBody::new(model.clone(), Vec3::new(0.0, 0.0, -9.81));
    let none = vec![0.0; model.size()];
    let (mut work, mut ours, mut peer) = (Compliance::default(), vec![0.0; count * count], vec![0.0; count * count]);
    let (mut own_ms, mut peer_ms, mut factor_ms) = (Vec::new(), Vec::new(), Vec::new());
    let began = Instant::now();
    while own_ms.len() < 10 || began.elapsed().as_secs_f64() < options.seconds {
        let start = Stopwatch::start();
        body.prepare(&none, STEP_S).map_err(failed)?;
        factor_ms.push(start.us() * 1e-3);
        let start = Stopwatch::start();
        body.compliance(&rows, &mut work, &mut ours).map_err(failed)?;
        own_ms.push(start.us() * 1e-3);
        let start = Stopwatch::start();
        by_rows(&mut body, &rows, &mut peer)?;
        peer_ms.push(start.us() * 1e-3);
        body.finish().map_err(failed)?;
    }
    let name = format!("{order}/{count}-rows");
    let off = difference(&ours, &peer);
    if off > 1e-9 {
        let what = format!("their largest difference is {off:.1e} of the largest number");
        return Err(BenchError::Disagreement { name, baseline: BASELINE.into(), what });
    }
    if let (Some(own), Some(peer)) = (Summary::of(&own_ms), Summary::of(&peer_ms)) {
        report.put_comparison(SUITE, &name, "ms", &own, (BASELINE, &peer))?;
    }
    if let Some(summary) = Summary::of(&factor_ms) {
        report.put(Record::new(SUITE, format!("{name}/free-step"), "p50", summary.p50, "ms"))?;
    }
    report.put(Record::new(SUITE, name, "difference", off, "1"))?;
    Ok(())
}

/// The baseline: pushes on every row by itself.
fn by_rows(body: &mut CorotationalBody, rows: &Rows, out: &mut [f64]) -> Result<(), BenchError> {
    let count = rows.len();
    let mut force = vec![0.0; body.model().size()];
    let mut lambda = vec![0.0; count];
    for column in 0..count {
        force.fill(0.0);
        lambda.fill(0.0);
        lambda[column] = STEP_S;
        rows.add_transposed(&lambda, &mut force);
        body.solve(&mut force).map_err(failed)?;
        for row in 0..count {
            out[row * count + column] = rows.times(row, &force);
        }
    }
    Ok(())
}

fn difference(a: &[f64], b: &[f64]) -> f64 {
    let largest = b.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest
}

/// A bar that swings far, with the factor of an earlier step beside the exact one.
fn warped(options: &Options, report: &mut Report, mesh: &TetMesh) -> Result<(), BenchError> {
    let model = model(mesh, true)?;
    let rows = contacts(mesh, &model, 50, options.seed);
    let count = rows.len();
    // Enough to bend the bar by its own height.
    let gravity = Vec3::new(0.0, 0.0, -0.1 * MATERIAL.young_pa / MATERIAL.density);
    let mut body = AsyncBody::new(model.clone(), gravity, AsyncSpec::default()).map_err(failed)?;
    let mut exact = CorotationalBody::new(model.clone(), gravity);
    let none = vec![0.0; model.size()];
    let (mut work, mut ours, mut peer) = (Compliance::default(), vec![0.0; count * count], vec![0.0; count * count]);
    let (mut own_ms, mut peer_ms, mut errors, mut estimates) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let began = Instant::now();
    while own_ms.len() < 50 || began.elapsed().as_secs_f64() < options.seconds {
        exact.set_state(body.body().position(), body.body().velocity()).map_err(failed)?;
        let start = Instant::now();
        exact.prepare(&none, STEP_S).map_err(failed)?;
        exact.compliance(&rows, &mut work, &mut peer).map_err(failed)?;
        peer_ms.push(ms(start));
        let start = Instant::now();
        body.prepare(&none, STEP_S).map_err(failed)?;
        body.compliance(&rows, &mut work, &mut ours);
        own_ms.push(ms(start));
        errors.push(difference(&ours, &peer));
        estimates.push(body.report().compliance_error());
        body.finish();
    }
    let name = "asynchronous/150-rows";
    if let (Some(own), Some(peer)) = (Summary::of(&own_ms), Summary::of(&peer_ms)) {
        report.put_comparison(SUITE, name, "ms", &own, ("factor in the step", &peer))?;
    }
    for (stat, values) in [("error", &errors), ("estimate", &estimates)] {
        if let Some(summary) = Summary::of(values) {
            report.put_summary(SUITE, &format!("{name}/{stat}"), "1", &summary)?;
        }
    }
    report.put(Record::new(SUITE, name, "waits", body.waits() as f64, "1"))?;
    Ok(())
}
