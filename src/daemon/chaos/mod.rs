//! `hapticd chaos`: devices × phases × strikes, each with a daemon, guardians and an emulated device of its own, and what became of the force.
//!
//! Thread: main; another reads what the emulated device says.
//!
//! ```text
//!  plan (from the seed) ──► stage: `hapticd emulate`, `hapticd run`   [stage]
//!                             │ strike: a signal to whom, or a fault of line or device   [strike]
//!                             ▼
//!                           table: tries, times to zero force, verdict   [table]
//! ```
//!
//! No real device is touched: every daemon is given the port of a device that this program emulates. Only processes started here,
//! and their guardians, get signals.

mod stage;
mod strike;
mod table;

use super::Failure;
use super::out::{note, put};
use crate::device::driver::catalogue::{DRIVERS, gives_force};
use crate::math::Random;
use crate::scene;
use clap::Args;
use stage::Stage;
use std::sync::atomic::{AtomicBool, Ordering};
use strike::{Phase, STRIKES, Strike};
use table::{Row, Tried};

/// What was asked for.
#[derive(Args)]
pub(super) struct ChaosArgs {
    /// A scene, by shipped name or path; its script moves the hand
    scene: String,
    /// An emulated device: a device file, by shipped name or path; may be given several times
    #[arg(long, required = true)]
    device: Vec<String>,
    /// Only these: `daemon:kill`, `guardian:stop`, `stall`, `collide` …, or a part of one such as `kill`; may be given several times
    #[arg(long, value_name = "STRIKE")]
    strike: Vec<String>,
    /// Only this phase: idle, free or pressing; may be given several times
    #[arg(long, value_name = "PHASE")]
    phase: Vec<Phase>,
    /// Tries of each case
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    tries: u32,
    /// Seed of the order of the cases and of the moment of each strike
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one JSON object and nothing else on standard output
    #[arg(long)]
    json: bool,
}

/// One device in one phase, and what befalls it.
#[derive(Clone)]
struct Case {
    device: String,
    phase: Phase,
    strike: Strike,
}

impl ChaosArgs {
    /// Runs every case and prints the table; true when no promise was broken.
    ///
    /// # Errors
    /// When scene or device are unknown, nothing is left of the cases, or a process cannot be started.
    pub(super) fn run(&self, stop: &AtomicBool) -> Result<bool, Failure> {
        let mut cases = self.cases()?;
        let mut random = Random::new(self.seed);
        // Fisher and Yates: what one case leaves behind must not decide the next.
        for last in (1..cases.len()).rev() {
            cases.swap(last, (random.bits() % (last as u64 + 1)) as usize);
        }
        let mut rows = Vec::new();
        for (index, case) in cases.iter().enumerate() {
            let mut row = Row::new(case.device.clone(), case.phase, case.strike);
            for _ in 0..self.tries {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let (tried, peak_n) = self.attempt(case, random.uniform())?;
                row.add(tried, peak_n);
            }
            note(format_args!("{:>4} of {}  {}\n", index + 1, cases.len(), row.brief()));
            rows.push(row);
        }
        rows.sort_by(|a, b| a.place().cmp(&b.place()));
        put(format_args!(
            "{}",
            if self.json { table::json(&self.scene, self.seed, &rows) } else { table::text(&rows) }
        ));
        Ok(rows.iter().all(|row| row.kept()))
    }

    /// Every case that was asked for.
    fn cases(&self) -> Result<Vec<Case>, Failure> {
        scene::open(&self.scene)?;
        let mut cases = Vec::new();
        for device in &self.device {
            let driver = scene::open_device(device)?.value.driver;
            if !DRIVERS.contains(&driver.as_str()) || !gives_force(&driver) {
                let text = format!("`{device}` cannot be emulated, or gives no force; name one such as novint-falcon");
                return Err(Failure::Usage(text));
            }
            for strike in STRIKES {
                let word = strike.word();
                let wanted = self.strike.is_empty() || self.strike.iter().any(|part| word.contains(part.as_str()));
                let phases = strike.phases().iter().filter(|phase| self.phase.is_empty() || self.phase.contains(phase));
                let case = |phase: &Phase| Case { device: device.clone(), phase: *phase, strike };
                cases.extend(phases.filter(|_| wanted).map(case));
            }
        }
        if cases.is_empty() {
            let words: Vec<String> = STRIKES.iter().map(|strike| strike.word()).collect();
            return Err(Failure::Usage(format!("no case is left; strikes are {}", words.join(", "))));
        }
        Ok(cases)
    }

    /// One try on a stage of its own, and the largest force, N. `moment` in 0 to 1 says when after the phase was reached.
    fn attempt(&self, case: &Case, moment: f64) -> Result<(Tried, Option<f64>), Failure> {
        let mut stage = Stage::build(&self.scene, &case.device)?;
        if let Err(why) = stage.reach(case.phase, moment) {
            return Ok((Tried::NotReached(why), None));
        }
        let tried = case.strike.befall(&mut stage, case.phase)?;
        stage.end_device();
        Ok((tried, stage.peak_n))
    }
}
