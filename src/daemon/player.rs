//! `hapticd replay FILE --viewer`: a recording as the viewer sees it, with a place that can be moved.
//!
//! Thread: window, like a demo's; everything played is in memory.
//!
//! The page is sent what it would be sent by a daemon, true at this moment, so that it shows a recording at any speed, standing
//! still or running, as data that is fresh.

use super::cast::second_file;
use super::replay::rebuild;
use super::window::{Guest, latched};
use super::{Failure, device_log::Led, portrait::portrait};
use crate::control::alarm::Alarm;
use crate::control::http::{Answer, Asked, Question};
use crate::control::plant::{
    Act, Code, Dial, FaultEntry, Job, News, Plant, Range, Refused, SecondSight, Setting, Sight, Status, TaskState,
    Ticket, Value,
};
use crate::control::trail::{MOST, Trail};
use crate::control::{query, tree};
use crate::haptic::{TickRecord, Touches};
use crate::math::{Rot, Vec3};
use crate::record::{Entry, Provenance, Reader, deal, frame_of};
use crate::scene::Built;
use crate::shared::lifecycle::State;
use crate::shared::realtime::SystemClock;
use crate::shared::{Clock as _, MonoNs, SceneView, SkinFrame};
use serde_json::{Value as Json, json};
use std::path::Path;

/// Slowest and fastest play.
const SPEEDS: (f64, f64) = (0.05, 20.0);
/// Clients are told the place this often, s.
const TELL_S: f64 = 0.1;

/// What could be seen, after so many ticks.
#[derive(Default)]
struct Seen {
    views: Vec<(usize, SceneView)>,
    skins: Vec<(usize, SkinFrame)>,
}

impl Seen {
    /// Adds what is known of a frame of the bodies that deform: places or path, of which the other may have come before.
    fn skin(&mut self, place: usize, fill: impl FnOnce(&mut SkinFrame)) {
        let mut frame = self.skins.last().map_or_else(SkinFrame::default, |(_, last)| last.clone());
        if self.skins.last().is_some_and(|(last, _)| *last == place) {
            self.skins.pop();
        } else {
            frame.stamp.sequence += 1;
        }
        fill(&mut frame);
        self.skins.push((place, frame));
    }
}

/// The newest that could be seen at a place.
fn at<T>(list: &[(usize, T)], place: usize) -> Option<&T> {
    let known = list.partition_point(|(from, _)| *from <= place + 1);
    known.checked_sub(1).map(|index| &list[index].1)
}

/// The contacts of the tick that was due at a time go with it.
fn put(ticks: &mut [TickRecord], due: MonoNs, touches: Touches) {
    ticks.last_mut().into_iter().filter(|tick| tick.due == due).for_each(|tick| tick.touches = touches);
}

/// All ticks of a recording, with their contacts.
fn ticks_of(reader: Reader) -> Result<Vec<TickRecord>, Failure> {
    let mut ticks = Vec::new();
    for entry in reader {
        match entry? {
            Entry::Tick(record) => ticks.push(*record),
            Entry::Contacts(due, touches) => put(&mut ticks, due, *touches),
            _ => {}
        }
    }
    Ok(ticks)
}

/// What is played.
pub(super) struct Film {
    /// Every tick there is.
    ticks: Vec<TickRecord>,
    /// Every tick of the second hand, whose recording lies beside that of the first; none in a scene for one.
    second: Vec<TickRecord>,
    second_turn: Rot,
    seen: Seen,
    /// What the operator did, from which tick on.
    phases: Vec<(usize, String)>,
    faults: Vec<(usize, FaultEntry)>,
    from: Provenance,
    turn: Rot,
    portrait: Json,
}

impl Film {
    /// Reads a recording.
    ///
    /// # Errors
    /// When it cannot be read, or has no ticks.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let mut reader = Reader::open(path)?;
        let from = reader.provenance().clone();
        let beside = second_file(path);
        let second = if beside.exists() { ticks_of(Reader::open(&beside)?)? } else { Vec::new() };
        let (built, ..) = rebuild(&from, None)?;
        let frames: Vec<String> = built.sim.bodies.iter().map(|body| frame_of(&body.name)).collect();
        let (mut ticks, mut seen, mut phases) = (Vec::<TickRecord>::new(), Seen::default(), Vec::new());
        let sizes: Vec<usize> = built.skins.iter().map(|skin| skin.points.len()).collect();
        let mut view = SceneView::empty();
        for body in &built.sim.bodies {
            view.show(body.start);
        }
        for entry in reader.by_ref() {
            match entry? {
                Entry::Tick(record) => ticks.push(*record),
                Entry::Places(places) => {
                    for (frame, pose) in places {
                        let place = frames.iter().position(|known| *known == frame);
                        if let Some(place) = place.and_then(|place| view.bodies.get_mut(place)) {
                            *place = pose;
                        }
                    }
                    seen.views.push((ticks.len(), view));
                }
                Entry::Skins(points) => {
                    if let Some(skins) = deal(&points, &sizes) {
                        seen.skin(ticks.len(), |frame| frame.skins = skins);
                    }
                }
                Entry::Path(path) => seen.skin(ticks.len(), |frame| frame.path = path),
                Entry::Contacts(due, touches) => put(&mut ticks, due, *touches),
                Entry::Event(_, event) if event.get("kind").and_then(Json::as_str) == Some("phase") => {
                    let name = event.get("name").and_then(Json::as_str).unwrap_or_default();
                    phases.push((ticks.len(), name.to_owned()));
                }
                _ => {}
            }
        }
        Ok(Self { second, ..Self::of(ticks, seen, phases, from, &built)? })
    }

    /// Of a device log that was led through a scene.
    ///
    /// # Errors
    /// When it has no ticks.
    pub(super) fn of_log(led: Led) -> Result<Self, Failure> {
        let Led { ticks, views, skins, provenance, built, .. } = led;
        Self::of(ticks, Seen { views, skins }, Vec::new(), provenance, &built)
    }

    fn of(
        ticks: Vec<TickRecord>,
        seen: Seen,
        phases: Vec<(usize, String)>,
        from: Provenance,
        built: &Built,
    ) -> Result<Self, Failure> {
        let (Some(first), Some(last)) = (ticks.first(), ticks.last()) else {
            return Err(Failure::Usage("there are no ticks in it to play".into()));
        };
        let mut portrait = portrait(&from.scene_name, &from.scene_name, &from.device_name, built);
        portrait["replay"] = json!({ "duration_s": last.due.seconds_after(first.due) });
        let mut faults = Vec::new();
        for (place, pair) in ticks.windows(2).enumerate() {
            if pair[1].state == State::Fault && pair[0].state != State::Fault {
                let id = faults.len() as u32 + 1;
                faults.extend(latched(&pair[1], id, None).map(|entry| (place + 1, entry)));
            }
        }
        let turn = built.mapping.pose_world_device.rotation;
        let other = built.second.as_ref().map(|second| second.mapping.pose_world_device.rotation);
        let second_turn = other.unwrap_or_else(Rot::identity);
        Ok(Self { ticks, second: Vec::new(), second_turn, seen, phases, faults, from, turn, portrait })
    }

    /// What the second hand did last at a time.
    fn second_at(&self, due: MonoNs) -> Option<&TickRecord> {
        let known = self.second.partition_point(|record| record.due <= due);
        self.second.get(known.checked_sub(1)?)
    }

    fn seconds(&self, place: usize) -> f64 {
        self.ticks[place].due.seconds_after(self.ticks[0].due)
    }

    /// The tick so many seconds after the first.
    fn place(&self, seconds: f64) -> usize {
        let due = self.ticks[0].due.plus((seconds.max(0.0) * 1e9) as u64);
        self.ticks.partition_point(|record| record.due <= due).clamp(1, self.ticks.len()) - 1
    }

    fn duration_s(&self) -> f64 {
        self.seconds(self.ticks.len() - 1)
    }
}

/// A recording being played.
pub(super) struct Player {
    film: Film,
    began: MonoNs,
    turned: MonoNs,
    told: MonoNs,
    plays: bool,
    speed: f64,
    /// Where it is, s and by tick.
    seconds: f64,
    place: usize,
    newest: TickRecord,
    view: SceneView,
    skin: SkinFrame,
    trail: Trail,
    faults: Vec<FaultEntry>,
    dials: [Dial; 3],
    news: Vec<News>,
    tickets: u64,
}

impl Player {
    /// At the beginning, playing.
    pub(super) fn new(film: Film) -> Self {
        let now = SystemClock.now();
        let newest = film.ticks[0];
        let mut player = Self {
            began: now,
            turned: now,
            told: now,
            plays: true,
            speed: 1.0,
            seconds: 0.0,
            place: 0,
            newest,
            view: SceneView::empty(),
            skin: SkinFrame::default(),
            trail: Trail::default(),
            faults: Vec::new(),
            dials: dials(true, 1.0, 0.0, film.duration_s()),
            news: Vec::new(),
            tickets: 0,
            film,
        };
        player.go_to(0.0);
        player
    }

    /// Shows another place as if it had been reached by playing.
    fn go_to(&mut self, seconds: f64) {
        self.seconds = seconds.clamp(0.0, self.film.duration_s());
        self.place = self.film.place(self.seconds);
        let first = self.place.saturating_sub(MOST - 1);
        self.film.ticks[first..=self.place].iter().for_each(|record| self.trail.push(record));
        self.look();
    }

    /// Goes on by playing.
    fn advance(&mut self, elapsed_s: f64) {
        self.seconds += elapsed_s * self.speed;
        if self.seconds >= self.film.duration_s() {
            self.seconds = self.film.duration_s();
            self.plays = false;
            self.tell_all();
        }
        let place = self.film.place(self.seconds);
        self.film.ticks[self.place..place].iter().for_each(|record| self.trail.push(record));
        self.place = place;
        self.look();
    }

    /// Takes in what there is at this place.
    fn look(&mut self) {
        let record = self.film.ticks[self.place];
        if record.state != self.newest.state {
            self.news.push(News::State(record.state));
        }
        self.newest = record;
        let Seen { views, skins } = &self.film.seen;
        self.view = at(views, self.place).copied().unwrap_or_else(SceneView::empty);
        self.view.other_tool = self.film.second_at(record.due).map(|second| second.pose_world_tool);
        if let Some(frame) = at(skins, self.place).filter(|frame| frame.stamp.sequence != self.skin.stamp.sequence) {
            self.skin.clone_from(frame);
            self.skin.stamp.at = SystemClock.now();
        }
        let count = self.film.faults.partition_point(|(place, _)| *place <= self.place);
        if count != self.faults.len() {
            self.faults = self.film.faults[..count].iter().map(|(_, entry)| entry.clone()).collect();
            self.news.extend(self.faults.last().cloned().map(News::Fault));
        }
    }

    fn tell_all(&mut self) {
        self.dials = dials(self.plays, self.speed, self.seconds, self.film.duration_s());
        self.news.extend(self.dials.iter().map(|dial| News::Set(dial.setting.clone(), dial.value.clone())));
    }

    fn set(&mut self, setting: &Setting, value: &Value) {
        match (setting, value) {
            (Setting::ReplayPlays, Value::Bool(plays)) => {
                self.plays = *plays;
                if self.plays && self.seconds >= self.film.duration_s() {
                    self.go_to(0.0);
                }
            }
            (Setting::ReplaySpeed, Value::Float(speed)) => self.speed = *speed,
            (Setting::ReplayPlace, Value::Float(seconds)) => self.go_to(*seconds),
            _ => {}
        }
    }
}

fn dials(plays: bool, speed: f64, seconds: f64, duration_s: f64) -> [Dial; 3] {
    let numbers = |setting, value, least, most| Dial {
        setting,
        value: Value::Float(value),
        range: Range::Numbers { least, most },
    };
    [
        Dial { setting: Setting::ReplayPlays, value: Value::Bool(plays), range: Range::Switch },
        numbers(Setting::ReplaySpeed, speed, SPEEDS.0, SPEEDS.1),
        numbers(Setting::ReplayPlace, seconds, 0.0, duration_s),
    ]
}

impl Guest for Player {
    fn turn(&mut self) {
        let now = SystemClock.now();
        let elapsed_s = now.seconds_after(self.turned);
        self.turned = now;
        if self.plays {
            self.advance(elapsed_s);
        }
        // True now, wherever it stands.
        self.newest.due = now;
        if now.seconds_after(self.told) >= TELL_S {
            self.told = now;
            self.tell_all();
        }
    }

    fn answer(&self, asked: Asked) {
        let answer = match &asked.question {
            Question::Node { path, attribute } => query::answer(&tree::nodes(self), path, *attribute).into(),
            Question::Scene => Answer::json(&self.film.portrait),
            Question::HostInfo => Answer::json(&json!({ "NAME": "hapticd replay" })),
            Question::Metrics | Question::Health => Answer::health(None),
        };
        asked.answer(answer);
    }

    fn alarm(&self) -> Alarm {
        // Nothing moves that could be halted but the film itself.
        Alarm::silent()
    }
}

fn refusal() -> Refused {
    let text = "this is a recording: it can be played, paused and sought in, and nothing else".into();
    Refused { code: Code::NotAllowed, text }
}

impl Plant for Player {
    fn status(&self) -> Status {
        Status {
            state: self.newest.state,
            homed: self.newest.homed,
            busy: false,
            realtime: true,
            scene: self.film.from.scene_name.clone(),
            device: self.film.from.device_name.clone(),
            device_state: "recorded".into(),
            nominal_hz: self.film.from.rate_hz,
            actual_hz: self.film.from.rate_hz,
            lateness_us: self.newest.lateness_ns as f64 * 1e-3,
            overruns: 0,
            simulation_hz: 0.0,
            active_faults: self.faults.len() as u32,
            uptime_s: SystemClock.now().seconds_after(self.began),
            recording: None,
        }
    }

    fn dials(&self) -> &[Dial] {
        &self.dials
    }

    fn scenes(&self) -> Vec<String> {
        vec![self.film.from.scene_name.clone()]
    }

    fn devices(&self) -> Vec<String> {
        vec![self.film.from.device_name.clone()]
    }

    fn faults(&self) -> &[FaultEntry] {
        &self.faults
    }

    fn task(&self) -> TaskState {
        let begun = self.film.phases.partition_point(|(place, _)| *place <= self.place);
        let phase = begun.checked_sub(1).map_or_else(String::new, |at| self.film.phases[at].1.clone());
        TaskState { phase, goals_met: 0, goals: 0, success: false, time_s: self.seconds }
    }

    fn newest(&self) -> Option<&TickRecord> {
        Some(&self.newest)
    }

    fn sight(&self) -> Sight<'_> {
        let force: Vec3 = self.film.turn * self.newest.force.force;
        let second = self
            .film
            .second_at(self.film.ticks[self.place].due)
            .map(|record| SecondSight { force: self.film.second_turn * record.force.force, touches: &record.touches });
        Sight { scene: &self.view, force, skin: &self.skin, second }
    }

    fn trail(&self) -> &Trail {
        &self.trail
    }

    fn halt(&mut self, _by: &str) {
        // Nothing moves that could be halted but the film itself.
        self.plays = false;
        self.tell_all();
    }

    fn act(&mut self, acts: &[Act]) -> Result<Ticket, Refused> {
        if !acts.iter().all(|act| matches!(act, Act::Set(..))) {
            return Err(refusal());
        }
        for act in acts {
            if let Act::Set(setting, value) = act {
                self.set(setting, value);
            }
        }
        self.tell_all();
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.news.push(News::Answer(ticket, Ok(Vec::new())));
        Ok(ticket)
    }

    fn begin(&mut self, _job: Job) -> Result<Ticket, Refused> {
        Err(refusal())
    }

    fn poll(&mut self, news: &mut Vec<News>) {
        news.append(&mut self.news);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::{DemoOptions, run_demo};
    use crate::shared::realtime::RealtimeRequest;
    use std::sync::Arc;

    #[test]
    fn a_film_shows_how_bodies_deformed_at_any_place() {
        let path = std::env::temp_dir().join(format!("hapticd-film-{}.mcap", std::process::id()));
        let options = DemoOptions {
            scene: "needle_phantom".into(),
            devices: Vec::new(),
            ports: Vec::new(),
            at_rest: false,
            seed: None,
            skill: None,
            seconds: Some(4.0),
            lockstep: true,
            json: true,
            record: Some(path.clone()),
            out: None,
            viewer: false,
            realtime: RealtimeRequest::default(),
        };
        run_demo(&options, &Arc::default()).expect("the scene runs");
        let film = Film::read(&path);
        std::fs::remove_file(&path).expect("it was there");
        let mut player = Player::new(film.expect("a recording"));
        let mut at = |seconds: f64| {
            player.go_to(seconds);
            player.sight().skin.clone()
        };
        let (first, last) = (at(0.1), at(3.9));
        assert_eq!((first.skins.len(), last.skins.len()), (1, 1));
        assert!(first.stamp.at.0 > 0 && first.stamp.at < last.stamp.at, "the page orders frames by their time");
        assert!(last.skins[0].stress_pa.iter().any(|pa| *pa > 100.0), "it is pushed by the end");
        assert!(first.skins[0].stress_pa.iter().all(|pa| *pa < 1.0), "and not at the beginning");
        assert!(last.path.len() > 1 && last.path != first.path, "the needle moves");
        assert_eq!(at(0.1).skins, first.skins, "back again");
    }
}
