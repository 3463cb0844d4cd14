//! Leases, events, streams, rates.

use crate::plant::{fault, skin};
use crate::rig::{Rig, WALL, bytes, code_of, done, f, i, local, message, read, remote, s};
use hapticd::control::osc::Ntp;
use hapticd::control::peer::Peer;
use hapticd::control::plant::{News, Setting, Value};
use hapticd::control::{HubSettings, Limits, Outbox};
use hapticd::haptic::{TickRecord, Touch};
use hapticd::math::{Pose, Vec3};
use hapticd::shared::lifecycle::State;
use hapticd::shared::{MonoNs, Parameter, Stamp};
use rosc::{OscMessage, OscType};

fn addresses(heard: &[OscMessage]) -> Vec<&str> {
    heard.iter().map(|message| message.addr.as_str()).collect()
}

fn limits() -> Limits {
    HubSettings::default().limits
}

#[test]
fn first_contact_brings_everything_there_is_to_know() {
    let mut rig = Rig::new();
    rig.plant.faults = vec![fault(1, true), fault(2, false)];
    let heard = rig.ask(local(1), "/hapticd/notify", &[i(1)]);
    let told = addresses(&heard);
    for wanted in ["/hapticd/state", "/hapticd/scene/name", "/hapticd/device/name"] {
        assert!(told.contains(&wanted), "{wanted}: {told:?}");
    }
    for dial in &rig.plant.dials {
        let address = hapticd::control::table::address_of(&dial.setting);
        assert!(told.contains(&address.as_str()), "{address}: {told:?}");
    }
    let faults: Vec<_> = heard.iter().filter(|message| message.addr == "/hapticd/event/fault").collect();
    assert_eq!(faults.len(), 1, "only what waits");
    assert_eq!(faults[0].args[0], i(2));
    let last = heard.last().expect("something");
    assert_eq!((last.addr.as_str(), last.args.as_slice()), ("/hapticd/done", &[s("/hapticd/notify"), i(30)][..]));
}

#[test]
fn events_go_to_those_who_asked_and_changes_to_all_with_a_lease() {
    let mut rig = Rig::new();
    rig.send(local(1), "/hapticd/notify", &[]);
    rig.send(local(2), "/hapticd/subscribe", &[s("task"), f(0.1)]);
    rig.poll();
    rig.out.clear();
    // The sender hears its own change too; a client without a lease only that it is done.
    rig.send(local(1), "/hapticd/coupling/stiffness", &[i(500)]);
    rig.send(local(3), "/hapticd/start", &[]);
    rig.poll();
    let (first, second, third) = (rig.heard(local(1)), rig.heard(local(2)), rig.heard(local(3)));
    let stiffness = |message: &&OscMessage| message.addr == "/hapticd/coupling/stiffness" && message.args == [f(500.0)];
    assert_eq!(first.iter().filter(stiffness).count(), 1);
    assert_eq!(second.iter().filter(stiffness).count(), 1);
    assert_eq!(done(&first), ["/hapticd/coupling/stiffness"]);
    let state = |message: &&OscMessage| message.addr == "/hapticd/event/state" && message.args == [s("ENABLED")];
    assert_eq!((first.iter().filter(state).count(), second.iter().filter(state).count()), (1, 0));
    assert!(addresses(&second).contains(&"/hapticd/state"));
    assert_eq!(addresses(&third), ["/hapticd/done"]);
    // A fault and the task's progress are events as well; a new scene brings new values.
    rig.plant.news = vec![News::Fault(fault(5, false)), News::Task(hapticd::control::plant::Plant::task(&rig.plant))];
    rig.plant.news.push(News::Dials);
    rig.poll();
    let heard = rig.heard(local(1));
    assert_eq!(addresses(&heard)[..3], ["/hapticd/event/fault", "/hapticd/event/task", "/hapticd/scene/name"]);
    assert!(addresses(&heard).contains(&"/hapticd/material/soft%20tissue/friction"));
    // And no more after notify 0.
    rig.send(local(1), "/hapticd/notify", &[i(0)]);
    rig.out.clear();
    rig.plant.news = vec![News::State(State::Paused)];
    rig.poll();
    assert!(rig.heard(local(1)).is_empty());
}

#[test]
fn a_stream_comes_at_its_rate_with_sequence_and_time() {
    let mut rig = Rig::new();
    let heard = rig.ask(local(1), "/hapticd/subscribe", &[s("measured_cp"), i(100)]);
    assert_eq!(heard[0].args, [s("/hapticd/subscribe"), s("measured_cp"), f(100.0), i(30)]);
    assert_eq!(heard[1].args[..3], [i(0), i(7), i(123)], "when the tick was due, on the daemon's clock");
    assert_eq!(heard[1].args[9], f(1.0), "the unit quaternion ends with its scalar");
    rig.wait(2.0);
    let heard = rig.heard(local(1));
    assert_eq!(heard.len(), 200);
    let sequences: Vec<_> = heard.iter().map(|message| message.args[0].clone()).collect();
    assert_eq!(sequences, (1..=200).map(i).collect::<Vec<_>>());
    assert_eq!(rig.hub.figures().skipped, 0);
}

#[test]
fn samples_that_were_due_and_not_sent_show_in_the_sequence() {
    let mut rig = Rig::new();
    rig.ask(local(1), "/hapticd/subscribe", &[s("energy"), i(1000)]);
    rig.now = rig.now.plus(50_000_000);
    rig.poll();
    let heard = rig.heard(local(1));
    assert_eq!(heard.len(), 1, "the newest, once");
    assert_eq!(heard[0].args[0], i(50));
    assert_eq!(rig.hub.figures().skipped, 49);
    rig.plant.record = None;
    rig.now = rig.now.plus(1_000_000);
    rig.poll();
    assert!(rig.heard(local(1)).is_empty(), "no tick, no sample");
    assert_eq!(rig.hub.figures().skipped, 50);
    assert_eq!(rig.refusal(local(2), "/hapticd/stream/energy", &[]).0, 503);
}

#[test]
fn rates_have_a_range() {
    let mut rig = Rig::new();
    for (rate, fine) in [(0.1, true), (1000.0, true), (0.0, false), (0.099, false), (1000.1, false), (-1.0, false)] {
        let heard = rig.ask(local(1), "/hapticd/subscribe", &[s("task"), f(rate)]);
        let code = heard.iter().find_map(code_of).map(|(code, _)| code);
        assert_eq!(code, (!fine).then_some(422), "{rate}");
    }
    assert_eq!(rig.hub.figures().streams, 1, "a new rate replaces the old one");
}

#[test]
fn streams_end_when_asked_to() {
    let mut rig = Rig::new();
    for name in ["energy", "timing", "/hapticd/stream/task"] {
        rig.ask(local(1), "/hapticd/subscribe", &[s(name), i(10)]);
    }
    assert_eq!(rig.hub.figures().streams, 3);
    rig.ask(local(1), "/hapticd/unsubscribe", &[s("timing")]);
    assert_eq!(rig.hub.figures().streams, 2);
    rig.ask(local(2), "/hapticd/unsubscribe", &[]);
    assert_eq!(rig.hub.figures().streams, 2, "those of another client stay");
    rig.ask(local(1), "/hapticd/unsubscribe", &[]);
    assert_eq!((rig.hub.figures().streams, rig.hub.figures().clients), (0, 0));
}

#[test]
fn a_lease_ends_unless_any_message_renews_it() {
    let mut rig = Rig::new();
    let redirected = [s("energy"), i(1), s("osc.udp://localhost:9001/")];
    rig.send(local(1), "/hapticd/subscribe", &[s("energy"), i(1)]);
    rig.send(local(2), "/hapticd/subscribe", &redirected);
    rig.send(local(3), "/hapticd/notify", &[]);
    rig.wait(29.0);
    // One by a ping; one, redirected, by a message from the port it was asked from.
    rig.send(local(1), "/hapticd/ping", &[]);
    rig.send(local(2), "/ping", &[]);
    rig.wait(2.0);
    let figures = rig.hub.figures();
    assert_eq!((figures.clients, figures.leases_ended), (2, 1));
    // A redirected stream is renewed as well by a message from elsewhere with the same reply address.
    rig.send(local(77), "/hapticd/status", &[s("osc.udp://localhost:9001/")]);
    rig.wait(28.5);
    rig.heard(local(1));
    assert_eq!(rig.hub.figures().clients, 1);
    rig.wait(5.0);
    let figures = rig.hub.figures();
    assert_eq!((figures.clients, figures.streams, figures.leases_ended), (0, 0, 3));
    rig.out.clear();
    rig.wait(3.0);
    assert!(rig.out.is_empty(), "a client that died keeps nothing");
}

#[test]
fn what_the_daemon_sends_does_not_renew_a_lease() {
    let mut rig = Rig::new();
    rig.send(local(1), "/hapticd/subscribe", &[s("energy"), i(1)]);
    for _ in 0..31 {
        rig.wait(1.0);
        rig.send(local(1), "/hapticd/pong", &[i(1)]);
    }
    assert_eq!(rig.hub.figures().clients, 0);
}

#[test]
fn clients_and_streams_and_samples_are_bounded() {
    let mut rig = Rig::with(HubSettings {
        limits: Limits { clients: 3, streams: 2, client_hz: 150.0, total_hz: 400.0, ..limits() },
        ..HubSettings::default()
    });
    let code = |heard: Vec<OscMessage>| heard.iter().find_map(code_of).map(|(code, _)| code);
    let mut subscribe = |port, name, rate| code(rig.ask(local(port), "/hapticd/subscribe", &[s(name), f(rate)]));
    assert_eq!(subscribe(1, "energy", 100.0), None);
    assert_eq!(subscribe(1, "task", 60.0), Some(503), "too many samples of one client");
    assert_eq!(subscribe(1, "task", 50.0), None);
    assert_eq!(subscribe(1, "energy", 1.0), None, "a lower rate gives room");
    assert_eq!(subscribe(1, "timing", 1.0), Some(503), "too many streams");
    assert_eq!(subscribe(2, "task", 150.0), None);
    assert_eq!(subscribe(3, "task", 150.0), None);
    assert_eq!(subscribe(3, "energy", 60.0), Some(503));
    assert_eq!(subscribe(4, "energy", 1.0), Some(503), "too many clients");
    assert_eq!(rig.ask(local(4), "/hapticd/ping", &[]).len(), 1, "which is no reason not to answer");
    assert_eq!(rig.hub.figures().clients, 3);
}

#[test]
fn a_flood_is_dropped_and_told_once_a_second_while_others_are_served() {
    let mut rig = Rig::new();
    for _ in 0..5000 {
        rig.send(local(1), "/hapticd/ping", &[]);
    }
    assert_eq!(rig.ask(local(2), "/hapticd/ping", &[i(7)]).len(), 1);
    let heard = rig.heard(local(1));
    let told = heard.iter().filter_map(code_of).map(|(code, _)| code).collect::<Vec<_>>();
    assert_eq!((heard.len(), told), (1001, vec![503]));
    assert_eq!(rig.hub.figures().dropped, 4000);
    rig.wait(0.5);
    assert_eq!(rig.ask(local(1), "/hapticd/ping", &[i(7)])[0].addr, "/hapticd/pong", "it may go on soon");
}

#[test]
fn messages_in_bundles_count_each() {
    let mut rig = Rig::new();
    let content: Vec<(&str, &[OscType])> = vec![("/hapticd/ping", &[]); 250];
    for _ in 0..5 {
        rig.send_bundle(local(1), None, &content);
    }
    let heard = rig.heard(local(1));
    assert_eq!(heard.iter().filter(|message| message.addr == "/hapticd/pong").count(), 1000);
    assert_eq!(rig.hub.figures().dropped, 1);
}

#[test]
fn observers_hear_and_are_told_what_they_may_not() {
    let mut rig = Rig::open();
    let observer = remote(2, 4000);
    assert_eq!(rig.ask(observer, "/hapticd/coupling/stiffness", &[])[0].args, [f(800.0)]);
    assert_eq!(rig.refusal(observer, "/hapticd/coupling/stiffness", &[f(1.0)]).0, 403);
    let heard = rig.ask(observer, "/hapticd/subscribe", &[s("energy"), i(1)]);
    assert_eq!(addresses(&heard), ["/hapticd/lease/number", "/hapticd/done"]);
    rig.ask(observer, "/hapticd/lease/confirm", &heard[0].args);
    rig.plant.news.push(News::Set(Setting::Loop(Parameter::Damping), Value::Float(0.25)));
    rig.poll();
    assert_eq!(rig.heard(observer)[0].args, [f(0.25)]);
}

#[test]
fn the_daemon_does_not_talk_to_itself() {
    let mut rig = Rig::with(HubSettings { own_port: 9740, ..HubSettings::default() });
    let (code, _) = rig.refusal(local(1), "/hapticd/notify", &[i(1), s("osc.udp://localhost:9740/")]);
    assert_eq!(code, 403);
    assert!(rig.ask(local(9740), "/hapticd/coupling/stiffness", &[f(1.0)]).is_empty());
    assert!(rig.plant.acts.is_empty());
}

fn numbers(blob: &OscType) -> Vec<f32> {
    let OscType::Blob(bytes) = blob else { panic!("a blob wanted: {blob:?}") };
    bytes.chunks(4).map(|four| f32::from_le_bytes(four.try_into().expect("four bytes"))).collect()
}

#[test]
fn every_tick_is_streamed_once_and_packets_break_at_gaps() {
    let mut rig = Rig::new();
    rig.ask(local(1), "/hapticd/subscribe", &[s("ticks"), i(10)]);
    rig.heard(local(1));
    let mut record = TickRecord::empty(Pose::identity());
    // A hundred ticks, one of them lost.
    for index in (1000..1100).filter(|index| *index != 1050) {
        record.index = index;
        record.gain = index as f64;
        rig.plant.trail.push(&record);
    }
    rig.wait(0.2);
    let heard = rig.heard(local(1));
    let firsts: Vec<_> = heard.iter().map(|message| message.args[..2].to_vec()).collect();
    assert_eq!(firsts, [[i(1000), i(44)], [i(1044), i(6)], [i(1051), i(44)], [i(1095), i(5)]]);
    let gains: Vec<f32> = heard.iter().flat_map(|m| numbers(&m.args[2])).skip(6).step_by(8).collect();
    assert_eq!(gains.len(), 99);
    assert_eq!((gains[0], gains[50], gains[98]), (1000.0, 1051.0, 1099.0));
    rig.wait(0.2);
    assert!(rig.heard(local(1)).is_empty(), "nothing new, nothing sent");
}

#[test]
fn a_picture_of_the_scene_is_laid_out_as_documented_and_fits_at_its_largest() {
    let mut rig = Rig::new();
    let touch = Touch::new(&Vec3::x(), &Vec3::new(1.0, 2.0, 3.0));
    while rig.plant.record.as_mut().is_some_and(|record| record.touches.add(touch)) {}
    while rig.plant.view.show(Pose::translation(0.0, 7.0, 0.0)) {}
    // `ask` checks that a datagram holds it.
    let heard = rig.ask(local(1), "/hapticd/stream/scene", &[]);
    let picture = numbers(&heard[0].args[3]);
    assert_eq!(picture.len(), 7 + 7 + 3 + 1 + 16 * 6 + 1 + 16 * 7);
    assert_eq!(picture[3..7], [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(picture[14..18], [0.0, 0.0, 2.5, 16.0]);
    assert_eq!(picture[18..24], [1.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
    assert_eq!(picture[114..122], [16.0, 0.0, 7.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    // A scene for two: the second hand's tool, force and contacts come last.
    let touches = rig.plant.record.as_ref().expect("a record").touches;
    rig.plant.second = Some((Vec3::new(0.0, 4.0, 0.0), touches));
    rig.plant.view.other_tool = Some(Pose::translation(0.0, 8.0, 0.0));
    let heard = rig.ask(local(1), "/hapticd/stream/scene", &[]);
    let both = numbers(&heard[0].args[3]);
    assert_eq!((both[114], both[228]), (17.0, 8.0));
    assert_eq!(both[234..238], [0.0, 4.0, 0.0, 16.0]);
    assert_eq!((&both[238..244], both.len()), (&picture[18..24], 238 + 16 * 6));
}

#[test]
fn skins_are_streamed_once_for_each_frame_in_as_many_packets_as_it_takes() {
    let mut rig = Rig::new();
    rig.plant.skin.stamp = Stamp::default();
    rig.ask(local(1), "/hapticd/subscribe", &[s("skin"), i(30)]);
    rig.ask(local(1), "/hapticd/subscribe", &[s("path"), i(30)]);
    rig.wait(0.2);
    assert!(rig.heard(local(1)).is_empty(), "nothing to show yet");
    rig.plant.skin.skins = vec![skin(3), skin(2050)];
    rig.plant.skin.path = vec![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    rig.plant.skin.stamp = Stamp { sequence: 1, at: MonoNs(3_000_000_005) };
    rig.wait(0.2);
    let heard = rig.heard(local(1));
    let (skins, paths): (Vec<_>, Vec<_>) = heard.iter().partition(|message| message.addr.ends_with("skin"));
    let heads: Vec<_> = skins.iter().map(|message| message.args[1..6].to_vec()).collect();
    let head = |skin, first, whole| vec![i(3), i(5), i(skin), i(first), i(whole)];
    assert_eq!(heads, [head(0, 0, 3), head(1, 0, 2050), head(1, 2048, 2050)]);
    assert_eq!(numbers(&skins[2].args[6]), [2048.0, 0.0, 2.0, 7.0, 2049.0, 0.0, 2.0, 7.0]);
    assert_eq!(paths.len(), 1);
    assert_eq!(numbers(&paths[0].args[3]), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    rig.plant.skin.stamp.sequence = 2;
    rig.wait(0.1);
    assert_eq!(rig.heard(local(1)).len(), 4, "a frame is sent once");
}

#[test]
fn a_socket_is_a_client_until_it_leaves() {
    let mut rig = Rig::open();
    let socket = |x: u8| Peer::Web { id: x.into(), ip: [10, x, 0, 9].into() };
    let send = |rig: &mut Rig, from: Peer, address: &str, args: &[OscType]| {
        let (bytes, now) = (bytes(&message(address, args)), rig.now);
        rig.hub.receive(&bytes, from, now, Ntp(WALL), &mut rig.plant, &mut rig.out);
        rig.poll();
        std::mem::take(&mut rig.out)
    };
    let heard = send(&mut rig, socket(1), "/hapticd/subscribe", &[s("energy"), i(100)]);
    assert!(!heard.is_empty() && heard.iter().all(|(_, to)| *to == socket(1)));
    // Judged by its address, as everyone.
    let said = |heard: &Outbox| read(&heard[0].0);
    assert_eq!(code_of(&said(&send(&mut rig, socket(2), "/hapticd/enable", &[]))).map(|(code, _)| code), Some(403));
    assert_eq!(said(&send(&mut rig, socket(2), "/hapticd/ping", &[i(1)])).addr, "/hapticd/pong");
    assert_eq!(rig.hub.figures().clients, 1);
    rig.hub.leave(socket(1));
    assert_eq!((rig.hub.figures().clients, rig.hub.figures().streams), (0, 0));
    rig.wait(0.1);
    assert!(rig.out.is_empty(), "nothing more is sent to it");
}
