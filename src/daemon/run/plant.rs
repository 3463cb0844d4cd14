//! The supervisor as the control plane knows it.
//!
//! Thread: control.

use super::recording;
use super::requests::{Purpose, Waits, busy};
use super::rig::Plan;
use super::settings;
use super::supervisor::Supervisor;
use super::trips::Reason;
use crate::control::plant::{
    Act, Code, Dial, FaultEntry, Job, News, Plant, Refused, Setting, Sight, Status, TaskState, Ticket, Value,
};
use crate::control::trail::Trail;
use crate::haptic::TickRecord;
use crate::math::Vec3;
use crate::shared::lifecycle::{Event, State};
use crate::shared::realtime::SystemClock;
use crate::shared::{Change, Clock as _, MAX_CHANGES};

impl Plant for Supervisor {
    fn status(&self) -> Status {
        let figures = &self.figures;
        Status {
            state: self.state,
            homed: self.newest.is_some_and(|record| record.homed),
            busy: self.is_busy(),
            realtime: self.rig.haptic.is_realtime(),
            scene: self.rig.scene.clone(),
            device: self.rig.device.clone(),
            device_state: self.device_state(),
            nominal_hz: self.rig.model.rate_hz,
            actual_hz: self.ticks.hz(),
            lateness_us: figures.lateness.p999_ns as f64 * 1e-3,
            overruns: figures.overruns,
            simulation_hz: self.steps.hz(),
            active_faults: u32::try_from(self.book.waiting().count()).unwrap_or(u32::MAX),
            uptime_s: SystemClock.now().seconds_after(self.began),
            recording: self.recording.path(),
        }
    }

    fn dials(&self) -> &[Dial] {
        &self.dials
    }

    fn scenes(&self) -> Vec<String> {
        self.plan.catalogue.scene_names()
    }

    fn devices(&self) -> Vec<String> {
        self.plan.catalogue.device_names()
    }

    fn faults(&self) -> &[FaultEntry] {
        self.book.entries()
    }

    fn task(&self) -> TaskState {
        self.task.state()
    }

    fn newest(&self) -> Option<&TickRecord> {
        self.newest.as_ref()
    }

    fn sight(&self) -> Sight<'_> {
        let turned = self.rig.model.mapping.pose_world_device.rotation;
        let force = self.newest.map_or_else(Vec3::zeros, |record| turned * record.force.force);
        Sight { scene: &self.sim.view, force, skin: self.rig.skins.current(), second: None }
    }

    fn trail(&self) -> &Trail {
        &self.trail
    }

    fn halt(&mut self, by: &str) {
        self.rig.haptic.halt_switch().throw();
        if self.state != State::Fault {
            tracing::warn!(by, "halt asked for by {by}");
        }
        self.reason = Some(Reason::AskedBy(by.to_owned()));
    }

    fn act(&mut self, acts: &[Act]) -> Result<Ticket, Refused> {
        let mut changes = Vec::new();
        let mut sets = Vec::new();
        for act in acts {
            match act {
                Act::Event(Event::Enable | Event::Resume) if self.is_busy() => {
                    return Err(busy("a scene or device is being loaded; wait for it"));
                }
                Act::Event(event) => changes.push(Change::Event(*event)),
                Act::Force { force, torque, until } => {
                    changes.push(Change::Force { force: *force, torque: *torque, until: *until });
                }
                Act::Turn { rate, until } => changes.push(Change::Turn { rate: *rate, until: *until }),
                Act::Set(setting, value) => {
                    self.know(setting)?;
                    if let Setting::Loop(parameter) = setting {
                        changes.push(Change::Set(*parameter, settings::number(value)?));
                    }
                    sets.push((setting.clone(), value.clone()));
                }
            }
        }
        if changes.len() > MAX_CHANGES {
            let text = format!("{} changes of the haptic loop at once; send at most {MAX_CHANGES}", changes.len());
            return Err(Refused { code: Code::OutOfRange, text });
        }
        self.send(&changes, Purpose::Act, sets)
    }

    fn begin(&mut self, job: Job) -> Result<Ticket, Refused> {
        let plan = self.plan.clone();
        match job {
            Job::LoadScene(scene) => self.replace_for_client(Plan { scene, ..plan }),
            Job::ReloadScene => self.replace_for_client(plan),
            Job::CancelLoad if self.give_up(Code::WrongState, "cancelled by a client") => Ok(self.at_once(Vec::new())),
            Job::CancelLoad => {
                Err(Refused { code: Code::WrongState, text: "no scene or device is being loaded".into() })
            }
            Job::OpenDevice(device) => self.replace_for_client(Plan { device, ..plan }),
            Job::Home => self.home(SystemClock.now()),
            Job::Acknowledge(id) => self.acknowledge(id),
            Job::RecordStart(name) => self.record(name),
            Job::RecordStop => match self.recording.take() {
                Some(recorder) => {
                    let ticket = self.ticket();
                    self.errands.close(Some(ticket), recorder);
                    Ok(ticket)
                }
                None => Err(nothing_recorded()),
            },
            Job::RecordMark(text) if self.recording.mark(&text) => Ok(self.at_once(Vec::new())),
            Job::RecordMark(_) => Err(nothing_recorded()),
        }
    }

    fn poll(&mut self, news: &mut Vec<News>) {
        Supervisor::poll(self, news);
    }
}

impl Supervisor {
    /// Refuses a setting that this scene and device do not have.
    fn know(&self, setting: &Setting) -> Result<(), Refused> {
        if self.dials.iter().any(|dial| dial.setting == *setting) {
            return Ok(());
        }
        Err(Refused { code: Code::NotFound, text: "this scene and device have no such setting".into() })
    }

    /// Sends an order; what is left to do follows its answer. Without anything for the haptic thread it follows at once.
    fn send(&mut self, changes: &[Change], purpose: Purpose, sets: Vec<(Setting, Value)>) -> Result<Ticket, Refused> {
        let now = SystemClock.now();
        let ticket = self.ticket();
        if changes.is_empty() {
            self.proceed(ticket, purpose, sets, now);
            return Ok(ticket);
        }
        let sequence = self.rig.desk.send(changes).ok_or_else(|| busy("too many orders are under way; try again"))?;
        self.requests.add(ticket, purpose, sets, Waits::Haptic(sequence), now);
        Ok(ticket)
    }

    /// An answer that is known at once.
    pub(super) fn at_once(&mut self, values: Vec<Value>) -> Ticket {
        let ticket = self.ticket();
        self.news.push(News::Answer(ticket, Ok(values)));
        ticket
    }

    fn replace_for_client(&mut self, plan: Plan) -> Result<Ticket, Refused> {
        let ticket = self.ticket();
        self.replace(plan, Some(ticket)).map(|()| ticket)
    }

    fn record(&mut self, name: Option<String>) -> Result<Ticket, Refused> {
        if self.recording.is_opening || self.recording.path().is_some() {
            let text = "a recording is under way; stop it first".into();
            return Err(Refused { code: Code::WrongState, text });
        }
        let Some(state) = &self.state_dir else {
            let text = "nothing says where recordings go; set `state` in [paths] of the configuration".into();
            return Err(Refused { code: Code::NotAllowed, text });
        };
        let options = recording::options(&self.rig, &self.recording.rules, state, name);
        let ticket = self.ticket();
        self.recording.is_opening = true;
        self.errands.record(ticket, options);
        Ok(ticket)
    }

    /// Acknowledges a fault, or the oldest. The last one that waits leads to DISABLED, if the haptic thread agrees.
    fn acknowledge(&mut self, id: Option<u32>) -> Result<Ticket, Refused> {
        let waiting: Vec<u32> = self.book.waiting().map(|entry| entry.id).collect();
        let known = |id: &u32| self.book.entries().iter().any(|entry| entry.id == *id);
        let id = match id {
            Some(id) if waiting.contains(&id) => Some(id),
            Some(id) if known(&id) => {
                return Err(Refused { code: Code::WrongState, text: format!("fault {id} does not wait for that") });
            }
            Some(id) => return Err(Refused { code: Code::NotFound, text: format!("there is no fault {id}") }),
            None if waiting.is_empty() && self.state != State::Fault => {
                return Err(Refused { code: Code::NotFound, text: "no fault waits to be acknowledged".into() });
            }
            None => waiting.first().copied(),
        };
        if self.is_busy() {
            return Err(busy("a scene is being loaded; wait for it"));
        }
        if self.simulation_is_down() {
            let text = "the simulation has ended and did not start again; see the log, and restart the daemon".into();
            return Err(Refused { code: Code::WrongState, text });
        }
        let last = waiting.len() <= 1;
        let changes = [Change::Event(Event::Acknowledge)];
        self.send(if last { &changes } else { &[] }, Purpose::Acknowledge(id), Vec::new())
    }
}

fn nothing_recorded() -> Refused {
    Refused { code: Code::WrongState, text: "nothing is being recorded; start a recording first".into() }
}
