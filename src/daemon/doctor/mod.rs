//! `hapticd doctor`: is this PC fit for real time, and what to change.
//!
//! Thread: main, and one real-time thread for the measurement.
//!
//! Each finding says what was seen, why it matters and the exact command that mends it. Facts are read through one
//! `System`, so tests run every finding on made-up systems; a fact that cannot be read is a finding too. Only what breaks
//! a promise is unfit: refused rights or memory, a starved budget, a coarse clock, and the lateness itself. All else is
//! advice, because the measurement already shows what it costs.

mod devices;
mod finding;
mod kernel;
mod lateness;
mod power;
mod processors;
mod report;
mod rights;
mod storage;
mod system;

pub use finding::{Finding, Verdict};

use super::Failure;
use crate::daemon::out::note;
use rights::Probe;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use system::System;

/// Where the service keeps its recordings.
const SERVICE_RECORDINGS: &str = "/var/lib/hapticd";

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DoctorOptions {
    /// How long the lateness is measured, s.
    pub seconds: f64,
    /// Processor for the loop; none lets the doctor choose.
    pub cpu: Option<usize>,
    /// One JSON object instead of text.
    pub json: bool,
}

/// Examines this PC and prints what it finds. True when the PC is fit.
///
/// # Errors
/// [`Failure::Usage`] when the processor asked for is not there.
pub fn run(options: &DoctorOptions) -> Result<bool, Failure> {
    let system = System::this_pc();
    let cpu = processors::choose(&system, options.cpu).map_err(Failure::Usage)?;
    let mut findings = examine(&system, cpu, &rights::probe(), &recordings(&system));
    if !options.json {
        say(&format!("hapticd {}   is this PC fit for real time?\n\n", env!("CARGO_PKG_VERSION")));
        findings.iter().for_each(|finding| say(&report::finding_text(finding)));
    }
    note(format_args!(
        "measuring for {} s how late the loop begins its ticks on processor {cpu} ...\n",
        options.seconds
    ));
    let measured = lateness::measure(cpu, options.seconds);
    let verdict = lateness::judge(&measured);
    let measured = measured.ok();
    if options.json {
        findings.push(verdict);
        say(&format!("{}\n", report::json(&findings, measured.as_ref())));
    } else {
        if let Some(lateness) = &measured {
            say(&report::lateness_text(lateness, options.seconds));
        }
        say(&report::finding_text(&verdict));
        findings.push(verdict);
        say(&report::conclusion_text(&findings));
    }
    Ok(report::is_fit(&findings))
}

/// Everything but the lateness, most important first.
fn examine(system: &System, cpu: usize, probe: &Result<Probe, String>, recordings: &Path) -> Vec<Finding> {
    vec![
        rights::scheduling(system, probe),
        rights::memory(system, probe),
        kernel::budget(system),
        kernel::kernel(system),
        kernel::clocksource(system),
        kernel::virtual_machine(system),
        processors::count(system),
        processors::isolation(system, cpu),
        processors::smt(system, cpu),
        processors::interrupts(system, cpu),
        power::governor(system),
        power::deep_sleep(system, cpu),
        storage::swap(system),
        storage::disk(system, recordings),
        devices::serial(system),
        devices::hid(system),
        devices::usb_power(system),
        devices::usb_latency(system),
        devices::gpu(system),
    ]
}

/// Where recordings would go: the service's directory if there is one, else where the user is.
fn recordings(system: &System) -> PathBuf {
    if system.exists(SERVICE_RECORDINGS) {
        SERVICE_RECORDINGS.into()
    } else {
        std::env::current_dir().unwrap_or_else(|_| ".".into())
    }
}

/// Prints to standard output; nobody listening any more is no reason to fail.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
