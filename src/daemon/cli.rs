//! The command line: from arguments to what should be done, and to an exit code.
//!
//! Thread: main.

use super::bake::BakeCommand;
use super::calibrate::CalibrateArgs;
use super::chaos::ChaosArgs;
use super::demo::{self, DemoOptions};
use super::doctor::{self, DoctorOptions};
use super::emulate::EmulateArgs;
use super::out::{note, put};
use super::report::{self, ReportOptions};
use super::run::{self, RunOptions};
use super::{Failure, ReplayOptions, devices, exit, replay, warn};
use crate::bench;
use crate::control;
use crate::device::guardian;
use crate::device::operator::Skill;
use crate::files::{self, Format};
use crate::scene;
use crate::shared::ordinary_file;
use crate::shared::realtime::RealtimeRequest;
use clap::{Args, Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Exit codes, for `--help`.
const CODES: &str = "Exit codes: 0 success, 1 the task was not achieved, 2 bad usage or bad file, 3 no device or no \
permission, 4 a latched fault.";

/// Real-time haptic rendering: a provably passive 1 kHz loop over multirate compliant mechanisms.
#[derive(Parser)]
#[command(name = "hapticd", version, after_help = CODES)]
struct Cli {
    #[command(subcommand)]
    command: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run a scene with a simulated device and operator, or with a real device; without a name, list the scenes
    #[command(
        after_help = "Examples:\n  hapticd demo\n  hapticd demo virtual_wall\n  hapticd demo box_on_table --lockstep --seed 7 --json\n  hapticd demo peg_primitive --out results\n  hapticd demo virtual_wall --device novint-falcon\n  hapticd demo two_hands --device novint-falcon --device polhem\n\nExit codes: 0 achieved and no safety rule broken, 1 not achieved, 2 bad file, 3 no device, 4 a latched fault."
    )]
    Demo(DemoArgs),
    /// Run the service: scene and device of the configuration, driven by OSC
    #[command(
        after_help = "Examples:\n  hapticd run\n  hapticd run --scene box_on_table --allow-no-rt\n  hapticd run --config lab.toml --port 0 --query-port 0 --viewer-port 0\n\nSignals: TERM and INT end it, HUP reads configuration and scene again. docs/service.md has the rest.\n\nExit codes: 0 ended by a signal, 2 bad usage or bad file, 3 no real-time rights or a port in use, 4 the haptic loop failed."
    )]
    Run(RunArgs),
    /// Make a page of a recording: verdict, force, energy, timing, faults; several files are compared
    #[command(
        after_help = "Examples:\n  hapticd demo peg_primitive --record peg.mcap\n  hapticd report peg.mcap\n  hapticd report novice.mcap expert.mcap --out compared.html\n  hapticd report peg.mcap --csv peg.csv\n\nThe page is one file that needs no network. docs/recordings.md says what is in a recording."
    )]
    Report(ReportArgs),
    /// Run a recording again and compare every bit, or play it to a browser; read device logs of H3D and HAPI
    #[command(
        after_help = "Examples:\n  hapticd demo box_on_table --record box.mcap\n  hapticd replay box.mcap\n  hapticd replay box.mcap --viewer\n  hapticd replay hapi.log\n  hapticd replay hapi.log --scene virtual_wall --record wall.mcap\n\nExit codes: 0 every bit the same, 1 something differs, 2 not a recording that can be run again, or not to its end."
    )]
    Replay(ReplayArgs),
    /// Measure: tick, jitter, passivity, zwidth, solver, telemetry, velocity
    #[command(
        after_help = "Examples:\n  hapticd bench tick\n  hapticd bench jitter --seconds 20 --json\n  hapticd bench zwidth --out bench-results\n\ndocs/benchmarks.md says what each figure means."
    )]
    Bench(BenchArgs),
    /// Check scene, device and configuration files
    #[command(after_help = "Example:\n  hapticd check scenes/*.toml devices/*.toml config/hapticd.toml")]
    Check {
        /// Files to check; the `format` line says which kind each is
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Tell whether this PC is fit for real time, and what to change
    #[command(
        after_help = "Examples:\n  hapticd doctor\n  hapticd doctor --seconds 600 --cpu 3\n  hapticd doctor --json\n\nRun it as the user who will run hapticd. docs/doctor.md says what each finding means.\n\nExit codes: 0 fit, 1 not fit, 2 bad usage."
    )]
    Doctor(DoctorArgs),
    /// List what is connected that could be a haptic device: port, driver, permission, who has it open
    #[command(
        after_help = "Examples:\n  hapticd devices\n  hapticd devices --json\n\nNothing is opened, so that a device in use is not disturbed."
    )]
    Devices {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Play a device that is not there, to the byte, on a port of its own
    #[command(
        after_help = "Examples:\n  hapticd emulate novint-falcon --scene virtual_wall\n  hapticd emulate polhem --link /tmp/polhem --fault late --fault stall@5\n\nIt prints its port, then when force begins and ends. docs/emulated-devices.md has the rest.\n\nExit codes: 0 ended as asked, 2 bad usage or bad file, 3 no port."
    )]
    Emulate(EmulateArgs),
    /// Make the distance model of a part: a grid, or a trained network
    #[command(
        after_help = "Examples:\n  hapticd bake bolt --diameter 48mm --pitch 5mm --gap 0.4mm --length 20mm --chamfer 1.5mm --model network --out bolt.field\n  hapticd bake bore --diameter 50.035mm --length 40mm --chamfer 1mm --body 80mm --out bore.field\n\ndocs/fields.md says what the models are and how exact."
    )]
    Bake(BakeCommand),
    /// Print what may stand in a kind of file: as JSON Schema for editors, or as a page for people
    #[command(after_help = "Examples:\n  hapticd schema scene > scene.schema.json\n  hapticd schema device --markdown")]
    Schema {
        /// The kind of file
        kind: SchemaKind,
        /// A page of reference in Markdown instead of JSON Schema
        #[arg(long)]
        markdown: bool,
    },
    /// Print the page of every OSC address, with rules and examples, in Markdown
    #[command(after_help = "Example:\n  hapticd osc > osc.md")]
    Osc,
    /// Keep how one device differs from its kind, or show what is kept
    #[command(
        after_help = "Examples:\n  hapticd calibrate 7F3A --driver polhem\n  hapticd calibrate 7F3A --driver polhem --origin \"0.3 deg, 0, -5 mrad\"\n  hapticd calibrate 7F3A --driver polhem --force-scale 1.05\n\ndocs/calibration.md says how to measure it."
    )]
    Calibrate(CalibrateArgs),
    /// Kill, stop and upset daemons with emulated devices, and print what became of the force
    #[command(
        after_help = "Examples:\n  hapticd chaos virtual_wall --device inverse3\n  hapticd chaos virtual_wall --device novint-falcon --strike kill --phase pressing --tries 50\n  hapticd chaos virtual_wall --device haply-2dof --device inverse3 --seed 7 --json\n\nEvery device is emulated; only processes started here get signals. docs/safety.md says what is promised.\n\nExit codes: 0 every promise kept, 1 one broken, 2 bad usage or bad file, 3 a process could not be started."
    )]
    Chaos(ChaosArgs),
    /// Watch over a device for a daemon; started by hapticd itself
    #[command(hide = true)]
    Guardian {
        /// The process watched over
        #[arg(long)]
        daemon: u32,
        /// Real-time priority, 1 to 99; 0 for none
        #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=99))]
        priority: u8,
        /// Endpoint to write to, if the device is one on USB
        #[arg(long)]
        endpoint: Option<u8>,
        /// Write whole frames and read nothing
        #[arg(long)]
        framed: bool,
    },
}

#[derive(Args)]
struct RunArgs {
    /// Configuration file; by default /etc/hapticd/hapticd.toml if it exists, else built-in values
    #[arg(long)]
    config: Option<PathBuf>,
    /// Scene instead of the configuration's: a name or a path
    #[arg(long)]
    scene: Option<String>,
    /// Device instead of the configuration's: a name or a path
    #[arg(long)]
    device: Option<String>,
    /// Port of a real device, /dev/…, instead of the one in its file
    #[arg(long, value_name = "PATH")]
    device_port: Option<PathBuf>,
    /// UDP port for OSC; 0 for any free one
    #[arg(long)]
    port: Option<u16>,
    /// TCP port for OSCQuery and metrics; 0 for any free one
    #[arg(long)]
    query_port: Option<u16>,
    /// TCP port for the viewer; 0 for any free one
    #[arg(long)]
    viewer_port: Option<u16>,
    /// Run also without real-time rights
    #[arg(long)]
    allow_no_rt: bool,
    /// Record from the first tick on, so that the recording can be run again; a word for its name
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    record: Option<String>,
}

#[derive(Args)]
struct ReplayArgs {
    /// A recording, or a device log of H3D or HAPI
    file: PathBuf,
    /// Play it to browsers instead of comparing
    #[arg(long)]
    viewer: bool,
    /// TCP port for them; 0 for any free one
    #[arg(long, requires = "viewer")]
    viewer_port: Option<u16>,
    /// Scene to lead the hand of a device log through: a name or a path
    #[arg(long)]
    scene: Option<String>,
    /// Device for it instead of the scene's
    #[arg(long, requires = "scene")]
    device: Option<String>,
    /// Record what it felt to this file
    #[arg(long, requires = "scene")]
    record: Option<PathBuf>,
}

#[derive(Args)]
struct DoctorArgs {
    /// Print one JSON object and nothing else on standard output
    #[arg(long)]
    json: bool,
    /// Seconds for which the loop is measured
    #[arg(long, default_value = "10", value_parser = positive, allow_negative_numbers = true)]
    seconds: f64,
    /// Processor the loop is measured on; by default one kept free with isolcpus=, else the last
    #[arg(long)]
    cpu: Option<usize>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum SchemaKind {
    /// Scene files
    Scene,
    /// Device files
    Device,
    /// The configuration of the daemon
    Config,
}

#[derive(Args)]
struct DemoArgs {
    /// A shipped scene (see `hapticd demo`) or the path of a scene file
    scene: Option<String>,
    /// Device file instead of the one the scene names: a shipped name or a path; or the port of a real device, /dev/…; given
    /// twice for a scene for two hands, the first hand first
    #[arg(long)]
    device: Vec<String>,
    /// Port of the real device, instead of the one in its file; likewise
    #[arg(long, value_name = "PATH")]
    port: Vec<PathBuf>,
    /// The handle of the real device is in its rest position: home it without asking
    #[arg(long)]
    at_rest: bool,
    /// Seed of the operator's hand: equal seeds, equal runs
    #[arg(long)]
    seed: Option<u64>,
    /// Skill of the operator: novice, trained or expert
    #[arg(long, value_parser = skill)]
    skill: Option<Skill>,
    /// Stop after this many seconds
    #[arg(long, value_parser = positive, allow_negative_numbers = true)]
    seconds: Option<f64>,
    /// Virtual time on one thread: as fast as possible, the same bits on every run
    #[arg(long)]
    lockstep: bool,
    /// Print one JSON object and nothing else on standard output
    #[arg(long)]
    json: bool,
    /// Record every tick to this MCAP file; `hapticd report` makes a page of it
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Write recording, report and summary into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Serve no viewer
    #[arg(long)]
    headless: bool,
    /// Real-time priority of the haptic thread, 1 to 99; 0 for none
    #[arg(long, default_value_t = 80, value_parser = clap::value_parser!(u8).range(0..=99))]
    priority: u8,
    /// Processor the haptic thread stays on
    #[arg(long)]
    cpu: Option<usize>,
    /// Microseconds before each tick that are spun instead of slept
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=500))]
    spin_us: u64,
}

#[derive(Args)]
struct ReportArgs {
    /// Recordings
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The page; by default beside the first recording
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also write every tick of the recording as a table
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

#[derive(Args)]
struct BenchArgs {
    /// The suite; without a name, list them
    suite: Option<String>,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
    /// Seconds per condition
    #[arg(long, value_parser = positive, allow_negative_numbers = true)]
    seconds: Option<f64>,
    /// Rounds over which comparisons are interleaved
    #[arg(long)]
    rounds: Option<u32>,
    /// Seed of whatever is random
    #[arg(long)]
    seed: Option<u64>,
    /// Directory for tables and plots
    #[arg(long)]
    out: Option<PathBuf>,
    /// Poses for the suite `contact`, with `meshes` beside the file (docs/benchmarks.md); without, it makes its own
    #[arg(long, value_name = "FILE")]
    poses: Option<PathBuf>,
    /// A Python with python-fcl, to compare the suite `contact` with FCL
    #[arg(long, value_name = "PATH")]
    peer_python: Option<PathBuf>,
    /// Programs that run the tasks of the suite `assembly` with other engines, listed in a JSON file (docs/benchmarks.md)
    #[arg(long, value_name = "FILE")]
    peers: Option<PathBuf>,
}

pub(super) fn skill(text: &str) -> Result<Skill, String> {
    Skill::from_name(text).ok_or_else(|| "one of novice, trained, expert".into())
}

pub(super) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number <= 86_400.0 => Ok(number),
        _ => Err("a number of seconds between 0 and 86400".into()),
    }
}

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output and are no error.
            let _ = error.print();
            return if error.use_stderr() { exit(2) } else { exit(0) };
        }
    };
    let outcome = match cli.command {
        Verb::Demo(args) => demonstrate(&args),
        Verb::Run(args) => {
            let RunArgs { config, scene, device, device_port, port, query_port, viewer_port, allow_no_rt, record } =
                args;
            let options =
                RunOptions { config, scene, device, device_port, port, query_port, viewer_port, allow_no_rt, record };
            run::run(&options).map(|()| exit(0))
        }
        Verb::Report(ReportArgs { files, out, csv }) => report::run(&ReportOptions { files, out, csv }).map(|said| {
            put(format_args!("{said}"));
            exit(0)
        }),
        Verb::Replay(args) => {
            let ReplayArgs { file, viewer, viewer_port, scene, device, record } = args;
            let options = ReplayOptions { file, viewer, viewer_port, scene, device, record };
            replay(&options, &stop_flag()).map(exit)
        }
        Verb::Bench(args) => measure(&args),
        Verb::Check { files } => check(&files),
        Verb::Doctor(DoctorArgs { json, seconds, cpu }) => {
            doctor::run(&DoctorOptions { seconds, cpu, json }).map(|fit| exit(u8::from(!fit)))
        }
        Verb::Devices { json } => {
            put(format_args!("{}", devices::list(json)));
            Ok(exit(0))
        }
        Verb::Chaos(args) => args.run(&stop_flag()).map(|kept| exit(u8::from(!kept))),
        Verb::Emulate(args) => args.run(&stop_flag()).map(|()| exit(0)),
        Verb::Bake(args) => args.run().map(|()| exit(0)),
        Verb::Schema { kind, markdown } => Ok(print_schema(kind, markdown)),
        Verb::Osc => {
            put(format_args!("{}", control::table::markdown()));
            Ok(exit(0))
        }
        Verb::Calibrate(args) => args.run().map(|said| {
            put(format_args!("{said}"));
            exit(0)
        }),
        Verb::Guardian { daemon, priority, endpoint, framed } => {
            guardian::process::run(daemon, priority, endpoint, framed)
                .map(|()| exit(0))
                .map_err(|fault| Failure::Usage(fault.to_string()))
        }
    };
    outcome.unwrap_or_else(|failure| {
        failure.print();
        exit(failure.code())
    })
}

/// Set by SIGINT and SIGTERM.
fn stop_flag() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // A second signal ends the program at once, as anyone would expect.
        let armed = signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)));
        if let Err(error) = armed {
            note(format_args!(
                "warning: signals cannot be caught ({error}); interrupting will not ramp the force down\n"
            ));
        }
    }
    stop
}

fn demonstrate(args: &DemoArgs) -> Result<ExitCode, Failure> {
    let Some(name) = &args.scene else {
        put(format_args!("{}", demo::list()?));
        return Ok(exit(0));
    };
    let stop = stop_flag();
    let summary = demo::run(
        &DemoOptions {
            scene: name.clone(),
            devices: args.device.clone(),
            ports: args.port.clone(),
            at_rest: args.at_rest,
            seed: args.seed,
            skill: args.skill,
            seconds: args.seconds,
            lockstep: args.lockstep,
            json: args.json,
            record: args.record.clone(),
            out: args.out.clone(),
            viewer: !args.headless && !args.lockstep,
            realtime: RealtimeRequest {
                priority: args.priority,
                cpu: args.cpu,
                spin_ns: args.spin_us * 1000,
                lock_memory: args.priority > 0,
                ..RealtimeRequest::default()
            },
        },
        &stop,
    )?;
    if args.json {
        put(format_args!("{}\n", summary.to_json()));
    } else {
        put(format_args!("\n{}", summary.to_text()));
    }
    Ok(exit(match (summary.success(), summary.faulted()) {
        (true, _) => 0,
        (false, true) => 4,
        (false, false) => 1,
    }))
}

fn measure(args: &BenchArgs) -> Result<ExitCode, Failure> {
    let Some(suite) = &args.suite else {
        put(format_args!("Suites (hapticd bench NAME):\n\n"));
        for suite in bench::SUITES {
            put(format_args!("  {:<10} {}\n", suite.name, suite.about));
        }
        return Ok(exit(0));
    };
    let mut options = bench::Options::default();
    options.seconds = args.seconds.unwrap_or(options.seconds);
    options.rounds = args.rounds.unwrap_or(options.rounds);
    options.seed = args.seed.unwrap_or(options.seed);
    options.out = args.out.clone().unwrap_or(options.out);
    options.poses.clone_from(&args.poses);
    options.peer_python.clone_from(&args.peer_python);
    options.peers.clone_from(&args.peers);
    let format = if args.json { bench::Format::JsonLines } else { bench::Format::Table };
    let mut report = bench::Report::on_terminal(format);
    bench::run(suite, &options, &mut report)?;
    report.finish().map_err(bench::BenchError::from)?;
    Ok(exit(0))
}

fn check(paths: &[PathBuf]) -> Result<ExitCode, Failure> {
    let mut bad = 0;
    for path in paths {
        match check_one(path) {
            Ok(kind) => put(format_args!("{}: {kind}, no errors\n", path.display())),
            Err(failure) => {
                failure.print();
                bad += 1;
            }
        }
    }
    if bad > 0 {
        note(format_args!("{bad} of {} files have errors\n", paths.len()));
        return Ok(exit(2));
    }
    Ok(exit(0))
}

fn print_schema(kind: SchemaKind, markdown: bool) -> ExitCode {
    let schema = match kind {
        SchemaKind::Scene => &scene::SCHEMA,
        SchemaKind::Device => &files::schema::DEVICE,
        SchemaKind::Config => &files::schema::CONFIG,
    };
    put(format_args!("{}", if markdown { schema.markdown() } else { schema.json() }));
    exit(0)
}

fn check_one(path: &Path) -> Result<&'static str, Failure> {
    // Only to learn the kind; the readers themselves say what is wrong with a file that cannot be read.
    let bytes = ordinary_file::read(path, files::SIZE_MAX as u64).unwrap_or_default();
    let kind = match files::format_of(&bytes) {
        Some(Format::DEVICE) => {
            warn(&files::device_file::load(path)?.warnings);
            "device"
        }
        Some(Format::CALIBRATION) => {
            warn(&files::calibration::load(path)?.warnings);
            "calibration"
        }
        Some(Format::CONFIG) => {
            warn(&files::config::load(path)?.warnings);
            "configuration"
        }
        _ => {
            let scene = scene::load(path)?;
            warn(&scene.warnings);
            let device = scene.value.device.clone().unwrap_or_else(|| "simulated-3dof".into());
            let device = scene::open_device(&device)?;
            let second = scene.value.from_second_hand().and_then(|other| other.device);
            let second = second.map_or_else(|| Ok(device.clone()), |name| scene::open_device(&name))?;
            let built = scene::build_for_two(&scene.value, &device.value, &second.value);
            warn(&built.map_err(Failure::Report)?.warnings);
            "scene"
        }
    };
    Ok(kind)
}
