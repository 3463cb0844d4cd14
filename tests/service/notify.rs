//! What systemd is told: ready, status, watchdog, reload, end. And what it is not told when the loop stands still.

use crate::beside_others;
use crate::daemon::Setup;
use crate::osc::{Client, PATIENCE};
use crate::systemd::Notifications;
use crate::tools::say;
use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

/// Has a daemon hang its haptic loop so long after the first reading.
const STALL_AFTER: &str = "HAPTICD_STALL_AFTER";

#[test]
fn systemd_hears_ready_status_watchdog_reload_and_end() {
    let _shared = beside_others();
    let setup = Setup::new("notify");
    let mut systemd = Notifications::at(&setup.directory().join("notify"));
    // Fed every third: four seconds of slack, so that a machine held up by others does not count as a daemon that is.
    let limit = Duration::from_secs(6);
    let micros = limit.as_micros().to_string();
    let daemon = setup.variable("NOTIFY_SOCKET", &systemd.name).variable("WATCHDOG_USEC", &micros).start();

    systemd.expect(PATIENCE, "READY", "1");
    // Ready means that the loop ticks: there is a tick to be asked for.
    let sample = Client::new(daemon.osc).ask("/hapticd/stream/timing", "/hapticd/stream/timing");
    assert!(sample.len() > 3, "{sample:?}");
    let status =
        systemd.wait(PATIENCE, |word| word.key == "STATUS" && word.value.starts_with("DISABLED virtual_wall, "));
    say(&format!("systemctl status would show: {}", status.expect("a status line").value));

    while systemd.count("WATCHDOG") < 4 {
        systemd.expect(PATIENCE, "WATCHDOG", "1");
    }
    let fed: Vec<_> = systemd.heard.iter().filter(|word| word.key == "WATCHDOG").map(|word| word.at).collect();
    let gaps: Vec<Duration> = fed.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| *gap < limit), "the watchdog would have bitten: {gaps:?}");
    assert!(gaps.iter().all(|gap| *gap > limit / 6), "fed without need: {gaps:?}");

    daemon.signal("HUP");
    let reloading = systemd.expect(PATIENCE, "RELOADING", "1");
    // systemd 253 and later match the reload with its signal by this time.
    let stamp = systemd.heard.iter().find(|word| word.key == "MONOTONIC_USEC").expect("a time");
    assert!(stamp.value.parse::<u64>().is_ok_and(|time| time > 0) && stamp.at >= reloading.at, "{stamp:?}");
    systemd.expect(PATIENCE, "READY", "1");
    assert_eq!(systemd.count("READY"), 2);
    assert_eq!(systemd.count("STOPPING"), 0);
    daemon.stop();
    systemd.expect(PATIENCE, "STOPPING", "1");
}

#[test]
fn an_abstract_socket_serves_as_well() {
    let _shared = beside_others();
    let mut systemd = Notifications::abstract_named(&format!("hapticd-test-{}", std::process::id()));
    let daemon = Setup::new("abstract").variable("NOTIFY_SOCKET", &systemd.name).start();
    systemd.expect(PATIENCE, "READY", "1");
    daemon.stop();
    systemd.expect(PATIENCE, "STOPPING", "1");
    assert_eq!(systemd.count("WATCHDOG"), 0, "nobody asked for it");
}

#[test]
fn a_loop_that_hangs_no_longer_feeds_the_watchdog() {
    let _shared = beside_others();
    let setup = Setup::new("stall");
    let mut systemd = Notifications::at(&setup.directory().join("notify"));
    let setup = setup.variable("NOTIFY_SOCKET", &systemd.name).variable("WATCHDOG_USEC", "600000");
    let mut daemon = setup.variable(STALL_AFTER, "2s").start();
    systemd.expect(PATIENCE, "READY", "1");
    systemd.expect(PATIENCE, "WATCHDOG", "1");
    // Ten times the limit without a word: then the loop hangs. The rest of the program lives and says so.
    let silence = Duration::from_secs(6);
    let watchdog = |word: &crate::systemd::Word| word.key == "WATCHDOG";
    while systemd.wait(silence, watchdog).is_some() {}
    let last = systemd.heard.iter().rfind(|word| watchdog(word)).expect("it was fed").at;
    let after = systemd.heard.iter().filter(|word| word.key == "STATUS" && word.at > last).count();
    say(&format!("watchdog fed {} times, then {after} status lines without it", systemd.count("WATCHDOG")));
    assert!(after >= 2, "the control loop has ended too: {:#?}", systemd.heard);
    // What systemd does next.
    daemon.signal("ABRT");
    assert_eq!(daemon.wait_for_end().signal(), Some(6));
}

#[test]
fn ready_is_not_said_before_the_loop_ticks() {
    let _shared = beside_others();
    let setup = Setup::new("unready");
    let mut systemd = Notifications::at(&setup.directory().join("notify"));
    let setup = setup.variable("NOTIFY_SOCKET", &systemd.name).variable("WATCHDOG_USEC", "600000");
    // Hangs in the very first reading.
    let daemon = setup.variable(STALL_AFTER, "0s").start();
    assert_eq!(Client::new(daemon.osc).ask("/hapticd/state", "/hapticd/state"), ["DISABLED".into()]);
    assert!(systemd.wait(Duration::from_secs(3), |word| word.key == "READY").is_none(), "ready without a tick");
    assert_eq!(systemd.count("WATCHDOG"), 0);
}
