//! Suite `fem`: steps of deformable bodies, free and in contact.
//!
//! Thread: main.
//!
//! Corotational bars of about 440, 1,000 and 1,600 nodes, free and with 150 and 450 rows of contact with friction;
//! linear bodies with a constant matrix, which is factored once; whole scenes of free soft bodies (`fem_scenes`). The free step is split
//! into what it consists of.
//! Times are of the processor.

use super::fem_rig::{PressedBar, STEP_S, StepTimes, Stopwatch, bar, contacts, failed, model};
use super::{BenchError, Options, Record, Report, Summary, fem_scenes};
use crate::fem::ElasticBody;
use crate::math::Vec3;
use crate::mechanism::pmi::Accuracy;
use std::time::Instant;

/// One part of a step's times.
type Pick = fn(&StepTimes) -> f64;

const SUITE: &str = "fem";
/// Gravity that presses the bar down, m/s².
const GRAVITY: f64 = 9.81;
/// Bricks of the bars: 437, 980 and 1,625 nodes.
const BARS: [(&str, [u32; 3]); 3] = [("437-nodes", [18, 4, 4]), ("980-nodes", [19, 6, 6]), ("1625-nodes", [24, 7, 7])];
/// Contacts on the underside.
const CONTACTS: [usize; 3] = [0, 50, 150];

/// Runs the suite.
///
/// # Errors
/// When a body cannot be made or the results not be written.
pub fn run(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    for (name, cells) in BARS {
        let mesh = bar(cells)?;
        for count in CONTACTS {
            let model = model(&mesh, false)?;
            let rows = contacts(&mesh, &model, count, options.seed);
            let mut pressed = PressedBar::new(model, rows, GRAVITY);
            let mut times = Vec::new();
            let began = Instant::now();
            while times.len() < 20 || began.elapsed().as_secs_f64() < options.seconds {
                times.push(pressed.step()?);
            }
            let of = |pick: Pick| Summary::of(&times.iter().map(pick).collect::<Vec<_>>());
            let name = format!("corotational/{name}/{}-rows", 3 * count);
            if let Some(total) = of(|t| t.total()) {
                report.put_summary(SUITE, &name, "ms", &total)?;
                report.put(Record::new(SUITE, name.clone(), "rate", 1e3 / total.p50, "Hz"))?;
            }
            let parts: [(&str, Pick); 4] = [
                ("free", |t| t.free),
                ("compliance", |t| t.compliance),
                ("laws", |t| t.laws),
                ("rest", |t| t.correction),
            ];
            for (part, pick) in parts {
                if let Some(summary) = of(pick) {
                    report.put(Record::new(SUITE, format!("{name}/{part}"), "p50", summary.p50, "ms"))?;
                }
            }
            let solved = times.iter().filter(|t| t.converged).count() as f64 / times.len() as f64;
            report.put(Record::new(SUITE, name, "solved", 100.0 * solved, "%"))?;
        }
    }
    linear(options, report)?;
    fem_scenes::run(SUITE, options, report)
}

/// Linear bodies: one solve for each step.
fn linear(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    for cells in [[12, 4, 3], [20, 4, 4]] {
        let mesh = bar(cells)?;
        let model = model(&mesh, false)?;
        let name = format!("linear/{}-unknowns", model.size());
        for (accuracy, label) in [(Accuracy::Plain, "plain"), (Accuracy::Compensated, "compensated")] {
            let mut body = ElasticBody::new(model.clone(), Vec3::new(0.0, 0.0, -GRAVITY), accuracy);
            let none = vec![0.0; model.size()];
            let mut us = Vec::new();
            let began = Instant::now();
            while us.len() < 100 || began.elapsed().as_secs_f64() < options.seconds {
                let start = Stopwatch::start();
                body.step(&none, STEP_S).map_err(failed)?;
                us.push(start.us());
            }
            if let Some(summary) = Summary::of(&us) {
                report.put_summary(SUITE, &format!("{name}/{label}"), "us", &summary)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pressed_bar_comes_to_rest_on_the_floor_and_does_not_sink_in() {
        let mesh = bar([8, 2, 2]).expect("sound");
        let model = model(&mesh, true).expect("sound");
        let rows = contacts(&mesh, &model, 20, 1);
        let probe = rows.clone();
        let mut pressed = PressedBar::new(model, rows, GRAVITY);
        for _ in 0..50 {
            assert!(pressed.step().expect("sound").converged);
        }
        let body = &pressed.body;
        for row in (0..probe.len()).step_by(3) {
            assert!(probe.times(row, body.position()) > -1e-9);
            assert!(probe.times(row, body.velocity()).abs() < 1e-3);
        }
    }
}
