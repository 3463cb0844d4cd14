//! The supervisor's second half: rigs come and go, threads are looked after, the operator is kept in step with the state.
//!
//! Thread: control.

use super::errands::{self, Building, Done};
use super::recording;
use super::requests::busy;
use super::rig::{Plan, Rig};
use super::settings;
use super::supervisor::Supervisor;
use super::trips::Reason;
use crate::control::plant::{Code, News, Refused, Setting, Ticket, Value};
use crate::daemon::{Failure, tape};
use crate::device::operator::{OperatorOrder, Skill};
use crate::files::Look;
use crate::record::{RecordSummary, Recorder};
use crate::shared::lifecycle::State;
use crate::shared::realtime::SystemClock;
use crate::shared::{Clock as _, MonoNs, NS_PER_S};

/// Time a load may take, and between two words on how it goes, ns. The largest scenes that are allowed take some 20 s.
const LOAD_NS: u64 = 120 * NS_PER_S;
const PROGRESS_NS: u64 = 2 * NS_PER_S;

impl Supervisor {
    /// Begins to build the rig of `plan` in place of the one in use, which goes on until then.
    ///
    /// # Errors
    /// While another is being built, and in any state but DISABLED; a simulation that has ended may also be replaced in
    /// FAULT, because that fault could not be acknowledged otherwise.
    pub(super) fn replace(&mut self, mut plan: Plan, ticket: Option<Ticket>) -> Result<(), Refused> {
        if self.is_busy() {
            return Err(busy("another scene or device is being loaded; wait for it, or send /hapticd/scene/cancel"));
        }
        if self.errands.is_clogged() {
            return Err(busy("former loads that were given up still hang; see the log, or restart the daemon"));
        }
        let mends = self.state == State::Fault && self.simulation_is_down();
        if self.state != State::Disabled && !mends {
            let text = format!("only in DISABLED, not in {}; {}", self.state.name(), way_to_disabled(self.state));
            return Err(Refused { code: Code::WrongState, text });
        }
        plan.line.clone_from(&self.rig.line);
        plan.born_tripped = self.newest.filter(|_| mends).and_then(|record| record.cause);
        self.errands.build(Building::new(ticket, plan, SystemClock.now()));
        Ok(())
    }

    /// Begins to record before the first tick has been taken out of its ring, so that none is missing. Waits for the disk.
    ///
    /// # Errors
    /// When there is no place for it.
    pub(super) fn record_from_the_start(&mut self, name: &str) -> Result<(), Failure> {
        let Some(directory) = &self.state_dir else {
            let text = "no place for a recording: name [paths] state in the configuration, or leave out --record";
            return Err(Failure::Usage(text.into()));
        };
        let name = Some(name.to_owned()).filter(|name| !name.is_empty());
        let recorder = Recorder::start(recording::options(&self.rig, &self.recording.rules, directory, name))?;
        tracing::info!("recording to {}", recorder.figures().path.display());
        self.recording.begin(recorder);
        Ok(())
    }

    /// Reads the scene in use again from its file, on behalf of nobody who waits for an answer.
    ///
    /// # Errors
    /// As [`Self::replace`].
    pub(super) fn reload(&mut self) -> Result<(), Refused> {
        self.replace(self.plan.clone(), None)
    }

    /// Takes over what a cold thread has done.
    pub(super) fn take_over(&mut self, done: Done) {
        match done {
            Done::Written(id, Ok(path)) => {
                tracing::info!(fault = id, "data of fault {id}: {}", path.display());
                if let Some(entry) = self.book.attach(id, path.display().to_string()) {
                    self.news.push(News::Fault(entry));
                }
            }
            Done::Written(id, Err(error)) => tracing::warn!(fault = id, "data of fault {id} is lost: {error}"),
            Done::Recording(ticket, result) => {
                self.recording.is_opening = false;
                let answer = result.map(|recorder| {
                    let path = recorder.figures().path.display().to_string();
                    tracing::info!("recording to {path}");
                    self.recording.begin(recorder);
                    vec![Value::Text(path)]
                });
                self.news.push(News::Answer(ticket, answer.map_err(|error| recording::refused(&error))));
            }
            Done::Recorded(ticket, result) => {
                match &result {
                    Ok(made) => tracing::info!("recorded {}", tape::line(made)),
                    Err(error) => {
                        let entry = self.book.recording_ended(error, SystemClock.now());
                        self.tell(entry);
                    }
                }
                let path = |made: RecordSummary| made.files.last().map(|path| Value::Text(path.display().to_string()));
                let answer = result.map(|made| path(made).into_iter().collect());
                let answer = answer.map_err(|error| recording::refused(&error));
                self.news.extend(ticket.map(|ticket| News::Answer(ticket, answer)));
            }
            Done::Built(number, result) => {
                let Some(Building { ticket, plan, .. }) = self.errands.built(number) else {
                    tracing::info!("a load that was given up has ended");
                    return result.into_iter().for_each(|rig| self.errands.dismiss(rig));
                };
                let answer = match *result {
                    Ok(rig) if matches!(self.state, State::Enabled | State::Paused) => {
                        self.errands.dismiss(rig);
                        let text = "forces were enabled meanwhile; disable, and load again".into();
                        Err(Refused { code: Code::WrongState, text })
                    }
                    Ok(rig) => Ok(self.install(plan, rig)),
                    Err(failure) => {
                        let picture = failure.picture(Look::Plain);
                        tracing::error!("{} stays; {} was not loaded:\n{picture}", self.rig.scene, plan.scene);
                        Err(errands::refused(&failure))
                    }
                };
                self.news.extend(ticket.map(|ticket| News::Answer(ticket, answer)));
            }
        }
    }

    /// Tells how a load goes, and gives it up when it takes too long.
    pub(super) fn look_after_load(&mut self, now: MonoNs) {
        let Some(building) = &mut self.errands.building else { return };
        if now.since(building.since) > LOAD_NS {
            let text = format!(
                "not loaded within {} s (last: {}); make the scene smaller, or bake its parts before",
                LOAD_NS / NS_PER_S,
                building.watch.doing()
            );
            self.give_up(Code::Busy, &text);
        } else if now.since(building.told) >= PROGRESS_NS {
            building.told = now;
            let (scene, doing) = (building.plan.scene.clone(), building.watch.doing());
            let time_s = now.seconds_after(building.since);
            tracing::info!("loading {scene} for {time_s:.0} s: {doing}");
            self.news.push(News::Loading { scene, time_s, doing });
        }
    }

    /// Waits no longer for the load under way; false when there is none.
    pub(super) fn give_up(&mut self, code: Code, text: &str) -> bool {
        let Some(building) = self.errands.abandon() else { return false };
        tracing::warn!("{} stays; {} was {text}", self.rig.scene, building.plan.scene);
        let refused = Refused { code, text: text.into() };
        self.news.extend(building.ticket.map(|ticket| News::Answer(ticket, Err(refused))));
        true
    }

    /// Puts a new rig in the place of the old one. A fault stays latched.
    fn install(&mut self, plan: Plan, rig: Rig) -> Vec<Value> {
        // A halt that the old rig was told of, and that no tick has shown yet, must not be lost with it.
        self.note_halts();
        let latched = self.state == State::Fault || self.reason.is_some();
        if latched && plan.born_tripped.is_none() {
            rig.haptic.halt_switch().throw();
        }
        let former = self.adopt(Plan { born_tripped: None, line: None, ..plan }, rig);
        self.errands.dismiss(former);
        tracing::info!(scene = self.rig.scene, device = self.rig.device, "loaded {}", self.description());
        self.news.push(News::Dials);
        self.news.push(News::Task(self.task.state()));
        vec![Value::Text(self.rig.scene.clone()), Value::Text(self.rig.device.clone())]
    }

    /// The rig in a few words, for the log.
    pub(super) fn description(&self) -> String {
        let timing = match self.rig.haptic.refusals().first() {
            None => format!("{}", self.rig.haptic.status().policy),
            Some(why) => format!("NOT real-time: {why}"),
        };
        format!("{} on {}, {:.0} Hz, {timing}", self.rig.scene, self.rig.device, self.rig.model.rate_hz)
    }

    /// True when the simulation thread has ended by itself.
    pub(super) fn simulation_is_down(&self) -> bool {
        self.rig.sim.is_finished()
    }

    /// A thread that has ended is a fault; without the haptic one the daemon cannot go on.
    pub(super) fn look_after_threads(&mut self, now: MonoNs) {
        if let Some(recorder) = self.recording.take_ended() {
            self.errands.close(None, recorder);
        }
        if self.rig.haptic.has_ended() {
            self.lose_loop(now);
        } else if self.simulation_is_down() && self.state != State::Fault && self.reason.is_none() {
            self.reason = Some(Reason::SimulationEnded);
            self.rig.haptic.halt_switch().throw();
        } else if self.simulation_is_down() && self.state == State::Fault && !self.mended && !self.is_busy() {
            // Once for each fault: the fault stays latched, and can be acknowledged when the simulation is back.
            self.mended = true;
            tracing::warn!("the simulation has ended; the scene is loaded again");
            if let Err(refused) = self.reload() {
                tracing::error!("the scene could not be loaded again: {}", refused.text);
            }
        }
    }

    /// Renews the rates that clients are told.
    pub(super) fn measure(&mut self, now: MonoNs) {
        self.figures = *self.rig.haptic.figures();
        self.ticks.read(now, self.rig.haptic.heartbeat().count());
        self.steps.read(now, self.sim.step_times.count);
    }

    /// The simulated operator works while forces flow, unless told to rest: so a task begins with `start`.
    pub(super) fn guide_operator(&mut self) {
        let works = self.works && self.state == State::Enabled;
        if works != self.working {
            self.working = works;
            self.rig.operator.publish(OperatorOrder { works });
        }
    }

    /// Takes over a setting of the operator; skill and seed count from the next load.
    pub(super) fn set_operator(&mut self, setting: &Setting, value: &Value) {
        match (setting, value) {
            (Setting::OperatorWorks, Value::Bool(works)) => self.works = *works,
            (Setting::OperatorSkill, Value::Text(name)) => self.plan.skill = Skill::from_name(name),
            (Setting::OperatorSeed, Value::Int(seed)) => self.plan.seed = u64::try_from(*seed).ok(),
            _ => {}
        }
    }

    /// Sends friction and restitution to the simulation, if there are any; gives the number it will echo.
    pub(super) fn set_materials(&mut self, sets: &[(Setting, Value)]) -> Option<u64> {
        let names: Vec<&str> = self.rig.built.sim.materials.iter().map(|material| material.name.as_str()).collect();
        let place = |name: &str| names.iter().position(|known| *known == name);
        let mut order = self.rig.materials;
        for (setting, value) in sets {
            let Ok(number) = settings::number(value) else { continue };
            let (name, is_friction) = match setting {
                Setting::Friction(name) => (name, true),
                Setting::Restitution(name) => (name, false),
                _ => continue,
            };
            if let Some((friction, restitution)) = place(name).and_then(|index| order.values.get_mut(index)) {
                *(if is_friction { friction } else { restitution }) = number;
            }
        }
        if order.values == self.rig.materials.values {
            return None;
        }
        order.sequence += 1;
        self.rig.materials = order;
        self.recording.materials(&order);
        self.rig.material_writer.publish(order);
        Some(order.sequence)
    }
}

fn way_to_disabled(state: State) -> &'static str {
    match state {
        State::Fault => "acknowledge the fault first",
        State::Disabled | State::Enabled | State::Paused => "disable first",
    }
}
