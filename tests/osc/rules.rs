//! Values, refusals, halt, raw force, who may do what.

use crate::plant::fault;
use crate::rig::{Rig, bundle, bytes, code_of, done, f, i, local, message, remote, s};
use hapticd::control::osc::is_halt;
use hapticd::control::plant::{Act, Code, Job, News, Refused, Setting, Ticket, Value};
use hapticd::shared::lifecycle::{Event, State};
use hapticd::shared::{MonoNs, Parameter};
use rosc::OscType;

const STIFFNESS: &str = "/hapticd/coupling/stiffness";

#[test]
fn a_value_is_asked_for_at_its_address_and_answered_there() {
    let mut rig = Rig::new();
    let heard = rig.ask(local(1), STIFFNESS, &[]);
    assert_eq!(heard.len(), 1);
    assert_eq!((heard[0].addr.as_str(), heard[0].args.as_slice()), (STIFFNESS, &[f(800.0)][..]));
    assert_eq!(rig.ask(local(1), "/hapticd/operator/works", &[])[0].args, [i(1)]);
    assert_eq!(rig.ask(local(1), "/hapticd/operator/skill", &[])[0].args, [s("trained")]);
    assert_eq!(rig.ask(local(1), "/hapticd/state", &[])[0].args, [s("DISABLED")]);
    assert!(rig.plant.acts.is_empty());
}

#[test]
fn done_comes_when_the_plant_says_so_and_not_before() {
    let mut rig = Rig::new();
    rig.plant.stuck = true;
    rig.send(local(1), STIFFNESS, &[f(600.0)]);
    rig.wait(1.0);
    assert!(rig.heard(local(1)).is_empty());
    rig.plant.stuck = false;
    rig.poll();
    assert_eq!(done(&rig.heard(local(1))), [STIFFNESS]);
    assert_eq!(rig.plant.acts, [[Act::Set(Setting::Loop(Parameter::Stiffness), Value::Float(600.0))]]);
}

#[test]
fn a_request_that_is_never_answered_is_given_up() {
    let mut rig = Rig::new();
    rig.plant.stuck = true;
    rig.send(local(1), STIFFNESS, &[f(600.0)]);
    rig.wait(10.1);
    assert_eq!(code_of(&rig.heard(local(1))[0]).map(|(code, _)| code), Some(503));
    assert_eq!(rig.hub.figures().pending, 0);
}

#[test]
fn the_plants_refusals_reach_the_one_who_asked() {
    let mut rig = Rig::new();
    rig.plant.refuse = Some(Refused { code: Code::Busy, text: "the queue is full".into() });
    assert_eq!(rig.refusal(local(1), STIFFNESS, &[f(1.0)]), (503, "the queue is full".into()));
    let (code, _) = rig.refusal(local(1), "/hapticd/resume", &[]);
    assert_eq!(code, 409);
    // An answer to nobody's question is no news.
    rig.plant.news.push(News::Answer(Ticket(999), Ok(Vec::new())));
    rig.poll();
    assert!(rig.out.is_empty());
}

#[test]
fn numbers_of_every_type_are_taken_and_nothing_else() {
    let set = |argument: OscType| {
        let mut rig = Rig::new();
        let heard = rig.ask(local(1), STIFFNESS, &[argument]);
        let failed = code_of(&heard[0]).map(|(code, _)| code);
        failed.map_or_else(|| Ok(rig.plant.acts[0][0].clone()), Err)
    };
    let to = |number: f64| Ok(Act::Set(Setting::Loop(Parameter::Stiffness), Value::Float(number)));
    assert_eq!(set(i(700)), to(700.0));
    assert_eq!(set(OscType::Long(700)), to(700.0));
    assert_eq!(set(f(700.5)), to(700.5));
    assert_eq!(set(OscType::Double(700.25)), to(700.25));
    assert_eq!(set(OscType::Bool(true)), to(1.0));
    let refused = [f(f32::NAN), f(f32::INFINITY), OscType::Double(f64::NAN), s("700"), OscType::Nil, OscType::Inf];
    for bad in refused.into_iter().chain([OscType::Blob(vec![1]), OscType::Char('7')]) {
        assert_eq!(set(bad.clone()), Err(400), "{bad:?}");
    }
    for beyond in [f(3000.5), i(-1), OscType::Long(i64::MAX), OscType::Double(1e300)] {
        assert_eq!(set(beyond.clone()), Err(422), "{beyond:?}");
    }
}

#[test]
fn the_button_of_a_panel_sends_an_impulse_and_that_will_do() {
    for pressed in [OscType::Inf, OscType::Nil] {
        let mut rig = Rig::new();
        let heard = rig.ask(local(1), "/hapticd/start", std::slice::from_ref(&pressed));
        assert_eq!(code_of(&heard[0]), None, "{heard:?}");
        assert_eq!(rig.plant.acts, [vec![Act::Event(Event::Enable)]]);
        // Where something must be said it is not enough, and two are one too many.
        let mut rig = Rig::new();
        assert_eq!(rig.refusal(local(1), "/hapticd/scene/load", std::slice::from_ref(&pressed)).0, 400);
        assert_eq!(rig.refusal(local(1), "/hapticd/start", &[pressed.clone(), pressed]).0, 400);
    }
}

#[test]
fn a_value_out_of_range_is_refused_with_range_and_unit() {
    let mut rig = Rig::new();
    let (code, text) = rig.refusal(local(1), STIFFNESS, &[i(9000)]);
    assert_eq!(code, 422);
    assert!(text.contains("9000 N/m") && text.contains("0 to 3000 N/m"), "{text}");
    assert!(rig.plant.acts.is_empty());
    let (code, text) = rig.refusal(local(1), "/hapticd/operator/skill", &[s("guru")]);
    assert!(code == 422 && text.contains("novice, trained, expert"), "{text}");
    assert_eq!(rig.refusal(local(1), "/hapticd/operator/seed", &[i(-1)]).0, 422);
    assert_eq!(rig.refusal(local(1), "/hapticd/operator/seed", &[f(1.5)]).0, 400);
    assert_eq!(rig.refusal(local(1), "/hapticd/operator/works", &[i(2)]).0, 422);
}

#[test]
fn the_end_of_a_slider_is_within_its_range() {
    // 0.6 in single precision lies above 0.6; the next number does not count as the bound.
    let mut rig = Rig::new();
    assert!(f64::from(0.6f32) > 0.6);
    let heard = rig.ask(local(1), "/hapticd/safety/max_speed", &[f(0.6)]);
    assert_eq!(done(&heard).len(), 1, "{heard:?}");
    assert_eq!(rig.plant.acts[0], [Act::Set(Setting::Loop(Parameter::MaxSpeed), Value::Float(0.6))]);
    let above = f32::from_bits(0.6f32.to_bits() + 1);
    assert_eq!(rig.refusal(local(1), "/hapticd/safety/max_speed", &[f(above)]).0, 422);
}

#[test]
fn what_does_not_exist_is_refused_with_the_nearest_that_does() {
    let mut rig = Rig::new();
    let (code, text) = rig.refusal(local(1), "/hapticd/coupling/stifness", &[i(1)]);
    assert!(code == 404 && text.contains(STIFFNESS), "{text}");
    let (code, text) = rig.refusal(local(1), "/status", &[]);
    assert!(code == 404 && text.contains("/hapticd/status"), "{text}");
    assert_eq!(rig.refusal(local(1), "/dirt/play", &[]).0, 404);
    assert_eq!(rig.refusal(local(1), &format!("/{}", "x".repeat(5000)), &[]).0, 404);
    let (code, text) = rig.refusal(local(1), "/hapticd/material/steal/friction", &[f(0.1)]);
    assert!(code == 404 && text.contains("steel"), "{text}");
    let (code, text) = rig.refusal(local(1), "/hapticd/subscribe", &[s("enrgy"), i(10)]);
    assert!(code == 404 && text.contains("energy"), "{text}");
    rig.plant.dials.retain(|dial| dial.setting != Setting::OperatorWorks);
    assert_eq!(rig.refusal(local(1), "/hapticd/operator/works", &[]).0, 404);
}

#[test]
fn patterns_are_refused_everywhere() {
    for pattern in ["/hapticd/*", "/hapticd/hal?", "/hapticd/{start,stop}", "/hapticd/[a-z]tart", "/*"] {
        let mut rig = Rig::new();
        let (code, text) = rig.refusal(local(1), pattern, &[]);
        assert!(code == 400 && text.contains("pattern"), "{pattern}: {text}");
        assert!(rig.plant.acts.is_empty() && rig.plant.halts.is_empty());
    }
}

#[test]
fn wrong_numbers_of_arguments_are_told_what_is_wanted() {
    let mut rig = Rig::new();
    let (code, text) = rig.refusal(local(1), "/hapticd/subscribe", &[s("energy")]);
    assert!(code == 400 && text.contains("s:stream") && text.contains("f:rate in Hz"), "{text}");
    assert_eq!(rig.refusal(local(1), STIFFNESS, &[i(1), i(2)]).0, 400);
    assert_eq!(rig.refusal(local(1), "/hapticd/status", &[i(1)]).0, 400);
    assert_eq!(rig.refusal(local(1), "/hapticd/scene/load", &[i(1)]).0, 400);
    assert_eq!(rig.refusal(local(1), "/hapticd/stream/energy", &[i(1)]).0, 403);
    assert_eq!(rig.refusal(local(1), "/hapticd/state", &[s("ENABLED")]).0, 403);
}

#[test]
fn replies_of_other_programs_are_never_answered() {
    let mut rig = Rig::new();
    for address in ["/fail", "/done", "/error", "/reply", "/status.reply", "/hapticd/fail", "/hapticd/pong", "/late"] {
        assert!(rig.ask(local(1), address, &[s("/hapticd/fail")]).is_empty(), "{address}");
    }
    assert_eq!(rig.hub.figures().ignored, 8);
}

#[test]
fn jobs_are_begun_only_in_their_state_and_the_refusal_says_how_to_get_there() {
    let mut rig = Rig::new();
    for (state, hint) in [(State::Enabled, "disable"), (State::Paused, "disable"), (State::Fault, "fault/ack")] {
        rig.plant.status.state = state;
        let (code, text) = rig.refusal(local(1), "/hapticd/scene/load", &[s("virtual_wall")]);
        assert!(code == 409 && text.contains(hint) && text.contains(state.name()), "{text}");
    }
    assert!(rig.plant.jobs.is_empty());
    rig.plant.status.state = State::Disabled;
    assert_eq!(done(&rig.ask(local(1), "/hapticd/scene/load", &[s("virtual_wall")])), ["/hapticd/scene/load"]);
    assert_eq!(rig.plant.jobs, [Job::LoadScene("virtual_wall".into())]);
}

#[test]
fn a_recording_is_answered_with_its_path() {
    let mut rig = Rig::new();
    let heard = rig.ask(local(1), "/hapticd/record/start", &[]);
    assert_eq!(heard[0].args, [s("/hapticd/record/start"), s("session.mcap")]);
    rig.ask(local(1), "/hapticd/record/start", &[s("trial 7")]);
    assert_eq!(rig.plant.jobs, [Job::RecordStart(None), Job::RecordStart(Some("trial 7".into()))]);
}

#[test]
fn start_and_stop_are_enable_and_disable() {
    let mut rig = Rig::new();
    assert_eq!(done(&rig.ask(local(1), "/hapticd/start", &[])), ["/hapticd/start"]);
    assert_eq!(rig.plant.status.state, State::Enabled);
    assert_eq!(done(&rig.ask(local(1), "/hapticd/stop", &[])), ["/hapticd/stop"]);
    assert_eq!(rig.plant.status.state, State::Disabled);
}

#[test]
fn faults_are_listed_with_their_number_and_acknowledged() {
    let mut rig = Rig::new();
    rig.plant.faults = vec![fault(3, true), fault(4, false)];
    let heard = rig.ask(local(1), "/hapticd/fault/list", &[]);
    let addresses: Vec<_> = heard.iter().map(|message| message.addr.as_str()).collect();
    assert_eq!(addresses, ["/hapticd/fault/list.reply", "/hapticd/fault/list.reply", "/hapticd/fault/list.end"]);
    assert_eq!(heard[1].args[..4], [i(4), s("F04"), s("device-lost"), s("high")]);
    assert_eq!(heard[2].args, [i(2)]);
    rig.ask(local(1), "/hapticd/fault/ack", &[i(4)]);
    rig.ask(local(1), "/hapticd/fault/ack", &[]);
    assert_eq!(rig.plant.jobs, [Job::Acknowledge(Some(4)), Job::Acknowledge(None)]);
    assert_eq!(rig.refusal(local(1), "/hapticd/fault/ack", &[i(-4)]).0, 422);
}

#[test]
fn sync_waits_for_what_was_asked_before_it() {
    let mut rig = Rig::new();
    rig.plant.stuck = true;
    rig.send(local(1), STIFFNESS, &[i(100)]);
    rig.send(local(1), "/hapticd/sync", &[i(7)]);
    rig.send(local(2), "/hapticd/sync", &[i(8)]);
    rig.poll();
    assert_eq!(rig.heard(local(2))[0].args, [i(8)], "another client waits for nobody");
    assert!(rig.heard(local(1)).is_empty());
    rig.plant.stuck = false;
    rig.poll();
    let heard = rig.heard(local(1));
    assert_eq!(heard[0].addr, "/hapticd/done");
    assert_eq!((heard[1].addr.as_str(), heard[1].args.as_slice()), ("/hapticd/synced", &[i(7)][..]));
}

#[test]
fn halt_comes_from_anyone_at_any_rate_in_any_wrapping() {
    let mut rig = Rig::open();
    rig.plant.status.state = State::Enabled;
    let halt = bytes(&message("/hapticd/halt", &[]));
    for from in [local(1), remote(1, 1), remote(2, 1), remote(9, 1)] {
        rig.feed(&halt, from);
    }
    assert_eq!(rig.plant.halts, ["127.0.0.1:1", "10.1.0.9:1", "10.2.0.9:1", "10.9.0.9:1"]);
    assert_eq!(done(&rig.heard(local(1))), ["/hapticd/halt"]);
    assert!(rig.heard(remote(9, 1)).is_empty(), "a stranger is not answered");
    // Beyond every rate.
    for _ in 0..5000 {
        rig.send(local(3), "/hapticd/ping", &[]);
    }
    rig.feed(&bytes(&message("/hapticd/estop", &[s("osc.udp://localhost:9/")])), local(3));
    assert_eq!(rig.plant.halts.len(), 5);
    assert_eq!(done(&rig.heard(local(9))), ["/hapticd/estop"]);
    // In a bundle that should wait, within others.
    let inner = bundle(None, vec![message("/hapticd/halt", &[])]);
    rig.feed(&bytes(&bundle(Some(50.0), vec![inner])), local(4));
    assert_eq!(rig.plant.halts.len(), 6);
    // Cut off, with arguments, with types that do not exist.
    rig.feed(&halt[..halt.len() - 4], local(5));
    rig.feed(b"/hapticd/halt\0\0\0,[Q\0", local(5));
    rig.feed(b"/hapticd/halt", local(5));
    assert_eq!(rig.plant.halts.len(), 9);
    assert_eq!(rig.hub.figures().halts, 9);
}

#[test]
fn nothing_else_of_a_datagram_with_a_halt_is_done() {
    let mut rig = Rig::new();
    rig.plant.status.state = State::Enabled;
    let content: [(&str, &[OscType]); 3] =
        [("/hapticd/fault/ack", &[]), ("/hapticd/halt", &[]), ("/hapticd/enable", &[])];
    rig.send_bundle(local(1), None, &content);
    rig.poll();
    let heard = rig.heard(local(1));
    assert_eq!(done(&heard), ["/hapticd/halt"]);
    assert_eq!(heard.iter().filter_map(code_of).map(|(code, _)| code).collect::<Vec<_>>(), [409, 409]);
    assert!(rig.plant.acts.is_empty() && rig.plant.jobs.is_empty());
}

#[test]
fn the_quick_look_for_a_halt_finds_it_and_nothing_else() {
    assert!(is_halt(&bytes(&message("/hapticd/halt", &[]))));
    assert!(is_halt(&bytes(&bundle(Some(1.0), vec![message("/x", &[i(1)]), message("/hapticd/estop", &[])]))));
    for other in ["/hapticd/halts", "/hapticd/hal", "/halt", "/hapticd/*"] {
        assert!(!is_halt(&bytes(&message(other, &[s("/hapticd/halt")]))), "{other}");
    }
    assert!(!is_halt(b""));
    assert!(!is_halt(b"#bundle\0"));
    assert!(!is_halt(b"#bundle\0\0\0\0\0\0\0\0\x01\xff\xff\xff\xff"));
}

#[test]
fn raw_forces_need_leave_and_the_right_state_and_end_by_themselves() {
    let force = "/hapticd/servo_cf";
    let mut rig = Rig::new();
    rig.plant.status.state = State::Enabled;
    assert_eq!(rig.refusal(local(1), force, &[f(0.1), f(0.0), f(0.0)]).0, 403);
    let mut rig = Rig::open();
    assert_eq!(rig.refusal(local(1), force, &[f(0.1), f(0.0), f(0.0)]).0, 409);
    rig.plant.status.state = State::Enabled;
    for count in [1, 2, 4, 5, 7] {
        assert_eq!(rig.refusal(local(1), force, &vec![f(0.1); count]).0, 400, "{count} numbers");
    }
    assert_eq!(rig.refusal(local(1), force, &[f(0.1), f(f32::NAN), f(0.0)]).0, 400);
    let (code, text) = rig.refusal(local(1), force, &[f(0.4), f(0.4), f(0.0)]);
    assert!(code == 422 && text.contains("0.5 N"), "above safety/max_force: {text}");
    assert!(rig.plant.acts.is_empty());
    assert!(rig.ask(local(1), force, &[f(0.25), i(0), i(0)]).is_empty(), "forces are answered only when refused");
    let until = MonoNs(rig.now.0 + 100_000_000);
    assert_eq!(rig.plant.acts, [[Act::Force { force: [0.25, 0.0, 0.0], torque: [0.0; 3], until }]]);
}

#[test]
fn one_client_at_a_time_sends_forces_and_loses_them_after_100_ms() {
    let mut rig = Rig::open();
    rig.plant.status.state = State::Enabled;
    let force = [0.1; 6].map(f);
    assert!(rig.ask(local(1), "/hapticd/servo_cf", &force).is_empty());
    assert_eq!(rig.refusal(local(2), "/hapticd/servo_cf", &force).0, 503);
    rig.wait(0.06);
    assert!(rig.ask(local(1), "/hapticd/servo_cf", &force).is_empty(), "the owner goes on");
    rig.wait(0.098);
    assert_eq!(rig.refusal(local(2), "/hapticd/servo_cf", &force).0, 503);
    rig.wait(0.002);
    assert!(rig.ask(local(2), "/hapticd/servo_cf", &force).is_empty());
    assert_eq!(rig.refusal(local(1), "/hapticd/servo_cf", &force).0, 503);
}

#[test]
fn strangers_are_not_served_and_are_told_seldom() {
    let mut rig = Rig::open();
    for port in 1..100 {
        rig.send(remote(9, port), "/hapticd/start", &[]);
    }
    rig.poll();
    assert!(rig.plant.acts.is_empty());
    assert_eq!(rig.out.len(), 1, "one answer a second, whoever asks");
    assert_eq!(rig.hub.figures().strangers, 99);
    assert_eq!(rig.refusal_after_a_second(remote(9, 1)), 403);
}

impl Rig {
    fn refusal_after_a_second(&mut self, from: std::net::SocketAddr) -> i32 {
        self.wait(1.0);
        self.out.clear();
        self.refusal(from, "/hapticd/status", &[]).0
    }
}

#[test]
fn answers_go_where_the_sender_wants_them_on_its_own_host() {
    let mut rig = Rig::open();
    rig.send(local(1), STIFFNESS, &[f(10.0), s("osc.udp://localhost:9001/")]);
    rig.send(local(1), "/hapticd/scene/load", &[s("virtual_wall"), s("127.0.0.1"), i(9001)]);
    rig.send(local(1), "/hapticd/nonsense", &[s("osc.udp://:9001/")]);
    rig.poll();
    assert!(rig.heard(local(1)).is_empty());
    let heard = rig.heard(local(9001));
    assert_eq!(done(&heard), [STIFFNESS, "/hapticd/scene/load"]);
    assert_eq!(code_of(&heard[0]).map(|(code, _)| code), Some(404));
    let (code, text) = rig.refusal(remote(1, 5), "/hapticd/status", &[s("osc.udp://10.1.0.10:9001/")]);
    assert!(code == 403 && text.contains("osc.udp://10.1.0.9:9001/"), "{text}");
    assert!(rig.out.is_empty(), "nothing went elsewhere");
}

#[test]
fn the_tool_is_turned_in_the_right_state_for_a_quarter_of_a_second_a_message() {
    let turn = "/hapticd/turn";
    let mut rig = Rig::new();
    assert_eq!(rig.refusal(local(1), turn, &[f(0.5)]).0, 409);
    rig.plant.status.state = State::Enabled;
    assert_eq!(rig.refusal(local(1), turn, &[]).0, 400);
    assert_eq!(rig.refusal(local(1), turn, &[f(f32::NAN)]).0, 400);
    assert!(rig.plant.acts.is_empty());
    assert!(rig.ask(local(1), turn, &[f(-0.5)]).is_empty(), "turns are answered only when refused");
    let until = MonoNs(rig.now.0 + 250_000_000);
    assert_eq!(rig.plant.acts, [[Act::Turn { rate: -0.5, until }]]);
}
