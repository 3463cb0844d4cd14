//! Measuring: suites that run our code beside a peer's on the same inputs, and the lines a machine can read.
//!
//! Thread: main (cold), but for the loops a suite starts.
//!
//! A suite is one file with `pub fn run(&Options, &mut Report) -> Result<(), BenchError>` and one line in [`SUITES`]. It
//! puts [`Record`]s into the [`Report`], which prints them as JSON lines or as a table. Rules: percentiles and maximum
//! rather than means, ratios rather than times, and a peer runs in the same run, taking turns with ours.

pub mod assembly;
pub mod compliance;
pub mod contact;
mod cyclictest;
pub mod fem;
mod fem_rig;
mod fem_scenes;
pub mod jitter;
mod load;
pub mod needle;
pub mod needle_rig;
pub mod passivity;
pub mod plot;
mod record;
pub mod rig;
pub mod snap;
pub mod snap_rig;
pub mod solver;
pub mod storm;
pub mod suction;
pub mod suction_rig;
pub mod telemetry;
pub mod tick;
mod tick_condensed;
pub mod velocity;
pub mod zwidth;

pub use load::Load;
pub use record::{Better, Comparison, Format, Record, Report, Summary};

/// What the user may set for every suite. A suite uses what concerns it.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How long each thing is measured under each condition, s, all rounds together.
    pub seconds: f64,
    /// Turns that ours and the peer take; more turns spread a disturbance of the machine over both.
    pub rounds: u32,
    /// Priority of real-time loops, 1 to 99; 0 measures without real-time scheduling.
    pub priority: u8,
    /// Processor for real-time loops; none means the last one allowed.
    pub cpu: Option<usize>,
    /// Seed of everything random.
    pub seed: u64,
    /// Directory for tables and plots.
    pub out: std::path::PathBuf,
    /// Poses for the contact suite; without, it makes its own.
    pub poses: Option<std::path::PathBuf>,
    /// A Python that has the peer of the contact suite.
    pub peer_python: Option<std::path::PathBuf>,
    /// A list of programs that run the tasks of the assembly suite with other engines.
    pub peers: Option<std::path::PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seconds: 10.0,
            rounds: 5,
            priority: 80,
            cpu: None,
            seed: 1,
            out: "bench-results".into(),
            poses: None,
            peer_python: None,
            peers: None,
        }
    }
}

/// Why a suite could not be run.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// There is no suite of that name.
    #[error("there is no suite `{name}`: choose one of {}", known_names())]
    NoSuchSuite {
        /// The name given.
        name: String,
    },
    /// A setting makes no sense.
    #[error("--{option} {value}: {why}")]
    Setting {
        /// Option, without dashes.
        option: &'static str,
        /// What was given.
        value: String,
        /// What is wrong with it and what would be right.
        why: String,
    },
    /// Ours and the peer disagree about the result, or did not do the same work: comparing their times would mean nothing.
    #[error("{name}: ours and {baseline} did not do the same: {what}")]
    Disagreement {
        /// What was compared.
        name: String,
        /// The peer.
        baseline: String,
        /// How they differ.
        what: String,
    },
    /// The results could not be written.
    #[error("cannot write the results: {0}")]
    Write(#[from] std::io::Error),
    /// What the suite measures failed.
    #[error(transparent)]
    Failed(#[from] Box<dyn std::error::Error + Send + Sync>),
}

/// A suite as the command line offers it.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    /// Its name.
    pub name: &'static str,
    /// One line for `--help`.
    pub about: &'static str,
    /// Runs it.
    pub run: fn(&Options, &mut Report) -> Result<(), BenchError>,
}

/// Every suite.
pub const SUITES: &[Suite] = &[
    Suite {
        name: "jitter",
        about: "wake-up lateness of the tick loop at 1, 2 and 4 kHz, idle and loaded, beside cyclictest",
        run: jitter::run,
    },
    Suite {
        name: "passivity",
        about: "energy that reaches the hand in a million random ticks, with the energy bound and without",
        run: passivity::run,
    },
    Suite {
        name: "zwidth",
        about: "stable stiffness and damping of three integrators and two couplings, free drag, hard contact",
        run: zwidth::run,
    },
    Suite {
        name: "tick",
        about: "compute time of one haptic tick over a mechanism of 105 rows, compliant and rigid",
        run: tick::run,
    },
    Suite {
        name: "solver",
        about: "contact problems of up to 32 contacts and a million to one in mass, beside projected Gauss–Seidel",
        run: solver::run,
    },
    Suite {
        name: "assembly",
        about: "a nut driven on, a peg pushed in, a thread turned under load: penetration, jitter, time of a step",
        run: assembly::run_suite,
    },
    Suite {
        name: "contact",
        about: "from a pose to all contacts of nut and bolt, peg and bore: distance models beside FCL",
        run: contact::run,
    },
    Suite {
        name: "fem",
        about: "steps of deformable bodies of 440 to 1,600 nodes, free and with up to 450 rows of contact",
        run: fem::run,
    },
    Suite {
        name: "compliance",
        about: "compliance of up to 450 rows on a soft bar of 1,000 nodes, beside one solve per row; factors of earlier steps",
        run: compliance::run,
    },
    Suite {
        name: "snap",
        about: "a snap connector pushed together: force, click, shorter steps, finer meshes, few motions beside the whole body",
        run: snap::run,
    },
    Suite {
        name: "needle",
        about: "a needle into a phantom and a liver: force over depth, refinement, time of steps and ticks",
        run: needle::run,
    },
    Suite {
        name: "suction",
        about: "a suction cup pressed on a plate and pulled off: force, pressure, time of a step, beside published figures",
        run: suction::run,
    },
    Suite {
        name: "telemetry",
        about: "lateness of the running daemon with ten viewers and a recording, beside the daemon alone",
        run: telemetry::run,
    },
    Suite {
        name: "velocity",
        about: "velocity from rounded positions at 1, 2 and 4 kHz: error and delay, beside a fixed window and a filter",
        run: velocity::run,
    },
];

/// Runs the suite called `name`.
///
/// # Errors
/// [`BenchError::NoSuchSuite`] when there is none, otherwise what the suite says.
pub fn run(name: &str, options: &Options, report: &mut Report) -> Result<(), BenchError> {
    let suite = SUITES.iter().find(|suite| suite.name == name);
    let suite = suite.ok_or_else(|| BenchError::NoSuchSuite { name: name.to_owned() })?;
    if !(options.seconds > 0.0 && options.seconds.is_finite()) {
        let why = "measure for longer than nothing, for example 10".to_owned();
        return Err(BenchError::Setting { option: "seconds", value: options.seconds.to_string(), why });
    }
    if options.rounds == 0 {
        let why = "at least one round is needed".to_owned();
        return Err(BenchError::Setting { option: "rounds", value: options.rounds.to_string(), why });
    }
    (suite.run)(options, report)
}

fn known_names() -> String {
    SUITES.iter().map(|suite| suite.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_name_or_setting_is_refused_with_what_would_be_right() {
        let mut report = Report::new(Format::Table, Box::new(std::io::sink()), Box::new(std::io::sink()));
        let error = run("jiter", &Options::default(), &mut report).expect_err("there is no such suite");
        assert!(error.to_string().contains("jitter"), "{error}");
        for options in [
            Options { seconds: 0.0, ..Options::default() },
            Options { seconds: f64::NAN, ..Options::default() },
            Options { rounds: 0, ..Options::default() },
        ] {
            let error = run("jitter", &options, &mut report).expect_err("the setting makes no sense");
            assert!(matches!(error, BenchError::Setting { .. }), "{error}");
        }
    }
}
