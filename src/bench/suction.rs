//! Suite `suction`: a suction cup pressed on a plate and pulled off, beside the figures published by Bernardin et al. 2022.
//!
//! Thread: main (cold).
//!
//! Row `ground` of their Table 1: the standard cup pushed on a flat surface until it is almost empty, and pulled off. Their times are those of
//! their machine (Core i9-9980HK); forces are those of this model, with its own dimensions of the cup.

use super::fem_rig::Stopwatch;
use super::suction_rig::{Frame, RigSpec, SuctionRig, press_and_pull};
use super::{BenchError, Options, Record, Report, Summary};
use crate::sim::CavityState;
use std::time::Instant;

const SUITE: &str = "suction";
/// Steps a second, as published.
const RATE_HZ: f64 = 100.0;
/// Time of a step, ms, as published for the row `ground`.
const GROUND_MS: f64 = 38.51;
/// Speed of the plate, m/s, and the time that it rests when it is down, s.
const SPEED_M_PER_S: f64 = 20e-3;
const REST_S: f64 = 0.2;
/// How far above the lip the plate starts, how far below it is pressed, and where it ends, m.
const WAY_M: [f64; 3] = [0.5e-3, -4.2e-3, 12e-3];

/// Columns of the history of the first round.
const COLUMNS: &str = "time_s,height_m,push_n,pressure_pa,volume_m3,air_j,area_m2,contacts,rows,residual\n";

/// One line of the history.
fn line(time_s: f64, frame: &Frame) -> String {
    let cavity = frame.cavities.first();
    let of = |value: fn(&CavityState) -> f64| cavity.map_or(f64::NAN, value);
    let (pressure, volume) = (of(|c| c.pressure_pa), of(|c| c.volume_m3));
    let (air, area) = (of(|c| c.air_j), of(|c| c.area_m2));
    let Frame { height_m, push_n, rows, report, .. } = frame;
    let (contacts, residual) = (report.touching, report.residual);
    format!("{time_s},{height_m},{push_n},{pressure},{volume},{air},{area},{contacts},{rows},{residual:e}\n")
}

/// Runs the suite.
///
/// # Errors
/// When the results cannot be written.
pub fn run(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let spec = RigSpec::standard(RATE_HZ);
    let name = "ground";
    let (mut times, mut rows, mut solved, mut count) = (Vec::new(), Vec::new(), 0_usize, 0_usize);
    let (mut pull_n, mut least_pa, mut nodes) = (0.0_f64, f64::INFINITY, 0);
    let mut history = COLUMNS.to_owned();
    let began = Instant::now();
    while times.is_empty() || began.elapsed().as_secs_f64() < options.seconds {
        let mut rig = SuctionRig::new(&spec, WAY_M[0])?;
        nodes = rig.nodes;
        let is_first = times.is_empty();
        for height in press_and_pull(WAY_M, SPEED_M_PER_S, REST_S, RATE_HZ) {
            let watch = Stopwatch::start();
            let frame = rig.step(height);
            if frame.rows > 0 {
                times.push(watch.us() * 1e-3);
                rows.push(frame.rows as f64);
            }
            pull_n = pull_n.max(-frame.push_n);
            least_pa = frame.pressure_pa().map_or(least_pa, |pressure| least_pa.min(pressure));
            solved += usize::from(frame.report.converged);
            count += 1;
            if is_first {
                history.push_str(&line(count as f64 / RATE_HZ, &frame));
            }
        }
        if is_first {
            std::fs::create_dir_all(&options.out)?;
            std::fs::write(options.out.join("suction-ground.csv"), &history)?;
        }
    }
    if let (Some(time), Some(rows)) = (Summary::of(&times), Summary::of(&rows)) {
        report.put_summary(SUITE, name, "ms", &time)?;
        report.put(Record::new(SUITE, format!("{name}/published"), "step", GROUND_MS, "ms"))?;
        report.put(Record::new(SUITE, name, "rows", rows.max, "count"))?;
    }
    report.put(Record::new(SUITE, name, "nodes", nodes as f64, "count"))?;
    report.put(Record::new(SUITE, name, "solved", 100.0 * solved as f64 / count as f64, "%"))?;
    report.put(Record::new(SUITE, name, "detachment force", pull_n, "N"))?;
    report.put(Record::new(SUITE, name, "least pressure", 1e-3 * least_pa, "kPa"))?;
    Ok(())
}
