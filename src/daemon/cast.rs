//! Who plays in a demo: for each hand its device, simulated or real, and what its operator is to do.
//!
//! Thread: main.

use super::hands::{Beginning, Choice, Hands, Homing, NEAR_M};
use super::{Failure, warn};
use crate::device::driver::catalogue;
use crate::device::operator::{OperatorReport, Progress, Script, Skill};
use crate::device::port::{LinkStatus, reach};
use crate::device::{Device, DeviceSpec, Operator, SimulatedDevice};
use crate::haptic::thread::{HapticFigures, HapticSetup, HapticThread};
use crate::haptic::{Desk, HapticModel, TickRecord, Trip, orders};
use crate::math::{Mapping, Pose, Rot, Vec3};
use crate::mechanism::MechanismSnapshot;
use crate::record::{Provenance, Timing};
use crate::scene::{self, Built};
use crate::shared::realtime::RealtimeRequest;
use crate::shared::{LatestReader, RingReader, SceneView, ToolSample, latest, ring};
use crate::sim::thread::HandLinks;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Room for records between two looks of the main thread: 4 s at 1 kHz.
pub(super) const RECORDS: usize = 4096;
/// Room for orders: a demo gives one.
const ORDERS: usize = 4;

/// A device as it was asked for.
pub(super) struct Asked {
    /// Name of its file.
    pub(super) name: String,
    /// What the file says.
    pub(super) spec: DeviceSpec,
    /// Where a real device is, if it was said.
    pub(super) port: Option<PathBuf>,
}

impl Asked {
    /// Reads the device file of what was asked for, and says whether it can be used that way.
    pub(super) fn open(asked: &str, port: Option<PathBuf>, at_rest: bool, lockstep: bool) -> Result<Self, Failure> {
        let Choice { file: name, port } = Choice::of(asked, port)?;
        let device = scene::open_device(&name)?;
        warn(&device.warnings);
        let spec = device.value;
        let refuse = |text: String| Err(Failure::Usage(text));
        let (simulated, real) = (spec.driver == "simulated", reach::is_real(&spec));
        if !simulated && !real {
            return refuse(format!("`{name}` has the driver `{}`, which is no part of this program", spec.driver));
        }
        if simulated && (port.is_some() || at_rest) {
            return refuse(format!(
                "`{name}` is simulated and has no port; name the file of a real device with --device"
            ));
        }
        if real && lockstep {
            return refuse(format!(
                "`{name}` is a real device, which cannot be run in virtual time; leave out --lockstep"
            ));
        }
        Ok(Self { name, spec, port })
    }
}

/// One hand of a demo.
pub(super) struct Player {
    pub(super) device: DeviceSpec,
    pub(super) device_name: String,
    device_text: String,
    port: Option<PathBuf>,
    pub(super) model: HapticModel,
    mapping: Mapping,
    handle_start: Pose,
    script: Script,
    pub(super) skill: Skill,
    pub(super) seed: u64,
}

impl Player {
    /// The hands of a scene, the first first. Skill and seed are the scene's unless others are asked for; a seed asked for is
    /// that of the first hand, and the other has the next.
    pub(super) fn all(built: &Built, asked: Vec<Asked>, skill: Option<Skill>, seed: Option<u64>) -> Vec<Self> {
        let first = (built.haptic.clone(), built.mapping, built.handle_start, built.script, built.skill, built.seed);
        let second =
            built.second.as_ref().map(|s| (s.haptic.clone(), s.mapping, s.handle_start, s.script, s.skill, s.seed));
        let hands = std::iter::once(first).chain(second).zip(asked).enumerate();
        let player =
            |(index, ((model, mapping, handle_start, script, own_skill, own_seed), device)): (usize, (_, Asked))| {
                Self {
                    device_text: scene::device_text(&device.name).unwrap_or_default(),
                    device_name: device.name,
                    device: device.spec,
                    port: device.port,
                    model,
                    mapping,
                    handle_start,
                    script,
                    skill: skill.unwrap_or(own_skill),
                    seed: seed.map_or(own_seed, |seed| seed.wrapping_add(index as u64)),
                }
            };
        hands.map(player).collect()
    }

    /// From the axes of the device to those of the scene.
    pub(super) fn turn(&self) -> Rot {
        self.mapping.pose_world_device.rotation
    }

    fn operator(&self) -> Operator {
        Operator::new(self.skill, self.script, self.mapping)
    }

    pub(super) fn is_real(&self) -> bool {
        reach::is_real(&self.device)
    }

    /// Device and hand in words.
    pub(super) fn words(&self) -> String {
        let model = &self.device.model;
        if self.is_real() {
            return format!("{model} in a person's hand");
        }
        format!("{model} and {} operator, seed {}", self.skill.name(), self.seed)
    }

    /// The simulated device in the operator's hand.
    pub(super) fn simulated(&self) -> SimulatedDevice {
        SimulatedDevice::at(self.device.clone(), self.operator(), self.seed, self.handle_start)
    }

    /// What a recording of this hand says of itself.
    pub(super) fn provenance(&self, scene_name: &str, scene_text: &str, timing: Timing) -> Provenance {
        Provenance {
            scene_name: scene_name.to_owned(),
            scene_text: scene_text.to_owned(),
            device_name: self.device_name.clone(),
            device_text: self.device_text.clone(),
            seed: self.seed,
            skill: self.skill.name().into(),
            timing,
            rate_hz: self.model.rate_hz,
            force_limit_n: self.model.limits.force.linear,
            torque_limit_nm: self.model.limits.force.angular,
            ..Provenance::here()
        }
    }

    /// Whether the handle can be brought to where the scene begins at all.
    fn can_begin(&self) -> Result<(), Failure> {
        let Some((free, ways)) = catalogue::confined(&self.device.driver) else { return Ok(()) };
        let start = self.handle_start.translation.vector;
        let aside = Vec3::from_fn(|axis, _| if free[axis] { 0.0 } else { start[axis] });
        if aside.norm() < NEAR_M {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "the handle of {} moves only {ways} and cannot come to where the scene begins: turn the scene with `pose` in its \
             [mapping], as examples/hapkit_wall.toml does",
            self.device.model
        )))
    }

    /// The device for the haptic thread, and whose hands hold it; a real one is homed first.
    fn device_and_hands(
        &self,
        way: &Way<'_>,
        screen: LatestReader<SceneView>,
        say: &mut dyn FnMut(&str),
    ) -> Result<(Box<dyn Device>, Hands), Failure> {
        if self.is_real() {
            self.can_begin()?;
            // Below the haptic thread: what it waits for has been asked for by then.
            let rights = RealtimeRequest {
                priority: way.realtime.priority.saturating_sub(1),
                lock_memory: false,
                ..RealtimeRequest::default()
            };
            let homing = Homing { port: self.port.as_deref(), at_rest: way.at_rest, rights };
            return homing.run(&self.device, way.stop, say);
        }
        let (report_writer, reports) = latest(self.operator().report());
        Ok((Box::new(self.simulated().watching(screen).reporting(report_writer)), Hands::Simulated(reports)))
    }

    /// Starts the hand's loop; gives it, and the other ends of its mailboxes for the simulation.
    pub(super) fn start(&self, way: &Way<'_>, say: &mut dyn FnMut(&str)) -> Result<(Acting, HandLinks), Failure> {
        let (snapshot_writer, snapshots) = latest(MechanismSnapshot::empty());
        let (tool_writer, tool) = latest(ToolSample::at_rest(self.model.tool.start));
        let (operator_view, screen) = latest(SceneView::empty());
        let (desk, links) = orders(ORDERS);
        let (record_writer, records) = ring(RECORDS);
        let (device, hands) = self.device_and_hands(way, screen, say)?;
        let haptic = HapticThread::spawn(HapticSetup {
            model: self.model.clone(),
            device,
            snapshots,
            orders: links.orders,
            answers: links.answers,
            tool: tool_writer,
            records: record_writer,
            realtime: way.realtime,
            allow_no_rt: true,
            born_tripped: None,
        })?;
        let beginning = Beginning::new(&hands, &self.handle_start);
        let acting = Acting { haptic, hands, beginning, begun: false, desk, records, batch: Vec::new(), cause: None };
        Ok((acting, HandLinks { tool, snapshots: snapshot_writer, operator_view }))
    }
}

/// What holds for every hand of a run.
pub(super) struct Way<'a> {
    pub(super) realtime: RealtimeRequest,
    pub(super) at_rest: bool,
    pub(super) stop: &'a AtomicBool,
}

/// A hand whose loop runs.
pub(super) struct Acting {
    pub(super) haptic: HapticThread,
    pub(super) hands: Hands,
    pub(super) beginning: Beginning,
    /// Forces have been asked for.
    pub(super) begun: bool,
    desk: Desk,
    records: RingReader<TickRecord>,
    /// The newest ticks.
    pub(super) batch: Vec<TickRecord>,
    /// Why the loop is in FAULT, if it is.
    pub(super) cause: Option<Trip>,
}

impl Acting {
    /// Takes the newest ticks in, and asks for forces when it is time.
    pub(super) fn look(&mut self, say: &mut dyn FnMut(&str)) {
        self.batch = self.records.drain().collect();
        self.cause = self.batch.last().map_or(self.cause, |record| record.cause);
        self.begun = self.beginning.look(&self.batch, &mut self.desk, say);
    }

    /// Ends the loop; gives its figures, its last ticks, and what the line to a real device has done.
    pub(super) fn end(mut self) -> Result<(HapticFigures, Vec<TickRecord>, Option<LinkStatus>), Failure> {
        let link = self.hands.link();
        let figures = self.haptic.stop()?;
        Ok((figures, self.records.drain().collect(), link))
    }
}

/// All hands as one: done when every hand is, failed when one has, and by its name.
pub(super) fn together(reports: &[OperatorReport]) -> OperatorReport {
    let failed = reports.iter().find(|report| report.progress == Progress::Failed);
    let working = reports.iter().find(|report| report.progress == Progress::Running);
    *failed.or(working).or(reports.first()).unwrap_or(&OperatorReport::of_person())
}

/// Where the second hand is recorded: beside the first.
pub(super) fn second_file(first: &Path) -> PathBuf {
    let stem = first.file_stem().unwrap_or_default().to_string_lossy();
    let ending = first.extension().map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
    first.with_file_name(format!("{stem}-second{ending}"))
}
