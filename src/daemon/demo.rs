//! `hapticd demo`: a scene with the simulated device and operator, on real threads at the true rate or in lockstep; or with a
//! real device in a person's hand. A scene for two hands has two of everything but the simulation.
//!
//! Thread: main.

use super::cast::{Acting, Asked, Player, RECORDS, Way, second_file, together};
use super::hands::Hands;
use super::out;
use super::portrait::portrait;
use super::summary::{SecondSummary, Summary, Tally, Timing};
use super::tape::{self, Easel, Tape};
use super::window::{Frame, Setting, Window};
use super::{Beat, Failure, Lockstep, ReportOptions, report, warn};
use crate::control::plant::TaskState;
use crate::device::operator::{OperatorReport, Progress, Skill};
use crate::device::port::LinkStatus;
use crate::haptic::thread::HapticThread;
use crate::haptic::{TickRecord, TorqueSense, Trip};
use crate::math::Rot;
use crate::record;
use crate::scene::{self, Built, GoalState, Observation, SceneSpec, TaskProgress, TaskWatcher};
use crate::shared::realtime::RealtimeRequest;
use crate::shared::{MonoNs, RingReader, SceneView, StepInput, latest, ring, skins};
use crate::sim::thread::{SimLinks, SimStatus, SimThread};
use crate::sim::{MaterialOrder, SimData};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The hand goes on for this long after the last phase, s, so that goals of the end can settle.
const AFTERMATH_S: f64 = 0.5;
/// What was asked for.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// Name of a shipped scene, or a path.
    pub scene: String,
    /// Device file instead of the scene's, or the port of a real device; two for a scene for two hands.
    pub devices: Vec<String>,
    /// Ports of the real devices, instead of their files'.
    pub ports: Vec<PathBuf>,
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
    built: Built,
    /// One for each hand of the scene.
    players: Vec<Player>,
    limit_s: f64,
    asked_s: Option<f64>,
    scene_text: String,
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
    let mut tapes = Vec::new();
    if let Some(path) = &keep {
        for (hand, (player, path)) in stage.players.iter().zip([path.clone(), second_file(path)]).enumerate() {
            let provenance = player.provenance(&stage.name, &stage.scene_text, kept);
            tapes.push(Tape::start(&path, provenance, tape::looks(&stage.built.sim, hand))?);
        }
    }
    tapes.resize_with(stage.players.len(), Tape::none);
    let summary = if options.lockstep {
        lockstep(&stage, &mut voice, &mut tapes, stop)
    } else {
        live(stage, &mut voice, &mut tapes, options, stop)
    }?;
    for mut tape in tapes {
        tape.result(&summary);
        match tape.finish() {
            None => {}
            Some(Ok(made)) => voice.say(&format!("record   {}", tape::line(&made))),
            // The run itself went as it went.
            Some(Err(error)) => out::note(format_args!("warning: {error}\n")),
        }
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
    /// The first hand: the one that is watched, and that the summary is about.
    fn lead(&self) -> Result<&Player, Failure> {
        self.players.first().ok_or_else(|| Failure::Usage("the scene has no hand".into()))
    }

    /// Who plays: devices and hands.
    fn cast(&self) -> String {
        self.players.iter().map(Player::words).collect::<Vec<_>>().join("; second hand ")
    }

    /// Lets browsers watch, if they may; a demo goes on without.
    fn window(&self, options: &DemoOptions, haptic: &HapticThread, voice: &mut Voice) -> Option<Window> {
        let device = &self.players.first().filter(|_| options.viewer)?.device_name;
        let recording = options.keep(&self.name).ok().flatten();
        let opened = Window::open(Setting {
            scene: self.name.clone(),
            device: device.clone(),
            rate_hz: self.built.haptic.rate_hz,
            realtime: haptic.is_realtime(),
            turn: self.built.mapping.pose_world_device.rotation,
            second_turn: self.players.get(1).map_or_else(Rot::identity, Player::turn),
            portrait: portrait(&self.name, &self.title, device, &self.built),
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

    fn summary(
        &self,
        watch: Watch,
        duration_s: f64,
        timing: Timing,
        link: Option<LinkStatus>,
    ) -> Result<Summary, Failure> {
        let lead = self.lead()?;
        Ok(Summary {
            scene: self.name.clone(),
            device: lead.device.model.clone(),
            skill: lead.skill.name(),
            seed: lead.seed,
            achieved: watch.progress.success && watch.finished,
            goals: Summary::goals_of(&watch.watcher),
            reason: watch.reason,
            duration_s,
            force_limit_n: lead.model.limits.force.linear,
            torque_limit_nm: lead.model.limits.force.angular,
            tally: watch.tally,
            timing,
            link,
            second: self.players.get(1).map(|player| SecondSummary {
                device: player.device.model.clone(),
                force_limit_n: player.model.limits.force.linear,
                torque_limit_nm: player.model.limits.force.angular,
                tally: watch.second,
            }),
        })
    }
}

/// Reads and checks the files.
fn prepare(options: &DemoOptions) -> Result<Stage, Failure> {
    let loaded = scene::open(&options.scene)?;
    warn(&loaded.warnings);
    let spec: SceneSpec = loaded.value.with_seed(options.seed);
    let asked = devices(&spec, options)?;
    let Some(first) = asked.first() else { return Err(Failure::Usage("name a device".into())) };
    let second = asked.get(1).unwrap_or(first);
    let built = scene::build_for_two(&spec, &first.spec, &second.spec).map_err(Failure::Report)?;
    warn(&built.warnings);
    let name = std::path::Path::new(&options.scene)
        .file_stem()
        .map_or_else(|| options.scene.clone(), |stem| stem.to_string_lossy().into_owned());
    Ok(Stage {
        name,
        title: spec.title.clone(),
        players: Player::all(&built, asked, options.skill, options.seed),
        limit_s: options.seconds.unwrap_or(built.timeout_s + 1.0).min(built.timeout_s + 1.0),
        asked_s: options.seconds,
        scene_text: scene::scene_text(&options.scene).unwrap_or_default(),
        built,
    })
}

/// The device of each hand: those that were asked for, else those the scene names.
fn devices(spec: &SceneSpec, options: &DemoOptions) -> Result<Vec<Asked>, Failure> {
    let hands = 1 + usize::from(spec.second_hand.is_some());
    if options.devices.len() > hands || options.ports.len() > hands {
        let (is, more) = if hands == 1 { ("one hand", "one") } else { ("two hands", "two") };
        return Err(Failure::Usage(format!(
            "`{}` is for {is}: give at most {more} --device and --port",
            options.scene
        )));
    }
    let own = [spec.device.clone(), spec.from_second_hand().and_then(|other| other.device)];
    let device = |hand: usize| {
        let asked = options.devices.get(hand).cloned();
        let asked = asked.or_else(|| own[hand].clone()).unwrap_or_else(|| "simulated-3dof".into());
        Asked::open(&asked, options.ports.get(hand).cloned(), options.at_rest, options.lockstep)
    };
    (0..hands).map(device).collect()
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
    torque: TorqueSense,
    progress: TaskProgress,
    tally: Tally,
    /// Figures of the second hand.
    second: Tally,
    phases: Vec<usize>,
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
            torque: TorqueSense::of(&stage.built.haptic),
            watcher,
            tally: Tally::new(),
            second: Tally::new(),
            phases: vec![usize::MAX; stage.players.len()],
            person: stage.players.iter().any(Player::is_real),
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
        self.tally.see(view);
        self.progress = self.watcher.observe(&Observation {
            time_s,
            tool: record.pose_world_tool,
            view,
            felt_n: record.force.force.norm(),
            felt_nm: self.torque.felt_nm(record),
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

    /// Takes ticks of the second hand in.
    fn take_second(&mut self, batch: &[TickRecord], tape: &mut Tape) {
        for record in batch {
            self.second.add(record);
            tape.tick(record);
        }
    }

    /// Takes in the last ticks of haptic threads that have ended, and ends the simulation.
    fn wind_up(&mut self, last: &[Vec<TickRecord>], sim: &mut SimThread, tapes: &mut [Tape]) {
        for ((records, tape), tally) in last.iter().zip(tapes).zip([&mut self.tally, &mut self.second]) {
            for record in records {
                tally.add(record);
                tape.tick(record);
            }
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

    /// Says a line when an operator begins a phase; true when the run is over.
    fn operators(&mut self, reports: &[OperatorReport], time_s: f64, voice: &mut Voice, stage: &Stage) -> bool {
        for (hand, (report, phase)) in reports.iter().zip(&mut self.phases).enumerate() {
            if *phase != report.phase {
                *phase = report.phase;
                let whose = if hand == 0 { "" } else { "   second hand" };
                voice.say(&format!("{time_s:7.1} s  {:<16} |F| {:.2} N{whose}", report.name.as_str(), report.felt_n));
            }
        }
        let report = together(reports);
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

fn lockstep(stage: &Stage, voice: &mut Voice, tapes: &mut [Tape], stop: &AtomicBool) -> Result<Summary, Failure> {
    voice.say("timing   virtual time (--lockstep): same seed, same bits");
    let (view, screen) = latest(SceneView::empty());
    let device = stage.lead()?.simulated().watching(screen);
    let mut rig = Lockstep::new(stage.built.haptic.clone(), stage.built.sim.clone(), device, Some(view))?;
    rig.first.desk.enable();
    if let Some(player) = stage.players.get(1) {
        let (view, screen) = latest(SceneView::empty());
        rig = rig.with_second(player.model.clone(), player.simulated().watching(screen), Some(view));
        if let Some(hand) = &mut rig.second {
            hand.desk.enable();
        }
    }
    let mut watch = Watch::new(stage);
    let mut easel = tapes.first().filter(|tape| tape.is_running()).map(|_| Easel::new(&stage.built));
    loop {
        let Beat { record, second, step } = rig.beat();
        let time_s = rig.seconds();
        watch.tick(&record, &rig.sim.view, time_s);
        let mut reports = vec![rig.first.device.operator().report()];
        if let (Some(record), Some(hand), Some(tape)) = (second, &rig.second, tapes.get_mut(1)) {
            watch.take_second(&[record], tape);
            reports.push(hand.device.operator().report());
        }
        let lead = tapes.first_mut();
        lead.into_iter().for_each(|tape| tape.tick(&record));
        if let (Some(easel), Some(_), Some(tape)) = (&mut easel, step, tapes.first_mut()) {
            tape.skins(easel.paint(&rig.sim));
        }
        show(tapes, &rig.sim.view, &reports);
        if watch.operators(&reports, time_s, voice, stage) {
            break;
        }
        if stop.load(Ordering::Relaxed) {
            watch.reason = Some("interrupted".into());
            break;
        }
    }
    watch.tally.unconverged_steps = rig.sim.unconverged;
    let timing = Timing::Lockstep { hash: rig.hash() };
    stage.summary(watch, rig.seconds(), timing, None)
}

/// Records what can be seen and what the operators do, each hand with its own tool first.
fn show(tapes: &mut [Tape], view: &SceneView, reports: &[OperatorReport]) {
    let mut view = *view;
    for (tape, report) in tapes.iter_mut().zip(reports) {
        tape.view(&view);
        tape.phase(report);
        view = view.from_other_hand();
    }
}

fn live(
    stage: Stage,
    voice: &mut Voice,
    tapes: &mut [Tape],
    options: &DemoOptions,
    stop: &AtomicBool,
) -> Result<Summary, Failure> {
    let way = Way { realtime: options.realtime, at_rest: options.at_rest, stop };
    let (mut acting, mut links) = (Vec::new(), Vec::new());
    for player in &stage.players {
        let (hand, link) = player.start(&way, &mut |line| voice.say(line))?;
        acting.push(hand);
        links.push(link);
    }
    let lead = acting.first().ok_or_else(|| Failure::Usage("the scene has no hand".into()))?;
    say_timing(&lead.haptic, voice);
    let (skin_writer, mut skin_reader) = skins(&stage.built.skins);
    let window = stage.window(options, &lead.haptic, voice);
    let is_realtime = lead.haptic.is_realtime();
    let data = SimData::with_threads(&stage.built.sim)?;
    let (_, materials) = latest(MaterialOrder::none());
    let (status_writer, mut status) = latest(SimStatus::empty());
    let (step_writer, mut steps) = ring(RECORDS);
    let links = SimLinks { hands: links, materials, skins: skin_writer, steps: step_writer, status: status_writer };
    let mut sim = SimThread::spawn(stage.built.sim.clone(), data, links)?;
    let mut watch = Watch::new(&stage);
    let mut painted = 0;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
        let (view, skin) = (status.read().view, skin_reader.read());
        let reports = look(&mut acting, &mut watch, &view, tapes, voice);
        if let (Some(window), Some(lead)) = (&window, acting.first_mut()) {
            let figures = *lead.haptic.figures();
            let (ticks, task) = (std::mem::take(&mut lead.batch), watch.task(&together(&reports), watch.time_s));
            let skin = (skin.stamp.sequence != painted).then(|| skin.clone());
            let second = acting.get(1).and_then(|hand| hand.batch.last().copied());
            window.show(Frame { ticks, second, view, skin, figures, task });
        }
        painted = skin.stamp.sequence;
        tapes.iter_mut().take(1).for_each(|tape| tape.skins(skin));
        note(tapes, &mut steps, &mut acting);
        show(tapes, &view, &reports);
        if watch.operators(&reports, watch.time_s, voice, &stage) {
            break;
        }
        let ended = acting.iter_mut().find_map(|hand| {
            let overdue = hand.beginning.overdue(stage.asked_s, stage.built.haptic.rate_hz);
            overdue.or_else(|| cut_short(hand, &sim))
        });
        if let Some(reason) = ended {
            watch.reason = Some(reason);
            break;
        }
    }
    if stop.load(Ordering::Relaxed) {
        watch.reason = Some("interrupted".into());
    }
    let ended = acting.into_iter().map(Acting::end).collect::<Result<Vec<_>, _>>()?;
    let last: Vec<Vec<TickRecord>> = ended.iter().map(|(_, records, _)| records.clone()).collect();
    watch.wind_up(&last, &mut sim, tapes);
    tapes.iter_mut().take(1).for_each(|tape| tape.steps(steps.drain()));
    let sum =
        |of: fn(&crate::haptic::thread::HapticFigures) -> u64| ended.iter().map(|(figures, ..)| of(figures)).sum();
    let timing =
        Timing::Live { realtime: is_realtime, overruns: sum(|one| one.overruns), skipped: sum(|one| one.skipped) };
    watch.tally.unconverged_steps = status.read().unconverged;
    let time_s = watch.time_s;
    stage.summary(watch, time_s, timing, ended.first().and_then(|(.., link)| *link))
}

/// Records what the simulation and the first hand depended on: with it a run can be repeated.
fn note(tapes: &mut [Tape], steps: &mut RingReader<StepInput>, acting: &mut [Acting]) {
    // Steps are those of both hands; the first has them.
    tapes.iter_mut().take(1).for_each(|tape| tape.steps(steps.drain()));
    for (tape, hand) in tapes.iter_mut().zip(acting) {
        tape.orders(std::mem::take(&mut hand.beginning.answered));
    }
}

/// Takes the newest ticks of every hand in; gives what their operators do. The task begins when all hands have begun.
fn look(
    acting: &mut [Acting],
    watch: &mut Watch,
    view: &SceneView,
    tapes: &mut [Tape],
    voice: &mut Voice,
) -> Vec<OperatorReport> {
    for hand in acting.iter_mut() {
        hand.look(&mut |line| voice.say(line));
    }
    if acting.iter().all(|hand| hand.begun) {
        let mut hands = acting.iter().zip(tapes);
        hands.next().into_iter().for_each(|(lead, tape)| watch.take(&lead.batch, view, tape));
        hands.for_each(|(hand, tape)| watch.take_second(&hand.batch, tape));
    }
    acting.iter_mut().map(|hand| hand.hands.report()).collect()
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
fn cut_short(hand: &Acting, sim: &SimThread) -> Option<String> {
    let cause = hand.cause.filter(|cause| hand.begun || *cause == Trip::Halt);
    match (cause, &hand.hands) {
        (Some(Trip::Halt), _) => return Some("halted from the viewer".into()),
        (Some(cause), Hands::Person(_)) => {
            let more = hand.hands.complaint().map_or_else(String::new, |text| format!("; {text}"));
            return Some(format!("{} {}: {}{more}", cause.code(), cause.name(), cause.remedy()));
        }
        _ => {}
    }
    let ended = if hand.haptic.has_ended() { Some("haptic") } else { sim.is_finished().then_some("simulation") };
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
        out.push_str(&format!("  {name:<18} {}\n", spec.title));
    }
    out.push_str("\nEach runs by itself with a simulated device and operator. `--lockstep` repeats bit for bit.\n");
    Ok(out)
}
