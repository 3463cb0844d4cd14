//! What one host can take from others, whatever its number of ports, and what a forged sender can have sent to somebody else.

use crate::rig::{Rig, bundle, bytes, code_of, f, i, local, message, remote, s};
use hapticd::control::{HubSettings, Limits};
use rosc::OscType;
use std::net::SocketAddr;

#[test]
fn an_answer_is_paid_for_before_it_is_made() {
    let mut rig = Rig::new();
    let content: Vec<(&str, &[OscType])> = vec![("/hapticd/scene/list", &[]); 256];
    rig.send_bundle(local(1), None, &content);
    // A thousand messages at once, 256 of them for the questions, and at least 32 for each list.
    assert_eq!(rig.plant.lists.get(), (1000 - 256) / 32);
    rig.heard(local(1));
    rig.send_bundle(local(1), None, &content);
    assert_eq!(rig.plant.lists.get(), 23, "nothing is left for more");
    assert_eq!(rig.ask(local(2), "/hapticd/ping", &[i(1)]).len(), 1, "another client has its own");
}

#[test]
fn a_thousand_ports_of_a_host_have_four_times_what_one_has() {
    let mut rig = Rig::open();
    let question = bytes(&bundle(None, vec![message("/hapticd/ping", &[]); 250]));
    for port in 1..=1000 {
        rig.feed(&question, remote(1, port));
    }
    let answered = rig.out.iter().filter(|(bytes, _)| bytes.starts_with(b"/hapticd/pong")).count();
    assert_eq!(answered, 4000);
    let other = SocketAddr::from(([10, 1, 0, 10], 1));
    assert_eq!(rig.ask(other, "/hapticd/ping", &[i(1)]).len(), 1, "another host has its own");
    rig.send(remote(1, 2000), "/hapticd/halt", &[]);
    assert_eq!(rig.plant.halts.len(), 1, "a halt needs none");
}

#[test]
fn ports_of_an_ipv6_host_and_its_addresses_count_together() {
    let mut settings = HubSettings::default();
    settings.access.allow = vec!["fd00::/8".parse().expect("a network")];
    let mut rig = Rig::with(settings);
    let question = bytes(&bundle(None, vec![message("/hapticd/ping", &[]); 250]));
    for number in 1..=100_u16 {
        rig.feed(&question, SocketAddr::from(([0xfd00, 0, 0, 1, 0, 0, 0, number], 1)));
    }
    let answered = rig.out.iter().filter(|(bytes, _)| bytes.starts_with(b"/hapticd/pong")).count();
    assert_eq!(answered, 4000);
}

#[test]
fn few_unknown_addresses_of_a_datagram_are_compared_with_the_known_ones() {
    let mut rig = Rig::new();
    let content: Vec<(&str, &[OscType])> = vec![("/hapticd/statu", &[]); 100];
    rig.send_bundle(local(1), None, &content);
    let fails: Vec<(i32, String)> = rig.heard(local(1)).iter().filter_map(code_of).collect();
    let near = fails.iter().filter(|(code, text)| *code == 404 && text.contains("did you mean")).count();
    assert_eq!((fails.len(), near), (100, 4));
}

/// A message with an answer elsewhere on the sender's host.
fn to_port(port: u16, arguments: &[OscType]) -> Vec<OscType> {
    [arguments, &[s(&format!("osc.udp://:{port}/"))]].concat()
}

#[test]
fn those_who_may_only_read_cannot_take_all_leases() {
    let mut rig = Rig::open();
    // One of them, with seventy ports to be answered at.
    for port in 0..70 {
        rig.send(remote(2, 1), "/hapticd/subscribe", &to_port(2000 + port, &[s("energy"), f(1.0)]));
    }
    assert_eq!(rig.hub.figures().clients, 16);
    // Many of them.
    for host in 10..30 {
        for port in 0..16 {
            let from = SocketAddr::from(([10, 2, 0, host], 1000 + port));
            rig.send(from, "/hapticd/subscribe", &[s("energy"), f(1.0)]);
        }
    }
    assert_eq!(rig.hub.figures().clients, 32);
    // The rest is for those who may do something.
    assert_eq!(rig.ask(remote(1, 1), "/hapticd/notify", &[])[0].addr, "/hapticd/lease/number");
    for port in 0..31 {
        rig.send(local(1000 + port), "/hapticd/subscribe", &[s("energy"), f(1.0)]);
    }
    assert_eq!(rig.hub.figures().clients, 64);
}

#[test]
fn those_who_may_only_read_cannot_take_all_samples() {
    let limits = Limits { total_hz: 1000.0, confirm: false, ..HubSettings::default().limits };
    let mut settings = HubSettings { limits, ..HubSettings::default() };
    settings.access.read_only = vec!["10.2.0.0/16".parse().expect("a network")];
    let mut rig = Rig::with(settings);
    let reader = |host: u8| SocketAddr::from(([10, 2, 0, host], 1));
    let code = |rig: &mut Rig, from, rate| {
        rig.ask(from, "/hapticd/subscribe", &[s("energy"), f(rate)]).iter().find_map(code_of).map(|(code, _)| code)
    };
    assert_eq!(code(&mut rig, reader(1), 501.0), Some(503));
    assert_eq!(code(&mut rig, reader(1), 300.0), None);
    assert_eq!(code(&mut rig, reader(2), 201.0), Some(503));
    assert_eq!(code(&mut rig, reader(2), 200.0), None);
    assert_eq!(code(&mut rig, local(1), 500.0), None);
}

#[test]
fn a_stream_begins_when_its_receiver_has_answered() {
    let mut rig = Rig::open();
    let victim = remote(1, 7);
    rig.send(victim, "/hapticd/subscribe", &[s("timing"), f(1000.0)]);
    rig.send(victim, "/hapticd/notify", &[]);
    rig.wait(5.0);
    // The sender was forged: what the victim is sent is bounded, and ends.
    let sent: usize = rig.out.iter().map(|(bytes, _)| bytes.len()).sum();
    assert!(sent < 400, "{sent} bytes");
    let number = rig.heard(victim)[0].args.clone();
    rig.wait(30.0);
    assert_eq!((rig.hub.figures().clients, rig.out.len()), (0, 0));
    assert_eq!(rig.refusal(victim, "/hapticd/lease/confirm", &number).0, 404, "it has ended");
    // One that is there.
    let heard = rig.ask(victim, "/hapticd/subscribe", &[s("timing"), f(100.0)]);
    assert_eq!((heard.len(), heard[0].addr.as_str()), (2, "/hapticd/lease/number"));
    let number = heard[0].args.clone();
    assert_eq!(rig.refusal(remote(2, 7), "/hapticd/lease/confirm", &number).0, 404, "another host cannot");
    assert_eq!(rig.refusal(victim, "/hapticd/lease/confirm", &[i(0)]).0, 404, "nor can a guess");
    // From another port of the same host: a program that sends here and listens there.
    let heard = rig.ask(remote(1, 8), "/hapticd/lease/confirm", &number);
    assert_eq!(heard[0].args, [s("/hapticd/lease/confirm"), i(30)]);
    rig.wait(1.0);
    assert_eq!(rig.heard(victim).len(), 100 + 1);
    // From then on it is as any other.
    rig.send(victim, "/hapticd/notify", &[]);
    assert!(rig.heard(victim).len() > 5);
}

#[test]
fn whoever_trusts_the_network_can_do_without_the_number() {
    let limits = Limits { confirm: false, ..HubSettings::default().limits };
    let mut rig = Rig::with(HubSettings { limits, ..HubSettings::default() });
    rig.hub.set_access(Rig::open_access(), false, false);
    let heard = rig.ask(remote(1, 7), "/hapticd/subscribe", &[s("timing"), f(100.0)]);
    assert_eq!((heard[0].addr.as_str(), heard[1].addr.as_str()), ("/hapticd/done", "/hapticd/stream/timing"));
}
