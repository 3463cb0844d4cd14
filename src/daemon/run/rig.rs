//! Everything of one loaded scene: device, haptic thread, simulation thread, and the control plane's ends of their channels.
//!
//! Thread: built and stopped by cold threads; held by control.

use super::catalogue::{Catalogue, short_name};
use super::device::{self, Line};
use crate::daemon::Failure;
use crate::device::operator::{OperatorOrder, OperatorReport, Skill};
use crate::device::port::reach;
use crate::device::{Device, DeviceSpec, Operator, STALL_AFTER, SimulatedDevice};
use crate::files::{Look, Report};
use crate::haptic::{
    Desk, HapticError, HapticFigures, HapticModel, HapticSetup, HapticThread, ParameterRange, TickRecord, Trip, orders,
};
use crate::math::Pose;
use crate::mechanism::MechanismSnapshot;
use crate::scene::{self, Built, SceneSpec, Watch};
use crate::shared::realtime::RealtimeRequest;
use crate::shared::{
    LatestReader, LatestWriter, RingReader, SceneView, SkinReader, StepInput, ToolSample, latest, ring, skins,
};
use crate::sim::thread::{HandLinks, SimLinks, SimStatus, SimThread};
use crate::sim::{MaterialOrder, SimData};
use std::path::PathBuf;

/// Room for records between two polls: 4 s at 1 kHz.
const RECORDS: usize = 4096;
/// Room for orders between two ticks.
const ORDERS: usize = 64;

/// What a rig is to be.
#[derive(Clone)]
pub(super) struct Plan {
    /// Where names are looked up.
    pub(super) catalogue: Catalogue,
    /// Scene by name or path.
    pub(super) scene: String,
    /// Device by name or path.
    pub(super) device: String,
    /// Its port, instead of its file's.
    pub(super) device_port: Option<PathBuf>,
    /// Where calibrations are kept, if anywhere.
    pub(super) state: Option<PathBuf>,
    /// The line to a real device, if the rig before had one: it goes on without being homed again.
    pub(super) line: Option<Line>,
    /// Skill of the simulated operator instead of the scene's.
    pub(super) skill: Option<Skill>,
    /// Seed of the simulated operator instead of the scene's.
    pub(super) seed: Option<u64>,
    /// Rights of the haptic thread.
    pub(super) realtime: RealtimeRequest,
    /// Do without them if need be.
    pub(super) allow_no_rt: bool,
    /// Begin in FAULT: the rig takes the place of one that was.
    pub(super) born_tripped: Option<Trip>,
}

/// See the file's head.
pub(super) struct Rig {
    /// Short name of the scene.
    pub(super) scene: String,
    /// Its title.
    pub(super) title: String,
    /// Short name of the device.
    pub(super) device: String,
    /// What the haptic thread runs on.
    pub(super) model: HapticModel,
    /// What its parameters may be set to.
    pub(super) range: ParameterRange,
    /// The scene as built.
    pub(super) built: Built,
    /// The scene file as it was read.
    pub(super) scene_text: String,
    /// The device file as it was read.
    pub(super) device_text: String,
    /// Skill and seed of the operator at work.
    pub(super) skill: Skill,
    /// See `skill`.
    pub(super) seed: u64,
    /// The haptic thread.
    pub(super) haptic: HapticThread,
    /// The simulation thread.
    pub(super) sim: SimThread,
    /// Where orders go in and answers come out.
    pub(super) desk: Desk,
    /// Every tick.
    pub(super) records: RingReader<TickRecord>,
    /// The simulation as it stands.
    pub(super) status: LatestReader<SimStatus>,
    /// Bodies that deform.
    pub(super) skins: SkinReader,
    /// What each step of the simulation depended on.
    pub(super) steps: RingReader<StepInput>,
    /// The simulated operator as it stands.
    pub(super) reports: LatestReader<OperatorReport>,
    /// Tells the simulated operator to work or to rest.
    pub(super) operator: LatestWriter<OperatorOrder>,
    /// Friction and restitution as last asked for, and the way to the simulation.
    pub(super) materials: MaterialOrder,
    /// See `materials`.
    pub(super) material_writer: LatestWriter<MaterialOrder>,
    /// The line to a real device.
    pub(super) line: Option<Line>,
}

impl Plan {
    /// Reads and checks the files, then starts the threads. Takes up to a second or so; nothing is left behind on failure.
    ///
    /// # Errors
    /// [`Failure`] says what is wrong with the files, or which right the system refused.
    pub(super) fn build(&self) -> Result<Rig, Failure> {
        self.build_watched(&Watch::default())
    }

    /// The same, for somebody who waits.
    ///
    /// # Errors
    /// As [`Self::build`], or when it was cancelled.
    pub(super) fn build_watched(&self, watch: &Watch) -> Result<Rig, Failure> {
        let scene = self.catalogue.scene(&self.scene)?;
        log_warnings(&scene.warnings);
        let device = self.catalogue.device(&self.device)?;
        log_warnings(&device.warnings);
        let spec = scene.value.with_seed(self.seed);
        let built = scene::build_watched(&spec, &device.value, watch.clone()).map_err(Failure::Report)?;
        log_warnings(&built.warnings);
        if built.second.is_some() {
            let text = format!(
                "`{}` is a scene for two hands, and the service has one; hapticd demo {} --device A --device B runs it",
                self.scene, self.scene
            );
            return Err(Failure::Usage(text));
        }
        let device = device.value;
        if device.driver != "simulated" && !reach::is_real(&device) {
            let text = format!("no driver `{}` is part of this program; open simulated-6dof", device.driver);
            return Err(Failure::Usage(text));
        }
        let device_text = self.catalogue.device_text(&self.device);
        self.start(built, device, &spec, device_text)
    }

    fn start(&self, built: Built, device: DeviceSpec, scene: &SceneSpec, device_text: String) -> Result<Rig, Failure> {
        let (skill, seed) = (self.skill.unwrap_or(built.skill), self.seed.unwrap_or(built.seed));
        let range = ParameterRange::of(&built.haptic, &device);
        let operator = Operator::new(skill, built.script, built.mapping);
        let (snapshot_writer, snapshots) = latest(MechanismSnapshot::empty());
        let (tool_writer, tool) = latest(ToolSample::at_rest(built.haptic.tool.start));
        let (operator_view, screen) = latest(SceneView::empty());
        let (status_writer, status) = latest(SimStatus::empty());
        let (skin_writer, skin_reader) = skins(&built.skins);
        let (step_writer, steps) = ring(RECORDS);
        let (record_writer, records) = ring(RECORDS);
        let (operator_writer, operator_orders) = latest(OperatorOrder { works: false });
        let materials = MaterialOrder::of(&built.sim, 0);
        let (material_writer, material_orders) = latest(materials);
        let (desk, links) = orders(ORDERS);
        let line = reach::is_real(&device).then(|| self.reach(&device)).transpose()?;
        let (device, reports): (Box<dyn Device>, _) = match &line {
            Some(line) => (Box::new(device::attach(line, device)), latest(OperatorReport::of_person()).1),
            None => {
                let (simulated, reports) = simulate(device, operator, (seed, built.handle_start), operator_orders);
                (Box::new(simulated.watching(screen)), reports)
            }
        };
        let haptic = HapticThread::spawn(HapticSetup {
            model: built.haptic.clone(),
            device,
            snapshots,
            orders: links.orders,
            answers: links.answers,
            tool: tool_writer,
            records: record_writer,
            realtime: self.realtime,
            allow_no_rt: self.allow_no_rt,
            born_tripped: self.born_tripped,
        })?;
        let hand = HandLinks { tool, snapshots: snapshot_writer, operator_view };
        let links = SimLinks {
            hands: vec![hand],
            materials: material_orders,
            skins: skin_writer,
            steps: step_writer,
            status: status_writer,
        };
        let sim = SimThread::spawn(built.sim.clone(), SimData::with_threads(&built.sim)?, links)?;
        Ok(Rig {
            scene: short_name(&self.scene),
            title: scene.title.clone(),
            device: short_name(&self.device),
            model: built.haptic.clone(),
            range,
            scene_text: scene.source.text().to_owned(),
            device_text,
            skill,
            seed,
            built,
            haptic,
            sim,
            desk,
            records,
            status,
            skins: skin_reader,
            steps,
            reports,
            operator: operator_writer,
            materials,
            material_writer,
            line,
        })
    }

    /// The line to a real device: the one there is if it leads to the same, else a new one.
    fn reach(&self, device: &DeviceSpec) -> Result<Line, Failure> {
        let known = self.line.as_ref().filter(|line| device::leads_to(line, device));
        let open = || device::open(device, self.device_port.as_deref(), &self.realtime, self.state.clone());
        known.map_or_else(open, |line| Ok(line.clone()))
    }
}

impl Rig {
    /// Ramps down, silences the device, ends both threads and waits for them.
    ///
    /// # Errors
    /// When the haptic thread had panicked.
    pub(super) fn stop(mut self) -> Result<HapticFigures, HapticError> {
        let figures = self.haptic.stop();
        if !self.sim.stop() {
            tracing::error!("the simulation thread had panicked");
        }
        figures
    }
}

/// The simulated device in an operator's hand, and what the operator says of itself.
fn simulate(
    device: DeviceSpec,
    operator: Operator,
    (seed, start): (u64, Pose),
    orders: LatestReader<OperatorOrder>,
) -> (SimulatedDevice, LatestReader<OperatorReport>) {
    let (writer, reports) = latest(operator.report());
    let simulated = SimulatedDevice::at(device, operator, seed, start).reporting(writer).operated_by(orders);
    (simulated.stalling(&std::env::var(STALL_AFTER).unwrap_or_default()), reports)
}

fn log_warnings(report: &Report) {
    if !report.is_empty() {
        tracing::warn!("{}", report.render(Look::Plain).trim_end());
    }
}
