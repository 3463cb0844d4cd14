//! Suite `solver`: contact problems solved to the law, beside projected Gauss–Seidel.
//!
//! Thread: main.
//!
//! Both get the same problems and must reach the same residual of the laws (complementarity, cone, dissipation ≤ 10⁻⁹), not
//! the same tolerance of their own: a small correction is not a small error. The baseline may make 20,000 sweeps; a problem
//! it has not solved by then counts with the time that took. Problems are timed one by one, the two taking turns; times are of the
//! processor, one thread.

use super::assembly::drive::{ThreadPair, peg_in_hole};
use super::assembly::task::{Task, problems};
use super::{BenchError, Better, Options, Record, Report, Summary};
use crate::bake::DesignError;
use crate::math::Random;
use crate::mechanism::newton::{Workspace, solve_robustly};
use crate::mechanism::pgs;
use crate::mechanism::samples::{Kind, Sample, sample};
use crate::mechanism::solver::{Settings, residuals};
use crate::shared::realtime::thread_busy_ns;
use std::time::Instant;

const SUITE: &str = "solver";
/// Residual of the laws that counts as solved.
const SOLVED: f64 = 1e-9;
/// A third of it is asked for: round-off may stand in the way by a factor of three.
const OURS: Settings = Settings { iterations: 30, tolerance: SOLVED / 3.0, relaxation: 1.3 };
/// Problems that were met are taken that far from each other, so that a short run sees all of the way.
const STRIDE: usize = 7;
/// Sweeps the baseline makes between two looks at its residual, and at most.
const PGS_SWEEPS: (u32, u32) = (25, 20_000);

/// One group of problems.
struct Group {
    name: &'static str,
    source: Source,
}

/// Where problems come from.
enum Source {
    /// Made at random, with that many contacts.
    Made(Kind, fn(usize) -> usize),
    /// Met by a nut that is driven on its bolt, and tightened, and by a peg that is pushed: a dozen contacts where six would do.
    Nut,
    LoadedNut,
    Peg,
}

const GROUPS: [Group; 8] = [
    Group { name: "12-contacts", source: Source::Made(Kind::OneBody, |_| 12) },
    Group { name: "one-body", source: Source::Made(Kind::OneBody, |i| 1 + i % 32) },
    Group { name: "pile", source: Source::Made(Kind::Pile, |i| 1 + i % 32) },
    Group { name: "pile-mass-ratio-1e6", source: Source::Made(Kind::MixedPile, |i| 1 + i % 32) },
    Group { name: "tower-mass-ratio-1e6", source: Source::Made(Kind::Tower, |i| 1 + i % 32) },
    Group { name: "nut", source: Source::Nut },
    Group { name: "nut-loaded", source: Source::LoadedNut },
    Group { name: "peg", source: Source::Peg },
];
/// Contacts that a problem met by parts has at least.
const CONTACTS: usize = 7;

impl Source {
    /// The problems that parts meet; none where problems are made.
    fn met(&self) -> Result<Vec<Sample>, DesignError> {
        let pair = ThreadPair::m48();
        let pitch = pair.thread.pitch;
        let nut = || pair.assembly(3.2 * pitch, 0.1);
        Ok(match self {
            Self::Made(..) => Vec::new(),
            Self::Nut => problems(&nut()?, Task::Drive { pitch }, CONTACTS),
            Self::LoadedNut => problems(&nut()?, Task::Loaded { newton: 100.0, pitch }, CONTACTS),
            Self::Peg => problems(&peg_in_hole(0.1)?, Task::Push, CONTACTS),
        })
    }
}

#[derive(Default)]
struct Figures {
    us: Vec<f64>,
    iterations: Vec<f64>,
    solved: usize,
    residual: f64,
}

impl Figures {
    fn add(&mut self, sample: &Sample, lambda: &[f64], iterations: u32, us: f64) {
        let residual = residuals(&sample.problem(), lambda).worst();
        self.us.push(us);
        self.iterations.push(f64::from(iterations));
        self.solved += usize::from(residual <= SOLVED);
        self.residual = self.residual.max(residual);
    }
}

/// Runs the suite.
///
/// # Errors
/// When the results cannot be written.
pub fn run(options: &Options, report: &mut Report) -> Result<(), BenchError> {
    for group in &GROUPS {
        let met = group.source.met().map_err(|error| BenchError::Failed(Box::new(error)))?;
        let (ours, baseline) = measure(&group.source, &met, options);
        let count = ours.us.len();
        if let (Some(own), Some(peer)) = (Summary::of(&ours.us), Summary::of(&baseline.us)) {
            report.put_comparison(SUITE, group.name, "us", &own, ("projected Gauss–Seidel", &peer))?;
        }
        if let Some(iterations) = Summary::of(&ours.iterations) {
            report.put_summary(SUITE, &format!("{}/iterations", group.name), "1", &iterations)?;
        }
        let share = |solved: usize| 100.0 * solved as f64 / count.max(1) as f64;
        let solved = Record::new(SUITE, group.name, "solved", share(ours.solved), "%");
        report.put(solved.versus("projected Gauss–Seidel", share(baseline.solved), Better::Higher))?;
        report.put(Record::new(SUITE, group.name, "worst-residual", ours.residual, "1"))?;
    }
    Ok(())
}

/// Solves problems of one group for the time asked, both taking turns; those that were met one after the other.
fn measure(source: &Source, met: &[Sample], options: &Options) -> (Figures, Figures) {
    let mut random = Random::new(options.seed);
    let mut work = Workspace::default();
    let (mut ours, mut baseline) = (Figures::default(), Figures::default());
    let began = Instant::now();
    let mut number = 0;
    while number < 100 || began.elapsed().as_secs_f64() < options.seconds {
        let made = match source {
            Source::Made(kind, contacts) => Some(sample(*kind, contacts(number), &mut || random.uniform())),
            _ => None,
        };
        let Some(sample) = made.as_ref().or_else(|| met.get(number * STRIDE % met.len().max(1))) else { break };
        let problem = sample.problem();
        let mut lambda = vec![0.0; sample.free.len()];
        let start = thread_busy_ns();
        let outcome = solve_robustly(&problem, &mut lambda, &OURS, &mut work, || false);
        ours.add(sample, &lambda, outcome.iterations, us_since(start));
        lambda.fill(0.0);
        let (sweeps, us) = project(sample, &mut lambda);
        baseline.add(sample, &lambda, sweeps, us);
        number += 1;
    }
    (ours, baseline)
}

/// Time on the processor since, µs.
fn us_since(start_ns: u64) -> f64 {
    (thread_busy_ns() - start_ns) as f64 * 1e-3
}

/// The baseline until the laws hold or it has had its sweeps; looking at the residual is not timed.
fn project(sample: &Sample, lambda: &mut [f64]) -> (u32, f64) {
    let problem = sample.problem();
    let (turn, most) = PGS_SWEEPS;
    let settings = Settings { iterations: turn, tolerance: 0.0, relaxation: 1.0 };
    let (mut sweeps, mut us) = (0, 0.0);
    while sweeps < most {
        let start = thread_busy_ns();
        pgs::solve(&problem, lambda, &settings);
        us += us_since(start);
        sweeps += turn;
        if residuals(&problem, lambda).worst() <= SOLVED {
            break;
        }
    }
    (sweeps, us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Format;

    #[test]
    fn the_suite_solves_everything_and_says_how_much_the_baseline_did() {
        let mut report = Report::new(Format::Table, Box::new(std::io::sink()), Box::new(std::io::sink()));
        run(&Options { seconds: 0.1, ..Options::default() }, &mut report).expect("the suite runs");
        let solved: Vec<_> = report.records().iter().filter(|r| r.stat == "solved").collect();
        assert_eq!(solved.len(), GROUPS.len());
        // With a mass ratio of a million round-off leaves some a little short.
        let all = |name: &str| !name.ends_with("mass-ratio-1e6");
        assert!(solved.iter().all(|record| record.value == 100.0 || !all(&record.name)));
        let mut worst = report.records().iter().filter(|r| r.stat == "worst-residual");
        assert!(worst.all(|record| record.value <= 1e-8));
        assert!(solved.iter().any(|record| record.comparison.as_ref().is_some_and(|c| c.baseline_value < 50.0)));
    }
}
