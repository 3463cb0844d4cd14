//! Suite `contact`: from a pose to all contacts of two parts with depth and normal, beside FCL.
//!
//! Thread: main.
//!
//! Pairs are a nut on its bolt and a peg in its bore, about 5,000 triangles each; contacts are the nodes of either part
//! in the material of the other. Models are judged by the exact distance: do they see contact where there is any, and
//! how far off are the depths. Times are of the processor, one thread, all on the same core; FCL gets the same meshes
//! and poses and is asked for all contacts. Both take turns, round by round.
//!
//! Contacts of deformable bodies have rows of their own (`soft`).

mod fcl;
mod pair;
mod poses;
mod soft;

use super::{BenchError, Better, Options, Record, Report, Summary};
use crate::collision::detect::{AnyDetector, Event, Wish};
use crate::collision::field::Baked;
use crate::collision::gpu::{Gpu, GpuError};
use crate::geometry::mesh::{LengthUnit, write_obj};
use crate::math::Pose;
use crate::shared::realtime::{allowed_cpus, pin_to_cpu, thread_busy_ns};
use fcl::{Answer, Fcl};
use pair::{Both, Field, Kind, Pair};
use poses::Posed;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const SUITE: &str = "contact";
/// Poses nearer to touching than this are too close to call, m.
const CLEAR: f64 = 1e-5;
/// A graphics processor that takes longer for one answer is given up.
const PATIENCE: Duration = Duration::from_secs(5);

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A model of both parts.
struct Model {
    name: &'static str,
    both: Both,
    /// The fixed part's, if a graphics processor could have it.
    baked: Option<Arc<Baked>>,
    /// Milliseconds, for each set of poses.
    ms: Vec<(String, f64)>,
    /// Too slow to be asked in every round.
    slow: bool,
}

/// Runs the suite.
///
/// # Errors
/// When poses or meshes cannot be read, the peer fails, or the results cannot be written.
pub fn run(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let meshes = options.poses.as_deref().map(|file| file.with_file_name("meshes"));
    let mut prepared = Vec::new();
    for kind in [Kind::Bolt, Kind::Peg] {
        let listed = options.poses.as_deref().map(|file| poses::read(file, kind)).transpose().map_err(Failure::from)?;
        let pair = Pair::new(kind, meshes.as_deref())?;
        let models = models(&pair, options, report)?;
        prepared.push((pair, models, listed));
    }
    // Training has used all processors; from here on there is one.
    let cpu = options.cpu.or_else(|| allowed_cpus().last().copied());
    if let Some(Err(error)) = cpu.map(pin_to_cpu) {
        report.remark(&format!("not kept on one processor: {error}"));
    }
    soft::run(options, report)?;
    let gpu = Gpu::open();
    match &gpu {
        Ok(gpu) => report.remark(&format!("graphics processor: {}", gpu.name())),
        Err(error) => report.remark(&error.to_string()),
    }
    for (pair, mut models, listed) in prepared {
        let poses = listed.unwrap_or_else(|| poses::make(&pair, &mut models[0].both, options.seed));
        let answers = measure(&pair, &mut models, &poses, meshes.as_deref(), options)?;
        for model in &mut models {
            judge(&pair, model, &poses, &answers, report)?;
            times(&pair, model, &poses, &answers, report)?;
            probe(&pair, model, &poses, &gpu, report)?;
        }
    }
    Ok(())
}

/// The models, the default one first.
fn models(pair: &Pair, options: &Options, report: &mut Report) -> Result<Vec<Model>, BenchError> {
    let (moving, fixed) = (&pair.moving, &pair.fixed);
    let grids = [moving.grid()?, fixed.grid()?];
    let networks = [moving.network(&options.out, report)?, fixed.network(&options.out, report)?];
    let baked = |name, [moving, fixed]: [Arc<Baked>; 2]| {
        let baked = Some(Arc::clone(&fixed));
        Model { name, both: pair.both([moving, fixed], 0.0), baked, ms: Vec::new(), slow: false }
    };
    let exact = |name, fields: [Field; 2]| Model {
        name,
        both: pair.both(fields, 0.0),
        baked: None,
        ms: Vec::new(),
        slow: true,
    };
    Ok(vec![
        baked("grid", grids),
        baked("network", networks),
        exact("exact", [moving.exact(), fixed.exact()]),
        exact("mesh", [moving.of_mesh()?, fixed.of_mesh()?]),
    ])
}

/// Asks models and peer in turns; what the peer says of each pose, round by round.
fn measure(
    pair: &Pair,
    models: &mut [Model],
    poses: &[Posed],
    meshes: Option<&Path>,
    options: &Options,
) -> Result<Vec<Vec<Answer>>, BenchError> {
    let mut peer = match &options.peer_python {
        Some(python) => Some(start(pair, python, meshes, &options.out)?),
        None => None,
    };
    let mut answers = vec![Vec::new(); poses.len()];
    for round in 0..options.rounds {
        for model in models.iter_mut().filter(|m| round == 0 || !m.slow) {
            for posed in poses {
                let start = thread_busy_ns();
                model.both.detect(&posed.pose);
                model.ms.push((posed.set.clone(), (thread_busy_ns() - start) as f64 * 1e-6));
            }
        }
        if let Some(peer) = &mut peer {
            for (posed, answers) in poses.iter().zip(&mut answers) {
                answers.push(peer.ask(&posed.pose).map_err(Failure::from)?);
            }
        }
    }
    Ok(answers)
}

/// Starts the peer on the same meshes; those made here are written first.
fn start(pair: &Pair, python: &Path, meshes: Option<&Path>, out: &Path) -> Result<Fcl, BenchError> {
    let names = pair.kind.meshes();
    let files: [PathBuf; 2] = names.map(|name| meshes.unwrap_or(out).join(name).with_extension("obj"));
    if meshes.is_none() {
        std::fs::create_dir_all(out)?;
        for (file, part) in files.iter().zip([&pair.moving, &pair.fixed]) {
            std::fs::write(file, write_obj(&part.mesh, LengthUnit::Metre))?;
        }
    }
    Ok(Fcl::start(python, &files[0], &files[1]).map_err(Failure::from)?)
}

/// Does the model see what there is?
fn judge(
    pair: &Pair,
    model: &mut Model,
    poses: &[Posed],
    answers: &[Vec<Answer>],
    report: &mut Report,
) -> Result<(), BenchError> {
    let name = format!("{}/{}", pair.kind.name(), model.name);
    let (mut clear, mut right, mut as_peer) = (0_u32, 0_u32, 0_u32);
    let (mut squares, mut worst, mut counted) = (0.0, 0.0_f64, 0_u32);
    let mut counts = Vec::new();
    for (posed, answers) in poses.iter().zip(answers) {
        model.both.detect(&posed.pose);
        let touches = model.both.count() > 0;
        counts.push(model.both.count() as f64);
        if posed.least.abs() > CLEAR {
            clear += 1;
            right += u32::from(touches == (posed.least < 0.0));
            as_peer += u32::from(answers.first().is_some_and(|a| touches == (a.contacts > 0)));
        }
        let back = posed.pose.inverse();
        for (found, of, at, pose) in [
            (&model.both.found[0], &pair.moving, &pair.fixed, &posed.pose),
            (&model.both.found[1], &pair.fixed, &pair.moving, &back),
        ] {
            let place = at.pose_field_mesh * pose;
            for touch in found.touches() {
                let node = of.nodes.nodes()[touch.node as usize].position;
                let exact = at.source.distance(&(place.rotation * node + place.translation.vector)).distance;
                let off = (f64::from(touch.distance) - exact).abs();
                (squares, worst, counted) = (squares + off * off, worst.max(off), counted + 1);
            }
        }
    }
    let share = |part: u32| 100.0 * f64::from(part) / f64::from(clear.max(1));
    report.put(Record::new(SUITE, &name, "agrees-with-exact", share(right), "%"))?;
    if answers.iter().any(|a| !a.is_empty()) {
        report.put(Record::new(SUITE, &name, "agrees-with-fcl", share(as_peer), "%"))?;
    }
    let rms = (squares / f64::from(counted.max(1))).sqrt();
    report.put(Record::new(SUITE, &name, "depth-error-rms", rms * 1e6, "um"))?;
    report.put(Record::new(SUITE, &name, "depth-error-max", worst * 1e6, "um"))?;
    if let Some(counts) = Summary::of(&counts) {
        report.put_summary(SUITE, &format!("{name}/contacts"), "1", &counts)?;
    }
    Ok(())
}

/// How long does it take?
fn times(
    pair: &Pair,
    model: &Model,
    poses: &[Posed],
    answers: &[Vec<Answer>],
    report: &mut Report,
) -> Result<(), BenchError> {
    let mut sets: Vec<&str> = Vec::new();
    for posed in poses {
        if !sets.contains(&posed.set.as_str()) {
            sets.push(&posed.set);
        }
    }
    for set in sets {
        let name = format!("{}/{}/{set}", pair.kind.name(), model.name);
        let own: Vec<f64> = model.ms.iter().filter(|(s, _)| s == set).map(|(_, ms)| *ms).collect();
        let of_set = poses.iter().zip(answers).filter(|(posed, _)| posed.set == set);
        let peer: Vec<f64> = of_set.flat_map(|(_, answers)| answers.iter().map(|a| a.ns * 1e-6)).collect();
        match (Summary::of(&own), Summary::of(&peer)) {
            (Some(own), Some(peer)) => report.put_comparison(SUITE, &name, "ms", &own, ("FCL", &peer))?,
            (Some(own), None) => report.put_summary(SUITE, &name, "ms", &own)?,
            _ => (),
        }
    }
    Ok(())
}

/// Which processor would serve: the moving part's nodes in the model of the fixed one, there and back.
fn probe(
    pair: &Pair,
    model: &Model,
    poses: &[Posed],
    gpu: &Result<Arc<Gpu>, GpuError>,
    report: &mut Report,
) -> Result<(), BenchError> {
    let (Some(field), Ok(_)) = (&model.baked, gpu) else { return Ok(()) };
    let poses: Vec<Pose> = poses.iter().map(|posed| pair.fixed.pose_field_mesh * posed.pose).collect();
    let (_, event) = AnyDetector::new(&pair.moving.nodes, field, 0.0, Wish::Measured, gpu, &poses, PATIENCE);
    let name = format!("{}/{}/gpu", pair.kind.name(), model.name);
    match event {
        Some(Event::Measured { cpu_s, gpu_s }) => {
            let record = Record::new(SUITE, &name, "probe", gpu_s * 1e3, "ms");
            report.put(record.versus("one core", cpu_s * 1e3, Better::Lower))?;
        }
        Some(Event::FellBack(error)) => report.remark(&format!("{name}: {error}")),
        None => (),
    }
    Ok(())
}
