//! `hapticd demo`: a scene with the simulated device and operator, on real threads at the true rate or in lockstep; or with a
//! real device in a person's hand.
//!
//! Thread: main.

use super::hands::{Beginning, Choice, Hands, Homing};
use super::portrait::portrait;
use super::summary::{Summary, Tally, Timing};
use super::tape::{self, Tape};
use super::window::{Frame, Setting, Window};
use super::{Failure, Lockstep, ReportOptions, report, warn};
use crate::control::plant::TaskState;
use crate::device::operator::{OperatorReport, Progress, Skill};
use crate::device::port::{LinkStatus, reach};
use crate::device::{Device, DeviceSpec, Operator, SimulatedDevice};
use crate::haptic::thread::{HapticSetup, HapticThread};
use crate::haptic::{TickRecord, Trip, orders};
use crate::mechanism::MechanismSnapshot;
use crate::record::{self, Provenance};
use crate::scene::{self, Built, GoalState, Observation, SceneSpec, TaskProgress, TaskWatcher};
use crate::shared::realtime::RealtimeRequest;
use crate::shared::{LatestReader, MonoNs, RingReader, SceneView, latest, ring};
use crate::sim::thread::{HandLinks, SimLinks, SimStatus, SimThread};
use crate::sim::{MaterialOrder, SimData};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The hand goes on for this long after the last phase, s, so that goals of the end can settle.
const AFTERMATH_S: f64 = 0.5;
/// Room for records between two looks of the main thread: 4 s at 1 kHz.
const RECORDS: usize = 4096;
/// Room for orders: a demo gives one.
const ORDERS: usize = 4;

/// What was asked for.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// Name of a shipped scene, or a path.
    pub scene: String,
    /// Device file instead of the scene's, or the port of a real device.
    pub device: Option<String>,
    /// Port of the real device, instead of its file's.
    pub port: Option<PathBuf>,
    /// The handle of the real device is in its rest position: home it without asking.
    pub at_rest: bool,
    /// Seed instead of the scene's.
    pub seed: Option<u64>,
    /// Skill instead of the scene's.
    pub skill: Option<Skill>,
    /// Longest run, s.
    pub seconds: Option<f64>,
    /// Virtual time on one thread.
    pub lockstep: bool,
    /// One JSON object as the last line, and nothing else on standard output.
    pub json: bool,
    /// File to record to.
    pub record: Option<PathBuf>,
    /// Directory for recording, report and summary, named after the scene.
    pub out: Option<PathBuf>,
    /// Let browsers watch; not in virtual time, which is over at once.
    pub viewer: bool,
    /// Rights for the haptic thread.
    pub realtime: RealtimeRequest,
}

/// A scene ready to run.
struct Stage {
    name: String,
    title: String,
    device: DeviceSpec,
    /// Where a real device is, if it was said.
    port: Option<PathBuf>,
    built: Built,
    skill: Skill,
    seed: u64,
    limit_s: f64,
    asked_s: Option<f64>,
    scene_text: String,
    device_name: String,
    device_text: String,
}

/// Runs a demo; gives its summary.
///
/// # Errors
/// Bad files, or a thread that could not be started.
pub fn run(options: &DemoOptions, stop: &Arc<AtomicBool>) -> Result<Summary, Failure> {
    let stage = prepare(options)?;
    let mut voice = Voice { quiet: options.json };
    voice.say(&format!(
        "hapticd {}   scene {} ({})   {}",
        env!("CARGO_PKG_VERSION"),
        stage.name,
        stage.title,
        stage.cast()
    ));
    let kept = if options.lockstep { record::Timing::Lockstep } else { record::Timing::Live };
    let keep = options.keep(&stage.name)?;
    let mut tape = match &keep {
        Some(path) => Tape::start(path, stage.provenance(kept), tape::looks(&stage.built.sim))?,
        None => Tape::none(),
    };
    let summary = if options.lockstep {
        lockstep(&stage, &mut voice, &mut tape, stop)
    } else {
        live(stage, &mut voice, &mut tape, options, stop)
    }?;
    tape.result(&summary);
    match tape.finish() {
        None => {}
        Some(Ok(made)) => voice.say(&format!("record   {}", tape::line(&made))),
        // The run itself went as it went.
        Some(Err(error)) => eprintln!("warning: {error}"),
    }
    if let (Some(out), Some(recording)) = (&options.out, keep) {
        let path = out.join(format!("{}.json", summary.scene));
        std::fs::write(&path, summary.to_json() + "\n").map_err(|error| unwritable(&path, &error))?;
        let page = out.join(format!("{}.html", summary.scene));
        report::run(&ReportOptions { files: vec![recording], out: Some(page.clone()), csv: None })?;
        voice.say(&format!("report   {}, {}", page.display(), path.display()));
    }
    Ok(summary)
}

impl DemoOptions {
    /// The file to record to, if any; its directory is made.
    fn keep(&self, scene: &str) -> Result<Option<PathBuf>, Failure> {
        let Some(out) = &self.out else { return Ok(self.record.clone()) };
        std::fs::create_dir_all(out).map_err(|error| unwritable(out, &error))?;
        Ok(Some(self.record.clone().unwrap_or_else(|| out.join(format!("{scene}.mcap")))))
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Usage(format!("cannot write {}: {error}", path.display()))
}

impl Stage {
    fn operator(&self) -> Operator {
        Operator::new(self.skill, self.built.script, self.built.mapping)
    }

    fn is_real(&self) -> bool {
        reach::is_real(&self.device)
    }

    /// Who plays: device and hand.
    fn cast(&self) -> String {
        let model = &self.device.model;
        if self.is_real() {
            return format!("{model} in a person's hand");
        }
        format!("{model} and {} operator, seed {}", self.skill.name(), self.seed)
    }

    /// The device for the haptic thread, and whose hands hold it; a real one is homed first.
    fn device_and_hands(
        &self,
        options: &DemoOptions,
        screen: LatestReader<SceneView>,
        voice: &mut Voice,
        stop: &AtomicBool,
    ) -> Result<(Box<dyn Device>, Hands), Failure> {
        if self.is_real() {
            // Below the haptic thread: what it waits for has been asked for by then.
            let rights = RealtimeRequest {
                priority: options.realtime.priority.saturating_sub(1),
                lock_memory: false,
                ..RealtimeRequest::default()
            };
            let homing = Homing { port: self.port.as_deref(), at_rest: options.at_rest, rights };
            return homing.run(&self.device, stop, &mut |line| voice.say(line));
        }
        let (report_writer, reports) = latest(self.operator().report());
        Ok((Box::new(self.device().watching(screen).reporting(report_writer)), Hands::Simulated(reports)))
    }

    fn device(&self) -> SimulatedDevice {
        SimulatedDevice::at(self.device.clone(), self.operator(), self.seed, self.built.handle_start)
    }

    /// Lets browsers watch, if they may; a demo goes on without.
    fn window(&self, options: &DemoOptions, haptic: &HapticThread, voice: &mut Voice) -> Option<Window> {
        if !options.viewer {
            return None;
        }
        let recording = options.keep(&self.name).ok().flatten();
        let opened = Window::open(Setting {
            scene: self.name.clone(),
            device: self.device_name.clone(),
            rate_hz: self.built.haptic.rate_hz,
            realtime: haptic.is_realtime(),
            turn: self.built.mapping.pose_world_device.rotation,
            portrait: portrait(&self.name, &self.title, &self.device_name, &self.built),
            recording: recording.map(|path| path.display().to_string()),
            halt: haptic.halt_switch(),
        });
        match opened {
            Ok(window) => {
                voice.say(&format!("viewer   http://{}/", window.address));
                Some(window)
            }
            Err(error) => {
                voice.say(&format!("viewer   none: {error}"));
                None
            }
        }
    }

    fn provenance(&self, timing: record::Timing) -> Provenance {
        Provenance {
            scene_name: self.name.clone(),
            scene_text: self.scene_text.clone(),
            device_name: self.device_name.clone(),
            device_text: self.device_text.clone(),
            seed: self.seed,
            skill: self.skill.name().into(),
            timing,
            rate_hz: self.built.haptic.rate_hz,
            force_limit_n: self.built.haptic.limits.force.linear,
            torque_limit_nm: self.built.haptic.limits.force.angular,
            ..Provenance::here()
        }
    }

    fn summary(&self, watch: Watch, duration_s: f64, timing: Timing, link: Option<LinkStatus>) -> Summary {
        Summary {
            scene: self.name.clone(),
            device: self.device.model.clone(),
            skill: self.skill.name(),
            seed: self.seed,
            achieved: watch.progress.success && watch.finished,
            goals: Summary::goals_of(&watch.watcher),
            reason: watch.reason,
            duration_s,
            force_limit_n: self.built.haptic.limits.force.linear,
            torque_limit_nm: self.built.haptic.limits.force.angular,
            tally: watch.tally,
            timing,
            link,
        }
    }
}

/// Reads and checks the files.
fn prepare(options: &DemoOptions) -> Result<Stage, Failure> {
    let loaded = scene::open(&options.scene)?;
    warn(&loaded.warnings);
    let spec: SceneSpec = loaded.value;
    let asked = options.device.clone().or_else(|| spec.device.clone()).unwrap_or_else(|| "simulated-3dof".into());
    let Choice { file: device_name, port } = Choice::of(&asked, options.port.clone())?;
    let device = scene::open_device(&device_name)?;
    warn(&device.warnings);
    let built = scene::build(&spec, &device.value).map_err(Failure::Report)?;
    warn(&built.warnings);
    check_way(&device_name, &device.value, port.as_deref(), options)?;
    let name = std::path::Path::new(&options.scene)
        .file_stem()
        .map_or_else(|| options.scene.clone(), |stem| stem.to_string_lossy().into_owned());
    Ok(Stage {
        name,
        title: spec.title.clone(),
        device: device.value,
        port,
        skill: options.skill.unwrap_or(built.skill),
        seed: options.seed.unwrap_or(built.seed),
        limit_s: options.seconds.unwrap_or(built.timeout_s + 1.0).min(built.timeout_s + 1.0),
        asked_s: options.seconds,
        scene_text: scene::scene_text(&options.scene).unwrap_or_default(),
        device_text: scene::device_text(&device_name).unwrap_or_default(),
        device_name,
        built,
    })
}

/// Refuses what cannot be had together.
fn check_way(name: &str, device: &DeviceSpec, port: Option<&Path>, options: &DemoOptions) -> Result<(), Failure> {
    let refuse = |text: String| Err(Failure::Usage(text));
    let (simulated, real) = (device.driver == "simulated", reach::is_real(device));
    if !simulated && !real {
        return refuse(format!("`{name}` has the driver `{}`, which is no part of this program", device.driver));
    }
    if simulated && (port.is_some() || options.at_rest) {
        return refuse(format!("`{name}` is simulated and has no port; name the file of a real device with --device"));
    }
    if real && options.lockstep {
        return refuse(format!("`{name}` is a real device, which cannot be run in virtual time; leave out --lockstep"));
    }
    Ok(())
}

/// Prints to people, or not.
struct Voice {
    quiet: bool,
}

impl Voice {
    fn say(&mut self, line: &str) {
        if !self.quiet {
            let mut out = std::io::stdout().lock();
            // A closed pipe is no reason to stop the loop.
            let _ = writeln!(out, "{line}");
            let _ = out.flush();
        }
    }
}

/// Follows a run: task, phases, figures.
struct Watch {
    watcher: TaskWatcher,
    progress: TaskProgress,
    tally: Tally,
    phase: Option<usize>,
    /// A person works: all goals met is the end.
    person: bool,
    finished: bool,
    finished_at_s: Option<f64>,
    /// When forces began, and the time since.
    first: Option<MonoNs>,
    time_s: f64,
    reason: Option<String>,
}

impl Watch {
    fn new(stage: &Stage) -> Self {
        let watcher = stage.built.watcher();
        Self {
            progress: watcher.progress(),
            watcher,
            tally: Tally::new(),
            phase: None,
            person: stage.is_real(),
            finished: false,
            finished_at_s: None,
            first: None,
            time_s: 0.0,
            reason: None,
        }
    }

    /// Takes one tick in.
    fn tick(&mut self, record: &TickRecord, view: &SceneView, time_s: f64) {
        self.tally.add(record);
        self.progress = self.watcher.observe(&Observation {
            time_s,
            tool: record.pose_world_tool,
            view,
            felt_n: record.force.force.norm(),
            felt_nm: record.force.torque.norm(),
            penetration_m: record.penetration_m,
        });
    }

    /// Takes the newest ticks of a running thread in.
    fn take(&mut self, batch: &[TickRecord], view: &SceneView, tape: &mut Tape) {
        for record in batch {
            let start = *self.first.get_or_insert(record.due);
            self.time_s = record.due.seconds_after(start);
            self.tick(record, view, self.time_s);
            tape.tick(record);
        }
    }

    /// Takes in the last ticks of a haptic thread that has ended, and ends the simulation.
    fn wind_up(&mut self, records: &mut RingReader<TickRecord>, sim: &mut SimThread, tape: &mut Tape) {
        for record in records.drain() {
            self.tally.add(&record);
            tape.tick(&record);
        }
        if !sim.stop() {
            self.reason = Some("the simulation thread panicked".into());
            self.finished = false;
        }
    }

    /// For the viewer.
    fn task(&self, report: &OperatorReport, time_s: f64) -> TaskState {
        let goals = || self.watcher.goals();
        let met = goals().filter(|(_, state)| *state == GoalState::Met).count();
        TaskState {
            phase: report.name.as_str().to_owned(),
            goals_met: met as u32,
            goals: goals().count() as u32,
            success: self.progress.success,
            time_s,
        }
    }

    /// Says a line when the operator begins a phase; true when the run is over.
    fn operator(&mut self, report: &OperatorReport, time_s: f64, voice: &mut Voice, stage: &Stage) -> bool {
        if self.phase != Some(report.phase) {
            self.phase = Some(report.phase);
            voice.say(&format!("{time_s:7.1} s  {:<16} |F| {:.2} N", report.name.as_str(), report.felt_n));
        }
        match report.progress {
            Progress::Running if self.person && self.progress.success => {
                self.finished = true;
                return true;
            }
            Progress::Running => {}
            Progress::Finished => {
                self.finished = true;
                let since = *self.finished_at_s.get_or_insert(time_s);
                if time_s - since >= AFTERMATH_S {
                    return true;
                }
            }
            Progress::Failed => {
                self.reason = Some(format!("the operator gave up in phase `{}`", report.name.as_str()));
                return true;
            }
        }
        if self.progress.timed_out || time_s >= stage.limit_s {
            self.reason = Some(match stage.asked_s {
                Some(asked) if time_s >= asked => format!("stopped after {asked} s as asked"),
                _ => format!("not done within {} s", stage.built.timeout_s),
            });
            return true;
        }
        false
    }
}

fn lockstep(stage: &Stage, voice: &mut Voice, tape: &mut Tape, stop: &AtomicBool) -> Result<Summary, Failure> {
    voice.say("timing   virtual time (--lockstep): same seed, same bits");
    let (view, screen) = latest(SceneView::empty());
    let device = stage.device().watching(screen);
    let mut rig = Lockstep::new(stage.built.haptic, stage.built.sim.clone(), device, Some(view))?;
    rig.desk.enable();
    let mut watch = Watch::new(stage);
    loop {
        let beat = rig.beat();
        let time_s = rig.seconds();
        watch.tick(&beat.record, &rig.sim.view, time_s);
        tape.tick(&beat.record);
        tape.view(&rig.sim.view);
        let report = rig.device.operator().report();
        tape.phase(&report);
        if watch.operator(&report, time_s, voice, stage) {
            break;
        }
        if stop.load(Ordering::Relaxed) {
            watch.reason = Some("interrupted".into());
            break;
        }
    }
    let timing = Timing::Lockstep { hash: rig.hash() };
    Ok(stage.summary(watch, rig.seconds(), timing, None))
}

fn live(
    stage: Stage,
    voice: &mut Voice,
    tape: &mut Tape,
    options: &DemoOptions,
    stop: &AtomicBool,
) -> Result<Summary, Failure> {
    let (snapshot_writer, snapshots) = latest(MechanismSnapshot::empty());
    let (tool_writer, tool) = latest(crate::shared::ToolSample::at_rest(stage.built.haptic.tool.start));
    let (operator_view, screen) = latest(SceneView::empty());
    let (status_writer, mut status) = latest(SimStatus::empty());
    let (mut desk, links) = orders(ORDERS);
    let (record_writer, mut records) = ring(RECORDS);
    let (device, mut hands) = stage.device_and_hands(options, screen, voice, stop)?;
    let mut haptic = HapticThread::spawn(HapticSetup {
        model: stage.built.haptic,
        device,
        snapshots,
        orders: links.orders,
        answers: links.answers,
        tool: tool_writer,
        records: record_writer,
        realtime: options.realtime,
        allow_no_rt: true,
        born_tripped: None,
    })?;
    say_timing(&haptic, voice);
    let window = stage.window(options, &haptic, voice);
    let is_realtime = haptic.is_realtime();
    let data = SimData::with_threads(&stage.built.sim)?;
    let (_, materials) = latest(MaterialOrder::none());
    let hand = HandLinks { tool, snapshots: snapshot_writer, operator_view };
    let links = SimLinks { hands: vec![hand], materials, status: status_writer };
    let mut sim = SimThread::spawn(stage.built.sim.clone(), data, links)?;
    let mut beginning = Beginning::new(&hands, &stage.built.handle_start);
    let mut watch = Watch::new(&stage);
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
        let view = status.read().view;
        let batch: Vec<TickRecord> = records.drain().collect();
        let begun = beginning.look(&batch, &mut desk, &mut |line| voice.say(line));
        if begun {
            watch.take(&batch, &view, tape);
        }
        let cause = batch.last().and_then(|record| record.cause).filter(|cause| begun || *cause == Trip::Halt);
        let report = hands.report();
        if let Some(window) = &window {
            let (figures, touches, task) = (*haptic.figures(), *haptic.touches(), watch.task(&report, watch.time_s));
            window.show(Frame { ticks: batch, view, touches, figures, task });
        }
        tape.view(&view);
        tape.phase(&report);
        if watch.operator(&report, watch.time_s, voice, &stage) {
            break;
        }
        let overdue = beginning.overdue(stage.asked_s, stage.built.haptic.rate_hz);
        if let Some(reason) = overdue.or_else(|| cut_short(cause, &haptic, &sim, &hands)) {
            watch.reason = Some(reason);
            break;
        }
    }
    if stop.load(Ordering::Relaxed) {
        watch.reason = Some("interrupted".into());
    }
    let link = hands.link();
    let figures = haptic.stop()?;
    watch.wind_up(&mut records, &mut sim, tape);
    let timing = Timing::Live { realtime: is_realtime, overruns: figures.overruns, skipped: figures.skipped };
    let time_s = watch.time_s;
    Ok(stage.summary(watch, time_s, timing, link))
}

/// Says what the haptic thread got from the system.
fn say_timing(haptic: &HapticThread, voice: &mut Voice) {
    match haptic.refusals().first() {
        None => voice.say("timing   real-time (SCHED_FIFO, memory locked)"),
        Some(why) => voice.say(&format!(
            "timing   NOT real-time here: {why}\n         the demo goes on; forces on a real hand would want it mended"
        )),
    }
}

/// Why a demo cannot go on: somebody halted it, a real device is in FAULT, or a thread that should run does not.
fn cut_short(cause: Option<Trip>, haptic: &HapticThread, sim: &SimThread, hands: &Hands) -> Option<String> {
    match (cause, hands) {
        (Some(Trip::Halt), _) => return Some("halted from the viewer".into()),
        (Some(cause), Hands::Person(_)) => {
            let more = hands.complaint().map_or_else(String::new, |text| format!("; {text}"));
            return Some(format!("{} {}: {}{more}", cause.code(), cause.name(), cause.remedy()));
        }
        _ => {}
    }
    let ended = if haptic.has_ended() { Some("haptic") } else { sim.is_finished().then_some("simulation") };
    ended.map(|which| format!("the {which} thread ended"))
}

/// The shipped scenes, a line each.
///
/// # Errors
/// When a shipped scene does not load, which a test rules out.
pub fn list() -> Result<String, Failure> {
    let mut out = String::from("Demos (hapticd demo NAME):\n\n");
    for name in scene::shipped_names() {
        let spec = scene::open(name)?.value;
        out.push_str(&format!("  {name:<16} {}\n", spec.title));
    }
    out.push_str("\nEach runs by itself with a simulated device and operator. `--lockstep` repeats bit for bit.\n");
    Ok(out)
}
