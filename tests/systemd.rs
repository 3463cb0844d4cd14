//! The files that make hapticd a service: judged by systemd's and udev's own tools, held against each other, against the
//! code's defaults and against the page that describes them; and the script that installs them.

#![expect(clippy::panic, reason = "a test reports by panicking")]

#[path = "clients/tools.rs"]
mod tools;

use hapticd::daemon::run::CONFIG_PATH;
use hapticd::device::guardian::INSIST_NS;
use hapticd::files::config::Config;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tools::{have, run, say};

const UNIT: &str = "systemd/hapticd.service";
const RULES: &str = "systemd/70-hapticd.rules";
const USERS: &str = "systemd/hapticd.sysusers.conf";
const PAGE: &str = "docs/install.md";
/// Worst exposure the unit may have, in tenths.
const EXPOSURE_MOST: u32 = 20;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A fresh directory for one test.
fn scratch(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _absent = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a directory");
    path
}

/// What the unit says, by key; a key may stand more than once.
fn unit() -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    for line in text(UNIT).lines().filter(|line| !line.starts_with(['#', '[']) && !line.is_empty()) {
        let (key, value) = line.split_once('=').expect("key=value");
        all.entry(key.to_owned()).or_default().push(value.to_owned());
    }
    all
}

fn single<'a>(unit: &'a BTreeMap<String, Vec<String>>, key: &str) -> &'a str {
    match unit.get(key).map(Vec::as_slice) {
        Some([one]) => one,
        other => panic!("{key} stands once, not as {other:?}"),
    }
}

/// Kind and name of every line of the file for systemd-sysusers.
fn users() -> Vec<(char, String)> {
    let words = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.chars().next()?, words.next()?.to_owned()))
    };
    text(USERS).lines().filter(|line| !line.starts_with('#')).filter_map(words).collect()
}

/// One `KEY=="value"` of a udev rule.
#[derive(Debug)]
struct Term {
    key: String,
    operator: String,
    value: String,
}

/// The rules, each as its terms.
fn rules() -> Vec<Vec<Term>> {
    let term = |part: &str| {
        let part = part.trim();
        let start = part.find(['=', '!', '+']).unwrap_or_else(|| panic!("no operator in `{part}`"));
        let (key, rest) = part.split_at(start);
        let quote = rest.find('"').unwrap_or_else(|| panic!("no value in `{part}`"));
        let (operator, value) = rest.split_at(quote);
        let value = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
        let value = value.unwrap_or_else(|| panic!("the value in `{part}` does not end")).to_owned();
        Term { key: key.to_owned(), operator: operator.to_owned(), value }
    };
    let rules = text(RULES);
    let lines = rules.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.split(", ").map(term).collect()).collect()
}

/// Installs into a fresh directory and says which.
fn install(name: &str, more: &[&str]) -> PathBuf {
    let destination = scratch(name);
    let (done, said) = script(&destination, more);
    assert!(done, "{said}");
    destination
}

fn script(destination: &Path, more: &[&str]) -> (bool, String) {
    let mut command = Command::new(root().join("systemd/install.sh"));
    command.arg(format!("DESTDIR={}", destination.display()));
    command.arg(format!("BINARY={}", env!("CARGO_BIN_EXE_hapticd"))).args(more);
    run(&mut command)
}

/// Every file below a directory, as an absolute path seen from there, with its permissions.
fn files_below(top: &Path) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    let mut directories = vec![top.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a directory").flatten() {
            if entry.path().is_dir() {
                directories.push(entry.path());
                continue;
            }
            let mode = entry.metadata().expect("a file").permissions().mode() & 0o7777;
            let path = entry.path().strip_prefix(top).expect("below").display().to_string();
            found.insert(format!("/{path}"), mode);
        }
    }
    found
}

/// The unit as installed, in a directory of its own where systemd-analyze finds the program.
fn installed_unit(name: &str) -> PathBuf {
    let top = install(name, &[]);
    let path = top.join("usr/local/lib/systemd/system/hapticd.service");
    let program = top.join("usr/local/bin/hapticd");
    let unit = fs::read_to_string(&path).expect("installed");
    let there = unit.replace("=/usr/local/bin/hapticd ", &format!("={} ", program.display()));
    assert_ne!(unit, there, "the unit starts the installed program");
    fs::write(&path, there).expect("written");
    path
}

#[test]
fn the_unit_leaves_the_guardians_time_to_silence_the_device() {
    let unit = unit();
    // TERM and ABRT to all, which the guardians block; with `mixed` they would get KILL at once when the daemon has gone.
    assert_eq!(single(&unit, "KillMode"), "control-group");
    assert!(!unit.contains_key("FinalKillSignal") && !unit.contains_key("RestartKillSignal"));
    for key in ["TimeoutStopSec", "TimeoutAbortSec"] {
        let seconds: u64 = single(&unit, key).trim_end_matches('s').parse().expect("whole seconds");
        assert!(seconds * 1_000_000_000 >= 10 * INSIST_NS, "{key}");
    }
}

#[test]
fn systemd_finds_nothing_wrong_with_the_unit() {
    if !have("systemd-analyze", "systemd") {
        return;
    }
    let path = installed_unit("verify");
    let verify = |path: &Path| run(Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(path));
    assert_eq!(verify(&path), (true, String::new()));
    // The tool does look: a key that does not exist is found.
    let unit = fs::read_to_string(&path).expect("readable");
    fs::write(&path, unit.replace("WatchdogSec=", "WatchdogSeconds=")).expect("written");
    assert!(verify(&path).1.contains("WatchdogSeconds"), "a wrong key goes unnoticed");
}

#[test]
fn the_exposure_is_as_low_as_the_page_says() {
    if !have("systemd-analyze", "systemd") {
        return;
    }
    let path = installed_unit("security");
    let threshold = format!("--threshold={EXPOSURE_MOST}");
    let (below, said) =
        run(Command::new("systemd-analyze").args(["security", "--offline=true", "--no-pager", &threshold]).arg(path));
    let verdict = said.lines().find(|line| line.contains("Overall exposure level")).expect("a verdict");
    say(verdict);
    assert!(below, "{said}");
    let figure = verdict.split_whitespace().find_map(|word| word.parse::<f64>().ok()).expect("a figure");
    assert!(figure * 10.0 <= f64::from(EXPOSURE_MOST), "{verdict}");
    let (_, version) = run(Command::new("systemd-analyze").arg("--version"));
    if version.starts_with("systemd 252 ") {
        let claim = format!("rates the unit {figure} on systemd 252");
        assert!(text(PAGE).contains(&claim), "{PAGE} does not say `{claim}`");
    }
}

#[test]
fn the_addition_for_a_network_is_one_that_systemd_takes() {
    if !have("systemd-analyze", "systemd") {
        return;
    }
    let page = text(PAGE);
    let addition = page.split("```ini\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block of ini");
    let path = installed_unit("network");
    let beside = path.with_extension("service.d");
    fs::create_dir(&beside).expect("a directory");
    fs::write(beside.join("override.conf"), addition).expect("written");
    let verify = run(Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path));
    assert_eq!(verify, (true, String::new()));
    // And it was read: a mistake in it is found.
    fs::write(beside.join("override.conf"), addition.replace("multicast", "multitude")).expect("written");
    let (_, said) = run(Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path));
    assert!(said.contains("multitude"), "the addition is not read: {said}");
}

#[test]
fn user_and_groups_agree_in_unit_rules_and_sysusers() {
    let (unit, users) = (unit(), users());
    let user = users.iter().filter(|(kind, _)| *kind == 'u').map(|(_, name)| name.as_str()).collect::<Vec<_>>();
    assert_eq!(user, [single(&unit, "User")]);
    assert_eq!(single(&unit, "Group"), single(&unit, "User"));
    let made: BTreeSet<&str> = users.iter().filter(|(kind, _)| *kind == 'g').map(|(_, name)| name.as_str()).collect();
    let joined: BTreeSet<&str> = single(&unit, "SupplementaryGroups").split(' ').collect();
    assert_eq!(made, joined);
    let rules = rules();
    let granted = rules.iter().flatten().filter(|term| term.key == "GROUP").map(|term| term.value.as_str());
    assert_eq!(granted.collect::<BTreeSet<_>>(), joined, "the service is in every group it needs and in no other");
}

#[test]
fn rights_and_places_are_those_the_code_asks_for() {
    let unit = unit();
    let config = Config::default();
    let priority: u8 = single(&unit, "LimitRTPRIO").parse().expect("a number");
    assert!(config.realtime.priority <= priority && priority < 99, "{priority}");
    assert!(config.realtime.lock_memory);
    assert_eq!(single(&unit, "LimitMEMLOCK"), "infinity");
    // Each of these would take SCHED_FIFO away and leave the service running without it.
    assert!(!unit.contains_key("RestrictRealtime"));
    assert!(unit["SystemCallFilter"].iter().all(|filter| !filter.contains("@resources")));
    for page in ["docs/realtime.md", PAGE] {
        assert!(text(page).contains(&format!("LimitRTPRIO={priority}")), "{page}");
    }
    assert_eq!(single(&unit, "ExecStart"), "/usr/local/bin/hapticd run");
    let (known, said) = run(Command::new(env!("CARGO_BIN_EXE_hapticd")).args(["run", "--help"]));
    assert!(known, "{said}");
    let state = format!("/var/lib/{}", single(&unit, "StateDirectory"));
    assert!(text("docs/doctor.md").contains(&format!("`{state}`")), "doctor looks for room where recordings go");
    assert!(text(USERS).contains(&state), "the user's home is the state directory");
    assert_eq!(format!("/etc/{}/hapticd.toml", single(&unit, "ConfigurationDirectory")), CONFIG_PATH);
}

#[test]
fn the_ports_that_may_be_opened_are_those_of_the_configuration() {
    let osc = Config::default().osc;
    let unit = unit();
    let allowed: BTreeSet<&str> = unit["SocketBindAllow"].iter().map(String::as_str).collect();
    let wanted = [format!("udp:{}", osc.port), format!("tcp:{}", osc.query_port)];
    assert!(wanted.iter().all(|port| allowed.contains(port.as_str())), "{wanted:?} are not all in {allowed:?}");
    assert_eq!(single(&unit, "SocketBindDeny"), "any");
    // What the configuration opens by default the packet filter lets through, and no more.
    assert!(osc.listen.is_loopback() && osc.allow.is_empty());
    assert_eq!((single(&unit, "IPAddressDeny"), single(&unit, "IPAddressAllow")), ("any", "localhost"));
}

#[test]
fn udev_rules_can_match_and_end_where_they_should() {
    let rules = rules();
    let terms: Vec<&Term> = rules.iter().flatten().collect();
    let values = |key: &str| terms.iter().filter(|term| term.key == key).map(|t| t.value.as_str()).collect::<Vec<_>>();
    assert_eq!(values("LABEL"), ["hapticd_end"]);
    assert!(values("GOTO").iter().all(|label| *label == "hapticd_end"));
    for term in &terms {
        assert!(["==", "!=", "=", "+="].contains(&term.operator.as_str()), "{term:?}");
        let identity = term.key == "ATTRS{idVendor}" || term.key == "ATTRS{idProduct}";
        // The kernel writes these numbers in lower case, and compares by letter.
        assert!(!identity || term.value == term.value.to_lowercase(), "{term:?}");
        assert!(!identity || term.operator == "==", "{term:?}");
        assert!(term.key != "MODE" || term.value == "0660", "no node is open to all: {term:?}");
    }
    // A rule that lets people in says which device it is for.
    for rule in rules.iter().filter(|rule| rule.iter().any(|term| term.key == "GROUP")) {
        let particular =
            |term: &Term| ["KERNEL", "ENV{.hapticd}"].contains(&term.key.as_str()) && term.operator == "==";
        assert!(rule.iter().any(particular), "{rule:?}");
    }
    if have("udevadm", "udev") && run(Command::new("udevadm").args(["verify", "--help"])).0 {
        let verdict = run(Command::new("udevadm").arg("verify").arg("--resolve-names=never").arg(root().join(RULES)));
        assert!(verdict.0, "{}", verdict.1);
    }
}

#[test]
fn sysusers_would_make_the_user() {
    if !have("systemd-sysusers", "systemd") {
        return;
    }
    let empty = scratch("sysusers");
    let mut command = Command::new("systemd-sysusers");
    command.arg("--dry-run").arg(format!("--root={}", empty.display())).arg(root().join(USERS));
    let (done, said) = run(&mut command);
    assert!(done, "{said}");
    for (_, name) in users() {
        assert!(said.contains(&format!("'{name}'")), "{name}: {said}");
    }
}

#[test]
fn the_script_installs_exactly_what_the_page_lists() {
    let top = install("install", &[]);
    let page = text(PAGE);
    let rows =
        page.lines().filter_map(|line| line.strip_prefix("| `/")).map(|row| row.split('`').next().expect("path"));
    let listed: BTreeSet<String> = rows.map(|path| format!("/{path}")).collect();
    let installed = files_below(&top);
    assert_eq!(installed.keys().cloned().collect::<BTreeSet<_>>(), listed);
    for (path, mode) in &installed {
        assert_eq!(*mode, if path.contains("/bin/") { 0o755 } else { 0o644 }, "{path}");
    }
    // The same files as in the repository, but for the configuration, whose paths are of its new place.
    for (path, from) in [("systemd/system/hapticd.service", UNIT), ("udev/rules.d/70-hapticd.rules", RULES)] {
        let installed = fs::read_to_string(top.join("usr/local/lib").join(path)).expect("installed");
        assert_eq!(installed, text(from));
    }
    let configuration = top.join("etc/hapticd/hapticd.toml");
    let (good, said) = run(Command::new(env!("CARGO_BIN_EXE_hapticd")).arg("check").arg(&configuration));
    assert!(good, "{said}");
    let loaded = hapticd::files::config::load(&configuration).expect("a configuration").value;
    assert_eq!(loaded.scenes, top.join("etc/hapticd/scenes"));
    let (scenes, devices) = (Config::default().scenes, Config::default().devices);
    assert_eq!(Config { scenes, devices, ..loaded }, Config::default());
}

#[test]
fn an_update_keeps_the_configuration_and_an_uninstall_leaves_only_it() {
    let top = install("update", &["PREFIX=/usr"]);
    let unit = fs::read_to_string(top.join("usr/lib/systemd/system/hapticd.service")).expect("installed");
    assert!(unit.contains("\nExecStart=/usr/bin/hapticd run\n"), "{unit}");
    let configuration = top.join("etc/hapticd/hapticd.toml");
    fs::write(&configuration, "format = \"hapticd-config/1\" # mine\n").expect("written");
    let before = files_below(&top);
    assert!(script(&top, &["PREFIX=/usr"]).0);
    assert_eq!(files_below(&top), before);
    assert!(fs::read_to_string(&configuration).expect("kept").ends_with("# mine\n"));
    assert!(script(&top, &["uninstall", "PREFIX=/usr"]).0);
    assert_eq!(files_below(&top).into_keys().collect::<Vec<_>>(), ["/etc/hapticd/hapticd.toml"]);
}

#[test]
fn the_script_refuses_what_it_does_not_understand_and_changes_nothing() {
    let top = scratch("refuse");
    for wrong in ["unistall", "DESTDIR=", "PREFIX=usr", "BINARY=/nowhere/hapticd"] {
        let (done, said) = script(&top, &[wrong]);
        assert!(!done && said.contains("install.sh: "), "{wrong}: {said}");
    }
    assert!(files_below(&top).is_empty());
}
