//! The table: every row is reachable and answers; the page is the table; types are what it says.

use crate::plant::fault;
use crate::rig::{Rig, code_of, f, i, local, s};
use hapticd::control::HubSettings;
use hapticd::control::osc::{DEEPEST, LONGEST, LONGEST_SENT, MOST_ARGUMENTS, MOST_MESSAGES};
use hapticd::control::plant::{News, Plant, Setting};
use hapticd::control::table::{self, Access, ENTRIES, Entry, Kind, Type, Verb, Who};
use hapticd::shared::lifecycle::{Guard, State};
use hapticd::shared::{MAX_CHANGES, Parameter};
use rosc::{OscMessage, OscType};
use std::collections::BTreeSet;

/// Arguments that an entry accepts.
fn arguments(entry: &Entry) -> Vec<OscType> {
    let argument = |argument: &table::Argument| match (entry.verb, argument.kind) {
        (Verb::Subscribe | Verb::Unsubscribe, Type::Text) => s("energy"),
        (Verb::OperatorSkill, _) => s("novice"),
        (_, Type::Text) => s("box_on_table"),
        (_, Type::Int | Type::Switch) => i(1),
        (_, Type::Float) => f(0.25),
        (_, Type::Blob) => OscType::Blob(Vec::new()),
    };
    entry.arguments.iter().map(argument).collect()
}

/// The types of what was heard are those of its row; a row's last argument may be followed by more in `done` alone.
fn check_types(message: &OscMessage) {
    let (entry, _) = table::find(&message.addr).unwrap_or_else(|| panic!("{} is not in the table", message.addr));
    let tag = |arg: &OscType| match arg {
        OscType::Int(_) => 'i',
        OscType::Float(_) => 'f',
        OscType::Blob(_) => 'b',
        _ => 's',
    };
    let tags: String = message.args.iter().map(tag).collect();
    if message.addr == "/hapticd/done" {
        assert!(tags.starts_with('s'), "{message:?}");
    } else {
        assert_eq!(tags, entry.type_tags(), "{message:?}");
    }
}

#[test]
fn every_row_is_reachable_and_answers_as_it_says() {
    let mut told = BTreeSet::new();
    for entry in ENTRIES {
        let mut rig = Rig::open();
        rig.plant.status.state = entry.states[0];
        rig.plant.faults = vec![fault(1, false)];
        let address = entry.address("soft tissue");
        let takes = matches!(entry.kind, Kind::Command) || entry.access == Access::ReadWrite;
        let given = if takes { arguments(entry) } else { Vec::new() };
        let heard = rig.ask(local(1), &address, &given);
        match (entry.kind, entry.verb) {
            (Kind::Reply, _) => assert!(heard.is_empty(), "{address} is a reply and must not be answered"),
            (Kind::Event, _) => assert_eq!(code_of(&heard[0]).map(|(code, _)| code), Some(403), "{address}"),
            (_, Verb::Confirm) => assert_eq!(code_of(&heard[0]).map(|(code, _)| code), Some(404), "nobody waits"),
            (_, Verb::Force | Verb::Turn) => {
                assert!(heard.is_empty() && rig.plant.acts.len() == 1, "{address}: {heard:?}")
            }
            _ => {
                assert!(!heard.is_empty(), "{address} does not answer");
                assert!(heard.iter().all(|message| code_of(message).is_none()), "{address}: {heard:?}");
            }
        }
        if entry.kind == Kind::Parameter {
            let heard = rig.ask(local(2), &address, &[]);
            assert!(heard.len() == 1 && heard[0].addr == address, "{address}: {heard:?}");
        }
        heard.iter().for_each(check_types);
        told.extend(heard.iter().map(|message| message.addr.clone()));
    }
    // What is only told has been told above, but for what needs an event.
    let mut rig = Rig::new();
    rig.send(local(1), "/hapticd/notify", &[]);
    rig.plant.news = vec![News::State(State::Paused), News::Fault(fault(2, false)), News::Task(rig.plant.task())];
    let (scene, doing) = (String::from("nut"), String::from("shape of `nut`"));
    rig.plant.news.push(News::Loading { scene, time_s: 2.0, doing });
    rig.poll();
    let heard = rig.heard(local(1));
    heard.iter().for_each(check_types);
    told.extend(heard.into_iter().map(|message| message.addr));
    // A receiver on another machine is sent a number first.
    let elsewhere = crate::rig::remote(2, 1);
    let heard = Rig::open().ask(elsewhere, "/hapticd/notify", &[]);
    heard.iter().for_each(check_types);
    told.extend(heard.into_iter().map(|message| message.addr));
    for entry in ENTRIES.iter().filter(|entry| entry.access == Access::Sent) {
        assert!(told.contains(entry.path) || entry.path.ends_with("/fail"), "{} is never sent", entry.path);
    }
}

#[test]
fn paths_are_unique_and_documented() {
    let paths: BTreeSet<_> = ENTRIES.iter().map(|entry| entry.path).collect();
    assert_eq!(paths.len(), ENTRIES.len());
    for entry in ENTRIES {
        assert!(!entry.about.is_empty() && entry.path.starts_with('/'), "{}", entry.path);
        let first_optional = entry.arguments.iter().position(|argument| argument.optional);
        let required_after = first_optional.is_some_and(|at| entry.arguments[at..].iter().any(|arg| !arg.optional));
        assert!(!required_after, "{}: only the last arguments can be left out", entry.path);
    }
}

#[test]
fn the_page_is_the_table() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/osc.md")).expect("readable");
    assert!(page == table::markdown(), "write it anew: hapticd osc > docs/osc.md");
    for entry in ENTRIES {
        assert!(page.contains(&format!("| `{}` |", entry.path)), "{} is not on the page", entry.path);
    }
}

#[test]
fn the_limits_on_the_page_are_those_of_the_hub() {
    let page = table::markdown().split_whitespace().collect::<Vec<_>>().join(" ");
    let settings = HubSettings::default();
    let limits = settings.limits;
    let total = format!("{},{:03}", limits.total_hz as u32 / 1000, limits.total_hz as u32 % 1000);
    for wanted in [
        format!("end {} s after the last message", limits.lease_s),
        format!("There may be {}, each with {} streams and {}", limits.clients, limits.streams, limits.client_hz),
        format!("samples a second, all together {total}."),
        format!("A time tag up to {} s ahead makes the bundle wait ({} may wait", settings.ahead_s, settings.scheduled),
        format!("{} messages a second from one client, {} at once", settings.rate_hz, settings.burst),
        format!("at most {} KiB, {} messages, {} arguments each", LONGEST / 1024, MOST_MESSAGES, MOST_ARGUMENTS),
        format!("bundles nested {DEEPEST} deep"),
        format!("at the same tick, at most {MAX_CHANGES}."),
        format!("longer than {LONGEST_SENT} bytes"),
    ] {
        assert!(page.contains(&wanted), "the page should say: {wanted}");
    }
}

#[test]
fn every_setting_has_its_row_and_its_way_back() {
    let mut settings: Vec<Setting> = Parameter::ALL.into_iter().map(Setting::Loop).collect();
    for name in ["steel", "soft tissue", "a/b", "50 % *{ü}", "NAME"] {
        settings.extend([Setting::Friction(name.into()), Setting::Restitution(name.into())]);
    }
    settings.extend([Setting::OperatorWorks, Setting::OperatorSkill, Setting::OperatorSeed]);
    settings.extend([Setting::ReplayPlays, Setting::ReplaySpeed, Setting::ReplayPlace]);
    let mut addresses = BTreeSet::new();
    for setting in settings {
        let address = table::address_of(&setting);
        let (entry, name) = table::find(&address).unwrap_or_else(|| panic!("{address} is not found"));
        assert_eq!(entry.setting(&name), Some(setting), "{address}");
        assert!(address.bytes().all(|byte| byte.is_ascii_graphic()) && !address.contains(['?', '*', '[', '{']));
        assert!(addresses.insert(address));
    }
}

#[test]
fn the_states_of_state_commands_are_those_of_the_state_machine() {
    for entry in ENTRIES {
        let Verb::Event(event) = entry.verb else { continue };
        for &state in table::ANY_STATE {
            let possible = state.next(event, Guard { homed: true, cause_persists: false }).is_ok();
            assert_eq!(entry.states.contains(&state), possible, "{} in {}", entry.path, state.name());
        }
    }
}

#[test]
fn observers_may_do_what_the_table_says_and_nothing_else() {
    for entry in ENTRIES.iter().filter(|entry| entry.kind == Kind::Command || entry.access == Access::ReadWrite) {
        let mut rig = Rig::open();
        rig.plant.status.state = entry.states[0];
        let observer = crate::rig::remote(2, 5000);
        let heard = rig.ask(observer, &entry.address("steel"), &arguments(entry));
        let refused = heard.first().and_then(code_of).map(|(code, _)| code) == Some(403);
        assert_eq!(refused, entry.who == Who::Controllers, "{}: {heard:?}", entry.path);
        assert!(entry.who == Who::Anyone || (rig.plant.acts.is_empty() && rig.plant.jobs.is_empty()));
    }
}
