//! Suite `assembly`: tight parts driven by prescribed forces, steps of 1 ms.
//!
//! Thread: main.
//!
//! Penetration is that of every node of either part in the exact surface of the other, whatever model and contacts the step
//! went by. Times are of the processor, one thread. Each task is run with the contacts chosen by pressure and, as the
//! baseline, by k-means with the deepest node of each cluster; both may have twelve. With `--peers` other engines run the same
//! tasks right after ours, on the same processor.

pub mod drive;
mod peers;
pub mod task;

use super::{BenchError, Better, Options, Record, Report, Summary};
use crate::bake::DesignError;
use crate::collision::Reduction;
use crate::shared::realtime::{allowed_cpus, pin_to_cpu};
use drive::{Assembly, ThreadPair, peg_in_hole};
use task::{Figures, Task, run};

const SUITE: &str = "assembly";
/// The baseline.
const BASELINE: &str = "k-means, deepest of each";

/// Runs the suite.
///
/// # Errors
/// When parts cannot be made or the results cannot be written.
pub fn run_suite(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let failed = |error: DesignError| BenchError::Failed(Box::new(error));
    let cpu = options.cpu.or_else(|| allowed_cpus().last().copied());
    if let Some(Err(error)) = cpu.map(pin_to_cpu) {
        report.remark(&format!("not kept on one processor: {error}"));
    }
    let peers = options
        .peers
        .as_deref()
        .map_or(Ok(Vec::new()), peers::read)
        .map_err(|error| BenchError::Failed(error.into()))?;
    let pair = ThreadPair::m48();
    let pitch = pair.thread.pitch;
    let bolt = pair.assembly(3.2 * pitch, 0.1).map_err(failed)?;
    let peg = peg_in_hole(0.1).map_err(failed)?;
    for (name, assembly, task) in [
        ("bolt", &bolt, Task::Drive { pitch }),
        ("peg", &peg, Task::Push),
        ("loaded-thread", &bolt, Task::Loaded { newton: 100.0, pitch }),
    ] {
        let ours = put(name, assembly, task, report)?;
        for peer in peers.iter().filter(|peer| peer.task == name) {
            compare(name, &ours, peer, report)?;
        }
    }
    Ok(())
}

/// Our figures in the order of [`peers::FIGURES`], with their names and units.
fn figures(ours: &Figures) -> [(&'static str, &'static str, f64, &'static str); peers::FIGURES.len()] {
    let ms: Vec<f64> = ours.step_s.iter().map(|s| s * 1e3).collect();
    let (p50, p99) = Summary::of(&ms).map_or((f64::NAN, f64::NAN), |summary| (summary.p50, summary.p99));
    let um = ours.penetration_m.iter().map(|m| m * 1e6);
    [
        ("step", "p50", p50, "ms"),
        ("step", "p99", p99, "ms"),
        ("penetration", "mean", um.clone().sum::<f64>() / ours.penetration_m.len().max(1) as f64, "um"),
        ("penetration", "max", um.fold(0.0, f64::max), "um"),
        ("jitter", "rms", ours.jitter_m_per_s * 1e3, "mm/s"),
        ("lead-error", "max", ours.lead_error_m * 1e3, "mm"),
    ]
}

/// Runs another engine and sets ours beside it.
fn compare(name: &str, ours: &Figures, peer: &peers::Peer, report: &mut Report) -> Result<(), BenchError> {
    let theirs = match peer.run() {
        Ok(theirs) => theirs,
        Err(error) => {
            report.remark(&format!("not compared with {error}"));
            return Ok(());
        }
    };
    for ((what, stat, own, unit), other) in figures(ours).into_iter().zip(theirs) {
        let Some(other) = other else { continue };
        let record = Record::new(SUITE, format!("{name}/{what}"), stat, own, unit);
        report.put(record.versus(&peer.name, other, Better::Lower))?;
    }
    Ok(())
}

/// Runs one task both ways and reports it.
fn put(name: &str, assembly: &Assembly, task: Task, report: &mut Report) -> Result<Figures, BenchError> {
    let ours = run(assembly, task);
    let baseline = run(&Assembly { reduction: Reduction::KMeans, ..assembly.clone() }, task);
    let ms = |figures: &Figures| figures.step_s.iter().map(|s| s * 1e3).collect::<Vec<_>>();
    if let (Some(own), Some(peer)) = (Summary::of(&ms(&ours)), Summary::of(&ms(&baseline))) {
        report.put_comparison(SUITE, &format!("{name}/step"), "ms", &own, (BASELINE, &peer))?;
    }
    let um = |figures: &Figures| figures.penetration_m.iter().map(|m| m * 1e6).collect::<Vec<_>>();
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
    let most = |of: &[f64]| of.iter().copied().fold(0.0, f64::max);
    let (own, peer) = (um(&ours), um(&baseline));
    let mut line = |what: &str, stat, value: f64, peer: f64, unit| {
        let record = Record::new(SUITE, format!("{name}/{what}"), stat, value, unit);
        report.put(record.versus(BASELINE, peer, Better::Lower))
    };
    line("penetration", "mean", mean(&own), mean(&peer), "um")?;
    line("penetration", "max", most(&own), most(&peer), "um")?;
    line("jitter", "rms", ours.jitter_m_per_s * 1e3, baseline.jitter_m_per_s * 1e3, "mm/s")?;
    line("unconverged", "count", ours.unconverged as f64, baseline.unconverged as f64, "1")?;
    match task {
        Task::Push => {}
        Task::Drive { .. } => line("lead-error", "max", ours.lead_error_m * 1e3, baseline.lead_error_m * 1e3, "mm")?,
        Task::Loaded { .. } => line("torque", "mean", ours.torque_n_m.abs(), baseline.torque_n_m.abs(), "N*m")?,
    }
    report.put(Record::new(SUITE, format!("{name}/turned"), "end", ours.turned_rad.to_degrees(), "deg"))?;
    report.put(Record::new(SUITE, format!("{name}/contacts"), "max", ours.contacts as f64, "1"))?;
    Ok(ours)
}
