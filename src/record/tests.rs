//! Recordings written and read back: bits, limits, losses, damage.

use super::schema::Topic;
use super::*;
use crate::device::HandForce;
use crate::haptic::{Account, TickRecord, Touch, Touches};
use crate::math::{Pose, Random, Rot, Vec3};
use crate::shared::lifecycle::{Event, State};
use crate::shared::{Change, Faults, MonoNs, Order, Parameter, Parameters, SceneView, Skin, SkinFrame, StepInput};
use std::fs;
use std::path::Path;

/// A directory that goes when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hapticd-record-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("there is room for tests");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn provenance() -> Provenance {
    Provenance {
        scene_name: "wall".into(),
        scene_text: "format = \"hapticd-scene/1\"\n# ä\n".into(),
        device_name: "simulated-3dof".into(),
        device_text: "format = \"hapticd-device/1\"\n".into(),
        config_text: String::new(),
        seed: u64::MAX,
        skill: "novice".into(),
        timing: Timing::Lockstep,
        force_limit_n: 0.1 + 0.2,
        torque_limit_nm: 0.0,
        ..Provenance::here()
    }
}

/// A tick full of numbers drawn by `draw`.
fn tick(index: u64, mut draw: impl FnMut() -> f64) -> TickRecord {
    let mut vector = || Vec3::new(draw(), draw(), draw());
    let mut pose = || {
        let (v, w) = (vector(), vector());
        Pose::from_parts(v.into(), Rot::new_unchecked(nalgebra::Quaternion::new(w.x, w.y, w.z, v.x)))
    };
    let (pose_device_handle, pose_world_handle, pose_world_tool) = (pose(), pose(), pose());
    let (force, wanted) =
        (HandForce { force: vector(), torque: vector() }, HandForce { force: vector(), torque: vector() });
    let velocity = vector();
    let mut touches = Touches::NONE;
    (0..index % 5).for_each(|_| assert!(touches.add(Touch::new(&vector(), &vector()))));
    let mut parameters = Parameters::default();
    Parameter::ALL.into_iter().for_each(|parameter| parameters.set(parameter, draw()));
    TickRecord {
        index,
        due: MonoNs(5_000_000_000 + index * 1_000_000),
        lateness_ns: index % 70,
        compute_ns: index % 90,
        faults: Faults::from_names(Faults::ALL.iter().skip(index as usize % 17).take(2).map(|(_, name)| *name)),
        state: [State::Disabled, State::Enabled, State::Paused, State::Fault][index as usize % 4],
        cause: crate::haptic::Trip::ALL.get(index as usize % 10).copied(),
        homed: index.is_multiple_of(2),
        buttons: u32::MAX - index as u32,
        gain: draw(),
        pose_device_handle,
        velocity,
        pose_world_handle,
        pose_world_tool,
        force,
        wanted,
        contacts: index as u32 % 5,
        touches,
        penetration_m: draw(),
        iterations: u32::MAX,
        residual: draw(),
        snapshot_age_ns: u64::MAX - index,
        account: Account {
            reserve_j: draw(),
            balance_j: draw(),
            balance_min_j: draw(),
            taken_j: draw(),
            given_j: draw(),
        },
        parameters,
        input: crate::haptic::TickInput::default(),
    }
}

/// Ticks with ordinary numbers.
fn plain_ticks(count: u64) -> Vec<TickRecord> {
    let mut random = Random::new(3);
    (1..=count).map(|index| tick(index, || random.normal())).collect()
}

fn pose_bits(pose: &Pose) -> impl Iterator<Item = u64> {
    let (p, q) = (pose.translation.vector, pose.rotation.coords);
    [p.x, p.y, p.z, q.x, q.y, q.z, q.w].map(f64::to_bits).into_iter()
}

/// Every bit of a tick.
fn bits(t: &TickRecord) -> Vec<u64> {
    let a = t.account;
    let poses = [t.pose_device_handle, t.pose_world_handle, t.pose_world_tool];
    let vectors = [t.velocity, t.force.force, t.force.torque, t.wanted.force, t.wanted.torque];
    let numbers =
        [t.gain, t.penetration_m, t.residual, a.reserve_j, a.balance_j, a.balance_min_j, a.taken_j, a.given_j];
    let counts = [
        t.index,
        t.due.0,
        t.lateness_ns,
        t.compute_ns,
        u64::from(t.faults.bits()),
        t.state as u64,
        t.cause.map_or(99, |cause| cause as u64),
        u64::from(t.homed),
        u64::from(t.buttons),
        u64::from(t.contacts),
        u64::from(t.iterations),
        t.snapshot_age_ns,
    ];
    let vectors = vectors.iter().flat_map(|v| v.iter().copied().collect::<Vec<_>>());
    let parameters = Parameter::ALL.into_iter().map(|parameter| t.parameters.get(parameter));
    let numbers = vectors.chain(numbers).chain(parameters).map(f64::to_bits);
    let touches = t.touches.all().iter().flat_map(|touch| touch.point.into_iter().chain(touch.force));
    let touches = touches.map(|number| u64::from(number.to_bits()));
    counts.into_iter().chain(numbers).chain(poses.iter().flat_map(pose_bits)).chain(touches).collect()
}

/// Everything in a recording.
struct Found {
    provenance: Provenance,
    ticks: Vec<TickRecord>,
    events: Vec<(u64, serde_json::Value)>,
    marks: Vec<(u64, String)>,
    faults: Vec<(u64, String)>,
    lost: u64,
    cut_short: bool,
}

fn read(path: &Path) -> Result<Found, ReadError> {
    let mut reader = Reader::open(path)?;
    let (mut events, mut marks, mut faults, mut lost) = (vec![], vec![], vec![], 0);
    let mut ticks: Vec<TickRecord> = vec![];
    for entry in reader.by_ref() {
        match entry? {
            Entry::Tick(tick) => ticks.push(*tick),
            Entry::Event(tick, event) => events.push((tick, event)),
            Entry::Mark(tick, text) => marks.push((tick, text)),
            Entry::Fault(tick, name) => faults.push((tick, name)),
            Entry::Lost(count) => lost = count,
            Entry::Contacts(due, touches) => {
                let tick = ticks.last_mut().expect("contacts come after their tick");
                assert_eq!(tick.due, due);
                tick.touches = *touches;
            }
            Entry::Step(_) | Entry::Order(..) | Entry::Places(_) | Entry::Skins(_) | Entry::Path(_) => {}
        }
    }
    let cut_short = reader.cut_short().is_some();
    Ok(Found { provenance: reader.provenance().clone(), ticks, events, marks, faults, lost, cut_short })
}

fn same(one: &[TickRecord], other: &[TickRecord]) {
    assert_eq!(one.len(), other.len());
    for (a, b) in one.iter().zip(other) {
        assert_eq!(bits(a), bits(b), "tick {}", a.index);
    }
}

#[test]
fn ticks_of_any_bits_come_back_as_they_were() {
    let scratch = Scratch::new("bits");
    let path = scratch.0.join("bits.mcap");
    let mut random = Random::new(11);
    let ticks: Vec<_> = (0..400).map(|index| tick(index, || f64::from_bits(random.bits()))).collect();
    assert!(ticks.iter().any(|t| t.gain.is_nan() || t.residual.is_nan()), "the odd ones are among them");
    capture(&path, &ticks, &provenance()).expect("it is written");
    let found = read(&path).expect("it is read");
    same(&found.ticks, &ticks);
    assert_eq!(found.provenance, provenance());
    assert!(!found.cut_short);
}

#[test]
fn a_recording_keeps_ticks_events_marks_and_faults_in_order() {
    let scratch = Scratch::new("order");
    let ticks = plain_ticks(300);
    let options = RecordOptions {
        directory: scratch.0.join("deep/er"),
        name: Some("a b/c".into()),
        provenance: provenance(),
        ..RecordOptions::default()
    };
    let mut recorder = Recorder::start(options).expect("it starts");
    recorder.ticks(&ticks[..100]);
    recorder.mark("the \"first\" touch");
    recorder.event(r#"{"kind":"phase","name":"press"}"#);
    recorder.event("not JSON at all {");
    recorder.ticks(&ticks[100..]);
    recorder.view(&SceneView::empty());
    let summary = recorder.stop().expect("it ends well");
    assert_eq!((summary.ticks, summary.lost, summary.files.len()), (300, 0, 1));
    let name = summary.files[0].file_name().and_then(|n| n.to_str()).expect("a name");
    assert!(name.ends_with("Z-wall-a_b_c.mcap"), "{name}");
    assert_eq!(fs::metadata(&summary.files[0]).expect("it is there").len(), summary.bytes);
    let found = read(&summary.files[0]).expect("it is read");
    same(&found.ticks, &ticks);
    assert_eq!(found.marks, [(100, "the \"first\" touch".to_string())]);
    assert_eq!(found.events[0], (100, serde_json::json!({ "kind": "phase", "name": "press" })));
    assert_eq!(found.events[1].1["text"], "not JSON at all {");
    // Each of the seventeen faults is there in every round of seventeen ticks: it begins once.
    assert_eq!(found.faults.len(), Faults::ALL.len());
    assert_eq!(found.lost, 0);
}

#[test]
fn a_file_cut_anywhere_gives_the_ticks_before_the_cut() {
    let scratch = Scratch::new("cut");
    let (whole, part) = (scratch.0.join("whole.mcap"), scratch.0.join("part.mcap"));
    let ticks = plain_ticks(60);
    capture(&whole, &ticks, &provenance()).expect("it is written");
    let bytes = fs::read(&whole).expect("it is there");
    let mut most = 0;
    for end in (0..bytes.len()).step_by(97) {
        fs::write(&part, &bytes[..end]).expect("there is room");
        let Ok(found) = read(&part) else {
            assert!(end < 4000, "only a file without its first facts is refused, not one of {end} bytes");
            continue;
        };
        assert!(found.cut_short || found.ticks.len() == 60, "{end}: whole but for the index, or cut short");
        same(&found.ticks, &ticks[..found.ticks.len()]);
        assert!(found.ticks.len() >= most, "a longer piece holds no fewer ticks");
        most = found.ticks.len();
    }
    assert_eq!(most, 60);
}

#[test]
fn a_damaged_file_is_an_error_or_a_shorter_recording_but_no_panic() {
    let scratch = Scratch::new("damage");
    let path = scratch.0.join("damage.mcap");
    capture(&path, &plain_ticks(20), &provenance()).expect("it is written");
    let bytes = fs::read(&path).expect("it is there");
    let mut random = Random::new(5);
    for _ in 0..2000 {
        let mut broken = bytes.clone();
        for _ in 0..1 + random.bits() % 3 {
            let place = random.bits() as usize % broken.len();
            broken[place] = random.bits() as u8;
        }
        fs::write(&path, &broken).expect("there is room");
        if let Ok(found) = read(&path) {
            assert!(found.ticks.len() <= 20);
        }
    }
    fs::write(&path, b"hello").expect("there is room");
    let error = read(&path).map(|_| ()).expect_err("it is no recording").to_string();
    assert!(error.contains("is not a recording"), "{error}");
    let missing = read(&scratch.0.join("none.mcap")).map(|_| ()).expect_err("it is not there").to_string();
    assert!(missing.contains("none.mcap"), "{missing}");
}

#[test]
fn when_the_thread_is_behind_ticks_are_lost_counted_and_told_in_the_file() {
    let scratch = Scratch::new("lost");
    let path = scratch.0.join("lost.mcap");
    let mut recorder = Recorder::create(&path, provenance(), Vec::new()).expect("it starts");
    let ticks = plain_ticks(20);
    for _ in 0..5000 {
        recorder.ticks(&ticks);
    }
    let summary = recorder.stop().expect("it ends well");
    assert!(summary.lost > 0, "five thousand batches at once do not fit");
    assert_eq!(summary.ticks + summary.lost, 100_000);
    let found = read(&path).expect("it is read");
    assert_eq!(found.ticks.len() as u64, summary.ticks);
    assert_eq!(found.lost, summary.lost);
}

#[test]
fn virtual_time_waits_and_loses_nothing() {
    let scratch = Scratch::new("waits");
    let path = scratch.0.join("waits.mcap");
    let mut recorder = Recorder::create(&path, provenance(), Vec::new()).expect("it starts").waiting();
    let ticks = plain_ticks(10);
    for _ in 0..1500 {
        recorder.ticks(&ticks);
    }
    let summary = recorder.stop().expect("it ends well");
    assert_eq!((summary.ticks, summary.lost), (15_000, 0));
}

#[test]
fn a_full_file_is_followed_by_the_next_and_the_oldest_go() {
    let scratch = Scratch::new("rotate");
    fs::write(scratch.0.join("notes.mcap"), "mine").expect("there is room");
    fs::write(scratch.0.join("20200101T000000Z-old.mcap"), "old").expect("there is room");
    let options = RecordOptions {
        directory: scratch.0.clone(),
        provenance: provenance(),
        limits: RecordLimits { file_bytes: 300_000, keep_files: Some(2), free_bytes: 0 },
        ..RecordOptions::default()
    };
    let mut scribe = super::scribe::Scribe::in_directory(options).expect("it starts");
    let ticks = plain_ticks(1000);
    for batch in ticks.chunks(100) {
        batch.iter().try_for_each(|tick| scribe.tick(tick)).expect("it is written");
        scribe.flush().expect("it is written");
    }
    let files = scribe.files().to_vec();
    scribe.finish().expect("it ends well");
    assert!(files.len() >= 4, "{files:?}");
    let mut left: Vec<_> = fs::read_dir(&scratch.0).expect("it is there").flatten().map(|e| e.path()).collect();
    left.sort();
    let mut wanted = files[files.len() - 2..].to_vec();
    wanted.push(scratch.0.join("notes.mcap"));
    wanted.sort();
    assert_eq!(left, wanted);
    let tail: Vec<_> = files[files.len() - 2..].iter().flat_map(|f| read(f).expect("it is read").ticks).collect();
    same(&tail, &ticks[1000 - tail.len()..]);
    assert!(!tail.is_empty() && read(&files[files.len() - 1]).expect("it is read").provenance == provenance());
}

#[test]
fn without_room_no_recording_begins_and_no_file_is_left() {
    let scratch = Scratch::new("room");
    let limits = RecordLimits { free_bytes: u64::MAX, ..RecordLimits::default() };
    let options = RecordOptions { directory: scratch.0.clone(), limits, ..RecordOptions::default() };
    let error = Recorder::start(options).map(|_| ()).expect_err("no disk is that large");
    assert!(matches!(error, RecordError::NoRoom { .. }) && error.to_string().contains("make room"), "{error}");
    assert_eq!(fs::read_dir(&scratch.0).expect("it is there").count(), 0);
    let nowhere = Recorder::create(Path::new("/proc/no/such.mcap"), provenance(), Vec::new());
    assert!(matches!(nowhere, Err(RecordError::Create { .. })));
}

#[test]
fn a_recording_whose_directory_vanishes_ends_with_an_error() {
    let scratch = Scratch::new("vanish");
    let directory = scratch.0.join("gone");
    let options = RecordOptions { directory: directory.clone(), provenance: provenance(), ..RecordOptions::default() };
    let mut recorder = Recorder::start(options).expect("it starts");
    let ticks = plain_ticks(10);
    recorder.ticks(&ticks);
    fs::remove_dir_all(&directory).expect("it goes");
    for _ in 0..1000 {
        recorder.ticks(&ticks);
        std::thread::sleep(std::time::Duration::from_millis(20));
        if recorder.has_ended() {
            break;
        }
    }
    let figures = recorder.figures();
    assert!(matches!(figures.error, Some(RecordError::Vanished { .. })), "{figures:?}");
    assert!(matches!(recorder.stop(), Err(RecordError::Vanished { .. })));
}

/// Every message of a file that holds one of each kind.
fn messages(path: &Path) -> Vec<(String, String, String)> {
    let bytes = fs::read(path).expect("it is there");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    let stream = mcap::MessageStream::new(&bytes).expect("it is MCAP").map(|message| message.expect("whole"));
    stream
        .map(|m| {
            let schema = m.channel.schema.clone().expect("each channel has one");
            assert_eq!((schema.encoding.as_str(), m.channel.message_encoding.as_str()), ("jsonschema", "json"));
            (m.channel.topic.clone(), text(&schema.data), text(&m.data))
        })
        .collect()
}

#[test]
fn every_message_is_as_its_schema_says() {
    let scratch = Scratch::new("schema");
    let path = scratch.0.join("schema.mcap");
    let outlines = [
        Outline::Ball { radius: 0.01 },
        Outline::Block { size: Vec3::new(0.1, 0.2, 0.3) },
        Outline::Rod { radius: 0.01, length: 0.1 },
        Outline::Ground,
        Outline::Mesh { vertices: vec![Vec3::zeros(), Vec3::x(), Vec3::y()], triangles: vec![[0, 1, 2]] },
    ];
    let mut looks: Vec<Look> = outlines
        .iter()
        .map(|outline| Look {
            body: Some(format!("{outline:?}")),
            outline: outline.clone(),
            pose_body_shape: Pose::identity(),
        })
        .collect();
    looks.push(Look { body: None, outline: outlines[0].clone(), pose_body_shape: Pose::identity() });
    let mut scribe = super::scribe::Scribe::in_file(&path, provenance(), looks).expect("it starts");
    let mut view = SceneView::empty();
    (0..4).for_each(|_| assert!(view.show(Pose::identity())));
    let mut odd = plain_ticks(100);
    odd[3].wanted.force.x = f64::NAN;
    odd[4].residual = f64::INFINITY;
    odd.iter().try_for_each(|tick| scribe.tick(tick)).expect("it is written");
    scribe.view(&view).expect("it is written");
    let mut frame =
        SkinFrame { skins: vec![Skin { points: vec![[1.0; 3]], stress_pa: vec![2.0] }], ..SkinFrame::default() };
    (frame.stamp.sequence, frame.path) = (1, vec![[0.5; 3]; 3]);
    scribe.skins(&frame).expect("it is written");
    scribe.event("{}").expect("it is written");
    let step = StepInput { sequence: 7, began: MonoNs(5), tool: 3, second_tool: 0, materials: 1, took_ns: 2 };
    scribe.step(&step).expect("it is written");
    let changes = [Change::Set(Parameter::Stiffness, 900.0), Change::Event(Event::Enable)];
    scribe.order(&(9, Order::new(4, &changes).expect("few changes"))).expect("it is written");
    scribe.mark("x").expect("it is written");
    scribe.lost(3).expect("it is written");
    scribe.finish().expect("it ends well");
    let messages = messages(&path);
    for topic in Topic::ALL {
        let of_topic: Vec<_> = messages.iter().filter(|(name, ..)| name == topic.address()).collect();
        assert!(!of_topic.is_empty(), "nothing on {}", topic.address());
        let schema: serde_json::Value = serde_json::from_str(&of_topic[0].1).expect("a schema is JSON");
        let judge = jsonschema::validator_for(&schema).expect("a schema is a schema");
        for (name, _, text) in of_topic {
            let value: serde_json::Value = serde_json::from_str(text).expect("a message is JSON");
            let wrong: Vec<String> = judge.iter_errors(&value).map(|error| error.to_string()).collect();
            assert!(wrong.is_empty(), "{name}: {wrong:?} in {text}");
        }
    }
}

#[test]
fn a_page_shows_hostile_names_as_text_and_tells_what_went_wrong() {
    let scratch = Scratch::new("page");
    let path = scratch.0.join("page.mcap");
    let evil = "</svg><script>alert('x')</script>";
    let from = Provenance { scene_name: evil.into(), scene_text: evil.into(), ..provenance() };
    let mut scribe = super::scribe::Scribe::in_file(&path, from, Vec::new()).expect("it starts");
    let mut ticks = vec![TickRecord::empty(Pose::identity()); 50];
    for (index, tick) in ticks.iter_mut().enumerate() {
        tick.due = MonoNs(1_000_000 * (index as u64 + 1));
    }
    ticks[30].force.force.x = 5.0;
    ticks[40].account.balance_min_j = -0.5;
    ticks[45].cause = Some(crate::haptic::Trip::Halt);
    ticks[45].state = State::Fault;
    ticks.iter().try_for_each(|tick| scribe.tick(tick)).expect("it is written");
    scribe.mark(evil).expect("it is written");
    scribe.event(&serde_json::json!({ "kind": "phase", "name": evil }).to_string()).expect("it is written");
    let result = serde_json::json!({ "kind": "result", "success": false, "reason": evil, "goals": [{ "name": evil }] });
    scribe.event(&result.to_string()).expect("it is written");
    scribe.finish().expect("it ends well");
    let digest = report::Digest::read(&path).expect("it is read");
    assert!(!digest.is_safe());
    let verdict = digest.verdict();
    for wanted in ["not achieved", "5.00 N was sent BEYOND", "5.0e-1 J MORE", "F06 halt"] {
        assert!(verdict.contains(wanted), "{wanted}: {verdict}");
    }
    let page = report::page(&[digest]).expect("it is drawn");
    assert!(!page.contains("<script") && page.contains("&lt;script"));
    assert_eq!(page.matches("</svg>").count(), page.matches("<svg").count());
    assert!(page.contains("verdict bad"));
}
