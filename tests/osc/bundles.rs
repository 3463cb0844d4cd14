//! Bundles: all or nothing, at one tick, now or later.

use crate::rig::{Rig, bundle, bytes, code_of, done, f, i, local, message, s};
use hapticd::control::plant::{Act, Job, Setting, Value};
use hapticd::shared::Parameter;
use hapticd::shared::lifecycle::{Event, State};
use rosc::{OscMessage, OscType};

const STIFFNESS: &str = "/hapticd/coupling/stiffness";
const DAMPING: &str = "/hapticd/coupling/damping";

fn codes(heard: &[OscMessage]) -> Vec<i32> {
    heard.iter().filter_map(code_of).map(|(code, _)| code).collect()
}

#[test]
fn the_acts_of_a_bundle_are_one() {
    let mut rig = Rig::new();
    let content: [(&str, &[OscType]); 6] = [
        (STIFFNESS, &[i(500)]),
        ("/hapticd/status", &[]),
        (DAMPING, &[f(0.25)]),
        ("/hapticd/record/mark", &[OscType::String("now".into())]),
        ("/hapticd/enable", &[]),
        ("/hapticd/sync", &[i(3)]),
    ];
    rig.send_bundle(local(1), None, &content);
    let set = |parameter, value| Act::Set(Setting::Loop(parameter), Value::Float(value));
    let wanted = vec![set(Parameter::Stiffness, 500.0), set(Parameter::Damping, 0.25), Act::Event(Event::Enable)];
    assert_eq!(rig.plant.acts, [wanted]);
    assert_eq!(rig.plant.jobs, [Job::RecordMark("now".into())]);
    rig.poll();
    let heard = rig.heard(local(1));
    assert_eq!(heard[0].addr, "/hapticd/status.reply");
    assert_eq!(done(&heard), [STIFFNESS, DAMPING, "/hapticd/enable", "/hapticd/record/mark"]);
    assert_eq!(heard.last().map(|message| message.addr.as_str()), Some("/hapticd/synced"));
}

#[test]
fn one_bad_message_refuses_the_bundle_and_each_is_told_why() {
    let mut rig = Rig::new();
    let content: [(&str, &[OscType]); 4] =
        [(STIFFNESS, &[i(500)]), (DAMPING, &[i(100)]), ("/hapticd/scene/list", &[]), ("/hapticd/nothing", &[])];
    rig.send_bundle(local(1), None, &content);
    rig.poll();
    let heard = rig.heard(local(1));
    assert_eq!(codes(&heard), [409, 422, 409, 404]);
    assert!(rig.plant.acts.is_empty());
    // Refused by the loop: each is told the loop's reason.
    rig.send_bundle(local(1), None, &[(STIFFNESS, &[i(500)]), ("/hapticd/resume", &[])]);
    rig.poll();
    assert_eq!(codes(&rig.heard(local(1))), [409, 409]);
}

#[test]
fn more_acts_than_a_tick_can_take_are_refused() {
    let mut rig = Rig::new();
    let one: (&str, &[OscType]) = (STIFFNESS, &[OscType::Int(500)]);
    rig.send_bundle(local(1), None, &[one; 17]);
    assert_eq!(codes(&rig.heard(local(1))), [400; 17]);
    assert!(rig.plant.acts.is_empty());
    rig.send_bundle(local(1), None, &[one; 16]);
    assert_eq!(rig.plant.acts.len(), 1);
}

#[test]
fn inner_bundles_belong_to_the_outer_one() {
    let mut rig = Rig::new();
    let inner = bundle(None, vec![message(DAMPING, &[f(0.5)])]);
    let outer = bundle(None, vec![message(STIFFNESS, &[i(5)]), inner]);
    rig.feed(&bytes(&outer), local(1));
    assert_eq!(rig.plant.acts.len(), 1);
    assert_eq!(rig.plant.acts[0].len(), 2);
    let inner = bundle(Some(5.0), vec![message(DAMPING, &[f(0.5)])]);
    rig.feed(&bytes(&bundle(None, vec![inner])), local(1));
    assert_eq!(codes(&rig.heard(local(1))), [400], "an inner bundle cannot be later");
    assert_eq!(rig.plant.acts.len(), 1);
}

#[test]
fn a_bundle_waits_for_its_time() {
    let mut rig = Rig::new();
    rig.send_bundle(local(1), Some(2.0), &[(STIFFNESS, &[i(2)])]);
    rig.send_bundle(local(1), Some(1.0), &[(STIFFNESS, &[i(1)])]);
    rig.send_bundle(local(1), Some(-3.0), &[(STIFFNESS, &[i(0)])]);
    let taken = |rig: &Rig| -> Vec<f64> {
        let value = |acts: &Vec<Act>| match acts.as_slice() {
            [Act::Set(_, Value::Float(value))] => *value,
            other => panic!("{other:?}"),
        };
        rig.plant.acts.iter().map(value).collect()
    };
    assert_eq!(taken(&rig), [0.0], "the past is now");
    assert_eq!(rig.hub.figures().scheduled, 2);
    rig.wait(0.99);
    assert_eq!(taken(&rig), [0.0]);
    rig.wait(0.02);
    assert_eq!(taken(&rig), [0.0, 1.0]);
    rig.wait(1.0);
    assert_eq!(taken(&rig), [0.0, 1.0, 2.0]);
    rig.poll();
    assert_eq!(done(&rig.heard(local(1))).len(), 3);
    assert_eq!(rig.hub.figures().scheduled, 0);
}

#[test]
fn too_far_ahead_and_too_many_are_refused() {
    let mut rig = Rig::new();
    rig.send_bundle(local(1), Some(61.0), &[(STIFFNESS, &[i(2)])]);
    assert_eq!(codes(&rig.heard(local(1))), [422]);
    for port in 1..=5 {
        for _ in 0..100 {
            rig.send_bundle(local(port), Some(30.0), &[(STIFFNESS, &[i(2)])]);
        }
    }
    assert_eq!(rig.hub.figures().scheduled, 256);
    let refused = |rig: &mut Rig, port| codes(&rig.heard(local(port))).len();
    assert_eq!(refused(&mut rig, 1), 36, "one client may use a quarter");
    assert_eq!(refused(&mut rig, 5), 100, "none left");
    rig.wait(31.0);
    assert_eq!(rig.hub.figures().scheduled, 0);
    assert_eq!(rig.plant.acts.len(), 256);
}

#[test]
fn many_large_bundles_do_not_fill_the_memory() {
    let mut rig = Rig::new();
    let text = "x".repeat(60_000);
    for port in 1..=4 {
        for _ in 0..64 {
            rig.send_bundle(local(port), Some(30.0), &[("/hapticd/record/mark", &[s(&text)])]);
        }
    }
    assert_eq!(rig.hub.figures().scheduled, (4 << 20) / 60_048);
}

#[test]
fn a_fault_cancels_what_waits() {
    let mut rig = Rig::new();
    rig.send_bundle(local(1), Some(5.0), &[("/hapticd/enable", &[])]);
    rig.send(local(2), "/hapticd/halt", &[]);
    assert_eq!(codes(&rig.heard(local(1))), [409]);
    rig.poll();
    rig.ask(local(2), "/hapticd/fault/ack", &[]);
    rig.wait(6.0);
    assert_eq!(rig.plant.status.state, State::Disabled, "nothing starts by itself after an acknowledge");
    assert!(rig.plant.acts.is_empty());
    rig.send_bundle(local(1), Some(10.0), &[("/hapticd/enable", &[])]);
    assert_eq!(rig.hub.figures().scheduled, 1);
    rig.plant.news.push(hapticd::control::plant::News::State(State::Fault));
    rig.poll();
    assert_eq!(rig.hub.figures().scheduled, 0);
}

#[test]
fn broken_bundles_are_refused_whole() {
    let sound = bytes(&bundle(None, vec![message(STIFFNESS, &[i(5)]), message(DAMPING, &[f(0.5)])]));
    // A size that does not fit, in the second element; a decoder that stops there would do the first.
    let second = sound.len() - bytes(&message(DAMPING, &[f(0.5)])).len() - 4;
    for size in [0u32, 3, 5, 400, u32::MAX] {
        let mut broken = sound.clone();
        broken[second..second + 4].copy_from_slice(&size.to_be_bytes());
        let mut rig = Rig::new();
        rig.feed(&broken, local(1));
        assert!(rig.plant.acts.is_empty(), "size {size}");
        assert_eq!(codes(&rig.heard(local(1))), [400], "size {size}");
    }
    let mut rig = Rig::new();
    rig.feed(&sound[..sound.len() - 4], local(1));
    assert!(rig.plant.acts.is_empty());
}
