//! A daemon without threads behind the hub: does what it is told at the next poll.

use hapticd::control::plant::{
    Act, Code, Dial, FaultEntry, Job, News, Plant, Priority, Range, Refused, SecondSight, Setting, Sight, Status,
    TaskState, Ticket, Value,
};
use hapticd::control::trail::Trail;
use hapticd::haptic::{TickRecord, Touches};
use hapticd::math::{Pose, Vec3};
use hapticd::shared::lifecycle::{Guard, State};
use hapticd::shared::{MonoNs, Parameter, SceneView, Skin, SkinFrame, Stamp};

enum Work {
    Acts(Vec<Act>),
    Job(Job),
}

/// See the head of the file. What it was told stays readable.
pub(crate) struct FakePlant {
    pub(crate) status: Status,
    pub(crate) dials: Vec<Dial>,
    pub(crate) faults: Vec<FaultEntry>,
    pub(crate) record: Option<TickRecord>,
    pub(crate) view: SceneView,
    /// Force and contacts of the second hand.
    pub(crate) second: Option<(Vec3, Touches)>,
    pub(crate) trail: Trail,
    pub(crate) skin: SkinFrame,
    /// Who halted.
    pub(crate) halts: Vec<String>,
    /// Every call of `act`.
    pub(crate) acts: Vec<Vec<Act>>,
    /// Every call of `begin`.
    pub(crate) jobs: Vec<Job>,
    /// News for the next poll.
    pub(crate) news: Vec<News>,
    /// Leave everything undone.
    pub(crate) stuck: bool,
    /// Refuse the next act at once.
    pub(crate) refuse: Option<Refused>,
    /// How often the names of scenes were asked for.
    pub(crate) lists: std::cell::Cell<usize>,
    waiting: Vec<(Ticket, Work)>,
    tickets: u64,
}

/// A fault as in the documents.
pub(crate) fn fault(id: u32, acknowledged: bool) -> FaultEntry {
    FaultEntry {
        id,
        code: "F04",
        name: "device-lost",
        priority: Priority::High,
        latched: true,
        acknowledged,
        at: MonoNs(1_500_000_000),
        cause: "No data from device for 20 ms.".into(),
        remedy: "Check cable and power.",
        data: None,
    }
}

/// A skin of so many points in a row.
pub(crate) fn skin(count: usize) -> Skin {
    Skin { points: (0..count).map(|n| [n as f32, 0.0, 2.0]).collect(), stress_pa: vec![7.0; count] }
}

fn dials() -> Vec<Dial> {
    let numbers = |setting, value, least, most| Dial {
        setting,
        value: Value::Float(value),
        range: Range::Numbers { least, most },
    };
    let mut dials: Vec<Dial> =
        Parameter::ALL.iter().map(|&parameter| numbers(Setting::Loop(parameter), 0.5, 0.0, 0.6)).collect();
    dials[0] = numbers(Setting::Loop(Parameter::Stiffness), 800.0, 0.0, 3000.0);
    for name in ["steel", "soft tissue"] {
        dials.push(numbers(Setting::Friction(name.into()), 0.3, 0.0, 2.0));
        dials.push(numbers(Setting::Restitution(name.into()), 0.1, 0.0, 1.0));
    }
    let works = Dial { setting: Setting::OperatorWorks, value: Value::Bool(true), range: Range::Switch };
    let words = Range::Words(vec!["novice", "trained", "expert"]);
    let skill = Dial { setting: Setting::OperatorSkill, value: Value::Text("trained".into()), range: words };
    let seed = Dial { setting: Setting::OperatorSeed, value: Value::Int(48), range: Range::Count };
    let plays = Dial { setting: Setting::ReplayPlays, value: Value::Bool(true), range: Range::Switch };
    dials.extend([works, skill, seed, plays]);
    dials.push(numbers(Setting::ReplaySpeed, 0.5, 0.0, 0.6));
    dials.push(numbers(Setting::ReplayPlace, 0.5, 0.0, 0.6));
    dials
}

impl FakePlant {
    pub(crate) fn new() -> Self {
        let status = Status {
            device_state: "ready".into(),
            state: State::Disabled,
            homed: true,
            busy: false,
            realtime: true,
            scene: "box_on_table".into(),
            device: "simulated-3dof".into(),
            nominal_hz: 1000.0,
            actual_hz: 999.5,
            lateness_us: 41.0,
            overruns: 3,
            simulation_hz: 60.0,
            active_faults: 0,
            uptime_s: 12.5,
            recording: None,
        };
        let mut record = TickRecord::empty(Pose::identity());
        record.due = MonoNs(7_000_000_123);
        let mut trail = Trail::default();
        trail.push(&record);
        Self {
            status,
            dials: dials(),
            faults: Vec::new(),
            record: Some(record),
            view: SceneView::empty(),
            second: None,
            trail,
            skin: SkinFrame { stamp: Stamp { sequence: 1, at: MonoNs(1) }, skins: vec![skin(1)], path: Vec::new() },
            halts: Vec::new(),
            acts: Vec::new(),
            jobs: Vec::new(),
            news: Vec::new(),
            stuck: false,
            refuse: None,
            waiting: Vec::new(),
            lists: std::cell::Cell::new(0),
            tickets: 0,
        }
    }

    fn ticket(&mut self, work: Work) -> Ticket {
        self.tickets += 1;
        self.waiting.push((Ticket(self.tickets), work));
        Ticket(self.tickets)
    }

    fn enter(&mut self, state: State, news: &mut Vec<News>) {
        self.status.state = state;
        news.push(News::State(state));
    }

    fn carry_out(&mut self, acts: &[Act], news: &mut Vec<News>) -> Result<Vec<Value>, Refused> {
        let guard = Guard { homed: self.status.homed, cause_persists: false };
        for act in acts {
            match act {
                Act::Event(event) => {
                    let refused = |_| Refused { code: Code::WrongState, text: "not in this state".into() };
                    let state = self.status.state.next(*event, guard).map_err(refused)?;
                    self.enter(state, news);
                }
                Act::Set(setting, value) => {
                    let dial = self.dials.iter_mut().find(|dial| dial.setting == *setting);
                    dial.expect("the hub has looked it up").value = value.clone();
                    news.push(News::Set(setting.clone(), value.clone()));
                }
                Act::Force { .. } | Act::Turn { .. } => {}
            }
        }
        Ok(Vec::new())
    }

    fn work(&mut self, job: Job, news: &mut Vec<News>) -> Result<Vec<Value>, Refused> {
        match job {
            Job::LoadScene(name) => {
                self.status.scene = name;
                news.push(News::Dials);
            }
            Job::OpenDevice(name) => {
                self.status.device = name;
                news.push(News::Dials);
            }
            Job::Acknowledge(_) => self.enter(State::Disabled, news),
            Job::RecordStart(_) | Job::RecordStop => return Ok(vec![Value::Text("session.mcap".into())]),
            Job::ReloadScene | Job::CancelLoad | Job::Home | Job::RecordMark(_) => {}
        }
        Ok(Vec::new())
    }
}

impl Plant for FakePlant {
    fn status(&self) -> Status {
        self.status.clone()
    }

    fn dials(&self) -> &[Dial] {
        &self.dials
    }

    fn scenes(&self) -> Vec<String> {
        self.lists.set(self.lists.get() + 1);
        vec!["box_on_table".into(), "virtual_wall".into()]
    }

    fn devices(&self) -> Vec<String> {
        vec!["simulated-3dof".into()]
    }

    fn faults(&self) -> &[FaultEntry] {
        &self.faults
    }

    fn task(&self) -> TaskState {
        TaskState { phase: "slide it".into(), goals_met: 1, goals: 2, success: false, time_s: 3.25 }
    }

    fn newest(&self) -> Option<&TickRecord> {
        self.record.as_ref()
    }

    fn sight(&self) -> Sight<'_> {
        let second = self.second.as_ref().map(|(force, touches)| SecondSight { force: *force, touches });
        Sight { scene: &self.view, force: Vec3::new(0.0, 0.0, 2.5), skin: &self.skin, second }
    }

    fn trail(&self) -> &Trail {
        &self.trail
    }

    fn halt(&mut self, by: &str) {
        self.halts.push(by.to_owned());
        self.status.state = State::Fault;
        self.news.push(News::State(State::Fault));
    }

    fn act(&mut self, acts: &[Act]) -> Result<Ticket, Refused> {
        if let Some(refused) = self.refuse.take() {
            return Err(refused);
        }
        self.acts.push(acts.to_vec());
        Ok(self.ticket(Work::Acts(acts.to_vec())))
    }

    fn begin(&mut self, job: Job) -> Result<Ticket, Refused> {
        self.jobs.push(job.clone());
        Ok(self.ticket(Work::Job(job)))
    }

    fn poll(&mut self, news: &mut Vec<News>) {
        news.append(&mut self.news);
        if self.stuck {
            return;
        }
        for (ticket, work) in std::mem::take(&mut self.waiting) {
            let outcome = match work {
                Work::Acts(acts) => self.carry_out(&acts, news),
                Work::Job(job) => self.work(job, news),
            };
            news.push(News::Answer(ticket, outcome));
        }
    }
}
